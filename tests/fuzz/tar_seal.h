/* SPDX-License-Identifier: Apache-2.0 */
/* Tar archives in memory for fuzz targets: opened from a descriptor, with check sums that fit, so
 * that changes get further than the first header. */
#ifndef TESTS_FUZZ_TAR_SEAL_H
#define TESTS_FUZZ_TAR_SEAL_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "machine/host/host.h"

enum { FUZZ_RECORD = 512 };

static inline void fuzz_seal(unsigned char *h)
{
	unsigned sum = 0;

	memset(h + 148, ' ', 8);
	for (int i = 0; i < FUZZ_RECORD; i++)
		sum += h[i];
	snprintf((char *)h + 148, 8, "%06o", sum);
}

/* Makes the sum of every header fit that a reader would come to; a header of zeros is the end mark.
 */
static inline void fuzz_seal_all(unsigned char *data, size_t size)
{
	static const unsigned char zero[FUZZ_RECORD];

	for (size_t at = 0; at + FUZZ_RECORD <= size;) {
		char octal[13] = { 0 };
		unsigned long n;

		if (memcmp(data + at, zero, FUZZ_RECORD) == 0)
			return;
		fuzz_seal(data + at);
		memcpy(octal, data + at + 124, 12);
		n = strtoul(octal, NULL, 8);
		if (n > size)
			return;
		at += FUZZ_RECORD + (n + FUZZ_RECORD - 1) / FUZZ_RECORD * FUZZ_RECORD;
	}
}

/* Opens the bytes as a capture; NULL when it is refused. A refusal without a sentence is a failure.
 */
static inline struct host *fuzz_open(const unsigned char *data, size_t size)
{
	int fd = memfd_create("capture", MFD_CLOEXEC);
	struct err e = { 0 };
	struct host *h;
	char path[64];

	if (fd < 0 || write(fd, data, size) != (ssize_t)size)
		abort();
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	h = host_open_capture(path, &e);
	close(fd);
	if (!h && !*e.text)
		abort();
	return h;
}

/* Everything that can be asked about one path, and again a level below a folder. */
static inline void fuzz_visit(struct host *h, const char *path, int depth)
{
	struct arena a = { 0 };
	char line[256], target[HOST_PATH_MAX], *text, **names;
	enum host_kind kind;
	size_t n;

	host_kind(h, path, &kind);
	host_read_line(h, path, line, sizeof(line));
	if (host_read(h, path, HOST_READ_MAX, &a, &text, &n) == 0 && text[n] != '\0')
		abort();
	if (host_link_path(h, path, target, sizeof(target)) == 0 && depth)
		fuzz_visit(h, target, 0);
	if (depth && host_list(h, path, &a, &names, &n) == 0)
		for (size_t i = 0; i < n && i < 16; i++) {
			const char *below =
				arena_printf(&a, "%s/%s", strcmp(path, "/") ? path : "", names[i]);

			fuzz_visit(h, below, depth - 1);
		}
	arena_free(&a);
}

#endif
