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
			    "%s; to measure the effect, give --files or --dir", out->text);
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
	rule_on_functions(e, "pcie.errors", is_disk, "no disk reports its PCIe errors", out);
}

static void doctor_disk_dirty(const struct rule_facts *e, struct judged *out)
{
	long long kb;
	struct judged by;

	rule_by_setting(e, "memory.dirty-ratio", CAUSE_LIKELY, &by);
	if (by.likelihood != CAUSE_LIKELY) {
		*out = by;
		return;
	}
	if (verdict_set_unseen(e, out, &e->m->memory.dirty_kb.f, "data waiting for writeback"))
		return;
	kb = e->m->memory.dirty_kb.v;
	/* More waits now than the target value would ever let wait. */
	verdict_set(e, out, kb > dirty_most_bytes(e->m) / 1024 ? CAUSE_LIKELY : CAUSE_POSSIBLE,
		    "%s; %lld MiB are waiting now", by.text, kb / 1024);
}

#include "measure/doctor_disk_rows.h"
