/* SPDX-License-Identifier: Apache-2.0 */
/* Rows into a file, as they come. */
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zstd.h>

#include "base/text.h"
#include "look/monitor/recording.h"

/* A window of 128 KiB: rows repeat what stood a few rows before, and the memory that it takes is
 * all there is, however long the job. */
enum { FLUSH_MS = 1000, FULL_ROW_MS = 60000, LEVEL = 3, WINDOW_LOG = 17 };

struct recorder {
	int fd;
	ZSTD_CCtx *z;
	size_t n;
	double *last;
	int64_t flushed_ms, full_ms;
	uint64_t rows;
	struct text line;
	char out[1 << 16];
	int error;
};

static int put(struct recorder *r, const char *s, size_t n, ZSTD_EndDirective how)
{
	ZSTD_inBuffer in = { s, n, 0 };
	size_t left;

	do {
		ZSTD_outBuffer out = { r->out, sizeof(r->out), 0 };

		left = ZSTD_compressStream2(r->z, &out, &in, how);
		if (ZSTD_isError(left))
			return -EIO;
		for (size_t at = 0; at < out.pos;) {
			ssize_t k = write(r->fd, r->out + at, out.pos - at);

			if (k < 0 && errno != EINTR)
				return -errno;
			at += k > 0 ? (size_t)k : 0;
		}
	} while (how == ZSTD_e_continue ? in.pos < in.size : left != 0);
	return 0;
}

static void figure(json_t *o, const char *key, double v)
{
	json_object_set_new(o, key, v >= 0 && isfinite(v) ? json_real(v) : json_null());
}

static void word(json_t *o, const char *key, const char *s)
{
	json_t *v = s ? json_string(s) : NULL;

	json_object_set_new(o, key, v ? v : json_null());
}

static json_t *machine_json(const struct monitor_machine *m)
{
	json_t *o = json_object(), *gpus = json_array();

	word(o, "name", m->name);
	word(o, "platform", m->platform);
	word(o, "kernel", m->kernel);
	word(o, "driver", m->driver);
	figure(o, "memory_bytes", m->memory_bytes);
	json_object_set_new(o, "cpus", json_integer(m->cpus));
	for (size_t i = 0; i < m->n_gpus; i++) {
		const struct monitor_gpu *g = &m->gpus[i];
		json_t *x = json_object();

		json_object_set_new(x, "index", json_integer(g->index));
		word(x, "name", g->name);
		figure(x, "sm_max_mhz", g->sm_max_mhz);
		figure(x, "lock_low_mhz", g->lock_low_mhz);
		figure(x, "lock_high_mhz", g->lock_high_mhz);
		figure(x, "power_limit_w", g->power_limit_w);
		figure(x, "memory_bytes", g->memory_bytes);
		figure(x, "slowdown_c", g->slowdown_c);
		json_object_set_new(x, "integrated", json_boolean(g->integrated));
		json_array_append_new(gpus, x);
	}
	json_object_set_new(o, "gpus", gpus);
	return o;
}

static json_t *head_json(const struct monitor *mon, char *const *command, long long started_s,
			 int interval_ms)
{
	json_t *o = json_object(), *columns = json_array(), *words = json_array();

	word(o, "schema", "gputune.recording/1");
	word(o, "tool_version", GPUTUNE_VERSION);
	json_object_set_new(o, "started_s", json_integer(started_s));
	json_object_set_new(o, "interval_ms", json_integer(interval_ms));
	for (size_t i = 0; command && command[i]; i++) {
		json_t *s = json_string(command[i]);

		json_array_append_new(words, s ? s : json_string("?"));
	}
	json_object_set_new(o, "command", command ? json_incref(words) : json_null());
	json_decref(words);
	json_object_set_new(o, "machine", machine_json(&mon->machine));
	for (size_t i = 0; i < mon->n; i++) {
		const struct column_of *c = &mon->columns[i];
		json_t *x = json_object();

		word(x, "name", c->type->name);
		word(x, "target", c->target);
		word(x, "unit", c->type->unit);
		json_object_set_new(x, "slow", json_boolean(c->beat != BEAT_LOOK));
		if (c->beat != BEAT_LOOK)
			json_object_set_new(x, "every_s", json_real(beat_seconds[c->beat]));
		word(x, "kind", c->type->kind == COLUMN_TOTAL ? "total" : "gauge");
		json_array_append_new(columns, x);
	}
	json_object_set_new(o, "columns", columns);
	return o;
}

static int put_json(struct recorder *r, json_t *o, ZSTD_EndDirective how)
{
	char *s = json_dumps(o, JSON_COMPACT);
	int e = s ? put(r, s, strlen(s), ZSTD_e_continue) : -ENOMEM;

	free(s);
	json_decref(o);
	return e ? e : put(r, "\n", 1, how);
}

static void drop(struct recorder *r)
{
	if (r->fd >= 0)
		close(r->fd);
	ZSTD_freeCCtx(r->z);
	text_free(&r->line);
	free(r->last);
	free(r);
}

struct recorder *recorder_open(const char *path, const struct monitor *mon, char *const *command,
			       long long started_s, int interval_ms, struct err *e)
{
	struct recorder *r = calloc(1, sizeof(*r));
	int error;

	if (!r) {
		err_set(e, -ENOMEM, "no memory");
		return NULL;
	}
	r->fd = -1;
	r->n = mon->n;
	r->full_ms = -1;
	r->last = calloc(mon->n + 1, sizeof(*r->last));
	r->z = ZSTD_createCCtx();
	if (!r->last || !r->z) {
		err_set(e, -ENOMEM, "no memory");
		drop(r);
		errno = ENOMEM;
		return NULL;
	}
	ZSTD_CCtx_setParameter(r->z, ZSTD_c_compressionLevel, LEVEL);
	ZSTD_CCtx_setParameter(r->z, ZSTD_c_windowLog, WINDOW_LOG);
	ZSTD_CCtx_setParameter(r->z, ZSTD_c_checksumFlag, 1);
	r->fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (r->fd < 0) {
		error = errno;
		err_set(e, -error, "%s cannot be made: %s", path, strerror(error));
		drop(r);
		errno = error;
		return NULL;
	}
	error = put_json(r, head_json(mon, command, started_s, interval_ms), ZSTD_e_flush);
	if (error) {
		err_set(e, error, "%s cannot be written: %s", path, strerror(-error));
		unlink(path);
		drop(r);
		errno = -error;
		return NULL;
	}
	return r;
}

static bool same(double a, double b)
{
	return (isnan(a) && isnan(b)) || (a >= b && a <= b);
}

int recorder_row(struct recorder *r, int64_t ms, const double *values)
{
	bool full = r->full_ms < 0 || ms - r->full_ms >= FULL_ROW_MS;
	bool flush = ms - r->flushed_ms >= FLUSH_MS;
	int e;

	if (r->error)
		return r->error;
	text_clear(&r->line);
	text_printf(&r->line, "[%lld", (long long)ms);
	for (size_t i = 0; i < r->n; i++) {
		if (!full && same(values[i], r->last[i]))
			continue;
		r->last[i] = values[i];
		if (isfinite(values[i]))
			text_printf(&r->line, ",%zu,%.12g", i, values[i]);
		else
			text_printf(&r->line, ",%zu,null", i);
	}
	text_add(&r->line, "]\n");
	e = put(r, r->line.s, r->line.len, flush ? ZSTD_e_flush : ZSTD_e_continue);
	if (flush)
		r->flushed_ms = ms;
	if (full)
		r->full_ms = ms;
	r->rows++;
	r->error = e;
	return e;
}

int recorder_close(struct recorder *r, const struct recording_end *end)
{
	int e = r->error;

	if (e == 0 && end) {
		json_t *o = json_object();

		json_object_set_new(o, "rows", json_integer((json_int_t)r->rows));
		json_object_set_new(o, "status",
				    end->status >= 0 ? json_integer(end->status) : json_null());
		figure(o, "cpu_s", end->cpu_s);
		figure(o, "command_cpu_s", end->command_cpu_s);
		e = put_json(r, o, ZSTD_e_end);
	}
	if (e == 0 && fsync(r->fd) && errno != EINVAL && errno != EROFS)
		e = -errno;
	drop(r);
	return e;
}
