/* SPDX-License-Identifier: Apache-2.0 */
/* Threads that read and write one block each at a time: what is left without io_uring. */
#ifndef BENCH_DISK_THREADS_H
#define BENCH_DISK_THREADS_H

#include "measure/bench/uring.h"

struct disk_threads;

/* n threads, one a slot. slots must outlive them. -errno and *e. */
int disk_threads_open(int fd, const struct iovec *slots, unsigned n, struct disk_threads **out,
		      struct err *e);
/* As uring_put and uring_wait. */
void disk_threads_put(struct disk_threads *t, unsigned slot, uint64_t offset, bool write);
int disk_threads_wait(struct disk_threads *t, struct uring_done *out, unsigned max);
void disk_threads_close(struct disk_threads *t);

/* One request by the caller itself: bytes or -errno. */
int disk_transfer(int fd, const struct iovec *v, uint64_t offset, bool write);

#endif
