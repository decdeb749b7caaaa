/* SPDX-License-Identifier: Apache-2.0 */
/* Findings and rows, each kept once: by their bytes, and by what of them machines are compared on.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "many/fleet/fleet.h"
#include "base/text.h"

/* Bytes of objects kept to recognise them. Beyond, an object is parsed wherever it comes. */
enum { RAW_MAX = 96 << 20 };

const char *store_text(struct fleet *f, const char *s)
{
	char cut[FLEET_TEXT_MAX + 1];
	void **place;

	if (!s)
		return NULL;
	snprintf(cut, sizeof(cut), "%.*s", (int)utf8_cut(s, FLEET_TEXT_MAX), s);
	place = map_at(f->arena, &f->store->texts, cut);
	*place = f;
	return map_key(place);
}

/* NULL: there are too many. */
static struct fleet_subject *store_subject(struct fleet *f, enum fleet_kind kind, const char *id)
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
	ARENA_ADD(f->arena, f->subjects, f->n_subjects) = s;
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

/* The one part that is equal to p. */
static const struct fleet_part *store_part(struct fleet *f, const struct fleet_part *p)
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

/* clang-format off */
const struct fleet_kind_row fleet_kind_rows[FLEET_HOST] = {
	[FLEET_CHECK] = { "findings", "target", "verdict", "current", "wanted", .states = { "pass", "na", "unknown" } },
	[FLEET_STATUS] = { "rows", "target", "state", "now", "after",
		.states = { "ours in-force", "waits waits-for-reboot", "unknown" } },
	[FLEET_VERIFY] = { "rows", "target", "state", "now", "wanted",
		.states = { "ours in-force", "waits waits-for-reboot", "unknown" } },
	[FLEET_STACK] = { "findings", "target", "verdict", "current", "wanted", .states = { "pass", "na", "unknown" } },
	[FLEET_DEFECTS] = { "defects", "place", "state", NULL, "fix",
		.states = { "mitigated", "exposed", "possible" } },
	[FLEET_DOCTOR] = { "diagnoses", NULL, "state", NULL, NULL, .states = { "fine", "not-here", "not-tested" } },
	[FLEET_SHOW] = { "rows", NULL, "state", NULL, NULL, .states = { NULL }, .all = FLEET_NEUTRAL },
	[FLEET_HANG] = { "processes", NULL, "kind", "operation", NULL,
		.states = { "moving running", "child", "unknown" }, .id = "process" },
};
/* clang-format on */

static bool is_judged(enum fleet_kind kind)
{
	return kind == FLEET_CHECK || kind == FLEET_STACK;
}

/*
 * Values that no administrator chose (health counts, temperatures) differ between any two machines;
 * only the verdict on them is compared.
 */
static void finding_part(struct fleet *f, const json_t *j, struct fleet_part *p)
{
	bool health = json_is_true(json_object_get(j, "health"));

	if (p->mark == FLEET_UNKNOWN)
		p->now = read_string(j, "reason_code");
	else if (health || p->mark == FLEET_NEUTRAL || (p->mark == FLEET_GOOD && !f->store->values))
		p->now = NULL;
	if (p->mark != FLEET_BAD || health)
		p->wanted = NULL;
	/* Readings of one verdict fall into other groups on every machine. */
	if (p->mark <= FLEET_NEUTRAL && !f->store->values)
		p->target = "";
}

/* Evidence has figures, which differ between any two machines: the likely causes are compared. */
static void diagnosis_part(struct fleet *f, const json_t *j, struct fleet_part *p)
{
	const json_t *one;
	TEXT_AUTO t = { 0 };
	size_t i;

	if (p->mark == FLEET_BAD && json_is_true(json_object_get(j, "normal")))
		p->mark = FLEET_NEUTRAL;
	json_array_foreach(json_object_get(j, "causes"), i, one)
	{
		const char *how = read_string(one, "likelihood"), *id = read_string(one, "id");

		if (id && how && words_have("certain likely", how, strlen(how)) &&
		    t.len <= FLEET_TEXT_MAX)
			text_printf(&t, "%s%s", t.len ? ", " : "", id);
	}
	p->now = t.len ? store_text(f, t.s) : NULL;
}

/* False: it has no state. */
static bool item_part(struct fleet *f, const json_t *j, struct fleet_part *p)
{
	enum fleet_kind kind = f->store->kind;
	const struct fleet_kind_row *row = &fleet_kind_rows[kind];

	p->state = read_string(j, row->state);
	if (!p->state ||
	    (is_judged(kind) && !words_have("pass na unknown fail", p->state, strlen(p->state))))
		return false;
	p->mark = row->all;
	while (!row->all && p->mark < FLEET_BAD &&
	       !words_have(row->states[p->mark], p->state, strlen(p->state)))
		p->mark++;
	p->mark = json_is_true(json_object_get(j, "moves")) ? FLEET_GOOD : p->mark;
	p->now = row->now ? read_string(j, row->now) : NULL;
	p->wanted = row->wanted ? read_string(j, row->wanted) : NULL;
	if (is_judged(kind))
		finding_part(f, j, p);
	else if (kind == FLEET_DOCTOR)
		diagnosis_part(f, j, p);
	return true;
}

static bool is_id(const char *id)
{
	size_t n = strspn(id, "abcdefghijklmnopqrstuvwxyz0123456789._-");

	return n && n <= 128 && !id[n];
}

/* Where --compact left "target" out, "targets" has its parts; neither: the machine. */
static const char *target_of(struct fleet *f, const json_t *j)
{
	const json_t *list = json_object_get(j, "targets"), *one;
	const char *key = fleet_kind_rows[f->store->kind].target, *out;
	const char *target = key ? read_string(j, key) : "";
	TEXT_AUTO t = { 0 };
	size_t i;

	if (target || f->store->kind != FLEET_CHECK || (list && !json_is_array(list)))
		return target;
	json_array_foreach(list, i, one)
	{
		if (!json_is_string(one) || t.len > FLEET_TEXT_MAX)
			continue;
		text_printf(&t, "%s%s", t.len ? ", " : "", json_string_value(one));
	}
	out = store_text(f, t.s ? t.s : "");
	return out;
}

static const struct fleet_part *fleet_item_parse(struct fleet *f, const char *raw, size_t len,
						 struct err *e)
{
	enum fleet_kind kind = f->store->kind;
	struct fleet_part p = { 0 };
	const struct fleet_part *part = NULL;
	json_error_t why;
	json_t *j = json_loadb(raw, len, JSON_REJECT_DUPLICATES, &why);
	const char *own = read_string(j, "id"), *id = own ? own : fleet_kind_rows[kind].id;

	if (!j) {
		err_set(e, -EINVAL, "%s", why.text);
		return NULL;
	}
	p.target = target_of(f, j);
	if (!id || !p.target || !item_part(f, j, &p)) {
		err_set(e, -EINVAL, "an item of its list has no id, target or %s",
			fleet_kind_rows[kind].state);
	} else if (!is_id(id)) {
		err_set(e, -EINVAL, "an item of its list has an invalid id");
	} else if (!(p.subject = store_subject(f, kind, id))) {
		err_set(e, -EINVAL, "too many settings: the limit is %d", FLEET_SUBJECTS_MAX);
	} else {
		part = store_part(f, &p);
	}
	json_decref(j);
	return part;
}

void store_room(struct fleet_store *st, size_t n)
{
	void *more = n > st->cap_seen ? realloc(st->seen, 2 * n * sizeof(*st->seen)) : st->seen;

	if (n && !more)
		out_of_memory(0);
	st->cap_seen = n > st->cap_seen ? 2 * n : st->cap_seen;
	st->seen = more;
}

/* The one with these bytes, parsed when it is new; NULL and *e: it makes no sense. */
static struct fleet_item *item_of(struct fleet *f, const char *raw, size_t len, struct err *e)
{
	struct fleet_store *st = f->store;
	const struct fleet_part *part;
	struct fleet_item *it;
	void **place;

	text_clear(&st->raw);
	text_printf(&st->raw, "%d", (int)st->kind);
	text_addn(&st->raw, raw, len);
	it = map_get(&st->items, st->raw.s);
	part = it ? NULL : fleet_item_parse(f, raw, len, e);
	if (!part)
		return it;
	it = ARENA_NEW(f->arena, struct fleet_item);
	*it = (struct fleet_item){ .len = len, .kind = st->kind, .part = part };
	st->raw_bytes += len;
	if (st->raw_bytes > RAW_MAX)
		return it;
	place = map_at(f->arena, &st->items, st->raw.s);
	*place = it;
	it->raw = map_key(place) + 1;
	return it;
}

static void see_item(struct fleet_store *st, struct fleet_item *it)
{
	if (st->last && it->raw)
		st->last->next = it;
	st->last = it->raw ? it : NULL;
	store_room(st, st->n_seen + 1);
	st->seen[st->n_seen++] = it->part;
}

/* Finding where texts, objects and lists end: quotes and brackets, nothing else of JSON. */

static bool blank(char c)
{
	return c == ' ' || c == '\n' || c == '\t' || c == '\r';
}

static void skip_blanks(struct split *s)
{
	while (s->p < s->end && blank(*s->p))
		s->p++;
}

/* From the opening quote to behind the closing one. */
static int skip_text(struct split *s, struct err *e)
{
	const char *start = s->p + 1, *q = start;

	while ((q = memchr(q, '"', (size_t)(s->end - q)))) {
		const char *b = q;

		while (b > start && b[-1] == '\\')
			b--;
		q++;
		if ((q - 1 - b) % 2 == 0) {
			s->p = q;
			return 0;
		}
	}
	return err_set(e, -EINVAL, "unterminated text");
}

/* From an opening bracket to behind the one that closes it. */
static int skip_nested(struct split *s, struct err *e)
{
	char open[SPLIT_DEPTH_MAX];
	size_t depth = 0;

	while (s->p < s->end) {
		char c = *s->p;

		if (c == '"') {
			if (skip_text(s, e))
				return -EINVAL;
			continue;
		}
		s->p++;
		if (c == '{' || c == '[') {
			if (depth == SPLIT_DEPTH_MAX)
				return err_set(e, -EINVAL, "nested deeper than %d",
					       SPLIT_DEPTH_MAX);
			open[depth++] = c == '{' ? '}' : ']';
		} else if (c == '}' || c == ']') {
			if (depth == 0 || open[--depth] != c)
				return err_set(e, -EINVAL, "brackets do not match");
			if (depth == 0)
				return 0;
		}
	}
	return err_set(e, -EINVAL, "truncated");
}

/* What came after the last one when that was last seen, if that is here: the walk over its bytes is
 * saved. It is a whole object, so what begins with it is it. NULL: it is not. */
static struct fleet_item *item_guessed(struct split *s)
{
	const struct fleet_store *st = s->f->store;
	struct fleet_item *g = st->last ? st->last->next : NULL;

	if (!g || g->kind != st->kind || (size_t)(s->end - s->p) < g->len ||
	    memcmp(s->p, g->raw, g->len) != 0)
		return NULL;
	s->p += g->len;
	return g;
}

/* From '[' to behind ']'. */
static int walk_list(struct split *s, struct err *e)
{
	size_t n = 0;

	s->p++;
	skip_blanks(s);
	while (s->p < s->end && *s->p != ']') {
		struct fleet_item *it;
		const char *raw = s->p;

		if (*raw != '{')
			return err_set(e, -EINVAL, "the list contains items that are not objects");
		if (n++ == SPLIT_ITEMS_MAX)
			return err_set(e, -EINVAL, "the list exceeds %d items", SPLIT_ITEMS_MAX);
		it = item_guessed(s);
		if (!it && !skip_nested(s, e))
			it = item_of(s->f, raw, (size_t)(s->p - raw), e);
		if (!it)
			return -EINVAL;
		see_item(s->f->store, it);
		skip_blanks(s);
		if (s->p < s->end && *s->p == ',') {
			s->p++;
			skip_blanks(s);
			if (s->p < s->end && *s->p == ']')
				return err_set(e, -EINVAL, "a comma precedes the list's end");
		} else if (s->p < s->end && *s->p != ']') {
			return err_set(e, -EINVAL, "a comma is missing in its list");
		}
	}
	if (s->p == s->end)
		return err_set(e, -EINVAL, "truncated");
	s->p++;
	return 0;
}

static bool is_key(const char *text, size_t len, const char *name)
{
	return len == strlen(name) + 2 && memcmp(text + 1, name, len - 2) == 0;
}

/* A key of the outermost object and what follows it, up to the next comma or bracket. */
static int walk_key(struct split *s, struct err *e)
{
	const char *key = s->p;
	bool list;

	if (skip_text(s, e))
		return -EINVAL;
	list = is_key(key, (size_t)(s->p - key), s->list);
	while (s->p < s->end && (blank(*s->p) || *s->p == ':'))
		s->p++;
	/* The colon goes along: whether it is there is the parser's to say. */
	text_addn(&s->frame, key, (size_t)(s->p - key));
	if (s->p == s->end)
		return err_set(e, -EINVAL, "truncated");
	key = s->p;
	if (list && *s->p == '[') {
		text_add(&s->frame, "[]");
		return walk_list(s, e);
	}
	if (*s->p == '{' || *s->p == '[') {
		if (skip_nested(s, e))
			return -EINVAL;
	} else if (*s->p == '"') {
		if (skip_text(s, e))
			return -EINVAL;
	}
	text_addn(&s->frame, key, (size_t)(s->p - key));
	return 0;
}

int split_document(struct split *s, struct err *e)
{
	text_clear(&s->frame);
	skip_blanks(s);
	if (s->p == s->end || *s->p != '{')
		return err_set(e, -EINVAL, "not a JSON object");
	text_addc(&s->frame, *s->p++);
	while (s->p < s->end) {
		char c = *s->p;

		if (c == '"') {
			if (walk_key(s, e))
				return -EINVAL;
			continue;
		}
		if (c == '{' || c == '[' || c == ']')
			return err_set(e, -EINVAL, "found a bracket where a name is expected");
		text_addc(&s->frame, c);
		s->p++;
		if (c == '}')
			return 0;
	}
	return err_set(e, -EINVAL, "truncated");
}

static const char *const host_subjects[] = { "platform", "architecture", "kernel", "gputune",
					     "profile" };

void store_facts_subjects(struct fleet *f)
{
	for (size_t i = 0; i < sizeof(host_subjects) / sizeof(host_subjects[0]); i++)
		store_subject(f, FLEET_HOST, host_subjects[i]);
}

struct fleet_machine *store_machine(struct fleet *f, const json_t *document,
				    const struct read_from *from, struct err *e)
{
	const char *name = read_machine(document, from, e);
	struct fleet_machine *m;
	void **place;

	if (!name)
		return NULL;
	if (f->n >= FLEET_MACHINES_MAX) {
		err_set(e, -EINVAL, "more than %d machines", FLEET_MACHINES_MAX);
		return NULL;
	}
	place = map_at(f->arena, &f->store->machines, name);
	if (*place)
		return *place;
	m = ARENA_NEW(f->arena, struct fleet_machine);
	m->name = map_key(place);
	*place = m;
	ARENA_ADD(f->arena, f->machines, f->n) = m;
	return m;
}

static void see_host(struct fleet *f, const char *id, const char *value,
		     const struct fleet_part **list, size_t *n)
{
	struct fleet_part p = { .subject = store_subject(f, FLEET_HOST, id),
				.mark = FLEET_NEUTRAL,
				.target = "",
				.state = value };

	if (value && p.subject)
		list[(*n)++] = store_part(f, &p);
}

/* What every result says of its machine; the newest says it best. */
void store_facts(struct fleet *f, struct fleet_machine *m, const json_t *j)
{
	const struct fleet_part **list = arena_array(
		f->arena, sizeof(host_subjects) / sizeof(host_subjects[0]), sizeof(*list));
	const char *profile = read_string(json_object_get(j, "profile"), "name");
	const json_t *host = json_object_get(j, "host");
	size_t n = 0;

	m->platform = store_text(f, read_string(host, "platform"));
	see_host(f, "platform", m->platform, list, &n);
	see_host(f, "architecture", read_string(host, "arch"), list, &n);
	see_host(f, "kernel", read_string(host, "kernel"), list, &n);
	see_host(f, "gputune", read_string(j, "tool_version"), list, &n);
	see_host(f, "profile", profile && *profile ? profile : NULL, list, &n);
	m->parts[FLEET_HOST] = list;
	m->n_parts[FLEET_HOST] = n;
}

void store_host(struct fleet *f, struct fleet_machine *m, const json_t *document, const char *file)
{
	if (m->n_parts[FLEET_HOST])
		return;
	m->file = arena_strdup(f->arena, file);
	store_facts(f, m, document);
}
