/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Names that training programs give their figures in "key=value", JSON and CSV: ours and common
 * synonyms. A time is taken only where its unit is told: in the name ("fwd_time_ms"), behind the
 * value ("12 ms"), or by the convention of a tool that is named here.
 */
#include <ctype.h>
#include <math.h>
#include <string.h>

#include "base/text.h"
#include "models/diagnose/read.h"

enum { NAME_MOST = 64 };

/* Figures that are no times: the unit is in the name or there is none. */
static const struct {
	const char *key;
	enum figure_kind kind;
} rates[] = {
	{ "loss", FIGURE_LOSS },
	{ "tokens_per_s", FIGURE_TOKENS_PER_S },
	{ "tokens_per_sec", FIGURE_TOKENS_PER_S },
	{ "tokens_per_second", FIGURE_TOKENS_PER_S },
	{ "tokens/s", FIGURE_TOKENS_PER_S },
	{ "tokens/sec", FIGURE_TOKENS_PER_S },
	{ "tokens/second", FIGURE_TOKENS_PER_S },
	{ "tok_per_s", FIGURE_TOKENS_PER_S },
	{ "tok_per_sec", FIGURE_TOKENS_PER_S },
	{ "tok/s", FIGURE_TOKENS_PER_S },
	{ "tok/sec", FIGURE_TOKENS_PER_S },
	{ "tokens_per_s_per_gpu", FIGURE_TOKENS_PER_S_PER_GPU },
	{ "tokens_per_sec_per_gpu", FIGURE_TOKENS_PER_S_PER_GPU },
	{ "tokens_per_gpu_per_second", FIGURE_TOKENS_PER_S_PER_GPU },
	{ "tokens_per_gpu_per_sec", FIGURE_TOKENS_PER_S_PER_GPU },
	{ "tokens/s/gpu", FIGURE_TOKENS_PER_S_PER_GPU },
	{ "tokens/sec/gpu", FIGURE_TOKENS_PER_S_PER_GPU },
	{ "tok/s/gpu", FIGURE_TOKENS_PER_S_PER_GPU },
	{ "samples_per_s", FIGURE_SAMPLES_PER_S },
	{ "samples_per_second", FIGURE_SAMPLES_PER_S },
	{ "samples/s", FIGURE_SAMPLES_PER_S },
	{ "samples/sec", FIGURE_SAMPLES_PER_S },
	{ "tflops_per_gpu", FIGURE_TFLOPS_PER_GPU },
	{ "mfu", FIGURE_MFU },
	{ "gpu_memory_bytes", FIGURE_GPU_MEMORY },
};

/* Parts of a step, as names of times have them without "_time" and without the unit; range: those
 * that ranges of profilers have as well. */
static const struct {
	const char *stem;
	enum figure_kind kind;
	bool range;
} parts[] = {
	{ "step", FIGURE_STEP_S, false },
	{ "train_step", FIGURE_STEP_S, false },
	{ "iter", FIGURE_STEP_S, false },
	{ "iteration", FIGURE_STEP_S, false },
	{ "data", FIGURE_DATA_S, true },
	{ "data_load", FIGURE_DATA_S, false },
	{ "data_loading", FIGURE_DATA_S, true },
	{ "data_wait", FIGURE_DATA_S, false },
	{ "dataloader", FIGURE_DATA_S, true },
	{ "get_batch", FIGURE_DATA_S, true },
	{ "batch_generator", FIGURE_DATA_S, true },
	{ "forward", FIGURE_FORWARD_S, true },
	{ "fwd", FIGURE_FORWARD_S, true },
	{ "backward", FIGURE_BACKWARD_S, true },
	{ "bwd", FIGURE_BACKWARD_S, true },
	{ "optimizer", FIGURE_OPTIMIZER_S, true },
	{ "optimizer_step", FIGURE_OPTIMIZER_S, true },
	{ "optim", FIGURE_OPTIMIZER_S, false },
	{ "opt", FIGURE_OPTIMIZER_S, false },
	{ "opt_step", FIGURE_OPTIMIZER_S, true },
	{ "compute", FIGURE_COMPUTE_S, false },
	{ "comm", FIGURE_COMM_S, false },
	{ "communication", FIGURE_COMM_S, false },
	{ "comm_exposed", FIGURE_COMM_EXPOSED_S, false },
	{ "exposed_comm", FIGURE_COMM_EXPOSED_S, false },
	{ "copy", FIGURE_COPY_S, false },
	{ "idle", FIGURE_IDLE_S, false },
	{ "sync", FIGURE_SYNC_S, false },
	{ "launch", FIGURE_LAUNCH_S, false },
	{ "checkpoint", FIGURE_CHECKPOINT_S, true },
	{ "ckpt", FIGURE_CHECKPOINT_S, false },
	{ "checkpoint_save", FIGURE_CHECKPOINT_S, false },
	{ "save_checkpoint", FIGURE_CHECKPOINT_S, true },
};

/* Seconds without saying so, by the tool that has the name. */
static const char *const in_seconds[] = {
	"step_time",	  /* TRL; read_hf.c and read_plain.c take it as well */
	"iter_time",	  /* LitGPT */
	"data_time",	  /* Detectron2, MMEngine */
	"iteration-time", /* Megatron-LM's TensorBoard */
};

static const struct {
	const char *ending;
	double s;
} units[] = {
	{ "_milliseconds", 1e-3 },
	{ "_microseconds", 1e-6 },
	{ "_seconds", 1 },
	{ "_msec", 1e-3 },
	{ "_secs", 1 },
	{ "_sec", 1 },
	{ "_ms", 1e-3 },
	{ "_us", 1e-6 },
	{ "_s", 1 },
	{ "(ms)", 1e-3 },
	{ "(us)", 1e-6 },
	{ "(s)", 1 },
};

const char read_names_said[] =
	"of key=value, JSON and CSV are read step_s, tokens_per_s, samples_per_s, tflops_per_gpu, "
	"mfu, loss, data_s, forward_s, backward_s, optimizer_s, comm_s, comm_exposed_s, sync_s, "
	"checkpoint_s and their like, with a unit: iter_time_ms, fwd_ms (docs/DIAGNOSE.md)";

double read_unit(const char *s)
{
	static const struct {
		const char *unit;
		double s;
	} known[] = { { "ms", 1e-3 }, { "msec", 1e-3 }, { "s", 1 },    { "sec", 1 },
		      { "secs", 1 },  { "seconds", 1 }, { "us", 1e-6 } };

	s += strspn(s, " ");
	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++)
		if (strcmp(s, known[i].unit) == 0)
			return known[i].s;
	return NAN;
}

/* The name in small letters, with underscores, without the loggers' folder. */
static bool plain(const char *key, char *out)
{
	static const char *const folders[] = { "train/", "perf/", "timing/", "time/" };
	size_t n;

	for (size_t i = 0; i < sizeof(folders) / sizeof(folders[0]); i++)
		if (str_starts(key, folders[i])) {
			key += strlen(folders[i]);
			break;
		}
	n = strlen(key);
	if (!n || n >= NAME_MOST)
		return false;
	for (size_t i = 0; i <= n; i++)
		out[i] = (char)(key[i] == '-' || key[i] == ' '	 ? '_'
				: key[i] >= 'A' && key[i] <= 'Z' ? key[i] + 32
								 : key[i]);
	return true;
}

static void cut(char *name, const char *ending)
{
	size_t n = strlen(name), k = strlen(ending);

	if (n > k && strcmp(name + n - k, ending) == 0)
		name[n - k] = '\0';
}

/* Takes the unit off the name; NAN: it has none. */
static double cut_unit(char *name)
{
	for (size_t i = 0; i < sizeof(units) / sizeof(units[0]); i++) {
		size_t n = strlen(name);

		cut(name, units[i].ending);
		if (strlen(name) < n) {
			cut(name, "_");
			return units[i].s;
		}
	}
	return NAN;
}

static double by_convention(const char *key)
{
	for (size_t i = 0; i < sizeof(in_seconds) / sizeof(in_seconds[0]); i++)
		if (strcmp(key, in_seconds[i]) == 0)
			return 1;
	return NAN;
}

/* The kind, and what its value times *factor is the figure of; FIGURE_KINDS: no name that is known,
 * or a time whose unit is not told. */
static enum figure_kind kind_of(const char *key, double unit_s, double *factor)
{
	char name[NAME_MOST];
	double own;

	*factor = 1;
	if (!plain(key, name))
		return FIGURE_KINDS;
	for (size_t i = 0; i < sizeof(rates) / sizeof(rates[0]); i++)
		if (strcmp(rates[i].key, name) == 0)
			return isnan(unit_s) ? rates[i].kind : FIGURE_KINDS;
	own = cut_unit(name);
	*factor = isfinite(own) ? own : isfinite(unit_s) ? unit_s : by_convention(key);
	/* "step=3" counts. */
	if (!isfinite(*factor))
		return FIGURE_KINDS;
	cut(name, "_time");
	for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++)
		if (strcmp(parts[i].stem, name) == 0)
			return parts[i].kind;
	return FIGURE_KINDS;
}

bool read_is_named(const char *name, const char *stem)
{
	for (; *name && *stem; name++, stem++)
		if (*stem == '_' ? !strchr("_-. ", *name) : tolower((unsigned char)*name) != *stem)
			return false;
	return *name == *stem;
}

enum figure_kind read_range(const char *name)
{
	const char *colon = strrchr(name, ':');

	name = colon ? colon + 1 : name;
	for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++)
		if (parts[i].range && read_is_named(name, parts[i].stem))
			return parts[i].kind;
	return FIGURE_KINDS;
}

bool read_own_unit(const struct read_place *p, const char *key, double value, double unit_s)
{
	double factor;
	enum figure_kind kind = kind_of(key, unit_s, &factor);

	if (kind == FIGURE_KINDS || isnan(value))
		return false;
	read_figure(p, kind, factor * value, NULL);
	return true;
}

bool read_own_key(const struct read_place *p, const char *key, double value)
{
	return read_own_unit(p, key, value, (double)NAN);
}

bool read_own_name(const char *key)
{
	double factor;

	return kind_of(key, (double)NAN, &factor) != FIGURE_KINDS;
}
