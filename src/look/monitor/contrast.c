/* SPDX-License-Identifier: Apache-2.0 */
/* Series of two recordings, their figures, and which of them differ. */
#include "look/monitor/contrast.h"

#include <errno.h>
#include <math.h>
#include <string.h>

/* Samples of all columns that are kept, and of one: more tell nothing new. */
enum { KEPT = 4 << 20, KEPT_OF_ONE = 16384 };
/* Fewer than so many independent samples have no interval that is worth its name. */
#define EFFECTIVE_LEAST 6.0

struct filling {
	struct arena *a;
	struct contrast_side *side;
	struct recording_rates rates;
	double *out;
	struct recording again; /* as it was when it was read for the second time */
	size_t row, cap;
};

/* --- series ----------------------------------------------------------------------------------- */

static bool contrast_count_row(void *ctx, int64_t ms, const double *values)
{
	struct filling *f = ctx;

	(void)ms;
	(void)values;
	f->row++;
	return true;
}

static bool contrast_take_row(void *ctx, int64_t ms, const double *values)
{
	struct filling *f = ctx;
	struct contrast_side *s = f->side;

	if (!recording_alike(&s->rec, &f->again))
		return false;
	if (f->row++ % s->every)
		return true;
	recording_rates(f->a, &f->rates, &s->rec.mon, 1e-3 * (double)ms, values, f->out);
	for (size_t i = 0; i < s->rec.mon.n; i++)
		if (isfinite(f->out[i]) && s->n[i] < f->cap)
			s->series[i][s->n[i]++] = f->out[i];
	return true;
}

static int read_side(struct arena *a, const char *path, struct contrast_side *s, struct err *e)
{
	struct filling f = { .a = a, .side = s };
	int code = recording_read(a, path, &s->rec, contrast_count_row, &f, e);
	size_t n = s->rec.mon.n, rows = f.row;

	s->path = path;
	if (code)
		return code;
	s->every = 1;
	while (rows / s->every > KEPT_OF_ONE || rows / s->every > KEPT / n)
		s->every++;
	f.cap = rows / s->every + 1;
	f.row = 0;
	f.out = arena_array(a, n, sizeof(*f.out));
	s->n = arena_array(a, n, sizeof(*s->n));
	s->series = arena_array(a, n, sizeof(*s->series));
	for (size_t i = 0; i < n; i++)
		s->series[i] = arena_array(a, f.cap, sizeof(**s->series));
	code = recording_read(a, path, &f.again, contrast_take_row, &f, e);
	if (!code && !recording_alike(&s->rec, &f.again))
		return err_set(e, -ESTALE, "%s was replaced while being read", path);
	return code;
}

/* The autocorrelation is estimated too, and from short series as too small. With this the rule
 * calls no more like pairs different than it says, down to where it gives no answer (simulated:
 * series of 60 and 400 values, correlation of neighbours 0 to 0.98). */
static double worth(const double *x, size_t n)
{
	double e = stat_effective(x, n);

	return e / (1 + 2 / sqrt(e));
}

static struct contrast_figures contrast_figures_of(struct arena *a, const double *x, size_t n)
{
	struct contrast_figures f = { .n = n };
	double *sorted, square = 0;

	if (!n)
		return f;
	sorted = arena_array(a, n, sizeof(*sorted));
	memcpy(sorted, x, n * sizeof(*x));
	stat_sort(sorted, n);
	f.p5 = stat_quantile(sorted, n, 0.05);
	f.median = stat_quantile(sorted, n, 0.5);
	f.p95 = stat_quantile(sorted, n, 0.95);
	/* From the median on: what stands still has its own value as its mean, to the last bit. */
	f.mean = f.median;
	for (size_t i = 0; i < n; i++)
		f.mean += (x[i] - f.median) / (double)n;
	for (size_t i = 0; i < n; i++)
		square += (x[i] - f.mean) * (x[i] - f.mean);
	f.effective = worth(x, n);
	/* Samples that follow each other spread less around their own mean than around the true. */
	f.deviation = f.effective > 1 ? sqrt(square / (double)n * f.effective / (f.effective - 1))
				      : sqrt(square / (double)n);
	return f;
}

/* --- rows ------------------------------------------------------------------------------------- */

/* Welch's t over the independent samples that the dependent ones are worth. */
static void contrast_judge(struct arena *a, struct contrast_row *r, double level)
{
	const struct contrast_figures *x = &r->a, *y = &r->b;
	double vx, vy, df, t, se, least;

	if (x->effective < EFFECTIVE_LEAST || y->effective < EFFECTIVE_LEAST) {
		const struct contrast_figures *few = x->effective < y->effective ? x : y;

		r->reason = few->n < 2 ? "too few values"
				       : arena_printf(a,
						      "%zu consecutive values carry the "
						      "information of %.1f independent values",
						      few->n, few->effective);
		return;
	}
	r->difference = y->mean - x->mean;
	vx = x->deviation * x->deviation / x->effective;
	vy = y->deviation * y->deviation / y->effective;
	se = sqrt(vx + vy);
	df = se > 0 ? (vx + vy) * (vx + vy) /
			      (vx * vx / (x->effective - 1) + vy * vy / (y->effective - 1))
		    : 1;
	t = se > 0 ? stat_t_quantile(1 - (1 - level) / 2, fmax(df, 1)) : 0;
	r->interval = (struct stat_interval){ r->difference - t * se, r->difference + t * se };
	least = CONTRAST_THRESHOLD * fmax(fabs(x->mean), fabs(y->mean));
	r->verdict = CONTRAST_SAME;
	if (fabs(r->difference) >= least && (r->interval.low > 0 || r->interval.high < 0))
		r->verdict = r->difference > 0 ? CONTRAST_HIGHER : CONTRAST_LOWER;
}

/* Bits are no quantity. */
static bool is_quantity(const struct column_of *c)
{
	return strcmp(c->type->unit, "bits") != 0;
}

static void contrast_add_row(struct arena *a, struct contrast *v, const struct column_of *c, long i,
			     long k)
{
	struct contrast_row *r;
	struct contrast_figures none = { 0 };

	if (!is_quantity(c))
		return;
	v->rows = arena_grow(a, v->rows, v->n, sizeof(*v->rows));
	r = &v->rows[v->n];
	*r = (struct contrast_row){
		.type = c->type,
		.target = c->target,
		.a = i < 0 ? none : contrast_figures_of(a, v->a.series[i], v->a.n[i]),
		.b = k < 0 ? none : contrast_figures_of(a, v->b.series[k], v->b.n[k]),
		.difference = NAN,
		.interval = { NAN, NAN },
		.verdict = CONTRAST_CANNOT,
	};
	/* Neither was told: nothing to say. */
	if (!r->a.n && !r->b.n)
		return;
	if (!r->a.n || !r->b.n)
		r->reason = r->a.n ? "missing in the second recording"
				   : "missing in the first recording";
	v->n++;
}

static void contrast_add_rows(struct arena *a, struct contrast *v)
{
	const struct monitor *x = &v->a.rec.mon, *y = &v->b.rec.mon;
	size_t judged = 0;

	for (size_t i = 0; i < x->n; i++) {
		const struct column_of *c = &x->columns[i];
		long k = monitor_find(y, c->type->name, c->target);

		if (k >= 0 && (strcmp(y->columns[k].type->unit, c->type->unit) != 0 ||
			       y->columns[k].type->kind != c->type->kind))
			k = -1;
		if (monitor_find(x, c->type->name, c->target) == (long)i)
			contrast_add_row(a, v, c, (long)i, k);
	}
	for (size_t k = 0; k < y->n; k++) {
		const struct column_of *c = &y->columns[k];

		if (monitor_find(x, c->type->name, c->target) < 0 &&
		    monitor_find(y, c->type->name, c->target) == (long)k)
			contrast_add_row(a, v, c, -1, (long)k);
	}
	for (size_t i = 0; i < v->n; i++)
		judged += !v->rows[i].reason;
	/* Many rows have many chances to differ by chance (Bonferroni). */
	v->level = 1 - CONTRAST_ALPHA / (double)(judged ? judged : 1);
	for (size_t i = 0; i < v->n; i++) {
		if (!v->rows[i].reason)
			contrast_judge(a, &v->rows[i], v->level);
		v->count[v->rows[i].verdict]++;
	}
}

/* --- what else -------------------------------------------------------------------------------- */

static void contrast_differ(struct arena *a, struct contrast *v, const char *what, const char *x,
			    const char *y)
{
	x = x && *x ? x : "unknown";
	y = y && *y ? y : "unknown";
	if (strcmp(x, y) == 0)
		return;
	ARENA_ADD(a, v->differs, v->n_differs) = arena_printf(a, "%s: %s, then %s", what, x, y);
}

static const char *words_of(struct arena *a, char *const *command)
{
	const char *s = NULL;

	for (; command && *command; command++)
		s = s ? arena_printf(a, "%s %s", s, *command) : *command;
	return s ? s : "none";
}

static const char *gpus_of(struct arena *a, const struct monitor_machine *m)
{
	return m->n_gpus ? arena_printf(a, "%zu x %s", m->n_gpus,
					m->gpus[0].name ? m->gpus[0].name : "GPU")
			 : "none";
}

static void add_differs(struct arena *a, struct contrast *v)
{
	const struct recording *x = &v->a.rec, *y = &v->b.rec;
	const struct monitor_machine *m = &x->mon.machine, *n = &y->mon.machine;

	contrast_differ(a, v, "machine", m->name, n->name);
	contrast_differ(a, v, "platform", m->platform, n->platform);
	contrast_differ(a, v, "kernel", m->kernel, n->kernel);
	contrast_differ(a, v, "driver", m->driver, n->driver);
	contrast_differ(a, v, "GPUs", gpus_of(a, m), gpus_of(a, n));
	contrast_differ(a, v, "CPUs", arena_printf(a, "%u", m->cpus),
			arena_printf(a, "%u", n->cpus));
	contrast_differ(a, v, "command", words_of(a, x->command), words_of(a, y->command));
	contrast_differ(a, v, "sample interval", arena_printf(a, "%d ms", x->interval_ms),
			arena_printf(a, "%d ms", y->interval_ms));
}

int contrast_read(struct arena *a, const char *path_a, const char *path_b, struct contrast *out,
		  struct err *e)
{
	int code;

	*out = (struct contrast){ 0 };
	code = read_side(a, path_a, &out->a, e);
	code = code ? code : read_side(a, path_b, &out->b, e);
	if (code)
		return code;
	contrast_add_rows(a, out);
	add_differs(a, out);
	return 0;
}
