/* SPDX-License-Identifier: Apache-2.0 */
/* Profiles: nsys's SQLite export (times and counts of kernels and copies), ncu's CSV. */
#include <errno.h>
#include <math.h>
#include <stdint.h>
#include <string.h>

#include "base/text.h"
#include "models/inference/roofline.h"
#include "machine/host/sqlite.h"

enum { SPANS_MAX = 20000000 };

struct sqlite_reader {
	struct sql q;
	struct roof_profile *out;
};

/* --- what is asked ---------------------------------------------------------------------------- */

static double is_valid(double v)
{
	return isfinite(v) && v > 0 && v < 1e18 ? v : 0;
}

static int roofline_nsys_kernels(struct sqlite_reader *r)
{
	static const char *const asks[] = {
		"SELECT s.value, count(*), sum(k.\"end\" - k.start), min(k.\"end\" - k.start), "
		"max(k.\"end\" - k.start), avg(1.0 * k.gridX * k.gridY * k.gridZ) FROM "
		"CUPTI_ACTIVITY_KIND_KERNEL k JOIN StringIds s ON s.id = k.demangledName GROUP BY "
		"k.demangledName ORDER BY 3 DESC LIMIT 20000",
		"SELECT s.value, count(*), sum(k.\"end\" - k.start), min(k.\"end\" - k.start), "
		"max(k.\"end\" - k.start), 0 FROM CUPTI_ACTIVITY_KIND_KERNEL k JOIN StringIds s ON "
		"s.id = k.shortName GROUP BY k.shortName ORDER BY 3 DESC LIMIT 20000",
	};
	struct sqlite3_stmt *s = sql_ask(&r->q, asks[0]);

	s = s ? s : sql_ask(&r->q, asks[1]);
	if (!s)
		return sql_broken(&r->q);
	while (sql_row(&r->q, s)) {
		const char *name = sql_text(&r->q, s, 0);
		struct roof_point *p = name ? roof_point_of(r->q.a, r->out, name) : NULL;
		double ns = is_valid(sql_real(&r->q, s, 2));

		if (!p || !(ns > 0)) {
			r->out->dropped++;
			continue;
		}
		p->launches += is_valid(sql_real(&r->q, s, 1));
		p->time_ms += 1e-6 * ns;
		p->shortest_ms = 1e-6 * is_valid(sql_real(&r->q, s, 3));
		p->longest_ms = 1e-6 * is_valid(sql_real(&r->q, s, 4));
		p->blocks = is_valid(sql_real(&r->q, s, 5));
	}
	sql_end(&r->q, s);
	return r->q.late ? sql_broken(&r->q) : 0;
}

static void roofline_nsys_copies(struct sqlite_reader *r)
{
	static const struct {
		int kind; /* CUpti_ActivityMemcpyKind */
		enum roof_copy way;
		const char *name;
	} kinds[] = { { 1, COPY_H2D, "[CUDA memcpy Host-to-Device]" },
		      { 2, COPY_D2H, "[CUDA memcpy Device-to-Host]" },
		      { 8, COPY_D2D, "[CUDA memcpy Device-to-Device]" },
		      { 10, COPY_P2P, "[CUDA memcpy Peer-to-Peer]" } };
	struct sqlite3_stmt *s =
		sql_ask(&r->q, "SELECT copyKind, count(*), sum(\"end\" - start), sum(bytes) FROM "
			       "CUPTI_ACTIVITY_KIND_MEMCPY GROUP BY copyKind LIMIT 64");

	while (s && sql_row(&r->q, s))
		for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
			struct roof_point *p;
			double ns = is_valid(sql_real(&r->q, s, 2));

			if (sql_integer(&r->q, s, 0) != kinds[i].kind || !(ns > 0) ||
			    !(p = roof_point_of(r->q.a, r->out, kinds[i].name)))
				continue;
			p->copy = true;
			p->way = kinds[i].way;
			p->launches += is_valid(sql_real(&r->q, s, 1));
			p->time_ms += 1e-6 * ns;
			p->bytes += is_valid(sql_real(&r->q, s, 3));
		}
	sql_end(&r->q, s);
}

/* The part of the span in which a kernel ran, of all GPUs added up: spans in order, joined. */
static void busy(struct sqlite_reader *r)
{
	struct sqlite3_stmt *s =
		sql_ask(&r->q, "SELECT deviceId, start, \"end\" FROM CUPTI_ACTIVITY_KIND_KERNEL "
			       "ORDER BY deviceId, start");
	int64_t device = -1, from = 0, to = 0;
	double ran = 0, span = 0;
	long n = 0;

	while (s && n++ < SPANS_MAX && sql_row(&r->q, s)) {
		int64_t d = sql_integer(&r->q, s, 0), begin = sql_integer(&r->q, s, 1),
			end = sql_integer(&r->q, s, 2);

		if (begin < 0 || end < begin)
			continue;
		if (d != device) {
			span += (double)(to - from);
			device = d;
			from = to = begin;
		}
		if (end > to) {
			ran += (double)(end - (begin > to ? begin : to));
			to = end;
		}
	}
	span += (double)(to - from);
	sql_end(&r->q, s);
	r->out->busy_ms = 1e-6 * ran;
	r->out->span_ms = 1e-6 * span;
}

static int all(struct sqlite_reader *r)
{
	struct sqlite3_stmt *s;
	int code;

	if (!sql_has(&r->q, "CUPTI_ACTIVITY_KIND_KERNEL") || !sql_has(&r->q, "StringIds"))
		return r->q.late ? sql_broken(&r->q)
				 : err_set(r->q.e, -EINVAL,
					   "%s: not an nsys export with kernels (tables "
					   "CUPTI_ACTIVITY_KIND_KERNEL and StringIds)",
					   r->q.path);
	code = roofline_nsys_kernels(r);
	if (code)
		return code;
	if (sql_has(&r->q, "CUPTI_ACTIVITY_KIND_MEMCPY"))
		roofline_nsys_copies(r);
	busy(r);
	if (sql_has(&r->q, "TARGET_INFO_GPU")) {
		s = sql_ask(&r->q, "SELECT name FROM TARGET_INFO_GPU LIMIT 1");
		if (s && sql_row(&r->q, s))
			r->out->gpu = sql_text(&r->q, s, 0);
		sql_end(&r->q, s);
	}
	if (r->q.late)
		return sql_broken(&r->q);
	return r->out->n ? 0 : err_set(r->q.e, -EINVAL, "%s: no kernel", r->q.path);
}

int roof_read_sqlite(struct arena *a, const char *path, struct roof_profile *out, struct err *e)
{
	struct sqlite_reader r = { .out = out };
	int code;

	*out = (struct roof_profile){ .source = "nsys, SQLite export" };
	code = sql_open(&r.q, a, path, e);
	if (code == -ELIBACC)
		err_hint(e, "install libsqlite3");
	if (!code)
		code = all(&r);
	sql_close(&r.q);
	return code;
}

/*
 * The CSV of ncu: the details page has a row for each metric of each launch, the raw page a column
 * for each metric and a row of units under the head. Launches of one kernel are added up.
 */

enum { NCU_COLUMNS_MAX = 8192, NCU_NAME_MAX_BYTES = 4096, LAUNCHES_MAX = 200000 };

/* Time-weighted, so that what is long counts. */
static double mixed(double now, double before_ms, double v, double ms)
{
	return before_ms + ms > 0 ? (now * before_ms + v * ms) / (before_ms + ms) : v;
}

static void roofline_nsys_finish(struct arena *a, struct roof_profile *out, const char *name,
				 struct ncu_launch *l)
{
	struct roof_point *p;
	double ms = l->v[M_TIME], most = 0, all = 0;

	if (!(ms > 0) || !*name || strlen(name) > NCU_NAME_MAX_BYTES ||
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
	p->counted = p->other_math ? "tensor cores were active, but their operations were not "
				     "counted (metrics sm__ops_path_tensor...)"
		     : l->counted  ? "counted by ncu"
				   : "operations were not counted (use ncu --set roofline)";
	p->time_ms += ms;
	p->launches++;
	p->shortest_ms = p->shortest_ms > 0 ? fmin(p->shortest_ms, ms) : ms;
	p->longest_ms = fmax(p->longest_ms, ms);
}

/* --- the two pages ---------------------------------------------------------------------------- */

struct table {
	const char **head;
	size_t n;
	int id, name, metric, unit, value;
};

static int ncu_column(const struct table *t, const char *name)
{
	for (size_t i = 0; i < t->n; i++)
		if (strcmp(t->head[i], name) == 0)
			return (int)i;
	return -1;
}

static bool roofline_nsys_head_of(struct table *t)
{
	t->id = ncu_column(t, "ID");
	t->name = ncu_column(t, "Kernel Name");
	t->metric = ncu_column(t, "Metric Name");
	t->unit = ncu_column(t, "Metric Unit");
	t->value = ncu_column(t, "Metric Value");
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
		roofline_nsys_finish(s->a, s->out, s->name, &s->now);
	s->now = (struct ncu_launch){ .counted = false };
	s->id = id ? arena_strdup(s->a, id) : NULL;
	s->name = id ? arena_strndup(s->a, name, strnlen(name, NCU_NAME_MAX_BYTES + 1)) : NULL;
	s->launches += id != NULL;
}

static void roofline_nsys_details(struct state *s, const char **cell, size_t n)
{
	const char *id = cell_at(cell, n, s->t.id), *name = cell_at(cell, n, s->t.name);

	if (!s->id || strcmp(id, s->id) != 0)
		next_launch(s, id, name);
	ncu_take(&s->now, cell_at(cell, n, s->t.metric), cell_at(cell, n, s->t.unit),
		 cell_at(cell, n, s->t.value));
}

/* Cells that outlive their record. */
static const char **copy_cells(struct arena *a, const char **cell, size_t n)
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
		s->units = copy_cells(s->a, cell, n);
		s->n_units = n;
		return;
	}
	next_launch(s, cell_at(cell, n, s->t.id), cell_at(cell, n, s->t.name));
	for (size_t i = 0; i < n && i < s->t.n; i++)
		ncu_take(&s->now, s->t.head[i], s->units && i < s->n_units ? s->units[i] : "",
			 cell[i]);
	next_launch(s, NULL, NULL);
}

static void ncu_record(struct state *s, const char **cell, size_t n)
{
	if (!s->t.head) {
		s->t.head = cell;
		s->t.n = n;
		s->t.head = roofline_nsys_head_of(&s->t) ? copy_cells(s->a, cell, n) : NULL;
	} else if (s->t.metric >= 0) {
		roofline_nsys_details(s, cell, n);
	} else {
		raw(s, cell, n);
	}
}

static int records(struct state *s, const char *name, const char *p, struct err *e)
{
	const char **cell = arena_array(s->a, NCU_COLUMNS_MAX, sizeof(*cell)), *next;
	ARENA_AUTO scratch = { 0 };
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
		next = csv_record(&scratch, p, cell, NCU_COLUMNS_MAX, &n);
		if (next) {
			ncu_record(s, cell, n);
			line += csv_lines(p, next);
		}
		if (++count % 1024 == 0)
			arena_free(&scratch);
	}
	return p ? 0 : err_set(e, -EINVAL, "%s:%ld: unclosed quote", name, line);
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
			       "%s: not an ncu CSV (no header with \"ID\" and \"Kernel Name\")",
			       name);
	if (!out->n)
		return err_set(e, -ENODATA, "%s: no launch has a time (gpu__time_duration)", name);
	return 0;
}
