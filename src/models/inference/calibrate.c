/* SPDX-License-Identifier: Apache-2.0 */
/* Groups of runs, each fitted and tried on what it had not seen: runs, and whole models. */
#include "models/inference/calibrate.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "models/inference/calibrate_parts.h"

/* Runs are left out in so many parts at most. */
/* So many models are needed to say anything of others. */
enum { PARTS_MAX = 24, STEPS = 12, STEPS_AGAIN = 8, MODELS_MIN = 3 };
/* Runs that are farther off than this are not explained by any constants. */
static const double far_off = 0.4;

double calibrate_predict(const struct ask *q, enum log_figure f)
{
	double context = q->depth + q->prompt + q->output / 2;
	struct need m;
	struct served s;
	struct prompt p;
	struct step one;

	switch (f) {
	case LOG_TTFT:
	case LOG_TPOT:
	case LOG_THROUGHPUT:
		memory_use(q, &m);
		serve(q, &m, &s);
		return f == LOG_TTFT ? s.ttft : f == LOG_TPOT ? s.tpot : s.throughput;
	case LOG_PREFILL:
		prompt_time(q, q->batch, q->prompt, q->depth, &p);
		return p.total;
	case LOG_STEP:
		step_time(q, q->batch, context, 1, &one);
		return one.total;
	case LOG_LATENCY:
		prompt_time(q, q->batch, q->prompt, q->depth, &p);
		step_time(q, q->batch, context, 1, &one);
		return p.total + q->output * one.total +
		       (q->engine == ENGINE_LLAMACPP ? 0 : q->fit->v[FIT_FIRST_MS]);
	default:
		return 0;
	}
}

/* --- errors -------------------------------------------------------------------------------------
 */

static int by_size(const void *x, const void *y)
{
	double a = *(const double *)x, b = *(const double *)y;

	return a < b ? -1 : a > b;
}

enum which { BUILT_IN, FITTED, LEFT_OUT };

/* The middle one and nine of ten of |predicted / measured - 1|. */
static void errors_of(struct arena *a, const struct calibrate_figure *f, size_t n, enum which w,
		      double out[2])
{
	double *e = arena_array(a, n + 1, sizeof(*e));

	for (size_t i = 0; i < n; i++) {
		double p = w == BUILT_IN ? f[i].built_in
			   : w == FITTED ? f[i].fitted
					 : f[i].left_out;

		e[i] = fabs(p / f[i].measured - 1);
	}
	qsort(e, n, sizeof(*e), by_size);
	for (int k = 0; n && k < 2; k++) {
		double at = (k ? 0.9 : 0.5) * (double)(n - 1);
		size_t i = (size_t)at;

		out[k] = i + 1 < n ? e[i] + (at - (double)i) * (e[i + 1] - e[i]) : e[i];
	}
}

/* --- a group ------------------------------------------------------------------------------------
 */

static void begin_at(struct fit_problem *p, const struct fit *built_in,
		     const struct calibrate_hint *hints, size_t n)
{
	p->base = *built_in;
	for (int k = 0; k < FITS; k++) {
		calibrate_prior((enum fit_id)k, &p->low[k], &p->high[k]);
		p->high[k] = fmax(p->high[k], p->base.v[k]);
		p->low[k] = fmin(p->low[k], p->base.v[k]);
	}
	for (size_t i = 0; i < n; i++) {
		const struct calibrate_hint *h = &hints[i];
		double *v = &p->base.v[h->id];

		if (h->most > 0)
			p->high[h->id] = fmin(p->high[h->id], h->most);
		if (h->value > 0)
			*v = h->value;
		else if (h->scale > 0)
			*v *= h->scale;
		*v = fmin(p->high[h->id], fmax(p->low[h->id], *v));
	}
}

static const char *hint_of(const struct calibrate_hint *hints, size_t n, enum fit_id id)
{
	const char *from = NULL;

	for (size_t i = 0; i < n; i++)
		if (hints[i].id == id)
			from = hints[i].from;
	return from;
}

/* What became of each constant, and the set that predictions use. */
static struct fit tell(struct calibrate_group *g, const struct fit_problem *p, const bool *asked,
		       const struct fit *built_in, const struct calibrate_hint *hints, size_t n)
{
	struct fit f = fit_at(p);

	for (int k = 0; k < FITS; k++) {
		struct calibrate_constant *c = &g->constants[k];
		bool moved = fabs(f.v[k] - built_in->v[k]) > 1e-9 * built_in->v[k];

		*c = (struct calibrate_constant){ .id = (enum fit_id)k,
						  .built_in = built_in->v[k],
						  .value = f.v[k],
						  .sigma = p->active[k] ? p->sigma[k] : 0,
						  .missing = calibrate_missing((enum fit_id)k),
						  .from = hint_of(hints, n, (enum fit_id)k) };
		c->state = p->active[k] ? CONSTANT_FITTED
			   : moved	? CONSTANT_EXPECTED
			   : asked[k]	? CONSTANT_OPEN
					: CONSTANT_UNTOUCHED;
	}
	return f;
}

/* Each part predicted by a fit that had not seen it, into left_out of its figures. */
static void leave_out(struct arena *a, const struct fit_problem *whole, struct calibrate_figure *f,
		      const size_t *part, size_t parts, double errors[2])
{
	bool *out = arena_array(a, whole->n, sizeof(*out));

	for (size_t k = 0; k < parts; k++) {
		struct fit_problem p = *whole;
		struct fit with;

		for (size_t i = 0; i < p.n; i++)
			out[i] = part[i] == k;
		p.left_out = out;
		fit_sensitive(&p);
		fit_solve(&p, STEPS_AGAIN);
		fit_reduce(&p);
		with = fit_at(&p);
		for (size_t i = 0; i < p.n; i++)
			if (out[i]) {
				struct ask q = p.runs[f[i].run].q.ask;

				q.fit = &with;
				f[i].left_out = calibrate_predict(&q, f[i].what);
			}
	}
	errors_of(a, f, whole->n, LEFT_OUT, errors);
}

static size_t model_of(const struct calibrate_group *g, const char *name)
{
	size_t i = 0;

	while (i + 1 < g->n_models && strcmp(g->models[i], name) != 0)
		i++;
	return i;
}

/* Whole models left out first, then runs (of many, a few at a time): the page shows the latter. */
static void try_on_unseen(struct arena *a, struct calibrate_group *g, const struct fit_problem *p,
			  struct calibrate_figure *f)
{
	size_t *part = arena_array(a, p->n, sizeof(*part)), at = 0;
	size_t parts = g->runs < PARTS_MAX ? g->runs : PARTS_MAX;

	g->tried_models = g->n_models >= MODELS_MIN;
	for (size_t i = 0; i < p->n; i++)
		part[i] = model_of(g, p->runs[f[i].run].q.arch.name) % PARTS_MAX;
	if (g->tried_models)
		leave_out(a, p, f, part, g->n_models < PARTS_MAX ? g->n_models : PARTS_MAX,
			  g->left_model);
	g->tried = parts >= 2;
	for (size_t i = 0; i < p->n; i++) {
		at += i && f[i].run != f[i - 1].run;
		part[i] = at % parts;
	}
	if (g->tried)
		leave_out(a, p, f, part, parts, g->left_out);
}

/* Why a fit that was tried is not used; NULL: it is. */
static const char *refused(struct arena *a, const struct calibrate_group *g)
{
	if (g->fitted[0] > far_off)
		return arena_printf(a,
				    "even fitted, the runs are %.0f %% off: is it the machine, the "
				    "model and the format that they ran on?",
				    100 * g->fitted[0]);
	if (g->tried && g->runs >= 3 && g->left_out[0] >= g->built_in[0])
		return arena_printf(
			a,
			"runs that the fit had not seen are predicted no better (%.1f %%) "
			"than by the built-in constants (%.1f %%)",
			100 * g->left_out[0], 100 * g->built_in[0]);
	return NULL;
}

/* For which models, and why. */
static const char *scope(struct arena *a, struct calibrate_group *g)
{
	g->general = g->tried_models && g->left_model[0] < g->built_in[0];
	if (g->general)
		return arena_printf(
			a,
			"for every model: those that the fit had not seen are %.1f %% off "
			"in the middle",
			100 * g->left_model[0]);
	if (g->tried_models)
		return arena_printf(
			a,
			"for these %zu models alone: others are predicted no better with "
			"it (%.1f %% off)",
			g->n_models, 100 * g->left_model[0]);
	return arena_printf(
		a, "for %s alone: whether it holds for others, runs of %d models would show",
		g->n_models == 1 ? g->models[0] : "these two models", MODELS_MIN);
}

static void judge(struct arena *a, struct calibrate_group *g)
{
	bool fitted = false;

	for (int k = 0; k < FITS; k++)
		fitted = fitted || g->constants[k].state == CONSTANT_FITTED;
	g->why = g->runs ? refused(a, g) : NULL;
	g->kept = !g->why && fitted;
	if (g->why)
		return;
	if (!g->runs)
		g->why = "no result of this engine";
	else if (!fitted)
		g->why = "the results decide no constant";
	else if (!g->tried)
		g->why = arena_printf(a, "%s; fitted on one run, nothing is left to try it on",
				      scope(a, g));
	else
		g->why = arena_printf(a,
				      "%s; runs that the fit had not seen are %.1f %% off in the "
				      "middle, by the built-in constants %.1f %%",
				      scope(a, g), 100 * g->left_out[0], 100 * g->built_in[0]);
}

static void fit_group(struct arena *a, struct calibration *c, struct calibrate_group *g,
		      struct calibrate_figure *f, size_t n, const struct fit *built_in,
		      const struct calibrate_hint *hints, size_t n_hints)
{
	struct fit_problem p = { .a = a, .runs = c->runs, .figures = f, .n = n };
	bool asked[FITS];
	struct fit with;

	begin_at(&p, built_in, hints, n_hints);
	g->expected = p.base;
	for (size_t i = 0; i < FITS; i++)
		g->hinted =
			g->hinted || p.base.v[i] < built_in->v[i] || p.base.v[i] > built_in->v[i];
	fit_sensitive(&p);
	memcpy(asked, p.active, sizeof(asked));
	if (n) {
		fit_solve(&p, STEPS);
		fit_reduce(&p);
		try_on_unseen(a, g, &p, f);
	}
	with = tell(g, &p, asked, built_in, hints, n_hints);
	for (size_t i = 0; i < n; i++) {
		struct ask q = c->runs[f[i].run].q.ask;

		q.fit = &with;
		f[i].fitted = calibrate_predict(&q, f[i].what);
	}
	errors_of(a, f, n, BUILT_IN, g->built_in);
	errors_of(a, f, n, FITTED, g->fitted);
	judge(a, g);
}

void calibrate(struct arena *a, const struct log_runs *logs, const struct words *told,
	       enum hardware hardware, const struct calibrate_hint *hints, size_t n_hints,
	       const struct fits *base, struct calibration *out)
{
	*out = (struct calibration){ 0 };
	calibrate_runs(a, logs, told, base, out);
	for (int e = 0; n_hints && e < ENGINES; e++)
		calibrate_group_of(a, out, (enum engine)e, hardware);
	for (size_t i = 0; i < out->n_groups; i++) {
		struct calibrate_group *g = &out->groups[i];
		struct calibrate_figure *mine = arena_array(a, g->figures + 1, sizeof(*mine));
		bool here = g->hardware == hardware;
		size_t n = 0, k = 0;

		for (size_t f = 0; f < out->n_figures; f++)
			if (out->runs[out->figures[f].run].group == i)
				mine[n++] = out->figures[f];
		fit_group(a, out, g, mine, n, &base->of[g->engine][g->hardware], hints,
			  here ? n_hints : 0);
		for (size_t f = 0; f < out->n_figures; f++)
			if (out->runs[out->figures[f].run].group == i)
				out->figures[f] = mine[k++];
	}
}
