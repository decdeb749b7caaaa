/* SPDX-License-Identifier: Apache-2.0 */
/* A table of measured runs, predicted anew. */
#include "models/training/rows.h"

#include <errno.h>
#include <math.h>
#include <string.h>

#include "base/text.h"
#include "models/inference/rows.h"

/* In the order of column_names. */
/* clang-format off */
enum column {
	C_SOURCE, C_URL, C_MODEL, C_SHAPE, C_HARDWARE, C_GPUS, C_NODES, C_NETWORK, C_WAY, C_SHARD,
	C_TP, C_PP, C_VP, C_CP, C_EP, C_TP_OVERLAP, C_MICRO, C_GLOBAL, C_SEQUENCE, C_PRECISION,
	C_RECOMPUTE, C_FUSED, C_ATTENTION, C_TRAINED, C_FRAMEWORK, C_OPTIMIZER, C_FROZEN, C_RATE,
	C_MEMORY, C_NOTES, COLUMNS
};
/* clang-format on */

static const char *const column_names[COLUMNS] = { "source",	   "source_url",  "model",
						   "shape",	   "hardware",	  "gpus",
						   "nodes",	   "network_gbs", "way",
						   "shard",	   "tp",	  "pp",
						   "vp",	   "cp",	  "ep",
						   "tp_overlap",   "micro_batch", "global_batch",
						   "sequence",	   "precision",	  "checkpointing",
						   "fused",	   "attention",	  "trained",
						   "framework",	   "optimizer",	  "frozen",
						   "tokens_s_gpu", "memory_gib",  "notes" };

static int yes(const char *s, int otherwise)
{
	if (!s || !*s)
		return otherwise;
	return strcmp(s, "yes") == 0;
}

int train_shape_parse(const char *text, struct arch *out, struct err *e)
{
	double v[7] = { 0 };
	size_t n = 0;
	const char *s = text;
	bool tied = false;

	while (n < 7) {
		const char *end;

		if (parse_decimal(s, &v[n], &end) || !(v[n] >= 1 && v[n] <= 1e7) ||
		    v[n] != floor(v[n]))
			break;
		n++;
		s = end;
		if (*s != ':')
			break;
		s++;
	}
	if (n == 7 && *s)
		tied = strcmp(s, "tied") == 0;
	if (n < 7 || (*s && !tied && strcmp(s, "untied") != 0) || v[0] > 10000 || v[2] > v[1] ||
	    v[3] > v[2] || v[5] > 4)
		return err_set(e, -EINVAL,
			       "invalid shape \"%.80s\"; expected "
			       "layers:hidden:heads:kv_heads:inner:matrices:vocabulary[:tied]",
			       text);
	if (fmod(v[2], v[3]) > 0 || fmod(v[1], v[2]) > 0)
		return err_set(e, -EINVAL,
			       "invalid shape \"%.80s\": hidden must be a multiple of heads, and "
			       "heads of kv_heads",
			       text);
	*out = (struct arch){ .name = "shape",
			      .source = "told",
			      .layers = (int)v[0],
			      .hidden = (int)v[1],
			      .heads = (int)v[2],
			      .kv_heads = (int)v[3],
			      .head_dim = (int)(v[1] / v[2]),
			      .ffn = (int)v[4],
			      .ffn_mats = (int)v[5],
			      .vocab = (int)v[6],
			      .tied = tied };
	return 0;
}

static void train_rows_words_of_row(const char **f, struct train_options *w)
{
	train_words_none(w);
	w->model = f[C_MODEL];
	w->on = f[C_HARDWARE];
	w->gpus = table_count(f[C_GPUS]);
	w->nodes = table_count(f[C_NODES]);
	w->network_gbs = table_number(f[C_NETWORK]);
	w->way = f[C_WAY];
	w->shard = table_count(f[C_SHARD]);
	w->tp = table_count(f[C_TP]);
	w->pp = table_count(f[C_PP]);
	w->interleave = table_count(f[C_VP]);
	w->cp = table_count(f[C_CP]);
	w->ep = table_count(f[C_EP]);
	w->tp_overlap = yes(f[C_TP_OVERLAP], 0);
	w->micro_batch = table_count(f[C_MICRO]);
	w->global_batch = table_count(f[C_GLOBAL]);
	w->sequence = table_count(f[C_SEQUENCE]);
	w->precision = f[C_PRECISION];
	w->recompute = f[C_RECOMPUTE];
	w->compile = yes(f[C_FUSED], 0);
	w->attention = f[C_ATTENTION];
	w->trained = table_number(f[C_TRAINED]);
	w->framework = f[C_FRAMEWORK];
	w->optimizer = f[C_OPTIMIZER];
	w->frozen = f[C_FROZEN];
}

/* Frameworks let a micro-batch not divide what a rank has: the last one is smaller. */
static void round_batch(struct train_options *w)
{
	double cut = (w->tp ? w->tp : 1.0) * (w->pp ? w->pp : 1) * (w->cp ? w->cp : 1);
	int dp = (int)(w->gpus / cut), each;

	if (dp < 1 || w->micro_batch < 1)
		return;
	each = w->global_batch / dp;
	if (each >= w->micro_batch && each % w->micro_batch)
		w->global_batch = each / w->micro_batch * w->micro_batch * dp;
}

struct reading {
	struct arena *a;
	const struct knowledge *known;
	const struct train_fit *fit;
	struct train_rows *out;
};

static void train_rows_predict_row(const struct reading *g, const char **f, struct train_row *r)
{
	struct arena *a = g->a;
	struct model_file file = { 0 };
	struct train_answer *p = ARENA_NEW(a, struct train_answer);
	struct train_config *q = ARENA_NEW(a, struct train_config);
	struct train_options w;
	struct err e = { 0 };

	train_rows_words_of_row(f, &w);
	w.known = g->known;
	w.lora = strcmp(f[C_TRAINED], "lora") == 0;
	round_batch(&w);
	if (r->measured <= 0 || !w.micro_batch || !w.global_batch || !w.gpus) {
		r->skipped = "batches, GPUs or measured rate missing";
		return;
	}
	if (*f[C_SHAPE]) {
		if (train_shape_parse(f[C_SHAPE], &file.arch, &e) < 0) {
			r->skipped = arena_strdup(a, e.text);
			return;
		}
		w.file = &file;
	}
	if (train_config_make(a, &w, q, &e) < 0) {
		r->skipped = arena_strdup(a, e.text);
		return;
	}
	q->fit = g->fit;
	train_predict(a, q, p);
	r->gpus = q->place.gpus;
	r->nodes = q->place.nodes;
	r->experts = q->arch.moe_layers > 0;
	r->predicted = p->tokens_s_gpu.value;
	r->low = p->tokens_s_gpu.low;
	r->high = p->tokens_s_gpu.high;
	r->fits = p->memory.fits;
	if (r->measured * p->model_flops > p->peak_flops)
		r->skipped = "the measured rate exceeds the peak of the GPU";
	r->memory_predicted = p->memory.total / 1024 / 1024 / 1024;
}

static void train_rows_add_row(void *ctx, const char **cell, long line)
{
	struct reading *g = ctx;
	struct train_rows *out = g->out;
	struct train_row *r;

	r = &ARENA_ADD(g->a, out->items, out->n);
	*r = (struct train_row){ .line = line,
				 .source = cell[C_SOURCE],
				 .model = cell[C_MODEL],
				 .hardware = cell[C_HARDWARE],
				 .precision = cell[C_PRECISION],
				 .url = cell[C_URL],
				 .measured = table_number(cell[C_RATE]),
				 .memory = table_number(cell[C_MEMORY]) };
	train_rows_predict_row(g, cell, r);
}

int train_rows_predict(struct arena *a, const struct knowledge *known, const char *csv,
		       const struct train_fit *fit, struct train_rows *out, struct err *e)
{
	static const int needed[] = { C_MODEL, C_HARDWARE, C_RATE, C_GPUS };
	const struct table t = { column_names, COLUMNS, needed, sizeof(needed) / sizeof(needed[0]),
				 TRAIN_ROWS_MAX };

	*out = (struct train_rows){ 0 };
	return table_read(a, &t, csv, train_rows_add_row, &(struct reading){ a, known, fit, out },
			  e);
}
