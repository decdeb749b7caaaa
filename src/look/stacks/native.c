/* SPDX-License-Identifier: Apache-2.0 */
/*
 * C frames of a thread that sleeps: the kernel says where its stack begins, and a word of the stack
 * that points behind a call instruction is a return address. Words of calls that have returned can
 * be among them, so that these frames are a help, and no proof. Names are those of the files'
 * symbol tables.
 */
#include <string.h>

#include "base/text.h"
#include "look/stack/rodata.h"
#include "look/stacks/stacks.h"

enum { STACK_WORDS = 1024, WORDS_ONCE = 128, SYMBOLS_MAX = 32 << 20, SYMBOL_BYTES = 24 };

static const struct stack_map *map_of(const struct stack_maps *m, unsigned long long at)
{
	for (size_t i = 0; i < m->n; i++)
		if (at >= m->items[i].from && at < m->items[i].to)
			return &m->items[i];
	return NULL;
}

/* Whether the instruction before this address is a call. */
static bool behind_call(pid_t pid, unsigned long long at)
{
	unsigned char b[8];

	if (!stacks_peek(pid, at - sizeof(b), b, sizeof(b)))
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
	const char *ways[] = {
		arena_printf(m->a, "/proc/%d/map_files/%llx-%llx", (int)m->pid, at->from, at->to),
		arena_printf(m->a, "/proc/%d/root%s", (int)m->pid, at->path), at->path
	};
	struct err e = { 0 };

	for (size_t i = 0; i < 3; i++)
		if (input_open(f, ways[i], &e) == 0)
			return true;
	return false;
}

static void read_symbols(struct arena *a, struct input *in, const struct elf *elf,
			 const char *table, const char *texts, struct stack_symbols *s)
{
	struct elf_section sym, str;

	if (s->n || !elf_section(in, elf, table, &sym) || !elf_section(in, elf, texts, &str) ||
	    sym.size > SYMBOLS_MAX || str.size > SYMBOLS_MAX)
		return;
	s->symbols = arena_alloc(a, sym.size + 1);
	s->names = arena_alloc(a, str.size + 1);
	s->names[str.size] = '\0';
	s->names_size = str.size;
	if (input_read(in, sym.at, s->symbols, sym.size) == 0 &&
	    input_read(in, str.at, s->names, str.size) == 0)
		s->n = sym.size / SYMBOL_BYTES;
}

/* A file's functions, as far as they are not too many. Kept with the maps. */
static const struct stack_symbols *symbols_of(struct stack_maps *m, const struct stack_map *at)
{
	struct stack_symbols *s;
	struct err e = { 0 };
	struct input_file f;
	struct elf elf;

	for (size_t i = 0; i < m->n_files; i++)
		if (strcmp(m->files[i].path, at->path) == 0)
			return &m->files[i];
	m->files = arena_grow(m->a, m->files, m->n_files, sizeof(*m->files));
	s = &m->files[m->n_files++];
	*s = (struct stack_symbols){ .path = at->path };
	for (size_t i = m->n; i-- > 0;)
		if (strcmp(m->items[i].path, at->path) == 0 && !m->items[i].offset)
			s->moved = m->items[i].from;
	if (!stacks_open_mapped(m, at, &f))
		return s;
	if (elf_open(&f.in, &elf, &e) == 0) {
		s->moved = elf.type == 3 ? s->moved : 0;
		read_symbols(m->a, &f.in, &elf, ".symtab", ".strtab", s);
		read_symbols(m->a, &f.in, &elf, ".dynsym", ".dynstr", s);
	}
	input_close(&f);
	return s;
}

/* The function that has this address; "?". */
static const char *find_function(struct stack_maps *m, const struct stack_map *at,
				 unsigned long long pc)
{
	const struct stack_symbols *s = symbols_of(m, at);

	pc -= s->moved;
	for (size_t i = 0; i < s->n; i++) {
		const unsigned char *x = s->symbols + i * SYMBOL_BYTES;
		uint64_t from = le64(x + 8);

		if ((x[4] & 0xf) == 2 && pc > from && pc - from <= le64(x + 16) &&
		    le32(x) < s->names_size)
			return utf8_clean(m->a, arena_strdup(m->a, s->names + le32(x)));
	}
	return "?";
}

static const char *function_at(struct stack_maps *m, const struct stack_map *at,
			       unsigned long long pc)
{
	size_t k = pc % STACK_NAMES;

	if (m->known[k].pc != pc) {
		m->known[k].name = find_function(m, at, pc);
		m->known[k].pc = pc;
	}
	return m->known[k].name;
}

static bool is_libc(const char *path)
{
	const char *name = path_name(path);

	return str_starts(name, "libc.so") || str_starts(name, "libc-2") ||
	       str_starts(name, "libpthread") || str_starts(name, "ld-linux");
}

size_t native_read(struct stack_maps *m, unsigned long long sp, struct stack_frame *out,
		   size_t most)
{
	unsigned char words[WORDS_ONCE * 8];
	size_t n = 0;

	for (size_t w = 0; w < STACK_WORDS && n < most; w++) {
		const struct stack_map *at;
		unsigned long long v;

		if (w % WORDS_ONCE == 0 && !stacks_peek(m->pid, sp + w * 8, words, sizeof(words)))
			break;
		v = le64(words + w % WORDS_ONCE * 8);
		at = map_of(m, v);
		if (!at || !at->code || is_libc(at->path) || !behind_call(m->pid, v))
			continue;
		out[n++] = (struct stack_frame){ .function = function_at(m, at, v),
						 .file = path_name(at->path) };
	}
	return n;
}
