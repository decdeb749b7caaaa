/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The frame on a clock of the test's own, benches that lie, the loops of every vector width,
 * records as JSON there and back, files that make no sense, comparisons, and the folder of results.
 * Nothing here depends on how fast this machine is.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <math.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "look/settings/findings.h"
#include "measure/bench/conditions.h"
#include "measure/bench/bench.h"
#include "measure/bench/memory_bandwidth.h"
#include "measure/bench/record.h"
#include "measure/bench/bench_json.h"
#include "measure/bench/page_bench.h"

#include "memory_host.h"

/* --- a bench that does what it is told, on a clock of its own --------------------------------- */
enum { LEFTS = 512 };

struct script {
	double clock;
	double cost;			   /* of a sample, seconds */
	double setup_s;			   /* of a set-up of the other case */
	double (*value)(struct script *s); /* NULL: 100 with noise of 0.1 % */
	unsigned samples, setups, teardowns, verifies;
	unsigned wrong_at;  /* verify number that fails; 0: none */
	unsigned stop_at;   /* sample that sets stop; 0: none */
	bool hasty;	    /* verify ends with stop */
	bool lacks;	    /* it has a case that this machine cannot have */
	double left[LEFTS]; /* what frame_left said at each progress */
	size_t n_left;
	unsigned nan_at;
	atomic_bool stop;
	struct stat_random r;
};

static double fake_now(void *ctx)
{
	return ((struct script *)ctx)->clock;
}

/* The script travels in the stop flag's neighbourhood: env has no room for a context. */
static struct script *script_of(const struct bench_env *env)
{
	return (struct script *)((char *)(uintptr_t)env->stop - offsetof(struct script, stop));
}

static void fake_cases(const struct bench_env *env, struct bench_cases *out)
{
	bench_case_add(env->a, out,
		       (struct bench_case){ .name = "one", .setup = "a", .placement = "here" });
	bench_case_add(env->a, out,
		       (struct bench_case){ .name = "other",
					    .setup = "b",
					    .placement = "there",
					    .setup_s = script_of(env)->setup_s });
	if (script_of(env)->lacks)
		bench_case_absent(env->a, out, "third", "it has no third");
}

static int fake_setup(const struct bench_env *env, const struct bench_case *c, void *state,
		      const char **variant, struct err *e)
{
	struct script *s = script_of(env);

	if (s->cost < 0)
		return err_set(e, -ENOMEM, "no room for %s", c->name);
	s->setups++;
	s->clock += strcmp(c->name, "other") == 0 ? s->setup_s : 0;
	*variant = "only";
	*(struct script **)state = s;
	return 0;
}

static int fake_run(void *state, struct bench_sample *out, struct err *e)
{
	struct script *s = *(struct script **)state;

	(void)e;
	s->samples++;
	s->clock += s->cost;
	if (s->samples == s->stop_at)
		atomic_store(&s->stop, true);
	out->value[0] = s->samples == s->nan_at ? NAN
			: s->value		? s->value(s)
						: 100 + 0.1 * stat_random_normal(&s->r);
	out->value[1] = 1;
	if (out->observed)
		histogram_add(out->observed, out->value[0]);
	return 0;
}

static int fake_verify(void *state, struct err *e)
{
	struct script *s = *(struct script **)state;

	if (s->hasty && atomic_load(&s->stop))
		return err_set(e, -EINTR, "interrupted");
	return ++s->verifies == s->wrong_at ? err_set(e, -EILSEQ, "two and two is five") : 0;
}

static void fake_teardown(void *state)
{
	struct script *s = *(struct script **)state;

	/* NULL: the set-up failed. */
	if (s)
		s->teardowns++;
}

static struct bench_limit fake_limit(const struct bench_env *env, const struct bench_case *c)
{
	(void)env;
	return strcmp(c->name, "one") == 0 ? (struct bench_limit){ true, 200, "the test" }
					   : (struct bench_limit){ .source = "unknown: a test" };
}

static const struct bench_figure fake_figures[] = {
	{ "rate", "rate", "gb_per_s", "GB/s", BENCH_HIGHER },
	{ "other", "other", "us", "us", BENCH_LOWER },
};

static const struct bench fake = {
	.name = "fake",
	.title = "a test",
	.method = "none",
	.version = 3,
	.figures = fake_figures,
	.n_figures = 2,
	.observed_scale = 0.5,
	.seconds = 10,
	.rounds = 5,
	.cases = fake_cases,
	.state_size = sizeof(struct script *),
	.setup = fake_setup,
	.run = fake_run,
	.verify = fake_verify,
	.teardown = fake_teardown,
	.limit = fake_limit,
};

static const struct machine no_machine;

static struct frame frame_of(struct arena *a, struct script *s)
{
	struct frame f = { .env = { .a = a, .m = &no_machine, .stop = &s->stop, .small = true },
			   .now = fake_now,
			   .ctx = s };

	s->r.state = 1;
	frame_start(&f);
	return f;
}

static void check_shape(const struct record_case *c)
{
	assert_int_equal(c->n_series, 2);
	if (c->rounds)
		assert_int_equal(c->first[0], 0);
	for (size_t i = 1; i < c->rounds; i++)
		assert_true(c->first[i] >= c->first[i - 1] && c->first[i] <= c->n);
	for (size_t i = 1; i < c->n; i++)
		assert_true(c->at_s[i] >= c->at_s[i - 1]);
}

static void stops_when_narrow(void **state)
{
	struct arena a = { 0 };
	struct script s = { .cost = 0.05 };
	struct frame f = frame_of(&a, &s);
	struct record r = { 0 };

	(void)state;
	assert_int_equal(frame_run(&f, &fake, NULL, &r), 0);
	assert_int_equal(r.n, 2);
	for (size_t i = 0; i < 2; i++) {
		check_shape(&r.cases[i]);
		assert_int_equal(r.cases[i].stop, STOP_INTERVAL);
		assert_int_equal(r.cases[i].rounds, 3);
		assert_true(r.cases[i].steady && r.cases[i].verified && !r.cases[i].error);
		assert_true(r.cases[i].observed.n == r.cases[i].n);
		assert_true(fabs(r.cases[i].observed.p50 - 50) < 1);
	}
	assert_true(r.cases[0].has_limit && !r.cases[1].has_limit);
	assert_int_equal(s.setups, 6);
	assert_int_equal(s.teardowns, 6);
	assert_false(r.partial);
	assert_int_equal(frame_run(&f, &fake, "nothing", &r), -ENOENT);
	/* One that cannot be had says why, whoever asks. */
	assert_int_equal(r.n_skipped, 0);
	s.lacks = true;
	assert_int_equal(frame_run(&f, &fake, "one", &r), 0);
	assert_int_equal(r.n_skipped, 1);
	assert_int_equal(frame_run(&f, &fake, "third", &r), -ENODATA);
	assert_int_equal(r.n_skipped, 2);
	assert_string_equal(r.skipped[1].bench, "fake/third");
	assert_string_equal(r.skipped[1].reason, "it has no third");
	assert_int_equal(frame_run(&f, &fake, "fourth", &r), -ENOENT);
	assert_int_equal(r.n_skipped, 2);
	arena_free(&a);
}

static double noisy(struct script *s)
{
	return 100 + 20 * stat_random_normal(&s->r);
}

static void stops_by_time_and_count(void **state)
{
	struct arena a = { 0 };
	struct script s = { .cost = 0.1, .value = noisy };
	struct frame f = frame_of(&a, &s);
	struct record r = { 0 };

	(void)state;
	assert_int_equal(frame_run(&f, &fake, "one", &r), 0);
	assert_int_equal(r.cases[0].stop, STOP_TIME);
	assert_int_equal(r.cases[0].rounds, 5);
	assert_in_range(r.cases[0].n, 95, 105);
	f.seconds = 2; /* asked for: all of it, however narrow */
	s.value = NULL;
	assert_int_equal(frame_run(&f, &fake, "one", &r), 0);
	assert_int_equal(r.cases[1].stop, STOP_TIME);
	assert_in_range(r.cases[1].n, 18, 25);
	s.cost = 1.5; /* what comes before the samples takes 3 s: once */
	assert_int_equal(frame_run(&f, &fake, "one", &r), 0);
	assert_int_equal(r.cases[2].rounds, 1);
	assert_int_equal(r.cases[2].n, 2);
	s.cost = 0.1;
	f.seconds = 0;
	for (size_t n = 1; n < 40; n += 6) {
		f.samples = n;
		r.n = 0;
		assert_int_equal(frame_run(&f, &fake, "one", &r), 0);
		assert_int_equal(r.cases[0].n, n);
		assert_int_equal(r.cases[0].stop, STOP_COUNT);
		check_shape(&r.cases[0]);
	}
	arena_free(&a);
}

static double rising(struct script *s)
{
	return 100 + s->samples;
}

static void says_what_is_wrong(void **state)
{
	struct arena a = { 0 };
	struct script s = { .cost = 0.05, .value = rising };
	struct frame f = frame_of(&a, &s);
	struct record r = { 0 };

	(void)state;
	/* A value that rises for ever. */
	f.seconds = 2;
	assert_int_equal(frame_run(&f, &fake, "one", &r), 0);
	assert_false(r.cases[0].steady);
	/* A wrong result in the second round. */
	s.value = NULL;
	s.verifies = 0;
	s.wrong_at = 2;
	assert_int_equal(frame_run(&f, &fake, "one", &r), 0);
	assert_false(r.cases[1].verified);
	assert_int_equal(r.cases[1].stop, STOP_ERROR);
	assert_non_null(strstr(r.cases[1].error, "two and two"));
	/* A sample that is no number. */
	s.wrong_at = 0;
	s.nan_at = s.samples + 20;
	assert_int_equal(frame_run(&f, &fake, "one", &r), 0);
	assert_non_null(strstr(r.cases[2].error, "not a number"));
	assert_int_equal(s.setups, s.teardowns);
	/* A set-up that fails. */
	s.cost = -1;
	assert_int_equal(frame_run(&f, &fake, "one", &r), 0);
	assert_non_null(strstr(r.cases[3].error, "no room for one"));
	assert_int_equal(r.cases[3].n, 0);
	record_summarise(&r);
	/* Of a wrong result there is no figure; of one that broke off there is. */
	assert_true(record_wrong(&r.cases[1]) && r.cases[1].n > 0);
	assert_false(r.cases[1].series[0].has_summary);
	assert_true(!record_wrong(&r.cases[2]) && r.cases[2].series[0].has_summary);
	record_judge(&a, &r);
	assert_non_null(strstr(r.notes[1], "not steady at the end"));
	assert_false(r.cases[3].series[0].has_summary);
	arena_free(&a);
}

static void keeps_what_there_is_when_interrupted(void **state)
{
	struct arena a = { 0 };
	struct script s = { .cost = 0.1, .stop_at = 30 };
	struct frame f = frame_of(&a, &s);
	struct record r = { 0 };

	(void)state;
	assert_int_equal(frame_run(&f, &fake, NULL, &r), 0);
	assert_true(r.partial);
	assert_int_equal(r.cases[0].stop, STOP_INTERRUPTED);
	assert_int_equal(r.cases[1].stop, STOP_INTERRUPTED);
	assert_int_equal(s.samples, 30);
	assert_int_equal(s.setups, s.teardowns);
	assert_true(r.cases[0].n > 0);
	/* What was not looked at is neither right nor wrong. */
	for (unsigned hasty = 0; hasty < 2; hasty++) {
		s = (struct script){ .cost = 0.1, .stop_at = 30, .hasty = hasty };
		r = (struct record){ 0 };
		assert_int_equal(frame_run(&f, &fake, "one", &r), 0);
		assert_int_equal(r.cases[0].stop, STOP_INTERRUPTED);
		assert_null(r.cases[0].error);
		assert_int_equal(r.cases[0].verified, !hasty);
	}
	/* And without a sample there is nothing that could be right. */
	s = (struct script){ .cost = 0.1, .stop_at = 1 };
	r = (struct record){ 0 };
	assert_int_equal(frame_run(&f, &fake, "one", &r), 0);
	assert_true(r.cases[0].n == 0 && !r.cases[0].verified);
	arena_free(&a);
}

static struct frame *asked;

static void ask_left(void *ctx, const struct record_case *c, size_t done, size_t of)
{
	struct script *s = ctx;

	(void)c;
	(void)done;
	(void)of;
	s->left[s->n_left++ % LEFTS] = frame_left(asked);
}

/* At first by the plan, then by what it took: never below zero, and less and less. */
static void says_how_long_it_takes(void **state)
{
	struct arena a = { 0 };
	struct script s = { .cost = 0.5 };
	struct frame f = frame_of(&a, &s);
	struct record r = { 0 };

	(void)state;
	asked = &f;
	f.progress = ask_left;
	f.ctx = &s;
	assert_int_equal(frame_run(&f, &fake, NULL, &r), 0);
	assert_true(s.n_left > 4 && s.n_left < LEFTS);
	assert_true(s.left[0] > 20 && s.left[0] <= 30);
	for (size_t i = 0; i < s.n_left; i++)
		assert_true(s.left[i] >= 0);
	assert_true(s.left[s.n_left - 1] < s.left[0]);
	arena_free(&a);
}

/* Slow set-ups are in the plan, and with it in what is left, from the start on. */
static void plans_before_it_starts(void **state)
{
	struct arena a = { 0 };
	struct script s = { .cost = 0.05, .setup_s = 20 };
	struct frame f = frame_of(&a, &s);
	struct record r = { 0 }, plan = { 0 };
	double begin, took, said;

	(void)state;
	f.planning = true;
	assert_int_equal(frame_run(&f, &fake, "other", &plan), 0);
	assert_int_equal(frame_run(&f, &fake, "one", &plan), 0);
	assert_true(plan.n == 0 && s.setups == 0 && s.samples == 0);
	assert_int_equal(frame_run(&f, &fake, "none", &plan), -ENOENT);
	f.planning = false;
	begin = s.clock;
	said = frame_left(&f);
	assert_int_equal(frame_run(&f, &fake, "other", &r), 0);
	assert_int_equal(frame_run(&f, &fake, "one", &r), 0);
	took = s.clock - begin;
	assert_true(said > took && said < 2 * took); /* a narrow interval ends it earlier */
	assert_true(r.n == 2 && f.done_s > 0.99 * f.planned_s && f.done_s < 1.01 * f.planned_s);
	arena_free(&a);
}

/* --- real benches, tiny ---------------------------------------------------------------------- */

static void real_benches_verify(void **state)
{
	struct arena a = { 0 };
	atomic_bool stop = false;
	struct machine m = { 0 };
	int got;

	(void)state;
	m.cpu.online.v = bench_allowed(&a);
	for (size_t i = 0; i < bench_count; i++) {
		struct frame f = { .env = { .a = &a,
					    .m = &m,
					    .stop = &stop,
					    .small = true,
					    .cpus = m.cpu.online.v },
				   .seconds = 0.01 };
		struct record r = { 0 };

		f.samples = 3;
		frame_start(&f);
		got = frame_run(&f, benches[i], NULL, &r);
		/* Without a case it says why. */
		if (got) {
			assert_true(got == -ENODATA || got == -EINVAL);
			assert_true(r.n_skipped > 0 && *r.skipped[r.n_skipped - 1].reason);
			continue;
		}
		for (size_t k = 0; k < r.n; k++) {
			if (r.cases[k].error || !r.cases[k].verified)
				fail_msg("%s %s: %s", benches[i]->name, r.cases[k].name,
					 r.cases[k].error ? r.cases[k].error : "not verified");
			assert_true(r.cases[k].series[0].x[0] > 0);
			assert_true(*r.cases[k].placement && *r.cases[k].limit_source);
		}
	}
	assert_null(bench_find("nothing"));
	arena_free(&a);
}

/* Every width that this processor has does what the plain words say. */
static void loops_are_right(void **state)
{
	enum { N = 1024 };
	double *x = aligned_alloc(64, 3 * N * sizeof(double)), *y = x + N, *z = x + 2 * N;
	uint64_t sum = 0, bits;

	(void)state;
	for (size_t i = 0; i < N; i++) {
		y[i] = 1 + (double)i / 1024;
		z[i] = (double)i - 300;
		memcpy(&bits, &y[i], sizeof(bits));
		sum += bits;
	}
	for (size_t k = 0; k < memory_kernel_count; k++) {
		const struct memory_kernel *it = &memory_kernels[k];

		if (!it->usable())
			continue;
		if (it->read)
			assert_true(it->read(y, N) == sum);
		for (size_t i = 0; i < N; i++)
			x[i] = -1;
		it->write(x, N - 64);
		for (size_t i = 0; i < N; i++)
			assert_true(fabs(x[i] - (i < N - 64 ? MEMORY_FILL : -1)) < 1e-300);
		it->copy(x, y, N);
		assert_memory_equal(x, y, N * sizeof(double));
		it->triad(x, y, z, N);
		for (size_t i = 0; i < N; i++)
			assert_true(fabs(x[i] - (y[i] + MEMORY_SCALE * z[i])) < 1e-300);
	}
	free(x);
}

static void count_up(void *ctx, size_t i)
{
	atomic_fetch_add((atomic_int *)ctx + i, 1);
}

static void workers_all_work(void **state)
{
	struct arena a = { 0 };
	struct idset cpus = bench_allowed(&a), none = { 0 }, absent = { 0 };
	size_t n = idset_count(&cpus);
	atomic_int *counts = calloc(n, sizeof(*counts));
	struct workers *w = NULL;
	struct err e = { 0 };

	(void)state;
	assert_int_equal(workers_start(&cpus, &w, &e), 0);
	for (int k = 0; k < 100; k++)
		assert_true(workers_run(w, count_up, counts) >= 0);
	for (size_t i = 0; i < n; i++)
		assert_int_equal(atomic_load(&counts[i]), 100);
	workers_end(w);
	assert_int_equal(workers_start(&none, &w, &e), -EINVAL);
	idset_add(&a, &absent, 60000);
	assert_true(workers_start(&absent, &w, &e) < 0);
	assert_non_null(strstr(e.text, "CPU 60000"));
	free(counts);
	arena_free(&a);
}

static void histogram_is_near(void **state)
{
	struct histogram *h = calloc(1, sizeof(*h));

	(void)state;
	for (int i = 1; i <= 100000; i++)
		histogram_add(h, i);
	assert_true(h->n == 100000);
	for (int p = 1; p < 1000; p++) {
		double want = p * 100.0, got = histogram_quantile(h, p / 1000.0);

		assert_true(fabs(got - want) <= want / 128 + 1);
	}
	assert_true(histogram_quantile(h, 1) <= 100000 && fabs(h->max - 100000) < 1e-9);
	memset(h, 0, sizeof(*h));
	histogram_add(h, -5);
	histogram_add(h, 1e300);
	histogram_add(h, 3);
	assert_true(histogram_quantile(h, 0.1) < 1e-9);
	assert_true(fabs(histogram_quantile(h, 0.5) - 3) < 1e-9);
	free(h);
}

/* --- records ---------------------------------------------------------------------------------- */

static struct record *measured(struct arena *a, double level, unsigned seed)
{
	struct record *r = ARENA_NEW(a, struct record);
	struct script s = { .cost = 0.1 };
	struct frame f = frame_of(a, &s);
	static struct record_pair facts[] = { { "kernel", "6.8" },
					      { "cpu", "\xff"
						       "x\"" } };
	static struct record_pair sets[] = { { "cpu.governor", "powersave" } };

	s.r.state = seed;
	f.seconds = 5;
	assert_int_equal(frame_run(&f, &fake, NULL, r), 0);
	for (size_t i = 0; i < r->cases[0].n; i++)
		r->cases[0].series[0].x[i] *= level;
	r->id = arena_printf(a, "20260101-000000-fake-%u", seed);
	r->version = "0";
	r->machine = "0123456789abcdef";
	r->fingerprint = facts;
	r->n_fingerprint = 2;
	r->settings = sets;
	r->n_settings = 1;
	r->settings_digest = record_digest(a, sets, 1);
	r->conditions.cpus = 2;
	r->conditions.before.temp_c = r->conditions.after.temp_c = NAN;
	r->conditions.others = 0.4;
	r->time_s = 1767225600;
	record_summarise(r);
	record_judge(a, r);
	return r;
}

static char *json_of(struct record *r)
{
	struct machine m = { 0 };
	json_t *j;
	char *text;

	m.time_s = (struct fact_int){ { .seen = SEEN_OK }, r->time_s };
	j = machine_result_json(&bench_result, &m, r, 0);
	assert_non_null(j);
	text = json_dumps(j, JSON_SORT_KEYS);
	assert_non_null(text);
	json_decref(j);
	return text;
}

static void there_and_back(void **state)
{
	struct arena a = { 0 };
	struct record *r = measured(&a, 1, 5), back;
	char *text = json_of(r);
	struct err e = { 0 };

	(void)state;
	if (bench_from_json(&a, "x", text, &back, &e))
		fail_msg("%s", e.text);
	assert_string_equal(back.id, r->id);
	assert_int_equal(back.n, 2);
	assert_int_equal(back.cases[0].n, r->cases[0].n);
	assert_int_equal(back.cases[0].rounds, r->cases[0].rounds);
	for (size_t i = 0; i < back.cases[0].n; i++)
		assert_memory_equal(&back.cases[0].series[0].x[i], &r->cases[0].series[0].x[i], 8);
	assert_true(fabs(back.cases[0].series[0].s.median - r->cases[0].series[0].s.median) <
		    1e-12);
	assert_int_equal(back.n_notes, r->n_notes);
	assert_true(back.n_notes > 0 && strstr(back.notes[0], "busy"));
	assert_string_equal(back.settings[0].value, "powersave");
	assert_true(back.cases[0].has_limit && fabs(back.cases[0].limit - 200) < 1e-12);
	assert_non_null(page_bench(&a, &back, true));
	free(text);
	arena_free(&a);
}

/* What replace says, in place of the first occurrence of what. */
static char *edited(struct arena *a, const char *text, const char *what, const char *replace)
{
	const char *at = strstr(text, what);

	assert_non_null(at);
	return arena_printf(a, "%.*s%s%s", (int)(at - text), text, replace, at + strlen(what));
}

static void hostile_files_are_refused(void **state)
{
	static const char *const edits[][2] = {
		{ "gputune.bench/1", "gputune.bench/2" },
		{ "\"at_s\": [", "\"at_s\": [1e999, " },
		{ "\"at_s\": [", "\"at_s\": [0, " },
		{ "\"at_s\": [", "\"at_s\": [\"x\", " },
		{ "\"round_starts\": [0, ", "\"round_starts\": [0, 99999, " },
		{ "\"round_starts\": [0, ", "\"round_starts\": [0, -1, " },
		{ "\"round_starts\": [0, ", "\"round_starts\": [7, " },
		{ "\"figures\": [", "\"figures\": [{}, " },
		{ "\"samples_gb_per_s\": [", "\"samples_gb_per_s\": [null, " },
		{ "\"better\": \"higher\"", "\"better\": \"up\"" },
		{ "\"stop\": \"time\"", "\"stop\": \"never\"" },
		{ "\"machine\": \"0123456789abcdef\"", "\"machine\": 5" },
		{ "\"time\": \"2026", "\"time\": \"x026" },
		{ "\"settings\": {", "\"settings\": {\"x\": 1, " },
		{ "\"id\": ", "\"id\": \"twice\", \"id\": " },
	};
	struct arena a = { 0 };
	char *text = json_of(measured(&a, 1, 6));
	struct record r;
	struct err e;

	(void)state;
	for (size_t i = 0; i < sizeof(edits) / sizeof(edits[0]); i++) {
		memset(&e, 0, sizeof(e));
		if (bench_from_json(&a, "f", edited(&a, text, edits[i][0], edits[i][1]), &r, &e) !=
		    -EINVAL)
			fail_msg("taken: %s", edits[i][1]);
		assert_true(strncmp(e.text, "f: ", 3) == 0);
	}
	assert_int_equal(bench_from_json(&a, "f", "", &r, &e), -EINVAL);
	assert_int_equal(bench_from_json(&a, "f", "[]", &r, &e), -EINVAL);
	assert_int_equal(bench_from_json(&a, "f", "{\"schema\":\"gputune.bench/1\"}", &r, &e),
			 -EINVAL);
	/* Cut off anywhere. */
	for (size_t n = strlen(text); n > 16; n = n * 2 / 3)
		assert_int_equal(bench_from_json(&a, "f", arena_strndup(&a, text, n - 1), &r, &e),
				 -EINVAL);
	free(text);
	arena_free(&a);
}

static void compares(void **state)
{
	struct arena a = { 0 };
	struct record *x = measured(&a, 1, 7), *same = measured(&a, 1, 8),
		      *more = measured(&a, 1.05, 9), *other = measured(&a, 1, 10),
		      *method = measured(&a, 1, 11);
	static struct record_pair tuned[] = { { "cpu.governor", "performance" } };
	struct compare c;
	json_t *j;

	(void)state;
	compare_records(&a, x, same, &c);
	assert_int_equal(c.n, 4);
	assert_int_equal(c.count[COMPARE_SAME], 4);
	assert_true(compare_decides(&c) && c.open[COMPARE_SAME] == 0);
	/* One that is sure and too small is no difference, and said to be there. */
	compare_records(&a, x, measured(&a, 1.0095, 12), &c);
	assert_int_equal(c.rows[0].verdict, COMPARE_SAME);
	assert_true(c.rows[0].ratio.interval.low > 1);
	assert_non_null(strstr(c.rows[0].reason, "there is a difference"));
	compare_records(&a, x, same, &c);
	/* Others used the machine in both, which is no difference; then in the first alone. */
	assert_int_equal(c.n_differs, 0);
	same->conditions.others = same->conditions.idle_others = same->conditions.steal_percent = 0;
	compare_records(&a, x, same, &c);
	assert_int_equal(c.n_differs, 1);
	assert_non_null(strstr(c.differs[0], "busy in the first run"));
	more->settings = tuned;
	compare_records(&a, x, more, &c);
	assert_int_equal(c.rows[0].verdict, COMPARE_BETTER);
	assert_true(fabs(c.rows[0].ratio.ratio - 1.05) < 0.005);
	assert_int_equal(c.n_differs, 1);
	assert_string_equal(c.differs[0], "cpu.governor: powersave, then performance");
	compare_records(&a, more, x, &c);
	assert_int_equal(c.rows[0].verdict, COMPARE_WORSE);
	/* The same change where less is better. */
	x->cases[0].series[0].better = more->cases[0].series[0].better = BENCH_LOWER;
	compare_records(&a, x, more, &c);
	assert_int_equal(c.rows[0].verdict, COMPARE_WORSE);
	x->cases[0].series[0].better = BENCH_HIGHER;
	assert_non_null(page_compare(&a, &c));
	j = result_shape_json(&compare_result, &c, 0, 1);
	assert_non_null(j);
	json_decref(j);

	other->machine = "fedcba9876543210";
	compare_records(&a, x, other, &c);
	assert_int_equal(c.count[COMPARE_CANNOT], 4);
	assert_string_equal(c.rows[0].reason, "different machines");
	method->cases[0].version = 4;
	method->cases[1].verified = false;
	compare_records(&a, x, method, &c);
	assert_int_equal(c.count[COMPARE_CANNOT], 4);
	assert_non_null(strstr(c.rows[0].reason, "different methods"));
	assert_non_null(strstr(c.rows[2].reason, "not verified"));
	method->n = 0;
	compare_records(&a, x, method, &c);
	assert_non_null(strstr(c.rows[0].reason, "second result has no such case"));
	compare_records(&a, method, x, &c);
	assert_int_equal(c.n, 4);
	assert_non_null(strstr(c.rows[0].reason, "first result has no such case"));
	arena_free(&a);
}

static void keeps_results(void **state)
{
	char state_dir[] = "/tmp/gputune-test-XXXXXX", *text;
	struct arena a = { 0 };
	struct host *h = host_open_live();
	struct store_where where, beside;
	const char *folder, *id;
	struct err e = { 0 };
	struct stat st;
	struct stored *ids;
	size_t n;

	(void)state;
	assert_non_null(mkdtemp(state_dir));
	folder = arena_printf(&a, "%s/below", state_dir);
	beside = (struct store_where){ "/nowhere", folder };
	where = (struct store_where){ folder, NULL };
	assert_int_equal(store_list(&a, h, &where, &ids, &n, &e), 0);
	assert_int_equal(n, 0);
	id = store_new_id(&a, h, folder, 1767225600, "fake");
	assert_string_equal(id, "20260101-000000-fake");
	assert_int_equal(store_put(h, folder, id, "{}", &e), 0);
	assert_string_equal(store_new_id(&a, h, folder, 1767225600, "fake"),
			    "20260101-000000-fake-2");
	assert_int_equal(store_get(&a, h, &where, id, &text, &e), 0);
	assert_string_equal(text, "{}");
	assert_int_equal(store_list(&a, h, &where, &ids, &n, &e), 0);
	assert_int_equal(n, 1);
	assert_string_equal(ids[0].id, id);
	/* The machine's beside a user's own, which has none yet. */
	assert_int_equal(store_list(&a, h, &beside, &ids, &n, &e), 0);
	assert_int_equal(n, 1);
	assert_string_equal(ids[0].state, folder);
	assert_int_equal(store_get(&a, h, &beside, id, &text, &e), 0);
	assert_int_equal(stat(store_path(&a, folder, id), &st), 0);
	assert_int_equal(st.st_mode & 0777, 0600);
	assert_int_equal(store_get(&a, h, &where, "../etc/passwd", &text, &e), -EINVAL);
	assert_int_equal(store_get(&a, h, &where, ".x", &text, &e), -EINVAL);
	assert_int_equal(store_get(&a, h, &where, "none", &text, &e), -ENOENT);
	assert_true(store_put(h, "/proc/nowhere", id, "{}", &e) < 0);
	assert_non_null(strstr(e.text, "/proc/nowhere"));
	unlink(store_path(&a, folder, id));
	rmdir(arena_printf(&a, "%s/bench", folder));
	rmdir(folder);
	assert_int_equal(rmdir(state_dir), 0);
	host_close(h);
	arena_free(&a);
}

/* --- conditions ------------------------------------------------------------------------------- */

static void sampler_hears_and_costs_little(void **state)
{
	struct arena a = { 0 };
	struct host *h = host_open_live();
	struct machine m = { 0 };
	struct record_conditions c = { 0 };
	struct record_moment from, to;
	struct watch_list w;
	atomic_bool stop = false;
	sigset_t now;
	struct sampler *s;

	(void)state;
	m.cpu.online.v = bench_allowed(&a);
	watch_list_make(&a, h, &m, &w);
	conditions_look(h, &w, &from);
	s = sampler_start(h, &w, &stop);
	assert_non_null(s);
	kill(getpid(), SIGINT); /* blocked here: the sampler takes it */
	for (int i = 0; i < 500 && !atomic_load(&stop); i++)
		usleep(10000);
	assert_true(atomic_load(&stop));
	sampler_end(&a, s, &c);
	pthread_sigmask(SIG_SETMASK, NULL, &now);
	assert_false(sigismember(&now, SIGINT));
	conditions_look(h, &w, &to);
	assert_true(from.busy_s > 0 && to.busy_s >= from.busy_s && to.at_s > from.at_s);
	assert_true(conditions_others(&from, &to) >= 0);
	assert_true(from.interrupts > 0 && from.load1 >= 0 && from.available_mib > 0);
	from.busy_s = -1;
	assert_true(conditions_others(&from, &to) < 0 && conditions_steal(&from, &to) < 0);
	host_close(h);
	arena_free(&a);
}

/* What a child has used is ours as soon as it has ended. */
static void children_are_no_others(void **state)
{
	struct host *h = host_open_live();
	struct watch_list w = { 0 };
	struct record_moment from, to;
	pid_t pid;

	(void)state;
	conditions_look(h, &w, &from);
	pid = fork();
	assert_true(pid >= 0);
	if (pid == 0) {
		while (clock_cpu_s() < 0.1)
			;
		_exit(0);
	}
	assert_int_equal(waitpid(pid, NULL, 0), pid);
	conditions_look(h, &w, &to);
	assert_true(to.own_s - from.own_s >= 0.09);
	host_close(h);
}

/* On a machine of the test's own: which files are looked at, and what they come to. */
static void looks_at_what_there_is(void **state)
{
	struct arena a = { 0 };
	struct host *h = memory_open();
	struct machine m = { 0 };
	struct record_moment v, w;
	struct watch_list list;
	const char *zones[] = { "/sys/class/thermal/thermal_zone0/temp",
				"/sys/class/thermal/thermal_zone1/temp",
				"/sys/class/thermal/thermal_zone2/temp" };
	int32_t qos = 42;

	(void)state;
	idset_add(&a, &m.cpu.online.v, 0);
	idset_add(&a, &m.cpu.online.v, 1);
	for (unsigned i = 0; i < 2; i++)
		((struct freq_policy *)list_add(&a, &m.cpu.policies, sizeof(struct freq_policy)))
			->index = 3 * i;
	memory_file(h, "/sys/devices/system/cpu/cpufreq/policy0/scaling_cur_freq", "1800000\n");
	memory_file(h, "/sys/devices/system/cpu/cpufreq/policy3/scaling_cur_freq", "3900000\n");
	memory_file(h, "/sys/class/thermal/thermal_zone0/temp", "41000\n");
	memory_file(h, "/sys/class/thermal/thermal_zone1/temp", "67500\n");
	memory_file(h, "/sys/class/thermal/thermal_zone2/temp", "nonsense\n");
	for (unsigned i = 0; i < 2; i++)
		memory_file(h,
			    arena_printf(&a,
					 "/sys/devices/system/cpu/cpu%u/thermal_throttle/"
					 "core_throttle_count",
					 i),
			    i ? "5\n" : "2\n");
	memory_file(h, "/proc/loadavg", "1.25 0.5 0.1 1/100 4242\n");
	memory_file(h, "/proc/meminfo", "MemTotal: 9000 kB\nMemAvailable:    2048 kB\n");
	memory_file(h, "/proc/stat",
		    "cpu  100 0 200 4000 50 10 40 25 0 0\ncpu0 1 1\nintr 777 1 2\nctxt 88\n");
	memory_bytes(h, "/dev/cpu_dma_latency", &qos, sizeof(qos));
	watch_list_make(&a, h, &m, &list);
	assert_int_equal(list.n_freq, 2);
	assert_int_equal(list.n_throttle, 2);
	/* This machine cannot list folders. */
	list.temp = zones;
	list.n_temp = 3;
	conditions_look(h, &list, &v);
	assert_int_equal(v.mhz_min, 1800);
	assert_int_equal(v.mhz_max, 3900);
	assert_true(fabs(v.temp_c - 67.5) < 1e-9);
	assert_int_equal(v.throttles, 7);
	assert_true(fabs(v.load1 - 1.25) < 1e-9 && fabs(v.available_mib - 2) < 1e-9);
	assert_int_equal(v.interrupts, 777);
	assert_int_equal(v.switches, 88);
	assert_int_equal(v.pm_qos_us, 42);
	assert_true(fabs(v.busy_s * (double)sysconf(_SC_CLK_TCK) - 350) < 1e-6);
	assert_true(fabs(v.steal_s * (double)sysconf(_SC_CLK_TCK) - 25) < 1e-6);
	/* A quarter of what passed was stolen. */
	memory_file(h, "/proc/stat", "cpu  160 0 200 4000 50 10 40 45 0 0\n");
	conditions_look(h, &list, &w);
	assert_true(fabs(conditions_steal(&v, &w) - 25) < 1e-6);
	assert_int_equal(w.interrupts, -1);
	host_close(h);
	arena_free(&a);
}

static void busy_is_said(void **state)
{
	struct record_conditions c = { .cpus = 100, .idle_others = 0.9 };

	(void)state;
	assert_false(record_busy(&c));
	c.others = 1.1;
	assert_true(record_busy(&c));
	c = (struct record_conditions){ .cpus = 2, .idle_others = 0.05, .others = -1 };
	assert_false(record_busy(&c));
	c.idle_others = 0.2;
	assert_true(record_busy(&c));
	c = (struct record_conditions){ .cpus = 2, .steal_percent = 3 };
	assert_true(record_busy(&c));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(stops_when_narrow),
		cmocka_unit_test(stops_by_time_and_count),
		cmocka_unit_test(says_what_is_wrong),
		cmocka_unit_test(keeps_what_there_is_when_interrupted),
		cmocka_unit_test(says_how_long_it_takes),
		cmocka_unit_test(plans_before_it_starts),
		cmocka_unit_test(children_are_no_others),
		cmocka_unit_test(real_benches_verify),
		cmocka_unit_test(loops_are_right),
		cmocka_unit_test(workers_all_work),
		cmocka_unit_test(histogram_is_near),
		cmocka_unit_test(there_and_back),
		cmocka_unit_test(hostile_files_are_refused),
		cmocka_unit_test(compares),
		cmocka_unit_test(keeps_results),
		cmocka_unit_test(sampler_hears_and_costs_little),
		cmocka_unit_test(looks_at_what_there_is),
		cmocka_unit_test(busy_is_said),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
