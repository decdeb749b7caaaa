/* SPDX-License-Identifier: Apache-2.0 */
/* The matrices of a layer: their names in checkpoints, and their shares of a part. */
#ifndef INFERENCE_CONFIG_MODULES_H
#define INFERENCE_CONFIG_MODULES_H

#include <stddef.h>

#include "models/inference/arch.h"

enum part { ATTENTION, LINEAR, DENSE, EXPERTS, SHARED, PARTS };

#define MODULES 24

struct module {
	enum part part;
	const char *names; /* behind "layers.N.", with spaces between */
	double share;	   /* of its part in a layer */
};

/* Their number; the shape has to have heads of some width. */
size_t config_modules(const struct arch *a, struct module *out);

#endif
