/* SPDX-License-Identifier: Apache-2.0 */
/* Walking fat binaries by their own sizes, none of which is believed. */
#include "look/stack/fatbin.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <zstd.h>

#include "base/text.h"
#include "machine/host/libraries.h"

/* Targets and the rule which of them a GPU runs. */

void code_add(struct arena *a, struct code_set *set, const struct gpu_code *c)
{
	struct gpu_code *same = NULL;

	for (size_t i = 0; i < set->n && !same; i++) {
		struct gpu_code *o = &set->items[i];

		if (o->kind == c->kind && o->sm == c->sm && o->suffix == c->suffix &&
		    o->ptx == c->ptx)
			same = o;
	}
	if (!same && set->n == CODE_SET_MAX)
		same = &set->items[set->n - 1];
	if (same) {
		same->n += c->n;
		same->inside += c->inside;
		same->empty += c->empty;
		same->size += c->size;
		return;
	}
	ARENA_ADD(a, set->items, set->n) = *c;
}

static int by_target(const void *a, const void *b)
{
	const struct gpu_code *x = a, *y = b;

	if (x->kind != y->kind)
		return x->kind < y->kind ? -1 : 1;
	if (x->sm != y->sm)
		return x->sm < y->sm ? -1 : 1;
	if (x->suffix != y->suffix)
		return x->suffix < y->suffix ? -1 : 1;
	return x->ptx < y->ptx ? -1 : x->ptx > y->ptx;
}

void code_sort(struct code_set *set)
{
	if (set->n)
		qsort(set->items, set->n, sizeof(*set->items), by_target);
}

/* Jetson and Drive: TX1, TX2, Xavier, Orin, Thor (10.1, since CUDA 13 called 11.0). */
static bool tegra(unsigned sm)
{
	return sm == 53 || sm == 62 || sm == 72 || sm == 87 || sm == 101 || sm == 110;
}

/* From the release notes of the PTX manual: each version came with one CUDA release. */
unsigned ptx_needs_cuda(unsigned ptx)
{
	static const struct {
		unsigned ptx, cuda;
	} table[] = { { 60, 900 },  { 61, 910 },  { 62, 920 },	{ 63, 1000 }, { 64, 1010 },
		      { 65, 1020 }, { 70, 1100 }, { 71, 1110 }, { 72, 1120 }, { 73, 1130 },
		      { 74, 1140 }, { 75, 1150 }, { 76, 1160 }, { 77, 1170 }, { 78, 1180 },
		      { 80, 1200 }, { 81, 1210 }, { 82, 1220 }, { 83, 1230 }, { 84, 1240 },
		      { 85, 1250 }, { 86, 1270 }, { 87, 1280 }, { 88, 1290 }, { 90, 1300 },
		      { 91, 1310 }, { 92, 1320 }, { 93, 1330 }, { 94, 1340 } };

	for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++)
		if (ptx <= table[i].ptx)
			return table[i].cuda;
	return 1350; /* newer than any listed: at least newer than the last one */
}

/* NVIDIA's release notes. CUDA 13.0 dropped what came before Turing, and Thor changed its number.
 */
bool cuda_makes(unsigned sm, unsigned *since, unsigned *until)
{
	static const struct {
		unsigned sm, since, until;
	} rows[] = { { 50, 600, 1300 },	  { 52, 650, 1300 }, { 53, 700, 1300 }, { 60, 800, 1300 },
		     { 61, 800, 1300 },	  { 62, 800, 1300 }, { 70, 900, 1300 }, { 72, 920, 1300 },
		     { 75, 1000, 0 },	  { 80, 1100, 0 },   { 86, 1110, 0 },	{ 87, 1140, 0 },
		     { 88, 1300, 0 },	  { 89, 1180, 0 },   { 90, 1180, 0 },	{ 100, 1280, 0 },
		     { 101, 1280, 1300 }, { 103, 1290, 0 },  { 107, 1340, 0 },	{ 110, 1300, 0 },
		     { 120, 1280, 0 },	  { 121, 1290, 0 } };

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		if (rows[i].sm == sm) {
			*since = rows[i].since;
			*until = rows[i].until;
			return true;
		}
	*since = *until = 0;
	return false;
}

static bool gpu_code_covers(const struct gpu_code *c, unsigned sm)
{
	if (c->suffix == 'a')
		return c->sm == sm;
	if (c->suffix == 'f' || c->kind == CODE_CUBIN) {
		if (c->sm != sm && (tegra(c->sm) || tegra(sm)))
			return false;
		return c->sm / 10 == sm / 10 && c->sm <= sm;
	}
	return c->sm <= sm;
}

enum code_answer code_answer(const struct gpu_code *c, const struct gpu_target *gpu)
{
	if (c->kind == CODE_LTO || c->kind == CODE_OTHER || !gpu_code_covers(c, gpu->sm))
		return CODE_CANNOT;
	if (c->kind == CODE_CUBIN)
		return c->sm == gpu->sm ? CODE_NATIVE : CODE_FAMILY;
	if (gpu->driver_cuda && c->ptx && ptx_needs_cuda(c->ptx) > gpu->driver_cuda)
		return CODE_CANNOT;
	return CODE_JIT;
}

enum code_answer code_best(const struct code_set *set, const struct gpu_target *gpu,
			   const struct gpu_code **by)
{
	enum code_answer best = CODE_NONE;

	for (size_t i = 0; i < set->n; i++) {
		const struct gpu_code *c = &set->items[i];
		enum code_answer now = code_answer(c, gpu);

		if (c->n == c->empty)
			continue; /* nothing in it that could be missed */

		/* Of equal answers the newer code is what the driver takes. */
		if (now < best || (now == best && now != CODE_CANNOT)) {
			best = now;
			if (by)
				*by = c;
		}
	}
	return best;
}

const char *code_answer_name(unsigned answer)
{
	static const char *const names[] = { "native", "same-family", "ptx-jit", "cannot-run",
					     "no-gpu-code" };

	return names[answer];
}

const char *code_kind_name(unsigned k)
{
	static const char *const names[] = { "cubin", "ptx", "lto-ir", "other" };

	return names[k];
}

const char *code_name(struct arena *a, const struct gpu_code *c)
{
	const char *suffix = c->suffix == 'a' ? "a" : c->suffix == 'f' ? "f" : "";

	switch (c->kind) {
	case CODE_CUBIN:
		return arena_printf(a, "sm_%u%s", c->sm, suffix);
	case CODE_PTX:
		return arena_printf(a, "compute_%u%s (PTX %u.%u)", c->sm, suffix, c->ptx / 10,
				    c->ptx % 10);
	case CODE_LTO:
		return arena_printf(a, "lto_%u%s", c->sm, suffix);
	default:
		return arena_printf(a, "other_%u%s", c->sm, suffix);
	}
}

int gpu_target_parse(const char *text, unsigned *sm, struct err *e)
{
	const char *p = str_starts(text, "sm_") ? text + 3 : text;
	unsigned value = 0, digits = 0, dot = 0;

	for (; isdigit((unsigned char)*p) || (*p == '.' && !dot); p++) {
		if (*p == '.') {
			dot = digits;
			continue;
		}
		value = value * 10 + (unsigned)(*p - '0');
		if (++digits > 3)
			break;
	}
	if ((*p == 'a' || *p == 'f') && !dot)
		p++;
	if (*p || digits < 2 || digits > 3 || value < 20 || (dot && digits - dot != 1)) {
		err_set(e, -EINVAL, "invalid GPU architecture \"%.40s\"", text);
		err_hint(e, "expected a form such as sm_121, sm_90 or 12.1");
		return -EINVAL;
	}
	*sm = value;
	return 0;
}

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
			v->problem(v->ctx, at, "truncated entry");
			return 0;
		}
		code = input_read(in, at, h, sizeof(h));
		if (code)
			return code;
		header = le32(h + 4);
		padded = le64(h + 8);
		if (header < FATBIN_ENTRY || header > HEADER_MAX || header > end - at ||
		    padded > end - at - header) {
			v->problem(v->ctx, at, "entry longer than its container");
			return 0;
		}
		decode(h, at + header, &entry);
		if (entry.code.sm < 10 || entry.code.sm > 999)
			v->problem(v->ctx, at, "entry for an unknown architecture");
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
		v->problem(v->ctx, *at, "container longer than its section");
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
			v->problem(v->ctx, odd, "bytes outside any container");
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
