/* SPDX-License-Identifier: Apache-2.0 */
/* What a library says of itself: read where a row asks for it, and no further than its limits. */
#include <ctype.h>
#include <string.h>
#include <sys/stat.h>

#include "base/clock.h"
#include "base/text.h"
#include "look/defects/rows.h"
#include "look/defects/world.h"
#include "look/stack/component.h"
#include "look/stack/elf.h"
#include "look/stack/rodata.h"
#include "look/stack/scan.h"

enum {
	COMMENT_MAX = 1 << 16,
	NOTE_MAX = 1 << 12,
	CAPTURED_MAX = 64 << 20,
	TEXTS_MAX = 64 << 20,	/* of .rodata */
	SYMBOLS_MAX = 32 << 20, /* of .dynsym and .dynstr */
	KEEP = 512,
};

/* Its bytes, at most max, ended by a NUL; NULL. */
static char *section_bytes(struct arena *a, struct input *in, const struct elf *elf,
			   const char *name, size_t max, size_t *len)
{
	struct elf_section s;
	char *p;

	if (!elf_section(in, elf, name, &s))
		return NULL;
	*len = s.size < max ? (size_t)s.size : max;
	p = arena_alloc(a, *len + 1);
	return input_read(in, s.at, p, *len) ? NULL : p;
}

/* "GCC: (GNU) 8.5.0; clang version 18.1": each once. */
static json_t *comment_of(struct arena *a, struct input *in, const struct elf *elf)
{
	TEXT_AUTO t = { 0 };
	size_t len = 0;
	char *p = section_bytes(a, in, elf, ".comment", COMMENT_MAX, &len);

	for (size_t at = 0; p && at < len; at += strlen(p + at) + 1)
		if (p[at] && !(t.s && strstr(t.s, p + at)))
			text_printf(&t, "%s%s", t.len ? "; " : "", p + at);
	return json_string(t.s ? t.s : "");
}

static json_t *build_id_of(struct arena *a, struct input *in, const struct elf *elf)
{
	size_t len = 0, n, skip;
	char *p = section_bytes(a, in, elf, ".note.gnu.build-id", NOTE_MAX, &len);
	char hex[129] = "";

	if (!p || len < 16)
		return NULL;
	skip = 12 + ((le32((unsigned char *)p) + 3) & ~3u);
	n = le32((unsigned char *)p + 4);
	if (skip > len || n > len - skip || n > 64)
		return NULL;
	for (size_t i = 0; i < n; i++)
		snprintf(hex + 2 * i, 3, "%02x", (unsigned char)p[skip + i]);
	return json_string(hex);
}

/* --- texts and symbols ------------------------------------------------------------------------ */

struct words {
	const char *literal; /* what is searched */
	const char *pattern; /* all of it */
};

/* The pattern lies in the NUL-ended text around a hit. */
static int text_there(void *ctx, const char *p, size_t n)
{
	const struct words *w = ctx;
	size_t len = strlen(w->literal);

	for (const char *at = p; (at = memmem(at, n - (size_t)(at - p), w->literal, len)); at++) {
		const char *from = at, *to = at + len;
		char text[2 * KEEP], open[KEEP];

		while (from > p && from[-1] && at - from < KEEP / 2)
			from--;
		while (to < p + n && *to && to - at < KEEP)
			to++;
		if ((size_t)(to - from) >= sizeof(text))
			continue;
		memcpy(text, from, (size_t)(to - from));
		text[to - from] = '\0';
		if (strlen(w->pattern) + 3 > sizeof(open))
			return 0;
		snprintf(open, sizeof(open), "*%s*", w->pattern);
		if (defect_name_fits(open, text))
			return 1;
	}
	return 0;
}

/* A symbol that the library defines: .dynsym, 24 bytes an entry. */
static enum answer3 symbol_there(struct arena *a, struct input *in, const struct elf *elf,
				 const char *pattern)
{
	size_t n_sym = 0, n_str = 0;
	char *sym = section_bytes(a, in, elf, ".dynsym", SYMBOLS_MAX, &n_sym);
	char *str = section_bytes(a, in, elf, ".dynstr", SYMBOLS_MAX, &n_str);

	if (!sym || !str || n_sym == SYMBOLS_MAX || n_str == SYMBOLS_MAX)
		return ANSWER_UNKNOWN;
	for (size_t i = 0; i + 24 <= n_sym; i += 24) {
		const unsigned char *s = (unsigned char *)sym + i;
		uint32_t at = le32(s);

		if (le16(s + 6) && at < n_str && defect_name_fits(pattern, str + at))
			return ANSWER_YES;
	}
	return ANSWER_NO;
}

/* --- opening ---------------------------------------------------------------------------------- */

struct opened {
	struct input *in;
	struct input_file f;
	struct input_bytes bytes; /* of a capture */
	struct arena scratch;
	struct elf elf;
	long long began;
};

static void library_close_in(struct seeing *w, bool file, struct opened *o)
{
	if (file)
		input_close(&o->f);
	arena_free(&o->scratch);
	w->content_ms += clock_mono_ms() - o->began;
}

/* False: it cannot be read, is no library, or the time for that is used up. */
static bool library_open_in(struct seeing *w, const struct defect_place *p, const json_t *lib,
			    struct opened *o)
{
	const struct place_own *own = p->own;
	const char *path = defect_text(lib, "path"), *old = defect_text(lib, "old");
	struct err e = { 0 };
	char *data;
	size_t len;

	if (!w->how->deep && w->content_ms > WORLD_CONTENT_MS) {
		world_left_out(w,
			       "the contents of libraries not read within %d ms: --deep reads all",
			       WORLD_CONTENT_MS);
		return false;
	}
	*o = (struct opened){ .began = clock_mono_ms() };
	if (own->listed || (!old && json_is_true(json_object_get(lib, "removed"))))
		return false;
	if (own->root.contents) {
		if (old ? input_open(&o->f, old, &e) : stack_open(&own->root, path, &o->f, &e))
			return false;
		o->in = &o->f.in;
	} else {
		if (host_read(own->root.h, path, CAPTURED_MAX, &o->scratch, &data, &len))
			return false;
		input_bytes(&o->bytes, data, len);
		o->in = &o->bytes.in;
	}
	if (elf_open(o->in, &o->elf, &e) == 0)
		return true;
	library_close_in(w, own->root.contents, o);
	return false;
}

static const char *machine_name(unsigned machine)
{
	return machine == ELF_AARCH64 ? "aarch64" : machine == ELF_X86_64 ? "x86_64" : "other";
}

/* "libnccl.so.2.28.9", by its own name or that of the file it links to. */
static const char *version_by_name(struct arena *a, struct host *h, const char *path)
{
	char target[HOST_PATH_MAX];
	const char *names[] = { path_name(path), NULL };

	if (h && host_link(h, path, target, sizeof(target)) == 0)
		names[1] = path_name(target);
	for (size_t i = 2; i-- > 0;) {
		const char *so = names[i] ? strstr(names[i], ".so.") : NULL;

		if (so && strchr(so + 4, '.'))
			return arena_strdup(a, so + 4);
	}
	return NULL;
}

/* The package of the environment whose folder it lies in: nvidia/nccl/lib is nvidia-nccl's. */
static const char *version_by_dist(struct arena *a, const struct defect_place *p, const char *path)
{
	const struct place_own *own = p->own;
	json_t *pip = json_object_get(p->holds, "pip"), *v;
	const char *rest, *name, *best = NULL;
	char top[128], dist[128];

	if (!own->packages || !path_is_below(path, own->packages))
		return NULL;
	rest = path + strlen(own->packages) + 1;
	if (str_starts(rest, "nvidia/")) {
		size_t n = strcspn(rest + 7, "/");

		snprintf(top, sizeof(top), "nvidia-%.*s", (int)n, rest + 7);
		/* "libcudnn.so.9" of nvidia/cu13 is nvidia-cudnn's all the same. */
		if (isdigit((unsigned char)top[strlen(top) - 1]) || strstr(top, "nvidia-cu1"))
			snprintf(top, sizeof(top), "nvidia-%.*s",
				 (int)strcspn(path_name(path) + 3, ".-_"), path_name(path) + 3);
	} else {
		snprintf(top, sizeof(top), "%.*s", (int)strcspn(rest, "/"), rest);
	}
	dist_normalise(top, dist, sizeof(dist));
	json_object_foreach(pip, name,
			    v) if (strcmp(name, dist) == 0 || component_dist_is(name, dist)) best =
		json_string_value(v);
	return best ? arena_strndup(a, best, strcspn(best, "+")) : NULL;
}

static const char *version_by_text(struct seeing *w, const struct defect_place *p, json_t *lib)
{
	const char *path = defect_text(lib, "path");
	ARENA_AUTO scratch = { 0 };

	for (const struct software_place *r = software_places; r->path; r++) {
		char version[64] = "", *text, *at;
		struct opened o;

		if ((r->kind != PLACE_BINARY && r->kind != PLACE_TEXT) ||
		    !defect_name_fits(r->path, path_name(path)))
			continue;
		if (r->kind == PLACE_TEXT &&
		    host_read(root_of(p)->h, path, HOST_READ_MAX, &scratch, &text, NULL) == 0 &&
		    (at = strstr(text, r->before))) {
			at += strlen(r->before);
			snprintf(version, sizeof(version), "%.*s", (int)strspn(at, "0123456789."),
				 at);
		} else if (r->kind == PLACE_BINARY && library_open_in(w, p, lib, &o)) {
			rodata_version(o.in, &o.elf, r->before, r->form,
				       w->how->deep ? 0 : TEXTS_MAX, version, sizeof(version));
			library_close_in(w, o.in == &o.f.in, &o);
		}
		if (strlen(version) > 2)
			return arena_strdup(w->a, version);
	}
	return NULL;
}

/* {"libcublas": {"version": "13.0.0.19"}} of the toolkit that it lies in. */
static const char *version_by_toolkit(struct arena *a, struct host *h, const char *path)
{
	const char *end = str_starts(path, "/usr/local/cuda") ? strchr(path + 11, '/') : NULL,
		   *version = NULL, *name = path_name(path);
	char *text, key[64];
	json_t *j, *v;
	size_t len;

	if (!end || host_read(h, arena_printf(a, "%.*s/version.json", (int)(end - path), path),
			      HOST_READ_MAX, a, &text, &len))
		return NULL;
	j = json_loadb(text, len, 0, NULL);
	snprintf(key, sizeof(key), "%.*s", (int)strcspn(name, "."), name);
	/* cuBLASLt comes with cuBLAS. */
	v = json_object_get(j, strcmp(key, "libcublasLt") == 0 ? "libcublas" : key);
	if (defect_text(v, "version"))
		version = arena_strdup(a, defect_text(v, "version"));
	json_decref(j);
	return version;
}

static json_t *version_of(struct seeing *w, const struct defect_place *p, json_t *lib)
{
	const struct place_own *own = p->own;
	const char *path = defect_text(lib, "path"), *v = version_by_text(w, p, lib);

	/* Its path has another file now. */
	bool removed = json_is_true(json_object_get(lib, "removed"));

	v = v ? v : version_by_name(w->a, removed ? NULL : own->root.h, path);
	v = v || removed ? v : version_by_dist(w->a, p, path);
	v = v || removed ? v : version_by_toolkit(w->a, own->root.h, path);
	return v ? json_string(v) : NULL;
}

void place_program(struct seeing *w, struct defect_place *p, const char *path)
{
	json_t *lib;
	const char *version;

	if (!wanted_name(w->wanted.programs, path_name(path)))
		return;
	lib = json_pack("{s:s}", "path", path);
	version = version_by_text(w, p, lib);
	if (version)
		place_put(p, "programs", path_name(path), json_string(version), path);
	json_decref(lib);
}

static bool package_there(const struct defect_place *p, const char *kind, const char *pattern)
{
	json_t *all = json_object_get(p->holds, kind), *v;
	const char *name;

	if (!strchr(pattern, '*'))
		return json_object_get(all, pattern);
	json_object_foreach(all, name, v) if (defect_name_fits(pattern, name)) return true;
	return false;
}

void place_native(struct seeing *w, struct defect_place *p, const struct software_place *r,
		  const char *path)
{
	const char *unless = r->unless ? r->unless : r->package;
	json_auto_t *lib = json_pack("{s:s%}", "path", path, strlen(path));
	json_t *v;

	if (!lib || !host_exists(root_of(p)->h, path) ||
	    (unless && (package_there(p, "packages", unless) || package_there(p, "rpms", unless))))
		return;
	if (r->package || r->program) {
		if ((v = version_of(w, p, lib)))
			place_put(p, r->package ? "packages" : "programs",
				  r->package ? r->package : r->program, v, path);
	} else if (wanted_name(w->wanted.libraries, path_name(path))) {
		place_library(w, p, path, false);
	} else {
		place_program(w, p, path);
	}
}

static json_t *code_of(struct seeing *w, struct input *in, const char *path)
{
	struct scan_options how = { .deep = false };
	struct scan s = { 0 };
	json_t *list = json_array();

	scan_input(w->a, in, path, &how, &s);
	if (s.error) {
		json_decref(list);
		return NULL;
	}
	code_sort(&s.codes);
	for (size_t i = 0; i < s.codes.n; i++) {
		const struct gpu_code *c = &s.codes.items[i];
		char name[32];

		if (c->kind != CODE_CUBIN && c->kind != CODE_PTX)
			continue;
		snprintf(name, sizeof(name), "%s_%u%s", c->kind == CODE_PTX ? "compute" : "sm",
			 c->sm, c->suffix ? (char[]){ c->suffix, '\0' } : "");
		json_array_append_new(list, json_string(name));
	}
	return list;
}

/* The same library lies in many containers: it is read once. */
static json_t *code_once(struct seeing *w, struct opened *o, const char *path)
{
	json_t *id = build_id_of(w->a, o->in, &o->elf), *v;
	const char *key = NULL;
	struct stat st;

	if (id && o->in == &o->f.in && fstat(o->f.fd, &st) == 0)
		key = arena_printf(w->a, "%s %lld %lld", json_string_value(id),
				   (long long)st.st_size, (long long)st.st_mtime);
	v = json_incref(json_object_get(w->codes, key));
	v = v ? v : code_of(w, o->in, path);
	if (key && v)
		json_object_set(w->codes, key, v);
	json_decref(id);
	return v;
}

void library_fill(struct defect_world *dw, const struct defect_place *p, json_t *lib,
		  const char *what)
{
	struct seeing *w = dw->ctx;
	struct opened o;
	json_t *v = NULL;

	if (strcmp(what, "version") == 0) {
		v = version_of(w, p, lib);
	} else if (library_open_in(w, p, lib, &o)) {
		if (strcmp(what, "machine") == 0)
			v = json_string(machine_name(o.elf.machine));
		else if (strcmp(what, "comment") == 0)
			v = comment_of(w->a, o.in, &o.elf);
		else if (strcmp(what, "build_id") == 0)
			v = build_id_of(w->a, o.in, &o.elf);
		else
			v = code_once(w, &o, defect_text(lib, "path"));
		library_close_in(w, o.in == &o.f.in, &o);
	}
	json_object_set_new(lib, what, v ? v : json_null());
}

enum answer3 library_has(struct defect_world *dw, const struct defect_place *p, json_t *lib,
			 const char *what, const char *pattern)
{
	struct seeing *w = dw->ctx;
	struct words look = { .pattern = pattern, .literal = defect_literal(w->a, pattern) };
	struct opened o;
	enum answer3 r;
	bool all = false;

	if (!*look.literal || !library_open_in(w, p, lib, &o))
		return ANSWER_UNKNOWN;
	if (strcmp(what, "symbols") == 0) {
		ARENA_AUTO scratch = { 0 };

		r = symbol_there(&scratch, o.in, &o.elf, pattern);
	} else {
		r = rodata_each(o.in, &o.elf, text_there, &look, w->how->deep ? 0 : TEXTS_MAX, &all)
			    ? ANSWER_YES
		    : all ? ANSWER_NO
			  : ANSWER_UNKNOWN;
	}
	library_close_in(w, o.in == &o.f.in, &o);
	return r;
}
