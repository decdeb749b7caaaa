/* SPDX-License-Identifier: Apache-2.0 */
/* gputune slurm: a passive look at the machine, and the node drained or brought back. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "look/settings/findings.h"
#include "machine/host/command.h"
#include "many/fleet/node.h"
#include "render/doc.h"
#include "verbs/earlier.h"
#include "verbs/verbs.h"

/* Both calls together and the look at the machine stay below two seconds. */
enum { SCONTROL_MS = 800, SCONTROL_BYTES = 1 << 16 };

struct slurm_ask {
	struct profile_ask settings;
	struct earlier_ask since;
	const char *scontrol;
	bool dry_run, exit_only;
};

static int scontrol_check(const char *path, struct err *e)
{
	if (path[0] == '/')
		return 0;
	return err_set(e, -EINVAL, "expected an absolute path, got \"%s\"", path);
}

static const struct ask_row slurm_ask_rows[] = {
	{ ASK_PART(slurm_ask, since, earlier_ask) },
	{ ASK_PART(slurm_ask, settings, profile_ask) },
	{ "dry-run", "show the changes without writing anything", ASK_FLAG(slurm_ask, dry_run),
	  .letter = 'n' },
	{ "exit-only", "do not run scontrol: a prolog's exit code 1 drains the node",
	  ASK_FLAG(slurm_ask, exit_only) },
	{ "scontrol", "path of scontrol, if not in /usr/bin or /usr/sbin",
	  ASK_TEXT(slurm_ask, scontrol), .arg = "PATH", .files = true, .check = scontrol_check },
};
static const struct ask_shape slurm_ask_shape = ASK_SHAPE(slurm_ask, NULL, slurm_ask_rows);

struct slurm_answer {
	const char *node, *reason, *done;
};

static const struct shape_row slurm_rows[] = {
	{ "node", "Node name in Slurm.", SHAPE_TEXT(slurm_answer, node) },
	{ "reason", "Why the node is unhealthy; null if it is not.",
	  SHAPE_TEXT(slurm_answer, reason), .unknown = SHAPE_NULL },
	{ "done", "Action on the node, done or planned; null without a Slurm action.",
	  SHAPE_TEXT(slurm_answer, done), .unknown = SHAPE_NULL },
};
static const struct shape slurm_shape = SHAPE(slurm_answer, slurm);

/* Results of verbs alone. */
static const struct result_shape slurm_result = {
	.name = "slurm",
	.title = "gputune slurm",
	.meaning = "Health of this Slurm node, and the action taken.",
	.shape = &slurm_shape,
	.exit_codes = 1u << EXIT_CLEAN | 1u << EXIT_FINDINGS,
};

struct slurm {
	struct door *d;
	const char *node;
	const char *scontrol;
	const char *conf; /* "SLURM_CONF=/path"; NULL */
};

/* Slurm's own configuration path goes along; nothing else of our environment does. */
static int scontrol(struct slurm *s, const char *const *words, const char **output, struct err *e)
{
	char *argv[12] = { 0 };
	struct command_result res = { 0 };
	size_t n = 0;
	int code;

	if (s->conf) {
		argv[n++] = arena_strdup(s->d->arena, "env");
		argv[n++] = arena_strdup(s->d->arena, s->conf);
	}
	argv[n++] = arena_strdup(s->d->arena, s->scontrol);
	for (; *words && n < 11; words++)
		argv[n++] = arena_strdup(s->d->arena, *words);
	code = command_run(s->d->arena, argv, SCONTROL_MS, SCONTROL_BYTES, &res);
	if (code == -ETIME)
		return err_set(e, code, "scontrol did not answer within %d ms", SCONTROL_MS);
	if (code)
		return err_set(e, code, "cannot run scontrol: %s", strerror(-code));
	if (res.status) {
		const char *said = *res.errors ? res.errors : res.output;

		return err_set(e, -EIO, "scontrol failed: %.*s", (int)strcspn(said, "\n"), said);
	}
	*output = res.output;
	return 0;
}

static int look(struct slurm *s, struct node_state *out, struct err *e)
{
	const char *const words[] = { "--oneliner", "show", "node", s->node, NULL };
	const char *output = "";
	int code = scontrol(s, words, &output, e);

	return code ? code : node_parse(s->d->arena, s->node, output, out, e);
}

static int update(struct slurm *s, const char *reason, struct err *e)
{
	struct arena *a = s->d->arena;
	const char *name = arena_printf(a, "NodeName=%s", s->node), *ignored;
	const char *const drain[] = { "update", name, "State=DRAIN",
				      arena_printf(a, "Reason=%s", reason ? reason : ""), NULL };
	const char *const resume[] = { "update", name, "State=RESUME", NULL };

	return scontrol(s, reason ? drain : resume, &ignored, e);
}

/* Does what has to be done: 0, or as answers. */
static int act(struct slurm *s, bool dry, const char *reason, const char **done)
{
	struct node_state now = { 0 };
	struct err e = { 0 };
	int code = look(s, &now, &e);

	if (code)
		return door_fail(s->d, EXIT_BLIND, &e);
	*done = "is not drained";
	switch (node_decide(&now, reason)) {
	case NODE_DRAIN:
		*done = now.drained ? "stays drained" : dry ? "would be drained" : "drained";
		code = dry ? 0 : update(s, reason, &e);
		break;
	case NODE_UNDRAIN:
		*done = dry ? "would be resumed" : "resumed";
		code = dry ? 0 : update(s, NULL, &e);
		break;
	case NODE_THEIRS:
		*done = now.drained
				? "was drained by another user, and is left unchanged"
				: "was taken out of service by another user, and is left unchanged";
		break;
	case NODE_LEAVE:
		*done = now.drained ? "stays drained" : *done;
		break;
	}
	if (!code)
		return 0;
	*done = NULL;
	return door_fail(s->d, EXIT_BLIND, &e);
}

/* Passive: no library is started that check would not start, nothing runs on a GPU. 0, or as
 * answers: the earlier reading is none. */
static int slurm_examine(struct door *d, const struct slurm_ask *ask, const struct profile *p,
			 bool *seen, const char **reason)
{
	HOST_AUTO *h = d->live(d->ctx);
	struct machine *m = door_machine(d, h, &(struct door_look){ .lean = !ask->since.since });
	struct findings f;
	const char *wrong;
	int code = door_earlier(d, &ask->since, m);

	if (code == 0) {
		settings_check(d->arena, m, p, door_read_knob, h, &f);
		/* Who names settings means them; else it is the machine's health that counts. */
		wrong = findings_unfit(d->arena, &f, ask->settings.only != NULL);
		*seen = f.n > 0 && f.count[VERDICT_UNKNOWN] == 0;
		*reason = wrong ? node_reason(d->arena, wrong) : NULL;
	}
	return code;
}

static const char *node_name(struct arena *a)
{
	const char *given = getenv("SLURMD_NODENAME");
	char host[65] = { 0 };

	if (given && *given)
		return given;
	if (gethostname(host, sizeof(host) - 1))
		return "";
	host[strcspn(host, ".")] = '\0';
	return arena_strdup(a, host);
}

static int slurm_prepare(struct door *d, const char *scontrol, struct slurm *s)
{
	const char *conf = getenv("SLURM_CONF");

	*s = (struct slurm){ .d = d,
			     .node = node_name(d->arena),
			     .scontrol = scontrol ? scontrol : "scontrol" };
	if (!node_name_ok(s->node))
		return door_refuse(d, EXIT_USAGE, "invalid node name \"%s\"", s->node);
	if (conf && conf[0] == '/')
		s->conf = arena_printf(d->arena, "SLURM_CONF=%s", conf);
	else if (scontrol)
		s->conf = "LC_ALL=C"; /* env finds a program by its path */
	return 0;
}

static int slurm_answer(struct door *d, const struct slurm_ask *ask, bool prolog,
			struct slurm_answer *out)
{
	struct profile p;
	struct slurm s;
	bool seen = false;
	int code = door_profile(d, &ask->settings, &p);

	code = code ? code : slurm_prepare(d, ask->scontrol, &s);
	code = code ? code : slurm_examine(d, ask, &p, &seen, &out->reason);
	if (code)
		return code;
	out->node = s.node;
	/* A job starts without a question to the controller when nothing is wrong. */
	if (prolog && !out->reason)
		return EXIT_CLEAN;
	/* Slurm's "Prolog and Epilog Guide": no Slurm commands in a prolog; a failure drains. */
	if (ask->exit_only) {
		out->done = out->reason ? "is unfit" : NULL;
		return out->reason ? EXIT_FINDINGS : EXIT_CLEAN;
	}
	/* What could not be seen is no proof of health: such a node is not brought back. */
	if (!out->reason && !seen) {
		struct node_state now;
		struct err e = { 0 };

		if (look(&s, &now, &e) == 0 && now.drained && now.ours)
			return door_refuse(d, EXIT_BLIND,
					   "some checks are unreadable: node %s stays drained",
					   s.node);
		return EXIT_CLEAN;
	}
	code = act(&s, ask->dry_run, out->reason, &out->done);
	return out->reason ? EXIT_FINDINGS : code;
}

static int healthcheck_answer(struct door *d, const void *ask, void *answer)
{
	return slurm_answer(d, ask, false, answer);
}

static int prolog_answer(struct door *d, const void *ask, void *answer)
{
	return slurm_answer(d, ask, true, answer);
}

static struct doc *slurm_page_of(struct arena *a, const struct slurm_answer *s)
{
	struct doc *d = doc_new(a);

	if (s->done)
		doc_text(d, "%s: node %s %s", s->reason ? s->reason : "gputune: healthy", s->node,
			 s->done);
	return d;
}
VERB_PAGE_OF(slurm_page, slurm_page_of, slurm_answer)

static const struct verb healthcheck_verb = {
	.name = "healthcheck",
	.summary = "drain this node if it is unhealthy, resume it if healthy",
	.about = "A HealthCheckProgram: drains the node when a health check of high severity fails "
		 "(with --only: when a selected check fails). Resumes what gputune drained. "
		 "Unreadable checks never drain or resume a node.",
	.examples = EXAMPLES({ "slurm healthcheck --dry-run", "preview first" },
			     { "slurm healthcheck --only gpu", "GPUs alone" }),
	.ask = &slurm_ask_shape,
	.answer = healthcheck_answer,
	.result = &slurm_result,
	.page = slurm_page,
};

static const struct verb prolog_verb = {
	.name = "prolog",
	.summary = "before a job: drain this node if it is unhealthy",
	.about = "Drains the node and exits with 1 if it is unhealthy; Slurm then requeues the "
		 "job. Unreadable checks never drain a node.",
	.exits = "1: the node is unhealthy",
	.examples = EXAMPLES({ "slurm prolog --dry-run", "preview first" },
			     { "slurm prolog --exit-only",
			       "run no Slurm command: the exit code drains the node" },
			     { "slurm prolog --only gpu", "GPUs alone" }),
	.ask = &slurm_ask_shape,
	.answer = prolog_answer,
	.result = &slurm_result,
	.page = slurm_page,
};

static const struct verb *const slurm_subs[] = { &healthcheck_verb, &prolog_verb, NULL };

const struct verb slurm_verb = {
	.name = "slurm",
	.group = VERB_MANY,
	.summary = "drain this Slurm node when unhealthy, resume it when healthy",
	.about = "Checks the machine without disturbing jobs, and drains or resumes the node.",
	.words = "drain scontrol hpc",
	.examples = EXAMPLES({ "slurm healthcheck --dry-run", "show what would be done" },
			     { "slurm prolog --dry-run", "show what would be done before a job" }),
	.subs = slurm_subs,
};
