/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A mapped file that somebody cuts while it is read: touching what is gone sends SIGBUS, which
 * would end the program. Between begin and end this thread reads zeros there instead, and is told.
 */
#ifndef BENCH_MAP_GUARD_H
#define BENCH_MAP_GUARD_H

#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>

struct map_guard_ctx;

struct map_guard {
	struct map_guard_ctx *ctx;
	struct sigaction action; /* as it was */
	stack_t stack;
};

/* n bytes at p, mapped readable. One guard at a time in a program; 0 or -errno. */
int map_guard_begin(struct map_guard *g, void *p, size_t n);
/* Whether something was gone; from the first such page on all is zeros then. */
bool map_guard_lost(const struct map_guard *g);
/* Before munmap. */
void map_guard_end(struct map_guard *g);

#endif
