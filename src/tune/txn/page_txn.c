/* SPDX-License-Identifier: Apache-2.0 */
/* The pages of apply and undo: what became of every knob, and what is left to a person. */
#include <errno.h>
#include <string.h>

#include "tune/txn/page_txn.h"
#include "base/text.h"
#include "machine/host/boot_menu.h"
#include "tune/plan/plan.h"
#include "render/figure.h"

static enum style outcome_style(enum outcome o)
{
	switch (o) {
	case OUTCOME_DONE:
	case OUTCOME_RESTORED:
	case OUTCOME_ALREADY:
		return STYLE_GOOD;
	case OUTCOME_CLAMPED:
	case OUTCOME_FAILED:
	case OUTCOME_STUCK:
		return STYLE_BAD;
	case OUTCOME_FOREIGN:
	case OUTCOME_RESET:
	case OUTCOME_GONE:
		return STYLE_WARN;
	default:
		return STYLE_MUTED;
	}
}

/* The word people read; outcome_name is for programs. */
static const char *outcome_text(const struct txn_report *r, const struct outcome_row *row)
{
	enum outcome o = row->outcome;
	static const char *const texts[] = {
		[OUTCOME_DONE] = "in effect",
		[OUTCOME_CLAMPED] = "not accepted",
		[OUTCOME_FAILED] = "failed",
		[OUTCOME_ROLLED_BACK] = "rolled back",
		[OUTCOME_NOT_TRIED] = "not tried",
		[OUTCOME_STUCK] = "stuck",
		[OUTCOME_RESTORED] = "restored",
		[OUTCOME_ALREADY] = "was already restored",
		[OUTCOME_RESET] = "reset",
		[OUTCOME_COVERED] = "changed again later",
		[OUTCOME_FOREIGN] = "not undone: changed since",
		[OUTCOME_GONE] = "gone",
	};

	if (o == OUTCOME_DONE && !row->found)
		return TXN_UNREAD;
	return r->dry && o == OUTCOME_RESTORED ? "would restore" : texts[o];
}

static bool needs_reboot(const struct outcome_row *r)
{
	const struct setting *s = setting_find(r->id);

	return r->knob.kind == KNOB_BOOTARG || (s && s->effect == EFFECT_REBOOT);
}

static bool waits(const struct outcome_row *r)
{
	return r->outcome == OUTCOME_DONE && needs_reboot(r);
}

struct cell txn_value_cell(struct doc *d, const struct knob *k, const char *value)
{
	if (!value)
		return cell_as(STYLE_UNKNOWN, "unknown");
	if ((k->kind != KNOB_FILE && k->kind != KNOB_BLOCK) || value[0] != '0' || strlen(value) < 5)
		return cell(value);
	if (str_ends(k->name, "/"))
		return cell("folder");
	return cellf(d, "%.4s, %zu characters", value, strlen(value + 5));
}

const char *txn_file_of(const struct knob *k)
{
	return k->kind == KNOB_FILE || k->kind == KNOB_BLOCK ? k->name : "";
}

/* From what to what; of an undo from what was set back to what was there. */
static void outcomes(struct doc *d, const struct machine *m, const struct txn_report *r, bool undo)
{
	struct node *list = doc_findings(d, NULL);
	struct batch_row *rows = arena_array(d->arena, r->n, sizeof(*rows));
	struct batch *b;
	size_t n;

	for (size_t i = 0; i < r->n; i++) {
		const struct outcome_row *o = &r->rows[undo ? r->n - 1 - i : i];
		const char *const key[] = { o->from,	 o->to,
					    o->found,	 outcome_text(r, o),
					    o->sentence, txn_file_of(&o->knob) };

		rows[i] = (struct batch_row){ o->id, o->target, &o->knob,
					      batch_key(d->arena, key, 6) };
	}
	b = batch_rows(d->arena, m, rows, r->n, &n);
	for (size_t i = 0; i < n; i++) {
		const size_t at = b[i].first;
		const struct outcome_row *o = &r->rows[undo ? r->n - 1 - at : at];
		bool done = o->outcome == OUTCOME_DONE || o->outcome == OUTCOME_RESTORED;

		struct found f = {
			.badge = waits(o) ? cell_as(STYLE_WARN, "after a reboot")
					  : cell_as(outcome_style(o->outcome), outcome_text(r, o)),
			.id = b[i].what,
			.on = *txn_file_of(&o->knob) ? txn_file_of(&o->knob) : b[i].on,
			.now = txn_value_cell(d, &o->knob, undo ? o->to : o->from).text,
			.wanted = txn_value_cell(d, &o->knob, undo ? o->from : o->to).text,
			.why = o->sentence
		};
		const char *found =
			done || !o->found ? NULL : txn_value_cell(d, &o->knob, o->found).text;

		figure_values(d->arena, knob_unit(&o->knob), &f.now, &f.wanted);
		figure_values(d->arena, knob_unit(&o->knob), &found, &(const char *){ NULL });
		node_found(d, list, &f);
		node_more(d, list, "now", cell(found));
	}
}

/* By hand, in the order in which they have to be run. */
static void txn_page_commands(struct doc *d, const struct txn_report *r)
{
	TEXT_AUTO t = { 0 };

	for (size_t i = 0; i < r->n; i++)
		if (r->rows[i].outcome == OUTCOME_STUCK && r->rows[i].command)
			text_printf(&t, "%s\n", r->rows[i].command);
	if (!t.len)
		return;
	doc_text(d, "Could not be undone; fix by hand:");
	doc_code(d, arena_strdup(d->arena, t.s));
}

static bool has_command(const struct txn_report *r)
{
	for (size_t i = 0; i < r->n; i++)
		if (r->rows[i].outcome == OUTCOME_STUCK && r->rows[i].command)
			return true;
	return false;
}

static size_t count(const struct txn_report *r, enum outcome o)
{
	size_t n = 0;

	for (size_t i = 0; i < r->n; i++)
		n += r->rows[i].outcome == o;
	return n;
}

void page_recovered(struct doc *d, const struct machine *m, const struct txn_report *r,
		    bool with_rows)
{
	const struct txn_report rows = { .rows = r->recovery, .n = r->n_recovery };
	struct node *leftovers = r->n_leftovers ? doc_bullets(d) : NULL;

	for (size_t i = 0; i < r->n_leftovers; i++)
		node_bullet(d, leftovers, cell(r->leftovers[i]));
	if (!r->recovered)
		return;
	doc_text(d, "%zu interrupted transaction%s rolled back first.", r->recovered,
		 r->recovered == 1 ? " was" : "s were");
	if (!with_rows)
		return;
	outcomes(d, m, &rows, true);
	txn_page_commands(d, &rows);
}

const char *changes_text(struct arena *a, size_t n)
{
	return arena_printf(a, "%zu change%s", n, PLURAL(n));
}

size_t settings_in(const char *const *ids, size_t n)
{
	size_t settings = 0;

	for (size_t i = 0; i < n; i++) {
		size_t k = i;

		/* Backwards: those of one setting are mostly beside each other. */
		while (k && strcmp(ids[k - 1], ids[i]) != 0)
			k--;
		settings += k == 0;
	}
	return settings;
}

const char *changes_of_text(struct arena *a, const char *const *ids, size_t n)
{
	size_t settings = settings_in(ids, n);

	return settings == n ? changes_text(a, n)
			     : arena_printf(a, "%s of %zu setting%s", changes_text(a, n), settings,
					    PLURAL(settings));
}

/* What was written of boot arguments is a file that the boot menu is made from. */
static void boot_menu(struct doc *d, const struct machine *m, const struct txn_report *r,
		      enum outcome written, struct node *line)
{
	const char *maker = boot_menu_maker(boot_menu_parse(fact_text(&m->config.boot_menu, "")));
	size_t i = 0;

	while (i < r->n && (r->rows[i].knob.kind != KNOB_BOOTARG || r->rows[i].outcome != written))
		i++;
	if (i == r->n || !maker)
		return;
	node_span(d, line, cell(" Kernel arguments: run "));
	node_span(d, line, cell_as(STYLE_CODE, maker));
	node_span(d, line, cell(" before that reboot."));
}

static void txn_page_applied(struct doc *d, const struct machine *m, const struct txn_report *r,
			     struct node *line)
{
	const char **ids = arena_array(d->arena, r->n + 1, sizeof(*ids));
	size_t later = 0;

	for (size_t i = 0; i < r->n; i++) {
		later += waits(&r->rows[i]);
		ids[i] = r->rows[i].id;
	}
	if (!r->n) {
		node_span(d, line, cell_as(STYLE_GOOD, "No changes were needed."));
		return;
	}
	node_span(d, line,
		  cell_printf(d, STYLE_GOOD, "Transaction %lu: %s made.", r->txn,
			      changes_of_text(d->arena, ids, r->n)));
	if (later)
		node_span(d, line,
			  cell_printf(d, STYLE_WARN, " %zu of them %s effect after a reboot.",
				      later, later == 1 ? "takes" : "take"));
	node_span(d, line,
		  cellf(d, " Undo with %s",
			machine_quoted(d->arena, m, arena_printf(d->arena, "undo %lu", r->txn))));
	if (later + r->reset < r->n)
		node_span(d, line,
			  cellf(d, "; %s keeps %s after a reboot",
				machine_quoted(d->arena, m, "persist install"),
				r->reset ? "all but those below" : "it"));
	node_span(d, line, cell("."));
	boot_menu(d, m, r, OUTCOME_DONE, line);
}

struct doc *page_apply(struct arena *a, const struct machine *m, const struct txn_report *r,
		       int result)
{
	struct doc *d = doc_new(a);
	struct node *line;

	page_recovered(d, m, r, true);
	outcomes(d, m, r, false);
	txn_page_commands(d, r);
	line = doc_paragraph(d);
	if (result == 0)
		txn_page_applied(d, m, r, line);
	else if (result == -EUCLEAN)
		node_span(d, line,
			  cell_printf(d, STYLE_BAD,
				      "Transaction %lu failed, and %s could not be rolled back. "
				      "\"%s\" tries again.",
				      r->txn, changes_text(a, count(r, OUTCOME_STUCK)),
				      machine_command(a, m, true, "undo %lu", r->txn)));
	else if (result == -ECANCELED)
		node_span(d, line,
			  cell_printf(d, STYLE_WARN,
				      "Transaction %lu failed and was rolled back: the machine is "
				      "unchanged.",
				      r->txn));
	else
		node_span(d, line, cell_as(STYLE_WARN, "Nothing was written."));
	return d;
}

/* What a person has to know beyond "restored". */
static void undone(struct doc *d, const struct txn_report *r, struct node *line)
{
	static const struct {
		enum outcome o;
		const char *text;
	} parts[] = {
		{ OUTCOME_RESTORED, "restored" },
		{ OUTCOME_ALREADY, "unchanged" },
		{ OUTCOME_RESET, "reset (the old value was unknown)" },
		{ OUTCOME_COVERED, "changed again by a later transaction" },
		{ OUTCOME_FOREIGN, "not undone (changed since by others)" },
		{ OUTCOME_GONE, "abandoned (device or file is missing)" },
		{ OUTCOME_NOT_TRIED, "not tried" },
		{ OUTCOME_STUCK, "stuck" },
	};
	TEXT_AUTO t = { 0 };

	for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++) {
		size_t n = count(r, parts[i].o);

		if (n)
			text_printf(&t, "%s%zu %s", t.len ? ", " : "", n, parts[i].text);
	}
	if (r->dry)
		node_span(d, line, cell("Dry run: nothing was written. The result would be: "));
	node_span(d, line,
		  cell_as(STYLE_STRONG, arena_printf(d->arena, "%s.",
						     t.len    ? t.s
						     : r->dry ? "nothing undone"
							      : "Nothing was undone")));
	if (count(r, OUTCOME_FOREIGN))
		node_span(d, line, cell(" --force also restores values changed by others since."));
}

/* What was taken back and is in force all the same until the machine is booted. */
static void restarts(struct doc *d, const struct machine *m, const struct txn_report *r,
		     struct node *line)
{
	size_t later = 0;

	for (size_t i = 0; i < r->n; i++)
		later += needs_reboot(&r->rows[i]) && r->rows[i].outcome == OUTCOME_RESTORED;
	if (later)
		node_span(d, line,
			  cell_printf(d, STYLE_WARN, " %zu of them %s effect after a reboot.",
				      later, later == 1 ? "takes" : "take"));
	boot_menu(d, m, r, OUTCOME_RESTORED, line);
}

void page_reverted(struct doc *d, const struct machine *m, const struct txn_report *r)
{
	outcomes(d, m, r, true);
	txn_page_commands(d, r);
}

struct doc *page_undo(struct arena *a, const struct machine *m, const struct txn_report *r,
		      int result)
{
	struct doc *d = doc_new(a);
	struct node *line;

	page_recovered(d, m, r, true);
	page_reverted(d, m, r);
	line = doc_paragraph(d);
	if (result == -ENOENT && !r->n)
		node_span(d, line, cell("Nothing to undo."));
	else
		undone(d, r, line);
	if (!r->dry)
		restarts(d, m, r, line);
	if (result == -EUCLEAN && count(r, OUTCOME_STUCK))
		node_span(d, line,
			  cell_as(STYLE_BAD, has_command(r)
						     ? " Some changes could not be undone: use the "
						       "commands above."
						     : " Some changes could not be undone."));
	return d;
}

/* The page of history: who changed what, when and why; newest first. */

const struct transaction *history_find(const struct journal *j, unsigned long txn)
{
	for (size_t i = j->n; i > 0; i--)
		if (j->items[i - 1].txn == txn)
			return &j->items[i - 1];
	return NULL;
}

static enum style txn_page_state_style(enum transaction_state s)
{
	switch (s) {
	case TRANSACTION_APPLIED:
		return STYLE_GOOD;
	case TRANSACTION_OPEN:
	case TRANSACTION_INCOMPLETE:
		return STYLE_BAD;
	default:
		return STYLE_MUTED;
	}
}

/* An open transaction of the journal is what a crash left; an undo is never undone itself. */
static const char *state_text(const struct transaction *t)
{
	if (t->state == TRANSACTION_UNDONE && !transaction_holds(t))
		return "complete";
	return t->state == TRANSACTION_OPEN ? "interrupted" : transaction_state_name(t->state);
}

static void overview(struct doc *d, const struct journal *j)
{
	struct node *t = DOC_TABLE(d, NULL, ">Txn", "When", "Who", "What", "Profile", "State",
				   ">Changes", "~Why");
	size_t trials = 0;

	for (size_t i = j->n; i > 0; i--) {
		const struct transaction *it = &j->items[i - 1];

		/* A proof makes dozens of them. */
		if (strcmp(it->op, TXN_PROVE) == 0 && it->state == TRANSACTION_ROLLED_BACK) {
			trials++;
			continue;
		}
		NODE_ROW(d, t, cellf(d, "%lu", it->txn), cell(figure_time(d->arena, it->time_s)),
			 cell(it->user), cell(it->op), cell(it->profile),
			 cell_as(txn_page_state_style(it->state), state_text(it)),
			 it->n ? cellf(d, "%zu", it->n) : cell(NULL), cell(it->reason));
	}
	node_drop_empty(t);
	if (trials)
		doc_text(d,
			 "%zu temporary changes of A/B tests, all undone, are not shown; --format "
			 "json lists them.",
			 trials);
}

static void txn_page_changes(struct doc *d, const struct machine *m, const struct transaction *t)
{
	struct node *table = DOC_TABLE(d, NULL, "!Setting", "!On", "~From", "~To", "~Read back",
				       "State", "~Note");
	struct batch_row *keys = arena_array(d->arena, t->n, sizeof(*keys));
	struct batch *b;
	size_t n;

	for (size_t i = 0; i < t->n; i++) {
		const struct entry *e = &t->entries[i];
		const char *const key[] = { e->before, e->after, e->read,
					    entry_state_name(e->state), e->note };

		keys[i] = (struct batch_row){ e->id, e->target, &e->knob,
					      batch_key(d->arena, key, 5) };
	}
	b = batch_rows(d->arena, m, keys, t->n, &n);
	for (size_t i = 0; i < n; i++) {
		const struct entry *e = &t->entries[b[i].first];

		NODE_ROW(d, table, cell_as(STYLE_CODE, b[i].what), cell(b[i].on),
			 e->before ? cell(e->before) : cell_as(STYLE_UNKNOWN, "unknown"),
			 cell(e->after), cell(e->read),
			 cell_as(e->state == ENTRY_STUCK ? STYLE_BAD : STYLE_PLAIN,
				 entry_state_name(e->state)),
			 cell(e->note));
	}
	node_drop_empty(table);
}

static void txn_page_one(struct doc *d, const struct machine *m, const struct transaction *t)
{
	struct node *p = doc_pairs(d, NULL);

	node_pair(d, p, "Transaction", cell_printf(d, STYLE_STRONG, "%lu", t->txn));
	node_pair(d, p, "What", cell(t->op));
	node_pair(d, p, "When", cell(figure_time(d->arena, t->time_s)));
	node_pair(d, p, "Who", cell(t->user));
	node_pair(d, p, "Why", cell(t->reason));
	node_pair(d, p, "Profile", cell(t->profile));
	node_pair(d, p, "State", cell_as(txn_page_state_style(t->state), state_text(t)));
	node_pair(d, p, "Boot", cell_as(STYLE_MUTED, t->boot_id));
	node_pair(d, p, "Program", cell_as(STYLE_MUTED, t->version));
	node_drop_empty(p);
	txn_page_changes(d, m, t);
}

struct doc *page_history(struct arena *a, const struct machine *m, const struct journal *j,
			 const struct transaction *only)
{
	struct doc *d = doc_new(a);

	if (only)
		txn_page_one(d, m, only);
	else if (j->n)
		overview(d, j);
	else if (!j->bad_lines)
		doc_text(d, "gputune has changed nothing.");
	if (j->n && m && fact_or(&m->captured, 0))
		doc_text(
			d,
			"Times are of the captured machine's clock, which stopped at the capture.");
	if (j->bad_lines)
		doc_text(d, "%zu unreadable line%s in the journal: the history may be incomplete.",
			 j->bad_lines, PLURAL(j->bad_lines));
	if (j->torn)
		doc_text(d, "The journal's last line was truncated by a crash.");
	return d;
}
