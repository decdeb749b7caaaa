/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How fast a folder's disk reads and writes, in order and at random. Which cases there are, on what
 * file, and what the way to the disk could carry.
 */
#include "measure/bench/disk.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "measure/bench/bench.h"

enum { KIB = 1024, MIB = 1024 * KIB };
#define GIB (1024ull * MIB)

struct row {
	const char *name;
	struct disk_arg arg;
};

static const struct row rows[] = {
	{ "read-seq:1MiB:qd32", { .block = MIB, .depth = 32 } },
	{ "read-seq:1MiB:qd1", { .block = MIB, .depth = 1 } },
	{ "read-seq:128KiB:qd32", { .block = 128 * KIB, .depth = 32 } },
	{ "read-seq:128KiB:buffered", { .block = 128 * KIB, .depth = 1, .buffered = true } },
	{ "read-rand:4KiB:qd1", { .block = 4 * KIB, .depth = 1, .random = true } },
	{ "read-rand:4KiB:qd32", { .block = 4 * KIB, .depth = 32, .random = true } },
	{ "read-rand:4KiB:qd128", { .block = 4 * KIB, .depth = 128, .random = true } },
	{ "read-rand:64KiB:qd32", { .block = 64 * KIB, .depth = 32, .random = true } },
	{ "read-rand:4KiB:buffered",
	  { .block = 4 * KIB, .depth = 1, .random = true, .buffered = true } },
	{ "write-seq:1MiB:qd32", { .block = MIB, .depth = 32, .write = true } },
	{ "write-seq:1MiB:qd1", { .block = MIB, .depth = 1, .write = true } },
	{ "write-seq:1MiB:buffered",
	  { .block = MIB, .depth = 1, .write = true, .buffered = true } },
	{ "write-rand:4KiB:qd1", { .block = 4 * KIB, .depth = 1, .random = true, .write = true } },
	{ "write-rand:4KiB:qd32",
	  { .block = 4 * KIB, .depth = 32, .random = true, .write = true } },
	{ "write-rand:4KiB:qd128",
	  { .block = 4 * KIB, .depth = 128, .random = true, .write = true } },
};

enum { SMALL_FILE = 16 * MIB, SMALL_BLOCK = 64 * KIB, LEAST_FILE = 64 * MIB };

/* Larger where that is quickly written: small files are answered from a disk's own memory. */
static uint64_t most_bytes(const struct disk_place *p)
{
	if (p->memory)
		return 256 * MIB;
	for (size_t i = 0; i < p->n_disks; i++)
		if (!fact_is(&p->disks[i]->transport, "nvme"))
			return GIB;
	return p->n_disks ? 4 * GIB : GIB;
}

static int look(const struct bench_env *env, struct disk_shared *s, struct err *e)
{
	uint64_t least = env->small ? SMALL_FILE : LEAST_FILE, room;
	int r = disk_place_look(env, env->ask.dir, &s->place, e), fd;

	if (r)
		return r;
	fd = disk_file_make(s->place.dir, e);
	if (fd < 0)
		return fd;
	s->direct = disk_file_direct(fd);
	s->bytes = disk_file_room(fd, least, env->small ? least : most_bytes(&s->place), &room);
	close(fd);
	if (!s->bytes)
		return err_set(e, -ENOSPC,
			       "%.200s has %llu MiB free; the test needs %llu, twice its file",
			       s->place.dir, (unsigned long long)(room / MIB),
			       (unsigned long long)(2 * least / MIB));
	return 0;
}

static struct bench_case case_of(const struct bench_env *env, const struct row *row,
				 struct disk_shared *s)
{
	struct disk_arg *arg = ARENA_NEW(env->a, struct disk_arg);

	*arg = row->arg;
	arg->shared = s;
	if (env->small && arg->block > SMALL_BLOCK)
		arg->block = SMALL_BLOCK;
	return (struct bench_case){
		.name = row->name,
		.setup = arena_printf(env->a, "a file of %llu MiB on %s: %s%s",
				      (unsigned long long)(s->bytes / MIB), s->place.mount,
				      disk_place_text(env->a, &s->place),
				      s->direct.can
					      ? ""
					      : arena_printf(env->a, "; only buffered, because %s",
							     s->direct.why)),
		.placement = arena_printf(env->a, "one thread on CPUs %s",
					  idset_format(env->a, &s->cpus)),
		.arg = arg
	};
}

/* Why a case makes no sense here; NULL: it does. */
static const char *absent(const struct disk_arg *row, const struct disk_shared *s)
{
	if (row->buffered)
		return !row->write && s->place.own_cache ? DISK_OWN_CACHE : NULL;
	if (!s->direct.can)
		return s->direct.why;
	return row->block < s->direct.align ? "the disk does not take blocks that small" : NULL;
}

static void disk_cases(const struct bench_env *env, struct bench_cases *out)
{
	struct disk_shared *s = ARENA_NEW(env->a, struct disk_shared);
	struct err e = { 0 };

	if (!env->ask.dir) {
		out->none = "no folder was named in which it may make a file of its own: --dir DIR";
		out->usage = true;
		return;
	}
	s->file.fd = -1;
	if (look(env, s, &e)) {
		out->none = arena_strdup(env->a, e.text);
		out->usage = true;
		return;
	}
	s->cpus = disk_place_cpus(env, &s->place);
	s->limit = disk_place_limit(env, &s->place);
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		const char *why = absent(&rows[i].arg, s);

		if (why)
			bench_case_absent(env->a, out, rows[i].name, why);
		else
			bench_case_add(env->a, out, case_of(env, &rows[i], s));
	}
}

static void disk_end(const struct bench_cases *all)
{
	const struct disk_arg *arg = all->n ? all->items[0].arg : NULL;

	if (arg)
		disk_file_close(&arg->shared->file);
}

static struct bench_limit disk_limit(const struct bench_env *env, const struct bench_case *c)
{
	const struct disk_arg *arg = c->arg;

	(void)env;
	if (arg->random)
		return (struct bench_limit){
			.source = "unknown: no fact tells how long the disk takes to find a block"
		};
	return arg->shared->limit;
}

static const struct bench_figure figures[DISK_FIGURES] = {
	[DISK_RATE] = { "rate", "bytes moved", "gb_per_s", "GB/s", BENCH_HIGHER },
	[DISK_IOPS] = { "iops", "requests a second", "iops", "IO/s", BENCH_HIGHER },
	[DISK_P50] = { "p50", "median time of a request", "us", "us", BENCH_LOWER },
	[DISK_CPU] = { "cpu", "CPU time a request", "us", "us", BENCH_LOWER },
};

const struct bench bench_disk = {
	.name = "disk",
	.title = "reading and writing a file in a folder (--dir), in order and at random",
	.method =
		"A nameless file of our own, filled with data that cannot be compressed and "
		"written "
		"to the device before anything is read. So many requests (qd) are kept under way "
		"through io_uring past the page cache (O_DIRECT), or by threads where io_uring is "
		"refused; a sample is what was completed in a tenth of a second. With :buffered "
		"one "
		"thread goes through the page cache, which held nothing of the file before; "
		"buffered writes count until they are on the device. Every block that is read says "
		"where it belongs and when it was written, which is checked each time; the last "
		"blocks of a round are checked byte by byte, and what was written is read back.",
	.version = 1,
	.figures = figures,
	.n_figures = DISK_FIGURES,
	.observed_scale = 1e-3,
	.observed_of = DISK_P50,
	.brief = "read-",
	.seconds = 2,
	.rounds = 3,
	.cases = disk_cases,
	.state_size = sizeof(struct disk_load),
	.setup = disk_setup,
	.run = disk_run,
	.verify = disk_verify,
	.teardown = disk_teardown,
	.end = disk_end,
	.limit = disk_limit,
};
