/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Lines of "key=value" or of JSON (names: read_names.c): what a training script writes that wants
 * to be read exactly ("step=3 rank=0 step_s=0.12 data_s=0.001", "run model=m sequence=4096", "env
 * NCCL_ALGO=Ring").
 */
#include <math.h>
#include <string.h>

#include "base/text.h"
#include "models/diagnose/read.h"

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

static void take(struct pair *p, const char *value, size_t n)
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
static bool next_word(const char **s, struct pair *p)
{
	for (const char *w = *s; *(w += strspn(w, " \t")); w += strcspn(w, " \t")) {
		size_t n = strcspn(w, " \t"), k = strcspn(w, "= \t");

		if (w[k] != '=' || !k || k >= sizeof(p->key))
			continue;
		memcpy(p->key, w, k);
		p->key[k] = '\0';
		take(p, w + k + 1, n - k - 1);
		*s = w + n;
		return true;
	}
	return false;
}

static bool next_member(const char **s, struct pair *p)
{
	const char *at = NULL;
	size_t n;

	if (!read_pair(s, p->key, sizeof(p->key), &p->number, &at))
		return false;
	at += strspn(at, " ");
	n = *at == '"' ? strcspn(at + 1, "\"") : strcspn(at, ",} ");
	take(p, at + (*at == '"'), n);
	return true;
}

/* Names that other readers know as well; in a line of Hugging Face's they take them themselves. */
static bool shared(const struct log *l, const struct pair *p, const char *s)
{
	static const char *const theirs[] = { "\"loss\":", "train_runtime",
					      "train_samples_per_second", "train_steps_per_second",
					      "train_tokens_per_second" };

	for (size_t i = 0; i < sizeof(theirs) / sizeof(theirs[0]); i++)
		if (strstr(s, theirs[i]))
			return false;
	return !strpbrk(p->key, "/(") && isnan(p->unit_s) && strcmp(p->key, "loss") != 0 &&
	       !read_own_name(p->key) && read_metric_key(&l->at, p->key, p->number);
}

static bool figure(const struct log *l, const struct pair *p, const char *s, bool hf)
{
	/* "step_time" is one of those. */
	if (hf && strcmp(p->key, "step_time") == 0)
		return false;
	return read_own_unit(&l->at, p->key, p->number, p->unit_s) || shared(l, p, s);
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

static bool trait(struct log *l, struct pair *p)
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

static bool line(struct log *l, const char *s)
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
	while (n < PAIRS_MOST && (brace ? next_member(&p, &pairs[n]) : next_word(&p, &pairs[n])))
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
				? trait(l, &pairs[i])
				: figure(l, &pairs[i], s, hf);
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
const struct log_reader log_keys = { .format = "training log", .marks = marks, .line = line };
