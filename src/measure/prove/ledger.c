/* SPDX-License-Identifier: Apache-2.0 */
/* The file of verdicts, through the door: read as a whole, added to line by line. */
#include "measure/prove/ledger.h"

#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "measure/bench/bench.h"
#include "machine/write/write.h"

/* --- which machine ------------------------------------------------------------------------------
 */
static const char *pair_value(const struct record *r, const char *name)
{
	for (size_t i = 0; i < r->n_fingerprint; i++)
		if (strcmp(r->fingerprint[i].name, name) == 0)
			return r->fingerprint[i].value;
	return "";
}

/* What stays the same until somebody opens the case: not memory, which huge pages and boot
 * arguments change as it is shown, nor anything that a setting is about. */
static bool is_hardware(const char *name)
{
	static const char *const names[] = { "product", "cpu", "sockets", "cores" };

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (strcmp(name, names[i]) == 0)
			return true;
	return str_starts(name, "gpu") && strcmp(name, "gpu_driver") != 0;
}

static const char *hardware_digest(struct arena *a, const struct record *r)
{
	struct record_pair *pairs = arena_array(a, r->n_fingerprint, sizeof(*pairs));
	size_t n = 0;

	for (size_t i = 0; i < r->n_fingerprint; i++)
		if (is_hardware(r->fingerprint[i].name))
			pairs[n++] = r->fingerprint[i];
	return record_digest(a, pairs, n);
}

void ledger_here(struct arena *a, struct host *h, const struct machine *m, struct ledger_here *out)
{
	struct record r = { 0 };

	record_fingerprint(a, h, m, &r);
	*out = (struct ledger_here){ .machine = r.machine,
				     .name = fact_text(&m->nodename, ""),
				     .kernel = pair_value(&r, "kernel"),
				     .driver = pair_value(&r, "gpu_driver"),
				     .firmware = pair_value(&r, "firmware"),
				     .hardware = hardware_digest(a, &r) };
}

/* --- reading ------------------------------------------------------------------------------------
 */
static const char *file_in(struct arena *a, const char *dir)
{
	return dir ? arena_printf(a, "%s/ledger.jsonl", dir) : LEDGER_FILE;
}

static void bad_line(struct ledger *l, size_t line, const char *why)
{
	if (l->n_bad < LEDGER_BAD_MAX)
		l->bad[l->n_bad] = (struct ledger_bad){ line, why };
	l->n_bad++;
}

static void take_line(struct arena *a, struct ledger *l, size_t number, const char *line,
		      size_t len)
{
	struct ledger_row row;
	struct err e = { 0 };

	if (l->n == LEDGER_ROWS_MAX)
		bad_line(l, number, "there are too many rows before it");
	else if (ledger_row_parse(a, line, len, &row, &e))
		bad_line(l, number, arena_strdup(a, e.text));
	else {
		l->rows = arena_grow(a, l->rows, l->n, sizeof(*l->rows));
		l->rows[l->n++] = row;
	}
}

void ledger_load(struct arena *a, struct host *h, const struct machine *m, const char *dir,
		 struct ledger *out)
{
	size_t len = 0, number = 0;
	char *text = NULL;
	int r;

	*out = (struct ledger){ .file = file_in(a, dir) };
	ledger_here(a, h, m, &out->here);
	r = host_read(h, out->file, LEDGER_FILE_MAX, a, &text, &len);
	if (r) {
		/* A captured machine that was not asked has no ledger for us either. */
		out->state = r == -ENOENT || r == -ENOTDIR || r == HOST_NOT_CAPTURED ? 0 : r;
		return;
	}
	for (const char *at = text, *end = text + len; at < end;) {
		const char *nl = memchr(at, '\n', (size_t)(end - at));
		size_t n = (size_t)((nl ? nl : end) - at);

		number++;
		/* What a crash cut short was never a row. */
		if (n && nl)
			take_line(a, out, number, at, n);
		else if (n)
			bad_line(out, number, "it was cut short");
		at += n + 1;
	}
}

/* --- adding -------------------------------------------------------------------------------------
 */
static int make_folder(struct host *h, const char *dir, struct err *e)
{
	int r = host_own_dir(h, dir);

	return r ? err_set(e, r, "%s cannot be made: %s", dir, strerror(-r)) : 0;
}

/* Whether the file ends within a line. */
static int is_torn(struct host *h, const char *file, bool *torn, struct err *e)
{
	struct arena a = { 0 };
	size_t len = 0;
	char *text;
	int r = host_read(h, file, LEDGER_FILE_MAX - LEDGER_LINE_MAX, &a, &text, &len);

	*torn = r == 0 && len && text[len - 1] != '\n';
	arena_free(&a);
	if (r == 0 || r == -ENOENT)
		return 0;
	err_set(e, r, "%s cannot be read: %s", file, strerror(-r));
	if (r == -EFBIG)
		err_hint(e, "move it away: a new one is begun");
	return r;
}

static int add_line(struct host *h, const char *file, const struct ledger_row *row, struct err *e)
{
	TEXT_AUTO line = { 0 };
	json_t *j = ledger_row_json(row);
	char *text = json_dumps(j, JSON_COMPACT);
	bool torn = false;
	int r;

	json_decref(j);
	if (!text)
		abort();
	r = is_torn(h, file, &torn, e);
	if (r == 0) {
		text_printf(&line, "%s%s\n", torn ? "\n" : "", text);
		r = host_append(h, file, line.s, line.len);
		if (r)
			err_set(e, r, "%s cannot be added to: %s", file, strerror(-r));
	}
	free(text);
	return r;
}

int ledger_add(struct host *h, const char *dir, const struct ledger_row *row, struct err *e)
{
	struct arena a = { 0 };
	int r = ledger_row_check(row, e);

	if (r == 0)
		r = make_folder(h, dir ? dir : LEDGER_DIR, e);
	if (r == 0)
		r = add_line(h, file_in(&a, dir), row, e);
	arena_free(&a);
	return r;
}
