#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Forty faults planted in captured machines, one at a time, found by a client of gputune mcp that knows nothing of them: it has a capture
from before and the machine as it is, compares the failed settings of both, and asks for explanation and plan of what is new. At most 6 calls
and 8,000 tokens each, the list of tools included, in and out, of 4 bytes. Prints the most and the mean."""
import json
import pathlib
import shutil
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "golden"))
from common import PLAIN, end_suite, expect, gputune, scratch  # noqa: E402

MOST_CALLS, MOST_TOKENS = 6, 8000
META = {"io.modelcontextprotocol/protocolVersion": "2026-07-28", "io.modelcontextprotocol/clientCapabilities": {}}
# The machine, the setting that fails, the file, and what stands in it.
FAULTS = (
    ("cpu-256", "cpu.governor", "/sys/devices/system/cpu/cpufreq/policy0/scaling_governor", "0"),
    ("cpu-256", "cpu.performance-limit", "/sys/devices/system/cpu/intel_pstate/max_perf_pct", "1"),
    ("cpu-256", "zfs.pool-state", "/proc/spl/kstat/zfs/tank/state", "0"),
    ("cpu-256", "zfs.prefetch", "/sys/module/zfs/parameters/zfs_prefetch_disable", "1"),
    ("dgx-spark", "boot.init-on-alloc", "/proc/cmdline", "0"),
    ("dgx-spark", "cpu.frequency-cap", "/sys/devices/system/cpu/cpufreq/policy0/scaling_max_freq", "0"),
    ("dgx-spark", "cpu.governor", "/sys/devices/system/cpu/cpufreq/policy0/scaling_governor", "0"),
    ("dgx-spark", "disk.scheduler", "/sys/block/nvme0n1/queue/scheduler", "none [mq-deadline]"),
    ("dgx-spark", "memory.dirty-background-ratio", "/proc/sys/vm/dirty_background_ratio", "60"),
    ("dgx-spark", "memory.max-map-count", "/proc/sys/vm/max_map_count", "0"),
    ("dgx-spark", "memory.overcommit", "/proc/sys/vm/overcommit_memory", "2"),
    ("dgx-spark", "memory.thp-defrag", "/sys/kernel/mm/transparent_hugepage/defrag", "[always] defer defer+madvise madvise never"),
    ("dgx-spark", "memory.thp-enabled", "/sys/kernel/mm/transparent_hugepage/enabled", "always madvise [never]"),
    ("dgx-spark", "memory.zone-reclaim", "/proc/sys/vm/zone_reclaim_mode", "1"),
    ("dgx-spark", "net.somaxconn", "/proc/sys/net/core/somaxconn", "0"),
    ("dgx-spark", "rdma.firmware", "/sys/class/infiniband/roceP2p1s0f0/fw_ver", "0"),
    ("dgx-spark", "rdma.link-layer", "/sys/class/infiniband/roceP2p1s0f0/ports/1/link_layer", "0"),
    ("dgx-spark", "rdma.rate", "/sys/class/infiniband/roceP2p1s0f0/ports/1/rate", "0"),
    ("dgx-spark", "rdma.state", "/sys/class/infiniband/roceP2p1s0f0/ports/1/state", "0"),
    ("h200-x4", "disk.read-ahead", "/sys/block/vda/queue/read_ahead_kb", "0"),
    ("hgx-h100", "boot.lockdown", "/sys/kernel/security/lockdown", "none [integrity] confidentiality"),
    ("hgx-h100", "cpu.boost", "/sys/devices/system/cpu/cpufreq/boost", "0"),
    ("hgx-h100", "cpu.frequency-cap", "/sys/devices/system/cpu/cpufreq/policy0/scaling_max_freq", "0"),
    ("hgx-h100", "disk.scheduler", "/sys/block/nvme0n1/queue/scheduler", "none [mq-deadline]"),
    ("hgx-h100", "memory.dirty-background-ratio", "/proc/sys/vm/dirty_background_ratio", "60"),
    ("hgx-h100", "memory.max-map-count", "/proc/sys/vm/max_map_count", "0"),
    ("hgx-h100", "memory.overcommit", "/proc/sys/vm/overcommit_memory", "2"),
    ("hgx-h100", "memory.thp-defrag", "/sys/kernel/mm/transparent_hugepage/defrag", "[always] defer defer+madvise madvise never"),
    ("hgx-h100", "memory.thp-enabled", "/sys/kernel/mm/transparent_hugepage/enabled", "always madvise [never]"),
    ("hgx-h100", "memory.zone-reclaim", "/proc/sys/vm/zone_reclaim_mode", "1"),
    ("hgx-h100", "net.somaxconn", "/proc/sys/net/core/somaxconn", "0"),
    ("hgx-h100", "nic.carrier", "/sys/class/net/ib0/carrier", "0"),
    ("hgx-h100", "rdma.firmware", "/sys/class/infiniband/mlx5_0/fw_ver", "0"),
    ("hgx-h100", "rdma.rate", "/sys/class/infiniband/mlx5_0/ports/1/rate", "0"),
    ("hgx-h100", "rdma.state", "/sys/class/infiniband/mlx5_0/ports/1/state", "0"),
    ("hgx-h100", "service.inotify-watches", "/proc/sys/fs/inotify/max_user_watches", "0"),
    ("igx-orin", "boot.lockdown", "/sys/kernel/security/lockdown", "none [integrity] confidentiality"),
    ("igx-orin", "memory.dirty-ratio", "/proc/sys/vm/dirty_ratio", "0"),
    ("igx-orin", "nic.carrier", "/sys/class/net/eth0/carrier", "0"),
    ("igx-orin", "rdma.link-layer", "/sys/class/infiniband/mlx5_0/ports/1/link_layer", "0"),
)


class Client:
    """Counts what it sends and what comes back."""

    def __init__(self, captures):
        self.process = subprocess.Popen([gputune, "mcp", "--captures", captures], stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=PLAIN)
        self.calls = self.bytes = 0
        # A model reads what there is first: names, descriptions and schemas.
        self.process.stdin.write(json.dumps({"jsonrpc": "2.0", "id": 0, "method": "tools/list", "params": {"_meta": META}}).encode() + b"\n")
        self.process.stdin.flush()
        self.bytes += len(json.dumps(json.loads(self.process.stdout.readline())["result"]["tools"], separators=(",", ":"), ensure_ascii=False).encode())

    def call(self, tool, **arguments):
        self.calls += 1
        self.process.stdin.write(json.dumps({"jsonrpc": "2.0", "id": self.calls, "method": "tools/call",
                                             "params": {"name": tool, "arguments": arguments, "_meta": META}}).encode() + b"\n")
        self.process.stdin.flush()
        text = json.loads(self.process.stdout.readline())["result"]["content"][0]["text"]
        # And what it writes and reads: tool, arguments and the text of the answer.
        self.bytes += len(tool) + len(json.dumps(arguments)) + len(text.encode())
        return json.loads(text)["data"]


def failed(c, target):
    """The settings that fail: all of them, in few words."""
    found = c.call("check", target=target, fields="findings.id,findings.verdict,findings.current,findings.reason_code", budget=2500)
    expect("nothing was left out", "omitted" not in found, found.get("omitted"))
    return {(f["id"], f.get("current")) for f in found["findings"] if f["verdict"] == "fail"}


def solve(c, before, now):
    """What a client without knowledge of the fault reports: the setting, its value, and the value it should have."""
    new = sorted(failed(c, now) - failed(c, before), key=str)
    answers = []
    for setting, current in new[:3]:
        x = c.call("explain", id=setting, target=now, budget=600)
        answers.append((setting, current, json.dumps(x)))
    if answers:
        c.call("plan", setting=answers[0][0], target=now, budget=500)
    return answers


folder = scratch("faults")
most_calls = most_tokens = total = 0
for machine in sorted({f[0] for f in FAULTS}):
    shutil.copytree(pathlib.Path(gputune).parent / "machines" / machine, folder / "now", symlinks=True)
    (folder / "before").symlink_to((pathlib.Path(gputune).parent / "machines" / machine).resolve())
    for on, setting, path, text in FAULTS:
        if on != machine:
            continue
        place = folder / "now/root" / path.lstrip("/")
        was = place.read_bytes()
        place.unlink()
        place.write_text(text + "\n")
        c = Client(folder)
        answers = solve(c, "before", "now")
        tokens = -(-c.bytes // 4)
        expect(f"{machine} {setting}: found", setting in [a[0] for a in answers], answers)
        expect(f"{machine} {setting}: {c.calls} calls, {tokens} tokens", c.calls <= MOST_CALLS and tokens <= MOST_TOKENS)
        most_calls, most_tokens, total = max(most_calls, c.calls), max(most_tokens, tokens), total + tokens
        c.process.stdin.close()
        c.process.wait(20)
        place.unlink()
        place.write_bytes(was)
    shutil.rmtree(folder / "now")
    (folder / "before").unlink()
print(f"{len(FAULTS)} faults: at most {most_calls} calls, {most_tokens} tokens, on average {total // len(FAULTS)} tokens")
end_suite()
