#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""stack as a user meets it: GPU code in files of every kind, sound and hostile; wheels refused by name; wheelhouses
changed, broken, signed and copied; environments and images of containers judged; builds done and resumed."""
import json
import os
import pathlib
import shutil
import signal
import struct
import subprocess
import tempfile
import time

import common
from common import built, children, end_suite, expect, finish, gputune, machines, put, refuses, sanitized, skip, start, until, validate
from stack_files import archive, cubin, elf, entry, fatbin, ld_cache, patch_entry, ptx, some_fatbin, wheel, zip64

machine = os.uname().machine
tag = f"cp311-cp311-linux_{machine}"
elf_machine = {"x86_64": 62, "aarch64": 183}


def run(*argv, **how):
    return common.run("stack", *argv, **how)


def follows(what, argv, code):
    return common.follows(what, ["stack", *argv], code)


def says(what, argv, code, *words):
    common.says(what, ["stack", *argv], code, *words)


def arch(tmp):
    f = some_fatbin()
    lib = put(tmp / "a/libx.so.1", elf(".nv_fatbin", f))
    put(tmp / "a/liby.a", archive(("b.o/", elf("__nv_relfatbin", f))))
    put(tmp / "a/k.cubin", cubin(90))
    put(tmp / "a/k.ptx", ptx("sm_80", "7.8"))
    put(tmp / "a/plain.so", elf(".rodata", b"no GPU code at all" * 20))
    put(tmp / "a/old.so", elf(".nv_fatbin", fatbin(entry(2, 75, 0, 0, cubin(75)))))
    put(tmp / "a/empty.so", elf(".nv_fatbin", fatbin(entry(2, 75, 0, 0, cubin(75, kernel=False)))))
    os.symlink("libx.so.1", tmp / "a/libx.so")
    j = follows("a folder", ["arch", tmp / "a", "--gpu", "sm_121", "--deep"], 1)
    if j:
        by = {pathlib.Path(x["path"]).name: x for x in j["files"]}
        answer = {n: x["answers"][0]["answer"] for n, x in by.items()}
        expect("answers", answer == {"libx.so.1": "same-family", "liby.a": "same-family", "k.cubin": "cannot-run",
                                     "k.ptx": "ptx-jit", "old.so": "cannot-run", "empty.so": "no-gpu-code"}, answer)
        expect("a link is not a second file", j["files_looked_at"] == 7, j["files_looked_at"])
        names = [c["name"] for c in by["libx.so.1"]["codes"]]
        expect("targets", names == ["sm_90a", "sm_120f", "compute_80 (PTX 7.0)", "compute_121a (PTX 9.0)", "lto_80"],
               names)
        expect("heads were opened", by["libx.so.1"]["opened"] == 4, by["libx.so.1"])
    follows("a GPU that runs all", ["arch", lib, "--gpu", "12.1,sm_90"], 0)
    follows("PTX alone", ["arch", lib, "--gpu", "sm_86"], 0)
    says("for people", ["arch", lib, "--gpu", "sm_121"], 0, "same family (sm_120f)", "On sm_121")
    says("a wrong GPU", ["arch", lib, "--gpu", "sm_12x"], 2, "sm_12x")
    says("no file", ["arch", tmp / "none.so", "--gpu", "sm_90"], 2, "No such file")
    says("nothing named", ["arch"], 2, "FILE")
    os.mkfifo(tmp / "pipe.so")
    says("a pipe", ["arch", tmp / "pipe.so", "--gpu", "sm_90"], 5, "not a regular file")
    cut = put(tmp / "cut.so", lib.read_bytes()[:-100])
    says("cut off", ["arch", cut, "--gpu", "sm_90"], 5, "broken ELF headers")
    says("thin", ["arch", put(tmp / "t.a", b"!<thin>\n"), "--gpu", "sm_90"], 5, "thin archive")
    whole = zip64("x/k.so", lib.read_bytes())
    says("zip64", ["arch", put(tmp / "z.whl", whole), "--gpu", "sm_121"], 0, "x/k.so", "same family (sm_120f)")
    says("zip64 cut", ["arch", put(tmp / "z.whl", whole[:-50]), "--gpu", "sm_121"], 5, "directory")
    says("zip64 without its sizes", ["arch", put(tmp / "z.whl", whole.replace(struct.pack("<HH", 1, 24), b"\2\0\x18\0")),
                                     "--gpu", "sm_121"], 5, "zip64 sizes")
    liar = bytearray(f)
    struct.pack_into("<Q", liar, 16 + 8, 1 << 50)
    says("an entry too long", ["arch", put(tmp / "l.fatbin", bytes(liar)), "--gpu", "sm_121"], 5,
         "longer than its container")


def big(tmp):
    """2 GB: headers alone are read, so neither time nor memory grow with it."""
    path = tmp / "big.so"
    part = some_fatbin()
    hole = fatbin(entry(2, 120, 0, 0x200000, b""))  # its payload is a hole
    n, size = 512, 4 << 20
    hole = bytearray(hole)
    struct.pack_into("<Q", hole, 8, size - 16)
    struct.pack_into("<Q", hole, 16 + 8, size - 16 - 64)
    head = bytearray(elf(".nv_fatbin", part))
    data_size = n * size
    with open(path, "wb") as f:
        f.write(head[:64])
        for i in range(n):
            f.seek(64 + i * size)
            f.write(hole)
        tail = bytearray(head[64 + len(part):])
        f.seek(64 + data_size)
        f.write(tail)
        delta = data_size - len(part)
        at = struct.unpack_from("<Q", head, 40)[0]
        f.seek(40)
        f.write(struct.pack("<Q", at + delta))
        f.seek(at + delta + 64 + 32)
        f.write(struct.pack("<Q", data_size))
        f.seek(at + delta + 128 + 24)
        f.write(struct.pack("<Q", 64 + data_size))
    begun = time.monotonic()
    p = subprocess.Popen([gputune, "stack", "arch", path, "--gpu", "sm_121", "--format", "json"], stdout=subprocess.PIPE)
    out = p.stdout.read()
    _, status, use = os.wait4(p.pid, 0)
    j = json.loads(out)
    took, kb = time.monotonic() - begun, use.ru_maxrss
    expect("all of a large library", status == 0 and j["files"][0]["entries"] == n, (status, out[:300]))
    expect("a large library in little memory", kb < (64 << 10) * (4 if sanitized(gputune) else 1), kb)
    print(f"     {path.stat().st_size / 1e9:.1f} GB: {took:.2f} s, {kb / 1024:.0f} MB")
    path.unlink()


def mutate(data, find, replace):
    at = data.index(find)
    return data[:at] + replace + data[at + len(find):]


def bad_wheels(tmp, house):
    """Each is refused by its name and reason, and leaves nothing behind."""
    other = "aarch64" if machine == "x86_64" else "x86_64"
    lib = elf(".nv_fatbin", some_fatbin(), machine=elf_machine[machine])
    foreign = elf(".text", b"x", machine=elf_machine[other])
    name = f"tiny-1.0-{tag}.whl"
    good = wheel(tag=tag, files=[("tiny/k.so", lib)])
    twice = wheel(tag=tag, files=[("tiny/a.py", b"1"), ("tiny/b.py", b"2")])
    cases = [
        ("cut", name, good[:-30], "truncated"),
        ("cut to nothing", name, good[:10], "broken"),
        ("climbs out", name, wheel(tag=tag, files=[("../evil.py", b"")]), "a name that leaves the folder"),
        ("hides its climb", name, wheel(tag=tag, files=[("tiny/../../evil.py", b"")]), "a name that leaves the folder"),
        ("absolute", name, wheel(tag=tag, files=[("/etc/evil", b"")]), "absolute"),
        ("Windows' climb", name, wheel(tag=tag, files=[("a\\b.py", b"")]), "absolute"),
        ("twice the same", name, twice.replace(b"tiny/b.py", b"tiny/a.py"), "twice"),
        ("other contents", name, mutate(good, good[60:64], b"\0\1\2\3"), "tiny/k.so"),
        ("encrypted", name, patch_entry(good, 0, 8, "<H", 1), "encrypted"),
        ("another packing", name, patch_entry(good, 0, 10, "<H", 12), "method 12"),
        ("two members in one place", name, patch_entry(good, 1, 42, "<I", 0), "overlap"),
        ("beyond the end", name, patch_entry(good, 0, 42, "<I", 1 << 30), "beyond the end"),
        ("a bomb", name, patch_entry(good, 0, 24, "<I", 0xFFFFFFF0), "claims more data than its bytes can contain"),
        ("another check sum", name, patch_entry(good, 0, 16, "<I", 7), "its checksum does not match"),
        ("unlisted", name, wheel(tag=tag, extra=[("tiny/more.py", b"")]), "not listed in its RECORD"),
        ("another hash", name, wheel(tag=tag, files=[("tiny/a.py", b"1")],
                                     record=lambda t: t.replace("tiny/a.py,sha256=", "tiny/a.py,sha256=x")), "RECORD"),
        ("no hash", name, wheel(tag=tag, files=[("tiny/a.py", b"1")],
                                record=lambda t: t.replace("tiny/a.py,sha256=", "tiny/a.py,md5=")), "SHA-256"),
        ("missing file", name, wheel(tag=tag, record=lambda t: "tiny/gone.py,sha256=x,1\n" + t), "gone.py"),
        ("no metadata", name, wheel(tag=tag, drop="METADATA"), "lacks"),
        ("no tags", name, wheel(tag=tag, drop="WHEEL"), "lacks"),
        ("no record", name, wheel(tag=tag, drop="RECORD"), "missing member"),
        ("another name", name, wheel(tag=tag, inside_name="huge"), "a different name: huge"),
        ("another tag", name, wheel(tag=tag, inside_tag="cp312-cp312-win_amd64"), "its metadata has a different tag"),
        ("another processor by name", f"tiny-1.0-cp311-cp311-linux_{other}.whl",
         wheel(tag=f"cp311-cp311-linux_{other}"), f"not for {machine}"),
        ("another processor inside", name, wheel(tag=tag, files=[("tiny/k.so", foreign)]), f"libraries for {other}"),
        ("two processors", name, wheel(tag=tag, files=[("tiny/k.so", foreign), ("tiny/l.so", lib)]), "two architectures"),
        ("another Python", f"tiny-1.0-cp310-cp310-linux_{machine}.whl", wheel(tag=f"cp310-cp310-linux_{machine}"),
         "not for 3.11"),
        ("free-threaded", f"tiny-1.0-cp311-cp311t-linux_{machine}.whl", wheel(tag=f"cp311-cp311t-linux_{machine}"),
         "not for 3.11"),
        ("newer abi3", f"tiny-1.0-cp312-abi3-linux_{machine}.whl", wheel(tag=f"cp312-abi3-linux_{machine}"),
         "not for 3.11"),
        ("no wheel's name", "tiny.whl", good, "invalid wheel name"),
        ("no wheel", "tiny-1.0.tar.gz", good, "is not a wheel"),
        ("old GPU code", name, wheel(tag=tag, files=[("tiny/k.so", elf(
            ".nv_fatbin", fatbin(entry(2, 75, 0, 0, cubin(75))), machine=elf_machine[machine]))]), "runs on sm_121"),
        ("broken GPU code", name, wheel(tag=tag, files=[("tiny/k.so", elf(
            ".nv_fatbin", some_fatbin()[:-40] + bytes(8), machine=elf_machine[machine]))]), "longer than"),
    ]
    for what, file, data, word in cases:
        path = put(tmp / "bad" / file, data)
        before = sorted(os.listdir(house))
        says(f"wheel: {what}", ["wheelhouse", "add", house, path], 1, file[:4], word)
        expect(f"wheel: {what}: nothing is left behind", sorted(os.listdir(house)) == before, os.listdir(house))
        path.unlink()


def wheelhouse(tmp):
    house, lib = tmp / "house", elf(".nv_fatbin", some_fatbin(), machine=elf_machine[machine])
    name = f"tiny-1.0-{tag}.whl"
    good = put(tmp / name, wheel(tag=tag, files=[("tiny/k.so", lib)]))
    newer = put(tmp / "new" / name, wheel(tag=tag, files=[("tiny/k.so", lib), ("tiny/new.py", b"1")]))
    pure = put(tmp / "pure_one-2.0-py3-none-any.whl", wheel("pure_one", "2.0"))
    stable = put(tmp / f"stable-1.0-cp39-abi3-manylinux_2_17_{machine}.whl",
                 wheel("stable", tag=f"cp39-abi3-manylinux_2_17_{machine}"))
    follows("create", ["wheelhouse", "create", house, "--python", "3.11", "--gpu", "sm_121"], 0)
    says("create once more", ["wheelhouse", "create", house], 2, "not empty")
    bad_wheels(tmp, house)
    j = follows("add", ["wheelhouse", "add", house, good, pure, stable], 0)
    expect("what was added", j and [w["name"] for w in j["wheels"]] == ["tiny", "pure_one", "stable"] and
           "sm_120f" in j["wheels"][0]["gpu_code"], j)
    says("add again", ["wheelhouse", "add", house, good], 0, "already exists")
    says("another of that name", ["wheelhouse", "add", house, newer], 1, "has a different", "update")
    says("update", ["wheelhouse", "update", house, newer], 0, "replaced")
    expect("the old one is kept", len(list((house / "older").glob(f"*/{name}"))) == 1)
    follows("verify", ["wheelhouse", "verify", house], 0)
    says("use", ["wheelhouse", "use", house], 0, "--no-index --find-links", "'tiny==1.0'", "'pure_one==2.0'")
    says("use one", ["wheelhouse", "use", house, "Pure.One"], 0, "'pure_one==2.0'")
    says("use none", ["wheelhouse", "use", house, "huge"], 1, "no wheel of huge")
    copies(tmp, house)
    # What others did to it.
    says("list", ["wheelhouse", "list", house], 0, "tiny", "compute_121a")
    (house / name).write_bytes(good.read_bytes())
    says("exchanged", ["wheelhouse", "verify", house], 1, name, "manifest")
    says("a broken one is not copied", ["wheelhouse", "sync", house, tmp / "copy2"], 1, "is invalid and is not copied")
    (house / name).unlink()
    says("missing", ["wheelhouse", "verify", house], 1, "missing")
    os.symlink(good, house / name)
    says("a link", ["wheelhouse", "verify", house], 1, "a link")
    put(house / "stray-1.0-py3-none-any.whl", b"")
    says("a stray", ["wheelhouse", "verify", house], 1, "stray-1.0", "not in the manifest")
    text = (house / "manifest.json").read_text()
    (house / "manifest.json").write_text(text.replace(name, f"../{name}"))
    says("a manifest that climbs", ["wheelhouse", "verify", house], 1, "invalid part \"")
    (house / "manifest.json").write_text(text[:-20])
    says("half a manifest", ["wheelhouse", "add", house, pure], 2, "JSON")
    says("none", ["wheelhouse", "list", tmp], 2, "is not a wheelhouse: it has no")
    for words in (["wheelhouse"], ["wheelhouse", "paint", house], ["wheelhouse", "add", house]):
        says("usage", words, 2, "wheelhouse")


def copies(tmp, house):
    copy = tmp / "copy"
    says("sync", ["wheelhouse", "sync", house, copy], 0, "3 of 3")
    says("the same", ["wheelhouse", "diff", house, copy], 0, "the same wheels")
    (copy / "pure_one-2.0-py3-none-any.whl").unlink()
    says("sync goes on", ["wheelhouse", "sync", house, copy], 0, "3 of 3")
    says("a place for a shell", ["wheelhouse", "sync", house, f"{tmp}/a;b"], 2, "invalid destination")
    says("a place like an option", ["wheelhouse", "sync", house, "--", "-e"], 2, "invalid destination")
    says("one more", ["wheelhouse", "add", copy, put(tmp / "more-1-py3-none-any.whl", wheel("more", "1"))], 0, "added")
    says("differs", ["wheelhouse", "diff", house, copy], 1, "more-1", "only in")


def signed(tmp):
    house, key = tmp / "signed", tmp / "key"
    pure = put(tmp / "s" / "pure_one-2.0-py3-none-any.whl", wheel("pure_one", "2.0"))
    for k in (key, tmp / "other"):
        subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", k], check=True)
    put(tmp / "allowed", f'me@here {(tmp / "key.pub").read_text()}')
    put(tmp / "strangers", f'you@there {(tmp / "other.pub").read_text()}')
    says("create signed", ["wheelhouse", "create", house, "--key", key], 0, "signed")
    says("no change without the key", ["wheelhouse", "add", house, pure], 2, "--key")
    says("add signed", ["wheelhouse", "add", house, pure, "--key", key], 0, "added")
    says("what another key signed is not taken over", ["wheelhouse", "add", house, pure, "--key", tmp / "other"], 1, "is not signed by")
    says("signed by", ["wheelhouse", "verify", house, "--key", tmp / "allowed"], 0, "signed by me@here")
    says("by somebody else", ["wheelhouse", "verify", house, "--key", tmp / "strangers"], 1, "not signed by an allowed signer in its current form")
    m = house / "manifest.json"
    m.write_text(m.read_text().replace('"gpus": ""', '"gpus": "sm_90"'))
    says("changed since", ["wheelhouse", "verify", house, "--key", tmp / "allowed"], 1, "not signed by an allowed signer in its current form")
    says("what was changed since is not signed anew", ["wheelhouse", "add", house, pure, "--key", key], 1, "is not signed by")


def dist(site, name, version, requires=()):
    text = f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n" + "".join(f"Requires-Dist: {r}\n" for r in requires)
    put(site / f"{name.replace('-', '_')}-{version}.dist-info/METADATA", text + "\nwords\n")


def check(tmp):
    env = tmp / "env"
    site = env / "lib/python3.12/site-packages"
    dist(site, "torch", "2.9.0+cu130", ['nvidia-nccl-cu13==2.27.5; platform_system == "Linux"', "triton==3.5.0"])
    dist(site, "triton", "3.5.1")
    dist(site, "nvidia-nccl-cu13", "2.26.5")
    dist(site, "torchvision", "0.24.0", ["torch==2.9.0", 'cuda-toolkit[cublas,cudart]==13.0.3; platform_system == "Linux"'])
    dist(site, "cuda-toolkit", "13.0.3.0")
    put(site / "torch/version.py", "__version__ = '2.9.0+cu130'\ncuda: Optional[str] = '13.0'\n")
    put(site / "torch/lib/libtorch_cuda.so", elf(".nv_fatbin", fatbin(entry(2, 90, 0, 0, cubin(90)))))
    put(site / "nvidia/nccl/lib/libnccl.so.2", elf(".nv_fatbin", some_fatbin()))
    put(site / "triton/backends/nvidia/bin/ptxas", elf(".rodata", b"Cuda compilation tools, release 12.8, V12.8.93\0"))
    j = follows("an environment", ["check", "--env", env, "--gpu", "sm_121"], 1)
    if j:
        got = {(f["id"], f["target"].split(": ")[-1]): f for f in j["findings"] if f["target"].startswith(str(env))}
        known = {f["title"] for f in j["findings"] if f["id"] == "stack.known-fault" and f["target"].startswith(str(env))}
        expect("defects of it", {"nccl-pre-2.27.3-spark", "triton-ptxas-old"} <= known, known)
        want = {("stack.pins", "torch"): "fail",
                ("stack.pins", "torchvision"): "pass", ("stack.gpu-code", "PyTorch"): "fail",
                ("stack.gpu-code", "NCCL"): "pass", ("stack.torch-driver", "PyTorch"): "unknown"}
        for k, v in want.items():
            expect(f"finding {k}", k in got and got[k]["verdict"] == v, got.get(k))
        expect("what it says", "triton 3.5.1 (required 3.5.0)" in got[("stack.pins", "torch")]["current"], got)
    faulty = tmp / "faulty/lib/python3.12/site-packages"
    for name, version in (("nvidia-cutlass-dsl", "4.5.0"), ("flashinfer-python", "0.6.15"), ("flashinfer-cubin", "0.6.13"), ("torch", "2.12.0+cu130"),
                          ("nvidia-cudnn-cu13", "9.12.0.46"), ("transformers", "5.1.0")):
        dist(faulty, name, version)
    for gpu, wrong, right in (("sm_121", {"cutlass-dsl-450-garbage"}, {"cudnn-conv3d-wrong"}), ("sm_90", {"cudnn-conv3d-wrong"}, {"cutlass-dsl-450-garbage"})):
        j = json.loads(run("check", "--env", tmp / "faulty", "--gpu", gpu, "--format", "json")[1])
        f = {x["title"]: x for x in j["findings"] if x["id"] == "stack.known-fault"}
        expect(f"known faults on {gpu}", wrong <= set(f) and not right & set(f) and any("flashinfer" in x["target"] for x in f.values()), f)
        expect("each has its source", all(x["source"] for x in f.values()), f)
    expect("engines and their kernels are listed", {"transformers", "flashinfer", "cutlass-dsl"} <= {i["component"] for i in j["items"]}, j["items"])
    # CUDA 13 names the toolkit's own parts without "-cu13", and has dropped what came before Turing.
    put(site / "nvidia/cu13/lib/libcublas.so.13", elf(".nv_fatbin", fatbin(entry(2, 90, 0, 0, cubin(90)))))
    dist(site, "nvidia-cublas", "13.0.0.19")
    put(site / "nvidia_cublas-13.0.0.19.dist-info/RECORD", "nvidia/cu13/lib/libcublas.so.13,,\n")
    j = follows("a library of CUDA 13", ["check", "--env", env, "--gpu", "sm_121"], 1)
    f = [f for f in j["findings"] if f["id"] == "stack.gpu-code" and f["target"].endswith("cuBLAS")]
    expect("is called as it is", f and f[0]["command"].endswith("'nvidia-cublas'"), f)
    old = tmp / "old-image"
    put(old / "usr/local/cuda-13.0/bin/nvcc", elf(".nv_fatbin", b""))
    put(old / "usr/local/cuda-13.0/version.json", '{"cuda": {"version": "13.0.1"}}')
    for gpu, verdict, command in (("sm_70", "fail", "cuda-toolkit-12-9"), ("sm_75", "pass", None), ("sm_107", "fail", "cuda-toolkit-13-4")):
        j = json.loads(run("check", "--rootfs", old, "--gpu", gpu, "--format", "json")[1])
        f = [f for f in j["findings"] if f["id"] == "stack.toolkit"]
        expect(f"{gpu}: {verdict}", len(f) == 1 and f[0]["verdict"] == verdict and (f[0]["command"] or "").endswith(command or ""), f)
    put(site / "torch/version.py", "__version__ = '2.9.0+cpu'\ncuda: Optional[str] = None\nhip: Optional[str] = None\n")
    says("a build without CUDA", ["check", "--env", env, "--gpu", "sm_121"], 1, "built without CUDA: it computes only on the CPU")
    says("no environment", ["check", "--env", tmp / "none"], 2, "is not a Python environment")
    says("an argument", ["check", "x"], 2, '"x"')
    (tmp / "no files").mkdir()
    j = follows("a folder without anything to read", ["arch", tmp / "no files", "--gpu", "sm_121"], 0)
    expect("is no file", j and j["files"] == [], j)
    image(tmp)
    captures = machines
    follows("a captured machine", ["check", "--host", captures / "dgx-spark"], 5)
    j = follows("and another", ["env", "--host", captures / "hgx-h100"], 0)
    names = {v["name"]: v for v in j["variables"]}
    expect("what is not seen is not called absent", "ld.so.cache" in j["unseen"] and not {"USE_CUDNN", "USE_SYSTEM_NCCL"} & set(names), j)


def image(tmp):
    """Links of an image mean places in the image: what lies outside is not to be seen."""
    rootfs, outside = tmp / "image", tmp / "outside"
    secret = put(outside / "libnccl.so.2", elf(".nv_fatbin", some_fatbin()))
    put(rootfs / "etc/ld.so.cache", ld_cache(("libnccl.so.2", "/usr/lib/libnccl.so.2"),
                                             ("libcudnn.so.9", "/usr/lib/libcudnn.so.9")))
    put(rootfs / "usr/lib/libnccl.so.2.28.9", elf(".nv_fatbin", fatbin(entry(2, 120, 0, 0, cubin(120)))))
    os.symlink("/usr/lib/libnccl.so.2.28.9", rootfs / "usr/lib/libnccl.so.2")
    os.symlink(secret, rootfs / "usr/lib/libcudnn.so.9")
    os.symlink(outside, rootfs / "opt")
    site = rootfs / "usr/local/lib/python3.12/dist-packages"
    dist(site, "torchvision", "0.24.0")
    got, out, err = run("check", "--rootfs", rootfs, "--gpu", "sm_121", "--format", "json", "-a")
    if "openat2" in err:
        return
    j = json.loads(out)
    validate(j, "stack-check")
    items = {i["component"]: i for i in j["items"]}
    expect("an image's library", items["nccl"]["version"] == "2.28.9" and items["nccl"]["gpu_code"] == ["sm_120"], items)
    expect("an image's package", items["torchvision"]["place"] == "/usr/local", items)
    expect("a link out of the image", not items.get("cudnn", {}).get("gpu_code"), items)
    says("no image", ["check", "--rootfs", tmp / "none"], 2, "No such file")


def build(tmp):
    project, work = tmp / "project", tmp / "work"
    put(project / "setup.py", "from setuptools import setup\nraise SystemExit(7)\n")
    got, out, err = run("build-plan", work, "torch", "--gpu", "sm_121")
    # 1 where disk or memory do not suffice.
    expect("a plan", got in (0, 1) and "torch-wheel" in out and "to do" in out, (got, err))
    expect("a plan writes nothing", not work.exists())
    follows("a plan for programs", ["build-plan", work, project], 0)
    says("an unknown target", ["build-plan", work, "tensorflow"], 2, "tensorflow", "flash-attention")
    says("no target", ["build-plan", work], 2, "requires TARGET")
    # A Python that does as this test wants stands where the first step would put it.
    put(work / "venv/bin/python", '#!/bin/sh\nwhile [ "$1" ]; do case "$1" in --wheel-dir) dir=$2;; esac; shift; done\n'
        f'test -e {tmp}/ready || {{ echo not yet; exit 7; }}\nmkdir -p "$dir" && cp {tmp}/s/*.whl "$dir"\n').chmod(0o755)
    put(work / "steps/venv", f"/usr/bin/python3\n-m\nvenv\n--system-site-packages\n{work}/venv\n")
    says("a step that fails", ["build-plan", work, project, "--run", "-q"], 3, "not yet", "project-wheel.log")
    put(tmp / "ready", "")
    j = follows("going on", ["build-plan", work, project], 0)
    expect("what was done stays done", j and [s["state"] for s in j["steps"]][:3] == ["done", "done", "to do"], j)
    got, out, err = run("build-plan", work, project, "--run")
    expect("the rest", got == 0 and "venv:" not in err and "project-wheel: done" in err, (got, err))
    says("what came of it", ["wheelhouse", "list", work / "house"], 0, "pure_one")


def build_killed(tmp):
    """gputune dies in the middle of a step: the step goes on alone, is not begun beside itself, and the next run goes on from it."""
    project, work = tmp / "project", tmp / "work2"
    put(work / "venv/bin/python", '#!/bin/sh\nwhile [ "$1" ]; do case "$1" in --wheel-dir) dir=$2;; esac; shift; done\n'
        f'echo begun >>{tmp}/begun\nif [ ! -e {tmp}/go ]; then echo $$ >{tmp}/pid.new; mv {tmp}/pid.new {tmp}/pid; exec sleep 60; fi\n'
        f'mkdir -p "$dir" && cp {tmp}/s/*.whl "$dir"\n').chmod(0o755)
    put(work / "steps/venv", f"/usr/bin/python3\n-m\nvenv\n--system-site-packages\n{work}/venv\n")
    p = subprocess.Popen([gputune, "stack", "build-plan", work, project, "--run", "-q"], stderr=subprocess.PIPE)
    until(lambda: (tmp / "pid").exists() or p.poll() is not None)
    before = {x.name: x.stat().st_mtime_ns for x in (work / "steps").iterdir()}
    p.kill()
    p.communicate()
    says("a step that is left alone", ["build-plan", work, project, "--run", "-q"], 3, "is in use")
    j = follows("looking at it", ["build-plan", work, project], 0)
    states = {s["id"]: s["state"] for s in j["steps"]} if j else {}
    expect("what was not finished is to do", states.get("project-wheel") == "to do" and states.get("venv") == "done", states)
    left = int((tmp / "pid").read_text())
    os.kill(left, 9)
    until(lambda: not pathlib.Path(f"/proc/{left}").exists() or pathlib.Path(f"/proc/{left}/stat").read_text().split()[2] == "Z")
    put(tmp / "go", "")
    says("it goes on", ["build-plan", work, project, "--run", "-q"], 0)
    now = {x.name: x.stat().st_mtime_ns for x in (work / "steps").iterdir()}
    expect("what was done is not done again", all(now[n] == before[n] for n in before if n != "lock") and len(now) > len(before),
           (before, now))
    expect("the step was begun twice", (tmp / "begun").read_text() == "begun\nbegun\n", (tmp / "begun").read_text())
    says("what came of both", ["wheelhouse", "verify", work / "house"], 0)


def compare(tmp):
    """Two builds of a stand-in through the real loader, each in processes of its own: the slower one, what each chose, and
    every way in which a side can be none."""
    stub = built / "tests/stub"
    newer, older = stub / "libraries", stub / "libraries/older"
    if not (older / "libnccl.so.2").exists() or not (stub / "device/libcuda.so.1").exists():
        skip("compare", "this build has no stand-ins")
        return
    env = {**os.environ, "LD_LIBRARY_PATH": str(stub / "device"), "GPUTUNE_STUB_CUDA": "gpus=2 memory=4000000000"}
    quick = ["--for", "20ms", "--min-effect", "1%", "--seed", "1"]

    def sides(what, argv, code, **more):
        return common.follows(what, ["stack", "compare", *argv], code, env={**env, **more}) or {}

    # An environment as pip makes it, and the system's library by the loader's path.
    site = tmp / "cenv/lib/python3.11/site-packages"
    (site / "nvidia/nccl/lib").mkdir(parents=True)
    os.symlink(newer / "libnccl.so.2", site / "nvidia/nccl/lib/libnccl.so.2")
    dist(site, "nvidia-nccl-cu13", "2.28.9")
    by_system = {"LD_LIBRARY_PATH": f"{stub}/device:{older}"}
    bench = ["--bench", "collectives/all-reduce:8B"]
    j = sides("an environment is faster than the system", ["system", tmp / "cenv", *bench, *quick], 0, **by_system)
    if j:
        expect("faster: verdict", j["verdict"] == "helps" and j["effect"]["low"] > 1.2, (j["verdict"], j["effect"], j["why"]))
        expect("faster: files", j["a"]["file"] == os.path.realpath(older / "libnccl.so.2") and
               j["b"]["file"] == os.path.realpath(newer / "libnccl.so.2") and j["b"]["version"] == "2.28.9", (j["a"], j["b"]))
        expect("faster: who says what it is", "2.20.5" in j["a"]["chosen"][0]["text"] and "2.21.9" in j["b"]["chosen"][0]["text"] and
               all(sum(c["windows"] for c in j[s]["chosen"]) == j["pairs"] for s in "ab"), (j["a"], j["b"]))
        order = [w["side"] for w in j["windows"]]
        expect("faster: pairs of one each, in no fixed order", len(order) == 2 * j["pairs"] >= 16 and
               all({*order[i:i + 2]} == {"a", "b"} for i in range(0, len(order), 2)) and
               len({tuple(order[i:i + 2]) for i in range(0, len(order), 2)}) == 2, order)
    j = sides("a side that crashes", [newer, older / "libnccl.so.2", *bench, *quick], 1, GPUTUNE_STUB_OLDER="crash")
    expect("a crash: said", j.get("verdict") == "fails" and "signal 6" in j["why"] and j["a"]["fault"] is None, j.get("why"))
    j = sides("the other one", [older, newer, *bench, *quick], 5, GPUTUNE_STUB_OLDER="crash")
    j = sides("what each chose", [older, newer, "--bench", "gemm/bf16:64", "--time-limit", "10ms", "--gpus", "0", *quick], 5)
    if j:
        expect("chosen: versions and algorithms", "12.8.4 algorithm 4" in j["a"]["chosen"][0]["text"] and "13.1.0 algorithm" in j["b"]["chosen"][0]["text"],
               (j["a"]["chosen"], j["b"]["chosen"]))
        expect("chosen: too little time is said", j["verdict"] == "undecided" and "--time-limit" in j["why"], j["why"])
    for how, code in (("INT", 5), ("KILL", -9)):
        p = start(gputune, "stack", "compare", newer, older, *bench, "--for", "5s", "--format", "json", env=env)
        kids = until(lambda: children(p.pid))
        os.kill(p.pid, getattr(signal, f"SIG{how}"))
        got, out, _ = finish(p)
        expect(f"{how}: it ends", got == code and (how == "KILL" or "interrupted" in json.loads(out)["why"]), (got, out))
        gone = lambda k: not pathlib.Path(f"/proc/{k}").exists() or pathlib.Path(f"/proc/{k}/stat").read_text().split()[2] == "Z"  # noqa: E731
        expect(f"{how}: who measured is gone", kids and until(lambda: all(map(gone, kids))), kids)
    nothing, foreign = tmp / "nothing", tmp / "foreign"
    nothing.mkdir()
    other = "aarch64" if machine == "x86_64" else "x86_64"
    put(foreign / "libnccl.so.2", elf(".text", b"x", machine=elf_machine[other]))
    put(tmp / "text/libnccl.so.2", b"no library")
    os.makedirs(tmp / "gone/lib")
    os.symlink("nowhere", tmp / "gone/lib/libnccl.so.2")
    for what, argv, words in (
            ("no such side", [newer, tmp / "missing"], ["B:", "no such file"]),
            ("nothing in it", [nothing, newer], ["A:", "is not a Python environment"]),
            ("for another processor", [newer, foreign], [f"built for {other}", f"this machine is {machine}"]),
            ("no library", [newer, tmp / "text"], ["not a library"]),
            ("a link to nowhere", [newer, tmp / "gone"], ["is a dangling link"]),
            ("another library", [newer, newer / "libcublasLt.so.13"], ["is not NCCL"]),
            ("one side", [newer], ["requires B"])):
        refuses(f"compare: {what}", ["stack", "compare", *argv, *bench], 2, *words, env=env)
    says("compare: a bench of no library", ["compare", newer, older, "--bench", "disk"], 2, "disk")
    says("compare: a captured machine", ["compare", newer, older, "--host", machines / "dgx-spark"], 2, "no option --host")


JUDGED = """
import sys, torch
exec(sys.argv[1])
a, b = random(600, 64).bfloat16().float(), random(64, 600, seed=2).bfloat16().float()
c = (a @ b).bfloat16().float()
bad, nan, off = c.clone(), c.clone(), c[:300]
bad[333:341, 350:366], nan[400, 401] = 0, float("nan")
for x in (c, bad, nan, off):
    v = judge_product(x, a, b, 1e-2)
    print(v["state"], "off" in v and (v["state"] == "right") == (v["off"] <= 1))
"""


def canary(tmp):
    """What the script makes of its children, sound and hostile, and what gputune makes of the script's answer; the work itself needs a GPU."""
    text = (common.root / "src/look/stack/canary.py").read_text()
    parent = {"__name__": "canary"}
    exec(compile(text[:text.index('if sys.argv[2] == "all"')], "canary.py", "exec"), parent)
    child = 'import json, os, sys, time\nn = int(sys.argv[4])\ndef say(i, state, **k):\n    print(json.dumps({"check": f"gemm: c{i}", "i": i, "state": state, **k}), flush=True)\n'

    def of(script):
        return parent["all_checks"](child + script, "2")

    got = of('print(json.dumps({"torch": "2.11", "cuda": "13.0", "gpu": "H100"}))\nsay(0, "begun")\nsay(0, "right", off=.1, kernels=["nvjet"])')
    expect("a check that is right", (got["torch"], got["checks"][0]["state"], got["checks"][0]["kernels"]) == ("2.11", "right", ["nvjet"]), got)
    got = of('if n == 0:\n    say(0, "right")\n    say(1, "begun")\n    os.kill(os.getpid(), 6)\nif n == 2:\n    say(2, "hangs", why="x")\n    os._exit(3)\nsay(3, "wrong", kernels=["bad"])')
    expect("behind a crash and a hang it goes on", [c["state"] for c in got["checks"]] == ["right", "crashes", "hangs", "wrong"] and "signal 6" in got["checks"][1]["why"], got)
    got = of('sys.stderr.write("Fatal: no\\n")\nsys.exit(9)')
    expect("an error alone is said", "Fatal: no" in got["why"] and not got["checks"], got)
    for what, script in [("no JSON", 'print("{{{")\nsys.exit(3)'), ("much", 'print("x" * 9000000)'), ("nested", 'print("[" * 60000)'), ("numbers for words", 'print(json.dumps({"check": 1, "i": "a", "state": []}))'),
                         ("the same again and again", '[say(0, "right") for _ in range(900)]'), ("always the same crash", 'say(0, "begun")\nos._exit(4)')]:
        got = of(script)
        expect(f"a child that says {what}: bounded", len(got["checks"]) <= 256, len(got["checks"]))
    got = of('say(0, "wrong", why="a\\x1b[2Jb" + "x" * 5000, kernels=["k" * 500] * 99)')
    expect("control characters go", "\x1b" not in got["checks"][0]["why"] and len(got["checks"][0]["why"]) <= 400 and len(got["checks"][0]["kernels"]) == 8, got)

    def told(script):
        put(tmp / "python/python3", f"#!/bin/sh\n{script}\n").chmod(0o755)
        return {"env": {"PATH": f"{tmp}/python:/usr/bin:/bin"}}

    def answer(*checks):
        return told("echo '" + json.dumps({"python": "/p", "torch": "2.11", "cuda": None, "gpu": "H100", "why": None, "checks": [
            {"check": "gemm: bf16", "state": s, "deviation_ratio": d, "kernels": k, "why": None} for s, d, k in checks]}) + "'")

    j = common.follows("all is right", ["stack", "canary"], 0, "stack-canary", **answer(("right", .1, ["nvjet"]), ("absent", None, [])))
    expect("its checks", j and len(j["checks"]) == 2, j)
    common.says("a wrong kernel is named", ["stack", "canary"], 1, "bad_gemm, fill", "1 wrong",
                **answer(("wrong", 9, ["bad_gemm", "void at::native::fill<8, F<c10::BFloat16> >(int, F<c10::", "void at::native::fill<4, F<float> >(int)"])))
    common.follows("nothing could be tested", ["stack", "canary"], 5, "stack-canary", **answer(("absent", None, [])))
    for what, script in [("nothing", "true"), ("an error", "echo 'Fatal: no' >&2; exit 1"), ("no JSON", "echo '{{{'"), ("another thing", "echo '{\"python\": 3}'"), ("much", "yes xxxxxxxx | head -c 9000000")]:
        refuses(f"an answer that is {what}", ["stack", "canary"], 5, "python3", **told(script))
    refuses("an environment without Python", ["stack", "canary", "--env", tmp], 2, "python3")
    compile(text, "canary.py", "exec")
    # The judging itself needs no GPU: a wrong tile is found wherever it is.
    torch = next((p for p in ("python3", "/usr/bin/python3") if shutil.which(p) and subprocess.run([p, "-c", "import torch"], capture_output=True, check=False).returncode == 0), None)
    if not torch:
        skip("the judging of products", "no Python here has PyTorch")
    else:
        judging = text[text.index("def random("):text.index("def check(path")]
        ran = subprocess.run([torch, "-c", JUDGED, judging], capture_output=True, text=True, check=False)
        expect("a wrong tile of a product is found, and a right product is right", ran.stdout.split("\n")[:-1] == ["right True", "wrong True", "wrong True", "wrong False"], (ran.stdout, ran.stderr[-400:]))


def environment():
    got, out, err = run("env", "--gpu", "sm_121", "--format", "shell")
    expect("env", got in (0, 1) and "export MAX_JOBS=" in out, (got, err))
    p = subprocess.run(["sh", "-eu"], input=out + "\necho $MAX_JOBS-alive\n", capture_output=True, text=True)
    expect("env can be sourced", p.returncode == 0 and p.stdout.endswith("-alive\n"), p)
    j = follows("env for programs", ["env", "--gpu", "sm_121"], got)
    expect("dead flags have reasons", j and all(f["why"] for f in j["dead_flags"]) and len(j["dead_flags"]) > 10)
    got, out, err = run("env", "--gpu", "sm_121", "--format", "json", env={**os.environ, "CPATH": "/x"})
    expect("a dead flag that is set here", '"set_here": "/x"' in out, out[-500:])


with tempfile.TemporaryDirectory() as name:
    tmp = pathlib.Path(name)
    arch(tmp)
    big(tmp)
    wheelhouse(tmp)
    signed(tmp)
    check(tmp)
    build(tmp)
    build_killed(tmp)
    compare(tmp)
    environment()
    canary(tmp)
says("an unknown part", ["paint"], 2, '"paint"')
end_suite()
