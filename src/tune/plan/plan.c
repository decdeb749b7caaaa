/* SPDX-License-Identifier: Apache-2.0 */
/* From failed findings to a plan: what each one's remediation would write, what is there now, in
 * what order, and what stands against it. */
#include "tune/plan/plan.h"

#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "machine/host/boot_menu.h"

/*
 * What has to be written before what. Everything keeps its place but for: units first, because a
 * daemon that runs would take a value back; huge pages before what breaks memory up or fills it;
 * boot arguments last, because they wait anyway; and on one device what resets or bounds the other.
 */

enum phase { PHASE_STOP, PHASE_START, PHASE_HUGE_PAGES, PHASE_REST, PHASE_BOOT, PHASES };

/* Of files in one folder, or of knobs of one object, the first goes before the second. */
static const struct {
	enum knob_kind kind;
	const char *first, *then;
} pairs[] = {
	/* A new scheduler sets the depth of the queue. */
	{ KNOB_SYSFS, "/scheduler", "/nr_requests" },
	{ KNOB_SYSFS, "/scheduler", "/read_ahead_kb" },
	{ KNOB_SYSFS, "/scheduler", "/wbt_lat_usec" },
	/* A governor may set the bounds. */
	{ KNOB_SYSFS, "/scaling_governor", "/scaling_max_freq" },
	{ KNOB_SYSFS, "/scaling_governor", "/scaling_min_freq" },
	{ KNOB_SYSFS, "/scaling_governor", "/energy_performance_preference" },
	{ KNOB_SYSFS, "/scaling_max_freq", "/scaling_min_freq" },
	/* Without persistence the driver forgets the rest when its last client goes. */
	{ KNOB_NVML, "persistence-mode", "gpu-clock-lock" },
	{ KNOB_NVML, "persistence-mode", "memory-clock-lock" },
	{ KNOB_NVML, "persistence-mode", "accounting-mode" },
	{ KNOB_NVML, "persistence-mode", "compute-mode" },
	{ KNOB_NVML, "persistence-mode", "power-limit" },
	/* Both reset the rings of some drivers. */
	{ KNOB_LINK, "channels", "rx-ring" },
	{ KNOB_LINK, "channels", "tx-ring" },
	{ KNOB_LINK, "mtu", "rx-ring" },
	{ KNOB_LINK, "mtu", "tx-ring" },
	/* Adaptive moderation overrules the figure. */
	{ KNOB_LINK, "adaptive-rx", "rx-usecs" },
	{ KNOB_LINK, "adaptive-tx", "tx-usecs" },
};
enum { PAIRS = sizeof(pairs) / sizeof(pairs[0]) };

struct sorter {
	const struct change *in;
	struct change *out;
	bool *placed;
	size_t n, done;
};

static enum phase phase_of(const struct change *c)
{
	if (c->knob.kind == KNOB_UNIT)
		return str_starts(c->after, "enabled") ? PHASE_START : PHASE_STOP;
	if (c->knob.kind == KNOB_BOOTARG)
		return PHASE_BOOT;
	if (strstr(c->knob.name, "nr_hugepages"))
		return PHASE_HUGE_PAGES;
	return PHASE_REST;
}

/* Length of the folder of a path that ends in leaf; 0 when it does not. */
static size_t folder(const struct knob *k, const char *leaf)
{
	return str_ends(k->name, leaf) ? strlen(k->name) - strlen(leaf) : 0;
}

static bool goes_before(const struct knob *x, const struct knob *y, size_t pair)
{
	size_t n;

	if (x->kind != pairs[pair].kind || y->kind != x->kind)
		return false;
	if (x->kind != KNOB_SYSFS)
		return strcmp(x->name, pairs[pair].first) == 0 &&
		       strcmp(y->name, pairs[pair].then) == 0 && strcmp(x->object, y->object) == 0;
	n = folder(x, pairs[pair].first);
	return n && folder(y, pairs[pair].then) == n && strncmp(x->name, y->name, n) == 0;
}

static bool is_then(const struct knob *k, size_t pair)
{
	if (k->kind != pairs[pair].kind)
		return false;
	return k->kind == KNOB_SYSFS ? folder(k, pairs[pair].then) > 0
				     : strcmp(k->name, pairs[pair].then) == 0;
}

static void plan_order_place(struct sorter *s, size_t i);

/* Places whatever has to stand before change i. The pairs hold no circle. */
static void place_before(struct sorter *s, size_t i)
{
	for (size_t pair = 0; pair < PAIRS; pair++) {
		if (!is_then(&s->in[i].knob, pair))
			continue;
		for (size_t k = 0; k < s->n; k++)
			if (!s->placed[k] && goes_before(&s->in[k].knob, &s->in[i].knob, pair))
				plan_order_place(s, k);
	}
}

/* The two of a pair that share one value stay together. */
static void place_partner(struct sorter *s, size_t i)
{
	const char *partner =
		s->in[i].knob.kind == KNOB_SYSCTL ? sysctl_partner(s->in[i].knob.name) : NULL;

	for (size_t k = 0; partner && k < s->n; k++)
		if (!s->placed[k] && s->in[k].knob.kind == KNOB_SYSCTL &&
		    strcmp(s->in[k].knob.name, partner) == 0)
			plan_order_place(s, k);
}

static void plan_order_place(struct sorter *s, size_t i)
{
	if (s->placed[i])
		return;
	s->placed[i] = true;
	place_before(s, i);
	s->out[s->done++] = s->in[i];
	place_partner(s, i);
}

void plan_sort(struct plan *p)
{
	struct sorter s = { .n = p->n };
	struct change *in;

	if (p->n < 2)
		return;
	in = calloc(p->n, sizeof(*in));
	s.placed = calloc(p->n, sizeof(*s.placed));
	if (!in || !s.placed)
		out_of_memory(0);
	memcpy(in, p->changes, p->n * sizeof(*in));
	s.in = in;
	s.out = p->changes;
	for (int phase = 0; phase < PHASES; phase++)
		for (size_t i = 0; i < p->n; i++)
			if (phase_of(&in[i]) == (enum phase)phase)
				plan_order_place(&s, i);
	free(in);
	free(s.placed);
}

struct making {
	struct arena *a;
	const struct machine *m;
	const struct plan_target *w;
	knob_reader *read;
	plan_reader *exact;
	void *ctx;
	struct plan *out;
};

/* Two settings may ask for the same write. */
static bool is_planned(const struct plan *p, const struct remediation *aim)
{
	for (size_t i = 0; i < p->n; i++)
		if (knob_equal(&p->changes[i].knob, &aim->knob) &&
		    strcmp(p->changes[i].after, aim->value) == 0)
			return true;
	return false;
}

static void plan_plan_add_change(struct making *k, const struct finding *f, const char *target,
				 const struct remediation *aim)
{
	struct fact_str now = k->exact(k->ctx, k->a, &aim->knob);
	struct plan *p = k->out;
	struct change *c;

	if (is_planned(p, aim) || (seen_ok(&now.f) && strcmp(now.v, aim->value) == 0))
		return;
	c = &ARENA_ADD(k->a, p->changes, p->n);
	*c = (struct change){ .s = f->s,
			      .target = target,
			      .knob = aim->knob,
			      .before = seen_ok(&now.f) ? now.v : NULL,
			      .after = aim->value,
			      .unseen = now.f.seen == SEEN_ERROR,
			      .why = f->v.why,
			      .source = f->s->source,
			      .risk = f->s->risk,
			      .effect = f->s->effect };
	/* Not asked: the knob has no getter. */
	if (!seen_ok(&now.f) && now.f.seen != SEEN_UNASKED) {
		c->gate = GATE_UNREADABLE;
		c->refusal = plan_boot_by_hand(k->a, k->m, &aim->knob, aim->value);
	}
	if (c->gate && !c->refusal)
		c->refusal =
			arena_printf(k->a, "%s is unreadable (%s), so it could not be restored",
				     knob_text(k->a, &aim->knob),
				     now.f.err ? strerror(now.f.err) : seen_name(now.f.seen));
}

static void advise(struct making *k, const struct finding *f, const char *sentence)
{
	struct plan *p = k->out;

	ARENA_ADD(k->a, p->advice, p->n_advice) =
		(struct advice){ .finding = f, .sentence = sentence };
}

static void plan_finding(struct making *k, const struct finding *f)
{
	const char *by_hand = NULL;

	for (size_t i = 0; i < f->n_targets; i++) {
		struct remediations aims = { 0 };

		settings_remediations(k->a, k->m, k->w->profile, f, i, k->read, k->ctx, &aims);
		for (size_t n = 0; n < aims.n; n++)
			plan_plan_add_change(k, f, f->targets[i], &aims.items[n]);
		if (!aims.n && !by_hand)
			by_hand = aims.by_hand ? aims.by_hand : "fix it manually";
	}
	if (by_hand)
		advise(k, f, by_hand);
}

void plan_make(struct arena *a, const struct machine *m, const struct plan_target *w,
	       const struct findings *f, knob_reader *read, plan_reader *exact, void *ctx,
	       struct plan *out)
{
	struct making k = {
		.a = a, .m = m, .w = w, .read = read, .exact = exact, .ctx = ctx, .out = out
	};

	*out = (struct plan){ .profile = w->profile->name,
			      .nodename = fact_text(&m->nodename, ""),
			      .boot_id = "",
			      .time_s = fact_or(&m->time_s, 0) };
	for (size_t i = 0; i < f->n; i++)
		if (f->items[i].v.kind == VERDICT_FAIL)
			plan_finding(&k, &f->items[i]);
	plan_sort(out);
	plan_gates(a, m, w, out);
	for (size_t i = 0; i < out->n; i++)
		plan_owners(a, m, &out->changes[i]);
}

size_t plan_open_changes(const struct plan *p)
{
	size_t n = 0;

	for (size_t i = 0; i < p->n; i++)
		n += p->changes[i].gate == NULL;
	return n;
}

/* A plan, a row a figure. Keys and meanings are API. */

/* clang-format off */

const struct shape knob_shape = SHAPE_OF(knob, knob,
	{ "kind", NULL, SHAPE_CHOICE_BY(knob, kind, knob_kind_name, KNOB_KINDS) },
	{ "name", NULL, SHAPE_TEXT(knob, name), .unknown = SHAPE_BLANK },
	{ "object", "Object of the knob, for kinds that have one.", SHAPE_TEXT(knob, object), .unknown = SHAPE_BLANK });

static const struct shape owner_shape = SHAPE_OF(owner, owner,
	{ "what", NULL, SHAPE_TEXT(owner, what), .unknown = SHAPE_BLANK },
	{ "value", "Value that it sets.", SHAPE_TEXT(owner, value), .unknown = SHAPE_NULL },
	{ "at_boot", NULL, SHAPE_FLAG(owner, at_boot) },
	{ "wins", NULL, SHAPE_FLAG(owner, wins) },
	{ "fights", NULL, SHAPE_FLAG(owner, fights) });

SHAPE_GIVES(const char *, change_refusal, change, x->gate ? x->refusal : NULL)

#define OF_SETTING SHAPE_VIA(change, s, setting)

static const struct shape change_shape = SHAPE_OF(change, change,
	{ "id", NULL, SHAPE_TEXT(setting, id), OF_SETTING },
	{ "title", NULL, SHAPE_TEXT(setting, title), OF_SETTING },
	{ "target", NULL, SHAPE_TEXT(change, target), .unknown = SHAPE_BLANK },
	{ "knob", NULL, SHAPE_OBJECT(change, knob, knob) },
	{ "before", NULL, SHAPE_TEXT(change, before), .unknown = SHAPE_NULL },
	{ "after", NULL, SHAPE_TEXT(change, after), .unknown = SHAPE_BLANK },
	{ "why", NULL, SHAPE_TEXT(change, why), .unknown = SHAPE_NULL },
	{ "source", NULL, SHAPE_TEXT(change, source), .unknown = SHAPE_NULL },
	{ "risk", NULL, SHAPE_CHOICE_BY(change, risk, risk_name, RISK_DANGER + 1) },
	{ "effect", "When it takes effect.", SHAPE_CHOICE_BY(change, effect, effect_name, EFFECT_FIRMWARE + 1) },
	{ "owners", "Programs or files that also set it.", SHAPE_LIST(change, owners, n_owners, owner) },
	{ "gate", "Blockers.", SHAPE_TEXT(change, gate), .unknown = SHAPE_NULL },
	{ "refusal", "Reason of the gate.", SHAPE_TEXT_OF(change_refusal), .unknown = SHAPE_NULL });

static const char *advice_id(const void *finding)
{
	const struct setting *s = ((const struct finding *)finding)->s;

	return s ? s->id : NULL;
}

#define OF_FINDING SHAPE_VIA(advice, finding, finding)

static const struct shape advice_shape = SHAPE_OF(advice, advice,
	{ "id", NULL, SHAPE_TEXT_OF(advice_id), OF_FINDING },
	{ "target", NULL, SHAPE_TEXT(finding, target), OF_FINDING, .unknown = SHAPE_BLANK },
	{ "current", NULL, SHAPE_TEXT(finding, v.current), OF_FINDING, .unknown = SHAPE_NULL },
	{ "wanted", NULL, SHAPE_TEXT(finding, v.wanted), OF_FINDING, .unknown = SHAPE_NULL },
	{ "sentence", "Manual action.", SHAPE_TEXT(advice, sentence), .unknown = SHAPE_NULL });

#define OF_PLAN SHAPE_VIA(plan_answer, plan, plan)

static const struct shape plan_summary_shape = SHAPE_OF(plan_answer, plan_summary,
	{ "now", NULL, SHAPE_COUNT(plan_answer, by_effect[EFFECT_NOW]) },
	{ "driver_reload", NULL, SHAPE_COUNT(plan_answer, by_effect[EFFECT_DRIVER_RELOAD]) },
	{ "reboot", NULL, SHAPE_COUNT(plan_answer, by_effect[EFFECT_REBOOT]) },
	{ "firmware", NULL, SHAPE_COUNT(plan_answer, by_effect[EFFECT_FIRMWARE]) },
	{ "refused", NULL, SHAPE_COUNT(plan_answer, refused) },
	{ "by_hand", NULL, SHAPE_COUNT(plan, n_advice), OF_PLAN });

static const struct shape plan_shape = SHAPE_OF(plan_answer, plan,
	{ "profile", NULL, SHAPE_TEXT(plan, profile), OF_PLAN, .unknown = SHAPE_BLANK },
	{ "summary", NULL, SHAPE_PART(plan_summary_shape) },
	{ "changes", "Changes in the order of writing.", SHAPE_LIST(plan, changes, n, change), OF_PLAN },
	{ "advice", "Findings that no change of gputune fixes.",
	  SHAPE_LIST(plan, advice, n_advice, advice), OF_PLAN });

static const struct shape plan_host_shape = SHAPE_OF(plan, plan_host,
	{ "nodename", NULL, SHAPE_TEXT(plan, nodename), .unknown = SHAPE_NULL },
	{ "boot_id", NULL, SHAPE_TEXT(plan, boot_id), .unknown = SHAPE_NULL });

const struct result_shape plan_result = {
	.name = "plan",
	.title = "gputune plan",
	.meaning = "Changes and manual steps.",
	.shape = &plan_shape,
	.list = "changes",
	.host = &plan_host_shape,
	.exit_codes = 1u << 0 | 1u << 1 | 1u << 5,
};

/* clang-format on */

struct plan_answer plan_answer_of(const struct plan *p)
{
	struct plan_answer answer = { .plan = p };

	for (size_t i = 0; i < p->n; i++) {
		answer.refused += p->changes[i].gate != NULL;
		answer.by_effect[p->changes[i].effect] += p->changes[i].gate == NULL;
	}
	return answer;
}

json_t *plan_json(const struct plan *p, int exit_code)
{
	struct plan_answer answer = plan_answer_of(p);

	return result_shape_json_on(&plan_result, &answer, p, p->time_s, exit_code);
}

/* What a person does for a kernel argument where no file of ours reaches the next boot. */

const char *plan_boot_by_hand(struct arena *a, const struct machine *m, const struct knob *k,
			      const char *value)
{
	const struct fact_str *menu = &m->config.boot_menu;
	const char *token = *value ? arena_printf(a, "%s=%s", k->name, value) : k->name;

	return k->kind == KNOB_BOOTARG && seen_ok(&menu->f)
		       ? boot_menu_by_hand(a, boot_menu_parse(menu->v), token)
		       : NULL;
}

bool gate_can_be_lifted(const char *gate)
{
	return strcmp(gate, GATE_ALLOW) == 0 || strcmp(gate, GATE_GPU_BUSY) == 0 ||
	       strcmp(gate, GATE_OWN_LINK) == 0;
}
