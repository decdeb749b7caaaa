/* SPDX-License-Identifier: Apache-2.0 */
/* Around a case at work: its place, buffers and engine, and whether what it did was right. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "measure/bench/disk_load.h"
#include "measure/bench/disk_pin.h"
#include "measure/bench/disk_threads.h"

enum { KEPT = 4096, KEPT_BYTES = 64 << 20 };

/* --- was it right -------------------------------------------------------------------------------
 */
static int check_read(struct disk_load *s, struct err *e)
{
	int r = 0;

	for (unsigned i = 0; i < s->arg->depth && r == 0; i++)
		if (s->slots[i].held)
			r = disk_check(disk_queue_buffer(s->q, i), s->arg->block, s->file->id,
				       s->slots[i].offset, s->file->turns, e);
	return r;
}

static int check_written(struct disk_load *s, struct err *e)
{
	size_t n = s->n_kept < s->kept_max ? s->n_kept : s->kept_max;
	struct iovec v = { disk_queue_buffer(s->q, 0), s->arg->block };
	int r = disk_file_drop(s->file, e);

	for (size_t i = 0; i < n && r == 0; i++) {
		struct disk_slot it = { .offset = s->kept[i] };
		int got = disk_transfer(s->file->fd, &v, it.offset, false);

		if (got < 0 || (size_t)got != v.iov_len)
			return err_set(e, got < 0 ? got : -EIO,
				       "what was written at byte %llu cannot be read back: %s",
				       (unsigned long long)it.offset,
				       got < 0 ? strerror(-got) : "it is shorter");
		r = disk_check(v.iov_base, v.iov_len, s->file->id, it.offset, s->file->turns, e);
	}
	/* The buffer gets its own data again, for writes that may follow. */
	disk_fill(v.iov_base, v.iov_len, s->file->id, s->random);
	return r;
}

int disk_verify(void *state, struct err *e)
{
	struct disk_load *s = state;
	int r = disk_drain(s, e);

	if (r)
		return r;
	if (s->wrong) {
		*e = s->first_wrong;
		return -EILSEQ;
	}
	return s->arg->write ? check_written(s, e) : check_read(s, e);
}

/* --- before and after ---------------------------------------------------------------------------
 */
void disk_teardown(void *state)
{
	struct disk_load *s = state;

	if (s->q)
		disk_queue_close(s->q);
	pin_back(s->cpus_before);
	free(s->slots);
	free(s->done);
	free(s->busy);
	free(s->kept);
	free(s);
}

static struct disk_load *load_new(const struct bench_env *env, const struct disk_arg *arg)
{
	struct disk_load *s = calloc(1, sizeof(*s));

	if (!s)
		return NULL;
	s->arg = arg;
	s->file = &arg->shared->file;
	s->stop = env->stop;
	s->blocks = arg->shared->bytes / arg->block;
	s->window_ns = env->small ? 5000000 : 100000000;
	s->kept_max = KEPT_BYTES / arg->block < KEPT ? KEPT_BYTES / arg->block : KEPT;
	s->slots = calloc(arg->depth, sizeof(*s->slots));
	s->done = calloc(arg->depth, sizeof(*s->done));
	s->kept = calloc(s->kept_max, sizeof(*s->kept));
	s->busy = arg->write ? calloc(s->blocks, 1) : NULL;
	if (s->slots && s->done && s->kept && (s->busy || !arg->write))
		return s;
	disk_teardown(s);
	return NULL;
}

static int prepare(struct disk_load *s, const struct bench_env *env, struct err *e)
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

int disk_setup(const struct bench_env *env, const struct bench_case *c, void **state,
	       const char **variant, struct err *e)
{
	const struct disk_arg *arg = c->arg;
	struct disk_load *s = load_new(env, arg);
	int r;

	if (!s)
		return err_set(e, -ENOMEM, "no memory for requests");
	s->cpus_before = pin_to(&arg->shared->cpus);
	r = prepare(s, env, e);
	if (r) {
		disk_teardown(s);
		return r;
	}
	*variant = arena_printf(env->a, "%s, %s%s", disk_queue_engine(s->q),
				!arg->buffered ? "O_DIRECT"
				: s->blind     ? "page cache, and the kernel does not tell what it "
						 "held"
					       : "page cache",
				disk_place_settings(env->a, &arg->shared->place));
	*state = s;
	return 0;
}
