/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The SQLite export of nsys: what GPUs did (read_sqlite_gpu.c), and what the host waited and
 * launched meanwhile.
 */
#include <errno.h>
#include <limits.h>
#include <math.h>
#include <string.h>

#include "models/diagnose/read_sqlite.h"

enum { NAMES_MAX = 200 };

static const double ns = 1e-9;

/* The steps that ranges mark; all, where there are none. */
static const char *within(struct arena *a, const struct watched *w, const char *table)
{
	if (w->to <= w->from)
		return "1";
	return arena_printf(a, "%s.start >= %lld AND %s.start < %lld", table, (long long)w->from,
			    table, (long long)w->to);
}

/* Of all threads of all processes together: a GPU's part of it. */
static void host(struct sql *q, const struct read_place *p, const struct watched *w)
{
	struct sqlite3_stmt *s = sql_ask(
		q, arena_printf(q->a,
				"SELECT s.value, sum(r.\"end\" - r.start), count(*) FROM "
				"CUPTI_ACTIVITY_KIND_RUNTIME r JOIN StringIds s ON s.id = r.nameId "
				"WHERE r.\"end\" >= r.start AND %s GROUP BY r.nameId ORDER BY 2 "
				"DESC LIMIT 200",
				within(q->a, w, "r")));

	for (int n = 0; s && n < NAMES_MAX && sql_row(q, s); n++) {
		const char *name = sql_text(q, s, 0);
		enum figure_kind kind = name ? span_host_call(name) : FIGURE_KINDS;

		if (kind != FIGURE_KINDS)
			read_total(p, kind, ns * sql_real(q, s, 1) / w->gpus, w->most_s, name);
		if (kind == FIGURE_SYNC_S)
			read_total(p, FIGURE_SYNCS, sql_real(q, s, 2) / w->gpus, w->most_s, name);
	}
	sql_end(q, s);
}

/* What products are computed in. Names that are no product's are many: the ones that take most
 * time. */
static void products(struct sql *q, const struct read_place *p, const struct watched *w)
{
	struct sqlite3_stmt *s = sql_ask(
		q, arena_printf(q->a,
				"SELECT s.value, sum(k.\"end\" - k.start) FROM "
				"CUPTI_ACTIVITY_KIND_KERNEL k JOIN StringIds s ON s.id = "
				"k.demangledName WHERE k.\"end\" >= k.start AND %s GROUP BY "
				"k.demangledName ORDER BY 2 DESC LIMIT 200",
				within(q->a, w, "k")));

	for (int n = 0; s && n < NAMES_MAX && sql_row(q, s); n++) {
		const char *name = sql_text(q, s, 0), *in = name ? span_gemm(name) : NULL;

		if (in)
			read_total(p, FIGURE_GEMM_S, ns * sql_real(q, s, 1) / w->gpus, w->most_s,
				   in);
	}
	sql_end(q, s);
}

/* nsys says so where it stopped: one that is older than the CUDA it watched. Of what is missing
 * then a GPU would seem to rest. */
static int is_whole(struct sql *q, const char *path, struct err *e)
{
	static const char *const places[] = {
		"SELECT text FROM DIAGNOSTIC_EVENT WHERE text LIKE "
		"'Error when processing events%' LIMIT 1",
		"SELECT value FROM StringIds WHERE value LIKE 'Error when processing events%' "
		"LIMIT 1",
	};

	for (size_t i = 0; i < 2; i++) {
		struct sqlite3_stmt *s = sql_ask(q, places[i]);
		const char *says = s && sql_row(q, s) ? sql_text(q, s, 0) : NULL;
		const char *why = says ? strstr(says, "message*] = ") : NULL;

		sql_end(q, s);
		if (!says)
			continue;
		why = why ? why + strlen("message*] = ") : "error when processing events";
		return err_set(e, -EBADMSG,
			       "%s: not whole: nsys could not take in all that it had collected "
			       "(%.*s)",
			       path, (int)strcspn(why, "\n"), why);
	}
	return 0;
}

static void gpus(struct sql *q, struct read_place p)
{
	struct sqlite3_stmt *s = sql_ask(q, "SELECT id, name FROM TARGET_INFO_GPU LIMIT 64");

	while (s && sql_row(q, s)) {
		int64_t id = sql_integer(q, s, 0);
		const char *name = sql_text(q, s, 1);

		p.rank = id >= 0 && id < INT_MAX ? (int)id : -1;
		if (name)
			read_trait(&p, TRAIT_GPU, name, (double)NAN);
	}
	sql_end(q, s);
}

static int open_sqlite(struct evidence *ev, size_t file, const char *path, struct err *e)
{
	struct read_place p = { .ev = ev, .file = file, .rank = -1, .step = -1 };
	struct sql q;
	struct watched w = { 0 };
	int code = sql_open(&q, ev->arena, path, e);

	if (code == -ELIBACC)
		err_hint(e, "nsys stats --format csv --report cuda_gpu_kern_sum,cuda_api_sum,"
			    "cuda_gpu_mem_time_sum makes a CSV of it");
	if (!code && (!sql_has(&q, "CUPTI_ACTIVITY_KIND_KERNEL") || !sql_has(&q, "StringIds")))
		code = q.late ? sql_broken(&q)
			      : err_set(e, -EBADMSG,
					"%s: no export of nsys with kernels in it (tables "
					"CUPTI_ACTIVITY_KIND_KERNEL and StringIds)",
					path);
	if (!code) {
		code = is_whole(&q, path, e);
		if (code)
			err_hint(e, "record with an nsys that is not older than the driver's CUDA; "
				    "what is missing would look like a GPU that rests");
	}
	if (!code)
		code = read_sqlite_gpus(&q, &p, &w);
	if (!code && w.gpus > 0) {
		host(&q, &p, &w);
		products(&q, &p, &w);
	}
	if (!code && sql_has(&q, "TARGET_INFO_GPU"))
		gpus(&q, p);
	sql_close(&q);
	ev->files[file].lines = ev->files[file].used = w.rows;
	if (code == -EINVAL)
		code = -EBADMSG;
	return code || w.most_s > 0 ? code : err_set(e, -EBADMSG, "%s: no kernel in it", path);
}

static bool looks(const char *head, size_t n, const char *path)
{
	(void)path;
	return n >= 16 && memcmp(head, "SQLite format 3", 16) == 0;
}

const struct evidence_format evidence_sqlite = { .name = "nsys SQLite export",
						 .looks = looks,
						 .open = open_sqlite };
