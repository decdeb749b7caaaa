/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Values of ds_config.json and of the Trainer's arguments, each with its reason. Sizes of buckets
 * follow from the model: DeepSpeed's usual 5e8 elements are one bucket for a small model, which
 * then overlaps with nothing.
 */
#include <math.h>

#include "models/generate/train_setup.h"
#include "base/text.h"

/* Ten collectives beside the backward pass, none so small that latency binds it. */
double train_bucket(double parameters)
{
	return round(fmin(fmax(parameters / 10, 2.5e7), 5e8) / 1e6) * 1e6;
}

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

static void train_items_batches(struct arena *a, const struct train_setup *s,
				struct train_items *out)
{
	const struct train_config *q = &s->after->q, *was = &s->before->q;
	const char *memory =
		arena_printf(a, "%.1f GB of %.1f GB on the fullest GPU (predicted, %.1f to %.1f)",
			     s->after->memory.total / 1e9, s->after->memory.limit / 1e9,
			     s->after->memory.all.low / 1e9, s->after->memory.all.high / 1e9);

	add(a, out, "train_batch_size", number(a, q->global_batch),
	    arena_printf(a,
			 "%d x %d x %d data-parallel processes, so the global batch is unchanged",
			 q->micro_batch, q->accumulation, q->dp));
	add(a, out, "train_micro_batch_size_per_gpu", number(a, q->micro_batch),
	    q->micro_batch != was->micro_batch
		    ? arena_printf(a, "%d instead of %d: %s", q->micro_batch, was->micro_batch,
				   memory)
		    : memory);
	add(a, out, "gradient_accumulation_steps", number(a, q->accumulation),
	    "keeps the global batch with that micro-batch");
}

static void precision(struct arena *a, const struct train_setup *s, struct train_items *out)
{
	const struct train_config *q = &s->after->q;

	if (q->precision == TRAIN_FP16) {
		add(a, out, "fp16.enabled", "true", "as given; it requires loss scaling");
		add(a, out, "fp16.loss_scale", "0", "dynamic: one overflow costs one step");
		add(a, out, "fp16.initial_scale_power", "16", "the usual start, 65536");
	} else if (q->precision == TRAIN_BF16 || q->precision == TRAIN_FP8) {
		add(a, out, "bf16.enabled", "true",
		    arena_printf(
			    a,
			    "supported by the tensor cores of %s; its range needs no loss scaling",
			    q->place.gpu ? q->place.gpu->name : "the GPU"));
	}
}

static void zero_three(struct arena *a, const struct train_setup *s, struct train_items *out)
{
	double hidden = s->after->q.arch.hidden;

	add(a, out, "zero_optimization.stage3_prefetch_bucket_size",
	    number(a, fmax(floor(0.9 * hidden * hidden), 1e6)),
	    "number of prefetched elements: nearly one matrix of this model");
	add(a, out, "zero_optimization.stage3_param_persistence_threshold", number(a, 10 * hidden),
	    "norms and biases stay on every GPU: gathering them adds latency and saves nothing");
	add(a, out, "zero_optimization.stage3_gather_16bit_weights_on_model_save", "true",
	    "saves a model that other programs can load; if off, only shards are saved");
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
	    "copies from pageable memory do not overlap");
	if (!o->weights)
		return;
	train_item_add(
		a, out,
		&(struct train_item){ "zero_optimization.offload_param.device", "cpu", true,
				      "offloads weights too: otherwise training does not fit" });
	add(a, out, "zero_optimization.offload_param.pin_memory", "true",
	    "copies from pageable memory do not overlap");
}

static void zero(struct arena *a, const struct train_setup *s, struct train_items *out)
{
	int stage = s->after->q.way <= TRAIN_ZERO3 ? (int)s->after->q.way : 3;
	double n = train_bucket(s->after->parameters);

	add(a, out, "zero_optimization.stage", number(a, stage),
	    stage || s->after->q.dp <= 1
		    ? s->why
		    : arena_printf(a,
				   "%s; these figures take into account that stage 0 reduces "
				   "gradients after the backward pass",
				   s->why));
	if (!stage)
		return;
	add(a, out, "zero_optimization.overlap_comm", "true",
	    stage == 3 ? "overlaps gradient reduction with the backward pass and prefetches weights"
		       : "overlaps gradient reduction with the backward pass; off by default in "
			 "this stage");
	add(a, out, "zero_optimization.contiguous_gradients", "true",
	    "gradients are stored contiguously as they are produced: memory does not fragment");
	add(a, out, "zero_optimization.reduce_bucket_size", number(a, n),
	    arena_printf(a,
			 "elements: %.0f MB in 16 bit, %.0f collectives for %.3g parameters, most "
			 "of them overlapped",
			 n * 2 / 1e6, ceil(s->after->parameters / n), s->after->parameters));
	if (stage < 3)
		add(a, out, "zero_optimization.allgather_bucket_size", number(a, n),
		    "bucket size for the weights gathered after the update");
	else
		zero_three(a, s, out);
	offloaded(a, s, out);
}

void train_items_deepspeed(struct arena *a, const struct train_setup *s, struct train_items *out)
{
	train_items_batches(a, s, out);
	precision(a, s, out);
	if (s->clip)
		add(a, out, "gradient_clipping", "1.0", "the usual norm (default)");
	zero(a, s, out);
	if (s->after->q.recompute == TRAIN_FULL) {
		add(a, out, "activation_checkpointing.partition_activations", "false",
		    "activations are split only with tensor parallelism; recomputation itself is "
		    "enabled in the program (gradient_checkpointing)");
		add(a, out, "activation_checkpointing.cpu_checkpointing", "false",
		    "recomputing activations is faster than PCIe");
	}
	add(a, out, "wall_clock_breakdown", "false",
	    "set it to true for ten steps to see forward, backward, reduction and update times; "
	    "its timers wait for the GPU");
	add(a, out, "comms_logger.enabled", "false",
	    "set it to true for ten steps to see each collective's size and bandwidth; it waits "
	    "for each collective");
	add(a, out, "steps_per_print", "10", "a line every ten steps");
}

static void train_items_loader(struct arena *a, const struct train_setup *s,
			       struct train_items *out)
{
	add(a, out, "dataloader_num_workers", number(a, s->workers), s->workers_why);
	add(a, out, "dataloader_prefetch_factor", number(a, s->prefetch), s->prefetch_why);
	add(a, out, "dataloader_persistent_workers", "true", "workers persist across epochs");
	add(a, out, "dataloader_pin_memory", "true",
	    "copies to the GPU overlap with computation only from pinned memory");
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
			offload ? "goes with \"fsdp_config\": \"fsdp_config.json\"; releases "
				  "before 5.17 may ignore its cpu_offload"
				: "goes with \"fsdp_config\": \"fsdp_config.json\"; transformers 5 "
				  "also accepts the value true" });
}

void train_items_trainer(struct arena *a, const struct train_setup *s, struct train_items *out)
{
	const struct train_config *q = &s->after->q, *was = &s->before->q;
	bool full = q->recompute == TRAIN_FULL;

	add(a, out, "per_device_train_batch_size", number(a, q->micro_batch),
	    q->micro_batch == was->micro_batch && q->accumulation == was->accumulation
		    ? "the fastest that fits at this global batch (predicted)"
		    : arena_printf(a, "%d x %d instead of %d x %d at the same global batch of %d",
				   q->micro_batch, q->accumulation, was->micro_batch,
				   was->accumulation, q->global_batch));
	add(a, out, "gradient_accumulation_steps", number(a, q->accumulation),
	    "keeps the global batch with that micro-batch");
	if (q->precision == TRAIN_FP16)
		add(a, out, "fp16", "true", "as given");
	else if (q->precision == TRAIN_TF32)
		add(a, out, "tf32", "true",
		    "as given: without it PyTorch multiplies FP32 without tensor cores");
	else if (q->precision != TRAIN_FP32)
		add(a, out, "bf16", "true", "tensor cores, and no loss scaling");
	/* FSDP has its own, in its file. */
	if (s->target != TARGET_FSDP && q->way != TRAIN_FSDP && q->way != TRAIN_HSDP)
		add(a, out, "gradient_checkpointing", flag(full),
		    full ? "without recomputation it does not fit, or only a slower micro-batch "
			   "does (predicted)"
			 : "everything fits without recomputation, which would cost about a third "
			   "more time");
	train_items_loader(a, s, out);
	add(a, out, "torch_compile", flag(s->compile), s->compile_why);
	if (s->target == TARGET_DEEPSPEED)
		train_item_add(
			a, out,
			&(struct train_item){ "deepspeed", "ds_config.json", true,
					      "the generated file, with the same batch sizes" });
	if (s->target == TARGET_FSDP)
		fsdp_argument(a, s, out);
	if (q->way == TRAIN_DDP && q->dp > 1)
		add(a, out, "ddp_find_unused_parameters", "false",
		    "every parameter gets a gradient; searching for unused ones costs time in each "
		    "step");
}

/*
 * Values of Accelerate's YAML, of fsdp_config.json, and the calls of PyTorch that do the same. Keys
 * are those of FSDP 2 (Accelerate 1.6 and PyTorch 2.6 and later).
 */

static void fsdp_add(struct arena *a, struct train_items *l, const char *path, const char *value,
		     const char *reason)
{
	train_item_add(a, l,
		       &(struct train_item){ .path = path, .value = value, .reason = reason });
}

static void word(struct arena *a, struct train_items *l, const char *path, const char *value,
		 const char *reason)
{
	train_item_add(a, l, &(struct train_item){ path, value, true, reason });
}

static bool resharded(const struct train_setup *s)
{
	return s->after->q.reshard || s->after->q.way == TRAIN_ZERO3;
}

/* prefix: "fsdp_config.fsdp_" in Accelerate's file, "" in the Trainer's, which calls offload by
 * another name. */
static void train_items_fsdp_one(struct arena *a, const struct train_setup *s, const char *prefix,
				 struct train_items *out)
{
	bool offload = s->offload.optimizer, again = resharded(s);

	fsdp_add(a, out, arena_printf(a, "%sversion", prefix), "2",
		 "per-parameter sharding: overlaps automatically and has fewer options than "
		 "version 1");
	word(a, out, arena_printf(a, "%sauto_wrap_policy", prefix), "TRANSFORMER_BASED_WRAP",
	     "each block is an FSDP unit: while one computes, the weights of the next are "
	     "gathered; "
	     "the models of transformers name the block's class");
	fsdp_add(a, out, arena_printf(a, "%sreshard_after_forward", prefix),
		 again ? "true" : "false",
		 again ? "weights are freed after the forward pass and gathered again: the memory "
			 "is needed, or the cost is negligible (predicted)"
		       : "weights stay until the backward pass: memory allows it, and it saves one "
			 "all-gather");
	word(a, out, arena_printf(a, "%sstate_dict_type", prefix), "SHARDED_STATE_DICT",
	     "each rank writes its part; a full state dict would gather everything on the first "
	     "rank");
	fsdp_add(a, out, *prefix ? arena_printf(a, "%soffload_params", prefix) : "cpu_offload",
		 offload ? "true" : "false",
		 offload   ? s->offload.why
		 : s->fits ? "training fits without offload"
			   : "no effect: CPU and GPU share one memory");
	fsdp_add(a, out, arena_printf(a, "%scpu_ram_efficient_loading", prefix), "true",
		 "one rank per machine reads the weights instead of all ranks");
	fsdp_add(a, out, arena_printf(a, "%sactivation_checkpointing", prefix),
		 s->after->q.recompute == TRAIN_FULL ? "true" : "false",
		 s->after->q.recompute == TRAIN_FULL
			 ? "without recomputation it does not fit, or only a slower micro-batch "
			   "does (predicted); set here, because the Trainer's option would gather "
			   "weights again"
			 : "everything fits without recomputation, which would cost about a third "
			   "more time");
}

static void train_items_machines(struct arena *a, const struct train_setup *s,
				 const struct train_meeting *m, struct train_items *out)
{
	const struct target_hw *p = &s->after->q.place;

	fsdp_add(a, out, "num_machines", arena_printf(a, "%d", p->nodes),
		 arena_printf(a, "%d machine%s with %d GPU%s in total, as requested", p->nodes,
			      PLURAL(p->nodes), p->gpus, PLURAL(p->gpus)));
	fsdp_add(a, out, "num_processes", arena_printf(a, "%d", p->gpus),
		 "total of all machines, one per GPU");
	fsdp_add(a, out, "machine_rank", "0",
		 p->nodes > 1 ? "0 on the first machine; 1, 2 ... on the others (or --machine_rank)"
			      : "one machine");
	if (p->nodes > 1) {
		word(a, out, "main_process_ip", m->head ? m->head : "FIRST-MACHINE",
		     m->head ? "the first machine, as the rendezvous"
			     : "the first machine's address, unknown here (--head)");
		fsdp_add(a, out, "main_process_port", arena_printf(a, "%d", m->port),
			 "a free port on that machine");
		fsdp_add(a, out, "same_network", "true", "the machines reach each other directly");
	}
	word(a, out, "gpu_ids", "all", "every GPU has a process");
}

static void compiled(struct arena *a, const struct train_setup *s, struct train_items *out)
{
	if (!s->compile)
		return;
	word(a, out, "dynamo_config.dynamo_backend", "INDUCTOR", s->compile_why);
	word(a, out, "dynamo_config.dynamo_mode", "default",
	     "the other modes compile longer or require fixed shapes");
	fsdp_add(a, out, "dynamo_config.dynamo_use_dynamic", "false",
		 "pad or pack to one length: each new shape is recompiled");
	fsdp_add(a, out, "dynamo_config.dynamo_use_fullgraph", "false",
		 "a model with graph breaks still runs");
	if (train_parallelism_shards(s->after->q.way))
		fsdp_add(a, out, "dynamo_config.dynamo_use_regional_compilation", "true",
			 "each block is one graph and one FSDP unit: gathering does not break the "
			 "graph, and identical blocks compile once (Accelerate 1.14 and later)");
}

void train_items_accelerate(struct arena *a, const struct train_setup *s,
			    const struct train_meeting *m, struct train_items *out)
{
	const struct train_config *q = &s->after->q;
	bool several = q->place.gpus > 1, fp16 = q->precision == TRAIN_FP16;
	bool full = q->precision == TRAIN_FP32 || q->precision == TRAIN_TF32;

	word(a, out, "compute_environment", "LOCAL_MACHINE", "not started by a cloud service");
	fsdp_add(a, out, "debug", "false", "checks each collective's shapes; for debugging only");
	word(a, out, "distributed_type",
	     !several					 ? "NO"
	     : train_parallelism_shards(s->after->q.way) ? "FSDP"
							 : "MULTI_GPU",
	     several ? s->why : "one GPU");
	train_items_machines(a, s, m, out);
	word(a, out, "mixed_precision",
	     full   ? "no"
	     : fp16 ? "fp16"
		    : "bf16",
	     full ? "as given"
		  : arena_printf(a, "tensor cores of %s%s",
				 q->place.gpu ? q->place.gpu->name : "the GPU",
				 fp16 ? "" : "; its range needs no loss scaling"));
	word(a, out, "main_training_function", "main", "the default name; not used by scripts");
	if (s->numa_nodes > 1)
		fsdp_add(a, out, "enable_cpu_affinity", "true",
			 arena_printf(a, "%d NUMA nodes: each process stays on the CPUs of its GPU",
				      s->numa_nodes));
	if (several && train_parallelism_shards(s->after->q.way))
		train_items_fsdp_one(a, s, "fsdp_config.fsdp_", out);
	if (q->way == TRAIN_HSDP) {
		int shard = q->shard > 0 ? q->shard : s->gpus_each;

		fsdp_add(a, out, "parallelism_config.parallelism_config_dp_replicate_size",
			 arena_printf(a, "%d", q->place.gpus / shard),
			 "replica groups: only gradients are exchanged between them");
		fsdp_add(a, out, "parallelism_config.parallelism_config_dp_shard_size",
			 arena_printf(a, "%d", shard),
			 "GPUs that share the weights: those of one machine");
	}
	compiled(a, s, out);
}

void train_items_fsdp(struct arena *a, const struct train_setup *s, struct train_items *out)
{
	train_items_fsdp_one(a, s, "", out);
}

/* What the calls below need of PyTorch. */
static void imports(const struct train_setup *s, struct text *t)
{
	text_add(t, "import torch\n");
	if (s->after->q.recompute == TRAIN_FULL)
		text_add(t, "from torch.distributed.algorithms._checkpoint.checkpoint_wrapper "
			    "import checkpoint_wrapper\n");
	text_printf(t,
		    "from torch.distributed.device_mesh import init_device_mesh\n"
		    "from torch.distributed.fsdp import %sMixedPrecisionPolicy, fully_shard\n\n",
		    s->offload.optimizer ? "CPUOffloadPolicy, " : "");
}

static void policy(const struct train_config *q, struct text *t)
{
	const char *half = q->precision == TRAIN_FP16 ? "float16" : "bfloat16";

	if (q->precision == TRAIN_TF32)
		text_add(t, "torch.set_float32_matmul_precision(\"high\")  # TF32\n");
	if (q->precision == TRAIN_FP32 || q->precision == TRAIN_TF32)
		text_add(t, "policy = MixedPrecisionPolicy()  # all in FP32\n");
	else
		text_printf(t,
			    "policy = MixedPrecisionPolicy(param_dtype=torch.%s, "
			    "reduce_dtype=torch.%s)\n",
			    half, q->reduce_fp32 ? "float32" : half);
}

const char *train_torch_call(struct arena *a, const struct train_setup *s)
{
	const struct train_config *q = &s->after->q;
	const char *offload = s->offload.optimizer ? ", offload_policy=CPUOffloadPolicy()" : "";
	bool recompute = q->recompute == TRAIN_FULL;
	int shard = q->shard > 0 ? q->shard : s->gpus_each;
	TEXT_AUTO t = { 0 };

	imports(s, &t);
	if (q->way == TRAIN_HSDP)
		text_printf(&t,
			    "mesh = init_device_mesh(\"cuda\", (%d, %d), "
			    "mesh_dim_names=(\"replicate\", \"shard\"))\n",
			    q->place.gpus / shard, shard);
	else
		text_printf(&t, "mesh = init_device_mesh(\"cuda\", (%d,))\n", q->place.gpus);
	policy(q, &t);
	text_printf(&t, "for %s:  # the list of this model's blocks\n",
		    recompute ? "i, block in enumerate(model.layers)" : "block in model.layers");
	if (recompute)
		text_add(&t, "    block = model.layers[i] = checkpoint_wrapper(block)\n");
	if (s->compile)
		text_add(&t, "    block.compile()\n");
	text_printf(
		&t,
		"    fully_shard(block, mesh=mesh, mp_policy=policy, reshard_after_forward=%s%s)\n"
		"fully_shard(model, mesh=mesh, mp_policy=policy%s)\n",
		resharded(s) ? "True" : "False", offload, offload);
	return arena_strdup(a, t.s);
}
