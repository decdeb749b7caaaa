/* SPDX-License-Identifier: Apache-2.0 */
/* "serve" lets the network benches of other nodes in, one server an address, until "serve-end" or
 * the program's end. */
#include <errno.h>
#include <math.h>
#include <netinet/icmp6.h>
#include <netinet/in.h>
#include <netinet/ip_icmp.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/text.h"
#include "many/cluster/ask.h"
#include "many/cluster/messages.h"
#include "many/cluster/setup.h"
#include "measure/bench/bench.h"
#include "measure/bench/net/serve.h"
#include "measure/bench/net/socket.h"
#include "measure/bench/ranks.h"

/* "ping" sends ICMP echoes to all targets at once; nobody on the way may cut them (don't fragment,
 * and no memory of an earlier path MTU). */

enum { DATA_MAX = 65507, HEAD = 8, IP_HEAD_MAX = 60, TRIES_MAX = 10, LIMIT_MS_MAX = 2000 };

struct echo {
	int fd;
	bool raw, six;
	size_t bytes;
	uint16_t id, seq;
	unsigned sent, got;
	double us; /* the fastest; 0: none came */
	long long at_ns;
	int error;
};

static uint16_t checksum(const uint8_t *p, size_t n)
{
	uint32_t sum = 0;

	for (size_t i = 0; i + 1 < n; i += 2)
		sum += (uint32_t)p[i] << 8 | p[i + 1];
	if (n % 2)
		sum += (uint32_t)p[n - 1] << 8;
	while (sum >> 16)
		sum = (sum & 0xffff) + (sum >> 16);
	return (uint16_t)~sum;
}

/* Without root where the system lets its users ping, with a raw socket otherwise. */
static int open_socket(struct echo *x, int family)
{
	int protocol = family == AF_INET6 ? IPPROTO_ICMPV6 : IPPROTO_ICMP;

	x->fd = socket(family, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, protocol);
	x->raw = x->fd < 0;
	if (x->raw)
		x->fd = socket(family, SOCK_RAW | SOCK_CLOEXEC | SOCK_NONBLOCK, protocol);
	return x->fd < 0 ? -errno : 0;
}

static int open_echo(struct echo *x, const char *from, const char *to, struct err *e)
{
	struct net_address a, b;
	int four = IP_PMTUDISC_PROBE, six = IPV6_PMTUDISC_PROBE, r;
	char text[NET_TEXT];

	snprintf(text, sizeof(text), strchr(from, ':') ? "[%.60s]:0" : "%.60s:0", from);
	r = net_address_parse(text, true, &a, e);
	snprintf(text, sizeof(text), strchr(to, ':') ? "[%.60s]:0" : "%.60s:0", to);
	r = r ? r : net_address_parse(text, true, &b, e);
	if (r || a.ss.ss_family != b.ss.ss_family)
		return r ? r : err_set(e, -EINVAL, "addresses of different families");
	x->six = a.ss.ss_family == AF_INET6;
	r = open_socket(x, a.ss.ss_family);
	if (r)
		return err_set(e, r, "cannot create a socket for echoes: %s", strerror(-r));
	setsockopt(x->fd, x->six ? IPPROTO_IPV6 : IPPROTO_IP,
		   x->six ? IPV6_MTU_DISCOVER : IP_MTU_DISCOVER, x->six ? &six : &four,
		   sizeof(four));
	if (bind(x->fd, (const struct sockaddr *)&a.ss, a.len))
		r = err_set(e, -errno, "%s is not an address of this machine", from);
	else if (connect(x->fd, (const struct sockaddr *)&b.ss, b.len))
		r = err_set(e, -errno, "no route from %s to %s: %s", from, to, strerror(errno));
	if (r) {
		close(x->fd);
		x->fd = -1;
	}
	return r;
}

static void send_echo(struct echo *x, uint8_t *packet)
{
	uint16_t sum;

	memset(packet, 0, HEAD);
	packet[0] = x->six ? ICMP6_ECHO_REQUEST : ICMP_ECHO;
	x->seq++;
	packet[4] = (uint8_t)(x->id >> 8);
	packet[5] = (uint8_t)x->id;
	packet[6] = (uint8_t)(x->seq >> 8);
	packet[7] = (uint8_t)x->seq;
	for (size_t i = 0; i < x->bytes; i++)
		packet[HEAD + i] = (uint8_t)(i + x->seq);
	/* Of version 6 the kernel computes it. */
	sum = x->six ? 0 : checksum(packet, HEAD + x->bytes);
	packet[2] = (uint8_t)(sum >> 8);
	packet[3] = (uint8_t)sum;
	x->at_ns = clock_mono_ns();
	x->sent++;
	if (send(x->fd, packet, HEAD + x->bytes, 0) < 0)
		x->error = errno;
}

/* One packet that may be the answer; others are left aside. */
static void take_answer(struct echo *x, uint8_t *packet, size_t room)
{
	ssize_t got = recv(x->fd, packet, room, 0);
	size_t n = got > 0 ? (size_t)got : 0, head = 0;
	double us = (double)(clock_mono_ns() - x->at_ns) / 1e3;

	if (got < 0 && errno != EAGAIN && errno != EINTR)
		x->error = errno;
	/* Raw ones of version 4 come with the header of IP. */
	if (x->raw && !x->six && n)
		head = (size_t)(packet[0] & 15) * 4;
	if (n < head + HEAD || n - head != HEAD + x->bytes ||
	    packet[head] != (x->six ? ICMP6_ECHO_REPLY : ICMP_ECHOREPLY) ||
	    (x->raw && (packet[head + 4] << 8 | packet[head + 5]) != x->id) ||
	    (packet[head + 6] << 8 | packet[head + 7]) != x->seq)
		return;
	for (size_t i = 0; i < x->bytes; i++)
		if (packet[head + HEAD + i] != (uint8_t)(i + x->seq)) {
			x->error = EBADMSG;
			return;
		}
	x->error = 0;
	x->got++;
	if (x->us == 0 || us < x->us)
		x->us = us;
}

static bool waits(const struct echo *x, unsigned before)
{
	return x->fd >= 0 && x->got == before && !x->error;
}

/* Sends to all that have not answered often enough, and waits for what comes. */
static void one_try(struct echo *all, size_t n, uint8_t *packet, int limit_ms,
		    const atomic_bool *stop)
{
	struct pollfd fds[MEASURE_TARGETS_MAX];
	unsigned before[MEASURE_TARGETS_MAX];
	long long end = clock_mono_ms() + limit_ms, left;

	for (size_t i = 0; i < n; i++) {
		before[i] = all[i].got;
		all[i].error = all[i].fd < 0 ? all[i].error : 0;
		if (all[i].fd >= 0)
			send_echo(&all[i], packet);
	}
	while ((left = end - clock_mono_ms()) > 0 && !(stop && atomic_load(stop))) {
		size_t open = 0;

		for (size_t i = 0; i < n; i++) {
			fds[i] = (struct pollfd){ .fd = waits(&all[i], before[i]) ? all[i].fd : -1,
						  .events = POLLIN };
			open += fds[i].fd >= 0;
		}
		if (!open)
			return;
		if (poll(fds, (nfds_t)n, left > 50 ? 50 : (int)left) < 0 && errno != EINTR)
			return;
		for (size_t i = 0; i < n; i++)
			if (fds[i].fd >= 0 && fds[i].revents)
				take_answer(&all[i], packet, HEAD + DATA_MAX + IP_HEAD_MAX);
	}
}

/* NULL: one came back. */
static const char *error_text(const struct echo *x, const struct err *e)
{
	if (e->text[0])
		return e->text;
	if (x->got)
		return NULL;
	if (x->error == EMSGSIZE)
		return "larger than the MTU of an interface on the path";
	return x->error ? strerror(x->error) : "no answer";
}

static json_t *node_ping_echoes_json(struct arena *a, const struct echo *all,
				     const struct err *errors, size_t n)
{
	struct ping_answer answer = { .echoes = arena_array(a, n, sizeof(*answer.echoes)), .n = n };

	for (size_t i = 0; i < n; i++)
		answer.echoes[i] = (struct ping_echo){ all[i].got, all[i].got ? all[i].us : NAN,
						       error_text(&all[i], &errors[i]) };
	return shape_object_json(&ping_answer_shape, &answer);
}

static int ping_check(const struct ping_ask *ask, struct err *e)
{
	if (ask->tries < 1 || ask->tries > TRIES_MAX || ask->limit_ms < 1 ||
	    ask->limit_ms > LIMIT_MS_MAX)
		return err_set(e, -EINVAL, "at most %d tries of %d ms", TRIES_MAX, LIMIT_MS_MAX);
	for (size_t i = 0; i < ask->n; i++)
		if (ask->targets[i].bytes < 0 || ask->targets[i].bytes > DATA_MAX)
			return err_set(e, -EINVAL, "an echo has at most %d bytes", DATA_MAX);
	return 0;
}

int answer_ping(struct ask_node *n, void **state, const json_t *with, json_t **out, struct err *e)
{
	struct ping_ask ask;
	struct echo *all;
	struct err *errors;
	uint8_t *packet;
	int r = shape_read(n->arena, &ping_ask_shape, with, &ask, e);

	(void)state;
	r = r ? r : ping_check(&ask, e);
	if (r)
		return r;
	all = arena_array(n->arena, ask.n, sizeof(*all));
	errors = arena_array(n->arena, ask.n, sizeof(*errors));
	packet = arena_alloc(n->arena, HEAD + DATA_MAX + IP_HEAD_MAX);
	for (size_t i = 0; i < ask.n; i++) {
		all[i] = (struct echo){ .fd = -1,
					.id = (uint16_t)((unsigned)getpid() + i),
					.bytes = (size_t)ask.targets[i].bytes };
		/* That one cannot be tried is its answer. */
		open_echo(&all[i], ask.targets[i].from, ask.targets[i].to, &errors[i]);
	}
	for (long long i = 0; i < ask.tries; i++)
		one_try(all, ask.n, packet, (int)ask.limit_ms, n->stop);
	*out = node_ping_echoes_json(n->arena, all, errors, ask.n);
	for (size_t i = 0; i < ask.n; i++)
		if (all[i].fd >= 0)
			close(all[i].fd);
	return 0;
}

/* "collective" takes part in operations of NCCL between the GPUs of several nodes, as "bench
 * collectives --rank" does. Rank 0 waits for the others at an address of its own and answers; the
 * others answer {} when it is over. */

/* Of the bench's figures. */
enum { BUS = 0, TIME = 2 };

static int run_case(const struct bench_env *env, const struct bench_case *c, size_t windows,
		    struct collective_operation *out, struct err *e)
{
	struct bench_sample s = { 0 };
	void *state = NULL;
	int r = bench_set_up(&bench_collectives, env, c, &state, &out->how, e);

	if (r)
		return r;
	for (size_t i = 0; i <= windows && r == 0; i++) {
		r = bench_collectives.run(state, &s, e);
		/* The first one warms up. */
		if (r || !i || !isfinite(s.value[BUS]) || !isfinite(s.value[TIME]))
			continue;
		out->bus_gbs[out->n_bus++] = s.value[BUS];
		out->time_us[out->n_time++] = s.value[TIME];
	}
	r = r ? r : bench_collectives.verify(state, e);
	bench_tear_down(&bench_collectives, state);
	return r;
}

static void run_operation(struct bench_env *env, const char *name, size_t windows,
			  struct collective_operation *out)
{
	struct bench_cases cases = { 0 };
	struct err e = { 0 };
	int r;

	*out = (struct collective_operation){ .name = name };
	env->ask.name = name;
	bench_collectives.cases(env, &cases);
	if (cases.n)
		r = run_case(env, &cases.items[0], windows, out, &e);
	else
		r = err_set(&e, -ENODATA, "%s", cases.none ? cases.none : "unknown operation");
	if (r)
		out->error = arena_strdup(env->a, e.text);
}

struct part {
	struct collective_ask ask;
	struct token token;
};

static int read_part(struct arena *a, const json_t *with, struct part *out, struct err *e)
{
	const struct collective_ask *ask = &out->ask;
	struct net_address at;
	int r = shape_read(a, &collective_ask_shape, with, &out->ask, e);

	r = r ? r : measure_token(ask->token, &out->token, e);
	if (r)
		return r;
	if (ask->windows < 1 || ask->windows >= MEASURE_WINDOWS_MAX)
		return err_set(e, -EINVAL, "\"windows\" must be 1 to %d", MEASURE_WINDOWS_MAX - 1);
	if (ask->ranks < 2 || ask->ranks > RANKS_MAX || ask->rank < 0 || ask->rank >= ask->ranks ||
	    strlen(ask->meet) >= NET_TEXT || net_address_parse(ask->meet, true, &at, e))
		return err_set(e, -EINVAL, "rank or rendezvous address missing");
	return 0;
}

static json_t *node_serve_lead(struct bench_env *env, const struct collective_ask *ask)
{
	struct collective_answer answer = { .n = ask->n };

	answer.operations = arena_array(env->a, ask->n, sizeof(*answer.operations));
	for (size_t i = 0; i < ask->n; i++)
		run_operation(env, ask->operations[i], (size_t)ask->windows, &answer.operations[i]);
	return shape_object_json(&collective_answer_shape, &answer);
}

static int take_part(struct ask_node *n, const struct part *p, const char *token_path, json_t **out,
		     struct err *e)
{
	struct ranks ranks = { .rank = (unsigned)p->ask.rank,
			       .ranks = (unsigned)p->ask.ranks,
			       .by = "the cluster's check",
			       .meet = p->ask.meet };
	struct collective_shared *team = NULL;
	struct bench_env env;
	int r;

	measure_env(n, &env);
	r = team_join(&env, &ranks, token_path, &team, e);
	if (r)
		return r;
	env.ask.team = team;
	if (p->ask.rank == 0)
		*out = node_serve_lead(&env, &p->ask);
	else
		r = team_follow(&env, team, e);
	team_end(team);
	if (r == 0 && p->ask.rank)
		*out = json_object();
	return r;
}

static int answer_collective(struct ask_node *n, void **state, const json_t *with, json_t **out,
			     struct err *e)
{
	struct part p;
	char path[64];
	int r = read_part(n->arena, with, &p, e), fd;

	(void)state;
	fd = r ? r : measure_token_file(&p.token, path, e);
	explicit_bzero(&p.token, sizeof(p.token));
	if (fd < 0)
		return fd;
	r = take_part(n, &p, path, out, e);
	close(fd);
	return r;
}

struct node_server {
	struct serve serve;
	pthread_t thread;
	bool running;
};

struct node_servers {
	struct token token;
	int wake; /* readable: all end */
	struct node_server list[MEASURE_SERVERS_MAX];
	size_t n;
};

/* One run's; made by the first request that needs it. */
struct measure_state {
	struct node_servers *servers;
};

/* NULL: no memory. */
static struct measure_state *measure_state(void **state)
{
	if (!*state)
		*state = calloc(1, sizeof(struct measure_state));
	return *state;
}

/* The benches' files hold the digits, so those are what both sides know. */
static void as_digits(const struct token *in, struct token *out)
{
	static const char digits[] = "0123456789abcdef";

	out->n = 0;
	for (size_t i = 0; i < in->n && out->n + 2 <= TOKEN_MAX; i++) {
		out->secret[out->n++] = (uint8_t)digits[in->secret[i] >> 4];
		out->secret[out->n++] = (uint8_t)digits[in->secret[i] & 15];
	}
}

static void *serve_main(void *arg)
{
	struct node_server *s = arg;
	struct err e;

	serve_run(&s->serve, &e);
	return NULL;
}

static int node_serve_start(struct node_servers *all, const char *address, char text[NET_TEXT],
			    struct err *e)
{
	struct node_server *s = &all->list[all->n];
	struct net_address at;
	char with_port[NET_TEXT];
	int r, fd;

	if (all->n == MEASURE_SERVERS_MAX)
		return err_set(e, -E2BIG, "more than %d servers", MEASURE_SERVERS_MAX);
	snprintf(with_port, sizeof(with_port), strchr(address, ':') ? "[%.60s]:0" : "%.60s:0",
		 address);
	r = net_address_parse(with_port, true, &at, e);
	r = r ? r : serve_listen(&at, &fd, e);
	if (r)
		return r;
	*s = (struct node_server){
		.serve = { .listener = fd, .wake = all->wake, .token = &all->token }
	};
	r = pthread_create(&s->thread, NULL, serve_main, s);
	if (r) {
		close(fd);
		return err_set(e, -r, "cannot create a thread: %s", strerror(r));
	}
	s->running = true;
	all->n++;
	snprintf(text, NET_TEXT, "%s", at.text);
	return 0;
}

/* Ends all servers; NULL is nothing. */
static void node_servers_end(struct node_servers *s)
{
	uint64_t one = 1;

	if (!s)
		return;
	/* It stays readable: every server sees it. */
	if (write(s->wake, &one, sizeof(one)) < 0)
		abort();
	for (size_t i = 0; i < s->n; i++) {
		pthread_join(s->list[i].thread, NULL);
		close(s->list[i].serve.listener);
	}
	close(s->wake);
	explicit_bzero(&s->token, sizeof(s->token));
	free(s);
}

static struct node_servers *servers_new(const struct token *t, struct err *e)
{
	struct node_servers *s = calloc(1, sizeof(*s));

	if (!s) {
		err_set(e, -ENOMEM, "out of memory");
		return NULL;
	}
	s->wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (s->wake < 0) {
		err_set(e, -errno, "cannot create an event: %s", strerror(errno));
		free(s);
		return NULL;
	}
	as_digits(t, &s->token);
	return s;
}

static int answer_serve(struct ask_node *n, void **state, const json_t *with, json_t **out,
			struct err *e)
{
	struct measure_state *s = measure_state(state);
	struct servers_answer answer = { 0 };
	struct servers_ask ask;
	struct token t;
	int r = shape_read(n->arena, &servers_ask_shape, with, &ask, e);

	if (!s)
		return err_set(e, -ENOMEM, "out of memory");
	r = r ? r : measure_token(ask.token, &t, e);
	if (r)
		return r;
	node_servers_end(s->servers);
	s->servers = servers_new(&t, e);
	explicit_bzero(&t, sizeof(t));
	if (!s->servers)
		return -ENOMEM;
	answer.servers = arena_array(n->arena, ask.n, sizeof(*answer.servers));
	for (size_t i = 0; i < ask.n; i++) {
		struct bench_server *one = &answer.servers[answer.n++];
		char text[NET_TEXT];
		struct err why = { 0 };

		if (node_serve_start(s->servers, ask.addresses[i], text, &why))
			one->error = arena_strdup(n->arena, why.text);
		else
			one->at = arena_strdup(n->arena, text);
	}
	*out = shape_object_json(&servers_answer_shape, &answer);
	return 0;
}

static int answer_serve_end(struct ask_node *n, void **state, const json_t *with, json_t **out,
			    struct err *e)
{
	struct measure_state *s = *state;

	(void)n;
	(void)with;
	(void)e;
	if (s) {
		node_servers_end(s->servers);
		s->servers = NULL;
	}
	*out = json_object();
	return 0;
}

static void measure_end(void *state)
{
	struct measure_state *s = state;

	if (s)
		node_servers_end(s->servers);
	free(s);
}

static const struct ask_kind kinds[] = {
	{ "ping", answer_ping },	   { "serve", answer_serve },
	{ "serve-end", answer_serve_end }, { "measure", answer_measure },
	{ "counters", answer_counters },   { "collective", answer_collective },
};

const struct ask_group ask_measure = {
	.name = "measure", .kinds = kinds, .n = sizeof(kinds) / sizeof(kinds[0]), .end = measure_end
};
