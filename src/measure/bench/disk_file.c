/* SPDX-License-Identifier: Apache-2.0 */
/* Making, filling and looking at one file. */
#include <errno.h>
#include <fcntl.h>
#include <linux/fiemap.h>
#include <linux/fs.h>
#include <linux/magic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/uio.h>
#include <sys/vfs.h>
#include <time.h>
#include <unistd.h>

#include "measure/bench/disk_file.h"
#include "measure/bench/disk_place.h"
#include "measure/bench/disk_queue.h"

enum { FILL_BLOCK = 1 << 20, FILL_DEPTH = 8, EXTENTS = 64, LOOKS = 64, TRIES = 25 };

static int disk_file_cannot(struct err *e, int code, const char *dir)
{
	if (code == -EROFS)
		return err_set(e, code, "%.200s is on a read-only file system", dir);
	if (code == -EACCES || code == -EPERM)
		return err_set(e, code, "this user cannot create a file in %.200s", dir);
	if (code == -ENOSPC || code == -EDQUOT)
		return err_set(e, code, "no space left in %.200s: %s", dir, strerror(-code));
	return err_set(e, code, "cannot create a file in %.200s: %s", dir, strerror(-code));
}

/* For file systems without O_TMPFILE: the name is gone before anything is written. */
static int make_named(const char *dir)
{
	char path[4096];
	int fd;

	if ((size_t)snprintf(path, sizeof(path), "%s/.gputune-bench-XXXXXX", dir) >= sizeof(path))
		return -ENAMETOOLONG;
	fd = mkostemp(path, O_CLOEXEC);
	if (fd < 0)
		return -errno;
	unlink(path);
	return fd;
}

int disk_file_make(const char *dir, struct err *e)
{
	int fd = open(dir, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);

	if (fd >= 0)
		return fd;
	fd = -errno;
	if (fd == -EOPNOTSUPP || fd == -EISDIR || fd == -EINVAL || fd == -ENOENT)
		fd = make_named(dir);
	return fd < 0 ? disk_file_cannot(e, fd, dir) : fd;
}

int disk_file_lend(int fd, const char *dir, char *path, size_t cap, struct err *e)
{
	char own[32];
	uint32_t word;

	snprintf(own, sizeof(own), "/proc/self/fd/%d", fd);
	if (getrandom(&word, sizeof(word), 0) != (ssize_t)sizeof(word) ||
	    (size_t)snprintf(path, cap, "%s/.gputune-bench-%08x", dir, word) >= cap)
		return err_set(e, -ENAMETOOLONG, "cannot find a free file name in %.200s", dir);
	if (linkat(AT_FDCWD, own, AT_FDCWD, path, AT_SYMLINK_FOLLOW) == 0)
		return 0;
	path[0] = '\0';
	err_set(e, -EOPNOTSUPP, "the file system of %.200s cannot link an unnamed file (O_TMPFILE)",
		dir);
	err_hint(e, "use existing files: --files PATH");
	return -EOPNOTSUPP;
}

static bool toggle(int fd, bool direct)
{
	int flags = fcntl(fd, F_GETFL);

	return flags >= 0 && fcntl(fd, F_SETFL, direct ? flags | O_DIRECT : flags & ~O_DIRECT) == 0;
}

struct disk_direct disk_file_direct(int fd)
{
	struct disk_direct d = { .align = DISK_PAGE };
	struct statfs fs;

	/* These take the flag and go through memory all the same. */
	if (fstatfs(fd, &fs) == 0) {
		if ((long)fs.f_type == TMPFS_MAGIC || (long)fs.f_type == RAMFS_MAGIC)
			d.why = "the file system is in memory";
		else if ((unsigned long)fs.f_type == ZFS_MAGIC)
			d.why = "ZFS uses its own cache";
		if (d.why)
			return d;
	}
#ifdef STATX_DIOALIGN
	struct statx x;

	if (statx(fd, "", AT_EMPTY_PATH, STATX_DIOALIGN, &x) == 0 &&
	    (x.stx_mask & STATX_DIOALIGN)) {
		d.align = x.stx_dio_offset_align > x.stx_dio_mem_align ? x.stx_dio_offset_align
								       : x.stx_dio_mem_align;
		if (!x.stx_dio_offset_align) {
			d.why = "the file system reports that it cannot bypass the page cache";
			return d;
		}
	}
#endif
	if (!toggle(fd, true)) {
		d.why = "the file system does not support O_DIRECT";
		return d;
	}
	toggle(fd, false);
	d.can = true;
	return d;
}

uint64_t disk_file_room(int fd, uint64_t least, uint64_t most, uint64_t *free_bytes)
{
	struct statvfs v;

	*free_bytes = 0;
	if (fstatvfs(fd, &v))
		return 0;
	*free_bytes = (uint64_t)v.f_bavail * v.f_frsize;
	while (most >= least && most > *free_bytes / 2)
		most /= 2;
	return most >= least ? most : 0;
}

struct filling {
	struct disk_file *f;
	struct disk_queue *q;
	uint64_t next;
	unsigned under_way;
};

static void fill_one(struct filling *s, unsigned slot)
{
	void *block = disk_queue_buffer(s->q, slot);

	disk_fill(block, FILL_BLOCK, s->f->id, s->f->id + s->next / DISK_PAGE);
	disk_stamp(block, FILL_BLOCK, s->next, 0);
	disk_queue_put(s->q, slot, s->next, true);
	s->next += FILL_BLOCK;
	s->under_way++;
}

static int fill_all(struct filling *s, const char *dir, const atomic_bool *stop, struct err *e)
{
	struct uring_done done[FILL_DEPTH];

	for (unsigned i = 0; i < FILL_DEPTH && s->next < s->f->bytes; i++)
		fill_one(s, i);
	while (s->under_way) {
		int n = disk_queue_wait(s->q, done);

		if (n < 0)
			return err_set(e, n, "writing the file in %.200s failed: %s", dir,
				       strerror(-n));
		s->under_way -= (unsigned)n;
		for (int i = 0; i < n; i++) {
			if (done[i].result < 0)
				return disk_file_cannot(e, done[i].result, dir);
			if (done[i].result != FILL_BLOCK)
				return disk_file_cannot(e, -ENOSPC, dir);
			if (s->next < s->f->bytes)
				fill_one(s, done[i].slot);
		}
		if (stop && atomic_load(stop))
			return err_set(e, -EINTR, "interrupted while the file was written");
	}
	return 0;
}

/* A hole or an extent that was only promised is read without touching the disk. */
static int disk_file_check_written(const struct disk_file *f, struct err *e)
{
	union {
		struct fiemap map;
		char room[sizeof(struct fiemap) + EXTENTS * sizeof(struct fiemap_extent)];
	} m;
	const uint32_t bad = FIEMAP_EXTENT_UNWRITTEN | FIEMAP_EXTENT_DELALLOC;
	off_t hole = lseek(f->fd, 0, SEEK_HOLE);
	uint64_t at = 0;

	if (hole >= 0 && (uint64_t)hole < f->bytes)
		return err_set(e, -EIO, "the file has a hole at byte %lld after it was written",
			       (long long)hole);
	while (at < f->bytes) {
		memset(&m, 0, sizeof(m));
		m.map.fm_start = at;
		m.map.fm_length = f->bytes - at;
		m.map.fm_extent_count = EXTENTS;
		/* Not every file system can tell. */
		if (ioctl(f->fd, FS_IOC_FIEMAP, &m) || !m.map.fm_mapped_extents)
			return 0;
		for (uint32_t i = 0; i < m.map.fm_mapped_extents; i++) {
			const struct fiemap_extent *x = &m.map.fm_extents[i];

			if (x->fe_flags & bad)
				return err_set(e, -EIO,
					       "the file system has not written byte %llu yet",
					       (unsigned long long)x->fe_logical);
			if (x->fe_flags & FIEMAP_EXTENT_LAST || x->fe_logical + x->fe_length <= at)
				return 0;
			at = x->fe_logical + x->fe_length;
		}
	}
	return 0;
}

static int allow_size(uint64_t bytes, struct err *e)
{
	struct rlimit most;

	/* Beyond it a signal would end the program. */
	if (getrlimit(RLIMIT_FSIZE, &most) == 0 && most.rlim_cur != RLIM_INFINITY &&
	    most.rlim_cur < bytes)
		return err_set(e, -EFBIG,
			       "files of this process are limited to %llu MiB (ulimit -f), %llu "
			       "are required",
			       (unsigned long long)most.rlim_cur >> 20,
			       (unsigned long long)bytes >> 20);
	return 0;
}

static int disk_file_write_all(struct disk_file *f, const char *dir, bool direct,
			       const atomic_bool *stop, struct err *e)
{
	struct disk_queue_ask ask = { .fd = f->fd,
				      .depth = FILL_DEPTH,
				      .block = FILL_BLOCK,
				      .node = -1,
				      .engine = ENGINE_BEST };
	struct filling s = { .f = f };
	int r = allow_size(f->bytes, e);

	if (r)
		return r;
	/* In one piece, where the file system can promise one. */
	if (fallocate(f->fd, 0, 0, (off_t)f->bytes) && errno != EOPNOTSUPP && errno != ENOSYS)
		return disk_file_cannot(e, -errno, dir);
	if (ftruncate(f->fd, (off_t)f->bytes))
		return disk_file_cannot(e, -errno, dir);
	r = disk_file_mode(f, direct, e);
	r = r ? r : disk_queue_open(&ask, &s.q, e);
	if (r)
		return r;
	r = fill_all(&s, dir, stop, e);
	disk_queue_close(s.q);
	if (r == 0 && fsync(f->fd))
		r = disk_file_cannot(e, -errno, dir);
	return r ? r : disk_file_check_written(f, e);
}

int disk_file_open(struct disk_file *f, const char *dir, uint64_t bytes, bool direct,
		   const atomic_bool *stop, struct err *e)
{
	struct disk_file made = { .bytes = bytes };
	int r;

	made.fd = disk_file_make(dir, e);
	if (made.fd < 0)
		return made.fd;
	made.turns = heap_array(bytes / DISK_PAGE, sizeof(*made.turns));
	if (getrandom(&made.id, sizeof(made.id), 0) != sizeof(made.id))
		r = err_set(e, -EIO, "the kernel provided no random number for the file's content");
	else
		r = disk_file_write_all(&made, dir, direct, stop, e);
	r = r ? r : disk_file_drop(&made, e);
	if (r)
		disk_file_close(&made);
	*f = made;
	return r;
}

int disk_file_mode(struct disk_file *f, bool direct, struct err *e)
{
	return toggle(f->fd, direct)
		       ? 0
		       : err_set(e, -EINVAL, "the file system does not support O_DIRECT");
}

int disk_file_drop(const struct disk_file *f, struct err *e)
{
	if (fdatasync(f->fd))
		return err_set(e, -errno, "flushing written data to the device failed: %s",
			       strerror(errno));
	page_cache_drop(f->fd);
	return 0;
}

int disk_file_cold(const struct disk_file *f, bool *seen, struct err *e)
{
	int r = disk_file_drop(f, e);
	double left = r ? -1 : page_cache_empty(f->fd, f->bytes);

	*seen = left >= 0;
	if (left > PAGE_CACHE_COLD)
		return err_set(e, -EBUSY, "%.0f %% of the file stays in the page cache",
			       100 * left);
	return r;
}

void disk_file_close(struct disk_file *f)
{
	if (f->fd >= 0)
		close(f->fd);
	free(f->turns);
	*f = (struct disk_file){ .fd = -1 };
}

void page_cache_drop(int fd)
{
	posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED);
}

/* Share of the file's pages that are in the page cache, by a look at some of them that may itself
 * read those; negative: cannot be seen. */
static double page_cache_share(int fd, uint64_t bytes)
{
	uint64_t pages = bytes / DISK_PAGE;
	unsigned there = 0, looks = pages < LOOKS ? (unsigned)pages : LOOKS;
	bool blind = false;
	char byte;

	/* Newer kernels read ahead even here, and what one look reads must not be what the next one
	 * finds. */
	posix_fadvise(fd, 0, 0, POSIX_FADV_RANDOM);
	for (unsigned i = 0; i < looks && !blind; i++) {
		struct iovec v = { &byte, 1 };
		off_t at = (off_t)(pages / looks * i * DISK_PAGE);

		if (preadv2(fd, &v, 1, at, RWF_NOWAIT) == 1)
			there++;
		else if (errno != EAGAIN)
			blind = true;
	}
	posix_fadvise(fd, 0, 0, POSIX_FADV_NORMAL);
	return looks && !blind ? (double)there / looks : -1;
}

double page_cache_empty(int fd, uint64_t bytes)
{
	static const struct timespec nap = { 0, 20 * 1000000 };
	double left = 1;

	for (int i = 0; i < TRIES && left > PAGE_CACHE_COLD; i++) {
		if (i)
			nanosleep(&nap, NULL);
		page_cache_drop(fd);
		left = page_cache_share(fd, bytes);
	}
	/* The look itself has read some. */
	page_cache_drop(fd);
	return left;
}

/* Pages that describe themselves. Knows nothing of files. */

enum { WORDS = DISK_PAGE / 8, HEAD_WORDS = sizeof(struct disk_head) / 8 };

/* A good mixer of 64 bits (the finalizer of splitmix64, public domain): neighbours look unrelated.
 */
static uint64_t mix(uint64_t x)
{
	x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
	x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
	return x ^ (x >> 31);
}

static uint64_t word(uint64_t seed, size_t i)
{
	/* An odd factor: no bit of seed is lost. */
	return mix(seed * 0x9e3779b97f4a7c15u + i);
}

void disk_fill(void *block, size_t bytes, uint64_t file, uint64_t seed)
{
	uint64_t *w = block;

	for (size_t page = 0; page < bytes / DISK_PAGE; page++, w += WORDS) {
		struct disk_head head = { .file = file, .seed = seed + page };

		memcpy(w, &head, sizeof(head));
		for (size_t i = HEAD_WORDS; i < WORDS; i++)
			w[i] = word(head.seed, i);
	}
}

void disk_stamp(void *block, size_t bytes, uint64_t offset, uint32_t turn)
{
	for (size_t at = 0; at < bytes; at += DISK_PAGE) {
		struct disk_head *head = (struct disk_head *)((char *)block + at);

		head->offset = offset + at;
		head->turn = turn;
	}
}

bool disk_is(const void *block, uint64_t file, uint64_t offset, uint32_t turn)
{
	const struct disk_head *head = block;

	return head->file == file && head->offset == offset && head->turn == turn;
}

static int check_head(const struct disk_head *h, uint64_t file, uint64_t offset, uint32_t turn,
		      struct err *e)
{
	unsigned long long at = offset;

	if (h->file != file)
		return err_set(e, -EILSEQ, "the data at byte %llu was never written there", at);
	if (h->offset != offset)
		return err_set(e, -EILSEQ, "the data at byte %llu belongs to byte %llu", at,
			       (unsigned long long)h->offset);
	if (h->turn != turn)
		return err_set(e, -EILSEQ,
			       "the data at byte %llu is from write %llu, the last was %llu", at,
			       (unsigned long long)h->turn, (unsigned long long)turn);
	return 0;
}

int disk_check(const void *block, size_t bytes, uint64_t file, uint64_t offset,
	       const uint32_t *turns, struct err *e)
{
	const uint64_t *w = block;

	for (size_t page = 0; page < bytes / DISK_PAGE; page++, w += WORDS) {
		uint64_t at = offset + page * DISK_PAGE;
		struct disk_head head;
		int r;

		memcpy(&head, w, sizeof(head));
		r = check_head(&head, file, at, turns[at / DISK_PAGE], e);
		if (r)
			return r;
		for (size_t i = HEAD_WORDS; i < WORDS; i++)
			if (w[i] != word(head.seed, i))
				return err_set(e, -EILSEQ,
					       "byte %llu differs from the data written",
					       (unsigned long long)at + i * 8);
	}
	return 0;
}

/* A thread's CPUs, there and back. */

enum { CPUS_MAX = 8192 };

cpu_set_t *pin_to(const struct idset *cpus)
{
	size_t size = CPU_ALLOC_SIZE(CPUS_MAX);
	cpu_set_t *set = CPU_ALLOC(CPUS_MAX), *before = CPU_ALLOC(CPUS_MAX);
	bool done = false;

	if (set && before && sched_getaffinity(0, size, before) == 0) {
		CPU_ZERO_S(size, set);
		IDSET_FOR_EACH (cpu, cpus)
			if (cpu < CPUS_MAX)
				CPU_SET_S(cpu, size, set);
		done = sched_setaffinity(0, size, set) == 0;
	}
	CPU_FREE(set);
	if (done)
		return before;
	CPU_FREE(before);
	return NULL;
}

void pin_back(cpu_set_t *before)
{
	if (!before)
		return;
	sched_setaffinity(0, CPU_ALLOC_SIZE(CPUS_MAX), before);
	CPU_FREE(before);
}
