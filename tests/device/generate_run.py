#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs what `gputune generate` writes: files for this machine, through the launchers that people use, timed beside the prediction.

    tests/device/generate_run.py GPUTUNE OUT [--seconds 150] [--deepspeed SITE] [--only NAME,...] [--cpu] [--on MACHINE]

OUT is a new or empty folder. Needs torch and accelerate, and two GPUs or more; DeepSpeed where it is installed or lies below SITE. Each file is generated for
training-lab's 350m model, looked through by `gputune lint` and started for some twenty steps; a file that somebody wrote badly is run
as it is and after `generate --edit`. A line each: exit code, tokens/s per GPU measured and predicted. --cpu: a dry run with a tiny model
on CPUs (--on says for which machine the files are). What does not fit into --seconds is named as not run. Changes no setting of a GPU.
"""
import argparse
import importlib.util
import json
import os
import pathlib
import re
import shutil
import signal
import socket
import statistics
import subprocess
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
LAB = ROOT / "scripts/training-lab"
#          training-lab's name, shape as predict reads it, sequence, samples of a step and GPU
REAL = ("350m", "24:1024:16:16:4096:2:32000", 1024, 32)
DRY = ("tiny", "2:128:4:4:512:2:1024", 64, 4)
POOR_DEEPSPEED = """{
  "train_micro_batch_size_per_gpu": 2,
  "gradient_accumulation_steps": %d,
  "bf16": {"enabled": true},
  "zero_optimization": {
    "stage": 3,
    "overlap_comm": false,
    "contiguous_gradients": true,
    "reduce_bucket_size": 500000,
    "stage3_prefetch_bucket_size": 0
  },
  "wall_clock_breakdown": true
}
"""
POOR_TRAINER = """# as somebody had it
output_dir: out
per_device_train_batch_size: 2
gradient_accumulation_steps: %d
bf16: true
gradient_checkpointing: true
dataloader_num_workers: 0
torch_compile: false
"""
POOR_ACCELERATE = """compute_environment: LOCAL_MACHINE
distributed_type: FSDP
num_machines: 1
num_processes: %d
machine_rank: 0
mixed_precision: 'no'
fsdp_config:
  fsdp_version: 1
  fsdp_sharding_strategy: FULL_SHARD
  fsdp_auto_wrap_policy: TRANSFORMER_BASED_WRAP
  fsdp_backward_prefetch: NO_PREFETCH
  fsdp_state_dict_type: SHARDED_STATE_DICT
  fsdp_use_orig_params: true
  fsdp_cpu_ram_efficient_loading: false
  fsdp_sync_module_states: false
  fsdp_offload_params: false
  fsdp_activation_checkpointing: true
"""


def words():
    p = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    p.add_argument("gputune")
    p.add_argument("out", type=pathlib.Path)
    p.add_argument("--seconds", type=float, default=150)
    p.add_argument("--deepspeed", type=pathlib.Path)
    p.add_argument("--only", default="")
    p.add_argument("--cpu", action="store_true")
    p.add_argument("--on")
    p.add_argument("--steps", type=int, default=20)
    a = p.parse_args()
    program = shutil.which(a.gputune)
    if not program:
        p.error(f"{a.gputune} is no program")
    # Everything runs in the root of the sources.
    a.gputune, a.out = str(pathlib.Path(program).resolve()), a.out.resolve()
    if a.out.exists() and (not a.out.is_dir() or any(a.out.iterdir())):
        p.error(f"{a.out} is there already, and is no empty folder")
    return a


class Bench:
    def __init__(self, a):
        self.a, self.size = a, DRY if a.cpu else REAL
        self.out, self.until = a.out, time.monotonic() + a.seconds
        self.out.mkdir(parents=True, exist_ok=True)
        self.gpus = 2 if a.cpu else len([x for x in said(["nvidia-smi", "-L"])[1].splitlines() if x.startswith("GPU ")])
        self.samples = self.size[3] * self.gpus
        self.env = dict(os.environ, OMP_NUM_THREADS=os.environ.get("OMP_NUM_THREADS", "4"))
        if a.deepspeed:
            self.env["PYTHONPATH"] = f"{a.deepspeed.resolve()}:{self.env.get('PYTHONPATH', '')}".rstrip(":")
        if a.cpu:
            self.env.update(GLOO_SOCKET_IFNAME="lo", DS_ACCELERATOR="cpu", ACCELERATE_USE_CPU="true", USE_LIBUV="0")
        self.rows = []

    def model(self):
        return ["--model", self.size[1], "--sequence", str(self.size[2])] + (["--on", self.a.on] if self.a.on else [])

    def generate(self, kind, *more, to=None, program=()):
        """The answer as JSON; the file itself goes to `to`."""
        argv = [self.a.gputune, "generate", kind, *self.model(), *more]
        tail = ["--", *program] if program else []
        if to:
            code, out = said([*argv, "--format", "shell", "-o", str(to), *tail])
            if not to.exists():
                raise RuntimeError(f"generate {kind}: exit code {code}: {out.strip()[:300]}")
        code, out = said([*argv, "--format", "json", *tail], errors=False)
        answer = json.loads(out)
        return answer["train"] or answer["notes"], code

    def lint(self, path):
        code, out = said([self.a.gputune, "lint", str(path), "--format", "json"], errors=False)
        found = [f"{x['level']} {x['code']}" for x in json.loads(out).get("findings", [])] if out.strip().startswith("{") else [out.strip()[:80]]
        return f"lint {code}" + (f" ({', '.join(found[:3])})" if found else "")

    def lab(self, to, *more):
        return [str(LAB), "--device", "cpu" if self.a.cpu else "cuda", "--size", self.size[0], "--sequence", str(self.size[2]), "--steps",
                str(self.a.steps), "--out", str(to), *map(str, more)]

    def run(self, name, argv, to, predicted, note, limit=None):
        """One row: what was started, and how fast it was."""
        left, limit = self.until - time.monotonic(), limit or (600 if self.a.cpu else 100)
        if left < 12:
            return self.row(name, None, None, predicted, f"not run: {left:.0f} s left of {self.a.seconds:.0f} s")
        to.mkdir(parents=True, exist_ok=True)
        begun = time.monotonic()
        with open(to / "said", "w", encoding="utf-8") as f, subprocess.Popen(
                argv, stdout=f, stderr=f, env=self.env, cwd=ROOT, start_new_session=True) as p:
            try:
                code = p.wait(timeout=min(left, limit))
            except subprocess.TimeoutExpired:
                os.killpg(p.pid, signal.SIGTERM)
                try:
                    code = p.wait(timeout=5)
                except subprocess.TimeoutExpired:
                    os.killpg(p.pid, signal.SIGKILL)
                    code = p.wait()
                note += f"; stopped after {min(left, limit):.0f} s"
        note += f"; {time.monotonic() - begun:.0f} s in all"
        return self.row(name, code, tokens_a_second(to), predicted, note)

    def row(self, name, code, measured, predicted, note):
        each = predicted["value"] / self.gpus if predicted else None
        r = {"name": name, "code": code, "tokens_s_gpu": measured / self.gpus if measured else None, "predicted_tokens_s_gpu": each, "note": note}
        if each and predicted.get("low"):
            r["low"], r["high"] = predicted["low"] / self.gpus, predicted["high"] / self.gpus
        self.rows.append(r)
        error = f"{(each / r['tokens_s_gpu'] - 1) * 100:+6.1f} %" if measured and each else "      -"
        print(f"{name:20} exit {'-' if code is None else code:>3} {r['tokens_s_gpu'] or 0:9.0f} tokens/s a GPU, predicted {each or 0:9.0f} "
              f"{error}  {note}", flush=True)
        if code:
            print("   " + "\n   ".join((self.out / name / "said").read_text(errors="replace").splitlines()[-6:]), flush=True)
        return r

    def wanted(self, name):
        return not self.a.only or name in self.a.only.split(",")


def said(argv, errors=True):
    p = subprocess.run(argv, stdout=subprocess.PIPE, stderr=subprocess.STDOUT if errors else subprocess.PIPE, text=True, check=False, cwd=ROOT)
    return p.returncode, p.stdout


def tokens_a_second(to):
    """Of all ranks; the mean behind the tenth step, where GPUs are waited for each tenth; of the slowest rank."""
    rates = []
    for log in to.glob("rank*.log"):
        lines = log.read_text().splitlines()
        head = dict(w.split("=", 1) for w in lines[0].split() if "=" in w) if lines else {}
        times = [float(w.split("=")[1]) for x in lines for w in x.split() if w.startswith("step_s=")]
        times = times[10:len(times) // 10 * 10] or times[1:]
        if times:
            rates.append(int(head["global_batch"]) * int(head["sequence"]) / statistics.mean(times))
    return min(rates, default=None)


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return str(s.getsockname()[1])


def arguments(train):
    return {x["path"]: x["value"] for x in train["arguments"]}


def plain(b, args, compiled=True):
    """The Trainer's arguments as training-lab's."""
    more = ["--micro-batch", args["per_device_train_batch_size"], "--accumulation", args["gradient_accumulation_steps"],
            "--workers", args.get("dataloader_num_workers", "0")]
    if str(args.get("gradient_checkpointing")).lower() == "true":
        more += ["--checkpointing", "full"]
    if compiled and str(args.get("torch_compile")).lower() == "true":
        more += ["--compile"]
    return more


def accelerate(b, config, *more):
    return [sys.executable, "-m", "accelerate.commands.launch", "--config_file", str(config), "--main_process_port", free_port(), *more]


def deepspeed(b, to, config):
    if b.a.cpu:
        return [sys.executable, "-m", "torch.distributed.run", "--nproc-per-node", str(b.gpus), "--master-port", free_port(),
                *b.lab(to, "--through", "deepspeed", "--deepspeed_config", config)]
    return [sys.executable, "-m", "deepspeed.launcher.runner", "--num_gpus", str(b.gpus), "--master_port", free_port(),
            *b.lab(to, "--through", "deepspeed", "--deepspeed_config", config, "--workers", 2)]


def without_compile(path, to):
    """The same file, not compiled: compiling takes longer than this whole run."""
    kept, skip = [], False
    for line in path.read_text().splitlines():
        skip = line.startswith("dynamo_config:") or (skip and line.startswith(" "))
        if not skip:
            kept.append(line)
    to.write_text("\n".join(kept) + "\n")


def predicted(b, way, *more):
    """tokens/s of these words, where the answer of generate is of another model or of a file that is not its own."""
    argv = [b.a.gputune, "predict", "training", *b.model(), "--parallel", way, *more, "--format", "json"]
    code, out = said(argv, errors=False)
    return json.loads(out)["tokens_per_s"] if code in (0, 1) and out.strip() else None


def accelerate_rows(b):
    to = b.out / "accelerate-ddp"
    to.mkdir()
    train, code = b.generate("accelerate", "--global-batch", str(b.samples), to=to / "accelerate.yaml")
    args, note = arguments(train), f"generate {code}, {b.lint(to / 'accelerate.yaml')}"
    lab = plain(b, args, False)
    if b.wanted("accelerate-ddp"):
        without_compile(to / "accelerate.yaml", to / "run.yaml")
        b.run("accelerate-ddp", [*accelerate(b, to / "run.yaml"), *b.lab(to, "--through", "accelerate", *lab)], to, train["after"]["tokens_s"],
              f"{train['after']['way']} {args['per_device_train_batch_size']} x {args['gradient_accumulation_steps']}, {note}, run without its "
              "dynamo_config")
    if b.wanted("accelerate-fsdp2"):
        # The file of a model that has to be sharded, run with the small one: that it starts, and how fast that is.
        to = b.out / "accelerate-fsdp2"
        to.mkdir()
        argv = [b.a.gputune, "generate", "accelerate", "--model", "40:5120:40:40:13824:3:32000", "--sequence", str(b.size[2]), "--global-batch",
                str(b.samples), *(["--on", b.a.on] if b.a.on else []), "--format", "shell", "-o", str(to / "accelerate.yaml")]
        code, _ = said(argv)
        without_compile(to / "accelerate.yaml", to / "run.yaml")
        text = (to / "accelerate.yaml").read_text()
        full = "fsdp_activation_checkpointing: true" in text
        micro, steps = args["per_device_train_batch_size"], args["gradient_accumulation_steps"]
        b.run("accelerate-fsdp2", [*accelerate(b, to / "run.yaml"), *b.lab(to, "--through", "accelerate", *lab)], to,
              predicted(b, "fsdp", "--micro-batch", micro, "--accumulation", steps, "--checkpointing", "full" if full else "none"),
              f"the file of a 13 b model: fsdp {micro} x {steps}{', recomputed' if full else ''}, generate {code}, {b.lint(to / 'accelerate.yaml')}")
    return args, train


def torchrun_row(b):
    if not b.wanted("torchrun"):
        return
    to = b.out / "torchrun"
    to.mkdir()
    notes, _ = b.generate("torchrun", "--global-batch", str(b.samples), program=["true"])
    args = dict(re.findall(r"for the program: --(\w+) (\S+)", "\n".join(notes)))
    rate = re.search(r"predicted: (\S+) tokens/s \((\S+) to (\S+)\) with (\S+)", "\n".join(notes))
    _, code = b.generate("torchrun", "--global-batch", str(b.samples), to=to / "run.sh", program=b.lab(to, *plain(b, args, False)))
    b.run("torchrun", ["sh", str(to / "run.sh")], to, dict(zip(("value", "low", "high"), map(float, rate.groups()[:3]))),
          f"{rate[4]} {args['per_device_train_batch_size']} x {args['gradient_accumulation_steps']}, generate {code}, {b.lint(to / 'run.sh')}, "
          "not compiled")


def pair(b, name, poor, better, train, argv_of):
    """The same work by the file as it was, and by the file after --edit."""
    before = b.run(f"{name}-poor", argv_of(poor, b.out / f"{name}-poor"), b.out / f"{name}-poor", train["before"]["tokens_s"], b.lint(poor))
    after = b.run(f"{name}-edited", argv_of(better, b.out / f"{name}-edited"), b.out / f"{name}-edited", train["after"]["tokens_s"], b.lint(better))
    g, x, y = train["gain"], before["tokens_s_gpu"], after["tokens_s_gpu"]
    b.rows.append({"name": f"{name}-gain", "predicted": g, "measured": y / x if x and y else None})
    print(f"{name + '-gain':20} measured {f'{y / x:.2f} times' if x and y else '-'}, predicted {g['value']:.2f} ({g['low']:.2f} to {g['high']:.2f})",
          flush=True)


def deepspeed_rows(b):
    if b.wanted("deepspeed"):
        to = b.out / "deepspeed"
        to.mkdir()
        train, code = b.generate("deepspeed", "--global-batch", str(b.samples), to=to / "ds_config.json")
        b.run("deepspeed", deepspeed(b, to, to / "ds_config.json"), to, train["after"]["tokens_s"],
              f"{train['after']['way']} {train['after']['micro_batch']} x {train['after']['accumulation']}, generate {code}, "
              f"{b.lint(to / 'ds_config.json')}")
    if b.wanted("deepspeed-pair"):
        poor, better = b.out / "poor.json", b.out / "better.json"
        poor.write_text(POOR_DEEPSPEED % (b.size[3] // 2))
        train, _ = b.generate("deepspeed", "--edit", str(poor))
        said([b.a.gputune, "generate", "deepspeed", *b.model(), "--edit", str(poor), "-o", str(better)])
        pair(b, "deepspeed", poor, better, train, lambda config, to: deepspeed(b, to, config))


def trainer_pair(b):
    if not b.wanted("trainer-pair"):
        return
    poor, better = b.out / "poor.yaml", b.out / "better.yaml"
    poor.write_text(POOR_TRAINER % (b.size[3] // 2))
    train, _ = b.generate("deepspeed", "--edit", str(poor))
    said([b.a.gputune, "generate", "deepspeed", *b.model(), "--edit", str(poor), "-o", str(better)])

    def argv(path, to):
        args = dict(line.split(": ", 1) for line in path.read_text().splitlines() if ": " in line and not line.startswith("#"))
        return [sys.executable, "-m", "torch.distributed.run", "--nproc-per-node", str(b.gpus), "--master-port", free_port(),
                *b.lab(to, *plain(b, args))]
    pair(b, "trainer", poor, better, train, argv)


def fsdp1_pair(b, args):
    if not b.wanted("fsdp1-pair"):
        return
    poor, better = b.out / "poor-accelerate.yaml", b.out / "better-accelerate.yaml"
    poor.write_text(POOR_ACCELERATE % b.gpus)
    micro = ["--micro-batch", args["per_device_train_batch_size"], "--accumulation", args["gradient_accumulation_steps"]]
    train, _ = b.generate("accelerate", *micro, "--edit", str(poor))
    said([b.a.gputune, "generate", "accelerate", *b.model(), *micro, "--edit", str(poor), "-o", str(better)])
    pair(b, "fsdp1", poor, better, train,
         lambda config, to: [*accelerate(b, config), *b.lab(to, "--through", "accelerate", *micro, "--workers", 2)])


def compiled_row(b, args, train):
    """Last, because compiling may take what is left."""
    if not b.wanted("accelerate-compiled") or not train["compile"] or b.a.cpu:
        return
    to = b.out / "accelerate-compiled"
    gain = float(train["compile_why"].split("predicted: ")[1].split(" times")[0])
    after = {k: v * gain for k, v in train["after"]["tokens_s"].items()}
    b.run("accelerate-compiled", [*accelerate(b, b.out / "accelerate-ddp/accelerate.yaml"), *b.lab(to, "--through", "accelerate",
                                                                                                *plain(b, args, False))],
          to, after, f"the same file as it was written, {train['compile_why']}", limit=300)


def main():
    a = words()
    b = Bench(a)
    have = a.deepspeed or importlib.util.find_spec("deepspeed")
    args, train = accelerate_rows(b)
    torchrun_row(b)
    if have:
        deepspeed_rows(b)
    else:
        print("deepspeed: not installed here, and no --deepspeed SITE: its files were not run")
    trainer_pair(b)
    fsdp1_pair(b, args)
    compiled_row(b, args, train)
    (b.out / "rows.json").write_text(json.dumps(b.rows, indent=1))
    failed = [r["name"] for r in b.rows if r.get("code")]
    print(f"{len(b.rows)} rows, {len(failed)} failed{': ' + ', '.join(failed) if failed else ''}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
