/* SPDX-License-Identifier: Apache-2.0 */
/* Bytes to and from the node programs, all at once, with an eye on the clock and on Ctrl-C. */
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "many/cluster/node.h"
#include "many/cluster/rsh_inside.h"

enum { SLICE_MS = 50, END_MS = 200 };

static void shut(int *fd)
{
	if (*fd >= 0)
		close(*fd);
	*fd = -1;
}

void rsh_put_out(struct rsh *r, struct rsh_node *n, const char *fmt, ...)
{
	va_list ap;

	if (!n->failure) {
		va_start(ap, fmt);
		n->failure = arena_vprintf(r->a, fmt, ap);
		va_end(ap);
	}
	shut(&n->in);
	shut(&n->out);
	shut(&n->err);
	if (n->pid > 0)
		kill(-n->pid, SIGTERM);
}

/* The last line that it wrote to its standard error. */
static const char *last_words(struct rsh *r, struct rsh_node *n)
{
	char *s = n->errors.s, *nl;
	size_t len = n->errors.len;

	while (len && (s[len - 1] == '\n' || s[len - 1] == '\r' || s[len - 1] == ' '))
		len--;
	if (!len)
		return NULL;
	nl = memrchr(s, '\n', len);
	s = nl ? nl + 1 : s;
	return cluster_said(r->a, arena_strndup(r->a, s, len - (size_t)(s - n->errors.s)),
			    ERRORS_MAX);
}

/* Its output is at its end: what became of it? */
static void on_end(struct rsh *r, struct rsh_node *n)
{
	long long until = clock_mono_ms() + END_MS;
	const char *said;
	char how[64];

	while (n->pid > 0 && clock_mono_ms() < until) {
		int status;

		if (waitpid(n->pid, &status, WNOHANG) == n->pid) {
			n->status = status;
			n->pid = 0;
			break;
		}
		poll(NULL, 0, 2);
	}
	said = last_words(r, n);
	if (n->status >= 0 && WIFEXITED(n->status))
		snprintf(how, sizeof(how), "ended with exit code %d", WEXITSTATUS(n->status));
	else if (n->status >= 0)
		snprintf(how, sizeof(how), "was ended by signal %d", WTERMSIG(n->status));
	else
		snprintf(how, sizeof(how), "closed the connection");
	rsh_put_out(r, n, "%s: %s %s%s%s", n->target.name, n->argv[0], how, said ? ": " : "",
		    said ? said : "");
}

static bool is_ours(const json_t *j)
{
	const char *schema = json_string_value(json_object_get(j, "schema"));

	return schema && strcmp(schema, CLUSTER_NODE_SCHEMA) == 0 &&
	       json_is_integer(json_object_get(j, "id")) &&
	       json_is_boolean(json_object_get(j, "ok"));
}

/* A login may print its news before the program greets. */
static void on_greeting(struct rsh *r, struct rsh_node *n, json_t *j, size_t len)
{
	const json_t *answer = json_object_get(j, "answer");

	if (is_ours(j) && json_integer_value(json_object_get(j, "id")) == 0 &&
	    json_is_string(json_object_get(answer, "version")) &&
	    json_is_array(json_object_get(answer, "asks"))) {
		n->greeting = json_incref(j);
		return;
	}
	n->noise += len;
	if (n->noise > RSH_NOISE_MAX)
		rsh_put_out(r, n, "%s: what answers there is not gputune", n->target.name);
}

static void on_line(struct rsh *r, struct rsh_node *n, const char *line, size_t len)
{
	json_t *j = json_loadb(line, len, JSON_REJECT_DUPLICATES, NULL);

	if (!n->greeting)
		on_greeting(r, n, j, len);
	else if (!is_ours(j) || !n->id || n->message ||
		 json_integer_value(json_object_get(j, "id")) != n->id)
		rsh_put_out(r, n, "%s: said something that is no answer to what it was asked",
			    n->target.name);
	else {
		n->message = json_incref(j);
		n->seconds = clock_mono_s() - n->asked;
	}
	json_decref(j);
}

static void on_output(struct rsh *r, struct rsh_node *n)
{
	char buf[65536];
	ssize_t got = read(n->out, buf, sizeof(buf));
	size_t begin = 0;

	if (got < 0 && (errno == EINTR || errno == EAGAIN))
		return;
	if (got <= 0) {
		on_end(r, n);
		return;
	}
	text_addn(&n->line, buf, (size_t)got);
	for (char *nl;
	     !n->failure && (nl = memchr(n->line.s + begin, '\n', n->line.len - begin)) != NULL;) {
		size_t len = (size_t)(nl - n->line.s) - begin;

		if (len)
			on_line(r, n, n->line.s + begin, len);
		begin += len + 1;
	}
	memmove(n->line.s, n->line.s + begin, n->line.len - begin + 1);
	n->line.len -= begin;
	if (!n->failure && n->line.len > (n->greeting ? RSH_LINE_MAX : RSH_NOISE_MAX))
		rsh_put_out(r, n, "%s: said more than an answer can be", n->target.name);
}

/* The last bytes are what tells. */
static void on_errors(struct rsh_node *n)
{
	char buf[4096];
	ssize_t got = read(n->err, buf, sizeof(buf));

	if (got < 0 && (errno == EINTR || errno == EAGAIN))
		return;
	if (got <= 0) {
		shut(&n->err);
		return;
	}
	text_addn(&n->errors, buf, (size_t)got);
	if (n->errors.len > ERRORS_MAX) {
		memmove(n->errors.s, n->errors.s + n->errors.len - ERRORS_MAX, ERRORS_MAX + 1);
		n->errors.len = ERRORS_MAX;
	}
}

static void on_room(struct rsh_node *n)
{
	ssize_t put = send(n->in, n->sending.s, n->sending.len, MSG_NOSIGNAL | MSG_DONTWAIT);

	if (put < 0 && (errno == EINTR || errno == EAGAIN))
		return;
	/* A closed input: its output tells why. */
	if (put < 0)
		put = (ssize_t)n->sending.len;
	memmove(n->sending.s, n->sending.s + put, n->sending.len - (size_t)put + 1);
	n->sending.len -= (size_t)put;
}

static void look_at(struct rsh *r, struct pollfd *p)
{
	for (size_t i = 0; i < r->n; i++) {
		struct rsh_node *n = &r->nodes[i];

		/* Errors first: the end of the output is explained by them. */
		if (p[3 * i + 1].revents && n->err >= 0)
			on_errors(n);
		if (p[3 * i + 2].revents && n->in >= 0 && n->sending.len)
			on_room(n);
		if (p[3 * i].revents && n->out >= 0)
			on_output(r, n);
	}
}

int rsh_pump(struct rsh *r, bool (*done)(const struct rsh *r, const void *ctx), const void *ctx,
	     long long until_ms)
{
	struct pollfd *p = arena_array(r->a, 3 * r->n, sizeof(*p));

	while (!done(r, ctx)) {
		long long left = until_ms - clock_mono_ms();

		if (r->stop && atomic_load(r->stop))
			return -EINTR;
		if (left <= 0)
			return 1;
		for (size_t i = 0; i < r->n; i++) {
			const struct rsh_node *n = &r->nodes[i];

			p[3 * i] = (struct pollfd){ .fd = n->out, .events = POLLIN };
			p[3 * i + 1] = (struct pollfd){ .fd = n->err, .events = POLLIN };
			p[3 * i + 2] = (struct pollfd){ .fd = n->sending.len ? n->in : -1,
							.events = POLLOUT };
		}
		if (poll(p, 3 * r->n, left < SLICE_MS ? (int)left : SLICE_MS) > 0)
			look_at(r, p);
	}
	return 0;
}
