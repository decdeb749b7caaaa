/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The input as what a live machine answers: every stand-in takes what it says from the front of it,
 * a result, a number, a text, some bytes. Behind its end everything succeeds and is nought, and
 * time passes. The clocks are the input's own, so that nothing waits.
 */
#ifndef FUZZ_LIVE_H
#define FUZZ_LIVE_H

#include <errno.h>
#include <limits.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>

#include "base/arena.h"
#include "base/clock.h"

/* Who asks more often than this does not stop. */
enum { LIVE_CALLS_MAX = 1 << 20 };

struct live {
	const unsigned char *p, *end;
	struct arena *a;
	long long ns; /* the time */
	size_t calls;
	bool files;	     /* files are the input's too */
	bool partial;	     /* some library lacks something */
	long held;	     /* handles that were given out and did not come back */
	int stuck;	     /* every call fails with this from now on; 0: no */
	unsigned char *over; /* what of a buffer was not written, and may not be read */
	size_t over_n;
};

/* NULL: nobody plays, and the system's own calls are meant. */
static struct live *live;

/* --- taking ----------------------------------------------------------------------------------- */

static inline bool live_empty(void)
{
	return live->p == live->end;
}

static inline unsigned live_byte(void)
{
	return live_empty() ? 0 : *live->p++;
}

static inline void live_fill(void *out, size_t n)
{
	size_t left = (size_t)(live->end - live->p), k = n < left ? n : left;

	if (k)
		memcpy(out, live->p, k);
	memset((char *)out + k, 0, n - k);
	live->p += k;
}

/* Small ones in a byte; others are led in by one. */
static inline unsigned long long live_number(void)
{
	static const unsigned long long odd[] = { UINT64_MAX, INT64_MAX,	 1ull << 63,
						  UINT32_MAX, INT32_MAX,	 1ull << 31,
						  1ull << 52, UINT32_MAX + 1ull, 65536 };
	enum { FIRST = 0xf0, LISTED = 0xf7 };
	unsigned b = live_byte();
	unsigned long long v = 0;

	if (b < FIRST)
		return b;
	if (b >= LISTED)
		return odd[b - LISTED];
	live_fill(&v, 1u + (b - FIRST) % 8);
	return v;
}

/* A text of the input's, in the arena. */
static inline char *live_text(void)
{
	size_t n = live_byte(), left = (size_t)(live->end - live->p);
	char *s;

	n = n < left ? n : left;
	s = arena_strndup(live->a, (const char *)live->p, n);
	live->p += n;
	return s;
}

/* How a call went: mostly well. */
static inline int live_result(const int *numbers, size_t n)
{
	enum { WELL = 0xc0, STUCK = 0xfe };
	unsigned b;

	if (++live->calls > LIVE_CALLS_MAX)
		abort();
	if (live->stuck)
		return live->stuck;
	b = live_byte();
	if (b < WELL)
		return 0;
	if (b >= STUCK)
		live->stuck = numbers[live_byte() % n];
	return b >= STUCK ? live->stuck : numbers[b % n];
}

/* 0, or -1 and errno. */
static inline int live_system(void)
{
	static const int errors[] = { EPERM,	EACCES,	  EINTR,      ENODEV, EOPNOTSUPP,
				      EINVAL,	ENOBUFS,  EAGAIN,     EBUSY,  EIO,
				      EMSGSIZE, ENETDOWN, EADDRINUSE, ENOENT, E2BIG };
	int e = live_result(errors, sizeof(errors) / sizeof(errors[0]));

	/* Nothing is interrupted for ever. */
	if (e == EINTR && live->stuck)
		live->stuck = e = EIO;
	if (e)
		errno = e;
	return e ? -1 : 0;
}

/* A part of a file, as long as it likes; at the end of the input is its end. */
static inline ssize_t live_piece(void *buf, size_t n)
{
	size_t left, k;

	if (live_system())
		return -1;
	k = live_byte();
	left = (size_t)(live->end - live->p);
	k = k < left ? k : left;
	k = k < n ? k : n;
	live_fill(buf, k);
	return (ssize_t)k;
}

/* --- what stays as it was --------------------------------------------------------------------- */

#if defined(__SANITIZE_ADDRESS__)
#define LIVE_SHADOW 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define LIVE_SHADOW 1
#endif
#endif
#ifdef LIVE_SHADOW
#include <sanitizer/asan_interface.h>
#define LIVE_HIDE(p, n) __asan_poison_memory_region(p, n)
#define LIVE_SHOW(p, n) __asan_unpoison_memory_region(p, n)
#else
#define LIVE_HIDE(p, n) ((void)(p), (void)(n))
#define LIVE_SHOW(p, n) ((void)(p), (void)(n))
#endif

/* Runs where memory of the caller's frame may still be hidden. */
#define LIVE_PLAIN __attribute__((no_sanitize("address")))

/* What was hidden may be read again: the buffer is used anew, or not any more. */
LIVE_PLAIN static void live_show(void)
{
	if (live && live->over_n)
		LIVE_SHOW(live->over, live->over_n);
	if (live)
		live->over_n = 0;
}

/* What came is n of cap bytes: who reads further is seen. */
static inline void live_received(void *buf, size_t n, size_t cap)
{
	live_show();
	if (n >= cap)
		return;
	live->over = (unsigned char *)buf + n;
	live->over_n = cap - n;
	LIVE_HIDE(live->over, live->over_n);
}

/* --- clocks and threads ----------------------------------------------------------------------- */

#define LIVE_NS_PER_MS 1000000ll

long long __real_clock_mono_ns(void);
long long __wrap_clock_mono_ns(void);
long long __real_clock_mono_ms(void);
long long __wrap_clock_mono_ms(void);
double __real_clock_mono_s(void);
double __wrap_clock_mono_s(void);
int __real_pthread_create(pthread_t *t, const pthread_attr_t *attr, void *(*fn)(void *), void *ctx);
int __wrap_pthread_create(pthread_t *t, const pthread_attr_t *attr, void *(*fn)(void *), void *ctx);

static inline void live_later(long long ms)
{
	live->ns += ms * LIVE_NS_PER_MS;
}

/* A look at the clock takes a little itself. */
long long __wrap_clock_mono_ns(void)
{
	return live ? live->ns += 1000 : __real_clock_mono_ns();
}

long long __wrap_clock_mono_ms(void)
{
	return live ? __wrap_clock_mono_ns() / LIVE_NS_PER_MS : __real_clock_mono_ms();
}

double __wrap_clock_mono_s(void)
{
	return live ? (double)__wrap_clock_mono_ns() / 1e9 : __real_clock_mono_s();
}

/* Who gets no thread does the work itself, in one order. */
int __wrap_pthread_create(pthread_t *t, const pthread_attr_t *attr, void *(*fn)(void *), void *ctx)
{
	return live ? EAGAIN : __real_pthread_create(t, attr, fn, ctx);
}

#endif
