/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The predictor: shapes against what their makers publish, names, formats, machines, files, and
 * laws that every prediction keeps.
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

#include "gguf_one.h"
#include "models/inference/predict.h"
#include "models/inference/rows.h"
#include "models/inference/sweep.h"

static void close_to(const char *what, double got, double want, double relative)
{
	if (!(fabs(got - want) <= relative * fabs(want)))
		fail_msg("%s: %.6g, not %.6g", what, got, want);
}

/* Published totals and active parameters, in billions (model cards). */
/* One table says what a card has, however it is asked about. */
static void test_memory_of_a_place(void **state)
{
	static const struct {
		const char *on;
		double bytes;
	} cases[] = { { "h100", 81559 * 1048576.0 },
		      { "h200", 143771 * 1048576.0 },
		      { "l40s", 46068 * 1048576.0 },
		      { "gb200", 189471 * 1048576.0 } };
	struct arena a = { 0 };
	struct target_hw p;
	struct err e;

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		assert_int_equal(place_parse(&a, NULL, cases[i].on, &p, &e), 0);
		assert_true(fabs(place_memory_bytes(&p) - cases[i].bytes) < 1);
	}
	/* What is read counts more. */
	p.memory = 5e9;
	assert_true(fabs(place_memory_bytes(&p) - 5e9) < 1);
	for (size_t i = 0; i < n_gpu_kinds; i++) {
		p = (struct target_hw){ .gpu = &gpu_kinds[i], .gpus = 1, .nodes = 1 };
		assert_true(place_memory_bytes(&p) > 0.98 * gpu_kinds[i].memory * 1e9);
		assert_true(place_memory_bytes(&p) < 1.08 * gpu_kinds[i].memory * 1e9);
	}
	/* A bridge joins two of them. */
	assert_true(gpu_link_gbs(gpu_kind_of(NULL, "NVIDIA H100 NVL"), 2) > 200);
	assert_true(gpu_link_gbs(gpu_kind_of(NULL, "NVIDIA H100 NVL"), 4) < 100);
	arena_free(&a);
}

static void test_counts(void **state)
{
	static const struct {
		const char *name;
		double total, active;
	} cards[] = {
		{ "meta-llama/Llama-3.1-8B-Instruct", 8.03, 0 },
		{ "Llama-3.3-70B-Instruct", 70.55, 0 },
		{ "Qwen/Qwen3-30B-A3B", 30.5, 3.3 },
		{ "Qwen3-235B-A22B", 235, 22 },
		{ "Qwen3.5-27B", 26.9, 0 },
		{ "Qwen3.6-35B-A3B", 34.7, 3 },
		{ "openai/gpt-oss-120b", 116.8, 5.1 },
		{ "gpt-oss-20b", 20.9, 3.6 },
		{ "deepseek-ai/DeepSeek-V3", 671, 37 },
		{ "Kimi-K2-Instruct", 1026, 32 },
		{ "zai-org/GLM-4.5-Air", 106.9, 12 },
		{ "MiniMaxAI/MiniMax-M2.5", 228.7, 10 },
		{ "nvidia/NVIDIA-Nemotron-3-Nano-30B-A3B", 31.6, 3.2 },
		{ "NVIDIA-Nemotron-3-Super-120B-A12B", 120.7, 12 },
		{ "google/gemma-4-26B-A4B-it", 25.2, 3.8 },
		{ "google/gemma-3-27b-it", 27, 0 },
		{ "Mixtral-8x7B", 46.7, 12.9 },
		{ "LiquidAI/LFM2-8B-A1B", 8.34, 1.5 },
		{ "microsoft/phi-4", 14.7, 0 },
		{ "ai21labs/AI21-Jamba-Mini", 52, 12 },
		{ "Llama-4-Scout-17B-16E", 108, 17 },
		{ "stepfun-ai/step3-fp8", 316, 38 },
		{ "Ring-flash-linear-2.0", 104.2, 0 },
		{ "Ring-mini-linear-2.0", 16.4, 0 },
		{ "inclusionAI/Ring-2.5-1T", 1013, 63 },
		{ "Ling-1T", 1000, 51 },
		{ "microsoft/bitnet-b1.58-2B-4T", 2.41, 0 },
		{ "bigcode/starcoder2-7b", 7.17, 0 },
		{ "Qwen/Qwen1.5-MoE-A2.7B-Chat", 14.3, 2.4 }, /* and its embedding */
		{ "microsoft/Phi-4-mini-reasoning", 3.84, 0 },
		{ "microsoft/Phi-4-mini-flash-reasoning", 3.85, 0 },
		{ "bigscience/bloomz-7b1", 7.07, 0 },
		{ "bigscience/bloom-1b7", 1.7, 0 },
		{ "tiiuae/Falcon-H1-7B-Instruct", 7.59, 0 },
		{ "tiiuae/falcon-mamba-7b-instruct", 7.27, 0 },
		{ "stabilityai/stablelm-2-1_6b", 1.644, 0 },
		{ "internlm/internlm3-8b-instruct", 8.8, 0 },
	};
	struct arena a = { 0 };

	for (size_t i = 0; i < sizeof(cards) / sizeof(cards[0]); i++) {
		const char *taken;
		struct arch m;
		struct err e;
		struct arch_parts p;

		assert_int_equal(model_find(&a, NULL, cards[i].name, NULL, &m, &taken, &e), 0);
		p = arch_parts(&m);
		close_to(cards[i].name, p.total / 1e9, cards[i].total, 0.015);
		if (cards[i].active > 0)
			close_to(cards[i].name, p.active / 1e9, cards[i].active, 0.11);
	}
	arena_free(&a);
	(void)state;
}

/* Every row of the list is complete, and its own name finds it. */
static void test_list(void **state)
{
	struct arena a = { 0 };

	for (size_t i = 0; i < n_model_rows; i++) {
		const struct arch *r = &model_rows[i].a;
		const char *taken;
		struct arch m;
		struct err e;
		bool attends = r->attention_layers >= 0;

		assert_true(r->layers > 0 && r->hidden > 0 && r->vocab > 0);
		assert_true(!attends || r->heads > 0);
		assert_true(r->source && *r->source && r->name);
		assert_true(!attends || r->kv_lora > 0 || (r->kv_heads > 0 && r->head_dim > 0));
		assert_true(!r->experts ||
			    (r->top > 0 && r->top <= r->experts && r->expert_ffn > 0));
		assert_true(arch_full_layers(r) >= 0);
		assert_true(r->window_layers + r->linear_layers <= r->layers);
		if (model_find(&a, NULL, r->name, NULL, &m, &taken, &e) < 0 ||
		    strcmp(m.name, r->name) != 0)
			fail_msg("%s finds %s", r->name, m.name);
	}
	arena_free(&a);
	(void)state;
}

static void finds(struct arena *a, const char *name, const char *want)
{
	const char *taken;
	struct arch m;
	struct err e;

	if (model_find(a, NULL, name, NULL, &m, &taken, &e) < 0)
		fail_msg("%s: %s", name, e.text);
	if (strcmp(m.name, want) != 0)
		fail_msg("%s was taken for %s, not %s", name, m.name, want);
}

static void test_names(void **state)
{
	struct arena a = { 0 };
	struct model_hint more = { 0 };
	double total, active;
	const char *taken;
	struct arch m;
	struct err e;

	finds(&a, "deepseek-r1:14b", "Qwen2.5-14B");
	finds(&a, "deepseek-ai/DeepSeek-R1-0528-Qwen3-8B", "Qwen3-8B");
	finds(&a, "deepseek-ai/DeepSeek-R1", "DeepSeek-V3");
	finds(&a, "llama3.2:3b", "Llama-3.2-3B");
	finds(&a, "ollama run gpt-oss:120b", "gpt-oss-120b");
	finds(&a, "allura-org_Qwen3.5-27B-Anko-Q4_K_M", "Qwen3.5-27B");
	finds(&a, "Qwen_Qwen3.5-2B-Q4_K_M.gguf", "Qwen3.5-2B");
	finds(&a, "Mistral-Small-3.2-24B-Instruct-2506", "Mistral-Small-24B");
	finds(&a, "unsloth/GLM-4.7-Flash-GGUF", "GLM-4.7-Flash");
	model_sizes("Nemotron-3-Nano-30B-A3B", &total, &active);
	close_to("total", total, 30e9, 1e-9);
	close_to("active", active, 3e9, 1e-9);
	model_sizes("LFM2.5-350M", &total, &active);
	close_to("total", total, 350e6, 1e-9);
	assert_int_equal(model_find(&a, NULL, "Qwen2.5-VL-7B-Instruct", NULL, &m, &taken, &e), 0);
	assert_non_null(strstr(taken, "only its language part"));
	finds(&a, "phi3:mini-4k", "Phi-3-mini-4k");
	finds(&a, "phi3:mini", "Phi-3-mini");
	finds(&a, "phi4-mini-reasoning:3.8b", "Phi-4-mini");
	finds(&a, "microsoft/Phi-4-mini-flash-reasoning", "Phi-4-mini-flash");
	finds(&a, "deepseek-coder-v2:16b", "DeepSeek-V2-Lite");
	finds(&a, "deepseek-ai/DeepSeek-Math-V2", "DeepSeek-V3.2");
	finds(&a, "zai-org/GLM-4.6V-Flash", "GLM-4-9B");
	finds(&a, "zai-org/GLM-4.6V", "GLM-4.5-Air");
	finds(&a, "qwen2.5vl:7b", "Qwen2.5-7B");
	finds(&a, "granite4:tiny-h", "Granite-4.0-H-Tiny");
	/* Nobody's model of a known size is like another of that size, and exactly as large. */
	assert_int_equal(model_find(&a, NULL, "Acme-Foo-13B", NULL, &m, &taken, &e), 0);
	assert_true(m.guessed);
	close_to("scaled", arch_parts(&m).total, 13e9, 0.001);
	/* Of that size with one head of keys and values there was one model, years ago. */
	assert_int_equal(model_find(&a, NULL, "Acme-Foo-7B", NULL, &m, &taken, &e), 0);
	assert_true(m.kv_heads > 1 && m.kv_heads < m.heads);
	assert_int_equal(model_find(&a, NULL, "Acme-Foo", NULL, &m, &taken, &e), -ENOENT);
	assert_int_equal(model_find(&a, NULL, "Acme-999999999B", NULL, &m, &taken, &e), -ENOENT);
	more.active = 80e9;
	assert_int_equal(model_find(&a, NULL, "Acme-Foo-8B", &more, &m, &taken, &e), -EINVAL);
	more.active = 2e9;
	assert_int_equal(model_find(&a, NULL, "Acme-Foo-8B", &more, &m, &taken, &e), 0);
	arena_free(&a);
	(void)state;
}

static void test_formats(void **state)
{
	assert_string_equal(format_find("int4 gptq-marlin", true)->name, "int4");
	assert_string_equal(format_find("fp8/moe fp8_block", true)->name, "fp8-block");
	assert_string_equal(format_find("UD-Q4_K_XL", true)->name, "q4_k_xl");
	assert_string_equal(format_find("Q4_K_M", false)->name, "q4_k_m");
	assert_string_equal(format_find("fp8 (label bf16)", false)->name, "fp8");
	assert_null(format_find("chocolate", false));
	assert_string_equal(format_in_name("Foo-8B-AWQ", false)->name, "int4");
	assert_null(format_in_name("Qwen3-8B", false));
	close_to("nvfp4", format_find("nvfp4", false)->dense, 0.5625, 1e-9);
	close_to("cache", format_cache_bytes("fp8_e4m3"), 1, 1e-9);
	close_to("cache", format_cache_bytes("auto"), 2, 1e-9);
	assert_true(format_cache_bytes("paper") <= 0);
	(void)state;
}

static void test_places(void **state)
{
	static const struct {
		const char *text, *gpu;
		int gpus, nodes;
	} cases[] = {
		{ "dgx-spark", "NVIDIA GB10", 1, 1 },
		{ "2x dgx-spark", "NVIDIA GB10", 2, 2 },
		{ "gb10 x4", "NVIDIA GB10", 4, 4 },
		{ "4 x gb10", "NVIDIA GB10", 4, 4 },
		{ "h100-sxm x8", "NVIDIA H100 80GB HBM3", 8, 1 },
		{ "8xH200", "NVIDIA H200", 8, 1 },
		{ "h100-sxm x16", "NVIDIA H100 80GB HBM3", 16, 2 },
		{ "hgx-h200", "NVIDIA H200", 8, 1 },
		{ "h200", "NVIDIA H200", 1, 1 },
		{ "h200-nvl x4", "NVIDIA H200 NVL", 4, 1 },
		{ "NVIDIA RTX 6000 Ada", "NVIDIA RTX 6000 Ada Generation", 1, 1 },
		{ "2x rtx pro 6000", "NVIDIA RTX PRO 6000 Blackwell Workstation Edition", 2, 1 },
		{ "RTX PRO 6000 server", "NVIDIA RTX PRO 6000 Blackwell Server Edition", 1, 1 },
		{ "8x NVIDIA RTX PRO 6000 Blackwell Server Edition",
		  "NVIDIA RTX PRO 6000 Blackwell Server Edition", 8, 1 },
		{ "NVIDIA RTX Pro 6000 Blackwell DC-96Q",
		  "NVIDIA RTX PRO 6000 Blackwell Server Edition", 1, 1 },
		{ "NVIDIA H20", "NVIDIA H20", 1, 1 },
		{ "h20 x8", "NVIDIA H20", 8, 1 },
		{ "2x hgx-h800", "NVIDIA H800", 16, 2 },
		{ "NVIDIA RTX PRO 6000 Blackwell Max-Q Workstation Edition",
		  "NVIDIA RTX PRO 6000 Blackwell Max-Q Workstation Edition", 1, 1 },
		{ "4x rtx pro 6000 max-q",
		  "NVIDIA RTX PRO 6000 Blackwell Max-Q Workstation Edition", 4, 1 },
		{ "RTX PRO 6000 Workstation Edition",
		  "NVIDIA RTX PRO 6000 Blackwell Workstation Edition", 1, 1 },
		{ "l40s", "NVIDIA L40S", 1, 1 },
		{ "h200x8", "NVIDIA H200", 8, 1 },
		{ "h100-1g.10gb", "NVIDIA H100 80GB HBM3 MIG 1g.10gb", 1, 1 },
		{ "h100 MIG 3g.40gb x2", "NVIDIA H100 80GB HBM3 MIG 3g.40gb", 2, 2 },
		{ "NVIDIA H100 80GB HBM3 MIG 1g.10gb", "NVIDIA H100 80GB HBM3 MIG 1g.10gb", 1, 1 },
		{ "h100-sxm 2g.20gb", "NVIDIA H100 80GB HBM3 MIG 2g.20gb", 1, 1 },
		{ "NVIDIA A100-SXM4-80GB MIG 7g.80gb", "NVIDIA A100-SXM4-80GB MIG 7g.80gb", 1, 1 },
		{ "NVIDIA H200 MIG 1g.18gb", "NVIDIA H200 MIG 1g.18gb", 1, 1 },
		{ "gx10", "NVIDIA GB10", 1, 1 },
		{ "a100", "NVIDIA A100-SXM4-80GB", 1, 1 },
		{ "8 x h100", "NVIDIA H100 80GB HBM3", 8, 1 },
		{ "h100 x 8", "NVIDIA H100 80GB HBM3", 8, 1 },
		{ "h100-x8", "NVIDIA H100 80GB HBM3", 8, 1 },
		{ "h100 sxm5", "NVIDIA H100 80GB HBM3", 1, 1 },
		{ "2000 h100", "NVIDIA H100 80GB HBM3", 2000, 250 },
		{ "2 5090", "NVIDIA GeForce RTX 5090", 2, 1 },
		{ "6000 ada", "NVIDIA RTX 6000 Ada Generation", 1, 1 },
		{ "4 a100 40", "NVIDIA A100-SXM4-40GB", 4, 1 },
		{ "A100-SXM4-40GB", "NVIDIA A100-SXM4-40GB", 1, 1 },
		{ "NVIDIA H200 141GB", "NVIDIA H200", 1, 1 },
		{ "2x hgx-h100", "NVIDIA H100 80GB HBM3", 16, 2 },
		{ "dgx-h200 x3", "NVIDIA H200", 24, 3 },
		{ "gb200 x72", "NVIDIA GB200", 72, 1 },
		{ "gb200 nvl72", "NVIDIA GB200", 72, 1 },
		{ "2x gb300-nvl72", "NVIDIA GB300", 144, 2 },
		{ "h100 nvl x4", "NVIDIA H100 NVL", 4, 1 },
		{ "a100-pcie-40gb", "NVIDIA A100-PCIE-40GB", 1, 1 },
		{ "a100-pcie-80gb", "NVIDIA A100 80GB PCIe", 1, 1 },
		{ "v100-16gb", "Tesla V100-SXM2-16GB", 1, 1 },
		{ "Tesla V100-PCIE-16GB", "Tesla V100-PCIE-16GB", 1, 1 },
		{ "gh200 144gb", "NVIDIA GH200 144G HBM3e", 1, 1 },
		{ "NVIDIA GH200 120GB", "NVIDIA GH200 480GB", 1, 1 },
		{ "a10g", "NVIDIA A10G", 1, 1 },
		{ "NVIDIA B300 SXM6 AC", "NVIDIA B300", 1, 1 },
		{ "b200 192gb", "NVIDIA B200", 1, 1 },
		{ "dgx spark 4tb", "NVIDIA GB10", 1, 1 },
		{ "RTX 4000 Ada", "NVIDIA RTX 4000 Ada Generation", 1, 1 },
		{ "2x RTX 3060 12GB", "NVIDIA GeForce RTX 3060", 2, 1 },
		{ "4080", "NVIDIA GeForce RTX 4080", 1, 1 },
		{ "RTX 4080 SUPER", "NVIDIA GeForce RTX 4080 SUPER", 1, 1 },
		{ "rtx 5070 ti x2", "NVIDIA GeForce RTX 5070 Ti", 2, 1 },
		{ "RTX PRO 5000 Blackwell", "NVIDIA RTX PRO 5000 Blackwell", 1, 1 },
		{ "Tesla T4", "Tesla T4", 1, 1 },
		{ "4x t4", "Tesla T4", 4, 1 },
		{ "A40-48Q", "NVIDIA A40", 1, 1 },
	};
	/* Cards that are not in the list, and begin as one that is. */
	static const char *const others[] = { "h2000",
					      "b2000",
					      "gb100",
					      "rtx a1000",
					      "NVIDIA RTX A1000 Laptop GPU",
					      "rtx 4090 laptop",
					      "NVIDIA GeForce RTX 5090 Laptop GPU",
					      "h20 141gb",
					      "jetson orin nano",
					      "jetson orin nx",
					      "h100 64gb",
					      "rtx 4090 d",
					      "rtx 2080 ti",
					      "RTX 3060 Ti",
					      "rtx 3080 12gb",
					      "RTX 3080 Max-Q",
					      "RTX PRO 5000 72GB",
					      "gtx 1080",
					      "Quadro RTX 8000",
					      "quadro rtx 6000",
					      "2x rtx 2080 ti",
					      "gaudi 3" };
	struct arena a = { 0 };
	struct target_hw p;
	/* Digits that neither count nor name a card. */
	static const char *const odd[] = { "h100 x-3",	"h100 -8",   "h100 8.5", "h100 xx8",
					   "h100xx8",	"h100-8",    "h100 8",	 "+2 h100",
					   "h100:8",	"8.5 h100",  "h100 (8)", "h100 8 ",
					   "2x 8 h100", "h100 x5000" };
	struct err e;

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		if (place_parse(&a, NULL, cases[i].text, &p, &e) < 0)
			fail_msg("%s: %s", cases[i].text, e.text);
		assert_string_equal(p.gpu->name, cases[i].gpu);
		if (p.gpus != cases[i].gpus || p.nodes != cases[i].nodes)
			fail_msg("%s: %d GPUs in %d machines", cases[i].text, p.gpus, p.nodes);
	}
	/* The same chip, and slower memory. */
	assert_true(gpu_kind_of(NULL, "NVIDIA RTX PRO 6000 Blackwell Server Edition")->bandwidth <
		    1600);
	assert_true(
		gpu_kind_of(NULL, "NVIDIA RTX PRO 6000 Blackwell Workstation Edition")->bandwidth >
		1790);
	/* 300 W against 600: the same memory, and a lower clock. */
	assert_true(
		gpu_kind_of(NULL, "NVIDIA RTX PRO 6000 Blackwell Max-Q Workstation Edition")->half <
		450);
	assert_int_equal(place_parse(&a, NULL, "toaster x2", &p, &e), -ENOENT);
	for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++)
		if (place_parse(&a, NULL, others[i], &p, &e) != -ENOENT ||
		    gpu_kind_of(NULL, others[i]))
			fail_msg("%s is taken for another", others[i]);
	assert_int_equal(place_parse(&a, NULL, "0x h200", &p, &e), -EINVAL);
	assert_int_equal(place_parse(&a, NULL, "-2x h200", &p, &e), -EINVAL);
	assert_int_equal(place_parse(&a, NULL, "5000 x h200", &p, &e), -EINVAL);
	assert_int_equal(place_parse(&a, NULL, "2x h200 x8", &p, &e), -EINVAL);
	assert_int_equal(place_parse(&a, NULL, "99999999999999999999x h200", &p, &e), -EINVAL);
	for (size_t i = 0; i < sizeof(odd) / sizeof(odd[0]); i++)
		if (place_parse(&a, NULL, odd[i], &p, &e) != -EINVAL || !strstr(e.text, odd[i]))
			fail_msg("%s is not refused", odd[i]);
	arena_free(&a);
	(void)state;
}

/* The constants are the arena's: a prediction refers to them. */
static void ask(struct arena *a, struct infer_options w, struct prediction *p)
{
	struct fits *fits = ARENA_NEW(a, struct fits);
	struct query q;
	struct err e;

	fits_default(fits);
	if (question_make(a, &w, fits, &q, &e) < 0)
		fail_msg("%s", e.text);
	predict(a, &q, fits, p);
}

/* What has to hold whatever the constants are. */
static void test_laws(void **state)
{
	static const char *const models[] = { "Llama-3.1-8B",	 "Qwen3-30B-A3B",
					      "DeepSeek-V3",	 "Nemotron-3-Nano-30B-A3B",
					      "gemma-4-26B-A4B", "gpt-oss-120b" };
	static const char *const places[] = { "dgx-spark", "2x dgx-spark", "h200 x8", "l40s" };
	struct arena a = { 0 };

	for (size_t m = 0; m < sizeof(models) / sizeof(models[0]); m++)
		for (size_t n = 0; n < sizeof(places) / sizeof(places[0]); n++) {
			struct infer_options w = { .model = models[m],
						   .on = places[n],
						   .weights = "bf16",
						   .prompt = 2000,
						   .output = 200 };
			struct prediction one, many, longer, smaller;

			ask(&a, w, &one);
			w.batch = 16;
			ask(&a, w, &many);
			w.batch = 1, w.prompt = 20000;
			ask(&a, w, &longer);
			w.prompt = 2000, w.weights = "fp8";
			ask(&a, w, &smaller);
			assert_true(many.served.tpot >= one.served.tpot);
			assert_true(many.memory.total > one.memory.total);
			assert_true(longer.served.ttft > one.served.ttft);
			assert_true(longer.served.tpot >= one.served.tpot);
			assert_true(smaller.weight_bytes < one.weight_bytes);
			assert_true(smaller.step.dense < one.step.dense);
			assert_true(one.tpot.low <= one.tpot.value &&
				    one.tpot.value <= one.tpot.high);
			assert_true(one.memory.fits == (one.memory.total <= one.memory.limit));
			assert_true((one.limit == LIMIT_CAPACITY) == !one.memory.fits);
			/* No step reads faster than the data sheet's bandwidth. */
			assert_true((one.step.dense_bytes + one.step.expert_bytes +
				     one.step.head_bytes) /
					    1e6 / one.step.memory <=
				    one.q.ask.place.gpu->bandwidth);
		}
	arena_free(&a);
	(void)state;
}

/* Parts add up to the whole, as a person would do it. */
static void test_sums(void **state)
{
	struct arena a = { 0 };
	struct prediction p;
	const struct memory_footprint *m = &p.memory;
	const struct decode_step *s = &p.step;

	ask(&a,
	    (struct infer_options){ .model = "Llama-3.3-70B",
				    .weights = "nvfp4",
				    .on = "dgx-spark",
				    .prompt = 1000,
				    .output = 100 },
	    &p);
	/* 68.5 billion in 4.5 bits and an output head in 16. */
	close_to("weights", s->dense_bytes + s->head_bytes, 40.6e9, 0.01);
	close_to("memory",
		 m->weights + m->cache + m->state + m->activations + m->workspace + m->graphs +
			 m->framework + m->reserve,
		 m->total, 1e-9);
	close_to("reading", s->dense + s->expert + s->head + s->cache + s->state, s->memory, 1e-9);
	close_to("step", fmax(s->memory, s->compute) + s->launch + s->sequence + s->link, s->total,
		 1e-9);
	/* 80 layers x 8 heads x 128 x keys and values x 2 bytes a token. */
	close_to("cache", m->per_token, 80 * 8 * 128 * 2 * 2, 1e-9);
	assert_true(p.memory.most_context > 1100);
	arena_free(&a);
	(void)state;
}

static void test_claim(void **state)
{
	struct arena a = { 0 };
	struct prediction p;
	const char *why;

	ask(&a,
	    (struct infer_options){ .model = "a dense 200B", .weights = "int4", .on = "dgx-spark" },
	    &p);
	assert_string_equal(predict_claim(&a, &p, 36, &why), "impossible");
	assert_non_null(strstr(why, "273 GB/s"));
	assert_string_equal(predict_claim(&a, &p, 1e3 / p.tpot.value, &why), "inside");
	assert_string_equal(predict_claim(&a, &p, 0.5, &why), "outside");
	arena_free(&a);
	(void)state;
}

static char *slurp(struct arena *a, const char *path, size_t *n)
{
	FILE *f = fopen(path, "rb");
	char *s = arena_alloc(a, 1 << 20);

	assert_non_null(f);
	*n = fread(s, 1, (1 << 20) - 1, f);
	fclose(f);
	return s;
}

static void test_files(void **state)
{
	struct arena a = { 0 };
	struct model_file f;
	struct arch_parts p;
	double bytes = 0;
	struct err e;
	size_t n;
	char *s = slurp(&a, SOURCE_ROOT "/tests/fuzz/seeds/model.json", &n);

	assert_int_equal(config_read(&a, "x", s, n, &f, &e), 0);
	p = arch_parts(&f.arch);
	close_to("Qwen3-Next", p.total / 1e9, 79.7, 0.01);
	assert_int_equal(f.arch.linear_layers, 36);
	assert_string_equal(f.format, "fp8-block");
	assert_true(f.exact.linear < 1.1 && !f.kept); /* its short convolution alone */
	s = slurp(&a, SOURCE_ROOT "/tests/fuzz/seeds/model.gguf", &n);
	assert_int_equal(gguf_read(&a, "x", (uint8_t *)s, n, &f, &e), 0);
	assert_int_equal(f.arch.layers, 2);
	assert_int_equal(f.arch.kv_heads, 2);
	/* Two matrices of 64 x 32 in Q8_0, two layers of 36,864 in Q4_0, two norms of 64 in F32. */
	close_to("bytes", f.bytes, 2 * 64 * 32 * 34.0 / 32 + 2 * 36864 * 18.0 / 32 + 2 * 64 * 4,
		 1e-9);
	assert_int_equal(gguf_read(&a, "x", (uint8_t *)s, n / 2, &f, &e), -ENODATA);
	assert_int_equal(gguf_read(&a, "x", (const uint8_t *)"GGUX", 4, &f, &e), -EINVAL);
	/* As Python writes it. */
	s = arena_strdup(&a, "{\"model_type\":\"llama\",\"hidden_size\":1024,\"time_step_limit\":"
			     "[0.0, Infinity, -Infinity,NaN],\"num_hidden_layers\":8,"
			     "\"a \\\" NaN\":\"Infinity\",\"num_attention_heads\":8,"
			     "\"intermediate_size\":4096,\"vocab_size\":32000}");
	assert_int_equal(config_read(&a, "x", s, strlen(s), &f, &e), 0);
	assert_int_equal(f.arch.layers, 8);
	assert_int_equal(config_read(&a, "x", "{\"a\":Inf", 8, &f, &e), -EINVAL);
	assert_int_equal(config_read(&a, "x", "[]", 2, &f, &e), -EINVAL);
	assert_int_equal(config_read(&a, "x", "{}", 2, &f, &e), -EINVAL);
	s = arena_strdup(&a, "{\"__metadata__\":{},\"w\":{\"dtype\":\"BF16\",\"shape\":[2,3],"
			     "\"data_offsets\":[0,12]},"
			     "\"v\":{\"data_offsets\":[12,20]}}");
	assert_int_equal(safetensors_read(s, strlen(s), &bytes, &e), 0);
	close_to("safetensors", bytes, 20, 1e-9);
	s = arena_strdup(&a, "{\"w\":{\"data_offsets\":[12,2]}}");
	assert_int_equal(safetensors_read(s, strlen(s), &bytes, &e), -EINVAL);
	arena_free(&a);
	(void)state;
}

static void test_rows(void **state)
{
	struct arena a = { 0 };
	struct fits fits;
	struct rows r;
	struct err e;

	fits_default(&fits);
	assert_int_equal(
		rows_predict(&a, NULL, "model,hardware\n\"Qwen3, 8B\",gb10 x1\n", &fits, &r, &e),
		0);
	assert_int_equal(r.n, 1);
	assert_string_equal(r.items[0].model, "Qwen3, 8B");
	assert_non_null(r.items[0].skipped);
	assert_int_equal(
		rows_predict(
			&a, NULL,
			"decode_tok_s,batch_or_concurrency,model,hardware,weight_format,notes\r\n"
			"50,1,Qwen3-8B,gb10 x1,fp8,\"a \"\"b\"\"\"\r\n"
			"90,4,Qwen3-8B,gb10 x1,fp8,with MTP\r\n",
			&fits, &r, &e),
		0);
	assert_int_equal(r.n, 2);
	assert_null(r.items[0].skipped);
	close_to("time", r.items[0].measured[MEASURE_TPOT], 20, 1e-9);
	close_to("total", r.items[1].measured[MEASURE_THROUGHPUT], 90, 1e-9);
	assert_true(r.items[1].speculative && !r.items[0].speculative);
	assert_string_equal(r.items[0].notes, "a \"b\"");
	/* Tokens that no request has: the row is left out, and says why. */
	assert_int_equal(rows_predict(&a, NULL,
				      "model,hardware,batch_or_concurrency,prompt_len,notes\n"
				      "qwen3-8b,h200 x1,1,111111111111111,\n"
				      "qwen3-8b,h200 x1,1,512,depth=1e300\n"
				      "qwen3-8b,h200 x1,1000000,512,\n"
				      "qwen3-8b,h200 x1,1,512,depth=nan\n",
				      &fits, &r, &e),
			 0);
	assert_int_equal(r.n, 4);
	assert_non_null(strstr(r.items[0].skipped, "invalid number of tokens"));
	assert_non_null(strstr(r.items[1].skipped, "invalid number of tokens"));
	assert_non_null(strstr(r.items[2].skipped, "concurrency 1000000 exceeds"));
	assert_null(r.items[3].skipped);
	assert_true(r.items[3].predicted[MEASURE_TPOT].value > 0);
	assert_int_equal(rows_predict(&a, NULL, "a,b\n1,2\n", &fits, &r, &e), -EINVAL);
	assert_int_equal(rows_predict(&a, NULL, "model,hardware\n\"x", &fits, &r, &e), -EINVAL);
	assert_int_equal(fits_read(&fits, "# mine\nvllm.unified.dense = 0.5\n", &e), 0);
	close_to("read", fits.of[ENGINE_VLLM][HARDWARE_UNIFIED].v[FIT_DENSE], 0.5, 1e-9);
	assert_int_equal(fits_read(&fits, "vllm.unified.dense = lots\n", &e), -EINVAL);
	assert_int_equal(fits_read(&fits, "vllm.moon.dense = 1\n", &e), -EINVAL);
	arena_free(&a);
	(void)state;
}

/* Guesses ahead: all right, and none. */
static void test_guesses(void **state)
{
	struct arena a = { 0 };
	struct infer_options w = { .model = "Qwen3-8B",
				   .weights = "bf16",
				   .on = "dgx-spark",
				   .draft = 3,
				   .accept = 0.8,
				   .draft_cost = 0.05 };
	struct prediction plain, good, bad;

	ask(&a, w, &good);
	w.accept = 0;
	ask(&a, w, &bad);
	w.draft = 0;
	ask(&a, w, &plain);
	close_to("tokens a step", good.served.tokens_a_step, 1 + 0.8 + 0.64 + 0.512, 1e-9);
	assert_true(good.served.tpot < plain.served.tpot && bad.served.tpot > plain.served.tpot);
	arena_free(&a);
	(void)state;
}

static struct sweep_point point(double latency, double throughput, double bytes)
{
	return (struct sweep_point){ .latency = latency,
				     .o = { .throughput = throughput, .bytes_all = bytes } };
}

/* What others beat goes, whatever came first; of equals the first stays. */
static void test_front(void **state)
{
	struct arena a = { 0 };
	struct pareto_list l = { .arena = &a };
	struct sweep_point p[] = {
		point(5, 5, 5),	 point(4, 6, 5), point(4, 6, 5), point(9, 9, 1),
		point(10, 8, 1), point(1, 1, 9), point(3, 7, 4), point(1, 2, 9)
	};

	for (size_t i = 0; i < sizeof(p) / sizeof(p[0]); i++) {
		p[i].batch = (int)i;
		pareto_add(&l, &p[i]);
	}
	pareto_sort(&l);
	assert_int_equal(l.n, 3);
	assert_int_equal(l.v[0].batch, 7);
	assert_int_equal(l.v[1].batch, 6);
	assert_int_equal(l.v[2].batch, 3);
	arena_free(&a);
	(void)state;
}

/* More GPUs never bring more than there are of them, and leave the CPU's work as it is. */
/* What is not told of several machines, and what is said of memory that several GPUs read. */
static void test_layout(void **state)
{
	static const struct {
		const char *on;
		int tp, pp;
	} cases[] = { { "h100 x16", 8, 2 }, { "2x hgx-h100", 8, 2 }, { "h100 x3", 2, 1 },
		      { "2x gb10", 2, 1 },  { "gb200 x8", 8, 1 },    { "h100 nvl x4", 4, 1 },
		      { "gb200 x72", 8, 1 } };
	struct arena a = { 0 };
	struct prediction p;
	double gpu, claim;
	const char *why;

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		ask(&a, (struct infer_options){ .model = "llama-3.3-70b", .on = cases[i].on }, &p);
		if (p.q.ask.tp != cases[i].tp || p.q.ask.pp != cases[i].pp)
			fail_msg("%s: %d by %d", cases[i].on, p.q.ask.tp, p.q.ask.pp);
	}
	/* A ring over two machines has all their adapters, and one way between them. */
	ask(&a, (struct infer_options){ .model = "llama-3.3-70b", .on = "h100 x16", .tp = 16 }, &p);
	assert_true(p.step.reduce_us < 1.5 * p.q.ask.fit->v[FIT_NET_US]);
	/* Cards beyond the bridge are in one machine all the same. */
	ask(&a, (struct infer_options){ .model = "llama-3.3-70b", .on = "h100 nvl x4", .tp = 4 },
	    &p);
	assert_true(p.step.reduce_us < p.q.ask.fit->v[FIT_NET_US]);
	/* No GPU reads in one step more than it has. */
	ask(&a,
	    (struct infer_options){ .model = "llama-3.3-70b", .on = "h100 x3", .tp = 1, .pp = 3 },
	    &p);
	assert_non_null(strstr(p.limit_why, "each GPU reads "));
	gpu = strtod(strstr(p.limit_why, "reads ") + 6, NULL);
	assert_true(gpu > 40 && gpu < 50);
	/* An interval ends where claims are called impossible. */
	ask(&a, (struct infer_options){ .model = "llama-3.3-70b", .on = "hgx-h100", .batch = 2 },
	    &p);
	claim = p.q.ask.place.gpu->bandwidth * 1e9 / step_bytes(&p.step);
	assert_true(1e3 / p.tpot.low <= 1.0001 * claim);
	assert_string_equal(predict_claim(&a, &p, 1.1 * claim, &why), "impossible");
	assert_true(p.throughput.high <= 2.0001 * claim);
	assert_non_null(strstr(p.whose[MEASURE_TPOT], "on H100 and H200"));
	assert_non_null(strstr(p.whose[MEASURE_TPOT], "coverage tested"));
	/* Too few rows of one request there: no interval is borrowed from other hardware. */
	ask(&a, (struct infer_options){ .model = "llama-3.3-70b", .on = "hgx-h100" }, &p);
	assert_null(p.spread[MEASURE_TPOT]);
	close_to("untested", p.tpot.high, 2 * p.tpot.value, 1e-9);
	/* No more run than fit, however many come. */
	ask(&a, (struct infer_options){ .model = "llama-3-8b", .on = "h100", .batch = 100000 }, &p);
	assert_false(p.memory.fits);
	assert_true(p.memory.most_requests > 50 && p.memory.most_requests < 1000);
	assert_true(p.served.running < 1.5 * p.memory.most_requests);
	arena_free(&a);
}

/* Groups that share the experts hold everything else themselves, and their own requests' cache. */
static void test_groups(void **state)
{
	struct infer_options w = { .model = "DeepSeek-V3",
				   .weights = "fp8",
				   .on = "h200 x8",
				   .engine = "sglang",
				   .batch = 256 };
	struct prediction tp, dp, apart, more;
	struct arena a = { 0 };
	struct query q;
	struct fits fits;
	struct err e = { 0 };

	fits_default(&fits);
	w.tp = 8;
	ask(&a, w, &tp);
	w.tp = 1, w.dp = 8;
	ask(&a, w, &dp);
	assert_true(dp.memory.weights > tp.memory.weights);
	assert_true(8 * dp.memory.weights < 2 * weights_total(&tp.q.ask));
	close_to("a latent cache is not split", 8 * dp.memory.cache, tp.memory.cache, 1e-9);
	close_to("each expert once", dp.step.expert_bytes, tp.step.expert_bytes, 1e-9);
	assert_int_equal(dp.step.reduces, 0);
	assert_true(dp.step.link > 0 && dp.step.cache < tp.step.cache);
	/* Engines that decode alone have no prompts between tokens. */
	w.on = "h200 x24", w.prefills = 1, w.prefill_tp = 8;
	w.decodes = 2;
	ask(&a, w, &apart);
	assert_true(apart.memory.fits && apart.tpot.value < dp.tpot.value);
	close_to("no prompts between", apart.tpot.value, apart.served.step, 1e-9);
	assert_true(apart.spread[MEASURE_TPOT] == NULL ||
		    apart.spread[MEASURE_TPOT]->users == USERS_APART);
	w.on = "h200 x32", w.prefills = 2;
	ask(&a, w, &more);
	assert_true(more.ttft.value < apart.ttft.value);
	assert_true(more.throughput.value >= apart.throughput.value);
	/* Weights that do not fit one GPU do not take prompts there; GPUs that are not there. */
	w.prefill_tp = 1;
	ask(&a, w, &more);
	assert_false(more.memory.fits);
	w.prefill_tp = 16;
	assert_int_equal(question_make(&a, &w, &fits, &q, &e), -EINVAL);
	w.prefill_tp = w.prefill_dp = w.prefills = w.decodes = 4096;
	assert_int_equal(question_make(&a, &w, &fits, &q, &e), -EINVAL);
	assert_non_null(strstr(e.text, "requires"));
	w.rate = 1, w.batch = 0;
	assert_int_equal(question_make(&a, &w, &fits, &q, &e), -EINVAL);
	w.rate = 0, w.prefills = 0;
	assert_int_equal(question_make(&a, &w, &fits, &q, &e), -EINVAL);
	arena_free(&a);
	(void)state;
}

/* Of three borders between four stages on two machines one is the network. */
static void test_stages(void **state)
{
	struct arena a = { 0 };
	struct prediction p;
	struct ask q;
	double across, inside;

	ask(&a,
	    (struct infer_options){
		    .model = "llama-3.3-70b", .on = "2x hgx-h100", .tp = 8, .pp = 2 },
	    &p);
	across = link_stage(&p.q.ask, 64);
	ask(&a,
	    (struct infer_options){ .model = "llama-3.3-70b", .on = "hgx-h100", .tp = 4, .pp = 2 },
	    &p);
	inside = link_stage(&p.q.ask, 64);
	assert_true(inside < across);
	ask(&a,
	    (struct infer_options){
		    .model = "llama-3.3-70b", .on = "2x hgx-h100", .tp = 4, .pp = 4 },
	    &p);
	close_to("stages", link_stage(&p.q.ask, 64), across + 2 * inside, 1e-9);
	assert_true(p.step.link > link_stage(&p.q.ask, 1));
	q = p.q.ask;
	q.pp = 3; /* the last machine is half empty */
	close_to("three stages", link_stage(&q, 64), across + inside, 1e-9);
	q.tp = 1, q.pp = 16;
	close_to("sixteen stages", link_stage(&q, 64), across + 14 * inside, 1e-9);
	ask(&a,
	    (struct infer_options){
		    .model = "llama-3.1-8b", .on = "4x hgx-h100", .tp = 1, .pp = 32 },
	    &p);
	assert_true(p.limit != LIMIT_LINK || strstr(p.limit_why, "transfers between stages take"));
	arena_free(&a);
	(void)state;
}

static void loaded(struct arena *a, int users, double rate, double prompt, double output,
		   struct prediction *p)
{
	ask(a,
	    (struct infer_options){ .model = "llama-3.1-8b",
				    .on = "h200",
				    .batch = users,
				    .rate = rate,
				    .prompt = prompt,
				    .output = output },
	    p);
}

static void in_order(const struct percentiles *p)
{
	assert_true(p->p50 > 0 && p->p50 <= p->p95 && p->p95 <= p->p99);
	assert_true(p->mean <= p->p99);
}

/* Requests that run are those that come in a second, times how long each stays. */
static void test_answered(void **state)
{
	static const int users[] = { 3, 16, 64 };
	struct arena a = { 0 };
	struct prediction p;

	for (size_t i = 0; i < sizeof(users) / sizeof(users[0]); i++) {
		loaded(&a, users[i], 0, 2000, 300, &p);
		in_order(&p.schedule.ttft);
		in_order(&p.schedule.tpot);
		in_order(&p.schedule.e2e);
		close_to("users", p.schedule.rate * p.schedule.e2e.mean / 1e3, users[i], 0.15);
		assert_int_equal(p.schedule.preempted, 0);
	}
	arena_free(&a);
	(void)state;
}

/* The scheduler, where what must come out is known. */
static void test_schedule(void **state)
{
	struct arena a = { 0 };
	struct prediction one, few, many, again;

	/* Seldom: a request finds the engine empty. */
	loaded(&a, 1, 0, 2000, 300, &one);
	loaded(&a, 0, 0.01, 2000, 300, &few);
	assert_int_equal(one.schedule.requests, 0);
	close_to("first token", few.schedule.ttft.p50, one.ttft.value, 0.05);
	close_to("tokens", few.schedule.tpot.p50, one.tpot.value, 0.05);
	assert_false(few.schedule.behind);
	/* More than can be answered: said, and no more is answered. */
	loaded(&a, 0, 1000, 2000, 300, &many);
	assert_true(many.schedule.behind && many.schedule.rate < 500);
	/* The same answer again. */
	loaded(&a, 0, 1000, 2000, 300, &again);
	assert_true(again.schedule.ttft.p99 == many.schedule.ttft.p99);
	/* Answers longer than the cache holds all of: admitted by what is in use, so first tokens
	 * do not wait for whole answers; some are preempted, and all are answered. */
	loaded(&a, 64, 0, 1000, 40000, &many);
	assert_true(many.memory.most_requests < 64 && many.schedule.preempted > 0);
	assert_true(many.schedule.ttft.p50 < 0.1 * many.schedule.e2e.p50);
	/* SGLang keeps room for what is yet to be made: requests wait, and few are preempted. */
	ask(&a,
	    (struct infer_options){ .model = "llama-3.1-8b",
				    .on = "h200",
				    .engine = "sglang",
				    .batch = 64,
				    .prompt = 1000,
				    .output = 40000 },
	    &again);
	assert_true(3 * again.schedule.preempted < many.schedule.preempted);
	assert_true(again.schedule.ttft.mean > 1.5 * many.schedule.ttft.mean);
	/* Answers of one token, and prompts all of which is in the prefix cache. */
	loaded(&a, 16, 0, 1000, 1, &many);
	assert_true(many.schedule.ttft.mean > 0 && isfinite(many.schedule.throughput));
	ask(&a,
	    (struct infer_options){ .model = "llama-3.1-8b",
				    .on = "h200",
				    .batch = 16,
				    .cached = 1,
				    .draft = 3,
				    .accept = 0.7 },
	    &many);
	assert_true(isfinite(many.schedule.ttft.mean) && many.schedule.requests > 0);
	arena_free(&a);
	(void)state;
}

/* One token reaches what it chooses, many reach all, and fewer the more unevenly they choose. */
static void test_experts(void **state)
{
	const struct arch a = { .experts = 64, .top = 4 };

	close_to("one token", arch_experts_reached(&a, 1, 0.5), 4 / 64.0, 1e-9);
	close_to("less than one", arch_experts_reached(&a, 0.2, 0.5), 4 / 64.0, 1e-9);
	close_to("even", arch_experts_reached(&a, 40, 1), 1 - pow(1 - 4 / 64.0, 40), 1e-3);
	assert_true(arch_experts_reached(&a, 1e9, 0.7) > 0.999);
	for (double n = 2; n < 1e4; n *= 3) {
		assert_true(arch_experts_reached(&a, n, 0.4) < arch_experts_reached(&a, n, 0.8));
		assert_true(arch_experts_reached(&a, n, 0.4) <
			    arch_experts_reached(&a, 3 * n, 0.4));
	}
	close_to("no experts", arch_experts_reached(&(struct arch){ 0 }, 7, 0.5), 1, 1e-9);
	(void)state;
}

/* A step with prompts reads the weights once: decoding beside them costs less than by itself. */
static void test_one_pass(void **state)
{
	static const char *const engines[] = { "vllm", "sglang" };
	struct arena a = { 0 };
	struct prediction p[2];
	double beside[2];

	for (int i = 0; i < 2; i++) {
		ask(&a,
		    (struct infer_options){ .model = "llama-3.3-70b",
					    .on = "h200 x2",
					    .batch = 32,
					    .prompt = 4000,
					    .output = 100,
					    .engine = engines[i] },
		    &p[i]);
		beside[i] = (p[i].tpot.value - p[i].served.step) / p[i].prompt.total;
	}
	/* With SGLang they wait for all of the others' prompts, 31 in 100 tokens. */
	assert_true(beside[1] > 0.2 && beside[1] < 0.4);
	assert_true(beside[0] > 0.15 && beside[0] < 0.32);
	arena_free(&a);
	(void)state;
}

/* Both a rate and a number of users: refused; so is a release that is none. */
static void test_rate_or_users(void **state)
{
	struct arena a = { 0 };
	struct infer_options w = { .model = "llama-3.1-8b", .on = "h200", .batch = 2, .rate = 1 };
	struct fits fits;
	struct query q;
	struct err e;

	fits_default(&fits);
	assert_int_equal(question_make(&a, &w, &fits, &q, &e), -EINVAL);
	assert_non_null(strstr(e.text, "--rate"));
	w = (struct infer_options){ .model = "llama-3.1-8b", .on = "h200", .engine = "vllm@abc" };
	assert_int_equal(question_make(&a, &w, &fits, &q, &e), -EINVAL);
	assert_non_null(strstr(e.text, "vllm@0.28"));
	arena_free(&a);
	(void)state;
}

/* Cards without FP8 multiply whole numbers of 8 bits all the same; a B300 has few units for them.
 */
static void test_whole_numbers(void **state)
{
	static const struct {
		const char *on;
		double low, high;
	} cases[] = { { "a100", 0.3, 0.9 }, { "h200", 0.3, 0.9 }, { "b300", 5, 50 } };
	struct arena a = { 0 };
	struct prediction half, eight;

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct infer_options w = { .model = "llama-3.1-8b",
					   .on = cases[i].on,
					   .prompt = 8000 };
		double part;

		w.weights = "bf16";
		ask(&a, w, &half);
		w.weights = "w8a8";
		ask(&a, w, &eight);
		part = eight.prompt.multiply / half.prompt.multiply;
		if (!(part > cases[i].low && part < cases[i].high))
			fail_msg("%s: %.3g of BF16's time", cases[i].on, part);
	}
	arena_free(&a);
	(void)state;
}

/* What sees is in the files, and no token of text reads it. */
static void test_besides(void **state)
{
	const char *text = "{\"model_type\":\"qwen2_5_vl\",\"hidden_size\":3584,"
			   "\"num_hidden_layers\":28,\"num_attention_heads\":28,"
			   "\"num_key_value_heads\":4,\"intermediate_size\":18944,"
			   "\"vocab_size\":152064,\"tie_word_embeddings\":false,"
			   "\"vision_config\":{\"hidden_size\":1280}}";
	struct arena a = { 0 };
	struct model_file f;
	struct prediction alone, files;
	struct err e;

	assert_int_equal(config_read(&a, "x", text, strlen(text), &f, &e), 0);
	assert_true(f.besides && strstr(f.taken, "not counting the parameters of vision_config"));
	assert_false(f.arch.guessed);
	ask(&a, (struct infer_options){ .model = "x", .file = &f, .on = "h200" }, &alone);
	ask(&a,
	    (struct infer_options){
		    .model = "x", .file = &f, .on = "h200", .weight_bytes = 16.58e9 },
	    &files);
	close_to("memory", files.weight_bytes, 16.58e9, 1e-9);
	close_to("read", files.step.dense_bytes, alone.step.dense_bytes, 1e-9);
	close_to("parameters", arch_parts(&files.q.arch).total, 8.29e9, 0.001);
	/* Files of BF16 say nothing of FP8, nor files of FP32 of what engines make of them. */
	ask(&a,
	    (struct infer_options){ .model = "x",
				    .file = &f,
				    .on = "h200",
				    .weights = "fp8",
				    .weight_bytes = 16.58e9 },
	    &files);
	assert_true(files.weight_bytes < 9e9);
	assert_true(files.step.dense_bytes < 0.51 * alone.step.dense_bytes);
	ask(&a,
	    (struct infer_options){ .model = "x", .file = &f, .on = "h200", .weight_bytes = 31e9 },
	    &files);
	close_to("FP32", files.weight_bytes, alone.weight_bytes, 1e-9);
	/* What is told of files that do not tell is exact. */
	ask(&a,
	    (struct infer_options){ .model = "x",
				    .file = &f,
				    .on = "h200",
				    .weights = "awq",
				    .weight_bytes = 5.2e9 },
	    &files);
	close_to("AWQ", files.weight_bytes, 5.2e9, 1e-9);
	arena_free(&a);
	(void)state;
}

static void test_speedup(void **state)
{
	struct arena a = { 0 };

	for (int batch = 1; batch <= 256; batch *= 16) {
		struct infer_options w = { .model = "Llama-3.1-8B",
					   .weights = "fp8",
					   .on = "h100 x8",
					   .batch = batch,
					   .tp = 1 };
		struct prediction one, eight;
		double up;

		ask(&a, w, &one);
		w.tp = 8;
		ask(&a, w, &eight);
		up = one.step.total / eight.step.total;
		assert_true(up > 1 && up < 8);
		close_to("the CPU's work", eight.step.host, one.step.host, 1e-12);
		assert_true(eight.step.total >= eight.step.host);
		if (eight.step.host > 0.8 * eight.step.total)
			assert_int_equal(eight.limit, LIMIT_LAUNCH);
	}
	arena_free(&a);
	(void)state;
}

/* Copies share the requests: one with all of them is not faster than each of four with a quarter.
 */
static void test_copies(void **state)
{
	struct arena a = { 0 };
	struct infer_options w = {
		.model = "Qwen3-8B", .weights = "bf16", .on = "h200 x4", .batch = 64, .tp = 1
	};
	struct prediction p;
	struct advise_outcome one, four;
	struct fits fits;

	ask(&a, w, &p);
	fits_default(&fits);
	p.q.ask.fit = &fits.of[ENGINE_VLLM][HARDWARE_SERVER];
	way_outcome(&p.q.ask, 1, &one);
	way_outcome(&p.q.ask, 4, &four);
	assert_true(four.tpot < one.tpot && four.throughput > one.throughput);
	close_to("memory", four.bytes_all, 4 * four.bytes, 1e-12);
	assert_true(outcome_gain(&one, &four, GOAL_LATENCY) > 1);
	close_to("there and back",
		 outcome_gain(&one, &four, GOAL_THROUGHPUT) *
			 outcome_gain(&four, &one, GOAL_THROUGHPUT),
		 1, 1e-12);
	one.fits = false;
	assert_true(outcome_gain(&one, &four, GOAL_LATENCY) == 0);
	arena_free(&a);
	(void)state;
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_counts),
		cmocka_unit_test(test_list),
		cmocka_unit_test(test_names),
		cmocka_unit_test(test_formats),
		cmocka_unit_test(test_memory_of_a_place),
		cmocka_unit_test(test_layout),
		cmocka_unit_test(test_places),
		cmocka_unit_test(test_laws),
		cmocka_unit_test(test_sums),
		cmocka_unit_test(test_claim),
		cmocka_unit_test(test_files),
		cmocka_unit_test(test_rows),
		cmocka_unit_test(test_guesses),
		cmocka_unit_test(test_front),
		cmocka_unit_test(test_stages),
		cmocka_unit_test(test_groups),
		cmocka_unit_test(test_answered),
		cmocka_unit_test(test_schedule),
		cmocka_unit_test(test_experts),
		cmocka_unit_test(test_one_pass),
		cmocka_unit_test(test_rate_or_users),
		cmocka_unit_test(test_besides),
		cmocka_unit_test(test_whole_numbers),
		cmocka_unit_test(test_speedup),
		cmocka_unit_test(test_copies),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
