/* SPDX-License-Identifier: Apache-2.0 */
/* A recording line by line: bounded, and believed in nothing. */
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zstd.h>

#include "base/text.h"
#include "look/monitor/recording.h"

enum { LINE_MAX_BYTES = 4 << 20, GPUS_MAX = 1024, WORDS_MAX = 4096, WINDOW_LOG_MAX = 27 };
#define MS_MAX (1000ll * 86400 * 366)

struct reader {
	struct arena *a;
	struct recording *out;
	recording_row *row;
	void *ctx;
	double *values;
	uint64_t line;
	bool ended, enough, torn;
	const char *path;
	struct err *e;
	char packed[1 << 16], plain[1 << 16];
};

static int bad(struct reader *r, const char *what)
{
	return err_set(r->e, -EBADMSG, "%s, line %llu: %s", r->path, (unsigned long long)r->line,
		       what);
}

/* --- the first line ------------------------------------------------------------------------------
 */

static const char *text_in(struct reader *r, const json_t *o, const char *key)
{
	const char *s = json_string_value(json_object_get(o, key));

	return s ? arena_strdup(r->a, s) : NULL;
}

static double figure_in(const json_t *o, const char *key)
{
	const json_t *v = json_object_get(o, key);
	double d = json_is_number(v) ? json_number_value(v) : -1;

	return isfinite(d) ? d : -1;
}

static void take_gpu(struct reader *r, const json_t *x, struct monitor_gpu *g)
{
	json_int_t index = json_integer_value(json_object_get(x, "index"));

	*g = (struct monitor_gpu){ .index = index >= 0 && index < GPUS_MAX ? (unsigned)index : 0,
				   .name = text_in(r, x, "name"),
				   .sm_max_mhz = figure_in(x, "sm_max_mhz"),
				   .lock_low_mhz = figure_in(x, "lock_low_mhz"),
				   .lock_high_mhz = figure_in(x, "lock_high_mhz"),
				   .power_limit_w = figure_in(x, "power_limit_w"),
				   .memory_bytes = figure_in(x, "memory_bytes"),
				   .slowdown_c = figure_in(x, "slowdown_c"),
				   .integrated = json_is_true(json_object_get(x, "integrated")) };
}

static int take_machine(struct reader *r, const json_t *o)
{
	struct monitor_machine *m = &r->out->mon.machine;
	const json_t *gpus = json_object_get(o, "gpus");
	json_int_t cpus = json_integer_value(json_object_get(o, "cpus"));

	m->name = text_in(r, o, "name");
	m->name = m->name ? m->name : "";
	m->platform = text_in(r, o, "platform");
	m->kernel = text_in(r, o, "kernel");
	m->driver = text_in(r, o, "driver");
	m->memory_bytes = figure_in(o, "memory_bytes");
	m->cpus = cpus > 0 && cpus < 65536 ? (unsigned)cpus : 0;
	m->n_gpus = json_array_size(gpus);
	if (m->n_gpus > GPUS_MAX)
		return bad(r, "more GPUs than any machine has");
	m->gpus = arena_array(r->a, m->n_gpus, sizeof(*m->gpus));
	for (size_t i = 0; i < m->n_gpus; i++)
		take_gpu(r, json_array_get(gpus, i), &m->gpus[i]);
	return 0;
}

/* A column of a later version is kept as one that nobody asks for. */
static const struct column_type *type_of(struct reader *r, const json_t *x)
{
	const char *name = text_in(r, x, "name"), *unit = text_in(r, x, "unit");
	const char *kind = json_string_value(json_object_get(x, "kind"));
	const struct column_type *known = name ? column_type_find(name) : NULL;
	struct column_type *t;

	if (!name || !unit || !kind)
		return NULL;
	if (known)
		return strcmp(known->unit, unit) == 0 ? known : NULL;
	t = ARENA_NEW(r->a, struct column_type);
	*t = (struct column_type){ .name = name,
				   .unit = unit,
				   .kind = strcmp(kind, "total") == 0 ? COLUMN_TOTAL : COLUMN_GAUGE,
				   .factor = 1 };
	return t;
}

/* Files of before there were two beats tell of one. */
static enum monitor_beat beat_in(const json_t *column)
{
	if (!json_is_true(json_object_get(column, "slow")))
		return BEAT_LOOK;
	return json_number_value(json_object_get(column, "every_s")) < beat_seconds[BEAT_RARE]
		       ? BEAT_SLOW
		       : BEAT_RARE;
}

static int take_columns(struct reader *r, const json_t *columns)
{
	struct monitor *mon = &r->out->mon;

	mon->n = json_array_size(columns);
	if (!mon->n || mon->n > MONITOR_COLUMNS_MAX)
		return bad(r, "it has no columns, or too many");
	mon->columns = arena_array(r->a, mon->n, sizeof(*mon->columns));
	r->values = arena_array(r->a, mon->n, sizeof(*r->values));
	for (size_t i = 0; i < mon->n; i++) {
		const json_t *x = json_array_get(columns, i);

		mon->columns[i] =
			(struct column_of){ type_of(r, x), text_in(r, x, "target"), beat_in(x) };
		if (!mon->columns[i].type || !mon->columns[i].target)
			return bad(r, "a column is not described, or has another unit than it has "
				      "here");
		r->values[i] = NAN;
	}
	monitor_index(r->a, mon);
	return 0;
}

static int take_command(struct reader *r, const json_t *words)
{
	size_t n = json_array_size(words);

	if (!json_is_array(words))
		return 0;
	if (n > WORDS_MAX)
		return bad(r, "a command of more words than are read");
	r->out->command = arena_array(r->a, n + 1, sizeof(*r->out->command));
	for (size_t i = 0; i < n; i++) {
		const char *s = json_string_value(json_array_get(words, i));

		if (!s)
			return bad(r, "a word of the command is no text");
		r->out->command[i] = arena_strdup(r->a, s);
	}
	return 0;
}

static int take_head(struct reader *r, const json_t *o)
{
	const char *schema = json_string_value(json_object_get(o, "schema"));
	json_int_t ms = json_integer_value(json_object_get(o, "interval_ms"));
	int e;

	if (!schema || strcmp(schema, "gputune.recording/1") != 0)
		return bad(r, "it is no recording (schema gputune.recording/1)");
	r->out->started_s = json_integer_value(json_object_get(o, "started_s"));
	r->out->interval_ms = ms > 0 && ms <= 86400000 ? (int)ms : 1000;
	e = take_machine(r, json_object_get(o, "machine"));
	e = e ? e : take_columns(r, json_object_get(o, "columns"));
	return e ? e : take_command(r, json_object_get(o, "command"));
}

/* --- rows ---------------------------------------------------------------------------------------
 */

static int take_row(struct reader *r, const json_t *row)
{
	size_t n = json_array_size(row);
	const json_t *first = json_array_get(row, 0);
	json_int_t ms = json_integer_value(first);

	if (!json_is_integer(first) || n % 2 != 1)
		return bad(r, "a row is not a time and pairs of column and value");
	if (ms < r->out->ms || ms > MS_MAX)
		return bad(r, "its time goes back, or beyond a year");
	for (size_t i = 1; i < n; i += 2) {
		const json_t *c = json_array_get(row, i), *v = json_array_get(row, i + 1);
		json_int_t at = json_integer_value(c);

		if (!json_is_integer(c) || at < 0 || (size_t)at >= r->out->mon.n ||
		    !(json_is_number(v) || json_is_null(v)))
			return bad(r, "a column that there is not, or a value that is no number");
		r->values[at] = json_is_null(v) ? (double)NAN : json_number_value(v);
	}
	r->out->ms = ms;
	r->out->end.rows++;
	if (r->row && !r->row(r->ctx, ms, r->values))
		r->enough = true;
	return 0;
}

static int take_end(struct reader *r, const json_t *o)
{
	const json_t *status = json_object_get(o, "status");
	struct recording_end *end = &r->out->end;

	if ((uint64_t)json_integer_value(json_object_get(o, "rows")) != end->rows)
		return bad(r, "rows are missing");
	r->ended = end->whole = true;
	end->status = json_is_integer(status) ? (int)(json_integer_value(status) & 0x1ff) : -1;
	end->cpu_s = figure_in(o, "cpu_s");
	end->command_cpu_s = figure_in(o, "command_cpu_s");
	return 0;
}

static int take_line(struct reader *r, const char *s, size_t n)
{
	json_t *o;
	int e;

	r->line++;
	if (r->ended)
		return bad(r, "something stands behind the last line");
	o = json_loadb(s, n, JSON_REJECT_DUPLICATES, NULL);
	if (!o)
		return bad(r, "it is no JSON");
	if (r->line == 1)
		e = json_is_object(o) ? take_head(r, o) : bad(r, "it is no recording");
	else if (json_is_array(o))
		e = take_row(r, o);
	else
		e = json_is_object(o) ? take_end(r, o) : bad(r, "it is no row");
	json_decref(o);
	return e;
}

/* --- the file ------------------------------------------------------------------------------------
 */

static int take_text(struct reader *r, struct text *line, const char *s, size_t n)
{
	int e = 0;

	while (n && e == 0 && !r->enough) {
		const char *nl = memchr(s, '\n', n);
		size_t k = nl ? (size_t)(nl - s) : n;

		if (line->len + k > LINE_MAX_BYTES)
			return bad(r, "it is longer than 4 MiB");
		text_addn(line, s, k);
		if (nl) {
			e = take_line(r, line->s ? line->s : "", line->len);
			text_clear(line);
			k++;
		}
		s += k;
		n -= k;
	}
	return e;
}

/* As much as the decoder asks for, which is a block: more would lose what is good before what is
 * damaged. *ask: of the next piece. */
static int take_piece(struct reader *r, ZSTD_DCtx *z, struct text *line, ZSTD_inBuffer *in,
		      size_t *ask)
{
	int e = 0;

	while (e == 0 && !r->enough) {
		ZSTD_outBuffer out = { r->plain, sizeof(r->plain), 0 };
		size_t left = ZSTD_decompressStream(z, &out, in);

		if (ZSTD_isError(left) && !r->line)
			return err_set(r->e, -EBADMSG,
				       "%s: it is no recording, or its beginning is damaged "
				       "(zstd: %s)",
				       r->path, ZSTD_getErrorName(left));
		if (ZSTD_isError(left) && r->ended)
			return bad(r, ZSTD_getErrorName(left));
		/* Where power failed, a file system may leave zeros for what was written last. */
		r->torn = ZSTD_isError(left);
		if (r->torn)
			return 0;
		e = take_text(r, line, r->plain, out.pos);
		*ask = left ? left : 1;
		if (in->pos == in->size && out.pos < out.size)
			break;
	}
	return e;
}

static int take_file(struct reader *r, int fd, ZSTD_DCtx *z)
{
	TEXT_AUTO line = { 0 };
	size_t ask = 1;
	ssize_t got;
	int e = 0;

	while (e == 0 && !r->enough && !r->torn &&
	       (got = read(fd, r->packed, sizeof(r->packed))) != 0) {
		size_t n = got > 0 ? (size_t)got : 0;

		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0)
			return err_set(r->e, -errno, "%s cannot be read: %s", r->path,
				       strerror(errno));
		for (size_t at = 0; at < n && e == 0 && !r->enough && !r->torn;) {
			size_t piece = ask < n - at ? ask : n - at;
			ZSTD_inBuffer in = { r->packed + at, piece, 0 };

			e = take_piece(r, z, &line, &in, &ask);
			at += piece;
		}
	}
	if (e == 0 && r->line == 0)
		return err_set(r->e, -EBADMSG,
			       "%s: it is no recording, or cut off before its first line ends",
			       r->path);
	return e;
}

int recording_read(struct arena *a, const char *path, struct recording *out, recording_row *row,
		   void *ctx, struct err *e)
{
	struct reader r = { .a = a, .out = out, .row = row, .ctx = ctx, .path = path, .e = e };
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK), code;
	struct stat st;
	ZSTD_DCtx *z;

	*out = (struct recording){ .end = { .status = -1, .cpu_s = -1, .command_cpu_s = -1 } };
	if (fd < 0 || fstat(fd, &st)) {
		code = err_set(e, -errno, "%s cannot be read: %s", path, strerror(errno));
		if (fd >= 0)
			close(fd);
		return code;
	}
	z = S_ISREG(st.st_mode) ? ZSTD_createDCtx() : NULL;
	if (!z) {
		close(fd);
		return S_ISREG(st.st_mode) ? err_set(e, -ENOMEM, "no memory")
					   : err_set(e, -EINVAL, "%s is no file", path);
	}
	ZSTD_DCtx_setParameter(z, ZSTD_d_windowLogMax, WINDOW_LOG_MAX);
	code = take_file(&r, fd, z);
	ZSTD_freeDCtx(z);
	close(fd);
	return code;
}
