/* SPDX-License-Identifier: Apache-2.0 */
/*
 * DeepSpeed's zero_optimization: what does nothing in this stage, what cannot go together, buckets
 * and overlap, offload. Rules are those of runtime/zero and runtime/engine.py 0.19.6.
 */
#include <string.h>
#include <strings.h>

#include "models/generate/lint_train.h"

static const char source[] = "DeepSpeed's sources (runtime/zero)";

static void only_in_stage(const struct train_doc *d, int stage)
{
	for (size_t i = 0; i < zero_stage_keys_count; i++) {
		const struct zero_stage_key *k = &zero_stage_keys[i];
		const char *path = arena_printf(d->l->a, "zero_optimization.%s", k->name);

		if (train_at(d, path) && zero_key_dead(k->name, stage))
			train_say(d, LINT_WARNING, "dead-key", path,
				  k->least == k->most
					  ? arena_printf(d->l->a, "stage %d, or take it out",
							 k->least)
					  : arena_printf(d->l->a, "stage %d to %d, or take it out",
							 k->least, k->most),
				  source, "%s does nothing with ZeRO stage %d", k->name, stage);
	}
}

static void cannot(const struct train_doc *d, int stage)
{
	bool scatter = train_flag(d, "zero_optimization.reduce_scatter", true);

	if (stage == 3 && scatter && train_flag(d, "prescale_gradients", false))
		train_say(d, LINT_ERROR, "contradiction", "prescale_gradients", "false", source,
			  "ZeRO stage 3 with reduce_scatter refuses prescale_gradients");
	if (stage == 3 && scatter && train_number(d, "gradient_predivide_factor", 1) != 1)
		train_say(d, LINT_ERROR, "contradiction", "gradient_predivide_factor", "1", source,
			  "ZeRO stage 3 with reduce_scatter refuses a factor other than 1");
	if (stage == 3 && strcasecmp(train_word(d, "gradient_allreduce_op"), "sum") == 0)
		train_say(d, LINT_ERROR, "contradiction", "gradient_allreduce_op", "mean", source,
			  "ZeRO stage 3 refuses \"sum\"");
	if (stage >= 2 && train_at(d, "pipeline.stages") &&
	    train_number(d, "pipeline.stages", 0) > 1)
		train_say(d, LINT_ERROR, "contradiction", "pipeline.stages", "ZeRO stage 1", source,
			  "pipeline parallelism refuses ZeRO stages 2 and 3");
	if (stage != 3 && train_number(d, "zero_optimization.offload_optimizer.ratio", 1) < 1)
		train_say(d, LINT_ERROR, "contradiction",
			  "zero_optimization.offload_optimizer.ratio", "1, or stage 3", source,
			  "a part of the optimizer is offloaded with stage 3 alone");
	if (stage < 2 && strcasecmp(train_word(d, "optimizer.type"), "muon") == 0 && stage == 0)
		train_say(d, LINT_NOTE, "muon", "optimizer.type", NULL, source,
			  "without ZeRO each GPU orthogonalises every matrix itself");
}

static void traffic(const struct train_doc *d, int stage)
{
	double bucket = train_number(d, "zero_optimization.reduce_bucket_size", 5e8);
	bool overlap = train_flag(d, "zero_optimization.overlap_comm", stage == 3);
	bool told = train_at(d, "zero_optimization.overlap_comm") != NULL;

	if (stage > 0 && !overlap)
		train_say(d, told ? LINT_WARNING : LINT_NOTE, "no-overlap",
			  told ? "zero_optimization.overlap_comm" : "zero_optimization",
			  "\"overlap_comm\": true", source,
			  "%sgradients are reduced beside nothing: all of that time is waited for",
			  told ? "overlap_comm is off: "
			       : "overlap_comm is off unless it is set (it is on by itself with "
				 "stage 3 alone): ");
	if (stage > 0 && overlap && bucket > 0 && bucket < 1e7)
		train_say(d, LINT_WARNING, "small-bucket", "zero_optimization.reduce_bucket_size",
			  "50000000 or more", source,
			  "buckets of %.0f elements (%.1f MB in 16 bit): collectives this small "
			  "are bound by latency, and overlapping them hides little",
			  bucket, bucket * 2 / 1e6);
	if (stage > 0 && overlap && bucket > 1e9)
		train_say(d, LINT_NOTE, "large-bucket", "zero_optimization.reduce_bucket_size",
			  "500000000", source,
			  "buckets of %.0f elements: with overlap two of them and copies are held, "
			  "about %.0f GB",
			  bucket, bucket * 2 * 4.5 / 1e9);
	if (stage > 0 && stage < 3 && !train_flag(d, "zero_optimization.reduce_scatter", true))
		train_say(d, LINT_WARNING, "all-reduce", "zero_optimization.reduce_scatter", "true",
			  source,
			  "each GPU gets all gradients and keeps its part: twice the traffic");
	if (!train_flag(d, "zero_optimization.allgather_partitions", true))
		train_say(d, LINT_NOTE, "dead-key", "zero_optimization.allgather_partitions",
			  "take it out", source, "0.19.6 reads this key and does nothing with it");
	if (!train_flag(d, "zero_optimization.contiguous_gradients", true))
		train_say(d, LINT_NOTE, "fragments", "zero_optimization.contiguous_gradients",
			  "true", source, "gradients are not copied together: memory fragments");
	if (stage == 3 && train_at(d, "zero_optimization.stage3_prefetch_bucket_size") &&
	    train_number(d, "zero_optimization.stage3_prefetch_bucket_size", 1) == 0)
		train_say(d, LINT_WARNING, "no-prefetch",
			  "zero_optimization.stage3_prefetch_bucket_size", "50000000", source,
			  "weights are fetched when they are needed: nothing hides it");
}

static void offload(const struct train_doc *d, const char *what, const char *cost)
{
	const char *section = arena_printf(d->l->a, "zero_optimization.offload_%s", what);
	const char *device = train_word(d, arena_printf(d->l->a, "%s.device", section));

	if (strcasecmp(device, "cpu") != 0 && strcasecmp(device, "nvme") != 0)
		return;
	train_say(d, LINT_NOTE, "offload", arena_printf(d->l->a, "%s.device", section),
		  "only where it does not fit without: gputune predict training", source, "%s",
		  cost);
	if (!train_flag(d, arena_printf(d->l->a, "%s.pin_memory", section), true))
		train_say(d, LINT_WARNING, "pageable",
			  arena_printf(d->l->a, "%s.pin_memory", section), "true", source,
			  "copies from memory that is not pinned run at a part of the speed and "
			  "beside nothing");
	if (strcasecmp(device, "nvme") == 0 &&
	    !train_at(d, arena_printf(d->l->a, "%s.nvme_path", section)))
		train_say(d, LINT_ERROR, "no-value", section, "nvme_path", source,
			  "offload to NVMe needs nvme_path");
}

void lint_train_zero(const struct train_doc *d)
{
	double stage = train_number(d, "zero_optimization.stage", 0);
	bool flag;

	if (markup_bool(train_at(d, "zero_optimization"), &flag)) {
		train_say(d, LINT_WARNING, "old-key", "zero_optimization",
			  "\"zero_optimization\": {\"stage\": 1}", source,
			  "a switch instead of a section is an old form");
		return;
	}
	if (stage < 0 || stage > 3) {
		train_say(d, LINT_ERROR, "bad-value", "zero_optimization.stage", "0 to 3", source,
			  "there is no ZeRO stage %g", stage);
		return;
	}
	if (!train_at(d, "zero_optimization") ||
	    strcmp(train_word(d, "zero_optimization.stage"), "auto") == 0)
		return;
	only_in_stage(d, (int)stage);
	cannot(d, (int)stage);
	traffic(d, (int)stage);
	if (stage > 0)
		offload(d, "optimizer",
			"gradients go to the host, the CPU updates the weights, and these come "
			"back: in each step, over PCIe");
	if (stage == 3)
		offload(d, "param",
			"weights come from the host for each forward and backward pass, over PCIe");
}
