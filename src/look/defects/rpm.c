/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Packages of rpm: its database of SQLite, a header a package. A header is two counts, an index of
 * 16 bytes an entry (tag, type, offset, count, most significant byte first), and the data.
 */
#include <string.h>

#include "base/text.h"
#include "look/defects/world.h"
#include "machine/host/sqlite.h"

enum { RPM_NAME = 1000, RPM_PACKAGES = 20000 }; /* version and release follow the name */

/* Eight hexadecimal digits; 0 where there are none. */
static unsigned long rpm_number(const char *s)
{
	unsigned long v = 0;

	return sscanf(s, "%8lx", &v) == 1 ? v : 0;
}

/* Where the tag's data begins, counted from 1; 0: it has none. index: hexadecimal digits of the
 * header's first entries. */
static int64_t rpm_at(const char *index, unsigned tag)
{
	unsigned long entries = rpm_number(index);

	for (size_t i = 16; strlen(index) >= i + 32; i += 32)
		if (rpm_number(index + i) == tag)
			return (int64_t)(9 + 16 * entries + rpm_number(index + i + 16));
	return 0;
}

/* Ranges of rows have no epoch. */
static void rpm_package(struct sql *q, struct sqlite3_stmt *more, int64_t id, const char *index,
			struct defect_place *p, const char *path)
{
	for (int i = 0; i < 3; i++)
		sql_bind(q, more, i + 1, rpm_at(index, (unsigned)(RPM_NAME + i)));
	sql_bind(q, more, 4, id);
	if (sql_row(q, more) && sql_text(q, more, 0) && sql_text(q, more, 1) &&
	    sql_text(q, more, 2))
		place_put(p, "rpms", sql_text(q, more, 0),
			  json_string(arena_printf(q->a, "%s-%s", sql_text(q, more, 1),
						   sql_text(q, more, 2))),
			  path);
}

bool rpm_take(struct seeing *w, struct defect_place *p, const char *path)
{
	struct arena scratch = { 0 };
	struct err e = { 0 };
	struct input_file f;
	struct sql q;
	struct sqlite3_stmt *all, *more;
	size_t n = 0;

	if (stack_open(root_of(p), path, &f, &e)) {
		world_left_out(w, "%s%s", p->prefix, e.text);
		return false;
	}
	if (sql_open(&q, &scratch, arena_printf(&scratch, "/proc/self/fd/%d", f.fd), &e) == 0) {
		all = sql_ask(&q, "SELECT hnum, hex(substr(blob, 1, 1600)) FROM Packages");
		more = sql_ask(&q, "SELECT substr(blob, ?1, 200), substr(blob, ?2, 200), "
				   "substr(blob, ?3, 200) FROM Packages WHERE hnum = ?4");
		for (; all && more && n < RPM_PACKAGES && sql_row(&q, all); n++)
			rpm_package(&q, more, sql_integer(&q, all, 0),
				    sql_text(&q, all, 1) ? sql_text(&q, all, 1) : "", p, path);
		sql_end(&q, all);
		sql_end(&q, more);
	}
	sql_close(&q);
	input_close(&f);
	arena_free(&scratch);
	w->seen->packages += n;
	if (!n)
		world_left_out(w, "%s%s: %s", p->prefix, path, *e.text ? e.text : "no packages");
	return n > 0;
}
