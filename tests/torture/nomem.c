/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Loaded before the C library (LD_PRELOAD): the allocation number NOMEM_AT of the process fails,
 * and with NOMEM_ON=1 every later one. NOMEM_COUNT names a file that gets how many there were when
 * the process ends by exit(). Before write number SIGNAL_AT the process gets the signal SIGNAL.
 */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

/* What the C library's own functions are called besides. */
void *__libc_malloc(size_t n);
void *__libc_calloc(size_t n, size_t size);
void *__libc_realloc(void *p, size_t n);

static atomic_ulong count, writes;
static unsigned long at, signal_at;
static int signal_number;
static int count_fd = -1;
static bool on;

__attribute__((constructor)) static void begin(void)
{
	const char *n = getenv("NOMEM_AT"), *more = getenv("NOMEM_ON"), *s = getenv("SIGNAL_AT"),
		   *number = getenv("SIGNAL");

	signal_at = s ? strtoul(s, NULL, 10) : 0;
	signal_number = number ? (int)strtol(number, NULL, 10) : 0;
	count_fd = getenv("NOMEM_COUNT") ? open(getenv("NOMEM_COUNT"),
						O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600)
					 : -1;
	on = more && *more == '1';
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

static bool fails(void)
{
	unsigned long n = atomic_fetch_add(&count, 1) + 1;

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
