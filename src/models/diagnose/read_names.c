/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Names that training programs give their figures in "key=value", JSON and CSV: ours and common
 * synonyms. A time is taken only where its unit is told: in the name ("fwd_time_ms"), behind the
 * value ("12 ms"), or by the convention of a tool that is named here.
 */
#include <ctype.h>
#include <math.h>
#include <string.h>
#include <strings.h>

#include "base/text.h"
#include "models/diagnose/read.h"

enum { NAME_MOST = 64 };

/* Seconds without saying so, by the tool that has the name. */
static const char *const in_seconds[] = {
	"step_time",	  /* TRL; read_hf.c and read_plain.c take it as well */
	"iter_time",	  /* LitGPT */
	"data_time",	  /* Detectron2, MMEngine */
	"iteration-time", /* Megatron-LM's TensorBoard */
};

/* Figures by names, and parts of a step by the names of their times; range: of profilers too. */
struct figure_name {
	const char *id;
	enum figure_kind kind;
	bool part, range;
};
struct unit_ending {
	const char *id;
	double s;
};
#include "models/diagnose_names_rows.h"

const char read_names_said[] =
	"key=value, JSON and CSV may have step_s, tokens_per_s, samples_per_s, tflops_per_gpu, "
	"mfu, loss, data_s, forward_s, backward_s, optimizer_s, comm_s, comm_exposed_s, sync_s or "
	"checkpoint_s. Similar names with a unit also work: iter_time_ms, fwd_ms";

/* Seconds of the unit of time that is all of s; NAN. */
static double read_unit(const char *s)
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
static bool names_plain(const char *key, char *out)
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

		cut(name, units[i].id);
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
 * or a time whose unit is not known. */
static enum figure_kind names_kind_of(const char *key, double unit_s, double *factor)
{
	char name[NAME_MOST];
	double own;

	*factor = 1;
	if (!names_plain(key, name))
		return FIGURE_KINDS;
	for (size_t i = 0; i < sizeof(figure_names) / sizeof(figure_names[0]); i++)
		if (!figure_names[i].part && strcmp(figure_names[i].id, name) == 0)
			return isnan(unit_s) ? figure_names[i].kind : FIGURE_KINDS;
	own = cut_unit(name);
	*factor = isfinite(own) ? own : isfinite(unit_s) ? unit_s : by_convention(key);
	/* "step=3" counts. */
	if (!isfinite(*factor))
		return FIGURE_KINDS;
	cut(name, "_time");
	for (size_t i = 0; i < sizeof(figure_names) / sizeof(figure_names[0]); i++)
		if (figure_names[i].part && strcmp(figure_names[i].id, name) == 0)
			return figure_names[i].kind;
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
	for (size_t i = 0; i < sizeof(figure_names) / sizeof(figure_names[0]); i++)
		if (figure_names[i].range && read_is_named(name, figure_names[i].id))
			return figure_names[i].kind;
	return FIGURE_KINDS;
}

static bool read_own_unit(const struct read_place *p, const char *key, double value, double unit_s)
{
	double factor;
	enum figure_kind kind = names_kind_of(key, unit_s, &factor);

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

	return names_kind_of(key, (double)NAN, &factor) != FIGURE_KINDS;
}

/*
 * Lines of "key=value" or of JSON (names: read_names.c): what a training script writes that wants
 * to be read exactly ("step=3 rank=0 step_s=0.12 data_s=0.001", "run model=m sequence=4096", "env
 * NCCL_ALGO=Ring").
 */

static const struct {
	const char *key;
	enum trait_kind kind;
} traits[] = {
	{ "framework", TRAIT_FRAMEWORK },
	{ "model", TRAIT_MODEL },
	{ "parameters", TRAIT_PARAMETERS },
	{ "gpu", TRAIT_GPU },
	{ "world_size", TRAIT_WORLD_SIZE },
	{ "nodes", TRAIT_NODES },
	{ "global_batch", TRAIT_GLOBAL_BATCH },
	{ "micro_batch", TRAIT_MICRO_BATCH },
	{ "accumulation", TRAIT_ACCUMULATION },
	{ "sequence", TRAIT_SEQUENCE },
	{ "precision", TRAIT_PRECISION },
	{ "parallel", TRAIT_PARALLEL },
	{ "tp", TRAIT_TP },
	{ "pp", TRAIT_PP },
	{ "checkpointing", TRAIT_CHECKPOINTING },
	{ "workers", TRAIT_WORKERS },
};

enum { PAIRS_MOST = 64, VALUE_MOST = 256 };

struct pair {
	char key[48], value[VALUE_MOST];
	double number; /* NAN: the value is no number */
	double unit_s; /* that stands behind the number; NAN: none */
};

static void names_take(struct pair *p, const char *value, size_t n)
{
	const char *end;

	while (n && (value[n - 1] == ',' || value[n - 1] == ';'))
		n--;
	n = n < VALUE_MOST ? n : VALUE_MOST - 1;
	memcpy(p->value, value, n);
	p->value[n] = '\0';
	p->number = read_number(p->value, &end);
	p->unit_s = isnan(p->number) ? (double)NAN : read_unit(end);
	if (isnan(p->number) || (*end && isnan(p->unit_s)))
		p->number = (double)NAN;
}

/* The next word "key=value" of the line. */
static bool names_next_word(const char **s, struct pair *p)
{
	for (const char *w = *s; *(w += strspn(w, " \t")); w += strcspn(w, " \t")) {
		size_t n = strcspn(w, " \t"), k = strcspn(w, "= \t");

		if (w[k] != '=' || !k || k >= sizeof(p->key))
			continue;
		memcpy(p->key, w, k);
		p->key[k] = '\0';
		names_take(p, w + k + 1, n - k - 1);
		*s = w + n;
		return true;
	}
	return false;
}

static bool names_next_member(const char **s, struct pair *p)
{
	const char *at = NULL;
	size_t n;

	if (!read_pair(s, p->key, sizeof(p->key), &p->number, &at))
		return false;
	at += strspn(at, " ");
	n = *at == '"' ? strcspn(at + 1, "\"") : strcspn(at, ",} ");
	names_take(p, at + (*at == '"'), n);
	return true;
}

/* Names that other readers know as well; in a line of Hugging Face's they take them themselves. */
static bool names_shared(const struct log *l, const struct pair *p, const char *s)
{
	static const char theirs[] = "\"loss\":|train_runtime|train_samples_per_second|"
				     "train_steps_per_second|train_tokens_per_second";

	return !str_has_any(theirs, s) && !strpbrk(p->key, "/(") && isnan(p->unit_s) &&
	       strcmp(p->key, "loss") != 0 && !read_own_name(p->key) &&
	       read_metric_key(&l->at, p->key, p->number);
}

static bool keys_figure(const struct log *l, const struct pair *p, const char *s, bool hf)
{
	/* "step_time" is one of those. */
	return (!hf || strcmp(p->key, "step_time") != 0) &&
	       (read_own_unit(&l->at, p->key, p->number, p->unit_s) || names_shared(l, p, s));
}

/* Detectron2 and MMEngine call a step's seconds "time", and those for data "data_time". */
static void plain_time(struct pair *pairs, size_t n)
{
	bool data = false;

	for (size_t i = 0; i < n; i++)
		data = data || strcmp(pairs[i].key, "data_time") == 0;
	for (size_t i = 0; data && i < n; i++)
		if (strcmp(pairs[i].key, "time") == 0)
			memcpy(pairs[i].key, "step_s", sizeof("step_s"));
}

static bool names_trait(struct log *l, struct pair *p)
{
	for (size_t i = 0; i < sizeof(traits) / sizeof(traits[0]); i++)
		if (strcmp(traits[i].key, p->key) == 0 && *p->value) {
			if (traits[i].kind == TRAIT_GPU)
				for (char *c = p->value; *c; c++)
					*c = *c == '_' ? ' ' : *c;
			log_trait_once(l, traits[i].kind, p->value, p->number);
			return true;
		}
	return false;
}

/* Python's dictionaries are not ours: read_hf.c. */
static const char *json_begin(const char *s)
{
	const char *brace = strchr(s, '{');

	return brace && brace[1 + strspn(brace + 1, " ")] == '"' ? brace : NULL;
}

static bool names_line(struct log *l, const char *s)
{
	struct pair pairs[PAIRS_MOST];
	size_t n = 0, told = 0;
	const char *brace = json_begin(s), *p = brace ? brace : s;
	bool hf = brace && strstr(s, "\"loss\":") != NULL;
	bool run = brace ? strstr(s, "\"run\":") != NULL : str_starts(s, "run ");

	if (str_starts(s, "env ")) {
		if (!strchr(s, '='))
			return false;
		log_trait_once(l, TRAIT_VARIABLE, s + 4 + strspn(s + 4, " "), (double)NAN);
		return true;
	}
	while (n < PAIRS_MOST &&
	       (brace ? names_next_member(&p, &pairs[n]) : names_next_word(&p, &pairs[n])))
		n++;
	plain_time(pairs, n);
	/* Whose the line is, before what it says. */
	for (size_t i = 0; i < n; i++) {
		if (strcmp(pairs[i].key, "rank") == 0)
			l->at.rank = read_rank(pairs[i].number, l->at.rank);
		if (strcmp(pairs[i].key, "step") == 0 || strcmp(pairs[i].key, "iter") == 0 ||
		    strcmp(pairs[i].key, "iteration") == 0 ||
		    strcmp(pairs[i].key, "global_step") == 0)
			l->at.step = read_whole(pairs[i].number, l->at.step);
	}
	for (size_t i = 0; i < n; i++)
		told += run || strcmp(pairs[i].key, "world_size") == 0
				? names_trait(l, &pairs[i])
				: keys_figure(l, &pairs[i], s, hf);
	return told > 0;
}

static const char *const marks[] = { "step_s=",
				     "step_s\":",
				     "tokens_per_",
				     "tokens/s",
				     "tok/s=",
				     "tok/s\":",
				     "tok_per_s",
				     "samples_per_s",
				     "samples/s",
				     "step_",
				     "iter_",
				     "iteration_",
				     "fwd_",
				     "bwd_",
				     "forward_",
				     "backward_",
				     "data_time",
				     "data_load",
				     "_ms=",
				     "_ms\":",
				     "run framework=",
				     "run model=",
				     "world_size=",
				     "world_size\":",
				     "\"run\":",
				     "env NCCL_",
				     "env OMP_",
				     "env CUDA_",
				     "env TORCH_",
				     "run gpu=",
				     "run parameters=",
				     "run precision=",
				     "run sequence=",
				     "run nodes=",
				     "run global_batch=",
				     "run micro_batch=",
				     NULL };
const struct log_reader log_keys = { .format = "training log", .marks = marks, .line = names_line };

/* Settings as Megatron-LM and DeepSpeed print them at the start: "  name ..... value". */

static const struct {
	const char *name;
	enum trait_kind kind;
} names[] = {
	{ "world_size", TRAIT_WORLD_SIZE },
	{ "tensor_model_parallel_size", TRAIT_TP },
	{ "pipeline_model_parallel_size", TRAIT_PP },
	{ "micro_batch_size", TRAIT_MICRO_BATCH },
	{ "train_micro_batch_size_per_gpu", TRAIT_MICRO_BATCH },
	{ "global_batch_size", TRAIT_GLOBAL_BATCH },
	{ "train_batch_size", TRAIT_GLOBAL_BATCH },
	{ "gradient_accumulation_steps", TRAIT_ACCUMULATION },
	{ "seq_length", TRAIT_SEQUENCE },
	{ "num_workers", TRAIT_WORKERS },
	{ "recompute_granularity", TRAIT_CHECKPOINTING },
	{ "zero_optimization_stage", TRAIT_PARALLEL },
	{ "use_distributed_optimizer", TRAIT_PARALLEL },
	{ "bf16", TRAIT_PRECISION },
	{ "fp16", TRAIT_PRECISION },
	{ "fp8", TRAIT_PRECISION },
	{ "bfloat16_enabled", TRAIT_PRECISION },
	{ "fp16_enabled", TRAIT_PRECISION },
};

static bool on(const char *value)
{
	return strcasecmp(value, "true") == 0;
}

static bool names_word(struct log *l, enum trait_kind kind, const char *name, const char *value)
{
	char zero[] = "zero-?";

	if (strcmp(name, "zero_optimization_stage") == 0 && value[0] >= '1' && value[0] <= '3') {
		zero[5] = value[0];
		log_trait_once(l, kind, zero, value[0] - '0');
	} else if (strcmp(name, "zero_optimization_stage") == 0) {
		return true;
	} else if (kind == TRAIT_PARALLEL) {
		if (on(value))
			log_trait_once(l, kind, "zero-1", 1);
	} else if (kind == TRAIT_CHECKPOINTING) {
		log_trait_once(l, kind, strcmp(value, "None") == 0 ? "none" : value, (double)NAN);
	} else if (strcmp(name, "fp8") == 0) {
		if (strcmp(value, "None") != 0 && strcasecmp(value, "false") != 0)
			log_trait_once(l, kind, "fp8", (double)NAN);
	} else if (on(value)) {
		log_trait_once(l, kind, strstr(name, "bf") ? "bf16" : "fp16", (double)NAN);
	}
	return true;
}

static bool names_setting(struct log *l, const char *name, const char *value)
{
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		double v;

		if (strcmp(names[i].name, name) != 0)
			continue;
		v = read_number(value, NULL);
		if (strcmp(name, "tensor_model_parallel_size") == 0)
			l->tp = v;
		if (strcmp(name, "pipeline_model_parallel_size") == 0)
			l->pp = v;
		if (names[i].kind >= TRAIT_PRECISION && names[i].kind != TRAIT_WORKERS &&
		    names[i].kind != TRAIT_TP && names[i].kind != TRAIT_PP)
			return names_word(l, names[i].kind, name, value);
		if (v >= 0 && log_first(l, names[i].kind, value))
			read_trait(&l->at, names[i].kind, value, v);
		return v >= 0;
	}
	return false;
}

static bool arguments_line(struct log *l, const char *s)
{
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		const char *at = strstr(s, names[i].name), *p;
		char name[48], value[64];
		size_t n = strlen(names[i].name), m;

		/* The whole name, and nothing but dots up to the value. */
		if (!at || (at > s && at[-1] != ' ' && at[-1] != ']'))
			continue;
		p = at + n + strspn(at + n, " ");
		if (at[n] != ' ' || (*p == '.' && p[strspn(p, ".")] != ' '))
			continue;
		p += strspn(p, ".");
		p += strspn(p, " ");
		m = strcspn(p, " ");
		if (!m || m >= sizeof(value) || p[m + strspn(p + m, " ")])
			continue;
		memcpy(name, at, n);
		name[n] = '\0';
		memcpy(value, p, m);
		value[m] = '\0';
		return names_setting(l, name, value);
	}
	return false;
}

static const char *const arguments_marks[] = {
	"world_size .",
	"model_parallel_size .",
	"batch_size .",
	"batch_size_per_gpu ",
	"accumulation_steps .",
	"seq_length .",
	"num_workers .",
	"recompute_granularity .",
	"zero_optimization_stage .",
	"distributed_optimizer .",
	"bf16 .",
	"fp16 .",
	"fp8 .",
	"bfloat16_enabled .",
	"fp16_enabled .",
	NULL,
};
const struct log_reader log_arguments = { .marks = arguments_marks, .line = arguments_line };
