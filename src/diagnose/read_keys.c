/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Lines of "key=value" or of JSON whose keys are ours: what a training script writes that wants to
 * be read exactly ("step=3 rank=0 step_s=0.12 data_s=0.001", "run model=m sequence=4096", "env
 * NCCL_ALGO=Ring").
 */
#include <math.h>
#include <string.h>

#include "base/text.h"
#include "diagnose/read.h"

static const struct {
	const char *key;
	enum figure_kind kind;
} figures[] = {
	{ "loss", FIGURE_LOSS },
	{ "step_s", FIGURE_STEP_S },
	{ "tokens_per_s", FIGURE_TOKENS_PER_S },
	{ "tokens_per_s_per_gpu", FIGURE_TOKENS_PER_S_PER_GPU },
	{ "samples_per_s", FIGURE_SAMPLES_PER_S },
	{ "tflops_per_gpu", FIGURE_TFLOPS_PER_GPU },
	{ "mfu", FIGURE_MFU },
	{ "data_s", FIGURE_DATA_S },
	{ "forward_s", FIGURE_FORWARD_S },
	{ "backward_s", FIGURE_BACKWARD_S },
	{ "optimizer_s", FIGURE_OPTIMIZER_S },
	{ "compute_s", FIGURE_COMPUTE_S },
	{ "comm_s", FIGURE_COMM_S },
	{ "comm_exposed_s", FIGURE_COMM_EXPOSED_S },
	{ "copy_s", FIGURE_COPY_S },
	{ "idle_s", FIGURE_IDLE_S },
	{ "sync_s", FIGURE_SYNC_S },
	{ "launch_s", FIGURE_LAUNCH_S },
	{ "checkpoint_s", FIGURE_CHECKPOINT_S },
	{ "gpu_memory_bytes", FIGURE_GPU_MEMORY },
};

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
};

static void take(struct pair *p, const char *value, size_t n)
{
	const char *end;

	n = n < VALUE_MOST ? n : VALUE_MOST - 1;
	memcpy(p->value, value, n);
	p->value[n] = '\0';
	p->number = read_number(p->value, &end);
	if (isnan(p->number) || *end)
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

bool read_own_key(const struct read_place *p, const char *key, double value)
{
	for (size_t i = 0; i < sizeof(figures) / sizeof(figures[0]); i++)
		if (strcmp(figures[i].key, key) == 0 && !isnan(value)) {
			read_figure(p, figures[i].kind, value, NULL);
			return true;
		}
	return false;
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

static bool line(struct log *l, const char *s)
{
	struct pair pairs[PAIRS_MOST];
	size_t n = 0, told = 0;
	const char *brace = strchr(s, '{'), *p = brace ? brace : s;
	bool run = brace ? strstr(s, "\"run\":") != NULL : str_starts(s, "run ");

	if (str_starts(s, "env ")) {
		if (!strchr(s, '='))
			return false;
		log_trait_once(l, TRAIT_VARIABLE, s + 4 + strspn(s + 4, " "), (double)NAN);
		return true;
	}
	while (n < PAIRS_MOST && (brace ? next_member(&p, &pairs[n]) : next_word(&p, &pairs[n])))
		n++;
	/* Whose the line is, before what it says. */
	for (size_t i = 0; i < n; i++) {
		if (strcmp(pairs[i].key, "rank") == 0)
			l->at.rank = read_rank(pairs[i].number, l->at.rank);
		if (strcmp(pairs[i].key, "step") == 0)
			l->at.step = read_whole(pairs[i].number, l->at.step);
	}
	for (size_t i = 0; i < n; i++)
		told += run ? trait(l, &pairs[i])
			    : read_own_key(&l->at, pairs[i].key, pairs[i].number);
	return told > 0;
}

static const char *const marks[] = {
	"step_s=",  "step_s\":", "tokens_per_s=", "tokens_per_s\":", "run framework=", "run model=",
	"\"run\":", "env NCCL_", "env OMP_",	  "env CUDA_",	     "env TORCH_",     NULL
};
const struct log_reader log_keys = { .format = "training log", .marks = marks, .line = line };
