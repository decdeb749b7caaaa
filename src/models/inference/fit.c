/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The fitted constants. Fitted by tests/predict/fit.py on tests/predict/measured.csv; what no row
 * speaks of (an engine never measured on a kind of hardware) is taken from its neighbour.
 */
#include "models/inference/fit.h"

#include <ctype.h>
#include <errno.h>
#include <string.h>

#include "base/text.h"

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

#include "models/inference/fit_table.h"

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
static int read_line(struct fits *f, const char *line, size_t len)
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
		if (len && *line != '#' && read_line(f, line, len) < 0)
			return err_set(e, -EINVAL, "line %d is no \"engine.hardware.name = value\"",
				       n);
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
