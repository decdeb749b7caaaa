/* SPDX-License-Identifier: Apache-2.0 */
/* gputune bench serve: the other machine of a network measurement. */
#include "front/verbs/bench_serve.h"

#include <signal.h>
#include <string.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "measure/bench/net/serve.h"

static void say(void *ctx, const char *text)
{
	fprintf(ctx, "%s\n", text);
	fflush(ctx);
}

static int serve_at(struct run *r, struct net_address *a, const struct token *t)
{
	struct serve s = { .wake = -1, .token = t };
	struct err e = { 0 };
	sigset_t set, old;
	int code;

	if (serve_listen(a, &s.listener, &e))
		return complain(EXIT_BLIND, &e);
	if (!r->value[OPT_QUIET]) {
		s.say = say;
		s.ctx = r->out;
		fprintf(r->out, "listening on %s%s\n", a->text,
			net_address_loopback(a)
				? ", for this machine alone (--listen ADDRESS: for others)"
				: "");
		fflush(r->out);
	}
	sigemptyset(&set);
	sigaddset(&set, SIGINT);
	sigaddset(&set, SIGTERM);
	sigprocmask(SIG_BLOCK, &set, &old);
	s.wake = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
	code = serve_run(&s, &e) ? complain(EXIT_BLIND, &e) : EXIT_CLEAN;
	if (s.wake >= 0)
		close(s.wake);
	close(s.listener);
	return code;
}

int bench_serve(struct run *r)
{
	const char *listen = r->value[OPT_LISTEN] ? r->value[OPT_LISTEN] : "127.0.0.1";
	struct net_address a;
	struct token t;
	struct err e = { 0 };
	int code;

	if (r->n_args > 1)
		return complain_text(EXIT_USAGE, "\"bench serve\" takes no argument");
	if (!r->value[OPT_TOKEN])
		return complain_text(EXIT_USAGE,
				     "\"bench serve\" needs --token FILE: a secret of 16 bytes or "
				     "more that the measuring machine knows too");
	if (net_address_parse(listen, true, &a, &e) || token_load(r->value[OPT_TOKEN], &t, &e))
		return complain(EXIT_USAGE, &e);
	code = serve_at(r, &a, &t);
	explicit_bzero(&t, sizeof(t));
	return code;
}
