#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What holds this machine, or a captured one, back, and what would be written: check.py [CAPTURE]. Needs python3-gputune."""
import sys

import gputune


def main():
    with gputune.Machine(sys.argv[1] if len(sys.argv) > 1 else None) as machine:
        result = machine.check()
        for f in result["findings"]:
            if f["verdict"] == "fail":
                print(f"{f['id']} {f['target']}: {f['reason']}")
        for c in machine.plan()["changes"]:
            print(f"would write {c['after']} to {c['knob']}" + (f" (refused: {c['refusal']})" if c.get("refusal") else ""))
    return result["exit_code"]


if __name__ == "__main__":
    try:
        sys.exit(main())
    except gputune.Error as e:
        sys.exit(f"check.py: {e}")
