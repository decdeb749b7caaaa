/* SPDX-License-Identifier: Apache-2.0 */
/* The SQLite export of nsys: times and counts of kernels and copies. */
#include <errno.h>
#include <math.h>
#include <stdint.h>
#include <string.h>

#include "models/inference/roofline.h"
#include "models/inference/sqlite.h"

enum { SPANS_MAX = 20000000 };

struct reader {
	struct sql q;
	struct roof_profile *out;
};

/* --- what is asked ------------------------------------------------------------------------------
 */

static double sound(double v)
{
	return isfinite(v) && v > 0 && v < 1e18 ? v : 0;
}

static int kernels(struct reader *r)
{
	static const char *const asks[] = {
		"SELECT s.value, count(*), sum(k.\"end\" - k.start), min(k.\"end\" - k.start), "
		"max(k.\"end\" - k.start), avg(1.0 * k.gridX * k.gridY * k.gridZ) "
		"FROM CUPTI_ACTIVITY_KIND_KERNEL k JOIN StringIds s ON s.id = k.demangledName "
		"GROUP BY k.demangledName ORDER BY 3 DESC LIMIT 20000",
		"SELECT s.value, count(*), sum(k.\"end\" - k.start), min(k.\"end\" - k.start), "
		"max(k.\"end\" - k.start), 0 "
		"FROM CUPTI_ACTIVITY_KIND_KERNEL k JOIN StringIds s ON s.id = k.shortName "
		"GROUP BY k.shortName ORDER BY 3 DESC LIMIT 20000",
	};
	struct sqlite3_stmt *s = sql_ask(&r->q, asks[0]);

	s = s ? s : sql_ask(&r->q, asks[1]);
	if (!s)
		return sql_broken(&r->q);
	while (sql_row(&r->q, s)) {
		const char *name = sql_text(&r->q, s, 0);
		struct roof_point *p = name ? roof_point_of(r->q.a, r->out, name) : NULL;
		double ns = sound(sql_real(&r->q, s, 2));

		if (!p || !(ns > 0)) {
			r->out->dropped++;
			continue;
		}
		p->launches += sound(sql_real(&r->q, s, 1));
		p->time_ms += 1e-6 * ns;
		p->shortest_ms = 1e-6 * sound(sql_real(&r->q, s, 3));
		p->longest_ms = 1e-6 * sound(sql_real(&r->q, s, 4));
		p->blocks = sound(sql_real(&r->q, s, 5));
	}
	sql_end(&r->q, s);
	return r->q.late ? sql_broken(&r->q) : 0;
}

static void copies(struct reader *r)
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
		sql_ask(&r->q, "SELECT copyKind, count(*), sum(\"end\" - start), sum(bytes) "
			       "FROM CUPTI_ACTIVITY_KIND_MEMCPY GROUP BY copyKind LIMIT 64");

	while (s && sql_row(&r->q, s))
		for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
			struct roof_point *p;
			double ns = sound(sql_real(&r->q, s, 2));

			if (sql_integer(&r->q, s, 0) != kinds[i].kind || !(ns > 0) ||
			    !(p = roof_point_of(r->q.a, r->out, kinds[i].name)))
				continue;
			p->copy = true;
			p->way = kinds[i].way;
			p->launches += sound(sql_real(&r->q, s, 1));
			p->time_ms += 1e-6 * ns;
			p->bytes += sound(sql_real(&r->q, s, 3));
		}
	sql_end(&r->q, s);
}

/* The part of the span in which a kernel ran, of all GPUs added up: spans in order, joined. */
static void busy(struct reader *r)
{
	struct sqlite3_stmt *s =
		sql_ask(&r->q, "SELECT deviceId, start, \"end\" FROM "
			       "CUPTI_ACTIVITY_KIND_KERNEL ORDER BY deviceId, start");
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

static int all(struct reader *r)
{
	struct sqlite3_stmt *s;
	int code;

	if (!sql_has(&r->q, "CUPTI_ACTIVITY_KIND_KERNEL") || !sql_has(&r->q, "StringIds"))
		return r->q.late ? sql_broken(&r->q)
				 : err_set(r->q.e, -EINVAL,
					   "%s: no export of nsys with kernels in it (tables "
					   "CUPTI_ACTIVITY_KIND_KERNEL and StringIds)",
					   r->q.path);
	code = kernels(r);
	if (code)
		return code;
	if (sql_has(&r->q, "CUPTI_ACTIVITY_KIND_MEMCPY"))
		copies(r);
	busy(r);
	if (sql_has(&r->q, "TARGET_INFO_GPU")) {
		s = sql_ask(&r->q, "SELECT name FROM TARGET_INFO_GPU LIMIT 1");
		if (s && sql_row(&r->q, s))
			r->out->gpu = sql_text(&r->q, s, 0);
		sql_end(&r->q, s);
	}
	if (r->q.late)
		return sql_broken(&r->q);
	return r->out->n ? 0 : err_set(r->q.e, -EINVAL, "%s: no kernel in it", r->q.path);
}

int roof_read_sqlite(struct arena *a, const char *path, struct roof_profile *out, struct err *e)
{
	struct reader r = { .out = out };
	int code;

	*out = (struct roof_profile){ .source = "nsys, SQLite export" };
	code = sql_open(&r.q, a, path, e);
	if (code == -ELIBACC)
		err_hint(e, "nsys stats --format csv --report cuda_gpu_kern_sum,"
			    "cuda_gpu_mem_time_sum,cuda_gpu_mem_size_sum makes a CSV of it");
	if (!code)
		code = all(&r);
	sql_close(&r.q);
	return code;
}
