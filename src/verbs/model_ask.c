/* SPDX-License-Identifier: Apache-2.0 */
/* What predictions are asked: rows of options, the files of a model, the machine, and measured
 * curves. */
#include "verbs/model_ask.h"

#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <string.h>
#include <unistd.h>

#include "base/text.h"
#include "models/inference/predict.h"
#include "models/training/curve.h"
#include "models/training/fit.h"
#include "models/training/rows.h"
#include "verbs/calibrations.h"
#include "verbs/model_files.h"

/* --- the model and the machine ---------------------------------------------------------------- */

const char *model_proposal(size_t i)
{
	return i < n_model_rows ? model_rows[i].a.name : NULL;
}

const char *model_meant(const char *word)
{
	static const struct model_hint none;
	ARENA_AUTO a = { 0 };
	struct arch arch;
	const char *taken;
	struct err e;

	return model_find(&a, NULL, word, &none, &arch, &taken, &e) == 0 ? word : NULL;
}

/* Formats that differ between models with experts and others stand one after the other. */
const char *format_proposal(size_t i)
{
	for (size_t k = 0; k < n_format_rows; k++) {
		const char *name = format_rows[k].f.name;

		if (!strchr(name, ' ') &&
		    (k == 0 || strcmp(name, format_rows[k - 1].f.name) != 0) && i-- == 0)
			return name;
	}
	return NULL;
}

/* The first word of each. */
const char *gpu_proposal(size_t i)
{
	static _Thread_local char names[256][32];
	size_t n;

	if (i >= n_gpu_kinds || i >= sizeof(names) / sizeof(names[0]))
		return NULL;
	n = strcspn(gpu_kinds[i].keys, " ");
	n = n < sizeof(names[0]) ? n : sizeof(names[0]) - 1;
	memcpy(names[i], gpu_kinds[i].keys, n);
	return names[i];
}

static const struct ask_row target_ask_rows[] = {
	{ "on", "machines by name: \"2x dgx-spark\", \"h100-sxm x8\", h200 and others",
	  ASK_TEXT(target_ask, on), .arg = "MACHINE", .proposal = gpu_proposal,
	  .words = "gpu gpus device machine hardware hw node nodes system gpu-type num-gpus" },
};
const struct ask_shape target_ask_shape = ASK_SHAPE(target_ask, "Machine", target_ask_rows);

int door_place(struct door *d, const struct target_ask *named, const struct machine_ask *from,
	       const struct target_hw **place, place_more *more, void *ctx)
{
	struct target_hw *p = ARENA_NEW(d->arena, struct target_hw);
	struct err e = { 0 };
	struct machine *m;
	HOST_AUTO *h = NULL;
	int code;

	*place = NULL;
	if (named->on && from->capture)
		return door_refuse(d, EXIT_USAGE, "--on and --host both set the machine: give one");
	if (named->on)
		return 0;
	h = door_host(d, from);
	if (!h)
		return -EXIT_USAGE;
	m = door_machine(d, h, &(struct door_look){ 0 });
	code = place_of(d->arena, door_knowledge(d, from->capture), m, p, &e);
	code = code < 0 ? door_fail(d, EXIT_BLIND, &e) : 0;
	if (!code) {
		*place = p;
		if (more)
			more(d, h, m, ctx);
	}
	return code;
}

/* --- serving ---------------------------------------------------------------------------------- */

/* clang-format off */
#define TP_WORDS "tensor-parallel tensor-parallel-size tensor-parallelism shards"
#define PP_WORDS "pipeline pipeline-parallel pipeline-parallel-size stages"
#define MODEL_ROWS(type)                                                                                   \
	MODEL_ROW(type, model),                                                                            \
	{ "params", "total parameters, for a model that is not in the list: 8e9, 8B",                            \
	  ASK_REAL(type, hint.total, 1e6, 1e14) },                                                         \
	{ "active", "active parameters per token", ASK_REAL(type, hint.active, 1e6, 1e14) }

static const struct ask_row infer_model_rows[] = { MODEL_ROWS(infer_options) };
const struct ask_shape infer_model_shape = ASK_SHAPE(infer_options, "Model", infer_model_rows);

static const struct ask_row infer_format_rows[] = {
	{ "weights", "bf16, fp8, nvfp4, mxfp4, int4, awq, gptq, int8, q4_k_m, q8_0 and others",
	  ASK_TEXT(infer_options, weights), .arg = "FORMAT", .proposal = format_proposal,
	  .words = "quant quantization quantize dtype precision format bits weight-format load-format" },
	{ "kv", "KV cache format: bf16, fp8, q8_0 and others",
	  ASK_TEXT(infer_options, cache), .arg = "FORMAT", .words = "kv-cache kv-cache-dtype kv-dtype cache" },
	{ "tp", "tensor parallelism (default: all GPUs of a stage)", ASK_COUNT(infer_options, tp, 1, 4096),
	  .words = TP_WORDS },
	{ "pp", "pipeline stages", ASK_COUNT(infer_options, pp, 1, 4096), .words = PP_WORDS },
};
const struct ask_shape infer_format_shape = ASK_SHAPE(infer_options, "Model", infer_format_rows);

static const struct ask_row infer_load_rows[] = {
	{ "prompt", "prompt tokens", ASK_REAL(infer_options, prompt, 1, QUESTION_TOKENS),
	  .words = "ctx context context-length max-model-len seqlen sequence input input-len isl in prompt-len" },
	{ "output", "output tokens", ASK_REAL(infer_options, output, 1, QUESTION_TOKENS),
	  .words = "max-tokens new-tokens max-new-tokens osl out generate tokens" },
	{ "depth", "tokens in the cache before the prompt",
	  ASK_REAL(infer_options, depth, 0, QUESTION_TOKENS), .fallback = "0" },
	{ "batch", "concurrent requests", ASK_COUNT(infer_options, batch, 1, QUESTION_REQUESTS),
	  .words = "users concurrency concurrent requests clients num-users max-concurrency batch-size bs "
		   "streams max-num-seqs" },
};
const struct ask_shape infer_load_shape = ASK_SHAPE(infer_options, "Load", infer_load_rows);

static int engine_check(const char *text, struct err *e)
{
	if (engine_parse(text) != ENGINES)
		return 0;
	return err_set(e, -EINVAL, "expected vllm, sglang, tensorrt-llm, llama.cpp or ollama, got \"%.40s\"", text);
}

static const struct ask_row infer_engine_rows[] = {
	{ "engine", "vllm, sglang, tensorrt-llm, llama.cpp or ollama; vllm@0.28 names a release",
	  ASK_TEXT(infer_options, engine),
	  .arg = "ENGINE", .names = engine_names, .n_names = ENGINES, .check = engine_check },
	{ "rounds", "requests that each user sends one after another; 1: all users start at once",
	  ASK_REAL(infer_options, rounds, 1, 1e6) },
	{ "eager", "without CUDA graphs", ASK_FLAG(infer_options, eager) },
};
const struct ask_shape infer_engine_shape = ASK_SHAPE(infer_options, "Load", infer_engine_rows);

static const struct ask_row infer_guess_rows[] = {
	{ "cached", "prefix-cache hit ratio, 0 to 1",
	  ASK_REAL(infer_options, cached, 0, 1), .arg = "PART" },
	{ "accept", "acceptance rate of speculative tokens, 0 to 1 (default: 0.7)",
	  ASK_REAL(infer_options, accept, 0, 1), .arg = "PART" },
	{ "draft-cost", "time of one draft token as a share of a step", ASK_REAL(infer_options, draft_cost, 0, 10),
	  .arg = "PART", .fallback = "0.05" },
};
const struct ask_shape infer_guess_shape = ASK_SHAPE(infer_options, "Load", infer_guess_rows);
/* clang-format on */

int door_infer_options(struct door *d, struct infer_options *w, bool captured)
{
	struct model_file *file = ARENA_NEW(d->arena, struct model_file);
	const char *taken;
	struct err e = { 0 };
	int code;

	w->known = door_knowledge(d, captured);
	if (isnan(w->cached))
		w->cached = 0;
	if (isnan(w->accept))
		w->accept = 0.7;
	if (!w->model)
		return 0;
	code = door_model_file(d, w->model, file);
	if (code > 0) {
		w->file = file;
		w->weight_bytes = file->bytes;
	} else if (code == 0 && model_find(d->arena, w->known, w->model, &w->hint, &file->arch,
					   &taken, &e) < 0) {
		/* Before the machine is looked at. */
		return door_fail(d, EXIT_USAGE, &e);
	}
	return code < 0 ? code : 0;
}

/* --- training --------------------------------------------------------------------------------- */

/* clang-format off */
static const struct ask_unit byte_units[] = {
	{ "B", 1 }, { "b", 1 }, { "kB", 1e3 }, { "KB", 1e3 }, { "kb", 1e3 }, { "KiB", 1024 }, { "kib", 1024 },
	{ "MB", 1e6 }, { "mb", 1e6 }, { "MiB", 1048576 }, { "mib", 1048576 },
	{ "GB", 1e9 }, { "gb", 1e9 }, { "GiB", 1073741824 }, { "gib", 1073741824 }, { NULL, 0 },
};

/* Bits and bytes differ by one letter's case. */
static const struct ask_unit rate_units[] = {
	{ "GB/s", 1 }, { "GBps", 1 }, { "MB/s", 1e-3 }, { "Gb/s", 0.125 }, { "Gbit/s", 0.125 }, { "Gbps", 0.125 },
	{ NULL, 0 },
};
/* clang-format on */

int time_unit_check(const char *text, struct err *e)
{
	if (text[strspn(text, "0123456789.")])
		return 0;
	return err_set(e, -EINVAL, "expected a unit: %.20sms or %.20ss, not \"%.20s\"", text, text,
		       text);
}

/* clang-format off */
static const struct ask_row train_model_rows[] = { MODEL_ROWS(train_options) };
const struct ask_shape train_model_shape = ASK_SHAPE(train_options, "Model", train_model_rows);

#define TRAIN_NAMES(list) .names = list, .n_names = sizeof(list) / sizeof((list)[0])

static const struct ask_row train_ask_rows[] = {
	{ "parallel", "ddp, zero-1, zero-2, zero-3, fsdp or hsdp (default: the least sharding that fits)",
	  ASK_TEXT(train_ask, w.way), .arg = "WAY", TRAIN_NAMES(train_way_names) },
	{ "global-batch", "samples per step, over all GPUs", ASK_COUNT(train_ask, w.global_batch, 1, 1e8) },
	{ "micro-batch", "samples per forward pass on one GPU (default: the most that fit)",
	  ASK_COUNT(train_ask, w.micro_batch, 1, 1e6), .words = "batch batch-size bs mbs" },
	{ "accumulation", "micro-batches per step", ASK_COUNT(train_ask, w.accumulation, 1, 1e6) },
	{ "sequence", "tokens per sample (default: 2048)", ASK_COUNT(train_ask, w.sequence, 1, 1e7),
	  .words = "ctx context seq seqlen seq-len sequence-length context-length max-length" },
	{ "precision", "fp32, tf32, bf16 (default), fp16 or fp8",
	  ASK_TEXT(train_ask, w.precision), .arg = "FORMAT", TRAIN_NAMES(train_precision_names),
	  .words = "dtype quant quantization weights" },
	{ "checkpointing", "recomputed activations: none, selective or full",
	  ASK_TEXT(train_ask, w.recompute), .arg = "KIND", TRAIN_NAMES(train_recompute_names) },
	{ "optimizer", "adamw, adamw-fused, adamw-bf16, adamw-8bit, adafactor, lion, sgd or muon",
	  ASK_TEXT(train_ask, w.optimizer), .arg = "NAME", TRAIN_NAMES(train_optimizer_names) },
	{ "attention", "eager, flash1, flash (default) or flash3",
	  ASK_TEXT(train_ask, w.attention), .arg = "KERNEL", TRAIN_NAMES(train_attention_names) },
	{ "compile", "with torch.compile or other fused kernels", ASK_FLAG(train_ask, compile) },
	{ "no-overlap", "communication does not overlap computation", ASK_FLAG(train_ask, no_overlap) },
	{ "tp", "tensor parallelism (default: 1)", ASK_COUNT(train_ask, w.tp, 1, 4096), .words = TP_WORDS },
	{ "pp", "pipeline stages", ASK_COUNT(train_ask, w.pp, 1, 4096), .words = PP_WORDS },
	{ "shard", "ranks that share one replica, for hsdp (default: those of one machine)",
	  ASK_COUNT(train_ask, w.shard, 1, 100000) },
	{ "bucket", "gradient bucket size (default: 25 MiB for ddp, 500 MB for zero)",
	  ASK_REAL(train_ask, w.bucket_bytes, 1e4, 1e12), .arg = "BYTES", .unit = "bytes",
	  .units = byte_units, .example = "25MiB" },
	{ "trained", "trainable parameters, for adapters (default: all)",
	  ASK_REAL(train_ask, w.trained, 1, 1e14) },
	{ "lora", "LoRA adapters of rank 16 on all matrices (for others, set their parameters with --trained)",
	  ASK_FLAG(train_ask, w.lora) },
	{ "frozen", "with adapters, format of the frozen weights: bf16 (default), int8 or nf4 (QLoRA)",
	  ASK_TEXT(train_ask, w.frozen), .arg = "FORMAT", TRAIN_NAMES(train_frozen_names) },
	{ "framework", "pytorch, hf-trainer (also PEFT, TRL), unsloth, automodel, megatron, torchtitan or deepspeed",
	  ASK_TEXT(train_ask, w.framework), .arg = "NAME", TRAIN_NAMES(train_framework_names) },
	{ "loader", "measured time of one loader worker per sample",
	  ASK_TIME(train_ask, w.loader_s), .check = time_unit_check },
	{ "workers", "loader workers per rank", ASK_COUNT(train_ask, w.workers, 1, 10000) },
	{ "network", "network bandwidth between machines in GB/s, one direction, per GPU (50 for 400 Gb/s)",
	  ASK_REAL(train_ask, w.network_gbs, 1e-3, 1e4), .arg = "GB/s", .unit = "GB/s",
	  .units = rate_units, .example = "400Gb/s" },
	{ "all-reduce", "measured bus bandwidth between these GPUs in GB/s, or a table by size (nccl-tests)",
	  ASK_TEXT(train_ask, all_reduce), .arg = "GB/s|FILE", .files = true },
};
const struct ask_shape train_ask_shape = ASK_SHAPE(train_ask, "Training", train_ask_rows);

static const struct ask_row train_parts_rows[] = {
	{ "tp-overlap", "overlap tensor-parallel communication with matrix multiplications", ASK_FLAG(train_ask,
	  tp_overlap) },
	{ "cp", "ranks that share one sequence (context parallelism)", ASK_COUNT(train_ask, w.cp, 1, 4096) },
	{ "ep", "ranks that share the experts (expert parallelism)", ASK_COUNT(train_ask, w.ep, 1, 4096) },
	{ "interleave", "model chunks per pipeline stage (interleaving)", ASK_COUNT(train_ask, w.interleave, 1, 1000) },
};
const struct ask_shape train_parts_shape = ASK_SHAPE(train_ask, "Training", train_parts_rows);
/* clang-format on */

int door_train_options(struct door *d, const struct train_ask *ask, bool captured,
		       struct train_options *w)
{
	struct model_file *file = ARENA_NEW(d->arena, struct model_file);
	struct err e = { 0 };
	int code;

	*w = ask->w;
	train_switches_none(w);
	w->known = door_knowledge(d, captured);
	w->compile = ask->compile ? 1 : -1;
	w->overlap = ask->no_overlap ? 0 : -1;
	w->tp_overlap = ask->tp_overlap ? 1 : -1;
	if (!w->model)
		return door_refuse(d, EXIT_USAGE,
				   "predict training requires --model (\"gputune list models\")");
	if (isdigit((unsigned char)w->model[0]) && strchr(w->model, ':')) {
		if (train_shape_parse(w->model, &file->arch, &e) < 0)
			return door_fail(d, EXIT_USAGE, &e);
		w->file = file;
		return 0;
	}
	code = door_model_file(d, w->model, file);
	if (code > 0)
		w->file = file;
	return code < 0 ? code : 0;
}

int door_train_effect(struct door *d, const struct train_ask *ask, const struct train_config *q)
{
	const struct {
		const char *name;
		bool given, used;
		const char *needs;
	} rows[] = {
		{ "shard", ask->w.shard > 0, q->way == TRAIN_HSDP, "--parallel hsdp" },
		{ "interleave", ask->w.interleave > 0, q->pp > 1, "pipeline stages (--pp)" },
		{ "tp-overlap", ask->tp_overlap, q->tp > 1, "tensor parallel ranks (--tp)" },
		{ "workers", ask->w.workers > 0, ask->w.loader_s > 0, "--loader" },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		if (rows[i].given && !rows[i].used)
			return door_refuse(d, EXIT_USAGE, "--%s has no effect without %s",
					   rows[i].name, rows[i].needs);
	return 0;
}

#define MOST_CURVE (4u << 20)

/* "442": the same at every size that fills the links. */
static int named_curve(struct door *d, const char *text, struct train_config *q)
{
	bool between = q->place.nodes > 1;
	struct err e = { 0 };
	size_t len;
	char *table;
	double v;

	if (parse_real(text, &v) == 0) {
		if (!(v > 0 && v < 1e5))
			return door_refuse(d, EXIT_USAGE,
					   "--all-reduce takes GB/s of bus bandwidth above 0 and "
					   "below 100000, got \"%s\"",
					   text);
		if (q->place.gpus > 1)
			train_curve_flat(d->arena, q, v, between);
		return 0;
	}
	if (access(text, F_OK))
		return door_refuse(d, EXIT_USAGE,
				   "--all-reduce takes GB/s or a file; \"%s\" is neither", text);
	table = door_file(d, text, MOST_CURVE, &len, NULL);
	if (!table)
		return -EXIT_USAGE;
	if (q->place.gpus > 1 && train_curve_read(d->arena, text, table, between, q, &e) < 0)
		return door_fail(d, EXIT_USAGE, &e);
	return 0;
}

/* A large BF16 multiplication against what is usual for this hardware moves what is predicted. */
static void stored_gemm(struct arena *a, const struct bench_facts *facts, struct train_config *q)
{
	const char *id;
	const struct record_case *c = bench_fact(facts, "gemm", "bf16:8192", &id);
	const struct record_series *s = c ? &c->series[0] : NULL;

	if (!s || !s->band.known || s->band.low + s->band.high <= 0)
		return;
	q->gemm_flops = train_gemm_usual(q) * s->s.median / ((s->band.low + s->band.high) / 2);
	q->gemm_from = arena_printf(a,
				    "gemm bf16:8192: %.4g TFLOP/s measured (%s), usual range %.4g "
				    "to %.4g: matrix multiplications are scaled accordingly",
				    s->s.median, id, s->band.low, s->band.high);
	if (q->n_notes < TRAIN_NOTES)
		q->notes[q->n_notes++] = q->gemm_from;
}

/* Results of our benches of such GPUs, the newest of each size and kind. */
static void read_stored_benches(struct door *d, const struct machine_ask *from,
				const struct state_ask *state, bool curves, struct train_config *q)
{
	struct bench_facts facts;
	HOST_AUTO *h = door_host(d, from);

	if (!h)
		return;
	bench_facts_of(d, h, state, NULL, q->place.gpu->name, &facts);
	stored_gemm(d->arena, &facts, q);
	for (size_t i = 0; i < facts.n && curves; i++) {
		const struct record_case *c = facts.cases[i];

		if (strcmp(c->bench, "collectives") == 0 && !str_ends(c->name, ":in-place"))
			train_curve_add(d->arena, q, c->name, c->setup, c->series[0].s.median,
					facts.ids[i]);
	}
	train_curves_sort(q);
}

int door_train_curves(struct door *d, const struct train_ask *ask, const struct machine_ask *from,
		      const struct state_ask *state, struct train_config *q)
{
	if (state)
		read_stored_benches(d, from, state, !ask->all_reduce, q);
	return ask->all_reduce ? named_curve(d, ask->all_reduce, q) : 0;
}

#define MOST_CONSTANTS (1u << 20)

int door_train_fit(struct door *d, const char *calibration, struct train_fit *fit)
{
	struct err e = { 0 };
	size_t len;
	char *text;

	train_fit_default(fit);
	if (!calibration)
		return 0;
	text = door_file(d, calibration, MOST_CONSTANTS, &len, NULL);
	if (!text)
		return -EXIT_USAGE;
	if (train_fit_read(fit, text, &e) < 0)
		return door_refuse(d, EXIT_USAGE, "%s: %s", calibration, e.text);
	fit->origin = calibration;
	return 0;
}
