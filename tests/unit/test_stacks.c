/* SPDX-License-Identifier: Apache-2.0 */
/* C frames of registers and a stack: this process looked at by itself, and stacks of garbage. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "look/stacks/stacks.h"

enum { WORDS = 1024, ROUNDS = 20000 };

/* A place behind a call instruction, which the walk has to find. */
__attribute__((noinline)) static uintptr_t return_place(void)
{
	return (uintptr_t)__builtin_return_address(0);
}

static struct stack_maps own_maps(struct arena *a, uintptr_t code)
{
	struct stack_maps m = { .a = a, .pid = getpid() };

	ARENA_ADD(a, m.items, m.n) =
		(struct stack_map){ code & ~(uintptr_t)0xfff, (code | 0xfff) + 1, 0,
				    "/proc/self/exe", true };
	return m;
}

static void walks(void **state)
{
	uintptr_t code = return_place();
	ARENA_AUTO a = { 0 };
	struct stack_maps m = own_maps(&a, code);
	uint64_t stack[WORDS] = { 0 };
	struct stack_frame f[8];
	/* As if it began at this address: a leaf, a frame of four words, and one without a frame
	 * pointer. */
	const uint64_t sp = 0x7000000000;

	(void)state;
	stack[0] = 12345;
	stack[5] = sp + 8 * 20;
	stack[6] = code;
	stack[21] = code;
	stack[40] = code;
	assert_int_equal(native_read(&m, (struct stack_regs){ .pc = code, .sp = sp, .fp = sp + 40 },
				     (void *)stack, sizeof(stack), f, 8),
			 4);
	assert_string_equal(f[0].file, "exe");
	/* The first word of a leaf's stack is its caller's, whatever the frame pointer says. */
	stack[0] = code;
	assert_int_equal(native_read(&m, (struct stack_regs){ .pc = code, .sp = sp, .fp = sp + 40 },
				     (void *)stack, sizeof(stack), f, 8),
			 5);
	assert_int_equal(native_read(&m, (struct stack_regs){ .pc = code, .sp = sp, .fp = sp + 40 },
				     (void *)stack, sizeof(stack), f, 2),
			 2);
	assert_false(m.missed);
	/* Code in no file is none, and is said. */
	assert_int_equal(
		native_read(&m, (struct stack_regs){ .pc = 64, .sp = sp }, (void *)stack, 4, f, 8),
		0);
	assert_true(m.missed);
}

static void garbage(void **state)
{
	uintptr_t code = return_place();
	ARENA_AUTO a = { 0 };
	struct stack_maps m = own_maps(&a, code);
	struct stack_frame f[16];

	(void)state;
	srand(1);
	for (int i = 0; i < ROUNDS; i++) {
		size_t n = (size_t)rand() % 256;
		unsigned char *stack =
			malloc(n + 1); /* its own, so that a sanitizer knows its end */
		uint64_t at = i % 3   ? 0x7000000000
			      : i % 2 ? UINT64_MAX - (uint64_t)(rand() % 512)
				      : 0;

		for (size_t k = 0; k < n; k++)
			stack[k] = (unsigned char)rand();
		for (size_t k = 0; k + 8 <= n; k += 8)
			if (rand() % 3 == 0)
				memcpy(stack + k,
				       rand() % 2 ? &(uint64_t){ code }
						  : &(uint64_t){ at + (uint64_t)(rand() % 300) },
				       8);
		assert_true(native_read(&m,
					(struct stack_regs){ code, at,
							     at + (uint64_t)(rand() % 300), 0 },
					stack, n, f, 16) <= 16);
		free(stack);
	}
}

/* This program's own image, with the file that it is of. */
static void own_image(struct arena *a, struct stack_maps *m)
{
	FILE *f = fopen("/proc/self/maps", "r");
	char line[4096], rights[5], path[2048], own[2048] = "";

	*m = (struct stack_maps){ .a = a, .pid = getpid() };
	assert_true(readlink("/proc/self/exe", own, sizeof(own) - 1) > 0);
	while (f && fgets(line, sizeof(line), f)) {
		struct stack_map x = { 0 };

		if (sscanf(line, "%llx-%llx %4s %llx %*s %*s %2047s", &x.from, &x.to, rights,
			   &x.offset, path) == 5 &&
		    strcmp(path, own) == 0) {
			x.path = arena_strdup(a, path);
			x.code = rights[2] == 'x';
			ARENA_ADD(a, m->items, m->n) = x;
		}
	}
	fclose(f);
	assert_true(m->n > 0);
}

static struct stack_maps image;
static struct stack_frame seen[16];
static size_t n_seen;

/* Its own stack, without a frame pointer to go by. */
__attribute__((noinline)) static void innermost(volatile char *room)
{
	static unsigned char copy[16384];
	struct stack_regs r = { 0 };
	size_t n = 0;

#if defined(__aarch64__)
	__asm__ volatile("mov %0, sp\n\tadr %1, .\n\tmov %2, x30\n\tmov %3, x29"
			 : "=&r"(r.sp), "=&r"(r.pc), "=&r"(r.link), "=&r"(r.fp));
#else
	__asm__ volatile("mov %%rsp, %0\n\tlea (%%rip), %1\n\tmov %%rbp, %2"
			 : "=&r"(r.sp), "=&r"(r.pc), "=&r"(r.fp));
#endif
	/* As of another process: a sanitizer watches what is read of this one. */
	while (n < sizeof(copy) && stacks_peek(getpid(), r.sp + n, copy + n, 512))
		n += 512;
	n_seen = native_read(&image, r, copy, n, seen, 16);
	room[0] = 1;
}

__attribute__((noinline)) static void between(volatile char *room)
{
	volatile char more[200];

	more[3] = room[0];
	innermost(more);
	room[1] = more[0];
}

__attribute__((noinline)) static void outermost(void)
{
	volatile char room[48] = { 0 };

	between(room);
	room[2] = 1;
}

static void rules(void **state)
{
	static const char *const names[] = { "innermost", "between", "outermost", "rules" };
	ARENA_AUTO a = { 0 };

	(void)state;
	own_image(&a, &image);
	outermost();
	assert_true(n_seen >= 4);
	for (size_t i = 0; i < 4; i++)
		assert_string_equal(seen[i].function, names[i]);
}

/* A copy of the image in which bytes are wrong: its rules, and the headers that lead to them. */
static void wrong_rules(void **state)
{
	ARENA_AUTO a = { 0 };
	struct stack_maps m, own;
	size_t size;
	unsigned char *copy;
	struct stack_frame f[16];

	(void)state;
	own_image(&a, &own);
	size = (size_t)(own.items[own.n - 1].to - own.items[0].from);
	copy = calloc(1, size + 1);
	for (int i = 0; i < ROUNDS / 10; i++) {
		ARENA_AUTO scratch = { 0 };
		unsigned char *at = copy + (size_t)rand() % (i % 4 ? size : 4096);
		unsigned char was = *at;
		uint64_t stack[64];

		for (size_t k = 0; i == 0 && k < own.n; k++)
			assert_true(stacks_peek(getpid(), own.items[k].from,
						copy + (own.items[k].from - own.items[0].from),
						(size_t)(own.items[k].to - own.items[k].from)));
		*at = (unsigned char)rand();
		m = (struct stack_maps){ .a = &scratch, .pid = getpid() };
		ARENA_ADD(&scratch, m.items, m.n) =
			(struct stack_map){ (uintptr_t)copy, (uintptr_t)copy + size, 0, "/none",
					    true };
		for (int k = 0; k < 64; k++)
			stack[k] = (uintptr_t)copy + (uint64_t)rand() % size;
		for (int k = 0; k < 8; k++)
			native_read(&m,
				    (struct stack_regs){ stack[k], (uintptr_t)stack,
							 (uintptr_t)(stack + 8), stack[9] },
				    (void *)stack, sizeof(stack), f, 16);
		*at = i % 16 ? *at : was; /* more and more of it is wrong */
	}
	free(copy);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(walks), cmocka_unit_test(garbage),
					    cmocka_unit_test(rules),
					    cmocka_unit_test(wrong_rules) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}
