/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Accelerate's configuration: machines and processes, sections that the kind of training does not
 * use. Rules are those of commands/launch.py and utils/dataclasses.py, 1.15.0.
 */
#include <math.h>
#include <string.h>
#include <strings.h>

#include "base/text.h"
#include "models/generate/lint_train.h"

static const char source[] = "Accelerate's sources (commands/launch.py)";

static void machines(const struct train_doc *d)
{
	double n = train_number(d, "num_machines", 1), all = train_number(d, "num_processes", 0);
	double rank = train_number(d, "machine_rank", 0);
	size_t gpus = d->l->on->node ? d->l->on->node->gpus : 0;

	if (n > 1 && !train_at(d, "main_process_ip"))
		train_say(d, LINT_WARNING, "no-value", "num_machines", "main_process_ip: ADDRESS",
			  source,
			  "%g machines, and no address where they meet: it fails unless the "
			  "command line tells it",
			  n);
	if (n >= 1 && all > 0 && fmod(all, n) != 0)
		train_say(d, LINT_ERROR, "batch-arithmetic", "num_processes", NULL, source,
			  "num_processes is of all machines: %g do not divide by %g", all, n);
	else if (n >= 1 && gpus && all / n > (double)gpus)
		train_say(d, LINT_ERROR, "too-many-processes", "num_processes",
			  arena_printf(d->l->a, "%.0f", (double)gpus * n), source,
			  "%g processes on each of %g machines, and this one has %zu GPUs", all / n,
			  n, gpus);
	else if (n > 1 && gpus > 1 && all == (double)gpus)
		train_say(d, LINT_WARNING, "batch-arithmetic", "num_processes",
			  arena_printf(d->l->a, "%.0f", (double)gpus * n), source,
			  "num_processes is of all machines: %g are %g on each, of %zu GPUs", all,
			  all / n, gpus);
	if (rank >= n)
		train_say(d, LINT_ERROR, "bad-value", "machine_rank",
			  arena_printf(d->l->a, "0 to %.0f", n - 1), source,
			  "rank %g of %g machines: they count from 0", rank, n);
}

static void kind(const struct train_doc *d)
{
	const char *type = train_word(d, "distributed_type");
	bool no = strcasecmp(type, "NO") == 0 || markup_null(train_at(d, "distributed_type"));
	double all = train_number(d, "num_processes", 0);
	bool truth;

	/* YAML reads NO without quotes as false; Accelerate then knows no such type. */
	if (markup_bool(train_at(d, "distributed_type"), &truth))
		train_say(d, LINT_ERROR, "yaml-no", "distributed_type", "'NO', in quotes", NULL,
			  "NO without quotes is false to a YAML reader, not the word");
	if (no && all > 1)
		train_say(d, LINT_ERROR, "contradiction", "distributed_type", "MULTI_GPU", source,
			  "%g processes, and distributed_type NO", all);
	if (strcasecmp(type, "MULTI_GPU") == 0 && all == 1)
		train_say(d, LINT_ERROR, "contradiction", "num_processes", "'NO'", source,
			  "MULTI_GPU with one process");
	if (strcasecmp(type, "DEEPSPEED") != 0 && train_at(d, "deepspeed_config") &&
	    train_at(d, "deepspeed_config")->first)
		train_say(d, LINT_WARNING, "dead-key", "deepspeed_config",
			  "distributed_type: DEEPSPEED, or take it out", source,
			  "distributed_type is %s: this section does nothing", type);
	if (strcasecmp(type, "FSDP") != 0 && train_at(d, "fsdp_config") &&
	    train_at(d, "fsdp_config")->first)
		train_say(d, LINT_WARNING, "dead-key", "fsdp_config",
			  "distributed_type: FSDP, or take it out", source,
			  "distributed_type is %s: this section does nothing", type);
}

static void deepspeed(const struct train_doc *d)
{
	static const char *const of_file[] = {
		"gradient_accumulation_steps",
		"gradient_clipping",
		"zero_stage",
		"offload_optimizer_device",
		"offload_param_device",
		"zero3_save_16bit_model",
		"offload_param_nvme_path",
		"offload_optimizer_nvme_path",
	};
	bool file = train_at(d, "deepspeed_config.deepspeed_config_file") != NULL;
	double stage = train_number(d, "deepspeed_config.zero_stage", 2);

	if (strcasecmp(train_word(d, "distributed_type"), "DEEPSPEED") != 0)
		return;
	for (size_t i = 0; file && i < sizeof(of_file) / sizeof(of_file[0]); i++) {
		const char *path = arena_printf(d->l->a, "deepspeed_config.%s", of_file[i]);

		if (train_at(d, path))
			train_say(d, LINT_ERROR, "contradiction", path,
				  "take it out: the file says it",
				  "Accelerate's sources (utils/dataclasses.py)",
				  "beside deepspeed_config_file this key is refused");
	}
	if (file && train_at(d, "mixed_precision"))
		train_say(d, LINT_ERROR, "contradiction", "mixed_precision",
			  "take it out: the file says it",
			  "Accelerate's sources (utils/dataclasses.py)",
			  "beside deepspeed_config_file this key is refused");
	if (!file && stage < 3 && train_flag(d, "deepspeed_config.zero3_init_flag", false))
		train_say(d, LINT_WARNING, "dead-key", "deepspeed_config.zero3_init_flag", "false",
			  source, "ZeRO stage %g: weights are not sharded when they are made",
			  stage);
	if (train_number(d, "num_machines", 1) > 1 &&
	    !train_at(d, "deepspeed_config.deepspeed_multinode_launcher"))
		train_say(d, LINT_WARNING, "launcher", "deepspeed_config",
			  "deepspeed_multinode_launcher: standard", source,
			  "several machines: without a launcher pdsh and a hostfile are used");
}

void lint_train_accelerate(const struct train_doc *d)
{
	const struct markup_node *n = train_at(d, "gpu_ids");

	machines(d);
	kind(d);
	deepspeed(d);
	if (strcasecmp(train_word(d, "distributed_type"), "FSDP") == 0)
		lint_train_fsdp(d, markup_real(train_at(d, "fsdp_config")));
	if (n && n->kind == MARKUP_SCALAR && !strchr(n->text, ',') &&
	    strcasecmp(n->text, "all") != 0 && train_number(d, "num_processes", 1) > 1)
		train_say(d, LINT_ERROR, "contradiction", "gpu_ids", "all", source,
			  "one GPU for %g processes", train_number(d, "num_processes", 1));
	if (strcasecmp(train_word(d, "mixed_precision"), "no") == 0)
		train_say(d, LINT_WARNING, "fp32", "mixed_precision", "bf16", source,
			  "all multiplications run as FP32 or TF32");
}
