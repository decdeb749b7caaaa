/* SPDX-License-Identifier: Apache-2.0 */
/* Gathering rows by setting, knob and whatever else has to be equal. */

#include <string.h>

#include "base/arena.h"
#include "base/text.h"
#include "tune/plan/plan.h"
#include "look/settings/settings.h"

struct gather {
	struct arena *a;
	const struct machine *m;
	struct map by_key;  /* number of the batch + 1 */
	struct map seen;    /* batch and target */
	struct map objects; /* a setting's id: the map of its targets */
	struct batch *items;
	size_t n;
};

const char *batch_key(struct arena *a, const char *const *texts, size_t n)
{
	TEXT_AUTO t = { 0 };

	for (size_t i = 0; i < n; i++) {
		if (texts[i])
			text_printf(&t, "%zu:%s", strlen(texts[i]), texts[i]);
		else
			text_add(&t, "-");
	}
	return arena_strdup(a, t.s ? t.s : "");
}

/* The component number n, from 0; "" when there are not so many. */
static const char *component(struct arena *a, const char *path, size_t n)
{
	for (; n; n--) {
		path = strchr(path, '/');
		if (!path)
			return "";
		path++;
	}
	return arena_strndup(a, path, strcspn(path, "/"));
}

static size_t component_of(const char *path, const char *at)
{
	size_t n = 0;

	for (; path < at; path++)
		n += *path == '/';
	return n;
}

/* Which of the setting's knobs, where its id alone does not say it. */
static const char *group_targets_which(struct arena *a, const struct setting *s,
				       const struct knob *k)
{
	const char *star, *own, *last;

	if (!s || !s->name || s->knob == KNOB_NONE)
		return "";
	if (k->kind != KNOB_SYSFS)
		return k->kind == s->knob && strcmp(k->name, s->name) == 0 ? "" : k->name;
	star = s->knob == KNOB_SYSFS ? strrchr(s->name, '*') : NULL;
	if (star)
		return component(a, k->name, component_of(s->name, star));
	own = strrchr(s->name, '/');
	last = strrchr(k->name, '/');
	return last && (!own || strcmp(own, last) != 0) ? last + 1 : "";
}

static struct batch *batch_of(struct gather *g, const struct batch_row *row, size_t i)
{
	const struct setting *s = setting_find(row->id);
	const char *extra = group_targets_which(g->a, s, row->knob);
	const char *const texts[] = { row->id, extra, row->key };
	void **at = map_at(g->a, &g->by_key, batch_key(g->a, texts, 3));
	struct batch *b;

	if (*at)
		return &g->items[(size_t)*at - 1];
	b = &ARENA_ADD(g->a, g->items, g->n);
	*b = (struct batch){
		.what = *extra ? arena_printf(g->a, "%s %s", row->id, extra) : row->id,
		.first = i,
	};
	*at = (void *)g->n;
	return b;
}

static void group_targets_add_target(struct gather *g, struct batch *b, const char *target)
{
	void **at = map_at(g->a, &g->seen,
			   arena_printf(g->a, "%zu:%s", (size_t)(b - g->items), target));

	b->n++;
	if (*at)
		return;
	*at = b;
	ARENA_ADD(g->a, b->targets, b->n_targets) = target;
}

static const struct map *objects_of(struct gather *g, const struct setting *s)
{
	void **at = map_at(g->a, &g->objects, s->id);

	if (!*at)
		*at = setting_targets(g->a, g->m, s);
	return *at;
}

/* Long lists end in a count: the full list is in the JSON. */
static const char *group_targets_listed(struct arena *a, const struct batch *b)
{
	enum { SHOWN = 2 };
	TEXT_AUTO t = { 0 };
	size_t n = b->n_targets <= SHOWN + 1 ? b->n_targets : SHOWN;

	for (size_t i = 0; i < n; i++)
		text_printf(&t, "%s%s", i ? " " : "", b->targets[i]);
	if (n < b->n_targets)
		text_printf(&t, " +%zu", b->n_targets - n);
	return arena_strdup(a, t.s ? t.s : "");
}

static const char *group_targets_of(struct gather *g, const struct batch *b, const char *id)
{
	const struct setting *s = setting_find(id);
	const void **objects;
	const struct map *known;

	if (b->n_targets == 1)
		return b->targets[0];
	if (!s || (s->scope != SCOPE_POLICY && s->scope != SCOPE_IDLE && s->scope != SCOPE_GPU))
		return group_targets_listed(g->a, b);
	known = objects_of(g, s);
	objects = arena_array(g->a, b->n_targets, sizeof(*objects));
	for (size_t i = 0; i < b->n_targets; i++) {
		objects[i] = map_get(known, b->targets[i]);
		if (!objects[i])
			return group_targets_listed(g->a, b);
	}
	return targets_text(g->a, s, objects, b->targets, b->n_targets);
}

struct batch *batch_rows(struct arena *a, const struct machine *m, const struct batch_row *rows,
			 size_t n, size_t *n_out)
{
	struct gather g = { .a = a, .m = m };

	for (size_t i = 0; i < n; i++)
		group_targets_add_target(&g, batch_of(&g, &rows[i], i), rows[i].target);
	for (size_t i = 0; i < g.n; i++) {
		struct batch *b = &g.items[i];

		b->on = group_targets_of(&g, b, rows[b->first].id);
		if (b->n > b->n_targets)
			b->on = arena_printf(a, "%s%s(%zu writes)", b->on, *b->on ? " " : "", b->n);
	}
	*n_out = g.n;
	return g.items;
}
