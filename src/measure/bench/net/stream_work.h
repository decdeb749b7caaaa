/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the threads of stream.c do. A thread serves the connections that are its own in turns, so
 * that there need not be more threads than CPUs.
 */
#ifndef NET_STREAM_WORK_H
#define NET_STREAM_WORK_H

#include <pthread.h>
#include <stdatomic.h>

#include "measure/bench/net/stream.h"

/* One connection; on cache lines of its own. The thread alone has what is not atomic. */
struct stream {
	_Alignas(128) atomic_ullong bytes;
	atomic_ullong wrong;
	atomic_int error;	   /* errno */
	struct stream_check check; /* of a receiver */
	uint64_t sent;
	size_t index;
	int fd;
	bool over;
};

/* One thread: connections first, first + step, first + 2 * step, ... */
struct stream_thread {
	struct streams *all;
	uint8_t *buffer; /* STREAM_BUFFER bytes, for all of its connections: what is small stays
			    near */
	pthread_t id;
	size_t first;
	bool running;
};

struct streams {
	enum stream_role role;
	uint64_t test;
	uint32_t size;
	const struct idset *cpus;
	atomic_bool stop;
	bool finished;	   /* all threads ended well */
	size_t n, threads; /* which is the step too */
	struct stream *one;
	struct stream_thread *thread;
	uint8_t *pattern; /* as stream_fill made it */
};

/* A thread's main; arg: struct stream_thread. */
void *stream_work(void *arg);

#endif
