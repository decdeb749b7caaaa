/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Judging values by the rows of value_rules.rows: what an option, key or variable may hold, and
 * when a value costs speed or correctness on the machine at hand. Knows no value itself. Pure.
 */
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/text.h"
#include "knowledge/value_rules.h"
#include "models/generate/lint.h"

const char lint_value_open[] = "";

/* A figure of the machine as text; lint_value_open: not known. */
static const char *machine_value(const struct lint *l, const char *name)
{
	const struct gen_node *n = l->on->node;
	const struct gpu *g = n && n->facts ? machine_gpu(n->facts, 0) : NULL;

	if (!n || !n->gpus)
		return lint_value_open;
	if (strcmp(name, "@gpus") == 0)
		return arena_printf(l->a, "%zu", n->gpus);
	if (strcmp(name, "@unified") == 0)
		return n->unified ? "yes" : "no";
	if (strcmp(name, "@cc") == 0 && g && seen_ok(&g->cc_major.f) && seen_ok(&g->cc_minor.f))
		return arena_printf(l->a, "%lld.%lld", g->cc_major.v, g->cc_minor.v);
	return lint_value_open;
}

static const char *value_of(const struct lint_values *v, const struct value_rule *r,
			    const char *name, unsigned *line)
{
	const struct lint_word *set;
	const char *s;

	if (*name == '@')
		return machine_value(v->l, name);
	if (*name == '$') {
		set = map_get(&v->l->set, name + 1);
		return !set ? NULL : set->open ? lint_value_open : set->text;
	}
	/* The first of them that is there. */
	for (s = NULL; !s && *name; name += strspn(name, "|")) {
		size_t n = strcspn(name, "|");

		s = v->at(v->ctx,
			  strcmp(name, "it") == 0 ? r->name : arena_strndup(v->l->a, name, n),
			  line);
		name += n;
	}
	return s && strcasecmp(s, "auto") == 0 ? lint_value_open : s;
}

static bool same_value(const char *have, const char *want, size_t len)
{
	char *end, *end_want;
	double a = strtod(have, &end), b = strtod(want, &end_want);

	if (end != have && !*end && end_want == want + len)
		return !(a < b) && !(a > b);
	return strlen(have) == len && strncasecmp(have, want, len) == 0;
}

/* One of a list with commas between; "-" is a value that is not there. */
static bool among(const char *list, size_t len, const char *have)
{
	for (const char *s = list, *end = list + len; s < end;) {
		size_t n = strcspn(s, ", ");

		if (have ? same_value(have, s, n) : n == 1 && *s == '-')
			return true;
		s += n + 1;
	}
	return false;
}

/* "NAME OP VALUES" without the blanks. */
static bool holds(const struct lint_values *v, const struct value_rule *r, const char *term,
		  size_t len)
{
	size_t n = strcspn(term, "=!<>~");
	const char *op = term + n, *value, *have, *list = op + 1 + (op[1] == '=' || op[1] == '~');
	size_t left = len - (size_t)(list - term);
	unsigned line = 0;
	double a, b;
	char *end;

	have = value_of(v, r, arena_strndup(v->l->a, term, n), &line);
	if (have == lint_value_open)
		return *op == '!' && left == 1 && *list == '-';
	value = arena_strndup(v->l->a, list, left);
	if (*op == '~' || (*op == '!' && op[1] == '~'))
		return have && !strstr(have, value) == (*op == '!');
	if (*op == '=' || *op == '!')
		return among(list, left, have) == (*op == '=');
	if (!have)
		return false;
	a = strtod(have, &end);
	if (end == have || *end)
		return false;
	b = strtod(value, NULL);
	return (op[1] == '=' && !(a < b) && !(a > b)) || (*op == '<' ? a < b : a > b);
}

static bool all_hold(const struct lint_values *v, const struct value_rule *r)
{
	for (const char *s = r->when ? r->when : ""; *s;) {
		size_t n = strcspn(s, " ");

		if (n && !holds(v, r, s, n))
			return false;
		s += n + strspn(s + n, " ");
	}
	return true;
}

/* The known value that is meant by one that is not known; NULL: none is near. */
static const char *near_value(struct arena *a, const char *known, const char *value)
{
	const char *best = NULL;
	size_t least = strlen(value) > 5 ? 3 : 2, n;

	for (const char *s = known; *s; s += n, s += strspn(s, " ")) {
		const char *word = arena_strndup(a, s, n = strcspn(s, " "));
		size_t d = str_distance(word, value, least);

		if (d < least) {
			least = d;
			best = word;
		}
	}
	return best;
}

static const char *with_value(struct arena *a, const char *says, const char *value)
{
	const char *at = strstr(says, "{}");

	return at ? arena_printf(a, "%.*s%.40s%s", (int)(at - says), says, value, at + 2) : says;
}

static void judge(const struct lint_values *v, const struct value_rule *r)
{
	struct lint *l = v->l;
	enum lint_level level = (enum lint_level)r->level;
	const char *near = NULL, *value;
	unsigned line = 0;

	value = value_of(v, r, "it", &line);
	if (!value || value == lint_value_open || !all_hold(v, r))
		return;
	if (r->known) {
		for (const char *s = r->known; *s; s += strcspn(s, " "), s += strspn(s, " "))
			if (same_value(value, s, strcspn(s, " ")) &&
			    (!r->exact || strncmp(value, s, strcspn(s, " ")) == 0))
				return;
		near = near_value(l->a, r->known, value);
		level = near ? LINT_ERROR : level;
	}
	lint_add(l, level, r->code, line, r->name,
		 near	  ? near
		 : r->fix ? with_value(l->a, r->fix, value)
			  : NULL,
		 arena_printf(l->a, "%s (%s)", r->source, r->date), "%s",
		 with_value(l->a, r->says, value));
}

void lint_values(const struct lint_values *v)
{
	for (size_t i = 0; i < n_value_rules; i++)
		if (value_rules[i].in & 1U << v->in)
			judge(v, &value_rules[i]);
}

bool lint_value_named(enum value_reader in, const char *name)
{
	for (size_t i = 0; i < n_value_rules; i++)
		if (value_rules[i].in & 1U << in && strcmp(value_rules[i].name, name) == 0)
			return true;
	return false;
}
