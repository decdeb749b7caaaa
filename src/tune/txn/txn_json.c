/* SPDX-License-Identifier: Apache-2.0 */
/* What was done, as JSON. Keys and meanings are API. Journals may hold any bytes: texts are
 * cleaned.
 */
#include "base/json.h"
#include "tune/txn/txn_json.h"

#include <string.h>

#include "base/clock.h"
#include "look/settings/findings.h"

static json_t *time_or_null(long long seconds)
{
	char buf[STAMP_SIZE];

	return stamp_format(seconds, buf) ? json_null() : json_string(buf);
}

static json_t *number(unsigned long n)
{
	return n ? json_integer((json_int_t)n) : json_null();
}

/* What the journal says of it may be unreadable. */
static json_t *knob_or_null(const struct knob *k)
{
	return k->kind == KNOB_NONE ? json_null()
				    : json_pack("{s:s, s:o, s:o}", "kind", knob_kind_name(k->kind),
						"name", json_text(k->name), "object",
						json_text(k->object ? k->object : ""));
}

/* The keys that every row about a knob opens with. */
static json_t *row_json(const char *id, const char *target, const struct knob *k)
{
	return json_pack("{s:o, s:o, s:o}", "id", json_text(id), "target",
			 json_text(target ? target : ""), "knob", knob_or_null(k));
}

static json_t *outcomes_json(const struct outcome_row *list, size_t n)
{
	json_t *rows = json_array();

	for (size_t i = 0; i < n; i++) {
		const struct outcome_row *o = &list[i];
		json_t *row = row_json(o->id, o->target, &o->knob);

		json_object_set_new(row, "from", json_text(o->from));
		json_object_set_new(row, "to", json_text(o->to));
		json_object_set_new(row, "found", json_text(o->found));
		json_object_set_new(row, "outcome", json_string(outcome_name(o->outcome)));
		json_object_set_new(row, "sentence", json_text(o->sentence));
		json_object_set_new(row, "command", json_text(o->command));
		json_array_append_new(rows, row);
	}
	return rows;
}

json_t *report_json(const char *verb, const struct machine *m, const struct txn_report *r,
		    const struct err *e, int exit_code)
{
	json_t *j = result_json(verb, m, exit_code), *leftovers = json_array();
	bool failed = e && *e->text;

	/* Of a dry run no transaction remains, and the rows say what would become of it. */
	json_object_set_new(j, "transaction", number(r->dry ? 0 : r->txn));
	if (strcmp(verb, "undo") == 0)
		json_object_set_new(j, "dry_run", json_boolean(r->dry));
	json_object_set_new(j, "recovered", json_integer((json_int_t)r->recovered));
	json_object_set_new(j, "error", json_text(failed ? e->text : NULL));
	json_object_set_new(j, "hint", json_text(failed && *e->hint ? e->hint : NULL));
	json_object_set_new(j, "recovery", outcomes_json(r->recovery, r->n_recovery));
	json_object_set_new(j, "rows", outcomes_json(r->rows, r->n));
	for (size_t i = 0; i < r->n_leftovers; i++)
		json_array_append_new(leftovers, json_text(r->leftovers[i]));
	json_object_set_new(j, "leftovers", leftovers);
	return j;
}

json_t *status_json(const struct machine *m, const struct hold_row *rows, size_t n, int exit_code)
{
	json_t *j = result_json("status", m, exit_code), *list = json_array(),
	       *summary = json_object();
	json_int_t counts[HOLD_UNKNOWN + 1] = { 0 };

	for (size_t i = 0; i < n; i++) {
		const struct hold_row *r = &rows[i];
		json_t *row = row_json(r->e->id, r->e->target, &r->e->knob);

		counts[r->hold]++;
		json_object_set_new(row, "transaction", number(r->t->txn));
		json_object_set_new(row, "before", json_text(r->e->before));
		json_object_set_new(row, "after", json_text(r->e->after));
		json_object_set_new(row, "now", json_text(r->now));
		json_object_set_new(row, "state", json_string(hold_name(r->hold)));
		json_object_set_new(row, "stuck", json_boolean(r->e->state == ENTRY_STUCK));
		json_object_set_new(row, "kept_by", json_text(r->kept));
		json_object_set_new(row, "changed_by", json_text(r->by));
		json_array_append_new(list, row);
	}
	for (size_t h = 0; h <= HOLD_UNKNOWN; h++)
		json_object_set_new(summary, hold_name((enum hold)h), json_integer(counts[h]));
	json_object_set_new(j, "summary", summary);
	json_object_set_new(j, "rows", list);
	return j;
}

static json_t *entry_json(const struct entry *e)
{
	json_t *j = row_json(e->id, e->target, &e->knob), *sides = json_array();

	json_object_set_new(j, "before", json_text(e->before));
	json_object_set_new(j, "after", json_text(e->after));
	json_object_set_new(j, "read_back", json_text(e->read));
	json_object_set_new(j, "state", json_string(entry_state_name(e->state)));
	json_object_set_new(j, "note", json_text(e->note));
	for (size_t i = 0; i < e->n_sides; i++)
		json_array_append_new(sides, json_pack("{s:s, s:o, s:o, s:o}", "kind",
						       knob_kind_name(e->sides[i].knob.kind),
						       "name", json_text(e->sides[i].knob.name),
						       "object", json_text(e->sides[i].knob.object),
						       "before", json_text(e->sides[i].before)));
	json_object_set_new(j, "sides", sides);
	return j;
}

static json_t *transaction_json(const struct transaction *t)
{
	json_t *j = json_object(), *changes = json_array();

	json_object_set_new(j, "transaction", number(t->txn));
	json_object_set_new(j, "op", json_text(t->op));
	json_object_set_new(j, "time", time_or_null(t->time_s));
	json_object_set_new(j, "boot_id", json_text(t->boot_id));
	json_object_set_new(j, "user", json_text(t->user));
	json_object_set_new(j, "reason", json_text(t->reason));
	json_object_set_new(j, "profile", json_text(t->profile));
	json_object_set_new(j, "tool_version", json_text(t->version));
	json_object_set_new(j, "state", json_string(transaction_state_name(t->state)));
	for (size_t i = 0; i < t->n; i++)
		json_array_append_new(changes, entry_json(&t->entries[i]));
	json_object_set_new(j, "changes", changes);
	return j;
}

json_t *history_json(const struct machine *m, const struct journal *j,
		     const struct transaction *only, int exit_code)
{
	json_t *out = result_json("history", m, exit_code), *list = json_array();

	json_object_set_new(out, "journal",
			    json_pack("{s:b, s:I}", "torn", (int)j->torn, "bad_lines",
				      (json_int_t)j->bad_lines));
	for (size_t i = j->n; i > 0; i--)
		if (!only || only == &j->items[i - 1])
			json_array_append_new(list, transaction_json(&j->items[i - 1]));
	json_object_set_new(out, "transactions", list);
	return out;
}

json_t *verify_json(const struct machine *m, const struct verify *v, int exit_code)
{
	json_t *j = result_json("verify", m, exit_code), *list = json_array(),
	       *summary = json_object();

	for (size_t i = 0; i < v->n; i++) {
		const struct verify_row *r = &v->rows[i];
		json_t *row = row_json(r->id, r->target, &r->knob);

		json_object_set_new(row, "wanted", json_text(r->wanted));
		json_object_set_new(row, "now", json_text(r->now));
		json_object_set_new(row, "state", json_string(verify_name(r->state)));
		json_object_set_new(row, "sentence", json_text(r->sentence));
		json_array_append_new(list, row);
	}
	for (size_t s = 0; s <= VERIFY_UNKNOWN; s++)
		json_object_set_new(summary, verify_name((enum verify_state)s),
				    json_integer((json_int_t)v->count[s]));
	json_object_set_new(j, "summary", summary);
	json_object_set_new(j, "rows", list);
	return j;
}
