/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The caller of a place in a function, by the rules of .eh_frame (DWARF 5, 6.4) in the memory of
 * the process. All of it may be wrong: rules that are not understood are none; all is bounded.
 */
#include <string.h>

#include "look/stack/input.h"
#include "look/stacks/stacks.h"

enum { PLACES = 512, ENTRY_MAX = 4096, REMEMBERED = 8 };
enum { HEADERS_MAX = 64, HEADER = 56, EH_FRAME_HEADER = 0x6474e550 };
#if defined(__aarch64__)
enum { REG_FP = 29, REG_SP = 31, REG_RETURN = 30 };
#else
enum { REG_FP = 6, REG_SP = 7, REG_RETURN = 16 };
#endif

typedef unsigned long long at_t;

/* The caller's stack pointer is end bytes above the register by; its place and frame pointer are
 * kept at back and fp from there (0: not kept). last: there is no caller. */
struct rule {
	int end, back, fp;
	uint64_t by; /* REG_SP, REG_FP; others: no rule */
	bool last;
};

/* What was found: threads are in the same places again. */
struct stack_rules {
	struct known_file {
		const char *path;
		at_t moved, rules; /* rules: .eh_frame_hdr */
		size_t n_rules;
	} * files;
	size_t n_files;
	struct {
		at_t pc;
		struct rule rule;
	} places[PLACES];
};

/* A file by its headers as they are mapped: where it was moved to, and its table of rules. */
static const struct known_file *file_of(const struct stack_maps *m, const struct stack_map *at)
{
	struct stack_rules *k = m->rules;
	size_t i = (size_t)(at - m->items);
	unsigned char b[64], p[HEADER];
	struct known_file *f;
	at_t base, table = 0;

	for (size_t n = 0; n < k->n_files; n++)
		if (strcmp(k->files[n].path, at->path) == 0)
			return &k->files[n];
	while (i && m->items[i].offset && strcmp(m->items[i - 1].path, at->path) == 0)
		i--;
	base = m->items[i].from;
	f = &ARENA_ADD(m->a, k->files, k->n_files);
	*f = (struct known_file){ .path = at->path, .moved = base };
	if (!stacks_peek(m->pid, base, b, 64) || memcmp(b, "\177ELF\2\1", 6) != 0)
		return f;
	for (unsigned n = 0; n < le16(b + 56) && n < HEADERS_MAX; n++) {
		if (!stacks_peek(m->pid, base + le64(b + 32) + n * HEADER, p, HEADER))
			return f;
		if (le32(p) == 1 && !le64(p + 8)) /* loaded from the file's begin */
			f->moved = base - le64(p + 16);
		table = le32(p) == EH_FRAME_HEADER ? le64(p + 16) : table;
	}
	f->rules = f->moved + table;
	/* As all linkers make it: numbers of 32 bits, sorted. */
	if (table && stacks_peek(m->pid, f->rules, b, 12) && le32(b) == 0x3b031b01)
		f->n_rules = le32(b + 8);
	return f;
}

/* The unread rest of an entry; p: NULL after reading past its end. */
struct cursor {
	const unsigned char *p, *end;
};

static uint64_t number(struct cursor *c, size_t n)
{
	uint64_t v = 0;

	if (!c->p || (size_t)(c->end - c->p) < n)
		return c->p = NULL, 0;
	for (size_t i = 0; i < n && i < 8; i++)
		v |= (uint64_t)c->p[i] << 8 * i;
	c->p += n;
	return v;
}

/* Seven bits a byte, the least first. Numbers that matter are small. */
static int leb(struct cursor *c, bool is_signed)
{
	uint32_t v = 0, b = 0x80;
	unsigned shift = 0;

	for (; b & 0x80; shift += 7) {
		b = (uint32_t)number(c, 1);
		v |= shift < 32 ? (b & 0x7f) << shift : 0;
	}
	return (int)(is_signed && b & 0x40 && shift < 32 ? v | ~0U << shift : v);
}

/* An entry behind its length: a function's, or what several share. */
static struct cursor entry_at(pid_t pid, at_t at, unsigned char *buf)
{
	bool there = stacks_peek(pid, at, buf, 4) && le32(buf) >= 8 && le32(buf) <= ENTRY_MAX;
	size_t n = there ? le32(buf) : 0;

	return there && stacks_peek(pid, at + 4, buf, n) ? (struct cursor){ buf, buf + n }
							 : (struct cursor){ NULL, NULL };
}

/* An instruction that says how; false: one that is not understood. */
static bool set_rule(struct cursor *c, unsigned op, int data, const struct rule *first,
		     struct rule *r)
{
	unsigned high = op >> 6, reg = high ? op & 0x3f : 0;
	int off = 0;

	if (op == 0 || op == 0x2d) /* nop, AARCH64_negate_ra_state */
		return true;
	if (op == 0x0e || op == 0x2e) { /* def_cfa_offset, GNU_args_size */
		off = leb(c, false);
		r->end = op == 0x0e ? off : r->end;
		return true;
	}
	reg = high ? reg : (unsigned)leb(c, false);
	if (op == 0x0c || op == 0x0d) { /* def_cfa, def_cfa_register */
		r->by = reg;
		r->end = op == 0x0c ? leb(c, false) : r->end;
		return true;
	}
	if (high == 2 || op == 5 || op == 0x11) /* offset, offset_extended, ..._sf */
		off = (int)((unsigned)leb(c, op == 0x11) * (unsigned)data);
	else if (high == 3 || op == 6) /* restore, restore_extended */
		off = reg == REG_FP ? first->fp : first->back;
	else if (op == 7) /* undefined */
		r->last |= reg == REG_RETURN;
	else if (op != 8) /* same_value */
		return false;
	r->back = reg == REG_RETURN ? off : r->back;
	r->fp = reg == REG_FP ? off : r->fp;
	return true;
}

/* Runs the rules up to this offset in the function. */
static bool run(struct cursor c, uint64_t code, int data, at_t place, struct rule *r)
{
	struct rule first = *r, kept[REMEMBERED];
	unsigned n = 0;

	for (at_t at = 0; c.p && c.p < c.end;) {
		unsigned op = (unsigned)number(&c, 1);

		if (op >> 6 == 1 || (op >= 2 && op <= 4)) { /* advance_loc, ...1, 2, 4 */
			at += code * (op >> 6 == 1 ? op & 0x3f : number(&c, 1u << (op - 2)));
			if (at > place)
				return true;
		} else if (op == 0x0a && n < REMEMBERED) {
			kept[n++] = *r;
		} else if (op == 0x0b && n) {
			*r = kept[--n];
		} else if (!set_rule(&c, op, data, &first, r)) {
			return false;
		}
	}
	return c.p;
}

/* The entry of the sorted table for this address. */
static at_t find_entry(pid_t pid, const struct known_file *f, at_t pc, at_t *begin)
{
	size_t low = 0, high = f->n_rules;
	at_t entry = 0;

	while (low < high) {
		size_t middle = (low + high) / 2;
		unsigned char row[8];
		at_t from;

		if (!stacks_peek(pid, f->rules + 12 + middle * 8, row, 8))
			return 0;
		from = f->rules + (at_t)(long long)(int32_t)le32(row);
		if (from > pc) {
			high = middle;
			continue;
		}
		low = middle + 1;
		*begin = from;
		entry = f->rules + (at_t)(long long)(int32_t)le32(row + 4);
	}
	return entry;
}

static struct rule rule_at(pid_t pid, const struct known_file *f, at_t pc)
{
	unsigned char own[ENTRY_MAX], shared[ENTRY_MAX];
	struct rule r = { .by = 0 };
	at_t begin = 0, entry = find_entry(pid, f, pc, &begin);
	struct cursor c = entry_at(pid, entry, own),
		      k = c.p ? entry_at(pid, entry + 4 - le32(own), shared) : c;
	uint64_t code;
	int data, size;

	number(&k, 5); /* with its version; then what it has, which begins with 'z' */
	if (!k.p || *k.p != 'z')
		return r;
	while (number(&k, 1))
		;
	code = (uint64_t)leb(&k, false);
	data = leb(&k, true);
	size = leb(&k, false) == REG_RETURN ? leb(&k, false) : -1;
	number(&k, size < 0 ? ENTRY_MAX : (size_t)size);
	number(&c, 4);
	/* Numbers of 32 bits, from here; others are another function's. */
	if (entry + 8 + (at_t)(long long)(int32_t)number(&c, 4) != begin ||
	    pc - begin >= number(&c, 4))
		return r;
	number(&c, (size_t)leb(&c, false));
	if (!run(k, code, data, ~(at_t)0, &r) || !run(c, code, data, pc - begin, &r))
		r.by = 0;
	return r;
}

at_t stack_word(const struct stack_top *t, at_t at)
{
	return at >= t->begin && t->n >= 8 && at - t->begin <= t->n - 8
		       ? le64(t->bytes + (at - t->begin))
		       : 0;
}

bool unwind_step(struct stack_maps *m, const struct stack_map *map, const struct stack_top *t,
		 bool first, struct stack_regs *r)
{
	at_t pc = r->pc - !first, end, back;
	size_t k = pc % PLACES;
	struct rule *x;

	m->rules = m->rules ? m->rules : ARENA_NEW(m->a, struct stack_rules);
	x = &m->rules->places[k].rule;
	if (m->rules->places[k].pc != pc)
		*x = rule_at(m->pid, file_of(m, map), pc);
	m->rules->places[k].pc = pc;
	end = (x->by == REG_FP ? r->fp : r->sp) + (at_t)(long long)x->end;
	back = x->back ? stack_word(t, end + (at_t)(long long)x->back) : first ? r->link : 0;
	back &= 0xffffffffffff; /* arm64's may be signed */
	if ((x->by != REG_FP && x->by != REG_SP) || end < r->sp || (end == r->sp && !first) ||
	    (!back && !x->last))
		return false;
	*r = (struct stack_regs){ x->last ? 0 : back, end,
				  x->fp ? stack_word(t, end + (at_t)(long long)x->fp) : r->fp, 0 };
	return true;
}
