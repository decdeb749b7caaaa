/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the GPU benches share: which GPUs are meant, our kernels on each of them, windows of work
 * that are timed by the GPU's own clock, data that can be checked.
 */
#ifndef BENCH_GPU_COMMON_H
#define BENCH_GPU_COMMON_H

#include "measure/bench/bench.h"
#include "machine/cuda/driver.h"
#include "machine/cuda/guard.h"
#include "machine/cuda/kernels.h"

/* The tools of machine/cuda/kernels.h. */
#define GPU_TOOLS(X)                                                                               \
	X(fill)                                                                                    \
	X(check)                                                                                   \
	X(check_triad)                                                                             \
	X(check_write)                                                                             \
	X(add)                                                                                     \
	X(chain)                                                                                   \
	X(chase)                                                                                   \
	X(chase_far)                                                                               \
	X(empty)                                                                                   \
	X(flag)                                                                                    \
	X(spin)                                                                                    \
	X(echo)

struct gpu_tools {
#define GPU_TOOL(name) struct cuda_function *name;
	GPU_TOOLS(GPU_TOOL)
#undef GPU_TOOL
};

/* Shapes of streaming kernels for data in memory and in the cache; the fastest is found once. */
enum { GPU_FAR, GPU_NEAR, GPU_PLACES };

/* One GPU that was asked for. Lives as long as the run; so does its context. */
struct gpu_place {
	struct cuda_gpu *gpu;
	const struct gpu *facts; /* NULL: the driver's management library did not tell */
	unsigned index;		 /* NVML's, or CUDA's without facts */
	struct cuda_module *module, *streams[CUDA_OPS];
	struct gpu_tools tools;
	const struct cuda_shape *best[CUDA_OPS][GPU_PLACES];
};

struct gpu_places {
	struct gpu_place *items;
	size_t n;
};

/*
 * The GPUs of --gpus (indices as "show gpu" counts, or UUIDs from their beginning), or all. Without
 * any: out->n is 0 and cases->none says why, cases->usage when it is because of --gpus.
 */
void gpu_places_find(const struct bench_env *env, struct bench_cases *cases,
		     struct gpu_places *out);
/* Its context current in this thread, our kernels loaded. Says who uses a GPU that is exclusive. */
int gpu_place_open(struct gpu_place *p, struct err *e);
/* The same without our kernels. */
int gpu_place_use(struct gpu_place *p, struct err *e);
/* "GPU 0 (NVIDIA H200, 0000:18:00.0)", and that it is a slice when it is one. */
const char *gpu_place_text(struct arena *a, const struct gpu_place *p);
/* cuda_alloc that says who uses the GPU when there is no room. */
int gpu_alloc(struct gpu_place *p, size_t bytes, cuda_address *out, struct err *e);
/* The kernel of that shape; its module is loaded at the first call. */
int gpu_stream_kernel(struct gpu_place *p, const struct cuda_shape *s, struct cuda_function **out,
		      struct err *e);

/* --- windows ---------------------------------------------------------------------------------- */
struct gpu_lane {
	struct gpu_place *place;
	struct cuda_stream *s;
	struct cuda_event *from, *to;
	double seconds; /* of the last window */
};

struct gpu_timer {
	struct cuda_guard guard; /* from make to end: touched by every window, wait and check */
	struct cuda_gate gate;
	struct gpu_lane *lane;
	size_t n;
};

/* One stream for each place (a place may come twice). Opened places only. t stays where it is. */
int gpu_timer_make(struct gpu_timer *t, struct gpu_place *const *places, size_t n, struct err *e);
void gpu_timer_end(struct gpu_timer *t);

/* Queues the work of one lane n times. */
typedef int gpu_work(void *ctx, size_t lane, struct err *e);
/* One window: work n times in every lane. */
int gpu_window(struct gpu_timer *t, gpu_work *work, void *ctx, size_t n, double *seconds,
	       struct err *e);
/* How often the work fits in that many seconds, from a window of one after another to warm up. */
int gpu_window_fit(struct gpu_timer *t, gpu_work *work, void *ctx, double seconds, size_t *n,
		   struct err *e);

/* --- data ------------------------------------------------------------------------------------- */
/* What memory should hold. */
struct gpu_data {
	uint64_t seed;
	bool floats; /* two floats between 1 and 2 a word */
};

/* Fills bytes (a multiple of 8) at that address, and waits. */
int gpu_fill(struct gpu_place *p, struct gpu_timer *t, cuda_address at, size_t bytes,
	     struct gpu_data d, struct err *e);
/* Every bit 0xa5: what was not written shows. Waits. */
int gpu_poison(struct gpu_place *p, struct gpu_timer *t, cuda_address at, size_t bytes,
	       struct err *e);

enum gpu_check {
	GPU_CHECK_DATA,
	GPU_CHECK_TRIAD, /* of floats: d.seed's words and second's */
	GPU_CHECK_WRITE, /* what a write kernel leaves */
	GPU_CHECK_SET	 /* gpu_set_word in every word of 32 bits */
};
unsigned gpu_set_word(struct gpu_data d);

/*
 * Compares memory with what it should hold; what names it in the sentence ("the copy"). Then one
 * bit is turned and the comparison must find it, so that a blind check is not taken for a good
 * result. second: the other array of a triad.
 */
int gpu_verify(struct gpu_place *p, struct gpu_timer *t, enum gpu_check how, cuda_address at,
	       size_t bytes, struct gpu_data d, uint64_t second, const char *what, struct err *e);
/* The sum of the words of d. */
int gpu_sum(struct gpu_place *p, struct gpu_timer *t, size_t bytes, struct gpu_data d,
	    uint64_t *out, struct err *e);

/*
 * What NVML tells about a GPU under load, through a backend of its own: clocks, power, temperature,
 * why it is slow, and for how long it was.
 */

/* Negative: not known. */
struct gpu_look {
	double at_s; /* monotonic */
	double sm_mhz, memory_mhz;
	double power_w; /* mean of the last second on most chips */
	double temperature_c;
	double busy_percent;
	long long reasons; /* bits of machine/model/gpu.h */
	/* Totals since the driver was loaded, in microseconds: the power cap held it, it was too
	 * warm (driver and hardware), the power brake was pulled from outside. */
	double capped_us, warm_us, brake_us;
	long long link_gen, link_width; /* of PCI Express at this moment */
};

struct gpu_watch {
	struct host *h; /* NULL: NVML does not know the GPU */
	char object[16];
};

void gpu_watch_open(struct gpu_watch *w, const struct gpu_place *p);
void gpu_watch_close(struct gpu_watch *w);
/* Power and temperature alone: two calls. */
void gpu_watch_brief(const struct gpu_watch *w, struct gpu_look *out);
void gpu_watch_look(const struct gpu_watch *w, struct gpu_look *out);

/* work(ctx, i) for every i below n, each in a thread of its own when there are several; returns
 * when all are done. */
void gpu_each(size_t n, void (*work)(void *ctx, size_t i), void *ctx);

/*
 * What held a GPU back while it was measured: the totals that its driver keeps, before and after.
 * A bit mask that is looked at now and then misses what is short; totals do not.
 */

struct gpu_state {
	struct gpu_watch watch;
	struct gpu_look before;
	bool begun;
};

void gpu_state_begin(struct gpu_state *s, const struct gpu_place *p);
/* Appends to text what held it for more than a hundredth of the time, nothing on a free run:
 * "; held by its power cap 12 % of the time". Ends s. */
void gpu_state_end(struct gpu_state *s, char *text, size_t size);
/* Appends how the PCI Express link runs now, while it is used, when that is less than it could:
 * "; its link runs at generation 3 with 8 lanes, not 5 with 16". */
void gpu_state_link(const struct gpu_place *p, char *text, size_t size);

#endif
