/* SPDX-License-Identifier: Apache-2.0 */
/* C frames of registers and a stack: this process looked at by itself, and stacks of garbage. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
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
		assert_true(
			native_read(&m,
				    (struct stack_regs){ code, at, at + (uint64_t)(rand() % 300) },
				    stack, n, f, 16) <= 16);
		free(stack);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(walks), cmocka_unit_test(garbage) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}
