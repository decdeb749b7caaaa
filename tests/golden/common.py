# SPDX-License-Identifier: Apache-2.0
"""What the suites of this folder share: the program run with limits, its JSON held against its schema, folders that go again, namespaces,
waiting for something, and the tally of what held. A suite ends in end_suite()."""
import atexit
import functools
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import time
import typing

import jsonschema

root = pathlib.Path(__file__).resolve().parent.parent.parent
machines = root / "build/machines"
captured = sorted(p.parent for p in machines.glob("*/meta.json"))
gputune = os.path.abspath(sys.argv[1]) if len(sys.argv) > 1 else None  # what is tested
built = pathlib.Path(gputune or root).parent  # the folder that it was built in, with stand-ins and the rest
PLAIN = {"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "LC_ALL": "C.UTF-8"}
UNSHARE = ("unshare", "--net", "--mount", "--propagation", "private")
MOST = 1500
tally = {True: 0, False: 0}
skipped = 0


# --- what held -----------------------------------------------------------------------------------

def expect(what, ok, detail=""):
    """Counts, and says what did not hold. Returns whether it held."""
    tally[bool(ok)] += 1
    if not ok:
        print(f"FAIL {what}: {str(detail)[:MOST]}", flush=True)
    return bool(ok)


def skip(what, why):
    """Says that something is not tried here."""
    global skipped
    skipped += 1
    print(f"skip {what}: {why}", flush=True)


def end_suite():
    """The line that scripts/test counts; ends the suite."""
    print(f"{tally[True]} passed, {tally[False]} failed" + (f", {skipped} skipped" if skipped else ""))
    sys.exit(1 if tally[False] else 0)


# --- the program ---------------------------------------------------------------------------------

class Ran(typing.NamedTuple):
    code: int | str  # or that it hangs
    out: str
    err: str


def start(*argv, env=None, cwd="/", **how):
    """A program that finish() waits for: no input, its output in pipes, and no environment but what the test says."""
    how = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True, "errors": "replace", **how}
    return subprocess.Popen([str(w) for w in argv], env={**PLAIN, **(env or {})}, cwd=cwd, **how)


def finish(process, seconds=120):
    """Its exit code and what it said. It ends in time, and is ended if not."""
    try:
        out, err = process.communicate(timeout=seconds)
        return Ran(process.returncode, out, err)
    except subprocess.TimeoutExpired:
        process.kill()
        return Ran("it hangs", *process.communicate())


def run(*argv, program=None, seconds=300, **how):
    """The program under test with these words."""
    ran = finish(start(program or gputune, *argv, **how), seconds)
    if ran.err and ("Sanitizer: " in ran.err or "runtime error: " in ran.err):
        expect(f"no sanitizer finds anything: {argv}", False, ran.err)
    return ran


def says(what, argv, code, *words, **how):
    """It ends with that code, and these words are in its output."""
    got, out, err = run(*argv, **how)
    return expect(what, got == code and all(w in out + err for w in words), (got, out, err))


def refuses(what, argv, code, *words, **how):
    """As says(), on standard error alone."""
    got, out, err = run(*argv, **how)
    return expect(what, got == code and all(w in err for w in words) and not out, (got, out[:200], err))


@functools.cache
def schema(name):
    """The one that was made of the result's rows, or the one that is written by hand."""
    made = built / f"schemas/{name}.json"
    return json.loads((made if made.exists() else root / f"schemas/{name}.json").read_text())


@functools.cache
def validator(name):
    of = jsonschema.validators.validator_for(schema(name))
    of.check_schema(schema(name))
    return of(schema(name))


def validate(j, name):
    """As jsonschema.validate(), which looks at the schema itself each time."""
    error = jsonschema.exceptions.best_match(validator(name).iter_errors(j))
    if error:
        raise error


def fits(what, text, name=None, detail=""):
    """The JSON of a text that follows the schema of that name, or the one that it names; None, and a failure, where it does not."""
    try:
        j = json.loads(text)
        validate(j, name or j["schema"].removeprefix("gputune.").removesuffix("/1"))
    except Exception as e:  # noqa: BLE001
        expect(what, False, (str(e)[:400], detail, text[:300]))
        return None
    expect(what, True)
    return j


def follows(what, argv, code, name=None, **how):
    """What it says as JSON, which follows its schema and has the exit code: this one, or one of these."""
    argv = [str(w) for w in argv]
    at = argv.index("--") if "--" in argv else len(argv)
    got, out, err = run(*argv[:at], "--format", "json", *argv[at:], **how)
    j = fits(what, out, name, (got, err))
    if j:
        expect(f"{what}: exit code", got == j["exit_code"] and got in (code if isinstance(code, tuple) else (code,)), (got, code, err, out[-300:]))
    return j


def sanitized(program):
    """Whether AddressSanitizer is built in: it takes several times the memory."""
    return b"__asan_init" in pathlib.Path(program).read_bytes()


# --- its surroundings ----------------------------------------------------------------------------

def scratch(name="test"):
    """A folder that goes at the end of the suite."""
    folder = pathlib.Path(tempfile.mkdtemp(prefix=f"gputune-{name}-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return folder


def bench_file(state, name, bench, case, value, unit, setup="one", band=None, gpu="NVIDIA GB10"):
    """A kept result of a bench of one case, as gputune bench writes it."""
    (state / "bench").mkdir(parents=True, exist_ok=True)
    text = {"gb_per_s": "GB/s", "tflop_per_s": "TFLOP/s", "us": "us"}[unit]
    figure = {"key": "rate", "title": "rate", "unit": unit, "unit_text": text, "better": "higher", f"samples_{unit}": [value] * 3}
    if band:
        figure["band"] = {"known": True, f"low_{unit}": band[0], f"high_{unit}": band[1], "source": "somebody, 2026"}
    c = {"bench": bench, "case": case, "method": "m", "method_version": 1, "setup": setup, "placement": "GPU 0", "variant": "", "error": None,
         "verified": True, "steady": True, "stop": "interval", "warmup_samples": 0, "at_s": [0, 1, 2], "round_starts": [0],
         "figures": [figure], "limit": {"known": False, "source": "none"}}
    (state / "bench" / f"{name}.json").write_text(json.dumps({
        "schema": "gputune.bench/1", "tool_version": "0.1.0", "time": "2026-11-01T10:00:00Z", "id": name, "machine": "00112233",
        "partial": False, "settings_digest": "0", "fingerprint": {"gpu0": gpu}, "settings": {}, "cases": [c],
        "conditions": {"cpus": 1, "busy": False, "sampler_percent": 0, "before": {}, "after": {}, "track": []},
        "not_run": [], "notes": []}))


def put(path, data):
    """A file with its folders."""
    path = pathlib.Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data if isinstance(data, bytes) else data.encode())
    return path


def snapshot(folder):
    """Every file and link below a folder, by its name: what it holds."""
    out = {}
    for path in sorted(pathlib.Path(folder).rglob("*")):
        name = str(path.relative_to(folder))
        if path.is_symlink():
            out[name] = ("link", os.readlink(path))
        elif path.is_file():
            out[name] = ("file", path.read_bytes())
    return out


def no_namespaces(*programs):
    """Why no network and no mounts of our own can be had here; None where they can."""
    missing = [p for p in ("unshare", *programs) if not shutil.which(p, path=PLAIN["PATH"])]
    if os.geteuid() or missing:
        return f"no {', '.join(missing)} here" if missing else "not root"
    # Not every root may: in a chroot the root folder is no mount point.
    return "no namespaces can be made here" if subprocess.run([*UNSHARE, "true"], capture_output=True).returncode else None


def alone():
    """Goes on in a network and mounts of its own, where nothing of gputune's is left in /var/lib: begins the suite anew, with --inside
    as its first word."""
    if "--inside" not in sys.argv:
        sys.stdout.flush()
        os.execvp("unshare", [*UNSHARE, sys.executable, os.path.abspath(sys.argv[0]), gputune, "--inside", *sys.argv[2:]])
    # Not on gputune's own folder below it: who removes that takes in every namespace what is mounted there.
    subprocess.run(["mount", "-t", "tmpfs", "-o", "mode=755", "none", "/var/lib"], check=True)
    subprocess.run(["ip", "link", "set", "lo", "up"], check=True)


# --- processes -----------------------------------------------------------------------------------

def copy_of(program, folder):
    """The program under a path that nobody else runs: suites run beside each other, and each looks for its own."""
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


def until(condition, seconds=60, every=0.02):
    """Waits for it, and returns what it is at last."""
    end = time.monotonic() + seconds
    while not (got := condition()) and time.monotonic() < end:
        time.sleep(every)
    return got
