/* SPDX-License-Identifier: Apache-2.0 */
/* The page of a plan: changes in order, refusals, who fights, what is left to do by hand. */
#include <stdio.h>

#include "verbs/page_plan.h"

#include "base/arena.h"
#include "base/text.h"
#include "tune/plan/plan.h"
#include "tune/txn/page_txn.h"
#include "measure/prove/ledger_view.h"
#include "render/figure.h"
#include "verbs/page_check.h"

static const char *or_unknown(const char *s)
{
	return s ? (*s ? s : "(empty)") : "unknown";
}

/* Of a lock, which no driver reports, the two ends of its range. */
static const char *plan_wanted(struct arena *a, const struct change *c)
{
	long long low, high;

	if (!str_ends(c->knob.name, "-clock-lock") ||
	    sscanf(or_unknown(c->after), "%lld,%lld", &low, &high) != 2)
		return or_unknown(c->after);
	return low == high ? arena_printf(a, "locked at %lld MHz", low)
			   : arena_printf(a, "%lld to %lld MHz", low, high);
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

static struct cell lifted_by(struct doc *d, const struct machine *m, const struct change *c)
{
	if (!gate_can_be_lifted(c->gate))
		return cell(NULL);
	return cell_as(STYLE_CODE, machine_command(d->arena, m, true, "apply --only %s --allow %s",
						   c->s->id, c->s->id));
}

/* What is written, or with refused what is not. */
static void plan_page_changes(struct doc *d, const struct machine *m, const struct plan *p,
			      const struct batch *b, size_t n, const struct plan_view *how,
			      bool refused)
{
	struct node *list =
		doc_findings(d, refused ? "Refused" : "Changes, in the order of writing");

	for (size_t i = 0; i < n; i++) {
		const struct change *c = &p->changes[b[i].first];
		const char *found = measured_any(how->ledger)
					    ? measured_change(d->arena, how->ledger, c)
					    : NULL;
		struct found f = { .badge = severity_cell(c->s->severity),
				   .id = b[i].what,
				   .on = b[i].on,
				   .now = or_unknown(c->before),
				   .wanted = plan_wanted(d->arena, c),
				   .why = c->why };

		if ((c->gate != NULL) != refused)
			continue;
		figure_values(d->arena, knob_unit(&c->knob), &f.now, &f.wanted);
		if (refused)
			f.fix = lifted_by(d, m, c);
		node_found(d, list, &f);
		if (refused)
			node_more(d, list, "refused",
				  cell_as(STYLE_WARN, c->refusal ? c->refusal : c->gate));
		node_more(d, list, "measured here", cell(found));
		if (c->effect != EFFECT_NOW)
			node_more(d, list, "takes effect", cell(effect_name(c->effect)));
		if (c->risk != RISK_NONE)
			node_more(d, list, "risk",
				  cell_as(risk_style(c->risk), risk_name(c->risk)));
		node_more(d, list, "at boot", cell(winner_text(d->arena, c)));
		if (!how->verbose)
			continue;
		node_more(d, list, "source", cell_as(STYLE_MUTED, c->source));
		node_more(d, list, "place",
			  cell(b[i].n > 1 ? arena_printf(d->arena, "%s, and %zu more",
							 place_text(d->arena, c), b[i].n - 1)
					  : place_text(d->arena, c)));
		node_more(d, list, "undone", cell_as(STYLE_MUTED, knob_how_undone(c->knob.kind)));
	}
}

/* One line a daemon, with all that it may set again. */
static void fights(struct doc *d, const struct plan *p)
{
	struct node *t = DOC_TABLE(d, "Can be overwritten at any time by", "~Daemon", "~Sets");
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

static void by_hand(struct doc *d, const struct machine *m, const struct plan *p)
{
	struct node *list = doc_findings(d, "To do by hand");

	for (size_t i = 0; i < p->n_advice; i++) {
		const struct finding *it = p->advice[i].finding;
		struct found f = { .badge = severity_cell(it->severity),
				   .id = it->s->id,
				   .on = finding_targets(d->arena, it),
				   .now = it->v.current,
				   .wanted = it->v.wanted,
				   .why = finding_reason(it),
				   .fix = cell(
					   machine_sentence(d->arena, m, p->advice[i].sentence)) };

		figure_values(d->arena, setting_unit(it->s), &f.now, &f.wanted);
		node_found(d, list, &f);
	}
}

static void part(struct text *t, size_t n, const char *one, const char *many)
{
	if (n)
		text_printf(t, "%s%zu %s", t->len ? ", " : "", n, n == 1 ? one : many);
}

const char *plan_sentence(struct arena *a, const struct plan *p)
{
	static const char *const words[][2] = { { "needs a driver reload", "need a driver reload" },
						{ "needs a reboot", "need a reboot" },
						{ "needs firmware setup", "need firmware setup" },
						{ "refused", "refused" } };
	enum { REFUSED = EFFECT_FIRMWARE + 1, KINDS };
	const char **ids = arena_array(a, p->n + 1, sizeof(*ids));
	TEXT_AUTO t = { 0 };

	for (int kind = EFFECT_NOW; kind < KINDS; kind++) {
		size_t n = 0;

		for (size_t i = 0; i < p->n; i++)
			if ((p->changes[i].gate ? REFUSED : (int)p->changes[i].effect) == kind)
				ids[n++] = p->changes[i].s->id;
		if (kind == REFUSED && !t.len)
			text_add(&t, "nothing to change");
		if (kind != EFFECT_NOW)
			part(&t, settings_in(ids, n), words[kind - 1][0], words[kind - 1][1]);
		else if (n)
			text_printf(&t, "%s now", changes_of_text(a, ids, n));
	}
	part(&t, p->n_advice, "to do by hand", "to do by hand");
	return arena_strdup(a, t.s);
}

struct doc *page_plan(struct arena *a, const struct machine *m, const struct plan *p,
		      const struct plan_view *how)
{
	struct doc *d = doc_new(a);
	size_t n, n_open = plan_open_changes(p);
	const struct batch *b = plan_page_batches(a, m, p, &n);
	struct node *line;

	doc_verdict(d, n_open || p->n || p->n_advice ? STYLE_WARN : STYLE_GOOD, plan_sentence(a, p),
		    NULL);
	line = doc_text(d, "Plan for %s, profile ", p->nodename ? p->nodename : "this machine");
	node_span(d, line, cell_as(STYLE_CODE, p->profile));
	plan_page_changes(d, m, p, b, n, how, false);
	plan_page_changes(d, m, p, b, n, how, true);
	fights(d, p);
	by_hand(d, m, p);
	if (how->apply && n_open)
		doc_text(d, "%s makes %s, %s undoes %s.", machine_quoted(a, m, how->apply),
			 changes_text(a, n_open), machine_quoted(a, m, "undo"),
			 n_open == 1 ? "it" : "them");
	if (n_open)
		doc_text(d, "Only gains marked \"measured\" are measured.");
	return d;
}
