/* SPDX-License-Identifier: Apache-2.0 */
/* The pages that look at what was changed: status and verify. */
#include <string.h>

#include "base/text.h"
#include "machine/knob/io.h"
#include "tune/txn/journal.h"
#include "tune/plan/plan.h"
#include "render/figure.h"
#include "tune/txn/page_txn.h"

static const struct {
	const char *text;
	enum style style;
} holds[] = {
	[HOLD_OURS] = { "in effect", STYLE_GOOD },
	[HOLD_WAITS] = { "after a reboot", STYLE_WARN },
	[HOLD_MISSED] = { "not set by the reboot", STYLE_BAD },
	[HOLD_FOREIGN] = { "changed by others", STYLE_BAD },
	[HOLD_BACK] = { "restored to the old value", STYLE_WARN },
	[HOLD_LOST] = { "lost at reboot", STYLE_WARN },
	[HOLD_RESET] = { "overwritten by a later change that gputune made", STYLE_WARN },
	[HOLD_UNKNOWN] = { TXN_UNREAD, STYLE_UNKNOWN },
};

static const char *number(struct arena *a, unsigned long n)
{
	return arena_printf(a, "%lu", n);
}

static struct batch *hold_page_batches(struct arena *a, const struct machine *m,
				       const struct hold_row *rows, size_t n, size_t *n_out)
{
	struct batch_row *keys = arena_array(a, n, sizeof(*keys));

	for (size_t i = 0; i < n; i++) {
		const struct entry *e = rows[i].e;
		const char *const key[] = { number(a, rows[i].t->txn),
					    e->before,
					    e->after,
					    rows[i].now,
					    rows[i].kept,
					    rows[i].by,
					    e->note,
					    holds[rows[i].hold].text,
					    txn_file_of(&e->knob) };

		keys[i] = (struct batch_row){ e->id, e->target, &e->knob, batch_key(a, key, 9) };
	}
	return batch_rows(a, m, keys, n, n_out);
}

/* An undo did not find it, and it is still not there. */
static bool is_away(const struct hold_row *r)
{
	return r->hold == HOLD_UNKNOWN && r->e->state == ENTRY_STUCK && r->e->note &&
	       strcmp(r->e->note, NOTE_AWAY) == 0;
}

static void status_line(struct doc *d, const struct hold_row *rows, size_t n)
{
	size_t counts[HOLD_UNKNOWN + 1] = { 0 };
	struct node *line = doc_paragraph(d);

	for (size_t i = 0; i < n; i++)
		counts[rows[i].hold]++;
	node_span(d, line, cell_printf(d, STYLE_STRONG, "%zu change%s of gputune:", n, PLURAL(n)));
	for (size_t h = 0, shown = 0; h <= HOLD_UNKNOWN; h++)
		if (counts[h])
			node_span(d, line,
				  cell_printf(d, holds[h].style, "%s%zu %s", shown++ ? ", " : " ",
					      counts[h], holds[h].text));
	node_span(d, line, cell("."));
}

/* From what to what; the present value where it is another one. */
static void hold_page_found(struct doc *d, struct node *list, const struct hold_row *r,
			    const struct batch *b, bool several)
{
	const struct knob *k = &r->e->knob;
	const char *unit = knob_unit(k), *file = txn_file_of(k),
		   *now = r->now ? txn_value_cell(d, k, r->now).text : NULL,
		   *after = txn_value_cell(d, k, r->e->after).text;
	bool same = r->now && (strcmp(r->now, r->e->after) == 0 || (*file && r->hold == HOLD_OURS));
	struct found f = { .id = b->what,
			   .on = *file ? file : b->on,
			   .now = txn_value_cell(d, k, r->e->before).text,
			   .wanted = after };

	f.badge = cell_as(holds[r->hold].style, holds[r->hold].text);
	if (r->e->unread)
		f.badge = cell_as(STYLE_BAD, "unknown: the journal line is unreadable");
	else if (is_away(r))
		f.badge = cell_as(STYLE_BAD, "not undone: missing now");
	else if (r->e->state == ENTRY_STUCK)
		f.badge = cell_printf(d, STYLE_BAD, "stuck, %s", holds[r->hold].text);
	figure_values(d->arena, unit, &f.now, &f.wanted);
	figure_values(d->arena, unit, &now, &after);
	node_found(d, list, &f);
	if (!same)
		node_more(d, list, "now", now ? cell(now) : cell_as(STYLE_UNKNOWN, "unknown"));
	node_more(d, list, "by", cell(r->by));
	node_more(d, list, r->loses ? "written to" : "kept at boot by",
		  !r->loses ? cell(r->kept)
			    : cell_printf(d, STYLE_WARN, "%s, but overwritten at boot: %s", r->kept,
					  r->loses));
	if (several)
		node_more(d, list, "transaction", cell(number(d->arena, r->t->txn)));
}

struct doc *page_status(struct arena *a, const struct machine *m, const struct hold_row *rows,
			size_t n, bool sure)
{
	struct doc *d = doc_new(a);
	struct node *list;
	struct batch *b;
	size_t n_batches;

	if (!n) {
		doc_text(d, sure ? "No change of gputune is in effect."
				 : "Which changes of gputune are in effect is unknown.");
		return d;
	}
	status_line(d, rows, n);
	list = doc_findings(d, NULL);
	b = hold_page_batches(a, m, rows, n, &n_batches);
	for (size_t i = 0; i < n_batches; i++)
		hold_page_found(d, list, &rows[b[i].first], &b[i],
				rows[0].t->txn != rows[n - 1].t->txn);
	return d;
}

/* --- verify ----------------------------------------------------------------------------------- */

static const struct {
	const char *name, *text;
	enum style style;
} states[] = {
	[VERIFY_IN_FORCE] = { "in-force", "in effect", STYLE_GOOD },
	[VERIFY_WAITS] = { "waits-for-reboot", "after a reboot", STYLE_WARN },
	[VERIFY_DIFFERS] = { "differs", "not in effect", STYLE_BAD },
	[VERIFY_UNKNOWN] = { "unknown", "unknown", STYLE_UNKNOWN },
};

const char *verify_name(enum verify_state s)
{
	return states[s].name;
}

static void add(struct arena *a, struct verify *v, const struct verify_row *row)
{
	ARENA_ADD(a, v->rows, v->n) = *row;
	v->count[row->state]++;
}

void verify_holds(struct arena *a, const struct hold_row *rows, size_t n, struct verify *out)
{
	static const struct {
		enum verify_state state;
		const char *sentence;
	} of[] = {
		[HOLD_OURS] = { VERIFY_IN_FORCE, NULL },
		[HOLD_WAITS] = { VERIFY_WAITS, NULL },
		[HOLD_MISSED] = { VERIFY_DIFFERS, VERIFY_NOT_BROUGHT },
		[HOLD_FOREIGN] = { VERIFY_DIFFERS, "another program or user has changed it since" },
		[HOLD_BACK] = { VERIFY_DIFFERS, "the value from before gputune is restored" },
		[HOLD_LOST] = { VERIFY_DIFFERS, "the value was lost at the last reboot" },
		[HOLD_RESET] = { VERIFY_DIFFERS, "a later change by gputune overwrote it" },
		[HOLD_UNKNOWN] = { VERIFY_UNKNOWN, TXN_UNREAD },
	};

	*out = (struct verify){ 0 };
	for (size_t i = 0; i < n; i++) {
		const struct hold_row *r = &rows[i];
		struct verify_row row = {
			r->e->id, r->e->target,	     r->e->knob,	  r->e->after,
			r->now,	  of[r->hold].state, of[r->hold].sentence
		};

		add(a, out, &row);
	}
}

/* A boot argument is in force when the running kernel was started with it (or without it). */
static bool running_has(const struct machine *m, const struct change *c,
			bool (*same)(const struct knob *k, const char *x, const char *y))
{
	return c->knob.kind != KNOB_BOOTARG ||
	       same(&c->knob, knob_booted(&m->kernel, &c->knob), c->after);
}

void verify_plan(struct arena *a, const struct machine *m, const struct plan *p, plan_reader *read,
		 bool (*same)(const struct knob *k, const char *x, const char *y), void *ctx,
		 struct verify *out)
{
	*out = (struct verify){ 0 };
	for (size_t i = 0; i < p->n; i++) {
		const struct change *c = &p->changes[i];
		struct verify_row row = {
			.id = c->s->id, .target = c->target, .knob = c->knob, .wanted = c->after
		};
		struct fact_str now;

		if (c->gate)
			continue;
		now = read(ctx, a, &c->knob);
		row.now = seen_ok(&now.f) ? now.v : NULL;
		if (!row.now) {
			row.state = VERIFY_UNKNOWN;
			row.sentence = TXN_UNREAD;
		} else if (!same(&c->knob, row.now, c->after)) {
			row.state = VERIFY_DIFFERS;
		} else {
			row.state = running_has(m, c, same) ? VERIFY_IN_FORCE : VERIFY_WAITS;
		}
		add(a, out, &row);
	}
}

struct doc *page_verify(struct arena *a, const struct machine *m, const struct verify *v)
{
	struct doc *d = doc_new(a);
	struct batch_row *keys = arena_array(a, v->n, sizeof(*keys));
	struct node *t = DOC_TABLE(d, NULL, "Setting", "On", "~Requested", "~Now", "State", "~Why");
	struct batch *b;
	size_t n;

	for (size_t i = 0; i < v->n; i++) {
		const struct verify_row *r = &v->rows[i];
		const char *const key[] = { r->wanted, r->now, states[r->state].name, r->sentence };

		keys[i] = (struct batch_row){ r->id, r->target, &r->knob, batch_key(a, key, 4) };
	}
	b = batch_rows(a, m, keys, v->n, &n);
	for (size_t i = 0; i < n; i++) {
		const struct verify_row *r = &v->rows[b[i].first];

		NODE_ROW(d, t, cell_as(STYLE_CODE, b[i].what), cell(b[i].on), cell(r->wanted),
			 r->now ? cell(r->now) : cell_as(STYLE_UNKNOWN, "unknown"),
			 cell_as(states[r->state].style, states[r->state].text), cell(r->sentence));
	}
	node_drop_empty(t);
	doc_text(
		d,
		"%zu requested: %zu in effect, %zu after a reboot, %zu not in effect, %zu unknown.",
		v->n, v->count[VERIFY_IN_FORCE], v->count[VERIFY_WAITS], v->count[VERIFY_DIFFERS],
		v->count[VERIFY_UNKNOWN]);
	return d;
}

/* What "gputune journal" says of the files. */

static struct cell bytes(struct doc *d, const char *path, size_t n)
{
	return n ? cellf(d, "%s, %zu bytes", path, n)
		 : cell_printf(d, STYLE_MUTED, "%s, missing", path);
}

static struct cell hold_page_lines(struct doc *d, const struct journal *j)
{
	if (j->bad_lines && j->bad_at)
		return cell_printf(d, STYLE_BAD, "%zu are unreadable, the first is line %zu",
				   j->bad_lines, j->bad_at);
	if (j->bad_lines)
		return cell_printf(d, STYLE_BAD, "%zu are unreadable", j->bad_lines);
	if (j->mended)
		return cell_printf(d, STYLE_WARN, "%zu are damaged and were read from the copy",
				   j->mended);
	return cell_as(STYLE_GOOD, "all are readable");
}

struct doc *page_journal(struct arena *a, const struct journal *j)
{
	const struct journal_files *f = &j->files;
	struct doc *d = doc_new(a);
	struct node *p;

	if (!f->format) {
		doc_text(d, "No journal: gputune has changed nothing.");
		return d;
	}
	p = doc_pairs(d, NULL);
	node_pair(d, p, "Journal", bytes(d, TXN_JOURNAL, f->bytes));
	node_pair(d, p, "Copy",
		  f->format == 1 || f->copy_is_whole
			  ? bytes(d, TXN_COPY, f->copy_bytes)
			  : cell_printf(d, STYLE_WARN, "%s, differs from the journal", TXN_COPY));
	node_pair(d, p, "History", bytes(d, TXN_HISTORY, f->history_bytes));
	node_pair(d, p, "Format",
		  f->format == 1 ? cell("1, without checksums; the next change writes format 2")
				 : cellf(d, "%d", f->format));
	node_pair(d, p, "Lines", hold_page_lines(d, j));
	node_pairf(d, p, "Transactions", "%zu, of which %zu may have changes in effect", j->n,
		   journal_count_open(j));
	return d;
}
