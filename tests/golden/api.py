#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The library as a stranger has it: installed into a folder, found by pkg-config, used from C and from Python, and held against the
program: what it returns is what the program prints, to the byte. api.py BUILD [BUILD_WITH_SANITIZERS]: folders of meson."""
import concurrent.futures
import ctypes
import json
import os
import pathlib
import platform
import random
import re
import shutil
import signal
import subprocess
import sys
import tempfile

from common import captured, end_suite, expect, root, skip

BUILD = pathlib.Path(sys.argv[1]).resolve()
UPDATE = "--update" in sys.argv
PLAIN = {"PATH": "/usr/bin:/bin", "LC_ALL": "C"}
HEADER = (root / "include/gputune/gputune.h").read_text()
DECLARED = set(re.findall(r"^GPUTUNE_API [^(]*?(gputune_\w+)\(", HEADER, re.M))


def run(*argv, env=None, **kw):
    return subprocess.run([str(a) for a in argv], capture_output=True, text=True, timeout=120, cwd=root, env=PLAIN | (env or {}), **kw)


def install(build, to):
    """The library's folder and the environment in which pkg-config finds it."""
    done = run("meson", "install", "-C", build, "--no-rebuild", "--quiet", env={"DESTDIR": str(to)})
    expect("it is installed", done.returncode == 0, done.stderr)
    so = next(pathlib.Path(to).rglob("libgputune.so.0"))
    pc = next(pathlib.Path(to).rglob("gputune.pc"))
    return so.parent, {"PKG_CONFIG_SYSROOT_DIR": str(to), "PKG_CONFIG_PATH": str(pc.parent)}


def program(*argv):
    p = run(BUILD / "gputune", *argv)
    return p.stdout.rstrip("\n")


class Error(ctypes.Structure):
    _fields_ = [("code", ctypes.c_int), ("text", ctypes.c_char * 512), ("hint", ctypes.c_char * 256)]


def load(path):
    lib = ctypes.CDLL(str(path))
    for name in DECLARED - {"gputune_close", "gputune_free"}:
        getattr(lib, name).restype = ctypes.c_void_p
    lib.gputune_version.restype = ctypes.c_char_p
    for name in ("gputune_close", "gputune_free"):
        getattr(lib, name).restype = None
        getattr(lib, name).argtypes = [ctypes.c_void_p]
    lib.gputune_open.argtypes = [ctypes.c_char_p, ctypes.c_void_p]
    lib.gputune_list.argtypes = [ctypes.c_char_p, ctypes.c_void_p]
    lib.gputune_explain.argtypes = [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_char_p, ctypes.c_void_p]
    lib.gputune_ask.argtypes = [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_char_p, ctypes.c_void_p]
    lib.gputune_open_to_change.argtypes = [ctypes.c_char_p, ctypes.c_char_p, ctypes.c_void_p]
    for name in ("gputune_facts", "gputune_check", "gputune_plan"):
        getattr(lib, name).argtypes = [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]
    return lib


def ask(lib, name, *args):
    """Text of the result, or the error."""
    why = Error()
    text = getattr(lib, name)(*args, ctypes.byref(why))
    if not text:
        return why
    out = ctypes.string_at(text).decode()
    lib.gputune_free(text)
    return out


def same_as_program(lib):
    for capture in captured:
        path = os.fspath(capture.relative_to(root))
        m = lib.gputune_open(path.encode(), None)
        at = ("--host", path, "--format", "json")
        spoken = {"check": ask(lib, "gputune_check", m, None), "show": ask(lib, "gputune_facts", m, None), "plan": ask(lib, "gputune_plan", m, None)}
        for verb, args in (("check", []), ("show", ["topology"]), ("plan", [])):
            expect(f"{capture.name}: {verb}", spoken[verb] == program(verb, *args, *at), spoken[verb])
        options = json.dumps({"profile": "low-latency", "only": ["cpu", "memory"], "skip": ["cpu.governor"]}).encode()
        expect(f"{capture.name}: options of check", ask(lib, "gputune_check", m, options) == program(
            "check", "--profile", "low-latency", "--only", "cpu,memory", "--skip", "cpu.governor", *at))
        options = json.dumps({"profile": "max-performance", "allow": ["gpu", "cpu"]}).encode()
        expect(f"{capture.name}: options of plan", ask(lib, "gputune_plan", m, options) == program(
            "plan", "--profile", "max-performance", "--allow", "gpu,cpu", *at))
        for name in ("nic.mtu", "gpu.persistence-mode", "cpu.governor"):
            expect(f"{capture.name}: explain {name}", ask(lib, "gputune_explain", m, name.encode(), None) == program("explain", name, *at))
        lib.gputune_close(m)
    expect("settings are listed", ask(lib, "gputune_list", None) == program("list", "--format", "json"))
    expect("facts are listed", ask(lib, "gputune_list", b'{"facts": true}') == program("list", "--facts", "--format", "json"))
    expect("a list is narrowed", ask(lib, "gputune_list", b'{"only": ["nic"]}') == program("list", "--only", "nic", "--format", "json"))
    version = run(BUILD / "gputune", "--version").stdout.split()[1]
    expect("its version", lib.gputune_version().decode() == version)


def without_time(text):
    return re.sub(r'"time": "[^"]*"', "", text)


def asks(lib):
    """Verbs by their names, with their questions as JSON."""
    path = os.fspath(captured[0].relative_to(root))
    m = lib.gputune_open(path.encode(), None)
    spoken = ask(lib, "gputune_ask", m, b"lint", json.dumps({"command": ["torchrun", "--nproc-per-node", "8", "t.py"], "nccl": "2.28.9"}).encode())
    told = program("lint", "--host", path, "--nccl", "2.28.9", "--format", "json", "--", "torchrun", "--nproc-per-node", "8", "t.py")
    expect("lint answers as the program does", without_time(spoken) == without_time(told), spoken)
    for verb, question, word in ((b"lint", b'{"nccl": "x"}', "nccl"), (b"lint", b'{"ncll": "2.1"}', "ncll"), (b"lint", b'{"nccl": 7}', "nccl"), (b"lint", b"[]", "object"),
                                 (b"lint", b'{"file": ["/nonexistent"]}', "/nonexistent"), (b"lint", b'{"file": [1]}', "file"), (b"nothing", None, "nothing"),
                                 (b"lint more", None, "lint more"), (None, None, ""), (b"bench", b'{"name": ["memory-latency"]}', "bench"), (b"persist install", None, "persist install"), (b"doctor", None, "doctor")):
        why = ask(lib, "gputune_ask", m, verb, question)
        expect(f"{verb} {question}", isinstance(why, Error) and word in why.text.decode() and why.code, getattr(why, "text", why))
    expect("no machine to ask", isinstance(ask(lib, "gputune_ask", None, b"lint", None), Error))
    lib.gputune_close(m)
    listed = {v["name"]: v for v in json.loads(ask(lib, "gputune_verbs"))["verbs"]}
    expect("verbs are listed with their questions", listed["lint"]["result"] == "gputune.lint/1" and "nccl" in listed["lint"]["question"]["properties"], listed)
    why = Error()
    expect("a capture is changed in an overlay", lib.gputune_open_to_change(path.encode(), None, ctypes.byref(why)) is None and "overlay" in why.text.decode())
    with tempfile.TemporaryDirectory() as d:
        m = lib.gputune_open_to_change(path.encode(), d.encode(), None)
        expect("a machine that may be changed answers too", m and isinstance(ask(lib, "gputune_ask", m, b"lint", b"{}"), str))
        lib.gputune_close(m)


def this_machine(lib):
    m = lib.gputune_open(None, None)
    said = json.loads(ask(lib, "gputune_check", m, b"{}"))
    told = json.loads(program("check", "--format", "json"))
    pick = lambda r: [(f["id"], f["target"], f["verdict"]) for f in r["findings"]]
    expect("this machine is judged as the program does", pick(said) == pick(told) and not said["host"]["captured"])
    lib.gputune_close(m)


def refuses(lib):
    m = lib.gputune_open(b"build/machines/dgx-spark", None)
    bad = [(b"", "options"), (b"[]", "JSON object"), (b'{"only": 7}', "only"), (b'{"only": ["nic.mtuu"]}', "nic.mtuu"), (b'{"depth": 1}', "depth"),
           (b'{"deep": 1}', "deep"), (b'{"profile": 7}', "profile"), (b'{"profile": "nobody"}', "nobody"), (b'{"allow": ["gpu"]}', "allow"),
           (b'{"only": []}', "only"), (b'{"only": ["nic"], "skip": ["nic"]}', "no setting is selected: "), (b'{"only": ["gpu", 7]}', "only"), (b'{"only": ["gpu,cpu"]}', "only"), (b'{"only": [""]}', "only"), (b'{"only": ["gpu\\u0000x"]}', "u0000"), (b'{"profile": "a", "profile": "b"}', "duplicate"),
           (b"{" + b" " * 70000 + b"}", "65536"), (b"[" * 60000, "options")]
    for options, word in bad:
        why = ask(lib, "gputune_check", m, options)
        expect(f"options {options[:40]!r}", isinstance(why, Error) and word in why.text.decode() and why.code in (22, 2), getattr(why, "text", why))
        expect("the error may be left out", lib.gputune_check(m, options, None) is None)
    dice, good = random.Random(13), b'{"profile": "low-latency", "only": ["gpu", "nic.*"], "skip": ["nic.mtu"], "facts": false}'
    for _ in range(2000):
        damaged = bytearray(good)
        for _ in range(dice.randint(1, 4)):
            damaged[dice.randrange(len(damaged))] = dice.choice(b'{}[]",:\\ \x01\xff0ag.*')
        said = ask(lib, "gputune_list", bytes(damaged))
        if isinstance(said, Error) and not (said.code and said.text):
            expect("damaged options are an error with a sentence, or a result", False, damaged)
    expect("damaged options end nothing", True)
    why = ask(lib, "gputune_explain", m, b"nic.mtuu", None)
    expect("the nearest setting is named", isinstance(why, Error) and "nic.mtu" in why.hint.decode())
    expect("no setting at all", isinstance(ask(lib, "gputune_explain", m, None, None), Error))
    expect("no machine", isinstance(ask(lib, "gputune_check", None, None), Error))
    for path, code in ((b"/nonexistent", 2), (b"/etc/passwd", 22), (b"tests", 22)):
        why = Error()
        expect(f"no capture: {path}", lib.gputune_open(path, ctypes.byref(why)) is None and why.code == code and path.decode() in why.text.decode(),
               (why.code, why.text))
    lib.gputune_close(m)
    lib.gputune_close(None)
    lib.gputune_free(None)


def state():
    """What a library must leave as it was: descriptors, signals that are caught, folder, environment, mask, children."""
    caught = [line for line in open("/proc/self/status") if line.startswith(("SigCgt", "SigIgn", "SigBlk", "Umask", "Threads"))]
    return sorted(os.listdir("/proc/self/fd")), caught, os.getcwd(), dict(os.environ), signal.getsignal(signal.SIGPIPE)


def memory_kib():
    return int(next(line for line in open("/proc/self/status") if line.startswith("VmRSS")).split()[1])


def manners(lib):
    m = lib.gputune_open(b"build/machines/hgx-h100", None)
    live = lib.gputune_open(None, None)
    every = lambda: [ask(lib, "gputune_check", m, None), ask(lib, "gputune_plan", m, None), ask(lib, "gputune_check", live, None),
                     ask(lib, "gputune_check", m, b'{"only": 1}')]
    every()
    before = state()
    for _ in range(3):
        every()
    expect("it leaves the process as it was", state() == before, (before, state()))
    for _ in range(8):
        ask(lib, "gputune_check", m, None)
    grown = memory_kib()
    for _ in range(24):
        ask(lib, "gputune_check", m, None)
    # One look at this machine takes megabytes; what stays after 24 of them would be seen.
    expect("it keeps no memory", memory_kib() - grown < 4096, memory_kib() - grown)
    one = ask(lib, "gputune_check", m, None)
    with concurrent.futures.ThreadPoolExecutor(8) as pool:
        said = list(pool.map(lambda _: ask(lib, "gputune_check", m, None), range(24)))
    expect("threads share a machine", all(s == one for s in said))
    lib.gputune_close(m)
    lib.gputune_close(live)
    with tempfile.TemporaryDirectory() as d:
        script = (f"import os, sys; sys.dont_write_bytecode = True; sys.argv = ['x', {str(BUILD)!r}]; sys.path.insert(0, {str(root / 'tests/golden')!r})\n"
                  f"import api; lib = api.load({str(BUILD / 'src/front/library/libgputune.so.0')!r}); os.chdir({d!r}); m = lib.gputune_open(None, None)\n"
                  "for name in ('gputune_check', 'gputune_plan', 'gputune_facts'): api.ask(lib, name, m, None)\n"
                  "lib.gputune_open(b'/nonexistent', None)")
        p = run(sys.executable, "-c", script)
        expect("it prints nothing and makes no file", (p.returncode, p.stdout, p.stderr, os.listdir(d)) == (0, "", "", []), (p, os.listdir(d)))


def symbols(so):
    shown = {line.split()[-1].split("@")[0] for line in run("nm", "-D", "--defined-only", so).stdout.splitlines()} - {"GPUTUNE_0", "GPUTUNE_0.2"}
    expect("it shows what the header declares, and nothing else", shown == DECLARED, shown ^ DECLARED)
    listed = set(re.findall(r"^\t(gputune_\w+);", (root / "src/front/library/gputune.map").read_text(), re.M))
    expect("so does the version script", listed == DECLARED, listed ^ DECLARED)
    told = set(re.findall(r"^####? `.*?(gputune_\w+)\(", (root / "docs/AGENTS.md").read_text(), re.M))
    expect("and docs/AGENTS.md", told == DECLARED, told ^ DECLARED)
    debian = set(re.findall(r"^ (gputune_\w+)@GPUTUNE_0(?:\.2)? ", (root / "debian/libgputune0.symbols").read_text(), re.M))
    expect("and the Debian package", debian == DECLARED, debian ^ DECLARED)
    used = {line.split()[-1].split("@")[0] for line in run("nm", "-D", "--undefined-only", so).stdout.splitlines()}
    placed = [[w.strip() for w in line.split("|")] for line in run("nm", "-f", "sysv", so).stdout.splitlines() if line.count("|") == 6]
    state = {w[0] for w in placed if w[6] in (".data", ".bss")} - {"__dso_handle", "__TMC_END__", "completed.0"}
    # Libraries that were opened, PMIx of a launcher among them. "nothing" is the empty store of a capture, which nobody writes to; what the CPU can is asked once, by the compiler's own code.
    # Rows of known defects, of the vendor's releases and words of diagnoses are read once, behind a lock; patterns of outputs are compiled once.
    opened = {"library_calls", "library_states", "library_lock", "pmix", "nothing", "__cpu_model", "__cpu_features2",
              "kept", "kept_of_facts", "kept_arena", "kept_lock", "kept_why", "built_in", "built_in_lock", "index_lock", "index_kept", "arena.1", "once.1", "once.2", "compiled"}
    expect("it has no state that could change, but libraries and rows that are read once", placed and state <= opened, state)
    # _exit is there for one case, which the header names: no memory; signals and the environment for verbs that the library refuses.
    never = {"exit", "printf", "puts", "setlocale", "chdir", "umask", "system", "popen"}
    expect("it calls nothing that is the caller's", not used & never, used & never)


def abi(so):
    """Against tests/abi: functions, their types and the layout of what callers allocate."""
    with tempfile.TemporaryDirectory() as d:
        (pathlib.Path(d) / "layout.c").write_text("#include <gputune/gputune.h>\n#include <stddef.h>\nstruct gputune_error e;\n"
                                                  "_Static_assert(sizeof(e) == 772 && offsetof(struct gputune_error, code) == 0 && offsetof(struct gputune_error, text) == 4"
                                                  " && offsetof(struct gputune_error, hint) == 516, \"layout\");\n")
        built = run("cc", "-std=c11", "-Iinclude", "-c", f"{d}/layout.c", "-o", f"{d}/layout.o")
        expect("the layout of errors is as it was", built.returncode == 0, built.stderr)
        stored, now = root / f"tests/abi/libgputune-{platform.machine()}.abi", pathlib.Path(d) / "now.abi"
        if not shutil.which("abidw"):
            skip("abidiff", "abigail-tools is not installed")
            return
        told = run("abidw", "--headers-dir", "include", "--drop-private-types", "--exported-interfaces-only", "--no-corpus-path", "--no-comp-dir-path",
                   "--no-show-locs", "--no-architecture", so)
        # Where a file lies says nothing of its interface.
        now.write_text(re.sub(r"path='[^']*/(src/|include/)", r"path='\1", told.stdout))
        if UPDATE:
            stored.write_text(now.read_text())
        if not stored.exists():
            skip("abidiff", f"no baseline of {platform.machine()}")
            return
        p = run("abidiff", stored, now)
        expect("the ABI is the stored one: an addition is stored by --update", p.returncode == 0 and "gputune_plan" in told.stdout, p.stdout + told.stderr)
        less = pathlib.Path(d) / "less.abi"
        less.write_text(now.read_text().replace("size-in-bits='6176'", "size-in-bits='6208'"))
        expect("another layout would be seen", run("abidiff", stored, less).returncode & 4)


def from_c(folder, env, name, flags=()):
    """The example, compiled as a stranger would, and what it prints of a captured machine."""
    with tempfile.TemporaryDirectory() as d:
        found = run("pkg-config", "--cflags", "--libs", "gputune", env=env)
        expect(f"pkg-config finds it ({name})", found.returncode == 0 and "-lgputune" in found.stdout, found.stderr)
        built = run("cc", "-std=c11", "-Wall", "-Wextra", "-Wpedantic", "-Wconversion", "-Werror", *flags, "examples/check.c", "-o", f"{d}/check",
                    *found.stdout.split(), "-ljansson")
        expect(f"the example compiles ({name})", built.returncode == 0, built.stderr)
        at = {"LD_LIBRARY_PATH": str(folder), "ASAN_OPTIONS": "detect_leaks=1"}
        for machine in ("dgx-spark", "hgx-h100", "nothing"):
            p = run(f"{d}/check", f"build/machines/{machine}", env=at)
            want = [f["id"] for f in json.loads(program("check", "--host", f"build/machines/{machine}", "--format", "json"))["findings"] if f["verdict"] == "fail"]
            expect(f"the example says what the program says ({name}, {machine})", [line.split()[0] for line in p.stdout.splitlines()] == want and not p.stderr,
                   (p.stdout, p.stderr))
        p = run(f"{d}/check", "/nonexistent", env=at)
        expect(f"the example's error ({name})", p.returncode == 2 and "/nonexistent" in p.stderr, p.stderr)
        if not flags and shutil.which("c++"):
            (pathlib.Path(d) / "x.cc").write_text("#include <gputune/gputune.h>\nint main() { return !gputune_version(); }\n")
            built = run("c++", "-Wall", "-Werror", f"{d}/x.cc", "-o", f"{d}/x", *found.stdout.split())
            expect("C++ takes the header", built.returncode == 0 and run(f"{d}/x", env=at).returncode == 0, built.stderr)


def from_python(folder):
    env = {"LD_LIBRARY_PATH": str(folder), "PYTHONPATH": f"{root / 'python'}:{BUILD / 'python'}", "PYTHONDONTWRITEBYTECODE": "1"}
    p = run(sys.executable, "examples/check.py", "build/machines/dgx-spark", env=env)
    failed_here = [f for f in json.loads(program("check", "--host", "build/machines/dgx-spark", "--format", "json"))["findings"] if f["verdict"] == "fail"]
    lines = p.stdout.splitlines()
    expect("the Python example", p.returncode == 1 and not p.stderr and [line.split()[0] for line in lines[:len(failed_here)]] == [f["id"] for f in failed_here]
           and any("would write" in line for line in lines), (p.stdout, p.stderr))
    p = run(sys.executable, "examples/check.py", "/nonexistent", env=env)
    expect("its error", p.returncode == 1 and "/nonexistent" in p.stderr, p.stderr)


def from_package(folder):
    """The Python package beside the program: as a stranger imports it."""
    path = os.fspath(captured[0])
    env = {"LD_LIBRARY_PATH": str(folder), "PYTHONPATH": f"{root / 'python'}:{BUILD / 'python'}", "PYTHONDONTWRITEBYTECODE": "1"}
    text = (f"import gputune, json\nm = gputune.Machine({path!r})\nr = m.lint(nccl='2.28.9', command=['torchrun', '--nproc-per-node', '8', 't.py'])\n"
            "print(json.dumps(r))\n"
            "for bad in (dict(ncll='1'), dict(nccl=1), dict(file=['/nonexistent'])):\n"
            "    try:\n        m.lint(**bad)\n        print('no error')\n    except gputune.Error as e:\n        assert e.errno == 22 and str(e), e\n"
            "assert 'lint' in dir(m) and 'lint' in dir(gputune) and m.lint.__doc__ and gputune.version()\n"
            "try:\n    m.nothing()\n    print('no error')\nexcept AttributeError:\n    pass\n"
            "m.close()\ntry:\n    m.lint()\n    print('no error')\nexcept ValueError:\n    pass\n"
            "with gputune.Machine() as here:\n    here.lint(command=['true'])\n")
    p = run(sys.executable, "-c", text, env=env)
    told = program("lint", "--host", path, "--nccl", "2.28.9", "--format", "json", "--", "torchrun", "--nproc-per-node", "8", "t.py")
    expect("the Python package says what the program says", p.returncode == 0 and not p.stderr and
           without_time(json.dumps(json.loads(p.stdout))) == without_time(json.dumps(json.loads(told))), (p.returncode, p.stdout[-300:], p.stderr))
    text = (f"import gputune, json\nm = gputune.Machine({path!r})\n"
            "print(json.dumps([m.check(only=['gpu', 'cpu'])['summary'], m.explain(id='nic.mtu')['id'], len(m.list()['settings']),"
            " m.show(subject='cpu')['subject'], m.plan()['schema']]))\nprint(gputune.check()['summary']['pass'])\n")
    p = run(sys.executable, "-c", text, env=env)
    told = json.loads(program("check", "--host", path, "--only", "gpu,cpu", "--format", "json"))["summary"]
    listed = len(json.loads(program("list", "--format", "json"))["settings"])
    expect("what a machine is and what holds it back", p.returncode == 0 and json.loads(p.stdout.splitlines()[0]) ==
           [told, "nic.mtu", listed, "cpu", "gputune.plan/1"] and p.stdout.splitlines()[1].isdigit(), (p.stdout, p.stderr))
    p = run(sys.executable, "-c", "import sys, types, typing\nsys.modules['gputune'] = types.ModuleType('gputune')\nimport results\n"
            "h = typing.get_type_hints(results.Check)\nassert h['exit_code'] is int and 'findings' in h, h\nprint(len(vars(results)))",
            env={"PYTHONPATH": str(BUILD / "python/gputune")})
    expect("results have types", p.returncode == 0 and int(p.stdout) > 200, p.stderr)


def main():
    os.chdir(root)
    with tempfile.TemporaryDirectory() as d:
        folder, env = install(BUILD, d)
        lib = load(folder / "libgputune.so.0")
        symbols(folder / "libgputune.so.0")
        abi(BUILD / "src/front/library/libgputune.so.0")
        from_c(folder, env, "release")
        from_python(folder)
        from_package(folder)
        same_as_program(lib)
        this_machine(lib)
        asks(lib)
        refuses(lib)
        manners(lib)
    if len(sys.argv) > 2 and not UPDATE:
        with tempfile.TemporaryDirectory() as d:
            folder, env = install(pathlib.Path(sys.argv[2]).resolve(), d)
            from_c(folder, env, "sanitizers", ("-fsanitize=address,undefined",))
    end_suite()


if __name__ == "__main__":
    main()
