/* SPDX-License-Identifier: Apache-2.0 */
/* A front drawn: tokens a second over latency, both logarithmic; letters on a grid, and SVG. */
#include <math.h>
#include <string.h>

#include "view/page_advise.h"
#include "view/page_bench.h"
#include "view/svg_shape.h"

enum { WIDE = 64, HIGH = 16 };

/* From the smallest to the largest, as logarithms. */
struct axis {
	double from, to;
};

static double place_on(const struct axis *x, double v)
{
	return x->to > x->from ? (log(v) - x->from) / (x->to - x->from) : 0.5;
}

static void find_axes(const struct sweep_point *const *p, size_t n, struct axis *x, struct axis *y)
{
	*x = *y = (struct axis){ INFINITY, -INFINITY };
	for (size_t i = 0; i < n; i++) {
		double l = log(p[i]->latency), t = log(p[i]->o.throughput);

		x->from = fmin(x->from, l), x->to = fmax(x->to, l);
		y->from = fmin(y->from, t), y->to = fmax(y->to, t);
	}
}

const char *front_plot(struct arena *a, const struct sweep_point *const *p, size_t n)
{
	char grid[HIGH][WIDE + 1];
	struct axis x, y;
	const char *text = "";

	find_axes(p, n, &x, &y);
	memset(grid, ' ', sizeof(grid));
	for (size_t i = n; i-- > 0;) { /* the first letter stays where two meet */
		int c = (int)lround(place_on(&x, p[i]->latency) * (WIDE - 1)),
		    r = HIGH - 1 - (int)lround(place_on(&y, p[i]->o.throughput) * (HIGH - 1));

		grid[r][c] = front_letter(i);
	}
	for (int r = 0; r < HIGH; r++) {
		double v = exp(y.to - (y.to - y.from) * r / (HIGH - 1));

		grid[r][WIDE] = '\0';
		text = r % 5 == 0
			       ? arena_printf(a, "%s%10s |%s\n", text, bench_number(a, v), grid[r])
			       : arena_printf(a, "%s%10s |%s\n", text, "", grid[r]);
	}
	text = arena_printf(a, "%s%10s +", text, "tokens/s");
	for (int c = 0; c < WIDE; c++)
		text = arena_printf(a, "%s-", text);
	return arena_printf(a, "%s\n%12s%-20s%*s ms", text, "", bench_number(a, exp(x.from)),
			    WIDE - 23, bench_number(a, exp(x.to)));
}

enum { LEFT = 80, TOP = 30, PLOT_W = 640, PLOT_H = 320, DOT = 8 };

static void svg_axes(struct arena *a, struct text *t, const struct axis *x, const struct axis *y)
{
	svg_line(t, LEFT, TOP + PLOT_H, LEFT + PLOT_W, TOP + PLOT_H, "link");
	svg_line(t, LEFT, TOP, LEFT, TOP + PLOT_H, "link");
	for (int i = 0; i <= 4; i++) {
		int px = LEFT + PLOT_W * i / 4, py = TOP + PLOT_H - PLOT_H * i / 4;

		svg_text(t, px, TOP + PLOT_H + 20, "middle", "soft", 12, 120,
			 bench_number(a, exp(x->from + (x->to - x->from) * i / 4)));
		svg_text(t, LEFT - 8, py + 4, "end", "soft", 12, 70,
			 bench_number(a, exp(y->from + (y->to - y->from) * i / 4)));
		svg_line(t, px, TOP + PLOT_H, px, TOP + PLOT_H + 5, "link");
		svg_line(t, LEFT - 5, py, LEFT, py, "link");
	}
	svg_text(t, LEFT + PLOT_W, TOP + PLOT_H + 40, "end", "soft", 12, 200, "latency, ms");
	svg_text(t, LEFT, TOP - 12, "start", "soft", 12, 300, "tokens a second of all requests");
}

const char *front_svg(struct arena *a, const struct front *f, const struct sweep_point *const *p,
		      size_t n)
{
	TEXT_AUTO t = { 0 };
	struct axis x, y;

	find_axes(p, n, &x, &y);
	svg_begin(&t, LEFT + PLOT_W + 40, TOP + PLOT_H + 60, "What no other mixture beats",
		  arena_printf(a, "%zu of %zu points of the front, requests of %.0f + %.0f tokens",
			       n, f->n, f->depth + f->prompt, f->output));
	svg_axes(a, &t, &x, &y);
	for (size_t i = 0; i < n; i++) {
		int px = LEFT + (int)lround(place_on(&x, p[i]->latency) * PLOT_W),
		    py = TOP + PLOT_H - (int)lround(place_on(&y, p[i]->o.throughput) * PLOT_H);
		const char letter[] = { front_letter(i), '\0' };

		svg_box(&t, (struct box){ px - DOT / 2, py - DOT / 2, DOT, DOT }, "gpu",
			arena_printf(a, "%s, %d requests: %s ms, %s tokens/s, %.1f GB",
				     p[i]->way->q.ask.weights->name, p[i]->batch,
				     bench_number(a, p[i]->latency),
				     bench_number(a, p[i]->o.throughput), p[i]->o.bytes_all / 1e9));
		svg_text(&t, px, py - DOT, "middle", "strong", 12, 20, letter);
	}
	svg_end(&t);
	return arena_strdup(a, t.s);
}
