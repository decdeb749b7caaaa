/* SPDX-License-Identifier: Apache-2.0 */
/* The arena: a chain of blocks, newest first; and the map of texts that lies in one. */
#include "base/arena.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

/* 64 KiB: a check of a small machine fits into a handful of blocks, and malloc still recycles them.
 * What is recycled is cleared to its end: many arenas live for a few words, and do with FIRST. */
enum { BLOCK = 64 * 1024, FIRST = 2 * 1024 };

struct arena_block {
	struct arena_block *next;
	size_t used;
	size_t size;
	_Alignas(max_align_t) unsigned char data[];
};

/* Nothing that could want memory itself; no core is written, for it is no fault of the program. */
void out_of_memory(size_t n)
{
	char text[80];
	int len = n ? snprintf(text, sizeof(text), "gputune: out of memory (%zu bytes requested)\n",
			       n)
		    : snprintf(text, sizeof(text), "gputune: out of memory\n");

	/* Nobody is left to be told that it could not be said. */
	if (write(STDERR_FILENO, text, (size_t)len) < 0)
		_exit(OUT_OF_MEMORY);
	_exit(OUT_OF_MEMORY);
}

/* n bytes at a multiple of align, a power of two. */
static void *arena_take(struct arena *a, size_t n, size_t align)
{
	struct arena_block *b = a->head;
	size_t at = b ? (b->used + align - 1) & ~(align - 1) : 0;

	if (!b || at > b->size || b->size - at < n) {
		size_t size = n > BLOCK / 4 ? n : b || n > FIRST ? BLOCK : FIRST;

		b = size < SIZE_MAX / 2 ? calloc(1, sizeof(*b) + size) : NULL;
		if (!b)
			out_of_memory(n);
		b->size = size;
		/* A block of its own for a large piece must not hide the room left in the head. */
		if (size != BLOCK && a->head) {
			b->next = a->head->next;
			a->head->next = b;
		} else {
			b->next = a->head;
			a->head = b;
		}
		at = 0;
	}
	b->used = at + n;
	return b->data + at;
}

void *arena_alloc(struct arena *a, size_t n)
{
	return arena_take(a, n, _Alignof(max_align_t));
}

void *arena_array(struct arena *a, size_t n, size_t size)
{
	if (size && n > SIZE_MAX / 2 / size)
		out_of_memory(SIZE_MAX);
	return arena_alloc(a, n * size);
}

void *heap_array(size_t n, size_t size)
{
	/* What has no bytes is still a place of its own. */
	void *p = calloc(n ? n : 1, size);

	if (!p)
		out_of_memory(0);
	return p;
}

char *arena_room(size_t max)
{
	struct arena_block *b = max < SIZE_MAX / 2 ? malloc(sizeof(*b) + max + 1) : NULL;

	return b ? (char *)b->data : NULL;
}

char *arena_room_large(size_t max)
{
	char *room = arena_room(max);
	size_t page = (size_t)sysconf(_SC_PAGESIZE), skip = page - (uintptr_t)room % page;

	/* A hint: where it is not taken the room is as good, and only slower to fill. */
	if (room && max > skip)
		madvise(room + skip, max - skip, MADV_HUGEPAGE);
	return room;
}

static struct arena_block *block_of(char *room)
{
	return (struct arena_block *)(void *)(room - offsetof(struct arena_block, data));
}

char *arena_keep(struct arena *a, char *room, size_t n)
{
	struct arena_block *b = block_of(room), *fits = realloc(b, sizeof(*b) + n + 1);

	b = fits ? fits : b;
	b->data[n] = '\0';
	b->size = b->used = n + 1;
	/* Nothing else fits into it: the room left in the head stays in front. */
	b->next = a->head ? a->head->next : NULL;
	*(a->head ? &a->head->next : &a->head) = b;
	return (char *)b->data;
}

void arena_drop(char *room)
{
	if (room)
		free(block_of(room));
}

char *arena_strndup(struct arena *a, const char *s, size_t n)
{
	char *copy = arena_take(a, n + 1, 1);

	memcpy(copy, s, n);
	return copy;
}

char *arena_strdup(struct arena *a, const char *s)
{
	return arena_strndup(a, s, strlen(s));
}

char *arena_vprintf(struct arena *a, const char *fmt, va_list ap)
{
	char small[256];
	va_list again;
	int n;
	char *s;

	/* Most texts fit: they are formatted once. */
	va_copy(again, ap);
	n = vsnprintf(small, sizeof(small), fmt, again);
	va_end(again);
	if (n < 0)
		return arena_strdup(a, "");
	if ((size_t)n < sizeof(small))
		return arena_strndup(a, small, (size_t)n);
	s = arena_alloc(a, (size_t)n + 1);
	vsnprintf(s, (size_t)n + 1, fmt, ap);
	return s;
}

char *arena_printf(struct arena *a, const char *fmt, ...)
{
	va_list ap;
	char *s;

	va_start(ap, fmt);
	s = arena_vprintf(a, fmt, ap);
	va_end(ap);
	return s;
}

void *arena_grow(struct arena *a, void *items, size_t n, size_t size)
{
	void *bigger;

	if (n && (n < 4 || (n & (n - 1)) != 0))
		return items;
	bigger = arena_array(a, n ? n * 2 : 4, size);
	if (n)
		memcpy(bigger, items, n * size);
	return bigger;
}

void *arena_join(struct arena *a, const void *x, size_t nx, const void *y, size_t ny, size_t size)
{
	char *both = arena_array(a, nx + ny, size);

	if (nx)
		memcpy(both, x, nx * size);
	if (ny)
		memcpy(both + nx * size, y, ny * size);
	return both;
}

static void drop_until(struct arena_block **from, const struct arena_block *to)
{
	while (*from != to) {
		struct arena_block *next = (*from)->next;

		free(*from);
		*from = next;
	}
}

struct arena_mark arena_mark(const struct arena *a)
{
	struct arena_block *b = a->head;

	return (struct arena_mark){ b, b ? b->next : NULL, b ? b->used : 0 };
}

void arena_back(struct arena *a, struct arena_mark to)
{
	drop_until(&a->head, to.head);
	if (!to.head)
		return;
	/* Blocks of their own stand behind what was the head. */
	drop_until(&to.head->next, to.next);
	memset(to.head->data + to.used, 0, to.head->used - to.used);
	to.head->used = to.used;
}

void arena_free(struct arena *a)
{
	drop_until(&a->head, NULL);
}

uint64_t hash_bytes(uint64_t seed, const char *s, size_t n)
{
	uint64_t h = (seed + 1) * 0x9e3779b97f4a7c15u, part;

	for (; n >= sizeof(part); s += sizeof(part), n -= sizeof(part)) {
		memcpy(&part, s, sizeof(part));
		h = (h ^ part) * 0xff51afd7ed558ccdu;
		h ^= h >> 32;
	}
	for (part = n; n; n--)
		part = part << 8 | (unsigned char)s[n - 1];
	h = (h ^ part) * 0xff51afd7ed558ccdu;
	return h ^ h >> 32;
}

/* The hash table: linear probing, at most three quarters full. */

static struct map_entry *slot(const struct map *m, const char *key)
{
	size_t i = hash_bytes(0, key, strlen(key)) & (m->cap - 1);

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
