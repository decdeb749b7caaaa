/* SPDX-License-Identifier: Apache-2.0 */
/* gputune check: facts, verdicts, one result. */
#include "look/settings/findings.h"
#include "measure/prove/ledger_view.h"
#include "verbs/change.h"
#include "verbs/page_check.h"
#include "verbs/earlier.h"
#include "verbs/ranks.h"

struct check_ask {
	struct machine_ask machine;
	struct profile_ask settings;
	struct earlier_ask since;
	struct ranks_ask ranks;
	bool all, deep;
};

/* clang-format off */
static const struct ask_row check_ask_rows[] = {
	{ SETTINGS_ROW(check_ask) },
	{ ASK_PART(check_ask, machine, machine_ask) },
	{ ASK_PART(check_ask, since, earlier_ask) },
	{ ASK_PART(check_ask, settings, profile_ask) },
	{ "all", "also show settings that pass or do not apply", ASK_FLAG(check_ask, all), .letter = 'a' },
	{ DEEP_ROW(check_ask) },
	{ ASK_PART(check_ask, ranks, ranks_ask) },
};
/* clang-format on */

struct check_verb_answer {
	struct check_answer result;
	const struct machine *m;
	struct profile profile;
	struct findings findings, whole; /* whole: where --only is given, for the page */
	const struct ledger *ledger;
	struct plan plan; /* what mends it, for the page */
};

static int check_machine(struct door *d, const struct check_ask *ask, struct check_verb_answer *out)
{
	/* On a machine, what rules do not need is left out. */
	const struct door_look how = { .deep = ask->deep,
				       .lean = !ask->settings.profile && !ask->since.since,
				       .open = true };
	struct plan_target w;
	struct profile whole = out->profile;
	struct machine *m;
	HOST_AUTO *h = NULL;
	int code;

	h = door_host(d, &ask->machine);
	if (!h)
		return -EXIT_USAGE;
	m = door_machine(d, h, &how);
	code = door_earlier(d, &ask->since, m);
	if (!code) {
		settings_check(d->arena, m, &out->profile, door_read_knob, h, &out->findings);
		/* It reads each place again: for the page alone. */
		w = door_target(d, h, &out->profile, NULL);
		if (d->page)
			plan_make(d->arena, m, &w, &out->findings, door_read_knob, door_exact_knob,
				  h, &out->plan);
		whole.n_only = 0;
		if (d->page && out->profile.n_only)
			settings_check(d->arena, m, &whole, door_read_knob, h, &out->whole);
		out->m = m;
		out->ledger = door_ledger(d, h, m);
		out->result = check_answer_of(d->arena, &out->profile, &out->findings, out->ledger);
		code = door_verdicts_code(out->findings.count);
	}
	return code;
}

static int check_answer(struct door *d, const struct check_ask *ask, struct check_verb_answer *out)
{
	/* The profile first: a wrong id is found before the machine is looked at. */
	int code = door_profile(d, &ask->settings, &out->profile);

	return code ? code : check_machine(d, ask, out);
}

static struct doc *check_page(struct arena *a, const struct check_ask *ask,
			      const struct check_verb_answer *c, const struct page_view *view)
{
	const struct check_view how = { .all = ask->all,
					.verbose = view->verbose,
					.ledger = c->ledger,
					.plan = &c->plan,
					.whole = &c->whole };

	return page_check(a, c->m, &c->profile, &c->findings, &how);
}

#define CHECK_FORMAT(name, call)                                                                   \
	static int name(FILE *out, const void *ask, const void *answer, int code)                  \
	{                                                                                          \
		(void)ask;                                                                         \
		const struct check_verb_answer *c = answer;                                        \
                                                                                                   \
		call;                                                                              \
		return code;                                                                       \
	}
CHECK_FORMAT(check_junit, findings_junit(out, &c->findings))
CHECK_FORMAT(check_prom, findings_prom(out, &c->findings, c->m))
/* Monitors have exit codes of their own. */
CHECK_FORMAT(check_nagios, code = findings_nagios(out, &c->findings))
CHECK_FORMAT(check_npd, code = findings_npd(out, &c->findings))

VERB_RANKS(check_ranks, check_ask, !x->machine.capture)
VERB_ANSWER(check_answer_any, check_answer, check_ask, check_verb_answer)
VERB_PAGE(check_page_any, check_page, check_ask, check_verb_answer)
VERB_HEAD(check_head, check_verb_answer, m)

/* clang-format off */
const struct verb check_verb = {
	.name = "check", .group = VERB_LOOK, .common = true,
	.summary = "judge every setting of this machine, with the command for each fix",
	.about = "Judges every setting by the facts of this machine, health first. Prints what needs fixing and "
	  "what is unreadable; --all prints the rest too. Writes nothing.",
	.exits = "1: something needs fixing; 5: nothing needs fixing, but some input was unreadable",
	.words = "audit scan test health healthcheck findings slow problems score analyze analyse inspect",
	.examples = EXAMPLES({ "check", "everything" },
	  { "check memory gpu.persistence-mode", "a group of settings and a single setting" },
	  { "check --profile inference", "for serving a model" },
	  { "check --all --verbose", "with passed settings, reasons and sources" },
	  { "check --format json -o check.json", "the result for a script" }),
	.ask = ASK_OF(check_ask, NULL, check_ask_rows), .answer = check_answer_any, .result = &check_result,
	.answer_size = sizeof(struct check_verb_answer), .ranks = check_ranks, .page = check_page_any,
	.formats = FORMATS({ "junit", check_junit }, { "prom", check_prom }, { "nagios", check_nagios }, {
	  "npd", check_npd }), .head = check_head, .reads = READS_CAPTURE,
};
/* clang-format on */
