/* SPDX-License-Identifier: Apache-2.0 */
/* The processes that a collective runs in: their GPUs, and how they come together. */
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <sodium.h>
#include <unistd.h>

#include "machine/host/pmix.h"
#include "measure/bench/collective.h"
#include "measure/bench/ranks.h"

/* Who cannot take part says so soon, and does not wait long to be heard. */
enum { UNABLE_S = 10 };

/* 64 bits that differ where the text does. */
static uint64_t collective_team_mark_of(const char *text)
{
	uint8_t sum[crypto_hash_sha256_BYTES];
	uint64_t v;

	crypto_hash_sha256(sum, (const uint8_t *)text, strlen(text));
	memcpy(&v, sum, sizeof(v));
	return v;
}

/* The kernel's number of this boot: the same in all containers of a machine, and no other's. */
static uint64_t machine_mark(const char *host)
{
	char text[80] = "";
	int fd = open("/proc/sys/kernel/random/boot_id", O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? -1 : read(fd, text, sizeof(text) - 1);

	if (fd >= 0)
		close(fd);
	return collective_team_mark_of(n > 0 ? text : host);
}

static void collective_team_describe(const struct collective_shared *s, struct frame_join *j)
{
	char host[WIRE_NAME_MAX + 1] = "";

	if (gethostname(host, sizeof(host) - 1))
		snprintf(host, sizeof(host), "unknown");
	/* Nothing else may go over the line. */
	for (char *c = host; *c; c++)
		*c = *c > ' ' && *c <= '~' ? *c : '?';
	memcpy(j->text, host, sizeof(host));
	snprintf(j->tool, sizeof(j->tool), "%.*s", WIRE_NAME_MAX, GPUTUNE_VERSION);
	j->machine = machine_mark(host);
	j->nccl = (uint32_t)s->nccl.version;
	j->gpus = (uint32_t)(s->places.n < WIRE_GPUS_MAX ? s->places.n : WIRE_GPUS_MAX);
	for (size_t i = 0; i < j->gpus; i++) {
		const struct cuda_gpu *g = s->places.items[i].gpu;
		char text[160];

		snprintf(text, sizeof(text), "%llx %s %s", (unsigned long long)j->machine,
			 *g->uuid ? g->uuid : host, g->pci);
		j->gpu[i] = collective_team_mark_of(text);
	}
}

/* With several processes on a machine each has the GPU of its place, unless it sees only one. */
static int own_gpu(const struct ranks *r, struct gpu_places *on, struct err *e)
{
	if (r->locals < 2 || on->n < 2)
		return 0;
	if (r->local >= on->n)
		return err_set(
			e, -ENODEV,
			"this is process %u of %u on this machine, which has only %zu usable GPUs",
			r->local + 1, r->locals, on->n);
	on->items += r->local;
	on->n = 1;
	return 0;
}

static int find_own(const struct bench_env *env, const struct ranks *r, struct collective_shared *s,
		    struct err *e)
{
	struct bench_cases none = { 0 };
	int code;

	s->nccl.log = -1;
	gpu_places_find(env, &none, &s->places);
	if (!s->places.n)
		return err_set(e, none.usage ? -EINVAL : -ENODEV, "%s",
			       none.none ? none.none : "no GPU");
	code = own_gpu(r, &s->places, e);
	if (code)
		s->places.n = 0;
	return code ? code : nccl_open(&s->nccl, e);
}

int team_join(const struct bench_env *env, const struct ranks *r, const char *token_file,
	      struct collective_shared **out, struct err *e)
{
	struct world_ask ask = { .stop = env->stop };
	struct collective_shared *s = heap_array(1, sizeof(*s));
	struct frame_join own = { 0 };
	struct err unable = { 0 };
	int code, can;

	code = world_ask_of(r, token_file, &ask, e);
	can = code ? 0 : find_own(env, r, s, &unable);
	collective_team_describe(s, &own);
	if (can)
		ask.limit_s = UNABLE_S;
	/* Who cannot tells the others too: they need not wait. */
	code = code ? code : world_open(&ask, &own, &s->world, e);
	explicit_bzero(&ask.meet, sizeof(ask.meet));
	/* Another waits for what rank 0 has put; all have it now. */
	pmix_leave();
	if (can) {
		*e = unable;
		code = can;
	}
	if (code) {
		world_close(s->world);
		free(s);
		return code;
	}
	s->all = world_leads(s->world) ? world_total(s->world) : s->places.n;
	*out = s;
	return 0;
}

int team_follow(const struct bench_env *env, struct collective_shared *team, struct err *e)
{
	return collective_follow(env, team, e);
}

double team_near_cpu_s(const struct collective_shared *team)
{
	return team && team->world ? world_near_cpu_s(team->world) : 0;
}

void team_end(struct collective_shared *team)
{
	if (!team)
		return;
	nccl_log_end(&team->nccl);
	world_close(team->world);
	if (!team->stuck)
		free(team);
}

size_t team_gpus(const struct bench_env *env, const char **why)
{
	struct bench_cases none = { 0 };
	struct gpu_places on;

	gpu_places_find(env, &none, &on);
	*why = none.none;
	return on.n;
}

/*
 * Communicators, made and ended. Either can hang, and nothing can be aborted then: each has a
 * thread of its own that is left behind.
 */

/* Connecting; ending. */
enum { START_S = 120, END_S = 20 };

struct start {
	struct collective_shared *s;
	struct nccl_id id;
	int result;
	struct err e;
};

/* One process for all: the library connects them itself. */
static int start_alone(struct start *t)
{
	struct collective_shared *s = t->s;
	int devices[CUDA_GPUS_MAX];

	for (size_t i = 0; i < s->places.n; i++)
		devices[i] = s->places.items[i].gpu->ordinal;
	return nccl_check(s->places.items[0].gpu,
			  s->nccl.api.start_all(s->comms, (int)s->places.n, devices), &t->e,
			  "connecting the GPUs");
}

static int start_ranks(struct start *t)
{
	struct collective_shared *s = t->s;
	const struct nccl_api *api = &s->nccl.api;
	struct cuda_gpu *g = s->places.items[0].gpu;
	bool group = s->places.n > 1;
	int r = group ? nccl_check(g, api->group_begin(), &t->e, "a group") : 0;

	for (size_t i = 0; i < s->places.n && r == 0; i++) {
		g = s->places.items[i].gpu;
		r = cuda_use(g, &t->e);
		r = r ? r
		      : nccl_check(g,
				   api->start_rank(&s->comms[i], (int)s->all, t->id,
						   (int)(s->first + i)),
				   &t->e, "connecting to the other processes");
	}
	if (group && r == 0)
		r = nccl_check(g, api->group_end(), &t->e, "connecting to the other processes");
	return r;
}

static void *start_main(void *arg)
{
	struct start *t = arg;

	t->result = t->s->world ? start_ranks(t) : start_alone(t);
	return NULL;
}

static void *end_main(void *arg)
{
	struct start *t = arg;

	for (size_t i = 0; i < t->s->places.n; i++)
		t->s->nccl.api.end(t->s->comms[i]);
	return NULL;
}

/* False when it is not over in time; t is the thread's then. */
static bool guarded(struct start *t, void *(*work)(void *t), double limit_s)
{
	struct timespec until;
	pthread_t thread;

	clock_gettime(CLOCK_REALTIME, &until);
	until.tv_sec += (time_t)limit_s;
	if (pthread_create(&thread, NULL, work, t))
		return false;
	if (pthread_timedjoin_np(thread, NULL, &until) == 0)
		return true;
	pthread_detach(thread);
	return false;
}

/* Communicators between all; id: what rank 0 chose. */
static int collective_connect(struct collective_shared *s, const struct nccl_id *id, struct err *e)
{
	struct start *t;
	int r = 0;

	for (size_t i = 0; i < s->places.n && r == 0; i++)
		r = gpu_place_open(&s->places.items[i], e);
	if (r)
		return r;
	t = heap_array(1, sizeof(*t));
	t->s = s;
	t->id = *id;
	memset(s->comms, 0, sizeof(s->comms));
	if (!guarded(t, start_main, START_S)) {
		s->broken = s->stuck = true;
		return err_set(e, -ETIME, "NCCL did not connect %zu GPUs within %d s", s->all,
			       START_S);
	}
	r = t->result;
	if (r)
		*e = t->e;
	free(t);
	s->open = r == 0;
	return r;
}

/* Ends them. */
static void collective_disconnect(struct collective_shared *s)
{
	struct start *t = s->open && !s->broken ? heap_array(1, sizeof(*t)) : NULL;

	if (t) {
		t->s = s;
		/* What hangs is left to the end of the process. */
		if (guarded(t, end_main, END_S))
			free(t);
		else
			s->stuck = true;
	}
	s->open = false;
}

/*
 * One step on all ranks of all processes: rank 0 says what, does its own part, and waits for the
 * others; they do what it says. Without other processes it is the own part alone.
 */

/* Connecting takes that long at most; what the others get when ours has failed, and beyond ours. */
enum { CONNECT_S = 130, GRACE_S = 4, SIZES_MOST_GIB = 64, TIMES_MOST = 2000 };

enum { FLAG_IN_PLACE = 1, FLAG_SMALL = 2, FLAG_TOGETHER = 4 };
enum { SAID_SOCKETS = 1 };

static const char *const step_name[COLLECTIVE_STEPS] = {
	[COLLECTIVE_CONNECT] = "connecting the GPUs",
	[COLLECTIVE_MAKE] = "allocating memory",
	[COLLECTIVE_FIRST] = "the first operation",
	[COLLECTIVE_ROW] = "a series of operations",
	[COLLECTIVE_AGAIN] = "an operation on new data",
	[COLLECTIVE_CHECK] = "checking",
	[COLLECTIVE_PLANT] = "testing the check itself",
	[COLLECTIVE_DROP] = "freeing memory",
	[COLLECTIVE_CLOSE] = "disconnecting the GPUs",
};

/* --- rank 0 ----------------------------------------------------------------------------------- */

/* own, *e: how our part went. What the others say goes into *out. */
static int team_receive_all(struct collective_shared *s, enum collective_step step, double limit_s,
			    int own, struct frame_done *out, struct err *e)
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

static int team_command(struct collective_shared *s, const struct frame_order *o, struct err *e)
{
	return s->world ? world_command(s->world, o, e) : 0;
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
	r = team_command(s, &o, e);
	if (r) {
		s->broken = true;
		if (step == COLLECTIVE_DROP)
			collective_local(run, step, e);
		return r;
	}
	r = collective_local(run, step, e);
	r = team_receive_all(s, step, collective_limit_s(run), r, &said, e);
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
			       "a rendezvous");
	if (r)
		return r;
	memcpy(o.id, id.bytes, sizeof(o.id));
	r = team_command(s, &o, e);
	r = r ? r : collective_connect(s, &id, e);
	/* The others cannot connect without us. */
	s->broken = s->broken || (r && s->world);
	return team_receive_all(s, COLLECTIVE_CONNECT, CONNECT_S, r, &said, e);
}

int collective_open(struct collective_shared *s, struct err *e)
{
	int r = 0;

	if (s->broken)
		return err_set(e, -EIO,
			       "an earlier collective failed or hung and was aborted; NCCL is not "
			       "used again");
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
	bool told = s->open && team_command(s, &o, &ignored) == 0;

	collective_disconnect(s);
	if (told)
		team_receive_all(s, COLLECTIVE_CLOSE, CONNECT_S, 0, &said, &ignored);
	if (!s->world)
		nccl_log_end(&s->nccl);
}

/* --- the others ------------------------------------------------------------------------------- */
struct follower {
	const struct bench_env *env;
	struct collective_shared *s;
	struct collective_arg arg;
	struct collective_run run;
	bool made;
};

static bool collective_team_is_valid(const struct frame_order *o, const struct collective_shared *s)
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

	if (!collective_team_is_valid(o, s))
		return err_set(e, -EBADMSG, "rank 0 sent an unknown request");
	if (o->what == COLLECTIVE_CLOSE) {
		drop_own(f);
		collective_disconnect(s);
		return 0;
	}
	if (s->broken)
		return err_set(e, -EIO, "an earlier collective failed or was aborted");
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
		return err_set(e, -EBADMSG, "rank 0 has not sent a request yet");
	f->run.times = o->times;
	f->run.together = o->flags & FLAG_TOGETHER;
	return collective_local(&f->run, (enum collective_step)o->what, e);
}

int collective_follow(const struct bench_env *env, struct collective_shared *s, struct err *e)
{
	struct follower *f = heap_array(1, sizeof(*f));
	struct frame_order o;
	int r;

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
