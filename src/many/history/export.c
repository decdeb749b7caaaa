/* SPDX-License-Identifier: Apache-2.0 */
/* What the file holds, for other programs: CSV, and documents that a fleet compares. */
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/text.h"
#include "many/history/history.h"

static void csv_field(struct text *t, const char *s, bool last)
{
	bool quote = s && strpbrk(s, ",\"\r\n");

	if (quote)
		text_addc(t, '"');
	for (; s && *s; s++) {
		if (*s == '"')
			text_addc(t, '"');
		text_addc(t, *s);
	}
	text_add(t, quote ? "\"" : "");
	text_addc(t, last ? '\n' : ',');
}

static void csv_time(struct text *t, long long s)
{
	char stamp[STAMP_SIZE];

	csv_field(t, stamp_format(s, stamp) ? "" : stamp, false);
}

int history_csv(struct history *h, void (*line)(void *ctx, const char *text, size_t len), void *ctx,
		struct err *e)
{
	static const char head[] = "machine,kind,name,target,unit,first,last,state,value,wanted\n";
	struct sqlite3_stmt *s = sql_ask(
		&h->sql, "SELECT m.name, i.kind, i.name, i.target, i.unit, f.first, f.last, "
			 "a.state, a.value, a.wanted FROM fact f JOIN machine m ON m.id = "
			 "f.machine JOIN item i ON i.id = f.item JOIN answer a ON a.id = f.answer "
			 "UNION ALL SELECT m.name, i.kind, i.name, i.target, i.unit, g.t, g.t, '', "
			 "printf('%.17g', g.value), '' FROM figure g JOIN machine m ON m.id = "
			 "g.machine JOIN item i ON i.id = g.item ORDER BY 1, 6, 2, 3, 4");
	TEXT_AUTO t = { 0 };
	int code;

	h->sql.e = e;
	if (!s)
		return sql_broken(&h->sql);
	line(ctx, head, sizeof(head) - 1);
	while (sql_row(&h->sql, s)) {
		ARENA_AUTO row = { 0 };
		struct arena *kept = h->sql.a;

		h->sql.a = &row;
		text_clear(&t);
		for (int c = 0; c < 10; c++)
			if (c == 5 || c == 6)
				csv_time(&t, sql_integer(&h->sql, s, c));
			else
				csv_field(&t, sql_text(&h->sql, s, c), c == 9);
		line(ctx, t.s, t.len);
		h->sql.a = kept;
	}
	code = sql_finish(&h->sql, s);
	sql_end(&h->sql, s);
	return code;
}

/* --- as it is now ----------------------------------------------------------------------------- */

struct now {
	json_t *document, *findings;
	char *name;
	long long last;
};

static void now_end(struct now *n,
		    void (*document)(void *ctx, const char *machine, const char *text, size_t len),
		    void *ctx)
{
	char stamp[STAMP_SIZE];
	char *text;

	if (!n->document)
		return;
	if (stamp_format(n->last, stamp) == 0)
		json_object_set_new(n->document, "time", json_string(stamp));
	text = json_dumps(n->document, JSON_COMPACT);
	if (text && json_array_size(n->findings))
		document(ctx, n->name, text, strlen(text));
	free(text);
	free(n->name);
	json_decref(n->document);
	*n = (struct now){ 0 };
}

static void now_begin(struct now *n, const char *name)
{
	n->findings = json_array();
	n->document = json_pack("{s:s, s:{s:s}, s:o}", "schema", "gputune.check/1", "host",
				"nodename", name, "findings", n->findings);
	n->name = strdup(name);
	if (!n->document || !n->name)
		out_of_memory(0);
}

static void now_add(struct now *n, struct sql *q, struct sqlite3_stmt *s)
{
	const char *kind = sql_text(q, s, 1), *name = sql_text(q, s, 2),
		   *target = sql_text(q, s, 3), *state = sql_text(q, s, 4),
		   *value = sql_text(q, s, 5), *wanted = sql_text(q, s, 6);
	bool fact = kind && strcmp(kind, "version") == 0;

	n->last = sql_integer(q, s, 7) > n->last ? sql_integer(q, s, 7) : n->last;
	if (fact && name && !target && value) {
		json_t *host = json_object_get(n->document, "host");

		json_object_set_new(host, name, json_string(value));
		return;
	}
	if (!fact && name && state)
		json_array_append_new(n->findings,
				      json_pack("{s:s, s:s, s:s, s:s?, s:s?, s:b, s:s?}", "id",
						name, "target", target ? target : "", "verdict",
						state, "current", value, "wanted", wanted, "health",
						kind && strcmp(kind, "health") == 0, "reason_code",
						value));
}

int history_now(struct history *h,
		void (*document)(void *ctx, const char *machine, const char *text, size_t len),
		void *ctx, struct err *e)
{
	struct sqlite3_stmt *s =
		sql_ask(&h->sql,
			"SELECT m.name, i.kind, i.name, i.target, a.state, a.value, a.wanted, "
			"f.last FROM fact f JOIN machine m ON m.id = f.machine JOIN item i ON i.id "
			"= f.item JOIN answer a ON a.id = f.answer WHERE i.kind IN ('setting', "
			"'health', 'version') AND f.first = (SELECT max(first) FROM fact x WHERE "
			"x.machine = f.machine AND x.item = f.item) ORDER BY f.machine");
	struct now n = { 0 };
	int code;

	h->sql.e = e;
	if (!s)
		return sql_broken(&h->sql);
	while (sql_row(&h->sql, s)) {
		struct arena row = { 0 };
		struct arena *kept = h->sql.a;
		const char *name;

		h->sql.a = &row;
		name = sql_text(&h->sql, s, 0);
		if (name && (!n.name || strcmp(n.name, name) != 0)) {
			now_end(&n, document, ctx);
			now_begin(&n, name);
		}
		if (name)
			now_add(&n, &h->sql, s);
		h->sql.a = kept;
		arena_free(&row);
	}
	now_end(&n, document, ctx);
	code = sql_finish(&h->sql, s);
	sql_end(&h->sql, s);
	return code;
}
