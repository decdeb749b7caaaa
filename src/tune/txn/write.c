/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The journal's lines, as they are written. Every line begins with "t" and "txn" in this order, so
 * that a reader can pass over transactions that are finished without parsing them.
 */
#include "tune/txn/write.h"

#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "machine/write/write.h"
#include "base/json.h"

static json_t *line_of(const char *kind, unsigned long txn)
{
	json_t *j = json_object();

	json_object_set_new(j, "t", json_string(kind));
	json_object_set_new(j, "txn", json_integer((json_int_t)txn));
	return j;
}

static void add(json_t *j, const char *key, const char *text)
{
	json_object_set_new(j, key, json_text(text));
}

static void txn_write_end_line(struct journal_writer *w, json_t *j)
{
	char *text = json_dumps(j, JSON_COMPACT);

	if (!text)
		abort();
	text_add(&w->waiting, text);
	text_addc(&w->waiting, '\n');
	free(text);
	json_decref(j);
}

static json_t *knob_object(const struct knob *k)
{
	json_t *j = json_object();

	add(j, "kind", knob_kind_name(k->kind));
	add(j, "name", k->name);
	add(j, "object", k->object);
	return j;
}

static json_t *entry_line(const char *kind, const struct entry *e)
{
	json_t *j = line_of(kind, e->txn);

	json_object_set_new(j, "seq", json_integer(e->seq));
	return j;
}

static void add_origin(json_t *j, const struct transaction *t)
{
	add(j, "op", t->op);
	add(j, "boot", t->boot_id);
	json_object_set_new(j, "time", json_integer(t->time_s));
}

void write_begin(struct journal_writer *w, const struct transaction *t, size_t changes)
{
	json_t *j = line_of("begin", t->txn);

	add_origin(j, t);
	add(j, "user", t->user);
	add(j, "reason", t->reason);
	add(j, "profile", t->profile);
	add(j, "version", t->version);
	json_object_set_new(j, "changes", json_integer((json_int_t)changes));
	txn_write_end_line(w, j);
}

void write_intend(struct journal_writer *w, const struct transaction *t, const struct entry *e)
{
	json_t *j = entry_line("intend", e), *sides = json_array();

	add_origin(j, t);
	add(j, "id", e->id);
	add(j, "target", e->target);
	json_object_set_new(j, "knob", knob_object(&e->knob));
	add(j, "place", e->place);
	add(j, "before", e->before);
	add(j, "after", e->after);
	if (e->of)
		json_object_set_new(j, "of", json_integer((json_int_t)e->of));
	for (size_t i = 0; i < e->n_sides; i++) {
		json_t *side = json_object();

		json_object_set_new(side, "knob", knob_object(&e->sides[i].knob));
		add(side, "before", e->sides[i].before);
		json_array_append_new(sides, side);
	}
	if (e->n_sides)
		json_object_set(j, "sides", sides);
	json_decref(sides);
	txn_write_end_line(w, j);
}

void write_done(struct journal_writer *w, const struct entry *e)
{
	json_t *j = entry_line("done", e), *left = json_array();

	for (size_t i = 0; i < e->n_sides; i++)
		json_array_append_new(left, json_text(e->sides[i].left));

	add(j, "read", e->read);
	if (e->n_sides)
		json_object_set(j, "left", left);
	json_decref(left);
	txn_write_end_line(w, j);
}

void write_undone(struct journal_writer *w, const struct entry *e, unsigned long by)
{
	json_t *j = entry_line("undone", e);

	json_object_set_new(j, "by", json_integer((json_int_t)by));
	add(j, "note", e->note);
	txn_write_end_line(w, j);
}

void write_stuck(struct journal_writer *w, const struct entry *e, unsigned long by,
		 const char *command)
{
	json_t *j = entry_line("stuck", e);

	json_object_set_new(j, "by", json_integer((json_int_t)by));
	add(j, "note", e->note);
	add(j, "command", command);
	txn_write_end_line(w, j);
}

void write_rebase(struct journal_writer *w, const struct entry *e)
{
	json_t *j = entry_line("rebase", e);

	add(j, "before", e->before);
	txn_write_end_line(w, j);
}

void write_rebase_side_effect(struct journal_writer *w, const struct entry *e, size_t i)
{
	json_t *j = entry_line("rebase", e);

	json_object_set_new(j, "side", json_integer((json_int_t)i + 1));
	add(j, "before", e->sides[i].before);
	txn_write_end_line(w, j);
}

void write_undoing(struct journal_writer *w, const struct entry *e)
{
	txn_write_end_line(w, entry_line("undoing", e));
}

void write_restoring(struct journal_writer *w, const struct entry *e)
{
	txn_write_end_line(w, entry_line("restoring", e));
}

void write_closed(struct journal_writer *w, unsigned long txn)
{
	txn_write_end_line(w, line_of("closed", txn));
}

void write_end(struct journal_writer *w, unsigned long txn, enum transaction_state s)
{
	json_t *j = line_of("end", txn);

	add(j, "result", transaction_state_name(s));
	txn_write_end_line(w, j);
}

/* Sealed only now: a line that waits does not know which one it will follow. */
static uint32_t seal_all(const struct journal_writer *w, struct text *out)
{
	uint32_t chain = w->end.chain;

	for (const char *s = w->waiting.s, *nl; (nl = strchr(s, '\n')); s = nl + 1)
		seal_line(out, s, (size_t)(nl - s), &chain);
	return chain;
}

int write_flush(struct journal_writer *w)
{
	TEXT_AUTO all = { 0 };
	uint32_t chain;
	int r;

	if (!w->waiting.len || w->dry)
		return 0;
	r = w->ready ? 0 : store_ready(w->h, STORE_MEND, &w->end);
	if (r)
		return r;
	w->ready = true;
	if (w->end.torn)
		text_addc(&all, '\n');
	chain = seal_all(w, &all);
	r = host_append(w->h, TXN_JOURNAL, all.s, all.len);
	/* A failed addition may have left a part of a line; what waited is kept and tried again. */
	w->end.torn = r != 0;
	if (r)
		return r;
	w->end.chain = chain;
	text_clear(&w->waiting);
	if (w->end.copied)
		w->end.copied = host_append(w->h, TXN_COPY, all.s, all.len) == 0;
	return 0;
}
