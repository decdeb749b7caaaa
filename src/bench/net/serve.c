/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The door. Every connection begins with 64 bytes within five seconds; nothing that a stranger can
 * do holds a thread or more than one place of a fixed number.
 */
#include "bench/net/serve.h"

#include <errno.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "bench/net/session.h"

enum { PENDING_MAX = 128, PENDING_MS = 5000, TICK_MS = 200, FAST_OPEN_QUEUE = 256 };

/* A connection that has not yet said what it is. */
struct pending {
	int fd;
	long long since;
	size_t n;
	uint8_t bytes[WIRE_OPENING];
	bool challenged;
	struct wire_auth auth;
	char client[NET_TEXT];
};

struct door {
	const struct serve *s;
	int wake; /* a session is over */
	struct pending pending[PENDING_MAX];
	size_t n;
	struct session *session;
	long long said_ms; /* when a stranger was last spoken of */
};

int serve_listen(struct net_address *a, int *fd, struct err *e)
{
	int on = 1, queue = FAST_OPEN_QUEUE, s, r = 0;

	if (net_address_any(a))
		return err_set(e, -EINVAL,
			       "%s is every address of this machine; name the one that the other "
			       "machine reaches",
			       a->text);
	s = socket(a->ss.ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (s < 0)
		return err_set(e, -errno, "no socket: %s", strerror(errno));
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
static void say(struct door *d, const char *client, const char *what)
{
	char line[200];

	if (!d->s->say || net_now_ms() - d->said_ms < 1000)
		return;
	d->said_ms = net_now_ms();
	snprintf(line, sizeof(line), "%s: %s", client, what);
	d->s->say(d->s->ctx, line);
}

static void forget(struct door *d, size_t i)
{
	memmove(&d->pending[i], &d->pending[i + 1], (d->n - i - 1) * sizeof(d->pending[0]));
	d->n--;
}

/* Small and once per connection: it fits into the socket's buffer, or the other side gets nothing.
 */
static bool put(int fd, enum opening_kind kind, const uint8_t *secret)
{
	struct opening o = { .kind = kind, .version = WIRE_VERSION };
	uint8_t bytes[WIRE_OPENING];

	if (secret)
		memcpy(o.secret, secret, WIRE_SECRET);
	opening_write(&o, bytes);
	return send(fd, bytes, sizeof(bytes), MSG_NOSIGNAL | MSG_DONTWAIT) == sizeof(bytes);
}

static bool challenge(struct pending *p, const struct opening *o)
{
	memcpy(p->auth.client, o->secret, WIRE_SECRET);
	p->challenged = true;
	p->n = 0;
	return random_bytes(p->auth.server, WIRE_SECRET) == 0 &&
	       put(p->fd, OPENING_CHALLENGE, p->auth.server);
}

/* True when a session took the connection. */
static bool admit(struct door *d, struct pending *p, const struct opening *o)
{
	const struct token *t = d->s->token;
	uint8_t proof[WIRE_SECRET], key[WIRE_SECRET];
	bool taken = false;

	wire_proof(t->secret, t->n, &p->auth, PROOF_CLIENT, proof);
	if (!secret_equal(proof, o->secret, WIRE_SECRET)) {
		put(p->fd, OPENING_REFUSED, NULL);
		say(d, p->client, "does not know the token");
		return false;
	}
	if (d->session && session_over(d->session)) {
		session_end(d->session);
		d->session = NULL;
	}
	if (d->session) {
		put(p->fd, OPENING_BUSY, NULL);
		return false;
	}
	wire_proof(t->secret, t->n, &p->auth, PROOF_SERVER, proof);
	wire_proof(t->secret, t->n, &p->auth, PROOF_KEY, key);
	if (put(p->fd, OPENING_PROOF, proof)) {
		d->session = session_start(d->s, p->fd, key, p->client, d->wake);
		taken = d->session != NULL;
	}
	explicit_bzero(key, sizeof(key));
	return taken;
}

static void answer_request(struct door *d, struct pending *p, struct opening *o)
{
	uint8_t bytes[WIRE_OPENING];

	if (!d->session || !session_take_request(d->session, o))
		return;
	o->kind = OPENING_REPLY;
	opening_write(o, bytes);
	if (send(p->fd, bytes, sizeof(bytes), MSG_NOSIGNAL | MSG_DONTWAIT) < 0)
		return;
}

enum fate { FATE_WAIT, FATE_CLOSE, FATE_TAKEN };

static enum fate decide(struct door *d, struct pending *p)
{
	struct opening o;
	int r = opening_read(p->bytes, &o);

	if (r == -EPROTO) {
		put(p->fd, OPENING_VERSION, NULL);
		say(d, p->client, "speaks another version");
	}
	if (r)
		return FATE_CLOSE;
	if (p->challenged)
		return o.kind == OPENING_PROOF && admit(d, p, &o) ? FATE_TAKEN : FATE_CLOSE;
	switch (o.kind) {
	case OPENING_HELLO:
		return challenge(p, &o) ? FATE_WAIT : FATE_CLOSE;
	case OPENING_STREAM:
		return d->session && session_take_stream(d->session, &o, p->fd) ? FATE_TAKEN
										: FATE_CLOSE;
	case OPENING_REQUEST:
		answer_request(d, p, &o);
		return FATE_CLOSE;
	default:
		return FATE_CLOSE;
	}
}

static enum fate hear(struct door *d, struct pending *p)
{
	ssize_t n = recv(p->fd, p->bytes + p->n, WIRE_OPENING - p->n, MSG_DONTWAIT);

	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return FATE_WAIT;
	if (n <= 0)
		return FATE_CLOSE;
	p->n += (size_t)n;
	return p->n < WIRE_OPENING ? FATE_WAIT : decide(d, p);
}

static void meet(struct door *d, size_t i)
{
	enum fate f = hear(d, &d->pending[i]);

	if (f == FATE_WAIT)
		return;
	if (f == FATE_CLOSE)
		close(d->pending[i].fd);
	forget(d, i);
}

/* What waits in the queue; the oldest stranger makes place when there is none. */
static void let_in(struct door *d)
{
	for (size_t k = 0; k < PENDING_MAX; k++) {
		struct net_address a = { .len = sizeof(a.ss) };
		int fd = accept4(d->s->listener, (struct sockaddr *)&a.ss, &a.len,
				 SOCK_CLOEXEC | SOCK_NONBLOCK);
		struct pending *p;

		if (fd < 0) {
			/* Without a descriptor left it stays in the queue, and would be tried
			 * without pause. */
			if (errno == EMFILE || errno == ENFILE)
				poll(NULL, 0, TICK_MS);
			return;
		}
		if (d->n == PENDING_MAX) {
			close(d->pending[0].fd);
			forget(d, 0);
		}
		p = &d->pending[d->n++];
		*p = (struct pending){ .fd = fd, .since = net_now_ms() };
		net_address_name(&a);
		memcpy(p->client, a.text, sizeof(p->client));
		net_no_delay(fd, true);
		/* Often it is all there already. */
		meet(d, d->n - 1);
	}
}

static void drop_late(struct door *d)
{
	long long now = net_now_ms();

	for (size_t i = d->n; i-- > 0;)
		if (now - d->pending[i].since > PENDING_MS) {
			close(d->pending[i].fd);
			forget(d, i);
		}
}

/* 1: end. */
static int turn(struct door *d)
{
	struct pollfd p[3 + PENDING_MAX] = { { .fd = d->s->listener, .events = POLLIN },
					     { .fd = d->wake, .events = POLLIN },
					     { .fd = d->s->wake, .events = POLLIN } };
	size_t n = d->n;
	uint64_t gone;

	for (size_t i = 0; i < n; i++)
		p[3 + i] = (struct pollfd){ .fd = d->pending[i].fd, .events = POLLIN };
	if (poll(p, (nfds_t)(3 + n), TICK_MS) < 0)
		return errno == EINTR ? 0 : -errno;
	if (p[2].revents || (d->s->stop && atomic_load(d->s->stop)))
		return 1;
	/* From the last one: forgetting moves those behind. */
	for (size_t i = n; i-- > 0;)
		if (p[3 + i].revents)
			meet(d, i);
	if (p[1].revents && read(d->wake, &gone, sizeof(gone)) > 0 && d->session &&
	    session_over(d->session)) {
		session_end(d->session);
		d->session = NULL;
	}
	if (p[0].revents)
		let_in(d);
	drop_late(d);
	return 0;
}

int serve_run(const struct serve *s, struct err *e)
{
	struct door d = { .s = s, .wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK) };
	int r = 0;

	if (d.wake < 0)
		return err_set(e, -errno, "no event: %s", strerror(errno));
	while (r == 0)
		r = turn(&d);
	session_end(d.session);
	for (size_t i = 0; i < d.n; i++)
		close(d.pending[i].fd);
	close(d.wake);
	return r < 0 ? err_set(e, r, "the server cannot wait: %s", strerror(-r)) : 0;
}
