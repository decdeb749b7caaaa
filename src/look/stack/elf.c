/* SPDX-License-Identifier: Apache-2.0 */
/* Reading ELF headers that may lie: every offset, size and count is compared with the file. */
#include "look/stack/elf.h"

#include <stdlib.h>
#include <string.h>

/* A file of more sections, or with longer names of them, is no file that a linker made. */
enum { HEADER = 64, SECTION = 64, SECTIONS_MAX = 1 << 21, NAMES_MAX = 1 << 26, BATCH = 256 };
enum { SHN_EXTENDED = 0xffff, TYPE_NOBITS = 8 };

static int broken(struct err *e, const char *what)
{
	return err_set(e, -EBADMSG, "broken ELF headers: %s", what);
}

static int get(struct input *in, uint64_t at, void *buf, size_t n, struct err *e, const char *what)
{
	int code = input_read(in, at, buf, n);

	if (code == -ENODATA)
		return broken(e, what);
	return code ? err_set(e, code, "unreadable: %s", strerror(-code)) : 0;
}

/* Counts that do not fit into the header stand in the first section. */
static int open_names(struct input *in, struct elf *f, uint32_t names, struct err *e)
{
	unsigned char s[SECTION];
	int code;

	if (f->n_sections == 0 || names == SHN_EXTENDED) {
		code = get(in, f->sections_at, s, SECTION, e, "it has no first section");
		if (code)
			return code;
		if (f->n_sections == 0)
			f->n_sections = le64(s + 32);
		if (names == SHN_EXTENDED)
			names = le32(s + 40);
	}
	if (f->n_sections > SECTIONS_MAX || f->n_sections * SECTION > in->size - f->sections_at)
		return broken(e, "more sections than fit in the file");
	if (!f->n_sections)
		return 0;
	if (names >= f->n_sections)
		return broken(e, "the section of names does not exist");
	code = get(in, f->sections_at + (uint64_t)names * SECTION, s, SECTION, e, "no names");
	if (code)
		return code;
	f->names_at = le64(s + 24);
	f->names_size = le64(s + 32);
	if (f->names_at > in->size || f->names_size > in->size - f->names_at)
		return broken(e, "the section names exceed the file");
	if (f->names_size > NAMES_MAX)
		return broken(e, "more than 64 MiB of section names");
	return 0;
}

int elf_open(struct input *in, struct elf *out, struct err *e)
{
	unsigned char h[HEADER];
	struct elf f = { 0 };
	int code = get(in, 0, h, HEADER, e, "shorter than the header");

	if (code)
		return code;
	if (memcmp(h, "\177ELF", 4) != 0)
		return broken(e, "no magic number");
	if (h[4] != 2 || h[5] != 1)
		return err_set(e, -EPROTONOSUPPORT,
			       "is a %s ELF file; only 64-bit little-endian ELF contains GPU code",
			       h[4] != 2 ? "32-bit" : "big-endian");
	f.abi = h[8];
	f.type = le16(h + 16);
	f.machine = le16(h + 18);
	f.flags = le32(h + 48);
	f.sections_at = le64(h + 40);
	f.n_sections = le16(h + 60);
	if (f.sections_at) {
		if (f.sections_at > in->size)
			return broken(e, "the sections exceed the file");
		if (le16(h + 58) != SECTION)
			return broken(e, "sections of invalid size");
		code = open_names(in, &f, le16(h + 62), e);
		if (code)
			return code;
	} else {
		f.n_sections = 0;
	}
	*out = f;
	return 0;
}

static void section_name(struct elf_section *s, const char *names, uint64_t size, uint64_t at)
{
	size_t n = 0;

	while (at + n < size && names[at + n] && n < ELF_NAME_MAX - 1) {
		s->name[n] = names[at + n];
		n++;
	}
	s->name[n] = '\0';
}

static int each_batch(struct input *in, const unsigned char *b, size_t n, const char *names,
		      uint64_t names_size, int (*each)(void *ctx, const struct elf_section *s),
		      void *ctx)
{
	for (size_t i = 0; i < n; i++, b += SECTION) {
		struct elf_section s = { .type = le32(b + 4),
					 .flags = le64(b + 8),
					 .at = le64(b + 24),
					 .size = le64(b + 32) };
		int code;

		if (s.type == TYPE_NOBITS || s.at > in->size || s.size > in->size - s.at)
			continue;
		section_name(&s, names, names_size, le32(b));
		code = each(ctx, &s);
		if (code)
			return code;
	}
	return 0;
}

int elf_each(struct input *in, const struct elf *elf,
	     int (*each)(void *ctx, const struct elf_section *s), void *ctx, struct err *e)
{
	unsigned char *batch;
	char *names;
	int code;

	if (!elf->n_sections)
		return 0;
	batch = malloc(BATCH * SECTION);
	names = malloc((size_t)elf->names_size + 1);
	code = batch && names ? 0 : err_set(e, -ENOMEM, "out of memory for its section names");
	if (!code)
		code = get(in, elf->names_at, names, (size_t)elf->names_size, e, "truncated names");
	for (uint64_t i = 0; i < elf->n_sections && !code; i += BATCH) {
		size_t n = elf->n_sections - i < BATCH ? (size_t)(elf->n_sections - i) : BATCH;

		code = get(in, elf->sections_at + i * SECTION, batch, n * SECTION, e, "truncated");
		if (!code)
			code = each_batch(in, batch, n, names, elf->names_size, each, ctx);
	}
	free(batch);
	free(names);
	return code;
}

/* The format of glibc's cache file: a header, entries of 24 bytes, a table of texts. */

enum { OLD_HEADER = 16, OLD_ENTRY = 12, CACHE_HEADER = 48, CACHE_ENTRY = 24 };
enum { FLAG_ABI = 0xff00, ABI_X86_64 = 0x0300, ABI_AARCH64 = 0x0a00 };

static const char cache_magic[] = "glibc-ld.so.cache1.1", old_magic[] = "ld.so-1.7.0";

/* A text that ends within the file; NULL otherwise. */
static const char *text_at(const char *p, size_t size, uint32_t at)
{
	return at < size && memchr(p + at, '\0', size - at) ? p + at : NULL;
}

int ld_cache_each(const char *data, size_t size,
		  int (*each)(void *ctx, const char *name, const char *path), void *ctx)
{
	const unsigned char *p = (const unsigned char *)data, *entry;
	uint32_t n;
	int code = 0;

	/* Older files have a table in the old format before it. */
	if (size >= OLD_HEADER && memcmp(data, old_magic, sizeof(old_magic) - 1) == 0) {
		uint64_t skip = OLD_HEADER + (uint64_t)le32(p + 12) * OLD_ENTRY;

		skip = (skip + 7) & ~7ull;
		if (skip > size)
			return -EBADMSG;
		data += skip;
		p += skip;
		size -= (size_t)skip;
	}
	if (size < CACHE_HEADER || memcmp(data, cache_magic, sizeof(cache_magic) - 1) != 0)
		return -EBADMSG;
	n = le32(p + 20);
	if (n > (size - CACHE_HEADER) / CACHE_ENTRY)
		return -EBADMSG;
	entry = p + CACHE_HEADER;
	for (uint32_t i = 0; i < n && !code; i++, entry += CACHE_ENTRY) {
		uint32_t abi = le32(entry) & FLAG_ABI;
		const char *name = text_at(data, size, le32(entry + 4));
		const char *path = text_at(data, size, le32(entry + 8));

		if (!name || !path)
			return -EBADMSG;
		if (abi == ABI_X86_64 || abi == ABI_AARCH64)
			code = each(ctx, name, path);
	}
	return code;
}
