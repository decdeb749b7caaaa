#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Libraries that are opened on first use: who opens which, and what is said where one is missing. libraries.py GPUTUNE"""
import json
import pathlib
import re
import shlex
import subprocess
import sys
import tempfile

from common import UNSHARE, built, captured, end_suite, expect, gputune, machines, no_namespaces, root, run, skip

source = (root / "src/machine/host/libraries.c").read_text()
LIBRARIES = dict(re.findall(r'\{ "(lib\S+\.so\.\d+)", "\S+", "(\S+)" \}', source))
HGX = "demo:hgx-h100"
STUB = built / "tests/stub/current"


def opened(*words):
    """Those of the libraries that the loader was asked for."""
    with tempfile.TemporaryDirectory() as d:
        run(*words, env={"LD_DEBUG": "files", "LD_DEBUG_OUTPUT": f"{d}/log"})
        text = "".join(p.read_text(errors="replace") for p in pathlib.Path(d).iterdir())
    return {so for so in LIBRARIES if f"file={so} " in text}


def who_opens():
    expect("libraries.c has rows", len(LIBRARIES) == 6, LIBRARIES)
    for words, wanted in ((("--version",), set()), (("check", "--host", HGX), set()), (("check", "--host", HGX, "--format", "json"), set()),
                          (("plan", "--host", HGX), set()), (("check",), {"libmnl.so.0"})):
        got = opened(*words)
        expect(f"{' '.join(words)} opens {wanted or 'none'}", got <= wanted if words == ("check",) else got == wanted, got)


def without(folder):
    """As on a machine that has none of them: the loader finds files that are no libraries."""
    for so in LIBRARIES:
        (folder / so).write_text("")
    env = {"LD_LIBRARY_PATH": str(folder)}
    for words in (("check", "--host", HGX), ("plan", "--host", HGX), ("check", "--host", HGX, "--format", "json")):
        p, q = run(*words), run(*words, env=env)
        same = re.sub(r'"time": "[^"]*"', "", p.out) == re.sub(r'"time": "[^"]*"', "", q.out)
        expect(f"{' '.join(words)} is the same without", same and (p.code, p.err) == (q.code, q.err), q.err + q.out)
    config = folder / "accelerate.yaml"
    config.write_text("distributed_type: FSDP\nmixed_precision: bf16\n")
    wheelhouse = folder / "house"
    wheelhouse.mkdir()
    recording = folder / "job.rec"
    p = run("lint", str(config), env=env)
    expect("lint names the package", p.code == 1 and "not read" in p.out and "libyaml-0-2" in p.out, (p.code, p.out, p.err))
    for words, package in ((("check", "--host", HGX, "--format", "html"), "libsodium23"),
                           (("report", "-o", str(folder / "r.html")), "libsodium23"), (("cluster", "discover", "--nodes", "a,b"), "libsodium23"),
                           (("stack", "wheelhouse", "list", str(wheelhouse)), "libsodium23"),
                           (("diagnose", "training", str(config)), "zlib1g"), (("record", "-o", str(recording), "--", "true"), "libzstd1")):
        p = run(*words, env=env)
        expect(f"{' '.join(words[:2])} names the package", p.code not in (0, 1) and package in p.err, (p.code, p.out, p.err))
    expect("nothing was recorded", not recording.exists())
    p = run("check", env=env)
    expect("check of this machine goes on", p.code in (0, 1, 2) and "Score" in p.out and not p.err, (p.code, p.err))


# A captured machine's GPUs as this machine's: its sysfs and the driver's files, and the stand-in of NVML that answers from its capture.
AS_LIVE = ('mount --bind "$1/root/sys" /sys && mount --bind "$1/root/proc/driver" /proc/driver && shift && exec "$@"')


def as_live(machine, *argv, **env):
    return subprocess.run([*UNSHARE, "sh", "-c", AS_LIVE, "sh", machine, *argv], capture_output=True, text=True, check=False,
                          env={"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "GPUTUNE_STUB": str(machine / "api/nvml.json"), **env})


def work_per_joule(tmp):
    """prove searches caps of the clock on a captured DGX Spark whose NVML is the stub: power goes with the cube of the clock."""
    if why := no_namespaces("mount"):
        return skip("caps of the clock", why)
    spark = next(m for m in captured if m.name == "dgx-spark")
    answers = json.loads((spark / "api/nvml.json").read_text())
    answers["0"].update({"nvmlDeviceGetClockInfo(SM)": 2400, "nvmlDeviceGetPowerUsage": 60000})
    for name, more, code, said in (("counted", {"nvmlDeviceGetTotalEnergyConsumption": 1000}, (0, 5), "energy counted"),
                                   ("looked at", {}, (0, 5), "energy from power"),
                                   ("no power either", {"nvmlDeviceGetPowerUsage": 0}, (5,), "no GPU here reports energy or power")):
        told = tmp / "nvml.json"
        told.write_text(json.dumps(answers | {"0": answers["0"] | more, "stub": {"draws": 1}}))
        script = "mount -t tmpfs none /var/lib && " + AS_LIVE
        p = subprocess.run([*UNSHARE, "sh", "-c", script, "sh", spark, gputune, "prove", "gpu.sm-clock-lock", "--levels", "2200,1600", "--per-joule",
                            "--command", "sleep 0.002", "--settle", "1ms", "--time-limit", "5s" if name == "counted" else "60ms", "--min-effect", "5%",
                            "--loss", "50%", "--seed", "3", "--yes", "--allow", "gpu.sm-clock-lock", "--format", "json"],
                           capture_output=True, text=True, check=False,
                           env={"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "GPUTUNE_STUB": str(told), "LD_LIBRARY_PATH": str(built / "tests/stub/current")})
        j = json.loads(p.stdout) if p.stdout.startswith("{") else {}
        expect(f"energy {name}", p.returncode in code and said in p.stdout + p.stderr, (p.returncode, p.stdout[:400], p.stderr))
        if name == "counted":
            best = [m["id"] for m in j.get("members", []) if m.get("screening") == "keep"]
            expect("the cap with the most work per joule", best == ["0,1600"] and j["measured_with"]["figures"][0]["key"] == "per_joule",
                   (j.get("members"), j.get("why"), p.stderr))
            expect("it is unmeasured, and said so", "has been measured yet" in p.stderr, p.stderr)
    return None


# What each verb asks of NVML on a captured HGX, a line a function: verb, function, questions (of all GPUs). libraries.py GPUTUNE --update
# writes it. A reading of monitor and top asks again, and the list of processes is taken by two of their looks: no more than that.
ASKED = root / "tests/golden/nvml.tsv"
READINGS = {"monitor --once": 4, "top --for 100ms --interval 100ms": 6}
ASKERS = ("check", "show", "plan", "doctor gpu.slow", *READINGS)


def asked_once():
    """No question goes to NVML twice in a run; what each verb asks is stored."""
    if why := no_namespaces("mount"):
        return skip("NVML is asked once", why)
    got = []
    with tempfile.TemporaryDirectory() as d:
        for machine, verb in [("dgx-spark", "check"), *(("hgx-h100", v) for v in ASKERS)]:
            argv = [root / "scripts/device-nvml-cost", gputune, "--real", STUB / "libnvidia-ml.so.1", "--json", f"{d}/asked", "--", *verb.split()]
            if verb.startswith("top"):
                argv = ["script", "-qec", shlex.join(map(str, argv)), "/dev/null"]
            p = as_live(machines / machine, *argv, TERM="xterm")
            j = json.loads((pathlib.Path(d) / "asked").read_text())
            most, questions = READINGS.get(verb, 1), sum(f["questions"] for f in j["functions"])
            expect(f"{machine}, {verb}: each question to NVML once" + f" in {most} readings" * (most > 1), questions > 30 and
                   all(f["calls"] <= most * f["questions"] for f in j["functions"]), (p.stdout[-600:], p.stderr))
            if machine == "hgx-h100":
                got += sorted(f"{verb}\t{f['function']}\t{f['questions']}\n" for f in j["functions"])
    if "--update" in sys.argv:
        ASKED.write_text("".join(got))
    stored = ASKED.read_text().splitlines(keepends=True)
    expect("what is asked is what is stored", got == stored, sorted(set(got) ^ set(stored)))
    return None


def one_slice():
    """A bench of one MIG slice: CUDA sees that slice, and the result names the others."""
    if why := no_namespaces("mount"):
        return skip("a bench of a MIG slice", why)
    uuid = [f"MIG-{b * 4}-{b * 2}-{b * 2}-{b * 2}-{b * 6}" for b in ("10", "20")]
    slices = {"nvmlDeviceGetMigMode.current": 1, "nvmlDeviceGetMaxMigDeviceCount": 7}
    for i, u in enumerate(uuid):
        slices |= {f"nvmlDeviceGetMigDevice({i})": "16 9984 1 1 NVIDIA H100 80GB HBM3 MIG 1g.10gb", f"nvmlDeviceGetMigDeviceUUID({i})": u}
    answers = json.loads((machines / "hgx-h100/api/nvml.json").read_text())
    with tempfile.TemporaryDirectory() as d:
        told = pathlib.Path(d) / "nvml.json"
        told.write_text(json.dumps(answers | {"0": answers["0"] | slices}))
        env = {"GPUTUNE_STUB": str(told), "GPUTUNE_STUB_CUDA": "mig=1,gpus=1", "HOME": d, "LD_LIBRARY_PATH": f"{built}/tests/stub/device:{STUB}"}

        def bench(*words):
            return as_live(machines / "hgx-h100", gputune, "bench", "launch/hand-over", "--runs", "3", "--for", "20ms", "--state", d, "--format", "json", *words, **env)

        p = as_live(machines / "hgx-h100", gputune, "show", "gpu", "--format", "json", **env)
        expect("each slice has its UUID", [s["uuid"]["value"] for s in json.loads(p.stdout)["facts"]["gpus"][0]["slices"]] == uuid, p.stdout[:500])
        p = bench("--gpus", uuid[0])
        j = json.loads(p.stdout or "{}")
        notes = " ".join(j.get("notes", []))
        expect("one slice is measured", p.returncode == 0 and uuid[1] in notes and uuid[0] not in notes, (p.returncode, notes, p.stderr))
        p = bench("--gpus", ",".join(uuid))
        expect("two slices are refused", p.returncode == 2 and "one MIG slice" in p.stderr, (p.returncode, p.stderr))
    return None


MPS = ("mount -t tmpfs none /tmp && mkdir /tmp/nvidia-mps && touch /tmp/nvidia-mps/control && "
       '{ env CUDA_MPS_ACTIVE_THREAD_PERCENTAGE=30 SECRET=hidden sleep 30 & } && echo $! >/tmp/nvidia-mps/nvidia-cuda-mps-control.pid && '
       '"$1" explain gpu.mps-limits && kill $!')


def mps_daemon():
    """Two variables of the MPS daemon's environment are read where it says its number."""
    if why := no_namespaces("mount"):
        return skip("limits of MPS", why)
    p = as_live(machines / "hgx-h100", "sh", "-c", MPS, "sh", gputune, LD_LIBRARY_PATH=str(STUB))
    expect("limits of MPS", p.returncode == 0 and "threads 30 %, memory unlimited" in p.stdout and "hidden" not in p.stdout, p)
    return None


who_opens()
asked_once()
mps_daemon()
one_slice()
with tempfile.TemporaryDirectory() as made:
    without(pathlib.Path(made))
    work_per_joule(pathlib.Path(made))
end_suite()
