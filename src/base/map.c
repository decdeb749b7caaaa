/* SPDX-License-Identifier: Apache-2.0 */
/* The hash table: FNV-1a, linear probing, at most three quarters full. */
#include "base/map.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

static size_t hash(const char *key)
{
	uint64_t h = 1469598103934665603ull;

	for (; *key; key++)
		h = (h ^ (unsigned char)*key) * 1099511628211ull;
	return (size_t)(h ^ (h >> 32));
}

static struct map_entry *slot(const struct map *m, const char *key)
{
	size_t i = hash(key) & (m->cap - 1);

	while (m->slots[i].key && strcmp(m->slots[i].key, key) != 0)
		i = (i + 1) & (m->cap - 1);
	return &m->slots[i];
}

void *map_get(const struct map *m, const char *key)
{
	struct map_entry *e = m->cap ? slot(m, key) : NULL;

	return e && e->key ? e->value : NULL;
}

static void map_widen(struct arena *a, struct map *m)
{
	struct map old = *m;

	m->cap = old.cap ? old.cap * 2 : 64;
	m->slots = arena_array(a, m->cap, sizeof(*m->slots));
	for (size_t i = 0; i < old.cap; i++)
		if (old.slots[i].key)
			*slot(m, old.slots[i].key) = old.slots[i];
}

void **map_at(struct arena *a, struct map *m, const char *key)
{
	struct map_entry *e;

	if ((m->n + 1) * 4 > m->cap * 3)
		map_widen(a, m);
	e = slot(m, key);
	if (!e->key) {
		e->key = arena_strdup(a, key);
		m->n++;
	}
	return &e->value;
}

const char *map_key(void **place)
{
	return ((struct map_entry *)((char *)place - offsetof(struct map_entry, value)))->key;
}

static int by_key(const void *a, const void *b)
{
	return strcmp(((const struct map_entry *)a)->key, ((const struct map_entry *)b)->key);
}

struct map_entry *map_sorted(struct arena *a, const struct map *m)
{
	struct map_entry *list = arena_array(a, m->n ? m->n : 1, sizeof(*list));
	size_t n = 0;

	for (size_t i = 0; i < m->cap; i++)
		if (m->slots[i].key)
			list[n++] = m->slots[i];
	qsort(list, n, sizeof(*list), by_key);
	return list;
}
