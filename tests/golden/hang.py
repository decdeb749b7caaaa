#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""gputune diagnose hang: jobs that hang in known ways, real processes with stand-ins for torch.distributed; Python's own dump of the
same process; dumps of the flight recorder, hostile ones too.

hang.py PROGRAM
"""
import json
import os
import pathlib
import pickle
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time

from common import end_suite, expect, gputune, skip

# What every rank of the planted jobs has: a stand-in with the names and the place that PyTorch's have.
TORCH = '''
import os, threading
def all_reduce(tensor): threading.Event().wait()
def broadcast(tensor, src): threading.Event().wait()
def barrier(): threading.Event().wait()
def recv(tensor, src): threading.Event().wait()
'''
RENDEZVOUS = '''
import socket
def rendezvous():
    s = socket.socket(); s.bind(("127.0.0.1", 0)); s.listen(); s.accept()
'''
LOADER = '''
import os, select
def fetch():
    r, w = os.pipe(); select.select([r], [], [])
'''
# name: program of the odd rank (or of the only one), verdict, rank, operation
JOBS = {
    "one rank never comes": ("import threading; l = threading.Lock(); l.acquire(); print(flush=True); l.acquire()", "straggler", 2, "all_reduce"),
    "one rank loads data": ("from torch.utils.data import loader; print(flush=True); loader.fetch()", "straggler", 2, "all_reduce"),
    "one rank in another collective": ("print(flush=True); dist.broadcast(1, 0)", "mismatch", 2, "all_reduce"),
    "one rank died": ("os._exit(1)", "dead", 2, "all_reduce"),
    "one rank is stopped": ("print(flush=True); os.kill(os.getpid(), 19)", "straggler", 2, "all_reduce"),
    "one rank spins": ("print(flush=True)\nwhile True: pass", "straggler", 2, "all_reduce"),
    "one rank waits for input": ("print(flush=True); input()", "straggler", 2, "all_reduce"),
    "one rank sleeps": ("print(flush=True); time.sleep(1000)", "straggler", 2, "all_reduce"),
    "one rank waits for a child": ("import subprocess; print(flush=True); subprocess.run(['sleep', '1000'])", "straggler", 2, "all_reduce"),
    "one rank reads from a socket": ("import socket; a, b = socket.socketpair(); print(flush=True); a.recv(1)", "straggler", 2, "all_reduce"),
    "one rank fills a pipe": ("r, w = os.pipe(); print(flush=True)\nwhile True: os.write(w, b'x' * 65536)", "straggler", 2, "all_reduce"),
    "one rank waits for the GPU": ("from torch import cuda; print(flush=True); cuda.synchronize()", "straggler", 2, "all_reduce"),
    "one rank waits for a server": ("import socket, urllib.request as u; s = socket.create_server(('127.0.0.1', 0)); print(flush=True); "
                                    "u.urlopen('http://127.0.0.1:%d' % s.getsockname()[1])", "straggler", 2, "all_reduce"),
    "one rank receives": ("print(flush=True); dist.recv(1, 0)", "mismatch", 2, "all_reduce"),
    "one rank meets others": ("from torch.distributed import rendezvous; print(flush=True); rendezvous.rendezvous()", "straggler", 2, "all_reduce"),
    "one rank saves": ("from torch import serialization; print(flush=True); serialization.save()", "straggler", 2, "all_reduce"),
    "one rank waits for a file's lock": ("import fcntl; open('l', 'w').close(); a = open('l'); b = open('l'); fcntl.flock(a, 2); print(flush=True); fcntl.flock(b, 2)",
                                         "straggler", 2, "all_reduce"),
    "one rank was killed": ("os.kill(os.getpid(), 9)", "dead", 2, "all_reduce"),
    "one rank waits for a thread": ("import threading; t = threading.Thread(target=lambda: time.sleep(1000)); t.start(); print(flush=True); t.join()",
                                    "straggler", 2, "all_reduce"),
    "one rank is at a barrier": ("print(flush=True); dist.barrier()", "mismatch", 2, "all_reduce"),
    "one rank waits for a datagram": ("import socket as s; d = s.socket(s.AF_INET, s.SOCK_DGRAM); d.bind(('127.0.0.1', 0)); print(flush=True); d.recvfrom(1)",
                                 "straggler", 2, "all_reduce"),
    "one rank opens a pipe that none reads": ("os.mkfifo('f'); print(flush=True); open('f', 'w')", "straggler", 2, "all_reduce"),
    "all in one collective": ("print(flush=True); dist.all_reduce(1)", "network", None, "all_reduce"),
}
ALONE = {
    "lock": "import threading; l = threading.Lock(); l.acquire(); print(flush=True); l.acquire()",
    "spinning": "print(flush=True)\nwhile True: pass",
    "queue": "import queue; print(flush=True); queue.Queue().get()",
    "sleep": "print(flush=True); time.sleep(1000)",
    "data-loader": "from torch.utils.data import loader; print(flush=True); loader.fetch()",
    "input": "print(flush=True); input()",
    "pipe": "r, w = os.pipe(); print(flush=True)\nwhile True: os.write(w, b'x' * 65536)",
    "network": "import socket; a, b = socket.socketpair(); print(flush=True); a.recv(1)",
    "stopped": "print(flush=True); os.kill(os.getpid(), 19)",
}
LAUNCHER = '''
import os, subprocess, sys
jobs = [subprocess.Popen([sys.executable, sys.argv[1]], env={**os.environ, "RANK": str(n)}, stdin=subprocess.PIPE) for n in range(4)]
print(flush=True)
import time; time.sleep(1000)
'''


def package(base):
    """A package as PyTorch lays it out."""
    for path, text in {"torch/__init__.py": "", "torch/distributed/__init__.py": "", "torch/distributed/distributed_c10d.py": TORCH,
                       "torch/distributed/rendezvous.py": RENDEZVOUS, "torch/utils/__init__.py": "", "torch/utils/data/__init__.py": "",
                       "torch/utils/data/loader.py": LOADER,
                       "torch/cuda/__init__.py": "import threading\ndef synchronize(): threading.Event().wait()\n",
                       "torch/serialization.py": "import threading\ndef save(): threading.Event().wait()\n"}.items():
        at = base / path
        at.parent.mkdir(parents=True, exist_ok=True)
        at.write_text(text)


def hang(*words):
    p = subprocess.run([gputune, "diagnose", "hang", *map(str, words), "--format", "json"], capture_output=True, text=True, timeout=60)
    return p.returncode, json.loads(p.stdout) if p.stdout else {}, p.stderr


class Job:
    """A program that has come to the place where it hangs: each of its lines on standard output says so."""

    def __init__(self, base, program, *words, lines=1):
        self.p = subprocess.Popen([sys.executable, program, *words], stdout=subprocess.PIPE, stdin=subprocess.PIPE, cwd=base,
                                  env={**os.environ, "PYTHONPATH": str(base)}, start_new_session=True)
        for _ in range(lines):
            self.p.stdout.readline()

    def __enter__(self):
        return self.p.pid

    def __exit__(self, *_):
        os.killpg(self.p.pid, signal.SIGKILL)
        self.p.communicate()


def settled(pid, right):
    """The answer, again until a process that was still on its way is there."""
    for _ in range(20):
        answer = hang(pid)
        if right(answer[1]):
            break
        time.sleep(0.1)
    return answer


def jobs(base):
    for name, (odd, kind, rank, operation) in JOBS.items():
        own = 5 if "died" not in name and "killed" not in name else 4
        (base / "train.py").write_text("import os, time\nfrom torch.distributed import distributed_c10d as dist\n"
                                       "if os.environ['RANK'] == '2':\n" + "".join(f"    {line}\n" for line in odd.split("\n")) +
                                       "print(flush=True)\ndist.all_reduce(1)\n")
        (base / "launch.py").write_text(LAUNCHER)
        with Job(base, "launch.py", "train.py", lines=own) as pid:
            code, j, _ = settled(pid, lambda j: (j.get("kind"), j.get("rank"), j.get("operation")) == (kind, rank, operation))
            expect(name, (code, j.get("kind"), j.get("rank"), j.get("operation")) == (1, kind, rank, operation), (code, j.get("verdict"), j.get("kind")))


def alone(base):
    for kind, text in ALONE.items():
        (base / "one.py").write_text("import os, time\n" + text + "\n")
        with Job(base, "one.py") as pid:
            code, j, _ = settled(pid, lambda j, kind=kind: j.get("kind") == kind)
            expect(f"alone: {kind}", (code, j.get("kind")) == (1, kind), (code, j.get("verdict"), j.get("kind")))


def against_python(base):
    """faulthandler's dump of the same process names the same functions and lines."""
    (base / "deep.py").write_text("""import faulthandler, signal, sys, threading, time
faulthandler.register(signal.SIGUSR1, all_threads=True, file=open("dump", "w"))
def wait(n):
    if n:
        return wait(
            n - 1)
    [time.sleep(1000)
     for _ in (1, 2)]
class Thing:
    def method(self):
        with self:
            print(flush=True); wait(7)
    def __enter__(self): pass
    def __exit__(self, *_): pass
threading.Thread(target=Thing().method).start()
try:
    {1: wait(3)}
finally:
    pass
""")
    with Job(base, "deep.py") as pid:
        time.sleep(0.2)
        _, j, _ = hang(pid)
        os.kill(pid, signal.SIGUSR1)
        for _ in range(50):
            text = (base / "dump").read_text()
            if "<module>" in text:
                break
            time.sleep(0.05)
    dump = [[(line.split('"')[1], int(line.split("line ")[1].split()[0]), line.split(" in ")[1]) for line in block.splitlines() if "File" in line]
            for block in text.split("hread 0x")[1:]]
    ours = [[(f["file"], f["line"], f["function"].split(".")[-1]) for f in t["frames"]] for t in j["processes"][0]["threads"]]
    expect("as Python itself says", sorted(ours) == sorted(dump), (ours, dump))


def entry(sequence, name, state, sizes=((4, 4),)):
    return {"collective_seq_id": sequence, "profiling_name": f"nccl:{name}", "state": state, "process_group": ("0", "default_pg"),
            "input_sizes": sizes, "frames": [{"name": "all_reduce", "filename": "/usr/lib/python3/torch/distributed/c10d.py", "line": 1},
                                             {"name": "step", "filename": "/home/u/train.py", "line": 77}], "time_created_ns": 1, "p": 1.5}


def dump(base, rank, entries, how=pickle.dumps):
    at = base / f"nccl_trace_rank_{rank}"
    at.write_bytes(how({"version": "2.4", "entries": entries, "pg_config": {"0": {"ranks": "[0, 1]"}}, "big": 1 << 40, "none": None, "t": True}))
    return at


def recorders(base):
    good = [entry(1, "all_reduce", "completed"), entry(2, "all_reduce", "started")]
    a = dump(base, 0, good)
    for name, other, kind, rank in (
            ("a rank that did not call it", good[:1], "straggler", 1),
            ("another collective", [good[0], entry(2, "broadcast", "scheduled")], "mismatch", 1),
            ("other sizes", [good[0], entry(2, "all_reduce", "started", ((8, 4),))], "mismatch", 1),
            ("all are there", good, "network", None)):
        for protocol in (2, 4):
            b = dump(base, 1, other, lambda v, p=protocol: pickle.dumps(v, protocol=p))
            code, j, err = hang(a, b)
            expect(f"{name}, protocol {protocol}", (code, j.get("kind"), j.get("rank"), j.get("operation")) == (1, kind, rank, "all_reduce"), (j, err))
        b = dump(base, 1, other, lambda v: json.dumps(v).encode())
        expect(f"{name}, JSON", hang(a, b)[1].get("kind") == kind, name)
    code, j, _ = hang(a, dump(base, 1, good[:1]))
    expect("where the program called it", "/home/u/train.py:77" in j["verdict"], j["verdict"])

    class Evil:
        def __reduce__(self):
            return os.system, (f"touch {base}/ran",)
    for name, data in (("code", pickle.dumps({"entries": [Evil()]})), ("cut off", a.read_bytes()[:40]), ("nothing", b""), ("text", b"hello"),
                       ("no entries", pickle.dumps({"a": 1})), ("itself", b"\x80\x02]q\x00(h\x00e."), ("marks", b"(" * 100000), ("memo", b"\x80\x02h\x05."),
                       ("long", b"\x80\x02X\xff\xff\xff\x7f")):
        (base / "bad").write_bytes(data)
        code, _, err = hang(base / "bad")
        expect(f"refused: {name}", code == 2 and "a flight recorder's dump" in err and not (base / "ran").exists(), (code, err))


def libraries(base):
    """Two builds of NCCL in one job, and what NCCL's RAS answers on its port: stand-ins."""
    for version in ("2.28.3", "2.29.7"):
        folder = base / version
        folder.mkdir()
        (base / "n.c").write_text(f'const char *ncclVersionText(void) {{ return "NCCL version {version}+cuda13.0"; }}\n')
        if subprocess.run(["cc", "-shared", "-fPIC", "-o", folder / "libnccl.so.2", base / "n.c"]).returncode:
            return skip("NCCL's identity", "no compiler")
    (base / "lib.py").write_text("import ctypes, os, sys, time\nfrom torch.distributed import distributed_c10d as dist\n"
                                 "ctypes.CDLL(('2.29.7' if os.environ['RANK'] == '1' else '2.28.3') + '/libnccl.so.2')\n"
                                 "print(flush=True)\ndist.barrier()\n")
    ras = socket.create_server(("127.0.0.1", 0))
    asked = []

    def answer():
        c, _ = ras.accept()
        while b"STATUS" not in b"".join(asked):
            asked.append(c.recv(4096))
        c.sendall(b"NCCL version 2.28.3\nJob summary\n  #0 4 ranks RUNNING INCOMPLETE\nErrors\n  rank 3: MISMATCH of AllReduce \x1b[31m\n")
        c.close()
    threading.Thread(target=answer, daemon=True).start()
    (base / "launch.py").write_text(LAUNCHER)
    os.environ["NCCL_RAS_ADDR"] = f"127.0.0.1:{ras.getsockname()[1]}"
    with Job(base, "launch.py", "lib.py", lines=5) as pid:
        time.sleep(0.3)
        _, j, _ = hang(pid)
        text = "\n".join(j["evidence"])
        expect("builds of NCCL differ", "NCCL 2.29.7" in text and "need the same build" in text, text)
        expect("what RAS says", "rank 3: MISMATCH" in text and "INCOMPLETE" in text, text)
        expect("RAS does not reach all ranks", j["kind"] == "dead" and "has ended" in j["verdict"], j["verdict"])
    # NCCL's collectives are launched: their ranks wait for the GPU later, and not for each other where all do.
    for odd, kind, rank in (("time.sleep(1000)", "straggler", 2), ("cuda.synchronize()", "synchronizing", 0)):
        (base / "lib.py").write_text("import ctypes, os, time\nfrom torch import cuda\nctypes.CDLL('2.28.3/libnccl.so.2')\nprint(flush=True)\n"
                                     f"if os.environ['RANK'] == '2': {odd}\ncuda.synchronize()\n")
        with Job(base, "launch.py", "lib.py", lines=5) as pid:
            code, j, _ = settled(pid, lambda j, want=(kind, rank): (j.get("kind"), j.get("rank")) == want)
            expect(f"launched collectives: {odd}", (code, j.get("kind"), j.get("rank")) == (1, kind, rank), (j.get("verdict"), j.get("kind")))
    del os.environ["NCCL_RAS_ADDR"]
    ras.close()


def native(base):
    """A program without Python in a library's function: its C frames, and what it waits in by the library."""
    (base / "n.c").write_text("#include <pthread.h>\nint ncclAllReduce(int x) { static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER; static pthread_cond_t c = "
                              "PTHREAD_COND_INITIALIZER; pthread_mutex_lock(&m); while (x) pthread_cond_wait(&c, &m); return x; }\n")
    (base / "t.c").write_text("#include <unistd.h>\nint ncclAllReduce(int);\n__attribute__((noinline)) int train_step(int x) { return ncclAllReduce(x) + 1; }\n"
                              "int main(int n, char **v) { (void)v; return write(1, \"\\n\", 1) + train_step(n); }\n")
    library = base / "libnccl.so.2"
    for words in (["-shared", "-fPIC", "-o", library, base / "n.c"], ["-o", base / "t", base / "t.c", library]):
        if subprocess.run(["cc", "-O1", *words]).returncode:
            return skip("C frames", "no compiler")
    for what in ("with its symbols", "stripped"):
        p = subprocess.Popen([base / "t"], stdout=subprocess.PIPE)
        p.stdout.readline()
        code, j, _ = settled(p.pid, lambda j: j.get("kind") == "collective")
        p.kill()
        p.communicate()
        frames = [(f["function"], f["file"]) for f in j["processes"][0]["threads"][0]["c_frames"]]
        names = [("ncclAllReduce", "libnccl.so.2"), ("train_step" if what != "stripped" else "?", "t")]
        expect(f"C frames, {what}", code == 1 and j["kind"] == "collective" and all(f in frames for f in names), (j.get("kind"), frames))
        if subprocess.run(["strip", library, base / "t"]).returncode:
            return skip("C frames, stripped", "no strip")


SPIN = """volatile unsigned long x;
__attribute__((noinline)) void jpeg_idct_islow(int n) { for (int i = 0; i < n * 1000000; i++) x += (unsigned long)i; }
"""


def running(base):
    """A program that runs without a system call: its C frames by the kernel's timer of its CPU time, whatever it was built with."""
    (base / "r.c").write_text("#include <unistd.h>\n" + SPIN + "__attribute__((noinline)) int decode(int n) { for (;;) jpeg_idct_islow(n); }\n"
                              "int main(int n, char **v) { (void)v; return write(1, \"\\n\", 1) + decode(n); }\n")
    for what, words, name in (("frame pointers", ["-O1", "-fno-omit-frame-pointer"], "jpeg_idct_islow"), ("none", ["-O1", "-fomit-frame-pointer"], "jpeg_idct_islow"),
                              ("no .eh_frame", ["-O1", "-fno-asynchronous-unwind-tables"], "jpeg_idct_islow"), ("static", ["-O1", "-static"], "jpeg_idct_islow"),
                              ("stripped", ["-O1", "-s"], "?")):
        if subprocess.run(["cc", *words, "-o", base / "r", base / "r.c"], capture_output=True).returncode:
            skip(f"running, {what}", "not to be built here")
            continue
        p = subprocess.Popen([base / "r"], stdout=subprocess.PIPE)
        p.stdout.readline()
        # Between two calls of the function it is in its caller, now and then.
        frames = []
        settled(p.pid, lambda j: frames.append([(f["function"], f["file"]) for f in j["processes"][0]["threads"][0]["c_frames"]]) or
                name in [f for f, _ in frames[-1][:1]])
        p.kill()
        p.communicate()
        expect(f"C frames of one that runs, {what}", frames[-1][:1] == [(name, "r")], frames)


# perf_event_open gives EPERM, as in a sandbox: its number on x86-64 and arm64.
REFUSES = """
import ctypes, os, platform, struct, sys
number = 298 if platform.machine() == "x86_64" else 241
rules = [(0x20, 0, 0, 0), (0x15, 0, 1, number), (0x06, 0, 0, 0x00050001), (0x06, 0, 0, 0x7fff0000)]
code = ctypes.create_string_buffer(b"".join(struct.pack("HBBI", *r) for r in rules))
libc = ctypes.CDLL(None, use_errno=True)
class Program(ctypes.Structure): _fields_ = [("n", ctypes.c_ushort), ("at", ctypes.c_void_p)]
if libc.prctl(38, 1, 0, 0, 0) or libc.prctl(22, 2, ctypes.byref(Program(len(rules), ctypes.addressof(code))), 0, 0):
    sys.exit(99)
os.execv(sys.argv[1], sys.argv[1:])
"""


def refused():
    """Whether the kernel refuses C frames here."""
    return bool(os.geteuid()) and pathlib.Path("/proc/sys/kernel/perf_event_paranoid").read_text().strip() not in ("-1", "0", "1", "2")


def native_samples(base):
    """record: the C code of a line, of another thread; a sandbox that refuses it, which is said, and costs nothing else."""
    (base / "spin.c").write_text(SPIN)
    if subprocess.run(["cc", "-O1", "-shared", "-fPIC", "-o", base / "libjpeg.so.62", base / "spin.c"]).returncode:
        return skip("C code of samples", "no compiler")
    (base / "decode.py").write_text("""import ctypes, threading, time
lib = ctypes.CDLL("./libjpeg.so.62")
stop = False
def other():
    while not stop: lib.jpeg_idct_islow(20)
t = threading.Thread(target=other); t.start()
for n in range(40):
    before = time.thread_time()
    while time.thread_time() - before < 0.04: lib.jpeg_idct_islow(2)
    print('{"step": %d, "step_s": 0.04}' % n, flush=True)
stop = True; t.join(); raise SystemExit(7)
""")
    (base / "refuses.py").write_text(REFUSES)
    command = [gputune, "record", "--stacks", "-o", "n.rec", "--", sys.executable, "decode.py"]
    p = subprocess.run(command, cwd=base, capture_output=True, text=True, timeout=120)
    stacks = json.loads((base / "n.rec.stacks").read_text().splitlines()[0])
    if "native_missing" in stacks and refused():
        return skip("C code of samples", stacks["native_missing"])
    places = [x for x in stacks["places"] if x["kind"] == "preparing"]
    expect("C code decides where Python's lines do not", p.returncode == 7 and places and max(places[0]["native"], key=places[0]["native"].get) ==
           "libjpeg.so.62:jpeg_idct_islow", (p.returncode, stacks))
    expect("other threads' C code", "libjpeg.so.62:jpeg_idct_islow" in stacks.get("threads", {}), stacks)
    (base / "n.log").write_text(p.stdout)
    q = subprocess.run([gputune, "diagnose", "training", "n.rec", "n.log", "--format", "json"], cwd=base, capture_output=True, text=True)
    found = [c for r in json.loads(q.stdout)["runs"] for c in r["causes"] if c["id"] == "loader"]
    expect("diagnose cites the function", found and found[0]["certainty"] in ("likely", "certain") and
           "libjpeg.so.62:jpeg_idct_islow (decodes or changes pictures)" in json.dumps(found[0]), q.stdout[:2000])
    for x in base.glob("n.rec*"):
        x.unlink()
    p = subprocess.run([sys.executable, "refuses.py", *command], cwd=base, capture_output=True, text=True, timeout=120)
    if p.returncode == 99:
        return skip("a sandbox without perf_event_open", "no seccomp")
    stacks = json.loads((base / "n.rec.stacks").read_text().splitlines()[0])
    expect("a sandbox without perf_event_open: said, and Python's stacks are there", p.returncode == 7 and "perf_event_open" in stacks.get("native_missing", "") and
           "no C frames: perf_event_open" in p.stderr and stacks["samples"] > 0 and not any(x.get("native") for x in stacks["places"]), (p.stderr, stacks))


def sampled(base):
    """record --stacks: where the time of a run goes, and at which line; diagnose takes it as evidence."""
    (base / "run.py").write_text("""import time
from torch.utils.data import slow
def step():
    for i in range(20000): i * i
for n in range(120):
    slow.fetch()
    step()
    print('{"step": %d, "step_s": 0.025}' % n, flush=True)
""")
    (base / "torch/utils/data/slow.py").write_text("import time\ndef fetch(): time.sleep(0.02)\n")
    # Behind more processes than loaders have.
    many = f"for i in $(seq 300); do sleep 60 > /dev/null 2>&1 & done; '{sys.executable}' run.py; kill $(jobs -p)"
    p = subprocess.run([gputune, "record", "--stacks", "-o", "j.rec", "--", "sh", "-c", many], cwd=base, capture_output=True, text=True,
                       env={**os.environ, "PYTHONPATH": str(base)}, timeout=120)
    lines = [json.loads(line) for line in (base / "j.rec.stacks").read_text().splitlines()] if (base / "j.rec.stacks").exists() else []
    first = lines[0]["places"][0] if lines else {}
    expect("samples of the loader", first.get("kind") == "data-loader" and first.get("function") == "fetch" and first.get("line") == 2, (lines, p.stderr))
    (base / "train.log").write_text(p.stdout)
    q = subprocess.run([gputune, "diagnose", "training", "j.rec", "train.log", "--format", "json"], cwd=base, capture_output=True, text=True)
    found = [c for r in json.loads(q.stdout)["runs"] for c in r["causes"] if c["id"] == "loader"]
    expect("diagnose names the line", found and found[0]["certainty"] in ("likely", "certain") and "slow.py:2" in json.dumps(found[0]), q.stdout[:800])
    for name, text in (("broken", '{"gputune_stacks":1,"pid":1,\n'), ("wrong types", '{"gputune_stacks":1,"pid":"x","samples":[],"places":[1,{"kind":3}]}\n'),
                       ("wrong C code", '{"gputune_stacks":1,"pid":1,"samples":20,"threads":[1],"places":[{"kind":"other","samples":20,"native":{"a":"b","":-1}},'
                        '{"kind":"other","samples":20,"native":7}]}\n')):
        (base / "bad.stacks").write_text(text)
        q = subprocess.run([gputune, "diagnose", "training", "bad.stacks"], cwd=base, capture_output=True, text=True)
        expect(f"stacks that are {name}", q.returncode in (2, 5), (q.returncode, q.stderr))
    q = subprocess.run([gputune, "record", "--stacks", "--for", "1s", "-o", "x.rec"], cwd=base, capture_output=True, text=True)
    expect("stacks of no command", q.returncode == 2 and "--stacks traces a COMMAND" in q.stderr, q.stderr)


with tempfile.TemporaryDirectory(prefix="gputune-hang-") as where:
    base = pathlib.Path(where)
    package(base)
    recorders(base)
    expect("no process", hang("999999999")[0] == 2)
    expect("nothing named", hang()[0] == 2)
    p = subprocess.Popen(["sleep", "1000"])
    code, j, _ = settled(p.pid, lambda j: j.get("kind") == "sleep")
    expect("no Python", code == 1 and j["kind"] == "sleep" and j["processes"][0]["python"] is None, j)
    p.kill()
    p.wait()
    if hang(os.getpid())[1].get("processes", [{}])[0].get("missing"):
        skip("stacks", "memory of other processes is not to be read here")
    else:
        against_python(base)
        sampled(base)
        libraries(base)
        native(base)
        running(base)
        native_samples(base)
        alone(base)
        jobs(base)
end_suite()
