/* SPDX-License-Identifier: Apache-2.0 */
/* The tables of variables and options, how machines are joined, and the reading of shell text. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "models/generate/launch.h"
#include "models/generate/lint.h"
#include "knowledge/nccl_vars.h"
#include "models/generate/serve.h"

static void names_by_release(void **state)
{
	const char *since, *until;
	struct arena a = { 0 };

	(void)state;
	assert_int_equal(nccl_knows("NCCL_IB_SUBNET_AWARE_ROUTING", "2.30.4"), NCCL_NOT_YET);
	assert_int_equal(nccl_knows("NCCL_IB_SUBNET_AWARE_ROUTING", "2.30.7"), NCCL_KNOWN);
	assert_int_equal(nccl_knows("NCCL_IB_SUBNET_AWARE_ROUTING", "2.31.2"), NCCL_KNOWN);
	assert_int_equal(nccl_knows("NCCL_IB_SUBNET_AWARE_ROUTING", NULL), NCCL_NOT_TOLD);
	assert_int_equal(nccl_knows("NCCL_MNNVL", "2.20.3"), NCCL_KNOWN);
	assert_int_equal(nccl_knows("NCCL_MNNVL", "2.21.5"), NCCL_NO_MORE);
	assert_int_equal(nccl_knows("NCCL_ALGO", "2.12.7"), NCCL_KNOWN);
	assert_int_equal(nccl_knows("NCCL_DEBUG", "2.30.7"), NCCL_KNOWN);
	assert_int_equal(nccl_knows("NCCL_NO_SUCH", "2.28.9"), NCCL_NEVER);
	/* A release that nobody looked through may know more. */
	assert_int_equal(nccl_knows("NCCL_NO_SUCH", "2.99"), NCCL_NOT_TOLD);
	assert_false(nccl_name("NCCL_", &since, &until));
	assert_false(nccl_name("IB_HCA", &since, &until));
	assert_false(nccl_name("NCCL_IB", &since, &until));
	assert_string_equal(nccl_near(&a, "NCCL_IB_HAC"), "NCCL_IB_HCA");
	assert_null(nccl_near(&a, "NCCL_ENTIRELY_ELSE"));
	arena_free(&a);
}

/* What is known of a variable is known of a name that NCCL reads, or once read. */
static void tables_agree(void **state)
{
	(void)state;
	for (size_t i = 0; i < n_known_vars; i++) {
		const struct known_var *v = &known_vars[i];
		const char *since, *until;

		assert_non_null(v->does);
		assert_non_null(v->source);
		assert_true(v->values != VALUES_WORDS || v->words);
		if (strcmp(v->library, "NCCL") == 0 && !nccl_name(v->name, &since, &until))
			assert_non_null(v->harm);
		for (size_t k = i + 1; k < n_known_vars; k++)
			assert_string_not_equal(v->name, known_vars[k].name);
	}
	for (size_t i = 0; i < n_engine_options; i++) {
		const struct engine_option *o = &engine_options[i];

		assert_ptr_equal(engine_option(o->engine, o->name, strlen(o->name)), o);
		assert_non_null(engine_source(o->engine));
	}
	assert_non_null(engine_option(ENGINE_VLLM, "--max_model_len", 15));
	assert_null(engine_option(ENGINE_VLLM, "--max-model-length", 18));
	assert_null(engine_option(ENGINE_SGLANG, "--gpu-memory-utilization", 24));
}

static struct gen_port port(const char *device, const char *address)
{
	return (struct gen_port){ .device = device,
				  .number = 1,
				  .netdev = device,
				  .pci = "",
				  .cage = "",
				  .up = true,
				  .rate_mbps = 200000,
				  .address = address };
}

static enum gen_shape shape_of(struct gen_node *n, size_t count, unsigned *prefix)
{
	struct arena a = { 0 };
	struct gen_cluster c = { .nodes = n, .n = count };
	enum gen_shape s;

	for (size_t i = 0; i < count; i++)
		n[i].name = n[i].address = n[i].control = n[i].platform = "";
	gen_cluster_judge(&a, &c);
	s = c.shape;
	*prefix = c.prefix;
	arena_free(&a);
	return s;
}

static void how_machines_are_joined(void **state)
{
	struct gen_port a[] = { port("a", "10.0.0.1/24"), port("b", "10.0.4.1/24") };
	struct gen_port b[] = { port("a", "10.0.0.2/24"), port("b", "10.0.2.2/24") };
	struct gen_port c[] = { port("a", "10.0.2.3/24"), port("b", "10.0.4.3/24") };
	struct gen_port none[] = { port("a", ""), port("b", "") };
	struct gen_node n[3] = { { .ports = a, .n_ports = 2 },
				 { .ports = b, .n_ports = 2 },
				 { .ports = c, .n_ports = 2 } };
	unsigned prefix;

	(void)state;
	assert_int_equal(shape_of(n, 1, &prefix), SHAPE_ALONE);
	assert_int_equal(shape_of(n, 2, &prefix), SHAPE_COMMON);
	assert_int_equal(shape_of(n, 3, &prefix), SHAPE_RING);
	assert_int_equal(prefix, 24);
	b[0].up = false;
	assert_int_equal(shape_of(n, 3, &prefix), SHAPE_NEIGHBOURS);
	b[1].up = false;
	assert_int_equal(shape_of(n, 3, &prefix), SHAPE_SOCKETS);
	n[1].ports = none;
	assert_int_equal(shape_of(n, 3, &prefix), SHAPE_UNKNOWN);
	for (size_t i = 0; i < 2; i++)
		a[i].infiniband = none[i].infiniband = c[i].infiniband = true;
	assert_int_equal(shape_of(n, 3, &prefix), SHAPE_FABRIC);
}

static void subnets(void **state)
{
	struct ipv4 x, y;

	(void)state;
	assert_true(gen_subnet("10.1.2.3/24", &x) && x.ip == 0x0a010200 && x.bits == 24);
	assert_true(gen_subnet("10.1.2.200/32", &y) && y.ip == 0x0a0102c8);
	assert_false(gen_subnet("10.1.2.3", &x));
	assert_false(gen_subnet("10.1.2.3/0", &x));
	assert_false(gen_subnet("10.1.2.3/33", &x));
	assert_false(gen_subnet("10.1.2/24", &x));
	assert_false(gen_subnet("fe80::1/64", &x));
	assert_false(gen_subnet("1000000000000000000000.1/8", &x));
	assert_true(gen_name_valid("spark-a.local") && gen_name_valid("10.0.0.1"));
	assert_false(gen_name_valid("") || gen_name_valid("-x") || gen_name_valid("a b") ||
		     gen_name_valid("a$(b)"));
}

static void words(void **state)
{
	static const struct {
		const char *text, *words[6];
		size_t findings;
	} rows[] = {
		{ "a  'b c' \"d $e\"", { "a", "b c", "d $e" }, 0 },
		{ "a\\ b \\$c # d", { "a b", "$c" }, 0 },
		{ "a=b;c&&d|e", { "a=b", "c", "d", "e" }, 0 },
		{ "x \\\n  y", { "x", "y" }, 0 },
		{ "x \\ \n  y", { "x", " ", "y" }, 1 },
		{ "'never", { "never" }, 1 },
		{ "\"a\\\"b\" ''", { "a\"b", "" }, 0 },
		{ "#SBATCH --x=1\n# no", { "#SBATCH", "--x=1" }, 0 },
		{ "\xe2\x80\x93x", { "\xe2\x80\x93x" }, 1 },
		{ "a#b", { "a#b" }, 0 },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct arena a = { 0 };
		struct lint_on on = { 0 };
		struct lint l = { .a = &a, .on = &on };
		struct lint_word *w;
		size_t n, want = 0;

		w = lint_split(&l, rows[i].text, strlen(rows[i].text), &n);
		while (want < 6 && rows[i].words[want])
			want++;
		if (n != want || l.n != rows[i].findings)
			fail_msg("row %zu: %zu words, %zu findings", i, n, l.n);
		for (size_t k = 0; k < n; k++)
			assert_string_equal(w[k].text, rows[i].words[k]);
		arena_free(&a);
	}
}

static void memory_that_may_be_taken(void **state)
{
	double total = 130.66e9;

	(void)state;
	/* Of shared memory never more than 0.85, of what is free never the last 6 GB. */
	assert_true(fabs(serve_may_take(true, total, 0) / total - 0.85) < 1e-9);
	assert_true(fabs(serve_may_take(true, total, total) / total - 0.85) < 1e-9);
	assert_true(fabs(serve_may_take(true, total, 40e9) - 34e9) < 1);
	assert_true(serve_may_take(false, 80e9, 0) <= 0.95 * 80e9 + 1);
	assert_true(serve_may_take(false, 80e9, 40e9) < 40e9);
}

static void spreading(void **state)
{
	struct arch m = { .heads = 32, .kv_heads = 8, .layers = 36 };
	struct arena a = { 0 };

	(void)state;
	assert_null(serve_not_possible(&a, &m, ENGINE_VLLM, 8, 1));
	assert_null(serve_not_possible(&a, &m, ENGINE_VLLM, 16, 1));
	assert_non_null(serve_not_possible(&a, &m, ENGINE_VLLM, 3, 1));
	assert_non_null(serve_not_possible(&a, &m, ENGINE_VLLM, 1, 37));
	assert_non_null(serve_not_possible(&a, &m, ENGINE_LLAMACPP, 2, 1));
	arena_free(&a);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(names_by_release),
		cmocka_unit_test(tables_agree),
		cmocka_unit_test(how_machines_are_joined),
		cmocka_unit_test(subnets),
		cmocka_unit_test(words),
		cmocka_unit_test(memory_that_may_be_taken),
		cmocka_unit_test(spreading),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
