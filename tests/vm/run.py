# SPDX-License-Identifier: Apache-2.0
"""Runs the steps named on the command line, all without; the last line is "N passed, N failed"."""
import signal
import sys
import time
import traceback

import lab
import steps_change
import steps_fabric
import steps_guard
import steps_igx
import steps_pair
import steps_persist
import steps_power
import steps_prove
import steps_rdma
import steps_read
import steps_tune

STEPS = {"boot": steps_read.boot, "read": steps_read.read, "change": steps_change.change, "mrrs": steps_change.mrrs,
         "kills": steps_change.kills, "powercut": steps_power.powercut, "reboot": steps_power.reboot, "persist": steps_persist.persist,
         "prove": steps_prove.prove, "rdma": steps_rdma.rdma, "pair": steps_pair.pair,
         "tune": steps_tune.tune, "fabric": steps_fabric.fabric, "igx": steps_igx.igx, "guard": steps_guard.guard}


def main():
    names = sys.argv[1:] or list(STEPS)
    for name in names:
        if name not in STEPS:
            print(f"test-vm: no step \"{name}\"; there are: {' '.join(STEPS)}", file=sys.stderr)
            return 2
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # so that no machine stays behind
    r = lab.Results()
    for name in names:
        t = time.time()
        print(f"== {name}", flush=True)
        try:
            STEPS[name](r)
        except Exception as e:  # a broken step is a failure, and the next one runs
            r.check(name, False, "".join(traceback.format_exception(e))[-1500:])
        print(f"     {name}: {time.time() - t:.0f} s", flush=True)
    print(f"{r.passed} passed, {r.failed} failed")
    return 1 if r.failed or not r.passed else 0


sys.exit(main())
