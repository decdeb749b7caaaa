/* SPDX-License-Identifier: Apache-2.0 */
/* Explicit huge pages: asked for, granted, mounted. Only packet-processing programs need them. */
#include "look/settings/predicates.h"
#include "look/settings/tables.h"

#include <stdio.h>
#include <string.h>

#include "base/text.h"

/* Asked for on the command line against what the kernel really set aside, per size and node. */
static void granted(const struct question *q, struct verdict *v)
{
	const struct huge_pool *p = q->object;

	if (!seen_ok(&p->total.f)) {
		verdict_unseen(q, v, &p->total.f, NULL);
		return;
	}
	v->current = arena_printf(q->a, "%lld pages", p->total.v);
	if (!seen_ok(&p->requested.f)) {
		verdict_na(v, CODE_OPT_IN,
			   p->total.v ? "set at run time: nothing was asked for at boot"
				      : "none asked for: only DPDK and similar programs need them");
		return;
	}
	v->wanted = arena_printf(q->a, "%lld pages", p->requested.v);
	if (p->total.v >= p->requested.v)
		verdict_pass(v, "all that was asked for was granted");
	else
		verdict_fail(v, v->wanted,
			     arena_printf(q->a,
					  "%lld pages were asked for at boot and %lld granted: "
					  "memory was too "
					  "fragmented or too small",
					  p->requested.v, p->total.v));
}

/* A size asked for that has no pool: a 64 KiB-page kernel silently drops 1 GiB pages. */
static void sizes(const struct question *q, struct verdict *v)
{
	unsigned long long bytes;
	bool any = false;

	LIST_FOR_EACH (struct kernel_arg, arg, &q->m->kernel.args) {
		bool found = false;

		if ((strcmp(arg->name, "hugepagesz") != 0 &&
		     strcmp(arg->name, "default_hugepagesz") != 0) ||
		    parse_size(arg->value.v, &bytes))
			continue;
		any = true;
		LIST_FOR_EACH (struct huge_pool, p, &q->m->memory.pools)
			found = found ||
				(unsigned long long)fact_or(&p->size_kb, 0) * 1024 == bytes;
		if (!found) {
			v->current = arena_printf(q->a, "no pool of %s", arg->value.v);
			verdict_fail(v,
				     arena_printf(q->a, "%s=%s in force", arg->name, arg->value.v),
				     arena_printf(q->a,
						  "the kernel has no huge pages of %s and dropped "
						  "the request without a word "
						  "(its page size is %lld KiB)",
						  arg->value.v,
						  fact_or(&q->m->memory.page_size, 0) / 1024));
			return;
		}
	}
	if (any)
		verdict_pass(v, "every size asked for at boot exists");
	else
		verdict_na(v, CODE_OPT_IN, "no huge-page size is asked for at boot");
}

/* The published recipe: four pages of 1 GiB. */
static const struct opinion packet_pages[] = {
	{ PROFILE_DEFAULT, ON_SPARK, WANT_LEAVE, NULL,
	  "only for packet processing; on unified memory it is taken from the GPU too", NULL },
	{ PROFILE_DEFAULT, ON_ALL, WANT_LEAVE, NULL, "only for packet processing (DPDK, DAQIRI)",
	  NULL },
	{ PROFILE_PUBLISHED, ON_SPARK | ON_IGX, WANT_AT_LEAST, "4",
	  "published for packet buffers: 3 to 4 GiB of huge pages", "S1" },
};

static void one_gigabyte(const struct question *q, struct verdict *v)
{
	const struct huge_pool *p = q->object;

	if (!seen_ok(&p->total.f)) {
		verdict_unseen(q, v, &p->total.f, NULL);
		return;
	}
	v->current = arena_printf(q->a, "%lld pages", p->total.v);
	if (!has_wish(q, v)) {
		v->code = q->wish ? CODE_OPT_IN : v->code;
		return;
	}
	v->why = q->wish->because;
	if (opinion_met(q->wish, arena_printf(q->a, "%lld", p->total.v)))
		verdict_pass(v, "as wanted");
	else
		verdict_fail(v, opinion_text(q->a, q->wish, "pages"),
			     "what a running kernel grants depends on how much memory lies "
			     "together: asking at boot is surer");
}

static bool is_1g(const struct machine *m, const void *object)
{
	const struct huge_pool *p = object;

	(void)m;
	return fact_or(&p->size_kb, 0) == 1048576 && fact_or(&p->node, 0) < 0;
}

/* Pages of a size other than the default are reached through a mount of that size. */
static void mounted(const struct question *q, struct verdict *v)
{
	long long def = fact_or(&q->m->memory.hugepage_size_kb, 0), need = 0;

	LIST_FOR_EACH (struct huge_pool, p, &q->m->memory.pools)
		if (fact_or(&p->total, 0) > 0 && fact_or(&p->size_kb, 0) != def &&
		    fact_or(&p->node, 0) < 0)
			need = p->size_kb.v;
	if (!need) {
		verdict_na(v, CODE_NO_EFFECT,
			   "no huge pages of another size than the default are set aside");
		return;
	}
	LIST_FOR_EACH (struct mount, mnt, &q->m->storage.mounts) {
		const char *size = fact_is(&mnt->type, "hugetlbfs")
					   ? strstr(fact_text(&mnt->options, ""), "pagesize=")
					   : NULL;
		unsigned long long bytes;
		char word[32];

		if (!size)
			continue;
		snprintf(word, sizeof(word), "%.*s", (int)strcspn(size + 9, ","), size + 9);
		if (parse_size(word, &bytes) == 0 && bytes == (unsigned long long)need * 1024) {
			v->current = mnt->name;
			verdict_pass(v, "a mount of that size exists");
			return;
		}
	}
	v->current = "no mount";
	verdict_fail(v, arena_printf(q->a, "hugetlbfs with pagesize=%lldM", need / 1024),
		     "the pages are set aside, but no mount gives access to them; use a mount "
		     "unit, never fstab without nofail");
}

static const char no_1g[] = "this processor or kernel has no 1 GiB pages";

static const struct setting rows[] = {
	{ .id = "memory.hugepages-granted",
	  .title = "Huge pages: asked for and granted",
	  .scope = SCOPE_POOL,
	  .none = "the kernel has no huge pages",
	  .none_code = CODE_NO_SUPPORT,
	  .read = "nr_hugepages of each size and node",
	  .not_when = "none were asked for at boot",
	  .why = "A request is granted as far as contiguous memory is found, and the kernel does "
		 "not complain.",
	  .note = "HugePages_Total of /proc/meminfo counts one size only; every size and node is "
		  "looked at here.",
	  .source = "S1; hugetlbpage.rst",
	  .not_shown = "only programs that ask for such pages feel it; no bench of ours does",
	  .severity = SEVERITY_MEDIUM,
	  .risk = RISK_SERVICE,
	  .effect = EFFECT_REBOOT,
	  .judge = granted,
	  .by_hand = "ask for fewer, or for other pages: at boot nothing is fragmented yet, so "
		     "what was not granted was not there" },
	{ .id = "memory.hugepage-sizes",
	  .title = "Huge-page sizes asked for exist",
	  .scope = SCOPE_HOST,
	  .read = "/proc/cmdline, /sys/kernel/mm/hugepages",
	  .not_when = "no size is asked for at boot",
	  .why = "A kernel with 64 KiB pages has other sizes than one with 4 KiB pages.",
	  .source = "hugetlbpage.rst",
	  .severity = SEVERITY_MEDIUM,
	  .effect = EFFECT_REBOOT,
	  .judge = sizes,
	  .by_hand = "ask for a size of /sys/kernel/mm/hugepages, or boot the kernel variant that "
		     "has the one asked for" },
	{ .id = "memory.hugepages-1g",
	  .title = "1 GiB huge pages",
	  .scope = SCOPE_POOL,
	  .select = is_1g,
	  .none = no_1g,
	  .none_code = CODE_NO_SUPPORT,
	  .knob = KNOB_SYSFS,
	  .name = "/sys/kernel/mm/hugepages/hugepages-{}/nr_hugepages",
	  .of = &schema_huge_pool,
	  .fact = "total_pages",
	  .not_when = "no program processes packets from huge pages",
	  .why = "Packet buffers in contiguous memory. The pages are not swappable and nobody else "
		 "can use them.",
	  .source = "S1; hugetlbpage.rst",
	  .not_shown = "only programs that ask for such pages feel it; no bench of ours does",
	  .severity = SEVERITY_LOW,
	  .risk = RISK_SERVICE,
	  OPINIONS(packet_pages),
	  .judge = one_gigabyte },
	{ .id = "memory.hugetlbfs-mount",
	  .title = "Mount for huge pages",
	  .scope = SCOPE_HOST,
	  .read = "/proc/self/mountinfo",
	  .not_when = "only pages of the default size are set aside",
	  .why = "Programs reach pages of another size through a mount of that size.",
	  .note = "Published as a line in fstab: a kernel without that size then boots into "
		  "emergency mode.",
	  .source = "S1; hugetlbpage.rst",
	  .severity = SEVERITY_MEDIUM,
	  .judge = mounted,
	  .by_hand = "a systemd mount unit of type hugetlbfs with the option pagesize=" },
};

const struct setting_table settings_memory_huge = SETTING_TABLE(rows);
