/* SPDX-License-Identifier: Apache-2.0 */
/* Engines, and options by which they are started: rows of engine_options.rows. */
#ifndef KNOWLEDGE_ENGINE_OPTIONS_H
#define KNOWLEDGE_ENGINE_OPTIONS_H

#include "base/rows.h"

enum engine { ENGINE_VLLM, ENGINE_SGLANG, ENGINE_TRTLLM, ENGINE_LLAMACPP, ENGINE_TORCH, ENGINES };

/* What an option of an engine means, so that engines can be compared. */
enum option_means {
	MEANS_MODEL,
	MEANS_HOST,
	MEANS_PORT,
	MEANS_TP,
	MEANS_PP,
	MEANS_EP,
	MEANS_CONTEXT,
	MEANS_USERS,
	MEANS_MEMORY,	 /* part of the memory, 0 to 1 */
	MEANS_KV_BYTES,	 /* bytes of the cache */
	MEANS_KV,	 /* format of the cache */
	MEANS_KV_VALUES, /* of the values alone */
	MEANS_WEIGHTS,	 /* quantisation of weights */
	MEANS_CHUNK,
	MEANS_NODES,
	MEANS_RANK,
	MEANS_HEAD,
	MEANS_HEAD_PORT,
	MEANS_LAYERS, /* layers on the GPU */
	MEANS_FLASH,  /* flash attention */
	MEANS_EAGER,
	MEANS_WORKERS, /* addresses of workers */
	MEANS_OTHER,
};

struct engine_option {
	enum engine engine;
	const char *name; /* "--tensor-parallel-size" */
	const char *also; /* other spellings, blank-separated; NULL */
	enum option_means means;
	bool flag;	  /* takes no value */
	const char *note; /* what people get wrong; NULL */
};

extern const struct row_table engine_option_table;
extern const struct engine_option engine_options[];
extern const size_t n_engine_options;

#endif
