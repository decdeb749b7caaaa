/* SPDX-License-Identifier: Apache-2.0 */
/* Facts by the tables of the model, and their edges. */
#include "vary.h"

#include <dirent.h>
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

#include "base/text.h"
#include "look/probe/probe.h"
#include "machine/knob/io.h"

/* What a counter, a width or a temperature can be at most and still be JSON. */
#define LARGEST ((1LL << 53) - 1)

/* Texts that a fact of this key has on any machine. */
struct words {
	const char *key;
	const char **list;
	size_t n;
};
static struct words *words;
static size_t n_words;
static struct arena words_arena;

enum { WORDS_MAX = 24 };

unsigned long long law_random(unsigned long long *state)
{
	/* splitmix64 */
	unsigned long long z = (*state += 0x9e3779b97f4a7c15ULL);

	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
	z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
	return z ^ (z >> 31);
}

/* --- machines --------------------------------------------------------------------------------- */

static int vary_is_machine(const struct dirent *d)
{
	return d->d_name[0] != '.' && !strstr(d->d_name, ".tar") && !strstr(d->d_name, ".json");
}

static int vary_is_tar_alone(const struct dirent *d)
{
	const char *end = strstr(d->d_name, ".tar");
	char path[512];

	if (!end || end[4])
		return 0;
	snprintf(path, sizeof(path), "%s/%.*s", MACHINES, (int)(end - d->d_name), d->d_name);
	return access(path, F_OK) != 0;
}

void world_again(struct world *w, struct world *out)
{
	struct machine *m = ARENA_NEW(&w->a, struct machine);

	probe_machine(&(struct probe){ .h = w->h, .a = &w->a, .m = m, .deep = true });
	out->m = m;
	observations_read(&w->a, w->h, m, true, &out->signs);
}

static void vary_open(struct world *w, const char *name)
{
	struct err e = { 0 };
	char path[512];

	snprintf(path, sizeof(path), "%s/%s", MACHINES, name);
	*w = (struct world){ 0 };
	w->h = host_open_capture(path, &e);
	if (!w->h)
		fail_msg("%s: %s", path, e.text);
	w->name = arena_strdup(&w->a, name);
	world_again(w, w);
}

static size_t vary_open_some(struct world *out, int (*which)(const struct dirent *), bool differs)
{
	struct dirent **names;
	int n = scandir(MACHINES, &names, which, alphasort);

	assert_true(n > 0 && n < MACHINES_MAX / 2);
	for (int i = 0; i < n; i++) {
		vary_open(&out[i], names[i]->d_name);
		out[i].differs = differs;
		free(names[i]);
	}
	free(names);
	return (size_t)n;
}

size_t worlds_open(struct world *out, bool all)
{
	size_t n = vary_open_some(out, vary_is_machine, false);

	return all ? n + vary_open_some(out + n, vary_is_tar_alone, true) : n;
}

void worlds_close(struct world *w, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		host_close(w[i].h);
		free(w[i].knobs);
		free(w[i].places);
		arena_free(&w[i].a);
	}
	arena_free(&words_arena);
	free(words);
	words = NULL;
	n_words = 0;
}

struct fact_str world_knob(void *ctx, struct arena *a, const struct knob *k)
{
	struct world *w = ctx;
	struct reading *r;

	(void)a;
	for (size_t i = 0; i < w->n_knobs; i++)
		if (w->knobs[i].knob.kind == k->kind &&
		    strcmp(w->knobs[i].knob.name, k->name) == 0 &&
		    strcmp(w->knobs[i].knob.object, k->object) == 0)
			return w->knobs[i].value;
	/* Moved by their places: they must not move by themselves. */
	if (w->places)
		return knob_read(w->h, &w->a, k);
	if (w->n_knobs == w->cap_knobs) {
		w->cap_knobs = w->cap_knobs ? 2 * w->cap_knobs : 64;
		w->knobs = realloc(w->knobs, w->cap_knobs * sizeof(*w->knobs));
		assert_non_null(w->knobs);
	}
	r = &w->knobs[w->n_knobs++];
	r->knob = (struct knob){ k->kind, arena_strdup(&w->a, k->name),
				 arena_strdup(&w->a, k->object) };
	r->value = knob_read(w->h, &w->a, k);
	return r->value;
}

/* --- places ----------------------------------------------------------------------------------- */

static struct words *vary_words_of(const char *key)
{
	for (size_t i = 0; i < n_words; i++)
		if (strcmp(words[i].key, key) == 0)
			return &words[i];
	return NULL;
}

static void vary_learn(const char *key, const char *text)
{
	struct words *w = vary_words_of(key);

	if (!w) {
		words = realloc(words, (n_words + 1) * sizeof(*words));
		assert_non_null(words);
		w = &words[n_words++];
		*w = (struct words){ .key = arena_strdup(&words_arena, key) };
	}
	for (size_t i = 0; i < w->n; i++)
		if (strcmp(w->list[i], text) == 0)
			return;
	if (w->n == WORDS_MAX)
		return;
	w->list = arena_grow(&words_arena, w->list, w->n, sizeof(*w->list));
	w->list[w->n++] = arena_strdup(&words_arena, text);
}

/* A third of the keys, by a hash that no rule knows. */
static bool vary_is_aside(const char *key)
{
	uint32_t h = 2166136261u;

	for (; *key; key++)
		h = (h ^ (unsigned char)*key) * 16777619u;
	return (h >> 7) % 3 == 0;
}

static void vary_add(struct world *w, size_t *cap, const char *key, struct fact *at,
		     enum shape_kind kind, const void *object)
{
	static const char *const of_reading[] = { "captured", "euid", "time_s" };

	for (size_t i = 0; i < sizeof(of_reading) / sizeof(of_reading[0]); i++)
		if (strcmp(key, of_reading[i]) == 0)
			return;
	if (w->n_places == *cap) {
		*cap = *cap ? 2 * *cap : 1024;
		w->places = realloc(w->places, *cap * sizeof(*w->places));
		assert_non_null(w->places);
	}
	w->places[w->n_places++] = (struct place){ key, at, kind, object, vary_is_aside(key) };
	if (kind == SHAPE_KIND_FACT_TEXT && at->seen == SEEN_OK)
		vary_learn(key, ((struct fact_str *)(void *)at)->v);
}

static void vary_walk(struct world *w, size_t *cap, const struct shape *s, const char *prefix,
		      void *object)
{
	for (size_t i = 0; i < s->n; i++) {
		const struct shape_row *r = &s->rows[i];
		const char *key = arena_printf(&w->a, "%s%s%s", prefix, *prefix ? "." : "",
					       r->key ? r->key : "");
		char *at = (char *)object + r->offset;

		if (shape_is_fact(r)) {
			vary_add(w, cap, key, (struct fact *)(void *)at, r->kind, object);
		} else if (r->kind == SHAPE_KIND_OBJECT && !r->pointer && r->sub) {
			vary_walk(w, cap, r->sub, key, at);
		} else if (r->kind == SHAPE_KIND_LIST && r->sub && !r->indirect) {
			char *items = *(char **)(void *)at;
			size_t n = *(size_t *)(void *)((char *)object + r->n_offset);

			for (size_t k = 0; k < n; k++)
				vary_walk(w, cap, r->sub, key, items + k * r->size);
		}
	}
}

void world_places(struct world *w)
{
	size_t cap = 0;

	vary_walk(w, &cap, &machine_shape, "", w->m);
	vary_walk(w, &cap, &observations_shape, "seen", &w->signs);
	for (size_t i = 0; i < w->n_knobs; i++)
		vary_add(w, &cap, arena_printf(&w->a, "knob.%s", w->knobs[i].knob.name),
			 &w->knobs[i].value.f, SHAPE_KIND_FACT_TEXT, w->m);
}

/* --- moves ------------------------------------------------------------------------------------ */

static const struct {
	enum seen seen;
	int err;
	const char *what;
} unseen[] = {
	{ SEEN_UNASKED, 0, "not asked" },  { SEEN_ABSENT, ENOENT, "absent" },
	{ SEEN_DENIED, EACCES, "denied" }, { SEEN_UNSUPPORTED, EOPNOTSUPP, "unsupported" },
	{ SEEN_ERROR, EIO, "error" },
};
enum { UNSEEN = sizeof(unseen) / sizeof(unseen[0]) };

static const char *const usual_words[] = { "", " ", "Unknown", "none", "0", "1", "[N/A]", "\xff" };
enum { USUAL = sizeof(usual_words) / sizeof(usual_words[0]) };

enum { NUMBERS = 17 };

bool is_number(const struct place *p)
{
	return p->kind == SHAPE_KIND_FACT_INT || p->kind == SHAPE_KIND_FACT_HEX ||
	       p->kind == SHAPE_KIND_FACT_FLAG;
}

static size_t vary_values(const struct place *p)
{
	const struct words *w;

	switch (p->kind) {
	case SHAPE_KIND_FACT_FLAG:
		return 2;
	case SHAPE_KIND_FACT_INT:
	case SHAPE_KIND_FACT_HEX:
		return NUMBERS;
	case SHAPE_KIND_FACT_TEXT:
		w = vary_words_of(p->key);
		return USUAL + (w ? w->n : 0);
	default:
		return 3;
	}
}

size_t move_count(const struct place *p)
{
	return vary_values(p) + UNSEEN;
}

bool move_unseen(const struct place *p, size_t i)
{
	size_t values = vary_values(p);

	return i >= values && unseen[i - values].seen != SEEN_ABSENT &&
	       unseen[i - values].seen != SEEN_UNSUPPORTED;
}

bool move_blind(const struct place *p, size_t i)
{
	return move_unseen(p, i) && unseen[i - vary_values(p)].seen != SEEN_ERROR;
}

static void vary_keep(struct place *p, struct moved *out)
{
	*out = (struct moved){ .p = p };
	if (is_number(p))
		out->was.i = *(struct fact_int *)(void *)p->at;
	else if (p->kind == SHAPE_KIND_FACT_TEXT)
		out->was.s = *(struct fact_str *)(void *)p->at;
	else
		out->was.set = *(struct fact_set *)(void *)p->at;
}

void move_back(struct moved *m)
{
	if (is_number(m->p))
		*(struct fact_int *)(void *)m->p->at = m->was.i;
	else if (m->p->kind == SHAPE_KIND_FACT_TEXT)
		*(struct fact_str *)(void *)m->p->at = m->was.s;
	else
		*(struct fact_set *)(void *)m->p->at = m->was.set;
}

static void vary_see(struct place *p)
{
	if (!p->at->leaf)
		p->at->leaf = "a reading";
	p->at->seen = SEEN_OK;
	p->at->err = 0;
}

void move_number(struct place *p, long long v, struct moved *out)
{
	vary_keep(p, out);
	vary_see(p);
	((struct fact_int *)(void *)p->at)->v = v;
	snprintf(out->what, sizeof(out->what), "= %lld", v);
}

bool move_value(const struct place *p, size_t i, long long *v)
{
	const struct fact_int *f = (const struct fact_int *)(const void *)p->at;
	long long own = f->f.seen == SEEN_OK ? f->v : 1;
	const long long edges[NUMBERS] = { 0,	     1,
					   -1,	     255,
					   LARGEST,  (1LL << 32) - 1,
					   1000,     65535,
					   own - 1,  own + 1,
					   own / 2,  own > LARGEST / 2 ? own : own * 2,
					   own / 10, own > LARGEST / 10 ? own : own * 10,
					   own / 3,  own / 20,
					   90 };

	if (!is_number(p) || i >= vary_values(p))
		return false;
	*v = p->kind == SHAPE_KIND_FACT_FLAG ? (long long)i : edges[i];
	return true;
}

static void vary_set(struct world *w, struct fact_set *f, size_t i, char what[96])
{
	struct idset all = f->v, out = { 0 };

	if (i == 1)
		idset_add(&w->a, &out, 0);
	if (i == 2)
		IDSET_FOR_EACH (id, &all)
			if (id)
				idset_add(&w->a, &out, id);
	f->v = out;
	snprintf(what, 96, "= \"%.80s\"", idset_format(&w->a, &out));
}

void move_to(struct world *w, struct place *p, size_t i, struct moved *out)
{
	size_t values = vary_values(p);
	long long v = 0;

	if (move_value(p, i, &v)) {
		move_number(p, v, out);
		return;
	}
	vary_keep(p, out);
	if (i >= values) {
		p->at->seen = unseen[i - values].seen;
		p->at->err = unseen[i - values].err;
		if (p->kind == SHAPE_KIND_FACT_TEXT)
			((struct fact_str *)(void *)p->at)->v = NULL;
		snprintf(out->what, sizeof(out->what), "is %s", unseen[i - values].what);
		return;
	}
	vary_see(p);
	if (p->kind == SHAPE_KIND_FACT_TEXT) {
		const char *text =
			i < USUAL ? usual_words[i] : vary_words_of(p->key)->list[i - USUAL];

		((struct fact_str *)(void *)p->at)->v = text;
		snprintf(out->what, sizeof(out->what), "= \"%.80s\"", text);
	} else {
		vary_set(w, (struct fact_set *)(void *)p->at, i, out->what);
	}
}
