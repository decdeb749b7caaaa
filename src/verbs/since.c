/* SPDX-License-Identifier: Apache-2.0 */
/* gputune since: the history of machines, what changed, and what each change cost. */
#include "many/history/since.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/text.h"
#include "machine/write/write.h"
#include "render/shape_page.h"
#include "verbs/door.h"

enum { REFUSED_SHOWN = 1000 };

struct since_ask {
	const char *when, *db, *machine;
	struct state_ask state;
};

#define DB_ROW(type)                                                                               \
	"db", "the history (default: history.db in --state)", ASK_TEXT(type, db), .arg = "FILE",   \
										  .files = true

static const struct ask_row since_ask_rows[] = {
	{ "WHEN",
	  "a date (2026-09-01), a number of days, or \"upgrade\": the newest change of a version "
	  "or "
	  "package",
	  ASK_TEXT(since_ask, when), .argument = true, .required = true, .example = "2026-09-01" },
	{ "machine", "only this machine", ASK_TEXT(since_ask, machine), .arg = "NAME" },
	{ DB_ROW(since_ask) },
	{ ASK_PART(since_ask, state, state_ask) },
};

static const char *db_path(struct door *d, const struct state_ask *state, const char *db)
{
	return db ? db : arena_printf(d->arena, "%s/history.db", door_state(d, state));
}

/* --- since WHEN ------------------------------------------------------------------------------- */

/* 0, or as answers. */
static int when_of(struct door *d, struct history *h, const struct since_ask *ask, long long *out)
{
	long long days;

	if (strcmp(ask->when, "upgrade") == 0) {
		*out = history_upgraded(h, ask->machine);
		return *out > 0 ? 0
				: door_refuse(d, EXIT_USAGE,
					      "%s: no version or package has changed", h->path);
	}
	if (parse_i64(ask->when, &days) == 0 && days > 0 && days < 36500) {
		*out = h->now_s - days * 86400;
		return 0;
	}
	if (stamp_parse(ask->when, out) == 0 ||
	    stamp_parse(arena_printf(d->arena, "%sT00:00:00Z", ask->when), out) == 0)
		return 0;
	return door_refuse(d, EXIT_USAGE,
			   "\"%s\": expected 2026-09-01, a number of days, or upgrade", ask->when);
}

static int since_answer(struct door *d, const struct since_ask *ask, struct since_answer *out)
{
	struct history h;
	struct err e = { 0 };
	long long from;
	int code = history_open(&h, d->arena, db_path(d, &ask->state, ask->db), false, &e);

	if (code)
		code = door_fail(d, EXIT_USAGE, &e);
	code = code ? code : when_of(d, &h, ask, &from);
	if (code == 0 && history_since(&h, from, ask->machine, out, &e))
		code = door_fail(d, EXIT_USAGE, &e);
	history_close(&h);
	for (size_t i = 0; i < out->n_costs && code == 0; i++)
		if (strcmp(out->costs[i].verdict, "hurts") == 0)
			code = EXIT_FINDINGS;
	return code;
}

/* --- add, compact, export --------------------------------------------------------------------- */

struct since_refused {
	const char *file, *why;
};

struct since_stored {
	const char *path;
	struct history_sum sum;
	struct since_refused *refused;
	size_t n_refused; /* of which the reason is kept */
	long long bytes;
};

/* clang-format off */
static const struct shape since_refused_shape = SHAPE_OF(since_refused, refused,
	{ "file", NULL, SHAPE_TEXT(since_refused, file), .title = "File" },
	{ "why", NULL, SHAPE_TEXT(since_refused, why), .title = "~Why" });

static const struct shape since_stored_shape = SHAPE_OF(since_stored, stored,
	{ "path", "The history.", SHAPE_TEXT(since_stored, path), .title = "history" },
	{ "documents", "Number of added results.", SHAPE_COUNT(since_stored, sum.documents), .title = "documents" },
	{ "facts", "Number of facts in the results.", SHAPE_COUNT(since_stored, sum.facts), .title = "facts" },
	{ "changes", "Number of added rows: facts that differ from the previous ones.",
	  SHAPE_COUNT(since_stored, sum.changes), .title = "changes" },
	{ "figures", "Measured.", SHAPE_COUNT(since_stored, sum.figures), .title = "figures" },
	{ "size_bytes", NULL, SHAPE_COUNT(since_stored, bytes), .title = "size", .unit = "MB" },
	{ "refused", "Results that were not added; their files are unchanged.",
	  SHAPE_LIST(since_stored, refused, n_refused, since_refused) });

static const struct result_shape since_stored_result = {
	.name = "since-stored", .title = "gputune since add",
	.meaning = "Results added to a history, and its size.",
	.shape = &since_stored_shape, .list = "refused", .exit_codes = 1u << 0 | 1u << 2 | 1u << 5,
};
/* clang-format on */

struct since_add_ask {
	struct ask_texts files;
	const char *db, *machine;
	struct state_ask state;
};

static const struct ask_row add_rows[] = {
	{ "FILE",
	  "results, ledgers, dpkg logs, or folders of them; -: standard input, where lines may "
	  "begin with a machine's name (pdsh)",
	  ASK_TEXTS(since_add_ask, files), .argument = true, .required = true, .files = true },
	{ "machine", "machine for files without a machine's name, such as a dpkg log",
	  ASK_TEXT(since_add_ask, machine), .arg = "NAME" },
	{ DB_ROW(since_add_ask) },
	{ ASK_PART(since_add_ask, state, state_ask) },
};

struct adding {
	struct door *d;
	struct since_stored *out;
};

static void refuse(void *ctx, const char *file, const char *why)
{
	struct adding *g = ctx;
	struct since_stored *s = g->out;

	if (s->n_refused == REFUSED_SHOWN)
		return;
	ARENA_ADD(g->d->arena, s->refused, s->n_refused) =
		(struct since_refused){ arena_strdup(g->d->arena, file),
					arena_strdup(g->d->arena, why) };
}

static void stored_size(struct since_stored *out)
{
	struct stat st;

	out->bytes = stat(out->path, &st) == 0 ? (long long)st.st_size : 0;
}

static int since_add_answer(struct door *d, const struct since_add_ask *ask,
			    struct since_stored *out)
{
	struct history h;
	struct err e = { 0 };
	struct adding g = { .d = d, .out = out };
	HOST_AUTO *machine = ask->db ? NULL : d->live(d->ctx);
	int code = machine ? host_own_dir(machine, door_state(d, &ask->state)) : 0;

	if (code)
		return door_refuse(d, EXIT_USAGE, "cannot create %s: %s",
				   door_state(d, &ask->state), strerror(-code));
	out->path = db_path(d, &ask->state, ask->db);
	code = history_open(&h, d->arena, out->path, true, &e);
	for (size_t i = 0; i < ask->files.n && code == 0; i++)
		code = history_add(&h, ask->files.items[i], ask->machine, refuse, &g, &out->sum,
				   &e);
	code = code ? code : history_commit(&h);
	history_close(&h);
	if (code)
		return door_fail(d, EXIT_USAGE, &e);
	stored_size(out);
	return out->n_refused ? EXIT_BLIND : EXIT_CLEAN;
}

struct since_file_ask {
	const char *db;
	struct state_ask state;
	long long keep_days;
};

static const struct ask_row file_rows[] = {
	{ DB_ROW(since_file_ask) },
	{ ASK_PART(since_file_ask, state, state_ask) },
	{ "keep", "keep every measurement of this many days, and one per week of older ones",
	  ASK_COUNT(since_file_ask, keep_days, 1, 36500), .arg = "DAYS", .fallback = "365" },
};

static int since_compact_answer(struct door *d, const struct since_file_ask *ask,
				struct since_stored *out)
{
	struct history h;
	struct err e = { 0 };
	int code;

	out->path = db_path(d, &ask->state, ask->db);
	if (access(out->path, F_OK))
		return door_refuse(d, EXIT_USAGE, "%s: %s", out->path, strerror(errno));
	code = history_open(&h, d->arena, out->path, true, &e);
	code = code ? code : history_compact(&h, (int)ask->keep_days);
	history_close(&h);
	if (code)
		return door_fail(d, EXIT_USAGE, &e);
	stored_size(out);
	return EXIT_CLEAN;
}

struct since_export_ask {
	const char *db;
	struct state_ask state;
	unsigned as;
};
static const char *const exports[] = { "csv" };

static const struct ask_row export_rows[] = {
	{ "FORMAT", "csv: one row per change or measurement",
	  ASK_CHOICE(since_export_ask, as, exports), .argument = true, .required = true },
	{ DB_ROW(since_export_ask) },
	{ ASK_PART(since_export_ask, state, state_ask) },
};

static int since_export_answer(struct door *d, const struct since_export_ask *ask,
			       struct since_stored *out)
{
	struct history h;
	struct err e = { 0 };
	int code;

	out->path = db_path(d, &ask->state, ask->db);
	code = history_open(&h, d->arena, out->path, false, &e);
	history_close(&h);
	stored_size(out);
	return code ? door_fail(d, EXIT_USAGE, &e) : EXIT_CLEAN;
}

static void write_line(void *ctx, const char *text, size_t len)
{
	(void)fwrite(text, 1, len, ctx);
}

/* Line by line: a fleet's history does not fit into memory as text. */
static int write_csv(FILE *out, const void *ask, const void *answer, int code)
{
	const struct since_stored *s = answer;
	ARENA_AUTO a = { 0 };
	struct history h;
	struct err e = { 0 };

	(void)ask;
	if (history_open(&h, &a, s->path, false, &e) || history_csv(&h, write_line, out, &e))
		code = EXIT_BLIND;
	history_close(&h);
	return code;
}

static const struct verb_format csv_formats[] = { { "csv", write_csv }, { NULL, NULL } };

static const struct verb_format *export_draws(const void *ask)
{
	(void)ask;
	return csv_formats;
}

static struct doc *page_stored(struct arena *a, const struct since_stored *s)
{
	struct doc *d = doc_new(a);

	doc_verdict(d, s->n_refused ? STYLE_WARN : STYLE_GOOD,
		    arena_printf(a, "%zu documents, %zu changes, %zu figures added; %.1f MB",
				 s->sum.documents, s->sum.changes, s->sum.figures,
				 (double)s->bytes / 1e6),
		    NULL);
	node_drop_empty(
		shape_table(d, "Not added", &since_refused_shape, s->refused, s->n_refused));
	return d;
}

VERB_ANSWER(since_any, since_answer, since_ask, since_answer)
VERB_ANSWER(since_add_any, since_add_answer, since_add_ask, since_stored)
VERB_ANSWER(since_compact_any, since_compact_answer, since_file_ask, since_stored)
VERB_ANSWER(since_export_any, since_export_answer, since_export_ask, since_stored)
VERB_PAGE_OF(since_page, page_since, since_answer)
VERB_PAGE_OF(stored_page, page_stored, since_stored)

static const struct verb add_verb = {
	.name = "add",
	.summary = "add results to the history",
	.about = "Reads results of check, status, verify, bench, show and history, ledgers of "
		 "A/B tests, and dpkg logs. Unchanged facts add no row. Refused results are listed "
		 "with the reason; the rest is added in one transaction.",
	.exits = "5: a result was refused",
	.examples = EXAMPLES({ "since add results/", "a folder with results of many machines" },
			     { "since add /var/log/dpkg.log --machine node7", "package changes" },
			     { "since add - --db fleet.db", "lines of JSON from pdsh" }),
	.ask = ASK_OF(since_add_ask, NULL, add_rows),
	.answer = since_add_any,
	.result = &since_stored_result,
	.page = stored_page,
	.writes = true,
};

/* clang-format off */
static const struct verb compact_verb = {
	.name = "compact", .summary = "drop most old measurements and shrink the file",
	.about = "Keeps all changes, but only the median of each week of measurements older than --keep days.",
	.examples = EXAMPLES({ "since compact", "keep every measurement of a year" },
		{ "since compact --keep 90 --db fleet.db", "keep 90 days" }),
	.ask = ASK_OF(since_file_ask, NULL, file_rows), .answer = since_compact_any,
	.result = &since_stored_result, .page = stored_page, .writes = true,
};

static const struct verb export_verb = {
	.name = "export", .summary = "the history as CSV",
	.about = "Prints a row for every change and measurement: machine, kind, name, target, unit, first, "
	  "last, state, value, wanted.",
	.examples = EXAMPLES({ "since export csv", "to standard output" },
		{ "since export csv -o history.csv", "to a file" }),
	.ask = ASK_OF(since_export_ask, NULL, export_rows), .answer = since_export_any,
	.result = &since_stored_result, .page = stored_page, .formats = csv_formats, .drawing = export_draws,
};
/* clang-format on */

static const struct verb *const since_subs[] = { &add_verb, &export_verb, &compact_verb, NULL };

/* clang-format off */
const struct verb since_verb = {
	.name = "since", .group = VERB_MANY,
	.summary = "what changed since a date or an upgrade, and how each change affected speed",
	.about = "Compares measured figures before and after each change in the history. Machines that changed "
	  "at different times separate the causes; changes that always occurred together are one row.",
	.exits = "1: a change made a figure worse", .words = "regression blame bisect database history upgrade",
	.examples = EXAMPLES({ "since upgrade", "after the newest driver, kernel or package" },
		{ "since 30 --machine node7", "the last 30 days of one machine" },
		{ "since 2026-09-01 --db fleet.db", "a fleet since a date" },
		{ "since add results/", "add results to the history" }),
	.ask = ASK_OF(since_ask, "History", since_ask_rows), .subs = since_subs, .answer = since_any,
	.result = &since_result, .page = since_page,
};
