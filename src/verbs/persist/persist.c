/* SPDX-License-Identifier: Apache-2.0 */
/* gputune persist: keep settings over a reboot by files of our own, and take them away again. */
#include <errno.h>

#include "base/text.h"
#include "tune/txn/page_txn.h"
#include "verbs/persist/persist.h"

/* --- install and diff ------------------------------------------------------------------------- */

static int make(struct persisting *s)
{
	int code = persist_collect(s);

	s->view.unkept = s->ask->settings.profile || s->ask->settings.only ? NULL : "";
	return code ? code : persist_make_files(s);
}

/* What somebody else wrote is not replaced. */
static int refuse(struct persisting *s, size_t others)
{
	struct err e = { 0 };

	err_set(&e, -EEXIST, "%zu file%s edited since gputune wrote %s; nothing was written",
		others, others == 1 ? " is" : "s are", others == 1 ? "it" : "them");
	err_hint(&e, "move your lines to another file; --force replaces the contents");
	s->d->say(s->d->ctx, 0, &e);
	return EXIT_NOT_APPLIED;
}

/* A requested value that no file can keep, or that another program sets later, is a finding. */
static int persist_exit_code(const struct persisting *s)
{
	for (size_t i = 0; i < s->p.n; i++)
		if (s->p.rows[i].refusal || s->p.rows[i].loses)
			return EXIT_FINDINGS;
	return EXIT_CLEAN;
}

static int update_boot(struct persisting *s)
{
	int code = s->ask->update_grub && s->p.n_files ? persist_update_boot(s) : 0;

	return code ? code : persist_exit_code(s);
}

static int write_files(struct persist_verb_answer *out)
{
	struct persisting *s = &out->s;
	struct txn_who who = txn_who_here(s->d->arena, s->ask->change.reason);
	int result;

	who.op = "persist";
	door_report_lost_at_boot(s->d, s->h);
	s->plan.profile = s->ask->settings.profile;
	result = txn_apply(s->h, s->d->arena, &s->plan, &who, &out->report, &out->error);
	if (result) {
		s->d->say(s->d->ctx, 0, &out->error);
		return txn_exit_code(result);
	}
	persist_reload(s);
	return update_boot(s);
}

/* "4 files and 1 folder": the table before it lists the files alone. */
static const char *files_text(struct arena *a, const struct plan *p)
{
	size_t folders = 0, files;

	for (size_t i = 0; i < p->n; i++)
		folders += str_ends(p->changes[i].knob.name, "/");
	files = p->n - folders;
	return arena_printf(
		a, "%zu file%s%s", files, PLURAL(files),
		!folders ? "" : arena_printf(a, " and %zu folder%s", folders, PLURAL(folders)));
}

static int install(struct persist_verb_answer *out)
{
	struct persisting *s = &out->s;
	const struct txn_who who = txn_who_here(s->d->arena, s->ask->change.reason);
	size_t others;
	/* What is rolled back first is not to be kept. */
	int code = door_recover_first(s->d, s->h, &who, s->view.dry);

	code = code ? code : make(s);
	if (code)
		return code;
	others = persist_compare(s, s->ask->force);
	if (others)
		return refuse(s, others);
	if (s->view.dry) {
		door_warn(s->d, "dry run: nothing was written");
		return EXIT_CLEAN;
	}
	if (!s->plan.n)
		return update_boot(s);
	code = door_agreed(
		s->d, page_persist(s->d->arena, s->m, &s->view),
		arena_printf(s->d->arena, "Write %s?", files_text(s->d->arena, &s->plan)));
	return code ? code : write_files(out);
}

static int diff(struct persist_verb_answer *out)
{
	struct persisting *s = &out->s;
	size_t others;
	int code = make(s);

	if (code)
		return code;
	others = persist_compare(s, true);
	return s->plan.n || others ? EXIT_FINDINGS : EXIT_CLEAN;
}

/* --- status ----------------------------------------------------------------------------------- */

int persist_review(struct persisting *s, size_t *differ)
{
	struct persist_targets cache = { 0 };
	struct persist_entry *rows;
	struct err e = { 0 };
	size_t n;
	int code = persist_installed(s->d, s->h, &rows, &n);

	if (code)
		return code;
	code = journal_load(s->h, s->d->arena, false, &s->journal, &e);
	if (code && code != -EACCES && code != -EPERM)
		return door_fail(s->d, EXIT_BLIND, &e);
	if (code)
		door_warn(s->d, "only root can read the journal, so it is unknown whether a file "
				"was edited");
	if (!s->m)
		s->m = door_change_machine(s->d, s->h);
	for (size_t i = 0; i < n; i++) {
		const char *target =
			persist_target(s->d->arena, s->m, rows[i].id, &rows[i].knob, &cache);

		rows[i].target = target ? target : "";
	}
	persist_read_sources(s);
	s->p.rows = rows;
	s->p.n = n;
	persist_losers(s->d->arena, s->m, &s->wish, &s->p);
	*differ = persist_look(s);
	*differ += persist_doubt_rows(s);
	for (size_t i = 0; i < n; i++)
		*differ += rows[i].loses != NULL;
	*differ += persist_note_open(s);
	persist_fill_view(s);
	return 0;
}

static int status(struct persist_verb_answer *out)
{
	size_t differ = 0;
	int code = persist_review(&out->s, &differ);

	if (!code)
		persist_find_unkept(&out->s);
	return code ? code : differ ? EXIT_FINDINGS : EXIT_CLEAN;
}

/* --- the verbs -------------------------------------------------------------------------------- */

static int persist_answer(struct door *d, const struct persist_ask *ask, const char *action,
			  bool writes, int (*act)(struct persist_verb_answer *out),
			  struct persist_verb_answer *out)
{
	bool dry = ask->change.dry_run;
	struct persisting *s = &out->s;
	int code = writes ? door_check_overlay(d, &ask->machine, dry) : 0;

	if (code == 0 && ask->update_grub && ask->machine.capture && !dry)
		code = door_refuse(d, EXIT_USAGE,
				   "--update-grub works only on this machine, not on a capture");
	if (code)
		return code;
	s->d = d;
	s->ask = ask;
	s->h = door_change_host(d, &ask->machine, dry);
	if (!s->h)
		return -EXIT_USAGE;
	s->view.action = action;
	s->view.dry = dry;
	s->writes = writes && !dry;
	code = act(out);
	host_close(s->h);
	s->h = NULL;
	if (code >= 0)
		out->result = persist_answer_of(d->arena, &s->view, &out->report, &out->error);
	return code;
}

#define PERSIST_ANSWER(action, function, writes)                                                   \
	static int function##_answer(struct door *d, const void *ask, void *answer)                \
	{                                                                                          \
		return persist_answer(d, ask, action, writes, function, answer);                   \
	}
PERSIST_ANSWER("install", install, true)
PERSIST_ANSWER("status", status, false)
PERSIST_ANSWER("diff", diff, false)
PERSIST_ANSWER("remove", persist_remove, true)

static struct doc *persist_page_of(struct arena *a, const struct persist_verb_answer *p)
{
	struct doc *d;
	TEXT_AUTO ids = { 0 };

	if (p->removed)
		return page_persist_removed(a, p->s.m, &p->s.view, &p->report, p->files);
	if (!p->report.n)
		return page_persist(a, p->s.m, &p->s.view);
	d = doc_new(a);
	if (!*p->error.text)
		doc_text(d, "Transaction %lu: wrote %s. \"%s\" undoes all of it.", p->report.txn,
			 files_text(a, &p->s.plan),
			 machine_command(a, p->s.m, false, "persist remove"));
	for (size_t i = 0; i < p->s.p.n; i++)
		if (p->s.p.rows[i].loses)
			persist_add_id(&ids, p->s.p.rows[i].id);
	if (ids.len)
		doc_text(
			d,
			"Not kept: %s. At boot, the program or file named above sets another value "
			"after gputune. Change it there, then run \"%s\" again.",
			ids.s, machine_command(a, p->s.m, true, "persist install"));
	return d;
}
VERB_PAGE_OF(persist_page, persist_page_of, persist_verb_answer)

VERB_HEAD(persist_head, persist_verb_answer, s.m)

/* clang-format off */
#define OF_ALL                                                                                     \
	.result = &persist_result, .answer_size = sizeof(struct persist_verb_answer),              \
	.page = persist_page, .head = persist_head
#define UPDATE_GRUB                                                                                \
	{ "update-grub", "then run update-grub, or kernel-install if it writes the boot "      \
			 "entries, and check the result", ASK_FLAG(persist_ask, update_grub) }

static const struct ask_row install_ask_rows[] = {
	{ ASK_PART(persist_ask, machine, machine_ask) },
	{ ASK_PART(persist_ask, settings, profile_ask) },
	{ ASK_PART(persist_ask, allow, allow_ask) },
	{ "force", "also replace files changed by others since", ASK_FLAG(persist_ask, force) },
	UPDATE_GRUB,
	{ ASK_PART(persist_ask, change, change_ask) },
};

static const struct ask_row diff_ask_rows[] = {
	{ ASK_PART(persist_ask, machine, machine_ask) },
	{ ASK_PART(persist_ask, settings, profile_ask) },
	{ ASK_PART(persist_ask, allow, allow_ask) },
};

static const struct ask_row status_ask_rows[] = { { ASK_PART(persist_ask, machine, machine_ask) } };

static const struct ask_row remove_ask_rows[] = {
	{ ASK_PART(persist_ask, machine, machine_ask) },
	{ ASK_PART(persist_ask, only, only_ask) },
	{ "now", "also undo values that the files, not apply, set at this boot", ASK_FLAG(persist_ask, now) },
	{ "force", "also remove gputune's files that were edited since", ASK_FLAG(persist_ask, force) },
	UPDATE_GRUB,
	{ ASK_PART(persist_ask, change, change_ask) },
};

static const struct verb install_verb = {
	.name = "install", .summary = "write files that set values at boot",
	.about = "Keeps what apply changed, or what --profile and --only select. Writes gputune's own files: "
	  "sysctl.d, tmpfiles.d, udev, modprobe.d, boot arguments, link files, a boot unit. Other files are "
	  "not touched.",
	.exits = "1: a value is not kept: no file can hold it, or another program sets it later",
	.examples = EXAMPLES({ "persist install --dry-run", "preview first" },
	  { "sudo persist install", "the applied settings" },
	  { "sudo persist install --only memory --yes", "a group of settings, applied or not" }),
	.ask = ASK_OF(persist_ask, NULL, install_ask_rows), .answer = install_answer, .changes = true, OF_ALL,
	.own_process = true,
};
/* clang-format on */

/* clang-format off */
static const struct verb status_verb = {
	.name = "status", .summary = "list values kept for the next boot, their files, and which value wins",
	.about = "Lists each kept setting with its file, marks files edited since, and names what else sets the "
	  "value at boot.", .exits = "1: a file, a value or a program that sets it at boot differs from what is kept",
	.examples = EXAMPLES({ "persist status", "everything" }, { "persist status --format json", "for scripts" }),
	.ask = ASK_OF(persist_ask, NULL, status_ask_rows), .answer = status_answer, OF_ALL,
};
/* clang-format on */

/* clang-format off */
static const struct verb diff_verb = {
	.name = "diff", .summary = "show what install would change",
	.about = "Compares the current files with those that install would write.", .exits = "1: they differ",
	.examples = EXAMPLES({ "persist diff", "for the applied settings" },
	  { "persist diff --only memory", "for a group" }),
	.ask = ASK_OF(persist_ask, NULL, diff_ask_rows), .answer = diff_answer, OF_ALL,
};
/* clang-format on */

/* clang-format off */
static const struct verb remove_verb = {
	.name = "remove", .summary = "remove everything, or what --only selects",
	.about = "Removes what install wrote. A file edited since is kept unless --force. Values set by the "
	  "files at this boot stay in effect until a reboot, or are undone with --now.",
	.examples = EXAMPLES({ "persist remove --dry-run", "preview first" },
	  { "sudo persist remove", "remove everything kept for the next boot" },
	  { "sudo persist remove --only memory --now", "remove a group and undo it now" }),
	.ask = ASK_OF(persist_ask, NULL, remove_ask_rows), .answer = persist_remove_answer, .changes = true,
	OF_ALL,
};
/* clang-format on */

static const struct verb *const persist_subs[] = { &install_verb, &status_verb, &diff_verb,
						   &remove_verb, NULL };

/* clang-format off */
const struct verb persist_verb = {
	.name = "persist", .group = VERB_CHANGE, .summary = "keep changes across reboots",
	.about = "Keeps settings across reboots in gputune's own files, and removes these files.",
	.words = "keep boot reboot permanent startup sysctl udev systemd",
	.examples = EXAMPLES({ "persist status", "what is kept, and what else sets it at boot" },
	  { "sudo persist install", "keep everything that was applied" },
	  { "sudo persist remove", "remove all kept values" }),
	.subs = persist_subs, .usual = &status_verb,
};
/* clang-format on */
