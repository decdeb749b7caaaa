/* SPDX-License-Identifier: Apache-2.0 */
/* The ledger beside findings, changes and a setting. */
#include "measure/prove/ledger_view.h"

#include <string.h>

#include "base/clock.h"

static bool can_be_proven(const struct setting *s)
{
	return s->knob != KNOB_NONE || s->remediate;
}

bool measured_any(const struct ledger *l)
{
	for (size_t i = 0; l && i < l->n; i++)
		if (strcmp(l->rows[i].where.machine, l->here.machine) == 0)
			return true;
	return false;
}

/* The value that a verdict is shown beside, as people are told (">= 1024 KiB"): the target value,
 * or what is right already. NULL: not known. */
static const char *value_of(const struct finding *f)
{
	return f->v.kind == VERDICT_PASS && f->v.current ? f->v.current : f->v.wanted;
}

static bool ledger_view_has_word(const char *text, const char *word)
{
	size_t n = strlen(word);

	for (const char *at = text; n && at && (at = strstr(at, word)) != NULL; at += n)
		if ((at == text || at[-1] == ' ') && (!at[n] || at[n] == ' '))
			return true;
	return false;
}

/* Of several words the last one tells: "4096 131072 16777216" is "largest >= 16777216 bytes". */
static bool is_on(const void *ctx, const struct ledger_row *r)
{
	const char *value = ctx, *last = r->after ? strrchr(r->after, ' ') : NULL;

	return !r->after || ledger_view_has_word(value, last ? last + 1 : r->after);
}

/* What was found of the value that counts goes before what was found of another one. */
static void find_of(struct arena *a, const struct ledger *l, const char *setting,
		    const char *target, const char *value, struct ledger_answer *out)
{
	ledger_find_where(a, l, setting, target, is_on, value, out);
	if (!out->row)
		ledger_find(a, l, setting, target, out);
}

/* A verdict on another value says which one. */
static const char *ledger_view_text_of(struct arena *a, const struct ledger_answer *answer,
				       const char *value)
{
	const struct ledger_row *r = answer->row;
	const char *text = ledger_text(a, answer);

	if (is_on(value, r))
		return text;
	return arena_printf(a, "of %s instead of %s: %s", r->after,
			    r->before ? r->before : "what was set", text);
}

/* Of several targets the first that something holds for; else the first that something held for. */
static struct ledger_answer ledger_view_answer_of(struct arena *a, const struct ledger *l,
						  const struct finding *f)
{
	const char *value = value_of(f);
	struct ledger_answer best = { 0 };

	for (size_t i = 0; i < f->n_targets && best.valid != LEDGER_VALID; i++) {
		struct ledger_answer one;

		find_of(a, l, f->s->id, f->targets[i], value, &one);
		if (!best.row || one.valid == LEDGER_VALID)
			best = one;
	}
	if (!f->n_targets)
		find_of(a, l, f->s->id, NULL, value, &best);
	return best;
}

const char *measured_change(struct arena *a, const struct ledger *l, const struct change *c)
{
	struct ledger_answer answer;

	find_of(a, l, c->s->id, c->target, c->after, &answer);
	return answer.row ? ledger_view_text_of(a, &answer, c->after) : NULL;
}

void measured_findings_json(struct arena *a, json_t *result, const struct findings *f,
			    const struct ledger *l)
{
	json_t *list = json_object_get(result, "findings");

	for (size_t i = 0; i < f->n; i++) {
		const struct finding *it = &f->items[i];
		struct ledger_answer answer;

		if (!can_be_proven(it->s))
			continue;
		answer = ledger_view_answer_of(a, l, it);
		json_object_set_new(json_array_get(list, i), "measured",
				    ledger_answer_json(a, &answer));
	}
}

static enum style verdict_style(const struct ledger_answer *answer)
{
	if (answer->valid == LEDGER_EXPIRED)
		return STYLE_MUTED;
	return answer->row->verdict == RULING_HELPS   ? STYLE_GOOD
	       : answer->row->verdict == RULING_HURTS ? STYLE_BAD
						      : STYLE_PLAIN;
}

static struct node *found_table(struct doc *d)
{
	return DOC_TABLE(d, "Measured here", "Setting", "On", "Verdict", "~Found");
}

static void found_row(struct doc *d, struct node *t, const struct setting *s, const char *on,
		      const struct ledger_answer *answer, const char *value)
{
	NODE_ROW(d, t, cell_as(STYLE_CODE, s->id),
		 cell(*answer->row->target ? answer->row->target : on),
		 cell_as(verdict_style(answer), ruling_name(answer->row->verdict)),
		 cell(ledger_view_text_of(d->arena, answer, value)));
}

static void report_missing(struct doc *d, size_t missing, const char *of_what)
{
	if (missing)
		doc_text(
			d,
			"Unmeasured here: %zu of %s. \"gputune prove ID\" measures, and puts back.",
			missing, of_what);
}

void measured_findings_page(struct doc *d, const struct findings *f, const struct ledger *l)
{
	size_t missing = 0;
	struct node *t;

	if (!measured_any(l))
		return;
	t = found_table(d);
	for (size_t i = 0; i < f->n; i++) {
		const struct finding *it = &f->items[i];
		struct ledger_answer answer;

		if (!can_be_proven(it->s))
			continue;
		answer = ledger_view_answer_of(d->arena, l, it);
		missing += !answer.row && it->v.kind == VERDICT_FAIL;
		if (answer.row)
			found_row(d, t, it->s, it->target, &answer, value_of(it));
	}
	node_drop_empty(t);
	report_missing(d, missing, "what is to be fixed");
}

/* A row for each verdict, not for each of many targets that it holds for. */
void measured_changes_page(struct doc *d, const struct plan *p, const struct ledger *l)
{
	const struct setting *last = NULL;
	const struct ledger_row *shown = NULL;
	size_t missing = 0;
	struct node *t;

	if (!measured_any(l))
		return;
	t = found_table(d);
	for (size_t i = 0; i < p->n; i++) {
		const struct change *c = &p->changes[i];
		struct ledger_answer answer;

		find_of(d->arena, l, c->s->id, c->target, c->after, &answer);
		missing += !answer.row && c->s != last;
		last = c->s;
		if (answer.row && answer.row != shown)
			found_row(d, t, c->s, c->target, &answer, c->after);
		shown = answer.row;
	}
	node_drop_empty(t);
	report_missing(d, missing, "the settings to be changed");
}

static json_t *words_json(const char *words)
{
	json_t *list = json_array();

	for (const char *at = words; at && *at;) {
		size_t n = strcspn(at, " ");

		json_array_append_new(list, json_stringn(at, n));
		at += n + strspn(at + n, " ");
	}
	return list;
}

static json_t *text_or_null(const char *s)
{
	return s ? json_string(s) : json_null();
}

void measured_setting_json(struct arena *a, json_t *result, const struct setting *s,
			   const struct ledger *l)
{
	json_t *list = json_array();

	json_object_set_new(result, "shown_by", words_json(s->shown_by));
	json_object_set_new(result, "not_shown", text_or_null(s->not_shown));
	json_object_set_new(result, "settle_s", json_real(s->settle_s));
	json_object_set_new(result, "warm_up_s", json_real(s->warm_up_s));
	for (size_t i = 0; i < l->n; i++) {
		struct ledger_answer answer;
		json_t *row;

		if (!ledger_judge(a, l, &l->rows[i], s->id, &answer))
			continue;
		row = ledger_answer_json(a, &answer);
		json_object_set_new(row, "target", json_string(l->rows[i].target));
		json_array_append_new(list, row);
	}
	json_object_set_new(result, "measured", list);
}

void measured_verdicts(struct doc *d, const char *id, const struct ledger *l)
{
	struct node *t = DOC_TABLE(d, "Verdicts", "When", "Setting", "On", "Without", "With",
				   "~Found", "~Still valid");

	/* The newest first. */
	for (size_t i = l->n; i-- > 0;) {
		const struct ledger_row *r = &l->rows[i];
		struct ledger_answer answer;
		char stamp[STAMP_SIZE] = "";

		if (!ledger_judge(d->arena, l, r, id ? id : r->setting, &answer))
			continue;
		stamp_format(r->time_s, stamp);
		NODE_ROW(d, t, cell(arena_strdup(d->arena, stamp)),
			 cell_as(STYLE_CODE, id && !answer.with ? NULL : r->setting),
			 cell(r->target), cell(r->before ? r->before : ""),
			 cell(r->after ? r->after : ""), cell(ledger_row_text(d->arena, r)),
			 answer.changed ? cell_as(STYLE_WARN,
						  arena_printf(d->arena, "no: %s", answer.changed))
					: cell("yes"));
	}
	node_drop_empty(t);
}

void measured_setting_page(struct doc *d, const struct setting *s, const struct ledger *l)
{
	if (!can_be_proven(s))
		return;
	doc_heading(d, 2, "What it is worth");
	if (s->not_shown)
		doc_text(d, "None of our benches shows it: %s.", s->not_shown);
	else if (s->effect != EFFECT_NOW)
		doc_text(d,
			 "Shown by: %s. It takes effect with a %s, so several boots of either "
			 "kind have to be compared (\"gputune compare\").",
			 s->shown_by,
			 s->effect == EFFECT_DRIVER_RELOAD ? "reload of the driver" : "reboot");
	else
		doc_text(d, "Shown by: %s. \"gputune prove %s\" tries it here and puts it back.",
			 s->shown_by, s->id);
	if (l->state)
		doc_text(d, "What was measured here cannot be seen: %s: %s.", l->file,
			 strerror(-l->state));
	measured_verdicts(d, s->id, l);
}
