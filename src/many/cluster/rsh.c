/* SPDX-License-Identifier: Apache-2.0 */
/* Starting, asking and ending the node programs. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "many/cluster/messages.h"
#include "many/cluster/rsh.h"
#include "base/clock.h"
#include "many/cluster/node.h"
#include "machine/host/command.h"

enum { CONNECT_MS = 10000, LEAVE_MS = 2000, TERM_MS = 500, SENTENCE_MAX = 1000 };

/*
 * What ssh needs of ours: whose keys, agent and tickets. Its PATH, its language, and the SHELL by
 * which it runs a ProxyCommand, are not for the environment of who became root to say.
 */
static char **rsh_environment(struct arena *a)
{
	static const char *const kept[] = { "HOME", "USER", "LOGNAME", "SSH_AUTH_SOCK",
					    "KRB5CCNAME" };
	enum { KEPT = sizeof(kept) / sizeof(kept[0]) };
	char **out = arena_array(a, KEPT + 3, sizeof(*out));
	size_t n = 0;

	out[n++] = arena_strdup(a, "PATH=" SPAWN_PATH);
	out[n++] = arena_strdup(a, "LC_ALL=C");
	for (size_t i = 0; i < KEPT; i++)
		if (getenv(kept[i]))
			out[n++] = arena_printf(a, "%s=%s", kept[i], getenv(kept[i]));
	return out;
}

/* This program itself, for this machine, gets all: nobody is looked for by it. Its own group:
 * Ctrl-C reaches this process, which then ends them in order. */
static int spawn(const struct rsh *run, struct rsh_node *n, int in, int out, int err)
{
	bool self = run->how->self && strcmp(n->argv[0], run->how->self) == 0;
	char buf[PATH_MAX];
	const struct spawn s = { .path = spawn_find(n->argv[0], true, buf, sizeof(buf)),
				 .argv = n->argv,
				 .env = self ? environ : rsh_environment(run->a),
				 .from = in,
				 .output = out,
				 .errors = err };

	return s.path ? spawn_start(&s, &n->pid) : -ENOENT;
}

static void shut(int *fd)
{
	if (*fd >= 0)
		close(*fd);
	*fd = -1;
}

static void rsh_start(struct rsh *r, struct rsh_node *n)
{
	int in[2] = { -1, -1 }, out[2] = { -1, -1 }, err[2] = { -1, -1 }, error;

	/* A socket, because writing to one that is closed raises no signal. */
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, in) || pipe2(out, O_CLOEXEC) ||
	    pipe2(err, O_CLOEXEC))
		error = -errno;
	else
		error = spawn(r, n, in[1], out[1], err[1]);
	shut(&in[1]);
	shut(&out[1]);
	shut(&err[1]);
	n->in = in[0];
	n->out = out[0];
	n->err = err[0];
	if (error)
		rsh_put_out(r, n, "%s: cannot start %s: %s", n->target.name, n->argv[0],
			    strerror(-error));
}

static bool all_greeted(const struct rsh *r, const void *ctx)
{
	(void)ctx;
	for (size_t i = 0; i < r->n; i++)
		if (!r->nodes[i].failure && !r->nodes[i].greeting)
			return false;
	return true;
}

static int await_greetings(struct rsh *r, struct err *e)
{
	int ms = r->how->connect_ms ? r->how->connect_ms : CONNECT_MS;
	int got = rsh_pump(r, all_greeted, NULL, clock_mono_ms() + ms);

	if (got == -EINTR)
		return err_set(e, -EINTR, "interrupted while waiting for the nodes");
	for (size_t i = 0; got && i < r->n; i++)
		if (!r->nodes[i].failure && !r->nodes[i].greeting)
			rsh_put_out(r, &r->nodes[i], "%s: no answer within %.1f s",
				    r->nodes[i].target.name, ms / 1000.0);
	return 0;
}

int rsh_open(struct arena *a, const struct rsh_target *targets, size_t n, const struct rsh_how *how,
	     struct rsh **out, struct err *e)
{
	struct rsh *r = ARENA_NEW(a, struct rsh);
	int code;

	r->a = a;
	r->n = n;
	r->how = how;
	r->stop = how->stop;
	r->nodes = arena_array(a, n, sizeof(*r->nodes));
	for (size_t i = 0; i < n; i++) {
		struct rsh_node *x = &r->nodes[i];

		*x = (struct rsh_node){ .target = targets[i], .in = -1, .out = -1, .err = -1 };
		x->status = -1;
		x->argv = rsh_words(a, &targets[i], how, e);
		if (!x->argv)
			return -EINVAL;
	}
	r->kept = json_array();
	for (size_t i = 0; i < n; i++)
		rsh_start(r, &r->nodes[i]);
	code = await_greetings(r, e);
	if (code)
		rsh_close(r);
	else
		*out = r;
	return code;
}

/* True when none is left. */
static bool rsh_reap(struct rsh *r, int ms)
{
	long long until = clock_mono_ms() + ms;
	bool left;

	for (;;) {
		left = false;
		for (size_t i = 0; i < r->n; i++) {
			struct rsh_node *n = &r->nodes[i];

			if (n->pid > 0 && waitpid(n->pid, &n->status, WNOHANG) != 0)
				n->pid = 0;
			left = left || n->pid > 0;
		}
		if (!left || clock_mono_ms() >= until)
			return !left;
		poll(NULL, 0, 5);
	}
}

static void signal_all(struct rsh *r, int sig)
{
	for (size_t i = 0; i < r->n; i++)
		if (r->nodes[i].pid > 0)
			kill(-r->nodes[i].pid, sig);
}

void rsh_close(struct rsh *r)
{
	if (!r)
		return;
	for (size_t i = 0; i < r->n; i++) {
		struct rsh_node *n = &r->nodes[i];

		shut(&n->in);
		/* What it still says is not read, and must not make it wait. */
		shut(&n->out);
		shut(&n->err);
	}
	if (!rsh_reap(r, LEAVE_MS)) {
		signal_all(r, SIGTERM);
		if (!rsh_reap(r, TERM_MS)) {
			signal_all(r, SIGKILL);
			rsh_reap(r, TERM_MS);
		}
	}
	for (size_t i = 0; i < r->n; i++) {
		struct rsh_node *n = &r->nodes[i];

		text_free(&n->line);
		text_free(&n->errors);
		text_free(&n->sending);
		json_decref(n->greeting);
		json_decref(n->message);
	}
	json_decref(r->kept);
}

static int rsh_send(struct rsh *r, size_t i, const char *ask, json_t *with)
{
	struct rsh_node *n = &r->nodes[i];
	char *text;
	int code = 0;

	if (n->failure || n->id) {
		json_decref(with);
		return n->failure ? -EPIPE : -EBUSY;
	}
	text = node_line_text(&(struct node_line){
		.id = r->last_id + 1, .ask = ask, .body = with ? with : json_object() });
	if (!text || strlen(text) > RSH_ASK_MAX) {
		code = text ? -EMSGSIZE : -ENOMEM;
	} else {
		n->id = ++r->last_id;
		n->asked = clock_mono_s();
		text_add(&n->sending, text);
		text_addc(&n->sending, '\n');
	}
	free(text);
	return code;
}

static bool all_answered(const struct rsh *r, const void *ctx)
{
	const bool *which = ctx;

	for (size_t i = 0; i < r->n; i++) {
		const struct rsh_node *n = &r->nodes[i];

		if ((!which || which[i]) && n->id && !n->message && !n->failure)
			return false;
	}
	return true;
}

/* Moves a node's answer into its reply. */
static void hand_over(struct rsh *r, struct rsh_node *n, struct rsh_reply *out)
{
	const json_t *m = n->message;
	const char *text = json_string_value(json_object_get(m, "error"));
	const char *hint = json_string_value(json_object_get(m, "hint"));

	*out = (struct rsh_reply){ .seconds = n->seconds };
	n->id = 0;
	n->message = NULL;
	if (!m) {
		out->failure = n->failure;
		out->out = true;
		return;
	}
	json_array_append_new(r->kept, (json_t *)(uintptr_t)m);
	if (json_is_true(json_object_get(m, "ok")) &&
	    json_is_object(json_object_get(m, "answer"))) {
		out->answer = json_object_get(m, "answer");
		return;
	}
	out->failure = text && *text ? cluster_clean_text(r->a, text, SENTENCE_MAX)
				     : "the node refused without a message";
	out->hint = hint && *hint ? cluster_clean_text(r->a, hint, SENTENCE_MAX) : NULL;
}

static int rsh_wait(struct rsh *r, const bool *which, int limit_ms, struct rsh_reply *replies)
{
	int got = rsh_pump(r, all_answered, which, clock_mono_ms() + limit_ms);

	if (got == -EINTR)
		return got;
	for (size_t i = 0; i < r->n; i++) {
		struct rsh_node *n = &r->nodes[i];

		if (!n->id || (which && !which[i]))
			continue;
		if (!n->message && !n->failure)
			rsh_put_out(r, n, "%s: no answer within %.1f s", n->target.name,
				    limit_ms / 1000.0);
		hand_over(r, n, &replies[i]);
	}
	return 0;
}

int rsh_ask_all(struct rsh *r, const char *ask, const bool *which, json_t **with, int limit_ms,
		struct rsh_reply *replies)
{
	bool *sent = arena_array(r->a, r->n, sizeof(*sent));

	for (size_t i = 0; i < r->n; i++) {
		json_t *own = with ? with[i] : NULL;
		int code;

		if (with)
			with[i] = NULL;
		if (which && !which[i]) {
			json_decref(own);
			continue;
		}
		code = rsh_send(r, i, ask, own);
		sent[i] = code == 0;
		replies[i] = (struct rsh_reply){ .out = code == -EPIPE };
		replies[i].failure = r->nodes[i].failure ? r->nodes[i].failure
				     : code == -EBUSY	 ? "the node is busy with another request"
				     : code		 ? "the request is too long"
							 : NULL;
	}
	return rsh_wait(r, sent, limit_ms, replies);
}

/* Bytes to and from the node programs, all at once, with an eye on the clock and on Ctrl-C. */

enum { SLICE_MS = 50, END_MS = 200 };

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
static const char *rsh_last_words(struct rsh *r, struct rsh_node *n)
{
	char *s = n->errors.s, *nl;
	size_t len = n->errors.len;

	while (len && (s[len - 1] == '\n' || s[len - 1] == '\r' || s[len - 1] == ' '))
		len--;
	if (!len)
		return NULL;
	nl = memrchr(s, '\n', len);
	s = nl ? nl + 1 : s;
	return cluster_clean_text(r->a, arena_strndup(r->a, s, len - (size_t)(s - n->errors.s)),
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
	said = rsh_last_words(r, n);
	if (n->status >= 0 && WIFEXITED(n->status))
		snprintf(how, sizeof(how), "exited with code %d", WEXITSTATUS(n->status));
	else if (n->status >= 0)
		snprintf(how, sizeof(how), "was killed by signal %d", WTERMSIG(n->status));
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
		rsh_put_out(r, n, "%s: the program that answers on that node is not gputune",
			    n->target.name);
}

static void rsh_on_line(struct rsh *r, struct rsh_node *n, const char *line, size_t len)
{
	json_auto_t *j = json_loadb(line, len, JSON_REJECT_DUPLICATES, NULL);

	if (!n->greeting)
		on_greeting(r, n, j, len);
	else if (!is_ours(j) || !n->id || n->message ||
		 json_integer_value(json_object_get(j, "id")) != n->id)
		rsh_put_out(r, n, "%s: invalid answer to the request", n->target.name);
	else {
		n->message = json_incref(j);
		n->seconds = clock_mono_s() - n->asked;
	}
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
			rsh_on_line(r, n, n->line.s + begin, len);
		begin += len + 1;
	}
	memmove(n->line.s, n->line.s + begin, n->line.len - begin + 1);
	n->line.len -= begin;
	if (!n->failure && n->line.len > (n->greeting ? RSH_LINE_MAX : RSH_NOISE_MAX))
		rsh_put_out(r, n, "%s: the answer is too long", n->target.name);
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

static void rsh_look_at(struct rsh *r, struct pollfd *p)
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
			rsh_look_at(r, p);
	}
	return 0;
}

/* Command lines as words. ssh joins the program's words for a shell of the other machine, so each
 * of them has to be one word to any shell. */

struct words {
	struct arena *a;
	char **list; /* NULL behind the last */
	size_t n;
};

static void add(struct words *w, const char *word)
{
	ARENA_ADD(w->a, w->list, w->n) = word ? arena_strdup(w->a, word) : NULL;
}

/* {node} and {name} replaced. */
static const char *rsh_fill(struct arena *a, const char *word, const struct rsh_target *t)
{
	TEXT_AUTO out = { 0 };

	text_add(&out, "");
	while (*word) {
		if (str_starts(word, "{node}")) {
			text_add(&out, t->address);
			word += 6;
		} else if (str_starts(word, "{name}")) {
			text_add(&out, t->name);
			word += 6;
		} else {
			text_addc(&out, *word++);
		}
	}
	return arena_strdup(a, out.s);
}

static void split(struct words *w, const char *line, const struct rsh_target *t)
{
	char *copy = arena_strdup(w->a, line), *save = NULL;

	for (char *p = strtok_r(copy, " \t\n", &save); p; p = strtok_r(NULL, " \t\n", &save))
		add(w, rsh_fill(w->a, p, t));
}

/* One word to any shell. */
static bool plain(const char *word)
{
	static const char may[] =
		"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_./:=@%+,-";

	return *word && strspn(word, may) == strlen(word);
}

/* Never a question, never a key that is not known, nothing that a user's configuration would
 * forward. The files are words: files_valid. */
static void rsh_ssh(struct words *w, const struct rsh_how *how, const struct rsh_target *t)
{
	split(w,
	      "ssh -T -o BatchMode=yes -o StrictHostKeyChecking=yes -o ConnectTimeout=8 "
	      "-o ServerAliveInterval=5 -o ServerAliveCountMax=3 -o ForwardAgent=no "
	      "-o ForwardX11=no -o ClearAllForwardings=yes -o PermitLocalCommand=no "
	      "-o LogLevel=ERROR",
	      t);
	if (how->known_hosts)
		split(w,
		      arena_printf(w->a,
				   "-o UserKnownHostsFile=%s -o GlobalKnownHostsFile=/dev/null",
				   how->known_hosts),
		      t);
	if (how->identity)
		split(w, arena_printf(w->a, "-i %s -o IdentitiesOnly=yes", how->identity), t);
	split(w, "-- {node}", t);
}

static bool files_valid(const struct rsh_how *how, struct err *e)
{
	const char *files[] = { how->known_hosts, how->identity };

	for (size_t i = 0; i < 2; i++)
		if (files[i] && (!plain(files[i]) || files[i][0] == '-')) {
			err_set(e, -EINVAL, "ssh cannot use the file name \"%.200s\"", files[i]);
			err_hint(e, "use a path with only letters, digits and _./:=@%%+,-");
			return false;
		}
	return true;
}

char **rsh_words(struct arena *a, const struct rsh_target *t, const struct rsh_how *how,
		 struct err *e)
{
	struct words w = { .a = a };
	bool here = strcmp(t->address, "localhost") == 0 && !how->rsh && how->self;
	size_t begin;

	if (!cluster_name_valid(t->name) || !cluster_name_valid(t->address)) {
		err_set(e, -EINVAL, "invalid node name \"%.64s\"", t->address);
		return NULL;
	}
	if (!files_valid(how, e))
		return NULL;
	if (how->rsh)
		split(&w, how->rsh, t);
	else if (!here)
		rsh_ssh(&w, how, t);
	begin = w.n;
	if (here && !how->program) {
		add(&w, how->self);
		split(&w, t->capture ? "cluster node --host" : "cluster node", t);
		if (t->capture)
			add(&w, t->capture);
	} else {
		split(&w, how->program ? how->program : "gputune cluster node", t);
		for (size_t i = begin; i < w.n; i++)
			if (!plain(w.list[i])) {
				err_set(e, -EINVAL,
					"\"%.200s\" contains characters that a shell may interpret",
					w.list[i]);
				err_hint(e, "the program's path on the nodes may contain only "
					    "letters, digits and _./:=@%%+,-");
				return NULL;
			}
	}
	if (w.n == begin) {
		err_set(e, -EINVAL, "the command to reach %s has no arguments", t->name);
		return NULL;
	}
	add(&w, NULL);
	return w.list;
}
