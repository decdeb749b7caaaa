/* SPDX-License-Identifier: Apache-2.0 */
/* Figures of engines' metrics and logs, and what follows. */
#include "models/serving/serving.h"

#include <math.h>
#include <regex.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"

/* --- metrics ---------------------------------------------------------------------------------- */

/* Of a metric's samples: added up, the largest, how many. */
struct gathered {
	double sum, most;
	size_t n;
};

static const char *next_line(const char *s)
{
	const char *end = strchr(s, '\n');

	return end ? end + 1 : NULL;
}

/* Samples "NAME{labels} value" of a metric whose name is the n bytes and then end. */
static struct gathered gather(const char *text, const char *name, size_t n, const char *end)
{
	struct gathered g = { 0 };
	size_t tail = strlen(end);

	for (const char *s = text; s && *s; s = next_line(s)) {
		const char *at = s + n + tail;
		double v;

		if (strncmp(s, name, n) != 0 || strncmp(s + n, end, tail) != 0 ||
		    (*at != '{' && *at != ' '))
			continue;
		/* Values of labels may hold blanks and braces, in quotes. */
		for (bool quoted = false; *at && *at != '\n' && (quoted || *at != ' '); at++)
			quoted ^= *at == '"' && at[-1] != '\\';
		v = strtod(at, NULL);
		if (!isfinite(v) || fabs(v) > 1e18)
			continue;
		g.sum += v;
		g.most = g.n++ ? fmax(g.most, v) : v;
	}
	return g;
}

/* How much a counter grew; what went back began anew. */
static double grown(double first, double second)
{
	return second >= first ? second - first : second;
}

static double counted(const char *text, const char *later, const char *name, size_t n,
		      const char *end, bool *known)
{
	struct gathered now = gather(later ? later : text, name, n, end);

	*known = now.n > 0;
	return later ? grown(gather(text, name, n, end).sum, now.sum) : now.sum;
}

/* NAN: the text does not have it. */
static double take(const char *text, const char *later, const struct serving_figure *f,
		   const char *name, size_t n)
{
	struct gathered g;
	double sum, count;
	bool known, counts;

	switch (f->take) {
	case SERVING_GAUGE:
	case SERVING_LARGEST:
		g = gather(later ? later : text, name, n, "");
		return !g.n ? (double)NAN : f->take == SERVING_GAUGE ? g.sum : g.most;
	case SERVING_COUNT:
		sum = counted(text, later, name, n, "", &known);
		return known ? sum : (double)NAN;
	default:
		sum = counted(text, later, name, n, "_sum", &known);
		count = counted(text, later, name, n, "_count", &counts);
		return known && counts && count > 0 ? sum / count : (double)NAN;
	}
}

static double value_of(const struct serving_view *v, const char *name, size_t n)
{
	for (size_t i = 0; i < v->n; i++)
		if (strlen(v->values[i].name) == n && strncmp(v->values[i].name, name, n) == 0)
			return v->values[i].value;
	return NAN;
}

static void add_value(struct arena *a, struct serving_view *v, struct serving_value value)
{
	ARENA_ADD(a, v->values, v->n) = value;
}

/* Percentages that ratios need are in the unit of their parts: 100 cancels out. */
static double ratio(const struct serving_view *v, const char *of)
{
	size_t n = strcspn(of, "/");
	double above = value_of(v, of, n), below = value_of(v, of + n + 1, strlen(of + n + 1));

	return below > 0 ? above / below : (double)NAN;
}

static double figure_value(const struct serving_view *v, const char *text, const char *later,
			   const struct serving_figure *f)
{
	double value = NAN;

	if (f->take == SERVING_RATIO)
		return ratio(v, f->metrics);
	for (const char *m = f->metrics; *m && isnan(value); m += *m == '|') {
		size_t n = strcspn(m, "|");

		value = take(text, later, f, m, n);
		m += n;
	}
	return value;
}

bool serving_is_metrics(const char *text)
{
	for (size_t i = 0; i < n_serving_figures; i++)
		for (const char *m = serving_figures[i].metrics; *m; m += *m == '|') {
			size_t n = strcspn(m, "|");

			if (memchr(m, ':', n) || strncmp(m, "trtllm_", 7) == 0)
				for (const char *s = text; s && *s; s = next_line(s))
					if (strncmp(s, m, n) == 0)
						return true;
			m += n;
		}
	return false;
}

size_t serving_metrics(struct arena *a, const char *text, const char *later, struct serving_view *v)
{
	size_t before = v->n;

	for (size_t i = 0; i < n_serving_figures; i++) {
		const struct serving_figure *f = &serving_figures[i];
		double value = figure_value(v, text, later, f) * (f->times > 0 ? f->times : 1);

		if (isfinite(value))
			add_value(a, v,
				  (struct serving_value){ f, f->name, f->title, f->unit, value });
	}
	if (v->n > before)
		v->engine = strstr(text, "vllm:")     ? "vllm"
			    : strstr(text, "sglang:") ? "sglang"
						      : "tensorrt-llm";
	return v->n - before;
}

/* --- logs ------------------------------------------------------------------------------------- */

void serving_log_read(struct arena *a, char *text, struct serving_view *v)
{
	regex_t *lines = arena_array(a, n_serving_logs, sizeof(*lines));
	bool *seen = arena_array(a, n_serving_logs, sizeof(*seen));

	for (size_t i = 0; i < n_serving_logs; i++) {
		seen[i] = false;
		if (regcomp(&lines[i], serving_logs[i].line, REG_EXTENDED | REG_NOSUB) != 0)
			abort(); /* a built-in pattern; the tests compile all of them */
	}
	for (char *line = text, *next; line && *line; line = next) {
		next = strchr(line, '\n');
		if (next)
			*next++ = '\0';
		v->log_lines++;
		line[strnlen(line, SERVING_LINE_MAX)] = '\0';
		for (size_t i = 0; i < n_serving_logs; i++)
			seen[i] = seen[i] || regexec(&lines[i], line, 0, NULL, 0) == 0;
	}
	for (size_t i = 0; i < n_serving_logs; i++) {
		const struct serving_log *l = &serving_logs[i];

		if (seen[i] && isnan(value_of(v, l->name, strlen(l->name))))
			add_value(a, v, (struct serving_value){ NULL, l->name, l->title, NULL, 1 });
		regfree(&lines[i]);
	}
}

/* --- causes ----------------------------------------------------------------------------------- */

static bool holds(const struct serving_view *v, const char *when)
{
	for (; *when; when += strspn(when, " ")) {
		size_t word = strcspn(when, " "), n = strcspn(when, "<>");
		bool least = when[n] == '>';
		double value = value_of(v, when, n);
		double limit = strtod(when + n + (least ? 2 : 1), NULL);

		if (isnan(value) || (least ? value < limit : value >= limit))
			return false;
		when += word;
	}
	return true;
}

static const char *with_unit(struct arena *a, const struct serving_value *x)
{
	return x->unit ? arena_printf(a, "%.4g %s", x->value, x->unit)
		       : arena_printf(a, "%.4g", x->value);
}

static const char *shown_value(struct arena *a, const struct serving_view *v, const char *name,
			       size_t n)
{
	for (size_t i = 0; i < v->n; i++)
		if (strlen(v->values[i].name) == n && strncmp(v->values[i].name, name, n) == 0)
			return with_unit(a, &v->values[i]);
	return "unknown";
}

static const char *filled(struct arena *a, const struct serving_view *v, const char *template)
{
	TEXT_AUTO t = { 0 };

	for (const char *s = template; *s; s++) {
		size_t n = strcspn(s, "}");

		if (*s != '{' || !s[n]) {
			text_addc(&t, *s);
			continue;
		}
		text_add(&t, shown_value(a, v, s + 1, n - 1));
		s += n;
	}
	return arena_strdup(a, t.s ? t.s : "");
}

static int by_share(const void *x, const void *y)
{
	const struct serving_found *a = x, *b = y;

	return (a->share < b->share) - (a->share > b->share);
}

void serving_judge(struct arena *a, struct serving_view *v)
{
	for (size_t i = 0; i < n_serving_causes; i++) {
		const struct serving_cause *c = &serving_causes[i];
		double share = c->share ? value_of(v, c->share, strlen(c->share)) : (double)NAN;

		/* Healthy is what nothing else holds of. */
		if (!holds(v, c->when) || (c->healthy && v->n_causes))
			continue;
		ARENA_ADD(a, v->causes, v->n_causes) =
			(struct serving_found){ c, filled(a, v, c->says),
						isnan(share) ? 0 : share };
		v->healthy = c->healthy;
	}
	if (v->n_causes)
		qsort(v->causes, v->n_causes, sizeof(*v->causes), by_share);
}

/* --- for people and programs ------------------------------------------------------------------ */

/* clang-format off */
static const struct shape serving_value_shape = SHAPE_OF(serving_value, serving_value,
	{ "name", NULL, SHAPE_TEXT(serving_value, name) },
	{ "title", NULL, SHAPE_TEXT(serving_value, title) },
	{ "value", NULL, SHAPE_REAL(serving_value, value) },
	{ "unit", NULL, SHAPE_TEXT(serving_value, unit), .unknown = SHAPE_NULL });

#define OF_CAUSE(m) SHAPE_TEXT(serving_cause, m), SHAPE_VIA(serving_found, cause, serving_cause)

static const struct shape serving_found_shape = SHAPE_OF(serving_found, serving_found,
	{ "id", NULL, OF_CAUSE(name) },
	{ "title", NULL, OF_CAUSE(title) },
	{ "says", NULL, SHAPE_TEXT(serving_found, says) },
	{ "share_percent", "Of TTFT.", SHAPE_REAL(serving_found, share), .unknown = SHAPE_ZERO },
	{ "fix", NULL, OF_CAUSE(fix) },
	{ "source", NULL, OF_CAUSE(source) },
	{ "date", NULL, OF_CAUSE(date) });

static const struct shape serving_view_shape = SHAPE_OF(serving_view, serving_view,
	{ "engine", NULL, SHAPE_TEXT(serving_view, engine), .unknown = SHAPE_NULL },
	{ "healthy", NULL, SHAPE_FLAG(serving_view, healthy) },
	{ "seconds", "Time between two samples; null: since the engine started.",
	  SHAPE_REAL(serving_view, seconds), .unknown = SHAPE_ZERO },
	{ "causes", NULL, SHAPE_LIST(serving_view, causes, n_causes, serving_found) },
	{ "figures", NULL, SHAPE_LIST(serving_view, values, n, serving_value) });

const struct result_shape serving_result = {
	.name = "serving", .title = "gputune diagnose serving",
	.meaning = "Bottleneck of a serving engine, from its metrics and log.",
	.shape = &serving_view_shape, .list = "causes", .exit_codes = 1u << 0 | 1u << 1 | 1u << 5,
};
/* clang-format on */

struct doc *page_serving(struct arena *a, const struct serving_view *v)
{
	struct doc *d = doc_new(a);
	const struct serving_found *first = v->n_causes ? &v->causes[0] : NULL;
	struct node *found, *pairs;

	doc_verdict(d,
		    v->healthy ? STYLE_GOOD
		    : first    ? STYLE_BAD
			       : STYLE_UNKNOWN,
		    first ? first->cause->title : "cannot tell", first ? first->says : NULL);
	found = doc_findings(d, NULL);
	for (size_t i = 0; v->causes && i < v->n_causes; i++) {
		const struct serving_found *c = &v->causes[i];

		node_found(d, found,
			   &(struct found){ .badge = v->healthy ? cell_as(STYLE_GOOD, "healthy")
								: cell_as(STYLE_WARN, "cause"),
					    .id = c->cause->title,
					    .now = c->says,
					    .fix = cell(c->cause->fix) });
		node_more(d, found, "source",
			  cell(arena_printf(a, "%s, %s", c->cause->source, c->cause->date)));
	}
	pairs = doc_pairs(d, v->seconds > 0 ? arena_printf(a, "Figures over %.3g s", v->seconds)
					    : "Figures since the engine started");
	for (size_t i = 0; i < v->n; i++)
		node_pair(d, pairs, v->values[i].title,
			  cell(v->values[i].figure ? with_unit(a, &v->values[i])
						   : "found in the log"));
	return d;
}
