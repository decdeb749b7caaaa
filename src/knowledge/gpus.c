/* SPDX-License-Identifier: Apache-2.0 */
/* The columns of gpus.rows. */
#include "knowledge/gpus.h"

#include <ctype.h>

#define G struct gpu_kind

static const struct row_column gpu_columns[] = {
	ROW_NAME(G, name, .meaning = "as NVML gives it"),
	ROW_TEXT(G, keys, "keys", .required = true,
		 .meaning = "words that name it, of small letters and digits alone, with blanks "
			    "between"),
	ROW_REAL(G, memory, "memory", .min = 1, .max = 1e5, .required = true, .unit = "GB",
		 .meaning = "memory by data sheet"),
	ROW_REAL(G, bandwidth, "bandwidth", .min = 1, .max = 1e6, .required = true, .unit = "GB/s",
		 .meaning = "memory bandwidth by data sheet"),
	ROW_REAL(G, half, "half", .min = 0.1, .max = 1e6, .required = true, .unit = "TFLOP/s",
		 .meaning = "BF16 and FP16 with tensor cores, without sparsity"),
	ROW_REAL(G, fp8, "fp8", .max = 1e6, .unit = "TFLOP/s",
		 .meaning = "FP8, without sparsity; 0: it has none"),
	ROW_REAL(G, fp4, "fp4", .max = 1e6, .unit = "TFLOP/s",
		 .meaning = "FP4, without sparsity; 0: it has none"),
	ROW_REAL(G, int8, "int8", .max = 1e6, .unit = "TOP/s",
		 .meaning = "INT8, without sparsity; 0: it has none"),
	ROW_REAL(G, fp32, "fp32", .max = 1e6, .unit = "TFLOP/s",
		 .meaning = "FP32 without tensor cores; not told: a sixteenth of half"),
	ROW_REAL(G, tf32, "tf32", .max = 1e6, .unit = "TFLOP/s",
		 .meaning = "TF32, without sparsity; with it the row is a limit of benches"),
	ROW_REAL(G, fp64, "fp64", .max = 1e6, .unit = "TFLOP/s",
		 .meaning = "FP64, with tensor cores where it has such"),
	ROW_REAL(G, link, "link", .max = 1e5, .unit = "GB/s",
		 .meaning = "one way to another GPU of the same machine; 0: none is there"),
	ROW_COUNT(G, per_node, "per_node", .min = 1, .max = 1024, .required = true,
		  .meaning = "GPUs of a machine, or of a rack that one link joins"),
	ROW_COUNT(G, joined, "joined", .max = 1024,
		  .meaning = "GPUs that the link joins, PCIe the others; 0: all of a machine"),
	ROW_REAL(G, shown, "shown", .max = 1e9, .unit = "MiB",
		 .meaning = "memory that a driver shows; 0: nobody has looked"),
	ROW_FLAG(G, unified, "unified", .meaning = "shares its memory with the CPU"),
	ROW_FLAG(G, server, "server", .meaning = "has HBM"),
	ROW_FLAG(G, measured, "measured", .meaning = "predictions were calibrated on runs on it"),
	ROW_TEXT(G, source, "source", .required = true, .meaning = "where the figures are from"),
	ROW_DATE(G, date, "date", .required = true, .meaning = "of the source"),
	ROW_TEXT(G, math_source, "math_source",
		 .meaning = "where half to fp64 are from; not told: source"),
};

static const char *finish_gpu(void *row)
{
	struct gpu_kind *g = row;

	for (const char *s = g->keys; *s; s++)
		if (*s != ' ' && !isdigit((unsigned char)*s) && !islower((unsigned char)*s))
			return "keys are of small letters and digits, with blanks between";
	if (!g->math_source)
		g->math_source = g->source;
	return NULL;
}

const struct row_table gpu_table = ROW_TABLE("gpus", struct gpu_kind, gpu_kinds, "knowledge/gpus.h",
					     gpu_columns, .finish = finish_gpu);
