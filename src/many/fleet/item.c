/* SPDX-License-Identifier: Apache-2.0 */
/* Findings and rows, each kept once: by their bytes, and by what of them machines are compared on.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "many/fleet/split.h"
#include "many/fleet/fleet.h"

/* Bytes of objects kept to recognise them. Beyond, an object is parsed wherever it comes. */
enum { RAW_MAX = 96 << 20 };

const char *store_text(struct fleet *f, const char *s)
{
	char cut[FLEET_TEXT_MAX + 1];
	void **place;

	if (!s)
		return NULL;
	if (strlen(s) > FLEET_TEXT_MAX) {
		size_t n = FLEET_TEXT_MAX;

		while (n && ((unsigned char)s[n] & 0xc0) == 0x80)
			n--; /* not through a character */
		memcpy(cut, s, n);
		cut[n] = '\0';
		s = cut;
	}
	place = map_at(f->arena, &f->store->texts, s);
	*place = f;
	return map_key(place);
}

struct fleet_subject *store_subject(struct fleet *f, enum fleet_kind kind, const char *id)
{
	struct fleet_store *st = f->store;
	struct fleet_subject *s;
	void **place;

	text_clear(&st->key);
	text_printf(&st->key, "%d %s", (int)kind, id);
	place = map_at(f->arena, &st->subjects, st->key.s);
	if (*place || f->n_subjects == FLEET_SUBJECTS_MAX)
		return *place;
	s = ARENA_NEW(f->arena, struct fleet_subject);
	*s = (struct fleet_subject){ .id = store_text(f, id),
				     .kind = kind,
				     .number = f->n_subjects };
	*place = s;
	f->subjects = arena_grow(f->arena, f->subjects, f->n_subjects, sizeof(*f->subjects));
	f->subjects[f->n_subjects++] = s;
	return s;
}

/* Lengths before texts: no text can look like two. */
static void key_text(struct text *t, const char *s)
{
	if (s)
		text_printf(t, "%zu:%s", strlen(s), s);
	else
		text_addc(t, '-');
}

const struct fleet_part *store_part(struct fleet *f, const struct fleet_part *p)
{
	struct fleet_store *st = f->store;
	struct fleet_part *copy;
	void **place;

	text_clear(&st->key);
	text_printf(&st->key, "%zu %d ", p->subject->number, (int)p->mark);
	key_text(&st->key, p->target);
	key_text(&st->key, p->state);
	key_text(&st->key, p->now);
	key_text(&st->key, p->wanted);
	place = map_at(f->arena, &st->parts, st->key.s);
	if (*place)
		return *place;
	copy = ARENA_NEW(f->arena, struct fleet_part);
	*place = copy;
	*copy = (struct fleet_part){ .subject = p->subject,
				     .mark = p->mark,
				     .target = store_text(f, p->target),
				     .state = store_text(f, p->state),
				     .now = store_text(f, p->now),
				     .wanted = store_text(f, p->wanted),
				     .number = st->n_parts++ };
	return copy;
}

static const char *get(const json_t *j, const char *key)
{
	return json_string_value(json_object_get(j, key));
}

/*
 * Values that no administrator chose (health counts, temperatures) differ between any two machines;
 * only the verdict on them is compared.
 */
static int finding_part(struct fleet *f, const json_t *j, struct fleet_part *p)
{
	static const struct {
		const char *name;
		enum fleet_mark mark;
	} verdicts[] = { { "pass", FLEET_GOOD },
			 { "fail", FLEET_BAD },
			 { "na", FLEET_NEUTRAL },
			 { "unknown", FLEET_UNKNOWN } };
	bool health = json_is_true(json_object_get(j, "health"));

	p->state = get(j, "verdict");
	for (size_t i = 0; p->state && i < sizeof(verdicts) / sizeof(verdicts[0]); i++) {
		if (strcmp(p->state, verdicts[i].name) != 0)
			continue;
		p->mark = verdicts[i].mark;
		if (p->mark == FLEET_UNKNOWN)
			p->now = get(j, "reason_code");
		else if (!health &&
			 (p->mark == FLEET_BAD || (p->mark == FLEET_GOOD && f->store->values)))
			p->now = get(j, "current");
		if (p->mark == FLEET_BAD && !health)
			p->wanted = get(j, "wanted");
		/* Readings of one verdict fall into other groups on every machine. */
		if (p->mark <= FLEET_NEUTRAL && !f->store->values)
			p->target = "";
		return 0;
	}
	return -EINVAL;
}

static bool among(const char *word, const char *const *words)
{
	for (; *words; words++)
		if (strcmp(*words, word) == 0)
			return true;
	return false;
}

/* A row of status or verify. */
static int row_part(enum fleet_kind kind, const json_t *j, struct fleet_part *p)
{
	static const char *const good[] = { "ours", "in-force", NULL };
	static const char *const neutral[] = { "waits", "waits-for-reboot", NULL };
	static const char *const unknown[] = { "unknown", NULL };

	p->state = get(j, "state");
	if (!p->state)
		return -EINVAL;
	p->mark = among(p->state, good)	     ? FLEET_GOOD
		  : among(p->state, neutral) ? FLEET_NEUTRAL
		  : among(p->state, unknown) ? FLEET_UNKNOWN
					     : FLEET_BAD;
	p->now = get(j, "now");
	p->wanted = get(j, kind == FLEET_STATUS ? "after" : "wanted");
	return 0;
}

static bool is_id(const char *id)
{
	size_t n = strspn(id, "abcdefghijklmnopqrstuvwxyz0123456789.-");

	return n && n <= 128 && !id[n];
}

static const struct fleet_part *parse(struct fleet *f, const char *raw, size_t len, struct err *e)
{
	enum fleet_kind kind = f->store->kind;
	struct fleet_part p = { 0 };
	const struct fleet_part *part = NULL;
	json_error_t why;
	json_t *j = json_loadb(raw, len, JSON_REJECT_DUPLICATES, &why);
	const char *id = j ? get(j, "id") : NULL;

	if (!j) {
		err_set(e, -EINVAL, "%s", why.text);
		return NULL;
	}
	p.target = get(j, "target");
	if (!id || !p.target ||
	    (kind == FLEET_CHECK ? finding_part(f, j, &p) : row_part(kind, j, &p))) {
		err_set(e, -EINVAL, "an object of its list lacks id, target or %s",
			kind == FLEET_CHECK ? "verdict" : "state");
	} else if (!is_id(id)) {
		err_set(e, -EINVAL, "an object of its list has an id that is none");
	} else if (!(p.subject = store_subject(f, kind, id))) {
		err_set(e, -EINVAL, "with it there are more than %d settings", FLEET_SUBJECTS_MAX);
	} else {
		part = store_part(f, &p);
	}
	json_decref(j);
	return part;
}

/* Seeded: who writes a result must not choose where it falls. */
static uint64_t hash(uint64_t seed, const char *s, size_t n)
{
	uint64_t h = seed ^ (n * 0x9e3779b97f4a7c15u), w;

	for (; n >= sizeof(w); s += sizeof(w), n -= sizeof(w)) {
		memcpy(&w, s, sizeof(w));
		h = (h ^ w) * 0x9fb21c651e98df25u;
		h ^= h >> 32;
	}
	w = 0;
	memcpy(&w, s, n);
	h = (h ^ w) * 0x9fb21c651e98df25u;
	return h ^ (h >> 29);
}

static struct fleet_item **slot(const struct fleet_store *st, uint64_t h, enum fleet_kind kind,
				const char *raw, size_t len)
{
	size_t i = (size_t)h & (st->cap - 1);

	for (; st->slots[i]; i = (i + 1) & (st->cap - 1)) {
		const struct fleet_item *it = st->slots[i];

		if (it->hash == h && it->kind == kind && it->len == len &&
		    memcmp(it->raw, raw, len) == 0)
			break;
	}
	return &st->slots[i];
}

static void widen(struct fleet *f)
{
	struct fleet_store *st = f->store;
	struct fleet_item **old = st->slots;
	size_t cap = st->cap;

	st->cap = cap ? cap * 2 : 1024;
	st->slots = arena_array(f->arena, st->cap, sizeof(*st->slots));
	for (size_t i = 0; i < cap; i++)
		if (old[i])
			*slot(st, old[i]->hash, old[i]->kind, old[i]->raw, old[i]->len) = old[i];
}

static void see(struct fleet_store *st, const struct fleet_part *part)
{
	if (st->n_seen == st->cap_seen) {
		void *more;

		st->cap_seen = st->cap_seen ? 2 * st->cap_seen : 256;
		more = realloc(st->seen, st->cap_seen * sizeof(*st->seen));
		if (!more)
			out_of_memory(0);
		st->seen = more;
	}
	st->seen[st->n_seen++] = part;
}

const char *store_guess(void *ctx, size_t *len)
{
	struct fleet_store *st = ((struct fleet *)ctx)->store;
	struct fleet_item *g = st->last ? st->last->next : NULL;

	if (!g || g->kind != st->kind)
		return NULL;
	*len = g->len;
	return g->raw;
}

int store_item(void *ctx, const char *raw, size_t len, struct err *e)
{
	struct fleet *f = ctx;
	struct fleet_store *st = f->store;
	struct fleet_item *it = st->last ? st->last->next : NULL, **place;
	uint64_t h;

	/* The guess that was right: split compared the bytes; equal length and kind is not enough.
	 */
	if (!it || it->kind != st->kind || it->len != len || memcmp(it->raw, raw, len) != 0) {
		if ((st->n_items + 1) * 2 > st->cap)
			widen(f);
		h = hash(st->seed, raw, len);
		place = slot(st, h, st->kind, raw, len);
		it = *place;
		if (!it) {
			const struct fleet_part *part = parse(f, raw, len, e);

			if (!part)
				return -EINVAL;
			if (st->raw_bytes + len > RAW_MAX) {
				st->last = NULL;
				see(st, part);
				return 0;
			}
			it = ARENA_NEW(f->arena, struct fleet_item);
			*it = (struct fleet_item){ .hash = h,
						   .raw = arena_strndup(f->arena, raw, len),
						   .len = len,
						   .kind = st->kind,
						   .part = part };
			*place = it;
			st->n_items++;
			st->raw_bytes += len;
		}
	}
	if (st->last)
		st->last->next = it;
	st->last = it;
	see(st, it->part);
	return 0;
}
