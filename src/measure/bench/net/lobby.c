/* SPDX-License-Identifier: Apache-2.0 */
/* Strangers wait here, each for itself, until they have said what they are. */
#include "measure/bench/net/lobby.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "measure/bench/net/handshake.h"

enum { PENDING_MS = 5000, NAP_MS = 200 };

static void forget(struct lobby *l, size_t i)
{
	memmove(&l->caller[i], &l->caller[i + 1], (l->n - i - 1) * sizeof(l->caller[0]));
	l->n--;
}

static enum fate decide(struct lobby *l, struct caller *c)
{
	struct opening o;
	int r = opening_read(c->bytes, &o);

	if (r == -EPROTO) {
		handshake_put(c->fd, OPENING_VERSION, NULL);
		o.kind = OPENING_VERSION;
	}
	return r && r != -EPROTO ? FATE_CLOSE : l->decide(l->ctx, c, &o);
}

static enum fate hear(struct lobby *l, struct caller *c)
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
	return decide(l, c);
}

static void meet(struct lobby *l, size_t i)
{
	enum fate f = hear(l, &l->caller[i]);

	if (f == FATE_WAIT)
		return;
	if (f == FATE_CLOSE)
		close(l->caller[i].fd);
	forget(l, i);
}

/* What waits in the queue; the oldest stranger makes place when there is none. */
static void let_in(struct lobby *l)
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
		meet(l, l->n - 1);
	}
}

static void drop_late(struct lobby *l)
{
	long long now = net_now_ms();

	for (size_t i = l->n; i-- > 0;)
		if (now - l->caller[i].since > PENDING_MS) {
			close(l->caller[i].fd);
			forget(l, i);
		}
}

enum shake lobby_shake(struct caller *c, const struct token *t, const struct opening *o)
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

size_t lobby_watch(struct lobby *l, struct pollfd *p)
{
	p[0] = (struct pollfd){ .fd = l->listener, .events = POLLIN };
	for (size_t i = 0; i < l->n; i++)
		p[1 + i] = (struct pollfd){ .fd = l->caller[i].fd, .events = POLLIN };
	l->polled = l->n;
	return 1 + l->n;
}

void lobby_turn(struct lobby *l, const struct pollfd *p)
{
	/* From the last one: forgetting moves those behind. */
	for (size_t i = l->polled; i-- > 0;)
		if (p[1 + i].revents)
			meet(l, i);
	if (p[0].revents)
		let_in(l);
	drop_late(l);
}

void lobby_close(struct lobby *l)
{
	for (size_t i = 0; i < l->n; i++)
		close(l->caller[i].fd);
	l->n = 0;
}
