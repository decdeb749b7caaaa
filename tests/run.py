#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs the tests; scripts/test installs what they need and runs this. The last line is "N passed, N failed".

scripts/test             all of STEPS below
scripts/test changed     the same without suites whose folders (tests/suites) nothing changed since scripts/since
scripts/test nightly     all of NIGHTLY below
scripts/test NAME...     steps, or suites of tests/suites, by name

What a step needs is built before it. Logs are in build-logs.
"""
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
LOGS = ROOT / "build-logs"
STEPS = ("build", "unit", "golden", "house", "lint")
NIGHTLY = ("gcc", "sanitized", "threads", "arm64", "tidy", "mutate-all", "fuzz-long", "law-all", "walks", "figures", "browser", "agents", "history")
CORES = os.cpu_count() or 1
SLOTS = CORES + 1  # suites wait for a third of their time
EVERYTHING = ("src/base/", "src/machine/", "src/render/", "meson.build", "tests/golden/common.py", "tests/suites", "tests/run.py")
# A program that allocates much and often spends half its time on fresh pages with the usual 256 MB of freed memory kept aside.
SANITIZERS = {"ASAN_OPTIONS": "detect_leaks=1:detect_stack_use_after_return=1:quarantine_size_mb=16", "UBSAN_OPTIONS": "halt_on_error=1:print_stacktrace=1"}
THREADED = ("bench", "net", "monitor", "stack", "watch", "qualify")


class Job:
    """A command. It counts as one check, or, a suite, by the summary that its log ends in."""

    def __init__(self, step, name, command, after=(), suite=False, seconds=0, slots=1, env=None):
        self.step, self.name, self.command, self.after, self.suite = step, name, [str(w) for w in command], after, suite
        self.seconds, self.slots, self.env = seconds, slots, dict(env or {})
        self.log = LOGS / f"{name}.log"

    def start(self):
        self.begun = time.monotonic()
        with self.log.open("wb") as log:
            self.process = subprocess.Popen(self.command, cwd=ROOT, stdin=subprocess.DEVNULL, stdout=log, stderr=log,
                                            env={**os.environ, **self.env}, start_new_session=True)

    def end(self, code, usage):
        """Its figures and what is to be printed; passed and failed checks are known then."""
        self.wall, self.cpu = time.monotonic() - self.begun, usage.ru_utime + usage.ru_stime
        text = self.log.read_text(errors="replace")
        found = [re.findall(p, text, re.M) for p in ((r"^Ok: +(\d+)", r"^Fail: +(\d+)", r"^Timeout: +(\d+)") if self.command[0] == "meson" else
                                                     (r"^(\d+) passed, \d+ failed", r"^\d+ passed, (\d+) failed"))]
        if self.suite:
            self.passed = int(found[0][-1]) if found[0] else 0
            self.failed = sum(int(f[-1]) for f in found[1:] if f) if found[0] else 1
            self.failed = self.failed or int(code != 0)
            said = f": {self.passed} passed, {self.failed} failed"
        else:
            self.passed, self.failed, said = int(code == 0), int(code != 0), ""
        print(f"{'FAIL' if self.failed else 'ok  '} {self.name}{said} ({self.wall:.0f} s, {self.cpu:.0f} s of a processor)")
        for line in re.findall(r"^skip(?:ped)?:? .*", text, re.M):
            print(f"     {line}")
        if self.failed:
            lines = text.splitlines()
            first = next((n for n, line in enumerate(lines) if re.search(r"FAIL|ERROR|rror:", line)), None) if self.suite else None
            print("\n".join(lines[first:first + 120] if first is not None else lines[-60:]))
        sys.stdout.flush()


# --- what there is -------------------------------------------------------------------------------

def build(folder):
    """All of it; of the release build, whose test programs run in rounds alone, neither the unit tests (but those of many rounds) nor the fuzz targets."""
    every = "ninja -C build -t query all | sed -n 's/^ *//p' | grep -vE '^(tests/(unit|fuzz)/|meson-|all:$|input:|outputs:)'; echo rounds"
    return Job("build", folder, ["sh", "-ec", f'scripts/setup "$1"; exec ninja -C "$1" $({every if folder == "build" else ":"})', "sh", folder], slots=CORES)


def meson_test(step, name, folder, *words, slots=CORES):
    return Job(step, name, ["meson", "test", "-C", folder, "--no-rebuild", "--print-errorlogs", "--num-processes", slots * 2, *words],
               after=[folder], suite=True, slots=slots, env=SANITIZERS)


def suite(step, row, folder, name=None):
    """A line of tests/suites on the program of a build, "-": of none, or of those that the command names."""
    _, seconds, _, _, *command = row
    words = ["python3", *command] if command[0].endswith(".py") else list(command)
    if folder != "-":
        words.append("scripts/qemu-gputune" if folder == "build-arm64" else f"{folder}/gputune")
    # The captured machines lie in build, whichever program looks at them.
    return Job(step, name or row[0], words, after=["build", *(w for w in (folder, *command) if w.startswith("build-"))], suite=True, seconds=float(seconds))


def table():
    return [line.split() for line in (ROOT / "tests/suites").read_text().splitlines() if line and not line.startswith("#")]


def golden(rows):
    """Each on its first build under its own name, on another one with the build's."""
    return [suite("golden", r, b, None if n == 0 else r[0] + b.removeprefix("build")) for r in rows for n, b in enumerate(r[2].split(","))]


def changed(rows):
    since = subprocess.run(["scripts/since"], cwd=ROOT, capture_output=True, text=True, check=True).stdout.strip()
    if not since:
        return rows
    files = subprocess.run(["git", "diff", "--name-only", since], cwd=ROOT, capture_output=True, text=True, check=True).stdout.split()
    if any(f.startswith(EVERYTHING) for f in files):
        return rows
    folders = [[f"src/{f}/" for f in r[3].split(",")] for r in rows]
    return [r for r, own in zip(rows, folders) if r[3] == "core" or any(f.startswith((*own, r[4])) for f in files)]


def arm64():
    if subprocess.run(["dpkg", "--print-architecture"], capture_output=True, text=True).stdout.strip() != "amd64" or \
            subprocess.run(["scripts/install-deps", "arm64"], cwd=ROOT, stdout=(LOGS / "arm64-deps.log").open("w"), stderr=subprocess.STDOUT).returncode:
        print("skip arm64: its libraries cannot be installed here (build-logs/arm64-deps.log)")
        return []
    return [meson_test("arm64", "unit-arm64", "build-arm64", "--timeout-multiplier", "10"),
            *(suite("arm64", r, "build-arm64", "golden-arm64") for r in table() if r[0] == "golden")]


def jobs_of(step, only_changed):
    """The jobs of a step, those of builds besides."""
    rows = table()
    day = time.strftime("%j")
    match step:
        case "build":
            return [build("build"), build("build-san")]
        case "unit":  # walks, cuts and proofs that are cut off need many rounds: the release build has time for them
            return [meson_test(step, "unit", "build-san", "--no-suite", "rounds"), meson_test(step, "rounds", "build", "--suite", "rounds", "--suite", "walk", "--suite", "torture", slots=1)]
        case "golden":
            return golden(changed(rows) if only_changed else rows)
        case "house":
            jobs = [Job(step, "layers", ["scripts/check-layers", "build"], after=["build"]), Job(step, "house", ["scripts/check-house"]),
                    Job(step, "machines", ["scripts/machines/manifest"], after=["build"]), Job(step, "mutations", ["scripts/mutate", "--entries"], suite=True)]
            version = subprocess.run(["clang-format", "--version"], capture_output=True, text=True).stdout if shutil.which("clang-format") else ""
            if " 14." in version:  # others lay out differently
                jobs.append(Job(step, "format", ["sh", "-c", "git ls-files '*.c' '*.h' | xargs clang-format --dry-run -Werror"]))
            return jobs
        case "lint":
            return [Job(step, "cppcheck", [
                "cppcheck", "--quiet", "--enable=warning,portability", "--inline-suppr", "--error-exitcode=1", "-Isrc", f"-j{CORES}",
                "-Djson_object_foreach(o,k,v)=for(k=0,v=0;k;)", "--suppress=uninitStructMember", "--suppress=internalAstError",
                "--suppress=syntaxError", "--suppress=preprocessorErrorDirective", "src"], slots=CORES),
                Job(step, "clang-tidy", ["scripts/lint-tidy", "--changed"], after=["build-san"], slots=CORES)]
        case "gcc":
            return [meson_test(step, "unit-gcc", "build-gcc")]
        case "sanitized":  # all rounds and suites, by the build that counts what is covered
            jobs = [meson_test(step, "unit-san", "build-fuzzers", "--timeout-multiplier", "4"), *(suite(step, r, "build-fuzzers", f"{r[0]}-san") for r in rows if r[2] != "-")]
            return [*jobs, Job(step, "coverage", ["scripts/coverage", "75"], after=["build-fuzzers", *(j.name for j in jobs)])]
        case "threads":  # what is forked beside threads is looked at as well
            jobs = [meson_test(step, "unit-threads", "build-threads", "--timeout-multiplier", "5", "--suite", "unit")]
            jobs += [suite(step, r, "build-threads", f"{r[0]}-threads") for r in rows if r[0] in THREADED]
            for j in jobs:
                j.env["TSAN_OPTIONS"] = "die_after_fork=0"
            return jobs
        case "arm64":
            return arm64()
        case "tidy":
            return [Job(step, "clang-tidy-deep", ["scripts/lint-tidy", "--deep"], after=["build-san"], slots=CORES)]
        case "mutate-all":
            return [Job(step, "must-die", ["scripts/mutate"], suite=True, slots=CORES),
                    Job(step, "random", ["scripts/mutate", "--random", "200", "--seed", day], after=["must-die"], suite=True, slots=CORES)]
        case "fuzz-long":
            return [Job(step, "fuzz-long", ["scripts/fuzz", os.environ.get("GPUTUNE_FUZZ_SECONDS", "300")], suite=True, slots=CORES)]
        case "law-all":  # more machines, and more objects of each
            return [Job(step, "law-all", ["env", "LAW_ALL=1", "build/tests/law/test_law"], after=["build"])]
        case "walks":  # in memory, and on the kernel that runs, whose values they change and put back; all cuts of changes and proofs
            return [Job(step, "cuts", ["sh", "-ec", "TORTURE_POINTS=1050 build/tests/torture/torture; PROVE_POINTS=500 build/tests/unit/test_prove"], after=["build"]),
                    Job(step, "walks", ["build/tests/walk/walk", "--walks", "100000", "--seed", f"{day}0000000"], after=["build"], suite=True),
                    Job(step, "walks-live", ["python3", "tests/walk/live.py", "build/gputune", "--walks", "2000", "--seed", f"{day}0000"], after=["build"], suite=True)]
        case "figures":  # of 40 planted settings, what is kept in how many runs, beside published schedules; of planted conditions, what is judged rightly
            return [Job(step, "tune-figure", ["sh", "-ec", "ninja -C build tests/sim/tune_figure; build/tests/sim/tune_figure 50"], after=["build"], suite=True),
                    Job(step, "planted-all", ["python3", "tests/golden/planted.py", "build/gputune", "all"], after=["build"], suite=True)]
        case "history":  # ten thousand machines by a year, Parquet by DuckDB, a thousand nodes, ranks by a real PMIx
            return [Job(step, "since-parquet", ["sh", "-ec", "mkdir -p build-duckdb; cp tests/history/*.json build-duckdb; (cd build-duckdb; npm ci --ignore-scripts); "
                                                "GPUTUNE_DUCKDB=$PWD/build-duckdb python3 tests/golden/since.py build/gputune"], after=["build"], suite=True),
                    Job(step, "ranks-real", ["python3", "tests/golden/ranks_real.py", "build/gputune"], after=["build"], suite=True),
                    Job(step, "since-large", ["python3", "tests/golden/since.py", "build/gputune", "10000", "52"], after=["build"], suite=True),
                    Job(step, "kubernetes-large", ["python3", "tests/golden/kubernetes.py", "build/gputune", "1000"], after=["build"], suite=True),
                    Job(step, "qualify-full", ["python3", "tests/golden/qualify.py", "build/gputune", "full"], after=["build"], suite=True),
                    Job(step, "qualify-large", ["python3", "tests/golden/qualify.py", "build/gputune", "nodes=32"], after=["build"], suite=True),
                    Job(step, "qualify-slurm", ["python3", "tests/golden/qualify.py", "build/gputune", "nodes=32", "slurm"], after=["build"], suite=True),
                    Job(step, "kubernetes-real", ["python3", "tests/golden/kubernetes_real.py", "build/gputune",
                                                  os.environ.get("GPUTUNE_KUBERNETES", "build-kubernetes"), "1000"], after=["build"], suite=True)]
        case "agents":
            subprocess.run(["scripts/install-deps", "agents"], cwd=ROOT, stdout=(LOGS / "agents-deps.log").open("w"), stderr=subprocess.STDOUT)
            return [Job(step, name, ["python3", f"tests/agents/{name}.py", "build/gputune"], after=["build"], suite=True) for name in ("run", "faults", "polkit")] + \
                [Job(step, "orders", ["python3", "tests/golden/mcp.py", "build/gputune", "--long"], after=["build"], suite=True)]
        case "browser":
            subprocess.run(["scripts/install-deps", "browser"], cwd=ROOT, stdout=(LOGS / "browser-deps.log").open("w"), stderr=subprocess.STDOUT)
            return [Job(step, "browser", ["python3", "tests/browser/run.py", "build/gputune"], after=["build"], suite=True)]
    named = [j for j in golden(rows) if step in (j.name, j.name.removesuffix("-san"))]
    if not named:
        sys.exit(f'test: no step or suite "{step}"')
    return named


def chosen(words):
    only_changed = words == ["changed"]
    steps = {(): STEPS, ("changed",): STEPS, ("nightly",): NIGHTLY}.get(tuple(words), words)
    jobs = {j.name: j for s in steps for j in jobs_of(s, only_changed)}
    needed = [b for b in ("build", "build-san", "build-fuzzers", "build-gcc", "build-threads", "build-arm64") if any(b in j.after for j in jobs.values())]
    return [*(jobs.pop(b, None) or build(b) for b in needed), *jobs.values()]


# --- running -------------------------------------------------------------------------------------

def ready(job, waiting, running):
    """What it needs is done; what nobody runs is done as well."""
    return not any(j.name in job.after for j in (*waiting, *running))


def run(jobs):
    """Builds first, then the longest; done: jobs that ended, and those that were left out because a build failed."""
    waiting, running, done, left = sorted(jobs, key=lambda j: (j.step != "build", j.name != "unit", -j.slots, -j.seconds)), [], [], []
    while waiting or running:
        broken = {j.name for j in done if j.step == "build" and j.failed}
        left += [j for j in waiting if broken & set(j.after)]
        waiting = [j for j in waiting if not broken & set(j.after)]
        for job in list(waiting):
            free = SLOTS - sum(j.slots for j in running)
            if free > 0 and job.slots <= max(free, 1) and ready(job, waiting, running):
                job.start()
                running.append(job)
                waiting.remove(job)
        if not running:
            break
        pid, status, usage = os.wait4(-1, 0)
        for job in [j for j in running if j.process.pid == pid]:
            job.process.returncode = os.waitstatus_to_exitcode(status)
            running.remove(job)
            job.end(job.process.returncode, usage)
            done.append(job)
    return done, left


def summary(done):
    """Minutes of each step: of processors, and from its first beginning to its last end."""
    begun = min(j.begun for j in done)
    print(f"{'step':<12} {'processor':>9} {'from':>6} {'to':>6}  longest (minutes)")
    for step in dict.fromkeys(j.step for j in done):
        own = [j for j in done if j.step == step]
        longest = sorted(own, key=lambda j: -j.wall)[:3]
        print(f"{step:<12} {sum(j.cpu for j in own) / 60:9.1f} {(min(j.begun for j in own) - begun) / 60:6.1f} "
              f"{(max(j.begun + j.wall for j in own) - begun) / 60:6.1f}  {', '.join(f'{j.name} {j.wall / 60:.1f}' for j in longest)}")
    print(f"{'all':<12} {sum(j.cpu for j in done) / 60:9.1f} {0:6.1f} {max(j.begun + j.wall - begun for j in done) / 60:6.1f}")


def main():
    LOGS.mkdir(exist_ok=True)
    os.chdir(ROOT)
    jobs = chosen(sys.argv[1:])
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        done, left = run(jobs)
    except KeyboardInterrupt:
        return 130
    finally:
        for j in jobs:
            if getattr(j, "process", None) and j.process.returncode is None:
                os.killpg(j.process.pid, signal.SIGTERM)
    for j in left:
        print(f"FAIL {j.name}: what it needs was not built")
    summary(done)
    failed = sum(j.failed for j in done) + len(left)
    print(f"{sum(j.passed for j in done)} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
