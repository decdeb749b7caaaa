/* SPDX-License-Identifier: Apache-2.0 */
/*
 * "Is this normal?": figures in what other programs printed, against what is usual for the
 * hardware, what its data sheet allows, and, for engines' benchmarks, what is predicted. Text is
 * somebody else's: bounded, and none of it but numbers and names of hardware comes back. Pure.
 */
#ifndef NORMAL_NORMAL_H
#define NORMAL_NORMAL_H

#include "knowledge/normals.h"
#include "models/inference/calibrate.h"
#include "models/inference/predict.h"

enum normal_verdict {
	NORMAL_SLOW,
	NORMAL_IMPOSSIBLE, /* better than the hardware can be */
	NORMAL_UNKNOWN,	   /* why says what is missing */
	NORMAL_USUAL,
	NORMAL_VERDICTS,
};
extern const char *const normal_verdict_names[NORMAL_VERDICTS];

struct normal_item {
	enum normal_verdict verdict;
	const char *tool;     /* that printed it */
	const char *where;    /* "nccl.log:41" */
	const char *title;    /* "bus bandwidth of all-reduce" */
	const char *hardware; /* "8 x NVIDIA H100 80GB HBM3, 2 nodes"; NULL: not known */
	const char *unit;     /* of value, low, high, limit */
	double value, size;   /* size: bytes; 0: none */
	double low, high;     /* usual; 0: not known */
	double limit;	      /* the best that the hardware can do; 0: not known */
	double off;	      /* how much worse than the nearest usual value: 0.2 is 20 % */
	unsigned n;	      /* results behind the usual values */
	const char *why, *source, *test;
	const char *row; /* of normals.rows, as this result would be one */
};

struct normal_items {
	struct normal_item *items;
	size_t n, cap;
	size_t count[NORMAL_VERDICTS];
};

struct normal_on {
	const struct knowledge *known;
	const struct target_hw *place; /* whose figures they are; NULL: as the text says */
	const struct infer_options *told;
	const struct fits *fits;
	const char *date; /* today, of rows */
};

enum { NORMAL_BYTES_MAX = 64 << 20, NORMAL_LINE_MAX = 4096, NORMAL_ITEMS_MAX = 1000 };

/* Adds the judged figures of one text; file is how answers name it. How many: 0, if it holds none.
 */
size_t normal_read(struct arena *a, const char *file, char *text, const struct normal_on *on,
		   struct normal_items *out);

/* The pieces of it. Not for others. */
struct normal_seen; /* a figure as it was printed, with what the text said before it */
void normal_judge(struct arena *a, const struct normal_on *on, const struct normal_seen *seen,
		  struct normal_item *out);

enum { NORMAL_KEYS = 24 };

struct normal_seen {
	const struct normal_figure *figure;
	const char *tool, *where;
	double value; /* in the figure's unit */
	double size;
	const char *keys[NORMAL_KEYS], *texts[NORMAL_KEYS]; /* of the text so far */
	size_t n_keys;
	int gpus, nodes; /* 0: not said */
	const char *gpu;
};
/* A template with {KEY} filled in. */
const char *normal_fill(struct arena *a, const struct normal_seen *s, const char *template);
/* Runs of engines' benchmarks against predictions. gpu: as the text names it; NULL: it does not. */
void normal_runs(struct arena *a, const char *file, const char *text, const struct normal_on *on,
		 const char *gpu, struct normal_items *out);

#endif
