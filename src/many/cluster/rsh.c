/* SPDX-License-Identifier: Apache-2.0 */
/* Starting, asking and ending the node programs. */
#include "many/cluster/rsh.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "many/cluster/node.h"
#include "many/cluster/rsh_inside.h"
#include "machine/host/child.h"

enum { CONNECT_MS = 10000, LEAVE_MS = 2000, TERM_MS = 500, SENTENCE_MAX = 1000 };

/*
 * What ssh needs of ours: whose keys, agent and tickets. Its PATH, its language, and the SHELL by
 * which it runs a ProxyCommand, are not for the environment of who became root to say.
 */
static char **environment(struct arena *a)
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

/* This program itself, for this machine, gets all: nobody is looked for by it. */
static int spawn(const struct rsh *run, struct rsh_node *n, int in, int out, int err)
{
	bool self = run->how->self && strcmp(n->argv[0], run->how->self) == 0;
	char buf[PATH_MAX];
	const char *path = spawn_find(n->argv[0], true, buf, sizeof(buf));
	posix_spawn_file_actions_t actions;
	posix_spawnattr_t attr;
	sigset_t none, all;
	int r;

	if (!path)
		return ENOENT;
	r = posix_spawn_file_actions_init(&actions);
	if (r)
		return r;
	r = posix_spawnattr_init(&attr);
	if (r) {
		posix_spawn_file_actions_destroy(&actions);
		return r;
	}
	posix_spawn_file_actions_adddup2(&actions, in, 0);
	posix_spawn_file_actions_adddup2(&actions, out, 1);
	posix_spawn_file_actions_adddup2(&actions, err, 2);
	sigemptyset(&none);
	sigfillset(&all);
	posix_spawnattr_setsigmask(&attr, &none);
	posix_spawnattr_setsigdefault(&attr, &all);
	/* Its own group: Ctrl-C reaches this process, which then ends them in order. */
	posix_spawnattr_setpgroup(&attr, 0);
	posix_spawnattr_setflags(&attr, POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK |
						POSIX_SPAWN_SETSIGDEF);
	r = posix_spawn(&n->pid, path, &actions, &attr, n->argv,
			self ? environ : environment(run->a));
	posix_spawn_file_actions_destroy(&actions);
	posix_spawnattr_destroy(&attr);
	if (r)
		n->pid = 0;
	return r;
}

static void shut(int fd)
{
	if (fd >= 0)
		close(fd);
}

static void start(struct rsh *r, struct rsh_node *n)
{
	int in[2] = { -1, -1 }, out[2] = { -1, -1 }, err[2] = { -1, -1 }, error;

	/* A socket, because writing to one that is closed raises no signal. */
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, in) || pipe2(out, O_CLOEXEC) ||
	    pipe2(err, O_CLOEXEC))
		error = errno;
	else
		error = spawn(r, n, in[1], out[1], err[1]);
	shut(in[1]);
	shut(out[1]);
	shut(err[1]);
	n->in = in[0];
	n->out = out[0];
	n->err = err[0];
	if (error)
		rsh_put_out(r, n, "%s: %s cannot be started: %s", n->target.name, n->argv[0],
			    strerror(error));
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
		start(r, &r->nodes[i]);
	code = await_greetings(r, e);
	if (code)
		rsh_close(r);
	else
		*out = r;
	return code;
}

/* True when none is left. */
static bool reap(struct rsh *r, int ms)
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

		shut(n->in);
		/* What it still says is not read, and must not make it wait. */
		shut(n->out);
		shut(n->err);
		n->in = n->out = n->err = -1;
	}
	if (!reap(r, LEAVE_MS)) {
		signal_all(r, SIGTERM);
		if (!reap(r, TERM_MS)) {
			signal_all(r, SIGKILL);
			reap(r, TERM_MS);
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

size_t rsh_count(const struct rsh *r)
{
	return r->n;
}

const char *rsh_failure(const struct rsh *r, size_t i)
{
	return r->nodes[i].failure;
}

int rsh_send(struct rsh *r, size_t i, const char *ask, json_t *with)
{
	struct rsh_node *n = &r->nodes[i];
	json_t *j;
	char *text;
	int code = 0;

	if (n->failure || n->id) {
		json_decref(with);
		return n->failure ? -EPIPE : -EBUSY;
	}
	j = json_pack("{s:s, s:I, s:s, s:o}", "schema", CLUSTER_NODE_SCHEMA, "id",
		      (json_int_t)(r->last_id + 1), "ask", ask, "with",
		      with ? with : json_object());
	text = j ? json_dumps(j, JSON_COMPACT) : NULL;
	if (!text || strlen(text) > RSH_ASK_MAX) {
		code = text ? -EMSGSIZE : -ENOMEM;
	} else {
		n->id = ++r->last_id;
		n->asked = clock_mono_s();
		text_add(&n->sending, text);
		text_addc(&n->sending, '\n');
	}
	free(text);
	json_decref(j);
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
	out->failure = text && *text ? cluster_said(r->a, text, SENTENCE_MAX)
				     : "it refused without a word";
	out->hint = hint && *hint ? cluster_said(r->a, hint, SENTENCE_MAX) : NULL;
}

int rsh_wait(struct rsh *r, const bool *which, int limit_ms, struct rsh_reply *replies)
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

int rsh_ask(struct rsh *r, size_t i, const char *ask, json_t *with, int limit_ms,
	    struct rsh_reply *reply)
{
	bool *which = arena_array(r->a, r->n, sizeof(*which));
	struct rsh_reply *all = arena_array(r->a, r->n, sizeof(*all));
	int code = rsh_send(r, i, ask, with);

	*reply = (struct rsh_reply){ .failure = r->nodes[i].failure, .out = code == -EPIPE };
	if (code) {
		if (!reply->failure)
			reply->failure = code == -EBUSY ? "it is busy with another request"
							: "the request is too long";
		return -EIO;
	}
	which[i] = true;
	code = rsh_wait(r, which, limit_ms, all);
	if (code)
		return code;
	*reply = all[i];
	return reply->answer ? 0 : -EIO;
}

int rsh_ask_all(struct rsh *r, const char *ask, json_t *const *with, int limit_ms,
		struct rsh_reply *replies)
{
	for (size_t i = 0; i < r->n; i++) {
		int code = rsh_send(r, i, ask, with ? with[i] : NULL);

		replies[i] = (struct rsh_reply){ .out = code == -EPIPE };
		replies[i].failure = r->nodes[i].failure ? r->nodes[i].failure
				     : code == -EBUSY	 ? "it is busy with another request"
				     : code		 ? "the request is too long"
							 : NULL;
	}
	return rsh_wait(r, NULL, limit_ms, replies);
}
