/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A libnccl whose ranks are threads that copy within the driver's stand-in. It has no
 * ncclAlltoAll, as versions before 2.28. GPUTUNE_STUB_NCCL steers it, words read at each call:
 *
 *   wrong     rank 0 gets one wrong bit
 *   hang      the last rank never comes
 *   stuck     nor does it end when it is aborted
 *   refuse    communicators cannot be made
 *   sockets   the log says that TCP is used
 */
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "cuda/nccl.h"

/* Not there: ncclAlltoAll. */
#define NCCL_CALL(field, symbol, params) int stub_##field params __asm__(symbol);
#define stub_all_to_all stub_nothing
#include "cuda/nccl.def"
#undef stub_all_to_all

enum { RANKS_MAX = 8, OPS_MAX = 64 };

/* One world: ranks meet, exchange addresses, and meet again. */
static struct world {
	pthread_mutex_t lock;
	pthread_cond_t all;
	int n, here;
	unsigned turn;
	bool aborted;
	const void *from[RANKS_MAX];
	const void *mail[RANKS_MAX][RANKS_MAX];
} world = { PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER, 0, 0, 0, false, { 0 }, { { 0 } } };

struct nccl_comm {
	int rank;
};

static struct nccl_comm comms[RANKS_MAX];

/* A thread's open group. */
static _Thread_local struct {
	bool open;
	struct op {
		bool send;
		int peer;
		void *at;
		size_t bytes;
		struct nccl_comm *c;
	} ops[OPS_MAX];
	int n;
} group;

static bool setting(const char *word)
{
	const char *all = getenv("GPUTUNE_STUB_NCCL");

	return all && strstr(all, word);
}

/* False when it was aborted meanwhile. */
static bool meet(void)
{
	bool well;

	pthread_mutex_lock(&world.lock);
	if (++world.here == world.n) {
		world.here = 0;
		world.turn++;
		pthread_cond_broadcast(&world.all);
	} else {
		unsigned turn = world.turn;

		while (turn == world.turn && !world.aborted)
			pthread_cond_wait(&world.all, &world.lock);
	}
	well = !world.aborted;
	pthread_mutex_unlock(&world.lock);
	return well;
}

static bool comes(const struct nccl_comm *c)
{
	struct timespec nap = { 0, 10000000 };

	if (c->rank != world.n - 1 || !(setting("hang") || setting("stuck")))
		return true;
	while (!world.aborted || setting("stuck"))
		nanosleep(&nap, NULL);
	return false;
}

static void log_line(const char *text, const char *how)
{
	const char *path = getenv("NCCL_DEBUG_FILE"), *level = getenv("NCCL_DEBUG");
	FILE *f = path && level && strcmp(level, "INFO") == 0 ? fopen(path, how) : NULL;

	if (!f)
		return;
	fputs(text, f);
	fclose(f);
}

int stub_version(int *out)
{
	*out = 22109;
	return 0;
}

int stub_start_all(struct nccl_comm **out, int n, const int *devices)
{
	(void)devices;
	if (setting("refuse") || n > RANKS_MAX)
		return 2;
	world.n = n;
	world.here = 0;
	world.aborted = false;
	for (int i = 0; i < n; i++) {
		comms[i].rank = i;
		out[i] = &comms[i];
	}
	log_line(setting("sockets")
			 ? "box:1 NCCL INFO Channel 00/0 : 0[0] -> 1[0] [send] via NET/Socket/0\n"
			 : "box:1 NCCL INFO Channel 00/0 : 0[0] -> 1[1] via P2P/CUMEM/read\n",
		 "w");
	return 0;
}

int stub_end(struct nccl_comm *c)
{
	(void)c;
	return 0;
}

int stub_abort(struct nccl_comm *c)
{
	(void)c;
	pthread_mutex_lock(&world.lock);
	world.aborted = true;
	pthread_cond_broadcast(&world.all);
	pthread_mutex_unlock(&world.lock);
	return 0;
}

int stub_async_error(struct nccl_comm *c, int *out)
{
	(void)c;
	*out = 0;
	return 0;
}

int stub_log_again(void)
{
	return 0;
}

/* --- exchanges ----------------------------------------------------------------------------------
 */

/* what(out, own rank) from everybody's addresses, then put in place when all have read. */
static int exchange(struct nccl_comm *c, cuda_address from, cuda_address to, size_t bytes,
		    void (*what)(char *out, int rank, size_t bytes))
{
	char *out = calloc(1, bytes ? bytes : 1);

	if (!out || !comes(c)) {
		free(out);
		return 3;
	}
	world.from[c->rank] = (const void *)(uintptr_t)from;
	if (meet()) {
		what(out, c->rank, bytes);
		if (meet()) {
			memcpy((void *)(uintptr_t)to, out, bytes);
			if (setting("wrong") && c->rank == 0)
				((char *)(uintptr_t)to)[bytes / 2] ^= 4;
		}
	}
	free(out);
	return world.aborted ? 3 : meet() ? 0 : 3;
}

static void add_up(char *out, size_t offset, size_t bytes)
{
	for (size_t i = 0; i < bytes; i += 4) {
		float sum = 0;

		for (int r = 0; r < world.n; r++) {
			float v;

			memcpy(&v, (const char *)world.from[r] + offset + i, 4);
			sum += v;
		}
		memcpy(out + i, &sum, 4);
	}
}

static void reduce(char *out, int rank, size_t bytes)
{
	(void)rank;
	add_up(out, 0, bytes);
}

static void scatter(char *out, int rank, size_t bytes)
{
	add_up(out, (size_t)rank * bytes, bytes);
}

static void gather(char *out, int rank, size_t bytes)
{
	size_t part = bytes / (size_t)world.n;

	(void)rank;
	for (int r = 0; r < world.n; r++)
		memcpy(out + (size_t)r * part, world.from[r], part);
}

static void cast(char *out, int rank, size_t bytes)
{
	(void)rank;
	memcpy(out, world.from[0], bytes);
}

int stub_all_reduce(cuda_address from, cuda_address to, size_t count, int type, int op,
		    struct nccl_comm *c, struct cuda_stream *s)
{
	(void)s;
	if (type != NCCL_FLOAT32 || op != NCCL_SUM)
		return 4;
	if (c->rank == 0)
		log_line("box:1 NCCL INFO AllReduce: 64 Bytes -> Algo RING proto LL "
			 "channel{Lo..Hi}={0..1}\n",
			 "a");
	return exchange(c, from, to, count * 4, reduce);
}

int stub_reduce_scatter(cuda_address from, cuda_address to, size_t count, int type, int op,
			struct nccl_comm *c, struct cuda_stream *s)
{
	(void)s;
	return type != NCCL_FLOAT32 || op != NCCL_SUM ? 4
						      : exchange(c, from, to, count * 4, scatter);
}

int stub_all_gather(cuda_address from, cuda_address to, size_t count, int type, struct nccl_comm *c,
		    struct cuda_stream *s)
{
	(void)s;
	(void)type;
	return exchange(c, from, to, count * 4 * (size_t)world.n, gather);
}

int stub_broadcast(cuda_address from, cuda_address to, size_t count, int type, int root,
		   struct nccl_comm *c, struct cuda_stream *s)
{
	(void)s;
	(void)type;
	return root ? 4 : exchange(c, from, to, count * 4, cast);
}

/* --- pairs --------------------------------------------------------------------------------------
 */

int stub_group_begin(void)
{
	group.open = true;
	group.n = 0;
	return 0;
}

static int add(bool send, cuda_address at, size_t count, int peer, struct nccl_comm *c)
{
	if (!group.open || group.n == OPS_MAX)
		return 5;
	group.ops[group.n++] = (struct op){ send, peer, (void *)(uintptr_t)at, count * 4, c };
	return 0;
}

int stub_send(cuda_address from, size_t count, int type, int peer, struct nccl_comm *c,
	      struct cuda_stream *s)
{
	(void)s;
	(void)type;
	return add(true, from, count, peer, c);
}

int stub_receive(cuda_address to, size_t count, int type, int peer, struct nccl_comm *c,
		 struct cuda_stream *s)
{
	(void)s;
	(void)type;
	return add(false, to, count, peer, c);
}

int stub_group_end(void)
{
	struct nccl_comm *c = group.n ? group.ops[0].c : NULL;

	group.open = false;
	if (!c)
		return 0;
	if (!comes(c))
		return 3;
	for (int i = 0; i < group.n; i++)
		if (group.ops[i].send)
			world.mail[c->rank][group.ops[i].peer] = group.ops[i].at;
	if (!meet())
		return 3;
	for (int i = 0; i < group.n; i++)
		if (!group.ops[i].send)
			memcpy(group.ops[i].at, world.mail[group.ops[i].peer][c->rank],
			       group.ops[i].bytes);
	if (setting("wrong") && c->rank == 0)
		for (int i = 0; i < group.n; i++)
			if (!group.ops[i].send)
				((char *)group.ops[i].at)[0] ^= 4;
	return meet() ? 0 : 3;
}
