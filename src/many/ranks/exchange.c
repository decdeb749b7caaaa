/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Of a pair the lower number connects. An opening is the test's number, both nodes' and a seal of
 * them with the token; the other end answers with one of its own. Times are the kernel's where it
 * has them: round trips are those of TCP, which a busy processor does not lengthen.
 */
#include "many/ranks/exchange.h"

#include <errno.h>
#include <ifaddrs.h>
#include <linux/tcp.h>
#include <math.h>
#include <net/if.h>
#include <poll.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/stat.h"
#include "many/cluster/node.h"
#include "measure/bench/net/wire.h"

enum { BLOCK = 1 << 16, BACKLOG = 4096, LOOK_MS = 20, AGAIN_NS = 20000000, LATE_PART = 3 };

enum stage {
	STAGE_IDLE,
	STAGE_CONNECT,
	STAGE_OPENING,
	STAGE_READY,
	STAGE_DATA,
	STAGE_DONE,
	STAGE_FAILED
};

struct one {
	unsigned peer;
	int fd;
	enum stage stage;
	uint8_t opening[WIRE_OPENING];
	size_t n_opening;
	long long sent, got;
	long long begin_ns, end_ns, again_ns;
	double rtt_us;
	const char *why;
};

struct round {
	struct arena *a;
	const struct exchange *x;
	const struct exchange_ask *ask;
	struct one *one;
	size_t n;
	/* Connections that have not said whose they are: a peer of 0 is none of them yet. */
	struct one *stranger;
	size_t n_strangers;
	uint8_t *block;
	uint8_t room[BLOCK];
	long long end_ns, late_ns;
};

/* --- listening -------------------------------------------------------------------------------- */

static long long link_number(const char *interface, const char *name)
{
	char path[80], text[32];
	long long n = 0;
	FILE *f;

	snprintf(path, sizeof(path), "/sys/class/net/%.20s/%s", interface, name);
	f = fopen(path, "re");
	if (f && fgets(text, sizeof(text), f))
		n = strtoll(text, NULL, 10);
	if (f)
		fclose(f);
	return n > 0 ? n : 0;
}

/* What software makes (veth, bridge) names a speed that means nothing. */
static long long link_mbps(const char *interface)
{
	char path[80];

	snprintf(path, sizeof(path), "/sys/class/net/%.20s/device", interface);
	return access(path, F_OK) ? 0 : link_number(interface, "speed");
}

static bool one_of(const char *text, const char *const *only, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (strcmp(only[i], text) == 0)
			return true;
	return n == 0;
}

/* "" where others cannot be reached from it. */
static const char *address_text(struct arena *a, const struct ifaddrs *i, bool asked,
				struct net_address *out)
{
	const struct sockaddr *s = i->ifa_addr;
	bool four = s && s->sa_family == AF_INET;

	if (!s || !i->ifa_netmask || (!four && s->sa_family != AF_INET6) ||
	    !(i->ifa_flags & IFF_UP) || !(i->ifa_flags & IFF_RUNNING))
		return "";
	*out = (struct net_address){ .len = four ? sizeof(struct sockaddr_in)
						 : sizeof(struct sockaddr_in6) };
	memcpy(&out->ss, s, out->len);
	if (!four && IN6_IS_ADDR_LINKLOCAL(&((const struct sockaddr_in6 *)&out->ss)->sin6_addr))
		return "";
	if (!asked && net_address_loopback(out))
		return "";
	net_address_name(out);
	/* Without the port, and brackets. */
	return four ? arena_strndup(a, out->text, strcspn(out->text, ":"))
		    : arena_strndup(a, out->text + 1, strcspn(out->text + 1, "]"));
}

static int listen_at(struct net_address *at)
{
	int fd = socket(at->ss.ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

	if (fd < 0)
		return -errno;
	if (bind(fd, (const struct sockaddr *)&at->ss, at->len) || listen(fd, BACKLOG) ||
	    getsockname(fd, (struct sockaddr *)&at->ss, &at->len)) {
		int r = -errno;

		close(fd);
		return r;
	}
	net_address_name(at);
	return fd;
}

int exchange_open(struct arena *a, struct exchange *x, const char *const *only, size_t n_only,
		  struct err *e)
{
	struct ifaddrs *all = NULL;

	if (getifaddrs(&all))
		return err_set(e, -errno, "cannot list addresses: %s", strerror(errno));
	for (struct ifaddrs *i = all; i && x->n < EXCHANGE_ADDRESSES_MAX; i = i->ifa_next) {
		struct net_address at;
		const char *text = address_text(a, i, n_only > 0, &at);
		int fd = *text && one_of(text, only, n_only) ? listen_at(&at) : -1;

		if (fd < 0)
			continue;
		x->listener[x->n] = fd;
		x->address[x->n++] =
			(struct exchange_address){ .interface = arena_strdup(a, i->ifa_name),
						   .address = text,
						   .at = arena_strdup(a, at.text),
						   .bits = cluster_prefix_length(i->ifa_netmask),
						   .mbps = link_mbps(i->ifa_name),
						   .mtu = link_number(i->ifa_name, "mtu") };
	}
	freeifaddrs(all);
	return 0;
}

void exchange_close(struct exchange *x)
{
	for (size_t i = 0; i < x->n; i++)
		close(x->listener[i]);
	explicit_bzero(x, sizeof(*x));
}

static bool listens_on(struct arena *a, const char *address, const char *at)
{
	const char *head = arena_printf(a, strchr(address, ':') ? "[%s]:" : "%s:", address);
	struct net_address out;
	struct err e;

	return strlen(at) < NET_TEXT && strncmp(at, head, strlen(head)) == 0 &&
	       net_address_parse(at, true, &out, &e) == 0;
}

bool exchange_address_holds(struct arena *a, const struct exchange_address *x)
{
	struct cluster_prefix p;

	return x->bits > 0 && x->bits <= 128 && !strchr(x->address, '/') &&
	       cluster_prefix_parse(x->address, &p) == 0 && listens_on(a, x->address, x->at) &&
	       (!x->bench || listens_on(a, x->address, x->bench));
}

/* --- a connection ----------------------------------------------------------------------------- */

static void one_fail(struct one *o, const char *why)
{
	if (o->fd >= 0)
		net_drop(o->fd);
	o->fd = -1;
	o->stage = STAGE_FAILED;
	o->why = why;
}

static void opening_make(const struct round *r, unsigned from, unsigned to,
			 uint8_t out[WIRE_OPENING])
{
	struct opening o = { .kind = OPENING_STREAM,
			     .version = WIRE_VERSION,
			     .index = from << 16 | to,
			     .test = (uint64_t)r->ask->test };

	opening_seal(&o, r->x->token);
	opening_write(&o, out);
}

static void one_dial(struct round *r, struct one *o)
{
	struct net_address to, from;
	struct err e;

	o->stage = STAGE_CONNECT;
	if (net_address_parse(r->ask->peer[o->peer], true, &to, &e) ||
	    net_address_parse(r->x->address[r->ask->address].at, true, &from, &e)) {
		one_fail(o, "invalid address");
		return;
	}
	net_address_port(&from, 0);
	o->fd = socket(to.ss.ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (o->fd < 0 || bind(o->fd, (const struct sockaddr *)&from.ss, from.len) ||
	    (connect(o->fd, (const struct sockaddr *)&to.ss, to.len) && errno != EINPROGRESS))
		one_fail(o, arena_strdup(r->a, strerror(errno)));
}

static void one_connected(struct round *r, struct one *o)
{
	uint8_t mine[WIRE_OPENING];
	int code = 0;
	socklen_t n = sizeof(code);

	getsockopt(o->fd, SOL_SOCKET, SO_ERROR, &code, &n);
	/* Its listener may not be there yet. */
	if (code == ECONNREFUSED) {
		close(o->fd);
		o->fd = -1;
		o->stage = STAGE_IDLE;
		o->again_ns = clock_mono_ns() + AGAIN_NS;
		return;
	}
	opening_make(r, r->ask->self, o->peer, mine);
	if (code || write(o->fd, mine, sizeof(mine)) != (ssize_t)sizeof(mine))
		one_fail(o, arena_strdup(r->a, strerror(code ? code : errno)));
	else
		o->stage = STAGE_OPENING;
}

/* What has come of the other end's opening; true when it is whole. */
static bool opening_read_some(struct one *o)
{
	ssize_t n = read(o->fd, o->opening + o->n_opening, WIRE_OPENING - o->n_opening);

	if (n == 0 || (n < 0 && errno != EAGAIN && errno != EINTR))
		one_fail(o, "connection closed by the other end");
	o->n_opening += n > 0 ? (size_t)n : 0;
	return o->n_opening == WIRE_OPENING;
}

static bool opening_is(const struct round *r, const uint8_t got[WIRE_OPENING], unsigned from)
{
	uint8_t want[WIRE_OPENING];

	opening_make(r, from, r->ask->self, want);
	return sodium_memcmp(got, want, WIRE_OPENING) == 0;
}

/* A stranger has said who it is: it takes its peer's place, or goes. */
static void stranger_admit(struct round *r, struct one *s)
{
	uint8_t mine[WIRE_OPENING];
	struct opening said;
	unsigned from = opening_read(s->opening, &said) ? UINT16_MAX : said.index >> 16;

	for (size_t i = 0; i < r->n; i++) {
		struct one *o = &r->one[i];

		if (o->peer != from || o->peer > r->ask->self || o->fd >= 0 ||
		    o->stage != STAGE_IDLE || !opening_is(r, s->opening, from))
			continue;
		opening_make(r, r->ask->self, from, mine);
		o->fd = s->fd;
		s->fd = -1;
		if (write(o->fd, mine, sizeof(mine)) != (ssize_t)sizeof(mine))
			one_fail(o, "connection closed by the other end");
		else
			o->stage = STAGE_READY;
		return;
	}
	net_drop(s->fd);
	s->fd = -1;
}

/* An end that gives up closes: for the other one that pair was slow. */
static void data_write(struct round *r, struct one *o)
{
	while (o->sent < r->ask->bytes) {
		size_t at = (size_t)(o->sent % BLOCK), n = BLOCK - at;
		ssize_t w;

		if ((long long)n > r->ask->bytes - o->sent)
			n = (size_t)(r->ask->bytes - o->sent);
		w = send(o->fd, r->block + at, n, MSG_NOSIGNAL);
		if (w < 0 && (errno == EAGAIN || errno == EINTR))
			return;
		if (w < 0) {
			one_fail(o, "slow");
			return;
		}
		o->sent += w;
	}
}

static void data_read(struct round *r, struct one *o)
{
	while (o->got < r->ask->bytes) {
		size_t at = (size_t)(o->got % BLOCK), n = BLOCK - at;
		ssize_t got;

		if ((long long)n > r->ask->bytes - o->got)
			n = (size_t)(r->ask->bytes - o->got);
		got = read(o->fd, r->room, n);
		if (got < 0 && (errno == EAGAIN || errno == EINTR))
			return;
		if (got <= 0) {
			one_fail(o, "slow");
			return;
		}
		if (memcmp(r->room, r->block + at, (size_t)got) != 0) {
			one_fail(o, "the data was changed on the way");
			return;
		}
		o->got += got;
	}
	if (!o->end_ns)
		o->end_ns = clock_mono_ns();
}

/* What the kernel says of the connection. */
static void one_note(struct one *o)
{
	struct tcp_info info = { 0 };
	socklen_t n = sizeof(info);

	if (o->fd < 0 || getsockopt(o->fd, IPPROTO_TCP, TCP_INFO, &info, &n))
		return;
	if (!(o->rtt_us > 0) && info.tcpi_min_rtt != ~0u)
		o->rtt_us = info.tcpi_min_rtt;
}

/* --- all of them ------------------------------------------------------------------------------ */

static void one_event(struct round *r, struct one *o, short events)
{
	if (o->stage == STAGE_CONNECT && (events & (POLLOUT | POLLERR | POLLHUP)))
		one_connected(r, o);
	if (o->stage == STAGE_OPENING && (events & (POLLIN | POLLERR | POLLHUP)) &&
	    opening_read_some(o)) {
		if (opening_is(r, o->opening, o->peer))
			o->stage = STAGE_READY;
		else
			one_fail(o, "another program answers there");
	}
	if (o->stage == STAGE_DATA && (events & (POLLIN | POLLERR | POLLHUP)))
		data_read(r, o);
	if (o->stage == STAGE_DATA && (events & POLLOUT))
		data_write(r, o);
	if (o->stage == STAGE_DATA && o->end_ns && o->sent == r->ask->bytes) {
		one_note(o);
		o->stage = STAGE_DONE;
	}
}

static void take_strangers(struct round *r)
{
	int fd;

	while ((fd = accept4(r->x->listener[r->ask->address], NULL, NULL,
			     SOCK_CLOEXEC | SOCK_NONBLOCK)) >= 0) {
		if (r->n_strangers == 2 * r->n) {
			net_drop(fd);
			continue;
		}
		r->stranger[r->n_strangers++] = (struct one){ .fd = fd };
	}
}

/*
 * Data begins when all pairs are there, or those that are not are late: until then the network is
 * idle, and round trips are its own.
 */
static void begin_data(struct round *r)
{
	long long now = clock_mono_ns();
	size_t opening = 0;

	for (size_t i = 0; i < r->n; i++)
		opening += r->one[i].stage < STAGE_READY;
	for (size_t i = 0; i < r->n && (!opening || now >= r->late_ns); i++) {
		struct one *o = &r->one[i];

		if (o->stage != STAGE_READY)
			continue;
		one_note(o);
		o->stage = STAGE_DATA;
		o->begin_ns = now;
	}
}

/* What to wait for; returns how many are not done. */
static size_t watch(struct round *r, struct pollfd *p)
{
	long long now = clock_mono_ns();
	size_t open = 0;

	begin_data(r);
	for (size_t i = 0; i < r->n; i++) {
		struct one *o = &r->one[i];

		if (o->stage == STAGE_IDLE && o->peer > r->ask->self && now >= o->again_ns)
			one_dial(r, o);
		open += o->stage < STAGE_DONE;
		p[i] = (struct pollfd){ .fd = o->stage < STAGE_DONE ? o->fd : -1 };
		p[i].events = o->stage == STAGE_CONNECT ? POLLOUT
			      : o->stage == STAGE_READY ? 0
							: POLLIN;
		if (o->stage == STAGE_DATA)
			p[i].events = (short)((o->end_ns ? 0 : POLLIN) |
					      (o->sent < r->ask->bytes ? POLLOUT : 0));
	}
	for (size_t i = 0; i < r->n_strangers; i++)
		p[r->n + i] = (struct pollfd){ .fd = r->stranger[i].fd, .events = POLLIN };
	p[r->n + r->n_strangers] =
		(struct pollfd){ .fd = r->x->listener[r->ask->address], .events = POLLIN };
	return open;
}

static void turn(struct round *r, const struct pollfd *p)
{
	size_t strangers = r->n_strangers;

	for (size_t i = 0; i < r->n; i++)
		if (p[i].fd >= 0 && p[i].revents)
			one_event(r, &r->one[i], p[i].revents);
	for (size_t i = 0; i < strangers; i++) {
		struct one *s = &r->stranger[i];

		if (s->fd >= 0 && p[r->n + i].revents && opening_read_some(s))
			stranger_admit(r, s);
	}
	if (p[r->n + strangers].revents)
		take_strangers(r);
}

static void judge(struct round *r, struct exchange_answer *out)
{
	double *seconds = arena_array(r->a, r->n, sizeof(*seconds)),
	       *rtt = arena_array(r->a, r->n, sizeof(*rtt));
	size_t n = 0, n_rtt = 0;

	for (size_t i = 0; i < r->n; i++) {
		struct one *o = &r->one[i];
		bool done = o->end_ns > 0 && o->stage != STAGE_FAILED;
		long long end = done ? o->end_ns : clock_mono_ns();
		double s = done ? (double)(o->end_ns - o->begin_ns) / 1e9 : NAN;

		one_note(o);
		if (done)
			seconds[n++] = s;
		if (o->rtt_us > 0)
			rtt[n_rtt++] = o->rtt_us;
		if (done && r->ask->slow_s > 0 && s > r->ask->slow_s)
			o->why = "slow";
		else if (done && r->ask->late_us > 0 && o->rtt_us > r->ask->late_us)
			o->why = "long round trips";
		else if (!done && !o->why)
			o->why = o->stage == STAGE_DATA ? "slow" : "no answer";
		if (o->why && out->n_bad < EXCHANGE_BAD_MAX)
			out->bad[out->n_bad++] = (struct exchange_bad){
				.peer = o->peer,
				.rate = o->begin_ns
						? (double)o->got * 1e9 / (double)(end - o->begin_ns)
						: NAN,
				.rtt_us = o->rtt_us > 0 ? o->rtt_us : NAN,
				.why = o->why
			};
	}
	out->seconds = n ? stat_median_in_place(seconds, n) : NAN;
	out->rtt_us = n_rtt ? stat_median_in_place(rtt, n_rtt) : NAN;
}

static void fill_block(struct round *r)
{
	uint64_t z = 0x9e3779b97f4a7c15u ^ (uint64_t)r->ask->test;

	r->block = arena_alloc(r->a, BLOCK);
	for (size_t i = 0; i < BLOCK; i++) {
		z ^= z << 13;
		z ^= z >> 7;
		z ^= z << 17;
		r->block[i] = (uint8_t)z;
	}
}

void exchange_run(struct arena *a, const struct exchange *x, const struct exchange_ask *ask,
		  struct exchange_answer *out)
{
	struct round *r = ARENA_NEW(a, struct round);
	struct pollfd *p = arena_array(a, 3 * ask->n + 1, sizeof(*p));

	*out = (struct exchange_answer){ 0 };
	*r = (struct round){ .a = a, .x = x, .ask = ask };
	r->one = arena_array(a, ask->n, sizeof(*r->one));
	r->stranger = arena_array(a, 2 * ask->n, sizeof(*r->stranger));
	for (size_t i = 0; i < ask->n; i++)
		if (ask->group[i] != ask->self)
			r->one[r->n++] = (struct one){ .peer = (unsigned)ask->group[i], .fd = -1 };
	fill_block(r);
	r->late_ns = clock_mono_ns() + (long long)(ask->limit_s * 1e9 / LATE_PART);
	r->end_ns = r->late_ns + (long long)(ask->limit_s * 1e9);
	while (watch(r, p) && clock_mono_ns() < r->end_ns && !(ask->stop && atomic_load(ask->stop)))
		if (poll(p, (nfds_t)(r->n + r->n_strangers + 1), LOOK_MS) > 0)
			turn(r, p);
	judge(r, out);
	for (size_t i = 0; i < r->n; i++)
		/* What the kernel still sends of a pair that is done reaches the other end. */
		if (r->one[i].fd >= 0 && r->one[i].stage == STAGE_DONE)
			close(r->one[i].fd);
		else if (r->one[i].fd >= 0)
			net_drop(r->one[i].fd);
	for (size_t i = 0; i < r->n_strangers; i++)
		if (r->stranger[i].fd >= 0)
			net_drop(r->stranger[i].fd);
}
