/* SPDX-License-Identifier: Apache-2.0 */
/* The name of a wheel, its tags and its metadata. */
#include <ctype.h>
#include <sodium.h>
#include <stdio.h>
#include <string.h>

#include "look/stack/wheelhouse.h"
#include "base/text.h"
#include "look/stack/component.h"
#include "base/arena.h"
#include "look/stack/elf.h"
#include "machine/host/libraries.h"

enum { METADATA_MAX = 1 << 22, PARTS = 6 };

/* What a name may be made of: it becomes a file and a word of a command. */
static bool valid_word(const char *s)
{
	if (!*s || *s == '-' || *s == '.')
		return false;
	for (; *s; s++)
		if (!isalnum((unsigned char)*s) && !strchr("._+!", *s))
			return false;
	return true;
}

int wheel_name(struct arena *a, const char *file, struct wheel *out, struct err *e)
{
	char *copy, *part[PARTS] = { 0 }, *p;
	size_t n = 0;

	if (!str_ends(file, ".whl"))
		return err_set(e, -EBADMSG, "%.200s is not a wheel: its name does not end in .whl",
			       file);
	copy = arena_strndup(a, file, strlen(file) - 4);
	for (p = copy; p && n < PARTS; n++) {
		part[n] = p;
		p = strchr(p, '-');
		if (p)
			*p++ = '\0';
	}
	if (p || n < 5)
		return err_set(e, -EBADMSG,
			       "invalid wheel name %.200s: expected "
			       "NAME-VERSION[-BUILD]-PYTHON-ABI-PLATFORM",
			       file);
	for (size_t i = 0; i < n; i++)
		if (!valid_word(part[i]))
			return err_set(e, -EBADMSG,
				       "%.200s: invalid part \"%.100s\" of a wheel name", file,
				       part[i]);
	if (n == 6 && !isdigit((unsigned char)*part[2]))
		return err_set(e, -EBADMSG, "%.200s: a build number must begin with a digit", file);
	*out = (struct wheel){ .file = arena_strdup(a, file),
			       .name = part[0],
			       .version = part[1],
			       .build = n == 6 ? part[2] : "",
			       .python = part[n - 3],
			       .abi = part[n - 2],
			       .platform = part[n - 1] };
	return 0;
}

/* --- tags --- */

/* Each of the words of "a.b.c" that are joined by dots. */
static bool any_word(const char *words, bool (*fits)(const char *word, size_t n, const void *ctx),
		     const void *ctx)
{
	while (*words) {
		size_t n = strcspn(words, ".");

		if (fits(words, n, ctx))
			return true;
		words += n + (words[n] == '.');
	}
	return false;
}

static bool platform_fits(const char *word, size_t n, const void *ctx)
{
	const char *arch = ctx;
	size_t len = strlen(arch);

	if (n == 3 && strncmp(word, "any", 3) == 0)
		return true;
	if (n <= len + 1 || strncmp(word + n - len, arch, len) != 0 || word[n - len - 1] != '_')
		return false;
	return strncmp(word, "linux_", 6) == 0 || strncmp(word, "manylinux", 9) == 0;
}

struct python_wanted {
	unsigned minor;
	bool stable_abi;
};

static bool python_fits(const char *word, size_t n, const void *ctx)
{
	const struct python_wanted *p = ctx;
	unsigned minor = 0;

	if (n < 3 || (strncmp(word, "py3", 3) != 0 && strncmp(word, "cp3", 3) != 0))
		return false;
	if (n == 3)
		return true;
	for (size_t i = 3; i < n; i++) {
		if (!isdigit((unsigned char)word[i]) || minor > 999)
			return false;
		minor = minor * 10 + (unsigned)(word[i] - '0');
	}
	/* cp310-abi3 and py310 run on everything newer, cp310-cp310 on 3.10 alone. */
	return minor == p->minor || (minor < p->minor && (p->stable_abi || *word == 'p'));
}

static bool word_is(const char *word, size_t n, const void *ctx)
{
	return strlen(ctx) == n && strncmp(word, ctx, n) == 0;
}

/* "cp312t" of free-threaded Python is another ABI than "cp312". */
static bool abi_fits(const char *word, size_t n, const void *ctx)
{
	const struct python_wanted *p = ctx;
	char own[16];

	snprintf(own, sizeof(own), "cp3%u", p->minor);
	return word_is(word, n, "none") || word_is(word, n, "abi3") || word_is(word, n, own);
}

int wheel_fits(const struct wheel *w, const struct wheel_target *t, struct err *e)
{
	struct python_wanted p = { 0, any_word(w->abi, word_is, "abi3") };
	unsigned long long minor;

	if (!any_word(w->platform, platform_fits, t->arch))
		return err_set(e, -ENOEXEC, "%.200s is for %.100s, not for %s", w->file,
			       w->platform, t->arch);
	if (w->machine && strcmp(w->machine, t->arch) != 0)
		return err_set(e, -ENOEXEC, "%.200s contains libraries for %s, not for %s", w->file,
			       w->machine, t->arch);
	if (!t->python)
		return 0;
	if (strncmp(t->python, "3.", 2) != 0 || parse_u64(t->python + 2, &minor) || minor > 999)
		return err_set(e, -EINVAL,
			       "invalid Python version \"%.40s\": expected a form such as 3.12",
			       t->python);
	p.minor = (unsigned)minor;
	if (!any_word(w->python, python_fits, &p) || !any_word(w->abi, abi_fits, &p))
		return err_set(e, -ENOEXEC, "%.200s is for Python %.40s (%.40s), not for %s",
			       w->file, w->python, w->abi, t->python);
	return 0;
}

/* --- what is inside --- */

static const struct zip_entry *info_file(const struct zip *z, const char *leaf, struct arena *a,
					 const struct wheel *w)
{
	return zip_find(z, arena_printf(a, "%s-%s.dist-info/%s", w->name, w->version, leaf));
}

/* The value of "Name: value" among the headers; of several the nth. */
static char *wheel_header(struct arena *a, const char *text, const char *name, size_t nth)
{
	size_t len = strlen(name);

	while (*text && *text != '\n' && *text != '\r') {
		size_t n = strcspn(text, "\n"), k = n;

		if (k && text[k - 1] == '\r')
			k--;
		if (k > len + 1 && strncmp(text, name, len) == 0 && text[len] == ':' && !nth--) {
			const char *v = str_trim(text + len + 1, k - len - 1, &n);

			return arena_strndup(a, v, n);
		}
		text += n + (text[n] == '\n');
	}
	return NULL;
}

static int check_metadata(struct arena *a, const char *text, struct wheel *w, struct err *e)
{
	char *name = wheel_header(a, text, "Name", 0),
	     *version = wheel_header(a, text, "Version", 0);
	char x[256], y[256];

	w->requires_python = wheel_header(a, text, "Requires-Python", 0);
	if (!name || !version)
		return err_set(e, -EBADMSG, "%.200s: its metadata has no name or version", w->file);
	dist_normalise(name, x, sizeof(x));
	dist_normalise(w->name, y, sizeof(y));
	if (strcmp(x, y) != 0)
		return err_set(e, -EBADMSG, "%.200s: its metadata has a different name: %.100s",
			       w->file, name);
	/* "1.0-1" becomes "1.0_1" in a name. */
	dist_normalise(version, x, sizeof(x));
	dist_normalise(w->version, y, sizeof(y));
	if (strcmp(x, y) != 0)
		return err_set(e, -EBADMSG, "%.200s: its metadata has a different version: %.100s",
			       w->file, version);
	return 0;
}

/* A name may promise a newer "manylinux" than what the build tool wrote inside; never another
 * processor. */
static bool same_processor(const char *platforms, const char *inside)
{
	static const char *const archs[] = { "x86_64", "aarch64" };

	for (size_t i = 0; i < 2; i++)
		if (str_ends(inside, archs[i]) && str_ends(platforms, archs[i]) &&
		    strstr(inside, "linux"))
			return true;
	return false;
}

/* Every tag of the file WHEEL has to be one of those that the name stands for. */
static int check_tags(struct arena *a, const char *text, const struct wheel *w, struct err *e)
{
	size_t n = 0;

	for (char *tag; n < WHEEL_TAGS && (tag = wheel_header(a, text, "Tag", n)); n++) {
		char *abi = strchr(tag, '-'), *platform = abi ? strchr(abi + 1, '-') : NULL;

		if (platform) {
			*abi++ = '\0';
			*platform++ = '\0';
		}
		if (!platform || !any_word(w->python, word_is, tag) ||
		    !any_word(w->abi, word_is, abi) ||
		    !(any_word(w->platform, word_is, platform) ||
		      same_processor(w->platform, platform)))
			return err_set(
				e, -EBADMSG,
				"%.200s: its metadata has a different tag: %.60s-%.60s-%.100s",
				w->file, tag, platform ? abi : "", platform ? platform : "");
	}
	return n ? 0 : err_set(e, -EBADMSG, "%.200s: its metadata has no tag", w->file);
}

static int wheel_text_of(struct arena *a, const struct zip *z, const char *leaf,
			 const struct wheel *w, char **out, struct err *e)
{
	const struct zip_entry *entry = info_file(z, leaf, a, w);

	if (!entry)
		return err_set(e, -EBADMSG, "%.200s lacks %s-%s.dist-info/%s", w->file, w->name,
			       w->version, leaf);
	return zip_text(a, z, entry, METADATA_MAX, out, e);
}

static const char *without_file(struct arena *a, const char *file, const struct err *e)
{
	return str_starts(e->text, file) ? e->text : arena_printf(a, "%s: %s", file, e->text);
}

/* Holding a wheel's members against its own list of them. */

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
static void wheel_read_lines(struct arena *a, const char *text, struct map *lines)
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
	crypto_hash_sha256_state sum;
	unsigned char head[HEAD];
	size_t got;
};

static void on_data(void *ctx, const void *data, size_t n)
{
	struct pass *p = ctx;
	size_t k = n < HEAD - p->got ? n : HEAD - p->got;

	memcpy(p->head + p->got, data, k);
	p->got += k;
	crypto_hash_sha256_update(&p->sum, data, n);
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
	enum { VARIANT = sodium_base64_VARIANT_URLSAFE_NO_PADDING };
	const char *hash = map_get(lines, entry->name);
	struct pass p = { 0 };
	uint8_t sum[crypto_hash_sha256_BYTES];
	char text[sodium_base64_ENCODED_LEN(sizeof(sum), VARIANT)];
	int code;

	(void)a;
	crypto_hash_sha256_init(&p.sum);
	code = zip_pass(z, entry, on_data, &p, e);
	if (code)
		return code;
	crypto_hash_sha256_final(&p.sum, sum);
	sodium_bin2base64(text, sizeof(text), sum, sizeof(sum), VARIANT);
	/* RECORD cannot hold its own hash, nor those of its signatures. */
	if (str_ends(entry->name, ".dist-info/RECORD") ||
	    str_ends(entry->name, ".dist-info/RECORD.jws") ||
	    str_ends(entry->name, ".dist-info/RECORD.p7s"))
		return 0;
	if (!hash)
		return err_set(e, -EBADMSG, "%.200s is not listed in its RECORD", entry->name);
	if (!str_starts(hash, "sha256="))
		return err_set(e, -EBADMSG, "RECORD has no SHA-256 of %.200s", entry->name);
	if (strcmp(hash + 7, text) != 0)
		return err_set(e, -EBADMSG, "%.200s does not match RECORD: its SHA-256 differs",
			       entry->name);
	return note_machine(w, entry, &p, e);
}

/*
 * Every member against its check sum and its line in RECORD; files without a line, lines without a
 * file and other hashes are refused. Finds the machine of the libraries on the way: two of them are
 * refused too.
 */
static int wheel_record(struct arena *a, const struct zip *z, struct wheel *w, struct err *e)
{
	const char *name = arena_printf(a, "%s-%s.dist-info/RECORD", w->name, w->version);
	const struct zip_entry *record = zip_find(z, name);
	struct map lines = { 0 };
	struct map_entry *all;
	char *text;
	int code = library_open(LIBRARY_SODIUM, e);

	if (code)
		return code;
	if (!record)
		return err_set(e, -EBADMSG, "missing member: %s", name);
	code = zip_text(a, z, record, RECORD_MAX, &text, e);
	if (code)
		return code;
	wheel_read_lines(a, text, &lines);
	for (size_t i = 0; i < z->n && !code; i++)
		if (!z->entries[i].folder)
			code = check_member(a, z, &z->entries[i], &lines, w, e);
	all = code ? NULL : map_sorted(a, &lines);
	for (size_t i = 0; i < lines.n && !code; i++)
		if (!zip_find(z, all[i].key))
			code = err_set(e, -EBADMSG, "RECORD lists %.200s, which is missing",
				       all[i].key);
	return code;
}

int wheel_read(struct arena *a, struct input *in, const char *file, const struct scan_options *how,
	       struct wheel *out, struct err *e)
{
	struct wheel w;
	struct zip z;
	char *metadata, *tags;
	int code = wheel_name(a, file, &w, e);

	if (code)
		return code;
	code = zip_open(a, in, &z, e);
	if (!code)
		code = wheel_text_of(a, &z, "METADATA", &w, &metadata, e);
	if (!code)
		code = check_metadata(a, metadata, &w, e);
	if (!code)
		code = wheel_text_of(a, &z, "WHEEL", &w, &tags, e);
	if (!code)
		code = check_tags(a, tags, &w, e);
	if (!code)
		code = wheel_record(a, &z, &w, e);
	if (code) {
		char *text = arena_strdup(a, without_file(a, file, e));

		return err_set(e, code, "%s", text);
	}
	w.members = z.n;
	w.code = (struct scan){ .path = w.file, .kind = SCAN_WHEEL, .size = in->size };
	scan_wheel(a, &z, how, &w.code);
	if (w.code.n_problems)
		return err_set(e, -EBADMSG, "%.200s: %.250s", w.file, w.code.problems[0]);
	*out = w;
	return 0;
}
