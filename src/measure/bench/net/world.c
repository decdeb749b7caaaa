/* SPDX-License-Identifier: Apache-2.0 */
/* Orders and answers between processes that have found each other. */
#include <errno.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include "measure/bench/net/world.h"
#include "machine/host/libraries.h"
#include "measure/bench/net/serve.h"

enum { FRAME_MS = 5000, LOOK_MS = 20 };

bool world_leads(const struct world *w)
{
	return w->rank == 0;
}

unsigned world_total(const struct world *w)
{
	return w->total;
}

size_t world_machines(const struct world *w)
{
	size_t n = 0;

	for (unsigned i = 0; i < w->ranks; i++) {
		bool seen = false;

		for (unsigned k = 0; k < i; k++)
			seen = seen || w->member[k].join.machine == w->member[i].join.machine;
		n += !seen;
	}
	return n;
}

const char *world_text(struct arena *a, const struct world *w)
{
	size_t n = world_machines(w);

	return arena_printf(a, "%u processes on %zu machine%s", w->ranks, n, PLURAL(n));
}

const char *world_placement(struct arena *a, const struct world *w)
{
	const char *text = "";

	for (unsigned i = 0; i < w->ranks; i++)
		text = arena_printf(a, "%s%srank %u: %u GPU%s of %s", text, i ? "; " : "", i,
				    w->member[i].join.gpus, PLURAL(w->member[i].join.gpus),
				    w->member[i].join.text);
	return text;
}

/* --- rank 0 ----------------------------------------------------------------------------------- */

void world_break(struct world *w, const char *why)
{
	if (!*w->over)
		snprintf(w->over, sizeof(w->over), "%s", why);
	for (unsigned i = 0; i < w->ranks; i++) {
		if (w->member[i].frames.fd >= 0)
			close(w->member[i].frames.fd);
		w->member[i].frames.fd = -1;
	}
}

int world_command(struct world *w, const struct frame_order *o, struct err *e)
{
	struct wire_frame f = { .kind = FRAME_ORDER, .order = *o };
	unsigned first = w->member[0].join.gpus;

	if (*w->over)
		return err_set(e, -ECONNRESET, "%s", w->over);
	f.order.total = w->total;
	for (unsigned i = 1; i < w->ranks; i++) {
		struct member *m = &w->member[i];
		int r;

		f.order.first = first;
		first += m->join.gpus;
		m->answered = false;
		r = frames_put(&m->frames, &f, FRAME_MS);
		if (r) {
			err_set(e, r, "%s is no longer reachable: %s", m->name, strerror(-r));
			world_break(w, e->text);
			return r;
		}
	}
	return 0;
}

/* What has come from one of them, waiting at most that long for the first byte. */
static void world_receive(struct member *m, int ms)
{
	struct pollfd p = { .fd = m->frames.fd, .events = POLLIN | POLLRDHUP };
	struct wire_frame f;
	int r;

	if (m->answered || m->gone || poll(&p, 1, ms) <= 0)
		return;
	r = frames_get(&m->frames, &f, FRAME_MS);
	if (r == 0 && f.kind == FRAME_DONE) {
		m->done = f.done;
		m->answered = true;
	} else {
		m->gone = r ? r : -EBADMSG;
	}
}

bool world_trouble(struct world *w)
{
	struct pollfd p = { .fd = w->member[0].frames.fd, .events = POLLRDHUP };

	if (*w->over)
		return true;
	if (w->rank)
		return poll(&p, 1, 0) > 0 && p.revents & (POLLRDHUP | POLLHUP | POLLERR);
	for (unsigned i = 1; i < w->ranks; i++) {
		struct member *m = &w->member[i];

		world_receive(m, 0);
		if (m->gone || (m->answered && m->done.error))
			return true;
	}
	return false;
}

static int world_gone(struct world *w, const struct member *m, const char *what, struct err *e)
{
	int r = m->gone == -EBADMSG || m->gone == -EKEYREJECTED ? m->gone : -ECONNRESET;

	if (r == -ECONNRESET)
		err_set(e, r,
			"%s disappeared during %s: its process exited, or its machine is "
			"unreachable",
			m->name, what);
	else
		err_set(e, r, "invalid data from %s", m->name);
	world_break(w, e->text);
	return r;
}

/* Who failed; one that only gave up because of others (-ECANCELED) where there is no better. */
static const struct member *world_failed(const struct world *w)
{
	const struct member *victim = NULL;

	for (unsigned i = 1; i < w->ranks; i++) {
		const struct member *m = &w->member[i];

		if (m->answered && m->done.error && m->done.error != ECANCELED)
			return m;
		if (m->answered && m->done.error)
			victim = m;
	}
	return victim;
}

/* Who is gone comes before who failed: the others fail because of it. */
static int world_judge(struct world *w, const char *what, struct frame_done *out, struct err *e)
{
	const struct member *bad = world_failed(w);

	*out = (struct frame_done){ 0 };
	for (unsigned i = 1; i < w->ranks; i++)
		if (w->member[i].gone)
			return world_gone(w, &w->member[i], what, e);
	if (bad)
		return err_set(e, -(int)bad->done.error, "%s: %s", bad->name, bad->done.text);
	for (unsigned i = 1; i < w->ranks; i++) {
		const struct member *m = &w->member[i];

		if (!m->answered)
			continue;
		if (m->done.picoseconds > out->picoseconds)
			out->picoseconds = m->done.picoseconds;
		out->flags |= m->done.flags;
		if (strlen(m->done.text) > strlen(out->text))
			memcpy(out->text, m->done.text, sizeof(out->text));
	}
	return 0;
}

int world_gather(struct world *w, double limit_s, const char *what, struct frame_done *out,
		 struct err *e)
{
	long long end = net_now_ms() + (long long)(limit_s * 1e3);
	const struct member *late;
	int r;

	if (*w->over)
		return err_set(e, -ECONNRESET, "%s", w->over);
	do {
		late = NULL;
		for (unsigned i = 1; i < w->ranks; i++) {
			struct member *m = &w->member[i];

			world_receive(m, late ? 0 : LOOK_MS);
			late = m->answered || m->gone ? late : m;
		}
		if (late && world_trouble(w) && end > net_now_ms() + WORLD_GRACE_MS)
			end = net_now_ms() + WORLD_GRACE_MS;
	} while (late && net_now_ms() < end);
	r = world_judge(w, what, out, e);
	if (r == 0 && late) {
		r = err_set(e, -ETIME, "%s did not answer within %.0f s, %s", late->name, limit_s,
			    what);
		world_break(w, e->text);
	}
	return r;
}

double world_near_cpu_s(const struct world *w)
{
	double sum = 0;

	for (unsigned i = 1; i < w->ranks; i++)
		if (w->member[i].join.machine == w->member[0].join.machine)
			sum += (double)w->member[i].done.cpu_ns / 1e9;
	return sum;
}

/* --- the others ------------------------------------------------------------------------------- */

int world_next(struct world *w, struct frame_order *out, struct err *e)
{
	struct member *lead = &w->member[0];
	struct wire_frame f = { 0 };
	int r = frames_get(&lead->frames, &f, WORLD_QUIET_S * 1000);

	if (r)
		return handshake_fail(lead->name, r, "before it closed the connection", e);
	if (f.kind == FRAME_BYE)
		return 1;
	if (f.kind == FRAME_ERROR)
		return err_set(e, -ECANCELED, "%s says: %s", lead->name, f.error.text);
	if (f.kind != FRAME_ORDER)
		return err_set(e, -EBADMSG, "%s sent a message that rank 0 never sends",
			       lead->name);
	*out = f.order;
	return 0;
}

int world_answer(struct world *w, const struct frame_done *d, struct err *e)
{
	struct wire_frame f = { .kind = FRAME_DONE, .done = *d };
	int r;

	f.done.cpu_ns = net_cpu_ns() - w->cpu_ns;
	r = frames_put(&w->member[0].frames, &f, FRAME_MS);
	return r ? handshake_fail(w->member[0].name, r, "reporting the result to it", e) : 0;
}

void world_close(struct world *w)
{
	struct wire_frame bye = { .kind = FRAME_BYE };

	if (!w)
		return;
	for (unsigned i = 1; w->rank == 0 && i < w->ranks; i++)
		if (w->member[i].frames.fd >= 0)
			frames_put(&w->member[i].frames, &bye, FRAME_MS);
	for (unsigned i = 0; i < w->ranks; i++) {
		if (w->member[i].frames.fd >= 0)
			close(w->member[i].frames.fd);
		explicit_bzero(&w->member[i].frames, sizeof(w->member[i].frames));
	}
	free(w);
}

/*
 * How processes find each other. On one machine they meet at a socket in the kernel's own name
 * space, where the kernel says which user is at the other end; on several at an address and port,
 * where both ends prove that they know the token.
 */

enum { STEP_MS = 200, SHAKE_MS = 2000, KEEP_S = 10 };

/* With one user on both sides of a socket the token proves nothing more: it is known to all. */
const struct token world_no_secret = { "gputune: same user", 18 };

struct meeting {
	const struct world_ask *ask;
	const struct token *token;
	struct world *w;
	long long end;
};

static bool stopped(const struct meeting *m)
{
	return m->ask->stop && atomic_load(m->ask->stop);
}

static socklen_t local_name(const char *job, struct sockaddr_un *out)
{
	int n;

	*out = (struct sockaddr_un){ .sun_family = AF_UNIX };
	/* The zero before it: a name of the kernel's, no file. */
	n = snprintf(out->sun_path + 1, sizeof(out->sun_path) - 1, "gputune-%u-%.70s",
		     (unsigned)geteuid(), job);
	return (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + (size_t)n);
}

static bool world_same_user(int fd)
{
	struct ucred who;
	socklen_t n = sizeof(who);

	return getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &who, &n) == 0 && who.uid == geteuid();
}

/* A machine that is switched off says nothing: the kernel asks now and then. */
static void keep_alive(int fd)
{
	int on = 1, s = KEEP_S, n = 3, ms = 2 * KEEP_S * 1000;

	net_no_delay(fd, true);
	setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof(on));
	setsockopt(fd, IPPROTO_TCP, TCP_KEEPIDLE, &s, sizeof(s));
	setsockopt(fd, IPPROTO_TCP, TCP_KEEPINTVL, &s, sizeof(s));
	setsockopt(fd, IPPROTO_TCP, TCP_KEEPCNT, &n, sizeof(n));
	setsockopt(fd, IPPROTO_TCP, TCP_USER_TIMEOUT, &ms, sizeof(ms));
}

/* --- rank 0 ----------------------------------------------------------------------------------- */

int world_listen_local(const char *job, struct err *e)
{
	struct sockaddr_un a;
	socklen_t n = local_name(job, &a);
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0), r;

	if (fd >= 0 && bind(fd, (const struct sockaddr *)&a, n) == 0 && listen(fd, SOMAXCONN) == 0)
		return fd;
	r = -errno;
	if (fd >= 0)
		close(fd);
	if (r == -EADDRINUSE)
		return err_set(e, r, "another rank 0 of this job (%s) is already waiting", job);
	return err_set(e, r, "cannot create a rendezvous socket: %s", strerror(-r));
}

static int listen_at(const struct world_ask *ask, struct err *e)
{
	struct net_address a = ask->meet.address;
	int fd = -1, r;

	if (ask->job)
		return world_listen_local(ask->job, e);
	if (ask->meet.listener)
		return ask->meet.listener;
	r = serve_listen(&a, &fd, e);
	if (r == -EADDRNOTAVAIL)
		err_hint(e, "rank 0 listens on that address, so it must be an address of rank 0's "
			    "machine");
	return r ? r : fd;
}

/* One that proved itself says which rank it is; one that comes twice is one. */
static bool joins(struct meeting *m, struct frames *frames)
{
	struct wire_frame f = { 0 };
	struct member *it;

	if (frames_get(frames, &f, SHAKE_MS) || f.kind != FRAME_JOIN || f.join.rank == 0 ||
	    f.join.rank >= m->w->ranks || m->w->member[f.join.rank].there)
		return false;
	/* From here on a stop cuts no answer short: what was begun is ended by all. */
	frames->stop = NULL;
	it = &m->w->member[f.join.rank];
	*it = (struct member){ .frames = *frames, .join = f.join, .there = true };
	snprintf(it->name, sizeof(it->name), "rank %u (%s)", f.join.rank, f.join.text);
	return true;
}

enum fate world_admit(const char *job, const struct token *t, struct caller *c, struct opening *o,
		      struct frames *out)
{
	uint8_t key[WIRE_SECRET];
	enum shake said;
	bool known;

	if (job && !world_same_user(c->fd))
		return FATE_CLOSE;
	said = accept_queue_shake(c, t, o);
	known = said == SHAKE_PROVEN && handshake_admit(c->fd, t, &c->auth, key);
	*out = (struct frames){ .fd = c->fd };
	if (known)
		wire_sides(key, &out->in, &out->out);
	explicit_bzero(key, sizeof(key));
	return known ? FATE_TAKEN : said == SHAKE_WAITS ? FATE_WAIT : FATE_CLOSE;
}

/* A stranger is forgotten. */
static enum fate world_decide(void *ctx, struct caller *c, struct opening *o)
{
	struct meeting *m = ctx;
	struct frames frames;
	enum fate fate = world_admit(m->ask->job, m->token, c, o, &frames);

	if (fate != FATE_TAKEN)
		return fate;
	frames.stop = m->ask->stop;
	if (!m->ask->job)
		keep_alive(c->fd);
	return joins(m, &frames) ? FATE_TAKEN : FATE_CLOSE;
}

static unsigned world_missing(const struct world *w, char *list, size_t size)
{
	unsigned n = 0;
	size_t at = 0;

	*list = '\0';
	for (unsigned i = 1; i < w->ranks; i++)
		if (!w->member[i].there && ++n && at + 8 < size)
			at += (size_t)snprintf(list + at, size - at, "%s%u", at ? ", " : "", i);
	return n;
}

static int wait_for_all(struct meeting *m, struct accept_queue *l, struct err *e)
{
	struct pollfd p[1 + LOBBY_PLACES];
	char list[64];

	while (world_missing(m->w, list, sizeof(list))) {
		if (stopped(m))
			return err_set(e, -EINTR, "interrupted");
		if (net_now_ms() > m->end)
			return err_set(e, -ETIME,
				       "rank %s of %u is missing: it was not started, cannot reach "
				       "rank 0, or has another token",
				       list, m->w->ranks);
		if (poll(p, (nfds_t)accept_queue_watch(l, p), STEP_MS) >= 0)
			accept_queue_turn(l, p);
	}
	return 0;
}

static int same_gpu(const struct member *a, const struct member *b, struct err *e)
{
	for (unsigned i = 0; i < a->join.gpus; i++)
		for (unsigned k = 0; k < b->join.gpus; k++)
			if (a->join.gpu[i] == b->join.gpu[k]) {
				err_set(e, -EINVAL, "%s and %s use the same GPU", a->name, b->name);
				err_hint(e,
					 "use one GPU per process: --gpus, CUDA_VISIBLE_DEVICES, "
					 "or as many processes as the machine has GPUs");
				return -EINVAL;
			}
	return 0;
}

/* All must be able, and alike. */
static int meet_judge(struct world *w, struct err *e)
{
	const struct member *lead = &w->member[0];
	int r = 0;

	for (unsigned i = 0; i < w->ranks && r == 0; i++) {
		const struct member *m = &w->member[i];
		const struct frame_join *j = &m->join;

		if (j->ranks != w->ranks)
			return err_set(e, -EINVAL, "%s was started with %u ranks, rank 0 with %u",
				       m->name, j->ranks, w->ranks);
		if (strcmp(j->tool, lead->join.tool) != 0)
			return err_set(e, -ELIBBAD, "%s has gputune %s, rank 0 %s", m->name,
				       j->tool, lead->join.tool);
		if (!j->gpus || !j->nccl)
			return err_set(e, -ENODEV, "%s has no usable %s", m->name,
				       j->gpus ? "NCCL" : "GPU");
		if (j->nccl != lead->join.nccl)
			return err_set(e, -ELIBBAD,
				       "%s has NCCL %u.%u.%u, %s has %u.%u.%u: all must have the "
				       "same version",
				       m->name, j->nccl / 10000, j->nccl / 100 % 100, j->nccl % 100,
				       lead->name, lead->join.nccl / 10000,
				       lead->join.nccl / 100 % 100, lead->join.nccl % 100);
		for (unsigned k = 0; k < i && r == 0; k++)
			r = same_gpu(&w->member[k], m, e);
		w->total += j->gpus;
	}
	return r;
}

static void world_report_why(struct world *w, const struct err *e)
{
	struct wire_frame f = { .kind = FRAME_ERROR };

	snprintf(f.error.text, sizeof(f.error.text), "%.*s", WIRE_TEXT_MAX, e->text);
	for (unsigned i = 1; i < w->ranks; i++)
		if (w->member[i].there)
			frames_put(&w->member[i].frames, &f, STEP_MS);
}

static int world_lead(struct meeting *m, const struct frame_join *own, struct err *e)
{
	struct member *self = &m->w->member[0];
	struct accept_queue lobby = { .listener = listen_at(m->ask, e),
				      .decide = world_decide,
				      .ctx = m };
	int r;

	if (lobby.listener < 0)
		return lobby.listener;
	self->join = *own;
	snprintf(self->name, sizeof(self->name), "rank 0 (%s)", own->text);
	r = wait_for_all(m, &lobby, e);
	accept_queue_close(&lobby);
	close(lobby.listener);
	r = r ? r : meet_judge(m->w, e);
	if (r)
		world_report_why(m->w, e);
	return r;
}

/* --- the others ------------------------------------------------------------------------------- */

static int world_dial_local(const char *job)
{
	struct sockaddr_un a;
	socklen_t n = local_name(job, &a);
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0), r;

	if (fd < 0)
		return -errno;
	if (connect(fd, (const struct sockaddr *)&a, n) == 0)
		return fd;
	r = -errno;
	close(fd);
	return r;
}

int world_call(const char *local, const struct net_address *at, const struct token *t,
	       const char *who, const struct net_wait *dial, const struct net_wait *shake,
	       struct frames *out, struct err *e)
{
	uint8_t key[WIRE_SECRET];
	int fd = local ? world_dial_local(local) : net_dial(at, 0, dial), r;

	*out = (struct frames){ .fd = -1 };
	if (fd < 0)
		return err_set(e, fd, "%s does not answer: %s", who, strerror(-fd));
	if (local && !world_same_user(fd))
		r = err_set(e, -EPERM, "another user has taken the socket of %s", who);
	else
		r = handshake_client(fd, who, t, shake, key, e);
	if (r) {
		close(fd);
		return r;
	}
	out->fd = fd;
	wire_sides(key, &out->out, &out->in);
	explicit_bzero(key, sizeof(key));
	return 0;
}

static int follow_once(struct meeting *m, const struct frame_join *own, struct err *e)
{
	struct member *lead = &m->w->member[0];
	struct wire_frame f = { .kind = FRAME_JOIN, .join = *own };
	struct net_wait dial = { SHAKE_MS, m->ask->stop }, shake = { SHAKE_MS * 5, m->ask->stop };
	int r;

	if (m->ask->job)
		snprintf(lead->name, sizeof(lead->name), "rank 0 on this machine");
	else
		snprintf(lead->name, sizeof(lead->name), "rank 0 at %.50s",
			 m->ask->meet.address.text);
	r = world_call(m->ask->job, &m->ask->meet.address, m->token, lead->name, &dial, &shake,
		       &lead->frames, e);
	if (r)
		return r;
	if (!m->ask->job)
		keep_alive(lead->frames.fd);
	f.join.rank = m->ask->rank;
	r = frames_put(&lead->frames, &f, SHAKE_MS);
	return r ? handshake_fail(lead->name, r, "joining", e) : 0;
}

/* Rank 0 may begin later than the others, and has places for so many at a time: strangers can push
 * out one whose answer has a long way. */
static int world_follow(struct meeting *m, const struct frame_join *own, struct err *e)
{
	static const int final[] = { 0, -EKEYREJECTED, -EBUSY, -EPROTO, -EBADMSG, -EPERM, -EINTR };
	struct timespec nap = { 0, STEP_MS / 2 * 1000000 };
	struct frames *frames = &m->w->member[0].frames;

	for (;;) {
		int r = follow_once(m, own, e);

		for (size_t i = 0; i < sizeof(final) / sizeof(final[0]); i++)
			if (r == final[i])
				return r;
		if (stopped(m) || net_now_ms() >= m->end)
			return r;
		if (frames->fd >= 0)
			close(frames->fd);
		frames->fd = -1;
		nanosleep(&nap, NULL);
	}
}

int world_ask_of(const struct ranks *r, const char *token_file, struct world_ask *out,
		 struct err *e)
{
	int code = library_open(LIBRARY_SODIUM, e);

	if (code)
		return code;
	if (r->ranks > RANKS_MAX)
		return err_set(e, -EINVAL,
			       "%s started %u processes; at most %d can measure together", r->by,
			       r->ranks, RANKS_MAX);
	out->rank = r->rank;
	out->ranks = r->ranks;
	out->job = r->job;
	if (r->job)
		return 0;
	return meet_find(r, token_file, WORLD_JOIN_S, &out->meet, e);
}

int world_open(const struct world_ask *ask, const struct frame_join *own, struct world **out,
	       struct err *e)
{
	struct frame_join join = *own;
	struct meeting m = { .ask = ask, .token = ask->job ? &world_no_secret : &ask->meet.token };
	int r;

	if (ask->ranks < 2 || ask->ranks > WIRE_RANKS_MAX || ask->rank >= ask->ranks)
		return err_set(e, -EINVAL, "invalid rank %u of %u", ask->rank, ask->ranks);
	m.w = heap_array(1, sizeof(*m.w));
	m.w->rank = ask->rank;
	m.w->ranks = ask->ranks;
	for (unsigned i = 0; i < ask->ranks; i++)
		m.w->member[i].frames.fd = -1;
	m.end = net_now_ms() + (long long)((ask->limit_s > 0 ? ask->limit_s : WORLD_JOIN_S) * 1e3);
	join.rank = ask->rank;
	join.ranks = ask->ranks;
	r = ask->rank ? world_follow(&m, &join, e) : world_lead(&m, &join, e);
	if (r) {
		world_break(m.w, e->text);
		world_close(m.w);
		return r;
	}
	m.w->cpu_ns = net_cpu_ns();
	*out = m.w;
	return 0;
}
