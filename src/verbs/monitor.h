/* SPDX-License-Identifier: Apache-2.0 */
/* The machine from moment to moment, by looks at it or as a recording has it. */
#ifndef VERBS_MONITOR_H
#define VERBS_MONITOR_H

#include "look/monitor/page_monitor.h"
#include "look/monitor/recording.h"
#include "verbs/door.h"

struct monitor_ask {
	struct machine_ask machine;
	const char *recording; /* NULL: a machine */
	const char *otlp;      /* where metrics are posted; NULL: nowhere */
	double interval_s, for_s;
	bool once;
};

/* The rows of monitor_ask that monitor and top have in common. */
/* clang-format off */
#define MONITOR_ASK_ROWS                                                                                               \
	{ "RECORDING", "a recording to replay", ASK_TEXT(monitor_ask, recording), .argument = true,         \
	  .files = true },                                                                                             \
	{ "interval", "interval between readings (default: 1s)", ASK_TIME(monitor_ask, interval_s), .min = 0.1, \
	  .max = 3600 }, \
	{ "for", "stop after this time: 10s, 2m", ASK_TIME(monitor_ask, for_s), .min = 0.1, .max = 86400 }
/* clang-format on */

/* What is shown of a moment. */
struct monitor_moment {
	struct instant now, first;
	const struct monitor_line *line;
	long long time_ms; /* since 1970 */
	char when[32], note[160], bad[200];
};

/* Looks at a machine, one after the other; they live in the door's arena. */
struct monitor_looks {
	struct door *d;
	struct host *h;
	struct monitor mon;
	struct monitor_line *line;
	struct monitor_state state;
	double *first, *before, *now; /* rows */
	double before_s, now_s;
	size_t rows;
	int interval_ms;
	bool alone; /* without who uses the GPUs */
	char note[160], bad[200];
	long long settings_due, users_due;
	struct monitor_processes users;
};

/* 0, or as answers. What the question cannot mean together was refused then. */
int monitor_open(struct door *d, const struct monitor_ask *ask, struct monitor_looks *w);
/* Looks now; last: at everything, however lately that was asked. */
void monitor_take(struct monitor_looks *w, bool last);
/* It holds until the next look. */
void monitor_show(const struct monitor_looks *w, struct monitor_moment *out);
void monitor_close(struct monitor_looks *w);

/* A recording in memory. */
struct monitor_tape {
	struct recording rec;
	struct monitor_line *line;
	double *values; /* rows of rec.mon.n */
	int64_t *ms;
	unsigned char *asked; /* bit b: of beat b; bit b + 4: when is a guess */
	size_t n, cap;
	bool full;
	struct arena *arena;
	struct recording_rates rates;
	double *out;
};

/* 0, or as answers; free it in either case. */
int monitor_tape_read(struct door *d, const struct monitor_ask *ask, struct monitor_tape *t);
void monitor_tape_free(struct monitor_tape *t);
/* Row i of it. */
void monitor_tape_show(const struct monitor_tape *t, size_t i, struct monitor_moment *out);
/* The row that is shown at a time of the recording. */
size_t monitor_tape_at(const struct monitor_tape *t, double ms);

#endif
