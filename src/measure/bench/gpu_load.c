/* SPDX-License-Identifier: Apache-2.0 */
/* The load signature: all GPUs at once under products and copies, and a verdict on each. */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "measure/bench/gemm.h"
#include "measure/bench/gpu_ahead.h"
#include "measure/bench/gpu_load.h"
#include "measure/bench/bench.h"
#include "base/stat.h"
#include "machine/model/gpu.h"

enum { SQUARE = 8192, SMALL = 128, SAMPLES_MAX = 4096, VARIANT_MAX = 2048, WAIT_S = 30 };
#define PRODUCTS_S 0.8
#define COPIES_S 0.15
#define SMALL_S 1e-3
#define SEARCH_S 0.7

enum { FIGURE_RATE, FIGURE_COPY, FIGURE_CLOCK, FIGURE_POWER, FIGURE_TEMPERATURE };

struct load_arg {
	struct gpu_places on;
	struct gemm_shared *shared;
	struct gemm_choice choice;
	bool small;
};

struct lane {
	struct load_arg *arg;
	struct gpu_place *place;
	struct gemm_unit unit;
	struct gpu_watch watch;
	struct gemm_choice choice;
	cuda_address from, to;
	size_t bytes;
	double product_s, copy_s; /* of one */
	struct gpu_look before;	  /* when the sample began */
	struct gpu_load_sample samples[SAMPLES_MAX];
	size_t n;
	struct err e;
	int r;
};

struct load_state {
	struct load_arg *arg;
	struct lane *lanes;
	char *variant;
};

struct work {
	struct load_state *s;
	void (*of)(struct lane *l);
};

static void one_lane(void *ctx, size_t i)
{
	const struct work *w = ctx;

	w->of(&w->s->lanes[i]);
}

static int gpu_load_each(struct load_state *s, void (*of)(struct lane *l), struct err *e)
{
	struct work w = { s, of };

	gpu_each(s->arg->on.n, one_lane, &w);
	for (size_t i = 0; i < s->arg->on.n; i++)
		if (s->lanes[i].r) {
			*e = s->lanes[i].e;
			return s->lanes[i].r;
		}
	return 0;
}

/* --- one GPU ---------------------------------------------------------------------------------- */

/* Far beyond the cache; little of a memory that is shared with the host. */
static size_t copy_bytes(const struct lane *l)
{
	if (l->arg->small)
		return 64 << 10;
	return l->place->gpu->integrated ? 256 << 20 : 512 << 20;
}

static void gpu_load_lane_make(struct lane *l)
{
	uint64_t d = l->arg->small ? SMALL : SQUARE;
	const struct gemm_dims dims = { d, d, d };

	l->r = gemm_unit_make(&l->unit, l->place, &l->arg->shared->lt, gemm_type_find("bf16", 4),
			      dims, &l->e);
	if (l->r == 0)
		l->r = gemm_unit_choose(&l->unit, &l->choice, l->arg->small ? 0.1 : SEARCH_S,
					&l->e);
	if (l->r == 0)
		l->r = gemm_unit_repeat(&l->unit, &l->e);
	l->bytes = copy_bytes(l);
	if (l->r == 0)
		l->r = gpu_alloc(l->place, l->bytes, &l->from, &l->e);
	if (l->r == 0)
		l->r = gpu_alloc(l->place, l->bytes, &l->to, &l->e);
	/* The product's operand is random; its bytes are as good as any. */
	for (size_t at = 0; l->r == 0 && at < l->bytes;) {
		size_t most = gemm_bytes(CODE_BF16, d * d), n = l->bytes - at;

		n = n < most ? n : most;
		l->r = cuda_check(
			l->place->gpu,
			l->place->gpu->api->copy_device(l->from + at, l->unit.a, n, l->unit.stream),
			&l->e, "filling memory");
		at += n;
	}
	gpu_watch_look(&l->watch, &l->before);
}

/* Copies in a row; seconds of one. */
static int gpu_load_copy(struct lane *l, size_t n, struct err *e)
{
	struct gemm_unit *u = &l->unit;
	struct cuda_gpu *g = u->gpu;
	int r = cuda_record(g, u->begin, u->stream, e);

	for (size_t i = 0; i < n && r == 0; i++)
		r = cuda_check(g, g->api->copy_device(l->to, l->from, l->bytes, u->stream), e,
			       "a copy");
	r = r ? r : cuda_record(g, u->end, u->stream, e);
	r = r ? r : cuda_wait_event(g, u->end, WAIT_S, "a series of copies", e);
	r = r ? r : cuda_elapsed(g, u->begin, u->end, &l->copy_s, e);
	l->copy_s /= (double)n;
	return r;
}

static size_t fit(const struct lane *l, double want, double one)
{
	want = l->arg->small ? SMALL_S : want;
	return one > 0 ? (size_t)fmin(fmax(want / one, 1), 5000) : 1;
}

/* What a counter of microseconds gained, in seconds. */
static double gained(double from, double to)
{
	return from < 0 || to < 0 ? -1 : fmax(to - from, 0) / 1e6;
}

static void gpu_load_keep(struct lane *l, const struct gpu_look *during, double mhz)
{
	const struct gemm_dims *d = &l->unit.dims;
	struct gpu_load_sample *s = &l->samples[l->n];
	struct gpu_look after;

	gpu_watch_look(&l->watch, &after);
	*s = (struct gpu_load_sample){
		.seconds = after.at_s - l->before.at_s,
		.tflop_s = 2.0 * (double)(d->m * d->n) * (double)d->k / l->product_s / 1e12,
		.copy_gb_s = 2.0 * (double)l->bytes / l->copy_s / 1e9,
		.mhz = mhz,
		.power_w = during->power_w,
		.temperature_c = during->temperature_c,
		.busy_percent = during->busy_percent,
		.reasons = during->reasons,
		.capped_s = gained(l->before.capped_us, after.capped_us),
		.warm_s = gained(l->before.warm_us, after.warm_us),
		.brake_s = gained(l->before.brake_us, after.brake_us),
		.link_gen = during->link_gen,
		.link_width = during->link_width,
	};
	l->before = after;
	l->n += l->n + 1 < SAMPLES_MAX;
}

static void gpu_load_lane_sample(struct lane *l)
{
	double one = l->product_s > 0 ? l->product_s : l->choice.seconds, mhz = -1;
	size_t n = fit(l, PRODUCTS_S, one);
	struct gpu_look during;

	l->r = gemm_unit_start(&l->unit, n, &l->e);
	gpu_watch_look(&l->watch, &during);
	if (l->r == 0)
		l->r = gemm_unit_finish(&l->unit, n, &l->product_s, &l->e);
	if (l->r == 0)
		l->r = gemm_unit_clock(&l->unit, &mhz, &l->e);
	if (l->r == 0)
		l->r = gemm_unit_repeat(&l->unit, &l->e);
	if (l->r == 0)
		l->r = gpu_load_copy(l, fit(l, COPIES_S, l->copy_s), &l->e);
	if (l->r == 0)
		gpu_load_keep(l, &during, mhz);
}

/* --- the bench's functions -------------------------------------------------------------------- */

static void load_teardown(void *state)
{
	struct load_state *s = state;

	for (size_t i = 0; s->lanes && i < s->arg->on.n; i++) {
		struct lane *l = &s->lanes[i];

		gpu_watch_close(&l->watch);
		if (!l->unit.gpu || !l->unit.gpu->context)
			continue;
		cuda_use(l->unit.gpu, &l->e);
		if (l->unit.stream)
			cuda_wait_stream(l->unit.gpu, l->unit.stream, WAIT_S, "the last copy",
					 &l->e);
		cuda_free(l->unit.gpu, l->from);
		cuda_free(l->unit.gpu, l->to);
		gemm_unit_end(&l->unit);
	}
	free(s->lanes);
}

static int gpu_load_set_up(const struct bench_env *env, struct load_state *s, struct err *e)
{
	int r = gemm_open(s->arg->shared, e);

	s->lanes = heap_array(s->arg->on.n, sizeof(*s->lanes));
	for (size_t i = 0; i < s->arg->on.n; i++) {
		struct lane *l = &s->lanes[i];

		l->arg = s->arg;
		l->place = &s->arg->on.items[i];
		l->choice = s->arg->choice;
		l->unit.stop = env->stop;
		gpu_watch_open(&l->watch, l->place);
	}
	r = r ? r : gpu_load_each(s, gpu_load_lane_make, e);
	if (r == 0)
		s->arg->choice = s->lanes[0].choice;
	return r;
}

static int load_setup(const struct bench_env *env, const struct bench_case *c, void *state,
		      const char **variant, struct err *e)
{
	struct load_state *s = state;
	int r;

	/* The case's own, and kept from one set-up to the next. */
	memcpy(&s->arg, &c->arg, sizeof(s->arg));
	s->variant = arena_alloc(env->a, VARIANT_MAX);
	r = gpu_load_set_up(env, s, e);
	if (r)
		return r;
	*variant = s->variant;
	return 0;
}

static int load_run(void *state, struct bench_sample *out, struct err *e)
{
	struct load_state *s = state;
	int r = gpu_load_each(s, gpu_load_lane_sample, e);
	double *v = out->value;

	if (r)
		return r;
	v[FIGURE_RATE] = v[FIGURE_COPY] = v[FIGURE_CLOCK] = INFINITY;
	v[FIGURE_POWER] = v[FIGURE_TEMPERATURE] = -INFINITY;
	for (size_t i = 0; i < s->arg->on.n; i++) {
		const struct gpu_load_sample *x = &s->lanes[i].samples[s->lanes[i].n - 1];

		v[FIGURE_RATE] = fmin(v[FIGURE_RATE], x->tflop_s);
		v[FIGURE_COPY] = fmin(v[FIGURE_COPY], x->copy_gb_s);
		v[FIGURE_CLOCK] = fmin(v[FIGURE_CLOCK], x->mhz);
		v[FIGURE_POWER] = fmax(v[FIGURE_POWER], x->power_w);
		v[FIGURE_TEMPERATURE] = fmax(v[FIGURE_TEMPERATURE], x->temperature_c);
	}
	return 0;
}

static long long least(long long a, long long b)
{
	return a < 0 || (b >= 0 && b < a) ? b : a;
}

static struct gpu_load_facts gpu_load_facts_of(const struct gpu_place *p)
{
	const struct gpu *g = p->facts;
	struct gpu_load_facts f = { .name = p->gpu->name,
				    .link_gen_max = -1,
				    .link_width_max = -1,
				    .limit_w = -1,
				    .limit_default_w = -1 };

	if (!g)
		return f;
	f.link_gen_max = least(fact_or(&g->pcie_gen_max, -1), fact_or(&g->pcie_gen_device_max, -1));
	f.link_width_max = fact_or(&g->pcie_width_max, -1);
	f.limit_w = (double)fact_or(&g->power_limit_mw, -1) / 1e3;
	f.limit_default_w = (double)fact_or(&g->power_limit_default_mw, -1) / 1e3;
	return f;
}

static int load_verify(void *state, struct err *e)
{
	struct load_state *s = state;
	size_t at = 0;
	int r = 0;

	for (size_t i = 0; i < s->arg->on.n; i++) {
		struct lane *l = &s->lanes[i];
		struct gpu_load_facts f = gpu_load_facts_of(l->place);
		const struct gpu_load_limit *limit = gpu_load_limit_of(f.name);
		struct gpu_load_answer a;

		gpu_load_judge(l->samples, l->n, &f, limit, &a);
		if (at + 1 < VARIANT_MAX)
			at += (size_t)snprintf(s->variant + at, VARIANT_MAX - at, "%sGPU %u %s: %s",
					       i ? "; " : "", l->place->index,
					       gpu_load_verdict_name(a.verdict), a.text);
		if (a.verdict == GPU_LOAD_HEALTHY || a.verdict == GPU_LOAD_UNKNOWN || r)
			continue;
		r = err_set(e, -ENOTRECOVERABLE, "GPU %u: %s: %s; %s", l->place->index,
			    gpu_load_verdict_name(a.verdict), a.text, a.remedy);
	}
	return r;
}

static void load_cases(const struct bench_env *env, struct bench_cases *out)
{
	struct load_arg *arg = ARENA_NEW(env->a, struct load_arg);
	size_t figures = FIGURE_TEMPERATURE + 1;
	const char *list = NULL;

	gpu_places_find(env, out, &arg->on);
	if (!arg->on.n)
		return;
	arg->shared = ARENA_NEW(env->a, struct gemm_shared);
	arg->shared->ahead = env->ahead;
	arg->small = env->small;
	for (size_t i = 0; i < arg->on.n; i++) {
		const struct gpu *g = arg->on.items[i].facts;
		const char *text = gpu_place_text(env->a, &arg->on.items[i]);

		list = list ? arena_printf(env->a, "%s, %s", list, text) : text;
		if (!g || !seen_ok(&g->power_mw.f) || !seen_ok(&g->temperature_c.f))
			figures = FIGURE_CLOCK + 1;
	}
	bench_case_add(
		env->a, out,
		(struct bench_case){ .name = "signature",
				     .setup = "BF16 products and copies, samples of a second",
				     .placement = list,
				     .hardware = arg->on.items[0].gpu->name,
				     .n_figures = figures,
				     .arg = arg });
}

static struct bench_limit load_limit(const struct bench_env *env, const struct bench_case *c)
{
	const struct load_arg *arg = c->arg;

	return gemm_limit_of(env->a, gemm_type_find("bf16", 4), arg->on.items[0].gpu->name);
}

static const struct bench_figure figures[] = {
	[FIGURE_RATE] = { "rate", "products", "tflop_per_s", "TFLOP/s", BENCH_HIGHER },
	[FIGURE_COPY] = { "copy", "copies, read and written", "gb_per_s", "GB/s", BENCH_HIGHER },
	[FIGURE_CLOCK] = { "clock", "clock under load, by the chip's own counter", "mhz", "MHz",
			   BENCH_HIGHER },
	[FIGURE_POWER] = { "power", "power under load, by NVML", "w", "W", BENCH_LOWER },
	[FIGURE_TEMPERATURE] = { "temperature", "temperature under load, by NVML", "c", "C",
				 BENCH_LOWER },
};

const struct bench bench_gpu_load = {
	.name = "gpu-load",
	.title = "GPU behaviour under full load, and whether it is healthy",
	.method = "BF16 products (0.8 s) and copies within the GPU (0.15 s) in turns, on all GPUs "
		  "at once. With several GPUs the slowest rate, the highest temperature and the "
		  "highest power count. Judged by clock, power, temperature, rates and the time of "
		  "each throttle counter, against thresholds for this hardware with their source: "
		  "healthy, thermal, power-brake, power-latch, link, power-cap, slow. Every "
		  "product's bits are compared.",
	.version = 1,
	FIGURES(figures),
	.brief = "-",
	.seconds = 30,
	.rounds = 1,
	.ahead = gpu_preinit_products,
	.cases = load_cases,
	.state_size = sizeof(struct load_state),
	.setup = load_setup,
	.run = load_run,
	.verify = load_verify,
	.teardown = load_teardown,
	.limit = load_limit,
};

/*
 * The rules in the order in which a cause hides the others: heat, the server's brake, the latch,
 * the link, a limit, and what is left without one.
 */

enum { SAMPLES_MIN = 4, JUDGE_SAMPLES_MAX = 4096 };

/* Percent of the time from which on it is no accident. */
#define WARM_SHARE 5.0
#define BRAKE_SHARE 1.0
#define CAPPED_SHARE 20.0
#define BUSY_PERCENT 90.0

const struct gpu_load_limit gpu_load_limits[] = {
	{ "NVIDIA H200", 600, 3900, 1000, 350,
	  "own measurements: BF16 657 to 798 TFLOP/s, copies 4164 to 4257 GB/s; DCGM's sources: "
	  "2950 to 3110 GB/s each way",
	  "2026-11" },
	{ "NVIDIA H100 80GB HBM3", 600, 2540, 1000, 350,
	  "gpu-fryer's reference (730 TFLOP/s), Nebius (729 to 731); DCGM's sources (2540 GB/s)",
	  "2025" },
	{ "NVIDIA B200", 1400, 5430, 1000, 450,
	  "Stas Bekman's table of achievable products (1745 TFLOP/s); DCGM's sources (5430 to "
	  "5870 GB/s)",
	  "2025" },
	{ "NVIDIA GB10", 55, 150, 900, 35,
	  "figures from users: 62 to 97 TFLOP/s by library, copies 161 GB/s; the latch at 500 to "
	  "850 MHz or 15 to 30 W (NVIDIA's DGX Spark forum)",
	  "2026" },
	{ "NVIDIA RTX 6000 Ada Generation", 200, 600, 900, 120,
	  "derived: 55 % of the data sheet's 364 TFLOP/s, 63 % of 960 GB/s; not measured", "2023" },
};
const size_t gpu_load_limit_count = sizeof(gpu_load_limits) / sizeof(gpu_load_limits[0]);

const struct gpu_load_limit *gpu_load_limit_of(const char *name)
{
	for (size_t i = 0; name && i < gpu_load_limit_count; i++)
		if (strcmp(gpu_load_limits[i].name, name) == 0)
			return &gpu_load_limits[i];
	return NULL;
}

const char *gpu_load_verdict_name(enum gpu_load_verdict v)
{
	static const char *const names[GPU_LOAD_VERDICTS] = { "healthy",     "thermal",
							      "power-brake", "power-latch",
							      "link",	     "power-cap",
							      "slow",	     "unknown" };

	return names[v];
}

/* --- from samples to one number each ---------------------------------------------------------- */

static double median_of(const struct gpu_load_sample *s, size_t n, size_t offset)
{
	double *x = heap_array(n, sizeof(*x)), out = -1;
	size_t k = 0;

	for (size_t i = 0; i < n; i++) {
		double v;

		memcpy(&v, (const char *)&s[i] + offset, sizeof(v));
		if (v >= 0)
			x[k++] = v;
	}
	if (k)
		out = stat_median_in_place(x, k);
	free(x);
	return out;
}

/* Percent of the time; negative when no sample tells. */
static double share_of(const struct gpu_load_sample *s, size_t n, size_t offset)
{
	double sum = 0, time = 0;

	for (size_t i = 0; i < n; i++) {
		double v;

		memcpy(&v, (const char *)&s[i] + offset, sizeof(v));
		if (v < 0 || !(s[i].seconds > 0))
			continue;
		sum += v < s[i].seconds ? v : s[i].seconds;
		time += s[i].seconds;
	}
	return time > 0 ? 100 * sum / time : -1;
}

/* Percent of the samples in which NVML gave one of these reasons. */
static double gpu_load_text(const struct gpu_load_sample *s, size_t n, long long bits)
{
	size_t told = 0, yes = 0;

	for (size_t i = 0; i < n; i++) {
		told += s[i].reasons >= 0;
		yes += s[i].reasons >= 0 && (s[i].reasons & bits);
	}
	return told ? 100.0 * (double)yes / (double)told : -1;
}

#define MEDIAN(s, n, member) median_of(s, n, offsetof(struct gpu_load_sample, member))
#define SHARE(s, n, member) share_of(s, n, offsetof(struct gpu_load_sample, member))

/* --- rules ------------------------------------------------------------------------------------ */

static enum gpu_load_verdict give(struct gpu_load_answer *out, enum gpu_load_verdict v,
				  const char *remedy)
{
	snprintf(out->remedy, sizeof(out->remedy), "%s", remedy);
	return v;
}

/* Low clock and low power at full use. */
static bool starved(const struct gpu_load_sample *s, size_t n, const struct gpu_load_answer *a,
		    const struct gpu_load_limit *l)
{
	double busy = MEDIAN(s, n, busy_percent);

	return l && a->mhz >= 0 && a->mhz < l->latch_mhz && a->power_w >= 0 &&
	       a->power_w < l->latch_w && (busy < 0 || busy >= BUSY_PERCENT);
}

/* In most samples narrower or slower than card and slot can do: at full load no link sleeps. */
static bool narrow_link(const struct gpu_load_sample *s, size_t n, const struct gpu_load_facts *f)
{
	size_t told = 0, low = 0;

	for (size_t i = 0; i < n; i++) {
		if (s[i].link_gen <= 0 || s[i].link_width <= 0 || f->link_gen_max <= 0 ||
		    f->link_width_max <= 0)
			continue;
		told++;
		low += s[i].link_gen < f->link_gen_max || s[i].link_width < f->link_width_max;
	}
	return told && 2 * low > told;
}

static enum gpu_load_verdict gpu_load_rule(const struct gpu_load_sample *s, size_t n,
					   const struct gpu_load_facts *f,
					   const struct gpu_load_limit *l,
					   struct gpu_load_answer *out)
{
	bool slow = l && ((out->tflop_s >= 0 && out->tflop_s < l->tflop_s) ||
			  (out->copy_gb_s >= 0 && out->copy_gb_s < l->copy_gb_s));
	double held = gpu_load_text(s, n,
				    EVENT_SW_POWER | EVENT_HW_SLOWDOWN | EVENT_SW_THERMAL |
					    EVENT_HW_THERMAL | EVENT_HW_POWER);
	bool low = starved(s, n, out, l);
	bool lowered =
		f->limit_w > 0 && f->limit_default_w > 0 && f->limit_w < 0.99 * f->limit_default_w;

	if (out->warm > WARM_SHARE ||
	    gpu_load_text(s, n, EVENT_SW_THERMAL | EVENT_HW_THERMAL) > CAPPED_SHARE)
		return give(out, GPU_LOAD_THERMAL,
			    "thermal throttling: check fans, air flow, filters, the cold plate's "
			    "contact and the coolant or inlet temperature");
	if (out->brake > BRAKE_SHARE || gpu_load_text(s, n, EVENT_HW_POWER) > CAPPED_SHARE)
		return give(out, GPU_LOAD_BRAKE,
			    "the server asserts its power brake: check power supplies, their "
			    "redundancy and the chassis' power limit");
	if (low && held >= 0 && held < CAPPED_SHARE)
		return give(
			out, GPU_LOAD_LATCH,
			"low clock and low power at full use without a reported reason: power "
			"delivery is latched; disconnect the machine from mains power for a minute "
			"(with USB-C power, the cable and supply too), then update its firmware");
	if (narrow_link(s, n, f))
		return give(out, GPU_LOAD_LINK,
			    "reseat the card or its riser, and check the link's errors (\"show "
			    "pci\") and the slot's settings in the firmware");
	if (slow && lowered && out->capped > CAPPED_SHARE)
		return give(out, GPU_LOAD_CAPPED,
			    "its power limit is below the default: set it with nvidia-smi -pl");
	/* Where no reason can be told, that there is none was not seen. */
	if (low && held < 0)
		return give(out, GPU_LOAD_SLOW,
			    "low clock and low power at full use, and NVML reports no reasons: "
			    "check power limit and temperature. If they are normal, power delivery "
			    "may be latched: disconnect the machine from mains power for a minute");
	if (slow)
		return give(out, GPU_LOAD_SLOW,
			    "check for other users, ECC errors and remapped rows (\"show gpu\"), "
			    "and compare with the other GPUs");
	if (out->tflop_s < 0 && out->mhz < 0)
		return give(out, GPU_LOAD_UNKNOWN, "");
	return give(out, GPU_LOAD_HEALTHY, "");
}

/* "clock 1335 MHz", or that it was not known. */
static size_t value_text(char *text, size_t size, const char *name, double v, const char *unit,
			 int digits)
{
	int n = v >= 0 ? snprintf(text, size, "%s %.*f %s", name, digits, v, unit)
		       : snprintf(text, size, "%s not reported", name);

	return n > 0 && (size_t)n < size ? (size_t)n : size - 1;
}

static void gpu_load_describe(struct gpu_load_answer *a, const struct gpu_load_limit *l)
{
	const struct {
		const char *name, *unit;
		double v;
		int digits;
	} rows[] = { { "products", "TFLOP/s", a->tflop_s, 0 },
		     { "copies", "GB/s", a->copy_gb_s, 0 },
		     { "clock", "MHz", a->mhz, 0 },
		     { "power", "W", a->power_w, 0 },
		     { "temperature", "C", a->temperature_c, 0 },
		     { "limited by the power cap", "% of the time", a->capped, 0 },
		     { "by heat", "%", a->warm, 0 } };
	size_t at = 0;

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		if (i && at + 2 < sizeof(a->text)) {
			memcpy(a->text + at, ", ", 3);
			at += 2;
		}
		at += value_text(a->text + at, sizeof(a->text) - at, rows[i].name, rows[i].v,
				 rows[i].unit, rows[i].digits);
	}
	if (!l && at + 1 < sizeof(a->text))
		snprintf(a->text + at, sizeof(a->text) - at, "; no thresholds for this hardware");
}

void gpu_load_judge(const struct gpu_load_sample *s, size_t n, const struct gpu_load_facts *f,
		    const struct gpu_load_limit *limit, struct gpu_load_answer *out)
{
	*out = (struct gpu_load_answer){ .verdict = GPU_LOAD_UNKNOWN };
	if (n < SAMPLES_MIN || n > JUDGE_SAMPLES_MAX) {
		snprintf(out->text, sizeof(out->text), "%zu samples; at least %d are required", n,
			 SAMPLES_MIN);
		return;
	}
	/* What it settles to, not how it begins. */
	s += n / 2;
	n -= n / 2;
	out->tflop_s = MEDIAN(s, n, tflop_s);
	out->copy_gb_s = MEDIAN(s, n, copy_gb_s);
	out->mhz = MEDIAN(s, n, mhz);
	out->power_w = MEDIAN(s, n, power_w);
	out->temperature_c = MEDIAN(s, n, temperature_c);
	out->capped = SHARE(s, n, capped_s);
	out->warm = SHARE(s, n, warm_s);
	out->brake = SHARE(s, n, brake_s);
	gpu_load_describe(out, limit);
	out->verdict = gpu_load_rule(s, n, f, limit, out);
}
