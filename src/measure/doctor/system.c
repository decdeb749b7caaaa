/* SPDX-License-Identifier: Apache-2.0 */
/* The machine as a whole: kernels known to be bad, power-offs, settings that do not stay. */

#include "knowledge/health.h"
#include "measure/doctor/rule.h"

static void known_here(const struct rule_facts *e, struct judged *out)
{
	rule_by_defects(e, NULL, out);
}

static void mailbox(const struct rule_facts *e, struct judged *out)
{
	if (!verdict_set_unseen(e, out, &e->signs->log_doe.f, "the kernel log"))
		verdict_set(e, out, e->signs->log_doe.v ? CAUSE_LIKELY : CAUSE_EXCLUDED,
			    "the kernel log of this boot has %lld lines of PCI DOE errors",
			    e->signs->log_doe.v);
}

static void dumps(const struct rule_facts *e, struct judged *out)
{
	if (e->signs->crash_dumps.f.seen == SEEN_ABSENT)
		verdict_set(e, out, CAUSE_UNSEEN,
			    "the machine keeps no record of a crash (pstore)");
	else if (!verdict_set_unseen(e, out, &e->signs->crash_dumps.f, "crash records"))
		verdict_set(e, out, e->signs->crash_dumps.v ? CAUSE_CERTAIN : CAUSE_EXCLUDED,
			    "%lld files in /sys/fs/pstore, written by the kernel when it crashes",
			    e->signs->crash_dumps.v);
}

/* --- power-off -------------------------------------------------------------------------------- */
static void near_limit(const struct rule_facts *e, struct judged *out)
{
	const struct record_case *c = case_of(e, "gpu-load", "signature");
	const struct gpu *g = machine_gpu(e->m, 0);
	double t;

	if (!g) {
		verdict_set(e, out, CAUSE_NOT_HERE, "%s", machine_no_gpu(e->a, e->m));
		return;
	}
	if (test_missing(e, TEST_GPU_LOAD, out))
		return;
	if (!figure_of(c, "temperature", &t))
		verdict_set(e, out, CAUSE_UNSEEN, "the GPU reported no temperature under load");
	else
		verdict_set(e, out,
			    t >= health_figure("gpu.temperature", "load", "GB10", 0)
				    ? CAUSE_LIKELY
				    : CAUSE_EXCLUDED,
			    "%.0f C after %zu samples under full load; users report units that "
			    "switched off at 91 to 92 C (2026)",
			    t, c->n);
}

/* --- settings --------------------------------------------------------------------------------- */
static void own_values(const struct rule_facts *e, const char *those, const char *none,
		       struct judged *out)
{
	if (!those)
		verdict_set(e, out, CAUSE_UNSEEN, "%s", e->own_unseen);
	else
		verdict_set(e, out, *those ? CAUSE_CERTAIN : CAUSE_EXCLUDED, "%s",
			    *those ? those : none);
}

static void unkept(const struct rule_facts *e, struct judged *out)
{
	own_values(e, e->own_unkept, "a file sets each value at the next boot", out);
}

static void overwritten(const struct rule_facts *e, struct judged *out)
{
	own_values(e, e->own_overwritten, "nothing overwrites a value that gputune keeps", out);
}

/* --- setting up a cluster --------------------------------------------------------------------- */
static void doctor_system_ssh(const struct rule_facts *e, struct judged *out)
{
	if (fact_or(&e->m->captured, 0))
		verdict_set(e, out, CAUSE_UNSEEN, "a capture does not contain home folders");
	else if (!verdict_set_unseen(e, out, &e->signs->ssh_folder.f, "~/.ssh"))
		verdict_set(e, out, e->signs->ssh_folder.v ? CAUSE_EXCLUDED : CAUSE_LIKELY,
			    "~/.ssh %s",
			    e->signs->ssh_folder.v ? "exists"
						   : "is missing: scripts that write keys fail");
}

static void avahi(const struct rule_facts *e, struct judged *out)
{
	if (fact_or(&e->m->captured, 0) && !fact_or(&e->signs->avahi, 0))
		verdict_set(e, out, CAUSE_UNSEEN, "a capture does not contain running processes");
	else if (!verdict_set_unseen(e, out, &e->signs->avahi.f, "the discovery daemon"))
		verdict_set(e, out, e->signs->avahi.v ? CAUSE_EXCLUDED : CAUSE_POSSIBLE,
			    e->signs->avahi.v ? "avahi-daemon runs"
					      : "avahi-daemon does not run: names ending in .local "
						"are not found");
}

#include "measure/doctor_system_rows.h"
