/* SPDX-License-Identifier: Apache-2.0 */
/* Measured collectives as curves of a question: from one figure, from a table, from results of our
 * bench. */
#ifndef TRAINING_CURVE_H
#define TRAINING_CURVE_H

#include "models/training/train.h"

/* One bus bandwidth of large all-reduces; small ones by the usual latency. Gathers and scatters of
 * the same links are taken to reach the same. */
void train_curve_flat(struct arena *a, struct train_config *q, double busbw_gbs, bool between);
/*
 * The table that nccl-tests prints, or lines "bytes,GB/s" (bus bandwidth); of all-reduce unless the
 * text names another. Not trusted: -EINVAL when no line is a point.
 */
int train_curve_read(struct arena *a, const char *name, const char *text, bool between,
		     struct train_config *q, struct err *e);
/*
 * A case of our bench: name "all-reduce:128MiB", setup "134217728 bytes, 8 ranks, ...". Cases with
 * another count of ranks than the question's machine or cluster has are left out.
 */
void train_curve_add(struct arena *a, struct train_config *q, const char *name, const char *setup,
		     double busbw_gbs, const char *id);
/* Ends adding: sorts, and drops curves of one point. */
void train_curves_sort(struct train_config *q);

#endif
