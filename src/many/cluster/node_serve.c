/* SPDX-License-Identifier: Apache-2.0 */
/*
 * "serve": {"token": HEX, "addresses": [TEXT...]} lets the network benches of other nodes in, one
 * server an address, until "serve-end" or the program's end. The answer: {"listening": [TEXT or
 * null...], "errors": [TEXT or null...]} in the order of the addresses.
 */
#include <errno.h>
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
