/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Bytes to read from: a file, a part of one, memory, or a deflated member of an archive. Whoever
 * reads says where and how much; nothing is loaded as a whole, so a library of many gigabytes costs
 * what its headers cost.
 */
#ifndef STACK_INPUT_H
#define STACK_INPUT_H

#include <errno.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

struct input {
	/* Exactly n bytes from at on: 0, -ENODATA when they lie beyond the end, -EIO or another
	 * -errno of the system, -EBADMSG when packed bytes are broken. Called through input_read.
	 */
	int (*read)(struct input *in, uint64_t at, void *buf, size_t n);
	uint64_t size;
};

int input_read(struct input *in, uint64_t at, void *buf, size_t n);

struct input_file {
	struct input in;
	int fd;
};
/* A regular file; anything else (a pipe, a device) is refused with -EINVAL and *e. */
int input_open(struct input_file *f, const char *path, struct err *e);
/* The same of an open descriptor, which then belongs to f. */
int input_open_fd(struct input_file *f, int fd, const char *name, struct err *e);
void input_close(struct input_file *f);

/* size bytes of `of` from at on; -ENODATA when it has not so many. `of` has to outlive it. */
struct input_window {
	struct input in;
	struct input *of;
	uint64_t at;
};
int input_window(struct input_window *w, struct input *of, uint64_t at, uint64_t size);

struct input_bytes {
	struct input in;
	const unsigned char *data;
};
void input_bytes(struct input_bytes *b, const void *data, size_t size);

/* Little-endian numbers at p. */
static inline uint16_t le16(const unsigned char *p)
{
	return (uint16_t)(p[0] | p[1] << 8);
}

static inline uint32_t le32(const unsigned char *p)
{
	return (uint32_t)le16(p) | (uint32_t)le16(p + 2) << 16;
}

static inline uint64_t le64(const unsigned char *p)
{
	return (uint64_t)le32(p) | (uint64_t)le32(p + 4) << 32;
}

#endif
