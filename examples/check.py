#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What holds this machine, or a captured one, back, and what would be written: check.py [CAPTURE]. Needs libgputune alone."""
import ctypes
import json
import os
import sys


class Error(ctypes.Structure):
    _fields_ = [("code", ctypes.c_int), ("text", ctypes.c_char * 512), ("hint", ctypes.c_char * 256)]


lib = ctypes.CDLL(os.environ.get("LIBGPUTUNE", "libgputune.so.0"))
lib.gputune_open.restype = ctypes.c_void_p
lib.gputune_open.argtypes = [ctypes.c_char_p, ctypes.POINTER(Error)]
lib.gputune_close.argtypes = [ctypes.c_void_p]
# Not c_char_p: the pointer itself is needed to give the text back.
for call in (lib.gputune_facts, lib.gputune_check, lib.gputune_plan):
    call.restype = ctypes.c_void_p
    call.argtypes = [ctypes.c_void_p, ctypes.c_char_p, ctypes.POINTER(Error)]
lib.gputune_free.argtypes = [ctypes.c_void_p]


def ask(call, machine, **options):
    """The call's result as Python has it; OSError with the library's sentence and hint."""
    why = Error()
    text = call(machine, json.dumps(options).encode(), ctypes.byref(why))
    if not text:
        raise OSError(why.code, f"{why.text.decode()} {why.hint.decode()}".strip())
    try:
        return json.loads(ctypes.string_at(text))
    finally:
        lib.gputune_free(text)


def main():
    why = Error()
    machine = lib.gputune_open(os.fsencode(sys.argv[1]) if len(sys.argv) > 1 else None, ctypes.byref(why))
    if not machine:
        sys.exit(f"check.py: {why.text.decode()} {why.hint.decode()}")
    result = ask(lib.gputune_check, machine)
    for f in result["findings"]:
        if f["verdict"] == "fail":
            print(f"{f['id']} {f['target']}: {f['reason']}")
    for c in ask(lib.gputune_plan, machine)["changes"]:
        print(f"would write {c['after']} to {c['knob']}" + (f" (refused: {c['refusal']})" if c.get("refusal") else ""))
    lib.gputune_close(machine)
    return result["exit_code"]


if __name__ == "__main__":
    sys.exit(main())
