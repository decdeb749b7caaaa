/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Nodes of a cluster that answer as they are told, over sockets, in one thread and without waiting:
 * they move whenever somebody polls, and the clock goes on by itself where nobody has anything to
 * say. The link needs --wrap of poll, clock_mono_ms and clock_mono_s.
 *
 * Each node is honest (it answers any request as a healthy one would) but for what the input says:
 * sections, each a line "@@NODE ASK [HOW]" and what comes after it until the next one. NODE is a
 * digit or '*'; the first section answers the first such request, the second the second, the last
 * all others. HOW, a letter, says what the bytes are:
 *
 *   (none)  the answer          e  the error that it refuses with, JSON     l  a line instead
 *   r  bytes instead            t  the answer, twice                        m  bytes without end
 *   s  nothing is said          x  what goes to standard error; then it ends
 *   p  the honest answer with changes, each a line "node.ports.0.name JSON"; without JSON it goes
 */
#ifndef FUZZ_TALK_H
#define FUZZ_TALK_H

#include <errno.h>
#include <poll.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "many/cluster/ask.h"
#include "many/cluster/rsh.h"

enum {
	TALK_NODES = 4,
	TALK_SECTIONS = 64,
	TALK_ASKS = 16, /* different requests */
	TALK_MUCH = RSH_LINE_MAX + (1 << 17)
};

struct talk_section {
	char node, how;
	const char *ask, *s;
	size_t ask_n, n;
};

struct talk_peer {
	int in, out, err; /* what the driver's ends are joined to; -1: closed */
	struct text heard, saying;
	size_t flood;			     /* bytes that it has still to say */
	const struct talk_section *flood_of; /* NULL: none */
	char asked[TALK_ASKS][24];	     /* what it was asked */
	size_t times[TALK_ASKS], n_asks;     /* and how often */
};

struct talk {
	struct talk_section of[TALK_SECTIONS];
	size_t n_of;
	struct talk_peer peer[TALK_NODES];
	size_t n;		/* nodes */
	bool ring, twins, wide; /* wide: IPv6 */
	long long now_ms, last_id;
	size_t requests, stop_at; /* stop_at: after so many it is Ctrl-C; 0: never */
	const char *kept;	  /* a folder: what is said is written there as a seed */
	struct text seed;
	atomic_bool stop;
};

/* Whose clock and polls these are; NULL: nobody's. */
static struct talk *talking;

/* --- the input -------------------------------------------------------------------------------- */

static inline void talk_cut(struct talk *t, struct arena *a, const char *s, const char *end)
{
	while (t->n_of < TALK_SECTIONS && end - s > 2 && s[0] == '@' && s[1] == '@') {
		struct talk_section *x = &t->of[t->n_of];
		const char *nl = memchr(s, '\n', (size_t)(end - s)), *next, *blank;

		if (!nl)
			return;
		next = memmem(nl, (size_t)(end - nl), "\n@@", 3);
		*x = (struct talk_section){ .node = s[2], .s = nl + 1 };
		x->n = next && next > nl ? (size_t)(next - x->s) : next ? 0 : (size_t)(end - x->s);
		/* Of its own size: a byte too far is seen. */
		x->s = memcpy(arena_alloc(a, x->n), x->s, x->n);
		if (nl - s > 4 && s[3] == ' ') {
			x->ask = s + 4;
			blank = memchr(x->ask, ' ', (size_t)(nl - x->ask));
			x->how = blank && nl - blank > 1 ? blank[1] : '\0';
			x->ask_n = (size_t)((blank ? blank : nl) - x->ask);
			t->n_of++;
		}
		s = next ? next + 1 : end;
	}
}

static inline const struct talk_section *talk_find(const struct talk *t, size_t node,
						   const char *ask, size_t times)
{
	const struct talk_section *found = NULL;

	for (size_t i = 0; i < t->n_of; i++) {
		const struct talk_section *x = &t->of[i];

		if ((x->node != '*' && (size_t)(x->node - '0') != node) ||
		    x->ask_n != strlen(ask) || memcmp(x->ask, ask, x->ask_n) != 0)
			continue;
		found = x;
		if (!times--)
			break;
	}
	return found;
}

/* --- honest answers --------------------------------------------------------------------------- */

static inline json_t *talk_fact(json_t *v)
{
	return json_pack("{s:o}", "value", v);
}

static inline json_t *talk_text(const char *s)
{
	return talk_fact(json_string(s));
}

static inline json_t *talk_number(long long v)
{
	return talk_fact(json_integer(v));
}

static inline void talk_address(const struct talk *t, size_t node, size_t cage, size_t twin,
				char out[64])
{
	/* In a ring cable k joins the first cage of node k and the second of the next. */
	size_t cable = !t->ring ? 0 : cage ? (node + t->n - 1) % t->n : node;

	snprintf(out, 64, t->wide ? "fd00:%zu:%zu::%zu" : "10.%zu.%zu.%zu", cable, twin, node + 1);
}

static inline json_t *talk_port(const struct talk *t, size_t node, size_t cage, size_t twin)
{
	char name[48], device[48], pci[64], cage_name[24], address[64], whole[72];
	json_t *p;

	snprintf(name, sizeof(name), "enp%zus0f%zu", twin, cage);
	snprintf(device, sizeof(device), "rocep%zus0f%zu", twin, cage);
	snprintf(pci, sizeof(pci), "%04zx:01:00.%zu", 2 * twin, cage);
	snprintf(cage_name, sizeof(cage_name), "p%zu", cage);
	talk_address(t, node, cage, twin, address);
	snprintf(whole, sizeof(whole), "%s/%d", address, t->wide ? 64 : 24);
	p = json_pack("{s:s, s:s, s:[{s:s}], s:[{s:i, s:o, s:o}]}", "name", name, "pci", pci,
		      "addresses", "address", whole, "gids", "index", 3, "gid",
		      talk_text("::ffff:10.0.0.1"), "type", talk_text("RoCE v2"));
	json_object_set_new(p, "port_name", talk_text(cage_name));
	json_object_set_new(p, "switch_id", talk_text(node ? "b" : "a"));
	json_object_set_new(p, "operstate", talk_text("up"));
	json_object_set_new(p, "carrier", talk_fact(json_true()));
	json_object_set_new(p, "speed_mbps", talk_number(200000));
	json_object_set_new(p, "mtu_bytes", talk_number(9000));
	json_object_set_new(p, "rdma_device", talk_text(device));
	json_object_set_new(p, "rdma_port", talk_number(1));
	json_object_set_new(p, "rdma_state", talk_text("ACTIVE"));
	json_object_set_new(p, "link_layer", talk_text("Ethernet"));
	json_object_set_new(p, "rdma_rate_mbps", talk_number(200000));
	return p;
}

static inline void talk_heard(json_t *list, size_t cage, size_t twin, size_t other, size_t far,
			      const char *way)
{
	char name[48], theirs[48], node[24];

	snprintf(name, sizeof(name), "enp%zus0f%zu", twin, cage);
	snprintf(theirs, sizeof(theirs), "enp%zus0f%zu", twin, far);
	snprintf(node, sizeof(node), "n%zu", other);
	json_array_append_new(list, json_pack("{s:s, s:s, s:o, s:o}", "name", name, "way", way,
					      "node", talk_text(node), "port", talk_text(theirs)));
}

static inline json_t *talk_node(const struct talk *t, size_t node)
{
	json_t *ports = json_array(), *heard = json_array(), *j;
	size_t twins = t->twins ? 2 : 1;
	char name[24];

	snprintf(name, sizeof(name), "n%zu", node);
	for (size_t twin = 0; twin < twins; twin++) {
		for (size_t cage = 0; cage < (t->ring ? 2 : 1); cage++)
			json_array_append_new(ports, talk_port(t, node, cage, twin));
		for (size_t o = 0; o < t->n && !t->ring; o++)
			if (o != node)
				talk_heard(heard, 0, twin, o, 0, "broadcast");
		if (t->ring) {
			talk_heard(heard, 0, twin, (node + 1) % t->n, 1, "link");
			talk_heard(heard, 1, twin, (node + t->n - 1) % t->n, 0, "link");
		}
	}
	j = json_pack("{s:s, s:s, s:s, s:o, s:o, s:[]}", "name", name, "address", name, "failure",
		      "", "ports", ports, "heard", heard, "routes");
	json_object_set_new(j, "platform", talk_text("dgx-spark"));
	json_object_set_new(j, "gpu", talk_text("NVIDIA GB10"));
	json_object_set_new(j, "gpus", talk_number(1));
	json_object_set_new(j, "nccl", talk_text("2.28.9"));
	json_object_set_new(j, "memory_bytes", talk_number(128ll << 30));
	json_object_set_new(j, "ip_forward", talk_fact(json_true()));
	return j;
}

static inline json_t *talk_routes(const struct talk *t, size_t node, const json_t *with)
{
	json_t *list = json_array(), *j = talk_node(t, node), *one;
	size_t i;

	json_array_foreach(json_object_get(with, "to"), i, one) json_array_append_new(
		list, json_pack("{s:O, s:o}", "to", one, "port", talk_text("enp0s0f0")));
	json_object_set_new(j, "routes", list);
	return json_pack("{s:o}", "node", j);
}

static inline json_t *talk_listens(size_t node)
{
	char address[32], at[40], bench[40];

	snprintf(address, sizeof(address), "10.0.0.%zu", node + 1);
	snprintf(at, sizeof(at), "%s:4711", address);
	snprintf(bench, sizeof(bench), "%s:4712", address);
	return json_pack("{s:[{s:s, s:s, s:s, s:i, s:i, s:i, s:s}]}", "addresses", "interface",
			 "enp0s0f0", "address", address, "at", at, "bits", 24, "mbps", 200000,
			 "mtu", 9000, "bench", bench);
}

static inline json_t *talk_path(const char *ask)
{
	if (strcmp(ask, "measure") == 0)
		return json_pack("{s:f}", "value", 96.5);
	if (strcmp(ask, "ping") == 0)
		return json_pack("{s:[{s:i, s:f, s:n}, {s:i, s:f, s:n}]}", "echoes", "got", 3, "us",
				 20.0, "error", "got", 3, "us", 30.0, "error");
	return json_object();
}

static inline json_t *talk_honest(const struct talk *t, size_t node, const char *ask,
				  const json_t *with)
{
	if (strcmp(ask, "greet") == 0)
		return json_pack("{s:s, s:[s]}", "version", "1", "asks", "listen");
	if (strcmp(ask, "hear") == 0)
		return json_pack("{s:o}", "node", talk_node(t, node));
	if (strcmp(ask, "routes") == 0)
		return talk_routes(t, node, with);
	if (strcmp(ask, "self") == 0)
		return json_pack("{s:s, s:n, s:n, s:s, s:[], s:n, s:n}", "host", "box", "unfit",
				 "unreadable", "platform", "dgx-spark", "products", "check",
				 "bench");
	if (strcmp(ask, "addresses") == 0)
		return talk_listens(node);
	return strcmp(ask, "exchange") == 0 ? json_pack("{s:[], s:f, s:f, s:i}", "bad", "seconds",
							0.15, "rtt_us", 20.5, "retransmits", 0)
					    : talk_path(ask);
}

/* --- changes ---------------------------------------------------------------------------------- */

static inline json_t *talk_member(json_t *j, const char *key)
{
	return json_is_array(j) ? json_array_get(j, strtoul(key, NULL, 10))
				: json_object_get(j, key);
}

static inline void talk_set(json_t *j, const char *key, json_t *value)
{
	if (json_is_object(j)) {
		if (value)
			json_object_set_new(j, key, value);
		else
			json_object_del(j, key);
		return;
	}
	if (json_is_array(j) && value) {
		size_t i = strtoul(key, NULL, 10);

		if (i < json_array_size(j))
			json_array_set_new(j, i, value);
		else
			json_array_append_new(j, value);
		return;
	}
	if (json_is_array(j))
		json_array_remove(j, strtoul(key, NULL, 10));
	json_decref(value);
}

static inline void talk_change(json_t *j, char *line)
{
	char *path = strsep(&line, " "), *key = strsep(&path, ".");

	for (; path; key = strsep(&path, "."))
		j = talk_member(j, key);
	talk_set(j, key, line ? json_loads(line, JSON_DECODE_ANY, NULL) : NULL);
}

static inline void talk_changes(json_t *j, const struct talk_section *x)
{
	char *text = strndup(x->s, x->n), *at = text, *line;

	if (!text)
		abort();
	while ((line = strsep(&at, "\n")) != NULL)
		talk_change(j, line);
	free(text);
}

/* --- saying ----------------------------------------------------------------------------------- */

static inline void talk_shut(int *fd)
{
	if (*fd >= 0)
		close(*fd);
	*fd = -1;
}

static inline void talk_line(struct talk_peer *p, long long id, const char *key, const char *s,
			     size_t n)
{
	text_printf(&p->saying,
		    "{\"schema\":\"" CLUSTER_NODE_SCHEMA "\",\"id\":%lld,\"ok\":%s,\"%s\":", id,
		    *key == 'a' ? "true" : "false", key);
	/* JSON on several lines is one answer. */
	text_addn(&p->saying, s, n);
	for (size_t i = p->saying.len - n; i < p->saying.len; i++)
		if (p->saying.s[i] == '\n')
			p->saying.s[i] = ' ';
	text_add(&p->saying, "}\n");
}

static inline void talk_end(struct talk_peer *p, const struct talk_section *x)
{
	if (p->err >= 0 && x->n && send(p->err, x->s, x->n, MSG_NOSIGNAL | MSG_DONTWAIT) < 0)
		talk_shut(&p->err);
	talk_shut(&p->err);
	talk_shut(&p->in);
	talk_shut(&p->out);
}

static inline void talk_say(struct talk *t, size_t node, const char *ask, long long id,
			    const json_t *with, size_t times)
{
	const struct talk_section *x = talk_find(t, node, ask, times);
	struct talk_peer *p = &t->peer[node];
	char *honest = NULL;
	json_t *j;

	if (!x || x->how == 'p') {
		j = talk_honest(t, node, ask, with);
		if (x)
			talk_changes(j, x);
		honest = json_dumps(j, JSON_COMPACT);
		json_decref(j);
		talk_line(p, id, "answer", honest, strlen(honest));
		if (t->kept && !x && times < 2)
			text_printf(&t->seed, "@@%zu %s\n%s\n", node, ask, honest);
		free(honest);
		return;
	}
	switch (x->how) {
	case 'e':
		talk_line(p, id, "error", x->s, x->n);
		break;
	case 'l':
	case 'r':
		text_addn(&p->saying, x->s, x->n);
		text_addn(&p->saying, "\n", x->how == 'l');
		break;
	case 'm':
		p->flood = x->n ? TALK_MUCH : 0;
		p->flood_of = x;
		break;
	case 's':
		break;
	case 'x':
		talk_end(p, x);
		break;
	case 't':
		talk_line(p, id, "answer", x->s, x->n);
		/* fall through */
	default:
		talk_line(p, id, "answer", x->s, x->n);
	}
}

/* --- what the driver asks --------------------------------------------------------------------- */

static inline bool talk_is_address(const char *s)
{
	struct cluster_prefix p;

	return s && !strchr(s, '/') && cluster_prefix_parse(s, &p) == 0;
}

static inline void talk_check_rail(const struct talk *t, const json_t *with)
{
	const json_t *peers = json_object_get(with, "peers");

	if (json_array_size(peers) != t->n)
		abort();
	for (size_t i = 0; i < t->n; i++) {
		struct net_address at;
		struct err e;
		const char *s = json_string_value(json_array_get(peers, i));

		if (!s || (*s && net_address_parse(s, true, &at, &e)))
			abort();
	}
}

static inline void talk_check_peer(const json_t *with)
{
	const char *s = json_string_value(json_object_get(with, "peer"));
	struct net_address at;
	struct err e;

	if (!s || net_address_parse(s, true, &at, &e))
		abort();
}

static inline void talk_check_group(const struct talk *t, const json_t *with)
{
	const json_t *group = json_object_get(with, "group");

	if (json_array_size(group) < 2 || json_array_size(group) > t->n)
		abort();
	for (size_t i = 0; i < json_array_size(group); i++)
		if ((size_t)json_integer_value(json_array_get(group, i)) >= t->n)
			abort();
}

/* What one node said of itself sends no other node anywhere but to addresses. */
static inline void talk_check(const struct talk *t, const char *ask, const json_t *with)
{
	const json_t *to = json_object_get(with, "to");

	if (json_array_size(to) > CLUSTER_ROUTES_MAX)
		abort();
	for (size_t i = 0; i < json_array_size(to); i++)
		if (!talk_is_address(json_string_value(json_array_get(to, i))))
			abort();
	if (strcmp(ask, "measure") == 0)
		talk_check_peer(with);
	if (strcmp(ask, "rail") == 0)
		talk_check_rail(t, with);
	if (strcmp(ask, "exchange") == 0)
		talk_check_group(t, with);
}

static inline size_t talk_times(struct talk_peer *p, const char *ask)
{
	for (size_t i = 0; i < p->n_asks; i++)
		if (strcmp(p->asked[i], ask) == 0)
			return p->times[i]++;
	if (p->n_asks == TALK_ASKS)
		abort();
	snprintf(p->asked[p->n_asks], sizeof(p->asked[0]), "%s", ask);
	p->times[p->n_asks++] = 1;
	return 0;
}

static inline void talk_answer(struct talk *t, size_t node, const char *line, size_t n)
{
	json_t *j = json_loadb(line, n, JSON_REJECT_DUPLICATES, NULL);
	const char *ask = json_string_value(json_object_get(j, "ask"));
	const char *schema = json_string_value(json_object_get(j, "schema"));
	long long id = json_integer_value(json_object_get(j, "id"));
	const json_t *with = json_object_get(j, "with");

	if (!ask || !schema || strcmp(schema, CLUSTER_NODE_SCHEMA) != 0 || id <= 0 ||
	    !json_is_object(with) || n > RSH_ASK_MAX)
		abort();
	talk_check(t, ask, with);
	if (t->stop_at && ++t->requests >= t->stop_at)
		atomic_store(&t->stop, true);
	talk_say(t, node, ask, id, with, talk_times(&t->peer[node], ask));
	json_decref(j);
}

static inline bool talk_listen(struct talk *t, size_t node)
{
	struct talk_peer *p = &t->peer[node];
	/* Not on the stack: that is poisoned and healed at every call. */
	static char buf[65536];
	char *nl;
	ssize_t got = p->in < 0 ? -1 : recv(p->in, buf, sizeof(buf), MSG_DONTWAIT);

	if (got == 0)
		talk_shut(&p->in);
	if (got <= 0)
		return false;
	text_addn(&p->heard, buf, (size_t)got);
	while (p->heard.len && (nl = memchr(p->heard.s, '\n', p->heard.len)) != NULL) {
		size_t n = (size_t)(nl - p->heard.s);

		talk_answer(t, node, p->heard.s, n);
		memmove(p->heard.s, nl + 1, p->heard.len - n);
		p->heard.len -= n + 1;
	}
	return true;
}

static inline void talk_flush(struct talk_peer *p)
{
	ssize_t put;

	while (p->flood && p->saying.len < 1 << 16) {
		text_addn(&p->saying, p->flood_of->s, p->flood_of->n);
		p->flood -= p->flood_of->n < p->flood ? p->flood_of->n : p->flood;
	}
	if (p->out < 0 || !p->saying.len)
		return;
	put = send(p->out, p->saying.s, p->saying.len, MSG_NOSIGNAL | MSG_DONTWAIT);
	if (put < 0 && errno != EAGAIN)
		talk_shut(&p->out);
	if (put <= 0)
		return;
	memmove(p->saying.s, p->saying.s + put, p->saying.len - (size_t)put + 1);
	p->saying.len -= (size_t)put;
}

int __real_poll(struct pollfd *p, nfds_t n, int timeout);
int __wrap_poll(struct pollfd *p, nfds_t n, int timeout);
long long __real_clock_mono_ms(void);
long long __wrap_clock_mono_ms(void);
double __real_clock_mono_s(void);
double __wrap_clock_mono_s(void);

int __wrap_poll(struct pollfd *p, nfds_t n, int timeout)
{
	struct talk *t = talking;
	int r;

	if (!t)
		return __real_poll(p, n, timeout);
	for (size_t i = 0; i < t->n; i++) {
		talk_listen(t, i);
		talk_flush(&t->peer[i]);
	}
	r = __real_poll(p, n, 0);
	/* Nobody has anything to say: an hour is as good as a moment. */
	t->now_ms += r ? 1 : 1000;
	return r;
}

long long __wrap_clock_mono_ms(void)
{
	return talking ? talking->now_ms : __real_clock_mono_ms();
}

double __wrap_clock_mono_s(void)
{
	return talking ? (double)talking->now_ms / 1e3 : __real_clock_mono_s();
}

/* --- from beginning to end -------------------------------------------------------------------- */

static inline void talk_join(struct talk_peer *p, struct rsh_node *n)
{
	int *const ours[] = { &n->in, &n->out, &n->err }, *const theirs[] = { &p->in, &p->out,
									      &p->err };

	for (size_t i = 0; i < 3; i++) {
		int both[2];

		if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, both))
			abort();
		*ours[i] = both[0];
		*theirs[i] = both[1];
	}
}

static inline bool talk_greeted(const struct rsh *r, const void *ctx)
{
	(void)ctx;
	for (size_t i = 0; i < r->n; i++)
		if (!r->nodes[i].failure && !r->nodes[i].greeting)
			return false;
	return true;
}

/* As rsh_open, without programs. */
static inline struct rsh *talk_open(struct talk *t, struct arena *a,
				    const struct rsh_target *targets, const struct rsh_how *how)
{
	static char *argv[] = { "ssh", NULL };
	struct rsh *r = ARENA_NEW(a, struct rsh);

	*r = (struct rsh){ .a = a, .n = t->n, .how = how, .stop = &t->stop, .kept = json_array() };
	r->nodes = arena_array(a, t->n, sizeof(*r->nodes));
	talking = t;
	for (size_t i = 0; i < t->n; i++) {
		const struct talk_section *x = talk_find(t, i, "greet", 0);
		struct rsh_node *n = &r->nodes[i];

		*n = (struct rsh_node){ .target = targets[i], .argv = argv, .status = -1 };
		/* Its exit code or signal, as waitpid tells. */
		if (x && x->how == 'x' && x->n)
			n->status = (unsigned char)*x->s % 2 ? 255 << 8 : 15;
		talk_join(&t->peer[i], n);
		talk_say(t, i, "greet", 0, NULL, 0);
	}
	if (rsh_pump(r, talk_greeted, NULL, t->now_ms + 10000) == 1)
		for (size_t i = 0; i < t->n; i++)
			if (!r->nodes[i].failure && !r->nodes[i].greeting)
				rsh_put_out(r, &r->nodes[i], "%s: no answer", targets[i].name);
	return r;
}

static inline void talk_close(struct talk *t, struct rsh *r)
{
	rsh_close(r);
	talking = NULL;
	for (size_t i = 0; i < t->n; i++) {
		struct talk_peer *p = &t->peer[i];

		talk_shut(&p->in);
		talk_shut(&p->out);
		talk_shut(&p->err);
		text_free(&p->heard);
		text_free(&p->saying);
	}
	text_free(&t->seed);
}

#endif
