/* SPDX-License-Identifier: Apache-2.0 */
/*
 * In which formats weights and cache are stored, by part of the model: a checkpoint of one name
 * keeps some matrices in another format. Pure.
 */
#ifndef INFERENCE_FORMAT_H
#define INFERENCE_FORMAT_H

#include <stdbool.h>

#include "knowledge/models.h"

/* The format that a text names ("nvfp4", "int4 gptq-marlin", "Q4_K_M"), for a model with experts
 * or without; NULL: none is named in it. */
const struct format *format_find(const char *text, bool experts);
/* Of a file name or of a model's name: only words that can mean nothing else count. */
const struct format *format_in_name(const char *name, bool experts);
/* Bytes an element of the cache: "fp8", "bf16", "q8_0", "auto"; 0 when unknown. */
double format_cache_bytes(const char *text);

#endif
