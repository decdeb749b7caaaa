/* SPDX-License-Identifier: Apache-2.0 */
/* The roofs, what stands under them by time, the plot, and what to try next. */
#include <math.h>
#include <string.h>

#include "models/inference/page_roofline.h"
#include "render/chart.h"
#include "render/figure.h"

enum { ROWS = 20, NEXT = 5, LETTERS = 26 };

static const char *limit_origin(const struct roof_limit *l)
{
	return l->measured ? "measured" : "data sheet";
}

static void limit_row(struct doc *d, struct node *t, const char *name, const struct roof_limit *l,
		      const char *unit)
{
	struct cell *c;

	if (!(l->value > 0))
		return;
	c = node_row(d, t);
	c[0] = cell(name);
	c[1] = cell_printf(d, STYLE_STRONG, "%s %s", figure_number(d->arena, l->value), unit);
	c[2] = cell(limit_origin(l));
	c[3] = cell_as(STYLE_MUTED, l->source);
}

static void roofline_page_limits(struct doc *d, const struct roof *r)
{
	static const char *const ways[COPIES] = { "host to GPU", "GPU to host", "within the GPU",
						  "GPU to GPU", "setting memory" };
	struct node *t = DOC_TABLE(d, "Limits", "roof", ">", "is", "~from");

	limit_row(d, t, "memory", &r->memory, "GB/s");
	for (int m = 0; m < ROOF_MATHS; m++)
		limit_row(d, t, roof_math_names[m], &r->math[m], "TFLOP/s");
	for (int w = 0; w < COPIES; w++)
		limit_row(d, t, ways[w], &r->copy[w], "GB/s");
	limit_row(d, t, "kernel launch interval", &r->launch, "us");
}

/* A name that fits a line: templates and arguments are long. */
static const char *short_name(struct arena *a, const char *s)
{
	return strlen(s) > 64 ? arena_printf(a, "%.61s...", s) : s;
}

static enum style style_of(const struct roof_point *p)
{
	return p->over			   ? STYLE_BAD
	       : p->bound == BOUND_UNKNOWN ? STYLE_UNKNOWN
	       : p->bound == BOUND_LATENCY ? STYLE_WARN
					   : STYLE_PLAIN;
}

static void points(struct doc *d, const struct roofline_page *p, size_t most)
{
	struct node *t = DOC_TABLE(d,
				   p->profile->separate ? "Kernels, farthest below their roof first"
							: "Longest first",
				   "!", "!~work", ">share of time", ">times", ">each", ">op/byte",
				   ">reaches", "bound by", "~because");
	struct arena *a = d->arena;

	for (size_t i = 0; i < p->profile->n && i < most; i++) {
		const struct roof_point *k = &p->profile->points[i];
		struct cell *c = node_row(d, t);

		c[0] = i < LETTERS ? cell_printf(d, STYLE_MUTED, "%c", (int)('a' + (int)i))
				   : cell("");
		c[1] = cell(short_name(a, k->name));
		if (!p->profile->separate)
			c[2] = cellf(d, "%.1f %%", 100 * k->share_of_time);
		if (k->launches > 0) {
			c[3] = cellf(d, "%.0f", k->launches);
			c[4] = cellf(d, "%s us", figure_number(a, 1e3 * k->time_ms / k->launches));
		}
		if (k->intensity > 0)
			c[5] = cell(figure_number(a, k->intensity));
		if (k->reached > 0)
			c[6] = cell_printf(d, STYLE_STRONG, "%.0f %%", 100 * k->reached);
		c[7] = cell_as(style_of(k), roof_bound_names[k->bound]);
		c[8] = cell(k->why);
	}
	node_drop_empty(t);
	if (p->profile->n > most)
		doc_text(d, "and %zu more with --verbose.", p->profile->n - most);
}

/* The roof of one format: along memory up to the ridge, then flat. */
static struct chart_series roof_line(struct arena *a, const struct roof *r, enum roof_math m,
				     double least, double most)
{
	double *x = arena_array(a, 3, sizeof(*x)), *y = arena_array(a, 3, sizeof(*y)),
	       ridge = r->math[m].value * 1e3 / r->memory.value;

	least = fmin(least, ridge / 4);
	most = fmax(most, ridge * 4);
	x[0] = least;
	x[1] = ridge;
	x[2] = most;
	for (int i = 0; i < 3; i++)
		y[i] = fmin(x[i] * r->memory.value / 1e3, r->math[m].value);
	return (struct chart_series){
		.name = arena_printf(
			a, "%s roof: %s TFLOP/s from %s op/byte on (%s), memory %s GB/s (%s)",
			roof_math_names[m], figure_number(a, r->math[m].value),
			figure_number(a, ridge), limit_origin(&r->math[m]),
			figure_number(a, r->memory.value), limit_origin(&r->memory)),
		.mark = m == ROOF_FP32 || m == ROOF_FP64 ? '.' : '-',
		.x = x,
		.y = y,
		.n = 3,
		.line = true,
		.soft = true
	};
}

static void roofline_page_plot(struct doc *d, const struct roofline_page *p)
{
	struct chart_series *s = arena_array(d->arena, ROOF_MATHS + LETTERS, sizeof(*s));
	struct chart c = { .x_title = "operations per byte",
			   .y_title = "TFLOP/s",
			   .log_x = true,
			   .log_y = true,
			   .series = s };
	double least = INFINITY, most = 0;
	bool needed[ROOF_MATHS + 1] = { false };
	size_t drawn = 0;

	for (size_t i = 0; i < p->profile->n && i < LETTERS; i++) {
		const struct roof_point *k = &p->profile->points[i];

		if (!(k->intensity > 0))
			continue;
		drawn++;
		least = fmin(least, k->intensity);
		most = fmax(most, k->intensity);
		needed[k->math] = true;
	}
	if (!drawn || !(p->roof->memory.value > 0)) {
		doc_text(d, "Nothing to plot: no point has both operations and bytes.");
		return;
	}
	for (int m = 0; m < ROOF_MATHS; m++)
		if (needed[m] && p->roof->math[m].value > 0)
			s[c.n++] = roof_line(d->arena, p->roof, (enum roof_math)m, least, most);
	for (size_t i = 0; i < p->profile->n && i < LETTERS; i++) {
		const struct roof_point *k = &p->profile->points[i];

		if (k->intensity > 0)
			s[c.n++] = (struct chart_series){ .mark = (char)('a' + (int)i),
							  .x = &k->intensity,
							  .y = &k->tflops,
							  .n = 1 };
	}
	chart_add(d, "Roofline", &c);
}

static void roofline_page_loop(struct doc *d, const struct roof_profile *p)
{
	struct node *n;

	doc_heading(d, 2, "Next change to try, then measure again");
	n = doc_bullets(d);
	if (p->host_bound)
		node_bullet(d, n, cell_as(STYLE_WARN, p->host_bound));
	for (size_t i = 0; i < p->n && i < NEXT; i++)
		node_bullet(d, n,
			    cellf(d, "%s%s: %s", short_name(d->arena, p->points[i].name),
				  p->separate ? ""
					      : arena_printf(d->arena, " (%.0f %% of the time)",
							     100 * p->points[i].share_of_time),
				  p->points[i].next));
}

struct doc *page_roofline(struct arena *a, const struct roofline_page *p, bool verbose)
{
	struct doc *d = doc_new(a);
	const struct roof_profile *f = p->profile;

	doc_heading(d, 1, arena_printf(a, "Roofline on %s", p->roof->machine));
	doc_text(d, "%s (%s): %zu kind%s of kernel%s.", p->source, f->source, f->n, PLURAL(f->n),
		 f->separate ? ""
			     : arena_printf(a, ", %s ms of GPU time", figure_number(a, f->all_ms)));
	if (f->gpu && !strstr(p->roof->machine, f->gpu))
		doc_text(d, "The profile is from \"%s\": give that machine with --on.", f->gpu);
	points(d, p, verbose ? f->n : ROWS);
	roofline_page_plot(d, p);
	roofline_page_limits(d, p->roof);
	if (f->dropped)
		doc_text(d, "%zu invalid rows were ignored.", f->dropped);
	roofline_page_loop(d, f);
	return d;
}
