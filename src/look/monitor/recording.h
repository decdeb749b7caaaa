/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Looks kept in a file: zstd frames of JSON lines, so that "zstdcat FILE | jq" reads it. The first
 * line says what the columns are (schema gputune.recording/1), the last one how it ended; the lines
 * between are [milliseconds since the start, column, value, column, value, ...] with the columns
 * that changed; null: not known any more. What was written up to a second before a crash can be
 * read.
 */
#ifndef MONITOR_RECORDING_H
#define MONITOR_RECORDING_H

#include <stdint.h>

#include "look/monitor/monitor.h"

struct recorder;
struct result_shape;

/* Of the first line. */
extern const struct result_shape recording_result;

/* How it ended. */
struct recording_end {
	bool whole;	      /* the last line was there */
	int status;	      /* of the command, 128 + signal; -1: there was none */
	double cpu_s;	      /* CPU seconds that recording took, all told */
	double command_cpu_s; /* of the command and all it waited for; negative: none */
	uint64_t rows;
};

/* started_s: seconds since 1970; command: NULL or its words. Makes the file, which must not be
 * there yet, for its owner alone to read. NULL, *e and errno. */
struct recorder *recorder_open(const char *path, const struct monitor *mon, char *const *command,
			       long long started_s, int interval_ms, struct err *e);
/* A row of mon->n values, ms after the start. 0 or -errno (a full disk). */
int recorder_row(struct recorder *r, int64_t ms, const double *values);
/* Writes the last line. 0 or -errno; end may be NULL after an error: the file stays as it is. */
int recorder_close(struct recorder *r, const struct recording_end *end);

struct recording {
	struct monitor mon; /* without looks */
	long long started_s;
	int interval_ms;
	char **command; /* NULL-terminated; NULL: none */
	struct recording_end end;
	int64_t ms; /* of the last row */
};

/* Rows in order; false ends the reading early. */
typedef bool recording_row(void *ctx, int64_t ms, const double *values);

/* Whether it is one, by how it begins. */
bool recording_is(const char *path);
/*
 * Reads path; header, then each row. The file is not trusted: what breaks a rule ends it with
 * -EBADMSG and *e naming the line; what is merely cut off (a crash) is no error, end.whole is false
 * then. row may be NULL. Everything in *out lives in the arena.
 */
int recording_read(struct arena *a, const char *path, struct recording *out, recording_row *row,
		   void *ctx, struct err *e);

/* Both have the same columns: rows of one fit the other. A file that is read twice may have been
 * exchanged in between. */
bool recording_alike(const struct recording *a, const struct recording *b);

/*
 * Rows as figures: gauges as they are, totals as their rate a second. Columns of a slower beat
 * stand still between two looks at them; those rows give NAN for them, and their rates are of the
 * time between the looks. Zero it before the first row; rows may be left out in between.
 */
struct recording_rates {
	double *before;			/* in the arena */
	struct beat_asked beats[BEATS]; /* before: the row of at_s */
	/* Of the row that was given last: whether it was asked for what belongs to a beat. Where
	 * nothing of it changed for longer than its time, it was, but when is a guess. */
	bool asked[BEATS], guessed[BEATS];
	bool guessed_at[BEATS]; /* that of beats[].at_s */
	bool begun;
};
void recording_rates(struct arena *a, struct recording_rates *r, const struct monitor *mon,
		     double at_s, const double *values, double *out);
/* When the row at then_s was asked for a beat, for a row at now_s that was asked next: where that
 * was a guess, its time before now_s at the latest. */
double recording_asked_s(enum monitor_beat beat, double then_s, bool guessed, double now_s);

#endif
