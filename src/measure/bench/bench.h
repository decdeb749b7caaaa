/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A bench and the frame it runs in. A bench knows how to do one thing once, how to tell that it was
 * done right, and what the hardware could do at best; the frame knows warm-up, rounds, when to
 * stop, conditions and records.
 */
#ifndef BENCH_BENCH_H
#define BENCH_BENCH_H

#include <stdatomic.h>
#include <stddef.h>

#include "base/err.h"
#include "base/idset.h"
#include "knowledge/bands.h"
#include "machine/host/host.h"
#include "machine/model/machine.h"
#include "measure/bench/record.h"

/*
 * Counts of observations in buckets that grow with the value: 64 a power of two, so that a
 * percentile is off by at most 1/128 of itself. Fixed size, no allocation while measuring.
 */

enum { HISTOGRAM_SUB = 64, HISTOGRAM_POWERS = 48 };

struct histogram {
	unsigned long long count[HISTOGRAM_POWERS * HISTOGRAM_SUB];
	unsigned long long n;
	double max;
};

/* Values below 0, and NaN, count as 0, those beyond 2^47 in the last bucket; max stays exact. */
void histogram_add(struct histogram *h, double value);
/* The smallest bucket's middle below or in which p of all observations lie; never above max. n >= 1
 */
double histogram_quantile(const struct histogram *h, double p);

struct collective_shared;
struct gpu_preinit;

/* What the user asked for besides the name of a bench; NULL where nothing was said. */
struct bench_ask {
	const char *dir;   /* --dir: where disk may make a file of its own */
	const char *files; /* --files: a file or folder that is only read */
	const char *peer;  /* --peer: host[:port] where "bench serve" runs */
	const char *token; /* --token: the file with the secret that both sides know */
	const char *gpus;  /* --gpus: indices or UUIDs */
	const char *name;  /* what stands after the bench's name: a case, or how some begin */
	/* collectives: the processes that take part (measure/bench/ranks.h); NULL: this one alone.
	 */
	struct collective_shared *team;
};

/* What benches may use. */
struct bench_env {
	struct arena *a;
	const struct machine *m;
	struct idset cpus; /* that this process may run on, and --cpus allows */
	/* Set when the user asked to stop; long work looks at it. */
	const atomic_bool *stop;
	struct bench_ask ask;
	/* To look at the machine before and after samples, never within one. NULL: it is not. */
	struct host *h;
	/* A set-up that takes long tells what it has seen so far: the first figure, and how it came
	 * about ("by the library's first proposal"). NULL: not called. */
	void (*early)(void *ctx, double value, const char *how);
	void *early_ctx;
	struct gpu_preinit *ahead; /* what was begun before there were facts; NULL: nothing */
	double seconds;		   /* that each case is to be measured for, warm-up not counted */
	bool small; /* tiny sizes: tests of the bench itself, no figure for anybody */
};

struct bench_figure {
	const char *key, *title, *unit, *unit_text;
	enum bench_better better;
};

struct bench_limit {
	bool known;
	double value;
	const char *source; /* where it stands, or why it is not known */
};

struct bench_case {
	const char *name;      /* unique in its bench */
	const char *setup;     /* goes into the record */
	const char *placement; /* the same */
	const void *arg;       /* the bench's own */
	/* Whose known band counts, as the fact names it ("NVIDIA H200"). NULL: the machine's. */
	const char *hardware;
	size_t n_figures; /* only so many of the bench's figures; 0: all */
	double setup_s;	  /* about, beside measuring, of each round; 0: little */
};

struct bench_cases {
	struct bench_case *items;
	size_t n;
	const char *none; /* without any: why, in a sentence ("no disk of its own under /tmp") */
	bool usage;	  /* and it is what was asked or not asked, not what the machine has */
	struct record_skip *absent; /* cases that this machine cannot have, and why */
	size_t n_absent;
};

struct bench_sample {
	double value[BENCH_FIGURES];
	struct histogram *observed; /* may be filled with single observations */
};

struct bench {
	const char *name, *title, *method;
	unsigned version;
	const struct bench_figure *figures;
	size_t n_figures;
	/* From observations to the unit of the first figure; 0: no observations. */
	double observed_scale;
	unsigned observed_of; /* another figure's unit than the first's */
	/* Names, or how they begin, of the cases that "bench all" runs, apart by blanks; NULL: all
	 * of them, "-": none. */
	const char *brief;
	double seconds;	 /* of measuring per case, by default */
	unsigned rounds; /* fresh set-ups per case */
	/* Begins what takes long and needs no facts (gpu_ahead.h), once it is known that this bench
	 * runs. name: of the case, or NULL. NULL: there is nothing. */
	struct gpu_preinit *(*ahead)(const struct bench_ask *ask, const char *name);
	/* Every case that makes sense on this machine. */
	void (*cases)(const struct bench_env *env, struct bench_cases *out);
	size_t state_size; /* of what setup fills */
	/* Fills state, which is zeroed. 0 or -errno and *e; teardown either way. *variant (static
	 * or arena): what was chosen, for the record; its text may still be filled in until
	 * teardown. */
	int (*setup)(const struct bench_env *env, const struct bench_case *c, void *state,
		     const char **variant, struct err *e);
	/* One sample: fills value[] of each figure. */
	int (*run)(void *state, struct bench_sample *out, struct err *e);
	/* 0 when what the runs since setup did was right; -ENOTRECOVERABLE: it was, and shows that
	 * the hardware is not healthy. */
	int (*verify)(void *state, struct err *e);
	void (*teardown)(void *state);
	/* After the last case of a call: gives back what cases share. NULL: they share nothing. */
	void (*end)(const struct bench_cases *all);
	/* What the hardware could do at best; NULL: no_limit says why that is not known. */
	struct bench_limit (*limit)(const struct bench_env *env, const struct bench_case *c);
	const char *no_limit;
};

/* Every bench. */
extern const struct bench bench_memory_bandwidth, bench_memory_latency, bench_cpu_frequency,
	bench_wake, bench_idle_wake, bench_hand_over, bench_disk, bench_model_load, bench_tcp,
	bench_tcp_latency, bench_tcp_connect, bench_tcp_idle, bench_rdma, bench_rdma_latency,
	bench_gpu_memory, bench_gpu_latency, bench_gpu_copy, bench_gpu_launch, bench_gemm,
	bench_gpu_load, bench_collectives, bench_gds;
#define FIGURES(list) .figures = (list), .n_figures = sizeof(list) / sizeof((list)[0])

/* Of benches of single times: p50 and p99 of a window. */
extern const struct bench_figure bench_times_figures[2];
/* Their values from n microseconds, which are sorted; each of them is observed, in nanoseconds. */
void bench_times(struct bench_sample *out, double *us, size_t n);

/* A state of its own and b->setup; what was made is gone again when that fails. */
int bench_set_up(const struct bench *b, const struct bench_env *env, const struct bench_case *c,
		 void **state, const char **variant, struct err *e);
void bench_tear_down(const struct bench *b, void *state);

extern const struct bench *const benches[];
extern const size_t bench_count;
const struct bench *bench_find(const char *name);
/* "there is no bench NAME", with the nearest: -EINVAL. */
int bench_unknown(struct err *e, const char *name);
void bench_case_add(struct arena *a, struct bench_cases *cases, struct bench_case c);
/* name: "nvfp4:8192"; it is shown among what did not run. */
void bench_case_absent(struct arena *a, struct bench_cases *cases, const char *name,
		       const char *why);

/* --- frame: frame.c --------------------------------------------------------------------------- */
struct frame {
	struct bench_env env;
	double seconds; /* per case; 0: the bench's own, or less when the interval is narrow */
	size_t samples; /* per case; 0: no count */
	double width;	/* half the interval's width that is narrow enough; 0: 1 % */
	/* Seconds, monotonic. NULL: the clock. */
	double (*now)(void *ctx);
	/* Called after each sample, of the warm-up too: c->n is 0 in the first. NULL: not called.
	 */
	void (*progress)(void *ctx, const struct record_case *c, size_t done, size_t of);
	void *ctx;
	double start;  /* set by frame_start */
	bool planning; /* nothing is measured: what is run is added to planned_s */
	double planned_s, done_s;
};

void frame_start(struct frame *f);
/* About how long it still takes, in seconds: by what it took so far, at first by the plan. Below 0:
 * not known, the plan is over. */
double frame_left(const struct frame *f);
/* Runs the case named prefix, or all whose name begins so (NULL: all), and appends them to r.
 * Errors of a case go into the case. -ENOENT: no case has that name. -ENODATA (-EINVAL: because of
 * what was asked): the bench has none of them here; why is the last of r->skipped. */
int frame_run(struct frame *f, const struct bench *b, const char *prefix, struct record *r);
/* The short form of each of n benches; those that do not run are noted in r->skipped. */
void frame_run_all(struct frame *f, const struct bench *const *list, size_t n, struct record *r);

/* --- what stands around it -------------------------------------------------------------------- */
/* Fills fingerprint and machine digest from facts. */
void record_fingerprint(struct arena *a, struct host *h, const struct machine *m, struct record *r);
/* CPUs that this process may use. */
struct idset bench_allowed(struct arena *a);

/* Threads that stand ready, each on a CPU of its own, and do a piece of work at the same time. */

struct workers;

/* One thread a CPU of cpus, pinned to it; all of them wait. -errno and *e. */
int workers_start(const struct idset *cpus, struct workers **out, struct err *e);
size_t workers_count(const struct workers *w);
/*
 * work(ctx, i) on every worker i at once; returns when all are done. The seconds between the first
 * that began and the last that ended.
 */
double workers_run(struct workers *w, void (*work)(void *ctx, size_t i), void *ctx);
void workers_end(struct workers *w);

/*
 * What is usual for known hardware: measured by somebody on a healthy machine, with source and
 * date. A band is no limit: what lies above is good news, what lies below is a reason to look.
 */

/*
 * The band of one figure. whole: all of the machine's CPUs may be used. hardware: as in bench_case.
 * A processor's or platform's band does not count in a virtual machine, which has a part of it; a
 * GPU's does. Sources live in a.
 */
struct record_band band_of(struct arena *a, const struct machine *m, bool whole,
			   const char *hardware, const char *bench, const char *name,
			   const struct record_series *figure);

/* What the hardware could do at best: data sheets, and what facts tell. */

/* GB/s of so many sockets' memory, a node's part of one too. Unknown in a virtual machine, which
 * does not tell its memory. */
struct bench_limit limit_memory(const struct bench_env *env, double sockets);
/* Of how many sockets these CPUs use the memory, each CPU that of its own node; node >= 0: that
 * node's alone. 0: a node without CPUs, whose memory is of another kind. */
double limit_sockets(const struct machine *m, const struct idset *cpus, int node);
/* MHz: the highest frequency that the kernel tells for any of these CPUs. */
struct bench_limit limit_frequency(const struct bench_env *env, const struct idset *cpus);

#endif
