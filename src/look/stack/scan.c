/* SPDX-License-Identifier: Apache-2.0 */
/* From a file of any kind to the GPU code in it. */
#include "look/stack/scan.h"

#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "look/stack/archive.h"
#include "look/stack/elf.h"
#include "look/stack/fatbin.h"
#include "look/stack/scan_head.h"

enum { PROGBITS = 1, ALLOC = 2, EXEC = 4, LEAST = 256 };
enum { WRAPPER = 24, WRAPPER_MAGIC = 0x466243b1, WRAPPERS_MAX = 1 << 20 };

struct scanner {
	struct arena *a;
	struct scan *s;
	const struct scan_options *how;
	struct input *in;
	const char *member; /* of an archive */
	bool inside;	    /* in a library's data, not in a section of its own */
	enum code_answer best[GPU_TARGETS_MAX];
};

static void problem(struct scanner *c, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

static void problem(struct scanner *c, const char *fmt, ...)
{
	va_list ap;

	if (c->s->n_problems++ >= SCAN_PROBLEMS)
		return;
	va_start(ap, fmt);
	c->s->problems[c->s->n_problems - 1] = arena_vprintf(c->a, fmt, ap);
	va_end(ap);
}

static void on_problem(void *ctx, uint64_t at, const char *what)
{
	struct scanner *c = ctx;

	problem(c, "%s%sbyte %llu: %s", c->member ? c->member : "", c->member ? ", " : "",
		(unsigned long long)at, what);
}

static void best_reset(struct scanner *c)
{
	for (size_t i = 0; i < c->how->n_gpus; i++)
		c->best[i] = CODE_NONE;
}

static void add_code(struct scanner *c, const struct gpu_code *code)
{
	code_add(c->a, &c->s->codes, code);
	c->s->entries++;
	for (size_t i = 0; i < c->how->n_gpus && !code->empty; i++) {
		enum code_answer now = code_answer(code, &c->how->gpus[i]);

		if (now < c->best[i])
			c->best[i] = now;
	}
}

static void on_container(void *ctx)
{
	struct scanner *c = ctx;

	c->s->containers++;
	for (size_t i = 0; i < c->how->n_gpus; i++)
		c->s->served[i][c->best[i]]++;
	best_reset(c);
}

static void on_entry(void *ctx, struct input *in, const struct fatbin_entry *entry)
{
	struct scanner *c = ctx;
	struct gpu_code code = entry->code;
	const char *why = NULL;

	code.inside = c->inside;
	code.empty = head_empty(in, entry);
	add_code(c, &code);
	if (!c->how->deep)
		return;
	switch (head_compare(c->a, in, entry, &why)) {
	case 0:
		c->s->opened++;
		break;
	case -ENOTSUP:
		break;
	default:
		on_problem(c, entry->at, why);
	}
}

static int walk(struct scanner *c, struct input *in, uint64_t at, uint64_t size)
{
	struct fatbin_visitor v = { c, on_entry, on_container, on_problem };

	best_reset(c);
	return fatbin_walk(in, at, size, &v);
}

static int search(struct scanner *c, const struct elf_section *s)
{
	struct fatbin_visitor v = { c, on_entry, on_container, on_problem };
	int code;

	best_reset(c);
	c->inside = true;
	code = fatbin_search(c->in, s->at, s->size, &v);
	c->inside = false;
	return code;
}

/* One wrapper a container that the runtime knows by name; in object files their number alone. */
static int count_wrappers(struct scanner *c, const struct elf_section *s)
{
	unsigned char w[WRAPPER];
	int code = 0;

	if (s->size / WRAPPER > WRAPPERS_MAX)
		return 0;
	for (uint64_t at = 0; at + WRAPPER <= s->size && !code; at += WRAPPER) {
		code = input_read(c->in, s->at + at, w, sizeof(w));
		c->s->registered += !code && le32(w) == WRAPPER_MAGIC;
	}
	return code;
}

static int on_section(void *ctx, const struct elf_section *s)
{
	struct scanner *c = ctx;

	if (strcmp(s->name, ".nv_fatbin") == 0 || strcmp(s->name, "__nv_relfatbin") == 0)
		return walk(c, c->in, s->at, s->size);
	if (strcmp(s->name, ".nvFatBinSegment") == 0)
		return count_wrappers(c, s);
	if (s->type == PROGBITS && (s->flags & ALLOC) && !(s->flags & EXEC) && s->size >= LEAST)
		return search(c, s);
	return 0;
}

static void fail(struct scanner *c, int code, const struct err *e)
{
	if (c->s->error)
		return;
	c->s->error = e->text[0] ? arena_strdup(c->a, e->text) : strerror(-code);
}

static int scan_elf(struct scanner *c, struct input *in, struct err *e)
{
	struct elf f;
	int code = elf_open(in, &f, e);

	/* Other people's processors are no fault: they carry no GPU code. */
	if (code)
		return code == -EPROTONOSUPPORT ? 0 : code;
	c->in = in;
	if (f.machine == ELF_CUDA) {
		struct gpu_code code_of = { .kind = CODE_CUBIN, .n = 1, .size = in->size };

		cubin_target(f.abi, f.flags, &code_of.sm, &code_of.suffix);
		best_reset(c);
		add_code(c, &code_of);
		on_container(c);
		c->s->kind = SCAN_CUBIN;
		return 0;
	}
	c->s->machine = f.machine;
	return elf_each(in, &f, on_section, c, e);
}

static int on_member(void *ctx, const char *name, uint64_t at, uint64_t size)
{
	struct scanner *c = ctx;
	struct input_window w;
	struct err e = { 0 };
	unsigned char magic[4];
	int code;

	if (size < 64 || input_window(&w, c->in, at, size) || input_read(&w.in, 0, magic, 4) ||
	    memcmp(magic, "\177ELF", 4) != 0)
		return 0;
	c->member = name;
	code = scan_elf(c, &w.in, &e);
	if (code)
		problem(c, "%s: %s", name, e.text[0] ? e.text : strerror(-code));
	c->member = NULL;
	c->in = w.of;
	return 0;
}

static int scan_archive(struct scanner *c, struct input *in, struct err *e)
{
	c->in = in;
	return archive_each(in, on_member, c, e);
}

static int scan_ptx(struct scanner *c, struct input *in, bool *is)
{
	char text[PTX_HEAD + 1];
	size_t n = in->size < PTX_HEAD ? (size_t)in->size : PTX_HEAD;
	struct gpu_code code_of = { .kind = CODE_PTX, .n = 1, .size = in->size };
	int code = input_read(in, 0, text, n);

	text[code ? 0 : n] = '\0';
	*is = !code && ptx_target(text, &code_of.sm, &code_of.suffix, &code_of.ptx) == 0;
	if (*is) {
		c->s->kind = SCAN_PTX;
		best_reset(c);
		add_code(c, &code_of);
		on_container(c);
	}
	return code;
}

static int scan_by_magic(struct scanner *c, struct input *in, const char *name, struct err *e)
{
	unsigned char magic[8] = { 0 };
	struct zip z;
	bool ptx = false;
	int code = input_read(in, 0, magic, in->size < 8 ? (size_t)in->size : 8);

	if (code || in->size < 8)
		return code;
	if (memcmp(magic, "\177ELF", 4) == 0) {
		c->s->kind = SCAN_ELF;
		return scan_elf(c, in, e);
	}
	if (archive_is(magic)) {
		c->s->kind = SCAN_ARCHIVE;
		return scan_archive(c, in, e);
	}
	if (le32(magic) == FATBIN_MAGIC) {
		c->s->kind = SCAN_FATBIN;
		return walk(c, in, 0, in->size);
	}
	if (memcmp(magic, "PK\3\4", 4) == 0 || memcmp(magic, "PK\5\6", 4) == 0 ||
	    str_ends(name, ".whl")) {
		c->s->kind = SCAN_WHEEL;
		code = zip_open(c->a, in, &z, e);
		if (!code)
			scan_wheel(c->a, &z, c->how, c->s);
		return code;
	}
	return scan_ptx(c, in, &ptx);
}

void scan_input(struct arena *a, struct input *in, const char *name, const struct scan_options *how,
		struct scan *out)
{
	struct scanner c = { .a = a, .s = out, .how = how, .in = in };
	struct err e = { 0 };
	int code;

	*out = (struct scan){ .path = name, .size = in->size };
	code = scan_by_magic(&c, in, name, &e);
	if (code)
		fail(&c, code, &e);
	code_sort(&out->codes);
}

void scan_file(struct arena *a, const char *path, const struct scan_options *how, struct scan *out)
{
	struct input_file f;
	struct err e = { 0 };

	if (input_open(&f, path, &e)) {
		*out = (struct scan){ .path = path, .error = arena_strdup(a, e.text) };
		return;
	}
	scan_input(a, &f.in, path, how, out);
	input_close(&f);
}
