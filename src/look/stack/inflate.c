/* SPDX-License-Identifier: Apache-2.0 */
/* Unpacking deflate with a bounded memory: what was unpacked last stays in a ring. */
#include "look/stack/inflate.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

enum { RING = 1 << 19, CHUNK = 1 << 16 };

struct inflate_state {
	z_stream z;
	struct input *packed;
	uint64_t taken; /* packed bytes handed to zlib */
	uint64_t made;	/* bytes unpacked so far; the last RING of them are in ring */
	bool started;
	size_t ring_size, chunk_size; /* what little data needs is little */
	unsigned char *ring, *chunk;
};

static int restart(struct inflate_state *s)
{
	int code = s->started ? inflateReset(&s->z) : inflateInit2(&s->z, -MAX_WBITS);

	if (code != Z_OK)
		return -ENOMEM;
	s->started = true;
	s->taken = s->made = 0;
	s->z.avail_in = 0;
	return 0;
}

static int feed(struct inflate_state *s)
{
	uint64_t left = s->packed->size - s->taken;
	size_t n = left < s->chunk_size ? (size_t)left : s->chunk_size;
	int code;

	if (!n)
		return -EBADMSG; /* it ends before the size that was promised */
	code = input_read(s->packed, s->taken, s->chunk, n);
	if (code)
		return code;
	s->taken += n;
	s->z.next_in = s->chunk;
	s->z.avail_in = (uInt)n;
	return 0;
}

/* Unpacks until `until` bytes are made, or the ring's end is reached. */
static int step(struct inflate_state *s, uint64_t until)
{
	size_t at = (size_t)(s->made % s->ring_size), room = s->ring_size - at, want;
	int code = s->z.avail_in ? 0 : feed(s);

	if (code)
		return code;
	want = until - s->made < room ? (size_t)(until - s->made) : room;
	s->z.next_out = s->ring + at;
	s->z.avail_out = (uInt)want;
	code = inflate(&s->z, Z_NO_FLUSH);
	s->made += want - s->z.avail_out;
	if (code == Z_OK || code == Z_BUF_ERROR)
		return 0;
	return code == Z_STREAM_END && s->made == until ? 0 : -EBADMSG;
}

static int read_inflate(struct input *in, uint64_t at, void *buf, size_t n)
{
	struct inflate_state *s = ((struct input_inflate *)in)->state;
	unsigned char *out = buf;
	int code;

	if (!s->started || (at < s->made && s->made - at > s->ring_size)) {
		code = restart(s);
		if (code)
			return code;
	}
	while (n) {
		uint64_t until = at + n;
		size_t from, have;

		/* Never so far that what is asked for would leave the ring. */
		if (until > at + s->ring_size / 2 + 1)
			until = at + s->ring_size / 2 + 1;
		while (s->made < until) {
			code = step(s, until);
			if (code)
				return code;
		}
		from = (size_t)(at % s->ring_size);
		have = s->ring_size - from < until - at ? s->ring_size - from
							: (size_t)(until - at);
		memcpy(out, s->ring + from, have);
		out += have;
		at += have;
		n -= have;
	}
	return 0;
}

int input_inflate(struct input_inflate *f, struct input *packed, uint64_t size)
{
	size_t ring = size < RING ? (size_t)size + 1 : RING;
	size_t chunk = packed->size < CHUNK ? (size_t)packed->size + 1 : CHUNK;
	struct inflate_state *s = malloc(sizeof(*s) + ring + chunk);

	if (!s)
		return -ENOMEM;
	memset(s, 0, sizeof(*s));
	s->packed = packed;
	s->ring_size = ring;
	s->chunk_size = chunk;
	s->ring = (unsigned char *)(s + 1);
	s->chunk = s->ring + ring;
	f->in = (struct input){ read_inflate, size };
	f->state = s;
	return 0;
}

void input_inflate_close(struct input_inflate *f)
{
	if (f->state && f->state->started)
		inflateEnd(&f->state->z);
	free(f->state);
	f->state = NULL;
}
