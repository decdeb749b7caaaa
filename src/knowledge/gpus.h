/* SPDX-License-Identifier: Apache-2.0 */
/* GPUs by data sheet: rows of gpus.rows. */
#ifndef KNOWLEDGE_GPUS_H
#define KNOWLEDGE_GPUS_H

#include "base/rows.h"

/* Dense, without sparsity. TFLOP/s, GB/s, GB. 0: it has none. */
struct gpu_kind {
	const char *name; /* as NVML gives it: "NVIDIA H100 80GB HBM3" */
	const char *keys; /* words that name it, separated by blanks; letters and digits alone */
	double memory, bandwidth;
	double half, fp8, fp4, int8;
	double fp32;   /* without tensor cores; 0: not known */
	double tf32;   /* 0: not known; the benches of products take rows that tell it */
	double fp64;   /* with tensor cores where it has such */
	double link;   /* one way to another GPU of the same machine; 0: none is there */
	int per_node;  /* GPUs of a machine, or of a rack that one link joins */
	int joined;    /* GPUs that the link joins, PCIe the others; 0: all of a machine */
	double shown;  /* MiB that a driver shows; 0: not known */
	bool unified;  /* the GPU shares its memory with the CPU and the page cache */
	bool server;   /* HBM: calibrated on H100 and H200 */
	bool measured; /* runs on it are rows of measured.csv: constants and intervals are of them
			*/
	const char *source, *date;
	const char *math_source; /* of half to fp64 */
};

extern const struct row_table gpu_table;
extern const struct gpu_kind gpu_kinds[];
extern const size_t n_gpu_kinds;

#endif
