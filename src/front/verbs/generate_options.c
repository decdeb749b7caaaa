/* SPDX-License-Identifier: Apache-2.0 */
/* Options of generate that would change nothing in what is generated: they are refused. */
#include <string.h>

#include "front/verbs/generate.h"

/* An option, and what it belongs to. */
struct belongs {
	enum option_id id;
	const char *to;
};

static const struct belongs serving[] = {
	{ OPT_WEIGHTS, "vllm, sglang, llamacpp and trtllm" },
	{ OPT_CACHE, "vllm, sglang, llamacpp and trtllm" },
	{ OPT_CONTEXT, "vllm, sglang, llamacpp and trtllm" },
	{ OPT_USERS, "vllm, sglang, llamacpp and trtllm" },
	{ OPT_LISTEN, "vllm, sglang, llamacpp and trtllm" },
};

static const struct belongs training[] = {
	{ OPT_PARALLEL, NULL },	     { OPT_GLOBAL_BATCH, NULL }, { OPT_MICRO_BATCH, NULL },
	{ OPT_ACCUMULATION, NULL },  { OPT_SEQUENCE, NULL },	 { OPT_PRECISION, NULL },
	{ OPT_CHECKPOINTING, NULL }, { OPT_OPTIMIZER, NULL },	 { OPT_ATTENTION, NULL },
	{ OPT_COMPILE, NULL },	     { OPT_NO_OVERLAP, NULL },	 { OPT_SHARD, NULL },
	{ OPT_BUCKET, NULL },	     { OPT_TRAINED, NULL },	 { OPT_LOADER, NULL },
	{ OPT_WORKERS, NULL },	     { OPT_NETWORK, NULL },	 { OPT_ALL_REDUCE, NULL },
};

static int refused(struct run *r, enum option_id id, const char *to)
{
	return complain_text(EXIT_USAGE, "--%s changes nothing in generate %s: it belongs to %s",
			     option_rows[id].name, r->args[0], to);
}

static int any_of(struct run *r, const struct belongs *rows, size_t n, const char *to)
{
	for (size_t i = 0; i < n; i++)
		if (r->value[rows[i].id])
			return refused(r, rows[i].id, rows[i].to ? rows[i].to : to);
	return 0;
}

/* Where machines meet is in Accelerate's file alone; the others leave it to their launcher. */
static int of_training(struct run *r, enum train_target target)
{
	int code = any_of(r, serving, sizeof(serving) / sizeof(serving[0]), NULL);

	if (!code && r->value[OPT_RANK])
		code = refused(r, OPT_RANK, "commands");
	if (!code && r->value[OPT_IMAGE])
		code = refused(r, OPT_IMAGE, "--format compose");
	if (!code && target != TARGET_ACCELERATE && r->value[OPT_PORT])
		code = refused(r, OPT_PORT, "torchrun, sbatch and accelerate");
	if (!code && target != TARGET_ACCELERATE && r->value[OPT_HEAD])
		code = refused(r, OPT_HEAD, "torchrun, sbatch and accelerate");
	return code;
}

int generate_options_used(struct run *r, const struct generate_use *u)
{
	const char *format = r->value[OPT_FORMAT];
	int code;

	if (u->trains)
		return of_training(r, u->target);
	code = u->serves ? 0 : any_of(r, serving, sizeof(serving) / sizeof(serving[0]), NULL);
	if (!code && !(u->launches && r->value[OPT_MODEL]))
		code = any_of(r, training, sizeof(training) / sizeof(training[0]),
			      u->launches ? "--model, which says what is trained"
					  : "deepspeed, accelerate and fsdp, or to torchrun and "
					    "sbatch with --model");
	if (!code && r->value[OPT_IMAGE] && !(format && strcmp(format, "compose") == 0))
		code = refused(r, OPT_IMAGE, "--format compose");
	return code;
}
