/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The figures. A row without a GPU holds for all. A figure that nobody publishes is not here, and
 * the rule that would need it says "only growth counts" instead.
 */
#include "look/settings/health_data.h"

#include <string.h>

#include "base/word.h"

#define AZURE "Azure HPC node health checks, conf and customTests", "2026-05"
#define DCGM_LIMITS "NVIDIA DCGM, dcgm_gpu_hardware_limits.h", "2026-11"
#define DCGM_REPLAYS "NVIDIA DCGM, PCIe replay limit of a lane", "2026-05"
#define GPUD "leptonai gpud, component defaults", "2026-05"
#define HOPPER                                                                                     \
	"NVIDIA H100 and H200 data sheets (900 GB/s both ways, 18 links); nvidia-smi nvlink",      \
		"2026-11"
#define OURS "our own: above the blips of start-up and link training", "2026-11"

const struct health_limit health_limits[] = {
	{ "gpu.xid", "window", NULL, 7200, "s", "how long a survived error counts", AZURE },
	{ "gpu.ecc-errors", "corrected", NULL, 20e6, "errors", "corrected errors of a board's life",
	  AZURE },
	{ "gpu.remapped-rows", "uncorrected", NULL, 512, "rows",
	  "rows remapped after uncorrected errors", AZURE },
	{ "gpu.nvlink", "links", "H100", 18, "links", "NVLinks of the chip", HOPPER },
	{ "gpu.nvlink", "links", "H200", 18, "links", "NVLinks of the chip", HOPPER },
	{ "gpu.nvlink", "crc", NULL, 100, "a second", "growth of CRC errors of a link",
	  DCGM_LIMITS },
	{ "gpu.nvlink", "recovery", NULL, 0, "events", "growth of link recoveries", DCGM_LIMITS },
	{ "gpu.nvlink-speed", "speed", "H100", 26562, "MB/s", "one link, one direction", HOPPER },
	{ "gpu.nvlink-speed", "speed", "H200", 26562, "MB/s", "one link, one direction", HOPPER },
	{ "gpu.pcie-replays", "gen1", NULL, 0.15, "a minute and lane", "replays", DCGM_REPLAYS },
	{ "gpu.pcie-replays", "gen2", NULL, 0.30, "a minute and lane", "replays", DCGM_REPLAYS },
	{ "gpu.pcie-replays", "gen3", NULL, 0.48, "a minute and lane", "replays", DCGM_REPLAYS },
	{ "gpu.pcie-replays", "gen4", NULL, 0.96, "a minute and lane", "replays", DCGM_REPLAYS },
	{ "gpu.pcie-replays", "gen5", NULL, 1.92, "a minute and lane", "replays", DCGM_REPLAYS },
	{ "gpu.pcie-replays", "gen6", NULL, 3.84, "a minute and lane", "replays", DCGM_REPLAYS },
	{ "gpu.throttle-history", "time", NULL, 1, "s", "thermal or power brake since driver load",
	  OURS },
	{ "gpu.throttle-history", "share", NULL, 1, "%", "of the time between two readings", OURS },
	{ "rdma.errors", "few", NULL, 1000, "errors", "symbol or receive errors in one reading",
	  OURS },
	{ "rdma.errors", "downs", NULL, 20, "times", "link down, in one reading", OURS },
	{ "rdma.errors", "flaps", NULL, 0, "times", "growth of link down", GPUD },
	{ "pcie.errors", "corrected", NULL, 1000, "errors", "corrected errors since boot", OURS },
};
const size_t health_limit_count = sizeof(health_limits) / sizeof(health_limits[0]);

const struct health_limit *health_limit(const char *setting, const char *key, const char *gpu)
{
	const struct health_limit *any = NULL;

	for (size_t i = 0; i < health_limit_count; i++) {
		const struct health_limit *l = &health_limits[i];

		if (strcmp(l->setting, setting) != 0 || strcmp(l->key, key) != 0)
			continue;
		if (!l->gpu)
			any = l;
		else if (gpu && word_in(gpu, l->gpu))
			return l;
	}
	return any;
}

double health_figure(const char *setting, const char *key, const char *gpu, double fallback)
{
	const struct health_limit *l = health_limit(setting, key, gpu);

	return l ? l->value : fallback;
}

const char xid_source[] =
	"NVIDIA Xid catalog, immediate actions and trigger conditions; NVIDIA's open "
	"kernel modules 595.45.04 (175); Azure HPC node health checks, the fatal set";
const char xid_date[] = "2026-11";

#define RESET "reset the GPU with nothing running on it"
#define WHEN_IDLE "restart what ran on it, and reset it when it is idle"
#define VENDOR "drain the node: a case for the vendor where a reset does not mend it"
#define LINK "look at gpu.nvlink and at the far end, then " RESET
#define SECRET                                                                                     \
	"of confidential computing alone, and NVIDIA names no action: look at what the log has "   \
	"beside it"

const struct xid_row xid_rows[] = {
	{ 8, 8, XID_PROGRAM, "a program's channel timed out", NULL },
	{ 11, 11, XID_PROGRAM, "invalid push buffer", NULL },
	{ 13, 13, XID_PROGRAM, "graphics engine exception", NULL },
	{ 14, 14, XID_PROGRAM, "an error injected for a test", NULL },
	{ 25, 25, XID_PROGRAM, "invalid push buffer", NULL },
	{ 31, 31, XID_PROGRAM, "memory page fault", NULL },
	{ 32, 32, XID_PROGRAM, "corrupted push buffer", NULL },
	{ 37, 38, XID_PROGRAM, "note of the driver's firmware", NULL },
	{ 39, 41, XID_PROGRAM, "copy engine exception", NULL },
	{ 43, 43, XID_PROGRAM, "a program's channel was stopped", NULL },
	{ 44, 44, XID_PROGRAM, "fault while a context was switched", NULL },
	{ 45, 45, XID_PROGRAM, "clean-up after a program's end", NULL },
	{ 46, 46, XID_LASTING, "the GPU stopped", RESET },
	{ 48, 48, XID_LASTING, "uncorrectable memory error", RESET },
	{ 54, 54, XID_LASTING, "auxiliary power is not connected", "look at the power cables" },
	{ 56, 58, XID_EVENT, "display or frame buffer error", RESET },
	{ 60, 60, XID_PROGRAM, "video processor exception", NULL },
	{ 61, 61, XID_EVENT, "warning of the internal controller", RESET },
	{ 62, 62, XID_LASTING, "the internal controller halted", RESET },
	{ 63, 63, XID_EVENT, "a memory row was remapped", WHEN_IDLE },
	{ 64, 64, XID_LASTING, "a memory row could not be remapped", VENDOR },
	{ 65, 65, XID_EVENT, "video encoder exception", WHEN_IDLE },
	{ 66, 67, XID_PROGRAM, "illegal access by the driver", NULL },
	{ 68, 68, XID_EVENT, "video decoder exception", WHEN_IDLE },
	{ 69, 69, XID_EVENT, "graphics engine class error", WHEN_IDLE },
	{ 70, 72, XID_PROGRAM, "copy engine error", NULL },
	{ 73, 73, XID_EVENT, "video encoder exception", WHEN_IDLE },
	{ 74, 74, XID_LASTING, "NVLink error", LINK },
	{ 75, 77, XID_PROGRAM, "copy engine error", NULL },
	{ 78, 78, XID_PROGRAM, "a virtual GPU could not start", NULL },
	{ 79, 79, XID_LASTING, "the GPU fell off the bus",
	  "look at power, seat and riser; a cold start often brings it back" },
	{ 80, 80, XID_EVENT, "corrupted data sent to the GPU", WHEN_IDLE },
	{ 81, 81, XID_EVENT, "display subsystem error", RESET },
	{ 82, 84, XID_PROGRAM, "video or JPEG engine error", NULL },
	{ 85, 85, XID_PROGRAM, "copy engine error", NULL },
	{ 86, 86, XID_PROGRAM, "optical flow engine error", NULL },
	{ 88, 89, XID_PROGRAM, "video decoder error", NULL },
	{ 92, 92, XID_EVENT, "many corrected memory errors", "watch gpu.ecc-errors" },
	{ 93, 93, XID_PROGRAM, "the board's own memory is at its limit of writes", NULL },
	{ 94, 94, XID_EVENT, "contained memory error", WHEN_IDLE },
	{ 95, 95, XID_LASTING, "uncontained memory error", RESET },
	{ 96, 105, XID_PROGRAM, "video or JPEG engine error", NULL },
	{ 106, 107, XID_PROGRAM, "a test message", NULL },
	{ 108, 108, XID_PROGRAM, "access to a peer that it may not make", NULL },
	{ 109, 109, XID_LASTING, "a context switch timed out", RESET },
	{ 110, 110, XID_LASTING, "security fault", RESET },
	{ 119, 120, XID_LASTING, "the GPU's firmware failed or does not answer", RESET },
	{ 121, 121, XID_EVENT, "corrected errors on NVLink-C2C", WHEN_IDLE },
	{ 126, 135, XID_PROGRAM, "copy engine error", NULL },
	{ 136, 136, XID_LASTING, "NVLink training failed", LINK },
	{ 137, 137, XID_PROGRAM, "access to a peer that it may not make", NULL },
	{ 139, 139, XID_PROGRAM, "optical flow engine error", NULL },
	{ 140, 140, XID_LASTING, "unrecovered memory error", RESET },
	{ 141, 141, XID_PROGRAM, "note of the driver", NULL },
	{ 142, 142, XID_EVENT, "video encoder error", WHEN_IDLE },
	{ 143, 143, XID_LASTING, "the GPU could not be initialised", RESET },
	{ 144, 150, XID_EVENT, "NVLink error", LINK },
	{ 151, 151, XID_LASTING, "key rotation failed", "restart the virtual machine" },
	{ 152, 153, XID_PROGRAM, "deep-learning accelerator error", NULL },
	{ 154, 154, XID_EVENT, "the recovery that the driver asks for changed",
	  "see gpu.recovery-action" },
	{ 155, 155, XID_LASTING, "an NVLink was taken down", LINK },
	{ 156, 156, XID_LASTING, "a part of the chip is retired at the next reset", RESET },
	{ 157, 157, XID_EVENT, "a part of the chip could not be retired", VENDOR },
	{ 158, 158, XID_LASTING, "the GPU timed out", RESET },
	{ 159, 159, XID_LASTING, "error on NVLink-C2C",
	  "look at the other Xids first; where programs used memory of GPU and CPU as "
	  "one, " RESET },
	{ 160, 161, XID_EVENT, "a memory channel was to be retired", WHEN_IDLE },
	{ 162, 163, XID_PROGRAM, "note of the power smoothing", NULL },
	{ 164, 164, XID_EVENT, "the hardware that smooths power is nearly worn out",
	  "see whether the site bears the swings without it; otherwise plan for another board" },
	{ 165, 165, XID_LASTING, "the hardware that smooths power is worn out, and off",
	  "see whether the site bears the swings; otherwise replace the board" },
	{ 166, 166, XID_EVENT, "data on NVLink before its encryption was set up", SECRET },
	{ 167, 167, XID_EVENT, "PCIe timed out", RESET },
	{ 168, 168, XID_LASTING, "errors in the write-protected part of the memory",
	  "turn ECC on (gpu.ecc), which remaps bad rows, and " RESET },
	{ 169, 169, XID_EVENT, "an internal controller halted", RESET },
	{ 170, 170, XID_EVENT, "an interrupt of NVLink's encryption", SECRET },
	{ 171, 172, XID_LASTING, "uncorrectable memory error", RESET },
	/* Instead of 119, where memory is why; the driver marks the GPU for reset (kernel_gsp.c).
	 */
	{ 175, 175, XID_LASTING, "the GPU's memory does not answer its firmware", RESET },
};
const size_t xid_row_count = sizeof(xid_rows) / sizeof(xid_rows[0]);

const struct xid_row *xid_find(unsigned number)
{
	for (size_t i = 0; i < xid_row_count; i++)
		if (number >= xid_rows[i].first && number <= xid_rows[i].last)
			return &xid_rows[i];
	return NULL;
}
