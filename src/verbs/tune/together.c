/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One process on each of several machines: all come by the same windows in the same order, each
 * switches its own machine, and none goes on before all are ready. The figure is rank 0's (of a
 * time the slowest one's), so all come to the same verdict without exchanging it.
 */
#include <errno.h>
#include <limits.h>
#include <math.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>

#include "base/clock.h"
#include "measure/bench/net/world.h"
#include "verbs/tune/tune.h"

/* Besides the time that a run may take: switching, settling, a job's end. */
enum { SLACK_S = 120, TAPED_MAX = 1000000 };

struct together {
	struct world *w;
	struct tuning *t;
	double now_s, limit_s; /* rank 0's clock when all last met */
	double most;	       /* of the others' figures, at rank 0 */
	bool alike;	       /* all have the same candidates */
	uint64_t digest;
	struct engine_clock clock;
};

/* What rank 0 says at each meeting. */
struct shared {
	double value, now_s;
	uint64_t seed, digest;
};

/* Who is gone cannot be waited for: the run is interrupted, and can be resumed. */
static int gone(struct together *x, const struct err *e)
{
	door_warn(x->t->g.d, "%s", e->text);
	return -EINTR;
}

static int lead(struct together *x, int code, double *value, struct err *e)
{
	struct frame_order o = { .what = 1 };
	struct frame_done all = { 0 };
	struct err other = { 0 };
	struct shared all_get;
	int r = world_gather(x->w, x->limit_s, "a run", &all, &other);

	if (r == -ECONNRESET || r == -ETIME)
		return gone(x, &other);
	if (r && !code) {
		code = r;
		*e = other;
	}
	x->most = (double)all.picoseconds * 1e-12;
	if (!x->t->prove.metric || strcmp(x->t->prove.metric, "wall") == 0)
		*value = fmax(*value, x->most);
	x->now_s = clock_mono_s();
	x->t->seen.uses |= all.flags;
	all_get = (struct shared){ *value, x->now_s, x->t->g.proof.seed, x->digest };
	o.op = (uint32_t)-code;
	o.flags = x->t->seen.uses;
	memcpy(o.id, &all_get, sizeof(all_get));
	r = world_command(x->w, &o, &other);
	return r ? gone(x, &other) : code;
}

static int follow(struct together *x, int code, double *value, struct err *e)
{
	struct frame_done own = { .error = (uint32_t)-code,
				  .flags = x->t->seen.uses,
				  .picoseconds = (uint64_t)(*value * 1e12) };
	struct frame_order o = { 0 };
	struct shared all_get;
	int r;

	if (code)
		snprintf(own.text, sizeof(own.text), "%.*s", WIRE_TEXT_MAX, e->text);
	r = world_answer(x->w, &own, e);
	r = r ? r : world_next(x->w, &o, e);
	if (r > 0)
		err_set(e, -EINTR, "rank 0 has ended");
	if (r)
		return gone(x, e);
	memcpy(&all_get, o.id, sizeof(all_get));
	*value = all_get.value;
	x->now_s = all_get.now_s;
	x->t->seen.uses = o.flags;
	x->t->g.proof.seed = all_get.seed;
	x->alike = all_get.digest == x->digest;
	if (o.op && !code)
		err_set(e, -(int)o.op, "another machine of the job failed: see rank 0");
	return o.op ? -(int)o.op : 0;
}

/* All meet: the worst code, and rank 0's figure, time and seed, are everybody's. */
static int meet(void *ctx, int code, struct window_reading *r, struct err *e)
{
	struct together *x = ctx;
	double none = 0, *value = r && !code ? &r->value[0] : &none;

	return world_leads(x->w) ? lead(x, code, value, e) : follow(x, code, value, e);
}

static double together_now(void *ctx)
{
	return ((const struct together *)ctx)->now_s;
}

static int join(struct together *x, const struct ranks *r, const char *token, struct err *e)
{
	struct world_ask ask = { .stop = &x->t->g.stop };
	struct frame_join own = { .nccl = 1, .gpus = 1 };
	struct utsname host;
	int code = world_ask_of(r, token, &ask, e);

	if (code)
		return code;
	/* No GPU takes part: a number that nobody else has stands for it. */
	randombytes_buf(own.gpu, sizeof(own.gpu[0]));
	own.machine = own.gpu[0];
	snprintf(own.tool, sizeof(own.tool), "%s", GPUTUNE_VERSION);
	if (uname(&host) == 0)
		snprintf(own.text, sizeof(own.text), "%.*s", WIRE_NAME_MAX, host.nodename);
	code = world_open(&ask, &own, &x->w, e);
	explicit_bzero(&ask.meet, sizeof(ask.meet));
	return code;
}

int tune_together(struct tuning *t)
{
	struct door *d = t->g.d;
	const char *token =
		t->ask->ranks.token ? t->ask->ranks.token : getenv("GPUTUNE_TOKEN_FILE");
	struct together *x = ARENA_NEW(d->arena, struct together);
	struct ranks r = { 0 };
	struct err e = { 0 };

	if (t->ask->ranks.ranks == 1 || t->dry || !d->launched)
		return 0;
	if (ranks_find(d->arena, &r, &e))
		return door_fail(d, EXIT_USAGE, &e);
	if (!r.ranks)
		return 0;
	if (r.locals > 1 && !t->ask->machine.capture)
		return door_refuse(d, EXIT_USAGE,
				   "%s started %u processes on this machine: start one per machine",
				   r.by, r.locals);
	if (!d->agreed)
		return door_refuse(d, EXIT_USAGE,
				   "no prompt is possible with several machines: give --yes");
	*x = (struct together){ .t = t, .limit_s = t->ask->pairs.limit_s + SLACK_S };
	if (join(x, &r, token, &e))
		return door_fail(d, EXIT_BLIND, &e);
	if (meet(x, 0, NULL, &e))
		return -EXIT_BLIND;
	/* What only rank 0 prints is its to find; the others run the job. */
	if (!world_leads(x->w)) {
		t->prove.metric = NULL;
		t->prove.better = UINT_MAX;
	}
	t->together = x;
	t->g.engine.agree = meet;
	t->g.engine.agree_ctx = x;
	x->clock = (struct engine_clock){ together_now, engine_real.wait, x };
	t->g.engine.clock = &x->clock;
	return 0;
}

int tune_alike(struct tuning *t, const char *digest)
{
	struct together *x = t->together;
	/* What is taken from the file: as many as each of them has. */
	double missing = TAPED_MAX - (double)(t->tape ? tape_windows(t->tape) : 0);
	struct window_reading r = { .value = { missing } };
	struct err e = { 0 };
	int code;

	if (!x)
		return 0;
	x->digest = strtoull(digest, NULL, 16);
	code = meet(x, 0, &r, &e);
	if (!code && !world_leads(x->w) && !x->alike)
		code = err_set(&e, -EINVAL, "its settings or jobs differ from rank 0's");
	r.value[0] = fmax(missing, x->most);
	code = meet(x, code, &r, &e);
	if (!code && t->tape)
		tape_limit(t->tape, (size_t)(TAPED_MAX - r.value[0]));
	return code ? door_fail(t->g.d, EXIT_NOT_APPLIED, &e) : 0;
}

int tune_apart(struct tuning *t, int code)
{
	struct together *x = t->together;
	struct err e = { 0 };
	bool leads;

	if (!x)
		return code;
	if (t->g.proof.trouble)
		err_set(&e, -EUCLEAN, "%s", t->g.proof.trouble);
	if (t->measured && meet(x, t->g.proof.trouble ? -EUCLEAN : 0, NULL, &e) &&
	    !t->g.proof.trouble)
		door_warn(t->g.d, "%s", e.text);
	leads = world_leads(x->w);
	world_close(x->w);
	t->together = NULL;
	return leads || code < 0 ? code : ANSWERED_ELSEWHERE;
}
