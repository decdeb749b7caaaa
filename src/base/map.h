/* SPDX-License-Identifier: Apache-2.0 */
/* Texts to pointers: an open-addressing hash table in an arena. Keys are copied. Nothing is
 * removed. */
#ifndef BASE_MAP_H
#define BASE_MAP_H

#include <stddef.h>

#include "base/arena.h"

struct map_entry {
	const char *key;
	void *value;
};

struct map {
	struct map_entry *slots;
	size_t n;
	size_t cap;
};

void *map_get(const struct map *m, const char *key);
/* The place of key's value, made (NULL inside) when it was not there; valid until the next map_at.
 */
void **map_at(struct arena *a, struct map *m, const char *key);
/* The map's own copy of the key whose place map_at gave; it lives as long as the arena. */
const char *map_key(void **place);
/* All entries sorted by key, in arena memory, m->n of them. */
struct map_entry *map_sorted(struct arena *a, const struct map *m);

#endif
