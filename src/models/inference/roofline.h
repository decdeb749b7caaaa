/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where measured work stands against what a GPU could do: operations and bytes over time, beside
 * the roofs of memory and of arithmetic. What no profiler counted stays unknown: a kernel's name
 * tells neither operations nor bytes. Exports of profilers are somebody else's data: bounded and
 * checked. Pure but for the reading of an SQLite file.
 *
 * Read are: the SQLite export of nsys 2022.1 to 2025.5 (nsys stats makes one); ncu 2022.1 to 2025.3
 * "--csv", pages details and raw (with the row of units).
 */
#ifndef INFERENCE_ROOFLINE_H
#define INFERENCE_ROOFLINE_H

#include <stdbool.h>
#include <stddef.h>

#include "base/arena.h"
#include "base/err.h"

/* What arithmetic runs in. */
enum roof_math {
	ROOF_FP64,
	ROOF_FP32,
	ROOF_FP64_TENSOR, /* from here on: tensor cores */
	ROOF_TF32,
	ROOF_HALF,
	ROOF_FP8,
	ROOF_FP4,
	ROOF_INT8,
	ROOF_MATHS, /* not known */
};

extern const char *const roof_math_names[ROOF_MATHS + 1];

/* One roof. value 0: not known. */
struct roof_limit {
	double value;  /* TFLOP/s, GB/s or us */
	bool measured; /* by a bench of ours on this machine; else a data sheet */
	const char *source;
};

enum roof_copy { COPY_H2D, COPY_D2H, COPY_D2D, COPY_P2P, COPY_SET, COPIES };

struct roof {
	const char *machine;
	struct roof_limit memory; /* GB/s */
	struct roof_limit math[ROOF_MATHS];
	struct roof_limit copy[COPIES]; /* GB/s, of what is copied */
	struct roof_limit launch;	/* us from one empty kernel to the next */
	double sms;			/* 0: not known */
};

enum roof_bound {
	BOUND_UNKNOWN,
	BOUND_MEMORY,
	BOUND_COMPUTE,
	BOUND_LATENCY, /* neither: too little at a time, or too short */
	BOUND_COPY,    /* the way between host and GPU, or between GPUs */
	BOUNDS,
};

extern const char *const roof_bound_names[BOUNDS];

struct roof_point {
	const char *name;
	double time_ms, launches; /* all of them together */
	double shortest_ms, longest_ms;
	double ops, bytes;   /* of all; 0: not counted */
	const char *counted; /* where ops and bytes are from, or why they are not known */
	enum roof_math math; /* of the largest part of ops */
	bool other_math;     /* tensor cores ran and what they did was not counted */
	double memory_share,
		compute_share; /* of the peaks as a profiler says, 0 to 1; 0: not known */
	double cache_share;    /* of the busiest of L1, L2 and DRAM, likewise */
	double occupancy;      /* 0 to 1; 0: not known */
	double blocks;	       /* of a launch on average; 0: not known */
	bool copy;
	enum roof_copy way;
	/* --- judged --- */
	double share_of_time; /* of all points */
	double intensity;     /* operations a byte; 0: not known */
	double tflops, gb_s;  /* reached; 0: not known */
	double reached;	      /* part of the roof above it; 0: not known */
	bool over;	      /* more than a roof: the limit or a count is wrong */
	enum roof_bound bound;
	const char *why, *next;
};

struct roof_profile {
	const char *source; /* "nsys, SQLite export" */
	const char *gpu;    /* as the export names it; NULL: it does not */
	struct roof_point *points;
	size_t n;
	struct map by_name;	 /* of points, + 1 */
	double span_ms, busy_ms; /* from the first to the last, and the part in which anything ran;
				    0: not known */
	size_t dropped;		 /* rows that made no sense */
	bool separate;		 /* points are no parts of one run: their times do not add up */
	double all_ms;		 /* set by roof_judge */
	const char *host_bound;	 /* the GPU waits for the host, in a sentence; NULL: not so, or not
				    known */
};

enum { ROOF_POINTS_MAX = 20000, ROOF_BYTES_MAX = 256 << 20 };

/* The point of that name, made when it was not there; NULL: there are too many. */
struct roof_point *roof_point_of(struct arena *a, struct roof_profile *p, const char *name);
/* Fills what is judged and orders the points by time. */
void roof_judge(struct arena *a, const struct roof *r, struct roof_profile *p);

/* name: for messages. text is NUL-terminated. -EINVAL with "name:line: ..."; -ENODATA: nothing in
 * it is known. */
int roof_read_ncu(struct arena *a, const char *name, const char *text, struct roof_profile *out,
		  struct err *e);
/*
 * The SQLite export of nsys, read in place and never written (no journal is made beside it). At
 * most a minute. -ELIBACC: there is no libsqlite3 here; -EINVAL: it is none, or makes no sense.
 */
int roof_read_sqlite(struct arena *a, const char *path, struct roof_profile *out, struct err *e);

/* What ncu's metrics mean: from names, units and values to one launch's figures. Not for others. */

enum ncu_kind {
	M_TIME,	 /* ms */
	M_BYTES, /* of DRAM, whole launch */
	M_READ,	 /* the same in two parts */
	M_WRITE,
	M_BYTES_S,   /* bytes a second */
	M_CYCLES_S,  /* clock */
	M_OPS,	     /* operations: count times weight */
	M_MEMORY,    /* %, of the busiest of L1, L2 and DRAM */
	M_DRAM,	     /* % */
	M_COMPUTE,   /* % */
	M_OCCUPANCY, /* % */
	M_TENSOR,    /* above nought: tensor cores ran */
	M_BLOCKS,
	NCU_KINDS,
};

enum { NCU_METRICS = 32 };

/*
 * A count by metric: the same one comes by several names (sm__ and smsp__: the largest counts), and
 * some in parts by the type of their result (these add up).
 */
struct ncu_count {
	double whole[NCU_METRICS], parts[NCU_METRICS];
};

/* One launch while it is read. */
struct ncu_launch {
	double v[NCU_KINDS];
	struct ncu_count all, cycle; /* of the launch; of a cycle */
	bool counted;		     /* any count of operations is there */
};

/* A metric that is not known, or whose unit or value makes no sense, changes nothing. */
void ncu_take(struct ncu_launch *l, const char *name, const char *unit, const char *text);
/* Operations in one format. */
double ncu_ops(const struct ncu_launch *l, enum roof_math math);
double ncu_bytes(const struct ncu_launch *l);

#endif
