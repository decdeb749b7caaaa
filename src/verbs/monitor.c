/* SPDX-License-Identifier: Apache-2.0 */
/* gputune monitor: the machine from moment to moment. */
#include "verbs/monitor.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "base/text.h"
#include "tune/txn/txn.h"

enum { SETTINGS_MS = 15000, USERS_MS = 3000 };

static const struct ask_row monitor_ask_rows[] = {
	{ "format", "term, json (default in a pipe), otlp; --once: term, prom, openmetrics",
	  .kind = ASK_KIND_NOTE },
	MONITOR_ASK_ROWS,
	{ "once", "one reading", ASK_FLAG(monitor_ask, once) },
	{ "otlp", "post each reading to this OpenTelemetry collector (OTLP/HTTP, JSON)",
	  ASK_TEXT(monitor_ask, otlp), .arg = "URL",
	  .example = "http://127.0.0.1:4318/v1/metrics" },
	{ ASK_PART(monitor_ask, machine, machine_ask) },
};

/* --- our settings ----------------------------------------------------------------------------- */

static void look_at_settings(struct monitor_looks *s)
{
	ARENA_AUTO a = { 0 };
	struct journal j;
	struct hold_row *rows;
	struct err e = { 0 };
	size_t n = 0, held = 0, drifted = 0;
	const char *which = "";

	s->bad[0] = '\0';
	snprintf(s->note, sizeof(s->note), "every %.2g s", s->interval_ms / 1e3);
	if (journal_load(s->h, &a, false, &j, &e) == 0 &&
	    txn_status(s->h, &a, &j, &rows, &n) == 0) {
		for (size_t i = 0; i < n; i++) {
			held += rows[i].hold == HOLD_OURS;
			if (hold_is_gone(rows[i].hold) && !drifted++)
				which = rows[i].e->id;
		}
	}
	if (held)
		snprintf(s->note + strlen(s->note), sizeof(s->note) - strlen(s->note),
			 ", %zu gputune settings in effect", held);
	if (drifted)
		snprintf(s->bad, sizeof(s->bad),
			 "%zu gputune settings changed since they were applied (%s%s); \"gputune "
			 "status\" shows them",
			 drifted, which, drifted > 1 ? ", ..." : "");
}

/* --- looks ------------------------------------------------------------------------------------ */

static int monitor_check(struct door *d, const struct monitor_ask *ask)
{
	if (ask->for_s > 0 && ask->once)
		return door_refuse(d, EXIT_USAGE,
				   "--once takes one reading, so --for does not apply");
	if (ask->recording && (ask->for_s > 0 || ask->machine.capture || ask->interval_s > 0))
		return door_refuse(d, EXIT_USAGE,
				   "%s is a recording: --host, --interval and --for do not apply",
				   ask->recording);
	return 0;
}

int monitor_open(struct door *d, const struct monitor_ask *ask, struct monitor_looks *w)
{
	int code = monitor_check(d, ask);

	*w = (struct monitor_looks){ .d = d };
	if (code)
		return code;
	w->interval_ms = ask->interval_s > 0 ? (int)lround(1e3 * ask->interval_s) : 1000;
	w->h = door_host(d, &ask->machine);
	if (!w->h)
		return -EXIT_USAGE;
	monitor_make(d->arena, w->h, door_machine(d, w->h, &(struct door_look){ 0 }), &w->mon);
	w->line = monitor_line_make(d->arena, &w->mon);
	w->first = arena_array(d->arena, w->mon.n + 1, sizeof(double));
	w->before = arena_array(d->arena, w->mon.n + 1, sizeof(double));
	w->now = arena_array(d->arena, w->mon.n + 1, sizeof(double));
	return 0;
}

void monitor_close(struct monitor_looks *w)
{
	monitor_state_free(&w->state);
	host_close(w->h);
}

void monitor_take(struct monitor_looks *w, bool last)
{
	double *old = w->before;

	/* The last row becomes the one before; the first stays. */
	if (w->rows) {
		w->before = w->now;
		w->before_s = w->now_s;
		w->now = old;
	}
	if (clock_mono_ms() >= w->settings_due) {
		look_at_settings(w);
		w->settings_due = clock_mono_ms() + SETTINGS_MS;
	}
	w->now_s = clock_mono_s();
	w->state.all = last;
	monitor_look(&w->mon, w->h, &w->state, w->now_s, w->now);
	if (w->rows++ == 0)
		memcpy(w->first, w->now, w->mon.n * sizeof(*w->now));
	/* Not at each look: the driver takes longer for it. */
	if (!w->alone && clock_mono_ms() >= w->users_due) {
		monitor_processes(&w->mon, w->h, &w->users);
		w->users_due = clock_mono_ms() + USERS_MS;
	}
}

void monitor_show(const struct monitor_looks *w, struct monitor_moment *out)
{
	struct timespec ts;
	struct tm tm;

	*out = (struct monitor_moment){ .now = { .mon = &w->mon, .now = w->now },
					.first = { .mon = &w->mon, .now = w->first },
					.line = w->line };
	/* A capture is one moment: it has no rates. */
	if (!w->h->id.captured)
		out->now = instant_of(&w->mon, &w->state, w->now_s, w->now, w->before_s,
				      w->rows > 1 ? w->before : NULL);
	out->now.users = &w->users;
	clock_gettime(CLOCK_REALTIME, &ts);
	out->time_ms = (long long)ts.tv_sec * 1000 + ts.tv_nsec / 1000000;
	if (localtime_r(&ts.tv_sec, &tm))
		strftime(out->when, sizeof(out->when), "%H:%M:%S", &tm);
	memcpy(out->note, w->note, sizeof(out->note));
	memcpy(out->bad, w->bad, sizeof(out->bad));
}

/* --- a recording ------------------------------------------------------------------------------ */

#define ROWS_BYTES_MAX ((size_t)1 << 29)

static unsigned char asked_bits(struct monitor_tape *t, int64_t ms, const double *values)
{
	unsigned bits = 0;

	if (!t->out)
		t->out = arena_array(t->arena, t->rec.mon.n, sizeof(*t->out));
	recording_rates(t->arena, &t->rates, &t->rec.mon, 1e-3 * (double)ms, values, t->out);
	for (unsigned b = 0; b < BEATS; b++)
		bits |= (t->rates.asked[b] ? 1u << b : 0) | (t->rates.guessed[b] ? 16u << b : 0);
	return (unsigned char)bits;
}

static bool tape_keep(void *ctx, int64_t ms, const double *values)
{
	struct monitor_tape *t = ctx;
	size_t width = t->rec.mon.n * sizeof(*values);

	if (t->n == t->cap) {
		size_t cap = t->cap ? 2 * t->cap : 256;
		double *v = cap * width <= ROWS_BYTES_MAX ? realloc(t->values, cap * width) : NULL;
		int64_t *ms_room = v ? realloc(t->ms, cap * sizeof(*ms_room)) : NULL;
		unsigned char *bits = ms_room ? realloc(t->asked, cap) : NULL;

		t->values = v ? v : t->values;
		t->ms = ms_room ? ms_room : t->ms;
		t->asked = bits ? bits : t->asked;
		if (!bits) {
			t->full = true;
			return false;
		}
		t->cap = cap;
	}
	memcpy(t->values + t->n * t->rec.mon.n, values, width);
	t->asked[t->n] = asked_bits(t, ms, values);
	t->ms[t->n++] = ms;
	return true;
}

size_t monitor_tape_at(const struct monitor_tape *t, double ms)
{
	size_t low = 0, high = t->n - 1;

	while (low < high) {
		size_t mid = (low + high + 1) / 2;

		if ((double)t->ms[mid] <= ms)
			low = mid;
		else
			high = mid - 1;
	}
	return low;
}

/* The row at or before i that was asked for a beat; i + 1: none. */
static size_t asked_at(const struct monitor_tape *t, size_t i, unsigned beat)
{
	for (size_t k = i + 1; k-- > 0;)
		if (t->asked[k] & 1u << beat)
			return k;
	return i + 1;
}

static struct instant instant_at(const struct monitor_tape *t, size_t i)
{
	size_t n = t->rec.mon.n, k = i ? i - 1 : 0;
	double at_s = (double)t->ms[i] / 1e3;
	struct instant out = { .mon = &t->rec.mon,
			       .at_s = at_s,
			       .before_s = (double)t->ms[k] / 1e3,
			       .now = t->values + i * n,
			       .before = i ? t->values + k * n : NULL };

	for (unsigned b = BEAT_SLOW; b < BEATS; b++) {
		size_t last = asked_at(t, i, b),
		       then = last && last <= i ? asked_at(t, last - 1, b) : i;
		double to = last <= i ? (double)t->ms[last] / 1e3 : at_s, from;

		if (!last || last > i || then >= last)
			continue;
		from = recording_asked_s((enum monitor_beat)b, (double)t->ms[then] / 1e3,
					 t->asked[then] & 16u << b, to);
		out.beats[b] = (struct beat_asked){ to, from, t->values + then * n };
	}
	return out;
}

void monitor_tape_show(const struct monitor_tape *t, size_t i, struct monitor_moment *out)
{
	*out = (struct monitor_moment){ .now = instant_at(t, i),
					.first = instant_at(t, 0),
					.line = t->line,
					.time_ms = t->rec.started_s * 1000 + t->ms[i] };
	if (stamp_format(t->rec.started_s + t->ms[i] / 1000, out->when))
		out->when[0] = '\0';
	snprintf(out->note, sizeof(out->note), "recording, %.1f of %.1f s", (double)t->ms[i] / 1e3,
		 (double)t->ms[t->n - 1] / 1e3);
	if (!t->rec.end.whole)
		snprintf(out->bad, sizeof(out->bad), "truncated");
}

int monitor_tape_read(struct door *d, const struct monitor_ask *ask, struct monitor_tape *t)
{
	const char *path = door_saved(d, ask->recording);
	struct err e = { 0 };
	int code = monitor_check(d, ask);

	*t = (struct monitor_tape){ .arena = d->arena };
	if (code)
		return code;
	if (recording_read(d->arena, path, &t->rec, tape_keep, t, &e))
		return door_fail(d, EXIT_USAGE, &e);
	if (t->full)
		return door_refuse(d, EXIT_USAGE, "%s is too long: exceeds 512 MiB", path);
	if (!t->n)
		return door_refuse(d, EXIT_USAGE, "%s contains no readings", path);
	t->line = monitor_line_make(d->arena, &t->rec.mon);
	return 0;
}

void monitor_tape_free(struct monitor_tape *t)
{
	free(t->values);
	free(t->asked);
	free(t->ms);
}

/* --- one look --------------------------------------------------------------------------------- */

struct monitor_answer {
	struct monitor_moment moment;
	struct monitor_looks looks;
	struct monitor_tape tape;
};

static double *row_copy(struct arena *a, const double *row, size_t n)
{
	return row ? memcpy(arena_array(a, n + 1, sizeof(*row)), row, n * sizeof(*row)) : NULL;
}

/* Its rows are freed before it is shown. */
static void keep_rows(struct arena *a, struct instant *f)
{
	size_t n = f->mon->n;

	f->now = row_copy(a, f->now, n);
	f->before = row_copy(a, f->before, n);
	for (size_t b = 0; b < BEATS; b++)
		f->beats[b].before = row_copy(a, f->beats[b].before, n);
}

static int tape_answer(struct door *d, const struct monitor_ask *ask, struct monitor_answer *out)
{
	struct monitor_tape *t = &out->tape;
	int code = monitor_tape_read(d, ask, t);

	if (!code) {
		monitor_tape_show(t, t->n - 1, &out->moment);
		keep_rows(d->arena, &out->moment.first);
		keep_rows(d->arena, &out->moment.now);
	}
	monitor_tape_free(t);
	return code;
}

/* Rates need two looks. */
static int monitor_answer(struct door *d, const struct monitor_ask *ask, struct monitor_answer *out)
{
	struct monitor_looks *w = &out->looks;
	int code;

	if (ask->recording)
		return tape_answer(d, ask, out);
	code = monitor_open(d, ask, w);
	if (code)
		return code;
	monitor_take(w, false);
	if (!w->h->id.captured)
		code = door_wait(d, clock_mono_ms() + w->interval_ms);
	if (!w->h->id.captured && code >= 0)
		monitor_take(w, true);
	monitor_show(w, &out->moment);
	keep_rows(d->arena, &out->moment.now);
	monitor_close(w);
	return code < 0 ? code : EXIT_CLEAN;
}

VERB_ANSWER(monitor_answer_any, monitor_answer, monitor_ask, monitor_answer)

static int print_line(FILE *out, const void *ask, const void *answer, int code)
{
	const struct monitor_moment *m = answer;
	TEXT_AUTO line = { 0 };

	(void)ask;
	monitor_line_add(m->line, &m->now, m->time_ms, &line);
	fwrite(line.s, 1, line.len, out);
	return code;
}

static int print_prom(FILE *out, const void *ask, const void *answer, int code)
{
	(void)ask;
	monitor_exposition(out, &((const struct monitor_moment *)answer)->now, EXPOSITION_TEXT);
	return code;
}

static int print_openmetrics(FILE *out, const void *ask, const void *answer, int code)
{
	(void)ask;
	monitor_exposition(out, &((const struct monitor_moment *)answer)->now,
			   EXPOSITION_OPENMETRICS);
	return code;
}

static int print_otlp(FILE *out, const void *ask, const void *answer, int code)
{
	const struct monitor_moment *m = answer;
	TEXT_AUTO line = { 0 };

	(void)ask;
	monitor_otlp(&line, &m->now, m->time_ms);
	fwrite(line.s, 1, line.len, out);
	return code;
}

static json_t *monitor_json(const void *answer)
{
	const struct monitor_moment *m = answer;
	TEXT_AUTO line = { 0 };

	monitor_line_add(m->line, &m->now, m->time_ms, &line);
	return json_loadb(line.s, line.len, 0, NULL);
}

/* A recording is somebody's file. */
SHAPE_GIVES(bool, plays, monitor_ask, x->recording != NULL)

static const char *const monitor_forms[] = { "term", "json", "prom", "openmetrics", "otlp", NULL };

/* clang-format off */
/* clang-format off */
const struct verb monitor_verb = {
	.name = "monitor", .group = VERB_LOOK,
	.summary = "show GPUs, CPUs, memory, network and disks continuously, as text or JSON lines",
	.about = "Shows clocks, power, temperature, memory and throttled time of each GPU with the reason; also "
	  "CPUs, memory, networks and disks. In a pipe it writes lines of JSON. \"gputune top\" shows the same "
	  "on an interactive screen.", .words = "usage utilization utilisation dmon",
	.examples = EXAMPLES({ "monitor", "a page every second, until Ctrl-C" },
	  { "monitor --once", "one reading" }, { "monitor job.rec", "the last page of a recording" },
	  { "monitor --once --format prom -o gputune.prom", "for the textfile folder of a node exporter" },
	  { "monitor --interval 15s --otlp http://127.0.0.1:4318/v1/metrics", "to an OpenTelemetry collector" }),
	.ask = ASK_OF(monitor_ask, NULL, monitor_ask_rows), .prints_as = monitor_forms,
	.prints = PRINTS_FORMAT | PRINTS_JSON | PRINTS_FILE | PRINTS_PAGE, .answer = monitor_answer_any,
	.answer_size = sizeof(struct monitor_answer), .json = monitor_json, .json_name = "monitor",
	.formats = FORMATS({ "json", print_line }, { "otlp", print_otlp }, { "prom", print_prom }, {
	  "openmetrics", print_openmetrics }), .reads = READS_FILES, .reads_now = plays,
};
/* clang-format on */
