/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A table of measured training runs, each predicted anew. Columns by name (CSV, RFC 4180): source,
 * date, source_url, model, shape, hardware, gpus, nodes, network_gbs, way, shard, tp, pp, vp, cp,
 * ep, tp_overlap, micro_batch, global_batch, sequence, precision, checkpointing, fused, attention,
 * trained, tokens_s_gpu, memory_gib, notes. Model or shape, hardware, gpus, micro_batch,
 * global_batch, sequence and tokens_s_gpu have to be there; the file is not trusted.
 */
#ifndef TRAINING_ROWS_H
#define TRAINING_ROWS_H

#include "models/training/fit.h"
#include "models/training/train.h"

struct train_row {
	long line; /* of the record, from 2 */
	const char *source, *model, *hardware, *precision, *url;
	int gpus, nodes;
	bool experts, fits;
	double measured, predicted;	 /* tokens/s of a GPU */
	double low, high;		 /* the interval of predicted */
	double memory, memory_predicted; /* GiB; 0: not known */
	const char *skipped;		 /* NULL: it counts */
};

struct train_rows {
	struct train_row *items;
	size_t n;
};

#define TRAIN_ROWS_MAX 20000

/* -EINVAL names the line. fit: NULL: the built-in constants. */
int train_rows_predict(struct arena *a, const struct knowledge *known, const char *csv,
		       const struct train_fit *fit, struct train_rows *out, struct err *e);
/* layers:hidden:heads:kv_heads:inner:matrices:vocabulary[:tied]. -EINVAL names what is wrong. */
int train_shape_parse(const char *text, struct arch *out, struct err *e);

#endif
