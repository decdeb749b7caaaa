# SPDX-License-Identifier: Apache-2.0
"""What the suites of this folder share: where the tree lies, and the tally of what held. A suite ends in end_suite()."""
import pathlib
import sys

root = pathlib.Path(__file__).resolve().parent.parent.parent
MOST = 1500
tally = {True: 0, False: 0}


def expect(what, ok, detail=""):
    """Counts, and says what did not hold. Returns whether it held."""
    tally[bool(ok)] += 1
    if not ok:
        print(f"FAIL {what}: {str(detail)[:MOST]}", flush=True)
    return bool(ok)


def sanitized(program):
    """Whether AddressSanitizer is built in: it takes several times the memory."""
    return b"__asan_init" in pathlib.Path(program).read_bytes()


def end_suite(more=""):
    """The line that scripts/test counts; ends the suite."""
    print(f"{tally[True]} passed, {tally[False]} failed{more}")
    sys.exit(1 if tally[False] else 0)
