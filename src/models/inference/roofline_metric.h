/* SPDX-License-Identifier: Apache-2.0 */
/* What ncu's metrics mean: from names, units and values to one launch's figures. Not for others. */
#ifndef INFERENCE_ROOFLINE_METRIC_H
#define INFERENCE_ROOFLINE_METRIC_H

#include "models/inference/roofline.h"

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
