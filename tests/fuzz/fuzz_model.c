/* SPDX-License-Identifier: Apache-2.0 */
/* Any bytes as a model's configuration, GGUF header, safetensors header or table of measurements:
 * refused, or a shape whose prediction is made of finite numbers. */
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "../unit/gguf_one.h"
#include "models/inference/predict.h"
#include "models/inference/rows.h"

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size);

static void use(struct arena *a, const struct model_file *f)
{
	struct infer_options w = {
		.model = "m", .file = f, .on = "2x dgx-spark", .batch = 3, .weight_bytes = f->bytes
	};
	struct prediction p;
	struct fits fits;
	struct query q;
	struct err e;

	fits_default(&fits);
	if (question_make(a, &w, &fits, &q, &e) < 0)
		return;
	predict(a, &q, &fits, &p);
	if (!isfinite(p.tpot.value) || !isfinite(p.ttft.value) || !isfinite(p.throughput.value) ||
	    !isfinite(p.memory.total) || p.memory.total < 0)
		abort();
}

/* Two files one after the other, which are one model. */
static void two_files(struct arena *a, const unsigned char *data, size_t size)
{
	const unsigned char *second = size > 4 ? memmem(data + 4, size - 4, "GGUF", 4) : NULL;
	struct model_file f;
	struct gguf *g;
	struct err e;

	if (second && gguf_open(a, "m", data, (size_t)(second - data), &g, &e) == 0 &&
	    gguf_more(g, "n", second, size - (size_t)(second - data), &e) == 0 &&
	    gguf_model(g, &f, &e) == 0)
		use(a, &f);
}

/* What a quantizer writes beside a configuration: of the one that was read, or of a plain one. */
static void beside(struct arena *a, const char *text, size_t size, struct model_file *f)
{
	static const char plain[] = "{\"model_type\":\"llama\",\"hidden_size\":1024,"
				    "\"num_hidden_layers\":8,\"num_attention_heads\":8,"
				    "\"intermediate_size\":4096,\"vocab_size\":32000}";
	struct err e;

	if (!f->taken && config_read(a, "m", plain, sizeof(plain) - 1, f, &e) < 0)
		abort();
	if (config_quantization_beside(a, "n", text, size, f, &e) == 0)
		use(a, f);
}

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size)
{
	struct arena a = { 0 };
	struct model_file f = { 0 };
	struct rows rows;
	struct fits fits;
	double bytes = 0;
	struct err e;
	char *text;

	if (!size)
		return 0;
	text = arena_strndup(&a, (const char *)data, size);
	fits_default(&fits);
	if (*data == 'G') {
		if (gguf_read(&a, "m", data, size, &f, &e) == 0)
			use(&a, &f);
		two_files(&a, data, size);
	} else if (*data == '{') {
		if (config_read(&a, "m", text, size, &f, &e) == 0)
			use(&a, &f);
		beside(&a, text, size, &f);
		safetensors_read(text, size, &bytes, &e);
		if (!isfinite(bytes) || bytes < 0)
			abort();
	} else {
		rows_predict(&a, NULL, text, &fits, &rows, &e);
		fits_read(&fits, text, &e);
	}
	arena_free(&a);
	return 0;
}
