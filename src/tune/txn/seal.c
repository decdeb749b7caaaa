/* SPDX-License-Identifier: Apache-2.0 */
/* Sealing lines, and reading what two copies of them have kept. */
#include "tune/txn/store.h"

#include <inttypes.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* CRC-32C, a byte at a time: what is checked with it is a few hundred kilobytes. */

uint32_t crc32c(const void *data, size_t len)
{
	/* Of each byte alone, by the reflected polynomial 0x82f63b78. */
	static const uint32_t table[256] = {
		0x00000000, 0xf26b8303, 0xe13b70f7, 0x1350f3f4, 0xc79a971f, 0x35f1141c, 0x26a1e7e8,
		0xd4ca64eb, 0x8ad958cf, 0x78b2dbcc, 0x6be22838, 0x9989ab3b, 0x4d43cfd0, 0xbf284cd3,
		0xac78bf27, 0x5e133c24, 0x105ec76f, 0xe235446c, 0xf165b798, 0x030e349b, 0xd7c45070,
		0x25afd373, 0x36ff2087, 0xc494a384, 0x9a879fa0, 0x68ec1ca3, 0x7bbcef57, 0x89d76c54,
		0x5d1d08bf, 0xaf768bbc, 0xbc267848, 0x4e4dfb4b, 0x20bd8ede, 0xd2d60ddd, 0xc186fe29,
		0x33ed7d2a, 0xe72719c1, 0x154c9ac2, 0x061c6936, 0xf477ea35, 0xaa64d611, 0x580f5512,
		0x4b5fa6e6, 0xb93425e5, 0x6dfe410e, 0x9f95c20d, 0x8cc531f9, 0x7eaeb2fa, 0x30e349b1,
		0xc288cab2, 0xd1d83946, 0x23b3ba45, 0xf779deae, 0x05125dad, 0x1642ae59, 0xe4292d5a,
		0xba3a117e, 0x4851927d, 0x5b016189, 0xa96ae28a, 0x7da08661, 0x8fcb0562, 0x9c9bf696,
		0x6ef07595, 0x417b1dbc, 0xb3109ebf, 0xa0406d4b, 0x522bee48, 0x86e18aa3, 0x748a09a0,
		0x67dafa54, 0x95b17957, 0xcba24573, 0x39c9c670, 0x2a993584, 0xd8f2b687, 0x0c38d26c,
		0xfe53516f, 0xed03a29b, 0x1f682198, 0x5125dad3, 0xa34e59d0, 0xb01eaa24, 0x42752927,
		0x96bf4dcc, 0x64d4cecf, 0x77843d3b, 0x85efbe38, 0xdbfc821c, 0x2997011f, 0x3ac7f2eb,
		0xc8ac71e8, 0x1c661503, 0xee0d9600, 0xfd5d65f4, 0x0f36e6f7, 0x61c69362, 0x93ad1061,
		0x80fde395, 0x72966096, 0xa65c047d, 0x5437877e, 0x4767748a, 0xb50cf789, 0xeb1fcbad,
		0x197448ae, 0x0a24bb5a, 0xf84f3859, 0x2c855cb2, 0xdeeedfb1, 0xcdbe2c45, 0x3fd5af46,
		0x7198540d, 0x83f3d70e, 0x90a324fa, 0x62c8a7f9, 0xb602c312, 0x44694011, 0x5739b3e5,
		0xa55230e6, 0xfb410cc2, 0x092a8fc1, 0x1a7a7c35, 0xe811ff36, 0x3cdb9bdd, 0xceb018de,
		0xdde0eb2a, 0x2f8b6829, 0x82f63b78, 0x709db87b, 0x63cd4b8f, 0x91a6c88c, 0x456cac67,
		0xb7072f64, 0xa457dc90, 0x563c5f93, 0x082f63b7, 0xfa44e0b4, 0xe9141340, 0x1b7f9043,
		0xcfb5f4a8, 0x3dde77ab, 0x2e8e845f, 0xdce5075c, 0x92a8fc17, 0x60c37f14, 0x73938ce0,
		0x81f80fe3, 0x55326b08, 0xa759e80b, 0xb4091bff, 0x466298fc, 0x1871a4d8, 0xea1a27db,
		0xf94ad42f, 0x0b21572c, 0xdfeb33c7, 0x2d80b0c4, 0x3ed04330, 0xccbbc033, 0xa24bb5a6,
		0x502036a5, 0x4370c551, 0xb11b4652, 0x65d122b9, 0x97baa1ba, 0x84ea524e, 0x7681d14d,
		0x2892ed69, 0xdaf96e6a, 0xc9a99d9e, 0x3bc21e9d, 0xef087a76, 0x1d63f975, 0x0e330a81,
		0xfc588982, 0xb21572c9, 0x407ef1ca, 0x532e023e, 0xa145813d, 0x758fe5d6, 0x87e466d5,
		0x94b49521, 0x66df1622, 0x38cc2a06, 0xcaa7a905, 0xd9f75af1, 0x2b9cd9f2, 0xff56bd19,
		0x0d3d3e1a, 0x1e6dcdee, 0xec064eed, 0xc38d26c4, 0x31e6a5c7, 0x22b65633, 0xd0ddd530,
		0x0417b1db, 0xf67c32d8, 0xe52cc12c, 0x1747422f, 0x49547e0b, 0xbb3ffd08, 0xa86f0efc,
		0x5a048dff, 0x8ecee914, 0x7ca56a17, 0x6ff599e3, 0x9d9e1ae0, 0xd3d3e1ab, 0x21b862a8,
		0x32e8915c, 0xc083125f, 0x144976b4, 0xe622f5b7, 0xf5720643, 0x07198540, 0x590ab964,
		0xab613a67, 0xb831c993, 0x4a5a4a90, 0x9e902e7b, 0x6cfbad78, 0x7fab5e8c, 0x8dc0dd8f,
		0xe330a81a, 0x115b2b19, 0x020bd8ed, 0xf0605bee, 0x24aa3f05, 0xd6c1bc06, 0xc5914ff2,
		0x37faccf1, 0x69e9f0d5, 0x9b8273d6, 0x88d28022, 0x7ab90321, 0xae7367ca, 0x5c18e4c9,
		0x4f48173d, 0xbd23943e, 0xf36e6f75, 0x0105ec76, 0x12551f82, 0xe03e9c81, 0x34f4f86a,
		0xc69f7b69, 0xd5cf889d, 0x27a40b9e, 0x79b737ba, 0x8bdcb4b9, 0x988c474d, 0x6ae7c44e,
		0xbe2da0a5, 0x4c4623a6, 0x5f16d052, 0xad7d5351,
	};
	const unsigned char *p = data;
	uint32_t c = 0xffffffff;

	while (len--)
		c = table[(c ^ *p++) & 0xff] ^ (c >> 8);
	return c ^ 0xffffffff;
}

enum { DIGITS = 8, P_LEN = 6 + DIGITS + 1, C_LEN = 6 + DIGITS + 2 };

void seal_line(struct text *out, const char *object, size_t len, uint32_t *chain)
{
	size_t at = out->len;

	/* Without its closing brace. */
	text_addn(out, object, len - 1);
	text_printf(out, ",\"p\":\"%08" PRIx32 "\"", *chain);
	*chain = crc32c(out->s + at, out->len - at);
	text_printf(out, ",\"c\":\"%08" PRIx32 "\"}\n", *chain);
}

size_t seal_object_len(size_t len)
{
	return len - P_LEN - C_LEN + 1;
}

/* ,"k":"0123abcd" at s. */
static bool seal_number_at(const char *s, char key, uint32_t *out)
{
	const char start[] = { ',', '"', key, '"', ':', '"' };

	if (memcmp(s, start, sizeof(start)) != 0 || s[sizeof(start) + DIGITS] != '"')
		return false;
	*out = 0;
	for (size_t i = 0; i < DIGITS; i++) {
		char c = s[sizeof(start) + i];
		int d = c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;

		if (d < 0)
			return false;
		*out = *out << 4 | (uint32_t)d;
	}
	return true;
}

bool seal_matches(const char *line, size_t len, uint32_t *p, uint32_t *c)
{
	return len > P_LEN + C_LEN && line[len - 1] == '}' &&
	       seal_number_at(line + len - C_LEN, 'c', c) &&
	       seal_number_at(line + len - C_LEN - P_LEN, 'p', p) &&
	       crc32c(line, len - C_LEN) == *c;
}

/* --- reading ---------------------------------------------------------------------------------- */

struct line {
	const char *s;
	size_t n;
	uint32_t p, c;
	bool good, taken;
};

struct lines {
	struct line *v;
	size_t n;
	size_t *order; /* of the good ones, by p and then by place */
	size_t n_order;
	size_t at;  /* where reading goes on */
	size_t hop; /* no good line that is not taken stands before it */
	bool cut;   /* the last one has no newline */
};

static size_t line_end(struct seal_file f, size_t at)
{
	const char *nl = memchr(f.text + at, '\n', f.len - at);

	return nl ? (size_t)(nl - f.text) : f.len;
}

static bool has_seal(struct seal_file f)
{
	uint32_t p, c;

	for (size_t at = 0, end; at < f.len; at = end + 1) {
		end = line_end(f, at);
		if (seal_matches(f.text + at, end - at, &p, &c))
			return true;
	}
	return false;
}

/* All of it, if nothing is wrong with it. */
static bool seal_is_whole(struct seal_file f, uint32_t *chain)
{
	uint32_t p;

	*chain = 0;
	for (size_t at = 0, end; at < f.len; at = end + 1) {
		uint32_t before = *chain;

		end = line_end(f, at);
		if (end == f.len || !seal_matches(f.text + at, end - at, &p, chain) || p != before)
			return false;
	}
	return true;
}

static int by_p(const void *x, const void *y, void *lines)
{
	const struct lines *l = lines;
	size_t a = *(const size_t *)x, b = *(const size_t *)y;

	if (l->v[a].p != l->v[b].p)
		return l->v[a].p < l->v[b].p ? -1 : 1;
	return a < b ? -1 : a > b;
}

static void seal_split(struct arena *a, struct seal_file f, struct lines *l)
{
	*l = (struct lines){ .cut = f.len && f.text[f.len - 1] != '\n' };
	for (size_t at = 0, end; at < f.len; at = end + 1) {
		struct line *one;

		end = line_end(f, at);
		one = &ARENA_ADD(a, l->v, l->n);
		*one = (struct line){ .s = f.text + at, .n = end - at };
		one->good = seal_matches(one->s, one->n, &one->p, &one->c);
		/* Whole, with something else in the place of its newline. */
		if (!one->good && l->cut && end == f.len &&
		    seal_matches(one->s, one->n - 1, &one->p, &one->c)) {
			one->good = true;
			one->n--;
		}
		if (!one->good)
			continue;
		ARENA_ADD(a, l->order, l->n_order) = l->n - 1;
	}
	if (l->n_order)
		qsort_r(l->order, l->n_order, sizeof(*l->order), by_p, l);
}

/* The first line from at on that continues p; l->n: none. */
static size_t seal_next_of(const struct lines *l, uint32_t p, size_t at)
{
	size_t lo = 0, hi = l->n_order;

	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;
		const struct line *one = &l->v[l->order[mid]];

		if (one->p < p || (one->p == p && l->order[mid] < at))
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo < l->n_order && l->v[l->order[lo]].p == p ? l->order[lo] : l->n;
}

/* Lines that continue the same one are repetitions; a file that holds more is not ours. */
static bool taken_already(const struct lines *l, const struct line *x)
{
	enum { REPEATED_MAX = 64 };
	size_t i = seal_next_of(l, x->p, 0);

	for (int k = 0; i < l->n && k < REPEATED_MAX; k++, i = seal_next_of(l, x->p, i + 1))
		if (l->v[i].taken && l->v[i].c == x->c)
			return true;
	return false;
}

static size_t next_good(struct lines *l)
{
	l->hop = l->hop < l->at ? l->at : l->hop;
	while (l->hop < l->n && (!l->v[l->hop].good || taken_already(l, &l->v[l->hop])))
		l->hop++;
	return l->hop;
}

struct merge {
	struct lines mine, copy;
	struct text text;
	size_t from_copy; /* bytes in a row */
	struct seal_read *out;
};

/*
 * Lines of the journal that are passed over to go on at line i. An addition that failed or was cut
 * by a crash leaves a fragment, or lines that the next addition repeats: the chain goes on over
 * both, and nothing is lost. Without the chain at least so many are.
 */
static void seal_pass(struct merge *m, size_t i, bool chained, size_t least)
{
	struct lines *l = &m->mine;
	size_t lost = 0, first = l->at;

	for (size_t k = l->at; k < i; k++) {
		const struct line *x = &l->v[k];

		if (x->good ? taken_already(l, x) || taken_already(&m->copy, x) : chained || !x->n)
			continue;
		first = lost++ ? first : k;
	}
	lost = lost < least ? least : lost;
	m->out->bad_at = m->out->bad ? m->out->bad_at : lost ? first + 1 : 0;
	m->out->bad += lost;
}

static void seal_take(struct merge *m, struct lines *l, size_t i)
{
	struct lines *other = l == &m->mine ? &m->copy : &m->mine;
	struct line *x = &l->v[i];
	size_t twin = seal_next_of(other, x->p, other->at);

	text_addn(&m->text, x->s, x->n);
	text_addc(&m->text, '\n');
	m->out->chain = x->c;
	x->taken = true;
	l->at = i + 1;
	m->from_copy = l == &m->copy ? m->from_copy + x->n + 1 : 0;
	m->out->mended += l == &m->copy;
	if (twin < other->n && other->v[twin].c == x->c) {
		other->v[twin].taken = true;
		/* What the journal has there, its copy repeats. */
		if (other == &m->copy)
			other->at = twin + 1;
	}
}

/* Both go on behind a line that is lost: which of the two lines came first, as far as their chains
 * tell. */
static bool copy_is_first(const struct merge *m, size_t i, size_t k)
{
	const struct lines *mine = &m->mine, *copy = &m->copy;
	size_t twin;

	if (i == mine->n || k == copy->n)
		return i == mine->n;
	twin = seal_next_of(mine, copy->v[k].p, i);
	if ((twin < mine->n && mine->v[twin].c == copy->v[k].c) ||
	    seal_next_of(copy, mine->v[i].c, k) < copy->n)
		return false;
	return seal_next_of(mine, copy->v[k].c, i) < mine->n || k < i;
}

static bool seal_step(struct merge *m)
{
	struct lines *mine = &m->mine, *copy = &m->copy;
	size_t i = seal_next_of(mine, m->out->chain, mine->at), k;

	if (i < mine->n) {
		seal_pass(m, i, true, 0);
		seal_take(m, mine, i);
		return true;
	}
	k = seal_next_of(copy, m->out->chain, copy->at);
	if (k < copy->n) {
		seal_take(m, copy, k);
		return true;
	}
	/* Lost in both. */
	i = next_good(mine);
	k = next_good(copy);
	if (i == mine->n && k == copy->n)
		return false;
	if (copy_is_first(m, i, k)) {
		m->out->bad_at = m->out->bad++ ? m->out->bad_at : k + 1;
		seal_take(m, copy, k);
	} else {
		seal_pass(m, i, false, 1);
		seal_take(m, mine, i);
	}
	return true;
}

/* How often the file was written anew; -1: its first line does not tell. */
static long long times_of(struct seal_file f)
{
	size_t end = f.len ? line_end(f, 0) : 0;
	const char *at;
	uint32_t p, c;

	if (!end || !seal_matches(f.text, end, &p, &c) || p ||
	    strncmp(f.text, SEAL_FIRST, strlen(SEAL_FIRST)) != 0)
		return -1;
	at = memmem(f.text, end, SEAL_TIMES, strlen(SEAL_TIMES));
	return at ? strtoll(at + strlen(SEAL_TIMES), NULL, 10) : -1;
}

static void merge_lines(struct arena *a, struct seal_file journal, struct seal_file copy,
			struct seal_read *out)
{
	struct merge m = { .out = out };
	size_t end;

	out->chain = 0;
	seal_split(a, journal, &m.mine);
	seal_split(a, copy, &m.copy);
	while (seal_step(&m))
		;
	/* Behind the last line: a fragment of an addition that was cut has no newline, and what the
	 * copy has given stood there. */
	end = m.mine.n - m.mine.cut;
	while (m.mine.at < end && m.from_copy > m.mine.v[m.mine.at].n)
		m.from_copy -= m.mine.v[m.mine.at++].n + 1;
	if (m.mine.at < end)
		seal_pass(&m, end, false, 0);
	out->text = m.text.s ? arena_strndup(a, m.text.s, m.text.len) : "";
	out->len = m.text.len;
	text_free(&m.text);
}

void seal_merge(struct arena *a, struct seal_file journal, struct seal_file copy,
		struct seal_read *out)
{
	long long mine = times_of(journal), other = times_of(copy);

	*out = (struct seal_read){ .text = journal.text, .len = journal.len };
	out->sealed = has_seal(journal) || has_seal(copy);
	if (!out->sealed)
		return;
	if (seal_is_whole(journal, &out->chain) && copy.len == journal.len &&
	    memcmp(copy.text, journal.text, copy.len) == 0) {
		out->same = true;
		return;
	}
	if (mine >= 0 && other >= 0 && mine != other) {
		struct seal_file none = { "", 0 };

		merge_lines(a, mine > other ? journal : none, mine > other ? none : copy, out);
		return;
	}
	merge_lines(a, journal, copy, out);
}
