/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Answers of many ranks come together at rank 0: all of them, each finding once; who never comes is
 * missing and holds up nobody for longer than the limit; what is no bundle is not taken.
 * GATHER_RANKS: as many as that, with the time that it takes.
 */
#include <errno.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/clock.h"
#include "many/ranks/gather.h"

enum { FINDINGS = 190, WORKERS = 16 };

/* As check says it: most findings are those of all others. */
static json_t *result_of(unsigned rank)
{
	json_t *list = json_array(), *j;
	char id[40], now[40];

	for (int i = 0; i < FINDINGS; i++) {
		snprintf(id, sizeof(id), "test.setting-%d", i);
		snprintf(now, sizeof(now), "%d", i == 7 && rank % 100 == 3 ? (int)rank : i);
		json_array_append_new(list, json_pack("{s:s, s:s, s:s, s:s, s:s}", "id", id,
						      "target", "", "verdict", "pass", "title",
						      "A setting of the test", "current", now));
	}
	snprintf(id, sizeof(id), "n%u", rank);
	j = json_pack("{s:s, s:{s:s}, s:o}", "schema", "gputune.check/1", "host", "nodename", id,
		      "findings", list);
	assert_non_null(j);
	return j;
}

static void own(struct bundle *b, unsigned rank, const char *host, unsigned of)
{
	json_t *result = result_of(of);

	bundle_own(b, rank, host, result);
	json_decref(result);
}

/* What most ranks have, made once: the look at the machine is no part of the gathering. */
static struct arena shared;
static struct bundle usual;

/* As this rank found it, which is made before the time begins. */
static void find(unsigned rank, unsigned ranks, struct arena *a, struct bundle *b)
{
	char host[20];

	snprintf(host, sizeof(host), "n%u", rank);
	if (rank % 100 == 3) {
		*b = bundle_new(a, ranks);
		own(b, rank, host, rank);
		return;
	}
	*b = usual;
	b->a = a;
	b->rank = arena_grow(a, NULL, 0, sizeof(*b->rank));
	b->rank[0] = usual.rank[0];
	b->rank[0].rank = rank;
	b->rank[0].host = arena_strdup(a, host);
	b->rank[0].frame = arena_printf(a,
					"{\"schema\":\"gputune.check/1\",\"host\":{"
					"\"nodename\":\"%s\"},\"findings\":[]}",
					host);
	b->there = arena_array(a, ranks, sizeof(bool));
	b->there[rank] = true;
	b->ranks = ranks;
}

static int take_part(const char *job, unsigned rank, unsigned ranks, double limit_s,
		     struct bundle *b)
{
	struct ranks r = { .rank = rank,
			   .ranks = ranks,
			   .local = rank,
			   .locals = ranks,
			   .by = "test",
			   .job = job };
	struct gather_ask ask = { .ranks = &r, .limit_s = limit_s };
	struct gather *g;
	struct err e = { 0 };
	int code = gather_open(&ask, &g, &e);

	if (code == 0) {
		code = gather_finish(g, b, &e);
		gather_close(g);
	}
	if (code)
		fprintf(stderr, "rank %u: %s\n", rank, e.text);
	return code;
}

static int one(const char *job, unsigned rank, unsigned ranks, double limit_s)
{
	struct arena own = { 0 };
	struct bundle mine;
	int r;

	find(rank, ranks, &own, &mine);
	r = take_part(job, rank, ranks, limit_s, &mine);
	arena_free(&own);
	return r != 0;
}

/* Every so many ranks from this one on, which have none below them, one after the other. */
static int several(const char *job, unsigned first, unsigned dead, unsigned ranks, double limit_s)
{
	int bad = 0;

	for (unsigned i = first; i < ranks; i += WORKERS)
		bad |= i != dead && one(job, i, ranks, limit_s);
	return bad;
}

/* dead: this one is not started; 0: all are. */
static void run(unsigned ranks, unsigned dead, double limit_s, struct arena *a, struct bundle *b)
{
	/* Those that others send to are processes of their own. */
	unsigned inner = (ranks - 2) / GATHER_FAN, n;
	pid_t *pid = calloc(inner + WORKERS, sizeof(*pid));
	char job[40], c;
	int status, go[2];
	long long from;

	assert_non_null(pid);
	assert_int_equal(pipe(go), 0);
	usual = bundle_new(&shared, 1);
	own(&usual, 0, "", 0);
	snprintf(job, sizeof(job), "test-%d-%u", (int)getpid(), ranks + dead);
	for (n = 0; n < inner + WORKERS; n++) {
		pid[n] = fork();
		assert_true(pid[n] >= 0);
		if (pid[n] == 0) {
			prctl(PR_SET_PDEATHSIG, SIGKILL);
			close(go[1]);
			if (read(go[0], &c, 1))
				_exit(1);
			_exit(n < inner ? n + 1 != dead && one(job, n + 1, ranks, limit_s)
					: several(job, n + 1, dead, ranks, limit_s));
		}
	}
	find(0, ranks, a, b);
	from = clock_mono_ms();
	close(go[0]);
	close(go[1]);
	assert_int_equal(take_part(job, 0, ranks, limit_s, b), 0);
	if (getenv("GATHER_RANKS"))
		fprintf(stderr, "%u ranks: %lld ms\n", ranks, clock_mono_ms() - from);
	for (unsigned i = 0; i < n; i++) {
		assert_int_equal(waitpid(pid[i], &status, 0), pid[i]);
		assert_int_equal(status, 0);
	}
	free(pid);
}

static void test_all(void **state)
{
	const char *many = getenv("GATHER_RANKS");
	unsigned ranks = many ? (unsigned)atoi(many) : 40;
	struct arena a = { 0 };
	struct text t = { 0 };
	struct bundle b;

	(void)state;
	run(ranks, 0, 60, &a, &b);
	assert_int_equal(b.n, ranks);
	assert_int_equal(b.n_items, FINDINGS + (ranks + 96) / 100);
	for (size_t i = 0; i < b.n; i++) {
		json_t *was = result_of(b.rank[i].rank), *is;

		text_clear(&t);
		bundle_result(&b, &b.rank[i], &t);
		is = json_loads(t.s, 0, NULL);
		assert_true(json_equal(is, was));
		json_decref(is);
		json_decref(was);
	}
	text_free(&t);
	arena_free(&a);
}

/* One in the middle of the tree: those below it go to rank 0. */
static void test_dead(void **state)
{
	struct arena a = { 0 };
	struct bundle b;

	(void)state;
	run(36, 1, 1, &a, &b);
	assert_int_equal(b.n, 35);
	for (unsigned i = 0; i < 36; i++)
		assert_int_equal(b.there[i], i != 1);
	arena_free(&a);
}

/* Joins as that rank and says whether it could; then waits until rank 0 is gone. */
static void join(const char *job, unsigned rank, int said)
{
	struct ranks r = {
		.rank = rank, .ranks = 3, .local = rank, .locals = 3, .by = "test", .job = job
	};
	struct gather_ask ask = { .ranks = &r, .limit_s = 60, .talks = true };
	struct err e = { 0 };
	struct message_in m;
	struct gather *g;
	bool in = gather_open(&ask, &g, &e) == 0 && gather_join(g, &e) == 0;

	if (write(said, in ? "y" : "n", 1) != 1 || !in)
		_exit(in || !strstr(e.text, "refused"));
	_exit(message_get(gather_talker(g, 0)->f.fd, &gather_talker(g, 0)->f.in, &m) == 0);
}

/* A rank that comes twice: the first one counts. The last rank comes when both have heard. */
static void test_twice(void **state)
{
	struct ranks r = { .ranks = 3, .locals = 3, .by = "test" };
	struct gather_ask ask = { .ranks = &r, .limit_s = 60, .talks = true };
	struct err e = { 0 };
	struct gather *g;
	char job[40], said[2];
	int to[2], status;
	pid_t pid[3];

	(void)state;
	snprintf(job, sizeof(job), "test-%d-twice", (int)getpid());
	r.job = job;
	assert_int_equal(pipe(to), 0);
	assert_int_equal(gather_open(&ask, &g, &e), 0);
	for (int i = 0; i < 3; i++) {
		pid[i] = fork();
		assert_true(pid[i] >= 0);
		if (pid[i])
			continue;
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		if (i == 2 && (read(to[0], said, 1) + read(to[0], said + 1, 1) != 2 ||
			       said[0] + said[1] != 'y' + 'n'))
			_exit(1);
		join(job, i == 2 ? 2 : 1, to[1]);
	}
	assert_int_equal(gather_join(g, &e), 0);
	assert_true(gather_talker(g, 1)->f.fd >= 0 && gather_talker(g, 2)->f.fd >= 0);
	gather_close(g);
	for (int i = 0; i < 3; i++) {
		assert_int_equal(waitpid(pid[i], &status, 0), pid[i]);
		assert_int_equal(status, 0);
	}
	close(to[0]);
	close(to[1]);
}

static void test_refused(void **state)
{
	struct arena a = { 0 };
	struct bundle from = bundle_new(&a, 8), to = bundle_new(&a, 8);
	struct err e = { 0 };
	struct text t = { 0 };

	(void)state;
	own(&from, 3, "n3", 3);
	bundle_write(&from, &t);
	/* Cut anywhere it is none, and takes no rank. */
	for (size_t n = 0; n < t.len; n += n < 200 ? 1 : 97)
		assert_int_equal(bundle_merge(&to, t.s, n, &e), -EBADMSG);
	assert_int_equal(to.n, 0);
	assert_int_equal(bundle_merge(&to, t.s, t.len, &e), 0);
	/* The same rank again, and one that there is not. */
	assert_int_equal(bundle_merge(&to, t.s, t.len, &e), -EEXIST);
	assert_non_null(strstr(e.text, "rank 3 (n3) answered twice"));
	to = bundle_new(&a, 2);
	assert_int_equal(bundle_merge(&to, t.s, t.len, &e), -EBADMSG);
	text_free(&t);
	arena_free(&a);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_all),
		cmocka_unit_test(test_dead),
		cmocka_unit_test(test_twice),
		cmocka_unit_test(test_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
