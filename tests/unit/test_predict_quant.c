/* SPDX-License-Identifier: Apache-2.0 */
/* In which format weights are: words that people write, names of models, quantization_config. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "models/inference/name_match.h"
#include "models/inference/query.h"

static void close_to(const char *what, double got, double want, double relative)
{
	if (!(fabs(got - want) <= relative * fabs(want)))
		fail_msg("%s: %.6g, not %.6g", what, got, want);
}

static void test_words(void **state)
{
	static const char *const words[][2] = {
		{ "awq-4bit", "int4" },	   { "gptq-4bit", "int4" },   { "gptq-8bit", "w8a16" },
		{ "gptq-int8", "w8a16" },  { "awq-int8", "w8a16" },   { "gptq 3bit", "int3" },
		{ "gptq_marlin", "int4" }, { "bnb-8bit", "w8a16" },   { "w8a16", "w8a16" },
		{ "int8", "int8" },	   { "mxfp8", "mxfp8" },      { "w4afp8", "w4a8" },
		{ "q5_0", "q5_0" },	   { "Q5_1", "q5_1" },	      { "q5", "q5_k_m" },
		{ "q4_k", "q4_k_m" },	   { "q4_k_l", "q4_k_l" },    { "q3_k_s", "q3_k_s" },
		{ "iq1_m", "iq1_m" },	   { "iq2_xxs", "iq2_xxs" },  { "iq3_xxs", "iq3_xxs" },
		{ "iq4", "iq4_xs" },	   { "ud-iq4_nl", "iq4_nl" }, { "qat q4_k_xl", "q4_0" },
	};
	static const char *const none[] = { "q5_9", "iq2_k", "128bit", "xq4_0" };

	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
		const struct format *f = format_find(words[i][0], false);

		if (!f || strcmp(f->name, words[i][1]) != 0)
			fail_msg("%s is %s, not %s", words[i][0], f ? f->name : "nothing",
				 words[i][1]);
	}
	for (size_t i = 0; i < sizeof(none) / sizeof(none[0]); i++)
		if (format_find(none[i], false))
			fail_msg("%s is %s", none[i], format_find(none[i], false)->name);
	(void)state;
}

static void test_names(void **state)
{
	static const char *const names[][2] = {
		{ "Qwen3-Coder-30B-A3B-Instruct-AWQ-4bit", "int4" },
		{ "GLM-4.5-Air-AWQ-8bit", "w8a16" },
		{ "Qwen/Qwen3-32B-GPTQ-Int8", "w8a16" },
		{ "Qwen3-8B-quantized.w8a16", "w8a16" },
		{ "Qwen3-8B-quantized.w8a8", "int8" },
		{ "maker/Qwen3-8B-Q5_1-GGUF", "q5_1" },
		{ "Qwen3-8B.IQ3_XXS", "iq3_xxs" },
		{ "Qwen3-8B-MXFP8", "mxfp8" },
		{ "mlx-community/Qwen3-4B-4bit", "int4" },
		{ "microsoft/Phi-4-4-bit", "int4" },
	};

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		const struct format *f = format_in_name(names[i][0], false);

		if (!f || strcmp(f->name, names[i][1]) != 0)
			fail_msg("%s is in %s, not %s", names[i][0], f ? f->name : "nothing",
				 names[i][1]);
	}
	assert_null(format_in_name("google/gemma-3-4b-it", false)); /* instruction-tuned */
	assert_null(format_in_name("google/gemma-4-26B-A4B-it", true));
	assert_null(format_in_name("fp8-makers/Qwen3-8B", false));
	(void)state;
}

/* Sizes that are published for the GGUF files of Llama 3 8B. */
static void test_sizes(void **state)
{
	static const struct {
		const char *name;
		double gb;
	} files[] = {
		{ "iq1_s", 2.02 },  { "iq1_m", 2.16 },	{ "iq2_xxs", 2.40 }, { "iq2_xs", 2.61 },
		{ "iq2_s", 2.76 },  { "iq2_m", 2.95 },	{ "iq3_xxs", 3.27 }, { "iq3_xs", 3.52 },
		{ "iq3_s", 3.68 },  { "iq3_m", 3.78 },	{ "iq4_xs", 4.45 },  { "q2_k", 3.18 },
		{ "q3_k_s", 3.66 }, { "q3_k_m", 4.02 }, { "q3_k_l", 4.32 },  { "q4_0", 4.66 },
		{ "q4_1", 5.13 },   { "q4_k_s", 4.69 }, { "q4_k_m", 4.92 },  { "q5_0", 5.60 },
		{ "q5_1", 6.07 },   { "q5_k_m", 5.73 }, { "q6_k", 6.60 },    { "q8_0", 8.54 },
	};
	struct arena a = { 0 };
	struct arch_parts p;
	const char *taken;
	struct arch m;
	struct err e;

	assert_int_equal(model_find(&a, NULL, "Llama-3.1-8B", NULL, &m, &taken, &e), 0);
	p = arch_parts(&m);
	for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++) {
		const struct format *f = format_find(files[i].name, false);

		assert_string_equal(f->name, files[i].name);
		close_to(f->name,
			 (p.attention * f->attention + p.dense * f->dense + p.head * f->head +
			  p.embed * f->embed) /
				 1e9,
			 files[i].gb, 0.03);
	}
	arena_free(&a);
	(void)state;
}

#define DENSE                                                                                      \
	"\"model_type\":\"llama\",\"num_hidden_layers\":32,\"hidden_size\":4096,"                  \
	"\"num_attention_heads\":32,\"num_key_value_heads\":8,\"intermediate_size\":14336,"        \
	"\"vocab_size\":128256"
#define MOE                                                                                        \
	"\"model_type\":\"qwen3_moe\",\"num_hidden_layers\":94,\"hidden_size\":4096,"              \
	"\"num_attention_heads\":64,\"num_key_value_heads\":4,\"head_dim\":128,"                   \
	"\"num_experts\":128,\"num_experts_per_tok\":8,\"moe_intermediate_size\":1536,"            \
	"\"intermediate_size\":12288,\"vocab_size\":151936"
#define HYBRID                                                                                     \
	"\"model_type\":\"qwen3_next\",\"num_hidden_layers\":48,\"hidden_size\":2048,"             \
	"\"num_attention_heads\":16,\"num_key_value_heads\":2,\"head_dim\":256,"                   \
	"\"num_experts\":512,\"num_experts_per_tok\":10,\"moe_intermediate_size\":512,"            \
	"\"shared_expert_intermediate_size\":512,\"intermediate_size\":5120,"                      \
	"\"linear_num_value_heads\":32,\"linear_num_key_heads\":16,\"linear_key_head_dim\":128,"   \
	"\"linear_value_head_dim\":128,\"full_attention_interval\":4,\"vocab_size\":151936"

static struct model_file read_config(struct arena *a, const char *shape, const char *quant)
{
	const char *text = arena_printf(a, "{%s,\"quantization_config\":{%s}}", shape, quant);
	struct model_file f;
	struct err e;

	if (config_read(a, "x", text, strlen(text), &f, &e) < 0)
		fail_msg("%s: %s", quant, e.text);
	return f;
}

/* What is counted, whether the file gave bytes or a format alone. */
static struct format counted(const struct model_file *f)
{
	if (f->exact.name)
		return f->exact;
	assert_non_null(f->format);
	return *format_find(f->format, f->arch.experts > 0);
}

#define GROUP(weights, input)                                                                      \
	"\"quant_method\":\"compressed-tensors\",\"config_groups\":{\"group_0\":{\"targets\":"     \
	"[\"Linear\"],\"weights\":{" weights "},\"input_activations\":" input "}}"
#define OF(method) "\"quant_method\":\"" method "\""
#define BY(algorithm) OF("modelopt") ",\"quant_algo\":\"" algorithm "\""

static void test_methods(void **state)
{
	static const struct {
		const char *quant, *name;
		double bytes;
	} rows[] = {
		{ OF("fbgemm_fp8"), "fp8", 1 },
		{ OF("fp8"), "fp8", 1 },
		{ OF("fp8") ",\"weight_block_size\":[128,128]", "fp8-block", 1.0003 },
		{ OF("gptq") ",\"bits\":4,\"group_size\":128", "int4", 4.15625 / 8 },
		{ OF("gptq") ",\"bits\":4,\"group_size\":32", "int4", 4.625 / 8 },
		{ OF("gptq") ",\"bits\":4,\"group_size\":-1", "int4", 0.5 },
		{ OF("gptq") ",\"bits\":3,\"group_size\":128", "int3", 3.1484 / 8 },
		{ OF("gptq") ",\"bits\":8,\"group_size\":128", "w8a16", 8.1875 / 8 },
		{ OF("awq") ",\"w_bit\":4,\"q_group_size\":128,\"zero_point\":true", "int4",
		  4.15625 / 8 },
		{ OF("auto-round") ",\"bits\":2,\"group_size\":64", "int2", 2.28125 / 8 },
		{ OF("bitsandbytes") ",\"load_in_4bit\":true", "int4", 4.5 / 8 },
		{ OF("bitsandbytes") ",\"load_in_4bit\":true,\"bnb_4bit_use_double_quant\":true",
		  "int4", 4.127 / 8 },
		{ OF("bitsandbytes") ",\"load_in_8bit\":true", "w8a16", 1 },
		{ GROUP("\"num_bits\":4,\"type\":\"int\",\"group_size\":128,\"symmetric\":true",
			"null") ",\"format\":\"pack-quantized\"",
		  "int4", 4.125 / 8 },
		{ GROUP("\"num_bits\":8,\"type\":\"int\",\"strategy\":\"channel\"",
			"null") ",\"format\":\"pack-quantized\"",
		  "w8a16", 1 },
		{ GROUP("\"num_bits\":8,\"type\":\"int\"",
			"{\"num_bits\":8}") ",\"format\":\"int-quantized\"",
		  "int8", 1 },
		{ GROUP("\"num_bits\":8,\"type\":\"float\"",
			"{\"num_bits\":8}") ",\"format\":\"naive-quantized\"",
		  "fp8", 1 },
		{ GROUP("\"num_bits\":4,\"type\":\"float\",\"group_size\":16",
			"{\"num_bits\":4}") ",\"format\":\"nvfp4-pack-quantized\"",
		  "nvfp4", 0.5625 },
		{ BY("FP8"), "fp8", 1 },
		{ BY("NVFP4"), "nvfp4", 0.5625 },
		{ BY("W4A8_AWQ"), "w4a8", 0.5195 },
		{ BY("W4A16_AWQ") ",\"group_size\":64", "int4", 4.25 / 8 },
		{ BY("MIXED_PRECISION") ",\"quantized_layers\":{\"model.layers.*.mlp\":"
					"{\"quant_algo\":\"FP8\"},\"model.layers.*.self_attn\":"
					"{\"quant_algo\":\"FP8\"}}",
		  "fp8", 1 },
		{ OF("hqq") ",\"quant_config\":{\"weight_quant_params\":{\"nbits\":4,"
			    "\"group_size\":64}},\"skip_modules\":[\"lm_head\"]",
		  "int4", 4.5 / 8 },
		{ OF("aqlm") ",\"in_group_size\":8,\"num_codebooks\":1,\"nbits_per_codebook\":16",
		  "int2", 0.25 },
		{ OF("eetq") ",\"weights\":\"int8\"", "w8a16", 1 },
		{ OF("quanto") ",\"weights\":\"int4\"", "int4", 4.25 / 8 },
		{ OF("torchao") ",\"quant_type\":\"int8_weight_only\"", "w8a16", 1 },
		{ OF("torchao") ",\"quant_type\":{\"default\":{\"_type\":\"Int4WeightOnlyConfig\","
				"\"_data\":{\"group_size\":64}}}",
		  "int4", 4.5 / 8 },
		{ OF("quark") ",\"global_quant_config\":{\"weight\":{\"dtype\":\"fp8_e4m3\"},"
			      "\"input_tensors\":{\"dtype\":\"fp8_e4m3\"}}",
		  "fp8", 1 },
		{ OF("fp_quant") ",\"forward_dtype\":\"mxfp4\"", "mxfp4", 0.53125 },
		{ OF("bitnet"), "int2", 0.25 },
	};
	struct arena a = { 0 };

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct model_file f = read_config(&a, DENSE, rows[i].quant);
		struct format c = counted(&f);

		if (strcmp(c.name, rows[i].name) != 0)
			fail_msg("%s is %s, not %s", rows[i].quant, c.name, rows[i].name);
		close_to(rows[i].quant, c.dense, rows[i].bytes, 0.001);
		close_to(rows[i].quant, c.attention, rows[i].bytes, 0.001);
	}
	arena_free(&a);
	(void)state;
}

/* What is not understood is refused, not taken for BF16; who says the format is believed. */
static void test_not_understood(void **state)
{
	static const char *const rows[] = {
		OF("vptq"),
		OF("spqr") ",\"bits\":3",
		OF("chocolate") ",\"bits\":4",
		OF("gptq"),
		OF("gptq") ",\"bits\":5",
		OF("torchao") ",\"quant_type\":\"autoquant\"",
		BY("MIXED_PRECISION"),
		BY("W3A3"),
		OF("compressed-tensors") ",\"format\":\"dense\"",
		GROUP("\"num_bits\":7,\"type\":\"int\"", "null"),
		"\"bits\":4",
	};
	struct arena a = { 0 };
	struct fits fits;
	struct query q;
	struct err e;

	fits_default(&fits);
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct model_file f = read_config(&a, DENSE, rows[i]);
		struct infer_options w = { .model = "x", .file = &f, .on = "h200" };

		assert_null(f.format);
		assert_int_equal(question_make(&a, &w, &fits, &q, &e), -EINVAL);
		assert_non_null(strstr(e.text, "unsupported quantization in its configuration"));
		w.weights = "int4";
		assert_int_equal(question_make(&a, &w, &fits, &q, &e), 0);
	}
	arena_free(&a);
	(void)state;
}

/* Scales for keys and values in a checkpoint make engines keep the cache so, unless they are told.
 */
static void test_cache(void **state)
{
#define SCHEME(bits, type) ",\"kv_cache_scheme\":{\"num_bits\":" bits ",\"type\":\"" type "\"}"
	static const struct {
		const char *quantization, *engine, *told;
		double bytes;
	} rows[] = {
		{ BY("NVFP4") ",\"kv_cache_quant_algo\":\"FP8\"", "vllm", NULL, 1 },
		{ BY("NVFP4") ",\"kv_cache_quant_algo\":\"FP8\"", "sglang", "auto", 1 },
		{ BY("NVFP4") ",\"kv_cache_quant_algo\":\"FP8\"", "vllm", "bf16", 2 },
		{ BY("NVFP4") ",\"kv_cache_quant_algo\":\"NVFP4\"", "trtllm", NULL, 0.5625 },
		{ BY("NVFP4") ",\"kv_cache_quant_algo\":\"FP8\"", "llama.cpp", NULL, 2 },
		{ BY("FP8") ",\"kv_cache_quant_algo\":null", "vllm", NULL, 2 },
		{ BY("FP8") ",\"kv_cache_quant_algo\":\"chocolate\"", "vllm", NULL, 2 },
		{ BY("FP8") SCHEME("8", "float"), "vllm", NULL, 1 },
		{ BY("FP8") SCHEME("8", "float"), "sglang", NULL, 1 },
		{ OF("fp8") SCHEME("8", "float"), "trtllm", NULL, 1 },
		{ OF("fp8") SCHEME("8", "float"), "sglang", NULL, 2 },
		{ BY("NVFP4") ",\"kv_cache_quant_algo\":\"NVFP4\"", "sglang", NULL, 2 },
		{ BY("FP8") SCHEME("8", "int"), "vllm", NULL, 2 },
		{ BY("FP8") ",\"kv_cache_scheme\":null", "vllm", NULL, 2 },
	};
	struct arena a = { 0 };
	struct fits fits;
	struct query q;
	struct err e;

	fits_default(&fits);
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct model_file f = read_config(&a, DENSE, rows[i].quantization);
		struct infer_options w = { .model = "x",
					   .file = &f,
					   .on = "h200",
					   .engine = rows[i].engine,
					   .cache = rows[i].told };

		assert_int_equal(question_make(&a, &w, &fits, &q, &e), 0);
		close_to(rows[i].quantization, q.ask.cache_bytes, rows[i].bytes, 1e-9);
	}
#undef SCHEME
	arena_free(&a);
	(void)state;
}

#define FP8 OF("fp8") ",\"modules_to_not_convert\":"
#define ALL(projection) "model.layers.*." projection

/* Shares of BF16 in parts of FP8: bytes a parameter less one. */
static void test_kept(void **state)
{
	static const struct {
		const char *shape, *list;
		double attention, linear, dense, experts, shared;
	} rows[] = {
		/* Norms, routers and gates are in no format. */
		{ MOE,
		  "[\"lm_head\",\"model.layers.0.input_layernorm\",\"model.layers.0.mlp.gate\","
		  "\"model.layers.0.post_attention_layernorm\"]",
		  0, 0, 0, 0, 0 },
		{ HYBRID,
		  "[\"model.layers.0.linear_attn.conv1d\",\"model.layers.0.mlp.gate\","
		  "\"model.layers.0.mlp.shared_expert_gate\"]",
		  0, 0, 0, 0, 0 },
		/* By projection and by layer: 32 x 128 of 80 x 128 columns of one layer of 32. */
		{ DENSE, "[\"model.layers.3.self_attn.q_proj\"]", 0.4 / 32, 0, 0, 0, 0 },
		{ DENSE, "[\"model.layers.3.self_attn\",\"model.layers.4.self_attn.o_proj\"]",
		  1.4 / 32, 0, 0, 0, 0 },
		{ DENSE, "[\"model.layers.0\",\"model.layers.31.mlp.down_proj\"]", 1 / 32.0, 0,
		  (1 + 1 / 3.0) / 32, 0, 0 },
		{ DENSE, "[\"self_attn\"]", 1, 0, 0, 0, 0 },
		{ DENSE, "[\"model.layers.1.\",\".mlp.down_proj\"]", 1 / 32.0, 0,
		  (32 / 3.0 + 2 / 3.0) / 32, 0, 0 },
		{ DENSE, "[\"model.layers.*.self_attn\"]", 1, 0, 0, 0, 0 },
		{ DENSE, "[\"*self_attn*\",\"model.layers.1*\"]", 1, 0, 11 / 32.0, 0, 0 },
		{ DENSE, "[\"re:.*self_attn.*\"]", 1, 0, 0, 0, 0 },
		{ DENSE, "[\"re:.*(q|o)_proj$\"]", 0.8, 0, 0, 0, 0 },
		{ DENSE, "[\"re:model\\\\.layers\\\\.(0|1|2)\\\\.mlp.*\"]", 0, 0, 3 / 32.0, 0, 0 },
		{ DENSE, "[\"re:.*layers\\\\.[0-3]\\\\.mlp\\\\.down_proj\"]", 0, 0, 4 / 96.0, 0,
		  0 },
		/* The same twice, and layers behind the last, add nothing. */
		{ DENSE,
		  "[\"model.layers.3.self_attn\",\"model.layers.3.self_attn.q_proj\","
		  "\"model.layers.32.self_attn\",\"vision_tower.layers.5.self_attn\"]",
		  1 / 32.0, 0, 0, 0, 0 },
		{ MOE, "[\"model.layers.5.mlp.experts.7.down_proj\"]", 0, 0, 0, 1 / 3.0 / 128 / 94,
		  0 },
		{ MOE, "[\"re:.*mlp.experts.*\"]", 0, 0, 0, 1, 0 },
		{ HYBRID, "[\"linear_attn\",\"mlp.shared_expert\"]", 0, 1, 0, 0, 1 },
		{ HYBRID, "[\"model.layers.0.linear_attn.out_proj\"]", 0, 0.27 / 36, 0, 0, 0 },
		{ HYBRID, "[\"model.layers.*\"]", 1, 1, 0, 1, 1 },
	};
	struct arena a = { 0 };

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct model_file f =
			read_config(&a, rows[i].shape, arena_printf(&a, FP8 "%s", rows[i].list));
		const struct format *x = &f.exact;

		assert_string_equal(f.format, "fp8");
		close_to(rows[i].list, x->attention, 1 + rows[i].attention, 1e-6);
		close_to(rows[i].list, x->linear, 1 + rows[i].linear, 1e-6);
		close_to(rows[i].list, x->dense, 1 + rows[i].dense, 1e-6);
		close_to(rows[i].list, x->experts, 1 + rows[i].experts, 1e-6);
		close_to(rows[i].list, x->shared, 1 + rows[i].shared, 1e-6);
		assert_true(!f.kept || !strstr(f.kept, "module names are unknown and ignored"));
	}
	arena_free(&a);
	(void)state;
}

static void test_kept_otherwise(void **state)
{
	struct arena a = { 0 };
	struct model_file f;

	f = read_config(&a, DENSE, FP8 "[\"self_attn\"]");
	assert_string_equal(f.kept, "stay in BF16: attention");
	f = read_config(&a, DENSE, FP8 "[\"re:((a)b)\",\"tea\\u0007pot\"]");
	assert_non_null(strstr(f.kept, "2 module names are unknown and ignored"));
	/* Other widths by name: 8 bits for the down matrices, none for attention. */
	f = read_config(&a, DENSE,
			OF("gptq") ",\"bits\":4,\"group_size\":-1,\"dynamic\":{\"-:.*attn.*\":{},"
				   "\"+:.*down_proj\":{\"bits\":8,\"group_size\":-1}}");
	close_to("attention", f.exact.attention, 2, 1e-9);
	close_to("dense", f.exact.dense, (0.5 + 0.5 + 1) / 3, 1e-9);
	f = read_config(&a, DENSE,
			OF("auto-round") ",\"bits\":4,\"group_size\":-1,\"extra_config\":"
					 "{\"model.layers.0.mlp\":{\"bits\":16}}");
	close_to("dense", f.exact.dense, 0.5 + 1.5 / 32, 1e-9);
	/* A group of its own for experts alone: the rest is as it was. */
	f = read_config(
		&a, MOE,
		OF("compressed-tensors") ",\"config_groups\":{\"group_0\":{\"targets\":"
					 "[\"re:.*mlp.experts.*\"],\"weights\":{\"num_bits\":4,"
					 "\"type\":\"int\",\"group_size\":32,"
					 "\"symmetric\":true}}}");
	close_to("experts", f.exact.experts, 4.5 / 8, 1e-9);
	close_to("attention", f.exact.attention, 2, 1e-9);
	arena_free(&a);
	(void)state;
}

/* A list that somebody made to take long does not. */
static void test_hostile(void **state)
{
	struct arena a = { 0 };
	struct model_file f;
	char *list = arena_alloc(&a, 1 << 21);
	size_t n = 0;

	static const char *const refused[] = { "a{1,255}", "(a)\\1", "(?=a)b", "(a|b", "[a" };
	regex_t x;

	assert_true(name_expression("(.*a)*.*.*.*.*.*.*.*.*b", &x));
	assert_int_equal(regexec(&x, "aaaaaaaaaaaaaaaaaaaaaaaaaaaaa", 0, NULL, 0), REG_NOMATCH);
	regfree(&x);
	assert_true(name_expression("(?:a|b)\\d+\\.c.*?$", &x));
	assert_int_equal(regexec(&x, "b12.cd", 0, NULL, 0), 0);
	assert_int_equal(regexec(&x, "b12xcd", 0, NULL, 0), REG_NOMATCH);
	regfree(&x);
	for (size_t i = 0; i < sizeof(refused) / sizeof(refused[0]); i++)
		assert_false(name_expression(refused[i], &x));
	for (int i = 0; i < 60000; i++)
		n += (size_t)sprintf(list + n, "%s\"re:.*.*.*%d.*x\"", i ? "," : "", i % 10);
	f = read_config(&a, DENSE, arena_printf(&a, FP8 "[%s]", list));
	assert_non_null(strstr(f.kept, "module names are unknown and ignored"));
	arena_free(&a);
	(void)state;
}

/* The path of a file does not say in which format it is; a configuration without one is BF16. */
static void test_paths(void **state)
{
	const char *text = "{" DENSE ",\"torch_dtype\":\"bfloat16\"}";
	struct arena a = { 0 };
	struct model_file f;
	struct fits fits;
	struct query q;
	struct err e;
	struct infer_options w = { .model = "models/fp8-tests/config.json",
				   .file = &f,
				   .on = "h200" };
	bool said = false;

	fits_default(&fits);
	assert_int_equal(config_read(&a, "x", text, strlen(text), &f, &e), 0);
	assert_int_equal(question_make(&a, &w, &fits, &q, &e), 0);
	assert_string_equal(q.ask.weights->name, "bf16");
	for (size_t i = 0; i < q.n_notes; i++)
		said |= strstr(q.notes[i], "the path names fp8") != NULL;
	assert_true(said);
	w.file = NULL;
	w.model = "Qwen3-8B-AWQ";
	assert_int_equal(question_make(&a, &w, &fits, &q, &e), 0);
	assert_string_equal(q.ask.weights->name, "int4");
	arena_free(&a);
	(void)state;
}

/* Files that quantizers write beside a configuration that says nothing of it. */
static void test_beside(void **state)
{
	static const struct {
		const char *text, *name;
		double dense, attention;
	} rows[] = {
		{ "{\"producer\":{\"name\":\"modelopt\"},\"quantization\":{\"quant_algo\":"
		  "\"NVFP4\","
		  "\"kv_cache_quant_algo\":\"FP8\",\"group_size\":16,\"exclude_modules\":"
		  "[\"lm_head\",\"model.layers.*.self_attn*\"]}}",
		  "nvfp4", 0.5625, 2 },
		{ "{\"quantization\":{\"quant_algo\":\"FP8\",\"exclude_modules\":[\"lm_head\"]}}",
		  "fp8", 1, 1 },
		{ "{\"bits\":4,\"group_size\":128,\"desc_act\":true,\"sym\":true}", "int4",
		  4.15625 / 8, 4.15625 / 8 },
		{ "{\"zero_point\":true,\"q_group_size\":128,\"w_bit\":4,\"version\":\"GEMM\"}",
		  "int4", 4.15625 / 8, 4.15625 / 8 },
	};
	static const char *const none[] = { "{\"quantization\":{\"quant_algo\":null}}", "{}" };
	const char *shape = "{" DENSE "}";
	struct arena a = { 0 };
	struct model_file f;
	struct err e;

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		assert_int_equal(config_read(&a, "x", shape, strlen(shape), &f, &e), 0);
		assert_false(f.quantized);
		assert_int_equal(config_quantization_beside(&a, "y.json", rows[i].text,
							    strlen(rows[i].text), &f, &e),
				 0);
		assert_string_equal(counted(&f).name, rows[i].name);
		close_to(rows[i].text, counted(&f).dense, rows[i].dense, 0.001);
		close_to(rows[i].text, counted(&f).attention, rows[i].attention, 0.001);
		assert_non_null(strstr(f.taken, "weight format from y.json"));
		assert_true(i == 0 ? f.cache && strcmp(f.cache, "fp8") == 0 : !f.cache);
	}
	/* Of the cache alone it says nothing of weights; what it says nothing of is not understood.
	 */
	for (size_t i = 0; i < 2; i++) {
		assert_int_equal(config_read(&a, "x", shape, strlen(shape), &f, &e), 0);
		assert_int_equal(
			config_quantization_beside(&a, "y.json", none[i], strlen(none[i]), &f, &e),
			0);
		assert_null(f.format);
		assert_true(!f.unknown == (i == 0));
	}
	assert_int_equal(config_quantization_beside(&a, "y.json", "[]", 2, &f, &e), -EINVAL);
	arena_free(&a);
	(void)state;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_words),	       cmocka_unit_test(test_names),
		cmocka_unit_test(test_sizes),	       cmocka_unit_test(test_methods),
		cmocka_unit_test(test_not_understood), cmocka_unit_test(test_kept),
		cmocka_unit_test(test_kept_otherwise), cmocka_unit_test(test_hostile),
		cmocka_unit_test(test_paths),	       cmocka_unit_test(test_beside),
		cmocka_unit_test(test_cache),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
