/* SPDX-License-Identifier: Apache-2.0 */
/* gputune history: who changed what, when and why. */
#include "tune/txn/results.h"
#include "verbs/change.h"

struct history_ask {
	struct machine_ask machine;
	long long transaction;
};

static const struct ask_row history_ask_rows[] = {
	{ "TRANSACTION", "the transaction with this number, with all its changes",
	  ASK_COUNT(history_ask, transaction, 1, TXN_MAX), .argument = true },
	{ ASK_PART(history_ask, machine, machine_ask) },
};

struct history_verb_answer {
	struct history_answer result;
	const struct machine *m;
	const struct transaction *only; /* NULL: all */
	struct journal journal;
};

static int look(struct door *d, struct host *h, const struct history_ask *ask,
		struct history_verb_answer *out)
{
	int code = door_journal(d, h, true, &out->journal);

	if (code)
		return code;
	door_report_open(d, h, &out->journal);
	if (out->journal.files.redacted)
		door_warn(d, "users, reasons and older transactions are shown to root only: "
			     "\"sudo gputune history\"");
	if (ask->transaction) {
		out->only = history_find(&out->journal, (unsigned long)ask->transaction);
		if (!out->only)
			return door_refuse(d, EXIT_USAGE, "no transaction %lld", ask->transaction);
	}
	code = believed_code(door_believes(d, h), EXIT_CLEAN);
	out->m = door_machine(d, h, &(const struct door_look){ 0 });
	out->result = history_answer_of(d->arena, &out->journal, out->only);
	return code;
}

static struct doc *history_page(struct arena *a, const struct history_verb_answer *h)
{
	return page_history(a, h->m, &h->journal, h->only);
}

VERB_LOOKS(history_answer_any, look, history_ask, history_verb_answer)
VERB_PAGE_OF(history_page_any, history_page, history_verb_answer)
VERB_HEAD(history_head, history_verb_answer, m)

const struct verb history_verb = {
	.name = "history",
	.group = VERB_CHANGE,
	.summary = "who changed what, when and why",
	.about = "Lists all transactions, newest first, or one with every change in it.",
	.words = "log transactions",
	.examples = EXAMPLES({ "history", "all transactions" },
			     { "history 1", "one transaction with its changes" },
			     { "history --format json", "for scripts" }),
	.ask = ASK_OF(history_ask, NULL, history_ask_rows),
	.answer = history_answer_any,
	.result = &history_result,
	.answer_size = sizeof(struct history_verb_answer),
	.page = history_page_any,
	.head = history_head,
	.reads = READS_FILES,
};
