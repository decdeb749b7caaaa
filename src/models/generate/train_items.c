/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Values of ds_config.json and of the Trainer's arguments, each with its reason. Sizes of buckets
 * follow from the model: DeepSpeed's usual 5e8 elements are one bucket for a small model, which
 * then overlaps with nothing.
 */
#include <math.h>
#include <string.h>

#include "models/generate/train_files.h"

static void add(struct arena *a, struct train_items *l, const char *path, const char *value,
		const char *reason)
{
	train_item_add(a, l,
		       &(struct train_item){ .path = path, .value = value, .reason = reason });
}

static const char *number(struct arena *a, double v)
{
	return arena_printf(a, "%.0f", v);
}

static const char *flag(bool v)
{
	return v ? "true" : "false";
}

static void batches(struct arena *a, const struct train_setup *s, struct train_items *out)
{
	const struct train_question *q = &s->after->q, *was = &s->before->q;
	const char *memory =
		arena_printf(a, "%.1f GB of %.1f GB on the fullest GPU (predicted, %.1f to %.1f)",
			     s->after->memory.total / 1e9, s->after->memory.limit / 1e9,
			     s->after->memory.all.low / 1e9, s->after->memory.all.high / 1e9);

	add(a, out, "train_batch_size", number(a, q->global_batch),
	    arena_printf(a,
			 "%d x %d x %d data-parallel processes: the global batch stays as it was",
			 q->micro_batch, q->accumulation, q->dp));
	add(a, out, "train_micro_batch_size_per_gpu", number(a, q->micro_batch),
	    q->micro_batch != was->micro_batch
		    ? arena_printf(a, "%d instead of %d: %s", q->micro_batch, was->micro_batch,
				   memory)
		    : memory);
	add(a, out, "gradient_accumulation_steps", number(a, q->accumulation),
	    "what holds the global batch with that micro-batch");
}

static void precision(struct arena *a, const struct train_setup *s, struct train_items *out)
{
	const struct train_question *q = &s->after->q;

	if (q->precision == TRAIN_FP16) {
		add(a, out, "fp16.enabled", "true", "as it was told; it needs loss scaling");
		add(a, out, "fp16.loss_scale", "0", "dynamic: one overflow costs one step");
		add(a, out, "fp16.initial_scale_power", "16", "the usual beginning, 65536");
	} else if (q->precision == TRAIN_BF16 || q->precision == TRAIN_FP8) {
		add(a, out, "bf16.enabled", "true",
		    arena_printf(a, "tensor cores of %s take it; its range needs no loss scaling",
				 q->place.gpu ? q->place.gpu->name : "the GPU"));
	}
}

static void zero_three(struct arena *a, const struct train_setup *s, struct train_items *out)
{
	double hidden = s->after->q.arch.hidden;

	add(a, out, "zero_optimization.stage3_prefetch_bucket_size",
	    number(a, fmax(floor(0.9 * hidden * hidden), 1e6)),
	    "elements fetched ahead: nearly one matrix of this model");
	add(a, out, "zero_optimization.stage3_param_persistence_threshold", number(a, 10 * hidden),
	    "norms and biases stay on every GPU: gathering them costs latency and saves nothing");
	add(a, out, "zero_optimization.stage3_gather_16bit_weights_on_model_save", "true",
	    "a saved model that others can load; off, only shards are saved");
}

static void offloaded(struct arena *a, const struct train_setup *s, struct train_items *out)
{
	const struct train_offload *o = &s->offload;

	if (!o->optimizer)
		return;
	train_item_add(a, out,
		       &(struct train_item){ "zero_optimization.offload_optimizer.device", "cpu",
					     true, o->why });
	add(a, out, "zero_optimization.offload_optimizer.pin_memory", "true",
	    "copies from memory that is not pinned overlap with nothing");
	if (!o->weights)
		return;
	train_item_add(a, out,
		       &(struct train_item){ "zero_optimization.offload_param.device", "cpu", true,
					     "weights too: without, it still does not fit" });
	add(a, out, "zero_optimization.offload_param.pin_memory", "true", "as above");
}

static void zero(struct arena *a, const struct train_setup *s, struct train_items *out)
{
	int stage = s->after->q.way <= TRAIN_ZERO3 ? (int)s->after->q.way : 3;
	double n = train_bucket(s->after->parameters);

	add(a, out, "zero_optimization.stage", number(a, stage),
	    stage || s->after->q.dp <= 1
		    ? s->why
		    : arena_printf(a,
				   "%s; in stage 0 gradients are summed behind the backward pass, "
				   "which is in these figures",
				   s->why));
	if (!stage)
		return;
	add(a, out, "zero_optimization.overlap_comm", "true",
	    stage == 3 ? "gradients beside the backward pass, weights ahead of their use"
		       : "gradients are reduced beside the backward pass; off unless set in this "
			 "stage");
	add(a, out, "zero_optimization.contiguous_gradients", "true",
	    "gradients are copied together as they are made: memory does not fragment");
	add(a, out, "zero_optimization.reduce_bucket_size", number(a, n),
	    arena_printf(a,
			 "elements: %.0f MB in 16 bit, %.0f collectives for %.3g parameters, the "
			 "most of them beside computation",
			 n * 2 / 1e6, ceil(s->after->parameters / n), s->after->parameters));
	if (stage < 3)
		add(a, out, "zero_optimization.allgather_bucket_size", number(a, n),
		    "the same for the weights that come back after the update");
	else
		zero_three(a, s, out);
	offloaded(a, s, out);
}

void train_items_deepspeed(struct arena *a, const struct train_setup *s, struct train_items *out)
{
	batches(a, s, out);
	precision(a, s, out);
	if (s->clip)
		add(a, out, "gradient_clipping", "1.0", "the usual norm; nothing else was told");
	zero(a, s, out);
	if (s->after->q.recompute == TRAIN_FULL) {
		add(a, out, "activation_checkpointing.partition_activations", "false",
		    "there is no tensor parallelism to split them over; the recomputation itself "
		    "is switched on in the program (gradient_checkpointing)");
		add(a, out, "activation_checkpointing.cpu_checkpointing", "false",
		    "PCIe would be slower than computing them again");
	}
	add(a, out, "wall_clock_breakdown", "false",
	    "true for ten steps shows forward, backward, reduction and update; its timers wait "
	    "for the GPU");
	add(a, out, "comms_logger.enabled", "false",
	    "true for ten steps shows each collective's size and bandwidth; it waits for each");
	add(a, out, "steps_per_print", "10", "a line every ten steps");
}

static void loader(struct arena *a, const struct train_setup *s, struct train_items *out)
{
	add(a, out, "dataloader_num_workers", number(a, s->workers), s->workers_why);
	add(a, out, "dataloader_prefetch_factor", number(a, s->prefetch), s->prefetch_why);
	add(a, out, "dataloader_persistent_workers", "true",
	    "workers stay from one epoch to the next instead of starting again");
	add(a, out, "dataloader_pin_memory", "true",
	    "copies to the GPU run beside computation only from pinned memory");
}

/* Releases before 5 read offload here alone, not in the file (training_args.py,
 * _process_fsdp_args). */
static void fsdp_argument(struct arena *a, const struct train_setup *s, struct train_items *out)
{
	bool offload = s->offload.optimizer;

	train_item_add(
		a, out,
		&(struct train_item){
			"fsdp",
			arena_printf(a, "%s auto_wrap%s",
				     s->after->q.way == TRAIN_HSDP ? "hybrid_shard" : "full_shard",
				     offload ? " offload" : ""),
			true,
			offload ? "with fsdp_config: fsdp_config.json, whose cpu_offload earlier "
				  "releases than 5.17 may not read"
				: "with fsdp_config: fsdp_config.json; transformers 5 takes true "
				  "as well" });
}

void train_items_trainer(struct arena *a, const struct train_setup *s, struct train_items *out)
{
	const struct train_question *q = &s->after->q, *was = &s->before->q;
	bool full = q->recompute == TRAIN_FULL;

	add(a, out, "per_device_train_batch_size", number(a, q->micro_batch),
	    q->micro_batch == was->micro_batch && q->accumulation == was->accumulation
		    ? "the fastest that fits at this global batch (predicted)"
		    : arena_printf(a, "%d x %d instead of %d x %d at the same global batch of %d",
				   q->micro_batch, q->accumulation, was->micro_batch,
				   was->accumulation, q->global_batch));
	add(a, out, "gradient_accumulation_steps", number(a, q->accumulation),
	    "what holds the global batch with that micro-batch");
	if (q->precision == TRAIN_FP16)
		add(a, out, "fp16", "true", "as it was told");
	else if (q->precision == TRAIN_TF32)
		add(a, out, "tf32", "true",
		    "as it was told: PyTorch multiplies FP32 without tensor cores otherwise");
	else if (q->precision != TRAIN_FP32)
		add(a, out, "bf16", "true", "tensor cores, and no loss scaling");
	/* FSDP has its own, in its file. */
	if (s->target != TARGET_FSDP && q->way != TRAIN_FSDP && q->way != TRAIN_HSDP)
		add(a, out, "gradient_checkpointing", flag(full),
		    full ? "without recomputation it does not fit, or only a slower micro-batch "
			   "does (predicted)"
			 : "everything fits: computing it again would cost about a third more");
	loader(a, s, out);
	add(a, out, "torch_compile", flag(s->compile), s->compile_why);
	if (s->target == TARGET_DEEPSPEED)
		train_item_add(a, out,
			       &(struct train_item){ "deepspeed", "ds_config.json", true,
						     "the file beside; its batches are these" });
	if (s->target == TARGET_FSDP)
		fsdp_argument(a, s, out);
	if (q->way == TRAIN_DDP && q->dp > 1)
		add(a, out, "ddp_find_unused_parameters", "false",
		    "every parameter gets a gradient; looking for others costs time in each step");
}
