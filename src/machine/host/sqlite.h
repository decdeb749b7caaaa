/* SPDX-License-Identifier: Apache-2.0 */
/*
 * SQLite files, through libsqlite3 where the system has it. One of somebody else is taken for
 * hostile: opened as immutable (no journal is made beside it), virtual tables are not asked, its
 * schema is not trusted, and all questions to one file together have an end in time.
 */
#ifndef HOST_SQLITE_H
#define HOST_SQLITE_H

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
	int (*code)(struct sqlite3 *);
	int (*busy)(struct sqlite3 *, int);
	int (*reset)(struct sqlite3_stmt *);
	int (*bind_integer)(struct sqlite3_stmt *, int, int64_t);
	int (*bind_real)(struct sqlite3_stmt *, int, double);
	int (*bind_text)(struct sqlite3_stmt *, int, const char *, int, void (*)(void *));
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
/* A file of ours: other processes' locks are kept to, for some seconds; write: it is made where it
 * is missing. What it holds is trusted as little. As sql_open. */
int sql_open_ours(struct sql *q, struct arena *a, const char *path, bool write, struct err *e);
void sql_close(struct sql *q);

/* A question; NULL: it has no answer here (a table or column that is not there). */
struct sqlite3_stmt *sql_ask(struct sql *q, const char *sql);
/* The next row is there. */
bool sql_row(struct sql *q, struct sqlite3_stmt *s);
int64_t sql_integer(struct sql *q, struct sqlite3_stmt *s, int column);
double sql_real(struct sql *q, struct sqlite3_stmt *s, int column);
/* In the arena, cut at 4096 bytes; NULL: empty or none. */
const char *sql_text(struct sql *q, struct sqlite3_stmt *s, int column);
/* The same whole; NULL for NULL alone. */
const char *sql_document(struct sql *q, struct sqlite3_stmt *s, int column);
/* Values of a question asked again and again, from 1 on: it begins anew with the first. A
 * text (NULL is "") stays where it is until the answer is read. */
void sql_bind(struct sql *q, struct sqlite3_stmt *s, int at, int64_t v);
void sql_bind_real(struct sql *q, struct sqlite3_stmt *s, int at, double v);
void sql_bind_text(struct sql *q, struct sqlite3_stmt *s, int at, const char *v);
/* Something that has no rows, to its end: 0, or as sql_broken. */
int sql_run(struct sql *q, const char *sql);
int sql_finish(struct sql *q, struct sqlite3_stmt *s);
/* NULL is allowed. */
void sql_end(struct sql *q, struct sqlite3_stmt *s);

/* There is a plain table of that name. */
bool sql_has(struct sql *q, const char *table);
/* Says why in *e: it takes too long, is locked, damaged, or what the library says. -EINVAL. */
int sql_broken(struct sql *q);

#endif
