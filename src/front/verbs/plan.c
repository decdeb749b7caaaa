/* SPDX-License-Identifier: Apache-2.0 */
/* gputune plan, and what plan and apply share: from the machine, or from a file, to a plan. */
#include <stdlib.h>
#include <string.h>

#include "front/verbs/plan.h"
#include "base/fd.h"
#include "front/verbs/knobs.h"
#include "front/verbs/ledger.h"
#include "front/verbs/page.h"
#include "machine/write/write.h"
#include "tune/plan/plan.h"
#include "tune/txn/boot.h"
#include "front/pages/page_plan.h"
#include "tune/plan/plan_shell.h"
#include "look/settings/check.h"
#include "look/settings/settings.h"

enum { PLAN_FILE_MAX = 16 << 20 };

struct host *run_change_host(struct run *r)
{
	struct host *h = run_host(r);

	/* A plan holds nothing, and relies on nothing that is held. */
	if (h && r->verb->run != verb_plan)
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
	run_own_changes(r, h, m);
	return m;
}

int run_plan(struct run *r, struct host *h, struct planned *out)
{
	return run_profile(r, &out->profile) ? run_plan_of(r, h, out) : EXIT_USAGE;
}

int run_plan_of(struct run *r, struct host *h, struct planned *out)
{
	struct plan_wish w = { .profile = &out->profile };

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
	struct plan_wish w = { .profile = &out->profile };
	json_error_t why;
	struct err e = { 0 };
	json_t *j;
	int code;

	out->profile = (struct profile){ .name = "" };
	if (r->value[OPT_PROFILE])
		return complain_text(EXIT_USAGE, "either a plan or --profile: a plan says itself "
						 "what is to be written");
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

/* Something to do is a finding; so is what is refused. */
static int plan_exit(const struct planned *p)
{
	if (p->plan.n || p->plan.n_advice)
		return EXIT_FINDINGS;
	return p->findings.count[VERDICT_UNKNOWN] ? EXIT_BLIND : EXIT_CLEAN;
}

static int print(struct run *r, const struct planned *p, const struct ledger *l, int code)
{
	const char *format = r->value[OPT_FORMAT] ? r->value[OPT_FORMAT] : "term";
	const char *output = r->value[OPT_OUTPUT];
	struct plan_view how = { .verbose = r->value[OPT_VERBOSE] != NULL, .ledger = l };

	if (r->value[OPT_QUIET])
		return 0;
	/* A file called .json is a plan to be applied, whatever a terminal would show. */
	if (strcmp(format, "json") == 0 ||
	    (!r->value[OPT_FORMAT] && output && str_ends(output, ".json")))
		run_print_json(r, plan_json(&p->plan, code));
	else if (strcmp(format, "shell") == 0)
		plan_shell(r->out, p->m, &p->plan);
	else
		return run_print_doc(r, page_plan(&r->arena, p->m, &p->plan, &how), "gputune plan");
	return 0;
}

int verb_plan(struct run *r)
{
	struct host *h = run_change_host(r);
	struct planned p;
	int code, failed;

	if (!h)
		return EXIT_USAGE;
	code = run_plan(r, h, &p);
	if (code == 0) {
		code = plan_exit(&p);
		failed = print(r, &p, run_ledger(r, h, p.m), code);
		code = failed ? failed : code;
	}
	host_close(h);
	return code;
}

/* ID=VALUE: a value that no profile has, written into the setting's own knob on its targets. */

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

static void add(const void *object, const char *name, void *ctx)
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
	struct plan_wish w = { .profile = &planned->profile };

	for (size_t i = 0; i < p->n; i++)
		x.planned = x.planned || p->changes[i].s == x.s;
	/* Values of the others are not for one write. */
	if (!x.s || (x.s->knob != KNOB_SYSCTL && x.s->knob != KNOB_SYSFS &&
		     x.s->knob != KNOB_LINK && x.s->knob != KNOB_NVML && x.s->knob != KNOB_CPUSET))
		return 0;
	setting_subjects(&r->arena, planned->m, x.s, add, &x);
	if (x.n) {
		w.allow = run_words(r, r->value[OPT_ALLOW], &w.n_allow);
		plan_sort(p);
		plan_gates(&r->arena, planned->m, &w, p);
	}
	return x.n;
}
