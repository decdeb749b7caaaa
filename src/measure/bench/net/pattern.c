/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The bytes of a stream. A block's mark tells test, stream and offset, so that lost, doubled or
 * swapped bytes are seen at the next mark; a sample of blocks is compared whole. Looked at piece by
 * piece as they come, while they are still near.
 */
#include <string.h>

#include "measure/bench/net/stream.h"
#include "base/stat.h"

struct mark {
	uint64_t key, offset;
};

_Static_assert(sizeof(struct mark) == STREAM_MARK, "a mark");

static struct mark mark_of(uint64_t test, size_t index, uint64_t offset)
{
	return (struct mark){ test ^ (uint64_t)(index + 1) * 0x9e3779b97f4a7c15u, offset };
}

void stream_fill(uint8_t *buffer, uint64_t test)
{
	struct stat_random r = { test };

	for (size_t i = 0; i < STREAM_BUFFER; i += sizeof(uint64_t)) {
		uint64_t v = stat_random_next(&r);

		memcpy(buffer + i, &v, sizeof(v));
	}
}

void stream_mark(uint8_t *buffer, uint64_t test, size_t index, uint64_t offset)
{
	for (size_t i = 0; i < STREAM_BUFFER; i += STREAM_BLOCK) {
		struct mark m = mark_of(test, index, offset + i);

		memcpy(buffer + i, &m, sizeof(m));
	}
}

/* n bytes of one block, in bytes after its begin. */
static void pattern_look(struct stream_check *c, size_t in, const uint8_t *bytes, size_t n)
{
	size_t skip = 0;

	if (in < STREAM_MARK) {
		skip = n < STREAM_MARK - in ? n : STREAM_MARK - in;
		memcpy(c->mark + in, bytes, skip);
	}
	if (c->seen / STREAM_BLOCK % STREAM_SAMPLED == STREAM_SAMPLED - 1 &&
	    memcmp(bytes + skip, c->pattern + c->seen % STREAM_BUFFER + skip, n - skip) != 0)
		c->differs = true;
}

static void end_block(struct stream_check *c)
{
	struct mark m = mark_of(c->test, c->index, c->seen - STREAM_BLOCK);

	c->wrong += c->differs || memcmp(c->mark, &m, sizeof(m)) != 0;
	c->differs = false;
}

void stream_check(struct stream_check *c, const uint8_t *bytes, size_t n)
{
	while (n) {
		size_t in = c->seen % STREAM_BLOCK, most = STREAM_BLOCK - in,
		       k = n < most ? n : most;

		pattern_look(c, in, bytes, k);
		c->seen += k;
		if (k == most)
			end_block(c);
		bytes += k;
		n -= k;
	}
}
