/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One connection a message. REGISTER: a rank that others send to says at which port; WHERE: rank 0
 * is asked for the address of another one; BUNDLE: an answer. Each is answered by one. JOIN: this
 * connection stays, for what rank 0 asks.
 */
#include "many/ranks/gather.h"

#include <errno.h>
#include <sodium.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "machine/host/libraries.h"
#include "machine/host/pmix.h"
#include "measure/bench/net/meet.h"
#include "measure/bench/net/serve.h"
#include "measure/bench/net/world.h"

enum { HEAD = 24, BODY_MAX = 256 << 20, SHAKE_MS = 5000, BODY_MS = 20000, STEP_MS = 200 };
struct gather {
	struct gather_ask ask;
	const struct ranks *r;
	struct token token;
	struct net_address root;
	long long end;
	int listener;		     /* -1: nobody sends to this rank */
	unsigned port;		     /* of it */
	unsigned expected, arrived;  /* answers of those below */
	struct net_address *address; /* rank 0: of those that registered, by rank; len 0: none */
	struct bundle *b;
	struct talker *talker; /* by rank; of others than rank 0 that one alone */
	unsigned joined;
};

static unsigned parent_of(unsigned rank)
{
	return (rank - 1) / GATHER_FAN;
}

static unsigned children_of(const struct gather *g)
{
	unsigned first = g->r->rank * GATHER_FAN + 1, left;

	left = first < g->r->ranks ? g->r->ranks - first : 0;
	return left < GATHER_FAN ? left : GATHER_FAN;
}

/* Deeper ones give up earlier, so that what they have still arrives. */
static long long gather_end(unsigned rank, double limit_s)
{
	double part = 1;

	for (; rank; rank = parent_of(rank))
		part *= 0.85;
	return net_now_ms() + (long long)(limit_s * part * 1e3);
}

static const char *local_of(struct text *t, const struct gather *g, unsigned rank)
{
	text_clear(t);
	text_printf(t, "%.50s-tree-%u", g->r->job, rank);
	return t->s;
}

/* --- a message -------------------------------------------------------------------------------- */

static void message_seal(const struct wire_side *side, const uint8_t head[HEAD], const char *body,
			 size_t n, uint8_t out[WIRE_SEAL])
{
	crypto_auth_hmacsha256_state m;

	crypto_auth_hmacsha256_init(&m, side->key, WIRE_SECRET);
	crypto_auth_hmacsha256_update(&m, head, HEAD);
	crypto_auth_hmacsha256_update(&m, (const unsigned char *)body, n);
	crypto_auth_hmacsha256_final(&m, out);
}

int message_put(int fd, const struct wire_side *side, const struct message_in *m)
{
	struct net_wait w = { BODY_MS, NULL };
	uint8_t head[HEAD] = { 0 }, end[WIRE_SEAL];
	struct cursor c = { .out = head };
	int r;

	put(&c, m->kind, 4);
	put(&c, m->rank, 4);
	put(&c, m->port, 4);
	put(&c, m->n, 8);
	message_seal(side, head, m->body, m->n, end);
	r = net_write(fd, head, HEAD, &w);
	r = r || !m->n ? r : net_write(fd, m->body, m->n, &w);
	return r ? r : net_write(fd, end, WIRE_SEAL, &w);
}

/* *m owns its body afterwards. */
int message_get(int fd, const struct wire_side *side, struct message_in *m)
{
	struct net_wait w = { BODY_MS, NULL };
	uint8_t head[HEAD], end[WIRE_SEAL], want[WIRE_SEAL];
	struct cursor c = { .in = head, .end = HEAD };
	int r = net_read(fd, head, HEAD, &w);

	*m = (struct message_in){ 0 };
	if (r)
		return r;
	m->kind = (enum message)take_within(&c, 4, MESSAGE_REGISTER, MESSAGE_KINDS - 1);
	m->rank = (unsigned)take(&c, 4);
	m->port = (unsigned)take_within(&c, 4, 0, UINT16_MAX);
	m->n = (size_t)take_within(&c, 8, 0, BODY_MAX);
	if (c.bad)
		return -EBADMSG;
	m->body = malloc(m->n + 1);
	if (!m->body)
		return -ENOMEM;
	m->body[m->n] = '\0';
	r = m->n ? net_read(fd, m->body, m->n, &w) : 0;
	r = r ? r : net_read(fd, end, WIRE_SEAL, &w);
	if (r == 0) {
		message_seal(side, head, m->body, m->n, want);
		r = sodium_memcmp(want, end, WIRE_SEAL) ? -EKEYREJECTED : 0;
	}
	return r;
}

/* --- the side that is sent to ----------------------------------------------------------------- */

static void gather_report(const struct gather *g, const char *line)
{
	if (g->ask.report)
		g->ask.report(g->ask.ctx, line);
}

static void take_bundle(struct gather *g, const struct message_in *m, struct message_in *answer)
{
	struct err e = { 0 };
	TEXT_AUTO t = { 0 };
	int r = bundle_merge(g->b, m->body, m->n, &e);

	answer->kind = r == -EBADMSG ? MESSAGE_NO : MESSAGE_OK;
	g->arrived += answer->kind == MESSAGE_OK && m->rank && parent_of(m->rank) == g->r->rank;
	if (r) {
		text_printf(&t, "rank %u: %s", m->rank, e.text);
		gather_report(g, t.s);
	}
}

static void take_register(struct gather *g, int fd, const struct message_in *m)
{
	struct net_address *a = &g->address[m->rank];

	a->len = sizeof(a->ss);
	if (getpeername(fd, (struct sockaddr *)&a->ss, &a->len)) {
		a->len = 0;
		return;
	}
	net_address_port(a, m->port);
	net_address_name(a);
}

/* Its first one counts: a rank that comes twice is refused. */
static bool take_join(struct gather *g, const struct message_in *m, const struct frames *f)
{
	struct talker *t = g->talker ? &g->talker[m->rank] : NULL;

	if (!t || !m->rank || t->f.fd >= 0)
		return false;
	*t = (struct talker){ *f, m->port > 0 };
	g->joined++;
	return true;
}

static enum fate answer_one(struct gather *g, struct frames *f)
{
	struct message_in m = { 0 }, answer = { .kind = MESSAGE_NO };
	enum fate fate = FATE_CLOSE;

	if (message_get(f->fd, &f->in, &m) == 0 && m.rank < g->r->ranks) {
		answer.kind = MESSAGE_OK;
		if (m.kind == MESSAGE_BUNDLE) {
			take_bundle(g, &m, &answer);
		} else if (m.kind == MESSAGE_REGISTER && g->address) {
			take_register(g, f->fd, &m);
		} else if (m.kind == MESSAGE_WHERE && g->address && g->address[m.rank].len) {
			answer.body = g->address[m.rank].text;
			answer.n = strlen(answer.body);
		} else if (m.kind == MESSAGE_JOIN && take_join(g, &m, f)) {
			fate = FATE_TAKEN;
		} else {
			answer.kind = MESSAGE_NO;
		}
		(void)message_put(f->fd, &f->out, &answer);
	}
	free(m.body);
	return fate;
}

static enum fate gather_decide(void *ctx, struct caller *c, struct opening *o)
{
	struct gather *g = ctx;
	struct frames f;
	enum fate fate = world_admit(g->r->job, &g->token, c, o, &f);

	if (fate != FATE_TAKEN)
		return fate;
	fate = answer_one(g, &f);
	explicit_bzero(&f, sizeof(f));
	return fate;
}

static bool all_there(const struct gather *g)
{
	if (g->talker)
		return g->joined + 1 >= g->r->ranks;
	return g->r->rank ? g->arrived >= g->expected : g->b->n >= g->r->ranks;
}

static int collect(struct gather *g, struct err *e)
{
	struct pollfd p[1 + LOBBY_PLACES];
	struct accept_queue q = { .listener = g->listener, .decide = gather_decide, .ctx = g };
	int r = 0;

	while (r == 0 && !all_there(g) && net_now_ms() < g->end) {
		if (g->ask.stop && atomic_load(g->ask.stop))
			r = err_set(e, -EINTR, "interrupted");
		else if (poll(p, (nfds_t)accept_queue_watch(&q, p), STEP_MS) >= 0)
			accept_queue_turn(&q, p);
	}
	accept_queue_close(&q);
	close(g->listener);
	g->listener = -1;
	return r;
}

/* --- the side that sends ---------------------------------------------------------------------- */

/* Of a JOIN the connection stays. */
static int ask_once(struct gather *g, unsigned rank, const struct net_address *at,
		    const struct message_in *m, struct message_in *answer, struct err *e)
{
	struct net_wait dial = { SHAKE_MS, g->ask.stop }, body = { BODY_MS, g->ask.stop };
	struct text local = { 0 };
	struct frames f;
	char who[40];
	int r;

	snprintf(who, sizeof(who), "rank %u", rank);
	r = world_call(g->r->job ? local_of(&local, g, rank) : NULL, at, &g->token, who, &dial,
		       &body, &f, e);
	text_free(&local);
	if (r)
		return r;
	r = message_put(f.fd, &f.out, m);
	r = r ? r : message_get(f.fd, &f.in, answer);
	if (r)
		handshake_fail(who, r, "sending to this rank", e);
	else if (answer->kind != MESSAGE_OK)
		r = err_set(e, -ENOENT, "%s refused the request", who);
	if (r == 0 && m->kind == MESSAGE_JOIN)
		g->talker[0].f = f;
	else
		close(f.fd);
	explicit_bzero(&f, sizeof(f));
	return r;
}

/* Until it takes it or the time is over: patience is for one that is not there (it may begin later
 * than this one), g->end for one that is busy. */
static int ask_rank(struct gather *g, unsigned rank, const struct net_address *at,
		    const struct message_in *m, struct message_in *answer, long long patience,
		    struct err *e)
{
	struct timespec nap = { 0, 50 * 1000000 };
	int r;

	for (;;) {
		long long end;

		r = ask_once(g, rank, at, m, answer, e);
		end = r == -EAGAIN || r == -ETIMEDOUT ? g->end : patience;
		if (!r || r == -ENOENT || r == -EKEYREJECTED || r == -EPROTO ||
		    net_now_ms() >= end || (g->ask.stop && atomic_load(g->ask.stop)))
			return r;
		free(answer->body);
		answer->body = NULL;
		nanosleep(&nap, NULL);
	}
}

/* The parent, while it may still take it; then rank 0. */
static int send_up(struct gather *g, struct err *e)
{
	unsigned parent = parent_of(g->r->rank);
	struct message_in where = { .kind = MESSAGE_WHERE, .rank = parent }, got = { 0 };
	struct message_in m = { .kind = MESSAGE_BUNDLE, .rank = g->r->rank };
	struct net_address at = g->root;
	struct text t = { 0 };
	long long now = net_now_ms(), patience = now + (g->end - now) / 8;
	int r = 0;

	bundle_write(g->b, &t);
	m.body = t.s;
	m.n = t.len;
	/* One that has not registered yet may do so soon. */
	while (parent && !g->r->job &&
	       (r = ask_rank(g, 0, &g->root, &where, &got, g->end, e)) == -ENOENT &&
	       net_now_ms() < patience) {
		free(got.body);
		got = (struct message_in){ 0 };
		nanosleep(&(struct timespec){ 0, 200 * 1000000 }, NULL);
	}
	if (r == 0 && got.body)
		r = net_address_parse(got.body, true, &at, e);
	free(got.body);
	got = (struct message_in){ 0 };
	if (r == 0)
		r = ask_rank(g, parent, &at, &m, &got, parent ? patience : g->end, e);
	free(got.body);
	got = (struct message_in){ 0 };
	if (r && parent && r != -EKEYREJECTED)
		r = ask_rank(g, 0, &g->root, &m, &got, g->end, e);
	free(got.body);
	text_free(&t);
	return r;
}

/* Those below this rank ask rank 0 where it is. */
static int register_port(struct gather *g, struct err *e)
{
	struct message_in m = { .kind = MESSAGE_REGISTER, .rank = g->r->rank, .port = g->port };
	struct message_in answer = { 0 };
	int r = ask_rank(g, 0, &g->root, &m, &answer, g->end, e);

	free(answer.body);
	return r;
}

int gather_finish(struct gather *g, struct bundle *b, struct err *e)
{
	int r = 0;

	g->b = b;
	if (g->listener >= 0 && g->r->rank && !g->r->job)
		r = register_port(g, e);
	if (r == 0 && g->listener >= 0)
		r = collect(g, e);
	/* What arrived late, or from a rank that could not reach its parent, is with rank 0. */
	g->end += 2 * STEP_MS;
	return r || !g->r->rank ? r : send_up(g, e);
}

int gather_join(struct gather *g, struct err *e)
{
	struct message_in m = { .kind = MESSAGE_JOIN, .rank = g->r->rank, .port = g->r->local },
			  answer = { 0 };
	unsigned n = g->r->rank ? 1 : g->r->ranks;
	int r;

	g->talker = calloc(n, sizeof(*g->talker));
	if (!g->talker)
		return err_set(e, -ENOMEM, "out of memory");
	for (unsigned i = 0; i < n; i++)
		g->talker[i].f.fd = -1;
	if (!g->r->rank)
		return collect(g, e);
	r = ask_rank(g, 0, &g->root, &m, &answer, g->end, e);
	free(answer.body);
	return r;
}

struct talker *gather_talker(struct gather *g, unsigned rank)
{
	return &g->talker[rank];
}

/* --- beginning -------------------------------------------------------------------------------- */

static int gather_prepare(struct gather *g, struct err *e)
{
	struct meet m;
	int code;

	if (g->r->job) {
		g->token = world_no_secret;
		return library_open(LIBRARY_SODIUM, e);
	}
	code = meet_find(g->r, g->ask.token_file, g->ask.limit_s > 0 ? g->ask.limit_s : GATHER_S,
			 &m, e);
	g->root = m.address;
	g->token = m.token;
	g->listener = m.listener ? m.listener : -1;
	explicit_bzero(&m, sizeof(m));
	return code;
}

static int gather_listen(struct gather *g, struct err *e)
{
	struct net_address at = g->root;
	struct text t = { 0 };
	struct net_wait w = { SHAKE_MS, g->ask.stop };
	long long end = net_now_ms() + SHAKE_MS;
	int r, probe;

	if (g->r->job) {
		g->listener = world_listen_local(local_of(&t, g, g->r->rank), e);
		text_free(&t);
		return g->listener < 0 ? g->listener : 0;
	}
	if (!g->r->rank)
		return g->listener < 0 ? serve_listen(&at, &g->listener, e) : 0;
	/* The address of this machine that rank 0 is reached from. */
	while ((probe = net_dial(&g->root, 0, &w)) < 0 && net_now_ms() < end)
		nanosleep(&(struct timespec){ 0, 50 * 1000000 }, NULL);
	if (probe < 0)
		return err_set(e, probe, "rank 0 does not answer at %s: %s", g->root.text,
			       strerror(-probe));
	at.len = sizeof(at.ss);
	r = getsockname(probe, (struct sockaddr *)&at.ss, &at.len) ? -errno : 0;
	close(probe);
	net_address_port(&at, 0);
	net_address_name(&at);
	r = r ? r : serve_listen(&at, &g->listener, e);
	g->port = net_port(&at);
	return r;
}

int gather_open(const struct gather_ask *ask, struct gather **out, struct err *e)
{
	struct gather *g = calloc(1, sizeof(*g));
	double limit = ask->limit_s > 0 ? ask->limit_s : GATHER_S;
	int r;

	*out = NULL;
	if (!g)
		return err_set(e, -ENOMEM, "out of memory");
	*g = (struct gather){ .ask = *ask, .r = ask->ranks, .listener = -1 };
	g->end = gather_end(g->r->rank, limit);
	g->expected = ask->talks ? 0 : children_of(g);
	g->address = g->r->rank ? NULL : calloc(g->r->ranks, sizeof(*g->address));
	r = !g->r->rank && !g->address ? err_set(e, -ENOMEM, "out of memory") : 0;
	r = r ? r : gather_prepare(g, e);
	if (r == 0 && (g->expected || !g->r->rank))
		r = gather_listen(g, e);
	if (r)
		gather_close(g);
	else
		*out = g;
	return r;
}

void gather_close(struct gather *g)
{
	if (!g)
		return;
	if (g->listener >= 0)
		close(g->listener);
	pmix_leave();
	for (unsigned i = 0; g->talker && i < (g->r->rank ? 1 : g->r->ranks); i++)
		if (g->talker[i].f.fd >= 0)
			close(g->talker[i].f.fd);
	explicit_bzero(&g->token, sizeof(g->token));
	free(g->talker);
	free(g->address);
	free(g);
}
