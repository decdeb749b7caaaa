/* SPDX-License-Identifier: Apache-2.0 */
/* Any file as evidence of a training run: refused with a word, or figures that are finite and stand
 * in it. */
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "diagnose/evidence.h"

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size);

static void check(const struct evidence *ev)
{
	for (size_t i = 0; i < ev->n_figures; i++) {
		const struct figure_seen *f = &ev->figures[i];

		if (!isfinite(f->value) || f->kind >= FIGURE_KINDS || f->file >= ev->n_files ||
		    f->line > ev->files[f->file].lines || f->rank < -1 || f->step < -1 ||
		    (f->kind != FIGURE_LOSS && f->value < 0))
			abort();
	}
	for (size_t i = 0; i < ev->n_traits; i++)
		if (!ev->traits[i].text || ev->traits[i].kind >= TRAIT_KINDS ||
		    ev->traits[i].line > ev->files[ev->traits[i].file].lines)
			abort();
}

/* The name may tell a rank; the file stands in memory. */
int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size)
{
	struct arena a = { 0 };
	struct evidence ev = { .arena = &a };
	struct err e = { 0 };
	int fd = memfd_create("rank3", MFD_CLOEXEC);
	char path[64];

	if (fd < 0)
		abort();
	while (size) {
		ssize_t n = write(fd, data, size);

		if (n <= 0)
			abort();
		data += n;
		size -= (size_t)n;
	}
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	if (evidence_add(&ev, path, 0, &e) && !*e.text)
		abort();
	check(&ev);
	arena_free(&a);
	close(fd);
	return 0;
}
