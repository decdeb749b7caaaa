/* SPDX-License-Identifier: Apache-2.0 */
/* How much TCP carries: streams to the peer and from it, and what a byte costs both sides. */
#include <errno.h>
#include <linux/tcp.h>
#include <math.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "measure/bench/bench.h"
#include "measure/bench/net/peer.h"
#include "measure/bench/net/place.h"
#include "measure/bench/net/socket.h"

enum { WINDOW_MS = 100, SMALL_WINDOW_MS = 10, SLICE_NS = 10000000, VARIANT_MAX = 160 };

/* Both sides at one moment. */
struct moment {
	struct peer_counts peer;
	struct frame_counts own;
	uint64_t own_cpu_ns;
	struct link_bytes link;
};

struct rate {
	const struct net_arg *arg;
	struct peer peer;
	struct streams *streams;
	struct net_link link; /* that the connections really use */
	struct moment first, last;
	char *variant;
};

static bool sending(const struct rate *s)
{
	return s->arg->test.kind == TEST_SEND;
}

static void look_here(struct rate *s, struct moment *m)
{
	streams_count(s->streams, &m->own);
	m->own_cpu_ns = net_cpu_ns();
	m->link = link_count(&s->link);
}

static int look(struct rate *s, struct moment *m, struct err *e)
{
	int r = peer_count(&s->peer, &m->peer, e);

	look_here(s, m);
	return r;
}

/* --- set-up ----------------------------------------------------------------------------------- */

static void rate_teardown(void *state)
{
	struct rate *s = state;

	streams_end(s->streams);
	peer_close(&s->peer);
}

static int open_streams(struct rate *s, struct err *e)
{
	int fds[WIRE_STREAMS_MAX] = { 0 };
	size_t n = s->arg->test.streams;

	for (size_t i = 0; i < n; i++) {
		fds[i] = peer_stream(&s->peer, i, e);
		if (fds[i] < 0) {
			int r = fds[i];

			while (i-- > 0)
				net_drop(fds[i]);
			return r;
		}
	}
	link_of_socket(fds[0], &s->link);
	stream_describe(fds[0], s->variant);
	return streams_start(sending(s) ? STREAM_SENDER : STREAM_RECEIVER, fds, n, s->peer.test, 0,
			     &s->arg->place.cpus, &s->streams, e);
}

static int rate_setup(const struct bench_env *env, const struct bench_case *c, void *state,
		      const char **variant, struct err *e)
{
	struct rate *s = state;
	int r;

	s->arg = c->arg;
	s->variant = arena_alloc(env->a, VARIANT_MAX);
	r = net_peer_start(env, s->arg, &s->peer, e);
	r = r ? r : open_streams(s, e);
	r = r ? r : peer_ready(&s->peer, e);
	r = r ? r : look(s, &s->first, e);
	if (r)
		return r;
	s->last = s->first;
	*variant = s->variant;
	return 0;
}

/* --- samples ---------------------------------------------------------------------------------- */

static int sleep_window(const struct rate *s)
{
	struct timespec slice = { 0, SLICE_NS };
	int n = (s->arg->small ? SMALL_WINDOW_MS : WINDOW_MS) * 1000000 / SLICE_NS;

	for (int i = 0; i < n; i++) {
		if (net_stopped(&s->peer))
			return -EINTR;
		nanosleep(&slice, NULL);
	}
	return 0;
}

/* Nobody can have received what was not sent. A sender counts a call when it returns, so there may
 * be one under way on each connection. */
static int tcp_check(struct rate *s, const struct moment *now, struct err *e)
{
	uint64_t sent = sending(s) ? now->own.bytes : now->peer.c.bytes,
		 got = sending(s) ? now->peer.c.bytes : s->last.own.bytes;
	unsigned long long wrong;
	uint64_t under_way = (uint64_t)s->arg->test.streams * STREAM_BUFFER;
	int r = peer_believable(&s->peer, &s->last.peer, &now->peer, e);

	if (r)
		return r;
	if (got > sent + under_way && sending(s))
		return err_set(
			e, -EPROTO, "%s reports %llu bytes received, but only %llu were sent",
			s->peer.address.text, (unsigned long long)got, (unsigned long long)sent);
	if (got > sent + under_way)
		return err_set(e, -EPROTO, "%s reports %llu bytes sent, but %llu arrived here",
			       s->peer.address.text, (unsigned long long)sent,
			       (unsigned long long)got);
	wrong = now->own.wrong + now->peer.c.wrong;
	if (wrong)
		return err_set(e, -EILSEQ, "%llu blocks arrived with other data than was sent",
			       wrong);
	return 0;
}

static int rate_run(void *state, struct bench_sample *out, struct err *e)
{
	struct rate *s = state;
	struct moment now = { 0 };
	long long end = net_now_ms() + STREAM_QUIET_MS;
	double bytes, ns, here, there;
	int r;

	do {
		r = sleep_window(s);
		if (r)
			return err_set(e, r, "interrupted");
		r = look(s, &now, e);
		if (r)
			return r;
		r = tcp_check(s, &now, e);
		if (r)
			return r;
		bytes = sending(s) ? (double)(now.peer.c.bytes - s->last.peer.c.bytes)
				   : (double)(now.own.bytes - s->last.own.bytes);
		r = bytes > 0 ? 0 : streams_error(s->streams);
	} while (!(bytes > 0) && r == 0 && net_now_ms() < end);
	if (!(bytes > 0))
		return peer_fail(&s->peer, r ? r : -ETIMEDOUT, "no data transferred", e);
	ns = sending(s) ? (double)(now.peer.c.at_ns - s->last.peer.c.at_ns)
			: (double)(now.own.at_ns - s->last.own.at_ns);
	here = (double)(now.own_cpu_ns - s->last.own_cpu_ns) / bytes;
	there = (double)(now.peer.c.cpu_ns - s->last.peer.c.cpu_ns) / bytes;
	out->value[0] = bytes * 8 / ns;
	/* Nanoseconds a byte are seconds a GB. */
	out->value[1] = sending(s) ? here : there;
	out->value[2] = sending(s) ? there : here;
	s->last = now;
	return 0;
}

/* --- verdict ---------------------------------------------------------------------------------- */

/* Stops both sides; the totals must be the same to the byte. */
static int rate_verify(void *state, struct err *e)
{
	struct rate *s = state;
	struct moment end = { 0 };
	double payload;
	size_t n = strlen(s->variant);
	uint64_t again;
	int r, here;

	peer_finishing(&s->peer);
	r = sending(s) ? streams_finish(s->streams) : 0;

	if (r)
		return peer_fail(&s->peer, r, "ending its streams", e);
	r = peer_stop(&s->peer, &end.peer, e);
	/* Also when it failed: what it stopped, ends here. */
	here = sending(s) ? 0 : streams_finish(s->streams);
	if (r)
		return r;
	if (here)
		return peer_fail(&s->peer, here, "waiting for the last bytes", e);
	look_here(s, &end);
	if (end.own.bytes != end.peer.c.bytes)
		return err_set(e, -EPROTO, "%llu bytes were sent, %llu received",
			       (unsigned long long)(sending(s) ? end.own.bytes : end.peer.c.bytes),
			       (unsigned long long)(sending(s) ? end.peer.c.bytes : end.own.bytes));
	r = tcp_check(s, &end, e);
	payload = (double)(end.own.bytes - s->first.own.bytes);
	if (r == 0 && !s->link.loopback)
		/* Each connection's buffers hold some MB that the interface has counted already. */
		r = net_line_check(payload, 8e6 * (double)s->arg->test.streams, sending(s),
				   &(struct net_carried){ s->first.link, &s->first.peer.c },
				   &(struct net_carried){ end.link, &end.peer.c }, s->link.name,
				   "the interface: the data took another path", e);
	again = sending(s) ? end.own.retransmits : end.peer.c.retransmits;
	if (r == 0 && again)
		snprintf(s->variant + n, VARIANT_MAX - n,
			 "; %llu of about %.0f segments retransmitted", (unsigned long long)again,
			 payload / stream_segment(streams_fd(s->streams, 0)));
	return r;
}

/* --- cases ------------------------------------------------------------------------------------ */

static void add_segments(const struct bench_env *env, struct bench_cases *out,
			 const struct net_place *p)
{
	static const int mtus[] = { 576, 1280, 1500, 4200, 9000 };

	for (size_t i = 0; i < sizeof(mtus) / sizeof(mtus[0]); i++) {
		struct frame_start_test t = { .kind = TEST_SEND,
					      .streams = 1,
					      .segment = (uint32_t)(mtus[i] - p->link.headers) };

		if (p->link.mtu > mtus[i] && mtus[i] >= (p->link.headers > 40 ? 1280 : 576))
			net_case_add(env, out, p, arena_printf(env->a, "mtu:%d", mtus[i]),
				     arena_printf(env->a,
						  "1 stream to the peer, with segments for an MTU "
						  "of %d bytes (the MTU is %d)",
						  mtus[i], p->link.mtu),
				     &t, false);
	}
}

static void rate_cases(const struct bench_env *env, struct bench_cases *out)
{
	size_t cpus = idset_count(&env->cpus), many = cpus > 16 ? 16 : cpus < 8 ? 8 : cpus;
	const size_t streams[] = { 1, 4, many };
	struct net_place p;

	if (!net_place_find(env, &p, out))
		return;
	for (size_t i = 0; i < 2 * 3; i++) {
		bool down = i >= 3;
		struct frame_start_test t = { .kind = down ? TEST_RECEIVE : TEST_SEND,
					      .streams = (uint32_t)streams[i % 3] };

		net_case_add(env, out, &p,
			     arena_printf(env->a, "%s:%u", down ? "receive" : "send", t.streams),
			     arena_printf(env->a, "%u stream%s %s the peer, %d KiB per call",
					  t.streams, PLURAL(t.streams), down ? "from" : "to",
					  STREAM_BUFFER >> 10),
			     &t, false);
	}
	add_segments(env, out, &p);
}

/* What the line carries less the bytes around a segment: preamble, Ethernet, IP, TCP, stamps. */
static struct bench_limit rate_limit(const struct bench_env *env, const struct bench_case *c)
{
	const struct net_arg *arg = c->arg;
	const struct net_place *p = &arg->place;
	double headers = p->link.headers, share,
	       mtu = arg->test.segment ? arg->test.segment + headers : p->link.mtu;

	if (p->speed_mbps <= 0 || mtu < 88)
		return (struct bench_limit){ .source = p->no_speed };
	share = (mtu - headers - 12) / (mtu + 38);
	return (struct bench_limit){
		true, (double)p->speed_mbps / 1e3 * share,
		arena_printf(env->a,
			     "%s runs at %lld Mb/s, of which %.1f %% are data at an MTU of %.0f",
			     p->link.name, p->speed_mbps, 100 * share, mtu)
	};
}

static const struct bench_figure figures[] = {
	{ "rate", "received", "gbit_per_s", "Gbit/s", BENCH_HIGHER },
	{ "sender_cpu", "CPU of the sender", "s_per_gb", "s/GB", BENCH_LOWER },
	{ "receiver_cpu", "CPU of the receiver", "s_per_gb", "s/GB", BENCH_LOWER },
};

const struct bench bench_tcp = {
	.name = "tcp",
	.title = "TCP bandwidth to and from another machine",
	.method = "Threads send and receive without pause, at most one per two CPUs, each with its "
		  "share of the connections. A sample is the receiver's count in 100 ms by its own "
		  "clock, which must agree with the sender's. CPU is user and system time of the "
		  "process on each side, without interrupts in other processes. Each 64 KiB block "
		  "carries its offset, and one in 16 is compared as a whole. In the end both "
		  "totals must be equal, and the interfaces must have carried 90 % of them.",
	.version = 2,
	FIGURES(figures),
	.brief = "send:",
	.seconds = 3,
	.rounds = 3,
	.cases = rate_cases,
	.state_size = sizeof(struct rate),
	.setup = rate_setup,
	.run = rate_run,
	.verify = rate_verify,
	.teardown = rate_teardown,
	.limit = rate_limit,
};

/*
 * How long a request takes that needs a connection of its own, with the handshake first and with
 * the request in its first packet (TCP fast open).
 */

/* Over a long path so many would take seconds: then a window is what fits into its time. */
enum { WINDOW = 50, CONNECT_WINDOW_MS = 250, WINDOW_LEAST = 8, SMALL_WINDOW = 5 };

struct connects {
	const struct net_arg *arg;
	struct peer peer;
	uint64_t count, fast;
	double us[WINDOW];
};

static void connects_teardown(void *state)
{
	struct connects *s = state;

	peer_close(&s->peer);
}

static int connects_setup(const struct bench_env *env, const struct bench_case *c, void *state,
			  const char **variant, struct err *e)
{
	struct connects *s = state;
	int r;

	s->arg = c->arg;
	r = net_peer_start(env, s->arg, &s->peer, e);
	r = r ? r : peer_ready(&s->peer, e);
	if (r)
		return r;
	*variant = !s->arg->fast_open		? "handshake, then request"
		   : !(sysctl_fast_open() & 1)	? "fast open requested, but not permitted on this "
						  "machine (net.ipv4.tcp_fastopen)"
		   : !s->peer.started.fast_open ? "fast open requested, but not permitted on the "
						  "peer (net.ipv4.tcp_fastopen)"
						: "fast open";
	return 0;
}

/* The request leaves with the first packet, where that is asked for and goes. */
static int connect_and_send(const struct connects *s, int fd, const uint8_t *bytes)
{
	const struct net_address *to = &s->peer.address;
	ssize_t n;

	if (s->arg->fast_open) {
		n = sendto(fd, bytes, WIRE_OPENING, MSG_FASTOPEN | MSG_NOSIGNAL,
			   (const struct sockaddr *)&to->ss, to->len);
		if (n >= 0 || errno != EOPNOTSUPP)
			return n == WIRE_OPENING ? 0 : n < 0 ? -errno : -EIO;
	}
	if (connect(fd, (const struct sockaddr *)&to->ss, to->len))
		return -errno;
	n = send(fd, bytes, WIRE_OPENING, MSG_NOSIGNAL);
	return n == WIRE_OPENING ? 0 : n < 0 ? -errno : -EIO;
}

static bool went_fast(int fd)
{
	struct tcp_info info = { 0 };
	socklen_t n = sizeof(info);

	return getsockopt(fd, IPPROTO_TCP, TCP_INFO, &info, &n) == 0 &&
	       (info.tcpi_options & TCPI_OPT_SYN_DATA);
}

static int one_connect(struct connects *s, double *us)
{
	struct opening o = { .kind = OPENING_REQUEST,
			     .version = WIRE_VERSION,
			     .index = (uint32_t)s->count,
			     .test = s->peer.test },
		       answer;
	uint8_t bytes[WIRE_OPENING], back[WIRE_OPENING];
	int fd = socket(s->peer.address.ss.ss_family, SOCK_STREAM | SOCK_CLOEXEC, 0), r;
	uint64_t begin;
	ssize_t n = 0;

	if (fd < 0)
		return -errno;
	opening_seal(&o, s->peer.key);
	opening_write(&o, bytes);
	net_no_delay(fd, true);
	r = net_blocking(fd, PEER_DIAL_MS);
	begin = net_now_ns();
	r = r ? r : connect_and_send(s, fd, bytes);
	if (r == 0)
		n = recv(fd, back, sizeof(back), MSG_WAITALL);
	*us = (double)(net_now_ns() - begin) / 1e3;
	if (r == 0 && n != WIRE_OPENING)
		r = n < 0 ? (errno == EAGAIN ? -ETIMEDOUT : -errno) : -ECONNRESET;
	r = r ? r : opening_read(back, &answer);
	if (r == 0 && (answer.kind != OPENING_REPLY || answer.index != o.index ||
		       memcmp(answer.secret, o.secret, WIRE_SECRET) != 0))
		r = -EBADMSG;
	s->fast += r == 0 && went_fast(fd);
	s->count++;
	net_drop(fd);
	return r == -EINPROGRESS ? -ETIMEDOUT : r;
}

static int connects_run(void *state, struct bench_sample *out, struct err *e)
{
	struct connects *s = state;
	size_t most = s->arg->small ? SMALL_WINDOW : WINDOW, n = 0;
	uint64_t fast = s->fast, end = net_now_ns() + CONNECT_WINDOW_MS * 1000000ull;

	for (; n < most && (n < WINDOW_LEAST || net_now_ns() < end); n++) {
		int r = one_connect(s, &s->us[n]);

		if (r)
			return peer_fail(&s->peer, r, "connecting", e);
		if (out->observed)
			histogram_add(out->observed, s->us[n] * 1e3);
		if (net_stopped(&s->peer))
			return err_set(e, -EINTR, "interrupted");
	}
	stat_sort(s->us, n);
	out->value[0] = stat_quantile(s->us, n, 0.5);
	out->value[1] = stat_quantile(s->us, n, 0.9);
	out->value[2] = 100 * (double)(s->fast - fast) / (double)n;
	return 0;
}

static int connects_verify(void *state, struct err *e)
{
	struct connects *s = state;
	struct peer_counts counts;
	int r = peer_stop(&s->peer, &counts, e);

	if (r)
		return r;
	if (counts.c.bytes != s->count)
		return err_set(e, -EPROTO,
			       "this machine made %llu connections, %llu arrived at the peer",
			       (unsigned long long)s->count, (unsigned long long)counts.c.bytes);
	return 0;
}

static void connects_cases(const struct bench_env *env, struct bench_cases *out)
{
	struct frame_start_test t = { .kind = TEST_CONNECT, .streams = 1 };
	struct net_place p;

	if (!net_place_find(env, &p, out))
		return;
	for (int fast = 0; fast < 2; fast++)
		net_case_add(
			env, out, &p, fast ? "fast-open" : "handshake",
			"64 bytes to the peer and back on a new connection, which is then reset",
			&t, fast);
}

static const struct bench_figure connect_figures[] = {
	{ "p50", "time to answer, median of a window", "us", "us", BENCH_LOWER },
	{ "p90", "90th percentile of a window", "us", "us", BENCH_LOWER },
	{ "fast", "requests sent in the first packet", "percent", "%", BENCH_HIGHER },
};

const struct bench bench_tcp_connect = {
	.name = "tcp-connect",
	.title = "latency of a request on a new connection",
	.method = "A new connection, 64 bytes on it, 64 bytes back; microseconds from the first "
		  "call to the answer. With fast-open the request is offered in the first packet; "
		  "the share that the peer accepts is a separate figure, since kernels refuse it "
		  "by default. The other side authenticates the client before it answers, which "
		  "takes a few microseconds. A sample is 50 connections, or as many as fit in a "
		  "quarter of a second, but at least 8.",
	.version = 2,
	FIGURES(connect_figures),
	.observed_scale = 1e-3,
	.brief = "-",
	.seconds = 1,
	.rounds = 3,
	.cases = connects_cases,
	.state_size = sizeof(struct connects),
	.setup = connects_setup,
	.run = connects_run,
	.verify = connects_verify,
	.teardown = connects_teardown,
	.no_limit = "unknown: not in any data sheet",
};

/* What a connection that was idle still carries at once: a burst after a pause against a burst
 * after another. */

enum { STEADY = 5, PAUSE_LEAST_MS = 300, PAUSE_MOST_MS = 3000 };

struct idle {
	struct net_single c;
	uint8_t *data;
	uint64_t bytes;
	bool warm;
};

static void tcp_idle_teardown(void *state)
{
	struct idle *s = state;

	net_single_close(&s->c);
	free(s->data);
}

static int tcp_idle_setup(const struct bench_env *env, const struct bench_case *c, void *state,
			  const char **variant, struct err *e)
{
	struct idle *s = state;
	char text[NET_TEXT];
	int r = net_single_open(env, c, &s->c, text, e), slow = sysctl_slow_start_after_idle();

	s->data = heap_array(1, s->c.arg->test.size);
	if (r)
		return r;
	*variant = arena_printf(env->a, "%s, slow start after idle %s", text,
				slow < 0 ? "unknown"
				: slow	 ? "on"
					 : "off");
	return 0;
}

/* Beyond the time after which the kernel takes the connection for idle. */
static int pause_ms(const struct idle *s)
{
	struct tcp_info info = { 0 };
	socklen_t n = sizeof(info);
	long long ms = 0;

	if (s->c.arg->small)
		return 1;
	if (getsockopt(s->c.fd, IPPROTO_TCP, TCP_INFO, &info, &n) == 0)
		ms = 2LL * info.tcpi_rto / 1000;
	return ms < PAUSE_LEAST_MS ? PAUSE_LEAST_MS : ms > PAUSE_MOST_MS ? PAUSE_MOST_MS : (int)ms;
}

/* Gbit/s from the first byte's sending to the answer that all are there. */
static int tcp_burst(struct idle *s, double *rate)
{
	/* Not cut short: the peer counts whole bursts only. */
	struct net_wait w = { STREAM_QUIET_MS, NULL };
	size_t n = s->c.arg->test.size;
	uint64_t begin = net_now_ns(), there;
	int r = net_write(s->c.fd, s->data, n, &w);

	r = r ? r : net_read(s->c.fd, &there, sizeof(there), &w);
	s->bytes += n;
	*rate = (double)n * 8 / (double)(net_now_ns() - begin);
	return r ? r : there == s->bytes ? 0 : -EPROTO;
}

static int steady(struct idle *s, double *median)
{
	double rate[STEADY];
	int r = 0;

	for (size_t i = 0; r == 0 && i < STEADY; i++)
		r = net_stopped(&s->c.peer) ? -EINTR : tcp_burst(s, &rate[i]);
	if (r == 0)
		*median = stat_median_in_place(rate, STEADY);
	return r;
}

static int tcp_idle_run(void *state, struct bench_sample *out, struct err *e)
{
	struct idle *s = state;
	struct timespec slice = { 0, 1000000 };
	double before = 0;
	int r = 0;

	/* A new connection is slow for reasons of its own. */
	for (int i = 0; r == 0 && !s->warm && i < 4; i++)
		r = steady(s, &before);
	s->warm = true;
	r = r ? r : steady(s, &before);
	for (int left = pause_ms(s); r == 0 && left > 0; left--) {
		nanosleep(&slice, NULL);
		r = net_stopped(&s->c.peer) ? -EINTR : 0;
	}
	r = r ? r : tcp_burst(s, &out->value[0]);
	if (r == -EPROTO)
		return err_set(e, r, "%s received a different number of bytes than was sent",
			       s->c.peer.address.text);
	if (r)
		return peer_fail(&s->c.peer, r, "sending a burst", e);
	out->value[1] = before;
	out->value[2] = 100 * out->value[0] / before;
	return 0;
}

static int tcp_idle_verify(void *state, struct err *e)
{
	struct idle *s = state;
	struct peer_counts counts;
	int r;

	shutdown(s->c.fd, SHUT_WR);
	r = peer_stop(&s->c.peer, &counts, e);
	if (r == 0 && counts.c.bytes != s->bytes)
		return err_set(e, -EPROTO, "%llu bytes were sent, %llu received",
			       (unsigned long long)s->bytes, (unsigned long long)counts.c.bytes);
	return r;
}

static void tcp_idle_cases(const struct bench_env *env, struct bench_cases *out)
{
	struct frame_start_test t = { .kind = TEST_BURST, .streams = 1, .size = 1 << 20 };
	struct net_place p;

	if (!net_place_find(env, &p, out))
		return;
	net_case_add(env, out, &p, "1MiB",
		     "bursts of 1 MiB to the peer, the pause is twice the retransmission time-out, "
		     "at least 300 ms",
		     &t, false);
}

static const struct bench_figure idle_figures[] = {
	{ "after_idle", "burst after a pause", "gbit_per_s", "Gbit/s", BENCH_HIGHER },
	{ "steady", "burst after a burst", "gbit_per_s", "Gbit/s", BENCH_HIGHER },
	{ "share", "speed after a pause, relative to speed without one", "percent", "%",
	  BENCH_HIGHER },
};

const struct bench bench_tcp_idle = {
	.name = "tcp-idle",
	.title = "burst speed of a connection after a pause",
	.method = "Bursts on one connection, each answered when it has arrived completely: a burst "
		  "after a pause (the kernel resets the congestion window: slow start after idle), "
		  "and the median of five bursts without a pause. The time runs from the first "
		  "call to the answer.",
	.version = 1,
	FIGURES(idle_figures),
	.brief = "-",
	.seconds = 4,
	.rounds = 3,
	.cases = tcp_idle_cases,
	.state_size = sizeof(struct idle),
	.setup = tcp_idle_setup,
	.run = tcp_idle_run,
	.verify = tcp_idle_verify,
	.teardown = tcp_idle_teardown,
	.no_limit = "unknown: it depends on the path's round-trip time",
};
