/* SPDX-License-Identifier: Apache-2.0 */
/* Every rule of every diagnosis on evidence for it and evidence against it, a row each. */
#ifndef TESTS_DOCTOR_ROWS_H
#define TESTS_DOCTOR_ROWS_H

#include "doctor_case.h"

#define SPARK "'platform': {'kind': 'dgx-spark'}"
#define GB10 "'gpu': {'gpus': [{'name': 'NVIDIA GB10', 'integrated': 1, 'util_gpu_pct': 0}]}"
#define H200 "'gpu': {'gpus': [{'pci': '0000:01:00.0', 'integrated': 0, 'util_gpu_pct': 0}]}"
#define IS(cause, how) .id = cause, .want = CAUSE_##how
#define LOAD(what)                                                                                 \
	"[{'bench': 'gpu-load', 'case': 'signature', 'figures': {'rate': 36, 'temperature': "      \
	"60}, " what "}]"
#define HEALTHY "'variant': 'GPU 0 healthy: products 92 TFLOP/s'"
#define SICK(verdict)                                                                              \
	"'error': 'not healthy: GPU 0: " verdict ": clock 611 MHz, power 14 W; do this'"
/* Two halves of one port, and their RDMA devices. */
#define TWINS(b_up) HALVES(b_up, "s")
#define HALVES(b_up, b_switch)                                                                     \
	"'net': {'nics': [{'name': 'a', 'driver': 'mlx5_core', 'pci': '0000:01:00.0', 'port': "    \
	"'p0', 'switch_id': 's', 'operstate': 'up', 'speed_mbps': 200000}, {'name': 'b', "         \
	"'driver': 'mlx5_core', 'pci': '0002:01:00.0', 'port': 'p0', 'switch_id': '" b_switch      \
	"', 'operstate': '" b_up "', 'speed_mbps': 200000}], 'rdma': "                             \
	"[{'name': 'ra/1', 'device': 'ra', 'netdev': 'a', 'pci': '0000:01:00.0', 'state': "        \
	"'ACTIVE', 'link_layer': 'Ethernet'}, {'name': 'rb/1', 'device': 'rb', 'netdev': 'b', "    \
	"'pci': '0002:01:00.0', 'state': 'ACTIVE', 'link_layer': 'Ethernet'}]}"
#define ONE_RDMA                                                                                   \
	"'net': {'rdma': [{'name': 'm0/1', 'device': 'm0', 'state': 'ACTIVE', 'link_layer': "      \
	"'Ethernet', 'gids': [{'index': 3, 'gid': '0000:0000:0000:0000:0000:ffff:0a00:0001', "     \
	"'type': 'RoCE v2'}]}]}"
#define VAR(name, value)                                                                           \
	"{'vars': [{'name': '" name "', 'value': '" value "', 'origin': 'this shell'}]}"
#define WRITES(rate)                                                                               \
	"[{'bench': 'rdma', 'case': 'write:1MiB', 'figures': {'rate': " rate "}, 'limit': 200}]"
#define PORT(what) "{'ports': [{'name': 'm0/1', " what "}]}"
#define DATA(name, ip, port)                                                                       \
	"{'name': '" name "', 'pci': '0000:01:00.0', 'operstate': 'up', 'speed_mbps': 200000, "    \
	"'ipv4': '" ip "', 'port': '" port "', 'mtu_bytes': 9000, 'owner': 'netplan'}"

static const struct doctor_case doctor_rows[] = {
	/* --- gpu */
	{ IS("gpu.low-clock-low-power/latch", CERTAIN), "611 MHz", .facts = "{" SPARK ", " GB10 "}",
	  .tests = LOAD(SICK("power-latch")), .findings = "gpu.power-latch=na" },
	{ IS("gpu.low-clock-low-power/latch", EXCLUDED), "healthy", .facts = "{" GB10 "}",
	  .tests = LOAD(HEALTHY), .findings = "gpu.power-latch=pass" },
	{ IS("gpu.low-clock-low-power/latch", EXCLUDED), "thermal", .facts = "{" GB10 "}",
	  .tests = LOAD(SICK("thermal")), .findings = "gpu.power-latch=na" },
	{ IS("gpu.low-clock-low-power/latch", LIKELY), "the value", .facts = "{" GB10 "}",
	  .tests = LOAD(HEALTHY), .findings = "gpu.power-latch=fail" },
	{ IS("gpu.low-clock-low-power/latch", UNSEEN), "nobody ran it", .facts = "{" GB10 "}",
	  .findings = "gpu.power-latch=pass" },
	{ IS("gpu.low-clock-low-power/slow", LIKELY), NULL, .facts = "{" H200 "}",
	  .tests = LOAD(SICK("slow")) },
	{ IS("gpu.low-clock-low-power/slow", EXCLUDED), NULL, .facts = "{" H200 "}",
	  .tests = LOAD(HEALTHY) },
	{ IS("gpu.low-clock-low-power/slow", UNSEEN), "no thresholds", .facts = "{" H200 "}",
	  .tests = LOAD("'variant': 'GPU 0 unknown: clock 5 MHz'") },
	{ IS("gpu.too-warm/heat", CERTAIN), NULL, .facts = "{" H200 "}",
	  .tests = LOAD(SICK("thermal")), .findings = "gpu.temperature=pass" },
	{ IS("gpu.too-warm/heat", EXCLUDED), NULL, .facts = "{" H200 "}", .tests = LOAD(HEALTHY),
	  .findings = "gpu.temperature=pass" },
	{ IS("gpu.power-brake/brake", CERTAIN), NULL, .facts = "{" H200 "}",
	  .tests = LOAD(SICK("power-brake")), .findings = "gpu.throttle=pass" },
	{ IS("gpu.power-brake/brake", EXCLUDED), NULL, .facts = "{" H200 "}",
	  .tests = LOAD(HEALTHY), .findings = "gpu.throttle=pass" },
	{ IS("gpu.power-cap/limit", CERTAIN), NULL, .facts = "{" H200 "}",
	  .tests = LOAD(SICK("power-cap")), .findings = "gpu.power-limit=pass" },
	{ IS("gpu.power-cap/limit", EXCLUDED), NULL, .facts = "{" H200 "}", .tests = LOAD(HEALTHY),
	  .findings = "gpu.power-limit=pass" },
	{ IS("gpu.degraded-link/link", LIKELY), "GPU 0 (0000:01:00.0)", .facts = "{" H200 "}",
	  .findings = "pcie.link=pass@0000:09:00.0 pcie.link=fail@0000:01:00.0" },
	{ IS("gpu.degraded-link/link", EXCLUDED), NULL, .facts = "{" H200 "}",
	  .findings = "pcie.link=fail@0000:09:00.0 pcie.link=pass@0000:01:00.0" },
	{ IS("gpu.degraded-link/link", UNSEEN), NULL, .facts = "{" H200 "}" },
	/* What GB10 tells of its link is a placeholder. */
	{ IS("gpu.degraded-link/link", NOT_HERE), "placeholder",
	  .facts = "{'gpu': {'gpus': [{'pci': '000f:01:00.0', 'integrated': 1, 'pcie_gen': 1, "
		   "'pcie_width_lanes': 1}]}}",
	  .findings = "pcie.link=fail@000f:01:00.0" },
	{ IS("gpu.degraded-link/copies", LIKELY), "21 units", .facts = "{" H200 "}",
	  .tests = "[{'bench': 'copy', 'case': 'h2d:gpu0', 'figures': {'rate': 21}, 'band': [48, "
		   "58]}]" },
	{ IS("gpu.degraded-link/copies", EXCLUDED), NULL, .facts = "{" H200 "}",
	  .tests = "[{'bench': 'copy', 'case': 'h2d:gpu0', 'figures': {'rate': 55}, 'band': [48, "
		   "58]}]" },
	{ IS("gpu.degraded-link/copies", UNSEEN), "nobody's figures", .facts = "{" H200 "}",
	  .tests = "[{'bench': 'copy', 'case': 'h2d:gpu0', 'figures': {'rate': 55}}]" },
	{ IS("gpu.memory-errors/xid", POSSIBLE), "3 Xid", .facts = "{" H200 "}",
	  .signs = "{'log_xid': 3}" },
	{ IS("gpu.memory-errors/xid", EXCLUDED), NULL, .facts = "{" H200 "}",
	  .signs = "{'log_xid': 0}" },
	{ IS("gpu.memory-errors/xid", UNSEEN), "may not see", .facts = "{" H200 "}",
	  .signs = "{'log_xid': '!denied'}" },
	{ IS("gpu.gone/skew", CERTAIN), "580.173.02", .facts = "{'gpu': {'driver': '580.159.04'}}",
	  .signs = "{'module': '580.173.02'}" },
	{ IS("gpu.gone/skew", EXCLUDED), NULL, .facts = "{'gpu': {'driver': '580.159.04'}}",
	  .signs = "{'module': '580.159.04'}" },
	{ IS("gpu.gone/skew", NOT_HERE), NULL, .signs = "{'module': '!absent'}" },
	/* --- a GPU that works */
	{ IS("gpu.two-speeds/flips", CERTAIN), "two states", .facts = "{" GB10 "}",
	  .tests = "[{'bench': 'gpu-memory', 'case': 'read:gpu0', 'figures': {'rate': [220, 221, "
		   "150, 149, 222, 220, 151, 150, 221, 219, 150, 151, 220, 222, 149, 150, 221, "
		   "220, 150, 151, 222, 221, 149, 150]}}]" },
	{ IS("gpu.two-speeds/flips", EXCLUDED), "one state", .facts = "{" GB10 "}",
	  .tests = "[{'bench': 'gpu-memory', 'case': 'read:gpu0', 'figures': {'rate': [220, 221, "
		   "220, 219, 222, 220, 221, 220, 221, 219, 220, 221, 220, 222, 219, 220]}}]" },
	{ IS("gpu.two-speeds/firmware", POSSIBLE), "ACUM018",
	  .facts = "{'platform': {'kind': 'dgx-spark', 'bios_version': '5.36_0ACUM018'}, " GB10
		   "}" },
	{ IS("gpu.two-speeds/firmware", EXCLUDED), NULL,
	  .facts = "{'platform': {'kind': 'dgx-spark', 'bios_version': '5.36_0ACUM027'}, " GB10
		   "}" },
	{ IS("gpu.two-speeds/firmware", UNSEEN), "another series",
	  .facts = "{'platform': {'kind': 'dgx-spark', 'bios_version': '6.01'}, " GB10 "}" },
	{ IS("gpu.unsteady/used", LIKELY), "python3",
	  .facts = "{'gpu': {'gpus': [{'util_gpu_pct': 97, 'processes': [{'index': 42, 'command': "
		   "'python3'}]}]}}" },
	{ IS("gpu.unsteady/used", EXCLUDED), NULL, .facts = "{" H200 "}" },
	{ IS("gpu.unsteady/desktop", LIKELY), "Xorg",
	  .facts = "{'gpu': {'gpus': [{'processes': [{'kind': 'graphics', 'command': "
		   "'Xorg'}]}]}}" },
	{ IS("gpu.unsteady/desktop", EXCLUDED), NULL, .facts = "{" H200 "}" },
	{ IS("gpu.unsteady/debugging", LIKELY), "this shell", .facts = "{" H200 "}",
	  .signs = VAR("CUDA_LAUNCH_BLOCKING", "1") },
	{ IS("gpu.unsteady/debugging", EXCLUDED), NULL, .facts = "{" H200 "}",
	  .signs = VAR("CUDA_LAUNCH_BLOCKING", "0") },
	{ IS("gpu.wrong-results/hardware", CERTAIN), NULL, .facts = "{" H200 "}",
	  .tests = LOAD("'error': 'the result is wrong: a product differs'") },
	{ IS("gpu.wrong-results/hardware", EXCLUDED), "right bits", .facts = "{" H200 "}",
	  .tests = LOAD(HEALTHY) },
	{ IS("gpu.memory-not-shown/shared", CERTAIN), "1024 MiB",
	  .facts = "{'memory': {'total_kb': 2097152, 'available_kb': 1048576}, 'gpu': {'gpus': "
		   "[{'integrated': 1, 'memory_bytes': '!unsupported'}]}}" },
	{ IS("gpu.memory-not-shown/shared", EXCLUDED), NULL,
	  .facts = "{'gpu': {'gpus': [{'integrated': 0, 'memory_bytes': 1000}]}}" },
	/* --- memory */
	{ IS("memory.fabric-not-ramping/one-thread", LIKELY), "31.0 GB/s", .facts = "{" SPARK "}",
	  .tests = "[{'bench': 'memory-bandwidth', 'case': 'triad:1-thread', 'figures': {'rate': "
		   "31}}]" },
	{ IS("memory.fabric-not-ramping/one-thread", EXCLUDED), NULL, .facts = "{" SPARK "}",
	  .tests = "[{'bench': 'memory-bandwidth', 'case': 'triad:1-thread', 'figures': {'rate': "
		   "88}}]" },
	{ IS("memory.fabric-not-ramping/one-thread", NOT_HERE), NULL },
	{ IS("memory.freezes/log", CERTAIN), "2 lines",
	  .signs = "{'log_oom': 0, 'log_no_memory': 2}" },
	{ IS("memory.freezes/log", LIKELY), NULL, .signs = "{'log_oom': 1, 'log_no_memory': 0}" },
	{ IS("memory.freezes/log", EXCLUDED), NULL, .signs = "{'log_oom': 0, 'log_no_memory': 0}" },
	{ IS("memory.freezes/now", LIKELY), "(3 %)",
	  .facts = "{'memory': {'total_kb': 1000000, 'available_kb': 30000}}" },
	{ IS("memory.freezes/now", EXCLUDED), NULL,
	  .facts = "{'memory': {'total_kb': 1000000, 'available_kb': 600000}}" },
	{ IS("memory.freezes/no-guard", POSSIBLE), NULL,
	  .facts = "{" GB10 ", 'software': {'services': [{'name': 'earlyoom.service', 'active': "
		   "0}]}}" },
	{ IS("memory.freezes/no-guard", EXCLUDED), NULL,
	  .facts = "{" GB10 ", 'software': {'services': [{'name': 'earlyoom.service', 'active': "
		   "1}]}}" },
	{ IS("memory.freezes/no-guard", NOT_HERE), NULL, .facts = "{" H200 "}" },
	{ IS("memory.cuda-cannot-allocate/page-cache", LIKELY), "(70 %)",
	  .facts = "{" GB10 ", 'memory': {'total_kb': 1000000, 'cached_kb': 700000, 'free_kb': "
		   "50000}}" },
	{ IS("memory.cuda-cannot-allocate/page-cache", EXCLUDED), NULL,
	  .facts = "{" GB10 ", 'memory': {'total_kb': 1000000, 'cached_kb': 100000, 'free_kb': "
		   "800000}}" },
	{ IS("memory.cuda-cannot-allocate/page-cache", NOT_HERE), NULL, .facts = "{" H200 "}" },
	{ IS("memory.cuda-cannot-allocate/huge-pages", LIKELY), "4096 MiB",
	  .facts = "{" GB10 ", 'memory': {'total_kb': 16777216, 'pools': [{'name': '1G', 'node': "
		   "-1, 'size_kb': 1048576, 'free_pages': 4}]}}" },
	{ IS("memory.cuda-cannot-allocate/huge-pages", EXCLUDED), NULL,
	  .facts = "{" GB10 ", 'memory': {'total_kb': 16777216, 'pools': [{'name': '1G', 'node': "
		   "-1, 'size_kb': 1048576, 'free_pages': 0}]}}" },
	{ IS("memory.cuda-cannot-allocate/arc", LIKELY), "4096 MiB",
	  .facts = "{" GB10 ", 'memory': {'total_kb': 16777216}, 'storage': {'zfs_arc_size_bytes': "
		   "4294967296}}" },
	{ IS("memory.cuda-cannot-allocate/arc", EXCLUDED), NULL,
	  .facts = "{" GB10 ", 'memory': {'total_kb': 16777216}, 'storage': {'zfs_arc_size_bytes': "
		   "42949672}}" },
	{ IS("memory.cuda-cannot-allocate/arc", NOT_HERE), NULL, .facts = "{" GB10 "}" },
	{ IS("memory.swapping/moving", CERTAIN), "500 pages/s",
	  .facts = "{'memory': {'swap_total_kb': 1000000, 'swap_free_kb': 100000}}",
	  .signs = "{'swapped_in_pages': 2000, 'swapped_out_pages': 0}",
	  .earlier = "{'swapped_in_pages': 1000, 'swapped_out_pages': 0}" },
	{ IS("memory.swapping/moving", EXCLUDED), "878 MiB",
	  .facts = "{'memory': {'swap_total_kb': 1000000, 'swap_free_kb': 100000}}",
	  .signs = "{'swapped_in_pages': 2000, 'swapped_out_pages': 5}",
	  .earlier = "{'swapped_in_pages': 2000, 'swapped_out_pages': 5}" },
	{ IS("memory.swapping/moving", POSSIBLE), "not looked at",
	  .facts = "{'memory': {'swap_total_kb': 1000000, 'swap_free_kb': 100000}}" },
	{ IS("memory.swapping/moving", NOT_HERE), NULL,
	  .facts = "{'memory': {'swap_total_kb': 0, 'swap_free_kb': 0}}" },
	{ IS("memory.swapping/swappiness", LIKELY), NULL,
	  .facts = "{'memory': {'swap_total_kb': 1000000, 'swap_free_kb': 100000}}",
	  .findings = "memory.swappiness=fail",
	  .signs = "{'swapped_in_pages': 2000, 'swapped_out_pages': 0}",
	  .earlier = "{'swapped_in_pages': 1000, 'swapped_out_pages': 0}" },
	{ IS("memory.swapping/swappiness", EXCLUDED), NULL,
	  .facts = "{'memory': {'swap_total_kb': 1000000, 'swap_free_kb': 1000000}}",
	  .findings = "memory.swappiness=fail" },
	{ IS("memory.page-merging/ksm", LIKELY), "77 pages",
	  .signs = "{'ksm_run': 1, 'ksm_sharing_pages': 77}" },
	{ IS("memory.page-merging/ksm", EXCLUDED), NULL, .signs = "{'ksm_run': 0}" },
	{ IS("memory.page-merging/ksm", UNSEEN), NULL, .signs = "{'ksm_run': '!denied'}" },
	{ IS("memory.register-fails/memlock", LIKELY), "8192 KiB",
	  .facts = "{'memory': {'total_kb': 16777216, 'memlock_bytes': 8388608}, " ONE_RDMA "}" },
	{ IS("memory.register-fails/memlock", LIKELY), "vllm",
	  .facts = "{'memory': {'total_kb': 16777216, 'memlock_bytes': -1}}",
	  .signs = "{'processes': [{'pid': 9, 'command': 'vllm', 'memlock_bytes': 65536}]}" },
	{ IS("memory.register-fails/memlock", POSSIBLE), NULL,
	  .facts = "{'memory': {'total_kb': 16777216, 'memlock_bytes': 8388608}}" },
	{ IS("memory.register-fails/memlock", EXCLUDED), "without limit",
	  .facts = "{'memory': {'total_kb': 16777216, 'memlock_bytes': -1}}" },
	{ IS("memory.slow-access/off", CERTAIN), "104.0 ns",
	  .facts = "{'memory': {'thp_enabled': 'never'}}",
	  .tests = "[{'bench': 'memory-latency', 'case': '64MiB:huge', 'figures': {'latency': "
		   "104}, 'variant': '0 % on huge pages'}]" },
	{ IS("memory.slow-access/off", LIKELY), NULL,
	  .facts = "{'memory': {'thp_enabled': 'never'}}" },
	{ IS("memory.slow-access/off", EXCLUDED), NULL,
	  .facts = "{'memory': {'thp_enabled': 'madvise'}}" },
	{ IS("memory.slow-access/fragmented", LIKELY), "3 % on huge",
	  .facts = "{'memory': {'thp_enabled': 'madvise'}}",
	  .tests = "[{'bench': 'memory-latency', 'case': '64MiB:huge', 'figures': {'latency': "
		   "104}, 'variant': '3 % on huge pages'}]" },
	{ IS("memory.slow-access/fragmented", EXCLUDED), NULL,
	  .facts = "{'memory': {'thp_enabled': 'madvise'}}",
	  .tests = "[{'bench': 'memory-latency', 'case': '64MiB:huge', 'figures': {'latency': "
		   "80}, 'variant': '100 % on huge pages'}]" },
	{ IS("memory.slow-access/balancing", LIKELY), "5000 pages/s",
	  .findings = "cpu.numa-balancing=fail", .signs = "{'numa_moved_pages': 10000}",
	  .earlier = "{'numa_moved_pages': 0}" },
	{ IS("memory.slow-access/balancing", POSSIBLE), NULL,
	  .findings = "cpu.numa-balancing=fail" },
	{ IS("memory.slow-access/balancing", EXCLUDED), NULL, .findings = "cpu.numa-balancing=fail",
	  .signs = "{'numa_moved_pages': 10}", .earlier = "{'numa_moved_pages': 10}" },
	/* --- cpu */
	{ IS("cpu.slow-clock/warm", LIKELY), NULL, .signs = "{'log_throttled': 4}" },
	{ IS("cpu.slow-clock/warm", EXCLUDED), NULL, .signs = "{'log_throttled': 0}" },
	{ IS("cpu.slow-clock/measured", LIKELY), "2000 of 4000",
	  .tests = "[{'bench': 'cpu-frequency', 'case': 'one', 'figures': {'frequency': 2000}, "
		   "'limit': 4000}]" },
	{ IS("cpu.slow-clock/measured", EXCLUDED), NULL,
	  .tests = "[{'bench': 'cpu-frequency', 'case': 'one', 'figures': {'frequency': 3950}, "
		   "'limit': 4000}]" },
	{ IS("cpu.slow-clock/measured", LIKELY), "3850",
	  .tests = "[{'bench': 'cpu-frequency', 'case': 'one:Cortex-X925', 'figures': "
		   "{'frequency': 2000}, 'band': [3850, 4010]}]" },
	{ IS("cpu.late-wake/idle-states", CERTAIN), "180.0 us",
	  .tests = "[{'bench': 'idle-wake-up', 'case': '10ms', 'figures': {'p50': 180}}, {'bench': "
		   "'idle-wake-up', 'case': '10ms:awake', 'figures': {'p50': 52}}]" },
	{ IS("cpu.late-wake/idle-states", EXCLUDED), NULL,
	  .tests = "[{'bench': 'idle-wake-up', 'case': '10ms', 'figures': {'p50': 60}}, {'bench': "
		   "'idle-wake-up', 'case': '10ms:awake', 'figures': {'p50': 52}}]" },
	{ IS("cpu.late-wake/idle-states", POSSIBLE), NULL, .findings = "cpu.idle-states=fail" },
	{ IS("cpu.slow-clock/warm", CERTAIN), "4 times", .signs = "{'log_throttled': 0}",
	  .throttles = 4 },
	{ IS("cpu.late-wake/stolen", CERTAIN), "12.0 %", .facts = "{'platform': {'virtual': 1}}",
	  .tests = "[{'bench': 'cpu-frequency', 'case': 'one', 'figures': {'frequency': 1}}]",
	  .steal = 12 },
	{ IS("cpu.late-wake/stolen", EXCLUDED), NULL, .facts = "{'platform': {'virtual': 1}}",
	  .tests = "[{'bench': 'cpu-frequency', 'case': 'one', 'figures': {'frequency': 1}}]",
	  .steal = 0.5 },
	{ IS("cpu.late-wake/stolen", NOT_HERE), NULL },
	{ IS("cpu.late-wake/stolen", UNSEEN), NULL, .facts = "{'platform': {'virtual': 1}}" },
	{ IS("cpu.busy/load", LIKELY), "9.00 tasks", .facts = "{'cpu': {'online': '0-3'}}",
	  .signs = "{'load': 900}" },
	{ IS("cpu.busy/load", EXCLUDED), NULL, .facts = "{'cpu': {'online': '0-3'}}",
	  .signs = "{'load': 50}" },
	{ IS("cpu.busy/pressure", LIKELY), "35.0 %", .signs = "{'pressure_cpu': 3500}" },
	{ IS("cpu.busy/pressure", EXCLUDED), NULL, .signs = "{'pressure_cpu': 100}" },
	{ IS("cpu.busy/pressure", NOT_HERE), NULL, .signs = "{'pressure_cpu': '!absent'}" },
	/* --- disk */
	{ IS("disk.slow-load/read-ahead", LIKELY), NULL, .findings = "disk.read-ahead=fail",
	  .tests = "[{'bench': 'model-load', 'case': 'cold:read', 'figures': {'rate': 1}}]" },
	{ IS("disk.slow-load/read-ahead", POSSIBLE), NULL, .findings = "disk.read-ahead=fail" },
	{ IS("disk.slow-load/read-ahead", EXCLUDED), NULL, .findings = "disk.read-ahead=pass" },
	{ IS("disk.slow-load/scheduler", LIKELY), NULL, .findings = "disk.scheduler=fail",
	  .tests = "[{'bench': 'disk', 'case': 'read-seq', 'figures': {'rate': 1}}]" },
	{ IS("disk.slow-load/scheduler", EXCLUDED), NULL, .findings = "disk.scheduler=pass" },
	{ IS("disk.stalls-saving/writeback", LIKELY), "2048 MiB",
	  .facts = "{'memory': {'dirty_kb': 2097152}}", .findings = "memory.dirty-ratio=fail" },
	{ IS("disk.stalls-saving/writeback", POSSIBLE), NULL,
	  .facts = "{'memory': {'dirty_kb': 100}}", .findings = "memory.dirty-ratio=fail" },
	{ IS("disk.stalls-saving/writeback", EXCLUDED), NULL,
	  .findings = "memory.dirty-ratio=pass" },
	/* --- system */
	{ IS("system.panics/kernel", LIKELY), "6.17.0-1008",
	  .facts = "{" SPARK ", 'kernel': {'release': '6.17.0-1008-nvidia'}}" },
	{ IS("system.panics/kernel", EXCLUDED), NULL,
	  .facts = "{" SPARK ", 'kernel': {'release': '6.17.0-1014-nvidia'}}" },
	{ IS("system.panics/kernel", NOT_HERE), NULL,
	  .facts = "{'kernel': {'release': '6.17.0-1008-nvidia'}}" },
	{ IS("system.panics/mailbox", LIKELY), "7 lines", .signs = "{'log_doe': 7}" },
	{ IS("system.panics/mailbox", EXCLUDED), NULL, .signs = "{'log_doe': 0}" },
	{ IS("system.panics/record", CERTAIN), "2 files", .signs = "{'crash_dumps': 2}" },
	{ IS("system.panics/record", EXCLUDED), NULL, .signs = "{'crash_dumps': 0}" },
	{ IS("system.powers-off/heat", LIKELY), "91 C", .facts = "{" GB10 "}",
	  .tests = "[{'bench': 'gpu-load', 'case': 'signature', 'figures': {'temperature': 91}}]" },
	{ IS("system.powers-off/heat", EXCLUDED), NULL, .facts = "{" GB10 "}",
	  .tests = LOAD(HEALTHY) },
	{ IS("system.powers-off/record", CERTAIN), NULL, .signs = "{'crash_dumps': 1}" },
	{ IS("system.powers-off/record", EXCLUDED), NULL, .signs = "{'crash_dumps': 0}" },
	{ IS("system.settings-lost/unkept", CERTAIN), "3 values", .unkept = "3 values are so" },
	{ IS("system.settings-lost/unkept", EXCLUDED), NULL, .unkept = "" },
	{ IS("system.settings-lost/unkept", UNSEEN), NULL },
	{ IS("system.discovery/ssh", LIKELY), NULL, .signs = "{'ssh_folder': 0}" },
	{ IS("system.discovery/ssh", EXCLUDED), NULL, .signs = "{'ssh_folder': 1}" },
	{ IS("system.discovery/ssh", UNSEEN), NULL, .facts = "{'captured': 1}",
	  .signs = "{'ssh_folder': 0}" },
	{ IS("system.discovery/avahi", POSSIBLE), NULL, .signs = "{'avahi': 0}" },
	{ IS("system.discovery/avahi", EXCLUDED), NULL, .signs = "{'avahi': 1}" },
	/* --- ports */
	{ IS("nic.half-speed-twin/list", CERTAIN), "leaves out rb", .facts = "{" TWINS("up") "}",
	  .signs = VAR("NCCL_IB_HCA", "=ra") },
	{ IS("nic.half-speed-twin/list", EXCLUDED), NULL, .facts = "{" TWINS("up") "}",
	  .signs = VAR("NCCL_IB_HCA", "=ra,rb") },
	{ IS("nic.half-speed-twin/traffic", LIKELY), "80.0 GB", .facts = "{" TWINS("up") "}",
	  .signs = "{'ports': [{'name': 'ra/1', 'sent_words': 20000000000, 'received_words': 0}, "
		   "{'name': 'rb/1', 'sent_words': 0, 'received_words': 0}]}" },
	/* A DGX Spark's halves have a switch each; elsewhere such ports are no halves of one. */
	{ IS("nic.half-speed-twin/traffic", LIKELY), "80.0 GB",
	  .facts = "{" SPARK ", " HALVES("up", "t") "}",
	  .signs = "{'ports': [{'name': 'ra/1', 'sent_words': 20000000000, 'received_words': 0}, "
		   "{'name': 'rb/1', 'sent_words': 0, 'received_words': 0}]}" },
	{ IS("nic.half-speed-twin/traffic", NOT_HERE), "two halves",
	  .facts = "{" HALVES("up", "t") "}" },
	{ IS("nic.half-speed-twin/traffic", EXCLUDED), NULL, .facts = "{" TWINS("up") "}",
	  .signs = "{'ports': [{'name': 'ra/1', 'sent_words': 20000000000, 'received_words': 0}, "
		   "{'name': 'rb/1', 'sent_words': 19000000000, 'received_words': 0}]}" },
	{ IS("nic.half-speed-twin/traffic", POSSIBLE), "too little", .facts = "{" TWINS("up") "}",
	  .signs = "{'ports': [{'name': 'ra/1', 'sent_words': 20, 'received_words': 0}, "
		   "{'name': 'rb/1', 'sent_words': 0, 'received_words': 0}]}" },
	{ IS("nic.gone/cable", LIKELY), NULL, .facts = "{" SPARK "}",
	  .findings = "nic.cable=fail" },
	{ IS("nic.gone/cable", POSSIBLE), NULL,
	  .facts = "{" SPARK ", 'net': {'spark_hotplug': 'present'}}", .findings = "nic.cable=na" },
	{ IS("nic.gone/cable", NOT_HERE), NULL, .findings = "nic.cable=na" },
	{ IS("nic.mtu-mismatch/far-end", CERTAIN), "about 1500",
	  .path = "{'interface': 'eth0', 'mtu': 9000, 'path_mtu': 9000, 'own_segment': 8960, "
		  "'segment': 1448}" },
	{ IS("nic.mtu-mismatch/far-end", CERTAIN), "carries 1500",
	  .path = "{'interface': 'eth0', 'mtu': 9000, 'path_mtu': 1500, 'own_segment': 8960, "
		  "'segment': 8948}" },
	{ IS("nic.mtu-mismatch/far-end", EXCLUDED), NULL,
	  .path = "{'interface': 'eth0', 'mtu': 9000, 'path_mtu': 9000, 'own_segment': 8960, "
		  "'segment': 8948}" },
	{ IS("nic.mtu-mismatch/far-end", UNSEEN), "nobody ran it" },
	{ IS("nic.mtu-mismatch/own-ports", LIKELY), "1500",
	  .facts = "{'net': {'nics': [" DATA("a", "10.0.0.1/24",
					     "p0") ", {'name': 'b', 'pci': "
						   "'0000:01:00.1', 'operstate': 'up', "
						   "'speed_mbps': 200000, 'mtu_bytes': 1500}]}}" },
	{ IS("nic.mtu-mismatch/own-ports", EXCLUDED), NULL,
	  .facts = "{'net': {'nics': [" DATA("a", "10.0.0.1/24", "p0") ", " DATA("b", "10.0.1.1/24",
										 "p1") "]}}" },
	{ IS("nic.address-lost/unowned", CERTAIN), "no file",
	  .facts = "{'net': {'nics': [{'name': 'a', 'pci': '0000:01:00.0', 'operstate': 'up', "
		   "'speed_mbps': 200000, 'ipv4': '10.0.0.1/24', 'owner': 'none'}]}}" },
	{ IS("nic.address-lost/unowned", EXCLUDED), "netplan",
	  .facts = "{'net': {'nics': [" DATA("a", "10.0.0.1/24", "p0") "]}}" },
	{ IS("nic.address-lost/no-address", LIKELY), NULL, .findings = "nic.address=fail",
	  .facts = "{'net': {'nics': [" DATA("a", "10.0.0.1/24", "p0") "]}}" },
	{ IS("nic.address-lost/no-address", EXCLUDED), NULL, .findings = "nic.address=pass",
	  .facts = "{'net': {'nics': [" DATA("a", "10.0.0.1/24", "p0") "]}}" },
	/* --- the way */
	{ IS("net.wrong-interface/variable", CERTAIN), "no such interface",
	  .facts = "{'net': {'nics': [" DATA("a", "10.0.0.1/24", "p0") "]}}",
	  .signs = VAR("NCCL_SOCKET_IFNAME", "enP7s7") },
	{ IS("net.wrong-interface/variable", LIKELY), "wireless",
	  .facts = "{'net': {'nics': [{'name': 'wlP9s9', 'wireless': 1}]}}",
	  .signs = VAR("GLOO_SOCKET_IFNAME", "wlP9s9") },
	{ IS("net.wrong-interface/variable", EXCLUDED), NULL,
	  .facts = "{'net': {'nics': [" DATA("enP7s7", "10.0.0.1/24", "p0") "]}}",
	  .signs = VAR("NCCL_SOCKET_IFNAME", "=enP7s7") },
	{ IS("net.wrong-interface/route", CERTAIN), "wireless",
	  .path = "{'interface': 'wlan0', 'wireless': true}" },
	{ IS("net.wrong-interface/route", LIKELY), "eth9",
	  .path = "{'interface': 'eth0', 'speed_mbps': 10000, 'fastest_mbps': 200000}" },
	{ IS("net.wrong-interface/route", EXCLUDED), NULL,
	  .path = "{'interface': 'eth9', 'speed_mbps': 200000, 'fastest_mbps': 200000}" },
	{ IS("net.wifi-sleeps/power-save", LIKELY), NULL,
	  .facts = "{'net': {'nics': [{'name': 'w', 'wireless': 1, 'operstate': 'up'}]}}",
	  .signs = "{'links': [{'name': 'w', 'wifi_power_save': 3}]}" },
	{ IS("net.wifi-sleeps/power-save", POSSIBLE), NULL,
	  .facts = "{'net': {'nics': [{'name': 'w', 'wireless': 1, 'operstate': 'up'}]}}",
	  .signs = "{'links': [{'name': 'w', 'wifi_power_save': '!absent'}]}" },
	{ IS("net.wifi-sleeps/power-save", EXCLUDED), NULL,
	  .facts = "{'net': {'nics': [{'name': 'w', 'wireless': 1, 'operstate': 'up'}]}}",
	  .signs = "{'links': [{'name': 'w', 'wifi_power_save': 2}]}" },
	{ IS("net.not-forwarded/drop", POSSIBLE), "ip_forward is 0",
	  .facts = "{" SPARK ", 'net': {'nics': [" DATA("a", "10.0.0.1/24", "p0") ", " DATA(
		  "b", "10.0.1.1/24", "p1") "]}}",
	  .signs = "{'ip_forward': 0}" },
	{ IS("net.not-forwarded/drop", EXCLUDED), NULL,
	  .facts = "{" SPARK ", 'net': {'nics': [" DATA("a", "10.0.0.1/24", "p0") ", " DATA(
		  "b", "10.0.1.1/24", "p1") "]}}",
	  .signs = "{'ip_forward': 1}" },
	{ IS("net.not-forwarded/drop", NOT_HERE), NULL,
	  .facts = "{" SPARK ", 'net': {'nics': [" DATA("a", "10.0.0.1/24", "p0") ", " DATA(
		  "b", "10.0.1.1/24", "p0") "]}}",
	  .signs = "{'ip_forward': 0}" },
	{ IS("net.wrong-twin-answers/flux", LIKELY), NULL, .findings = "nic.subnets=fail",
	  .signs = "{'links': [{'name': 'a', 'arp_ignore': 0, 'arp_announce': 0}]}" },
	{ IS("net.wrong-twin-answers/flux", EXCLUDED), "arp_ignore", .findings = "nic.subnets=fail",
	  .signs = "{'links': [{'name': 'a', 'arp_ignore': 1, 'arp_announce': 2}]}" },
	{ IS("net.slow-stream/send-buffer", LIKELY), "49 KiB on their way",
	  .findings = "net.tcp-wmem=na", .current = "4096 16384 65536",
	  .tests = "[{'bench': 'tcp', 'case': 'send:1', 'figures': {'rate': 0.04}}]",
	  .path = "{'interface': 'eth0', 'rtt_s': 0.01}" },
	{ IS("net.slow-stream/send-buffer", EXCLUDED), NULL, .findings = "net.tcp-wmem=fail",
	  .current = "4096 16384 4194304",
	  .tests = "[{'bench': 'tcp', 'case': 'send:1', 'figures': {'rate': 0.04}}]",
	  .path = "{'interface': 'eth0', 'rtt_s': 0.01}" },
	{ IS("net.slow-stream/send-buffer", POSSIBLE), NULL, .findings = "net.tcp-wmem=fail" },
	{ IS("net.slow-stream/receive-buffer", LIKELY), NULL, .findings = "net.tcp-rmem=fail",
	  .current = "4096 131072 65536",
	  .tests = "[{'bench': 'tcp', 'case': 'receive:1', 'figures': {'rate': 0.04}}]",
	  .path = "{'interface': 'eth0', 'rtt_s': 0.01}" },
	{ IS("net.slow-stream/receive-buffer", EXCLUDED), NULL, .findings = "net.tcp-rmem=pass" },
	{ IS("net.slow-stream/receive-buffer", UNSEEN), NULL, .findings = "net.tcp-rmem=na" },
	{ IS("net.slow-after-pause/slow-start", CERTAIN), "at 35 %",
	  .findings = "net.tcp-slow-start-after-idle=na", .current = "1",
	  .tests = "[{'bench': 'tcp-idle', 'case': '1MiB', 'figures': {'share': 35}}]" },
	{ IS("net.slow-after-pause/slow-start", EXCLUDED), "99 %",
	  .findings = "net.tcp-slow-start-after-idle=fail", .current = "1",
	  .tests = "[{'bench': 'tcp-idle', 'case': '1MiB', 'figures': {'share': 99}}]" },
	{ IS("net.slow-after-pause/slow-start", EXCLUDED), "off",
	  .findings = "net.tcp-slow-start-after-idle=pass", .current = "0",
	  .tests = "[{'bench': 'tcp-idle', 'case': '1MiB', 'figures': {'share': 35}}]" },
	{ IS("net.slow-after-pause/slow-start", POSSIBLE), NULL, .current = "1",
	  .findings = "net.tcp-slow-start-after-idle=fail" },
	/* --- rdma */
	{ IS("rdma.silently-slow/line", LIKELY), "30 of 200", .facts = "{" ONE_RDMA "}",
	  .tests = WRITES("30") },
	{ IS("rdma.silently-slow/line", EXCLUDED), NULL, .facts = "{" ONE_RDMA "}",
	  .tests = WRITES("190") },
	{ IS("rdma.silently-slow/firmware", CERTAIN), NULL, .facts = "{" ONE_RDMA "}",
	  .signs = "{'log_nic_wedged': 1}" },
	{ IS("rdma.silently-slow/firmware", EXCLUDED), NULL, .facts = "{" ONE_RDMA "}",
	  .signs = "{'log_nic_wedged': 0, 'log_nic_health': 0}" },
	{ IS("rdma.silently-slow/link", LIKELY), "rb (0002:01:00.0)",
	  .facts = "{" HALVES("up", "s") "}",
	  .findings = "pcie.link=pass@0000:01:00.0 pcie.link=fail@0002:01:00.0" },
	/* A disk's or a GPU's link carries no traffic of others. */
	{ IS("rdma.silently-slow/link", EXCLUDED), NULL, .facts = "{" HALVES("up", "s") "}",
	  .findings = "pcie.link=fail@0000:a3:00.0 pcie.link=pass@0000:01:00.0 "
		      "pcie.link=pass@0002:01:00.0" },
	{ IS("rdma.silently-slow/link", UNSEEN), NULL, .facts = "{" ONE_RDMA "}",
	  .findings = "pcie.link=fail@0000:a3:00.0" },
	{ IS("rdma.wedged/firmware", LIKELY), NULL, .facts = "{" ONE_RDMA "}",
	  .signs = "{'log_nic_wedged': 0, 'log_nic_health': 2}" },
	{ IS("rdma.wedged/firmware", EXCLUDED), NULL, .facts = "{" ONE_RDMA "}",
	  .signs = "{'log_nic_wedged': 0, 'log_nic_health': 0}" },
	{ IS("rdma.losses/losses", CERTAIN), "50.0 packets/s", .facts = "{" ONE_RDMA "}",
	  .signs = PORT("'retransmits': 200"), .earlier = PORT("'retransmits': 100") },
	{ IS("rdma.losses/losses", POSSIBLE), "200 losses", .facts = "{" ONE_RDMA "}",
	  .signs = PORT("'retransmits': 200"), .earlier = PORT("'retransmits': 200") },
	/* What stands still under load is old. */
	{ IS("rdma.losses/losses", EXCLUDED), "none came", .facts = "{" ONE_RDMA "}",
	  .signs = PORT("'retransmits': 200"), .earlier = PORT("'retransmits': 200"),
	  .tests = WRITES("190") },
	{ IS("rdma.losses/losses", EXCLUDED), NULL, .facts = "{" ONE_RDMA "}",
	  .signs = PORT("'retransmits': 0, 'timeouts': 0") },
	{ IS("rdma.losses/line", CERTAIN), NULL, .facts = "{" ONE_RDMA "}",
	  .signs = PORT("'symbol_errors': 5"), .earlier = PORT("'symbol_errors': 4") },
	{ IS("rdma.losses/line", EXCLUDED), "old counts", .facts = "{" ONE_RDMA "}",
	  .signs = PORT("'symbol_errors': 5000"), .earlier = PORT("'symbol_errors': 5000") },
	{ IS("rdma.gid-drift/pinned", CERTAIN), "m0/1", .facts = "{" ONE_RDMA "}",
	  .signs = VAR("NCCL_IB_GID_INDEX", "1") },
	{ IS("rdma.gid-drift/pinned", LIKELY), NULL, .facts = "{" ONE_RDMA "}",
	  .signs = VAR("NCCL_IB_GID_INDEX", "3") },
	{ IS("rdma.gid-drift/pinned", EXCLUDED), NULL, .facts = "{" ONE_RDMA "}" },
	{ IS("rdma.connect-times-out/wrong-leg", UNSEEN), "both ends", .facts = "{" ONE_RDMA "}" },
	{ IS("rdma.connect-times-out/wrong-leg", NOT_HERE), NULL },
	{ IS("rdma.unsteady/negotiation", POSSIBLE), NULL, .facts = "{" ONE_RDMA "}" },
	{ IS("rdma.unsteady/negotiation", EXCLUDED), NULL, .facts = "{" ONE_RDMA "}",
	  .signs = VAR("NCCL_IB_ECE_ENABLE", "0") },
	{ IS("rdma.unsteady/losses", CERTAIN), NULL, .facts = "{" ONE_RDMA "}",
	  .signs = PORT("'timeouts': 9"), .earlier = PORT("'timeouts': 1") },
	{ IS("rdma.unsteady/losses", EXCLUDED), NULL, .facts = "{" ONE_RDMA "}",
	  .signs = PORT("'timeouts': 0") },
	/* --- nccl */
	{ IS("nccl.over-sockets/told", CERTAIN), "NCCL_NET=Socket", .facts = "{" ONE_RDMA "}",
	  .signs = VAR("NCCL_NET", "Socket") },
	{ IS("nccl.over-sockets/told", CERTAIN), NULL, .facts = "{" ONE_RDMA "}",
	  .signs = VAR("NCCL_IB_DISABLE", "1") },
	{ IS("nccl.over-sockets/told", EXCLUDED), NULL, .facts = "{" ONE_RDMA "}",
	  .signs = VAR("NCCL_NET", "IB") },
	{ IS("nccl.over-sockets/no-device", CERTAIN), NULL, .facts = "{" ONE_RDMA "}",
	  .signs = "{'rdma_devices': '!absent'}" },
	{ IS("nccl.over-sockets/no-device", UNSEEN), NULL, .facts = "{'captured': 1, " ONE_RDMA "}",
	  .signs = "{'rdma_devices': '!absent'}" },
	{ IS("nccl.over-sockets/no-device", EXCLUDED), NULL, .facts = "{" ONE_RDMA "}",
	  .signs = "{'rdma_devices': 1}" },
	{ IS("nccl.over-sockets/list", CERTAIN), "0 of 1", .facts = "{" ONE_RDMA "}",
	  .signs = VAR("NCCL_IB_HCA", "roceP2p1s0f0:1") },
	{ IS("nccl.over-sockets/list", POSSIBLE), "other names", .facts = "{" ONE_RDMA "}",
	  .signs = "{'vars': [{'name': 'NCCL_IB_HCA', 'value': 'mlx5_0', 'origin': 'process 9 "
		   "(vllm)'}]}" },
	{ IS("nccl.over-sockets/list", LIKELY), "1 of 2", .facts = "{" ONE_RDMA "}",
	  .signs = VAR("NCCL_IB_HCA", "=m0:1,m7:1") },
	{ IS("nccl.over-sockets/list", EXCLUDED), NULL, .facts = "{" ONE_RDMA "}",
	  .signs = VAR("NCCL_IB_HCA", "=m0") },
	{ IS("nccl.wrong-version/too-old", CERTAIN), "2.28.9",
	  .facts = "{" GB10 ", 'software': {'libraries': [{'name': 'libnccl.so.2', 'version': "
		   "'2.28.9'}]}}",
	  .signs = VAR("NCCL_IB_SUBNET_AWARE_ROUTING", "1") },
	{ IS("nccl.wrong-version/too-old", EXCLUDED), "2.31.2",
	  .facts = "{" GB10 ", 'software': {'libraries': [{'name': 'libnccl.so.2', 'version': "
		   "'2.31.2'}]}}",
	  .signs = VAR("NCCL_IB_SUBNET_AWARE_ROUTING", "1") },
	{ IS("nccl.wrong-version/several", LIKELY), "/opt/b", .facts = "{" GB10 "}",
	  .signs = "{'processes': [{'pid': 1, 'nccl': '/opt/a/libnccl.so.2'}, {'pid': 2, 'nccl': "
		   "'/opt/b/libnccl.so.2'}]}" },
	{ IS("nccl.wrong-version/several", EXCLUDED), NULL, .facts = "{" GB10 "}",
	  .signs = "{'processes': [{'pid': 1, 'nccl': '/opt/a/libnccl.so.2'}, {'pid': 2, 'nccl': "
		   "'/opt/a/libnccl.so.2'}]}" },
	{ IS("nccl.hangs/conf", LIKELY), "NCCL_GRAPH_FILE", .facts = "{" GB10 "}",
	  .signs = "{'vars': [{'name': 'NCCL_GRAPH_FILE', 'value': '/x', 'origin': "
		   "'/etc/nccl.conf'}]}" },
	{ IS("nccl.hangs/conf", EXCLUDED), NULL, .facts = "{" GB10 "}",
	  .signs = VAR("NCCL_ALGO", "Ring") },
	{ IS("nccl.hangs/several", LIKELY), NULL, .facts = "{" GB10 "}",
	  .signs = "{'processes': [{'pid': 1, 'nccl': '/opt/a/libnccl.so.2'}, {'pid': 2, 'nccl': "
		   "'/opt/b/libnccl.so.2'}]}" },
	{ IS("nccl.hangs/several", UNSEEN), "no program", .facts = "{" GB10 "}" },
	{ IS("nccl.hangs/several", EXCLUDED), NULL, .facts = "{" GB10 "}",
	  .signs = "{'processes': [{'pid': 1, 'nccl': '/opt/a/libnccl.so.2'}]}" },
	{ IS("nccl.ring-of-four/diagonal", UNSEEN), "cabled", .facts = "{" SPARK ", " GB10 "}" },
	{ IS("nccl.ring-of-four/diagonal", NOT_HERE), NULL, .facts = "{" H200 "}" },
	{ IS("nccl.slow-between-nodes/forced", LIKELY), "NCCL_ALGO=Ring", .facts = "{" ONE_RDMA "}",
	  .signs = VAR("NCCL_ALGO", "Ring") },
	{ IS("nccl.slow-between-nodes/forced", EXCLUDED), NULL, .facts = "{" ONE_RDMA "}" },
	{ IS("nccl.slow-between-nodes/list", CERTAIN), NULL, .facts = "{" ONE_RDMA "}",
	  .signs = VAR("NCCL_IB_HCA", "mlx5_ib0") },
	{ IS("nccl.slow-between-nodes/list", EXCLUDED), NULL, .facts = "{" ONE_RDMA "}" },
	{ IS("nccl.slow-between-nodes/line", LIKELY), NULL, .facts = "{" ONE_RDMA "}",
	  .tests = WRITES("120") },
	{ IS("nccl.slow-between-nodes/line", EXCLUDED), "library's steps",
	  .facts = "{" ONE_RDMA "}", .tests = WRITES("195") },
};

#endif
