/* SPDX-License-Identifier: Apache-2.0 */
/* The table of ncu's metrics that count for a roofline, and reading their values. */
#include "models/inference/roofline_metric.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"

/* A row of the table: how the metric's name begins and ends. */
struct metric {
	const char *begins, *ends;
	enum ncu_kind kind;
	enum roof_math math;
	double weight; /* operations a count */
};

/* sass: counts of threads' instructions, a fused one is two operations. path: operations. */
static const struct metric metrics[] = {
	{ "gpu__time_duration", "", M_TIME, ROOF_MATHS, 1 },
	{ "Duration", "", M_TIME, ROOF_MATHS, 1 },
	{ "dram__bytes.sum.per_second", "", M_BYTES_S, ROOF_MATHS, 1 },
	{ "dram__bytes.sum", "", M_BYTES, ROOF_MATHS, 1 },
	{ "dram__bytes_read.sum", "", M_READ, ROOF_MATHS, 1 },
	{ "dram__bytes_write.sum", "", M_WRITE, ROOF_MATHS, 1 },
	{ "smsp__cycles_elapsed.avg.per_second", "", M_CYCLES_S, ROOF_MATHS, 1 },
	{ "sm__cycles_elapsed.avg.per_second", "", M_CYCLES_S, ROOF_MATHS, 1 },
	{ "sass_thread_inst_executed_op_fadd_pred_on.sum", "", M_OPS, ROOF_FP32, 1 },
	{ "sass_thread_inst_executed_op_fmul_pred_on.sum", "", M_OPS, ROOF_FP32, 1 },
	{ "sass_thread_inst_executed_op_ffma_pred_on.sum", "", M_OPS, ROOF_FP32, 2 },
	{ "sass_thread_inst_executed_op_dadd_pred_on.sum", "", M_OPS, ROOF_FP64, 1 },
	{ "sass_thread_inst_executed_op_dmul_pred_on.sum", "", M_OPS, ROOF_FP64, 1 },
	{ "sass_thread_inst_executed_op_dfma_pred_on.sum", "", M_OPS, ROOF_FP64, 2 },
	{ "ops_path_tensor", "src_fp64", M_OPS, ROOF_FP64_TENSOR, 1 },
	{ "ops_path_tensor", "src_tf32", M_OPS, ROOF_TF32, 1 },
	{ "ops_path_tensor", "src_fp16", M_OPS, ROOF_HALF, 1 },
	{ "ops_path_tensor", "src_bf16", M_OPS, ROOF_HALF, 1 },
	{ "ops_path_tensor", "src_fp8", M_OPS, ROOF_FP8, 1 },
	{ "ops_path_tensor", "src_fp4", M_OPS, ROOF_FP4, 1 },
	{ "ops_path_tensor", "src_int8", M_OPS, ROOF_INT8, 1 },
	{ "pipe_tensor", "", M_TENSOR, ROOF_MATHS, 1 },
	{ "gpu__compute_memory_throughput.avg.pct_of_peak_sustained_elapsed", "", M_MEMORY,
	  ROOF_MATHS, 1 },
	{ "Memory Throughput", "", M_MEMORY, ROOF_MATHS, 1 },
	{ "dram__throughput.avg.pct_of_peak_sustained_elapsed", "", M_DRAM, ROOF_MATHS, 1 },
	{ "DRAM Throughput", "", M_DRAM, ROOF_MATHS, 1 },
	{ "sm__throughput.avg.pct_of_peak_sustained_elapsed", "", M_COMPUTE, ROOF_MATHS, 1 },
	{ "Compute (SM) Throughput", "", M_COMPUTE, ROOF_MATHS, 1 },
	{ "sm__warps_active.avg.pct_of_peak_sustained_active", "", M_OCCUPANCY, ROOF_MATHS, 1 },
	{ "Achieved Occupancy", "", M_OCCUPANCY, ROOF_MATHS, 1 },
	{ "launch__grid_size", "", M_BLOCKS, ROOF_MATHS, 1 },
	{ "Grid Size", "", M_BLOCKS, ROOF_MATHS, 1 },
};

_Static_assert(sizeof(metrics) / sizeof(metrics[0]) == NCU_METRICS, "a place each");

/* Units by their beginning; values are in ms, bytes, bytes a second, per cent. */
static bool scale_of(const char *unit, enum ncu_kind k, double *out)
{
	static const struct {
		const char *name;
		double time, bytes;
	} units[] = {
		{ "nsecond", 1e-6, 0 }, { "usecond", 1e-3, 0 }, { "msecond", 1, 0 },
		{ "second", 1e3, 0 },	{ "ns", 1e-6, 0 },	{ "us", 1e-3, 0 },
		{ "ms", 1, 0 },		{ "Kbyte", 0, 1e3 },	{ "Mbyte", 0, 1e6 },
		{ "Gbyte", 0, 1e9 },	{ "Tbyte", 0, 1e12 },	{ "byte", 0, 1 },
		{ "Kbyte", 0, 1e3 },	{ "s", 1e3, 0 },
	};
	bool time = k == M_TIME,
	     bytes = k == M_BYTES || k == M_READ || k == M_WRITE || k == M_BYTES_S;

	*out = 1;
	if (k == M_MEMORY || k == M_DRAM || k == M_COMPUTE || k == M_OCCUPANCY)
		return strcmp(unit, "%") == 0;
	if (k == M_CYCLES_S)
		*out = str_starts(unit, "G") || str_starts(unit, "cycle/n")   ? 1e9
		       : str_starts(unit, "M") || str_starts(unit, "cycle/u") ? 1e6
		       : str_starts(unit, "K")				      ? 1e3
									      : 1;
	if (!time && !bytes)
		return true;
	for (size_t i = 0; i < sizeof(units) / sizeof(units[0]); i++)
		if (str_starts(unit, units[i].name)) {
			*out = time ? units[i].time : units[i].bytes;
			return *out > 0 && (k == M_BYTES_S) == (strchr(unit, '/') != NULL);
		}
	return false;
}

/* "12,943,820" and "1.5"; false: no number. */
static bool value_of(const char *s, double *out)
{
	char plain[64], *end;
	size_t n = 0;

	for (; *s; s++) {
		if (*s == ',')
			continue;
		if (n + 1 >= sizeof(plain))
			return false;
		plain[n++] = *s;
	}
	plain[n] = '\0';
	if (!n || (plain[0] < '0' || plain[0] > '9'))
		return false;
	*out = strtod(plain, &end);
	return *end == '\0' && isfinite(*out) && *out < 1e24;
}

static const struct metric *metric_of(const char *name, bool *per_cycle)
{
	*per_cycle = strstr(name, ".per_cycle_elapsed") != NULL;
	if (strstr(name, "peak_sustained") && !strstr(name, ".pct_of_peak_sustained"))
		return NULL; /* a limit, not what happened */
	for (size_t i = 0; i < sizeof(metrics) / sizeof(metrics[0]); i++) {
		const struct metric *m = &metrics[i];
		const char *at = strstr(name, m->begins);

		if (!at || (m->kind != M_OPS && m->kind != M_TENSOR && at != name) ||
		    (*m->ends && !strstr(name, m->ends)))
			continue;
		if (m->kind == M_OPS && (strstr(name, ".pct") || strstr(name, ".per_second") ||
					 (!strstr(name, ".sum"))))
			continue;
		/* The plain name and its other forms differ in what follows. */
		if ((m->kind == M_BYTES || m->kind == M_READ || m->kind == M_WRITE) &&
		    name[strlen(m->begins)])
			continue;
		return m;
	}
	return NULL;
}

void ncu_take(struct ncu_launch *l, const char *name, const char *unit, const char *text)
{
	bool per_cycle;
	const struct metric *m = metric_of(name, &per_cycle);
	enum ncu_kind kind;
	double v, scale;

	if (!m || !value_of(text, &v))
		return;
	/* "Memory Throughput" is a share in one section and a rate in another. */
	kind = m->kind == M_MEMORY && strstr(unit, "byte") ? M_BYTES_S : m->kind;
	if (!scale_of(unit, kind, &scale))
		return;
	if (kind == M_OPS) {
		struct ncu_count *c = per_cycle ? &l->cycle : &l->all;
		size_t i = (size_t)(m - metrics);

		l->counted = true;
		if (strstr(name, "_dst_"))
			c->parts[i] += v * m->weight;
		else
			c->whole[i] = fmax(c->whole[i], v * m->weight);
	} else {
		l->v[kind] = fmax(l->v[kind], v * scale);
	}
}

double ncu_ops(const struct ncu_launch *l, enum roof_math math)
{
	double cycles = l->v[M_CYCLES_S] * l->v[M_TIME] * 1e-3, sum = 0;

	for (size_t i = 0; i < NCU_METRICS; i++)
		if (metrics[i].kind == M_OPS && metrics[i].math == math) {
			double all = fmax(l->all.whole[i], l->all.parts[i]);

			sum += all > 0 ? all : cycles * fmax(l->cycle.whole[i], l->cycle.parts[i]);
		}
	return sum;
}

double ncu_bytes(const struct ncu_launch *l)
{
	if (l->v[M_BYTES] > 0)
		return l->v[M_BYTES];
	if (l->v[M_READ] + l->v[M_WRITE] > 0)
		return l->v[M_READ] + l->v[M_WRITE];
	return l->v[M_BYTES_S] * l->v[M_TIME] * 1e-3;
}
