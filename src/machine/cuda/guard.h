/* SPDX-License-Identifier: Apache-2.0 */
/*
 * For calls into the driver that may never return: a GPU that fell off the bus can hold the calling
 * thread in the kernel for good, where nothing of ours can wait with a limit. A thread beside it
 * that sees no touch for that long says so on standard error and ends the process.
 */
#ifndef CUDA_GUARD_H
#define CUDA_GUARD_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>

enum { CUDA_GUARD_S = 60, CUDA_GUARD_EXIT = 1 };

/* Stays where it is between begin and end. */
struct cuda_guard {
	pthread_t thread;
	pthread_mutex_t lock;
	pthread_cond_t end;
	bool begun, over;
	double seconds;
	atomic_uint touched;
	char what[160];
};

/* what: who is guarded, for the sentence ("GPU 0000:18:00.0"). Without a thread nothing is. */
void cuda_guard_begin(struct cuda_guard *g, double seconds, const char *what);
/* Something came back. */
void cuda_guard_touch(struct cuda_guard *g);
/* Nothing, when it was not begun. */
void cuda_guard_end(struct cuda_guard *g);

#endif
