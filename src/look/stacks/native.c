/* SPDX-License-Identifier: Apache-2.0 */
/*
 * C frames, from registers and the top of a stack: by the rules of .eh_frame (unwind.c), else by
 * frame pointers, else by the next word that points behind a call instruction, which can be of a
 * call that has returned. So the innermost is right, and those around it nearly always. Names are
 * those of the files' symbol tables, which are not kept: large libraries have 30 MB.
 */
#include <string.h>

#include "base/text.h"
#include "look/stack/rodata.h"
#include "look/stacks/stacks.h"

enum { SYMBOL = 24, SYMBOLS_ONCE = 1024, NAME_BYTES = 128, NAMES_MAX = 4096 };

typedef unsigned long long at_t;

static const struct stack_map *map_of(const struct stack_maps *m, at_t at)
{
	size_t low = 0, high = m->n;

	while (low < high) {
		size_t middle = (low + high) / 2;

		if (at < m->items[middle].from)
			high = middle;
		else if (at >= m->items[middle].to)
			low = middle + 1;
		else
			return &m->items[middle];
	}
	return NULL;
}

/* Whether code is there, behind a call. */
static bool returns(const struct stack_maps *m, at_t at)
{
	const struct stack_map *map = map_of(m, at);
	unsigned char b[8];

	if (!map || !map->code || !stacks_peek(m->pid, at - sizeof(b), b, sizeof(b)))
		return false;
#if defined(__aarch64__)
	return (le32(b + 4) & 0xfc000000) == 0x94000000 || /* BL, BLR */
	       (le32(b + 4) & 0xfffffc1f) == 0xd63f0000;
#else
	for (size_t n = 2; n <= 7; n++) /* FF /2, which has two to seven bytes */
		if (b[8 - n] == 0xff && (b[9 - n] & 0x38) == 0x10)
			return true;
	return b[3] == 0xe8;
#endif
}

bool stacks_open_mapped(const struct stack_maps *m, const struct stack_map *at,
			struct input_file *f)
{
	ARENA_AUTO a = { 0 };
	const char *ways[] = {
		arena_printf(&a, "/proc/%d/map_files/%llx-%llx", (int)m->pid, at->from, at->to),
		arena_printf(&a, "/proc/%d/root%s", (int)m->pid, at->path), at->path
	};
	struct err e = { 0 };

	for (size_t i = 0; i < 3; i++)
		if (input_open(f, ways[i], &e) == 0)
			return true;
	return false;
}

/* The function at pc, or the gap between two others. */
static void name_in(struct input *in, const struct elf *elf, const char *table, const char *texts,
		    at_t pc, struct stack_name *x, char *name)
{
	unsigned char block[SYMBOLS_ONCE * SYMBOL];
	struct elf_section sym, str;
	uint64_t n = sizeof(block);

	if (*name || !elf_section(in, elf, table, &sym) || !elf_section(in, elf, texts, &str))
		return;
	for (uint64_t at = 0; at + SYMBOL <= sym.size; at += SYMBOL) {
		const unsigned char *s = block + at % sizeof(block);
		at_t from, to;

		n = sym.size - at < n ? sym.size - at : n;
		if (s == block && input_read(in, sym.at + at, block, n))
			return;
		from = le64(s + 8);
		to = from + le64(s + 16);
		if ((s[4] & 0xf) != 2 || !from || to <= from)
			continue;
		x->from = to <= pc && to > x->from ? to : x->from;
		x->to = from > pc && from < x->to ? from : x->to;
		if (pc < from || pc >= to || le32(s) >= str.size)
			continue;
		n = str.size - le32(s) < NAME_BYTES ? str.size - le32(s) : NAME_BYTES - 1;
		if (input_read(in, str.at + le32(s), name, n) == 0)
			*x = (struct stack_name){ from, to, name };
		return;
	}
}

/* The function that has this address; "?". */
static const char *function_at(struct stack_maps *m, const struct stack_map *at, at_t pc)
{
	const struct stack_map *base = at;
	struct stack_name x = { at->from, at->to, NULL };
	char name[NAME_BYTES] = "";
	struct err e = { 0 };
	struct input_file in;
	struct elf elf;
	at_t moved = 0;

	for (size_t n = 0; n < m->n_names; n++)
		if (pc >= m->names[n].from && pc < m->names[n].to)
			return m->names[n].name;
	while (base > m->items && base->offset && strcmp(base[-1].path, at->path) == 0)
		base--;
	if (stacks_open_mapped(m, at, &in)) {
		if (elf_open(&in.in, &elf, &e) == 0) {
			moved = elf.type == 3 ? base->from : 0;
			x.from -= moved;
			x.to -= moved;
			name_in(&in.in, &elf, ".symtab", ".strtab", pc - moved, &x, name);
			name_in(&in.in, &elf, ".dynsym", ".dynstr", pc - moved, &x, name);
		}
		input_close(&in);
	}
	x = (struct stack_name){ x.from + moved, x.to + moved,
				 *name ? utf8_clean(m->a, arena_strdup(m->a, name)) : "?" };
	if (m->n_names == NAMES_MAX)
		m->names[pc % NAMES_MAX] = x;
	else
		ARENA_ADD(m->a, m->names, m->n_names) = x;
	return x.name;
}

bool native_libc(const char *file)
{
	return str_starts(file, "libc.so") || str_starts(file, "libc-2") ||
	       str_starts(file, "libpthread") || str_starts(file, "ld-linux");
}

/* --- the walk --------------------------------------------------------------------------------- */

/* By the frame pointer, or by what looks like a return address: that of a function without a frame
 * is first of all. */
static bool by_words(const struct stack_maps *m, const struct stack_top *t, bool first,
		     struct stack_regs *r)
{
	at_t back = r->fp >= r->sp ? stack_word(t, r->fp + 8) : 0, pc;

	if (returns(m, back) && !(first && returns(m, stack_word(t, r->sp)))) {
		*r = (struct stack_regs){ back, r->fp + 16, stack_word(t, r->fp), 0 };
		return true;
	}
	for (at_t at = r->sp; t->n >= 8 && at - t->begin <= t->n - 8; at += 8) {
		pc = stack_word(t, at);
		if (returns(m, pc)) {
			*r = (struct stack_regs){ pc, at + 8, r->fp, 0 };
			return true;
		}
	}
	return false;
}

size_t native_read(struct stack_maps *m, struct stack_regs r, const unsigned char *stack, size_t n,
		   struct stack_frame *out, size_t most)
{
	const struct stack_top t = { stack, r.sp, n };
	bool first = true;
	size_t found = 0;

	for (; found < most && r.pc; first = false) {
		const struct stack_map *map = map_of(m, r.pc - !first);
		const char *name = map && map->code ? function_at(m, map, r.pc - !first) : NULL;

		m->missed |= !name;
		if (name)
			out[found++] = (struct stack_frame){ .function = name,
							     .file = path_name(map->path) };
		if (name && str_starts(name, "_PyEval_EvalFrame"))
			break;
		if (!(name && unwind_step(m, map, &t, first, &r)) && !by_words(m, &t, first, &r))
			break;
	}
	return found;
}
