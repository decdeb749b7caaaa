/* SPDX-License-Identifier: Apache-2.0 */
/* Numbers and bytes in a frame's buffer, for who writes and reads bodies. Not for anybody else. */
#ifndef NET_WIRE_CURSOR_H
#define NET_WIRE_CURSOR_H

#include <string.h>

#include "measure/bench/net/wire.h"

/* A place in a buffer that is written or read to its end. */
struct cursor {
	uint8_t *out;
	const uint8_t *in;
	size_t at, end;
	bool bad;
};

static inline void put(struct cursor *c, uint64_t v, size_t bytes)
{
	for (size_t i = 0; i < bytes; i++)
		c->out[c->at++] = (uint8_t)(v >> (8 * i));
}

static inline uint64_t take(struct cursor *c, size_t bytes)
{
	uint64_t v = 0;

	if (c->end - c->at < bytes) {
		c->bad = true;
		c->at = c->end;
		return 0;
	}
	for (size_t i = 0; i < bytes; i++)
		v |= (uint64_t)c->in[c->at++] << (8 * i);
	return v;
}

/* A number that must lie between two others. */
static inline uint64_t take_within(struct cursor *c, size_t bytes, uint64_t least, uint64_t most)
{
	uint64_t v = take(c, bytes);

	c->bad = c->bad || v < least || v > most;
	return v;
}

static inline void put_bytes(struct cursor *c, const void *p, size_t n)
{
	memcpy(c->out + c->at, p, n);
	c->at += n;
}

static inline void take_bytes(struct cursor *c, void *p, size_t n)
{
	if (c->end - c->at < n) {
		c->bad = true;
		c->at = c->end;
		memset(p, 0, n);
		return;
	}
	memcpy(p, c->in + c->at, n);
	c->at += n;
}

/* What is left of the body; whatever was sent, only what can stand in a line on a terminal. out has
 * room for most and the end. */
static inline void take_text(struct cursor *c, char *out, size_t most)
{
	size_t n = c->end - c->at;

	c->bad = c->bad || n > most;
	for (size_t i = 0; i < n && i < most; i++) {
		uint8_t b = c->in[c->at + i];

		out[i] = b >= ' ' && b <= '~' ? (char)b : '?';
	}
	out[n < most ? n : most] = '\0';
	c->at = c->end;
}

/* --- wire_ranks.c: join, order, done ------------------------------------------------------------
 */
void wire_ranks_write(struct cursor *c, const struct wire_frame *f);
void wire_ranks_read(struct cursor *c, struct wire_frame *f);

#endif
