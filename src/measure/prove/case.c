/* SPDX-License-Identifier: Apache-2.0 */
/* A window that is a case of a bench. */
#include <errno.h>
#include <math.h>
#include <string.h>

#include "base/clock.h"
#include "measure/prove/window.h"

enum { WARM_SAMPLES = 2, SAMPLES_MIN = 3, SAMPLES_MAX = 100000 };

struct measured {
	struct bench_env *env;
	struct idset asked; /* CPUs that were asked for; env has those of them that it may use */
	const struct bench *b;
	struct bench_cases all;
	const struct bench_case *c;
	const char *name; /* the case's */
	double *x[WINDOW_FIGURES];
	size_t n;
};

static bool stopped(const struct measured *s)
{
	return s->env->stop && atomic_load(s->env->stop);
}

static int case_sample(struct window *w, void *state, bool keep, struct err *e)
{
	struct measured *s = w->state;
	struct bench_sample one = { 0 };
	int r = stopped(s) ? -EINTR : s->b->run(state, &one, e);

	for (size_t i = 0; r == 0 && i < w->n_figures; i++)
		if (!isfinite(one.value[i]))
			r = err_set(e, -EDOM, "%s: a sample is not a number", w->name);
	for (size_t i = 0; r == 0 && keep && i < w->n_figures; i++) {
		s->x[i] = arena_grow(s->env->a, s->x[i], s->n, sizeof(double));
		s->x[i][s->n] = one.value[i];
	}
	s->n += r == 0 && keep;
	return r;
}

static int case_samples(struct window *w, void *state, struct err *e)
{
	struct measured *s = w->state;
	double begin = clock_mono_s(), end;
	int r = 0;

	/* Where one sample takes longer than a window should, one is enough of either. */
	for (int i = 0; r == 0 && i < WARM_SAMPLES; i++)
		if (i == 0 || clock_mono_s() < begin + w->seconds)
			r = case_sample(w, state, false, e);
	begin = clock_mono_s();
	end = begin + w->seconds;
	s->n = 0;
	while (r == 0 && s->n < SAMPLES_MAX) {
		r = case_sample(w, state, true, e);
		if (clock_mono_s() >= (s->n < SAMPLES_MIN ? begin + w->seconds * SAMPLES_MIN : end))
			break;
	}
	if (r && stopped(s))
		return -EINTR;
	return r;
}

static int medians(struct window *w, struct window_reading *out, struct err *e)
{
	struct measured *s = w->state;

	out->samples = s->n;
	for (size_t i = 0; i < w->n_figures; i++) {
		out->value[i] = stat_median_in_place(s->x[i], s->n);
		if (out->value[i] <= 0 && i == w->main)
			return err_set(e, -EDOM, "%s: a ratio requires positive figures, not %g %s",
				       w->name, out->value[i], w->figures[i].unit_text);
	}
	return 0;
}

/* What is switched may take CPUs away: then it is the same case on those that are left. */
static int follow_cpus(struct window *w, struct err *e)
{
	struct measured *s = w->state;
	struct arena *a = s->env->a;
	struct idset may = bench_allowed(a), gone = idset_minus(a, &s->asked, &may),
		     now = idset_minus(a, &s->asked, &gone);

	if (idset_equal(&now, &s->env->cpus))
		return 0;
	if (s->b->end)
		s->b->end(&s->all);
	s->env->cpus = now;
	s->all = (struct bench_cases){ 0 };
	s->c = NULL;
	s->b->cases(s->env, &s->all);
	for (size_t i = 0; i < s->all.n && !s->c; i++)
		if (strcmp(s->all.items[i].name, s->name) == 0)
			s->c = &s->all.items[i];
	if (s->c)
		return 0;
	/* The next window looks for it again. */
	s->env->cpus = (struct idset){ 0 };
	return err_set(e, -ENODATA, "%s cannot be measured on CPUs %s", w->name,
		       idset_format(a, &now));
}

static int case_measure(struct window *w, struct window_reading *out, struct err *e)
{
	struct measured *s = w->state;
	const char *variant = "";
	void *state = NULL;
	int r = follow_cpus(w, e), wrong;

	s->env->seconds = w->seconds;
	r = r ? r : bench_set_up(s->b, s->env, s->c, &state, &variant, e);
	if (r)
		return stopped(s) ? -EINTR : r;
	r = case_samples(w, state, e);
	wrong = r ? 0 : s->b->verify(state, e);
	bench_tear_down(s->b, state);
	if (r)
		return r;
	out->variant = variant;
	return wrong ? -EBADMSG : medians(w, out, e);
}

static void close_it(struct window *w)
{
	struct measured *s = w->state;

	if (s->b->end)
		s->b->end(&s->all);
}

static int choose_case(struct measured *s, const char *bench, const char *prefix, struct err *e)
{
	const struct bench_cases *all = &s->all;

	for (size_t i = 0; i < all->n && !s->c; i++)
		if (!prefix || strcmp(all->items[i].name, prefix) == 0)
			s->c = &all->items[i];
	for (size_t i = 0; prefix && i < all->n && !s->c; i++)
		if (strncmp(all->items[i].name, prefix, strlen(prefix)) == 0)
			s->c = &all->items[i];
	if (s->c)
		return 0;
	for (size_t i = 0; i < all->n_absent; i++)
		if (!prefix || strncmp(all->absent[i].bench, prefix, strlen(prefix)) == 0)
			return err_set(e, -ENODATA, "%s/%s: %s", bench, all->absent[i].bench,
				       all->absent[i].reason);
	if (!all->n)
		return err_set(e, all->usage ? -EINVAL : -ENODATA, "%s: %s", bench,
			       all->none ? all->none : "nothing to measure here");
	return err_set(e, -EINVAL, "%s has no case \"%s\" on this machine", bench,
		       prefix ? prefix : "");
}

static int choose_figure(struct window *w, const char *key, struct err *e)
{
	for (size_t i = 0; key && i < w->n_figures; i++)
		if (strcmp(w->figures[i].key, key) == 0) {
			w->main = i;
			return 0;
		}
	return key ? err_set(e, -EINVAL, "%s has no figure \"%s\"", w->name, key) : 0;
}

int window_bench(struct arena *a, const struct bench_env *env, const char *name, const char *figure,
		 struct window *out, struct err *e)
{
	size_t n = strcspn(name, "/");
	const char *bench = arena_strndup(a, name, n), *prefix = name[n] ? name + n + 1 : NULL;
	struct measured *s = ARENA_NEW(a, struct measured);
	struct bench_env *own = ARENA_NEW(a, struct bench_env);
	int r;

	*own = *env;
	own->ask.name = prefix;
	*s = (struct measured){ .env = own, .asked = env->cpus, .b = bench_find(bench) };
	if (!s->b)
		return bench_unknown(e, bench);
	s->b->cases(own, &s->all);
	if (!prefix && s->b->brief && strcmp(s->b->brief, "-") != 0)
		prefix = arena_strndup(a, s->b->brief, strcspn(s->b->brief, " "));
	r = choose_case(s, bench, prefix, e);
	*out = (struct window){ .kind = "bench",
				.of = "",
				.seconds = 1,
				.version = s->b->version,
				.measure = case_measure,
				.close = close_it,
				.state = s };
	if (r == 0) {
		s->name = s->c->name;
		out->name = arena_printf(a, "%s/%s", bench, s->name);
		out->setup = s->c->setup ? s->c->setup : "";
		out->n_figures = s->c->n_figures ? s->c->n_figures : s->b->n_figures;
		memcpy(out->figures, s->b->figures, out->n_figures * sizeof(out->figures[0]));
		r = choose_figure(out, figure, e);
	}
	if (r)
		window_close(out);
	return r;
}
