/* SPDX-License-Identifier: Apache-2.0 */
/* gputune slurm: a passive look at the machine, and the node drained or brought back. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "front/session.h"
#include "many/fleet/node.h"
#include "machine/host/command.h"
#include "look/probe/probe.h"
#include "look/settings/findings.h"

/* Both calls together and the look at the machine stay below two seconds. */
enum { SCONTROL_MS = 800, SCONTROL_BYTES = 1 << 16 };

struct slurm {
	struct run *r;
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
		argv[n++] = arena_strdup(&s->r->arena, "env");
		argv[n++] = arena_strdup(&s->r->arena, s->conf);
	}
	argv[n++] = arena_strdup(&s->r->arena, s->scontrol);
	for (; *words && n < 11; words++)
		argv[n++] = arena_strdup(&s->r->arena, *words);
	code = command_run(&s->r->arena, argv, SCONTROL_MS, SCONTROL_BYTES, &res);
	if (code == -ETIME)
		return err_set(e, code, "scontrol gave no answer within %d ms", SCONTROL_MS);
	if (code)
		return err_set(e, code, "scontrol cannot be run: %s", strerror(-code));
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

	return code ? code : node_parse(&s->r->arena, s->node, output, out, e);
}

static int update(struct slurm *s, const char *reason, struct err *e)
{
	struct arena *a = &s->r->arena;
	const char *name = arena_printf(a, "NodeName=%s", s->node), *ignored;
	const char *const drain[] = { "update", name, "State=DRAIN",
				      arena_printf(a, "Reason=%s", reason ? reason : ""), NULL };
	const char *const resume[] = { "update", name, "State=RESUME", NULL };

	return scontrol(s, reason ? drain : resume, &ignored, e);
}

/* Does what has to be done and says it in one line. */
static int act(struct slurm *s, const char *reason)
{
	struct node_state now = { 0 };
	struct err e = { 0 };
	bool dry = s->r->value[OPT_DRY_RUN] != NULL;
	const char *said = "is not drained";
	int code = look(s, &now, &e);

	if (code)
		return complain(EXIT_BLIND, &e);
	switch (node_decide(&now, reason)) {
	case NODE_DRAIN:
		said = now.drained ? "stays drained" : dry ? "would be drained" : "drained";
		code = dry ? 0 : update(s, reason, &e);
		break;
	case NODE_UNDRAIN:
		said = dry ? "would be brought back" : "brought back";
		code = dry ? 0 : update(s, NULL, &e);
		break;
	case NODE_THEIRS:
		said = now.drained ? "was drained by somebody else and is left alone"
				   : "was taken out by somebody else and is left alone";
		break;
	case NODE_LEAVE:
		said = now.drained ? "stays drained" : said;
		break;
	}
	if (code)
		return complain(EXIT_BLIND, &e);
	if (!s->r->value[OPT_QUIET])
		fprintf(s->r->out, "%s: node %s %s\n", reason ? reason : "gputune: healthy",
			s->node, said);
	return 0;
}

/* Passive: no library is started that check would not start, nothing runs on a GPU. False: the
 * earlier reading is none, which is said. */
static bool verb_slurm_examine(struct run *r, const struct profile *p, bool *seen,
			       const char **reason)
{
	struct host *h = host_open_live();
	struct machine *m = ARENA_NEW(&r->arena, struct machine);
	struct probe probe = { .h = h, .a = &r->arena, .m = m, .lean = !r->value[OPT_SINCE] };
	struct findings f;
	const char *wrong;
	bool read;

	probe_machine(&probe);
	if (!(read = run_since(r, m)))
		goto out;
	settings_check(&r->arena, m, p, run_read_knob, h, &f);
	/* Who names settings means them; else it is the machine's health that counts. */
	wrong = findings_unfit(&r->arena, &f, r->value[OPT_ONLY] != NULL);
	*seen = f.n > 0 && f.count[VERDICT_UNKNOWN] == 0;
	*reason = wrong ? node_reason(&r->arena, wrong) : NULL;
out:
	host_close(h);
	return read;
}

static const char *node_name(struct run *r)
{
	const char *given = getenv("SLURMD_NODENAME");
	char host[65] = { 0 };

	if (given && *given)
		return given;
	if (gethostname(host, sizeof(host) - 1))
		return "";
	host[strcspn(host, ".")] = '\0';
	return arena_strdup(&r->arena, host);
}

static int verb_slurm_prepare(struct run *r, struct slurm *s)
{
	const char *conf = getenv("SLURM_CONF");

	*s = (struct slurm){ .r = r,
			     .node = node_name(r),
			     .scontrol =
				     r->value[OPT_SCONTROL] ? r->value[OPT_SCONTROL] : "scontrol" };
	if (!node_name_ok(s->node))
		return complain_text(EXIT_USAGE, "\"%s\" is no name of a node", s->node);
	if (r->value[OPT_SCONTROL] && s->scontrol[0] != '/')
		return complain_text(EXIT_USAGE, "--scontrol takes a whole path, not \"%s\"",
				     s->scontrol);
	if (conf && conf[0] == '/')
		s->conf = arena_printf(&r->arena, "SLURM_CONF=%s", conf);
	else if (r->value[OPT_SCONTROL])
		s->conf = "LC_ALL=C"; /* env finds a program by its path */
	return 0;
}

int verb_slurm(struct run *r)
{
	bool prolog = strcmp(r->args[0], "prolog") == 0, seen;
	const char *reason;
	struct profile p;
	struct slurm s;
	int code;

	if (!prolog && strcmp(r->args[0], "healthcheck") != 0)
		return complain_text(EXIT_USAGE, "slurm knows no mode \"%s\"; it knows %s",
				     r->args[0], "healthcheck, prolog");
	if (!run_profile(r, &p) || verb_slurm_prepare(r, &s) != 0)
		return EXIT_USAGE;
	if (!verb_slurm_examine(r, &p, &seen, &reason))
		return EXIT_USAGE;
	/* A job starts without a question to the controller when nothing is wrong. */
	if (prolog && !reason)
		return EXIT_CLEAN;
	/* What could not be seen is no proof of health: such a node is not brought back. */
	if (!reason && !seen && !prolog) {
		struct node_state now;
		struct err e = { 0 };

		if (look(&s, &now, &e) == 0 && now.drained && now.ours)
			return complain_text(EXIT_BLIND,
					     "not everything could be seen: node %s stays drained",
					     s.node);
		return EXIT_CLEAN;
	}
	code = act(&s, reason);
	return reason ? EXIT_FINDINGS : code;
}
