/* SPDX-License-Identifier: Apache-2.0 */
/* gputune persist: keep settings over a reboot by files of our own, and take them away again. */
#include <string.h>
#include <unistd.h>

#include "front/verbs/page.h"
#include "front/verbs/persist.h"

static void fill_view(struct persisting *s)
{
	s->view.rows = s->p.rows;
	s->view.n = s->p.n;
	s->view.notes = s->p.notes;
	s->view.n_notes = s->p.n_notes;
}

static int print(struct persisting *s, const struct txn_report *report, const struct err *e,
		 int code)
{
	struct run *r = s->r;
	int failed;

	fill_view(s);
	if (r->value[OPT_QUIET])
		return code;
	if (run_wants_json(r)) {
		run_print_json(r, persist_json(s->m, &s->view, report, e, code));
		return code;
	}
	failed = run_print_doc(r, page_persist(&r->arena, s->m, &s->view), "gputune persist");
	return failed ? failed : code;
}

/* --- install and diff --------------------------------------------------------------------------
 */

/* The wish is there: what the files would be. */
static int make_files(struct persisting *s)
{
	s->wish.program = persist_program(s);
	if (!s->wish.program)
		return EXIT_NOT_APPLIED;
	persist_make(&s->r->arena, s->m, &s->wish, &s->p);
	return 0;
}

static int make(struct persisting *s)
{
	int code = persist_collect(s);

	return code ? code : make_files(s);
}

int persist_make_of(struct persisting *s, struct kept *rows, size_t n)
{
	int code = persist_collect_of(s, rows, n);

	return code ? code : make_files(s);
}

/* What somebody else wrote is not replaced. */
static int refuse(struct persisting *s, size_t others)
{
	int code = print(s, NULL, NULL, EXIT_NOT_APPLIED);
	struct err e = { 0 };

	err_set(&e, -EEXIST, "%zu file%s not as gputune left %s; nothing was written", others,
		others == 1 ? " is" : "s are", others == 1 ? "it" : "them");
	err_hint(&e, "move your lines to a file of your own; --force replaces what is there");
	complain(0, &e);
	return code;
}

/* Something that was asked for and that no file can hold is a finding. */
static int kept_code(const struct persisting *s)
{
	for (size_t i = 0; i < s->p.n; i++)
		if (s->p.rows[i].refusal)
			return EXIT_FINDINGS;
	return EXIT_CLEAN;
}

static int write_files(struct persisting *s)
{
	struct run *r = s->r;
	struct txn_who who = run_who(r);
	struct txn_report report = { 0 };
	struct err e = { 0 };
	int result, code;

	who.op = "persist";
	run_tell_lost_at_boot(s->h);
	s->plan.profile = r->value[OPT_PROFILE];
	result = txn_apply(s->h, &r->arena, &s->plan, &who, &report, &e);
	if (run_wants_json(r))
		code = print(s, &report, &e, result ? run_code_of(result) : kept_code(s));
	else
		code = run_code_of(result);
	if (result)
		return complain(code, &e);
	persist_reload(s);
	if (!r->value[OPT_QUIET] && !run_wants_json(r))
		fprintf(r->out,
			"Transaction %lu: %zu change%s made. \"gputune persist remove\" takes all "
			"of it back.\n",
			report.txn, s->plan.n, s->plan.n == 1 ? "" : "s");
	if (r->value[OPT_UPDATE_GRUB] && (code = persist_update_boot(s)))
		return code;
	return kept_code(s);
}

static int install(struct persisting *s)
{
	struct run *r = s->r;
	struct txn_who who = run_who(r);
	size_t others;
	/* What is rolled back first is not to be kept. */
	int code = run_recover_first(r, s->h, &who);

	code = code ? code : make(s);
	if (code)
		return code;
	others = persist_compare(s, r->value[OPT_FORCE] != NULL);
	if (others)
		return refuse(s, others);
	if (!run_wants_json(r) || !s->plan.n || r->value[OPT_DRY_RUN]) {
		code = print(s, NULL, NULL, 0);
		if (code)
			return code;
	}
	if (r->value[OPT_DRY_RUN])
		return complain_text(0, "dry run: nothing was written");
	if (!s->plan.n)
		return r->value[OPT_UPDATE_GRUB] && s->p.n_files ? persist_update_boot(s)
								 : kept_code(s);
	if (!run_agreed(r, arena_printf(&r->arena, "Make these %zu changes?", s->plan.n)))
		return r->value[OPT_YES] || isatty(STDIN_FILENO) ? EXIT_NOT_APPLIED : EXIT_USAGE;
	return write_files(s);
}

static int diff(struct persisting *s)
{
	size_t others;
	int code = make(s);

	if (code)
		return code;
	others = persist_compare(s, true);
	return print(s, NULL, NULL, s->plan.n || others ? EXIT_FINDINGS : EXIT_CLEAN);
}

/* --- status ------------------------------------------------------------------------------------
 */

int persist_see(struct persisting *s, size_t *differ)
{
	struct persist_targets cache = { 0 };
	struct run *r = s->r;
	struct kept *rows;
	struct err e = { 0 };
	size_t n;
	int code = persist_installed(r, s->h, &rows, &n);

	if (code)
		return code;
	code = journal_load(s->h, &r->arena, false, &s->journal, &e);
	if (code && code != -EACCES && code != -EPERM)
		return complain(EXIT_BLIND, &e);
	if (code)
		complain_text(0, "the journal is root's: whether a file was edited is not known");
	if (!s->m)
		s->m = run_change_machine(r, s->h);
	for (size_t i = 0; i < n; i++) {
		const char *target =
			persist_target(&r->arena, s->m, rows[i].id, &rows[i].knob, &cache);

		rows[i].target = target ? target : "";
	}
	persist_read_sources(s);
	s->p.rows = rows;
	s->p.n = n;
	persist_losers(&r->arena, s->m, &s->wish, &s->p);
	*differ = persist_look(s);
	persist_doubt_rows(s);
	for (size_t i = 0; i < n; i++)
		*differ += rows[i].loses != NULL;
	*differ += persist_note_open(s);
	fill_view(s);
	return 0;
}

static int status(struct persisting *s)
{
	size_t differ = 0;
	int code = persist_see(s, &differ);

	return code ? code : print(s, NULL, NULL, differ ? EXIT_FINDINGS : EXIT_CLEAN);
}

int verb_persist(struct run *r)
{
	static const struct {
		const char *name;
		int (*run)(struct persisting *s);
		bool writes;
	} actions[] = { { "install", install, true },
			{ "status", status, false },
			{ "diff", diff, false },
			{ "remove", persist_remove, true } };
	struct persisting s = { .r = r };
	size_t i = 0;
	int code;

	while (i < 4 && strcmp(actions[i].name, r->args[0]) != 0)
		i++;
	if (i == 4)
		return complain_text(EXIT_USAGE,
				     "persist knows install, status, diff and remove, not \"%s\"",
				     r->args[0]);
	if (r->value[OPT_NOW] && strcmp(actions[i].name, "remove") != 0)
		return complain_text(EXIT_USAGE, "--now is for persist remove");
	if (actions[i].writes && run_check_overlay(r))
		return EXIT_USAGE;
	s.h = run_change_host(r);
	if (!s.h)
		return EXIT_USAGE;
	s.view.action = actions[i].name;
	s.view.dry = r->value[OPT_DRY_RUN] != NULL;
	s.writes = actions[i].writes && !s.view.dry;
	code = actions[i].run(&s);
	host_close(s.h);
	return code;
}
