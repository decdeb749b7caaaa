/* SPDX-License-Identifier: Apache-2.0 */
/* How much memory there is to serve with, and which part of it an engine is told to take. Pure. */
#ifndef GENERATE_SERVE_MEMORY_H
#define GENERATE_SERVE_MEMORY_H

#include "models/generate/serve.h"

/* The machines as a place for the prediction: of memory what is free now, of the poorest one.
 * Fills out->total_bytes, free_bytes, free_from. named: by --on, then nothing is seen. */
int serve_place(struct arena *a, const struct gen_cluster *c, const struct place *named,
		struct place *place, struct serve_plan *out, struct err *err);
/* Fills fits, wanted_bytes and fraction from the prediction. */
void serve_memory(struct arena *a, const struct serve_ask *ask, struct serve_plan *out);
/* Bytes of one GPU that the engine needs: all but what is left free. */
double serve_needs(const struct need *m);
/* Bytes of total that an engine may be given, where can are free (0: not known). */
double serve_may_take(bool unified, double total, double can);
/* Tokens of prompts that one step takes, as generated. */
double engine_chunk(enum engine e);

#endif
