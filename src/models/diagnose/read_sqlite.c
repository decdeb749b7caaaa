/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The SQLite export of nsys: what GPUs did, and what the host waited and
 * launched meanwhile.
 */
#include <stdint.h>
#include <errno.h>
#include <limits.h>
#include <math.h>
#include <string.h>

#include "machine/host/sqlite.h"
#include "models/diagnose/read.h"

static const double ns = 1e-9;

/* What was watched: the longest time of a GPU, and how many had work. */
struct watched {
	double most_s, gpus;
	size_t rows;
	int64_t from, to; /* the steps that ranges of NVTX mark, of all processes; 0, 0: none */
};

enum { SQLITE_GPUS_MAX = 64, NUMBERINGS_MAX = 4 };

/* Expressions of SQL over a row t of kernels or copies: its GPU, what that takes, its process. */
struct numbering {
	const char *gpu, *join, *pid;
};

/* Which GPU a row of an export of nsys is of: each process counts from 0 those that it sees. */

static const struct numbering numberings[] = {
	{ "coalesce(d.gpuId, t.deviceId)",
	  "LEFT JOIN (SELECT cudaId, pid, min(gpuId) AS gpuId FROM TARGET_INFO_CUDA_DEVICE GROUP "
	  "BY 1, 2) d ON d.cudaId = t.deviceId AND d.pid = t.globalPid / 16777216 % 16777216",
	  "t.globalPid" },
	{ "t.deviceId", "", "t.globalPid" },
	{ "t.deviceId", "", "0" },
};

/* Exports without TARGET_INFO_CUDA_DEVICE do not say which GPU a process's first one is (2024.2 has
 * none). Where processes all count theirs alike and are no more than there are GPUs, each has its
 * own: numbered in the order of processes. NULL: it is not so. */
static const char *by_process(struct sql *q)
{
	struct sqlite3_stmt *s = sql_ask(
		q, "SELECT count(DISTINCT globalPid), count(DISTINCT deviceId), "
		   "(SELECT count(*) FROM TARGET_INFO_GPU) FROM CUPTI_ACTIVITY_KIND_KERNEL");
	const char *text = "CASE t.globalPid";
	int64_t processes = 0;
	bool own = false;

	if (s && sql_row(q, s)) {
		processes = sql_integer(q, s, 0);
		own = processes > 1 && processes <= SQLITE_GPUS_MAX && sql_integer(q, s, 1) == 1 &&
		      sql_integer(q, s, 2) >= processes;
	}
	sql_end(q, s);
	if (!own)
		return NULL;
	s = sql_ask(q, "SELECT DISTINCT globalPid FROM CUPTI_ACTIVITY_KIND_KERNEL ORDER BY 1");
	for (int64_t i = 0; s && i < processes && sql_row(q, s); i++)
		text = arena_printf(q->a, "%s WHEN %lld THEN %lld", text,
				    (long long)sql_integer(q, s, 0), (long long)i);
	sql_end(q, s);
	return arena_printf(q->a, "%s END", text);
}

/* The ways to ask, the most exact first: the first that the export answers. How many. */
static size_t sqlite_numberings(struct sql *q, struct numbering *out)
{
	const char *own = sql_has(q, "TARGET_INFO_CUDA_DEVICE") ? NULL : by_process(q);
	size_t n = 0;

	if (own)
		out[n++] = (struct numbering){ own, "", "t.globalPid" };
	for (size_t i = 0; i < sizeof(numberings) / sizeof(numberings[0]); i++)
		out[n++] = numberings[i];
	return n;
}

/*
 * What each GPU did by an export of nsys: kernels, graphs and copies laid over one another. Rows
 * come in order of their start, so that nothing is kept. Where ranges of NVTX mark steps, those
 * behind warming-up alone are taken, and the time in which a GPU had nothing to do is told by the
 * ranges in which its process was.
 */

enum { ROWS_MAX = 50000000 };

/* --- rows ------------------------------------------------------------------------------------- */

/* What is communication: the same words as everywhere. */
#define IS_COMM                                                                                    \
	"CASE WHEN s.value LIKE '%%nccl%%' OR s.value LIKE '%%rccl%%' OR s.value LIKE "            \
	"'%%nvshmem%%' OR s.value LIKE '%%cross_device_reduce%%' OR s.value LIKE "                 \
	"'%%multimem\\_%%' ESCAPE '\\' OR s.value LIKE '%%shot_all_reduce%%' OR s.value LIKE "     \
	"'%%deep_ep::%%' THEN 1 ELSE 0 END"

/* Kinds of a row: work of the GPU's own, communication, a copy. */
enum row_kind { ROW_WORK, ROW_COMM, ROW_COPY, ROW_TO_GPU, ROW_FROM_GPU };

/* A copy within a GPU is work. One of which an end is memory of the host that is not pinned is told
 * apart, where the export says so. */
#define NOT_PINNED "(SELECT id FROM ENUM_CUDA_MEM_KIND WHERE name LIKE '%PAGEABLE%')"
static const char *const copies[] = {
	"CASE WHEN t.copyKind = 8 THEN 0 WHEN t.copyKind IN (1, 2) AND (t.srcKind IN " NOT_PINNED
	" OR t.dstKind IN " NOT_PINNED ") THEN 2 + t.copyKind ELSE 2 END",
	"CASE t.copyKind WHEN 8 THEN 0 ELSE 2 END",
};
enum { COPIES = sizeof(copies) / sizeof(copies[0]) };

/* A graph, which nsys takes for one unless told to look into it, is work. */
static const char *const tables[] = { "CUPTI_ACTIVITY_KIND_MEMCPY", "CUPTI_ACTIVITY_KIND_MEMSET",
				      "CUPTI_ACTIVITY_KIND_GRAPH_TRACE" };

static struct sqlite3_stmt *sqlite_ask_rows(struct sql *q, const struct numbering *n,
					    const char *label, const char *copy)
{
	char *all = arena_printf(q->a,
				 "SELECT %s, t.start, t.\"end\", " IS_COMM
				 ", %s FROM CUPTI_ACTIVITY_KIND_KERNEL t LEFT JOIN StringIds s ON "
				 "s.id = t.%s %s",
				 n->gpu, n->pid, label, n->join);

	for (size_t i = 0; i < sizeof(tables) / sizeof(tables[0]); i++)
		if (sql_has(q, tables[i]))
			all = arena_printf(
				q->a,
				"%s UNION ALL SELECT %s, t.start, t.\"end\", %s, %s FROM "
				"%s t %s",
				all, n->gpu, i ? "0" : copy, n->pid, tables[i], n->join);
	return sql_ask(q, arena_printf(q->a, "%s ORDER BY 1, 2", all));
}

static struct sqlite3_stmt *ask_spans(struct sql *q, struct numbering *by)
{
	static const char *const labels[] = { "demangledName", "shortName" };
	struct numbering ways[NUMBERINGS_MAX];
	size_t n = sqlite_numberings(q, ways);

	for (size_t k = 0; k < n * 2 * COPIES; k++) {
		struct sqlite3_stmt *s;

		*by = ways[k / (2 * COPIES)];
		s = sqlite_ask_rows(q, by, labels[k / COPIES % 2], copies[k % COPIES]);
		if (s)
			return s;
	}
	return NULL;
}

/* --- whose GPU it is -------------------------------------------------------------------------- */

/* Processes set a GPU up that they do not use: the one with most kernels has it. */
struct owners {
	int64_t gpu[SQLITE_GPUS_MAX], pid[SQLITE_GPUS_MAX];
	size_t n;
};

static void find_owners(struct sql *q, const struct numbering *by, struct owners *o)
{
	struct sqlite3_stmt *s = sql_ask(
		q, arena_printf(q->a,
				"SELECT %s AS gpu, %s AS pid, count(*) FROM "
				"CUPTI_ACTIVITY_KIND_KERNEL t %s GROUP BY gpu, pid ORDER BY 3 DESC",
				by->gpu, by->pid, by->join));

	while (s && sql_row(q, s)) {
		int64_t gpu = sql_integer(q, s, 0);
		size_t i = 0;

		while (i < o->n && o->gpu[i] != gpu)
			i++;
		if (i < o->n || o->n == SQLITE_GPUS_MAX)
			continue;
		o->gpu[o->n] = gpu;
		o->pid[o->n++] = sql_integer(q, s, 1) >> 24;
	}
	sql_end(q, s);
}

static const struct nvtx_process *owner(const struct owners *o, const struct nvtx *all, int64_t gpu)
{
	for (size_t i = 0; i < o->n; i++)
		if (o->gpu[i] == gpu)
			return nvtx_of(all, o->pid[i]);
	return NULL;
}

/* --- a GPU ------------------------------------------------------------------------------------ */

struct gpu {
	int64_t id, base, end; /* base: times since the boot do not fit a double to the ns */
	struct spans spans;
	struct nvtx_idle idle;
	struct nvtx_rounds rounds;
	int64_t pageable[2]; /* to and from the GPU */
};

static void begin(struct arena *a, struct gpu *g, int64_t id, int64_t from,
		  const struct nvtx_process *p)
{
	bool steps = p && p->to > p->from;

	*g = (struct gpu){ .id = id, .idle = { .p = p } };
	g->base = g->end = steps ? p->from : from;
	nvtx_rounds_begin(a, &g->rounds, p);
}

static void sqlite_add(struct gpu *g, int64_t from, int64_t to, int64_t kind)
{
	const struct nvtx_process *p = g->idle.p;
	enum span_kind as = kind >= ROW_COPY   ? SPAN_COPY
			    : kind == ROW_COMM ? SPAN_COMM
					       : SPAN_COMPUTE;

	if (p && p->to > p->from && (from < p->from || from >= p->to))
		return;
	/* What is fetched to be saved is saving. */
	if (as == SPAN_COPY && nvtx_saves(&g->idle, from))
		return;
	if (kind == ROW_TO_GPU || kind == ROW_FROM_GPU)
		g->pageable[kind - ROW_TO_GPU] += to - from;
	if (from > g->end)
		nvtx_idle_add(&g->idle, g->end, from);
	g->end = to > g->end ? to : g->end;
	spans_add(&g->spans, as, (double)(from - g->base), (double)(to - g->base));
	nvtx_rounds_add(&g->rounds, as, from, to);
}

static void sqlite_emit_ranges(const struct gpu *g, const struct read_place *p, double over_s)
{
	for (size_t i = 0; g->idle.p && i < g->idle.p->n_names; i++) {
		const struct nvtx_name *name = &g->idle.p->names[i];
		bool part = name->kind == FIGURE_DATA_S || name->kind == FIGURE_CHECKPOINT_S;

		if (part || g->idle.idle[i] > 0)
			read_total(p, part ? name->kind : FIGURE_IDLE_IN_S,
				   ns * (double)g->idle.idle[i], over_s, name->text);
	}
}

/* Where it drives one GPU, the steps are that one's. */
static void sqlite_emit_steps(struct gpu *g, struct read_place p)
{
	const struct nvtx_process *x = g->idle.p;

	nvtx_rounds_end(&g->rounds);
	for (size_t i = 0; i < x->n_steps; i++) {
		p.step = x->steps[i].number >= 0 ? x->steps[i].number : (long long)i;
		read_figure(&p, FIGURE_STEP_S, ns * (double)(x->steps[i].to - x->steps[i].from),
			    "NVTX range");
		if (isfinite(g->rounds.exposed[i]))
			read_figure(&p, FIGURE_STEP_EXPOSED_S, ns * g->rounds.exposed[i], NULL);
	}
}

/* One GPU is over. Its time is that of the steps, or else from its first to its last kernel or
 * copy. */
static void sqlite_emit(struct gpu *g, struct read_place p, struct watched *w)
{
	const struct nvtx_process *x = g->idle.p;
	bool steps = x && x->to > x->from;
	double from = steps ? 0 : g->spans.first, to = g->spans.last;

	if (!g->spans.begun)
		return;
	if (steps) {
		/* The GPU is behind the host, and ends later. */
		nvtx_idle_add(&g->idle, g->end, x->to);
		to = fmax(to, (double)(x->to - x->from));
	}
	w->gpus++;
	p.rank = g->id >= 0 && g->id < INT_MAX ? (int)g->id : -1;
	spans_emit(&g->spans, &p, from, to, ns, NULL, NULL);
	w->most_s = fmax(w->most_s, ns * (to - from));
	sqlite_emit_ranges(g, &p, ns * (to - from));
	for (size_t i = 0; i < 2; i++)
		if (g->pageable[i] > 0)
			read_total(&p, FIGURE_COPY_PAGEABLE_S, ns * (double)g->pageable[i],
				   ns * (to - from), i ? "from the GPU" : "to the GPU");
	if (!steps)
		return;
	sqlite_emit_steps(g, p);
	w->from = w->to > w->from && w->from < x->from ? w->from : x->from;
	w->to = w->to > x->to ? w->to : x->to;
}

/* Kernels and copies of each GPU, and steps. 0 or *q's error. */
static int read_sqlite_gpus(struct sql *q, const struct read_place *p, struct watched *w)
{
	struct numbering by;
	struct sqlite3_stmt *s = ask_spans(q, &by);
	struct gpu g = { .id = -1 };
	struct owners owners = { 0 };
	struct nvtx ranges = { 0 };

	if (!s)
		return sql_broken(q);
	if (sql_has(q, "NVTX_EVENTS")) {
		nvtx_read(q, &ranges);
		find_owners(q, &by, &owners);
	}
	while (w->rows < ROWS_MAX && sql_row(q, s)) {
		int64_t d = sql_integer(q, s, 0), from = sql_integer(q, s, 1),
			to = sql_integer(q, s, 2);

		w->rows++;
		if (from < 0 || to < from || d < 0)
			continue;
		if (d != g.id) {
			sqlite_emit(&g, *p, w);
			begin(q->a, &g, d, from, owner(&owners, &ranges, d));
		}
		sqlite_add(&g, from, to, sql_integer(q, s, 3));
	}
	sqlite_emit(&g, *p, w);
	sql_end(q, s);
	return q->late ? sql_broken(q) : 0;
}

enum { NAMES_MAX = 200 };

/* The steps that ranges mark; all, where there are none. */
static const char *within(struct arena *a, const struct watched *w, const char *table)
{
	if (w->to <= w->from)
		return "1";
	return arena_printf(a, "%s.start >= %lld AND %s.start < %lld", table, (long long)w->from,
			    table, (long long)w->to);
}

/* Of all threads of all processes together: a GPU's part of it. */
static void sqlite_host(struct sql *q, const struct read_place *p, const struct watched *w)
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
static int sqlite_is_whole(struct sql *q, const char *path, struct err *e)
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
			       "%s: incomplete: nsys could not process all collected events (%.*s)",
			       path, (int)strcspn(why, "\n"), why);
	}
	return 0;
}

static void sqlite_gpus(struct sql *q, struct read_place p)
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

static int open_sqlite(struct run_evidence *ev, size_t file, const char *path, struct err *e)
{
	struct read_place p = { .ev = ev, .file = file, .rank = -1, .step = -1 };
	struct sql q;
	struct watched w = { 0 };
	int code = sql_open(&q, ev->arena, path, e);

	if (code == -ELIBACC)
		err_hint(e, "install libsqlite3 (libsqlite3-0, sqlite-libs)");
	if (!code && (!sql_has(&q, "CUPTI_ACTIVITY_KIND_KERNEL") || !sql_has(&q, "StringIds")))
		code = q.late ? sql_broken(&q)
			      : err_set(e, -EBADMSG,
					"%s: not an nsys export with kernels (tables "
					"CUPTI_ACTIVITY_KIND_KERNEL and StringIds)",
					path);
	if (!code) {
		code = sqlite_is_whole(&q, path, e);
		if (code)
			err_hint(e, "record with an nsys not older than the driver's CUDA version; "
				    "missing events would look like GPU idle time");
	}
	if (!code)
		code = read_sqlite_gpus(&q, &p, &w);
	if (!code && w.gpus > 0) {
		sqlite_host(&q, &p, &w);
		products(&q, &p, &w);
	}
	if (!code && sql_has(&q, "TARGET_INFO_GPU"))
		sqlite_gpus(&q, p);
	sql_close(&q);
	ev->files[file].lines = ev->files[file].used = w.rows;
	if (code == -EINVAL)
		code = -EBADMSG;
	return code || w.most_s > 0 ? code : err_set(e, -EBADMSG, "%s: no kernel", path);
}

static bool looks(const char *head, size_t n, const char *path)
{
	(void)path;
	return n >= 16 && memcmp(head, "SQLite format 3", 16) == 0;
}

const struct evidence_format evidence_sqlite = { .name = "nsys SQLite export",
						 .looks = looks,
						 .open = open_sqlite };
