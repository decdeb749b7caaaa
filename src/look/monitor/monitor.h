/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a machine does from moment to moment: a plan of what is looked at, made once from its facts,
 * and looks that cost little. A look is a row of numbers; each column says what it is, so that a
 * recording (recording.h) explains itself.
 */
#ifndef MONITOR_MONITOR_H
#define MONITOR_MONITOR_H

#include <stdbool.h>
#include <stddef.h>

#include "base/arena.h"
#include "machine/host/host.h"
#include "machine/model/machine.h"

enum column_kind {
	COLUMN_GAUGE, /* as it is at the moment of the look */
	COLUMN_TOTAL, /* counts up; its rate is what is worth reading */
};

/* What can be looked at, whatever machine it is on; column_types[] lists all. */
struct column_type {
	const char *name; /* "gpu.sm-clock" */
	const char *unit; /* "MHz" */
	enum column_kind kind;
	const char *metric; /* its name without prefix and "_total": "gpu_sm_clock_hertz" */
	double factor;	    /* from our unit to the metric's */
	const char *what;   /* a sentence for people */
};

/* How often a column is asked, however often is looked. Columns of one beat are asked together, so
 * that totals have rates of one stretch of time. */
enum monitor_beat {
	BEAT_LOOK, /* at each look, or where the answer's own pace says so */
	BEAT_SLOW, /* once a second at most */
	BEAT_RARE, /* once in five seconds: what costs the driver a millisecond */
	BEATS
};
extern const double beat_seconds[BEATS];

struct column_of {
	const struct column_type *type;
	const char *target; /* "gpu0", "eth0", "mlx5_0/1", "" */
	enum monitor_beat beat;
};

/* When a beat was asked last, and before that, with the row of then. */
struct beat_asked {
	double at_s, before_s;
	double *before; /* may be NULL */
};

/* What does not change while it is looked at. Negative or NULL: not known. */
struct monitor_gpu {
	unsigned index;
	const char *name;
	double sm_max_mhz, lock_low_mhz, lock_high_mhz; /* the lock as gputune set it */
	double power_limit_w, memory_bytes, slowdown_c;
	bool integrated; /* shares the host's memory: its driver reports no memory of its own */
};

struct monitor_machine {
	const char *name, *platform, *kernel, *driver;
	double memory_bytes;
	unsigned cpus;
	struct monitor_gpu *gpus;
	size_t n_gpus;
};

struct look;
struct column_index;

struct monitor {
	struct monitor_machine machine;
	struct column_of *columns;
	size_t n;
	struct column_index *index; /* of monitor_find; NULL: columns are looked through */
	struct look *looks;	    /* monitor.c's own */
	size_t n_looks;
};

enum { MONITOR_COLUMNS_MAX = 8192 };

/* Everything lives in the arena; m is not needed afterwards. */
void monitor_make(struct arena *a, const struct host *h, const struct machine *m,
		  struct monitor *out);

/* What goes from look to look: zero it before the first one. */
struct monitor_state {
	struct beat_asked beats[BEATS];
	bool all; /* set by the caller: the next look asks everything, since it is the last one */
	unsigned long long *busy, *total; /* ticks of each CPU at the last look */
	size_t cpus;
	double *last;	   /* the last row: what was not asked again stays as it was */
	double now_s;	   /* of this look */
	double *due_s;	   /* when each look is asked again */
	double *refused_s; /* when each column's question was refused; 0: it was not */
	char *file;	   /* of the kernel's that was read last */
};
void monitor_state_free(struct monitor_state *s);

/*
 * Looks now and fills values[mon->n]; NAN: not known. now_s: monotonic seconds. Reads only; a
 * driver that answers slowly makes it slow.
 */
void monitor_look(const struct monitor *mon, struct host *h, struct monitor_state *s, double now_s,
		  double *values);

/* --- who uses the GPUs ------------------------------------------------------------------------ */

enum { MONITOR_PROCESSES_MAX = 64 };

struct monitor_process {
	unsigned gpu;
	int pid;
	const char *kind; /* "compute", "graphics" */
	char command[32]; /* as the kernel reports it; "": it may not be seen from here */
	char group[64]; /* the last part of its control group, which names a container; "": unknown
			 */
	double memory;	/* bytes of the GPU's; NAN: not known */
};

struct monitor_processes {
	struct monitor_process items[MONITOR_PROCESSES_MAX]; /* by GPU, the largest memory first */
	size_t n, left_out;
};

/* Asks the driver now. They come and go, so that they are no columns and in no recording. */
void monitor_processes(const struct monitor *mon, struct host *h, struct monitor_processes *out);

/* --- reading rows ----------------------------------------------------------------------------- */

extern const struct column_type column_types[];
extern const size_t column_types_n;
const struct column_type *column_type_find(const char *name);
/* Makes monitor_find quick, once all columns are there; in the arena. */
void monitor_index(struct arena *a, struct monitor *mon);
/* What a total grew by in s seconds; NAN: it went back, or a time grew by far more than passed, so
 * that it began anew or wrapped. */
double column_grown(const struct column_type *t, double now, double before, double s);
/* The column of that type and target, or -1. */
long monitor_find(const struct monitor *mon, const char *type, const char *target);

/* Two rows; before may be NULL. For columns of a slower beat the one before is another one. */
struct instant {
	const struct monitor *mon;
	double at_s, before_s;
	const double *now, *before;
	struct beat_asked beats[BEATS];
	const struct monitor_processes *users; /* NULL: not looked at */
};
/* Of the two last looks. */
struct instant instant_of(const struct monitor *mon, const struct monitor_state *s, double at_s,
			  const double *now, double before_s, const double *before);
/* The gauge, or the rate a second of a total; NAN: not known, or there is no row before. A total
 * that went back (a driver that was loaded again) has no rate. */
double instant_value(const struct instant *f, const char *type, const char *target);
/* The same of column i. */
double instant_column(const struct instant *f, size_t i);

/* Looks: each reads one thing and fills neighbouring columns. For monitor/ alone. */

/* Seconds between two questions at least. Totals are asked at each look or in one of these beats,
 * never otherwise: their rate is made from two rows of the same moments. */
#define LOOK_SLOW_S 1.0
#define LOOK_RARE_S 5.0

struct gpu_tier;

struct look {
	void (*take)(const struct look *l, struct host *h, struct monitor_state *s, double *out);
	const char *target; /* what the kernel or driver calls it */
	const char *path;
	const struct gpu_tier *tier; /* of a GPU's looks */
	size_t first;		     /* of its columns */
	double every_s;		     /* 0: at each look */
};

#endif
