/* SPDX-License-Identifier: Apache-2.0 */
/* Judging points: which roof is above each, how far below it is, and what to try next. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "models/inference/roofline.h"
#include "base/text.h"

const char *const roof_math_names[ROOF_MATHS + 1] = { "fp64", "fp32", "fp64_tensor",
						      "tf32", "half", "fp8",
						      "fp4",  "int8", "unknown" };
const char *const roof_bound_names[BOUNDS] = { "unknown", "memory", "compute", "latency", "copy" };

/* Below this part of both roofs neither of them is what holds it back. */
static const double near_roof = 0.6;
/* A kernel this short is about as long as starting it takes, us. */
static const double short_us = 5;
/* Below this part of the span the GPU waits for the host. */
static const double busy_enough = 0.8;

struct roof_point *roof_point_of(struct arena *a, struct roof_profile *p, const char *name)
{
	void **at;

	if (p->n >= ROOF_POINTS_MAX && !map_get(&p->by_name, name))
		return NULL;
	at = map_at(a, &p->by_name, name);
	if (!*at) {
		size_t *i = ARENA_NEW(a, size_t);

		*i = p->n;
		*at = i;
		ARENA_ADD(a, p->points, p->n) =
			(struct roof_point){ .name = map_key(at), .math = ROOF_MATHS };
	}
	return &p->points[*(size_t *)*at];
}

static double each_us(const struct roof_point *p)
{
	return p->launches > 0 ? 1e3 * p->time_ms / p->launches : 0;
}

static void infer_roofline_rates(const struct roof *r, struct roof_point *p)
{
	double s = p->time_ms * 1e-3;

	p->tflops = s > 0 ? p->ops / s / 1e12 : 0;
	p->gb_s = s > 0 ? p->bytes / s / 1e9 : 0;
	if (p->ops > 0 && p->bytes > 0 && !p->other_math)
		p->intensity = p->ops / p->bytes;
	if (p->copy)
		return;
	if (p->gb_s > 0 && r->memory.value > 0)
		p->memory_share = p->gb_s / r->memory.value;
	if (p->tflops > 0 && p->math < ROOF_MATHS && r->math[p->math].value > 0 && !p->other_math)
		p->compute_share = p->tflops / r->math[p->math].value;
}

/* --- what to try ------------------------------------------------------------------------------ */

static const char *infer_roofline_next_of(struct arena *a, const struct roof_point *p)
{
	switch (p->bound) {
	case BOUND_MEMORY:
		if (p->cache_share >= near_roof && p->memory_share < near_roof)
			return "the caches are the limit: use wider loads, avoid bank conflicts, "
			       "keep reused data in registers; ncu --set full shows which cache";
		return "read and write less: fuse it with neighboring kernels, keep reused data in "
		       "shared memory or L2, use a narrower format; bytes per launch must fall in "
		       "the next measurement";
	case BOUND_COMPUTE:
		return p->math == ROOF_FP64 || p->math == ROOF_FP32
			       ? "use tensor cores or a narrower format; then check the clock: "
				 "gputune bench gemm measures this GPU under load"
			       : "use a narrower format or less work; then check the clock: "
				 "gputune bench gemm measures this GPU under load";
	case BOUND_LATENCY:
		return each_us(p) > 0 && each_us(p) < short_us
			       ? "launch less: fuse small kernels, use CUDA graphs; the number of "
				 "launches must fall in the next measurement"
			       : "add parallel work: a larger batch, more blocks (split-K), more "
				 "loads in flight; ncu --set full shows occupancy and stall "
				 "reasons";
	case BOUND_COPY:
		return "copy less, or overlap it with compute: pinned memory, streams, keep data "
		       "on the GPU; gputune bench copy measures the path";
	default:
		return arena_printf(a, "profile it: \"ncu --set roofline --csv --page raw "
				       "--launch-skip 10 --launch-count 3 --kernel-name NAME\", "
				       "then \"gputune roofline --ncu FILE\"");
	}
}

/* --- judging ---------------------------------------------------------------------------------- */

static const char *percent(struct arena *a, double part)
{
	return arena_printf(a, part < 0.095 ? "%.1f %%" : "%.0f %%", 100 * part);
}

static void judge_copy(struct arena *a, const struct roof *r, struct roof_point *p)
{
	const struct roof_limit *limit = &r->copy[p->way];

	p->bound = BOUND_COPY;
	if (!(p->gb_s > 0)) {
		p->why = "no byte counts: the profile has no memory sizes";
		return;
	}
	if (!(limit->value > 0)) {
		p->why = arena_printf(a, "%.3g GB/s; limit of the path unknown", p->gb_s);
		return;
	}
	p->reached = p->gb_s / limit->value;
	p->why = arena_printf(a, "%.3g of %.3g GB/s (%s), %s", p->gb_s, limit->value,
			      limit->measured ? "measured" : "data sheet", percent(a, p->reached));
}

/* Both shares are known, or one is and the other is nought. */
static void judge_shares(struct arena *a, struct roof_point *p)
{
	double m = fmax(p->memory_share, p->cache_share), c = p->compute_share;
	/* As L1 and L2 may be busy with what never comes to DRAM. */
	bool inside = p->cache_share > p->memory_share;
	const char *both =
		arena_printf(a, "%s of %s, %s%s%s of %s", percent(a, m),
			     inside ? "the busiest of L1, L2 and DRAM" : "memory",
			     inside && p->memory_share > 0 ? percent(a, p->memory_share) : "",
			     inside && p->memory_share > 0 ? " of DRAM, " : "", percent(a, c),
			     p->math < ROOF_MATHS ? roof_math_names[p->math] : "arithmetic");

	p->reached = fmax(m, c);
	p->over = p->reached > 1.05;
	if (p->reached < near_roof) {
		p->bound = BOUND_LATENCY;
		p->why = arena_printf(a, "%s: neither is the limit", both);
	} else {
		p->bound = m >= c ? BOUND_MEMORY : BOUND_COMPUTE;
		p->why = both;
	}
	if (p->over)
		p->why = arena_printf(a,
				      "%s: above the roof, so the limit or a count is wrong "
				      "(caches are faster than memory)",
				      both);
}

static void judge_time(struct arena *a, const struct roof *r, struct roof_point *p)
{
	double us = each_us(p);

	if (us > 0 && us < short_us) {
		p->bound = BOUND_LATENCY;
		p->why = r->launch.value > 0
				 ? arena_printf(a,
						"%.2f us per launch; the interval between two "
						"empty kernels is %.2f us here (measured)",
						us, r->launch.value)
				 : arena_printf(a,
						"%.2f us per launch: close to the launch overhead",
						us);
	} else if (p->blocks > 0 && r->sms > 0 && p->blocks < r->sms) {
		p->bound = BOUND_LATENCY;
		p->why = arena_printf(
			a, "%.0f blocks per launch for %.0f SMs: part of the GPU is idle",
			p->blocks, r->sms);
	} else {
		p->bound = BOUND_UNKNOWN;
		p->why = p->counted ? p->counted
				    : "operations and bytes are not counted, and cannot be derived "
				      "from the kernel's name";
	}
}

static void infer_roofline_judge(struct arena *a, const struct roof *r, struct roof_point *p)
{
	infer_roofline_rates(r, p);
	if (p->copy)
		judge_copy(a, r, p);
	else if (p->memory_share > 0 || p->cache_share > 0 || p->compute_share > 0) {
		double memory = fmax(p->memory_share, p->cache_share);
		/* Without the other half of the picture a low share says nothing. */
		bool whole = (memory > 0 && p->compute_share > 0) ||
			     fmax(memory, p->compute_share) >= near_roof ||
			     (p->bytes > 0 && p->ops <= 0 && !p->other_math && p->counted);

		if (whole)
			judge_shares(a, p);
		else
			judge_time(a, r, p);
	} else
		judge_time(a, r, p);
	p->next = infer_roofline_next_of(a, p);
}

static int by_time(const void *x, const void *y)
{
	double a = ((const struct roof_point *)x)->time_ms,
	       b = ((const struct roof_point *)y)->time_ms;

	return a < b   ? 1
	       : a > b ? -1
		       : strcmp(((const struct roof_point *)x)->name,
				((const struct roof_point *)y)->name);
}

/* The farthest below its roof first. */
static int by_reach(const void *x, const void *y)
{
	double a = ((const struct roof_point *)x)->reached,
	       b = ((const struct roof_point *)y)->reached;

	return a < b ? -1 : a > b;
}

void roof_judge(struct arena *a, const struct roof *r, struct roof_profile *p)
{
	p->all_ms = 0;
	for (size_t i = 0; i < p->n; i++)
		p->all_ms += p->points[i].time_ms;
	for (size_t i = 0; i < p->n; i++) {
		infer_roofline_judge(a, r, &p->points[i]);
		p->points[i].share_of_time =
			p->all_ms > 0 && !p->separate ? p->points[i].time_ms / p->all_ms : 0;
	}
	if (p->n)
		qsort(p->points, p->n, sizeof(*p->points), p->separate ? by_reach : by_time);
	p->by_name = (struct map){ 0 };
	if (p->span_ms > 0 && p->busy_ms > 0 && p->busy_ms < busy_enough * p->span_ms)
		p->host_bound =
			arena_printf(a,
				     "the GPU was busy for %.1f of %.1f ms (%s), and waited for "
				     "host or data in the rest. Before tuning kernels, use fewer "
				     "and longer kernels, CUDA graphs, and loader prefetch",
				     p->busy_ms, p->span_ms, percent(a, p->busy_ms / p->span_ms));
}

/* The table of ncu's metrics that count for a roofline, and reading their values. */

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
static bool infer_roofline_scale_of(const char *unit, enum ncu_kind k, double *out)
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
static bool infer_roofline_value_of(const char *s, double *out)
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

	if (!m || !infer_roofline_value_of(text, &v))
		return;
	/* "Memory Throughput" is a share in one section and a rate in another. */
	kind = m->kind == M_MEMORY && strstr(unit, "byte") ? M_BYTES_S : m->kind;
	if (!infer_roofline_scale_of(unit, kind, &scale))
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
