/* SPDX-License-Identifier: Apache-2.0 */
/* A model that is one GGUF file, as tests have it in memory. */
#ifndef TEST_GGUF_ONE_H
#define TEST_GGUF_ONE_H

#include "models/inference/gguf.h"

/* The first len bytes: the header has to be among them. -EINVAL, or -ENODATA when more is needed.
 */
static inline int gguf_read(struct arena *a, const char *name, const uint8_t *data, size_t len,
			    struct model_file *out, struct err *e)
{
	struct gguf *g;
	int code = gguf_open(a, name, data, len, &g, e);

	return code < 0 ? code : gguf_model(g, out, e);
}

#endif
