/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The bytes of a stream. A block's mark tells test, stream and offset, so that lost, doubled or
 * swapped bytes are seen at the next mark; a sample of blocks is compared whole.
 */
#include <string.h>

#include "bench/net/stream.h"
#include "bench/stat.h"

struct mark {
	uint64_t key, offset;
};

static uint64_t mark_key(uint64_t test, size_t index)
{
	return test ^ (uint64_t)(index + 1) * 0x9e3779b97f4a7c15u;
}

void stream_fill(uint8_t *buffer, uint64_t test, size_t index)
{
	struct stat_random r = { mark_key(test, index) };

	for (size_t i = 0; i < STREAM_BUFFER; i += sizeof(uint64_t)) {
		uint64_t v = stat_random_next(&r);

		memcpy(buffer + i, &v, sizeof(v));
	}
}

void stream_mark(uint8_t *buffer, uint64_t test, size_t index, uint64_t offset)
{
	for (size_t i = 0; i < STREAM_BUFFER; i += STREAM_BLOCK) {
		struct mark m = { mark_key(test, index), offset + i };

		memcpy(buffer + i, &m, sizeof(m));
	}
}

static bool right(const struct stream_check *c, const uint8_t *block, uint64_t offset)
{
	struct mark m;

	memcpy(&m, block, sizeof(m));
	if (m.key != mark_key(c->test, c->index) || m.offset != offset)
		return false;
	if (offset / STREAM_BLOCK % STREAM_SAMPLED != STREAM_SAMPLED - 1)
		return true;
	return memcmp(block + sizeof(m), c->pattern + offset % STREAM_BUFFER + sizeof(m),
		      STREAM_BLOCK - sizeof(m)) == 0;
}

void stream_check(struct stream_check *c, const uint8_t *buffer, size_t n)
{
	uint64_t first = c->seen / STREAM_BLOCK;

	c->seen += n;
	for (uint64_t i = first; i < c->seen / STREAM_BLOCK; i++) {
		uint64_t offset = i * STREAM_BLOCK;

		c->wrong += !right(c, buffer + offset % STREAM_BUFFER, offset);
	}
}
