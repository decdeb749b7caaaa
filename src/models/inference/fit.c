/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The fitted constants are fit.rows, written by scripts/fit from tests/predict/measured.csv.xz; an
 * engine never measured on a kind of hardware takes its neighbour's. And what each can be.
 */
#include "models/inference/fit.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "models/inference/predict.h"
#include "models/inference/rows.h"

const char *const fit_names[FITS] = {
	"dense",       "expert",      "cache",	    "layer_us", "linear_us",   "step_ms",
	"seq_us",      "math_half",   "math_fp8",   "math_fp4", "math_weight", "math_ggml",
	"math_expert", "rows",	      "math_cache", "chunk_us", "first_ms",    "token_us",
	"link_us",     "net_us",      "link",	    "width",	"four",	       "math_block",
	"scan",	       "cast_us",     "touch_us",   "spread",	"host_us",     "lag",
	"fill_us",     "expert_rows", "moe_us",	    "mla_us",	"index_us",    "narrow",
};
const char *const engine_names[ENGINES] = { "vllm", "sglang", "tensorrt-llm", "llama.cpp",
					    "pytorch" };
const char *const hardware_names[HARDWARES] = { "unified", "server", "blackwell" };

/* What each constant can be, how well it is known, and what decides it. */
static const struct {
	double sigma, low, high; /* of the logarithm; of the value */
	const char *missing;
} rows[FITS] = {
#include "models/inference/calibration_priors.rows"
};

const char *calibrate_missing(enum fit_id id)
{
	return rows[id].missing;
}

double calibrate_prior(enum fit_id id, double *low, double *high)
{
	*low = rows[id].low;
	*high = rows[id].high;
	return rows[id].sigma;
}

static int name_in(const char *const *names, int n, const char *s, size_t len)
{
	for (int i = 0; i < n; i++)
		if (strlen(names[i]) == len && strncmp(names[i], s, len) == 0)
			return i;
	return -1;
}

/* "NAME = VALUE": the name's length; 0: another line, or a value out of range. */
static size_t fit_line(const char *line, size_t len, double *v)
{
	const char *eq = memchr(line, '=', len);
	char number[32];
	size_t key, n;

	if (!eq)
		return 0;
	str_trim(line, (size_t)(eq - line), &key);
	eq = str_trim(eq + 1, len - (size_t)(eq + 1 - line), &n);
	if (n == 0 || n >= sizeof(number))
		return 0;
	memcpy(number, eq, n);
	number[n] = '\0';
	return parse_real(number, v) || *v <= 0 || *v > 1e6 ? 0 : key;
}

int fit_lines(const char *text, fit_taker *take, void *ctx, const char *form, struct err *e)
{
	int number = 1;

	for (; *text; text += strcspn(text, "\n"), text += *text == '\n', number++) {
		size_t n, key;
		const char *line = str_trim(text, strcspn(text, "\n"), &n);
		double v;

		if (!n || *line == '#')
			continue;
		key = fit_line(line, n, &v);
		if (!key || take(ctx, line, key, v) < 0)
			return err_set(e, -EINVAL, "line %d: expected %s, not \"%.*s\"", number,
				       form, n < 80 ? (int)n : 80, line);
	}
	return 0;
}

/* "ENGINE.HARDWARE.NAME" */
static int take_of_engine(void *fits, const char *line, size_t key, double v)
{
	const char *second = memrchr(line, '.', key);
	const char *first = second ? memrchr(line, '.', (size_t)(second - line)) : NULL;
	int engine, hardware, id;
	double low, high;

	if (!first)
		return -EINVAL;
	engine = name_in(engine_names, ENGINES, line, (size_t)(first - line));
	hardware = name_in(hardware_names, HARDWARES, first + 1, (size_t)(second - first - 1));
	id = name_in(fit_names, FITS, second + 1, key - (size_t)(second + 1 - line));
	if (engine < 0 || hardware < 0 || id < 0)
		return -EINVAL;
	calibrate_prior((enum fit_id)id, &low, &high);
	if (high == 1 && v > 1)
		return -EINVAL; /* a part of a peak */
	((struct fits *)fits)->of[engine][hardware].v[id] = v;
	return 0;
}

int fits_read(struct fits *f, const char *text, struct err *e)
{
	return fit_lines(
		text, take_of_engine, f,
		"\"engine.hardware.name = value\" of a known constant, above 0 (parts of a "
		"peak: at most 1)",
		e);
}

extern const char fit_constants[];

/* Where the next word of a line begins; NULL: there is none. */
static const char *word_of(const char *s, size_t *len)
{
	s += strspn(s, " ");
	*len = strcspn(s, " \n");
	return *len ? s : NULL;
}

/* A line "sets" names the columns, the others are a constant's name and its value in each. */
static int fits_table(struct fits *f, const char *text)
{
	const char *sets = NULL, *name, *set, *value;
	size_t n_name, n_set, n_value;
	char line[96];

	for (; *text; text += strcspn(text, "\n"), text += *text == '\n') {
		name = word_of(text, &n_name);
		if (!name || *name == '#')
			continue;
		set = sets, n_set = 0, value = name + n_name;
		if (!sets)
			sets = value;
		for (; set && (set = word_of(set + n_set, &n_set)); value += n_value) {
			value = word_of(value, &n_value);
			snprintf(line, sizeof(line), "%.*s.%.*s = %.*s", (int)n_set, set,
				 (int)n_name, name, value ? (int)n_value : 0, value ? value : "");
			if (!value || fit_lines(line, take_of_engine, f, "", NULL))
				return -EINVAL;
		}
	}
	return 0;
}

/* The engine on its nearest kind of hardware, else vLLM on this kind. */
static const struct fit *neighbour(const struct fits *f, int engine, int hardware)
{
	const struct fit *own = f->of[engine];

	if (hardware == HARDWARE_BLACKWELL && own[HARDWARE_SERVER].v[FIT_DENSE] > 0)
		return &own[HARDWARE_SERVER];
	if (engine == ENGINE_LLAMACPP)
		return &own[HARDWARE_UNIFIED];
	return &f->of[ENGINE_VLLM][hardware];
}

void fits_default(struct fits *f)
{
	*f = (struct fits){ .origin = "published measurements" };
	if (fits_table(f, fit_constants) < 0)
		f->origin = "unreadable built-in constants";
	for (int h = 0; h < HARDWARES; h++)
		for (int engine = 0; engine < ENGINES; engine++)
			if (f->of[engine][h].v[FIT_DENSE] <= 0)
				f->of[engine][h] = *neighbour(f, engine, h);
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

/* Written by scripts/fit: measured over predicted, of families left out of the fit. */

const struct spread spreads[] = {
#include "models/inference/spreads.rows"
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

/* Written by scripts/fit: a gain as measured over as predicted, families left out. */

const struct change_spread change_spreads[] = {
#include "models/inference/gains.rows"
};
const size_t change_spread_count = sizeof(change_spreads) / sizeof(change_spreads[0]);
