/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reading the shape of a model from files: a Hugging Face config.json, the header of a GGUF file,
 * the headers of safetensors files. All of it is somebody else's data: bounded and checked.
 */
#ifndef INFERENCE_CONFIG_H
#define INFERENCE_CONFIG_H

#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/err.h"
#include "models/inference/arch.h"
#include "models/inference/format.h"

struct model_file {
	struct arch arch;
	const char *format;  /* of the weights, as a name for format_find; NULL: not told */
	const char *cache;   /* keys and values, of format_cache_bytes; NULL: not told */
	bool cache_scheme;   /* as compressed tensors tell it, which not every engine reads */
	const char *kept;    /* modules that stay in BF16, in a sentence; NULL: not told */
	double bytes;	     /* exact, of all tensors; 0: not told */
	bool besides;	     /* its files have what sees or hears besides, which is not counted */
	bool quantized;	     /* it speaks of a quantization, understood or not */
	const char *unknown; /* the quantization that it names and that is not understood */
	struct format exact; /* bytes by part as the file has them; name NULL: not told */
	const char *taken;   /* what was read, in a sentence */
};

/* text: a whole config.json, at most 4 MiB. -EINVAL says what is missing. */
int config_read(struct arena *a, const char *name, const char *text, size_t len,
		struct model_file *out, struct err *e);
/*
 * What a file beside config.json says of the weights where config.json itself says nothing:
 * hf_quant_config.json of Model Optimizer, quantize_config.json of AutoGPTQ, quant_config.json of
 * AutoAWQ. out has what config_read put there. -EINVAL: it is no such file.
 */
int config_quantization_beside(struct arena *a, const char *name, const char *text, size_t len,
			       struct model_file *out, struct err *e);
/* The first len bytes of a GGUF file: its header has to be among them. -EINVAL, or -ENODATA when
 * more of the file is needed. */
int gguf_read(struct arena *a, const char *name, const uint8_t *data, size_t len,
	      struct model_file *out, struct err *e);
/*
 * The JSON header of a safetensors file (after its 8 bytes of length), or of a
 * model.safetensors.index.json; adds the bytes of its tensors to *bytes. 0, -EINVAL.
 */
int safetensors_read(const char *text, size_t len, double *bytes, struct err *e);

#endif
