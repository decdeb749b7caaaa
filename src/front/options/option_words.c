/* SPDX-License-Identifier: Apache-2.0 */
/* The words that options and arguments can be. */
#include "front/verbs/cmd.h"

static const char *const formats[] = { "term",	  "json",	 "md",	  "html",   "junit",
				       "prom",	  "openmetrics", "shell", "nagios", "npd",
				       "systemd", "compose",	 NULL };
static const char *const subjects[] = { "cpu",	"memory", "gpu",      "pci",	  "nic",
					"disk", "kernel", "software", "topology", NULL };
static const char *const policies[] = { "report", "re-apply", "back-off", NULL };
static const char *const drawings[] = { "matrix", "tree", "svg", "svg-tall", NULL };
static const char *const actions[] = { "install", "status", "diff", "remove", NULL };
static const char *const journal_actions[] = { "check", "repair", "compact", "export", NULL };
static const char *const betters[] = { "higher", "lower", NULL };
static const char *const modes[] = { "healthcheck", "prolog", NULL };
static const char *const profiles[] = { "default",  "published", "max-performance", "low-latency",
					"balanced", "inference", "training",	    NULL };

static const char *const measurements[] = { "all",
					    "list",
					    "show",
					    "serve",
					    "memory-bandwidth",
					    "memory-latency",
					    "disk",
					    "model-load",
					    "timer-wake-up",
					    "idle-wake-up",
					    "cpu-frequency",
					    "hand-over",
					    "tcp",
					    "tcp-latency",
					    "tcp-connect",
					    "tcp-idle",
					    "rdma",
					    "rdma-latency",
					    "gpu-memory",
					    "gpu-latency",
					    "copy",
					    "launch",
					    "gemm",
					    "gpu-load",
					    "collectives",
					    "gds",
					    NULL };

static const char *const stack_parts[] = { "arch",	 "check",      "compare", "env",
					   "build-plan", "wheelhouse", NULL };

static const char *const kinds[] = { "nccl",	   "vllm-env", "torchrun",	"mpi",
				     "sbatch",	   "hostfile", "deepspeed_env", "vllm",
				     "sglang",	   "llamacpp", "trtllm",	"deepspeed",
				     "accelerate", "fsdp",     "nccl-env",	NULL };

static const char *const diagnoses[] = { "training", NULL };

static const char *const goals[] = { "latency", "first-token", "throughput", "users", NULL };

static const char *const cluster_parts[] = { "discover", "check",     "plan", "undo",
					     "node",	 "take-back", NULL };

static const char *const predictions[] = { "inference", "training", NULL };
static const char *const parallels[] = {
	"ddp", "zero-1", "zero-2", "zero-3", "fsdp", "hsdp", NULL
};
static const char *const precisions[] = { "fp32", "tf32", "bf16", "fp16", "fp8", NULL };
static const char *const checkpointings[] = { "none", "selective", "full", NULL };
static const char *const optimizers[] = { "adamw", "adamw-bf16", "adamw-8bit", "adafactor",
					  "lion",  "sgd",	 "muon",       NULL };
static const char *const attentions[] = { "eager", "flash", "flash3", NULL };

static const char *const shells[] = { "bash", "zsh", "fish", "man", NULL };

const char *const *words_of(enum word_kind k)
{
	switch (k) {
	case WORD_FORMAT:
		return formats;
	case WORD_SUBJECT:
		return subjects;
	case WORD_DRAWING:
		return drawings;
	case WORD_POLICY:
		return policies;
	case WORD_PERSIST:
		return actions;
	case WORD_JOURNAL:
		return journal_actions;
	case WORD_SLURM:
		return modes;
	case WORD_PROFILE:
		return profiles;
	case WORD_BENCH:
		return measurements;
	case WORD_BETTER:
		return betters;
	case WORD_STACK:
		return stack_parts;
	case WORD_CLUSTER:
		return cluster_parts;
	case WORD_DIAGNOSE:
		return diagnoses;
	case WORD_GOAL:
		return goals;
	case WORD_KIND:
		return kinds;
	case WORD_PREDICT:
		return predictions;
	case WORD_PARALLEL:
		return parallels;
	case WORD_PRECISION:
		return precisions;
	case WORD_CHECKPOINTING:
		return checkpointings;
	case WORD_OPTIMIZER:
		return optimizers;
	case WORD_ATTENTION:
		return attentions;
	case WORD_SHELL:
		return shells;
	default:
		return NULL;
	}
}

bool word_is_free(enum word_kind k)
{
	return k == WORD_TEXT || k == WORD_NUMBER || k == WORD_COUNT || k == WORD_TIME;
}
