/* SPDX-License-Identifier: Apache-2.0 */
/* gputune check: facts, verdicts, one result. */
#include <string.h>

#include "front/session.h"
#include "look/settings/findings.h"
#include "measure/prove/ledger_view.h"
#include "verbs/page_check.h"

/* A finding outweighs what could not be seen: it is certain. */
static int exit_code(const struct findings *f)
{
	if (f->count[VERDICT_FAIL])
		return EXIT_FINDINGS;
	return f->count[VERDICT_UNKNOWN] ? EXIT_BLIND : EXIT_CLEAN;
}

/* With --compact only what is wrong or could not be seen, as on the page, unless --all. */
static const struct findings *findings_printed(struct run *r, const struct findings *f)
{
	struct findings *some = ARENA_NEW(&r->arena, struct findings);

	if (!r->value[OPT_COMPACT] || r->value[OPT_ALL])
		return f;
	*some = *f;
	some->items = arena_array(&r->arena, f->n, sizeof(*f->items));
	some->n = 0;
	for (size_t i = 0; i < f->n; i++)
		if (f->items[i].v.kind == VERDICT_FAIL || f->items[i].v.kind == VERDICT_UNKNOWN)
			some->items[some->n++] = f->items[i];
	return some;
}

/* Monitors have exit codes of their own. */
static int verb_check_print(struct run *r, const struct findings *f, const struct machine *m,
			    const struct profile *p, const struct ledger *l, int *code)
{
	const char *format = r->value[OPT_FORMAT] ? r->value[OPT_FORMAT] : "term";
	/* On a narrow terminal a column of reasons makes ten lines of one: explain has them. */
	struct check_view how = { .all = r->value[OPT_ALL] != NULL,
				  .reasons =
					  r->value[OPT_VERBOSE] || r->width == 0 || r->width >= 150,
				  .verbose = r->value[OPT_VERBOSE] != NULL,
				  .ledger = l };

	if (r->value[OPT_QUIET])
		return 0;
	if (strcmp(format, "json") == 0) {
		f = findings_printed(r, f);
		run_print_json(r, measured_check_json(&r->arena, m, p, f, l, *code), EXIT_CLEAN);
	} else if (strcmp(format, "junit") == 0)
		findings_junit(r->out, f);
	else if (strcmp(format, "prom") == 0)
		findings_prom(r->out, f, m);
	else if (strcmp(format, "nagios") == 0)
		*code = findings_nagios(r->out, f);
	else if (strcmp(format, "npd") == 0)
		*code = findings_npd(r->out, f);
	else
		return run_print_doc(r, page_check(&r->arena, m, p, f, &how), "gputune check",
				     EXIT_CLEAN);
	return 0;
}

int verb_check(struct run *r)
{
	const struct ledger *ledger;
	struct host *h;
	struct machine *m;
	struct findings f;
	struct profile p;
	int code, failed;

	/* The profile first: a wrong id is found before the machine is looked at. */
	if (!run_profile(r, &p) || !(h = run_host(r)))
		return EXIT_USAGE;
	m = run_machine(r, h, r->value[OPT_DEEP] != NULL);
	if (!run_since(r, m)) {
		host_close(h);
		return EXIT_USAGE;
	}
	settings_check(&r->arena, m, &p, run_read_knob, h, &f);
	code = exit_code(&f);
	ledger = run_ledger(r, h, m);
	/* What a capture takes is as much as all that was found in it. */
	host_close(h);
	failed = verb_check_print(r, &f, m, &p, ledger, &code);
	return failed ? failed : code;
}

/* What each built-in profile says of the one setting. */
static const struct findings *ask_profiles(struct run *r, const struct setting *s,
					   const struct machine *m, struct host *h)
{
	struct findings *all = arena_array(&r->arena, PROFILES, sizeof(*all));
	const char **only = ARENA_NEW(&r->arena, const char *);

	*only = s->id;
	for (int id = 0; id < PROFILES; id++) {
		struct profile p = { .name = profile_name((enum profile_id)id),
				     .base = (enum profile_id)id,
				     .only = only,
				     .n_only = 1 };

		settings_check(&r->arena, m, &p, run_read_knob, h, &all[id]);
	}
	return all;
}

static bool is_group(const char *name)
{
	size_t n = strlen(name);

	SETTING_FOR_EACH (s)
		if (strncmp(s->id, name, n) == 0 && s->id[n] == '.')
			return true;
	return false;
}

static int no_setting(const char *name)
{
	const char *near = setting_suggest(name);
	struct err e = { 0 };

	err_set(&e, 0, "there is no setting \"%s\"", name);
	if (is_group(name))
		err_hint(&e, "it is a group: \"gputune list --only %s\" shows its settings", name);
	else if (near)
		err_hint(&e, "did you mean \"%s\"? \"gputune list\" shows all ids", near);
	else
		err_hint(&e, "\"gputune list\" shows all ids");
	return complain(EXIT_USAGE, &e);
}

int verb_explain(struct run *r)
{
	const struct setting *s = setting_find(r->args[0]);
	const struct ledger *l;
	struct findings f;
	struct machine *m;
	struct profile p;
	struct host *h;
	int code;

	if (!s)
		return no_setting(r->args[0]);
	if (!run_profile(r, &p) || !(h = run_host(r)))
		return EXIT_USAGE;
	m = run_machine(r, h, false);
	profile_one(&r->arena, &p, s->id);
	settings_check(&r->arena, m, &p, run_read_knob, h, &f);
	l = run_ledger(r, h, m);
	if (r->value[OPT_FORMAT] && strcmp(r->value[OPT_FORMAT], "json") == 0) {
		run_print_json(r, measured_explain_json(&r->arena, m, s, &f, l), EXIT_CLEAN);
		code = 0;
	} else {
		code = run_print_doc(r,
				     page_explain(&r->arena, s, m, &f, ask_profiles(r, s, m, h), l),
				     s->id, EXIT_CLEAN);
	}
	host_close(h);
	return code;
}

/* gputune list: every setting id, or every fact's path. */

int verb_list(struct run *r)
{
	const char *format = r->value[OPT_FORMAT] ? r->value[OPT_FORMAT] : "term";
	bool facts = r->value[OPT_FACTS] != NULL, json = strcmp(format, "json") == 0;
	struct listing all = { 0 };
	struct profile p;

	if (!json && strcmp(format, "term") != 0)
		return complain_text(EXIT_USAGE, "list has the formats term and json, not %s",
				     format);
	if (facts && (r->value[OPT_ONLY] || r->value[OPT_SKIP]))
		return complain_text(EXIT_USAGE, "--only and --skip narrow settings, not --facts");
	if (!run_profile(r, &p))
		return EXIT_USAGE;
	list_make(&r->arena, facts ? NULL : &p, &all);
	if (json)
		return run_print_result(r, &list_result, &all, EXIT_CLEAN);
	for (size_t i = 0; i < all.n_facts; i++) {
		const struct listed_fact *f = &all.facts[i];

		fprintf(r->out, "%-44s %s%s%s%s\n", f->path, f->title, f->unit ? " (" : "",
			f->unit ? f->unit : "", f->unit ? ")" : "");
	}
	for (size_t i = 0; i < all.n_settings; i++)
		fprintf(r->out, "%-32s %s\n", all.settings[i]->id, all.settings[i]->title);
	return EXIT_CLEAN;
}
