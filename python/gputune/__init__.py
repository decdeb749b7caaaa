# SPDX-License-Identifier: Apache-2.0
"""What an NVIDIA GPU machine is, bottleneck, and what changes are worth: libgputune for Python.

Each verb of the program is a function, with its options and arguments by their names ('_' for '-' and for the blank before a
sub-verb), and answers what --format json prints:

    import gputune
    gputune.check()["summary"]
    gputune.predict_training(model="llama-3.1-8b", on="h100-sxm x8")["tokens_per_s"]["value"]
    spark = gputune.Machine("capture.tar")
    spark.plan(only=["memory"])["changes"]

gputune.results has the types of what is answered, made from the schemas. Nothing is changed but by a machine that was opened with
changes=True. Errors are gputune.Error: an OSError with a sentence, and a hint where there is one.
"""
import ctypes
import json
import os
import typing

__all__ = ["Error", "Machine", "ask", "verbs", "version"]


class Error(OSError):
    """Why there is no answer. hint: what to do next, or ''."""

    def __init__(self, number: int, text: str, hint: str = "") -> None:
        super().__init__(number, text)
        self.hint = hint

    def __str__(self) -> str:
        return f"{self.strerror} ({self.hint})" if self.hint else str(self.strerror)


class _Error(ctypes.Structure):
    _fields_ = [("code", ctypes.c_int), ("text", ctypes.c_char * 512), ("hint", ctypes.c_char * 256)]


def _load() -> ctypes.CDLL:
    name = "libgputune.so.0"
    beside = os.path.join(os.path.dirname(os.path.abspath(__file__)), name)  # as a wheel has it
    lib = ctypes.CDLL(os.environ.get("LIBGPUTUNE") or (beside if os.path.exists(beside) else name))
    why = ctypes.POINTER(_Error)
    lib.gputune_version.restype = ctypes.c_char_p
    lib.gputune_open.argtypes = [ctypes.c_char_p, why]
    lib.gputune_open_to_change.argtypes = [ctypes.c_char_p, ctypes.c_char_p, why]
    lib.gputune_close.argtypes = [ctypes.c_void_p]
    lib.gputune_ask.argtypes = [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_char_p, why]
    lib.gputune_verbs.argtypes = [why]
    lib.gputune_free.argtypes = [ctypes.c_void_p]
    # Not c_char_p: the pointer itself is needed to give a text back.
    for call in (lib.gputune_open, lib.gputune_open_to_change, lib.gputune_ask, lib.gputune_verbs):
        call.restype = ctypes.c_void_p
    return lib


_lib = _load()


def _called(call: typing.Any, *arguments: typing.Any) -> int:
    why = _Error()
    out = call(*arguments, ctypes.byref(why))
    if not out:
        raise Error(why.code, why.text.decode(), why.hint.decode())
    return typing.cast(int, out)


def _text(call: typing.Any, *arguments: typing.Any) -> typing.Any:
    pointer = _called(call, *arguments)
    try:
        return json.loads(ctypes.string_at(pointer))
    finally:
        _lib.gputune_free(pointer)


def version() -> str:
    """Of the library."""
    return typing.cast(bytes, _lib.gputune_version()).decode()


def verbs() -> typing.List[typing.Dict[str, typing.Any]]:
    """Every verb that answers: name, summary, whether it changes the machine, its question as a JSON Schema, and its result's schema."""
    return typing.cast(typing.List[typing.Dict[str, typing.Any]], _text(_lib.gputune_verbs)["verbs"])


class Machine:
    """This machine, or a captured one (a folder or tar). changes: verbs may change it, a captured one in the folder overlay.
    Each verb is a method. Threads may share a machine; close gives it back, as does the end of a with block."""

    def __init__(self, capture: typing.Union[str, "os.PathLike[str]", None] = None, *, changes: bool = False,
                 overlay: typing.Union[str, "os.PathLike[str]", None] = None) -> None:
        at = os.fsencode(capture) if capture is not None else None
        over = os.fsencode(overlay) if overlay is not None else None
        self._handle: typing.Optional[int] = None
        if over is not None and not changes:
            raise ValueError("overlay goes with changes=True")
        self._handle = _called(_lib.gputune_open_to_change, at, over) if changes else _called(_lib.gputune_open, at)

    def ask(self, verb: str, **question: typing.Any) -> typing.Dict[str, typing.Any]:
        """The verb's answer. None is not given; paths may be os.PathLike."""
        if self._handle is None:
            raise ValueError("the machine is closed")
        asked = {key: value for key, value in question.items() if value is not None}
        text = json.dumps(asked, default=os.fspath).encode()
        return typing.cast(typing.Dict[str, typing.Any], _text(_lib.gputune_ask, self._handle, verb.encode(), text))

    def close(self) -> None:
        """Gives the machine back."""
        if self._handle is not None:
            _lib.gputune_close(self._handle)
        self._handle = None

    def __enter__(self) -> "Machine":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __del__(self) -> None:
        self.close()

    def __getattr__(self, name: str) -> typing.Any:
        verb = _names().get(name)
        if verb is None:
            raise AttributeError(f"gputune has no verb {name}")

        def call(**question: typing.Any) -> typing.Dict[str, typing.Any]:
            return self.ask(verb["name"], **question)

        call.__name__, call.__doc__ = name, verb["summary"]
        return call

    def __dir__(self) -> typing.List[str]:
        return sorted({*super().__dir__(), *_names()})


_known: typing.Dict[str, typing.Dict[str, typing.Any]] = {}


def _names() -> typing.Dict[str, typing.Dict[str, typing.Any]]:
    if not _known:
        _known.update({v["name"].replace(" ", "_").replace("-", "_"): v for v in verbs()})
    return _known


def ask(verb: str, **question: typing.Any) -> typing.Dict[str, typing.Any]:
    """As Machine.ask, of this machine."""
    with Machine() as machine:
        return machine.ask(verb, **question)


def __getattr__(name: str) -> typing.Any:
    if name.startswith("_") or name not in _names():
        raise AttributeError(f"module gputune has no verb {name}")

    def call(**question: typing.Any) -> typing.Dict[str, typing.Any]:
        return ask(_names()[name]["name"], **question)

    call.__name__, call.__doc__ = name, _names()[name]["summary"]
    return call


def __dir__() -> typing.List[str]:
    return sorted({*__all__, *_names()})
