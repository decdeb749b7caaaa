/* SPDX-License-Identifier: Apache-2.0 */
/* gputune predict training: what a step of training will take, and what would make it faster. */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <time.h>
#include <unistd.h>

#include "front/verbs/predict_train.h"
#include "front/verbs/page.h"
#include "front/verbs/predict.h"
#include "models/training/rows.h"
#include "models/training/page_train.h"
#include "base/text.h"
#include "front/verbs/bench.h"
#include "front/verbs/calibrate.h"
#include "models/training/curve.h"

#define MOST_CONSTANTS (1u << 20)
#define MOST_TABLE (64u << 20)

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

static int print(struct run *r, json_t *j, const struct doc *d, int code)
{
	int failed = 0;

	if (j)
		run_print_json(r, j);
	else
		failed = run_print_doc(r, d, "gputune predict training");
	return failed ? failed : code;
}

static int table(struct run *r, const struct train_fit *fit)
{
	struct err e = { 0 };
	struct train_rows rows;
	size_t len;
	char *text = predict_file(r, r->value[OPT_ROWS], MOST_TABLE, &len, NULL);
	bool json = run_wants_json(r);

	if (!text)
		return EXIT_USAGE;
	if (train_rows_predict(&r->arena, run_knowledge(r), text, fit, &rows, &e) < 0)
		return complain_text(EXIT_USAGE, "%s: %s", r->value[OPT_ROWS], e.text);
	return print(r, json ? train_rows_json(&rows, (long long)time(NULL), EXIT_CLEAN) : NULL,
		     json ? NULL : page_train_rows(&r->arena, &rows), EXIT_CLEAN);
}

/* "1,2,4,8": ascending order is the user's. */
static int scale_list(struct run *r, struct train_page *p)
{
	const char *s = r->value[OPT_SCALE];
	int gpus[TRAIN_PAGE_POINTS];

	while (s && *s) {
		char *end;
		long v = strtol(s, &end, 10);

		if (end == s || v < 1 || v > 100000 || (*end && *end != ',') || (*end && !end[1]) ||
		    p->n_points >= TRAIN_PAGE_POINTS)
			return complain_text(EXIT_USAGE,
					     "--scale takes up to %d counts of GPUs from 1 to "
					     "100000 like 1,2,4,8, not \"%s\"",
					     TRAIN_PAGE_POINTS, r->value[OPT_SCALE]);
		gpus[p->n_points++] = (int)v;
		s = *end ? end + 1 : end;
	}
	if (r->value[OPT_SCALE] && !p->n_points)
		return complain_text(EXIT_USAGE, "--scale takes counts of GPUs like 1,2,4,8");
	p->strong = r->value[OPT_STRONG] != NULL;
	train_scale(&r->arena, &p->answer.q, gpus, p->n_points, p->strong, p->points);
	return 0;
}

static void largest(struct run *r, struct train_page *p)
{
	p->asked_largest = true;
	p->largest_held = train_largest_micro_batch(&r->arena, &p->answer.q, true);
	p->largest = train_largest_micro_batch(&r->arena, &p->answer.q, false);
}

static int tell(struct run *r, struct train_page *p)
{
	int code = p->answer.memory.fits ? EXIT_CLEAN : EXIT_FINDINGS;
	bool json = run_wants_json(r);

	if (r->value[OPT_QUIET])
		return code;
	return print(r, json ? train_json(p, (long long)time(NULL), code) : NULL,
		     json ? NULL : page_train(&r->arena, p), code);
}

/* Options of the other kind of prediction would change nothing: they are refused. */
int predict_foreign_option(struct run *r, bool training)
{
	static const enum option_id serving[] = { OPT_WEIGHTS, OPT_ENGINE,    OPT_CACHE, OPT_PROMPT,
						  OPT_ANSWER,  OPT_BATCH,     OPT_DEPTH, OPT_CACHED,
						  OPT_ROUNDS,  OPT_CHUNK,     OPT_DRAFT, OPT_ACCEPT,
						  OPT_EAGER,   OPT_DRAFT_COST };
	size_t n = sizeof(serving) / sizeof(serving[0]);

	for (size_t i = 0; training && i < n; i++)
		if (r->value[serving[i]])
			return complain_text(EXIT_USAGE, "--%s is an option of predict inference",
					     option_rows[serving[i]].name);
	for (int id = OPT_PARALLEL; !training && id <= OPT_STRONG; id++)
		if (r->value[id])
			return complain_text(EXIT_USAGE, "--%s is an option of predict training",
					     option_rows[id].name);
	return 0;
}

int predict_training(struct run *r)
{
	struct train_page *p = ARENA_NEW(&r->arena, struct train_page);
	struct train_question *q = ARENA_NEW(&r->arena, struct train_question);
	struct train_fit *fit = ARENA_NEW(&r->arena, struct train_fit);
	struct place place;
	double claim = 0;
	int code = predict_foreign_option(r, true);

	if (code || (code = train_ask_constants(r, fit)) != 0)
		return code;
	if (r->value[OPT_ROWS])
		return table(r, fit);
	if ((code = predict_number(r, OPT_CLAIM, 1e-3, 1e12, &claim)) != 0 ||
	    (code = train_ask(r, &place, q)) != 0)
		return code;
	q->fit = fit;
	p->origin = fit->origin;
	p->explain = r->value[OPT_EXPLAIN] != NULL;
	train_predict(&r->arena, q, &p->answer);
	if ((code = scale_list(r, p)) != 0)
		return code;
	if (r->value[OPT_LARGEST])
		largest(r, p);
	if (r->value[OPT_WHAT_IF]) {
		p->what_if = ARENA_NEW(&r->arena, struct train_what_if);
		train_what_if(&r->arena, q, p->what_if);
	}
	if (claim > 0) {
		p->judgement = ARENA_NEW(&r->arena, struct train_judgement);
		train_judge(&r->arena, q, claim, p->judgement);
	}
	return tell(r, p);
}

/* The options of predict training: what was asked, and which measured curves belong to it. */

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

static int measure(struct run *r, enum option_id id, const struct unit *units, bool any_case,
		   double low, double high, const char *like, double *out)
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

static int with_units(struct run *r, struct train_words *w)
{
	const char *loader = r->value[OPT_LOADER];
	int code = measure(r, OPT_BUCKET, byte_units, true, 1e4, 1e12,
			   "bytes from 10 kB to 1 TB like 25MiB or 100M", &w->bucket_bytes);

	if (!code)
		code = measure(r, OPT_NETWORK, rate_units, false, 1e-3, 1e4,
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

int train_ask_without_effect(struct run *r, const struct train_question *q)
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

int train_ask_words(struct run *r, struct train_words *w, struct model_file *file)
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
	char *table;
	double v;

	if (parse_real(text, &v) == 0) {
		if (!(v > 0 && v < 1e5))
			return complain_text(
				EXIT_USAGE,
				"--all-reduce takes GB/s of bus bandwidth above 0 and below "
				"100000, not \"%s\"",
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
	return r->value[OPT_ALL_REDUCE] ? told_curve(r, q) : 0;
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
	if ((code = train_ask_without_effect(r, q)) != 0)
		return code;
	return train_ask_curves(r, q);
}
