/* SPDX-License-Identifier: Apache-2.0 */
/* Charts as letters and as SVG: exact where they are drawn, and harmless whatever they are given.
 * With CHARTS_OUT=FILE in the environment the samples are written there as one page, to be looked
 * at. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "render/chart.h"
#include "render/chart_text.h"
#include "render/display_text.h"
#include "render/svg_shape.h"

static const struct chart_mark none = { NAN, NAN, NULL };

/* --- what every chart has to keep ------------------------------------------------------------- */

/* Tags open and close in order, nothing is NAN, nothing runs as a program. */
static void well_formed(const char *svg)
{
	char stack[32][16];
	size_t deep = 0;

	assert_non_null(svg);
	assert_null(strstr(svg, "nan"));
	assert_null(strstr(svg, "inf\""));
	assert_null(strstr(svg, "<script"));
	assert_null(strstr(svg, "style="));
	assert_non_null(strstr(svg, "role=\"img\""));
	for (const char *p = strchr(svg, '<'); p; p = strchr(p, '<')) {
		const char *end = strchr(p, '>');
		size_t n;

		assert_non_null(end);
		if (p[1] == '/') {
			assert_true(deep > 0);
			n = strlen(stack[--deep]);
			assert_memory_equal(p + 2, stack[deep], n);
			assert_int_equal(p[2 + n], '>');
		} else if (end[-1] != '/') {
			n = strcspn(p + 1, " >");
			assert_true(deep < 32 && n < 16);
			memcpy(stack[deep], p + 1, n);
			stack[deep++][n] = '\0';
		}
		p = end;
	}
	assert_int_equal(deep, 0);
}

static void fits(const char *text, int width, bool ascii)
{
	assert_non_null(text);
	while (*text) {
		char line[4096];
		size_t n = strcspn(text, "\n");

		assert_true(n < sizeof(line));
		memcpy(line, text, n);
		line[n] = '\0';
		if (display_width(line) > (size_t)width)
			fail_msg("%zu columns where %d are: %s", display_width(line), width, line);
		for (size_t i = 0; ascii && i < n; i++)
			assert_in_range((unsigned char)line[i], 32, 126);
		text += n + (text[n] == '\n');
	}
}

/* --- samples ---------------------------------------------------------------------------------- */

enum { MANY = 100000, MOMENTS = 3000 };

static const struct chart_bar bar_rows[] = {
	{ .label = "triad <b>&\"'",
	  .value = 4321,
	  .low = 4310,
	  .high = 4330,
	  .limit = { 4800, 4800, "data sheet: H200, 4.8 TB/s" },
	  .band = { 4200, 4400, "measured on 12 machines like this one, last week" },
	  .note = "90 % of limit" },
	{ .label = "copy, of a name that is far too long for any column of a small terminal",
	  .value = 1234.5,
	  .low = 1100,
	  .high = 1300,
	  .limit = { 4800, 4800, "data sheet: H200, 4.8 TB/s" },
	  .band = { NAN, NAN, NULL },
	  .style = STYLE_BAD },
	{ .label = "nothing",
	  .value = NAN,
	  .low = NAN,
	  .high = INFINITY,
	  .limit = { NAN, NAN, NULL },
	  .band = { NAN, NAN, NULL } },
	{ .label = "zero",
	  .value = 0,
	  .low = NAN,
	  .high = NAN,
	  .limit = { NAN, NAN, NULL },
	  .band = { NAN, NAN, NULL } },
};

static const struct chart_bars bars = { .title = "gpu-memory",
					.unit = "GB/s",
					.interval = "95 % interval of the median",
					.base = { NAN, NAN, NULL },
					.rows = bar_rows,
					.n = 4 };

static const struct chart_ratio ratio_rows[] = {
	{ "net.rmem-max eth0, tcp/one-stream", 1.031, 1.024, 1.039, "helps", STYLE_GOOD },
	{ "disk.read-ahead", 0.95, 0.93, 0.97, "hurts", STYLE_BAD },
	{ "memory.thp", 1.0005, 0.998, 1.003, "no difference", STYLE_PLAIN },
	{ "cpu.governor", 1.01, 0, INFINITY, "undecided", STYLE_UNKNOWN },
	{ "nothing", NAN, NAN, NAN, NULL, STYLE_PLAIN },
};

static const struct chart_ratios ratios = { .title = "After over before",
					    .left = "worse",
					    .right = "better",
					    .interval = "99 % interval",
					    .threshold = 0.01,
					    .rows = ratio_rows,
					    .n = 5 };

static const char *const gpus[] = { "GPU 0", "GPU 1", "GPU 2", "GPU 3" };
static const double matrix[] = { 2100, 396, 395,  397, 396, 2101, 396, 390,
				 395,  120, 2099, 396, 397, 396,  NAN, 2100 };
static const struct chart_heat heat = { .title = "copy, GB/s",
					.unit = "GB/s",
					.row_title = "from",
					.column_title = "to",
					.rows = gpus,
					.columns = gpus,
					.n_rows = 4,
					.n_columns = 4,
					.v = matrix,
					.diagonal = true };

static double two_states[200];
static const struct chart_named outliers[] = { { 78.5, "node<17>", STYLE_BAD },
					       { 111, "node42", STYLE_WARN } };

static struct chart_spread spread(void)
{
	for (size_t i = 0; i < 200; i++)
		two_states[i] = (i % 3 ? 100 : 90) + (double)(i * 37 % 17) / 8;
	two_states[7] = 78.5;
	two_states[9] = 111;
	return (struct chart_spread){ .title = "gemm bf16",
				      .unit = "TFLOP/s",
				      .what = "machines",
				      .x = two_states,
				      .n = 200,
				      .median = 100.5,
				      .low = 100.1,
				      .high = 100.9,
				      .split = 96,
				      .limit = { 112, 112, "data sheet" },
				      .band = { 98, 103, "measured on like machines" },
				      .named = outliers,
				      .n_named = 2 };
}

static double size_x[31], size_a[31], size_b[31];
static struct chart_series size_series[2];
static const struct chart_mark size_limit = { 478, 478, "limit: 478 GB/s, NVLink, read" };

static struct chart sweep(void)
{
	for (int i = 0; i < 31; i++) {
		size_x[i] = exp2(i + 3);
		size_a[i] = 470 * size_x[i] / (size_x[i] + 4e6) + 1e-4;
		size_b[i] = 350 * size_x[i] / (size_x[i] + 1e6) + 1e-4;
	}
	size_series[0] = (struct chart_series){
		.name = "all-reduce", .mark = 'o', .x = size_x, .y = size_a, .n = 31, .line = true
	};
	size_series[1] = (struct chart_series){ .name = "all-to-all & more",
						.mark = 'x',
						.x = size_x,
						.y = size_b,
						.n = 31,
						.line = true };
	return (struct chart){ .x_title = "size",
			       .y_title = "bus bandwidth, GB/s",
			       .log_x = true,
			       .log_y = true,
			       .bytes_x = true,
			       .series = size_series,
			       .n = 2,
			       .limits = &size_limit,
			       .n_limits = 1 };
}

static double moment[MOMENTS], clock_mhz[MOMENTS], power_w[MOMENTS];
static const struct chart_span throttled[] = { { 100, 130, "power cap" },
					       { 222, 223, "too warm" } };
static struct chart_lane lanes[2];

static struct chart_timeline timeline(void)
{
	for (int i = 0; i < MOMENTS; i++) {
		moment[i] = i / 10.0;
		clock_mhz[i] = i > 1000 && i < 1300 ? 1200 : 1980;
		power_w[i] = 500 + 150 * sin(i / 50.0);
	}
	clock_mhz[2000] = NAN;
	lanes[0] = (struct chart_lane){
		"core clock", "MHz", clock_mhz, { 1980, 1980, "highest clock" }, true
	};
	lanes[1] = (struct chart_lane){ "power", "W", power_w, { 700, 700, "power limit" }, true };
	return (struct chart_timeline){ .title = "gpu0 over time",
					.t = moment,
					.n = MOMENTS,
					.lanes = lanes,
					.n_lanes = 2,
					.spans = throttled,
					.n_spans = 2 };
}

/* --- tests ------------------------------------------------------------------------------------ */

static void test_scale(void **state)
{
	struct arena a = { 0 };
	struct scale s = scale_of(SCALE_LINEAR);

	(void)state;
	scale_widen(&s, NAN);
	scale_widen(&s, INFINITY);
	assert_false(scale_settle(&s, 5, false));
	scale_widen(&s, 0);
	scale_widen(&s, 4321);
	assert_true(scale_settle(&s, 5, false));
	assert_true(s.from == 0 && s.to == 5000 && s.n == 6 && s.tick[1] == 1000);
	assert_true(scale_on(&s, 2500) == 0.5);
	s = scale_of(SCALE_LINEAR);
	scale_widen(&s, 0.1);
	scale_widen(&s, 0.3);
	assert_true(scale_settle(&s, 4, false));
	assert_string_equal(scale_number(&a, &s, s.tick[s.n - 1]), "0.3");
	s = scale_of(SCALE_LINEAR); /* one value stands in the middle */
	scale_widen(&s, 42);
	assert_true(scale_settle(&s, 5, false));
	assert_true(s.from < 42 && s.to > 42 && s.n >= 2);
	s = scale_of(SCALE_LOG);
	scale_widen(&s, 0);
	scale_widen(&s, -3);
	assert_false(scale_settle(&s, 5, false));
	scale_widen(&s, 0.02);
	scale_widen(&s, 3000);
	assert_true(scale_settle(&s, 8, false));
	assert_true(s.from == -2 && s.to == 4);
	s = scale_of(SCALE_BYTES);
	scale_widen(&s, 8);
	scale_widen(&s, 8.0 * (1 << 30));
	assert_true(scale_settle(&s, 10, true));
	assert_true(s.n >= 4 && s.n <= 12);
	assert_string_equal(scale_number(&a, &s, s.tick[0]), "8 B");
	for (size_t i = 0; i < s.n; i++)
		assert_true(exp2(round(log2(s.tick[i]))) == s.tick[i]);
	assert_string_equal(scale_number(&a, &s, 65536), "64 KiB");
	arena_free(&a);
}

/* The bar begins where the axis says zero, and is as long as its value. */
static void test_zero(void **state)
{
	static const struct chart_bar one[] = { { .label = "x",
						  .value = 50,
						  .low = NAN,
						  .high = NAN,
						  .limit = { 100, 100, "limit" },
						  .band = { NAN, NAN, NULL } } };
	const struct chart_bars c = {
		.title = "t", .unit = "GB/s", .base = none, .rows = one, .n = 1
	};
	struct arena a = { 0 };
	const char *svg = svg_bars(&a, &c), *rect, *axis, *limit;
	double x, w, axis_x, axis_end, limit_x, y, h;

	(void)state;
	well_formed(svg);
	rect = strstr(svg, "<rect");
	axis = strstr(svg, "class=\"axis\"");
	limit = strstr(svg, "class=\"limit\"");
	assert_true(rect && axis && limit);
	assert_int_equal(sscanf(rect, "<rect x=\"%lf\" y=\"%lf\" width=\"%lf\" height=\"%lf\"", &x,
				&y, &w, &h),
			 4);
	while (strncmp(axis, "<line", 5) != 0)
		axis--;
	while (strncmp(limit, "<line", 5) != 0)
		limit--;
	assert_int_equal(sscanf(axis, "<line x1=\"%lf\" y1=\"%*f\" x2=\"%lf\"", &axis_x, &axis_end),
			 2);
	assert_int_equal(sscanf(limit, "<line x1=\"%lf\"", &limit_x), 1);
	assert_true(fabs(x - axis_x) < 0.2);
	assert_true(fabs(w - (axis_end - axis_x) / 2) < 0.2);
	assert_true(fabs(limit_x - axis_end) < 0.2);
	assert_non_null(strstr(svg, "x: 50.00 GB/s, limit 100.0"));
	arena_free(&a);
}

static void test_samples(void **state)
{
	static const int widths[] = { 0, 20, 36, 40, 80, 200 };
	const struct chart s = sweep();
	const struct chart_spread p = spread();
	const struct chart_timeline t = timeline();
	struct arena a = { 0 };

	(void)state;
	well_formed(svg_bars(&a, &bars));
	well_formed(svg_ratios(&a, &ratios));
	well_formed(svg_heat(&a, &heat));
	well_formed(svg_spread(&a, &p));
	well_formed(svg_chart(&a, "sweep", &s));
	well_formed(svg_timeline(&a, &t));
	assert_null(strstr(svg_bars(&a, &bars), "<b>"));
	assert_non_null(strstr(svg_bars(&a, &bars), "triad &lt;b&gt;&amp;&quot;"));
	assert_non_null(strstr(svg_spread(&a, &p), "node&lt;17&gt;: 78.50 TFLOP/s"));
	assert_non_null(strstr(svg_timeline(&a, &t), "power cap, 100.0 to 130.0 s"));
	assert_string_equal(svg_chart(&a, "sweep", &s), svg_chart(&a, "sweep", &s));
	for (size_t i = 0; i < 2 * sizeof(widths) / sizeof(widths[0]); i++) {
		const struct term_style how = { .width = widths[i / 2], .ascii = i % 2 };
		int w = chart_width(&how);

		fits(chart_text_bars(&a, &bars, &how), w, how.ascii);
		fits(chart_text_ratios(&a, &ratios, &how), w, how.ascii);
		fits(chart_text_spread(&a, &p, &how), w, how.ascii);
		fits(chart_text(&a, &s, &how), w, how.ascii);
		fits(chart_text_timeline(&a, &t, &how), w, how.ascii);
	}
	arena_free(&a);
}

static void test_letters(void **state)
{
	const struct term_style how = { .width = 76, .ascii = true };
	struct arena a = { 0 };
	const char *t = chart_text_bars(&a, &bars, &how);

	(void)state;
	assert_non_null(strstr(t, "4321 GB/s"));
	assert_non_null(strstr(t, "limit: data sheet: H200, 4.8 TB/s"));
	assert_non_null(strstr(t, "usual: measured on 12 machines"));
	assert_non_null(strchr(t, '#'));
	t = chart_text_ratios(&a, &ratios, &how);
	assert_non_null(strstr(t, "same"));
	assert_non_null(strstr(t, "helps"));
	assert_non_null(strstr(t, "+10 %"));
	arena_free(&a);
}

/* Nothing, one point, what is no number, and what is beyond all bounds. */
static void test_odd(void **state)
{
	static const double bad[] = { NAN, INFINITY, -INFINITY, 1e300, -1 }, one[] = { 1 },
			    zeros[] = { 0, 0, 0, 0, 0 }, wild[] = { 1e-99, 1e99, 1, 0, -1 };
	const struct term_style how = { .width = 80, .ascii = true };
	struct arena a = { 0 };
	struct chart_series s = {
		.name = "s", .mark = '*', .x = bad, .y = bad, .n = 5, .line = true
	};
	struct chart c = { .x_title = "x", .y_title = "y", .series = &s, .n = 1, .log_x = true };
	struct chart_spread p = { .x = bad,
				  .n = 3,
				  .median = NAN,
				  .low = NAN,
				  .high = NAN,
				  .split = NAN,
				  .limit = none,
				  .band = none };
	struct chart_timeline t = { .t = zeros, .n = 5 };
	struct chart_lane lane = { "lane", "", bad, { NAN, NAN, NULL }, false };

	(void)state;
	assert_null(svg_chart(&a, "t", &c));
	assert_null(chart_text(&a, &c, &how));
	s.n = 0;
	assert_null(svg_chart(&a, "t", &c));
	s = (struct chart_series){ .name = "s", .mark = '*', .x = one, .y = one, .n = 1 };
	well_formed(svg_chart(&a, "t", &c));
	fits(chart_text(&a, &c, &how), 80, true);
	s = (struct chart_series){
		.name = "s", .mark = '*', .x = wild, .y = wild, .n = 5, .line = true
	};
	c.log_y = true;
	well_formed(svg_chart(&a, "t", &c));
	fits(chart_text(&a, &c, &how), 80, true);
	assert_null(svg_spread(&a, &p));
	assert_null(chart_text_spread(&a, &p, &how));
	p.x = zeros;
	p.n = 5;
	well_formed(svg_spread(&a, &p));
	p.n = 1;
	p.x = one;
	well_formed(svg_spread(&a, &p));
	assert_null(svg_timeline(&a, &t));
	t.lanes = &lane;
	t.n_lanes = 1;
	well_formed(svg_timeline(&a, &t)); /* -1 can be drawn, all at one moment */
	fits(chart_text_timeline(&a, &t, &how), 80, true);
	assert_null(
		svg_bars(&a, &(struct chart_bars){ .rows = &bar_rows[2], .n = 1, .base = none }));
	assert_null(svg_bars(&a, &(struct chart_bars){ .base = none }));
	assert_null(svg_ratios(&a, &(struct chart_ratios){ .rows = &ratio_rows[4], .n = 1 }));
	assert_null(svg_heat(
		&a,
		&(struct chart_heat){
			.rows = gpus, .columns = gpus, .v = bad, .n_rows = 1, .n_columns = 2 }));
	arena_free(&a);
}

/* Of 100,000 points few are drawn, and the one that stands out is among them. */
static void test_many(void **state)
{
	double *x = calloc(MANY, sizeof(*x)), *y = calloc(MANY, sizeof(*y));
	struct chart_series s = {
		.name = "s", .mark = '*', .x = x, .y = y, .n = MANY, .line = true
	};
	const struct chart c = { .x_title = "x", .y_title = "y", .series = &s, .n = 1 };
	struct arena a = { 0 };
	const char *svg, *path;
	double top = 1e9, px, py;
	size_t points = 0;

	(void)state;
	assert_true(x && y);
	for (size_t i = 0; i < MANY; i++) {
		x[i] = (double)i;
		y[i] = 1;
	}
	y[61803] = 10;
	svg = svg_chart(&a, "t", &c);
	well_formed(svg);
	assert_true(strlen(svg) < 60000);
	path = strstr(svg, "<path d=\"M");
	assert_non_null(path);
	for (const char *p = path + 9; *p && *p != '"'; p += strcspn(p + 1, "ML\"") + 1) {
		assert_int_equal(sscanf(p + 1, "%lf %lf", &px, &py), 2);
		top = fmin(top, py);
		points++;
	}
	assert_true(points <= SVG_POINTS_MAX);
	assert_true(top < 40); /* 10 is the upper end of the axis */
	free(x);
	free(y);
	arena_free(&a);
}

static void test_page(void **state)
{
	const char *path = getenv("CHARTS_OUT");
	const struct chart s = sweep();
	const struct chart_spread p = spread();
	const struct chart_timeline t = timeline();
	struct arena a = { 0 };
	struct doc *d = doc_new(&a);
	char *text = NULL;
	size_t len = 0;
	FILE *f;

	(void)state;
	chart_add_bars(d, &bars);
	chart_add_ratios(d, &ratios);
	chart_add_spread(d, &p);
	chart_add(d, "Collectives over size", &s);
	doc_figure(d, heat.title, svg_heat(&a, &heat), NULL);
	chart_add_timeline(d, &t);
	assert_int_equal(d->n, 6);
	f = open_memstream(&text, &len);
	assert_non_null(f);
	doc_md(f, d);
	fclose(f);
	assert_non_null(strstr(text, "```text\n"));
	assert_non_null(strstr(text, "4321 GB/s"));
	free(text);
	if (path) {
		f = fopen(path, "w");
		assert_non_null(f);
		doc_html(f, d, "Charts");
		fclose(f);
	}
	arena_free(&a);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_scale),	cmocka_unit_test(test_zero),
		cmocka_unit_test(test_samples), cmocka_unit_test(test_letters),
		cmocka_unit_test(test_odd),	cmocka_unit_test(test_many),
		cmocka_unit_test(test_page),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
