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

# The rows of docs/design/KNOWLEDGE.md, which it tells people to write and then to ask for.
page = (root / "docs/design/KNOWLEDGE.md").read_text()
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
for name, what in (("Qwen3-32B-Eagle3", "without a drafter"), ("Qwen3-Coder-480B-A22B", "says 22 B active")):
    j = json.loads(run("predict", "inference", "--model", name, "--on", "h200x1", "--format", "json")[1])
    expect(f"what the name says besides: {name}", any(what in n for n in j["notes"]), j["notes"])
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

# A model's own files become a row; what cannot be one is refused, and the rows that were there stay.
(folder / "models.rows").rmdir()
files = scratch("model-add") / "Acme-Pro-7B"
files.mkdir(parents=True)
config = {"model_type": "llama", "num_hidden_layers": 32, "hidden_size": 4096, "intermediate_size": 11008, "num_attention_heads": 32, "num_key_value_heads": 8,
          "vocab_size": 32000, "tie_word_embeddings": False}
own = folder / "models.rows"


def add(*argv, **change):
    (files / "config.json").write_text(json.dumps({**config, **change}))
    return run("model", "add", files, *argv)


code, out, err = add("--dry-run")
expect("a dry run writes nothing", code == 0 and "layers=32" in out and not own.exists(), (code, err))
code, out, err = add()
expect("the row is written", code == 0 and own.read_text().startswith("Acme-Pro-7B keys=acme|pro|7b "), (code, err))
before = own.read_text()
code, out, err = add()
expect("once", code == 0 and "replaced" in out and own.read_text().count("Acme-Pro-7B") == before.count("Acme-Pro-7B"), (code, out))
code, out, err = run("predict", "inference", "--model", "acme-pro-7b", "--on", "h100")
expect("and found by name", code == 0 and "Acme-Pro-7B" in out, (code, err))
for change, says in (({"num_hidden_layers": 0}, "num_hidden_layers"), ({"num_key_value_heads": 64}, "heads"), ({"hidden_size": -4}, "hidden")):
    code, out, err = add(**change)
    expect(f"{change}: refused with its key", code == 2 and says in err and own.read_text() == before, (code, err))
code, out, err = run("model", "add", files / "none.gguf")
expect("no such file", code == 2 and "cannot read" in err, (code, err))
code, out, err = run("model", "add", files, "--name", "--")
expect("a name without letters", code == 2, (code, err))
own.write_text(before + "broken\n")
code, out, err = add()
expect("a file that is not read is not written", code == 3 and own.read_text() == before + "broken\n" and "models.rows:2" in err, (code, err))
end_suite()
