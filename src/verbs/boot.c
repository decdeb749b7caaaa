/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gputune apply --boot, as the boot-time unit runs it: each setting of the request by itself, so
 * that one which fails takes no other with it; then the report of the boot.
 */
#include <string.h>
#include <unistd.h>
#include <stdlib.h>

#include "verbs/boot.h"
#include "base/json.h"
#include "verbs/persist/persist.h"
#include "machine/knob/io.h"
#include "tune/plan/plan.h"
#include "tune/txn/boot.h"
#include "tune/txn/layer.h"
#include "tune/txn/results.h"
#include "base/clock.h"
#include "base/text.h"
#include "machine/host/command.h"
#include "machine/write/write.h"
#include "render/doc.h"

enum { ATTEMPTS = 24, WAIT_S = 30, STEP_S = 2 };

struct boot {
	struct door *d;
	const struct machine_ask *from;
	struct host *h;
	struct machine *m;
	struct persist_entry *rows;
	size_t n;
	const char **told; /* by row: what became of it; NULL: nothing yet */
	bool *dropped;	   /* by row: not tried again */
	struct plan plan;
};

/* The knob of a row and what is there now. 0; 1: nothing to write; or a negative errno, told. */
static int verb_boot_look(struct boot *b, size_t i, struct persist_targets *cache,
			  struct change *out)
{
	struct arena *a = b->d->arena;
	const struct persist_entry *row = &b->rows[i];
	const char *why = "", *now = NULL, *target;
	const struct knob *k = persist_find(a, b->m, row, &why);
	struct err e = { 0 };
	int r;

	b->told[i] = why;
	if (!k)
		return -ENODEV;
	target = persist_target(a, b->m, row->id, k, cache);
	b->told[i] = "this machine has no such knob";
	if (!target)
		return -ENODEV;
	r = knob_get(b->h, a, k, &now, &e);
	b->told[i] = r && r != -ENODATA ? arena_strdup(a, e.text) : NULL;
	if (r && r != -ENODATA)
		return r;
	if (now && knob_same(k, now, row->value))
		return 1;
	*out = (struct change){ .s = setting_find(row->id),
				.target = target,
				.knob = *k,
				.before = now,
				.after = row->value,
				.risk = setting_find(row->id)->risk };
	return 0;
}

/* The unit's share of the request as a plan; returns how many devices are not there (yet). */
static size_t verb_boot_make_plan(struct boot *b)
{
	const struct profile none = { .name = "" };
	const struct plan_target w = door_target(b->d, b->h, &none, "*");
	struct persist_targets cache = { 0 };
	size_t missing = 0;

	b->plan = (struct plan){ .nodename = fact_text(&b->m->nodename, ""), .boot_id = "" };
	for (size_t i = 0; i < b->n; i++) {
		struct change c;
		int r;

		if (b->rows[i].keeper != PERSIST_IN_UNIT || b->dropped[i])
			continue;
		r = verb_boot_look(b, i, &cache, &c);
		missing += r < 0;
		if (r)
			continue;
		ARENA_ADD(b->d->arena, b->plan.changes, b->plan.n) = c;
	}
	plan_sort(&b->plan);
	/* What was agreed to when it was installed is not asked again; what is impossible stays so.
	 */
	plan_gates(b->d->arena, b->m, &w, &b->plan);
	return missing;
}

/* Drivers and links may come later than this unit: libraries are opened anew each time. */
static void wait_for_devices(struct boot *b)
{
	for (int waited = 0;; waited += STEP_S) {
		b->m = door_change_machine(b->d, b->h);
		if (!verb_boot_make_plan(b) || b->h->id.captured || waited >= WAIT_S)
			return;
		sleep(STEP_S);
		host_close(b->h);
		b->h = door_change_host(b->d, b->from, false);
	}
}

/* What the transaction says of each row; rows of a setting that failed are not tried again. */
static bool note_report(struct boot *b, const struct txn_report *report)
{
	bool dropped = false;

	for (size_t k = 0; k < report->n; k++) {
		const struct outcome_row *o = &report->rows[k];
		bool failed = o->outcome == OUTCOME_FAILED || o->outcome == OUTCOME_CLAMPED ||
			      o->outcome == OUTCOME_STUCK;

		for (size_t i = 0; i < b->n; i++) {
			if (strcmp(b->rows[i].id, o->id) != 0)
				continue;
			if (o->outcome == OUTCOME_DONE &&
			    knob_same(&o->knob, b->rows[i].value, o->to) &&
			    strcmp(b->rows[i].knob.name, o->knob.name) == 0)
				b->told[i] = "set at boot";
			if (failed && !b->dropped[i]) {
				b->told[i] = o->sentence ? o->sentence : "the change was refused";
				b->dropped[i] = dropped = true;
			}
		}
	}
	return dropped;
}

static void note_gates(struct boot *b)
{
	for (size_t k = 0; k < b->plan.n; k++)
		for (size_t i = 0; b->plan.changes[k].gate && i < b->n; i++)
			if (strcmp(b->rows[i].id, b->plan.changes[k].s->id) == 0 &&
			    strcmp(b->rows[i].knob.name, b->plan.changes[k].knob.name) == 0)
				b->told[i] = b->plan.changes[k].refusal;
}

/* Transactions until one holds: whatever fails is left out of the next. */
static int verb_boot_write_all(struct boot *b, struct err *e)
{
	struct txn_who who = { .user = "root (" PERSIST_UNIT_NAME ")",
			       .reason = "at boot, from " PERSIST_REQUEST,
			       .version = GPUTUNE_VERSION };
	int result = 0;

	for (int i = 0; i < ATTEMPTS; i++) {
		struct txn_report report = { 0 };

		note_gates(b);
		if (!plan_open_changes(&b->plan))
			return 0;
		result = txn_apply(b->h, b->d->arena, &b->plan, &who, &report, e);
		if (result == -EWOULDBLOCK || result == -ESTALE) {
			if (!b->h->id.captured)
				sleep(1);
		} else if (!note_report(b, &report)) {
			return result;
		}
		verb_boot_make_plan(b);
	}
	return result;
}

/* What was asked for at boot beside what is in force, and why where it is known. */

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
						  "this kernel does not support huge pages of that "
						  "size: its base page is %lld KiB",
						  page / 1024)
				   : "this kernel does not support huge pages of that size";
	return arena_printf(a, "the kernel granted %s: not enough contiguous memory", now);
}

/* Whether our change of the knob was written before the last boot. */
static bool is_of_earlier_boot(struct door *d, struct host *h, const struct knob *k)
{
	struct err ignored = { 0 };
	struct journal j;

	if (journal_load(h, d->arena, false, &j, &ignored))
		return false;
	for (size_t i = 0; i < j.n; i++)
		for (size_t n = 0; n < j.items[i].n; n++)
			if (entry_is_active(&j.items[i].entries[n]) &&
			    knob_equal(&j.items[i].entries[n].knob, k))
				return boot_differs(&j.items[i], boot_id_of(h, d->arena));
	return false;
}

static void verb_boot_argument(struct door *d, struct host *h, const struct machine *m,
			       const struct persist_entry *row, struct verify_row *out)
{
	struct err ignored = { 0 };
	const char *asked;

	out->now = knob_booted(&m->kernel, &row->knob);
	if (knob_same(&row->knob, out->now, row->value)) {
		out->state = VERIFY_IN_FORCE;
		return;
	}
	out->state = VERIFY_DIFFERS;
	out->sentence = "the drop-in no longer sets it";
	if (knob_get(h, d->arena, &row->knob, &asked, &ignored) ||
	    !knob_same(&row->knob, asked, row->value))
		return;
	out->state = is_of_earlier_boot(d, h, &row->knob) ? VERIFY_DIFFERS : VERIFY_WAITS;
	out->sentence = out->state == VERIFY_DIFFERS
				? VERIFY_NOT_BROUGHT
				: "the running kernel was started without this argument: run "
				  "update-grub or kernel-install, then reboot";
}

static void verb_boot_limit(const struct machine *m, struct verify_row *out)
{
	bool good = fact_or(&m->memory.memlock, 0) == -1;

	out->knob = (struct knob){ KNOB_FILE, PERSIST_LIMITS, "" };
	out->state = good ? VERIFY_IN_FORCE : VERIFY_DIFFERS;
	out->now = good ? "unlimited" : "limited";
	out->sentence =
		good ? NULL : "this process has the old limit; new sessions get the new limit";
}

static void verb_boot_knob(struct door *d, struct host *h, const struct machine *m,
			   const struct persist_entry *row, const char *told,
			   struct verify_row *out)
{
	struct arena *a = d->arena;
	const char *why = "", *now = NULL;
	const struct knob *k = persist_find(a, m, row, &why);
	struct err e = { 0 };
	int code = k ? knob_get(h, a, k, &now, &e) : -ENODEV;

	out->state = VERIFY_DIFFERS;
	if (!k) {
		out->sentence = why;
	} else if (code == -ENODATA) {
		out->state = VERIFY_UNKNOWN;
		out->sentence = told ? arena_printf(a, "%s; its value cannot be read back", told)
				     : "the value cannot be read back";
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

/* --- huge pages of the command line ----------------------------------------------------------- */

static const struct huge_pool *pool_of(const struct machine *m, unsigned long long kb)
{
	LIST_FOR_EACH (struct huge_pool, p, &m->memory.pools)
		if (fact_or(&p->node, -1) == -1 && fact_or(&p->size_kb, 0) == (long long)kb)
			return p;
	return NULL;
}

static void add_pages(struct door *d, const struct machine *m, unsigned long long kb,
		      long long asked, struct verify *out)
{
	struct arena *a = d->arena;
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
static void command_line(struct door *d, const struct machine *m, struct verify *out)
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
			add_pages(d, m, size, count, out);
	}
}

/* Every kept value against the machine as it is, and the huge pages that the kernel was started
 * with against those it granted. told: by row, what became of it at boot; NULL: not known. */
static void boot_compare(struct door *d, struct host *h, const struct machine *m,
			 const struct persist_entry *rows, size_t n, const char *const *told,
			 struct verify *out)
{
	struct persist_targets cache = { 0 };

	*out = (struct verify){ 0 };
	for (size_t i = 0; i < n; i++) {
		const char *target = persist_target(d->arena, m, rows[i].id, &rows[i].knob, &cache);
		struct verify_row row = { .id = rows[i].id,
					  .target = target ? target : "",
					  .knob = rows[i].knob,
					  .wanted = rows[i].value };

		if (rows[i].knob.kind == KNOB_NONE)
			verb_boot_limit(m, &row);
		else if (rows[i].knob.kind == KNOB_BOOTARG)
			verb_boot_argument(d, h, m, &rows[i], &row);
		else
			verb_boot_knob(d, h, m, &rows[i], told ? told[i] : NULL, &row);
		add(d->arena, out, &row);
	}
	command_line(d, m, out);
}

/* The report of a boot: written by the boot-time unit, printed by verify --boot; and the reboot
 * that asks for one. */

#define REBOOT_FILE TXN_DIR "/reboot.json"

enum { REPORT_MAX = 16 << 20, REBOOT_MS = 60000 };

static const char *boot_id(struct door *d, struct host *h)
{
	char buf[64];

	return host_read_line(h, "/proc/sys/kernel/random/boot_id", buf, sizeof(buf))
		       ? ""
		       : arena_strdup(d->arena, buf);
}

/* A reboot that was asked for. */
struct reboot {
	const char *from; /* the boot's id */
	long long time_s;
	const char *user;
};

static const struct shape_row reboot_rows[] = {
	{ "boot_id", NULL, SHAPE_TEXT(reboot, from) },
	{ "time", NULL, SHAPE_TIME(reboot, time_s) },
	{ "user", NULL, SHAPE_TEXT(reboot, user) },
};
static const struct shape reboot_shape = SHAPE(reboot, reboot);

static int verb_boot_put_json(struct host *h, const char *path, json_t *j, struct err *e)
{
	ARENA_AUTO a = { 0 };
	const char *text = json_take_text(&a, j, JSON_INDENT(1));
	int r = text ? host_open_dir(h, TXN_DIR) : -EINVAL;

	r = r ? r : host_put(h, path, text, strlen(text), 0600);
	return r ? err_set(e, r, "%s: %s", path, strerror(-r)) : 0;
}

/* Who asked for the reboot that this boot follows; NULL: nobody. */
static const char *asked_by(struct door *d, struct host *h)
{
	struct reboot asked = { 0 };
	struct err ignored = { 0 };
	bool known = false;
	json_auto_t *j = NULL;
	char *text;
	size_t len;

	if (host_read(h, REBOOT_FILE, REPORT_MAX, d->arena, &text, &len))
		return NULL;
	j = json_loadb(text, len, JSON_REJECT_DUPLICATES, NULL);
	known = shape_read(d->arena, &reboot_shape, j, &asked, &ignored) == 0;
	return known && strcmp(asked.from, boot_id(d, h)) != 0 ? asked.user : NULL;
}

/* True: it is written. */
static bool boot_report_write(struct door *d, struct host *h, const struct machine *m,
			      const struct verify *v, int code)
{
	char stamp[STAMP_SIZE];
	const struct boot_report report = {
		.boot_id = boot_id(d, h),
		.asked = asked_by(d, h),
		.m = m,
		.version = GPUTUNE_VERSION,
		.time = stamp_format(fact_or(&m->time_s, 0), stamp) ? NULL : stamp,
		.code = code,
		.verify = *v,
	};
	struct err e = { 0 };
	int result = verb_boot_put_json(h, PERSIST_REPORT,
					result_shape_json(&boot_report_result, &report, 0, 0), &e);

	if (result)
		d->say(d->ctx, 0, &e);
	else if (report.asked)
		host_remove(h, REBOOT_FILE);
	return result == 0;
}

/* --- verify --boot ---------------------------------------------------------------------------- */

/* The report of this boot. */
static bool stored(struct door *d, struct host *h, struct boot_report *out)
{
	char *text;
	size_t len;

	return host_read(h, PERSIST_REPORT, REPORT_MAX, d->arena, &text, &len) == 0 &&
	       boot_report_read(d->arena, text, len, out) &&
	       strcmp(out->boot_id, boot_id(d, h)) == 0;
}

int boot_verify(struct door *d, struct host *h, struct machine **m, struct verify *out,
		const char **heading)
{
	struct boot_report report;
	struct persist_entry *rows;
	size_t n;
	int code;

	*m = door_change_machine(d, h);
	if (stored(d, h, &report)) {
		*out = report.verify;
		*heading = arena_printf(d->arena,
					"Report of this boot, written by " PERSIST_UNIT_NAME
					" at %s%s%s.",
					report.time ? report.time : "an unknown time",
					report.asked ? "; reboot requested by " : "",
					report.asked ? report.asked : "");
		return 0;
	}
	code = persist_installed(d, h, &rows, &n);
	if (code)
		return code;
	boot_compare(d, h, *m, rows, n, NULL, out);
	*heading = "No report of this boot; showing the current state.";
	return 0;
}

/* --- verify --reboot -------------------------------------------------------------------------- */

static int save_request(struct door *d, struct host *h)
{
	const struct reboot asked = { boot_id(d, h), h->id.time_s,
				      txn_who_here(d->arena, NULL).user };
	struct err e = { 0 };

	return verb_boot_put_json(h, REBOOT_FILE, shape_object_json(&reboot_shape, &asked), &e)
		       ? door_fail(d, EXIT_NOT_APPLIED, &e)
		       : 0;
}

int boot_reboot(struct door *d, struct host *h, struct machine **m, struct verify *out,
		const char **heading)
{
	char *const argv[] = { "systemctl", "reboot", NULL };
	struct command_result res = { 0 };
	struct doc *shown = doc_new(d->arena);
	struct persist_entry *rows;
	size_t n;
	int code = persist_installed(d, h, &rows, &n);

	if (code)
		return code;
	if (h->id.captured)
		return door_refuse(d, EXIT_USAGE, "cannot reboot a captured machine");
	if (!n)
		return door_refuse(d, EXIT_USAGE,
				   "nothing is kept for the next boot, so there is nothing to "
				   "verify; see \"gputune persist install\"");
	doc_text(shown,
		 "This reboots the machine. %zu value%s kept; at boot " PERSIST_UNIT_NAME
		 " sets those that no other file sets, and reports on all. \"gputune verify "
		 "--boot\" prints it.",
		 n, n == 1 ? " is" : "s are");
	code = door_agreed(d, shown, "Reboot now?");
	code = code ? code : save_request(d, h);
	if (code)
		return code;
	*m = door_change_machine(d, h);
	boot_compare(d, h, *m, rows, n, NULL, out);
	code = command_run(d->arena, argv, REBOOT_MS, 1 << 16, &res);
	if (code || res.status) {
		host_remove(h, REBOOT_FILE);
		return door_refuse(d, EXIT_NOT_APPLIED, "systemctl reboot failed: %.200s",
				   code ? strerror(-code) : res.errors);
	}
	*heading = "The machine reboots now; this is the state before the reboot.";
	return EXIT_CLEAN;
}

/* --- apply --boot ----------------------------------------------------------------------------- */

static int exit_of(const struct verify *v)
{
	return v->count[VERIFY_DIFFERS] || v->count[VERIFY_WAITS] ? EXIT_FINDINGS : EXIT_CLEAN;
}

/* The same of the same setting was said already: one line for 256 CPUs. */
static bool verb_boot_already_reported(const struct verify *v, size_t i)
{
	for (size_t k = 0; k < i; k++)
		if (v->rows[k].state == VERIFY_DIFFERS &&
		    strcmp(v->rows[k].id, v->rows[i].id) == 0 &&
		    strcmp(v->rows[k].wanted, v->rows[i].wanted) == 0)
			return true;
	return false;
}

static int verb_boot_apply(struct boot *b, struct verify *v)
{
	struct door *d = b->d;
	struct err e = { 0 };
	int result, code;

	b->told = arena_array(d->arena, b->n, sizeof(*b->told));
	b->dropped = arena_array(d->arena, b->n, sizeof(*b->dropped));
	wait_for_devices(b);
	result = verb_boot_write_all(b, &e);
	if (result)
		d->say(d->ctx, 0, &e);
	/* Facts name things here; values are read anew. */
	boot_compare(d, b->h, b->m, b->rows, b->n, b->told, v);
	code = result == -EUCLEAN ? EXIT_STUCK : exit_of(v);
	if (!boot_report_write(d, b->h, b->m, v, code))
		code = code ? code : EXIT_FINDINGS;
	for (size_t i = 0; i < v->n; i++)
		if (v->rows[i].state == VERIFY_DIFFERS && !verb_boot_already_reported(v, i))
			door_warn(d, "%s: %s requested, %s%s%s", v->rows[i].id, v->rows[i].wanted,
				  v->rows[i].now ? v->rows[i].now : "unreadable",
				  v->rows[i].sentence ? ": " : "",
				  v->rows[i].sentence ? v->rows[i].sentence : "");
	return code;
}

int boot_apply(struct door *d, struct host **h, const struct machine_ask *from, struct machine **m,
	       struct verify *out)
{
	struct boot b = { .d = d, .from = from, .h = *h };
	int code = persist_installed(d, *h, &b.rows, &b.n);

	if (code)
		return code;
	if (b.n) {
		code = verb_boot_apply(&b, out);
		*h = b.h;
		*m = b.m;
		return code;
	}
	door_warn(d, "%s contains no values to set", PERSIST_REQUEST);
	*m = door_machine(d, *h, &(const struct door_look){ 0 });
	return EXIT_CLEAN;
}

int boot_plan(struct door *d, struct host *h, const struct change_ask *change, struct planned *out)
{
	const struct txn_who who = txn_who_here(d->arena, change->reason);
	struct boot b = { .d = d, .h = h };
	int code = persist_installed(d, h, &b.rows, &b.n);

	if (code == 0 && !b.n)
		door_warn(d, "%s contains no values to set", PERSIST_REQUEST);
	code = code ? code : door_recover_first(d, h, &who, true);
	if (code)
		return code;
	b.told = arena_array(d->arena, b.n, sizeof(*b.told));
	b.dropped = arena_array(d->arena, b.n, sizeof(*b.dropped));
	b.m = door_change_machine(d, h);
	verb_boot_make_plan(&b);
	for (size_t i = 0; i < b.n; i++)
		if (b.told[i])
			door_warn(d, "%s: %s", b.rows[i].id, b.told[i]);
	out->m = b.m;
	out->plan = b.plan;
	out->plan.profile = "boot.json";
	out->plan.time_s = fact_or(&b.m->time_s, 0);
	return 0;
}
