/* SPDX-License-Identifier: Apache-2.0 */
/* gputune propose: a plan that waits for a person; gputune approve, which is that person. */
#include <string.h>

#include "tune/txn/approval.h"
#include "render/shape_page.h"
#include "tune/txn/page_txn.h"
#include "verbs/change.h"
#include "verbs/page_plan.h"

struct propose_ask {
	struct machine_ask machine;
	struct profile_ask settings;
	struct allow_ask allow;
	const char *waiting;
};

static const struct ask_row propose_ask_rows[] = {
	{ SETTINGS_ROW(propose_ask) },
	{ "waiting", "show the proposed plan of this hash and its state, instead of a new one",
	  ASK_TEXT(propose_ask, waiting), .arg = "HASH" },
	{ ASK_PART(propose_ask, machine, machine_ask) },
	{ ASK_PART(propose_ask, settings, profile_ask) },
	{ ASK_PART(propose_ask, allow, allow_ask) },
};

struct approve_ask {
	struct machine_ask machine;
	const char *hash;
};

static const struct ask_row approve_ask_rows[] = {
	{ "HASH", "hash of the plan, as printed by propose", ASK_TEXT(approve_ask, hash),
	  .argument = true, .required = true },
	{ ASK_PART(approve_ask, machine, machine_ask) },
};

struct proposal_answer {
	const char *hash, *command, *state;
	const char **plan; /* a line a change */
	size_t n_plan, changes, refused;
	long long expires_s;
};

static const struct shape_row proposal_rows[] = {
	{ "hash", "Hash that names the plan, machine, boot and expiry.",
	  SHAPE_TEXT(proposal_answer, hash), .title = "plan" },
	{ "state", "waits: not yet approved; approved; used; nothing: no changes to make.",
	  SHAPE_TEXT(proposal_answer, state), .title = "state" },
	{ "changes", "Number of changes that would be made.", SHAPE_COUNT(proposal_answer, changes),
	  .title = "changes" },
	{ "plan", "Each change: setting, object, present and new value.",
	  SHAPE_TEXT_LIST(proposal_answer, plan, n_plan), .title = "changes" },
	{ "refused", "Number of changes that a gate refuses.",
	  SHAPE_COUNT(proposal_answer, refused), .title = "refused" },
	{ "expires_s", "Seconds until the plan expires.", SHAPE_COUNT(proposal_answer, expires_s),
	  .title = "expires in", .unit = "s" },
	{ "command", "Command that approves the plan, or applies it.",
	  SHAPE_TEXT(proposal_answer, command), .unknown = SHAPE_NULL, .title = "next" },
};
static const struct shape proposal_shape = SHAPE(proposal_answer, proposal);

static const struct result_shape propose_result = {
	.name = "propose",
	.title = "gputune propose, approve",
	.meaning = "A plan that waits for approval, or is approved.",
	.shape = &proposal_shape,
	.exit_codes = 1u << EXIT_CLEAN | 1u << EXIT_FINDINGS,
};

static void fill(struct arena *a, const struct planned *p, struct proposal_answer *out)
{
	out->plan = arena_array(a, p->plan.n + 1, sizeof(*out->plan));
	for (size_t i = 0; i < p->plan.n; i++) {
		const struct change *c = &p->plan.changes[i];

		if (!c->gate)
			out->plan[out->n_plan++] = arena_printf(
				a, "%s%s%s: %s -> %s", c->s->id, *c->target ? " " : "", c->target,
				c->before ? c->before : "unknown", c->after);
	}
	out->changes = plan_open_changes(&p->plan);
	out->refused = p->plan.n - out->changes;
	out->expires_s = APPROVAL_S;
}

static const char *next_command(struct door *d, const struct planned *p,
				const struct proposal_answer *x)
{
	bool waits = strcmp(x->state, "waits") == 0;

	if (strcmp(x->state, "used") == 0)
		return NULL;
	return machine_command(d->arena, p->m, waits, waits ? "approve %s" : "apply --approved %s",
			       x->hash);
}

static int propose(struct door *d, struct host *h, const struct propose_ask *ask,
		   struct proposal_answer *out)
{
	struct planned p = { 0 };
	struct err e = { 0 };
	int code = door_profile(d, &ask->settings, &p.profile);

	code = code ? code : door_plan(d, h, ask->allow.allow, &p);
	if (code)
		return code;
	fill(d->arena, &p, out);
	out->hash = "";
	out->state = "nothing";
	if (!out->changes)
		return EXIT_CLEAN;
	if (approval_propose(h, d->arena, plan_json(&p.plan, EXIT_FINDINGS), ask->allow.allow,
			     &out->hash, &e))
		return door_fail(d, EXIT_NOT_APPLIED, &e);
	out->state = "waits";
	out->command = next_command(d, &p, out);
	return EXIT_FINDINGS;
}

/* The plan of a hash, as it would be applied now. */
static int read_plan(struct door *d, struct host *h, const char *hash, struct approval *waiting,
		     struct planned *p, struct proposal_answer *out)
{
	struct err e = { 0 };
	int code;

	if (approval_read(h, d->arena, hash, waiting, &e))
		return door_fail(d, EXIT_NOT_APPLIED, &e);
	code = door_plan_json(d, h, waiting->plan, hash, waiting->allow, p);
	if (code)
		return code;
	fill(d->arena, p, out);
	out->hash = hash;
	out->state = waiting->state;
	out->expires_s = waiting->left_ms / 1000;
	return 0;
}

static int show(struct door *d, struct host *h, const struct propose_ask *ask,
		struct proposal_answer *out)
{
	struct approval waiting = { 0 };
	struct planned p = { 0 };
	int code;

	if (ask->settings.profile || ask->settings.only || ask->settings.skip || ask->allow.allow)
		return door_refuse(d, EXIT_USAGE, "--waiting already selects the plan");
	code = read_plan(d, h, ask->waiting, &waiting, &p, out);
	if (!code)
		out->command = next_command(d, &p, out);
	approval_free(&waiting);
	return code ? code : EXIT_FINDINGS;
}

static int propose_answer(struct door *d, const struct propose_ask *ask,
			  struct proposal_answer *out)
{
	int code = door_check_overlay(d, &ask->machine, false);
	HOST_AUTO *h = code ? NULL : door_change_host(d, &ask->machine, false);

	code = code || h ? code : -EXIT_USAGE;
	return code ? code : ask->waiting ? show(d, h, ask, out) : propose(d, h, ask, out);
}

static int approve(struct door *d, struct host *h, const struct approve_ask *ask,
		   struct proposal_answer *out)
{
	struct approval waiting = { 0 };
	struct planned p = { 0 };
	struct err e = { 0 };
	int code = read_plan(d, h, ask->hash, &waiting, &p, out);

	if (!code && strcmp(waiting.state, "used") == 0)
		code = door_refuse(d, EXIT_NOT_APPLIED, "plan %s was used: propose it again",
				   ask->hash);
	if (!code) {
		const struct plan_view how = { .verbose = d->verbose,
					       .ledger = door_ledger(d, h, p.m) };

		code = door_agreed(
			d, page_plan(d->arena, p.m, &p.plan, &how),
			arena_printf(d->arena, "Approve %s, to be applied once within %lld s?",
				     changes_text(d->arena, out->changes), waiting.left_ms / 1000));
	}
	if (!code && approval_grant(h, d->arena, &waiting, &e))
		code = door_fail(d, EXIT_NOT_APPLIED, &e);
	out->state = "approved";
	out->command = code ? NULL : next_command(d, &p, out);
	approval_free(&waiting);
	return code;
}

static int approve_answer(struct door *d, const struct approve_ask *ask,
			  struct proposal_answer *out)
{
	const char *why = approval_no_person(d->arena);
	HOST_AUTO *h = NULL;
	int code;

	if (!why && (d->agreed || !d->attended))
		why = "--yes cannot approve: a person must answer";
	if (why)
		return door_refuse(d, EXIT_NOT_APPLIED, "%s", why);
	code = door_check_overlay(d, &ask->machine, false);
	h = code ? NULL : door_change_host(d, &ask->machine, false);
	code = code || h ? code : -EXIT_USAGE;
	return code ? code : approve(d, h, ask, out);
}

static struct doc *proposal_page(struct arena *a, const struct proposal_answer *x)
{
	struct doc *d = doc_new(a);

	shape_pairs(d, "Proposed plan", &proposal_shape, x, 0);
	return d;
}

VERB_ANSWER(propose_any, propose_answer, propose_ask, proposal_answer)
VERB_ANSWER(approve_any, approve_answer, approve_ask, proposal_answer)
VERB_PAGE_OF(proposal_page_any, proposal_page, proposal_answer)

/* clang-format off */
const struct verb propose_verb = {
	.name = "propose", .group = VERB_CHANGE, .summary = "store a plan for a person to approve",
	.about = "Makes a plan, like \"gputune plan\", and stores it for 10 minutes. \"gputune approve HASH\" "
	  "approves it; \"gputune apply --approved HASH\" applies it once.",
	.words = "request ask-for",
	.examples = EXAMPLES({ "sudo propose memory", "a plan for one group of settings" },
		{ "propose --host demo:dgx-spark --overlay try", "for a captured machine" }),
	.ask = ASK_OF(propose_ask, NULL, propose_ask_rows), .answer = propose_any, .result = &propose_result,
	.page = proposal_page_any, .changes = true,
};

const struct verb approve_verb = {
	.name = "approve", .group = VERB_CHANGE, .summary = "approve a proposed plan, as root at a terminal",
	.about = "Shows the plan and asks. It can then be applied once, on this machine, in this boot, until "
	  "it expires. Approve in a terminal of your own, not in the terminal of the agent or its server.",
	.words = "confirm permit agree",
	.examples = EXAMPLES({ "sudo approve 0123456789abcdef0123456789abcdef", "the plan with that hash" },
		{ "sudo approve 0123456789abcdef0123456789abcdef --host demo:dgx-spark --overlay try",
		  "for a captured machine" }),
	.ask = ASK_OF(approve_ask, NULL, approve_ask_rows), .answer = approve_any, .result = &propose_result,
	.page = proposal_page_any, .changes = true, .own_process = true,
};
