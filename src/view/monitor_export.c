/* SPDX-License-Identifier: Apache-2.0 */
/* A look for collectors: OpenMetrics. */
#include <math.h>
#include <string.h>

#include "view/glyph.h"
#include "view/page_monitor.h"

static void sample(FILE *out, const struct column_of *c, double v)
{
	const struct column_type *t = c->type;

	fprintf(out, "gputune_%s%s", t->metric, t->kind == COLUMN_TOTAL ? "_total" : "");
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

void monitor_openmetrics(FILE *out, const struct instant *f)
{
	for (size_t k = 0; k < column_types_n; k++) {
		const struct column_type *t = &column_types[k];
		const char *unit = unit_of(t->metric);
		bool headed = false;

		for (size_t i = 0; i < f->mon->n; i++) {
			if (f->mon->columns[i].type != t || isnan(f->now[i]))
				continue;
			if (!headed) {
				fprintf(out, "# TYPE gputune_%s %s\n", t->metric,
					t->kind == COLUMN_TOTAL ? "counter" : "gauge");
				if (unit)
					fprintf(out, "# UNIT gputune_%s %s\n", t->metric, unit);
				fprintf(out, "# HELP gputune_%s %s\n", t->metric, t->what);
			}
			headed = true;
			sample(out, &f->mon->columns[i], f->now[i]);
		}
	}
	fputs("# EOF\n", out);
}
