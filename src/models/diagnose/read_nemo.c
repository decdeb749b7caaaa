/* SPDX-License-Identifier: Apache-2.0 */
/*
 * NeMo (1.x and 2.x): the line of an iteration, "key: value" between bars, and the progress bar of
 * 1.x, "key=value" in its brackets. Its bar has no rate, but for the time of a step.
 */
#include <math.h>
#include <string.h>

#include "base/text.h"
#include "models/diagnose/read.h"

static const struct {
	const char *key; /* ':' or '=' follows */
	enum figure_kind kind;
} keys[] = {
	{ "train_step_timing in s", FIGURE_STEP_S },
	{ "train_backward_timing in s", FIGURE_BACKWARD_S },
	{ "reduced_train_loss", FIGURE_LOSS },
	{ "tokens_per_sec_per_gpu", FIGURE_TOKENS_PER_S_PER_GPU },
	{ "TFLOPS_per_GPU", FIGURE_TFLOPS_PER_GPU },
	{ "peak_memory_usage", FIGURE_GPU_MEMORY },
};

/* The number of a key that is the whole word before ':' or '='; NAN: none. */
static double value_of(const char *s, const char *key)
{
	size_t n = strlen(key);

	for (const char *at = s; (at = strstr(at, key)); at += n)
		if ((at == s || strchr(" |,[", at[-1])) && (at[n] == ':' || at[n] == '='))
			return read_number(at + n, NULL);
	return (double)NAN;
}

static bool line(struct log *l, const char *s)
{
	double step = value_of(s, "global_step"), batch = value_of(s, "global_batch_size");
	bool told = false;

	if (isnan(value_of(s, keys[0].key)))
		return false;
	l->at.step = read_whole(step, -1);
	for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++) {
		double v = value_of(s, keys[i].key);

		if (isnan(v))
			continue;
		log_figure(l, keys[i].kind, v, NULL);
		told = true;
	}
	if (batch > 0) {
		TEXT_AUTO t = { 0 };

		text_printf(&t, "%.15g", batch);
		log_trait_once(l, TRAIT_GLOBAL_BATCH, t.s, batch);
	}
	return told;
}

static const char *const marks[] = { "train_step_timing in s", NULL };
const struct log_reader log_nemo = {
	.framework = "nemo", .format = "NeMo log", .marks = marks, .line = line
};
