#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""data: signed packages of rows are taken, used, kept and given back; hostile packages and signatures are refused and change nothing. Signatures
are made here, of minisign's two forms and signify's; the programs themselves make some where they are installed.

  data.py GPUTUNE
"""
import base64
import gzip
import hashlib
import json
import os
import pathlib
import shutil
import subprocess
import time

import common
from common import end_suite, expect, put, root, scratch, skip

# --- Ed25519 of RFC 8032, as its section 6 has it ------------------------------------------------

P, L = 2**255 - 19, 2**252 + 27742317777372353535851937790883648493
D = -121665 * pow(121666, P - 2, P) % P


def add(a, b):
    w, x = (a[1] - a[0]) * (b[1] - b[0]) % P, (a[1] + a[0]) * (b[1] + b[0]) % P
    y, z = 2 * a[3] * b[3] * D % P, 2 * a[2] * b[2] % P
    e, f, g, h = x - w, z - y, z + y, x + w
    return e * f % P, g * h % P, f * g % P, e * h % P


def times(n, a):
    out = (0, 1, 1, 0)
    while n:
        out = add(out, a) if n & 1 else out
        a, n = add(a, a), n >> 1
    return out


def packed(a):
    z = pow(a[2], P - 2, P)
    return (a[1] * z % P | (a[0] * z % P & 1) << 255).to_bytes(32, "little")


X = 15112221349535400772501151409588531511454012693041857206046113283949847762202
Y = 46316835694926478169428394003475163141307993866256225615783033603165251855960
BASE = (X, Y, 1, X * Y % P)


class Key:
    def __init__(self, seed):
        h = hashlib.sha512(seed.encode()).digest()
        self.a = int.from_bytes(h[:32], "little") & (1 << 254) - 8 | 1 << 254
        self.prefix, self.number = h[32:], h[:8]
        self.public = packed(times(self.a, BASE))

    def text(self):
        return "untrusted comment: a key\n" + base64.b64encode(b"Ed" + self.number + self.public).decode() + "\n"

    def raw(self, data):
        r = int.from_bytes(hashlib.sha512(self.prefix + data).digest(), "little") % L
        big = packed(times(r, BASE))
        k = int.from_bytes(hashlib.sha512(big + self.public + data).digest(), "little") % L
        return big + ((r + k * self.a) % L).to_bytes(32, "little")

    def sign(self, data, comment, how=b"ED"):
        """As minisign writes it; without a comment as signify does."""
        sig = self.raw(hashlib.blake2b(data).digest() if how == b"ED" else data)
        text = "untrusted comment: signature\n" + base64.b64encode(how + self.number + sig).decode() + "\n"
        if comment is not None:
            text += f"trusted comment: {comment}\n" + base64.b64encode(self.raw(sig + comment.encode())).decode() + "\n"
        return text


# --- packages ------------------------------------------------------------------------------------

tmp = scratch("data")
home = tmp / "home"
home.mkdir()
tmp.chmod(0o755)
site, other = Key("site"), Key("other")
put(tmp / "site.pub", site.text())
put(tmp / "other.pub", other.text())
put(tmp / "raw.pub", site.text().splitlines()[1])
as_user = dict(user=65534, group=65534, extra_groups=[]) if os.geteuid() == 0 else {}
if as_user:
    os.chown(home, 65534, 65534)
kept = home / ".local/share/gputune"
ROW = json.loads((root / "src/knowledge/defects/nccl.json").read_text())[0]
MODEL = 'Acme-Think-9B keys=acme|think|9b layers=36 hidden=4096 vocab=151936 heads=32 kv_heads=8 head_dim=128 ffn=12288 source="config.json"\n'
count = 0


def run(*argv, **how):
    return common.run(*argv, env={"HOME": home, **how}, **as_user)


def package(serial=5, date="2026-11-20", files=None, **more):
    files = {"defects/nccl.json": [ROW], "models.rows": MODEL} if files is None else files
    return json.dumps({"format": "gputune-data/1", "date": date, "serial": serial, "files": files, **more}).encode() + b"\n"


def write(data, sig=None, end=".minisig"):
    """A package and its signature, in a folder of their own."""
    global count
    count += 1
    folder = tmp / f"p{count}"
    folder.mkdir()
    (folder / "gputune-data.json").write_bytes(data)
    if sig is None:
        try:
            j = json.loads(data)
            sig = site.sign(data, f"gputune-data {j['serial']} {j['date']}")
        except (ValueError, RecursionError, TypeError, KeyError):
            sig = site.sign(data, says)
    if sig:
        put(folder / f"gputune-data.json{end}", sig)
    return folder / "gputune-data.json"


def update(path, *more, key="site.pub"):
    return run("data", "update", path, "--key", tmp / key, *more)


def state():
    return {p.name: p.read_bytes() for p in kept.glob("package*")} if kept.exists() else {}


def refused(what, path, *words, more=(), key="site.pub", codes=(2, 3)):
    before = state()
    code, out, err = update(path, *more, key=key)
    expect(f"{what}: refused, and said", code in codes and all(w in err for w in words), (code, out, err))
    expect(f"{what}: nothing changed", state() == before)


def taken(what, path, *more, key="site.pub", word="installed"):
    code, out, err = update(path, *more, key=key)
    return expect(f"{what}: taken", code == 0 and word in out and not err, (code, out, err))


def status():
    return json.loads(run("data", "status", "--format", "json")[1])


first, says = package(), "gputune-data 5 2026-11-20"
code, out, err = run("data", "update", write(first))
expect("no key is trusted by itself", code == 2 and "--key" in err, (code, err))

# --- signatures ----------------------------------------------------------------------------------

good = site.sign(first, says)
lines = good.splitlines()
for what, data, sig, words in (
        ("another key", first, other.sign(first, says), ("signed by key",)),
        ("another key with the same number", first, good.replace(lines[1], other.sign(first, says).splitlines()[1]), ("signed by key",)),
        ("another file", first + b" ", good, ("does not match the file",)),
        ("a byte less", first[:-1], good, ("does not match the file",)),
        ("another trusted comment", first, good.replace(says, "gputune-data 6 2026-11-20"), ("trusted comment",)),
        ("a comment for another package", first, site.sign(first, "gputune-data 4 2026-11-20"), ("trusted comment",)),
        ("the comment's signature is missing", first, "\n".join(lines[:3]) + "\n", ("trusted comment",)),
        ("a cut signature", first, "\n".join([lines[0], lines[1][:40]]) + "\n", ("not a signature",)),
        ("no signature in it", first, "hello\n", ("not a signature",)),
        ("an empty signature", first, "\n", ("not a signature",)),
        ("more behind it", first, good + "more\n", ("trusted comment",)),
        ("another algorithm", first, good.replace(lines[1], base64.b64encode(b"XX" + base64.b64decode(lines[1])[2:]).decode()), ("not a signature",)),
        ("a prehash taken for the bytes", first, site.sign(first, says).replace(lines[1], base64.b64encode(b"Ed" + base64.b64decode(lines[1])[2:]).decode()),
         ("does not match",)),
        ("a huge signature", first, "untrusted comment: " + "x" * 100000, ("gputune-data.json.minisig",))):
    refused(what, write(data, sig), *words)
refused("no signature", write(first, ""), ".sig")
refused("the wrong key is named", write(first), "signed by key", key="other.pub")
put(tmp / "bad.pub", "untrusted comment: a key\nRWQ=\n")
refused("a broken key", write(first), "not a public key", key="bad.pub")
refused("no key file", write(first), "nowhere.pub", key="nowhere.pub")

# --- content -------------------------------------------------------------------------------------

broken = dict(ROW, when={"pip": "torch", "version": "<<"})
lying = dict(ROW, examples=[dict(e, match="no" if e["match"] == "yes" else e["match"]) for e in ROW["examples"]])
for what, data, words in (
        ("no JSON", b"\0\1\2", ()), ("cut JSON", first[:200], ()), ("a list", b"[]", ("format",)), ("another format", package(format="gputune-data/2"), ("format",)),
        ("a key twice", first[:-2] + b', "serial": 9}\n', ()), ("no serial", package(serial=None), ("serial",)), ("serial 0", package(serial=0), ("serial",)),
        ("a serial below 0", package(serial=-1), ("serial",)), ("no date", package(date="soon"), ("date",)), ("a month as its date", package(date="2026-11"), ("date",)),
        ("a day that is none", package(date="2026-02-31"), ("date",)), ("no files", package(files={}), ("no files",)), ("more keys", package(more=1), ("invalid",)),
        ("a path that leads out", package(files={"../../etc/passwd": "x"}), ("unknown file",)),
        ("a path that leads out of defects", package(files={"defects/../x.json": []}), ("unknown file",)),
        ("an absolute path", package(files={"/etc/passwd": "x"}), ("unknown file",)), ("a file of no table", package(files={"xyz.rows": "x"}), ("unknown file",)),
        ("a text for a list", package(files={"defects/nccl.json": "x"}), ("unexpected JSON type",)), ("a list for a text", package(files={"models.rows": []}), ("unexpected JSON type",)),
        ("a wrong model", package(files={"defects/nccl.json": [ROW], "models.rows": "Acme keys=acme\n"}), ("models.rows:1",)),
        ("a wrong defect", package(files={"defects/nccl.json": [ROW, broken]}), ("entry 2", ROW["id"])),
        ("the same id twice", package(files={"defects/nccl.json": [ROW], "defects/x.json": [ROW]}), ("duplicate",)),
        ("a row that lies about its examples", package(files={"defects/nccl.json": [lying]}), ("example",)),
        ("a row that is none", package(files={"defects/nccl.json": [7]}), ("entry 1",)), ("deep nesting", b"[" * 100000, ()),
        ("older than the build", package(date="2020-01-01"), ("before this build",)), ("a date to come", package(date="2099-01-01"), ("future",)),
        ("a huge one", b'{"a": "' + b"x" * (17 << 20) + b'"}', ()), ("a packed one", gzip.compress(bytes(64 << 20)), ()), ("a zip", b"PK\3\4" + bytes(200), ()),
        ("a million entries", package(files={"defects/nccl.json": [{}] * 1000000}), ("entry 1",)),
        ("more rows than any list has", package(files={"defects/nccl.json": [dict(ROW, id=f"r{i}", when={"pip": "x"}, mitigated_by={"pip": "y"}, signatures=["it is slow here"], symptoms=["x" * 9], examples=[
            {"match": "yes", "pip": {"x": "1"}}, {"match": "no"}]) for i in range(10001)]}), ("more than 10000 rows",))):
    refused(what, write(data), *words)
# Patterns that take long where a reader tries all ways: taken, and judged in time.
stars = "aaaaaaaa" + "*a" * 50 + "b"
slow = [dict(ROW, id=f"s{i}", when={"log": stars}, signatures=[stars], examples=[{"match": "yes", "log": ["a" * 150 + "b"]}, {"match": "no", "log": ["a" * 4000] * 5}]) for i in range(50)]
for row in slow:
    row.pop("mitigated_by", None)
before = time.monotonic()
code, out, err = update(write(package(1, files={"defects/x.json": slow})))
expect("slow patterns: taken", code == 0, (code, out, err))
code, out, err = run("defects", "check", "--host", common.machines / "dgx-spark")
expect("slow patterns take no time", time.monotonic() - before < 10 and "not used" not in err, (time.monotonic() - before, err))
shutil.rmtree(kept)
refused("a folder that is empty", tmp / "nothing", "nothing")
refused("no http", "http://example.org/gputune-data.json", "https")
os.mkfifo(tmp / "pipe")
refused("a pipe without a writer", tmp / "pipe")
(tmp / "loop").symlink_to(tmp / "loop")
refused("a link to itself", tmp / "loop")
path = write(first, "")
path.with_name(path.name + ".minisig").symlink_to(tmp / "pipe")
refused("a signature that is a pipe", path)

# --- what is right -------------------------------------------------------------------------------

refused("before anything is installed", tmp, "gputune-data.json")
expect("there is nothing to go back to", run("data", "back")[0] == 3)
expect("nothing is in use", status()["used"]["path"] is None)
path = write(first)
taken("the first", path)
j = status()
expect("it is in use", j["used"]["serial"] == 5 and j["used"]["defects"] == 1 and j["previous"]["path"] is None, j)
taken("the same again", path, word="already installed")
code, out, err = run("defects", "list", "--format", "json")
j = json.loads(out)
expect("defects are the package's", [d["id"] for d in j["defects"]] == [ROW["id"]] and j["rows_from"] == "data package 5 of 2026-11-20" and j["rows_age_days"] >= 0, out)
code, out, err = run("predict", "inference", "--model", "acme/Think-9B", "--on", "h100")
expect("a model is the package's", code == 0 and "Acme-Think-9B" in out and not err, (code, err))
taken("a folder, an untouched key line", write(package(6, "2026-11-21")).parent, key="raw.pub")
taken("minisign's older form", write(package(7, "2026-11-21"), site.sign(package(7, "2026-11-21"), "gputune-data 7 2026-11-21", b"Ed")))
taken("signify's form", write(package(8, "2026-11-21"), site.sign(package(8, "2026-11-21"), None, b"Ed"), ".sig"))
taken("a file address", f"file://{write(package(9, '2026-11-21'))}")
refused("an older serial", write(package(8, "2026-11-22")), "older than the installed 9")
refused("an older date", write(package(10, "2026-11-20")), "older than the installed 2026-11-21")
refused("the same serial with other content", write(package(9, "2026-11-22")), "other content")
j = status()
expect("the last one is kept", j["used"]["serial"] == 9 and j["previous"]["serial"] == 8, j)
code, out, err = run("data", "back")
expect("back to it", code == 0 and status()["used"]["serial"] == 8 and status()["previous"]["serial"] == 9, (code, out, err))
taken("an older one by --force", write(package(3, "2026-11-21")), "--force")
expect("files are whole and nothing else lies there", sorted(p.name for p in kept.iterdir()) == ["lock", "package", "package.previous"], list(kept.iterdir()))

# Releases of makers: captured machines, and rows of a package in place of the build's.
def verdicts(machine, *more):
    j = common.follows(f"releases of {machine}", ["defects", "check", "--host", common.machines / machine, *more], (0, 1), "defects", env={"HOME": home}, **as_user)
    return {r["id"]: r["verdict"] for r in j["releases"]} if j else {}


base = json.loads((root / "src/knowledge/baseline.json").read_text())
expect("an older DGX Spark", verdicts("dgx-spark") == {"driver-r580": "behind", "dgx-spark-driver": "whole", "dgx-spark-ota-7.4.0": "behind"}, verdicts("dgx-spark"))
expect("a branch whose support has ended", verdicts("hgx-h100") == {"driver-r570": "behind"}, verdicts("hgx-h100"))
expect("held by its maker", verdicts("igx-orin") == {"driver-r535": "held"}, verdicts("igx-orin"))
expect("nothing is said of what is not seen", not verdicts("nothing") and not verdicts("dev-vm") and not verdicts("dgx-spark", "--component", "nccl"))
torn = dict(base[0], id="x", when={"platform": "dgx-spark"}, parts=[{"says": "driver 600", "when": {"driver": ">=600"}}, {"says": "a kernel", "when": {"kernel": ">=9"}}],
            examples=[{"verdict": "unknown", "platform": "dgx-spark"}, {"verdict": "torn", "platform": "dgx-spark", "driver": "580.10"}])
for key in ("latest", "held", "end", "ended"):
    torn.pop(key, None)
taken("rows of releases", write(package(12, "2026-11-22", {"defects/nccl.json": [ROW], "baseline.json": [torn]})), "--force")
code, out, err = run("defects", "check", "--host", common.machines / "dgx-spark")
expect("a release that is torn is a finding", code == 1 and "needs driver 600, found driver 580.142" in " ".join(out.split()), (code, out))
for what, how in (("no verdict fits", {"examples": [{"verdict": "whole", "platform": "dgx-spark", "driver": "580.10", "kernel": "6.1"}]}), ("an unknown key", {"x": 1}),
                  ("no source", {"source": None}), ("no date", {"date": "soon"}), ("a condition that is none", {"when": {"x": 1}}), ("a part without a text", {"parts": [{"when": {"driver": ">1"}}]}),
                  ("no example", {"examples": []})):
    refused(f"releases: {what}", write(package(13, "2026-11-23", {"baseline.json": [{k: v for k, v in {**torn, **how}.items() if v is not None}]})), "entry 1")
refused("releases: no list", write(package(13, "2026-11-23", {"baseline.json": {}})), "unexpected JSON type")

# Drafts of rows: of captured machines, without what is nobody's business; the linter takes them as they are.
def drafted(what, *argv):
    code, out, err = run("defects", "new", *argv)
    expect(f"{what}: a draft", code == 0 and not err, (code, out, err))
    common.follows(what, ["defects", "lint", put(tmp / "draft.json", out)], 0, "defects-lint")
    return out


out = drafted("of a DGX Spark", "--host", common.machines / "dgx-spark", "--component", "NCCL", "--log", "NVRM: Xid 31 at 0xdead0001",
              "all_reduce hangs at 10.1.2.3. mail 02:42:ac:11:00:02 hf_abcdefghijklmnopqrstuvwx /home/alice/x\x01")
expect("machine and text are in it", all(w in out for w in ('"sm_121"', '"580.142"', '"6.17.0-1014"', '"effect": "hang"', '"NVRM: Xid # at #"', '"nccl-all-reduce')), out)
expect("secrets are not", not any(w in out for w in ("10.1.2.3", "02:42:ac", "hf_abc", "alice", "\x01")), out)
secrets = ["hunter2", "0123456789abcdef0123456789abcdef01234567", "bob@", "example.com", "10.9.8.7", "AbCdEfGhIjKlMnOp", "wJalrXUtnFEMI", "secretpw", "carol", "dave", "erin", "frank", "gpu-node17",
           "1324523012345", "eyJhbGci", "b3BlbnNza", "AIzaSyA123", "abcdef0123", "dckr_pat", "node-12", "gpu17"]
out = drafted("with secrets", "--host", common.machines / "dgx-spark", "--component", "nccl", "--log", "gpu-node17:1234:1300 [3] NCCL WARN Timeout on node gpu-node17.corp.example.com (10.9.8.7) key AKIAIOSFODNN7EXAMPLE",
              "it hangs for bob@example.com with HF_TOKEN=hf_AbCdEfGhIjKlMnOpQrStUvWxYz WANDB_API_KEY=0123456789abcdef0123456789abcdef01234567 password: hunter2 aws_secret_access_key = wJalrXUtnFEMI/K7MDENG https://u:secretpw@git.example.com/x "
              "C:\\Users\\carol /Users/dave/x /mnt/home/erin/x ~frank/y serial number: 1324523012345 Authorization: Bearer abcdef0123456789abcdef AIzaSyA1234567890abcdefghijklmnop dckr_pat_abcdefghijklmnop "
              "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIx host=node-12 node gpu17; max_tokens=4096 libnccl.so.2.28.9 torch.distributed.run -----BEGIN OPENSSH PRIVATE KEY----- b3BlbnNzaC1rZXktdjEAAAAA")
expect("none of them is in it", not [w for w in secrets if w.lower() in out.lower()], [w for w in secrets if w.lower() in out.lower()])
expect("what tells no one stays", all(w in out for w in ("max_tokens=4096", "libnccl.so.2.28.9", "torch.distributed.run", "*:#:# [#] NCCL WARN Timeout on node * (")), out)
for what, line, sign in (("a line of syslog", "Nov 29 06:00:00 gpu-17 kernel: NVRM: Xid 79", "Nov # #:#:# * kernel: NVRM: Xid #"), ("a line of the journal", "2026-11-29T06:00:00+0000 gpu-17 kernel: NVRM: Xid 79", "#-#-#T#:#:#+# * kernel: NVRM: Xid #")):
    expect(what, sign in drafted(what, "--host", common.machines / "dgx-spark", "--log", line, "x"))
drafted("a cut within a character", "--host", common.machines / "nothing", "a" + "é" * 100)
before = time.monotonic()
run("defects", "new", "--host", common.machines / "nothing", "a" * 100000)
expect("a long text takes no time", time.monotonic() - before < 5, time.monotonic() - before)
drafted("of a machine without GPUs", "--host", common.machines / "nothing", "x")
drafted("a long text", "--host", common.machines / "hgx-h100", "y " * 400)
code, out, err = run("defects", "new", "--component", "no component!", "--host", common.machines / "dgx-spark", "slow")
expect("what the linter would refuse is said", code == 0 and "to be completed" in err, (code, err))

# What is kept is damaged, or a link that somebody put there: said, not used, and the build's rows answer.
whole = (kept / "package").read_bytes()
for what, data in (("cut", whole[:-40]), ("empty", b""), ("no package", b"hello\n{}\n"), ("a wrong row", whole.replace(b'"effect": "', b'"effect": "x'))):
    (kept / "package").write_bytes(data)
    code, out, err = run("defects", "list", "nccl", "--format", "json")
    expect(f"{what}: the build's rows answer", code == 0 and json.loads(out)["rows_from"] == "this build" and err.count("not used") == 1, (code, out[:200], err))
(kept / "package").unlink()
put(tmp / "aside", "x")
(kept / "package").symlink_to(tmp / "aside")
code, out, err = update(write(package(11, "2026-11-23")))
expect("a link in its place is not written through", (tmp / "aside").read_text() == "x", (code, out, err))
shutil.rmtree(kept)

# --- the programs that others have, and the script -----------------------------------------------

built = [tmp / f"built{i}" for i in (1, 2)]
for folder in built:
    folder.mkdir()
if shutil.which("minisign"):
    subprocess.run(["minisign", "-G", "-W", "-p", tmp / "m.pub", "-s", tmp / "m.sec"], check=True, capture_output=True, stdin=subprocess.DEVNULL)
    for folder in built:
        subprocess.run([root / "scripts/data-package", folder / "gputune-data.json", "--serial", "20", "--key", tmp / "m.sec"], check=True,
                       stdin=subprocess.DEVNULL, env={**os.environ, "SOURCE_DATE_EPOCH": "1795000000"})
    same = [[(f / n).read_bytes() for n in ("gputune-data.json", "gputune-data.json.minisig")] for f in built]
    expect("the same sources give the same bytes", same[0] == same[1])
    taken("what minisign signed", built[0], key="m.pub")
    ids = {d["id"] for f in (root / "src/knowledge/defects").glob("*.json") for d in json.loads(f.read_text())}
    expect("it has all rows of the tree", status()["used"]["defects"] == len(ids), status())
else:
    skip("what minisign signs", "it is not installed")
signify = shutil.which("signify-openbsd") or shutil.which("signify")
if signify:
    subprocess.run([signify, "-G", "-n", "-p", tmp / "s.pub", "-s", tmp / "s.sec"], check=True)
    subprocess.run([root / "scripts/data-package", tmp / "s.json", "--serial", "21", "--date", "2026-11-26", "--key", tmp / "s.sec"], check=True)
    taken("what signify signed", tmp / "s.json", key="s.pub")
else:
    skip("what signify signs", "it is not installed")
end_suite()
