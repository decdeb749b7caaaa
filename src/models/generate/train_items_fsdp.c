/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Values of Accelerate's YAML, of fsdp_config.json, and the calls of PyTorch that do the same. Keys
 * are those of FSDP 2 (Accelerate 1.6 and PyTorch 2.6 and later).
 */
#include <string.h>

#include "base/text.h"
#include "models/generate/train_files.h"

static void add(struct arena *a, struct train_items *l, const char *path, const char *value,
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
static void fsdp(struct arena *a, const struct train_setup *s, const char *prefix,
		 struct train_items *out)
{
	bool offload = s->offload.optimizer, again = resharded(s);

	add(a, out, arena_printf(a, "%sversion", prefix), "2",
	    "per-parameter sharding: it overlaps by itself and has fewer knobs than version 1");
	word(a, out, arena_printf(a, "%sauto_wrap_policy", prefix), "TRANSFORMER_BASED_WRAP",
	     "each block is a unit: while one computes, the next is gathered; which class it is, "
	     "transformers' models say themselves");
	add(a, out, arena_printf(a, "%sreshard_after_forward", prefix), again ? "true" : "false",
	    again ? "weights are dropped after the forward pass and gathered again: the memory is "
		    "needed, or it costs nothing that shows (predicted)"
		  : "weights stay until the backward pass: memory allows it, and one gathering is "
		    "saved");
	word(a, out, arena_printf(a, "%sstate_dict_type", prefix), "SHARDED_STATE_DICT",
	     "each rank writes its part; a full one would gather everything on the first");
	add(a, out, *prefix ? arena_printf(a, "%soffload_params", prefix) : "cpu_offload",
	    offload ? "true" : "false",
	    offload   ? s->offload.why
	    : s->fits ? "it fits without"
		      : "CPU and GPU share one memory: it frees nothing");
	add(a, out, arena_printf(a, "%scpu_ram_efficient_loading", prefix), "true",
	    "one rank of a machine reads the weights instead of all at once");
	add(a, out, arena_printf(a, "%sactivation_checkpointing", prefix),
	    s->after->q.recompute == TRAIN_FULL ? "true" : "false",
	    s->after->q.recompute == TRAIN_FULL
		    ? "without recomputation it does not fit, or only a slower micro-batch does "
		      "(predicted); here and not in the Trainer, which would gather once more"
		    : "everything fits: computing it again would cost about a third more");
}

static void machines(struct arena *a, const struct train_setup *s, const struct train_meeting *m,
		     struct train_items *out)
{
	const struct place *p = &s->after->q.place;

	add(a, out, "num_machines", arena_printf(a, "%d", p->nodes),
	    arena_printf(a, "%d machine%s with %d GPU%s in all: those that were asked for",
			 p->nodes, p->nodes == 1 ? "" : "s", p->gpus, p->gpus == 1 ? "" : "s"));
	add(a, out, "num_processes", arena_printf(a, "%d", p->gpus),
	    "of all machines together, one a GPU");
	add(a, out, "machine_rank", "0",
	    p->nodes > 1 ? "0 on the first machine; 1, 2 ... on the others "
			   "(or --machine_rank)"
			 : "one machine");
	if (p->nodes > 1) {
		word(a, out, "main_process_ip", m->head ? m->head : "FIRST-MACHINE",
		     m->head ? "the first machine, where all meet"
			     : "the first machine's address, which is not known here (--head)");
		add(a, out, "main_process_port", arena_printf(a, "%d", m->port),
		    "a port that is free there");
		add(a, out, "same_network", "true", "the machines reach each other directly");
	}
	word(a, out, "gpu_ids", "all", "every GPU has a process");
}

static void compiled(struct arena *a, const struct train_setup *s, struct train_items *out)
{
	if (!s->compile)
		return;
	word(a, out, "dynamo_config.dynamo_backend", "INDUCTOR", s->compile_why);
	word(a, out, "dynamo_config.dynamo_mode", "default",
	     "the others compile longer, or want shapes that never change");
	add(a, out, "dynamo_config.dynamo_use_dynamic", "false",
	    "pad or pack to one length: each new shape is compiled anew");
	add(a, out, "dynamo_config.dynamo_use_fullgraph", "false",
	    "a model that breaks the graph still runs");
	if (train_way_shards(s->after->q.way))
		add(a, out, "dynamo_config.dynamo_use_regional_compilation", "true",
		    "each block is a graph, as it is a unit of FSDP: gathering does not break it, "
		    "and "
		    "blocks that are alike are compiled once (Accelerate 1.14 and later)");
}

void train_items_accelerate(struct arena *a, const struct train_setup *s,
			    const struct train_meeting *m, struct train_items *out)
{
	const struct train_question *q = &s->after->q;
	bool several = q->place.gpus > 1, fp16 = q->precision == TRAIN_FP16;
	bool full = q->precision == TRAIN_FP32 || q->precision == TRAIN_TF32;

	word(a, out, "compute_environment", "LOCAL_MACHINE", "no cloud service starts it");
	add(a, out, "debug", "false", "checks of each collective's shapes are for finding faults");
	word(a, out, "distributed_type",
	     !several				 ? "NO"
	     : train_way_shards(s->after->q.way) ? "FSDP"
						 : "MULTI_GPU",
	     several ? s->why : "one GPU");
	machines(a, s, m, out);
	word(a, out, "mixed_precision",
	     full   ? "no"
	     : fp16 ? "fp16"
		    : "bf16",
	     full ? "as it was told"
		  : arena_printf(a, "tensor cores of %s%s",
				 q->place.gpu ? q->place.gpu->name : "the GPU",
				 fp16 ? "" : "; its range needs no loss scaling"));
	word(a, out, "main_training_function", "main", "the usual name; not used by scripts");
	if (s->numa_nodes > 1)
		add(a, out, "enable_cpu_affinity", "true",
		    arena_printf(a, "%d NUMA nodes: each process stays on the CPUs of its GPU",
				 s->numa_nodes));
	if (several && train_way_shards(s->after->q.way))
		fsdp(a, s, "fsdp_config.fsdp_", out);
	if (q->way == TRAIN_HSDP) {
		int shard = q->shard > 0 ? q->shard : s->gpus_each;

		add(a, out, "parallelism_config.parallelism_config_dp_replicate_size",
		    arena_printf(a, "%d", q->place.gpus / shard),
		    "groups that hold the same: only gradients travel between them");
		add(a, out, "parallelism_config.parallelism_config_dp_shard_size",
		    arena_printf(a, "%d", shard),
		    "GPUs that share the weights: those of a machine");
	}
	compiled(a, s, out);
}

void train_items_fsdp(struct arena *a, const struct train_setup *s, struct train_items *out)
{
	fsdp(a, s, "", out);
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

static void policy(const struct train_question *q, struct text *t)
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
	const struct train_question *q = &s->after->q;
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
	text_printf(&t,
		    "    fully_shard(block, mesh=mesh, mp_policy=policy, "
		    "reshard_after_forward=%s%s)\n"
		    "fully_shard(model, mesh=mesh, mp_policy=policy%s)\n",
		    resharded(s) ? "True" : "False", offload, offload);
	return arena_strdup(a, t.s);
}
