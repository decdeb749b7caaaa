/* SPDX-License-Identifier: Apache-2.0 */
/* gputune bench serve: the other machine of a network measurement. */
#include <signal.h>
#include <string.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "measure/bench/net/handshake.h"
#include "measure/bench/net/serve.h"
#include "verbs/bench/bench.h"

struct bench_serve_ask {
	const char *listen, *token;
};

static const struct ask_row bench_serve_rows[] = {
	{ "listen", "listen address; port 21187 unless given", ASK_TEXT(bench_serve_ask, listen),
	  .arg = "ADDRESS[:PORT]", .fallback = "127.0.0.1" },
	{ "token", "the file with the secret that both machines share",
	  ASK_TEXT(bench_serve_ask, token), .arg = "FILE", .files = true },
};

static void serve_note(void *ctx, const char *text)
{
	door_note(ctx, "%s", text);
}

static int serve_at(struct door *d, struct net_address *a, const struct token *t)
{
	struct serve s = { .wake = -1, .token = t, .say = serve_note, .ctx = d };
	struct err e = { 0 };
	sigset_t set;
	int code;

	if (serve_listen(a, &s.listener, &e))
		return door_fail(d, EXIT_BLIND, &e);
	door_note(d, "listening on %s%s", a->text,
		  net_address_loopback(a) ? ", for this machine only (--listen ADDRESS: for others)"
					  : "");
	sigemptyset(&set);
	sigaddset(&set, SIGINT);
	sigaddset(&set, SIGTERM);
	sigprocmask(SIG_BLOCK, &set, NULL);
	s.wake = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
	code = serve_run(&s, &e) ? door_fail(d, EXIT_BLIND, &e) : ANSWERED_ELSEWHERE;
	if (s.wake >= 0)
		close(s.wake);
	close(s.listener);
	return code;
}

/* Until SIGINT or SIGTERM. */
static int bench_serve_answer(struct door *d, const void *question, void *answer)
{
	const struct bench_serve_ask *ask = question;
	struct net_address a;
	struct token t;
	struct err e = { 0 };
	int code;

	(void)answer;
	if (!ask->token)
		return door_refuse(d, EXIT_USAGE,
				   "\"bench serve\" requires --token FILE: a secret of at least 16 "
				   "bytes, shared with the measuring machine");
	if (net_address_parse(ask->listen, true, &a, &e) || token_load(ask->token, &t, &e))
		return door_fail(d, EXIT_USAGE, &e);
	code = serve_at(d, &a, &t);
	explicit_bzero(&t, sizeof(t));
	return code;
}

const struct verb bench_serve_verb = {
	.name = "serve",
	.summary = "serve the other end of network benches",
	.about = "Answers tcp and rdma benches of a machine with the same secret, until Ctrl-C. "
		 "Listens on one address and prints what is measured.",
	.examples = EXAMPLES(
		{ "bench serve --listen 10.0.0.2 --token secret", "on the other machine" },
		{ "bench tcp rdma --peer 10.0.0.2 --token secret", "then, on this machine" }),
	.ask = ASK_OF(bench_serve_ask, NULL, bench_serve_rows),
	.answer = bench_serve_answer,
	.own_process = true,
};
