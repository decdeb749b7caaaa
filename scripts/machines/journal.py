# SPDX-License-Identifier: Apache-2.0
"""A long journal, for cost curves: every second transaction undoes the one before."""
import json


def line(**what):
    return json.dumps(what, separators=(",", ":")) + "\n"


def write(path, transactions, changes):
    knob = {"kind": "sysctl", "name": "vm.swappiness", "object": ""}
    with open(path, "w", encoding="utf-8") as f:
        for n in range(1, transactions + 1):
            apply = n % 2
            f.write(line(t="begin", txn=n, op="apply" if apply else "undo", boot="x", time=1790000000 + n, user="root",
                         reason=None, profile="default", version="0.1.0", changes=changes))
            for seq in range(1, changes + 1):
                if apply:
                    f.write(line(t="intend", txn=n, seq=seq, id="memory.swappiness", target="", knob=knob, place="",
                                 before="60", after="10"))
                    f.write(line(t="done", txn=n, seq=seq, read="10"))
                else:
                    f.write(line(t="undone", txn=n - 1, seq=seq, by=n, note="restored"))
            if not apply:
                f.write(line(t="closed", txn=n - 1))
            f.write(line(t="end", txn=n, result="applied" if apply else "undone"))
