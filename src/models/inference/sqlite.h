/* SPDX-License-Identifier: Apache-2.0 */
/*
 * SQLite files of somebody else, through libsqlite3 where the system has it. The file is taken for
 * hostile: opened as immutable (no journal is made beside it), virtual tables are not asked, its
 * schema is not trusted, and all questions to one file together have an end in time.
 */
#ifndef INFERENCE_SQLITE_H
#define INFERENCE_SQLITE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/err.h"

struct sqlite3;
struct sqlite3_stmt;

/* The functions of the library that are asked. */
struct sql_library {
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

struct sql {
	struct sql_library lib;
	void *handle;
	struct sqlite3 *db;
	struct arena *a;
	const char *path;
	struct err *e;
	double until; /* monotonic seconds */
	bool late;    /* the time is over: what is asked now has no answer */
};

/* 0; -ELIBACC: there is no libsqlite3 here (the hint is the caller's); -EINVAL: it is no such file.
 * q must stay where it is until sql_close, which is called after errors too. */
int sql_open(struct sql *q, struct arena *a, const char *path, struct err *e);
void sql_close(struct sql *q);

/* A question; NULL: it has no answer here (a table or column that is not there). */
struct sqlite3_stmt *sql_ask(struct sql *q, const char *sql);
/* The next row is there. */
bool sql_row(struct sql *q, struct sqlite3_stmt *s);
int64_t sql_integer(struct sql *q, struct sqlite3_stmt *s, int column);
double sql_real(struct sql *q, struct sqlite3_stmt *s, int column);
/* In the arena, cut at 4096 bytes; NULL: empty or none. */
const char *sql_text(struct sql *q, struct sqlite3_stmt *s, int column);
/* NULL is allowed. */
void sql_end(struct sql *q, struct sqlite3_stmt *s);

/* There is a plain table of that name. */
bool sql_has(struct sql *q, const char *table);
/* Says why in *e: it takes too long, or what the library says. -EINVAL. */
int sql_broken(struct sql *q);

#endif
