/* SPDX-License-Identifier: Apache-2.0 */
/* From words that people write to a question about training: names, model, machines, switches. */
#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <string.h>

#include "models/training/words.h"

const char *const train_way_names[TRAIN_WAYS] = { "ddp",    "zero-1", "zero-2",
						  "zero-3", "fsdp",   "hsdp" };
const char *const train_precision_names[TRAIN_PRECISIONS] = { "fp32", "tf32", "bf16", "fp16",
							      "fp8" };
const char *const train_recompute_names[TRAIN_RECOMPUTES] = { "none", "selective", "full" };
const char *const train_optimizer_names[TRAIN_OPTIMIZERS] = {
	"adamw", "adamw-bf16", "adamw-8bit", "adafactor", "lion", "sgd", "muon"
};
const char *const train_attention_names[TRAIN_ATTENTIONS] = { "eager", "flash", "flash3" };
const char *const train_collective_names[TRAIN_COLLECTIVES] = { "all-reduce", "all-gather",
								"reduce-scatter", "all-to-all",
								"send" };

void train_note(struct train_question *q, const char *text)
{
	if (q->n_notes < TRAIN_NOTES)
		q->notes[q->n_notes++] = text;
}

void train_words_none(struct train_words *w)
{
	*w = (struct train_words){ .sp = -1,
				   .overlap = -1,
				   .tp_overlap = -1,
				   .compile = -1,
				   .reshard = -1,
				   .reduce_fp32 = -1,
				   .sync_each_micro = -1 };
}

static bool same(const char *a, const char *b)
{
	while (*a || *b) {
		if (*a == '-' || *a == '_' || *a == ' ')
			a++;
		else if (*b == '-' || *b == '_' || *b == ' ')
			b++;
		else if (tolower((unsigned char)*a++) != tolower((unsigned char)*b++))
			return false;
	}
	return true;
}

/* Which of n names a word is; *out stays where there is none. */
static int pick(struct arena *a, const char *what, const char *word, const char *const *names,
		int n, int *out, struct err *e)
{
	const char *all = "";

	if (!word || !*word)
		return 0;
	for (int i = 0; i < n; i++) {
		if (same(names[i], word)) {
			*out = i;
			return 0;
		}
		all = arena_printf(a, "%s%s%s", all,
				   i == 0	? ""
				   : i + 1 == n ? " or "
						: ", ",
				   names[i]);
	}
	return err_set(e, -ENOENT, "%s takes %.200s, not \"%.40s\"", what, all, word);
}

static int find_model(struct arena *a, const struct train_words *w, struct train_question *q,
		      struct err *e)
{
	const char *taken = NULL;
	int r;

	q->model = w->model ? w->model : "";
	if (w->file) {
		q->arch = w->file->arch;
		if (w->file->taken)
			train_note(q, w->file->taken);
		return 0;
	}
	if (!w->model)
		return err_set(e, -EINVAL, "which model is to be trained?");
	r = model_find(a, w->model, &w->hint, &q->arch, &taken, e);
	if (r == 0 && taken)
		train_note(q, taken);
	return r;
}

static int find_place(struct arena *a, const struct train_words *w, struct train_question *q,
		      struct err *e)
{
	int r;

	if (w->on) {
		if ((r = place_parse(a, w->on, &q->place, e)) < 0)
			return r;
	} else if (w->place) {
		q->place = *w->place;
	} else {
		return err_set(e, -EINVAL, "on which machine is to be trained?");
	}
	if (w->gpus > 0) {
		int each = q->place.gpu->per_node;

		q->place.gpus = w->gpus;
		q->place.nodes = (w->gpus + each - 1) / each;
		if (each == 1 && q->place.gpu->link > 0)
			q->place.nodes = 1;
		q->place.taken = arena_printf(a, "%d x %s", w->gpus, q->place.gpu->name);
	}
	if (w->nodes > 0)
		q->place.nodes = w->nodes;
	if (q->place.gpus > 100000 || q->place.nodes > q->place.gpus)
		return err_set(e, -EINVAL, "%d GPUs in %d machines cannot be", q->place.gpus,
			       q->place.nodes);
	if (w->network_gbs > 0)
		q->place.network = w->network_gbs;
	else if (q->place.nodes > 1)
		train_note(q, arena_printf(a,
					   "between machines: %.4g GB/s one way for each GPU, what "
					   "such machines usually have (--network)",
					   train_network_gbs(q)));
	return 0;
}

static int find_words(struct arena *a, const struct train_words *w, struct train_question *q,
		      struct err *e)
{
	int precision = (int)train_half(q->place.gpu), recompute = TRAIN_KEEP_ALL,
	    attention = TRAIN_FLASH;
	int optimizer = TRAIN_ADAMW, way = TRAIN_DDP, r;

	if ((r = pick(a, "--precision", w->precision, train_precision_names, TRAIN_PRECISIONS,
		      &precision, e)) < 0 ||
	    (r = pick(a, "--checkpointing", w->recompute, train_recompute_names, TRAIN_RECOMPUTES,
		      &recompute, e)) < 0 ||
	    (r = pick(a, "--attention", w->attention, train_attention_names, TRAIN_ATTENTIONS,
		      &attention, e)) < 0 ||
	    (r = pick(a, "--optimizer", w->optimizer, train_optimizer_names, TRAIN_OPTIMIZERS,
		      &optimizer, e)) < 0 ||
	    (r = pick(a, "--parallel", w->way, train_way_names, TRAIN_WAYS, &way, e)) < 0)
		return r;
	q->precision = (enum train_precision)precision;
	q->recompute = (enum train_recompute)recompute;
	q->attention = (enum train_attention)attention;
	q->optimizer = (enum train_optimizer)optimizer;
	q->way = (enum train_way)way;
	if (train_peak(q->place.gpu, q->precision) <= 0)
		return err_set(e, -EINVAL, "%s has no tensor cores for %s", q->place.gpu->name,
			       train_precision_names[q->precision]);
	return 0;
}

static int told(int value, int otherwise)
{
	return value >= 0 ? value : otherwise;
}

static void switches(const struct train_words *w, struct train_question *q)
{
	q->tp = w->tp > 0 ? w->tp : 1;
	q->pp = w->pp > 0 ? w->pp : 1;
	q->cp = w->cp > 0 ? w->cp : 1;
	q->ep = w->ep > 0 ? w->ep : 1;
	q->interleave = w->interleave > 0 ? w->interleave : 1;
	q->sp = told(w->sp, q->tp > 1);
	q->overlap = told(w->overlap, true);
	q->tp_overlap = told(w->tp_overlap, false);
	q->compile = told(w->compile, false);
	q->trained = w->trained;
	q->loader_s = w->loader_s;
	q->workers = w->workers > 0 ? w->workers : 1;
	q->sequence = w->sequence > 0 ? w->sequence : 2048;
	q->shard = w->shard;
}

int train_question_make(struct arena *a, const struct train_words *w, struct train_question *q,
			struct err *e)
{
	int r;

	*q = (struct train_question){ .model = w->model };
	if ((r = find_model(a, w, q, e)) < 0 || (r = find_place(a, w, q, e)) < 0 ||
	    (r = find_words(a, w, q, e)) < 0)
		return r;
	switches(w, q);
	/* "8.03B" of 8.0299 is meant as all. */
	if (q->trained > arch_parts(&q->arch).total * 1.01)
		return err_set(e, -EINVAL,
			       "--trained: %.6g G are more than the %.6g G parameters of %s",
			       q->trained / 1e9, arch_parts(&q->arch).total / 1e9,
			       q->arch.name && *q->arch.name ? q->arch.name : "the model");
	return train_choose(a, w, q, e);
}
