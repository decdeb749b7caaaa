/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A libcufile that reads into the memory of the driver's stand-in. GPUTUNE_STUB_CUFILE steers it,
 * words read at each call:
 *
 *   refuse    it does not start
 *   host      reads count as taken through the host's memory, else as nvidia-fs's
 *   silent    it has no counters
 *   nofile    files cannot be registered
 *   short     a read brings half of what was asked for
 *   wrong     and one wrong bit
 *   fail      reads fail with an error of its own
 */
#include <fcntl.h>
#include <stdbool.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "machine/cuda/cufile.h"

#define CUFILE_CALL(answer, field, symbol, params) answer stub_##field params __asm__(symbol);
#include "machine/cuda/cufile.def"

/* Of CUfileStatsLevel3_t, in 64-bit words. */
enum { GPUS = 128, FIRST = 129, READS = 6, MODULE = 8, HOST = 9 };

static atomic_ullong reads, by_host;

static bool setting(const char *word)
{
	const char *all = getenv("GPUTUNE_STUB_CUFILE");

	return all && strstr(all, word);
}

static struct cufile_answer answer(int error)
{
	return (struct cufile_answer){ error, 0 };
}

struct cufile_answer stub_driver_open(void)
{
	return answer(setting("refuse") ? 5001 : 0);
}

struct cufile_answer stub_driver_close(void)
{
	return answer(0);
}

struct cufile_answer stub_properties(struct cufile_properties *out)
{
	out->major = setting("host") ? 0 : 2;
	out->minor = 26;
	return answer(0);
}

static bool opens(int fd)
{
	char link[32], name[4096];
	ssize_t n;
	int again;

	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	n = readlink(link, name, sizeof(name) - 1);
	if (n <= 0)
		return false;
	name[n] = '\0';
	again = open(name, O_RDONLY | O_CLOEXEC);
	if (again >= 0)
		close(again);
	return again >= 0;
}

struct cufile_answer stub_file_add(void **out, const struct cufile_file *f)
{
	int *fd = f->kind == CUFILE_DESCRIPTOR && !setting("nofile") ? malloc(sizeof(*fd)) : NULL;

	if (!fd)
		return answer(5008);
	/* As the real one: it wants to open the file itself. */
	if (!opens(f->file.fd)) {
		free(fd);
		return answer(5031);
	}
	/* And: nothing but how it may be used. */
	if (fcntl(f->file.fd, F_GETFL) & ~(O_ACCMODE | O_DIRECT | O_LARGEFILE | 0100000)) {
		free(fd);
		return answer(5019);
	}
	*fd = f->file.fd;
	*out = fd;
	return answer(0);
}

void stub_file_end(void *file)
{
	free(file);
}

struct cufile_answer stub_buffer_add(cuda_address at, size_t bytes, int flags)
{
	(void)at;
	(void)bytes;
	(void)flags;
	return answer(0);
}

struct cufile_answer stub_buffer_end(cuda_address at)
{
	(void)at;
	return answer(0);
}

/* The file is open past the page cache: whole blocks by way of memory that is aligned. */
ssize_t stub_read(void *file, cuda_address at, size_t bytes, off_t from, off_t offset)
{
	size_t most = (bytes + 4095) / 4096 * 4096;
	char *block = aligned_alloc(4096, most);
	ssize_t n = block ? pread(*(int *)file, block, most, from) : -1;

	if (setting("fail"))
		n = -5010;
	n = n > (ssize_t)bytes ? (ssize_t)bytes : n;
	if (setting("short") && n > 8192)
		n = n / 8192 * 4096;
	if (n > 0) {
		if (setting("wrong"))
			block[n / 2] ^= 2;
		memcpy((char *)(uintptr_t)at + offset, block, (size_t)n);
	}
	free(block);
	atomic_fetch_add(&reads, 1);
	atomic_fetch_add(&by_host, setting("host"));
	return n;
}

struct cufile_answer stub_count_level(int level)
{
	return answer(setting("silent") || level != 3 ? CUFILE_MISSING : 0);
}

struct cufile_answer stub_count_start(void)
{
	return answer(0);
}

struct cufile_answer stub_count_read(void *out)
{
	uint64_t *words = out;

	words[GPUS] = 1;
	words[FIRST + READS] = atomic_load(&reads);
	words[FIRST + HOST] = atomic_load(&by_host);
	words[FIRST + MODULE] = atomic_load(&reads) - atomic_load(&by_host);
	return answer(0);
}
