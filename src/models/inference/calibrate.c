/* SPDX-License-Identifier: Apache-2.0 */
/* Groups of runs, each fitted and tried on what it had not seen: runs, and whole models. */
#include <math.h>
#include <string.h>

#include "models/inference/calibrate.h"
#include "base/stat.h"
#include "base/text.h"
#include "models/inference/schedule.h"

/* Runs are left out in so many parts at most. */
/* So many models are needed to say anything of others. */
enum { PARTS_MAX = 24, STEPS = 12, STEPS_AGAIN = 8, MODELS_MIN = 3 };
/* Runs that are farther off than this are not explained by any constants. */
static const double far_off = 0.4;

/* What the model says of one figure of a run. */
static double calibrate_predict(const struct ask *q, enum log_figure f)
{
	double context = q->depth + q->prompt + q->output / 2;
	struct memory_footprint m;
	ARENA_AUTO a = { 0 };
	struct served s;
	struct prompt p;
	struct decode_step one;

	switch (f) {
	case LOG_TTFT:
	case LOG_TPOT:
	case LOG_THROUGHPUT:
		memory_use(q, &m);
		serve(&a, q, &m, &s, NULL);
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

/* --- errors ----------------------------------------------------------------------------------- */

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
	stat_sort(e, n);
	for (int k = 0; n && k < 2; k++) {
		double at = (k ? 0.9 : 0.5) * (double)(n - 1);
		size_t i = (size_t)at;

		out[k] = i + 1 < n ? e[i] + (at - (double)i) * (e[i + 1] - e[i]) : e[i];
	}
}

/* --- a group ---------------------------------------------------------------------------------- */

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

/* The constants at u. */
static struct fit fit_at(const struct fit_problem *p)
{
	struct fit f = p->base;

	for (int i = 0; i < FITS; i++)
		if (p->active[i])
			f.v[i] = fmin(p->high[i], fmax(p->low[i], f.v[i] * exp(p->u[i])));
	return f;
}

/* What became of each constant, and the set that predictions use. */
static struct fit calibrate_note(struct calibrate_group *g, const struct fit_problem *p,
				 const bool *asked, const struct fit *built_in,
				 const struct calibrate_hint *hints, size_t n)
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
static void infer_calibrate_leave_out(struct arena *a, const struct fit_problem *whole,
				      struct calibrate_figure *f, const size_t *part, size_t parts,
				      double errors[2])
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
		infer_calibrate_leave_out(a, p, f, part,
					  g->n_models < PARTS_MAX ? g->n_models : PARTS_MAX,
					  g->left_model);
	g->tried = parts >= 2;
	for (size_t i = 0; i < p->n; i++) {
		at += i && f[i].run != f[i - 1].run;
		part[i] = at % parts;
	}
	if (g->tried)
		infer_calibrate_leave_out(a, p, f, part, parts, g->left_out);
}

/* Why a fit that was tried is not used; NULL: it is. */
static const char *infer_calibrate_refused(struct arena *a, const struct calibrate_group *g)
{
	if (g->fitted[0] > far_off)
		return arena_printf(a,
				    "the fitted error is still %.0f %%: check that machine, model "
				    "and format match the runs",
				    100 * g->fitted[0]);
	if (g->tried && g->runs >= 3 && g->left_out[0] >= g->built_in[0])
		return arena_printf(a,
				    "the error on held-out runs (%.1f %%) is not below that of the "
				    "built-in constants (%.1f %%)",
				    100 * g->left_out[0], 100 * g->built_in[0]);
	return NULL;
}

/* For which models, and why. */
static const char *scope(struct arena *a, struct calibrate_group *g)
{
	g->general = g->tried_models && g->left_model[0] < g->built_in[0];
	if (g->general)
		return arena_printf(
			a, "for every model: the median error on held-out models is %.1f %%",
			100 * g->left_model[0]);
	if (g->tried_models)
		return arena_printf(a,
				    "only for these %zu models: the fit does not improve "
				    "predictions for others (error %.1f %%)",
				    g->n_models, 100 * g->left_model[0]);
	return arena_printf(a, "only for %s: runs of %d models are required to apply it to others",
			    g->n_models == 1 ? g->models[0] : "these two models", MODELS_MIN);
}

static void infer_calibrate_judge(struct arena *a, struct calibrate_group *g)
{
	bool fitted = false;

	for (int k = 0; k < FITS; k++)
		fitted = fitted || g->constants[k].state == CONSTANT_FITTED;
	g->why = g->runs ? infer_calibrate_refused(a, g) : NULL;
	g->kept = !g->why && fitted;
	if (g->why)
		return;
	if (!g->runs)
		g->why = "no usable run of this engine";
	else if (!fitted)
		g->why = "no constant can be fitted to these runs";
	else if (!g->tried)
		g->why = arena_printf(a, "%s; fitted on one run, so no run is left to test it",
				      scope(a, g));
	else
		g->why = arena_printf(a,
				      "%s; median error on held-out runs %.1f %%, with the "
				      "built-in constants %.1f %%",
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
	with = calibrate_note(g, &p, asked, built_in, hints, n_hints);
	for (size_t i = 0; i < n; i++) {
		struct ask q = c->runs[f[i].run].q.ask;

		q.fit = &with;
		f[i].fitted = calibrate_predict(&q, f[i].what);
	}
	errors_of(a, f, n, BUILT_IN, g->built_in);
	errors_of(a, f, n, FITTED, g->fitted);
	infer_calibrate_judge(a, g);
}

/* The group of that name, made when it was not there. */
static size_t calibrate_group_of(struct arena *a, struct calibration *c, enum engine e,
				 enum hardware h)
{
	for (size_t i = 0; i < c->n_groups; i++)
		if (c->groups[i].engine == e && c->groups[i].hardware == h)
			return i;
	c->groups = arena_grow(a, c->groups, c->n_groups, sizeof(*c->groups));
	c->groups[c->n_groups] = (struct calibrate_group){ .engine = e, .hardware = h };
	return c->n_groups++;
}

static void add_model(struct arena *a, struct calibrate_group *g, const char *name)
{
	for (size_t i = 0; i < g->n_models; i++)
		if (strcmp(g->models[i], name) == 0)
			return;
	ARENA_ADD(a, g->models, g->n_models) = name;
}

static void infer_calibrate_add_figures(struct arena *a, struct calibration *c, size_t run)
{
	struct calibrate_run *r = &c->runs[run];
	size_t before = c->n_figures;

	for (int f = 0; f < LOG_FIGURES; f++) {
		double v = r->log->figure[f], p;

		if (!(v > 0))
			continue;
		p = calibrate_predict(&r->q.ask, (enum log_figure)f);
		if (!(p > 0) || !isfinite(p))
			continue;
		ARENA_ADD(a, c->figures, c->n_figures) =
			(struct calibrate_figure){ .run = run,
						   .what = (enum log_figure)f,
						   .measured = v,
						   .built_in = p,
						   .fitted = p };
	}
	if (c->n_figures == before) {
		r->skipped = "gputune predicts none of its figures";
		return;
	}
	r->group = calibrate_group_of(a, c, r->q.ask.engine, hardware_of(r->q.ask.place.gpu));
	add_model(a, &c->groups[r->group], r->q.arch.name);
	c->groups[r->group].runs++;
	c->groups[r->group].figures += c->n_figures - before;
	c->used++;
}

static const char *why_unusable(const struct log_run *l, const struct infer_options *w)
{
	if (l->skipped)
		return l->skipped;
	if (l->speculative)
		return "speculative tokens: not plain decoding";
	if (!w->model && !w->file)
		return "model unknown: give --model";
	if (w->batch <= 0)
		return "concurrency unknown: give --batch";
	if (!(w->prompt > 0))
		return "prompt length unknown: give --prompt";
	if (!(w->output > 0) && !(l->figure[LOG_PREFILL] > 0))
		return "output length unknown: give --output";
	return NULL;
}

/* From what logs and the user say to questions with measured answers, by engine and hardware. */

static double logged_or(double log, double told)
{
	return log > 0 ? log : told;
}

/* A log's name of a number type, where it is one that counts. */
static const char *weights_of(const char *text)
{
	if (!text)
		return NULL;
	if (str_starts(text, "bfloat16"))
		return "bf16";
	if (str_starts(text, "float16"))
		return "fp16";
	return format_find(text, true) ? text : NULL;
}

static void infer_calibrate_words_of(const struct log_run *l, const struct infer_options *told,
				     struct infer_options *w)
{
	*w = *told;
	if (!w->model && !w->file)
		w->model = l->model;
	if (!w->weights)
		w->weights = weights_of(l->weights);
	if (!w->cache && l->cache && format_cache_bytes(l->cache) > 0)
		w->cache = l->cache;
	if (!w->engine)
		w->engine = l->engine && engine_parse(l->engine) != ENGINES ? l->engine : NULL;
	if (!(w->weight_bytes > 0))
		w->weight_bytes = l->bytes;
	if (!(w->hint.total > 0))
		w->hint.total = l->params;
	w->tp = l->tp ? l->tp : told->tp;
	w->pp = l->pp ? l->pp : told->pp;
	w->batch = l->batch ? l->batch : told->batch;
	w->prompt = logged_or(l->prompt, told->prompt);
	w->output = logged_or(l->output, told->output);
	w->depth = logged_or(l->depth, told->depth);
	w->rounds = logged_or(l->rounds, told->rounds);
}

void calibrate_run_make(struct arena *a, const struct log_run *l, const struct infer_options *told,
			const struct fits *base, struct calibrate_run *r)
{
	struct infer_options w;
	struct err e = { 0 };

	infer_calibrate_words_of(l, told, &w);
	*r = (struct calibrate_run){ .log = l, .skipped = why_unusable(l, &w) };
	if (!r->skipped && question_make(a, &w, base, &r->q, &e) < 0)
		r->skipped = arena_strdup(a, e.text);
	if (r->skipped)
		return;
	r->q.ask.arch = &r->q.arch;
	/* llama-bench's tests of single steps have no prompt. */
	if (l->tool == LOG_LLAMA_BENCH)
		r->q.ask.output = l->output;
}

/* Fills runs, figures and groups; every run says why when it does not count. */
static void calibrate_runs(struct arena *a, const struct log_runs *logs,
			   const struct infer_options *told, const struct fits *base,
			   struct calibration *c)
{
	size_t every = (logs->n + CALIBRATE_RUNS_MAX - 1) / CALIBRATE_RUNS_MAX;

	c->runs = arena_array(a, logs->n, sizeof(*c->runs));
	c->n_runs = logs->n;
	for (size_t i = 0; i < logs->n; i++) {
		calibrate_run_make(a, &logs->items[i], told, base, &c->runs[i]);
		if (!c->runs[i].skipped && i % every)
			c->runs[i].skipped = "ignored: more runs than the fit can use";
		if (!c->runs[i].skipped)
			infer_calibrate_add_figures(a, c, i);
	}
}

void calibrate(struct arena *a, const struct log_runs *logs, const struct infer_options *told,
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
	/* Those of a run stand together. */
	for (size_t f = 0; f < out->n_figures; f++) {
		struct calibrate_run *r = &out->runs[out->figures[f].run];

		if (!r->n_figures++)
			r->figures = &out->figures[f];
	}
}

/*
 * The fit: constants are logarithms with a normal prior around where they begin, errors are ratios
 * with heavy tails (Student's t with four degrees, by weights that follow the errors), found by
 * damped Gauss-Newton steps with differences for derivatives. The curvature at the end says which
 * constants the results decide.
 */

/* How far predictions of a figure lie off, whatever the constants: what the equations leave out. */
static const double noise[LOG_FIGURES] = {
	[LOG_TTFT] = 0.15,    [LOG_TPOT] = 0.07,    [LOG_THROUGHPUT] = 0.10,
	[LOG_LATENCY] = 0.08, [LOG_PREFILL] = 0.10, [LOG_STEP] = 0.06,
};
static const double degrees = 4, difference = 0.02;
/* A constant is decided when its width is at most this part of what it was before. */
static const double decided = 0.6;

static double prior_of(int id)
{
	double low, high;

	return calibrate_prior((enum fit_id)id, &low, &high);
}

/* log(predicted / measured) of each figure; 0 where the model says nothing. */
static void infer_calibrate_residuals(const struct fit_problem *p, const struct fit *f, double *out)
{
	for (size_t i = 0; i < p->n; i++) {
		const struct calibrate_figure *g = &p->figures[i];
		struct ask q = p->runs[g->run].q.ask;
		double v;

		q.fit = f;
		v = p->left_out && p->left_out[i] ? 0 : calibrate_predict(&q, g->what);
		out[i] = v > 0 && isfinite(v) ? log(v / g->measured) : 0;
	}
}

/* jacobian[i * FITS + k]: how figure i moves with the logarithm of constant k. */
static void slopes(struct fit_problem *p, const double *r, double *jacobian, double *scratch)
{
	for (int k = 0; k < FITS; k++) {
		double u = p->u[k], by = difference;
		struct fit f;

		if (!p->active[k])
			continue;
		/* At an upper bound only the other way moves anything. */
		if (p->base.v[k] * exp(u + by) > p->high[k])
			by = -by;
		p->u[k] = u + by;
		f = fit_at(p);
		p->u[k] = u;
		infer_calibrate_residuals(p, &f, scratch);
		for (size_t i = 0; i < p->n; i++)
			jacobian[i * FITS + (size_t)k] = (scratch[i] - r[i]) / by;
	}
}

/* Curvature and slope of the logarithm of the probability, over the active constants. */
static int normal(const struct fit_problem *p, const double *r, const double *jacobian,
		  double h[FITS][FITS], double g[FITS], int *ids)
{
	int n = 0;

	for (int k = 0; k < FITS; k++)
		if (p->active[k])
			ids[n++] = k;
	for (int x = 0; x < n; x++) {
		double s = prior_of(ids[x]);

		for (int y = 0; y < n; y++)
			h[x][y] = 0;
		h[x][x] = 1 / (s * s);
		g[x] = p->u[ids[x]] / (s * s);
	}
	for (size_t i = 0; i < p->n; i++) {
		const double *j = &jacobian[i * FITS];
		double s = noise[p->figures[i].what], t = r[i] / s,
		       w = (degrees + 1) / (degrees + t * t) / (s * s);

		if (p->left_out && p->left_out[i])
			continue;
		for (int x = 0; x < n; x++) {
			g[x] += w * j[ids[x]] * r[i];
			for (int y = 0; y < n; y++)
				h[x][y] += w * j[ids[x]] * j[ids[y]];
		}
	}
	return n;
}

/* Cholesky in place; the prior makes it positive. */
static void infer_calibrate_factor(double h[FITS][FITS], int n)
{
	for (int x = 0; x < n; x++)
		for (int y = 0; y <= x; y++) {
			double sum = h[x][y];

			for (int k = 0; k < y; k++)
				sum -= h[x][k] * h[y][k];
			h[x][y] = x == y ? sqrt(fmax(sum, 1e-12)) : sum / h[y][y];
		}
}

static void solve(double h[FITS][FITS], int n, double *b)
{
	for (int x = 0; x < n; x++) {
		for (int k = 0; k < x; k++)
			b[x] -= h[x][k] * b[k];
		b[x] /= h[x][x];
	}
	for (int x = n - 1; x >= 0; x--) {
		for (int k = x + 1; k < n; k++)
			b[x] -= h[k][x] * b[k];
		b[x] /= h[x][x];
	}
}

/* Minus the logarithm of the probability, but for constants. */
static double cost(const struct fit_problem *p, const double *r)
{
	double sum = 0;

	for (size_t i = 0; i < p->n; i++)
		if (!p->left_out || !p->left_out[i]) {
			double t = r[i] / noise[p->figures[i].what];

			sum += (degrees + 1) / 2 * log1p(t * t / degrees);
		}
	for (int k = 0; k < FITS; k++)
		if (p->active[k])
			sum += p->u[k] * p->u[k] / (2 * prior_of(k) * prior_of(k));
	return sum;
}

static void clamp(struct fit_problem *p)
{
	for (int k = 0; k < FITS; k++)
		if (p->active[k])
			p->u[k] = fmin(log(p->high[k] / p->base.v[k]),
				       fmax(log(p->low[k] / p->base.v[k]), p->u[k]));
}

/* A step along g, halved until it makes things better. False: it does not. */
static bool infer_calibrate_step(struct fit_problem *p, const double *g, const int *ids, int n,
				 double *r)
{
	double before = cost(p, r), old[FITS], size = 1, most = 0;

	memcpy(old, p->u, sizeof(old));
	for (int x = 0; x < n; x++)
		most = fmax(most, fabs(g[x]));
	if (most > 0.5)
		size = 0.5 / most;
	for (int tries = 0; tries < 6; tries++, size /= 2) {
		struct fit f;

		for (int x = 0; x < n; x++)
			p->u[ids[x]] = old[ids[x]] - size * g[x];
		clamp(p);
		f = fit_at(p);
		infer_calibrate_residuals(p, &f, r);
		if (cost(p, r) < before)
			return size * most > 1e-4;
	}
	memcpy(p->u, old, sizeof(old));
	return false;
}

static void widths(struct fit_problem *p, double h[FITS][FITS], const int *ids, int n)
{
	for (int x = 0; x < n; x++) {
		double unit[FITS] = { 0 };

		unit[x] = 1;
		solve(h, n, unit);
		p->sigma[ids[x]] = sqrt(fmax(unit[x], 0));
	}
}

void fit_solve(struct fit_problem *p, int steps)
{
	double *r = arena_array(p->a, p->n + 1, sizeof(*r)),
	       *jacobian = arena_array(p->a, (p->n + 1) * FITS, sizeof(*r)),
	       *scratch = arena_array(p->a, p->n + 1, sizeof(*r));
	double h[FITS][FITS], g[FITS];
	bool moving = true;
	int ids[FITS], n;

	for (int i = 0;; i++) {
		struct fit f = fit_at(p);

		infer_calibrate_residuals(p, &f, r);
		slopes(p, r, jacobian, scratch);
		n = normal(p, r, jacobian, h, g, ids);
		infer_calibrate_factor(h, n);
		if (!moving || i >= steps)
			break;
		solve(h, n, g);
		moving = infer_calibrate_step(p, g, ids, n, r);
	}
	widths(p, h, ids, n);
}

void fit_sensitive(struct fit_problem *p)
{
	double *r = arena_array(p->a, p->n + 1, sizeof(*r)),
	       *jacobian = arena_array(p->a, (p->n + 1) * FITS, sizeof(*r)),
	       *scratch = arena_array(p->a, p->n + 1, sizeof(*r));
	struct fit f;

	for (int k = 0; k < FITS; k++) {
		p->active[k] = prior_of(k) > 0 && p->base.v[k] > 0;
		p->u[k] = 0;
		p->sigma[k] = prior_of(k);
	}
	f = fit_at(p);
	infer_calibrate_residuals(p, &f, r);
	slopes(p, r, jacobian, scratch);
	for (int k = 0; k < FITS; k++) {
		double most = 0;

		for (size_t i = 0; p->active[k] && i < p->n; i++)
			most = fmax(most, fabs(jacobian[i * FITS + (size_t)k]));
		p->active[k] = most > 0.003;
	}
}

void fit_reduce(struct fit_problem *p)
{
	for (;;) {
		double most = decided;
		int worst = -1;

		for (int k = 0; k < FITS; k++)
			if (p->active[k] && p->sigma[k] / prior_of(k) > most) {
				most = p->sigma[k] / prior_of(k);
				worst = k;
			}
		if (worst < 0)
			return;
		p->active[worst] = false;
		p->u[worst] = 0;
		p->sigma[worst] = prior_of(worst);
		fit_solve(p, 4);
	}
}
