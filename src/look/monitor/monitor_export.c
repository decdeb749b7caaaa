/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A look for collectors: Prometheus' text format 0.0.4, and OpenMetrics 1.0. They differ in what a
 * counter's family is called (in the text format as its samples, with "_total"; in OpenMetrics
 * without), in "# UNIT" and in "# EOF", which the text format does not have.
 */
#include <math.h>
#include <string.h>

#include "render/glyph.h"
#include "look/monitor/page_monitor.h"

static const char *suffix(const struct column_type *t)
{
	return t->kind == COLUMN_TOTAL ? "_total" : "";
}

static void sample(FILE *out, const struct column_of *c, double v)
{
	const struct column_type *t = c->type;

	fprintf(out, "gputune_%s%s", t->metric, suffix(t));
	if (*c->target) {
		/* "gpu" for gpu0's number, "device" for the names of everything else. */
		bool gpu = strncmp(t->name, "gpu.", 4) == 0;

		fputc('{', out);
		glyph_label(out, gpu ? "gpu" : "device", gpu ? c->target + 3 : c->target);
		fputc('}', out);
	}
	fprintf(out, " %.15g\n", v * t->factor);
}

/* The unit that the name ends in, or NULL: counts and bits have none. */
static const char *unit_of(const char *metric)
{
	static const char *const units[] = { "hertz",	"watts", "ratio",
					     "celsius", "bytes", "seconds" };
	const char *last = strrchr(metric, '_') + 1;

	for (size_t i = 0; i < sizeof(units) / sizeof(units[0]); i++)
		if (strcmp(units[i], last) == 0)
			return units[i];
	return NULL;
}

static void head(FILE *out, const struct column_type *t, enum exposition how)
{
	const char *end = how == EXPOSITION_TEXT ? suffix(t) : "", *unit = unit_of(t->metric);

	fprintf(out, "# HELP gputune_%s%s %s\n# TYPE gputune_%s%s %s\n", t->metric, end, t->what,
		t->metric, end, t->kind == COLUMN_TOTAL ? "counter" : "gauge");
	if (unit && how == EXPOSITION_OPENMETRICS)
		fprintf(out, "# UNIT gputune_%s %s\n", t->metric, unit);
}

void monitor_exposition(FILE *out, const struct instant *f, enum exposition how)
{
	for (size_t k = 0; k < column_types_n; k++) {
		const struct column_type *t = &column_types[k];
		bool headed = false;

		for (size_t i = 0; i < f->mon->n; i++) {
			if (f->mon->columns[i].type != t || isnan(f->now[i]))
				continue;
			if (!headed)
				head(out, t, how);
			headed = true;
			sample(out, &f->mon->columns[i], f->now[i]);
		}
	}
	if (how == EXPOSITION_OPENMETRICS)
		fputs("# EOF\n", out);
}
