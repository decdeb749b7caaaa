/* SPDX-License-Identifier: Apache-2.0 */
/* What the verbs that change the machine share: from the machine, or from a file, to a plan; who
 * asks for it, and whether it is agreed to. */
#include <stdlib.h>
#include <string.h>
#include <pwd.h>
#include <unistd.h>
#include <errno.h>

#include "front/change.h"
#include "base/fd.h"
#include "look/settings/check.h"
#include "look/settings/settings.h"
#include "machine/write/write.h"
#include "tune/txn/boot.h"
#include "tune/txn/page_txn.h"
#include "tune/txn/txn.h"
#include "machine/knob/io.h"

enum { PLAN_FILE_MAX = 16 << 20 };

struct host *run_change_host(struct run *r)
{
	struct host *h = run_host(r);

	if (h)
		run_look_at_journal(r, h);
	return h && r->value[OPT_DRY_RUN] ? host_open_readonly(h) : h;
}

int run_check_overlay(const struct run *r)
{
	if (!r->value[OPT_HOST] || r->value[OPT_OVERLAY] || r->value[OPT_DRY_RUN])
		return 0;
	return complain_text(EXIT_USAGE, "a captured machine is not changed: --overlay DIR takes "
					 "the changes, --dry-run shows them");
}

struct fact_str run_exact_knob(void *ctx, struct arena *a, const struct knob *k)
{
	return knob_exact(ctx, a, k);
}

struct machine *run_change_machine(struct run *r, struct host *h)
{
	struct machine *m = ARENA_NEW(&r->arena, struct machine);
	struct probe p = { .h = h,
			   .a = &r->arena,
			   .m = m,
			   .deep = h->id.captured,
			   .config = true,
			   .session = true };

	probe_machine(&p);
	run_our_clock_locks(r, h, m);
	return m;
}

int run_plan(struct run *r, struct host *h, struct planned *out)
{
	return run_profile(r, &out->profile) ? run_plan_of(r, h, out) : EXIT_USAGE;
}

int run_plan_of(struct run *r, struct host *h, struct planned *out)
{
	struct plan_target w = { .profile = &out->profile };

	w.allow = run_words(r, r->value[OPT_ALLOW], &w.n_allow);
	if (run_check_ids(w.allow, w.n_allow))
		return EXIT_USAGE;
	out->m = run_change_machine(r, h);
	settings_check(&r->arena, out->m, &out->profile, run_read_knob, h, &out->findings);
	plan_make(&r->arena, out->m, &w, &out->findings, run_read_knob, run_exact_knob, h,
		  &out->plan);
	out->plan.boot_id = boot_id_of(h, &r->arena);
	return 0;
}

/* The whole file, but no more than a plan can be. */
static json_t *read_plan(const char *file, json_error_t *why)
{
	int fd = fd_open_input(file);
	FILE *f = fd < 0 ? NULL : fdopen(fd, "r");
	char *room = f ? arena_room(PLAN_FILE_MAX + 1) : NULL;
	size_t n = room ? fread(room, 1, PLAN_FILE_MAX + 1, f) : 0;
	json_t *j = NULL;

	*why = (json_error_t){ .line = 0 };
	if (fd < 0)
		snprintf(why->text, sizeof(why->text), "cannot be read: %s", strerror(-fd));
	else if (!room || ferror(f))
		snprintf(why->text, sizeof(why->text), "cannot be read");
	else if (n > PLAN_FILE_MAX)
		snprintf(why->text, sizeof(why->text), "larger than any plan");
	else
		j = json_loadb(room, n, JSON_REJECT_DUPLICATES, why);
	if (room)
		arena_drop(room);
	if (f)
		fclose(f);
	return j;
}

/* Without what --only and --skip leave out; the gates look at the rest alone. */
static void narrow_plan(struct plan *p, const struct profile *only)
{
	size_t n = 0;

	for (size_t i = 0; i < p->n; i++)
		if (profile_selects(only, p->changes[i].s->id))
			p->changes[n++] = p->changes[i];
	p->n = n;
	n = 0;
	for (size_t i = 0; i < p->n_advice; i++)
		if (profile_selects(only, p->advice[i].finding->s->id))
			p->advice[n++] = p->advice[i];
	p->n_advice = n;
}

int run_plan_file(struct run *r, struct host *h, const char *file, struct planned *out)
{
	struct plan_target w = { .profile = &out->profile };
	json_error_t why;
	struct err e = { 0 };
	json_t *j;
	int code;

	out->profile = (struct profile){ .name = "" };
	if (r->value[OPT_PROFILE])
		return complain_text(
			EXIT_USAGE,
			"either a plan or --profile: a plan says itself what is to be written");
	w.allow = run_words(r, r->value[OPT_ALLOW], &w.n_allow);
	if (run_check_ids(w.allow, w.n_allow) || !run_narrow(r, &out->profile))
		return EXIT_USAGE;
	j = read_plan(file, &why);
	if (!j && why.line <= 0)
		return complain_text(EXIT_USAGE, "%s: %s", file, why.text);
	if (!j)
		return complain_text(EXIT_USAGE, "%s:%d: %s", file, why.line, why.text);
	out->m = run_change_machine(r, h);
	code = plan_from_json(&r->arena, out->m, j, file, &out->plan, &e);
	json_decref(j);
	if (code)
		return complain(EXIT_USAGE, &e);
	narrow_plan(&out->plan, &out->profile);
	plan_gates(&r->arena, out->m, &w, &out->plan);
	for (size_t i = 0; i < out->plan.n; i++)
		plan_owners(&r->arena, out->m, &out->plan.changes[i]);
	return 0;
}

struct adding {
	struct host *h;
	struct arena *a;
	struct plan *plan;
	const struct setting *s;
	const char *value, *target; /* target NULL: all */
	bool planned;		    /* the plan has changes of the setting: no others are added */
	size_t n;
};

static struct change *change_of(struct plan *p, const struct setting *s, const struct knob *k)
{
	for (size_t i = 0; i < p->n; i++)
		if (p->changes[i].s == s && knob_equal(&p->changes[i].knob, k))
			return &p->changes[i];
	return NULL;
}

static void front_change_add(const void *object, const char *name, void *ctx)
{
	struct adding *x = ctx;
	struct plan *p = x->plan;
	struct knob k = setting_place(x->a, x->s, object);
	struct change *c;
	struct fact_str now;

	if (x->target && strcmp(x->target, name) != 0)
		return;
	/* A row may round what a profile wants of it; who names a value means that one. */
	c = change_of(p, x->s, &k);
	if (c && (!c->before || strcmp(c->before, x->value) != 0))
		c->after = x->value;
	if (c || x->planned)
		return;
	now = run_exact_knob(x->h, x->a, &k);
	if (!seen_ok(&now.f) || strcmp(now.v, x->value) == 0)
		return;
	p->changes = arena_grow(x->a, p->changes, p->n, sizeof(*p->changes));
	p->changes[p->n++] = (struct change){ .s = x->s,
					      .target = arena_strdup(x->a, name),
					      .knob = k,
					      .before = now.v,
					      .after = x->value,
					      .why = "asked for by this proof",
					      .source = x->s->source,
					      .risk = x->s->risk,
					      .effect = x->s->effect };
	x->n++;
}

size_t run_add_value(struct run *r, struct host *h, struct planned *planned, const char *id,
		     const char *target, const char *value)
{
	struct plan *p = &planned->plan;
	struct adding x = { .h = h,
			    .a = &r->arena,
			    .plan = p,
			    .s = setting_find(id),
			    .value = value,
			    .target = target };
	struct plan_target w = { .profile = &planned->profile };

	for (size_t i = 0; i < p->n; i++)
		x.planned = x.planned || p->changes[i].s == x.s;
	/* Values of the others are not for one write. */
	if (!x.s || (x.s->knob != KNOB_SYSCTL && x.s->knob != KNOB_SYSFS &&
		     x.s->knob != KNOB_LINK && x.s->knob != KNOB_NVML && x.s->knob != KNOB_CPUSET))
		return 0;
	setting_subjects(&r->arena, planned->m, x.s, front_change_add, &x);
	if (x.n) {
		w.allow = run_words(r, r->value[OPT_ALLOW], &w.n_allow);
		plan_sort(p);
		plan_gates(&r->arena, planned->m, &w, p);
	}
	return x.n;
}

bool run_agreed(struct run *r, const char *question)
{
	char line[16];

	if (r->value[OPT_YES])
		return true;
	if (!isatty(STDIN_FILENO)) {
		complain_text(EXIT_USAGE,
			      "nobody can be asked here: say --yes, or --dry-run to look");
		return false;
	}
	fflush(r->out);
	fprintf(stderr, "%s [y/N] ", question);
	return fgets(line, sizeof(line), stdin) && (line[0] == 'y' || line[0] == 'Y');
}

struct txn_who run_who(struct run *r)
{
	const struct passwd *pw = getpwuid(getuid());
	const char *user = pw ? pw->pw_name : arena_printf(&r->arena, "uid %u", getuid()),
		   *sudo = getenv("SUDO_USER");

	return (struct txn_who){
		.user = sudo && *sudo ? arena_printf(&r->arena, "%s (sudo: %s)", user, sudo)
				      : arena_strdup(&r->arena, user),
		.reason = r->value[OPT_REASON],
		.version = GPUTUNE_VERSION,
	};
}

void run_report_lost_at_boot(struct host *h)
{
	const char *why = state_is_lost_at_boot(h);

	if (why)
		complain_text(0, "%s", why);
}

int run_recover_first(struct run *r, struct host *h, const struct txn_who *who)
{
	struct txn_report report;
	struct journal j;
	struct err e = { 0 };
	int code = journal_load(h, &r->arena, false, &j, &e);

	/* Who may not read it may not write either; that is said when it is tried, after the plan.
	 */
	if (state_check(h, &e))
		return complain(EXIT_NOT_APPLIED, &e);
	if (code == -EACCES || code == -EPERM)
		return 0;
	if (code)
		return complain(EXIT_NOT_APPLIED, &e);
	for (size_t i = 0; i < j.n; i++) {
		if (j.items[i].state != TRANSACTION_OPEN || !transaction_holds(&j.items[i]))
			continue;
		if (r->value[OPT_DRY_RUN]) {
			complain_text(0, "transaction %lu was interrupted; it is rolled back first",
				      j.items[i].txn);
			return 0;
		}
		if (!run_agreed(r,
				arena_printf(&r->arena,
					     "Transaction %lu was interrupted. Roll it back now?",
					     j.items[i].txn)))
			return EXIT_NOT_APPLIED;
		code = txn_recover(h, &r->arena, who, &report, &e);
		if (code)
			return complain(code == -EUCLEAN ? EXIT_STUCK : EXIT_NOT_APPLIED, &e);
		complain_text(0, "transaction %lu, which was interrupted, was rolled back",
			      j.items[i].txn);
		for (size_t k = 0; k < report.n_leftovers; k++)
			complain_text(0, "%s", report.leftovers[k]);
		return 0;
	}
	return 0;
}

int run_code_of(int result)
{
	return result == 0 ? EXIT_CLEAN : result == -EUCLEAN ? EXIT_STUCK : EXIT_NOT_APPLIED;
}

void run_find_culprits(struct run *r, struct machine *m, struct hold_row *rows, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		struct change c = { .knob = rows[i].e->knob };

		if (rows[i].hold != HOLD_FOREIGN && rows[i].hold != HOLD_BACK)
			continue;
		plan_owners(&r->arena, m, &c);
		for (size_t k = 0; k < c.n_owners; k++) {
			const struct owner *o = &c.owners[k];

			if (o->value && rows[i].now && knob_same(&c.knob, o->value, rows[i].now))
				rows[i].by = arena_printf(&r->arena, "%s sets this", o->what);
			else if (o->fights && !rows[i].by)
				rows[i].by = arena_printf(&r->arena, "perhaps %s", o->what);
		}
	}
}

/* "a, b" to words. */
const char *const *run_words(struct run *r, const char *list, size_t *n)
{
	const char **out = NULL;

	for (*n = 0; list && *list;) {
		size_t k = strcspn(list, ","), len;
		const char *word = str_trim(list, k, &len);

		if (len) {
			out = arena_grow(&r->arena, out, *n, sizeof(*out));
			out[(*n)++] = arena_strndup(&r->arena, word, len);
		}
		list += k + (list[k] == ',');
	}
	return out;
}

int run_check_id(const char *word)
{
	struct err e = { 0 };
	const char *near;

	SETTING_FOR_EACH (s)
		if (id_matches(s->id, word))
			return 0;
	near = setting_suggest(word);
	err_set(&e, 0, "there is no setting \"%s\"", word);
	if (near)
		err_hint(&e, "did you mean \"%s\"? \"gputune list\" shows all ids", near);
	else
		err_hint(&e, "\"gputune list\" shows all ids");
	return complain(EXIT_USAGE, &e);
}

int run_check_ids(const char *const *words, size_t n)
{
	int code = 0;

	for (size_t i = 0; i < n && !code; i++)
		code = run_check_id(words[i]);
	return code;
}
