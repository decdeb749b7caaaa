#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""run.py GPUTUNE ARM64-GPUTUNE|- [STEP...]: steps are results, module, ansible, tuning, slurm, monitors; none: all."""
import pathlib
import shutil
import signal
import sys
import tempfile
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))

counts = {"passed": 0, "failed": 0}


def t(what, ok, detail=""):
    counts["passed" if ok else "failed"] += 1
    print(("ok   " if ok else "FAIL ") + what, flush=True)
    if not ok:
        print("     " + str(detail)[-6000:].replace("\n", "\n     "), flush=True)


signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # what was started is stopped then, too
gputune = pathlib.Path(sys.argv[1]).resolve()
arm = None if sys.argv[2] == "-" else pathlib.Path(sys.argv[2]).resolve()
steps = sys.argv[3:] or ["results", "module", "ansible", "tuning", "slurm", "monitors"]
for step in steps:
    work = tempfile.mkdtemp(prefix=f"gputune-{step}-")
    start = time.monotonic()
    print(f"--- {step}", flush=True)
    try:
        __import__(step).test(t, gputune, arm, work)
    except Exception as e:  # a lab that breaks is a failure, not the end of the other steps
        t(f"{step} ran to its end", False, f"{type(e).__name__}: {e}")
    finally:
        shutil.rmtree(work, ignore_errors=True)
    print(f"     {time.monotonic() - start:.1f} s", flush=True)
print(f"{counts['passed']} passed, {counts['failed']} failed")
sys.exit(1 if counts["failed"] else 0)
