# SPDX-License-Identifier: Apache-2.0
"""Whose process is it? A suite runs beside others, so each takes a copy of the program of its own and looks for that file."""
import os
import pathlib
import shutil
import time


def copy_of(program, folder):
    """The program under a path that nobody else runs."""
    return shutil.copy(program, pathlib.Path(folder) / "gputune")


def running(program):
    """Numbers of the processes that run it, removed file or not."""
    found = []
    for p in pathlib.Path("/proc").glob("[0-9]*/exe"):
        try:
            if os.readlink(p).removesuffix(" (deleted)") == str(program):
                found.append(int(p.parent.name))
        except OSError:
            pass
    return found


def children(pid):
    """Numbers of the processes that it started and that are there."""
    return [int(n) for t in pathlib.Path(f"/proc/{pid}/task").glob("*/children") for n in t.read_text().split()]


def until(condition, seconds=30):
    """Waits for it, and says what it is at last."""
    end = time.monotonic() + seconds
    while not (got := condition()) and time.monotonic() < end:
        time.sleep(0.05)
    return got
