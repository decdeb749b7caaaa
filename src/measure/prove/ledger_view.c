/* SPDX-License-Identifier: Apache-2.0 */
/* The ledger beside findings, changes and a setting; the results of check and explain. */
#include "measure/prove/ledger_view.h"

#include <string.h>

#include "base/clock.h"
#include "knowledge/health.h"
#include "look/settings/findings.h"

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

/* Of several words the last one tells: "4096 131072 16777216" is "largest >= 16777216 bytes". */
static bool is_on(const void *ctx, const struct ledger_row *r)
{
	const char *value = ctx, *last = r->after ? strrchr(r->after, ' ') : NULL;

	return !r->after || str_has_word(value, last ? last + 1 : r->after);
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
	return arena_printf(a, "value %s instead of %s: %s", r->after,
			    r->before ? r->before : "another value", text);
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

static enum style verdict_style(const struct ledger_answer *answer)
{
	if (answer->valid == LEDGER_EXPIRED)
		return STYLE_MUTED;
	return answer->row->verdict == RULING_HELPS   ? STYLE_GOOD
	       : answer->row->verdict == RULING_HURTS ? STYLE_BAD
						      : STYLE_PLAIN;
}

struct cell measured_finding(struct arena *a, const struct ledger *l, const struct finding *f)
{
	struct ledger_answer answer = { 0 };

	if (measured_any(l) && can_be_proven(f->s))
		answer = ledger_view_answer_of(a, l, f);
	return answer.row ? cell_as(verdict_style(&answer),
				    ledger_view_text_of(a, &answer, value_of(f)))
			  : cell(NULL);
}

void measured_missing(struct doc *d, const struct findings *f, const struct ledger *l)
{
	size_t missing = 0;

	for (size_t i = 0; measured_any(l) && i < f->n; i++)
		missing += f->items[i].v.kind == VERDICT_FAIL && can_be_proven(f->items[i].s) &&
			   !measured_finding(d->arena, l, &f->items[i]).text;
	if (missing)
		doc_text(d,
			 "%zu of the settings to fix are not measured on this machine. \"gputune "
			 "prove ID\" measures one, then restores the old value.",
			 missing);
}

void measured_verdicts(struct doc *d, const char *id, const struct ledger *l)
{
	struct node *t = DOC_TABLE(d, "Verdicts", "!When", "!Setting", "!On", "Without", "With",
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

void measured_setting_page(struct doc *d, const struct setting *s, const struct ledger *l,
			   bool here)
{
	if (!can_be_proven(s))
		return;
	doc_heading(d, 2, "Measuring its effect");
	if (s->not_shown)
		doc_text(d, "No bench shows the effect of this setting: %s.", s->not_shown);
	else if (s->effect != EFFECT_NOW)
		doc_text(d,
			 "Measured by: %s. It takes effect with a %s, so compare several boots "
			 "with each value (\"gputune compare\").",
			 s->shown_by,
			 s->effect == EFFECT_DRIVER_RELOAD ? "reload of the driver" : "reboot");
	else if (!here)
		doc_text(d, "Measured by: %s.", s->shown_by);
	else
		doc_text(d,
			 "Measured by: %s. \"gputune prove %s\" tests it here, then restores the "
			 "old value.",
			 s->shown_by, s->id);
	if (l->state)
		doc_text(d, "Measurements on this machine are unreadable: %s: %s.", l->file,
			 strerror(-l->state));
	measured_verdicts(d, s->id, l);
}

/* --- check and explain for programs, a row a figure. Keys and meanings are API. --------------- */

/* A finding with what it is about and what was measured of it. */
struct judged {
	const struct setting *s;
	const struct finding *f;
	const char *group;
	const char **targets; /* none of the host */
	size_t n_targets;
	bool provable;			      /* and there is a ledger */
	const struct ledger_answer *measured; /* NULL: it is not */
};

SHAPE_GIVES(bool, answer_is_valid, ledger_answer, x->valid == LEDGER_VALID)

static const void *answer_text(struct arena *a, const void *object, size_t *n)
{
	(void)n;
	return ledger_text(a, object);
}

static const void *answer_time(struct arena *a, const void *object, size_t *n)
{
	char stamp[STAMP_SIZE] = "";

	(void)n;
	stamp_format(((const struct ledger_row *)object)->time_s, stamp);
	return arena_strdup(a, stamp);
}

static const void *words_shown_by(struct arena *a, const void *object, size_t *n)
{
	const char **list = NULL;

	for (const char *at = ((const struct setting *)object)->shown_by; at && *at;) {
		size_t len = strcspn(at, " ");

		ARENA_ADD(a, list, *n) = arena_strndup(a, at, len);
		at += len + strspn(at + len, " ");
	}
	return list;
}

static const void *bits_of(struct arena *a, unsigned on, size_t *n)
{
	const char **list = NULL, *name;

	for (unsigned bit = 0; (name = platform_bit_name(bit)); bit++)
		if (on & 1u << bit) {
			ARENA_ADD(a, list, *n) = name;
		}
	return list;
}

static const void *platforms_of(struct arena *a, const void *object, size_t *n)
{
	return bits_of(a, ((const struct recommendation *)object)->on, n);
}

static const void *platforms_of_vendor(struct arena *a, const void *object, size_t *n)
{
	return bits_of(a, ((const struct vendor_opinion *)object)->on, n);
}

static bool opinion_is_of(const void *item, const void *object)
{
	return strcmp(((const struct vendor_opinion *)item)->setting,
		      ((const struct explain_answer *)object)->s->id) == 0;
}

static bool limit_is_of(const void *item, const void *object)
{
	return strcmp(((const struct health_limit *)item)->setting,
		      ((const struct explain_answer *)object)->s->id) == 0;
}

/* clang-format off */
#define OF_ROW SHAPE_VIA(ledger_answer, row, ledger_row)
#define ANSWER_ROWS                                                                                \
	{ "verdict", NULL,                                                                         \
	  SHAPE_CHOICE_BY(ledger_row, verdict, ruling_name, RULING_UNDECIDED + 1), OF_ROW },       \
	{ "with", "Settings measured in combination with it, joined by \"+\"; null: none.", \
	  SHAPE_TEXT(ledger_answer, with), .unknown = SHAPE_NULL },                                \
	{ "valid", NULL, SHAPE_FLAG_OF(answer_is_valid) },                                         \
	{ "expired_because", NULL, SHAPE_TEXT(ledger_answer, changed), .unknown = SHAPE_NULL },    \
	{ "ratio", NULL, SHAPE_REAL(ledger_row, ratio), OF_ROW },                                  \
	{ "low", NULL, SHAPE_REAL(ledger_row, low), OF_ROW, .unknown = SHAPE_ZERO },               \
	{ "high", NULL, SHAPE_REAL(ledger_row, high), OF_ROW, .unknown = SHAPE_NULL },             \
	{ "pairs", NULL, SHAPE_COUNT(ledger_row, pairs), OF_ROW },                                 \
	{ "before", NULL, SHAPE_TEXT(ledger_row, before), OF_ROW, .unknown = SHAPE_NULL },         \
	{ "after", NULL, SHAPE_TEXT(ledger_row, after), OF_ROW, .unknown = SHAPE_NULL },           \
	{ "bench", NULL, SHAPE_TEXT(ledger_row, bench), OF_ROW, .unknown = SHAPE_NULL },           \
	{ "command", NULL, SHAPE_TEXT(ledger_row, command), OF_ROW, .unknown = SHAPE_NULL },       \
	{ "figure", NULL, SHAPE_TEXT(ledger_row, figure), OF_ROW },                                \
	{ "time", NULL, SHAPE_TEXT_MADE(answer_time), OF_ROW },                                    \
	{ "kernel", NULL, SHAPE_TEXT(ledger_row, where.kernel), OF_ROW },                          \
	{ "driver", NULL, SHAPE_TEXT(ledger_row, where.driver), OF_ROW },                          \
	{ "text", "As text.", SHAPE_TEXT_MADE(answer_text) }

static const struct shape ledger_answer_shape = SHAPE_OF(ledger_answer, ledger_answer,
	ANSWER_ROWS);
static const struct shape ledger_verdict_shape = SHAPE_OF(ledger_answer, ledger_verdict,
	ANSWER_ROWS,
	{ "target", NULL, SHAPE_TEXT(ledger_row, target), OF_ROW });

#define OF(type) SHAPE_VIA(type, s, setting)
#define OF_FINDING SHAPE_VIA(judged, f, finding)
#define RISK_ROW(type) \
	{ "risk", NULL, SHAPE_CHOICE_BY(setting, risk, risk_name, RISK_DANGER + 1), OF(type) }
#define EFFECT_ROW(type) \
	{ "effect", "When a change takes effect.", \
	  SHAPE_CHOICE_BY(setting, effect, effect_name, EFFECT_FIRMWARE + 1), OF(type) }

static const struct shape judged_shape = SHAPE_OF(judged, judged,
	{ "id", NULL, SHAPE_TEXT(setting, id), OF(judged) },
	{ "title", NULL, SHAPE_TEXT(setting, title), OF(judged) },
	{ "group", NULL, SHAPE_TEXT(judged, group) },
	{ "target", NULL, SHAPE_TEXT(finding, target), OF_FINDING },
	{ "targets", NULL, SHAPE_TEXT_LIST(judged, targets, n_targets) },
	{ "verdict", NULL, SHAPE_CHOICE_BY(finding, v.kind, verdict_name, VERDICT_UNKNOWN + 1), OF_FINDING },
	{ "reason_code", NULL, SHAPE_TEXT(finding, v.code), OF_FINDING },
	{ "reason", NULL, SHAPE_TEXT(finding, v.reason), OF_FINDING },
	{ "severity", NULL, SHAPE_CHOICE_BY(finding, severity, severity_name, SEVERITY_CRITICAL + 1), OF_FINDING },
	{ "health", NULL, SHAPE_FLAG(setting, health), OF(judged) },
	{ "current", NULL, SHAPE_TEXT(finding, v.current), OF_FINDING, .unknown = SHAPE_NULL },
	{ "wanted", NULL, SHAPE_TEXT(finding, v.wanted), OF_FINDING, .unknown = SHAPE_NULL },
	{ "why", NULL, SHAPE_TEXT(finding, v.why), OF_FINDING },
	{ "source", NULL, SHAPE_TEXT(setting, source), OF(judged) },
	{ "read_from", NULL, SHAPE_TEXT(finding, read_from), OF_FINDING, .unknown = SHAPE_NULL },
	{ "disagree", "Values from two sources of its fact, if they differ.", SHAPE_TEXT(finding, v.disagree),
	  OF_FINDING, .absent = true, .unknown = SHAPE_NULL },
	RISK_ROW(judged),
	EFFECT_ROW(judged),
	{ "measured", "The newest verdict on this machine; null: not measured. Omitted if the setting cannot be "
		"written.",
	  SHAPE_POINTER(judged, measured, ledger_answer), SHAPE_WHEN(judged, provable),
	  .absent = true, .unknown = SHAPE_NULL });

static const struct shape profile_shape = SHAPE_OF(profile, profile,
	{ "name", NULL, SHAPE_TEXT(profile, name) },
	{ "base", NULL, SHAPE_CHOICE_BY(profile, base, profile_name, PROFILES) });

static const struct shape findings_shape = SHAPE_OF(findings, findings,
	{ "pass", NULL, SHAPE_COUNT(findings, count[VERDICT_PASS]) },
	{ "fail", NULL, SHAPE_COUNT(findings, count[VERDICT_FAIL]) },
	{ "na", "Not applicable.", SHAPE_COUNT(findings, count[VERDICT_NA]) },
	{ "unknown", "Unreadable.", SHAPE_COUNT(findings, count[VERDICT_UNKNOWN]) },
	{ "score", "0 to 100: the lower one of health and tuning; null: nothing could be judged.",
	  SHAPE_COUNT(findings, score), .unknown = SHAPE_NEGATIVE },
	{ "health", "0 to 100: passed health checks, weighted by severity. At most 79 with a failure of high "
		"severity, 49 with a critical one; null: none was judged.",
	  SHAPE_COUNT(findings, health), .unknown = SHAPE_NEGATIVE },
	{ "tuning", "0 to 100: other settings that pass, weighted by severity; null: none was judged.",
	  SHAPE_COUNT(findings, tuning), .unknown = SHAPE_NEGATIVE },
	{ "capped_by", "The failure that caps the score at 79 or 49; null: none.",
	  SHAPE_TEXT(findings, capped_by), .unknown = SHAPE_NULL });

static const struct shape check_shape = SHAPE_OF(check_answer, check,
	{ "profile", NULL, SHAPE_POINTER(check_answer, profile, profile) },
	{ "summary", NULL, SHAPE_POINTER(check_answer, findings, findings) },
	{ "findings", NULL, SHAPE_LIST(check_answer, rows, n, judged) });

const struct result_shape check_result = {
	.name = "check", .title = "gputune check", .meaning = "Every setting, judged.",
	.shape = &check_shape, .list = "findings", .host = &host_shape, .exit_codes = 1u << 0 | 1u << 1 | 1u << 5,
};

static const char *const relations[] = { "leave", "is", "at-least", "at-most", "one-of", "not" };

static const struct shape recommendation_shape = SHAPE_OF(recommendation, recommendation,
	{ "profile", NULL, SHAPE_CHOICE_BY(recommendation, profile, profile_name, PROFILES) },
	{ "platforms", NULL, SHAPE_TEXTS_MADE(platforms_of) },
	{ "relation", NULL, SHAPE_CHOICE(recommendation, rel, relations) },
	{ "value", NULL, SHAPE_TEXT(recommendation, value), .unknown = SHAPE_NULL },
	{ "because", NULL, SHAPE_TEXT(recommendation, because), .unknown = SHAPE_NULL },
	{ "source", "null: same as of the setting.", SHAPE_TEXT(recommendation, source), .unknown = SHAPE_NULL });

static const struct shape health_limit_shape = SHAPE_OF(health_limit, health_limit,
	{ "key", NULL, SHAPE_TEXT(health_limit, key) },
	{ "what", NULL, SHAPE_TEXT(health_limit, what) },
	{ "gpu", "A word in the name of the GPUs that it applies to; null: any.",
	  SHAPE_TEXT(health_limit, gpu), .unknown = SHAPE_NULL },
	{ "value", NULL, SHAPE_REAL(health_limit, value) },
	{ "unit", NULL, SHAPE_TEXT(health_limit, unit) },
	{ "source", NULL, SHAPE_TEXT(health_limit, source) },
	{ "date", "Date of reading.", SHAPE_TEXT(health_limit, date) });

static const char *opinion_stand(const void *object)
{
	const struct vendor_opinion *w = object;
	const struct setting *s = setting_find(w->setting);

	return s ? vendor_stand_name(vendor_stand(s, w)) : NULL;
}

static const char *const vendor_evidences[] = { "vendor-text", "decoded-package", "field-capture",
						"third-party" };

static const struct shape vendor_opinion_shape = SHAPE_OF(vendor_opinion, vendor_opinion,
	{ "by", NULL, SHAPE_TEXT(vendor_opinion, by) },
	{ "where", "Product, image or profile.", SHAPE_TEXT(vendor_opinion, where) },
	{ "platforms", NULL, SHAPE_TEXTS_MADE(platforms_of_vendor) },
	{ "maker", "true: used by the profile vendor.", SHAPE_FLAG(vendor_opinion, maker) },
	{ "relation", NULL, SHAPE_CHOICE(vendor_opinion, relation, relations) },
	{ "value", NULL, SHAPE_TEXT(vendor_opinion, value), .unknown = SHAPE_NULL },
	{ "says", NULL, SHAPE_TEXT(vendor_opinion, says) },
	{ "default", "Relation to the profile default: follows, differs, not compared.",
	  SHAPE_TEXT_OF(opinion_stand), .unknown = SHAPE_NULL },
	{ "differs_because", NULL, SHAPE_TEXT(vendor_opinion, differs), .unknown = SHAPE_NULL },
	{ "source", NULL, SHAPE_TEXT(vendor_opinion, source) },
	{ "date", "Date of reading.", SHAPE_TEXT(vendor_opinion, date) },
	{ "evidence", NULL, SHAPE_CHOICE(vendor_opinion, evidence, vendor_evidences) });

#define OF_SETTING OF(explain_answer)
static const struct shape explain_shape = SHAPE_OF(explain_answer, explain,
	{ "id", NULL, SHAPE_TEXT(setting, id), OF_SETTING },
	{ "title", NULL, SHAPE_TEXT(setting, title), OF_SETTING },
	{ "why", NULL, SHAPE_TEXT(setting, why), OF_SETTING },
	{ "note", NULL, SHAPE_TEXT(setting, note), OF_SETTING, .unknown = SHAPE_NULL },
	{ "not_when", NULL, SHAPE_TEXT(setting, not_when), OF_SETTING, .unknown = SHAPE_NULL },
	{ "kind", "Kind of knob of the setting.", SHAPE_CHOICE_BY(setting, knob, knob_kind_name, KNOB_KINDS),
	  OF_SETTING },
	{ "scope", NULL, SHAPE_CHOICE_BY(setting, scope, scope_name, SCOPES), OF_SETTING },
	RISK_ROW(explain_answer),
	EFFECT_ROW(explain_answer),
	{ "source", NULL, SHAPE_TEXT(setting, source), OF_SETTING },
	{ "opinions", "Target values by profile.", SHAPE_LIST(setting, opinions, n_opinions, recommendation),
	  OF_SETTING },
	{ "vendors", "Values set by vendors.",
	  SHAPE_LIST(explain_answer, vendors, n_vendors, vendor_opinion), .keeps = opinion_is_of },
	{ "figures", "Parameters of the rule.",
	  SHAPE_LIST(explain_answer, limits, n_limits, health_limit), .keeps = limit_is_of },
	{ "findings", NULL, SHAPE_LIST(explain_answer, rows, n, judged) },
	{ "shown_by", "Benches that show its effect, best first.", SHAPE_TEXTS_MADE(words_shown_by), OF_SETTING },
	{ "not_shown", "Why no bench shows it.", SHAPE_TEXT(setting, not_shown), OF_SETTING, .unknown = SHAPE_NULL },
	{ "settle_s", "Time from the write to the full effect.", SHAPE_REAL(setting, settle_s), OF_SETTING },
	{ "warm_up_s", "Time under load before measurements count, in seconds.", SHAPE_REAL(setting, warm_up_s),
	  OF_SETTING },
	{ "measured", "Every verdict on this machine, oldest first.",
	  SHAPE_LIST_AS(explain_answer, verdicts, n_verdicts, ledger_answer, ledger_verdict_shape) });

const struct result_shape explain_result = {
	.name = "explain", .title = "gputune explain", .meaning = "One setting, and its findings on this machine.",
	.shape = &explain_shape, .host = &host_shape, .exit_codes = 1u << 0 | 1u << 1 | 1u << 5,
};
/* clang-format on */

static const struct judged *judged_of(struct arena *a, const struct findings *f,
				      const struct ledger *l)
{
	struct judged *rows = arena_array(a, f->n, sizeof(*rows));

	for (size_t i = 0; i < f->n; i++) {
		const struct finding *it = &f->items[i];
		struct ledger_answer *answer;

		rows[i] = (struct judged){ .s = it->s,
					   .f = it,
					   .group = arena_strndup(a, it->s->id,
								  strcspn(it->s->id, ".")),
					   .targets = it->targets,
					   .n_targets = *it->target ? it->n_targets : 0,
					   .provable = l && can_be_proven(it->s) };
		if (!rows[i].provable)
			continue;
		answer = ARENA_NEW(a, struct ledger_answer);
		*answer = ledger_view_answer_of(a, l, it);
		rows[i].measured = answer->row ? answer : NULL;
	}
	return rows;
}

struct check_answer check_answer_of(struct arena *a, const struct profile *p,
				    const struct findings *f, const struct ledger *l)
{
	return (struct check_answer){
		.profile = p, .findings = f, .rows = judged_of(a, f, l), .n = f->n
	};
}

json_t *measured_check_json(struct arena *a, const struct machine *m, const struct profile *p,
			    const struct findings *f, const struct ledger *l, int exit_code)
{
	const struct check_answer answer = check_answer_of(a, p, f, l);

	return machine_result_json(&check_result, m, &answer, exit_code);
}

struct explain_answer explain_answer_of(struct arena *a, const struct setting *s,
					const struct findings *f, const struct ledger *l)
{
	struct ledger_answer *verdicts = arena_array(a, l->n, sizeof(*verdicts));
	struct explain_answer answer = { .s = s,
					 .limits = health_limits,
					 .n_limits = n_health_limits,
					 .vendors = vendor_opinions,
					 .n_vendors = n_vendor_opinions,
					 .rows = judged_of(a, f, l),
					 .n = f->n,
					 .verdicts = verdicts };

	for (size_t i = 0; i < l->n; i++)
		answer.n_verdicts +=
			ledger_judge(a, l, &l->rows[i], s->id, &verdicts[answer.n_verdicts]);
	return answer;
}
