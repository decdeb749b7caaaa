/* SPDX-License-Identifier: Apache-2.0 */
/* The listener: who connects is a client, a stream of one, or a stranger. */
#include "measure/bench/net/serve.h"

#include <errno.h>
#include <netinet/tcp.h>
#include <pthread.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "measure/bench/net/rdma_serve.h"
#include "measure/bench/net/stream.h"

/* One client's frames, and the streams of the test it asked for. */

struct session {
	const struct serve *serve;
	struct frames frames;
	uint8_t key[WIRE_SECRET];
	char client[NET_TEXT];
	int wake;
	pthread_t thread;
	atomic_bool quit, over;
	/* What the listener hands over. */
	pthread_mutex_t lock;
	pthread_cond_t arrived;
	uint64_t test; /* 0: none expects connections */
	size_t want, have;
	int fds[WIRE_STREAMS_MAX];
	uint64_t requests;
	/* The thread's own. */
	struct frame_start_test start;
	struct streams *streams;
	struct rdma_serve *rdma;
	struct net_link link;
	uint64_t cpu_ns; /* at the test's start */
};

static void session_send(const struct session *s, const char *what)
{
	char line[640];

	if (!s->serve->say)
		return;
	snprintf(line, sizeof(line), "%s: %s", s->client, what);
	s->serve->say(s->serve->ctx, line);
}

/* --- the listener's side ---------------------------------------------------------------------- */

static bool expects(const struct session *s, const struct opening *o, bool request)
{
	return s->test && o->test == s->test && (s->start.kind == TEST_CONNECT) == request &&
	       opening_sealed(o, s->key);
}

bool session_take_stream(struct session *s, const struct opening *o, int fd)
{
	bool taken;

	pthread_mutex_lock(&s->lock);
	taken = expects(s, o, false) && o->index < s->want && s->fds[o->index] < 0;
	if (taken) {
		s->fds[o->index] = fd;
		s->have++;
		pthread_cond_signal(&s->arrived);
	}
	pthread_mutex_unlock(&s->lock);
	return taken;
}

bool session_take_request(struct session *s, const struct opening *o)
{
	bool taken;

	pthread_mutex_lock(&s->lock);
	taken = expects(s, o, true);
	s->requests += taken;
	pthread_mutex_unlock(&s->lock);
	return taken;
}

/* --- tests ------------------------------------------------------------------------------------ */

/* Nothing is expected any more; what came and was not used is closed. */
static void close_expected(struct session *s)
{
	pthread_mutex_lock(&s->lock);
	s->test = 0;
	for (size_t i = 0; i < s->want; i++)
		if (s->fds[i] >= 0)
			net_drop(s->fds[i]);
	s->want = s->have = 0;
	pthread_mutex_unlock(&s->lock);
}

static void end_test(struct session *s)
{
	close_expected(s);
	streams_end(s->streams);
	rdma_serve_end(s->rdma);
	s->streams = NULL;
	s->rdma = NULL;
	s->start = (struct frame_start_test){ 0 };
}

static bool is_rdma(enum test_kind k)
{
	return k >= TEST_RDMA_WRITE;
}

static int start_test(struct session *s, const struct frame_start_test *t, struct err *e)
{
	struct wire_frame answer = { .kind = FRAME_STARTED };
	uint64_t test = 0;
	bool sized = t->kind == TEST_ECHO || t->kind == TEST_BURST;

	end_test(s);
	if (sized && (t->size < 1 || (t->kind == TEST_ECHO && t->size > STREAM_BUFFER)))
		return err_set(e, -EINVAL, "a size of %u bytes is not supported", t->size);
	while (!test)
		randombytes_buf(&test, sizeof(test));
	if (is_rdma(t->kind)) {
		link_of_socket(s->frames.fd, &s->link);

		int r = rdma_serve_start(t, test, s->link.name, &s->rdma, e);

		if (r)
			return r;
	}
	pthread_mutex_lock(&s->lock);
	s->start = *t;
	s->test = test;
	s->requests = 0;
	s->want = is_rdma(t->kind) || t->kind == TEST_CONNECT ? 0 : t->streams;
	for (size_t i = 0; i < s->want; i++)
		s->fds[i] = -1;
	pthread_mutex_unlock(&s->lock);
	s->cpu_ns = net_cpu_ns();
	answer.started = (struct frame_started){ test, sysctl_fast_open() & 2,
						 sysctl_slow_start_after_idle() == 1 };
	return frames_put(&s->frames, &answer, SESSION_WRITE_MS);
}

/* The client is gone, or says something where it has to wait. */
static bool hung_up(const struct session *s)
{
	struct pollfd p = { .fd = s->frames.fd, .events = POLLIN | POLLRDHUP };

	return poll(&p, 1, 0) > 0;
}

/* All connections that the test needs, within a time limit. */
static bool all_arrived(struct session *s)
{
	long long end = net_now_ms() + SESSION_STREAMS_MS;
	bool all;

	pthread_mutex_lock(&s->lock);
	while (s->have < s->want && net_now_ms() < end && !atomic_load(&s->quit) && !hung_up(s)) {
		struct timespec t;

		clock_gettime(CLOCK_REALTIME, &t);
		t.tv_nsec += 50000000;
		if (t.tv_nsec >= 1000000000) {
			t.tv_nsec -= 1000000000;
			t.tv_sec++;
		}
		pthread_cond_timedwait(&s->arrived, &s->lock, &t);
	}
	all = s->have == s->want && s->want > 0;
	pthread_mutex_unlock(&s->lock);
	return all;
}

static int ready_test(struct session *s, struct err *e)
{
	static const enum stream_role roles[] = { [TEST_SEND] = STREAM_RECEIVER,
						  [TEST_RECEIVE] = STREAM_SENDER,
						  [TEST_ECHO] = STREAM_ECHO,
						  [TEST_BURST] = STREAM_BURST };
	struct wire_frame answer = { .kind = FRAME_READY };
	int fds[WIRE_STREAMS_MAX], r;
	size_t n;

	if (s->streams || !s->start.kind)
		return err_set(e, -EBADMSG, "the client sent \"ready\" before a test began");
	if (s->start.kind == TEST_CONNECT || is_rdma(s->start.kind))
		return frames_put(&s->frames, &answer, SESSION_WRITE_MS);
	if (!all_arrived(s))
		return err_set(e, -ETIMEDOUT, "only %zu of %zu connections arrived", s->have,
			       s->want);
	pthread_mutex_lock(&s->lock);
	n = s->want;
	memcpy(fds, s->fds, n * sizeof(*fds));
	s->want = s->have = 0;
	pthread_mutex_unlock(&s->lock);
	link_of_socket(fds[0], &s->link);
	r = streams_start(roles[s->start.kind], fds, n, s->test, s->start.size, NULL, &s->streams,
			  e);
	return r ? r : frames_put(&s->frames, &answer, SESSION_WRITE_MS);
}

static int put_counts(struct session *s, struct err *e)
{
	struct wire_frame f = { .kind = FRAME_COUNTS };
	struct link_bytes bytes;

	if (s->rdma) {
		rdma_serve_count(s->rdma, &f.counts);
	} else if (s->streams) {
		streams_count(s->streams, &f.counts);
	} else if (s->start.kind == TEST_CONNECT) {
		pthread_mutex_lock(&s->lock);
		f.counts.bytes = s->requests;
		pthread_mutex_unlock(&s->lock);
		f.counts.at_ns = net_now_ns();
	} else {
		return err_set(e, -EBADMSG, "the client sent counts before a test began");
	}
	f.counts.cpu_ns = net_cpu_ns() - s->cpu_ns;
	if (!s->rdma) {
		bytes = link_count(&s->link);
		f.counts.nic_rx = bytes.rx;
		f.counts.nic_tx = bytes.tx;
		f.counts.flags = (bytes.known ? 0u : (unsigned)COUNTS_NO_NIC) |
				 (s->link.loopback ? (unsigned)COUNTS_LOOPBACK : 0u);
	}
	return frames_put(&s->frames, &f, SESSION_WRITE_MS);
}

static int verbs_test(struct session *s, const struct frame_verbs *theirs, struct err *e)
{
	struct wire_frame f = { .kind = FRAME_VERBS };
	int r;

	if (!s->rdma)
		return err_set(e, -EBADMSG, "the client sent a queue pair before a test began");
	r = rdma_serve_connect(s->rdma, theirs, &f.verbs, e);
	return r ? r : frames_put(&s->frames, &f, SESSION_WRITE_MS);
}

/* 1: the client says good-bye. */
static int one_frame(struct session *s, const struct wire_frame *f, struct err *e)
{
	int r;

	switch (f->kind) {
	case FRAME_START:
		return start_test(s, &f->start, e);
	case FRAME_READY:
		return ready_test(s, e);
	case FRAME_VERBS:
		return verbs_test(s, &f->verbs, e);
	case FRAME_COUNT:
		return put_counts(s, e);
	case FRAME_STOP:
		r = s->streams ? streams_finish(s->streams) : 0;
		if (r)
			return err_set(e, r, "a stream ended with an error: %s", strerror(-r));
		if (s->rdma)
			rdma_serve_finish(s->rdma);
		r = put_counts(s, e);
		end_test(s);
		return r;
	case FRAME_ERROR:
		return err_set(e, -ECANCELED, "it reports: %s", f->error.text);
	case FRAME_BYE:
		return 1;
	default:
		return err_set(e, -EBADMSG, "an invalid frame from the client");
	}
}

/* --- the thread ------------------------------------------------------------------------------- */

static void team_command(struct session *s, const struct err *e)
{
	struct wire_frame f = { .kind = FRAME_ERROR };

	session_send(s, e->text);
	snprintf(f.error.text, sizeof(f.error.text), "%.*s", WIRE_TEXT_MAX, e->text);
	frames_put(&s->frames, &f, SESSION_WRITE_MS);
}

static void *session_main(void *arg)
{
	struct session *s = arg;
	struct wire_frame f;
	struct err e = { 0 };
	uint64_t one = 1;
	int r;

	do {
		r = frames_get(&s->frames, &f, SESSION_QUIET_MS);
		if (r == -EBADMSG || r == -EKEYREJECTED)
			err_set(&e, r, "its data is invalid");
		else if (r)
			err_set(&e, r, "%s",
				r == -ETIMEDOUT	   ? "no data for too long"
				: r == -ECONNRESET ? "closed the connection"
						   : strerror(-r));
		else
			r = one_frame(s, &f, &e);
	} while (r == 0);
	end_test(s);
	if (r < 0 && r != -EINTR)
		team_command(s, &e);
	session_send(s, "gone");
	/* In this order: who sees the connection's end finds the place free. */
	atomic_store(&s->over, true);
	close(s->frames.fd);
	if (write(s->wake, &one, sizeof(one)) < 0)
		return NULL;
	return NULL;
}

struct session *session_start(const struct serve *serve, int fd, const uint8_t key[WIRE_SECRET],
			      const char *client, int wake)
{
	struct session *s = calloc(1, sizeof(*s));

	if (!s)
		return NULL;
	s->serve = serve;
	s->wake = wake;
	memcpy(s->key, key, WIRE_SECRET);
	snprintf(s->client, sizeof(s->client), "%s", client);
	s->frames = (struct frames){ .fd = fd, .stop = &s->quit };
	wire_sides(key, &s->frames.in, &s->frames.out);
	pthread_mutex_init(&s->lock, NULL);
	pthread_cond_init(&s->arrived, NULL);
	if (pthread_create(&s->thread, NULL, session_main, s)) {
		free(s);
		return NULL;
	}
	session_send(s, "measures");
	return s;
}

/* True when it has nothing more to do; it can be ended without waiting. */
static bool session_over(struct session *s)
{
	return atomic_load(&s->over);
}

void session_end(struct session *s)
{
	if (!s)
		return;
	atomic_store(&s->quit, true);
	pthread_join(s->thread, NULL);
	pthread_mutex_destroy(&s->lock);
	pthread_cond_destroy(&s->arrived);
	explicit_bzero(s->key, sizeof(s->key));
	free(s);
}

enum { TICK_MS = 200, FAST_OPEN_QUEUE = 256 };

struct door {
	const struct serve *s;
	int wake; /* a session is over */
	struct accept_queue lobby;
	struct session *session;
	long long said_ms; /* when a stranger was last spoken of */
};

int serve_listen(struct net_address *a, int *fd, struct err *e)
{
	int on = 1, queue = FAST_OPEN_QUEUE, s, r = 0;

	if (net_address_any(a))
		return err_set(e, -EINVAL,
			       "%s means every address of this machine; give the one that the "
			       "other machine can reach",
			       a->text);
	s = socket(a->ss.ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (s < 0)
		return err_set(e, -errno, "cannot create a socket: %s", strerror(errno));
	setsockopt(s, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
	if (bind(s, (const struct sockaddr *)&a->ss, a->len) || listen(s, 256))
		r = -errno;
	/* Refused where the kernel takes no fast open; then there is none. */
	setsockopt(s, IPPROTO_TCP, TCP_FASTOPEN, &queue, sizeof(queue));
	a->len = sizeof(a->ss);
	if (r == 0 && getsockname(s, (struct sockaddr *)&a->ss, &a->len))
		r = -errno;
	if (r) {
		close(s);
		return err_set(e, r, "cannot listen on %s: %s", a->text, strerror(-r));
	}
	net_address_name(a);
	*fd = s;
	return 0;
}

/* Once a second at most: strangers must not fill a log. */
static void serve_send(struct door *d, const char *client, const char *what)
{
	char line[200];

	if (!d->s->say || net_now_ms() - d->said_ms < 1000)
		return;
	d->said_ms = net_now_ms();
	snprintf(line, sizeof(line), "%s: %s", client, what);
	d->s->say(d->s->ctx, line);
}

/* It knows the token. True when a session took the connection. */
static bool net_serve_admit(struct door *d, struct caller *c)
{
	const struct token *t = d->s->token;
	uint8_t key[WIRE_SECRET];
	bool taken = false;

	if (d->session && session_over(d->session)) {
		session_end(d->session);
		d->session = NULL;
	}
	if (d->session) {
		handshake_put(c->fd, OPENING_BUSY, NULL);
		return false;
	}
	if (handshake_admit(c->fd, t, &c->auth, key)) {
		d->session = session_start(d->s, c->fd, key, c->name, d->wake);
		taken = d->session != NULL;
	}
	explicit_bzero(key, sizeof(key));
	return taken;
}

static void answer_request(struct door *d, struct caller *c, struct opening *o)
{
	uint8_t bytes[WIRE_OPENING];

	if (!d->session || !session_take_request(d->session, o))
		return;
	o->kind = OPENING_REPLY;
	opening_write(o, bytes);
	if (send(c->fd, bytes, sizeof(bytes), MSG_NOSIGNAL | MSG_DONTWAIT) < 0)
		return;
}

static enum fate decide_other(struct door *d, struct caller *c, struct opening *o)
{
	switch (o->kind) {
	case OPENING_STREAM:
		return d->session && session_take_stream(d->session, o, c->fd) ? FATE_TAKEN
									       : FATE_CLOSE;
	case OPENING_REQUEST:
		answer_request(d, c, o);
		return FATE_CLOSE;
	case OPENING_VERSION:
		serve_send(d, c->name, "uses another version");
		return FATE_CLOSE;
	default:
		return FATE_CLOSE;
	}
}

static enum fate net_serve_decide(void *ctx, struct caller *c, struct opening *o)
{
	struct door *d = ctx;

	switch (accept_queue_shake(c, d->s->token, o)) {
	case SHAKE_OTHER:
		return decide_other(d, c, o);
	case SHAKE_WAITS:
		return FATE_WAIT;
	case SHAKE_PROVEN:
		return net_serve_admit(d, c) ? FATE_TAKEN : FATE_CLOSE;
	case SHAKE_REFUSED:
		serve_send(d, c->name, "does not have the token");
		return FATE_CLOSE;
	case SHAKE_ENDS:
		break;
	}
	return FATE_CLOSE;
}

/* 1: end. */
static int net_serve_turn(struct door *d)
{
	struct pollfd p[3 + LOBBY_PLACES] = { { .fd = d->wake, .events = POLLIN },
					      { .fd = d->s->wake, .events = POLLIN } };
	size_t n = accept_queue_watch(&d->lobby, p + 2);
	uint64_t gone;

	if (poll(p, (nfds_t)(2 + n), TICK_MS) < 0)
		return errno == EINTR ? 0 : -errno;
	if (p[1].revents || (d->s->stop && atomic_load(d->s->stop)))
		return 1;
	if (p[0].revents && read(d->wake, &gone, sizeof(gone)) > 0 && d->session &&
	    session_over(d->session)) {
		session_end(d->session);
		d->session = NULL;
	}
	accept_queue_turn(&d->lobby, p + 2);
	return 0;
}

int serve_run(const struct serve *s, struct err *e)
{
	struct door d = { .s = s, .wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK) };
	int r = 0;

	if (d.wake < 0)
		return err_set(e, -errno, "cannot create an event: %s", strerror(errno));
	d.lobby.listener = s->listener;
	d.lobby.decide = net_serve_decide;
	d.lobby.ctx = &d;
	while (r == 0)
		r = net_serve_turn(&d);
	session_end(d.session);
	accept_queue_close(&d.lobby);
	close(d.wake);
	return r < 0 ? err_set(e, r, "the server cannot wait: %s", strerror(-r)) : 0;
}

/* Strangers wait here, each for itself, until they have said what they are. */

enum { PENDING_MS = 5000, NAP_MS = 200 };

static void forget(struct accept_queue *l, size_t i)
{
	memmove(&l->caller[i], &l->caller[i + 1], (l->n - i - 1) * sizeof(l->caller[0]));
	l->n--;
}

static enum fate accept_queue_decide(struct accept_queue *l, struct caller *c)
{
	struct opening o;
	int r = opening_read(c->bytes, &o);

	if (r == -EPROTO) {
		handshake_put(c->fd, OPENING_VERSION, NULL);
		o.kind = OPENING_VERSION;
	}
	return r && r != -EPROTO ? FATE_CLOSE : l->decide(l->ctx, c, &o);
}

static enum fate accept_queue_receive(struct accept_queue *l, struct caller *c)
{
	ssize_t n = recv(c->fd, c->bytes + c->n, WIRE_OPENING - c->n, MSG_DONTWAIT);

	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return FATE_WAIT;
	if (n <= 0)
		return FATE_CLOSE;
	c->n += (size_t)n;
	if (c->n < WIRE_OPENING)
		return FATE_WAIT;
	c->n = 0;
	return accept_queue_decide(l, c);
}

static void net_serve_meet(struct accept_queue *l, size_t i)
{
	enum fate f = accept_queue_receive(l, &l->caller[i]);

	if (f == FATE_WAIT)
		return;
	if (f == FATE_CLOSE)
		close(l->caller[i].fd);
	forget(l, i);
}

/* What waits in the queue; the oldest stranger makes place when there is none. */
static void net_serve_let_in(struct accept_queue *l)
{
	for (size_t k = 0; k < LOBBY_PLACES; k++) {
		struct net_address a = { .len = sizeof(a.ss) };
		int fd = accept4(l->listener, (struct sockaddr *)&a.ss, &a.len,
				 SOCK_CLOEXEC | SOCK_NONBLOCK);
		struct caller *c;

		if (fd < 0) {
			/* Without a descriptor left it stays in the queue, and would be tried
			 * without pause. */
			if (errno == EMFILE || errno == ENFILE)
				poll(NULL, 0, NAP_MS);
			return;
		}
		if (l->n == LOBBY_PLACES) {
			close(l->caller[0].fd);
			forget(l, 0);
		}
		c = &l->caller[l->n++];
		*c = (struct caller){ .fd = fd, .since = net_now_ms() };
		net_address_name(&a);
		memcpy(c->name, a.text, sizeof(c->name));
		net_no_delay(fd, true);
		/* Often it is all there already. */
		net_serve_meet(l, l->n - 1);
	}
}

static void drop_late(struct accept_queue *l)
{
	long long now = net_now_ms();

	for (size_t i = l->n; i-- > 0;)
		if (now - l->caller[i].since > PENDING_MS) {
			close(l->caller[i].fd);
			forget(l, i);
		}
}

enum shake accept_queue_shake(struct caller *c, const struct token *t, const struct opening *o)
{
	if (c->challenged && o->kind != OPENING_PROOF)
		return SHAKE_ENDS;
	if (c->challenged && handshake_proves(t, &c->auth, o))
		return SHAKE_PROVEN;
	if (c->challenged) {
		handshake_put(c->fd, OPENING_REFUSED, NULL);
		return SHAKE_REFUSED;
	}
	if (o->kind != OPENING_HELLO)
		return SHAKE_OTHER;
	c->challenged = true;
	return handshake_challenge(c->fd, o, &c->auth) ? SHAKE_WAITS : SHAKE_ENDS;
}

size_t accept_queue_watch(struct accept_queue *l, struct pollfd *p)
{
	p[0] = (struct pollfd){ .fd = l->listener, .events = POLLIN };
	for (size_t i = 0; i < l->n; i++)
		p[1 + i] = (struct pollfd){ .fd = l->caller[i].fd, .events = POLLIN };
	l->polled = l->n;
	return 1 + l->n;
}

void accept_queue_turn(struct accept_queue *l, const struct pollfd *p)
{
	/* From the last one: forgetting moves those behind. */
	for (size_t i = l->polled; i-- > 0;)
		if (p[1 + i].revents)
			net_serve_meet(l, i);
	if (p[0].revents)
		net_serve_let_in(l);
	drop_late(l);
}

void accept_queue_close(struct accept_queue *l)
{
	for (size_t i = 0; i < l->n; i++)
		close(l->caller[i].fd);
	l->n = 0;
}
