/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The SQLite export of nsys: kernels and copies of each GPU laid over one another, and what the
 * host waited and launched. Rows come in order of their start, so that nothing is kept.
 */
#include <errno.h>
#include <limits.h>
#include <math.h>
#include <string.h>

#include "diagnose/read.h"
#include "predict/sqlite.h"

enum { ROWS_MAX = 50000000, NAMES_MAX = 200 };

static const double ns = 1e-9;

/* What was watched: the longest time of a GPU, and how many had work. */
struct watched {
	double most_s, gpus;
	size_t rows;
};

/* One GPU is over. Its time is from its first to its last kernel or copy. */
static void tell(const struct spans *s, struct read_place p, int64_t device, struct watched *w)
{
	if (!s->begun)
		return;
	w->gpus++;
	p.rank = device >= 0 && device < INT_MAX ? (int)device : -1;
	spans_tell(s, &p, s->first, s->last, ns, NULL, NULL);
	w->most_s = fmax(w->most_s, ns * (s->last - s->first));
}

/* Names of kernels, which of them are communication: the same words as everywhere. */
static const char kernels_of[] =
	"SELECT k.deviceId, k.start, k.\"end\", CASE WHEN s.value LIKE '%%nccl%%' OR s.value LIKE "
	"'%%rccl%%' OR s.value LIKE '%%nvshmem%%' OR s.value LIKE '%%cross_device_reduce%%' OR "
	"s.value LIKE '%%multimem\\_%%' ESCAPE '\\' OR s.value LIKE '%%shot_all_reduce%%' OR "
	"s.value LIKE '%%deep_ep::%%' THEN 1 ELSE 0 END "
	"FROM CUPTI_ACTIVITY_KIND_KERNEL k LEFT JOIN StringIds s ON s.id = k.%s";

static struct sqlite3_stmt *ask_spans(struct sql *q)
{
	static const char *const names[] = { "demangledName", "shortName" };
	bool copies = sql_has(q, "CUPTI_ACTIVITY_KIND_MEMCPY"),
	     sets = sql_has(q, "CUPTI_ACTIVITY_KIND_MEMSET");

	for (size_t i = 0; i < 2; i++) {
		char *kernels = arena_printf(q->a, kernels_of, names[i]);
		struct sqlite3_stmt *s = sql_ask(
			q, arena_printf(q->a, "%s%s%s ORDER BY 1, 2", kernels,
					copies ? " UNION ALL SELECT deviceId, start, \"end\", "
						 "CASE copyKind WHEN 8 THEN 0 ELSE 2 END "
						 "FROM CUPTI_ACTIVITY_KIND_MEMCPY"
					       : "",
					sets ? " UNION ALL SELECT deviceId, start, \"end\", 0 "
					       "FROM CUPTI_ACTIVITY_KIND_MEMSET"
					     : ""));

		if (s)
			return s;
	}
	return NULL;
}

static int devices(struct sql *q, const struct read_place *p, struct watched *w)
{
	struct sqlite3_stmt *s = ask_spans(q);
	struct spans spans = { 0 };
	int64_t device = -1, base = 0;

	if (!s)
		return sql_broken(q);
	while (w->rows < ROWS_MAX && sql_row(q, s)) {
		int64_t d = sql_integer(q, s, 0), from = sql_integer(q, s, 1),
			to = sql_integer(q, s, 2), kind = sql_integer(q, s, 3);

		w->rows++;
		if (from < 0 || to < from || d < 0)
			continue;
		if (d != device) {
			tell(&spans, *p, device, w);
			spans = (struct spans){ 0 };
			device = d;
			base = from; /* times since the boot do not fit a double to the ns */
		}
		spans_add(&spans,
			  kind == 2   ? SPAN_COPY
			  : kind == 1 ? SPAN_COMM
				      : SPAN_COMPUTE,
			  (double)(from - base), (double)(to - base));
	}
	tell(&spans, *p, device, w);
	sql_end(q, s);
	return q->late ? sql_broken(q) : 0;
}

/* Of all threads of all processes together: a GPU's part of it. */
static void host(struct sql *q, const struct read_place *p, const struct watched *w)
{
	struct sqlite3_stmt *s = sql_ask(
		q, "SELECT s.value, sum(r.\"end\" - r.start), count(*) "
		   "FROM CUPTI_ACTIVITY_KIND_RUNTIME r JOIN StringIds s ON s.id = r.nameId "
		   "WHERE r.\"end\" >= r.start GROUP BY r.nameId ORDER BY 2 DESC LIMIT 200");

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
		q,
		"SELECT s.value, sum(k.\"end\" - k.start) FROM CUPTI_ACTIVITY_KIND_KERNEL k JOIN "
		"StringIds s ON s.id = k.demangledName WHERE k.\"end\" >= k.start GROUP BY "
		"k.demangledName ORDER BY 2 DESC LIMIT 200");

	for (int n = 0; s && n < NAMES_MAX && sql_row(q, s); n++) {
		const char *name = sql_text(q, s, 0), *in = name ? span_gemm(name) : NULL;

		if (in)
			read_total(p, FIGURE_GEMM_S, ns * sql_real(q, s, 1) / w->gpus, w->most_s,
				   in);
	}
	sql_end(q, s);
}

/* Copies whose one end is memory of the host that is not pinned. */
static void pageable(struct sql *q, const struct read_place *p, const struct watched *w)
{
#define NOT_PINNED "(SELECT id FROM ENUM_CUDA_MEM_KIND WHERE name LIKE '%PAGEABLE%')"
	struct sqlite3_stmt *s = sql_ask(
		q, "SELECT copyKind, sum(\"end\" - start) FROM CUPTI_ACTIVITY_KIND_MEMCPY "
		   "WHERE \"end\" >= start AND copyKind IN (1, 2) AND (srcKind IN " NOT_PINNED
		   " OR dstKind IN " NOT_PINNED ") GROUP BY copyKind");
#undef NOT_PINNED

	while (s && sql_row(q, s))
		read_total(p, FIGURE_COPY_PAGEABLE_S, ns * sql_real(q, s, 1) / w->gpus, w->most_s,
			   sql_integer(q, s, 0) == 1 ? "to the GPU" : "from the GPU");
	sql_end(q, s);
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
	if (!code)
		code = devices(&q, &p, &w);
	if (!code && w.gpus > 0) {
		host(&q, &p, &w);
		products(&q, &p, &w);
		pageable(&q, &p, &w);
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
