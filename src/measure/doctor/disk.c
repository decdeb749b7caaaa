/* SPDX-License-Identifier: Apache-2.0 */
/* Loading and saving that take long. */
#include "measure/doctor/rule.h"

/* A setting that differs from its target value is a cause only where reading was measured: what it
 * is worth shows after the fix. */
static void with_reading(const struct rule_facts *e, const char *setting, struct judged *out)
{
	struct judged test;
	bool measured = !test_missing(e, TEST_FILES, &test) || !test_missing(e, TEST_DISK, &test);

	rule_by_setting(e, setting, measured ? CAUSE_LIKELY : CAUSE_POSSIBLE, out);
	if (out->likelihood == CAUSE_POSSIBLE)
		verdict_set(e, out, CAUSE_POSSIBLE,
			    "%s; what it is worth was not measured (--files or --dir)", out->text);
}

static void read_ahead(const struct rule_facts *e, struct judged *out)
{
	with_reading(e, "disk.read-ahead", out);
}

static void scheduler(const struct rule_facts *e, struct judged *out)
{
	with_reading(e, "disk.scheduler", out);
}

static bool is_disk(const struct machine *m, const char *pci)
{
	LIST_FOR_EACH (struct disk, d, &m->storage.disks)
		if (strcmp(d->pci, pci) == 0)
			return true;
	return false;
}

static void link_of_disk(const struct rule_facts *e, struct judged *out)
{
	rule_on_functions(e, "pcie.link", is_disk, "no disk has a PCIe link", out);
}

static void errors_of_disk(const struct rule_facts *e, struct judged *out)
{
	rule_on_functions(e, "pcie.errors", is_disk, "no disk tells its PCIe errors", out);
}

static const struct cause slow[] = {
	{ .id = "remote",
	  .title = "it is read over the network",
	  BY_SETTING("disk.root-local", LIKELY),
	  .steps = ANYWHERE("copy models to a disk of this machine") },
	{ .id = "usb",
	  .title = "a USB disk runs in its old mode, one request at a time",
	  BY_SETTING("disk.usb-transport", CERTAIN),
	  .steps = ANYWHERE("a bridge and a port that speak UAS; look at lsusb -t") },
	{ .id = "full",
	  .title = "the file system is nearly full",
	  BY_SETTING("disk.free-space", LIKELY),
	  .steps = ANYWHERE("delete or move something") },
	{ .id = "pool",
	  .title = "a ZFS pool is degraded",
	  BY_SETTING("zfs.pool-state", CERTAIN),
	  .steps = ANYWHERE("zpool status tells which disk") },
	{ .id = "heat",
	  .title = "a disk is close to the temperature that slows it down",
	  BY_SETTING("disk.temperature", LIKELY) },
	{ .id = "link",
	  .title = "a disk's PCIe link is narrower or slower than it could be",
	  .rule = link_of_disk,
	  .setting = "pcie.link",
	  .weighs = true },
	{ .id = "errors",
	  .title = "a disk's PCIe link fails",
	  .rule = errors_of_disk,
	  .setting = "pcie.errors",
	  .weighs = true },
	{ .id = "read-ahead",
	  .title = "little is read ahead",
	  .rule = read_ahead,
	  .setting = "disk.read-ahead",
	  .fix = "disk.read-ahead",
	  .steps = ANYWHERE("a larger read_ahead_kb of the disk") },
	{ .id = "scheduler",
	  .title = "the I/O scheduler does not fit the disk",
	  .rule = scheduler,
	  .setting = "disk.scheduler",
	  .fix = "disk.scheduler",
	  .steps = ANYWHERE("none for NVMe, mq-deadline for others") },
};

static void doctor_disk_dirty(const struct rule_facts *e, struct judged *out)
{
	long long kb;
	struct judged by;

	rule_by_setting(e, "memory.dirty-ratio", CAUSE_LIKELY, &by);
	if (by.likelihood != CAUSE_LIKELY) {
		*out = by;
		return;
	}
	if (verdict_set_unseen(e, out, &e->m->memory.dirty_kb.f, "what waits to be written"))
		return;
	kb = e->m->memory.dirty_kb.v;
	/* More waits now than the target value would ever let wait. */
	verdict_set(e, out, kb > dirty_most_bytes(e->m) / 1024 ? CAUSE_LIKELY : CAUSE_POSSIBLE,
		    "%s; %lld MiB wait now", by.text, kb / 1024);
}

static const struct cause saving[] = {
	{ .id = "writeback",
	  .title = "so much may wait to be written that writers stall",
	  .rule = doctor_disk_dirty,
	  .setting = "memory.dirty-ratio",
	  .fix = "memory.dirty-ratio",
	  .steps = ANYWHERE("sysctl vm.dirty_bytes and vm.dirty_background_bytes of a few GiB") },
	{ .id = "full",
	  .title = "the file system is nearly full",
	  BY_SETTING("disk.free-space", LIKELY),
	  .steps = ANYWHERE("delete or move something") },
};

static const struct diagnosis rows[] = {
	{ .id = "disk.slow-load",
	  .symptom = "loading a model takes long",
	  .words = "disk read nvme ssd start cold storage nfs usb safetensors checkpoint",
	  .missing = "how fast it is read was not measured: --files MODEL, or --dir FOLDER",
	  .missing_test = TEST_BIT(TEST_FILES) | TEST_BIT(TEST_DISK),
	  .tests = TEST_BIT(TEST_FILES) | TEST_BIT(TEST_DISK),
	  CAUSES(slow) },
	{ .id = "disk.stalls-saving",
	  .symptom = "everything stalls while a checkpoint is saved",
	  .words = "write writeback dirty flush sync freeze save",
	  CAUSES(saving) },
};
const struct diagnosis_table diagnoses_disk = DIAGNOSIS_TABLE(rows);
