/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What machines were over the years, in one SQLite file: a row a change. A fact (a finding, a
 * version, a package, a proof) is kept from when it was first seen to when it was last seen; seen
 * again unchanged it makes no row. A measured figure is kept with its time. Documents may come in
 * any order and more than once. What they say is anybody's text: bounded, checked, and believed of
 * their own machine alone.
 */
#ifndef HISTORY_HISTORY_H
#define HISTORY_HISTORY_H

#include <stdbool.h>
#include <stddef.h>

#include "base/arena.h"
#include "machine/host/sqlite.h"

enum {
	HISTORY_FORMAT = 1,
	HISTORY_APPLICATION = 0x67707475, /* "gptu" */
	HISTORY_TEXT_MAX = 1024,	  /* bytes of one text that is kept */
	HISTORY_MACHINES_MAX = 1 << 17,
	HISTORY_ITEMS_MAX = 1 << 18,
	HISTORY_FUTURE_S = 86400, /* a clock may be fast by this */
};

/* Prepared for who writes. */
enum history_question {
	GIVE_MACHINE, /* the id, made where there is none */
	GIVE_ITEM,
	GIVE_ANSWER,
	FACT_BEFORE,
	FACT_AFTER,
	FACT_INSERT,
	FACT_EXTEND,
	FACT_BEGIN,
	FIGURE_INSERT,
	MACHINE_CLAIM, /* its identity: a row where it has none, or that one */
	HISTORY_QUESTIONS
};

struct history {
	struct sql sql;
	struct arena *a;
	const char *path;
	bool writing;
	struct map machines, items, answers; /* keys to ids that were looked up */
	struct sqlite3_stmt *ask[HISTORY_QUESTIONS];
	size_t n_machines, n_items;
	long long now_s;
};

struct history_sum {
	size_t documents, facts, changes, figures; /* facts: seen; changes: rows that were added */
};

/* 0; -EINVAL and *e: it is locked, damaged, of another program or a later version, or this is no
 * place for one. write: it is made where it is missing. history_close after errors, too. */
int history_open(struct history *h, struct arena *a, const char *path, bool write, struct err *e);
/* The same of a file that nobody writes meanwhile, without locks, for a process behind the fence.
 */
int history_open_still(struct history *h, struct arena *a, const char *path, struct err *e);
/* The first figure of the first row of that question; missing: there is none. */
long long history_number(struct history *h, const char *sql, long long missing);
/* The same as text; NULL: none. */
const char *history_text(struct history *h, const char *sql);
/* All that was added since is kept when it returns 0, and nothing otherwise. */
int history_commit(struct history *h);
void history_close(struct history *h);
/* Rows of figures beyond keep_days become one a week, and free pages go. */
int history_compact(struct history *h, int keep_days);

/*
 * Results, lines of ledgers and logs of dpkg, as read_path finds them; name: of the machine where
 * they name none (NULL: then they are refused). refuse is called with each that is not taken; the
 * others are. -EINVAL and *e: the database cannot be written.
 */
int history_add(struct history *h, const char *path, const char *name,
		void (*refuse)(void *ctx, const char *file, const char *why), void *ctx,
		struct history_sum *sum, struct err *e);

/* Everything as lines of CSV, in the order of machines and times; -EINVAL and *e. */
int history_csv(struct history *h, void (*line)(void *ctx, const char *text, size_t len), void *ctx,
		struct err *e);
/* A document of each machine as it is now, for fleet_add. */
int history_now(struct history *h,
		void (*document)(void *ctx, const char *machine, const char *text, size_t len),
		void *ctx, struct err *e);

/* --- for history/ alone ----------------------------------------------------------------------- */

/* One fact of a machine at a time. 0, or the file cannot be written. */
struct history_fact {
	const char *kind, *name, *target, *unit; /* NULL is "" */
	const char *state, *value, *wanted;
};
int history_machine(struct history *h, const char *name, const char *identity, long long *id);
int history_put(struct history *h, long long machine, long long t, const struct history_fact *f,
		struct history_sum *sum);
int history_measure(struct history *h, long long machine, long long t, const struct history_fact *f,
		    double value, struct history_sum *sum);

#endif
