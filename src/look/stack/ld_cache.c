/* SPDX-License-Identifier: Apache-2.0 */
/* The format of glibc's cache file: a header, entries of 24 bytes, a table of texts. */
#include "look/stack/ld_cache.h"

#include <string.h>

#include "look/stack/input.h"

enum { OLD_HEADER = 16, OLD_ENTRY = 12, HEADER = 48, ENTRY = 24 };
enum { FLAG_ABI = 0xff00, ABI_X86_64 = 0x0300, ABI_AARCH64 = 0x0a00 };

static const char magic[] = "glibc-ld.so.cache1.1", old_magic[] = "ld.so-1.7.0";

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
	if (size < HEADER || memcmp(data, magic, sizeof(magic) - 1) != 0)
		return -EBADMSG;
	n = le32(p + 20);
	if (n > (size - HEADER) / ENTRY)
		return -EBADMSG;
	entry = p + HEADER;
	for (uint32_t i = 0; i < n && !code; i++, entry += ENTRY) {
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
