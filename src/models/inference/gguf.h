/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A model that is several GGUF files: the first one tells the shape, each its own tensors. One file
 * alone: gguf_read of config.h.
 */
#ifndef INFERENCE_GGUF_H
#define INFERENCE_GGUF_H

#include "models/inference/config.h"

struct gguf;

/* The first file, or the only one; the data has to stay. -EINVAL; -ENODATA: more of it is needed.
 */
int gguf_open(struct arena *a, const char *name, const uint8_t *data, size_t len, struct gguf **out,
	      struct err *e);
/* How many files the model is. */
int gguf_files(const struct gguf *g);
/* The next file, in order. */
int gguf_more(struct gguf *g, const char *name, const uint8_t *data, size_t len, struct err *e);
/* -EINVAL: the shape is not told, or files are missing. */
int gguf_model(const struct gguf *g, struct model_file *out, struct err *e);

#endif
