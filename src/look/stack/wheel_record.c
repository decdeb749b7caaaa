/* SPDX-License-Identifier: Apache-2.0 */
/* Holding a wheel's members against its own list of them. */
#include "look/stack/wheel_record.h"

#include <string.h>

#include "base/base64.h"
#include "base/map.h"
#include "base/sha256.h"
#include "base/text.h"
#include "look/stack/elf.h"

enum { RECORD_MAX = 1 << 24, HEAD = 20 };

/* A line's path may be quoted; then quotes in it are doubled. Returns what stands behind it. */
static const char *line_path(struct arena *a, const char *p, size_t n, char **path)
{
	const char *end = p + n;
	TEXT_AUTO t = { 0 };

	if (n && *p == '"') {
		for (p++; p < end && (*p != '"' || (p + 1 < end && p[1] == '"')); p++) {
			text_addc(&t, *p);
			p += *p == '"';
		}
		p += p < end;
	} else {
		const char *comma = memchr(p, ',', n);

		comma = comma ? comma : end;
		text_addn(&t, p, (size_t)(comma - p));
		p = comma;
	}
	*path = arena_strdup(a, t.s ? t.s : "");
	return p < end && *p == ',' ? p + 1 : end;
}

/* Path -> hash as it stands there; "" where a line has none. */
static void read_lines(struct arena *a, const char *text, struct map *lines)
{
	while (*text) {
		size_t n = strcspn(text, "\n"), k = n;
		const char *rest;
		char *path;

		if (k && text[k - 1] == '\r')
			k--;
		rest = line_path(a, text, k, &path);
		if (*path) {
			size_t len = (size_t)(text + k - rest);
			const char *comma = memchr(rest, ',', len);

			*map_at(a, lines, path) =
				arena_strndup(a, rest, comma ? (size_t)(comma - rest) : len);
		}
		text += n + (text[n] == '\n');
	}
}

struct pass {
	struct sha256 sum;
	unsigned char head[HEAD];
	size_t got;
};

static void on_data(void *ctx, const void *data, size_t n)
{
	struct pass *p = ctx;
	size_t k = n < HEAD - p->got ? n : HEAD - p->got;

	memcpy(p->head + p->got, data, k);
	p->got += k;
	sha256_add(&p->sum, data, n);
}

static int note_machine(struct wheel *w, const struct zip_entry *entry, const struct pass *p,
			struct err *e)
{
	const char *machine;

	if (p->got < HEAD || memcmp(p->head, "\177ELF", 4) != 0 ||
	    !(str_ends(entry->name, ".so") || strstr(entry->name, ".so.")))
		return 0;
	switch (le16(p->head + 18)) {
	case ELF_X86_64:
		machine = "x86_64";
		break;
	case ELF_AARCH64:
		machine = "aarch64";
		break;
	default:
		return 0; /* GPU code, or another program's data */
	}
	if (w->machine && strcmp(w->machine, machine) != 0)
		return err_set(e, -EBADMSG,
			       "its libraries are for two architectures: %.200s is for %s",
			       entry->name, machine);
	w->machine = machine;
	return 0;
}

static int check_member(struct arena *a, const struct zip *z, const struct zip_entry *entry,
			const struct map *lines, struct wheel *w, struct err *e)
{
	const char *hash = map_get(lines, entry->name);
	struct pass p = { 0 };
	uint8_t sum[SHA256_BYTES];
	TEXT_AUTO text = { 0 };
	int code;

	(void)a;
	sha256_begin(&p.sum);
	code = zip_pass(z, entry, on_data, &p, e);
	if (code)
		return code;
	sha256_end(&p.sum, sum);
	base64_add(&text, sum, sizeof(sum), true);
	/* RECORD cannot hold its own hash, nor those of its signatures. */
	if (str_ends(entry->name, ".dist-info/RECORD") ||
	    str_ends(entry->name, ".dist-info/RECORD.jws") ||
	    str_ends(entry->name, ".dist-info/RECORD.p7s"))
		return 0;
	if (!hash)
		return err_set(e, -EBADMSG, "%.200s is not in its RECORD", entry->name);
	if (!str_starts(hash, "sha256="))
		return err_set(e, -EBADMSG, "RECORD has no SHA-256 of %.200s", entry->name);
	if (strcmp(hash + 7, text.s) != 0)
		return err_set(e, -EBADMSG, "%.200s is not what RECORD says: another SHA-256",
			       entry->name);
	return note_machine(w, entry, &p, e);
}

int wheel_record(struct arena *a, const struct zip *z, struct wheel *w, struct err *e)
{
	const char *name = arena_printf(a, "%s-%s.dist-info/RECORD", w->name, w->version);
	const struct zip_entry *record = zip_find(z, name);
	struct map lines = { 0 };
	struct map_entry *all;
	char *text;
	int code;

	if (!record)
		return err_set(e, -EBADMSG, "it lacks %s", name);
	code = zip_text(a, z, record, RECORD_MAX, &text, e);
	if (code)
		return code;
	read_lines(a, text, &lines);
	for (size_t i = 0; i < z->n && !code; i++)
		if (!z->entries[i].folder)
			code = check_member(a, z, &z->entries[i], &lines, w, e);
	all = code ? NULL : map_sorted(a, &lines);
	for (size_t i = 0; i < lines.n && !code; i++)
		if (!zip_find(z, all[i].key))
			code = err_set(e, -EBADMSG, "RECORD names %.200s, which is not in it",
				       all[i].key);
	return code;
}
