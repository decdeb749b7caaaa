/* SPDX-License-Identifier: Apache-2.0 */
/* gputune plan: what would be changed. */
#include "verbs/change.h"
#include "verbs/page_plan.h"

struct plan_ask {
	struct machine_ask machine;
	struct profile_ask settings;
	struct allow_ask allow;
};

static const struct ask_row plan_ask_rows[] = {
	{ SETTINGS_ROW(plan_ask) },
	{ ASK_PART(plan_ask, machine, machine_ask) },
	{ ASK_PART(plan_ask, settings, profile_ask) },
	{ ASK_PART(plan_ask, allow, allow_ask) },
};

struct plan_verb_answer {
	struct plan_answer result;
	const struct ledger *ledger;
	struct planned planned;
};

/* Something to do is a finding; so is what is refused. */
static int plan_exit(const struct planned *p)
{
	if (p->plan.n || p->plan.n_advice)
		return EXIT_FINDINGS;
	return p->findings.count[VERDICT_UNKNOWN] ? EXIT_BLIND : EXIT_CLEAN;
}

static int plan_answer(struct door *d, const struct plan_ask *ask, struct plan_verb_answer *out)
{
	/* A plan holds nothing, and relies on nothing that is held. */
	HOST_AUTO *h = door_host(d, &ask->machine);
	int code;

	if (!h)
		return -EXIT_USAGE;
	code = door_profile(d, &ask->settings, &out->planned.profile);
	code = code ? code : door_plan(d, h, ask->allow.allow, &out->planned);
	if (code == 0) {
		out->result = plan_answer_of(&out->planned.plan);
		out->ledger = door_ledger(d, h, out->planned.m);
		code = plan_exit(&out->planned);
	}
	return code;
}

static struct doc *plan_page(struct arena *a, const struct plan_ask *ask,
			     const struct plan_verb_answer *p, const struct page_view *view)
{
	const struct plan_view how = { .verbose = view->verbose,
				       .ledger = p->ledger,
				       .apply = apply_words(a, &ask->settings, &ask->allow, NULL,
							    p->planned.profile.name) };

	return page_plan(a, p->planned.m, &p->planned.plan, &how);
}

static int plan_script(FILE *out, const void *ask, const void *answer, int code)
{
	const struct plan_verb_answer *p = answer;

	(void)ask;
	plan_shell(out, p->planned.m, &p->planned.plan);
	return code;
}

static void plan_head(const void *answer, const void **host, long long *time_s)
{
	const struct plan *p = ((const struct plan_answer *)answer)->plan;

	*host = p;
	*time_s = p->time_s;
}

VERB_ANSWER(plan_answer_any, plan_answer, plan_ask, plan_verb_answer)
VERB_PAGE(plan_page_any, plan_page, plan_ask, plan_verb_answer)

/* clang-format off */
const struct verb plan_verb = {
	.name = "plan", .group = VERB_CHANGE, .summary = "preview the changes: order, risk, and what blocks them",
	.about = "Turns the findings of check into changes: old and new value, reason, risk, effect, owner of "
	  "the value, and refusals. -o FILE.json saves the plan for apply; --format shell prints a script. "
	  "Changes nothing on the machine.", .words = "preview dry-run dryrun simulate what-if",
	.examples = EXAMPLES({ "plan", "what apply would change" },
	  { "plan memory --verbose", "a group, with reasons" },
	  { "plan --profile inference -o plan.json", "save a plan, to apply exactly its changes" },
	  { "plan --format shell", "print the plan as a commented script" }),
	.ask = ASK_OF(plan_ask, NULL, plan_ask_rows), .answer = plan_answer_any, .result = &plan_result,
	.answer_size = sizeof(struct plan_verb_answer), .page = plan_page_any,
	.formats = FORMATS({ "shell", plan_script }), .head = plan_head, .reads = READS_CAPTURE,
};
/* clang-format on */
