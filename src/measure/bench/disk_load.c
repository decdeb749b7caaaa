/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One case at work: keeps so many requests under way, counts, times and checks what comes back. The
 * clock is read once for all requests that are found done together, and they go out again at that
 * time.
 */
#include "measure/bench/disk_load.h"

#include <errno.h>
#include <math.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"

enum { SYNC_BYTES = 64 << 20 };

static bool stopped(const struct disk_load *s)
{
	return s->stop && atomic_load_explicit(s->stop, memory_order_relaxed);
}

/* --- requests -----------------------------------------------------------------------------------
 */
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

static void put(struct disk_load *s, unsigned i, int64_t now)
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
		return err_set(e, result, "there is no space left for %s at byte %llu: %s", what,
			       at, strerror(-result));
	if (result < 0)
		return err_set(e, result, "%s at byte %llu failed: %s", what, at,
			       strerror(-result));
	return err_set(e, -EIO, "%s at byte %llu ended after %d of %zu bytes", what, at, result,
		       s->arg->block);
}

static int finish(struct disk_load *s, const struct uring_done *d, int64_t now, struct err *e)
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
static int turn(struct disk_load *s, bool again, struct err *e)
{
	int n = disk_queue_wait(s->q, s->done), r = 0;
	int64_t now = clock_mono_ns();

	if (n < 0)
		return err_set(e, n, "waiting for the disk failed: %s", strerror(-n));
	for (int i = 0; i < n; i++) {
		int failed = finish(s, &s->done[i], now, e);

		r = r ? r : failed;
		if (again && r == 0)
			put(s, s->done[i].slot, now);
	}
	s->at_ns = now;
	return r;
}

int disk_drain(struct disk_load *s, struct err *e)
{
	int r = 0;

	while (s->under_way && r == 0)
		r = turn(s, false, e);
	return r;
}

/* --- a sample -----------------------------------------------------------------------------------
 */
static void begin(struct disk_load *s)
{
	memset(&s->times, 0, sizeof(s->times));
	s->bytes = s->requests = 0;
	if (s->under_way)
		return;
	s->at_ns = clock_mono_ns();
	for (unsigned i = 0; i < s->arg->depth; i++)
		put(s, i, s->at_ns);
}

/* Nothing that was read once may come from memory: before a round through the file begins anew, and
 * before each window of random reads. Its time does not count. */
static int forget(struct disk_load *s, struct err *e)
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
		r = forget(s, e);
	if (r)
		return r;
	begin(s);
	while (r == 0) {
		r = turn(s, false, e);
		if (r || s->at_ns - s->skipped_ns - from >= s->window_ns || stopped(s) ||
		    (s->arg->write && s->bytes >= SYNC_BYTES))
			break;
		if (!s->arg->write && !s->arg->random && s->cursor >= s->blocks)
			r = forget(s, e);
		if (r == 0)
			put(s, 0, clock_mono_ns());
	}
	if (r == 0 && s->arg->write && fdatasync(s->file->fd))
		r = err_set(e, -errno, "what was written does not reach the device: %s",
			    strerror(errno));
	s->at_ns = clock_mono_ns() - s->skipped_ns;
	return r;
}

static int window_queued(struct disk_load *s, struct err *e)
{
	int64_t end;
	int r = 0;

	begin(s);
	end = s->at_ns + s->window_ns;
	while (r == 0 && !stopped(s) && (s->at_ns < end || !s->requests))
		r = turn(s, true, e);
	return r;
}

static void give(struct disk_load *s, double seconds, double cpu, struct bench_sample *out)
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

int disk_run(void *state, struct bench_sample *out, struct err *e)
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
	give(s, (double)(s->at_ns - from) / 1e9, s->cpu_s - s->skipped_cpu_s - cpu, out);
	return 0;
}
