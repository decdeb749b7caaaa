/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A look as a line of JSON. What stands between the figures is the same in every line, and is made
 * once: at ten lines a second the text would cost more than the looks.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/json_print.h"
#include "render/json_value.h"
#include "look/monitor/page_monitor.h"

/* Text, and the figure behind it. */
struct slot {
	const char *text;
	size_t len;
	size_t column;
	bool per_second;
};

struct monitor_line {
	struct slot *slots;
	size_t n;
	const char *end;
};

/* What a column is called in the line; NULL: it has no place there. */
struct place {
	const char *group, *key;
};

/* A word in quotes; NULL: there is none for it. */
static const char *quoted(struct arena *a, const char *s)
{
	json_t *v = json_string(s);
	TEXT_AUTO text = { 0 };
	const char *out = NULL;

	if (v && json_add(&text, v, JSON_ENCODE_ANY) == 0)
		out = arena_strdup(a, text.s);
	json_decref(v);
	return out;
}

/* "gpu" of "gpu.sm-clock", "gpu0" where there is a target. A target may hold any bytes. */
static struct place place_of(struct arena *a, const struct column_of *c)
{
	static const char *const taken[] = { "\"schema\"", "\"time_ms\"", "\"processes\"" };
	const char *dot = strchr(c->type->name, '.');
	struct place p = { NULL, NULL };

	if (!dot)
		return p;
	p.group = quoted(
		a, *c->target ? c->target
			      : arena_printf(a, "%.*s", (int)(dot - c->type->name), c->type->name));
	p.key = quoted(a, dot + 1);
	for (size_t i = 0; p.group && i < sizeof(taken) / sizeof(taken[0]); i++)
		if (strcmp(taken[i], p.group) == 0)
			p.group = NULL;
	if (!p.group || !p.key)
		p = (struct place){ NULL, NULL };
	return p;
}

static void add(struct arena *a, struct monitor_line *l, const char *text, size_t column,
		bool per_second)
{
	l->slots = arena_grow(a, l->slots, l->n, sizeof(*l->slots));
	l->slots[l->n++] = (struct slot){ text, strlen(text), column, per_second };
}

/* All columns of the group that column begin opens; *before: text since the last figure. */
static void add_group(struct arena *a, struct monitor_line *l, const struct monitor *mon,
		      struct place *places, size_t begin, const char **before)
{
	const char *group = places[begin].group;
	size_t first = l->n;

	*before = arena_printf(a, "%s,%s:{", *before, group);
	for (size_t i = begin; i < mon->n; i++) {
		const struct column_type *t = mon->columns[i].type;
		const char *key = places[i].key, *unit;
		bool again = false;

		if (!places[i].group || strcmp(places[i].group, group) != 0)
			continue;
		places[i].group = NULL;
		for (size_t k = begin; k < i && !again; k++)
			again = places[k].key && !places[k].group &&
				strcmp(places[k].key, key) == 0;
		if (again)
			continue;
		unit = quoted(a, t->unit);
		add(a, l,
		    arena_printf(a, "%s%s%s:{\"%s\":", *before, l->n > first ? "," : "", key,
				 t->kind == COLUMN_TOTAL ? "total" : "value"),
		    i, false);
		if (t->kind == COLUMN_TOTAL)
			add(a, l, ",\"per_second\":", i, true);
		*before = arena_printf(a, ",\"unit\":%s}", unit ? unit : "\"\"");
	}
	*before = arena_printf(a, "%s}", *before);
	/* So that the keys of this group are not taken for those of the next one. */
	for (size_t i = begin; i < mon->n; i++)
		if (!places[i].group)
			places[i].key = NULL;
}

struct monitor_line *monitor_line_make(struct arena *a, const struct monitor *mon)
{
	struct monitor_line *l = ARENA_NEW(a, struct monitor_line);
	struct place *places = arena_array(a, mon->n + 1, sizeof(*places));

	*l = (struct monitor_line){ .end = "" };
	for (size_t i = 0; i < mon->n; i++)
		places[i] = place_of(a, &mon->columns[i]);
	for (size_t i = 0; i < mon->n; i++)
		if (places[i].group)
			add_group(a, l, mon, places, i, &l->end);
	return l;
}

/* --- a line --------------------------------------------------------------------------------------
 */

static void add_figure(struct text *out, double v)
{
	char digits[24], *p = digits + sizeof(digits);
	unsigned long long n;

	if (!isfinite(v)) {
		text_add(out, "null");
		return;
	}
	if (!(v >= 0 && v < 0x1p53) || v > floor(v)) {
		text_printf(out, "%.12g", v);
		return;
	}
	/* Most are whole, and these are quick. */
	n = (unsigned long long)v;
	do
		*--p = (char)('0' + n % 10);
	while (n /= 10);
	text_addn(out, p, (size_t)(digits + sizeof(digits) - p));
}

static json_t *users_json(const struct monitor_processes *users)
{
	json_t *list = json_array();

	for (size_t i = 0; i < users->n; i++) {
		const struct monitor_process *u = &users->items[i];
		json_t *o = json_object();

		json_object_set_new(o, "gpu", json_integer(u->gpu));
		json_object_set_new(o, "pid", json_integer(u->pid));
		json_object_set_new(o, "kind", json_string(u->kind));
		json_object_set_new(o, "command",
				    *u->command ? json_text(u->command) : json_null());
		json_object_set_new(o, "memory_bytes", json_figure(u->memory));
		json_array_append_new(list, o);
	}
	return list;
}

static void add_users(struct text *out, const struct monitor_processes *users)
{
	json_t *list = users->n ? users_json(users) : NULL;
	text_add(out, ",\"processes\":");
	if (!list || json_add(out, list, JSON_COMPACT | JSON_REAL_PRECISION(12)))
		text_add(out, "[]");
	json_decref(list);
}

void monitor_line_add(const struct monitor_line *l, const struct instant *f, long long time_ms,
		      struct text *out)
{
	text_printf(out, "{\"schema\":\"gputune.monitor/1\",\"time_ms\":%lld", time_ms);
	for (size_t i = 0; i < l->n; i++) {
		const struct slot *s = &l->slots[i];

		text_addn(out, s->text, s->len);
		add_figure(out, s->per_second ? instant_column(f, s->column) : f->now[s->column]);
	}
	text_add(out, l->end);
	if (f->users)
		add_users(out, f->users);
	text_add(out, "}\n");
}
