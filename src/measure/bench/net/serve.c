/* SPDX-License-Identifier: Apache-2.0 */
/* The listener: who connects is a client, a stream of one, or a stranger. */
#include <errno.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include "measure/bench/net/serve.h"
#include "measure/bench/net/handshake.h"
#include "measure/bench/net/session.h"

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
		serve_send(d, c->name, "speaks another version");
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
		serve_send(d, c->name, "does not know the token");
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
		return err_set(e, -errno, "no event: %s", strerror(errno));
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
