/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A libnccl whose ranks, in one process or several of one machine, copy through memory they share.
 * It has no ncclAlltoAll, as versions before 2.28. GPUTUNE_STUB_NCCL steers it, words read at each
 * call:
 *
 *   wrong         rank 0 gets one wrong bit
 *   hang          the last rank never comes
 *   stuck         nor does it end when it is aborted
 *   die           the last rank's process ends at its 30th operation
 *   refuse        communicators cannot be made
 *   sockets       the log says that TCP is used
 *   version=22304 what it says of itself
 *
 * Compiled with STUB_OLDER it is another build of it: version 2.20.5, slower, and with
 * GPUTUNE_STUB_OLDER=crash it crashes where communicators are made.
 */
#include <fcntl.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "machine/cuda/nccl.h"

/* Not there: ncclAlltoAll. */
#define NCCL_CALL(field, symbol, params) int stub_##field params __asm__(symbol);
#define stub_all_to_all stub_nothing
#include "machine/cuda/nccl.def"
#undef stub_all_to_all

enum { RANKS_MAX = 8, OPS_MAX = 64, SLOT = 1 << 20, MAIL = 1 << 18, DIE_AT = 30 };

/* What all ranks see. Untouched pages cost nothing. */
struct world {
	atomic_int joined;
	atomic_uint posted[RANKS_MAX], done[RANKS_MAX]; /* operations of each rank */
	atomic_uint sent[RANKS_MAX][RANKS_MAX], taken[RANKS_MAX][RANKS_MAX];
	char slot[RANKS_MAX][SLOT];
	char mail[RANKS_MAX][RANKS_MAX][MAIL];
};

struct nccl_comm {
	struct world *w;
	int rank, n;
	unsigned turn; /* collectives so far */
	unsigned ops;
	struct nccl_comm *next;
};

/* All there ever were: threads that hang may still look at theirs. */
static _Atomic(struct nccl_comm *) comms;

/* Of this process: its abort is not the others'. */
static atomic_bool aborted;

enum kind { SEND, RECEIVE, REDUCE, SCATTER, GATHER, CAST };

struct op {
	enum kind kind;
	struct nccl_comm *c;
	cuda_address from, to;
	size_t bytes; /* of what it gets; SEND: gives */
	int peer;
};

/* A thread's open group. */
static _Thread_local struct {
	int depth, n;
	struct op ops[OPS_MAX];
} group;

#ifdef STUB_OLDER
enum { OLDER = 1, SLOW_NS = 300000 };
#else
enum { OLDER = 0, SLOW_NS = 0 };
#endif

static bool setting(const char *word)
{
	const char *all = getenv("GPUTUNE_STUB_NCCL");

	return all && strstr(all, word);
}

static void nap(void)
{
	struct timespec t = { 0, 20000 };

	nanosleep(&t, NULL);
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
	const char *all = getenv("GPUTUNE_STUB_NCCL"), *at = all ? strstr(all, "version=") : NULL;

	*out = at ? atoi(at + 8) : OLDER ? 22005 : 22109;
	return 0;
}

/* --- communicators ---------------------------------------------------------------------------- */

static void log_paths(void)
{
	log_line(setting("sockets")
			 ? "box:1 NCCL INFO Channel 00/0 : 0[0] -> 1[0] [send] via NET/Socket/0\n"
			 : "box:1 NCCL INFO Channel 00/0 : 0[0] -> 1[1] via P2P/CUMEM/read\n",
		 "w");
}

static struct nccl_comm *make(struct world *w, int rank, int n)
{
	struct nccl_comm *c = calloc(1, sizeof(*c));

	if (OLDER && getenv("GPUTUNE_STUB_OLDER"))
		abort();
	if (!c)
		return NULL;
	*c = (struct nccl_comm){ .w = w, .rank = rank, .n = n };
	c->next = atomic_load(&comms);
	while (!atomic_compare_exchange_weak(&comms, &c->next, c))
		continue;
	return c;
}

int stub_start_all(struct nccl_comm **out, int n, const int *devices)
{
	struct world *w;

	(void)devices;
	if (setting("refuse") || n > RANKS_MAX)
		return 2;
	w = mmap(NULL, sizeof(*w), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (w == MAP_FAILED)
		return 2;
	atomic_store(&aborted, false);
	atomic_store(&w->joined, n);
	for (int i = 0; i < n; i++)
		out[i] = make(w, i, n);
	log_paths();
	return 0;
}

int stub_unique_id(struct nccl_id *out)
{
	int fd;

	memset(out, 0, sizeof(*out));
	snprintf(out->bytes, sizeof(out->bytes), "/tmp/gputune-stub-nccl-XXXXXX");
	fd = mkostemp(out->bytes, O_CLOEXEC);
	if (fd < 0 || ftruncate(fd, sizeof(struct world)))
		return 2;
	close(fd);
	return 0;
}

/* The last one to come takes the file away. In a group this would wait for those after it: the
 * stand-in has one GPU a process then. */
int stub_start_rank(struct nccl_comm **out, int n, struct nccl_id id, int rank)
{
	struct world *w;
	int fd;

	if (setting("refuse"))
		unlink(id.bytes);
	if (setting("refuse") || n > RANKS_MAX || rank >= n || id.bytes[127])
		return 2;
	fd = open(id.bytes, O_RDWR | O_CLOEXEC);
	if (fd < 0)
		return 2;
	w = mmap(NULL, sizeof(*w), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	close(fd);
	if (w == MAP_FAILED)
		return 2;
	atomic_store(&aborted, false);
	if (atomic_fetch_add(&w->joined, 1) + 1 == n)
		unlink(id.bytes);
	while (!group.depth && atomic_load(&w->joined) < n)
		nap();
	*out = make(w, rank, n);
	log_paths();
	return *out ? 0 : 2;
}

int stub_end(struct nccl_comm *c)
{
	(void)c;
	return 0;
}

int stub_abort(struct nccl_comm *c)
{
	(void)c;
	atomic_store(&aborted, true);
	return 0;
}

int stub_async_error(struct nccl_comm *c, int *out)
{
	(void)c;
	*out = 0;
	return 0;
}

/* A word that is none makes the real one start its log anew at every call, which is slow; here
 * nothing works then. */
static atomic_bool unknown_level;

int stub_log_again(void)
{
	static const char *const known[] = { "VERSION", "WARN", "INFO", "ABORT", "TRACE" };
	const char *level = getenv("NCCL_DEBUG");
	bool right = !level;

	for (size_t i = 0; level && i < sizeof(known) / sizeof(known[0]); i++)
		right = right || strcmp(level, known[i]) == 0;
	atomic_store(&unknown_level, !right);
	return 0;
}

/* --- exchanges -------------------------------------------------------------------------------- */

static void *memory(cuda_address at)
{
	return (void *)(uintptr_t)at;
}

/* False when it was aborted meanwhile. */
static bool await(const atomic_uint *counter, unsigned least)
{
	while ((int)(atomic_load(counter) - least) < 0) {
		if (atomic_load(&aborted))
			return false;
		nap();
	}
	return true;
}

static bool comes(struct nccl_comm *c)
{
	struct timespec slow = { 0, SLOW_NS };

	if (OLDER)
		nanosleep(&slow, NULL);
	if (c->rank != c->n - 1)
		return true;
	if (++c->ops == DIE_AT && setting("die"))
		_exit(9);
	if (!setting("hang") && !setting("stuck"))
		return true;
	while (!atomic_load(&aborted) || setting("stuck"))
		nap();
	return false;
}

/* What the rank gives, once nobody reads its last any more. */
static int post(const struct op *o)
{
	struct nccl_comm *c = o->c;
	struct world *w = c->w;
	size_t bytes = o->kind == GATHER    ? o->bytes / (size_t)c->n
		       : o->kind == SCATTER ? o->bytes * (size_t)c->n
					    : o->bytes;

	if (atomic_load(&unknown_level))
		return 4;
	if (!comes(c) || bytes > SLOT)
		return 3;
	for (int r = 0; r < c->n; r++)
		if (!await(&w->done[r], c->turn))
			return 3;
	memcpy(w->slot[c->rank], memory(o->from), bytes);
	atomic_store(&w->posted[c->rank], ++c->turn);
	return 0;
}

static void add_up(const struct op *o, size_t offset)
{
	for (size_t i = 0; i < o->bytes; i += 4) {
		float sum = 0;

		for (int r = 0; r < o->c->n; r++) {
			float v;

			memcpy(&v, o->c->w->slot[r] + offset + i, 4);
			sum += v;
		}
		memcpy((char *)memory(o->to) + i, &sum, 4);
	}
}

static void fetch(const struct op *o)
{
	struct nccl_comm *c = o->c;
	size_t part = o->bytes / (size_t)c->n;

	if (o->kind == REDUCE || o->kind == SCATTER)
		add_up(o, o->kind == REDUCE ? 0 : (size_t)c->rank * o->bytes);
	else if (o->kind == CAST)
		memcpy(memory(o->to), c->w->slot[0], o->bytes);
	for (int r = 0; o->kind == GATHER && r < c->n; r++)
		memcpy((char *)memory(o->to) + (size_t)r * part, c->w->slot[r], part);
	if (setting("wrong") && c->rank == 0)
		((char *)memory(o->to))[o->bytes / 2] ^= 4;
}

static int complete(const struct op *o)
{
	struct nccl_comm *c = o->c;

	for (int r = 0; r < c->n; r++)
		if (!await(&c->w->posted[r], c->turn))
			return 3;
	fetch(o);
	atomic_store(&c->w->done[c->rank], c->turn);
	return 0;
}

static int give(const struct op *o)
{
	struct nccl_comm *c = o->c;
	atomic_uint *sent = &c->w->sent[c->rank][o->peer];

	if (!comes(c) || o->bytes > MAIL ||
	    !await(&c->w->taken[c->rank][o->peer], atomic_load(sent)))
		return 3;
	memcpy(c->w->mail[c->rank][o->peer], memory(o->from), o->bytes);
	atomic_fetch_add(sent, 1);
	return 0;
}

static int take(const struct op *o)
{
	struct nccl_comm *c = o->c;
	atomic_uint *taken = &c->w->taken[o->peer][c->rank];

	if (!await(&c->w->sent[o->peer][c->rank], atomic_load(taken) + 1))
		return 3;
	memcpy(memory(o->to), c->w->mail[o->peer][c->rank], o->bytes);
	if (setting("wrong") && c->rank == 0)
		((char *)memory(o->to))[0] ^= 4;
	atomic_fetch_add(taken, 1);
	return 0;
}

/* --- calls ------------------------------------------------------------------------------------ */

int stub_group_begin(void)
{
	if (!group.depth++)
		group.n = 0;
	return 0;
}

/* All that gives, then all that gets: a thread may have several ranks. */
int stub_group_end(void)
{
	int r = 0;

	if (--group.depth)
		return 0;
	for (int i = 0; i < group.n && !r; i++)
		if (group.ops[i].kind != RECEIVE)
			r = group.ops[i].kind == SEND ? give(&group.ops[i]) : post(&group.ops[i]);
	for (int i = 0; i < group.n && !r; i++)
		if (group.ops[i].kind != SEND)
			r = group.ops[i].kind == RECEIVE ? take(&group.ops[i])
							 : complete(&group.ops[i]);
	group.n = 0;
	return r;
}

static int add(struct op o)
{
	if (group.n == OPS_MAX)
		return 5;
	stub_group_begin();
	group.ops[group.n++] = o;
	return stub_group_end();
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
	return add((struct op){ REDUCE, c, from, to, count * 4, 0 });
}

int stub_reduce_scatter(cuda_address from, cuda_address to, size_t count, int type, int op,
			struct nccl_comm *c, struct cuda_stream *s)
{
	(void)s;
	if (type != NCCL_FLOAT32 || op != NCCL_SUM)
		return 4;
	return add((struct op){ SCATTER, c, from, to, count * 4, 0 });
}

int stub_all_gather(cuda_address from, cuda_address to, size_t count, int type, struct nccl_comm *c,
		    struct cuda_stream *s)
{
	(void)s;
	(void)type;
	return add((struct op){ GATHER, c, from, to, count * 4 * (size_t)c->n, 0 });
}

int stub_broadcast(cuda_address from, cuda_address to, size_t count, int type, int root,
		   struct nccl_comm *c, struct cuda_stream *s)
{
	(void)s;
	(void)type;
	return root ? 4 : add((struct op){ CAST, c, from, to, count * 4, 0 });
}

int stub_send(cuda_address from, size_t count, int type, int peer, struct nccl_comm *c,
	      struct cuda_stream *s)
{
	(void)s;
	(void)type;
	if (!group.depth)
		return 5;
	return add((struct op){ SEND, c, from, 0, count * 4, peer });
}

int stub_receive(cuda_address to, size_t count, int type, int peer, struct nccl_comm *c,
		 struct cuda_stream *s)
{
	(void)s;
	(void)type;
	if (!group.depth)
		return 5;
	return add((struct op){ RECEIVE, c, 0, to, count * 4, peer });
}
