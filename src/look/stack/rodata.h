/* SPDX-License-Identifier: Apache-2.0 */
/* The read-only data of a library, where its own words about itself stand. */
#ifndef STACK_RODATA_H
#define STACK_RODATA_H

#include <stdbool.h>

#include "look/stack/elf.h"

/* Of a stretch, how much of its end is there again before the next. */
enum { RODATA_KEEP = 16384 };

/* The section of that name; false: there is none. */
bool elf_section(struct input *in, const struct elf *elf, const char *name,
		 struct elf_section *out);
/* Calls each for every stretch of .rodata, at most max bytes (0: all); what it returns ends the
 * walk. *all: nothing was left out. */
int rodata_each(struct input *in, const struct elf *elf,
		int (*each)(void *ctx, const char *p, size_t n), void *ctx, uint64_t max,
		bool *all);
/* The first version that stands behind the text: "NCCL version " of "NCCL version 2.28.9+cuda13.0".
 * "" where there is none. NULL: the one that is a whole text and begins like form ("##.##.", of
 * which '#' is a digit); form NULL as well: the one that a Go program was linked with. */
void rodata_version(struct input *in, const struct elf *elf, const char *before, const char *form,
		    uint64_t max, char *out, size_t cap);

#endif
