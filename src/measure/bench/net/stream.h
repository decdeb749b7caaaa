/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The data of a measurement: blocks that carry their stream and offset, sent and received by as
 * many threads as there are CPUs for. The same on both sides. What the receiver counts is what
 * counts.
 */
#ifndef NET_STREAM_H
#define NET_STREAM_H

#include <pthread.h>
#include <stdatomic.h>

#include "base/err.h"
#include "base/idset.h"
#include "measure/bench/net/wire.h"

enum {
	STREAM_BLOCK = 64 << 10, /* bytes; begins with a mark, the rest is one pattern */
	STREAM_MARK = 16,
	STREAM_BUFFER = 128 << 10, /* what a call is given */
	STREAM_SAMPLED = 16,	   /* of so many blocks one is compared byte for byte */
	STREAM_QUIET_MS = 10000,   /* nothing moved for so long: the other side is gone */
	STREAM_END_MS = 5000,	   /* for the last bytes to arrive */
};

/* What one thread does. */
enum stream_role {
	STREAM_SENDER,
	STREAM_RECEIVER,
	STREAM_ECHO,  /* returns every message of size bytes, its bytes turned over */
	STREAM_BURST, /* answers with 8 bytes, the count, whenever size bytes have come */
};

struct streams;

/*
 * Takes the n descriptors, also when it fails. test makes this data tell apart from any other's.
 * cpus: where the threads may run; NULL: anywhere.
 */
int streams_start(enum stream_role role, const int *fds, size_t n, uint64_t test, uint32_t size,
		  const struct idset *cpus, struct streams **out, struct err *e);
/* bytes, wrong and retransmits so far, and when. */
void streams_count(const struct streams *s, struct frame_counts *out);
/* The first error that a thread met so far, 0 or -errno. */
int streams_error(const struct streams *s);
/*
 * Senders end after what they are at, receivers at the end of what is sent to them; all are joined,
 * within STREAM_END_MS or by force. 0, or the first error a thread met (-ETIMEDOUT: by force).
 */
int streams_finish(struct streams *s);
/* Ends whatever still runs, closes and frees; NULL is nothing. */
void streams_end(struct streams *s);
/* TCP_INFO of the first connection: "cubic, 1448 bytes a segment". buf: NET_TEXT. */
void stream_describe(int fd, char *buf);
/* Bytes of data that a segment of the connection holds at most. */
double stream_segment(int fd);
/* For tests that look at a connection from outside. */
int streams_fd(const struct streams *s, size_t i);

/* --- data, also for tests --------------------------------------------------------------------- */
/* STREAM_BUFFER bytes, the same for all streams of a test; marks left out. */
void stream_fill(uint8_t *buffer, uint64_t test);
/* Marks the blocks of the buffer that begins at this offset. */
void stream_mark(uint8_t *buffer, uint64_t test, size_t index, uint64_t offset);

struct stream_check {
	uint64_t test;
	size_t index;
	const uint8_t *pattern;	   /* as stream_fill made it */
	uint64_t seen;		   /* bytes */
	uint64_t wrong;		   /* blocks, of those that came whole */
	uint8_t mark[STREAM_MARK]; /* as much of it as has come */
	bool differs;		   /* the block that is coming, from its pattern */
};

/* n more bytes came. */
void stream_check(struct stream_check *c, const uint8_t *bytes, size_t n);

/*
 * What the threads of stream.c do. A thread serves the connections that are its own in turns, so
 * that there need not be more threads than CPUs.
 */

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
