/* SPDX-License-Identifier: Apache-2.0 */
/* Reading the journal's files, and bringing them into order before they are added to. */
#include "tune/txn/store.h"

#include <inttypes.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "machine/write/write.h"

/* More than any disk for it holds: what is read is what is there. */
#define FILE_BYTES_MAX ((size_t)1 << 33)
/* A journal of this length is still read in a few milliseconds. */
enum { LONG_BYTES = 1 << 20 };

static int txn_store_read_file(struct host *h, struct arena *a, const char *path,
			       struct seal_file *out)
{
	char *text;
	int r = host_read(h, path, FILE_BYTES_MAX, a, &text, &out->len);

	if (r == 0)
		out->text = text;
	else
		*out = (struct seal_file){ "", 0 };
	return r == -ENOENT || r == -ENOTDIR || r == HOST_NOT_CAPTURED ? 0 : r;
}

static long long number_after(const char *line, size_t n, const char *key)
{
	const char *at = memmem(line, n, key, strlen(key));

	return at ? strtoll(at + strlen(key), NULL, 10) : 0;
}

/* Below 0: not known. */
static long long journal_bytes(struct host *h)
{
	ARENA_AUTO a = { 0 };
	struct host_stat st;
	size_t len = 0;
	char *text;
	long long n = -1;

	if (host_stat(h, TXN_JOURNAL, &st) == 0)
		n = st.size >= 0 ? st.size
		    : host_read(h, TXN_JOURNAL, FILE_BYTES_MAX, &a, &text, &len) == 0
			    ? (long long)len
			    : -1;
	return n;
}

/* As store_load, of the status file: -errno where there is none that can be read. */
static int public_load(struct host *h, struct arena *a, struct journal_store *out)
{
	struct seal_file file, none = { "", 0 };
	long long bytes = journal_bytes(h), of, lost;
	const char *nl;
	char *text;
	int r = host_read(h, TXN_PUBLIC, FILE_BYTES_MAX, a, &text, &file.len);

	if (r)
		return r;
	file.text = text;
	nl = memchr(text, '\n', file.len);
	if (!nl || !str_starts(text, SEAL_FIRST))
		return -EBADMSG;
	if (number_after(text, (size_t)(nl - text), "\"format\":") > STORE_FORMAT)
		return -EPROTONOSUPPORT;
	*out = (struct journal_store){ .next = 1, .whole = true };
	seal_merge(a, file, none, &out->read);
	of = number_after(text, (size_t)(nl - text), "\"of\":");
	lost = number_after(text, (size_t)(nl - text), "\"lost\":");
	out->read.bad += lost > 0 ? (size_t)lost : 0;
	out->files = (struct journal_files){ .format = STORE_FORMAT,
					     .copy_is_whole = true,
					     .bytes = file.len,
					     .redacted = true,
					     .stale = bytes < 0 || of != bytes };
	lost = number_after(text, (size_t)(nl - text), "\"hidden\":");
	out->files.hidden = lost > 0 ? (size_t)lost : 0;
	return 0;
}

int store_load(struct host *h, struct arena *a, struct journal_store *out, struct err *e)
{
	struct seal_file journal, copy;
	const char *line, *nl;
	int r = txn_store_read_file(h, a, TXN_JOURNAL, &journal);

	*out = (struct journal_store){ .next = 1 };
	if ((r == -EACCES || r == -EPERM) && public_load(h, a, out) == 0)
		return 0;
	if (r)
		return err_set(e, r, "%s: %s", TXN_JOURNAL, strerror(-r));
	/* It is read for what the journal has lost: without it that is still lost. */
	if (txn_store_read_file(h, a, TXN_COPY, &copy))
		copy = (struct seal_file){ "", 0 };
	seal_merge(a, journal, copy, &out->read);
	out->files = (struct journal_files){ .format = out->read.sealed ? STORE_FORMAT
						       : journal.len	? 1
									: 0,
					     .copy_is_whole = out->read.same,
					     .bytes = journal.len,
					     .copy_bytes = copy.len };
	out->torn = journal.len && journal.text[journal.len - 1] != '\n';
	out->whole = out->read.sealed && !out->read.bad && out->read.len == journal.len &&
		     memcmp(out->read.text, journal.text, journal.len) == 0;
	line = out->read.text;
	nl = memchr(line, '\n', out->read.len);
	if (!out->read.sealed || !nl || !str_starts(line, SEAL_FIRST))
		return 0;
	if (number_after(line, (size_t)(nl - line), "\"format\":") > STORE_FORMAT)
		return err_set(e, -EPROTONOSUPPORT,
			       "%s: written by a newer gputune: use that version", TXN_JOURNAL);
	out->next = (unsigned long)number_after(line, (size_t)(nl - line), "\"next\":");
	out->next = out->next < 1 || out->next > TXN_MAX ? 1 : out->next;
	out->rewritten = number_after(line, (size_t)(nl - line), SEAL_TIMES);
	return 0;
}

int store_history(struct host *h, struct arena *a, struct journal_files *files,
		  struct seal_read *out, struct err *e)
{
	struct seal_file history;
	int r = txn_store_read_file(h, a, TXN_HISTORY, &history);
	TEXT_AUTO good = { 0 };
	uint32_t p, c;

	*out = (struct seal_read){ .text = "", .sealed = true };
	files->history_bytes = history.len;
	if (r)
		return err_set(e, r, "%s: %s", TXN_HISTORY, strerror(-r));
	for (const char *s = history.text, *end = s + history.len, *nl; s < end; s = nl + 1) {
		nl = memchr(s, '\n', (size_t)(end - s));
		if (!nl)
			break;
		if (seal_matches(s, (size_t)(nl - s), &p, &c))
			text_addn(&good, s, (size_t)(nl - s) + 1);
		else
			out->bad++;
	}
	out->len = good.len;
	out->text = good.len ? arena_strndup(a, good.s, good.len) : "";
	return 0;
}

/* --- from the files to transactions ---------------------------------------------------------- */

struct reader {
	struct arena *a;
	struct journal *out;
	const char *text;  /* that is being read */
	unsigned long txn; /* of the stretch */
	size_t *at;	   /* by number: place in out->items, plus one */
};

static void note_bad(struct journal *out, size_t line)
{
	out->bad_at = out->bad_lines++ ? out->bad_at : line;
}

static size_t txn_store_line_number(const char *text, const char *line)
{
	size_t n = 1;

	while ((text = memchr(text, '\n', (size_t)(line - text)))) {
		text++;
		n++;
	}
	return n;
}

static void txn_store_read_line(void *ctx, const char *line, size_t n)
{
	struct reader *r = ctx;
	struct line_head head;
	json_error_t why;
	json_auto_t *j = NULL;

	/* Between the transaction's own lines, and counted by the first pass. */
	if (!line_head(line, n, &head) || head.txn != r->txn)
		return;
	j = json_loadb(line, n, JSON_REJECT_DUPLICATES, &why);
	if (!j || line_apply(r->a, r->out, &r->at[head.txn], &head, j))
		note_bad(r->out, r->out->bad_lines ? 0 : txn_store_line_number(r->text, line));
}

static void read_stretches(struct reader *r, const struct journal_scan *s, const char *text,
			   bool all)
{
	r->text = text;
	if (s->bad_lines) {
		note_bad(r->out, s->bad_at);
		r->out->bad_lines += s->bad_lines - 1;
	}
	for (size_t i = 0; i < s->n; i++) {
		const struct stretch *one = &s->stretches[i];

		r->txn = one->txn;
		if (all || !scan_is_past(s, one->txn))
			scan_lines(one->from, (size_t)(one->to - one->from), txn_store_read_line,
				   r);
	}
}

static void txn_store_settle(struct transaction *t)
{
	size_t undone = 0, stuck = 0;
	bool over = transaction_is_over(t);

	/* A line that was cut short, and ended by what was added later, says nothing any more. */
	for (size_t i = 0; over && i < t->n; i++)
		t->entries[i].state = ENTRY_UNDONE;
	for (size_t i = 0; i < t->n; i++) {
		undone += t->entries[i].state == ENTRY_UNDONE;
		stuck += t->entries[i].state == ENTRY_STUCK;
	}
	if (stuck)
		t->state = TRANSACTION_INCOMPLETE;
	else if (t->state == TRANSACTION_APPLIED && t->n && undone == t->n)
		t->state = TRANSACTION_UNDONE;
	else if (t->state == TRANSACTION_INCOMPLETE && undone == t->n)
		t->state = TRANSACTION_UNDONE;
}

static int by_number(const void *x, const void *y)
{
	const struct transaction *a = x, *b = y;

	return (a->txn > b->txn) - (a->txn < b->txn);
}

/* Both texts; past is empty unless everything is asked for. */
static void txn_store_read_all(struct arena *a, const struct journal_store *now,
			       const struct seal_read *past, bool all, struct journal *out)
{
	struct journal_scan s = { .sealed = now->read.sealed }, old = { .sealed = true };
	struct reader r = { .a = a, .out = out };
	unsigned long last;

	scan_text(&s, now->read.text, now->read.len);
	scan_text(&old, past->text, past->len);
	last = s.last > old.last ? s.last : old.last;
	out->next = now->next > last ? now->next : last + 1;
	r.at = calloc(last + 1, sizeof(*r.at));
	if (!r.at)
		out_of_memory(0);
	read_stretches(&r, &old, past->text, true);
	read_stretches(&r, &s, now->read.text, all);
	for (size_t i = 0; i < out->n; i++)
		txn_store_settle(&out->items[i]);
	if (past->len)
		qsort(out->items, out->n, sizeof(*out->items), by_number);
	free(r.at);
	scan_free(&s);
	scan_free(&old);
}

int journal_load(struct host *h, struct arena *a, bool all, struct journal *out, struct err *e)
{
	struct seal_read past = { .text = "" };
	struct journal_store now;
	int code = store_load(h, a, &now, e);

	*out = (struct journal){ .next = 1 };
	if (code == 0 && all && !now.files.redacted)
		code = store_history(h, a, &now.files, &past, e);
	if (code)
		return code;
	out->bad_lines = now.read.bad + past.bad + now.files.stale;
	out->bad_at = now.read.bad_at;
	out->mended = now.read.mended;
	out->torn = now.torn;
	out->files = now.files;
	txn_store_read_all(a, &now, &past, all, out);
	return 0;
}

/* --- writing anew ----------------------------------------------------------------------------- */

struct writing {
	/* What is given up is told from what is kept by parsing it. */
	struct arena a;
	struct journal parsed;
	size_t *at; /* by number: place in parsed, plus one */
	struct journal_scan scan;
	enum store_how how;
	bool sealed, move;
	struct text journal, history;
	uint32_t chain, history_chain;
};

/*
 * A format of its own begins with a transaction that cannot be: the version before it, which knew
 * no formats, finds a change that it cannot read and the last number there is. So it neither says
 * that nothing is held nor adds anything.
 */
static void add_first(struct writing *w, const struct journal_store *s)
{
	TEXT_AUTO line = { 0 };
	unsigned long next = s->next > w->scan.last ? s->next : w->scan.last + 1;

	text_printf(&line,
		    SEAL_FIRST "\"op\":\"apply\",\"boot\":null,\"time\":0,\"format\":%d," SEAL_TIMES
			       "%lld,\"next\":%lu}",
		    STORE_FORMAT, s->rewritten + 1, next);
	seal_line(&w->journal, line.s, line.len, &w->chain);
	text_clear(&line);
	text_printf(&line,
		    "{\"t\":\"intend\",\"txn\":%d,\"seq\":1,\"id\":\"journal.format-%d\","
		    "\"target\":\"\",\"after\":\"use a newer gputune\"}",
		    TXN_MAX, STORE_FORMAT);
	seal_line(&w->journal, line.s, line.len, &w->chain);
}

static bool is_json(const char *line, size_t n)
{
	json_error_t why;
	json_auto_t *j = json_loadb(line, n, JSON_REJECT_DUPLICATES, &why);

	return json_is_object(j) && json_object_size(j);
}

/* A line of the earlier format that is none: its bytes are kept, each as one character. */
static void add_unread(struct text *out, unsigned long txn, const char *line, size_t n,
		       uint32_t *chain)
{
	TEXT_AUTO bytes = { 0 };
	json_auto_t *j = json_object();
	char *text;

	for (size_t i = 0; i < n; i++) {
		unsigned char b = (unsigned char)line[i];

		if (b >= 0x80)
			text_addc(&bytes, (char)(0xc0 | b >> 6));
		text_addc(&bytes, (char)(b >= 0x80 ? 0x80 | (b & 0x3f) : b));
	}
	json_object_set_new(j, "t", json_string("unread"));
	json_object_set_new(j, "txn", json_integer((json_int_t)txn));
	json_object_set_new(j, "bytes", json_stringn(bytes.s, bytes.len));
	text = json_dumps(j, JSON_COMPACT);
	if (!text)
		abort();
	seal_line(out, text, strlen(text), chain);
	free(text);
}

/* Whether the line says something where it stands. What it says nothing of is not known to the
 * lines behind it. */
static bool txn_store_is_valid(struct writing *w, const struct line_head *head, const char *line,
			       size_t n)
{
	size_t *at = &w->at[head->txn], known = *at ? w->parsed.items[*at - 1].n : 0;
	json_error_t why;
	json_auto_t *j = json_loadb(line, n, JSON_REJECT_DUPLICATES, &why);
	bool sound = j && line_apply(&w->a, &w->parsed, at, head, j) == 0;

	if (!sound && *at)
		w->parsed.items[*at - 1].n = known;
	return sound;
}

static void txn_store_add_line(void *ctx, const char *line, size_t n)
{
	struct writing *w = ctx;
	struct line_head head;
	bool headed = line_head(line, n, &head) &&
		      (head.txn <= w->scan.last || (w->sealed && head.txn == TXN_MAX));
	bool past = headed && w->move && scan_is_past(&w->scan, head.txn);
	struct text *out = past ? &w->history : &w->journal;
	uint32_t *chain = past ? &w->history_chain : &w->chain;

	if (headed && head.txn == TXN_MAX && !line_is(&head, "unread"))
		return;
	if (w->how == STORE_GIVE_UP &&
	    (!headed || head.txn == TXN_MAX || !txn_store_is_valid(w, &head, line, n)))
		return;
	if (w->sealed)
		n = seal_object_len(n);
	else if (!headed || !is_json(line, n)) {
		add_unread(out, headed ? head.txn : TXN_MAX, line, n, chain);
		return;
	}
	seal_line(out, line, n, chain);
}

/* A long journal is written anew when that makes it shorter by half. */
static bool is_worth_it(const struct writing *w, const struct journal_store *s, enum store_how how)
{
	return how != STORE_MEND || !s->whole || w->history.len > w->journal.len;
}

static int write_anew(struct host *h, const struct journal_store *s, enum store_how how,
		      struct store_end *out)
{
	struct writing w = { .scan = { .sealed = s->read.sealed },
			     .how = how,
			     .sealed = s->read.sealed,
			     .move = how != STORE_MEND || s->read.len > LONG_BYTES };
	int r = 0;

	scan_text(&w.scan, s->read.text, s->read.len);
	if (how == STORE_GIVE_UP)
		w.at = arena_array(&w.a, w.scan.last + 1, sizeof(*w.at));
	add_first(&w, s);
	scan_lines(s->read.text, s->read.len, txn_store_add_line, &w);
	if (is_worth_it(&w, s, how)) {
		/* The history first: what a crash leaves in both is read as what it is. */
		if (w.history.len)
			r = host_append(h, TXN_HISTORY, w.history.s, w.history.len);
		if (r == 0)
			r = host_put(h, TXN_JOURNAL, w.journal.s, w.journal.len, 0600);
		if (r == 0)
			out->copied = host_put(h, TXN_COPY, w.journal.s, w.journal.len, 0600) == 0;
		out->chain = w.chain;
	}
	text_free(&w.journal);
	text_free(&w.history);
	scan_free(&w.scan);
	arena_free(&w.a);
	return r;
}

int store_ready(struct host *h, enum store_how how, struct store_end *out)
{
	ARENA_AUTO a = { 0 };
	struct err ignored = { 0 };
	struct journal_store s;
	int r = store_load(h, &a, &s, &ignored);

	/* What everybody may read is nothing to write by. */
	r = r == 0 && s.files.redacted ? -EACCES : r;
	*out = (struct store_end){ .chain = s.read.chain, .torn = s.torn, .copied = true };
	if (r || (s.read.bad && how != STORE_GIVE_UP))
		return r;
	out->torn = false;
	/* What the copy lacks or has too much is no reason to touch the journal, nor to stop. */
	if (s.whole && !s.read.same)
		out->copied = host_put(h, TXN_COPY, s.read.text, s.read.len, 0600) == 0;
	if (!s.whole || s.read.len > LONG_BYTES || how != STORE_MEND)
		r = write_anew(h, &s, how, out);
	return r;
}
