/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The fitted constants. Fitted by tests/predict/fit.py on tests/predict/measured.csv; what no row
 * speaks of (an engine never measured on a kind of hardware) is taken from its neighbour.
 */
#include "models/inference/fit.h"

#include <errno.h>
#include <string.h>

#include "base/text.h"
#include "models/inference/predict.h"
#include "models/inference/rows.h"

const char *const fit_names[FITS] = {
	"dense",       "expert",     "cache",	   "layer_us",	  "linear_us",	 "step_ms",
	"seq_us",      "math_half",  "math_fp8",   "math_fp4",	  "math_weight", "math_ggml",
	"math_expert", "rows",	     "math_cache", "chunk_us",	  "first_ms",	 "first_seq_ms",
	"link_us",     "net_us",     "link",	   "queue",	  "finish",	 "width",
	"four",	       "math_block", "scan",	   "cast_us",	  "touch_us",	 "spread",
	"host_us",     "lag",	     "fill_us",	   "expert_rows",
};
const char *const engine_names[ENGINES] = { "vllm", "sglang", "tensorrt-llm", "llama.cpp",
					    "pytorch" };
const char *const hardware_names[HARDWARES] = { "unified", "server" };

void fits_default(struct fits *f)
{
	memcpy(f->of, fit_table, sizeof(f->of));
	f->origin = "published measurements (docs/PREDICT.md)";
}

static int name_in(const char *const *names, int n, const char *s, size_t len)
{
	for (int i = 0; i < n; i++)
		if (strlen(names[i]) == len && strncmp(names[i], s, len) == 0)
			return i;
	return -1;
}

/* "ENGINE.HARDWARE.NAME = VALUE" */
static int infer_fit_read_line(struct fits *f, const char *line, size_t len)
{
	const char *eq = memchr(line, '=', len), *first, *second;
	size_t key, value;
	char number[32];
	int engine, hardware, id;
	double v;

	if (!eq)
		return -EINVAL;
	line = str_trim(line, (size_t)(eq - line), &key);
	second = memrchr(line, '.', key);
	first = second ? memrchr(line, '.', (size_t)(second - line)) : NULL;
	if (!first)
		return -EINVAL;
	engine = name_in(engine_names, ENGINES, line, (size_t)(first - line));
	hardware = name_in(hardware_names, HARDWARES, first + 1, (size_t)(second - first - 1));
	id = name_in(fit_names, FITS, second + 1, key - (size_t)(second + 1 - line));
	if (engine < 0 || hardware < 0 || id < 0)
		return -EINVAL;
	eq = str_trim(eq + 1, len - (size_t)(eq + 1 - line) + (size_t)0, &value);
	if (value >= sizeof(number))
		return -EINVAL;
	memcpy(number, eq, value);
	number[value] = '\0';
	if (parse_real(number, &v) || v < 0 || v > 1e6)
		return -EINVAL;
	f->of[engine][hardware].v[id] = v;
	return 0;
}

int fits_read(struct fits *f, const char *text, struct err *e)
{
	int n = 0;

	for (const char *s = text; *s;) {
		size_t whole = strcspn(s, "\n"), len;
		const char *line = str_trim(s, whole, &len);

		n++;
		if (len && *line != '#' && infer_fit_read_line(f, line, len) < 0)
			return err_set(e, -EINVAL,
				       "line %d: expected \"engine.hardware.name = value\"", n);
		s += whole + (s[whole] == '\n');
	}
	return 0;
}

enum engine engine_parse(const char *text)
{
	if (strcasestr(text, "vllm"))
		return ENGINE_VLLM;
	if (strcasestr(text, "sglang"))
		return ENGINE_SGLANG;
	if (strcasestr(text, "trt") || strcasestr(text, "tensorrt"))
		return ENGINE_TRTLLM;
	if (strcasestr(text, "llama") || strcasestr(text, "lm studio") ||
	    strcasestr(text, "lmstudio"))
		return ENGINE_LLAMACPP; /* ollama too */
	if (strcasestr(text, "torch") || strcasestr(text, "transformers"))
		return ENGINE_TORCH;
	return ENGINES;
}

/* Written by tests/predict/fit.py: measured over predicted, by cross-validation over families. */

const struct spread spreads[] = {
	{ ENGINES, HARDWARES, MEASURE_THROUGHPUT, true, 0.744, 1.179, 433, 15 },
	{ ENGINES, HARDWARES, MEASURE_TPOT, false, 0.870, 1.111, 296, 54 },
	{ ENGINES, HARDWARES, MEASURE_TPOT, true, 0.744, 1.331, 1087, 21 },
	{ ENGINES, HARDWARES, MEASURE_TTFT, false, 0.771, 1.441, 186, 19 },
	{ ENGINES, HARDWARES, MEASURE_TTFT, true, 0.626, 2.463, 1014, 17 },
	{ ENGINE_LLAMACPP, HARDWARE_UNIFIED, MEASURE_THROUGHPUT, true, 0.640, 1.203, 45, 3 },
	{ ENGINE_LLAMACPP, HARDWARE_UNIFIED, MEASURE_TPOT, false, 0.791, 1.068, 111, 49 },
	{ ENGINE_LLAMACPP, HARDWARE_UNIFIED, MEASURE_TPOT, true, 0.831, 1.563, 45, 3 },
	{ ENGINE_LLAMACPP, HARDWARE_UNIFIED, MEASURE_TTFT, false, 0.745, 1.437, 30, 3 },
	{ ENGINE_TORCH, HARDWARE_SERVER, MEASURE_TPOT, true, 0.955, 1.048, 28, 4 },
	{ ENGINE_TORCH, HARDWARE_SERVER, MEASURE_TTFT, false, 0.944, 1.051, 21, 4 },
	{ ENGINE_SGLANG, HARDWARE_SERVER, MEASURE_TPOT, true, 0.786, 1.323, 122, 4 },
	{ ENGINE_SGLANG, HARDWARE_SERVER, MEASURE_TTFT, true, 0.754, 2.358, 122, 4 },
	{ ENGINE_TRTLLM, HARDWARE_SERVER, MEASURE_TPOT, true, 0.674, 1.411, 339, 3 },
	{ ENGINE_TRTLLM, HARDWARE_SERVER, MEASURE_TTFT, true, 0.484, 3.874, 339, 3 },
	{ ENGINE_VLLM, HARDWARE_SERVER, MEASURE_TPOT, true, 0.243, 1.252, 201, 3 },
	{ ENGINE_VLLM, HARDWARE_SERVER, MEASURE_TTFT, true, 0.290, 1.214, 201, 3 },
	{ ENGINE_VLLM, HARDWARE_UNIFIED, MEASURE_THROUGHPUT, true, 0.785, 1.172, 388, 14 },
	{ ENGINE_VLLM, HARDWARE_UNIFIED, MEASURE_TPOT, false, 0.896, 1.127, 171, 17 },
	{ ENGINE_VLLM, HARDWARE_UNIFIED, MEASURE_TPOT, true, 0.828, 1.186, 352, 11 },
	{ ENGINE_VLLM, HARDWARE_UNIFIED, MEASURE_TTFT, false, 0.783, 1.511, 135, 13 },
	{ ENGINE_VLLM, HARDWARE_UNIFIED, MEASURE_TTFT, true, 0.847, 1.402, 352, 11 },
	{ ENGINES, HARDWARES, MEASURE_THROUGHPUT, false, 0.900, 1.149, 296, 54 },
	{ ENGINE_LLAMACPP, HARDWARE_UNIFIED, MEASURE_THROUGHPUT, false, 0.936, 1.264, 111, 49 },
	{ ENGINE_VLLM, HARDWARE_UNIFIED, MEASURE_THROUGHPUT, false, 0.887, 1.116, 171, 17 },
};
const size_t spread_count = sizeof(spreads) / sizeof(spreads[0]);

/* Names of changes, and finding how well one kind of them was predicted. */

const char *const change_names[CHANGES] = { "weights", "kv",	 "layout", "machines", "users",
					    "draft",   "prefix", "chunk",  "graphs",   "engine",
					    "model",   "clock",	 "several" };

const struct change_spread *change_spread_of(enum change_kind kind, enum hardware hardware,
					     int measure)
{
	const struct change_spread *best = NULL;

	/* More GPUs by more machines is the same equation as more GPUs of one. */
	if (kind == CHANGE_MACHINES)
		kind = CHANGE_LAYOUT;
	for (size_t i = 0; i < change_spread_count; i++) {
		const struct change_spread *s = &change_spreads[i];

		if (s->kind != kind || s->measure != measure)
			continue;
		if (s->hardware == hardware)
			return s;
		if (s->hardware == HARDWARES)
			best = s;
	}
	return best;
}

/* Written by tests/predict/fit.py: a gain as measured over as predicted, by cross-validation. */

const struct change_spread change_spreads[] = {
	{ CHANGE_LAYOUT, HARDWARES, MEASURE_TPOT, 0.772, 1.156, 526, 6 },
	{ CHANGE_LAYOUT, HARDWARES, MEASURE_TTFT, 0.516, 1.121, 522, 4 },
	{ CHANGE_LAYOUT, HARDWARE_SERVER, MEASURE_TPOT, 0.772, 1.156, 521, 3 },
	{ CHANGE_LAYOUT, HARDWARE_SERVER, MEASURE_TTFT, 0.516, 1.122, 521, 3 },
	{ CHANGE_USERS, HARDWARES, MEASURE_THROUGHPUT, 0.907, 1.305, 395, 14 },
	{ CHANGE_USERS, HARDWARES, MEASURE_TPOT, 0.765, 1.242, 1783, 21 },
	{ CHANGE_USERS, HARDWARES, MEASURE_TTFT, 0.582, 1.619, 1606, 17 },
	{ CHANGE_USERS, HARDWARE_SERVER, MEASURE_TPOT, 0.744, 1.264, 1168, 9 },
	{ CHANGE_USERS, HARDWARE_SERVER, MEASURE_TTFT, 0.525, 2.021, 1126, 6 },
	{ CHANGE_USERS, HARDWARE_UNIFIED, MEASURE_THROUGHPUT, 0.907, 1.305, 395, 14 },
	{ CHANGE_USERS, HARDWARE_UNIFIED, MEASURE_TPOT, 0.806, 1.204, 615, 13 },
	{ CHANGE_USERS, HARDWARE_UNIFIED, MEASURE_TTFT, 0.830, 1.145, 480, 11 },
	{ CHANGE_WEIGHTS, HARDWARES, MEASURE_THROUGHPUT, 0.960, 1.261, 144, 4 },
	{ CHANGE_WEIGHTS, HARDWARES, MEASURE_TPOT, 0.953, 1.260, 216, 7 },
	{ CHANGE_WEIGHTS, HARDWARES, MEASURE_TTFT, 0.731, 1.307, 207, 7 },
	{ CHANGE_WEIGHTS, HARDWARE_UNIFIED, MEASURE_THROUGHPUT, 0.960, 1.261, 144, 4 },
	{ CHANGE_WEIGHTS, HARDWARE_UNIFIED, MEASURE_TPOT, 0.952, 1.264, 198, 4 },
	{ CHANGE_WEIGHTS, HARDWARE_UNIFIED, MEASURE_TTFT, 0.727, 1.314, 198, 4 },
};
const size_t change_spread_count = sizeof(change_spreads) / sizeof(change_spreads[0]);
