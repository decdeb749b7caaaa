/* SPDX-License-Identifier: Apache-2.0 */
/* Loads libsqlite3 and asks it: bounded in time and size; nothing is written to files of others. */
#include "machine/host/sqlite.h"

#include <ctype.h>
#include <errno.h>
#include <string.h>

#include "base/clock.h"
#include "base/text.h"
#include "machine/host/vendor.h"

/* The library's own numbers (sqlite3.h, which building does not need). */
enum {
	SQLITE_OK = 0,
	SQLITE_BUSY = 5,
	SQLITE_LOCKED = 6,
	SQLITE_READONLY = 8,
	SQLITE_IOERR = 10,
	SQLITE_CORRUPT = 11,
	SQLITE_CANTOPEN = 14,
	SQLITE_NOTADB = 26,
	SQLITE_ROW = 100,
	SQLITE_DONE = 101,
	SQLITE_OPEN_READONLY = 0x1,
	SQLITE_OPEN_READWRITE = 0x2,
	SQLITE_OPEN_CREATE = 0x4,
	SQLITE_OPEN_URI = 0x40,
	SQLITE_OPEN_NOMUTEX = 0x8000,
	SQLITE_LIMIT_LENGTH = 0,
};

enum { TEXT_MAX = 4096, VALUE_MAX = 16 << 20, BUSY_MS = 2000 };

static const double most_s = 60;

static const struct vendor_symbol symbols[] = {
	{ "sqlite3_open_v2", offsetof(struct sql_library, open), NULL },
	{ "sqlite3_close_v2", offsetof(struct sql_library, close), NULL },
	{ "sqlite3_prepare_v2", offsetof(struct sql_library, prepare), NULL },
	{ "sqlite3_step", offsetof(struct sql_library, step), NULL },
	{ "sqlite3_finalize", offsetof(struct sql_library, finalize), NULL },
	{ "sqlite3_column_int64", offsetof(struct sql_library, integer), NULL },
	{ "sqlite3_column_double", offsetof(struct sql_library, real), NULL },
	{ "sqlite3_column_text", offsetof(struct sql_library, text), NULL },
	{ "sqlite3_limit", offsetof(struct sql_library, limit), NULL },
	{ "sqlite3_progress_handler", offsetof(struct sql_library, progress), NULL },
	{ "sqlite3_errmsg", offsetof(struct sql_library, why), NULL },
	{ "sqlite3_errcode", offsetof(struct sql_library, code), NULL },
	{ "sqlite3_busy_timeout", offsetof(struct sql_library, busy), NULL },
	{ "sqlite3_reset", offsetof(struct sql_library, reset), NULL },
	{ "sqlite3_bind_int64", offsetof(struct sql_library, bind_integer), NULL },
	{ "sqlite3_bind_double", offsetof(struct sql_library, bind_real), NULL },
	{ "sqlite3_bind_text", offsetof(struct sql_library, bind_text), NULL },
};

enum { SYMBOLS = sizeof(symbols) / sizeof(symbols[0]) };
_Static_assert(SYMBOLS * sizeof(void (*)(void)) == sizeof(struct sql_library),
	       "one symbol a member");

static int sqlite_load(struct sql *q)
{
	const char *lacks;

	if (vendor_open("libsqlite3.so.0", symbols, SYMBOLS, &q->lib, &q->handle)) {
		q->handle = NULL;
		return err_set(q->e, -ELIBACC, "%s: libsqlite3 is required but not installed",
			       q->path);
	}
	lacks = vendor_lacks(symbols, SYMBOLS, &q->lib);
	if (lacks)
		return err_set(q->e, -ELIBACC, "%s: the installed libsqlite3 has no %s", q->path,
			       lacks);
	return 0;
}

static int too_late(void *ctx)
{
	struct sql *q = ctx;

	q->late = clock_mono_s() > q->until;
	return q->late;
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

/* What the library's number means for whoever uses the file. */
static const char *sql_meaning(int code)
{
	switch (code & 0xff) {
	case SQLITE_BUSY:
	case SQLITE_LOCKED:
		return "another process has locked the file, or its file system has no locks "
		       "(NFS); try again later, or copy the file to a local disk";
	case SQLITE_IOERR:
		return "the file cannot be read, written or locked; copy the file to a local disk";
	case SQLITE_CORRUPT:
		return "the file is damaged; move the file away and add its sources again";
	case SQLITE_NOTADB:
		return "not a SQLite database";
	case SQLITE_READONLY:
	case SQLITE_CANTOPEN:
		return "cannot be opened for writing";
	default:
		return NULL;
	}
}

int sql_broken(struct sql *q)
{
	const char *means = q->db ? sql_meaning(q->lib.code(q->db)) : NULL;

	if (q->late)
		return err_set(q->e, -EINVAL, "%s: reading takes longer than %.0f s", q->path,
			       most_s);
	if (means)
		return err_set(q->e, -EINVAL, "%s: %s", q->path, means);
	return err_set(q->e, -EINVAL, "%s: %.200s", q->path,
		       q->db ? q->lib.why(q->db) : "out of memory");
}

/* -EINVAL: the library takes no such name. */
static int sql_open_as(struct sql *q, struct arena *a, const char *path, const char *name,
		       int flags, struct err *e)
{
	static const char *const quiet[] = { "PRAGMA trusted_schema = OFF",
					     "PRAGMA temp_store = MEMORY",
					     "PRAGMA cell_size_check = ON" };
	int code;

	*q = (struct sql){ .a = a, .path = path, .e = e };
	code = sqlite_load(q);
	if (code)
		return code;
	q->until = clock_mono_s() + most_s;
	if (q->lib.open(name, &q->db, flags | SQLITE_OPEN_NOMUTEX, NULL) != SQLITE_OK)
		return sql_broken(q);
	q->lib.limit(q->db, SQLITE_LIMIT_LENGTH, VALUE_MAX);
	q->lib.progress(q->db, 10000, too_late, q);
	for (size_t i = 0; i < sizeof(quiet) / sizeof(quiet[0]); i++) {
		struct sqlite3_stmt *s = sql_ask(q, quiet[i]);

		if (s)
			sql_row(q, s);
		sql_end(q, s);
	}
	return 0;
}

int sql_open(struct sql *q, struct arena *a, const char *path, struct err *e)
{
	return sql_open_as(q, a, path, uri(a, path), SQLITE_OPEN_READONLY | SQLITE_OPEN_URI, e);
}

int sql_open_ours(struct sql *q, struct arena *a, const char *path, bool write, struct err *e)
{
	int code = sql_open_as(
		q, a, path, path,
		write ? SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE : SQLITE_OPEN_READONLY, e);

	if (code)
		return code;
	q->lib.busy(q->db, BUSY_MS);
	/* Whoever writes ten thousand machines' results may take its time. */
	if (write)
		q->until = 1e18;
	return 0;
}

void sql_close(struct sql *q)
{
	if (q->db)
		q->lib.close(q->db);
	if (q->handle)
		vendor_close(q->handle);
	q->db = NULL;
	q->handle = NULL;
}

struct sqlite3_stmt *sql_ask(struct sql *q, const char *sql)
{
	struct sqlite3_stmt *s = NULL;

	return q->lib.prepare(q->db, sql, -1, &s, NULL) == SQLITE_OK ? s : NULL;
}

bool sql_row(struct sql *q, struct sqlite3_stmt *s)
{
	return q->lib.step(s) == SQLITE_ROW;
}

int64_t sql_integer(struct sql *q, struct sqlite3_stmt *s, int column)
{
	return q->lib.integer(s, column);
}

double sql_real(struct sql *q, struct sqlite3_stmt *s, int column)
{
	return q->lib.real(s, column);
}

const char *sql_text(struct sql *q, struct sqlite3_stmt *s, int column)
{
	const char *t = (const char *)q->lib.text(s, column);

	return t && *t ? arena_strndup(q->a, t, strnlen(t, TEXT_MAX)) : NULL;
}

const char *sql_document(struct sql *q, struct sqlite3_stmt *s, int column)
{
	const char *t = (const char *)q->lib.text(s, column);

	return t ? arena_strdup(q->a, t) : NULL;
}

void sql_bind(struct sql *q, struct sqlite3_stmt *s, int at, int64_t v)
{
	if (at == 1)
		q->lib.reset(s);
	q->lib.bind_integer(s, at, v);
}

void sql_bind_real(struct sql *q, struct sqlite3_stmt *s, int at, double v)
{
	q->lib.bind_real(s, at, v);
}

void sql_bind_text(struct sql *q, struct sqlite3_stmt *s, int at, const char *v)
{
	if (at == 1)
		q->lib.reset(s);
	q->lib.bind_text(s, at, v ? v : "", -1, NULL);
}

int sql_finish(struct sql *q, struct sqlite3_stmt *s)
{
	int code;

	do
		code = q->lib.step(s);
	while (code == SQLITE_ROW);
	if (code != SQLITE_DONE)
		(void)sql_broken(q);
	q->lib.reset(s);
	return code == SQLITE_DONE ? 0 : -EINVAL;
}

int sql_run(struct sql *q, const char *sql)
{
	struct sqlite3_stmt *s = sql_ask(q, sql);
	int code = s ? sql_finish(q, s) : sql_broken(q);

	sql_end(q, s);
	return code;
}

void sql_end(struct sql *q, struct sqlite3_stmt *s)
{
	if (s)
		q->lib.finalize(s);
}

bool sql_has(struct sql *q, const char *table)
{
	struct sqlite3_stmt *s =
		sql_ask(q, arena_printf(q->a,
					"SELECT count(*) FROM sqlite_master WHERE type = 'table' "
					"AND name = '%s' AND sql NOT LIKE 'CREATE VIRTUAL%%'",
					table));
	bool there = s && sql_row(q, s) && sql_integer(q, s, 0) > 0;

	sql_end(q, s);
	return there;
}
