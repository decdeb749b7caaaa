#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""generate and lint as a user meets them: captured DGX Sparks in a pair, in a ring and with faults; HGX nodes; every
emitted line run through a real shell with stand-ins for the programs, whatever a model's name holds; files with
planted faults, each found on its line."""
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

from common import end_suite, expect, follows, gputune, machines, run, says

HOSTILE = ["a b", "it's", 'say "x"', "$(touch pwned)", "`touch pwned`", "x;touch pwned", "two\nlines", "tab\there",
           "a\\b", "*", "~", "a&b|c<d>e", "${HOME}", "%h %%", "#no", "ünï", "'", "a=b", "!x", "{a,b}"]


def spark(tmp, name, addresses, nccl="2.30.7", available=None, down=()):
    """A captured DGX Spark with these addresses on its interfaces."""
    to = tmp / name
    shutil.copytree(machines / "dgx-spark", to, symlinks=True)
    api = to / "api/if.json"
    j = json.loads(api.read_text())
    for nic, ip in addresses.items():
        j[nic]["ipv4"] = ip
    api.write_text(json.dumps(j))
    lib = to / "root/usr/lib/aarch64-linux-gnu"
    lib.mkdir(parents=True, exist_ok=True)
    if nccl:
        for old in lib.glob("libnccl.so*"):
            old.unlink()
        os.symlink(f"libnccl.so.{nccl}", lib / "libnccl.so.2")
        (lib / f"libnccl.so.{nccl}").write_bytes(b"")
    for dev in down:
        for f in to.glob(f"root/sys/devices/**/infiniband/{dev}/ports/1/state"):
            f.write_text("1: DOWN\n")
    if available:
        f = to / "root/proc/meminfo"
        f.write_text("".join(f"MemAvailable: {available} kB\n" if x.startswith("MemAvail") else x
                             for x in f.read_text().splitlines(True)))
    return to


def ports(to):
    return sorted(p.name for p in (to / "root/sys/class/infiniband").iterdir())


PAIR = [{"enp1s0f0np0": f"192.168.100.{n}/24", "enP2p1s0f0np0": f"192.168.101.{n}/24", "enP7s7": f"192.0.2.{n}/24"}
        for n in (1, 2)]
RING = [{"enp1s0f0np0": "10.0.0.1/24", "enP2p1s0f0np0": "10.0.1.1/24", "enp1s0f1np1": "10.0.4.1/24",
         "enP2p1s0f1np1": "10.0.5.1/24", "enP7s7": "192.0.2.1/24"},
        {"enp1s0f1np1": "10.0.0.2/24", "enP2p1s0f1np1": "10.0.1.2/24", "enp1s0f0np0": "10.0.2.2/24",
         "enP2p1s0f0np0": "10.0.3.2/24", "enP7s7": "192.0.2.2/24"},
        {"enp1s0f1np1": "10.0.2.3/24", "enP2p1s0f1np1": "10.0.3.3/24", "enp1s0f0np0": "10.0.4.3/24",
         "enP2p1s0f0np0": "10.0.5.3/24", "enP7s7": "192.0.2.3/24"}]


def up_all(to):
    for f in to.glob("root/sys/devices/**/infiniband/*/ports/1/state"):
        f.write_text("4: ACTIVE\n")
    for f in to.glob("root/sys/devices/**/infiniband/*/ports/1/rate"):
        f.write_text("200 Gb/sec (4X HDR)\n")
    return to


def nodes_of(*sparks):
    return [x for i, s in enumerate(sparks) for x in ("--node", f"spark-{'abcd'[i]}={s}")]


def variables(j, rank):
    return {v["name"]: v["value"] for v in j["nodes"][rank]["variables"]}


def in_shell(tmp, script, *argv, env=None):
    """The words that the last program was really started with, and its variables, by /bin/sh."""
    bin_ = tmp / "bin"
    bin_.mkdir(exist_ok=True)
    stub = bin_ / "stub"
    stub.write_text(f"#!{sys.executable} -SE\nimport json,os,sys\n"
                    "json.dump([[os.path.basename(sys.argv[0])]+sys.argv[1:],dict(os.environ)],"
                    "open(os.environ['STUB_OUT'],'w'))\n")
    stub.chmod(0o755)
    for name in ("vllm", "python3", "llama-server", "trtllm-serve", "trtllm-llmapi-launch", "torchrun", "mpirun",
                 "ggml-rpc-server", "srun"):
        link = bin_ / name
        if not link.exists():
            os.symlink("stub", link)
    (bin_ / "scontrol").write_text("#!/bin/sh\nprintf 'first\\nsecond\\n'\n")
    (bin_ / "scontrol").chmod(0o755)
    out = tmp / "stub.json"
    out.unlink(missing_ok=True)
    f = tmp / "script.sh"
    f.write_text(script)
    p = subprocess.run(["/bin/sh", str(f), *argv], cwd=tmp, capture_output=True, text=True, timeout=60,
                       env={"PATH": f"{bin_}:/usr/bin:/bin", "STUB_OUT": str(out), "HOME": str(tmp), **(env or {})})
    expect("nothing else was run", not (tmp / "pwned").exists(), script[:200])
    return (json.loads(out.read_text()) if out.exists() else [None, None]), p


def pair(tmp):
    a, b = (up_all(spark(tmp, f"pair{i}", PAIR[i])) for i in (0, 1))
    j = follows("a pair", ["generate", "nccl", *nodes_of(a, b)], 0)
    if not j:
        return
    v = variables(j, 0)
    expect("a pair's shape", j["joined"] == "common", j["joined"])
    expect("a pair's variables", v.get("NCCL_NET") == "IB" and v.get("NCCL_SOCKET_IFNAME") == "=enP7s7" and
           v.get("NCCL_IB_HCA") == "=rocep1s0f0:1,roceP2p1s0f0:1" and "NCCL_IB_GID_INDEX" not in v and
           "NCCL_IB_SUBNET_AWARE_ROUTING" not in v, v)
    expect("the release that knows them", all(x["known"] == "yes" for x in j["nodes"][0]["variables"]), j["nodes"][0])
    expect("left alone, with reasons", {"NCCL_IB_GID_INDEX", "NCCL_ALGO"} <= {x["name"] for x in j["left_alone"]}, j)
    says("for people", ["generate", "nccl", *nodes_of(a, b)], 0, "NCCL_IB_HCA", "2.30.7 reads it", "Not set")
    got, out, _ = run("generate", "nccl", *nodes_of(a, b), "--format", "shell")
    p = subprocess.run(["/bin/sh", "-c", out + "\nenv"], capture_output=True, text=True)
    expect("sourced by sh", got == 0 and f"NCCL_IB_HCA={v['NCCL_IB_HCA']}\n" in p.stdout, p)
    j = follows("hostfile", ["generate", "hostfile", *nodes_of(a, b)], 0)
    expect("hostfile's lines", j and j["file_text"] == "192.0.2.1 slots=1\n192.0.2.2 slots=1\n", j and j["file_text"])
    j = follows("deepspeed_env", ["generate", "deepspeed_env", *nodes_of(a, b)], 0)
    expect("deepspeed_env's lines", j and "NCCL_SOCKET_IFNAME==enP7s7\n" in j["file_text"], j)
    j = follows("vllm-env", ["generate", "vllm-env", *nodes_of(a, b)], 0)
    expect("each its own address", j and [variables(j, i)["VLLM_HOST_IP"] for i in (0, 1)] ==
           ["192.0.2.1", "192.0.2.2"], j)
    half = up_all(spark(tmp, "half", {k: x for k, x in PAIR[1].items() if k != "enP2p1s0f0np0"}))
    j = follows("one twin without an address", ["generate", "nccl", *nodes_of(a, half)], 0)
    expect("is said", j and any("second interface" in p["says"] and p["node"] == "spark-b" for p in j["problems"]), j)
    says("a name twice", ["generate", "nccl", "--node", f"x={a}", "--node", f"x={b}"], 2, "given twice")
    says("a name that is none", ["generate", "nccl", "--node", f"-x y={a}"], 2, "not a valid machine name")
    says("no such capture", ["generate", "nccl", "--node", f"x={tmp}/none"], 2, "none")
    launchers(tmp, a, b)
    serving(tmp, a, b)


def ring(tmp):
    n = [up_all(spark(tmp, f"ring{i}", RING[i])) for i in range(3)]
    j = follows("a ring", ["generate", "nccl", *nodes_of(*n)], 0)
    v = variables(j, 0) if j else {}
    expect("a ring's variables", j and j["joined"] == "ring" and v.get("NCCL_IB_SUBNET_AWARE_ROUTING") == "1" and
           v.get("NCCL_IB_MERGE_NICS") == "0" and v.get("NCCL_NET_PLUGIN") == "none" and
           len(v["NCCL_IB_HCA"].split(",")) == 4 and "NCCL_IB_SUBNET_PREFIX_LEN" not in v, (j and j["joined"], v))
    old = up_all(spark(tmp, "old", RING[2], nccl="2.28.9"))
    j = follows("a library that is too old", ["generate", "nccl", *nodes_of(n[0], n[1], old)], 1)
    expect("is said", j and any(p["fatal"] and "2.30.7" in p["says"] and p["node"] == "spark-c"
                                for p in j["problems"]), j)
    expect("and that they differ", j and any("hang" in p["says"] for p in j["problems"]), j and j["problems"])
    four = up_all(spark(tmp, "four", {"enp1s0f0np0": "10.0.9.9/24", "enP7s7": "192.0.2.9/24"}))
    j = follows("one that nobody is joined with", ["generate", "nccl", *nodes_of(*n, four)], 1)
    expect("no way between all", j and j["joined"] == "neighbours", j and j["joined"])
    others = [up_all(spark(tmp, f"wide{i}", {k: x.replace("/24", "/28") for k, x in RING[i].items()}))
              for i in range(3)]
    j = follows("other prefixes", ["generate", "nccl", *nodes_of(*others)], 0)
    expect("are told", j and variables(j, 1).get("NCCL_IB_SUBNET_PREFIX_LEN") == "28", j and variables(j, 1))


def launchers(tmp, a, b):
    words = ["train.py", *HOSTILE]
    for rank in (0, 1):
        got, out, err = run("generate", "torchrun", *nodes_of(a, b), "--format", "shell", "--", *words)
        (argv, env), p = in_shell(tmp, out, "spark-" + "ab"[rank])
        expect("torchrun's words", got == 0 and argv and argv[0] == "torchrun" and
               argv[-len(words):] == words and f"--node-rank={rank}" in argv and "--nnodes=2" in argv and
               "--master-addr=192.0.2.1" in argv, (argv, p, err))
        expect("torchrun's variables", env and env["NCCL_NET"] == "IB" and env["GLOO_SOCKET_IFNAME"] == "enP7s7", env)
    _, p = in_shell(tmp, out, "another")
    expect("a machine that has no part", p.returncode == 2 and "no part" in p.stderr, p)
    real_mpi(tmp, a)
    got, out, _ = run("generate", "mpi", *nodes_of(a, b), "--format", "shell", "--", *words)
    (argv, _env), p = in_shell(tmp, out)
    expect("mpirun's words", got == 0 and argv and argv[0] == "mpirun" and argv.count("train.py") == 2 and
           argv[-len(words):] == words and "192.0.2.0/24" in argv and "NCCL_NET=IB" in argv and
           "192.0.2.2:1" in argv, (argv, p))
    got, out, err = run("generate", "sbatch", *nodes_of(a, b), "--format", "shell", "--", *words)
    (argv, env), p = in_shell(tmp, out, env={"SLURM_JOB_NODELIST": "x", "SLURM_JOB_ID": "7", "SLURM_CPUS_ON_NODE": "20"})
    expect("a job's words", got == 0 and argv and argv[0] == "srun" and argv[-len(words):] == words and
           "--rdzv-endpoint=first:29500" in argv and "--rdzv-id=7" in argv and "--cpus-per-task=20" in argv and
           env["NCCL_NET"] == "IB", (argv, p, err))
    j = follows("a job for lint", ["lint", tmp / "script.sh", "--host", a], 0)
    expect("has nothing against it", j and not [x for x in j["findings"] if x["level"] != "note"], j)
    j = follows("as a page", ["generate", "sbatch", *nodes_of(a, b), "--", "x"], 0)
    expect("it is a file", j and j["file_name"] == "job.sbatch" and "#SBATCH --nodes=2\n" in j["file_text"], j)
    other = up_all(spark(tmp, "other", {"enp1s0f1np1": "192.168.100.2/24", "enP2p1s0f1np1": "192.168.101.2/24",
                                        "enP7s7": "192.0.2.2/24"}))
    says("other devices", ["generate", "sbatch", *nodes_of(a, other), "--", "x"], 2, "TaskProlog")
    says("other devices", ["generate", "deepspeed_env", *nodes_of(a, other)], 2, "the same")
    says("no program", ["generate", "torchrun", *nodes_of(a, b)], 2, "PROGRAM")
    says("machines without names", ["generate", "hostfile", "--on", "2x dgx-spark", "--head", "h"], 2, "are unknown; use --node NAME=CAPTURE or --cluster")
    says("nor by likeness", ["generate", "mpi", "--host", a, "--nodes", "2", "--head", "h", "--", "x"], 2, "are unknown; use --node NAME=CAPTURE or --cluster")
    j = follows("torchrun needs the first alone", ["generate", "torchrun", "--host", a, "--nodes", "2", "--head", "h", "--",
                                                   "x"], 0)
    expect("by its address", j and all("--master-addr=h" in c["argv"] for c in j["commands"]) and j["joined"] == "unknown",
           j)
    says("too many words", ["generate", "nccl", "more"], 2, "takes no argument")
    says("an unknown kind", ["generate", "k8s"], 2, "torchrun")


def real_mpi(tmp, a):
    """Open MPI itself reads the line: two "machines" that are this one, each with its own variables."""
    if not shutil.which("mpirun"):
        print("note: no mpirun here; its line is read by a stand-in alone")
        return
    two = up_all(spark(tmp, "two", {"enp1s0f1np1": "10.7.7.2/24", "enP7s7": ""}))
    one = up_all(spark(tmp, "one", {"enp1s0f0np0": "10.7.7.1/24", "enP7s7": ""}))
    program = tmp / "tell.py"
    program.write_text("import os,sys,json\nprint(json.dumps([os.environ['NCCL_IB_HCA'],"
                       "os.environ['OMPI_COMM_WORLD_RANK'],sys.argv[1:]]))\n")
    j = follows("mpi for two", ["generate", "mpi", "--node", f"localhost={one}", "--node", f"127.0.0.1={two}", "--",
                                sys.executable, program, *HOSTILE], 0)
    if not j:
        return
    argv = [x.replace("10.7.7.1", "localhost").replace("10.7.7.2", "localhost") for x in j["commands"][0]["argv"]]
    p = subprocess.run(argv, capture_output=True, text=True, timeout=90, cwd=tmp,
                       env={**os.environ, "OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
                            "OMPI_MCA_rmaps_base_oversubscribe": "1", "OMPI_MCA_plm": "isolated"})
    # mpirun may put what two ranks say into one line.
    said, text = [], p.stdout.replace("\n", "")
    while text.startswith("["):
        one, end = json.JSONDecoder().raw_decode(text)
        said, text = [*said, one], text[end:]
    said.sort(key=lambda x: x[1])
    expect("mpirun gives each its own", p.returncode == 0 and [x[0] for x in said] ==
           ["=rocep1s0f0:1", "=rocep1s0f1:1"] and all(x[2] == HOSTILE for x in said), (argv[:20], p.returncode,
                                                                                      said, p.stderr[-500:]))
    expect("nothing else was run", not (tmp / "pwned").exists())


def serving(tmp, a, b):
    for i, engine in enumerate(("vllm", "sglang", "llamacpp", "trtllm")):
        for name in [*HOSTILE[i::4], " ".join(HOSTILE)]:
            model = "org/" + name + "-Qwen3-8B"
            argv = ["generate", engine, "--model", model, "--host", a, "--users", "2"]
            got, out, err = run(*argv, "--format", "shell")
            (words, _), p = in_shell(tmp, out)
            want = model + ":" if engine == "llamacpp" else model
            expect(f"{engine}: {name!r} stays one word", got == 0 and words and
                   [w for w in words if w == model or (engine == "llamacpp" and w.startswith(want))], (words, p, err))
        j = follows(f"{engine} for one", ["generate", engine, "--model", "Qwen3-8B", "--host", str(a)], 0)
        expect(f"{engine}'s reasons", j and j["serve"]["fits"] and j["serve"]["options_read"] and
               j["commands"][0]["reasons"][0], j)
    j = follows("two Sparks", ["generate", "vllm", "--model", "nvidia/Llama-3.3-70B-Instruct-NVFP4", *nodes_of(a, b),
                               "--context", "32768", "--users", "4"], 0)
    if j:
        first, second = (c["argv"] for c in j["commands"])
        expect("both machines", first[:2] == ["vllm", "serve"] and "--headless" in second and
               "--headless" not in first and second[second.index("--node-rank") + 1] == "1" and
               second[second.index("--master-addr") + 1] == "192.0.2.1", (first, second))
        expect("tensor parallel", first[first.index("--tensor-parallel-size") + 1] == "2" and j["serve"]["tp"] == 2,
               first)
        s = j["serve"]
        expect("the memory that it needs", s["wanted_bytes"] / s["total_bytes"] <= s["fraction"] <= 0.85 and
               s["fraction"] * s["total_bytes"] < s["free_bytes"] and
               float(first[first.index("--gpu-memory-utilization") + 1]) == s["fraction"], s)
        expect("no quantisation for a checkpoint that has one", "--quantization" not in first, first)
    says("the machine is small", ["generate", "vllm", "--model", "Qwen3-235B-A22B", "--weights", "bf16", "--host", a], 1,
         "does not fit")
    got, out, err = run("generate", "vllm", "--model", "Qwen3-235B-A22B", "--host", a, "--format", "shell")
    expect("what does not fit has no command", got == 1 and not out and "does not fit" in err, (got, out, err))
    low = up_all(spark(tmp, "low", PAIR[0], available=20 << 20))
    says("what is really free counts", ["generate", "vllm", "--model", "Qwen3-14B", "--host", low], 1, "free now")
    says("and without that it would fit", ["generate", "vllm", "--model", "Qwen3-14B", "--host", a], 0,
         "--gpu-memory-utilization")
    j = follows("a cache that has to be small", ["generate", "vllm", "--model", "Qwen3-32B", "--host", str(a), "--users",
                                                 "8", "--context", "20480"], 0)
    expect("is FP8, and says why", j and j["serve"]["kv"] == "fp8" and "--kv-cache-dtype" in j["commands"][0]["argv"],
           j and j["serve"])
    says("a format that nobody makes", ["generate", "vllm", "--model", "Qwen3-8B", "--weights", "nvfp4", "--host", a], 2,
         "\": not a checkpoint in")
    j = follows("FP8 while it is loaded", ["generate", "vllm", "--model", "Qwen3-8B", "--weights", "fp8", "--host",
                                           str(a)], 0)
    expect("by the option", j and "--quantization" in j["commands"][0]["argv"], j)
    says("an option as a model", ["generate", "vllm", "--model=-x", "--params", "8e9", "--host", a], 2, "\" would be parsed as an option, not a model")
    says("no model", ["generate", "vllm", "--host", a], 2, "--model")
    j = follows("who may ask", ["generate", "vllm", "--model", "Qwen3-8B", "--host", str(a)], 0)
    expect("this machine alone", j and j["commands"][0]["argv"][-2:] == ["--host", "127.0.0.1"], j)
    says("or who is told", ["generate", "sglang", "--model", "Qwen3-8B", "--host", a, "--listen", "0.0.0.0", "--port",
                            "8080"], 0, "--host 0.0.0.0", "--port 8080")
    says("three heads of eight", ["generate", "vllm", "--model", "Qwen3-8B", "--tp", "3", "--on", "3x dgx-spark",
                                  "--head", "h"], 2, "not divisible")
    says("many machines by name", ["generate", "vllm", "--model", "Qwen3-8B", "--on", "2x dgx-spark"], 2, "--head")
    weights(a)
    hgx(tmp)
    foreign(tmp)
    files(tmp, a, b)


def weights(a):
    j = follows("a checkpoint that is FP8 already", ["generate", "sglang", "--model", "deepseek-r1", "--weights", "fp8",
                                                     "--on", "h200 x8"], 0)
    expect("stays as it is", j and "--quantization" not in j["commands"][0]["argv"], j and j["commands"])
    says("SGLang holds 16 bits before it makes FP8", ["generate", "sglang", "--model", "Llama-3.3-70B", "--weights", "fp8",
                                                      "--host", a], 1, "Does not fit", "SGLang holds all weights in 16 bits before converting them")
    says("vLLM goes layer by layer", ["generate", "vllm", "--model", "Llama-3.3-70B", "--weights", "fp8", "--host", a], 0,
         "--quantization fp8")
    says("where it fits SGLang may", ["generate", "sglang", "--model", "Qwen3-8B", "--weights", "fp8", "--host", a], 0,
         "--quantization fp8")
    for engine in ("vllm", "sglang"):
        got, out, _ = run("generate", engine, "--model", "Qwen3-8B", "--on", "dgx-spark")
        expect(f"{engine}: what was not seen is no figure", got == 0 and "0.0 GB" not in out and "free now: unknown" in out, out)
    for engine, asked, word in (("vllm", "fp8", "--kv-cache-dtype fp8 "), ("sglang", "FP8", "--kv-cache-dtype fp8_e4m3"),
                                ("llamacpp", "fp16", "--cache-type-v f16"), ("llamacpp", "q8_0", "--cache-type-k q8_0"),
                                ("trtllm", "nvfp4", "--kv_cache_dtype nvfp4")):
        says(f"{engine} with a cache in {asked}", ["generate", engine, "--model", "Qwen3-8B", "--host", a, "--kv", asked], 0, word)
    for engine, asked in (("vllm", "q8_0"), ("vllm", "nvfp4"), ("sglang", "int8"), ("llamacpp", "fp8"), ("trtllm", "q8_0")):
        says(f"{engine} has no {asked}", ["generate", engine, "--model", "Qwen3-8B", "--host", a, "--kv", asked], 2,
             "does not support cache format \"", "supported: bf16")
    got, out, _ = run("generate", "vllm", "--model", "Qwen3-8B", "--host", a, "--kv", "half")
    expect("16 bits are the model's own", got == 0 and "--kv-cache-dtype" not in out, out)
    says("no name of a model", ["generate", "vllm", "--model", "", "--host", a], 2, "--model is empty")
    says("a short name is told for llama.cpp too", ["generate", "llamacpp", "--model", "Qwen3-8B", "--host", a], 0,
         "OWNER/NAME")


def foreign(tmp):
    """Ports that NCCL's own transport passes by, as AWS's EFA: to ask for IB would be an error at the start."""
    to = tmp / "efa"
    shutil.copytree(machines / "hgx-h100", to, symlinks=True)
    for f in to.glob("root/sys/devices/**/link_layer"):
        f.write_text("Unknown\n")
    j = follows("EFA", ["generate", "nccl", "--node", f"n0={to}", "--node", f"n1={to}"], 0)
    v = variables(j, 0) if j else {}
    expect("no transport is forced", j and j["joined"] == "sockets" and not {"NCCL_NET", "NCCL_IB_HCA"} & set(v), (v, j))
    says("and why", ["generate", "nccl", "--node", f"n0={to}", "--node", f"n1={to}"], 0, "plug-in")
    says("one of many that is slower", ["generate", "nccl", "--host", machines / "hgx-h100", "--nodes", "2", "--head", "n0"], 0,
         "1 other that is up is slower")
    says("machines of which only the number is told", ["generate", "nccl", "--host", machines / "dgx-spark", "--nodes", "2",
                                                       "--head", "n0"], 0, "RDMA ports are up, but their topology is unknown: the other", "cluster discover")
    says("ports without a way that was seen", ["generate", "nccl", "--host", machines / "dgx-spark", "--nodes", "2", "--head",
                                               "n0"], 0, "exactly the ports that are up; without \"=\" a name also")


def hgx(tmp):
    h = machines / "hgx-h100"
    j = follows("HGX alone", ["generate", "nccl", "--host", h], 0)
    expect("needs nothing", j and j["joined"] == "alone" and not j["nodes"][0]["variables"], j)
    j = follows("two HGX", ["generate", "nccl", "--node", f"n0={h}", "--node", f"n1={h}"], 0)
    expect("InfiniBand", j and j["joined"] in ("fabric", "common"), j and j["joined"])
    v = variables(j, 0) if j else {}
    expect("the management port that both share meets, though it has an RDMA device", v.get("NCCL_SOCKET_IFNAME") == "=enp20s0f0np0", v)
    last = []
    for k in (0, 1):
        to = tmp / f"hgx-ipoib-{k}"
        shutil.copytree(h, to, symlinks=True)
        api = to / "api/if.json"
        known = json.loads(api.read_text())
        known["enp20s0f0np0"]["ipv4"] = ""
        api.write_text(json.dumps(known))
        last += ["--node", f"n{k}={to}"]
    ipoib = follows("two HGX that share InfiniBand alone", ["generate", "nccl", *last], 0)
    expect("IPoIB where nothing else is shared", ipoib and variables(ipoib, 0).get("NCCL_SOCKET_IFNAME", "").startswith("=ib"), ipoib and variables(ipoib, 0))
    expect("no pinned GID, no forced algorithm", v.get("NCCL_NET") == "IB" and
           not {"NCCL_ALGO", "NCCL_IB_GID_INDEX", "NCCL_NET_GDR_LEVEL"} & set(v), v)
    j = follows("a model over eight GPUs", ["generate", "vllm", "--model", "Llama-3.3-70B", "--host", str(h)], 0)
    if j:
        s = j["serve"]
        expect("tensor parallel within the machine", s["tp"] * s["pp"] == 8 and len(s["tries"]) == 4, s)
        expect("one figure of what it needs", [t["memory_bytes"] for t in s["tries"] if t["tp"] == s["tp"]] == [s["wanted_bytes"]], s)
    j = follows("blocks of experts", ["generate", "vllm", "--model", "Qwen3-235B-A22B-FP8", "--host", str(h)], 0)
    expect("experts as wholes", j and (not j["serve"]["tp"] > 4 or j["serve"]["expert_parallel"]), j and j["serve"])


SHAPE = {"architectures": ["Qwen3ForCausalLM"], "model_type": "qwen3", "hidden_size": 4096, "num_hidden_layers": 36, "num_attention_heads": 32,
         "num_key_value_heads": 8, "head_dim": 128, "intermediate_size": 12288, "vocab_size": 151936, "torch_dtype": "bfloat16",
         "tie_word_embeddings": False, "max_position_embeddings": 40960}


def containers(tmp, a):
    """A model that lies on the machine is mounted where it is, and the command names that place, from whatever folder it was asked."""
    hub = tmp / "hub/models--o--m/snapshots/abc"
    plain = tmp / "mo $x"
    for folder in (hub, plain):
        folder.mkdir(parents=True)
        (folder / "config.json").write_text(json.dumps(SHAPE))

    def mount(source):
        text = json.dumps(str(source)).replace("$", "$$")
        return (f"    volumes:\n      - type: bind\n        source: {text}\n        target: {text}\n        read_only: true\n"
                "        bind:\n          create_host_path: false\n")

    at = json.dumps(str(plain)).replace("$", "$$")
    for what, model, engine in (("a folder", plain, "vllm"), ("from where it is", "./mo $x", "sglang"), ("its config", plain / "config.json", "vllm"),
                                ("its config from there", "mo $x/config.json", "trtllm"), ("by a way back", "hub/../mo $x/.", "vllm")):
        got, out, err = run("generate", engine, "--model", model, "--host", a, "--format", "compose", "--image", "i:1", cwd=tmp)
        expect(f"{what} is mounted where it is", got == 0 and mount(plain) in out and f"      - {at}\n" in out and "models:" not in out and
               "HF_HOME" not in out, (got, out, err))
    got, out, err = run("generate", "vllm", "--model", hub, "--host", a, "--format", "compose", "--image", "i:1")
    expect("what the hub's files link to is mounted too", mount(tmp / "hub/models--o--m") in out and f'      - "{hub}"\n' in out, (out, err))
    for model in (plain, plain / "config.json"):
        says("llama.cpp loads GGUF alone", ["generate", "llamacpp", "--model", model, "--host", a], 2, "GGUF file", "neither")
    got, out, err = run("generate", "vllm", "--model", plain / "config.json", "--host", a, "--format", "shell")
    expect("an engine loads the folder of a config", got == 0 and f"vllm serve \\\n    '{plain}' \\\n" in out, (out, err))
    try:
        import yaml
        out = run("generate", "vllm", "--model", plain, "--host", a, "--format", "compose", "--image", "i:1")[1]
        v = yaml.safe_load(out)["services"]["vllm-0"]["volumes"]
        expect("and YAML has it so", v == [{"type": "bind", "source": str(plain).replace("$", "$$"), "target": str(plain).replace("$", "$$"),
                                            "read_only": True, "bind": {"create_host_path": False}}], v)
    except ImportError:
        pass


def files(tmp, a, b):
    model = "org/Qwen3-8B $(touch pwned) 'x' \"y\" %h"
    base = ["generate", "vllm", "--model", model, *nodes_of(a, b)]
    got, out, err = run(*base, "--format", "systemd")
    expect("units", got == 0 and out.count("ExecStart=/usr/bin/env vllm serve ") == 2 and
           "Environment=NCCL_NET=IB" in out and "LimitMEMLOCK=infinity" in out, (got, out, err))
    if shutil.which("systemd-analyze") and got == 0:
        unit = tmp / "vllm.service"
        unit.write_text(run(*base, "--rank", "0", "--format", "systemd")[1])
        p = subprocess.run(["systemd-analyze", "verify", "--man=no", str(unit)], capture_output=True, text=True)
        expect("systemd reads it", "vllm.service:" not in p.stderr, p.stderr)
    says("a unit has no newline", ["generate", "vllm", "--model", "Qwen3-8B\nExecStart=/bin/true", "--host", a,
                                   "--format", "systemd"], 2, "\" is not allowed in a unit")
    expect("nor half of one", not run("generate", "vllm", "--model", "Qwen3-8B\nx", "--host", a, "--format",
                                      "systemd")[1])
    expect("what a unit lacks is said in it", "User=NAME" in out and "WorkingDirectory=" in out, out[:300])
    says("no image", [*base, "--format", "compose"], 2, "--image")
    got, out, err = run("generate", "llamacpp", "--model", "o/Qwen3-8B-GGUF:Q4_K_M", "--host", a, "--format", "compose", "--image",
                        "ghcr.io/ggml-org/llama.cpp:server-cuda")
    expect("what a container lacks is said in it", "HF_TOKEN" in out[:400], out[:400])
    expect("what llama.cpp fetches is kept", 'LLAMA_CACHE: "/models"' in out and 'volumes: ["models:/models"]' in out and
           out.endswith("volumes:\n  models: {}\n"), out)
    expect("llama.cpp's server lies on no path of its image", got == 0 and 'entrypoint: ["/app/llama-server"]' in out, (out, err))
    got, out, err = run(*base, "--format", "compose", "--image", "vllm/vllm-openai:v1")
    try:
        import yaml
        services = yaml.safe_load(out)["services"]
        first = services["vllm-0"]
        expect("compose", got == 0 and first["command"][0] == "serve" and
               first["command"][1] == model.replace("$", "$$") and first["environment"]["NCCL_NET"] == "IB" and
               first["ulimits"]["memlock"] == -1 and first["cap_add"] == ["IPC_LOCK"], first)
    except ImportError:
        expect("compose", got == 0 and json.dumps(model.replace("$", "$$")) in out, out)
    expect("what is fetched is kept", out.count('HF_HOME: "/models"') == 2 and out.count('volumes: ["models:/models"]') == 2 and
           out.count("  models: {}\n") == 1, out)
    containers(tmp, a)
    got, out, _ = run(*base, "--format", "shell", "--rank", "1")
    (words, env), p = in_shell(tmp, out)
    expect("one machine's part", words and "--headless" in words and model in words and env["VLLM_HOST_IP"] ==
           "192.0.2.2", (words, p))
    for f in ("md", "html", "term"):
        got, out, _ = run(*base, "--format", f)
        expect(f"as {f}", got == 0 and "tensor-parallel-size" in out and out.count("<script>") == (f == "html"), out[:300])


def cluster(tmp):
    """A discovery gives the same as captures. Its nodes are captures; addresses and states, which it takes from the
    live interfaces, are put into its JSON."""
    n = [up_all(spark(tmp, f"ring{i}", RING[i])) for i in range(3)]
    reach = tmp / "reach"
    reach.write_text(f"#!/bin/sh\nexec {gputune} cluster node --host {tmp}/$1\n")
    reach.chmod(0o755)
    got, out, err = run("cluster", "discover", "--nodes", "ring0,ring1,ring2", "--rsh", f"{reach} {{node}}",
                        "--timeout", "60s", "--format", "json")
    expect("a discovery", got in (0, 1) and out, (got, err))
    j = json.loads(out)
    for node, addresses in zip(j["nodes"], RING):
        for port in node["ports"]:
            port["addresses"] = [{"address": addresses[port["name"]]}] if port["name"] in addresses else []
            port["operstate"], port["carrier"] = {"value": "up", "from": "x"}, {"value": True, "from": "x"}
    found = tmp / "found.json"
    found.write_text(json.dumps(j))
    seen = follows("by a discovery", ["generate", "vllm-env", "--cluster", found], 0)
    own = follows("by captures", ["generate", "vllm-env", *[x for i in range(3) for x in
                                                             ("--node", f"ring{i}={n[i]}")]], 0)
    expect("the same", seen and own and seen["joined"] == "ring" and
           all(a["variables"] == b["variables"] and a["address"] == b["address"]
               for a, b in zip(seen["nodes"], own["nodes"])), (seen and seen["nodes"][0], own and own["nodes"][0]))
    follows("served by them", ["generate", "vllm", "--model", "nvidia/Llama-3.3-70B-Instruct-NVFP4", "--cluster", found,
                               "--tp", "1", "--pp", "3"], 0)
    says("no discovery", ["generate", "nccl", "--cluster", tmp / "none.json"], 2, "none.json")
    bad = tmp / "bad.json"
    for text in ('{"schema":"gputune.cluster-discover/1"}', "", "[1]", '{"schema":"x","nodes":[]}',
                 json.dumps({**j, "nodes": [{**j["nodes"][0], "name": "a\nb"}]})):
        bad.write_text(text)
        got, _, err = run("generate", "nccl", "--cluster", bad)
        expect("half a discovery", got == 2 and err, (text[:60], got, err))
    j["nodes"][1]["failure"] = "it was off"
    bad.write_text(json.dumps(j))
    says("one that did not answer", ["generate", "nccl", "--cluster", bad], 5, "it was off")
    says("two sources of machines", ["generate", "nccl", "--cluster", found, "--on", "h100"], 2, "one of")


def find(j, code, line=None, subject=None):
    return [f for f in j["findings"] if f["code"] == code and (line is None or f["line"] == line) and
            (subject is None or f["subject"] == subject)] if j else []


SCRIPT = """#!/bin/bash
#SBATCH --nodes=2
#SBATCH --export=NCCL_IB_DISABLE=1
export NCCL_IB_GID_INDEX=3
export NCCL_ALGO=Ring NCCL_PROTO="Simple"
NCCL_IB_HAC=mlx5_0 srun train   # a typing error
export NCCL_NET_GDR_LEVEL=SYS
export NCCL_IB_HCA=rocep1s0f
export NCCL_BUFFSIZE=4MB NCCL_DEBUG=LOUD
export NCCL_SOCKET_IFNAME=eth77
docker run -e NCCL_NET=Socket image \\
    vllm serve meta/Llama-3.3-70B-Instruct --gpu-memory-utilization 0.98 \\
    --mem-fraction-static 0.9 --tensor-parallel-size 8
export NCCL_IB_SUBNET_AWARE_ROUTING=1
llama-server -m x.gguf -ctv q8_0 -fa off -ngl 0
vllm serve m \u2013-max-model-len 4096
echo $NCCL_IB_GID_INDEX # NCCL_ALGO=Tree
"""


OUTSIDE = (
    ("UCX_NET_DEVICES=rocep1s0f0:1,roceP2p1s0f0:1",), ("UCX_NET_DEVICES=rocep9s9:1", "interface-unknown error"), ("UCX_NET_DEVICES=all",),
    ("UCX_NET_DEVICES=enp1s0f0np0", "tcp-only note"), ("UCX_NET_DEVICES=enP7s7",), ("OMPI_MCA_btl_tcp_if_include=enP7s7,192.0.2.0/24",),
    ("OMPI_MCA_btl_tcp_if_include=eth9", "interface-unknown error"), ("OMPI_MCA_oob_tcp_if_include=lo", "interface-local error"),
    # What PyTorch and CUDA read: code and level of every finding, in order; none: nothing is wrong.
    ("PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True",),
    ("PYTORCH_ALLOC_CONF='expandable_segments: True, max_split_size_mb:128'",),
    ("PYTORCH_ALLOC_CONF=roundup_power2_divisions:[256:1,512:2,>:8],garbage_collection_threshold:0.8",),
    ("PYTORCH_ALLOC_CONF=pinned_use_cuda_host_register:True,pinned_num_register_threads:8",),
    ("PYTORCH_ALLOC_CONF=max_split_size_mb:$SIZE",),
    ("PYTORCH_ALLOC_CONF=",),
    ("PYTORCH_ALLOC_CONF=expandable_segment:True", "unknown-key error"),
    ("PYTORCH_ALLOC_CONF=of_tomorrow:True", "unknown-key warning"),
    ("PYTORCH_ALLOC_CONF=expandable_segments=True", "bad-value error"),
    ("PYTORCH_ALLOC_CONF=expandable_segments:", "bad-value error"),
    ("PYTORCH_ALLOC_CONF=expandable_segments:true", "bad-value error"),
    ("PYTORCH_ALLOC_CONF=max_split_size_mb:19", "bad-value error"),
    ("PYTORCH_ALLOC_CONF=max_split_size_mb:20",),
    ("PYTORCH_ALLOC_CONF=garbage_collection_threshold:1", "bad-value error"),
    ("PYTORCH_ALLOC_CONF=per_process_memory_fraction:1",),
    ("PYTORCH_ALLOC_CONF=per_process_memory_fraction:1.5", "bad-value error"),
    ("PYTORCH_ALLOC_CONF=roundup_power2_divisions:3", "bad-value error"),
    ("PYTORCH_ALLOC_CONF=pinned_num_register_threads:256", "bad-value error"),
    ("PYTORCH_ALLOC_CONF=backend:cudaMalloc", "bad-value error"),
    ("PYTORCH_ALLOC_CONF=backend:cudaMallocAsync",),
    ("PYTORCH_ALLOC_CONF=backend:cudaMallocAsync,max_split_size_mb:64", "contradiction note"),
    ("PYTORCH_NO_CUDA_MEMORY_CACHING=1", "harmful warning"),
    ("PYTORCH_NO_CUDA_MEMORY_CACHING=0", "harmful warning"),
    ("CUDA_LAUNCH_BLOCKING=0",),
    ("CUDA_CACHE_DISABLE=1", "harmful warning"),
    ("TRANSFORMERS_CACHE=/data/hf", "old-name note"),
    ("HF_HOME=/tmp/hf", "saves note"),
    ("HF_HOME=/data/hf",),
    ("CUDA_DEVICE_ORDER=PCI_BUS_ID",),
    ("CUDA_DEVICE_ORDER=PCI", "bad-value error"),
    ("CUDA_MODULE_LOADING=EAGER", "harmful note"),
    ("CUDA_VISIBLE_DEVICES=0",),
    ("CUDA_VISIBLE_DEVICES=GPU-8932f937",),
    ("CUDA_VISIBLE_DEVICES=$1",),
    ("CUDA_VISIBLE_DEVICES=all", "bad-value error"),
    ("CUDA_VISIBLE_DEVICES=-1", "no-gpu note"),
    ("CUDA_VISIBLE_DEVICES=0,-1,1", "cut-short warning"),
    ("CUDA_VISIBLE_DEVICES=0,1", "cut-short warning"),  # the machine has one
    ("CUBLAS_WORKSPACE_CONFIG=:4096:8",),
    ("CUBLAS_WORKSPACE_CONFIG=:4096:2:16:8",),
    ("CUBLAS_WORKSPACE_CONFIG=:16:8", "harmful note"),
    ("CUBLAS_WORKSPACE_CONFIG=:0:0", "harmful warning"),
    ("CUBLAS_WORKSPACE_CONFIG=4096", "bad-value error"),
    ("TORCH_NCCL_ASYNC_ERROR_HANDLING=1",),
    ("TORCH_NCCL_ASYNC_ERROR_HANDLING=0", "harmful warning"),
    ("TORCH_NCCL_ASYNC_ERROR_HANDLING=4", "bad-value error"),
    ("NCCL_ASYNC_ERROR_HANDLING=1", "old-name note"),
    ("NCCL_BLOCKING_WAIT=true", "harmful warning", "old-name note"),
    ("TORCH_NCCL_BLOCKING_WAIT=0",),
    ("TORCH_DISTRIBUTED_DEBUG=info",),
    ("TORCH_DISTRIBUTED_DEBUG=DETAIL", "debug-left warning"),
    ("TOKENIZERS_PARALLELISM=false", "tokenizers note"),
    ("TOKENIZERS_PARALLELISM=maybe", "bad-value error"),
    ("CUDA_AUTO_BOOST=1", "dead-variable note"),
    ("TORCH_DISTRIBUTED_DEBUG=1", "bad-value error"),
)


def outside(script):
    for value, *want in OUTSIDE:
        script.write_text(f"export {value}\n")
        code, out, _ = run("lint", script, "--host", machines / "dgx-spark", "--format", "json")
        got = [f'{x["code"]} {x["level"]}' for x in json.loads(out)["findings"]]
        expect(f"{value}: {', '.join(want) or 'nothing wrong'}", got == want and json.loads(out)["variables"] == 1, got)
    job = "#SBATCH -N 2\n"
    for text, want in ((f"{job}export CUDA_VISIBLE_DEVICES=0,1", 1), (f"{job}CUDA_VISIBLE_DEVICES=0,1", 1), ("export CUDA_VISIBLE_DEVICES=0,1", 0),
                       # Each program of a job a GPU of its own.
                       (f"{job}CUDA_VISIBLE_DEVICES=0 A=1 ./a &\nenv CUDA_VISIBLE_DEVICES=1 ./b", 0),
                       (f"{job}srun --export=ALL,CUDA_VISIBLE_DEVICES=0 ./a", 0)):
        script.write_text(f"#!/bin/sh\n{text}\n")
        j = json.loads(run("lint", script, "--host", machines / "hgx-h100", "--format", "json")[1])
        expect(f"a list of GPUs: {text!r}", [x["code"] for x in j["findings"]] == ["fixed-gpus"] * want, j["findings"])


def lint(tmp):
    a = up_all(spark(tmp, "lint", PAIR[0], nccl="2.28.9"))
    f = tmp / "job.sbatch"
    f.write_text(SCRIPT)
    j = follows("a script full of faults", ["lint", f, "--host", a], 1)
    for code, line, subject in (("harmful", 3, "NCCL_IB_DISABLE"), ("gid-pinned", 4, None), ("forced", 5, "NCCL_ALGO"),
                                ("forced", 5, "NCCL_PROTO"), ("unknown-variable", 6, "NCCL_IB_HAC"),
                                ("not-here", 7, None), ("hca-prefix", 8, None), ("bad-value", 9, "NCCL_BUFFSIZE"),
                                ("bad-value", 9, "NCCL_DEBUG"), ("interface-unknown", 10, None),
                                ("harmful", 11, "NCCL_NET"), ("memory", 12, "--gpu-memory-utilization"),
                                ("other-engine", 13, "--mem-fraction-static"), ("too-many-gpus", 11, None),
                                ("too-new", 14, "NCCL_IB_SUBNET_AWARE_ROUTING"), ("contradiction", 15, None),
                                ("no-layers", 15, None), ("typography", 16, None)):
        expect(f"{code} on line {line}", find(j, code, line, subject), j and [
            (x["code"], x["line"], x["subject"]) for x in j["findings"]])
    expect("a comment sets nothing", j and not [x for x in j["findings"] if x["line"] == 17], j and j["findings"])
    expect("did you mean", find(j, "unknown-variable") and find(j, "unknown-variable")[0]["fix"] == "NCCL_IB_HCA?", j)
    says("file and line", ["lint", f, "--host", a, "--width", "200"], 1, f"{f}:4")
    odd = tmp / "odd.sh"
    for value, wrong in (("NCCL_P2P_LEVEL=FOO", 1), ("NCCL_P2P_LEVEL=PXB", 0), ("NCCL_CROSS_NIC=3", 1), ("NCCL_NTHREADS=700", 1), ("NCCL_NTHREADS=256", 0),
                         ("NCCL_IB_SL=17", 1), ("NCCL_SOCKET_NTHREADS=32", 1), ("NCCL_PROTO=LL64", 1), ("NCCL_PROTO=LL,Simple", 0),
                         ("NCCL_PROTO=^LL128", 0), ("NCCL_ASYNC_ERROR_HANDLING=1", 0), ("NCCL_BLOCKING_WAIT=1", 0)):
        odd.write_text(f"export {value}\n")
        code, out, _ = run("lint", odd, "--format", "json")
        bad = [x for x in json.loads(out)["findings"] if x["level"] == "error"]
        expect(f"{value}: {'a value that it does not take' if wrong else 'nothing wrong'}", len(bad) == wrong and all(x["code"] == "bad-value" for x in bad), bad)
    outside(odd)
    good = tmp / "good.sh"
    good.write_text("export NCCL_NET=IB NCCL_IB_HCA==rocep1s0f0:1,roceP2p1s0f0:1 NCCL_SOCKET_IFNAME==enP7s7\n")
    j = follows("what is right", ["lint", good, "--host", a], 0)
    expect("has no finding", j and not j["findings"] and j["variables"] == 3, j)
    job = tmp / "late.sh"
    job.write_text("#!/bin/bash\n#SBATCH -N 4\n#SBATCH --ntasks-per-node=8 --gpus-per-node=h100:8\nmodule load x\n"
                   "#SBATCH --exclusive\nexport CUDA_DEVICE_MAX_CONNECTIONS=1\n"
                   "srun torchrun --nnodes 2 --nproc_per_node=16 train.py --fsdp full --nnodes 9\n")
    j = follows("a job", ["lint", job, "--host", machines / "hgx-h100"], 1)
    expect("its faults", find(j, "directive-late", 5) and find(j, "machines-differ", 7) and
           len(find(j, "too-many-processes", 7)) == 2 and find(j, "harmful", 6)[0]["level"] == "warning", j and j["findings"])
    one = tmp / "one.sh"
    one.write_text("export NCCL_IB_HCA==rocep1s0f0\n")
    expect("half a cage", find(follows("one twin", ["lint", one, "--host", a], 1), "half-a-cage", 1), "")
    # What generate writes, lint has nothing against.
    b = up_all(spark(tmp, "lint2", PAIR[1], nccl="2.28.9"))
    own = tmp / "own.sh"
    own.write_text(run("generate", "vllm", "--model", "Qwen3-32B", *nodes_of(a, b), "--format", "shell")[1])
    j = follows("our own script", ["lint", own, "--host", a], 0)
    expect("nothing against it", j and j["commands"] == 2 and not j["findings"], j and j["findings"])
    conf = tmp / "img/etc/nccl.conf"
    conf.parent.mkdir(parents=True)
    conf.write_text("# left by somebody\nNCCL_IB_PREPOST_RECEIVE_WORK_REQUESTS=1\nexport NCCL_DEBUG=WARN\n"
                    "NCCL_IB_USE_INLINE=\"1\"\n")
    (tmp / "img/usr/lib/x86_64-linux-gnu").mkdir(parents=True)
    j = follows("an image", ["lint", "--rootfs", tmp / "img", "--host", a], 1)
    expect("its nccl.conf", find(j, "image-conf", 2) and find(j, "no-assignment", 3) and find(j, "quotes-in-conf", 4), j)
    j = follows("on InfiniBand", ["lint", "--host", machines / "hgx-h100", "--", "env", "NCCL_IB_GID_INDEX=3", "x"], 1)
    expect("it is not read", find(j, "gid-pinned") and find(j, "gid-pinned")[0]["level"] == "warning", j)
    # Names of devices: a beginning that somebody meant, one that takes another as well, and what would take none.
    for value, code, fix in (("mlx5", "hca-prefix", "=" + ",".join(f"mlx5_{i}" for i in range(8))), ("mlx5_0,mlx5_1", None, None),
                             ("=mlx5", "hca-unknown", None)):
        x = json.loads(run("lint", "--host", machines / "hgx-h100", "--format", "json", "--", "env", f"NCCL_IB_HCA={value}", "x")[1])["findings"]
        expect(f"NCCL_IB_HCA={value}", [f["code"] for f in x] == ([code] if code else []) and (not fix or x[0]["fix"] == fix), x)
    odd.write_text("export NCCL_IB_HCA=mlx5\n")
    x = json.loads(run("lint", odd, "--format", "json")[1])["findings"]
    expect("no name is made up", all("=mlx5" not in (f["fix"] or "") for f in x), x)
    # What is an error with one way of checkpointing and evaluating is none with the other.
    args = tmp / "args.yaml"
    base = "output_dir: x\nper_device_train_batch_size: 1\nbf16: true\nload_best_model_at_end: true\neval_steps: 300\nsave_steps: 500\ngradient_checkpointing: true\nddp_find_unused_parameters: true\n"
    for what, more, errors in (("as it is by itself", "", ["ddp_find_unused_parameters", "save_steps"]),
                               ("by epochs, not re-entrant", "eval_strategy: epoch\ngradient_checkpointing_kwargs: {use_reentrant: false}\n", [])):
        args.write_text(base + more)
        x = json.loads(run("lint", args, "--format", "json")[1])["findings"]
        expect(f"arguments of the Trainer, {what}", sorted(f["subject"] for f in x if f["level"] == "error") == errors, x)
    own = tmp / "accelerate.yaml"
    own.write_text("compute_environment: LOCAL_MACHINE\ndebug: false\ndistributed_type: MULTI_GPU\ndowncast_bf16: 'no'\nenable_cpu_affinity: false\n"
                   "gpu_ids: all\nmachine_rank: 0\nmain_training_function: main\nmixed_precision: bf16\nnum_machines: 1\nnum_processes: 8\n"
                   "rdzv_backend: static\nsame_network: true\ntpu_env: []\ntpu_use_cluster: false\ntpu_use_sudo: false\nuse_cpu: false\n")
    j = follows("what accelerate config writes", ["lint", own], 0)
    expect("nothing is wrong with it", j and j["configs"] == 1 and not j["findings"], j)
    pod = tmp / "pod.yaml"
    pod.write_text("spec:\n  containers:\n  - env:\n    - name: NCCL_IB_DISABLE\n      value: \"1\"\n    - name: HOME\n      value: x\n")
    j = follows("a manifest", ["lint", pod], 1)
    expect("its variable", find(j, "harmful", 5, "NCCL_IB_DISABLE") and j["variables"] == 1, j)
    docker = tmp / "Dockerfile"
    docker.write_text("FROM x\nENV NCCL_P2P_DISABLE 1\nENV NCCL_DEBUG=WARN\nRUN echo ENV NCCL_NET Socket\n")
    j = follows("a Dockerfile", ["lint", docker], 1)
    expect("its variable", find(j, "harmful", 2, "NCCL_P2P_DISABLE") and j["variables"] == 2, j)
    for version, level in (("2.20.5", "note"), ("2.21.5", "error")):
        odd.write_text("export NCCL_IB_GID_INDEX=3\n")
        x = find(json.loads(run("lint", odd, "--nccl", version, "--format", "json")[1]), "gid-pinned")
        expect(f"a pinned row of the GID table and NCCL {version}: {level}", x and x[0]["level"] == level, x)
    # How wide weights are, the model's name tells, not the method.
    for model, method, fits in (("Qwen2.5-72B-Instruct-GPTQ-Int8", "gptq_marlin", 0), ("Qwen2.5-72B-Instruct-GPTQ-Int4", "gptq_marlin", 1),
                                ("Qwen2.5-72B-Instruct", "bitsandbytes", 1), ("Qwen2.5-72B-Instruct", "gptq_marlin", 1)):
        j = json.loads(run("lint", "--host", machines / "hgx-h100", "--format", "json", "--", "vllm", "serve", model, "--quantization", method, "--max-model-len", "8192")[1])
        expect(f"{model} by {method}: {'fits' if fits else 'does not'}", bool(find(j, "memory")) != bool(fits), j["findings"])
    hosts = tmp / "hostfile"
    hosts.write_text("a slots=1\nb slots=8\na slots=1\nc\nd slots=x\n")
    j = follows("a hostfile", ["lint", hosts, "--host", a], 1)
    expect("its faults", find(j, "hostfile-twice", 3) and find(j, "hostfile-slots", 2) and
           find(j, "hostfile-slots", 4) and find(j, "hostfile-slots", 5), j)
    for n, line in enumerate((["vllm", "serve", "Qwen3-235B-A22B"], ["vllm", "serve", "Qwen3-8B", "-tp", "2"],
                              ["sglang", "serve", "--model-path", "Llama-3.1-405B"],
                              ["trtllm-serve", "serve", "Llama-3.1-405B", "--max_seq_len", "8192"],
                              ["vllm", "serve", "Qwen3-8B", "--gpu-memory-utilization", "8"],
                              ["vllm", "serve", "Qwen3-8B", "--max-model-len"],
                              ["vllm", "serve", "Qwen3-32B", "--gpu-memory-utilization", "0.3"])):
        follows(f"a command that cannot be {n}", ["lint", "--host", a, "--", *line], 1)
    follows("one that can", ["lint", "--host", a, "--", "vllm", "serve", "Qwen3-8B", "--max-model-len", "8192",
                             "--gpu-memory-utilization", "0.6"], 0)
    j = follows("no fraction where memory is shared", ["lint", "--host", a, "--", "vllm", "serve", "Qwen3-8B"], 1)
    expect("the default is too much", find(j, "memory", None, "--gpu-memory-utilization"), j)
    follows("on a card it is right", ["lint", "--host", machines / "hgx-h100", "--", "vllm", "serve", "Qwen3-8B"], 0)
    j = follows("a request that is just too long", ["lint", "--host", machines / "hgx-h100", "--", "vllm", "serve",
                                                    "Qwen3-32B", "--gpu-memory-utilization", "0.9", "--max-model-len",
                                                    "32768"], 1)
    expect("is no certain error", find(j, "memory") and find(j, "memory")[0]["level"] == "warning", j)
    j = follows("and one that is far too long", ["lint", "--host", machines / "hgx-h100", "--", "vllm", "serve",
                                                 "Qwen3-32B", "--gpu-memory-utilization", "0.9", "--max-model-len",
                                                 "131072"], 1)
    expect("is one", find(j, "memory") and find(j, "memory")[0]["level"] == "error", j)
    follows("values that leave it to the engine", ["lint", "--host", a, "--", "vllm", "serve", "Qwen3-8B",
                                                   "--max-model-len", "auto", "--kv-cache-memory-bytes", "8G"], 0)
    follows("numbers with a sign", ["lint", "--host", a, "--", "llama-server", "--no-mmap", "-hf", "x/Qwen3-8B-GGUF:Q4_K_M", "-np", "-1",
                                    "-ngl", "-1", "-c", "0", "-fa"], 0)
    (tmp / "img/usr/lib/x86_64-linux-gnu/libnccl.so.2.26.2").write_bytes(b"")
    j = follows("an image's NCCL", ["lint", "--rootfs", tmp / "img", "--host", a], 1)
    expect("is the one that counts", j and j["nccl"] == "2.26.2", j and (j["nccl"], j["nccl_from"]))
    says("no release", ["lint", "--nccl", "new"], 2, '"new"', "2.28.9")
    j = follows("this machine", ["lint", "--nccl", "2.18.1"], run("lint", "-q", "--nccl", "2.18.1")[0])
    expect("by that release", j and j["nccl"] == "2.18.1" and j["machine"] == "this machine", j)
    got, out, _ = run("lint", env={**os.environ, "NCCL_P2P_DISABLE": "1"})
    expect("this shell", got == 1 and "NCCL_P2P_DISABLE" in out and "this shell" in out, (got, out))
    nasty = tmp / "nasty"
    for data in (b"\0" * 1000, b"'" * 9, b"export NCCL_ALGO='never closed\n" * 3, b"\\", b"\\\n" * 999, os.urandom(65536),
                 b"NCCL_" * 20000, b"NCCL_X=1 " * 30000, "export NCCL_ALGO=\u201cRing\u201d\n".encode(), b"a slots=\n"):
        nasty.write_bytes(data)
        got, _, err = run("lint", nasty, "--host", a)
        expect("hostile bytes", got in (0, 1), (data[:40], got, err[-300:]))
    says("no such file", ["lint", tmp / "none"], 2, "none")
    says("a folder", ["lint", tmp], 2, "not a file")


def round_trip():
    """Every option that is emitted is in the table of its engine."""
    for engine, model in (("vllm", "Qwen3-235B-A22B-FP8"), ("sglang", "Qwen3-8B"), ("trtllm", "Qwen3-8B"),
                          ("llamacpp", "Qwen3-8B")):
        got, out, _ = run("generate", engine, "--model", model, "--on", "h100-sxm x8", "--kv",
                          "q8_0" if engine == "llamacpp" else "fp8", "--format", "json")
        argv = json.loads(out)["commands"][0]["argv"] if got == 0 else []
        j = follows(f"{engine} judged", ["lint", "--host", machines / "nothing", "--", *argv], 0)
        expect(f"{engine}: nothing against it", j and not j["findings"] and j["commands"] == 1, (argv, j))


def main():
    with tempfile.TemporaryDirectory(prefix="gputune-generate-") as t:
        tmp = pathlib.Path(t)
        for part in (pair, ring, cluster, lint):
            sub = tmp / part.__name__
            sub.mkdir()
            part(sub)
        round_trip()
    end_suite()


main()
