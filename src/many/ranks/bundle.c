/* SPDX-License-Identifier: Apache-2.0 */
/* A bundle on its way: a mark, the findings, then each rank with their numbers; little-endian. */
#include "many/ranks/bundle.h"

#include <errno.h>
#include <stdlib.h>

#include "many/read/read.h"
#include "measure/bench/net/wire.h"

enum { MARK = 0x31525447, ITEM_MAX = 1 << 20, ITEMS_MAX = 1 << 14 };

/* Of check, status and others: the first that a result has. */
static const char *const lists[] = { "findings", "rows", "diagnoses", "defects", "processes" };
enum { LISTS = sizeof(lists) / sizeof(lists[0]) };

struct bundle bundle_new(struct arena *a, unsigned ranks)
{
	return (struct bundle){ .a = a,
				.there = arena_array(a, ranks, sizeof(bool)),
				.ranks = ranks };
}

static unsigned number_of(struct bundle *b, const char *item)
{
	void **place = map_at(b->a, &b->known, item);

	if (!*place) {
		ARENA_ADD(b->a, b->items, b->n_items) = map_key(place);
		*place = (void *)(uintptr_t)b->n_items;
	}
	return (unsigned)((uintptr_t)*place - 1);
}

static void add(struct bundle *b, const struct bundle_rank *r)
{
	ARENA_ADD(b->a, b->rank, b->n) = *r;
	b->there[r->rank] = true;
}

void bundle_own(struct bundle *b, unsigned rank, const char *host, json_t *result)
{
	struct bundle_rank r = { .rank = rank, .host = arena_strdup(b->a, host), .frame = "" };
	json_t *list = NULL, *one;
	unsigned *items;
	size_t i;
	char *text;

	read_items(b->a, result, false);
	for (i = 0; i < LISTS && !json_is_array(list); i++)
		list = json_object_get(result, lists[i]);
	items = arena_array(b->a, json_array_size(list), sizeof(*items));
	json_array_foreach(list, i, one)
	{
		text = json_dumps(one, JSON_COMPACT);
		if (text)
			items[r.n++] = number_of(b, text);
		free(text);
	}
	r.items = items;
	json_array_clear(list);
	text = result ? json_dumps(result, JSON_COMPACT) : NULL;
	if (text)
		r.frame = arena_strdup(b->a, text);
	free(text);
	add(b, &r);
}

static void put_number(struct text *out, size_t n)
{
	uint8_t bytes[4];
	struct cursor c = { .out = bytes };

	put(&c, n, sizeof(bytes));
	text_addn(out, (const char *)bytes, sizeof(bytes));
}

static void put_text(struct text *out, const char *s)
{
	size_t n = strlen(s);

	put_number(out, n);
	text_addn(out, s, n);
}

void bundle_write(const struct bundle *b, struct text *out)
{
	put_number(out, MARK);
	put_number(out, b->n_items);
	for (size_t i = 0; i < b->n_items; i++)
		put_text(out, b->items[i]);
	put_number(out, b->n);
	for (size_t i = 0; i < b->n; i++) {
		const struct bundle_rank *r = &b->rank[i];

		put_number(out, r->rank);
		put_text(out, r->host);
		put_text(out, r->frame);
		put_number(out, r->n);
		for (size_t k = 0; k < r->n; k++)
			put_number(out, r->items[k]);
	}
}

/* A text without NUL, which a map could not hold. */
static const char *take_string(struct arena *a, struct cursor *c)
{
	size_t n = (size_t)take_within(c, 4, 0, ITEM_MAX);

	if (c->bad || c->end - c->at < n || memchr(c->in + c->at, 0, n)) {
		c->bad = true;
		return "";
	}
	c->at += n;
	return arena_strndup(a, (const char *)c->in + c->at - n, n);
}

static struct bundle_rank take_rank(struct bundle *b, struct cursor *c, const unsigned *numbers,
				    size_t known)
{
	struct bundle_rank r = { .rank = (unsigned)take_within(c, 4, 0, b->ranks - 1) };
	unsigned *items;

	r.host = take_string(b->a, c);
	r.frame = take_string(b->a, c);
	r.n = (size_t)take_within(c, 4, 0, ITEMS_MAX);
	if (c->bad || (c->end - c->at) / 4 < r.n) {
		c->bad = true;
		return r;
	}
	items = arena_array(b->a, r.n, sizeof(*items));
	for (size_t i = 0; i < r.n; i++) {
		size_t k = (size_t)take(c, 4);

		c->bad = c->bad || k >= known;
		items[i] = k < known ? numbers[k] : 0;
	}
	r.items = items;
	return r;
}

int bundle_merge(struct bundle *b, const void *bytes, size_t n, struct err *e)
{
	struct cursor c = { .in = bytes, .end = n };
	unsigned *numbers = NULL;
	struct bundle_rank *all;
	size_t known, ranks;
	int code = 0;

	c.bad = take(&c, 4) != MARK;
	known = (size_t)take_within(&c, 4, 0, n / 4);
	numbers = c.bad ? NULL : arena_array(b->a, known, sizeof(*numbers));
	for (size_t i = 0; i < known && !c.bad; i++)
		numbers[i] = number_of(b, take_string(b->a, &c));
	ranks = (size_t)take_within(&c, 4, 0, b->ranks);
	all = c.bad ? NULL : arena_array(b->a, ranks, sizeof(*all));
	for (size_t i = 0; i < ranks && !c.bad; i++)
		all[i] = take_rank(b, &c, numbers, known);
	if (c.bad || c.at != c.end)
		return err_set(e, -EBADMSG, "not from a rank of this gputune version");
	for (size_t i = 0; i < ranks; i++) {
		if (!b->there[all[i].rank])
			add(b, &all[i]);
		else
			code = err_set(e, -EEXIST, "rank %u (%.60s) answered twice", all[i].rank,
				       all[i].host);
	}
	return code;
}

void bundle_result(const struct bundle *b, const struct bundle_rank *r, struct text *out)
{
	const char *at = NULL;
	char key[16];

	for (size_t i = 0; r->n && !at && i < LISTS; i++) {
		snprintf(key, sizeof(key), "\"%s\":[", lists[i]);
		at = strstr(r->frame, key);
	}
	at = at ? strchr(at, '[') + 1 : r->frame + strlen(r->frame);
	text_addn(out, r->frame, (size_t)(at - r->frame));
	for (size_t i = 0; i < r->n && *at; i++) {
		if (i)
			text_addc(out, ',');
		text_add(out, b->items[r->items[i]]);
	}
	text_add(out, at);
}
