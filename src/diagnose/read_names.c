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
#include "diagnose/read.h"

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

/* What a time is of, without "_time" and without its unit. */
static const struct {
	const char *stem;
	enum figure_kind kind;
} times[] = {
	{ "step", FIGURE_STEP_S },
	{ "train_step", FIGURE_STEP_S },
	{ "iter", FIGURE_STEP_S },
	{ "iteration", FIGURE_STEP_S },
	{ "data", FIGURE_DATA_S },
	{ "data_load", FIGURE_DATA_S },
	{ "data_loading", FIGURE_DATA_S },
	{ "data_wait", FIGURE_DATA_S },
	{ "dataloader", FIGURE_DATA_S },
	{ "forward", FIGURE_FORWARD_S },
	{ "fwd", FIGURE_FORWARD_S },
	{ "backward", FIGURE_BACKWARD_S },
	{ "bwd", FIGURE_BACKWARD_S },
	{ "optimizer", FIGURE_OPTIMIZER_S },
	{ "optimizer_step", FIGURE_OPTIMIZER_S },
	{ "optim", FIGURE_OPTIMIZER_S },
	{ "opt", FIGURE_OPTIMIZER_S },
	{ "opt_step", FIGURE_OPTIMIZER_S },
	{ "compute", FIGURE_COMPUTE_S },
	{ "comm", FIGURE_COMM_S },
	{ "communication", FIGURE_COMM_S },
	{ "comm_exposed", FIGURE_COMM_EXPOSED_S },
	{ "exposed_comm", FIGURE_COMM_EXPOSED_S },
	{ "copy", FIGURE_COPY_S },
	{ "idle", FIGURE_IDLE_S },
	{ "sync", FIGURE_SYNC_S },
	{ "launch", FIGURE_LAUNCH_S },
	{ "checkpoint", FIGURE_CHECKPOINT_S },
	{ "ckpt", FIGURE_CHECKPOINT_S },
	{ "checkpoint_save", FIGURE_CHECKPOINT_S },
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
	for (size_t i = 0; i < sizeof(times) / sizeof(times[0]); i++)
		if (strcmp(times[i].stem, name) == 0)
			return times[i].kind;
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
