/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a GPU under full load does tells what is wrong with it: pure, from samples and from what is
 * known of the hardware to a verdict with its remedy.
 */
#ifndef BENCH_GPU_LOAD_H
#define BENCH_GPU_LOAD_H

#include <stddef.h>

/* About a second under load. Negative: not known. */
struct gpu_load_sample {
	double seconds;	  /* that it took */
	double tflop_s;	  /* products of BF16 */
	double copy_gb_s; /* within the GPU, bytes read and written */
	double mhz;	  /* of the multiprocessors */
	double power_w, temperature_c, busy_percent;
	long long reasons; /* bits of machine/model/gpu.h */
	/* Of this sample's time, in seconds. */
	double capped_s, warm_s, brake_s;
	long long link_gen, link_width;
};

/* What does not change, and is compared with. Negative: not known. */
struct gpu_load_facts {
	const char *name;
	long long link_gen_max, link_width_max; /* of what card and slot can do together */
	double limit_w, limit_default_w;
};

enum gpu_load_verdict {
	GPU_LOAD_HEALTHY,
	GPU_LOAD_THERMAL,
	GPU_LOAD_BRAKE, /* the server holds it back */
	GPU_LOAD_LATCH, /* power delivery stuck low */
	GPU_LOAD_LINK,
	GPU_LOAD_CAPPED, /* by a limit below its default */
	GPU_LOAD_SLOW,	 /* and nothing says why */
	GPU_LOAD_UNKNOWN,
	GPU_LOAD_VERDICTS
};

/* Thresholds of one piece of hardware. */
struct gpu_load_limit {
	const char *name;	   /* NVML's */
	double tflop_s, copy_gb_s; /* below: slow */
	/* Below both at full use, without any reason told: the latch. */
	double latch_mhz, latch_w;
	const char *source, *date;
};

extern const struct gpu_load_limit gpu_load_limits[];
extern const size_t gpu_load_limit_count;
/* NULL when nothing is known of it. */
const struct gpu_load_limit *gpu_load_limit_of(const char *name);

struct gpu_load_answer {
	enum gpu_load_verdict verdict;
	/* Medians of the second half, and shares of its time in percent; negative: not known. */
	double tflop_s, copy_gb_s, mhz, power_w, temperature_c;
	double capped, warm, brake;
	char text[320];	  /* what was seen */
	char remedy[256]; /* "" when there is nothing to do */
};

/* limit: NULL when nothing is known. Fewer than 4 samples: unknown. */
void gpu_load_judge(const struct gpu_load_sample *s, size_t n, const struct gpu_load_facts *f,
		    const struct gpu_load_limit *limit, struct gpu_load_answer *out);
/* "healthy", "thermal", "power-brake", "power-latch", "link", "power-cap", "slow", "unknown" */
const char *gpu_load_verdict_name(enum gpu_load_verdict v);

#endif
