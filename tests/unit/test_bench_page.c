/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What stands around figures: limits and bands by hardware, benches that have nothing to measure,
 * the short form, the benches of frequency, idle states and waking on a machine of the test's own,
 * and the pages that say all this. Nothing here depends on how fast this machine is.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "render/figure.h"
#include "look/settings/findings.h"
#include "measure/bench/record.h"
#include "measure/bench/frequency.h"
#include "measure/bench/bench.h"
#include "measure/bench/bench_json.h"
#include "measure/bench/page_bench.h"
#include "many/ranks/qualify.h"

#include "memory_host.h"

static struct fact_str str(const char *v)
{
	return (struct fact_str){ { .seen = SEEN_OK }, v };
}

static struct fact_int num(long long v)
{
	return (struct fact_int){ { .seen = SEEN_OK }, v };
}

/* --- limits and bands ------------------------------------------------------------------------- */

static void limits_follow_the_hardware(void **state)
{
	struct arena a = { 0 };
	struct machine m = { 0 };
	struct bench_env env = { .a = &a, .m = &m };
	struct bench_limit l;

	(void)state;
	l = limit_memory(&env, 1);
	assert_false(l.known);
	assert_non_null(strstr(l.source, "unknown"));
	m.cpu.model = str("AMD EPYC 9654 96-Core Processor");
	l = limit_memory(&env, 2);
	assert_true(l.known && fabs(l.value - 921.6) < 1e-9);
	assert_non_null(strstr(l.source, "12 channels of DDR5-4800"));
	assert_non_null(strstr(l.source, "2022"));
	/* A part of it, in a virtual machine. */
	m.platform.virtual_ = num(1);
	assert_false(limit_memory(&env, 2).known);
	m.platform.virtual_ = num(0);
	/* Another part with a longer name. */
	m.cpu.model = str("INTEL(R) XEON(R) PLATINUM 8558P");
	assert_false(limit_memory(&env, 1).known);
	m.cpu.model = str("INTEL(R) XEON(R) PLATINUM 8558");
	assert_true(limit_memory(&env, 1).known);
	m.platform.kind = str("dgx-spark");
	m.cpu.model = str("Cortex-X925 + Cortex-A725");
	l = limit_memory(&env, 1);
	assert_true(l.known && fabs(l.value - 273) < 1e-9);
	/* Every row says how much, from where and since when. */
	for (size_t i = 0; i < n_memory_limits; i++) {
		const struct limit_row *r = &memory_limits[i];

		assert_true(r->gb_s > 50 && r->gb_s < 2000);
		assert_true(*r->what && *r->source && strlen(r->date) >= 4 && r->date[0] == '2');
	}
	arena_free(&a);
}

static void frequency_limit_is_of_the_cpus(void **state)
{
	struct arena a = { 0 };
	struct machine m = { 0 };
	struct bench_env env = { .a = &a, .m = &m };
	struct idset big = { 0 }, small = { 0 };
	struct bench_limit l;

	(void)state;
	idset_add(&a, &small, 0);
	idset_add(&a, &big, 5);
	assert_false(limit_frequency(&env, &big).known);
	for (unsigned i = 0; i < 2; i++) {
		struct freq_policy *p = list_add(&a, &m.cpu.policies, sizeof(*p));

		p->hw_max_khz = num(i ? 4004000 : 2860000);
		p->cpus.v = i ? big : small;
	}
	l = limit_frequency(&env, &small);
	assert_true(l.known && fabs(l.value - 2860) < 1e-9);
	l = limit_frequency(&env, &big);
	assert_true(l.known && fabs(l.value - 4004) < 1e-9);
	arena_free(&a);
}

static const struct bench_figure *figure_of(const struct bench *b, const char *key)
{
	for (size_t i = 0; i < b->n_figures; i++)
		if (strcmp(b->figures[i].key, key) == 0)
			return &b->figures[i];
	return NULL;
}

/* A pair of nodes is measured by qualify: its figure is a rate. */
static bool is_of_pairs(const struct band *b)
{
	for (enum pair_test t = 0; t < PAIR_TESTS; t++)
		if (strcmp(b->bench, qualify_pair_name(t)) == 0)
			return strcmp(b->figure, "rate") == 0 && strcmp(b->unit, "gb_per_s") == 0;
	return false;
}

/* A band that no bench can meet would never be seen to be wrong. */
static void bands_make_sense(void **state)
{
	(void)state;
	for (size_t i = 0; i < n_bands; i++) {
		const struct band *b = &bands[i];
		const struct bench *of = bench_find(b->bench);
		const struct bench_figure *f = of ? figure_of(of, b->figure) : NULL;

		if (of ? !f || strcmp(f->unit, b->unit) != 0 : !is_of_pairs(b))
			fail_msg("row %zu: %s has no figure %s in %s", i, b->bench, b->figure,
				 b->unit);
		assert_true(b->low > 0 && b->low < b->high);
		/* Wider than that, or from elsewhere than where a unit apart would be, it says
		 * nothing. */
		assert_true(b->high < 3 * b->low);
		assert_true(*b->hardware && *b->name && *b->source && strlen(b->date) >= 4);
		for (size_t k = 0; k < i; k++)
			assert_false(strcmp(bands[k].hardware, b->hardware) == 0 &&
				     strcmp(bands[k].bench, b->bench) == 0 &&
				     strcmp(bands[k].name, b->name) == 0 &&
				     strcmp(bands[k].figure, b->figure) == 0 &&
				     bands[k].sockets == b->sockets);
	}
}

static void add_node(struct arena *a, struct machine *m, unsigned index, unsigned cpu, unsigned n)
{
	struct numa_node *it = list_add(a, &m->cpu.nodes, sizeof(*it));

	it->index = index;
	it->cpus.f.seen = SEEN_OK;
	for (unsigned i = 0; i < n; i++)
		idset_add(a, &it->cpus.v, cpu + i);
}

/* Whose memory is used: of two sockets with two nodes each, and a node that is no processor's. */
static void limits_of_a_part(void **state)
{
	struct arena a = { 0 };
	struct machine m = { .cpu.sockets = num(2) };
	struct idset some = { 0 };

	(void)state;
	idset_add(&a, &some, 0);
	assert_true(fabs(limit_sockets(&m, &some, -1) - 2) < 1e-9);
	for (unsigned i = 0; i < 4; i++)
		add_node(&a, &m, i, 4 * i, 4);
	add_node(&a, &m, 9, 0, 0);
	assert_true(fabs(limit_sockets(&m, &some, -1) - 0.5) < 1e-9);
	idset_add(&a, &some, 4);
	assert_true(fabs(limit_sockets(&m, &some, -1) - 1) < 1e-9);
	assert_true(fabs(limit_sockets(&m, &some, 3) - 0.5) < 1e-9);
	assert_true(fabs(limit_sockets(&m, &some, 9)) < 1e-9);
	assert_false(limit_memory(&(struct bench_env){ .a = &a, .m = &m }, 0).known);
	arena_free(&a);
}

static void bands_follow_the_hardware(void **state)
{
	struct arena a = { 0 };
	struct machine m = { 0 };
	struct record_series s = { .key = "frequency", .unit = "mhz", .better = BENCH_HIGHER };
	struct record_band b;

	(void)state;
	b = band_of(&a, &m, true, NULL, "cpu-frequency", "one:Cortex-X925", &s);
	assert_false(b.known);
	assert_non_null(strstr(b.source, "no band for this"));
	m.platform.kind = str("dgx-spark");
	b = band_of(&a, &m, true, NULL, "cpu-frequency", "one:Cortex-X925", &s);
	assert_true(b.known && b.low < 3900 && b.high > 4000);
	assert_non_null(strstr(b.source, "2025"));
	/* Not for another case, unit or figure; not for a device of another name. */
	assert_false(band_of(&a, &m, true, NULL, "cpu-frequency", "all:Cortex-X925", &s).known);
	assert_false(
		band_of(&a, &m, true, "NVIDIA H200", "cpu-frequency", "one:Cortex-X925", &s).known);
	s.unit = "ghz";
	assert_false(band_of(&a, &m, true, NULL, "cpu-frequency", "one:Cortex-X925", &s).known);
	s = (struct record_series){ .key = "rate", .unit = "gb_per_s", .better = BENCH_HIGHER };
	m.platform.kind = str("generic");
	m.cpu.model = str("AMD EPYC 9654 96-Core Processor");
	m.cpu.sockets = num(1);
	assert_true(band_of(&a, &m, true, NULL, "memory-bandwidth", "triad", &s).high < 461);
	m.cpu.sockets = num(2);
	assert_true(band_of(&a, &m, true, NULL, "memory-bandwidth", "triad", &s).low > 461);
	/* By some of its CPUs. */
	assert_false(band_of(&a, &m, false, NULL, "memory-bandwidth", "triad", &s).known);
	m.cpu.hypervisor = num(1);
	assert_false(band_of(&a, &m, true, NULL, "memory-bandwidth", "triad", &s).known);
	/* On any GPU; another product of the same rows is another product. */
	s = (struct record_series){ .key = "rate", .unit = "tflop_per_s", .better = BENCH_HIGHER };
	assert_true(band_of(&a, &m, true, "NVIDIA H200", "gemm", "bf16:8192", &s).known);
	assert_true(band_of(&a, &m, true, "NVIDIA H200", "gemm", "bf16:8192:gpu12", &s).known);
	for (size_t i = 0; i < 3; i++)
		assert_false(
			band_of(&a, &m, true, "NVIDIA H200", "gemm",
				(const char *[]){ "bf16:8192x64x8192", "bf16:8192x64x8192:gpu0",
						  "bf16:81920:gpu0" }[i],
				&s)
				.known);
	arena_free(&a);
}

static void verdicts_of_bands(void **state)
{
	struct record_series s = { .has_summary = true,
				   .band = { .known = true, .low = 10, .high = 20 } };

	(void)state;
	s.s.median = 9.9;
	assert_int_equal(record_place(&s), PLACE_BELOW);
	s.s.median = 10;
	assert_int_equal(record_place(&s), PLACE_WITHIN);
	s.s.median = 20.1;
	assert_int_equal(record_place(&s), PLACE_ABOVE);
	assert_string_equal(record_place_name(record_place(&s)), "above");
	s.has_summary = false;
	assert_int_equal(record_place(&s), PLACE_UNKNOWN);
	assert_null(record_place_name(PLACE_UNKNOWN));
}

/* --- benches that do not run ------------------------------------------------------------------ */

static void no_cases(const struct bench_env *env, struct bench_cases *out)
{
	out->none = "no such thing is here";
	out->usage = env->ask.dir != NULL;
}

static void two_cases(const struct bench_env *env, struct bench_cases *out)
{
	static const struct bench_case long_one = { .name = "long", .setup = "", .placement = "" },
				       short_one = { .name = "short:a",
						     .setup = "",
						     .placement = "",
						     .n_figures = 1 };

	bench_case_add(env->a, out, long_one);
	bench_case_add(env->a, out, short_one);
}

static int nothing_setup(const struct bench_env *env, const struct bench_case *c, void *state,
			 const char **variant, struct err *e)
{
	(void)c;
	(void)e;
	(void)env;
	(void)state;
	*variant = "";
	return 0;
}

static int nothing_run(void *state, struct bench_sample *out, struct err *e)
{
	(void)state;
	(void)e;
	out->value[0] = 1;
	/* Not looked at by a case of one figure. */
	out->value[1] = NAN;
	return 0;
}

static int nothing_verify(void *state, struct err *e)
{
	(void)state;
	(void)e;
	return 0;
}

static void nothing_teardown(void *state)
{
	(void)state;
}

static struct bench_limit no_limit(const struct bench_env *env, const struct bench_case *c)
{
	(void)env;
	(void)c;
	return (struct bench_limit){ .source = "unknown: a test" };
}

static const struct bench_figure two_figures[] = {
	{ "a", "a", "us", "us", BENCH_LOWER },
	{ "b", "b", "us", "us", BENCH_LOWER },
};

static struct bench bench_named(const char *name, const char *brief,
				void (*cases)(const struct bench_env *, struct bench_cases *))
{
	return (struct bench){ .name = name,
			       .title = name,
			       .method = "none",
			       .version = 1,
			       .figures = two_figures,
			       .n_figures = 2,
			       .brief = brief,
			       .seconds = 0.01,
			       .rounds = 1,
			       .cases = cases,
			       .setup = nothing_setup,
			       .run = nothing_run,
			       .verify = nothing_verify,
			       .teardown = nothing_teardown,
			       .limit = no_limit };
}

static const struct record_skip *skip_of(const struct record *r, const char *bench)
{
	for (size_t i = 0; i < r->n_skipped; i++)
		if (strcmp(r->skipped[i].bench, bench) == 0)
			return &r->skipped[i];
	return NULL;
}

static void says_what_did_not_run(void **state)
{
	struct arena a = { 0 };
	struct machine m = { 0 };
	atomic_bool stop = false;
	struct frame f = { .env = { .a = &a, .m = &m, .stop = &stop }, .samples = 5 };
	struct bench none = bench_named("none", NULL, no_cases),
		     by_name = bench_named("by-name", "-", two_cases),
		     brief = bench_named("brief", "short", two_cases),
		     other = bench_named("other", "tiny", two_cases);
	const struct bench *const list[] = { &none, &by_name, &brief, &other };
	struct record r = { 0 };

	(void)state;
	frame_start(&f);
	assert_int_equal(frame_run(&f, &none, NULL, &r), -ENODATA);
	f.env.ask.dir = "/x";
	assert_int_equal(frame_run(&f, &none, NULL, &r), -EINVAL);
	assert_int_equal(r.n_skipped, 2);
	assert_string_equal(r.skipped[1].reason, "no such thing is here");
	r.n_skipped = 0;
	frame_run_all(&f, list, 4, &r);
	assert_int_equal(r.n, 1);
	assert_string_equal(r.cases[0].name, "short:a");
	assert_int_equal(r.cases[0].n_series, 1);
	assert_null(r.cases[0].error);
	assert_int_equal(r.n_skipped, 3);
	assert_string_equal(skip_of(&r, "none")->reason, "no such thing is here");
	assert_non_null(strstr(skip_of(&r, "by-name")->reason, "if named"));
	assert_non_null(strstr(skip_of(&r, "other")->reason, "short enough"));
	/* All figures again, when the case does not say. */
	assert_int_equal(frame_run(&f, &by_name, "long", &r), 0);
	assert_int_equal(r.cases[1].n_series, 2);
	assert_non_null(strstr(r.cases[1].error, "not a number"));
	r.n_skipped = 0;
	atomic_store(&stop, true);
	frame_run_all(&f, list, 4, &r);
	assert_int_equal(r.n_skipped, 4);
	assert_non_null(strstr(r.skipped[0].reason, "interrupted"));
	arena_free(&a);
}

/* --- frequency, waking, idle states ----------------------------------------------------------- */

static void chain_adds_up(void **state)
{
	(void)state;
	assert_true(cycles_chain(7, 3, 1) == 7 + 3 * CYCLES_CHAIN);
	assert_true(cycles_chain(0, 5, 1000) == 5000u * CYCLES_CHAIN);
	assert_true(cycles_vector_load(1e-4));
	assert_true(cycles_an_add() >= 0);
}

static void add_type(struct arena *a, struct machine *m, const char *name, unsigned cpu)
{
	struct core_type *t = list_add(a, &m->cpu.types, sizeof(*t));

	t->name = name;
	idset_add(a, &t->cpus.v, cpu);
}

static void add_idle(struct arena *a, struct machine *m, unsigned cpu)
{
	struct idle_group *g = list_add(a, &m->cpu.idle, sizeof(*g));
	const char *const names[] = { "POLL", "C1", "C6" };

	idset_add(a, &g->cpus.v, cpu);
	for (unsigned i = 0; i < 3; i++) {
		struct idle_state *s = list_add(a, &g->states, sizeof(*s));

		s->index = i;
		s->name = str(names[i]);
		s->latency = num(i * 50);
		s->disabled = num(0);
	}
}

static struct record run_small(struct arena *a, struct machine *m, const struct bench *b,
			       struct host *h, struct idset cpus, int want)
{
	atomic_bool stop = false;
	struct frame f = {
		.env = { .a = a, .m = m, .h = h, .stop = &stop, .small = true, .cpus = cpus },
		.samples = 3
	};
	struct record r = { 0 };

	frame_start(&f);
	assert_int_equal(frame_run(&f, b, NULL, &r), want);
	return r;
}

static void one_core_type_or_two(void **state)
{
	struct arena a = { 0 };
	struct machine m = { 0 };
	struct idset cpus = bench_allowed(&a), one = { 0 };
	struct record r;

	(void)state;
	idset_add(&a, &one, cpus.r[0].lo);
	r = run_small(&a, &m, &bench_cpu_frequency, NULL, one, 0);
	assert_int_equal(r.n, 2);
	assert_string_equal(r.cases[0].name, "one");
	assert_string_equal(r.cases[1].name, "all:vector");
	for (size_t i = 0; i < r.n; i++) {
		assert_true(r.cases[i].verified && r.cases[i].n_series == 1);
		/* Between what no processor is below and none is above. */
		assert_true(r.cases[i].series[0].x[0] > 50 && r.cases[i].series[0].x[0] < 20000);
		assert_non_null(strstr(r.cases[i].variant, "addition"));
	}
	if (idset_count(&cpus) < 2) {
		arena_free(&a);
		skip();
	}
	add_type(&a, &m, "Big", cpus.r[0].lo);
	add_type(&a, &m, "Little", cpus.r[cpus.n - 1].hi);
	r = run_small(&a, &m, &bench_cpu_frequency, NULL, cpus, 0);
	assert_int_equal(r.n, 6);
	assert_string_equal(r.cases[0].name, "one:Big");
	assert_string_equal(r.cases[5].name, "all:Little:vector");
	assert_non_null(strstr(r.cases[1].placement, "count"));
	arena_free(&a);
}

static void hand_over_needs_two(void **state)
{
	struct arena a = { 0 };
	struct machine m = { 0 };
	struct idset cpus = bench_allowed(&a), one = { 0 };
	struct record r;

	(void)state;
	idset_add(&a, &one, cpus.r[0].lo);
	r = run_small(&a, &m, &bench_hand_over, NULL, one, -ENODATA);
	assert_non_null(strstr(r.skipped[0].reason, "two CPUs"));
	if (idset_count(&cpus) < 2) {
		arena_free(&a);
		skip();
	}
	for (unsigned i = 0; i < 2; i++) {
		struct numa_node *n = list_add(&a, &m.cpu.nodes, sizeof(*n));

		n->index = i;
		idset_add(&a, &n->cpus.v, i ? cpus.r[cpus.n - 1].hi : cpus.r[0].lo);
	}
	r = run_small(&a, &m, &bench_hand_over, NULL, cpus, 0);
	assert_int_equal(r.n, 2);
	assert_string_equal(r.cases[0].name, "near");
	assert_string_equal(r.cases[1].name, "node0-node1");
	for (size_t i = 0; i < r.n; i++) {
		if (r.cases[i].error)
			fail_msg("%s: %s", r.cases[i].name, r.cases[i].error);
		assert_true(r.cases[i].verified && r.cases[i].series[0].x[0] > 0);
		assert_true(r.cases[i].observed.n > 0);
	}
	arena_free(&a);
}

static void idle_states_are_named(void **state)
{
	struct arena a = { 0 };
	struct machine m = { 0 };
	struct host *h = memory_open();
	struct idset cpus = bench_allowed(&a);
	unsigned cpu = cpus.r[cpus.n - 1].hi;
	struct record r;

	(void)state;
	m.cpu.hypervisor = num(1);
	r = run_small(&a, &m, &bench_idle_wake, h, cpus, -ENODATA);
	assert_non_null(strstr(r.skipped[0].reason, "not measurable here"));
	assert_non_null(strstr(r.skipped[0].reason, "virtual machine"));
	add_idle(&a, &m, cpu);
	/* Files that stand still: no time passes in any state. */
	for (unsigned i = 0; i < 3; i++)
		memory_file(h,
			    arena_printf(&a, "/sys/devices/system/cpu/cpu%u/cpuidle/state%u/time",
					 cpu, i),
			    "12345\n");
	r = run_small(&a, &m, &bench_idle_wake, h, cpus, 0);
	assert_int_equal(r.n, 8);
	for (size_t i = 0; i < r.n; i++) {
		if (r.cases[i].error)
			fail_msg("%s: %s", r.cases[i].name, r.cases[i].error);
		assert_true(r.cases[i].verified);
		if (i % 2)
			assert_non_null(strstr(r.cases[i].variant, "kept awake"));
		else
			assert_non_null(strstr(r.cases[i].variant, "no time in an idle state"));
	}
	assert_non_null(strstr(r.cases[0].limit_source, "100 us to leave"));
	assert_non_null(strstr(r.cases[0].limit_source, "C6"));
	host_close(h);
	arena_free(&a);
}

/* --- pages and JSON --------------------------------------------------------------------------- */

static double series_of(double level, size_t i)
{
	return level * (1 + 0.001 * (double)(i * 7 % 5));
}

/* A result as it might come from a machine with limits and bands. */
static struct record *result(struct arena *a, double level)
{
	enum { N = 30, CASES = 5 };
	static const char *const names[CASES] = { "16KiB", "2MiB", "2MiB:huge", "256MiB:huge",
						  "256MiB" };
	static const double ns[CASES] = { 1, 4, 3.5, 113, 150 };
	struct record *r = ARENA_NEW(a, struct record);

	r->cases = arena_array(a, CASES, sizeof(*r->cases));
	for (size_t i = 0; i < CASES; i++) {
		struct record_case *c = &r->cases[r->n++];

		*c = (struct record_case){ .bench = "memory-latency",
					   .name = names[i],
					   .method = "m",
					   .version = 1,
					   .setup = "",
					   .placement = "",
					   .variant = "",
					   .limit_source = "unknown: a test",
					   .n_series = 1,
					   .n = N,
					   .verified = true,
					   .steady = true };
		c->series[0] = (struct record_series){
			.key = "latency",
			.title = "t",
			.unit = "ns",
			.unit_text = "ns",
			.better = BENCH_LOWER,
			.band = { i == 3, 102, 124, i == 3 ? "somebody, 2025" : "unknown: none" }
		};
		c->series[0].x = arena_array(a, N, sizeof(double));
		c->at_s = arena_array(a, N, sizeof(double));
		for (size_t k = 0; k < N; k++) {
			c->series[0].x[k] = series_of(level * ns[i], k);
			c->at_s[k] = (double)k;
		}
		c->first = arena_array(a, 1, sizeof(size_t));
		c->rounds = 1;
	}
	r->cases[0].has_limit = true;
	r->cases[0].limit = 0.5;
	r->cases[0].limit_source = "data sheet: a test";
	r->id = "20260101-000000-test";
	r->version = "0";
	r->machine = "0123456789abcdef";
	r->conditions = (struct record_conditions){ .cpus = 4, .others = 0.01 };
	r->conditions.before.temp_c = r->conditions.after.temp_c = NAN;
	r->time_s = 1767225600;
	record_skip(a, r, "rdma", "no RDMA device is here");
	record_summarise(r);
	record_judge(a, r);
	return r;
}

static char *drawn(const struct doc *d)
{
	struct term_style how = { .width = 80, .ascii = true };
	char *text = NULL;
	size_t n = 0;
	FILE *out = open_memstream(&text, &n);

	assert_non_null(out);
	doc_term(out, d, &how);
	fclose(out);
	/* Nothing is wider than the terminal. */
	for (const char *l = text; l && *l; l = strchr(l, '\n') ? strchr(l, '\n') + 1 : NULL)
		if (strcspn(l, "\n") > 80)
			fail_msg("too wide: %.*s", (int)strcspn(l, "\n"), l);
	return text;
}

static void has(const char *text, const char *what)
{
	assert_non_null(text);
	if (text && !strstr(text, what))
		fail_msg("\"%s\" is not in:\n%s", what, text);
}

static void small_figures_are_no_zeros(void **state)
{
	static const struct {
		double v;
		const char *text;
	} rows[] = { { 0, "0.000" },	      { 1234.5, "1234" },	{ 43.2149, "43.21" },
		     { 1, "1.000" },	      { 0.4999, "0.500" },	{ 0.1, "0.100" },
		     { 0.0582, "0.0582" },    { 0.0003, "0.000300" },	{ 0.00012345, "0.000123" },
		     { -0.0031, "-0.00310" }, { 8e-9, "0.00000000800" } };
	struct arena a = { 0 };

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		assert_string_equal(figure_number(&a, rows[i].v), rows[i].text);
	/* What is nothing at all stays short. */
	assert_true(strlen(figure_number(&a, 1e-300)) < 20);
	arena_free(&a);
}

/* A wrong result has an error and no figure; other errors keep what was measured before them. */
static void wrong_has_no_figure(void **state)
{
	static const char *const errors[] = { "running: the cable fell out",
					      "the result is wrong: two and two is five" };
	struct arena a = { 0 };

	(void)state;
	for (size_t i = 0; i < 2; i++) {
		struct record *r = result(&a, 1);
		char *text;

		r->cases[3].error = errors[i];
		r->cases[3].verified = false;
		record_summarise(r);
		text = drawn(page_bench(&a, r, false));
		has(text, i ? "void" : "113");
		assert_true(!i || (!strstr(text, "113") && !strstr(text, "within")));
		free(text);
	}
	arena_free(&a);
}

static void page_says_it_all(void **state)
{
	struct arena a = { 0 };
	char *text = drawn(page_bench(&a, result(&a, 1), false));

	(void)state;
	has(text, "200 % of 0.500");
	has(text, "within 102.0 to 124.0");
	has(text, "somebody, 2025");
	has(text, "limit: data sheet: a test; unknown: a test");
	has(text, "Skipped");
	has(text, "no RDMA device is here");
	has(text, "CPUs used by other programs");
	/* The plot: each size once, its steps, and the huge pages' mark. */
	has(text, "Latency by size");
	has(text, "  x4.0");
	has(text, "o#");
	free(text);
	text = drawn(page_bench(&a, result(&a, 2), false));
	has(text, "above 102.0 to 124.0");
	free(text);
	arena_free(&a);
}

/* The page of the first figure n times, in one line; lives in the arena. */
static const char *drawn_many(struct arena *a, const struct compare *c, size_t n)
{
	struct compare many = *c;
	char *text;
	const char *out;

	many.rows = arena_array(a, n, sizeof(*many.rows));
	for (size_t i = 0; i < n; i++)
		many.rows[i] = c->rows[0];
	many.n = n;
	memset(many.count, 0, sizeof(many.count));
	many.count[c->rows[0].verdict] = n;
	text = drawn(page_compare(a, &many));
	for (char *at = text; *at; at++)
		*at = *at == '\n' ? ' ' : *at;
	out = arena_strdup(a, text);
	free(text);
	return out;
}

static void compare_is_drawn(void **state)
{
	struct arena a = { 0 };
	struct record *x = result(&a, 1), *y = result(&a, 1.04);
	struct compare c;
	char *text;

	(void)state;
	y->cases[1].setup = "another";
	compare_records(&a, x, y, &c);
	text = drawn(page_compare(&a, &c));
	has(text, "worse");
	has(text, "not comparable");
	has(text, "2MiB latency: different set-ups");
	has(text, "same");
	has(text, "-5 ");
	has(text, "+5 %");
	has(text, "o");
	free(text);
	compare_records(&a, x, x, &c);
	text = drawn(page_compare(&a, &c));
	has(text, "detects 1.0 %");
	has(text, "-1 ");
	free(text);
	/* Of a few figures none is another by chance; of very many some are. */
	assert_null(strstr(drawn_many(&a, &c, 99), "by chance"));
	has(drawn_many(&a, &c, 250), "about 3 of 250 figures would be called better or worse");
	/* Beyond half as much it is told in times, and nothing is cut off. */
	y = result(&a, 5);
	compare_records(&a, x, y, &c);
	text = drawn(page_compare(&a, &c));
	has(text, "x0.125");
	has(text, "x8");
	assert_null(strchr(text, '>'));
	free(text);
	arena_free(&a);
}

static void bands_and_skips_come_back(void **state)
{
	struct arena a = { 0 };
	struct record *r = result(&a, 1), back;
	struct machine m = { 0 };
	struct err e = { 0 };
	json_t *j, *figure;
	char *text;

	(void)state;
	m.time_s = num(r->time_s);
	j = machine_result_json(&bench_result, &m, r, 0);
	assert_non_null(j);
	text = json_dumps(j, 0);
	if (bench_from_json(&a, "x", text, &back, &e))
		fail_msg("%s", e.text);
	assert_int_equal(back.n_skipped, 1);
	assert_string_equal(back.skipped[0].bench, "rdma");
	assert_true(back.cases[3].series[0].band.known);
	assert_true(fabs(back.cases[3].series[0].band.high - 124) < 1e-12);
	assert_false(back.cases[0].series[0].band.known);
	assert_int_equal(record_place(&back.cases[3].series[0]), PLACE_WITHIN);
	free(text);
	/* A band that is none, and skips that are no texts. */
	figure = json_array_get(
		json_object_get(json_array_get(json_object_get(j, "cases"), 3), "figures"), 0);
	json_object_set_new(json_object_get(figure, "band"), "low_ns", json_real(500));
	text = json_dumps(j, 0);
	assert_int_equal(bench_from_json(&a, "x", text, &back, &e), 0);
	assert_false(back.cases[3].series[0].band.known);
	free(text);
	json_array_append_new(json_object_get(j, "not_run"), json_pack("{s:i}", "bench", 5));
	text = json_dumps(j, 0);
	assert_int_equal(bench_from_json(&a, "x", text, &back, &e), -EINVAL);
	free(text);
	json_decref(j);
	arena_free(&a);
}

/* --- matrices --------------------------------------------------------------------------------- */

static void add_pair_case(struct arena *a, struct record *r, const char *bench, const char *name,
			  double v)
{
	struct record_case *c;

	r->cases = arena_grow(a, r->cases, r->n, sizeof(*r->cases));
	c = &r->cases[r->n++];
	*c = (struct record_case){ .bench = bench,
				   .name = name,
				   .method = "m",
				   .setup = "s",
				   .placement = "p",
				   .variant = "",
				   .limit_source = "unknown: a test",
				   .verified = true,
				   .steady = true,
				   .n = 3,
				   .n_series = 1 };
	c->series[0] = (struct record_series){ .key = "rate",
					       .title = "rate",
					       .unit = "gb_per_s",
					       .unit_text = "GB/s",
					       .has_summary = true };
	c->series[0].s.median = v;
}

/* Each renderer's text of a page. */
static char *matrix_text(const struct doc *d, void (*draw)(FILE *out, const struct doc *d))
{
	char *text = NULL;
	size_t n;
	FILE *f = open_memstream(&text, &n);

	assert_non_null(f);
	draw(f, d);
	fclose(f);
	return text;
}

static void fragment(FILE *out, const struct doc *d)
{
	doc_html(out, d, NULL);
}

static void pairs_make_matrices(void **state)
{
	struct arena a = { 0 };
	struct record r = { .id = "x", .version = "1" };
	struct doc *d = doc_new(&a);
	char *text;

	(void)state;
	add_pair_case(&a, &r, "copy", "peer-write:gpu0-gpu1", 390);
	/* One pair is no matrix. */
	page_bench_matrix(d, &r);
	assert_int_equal(d->n, 0);
	add_pair_case(&a, &r, "copy", "peer-write:gpu1-gpu0", 190);
	add_pair_case(&a, &r, "copy", "local:gpu0", 2100);
	add_pair_case(&a, &r, "copy", "peer-read:gpu0-gpu1", 50);
	add_pair_case(&a, &r, "copy", "peer-read:gpu1-gpu0", 60);
	add_pair_case(&a, &r, "copy", "peer-both:gpu0-gpu1", 777);
	add_pair_case(&a, &r, "gpu-latency", "peer:gpu0-gpu1", 800);
	add_pair_case(&a, &r, "gpu-latency", "peer:gpu1-gpu0", 1200);
	add_pair_case(&a, &r, "copy", "h2d:gpu0", 55);
	add_pair_case(&a, &r, "copy", "h2d:gpu0:node0", 54);
	add_pair_case(&a, &r, "copy", "h2d:gpu0:node1", 33);
	/* Not pairs, whatever they look like. */
	add_pair_case(&a, &r, "copy", "peer-write:gpu0-gpu99", 1);
	add_pair_case(&a, &r, "copy", "peer-write:gpu0-gpux", 1);
	add_pair_case(&a, &r, "copy", "peer-write:gpu0-gpu1-gpu2", 1);
	/* A GPU and the node of its own number are two. */
	for (size_t i = 0; i < r.n; i++)
		assert_int_equal(page_bench_is_pair(&r.cases[i]),
				 (strstr(r.cases[i].name, "-gpu") && i < r.n - 3) ||
					 strstr(r.cases[i].name, ":node"));
	page_bench_matrix(d, &r);
	text = matrix_text(d, doc_md);
	assert_non_null(strstr(text, "by the copy engine of the source GPU"));
	assert_non_null(strstr(text, "| GPU 0 | 2100 | 390.0 |"));
	assert_non_null(strstr(text, "| GPU 1 | 190.0 | - |"));
	/* What a GPU reads comes from the other one. */
	assert_non_null(strstr(text, "| GPU 0 | 2100 | 60.00 |"));
	assert_non_null(strstr(text, "| GPU 1 | 50.00 | - |"));
	/* One case for either order. */
	assert_non_null(strstr(text, "| GPU 1 | 777.0 | - |"));
	assert_non_null(strstr(text, "| GPU 0 | 54.00 | 33.00 |"));
	assert_null(strstr(text, "gpu99"));
	free(text);
	text = matrix_text(d, fragment);
	assert_non_null(strstr(text, "class=\"right heat5\">390.0"));
	assert_non_null(strstr(text, "class=\"right heat3\"><span class=\"warn\">190.0"));
	/* Of a latency the least is best. */
	assert_non_null(strstr(text, "class=\"right heat5\">800.0"));
	assert_non_null(strstr(text, "class=\"right heat4\"><span class=\"warn\">1200"));
	free(text);
	arena_free(&a);
}

/* A node of eight GPUs: its 56 pairs are no 56 rows, but what is odd about one stays to be seen. */
static void many_pairs_stand_in_matrices_alone(void **state)
{
	struct arena a = { 0 };
	struct record r = { .id = "x", .version = "1", .partial = true };
	char *text;

	(void)state;
	add_pair_case(&a, &r, "copy", "h2d:gpu0", 55);
	for (unsigned i = 0; i < 8; i++)
		for (unsigned k = 0; k < 8; k++)
			if (i != k)
				add_pair_case(&a, &r, "copy",
					      arena_printf(&a, "peer-write:gpu%u-gpu%u", i, k),
					      390 + i);
	r.cases[2].steady = false;
	r.cases[3].verified = false;
	add_pair_case(&a, &r, "copy", "peer-read:gpu0-gpu1", 0);
	r.cases[r.n - 1].n = 0;
	r.cases[r.n - 1].series[0].has_summary = false;
	text = matrix_text(page_bench(&a, &r, false), doc_md);
	assert_non_null(strstr(text, "h2d:gpu0"));
	assert_null(strstr(text, "peer-write:gpu0-gpu1"));
	assert_non_null(strstr(text, "peer-write:gpu0-gpu2"));
	assert_non_null(strstr(text, "not steady"));
	assert_non_null(strstr(text, "peer-write:gpu0-gpu3"));
	assert_null(strstr(text, "peer-read:gpu0-gpu1"));
	assert_non_null(strstr(text, "54 more pairs"));
	assert_non_null(strstr(text, "1 pairs were not measured"));
	assert_non_null(strstr(text, "| GPU 7 | 397.0 | 397.0 |"));
	free(text);
	text = matrix_text(page_bench(&a, &r, true), doc_md);
	assert_non_null(strstr(text, "peer-write:gpu0-gpu1"));
	assert_non_null(strstr(text, "peer-read:gpu0-gpu1"));
	free(text);
	arena_free(&a);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(limits_follow_the_hardware),
		cmocka_unit_test(frequency_limit_is_of_the_cpus),
		cmocka_unit_test(bands_make_sense),
		cmocka_unit_test(limits_of_a_part),
		cmocka_unit_test(bands_follow_the_hardware),
		cmocka_unit_test(verdicts_of_bands),
		cmocka_unit_test(says_what_did_not_run),
		cmocka_unit_test(chain_adds_up),
		cmocka_unit_test(one_core_type_or_two),
		cmocka_unit_test(hand_over_needs_two),
		cmocka_unit_test(idle_states_are_named),
		cmocka_unit_test(small_figures_are_no_zeros),
		cmocka_unit_test(wrong_has_no_figure),
		cmocka_unit_test(page_says_it_all),
		cmocka_unit_test(compare_is_drawn),
		cmocka_unit_test(bands_and_skips_come_back),
		cmocka_unit_test(pairs_make_matrices),
		cmocka_unit_test(many_pairs_stand_in_matrices_alone),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
