/* SPDX-License-Identifier: Apache-2.0 */
/* gputune status: what the journal says, beside what the machine says. */
#include "tune/txn/layer.h"
#include "tune/txn/results.h"
#include "verbs/change.h"
#include "verbs/persist/persist.h"
#include "verbs/ranks.h"

struct status_ask {
	struct machine_ask machine;
	struct ranks_ask ranks;
	bool exit_code;
};

static const struct ask_row status_ask_rows[] = {
	{ ASK_PART(status_ask, machine, machine_ask) },
	{ "exit-code",
	  "exit with 0 only if no change of gputune remains (now or for the next boot) and every "
	  "journal line is readable",
	  ASK_FLAG(status_ask, exit_code) },
	{ ASK_PART(status_ask, ranks, ranks_ask) },
};

struct status_verb_answer {
	struct status_answer result;
	const struct machine *m;
	const char *kept; /* where nothing is in effect: what is set at the next boot; NULL */
	bool sure;	  /* every line could be read, and nobody else can have written it */
};

/* What is not as it was left is a finding; what is stuck or open is worse. What cannot be seen is
 * not as it was left for all that is known, as verify says it. */
static int status_code(const struct journal *j, bool open, const struct hold_row *rows, size_t n)
{
	int code = EXIT_CLEAN;

	for (size_t i = 0; i < j->n; i++)
		if (open || j->items[i].state == TRANSACTION_INCOMPLETE)
			return EXIT_STUCK;
	for (size_t i = 0; i < n; i++)
		if (hold_is_gone(rows[i].hold))
			code = EXIT_FINDINGS;
		else if (rows[i].hold == HOLD_UNKNOWN && code == EXIT_CLEAN)
			code = EXIT_BLIND;
	return code;
}

/* Whether anything of ours is left that an undo or persist remove would find; j is of this boot. */
static bool is_anything_left(struct host *h, const struct journal *j)
{
	for (size_t i = 0; i < j->n; i++)
		for (size_t k = 0; transaction_holds(&j->items[i]) && k < j->items[i].n; k++)
			if (entry_is_active(&j->items[i].entries[k]) &&
			    !j->items[i].entries[k].lost)
				return true;
	return host_exists(h, PERSIST_REQUEST);
}

/* For scripts. */
static int left_code(const struct status_ask *ask, struct host *h, const struct journal *j,
		     int code)
{
	if (!ask->exit_code || code == EXIT_STUCK)
		return code;
	if (!is_anything_left(h, j))
		return EXIT_CLEAN;
	return code == EXIT_CLEAN ? EXIT_FINDINGS : code;
}

/* With its configuration only where somebody is looked for: reading that takes longest. */
static struct machine *machine_for(struct door *d, struct host *h, struct hold_row *rows, size_t n)
{
	size_t i = 0;
	struct machine *m;

	while (i < n && rows[i].hold != HOLD_FOREIGN && rows[i].hold != HOLD_BACK)
		i++;
	if (i == n)
		return door_machine(d, h, &(const struct door_look){ 0 });
	m = door_change_machine(d, h);
	door_find_culprits(d, m, rows, n);
	return m;
}

static int look(struct door *d, struct host *h, const struct status_ask *ask,
		struct status_verb_answer *out)
{
	struct hold_row *rows;
	struct journal j;
	size_t n;
	bool believed;
	int code = door_journal(d, h, false, &j);

	if (code)
		return code;
	txn_status(h, d->arena, &j, &rows, &n);
	code = status_code(&j, door_report_open(d, h, &j), rows, n);
	believed = door_believes(d, h);
	code = believed_code(believed, left_code(ask, h, &j, code));
	if (n)
		door_report_lost_at_boot(d, h);
	out->m = machine_for(d, h, rows, n);
	(void)persist_fill_entries(d, h, rows, n);
	out->kept = n ? NULL : persist_setting_ids(d, h, &(struct txn_report){ 0 });
	out->sure = believed && !j.bad_lines;
	out->result = status_answer_of(rows, n);
	return code;
}

static struct doc *status_page(struct arena *a, const struct status_verb_answer *s)
{
	struct doc *d = page_status(a, s->m, s->result.rows, s->result.n, s->sure);

	if (s->kept)
		doc_text(d, "Set again at the next boot: %s. %s removes the files for that.",
			 s->kept, machine_quoted(a, s->m, "persist remove"));
	return d;
}

VERB_RANKS(status_ranks, status_ask, !x->machine.capture)
VERB_LOOKS(status_answer_any, look, status_ask, status_verb_answer)
VERB_PAGE_OF(status_page_any, status_page, status_verb_answer)
VERB_HEAD(status_head, status_verb_answer, m)

const struct verb status_verb = {
	.name = "status",
	.group = VERB_CHANGE,
	.summary = "list the changes that are not undone, and their state",
	.about = "Shows each change that is not undone: in effect, changed since, restored, lost "
		 "at a reboot, or waiting for a reboot.",
	.exits = "1: a value changed since it was applied; 4: a transaction is incomplete",
	.words = "state drift active changes pending",
	.examples = EXAMPLES(
		{ "status", "all changes" },
		{ "status --exit-code", "for a script: 0 only if no change of gputune remains" },
		{ "status --format json", "for scripts" }),
	.ask = ASK_OF(status_ask, NULL, status_ask_rows),
	.answer = status_answer_any,
	.result = &status_result,
	.answer_size = sizeof(struct status_verb_answer),
	.ranks = status_ranks,
	.page = status_page_any,
	.head = status_head,
	.reads = READS_FILES,
};
