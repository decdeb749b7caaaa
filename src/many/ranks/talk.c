/* SPDX-License-Identifier: Apache-2.0 */
/* A request is {"ask": NAME, "with": {}}, an answer {"answer": {}} or {"error": TEXT}. */
#include "many/ranks/talk.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "many/cluster/node.h"

enum { LOOK_MS = 200, WHY_MAX = 200 };

static json_t *answer_made(struct rank_member *m, const json_t *request)
{
	const char *what = json_string_value(json_object_get(request, "ask"));
	const json_t *with = json_object_get(request, "with");
	struct arena a = { 0 };
	struct err e = { 0 };
	json_t *out = NULL;
	int r = !what || !json_is_object(with) ? err_set(&e, -EINVAL, "not a request")
					       : member_answer(m, &a, what, with, &out, &e);

	arena_free(&a);
	if (r == 0)
		return json_pack("{s:o}", "answer", out);
	json_decref(out);
	return json_pack("{s:s}", "error", e.text);
}

/* --- rank 0 ----------------------------------------------------------------------------------- */

void talk_end(struct talk *t)
{
	json_decref(t->kept);
	t->kept = NULL;
}

static void put_out(struct talk *t, unsigned rank, const char *why)
{
	struct talker *k = gather_talker(t->g, rank);

	if (k->f.fd >= 0)
		close(k->f.fd);
	k->f.fd = -1;
	t->gone[rank] = why;
}

static void talk_send(struct talk *t, unsigned rank, json_t *request)
{
	struct talker *k = gather_talker(t->g, rank);
	struct message_in m = { .kind = MESSAGE_ASK, .rank = rank, .port = t->number };
	int r;

	m.body = json_dumps(request, JSON_COMPACT);
	m.n = m.body ? strlen(m.body) : 0;
	r = m.body ? message_put(k->f.fd, &k->f.out, &m) : -ENOMEM;
	free(m.body);
	if (r)
		put_out(t, rank, "is gone");
}

/* What came: the answer is kept, all else is a reason. */
static void take_reply(struct talk *t, json_t *got, struct rsh_reply *reply)
{
	const json_t *answer = json_object_get(got, "answer");
	const char *why = json_string_value(json_object_get(got, "error"));

	if (got)
		json_array_append_new(t->kept, got);
	if (json_is_object(answer))
		reply->answer = answer;
	else
		reply->failure = cluster_clean_text(t->a, why ? why : "invalid answer", WHY_MAX);
}

static void talk_receive(struct talk *t, unsigned rank, struct rsh_reply *reply)
{
	struct talker *k = gather_talker(t->g, rank);
	struct message_in m = { 0 };
	int r = message_get(k->f.fd, &k->f.in, &m);

	if (r == 0 && (m.kind != MESSAGE_OK || m.port != t->number))
		r = -EBADMSG;
	if (r) {
		put_out(t, rank, r == -ECONNRESET ? "is gone" : "sent invalid data");
		reply->failure = t->gone[rank];
		reply->out = true;
	} else {
		take_reply(t, json_loadb(m.body, m.n, JSON_REJECT_DUPLICATES, NULL), reply);
	}
	free(m.body);
}

struct own_answer {
	struct rank_member *m;
	json_t *request, *out;
};

static void *own_main(void *arg)
{
	struct own_answer *o = arg;

	o->out = answer_made(o->m, o->request);
	return NULL;
}

/* Until all of those that were asked have answered, or the time is over. */
static int talk_wait(struct talk *t, bool *waits, int limit_ms, struct rsh_reply *replies)
{
	unsigned n = t->channel.n;
	struct pollfd *p = arena_array(t->a, n, sizeof(*p));
	long long end = net_now_ms() + limit_ms;
	size_t open = 1;

	while (open && net_now_ms() < end) {
		open = 0;
		for (unsigned i = 0; i < n; i++) {
			p[i].fd = waits[i] ? gather_talker(t->g, t->of[i])->f.fd : -1;
			p[i].events = POLLIN;
			open += p[i].fd >= 0;
		}
		if (t->own->stop && atomic_load(t->own->stop))
			return -EINTR;
		if (!open || poll(p, n, LOOK_MS) <= 0)
			continue;
		for (unsigned i = 0; i < n; i++)
			if (p[i].fd >= 0 && p[i].revents) {
				talk_receive(t, t->of[i], &replies[i]);
				waits[i] = false;
			}
	}
	for (unsigned i = 0; i < n; i++)
		if (waits[i] && gather_talker(t->g, t->of[i])->f.fd >= 0)
			put_out(t, t->of[i], "did not answer in time");
	return 0;
}

static int talk_ask(void *ctx, const char *what, json_t **with, int limit_ms,
		    struct rsh_reply *replies)
{
	struct talk *t = ctx;
	bool *waits = arena_array(t->a, t->channel.n, sizeof(*waits)), own;
	struct own_answer mine = { .m = t->own };
	pthread_t thread;
	int r;

	t->number = (t->number + 1) & UINT16_MAX;
	for (unsigned i = 0; i < t->channel.n; i++) {
		json_t *request =
			with[i] ? json_pack("{s:s, s:o}", "ask", what, "with", with[i]) : NULL;

		with[i] = NULL;
		if (!request)
			continue;
		replies[i] = (struct rsh_reply){ 0 };
		if (i == 0) {
			mine.request = request;
			continue;
		}
		if (!t->gone[t->of[i]])
			talk_send(t, t->of[i], request);
		waits[i] = !t->gone[t->of[i]];
		json_decref(request);
	}
	own = mine.request && pthread_create(&thread, NULL, own_main, &mine) == 0;
	r = talk_wait(t, waits, limit_ms, replies);
	if (own) {
		pthread_join(thread, NULL);
		take_reply(t, mine.out, &replies[0]);
		r = t->own->stop && atomic_load(t->own->stop) ? -EINTR : r;
	}
	json_decref(mine.request);
	for (unsigned i = 1; i < t->channel.n; i++)
		if (t->gone[t->of[i]]) {
			replies[i].failure = t->gone[t->of[i]];
			replies[i].answer = NULL;
			replies[i].out = true;
		}
	return r;
}

void talk_begin(struct arena *a, struct gather *g, const struct ranks *r, struct rank_member *own,
		struct talk *out)
{
	*out = (struct talk){ .a = a, .g = g, .ranks = r->ranks, .own = own };
	out->kept = json_array();
	out->gone = arena_array(a, r->ranks, sizeof(*out->gone));
	out->of = arena_array(a, r->ranks, sizeof(*out->of));
	out->names = arena_array(a, r->ranks, sizeof(*out->names));
	out->channel = (struct channel){ .names = out->names, .ask = talk_ask, .ctx = out };
	for (unsigned i = 0; i < r->ranks; i++) {
		const struct talker *k = i ? gather_talker(g, i) : NULL;

		if (k && k->f.fd < 0)
			out->gone[i] = "did not connect";
		if (!k || !k->local)
			out->of[out->channel.n++] = i;
	}
}

/* --- the others ------------------------------------------------------------------------------- */

static int follow_one(struct talker *k, struct rank_member *m)
{
	struct message_in got = { 0 }, answer = { .kind = MESSAGE_OK };
	json_t *request, *out;
	int r = message_get(k->f.fd, &k->f.in, &got);

	if (r == 0 && got.kind == MESSAGE_ASK) {
		request = json_loadb(got.body, got.n, JSON_REJECT_DUPLICATES, NULL);
		out = answer_made(m, request);
		json_decref(request);
		answer.rank = got.rank;
		answer.port = got.port;
		answer.body = json_dumps(out, JSON_COMPACT);
		answer.n = answer.body ? strlen(answer.body) : 0;
		json_decref(out);
		r = message_put(k->f.fd, &k->f.out, &answer);
		free(answer.body);
	}
	free(got.body);
	return r;
}

int talk_follow(struct gather *g, struct rank_member *m)
{
	struct talker *k = gather_talker(g, 0);
	int r = 0;

	while (r == 0 && !(m->stop && atomic_load(m->stop))) {
		struct pollfd p = { .fd = k->f.fd, .events = POLLIN };

		if (poll(&p, 1, LOOK_MS) > 0)
			r = follow_one(k, m);
	}
	member_end(m);
	return r == -ECONNRESET ? 0 : r;
}
