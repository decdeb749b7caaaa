/* SPDX-License-Identifier: Apache-2.0 */
/* The file: made, opened, and its rows. */
#include "many/history/history.h"

#include <errno.h>
#include <stdint.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <time.h>
#include <unistd.h>

#include "base/text.h"

/* NFS_SUPER_MAGIC of linux/magic.h. */
enum { NFS = 0x6969 };

static const char *const tables[] = {
	"CREATE TABLE machine(id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE, identity TEXT NOT "
	"NULL DEFAULT '')",
	"CREATE TABLE item(id INTEGER PRIMARY KEY, kind TEXT NOT NULL, name TEXT NOT NULL, target "
	"TEXT NOT NULL, unit TEXT NOT NULL, UNIQUE(kind, name, target, unit))",
	"CREATE TABLE answer(id INTEGER PRIMARY KEY, state TEXT NOT NULL, value TEXT NOT NULL, "
	"wanted TEXT NOT NULL, UNIQUE(state, value, wanted))",
	"CREATE TABLE fact(machine INTEGER, item INTEGER, first INTEGER, last INTEGER NOT NULL, "
	"answer INTEGER NOT NULL, PRIMARY KEY(machine, item, first)) WITHOUT ROWID",
	"CREATE TABLE figure(machine INTEGER, item INTEGER, t INTEGER, value REAL NOT NULL, "
	"PRIMARY KEY(machine, item, t)) WITHOUT ROWID",
};

static const char *const questions[HISTORY_QUESTIONS] = {
	[GIVE_MACHINE] = "INSERT INTO machine(name) VALUES(?) ON CONFLICT DO UPDATE SET name = "
			 "name RETURNING id",
	[GIVE_ITEM] = "INSERT INTO item(kind, name, target, unit) VALUES(?, ?, ?, ?) ON CONFLICT "
		      "DO UPDATE SET kind = kind RETURNING id",
	[GIVE_ANSWER] = "INSERT INTO answer(state, value, wanted) VALUES(?, ?, ?) ON CONFLICT DO "
			"UPDATE SET state = state RETURNING id",
	[FACT_BEFORE] = "SELECT first, last, answer FROM fact WHERE machine = ? AND item = ? AND "
			"first <= ? ORDER BY first DESC LIMIT 1",
	[FACT_AFTER] = "SELECT first, last, answer FROM fact WHERE machine = ? AND item = ? AND "
		       "first > ? ORDER BY first LIMIT 1",
	[FACT_INSERT] = "INSERT OR REPLACE INTO fact(machine, item, first, last, answer) "
			"VALUES(?, ?, ?, ?, ?)",
	[FACT_EXTEND] = "UPDATE fact SET last = ? WHERE machine = ? AND item = ? AND first = ?",
	[FACT_BEGIN] = "UPDATE fact SET first = ? WHERE machine = ? AND item = ? AND first = ?",
	[FIGURE_INSERT] = "INSERT OR IGNORE INTO figure(machine, item, t, value) VALUES(?, ?, ?, "
			  "?)",
	[MACHINE_CLAIM] = "UPDATE machine SET identity = ?1 WHERE id = ?2 AND identity IN ('', "
			  "?1) RETURNING id",
};

long long history_number(struct history *h, const char *sql, long long missing)
{
	struct sqlite3_stmt *s = sql_ask(&h->sql, sql);
	long long v = s && sql_row(&h->sql, s) ? sql_integer(&h->sql, s, 0) : missing;

	sql_end(&h->sql, s);
	return v;
}

const char *history_text(struct history *h, const char *sql)
{
	struct sqlite3_stmt *s = sql_ask(&h->sql, sql);
	const char *v = s && sql_row(&h->sql, s) ? sql_text(&h->sql, s, 0) : NULL;

	sql_end(&h->sql, s);
	return v;
}

/* One that was just made holds nothing. */
static int make_tables(struct history *h)
{
	int code = sql_run(&h->sql, "PRAGMA journal_mode = DELETE");

	code = code ? code : sql_run(&h->sql, "BEGIN IMMEDIATE");
	/* Another process may have made them meanwhile. */
	if (code == 0 && history_number(h, "SELECT count(*) FROM sqlite_master", 0) > 0)
		return sql_run(&h->sql, "COMMIT");
	for (size_t i = 0; code == 0 && i < sizeof(tables) / sizeof(tables[0]); i++)
		code = sql_run(&h->sql, tables[i]);
	code = code ? code
		    : sql_run(&h->sql, arena_printf(h->a, "PRAGMA application_id = %d",
						    HISTORY_APPLICATION));
	code = code ? code
		    : sql_run(&h->sql,
			      arena_printf(h->a, "PRAGMA user_version = %d", HISTORY_FORMAT));
	return code ? code : sql_run(&h->sql, "COMMIT");
}

static int check_format(struct history *h, struct err *e)
{
	long long application = history_number(h, "PRAGMA application_id", -1), version;

	if (application < 0)
		return sql_broken(&h->sql);
	if (application != HISTORY_APPLICATION)
		return err_set(e, -EINVAL, "%s: not a history of gputune; give another path",
			       h->path);
	version = history_number(h, "PRAGMA user_version", 0);
	if (version == HISTORY_FORMAT)
		return 0;
	return err_set(e, -EINVAL,
		       "%s: format %lld, written by another version of gputune; this version reads "
		       "format %d",
		       h->path, version, HISTORY_FORMAT);
}

/* A log of SQLite's that is shared through memory does not work over NFS. */
static int check_place(struct history *h, struct err *e)
{
	const char *mode = history_text(h, "PRAGMA journal_mode");
	struct statfs fs;

	if (mode && strcmp(mode, "wal") == 0 && statfs(h->path, &fs) == 0 && fs.f_type == NFS)
		return err_set(e, -EINVAL,
			       "%s: its journal mode \"wal\" does not work on NFS; copy it to a "
			       "local disk",
			       h->path);
	return 0;
}

static int prepare_all(struct history *h)
{
	for (size_t i = 0; i < HISTORY_QUESTIONS; i++) {
		h->ask[i] = sql_ask(&h->sql, questions[i]);
		if (!h->ask[i])
			return sql_broken(&h->sql);
	}
	h->n_machines = (size_t)history_number(h, "SELECT max(id) FROM machine", 0);
	h->n_items = (size_t)history_number(h, "SELECT max(id) FROM item", 0);
	return sql_run(&h->sql, "BEGIN IMMEDIATE");
}

int history_open(struct history *h, struct arena *a, const char *path, bool write, struct err *e)
{
	struct stat st;
	bool there = stat(path, &st) == 0;
	int code;

	*h = (struct history){ .a = a, .path = path, .now_s = (long long)time(NULL) };
	if (there && !S_ISREG(st.st_mode))
		return err_set(e, -EINVAL, "%s: not a regular file", path);
	if (!there && !write)
		return err_set(e, -ENOENT, "%s: no history yet; \"gputune since add\" begins one",
			       path);
	code = sql_open_ours(&h->sql, a, path, write, e);
	if (code == 0 && write && (!there || st.st_size == 0))
		code = make_tables(h);
	code = code ? code : check_format(h, e);
	code = code ? code : check_place(h, e);
	if (code == 0 && write) {
		code = prepare_all(h);
		h->writing = code == 0;
	}
	return code;
}

int history_open_still(struct history *h, struct arena *a, const char *path, struct err *e)
{
	int code;

	*h = (struct history){ .a = a, .path = path, .now_s = (long long)time(NULL) };
	if (access(arena_printf(a, "%s-journal", path), F_OK) == 0)
		return err_set(e, -EINVAL,
			       "%s is being written, or a write was interrupted; try again", path);
	code = sql_open(&h->sql, a, path, e);
	return code ? code : check_format(h, e);
}

int history_commit(struct history *h)
{
	int code = sql_run(&h->sql, "COMMIT");

	h->writing = h->writing && code != 0;
	return code;
}

void history_close(struct history *h)
{
	struct err unsaid;

	for (size_t i = 0; i < HISTORY_QUESTIONS; i++)
		sql_end(&h->sql, h->ask[i]);
	if (h->writing) {
		h->sql.e = &unsaid;
		(void)sql_run(&h->sql, "ROLLBACK");
	}
	sql_close(&h->sql);
	*h = (struct history){ 0 };
}

int history_compact(struct history *h, int keep_days)
{
	/* Of each week the middle one stays. */
	const char *thin = arena_printf(
		h->a,
		"DELETE FROM figure WHERE t < %lld AND (machine, item, t) IN (SELECT machine, "
		"item, t FROM (SELECT machine, item, t, row_number() OVER (PARTITION BY machine, "
		"item, t / 604800 ORDER BY value) AS r, count(*) OVER (PARTITION BY machine, item, "
		"t / 604800) AS n FROM figure WHERE t < %lld) WHERE r <> (n + 1) / 2)",
		h->now_s - keep_days * 86400LL, h->now_s - keep_days * 86400LL);
	int code = sql_run(&h->sql, thin);

	code = code ? code
		    : sql_run(&h->sql,
			      "DELETE FROM answer WHERE id NOT IN (SELECT answer FROM fact)");
	code = code ? code : history_commit(h);
	return code ? code : sql_run(&h->sql, "VACUUM");
}

/* --- rows ------------------------------------------------------------------------------------- */

/* Cut at a whole character. */
static const char *bounded(struct arena *a, const char *s)
{
	return s ? utf8_clean(a, arena_strndup(a, s, utf8_cut(s, HISTORY_TEXT_MAX))) : "";
}

/* The id of these words. Below 0: the file cannot be written. */
static long long id_of(struct history *h, struct map *known, enum history_question give,
		       const char *const *words, int n)
{
	struct sqlite3_stmt *s = h->ask[give];
	TEXT_AUTO key = { 0 };
	long long id = 0;
	void **place;

	for (int i = 0; i < n; i++)
		text_printf(&key, "%zu:%s", strlen(words[i]), words[i]);
	place = map_at(h->a, known, key.s);
	if (*place)
		return (long long)(intptr_t)*place;
	for (int k = 0; k < n; k++)
		sql_bind_text(&h->sql, s, k + 1, words[k]);
	if (sql_row(&h->sql, s))
		id = sql_integer(&h->sql, s, 0);
	h->sql.lib.reset(s);
	h->n_items = give == GIVE_ITEM && (size_t)id > h->n_items ? (size_t)id : h->n_items;
	h->n_machines =
		give == GIVE_MACHINE && (size_t)id > h->n_machines ? (size_t)id : h->n_machines;
	*place = (void *)(intptr_t)id;
	return id ? id : sql_broken(&h->sql);
}

/* Another machine may have the name: a board that was replaced, or two that are called alike. Each
 * is kept, the later one by its identity as well. */
int history_machine(struct history *h, const char *name, const char *identity, long long *id)
{
	bool ours;

	name = bounded(h->a, name);
	*id = id_of(h, &h->machines, GIVE_MACHINE, &name, 1);
	if (*id < 0 || !identity || !*identity)
		return *id < 0 ? -EINVAL : 0;
	sql_bind_text(&h->sql, h->ask[MACHINE_CLAIM], 1, identity);
	h->sql.lib.bind_integer(h->ask[MACHINE_CLAIM], 2, *id);
	ours = sql_row(&h->sql, h->ask[MACHINE_CLAIM]);
	h->sql.lib.reset(h->ask[MACHINE_CLAIM]);
	if (ours)
		return 0;
	name = arena_printf(h->a, "%s#%.8s", name, identity);
	*id = id_of(h, &h->machines, GIVE_MACHINE, &name, 1);
	return *id < 0 ? -EINVAL : 1;
}

struct span {
	long long first, last, answer;
};

/* The row at or before t, or the one behind it. */
static bool span_at(struct history *h, struct sqlite3_stmt *s, const long long *key, long long t,
		    struct span *out)
{
	bool there;

	sql_bind(&h->sql, s, 1, key[0]);
	sql_bind(&h->sql, s, 2, key[1]);
	sql_bind(&h->sql, s, 3, t);
	there = sql_row(&h->sql, s);
	if (there)
		*out = (struct span){ sql_integer(&h->sql, s, 0), sql_integer(&h->sql, s, 1),
				      sql_integer(&h->sql, s, 2) };
	h->sql.lib.reset(s);
	return there;
}

static int span_insert(struct history *h, const long long *key, long long first, long long last,
		       long long answer)
{
	const long long values[] = { key[0], key[1], first, last, answer };

	for (int i = 0; i < 5; i++)
		sql_bind(&h->sql, h->ask[FACT_INSERT], i + 1, values[i]);
	return sql_finish(&h->sql, h->ask[FACT_INSERT]);
}

static int span_move(struct history *h, struct sqlite3_stmt *s, const long long *key,
		     const struct span *at, long long to)
{
	const long long values[] = { to, key[0], key[1], at->first };

	for (int i = 0; i < 4; i++)
		sql_bind(&h->sql, s, i + 1, values[i]);
	return sql_finish(&h->sql, s);
}

/* At t the item had this answer: nothing is forgotten that was known of other times. */
static int span_put(struct history *h, const long long *key, long long t, long long answer,
		    struct history_sum *sum)
{
	struct span was, next;
	bool before = span_at(h, h->ask[FACT_BEFORE], key, t, &was);

	if (before && was.answer == answer)
		return t > was.last ? span_move(h, h->ask[FACT_EXTEND], key, &was, t) : 0;
	if (before && t == was.first)
		return 0; /* two documents of one second: the first counts */
	if (span_at(h, h->ask[FACT_AFTER], key, t, &next) && next.answer == answer &&
	    (!before || t > was.last))
		return span_move(h, h->ask[FACT_BEGIN], key, &next, t);
	sum->changes++;
	/* Within what was taken for one: it was so at both ends, and is known no better between. */
	if (before && t < was.last) {
		int code = span_move(h, h->ask[FACT_EXTEND], key, &was, was.first);

		code = code ? code : span_insert(h, key, was.last, was.last, was.answer);
		return code ? code : span_insert(h, key, t, t, answer);
	}
	if (before && t == was.last)
		return 0;
	return span_insert(h, key, t, t, answer);
}

static long long item_of(struct history *h, const struct history_fact *f)
{
	const char *words[] = { f->kind, bounded(h->a, f->name), bounded(h->a, f->target),
				bounded(h->a, f->unit) };

	return id_of(h, &h->items, GIVE_ITEM, words, 4);
}

int history_put(struct history *h, long long machine, long long t, const struct history_fact *f,
		struct history_sum *sum)
{
	const char *words[] = { bounded(h->a, f->state), bounded(h->a, f->value),
				bounded(h->a, f->wanted) };
	long long key[] = { machine, item_of(h, f) };
	long long answer = id_of(h, &h->answers, GIVE_ANSWER, words, 3);

	sum->facts++;
	return key[1] < 0 || answer < 0 ? -EINVAL : span_put(h, key, t, answer, sum);
}

int history_measure(struct history *h, long long machine, long long t, const struct history_fact *f,
		    double value, struct history_sum *sum)
{
	long long key[] = { machine, item_of(h, f), t };

	if (key[1] < 0)
		return -EINVAL;
	for (int i = 0; i < 3; i++)
		sql_bind(&h->sql, h->ask[FIGURE_INSERT], i + 1, key[i]);
	sql_bind_real(&h->sql, h->ask[FIGURE_INSERT], 4, value);
	sum->figures++;
	return sql_finish(&h->sql, h->ask[FIGURE_INSERT]);
}
