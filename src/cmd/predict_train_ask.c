/* SPDX-License-Identifier: Apache-2.0 */
/* The options of predict training: what was asked, and which measured curves belong to it. */
#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "cmd/bench.h"
#include "cmd/calibrate.h"
#include "cmd/predict.h"
#include "cmd/predict_train.h"
#include "train/curve.h"
#include "train/rows.h"

#define MOST_CURVE (4u << 20)

static int whole(struct run *r, enum option_id id, double high, int *out)
{
	double v = 0;
	int code = predict_number(r, id, 1, high, &v);

	if (!code && v != floor(v))
		return complain_text(EXIT_USAGE, "--%s takes a whole number", option_rows[id].name);
	if (r->value[id])
		*out = (int)v;
	return code;
}

static int numbers(struct run *r, struct train_words *w)
{
	const struct {
		enum option_id id;
		double high;
		int *to;
	} wholes[] = {
		{ OPT_GLOBAL_BATCH, 1e8, &w->global_batch },
		{ OPT_MICRO_BATCH, 1e6, &w->micro_batch },
		{ OPT_ACCUMULATION, 1e6, &w->accumulation },
		{ OPT_SEQUENCE, 1e7, &w->sequence },
		{ OPT_TP, 4096, &w->tp },
		{ OPT_PP, 4096, &w->pp },
		{ OPT_CP, 4096, &w->cp },
		{ OPT_EP, 4096, &w->ep },
		{ OPT_SHARD, 100000, &w->shard },
		{ OPT_INTERLEAVE, 1000, &w->interleave },
		{ OPT_WORKERS, 10000, &w->workers },
	};
	const struct {
		enum option_id id;
		double low, high;
		double *to;
	} parts[] = {
		{ OPT_BUCKET, 1e4, 1e12, &w->bucket_bytes },
		{ OPT_TRAINED, 1, 1e14, &w->trained },
		{ OPT_NETWORK, 1e-3, 1e4, &w->network_gbs },
		{ OPT_PARAMS, 1e6, 1e14, &w->hint.total },
		{ OPT_ACTIVE, 1e6, 1e14, &w->hint.active },
	};
	int code = 0;

	for (size_t i = 0; i < sizeof(wholes) / sizeof(wholes[0]) && !code; i++)
		code = whole(r, wholes[i].id, wholes[i].high, wholes[i].to);
	for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]) && !code; i++)
		code = predict_number(r, parts[i].id, parts[i].low, parts[i].high, parts[i].to);
	if (!code && r->value[OPT_LOADER] && !bench_seconds(r->value[OPT_LOADER], &w->loader_s))
		code = complain_text(EXIT_USAGE, "--loader takes a time like 5ms, not \"%s\"",
				     r->value[OPT_LOADER]);
	return code;
}

int train_ask_words(struct run *r, struct train_words *w, struct model_file *file)
{
	struct err e = { 0 };
	int code;

	train_words_none(w);
	w->model = r->value[OPT_MODEL];
	w->on = r->value[OPT_ON];
	w->way = r->value[OPT_PARALLEL];
	w->precision = r->value[OPT_PRECISION];
	w->recompute = r->value[OPT_CHECKPOINTING];
	w->optimizer = r->value[OPT_OPTIMIZER];
	w->attention = r->value[OPT_ATTENTION];
	w->compile = r->value[OPT_COMPILE] ? 1 : -1;
	w->overlap = r->value[OPT_NO_OVERLAP] ? 0 : -1;
	w->tp_overlap = r->value[OPT_TP_OVERLAP] ? 1 : -1;
	if ((code = numbers(r, w)) != 0)
		return code;
	if (!w->model)
		return complain_text(EXIT_USAGE, "predict training needs --model");
	if (isdigit((unsigned char)w->model[0]) && strchr(w->model, ':')) {
		if (train_shape_parse(w->model, &file->arch, &e) < 0)
			return complain(EXIT_USAGE, &e);
		w->file = file;
		return 0;
	}
	code = predict_model_file(r, w->model, file);
	if (code > 0)
		w->file = file;
	return code < 0 ? -code : 0;
}

/* "442": the same at every size that fills the links. */
static int told_curve(struct run *r, struct train_question *q)
{
	const char *text = r->value[OPT_ALL_REDUCE];
	bool between = q->place.nodes > 1;
	struct err e = { 0 };
	size_t len;
	char *end, *table;
	double v = strtod(text, &end);

	if (end > text && !*end) {
		if (!(v > 0 && v < 1e5))
			return complain_text(
				EXIT_USAGE,
				"--all-reduce takes GB/s of bus bandwidth above 0, not "
				"\"%s\"",
				text);
		train_curve_flat(&r->arena, q, v, between);
		return 0;
	}
	table = predict_file(r, text, MOST_CURVE, &len, NULL);
	if (!table)
		return EXIT_USAGE;
	if (train_curve_read(&r->arena, text, table, between, q, &e) < 0)
		return complain(EXIT_USAGE, &e);
	return 0;
}

/* A large BF16 multiplication against what is usual for this hardware moves what is predicted. */
static void kept_gemm(struct run *r, const struct bench_facts *facts, struct train_question *q)
{
	const char *id;
	const struct record_case *c = bench_fact(facts, "gemm", "bf16:8192", &id);
	const struct record_series *s = c ? &c->series[0] : NULL;

	if (!s || !s->band.known || s->band.low + s->band.high <= 0)
		return;
	q->gemm_flops = train_gemm_usual(q) * s->s.median / ((s->band.low + s->band.high) / 2);
	q->gemm_from = arena_printf(&r->arena,
				    "gemm bf16:8192: %.4g TFLOP/s measured (%s), usual are %.4g to "
				    "%.4g: multiplications are moved by that",
				    s->s.median, id, s->band.low, s->band.high);
	if (q->n_notes < TRAIN_NOTES)
		q->notes[q->n_notes++] = q->gemm_from;
}

/* Results of our benches of such GPUs, the newest of each size and kind. */
static void kept(struct run *r, struct train_question *q)
{
	struct bench_facts facts;
	struct host *h = run_host(r);

	if (!h)
		return;
	bench_facts_of(r, h, NULL, q->place.gpu->name, &facts);
	kept_gemm(r, &facts, q);
	for (size_t i = 0; i < facts.n && !r->value[OPT_ALL_REDUCE]; i++) {
		const struct record_case *c = facts.cases[i];

		if (strcmp(c->bench, "collectives") == 0 && !str_ends(c->name, ":in-place"))
			train_curve_add(&r->arena, q, c->name, c->setup, c->series[0].s.median,
					facts.ids[i]);
	}
	train_curves_sort(q);
	host_close(h);
}

int train_ask_curves(struct run *r, struct train_question *q)
{
	if (!r->value[OPT_NO_CALIBRATION])
		kept(r, q);
	return r->value[OPT_ALL_REDUCE] && q->place.gpus > 1 ? told_curve(r, q) : 0;
}

int train_ask(struct run *r, struct place *place, struct train_question *q)
{
	struct model_file *file = ARENA_NEW(&r->arena, struct model_file);
	struct train_words w;
	struct words machine = { 0 };
	struct err e = { 0 };
	int code = train_ask_words(r, &w, file);

	if (code)
		return code;
	machine.on = w.on;
	if ((code = predict_place(r, &machine, place, NULL, NULL)) != 0)
		return code;
	w.place = machine.place;
	if (train_question_make(&r->arena, &w, q, &e) < 0)
		return complain(EXIT_USAGE, &e);
	return train_ask_curves(r, q);
}
