/* SPDX-License-Identifier: Apache-2.0 */
/* What rows ask for, and the places that it is kept in. */
#include <string.h>

#include "base/text.h"
#include "look/defects/rows.h"
#include "look/defects/world.h"

/* --- what rows ask for ------------------------------------------------------------------------ */

static void wanted_add(json_t *list, const json_t *texts)
{
	json_t *one;
	size_t i;

	if (json_is_string(texts))
		json_array_append(list, (json_t *)(uintptr_t)texts);
	json_array_foreach((json_t *)(uintptr_t)texts, i, one) json_array_append(list, one);
}

static void wanted_of(struct wanted *w, const json_t *c)
{
	const char *key;
	json_t *v;
	size_t i;

	if (json_is_array(c))
		json_array_foreach((json_t *)(uintptr_t)c, i, v) wanted_of(w, v);
	if (!json_is_object(c))
		return;
	wanted_add(w->libraries, json_object_get(c, "library"));
	wanted_add(w->programs, json_object_get(c, "program"));
	wanted_add(w->processes, json_object_get(c, "process"));
	v = json_object_get(c, "env");
	if (!json_is_object(v))
		wanted_add(w->env, v);
	json_object_foreach(json_is_object(v) ? v : NULL, key, v)
		json_array_append_new(w->env, json_string(key));
	wanted_of(w, json_object_get(c, "all"));
	wanted_of(w, json_object_get(c, "any"));
	wanted_of(w, json_object_get(c, "not"));
}

bool wanted_name(const json_t *patterns, const char *name)
{
	json_t *v;
	size_t i;

	json_array_foreach(patterns, i,
			   v) if (defect_name_fits(json_string_value(v), name)) return true;
	return false;
}

/* Each pattern once. */
static json_t *wanted_once(json_t *list)
{
	json_t *seen = json_object(), *out = json_array(), *v;
	size_t i;

	json_array_foreach(list, i, v)
	{
		if (!json_object_get(seen, json_string_value(v)))
			json_array_append(out, v);
		json_object_set_new(seen, json_string_value(v), json_true());
	}
	json_decref(seen);
	json_decref(list);
	return out;
}

void wanted_take(const struct defect_rows *rows, struct wanted *out)
{
	static const char *const keys[] = { "\"library\"", "\"program\"", "\"env\"", "\"process\"",
					    NULL };

	*out = (struct wanted){ json_array(), json_array(), json_array(), json_array() };
	for (size_t i = 0; i < rows->n; i++) {
		json_auto_t *row = defect_row_part(rows->rows[i], "when mitigated_by", keys);

		wanted_of(out, json_object_get(row, "when"));
		wanted_of(out, json_object_get(row, "mitigated_by"));
	}
	out->libraries = wanted_once(out->libraries);
	out->programs = wanted_once(out->programs);
	out->env = wanted_once(out->env);
	out->processes = wanted_once(out->processes);
}

void wanted_free(struct wanted *w)
{
	json_decref(w->libraries);
	json_decref(w->programs);
	json_decref(w->env);
	json_decref(w->processes);
}

/* --- places ----------------------------------------------------------------------------------- */

void world_left_out(struct seeing *w, const char *fmt, ...)
{
	struct world_seen *s = w->seen;
	const char *text;
	va_list ap;

	va_start(ap, fmt);
	text = arena_vprintf(w->a, fmt, ap);
	va_end(ap);
	for (size_t i = 0; i < s->n_left_out; i++)
		if (strcmp(s->left_out[i], text) == 0)
			return;
	s->left_out = arena_grow(w->a, (void *)s->left_out, s->n_left_out, sizeof(*s->left_out));
	s->left_out[s->n_left_out++] = text;
}

struct defect_place *world_place(struct seeing *w, const char *name, const char *prefix,
				 const struct place_own *own)
{
	struct defect_place *p = ARENA_NEW(w->a, struct defect_place);
	struct place_own *o = ARENA_NEW(w->a, struct place_own);

	*o = *own;
	*p = (struct defect_place){ .name = arena_strdup(w->a, name),
				    .prefix = arena_strdup(w->a, prefix),
				    .holds = json_object(),
				    .where = json_object(),
				    .own = o };
	ARENA_ADD(w->a, w->places, w->n) = p;
	return p;
}

json_t *place_kind(struct defect_place *p, const char *kind, bool list)
{
	json_t *all = json_object_get(p->holds, kind);

	if (!all) {
		all = list ? json_array() : json_object();
		json_object_set_new(p->holds, kind, all);
	}
	return all;
}

void place_put(struct defect_place *p, const char *kind, const char *name, json_t *value,
	       const char *from)
{
	char key[512];

	json_object_set_new(place_kind(p, kind, false), name, value);
	snprintf(key, sizeof(key), "%s/%s", kind, name);
	if (from)
		json_object_set_new(p->where, key, json_string(from));
}

const struct stack_root *root_of(const struct defect_place *p)
{
	return &((const struct place_own *)p->own)->root;
}

json_t *place_library(struct seeing *w, struct defect_place *p, const char *path, bool removed)
{
	json_t *list = place_kind(p, "libraries", true), *lib;
	size_t i;

	json_array_foreach(list, i, lib)
	{
		if (strcmp(defect_text(lib, "path"), path) == 0 &&
		    json_is_true(json_object_get(lib, "removed")) == removed)
			return lib;
	}
	lib = json_pack("{s:s%}", "path", path, strlen(path));
	if (!lib)
		return NULL;
	if (removed)
		json_object_set_new(lib, "removed", json_true());
	json_array_append_new(list, lib);
	w->seen->libraries++;
	return lib;
}

enum { PATHS_MAX = 2000 };

int paths_of(struct arena *a, struct host *h, const char *path, const char ***out, size_t *n)
{
	const char *star = strchr(path, '*'), *from, *to;
	char **names;
	size_t n_names;
	int code;

	if (*path == '~') {
		(void)paths_of(a, h, arena_printf(a, "/root%s", path + 1), out, n);
		return paths_of(a, h, arena_printf(a, "/home/*%s", path + 1), out, n);
	}
	if (!star) {
		ARENA_ADD(a, *out, *n) = path;
		return 0;
	}
	for (from = star; from > path && from[-1] != '/'; from--)
		;
	to = star + strcspn(star, "/");
	code = host_list(h, arena_strndup(a, path, (size_t)(from - path)), a, &names, &n_names);
	for (size_t i = 0, fit = 0; !code && i < n_names && *n < PATHS_MAX && fit < PATHS_MAX; i++)
		if (defect_name_fits(arena_strndup(a, from, (size_t)(to - from)), names[i]) &&
		    ++fit)
			(void)paths_of(
				a, h,
				arena_printf(a, "%.*s%s%s", (int)(from - path), path, names[i], to),
				out, n);
	return code;
}
