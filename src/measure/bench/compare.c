/* SPDX-License-Identifier: Apache-2.0 */
/* What may be compared, and the verdict on it. */
#include "measure/bench/compare.h"

#include <math.h>
#include <string.h>

const char *compare_verdict_name(enum compare_verdict v)
{
	static const char *const names[] = { "better", "worse", "no-difference", "not-comparable" };

	return names[v];
}

static const struct record_case *find_case(const struct record *r, const struct record_case *like)
{
	for (size_t i = 0; i < r->n; i++)
		if (strcmp(r->cases[i].bench, like->bench) == 0 &&
		    strcmp(r->cases[i].name, like->name) == 0)
			return &r->cases[i];
	return NULL;
}

/* Why two cases of one name are not about the same thing; NULL when they are. */
static const char *unlike(struct arena *a, const struct record_case *x, const struct record_case *y)
{
	if (x->version != y->version)
		return arena_printf(a, "different methods (versions %u and %u)", x->version,
				    y->version);
	if (strcmp(x->setup, y->setup) != 0)
		return arena_printf(a, "different set-ups (%s; %s)", x->setup, y->setup);
	if (strcmp(x->placement, y->placement) != 0)
		return arena_printf(a, "different placements (%s; %s)", x->placement, y->placement);
	if (!x->verified || !y->verified)
		return arena_printf(a, "the result of %s was not verified",
				    x->verified ? "the second" : "the first");
	return NULL;
}

static void bench_compare_judge(struct arena *a, const struct record_case *x,
				const struct record_case *y, size_t k, struct compare_row *row)
{
	struct stat_arm ax = { x->series[k].x, x->n, x->first, x->rounds },
			ay = { y->series[k].x, y->n, y->first, y->rounds };
	const struct stat_interval *i = &row->ratio.interval;
	bool up;

	if (x->n < 5 || y->n < 5) {
		row->reason = arena_printf(a, "too few samples (%zu and %zu) for an interval", x->n,
					   y->n);
		return;
	}
	if (stat_ratio(&ax, &ay, COMPARE_LEVEL, STAT_SEED, &row->ratio)) {
		row->reason = "a sample is not positive";
		return;
	}
	up = i->low > 1;
	if ((up || i->high < 1) && fabs(row->ratio.ratio - 1) >= COMPARE_THRESHOLD) {
		row->verdict = up == (row->better == BENCH_HIGHER) ? COMPARE_BETTER : COMPARE_WORSE;
		row->reason = row->ratio.by_rounds ? "beyond what rounds differ by"
						   : "beyond what samples differ by";
		return;
	}
	row->verdict = COMPARE_SAME;
	if (i->low > 1 - COMPARE_THRESHOLD && i->high < 1 + COMPARE_THRESHOLD)
		row->reason = "a difference of 1 % would have been seen";
	else if (up || i->high < 1)
		row->reason = "there is one, but its middle is less than the 1 % that counts";
	else
		row->reason = arena_printf(
			a, "a difference below %.1f %% cannot be seen here",
			100 * fmax(row->ratio.ratio - i->low, i->high - row->ratio.ratio));
}

static void bench_compare_add_rows(struct arena *a, const struct record_case *x,
				   const struct record_case *y, struct compare *out)
{
	const char *why = y ? unlike(a, x, y) : "the second has no such case";

	for (size_t k = 0; k < x->n_series; k++) {
		const struct record_series *s = &x->series[k];
		const struct record_series *t = y && k < y->n_series ? &y->series[k] : NULL;
		struct compare_row *row;

		out->rows = arena_grow(a, out->rows, out->n, sizeof(*out->rows));
		row = &out->rows[out->n++];
		*row = (struct compare_row){ .bench = x->bench,
					     .name = x->name,
					     .figure = s->key,
					     .unit_text = s->unit_text,
					     .better = s->better,
					     .verdict = COMPARE_CANNOT,
					     .reason = out->cannot ? out->cannot : why };
		if (t && s->has_summary && t->has_summary) {
			row->a = s->s.median;
			row->b = t->s.median;
			row->has_medians = true;
		}
		if (!row->reason && (!t || strcmp(s->key, t->key) != 0 ||
				     strcmp(s->unit, t->unit) != 0 || s->better != t->better))
			row->reason = "different figures or units";
		if (!row->reason)
			bench_compare_judge(a, x, y, k, row);
		out->count[row->verdict]++;
	}
}

/* Chosen at run time, so no reason not to compare, but one to know of. */
static void note_variants(struct arena *a, struct compare *out)
{
	for (size_t i = 0; i < out->a->n; i++) {
		const struct record_case *x = &out->a->cases[i], *y = find_case(out->b, x);

		if (!y || strcmp(x->variant, y->variant) == 0)
			continue;
		out->differs = arena_grow(a, out->differs, out->n_differs, sizeof(*out->differs));
		out->differs[out->n_differs++] = arena_printf(a, "%s %s: %s, then %s", x->bench,
							      x->name, x->variant, y->variant);
	}
}

static void note_busy(struct arena *a, struct compare *out, const char *which,
		      const struct record *r)
{
	if (!record_busy(&r->conditions))
		return;
	out->differs = arena_grow(a, out->differs, out->n_differs, sizeof(*out->differs));
	out->differs[out->n_differs++] = arena_printf(
		a, "%s was taken while others used the machine (%.2f of %u CPUs)", which,
		fmax(r->conditions.others, r->conditions.idle_others), r->conditions.cpus);
}

static const char *value_of(const struct record_pair *pairs, size_t n, const char *name)
{
	for (size_t i = 0; i < n; i++)
		if (strcmp(pairs[i].name, name) == 0)
			return pairs[i].value;
	return NULL;
}

static void bench_compare_differ(struct arena *a, struct compare *out, const struct record_pair *x,
				 size_t nx, const struct record_pair *y, size_t ny)
{
	for (size_t i = 0; i < nx + ny; i++) {
		const struct record_pair *p = i < nx ? &x[i] : &y[i - nx];
		const char *va = value_of(x, nx, p->name), *vb = value_of(y, ny, p->name);

		/* What both have was said on the first side. */
		if ((i >= nx && va) || (va && vb && strcmp(va, vb) == 0))
			continue;
		out->differs = arena_grow(a, out->differs, out->n_differs, sizeof(*out->differs));
		out->differs[out->n_differs++] = arena_printf(
			a, "%s: %s, then %s", p->name, va ? va : "nothing", vb ? vb : "nothing");
	}
}

void compare_records(struct arena *a, const struct record *x, const struct record *y,
		     struct compare *out)
{
	*out = (struct compare){ .a = x, .b = y, .threshold = COMPARE_THRESHOLD };
	if (strcmp(x->machine, y->machine) != 0)
		out->cannot = "different machines";
	for (size_t i = 0; i < x->n; i++)
		bench_compare_add_rows(a, &x->cases[i], find_case(y, &x->cases[i]), out);
	for (size_t i = 0; i < y->n; i++)
		if (!find_case(x, &y->cases[i])) {
			size_t from = out->n;

			bench_compare_add_rows(a, &y->cases[i], NULL, out);
			for (size_t k = from; k < out->n && !out->cannot; k++)
				out->rows[k].reason = "the first has no such case";
		}
	note_variants(a, out);
	bench_compare_differ(a, out, x->fingerprint, x->n_fingerprint, y->fingerprint,
			     y->n_fingerprint);
	bench_compare_differ(a, out, x->settings, x->n_settings, y->settings, y->n_settings);
	note_busy(a, out, "the first", x);
	note_busy(a, out, "the second", y);
}
