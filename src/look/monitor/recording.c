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

#include "base/fd.h"
#include "base/shape.h"
#include "base/text.h"
#include "look/monitor/recording.h"
#include "machine/host/libraries.h"

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

/* --- the first and the last line -------------------------------------------------------------- */

struct recorded_column {
	const char *name, *target, *unit;
	enum column_kind kind;
	bool slow;
	double every_s; /* 0: at each look, or a file of before there were two slower beats */
};

struct recording_head {
	long long started_s;
	int interval_ms;
	const char **command; /* NULL: none */
	size_t n_words;
	struct monitor_machine machine;
	struct recorded_column *columns;
	size_t n_columns;
};

static const char *const column_kinds[] = { "gauge", "total" };

/* clang-format off */
static const struct shape monitor_gpu_shape = SHAPE_OF(monitor_gpu, monitor_gpu,
	{ "index", NULL, SHAPE_COUNT(monitor_gpu, index) },
	{ "name", NULL, SHAPE_TEXT(monitor_gpu, name), .unknown = SHAPE_NULL },
	{ "sm_max_mhz", NULL, SHAPE_REAL(monitor_gpu, sm_max_mhz), .unknown = SHAPE_NEGATIVE },
	{ "lock_low_mhz", NULL, SHAPE_REAL(monitor_gpu, lock_low_mhz), .unknown = SHAPE_NEGATIVE },
	{ "lock_high_mhz", NULL, SHAPE_REAL(monitor_gpu, lock_high_mhz),
	  .unknown = SHAPE_NEGATIVE },
	{ "power_limit_w", NULL, SHAPE_REAL(monitor_gpu, power_limit_w),
	  .unknown = SHAPE_NEGATIVE },
	{ "memory_bytes", NULL, SHAPE_REAL(monitor_gpu, memory_bytes), .unknown = SHAPE_NEGATIVE },
	{ "slowdown_c", NULL, SHAPE_REAL(monitor_gpu, slowdown_c), .unknown = SHAPE_NEGATIVE },
	{ "integrated", "The GPU shares the host's memory.", SHAPE_FLAG(monitor_gpu, integrated),
	  .absent = true });

static const struct shape monitor_machine_shape = SHAPE_OF(monitor_machine, monitor_machine,
	{ "name", NULL, SHAPE_TEXT(monitor_machine, name), .unknown = SHAPE_NULL },
	{ "platform", NULL, SHAPE_TEXT(monitor_machine, platform), .unknown = SHAPE_NULL },
	{ "kernel", NULL, SHAPE_TEXT(monitor_machine, kernel), .unknown = SHAPE_NULL },
	{ "driver", NULL, SHAPE_TEXT(monitor_machine, driver), .unknown = SHAPE_NULL },
	{ "memory_bytes", NULL, SHAPE_REAL(monitor_machine, memory_bytes),
	  .unknown = SHAPE_NEGATIVE },
	{ "cpus", NULL, SHAPE_COUNT(monitor_machine, cpus), .absent = true },
	{ "gpus", NULL, SHAPE_LIST(monitor_machine, gpus, n_gpus, monitor_gpu), .max = GPUS_MAX,
	  .absent = true });

static const struct shape recorded_column_shape = SHAPE_OF(recorded_column, recorded_column,
	{ "name", NULL, SHAPE_TEXT(recorded_column, name) },
	{ "target", NULL, SHAPE_TEXT(recorded_column, target) },
	{ "unit", NULL, SHAPE_TEXT(recorded_column, unit) },
	{ "slow", "Not read at each sample.", SHAPE_FLAG(recorded_column, slow), .absent = true },
	{ "every_s", NULL, SHAPE_REAL(recorded_column, every_s),
	  .unknown = SHAPE_ZERO, .absent = true },
	{ "kind", NULL, SHAPE_CHOICE(recorded_column, kind, column_kinds) });

static const struct shape recording_head_shape = SHAPE_OF(recording_head, recording_head,
	{ "started_s", "Since 1970.", SHAPE_COUNT(recording_head, started_s), .absent = true },
	{ "interval_ms", NULL, SHAPE_COUNT(recording_head, interval_ms), .absent = true },
	{ "command", NULL, SHAPE_TEXT_LIST(recording_head, command, n_words), .unknown = SHAPE_NULL,
	  .max = WORDS_MAX },
	{ "machine", NULL, SHAPE_OBJECT(recording_head, machine, monitor_machine) },
	{ "columns", NULL, SHAPE_LIST(recording_head, columns, n_columns, recorded_column),
	  .max = MONITOR_COLUMNS_MAX });

const struct result_shape recording_result = {
	.name = "recording", .title = "the first line of a recording",
	.meaning = "The columns of a recording by \"gputune record\".",
	.shape = &recording_head_shape, .no_time = true,
};

static const struct shape recording_end_shape = SHAPE_OF(recording_end, recording_end,
	{ "rows", NULL, SHAPE_COUNT(recording_end, rows) },
	{ "status", NULL, SHAPE_COUNT(recording_end, status), .unknown = SHAPE_NEGATIVE },
	{ "cpu_s", NULL, SHAPE_REAL(recording_end, cpu_s), .unknown = SHAPE_NEGATIVE },
	{ "command_cpu_s", NULL, SHAPE_REAL(recording_end, command_cpu_s),
	  .unknown = SHAPE_NEGATIVE });
/* clang-format on */

/* A column of a later version is kept as one that nobody asks for. NULL: its unit is another one
 * here. */
static const struct column_type *recording_type_of(struct reader *r,
						   const struct recorded_column *c)
{
	const struct column_type *known = column_type_find(c->name);
	struct column_type *t;

	if (known)
		return strcmp(known->unit, c->unit) == 0 ? known : NULL;
	t = ARENA_NEW(r->a, struct column_type);
	*t = (struct column_type){ .name = c->name, .unit = c->unit, .kind = c->kind, .factor = 1 };
	return t;
}

/* Files of before there were two beats tell of one. */
static enum monitor_beat beat_of(const struct recorded_column *c)
{
	return !c->slow ? BEAT_LOOK : c->every_s < beat_seconds[BEAT_RARE] ? BEAT_SLOW : BEAT_RARE;
}

static int recording_take_columns(struct reader *r, const struct recording_head *h)
{
	struct monitor *mon = &r->out->mon;

	mon->n = h->n_columns;
	if (!mon->n)
		return bad(r, "no columns");
	mon->columns = arena_array(r->a, mon->n, sizeof(*mon->columns));
	r->values = arena_array(r->a, mon->n, sizeof(*r->values));
	for (size_t i = 0; i < mon->n; i++) {
		const struct recorded_column *c = &h->columns[i];

		mon->columns[i] =
			(struct column_of){ recording_type_of(r, c), c->target, beat_of(c) };
		if (!mon->columns[i].type)
			return bad(r, "a column has an unexpected unit");
		r->values[i] = NAN;
	}
	monitor_index(r->a, mon);
	return 0;
}

static int take_head(struct reader *r, const json_t *o)
{
	const char *schema = json_string_value(json_object_get(o, "schema"));
	struct recording *out = r->out;
	struct recording_head h;
	struct err why = { 0 };

	if (!schema || strcmp(schema, "gputune.recording/1") != 0)
		return bad(r, "not a recording (schema gputune.recording/1)");
	if (shape_read(r->a, &recording_head_shape, o, &h, &why))
		return bad(r, why.text);
	out->started_s = h.started_s;
	out->interval_ms = h.interval_ms > 0 && h.interval_ms <= 86400000 ? h.interval_ms : 1000;
	out->mon.machine = h.machine;
	if (!h.machine.name)
		out->mon.machine.name = "";
	if (h.machine.cpus >= 65536)
		out->mon.machine.cpus = 0;
	if (h.command) {
		out->command = arena_array(r->a, h.n_words + 1, sizeof(*out->command));
		memcpy(out->command, h.command, h.n_words * sizeof(*out->command));
	}
	return recording_take_columns(r, &h);
}

/* --- rows ------------------------------------------------------------------------------------- */

static int recording_take_row(struct reader *r, const json_t *row)
{
	size_t n = json_array_size(row);
	const json_t *first = json_array_get(row, 0);
	json_int_t ms = json_integer_value(first);

	if (!json_is_integer(first) || n % 2 != 1)
		return bad(r, "a row must be a time followed by pairs of column and value");
	if (ms < r->out->ms || ms > MS_MAX)
		return bad(r, "the time of a row goes backwards, or exceeds a year");
	for (size_t i = 1; i < n; i += 2) {
		const json_t *c = json_array_get(row, i), *v = json_array_get(row, i + 1);
		json_int_t at = json_integer_value(c);

		if (!json_is_integer(c) || at < 0 || (size_t)at >= r->out->mon.n ||
		    !(json_is_number(v) || json_is_null(v)))
			return bad(r, "unknown column, or a value that is not a number");
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
	struct recording_end *end = &r->out->end, told;
	struct err why = { 0 };

	if (shape_read(r->a, &recording_end_shape, o, &told, &why))
		return bad(r, why.text);
	if (told.rows != end->rows)
		return bad(r, "rows are missing");
	*end = told;
	r->ended = end->whole = true;
	end->status = told.status >= 0 ? told.status & 0x1ff : -1;
	return 0;
}

static int recording_take_line(struct reader *r, const char *s, size_t n)
{
	json_auto_t *o = NULL;
	int e;

	r->line++;
	if (r->ended)
		return bad(r, "data after the last line");
	o = json_loadb(s, n, JSON_REJECT_DUPLICATES, NULL);
	if (!o)
		return bad(r, "not JSON");
	if (r->line == 1)
		e = take_head(r, o);
	else if (json_is_array(o))
		e = recording_take_row(r, o);
	else
		e = take_end(r, o);
	return e;
}

/* --- the file --------------------------------------------------------------------------------- */

static int recording_take_text(struct reader *r, struct text *line, const char *s, size_t n)
{
	int e = 0;

	while (n && e == 0 && !r->enough) {
		const char *nl = memchr(s, '\n', n);
		size_t k = nl ? (size_t)(nl - s) : n;

		if (line->len + k > LINE_MAX_BYTES)
			return bad(r, "line longer than 4 MiB");
		text_addn(line, s, k);
		if (nl) {
			e = recording_take_line(r, line->s ? line->s : "", line->len);
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
			return err_set(
				r->e, -EBADMSG,
				"%s: not a recording, or damaged at its beginning (zstd: %s)",
				r->path, ZSTD_getErrorName(left));
		if (ZSTD_isError(left) && r->ended)
			return bad(r, ZSTD_getErrorName(left));
		/* Where power failed, a file system may leave zeros for what was written last. */
		r->torn = ZSTD_isError(left);
		if (r->torn)
			return 0;
		e = recording_take_text(r, line, r->plain, out.pos);
		*ask = left ? left : 1;
		if (in->pos == in->size && out.pos < out.size)
			break;
	}
	return e;
}

bool recording_is(const char *path)
{
	static const char begin[4] = "\x28\xb5\x2f\xfd"; /* zstd's */
	char head[4];
	int fd = fd_open_input(path);
	bool is = fd >= 0 && read(fd, head, sizeof(head)) == (ssize_t)sizeof(head) &&
		  memcmp(head, begin, sizeof(head)) == 0;

	if (fd >= 0)
		close(fd);
	return is;
}

static int recording_take_file(struct reader *r, int fd, ZSTD_DCtx *z)
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
			return err_set(r->e, -errno, "%s: cannot read: %s", r->path,
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
			       "%s: not a recording, or truncated within the first line", r->path);
	return e;
}

int recording_read(struct arena *a, const char *path, struct recording *out, recording_row *row,
		   void *ctx, struct err *e)
{
	struct reader r = { .a = a, .out = out, .row = row, .ctx = ctx, .path = path, .e = e };
	int fd, code = library_open(LIBRARY_ZSTD, e);
	struct stat st;
	ZSTD_DCtx *z;

	*out = (struct recording){ .end = { .status = -1, .cpu_s = -1, .command_cpu_s = -1 } };
	if (code)
		return code;
	fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	if (fd < 0 || fstat(fd, &st)) {
		code = err_set(e, -errno, "%s: cannot read: %s", path, strerror(errno));
		if (fd >= 0)
			close(fd);
		return code;
	}
	z = S_ISREG(st.st_mode) ? ZSTD_createDCtx() : NULL;
	if (!z) {
		close(fd);
		return S_ISREG(st.st_mode) ? err_set(e, -ENOMEM, "out of memory")
					   : err_set(e, -EINVAL, "%s: not a regular file", path);
	}
	ZSTD_DCtx_setParameter(z, ZSTD_d_windowLogMax, WINDOW_LOG_MAX);
	code = recording_take_file(&r, fd, z);
	ZSTD_freeDCtx(z);
	close(fd);
	return code;
}

/* What a row of a recording says by itself and with the one before. */

/* Beats are kept to well within this; whatever stood still for longer has been asked. */
#define SURELY_ASKED 1.5
/* The kernel counts in ticks of 10 ms: in a moment there is no rate. */
#define RATE_LEAST_S 0.05

/* A type that this version does not know is made anew at each reading. */
static bool same_type(const struct column_type *x, const struct column_type *y)
{
	return x == y || (strcmp(x->name, y->name) == 0 && strcmp(x->unit, y->unit) == 0 &&
			  x->kind == y->kind);
}

bool recording_alike(const struct recording *a, const struct recording *b)
{
	bool alike = a->mon.n == b->mon.n;

	for (size_t i = 0; i < a->mon.n && alike; i++)
		alike = same_type(a->mon.columns[i].type, b->mon.columns[i].type) &&
			strcmp(a->mon.columns[i].target, b->mon.columns[i].target) == 0;
	return alike;
}

static bool changed(double now, double before)
{
	return isnan(now) != isnan(before) || now < before || now > before;
}

/* Whether this row was asked for what belongs to a beat: something of it changed. */
static void see_asked(struct recording_rates *r, enum monitor_beat beat, const struct monitor *mon,
		      double at_s, const double *values)
{
	bool asked = beat == BEAT_LOOK || !r->begun;

	for (size_t i = 0; i < mon->n && !asked; i++)
		asked = mon->columns[i].beat == beat && changed(values[i], r->before[i]);
	r->guessed[beat] = !asked;
	r->asked[beat] = asked || at_s - r->beats[beat].at_s >= SURELY_ASKED * beat_seconds[beat];
}

double recording_asked_s(enum monitor_beat beat, double then_s, bool guessed, double now_s)
{
	return guessed ? fmin(then_s, now_s - beat_seconds[beat]) : then_s;
}

static double rate(const struct column_type *t, double now, double before, double s)
{
	return s >= RATE_LEAST_S ? column_grown(t, now, before, s) / s : (double)NAN;
}

void recording_rates(struct arena *a, struct recording_rates *r, const struct monitor *mon,
		     double at_s, const double *values, double *out)
{
	bool was_guess[BEATS];

	if (!mon->n)
		return;
	if (!r->before) {
		r->before = arena_array(a, mon->n, sizeof(*r->before));
		for (size_t b = 0; b < BEATS; b++)
			r->beats[b].before = arena_array(a, mon->n, sizeof(*r->before));
	}
	for (size_t b = 0; b < BEATS; b++) {
		was_guess[b] = r->begun && r->guessed_at[b];
		see_asked(r, (enum monitor_beat)b, mon, at_s, values);
	}
	for (size_t i = 0; i < mon->n; i++) {
		const struct column_of *c = &mon->columns[i];
		const struct beat_asked *b = &r->beats[c->beat];
		double s = at_s - recording_asked_s(c->beat, b->at_s, was_guess[c->beat], at_s);

		if (!r->asked[c->beat])
			out[i] = NAN;
		else if (c->type->kind == COLUMN_GAUGE)
			out[i] = values[i];
		else
			out[i] = r->begun ? rate(c->type, values[i], b->before[i], s) : (double)NAN;
	}
	memcpy(r->before, values, mon->n * sizeof(*values));
	for (size_t b = 0; b < BEATS; b++)
		if (r->asked[b]) {
			memcpy(r->beats[b].before, values, mon->n * sizeof(*values));
			r->beats[b].before_s = r->beats[b].at_s;
			r->beats[b].at_s = at_s;
			r->guessed_at[b] = r->guessed[b];
		}
	r->begun = true;
}

/* Rows into a file, as they come. */

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

static int recording_put(struct recorder *r, const char *s, size_t n, ZSTD_EndDirective how)
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

static json_t *head_json(const struct monitor *mon, char *const *command, long long started_s,
			 int interval_ms)
{
	ARENA_AUTO a = { 0 };
	struct recording_head h = { .started_s = started_s,
				    .interval_ms = interval_ms,
				    .command = (const char **)(uintptr_t)command,
				    .machine = mon->machine,
				    .columns = arena_array(&a, mon->n, sizeof(*h.columns)),
				    .n_columns = mon->n };

	while (command && command[h.n_words])
		h.n_words++;
	for (size_t i = 0; i < mon->n; i++) {
		const struct column_of *c = &mon->columns[i];
		bool slow = c->beat != BEAT_LOOK;

		h.columns[i] =
			(struct recorded_column){ .name = c->type->name,
						  .target = c->target,
						  .unit = c->type->unit,
						  .kind = c->type->kind,
						  .slow = slow,
						  .every_s = slow ? beat_seconds[c->beat] : 0 };
	}
	return result_shape_json(&recording_result, &h, 0, 0);
}

static int recording_put_json(struct recorder *r, json_t *o, ZSTD_EndDirective how)
{
	char *s = json_dumps(o, JSON_COMPACT);
	int e = s ? recording_put(r, s, strlen(s), ZSTD_e_continue) : -ENOMEM;

	free(s);
	json_decref(o);
	return e ? e : recording_put(r, "\n", 1, how);
}

static void recording_drop(struct recorder *r)
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
	struct recorder *r;
	int error = library_open(LIBRARY_ZSTD, e);

	if (error) {
		errno = -error;
		return NULL;
	}
	r = calloc(1, sizeof(*r));
	if (!r) {
		err_set(e, -ENOMEM, "out of memory");
		return NULL;
	}
	r->fd = -1;
	r->n = mon->n;
	r->full_ms = -1;
	r->last = calloc(mon->n + 1, sizeof(*r->last));
	r->z = ZSTD_createCCtx();
	if (!r->last || !r->z) {
		err_set(e, -ENOMEM, "out of memory");
		recording_drop(r);
		errno = ENOMEM;
		return NULL;
	}
	ZSTD_CCtx_setParameter(r->z, ZSTD_c_compressionLevel, LEVEL);
	ZSTD_CCtx_setParameter(r->z, ZSTD_c_windowLog, WINDOW_LOG);
	ZSTD_CCtx_setParameter(r->z, ZSTD_c_checksumFlag, 1);
	r->fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (r->fd < 0) {
		error = errno;
		err_set(e, -error, "cannot create %s: %s", path, strerror(error));
		recording_drop(r);
		errno = error;
		return NULL;
	}
	error = recording_put_json(r, head_json(mon, command, started_s, interval_ms),
				   ZSTD_e_flush);
	if (error) {
		err_set(e, error, "cannot write %s: %s", path, strerror(-error));
		unlink(path);
		recording_drop(r);
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
	e = recording_put(r, r->line.s, r->line.len, flush ? ZSTD_e_flush : ZSTD_e_continue);
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
		struct recording_end told = *end;

		told.rows = r->rows;
		e = recording_put_json(r, shape_object_json(&recording_end_shape, &told),
				       ZSTD_e_end);
	}
	if (e == 0 && fsync(r->fd) && errno != EINVAL && errno != EROFS)
		e = -errno;
	recording_drop(r);
	return e;
}
