/* SPDX-License-Identifier: Apache-2.0 */
/* Walking fat binaries by their own sizes, none of which is believed. */
#include "look/stack/fatbin.h"
#include "machine/host/libraries.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <zstd.h>

enum { KIND_PTX = 1, KIND_CUBIN = 2, KIND_LTO = 8, KIND_CUBIN_OTHER = 16, HEADER_MAX = 4096 };
enum { FLAG_LZ4 = 0x2000, FLAG_ZSTD = 0x8000, FLAG_A = 1 << 20, FLAG_F = 1 << 21 };
enum { GAP_FIRST = 1 << 8, GAP = 1 << 16 };

static enum code_kind fatbin_kind_of(unsigned kind)
{
	switch (kind) {
	case KIND_PTX:
		return CODE_PTX;
	case KIND_CUBIN:
	case KIND_CUBIN_OTHER:
		return CODE_CUBIN;
	case KIND_LTO:
		return CODE_LTO;
	default:
		return CODE_OTHER;
	}
}

static void decode(const unsigned char *h, uint64_t payload_at, struct fatbin_entry *out)
{
	uint64_t flags = le64(h + 40), padded = le64(h + 8);
	uint32_t packed = le32(h + 16);

	*out = (struct fatbin_entry){
		.code = { .kind = fatbin_kind_of(le16(h)), .sm = le32(h + 28), .n = 1 },
		.at = payload_at,
		.size = packed && packed <= padded ? packed : padded
	};
	out->code.size = padded;
	out->code.suffix = flags & FLAG_A ? 'a' : flags & FLAG_F ? 'f' : '\0';
	if (out->code.kind == CODE_PTX)
		out->code.ptx = le16(h + 26) * 10u + le16(h + 24);
	out->packing = flags & FLAG_ZSTD  ? FATBIN_ZSTD
		       : flags & FLAG_LZ4 ? FATBIN_LZ4
					  : FATBIN_PLAIN;
	out->unpacked_size = out->packing == FATBIN_PLAIN ? out->size : le64(h + 56);
}

/* The entries of one container, from at up to end. */
static int walk_entries(struct input *in, uint64_t at, uint64_t end, const struct fatbin_visitor *v)
{
	while (at < end) {
		unsigned char h[FATBIN_ENTRY];
		struct fatbin_entry entry;
		uint64_t header, padded;
		int code;

		if (end - at < FATBIN_ENTRY) {
			v->problem(v->ctx, at, "an entry is cut off");
			return 0;
		}
		code = input_read(in, at, h, sizeof(h));
		if (code)
			return code;
		header = le32(h + 4);
		padded = le64(h + 8);
		if (header < FATBIN_ENTRY || header > HEADER_MAX || header > end - at ||
		    padded > end - at - header) {
			v->problem(v->ctx, at, "an entry is longer than its container");
			return 0;
		}
		decode(h, at + header, &entry);
		if (entry.code.sm < 10 || entry.code.sm > 999)
			v->problem(v->ctx, at, "an entry is for no known architecture");
		else
			v->entry(v->ctx, in, &entry);
		at += header + padded;
	}
	return 0;
}

static bool container(const unsigned char *h)
{
	return le32(h) == FATBIN_MAGIC && le16(h + 4) == 1 && le16(h + 6) == FATBIN_HEADER;
}

/*
 * To the next container, which begins at a multiple of 8; to the end when there is none. *odd gets
 * where the first bytes were that are not zero.
 */
static int skip_gap(struct input *in, uint64_t *at, uint64_t end, unsigned char *buf, uint64_t *odd)
{
	size_t most = GAP_FIRST;
	int code = 0;

	*at += (8 - *at % 8) % 8;
	while (*at < end && end - *at >= FATBIN_HEADER) {
		size_t n = end - *at < most ? (size_t)(end - *at) : most, i;

		code = input_read(in, *at, buf, n);
		if (code)
			return code;
		for (i = 0; i + FATBIN_HEADER <= n; i += 8) {
			if (container(buf + i)) {
				*at += i;
				return 0;
			}
			if (!*odd && le64(buf + i))
				*odd = *at + i;
		}
		*at += i;
		most = most < GAP / 4 ? most * 4 : GAP;
	}
	*at = end;
	return code;
}

/* True when all entries up to end are such as tools make. */
static bool fatbin_is_valid(struct input *in, uint64_t at, uint64_t end)
{
	while (at < end) {
		unsigned char h[FATBIN_ENTRY];
		uint64_t header, padded;

		if (end - at < FATBIN_ENTRY || input_read(in, at, h, sizeof(h)))
			return false;
		header = le32(h + 4);
		padded = le64(h + 8);
		if (header < FATBIN_ENTRY || header > HEADER_MAX || header > end - at ||
		    padded > end - at - header || le32(h + 28) < 10 || le32(h + 28) > 999)
			return false;
		at += header + padded;
	}
	return true;
}

static int fatbin_one(struct input *in, uint64_t *at, uint64_t end, const struct fatbin_visitor *v,
		      bool search)
{
	unsigned char h[FATBIN_HEADER];
	int code = input_read(in, *at, h, sizeof(h));
	uint64_t body = code ? 0 : le64(h + 8), from = *at + FATBIN_HEADER;
	bool fits = body <= end - from;

	if (code)
		return code;
	if (search && (!body || !fits || !fatbin_is_valid(in, from, from + body))) {
		*at += 8;
		return 0;
	}
	if (!fits) {
		v->problem(v->ctx, *at, "a container is longer than its section");
		body = end - from;
	}
	code = walk_entries(in, from, from + body, v);
	if (!code)
		v->container(v->ctx);
	*at = from + body;
	return code;
}

static int fatbin_walk_one(struct input *in, uint64_t at, uint64_t size,
			   const struct fatbin_visitor *v, bool search)
{
	unsigned char *buf = malloc(size < GAP ? (size_t)size + 1 : GAP);
	uint64_t end = at + size;
	int code = buf ? 0 : -ENOMEM;

	while (!code && at < end) {
		uint64_t odd = 0;

		code = skip_gap(in, &at, end, buf, &odd);
		if (odd && !search)
			v->problem(v->ctx, odd, "bytes that are no container");
		if (!code && at < end)
			code = fatbin_one(in, &at, end, v, search);
	}
	free(buf);
	return code;
}

int fatbin_walk(struct input *in, uint64_t at, uint64_t size, const struct fatbin_visitor *v)
{
	if (at > in->size || size > in->size - at)
		return -ENODATA;
	return fatbin_walk_one(in, at, size, v, false);
}

int fatbin_search(struct input *in, uint64_t at, uint64_t size, const struct fatbin_visitor *v)
{
	if (at > in->size || size > in->size - at)
		return -ENODATA;
	return fatbin_walk_one(in, at, size, v, true);
}

/* LZ4 blocks and zstd frames, unpacked only as far as they are needed. */

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
