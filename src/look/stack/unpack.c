/* SPDX-License-Identifier: Apache-2.0 */
/* LZ4 blocks and zstd frames, only as far as they are needed. */
#include "look/stack/unpack.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <zstd.h>

#include "look/stack/fatbin.h"
#include "machine/host/libraries.h"

enum { ZSTD_WINDOW_LEAST = 21, ZSTD_WINDOW_LOG = 24, CHUNK = 1 << 14, LZ4_MATCH = 4 };

/* Lengths of 15 go on in bytes of 255. */
static bool lz4_length(const unsigned char **p, const unsigned char *end, size_t *len)
{
	unsigned char b = 255;

	if (*len != 15)
		return true;
	while (b == 255) {
		if (*p == end)
			return false;
		b = *(*p)++;
		*len += b;
	}
	return true;
}

int lz4_head(const unsigned char *packed, size_t size, unsigned char *out, size_t n, size_t *got)
{
	const unsigned char *p = packed, *end = packed + size;
	size_t made = 0;

	while (p < end && made < n) {
		unsigned token = *p++;
		size_t len = token >> 4, match = token & 15, back;

		if (!lz4_length(&p, end, &len))
			break;
		if (len > (size_t)(end - p))
			len = (size_t)(end - p);
		if (len > n - made)
			len = n - made;
		memcpy(out + made, p, len);
		made += len;
		p += len;
		if (end - p < 2 || made == n)
			break; /* the last sequence has no match */
		back = le16(p);
		p += 2;
		if (!back || back > made)
			return -EBADMSG;
		if (!lz4_length(&p, end, &match))
			break;
		match += LZ4_MATCH;
		for (; match && made < n; match--, made++)
			out[made] = out[made - back];
	}
	*got = made;
	return 0;
}

static int zstd_run(ZSTD_DCtx *z, struct input *in, uint64_t at, uint64_t size, ZSTD_outBuffer *o)
{
	unsigned char *chunk = malloc(CHUNK);
	int code = chunk ? 0 : -ENOMEM;

	while (!code && size && o->pos < o->size) {
		size_t n = size < CHUNK ? (size_t)size : CHUNK, left = 1;
		ZSTD_inBuffer i = { chunk, n, 0 };

		code = input_read(in, at, chunk, n);
		while (!code && i.pos < i.size && o->pos < o->size && left) {
			left = ZSTD_decompressStream(z, o, &i);
			if (ZSTD_isError(left))
				code = -EBADMSG;
		}
		if (!left)
			break; /* the frame ends */
		at += n;
		size -= n;
	}
	free(chunk);
	return code;
}

/* Little more memory than all of the data would take: 2 MiB is what packers use who do not know
 * how much it will be. */
static int window_log(uint64_t whole)
{
	int log = ZSTD_WINDOW_LEAST;

	while (log < ZSTD_WINDOW_LOG && whole >> log)
		log++;
	return log;
}

/*
 * lz4_head for the size bytes of in from at on, of which `whole` bytes are promised in all. A frame
 * that needs more memory than these, or than 16 MiB, is refused (-EBADMSG); 2 MiB it may have.
 */
static int zstd_head(struct input *in, uint64_t at, uint64_t size, uint64_t whole,
		     unsigned char *out, size_t n, size_t *got)
{
	ZSTD_outBuffer o = { out, n, 0 };
	struct err unsaid;
	int code = library_open(LIBRARY_ZSTD, &unsaid);
	ZSTD_DCtx *z;

	if (code)
		return code;
	z = ZSTD_createDCtx();
	if (!z)
		return -ENOMEM;
	ZSTD_DCtx_setParameter(z, ZSTD_d_windowLogMax, window_log(whole));
	code = zstd_run(z, in, at, size, &o);
	ZSTD_freeDCtx(z);
	if (!code)
		*got = o.pos;
	return code;
}

int fatbin_head(struct input *in, const struct fatbin_entry *entry, unsigned char *out, size_t n,
		size_t *got)
{
	unsigned char *packed;
	size_t size;
	int code;

	if (entry->unpacked_size < n)
		n = (size_t)entry->unpacked_size;
	if (entry->packing == FATBIN_ZSTD)
		return zstd_head(in, entry->at, entry->size, entry->unpacked_size, out, n, got);
	/* LZ4 grows by less than 1/255, so what makes n bytes is not much longer than n. */
	size = n + n / 255 + 64;
	if (entry->packing == FATBIN_PLAIN)
		size = n;
	if (size > entry->size)
		size = (size_t)entry->size;
	packed = malloc(size + 1);
	if (!packed)
		return -ENOMEM;
	code = input_read(in, entry->at, packed, size);
	if (!code && entry->packing == FATBIN_LZ4) {
		code = lz4_head(packed, size, out, n, got);
	} else if (!code) {
		memcpy(out, packed, size);
		*got = size;
	}
	free(packed);
	return code;
}
