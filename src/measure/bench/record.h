/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a measurement leaves behind: every sample, under which conditions, on which machine with
 * which settings. It is what results are stored as and what compare reads; everything lives in the
 * arena it was built in.
 */
#ifndef BENCH_RECORD_H
#define BENCH_RECORD_H

#include "base/arena.h"
#include "base/err.h"
#include "base/stat.h"
#include "machine/host/host.h"

enum bench_better { BENCH_HIGHER, BENCH_LOWER };

enum { BENCH_FIGURES = 6, RECORD_SAMPLES_MAX = 1000000, RECORD_CASES_MAX = 4096 };

/* What is known to be usual for this hardware, in the unit of the figure. */
struct record_band {
	bool known;
	double low, high;
	const char *source; /* who measured it and when; why there is none. NULL: nobody looked */
};

enum record_place { PLACE_UNKNOWN, PLACE_BELOW, PLACE_WITHIN, PLACE_ABOVE };

/* One figure of one case. */
struct record_series {
	const char *key;   /* "rate", "p99" */
	const char *title; /* "median of the window" */
	const char *unit;  /* as a key's suffix: "gb_per_s", "ns" */
	const char *unit_text;
	enum bench_better better;
	double *x; /* one a sample, in order of time */
	size_t n;  /* samples, by record_summarise */
	struct stat_summary s;
	bool has_summary; /* false without samples */
	struct record_band band;
};

/* Percentiles over all single observations, where a sample is a window of many. */
struct record_observed {
	unsigned long long n; /* 0: none */
	double p50, p90, p99, p999, max;
	size_t of;	  /* whose series' unit they have */
	const char *unit; /* that unit, by record_summarise; NULL: there is none */
};

enum record_stop {
	STOP_INTERVAL, /* the median's interval was narrow enough */
	STOP_TIME,
	STOP_COUNT,
	STOP_INTERRUPTED,
	STOP_ERROR,
};

/* The first figure that there was, of a warm-up or before the best way was found. */
struct record_early {
	bool known;
	double value; /* in the unit of the first series */
	double at_s;  /* since the process began */
	const char *how;
	double last; /* what was seen after it; goes into no file */
};

struct record_case {
	const char *bench, *name; /* "memory-bandwidth", "triad" */
	const char *method;	  /* what is done, and what counts */
	unsigned version;	  /* of the method; figures of different ones do not compare */
	const char *setup;	  /* what the figure depends on: sizes, threads. "" when nothing */
	const char *placement;	  /* CPUs and nodes, in words */
	const char *variant;	  /* what was chosen at run time: "avx2, non-temporal"; "" */
	bool has_limit;
	double limit;		  /* in the unit of the first series */
	const char *limit_source; /* "unknown: ..." without one */
	struct record_series series[BENCH_FIGURES];
	size_t n_series;
	double *at_s; /* each sample's start, since the record's */
	size_t n;     /* samples */
	size_t *first;
	size_t rounds;
	struct record_observed observed;
	struct record_early early;
	size_t warmup; /* samples thrown away */
	bool steady;   /* false: the warm-up never became steady */
	bool verified; /* the result was checked and right */
	enum record_stop stop;
	const char *error; /* NULL: none */
};

/* How the error of a case begins whose work was done and came out wrong. */
#define RECORD_WRONG "the result is wrong"
/* The same of work that came out right and shows that the hardware is not healthy. */
#define RECORD_UNHEALTHY "not healthy"
/* Of a wrong result there is no figure. */
bool record_wrong(const struct record_case *c);
bool record_unhealthy(const struct record_case *c);

/* The machine at one moment. Totals since boot; negative: could not be seen. */
struct record_moment {
	double load1, available_mib;
	double busy_s, steal_s, irq_s, idle_s; /* CPU seconds of all CPUs */
	double own_s; /* of this process and its children that have ended; after: and of the other
			 ranks here */
	double at_s;
	long long interrupts, switches;
	long long throttles; /* thermal throttle events of all CPUs */
	long long mhz_min, mhz_max;
	double temp_c;	     /* the hottest zone */
	long long pm_qos_us; /* what /dev/cpu_dma_latency holds CPUs to */
};

/* What the sampler saw. */
struct record_track {
	double at_s;
	long long mhz_min, mhz_max;
	double temp_c;
};

struct record_conditions {
	struct record_moment before, after;
	struct record_track *track;
	size_t n_track;
	double idle_others;	/* CPUs that others kept busy in a look before the first sample */
	double others;		/* and while it was measured */
	double steal_percent;	/* of all CPU time */
	double sampler_percent; /* of one CPU: what the sampler itself cost */
	unsigned cpus;
};

struct record_pair {
	const char *name, *value;
};

/* A bench that did not run. */
struct record_skip {
	const char *bench, *reason;
};

struct record {
	const char *id; /* "20261121-045000-memory-bandwidth" */
	const char *version;
	long long time_s;
	const char *machine; /* digest: the same on one machine, different on others */
	struct record_pair *fingerprint;
	size_t n_fingerprint;
	const char *settings_digest;
	struct record_pair *settings; /* "cpu.governor (policy 0)" and its value */
	size_t n_settings;
	struct record_conditions conditions;
	struct record_case *cases;
	size_t n;
	struct record_skip *skipped;
	size_t n_skipped;
	bool partial;	   /* interrupted */
	const char *state; /* the folder of it, a word for a shell; NULL: the usual one */
	bool unkept; /* it is in no state folder: there is nothing to show or compare by its id */
	const char *owner; /* of the machine's folder; NULL: of this user's own. Not stored. */
	const char **notes;
	size_t n_notes;
};

const char *record_stop_name(enum record_stop s);
/* No case has a figure, nor a result that was found wrong: it says nothing of the machine. */
bool record_empty(const struct record *r);
/* Fills every series' summary from its samples. */
void record_summarise(struct record *r);
/* Writes into notes what a reader must know: busy machine, throttling, never steady, two states. */
void record_judge(struct arena *a, struct record *r);
void record_note(struct arena *a, struct record *r, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));
void record_skip(struct arena *a, struct record *r, const char *bench, const char *reason);
/* Where the median lies to the band. */
enum record_place record_place(const struct record_series *s);
/* Outside the band on its bad side. */
bool record_worse(const struct record_series *s);
/* "below", "within", "above"; NULL when nothing is known. */
const char *record_place_name(enum record_place p);
/* True when somebody else used the machine so much that figures suffer. */
bool record_busy(const struct record_conditions *c);
/* 16 hexadecimal digits of a 64-bit hash (FNV-1a). */
const char *record_digest(struct arena *a, const struct record_pair *pairs, size_t n);

/* Results that are kept: one file each in a folder, by ids that sort by time. */

#define BENCH_STATE "/var/lib/gputune"
enum { BENCH_FILE_MAX = 256 << 20 };

/* Where results lie. */
struct store_where {
	const char *state;  /* the folder that is written */
	const char *beside; /* the machine's, which is read as well; NULL: it is the same */
};
struct stored {
	const char *id, *state;
};

/* "20261121-045000-memory-bandwidth": free in that state folder at this moment. */
const char *store_new_id(struct arena *a, struct host *h, const char *state, long long time_s,
			 const char *what);
/* Only letters, digits, '-', '_', '.' and no leading dot: what may become a file's name. */
bool store_id_valid(const char *id);
const char *store_path(struct arena *a, const char *state, const char *id);
/* Makes the folder where it is missing: the machine's readable by all, another for this user alone.
 * -errno and *e. */
int store_folder(struct host *h, const char *path, struct err *e);
/* The mode of a file there. */
unsigned store_mode(const char *path);
/* Whether a result could be kept; nothing is made. */
int store_try(struct host *h, const char *state, struct err *e);
int store_put(struct host *h, const char *state, const char *id, const char *json, struct err *e);
int store_get(struct arena *a, struct host *h, const struct store_where *w, const char *id,
	      char **json, struct err *e);
/* Ids, oldest first; a missing folder has none. A folder that cannot be read: -errno and *e, with
 * those of the other. */
int store_list(struct arena *a, struct host *h, const struct store_where *w, struct stored **out,
	       size_t *n, struct err *e);

/* Two records against each other: which figures differ, by how much, and how sure that is. */

enum compare_verdict { COMPARE_BETTER, COMPARE_WORSE, COMPARE_SAME, COMPARE_CANNOT };

struct compare_row {
	const char *bench, *name, *figure;
	const char *unit_text;
	enum bench_better better;
	double a, b; /* medians; only where has_medians */
	bool has_medians;
	struct stat_ratio ratio; /* b over a; NAN where nothing was compared */
	enum compare_verdict verdict;
	const char *reason;
	bool open;    /* compared, without a verdict: busy, or an interval too wide */
	bool variant; /* measured by different code, chosen at run time */
};

struct compare {
	const struct record *a, *b;
	struct compare_row *rows;
	size_t n;
	size_t count[4];      /* by verdict */
	size_t open[4];	      /* of these, rows that leave better and worse open */
	const char *cannot;   /* nothing compares, and why; NULL otherwise */
	const char *busy;     /* other programs used the machine in a run: a sentence; NULL: in
				 neither */
	double load;	      /* they may be a ratio up to 1 + this; infinite: any ratio */
	const char **differs; /* what else is not the same: kernel, settings; sentences */
	size_t n_differs;
	double level;	  /* of the intervals */
	double threshold; /* the least difference that counts */
};

/* Figures below this difference are called the same even when it is certain. */
#define COMPARE_THRESHOLD 0.01
/* An interval that reaches this far from no change leaves it open. */
#define COMPARE_COARSE 0.1
#define COMPARE_LEVEL 0.99

/* Needs summaries. */
void compare_records(struct arena *a, const struct record *x, const struct record *y,
		     struct compare *out);
const char *compare_verdict_name(enum compare_verdict v);
/* The least difference that would have been seen, as a part of A. Needs a ratio. */
double compare_least(const struct compare_row *r);
/* Whether any row has a verdict. */
bool compare_decides(const struct compare *c);

#endif
