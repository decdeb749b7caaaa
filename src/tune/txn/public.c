/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The status file: of the journal what everybody may read, so that looking needs no root. Its first
 * line says how long the journal was; where that is not its length now, the file is stale, and
 * whoever reads it says so. Users, reasons, and files that only root may read are left out.
 */
#include <inttypes.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "machine/knob/knob.h"
#include "machine/write/write.h"
#include "tune/txn/store.h"

/* More changes of files for root's eyes than anybody makes. */
enum { HIDDEN_MAX = 256 };

struct public_file {
	struct text lines;
	uint32_t chain;
	size_t lost, n_hidden;
	struct {
		unsigned long txn;
		json_int_t seq;
	} hidden[HIDDEN_MAX];
};

/* The value of a file knob begins with its mode. */
static bool is_roots(const json_t *line)
{
	const char *kind = json_string_value(
			   json_object_get(json_object_get(line, "knob"), "kind")),
		   *const keys[] = { "before", "after" };

	for (size_t i = 0; kind && strcmp(kind, knob_kind_name(KNOB_FILE)) == 0 && i < 2; i++) {
		const char *v = json_string_value(json_object_get(line, keys[i]));
		char *end = NULL;
		unsigned long mode = v ? strtoul(v, &end, 8) : 0;

		if (v && end > v && *end == ':' && !(mode & 0004))
			return true;
	}
	return false;
}

static bool is_hidden(const struct public_file *f, unsigned long txn, const json_t *line)
{
	json_int_t seq = json_integer_value(json_object_get(line, "seq"));

	for (size_t i = 0; i < f->n_hidden; i++)
		if (f->hidden[i].txn == txn && f->hidden[i].seq == seq)
			return true;
	return false;
}

static void add_redacted(struct public_file *f, const struct line_head *head, json_t *line)
{
	static const char *const private[] = { "user", "reason" };
	bool begins = line_is(head, "begin");
	char *text;

	if (line_is(head, "intend") && is_roots(line) && !is_hidden(f, head->txn, line)) {
		f->lost += f->n_hidden == HIDDEN_MAX;
		if (f->n_hidden < HIDDEN_MAX) {
			f->hidden[f->n_hidden].txn = head->txn;
			f->hidden[f->n_hidden++].seq =
				json_integer_value(json_object_get(line, "seq"));
		}
	}
	if (is_hidden(f, head->txn, line))
		return;
	for (size_t i = 0; begins && i < sizeof(private) / sizeof(private[0]); i++)
		json_object_set_new(line, private[i], json_null());
	json_object_del(line, "p");
	json_object_del(line, "c");
	text = json_dumps(line, JSON_COMPACT);
	if (!text)
		abort();
	seal_line(&f->lines, text, strlen(text), &f->chain);
	free(text);
}

static void add_public(void *ctx, const char *line, size_t n)
{
	struct public_file *f = ctx;
	struct line_head head;
	bool headed = line_head(line, n, &head);
	json_auto_t *j = NULL;

	/* The journal's own first lines; what an earlier version could not read is lost. */
	if (headed && head.txn == TXN_MAX && !line_is(&head, "unread"))
		return;
	if (headed && !line_is(&head, "begin") && !line_is(&head, "intend") &&
	    !line_is(&head, "unread") && !f->n_hidden) {
		seal_line(&f->lines, line, seal_object_len(n), &f->chain);
		return;
	}
	j = headed && !line_is(&head, "unread") ? json_loadb(line, n, 0, NULL) : NULL;
	if (j)
		add_redacted(f, &head, j);
	else
		f->lost++;
}

void public_write(struct host *h)
{
	ARENA_AUTO a = { 0 };
	struct journal_store s;
	struct err ignored = { 0 };
	struct public_file *f = ARENA_NEW(&a, struct public_file);
	TEXT_AUTO first = { 0 };
	char *now = NULL;
	size_t len = 0;

	if (store_load(h, &a, &s, &ignored) == 0 && s.read.sealed && !s.files.redacted) {
		scan_lines(s.read.text, s.read.len, add_public, f);
		text_printf(&first,
			    SEAL_FIRST "\"op\":\"apply\",\"boot\":null,\"time\":0,\"format\":%d,"
				       "\"of\":%zu,\"hidden\":%zu,\"lost\":%zu,\"next\":%lu}",
			    STORE_FORMAT, s.files.bytes, f->n_hidden, f->lost + s.read.bad, s.next);
		f->chain = 0;
		text_clear(&f->lines);
		seal_line(&f->lines, first.s, first.len, &f->chain);
		f->n_hidden = f->lost = 0;
		scan_lines(s.read.text, s.read.len, add_public, f);
		/* Stale where it cannot be written, which its reader sees. */
		if (host_read(h, TXN_PUBLIC, (size_t)1 << 26, &a, &now, &len) ||
		    len != f->lines.len || memcmp(now, f->lines.s, len) != 0)
			(void)host_put(h, TXN_PUBLIC, f->lines.s, f->lines.len, 0644);
	}
	text_free(&f->lines);
}
