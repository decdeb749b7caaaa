/* SPDX-License-Identifier: Apache-2.0 */
/* From a name as people and drivers write it to a row of the table. Pure. */
#ifndef INFERENCE_GPU_NAME_H
#define INFERENCE_GPU_NAME_H

#include "models/inference/gpu.h"

/* Letters and digits alone, in small letters. */
void gpu_name_squeeze(char *to, size_t size, const char *s, size_t len);
/* NULL: none, or a name that says more than is understood. */
const struct gpu_kind *gpu_name_means(const char *text);
/* The card whose name is a part of this one: not it, but the nearest. NULL: none. */
const struct gpu_kind *gpu_name_near(const char *text);

#endif
