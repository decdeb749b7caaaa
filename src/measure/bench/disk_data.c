/* SPDX-License-Identifier: Apache-2.0 */
/* Pages that describe themselves. Knows nothing of files. */
#include "measure/bench/disk_data.h"

#include <errno.h>
#include <string.h>

enum { WORDS = DISK_PAGE / 8, HEAD_WORDS = sizeof(struct disk_head) / 8 };

/* A good mixer of 64 bits (the finalizer of splitmix64, public domain): neighbours look unrelated.
 */
static uint64_t mix(uint64_t x)
{
	x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
	x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
	return x ^ (x >> 31);
}

static uint64_t word(uint64_t seed, size_t i)
{
	/* An odd factor: no bit of seed is lost. */
	return mix(seed * 0x9e3779b97f4a7c15u + i);
}

void disk_fill(void *block, size_t bytes, uint64_t file, uint64_t seed)
{
	uint64_t *w = block;

	for (size_t page = 0; page < bytes / DISK_PAGE; page++, w += WORDS) {
		struct disk_head head = { .file = file, .seed = seed + page };

		memcpy(w, &head, sizeof(head));
		for (size_t i = HEAD_WORDS; i < WORDS; i++)
			w[i] = word(head.seed, i);
	}
}

void disk_stamp(void *block, size_t bytes, uint64_t offset, uint32_t turn)
{
	for (size_t at = 0; at < bytes; at += DISK_PAGE) {
		struct disk_head *head = (struct disk_head *)((char *)block + at);

		head->offset = offset + at;
		head->turn = turn;
	}
}

bool disk_is(const void *block, uint64_t file, uint64_t offset, uint32_t turn)
{
	const struct disk_head *head = block;

	return head->file == file && head->offset == offset && head->turn == turn;
}

static int check_head(const struct disk_head *h, uint64_t file, uint64_t offset, uint32_t turn,
		      struct err *e)
{
	unsigned long long at = offset;

	if (h->file != file)
		return err_set(e, -EILSEQ, "what stands at byte %llu was never written there", at);
	if (h->offset != offset)
		return err_set(e, -EILSEQ, "what stands at byte %llu belongs to byte %llu", at,
			       (unsigned long long)h->offset);
	if (h->turn != turn)
		return err_set(e, -EILSEQ,
			       "what stands at byte %llu is of write %llu, the last was %llu", at,
			       (unsigned long long)h->turn, (unsigned long long)turn);
	return 0;
}

int disk_check(const void *block, size_t bytes, uint64_t file, uint64_t offset,
	       const uint32_t *turns, struct err *e)
{
	const uint64_t *w = block;

	for (size_t page = 0; page < bytes / DISK_PAGE; page++, w += WORDS) {
		uint64_t at = offset + page * DISK_PAGE;
		struct disk_head head;
		int r;

		memcpy(&head, w, sizeof(head));
		r = check_head(&head, file, at, turns[at / DISK_PAGE], e);
		if (r)
			return r;
		for (size_t i = HEAD_WORDS; i < WORDS; i++)
			if (w[i] != word(head.seed, i))
				return err_set(e, -EILSEQ, "byte %llu is not what was written",
					       (unsigned long long)at + i * 8);
	}
	return 0;
}
