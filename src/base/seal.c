/* SPDX-License-Identifier: Apache-2.0 */
/* Seals of lines. */
#include "base/seal.h"

#include <inttypes.h>
#include <stdbool.h>
#include <string.h>

/* Four bits at a time: the journal, at most a few hundred kB, needs no larger table. */
uint32_t crc32c(const void *data, size_t len)
{
	/* CRC of each 4-bit value, by the reflected polynomial 0x82f63b78. */
	static const uint32_t table[16] = {
		0x00000000, 0x105ec76f, 0x20bd8ede, 0x30e349b1, 0x417b1dbc, 0x5125dad3,
		0x61c69362, 0x7198540d, 0x82f63b78, 0x92a8fc17, 0xa24bb5a6, 0xb21572c9,
		0xc38d26c4, 0xd3d3e1ab, 0xe330a81a, 0xf36e6f75,
	};
	const unsigned char *p = data;
	uint32_t c = 0xffffffff;

	while (len--) {
		c ^= *p++;
		c = table[c & 0xf] ^ (c >> 4);
		c = table[c & 0xf] ^ (c >> 4);
	}
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

/* Seals of earlier lines, before and after. */
struct seal_again {
	uint32_t *was, *is;
	size_t n;
};

static void seal_line_again(struct text *out, const char *line, size_t len, uint32_t p,
			    uint32_t was, struct seal_again *chain)
{
	for (size_t i = chain->n; i > 0; i--)
		if (chain->was[i - 1] == p) {
			p = chain->is[i - 1];
			break;
		}
	seal_line(out, line, seal_object_len(len), &p);
	chain->was[chain->n] = was;
	chain->is[chain->n++] = p;
}

const char *seal_again(struct arena *a, const char *was, size_t was_len, const char *is,
		       size_t *len)
{
	const char *was_end = was + was_len, *end = is + *len;
	struct seal_again chain = { 0 };
	TEXT_AUTO out = { 0 };
	size_t lines = 1;

	for (size_t i = 0; i < was_len; i++)
		lines += was[i] == '\n';
	chain.was = arena_alloc(a, lines * sizeof(*chain.was));
	chain.is = arena_alloc(a, lines * sizeof(*chain.is));
	while (is < end) {
		const char *nl = memchr(is, '\n', (size_t)(end - is));
		const char *was_nl = memchr(was, '\n', (size_t)(was_end - was));
		uint32_t p, c;

		if (nl && was_nl && seal_matches(was, (size_t)(was_nl - was), &p, &c))
			seal_line_again(&out, is, (size_t)(nl - is), p, c, &chain);
		else
			text_addn(&out, is, (size_t)((nl ? nl + 1 : end) - is));
		is = nl ? nl + 1 : end;
		was = was_nl ? was_nl + 1 : was_end;
	}
	*len = out.len;
	return arena_strndup(a, out.s ? out.s : "", out.len);
}
