/* SPDX-License-Identifier: Apache-2.0 */
/* Products by name: squares, shapes of transformers, and any others that were asked for. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "measure/bench/gemm.h"

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
	const struct gemm_sheet *sheet;
	double v = gemm_peak_sheet(t, gpu, &sheet);

	if (!sheet)
		return (struct bench_limit){ .source = arena_printf(
						     a, "unknown: no data sheet row of %s for %s",
						     *gpu ? gpu : "this GPU", t->name) };
	return (struct bench_limit){ true, v,
				     arena_printf(a, "data sheet, %s: %s, %s",
						  t->sparse ? "two zeros in four elements"
							    : "dense",
						  sheet->source, sheet->date) };
}

const char *gemm_why_not(struct arena *a, const struct gemm_type *t, struct gemm_dims d,
			 unsigned cc)
{
	if (cc && cc < t->cc_min)
		return arena_printf(a, "%s; this chip has %u.%u", t->why, cc / 10, cc % 10);
	if (d.m % t->multiple || d.n % t->multiple || d.k % t->multiple)
		return arena_printf(a, "%s needs sizes that are multiples of %u", t->name,
				    t->multiple);
	return NULL;
}

/* What NVML does not tell is no figure of the case. */
static size_t figures_of(const struct gpu_place *p, size_t n, const struct gemm_type *t)
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
static void add(const struct bench_env *env, struct bench_cases *out, const char *name,
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
			.n_figures = figures_of(arg.places, arg.n, arg.type),
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
		add(env, out, name, "", arg);
		return;
	}
	for (size_t i = 0; i < on->n; i++) {
		arg.places = &on->items[i];
		add(env, out, name, arena_printf(env->a, ":gpu%u", arg.places->index), arg);
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

static bool add_named(const struct bench_env *env, struct bench_cases *out, struct gpu_places on,
		      struct gemm_shared *shared)
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
		add(env, out, env->ask.name, "", arg);
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
	if (!on.n || (env->ask.name && add_named(env, out, on, shared)))
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
