/* SPDX-License-Identifier: Apache-2.0 */
/*
 * "serve": {"token": HEX, "addresses": [TEXT...]} lets the network benches of other nodes in, one
 * server an address, until "serve-end" or the program's end. The answer: {"listening": [TEXT or
 * null...], "errors": [TEXT or null...]} in the order of the addresses.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <net/if.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "measure/bench/bench.h"
#include "measure/bench/net/serve.h"
#include "many/cluster/node_measure.h"
#include "base/clock.h"
#include "many/cluster/node_configure.h"
#include "many/cluster/setup.h"
#include "machine/knob/io.h"
#include "base/text.h"
#include "base/utf8.h"
#include "many/cluster/node.h"

enum { TOKEN_DIGITS = 2 * TOKEN_MAX };

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

static int digit(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

int measure_token(const json_t *with, struct token *out, struct err *e)
{
	const char *hex = NULL;
	size_t n;
	int r = ask_text(with, "token", TOKEN_DIGITS, &hex, e);

	out->n = 0;
	if (r)
		return r;
	n = hex ? strlen(hex) : 0;
	if (n % 2 || n < 2 * TOKEN_MIN || n > TOKEN_DIGITS)
		return err_set(e, -EINVAL, "the request has no token");
	for (size_t i = 0; i < n; i += 2) {
		int high = digit(hex[i]), low = digit(hex[i + 1]);

		if (high < 0 || low < 0)
			return err_set(e, -EINVAL, "the token is not hexadecimal");
		out->secret[i / 2] = (uint8_t)(high << 4 | low);
	}
	out->n = n / 2;
	return 0;
}

int measure_token_file(const struct token *t, char path[64], struct err *e)
{
	int fd = memfd_create("gputune-token", MFD_CLOEXEC);

	if (fd < 0)
		return err_set(e, -errno, "no file in memory: %s", strerror(errno));
	/* Digits: a file's last newlines would not count, and these may be in a random secret. */
	for (size_t i = 0; i < t->n; i++)
		if (dprintf(fd, "%02x", t->secret[i]) != 2) {
			close(fd);
			return err_set(e, -EIO, "the token's file cannot be written");
		}
	if (fchmod(fd, 0600)) {
		int r = -errno;

		close(fd);
		return err_set(e, r, "the token's file cannot be made private");
	}
	snprintf(path, 64, "/proc/self/fd/%d", fd);
	return fd;
}

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

static int start(struct node_servers *all, const char *address, char text[NET_TEXT], struct err *e)
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
		return err_set(e, -r, "no thread: %s", strerror(r));
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
		err_set(e, -ENOMEM, "no memory");
		return NULL;
	}
	s->wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (s->wake < 0) {
		err_set(e, -errno, "no event: %s", strerror(errno));
		free(s);
		return NULL;
	}
	as_digits(t, &s->token);
	return s;
}

static int answer_serve(struct ask_node *n, void **state, const json_t *with, json_t **out,
			struct err *e)
{
	const json_t *addresses = json_object_get(with, "addresses");
	struct measure_state *s = measure_state(state);
	json_t *listening, *errors, *one;
	struct token t;
	size_t i;
	int r;

	(void)n;
	if (!s)
		return err_set(e, -ENOMEM, "no memory");
	listening = json_array();
	errors = json_array();
	r = measure_token(with, &t, e);
	if (r == 0 &&
	    (!json_is_array(addresses) || json_array_size(addresses) > MEASURE_SERVERS_MAX))
		r = err_set(e, -EINVAL, "\"addresses\" is no list of at most %d",
			    MEASURE_SERVERS_MAX);
	if (r == 0) {
		node_servers_end(s->servers);
		s->servers = servers_new(&t, e);
		r = s->servers ? 0 : -ENOMEM;
	}
	explicit_bzero(&t, sizeof(t));
	json_array_foreach(addresses, i, one)
	{
		char text[NET_TEXT];
		struct err why = { 0 };
		int failed = r ? r
			     : json_is_string(one)
				     ? start(s->servers, json_string_value(one), text, &why)
				     : err_set(&why, -EINVAL, "an address that is no text");

		if (r)
			break;
		json_array_append_new(listening, failed ? json_null() : json_string(text));
		json_array_append_new(errors, failed ? json_string(why.text) : json_null());
	}
	if (r) {
		json_decref(listening);
		json_decref(errors);
		return r;
	}
	*out = json_pack("{s:o, s:o}", "listening", listening, "errors", errors);
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

/* "network-look": whether ports have what they were to have. Owners of links do what they were told
 * in their own time, so it is looked at for a while. */

enum { SETTLE_MS = 8000, LOOK_MS = 100 };

/* NULL: the port is as wished. */
static const char *trouble_of(struct arena *a, const struct setup_port *p)
{
	const struct knob address = { KNOB_ADDRESS, p->address, p->name },
			  mtu = { KNOB_LINK, "mtu", p->name };
	HOST_AUTO *h = host_open_live();
	struct err e = { 0 };
	const char *now;

	if (knob_get(h, a, &address, &now, &e))
		return arena_strdup(a, e.text);
	if (strcmp(now, "present") != 0)
		return arena_printf(a, "it has not got %s", p->address);
	if (knob_get(h, a, &mtu, &now, &e))
		return arena_strdup(a, e.text);
	if (strcmp(now, arena_printf(a, "%lld", p->mtu)) != 0)
		return arena_printf(a, "its MTU is %s, not %lld", now, p->mtu);
	return NULL;
}

int answer_settled(struct ask_node *n, void **state, const json_t *with, json_t **out,
		   struct err *e)
{
	struct setup_want *want = ARENA_NEW(n->arena, struct setup_want);
	long long until = clock_mono_ms() + SETTLE_MS;
	json_t *list = json_array();
	int r = setup_want_read(n->arena, with, want, e);

	(void)state;
	for (size_t i = 0; r == 0 && i < want->n; i++) {
		const char *trouble = trouble_of(n->arena, &want->ports[i]);

		while (trouble && clock_mono_ms() < until && !atomic_load(n->stop)) {
			poll(NULL, 0, LOOK_MS);
			trouble = trouble_of(n->arena, &want->ports[i]);
		}
		json_array_append_new(list, json_pack("{s:s, s:s?}", "port", want->ports[i].name,
						      "trouble", trouble));
	}
	if (r) {
		json_decref(list);
		return r;
	}
	*out = json_pack("{s:o}", "ports", list);
	return 0;
}

/* Nodes as another machine or a file tells them: nothing of it is believed beyond its form. */

enum { DEPTH_MAX = 12, TEXT_MAX = 4096 };

/* Every text short and without control characters, and nothing nested without end. */
static bool sound(const json_t *j, unsigned depth)
{
	const char *key;
	json_t *v;
	size_t i;

	if (depth > DEPTH_MAX)
		return false;
	if (json_is_string(j)) {
		const char *s = json_string_value(j);
		size_t n = json_string_length(j);

		for (i = 0; i < n; i++)
			if ((unsigned char)s[i] < ' ' || s[i] == 0x7f)
				return false;
		return n <= TEXT_MAX;
	}
	json_array_foreach(j, i, v) if (!sound(v, depth + 1)) return false;
	json_object_foreach((json_t *)(uintptr_t)j, key, v) if (!sound(v, depth + 1)) return false;
	return true;
}

bool cluster_name_sound(const char *name)
{
	static const char may[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
				  "._-@:%[]";

	return *name && *name != '-' && *name != '.' && strlen(name) <= CLUSTER_NAME_MAX &&
	       strspn(name, may) == strlen(name);
}

const char *cluster_said(struct arena *a, const char *s, size_t most)
{
	TEXT_AUTO t = { 0 };
	uint32_t cp;

	text_add(&t, "");
	for (size_t n; (n = utf8_next(s, &cp)) > 0 && t.len + n <= most; s += n)
		if (cp == UTF8_BAD || !utf8_harmless(cp))
			text_addc(&t, '?');
		else
			text_addn(&t, s, n);
	return arena_strdup(a, t.s);
}

/* A number that was told lies in its range. */
static bool within(const struct fact_int *f, long long low, long long high)
{
	return !seen_ok(&f->f) || (f->v >= low && f->v <= high);
}

static bool interface_sound(const char *name)
{
	size_t n = strlen(name);

	return n && n < IF_NAMESIZE && strcmp(name, ".") != 0 && strcmp(name, "..") != 0 &&
	       !strpbrk(name, "/ :");
}

static int check_port(const struct cluster_node *n, const struct cluster_port *p, struct err *e)
{
	struct cluster_prefix prefix;

	if (!interface_sound(p->name))
		return err_set(e, -EINVAL, "a port has a name that no interface can have");
	if (cluster_port_find(n, p->name) != p)
		return err_set(e, -EINVAL, "two ports are called %s", p->name);
	if (*p->pci && pci_address_length(p->pci) != strlen(p->pci))
		return err_set(e, -EINVAL, "%s: \"%.32s\" is no PCI address", p->name, p->pci);
	if (!within(&p->rdma_port, 1, 255))
		return err_set(e, -EINVAL, "%s: %lld is no number of an RDMA port", p->name,
			       p->rdma_port.v);
	if (p->addresses.n > CLUSTER_ADDRESSES_MAX || p->gids.n > CLUSTER_GIDS_MAX)
		return err_set(e, -EINVAL, "%s has more addresses than a port can have", p->name);
	LIST_FOR_EACH (struct cluster_address, a, &p->addresses)
		if (cluster_prefix_parse(a->name, &prefix))
			return err_set(e, -EINVAL, "%s: \"%.64s\" is no address", p->name, a->name);
	return 0;
}

static int check_heard(const struct cluster_node *n, struct err *e)
{
	static const char *const ways[] = { "link", "broadcast", "lldp", "ipv6", "echo" };

	LIST_FOR_EACH (struct cluster_heard, h, &n->heard) {
		size_t i = 0;

		while (i < sizeof(ways) / sizeof(ways[0]) && strcmp(ways[i], h->way) != 0)
			i++;
		if (i == sizeof(ways) / sizeof(ways[0]))
			return err_set(e, -EINVAL, "nothing is heard by \"%.32s\"", h->way);
		if (!cluster_port_find(n, h->name))
			return err_set(e, -EINVAL,
				       "something was heard on \"%.32s\", which is no "
				       "port",
				       h->name);
	}
	return 0;
}

static int check(const struct cluster_node *n, struct err *e)
{
	struct cluster_prefix prefix;
	int r = 0;

	if (!cluster_name_sound(n->name) || !cluster_name_sound(n->address))
		return err_set(e, -EINVAL, "a node has a name that no machine can have");
	if (n->ports.n > CLUSTER_PORTS_MAX || n->heard.n > CLUSTER_HEARD_MAX ||
	    n->routes.n > CLUSTER_ROUTES_MAX)
		return err_set(e, -EINVAL, "more ports, or more heard, than a node can have");
	if (!within(&n->gpus, 0, CLUSTER_GPUS_MAX) ||
	    !within(&n->memory_bytes, 0, CLUSTER_MEMORY_MAX))
		return err_set(e, -EINVAL, "%lld GPUs and %lld bytes of memory are in no node",
			       n->gpus.v, n->memory_bytes.v);
	NODE_PORTS(p, n)
	{
		r = check_port(n, p, e);
		if (r)
			return r;
	}
	LIST_FOR_EACH (struct cluster_route, t, &n->routes)
		if (cluster_prefix_parse(t->name, &prefix))
			return err_set(e, -EINVAL, "\"%.64s\" is no address", t->name);
	return check_heard(n, e);
}

int cluster_node_read(struct arena *a, const json_t *j, struct cluster_node *out, struct err *e)
{
	struct cluster_node n = { 0 };
	int r;

	if (!sound(j, 0))
		return err_set(e, -EINVAL,
			       "a text that is too long or has control characters in it");
	r = schema_from_json(a, &schema_cluster_node, j, &n, e);
	if (r == 0)
		r = check(&n, e);
	if (r == 0)
		*out = n;
	return r;
}

int cluster_prefix_parse(const char *text, struct cluster_prefix *out)
{
	struct cluster_prefix p = { .family = strchr(text, ':') ? AF_INET6 : AF_INET };
	const char *slash = strchr(text, '/');
	size_t n = slash ? (size_t)(slash - text) : strlen(text);
	unsigned long long bits;
	char host[INET6_ADDRSTRLEN];

	p.bits = p.family == AF_INET6 ? 128 : 32;
	if (n >= sizeof(host))
		return -EINVAL;
	memcpy(host, text, n);
	host[n] = '\0';
	if (inet_pton(p.family, host, p.bytes) != 1)
		return -EINVAL;
	if (slash) {
		if (slash[1] < '0' || slash[1] > '9' || parse_u64(slash + 1, &bits) ||
		    bits > p.bits)
			return -EINVAL;
		p.bits = (unsigned)bits;
	}
	*out = p;
	return 0;
}

bool cluster_prefix_same(const struct cluster_prefix *a, const struct cluster_prefix *b)
{
	unsigned whole = a->bits / 8, rest = a->bits % 8;
	unsigned char mask = (unsigned char)(0xff00 >> rest);

	if (a->family != b->family || a->bits != b->bits)
		return false;
	return memcmp(a->bytes, b->bytes, whole) == 0 &&
	       (!rest || ((a->bytes[whole] ^ b->bytes[whole]) & mask) == 0);
}

bool cluster_prefix_link_local(const struct cluster_prefix *p)
{
	if (p->family == AF_INET)
		return p->bytes[0] == 169 && p->bytes[1] == 254;
	return p->bytes[0] == 0xfe && (p->bytes[1] & 0xc0) == 0x80;
}
