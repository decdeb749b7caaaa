/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Memory that lives as long as one run. Allocation never fails to the caller: out of memory ends
 * the process with a sentence, because no caller could do better. Nothing is freed one by one.
 */
#ifndef BASE_ARENA_H
#define BASE_ARENA_H

#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

/* What the process ends with where there is no memory; nothing else does. */
enum { OUT_OF_MEMORY = 71 };
/* Says so (n bytes were asked for; 0: not given) and ends the process at once. What a transaction
 * had begun is rolled back by the next run, as after a crash. */
_Noreturn void out_of_memory(size_t n);

struct arena_block;

struct arena {
	struct arena_block *head;
};

/* Zeroed memory, aligned for any object. n == 0 gives a valid pointer to nothing. */
void *arena_alloc(struct arena *a, size_t n);
/* n objects of size bytes each; an overflowing product ends the process like out of memory. */
void *arena_array(struct arena *a, size_t n, size_t size);
/*
 * Room for up to max bytes whose number is not known yet; it is in no arena.
 * NULL: there is not so much. arena_keep puts the first n of them, ended by a NUL, into the arena
 * without copying and returns where they are; arena_drop gives the room back instead.
 */
char *arena_room(size_t max);
/* The same for what is known to be many megabytes, in large pages where the system has them: it
 * gets fewer pages, each cleared in one go. */
char *arena_room_large(size_t max);
char *arena_keep(struct arena *a, char *room, size_t n);
void arena_drop(char *room);
char *arena_strdup(struct arena *a, const char *s);
char *arena_strndup(struct arena *a, const char *s, size_t n);
char *arena_printf(struct arena *a, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* For "%zu change%s". */
#define PLURAL(n) ((n) == 1 ? "" : "s")
char *arena_vprintf(struct arena *a, const char *fmt, va_list ap)
	__attribute__((format(printf, 2, 0)));
/*
 * Makes room for one more item in a growing array: returns the array, moved if it had to grow.
 * n is the number of items in use; the capacity is the next power of two, so no field stores it.
 */
void *arena_grow(struct arena *a, void *items, size_t n, size_t size);
/* The new last item of a list that grows so, to be assigned: ARENA_ADD(a, s->items, s->n) = x. */
#define ARENA_ADD(a, items, n)                                                                     \
	(*((items) = arena_grow((a), (items), (n), sizeof(*(items))), &(items)[(n)++]))
/* A copy of nx items and ny items behind them, all of this size; it is not to grow. */
void *arena_join(struct arena *a, const void *x, size_t nx, const void *y, size_t ny, size_t size);
/*
 * Where the arena stands. arena_back gives up all that was allocated since: for what is looked at
 * and found to be nothing new. The arena must not have gone back behind the mark meanwhile.
 */
struct arena_mark {
	struct arena_block *head, *next;
	size_t used;
};
struct arena_mark arena_mark(const struct arena *a);
void arena_back(struct arena *a, struct arena_mark to);
void arena_free(struct arena *a);
#define ARENA_AUTO __attribute__((cleanup(arena_free))) struct arena

/*
 * n zeroed objects of size bytes each for who frees them one by one, with free(): where there is no
 * memory the process ends, as for the arena's.
 */
void *heap_array(size_t n, size_t size);

#define ARENA_NEW(a, type) ((type *)arena_alloc((a), sizeof(type)))

/* Texts to pointers: an open-addressing hash table in an arena. Keys are copied. Nothing is
 * removed. */

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
/* Of n bytes, eight at a time; for tables in memory alone, since it differs by byte order. */
uint64_t hash_bytes(uint64_t seed, const char *s, size_t n);
/* The place of key's value, made (NULL inside) when it was not there; valid until the next map_at.
 */
void **map_at(struct arena *a, struct map *m, const char *key);
/* The map's own copy of the key whose place map_at gave; it lives as long as the arena. */
const char *map_key(void **place);
/* All entries sorted by key, in arena memory, m->n of them. */
struct map_entry *map_sorted(struct arena *a, const struct map *m);

#endif
