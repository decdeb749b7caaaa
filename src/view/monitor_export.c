/* SPDX-License-Identifier: Apache-2.0 */
/* A look for programs: JSON lines and OpenMetrics. */
#include <math.h>
#include <string.h>

#include "view/glyph.h"
#include "view/json_value.h"
#include "view/page_monitor.h"

/* "gpu" of "gpu.sm-clock", "gpu0" where there is a target. */
static json_t *group_of(json_t *o, const struct column_of *c)
{
	char name[128];
	json_t *g;

	if (*c->target)
		snprintf(name, sizeof(name), "%s", c->target);
	else
		snprintf(name, sizeof(name), "%.*s", (int)strcspn(c->type->name, "."),
			 c->type->name);
	g = json_object_get(o, name);
	if (!g) {
		g = json_object();
		/* A target may hold any bytes. */
		if (json_object_set_new(o, name, g))
			return NULL;
	}
	return g;
}

static json_t *users_json(const struct monitor_processes *users)
{
	json_t *list = json_array();

	for (size_t i = 0; i < users->n; i++) {
		const struct monitor_process *u = &users->items[i];
		json_t *o = json_object();

		json_object_set_new(o, "gpu", json_integer(u->gpu));
		json_object_set_new(o, "pid", json_integer(u->pid));
		json_object_set_new(o, "kind", json_string(u->kind));
		json_object_set_new(o, "command",
				    *u->command ? json_text(u->command) : json_null());
		json_object_set_new(o, "memory_bytes", json_figure(u->memory));
		json_array_append_new(list, o);
	}
	return list;
}

json_t *monitor_json(const struct frame *f, long long time_ms)
{
	json_t *o = json_object();

	json_object_set_new(o, "schema", json_string("gputune.monitor/1"));
	json_object_set_new(o, "time_ms", json_integer(time_ms));
	for (size_t i = 0; i < f->mon->n; i++) {
		const struct column_of *c = &f->mon->columns[i];
		const char *key = strchr(c->type->name, '.');
		json_t *g = group_of(o, c), *v;

		if (!g || !key)
			continue;
		v = json_object();
		json_object_set_new(v, c->type->kind == COLUMN_TOTAL ? "total" : "value",
				    json_figure(f->now[i]));
		if (c->type->kind == COLUMN_TOTAL)
			json_object_set_new(v, "per_second", json_figure(frame_column(f, i)));
		json_object_set_new(v, "unit", json_string(c->type->unit));
		json_object_set_new(g, key + 1, v);
	}
	if (f->users)
		json_object_set_new(o, "processes", users_json(f->users));
	return o;
}

/* --- OpenMetrics 1.0 -----------------------------------------------------------------------------
 */

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

void monitor_openmetrics(FILE *out, const struct frame *f)
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
