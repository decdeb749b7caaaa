/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Loaded before the C library (LD_PRELOAD): the allocation number NOMEM_AT of the process fails,
 * and with NOMEM_ON=1 every later one. NOMEM_COUNT names a file that gets how many there were when
 * the process ends by exit(). Before write number SIGNAL_AT, or allocation number SIGNAL_ALLOC,
 * the process gets the signal SIGNAL. Before allocation number ESCAPE_AT the process does what one
 * that was taken over would: it writes the file ESCAPE, and becomes another program.
 * LOCKS=N: no file can be locked, which the error number N says, as on a file system without locks.
 * CLOCK_JUMPS=N: each reading of the calendar's clock is decades from the one before; N: where in
 * the row of jumps it begins.
 */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

/* What the C library's own functions are called besides. */
void *__libc_malloc(size_t n);
void *__libc_calloc(size_t n, size_t size);
void *__libc_realloc(void *p, size_t n);

static atomic_ulong count, writes, readings;
static unsigned long at, signal_at, signal_alloc, escape_at;
static int signal_number;
static int count_fd = -1;
static bool on, jumps;

__attribute__((constructor)) static void begin(void)
{
	const char *n = getenv("NOMEM_AT"), *more = getenv("NOMEM_ON"), *s = getenv("SIGNAL_AT"),
		   *number = getenv("SIGNAL"), *alloc = getenv("SIGNAL_ALLOC");

	escape_at = getenv("ESCAPE_AT") ? strtoul(getenv("ESCAPE_AT"), NULL, 10) : 0;
	signal_at = s ? strtoul(s, NULL, 10) : 0;
	signal_alloc = alloc ? strtoul(alloc, NULL, 10) : 0;
	signal_number = number ? (int)strtol(number, NULL, 10) : 0;
	count_fd = getenv("NOMEM_COUNT") ? open(getenv("NOMEM_COUNT"),
						O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600)
					 : -1;
	on = more && *more == '1';
	jumps = getenv("CLOCK_JUMPS") != NULL;
	if (jumps)
		atomic_store(&readings, strtoul(getenv("CLOCK_JUMPS"), NULL, 10));
	/* What ran before main is not ours to count. */
	atomic_store(&count, 0);
	at = n ? strtoul(n, NULL, 10) : 0;
}

__attribute__((destructor)) static void end(void)
{
	if (count_fd >= 0) {
		dprintf(count_fd, "%lu\n", atomic_load(&count));
		close(count_fd);
	}
}

int fcntl64(int fd, int what, ...)
{
	static int (*own)(int fd, int what, ...);
	va_list ap;
	void *with;

	va_start(ap, what);
	with = va_arg(ap, void *);
	va_end(ap);
	if ((what == F_SETLK || what == F_SETLKW || what == F_OFD_SETLK) && getenv("LOCKS")) {
		errno = (int)strtol(getenv("LOCKS"), NULL, 10);
		return -1;
	}
	if (!own)
		*(void **)&own = dlsym(RTLD_NEXT, "fcntl64");
	return own(fd, what, with);
}

static void escape(void)
{
	int fd = open(getenv("ESCAPE"), O_WRONLY | O_CREAT | O_CLOEXEC, 0600);

	if (fd >= 0)
		close(fd);
	execl("/bin/echo", "echo", "escaped", (char *)NULL);
}

static bool fails(void)
{
	unsigned long n = atomic_fetch_add(&count, 1) + 1;

	if (signal_alloc && n == signal_alloc)
		raise(signal_number);
	if (escape_at && n == escape_at)
		escape();
	if (!at || (on ? n < at : n != at))
		return false;
	errno = ENOMEM;
	return true;
}

void *malloc(size_t n)
{
	return fails() ? NULL : __libc_malloc(n);
}

void *calloc(size_t n, size_t size)
{
	return fails() ? NULL : __libc_calloc(n, size);
}

void *realloc(void *p, size_t n)
{
	return fails() ? NULL : __libc_realloc(p, n);
}

ssize_t write(int fd, const void *data, size_t n)
{
	static ssize_t (*real)(int fd, const void *data, size_t n);

	if (!real)
		*(void **)&real = dlsym(RTLD_NEXT, "write");
	if (signal_at && atomic_fetch_add(&writes, 1) + 1 == signal_at)
		raise(signal_number);
	return real(fd, data, n);
}

/* What the C library reads for itself does not come by here. */
int clock_gettime(clockid_t clock, struct timespec *t)
{
	static const long years[] = { 0, -40, 60, -55, 400, 1 };
	static int (*real)(clockid_t clock, struct timespec * t);
	int r;

	if (!real)
		*(void **)&real = dlsym(RTLD_NEXT, "clock_gettime");
	r = real(clock, t);
	if (r == 0 && jumps && clock == CLOCK_REALTIME)
		t->tv_sec += years[atomic_fetch_add(&readings, 1) % 6] * 31556952L;
	return r;
}

time_t time(time_t *out)
{
	struct timespec t = { 0 };

	clock_gettime(CLOCK_REALTIME, &t);
	if (out)
		*out = t.tv_sec;
	return t.tv_sec;
}
