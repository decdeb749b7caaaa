/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The bench of matrix products. A sample is a batch on each of the case's GPUs at once, timed by
 * the devices' own events, and afterwards one product more over a poisoned result whose bits have
 * to be those of the first one. Of several GPUs, the slowest is the figure.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "measure/bench/gemm.h"
#include "measure/bench/gpu_ahead.h"
#include "measure/bench/bench.h"
#include "base/text.h"

enum { BATCH_MAX = 20000, VARIANT_MAX = 1024, BITS_DIM = 4096, BITS_CHECKS = 8 };
#define SAMPLE_S 0.06
#define BURN_S 1.0
#define SMALL_S 1e-3
#define GLANCE_S 0.03
#define SEARCH_S 0.8
/* Under load before the first sample: the power limit bites late. */
#define SETTLE_S 0.8

/* One GPU of a case. */
struct lane {
	struct gpu_place *place;
	struct gemm_unit unit;
	struct gpu_watch watch;
	const struct gemm_arg *arg;
	const struct bench_env *env; /* while it is set up */
	struct gemm_choice choice;
	struct err e;
	int r;
	double seconds, mhz; /* of one product, in the last sample */
	struct gpu_look look;
	double sum;   /* TFLOP/s, of all samples */
	size_t n_sum; /* of them */
};

struct gemm_state {
	const struct gemm_arg *arg;
	struct lane *lanes;
	const atomic_bool *stop;
	char *variant; /* arena */
};

static double tera(const struct lane *l)
{
	const struct gemm_dims *d = &l->arg->dims;

	return 2.0 * (double)d->m * (double)d->n * (double)d->k / l->seconds / 1e12;
}

/* --- all lanes at once ------------------------------------------------------------------------ */
struct work {
	struct gemm_state *s;
	void (*of)(struct lane *l);
};

static void one_lane(void *ctx, size_t i)
{
	const struct work *w = ctx;

	w->of(&w->s->lanes[i]);
}

/* The first error of any. */
static int gemm_each(struct gemm_state *s, void (*of)(struct lane *l), struct err *e)
{
	struct work w = { s, of };

	gpu_each(s->arg->n, one_lane, &w);
	for (size_t i = 0; i < s->arg->n; i++)
		if (s->lanes[i].r) {
			*e = s->lanes[i].e;
			return s->lanes[i].r;
		}
	return 0;
}

/* --- setting up ------------------------------------------------------------------------------- */

static int lane_settle(struct lane *l)
{
	double one = l->choice.seconds, want = l->arg->small ? SMALL_S : SETTLE_S;
	size_t n = (size_t)fmin(fmax(want / one, 1), BATCH_MAX);
	int r = gemm_unit_start(&l->unit, n, &l->e);

	return r ? r : gemm_unit_finish(&l->unit, n, &l->seconds, &l->e);
}

static void lane_make(struct lane *l)
{
	l->r = gemm_unit_make(&l->unit, l->place, &l->arg->shared->lt, l->arg->type, l->arg->dims,
			      &l->e);
}

/* What does not run is met again by the search. */
static void lane_glance(struct lane *l)
{
	struct err ignored = { 0 };

	if (gemm_unit_glance(&l->unit, l->arg->small ? SMALL_S : GLANCE_S, &l->seconds, &ignored))
		l->seconds = 0;
}

/* A first figure long before the fastest way is found: of several GPUs the slowest's. */
static void glance(struct gemm_state *s, const struct bench_env *env)
{
	double low = INFINITY;
	struct err ignored = { 0 };

	if (!env->early || s->arg->choice->made)
		return;
	gemm_each(s, lane_glance, &ignored);
	for (size_t i = 0; i < s->arg->n; i++)
		if (s->lanes[i].seconds > 0)
			low = fmin(low, tera(&s->lanes[i]));
	env->early(
		env->early_ctx, low,
		"with the library's first algorithm, not checked yet; searching for a faster one");
}

static void gemm_progress(void *ctx, double seconds)
{
	struct lane *l = ctx;

	l->seconds = seconds;
	l->env->early(l->env->early_ctx, tera(l), "searching for the fastest algorithm");
}

static void lane_choose(struct lane *l)
{
	if (l->r == 0)
		l->r = gemm_unit_choose(&l->unit, &l->choice, l->arg->small ? 0.1 : SEARCH_S,
					&l->e);
	if (l->r == 0)
		l->r = gemm_unit_repeat(&l->unit, &l->e);
	if (l->r == 0)
		l->r = lane_settle(l);
}

static void gemm_teardown(void *state)
{
	struct gemm_state *s = state;
	double low = INFINITY, high = 0;

	for (size_t i = 0; s->lanes && i < s->arg->n; i++) {
		struct lane *l = &s->lanes[i];
		double mean = l->n_sum ? l->sum / (double)l->n_sum : 0;

		low = fmin(low, mean);
		high = fmax(high, mean);
		if (l->unit.gpu && l->unit.gpu->context) {
			/* A GPU that is lost only has host memory to give back. */
			cuda_use(l->unit.gpu, &l->e);
			gemm_unit_end(&l->unit);
		}
		gpu_watch_close(&l->watch);
	}
	if (s->arg->n > 1 && s->variant && low > 0 && low < INFINITY) {
		size_t at = strlen(s->variant);

		snprintf(s->variant + at, VARIANT_MAX - at,
			 "; slowest GPU %.1f, fastest %.1f TFLOP/s", low, high);
	}
	free(s->lanes);
}

int gemm_open(struct gemm_shared *shared, struct err *e)
{
	int r = 0;

	if (!shared->open && !gpu_preinit_cublaslt(shared->ahead, &shared->lt, &r, e))
		r = cublaslt_open(&shared->lt, e);
	shared->open = r == 0;
	return r;
}

static int gemm_open_sparse(struct gemm_shared *shared, struct err *e)
{
	int r = shared->sparse_open ? 0 : cusparselt_open(&shared->sparse, e);

	shared->sparse_open = r == 0;
	return r;
}

static void describe_sparse(struct gemm_state *s)
{
	const int *version = s->arg->shared->sparse.version;

	snprintf(s->variant, VARIANT_MAX, "cuSPARSELt %d.%d.%d %s; rate counted as dense",
		 version[0], version[1], version[2], s->lanes[0].choice.text);
}

static void describe(struct gemm_state *s)
{
	const struct cublaslt *lt = &s->arg->shared->lt;

	snprintf(s->variant, VARIANT_MAX, "cuBLASLt %d.%d.%d %s%s%s", lt->version[0],
		 lt->version[1], lt->version[2], s->lanes[0].choice.text,
		 *lt->cleared ? "; removed from the environment: " : "", lt->cleared);
}

static int gemm_set_up(struct gemm_state *s, const struct bench_env *env, struct err *e)
{
	struct gemm_shared *shared = s->arg->shared;
	bool sparse = s->arg->type->sparse;
	int r = sparse ? gemm_open_sparse(shared, e) : gemm_open(shared, e);

	for (size_t i = 0; i < s->arg->n; i++) {
		struct lane *l = &s->lanes[i];

		l->arg = s->arg;
		l->place = &s->arg->places[i];
		l->choice = *s->arg->choice;
		l->unit.stop = s->stop;
		l->unit.sparse_lt = &shared->sparse;
		l->env = env;
		/* Threads of several GPUs would talk at once. */
		if (env->early && s->arg->n == 1) {
			l->unit.tell = gemm_progress;
			l->unit.tell_ctx = l;
		}
		gpu_watch_open(&l->watch, l->place);
	}
	r = r ? r : gemm_each(s, lane_make, e);
	if (r)
		return r;
	glance(s, env);
	r = gemm_each(s, lane_choose, e);
	if (r)
		return r;
	if (sparse)
		describe_sparse(s);
	else
		describe(s);
	*s->arg->choice = s->lanes[0].choice;
	return 0;
}

static int gemm_setup(const struct bench_env *env, const struct bench_case *c, void *state,
		      const char **variant, struct err *e)
{
	struct gemm_state *s = state;
	int r;

	s->arg = c->arg;
	s->stop = env->stop;
	s->variant = arena_alloc(env->a, VARIANT_MAX);
	s->lanes = heap_array(s->arg->n, sizeof(*s->lanes));
	r = gemm_set_up(s, env, e);
	if (r)
		s->variant = NULL;
	else
		*variant = s->variant;
	return r;
}

int gemm_bits(struct gemm_shared *s, struct gpu_place *p, struct arena *a, const atomic_bool *stop,
	      uint64_t *bits, const char **text, struct err *e)
{
	const struct gemm_dims dims = { BITS_DIM, BITS_DIM, BITS_DIM };
	struct gemm_unit u = { .checks = BITS_CHECKS, .stop = stop };
	double seconds;
	int r = gemm_look_stop(&u, e);

	if (r)
		return r;
	r = gemm_open(s, e);

	r = r ? r : gemm_unit_make(&u, p, &s->lt, gemm_type_find("bf16", 4), dims, e);
	r = r ? r : gemm_unit_glance(&u, GLANCE_S, &seconds, e);
	*bits = u.sum;
	*text = arena_printf(a, "%s, cuBLASLt %d.%d.%d", p->gpu->name, s->lt.version[0],
			     s->lt.version[1], s->lt.version[2]);
	gemm_unit_end(&u);
	return r;
}

/* --- running ---------------------------------------------------------------------------------- */

static void gemm_lane_sample(struct lane *l)
{
	double want = l->arg->small ? SMALL_S : l->arg->burn ? BURN_S : SAMPLE_S;
	double one = l->seconds > 0 ? l->seconds : l->choice.seconds;
	size_t n = (size_t)fmin(fmax(ceil(want / one), 1), BATCH_MAX);

	l->r = gemm_unit_start(&l->unit, n, &l->e);
	/* While it runs. */
	if (l->r == 0)
		gpu_watch_brief(&l->watch, &l->look);
	if (l->r == 0)
		l->r = gemm_unit_finish(&l->unit, n, &l->seconds, &l->e);
	if (l->r == 0)
		l->r = gemm_unit_clock(&l->unit, &l->mhz, &l->e);
	if (l->r == 0)
		l->r = gemm_unit_repeat(&l->unit, &l->e);
	if (l->r == 0) {
		l->sum += tera(l);
		l->n_sum++;
	}
}

static int gemm_run(void *state, struct bench_sample *out, struct err *e)
{
	struct gemm_state *s = state;
	int r = gemm_each(s, gemm_lane_sample, e);
	double share = INFINITY;

	if (r)
		return r;
	out->value[GEMM_RATE] = out->value[GEMM_CLOCK] = INFINITY;
	out->value[GEMM_POWER] = out->value[GEMM_TEMPERATURE] = -INFINITY;
	for (size_t i = 0; i < s->arg->n; i++) {
		const struct lane *l = &s->lanes[i];
		const struct cuda_gpu *g = l->unit.gpu;
		double peak = gemm_peak_at(s->arg->type, g->name,
					   (unsigned)(g->cc_major * 10 + g->cc_minor),
					   (unsigned)g->sms, l->mhz);

		out->value[GEMM_RATE] = fmin(out->value[GEMM_RATE], tera(l));
		out->value[GEMM_CLOCK] = fmin(out->value[GEMM_CLOCK], l->mhz);
		out->value[GEMM_POWER] = fmax(out->value[GEMM_POWER], l->look.power_w);
		out->value[GEMM_TEMPERATURE] =
			fmax(out->value[GEMM_TEMPERATURE], l->look.temperature_c);
		share = fmin(share, peak > 0 ? 100 * tera(l) / peak : 0);
	}
	out->value[GEMM_SHARE] = share;
	return 0;
}

static void lane_verify(struct lane *l)
{
	l->r = cuda_use(l->unit.gpu, &l->e);
	if (l->r == 0)
		l->r = gemm_unit_repeat(&l->unit, &l->e);
	if (l->r == 0)
		l->r = gemm_unit_sample(&l->unit, &l->e);
	if (l->r == 0)
		l->r = gemm_unit_plant(&l->unit, &l->e);
}

static int gemm_verify(void *state, struct err *e)
{
	return gemm_each(state, lane_verify, e);
}

static struct bench_limit gemm_limit(const struct bench_env *env, const struct bench_case *c)
{
	const struct gemm_arg *arg = c->arg;

	return gemm_limit_of(env->a, arg->type, arg->places[0].gpu->name);
}

static const struct bench_figure figures[] = {
	[GEMM_RATE] = { "rate", "rate", "tflop_per_s", "TFLOP/s", BENCH_HIGHER },
	[GEMM_CLOCK] = { "clock", "clock after the batch, from the chip's cycle counter", "mhz",
			 "MHz", BENCH_HIGHER },
	[GEMM_POWER] = { "power", "power under load, from NVML", "w", "W", BENCH_LOWER },
	[GEMM_TEMPERATURE] = { "temperature", "temperature under load, from NVML", "c", "C",
			       BENCH_LOWER },
	[GEMM_SHARE] = { "share", "share of the GPU's peak at this clock", "percent", "%",
			 BENCH_HIGHER },
};

const struct bench bench_gemm = {
	.name = "gemm",
	.title = "rate of matrix multiplications",
	.method = "Products by cuBLASLt on normally distributed random data (never zeros), with "
		  "the fastest of all algorithms proposed by the library and operands stored "
		  "either way. Rate: 2 m n k operations, batches timed by GPU events; TFLOP are "
		  "10^12. With several GPUs at once the slowest counts. After every batch, one "
		  "more product over a poisoned result must have the same bits as the first one; "
		  "at the end 256 elements are compared with sums in double precision, and an "
		  "injected bit flip must be detected.",
	.version = 1,
	FIGURES(figures),
	.brief = "bf16:8192",
	.seconds = 2,
	.rounds = 3,
	.ahead = gpu_preinit_products,
	.cases = gemm_cases,
	.state_size = sizeof(struct gemm_state),
	.setup = gemm_setup,
	.run = gemm_run,
	.verify = gemm_verify,
	.teardown = gemm_teardown,
	.limit = gemm_limit,
};

/* Products by name: squares, shapes of transformers, and any others that were asked for. */

enum { SQUARE = 8192, SMALL = 64 };

/*
 * Layers of Llama 3 70B as one GPU sees them without splitting (hidden size 8192, 64 heads with 8
 * groups, inner size 28672): rows are what goes out, columns are tokens.
 */
static const struct {
	const char *name;
	struct gemm_dims dims;
} shapes[] = {
	{ "qkv:prefill", { 10240, 4096, 8192 } },  { "qkv:decode", { 10240, 16, 8192 } },
	{ "up:prefill", { 57344, 4096, 8192 } },   { "up:decode", { 57344, 16, 8192 } },
	{ "down:prefill", { 8192, 4096, 28672 } }, { "down:decode", { 8192, 16, 28672 } },
};

static bool parse_dim(const char *s, size_t len, uint64_t *out)
{
	unsigned long long v;
	char text[16];

	if (!len || len >= sizeof(text) || strspn(s, "0123456789") < len)
		return false;
	memcpy(text, s, len);
	text[len] = '\0';
	if (parse_u64(text, &v) || v < 1 || v > GEMM_DIM_MAX)
		return false;
	*out = v;
	return true;
}

static bool parse_dims(const char *s, struct gemm_dims *d)
{
	uint64_t v[3];
	size_t n = 0;

	for (;; s++) {
		size_t len = strcspn(s, "x");

		if (n == 3 || !parse_dim(s, len, &v[n++]))
			return false;
		s += len;
		if (!*s)
			break;
	}
	if (n == 2)
		return false;
	*d = n == 1 ? (struct gemm_dims){ v[0], v[0], v[0] }
		    : (struct gemm_dims){ v[0], v[1], v[2] };
	return true;
}

bool gemm_name_parse(const char *name, bool *burn, const struct gemm_type **t,
		     struct gemm_dims *dims)
{
	size_t len;

	*burn = str_starts(name, "burn:");
	name += *burn ? 5 : 0;
	len = strcspn(name, ":");
	*t = gemm_type_find(name, len);
	if (!*t)
		return false;
	if (!name[len]) {
		*dims = (struct gemm_dims){ SQUARE, SQUARE, SQUARE };
		return *burn;
	}
	for (size_t i = 0; i < sizeof(shapes) / sizeof(shapes[0]); i++)
		if (strcmp(name + len + 1, shapes[i].name) == 0) {
			*dims = shapes[i].dims;
			return true;
		}
	return parse_dims(name + len + 1, dims);
}

/* Compute capability times ten. */
static unsigned gemm_cc(const struct gpu_place *p)
{
	return (unsigned)(p->gpu->cc_major * 10 + p->gpu->cc_minor);
}

struct bench_limit gemm_limit_of(struct arena *a, const struct gemm_type *t, const char *gpu)
{
	const struct gpu_kind *sheet;
	double v = gemm_peak_sheet(t, gpu, &sheet);

	if (!sheet)
		return (struct bench_limit){ .source = arena_printf(
						     a, "unknown: no data sheet value of %s for %s",
						     *gpu ? gpu : "this GPU", t->name) };
	return (struct bench_limit){ true, v,
				     arena_printf(a, "data sheet, %s: %s, %s",
						  t->sparse ? "two zeros in every four elements"
							    : "dense",
						  sheet->math_source, sheet->date) };
}

const char *gemm_why_not(struct arena *a, const struct gemm_type *t, struct gemm_dims d,
			 unsigned cc)
{
	if (cc && cc < t->cc_min)
		return arena_printf(a, "%s; this GPU has %u.%u", t->why, cc / 10, cc % 10);
	if (d.m % t->multiple || d.n % t->multiple || d.k % t->multiple)
		return arena_printf(a, "%s requires sizes that are multiples of %u", t->name,
				    t->multiple);
	return NULL;
}

/* What NVML does not tell is no figure of the case. */
static size_t gemm_figures_of(const struct gpu_place *p, size_t n, const struct gemm_type *t)
{
	for (size_t i = 0; i < n; i++)
		if (!p[i].facts || !seen_ok(&p[i].facts->power_mw.f) ||
		    !seen_ok(&p[i].facts->temperature_c.f))
			return GEMM_CLOCK + 1;
	for (size_t i = 0; i < n; i++)
		if (!(gemm_peak_at(t, p[i].gpu->name, gemm_cc(&p[i]), 1, 1) > 0))
			return GEMM_TEMPERATURE + 1;
	return GEMM_SHARE + 1;
}

static const char *gpu_list(struct arena *a, const struct gpu_place *p, size_t n)
{
	const char *text = gpu_place_text(a, p);

	for (size_t i = 1; i < n; i++)
		text = arena_printf(a, "%s, %s", text, gpu_place_text(a, &p[i]));
	return text;
}

static struct gemm_dims small_dims(const struct gemm_type *t)
{
	uint64_t d = t->multiple > SMALL ? t->multiple : SMALL;

	return (struct gemm_dims){ d, d, d };
}

/* Whether the case can be among those that were asked for. */
static bool wanted(const struct bench_env *env, const char *name)
{
	return !env->ask.name || strncmp(name, env->ask.name, strlen(env->ask.name)) == 0;
}

/* suffix: "" or ":gpu3". */
static void gemm_add(const struct bench_env *env, struct bench_cases *out, const char *name,
		     const char *suffix, struct gemm_arg arg)
{
	struct arena *a = env->a;
	struct gemm_arg *kept = ARENA_NEW(a, struct gemm_arg);
	const char *full = arena_printf(a, "%s%s", name, suffix), *why = NULL;
	struct gemm_dims *d = &arg.dims;
	struct err e = { 0 };

	for (size_t i = 0; i < arg.n && !why; i++)
		why = gemm_why_not(a, arg.type, *d, gemm_cc(&arg.places[i]));
	if (!why && arg.type->sparse && wanted(env, full) && gemm_open_sparse(arg.shared, &e))
		why = arena_strdup(a, e.text);
	if (why) {
		bench_case_absent(a, out, full, why);
		out->none = why;
		return;
	}
	arg.small = env->small;
	arg.choice = ARENA_NEW(a, struct gemm_choice);
	*kept = arg;
	bench_case_add(
		a, out,
		(struct bench_case){
			.name = full,
			.setup = arena_printf(a, "%llu x %llu, sums over %llu, random data%s%s",
					      (unsigned long long)d->m, (unsigned long long)d->n,
					      (unsigned long long)d->k,
					      arg.type->sparse ? ", two zeros in every four" : "",
					      arg.burn ? ", samples of a second" : ""),
			.placement = arena_printf(a, "%s%s", gpu_list(a, arg.places, arg.n),
						  arg.n > 1 ? ", all at once" : ""),
			.hardware = arg.places[0].gpu->name,
			.n_figures = gemm_figures_of(arg.places, arg.n, arg.type),
			.arg = kept });
}

/* One product: a case a GPU, or one case of all of them. */
static void add_on(const struct bench_env *env, struct bench_cases *out, const char *name,
		   const struct gpu_places *on, struct gemm_arg arg)
{
	if (env->small && !arg.burn)
		arg.dims = small_dims(arg.type);
	arg.places = on->items;
	arg.n = arg.burn ? on->n : 1;
	if (arg.burn || on->n == 1) {
		gemm_add(env, out, name, "", arg);
		return;
	}
	for (size_t i = 0; i < on->n; i++) {
		arg.places = &on->items[i];
		gemm_add(env, out, name, arena_printf(env->a, ":gpu%u", arg.places->index), arg);
	}
}

/* "bf16:8192:gpu3" was asked for: the name without the end, and that GPU alone. */
static const char *strip_gpu(const struct bench_env *env, const char *name, struct gpu_places *on)
{
	const char *end = strrchr(name, ':');
	unsigned long long index;

	if (!end || strncmp(end, ":gpu", 4) != 0 || parse_u64(end + 4, &index))
		return name;
	for (size_t i = 0; i < on->n; i++)
		if (on->items[i].index == index) {
			*on = (struct gpu_places){ &on->items[i], 1 };
			return arena_strndup(env->a, name, (size_t)(end - name));
		}
	return name;
}

static bool gemm_add_named(const struct bench_env *env, struct bench_cases *out,
			   struct gpu_places on, struct gemm_shared *shared)
{
	struct gemm_arg arg = { .shared = shared };
	const char *name = strip_gpu(env, env->ask.name, &on);

	if (!gemm_name_parse(name, &arg.burn, &arg.type, &arg.dims))
		return false;
	/* The suffix was asked for, and belongs to the name. */
	if (strcmp(name, env->ask.name) != 0) {
		arg.places = on.items;
		arg.n = 1;
		if (env->small)
			arg.dims = small_dims(arg.type);
		gemm_add(env, out, env->ask.name, "", arg);
	} else {
		add_on(env, out, name, &on, arg);
	}
	return true;
}

void gemm_cases(const struct bench_env *env, struct bench_cases *out)
{
	struct gemm_shared *shared = ARENA_NEW(env->a, struct gemm_shared);
	struct gpu_places on;

	shared->ahead = env->ahead;
	gpu_places_find(env, out, &on);
	if (!on.n || (env->ask.name && gemm_add_named(env, out, on, shared)))
		return;
	for (size_t i = 0; i < gemm_type_count; i++) {
		struct gemm_arg arg = { .type = &gemm_types[i],
					.dims = { SQUARE, SQUARE, SQUARE },
					.shared = shared };

		add_on(env, out, arena_printf(env->a, "%s:%d", arg.type->name, SQUARE), &on, arg);
	}
	for (size_t t = 0; t < gemm_type_count; t++)
		for (size_t i = 0; i < sizeof(shapes) / sizeof(shapes[0]); i++) {
			struct gemm_arg arg = { .type = &gemm_types[t],
						.dims = shapes[i].dims,
						.shared = shared };
			const char *name = arg.type->name;

			if (strcmp(name, "bf16") == 0 || strcmp(name, "fp8-e4m3") == 0 ||
			    strcmp(name, "nvfp4") == 0)
				add_on(env, out,
				       arena_printf(env->a, "%s:%s", name, shapes[i].name), &on,
				       arg);
		}
}
