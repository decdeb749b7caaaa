/* SPDX-License-Identifier: Apache-2.0 */
/*
 * io_uring: one file, reads and writes of buffers that may be registered, one thread. By liburing,
 * which is opened with the first ring.
 */
#ifndef BENCH_URING_H
#define BENCH_URING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/uio.h>

#include "base/err.h"

struct uring;

struct uring_done {
	unsigned slot;
	int result; /* bytes, or -errno */
};

/* A ring for so many requests at once, used only by the thread that opens it. -errno: io_uring is
 * refused or too old; *e says which. */
int uring_open(unsigned entries, struct uring **out, struct err *e);
/* One buffer a slot. Registers file and buffers where that is allowed; the last must outlive the
 * ring. -errno: not even the file. */
int uring_attach(struct uring *u, int fd, const struct iovec *slots, unsigned n);
bool uring_registered(const struct uring *u); /* the buffers are */
/* Prepares a request on slot's whole buffer; uring_wait hands it over. Every slot has at most one
 * under way. */
void uring_put(struct uring *u, unsigned slot, uint64_t offset, bool write);
/*
 * Hands over what was prepared, waits for at least one completion and takes up to max. 0: about a
 * quarter of a second went by without one. -errno: the ring itself failed.
 */
int uring_wait(struct uring *u, struct uring_done *out, unsigned max);
/* Nothing may be under way. */
void uring_close(struct uring *u);

#endif
