/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A plan from JSON that somebody may have edited or made up. Everything is bounded; what is not
 * expected is an error that names the file and the place in it.
 */
#include <errno.h>
#include <string.h>

#include "base/clock.h"
#include "base/text.h"
#include "look/settings/check.h"
#include "look/settings/settings.h"
#include "tune/plan/plan.h"

/* From a setting and a target to the knobs that belong to them. Pure: no machine is read. */

/* What rows with more than one knob write beside the row's own: patterns as in settings. */
static const struct {
	const char *id;
	enum knob_kind kind;
	const char *name;
} beside[] = {
	{ "memory.dirty-ratio", KNOB_SYSCTL, "vm.dirty_bytes" },
	{ "memory.dirty-background-ratio", KNOB_SYSCTL, "vm.dirty_background_bytes" },
	{ "cpu.boost", KNOB_SYSFS, "/sys/devices/system/cpu/intel_pstate/no_turbo" },
	{ "nic.rings", KNOB_LINK, "tx-ring" },
	{ "nic.coalesce", KNOB_LINK, "tx-usecs" },
	{ "nic.coalesce", KNOB_LINK, "adaptive-rx" },
	{ "nic.coalesce", KNOB_LINK, "adaptive-tx" },
};

struct collection {
	struct arena *a;
	struct map *map;
};

/* Of two objects with one name the first counts. */
static void collect(const void *object, const char *name, void *ctx)
{
	struct collection *c = ctx;
	void **at = map_at(c->a, c->map, name);

	if (!*at)
		*at = (void *)object;
}

struct map *setting_targets(struct arena *a, const struct machine *m, const struct setting *s)
{
	struct collection c = { .a = a, .map = ARENA_NEW(a, struct map) };

	setting_subjects(a, m, s, collect, &c);
	return c.map;
}

static bool digit(char c)
{
	return c >= '0' && c <= '9';
}

/* '*' takes one or more digits: CPUs, states and nodes are numbered. */
static bool name_matches(const char *name, const char *pattern)
{
	for (; *pattern; pattern++) {
		if (*pattern != '*') {
			if (*name++ != *pattern)
				return false;
			continue;
		}
		if (!digit(*name))
			return false;
		while (digit(*name))
			name++;
	}
	return !*name;
}

/* A path, a sysctl or a parameter is all in its name. */
static bool named_alone(enum knob_kind k)
{
	return k == KNOB_SYSFS || k == KNOB_SYSCTL || k == KNOB_MODPARAM || k == KNOB_BOOTARG ||
	       k == KNOB_UNIT;
}

static bool is_knob(const struct knob *k, const struct knob *mine)
{
	return k->kind == mine->kind && name_matches(k->name, mine->name) &&
	       (strcmp(k->object, mine->object) == 0 || (named_alone(k->kind) && !*k->object));
}

/* An idle state of one of these CPUs, not of another's. */
static bool reach_is_of(const struct setting *s, const struct idset *cpus, const struct knob *k)
{
	static const char prefix[] = "/sys/devices/system/cpu/cpu";
	unsigned cpu = 0;

	if (s->scope != SCOPE_IDLE || k->kind != KNOB_SYSFS || !str_starts(k->name, prefix))
		return true;
	for (const char *p = k->name + sizeof(prefix) - 1; digit(*p) && cpu < IDSET_MAX; p++)
		cpu = cpu * 10 + (unsigned)(*p - '0');
	return idset_has(cpus, cpu);
}

/* NULL: the setting's targets are not groups of CPUs. */
static const struct idset *group(const struct setting *s, const void *object)
{
	return s->scope == SCOPE_IDLE	  ? &((const struct idle_group *)object)->cpus.v
	       : s->scope == SCOPE_POLICY ? &((const struct freq_policy *)object)->cpus.v
					  : NULL;
}

bool setting_reaches(struct arena *a, const struct setting *s, const void *object,
		     const struct knob *k)
{
	struct knob mine;

	if (s->knob == KNOB_NONE)
		return false;
	mine = setting_knob(a, s, object);
	if (is_knob(k, &mine))
		return reach_is_of(s, group(s, object), k);
	for (size_t i = 0; i < sizeof(beside) / sizeof(beside[0]); i++) {
		if (strcmp(beside[i].id, s->id) != 0)
			continue;
		mine = knob_make(a, beside[i].kind, beside[i].name,
				 setting_knob_object(a, s, object));
		if (is_knob(k, &mine))
			return true;
	}
	return false;
}

const void *setting_regrouped(struct arena *a, const struct map *targets, const struct setting *s,
			      const char *target, const struct knob *k)
{
	struct idset then;

	if ((s->scope != SCOPE_IDLE && s->scope != SCOPE_POLICY) || !str_starts(target, "cpu") ||
	    idset_parse(a, target + strlen("cpu"), &then) || !reach_is_of(s, &then, k))
		return NULL;
	for (size_t i = 0; i < targets->cap; i++) {
		const void *object = targets->slots[i].value;
		const struct idset *now = object ? group(s, object) : NULL;

		/* CPUs come and go; a policy of quite others is not the one that was meant. */
		if (!now || (s->scope == SCOPE_POLICY && !idset_contains(now, &then) &&
			     !idset_contains(&then, now)))
			continue;
		if (setting_reaches(a, s, object, k))
			return object;
	}
	return NULL;
}

enum { MAX_TEXT = 4096, MAX_CHANGES = 1 << 16, MAX_OWNERS = 64, MAX_ADVICE = 1 << 12 };

struct reader {
	struct arena *a;
	const struct machine *m;
	const char *file;
	const char *in; /* "changes"; NULL: the top level */
	size_t item;	/* counted from 1 */
	struct err *e;
	struct map *targets; /* by a setting's id: the map of its targets */
};

__attribute__((format(printf, 2, 3))) static int bad(const struct reader *r, const char *fmt, ...)
{
	va_list ap;
	const char *text;

	va_start(ap, fmt);
	text = arena_vprintf(r->a, fmt, ap);
	va_end(ap);
	if (r->in)
		return err_set(r->e, -EINVAL, "%.200s: %s %zu: %s", r->file, r->in, r->item, text);
	return err_set(r->e, -EINVAL, "%.200s: %s", r->file, text);
}

/* Exactly these keys, n of them. */
static int plan_read_keys(const struct reader *r, const json_t *j, const char *what,
			  const char *const *names, size_t n)
{
	const char *key;
	json_t *value;

	if (!json_is_object(j))
		return bad(r, "%s is not an object", what);
	json_object_foreach((json_t *)j, key, value)
	{
		size_t i = 0;

		while (i < n && strcmp(names[i], key) != 0)
			i++;
		if (i == n)
			return bad(r, "%s has an unknown key \"%.40s\"", what, key);
	}
	for (size_t i = 0; i < n; i++)
		if (!json_object_get(j, names[i]))
			return bad(r, "%s does not have the key \"%s\"", what, names[i]);
	return 0;
}

/* Tabs are let through: values of other tools' files may hold them. */
static bool plain(const char *s)
{
	for (; *s; s++)
		if (((unsigned char)*s < 0x20 && *s != '\t') || *s == 0x7f)
			return false;
	return true;
}

static int plan_read_text(const struct reader *r, const json_t *j, const char *key, bool nullable,
			  const char **out)
{
	const json_t *v = json_object_get(j, key);
	const char *s = json_string_value(v);

	if (nullable && json_is_null(v)) {
		*out = NULL;
		return 0;
	}
	if (!s)
		return bad(r, "\"%s\" is not a text", key);
	if (json_string_length(v) > MAX_TEXT)
		return bad(r, "\"%s\" is longer than %d bytes", key, MAX_TEXT);
	if (strlen(s) != json_string_length(v) || !plain(s))
		return bad(r, "\"%s\" contains control characters", key);
	*out = arena_strdup(r->a, s);
	return 0;
}

static int plan_read_flag(const struct reader *r, const json_t *j, const char *key, bool *out)
{
	const json_t *v = json_object_get(j, key);

	if (!json_is_boolean(v))
		return bad(r, "\"%s\" is neither true nor false", key);
	*out = json_is_true(v);
	return 0;
}

static int plan_read_list(const struct reader *r, const json_t *j, const char *key, size_t max,
			  const json_t **out)
{
	const json_t *v = json_object_get(j, key);

	if (!json_is_array(v))
		return bad(r, "\"%s\" is not a list", key);
	if (json_array_size(v) > max)
		return bad(r, "\"%s\" has more than %zu items", key, max);
	*out = v;
	return 0;
}

static int plan_read_setting(const struct reader *r, const json_t *j, const struct setting **out)
{
	const char *id = "";

	if (plan_read_text(r, j, "id", false, &id))
		return -EINVAL;
	*out = setting_find(id);
	return *out ? 0 : bad(r, "unknown setting \"%.60s\"", id);
}

static int plan_read_knob(const struct reader *r, const json_t *j, struct knob *out)
{
	static const char *const names[] = { "kind", "name", "object" };
	const json_t *k = json_object_get(j, "knob");
	const char *kind;
	int number;

	if (plan_read_keys(r, k, "the knob", names, 3) ||
	    plan_read_text(r, k, "kind", false, &kind) ||
	    plan_read_text(r, k, "name", false, &out->name) ||
	    plan_read_text(r, k, "object", false, &out->object))
		return -EINVAL;
	number = knob_kind_parse(kind);
	if (number <= KNOB_NONE)
		return bad(r, "unknown kind of knob \"%.40s\"", kind);
	out->kind = (enum knob_kind)number;
	return 0;
}

/* What the table says is the least: a file cannot make a change look harmless. */
static int risk_and_effect(const struct reader *r, const json_t *j, struct change *c)
{
	const char *risk = "", *effect = "";
	int n = RISK_NONE, k = EFFECT_NOW;

	if (plan_read_text(r, j, "risk", false, &risk) ||
	    plan_read_text(r, j, "effect", false, &effect))
		return -EINVAL;
	while (n <= RISK_DANGER && strcmp(risk, risk_name((enum risk)n)) != 0)
		n++;
	if (n > RISK_DANGER)
		return bad(r, "unknown risk \"%.40s\"", risk);
	while (k <= EFFECT_FIRMWARE && strcmp(effect, effect_name((enum effect)k)) != 0)
		k++;
	if (k > EFFECT_FIRMWARE)
		return bad(r, "unknown effect \"%.40s\"", effect);
	c->risk = (enum risk)n > c->s->risk ? (enum risk)n : c->s->risk;
	c->effect = (enum effect)k > c->s->effect ? (enum effect)k : c->s->effect;
	return 0;
}

static int owners(const struct reader *r, const json_t *j, struct change *c)
{
	static const char *const names[] = { "what", "value", "at_boot", "wins", "fights" };
	const json_t *l = NULL;
	struct owner *o;

	if (plan_read_list(r, j, "owners", MAX_OWNERS, &l))
		return -EINVAL;
	o = arena_array(r->a, json_array_size(l), sizeof(*o));
	for (size_t i = 0; i < json_array_size(l); i++) {
		const json_t *it = json_array_get(l, i);

		if (plan_read_keys(r, it, "an owner", names, 5) ||
		    plan_read_text(r, it, "what", false, &o[i].what) ||
		    plan_read_text(r, it, "value", true, &o[i].value) ||
		    plan_read_flag(r, it, "at_boot", &o[i].at_boot) ||
		    plan_read_flag(r, it, "wins", &o[i].wins) ||
		    plan_read_flag(r, it, "fights", &o[i].fights))
			return -EINVAL;
	}
	c->owners = o;
	c->n_owners = json_array_size(l);
	return 0;
}

/* Names are made once a setting, not once a change. A group that is called otherwise by now was
 * there when the plan was made: the knob itself will say what changed. */
static const void *plan_read_target(const struct reader *r, const struct change *c)
{
	void **at = map_at(r->a, r->targets, c->s->id);
	const void *object;

	if (!*at)
		*at = setting_targets(r->a, r->m, c->s);
	object = map_get(*at, c->target);
	return object ? object : setting_regrouped(r->a, *at, c->s, c->target, &c->knob);
}

/* The part that decides what would be written where. */
static int plan_read_place(const struct reader *r, const json_t *j, struct change *c)
{
	const void *object;
	const char *why = "not valid", *code;

	if (plan_read_knob(r, j, &c->knob) || plan_read_text(r, j, "target", false, &c->target) ||
	    plan_read_text(r, j, "before", true, &c->before) ||
	    plan_read_text(r, j, "after", false, &c->after))
		return -EINVAL;
	if (!knob_valid(&c->knob, c->after, &why) ||
	    (c->before && !knob_valid(&c->knob, c->before, &why)))
		return bad(r, "%.60s: %s", c->s->id, why);
	object = plan_read_target(r, c);
	if (!object)
		return bad(r, "%s has no target \"%.60s\" on this machine", c->s->id, c->target);
	if (!setting_reaches(r->a, c->s, object, &c->knob))
		return bad(r, "%s does not write the %s knob \"%.100s\" of \"%.60s\"", c->s->id,
			   knob_kind_name(c->knob.kind), c->knob.name, c->target);
	/* The machine may hold anything before; what is asked for is bounded. */
	if (knob_allows(r->a, &c->knob, c->after, &why))
		return 0;
	/* So it was when the plan was made: it stays refused. */
	code = json_string_value(json_object_get(j, "gate"));
	if (!code || strcmp(code, GATE_LIMIT) != 0)
		return bad(r, "%.60s: %s", c->s->id, why);
	c->gate = GATE_LIMIT;
	c->refusal = why;
	return 0;
}

/*
 * Judged anew by the caller: a file opens no gate. Only that a value could not be read cannot be
 * seen from the change itself, so this one stays closed.
 */
static int gate(const struct reader *r, const json_t *j, struct change *c)
{
	static const char *const codes[] = { GATE_ALLOW,	GATE_GPU_BUSY,	GATE_LIMIT,
					     GATE_HOUSEKEEPING, GATE_OWN_LINK,	GATE_LOCKDOWN,
					     GATE_UNREADABLE,	GATE_OVERRIDDEN };
	const char *code = NULL, *refusal = NULL;

	if (plan_read_text(r, j, "gate", true, &code) ||
	    plan_read_text(r, j, "refusal", true, &refusal))
		return -EINVAL;
	if (!code)
		return 0;
	for (size_t i = 0; i < sizeof(codes) / sizeof(codes[0]); i++) {
		if (strcmp(code, codes[i]) != 0)
			continue;
		if (strcmp(code, GATE_UNREADABLE) == 0) {
			c->gate = GATE_UNREADABLE;
			c->refusal = refusal ? refusal : "the value is unreadable";
		}
		return 0;
	}
	return bad(r, "unknown gate \"%.40s\"", code);
}

static int plan_read_change(const struct reader *r, const json_t *j, struct change *c)
{
	static const char *const names[] = { "id",     "title", "target", "knob", "before",
					     "after",  "why",	"source", "risk", "effect",
					     "owners", "gate",	"refusal" };
	const char *title;

	if (plan_read_keys(r, j, "the change", names, sizeof(names) / sizeof(names[0])) ||
	    plan_read_setting(r, j, &c->s) || plan_read_place(r, j, c) ||
	    plan_read_text(r, j, "title", false, &title) ||
	    plan_read_text(r, j, "why", true, &c->why) ||
	    plan_read_text(r, j, "source", true, &c->source) || risk_and_effect(r, j, c) ||
	    owners(r, j, c))
		return -EINVAL;
	return gate(r, j, c);
}

static int advice(const struct reader *r, const json_t *j, struct advice *out)
{
	static const char *const names[] = { "id", "target", "current", "wanted", "sentence" };
	struct finding *f = ARENA_NEW(r->a, struct finding);

	if (plan_read_keys(r, j, "the advice", names, 5) || plan_read_setting(r, j, &f->s) ||
	    plan_read_text(r, j, "target", false, &f->target) ||
	    plan_read_text(r, j, "current", true, &f->v.current) ||
	    plan_read_text(r, j, "wanted", true, &f->v.wanted) ||
	    plan_read_text(r, j, "sentence", true, &out->sentence))
		return -EINVAL;
	f->v.kind = VERDICT_FAIL;
	f->v.code = CODE_DIFFERS;
	f->v.reason = out->sentence ? out->sentence : "";
	f->v.why = f->s->why;
	f->targets = ARENA_NEW(r->a, const char *);
	f->targets[0] = f->target;
	f->n_targets = 1;
	out->finding = f;
	return 0;
}

static int lists(struct reader *r, const json_t *j, struct plan *p)
{
	const json_t *changes = NULL, *hand = NULL;

	if (plan_read_list(r, j, "changes", MAX_CHANGES, &changes) ||
	    plan_read_list(r, j, "advice", MAX_ADVICE, &hand))
		return -EINVAL;
	p->n = json_array_size(changes);
	p->changes = arena_array(r->a, p->n, sizeof(*p->changes));
	r->in = "change";
	for (size_t i = 0; i < p->n; i++) {
		r->item = i + 1;
		if (plan_read_change(r, json_array_get(changes, i), &p->changes[i]))
			return -EINVAL;
	}
	p->n_advice = json_array_size(hand);
	p->advice = arena_array(r->a, p->n_advice, sizeof(*p->advice));
	r->in = "advice";
	for (size_t i = 0; i < p->n_advice; i++) {
		r->item = i + 1;
		if (advice(r, json_array_get(hand, i), &p->advice[i]))
			return -EINVAL;
	}
	return 0;
}

/* Derived from the changes, so only its form is looked at. */
static int plan_read_summary(const struct reader *r, const json_t *j)
{
	static const char *const names[] = { "now",	 "driver_reload", "reboot",
					     "firmware", "refused",	  "by_hand" };

	if (plan_read_keys(r, j, "the summary", names, 6))
		return -EINVAL;
	for (size_t i = 0; i < 6; i++)
		if (!json_is_integer(json_object_get(j, names[i])))
			return bad(r, "\"%s\" is not a number", names[i]);
	return 0;
}

static int plan_read_head(const struct reader *r, const json_t *j, struct plan *p)
{
	static const char *const names[] = { "schema",	"tool_version", "host",
					     "time",	"exit_code",	"profile",
					     "summary", "changes",	"advice" };
	static const char *const in_host[] = { "nodename", "boot_id" };
	const json_t *host;
	const char *schema, *version, *when;

	if (!json_is_object(j) || !json_is_string(json_object_get(j, "schema")))
		return bad(r, "not a plan: \"schema\" is missing");
	if (plan_read_text(r, j, "schema", false, &schema))
		return -EINVAL;
	if (strcmp(schema, "gputune.plan/1") != 0)
		return bad(r, "schema \"%.60s\" is not a plan supported by this version", schema);
	host = json_object_get(j, "host");
	if (plan_read_keys(r, j, "the plan", names, sizeof(names) / sizeof(names[0])) ||
	    plan_read_text(r, j, "tool_version", false, &version) ||
	    plan_read_keys(r, host, "host", in_host, 2) ||
	    plan_read_text(r, host, "nodename", true, &p->nodename) ||
	    plan_read_text(r, host, "boot_id", true, &p->boot_id) ||
	    plan_read_text(r, j, "time", true, &when) ||
	    plan_read_text(r, j, "profile", false, &p->profile) ||
	    plan_read_summary(r, json_object_get(j, "summary")))
		return -EINVAL;
	if (!json_is_integer(json_object_get(j, "exit_code")))
		return bad(r, "\"exit_code\" is not a number");
	if (when && stamp_parse(when, &p->time_s))
		return bad(r, "invalid \"time\": \"%.40s\"", when);
	return 0;
}

int plan_from_json(struct arena *a, const struct machine *m, const json_t *j, const char *file,
		   struct plan *out, struct err *e)
{
	struct map targets = { 0 };
	struct reader r = { .a = a, .m = m, .file = file, .e = e, .targets = &targets };
	struct plan p = { 0 };

	if (plan_read_head(&r, j, &p))
		return -EINVAL;
	if (p.nodename && seen_ok(&m->nodename.f) && strcmp(p.nodename, m->nodename.v) != 0) {
		bad(&r, "the plan is for \"%.100s\", but this machine is \"%.100s\"", p.nodename,
		    m->nodename.v);
		err_hint(e, "make a plan here: gputune plan -o FILE");
		return -EINVAL;
	}
	if (lists(&r, j, &p))
		return -EINVAL;
	*out = p;
	return 0;
}
