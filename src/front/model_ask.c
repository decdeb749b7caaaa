/* SPDX-License-Identifier: Apache-2.0 */
/* What a prediction is asked: the options, the files of a model, the machine, and measured curves.
 */
#include <string.h>
#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>
#include <strings.h>

#include "front/model_ask.h"
#include "base/text.h"
#include "front/calibration.h"
#include "verbs/model_files.h"
#include "models/inference/page_predict.h"
#include "models/inference/predict.h"
#include "models/inference/rows.h"
#include "models/training/curve.h"
#include "models/training/rows.h"

#define MOST_CONSTANTS (1u << 20)

int predict_constants(struct run *r, struct fits *fits)
{
	const char *path = r->value[OPT_CALIBRATION];
	struct err e = { 0 };
	size_t len;
	char *text;

	fits_default(fits);
	calibration_use(r, fits);
	if (!path)
		return 0;
	text = predict_file(r, path, MOST_CONSTANTS, &len, NULL);
	if (!text)
		return EXIT_USAGE;
	if (fits_read(fits, text, &e) < 0)
		return complain_text(EXIT_USAGE, "%s: %s", path, e.text);
	fits->origin = path;
	return 0;
}

int predict_place(struct run *r, struct infer_options *w, struct target_hw *p, predict_more *more,
		  void *ctx)
{
	struct err e = { 0 };
	struct host *h;
	struct machine *m;
	int found;

	if (w->on && r->value[OPT_HOST])
		return complain_text(EXIT_USAGE,
				     "--on and --host both say on which machine: one of them");
	if (w->on)
		return 0;
	h = run_host(r);
	if (!h)
		return EXIT_USAGE;
	m = run_machine(r, h, false);
	found = m ? place_of(&r->arena, run_knowledge(r), m, p, &e) : -1;
	if (found == 0) {
		w->place = p;
		if (more)
			more(r, h, m, ctx);
	}
	host_close(h);
	return !m ? EXIT_BLIND : found < 0 ? complain(EXIT_BLIND, &e) : 0;
}

char *predict_file(struct run *r, const char *path, size_t most, size_t *len, bool *cut)
{
	return door_file(&r->door, path, most, len, cut);
}

int predict_model_file(struct run *r, const char *path, struct model_file *f)
{
	return door_model_file(&r->door, path, f);
}

/* A bound as it may be written: with a suffix and without an exponent. */
static const char *bound(struct run *r, double v)
{
	static const struct {
		double from, unit;
		const char *suffix;
	} units[] = { { 1e12, 1e12, "T" }, { 1e9, 1e9, "B" }, { 1e6, 1e6, "M" }, { 0, 1, "" } };
	size_t i = 0;

	while (v < units[i].from)
		i++;
	return arena_printf(&r->arena, "%.6g%s", v / units[i].unit, units[i].suffix);
}

/* A number from low to high; a suffix K, M, B or T multiplies by thousands. */
int predict_number(struct run *r, enum option_id id, double low, double high, double *out)
{
	static const struct {
		char letter;
		double factor;
	} suffixes[] = { { 'k', 1e3 }, { 'm', 1e6 }, { 'b', 1e9 }, { 'g', 1e9 }, { 't', 1e12 } };
	const char *s = r->value[id], *end = s;
	double v = 0;
	bool sound;

	if (!s)
		return 0;
	sound = parse_decimal(s, &v, &end) == 0;
	for (size_t i = 0; sound && i < sizeof(suffixes) / sizeof(suffixes[0]); i++)
		if ((*end | 32) == suffixes[i].letter && !end[1]) {
			v *= suffixes[i].factor;
			end++;
			break;
		}
	if (!sound || *end || v < low || v > high)
		return complain_text(EXIT_USAGE, "--%s takes a number from %s to %s, not \"%s\"",
				     option_rows[id].name, bound(r, low), bound(r, high), s);
	*out = v;
	return 0;
}

int predict_whole(struct run *r, enum option_id id, double high, int *out)
{
	double v = 0;
	int code = predict_number(r, id, 1, high, &v);

	if (!code && v != floor(v))
		return complain_text(EXIT_USAGE, "--%s takes a whole number, not \"%s\"",
				     option_rows[id].name, r->value[id]);
	if (r->value[id])
		*out = (int)v;
	return code;
}

int predict_words(struct run *r, struct infer_options *w, double *claim)
{
	const struct {
		enum option_id id;
		double low, high;
		double *to;
	} numbers[] = {
		{ OPT_PROMPT, 1, QUESTION_TOKENS, &w->prompt },
		{ OPT_ANSWER, 1, QUESTION_TOKENS, &w->output },
		{ OPT_DEPTH, 0, QUESTION_TOKENS, &w->depth },
		{ OPT_CACHED, 0, 1, &w->cached },
		{ OPT_ROUNDS, 1, 1e6, &w->rounds },
		{ OPT_CHUNK, 16, 1e7, &w->chunk },
		{ OPT_ACCEPT, 0, 1, &w->accept },
		{ OPT_DRAFT_COST, 0, 10, &w->draft_cost },
		{ OPT_PARAMS, 1e6, 1e14, &w->hint.total },
		{ OPT_ACTIVE, 1e6, 1e14, &w->hint.active },
		{ OPT_CLAIM, 1e-3, 1e6, claim },
	};
	int code = 0;

	*w = (struct infer_options){ .known = run_knowledge(r),
				     .model = r->value[OPT_MODEL],
				     .weights = r->value[OPT_WEIGHTS],
				     .cache = r->value[OPT_CACHE],
				     .on = r->value[OPT_ON],
				     .engine = r->value[OPT_ENGINE],
				     .eager = r->value[OPT_EAGER] != NULL,
				     .draft_cost = 0.05,
				     .accept = 0.7 };
	if (w->engine && engine_parse(w->engine) == ENGINES)
		code = complain_text(EXIT_USAGE,
				     "--engine takes vllm, sglang, tensorrt-llm, llama.cpp or "
				     "ollama, not \"%.40s\"",
				     w->engine);
	for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]) && !code; i++)
		code = predict_number(r, numbers[i].id, numbers[i].low, numbers[i].high,
				      numbers[i].to);
	if (!code)
		code = predict_whole(r, OPT_BATCH, QUESTION_REQUESTS, &w->batch);
	if (!code)
		code = predict_whole(r, OPT_TP, 4096, &w->tp);
	if (!code)
		code = predict_whole(r, OPT_PP, 4096, &w->pp);
	if (!code)
		code = predict_whole(r, OPT_DRAFT, 64, &w->draft);
	return code;
}

int train_ask_constants(struct run *r, struct train_fit *fit)
{
	const char *path = r->value[OPT_CALIBRATION];
	struct err e = { 0 };
	size_t len;
	char *text;

	train_fit_default(fit);
	if (!path)
		return 0;
	text = predict_file(r, path, MOST_CONSTANTS, &len, NULL);
	if (!text)
		return EXIT_USAGE;
	if (train_fit_read(fit, text, &e) < 0)
		return complain_text(EXIT_USAGE, "%s: %s", path, e.text);
	fit->origin = path;
	return 0;
}

#define MOST_CURVE (4u << 20)

/* A factor for what stands behind a number; 0: not one of these. */
struct unit {
	const char *name;
	double factor;
};

static const struct unit byte_units[] = {
	{ "", 1 },	 { "b", 1 },	{ "k", 1e3 },	       { "kb", 1e3 },
	{ "kib", 1024 }, { "m", 1e6 },	{ "mb", 1e6 },	       { "mib", 1048576 },
	{ "g", 1e9 },	 { "gb", 1e9 }, { "gib", 1073741824 }, { "t", 1e12 },
	{ NULL, 0 },
};

/* Bits and bytes differ by one letter's case. */
static const struct unit rate_units[] = {
	{ "", 1 },	   { "GB/s", 1 },	{ "GBps", 1 },	   { "MB/s", 1e-3 },
	{ "Gb/s", 0.125 }, { "Gbit/s", 0.125 }, { "Gbps", 0.125 }, { NULL, 0 },
};

static int model_ask_measure(struct run *r, enum option_id id, const struct unit *units,
			     bool any_case, double low, double high, const char *like, double *out)
{
	const char *s = r->value[id], *end = s;
	double v = 0;

	if (!s)
		return 0;
	if (parse_decimal(s, &v, &end))
		units = NULL;
	end += strspn(end, " ");
	for (; units && units->name; units++)
		if ((any_case ? strcasecmp : strcmp)(units->name, end) == 0 &&
		    v * units->factor >= low && v * units->factor <= high) {
			*out = v * units->factor;
			return 0;
		}
	return complain_text(EXIT_USAGE, "--%s takes %s, not \"%s\"", option_rows[id].name, like,
			     s);
}

static int with_units(struct run *r, struct train_options *w)
{
	const char *loader = r->value[OPT_LOADER];
	int code =
		model_ask_measure(r, OPT_BUCKET, byte_units, true, 1e4, 1e12,
				  "bytes from 10 kB to 1 TB like 25MiB or 100M", &w->bucket_bytes);

	if (!code)
		code = model_ask_measure(r, OPT_NETWORK, rate_units, false, 1e-3, 1e4,
					 "GB/s from 0.001 to 10000 like 50, 50GB/s or 400Gb/s",
					 &w->network_gbs);
	if (code || !loader)
		return code;
	if (loader[strspn(loader, "0123456789.")] == '\0')
		return complain_text(EXIT_USAGE, "--loader needs a unit: %sms or %ss, not \"%s\"",
				     loader, loader, loader);
	if (parse_seconds(loader, &w->loader_s))
		return complain_text(EXIT_USAGE, "--loader takes a time like 5ms, not \"%s\"",
				     loader);
	return 0;
}

int train_ask_without_effect(struct run *r, const struct train_config *q)
{
	const struct {
		enum option_id id;
		bool used;
		const char *needs;
	} rows[] = {
		{ OPT_SHARD, q->way == TRAIN_HSDP, "--parallel hsdp" },
		{ OPT_INTERLEAVE, q->pp > 1, "pipeline stages (--pp)" },
		{ OPT_TP_OVERLAP, q->tp > 1, "tensor parallel ranks (--tp)" },
		{ OPT_STRONG, r->value[OPT_SCALE] != NULL, "--scale" },
		{ OPT_WORKERS, r->value[OPT_LOADER] != NULL, "--loader" },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		if (r->value[rows[i].id] && !rows[i].used)
			return complain_text(EXIT_USAGE, "--%s changes nothing without %s",
					     option_rows[rows[i].id].name, rows[i].needs);
	return 0;
}

static int model_ask_numbers(struct run *r, struct train_options *w)
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
		{ OPT_TRAINED, 1, 1e14, &w->trained },
		{ OPT_PARAMS, 1e6, 1e14, &w->hint.total },
		{ OPT_ACTIVE, 1e6, 1e14, &w->hint.active },
	};
	int code = 0;

	for (size_t i = 0; i < sizeof(wholes) / sizeof(wholes[0]) && !code; i++)
		code = predict_whole(r, wholes[i].id, wholes[i].high, wholes[i].to);
	for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]) && !code; i++)
		code = predict_number(r, parts[i].id, parts[i].low, parts[i].high, parts[i].to);
	return code ? code : with_units(r, w);
}

int train_ask_words(struct run *r, struct train_options *w, struct model_file *file)
{
	struct err e = { 0 };
	int code;

	train_words_none(w);
	w->known = run_knowledge(r);
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
	if ((code = model_ask_numbers(r, w)) != 0)
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
static int named_curve(struct run *r, struct train_config *q)
{
	const char *text = r->value[OPT_ALL_REDUCE];
	bool between = q->place.nodes > 1;
	struct err e = { 0 };
	size_t len;
	char *table;
	double v;

	if (parse_real(text, &v) == 0) {
		if (!(v > 0 && v < 1e5))
			return complain_text(EXIT_USAGE,
					     "--all-reduce takes GB/s of bus bandwidth above 0 and "
					     "below 100000, not \"%s\"",
					     text);
		if (q->place.gpus > 1)
			train_curve_flat(&r->arena, q, v, between);
		return 0;
	}
	if (access(text, F_OK))
		return complain_text(EXIT_USAGE,
				     "--all-reduce takes GB/s or a file, and \"%s\" is neither",
				     text);
	table = predict_file(r, text, MOST_CURVE, &len, NULL);
	if (!table)
		return EXIT_USAGE;
	if (q->place.gpus > 1 && train_curve_read(&r->arena, text, table, between, q, &e) < 0)
		return complain(EXIT_USAGE, &e);
	return 0;
}

/* A large BF16 multiplication against what is usual for this hardware moves what is predicted. */
static void stored_gemm(struct run *r, const struct bench_facts *facts, struct train_config *q)
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
static void read_stored_benches(struct run *r, struct train_config *q)
{
	struct bench_facts facts;
	struct host *h = run_host(r);

	if (!h)
		return;
	bench_facts_of(r, h, NULL, q->place.gpu->name, &facts);
	stored_gemm(r, &facts, q);
	for (size_t i = 0; i < facts.n && !r->value[OPT_ALL_REDUCE]; i++) {
		const struct record_case *c = facts.cases[i];

		if (strcmp(c->bench, "collectives") == 0 && !str_ends(c->name, ":in-place"))
			train_curve_add(&r->arena, q, c->name, c->setup, c->series[0].s.median,
					facts.ids[i]);
	}
	train_curves_sort(q);
	host_close(h);
}

int train_ask_curves(struct run *r, struct train_config *q)
{
	if (!r->value[OPT_NO_CALIBRATION])
		read_stored_benches(r, q);
	return r->value[OPT_ALL_REDUCE] ? named_curve(r, q) : 0;
}

int train_ask(struct run *r, struct target_hw *place, struct train_config *q)
{
	struct model_file *file = ARENA_NEW(&r->arena, struct model_file);
	struct train_options w;
	struct infer_options machine = { 0 };
	struct err e = { 0 };
	int code = train_ask_words(r, &w, file);

	if (code)
		return code;
	machine.on = w.on;
	if ((code = predict_place(r, &machine, place, NULL, NULL)) != 0)
		return code;
	w.place = machine.place;
	if (train_config_make(&r->arena, &w, q, &e) < 0)
		return complain(EXIT_USAGE, &e);
	if ((code = train_ask_without_effect(r, q)) != 0)
		return code;
	return train_ask_curves(r, q);
}
