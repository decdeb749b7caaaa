/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The CSV of ncu: the details page has a row for each metric of each launch, the raw page a column
 * for each metric and a row of units under the head. Launches of one kernel are added up.
 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/csv.h"
#include "base/text.h"
#include "models/inference/roofline_metric.h"

enum { COLUMNS_MAX = 8192, NAME_MAX_BYTES = 4096, LAUNCHES_MAX = 200000 };

/* Time-weighted, so that what is long counts. */
static double mixed(double now, double before_ms, double v, double ms)
{
	return before_ms + ms > 0 ? (now * before_ms + v * ms) / (before_ms + ms) : v;
}

static void finish(struct arena *a, struct roof_profile *out, const char *name,
		   struct ncu_launch *l)
{
	struct roof_point *p;
	double ms = l->v[M_TIME], most = 0, all = 0;

	if (!(ms > 0) || !*name || strlen(name) > NAME_MAX_BYTES ||
	    !(p = roof_point_of(a, out, name))) {
		out->dropped++;
		return;
	}
	for (int m = 0; m < ROOF_MATHS; m++) {
		double ops = ncu_ops(l, (enum roof_math)m);

		all += ops;
		if (m >= ROOF_FP64_TENSOR && ops > 0)
			l->v[M_TENSOR] = 0;
		if (ops > most) {
			most = ops;
			p->math = (enum roof_math)m;
		}
	}
	p->other_math = p->other_math || l->v[M_TENSOR] > 0;
	p->memory_share = mixed(p->memory_share, p->time_ms, l->v[M_DRAM] / 100, ms);
	p->cache_share = mixed(p->cache_share, p->time_ms, l->v[M_MEMORY] / 100, ms);
	p->compute_share = mixed(p->compute_share, p->time_ms, l->v[M_COMPUTE] / 100, ms);
	p->occupancy = mixed(p->occupancy, p->time_ms, l->v[M_OCCUPANCY] / 100, ms);
	p->blocks = mixed(p->blocks, p->launches, l->v[M_BLOCKS], 1);
	p->ops += all;
	p->bytes += ncu_bytes(l);
	p->counted = p->other_math ? "tensor cores ran, and what they did was not counted "
				     "(metrics sm__ops_path_tensor...)"
		     : l->counted  ? "counted by ncu"
				   : "operations were not counted (ncu --set roofline does)";
	p->time_ms += ms;
	p->launches++;
	p->shortest_ms = p->shortest_ms > 0 ? fmin(p->shortest_ms, ms) : ms;
	p->longest_ms = fmax(p->longest_ms, ms);
}

/* --- the two pages ------------------------------------------------------------------------------
 */

struct table {
	const char **head;
	size_t n;
	int id, name, metric, unit, value;
};

static int column(const struct table *t, const char *name)
{
	for (size_t i = 0; i < t->n; i++)
		if (strcmp(t->head[i], name) == 0)
			return (int)i;
	return -1;
}

static bool head_of(struct table *t)
{
	t->id = column(t, "ID");
	t->name = column(t, "Kernel Name");
	t->metric = column(t, "Metric Name");
	t->unit = column(t, "Metric Unit");
	t->value = column(t, "Metric Value");
	return t->id >= 0 && t->name >= 0;
}

static const char *cell_at(const char **cell, size_t n, int at)
{
	return at >= 0 && (size_t)at < n ? cell[at] : "";
}

struct state {
	struct arena *a;
	struct roof_profile *out;
	struct table t;
	struct ncu_launch now;
	const char *id, *name; /* of now; NULL: none */
	const char **units;    /* of the raw page; NULL: not come yet */
	size_t n_units, launches;
};

static void next_launch(struct state *s, const char *id, const char *name)
{
	if (s->id)
		finish(s->a, s->out, s->name, &s->now);
	s->now = (struct ncu_launch){ .counted = false };
	s->id = id ? arena_strdup(s->a, id) : NULL;
	s->name = id ? arena_strndup(s->a, name, strnlen(name, NAME_MAX_BYTES + 1)) : NULL;
	s->launches += id != NULL;
}

static void details(struct state *s, const char **cell, size_t n)
{
	const char *id = cell_at(cell, n, s->t.id), *name = cell_at(cell, n, s->t.name);

	if (!s->id || strcmp(id, s->id) != 0)
		next_launch(s, id, name);
	ncu_take(&s->now, cell_at(cell, n, s->t.metric), cell_at(cell, n, s->t.unit),
		 cell_at(cell, n, s->t.value));
}

/* Cells that outlive their record. */
static const char **kept(struct arena *a, const char **cell, size_t n)
{
	const char **out = arena_array(a, n, sizeof(*out));

	for (size_t i = 0; i < n; i++)
		out[i] = arena_strdup(a, cell[i]);
	return out;
}

static void raw(struct state *s, const char **cell, size_t n)
{
	/* The row under the head has units and no identity. */
	if (!s->units && !*cell_at(cell, n, s->t.id)) {
		s->units = kept(s->a, cell, n);
		s->n_units = n;
		return;
	}
	next_launch(s, cell_at(cell, n, s->t.id), cell_at(cell, n, s->t.name));
	for (size_t i = 0; i < n && i < s->t.n; i++)
		ncu_take(&s->now, s->t.head[i], s->units && i < s->n_units ? s->units[i] : "",
			 cell[i]);
	next_launch(s, NULL, NULL);
}

static void record(struct state *s, const char **cell, size_t n)
{
	if (!s->t.head) {
		s->t.head = cell;
		s->t.n = n;
		s->t.head = head_of(&s->t) ? kept(s->a, cell, n) : NULL;
	} else if (s->t.metric >= 0) {
		details(s, cell, n);
	} else {
		raw(s, cell, n);
	}
}

static int records(struct state *s, const char *name, const char *p, struct err *e)
{
	const char **cell = arena_array(s->a, COLUMNS_MAX, sizeof(*cell)), *next;
	struct arena scratch = { 0 };
	long line = 1;
	size_t n, count = 0;

	for (; p && *p && s->launches < LAUNCHES_MAX; p = next) {
		/* Lines of the profiler and of the program stand between. */
		if (*p != '"') {
			next = p + strcspn(p, "\n");
			next += *next == '\n';
			line++;
			continue;
		}
		next = csv_record(&scratch, p, cell, COLUMNS_MAX, &n);
		if (next) {
			record(s, cell, n);
			line += csv_lines(p, next);
		}
		if (++count % 1024 == 0)
			arena_free(&scratch);
	}
	arena_free(&scratch);
	return p ? 0 : err_set(e, -EINVAL, "%s:%ld: a quote that is not closed", name, line);
}

int roof_read_ncu(struct arena *a, const char *name, const char *text, struct roof_profile *out,
		  struct err *e)
{
	struct state s = { .a = a, .out = out };
	int r;

	*out = (struct roof_profile){ .source = "ncu" };
	r = records(&s, name, text, e);
	if (r)
		return r;
	next_launch(&s, NULL, NULL);
	if (!s.t.head)
		return err_set(e, -ENODATA,
			       "%s: no CSV of ncu (a head with \"ID\" and \"Kernel Name\")", name);
	if (!out->n)
		return err_set(e, -ENODATA, "%s: no launch has a time (gpu__time_duration)", name);
	return 0;
}
