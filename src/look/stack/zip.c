/* SPDX-License-Identifier: Apache-2.0 */
/* Members of a zip archive as inputs, and their check sums. */
#include "look/stack/zip.h"

#include <stdlib.h>
#include <string.h>
#include <zlib.h>

enum { LOCAL = 30, LOCAL_MAGIC = 0x04034b50, PASS = 1 << 16 };

static int broken(struct err *e, const struct zip_entry *entry, const char *what)
{
	return err_set(e, -EBADMSG, "the member %.200s is broken: %s", entry->name, what);
}

const struct zip_entry *zip_find(const struct zip *z, const char *name)
{
	return map_get(&z->names, name);
}

/* What stands before the member has to be of the same name and method as the directory says. */
static int data_place(const struct zip *z, const struct zip_entry *entry, uint64_t *at,
		      struct err *e)
{
	size_t n = strlen(entry->name);
	unsigned char h[LOCAL];
	char *name;
	bool same;

	if (input_read(z->in, entry->header_at, h, LOCAL) || le32(h) != LOCAL_MAGIC)
		return broken(e, entry, "no member begins where the directory says");
	if (le16(h + 26) != n || le16(h + 8) != (entry->packed ? 8 : 0))
		return broken(e, entry, "it says of itself something else than the directory");
	name = malloc(n + 1);
	if (!name)
		return err_set(e, -ENOMEM, "no memory");
	same = input_read(z->in, entry->header_at + LOCAL, name, n) == 0 &&
	       memcmp(name, entry->name, n) == 0;
	free(name);
	if (!same)
		return broken(e, entry, "it has another name than in the directory");
	*at = entry->header_at + LOCAL + n + le16(h + 28);
	return 0;
}

int zip_member(const struct zip *z, const struct zip_entry *entry, struct zip_member *out,
	       struct err *e)
{
	uint64_t at = 0;
	int code = data_place(z, entry, &at, e);

	if (code)
		return code;
	memset(out, 0, sizeof(*out));
	if (input_window(&out->window, z->in, at, entry->packed_size))
		return broken(e, entry, "it ends beyond the file");
	out->in = &out->window.in;
	if (!entry->packed)
		return 0;
	if (input_inflate(&out->inflate, &out->window.in, entry->size))
		return err_set(e, -ENOMEM, "no memory to unpack %.200s", entry->name);
	out->in = &out->inflate.in;
	return 0;
}

void zip_close(struct zip_member *m)
{
	input_inflate_close(&m->inflate);
}

int zip_pass(const struct zip *z, const struct zip_entry *entry,
	     void (*each)(void *ctx, const void *data, size_t n), void *ctx, struct err *e)
{
	uLong crc = crc32(0, NULL, 0);
	struct zip_member m = { 0 };
	unsigned char *buf = malloc(entry->size < PASS ? (size_t)entry->size + 1 : PASS);
	int code = buf ? zip_member(z, entry, &m, e) : err_set(e, -ENOMEM, "no memory");

	if (code) {
		free(buf);
		return code;
	}
	for (uint64_t at = 0; at < entry->size && !code;) {
		size_t n = entry->size - at < PASS ? (size_t)(entry->size - at) : PASS;

		code = input_read(m.in, at, buf, n);
		if (code) {
			broken(e, entry, "it cannot be unpacked");
			code = code == -ENODATA ? -EBADMSG : code;
			break;
		}
		crc = crc32(crc, buf, (uInt)n);
		if (each)
			each(ctx, buf, n);
		at += n;
	}
	if (!code && crc != entry->crc)
		code = broken(e, entry, "its check sum is another one");
	zip_close(&m);
	free(buf);
	return code;
}

struct kept {
	char *out;
	size_t n;
};

static void keep(void *ctx, const void *data, size_t n)
{
	struct kept *k = ctx;

	memcpy(k->out + k->n, data, n);
	k->n += n;
}

int zip_text(struct arena *a, const struct zip *z, const struct zip_entry *entry, size_t max,
	     char **out, struct err *e)
{
	struct kept k = { 0 };
	int code;

	if (entry->size > max)
		return err_set(e, -EFBIG, "the member %.200s is too large: %llu bytes", entry->name,
			       (unsigned long long)entry->size);
	k.out = arena_alloc(a, (size_t)entry->size + 1);
	code = zip_pass(z, entry, keep, &k, e);
	if (!code)
		*out = k.out;
	return code;
}
