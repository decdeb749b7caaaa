#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""knowledge: a model and a GPU in a user's files are known to every verb that asks for one; a wrong file is named and not used.

  knowledge.py GPUTUNE
"""
import json
import re
import shlex

import common
from common import end_suite, expect, root, scratch

home = scratch("knowledge")
folder = home / ".config/gputune/knowledge"
folder.mkdir(parents=True)

# The rows of docs/KNOWLEDGE.md, which it tells people to write and then to ask for.
page = (root / "docs/KNOWLEDGE.md").read_text()
rows = dict(re.findall(r"^```rows (\w+)\n(.*?)^```", page, re.M | re.S))
MODEL, GPU = rows["models"], rows["gpus"]


def run(*argv, **env):
    return common.run(*argv, env={"HOME": home, **env})


def write(**files):
    for old in folder.iterdir():
        old.unlink()
    for name, text in files.items():
        (folder / f"{name}.rows").write_text(text)


ask = ["predict", "inference", "--model", "acme/Think-9B", "--on", "4x acme-x1"]
code, out, err = run(*ask)
expect("without the files nobody knows it", code == 2 and "unknown machine" in err, err)

write(models=MODEL, gpus=GPU)
for argv in (ask, ["predict", "training", *ask[2:]], ["advise", *ask[2:]], ["generate", "vllm", *ask[2:]],
             ["generate", "deepspeed", "--model", "acme/Think-9B", "--on", "8x acme-x1"]):
    code, out, err = run(*argv)
    expect(f"{argv[:2]} knows both", code in (0, 1) and not err and "Think-9B" in out, (code, out, err))
for command in re.findall(r"^    gputune (.*acme.*)$", page, re.M):
    code, out, err = run(*shlex.split(command))
    expect(f"the page's {command}", code == 0 and not err and "Acme-Think-9B" in out, (code, err))
code, out, err = run(*ask, "--format", "json")
j = json.loads(out)
expect("by its name and its source", any("Acme-Think-9B, found by name (config.json of acme/Think-9B)" in n for n in j["notes"]), j["notes"])
code, out, err = run(*ask, XDG_CONFIG_HOME=str(home / ".config"), HOME="/nonexistent")
expect("by XDG_CONFIG_HOME", code == 0 and "Acme X1" in out, (code, err))
code, out, err = run(*ask, XDG_CONFIG_HOME=".config")
expect("a folder that is not absolute is none", code == 0 and "Acme X1" in out, (code, err))
code, out, err = run(*ask, XDG_CONFIG_HOME="/nonexistent")
expect("XDG_CONFIG_HOME before HOME", code == 2, (code, out))

# A captured machine gives the same everywhere; the model is part of the question.
write(models=MODEL, gpus='"NVIDIA H100 80GB HBM3" keys=h100 memory=80 bandwidth=9999 half=989 per_node=8 source=mine date=2026\n')
on_capture = ["predict", "inference", "--host", "demo:hgx-h100", "--format", "json", "--model"]
before, after = run(*on_capture, "Qwen3-8B", HOME="/nonexistent"), run(*on_capture, "Qwen3-8B")
told = [json.loads(x[1]) for x in (before, after)]
for j in told:
    j.pop("time", None)
expect("a captured machine's GPU is the one that is compiled in", told[0] == told[1])
expect("a model of the user's is asked of a captured machine", run(*on_capture, "acme-think-9b")[0] in (0, 1))
slow, fast = (json.loads(run("predict", "inference", "--model", "Qwen3-8B", "--on", "h100", "--format", "json", HOME=h)[1]) for h in ("/nonexistent", str(home)))
expect("a GPU that is named is the user's", fast["tpot_ms"]["value"] < slow["tpot_ms"]["value"], (slow["tpot_ms"], fast["tpot_ms"]))

# Refused whole, with its place; the answer is that of what is compiled in.
for text, says in ((MODEL + "Acme-2 keys=acme|2\n", "models.rows:2: row \"Acme-2\": layers is missing"), (MODEL + "x\x01\n", "control character"),
                   ("\0" * (1 << 20), "the line is longer than 4096 bytes"), ("a" * (2 << 20), "File too large")):
    write(models=text, gpus=GPU)
    code, out, err = run("predict", "inference", "--model", "Qwen3-8B", "--on", "acme-x1")
    expect(f"{says}: said once, and answered", code == 0 and err.count(says) == 1 and "Acme X1" in out and "Qwen3-8B" in out, (code, err))
write()
(folder / "models.rows").mkdir()
code, out, err = run("predict", "inference", "--model", "Qwen3-8B", "--on", "h100")
expect("a folder of that name is said to be no file", code == 0 and "models.rows: cannot read" in err, err)
end_suite()
