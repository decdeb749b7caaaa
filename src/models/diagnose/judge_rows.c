/* SPDX-License-Identifier: Apache-2.0 */
/* The causes: one row each, with what mends it and what would show it. */
#include "models/diagnose/judge.h"

#define TRACE                                                                                      \
	"a trace of some steps by torch.profiler: with profile(...) as p: ...; "                   \
	"p.export_chrome_trace(FILE)"
#define NSYS "nsys profile -t cuda,nvtx,nccl -o run COMMAND; nsys export -t sqlite run.nsys-rep"
#define RECORD "gputune record -o job.rec -- COMMAND"
#define NCCL_LOG "the log of a run with NCCL_DEBUG=INFO NCCL_DEBUG_SUBSYS=INIT,GRAPH,NET,ENV"

const struct cause_row cause_rows[] = {
	{ "loader", "the data loader is too slow", rule_loader,
	  "more loader workers (num_workers, prefetch_factor, persistent_workers), tokenise "
	  "before, "
	  "keep the data on a local disk",
	  TRACE, "loader" },
	{ "disk", "data wait for a disk", rule_disk,
	  "a faster or local disk, larger reads, memory for the page cache", RECORD, NULL },
	{ "small-batch", "too little work a step: the micro-batch is too small", rule_small_batch,
	  "a larger micro-batch; longer sequences or packing", TRACE, "micro-batch" },
	{ "launch", "the GPU waits for launches", rule_launch,
	  "a larger micro-batch, torch.compile or CUDA graphs, fused optimizer and norms", NSYS,
	  "compile" },
	{ "sync", "the host waits for the GPU or writes logs in every step", rule_sync,
	  "fetch figures (.item(), print, grad norms) every 10 to 100 steps, and log from another "
	  "thread",
	  TRACE, NULL },
	{ "checkpoint", "checkpoints are saved inside the loop", rule_checkpoint,
	  "save less often, asynchronously (torch.distributed.checkpoint async_save), or to a "
	  "local "
	  "disk first",
	  "lines that say how long saving takes", NULL },
	{ "starved", "the CPUs are too few or shared", rule_starved,
	  "as many CPUs as ranks and loader workers need: cgroup, --cpus-per-task, numactl; "
	  "OMP_NUM_THREADS",
	  RECORD, NULL },
	{ "thread", "one thread of the host is the limit", rule_thread,
	  "less Python between launches: torch.compile, CUDA graphs; the governor \"performance\"",
	  RECORD, NULL },
	{ "overlap", "communication is not hidden behind computation", rule_overlap,
	  "gradients in buckets during the backward pass (DDP with bucket_cap_mb, FSDP backward "
	  "prefetch, overlap_comm, --overlap-grad-reduce); no_sync() while accumulating",
	  TRACE, "overlap" },
	{ "network", "collectives take longer than there is to hide them behind", rule_network,
	  "check the links (gputune check, bench collectives); fewer bytes: accumulate gradients, "
	  "reduce in BF16, shard inside a machine",
	  NCCL_LOG, "no-sync" },
	{ "straggler", "one rank is slower than the others", rule_straggler,
	  "look at that rank's machine: gputune check and doctor there; its clocks, its loader, "
	  "its "
	  "share of the work",
	  "logs or traces of every rank, each with its rank's number", NULL },
	{ "uneven", "ranks take turns in being late", rule_uneven,
	  "sort or pack sequences by length, balance experts (auxiliary loss, capacity), no other "
	  "jobs beside",
	  "logs or traces of every rank, each with its rank's number", NULL },
	{ "scaling", "more GPUs give too little", rule_scaling,
	  "what to measure stands in the sentence", NULL, NULL },
	{ "socket", "NCCL goes over TCP sockets", rule_socket,
	  "let NCCL have the RDMA ports: NCCL_IB_DISABLE unset, libibverbs in the container, "
	  "NCCL_IB_HCA, NCCL_NET_PLUGIN",
	  NCCL_LOG, NULL },
	{ "peer", "GPUs of a machine do not reach each other directly", rule_peer,
	  "NCCL_P2P_DISABLE unset, IOMMU and ACS off, one container with all GPUs; gputune check",
	  NCCL_LOG, NULL },
	{ "forced", "NCCL is told what it would choose better", rule_forced,
	  "take the variable away and measure again: gputune bench collectives", NULL, NULL },
	{ "nccl-warning", "NCCL complains", rule_warning, "read the line", NULL, NULL },
	{ "throttled", "the GPU is held back by power or heat", rule_throttled,
	  "cooling, the power limit; gputune doctor gpu.too-warm, gpu.power-cap", RECORD, NULL },
	{ "memory", "GPU memory is nearly full", rule_memory,
	  "a smaller micro-batch, expandable_segments:True, sharded states; leave 5 % free", RECORD,
	  "zero-1" },
	{ "recompute", "activations are recomputed though memory is free", rule_recompute,
	  "no or selective activation checkpointing", RECORD, "no-checkpointing" },
	{ "precision", "matrix products run in a slow format", rule_precision,
	  "autocast or BF16 weights; torch.set_float32_matmul_precision(\"high\")", NSYS, "bf16" },
	{ "pageable", "copies from memory that is not pinned", rule_pageable,
	  "pin_memory=True and non_blocking=True", NSYS, NULL },
	{ "accumulation", "gradients are summed over all ranks in every micro-batch",
	  rule_accumulation, "accumulate gradients under no_sync()", NULL, "no-sync" },
	{ "drift", "steps get slower", rule_drift,
	  "look at clocks, memory and page cache over the time of the run", NULL, NULL },
	{ "idle", "the GPU has nothing to do", rule_idle,
	  "the other causes say why where that was seen", NSYS, NULL },
};
const size_t cause_rows_n = sizeof(cause_rows) / sizeof(cause_rows[0]);
