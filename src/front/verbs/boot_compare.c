/* SPDX-License-Identifier: Apache-2.0 */
/* What was asked for at boot beside what is in force, and why where it is known. */
#include <string.h>

#include "front/verbs/boot.h"
#include "front/verbs/plan.h"
#include "machine/knob/io.h"

static struct verify_row *add(struct arena *a, struct verify *v, const struct verify_row *row)
{
	v->rows = arena_grow(a, v->rows, v->n, sizeof(*v->rows));
	v->rows[v->n] = *row;
	v->count[row->state]++;
	return &v->rows[v->n++];
}

static bool is_pages(const struct knob *k)
{
	return k->kind == KNOB_SYSFS && str_ends(k->name, "/nr_hugepages");
}

/* Why there are fewer pages than were asked for. */
static const char *pages_sentence(struct arena *a, const struct machine *m, const char *now,
				  bool there)
{
	long long page = fact_or(&m->memory.page_size, 0);

	if (!there)
		return page > 4096 ? arena_printf(a,
						  "this kernel has no huge pages of that size: its "
						  "base page is %lld KiB",
						  page / 1024)
				   : "this kernel has no huge pages of that size";
	return arena_printf(a, "the kernel granted %s: it found no more memory in one piece", now);
}

static void argument(struct run *r, struct host *h, const struct machine *m, const struct kept *row,
		     struct verify_row *out)
{
	const char *booted = kernel_arg_value(&m->kernel, row->knob.name), *asked;
	struct err ignored = { 0 };

	out->now = booted ? booted : "not set";
	if (booted ? knob_same(&row->knob, booted, row->value)
		   : strcmp(row->value, "not set") == 0) {
		out->state = VERIFY_IN_FORCE;
		return;
	}
	out->state = VERIFY_DIFFERS;
	out->sentence = "the drop-in does not ask for it any more";
	if (knob_get(h, &r->arena, &row->knob, &asked, &ignored) ||
	    !knob_same(&row->knob, asked, row->value))
		return;
	out->state = VERIFY_WAITS;
	out->sentence = "the running kernel was not started with it: update-grub or "
			"kernel-install, then a reboot";
}

static void limit(const struct machine *m, struct verify_row *out)
{
	bool good = fact_or(&m->memory.memlock, 0) == -1;

	out->knob = (struct knob){ KNOB_FILE, PERSIST_LIMITS, "" };
	out->state = good ? VERIFY_IN_FORCE : VERIFY_DIFFERS;
	out->now = good ? "unlimited" : "limited";
	out->sentence = good ? NULL : "this process is limited; new sessions are not";
}

static void knob(struct run *r, struct host *h, const struct machine *m, const struct kept *row,
		 const char *told, struct verify_row *out)
{
	struct arena *a = &r->arena;
	const char *why = "", *now = NULL;
	const struct knob *k = persist_find(a, m, row, &why);
	struct err e = { 0 };
	int code = k ? knob_get(h, a, k, &now, &e) : -ENODEV;

	out->state = VERIFY_DIFFERS;
	if (!k) {
		out->sentence = why;
	} else if (code == -ENODATA) {
		out->state = VERIFY_UNKNOWN;
		out->sentence = told ? arena_printf(a, "%s; it cannot be read back", told)
				     : "it cannot be read back";
	} else if (code) {
		out->state = code == -ENOENT || code == -ENODEV ? VERIFY_DIFFERS : VERIFY_UNKNOWN;
		out->sentence = code == -ENOENT && is_pages(k) ? pages_sentence(a, m, "0", false)
							       : arena_strdup(a, e.text);
	} else {
		out->knob = *k;
		out->now = now;
		out->state = knob_same(k, now, row->value) ? VERIFY_IN_FORCE : VERIFY_DIFFERS;
		if (out->state == VERIFY_DIFFERS)
			out->sentence = is_pages(k) ? pages_sentence(a, m, now, true) : told;
	}
}

/* --- huge pages of the command line ------------------------------------------------------------
 */

static const struct huge_pool *pool_of(const struct machine *m, unsigned long long kb)
{
	LIST_FOR_EACH (struct huge_pool, p, &m->memory.pools)
		if (fact_or(&p->node, -1) == -1 && fact_or(&p->size_kb, 0) == (long long)kb)
			return p;
	return NULL;
}

static void add_pages(struct run *r, const struct machine *m, unsigned long long kb,
		      long long asked, struct verify *out)
{
	struct arena *a = &r->arena;
	const struct huge_pool *p = pool_of(m, kb);
	const char *path =
		arena_printf(a, "/sys/kernel/mm/hugepages/hugepages-%llukB/nr_hugepages", kb);
	struct verify_row row = { .id = "boot.hugepages",
				  .target = arena_printf(a, "%llu KiB", kb),
				  .knob = { KNOB_SYSFS, path, "" },
				  .wanted = arena_printf(a, "%lld", asked) };

	if (!p) {
		row.state = VERIFY_DIFFERS;
		row.sentence = pages_sentence(a, m, "0", false);
	} else if (!seen_ok(&p->total.f)) {
		row.state = VERIFY_UNKNOWN;
	} else {
		row.now = arena_printf(a, "%lld", p->total.v);
		row.state = p->total.v >= asked ? VERIFY_IN_FORCE : VERIFY_DIFFERS;
		row.sentence = p->total.v >= asked ? NULL : pages_sentence(a, m, row.now, true);
	}
	add(a, out, &row);
}

/* "hugepagesz=1G hugepages=4 hugepagesz=2M hugepages=8": a count is of the size before it. */
static void command_line(struct run *r, const struct machine *m, struct verify *out)
{
	unsigned long long size = 0, bytes;
	long long count;

	if (seen_ok(&m->memory.hugepage_size_kb.f))
		size = (unsigned long long)m->memory.hugepage_size_kb.v;
	LIST_FOR_EACH (struct kernel_arg, arg, &m->kernel.args) {
		const char *value = fact_text(&arg->value, "");

		if (strcmp(arg->name, "hugepagesz") == 0)
			size = parse_size(value, &bytes) ? 0 : bytes / 1024;
		else if (strcmp(arg->name, "hugepages") == 0 && size &&
			 parse_i64(value, &count) == 0 && count > 0)
			add_pages(r, m, size, count, out);
	}
}

void boot_compare(struct run *r, struct host *h, const struct machine *m, const struct kept *rows,
		  size_t n, const char *const *told, struct verify *out)
{
	struct persist_targets cache = { 0 };

	*out = (struct verify){ 0 };
	for (size_t i = 0; i < n; i++) {
		const char *target =
			persist_target(&r->arena, m, rows[i].id, &rows[i].knob, &cache);
		struct verify_row row = { .id = rows[i].id,
					  .target = target ? target : "",
					  .knob = rows[i].knob,
					  .wanted = rows[i].value };

		if (rows[i].knob.kind == KNOB_NONE)
			limit(m, &row);
		else if (rows[i].knob.kind == KNOB_BOOTARG)
			argument(r, h, m, &rows[i], &row);
		else
			knob(r, h, m, &rows[i], told ? told[i] : NULL, &row);
		add(&r->arena, out, &row);
	}
	command_line(r, m, out);
}
