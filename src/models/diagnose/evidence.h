/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What is known of a training run: figures as people's files state them, each with the place where
 * it stands. Readers (logs, traces, recordings) only add; the judge (diagnose.h) only reads.
 * Nothing is averaged or guessed here, and no reader knows another.
 */
#ifndef DIAGNOSE_EVIDENCE_H
#define DIAGNOSE_EVIDENCE_H

#include <stdbool.h>
#include <stddef.h>

#include "base/arena.h"
#include "base/err.h"

/* What a figure is; figure_types[] (read.c) gives name and unit of each. */
enum figure_kind {
	/* Speed, of one step or over many. */
	FIGURE_STEP_S,		     /* wall-clock seconds of a step (an optimizer step) */
	FIGURE_TOKENS_PER_S,	     /* of all GPUs together */
	FIGURE_TOKENS_PER_S_PER_GPU, /* as torchtitan and Megatron print it */
	FIGURE_SAMPLES_PER_S,	     /* of all GPUs together */
	FIGURE_TFLOPS_PER_GPU,
	FIGURE_MFU, /* 0 to 1, as the log claims it */
	FIGURE_LOSS,
	/* Parts of a step, seconds a step unless the reader says total (see over_s). */
	FIGURE_DATA_S, /* waiting for the next batch */
	FIGURE_FORWARD_S,
	FIGURE_BACKWARD_S,
	FIGURE_OPTIMIZER_S,
	FIGURE_COMPUTE_S, /* kernels other than communication */
	FIGURE_COMM_S,	  /* collective kernels or time in them, hidden or not */
	FIGURE_COMM_EXPOSED_S,
	FIGURE_COPY_S,	       /* host to device and back */
	FIGURE_COPY_EXPOSED_S, /* the same while no kernel runs */
	FIGURE_IDLE_S,	       /* nothing runs on the GPU */
	FIGURE_SYNC_S,	 /* the host waits for the GPU (.item(), logging, cudaStreamSynchronize) */
	FIGURE_LAUNCH_S, /* host time in launching kernels */
	FIGURE_CHECKPOINT_S, /* saving */
	FIGURE_KERNELS,	     /* kernels launched, count */
	/* Communication by itself. */
	FIGURE_BUSBW_GBS, /* 1e9 bytes/s; size in bytes stands in at */
	FIGURE_ALGBW_GBS,
	FIGURE_COLLECTIVE_US, /* time of one collective; size in bytes stands in at */
	/* The machine meanwhile (recordings, dmon). Of one GPU: rank is the GPU's index on its
	   node. */
	FIGURE_GPU_UTIL,    /* 0 to 1: a kernel was resident */
	FIGURE_SM_ACTIVITY, /* 0 to 1: DCGM's or dmon's, where told */
	FIGURE_GPU_POWER_W,
	FIGURE_GPU_POWER_LIMIT_W,
	FIGURE_SM_MHZ,
	FIGURE_SM_MAX_MHZ,
	FIGURE_GPU_C,
	FIGURE_THROTTLED,  /* part of the time, 0 to 1; text names the reason */
	FIGURE_GPU_MEMORY, /* bytes in use */
	FIGURE_GPU_MEMORY_TOTAL,
	FIGURE_CPU_BUSY,    /* of all CPUs, 0 to 1 */
	FIGURE_CPU_ONE_MAX, /* of the busiest CPU, 0 to 1 */
	FIGURE_NET_GBS,	    /* bytes/1e9 a second, both directions of the busiest interface */
	FIGURE_DISK_GBS,
	FIGURE_NVLINK_GBS,
	FIGURE_GPU_MEMORY_BUSY, /* 0 to 1: its memory was read or written */
	FIGURE_DIRTY,		/* bytes that wait to be written to disks */
	FIGURE_WRITTEN,		/* bytes/1e9 a second that a disk writes */
	FIGURE_PCIE_GBS,
	/* What tells one cause from another. */
	FIGURE_ALLOC_RETRIES,	/* count: the allocator gave its cache back and asked again */
	FIGURE_GEMM_S,		/* seconds a step in matrix products; text: "fp32", "bf16", ... */
	FIGURE_COPY_PAGEABLE_S, /* seconds a step in copies from or to memory not pinned */
	FIGURE_SYNCS,		/* count a step: .item(), cudaStreamSynchronize and their like */
	FIGURE_PROCESS_CPUS,	/* CPUs that the job's processes used together */
	FIGURE_THREAD_BUSY,	/* of its busiest thread, 0 to 1; text: the thread's name */
	FIGURE_WAITING_IO,	/* part of the time that waited for a disk, 0 to 1 */
	FIGURE_CPUS,		/* logical CPUs of the machine */
	FIGURE_LONG_IDLE_S,	/* of the idle time, in gaps of 10 ms and longer */
	FIGURE_IDLE_IN_S,	/* seconds a step in which nothing runs on the GPU while the host
				   is in a range that the program marks; text: its name */
	FIGURE_STEP_EXPOSED_S,	/* exposed communication of one step, beside a total of all: ranks
				   are held beside each other by it */
	FIGURE_KINDS,
};

struct figure_type {
	const char *name, *unit;
};
extern const struct figure_type figure_types[FIGURE_KINDS];

/* One figure. */
struct metric_sample {
	enum figure_kind kind;
	double value;
	double at;	  /* what it is a figure of: a message size in bytes, a time in s; NAN */
	double over_s;	  /* the time that it was taken over, seconds; NAN: a step, or not known */
	int rank;	  /* -1: not known or all of them */
	long long step;	  /* -1: a summary */
	const char *text; /* NULL, or what belongs to it: "all_reduce", "SW power cap" */
	size_t file;	  /* index into evidence.files */
	size_t line;	  /* 1 on; 0: the file as a whole */
	/* A sum over over_s (NAN: how long is not known), not of one step. Several of one kind,
	   file and rank with different texts are parts that add up. */
	bool total;
};

/* What a run was, where a file reports it. NAN, 0 or NULL: not known. Each with where it was read.
 */
enum trait_kind {
	TRAIT_FRAMEWORK,  /* "megatron-lm", "deepspeed", "hf-trainer", "lightning", "torchtitan" */
	TRAIT_MODEL,	  /* a name */
	TRAIT_PARAMETERS, /* count */
	TRAIT_GPU,	  /* name as the driver or a log gives it */
	TRAIT_WORLD_SIZE, /* GPUs */
	TRAIT_NODES,
	TRAIT_GLOBAL_BATCH, /* sequences an optimizer step */
	TRAIT_MICRO_BATCH,  /* sequences a GPU and forward pass */
	TRAIT_ACCUMULATION,
	TRAIT_SEQUENCE,	 /* tokens */
	TRAIT_PRECISION, /* "bf16", "fp8" */
	TRAIT_PARALLEL,	 /* "ddp", "fsdp", "zero-3"; at says nothing */
	TRAIT_TP,
	TRAIT_PP,
	TRAIT_CHECKPOINTING, /* activation checkpointing: "full", "selective", "none" */
	TRAIT_WORKERS,	     /* of the loader */
	TRAIT_NCCL_VERSION,
	TRAIT_NCCL_NET,	      /* "Socket", "IB", "AWS Libfabric", as NCCL says "Using network" */
	TRAIT_NCCL_TRANSPORT, /* "P2P/CUMEM", "SHM", "NET/Socket/0"; several are several traits */
	TRAIT_NCCL_ALGO,
	TRAIT_NCCL_CHANNELS,
	TRAIT_VARIABLE,	    /* NAME=value that a log shows to be set */
	TRAIT_COMMAND,	    /* words of the command, of a recording */
	TRAIT_NCCL_DEVICE,  /* "mlx5_0:1/IB", "eth0": what NCCL says it uses */
	TRAIT_NCCL_WARNING, /* what an NCCL WARN says */
	TRAIT_WRONG,	    /* results that a test of collectives found wrong: count */
	TRAIT_PLACE,	    /* where a process was, of sampled stacks; value: share of samples */
	TRAIT_WORK,	    /* what it does other than training a transformer's own weights */
	TRAIT_KINDS,
};

struct run_attribute {
	enum trait_kind kind;
	const char *text; /* as it stood; never NULL */
	double value;	  /* NAN: no number */
	int rank;
	size_t file, line;
};

struct evidence_file {
	const char *path;
	const char *format; /* "megatron-lm log", "nsys cuda_gpu_kern_sum CSV" */
	size_t run;	    /* which run it belongs to: index, in the order of the arguments */
	size_t lines, used; /* lines of it, and lines that told something */
	double begins_s;    /* its time 0, seconds since 1970; 0: not known */
	/* When the job trained by its stacks, seconds since 1970; 0: not known. */
	double trains_from_s, trains_to_s;
};

enum { EVIDENCE_FIGURES_MAX = 1 << 20, EVIDENCE_TRAITS_MAX = 4096, EVIDENCE_FILE_MAX = 1 << 28 };

struct run_evidence {
	struct arena *arena;
	struct evidence_file *files;
	size_t n_files;
	struct metric_sample *figures;
	size_t n_figures;
	struct run_attribute *traits;
	size_t n_traits;
	size_t dropped; /* figures beyond EVIDENCE_FIGURES_MAX, traits beyond EVIDENCE_TRAITS_MAX */
	struct map texts; /* each text once */
};

/* When the run trained by its stacks, seconds since 1970; false: no file has that. */
bool evidence_training(const struct run_evidence *ev, size_t run, double *from_s, double *to_s);

/* How many of n steps are warming-up. */
size_t evidence_warming_up(size_t n);

/* Adds; texts are copied into the arena. A value that is not finite, below zero (but
 * for a loss) or beyond 1e18 is not added: it says that it is not known. */
void evidence_figure(struct run_evidence *ev, struct metric_sample f);
void evidence_trait(struct run_evidence *ev, struct run_attribute t);

/*
 * A format: asked in the order of evidence_formats[]. looks: the first up to 64 KiB of the file,
 * zero-terminated; true when the format is surely this one. read: the whole file as text (zero-
 * terminated, size without the zero; not trusted); adds with .file = file. Returns 0, or -EBADMSG
 * with *e naming the line. A binary format (SQLite, recordings) has .open instead of .read and gets
 * the path.
 */
struct evidence_format {
	const char *name;
	bool (*looks)(const char *head, size_t n, const char *path);
	int (*read)(struct run_evidence *ev, size_t file, const char *text, size_t size,
		    struct err *e);
	int (*open)(struct run_evidence *ev, size_t file, const char *path, struct err *e);
};
extern const struct evidence_format *const evidence_formats[]; /* ends with NULL */

/* Reads path as part of run. 0; -ENOENT and such, -EFBIG, -EBADMSG, or -ENOTSUP when no format
 * knows it, with *e naming the file (and line). What was added before an error stays. */
int evidence_add(struct run_evidence *ev, const char *path, size_t run, struct err *e);

#endif
