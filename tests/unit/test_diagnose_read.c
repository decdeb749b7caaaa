/* SPDX-License-Identifier: Apache-2.0 */
/* Readers of training evidence: each format as its tool writes it, as another version does, and
 * broken; every figure with its line. The files of tests/data/training are written by us. */
#include <dlfcn.h>
#include <errno.h>
#include <glob.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <cmocka.h>
#include <zlib.h>

#include "base/text.h"
#include "models/diagnose/evidence.h"
#include "models/diagnose/read.h"
#include "look/monitor/recording.h"

struct bag {
	struct arena a;
	struct run_evidence ev;
	struct err e;
	int code;
};

static void take_path(struct bag *b, const char *path)
{
	memset(b, 0, sizeof(*b));
	b->ev.arena = &b->a;
	b->code = evidence_add(&b->ev, path, 3, &b->e);
	if (b->code && !*b->e.text)
		fail_msg("%s: an error without a word", path);
	for (size_t i = 0; i < b->ev.n_figures; i++) {
		const struct metric_sample *f = &b->ev.figures[i];

		assert_true(isfinite(f->value));
		assert_true(f->kind < FIGURE_KINDS && f->file == 0);
		assert_true(f->line <= b->ev.files[0].lines);
	}
}

static void take(struct bag *b, const char *name)
{
	char path[512];

	snprintf(path, sizeof(path), "%s/tests/data/training/%s", SOURCE_ROOT, name);
	take_path(b, path);
}

static void drop(struct bag *b)
{
	arena_free(&b->a);
}

static bool near(double a, double b)
{
	return (isnan(a) && isnan(b)) || fabs(a - b) <= 1e-9 * fmax(1e-3, fabs(b));
}

static const struct metric_sample *find(const struct bag *b, enum figure_kind kind, double value,
					size_t line)
{
	for (size_t i = 0; i < b->ev.n_figures; i++)
		if (b->ev.figures[i].kind == kind && near(b->ev.figures[i].value, value) &&
		    b->ev.figures[i].line == line)
			return &b->ev.figures[i];
	return NULL;
}

/* The figure must be there, once at that line. */
static const struct metric_sample *want(const struct bag *b, enum figure_kind kind, double value,
					size_t line)
{
	const struct metric_sample *f = find(b, kind, value, line);

	if (!f) {
		for (size_t i = 0; i < b->ev.n_figures; i++)
			if (b->ev.figures[i].kind == kind)
				print_message("  line %zu: %.9g\n", b->ev.figures[i].line,
					      b->ev.figures[i].value);
		fail_msg("no %s of %.9g at line %zu", figure_types[kind].name, value, line);
	}
	return f;
}

static size_t count(const struct bag *b, enum figure_kind kind)
{
	size_t n = 0;

	for (size_t i = 0; i < b->ev.n_figures; i++)
		n += b->ev.figures[i].kind == kind;
	return n;
}

static const struct run_attribute *trait(const struct bag *b, enum trait_kind kind,
					 const char *text, size_t line)
{
	for (size_t i = 0; i < b->ev.n_traits; i++)
		if (b->ev.traits[i].kind == kind && strcmp(b->ev.traits[i].text, text) == 0 &&
		    b->ev.traits[i].line == line)
			return &b->ev.traits[i];
	fail_msg("no trait %d '%s' at line %zu", (int)kind, text, line);
	return NULL;
}

static size_t count_traits(const struct bag *b, enum trait_kind kind)
{
	size_t n = 0;

	for (size_t i = 0; i < b->ev.n_traits; i++)
		n += b->ev.traits[i].kind == kind;
	return n;
}

static void format_is(const struct bag *b, const char *name)
{
	assert_int_equal(b->code, 0);
	assert_int_equal(b->ev.n_files, 1);
	assert_string_equal(b->ev.files[0].format, name);
	assert_int_equal(b->ev.files[0].run, 3);
	assert_true(b->ev.files[0].used > 0);
}

/* --- logs ------------------------------------------------------------------------------------- */

static void test_hf(void **state)
{
	struct bag b;
	const struct metric_sample *f;

	(void)state;
	take(&b, "hf.log");
	format_is(&b, "Hugging Face Trainer log");
	assert_int_equal(b.ev.files[0].lines, 18);
	trait(&b, TRAIT_MICRO_BATCH, "4", 3);
	trait(&b, TRAIT_GLOBAL_BATCH, "64", 4);
	trait(&b, TRAIT_ACCUMULATION, "2", 5);
	want(&b, FIGURE_LOSS, 2.4131, 9);
	f = want(&b, FIGURE_SAMPLES_PER_S, 41.472, 12);
	assert_true(near(f->over_s, 1234.5678) && f->step == -1 && !f->total);
	want(&b, FIGURE_STEP_S, 1 / 0.648, 12);
	assert_true(near(want(&b, FIGURE_SAMPLES_PER_S, 41.472, 17)->over_s, 1234.56));
	/* Of the bars only that of training, each state of it. */
	assert_int_equal(want(&b, FIGURE_STEP_S, 2.5, 8)->step, 1);
	f = want(&b, FIGURE_STEP_S, 1.6, 8);
	assert_int_equal(f->step, 2);
	assert_string_equal(f->text, "progress bar");
	assert_int_equal(count(&b, FIGURE_STEP_S), 4);
	drop(&b);

	take(&b, "hf-5.log");
	want(&b, FIGURE_LOSS, 2.413, 1);
	want(&b, FIGURE_STEP_S, 0.5, 2);
	assert_true(near(want(&b, FIGURE_TOKENS_PER_S_PER_GPU, 131072, 2)->over_s, 100));
	want(&b, FIGURE_TOKENS_PER_S, 1048576, 3);
	drop(&b);

	take(&b, "hf-broken.log");
	assert_int_equal(b.code, 0);
	assert_int_equal(b.ev.n_figures, 1);
	want(&b, FIGURE_LOSS, 1.5, 4);
	drop(&b);
}

static void test_hf_json(void **state)
{
	struct bag b;

	(void)state;
	take(&b, "trainer_state.json");
	format_is(&b, "Hugging Face Trainer results");
	assert_int_equal(want(&b, FIGURE_LOSS, 3.5, 6)->step, 10);
	assert_int_equal(want(&b, FIGURE_LOSS, 3.25, 12)->step, 20);
	assert_true(near(want(&b, FIGURE_STEP_S, 2.5, 17)->over_s, 50));
	want(&b, FIGURE_SAMPLES_PER_S, 12.8, 17);
	trait(&b, TRAIT_MICRO_BATCH, "4", 28);
	trait(&b, TRAIT_FRAMEWORK, "hf-trainer", 0);
	drop(&b);

	take(&b, "all_results.json");
	want(&b, FIGURE_STEP_S, 0.25, 1);
	assert_true(near(want(&b, FIGURE_SAMPLES_PER_S, 100.25, 1)->over_s, 80.5));
	drop(&b);

	take(&b, "trainer_state-cut.json");
	assert_int_equal(b.code, -EBADMSG);
	assert_non_null(strstr(b.e.text, "trainer_state-cut.json:"));
	assert_int_equal(b.ev.n_figures, 2);
	want(&b, FIGURE_LOSS, 3.25, 12);
	drop(&b);
}

static void test_lightning(void **state)
{
	struct bag b;
	const struct metric_sample *f;

	(void)state;
	take(&b, "lightning.log");
	format_is(&b, "Lightning profiler report");
	f = want(&b, FIGURE_STEP_S, 0.0625, 9);
	assert_true(near(f->over_s, 20) && !f->total);
	f = want(&b, FIGURE_DATA_S, 16, 11);
	assert_true(near(f->over_s, 39.9) && f->total);
	want(&b, FIGURE_BACKWARD_S, 9.6, 12);
	want(&b, FIGURE_FORWARD_S, 6.4, 13);
	want(&b, FIGURE_COPY_S, 0.32, 14);
	/* The step holds the passes. */
	want(&b, FIGURE_OPTIMIZER_S, 19.36 - 9.6 - 6.4, 10);
	assert_int_equal(b.ev.n_figures, 6);
	drop(&b);

	take(&b, "lightning-old.log");
	want(&b, FIGURE_STEP_S, 0.1, 1);
	want(&b, FIGURE_DATA_S, 28.25, 8);
	want(&b, FIGURE_FORWARD_S, 112.5, 9);
	want(&b, FIGURE_OPTIMIZER_S, 74.25, 11);
	drop(&b);

	take(&b, "lightning-broken.log");
	assert_int_equal(b.ev.n_figures, 1);
	want(&b, FIGURE_DATA_S, 2.5, 5);
	drop(&b);

	take(&b, "metrics.csv");
	format_is(&b, "metrics CSV");
	assert_int_equal(want(&b, FIGURE_LOSS, 2.5, 2)->step, 49);
	assert_int_equal(want(&b, FIGURE_MFU, 0.41, 3)->step, 99);
	assert_int_equal(b.ev.n_figures, 3);
	drop(&b);

	take(&b, "metrics-broken.csv");
	assert_int_equal(b.code, -EBADMSG);
	assert_non_null(strstr(b.e.text, ":2: unclosed quote"));
	drop(&b);
}

static void test_megatron(void **state)
{
	struct bag b;
	const struct metric_sample *f;

	(void)state;
	take(&b, "megatron.log");
	format_is(&b, "Megatron-LM log");
	trait(&b, TRAIT_FRAMEWORK, "megatron-lm", 17);
	trait(&b, TRAIT_PRECISION, "bf16", 3);
	trait(&b, TRAIT_GLOBAL_BATCH, "128", 6);
	trait(&b, TRAIT_MICRO_BATCH, "4", 7);
	trait(&b, TRAIT_WORKERS, "2", 8);
	trait(&b, TRAIT_PP, "1", 9);
	trait(&b, TRAIT_CHECKPOINTING, "selective", 10);
	trait(&b, TRAIT_SEQUENCE, "4096", 11);
	trait(&b, TRAIT_TP, "2", 12);
	trait(&b, TRAIT_PARALLEL, "zero-1", 13);
	assert_true(near(trait(&b, TRAIT_WORLD_SIZE, "8", 14)->value, 8));
	assert_true(near(trait(&b, TRAIT_PARAMETERS, "6980000000", 17)->value, 6.98e9));
	assert_int_equal(count_traits(&b, TRAIT_PARAMETERS), 1);
	f = want(&b, FIGURE_STEP_S, 19.1388, 20);
	assert_true(f->step == 1 && f->rank == 7);
	want(&b, FIGURE_TFLOPS_PER_GPU, 80.2, 20);
	want(&b, FIGURE_LOSS, 10.43863, 20);
	assert_string_equal(want(&b, FIGURE_FORWARD_S, 3.0105, 23)->text, "forward-compute (min)");
	f = want(&b, FIGURE_DATA_S, 0.48, 25);
	assert_string_equal(f->text, "batch-generator (max)");
	assert_true(f->step == 1 && f->rank == -1 && !f->total);
	assert_string_equal(want(&b, FIGURE_COMM_S, 0.31, 26)->text, "all-grads-sync (max)");
	want(&b, FIGURE_OPTIMIZER_S, 0.0955, 27);
	want(&b, FIGURE_CHECKPOINT_S, 24.89513, 30);
	assert_int_equal(want(&b, FIGURE_GPU_MEMORY, 16334.0 * 1048576, 31)->rank, 3);
	assert_int_equal(want(&b, FIGURE_TFLOPS_PER_GPU, 663.5, 32)->step, -1);
	drop(&b);

	take(&b, "megatron-2021.log");
	assert_int_equal(want(&b, FIGURE_STEP_S, 0.1234, 3)->step, 30);
	want(&b, FIGURE_FORWARD_S, 0.03157, 4);
	want(&b, FIGURE_COMM_S, 0.02115, 4);
	assert_int_equal(want(&b, FIGURE_FORWARD_S, 0.0405, 8)->rank, 1);
	want(&b, FIGURE_TOKENS_PER_S_PER_GPU, 9640.7, 9);
	want(&b, FIGURE_TFLOPS_PER_GPU, 496.3, 9);
	/* A shard's parameters are not the model's. */
	assert_int_equal(count_traits(&b, TRAIT_PARAMETERS), 0);
	drop(&b);

	take(&b, "megatron-broken.log");
	assert_int_equal(b.code, 0);
	assert_int_equal(b.ev.n_figures, 1);
	assert_int_equal(want(&b, FIGURE_LOSS, 2, 8)->step, 8);
	drop(&b);
}

static void test_nemo(void **state)
{
	struct bag b;

	(void)state;
	take(&b, "nemo.log");
	format_is(&b, "NeMo log");
	trait(&b, TRAIT_FRAMEWORK, "nemo", 2);
	trait(&b, TRAIT_GLOBAL_BATCH, "128", 2);
	assert_int_equal(want(&b, FIGURE_STEP_S, 12.39, 2)->step, 49);
	want(&b, FIGURE_GPU_MEMORY, 70833405952, 2);
	want(&b, FIGURE_LOSS, 11.96, 2);
	want(&b, FIGURE_TOKENS_PER_S_PER_GPU, 10730, 3);
	/* The bar of 1.x, in each of its states. */
	assert_int_equal(want(&b, FIGURE_STEP_S, 5.31, 4)->step, 41);
	assert_int_equal(want(&b, FIGURE_STEP_S, 5.29, 4)->step, 42);
	assert_int_equal(count(&b, FIGURE_STEP_S), 4);
	drop(&b);
}

static void test_deepspeed(void **state)
{
	struct bag b;
	const struct metric_sample *f;

	(void)state;
	take(&b, "deepspeed.log");
	format_is(&b, "DeepSpeed log");
	trait(&b, TRAIT_PRECISION, "bf16", 1);
	trait(&b, TRAIT_ACCUMULATION, "2", 2);
	trait(&b, TRAIT_GLOBAL_BATCH, "64", 3);
	trait(&b, TRAIT_MICRO_BATCH, "4", 4);
	trait(&b, TRAIT_PARALLEL, "zero-3", 6);
	assert_int_equal(want(&b, FIGURE_SAMPLES_PER_S, 61.25, 8)->step, 10);
	want(&b, FIGURE_GPU_MEMORY, 19.5 * 1073741824, 8);
	want(&b, FIGURE_FORWARD_S, 0.2005, 10);
	want(&b, FIGURE_BACKWARD_S, 0.36025, 10);
	want(&b, FIGURE_COMM_S, 0.07975, 10);
	assert_int_equal(want(&b, FIGURE_OPTIMIZER_S, 0.081, 10)->step, 10);
	assert_int_equal(count(&b, FIGURE_FORWARD_S), 1); /* not that of a micro-step */
	f = want(&b, FIGURE_BUSBW_GBS, 8.75, 16);
	assert_string_equal(f->text, "all_gather_into_tensor");
	assert_true(near(f->at, 1.5 * 1048576));
	assert_true(want(&b, FIGURE_COMM_S, 0.025, 16)->total);
	want(&b, FIGURE_COLLECTIVE_US, 80, 14);
	drop(&b);

	take(&b, "deepspeed-2021.log");
	assert_int_equal(want(&b, FIGURE_FORWARD_S, 0.4355, 2)->rank, 0);
	assert_int_equal(want(&b, FIGURE_SAMPLES_PER_S, 83.5, 3)->step, 40);
	assert_int_equal(want(&b, FIGURE_STEP_S, 0.875, 4)->step, 50);
	want(&b, FIGURE_STEP_S, 0.18473, 5);
	want(&b, FIGURE_FORWARD_S, 0.07667, 6);
	want(&b, FIGURE_TFLOPS_PER_GPU, 101.98, 8);
	assert_int_equal(count(&b, FIGURE_TFLOPS_PER_GPU), 1);
	want(&b, FIGURE_COLLECTIVE_US, 20000, 11);
	assert_true(near(want(&b, FIGURE_ALGBW_GBS, 200, 11)->at, 4.0 * 1073741824));
	drop(&b);

	take(&b, "deepspeed-broken.log");
	assert_int_equal(b.ev.n_figures, 1);
	drop(&b);
}

static void test_titan(void **state)
{
	struct bag b;
	const struct metric_sample *f;

	(void)state;
	take(&b, "torchtitan.log");
	format_is(&b, "torchtitan log");
	trait(&b, TRAIT_GPU, "NVIDIA H100 80GB HBM3", 1);
	trait(&b, TRAIT_MODEL, "llama3 8B", 2);
	trait(&b, TRAIT_PARAMETERS, "8030261248", 2);
	trait(&b, TRAIT_CHECKPOINTING, "selective", 3);
	trait(&b, TRAIT_PARALLEL, "fsdp", 4);
	trait(&b, TRAIT_SEQUENCE, "8192", 5);
	trait(&b, TRAIT_GLOBAL_BATCH, "64", 5);
	f = want(&b, FIGURE_TOKENS_PER_S_PER_GPU, 5857, 7);
	assert_true(f->rank == 3 && f->step == 200);
	want(&b, FIGURE_MFU, 0.3429, 6);
	want(&b, FIGURE_TFLOPS_PER_GPU, 339.16, 6);
	want(&b, FIGURE_GPU_MEMORY, 49.5 * 1073741824, 6);
	drop(&b);

	/* How many GPUs, by both ways to say it. */
	take(&b, "torchtitan-mesh.log");
	assert_true(near(trait(&b, TRAIT_WORLD_SIZE, "16", 1)->value, 16));
	assert_true(near(trait(&b, TRAIT_TP, "4", 1)->value, 4));
	assert_true(near(trait(&b, TRAIT_WORLD_SIZE, "64", 2)->value, 64));
	assert_true(near(trait(&b, TRAIT_PP, "2", 2)->value, 2));
	trait(&b, TRAIT_GLOBAL_BATCH, "8", 3);
	trait(&b, TRAIT_SEQUENCE, "4096", 3);
	assert_int_equal(count_traits(&b, TRAIT_WORLD_SIZE), 2);
	drop(&b);

	take(&b, "torchtitan-odd.log");
	assert_int_equal(want(&b, FIGURE_TOKENS_PER_S_PER_GPU, 10050, 1)->step, 4);
	want(&b, FIGURE_TOKENS_PER_S_PER_GPU, 12345, 2);
	want(&b, FIGURE_STEP_S, 1.25, 3);
	want(&b, FIGURE_DATA_S, 0.5, 3);
	assert_int_equal(count(&b, FIGURE_MFU), 1);
	drop(&b);

	take(&b, "torchtitan-broken.log");
	assert_int_equal(count(&b, FIGURE_LOSS) + count(&b, FIGURE_MFU), 0);
	drop(&b);
}

static void test_plain(void **state)
{
	struct bag b;
	const struct metric_sample *f;

	(void)state;
	take(&b, "plain.log");
	format_is(&b, "training log");
	assert_int_equal(want(&b, FIGURE_STEP_S, 0.2505, 2)->step, 10);
	assert_int_equal(count(&b, FIGURE_MFU), 3); /* not the -100 % */
	want(&b, FIGURE_MFU, 0.345, 2);
	want(&b, FIGURE_TOKENS_PER_S, 524288.25, 3);
	want(&b, FIGURE_STEP_S, 2.8565, 4);
	want(&b, FIGURE_TOKENS_PER_S, 183500, 4);
	assert_int_equal(want(&b, FIGURE_STEP_S, 2, 6)->step, 10);
	want(&b, FIGURE_TOKENS_PER_S_PER_GPU, 12000.5, 7);
	want(&b, FIGURE_STEP_S, 0.2345, 9);
	want(&b, FIGURE_TOKENS_PER_S_PER_GPU, 4321.5, 10);
	f = want(&b, FIGURE_COMM_EXPOSED_S, 0.05, 11);
	assert_true(f->rank == 1 && f->step == 3);
	drop(&b);
}

/* --- communication ---------------------------------------------------------------------------- */

static void test_nccl_tests(void **state)
{
	struct bag b;
	const struct metric_sample *f;

	(void)state;
	take(&b, "nccl-tests.log");
	format_is(&b, "nccl-tests output");
	trait(&b, TRAIT_GPU, "NVIDIA H200", 7);
	trait(&b, TRAIT_WORLD_SIZE, "2", 11);
	trait(&b, TRAIT_WRONG, "3", 14);
	assert_int_equal(count_traits(&b, TRAIT_WRONG), 1);
	f = want(&b, FIGURE_BUSBW_GBS, 442.25, 14);
	assert_true(near(f->at, 4294967296.0));
	assert_string_equal(f->text, "all_reduce");
	assert_string_equal(want(&b, FIGURE_BUSBW_GBS, 442.2, 14)->text, "all_reduce, in place");
	want(&b, FIGURE_COLLECTIVE_US, 28.15, 13);
	want(&b, FIGURE_ALGBW_GBS, 38.1, 13);
	assert_string_equal(want(&b, FIGURE_BUSBW_GBS, 254.0775, 16)->text,
			    "all_reduce, average of all rows");
	drop(&b);

	take(&b, "nccl-tests-2019.log");
	trait(&b, TRAIT_GPU, "Tesla V100-SXM2-16GB", 2);
	assert_string_equal(want(&b, FIGURE_BUSBW_GBS, 59.43, 6)->text, "all_gather");
	want(&b, FIGURE_COLLECTIVE_US, 122.5, 6);
	assert_int_equal(count_traits(&b, TRAIT_WRONG), 0);
	drop(&b);

	take(&b, "nccl-tests-broken.log");
	assert_int_equal(b.ev.n_figures, 3);
	want(&b, FIGURE_BUSBW_GBS, 66.67, 4);
	drop(&b);
}

static void test_nccl(void **state)
{
	struct bag b;

	(void)state;
	take(&b, "nccl.log");
	format_is(&b, "NCCL log");
	trait(&b, TRAIT_VARIABLE, "NCCL_SOCKET_IFNAME=eth0", 1);
	trait(&b, TRAIT_VARIABLE, "NCCL_IB_DISABLE=1", 4);
	trait(&b, TRAIT_NCCL_VERSION, "2.27.3+cuda12.9", 3);
	trait(&b, TRAIT_NCCL_DEVICE, "eth1", 5);
	trait(&b, TRAIT_NCCL_NET, "Socket", 6);
	trait(&b, TRAIT_NCCL_TRANSPORT, "NET/Socket/0", 10);
	trait(&b, TRAIT_NCCL_TRANSPORT, "P2P/CUMEM", 11);
	trait(&b, TRAIT_NCCL_TRANSPORT, "SHM/direct/direct", 13);
	assert_int_equal(count_traits(&b, TRAIT_NCCL_TRANSPORT), 3); /* each once */
	assert_true(near(trait(&b, TRAIT_WORLD_SIZE, "16", 7)->value, 16));
	trait(&b, TRAIT_NODES, "2", 7);
	trait(&b, TRAIT_NCCL_CHANNELS, "2", 15);
	trait(&b, TRAIT_NCCL_ALGO, "Ring", 17);
	drop(&b);

	take(&b, "nccl-2020.log");
	trait(&b, TRAIT_NCCL_DEVICE, "mlx5_2:1/RoCE", 1);
	assert_int_equal(trait(&b, TRAIT_NCCL_NET, "IB", 2)->rank, 3);
	trait(&b, TRAIT_NCCL_VERSION, "2.5.6+cuda10.2", 3);
	trait(&b, TRAIT_NCCL_TRANSPORT, "NET/IB/0/GDRDMA", 4);
	trait(&b, TRAIT_WORLD_SIZE, "64", 5);
	trait(&b, TRAIT_NCCL_ALGO, "RING", 6);
	trait(&b, TRAIT_NCCL_CHANNELS, "24", 7);
	assert_int_equal(count_traits(&b, TRAIT_NCCL_WARNING), 1);
	drop(&b);

	/* Bare variables, a plugin's name with a blank, and rows of the test among lines of NCCL.
	 */
	take(&b, "nccl-2.28.log");
	trait(&b, TRAIT_VARIABLE, "NCCL_SOCKET_IFNAME=enp1s0f1np1", 9);
	assert_int_equal(count_traits(&b, TRAIT_VARIABLE), 1);
	trait(&b, TRAIT_NCCL_VERSION, "2.28.9+cuda13.0", 11);
	trait(&b, TRAIT_NCCL_DEVICE, "roceP2p1s0f1:1/RoCE", 14);
	trait(&b, TRAIT_NCCL_NET, "IB", 16);
	trait(&b, TRAIT_NODES, "2", 17);
	trait(&b, TRAIT_NCCL_CHANNELS, "16", 19);
	trait(&b, TRAIT_NCCL_TRANSPORT, "NET/AWS Libfabric/0/GDRDMA", 26);
	assert_string_equal(want(&b, FIGURE_BUSBW_GBS, 11.16, 27)->text, "all_gather");
	assert_int_equal(count_traits(&b, TRAIT_NCCL_WARNING), 1);
	want(&b, FIGURE_BUSBW_GBS, 11.17, 30);
	drop(&b);

	take(&b, "nccl-broken.log");
	assert_int_equal(b.ev.n_traits, 1);
	trait(&b, TRAIT_NCCL_VERSION, "2.20.5+cuda12.4", 9);
	drop(&b);
}

/* --- machines --------------------------------------------------------------------------------- */

static void test_smi(void **state)
{
	struct bag b;
	const struct metric_sample *f;

	(void)state;
	take(&b, "smi.csv");
	format_is(&b, "nvidia-smi CSV");
	f = want(&b, FIGURE_GPU_UTIL, 0.17, 3);
	assert_true(f->rank == 1 && near(f->at, 0));
	assert_true(near(want(&b, FIGURE_GPU_UTIL, 0.97, 4)->at, 1));
	want(&b, FIGURE_GPU_POWER_W, 612.34, 2);
	want(&b, FIGURE_GPU_MEMORY, 45056.0 * 1048576, 2);
	assert_int_equal(count(&b, FIGURE_GPU_POWER_W), 2); /* [N/A] is none */
	assert_string_equal(want(&b, FIGURE_THROTTLED, 1, 3)->text, "power cap");
	want(&b, FIGURE_THROTTLED, 0, 4);
	trait(&b, TRAIT_GPU, "NVIDIA H200", 3);
	drop(&b);

	take(&b, "smi-nounits.csv");
	assert_int_equal(want(&b, FIGURE_GPU_UTIL, 0.6, 3)->rank, 1);
	assert_int_equal(want(&b, FIGURE_GPU_POWER_W, 310.5, 4)->rank, 0);
	drop(&b);

	/* Not as nvidia-smi writes it: what can be read is. */
	take(&b, "smi-broken.csv");
	want(&b, FIGURE_GPU_UTIL, 0.98, 2);
	drop(&b);
}

static void test_dmon(void **state)
{
	struct bag b;

	(void)state;
	take(&b, "dmon.log");
	format_is(&b, "dmon");
	want(&b, FIGURE_GPU_POWER_W, 612, 3);
	assert_int_equal(want(&b, FIGURE_SM_MHZ, 345, 4)->rank, 1);
	want(&b, FIGURE_GPU_UTIL, 0.97, 7);
	assert_int_equal(count(&b, FIGURE_SM_ACTIVITY), 0);
	drop(&b);

	take(&b, "dmon.csv");
	assert_true(near(want(&b, FIGURE_GPU_UTIL, 0.92, 4)->at, 2)); /* past midnight */
	want(&b, FIGURE_PCIE_GBS, 12, 3);
	want(&b, FIGURE_GPU_MEMORY, 40000.0 * 1048576, 4);
	drop(&b);

	take(&b, "dcgmi.log");
	assert_int_equal(want(&b, FIGURE_SM_ACTIVITY, 0.4, 4)->rank, 1);
	drop(&b);

	take(&b, "dmon-broken.log");
	assert_int_equal(b.code, -ENOTSUP);
	assert_int_equal(b.ev.n_figures, 0);
	drop(&b);
}

static void record_rows(const char *path)
{
	struct monitor_gpu gpu = { .index = 2,
				   .name = "NVIDIA H200",
				   .sm_max_mhz = 1980,
				   .lock_low_mhz = -1,
				   .lock_high_mhz = -1,
				   .power_limit_w = 700,
				   .memory_bytes = 1.5e11,
				   .slowdown_c = 90 };
	struct column_of columns[] = {
		{ .type = column_type_find("gpu.busy"), .target = "gpu2" },
		{ .type = column_type_find("gpu.capped"), .target = "gpu2" },
		{ .type = column_type_find("cpu.busy"), .target = "" },
		{ .type = column_type_find("net.received"), .target = "eth0" },
		{ .type = column_type_find("net.sent"), .target = "eth0" },
	};
	struct monitor mon = { .machine = { .name = "m", .cpus = 4, .gpus = &gpu, .n_gpus = 1 },
			       .columns = columns,
			       .n = 5 };
	char *command[] = { (char *)"torchrun", (char *)"train.py", NULL };
	const double rows[3][5] = { { 90, 0, 10, 0, 0 },
				    { 50, 0.25, 11, 1e9, 5e8 },
				    { (double)NAN, 0.7505, 13, 1e9, 5e8 } };
	struct recording_end end = { .whole = true, .rows = 3 };
	struct err e;
	struct recorder *r = recorder_open(path, &mon, command, 1700000000, 500, &e);

	assert_non_null(r);
	for (int i = 0; i < 3; i++)
		assert_int_equal(recorder_row(r, 500 * i, rows[i]), 0);
	assert_int_equal(recorder_close(r, &end), 0);
}

static void test_recording(void **state)
{
	char dir[] = "/tmp/gputune-read-XXXXXX", path[64];
	struct bag b;

	(void)state;
	assert_non_null(mkdtemp(dir));
	snprintf(path, sizeof(path), "%s/job.rec", dir);
	record_rows(path);
	take_path(&b, path);
	format_is(&b, "gputune recording");
	trait(&b, TRAIT_COMMAND, "torchrun train.py", 1);
	assert_int_equal(trait(&b, TRAIT_GPU, "NVIDIA H200", 1)->rank, 2);
	assert_int_equal(want(&b, FIGURE_GPU_POWER_LIMIT_W, 700, 1)->rank, 2);
	assert_int_equal(want(&b, FIGURE_GPU_UTIL, 0.9, 2)->rank, 2);
	assert_true(near(want(&b, FIGURE_GPU_UTIL, 0.5, 3)->at, 0.5));
	assert_int_equal(count(&b, FIGURE_GPU_UTIL), 2);
	assert_string_equal(want(&b, FIGURE_THROTTLED, 0.5, 3)->text, "power cap");
	/* No share is more than all of the time, whatever two clocks say. */
	want(&b, FIGURE_THROTTLED, 1, 4);
	want(&b, FIGURE_CPU_BUSY, 0.5, 3); /* 2 of 4 CPUs */
	want(&b, FIGURE_CPU_BUSY, 1, 4);
	want(&b, FIGURE_NET_GBS, 3, 3);
	want(&b, FIGURE_NET_GBS, 0, 4);
	drop(&b);
	unlink(path);
	rmdir(dir);
}

/* --- profiles --------------------------------------------------------------------------------- */

static void check_trace(const struct bag *b)
{
	const struct metric_sample *f;

	trait(b, TRAIT_WORLD_SIZE, "16", 7);
	assert_int_equal(trait(b, TRAIT_GPU, "NVIDIA H200", 3)->rank, 3);
	f = want(b, FIGURE_STEP_S, 1000e-6, 10);
	assert_true(f->step == 5 && f->rank == 3);
	assert_int_equal(want(b, FIGURE_DATA_S, 200e-6, 11)->step, 5);
	want(b, FIGURE_OPTIMIZER_S, 150e-6, 12);
	f = want(b, FIGURE_COMPUTE_S, 350e-6, 14);
	assert_true(f->total && near(f->over_s, 1000e-6) && f->rank == 3);
	want(b, FIGURE_COMM_S, 300e-6, 15);
	want(b, FIGURE_COMM_EXPOSED_S, 200e-6, 15);
	want(b, FIGURE_COPY_S, 100e-6, 16);
	want(b, FIGURE_COPY_EXPOSED_S, 50e-6, 16);
	f = want(b, FIGURE_COLLECTIVE_US, 300, 15);
	assert_string_equal(f->text, "all_gather");
	assert_true(near(f->at, 32768));
	/* What adds up to the whole. */
	want(b, FIGURE_IDLE_S, (1000 - 350 - 200 - 50) * 1e-6, 0);
	want(b, FIGURE_KERNELS, 3, 14);
}

static void test_trace(void **state)
{
	struct bag b;

	(void)state;
	take(&b, "trace.json");
	format_is(&b, "PyTorch profiler trace");
	check_trace(&b);
	want(&b, FIGURE_SYNC_S, 190e-6, 18);
	want(&b, FIGURE_LAUNCH_S, 10e-6, 19);
	drop(&b);

	take(&b, "trace-cut.json");
	assert_int_equal(b.code, -EBADMSG);
	assert_non_null(strstr(b.e.text, "trace-cut.json:18:"));
	check_trace(&b);
	drop(&b);

	take(&b, "trace-cpu_rank2.json");
	format_is(&b, "PyTorch profiler trace");
	assert_int_equal(want(&b, FIGURE_STEP_S, 1000e-6, 1)->rank, 2);
	want(&b, FIGURE_DATA_S, 400e-6, 2);
	want(&b, FIGURE_BACKWARD_S, 150e-6, 4);
	want(&b, FIGURE_COMM_EXPOSED_S, 170e-6, 6);
	assert_string_equal(want(&b, FIGURE_COMPUTE_S, 200e-6, 5)->text, "host operators");
	assert_int_equal(count(&b, FIGURE_KERNELS), 0);
	drop(&b);

	take(&b, "trace-broken.json");
	assert_int_equal(b.code, -EBADMSG);
	assert_int_equal(b.ev.n_figures, 0);
	drop(&b);
}

/* Packed, the same comes of it. */
static void test_packed(void **state)
{
	static const char *const names[] = { "trace.json", "megatron.log" };
	char dir[] = "/tmp/gputune-read-XXXXXX", from[512], path[80], buf[8192];

	(void)state;
	assert_non_null(mkdtemp(dir));
	for (size_t i = 0; i < 2; i++) {
		struct bag plain, packed;
		FILE *in;
		gzFile out;
		size_t n;

		snprintf(from, sizeof(from), "%s/tests/data/training/%s", SOURCE_ROOT, names[i]);
		snprintf(path, sizeof(path), "%s/%s.gz", dir, names[i]);
		in = fopen(from, "r");
		out = gzopen(path, "wb");
		assert_true(in && out);
		while ((n = fread(buf, 1, sizeof(buf), in)))
			assert_int_equal(gzwrite(out, buf, (unsigned)n), n);
		fclose(in);
		gzclose(out);
		take_path(&plain, from);
		take_path(&packed, path);
		assert_int_equal(packed.code, 0);
		assert_int_equal(packed.ev.n_figures, plain.ev.n_figures);
		for (size_t k = 0; k < plain.ev.n_figures; k++)
			assert_true(near(packed.ev.figures[k].value, plain.ev.figures[k].value) &&
				    packed.ev.figures[k].line == plain.ev.figures[k].line);
		unlink(path);
		drop(&plain);
		drop(&packed);
	}
	rmdir(dir);
}

/* --- SQLite ----------------------------------------------------------------------------------- */

/* The functions are asked of the library itself: building needs no header of it. */
static bool make_db(const char *path, const char *sql)
{
	void *lib = dlopen("libsqlite3.so.0", RTLD_NOW), *db = NULL;
	int (*open)(const char *, void **);
	int (*exec)(void *, const char *, void *, void *, void *);
	int (*close)(void *);
	int code;

	if (!lib)
		return false;
	*(void **)&open = dlsym(lib, "sqlite3_open");
	*(void **)&exec = dlsym(lib, "sqlite3_exec");
	*(void **)&close = dlsym(lib, "sqlite3_close");
	assert_true(open && exec && close);
	assert_int_equal(open(path, &db), 0);
	code = exec(db, sql, NULL, NULL, NULL);
	close(db);
	dlclose(lib);
	assert_int_equal(code, 0);
	return true;
}

#define KERNEL_ROWS                                                                                \
	"CREATE TABLE StringIds(id INTEGER PRIMARY KEY, value TEXT);"                              \
	"INSERT INTO StringIds VALUES(1,'gemm'),(2,'ncclDevKernel_AllReduce_Sum_bf16_RING_LL'),"   \
	"(3,'cudaStreamSynchronize_v3020'),(4,'cudaLaunchKernel_v7000'),(5,'cudaMalloc_v3020');"

static void check_devices(const struct bag *b)
{
	for (size_t i = 0; i < b->ev.n_figures; i++)
		assert_true(b->ev.figures[i].total);
	/* GPU 0: from 1000 to 2000 us. */
	assert_true(near(want(b, FIGURE_COMPUTE_S, 600e-6, 0)->over_s, 1000e-6));
	assert_int_equal(find(b, FIGURE_COMM_S, 300e-6, 0)->rank, 0);
	want(b, FIGURE_COMM_EXPOSED_S, 200e-6, 0);
	want(b, FIGURE_IDLE_S, 200e-6, 0);
	/* GPU 1: one kernel and no more. */
	assert_int_equal(want(b, FIGURE_COMPUTE_S, 50e-6, 0)->rank, 1);
}

static void test_sqlite(void **state)
{
	char dir[] = "/tmp/gputune-read-XXXXXX", path[64];
	struct bag b;

	(void)state;
	assert_non_null(mkdtemp(dir));
	snprintf(path, sizeof(path), "%s/a.sqlite", dir);
	if (!make_db(path, KERNEL_ROWS
		     "CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL(start INTEGER, \"end\" INTEGER, "
		     "deviceId INTEGER, demangledName INTEGER, shortName INTEGER);"
		     "INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES(1600000,1900000,0,2,2),"
		     "(1000000,1500000,0,1,1),(1450000,1700000,1,1,1);"
		     "UPDATE CUPTI_ACTIVITY_KIND_KERNEL SET \"end\"=1500000 WHERE deviceId=1;"
		     "INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES(1600000,1700000,0,1,1);"
		     "INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES(2000000,2000000,0,1,1);"
		     "CREATE TABLE CUPTI_ACTIVITY_KIND_RUNTIME(start INTEGER, \"end\" INTEGER, "
		     "nameId INTEGER);"
		     "INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME VALUES(1,400001,3),(5,25,4),(6,8,5);"
		     "CREATE TABLE TARGET_INFO_GPU(id INTEGER, name TEXT);"
		     "INSERT INTO TARGET_INFO_GPU VALUES(0,'NVIDIA H200'),(1,'NVIDIA H200');")) {
		rmdir(dir);
		skip();
	}
	take_path(&b, path);
	format_is(&b, "nsys SQLite export");
	check_devices(&b);
	/* The host's calls are those of both GPUs. */
	assert_string_equal(want(&b, FIGURE_SYNC_S, 200e-6, 0)->text,
			    "cudaStreamSynchronize_v3020");
	want(&b, FIGURE_LAUNCH_S, 10e-9, 0);
	want(&b, FIGURE_SYNCS, 0.5, 0);
	assert_string_equal(want(&b, FIGURE_GEMM_S, 325e-6, 0)->text, "unknown format");
	assert_int_equal(count_traits(&b, TRAIT_GPU), 2);
	drop(&b);
	unlink(path);

	/* An older one: no demangled names, copies and sets besides. */
	make_db(path, KERNEL_ROWS
		"CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL(start INTEGER, \"end\" INTEGER, "
		"deviceId INTEGER, shortName INTEGER);"
		"INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES(0,100000,0,1);"
		"CREATE TABLE CUPTI_ACTIVITY_KIND_MEMCPY(start INTEGER, \"end\" INTEGER, "
		"deviceId INTEGER, copyKind INTEGER);"
		"INSERT INTO CUPTI_ACTIVITY_KIND_MEMCPY "
		"VALUES(50000,200000,0,1),(200000,300000,0,8);");
	take_path(&b, path);
	format_is(&b, "nsys SQLite export");
	want(&b, FIGURE_COPY_S, 150e-6, 0);
	want(&b, FIGURE_COPY_EXPOSED_S, 100e-6, 0);
	want(&b, FIGURE_COMPUTE_S, 200e-6, 0);
	assert_int_equal(count(&b, FIGURE_COPY_PAGEABLE_S), 0);
	drop(&b);
	unlink(path);

	/* Copies from memory that is not pinned, and into such. */
	make_db(path, KERNEL_ROWS
		"CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL(start INTEGER, \"end\" INTEGER, "
		"deviceId INTEGER, demangledName INTEGER);"
		"INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES(0,900000,0,1);"
		"CREATE TABLE ENUM_CUDA_MEM_KIND(id INTEGER, name TEXT, label TEXT);"
		"INSERT INTO ENUM_CUDA_MEM_KIND VALUES(0,'CUDA_MEMOPR_MEMORY_KIND_PAGEABLE',"
		"'Pageable'),(1,'CUDA_MEMOPR_MEMORY_KIND_PINNED','Pinned'),"
		"(2,'CUDA_MEMOPR_MEMORY_KIND_DEVICE','Device');"
		"CREATE TABLE CUPTI_ACTIVITY_KIND_MEMCPY(start INTEGER, \"end\" INTEGER, "
		"deviceId INTEGER, copyKind INTEGER, srcKind INTEGER, dstKind INTEGER);"
		"INSERT INTO CUPTI_ACTIVITY_KIND_MEMCPY VALUES(0,100000,0,1,0,2),"
		"(200000,230000,0,2,2,0),(300000,400000,0,1,1,2);");
	take_path(&b, path);
	assert_string_equal(want(&b, FIGURE_COPY_PAGEABLE_S, 100e-6, 0)->text, "to the GPU");
	assert_string_equal(want(&b, FIGURE_COPY_PAGEABLE_S, 30e-6, 0)->text, "from the GPU");
	drop(&b);

	/* Cut off, and a base of something else. */
	assert_int_equal(truncate(path, 5000), 0);
	take_path(&b, path);
	assert_int_equal(b.code, -EBADMSG);
	drop(&b);
	unlink(path);
	make_db(path, "CREATE TABLE t(x INTEGER);");
	take_path(&b, path);
	assert_int_equal(b.code, -EBADMSG);
	assert_int_equal(b.ev.n_figures, 0);
	drop(&b);
	unlink(path);
	rmdir(dir);
}

/* --- real runs -------------------------------------------------------------------------------- */

static bool ends(const char *s, const char *with)
{
	return strlen(s) >= strlen(with) && strcmp(s + strlen(s) - strlen(with), with) == 0;
}

static size_t lines_with(const char *path, const char *word)
{
	char line[4096];
	FILE *f = fopen(path, "r");
	size_t n = 0;

	assert_non_null(f);
	while (fgets(line, sizeof(line), f))
		n += strstr(line, word) != NULL;
	fclose(f);
	return n;
}

/* Of each step what the host waited for is part of it. */
static void check_parts(const struct bag *b)
{
	for (size_t i = 0; i < b->ev.n_figures; i++) {
		const struct metric_sample *f = &b->ev.figures[i], *step = NULL;

		if (f->kind != FIGURE_DATA_S || f->total)
			continue;
		for (size_t k = 0; k < b->ev.n_figures; k++)
			if (b->ev.figures[k].kind == FIGURE_STEP_S &&
			    b->ev.figures[k].step == f->step && b->ev.figures[k].rank == f->rank)
				step = &b->ev.figures[k];
		assert_non_null(step);
		assert_true(f->value <= step->value);
	}
}

/* Logs, recordings and traces of a training loop that really ran. */
static void test_real(void **state)
{
	glob_t g;

	(void)state;
	if (glob(SOURCE_ROOT "/tests/data/training/real-*/*", 0, NULL, &g)) {
		skip();
		return;
	}
	for (size_t i = 0; i < g.gl_pathc; i++) {
		struct bag b;

		if (!ends(g.gl_pathv[i], ".log") && !ends(g.gl_pathv[i], ".rec") &&
		    !ends(g.gl_pathv[i], ".json") && !ends(g.gl_pathv[i], ".json.gz"))
			continue;
		take_path(&b, g.gl_pathv[i]);
		if (b.code)
			fail_msg("%s", b.e.text);
		assert_true(b.ev.files[0].used > 0 && b.ev.n_figures > 0);
		if (ends(g.gl_pathv[i], ".log") && lines_with(g.gl_pathv[i], " step_s="))
			assert_int_equal(count(&b, FIGURE_STEP_S),
					 lines_with(g.gl_pathv[i], " step_s="));
		if (strstr(g.gl_pathv[i], "trace_rank"))
			assert_true(count(&b, FIGURE_STEP_S) && count(&b, FIGURE_COMPUTE_S) == 1);
		check_parts(&b);
		drop(&b);
	}
	globfree(&g);
}

/* --- what is no evidence ---------------------------------------------------------------------- */

static void write_file(const char *path, const char *text, size_t n)
{
	FILE *f = fopen(path, "w");

	assert_non_null(f);
	assert_int_equal(fwrite(text, 1, n, f), n);
	assert_int_equal(fclose(f), 0);
}

static void test_unknown(void **state)
{
	static const char *const texts[] = { "",
					     "\n",
					     "hello\nworld\n",
					     "{}",
					     "[]",
					     "{",
					     "[1",
					     "#\n",
					     "a,b\n1,2\n",
					     "{\"traceEvents\": ",
					     "{\"log_history\": [",
					     "SQLite format 3",
					     "\x28\xb5\x2f\xfd nothing",
					     "\x1f\x8b nothing" };
	char dir[] = "/tmp/gputune-read-XXXXXX", path[64];
	struct bag b;

	(void)state;
	assert_non_null(mkdtemp(dir));
	take_path(&b, dir);
	assert_true(b.code < 0);
	drop(&b);
	snprintf(path, sizeof(path), "%s/x", dir);
	take_path(&b, path);
	assert_int_equal(b.code, -ENOENT);
	drop(&b);
	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		write_file(path, texts[i], strlen(texts[i]));
		take_path(&b, path);
		assert_true(b.code < 0);
		assert_non_null(strstr(b.e.text, path));
		assert_int_equal(b.ev.n_figures, 0);
		drop(&b);
	}
	unlink(path);
	/* Would wait for a writer. */
	assert_int_equal(mkfifo(path, 0600), 0);
	take_path(&b, path);
	assert_int_equal(b.code, -ENOTSUP);
	drop(&b);
	unlink(path);
	rmdir(dir);
}

/* --- behind what passes a job's output on ----------------------------------------------------- */

/* Each line of the file behind the prefix. */
static void prefixed(char *path, size_t n, const char *name, const char *prefix)
{
	TEXT_AUTO t = { 0 };
	char from[512], *line = NULL;
	size_t room = 0;
	FILE *f;

	snprintf(from, sizeof(from), "%s/tests/data/training/%s", SOURCE_ROOT, name);
	f = fopen(from, "re");
	assert_non_null(f);
	while (getline(&line, &room, f) > 0)
		text_printf(&t, "%s%s", prefix, line);
	free(line);
	fclose(f);
	snprintf(path, n, "/tmp/gputune-prefix-%d.log", (int)getpid());
	write_file(path, t.s, strlen(t.s));
}

/* A log tells the same, line by line, whatever stands before its lines. */
static void check_prefix(const char *name, const char *prefix, int rank)
{
	struct bag a, b;
	char path[64];

	take(&a, name);
	prefixed(path, sizeof(path), name, prefix);
	take_path(&b, path);
	unlink(path);
	assert_int_equal(a.code, b.code);
	if (a.ev.n_figures != b.ev.n_figures || a.ev.n_traits != b.ev.n_traits)
		fail_msg("%s behind '%s': %zu figures of %zu, %zu traits of %zu", name, prefix,
			 b.ev.n_figures, a.ev.n_figures, b.ev.n_traits, a.ev.n_traits);
	for (size_t i = 0; i < a.ev.n_figures; i++) {
		const struct metric_sample *x = &a.ev.figures[i], *y = &b.ev.figures[i];

		/* Behind the label of another node a rank is only that on its node. */
		bool unknown = y->rank < 0 && x->rank >= 0 && rank != 0;

		if (x->kind != y->kind || x->line != y->line || !near(x->value, y->value) ||
		    x->step != y->step || (!unknown && y->rank != (x->rank < 0 ? rank : x->rank)))
			fail_msg("%s behind '%s': %s of %.9g, line %zu, rank %d, but %s of %.9g, "
				 "line %zu, rank %d",
				 name, prefix, figure_types[y->kind].name, y->value, y->line,
				 y->rank, figure_types[x->kind].name, x->value, x->line, x->rank);
	}
	for (size_t i = 0; i < a.ev.n_traits; i++) {
		assert_int_equal(a.ev.traits[i].kind, b.ev.traits[i].kind);
		assert_string_equal(a.ev.traits[i].text, b.ev.traits[i].text);
	}
	drop(&a);
	drop(&b);
}

static void test_prefixes(void **state)
{
	static const char *const logs[] = {
		"hf.log",
		"hf-5.log",
		"lightning.log",
		"lightning-old.log",
		"megatron.log",
		"megatron-2021.log",
		"nemo.log",
		"deepspeed.log",
		"deepspeed-2021.log",
		"torchtitan.log",
		"torchtitan-odd.log",
		"torchtitan-mesh.log",
		"plain.log",
		"nccl.log",
		"nccl-2020.log",
		"nccl-tests.log",
		"nccl-tests-2019.log",
	};
	static const struct {
		const char *prefix;
		int rank;
	} prefixes[] = {
		{ "2026-11-22T10:00:00.123456789Z ", -1 }, /* kubectl --timestamps, docker -t */
		{ "2026-11-22T11:00:00.123456789+01:00 ", -1 },
		{ "2026-11-22T10:00:00.1Z stdout F ", -1 },
		{ "[pod/train-0/main] 2026-11-22T10:00:00.123456789Z ", -1 },
		{ "train-1  | ", -1 },
		{ "train-1  | 2026-11-22T10:00:00.123456789Z ", -1 },
		{ "Nov 22 10:00:00 gpu-node1 train.sh[4121]: ", -1 }, /* journalctl */
		{ "Nov  2 10:00:00.123456 gpu-node1 train.sh[4121]: ", -1 },
		{ "2026-11-22T10:00:00+0000 gpu-node1 python3[4121]: ", -1 },
		{ "Sun 2026-11-22 10:00:00 UTC gpu-node1 python3[4121]: ", -1 },
		{ "(RayTrainWorker pid=4121, ip=10.0.0.5) ", -1 },
		{ "[default0]:", 0 }, /* torchrun */
		{ "[rank5]:", 5 },
		{ "0: ", 0 }, /* srun --label */
		{ " 9: ", 9 },
		{ "[1,3]<stdout>:", 3 },
		{ "2026-11-22T10:00:00.123456789Z [default0]:", 0 },
		{ "2026-11-22T10:00:00.123456789Z 0: [default2]:", 2 },
		{ "[1,3]<stdout>: ", 3 }, /* Open MPI 5 */
		{ "[3]<stderr>: ", 3 },
		{ "[prterun-gpu-node1-4121@1,13]<stdout>: ", 13 },
		{ "[1,3][gpu-node1:4121]<stdout>: ", 3 },
		{ "[Sun Nov 22 10:00:00 2026][1,3]<stdout>: ", 3 },
		{ "[Sun Nov  2 10:00:00 2026]<stdout>: ", -1 },
		{ "gpu-node1: ", -1 }, /* pdsh */
		{ "gpu-node1: [1,3]<stdout>:", 3 },
		{ "[0] ", 0 }, /* Hydra */
		{ "0: 2026-11-22 10:00:00,123 ", 0 },
		/* The fourth on its node. */
		{ "Nov 22 10:00:00 gpu-node1 slurm[1]: 12: [rank4]:", -1 },
		{ "2: [default2]:", -1 },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(logs) / sizeof(logs[0]); i++)
		for (size_t k = 0; k < sizeof(prefixes) / sizeof(prefixes[0]); k++)
			check_prefix(logs[i], prefixes[k].prefix, prefixes[k].rank);
}

/* What is no prefix stays, and no line is taken off piece by piece without end. */
static void test_no_prefix(void **state)
{
	static const char *const same[] = {
		"",
		"    forward-compute .......: (1.0, 2.0)",
		"step:  1  loss:  8.1",
		"12:30 is when it began",
		"rank  0: 1.0",
		"[rank]: 1",
		"[rank12345678]: 1",
		"2026-11-22 is a day",
		"2026-11-22T10:00:00.123456789Zx",
		"Nov 22 10:00:00 without a program",
		"(pid 12) of it",
		"[2026-11-22 10:00:00] iteration 10/ 500",
		"Name  | Type",
		"step 10 | loss 1.0",
		"gpu-node1:4121:4121 [0] NCCL INFO x",
	};
	struct prefix p;
	const char *end;

	(void)state;
	for (size_t i = 0; i < sizeof(same) / sizeof(same[0]); i++) {
		if (read_prefix(NULL, same[i], &p) != same[i])
			fail_msg("'%s' becomes '%s'", same[i], read_prefix(NULL, same[i], &p));
		assert_int_equal(prefix_rank(NULL, &p), -1);
	}
	end = read_prefix(NULL, "1: 1: 1: 1: 1: 1: 1: 1: 1: 1: 1: 1: x", &p);
	assert_string_equal(end, "1: 1: 1: 1: 1: 1: x");
	/* The blank behind a time gets lost where the line is empty. */
	assert_string_equal(read_prefix(NULL, "2026-11-22T10:00:00Z", &p), "");
}

/* What many words could be is a prefix only where all of the file is like that. */
static void test_prefix_of_file(void **state)
{
	static const struct {
		const char *text;
		bool host, hydra, nodes;
	} files[] = {
		{ "n1: a\nn2: b\nn1: c\nn2: d\n", true, false, true },
		{ "worker-1: a\nworker-1: b\nworker-1: c\n\nworker-1: d\n", true, false, false },
		{ "n1: a\nn2: b\nn1: c\nd\ne\nn2: f\n", true, false, true },
		{ "n1: a\nn2: b\nc\nd\ne\nn2: f\nn1: g\n", false, false, false },
		{ "loss: 1\nloss: 2\nloss: 3\nloss: 4\n", false, false, false },
		{ "[0] a\n[1] a\n[0] b\n[1] b\n", false, true, true },
		{ "[0] a\n[0] b\n[0] c\n[0] d\n", false, true, false },
		{ "[1] loss 3\n[2] loss 2\n[3] loss 1\n[4] loss 1\n", false, false, false },
		{ "[3] loss 3\n[3] loss 2\n[3] loss 1\n[3] loss 1\n", false, false, false },
		{ "0: [default0]:a\n0: [default1]:a\n", false, false, false },
		{ "0: [default0]:a\n1: [default0]:a\n", false, false, true },
		{ "n1-0  | a\nn1-1  | a\n", false, false, true },
		{ "", false, false, false },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++) {
		struct prefix_kinds k = { 0 };

		prefix_look(&k, files[i].text, strlen(files[i].text));
		if (k.host != files[i].host || k.hydra != files[i].hydra ||
		    k.nodes != files[i].nodes)
			fail_msg("%s: %d %d %d", files[i].text, k.host, k.hydra, k.nodes);
	}
}

/* The rank on its node is none of the job where there are several nodes; yet lines of one rank
 * belong together, and where all are seen they count node by node. */
static void test_ranks_of_nodes(void **state)
{
	static const struct {
		const char *text;
		int per_node;
	} files[] = {
		{ "0: [rank0]:a\n0: [rank1]:a\n1: [rank0]:a\n1: [rank1]:a\n", 2 },
		{ "0: [rank0]:a\n0: [rank1]:a\n1: [rank0]:a\n", 0 },
		{ "0: [rank0]:a\n1: [rank0]:a\n", 0 }, /* one shown, of how many? */
		{ "1: [rank0]:a\n1: [rank1]:a\n", 0 },
		{ "0: [rank0]:a\n0: [rank3]:a\n1: [rank0]:a\n1: [rank3]:a\n", 0 },
		{ "n1: [rank0]:a\nn1: [rank1]:a\nn2: [rank0]:a\nn2: [rank1]:a\n", 0 },
	};
	static const char text[] = "0: [default1]:step_s=1.5\n"
				   "1: [default1]:step_s=2.5\n"
				   "1: [default0]:(min, max) time across ranks (ms):\n"
				   "0: [default0]:    optimizer ............: (1.00, 2.00)\n"
				   "1: [default0]:    optimizer ............: (90.00, 95.50)\n";
	char path[64];
	struct bag b;

	(void)state;
	for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++) {
		struct prefix_kinds k = { 0 };

		prefix_look(&k, files[i].text, strlen(files[i].text));
		if (k.per_node != files[i].per_node || !k.nodes)
			fail_msg("%s: %d a node", files[i].text, k.per_node);
	}
	snprintf(path, sizeof(path), "/tmp/gputune-prefix-%d.log", (int)getpid());
	write_file(path, text, sizeof(text) - 1);
	take_path(&b, path);
	unlink(path);
	assert_int_equal(want(&b, FIGURE_STEP_S, 1.5, 1)->rank, 1);
	assert_int_equal(want(&b, FIGURE_STEP_S, 2.5, 2)->rank, 3);
	want(&b, FIGURE_OPTIMIZER_S, 0.0955, 5);
	for (size_t i = 0; i < b.ev.n_figures; i++)
		assert_int_not_equal(b.ev.figures[i].line, 4);
	drop(&b);
}

/* Ranks print at once: the rows of a table stand among lines of others. */
static void test_ranks_between(void **state)
{
	static const char text[] = "7: (min, max) time across ranks (ms):\n"
				   "0: saving checkpoint\n"
				   "7:     forward-compute ......: (3010.50, 3050.25)\n"
				   "3:  something else\n"
				   "7:     optimizer ............: (90.00, 95.50)\n"
				   "7: [2026-11-22 10:00:00] iteration 1/ 5 | elapsed time per "
				   "iteration (ms): 19138.8 |\n";
	char path[64];
	struct bag b;

	(void)state;
	snprintf(path, sizeof(path), "/tmp/gputune-prefix-%d.log", (int)getpid());
	write_file(path, text, sizeof(text) - 1);
	take_path(&b, path);
	unlink(path);
	want(&b, FIGURE_FORWARD_S, 3.05025, 3);
	want(&b, FIGURE_OPTIMIZER_S, 0.0955, 5);
	want(&b, FIGURE_STEP_S, 19.1388, 6);
	drop(&b);
}

/* A bar that overwrites itself says at its first state alone whose it is. */
static void test_rank_of_bar(void **state)
{
	static const char text[] = "[rank3]:step_s=1.5\rstep_s=2.5\nstep_s=3.5\n";
	char path[64];
	struct bag b;

	(void)state;
	snprintf(path, sizeof(path), "/tmp/gputune-prefix-%d.log", (int)getpid());
	write_file(path, text, sizeof(text) - 1);
	take_path(&b, path);
	unlink(path);
	assert_int_equal(want(&b, FIGURE_STEP_S, 1.5, 1)->rank, 3);
	assert_int_equal(want(&b, FIGURE_STEP_S, 2.5, 1)->rank, 3);
	assert_int_equal(want(&b, FIGURE_STEP_S, 3.5, 2)->rank, -1);
	drop(&b);
}

/* A log in which a line tells too much, and more figures than are kept. */
static void test_bounds(void **state)
{
	char dir[] = "/tmp/gputune-read-XXXXXX", path[64];
	struct bag b;
	TEXT_AUTO t = { 0 };

	(void)state;
	assert_non_null(mkdtemp(dir));
	snprintf(path, sizeof(path), "%s/x.log", dir);
	text_add(&t, "step=1 step_s=0.5 ");
	for (int i = 0; i < 100000; i++)
		text_add(&t, "loss=1 ");
	text_add(&t, "\n[rank99999999999999]: step=2 step_s=0.25\n[rank7]: step=3 step_s=0.125\n");
	write_file(path, t.s, t.len);
	take_path(&b, path);
	assert_int_equal(b.code, 0);
	want(&b, FIGURE_STEP_S, 0.5, 1);
	assert_int_equal(want(&b, FIGURE_STEP_S, 0.125, 3)->rank, 7);
	assert_true(b.ev.n_figures < 1000);
	drop(&b);

	memset(&b, 0, sizeof(b));
	b.ev.arena = &b.a;
	for (size_t i = 0; i < EVIDENCE_FIGURES_MAX + 5; i++)
		evidence_figure(&b.ev, (struct metric_sample){ .value = 1 });
	evidence_figure(&b.ev, (struct metric_sample){ .value = (double)NAN });
	assert_int_equal(b.ev.n_figures, EVIDENCE_FIGURES_MAX);
	assert_int_equal(b.ev.dropped, 5);
	drop(&b);
	unlink(path);
	rmdir(dir);
}

static void test_numbers(void **state)
{
	static const struct {
		const char *s;
		double v;
	} numbers[] = {
		{ " : 12", 12 },  { "5,856 ", 5856 },	  { "1,234,567.5", 1234567.5 },
		{ "1,23", 1 },	  { "-3.5e-2x", -0.035 }, { ".5", 0.5 },
		{ "1e", 1 },	  { "7e+", 7 },		  { "'41.5'", 41.5 },
		{ "1.2.3", 1.2 }, { "0x10", 0 },
	};
	const char *end;

	(void)state;
	for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++)
		if (!near(read_number(numbers[i].s, NULL), numbers[i].v))
			fail_msg("%s is read as %g", numbers[i].s, read_number(numbers[i].s, NULL));
	assert_true(isnan(read_number("nan", NULL)) && isnan(read_number("-", NULL)) &&
		    isnan(read_number("", NULL)) && isnan(read_number("inf", NULL)) &&
		    isnan(read_number("1e999", NULL)));
	read_number("12/345", &end);
	assert_string_equal(end, "/345");
}

/* What spans cover, against a count of each moment. */
static void test_spans(void **state)
{
	enum { TIME = 400, SPANS = 40 };
	unsigned seed = 7;

	(void)state;
	for (int round = 0; round < 200; round++) {
		bool on[SPAN_KINDS][TIME] = { { false } };
		struct spans s = { 0 };
		int from = 0, exposed = 0, idle = 0;
		int first = -1, last = 0;

		for (int i = 0; i < SPANS; i++) {
			enum span_kind kind =
				(seed = seed * 1103515245 + 12345) >> 16 & 1
					? SPAN_COMPUTE
					: (enum span_kind)(seed >> 20 & 1 ? SPAN_COMM : SPAN_COPY);
			int to;

			from += (int)(seed >> 24 & 7);
			to = from + (int)(seed >> 8 & 15);
			if (first < 0)
				first = from;
			last = to > last ? to : last;
			for (int k = from; k < to; k++)
				on[kind][k] = true;
			spans_add(&s, kind, from, to);
		}
		for (int k = first; k < last; k++) {
			exposed += on[SPAN_COMM][k] && !on[SPAN_COMPUTE][k];
			idle += !on[SPAN_COMM][k] && !on[SPAN_COMPUTE][k] && !on[SPAN_COPY][k];
		}
		assert_true(near(s.kernels - s.sum[SPAN_COMPUTE], exposed));
		assert_true(near(s.last - s.first - s.any, idle));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_hf),
		cmocka_unit_test(test_hf_json),
		cmocka_unit_test(test_lightning),
		cmocka_unit_test(test_megatron),
		cmocka_unit_test(test_deepspeed),
		cmocka_unit_test(test_titan),
		cmocka_unit_test(test_nemo),
		cmocka_unit_test(test_plain),
		cmocka_unit_test(test_nccl_tests),
		cmocka_unit_test(test_nccl),
		cmocka_unit_test(test_smi),
		cmocka_unit_test(test_dmon),
		cmocka_unit_test(test_recording),
		cmocka_unit_test(test_trace),
		cmocka_unit_test(test_packed),
		cmocka_unit_test(test_sqlite),
		cmocka_unit_test(test_real),
		cmocka_unit_test(test_unknown),
		cmocka_unit_test(test_bounds),
		cmocka_unit_test(test_numbers),
		cmocka_unit_test(test_spans),
		cmocka_unit_test(test_prefixes),
		cmocka_unit_test(test_no_prefix),
		cmocka_unit_test(test_prefix_of_file),
		cmocka_unit_test(test_ranks_of_nodes),
		cmocka_unit_test(test_ranks_between),
		cmocka_unit_test(test_rank_of_bar),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
