/* SPDX-License-Identifier: Apache-2.0 */
/* What the file holds, for other programs: CSV, and documents that a fleet compares. */
#include <string.h>

#include "base/text.h"
#include "many/history/history.h"

struct exporting {
	struct sql *q;
	void (*line)(void *ctx, const char *text, size_t len);
	void (*document)(void *ctx, const char *machine, const char *text, size_t len);
	void *ctx;
	struct text *t;
};

/* One row after the other, each with an arena of its own: a fleet's history does not fit into
 * memory as text. */
static int each_row(struct exporting *x, const char *sql,
		    void (*row)(struct exporting *x, struct sqlite3_stmt *s))
{
	struct sqlite3_stmt *s = sql_ask(x->q, sql);
	int code;

	if (!s)
		return sql_broken(x->q);
	while (sql_row(x->q, s)) {
		ARENA_AUTO own = { 0 };
		struct arena *kept = x->q->a;

		x->q->a = &own;
		row(x, s);
		x->q->a = kept;
	}
	code = sql_finish(x->q, s);
	sql_end(x->q, s);
	return code;
}

#define STAMP(column) "strftime('%Y-%m-%dT%H:%M:%SZ', " column ", 'unixepoch')"

static void csv_row(struct exporting *x, struct sqlite3_stmt *s)
{
	text_clear(x->t);
	for (int c = 0; c < 10; c++) {
		const char *field = sql_text(x->q, s, c);

		text_csv(x->t, field ? field : "");
		text_addc(x->t, c == 9 ? '\n' : ',');
	}
	x->line(x->ctx, x->t->s, x->t->len);
}

int history_csv(struct history *h, void (*line)(void *ctx, const char *text, size_t len), void *ctx,
		struct err *e)
{
	static const char head[] = "machine,kind,name,target,unit,first,last,state,value,wanted\n";
	TEXT_AUTO t = { 0 };
	struct exporting x = { .q = &h->sql, .line = line, .ctx = ctx, .t = &t };

	h->sql.e = e;
	line(ctx, head, sizeof(head) - 1);
	/* clang-format off */
	return each_row(&x,
		"SELECT m.name, i.kind, i.name, i.target, i.unit, " STAMP("f.first") ", " STAMP("f.last") ", "
		"a.state, a.value, a.wanted FROM fact f JOIN machine m ON m.id = f.machine "
		"JOIN item i ON i.id = f.item JOIN answer a ON a.id = f.answer "
		"UNION ALL SELECT m.name, i.kind, i.name, i.target, i.unit, " STAMP("g.t") ", " STAMP("g.t") ", "
		"'', printf('%.17g', g.value), '' FROM figure g JOIN machine m ON m.id = g.machine "
		"JOIN item i ON i.id = g.item ORDER BY 1, 6, 2, 3, 4", csv_row);
	/* clang-format on */
}

static void now_row(struct exporting *x, struct sqlite3_stmt *s)
{
	const char *name = sql_text(x->q, s, 0), *text = sql_document(x->q, s, 1);

	if (name && text)
		x->document(x->ctx, name, text, strlen(text));
}

int history_now(struct history *h,
		void (*document)(void *ctx, const char *machine, const char *text, size_t len),
		void *ctx, struct err *e)
{
	struct exporting x = { .q = &h->sql, .document = document, .ctx = ctx };

	h->sql.e = e;
	/* A version is told of the host, but for its name; the rest as check tells it. Of a health
	 * check nothing but its verdict is kept. */
	/* clang-format off */
	return each_row(&x,
		"SELECT m.name, json_object('schema', 'gputune.check/1', 'time', " STAMP("max(f.last)") ", "
		"'host', json_patch(json_group_object(i.name, a.value) "
		"FILTER (WHERE i.kind = 'version' AND i.target = '' AND a.value <> ''), "
		"json_object('nodename', m.name)), "
		"'findings', json_group_array(json_object('id', i.name, 'target', i.target, 'verdict', a.state, "
		"'current', nullif(a.value, ''), 'wanted', nullif(a.wanted, ''), 'reason_code', nullif(a.value, ''))) "
		"FILTER (WHERE i.kind <> 'version' AND a.state <> '')) "
		"FROM (SELECT machine, item, answer, last, max(first) FROM fact GROUP BY machine, item) f "
		"JOIN machine m ON m.id = f.machine JOIN item i ON i.id = f.item JOIN answer a ON a.id = f.answer "
		"WHERE i.kind IN ('setting', 'health', 'version') "
		"GROUP BY f.machine HAVING sum(i.kind <> 'version' AND a.state <> '')", now_row);
	/* clang-format on */
}
