/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One step on all ranks of all processes: rank 0 says what, does its own part, and waits for the
 * others; they do what it says. Without other processes it is the own part alone.
 */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "measure/bench/collective.h"

/* Connecting takes that long at most; what the others get when ours has failed, and beyond ours. */
enum { CONNECT_S = 130, GRACE_S = 4, SIZES_MOST_GIB = 64, TIMES_MOST = 2000 };

enum { FLAG_IN_PLACE = 1, FLAG_SMALL = 2, FLAG_TOGETHER = 4 };
enum { SAID_SOCKETS = 1 };

static const char *const step_name[COLLECTIVE_STEPS] = {
	[COLLECTIVE_CONNECT] = "connecting the GPUs",	 [COLLECTIVE_MAKE] = "getting memory",
	[COLLECTIVE_FIRST] = "the first operation",	 [COLLECTIVE_ROW] = "a row of operations",
	[COLLECTIVE_AGAIN] = "an operation on new data", [COLLECTIVE_CHECK] = "checking",
	[COLLECTIVE_PLANT] = "checking the check",	 [COLLECTIVE_DROP] = "giving memory back",
	[COLLECTIVE_CLOSE] = "disconnecting the GPUs",
};

/* --- rank 0 -------------------------------------------------------------------------------------
 */

/* own, *e: how our part went. What the others say goes into *out. */
static int hear_all(struct collective_shared *s, enum collective_step step, double limit_s, int own,
		    struct frame_done *out, struct err *e)
{
	struct err far = { 0 };
	int r;

	*out = (struct frame_done){ 0 };
	if (!s->world)
		return own;
	r = world_gather(s->world, s->broken ? GRACE_S : limit_s + GRACE_S, step_name[step], out,
			 &far);
	/* Ours failed first, and they wait for it; or it failed because of theirs. */
	if (own && (r == 0 || (r == -ETIME && own != -ECANCELED))) {
		if (s->broken)
			world_break(s->world, e->text);
		return own;
	}
	if (r == 0)
		return 0;
	*e = far;
	/* Nothing that they were to take part in will ever be over. */
	if (r == -EIO || r == -ETIME || r == -ECONNRESET) {
		s->broken = true;
		world_break(s->world, e->text);
	}
	return r;
}

static int tell(struct collective_shared *s, const struct frame_order *o, struct err *e)
{
	return s->world ? world_tell(s->world, o, e) : 0;
}

int collective_all(struct collective_run *run, enum collective_step step, struct err *e)
{
	struct collective_shared *s = run->arg->shared;
	struct frame_order o = { .what = step,
				 .op = run->arg->op,
				 .bytes = run->arg->bytes,
				 .times = (uint32_t)run->times };
	struct frame_done said;
	int r;

	o.flags = (run->arg->in_place ? (unsigned)FLAG_IN_PLACE : 0u) |
		  (run->arg->small ? (unsigned)FLAG_SMALL : 0u) |
		  (run->together ? (unsigned)FLAG_TOGETHER : 0u);
	r = tell(s, &o, e);
	if (r) {
		s->broken = true;
		if (step == COLLECTIVE_DROP)
			collective_local(run, step, e);
		return r;
	}
	r = collective_local(run, step, e);
	r = hear_all(s, step, collective_limit_s(run), r, &said, e);
	run->seconds = fmax(run->seconds, (double)said.picoseconds / 1e12);
	s->paths.sockets = s->paths.sockets || said.flags & SAID_SOCKETS;
	if (step == COLLECTIVE_FIRST && !*s->paths.via)
		snprintf(s->paths.via, sizeof(s->paths.via), "%.*s", (int)sizeof(s->paths.via) - 1,
			 said.text);
	return r;
}

static int connect_all(struct collective_shared *s, struct err *e)
{
	struct frame_order o = { .what = COLLECTIVE_CONNECT };
	struct nccl_id id = { { 0 } };
	struct frame_done said;
	int r = 0;

	s->first = 0;
	s->all = s->world ? world_total(s->world) : s->places.n;
	if (s->world)
		r = nccl_check(s->places.items[0].gpu, s->nccl.api.unique_id(&id), e,
			       "a place to meet");
	if (r)
		return r;
	memcpy(o.id, id.bytes, sizeof(o.id));
	r = tell(s, &o, e);
	r = r ? r : collective_connect(s, &id, e);
	/* The others cannot connect without us. */
	s->broken = s->broken || (r && s->world);
	return hear_all(s, COLLECTIVE_CONNECT, CONNECT_S, r, &said, e);
}

int collective_open(struct collective_shared *s, struct err *e)
{
	int r = 0;

	if (s->broken)
		return err_set(e, -EIO,
			       "a collective before this one failed or hung and was aborted; NCCL "
			       "is not asked again");
	if (s->open)
		return 0;
	if (!s->nccl.lib.handle)
		r = nccl_open(&s->nccl, e);
	r = r ? r : connect_all(s, e);
	s->open = s->open && r == 0;
	return r;
}

void collective_close(struct collective_shared *s)
{
	struct frame_order o = { .what = COLLECTIVE_CLOSE };
	struct frame_done said;
	struct err ignored = { 0 };
	bool told = s->open && tell(s, &o, &ignored) == 0;

	collective_disconnect(s);
	if (told)
		hear_all(s, COLLECTIVE_CLOSE, CONNECT_S, 0, &said, &ignored);
	if (!s->world)
		nccl_log_end(&s->nccl);
}

/* --- the others ---------------------------------------------------------------------------------
 */
struct follower {
	const struct bench_env *env;
	struct collective_shared *s;
	struct collective_arg arg;
	struct collective_run run;
	bool made;
};

static bool sound(const struct frame_order *o, const struct collective_shared *s)
{
	if (o->what < COLLECTIVE_CONNECT || o->what >= COLLECTIVE_STEPS)
		return false;
	if (o->what == COLLECTIVE_CONNECT)
		return o->total >= 2 && o->first + s->places.n <= o->total;
	if (o->what == COLLECTIVE_CLOSE)
		return true;
	return o->op < COLLECTIVE_OPS && o->bytes > 0 &&
	       o->bytes <= (uint64_t)SIZES_MOST_GIB << 30 && o->times <= TIMES_MOST &&
	       (o->what != COLLECTIVE_ROW || o->times > 0);
}

static int connect_own(struct collective_shared *s, const struct frame_order *o, struct err *e)
{
	struct nccl_id id;

	s->first = o->first;
	s->all = o->total;
	memcpy(id.bytes, o->id, sizeof(id.bytes));
	return collective_connect(s, &id, e);
}

static void drop_own(struct follower *f)
{
	struct err ignored;

	if (f->made)
		collective_local(&f->run, COLLECTIVE_DROP, &ignored);
	f->made = false;
}

static int make_own(struct follower *f, const struct frame_order *o, struct err *e)
{
	drop_own(f);
	f->arg = (struct collective_arg){ .op = (enum collective_op)o->op,
					  .bytes = o->bytes,
					  .in_place = o->flags & FLAG_IN_PLACE,
					  .small = o->flags & FLAG_SMALL,
					  .shared = f->s };
	f->run = (struct collective_run){ .arg = &f->arg, .env = f->env };
	f->made = true;
	return collective_local(&f->run, COLLECTIVE_MAKE, e);
}

static int obey(struct follower *f, const struct frame_order *o, struct err *e)
{
	struct collective_shared *s = f->s;

	if (!sound(o, s))
		return err_set(e, -EBADMSG, "rank 0 asks for what no rank does");
	if (o->what == COLLECTIVE_CLOSE) {
		drop_own(f);
		collective_disconnect(s);
		return 0;
	}
	if (s->broken)
		return err_set(e, -EIO, "a collective before this one failed or was aborted");
	if (o->what == COLLECTIVE_CONNECT)
		return connect_own(s, o, e);
	if (!s->open)
		return err_set(e, -EBADMSG, "rank 0 has not connected the GPUs yet");
	if (o->what == COLLECTIVE_MAKE)
		return make_own(f, o, e);
	if (o->what == COLLECTIVE_DROP) {
		drop_own(f);
		return 0;
	}
	if (!f->made || !f->run.ranks)
		return err_set(e, -EBADMSG, "rank 0 has not said what to do yet");
	f->run.times = o->times;
	f->run.together = o->flags & FLAG_TOGETHER;
	return collective_local(&f->run, (enum collective_step)o->what, e);
}

int collective_follow(const struct bench_env *env, struct collective_shared *s, struct err *e)
{
	struct follower *f = calloc(1, sizeof(*f));
	struct frame_order o;
	int r;

	if (!f)
		return err_set(e, -ENOMEM, "no memory");
	f->env = env;
	f->s = s;
	while ((r = world_next(s->world, &o, e)) == 0) {
		struct frame_done d = { 0 };
		struct err own = { 0 };

		d.error = (uint32_t)-obey(f, &o, &own);
		d.picoseconds = (uint64_t)(f->run.seconds * 1e12);
		d.flags = s->paths.sockets ? SAID_SOCKETS : 0;
		snprintf(d.text, sizeof(d.text), "%.*s", WIRE_TEXT_MAX,
			 d.error ? own.text : s->paths.via);
		r = world_answer(s->world, &d, e);
		if (r)
			break;
	}
	/* What hangs may still touch it. */
	if (!f->run.stuck) {
		drop_own(f);
		free(f);
	}
	collective_disconnect(s);
	nccl_log_end(&s->nccl);
	return r == 1 ? 0 : r;
}
