/* SPDX-License-Identifier: Apache-2.0 */
/* gputune verify: requested against in force. */
#include "machine/knob/io.h"
#include "tune/txn/results.h"
#include "verbs/boot.h"
#include "verbs/ranks.h"

struct verify_ask {
	struct machine_ask machine;
	struct ranks_ask ranks;
	const char *plan;
	bool boot, reboot;
};

static const struct ask_row verify_ask_rows[] = {
	{ "PLAN", "a plan to compare with, instead of the journal", ASK_TEXT(verify_ask, plan),
	  .argument = true, .files = true },
	{ "boot", "compare the files of persist with the values in effect",
	  ASK_FLAG(verify_ask, boot) },
	{ "reboot", "reboot now; the boot-time unit reports the result",
	  ASK_FLAG(verify_ask, reboot) },
	{ ASK_PART(verify_ask, machine, machine_ask) },
	{ ASK_PART(verify_ask, ranks, ranks_ask) },
};

struct verify_verb_answer {
	struct verify result;
	struct machine *m;
	const char *heading; /* NULL: none */
};

static int verify_code(const struct verify *v)
{
	if (v->count[VERIFY_DIFFERS] || v->count[VERIFY_WAITS])
		return EXIT_FINDINGS;
	return v->count[VERIFY_UNKNOWN] ? EXIT_BLIND : EXIT_CLEAN;
}

static int verify_plan_file(struct door *d, struct host *h, const char *file,
			    struct verify_verb_answer *out)
{
	struct planned p = { 0 };
	int code = door_plan_file(d, h, file, &(const struct profile_ask){ 0 }, NULL, &p);

	if (code)
		return code;
	out->m = p.m;
	verify_plan(d->arena, p.m, &p.plan, door_exact_knob, knob_same, h, &out->result);
	return 0;
}

static int verify_journal(struct door *d, struct host *h, struct verify_verb_answer *out)
{
	struct hold_row *rows;
	struct journal j;
	size_t n;
	int code = door_journal(d, h, false, &j);

	if (code)
		return code;
	out->m = door_machine(d, h, &(const struct door_look){ 0 });
	txn_status(h, d->arena, &j, &rows, &n);
	verify_holds(d->arena, rows, n, &out->result);
	return 0;
}

static int look(struct door *d, struct host *h, const struct verify_ask *ask,
		struct verify_verb_answer *out)
{
	int code;

	if (ask->reboot)
		return boot_reboot(d, h, &out->m, &out->result, &out->heading);
	if (ask->boot) {
		code = boot_verify(d, h, &out->m, &out->result, &out->heading);
		return code ? code : verify_code(&out->result);
	}
	code = ask->plan ? verify_plan_file(d, h, ask->plan, out) : verify_journal(d, h, out);
	return code ? code : believed_code(door_believes(d, h), verify_code(&out->result));
}

static struct doc *verify_page(struct arena *a, const struct verify_verb_answer *v)
{
	struct doc *d = doc_new(a);

	if (v->heading)
		doc_text(d, "%s", v->heading);
	doc_append(d, page_verify(a, v->m, &v->result), 1);
	return d;
}

/* The report of a boot is ours. */
SHAPE_GIVES(bool, verify_reads_now, verify_ask, !x->boot && !x->reboot)

VERB_RANKS(verify_ranks, verify_ask, !x->machine.capture && !x->plan && !x->reboot)
VERB_LOOKS(verify_answer_any, look, verify_ask, verify_verb_answer)
VERB_PAGE_OF(verify_page_any, verify_page, verify_verb_answer)
VERB_HEAD(verify_head, verify_verb_answer, m)

/* clang-format off */
const struct verb verify_verb = {
	.name = "verify", .group = VERB_CHANGE,
	.summary = "compare current values with a plan, or with what was applied",
	.about = "Compares the values of PLAN, or of the journal, with the current ones, and lists those that "
	  "wait for a reboot. --boot compares the values kept by persist. --reboot reboots and reports "
	  "afterwards.",
	.exits = "1: a value differs", .words = "validate confirm",
	.examples = EXAMPLES({ "verify", "all applied changes" },
		{ "verify plan.json", "the values of a plan" },
		{ "verify --boot", "values that are set at every boot" }),
	.ask = ASK_OF(verify_ask, NULL, verify_ask_rows), .answer = verify_answer_any, .result = &verify_result,
	.answer_size = sizeof(struct verify_verb_answer), .ranks = verify_ranks, .page = verify_page_any,
	.head = verify_head, .asks = true, .reads = READS_FILES, .reads_now = verify_reads_now,
};
