/* SPDX-License-Identifier: Apache-2.0 */
/* The page of a plan: changes in order, refusals, who fights, what is left to do by hand. */
#include "verbs/page_plan.h"

#include <string.h>

#include "base/arena.h"
#include "base/text.h"
#include "tune/plan/plan.h"
#include "measure/prove/ledger_view.h"

bool gate_can_be_lifted(const char *gate)
{
	return strcmp(gate, GATE_ALLOW) == 0 || strcmp(gate, GATE_GPU_BUSY) == 0 ||
	       strcmp(gate, GATE_OWN_LINK) == 0;
}

static const char *or_unknown(const char *s)
{
	return s ? (*s ? s : "(empty)") : "unknown";
}

/* Of those that set it at boot, the one whose value stands in the end. */
static const struct owner *winner(const struct change *c)
{
	for (size_t i = 0; i < c->n_owners; i++)
		if (c->owners[i].at_boot && c->owners[i].wins)
			return &c->owners[i];
	return NULL;
}

static const char *winner_text(struct arena *a, const struct change *c)
{
	const struct owner *o = winner(c);

	if (!o)
		return NULL;
	return o->value ? arena_printf(a, "%s sets %s", o->what, o->value) : o->what;
}

/* A gain that nobody measured is called so. */
static const char *why_text(struct arena *a, const struct change *c, const struct ledger *l)
{
	const char *found = l ? measured_change(a, l, c) : NULL;

	if (!c->why || !*c->why)
		return "";
	if (found)
		return arena_printf(a, "%s%s Measured here: %s.", c->why,
				    c->why[strlen(c->why) - 1] == '.' ? "" : ".", found);
	if (strstr(c->why, "measured"))
		return c->why;
	return arena_printf(a, "%s%s Gain unmeasured.", c->why,
			    c->why[strlen(c->why) - 1] == '.' ? "" : ".");
}

static struct batch *plan_page_batches(struct arena *a, const struct machine *m,
				       const struct plan *p, size_t *n)
{
	struct batch_row *rows = arena_array(a, p->n, sizeof(*rows));

	for (size_t i = 0; i < p->n; i++) {
		const struct change *c = &p->changes[i];
		const char *const key[] = {
			c->before, c->after,   risk_name(c->risk), effect_name(c->effect),
			c->gate,   c->refusal, winner_text(a, c)
		};

		rows[i] = (struct batch_row){ c->s->id, c->target, &c->knob,
					      batch_key(a, key, sizeof(key) / sizeof(key[0])) };
	}
	return batch_rows(a, m, rows, p->n, n);
}

static enum style risk_style(enum risk r)
{
	return r >= RISK_DANGER ? STYLE_BAD : r == RISK_SERVICE ? STYLE_WARN : STYLE_PLAIN;
}

static const char *place_text(struct arena *a, const struct change *c)
{
	return arena_printf(a, "%s: %s", knob_kind_name(c->knob.kind), knob_text(a, &c->knob));
}

static void plan_page_changes(struct doc *d, const struct plan *p, const struct batch *b, size_t n)
{
	struct node *t = DOC_TABLE(d, "Changes, in the order in which they are written", "Setting",
				   "On", "~Before", "~After", "Effect", "Risk", "~At boot");

	for (size_t i = 0; i < n; i++) {
		const struct change *c = &p->changes[b[i].first];
		struct cell *row;

		if (c->gate)
			continue;
		row = NODE_ROW(d, t, cell_as(STYLE_CODE, b[i].what), cell(b[i].on));
		row[2] =
			c->before ? cell(or_unknown(c->before)) : cell_as(STYLE_UNKNOWN, "unknown");
		row[3] = cell_as(STYLE_STRONG, or_unknown(c->after));
		row[4] = cell(effect_name(c->effect));
		row[5] = cell_as(risk_style(c->risk), risk_name(c->risk));
		row[6] = cell(winner_text(d->arena, c));
	}
	node_drop_empty(t);
}

static void plan_page_reasons(struct doc *d, const struct plan *p, const struct batch *b, size_t n,
			      const struct ledger *l)
{
	struct node *t = DOC_TABLE(d, "Reasons", "Setting", "~Why", "~Source"), *places;

	for (size_t i = 0; i < n; i++) {
		const struct change *c = &p->changes[b[i].first];

		NODE_ROW(d, t, cell_as(STYLE_CODE, b[i].what), cell(why_text(d->arena, c, l)),
			 cell_as(STYLE_MUTED, c->source));
	}
	places =
		DOC_TABLE(d, "Places, and how they are taken back", "Setting", "~Place", "~Undone");
	for (size_t i = 0; i < n; i++) {
		const struct change *c = &p->changes[b[i].first];

		NODE_ROW(d, places, cell_as(STYLE_CODE, b[i].what),
			 cell(b[i].n > 1 ? arena_printf(d->arena, "%s, and %zu more",
							place_text(d->arena, c), b[i].n - 1)
					 : place_text(d->arena, c)),
			 cell_as(STYLE_MUTED, knob_how_undone(c->knob.kind)));
	}
}

static struct cell lifted_by(struct doc *d, const struct change *c)
{
	if (!gate_can_be_lifted(c->gate))
		return cell_as(STYLE_MUTED, "nothing");
	/* Not said twice. */
	if (c->refusal && strstr(c->refusal, "--allow"))
		return cell_as(STYLE_CODE, "--allow");
	return cell_printf(d, STYLE_CODE, "--allow %s", c->s->id);
}

static void plan_page_refusals(struct doc *d, const struct plan *p, const struct batch *b, size_t n)
{
	struct node *t = DOC_TABLE(d, "Refused", "Setting", "On", "~Before", "~After",
				   "~Refused because", "Lifted by");

	for (size_t i = 0; i < n; i++) {
		const struct change *c = &p->changes[b[i].first];

		if (!c->gate)
			continue;
		NODE_ROW(d, t, cell_as(STYLE_CODE, b[i].what), cell(b[i].on),
			 cell(or_unknown(c->before)), cell(or_unknown(c->after)),
			 cell_as(STYLE_WARN, c->refusal ? c->refusal : c->gate), lifted_by(d, c));
	}
	node_drop_empty(t);
}

/* One line a daemon, with all that it may set again. */
static void fights(struct doc *d, const struct plan *p)
{
	struct node *t = DOC_TABLE(d, "May be set again at any time by", "~Daemon", "~Sets");
	struct map rows = { 0 }, seen = { 0 };

	for (size_t i = 0; i < p->n; i++)
		for (size_t k = 0; k < p->changes[i].n_owners; k++) {
			const struct owner *o = &p->changes[i].owners[k];
			const char *id = p->changes[i].s->id;
			const char *const pair[] = { o->what, id };
			void **row, **once;

			if (!o->fights || p->changes[i].gate)
				continue;
			once = map_at(d->arena, &seen, batch_key(d->arena, pair, 2));
			if (*once)
				continue;
			*once = t;
			row = map_at(d->arena, &rows, o->what);
			if (!*row) {
				node_row(d, t)[0] = cell_as(STYLE_WARN, o->what);
				*row = (void *)t->n_rows;
			}
			/* By number: rows move while the table grows. */
			struct cell *sets = &t->rows[(size_t)*row - 1].cells[1];

			*sets = cell(sets->text ? arena_printf(d->arena, "%s, %s", sets->text, id)
						: id);
		}
}

static void by_hand(struct doc *d, const struct plan *p)
{
	struct node *t =
		DOC_TABLE(d, "To do by hand", "Setting", "~On", "~Now", "~Wanted", "~To do");

	for (size_t i = 0; i < p->n_advice; i++) {
		const struct finding *f = p->advice[i].finding;

		NODE_ROW(d, t, cell_as(STYLE_CODE, f->s->id),
			 cell(f->n_targets > 3 && strlen(f->target) > 24
				      ? arena_printf(d->arena, "%s %s +%zu", f->targets[0],
						     f->targets[1], f->n_targets - 2)
				      : f->target),
			 cell(f->v.current), cell(f->v.wanted),
			 cell(p->advice[i].sentence ? p->advice[i].sentence : f->v.reason));
	}
	node_drop_empty(t);
}

static void part(struct text *t, size_t n, const char *one, const char *many)
{
	if (n)
		text_printf(t, "%s%zu %s", t->len ? ", " : "", n, n == 1 ? one : many);
}

const char *plan_sentence(struct arena *a, const struct plan *p)
{
	size_t by_effect[EFFECT_FIRMWARE + 1] = { 0 }, refused = 0;
	TEXT_AUTO t = { 0 };

	for (size_t i = 0; i < p->n; i++) {
		if (p->changes[i].gate)
			refused++;
		else
			by_effect[p->changes[i].effect]++;
	}
	part(&t, by_effect[EFFECT_NOW], "change now", "changes now");
	part(&t, by_effect[EFFECT_DRIVER_RELOAD], "needs a driver reload", "need a driver reload");
	part(&t, by_effect[EFFECT_REBOOT], "needs a reboot", "need a reboot");
	part(&t, by_effect[EFFECT_FIRMWARE], "needs firmware setup", "need firmware setup");
	if (!t.len)
		text_add(&t, "nothing to change");
	part(&t, refused, "refused", "refused");
	part(&t, p->n_advice, "to do by hand", "to do by hand");
	return arena_strdup(a, t.s);
}

struct doc *page_plan(struct arena *a, const struct machine *m, const struct plan *p,
		      const struct plan_view *how)
{
	struct doc *d = doc_new(a);
	size_t n;
	const struct batch *b = plan_page_batches(a, m, p, &n);
	struct node *line;

	line = doc_text(d, "Plan for %s, profile ", p->nodename ? p->nodename : "this machine");
	node_span(d, line, cell_as(STYLE_CODE, p->profile));
	plan_page_changes(d, p, b, n);
	measured_changes_page(d, p, how->ledger);
	plan_page_refusals(d, p, b, n);
	if (how->verbose)
		plan_page_reasons(d, p, b, n, how->ledger);
	fights(d, p);
	by_hand(d, p);
	line = doc_paragraph(d);
	node_span(d, line, cell_printf(d, STYLE_STRONG, "%s.", plan_sentence(a, p)));
	if (plan_open_changes(p))
		node_span(
			d, line,
			cell(how->verbose ? " \"gputune undo\" takes them back."
			     : measured_any(how->ledger)
				     ? " \"gputune undo\" takes them back. --verbose shows reasons."
				     : " \"gputune undo\" takes them back. No gain is measured "
				       "unless its reason says so; --verbose shows reasons."));
	return d;
}
