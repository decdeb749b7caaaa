/* SPDX-License-Identifier: Apache-2.0 */
/*
 * JSON and YAML through libyaml's events, which have places. What is JSON by name is first read by
 * a strict reader: YAML takes more than JSON's readers do.
 */
#include "models/generate/markup.h"

#include <errno.h>
#include <jansson.h>
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <yaml.h>

#include "machine/host/libraries.h"

struct reader {
	struct arena *a;
	struct markup *m;
	const uint32_t *bytes; /* of each character; NULL: one byte each */
	size_t characters;
	size_t skip; /* bytes of a byte-order mark */
	struct map anchors;
	struct markup_node *at; /* the open map or list */
	struct markup_node *key;
	size_t nodes, depth;
	bool later; /* in the second document or behind it */
};

/* libyaml counts characters; places are bytes. A byte-order mark it would take for a column. */
static void count_characters(struct reader *r)
{
	const char *s = r->m->text;
	uint32_t *table;
	bool wide = false;
	size_t n = 0;

	for (size_t i = r->skip; i < r->m->len; i++)
		wide = wide || (s[i] & 0x80);
	if (!wide)
		return;
	table = arena_array(r->a, r->m->len + 2, sizeof(*table));
	for (size_t i = r->skip; i < r->m->len; i++)
		if (((unsigned char)s[i] & 0xc0) != 0x80)
			table[n++] = (uint32_t)i;
	table[n] = (uint32_t)r->m->len;
	r->characters = n;
	r->bytes = table;
}

static size_t byte_of(const struct reader *r, size_t character)
{
	size_t at = character + r->skip;

	if (r->bytes)
		at = character < r->characters ? r->bytes[character] : r->m->len;
	return at < r->m->len ? at : r->m->len;
}

static struct markup_node *markup_add(struct reader *r, enum markup_kind kind,
				      const yaml_event_t *ev)
{
	struct markup_node *n = ARENA_NEW(r->a, struct markup_node);

	*n = (struct markup_node){ .kind = kind,
				   .text = "",
				   .begin = byte_of(r, ev->start_mark.index),
				   .end = byte_of(r, ev->end_mark.index),
				   .line = (unsigned)ev->start_mark.line + 1,
				   .column = ev->start_mark.column,
				   .parent = r->at };
	r->nodes++;
	if (!r->at) {
		if (!r->later)
			r->m->root = n;
		return n;
	}
	if (r->at->kind == MARKUP_MAP && !r->key) {
		r->key = n;
		return n;
	}
	n->key = r->key;
	r->key = NULL;
	if (r->at->last)
		r->at->last->next = n;
	else
		r->at->first = n;
	r->at->last = n;
	return n;
}

static void anchor(struct reader *r, struct markup_node *n, const unsigned char *name)
{
	if (!name)
		return;
	r->m->anchors = true;
	n->anchor = arena_strdup(r->a, (const char *)name);
	*map_at(r->a, &r->anchors, n->anchor) = n;
}

static int open_node(struct reader *r, struct markup_node *n, struct err *e)
{
	if (++r->depth > MARKUP_DEPTH_MAX)
		return err_set(e, -E2BIG, "nested deeper than %d levels", MARKUP_DEPTH_MAX);
	/* A map as a key has no name; its own entries are read, and it is no entry itself. */
	if (r->key == n)
		return err_set(e, -EINVAL, "a map or list cannot be a key");
	r->at = n;
	return 0;
}

static void close_node(struct reader *r, const yaml_event_t *ev)
{
	struct markup_node *n = r->at;

	if (!n)
		return;
	n->end = byte_of(r, ev->end_mark.index);
	if (!n->flow && n->last)
		n->end = n->last->end;
	r->at = n->parent;
	r->depth--;
}

static void markup_scalar(struct reader *r, const yaml_event_t *ev)
{
	struct markup_node *n = markup_add(r, MARKUP_SCALAR, ev);
	yaml_scalar_style_t style = ev->data.scalar.style;

	n->text = arena_strndup(r->a, (const char *)ev->data.scalar.value, ev->data.scalar.length);
	n->quoted = style != YAML_PLAIN_SCALAR_STYLE;
	n->block = style == YAML_LITERAL_SCALAR_STYLE || style == YAML_FOLDED_SCALAR_STYLE;
	n->tagged = ev->data.scalar.tag != NULL;
	anchor(r, n, ev->data.scalar.anchor);
}

static int markup_take(struct reader *r, const yaml_event_t *ev, struct err *e)
{
	struct markup_node *n;

	switch (ev->type) {
	case YAML_DOCUMENT_START_EVENT:
		r->later = r->m->documents > 0;
		if (++r->m->documents == 2)
			r->m->second = (unsigned)ev->start_mark.line + 1;
		return 0;
	case YAML_SCALAR_EVENT:
		markup_scalar(r, ev);
		return 0;
	case YAML_ALIAS_EVENT:
		n = markup_add(r, MARKUP_ALIAS, ev);
		n->text = arena_strdup(r->a, (const char *)ev->data.alias.anchor);
		n->target = map_get(&r->anchors, n->text);
		r->m->anchors = true;
		return 0;
	case YAML_MAPPING_START_EVENT:
		n = markup_add(r, MARKUP_MAP, ev);
		n->flow = ev->data.mapping_start.style == YAML_FLOW_MAPPING_STYLE;
		n->tagged = ev->data.mapping_start.tag != NULL;
		anchor(r, n, ev->data.mapping_start.anchor);
		return open_node(r, n, e);
	case YAML_SEQUENCE_START_EVENT:
		n = markup_add(r, MARKUP_LIST, ev);
		n->flow = ev->data.sequence_start.style == YAML_FLOW_SEQUENCE_STYLE;
		n->tagged = ev->data.sequence_start.tag != NULL;
		anchor(r, n, ev->data.sequence_start.anchor);
		return open_node(r, n, e);
	case YAML_MAPPING_END_EVENT:
	case YAML_SEQUENCE_END_EVENT:
		close_node(r, ev);
		return 0;
	default:
		return 0;
	}
}

static int markup_events(struct reader *r, yaml_parser_t *p, unsigned *line, struct err *e)
{
	yaml_event_t ev;
	bool end = false;
	int got = 0;

	while (!end && got == 0) {
		if (!yaml_parser_parse(p, &ev)) {
			*line = (unsigned)p->problem_mark.line + 1;
			return err_set(e, -EINVAL, "%s", p->problem ? p->problem : "unreadable");
		}
		*line = (unsigned)ev.start_mark.line + 1;
		if (r->nodes >= MARKUP_NODES_MAX)
			got = err_set(e, -E2BIG, "more than %d nodes", MARKUP_NODES_MAX);
		else
			got = markup_take(r, &ev, e);
		end = ev.type == YAML_STREAM_END_EVENT;
		yaml_event_delete(&ev);
	}
	return got;
}

static int strict_json(const char *text, size_t len, unsigned *line, struct err *e)
{
	json_error_t at;
	json_auto_t *j = json_loadb(text, len, JSON_REJECT_DUPLICATES, &at);

	if (!j) {
		*line = at.line > 0 ? (unsigned)at.line : 0;
		return err_set(e, -EINVAL, "%s", at.text);
	}
	return 0;
}

/* YAML has more ends of lines than a file has lines, and says of an end that comes too early that
 * it is behind them all. */
static unsigned last_line(const char *text, size_t len)
{
	unsigned n = 1;

	for (size_t i = 0; i + 1 < len; i++)
		n += text[i] == '\n';
	return n;
}

int markup_read(struct arena *a, const char *text, size_t len, bool json, struct markup *out,
		unsigned *line, struct err *e)
{
	struct reader r = { .a = a, .m = out };
	yaml_parser_t p;
	unsigned own = 0;
	int got = 0;

	*out = (struct markup){ .text = text, .len = len, .json = json };
	line = line ? line : &own;
	*line = 0;
	if (len > MARKUP_TEXT_MAX)
		return err_set(e, -E2BIG, "larger than %d bytes", MARKUP_TEXT_MAX);
	out->bom = len >= 3 && memcmp(text, "\xef\xbb\xbf", 3) == 0;
	out->crlf = memmem(text, len, "\r\n", 2) != NULL;
	r.skip = out->bom ? 3 : 0;
	if (json)
		got = strict_json(text + r.skip, len - r.skip, line, e);
	if (got < 0)
		return got;
	count_characters(&r);
	got = library_open(LIBRARY_YAML, e);
	if (got)
		return got;
	if (!yaml_parser_initialize(&p))
		return err_set(e, -ENOMEM, "out of memory");
	yaml_parser_set_input_string(&p, (const unsigned char *)text + r.skip, len - r.skip);
	yaml_parser_set_encoding(&p, YAML_UTF8_ENCODING);
	got = markup_events(&r, &p, line, e);
	yaml_parser_delete(&p);
	if (got == 0)
		*line = 0;
	else if (*line > last_line(text, len))
		*line = last_line(text, len);
	return got;
}

/* --- looking up ------------------------------------------------------------------------------- */
const struct markup_node *markup_real(const struct markup_node *n)
{
	return n && n->kind == MARKUP_ALIAS ? n->target : n;
}

static const struct markup_node *own_entry(const struct markup_node *map, const char *key)
{
	for (const struct markup_node *c = map->first; c; c = c->next)
		if (c->key && c->key->kind == MARKUP_SCALAR && strcmp(c->key->text, key) == 0)
			return c;
	return NULL;
}

static const struct markup_node *markup_get_one(const struct markup_node *map, const char *key,
						int depth)
{
	const struct markup_node *c, *found;

	map = markup_real(map);
	if (!map || map->kind != MARKUP_MAP || depth > 8)
		return NULL;
	c = own_entry(map, key);
	if (c)
		return c;
	c = markup_real(own_entry(map, "<<"));
	if (!c || c->kind != MARKUP_LIST)
		return c ? markup_get_one(c, key, depth + 1) : NULL;
	for (c = c->first; c; c = c->next) {
		found = markup_get_one(c, key, depth + 1);
		if (found)
			return found;
	}
	return NULL;
}

const struct markup_node *markup_get(const struct markup_node *map, const char *key)
{
	return markup_get_one(map, key, 0);
}

const struct markup_node *markup_find(const struct markup_node *map, const char *path)
{
	char name[128];

	while (map && *path) {
		size_t n = strcspn(path, ".");

		if (n >= sizeof(name))
			return NULL;
		memcpy(name, path, n);
		name[n] = '\0';
		map = markup_get(map, name);
		path += n + (path[n] == '.');
	}
	return map;
}

/* What a scalar means, as PyYAML's safe loader and JSON's readers take it. */

static bool one_of(const char *s, const char *const *list)
{
	for (; *list; list++)
		if (strcasecmp(s, *list) == 0)
			return true;
	return false;
}

static const char *plain(const struct markup_node *n)
{
	n = markup_real(n);
	return n && n->kind == MARKUP_SCALAR && !n->quoted ? n->text : NULL;
}

bool markup_bool(const struct markup_node *n, bool *out)
{
	static const char *const yes[] = { "true", "yes", "on", NULL };
	static const char *const no[] = { "false", "no", "off", NULL };
	const char *s = plain(n);

	if (!s || !(one_of(s, yes) || one_of(s, no)))
		return false;
	*out = one_of(s, yes);
	return true;
}

bool markup_number(const struct markup_node *n, double *out)
{
	const char *s = plain(n);
	char clean[64], *end;
	size_t k = 0;
	double v;

	if (!s || !*s || strlen(s) >= sizeof(clean) || !strpbrk(s, "0123456789") ||
	    s[strspn(s, "0123456789+-._eE")])
		return false;
	for (; *s; s++)
		if (*s != '_')
			clean[k++] = *s;
	clean[k] = '\0';
	v = strtod(clean, &end);
	if (*end || !isfinite(v))
		return false;
	*out = v;
	return true;
}

bool markup_null(const struct markup_node *n)
{
	static const char *const none[] = { "", "~", "null", NULL };
	const char *s = plain(n);

	return s && one_of(s, none);
}

const char *markup_text(const struct markup_node *n)
{
	const struct markup_node *r = markup_real(n);
	double number;
	bool truth;

	if (!r || r->kind != MARKUP_SCALAR || markup_null(r) || markup_bool(r, &truth) ||
	    markup_number(r, &number))
		return NULL;
	return r->text;
}

/* The text after changes, and the diff, which needs no search: where it differs is known. */

enum { AROUND = 3 };

static bool overlap(const struct edit *a, const struct edit *b)
{
	return a->at == b->at || (a->at < b->at ? a->at + a->n > b->at : b->at + b->n > a->at);
}

int edit_add(struct arena *a, struct edits *e, const struct edit *one, struct err *err)
{
	struct edit own = *one;

	if (one->at > e->len || one->n > e->len - one->at)
		return err_set(err, -EINVAL, "the change is beyond the end of the file");
	for (size_t i = 0; i < e->n; i++)
		if (overlap(&e->at[i], one))
			return err_set(err, -EINVAL, "line %u is changed twice", e->at[i].line);
	if (e->n >= EDITS_MAX)
		return err_set(err, -E2BIG, "more than %d changes", EDITS_MAX);
	own.line = 1;
	for (size_t i = 0; i < one->at; i++)
		own.line += e->text[i] == '\n';
	ARENA_ADD(a, e->at, e->n) = own;
	return 0;
}

static int by_place(const void *x, const void *y)
{
	const struct edit *a = x, *b = y;

	return a->at < b->at ? -1 : a->at > b->at;
}

void edits_apply(struct edits *e, struct text *out)
{
	size_t at = 0;

	if (e->n)
		qsort(e->at, e->n, sizeof(*e->at), by_place);
	for (size_t i = 0; i < e->n; i++) {
		text_addn(out, e->text + at, e->at[i].at - at);
		text_add(out, e->at[i].with);
		at = e->at[i].at + e->at[i].n;
	}
	text_addn(out, e->text + at, e->len - at);
}

/* --- the diff --------------------------------------------------------------------------------- */
struct lines {
	const char *s;
	size_t *at; /* where each begins, and the end */
	size_t n;
};

static struct lines edit_split(struct arena *a, const char *s, size_t len)
{
	struct lines l = { .s = s };
	size_t n = 0, k = 0;

	for (size_t i = 0; i < len; i++)
		n += s[i] == '\n';
	l.at = arena_array(a, n + 2, sizeof(*l.at));
	l.at[k++] = 0;
	for (size_t i = 0; i < len; i++)
		if (s[i] == '\n' && i + 1 < len)
			l.at[k++] = i + 1;
	l.n = len ? k : 0;
	l.at[l.n] = len;
	return l;
}

static size_t line_at(const struct lines *l, size_t at)
{
	size_t low = 0, high = l->n;

	while (low + 1 < high) {
		size_t mid = (low + high) / 2;

		if (l->at[mid] <= at)
			low = mid;
		else
			high = mid;
	}
	return low;
}

/* Lines [from, to) of the old text become lines [new_from, new_to) of the new one. */
struct change {
	size_t from, to, new_from, new_to;
};

static void put_line(struct text *out, char mark, const struct lines *l, size_t i)
{
	size_t n = l->at[i + 1] - l->at[i];

	text_addc(out, mark);
	text_addn(out, l->s + l->at[i], n);
	if (!n || l->s[l->at[i] + n - 1] != '\n')
		text_add(out, "\n\\ No newline at end of file\n");
}

/* Without what is the same at both ends: a line that was put in behind another did not change it.
 */
static void edit_narrow(const struct lines *o, const struct lines *n, struct change *c)
{
	while (c->from < c->to && c->new_from < c->new_to) {
		size_t k = o->at[c->from + 1] - o->at[c->from];

		if (k != n->at[c->new_from + 1] - n->at[c->new_from] ||
		    memcmp(o->s + o->at[c->from], n->s + n->at[c->new_from], k) != 0)
			break;
		c->from++;
		c->new_from++;
	}
	while (c->from < c->to && c->new_from < c->new_to) {
		size_t k = o->at[c->to] - o->at[c->to - 1];

		if (k != n->at[c->new_to] - n->at[c->new_to - 1] ||
		    memcmp(o->s + o->at[c->to - 1], n->s + n->at[c->new_to - 1], k) != 0)
			break;
		c->to--;
		c->new_to--;
	}
}

/* From places to lines; those that touch the same lines are one. */
static size_t edit_changes(const struct edits *e, const struct lines *o, const struct lines *n,
			   struct change *out)
{
	long long shift = 0;
	size_t k = 0;

	for (size_t i = 0; i < e->n; i++) {
		const struct edit *x = &e->at[i];
		struct change c;

		/* A line is touched as far as its break is. */
		c.from = line_at(o, x->at);
		c.to = o->n ? line_at(o, x->at + x->n) + 1 : 0;
		c.new_from = (size_t)((long long)c.from + shift);
		shift += csv_lines(x->with, x->with + strlen(x->with)) -
			 csv_lines(o->s + x->at, o->s + x->at + x->n);
		c.new_to = (size_t)((long long)c.to + shift);
		if (c.new_to > n->n)
			c.new_to = n->n;
		if (k && c.from < out[k - 1].to) {
			out[k - 1].to = c.to;
			out[k - 1].new_to = c.new_to;
		} else {
			out[k++] = c;
		}
	}
	for (size_t i = 0; i < k; i++)
		edit_narrow(o, n, &out[i]);
	return k;
}

static void hunk(struct text *out, const struct lines *o, const struct lines *n,
		 const struct change *c, size_t count)
{
	size_t from = c[0].from > AROUND ? c[0].from - AROUND : 0;
	size_t new_from = c[0].new_from - (c[0].from - from);
	size_t to = c[count - 1].to + AROUND < o->n ? c[count - 1].to + AROUND : o->n;
	size_t new_to = c[count - 1].new_to + (to - c[count - 1].to), at = from;

	text_printf(out, "@@ -%zu,%zu +%zu,%zu @@\n", from + (to > from), to - from,
		    new_from + (new_to > new_from), new_to - new_from);
	for (size_t i = 0; i < count; i++) {
		for (; at < c[i].from; at++)
			put_line(out, ' ', o, at);
		for (; at < c[i].to; at++)
			put_line(out, '-', o, at);
		for (size_t k = c[i].new_from; k < c[i].new_to; k++)
			put_line(out, '+', n, k);
	}
	for (; at < to; at++)
		put_line(out, ' ', o, at);
}

void edits_diff(struct arena *a, struct edits *e, const char *before, const char *after,
		struct text *out)
{
	TEXT_AUTO now = { 0 };
	struct change *c = arena_array(a, e->n + 1, sizeof(*c));
	struct lines o, n;
	size_t k, i = 0;

	edits_apply(e, &now);
	if (now.len == e->len && memcmp(now.s ? now.s : "", e->text, e->len) == 0)
		return;
	o = edit_split(a, e->text, e->len);
	n = edit_split(a, now.s ? now.s : "", now.len);
	k = edit_changes(e, &o, &n, c);
	text_printf(out, "--- %s\n+++ %s\n", before, after);
	while (i < k) {
		size_t m = i + 1;

		while (m < k && c[m].from <= c[m - 1].to + 2 * AROUND)
			m++;
		hunk(out, &o, &n, c + i, m - i);
		i = m;
	}
}
