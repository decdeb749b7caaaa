/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How fast a folder's disk reads and writes, in order and at random: one case at work, which cases
 * there are, on what file, and what the way to the disk could carry.
 */
#include "measure/bench/disk.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "measure/bench/bench.h"
#include "base/clock.h"

/* --- one case at work ---------------------------------------------------------------------------
 * Keeps so many requests under way, counts, times and checks what comes back. The clock is read
 * once for all requests that are found done together, and they go out again at that time.
 */

enum { SYNC_BYTES = 64 << 20 };

static bool stopped(const struct disk_load *s)
{
	return s->stop && atomic_load_explicit(s->stop, memory_order_relaxed);
}

/* --- requests --------------------------------------------------------------------------------- */
static uint64_t next_block(struct disk_load *s)
{
	uint64_t b;

	if (!s->arg->random) {
		b = s->cursor++ % s->blocks;
	} else {
		/* xorshift64: far longer than any run, and a few cycles. */
		s->random ^= s->random << 13;
		s->random ^= s->random >> 7;
		s->random ^= s->random << 17;
		b = (s->random >> 32) * s->blocks >> 32;
	}
	/* Two writes to one block at once: nobody could say which came last. */
	while (s->busy && s->busy[b])
		b = (b + 1) % s->blocks;
	return b;
}

static void bench_disk_put(struct disk_load *s, unsigned i, int64_t now)
{
	uint64_t b = next_block(s);
	struct disk_slot *it = &s->slots[i];

	it->offset = b * s->arg->block;
	it->since = now;
	it->held = false;
	if (s->arg->write) {
		uint32_t turn = ++s->file->turn;

		s->busy[b] = 1;
		disk_stamp(disk_queue_buffer(s->q, i), s->arg->block, it->offset, turn);
		for (size_t k = 0; k < s->arg->block / DISK_PAGE; k++)
			s->file->turns[it->offset / DISK_PAGE + k] = turn;
		s->kept[s->n_kept++ % s->kept_max] = it->offset;
	}
	disk_queue_put(s->q, i, it->offset, s->arg->write);
	s->under_way++;
}

static int bad_result(const struct disk_load *s, const struct disk_slot *it, int result,
		      struct err *e)
{
	const char *what = s->arg->write ? "writing" : "reading";
	unsigned long long at = it->offset;

	if (result == -ENOSPC || result == -EDQUOT)
		return err_set(e, result, "no space left for %s at byte %llu: %s", what, at,
			       strerror(-result));
	if (result < 0)
		return err_set(e, result, "%s at byte %llu failed: %s", what, at,
			       strerror(-result));
	return err_set(e, -EIO, "%s at byte %llu stopped after %d of %zu bytes", what, at, result,
		       s->arg->block);
}

static int bench_disk_finish(struct disk_load *s, const struct uring_done *d, int64_t now,
			     struct err *e)
{
	struct disk_slot *it = &s->slots[d->slot];

	s->under_way--;
	if (s->arg->write)
		s->busy[it->offset / s->arg->block] = 0;
	if (d->result < 0 || (size_t)d->result != s->arg->block) {
		s->file->spoiled = s->file->spoiled || s->arg->write;
		return bad_result(s, it, d->result, e);
	}
	if (!s->arg->write) {
		const void *block = disk_queue_buffer(s->q, d->slot);

		it->held = true;
		if (!disk_is(block, s->file->id, it->offset,
			     s->file->turns[it->offset / DISK_PAGE]) &&
		    s->wrong++ == 0)
			disk_check(block, DISK_PAGE, s->file->id, it->offset, s->file->turns,
				   &s->first_wrong);
	}
	histogram_add(&s->times, (double)(now - it->since));
	s->bytes += s->arg->block;
	s->requests++;
	return 0;
}

/* Takes what is done, and sends as much again unless it is the end. */
static int bench_disk_turn(struct disk_load *s, bool again, struct err *e)
{
	int n = disk_queue_wait(s->q, s->done), r = 0;
	int64_t now = clock_mono_ns();

	if (n < 0)
		return err_set(e, n, "waiting for the disk failed: %s", strerror(-n));
	for (int i = 0; i < n; i++) {
		int failed = bench_disk_finish(s, &s->done[i], now, e);

		r = r ? r : failed;
		if (again && r == 0)
			bench_disk_put(s, s->done[i].slot, now);
	}
	s->at_ns = now;
	return r;
}

static int disk_drain(struct disk_load *s, struct err *e)
{
	int r = 0;

	while (s->under_way && r == 0)
		r = bench_disk_turn(s, false, e);
	return r;
}

/* --- a sample --------------------------------------------------------------------------------- */
static void bench_disk_begin(struct disk_load *s)
{
	memset(&s->times, 0, sizeof(s->times));
	s->bytes = s->requests = 0;
	if (s->under_way)
		return;
	s->at_ns = clock_mono_ns();
	for (unsigned i = 0; i < s->arg->depth; i++)
		bench_disk_put(s, i, s->at_ns);
}

/* Nothing that was read once may come from memory: before a round through the file begins anew, and
 * before each window of random reads. Its time does not count. */
static int bench_disk_forget(struct disk_load *s, struct err *e)
{
	int64_t from = clock_mono_ns();
	double cpu = clock_cpu_s();
	int r;

	s->cursor %= s->blocks;
	r = disk_file_drop(s->file, e);
	s->skipped_cpu_s += clock_cpu_s() - cpu;
	s->skipped_ns += clock_mono_ns() - from;
	return r;
}

/* One request at a time through the page cache. */
static int window_buffered(struct disk_load *s, struct err *e)
{
	int64_t from = clock_mono_ns();
	int r = 0;

	if (!s->arg->write && (s->arg->random || s->cursor >= s->blocks))
		r = bench_disk_forget(s, e);
	if (r)
		return r;
	bench_disk_begin(s);
	while (r == 0) {
		r = bench_disk_turn(s, false, e);
		if (r || s->at_ns - s->skipped_ns - from >= s->window_ns || stopped(s) ||
		    (s->arg->write && s->bytes >= SYNC_BYTES))
			break;
		if (!s->arg->write && !s->arg->random && s->cursor >= s->blocks)
			r = bench_disk_forget(s, e);
		if (r == 0)
			bench_disk_put(s, 0, clock_mono_ns());
	}
	if (r == 0 && s->arg->write && fdatasync(s->file->fd))
		r = err_set(e, -errno, "flushing written data to the device failed: %s",
			    strerror(errno));
	s->at_ns = clock_mono_ns() - s->skipped_ns;
	return r;
}

static int window_queued(struct disk_load *s, struct err *e)
{
	int64_t end;
	int r = 0;

	bench_disk_begin(s);
	end = s->at_ns + s->window_ns;
	while (r == 0 && !stopped(s) && (s->at_ns < end || !s->requests))
		r = bench_disk_turn(s, true, e);
	return r;
}

static void bench_disk_give(struct disk_load *s, double seconds, double cpu,
			    struct bench_sample *out)
{
	struct histogram *all = out->observed;

	out->value[DISK_RATE] = (double)s->bytes / seconds / 1e9;
	out->value[DISK_IOPS] = (double)s->requests / seconds;
	out->value[DISK_P50] = fmax(histogram_quantile(&s->times, 0.5), 1) / 1e3;
	/* The clock of CPU time may be coarser than what was used. */
	out->value[DISK_CPU] = fmax(cpu / (double)s->requests * 1e6, 1e-3);
	if (!all)
		return;
	for (size_t i = 0; i < sizeof(all->count) / sizeof(all->count[0]); i++)
		all->count[i] += s->times.count[i];
	all->n += s->times.n;
	all->max = fmax(all->max, s->times.max);
}

static int disk_run(void *state, struct bench_sample *out, struct err *e)
{
	struct disk_load *s = state;
	/* Requests stay under way between samples, so their time counts on. */
	int64_t from = s->under_way ? s->at_ns : 0;
	double cpu = s->cpu_s;
	int r;

	s->skipped_ns = 0;
	s->skipped_cpu_s = 0;
	if (!s->under_way) {
		from = clock_mono_ns();
		cpu = clock_cpu_s();
	}
	r = s->arg->buffered ? window_buffered(s, e) : window_queued(s, e);
	if (r)
		return r;
	if (stopped(s))
		return err_set(e, -EINTR, "interrupted");
	s->cpu_s = clock_cpu_s();
	bench_disk_give(s, (double)(s->at_ns - from) / 1e9, s->cpu_s - s->skipped_cpu_s - cpu, out);
	return 0;
}

/* Around a case at work: its place, buffers and engine, and whether what it did was right. */

enum { KEPT = 4096, KEPT_BYTES = 64 << 20 };

/* --- was it right ----------------------------------------------------------------------------- */
static int check_read(struct disk_load *s, struct err *e)
{
	int r = 0;

	for (unsigned i = 0; i < s->arg->depth && r == 0; i++)
		if (s->slots[i].held)
			r = disk_check(disk_queue_buffer(s->q, i), s->arg->block, s->file->id,
				       s->slots[i].offset, s->file->turns, e);
	return r;
}

static int bench_disk_check_written(struct disk_load *s, struct err *e)
{
	size_t n = s->n_kept < s->kept_max ? s->n_kept : s->kept_max;
	struct iovec v = { disk_queue_buffer(s->q, 0), s->arg->block };
	int r = disk_file_drop(s->file, e);

	for (size_t i = 0; i < n && r == 0; i++) {
		struct disk_slot it = { .offset = s->kept[i] };
		int got = disk_transfer(s->file->fd, &v, it.offset, false);

		if (got < 0 || (size_t)got != v.iov_len)
			return err_set(e, got < 0 ? got : -EIO,
				       "data written at byte %llu cannot be read back: %s",
				       (unsigned long long)it.offset,
				       got < 0 ? strerror(-got) : "the file was truncated");
		r = disk_check(v.iov_base, v.iov_len, s->file->id, it.offset, s->file->turns, e);
	}
	/* The buffer gets its own data again, for writes that may follow. */
	disk_fill(v.iov_base, v.iov_len, s->file->id, s->random);
	return r;
}

static int disk_verify(void *state, struct err *e)
{
	struct disk_load *s = state;
	int r = disk_drain(s, e);

	if (r)
		return r;
	if (s->wrong) {
		*e = s->first_wrong;
		return -EILSEQ;
	}
	return s->arg->write ? bench_disk_check_written(s, e) : check_read(s, e);
}

/* --- before and after ------------------------------------------------------------------------- */
static void disk_teardown(void *state)
{
	struct disk_load *s = state;

	if (s->q)
		disk_queue_close(s->q);
	pin_back(s->cpus_before);
	free(s->slots);
	free(s->done);
	free(s->busy);
	free(s->kept);
}

static void load_init(struct disk_load *s, const struct bench_env *env, const struct disk_arg *arg)
{
	s->arg = arg;
	s->file = &arg->shared->file;
	s->stop = env->stop;
	s->blocks = arg->shared->bytes / arg->block;
	s->window_ns = env->small ? 5000000 : 100000000;
	s->kept_max = KEPT_BYTES / arg->block < KEPT ? KEPT_BYTES / arg->block : KEPT;
	s->slots = heap_array(arg->depth, sizeof(*s->slots));
	s->done = heap_array(arg->depth, sizeof(*s->done));
	s->kept = heap_array(s->kept_max, sizeof(*s->kept));
	s->busy = arg->write ? heap_array(s->blocks, 1) : NULL;
}

static int bench_disk_prepare(struct disk_load *s, const struct bench_env *env, struct err *e)
{
	const struct disk_arg *arg = s->arg;
	struct disk_shared *shared = arg->shared;
	struct disk_queue_ask ask = { .depth = arg->depth,
				      .block = arg->block,
				      .node = shared->place.node,
				      .engine = arg->buffered ? ENGINE_PLAIN : shared->engine };
	bool seen = true;
	int r = 0;

	if (s->file->spoiled)
		disk_file_close(s->file);
	if (s->file->fd < 0)
		r = disk_file_open(s->file, shared->place.dir, shared->bytes, shared->direct.can,
				   env->stop, e);
	r = r ? r : disk_file_mode(s->file, !arg->buffered, e);
	if (r == 0 && arg->buffered && !arg->write && !shared->place.memory)
		r = disk_file_cold(s->file, &seen, e);
	else
		r = r ? r : disk_file_drop(s->file, e);
	if (r)
		return r;
	s->blind = !seen;
	ask.fd = s->file->fd;
	s->random = s->file->id | 1;
	r = disk_queue_open(&ask, &s->q, e);
	for (unsigned i = 0; i < arg->depth && r == 0; i++)
		disk_fill(disk_queue_buffer(s->q, i), arg->block, s->file->id,
			  s->random + i * (arg->block / DISK_PAGE));
	return r;
}

static int disk_setup(const struct bench_env *env, const struct bench_case *c, void *state,
		      const char **variant, struct err *e)
{
	const struct disk_arg *arg = c->arg;
	struct disk_load *s = state;
	int r;

	load_init(s, env, arg);
	s->cpus_before = pin_to(&arg->shared->cpus);
	r = bench_disk_prepare(s, env, e);
	if (r)
		return r;
	*variant = arena_printf(
		env->a, "%s, %s%s", disk_queue_engine(s->q),
		!arg->buffered ? "O_DIRECT"
		: s->blind ? "through the page cache; the kernel does not report what it contains"
			   : "page cache",
		disk_place_settings(env->a, &arg->shared->place));
	return 0;
}

/* --- the bench -------------------------------------------------------------------------------- */

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

static int bench_disk_look(const struct bench_env *env, struct disk_shared *s, struct err *e)
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
			       "%.200s has %llu MiB free; the test requires %llu, twice its file",
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
	return row->block < s->direct.align ? "the disk does not support blocks that small" : NULL;
}

static void disk_cases(const struct bench_env *env, struct bench_cases *out)
{
	struct disk_shared *s = ARENA_NEW(env->a, struct disk_shared);
	struct err e = { 0 };

	if (!env->ask.dir) {
		out->none = "no folder for the test file: give --dir DIR";
		out->usage = true;
		return;
	}
	s->file.fd = -1;
	if (bench_disk_look(env, s, &e)) {
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
		return (struct bench_limit){ .source = "unknown: seek time of the disk" };
	return arg->shared->limit;
}

static const struct bench_figure figures[DISK_FIGURES] = {
	[DISK_RATE] = { "rate", "bytes moved", "gb_per_s", "GB/s", BENCH_HIGHER },
	[DISK_IOPS] = { "iops", "requests per second", "iops", "IO/s", BENCH_HIGHER },
	[DISK_P50] = { "p50", "median time per request", "us", "us", BENCH_LOWER },
	[DISK_CPU] = { "cpu", "CPU time per request", "us", "us", BENCH_LOWER },
};

const struct bench bench_disk = {
	.name = "disk",
	.title = "sequential and random reads and writes of a file in a folder (--dir)",
	.method = "An unnamed temporary file, filled with incompressible data and written to the "
		  "device before any read. The stated number of requests (qd) is kept in flight "
		  "through io_uring bypassing the page cache (O_DIRECT), or by threads if io_uring "
		  "is refused; a sample counts the requests that complete in a tenth of a second. "
		  "With :buffered one thread uses the page cache, which is empty at the start; "
		  "buffered writes count when they reach the device. Every block contains its "
		  "position and write number, which are checked on each read; the last blocks of a "
		  "round are checked byte by byte, and written data is read back.",
	.version = 1,
	FIGURES(figures),
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
