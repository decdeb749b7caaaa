/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The SQLite export of nsys, through libsqlite3 where the system has it. The file is taken for
 * hostile: opened as immutable, views and virtual tables are not asked, its schema is not trusted,
 * and every question has an end in time.
 */
#include <ctype.h>
#include <errno.h>
#include <limits.h>
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/text.h"
#include "host/vendor.h"
#include "predict/roofline.h"

/* The library's own numbers (sqlite3.h, which building does not need). */
enum {
	SQL_OK = 0,
	SQL_ROW = 100,
	SQL_OPEN_READONLY = 0x1,
	SQL_OPEN_URI = 0x40,
	SQL_OPEN_NOMUTEX = 0x8000,
	SQL_LIMIT_LENGTH = 0,
};

enum { TEXT_MAX = 4096, VALUE_MAX = 1 << 20, SPANS_MAX = 20000000 };

static const double most_s = 60;

struct sqlite3;
struct sqlite3_stmt;

struct library {
	int (*open)(const char *, struct sqlite3 **, int, const char *);
	int (*close)(struct sqlite3 *);
	int (*prepare)(struct sqlite3 *, const char *, int, struct sqlite3_stmt **, const char **);
	int (*step)(struct sqlite3_stmt *);
	int (*finalize)(struct sqlite3_stmt *);
	int64_t (*integer)(struct sqlite3_stmt *, int);
	double (*real)(struct sqlite3_stmt *, int);
	const unsigned char *(*text)(struct sqlite3_stmt *, int);
	int (*limit)(struct sqlite3 *, int, int);
	void (*progress)(struct sqlite3 *, int, int (*)(void *), void *);
	const char *(*why)(struct sqlite3 *);
};

static void missing(void)
{
}

static const struct vendor_symbol symbols[] = {
	{ "sqlite3_open_v2", offsetof(struct library, open), missing },
	{ "sqlite3_close_v2", offsetof(struct library, close), missing },
	{ "sqlite3_prepare_v2", offsetof(struct library, prepare), missing },
	{ "sqlite3_step", offsetof(struct library, step), missing },
	{ "sqlite3_finalize", offsetof(struct library, finalize), missing },
	{ "sqlite3_column_int64", offsetof(struct library, integer), missing },
	{ "sqlite3_column_double", offsetof(struct library, real), missing },
	{ "sqlite3_column_text", offsetof(struct library, text), missing },
	{ "sqlite3_limit", offsetof(struct library, limit), missing },
	{ "sqlite3_progress_handler", offsetof(struct library, progress), missing },
	{ "sqlite3_errmsg", offsetof(struct library, why), missing },
};

enum { SYMBOLS = sizeof(symbols) / sizeof(symbols[0]) };

struct reader {
	struct library lib;
	void *handle;
	struct sqlite3 *db;
	struct arena *a;
	struct roof_profile *out;
	const char *path;
	struct err *e;
	double until;
	bool late;
};

/* --- the library --------------------------------------------------------------------------------
 */

static int load(struct reader *r)
{
	void (*all[SYMBOLS])(void);

	if (vendor_open("libsqlite3.so.0", symbols, SYMBOLS, &r->lib, &r->handle)) {
		err_set(r->e, -ELIBACC, "%s: there is no libsqlite3 on this system to read it with",
			r->path);
		err_hint(r->e, "nsys stats --format csv --report cuda_gpu_kern_sum,"
			       "cuda_gpu_mem_time_sum,cuda_gpu_mem_size_sum makes a CSV of it");
		return -ELIBACC;
	}
	_Static_assert(sizeof(all) == sizeof(struct library), "one symbol a member");
	memcpy(all, &r->lib, sizeof(all));
	for (size_t i = 0; i < SYMBOLS; i++)
		if (all[i] == missing) {
			vendor_close(r->handle);
			return err_set(r->e, -ELIBACC, "%s: libsqlite3 here has no %s", r->path,
				       symbols[i].name);
		}
	return 0;
}

static int too_late(void *ctx)
{
	struct reader *r = ctx;

	r->late = clock_mono_s() > r->until;
	return r->late;
}

/* file:PATH?mode=ro&immutable=1: nothing is made beside it, whatever journal it says it has. */
static char *uri(struct arena *a, const char *path)
{
	TEXT_AUTO t = { 0 };

	text_add(&t, "file:");
	for (const char *s = path; *s; s++)
		if (isalnum((unsigned char)*s) || strchr("/._-", *s))
			text_addc(&t, *s);
		else
			text_printf(&t, "%%%02X", (unsigned)(unsigned char)*s);
	text_add(&t, "?mode=ro&immutable=1");
	return arena_strdup(a, t.s);
}

static int broken(struct reader *r)
{
	if (r->late)
		return err_set(r->e, -EINVAL, "%s: reading it takes longer than %.0f s", r->path,
			       most_s);
	return err_set(r->e, -EINVAL, "%s: %.200s", r->path,
		       r->db ? r->lib.why(r->db) : "no memory");
}

/* A question; its rows are asked for with step. NULL: it has no answer here. */
static struct sqlite3_stmt *ask(struct reader *r, const char *sql)
{
	struct sqlite3_stmt *s = NULL;

	if (r->lib.prepare(r->db, sql, -1, &s, NULL) != SQL_OK)
		return NULL;
	return s;
}

static double one_number(struct reader *r, const char *sql)
{
	struct sqlite3_stmt *s = ask(r, sql);
	double v = 0;

	if (s && r->lib.step(s) == SQL_ROW)
		v = r->lib.real(s, 0);
	if (s)
		r->lib.finalize(s);
	return isfinite(v) ? v : 0;
}

/* A plain table of that name. */
static bool has(struct reader *r, const char *table)
{
	return one_number(r, arena_printf(r->a,
					  "SELECT count(*) FROM sqlite_master WHERE type = 'table' "
					  "AND name = '%s' AND sql NOT LIKE 'CREATE VIRTUAL%%'",
					  table)) > 0;
}

/* --- what is asked ------------------------------------------------------------------------------
 */

static const char *text_at(struct reader *r, struct sqlite3_stmt *s, int i)
{
	const char *t = (const char *)r->lib.text(s, i);

	return t && *t ? arena_strndup(r->a, t, strnlen(t, TEXT_MAX)) : NULL;
}

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
	struct sqlite3_stmt *s = ask(r, asks[0]);
	int code;

	s = s ? s : ask(r, asks[1]);
	if (!s)
		return broken(r);
	while ((code = r->lib.step(s)) == SQL_ROW) {
		const char *name = text_at(r, s, 0);
		struct roof_point *p = name ? roof_point_of(r->a, r->out, name) : NULL;
		double ns = sound(r->lib.real(s, 2));

		if (!p || !(ns > 0)) {
			r->out->dropped++;
			continue;
		}
		p->launches += sound(r->lib.real(s, 1));
		p->time_ms += 1e-6 * ns;
		p->shortest_ms = 1e-6 * sound(r->lib.real(s, 3));
		p->longest_ms = 1e-6 * sound(r->lib.real(s, 4));
		p->blocks = sound(r->lib.real(s, 5));
	}
	r->lib.finalize(s);
	return code == SQL_ROW || !r->late ? 0 : broken(r);
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
		ask(r, "SELECT copyKind, count(*), sum(\"end\" - start), sum(bytes) "
		       "FROM CUPTI_ACTIVITY_KIND_MEMCPY GROUP BY copyKind LIMIT 64");

	while (s && r->lib.step(s) == SQL_ROW)
		for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
			struct roof_point *p;
			double ns = sound(r->lib.real(s, 2));

			if (r->lib.integer(s, 0) != kinds[i].kind || !(ns > 0) ||
			    !(p = roof_point_of(r->a, r->out, kinds[i].name)))
				continue;
			p->copy = true;
			p->way = kinds[i].way;
			p->launches += sound(r->lib.real(s, 1));
			p->time_ms += 1e-6 * ns;
			p->bytes += sound(r->lib.real(s, 3));
		}
	if (s)
		r->lib.finalize(s);
}

/* The part of the span in which a kernel ran, of all GPUs added up: spans in order, joined. */
static void busy(struct reader *r)
{
	struct sqlite3_stmt *s = ask(r, "SELECT deviceId, start, \"end\" FROM "
					"CUPTI_ACTIVITY_KIND_KERNEL ORDER BY deviceId, start");
	int64_t device = -1, from = 0, to = 0;
	double ran = 0, span = 0;
	long n = 0;

	while (s && n++ < SPANS_MAX && r->lib.step(s) == SQL_ROW) {
		int64_t d = r->lib.integer(s, 0), begin = r->lib.integer(s, 1),
			end = r->lib.integer(s, 2);

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
	if (s)
		r->lib.finalize(s);
	r->out->busy_ms = 1e-6 * ran;
	r->out->span_ms = 1e-6 * span;
}

static int all(struct reader *r)
{
	struct sqlite3_stmt *s;
	int code;

	if (!has(r, "CUPTI_ACTIVITY_KIND_KERNEL") || !has(r, "StringIds"))
		return r->late ? broken(r)
			       : err_set(r->e, -EINVAL,
					 "%s: no export of nsys with kernels in it (tables "
					 "CUPTI_ACTIVITY_KIND_KERNEL and StringIds)",
					 r->path);
	code = kernels(r);
	if (code)
		return code;
	if (has(r, "CUPTI_ACTIVITY_KIND_MEMCPY"))
		copies(r);
	busy(r);
	if (has(r, "TARGET_INFO_GPU")) {
		s = ask(r, "SELECT name FROM TARGET_INFO_GPU LIMIT 1");
		if (s && r->lib.step(s) == SQL_ROW)
			r->out->gpu = text_at(r, s, 0);
		if (s)
			r->lib.finalize(s);
	}
	if (r->late)
		return broken(r);
	return r->out->n ? 0 : err_set(r->e, -EINVAL, "%s: no kernel in it", r->path);
}

int roof_read_sqlite(struct arena *a, const char *path, struct roof_profile *out, struct err *e)
{
	static const char *const quiet[] = { "PRAGMA trusted_schema = OFF",
					     "PRAGMA temp_store = MEMORY",
					     "PRAGMA cell_size_check = ON" };
	struct reader r = { .a = a, .out = out, .path = path, .e = e };
	struct sqlite3_stmt *s;
	int code;

	*out = (struct roof_profile){ .source = "nsys, SQLite export" };
	code = load(&r);
	if (code)
		return code;
	r.until = clock_mono_s() + most_s;
	code = r.lib.open(uri(a, path), &r.db, SQL_OPEN_READONLY | SQL_OPEN_URI | SQL_OPEN_NOMUTEX,
			  NULL);
	if (code != SQL_OK) {
		code = broken(&r);
	} else {
		r.lib.limit(r.db, SQL_LIMIT_LENGTH, VALUE_MAX);
		r.lib.progress(r.db, 10000, too_late, &r);
		for (size_t i = 0; i < sizeof(quiet) / sizeof(quiet[0]); i++)
			if ((s = ask(&r, quiet[i]))) {
				r.lib.step(s);
				r.lib.finalize(s);
			}
		code = all(&r);
	}
	r.lib.close(r.db);
	vendor_close(r.handle);
	return code;
}
