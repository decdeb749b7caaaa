/* SPDX-License-Identifier: Apache-2.0 */
/* Parts of the verb roofline. */
#ifndef VERBS_ROOFLINE_H
#define VERBS_ROOFLINE_H

#include "front/verbs/calibrate.h"
#include "models/inference/roofline.h"

/* The roofs: what benches of ours measured on that machine, else its data sheet. */
void roof_of(struct run *r, const struct bench_facts *f, const struct place *place,
	     struct roof *out);
/* Products, memory and copies as our benches measured them: operations and bytes are known there,
 * because the sizes are. */
void roof_bench_points(struct run *r, const struct bench_facts *f, struct roof_profile *out);

#endif
