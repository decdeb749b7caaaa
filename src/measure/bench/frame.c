/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Rounds of warm-up and samples. Cases take turns, a fresh set-up each time, so that what a set-up
 * happens to get (which pages, which neighbour) and a slow drift are spread over all of them, and
 * so that the spread between set-ups is known.
 */
#include <errno.h>
#include <math.h>
#include <string.h>

#include "base/clock.h"
#include "measure/bench/bench.h"

enum {
	WARM_WINDOW = 8,
	WARM_AGAIN = 2,
	WARM_MOST_S = 5,
	SETUP_LONG_S = 3,
	ROUNDS_MIN = 3,
	SAMPLES_PER_ROUND_MIN = 2
};

static double clock_now(void *ctx)
{
	(void)ctx;
	return clock_mono_s();
}

static double now(const struct frame *f)
{
	return (f->now ? f->now : clock_now)(f->ctx);
}

void frame_start(struct frame *f)
{
	f->start = now(f);
}

static bool stopped(const struct frame *f)
{
	return f->env.stop && atomic_load(f->env.stop);
}

/* One case under way. */
struct turn {
	struct frame *f;
	const struct bench *b;
	const struct bench_case *c;
	struct record_case *out;
	struct histogram *seen;
	double *warm; /* first figure of the warm-up's samples */
	double seconds;
	double begun; /* when this round's set-up began */
	bool done;
};

static void fail(struct turn *t, const char *what, const struct err *e)
{
	t->out->error = arena_printf(t->f->env.a, "%s: %s", what, e->text);
	t->out->stop = STOP_ERROR;
	t->out->verified = false;
	t->done = true;
}

static int frame_sample(struct turn *t, void *state, struct bench_sample *s)
{
	struct err e = { 0 };
	int r = t->b->run(state, s, &e);

	for (size_t i = 0; r == 0 && i < t->out->n_series; i++)
		if (!isfinite(s->value[i]))
			r = err_set(&e, -EDOM, "a sample is not a number");
	if (r == -EINTR && stopped(t->f))
		return r;
	if (r)
		fail(t, "running", &e);
	return r;
}

/* done: rounds that are over. */
static void report_progress(const struct turn *t, size_t done)
{
	if (t->f->progress)
		t->f->progress(t->f->ctx, t->out, done, t->b->rounds);
}

/* What there is before the first sample that counts. */
static void frame_early(void *ctx, double value, const char *how)
{
	struct turn *t = ctx;
	struct record_early *e = &t->out->early;

	if (!isfinite(value))
		return;
	if (!e->known)
		*e = (struct record_early){
			.known = true, .value = value, .at_s = clock_process_s(), .how = how
		};
	e->last = value;
	report_progress(t, t->out->rounds);
}

/* Until the last samples show no trend, or half the case's time is over and they could have. */
static int warm_up(struct turn *t, void *state, bool again)
{
	double begin = now(t->f), end = begin + fmax(t->seconds / 2, 0.2), at;
	struct bench_sample s = { 0 };
	size_t n = 0;

	while (!stopped(t->f)) {
		int r = frame_sample(t, state, &s);

		if (r)
			return r;
		t->out->warmup++;
		ARENA_ADD(t->f->env.a, t->warm, n) = s.value[0];
		frame_early(t, s.value[0], "the first sample of the warm-up");
		if (again && n >= WARM_AGAIN)
			return 0;
		if (!again && stat_steady(t->warm, n, WARM_WINDOW, 0.01)) {
			t->out->steady = true;
			return 0;
		}
		at = now(t->f);
		if (at >= end && (n >= WARM_WINDOW || at >= begin + WARM_MOST_S))
			return 0;
	}
	return -EINTR;
}

static void frame_keep(struct turn *t, const struct bench_sample *s, double at)
{
	struct record_case *c = t->out;
	struct arena *a = t->f->env.a;

	for (size_t i = 0; i < c->n_series; i++) {
		c->series[i].x = arena_grow(a, c->series[i].x, c->n, sizeof(double));
		c->series[i].x[c->n] = s->value[i];
	}
	ARENA_ADD(a, c->at_s, c->n) = at - t->f->start;
}

/* The samples of one round. *left: rounds still to come, this one included. */
static void frame_measure(struct turn *t, void *state, unsigned left)
{
	struct bench_sample s = { .observed = t->seen };
	size_t want = t->f->samples, before = t->out->n;
	double at = now(t->f), end = at + t->seconds / t->b->rounds;

	/* A set-up longer than the time that was asked for is not repeated. */
	if (t->f->seconds > 0 && at - t->begun >= fmax(t->seconds, SETUP_LONG_S)) {
		end = at + t->seconds;
		left = 1;
		t->done = true;
	}
	if (want)
		want = before + (want - before + left - 1) / left;
	while (t->out->n < RECORD_SAMPLES_MAX && (!want || t->out->n < want)) {
		if (stopped(t->f))
			return;
		at = now(t->f);
		/* A time limit that was asked for holds for counts too. */
		if (at >= end && t->out->n >= before + SAMPLES_PER_ROUND_MIN &&
		    (!want || t->f->seconds > 0))
			return;
		if (frame_sample(t, state, &s))
			return;
		frame_keep(t, &s, at);
		report_progress(t, t->b->rounds - left);
	}
}

/* What was asked to stop while it looked has said nothing of the samples. */
static void frame_check(struct turn *t, void *state)
{
	struct err e = { 0 };
	int r = t->b->verify(state, &e);

	if (r == -EINTR && stopped(t->f))
		t->out->verified = false;
	else if (r)
		fail(t, r == -ENOTRECOVERABLE ? RECORD_UNHEALTHY : RECORD_WRONG, &e);
	else
		t->out->verified = t->out->n > 0;
}

static void frame_one_round(struct turn *t, unsigned left)
{
	struct err e = { 0 };
	void *state = NULL;
	int r;

	t->f->env.early = frame_early;
	t->f->env.early_ctx = t;
	t->f->env.seconds = t->seconds;
	t->begun = now(t->f);
	r = bench_set_up(t->b, &t->f->env, t->c, &state, &t->out->variant, &e);
	if (r == -EINTR && stopped(t->f))
		return;
	if (r) {
		fail(t, "setting up", &e);
		return;
	}
	if (warm_up(t, state, t->out->rounds > 0) == 0) {
		ARENA_ADD(t->f->env.a, t->out->first, t->out->rounds) = t->out->n;
		frame_measure(t, state, left);
	}
	if (!t->out->error)
		frame_check(t, state);
	bench_tear_down(t->b, state);
}

static bool narrow(const struct turn *t)
{
	struct stat_summary s;

	return stat_summary(t->out->series[0].x, t->out->n, &s) == 0 &&
	       stat_half_width(&s) <= (t->f->width > 0 ? t->f->width : 0.01);
}

static void add_series(struct frame *f, const struct bench *b, const struct bench_case *c,
		       struct record_case *out)
{
	out->n_series = c->n_figures ? c->n_figures : b->n_figures;
	for (size_t i = 0; i < out->n_series; i++) {
		struct record_series *s = &out->series[i];

		*s = (struct record_series){ .key = b->figures[i].key,
					     .title = b->figures[i].title,
					     .unit = b->figures[i].unit,
					     .unit_text = b->figures[i].unit_text,
					     .better = b->figures[i].better };
		s->band = band_of(f->env.a, f->env.m,
				  idset_contains(&f->env.cpus, &f->env.m->cpu.online.v),
				  c->hardware, b->name, c->name, s);
	}
}

static void frame_begin(struct frame *f, const struct bench *b, const struct bench_case *c,
			struct record_case *out, struct turn *t)
{
	struct bench_limit limit =
		b->limit ? b->limit(&f->env, c) : (struct bench_limit){ .source = b->no_limit };

	*out = (struct record_case){ .bench = b->name,
				     .name = c->name,
				     .method = b->method,
				     .version = b->version,
				     .setup = c->setup,
				     .placement = c->placement,
				     .variant = "",
				     .has_limit = limit.known,
				     .limit = limit.value,
				     .limit_source = limit.source,
				     .stop = f->samples ? STOP_COUNT : STOP_TIME };
	add_series(f, b, c, out);
	*t = (struct turn){ .f = f,
			    .b = b,
			    .c = c,
			    .out = out,
			    .seen = ARENA_NEW(f->env.a, struct histogram),
			    .seconds = f->seconds > 0 ? f->seconds : b->seconds };
}

static void frame_finish(struct turn *t)
{
	const struct histogram *h = t->seen;
	double scale = t->b->observed_scale;

	if (!t->done && stopped(t->f))
		t->out->stop = STOP_INTERRUPTED;
	if (!h->n)
		return;
	t->out->observed = (struct record_observed){ .n = h->n,
						     .p50 = histogram_quantile(h, 0.5) * scale,
						     .p90 = histogram_quantile(h, 0.9) * scale,
						     .p99 = histogram_quantile(h, 0.99) * scale,
						     .p999 = histogram_quantile(h, 0.999) * scale,
						     .max = h->max * scale,
						     .of = t->b->observed_of };
}

/* The case of that name; where there is none, all that begin so. */
static size_t frame_choose(const struct bench_cases *all, const char *name, struct turn *turns)
{
	size_t n = 0;

	for (size_t i = 0; name && i < all->n; i++)
		if (strcmp(all->items[i].name, name) == 0) {
			turns[0].c = &all->items[i];
			return 1;
		}
	for (size_t i = 0; i < all->n; i++)
		if (!name || strncmp(all->items[i].name, name, strlen(name)) == 0)
			turns[n++].c = &all->items[i];
	return n;
}

double frame_left(const struct frame *f)
{
	double took = now(f) - f->start, left = f->planned_s - f->done_s;

	/* By the plan at first, more and more by what it took. */
	if (f->done_s > 0)
		return left / f->planned_s * (left + took);
	return left > took ? left - took : -1;
}

/* Warm-up and set-ups take at least half as long again. */
static double case_plan(const struct frame *f, const struct bench *b, const struct bench_case *c)
{
	return 1.5 * (f->seconds > 0 ? f->seconds : b->seconds) + b->rounds * c->setup_s;
}

static void frame_rounds(struct frame *f, const struct bench *b, struct turn *turns, size_t n)
{
	for (unsigned round = 0; round < b->rounds; round++)
		for (size_t i = 0; i < n && !stopped(f); i++) {
			struct turn *t = &turns[i];

			if (!t->done)
				frame_one_round(t, b->rounds - round);
			f->done_s += case_plan(f, b, t->c) / b->rounds;
			if (!t->done && !(f->seconds > 0) && !f->samples &&
			    round + 1 >= ROUNDS_MIN && narrow(t)) {
				t->done = true;
				t->out->stop = STOP_INTERVAL;
			}
			if (f->samples && t->out->n >= f->samples)
				t->done = true;
		}
}

/* Notes the cases that this machine cannot have; where none of those that were asked for can be
 * had, of these alone. How many. */
static size_t skip_absent(struct frame *f, const struct bench *b, const char *prefix,
			  const struct bench_cases *all, struct record *r)
{
	size_t n = 0;

	for (size_t i = 0; i < all->n_absent; i++) {
		const struct record_skip *s = &all->absent[i];

		if (prefix && strncmp(s->bench, prefix, strlen(prefix)) != 0)
			continue;
		record_skip(f->env.a, r, arena_printf(f->env.a, "%s/%s", b->name, s->bench),
			    s->reason);
		n++;
	}
	return n;
}

int frame_run(struct frame *f, const struct bench *b, const char *prefix, struct record *r)
{
	struct bench_cases all = { 0 };
	struct turn *turns;
	size_t n, absent;
	double own = 0;

	/* Asking for the cases may take long. */
	if (f->planning && (b->ahead || b->end)) {
		f->planned_s += (prefix ? 1 : 4) * case_plan(f, b, &(struct bench_case){ 0 });
		return 0;
	}
	f->env.ask.name = prefix;
	b->cases(&f->env, &all);
	turns = arena_array(f->env.a, all.n, sizeof(*turns));
	n = frame_choose(&all, prefix, turns);
	absent = skip_absent(f, b, n ? NULL : prefix, &all, r);
	if (!all.n && !all.n_absent)
		record_skip(f->env.a, r, b->name, all.none ? all.none : "nothing to measure here");
	if (!n) {
		if (b->end)
			b->end(&all);
		if (!absent && (all.n || all.n_absent))
			return -ENOENT;
		return all.usage ? -EINVAL : -ENODATA;
	}
	for (size_t i = 0; i < n; i++)
		own += case_plan(f, b, turns[i].c);
	f->planned_s = f->planning ? f->planned_s + own : fmax(f->planned_s, f->done_s + own);
	if (f->planning)
		return 0;
	/* All places first: what turns point to must not move. */
	for (size_t i = 0; i < n; i++)
		r->cases = arena_grow(f->env.a, r->cases, r->n + i, sizeof(*r->cases));
	for (size_t i = 0; i < n; i++)
		frame_begin(f, b, turns[i].c, &r->cases[r->n + i], &turns[i]);
	frame_rounds(f, b, turns, n);
	for (size_t i = 0; i < n; i++)
		frame_finish(&turns[i]);
	if (b->end)
		b->end(&all);
	r->n += n;
	r->partial = r->partial || stopped(f);
	return 0;
}

/* Each of the names in brief. False: there is no such case. */
static bool run_brief(struct frame *f, const struct bench *b, struct record *r)
{
	char *names = b->brief ? arena_strdup(f->env.a, b->brief) : NULL, *rest = NULL;
	bool found = false;

	if (!names)
		return frame_run(f, b, NULL, r) != -ENOENT;
	for (char *s = strtok_r(names, " ", &rest); s; s = strtok_r(NULL, " ", &rest))
		found = frame_run(f, b, s, r) != -ENOENT || found;
	return found;
}

void frame_run_all(struct frame *f, const struct bench *const *list, size_t n, struct record *r)
{
	for (size_t i = 0; i < n; i++) {
		const struct bench *b = list[i];

		if (stopped(f))
			record_skip(f->env.a, r, b->name, "interrupted before it started");
		else if (b->brief && strcmp(b->brief, "-") == 0)
			record_skip(f->env.a, r, b->name, "runs only if named");
		else if (!run_brief(f, b, r))
			record_skip(f->env.a, r, b->name,
				    "has no case that is short enough for this run");
	}
}
