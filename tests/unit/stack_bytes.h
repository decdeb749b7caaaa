/* SPDX-License-Identifier: Apache-2.0 */
/* Writers of the formats that src/look/stack reads, for tests that then break what they wrote. */
#ifndef UNIT_STACK_BYTES_H
#define UNIT_STACK_BYTES_H

#include <stdint.h>
#include <string.h>

#include "base/text.h"

static inline void put(struct text *t, uint64_t v, int bytes)
{
	for (int i = 0; i < bytes; i++)
		text_addc(t, (char)(i < 8 ? v >> (8 * i) & 0xff : 0));
}

static inline void poke(struct text *t, size_t at, uint64_t v, int bytes)
{
	for (int i = 0; i < bytes; i++)
		t->s[at + (size_t)i] = (char)(v >> (8 * i));
}

static inline void pad(struct text *t, size_t to)
{
	while (t->len % to)
		text_addc(t, '\0');
}

/* One entry as nvcc writes it: flags 0x11 are 64-bit and Linux. */
static inline void put_entry(struct text *t, unsigned kind, unsigned sm, unsigned ptx,
			     uint64_t flags, const char *payload, size_t n, uint64_t unpacked)
{
	put(t, kind, 2);
	put(t, 0x101, 2);
	put(t, 64, 4);
	put(t, (n + 7) / 8 * 8, 8);
	put(t, unpacked ? n : 0, 4);
	put(t, 0, 4);
	put(t, kind == 1 ? ptx % 10 : 8, 2);
	put(t, kind == 1 ? ptx / 10 : 1, 2);
	put(t, sm, 4);
	put(t, 0, 8);
	put(t, 0x11 | flags, 8);
	put(t, 0, 8);
	put(t, unpacked, 8);
	text_addn(t, payload, n);
	pad(t, 8);
}

/* The place of the size is returned, for fatbin_end. */
static inline size_t fatbin_begin(struct text *t)
{
	size_t at = t->len;

	put(t, 0xba55ed50, 4);
	put(t, 1, 2);
	put(t, 16, 2);
	put(t, 0, 8);
	return at;
}

static inline void fatbin_end(struct text *t, size_t at)
{
	poke(t, at + 8, t->len - at - 16, 8);
}

/* A cubin of 192 bytes that has a kernel as far as anybody looks. */
static inline void put_cubin(struct text *t, unsigned sm)
{
	size_t at = t->len;

	text_addn(t, "\177ELF\2\1\1\101\10", 9);
	pad(t, 8);
	put(t, 2, 2);
	put(t, 190, 2);
	while (t->len < at + 48)
		text_addc(t, '\0');
	put(t, sm << 8 | 4, 4);
	while (t->len < at + 64)
		text_addc(t, '\0');
	text_add(t, ".text.kernel");
	while (t->len < at + 192)
		text_addc(t, '\0');
}

/* An ELF file for x86-64 with one section of that name; flags as SHF_*. */
static inline void put_elf(struct text *t, const char *section, const struct text *body,
			   uint64_t flags)
{
	static const char names[] = "\0.shstrtab\0";
	size_t at = t->len, data, strings, headers;

	text_addn(t, "\177ELF\2\1\1\0\0", 9);
	while (t->len < at + 64)
		text_addc(t, '\0');
	poke(t, at + 16, 3, 2);
	poke(t, at + 18, 62, 2);
	data = t->len - at;
	text_addn(t, body->s, body->len);
	strings = t->len - at;
	text_addn(t, names, sizeof(names) - 1);
	text_addn(t, section, strlen(section) + 1);
	while ((t->len - at) % 8)
		text_addc(t, '\0');
	headers = t->len - at;
	for (int i = 0; i < 64; i++)
		text_addc(t, '\0');
	put(t, 11, 4); /* name: behind ".shstrtab" */
	put(t, 1, 4);
	put(t, flags, 8);
	put(t, 0, 8);
	put(t, data, 8);
	put(t, body->len, 8);
	put(t, 0, 24);
	while ((t->len - at - headers) % 64)
		text_addc(t, '\0');
	put(t, 1, 4);
	put(t, 3, 4);
	put(t, 0, 16);
	put(t, strings, 8);
	put(t, sizeof(names) + strlen(section), 8);
	while ((t->len - at - headers) % 64)
		text_addc(t, '\0');
	poke(t, at + 40, headers, 8);
	poke(t, at + 58, 64, 2);
	poke(t, at + 60, 3, 2);
	poke(t, at + 62, 2, 2);
}

static inline void put_member(struct text *t, const char *name, const char *data, size_t n)
{
	text_printf(t, "%-16s%-12s%-6s%-6s%-8s%-10zu`\n", name, "0", "0", "0", "644", n);
	text_addn(t, data, n);
	if (t->len % 2)
		text_addc(t, '\n');
}

#endif
