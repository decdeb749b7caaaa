/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A config.json as published on Hugging Face. Makers name the same thing differently; the nested
 * "text_config" of a model that also sees is the language model.
 */
#include "predict/config.h"

#include <errno.h>
#include <jansson.h>
#include <math.h>
#include <string.h>

#include "predict/config_parts.h"

#define MOST_BYTES (4u << 20)

int config_int(const json_t *o, const char *const *names, int fallback)
{
	for (; *names; names++) {
		const json_t *v = json_object_get(o, *names);

		if (json_is_integer(v) && json_integer_value(v) > 0 &&
		    json_integer_value(v) < 1 << 24)
			return (int)json_integer_value(v);
	}
	return fallback;
}

#define INT(o, fallback, ...)                                                                      \
	config_int((o), (const char *const[]){ __VA_ARGS__, NULL }, (fallback))

/* What else calls itself the model's configuration. */
static const json_t *language_part(const json_t *root)
{
	static const char *const names[] = { "text_config", "llm_config", "language_config",
					     "language_model", "thinker_config" };

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		const json_t *v = json_object_get(root, names[i]);

		if (json_is_object(v))
			return json_is_object(json_object_get(v, "text_config"))
				       ? json_object_get(v, "text_config")
				       : v;
	}
	return root;
}

static void attention(const json_t *c, struct arch *a)
{
	a->heads = INT(c, 0, "num_attention_heads", "n_head", "n_heads");
	a->kv_heads = INT(c, a->heads, "num_key_value_heads", "num_kv_heads",
			  "multi_query_group_num", "n_head_kv");
	if (json_is_true(json_object_get(c, "multi_query")))
		a->kv_heads = 1;
	a->head_dim = INT(c, a->heads ? a->hidden / a->heads : 0, "head_dim", "attention_head_dim",
			  "kv_channels");
	a->gated_attention = json_is_true(json_object_get(c, "attn_output_gate")) ||
			     json_is_true(json_object_get(c, "use_attn_output_gate"));
	a->kv_lora = INT(c, 0, "kv_lora_rank");
	a->q_lora = INT(c, 0, "q_lora_rank");
	a->rope_dim = INT(c, 0, "qk_rope_head_dim");
	a->nope_dim = INT(c, 0, "qk_nope_head_dim");
	a->v_dim = INT(c, a->head_dim, "v_head_dim");
	a->index_top = INT(c, 0, "index_topk");
	if (!a->kv_lora)
		a->rope_dim = a->nope_dim = a->v_dim = a->q_lora = 0;
}

static void feed_forward(const json_t *c, struct arch *a)
{
	const json_t *every;
	int shared = INT(c, 0, "n_shared_experts", "num_shared_experts");

	a->ffn =
		INT(c, 4 * a->hidden, "intermediate_size", "ffn_hidden_size", "n_inner", "ffn_dim");
	a->experts = INT(c, 0, "num_local_experts", "n_routed_experts", "num_experts",
			 "moe_num_experts");
	if (a->experts < 2)
		a->experts = 0;
	if (!a->experts)
		return;
	a->top = INT(c, 1, "num_experts_per_tok", "num_experts_per_token", "moe_top_k", "moe_k",
		     "top_k_experts", "experts_per_token");
	a->expert_ffn = INT(c, a->ffn, "moe_intermediate_size", "expert_ffn_hidden_size",
			    "ffn_hidden_size");
	a->expert_in = INT(c, 0, "moe_latent_size");
	a->shared_ffn = INT(c, shared * a->expert_ffn, "shared_expert_intermediate_size",
			    "moe_shared_expert_intermediate_size");
	a->moe_layers = a->layers - INT(c, 0, "first_k_dense_replace", "num_dense_layers",
					"moe_layer_start_index");
	every = json_object_get(c, "decoder_sparse_step");
	if (json_is_integer(every) && json_integer_value(every) > 1)
		a->moe_layers = a->layers / (int)json_integer_value(every);
	every = json_object_get(c, "interleave_moe_layer_step");
	if (json_is_integer(every) && json_integer_value(every) > 1)
		a->moe_layers = a->layers / (int)json_integer_value(every);
	if (a->moe_layers < 1 || a->moe_layers > a->layers)
		a->moe_layers = a->layers;
	a->ffn_layers = a->layers - a->moe_layers;
}

/* Matrices of a feed-forward block: two where the activation has no gate. */
static void gates(const json_t *c, const char *type, struct arch *a)
{
	static const char *const plain[] = { "falcon",	"starcoder2", "gpt_bigcode", "gpt_neox",
					     "gptj",	"opt",	      "bloom",	     "gpt2",
					     "phi",	"mpt",	      "nemotron",    "nemotron_h",
					     "apertus", "arcee" };
	const char *act = json_string_value(json_object_get(c, "mlp_hidden_act"));

	for (size_t i = 0; i < sizeof(plain) / sizeof(plain[0]); i++)
		if (type && strcmp(type, plain[i]) == 0)
			a->ffn_mats = 2;
	if (act && strcmp(act, "relu2") == 0)
		a->ffn_mats = 2;
}

/* "model.layers.*.self_attn" stays as it is: which parts such names speak of. */
static void ignored(const json_t *list, struct model_file *out)
{
	size_t i;
	json_t *v;

	json_array_foreach(list, i, v)
	{
		const char *s = json_string_value(v);

		if (!s)
			continue;
		if (strstr(s, "self_attn") || strstr(s, "attention"))
			out->keeps_attention = true;
		if (strstr(s, "linear_attn") || strstr(s, "mamba") || strstr(s, "mixer"))
			out->keeps_linear = true;
		if (strstr(s, "shared_expert"))
			out->keeps_shared = true;
	}
}

static const char *format_of(const json_t *q)
{
	const char *method = json_string_value(json_object_get(q, "quant_method"));
	const char *algorithm = json_string_value(json_object_get(q, "quant_algo"));
	const char *format = json_string_value(json_object_get(q, "format"));
	int bits = INT(q, 0, "bits", "w_bit");

	if (algorithm && strcasestr(algorithm, "nvfp4"))
		return "nvfp4";
	if (algorithm && strcasestr(algorithm, "fp8"))
		return "fp8";
	if (format && strstr(format, "nvfp4"))
		return "nvfp4";
	if (format && strstr(format, "float"))
		return "fp8";
	if (format && strstr(format, "pack"))
		return "int4";
	if (format && strstr(format, "int"))
		return "int8";
	if (method && strcmp(method, "mxfp4") == 0)
		return "mxfp4";
	if (method && strcmp(method, "fp8") == 0)
		return json_is_array(json_object_get(q, "weight_block_size")) ? "fp8-block" : "fp8";
	if (method && (strstr(method, "awq") || strstr(method, "gptq") || strstr(method, "round")))
		return bits == 8 ? "int8" : "int4";
	return NULL;
}

static void quantization(struct arena *a, const json_t *root, const json_t *c,
			 struct model_file *out)
{
	const json_t *q = json_object_get(root, "quantization_config");
	static const char *const lists[] = { "ignore", "exclude_modules", "modules_to_not_convert",
					     "ignored_layers" };

	if (!json_is_object(q))
		q = json_object_get(c, "quantization_config");
	if (!json_is_object(q))
		return;
	out->format = format_of(q);
	for (size_t i = 0; i < sizeof(lists) / sizeof(lists[0]); i++)
		ignored(json_object_get(q, lists[i]), out);
	if (out->keeps_attention || out->keeps_linear || out->keeps_shared)
		out->kept = arena_printf(a, "stay in BF16:%s%s%s",
					 out->keeps_attention ? " attention" : "",
					 out->keeps_linear ? " linear attention" : "",
					 out->keeps_shared ? " shared experts" : "");
}

static int checked(const struct arch *a, struct err *e)
{
	if (a->layers < 1 || a->layers > 4096 || a->hidden < 16 || a->hidden > 1 << 20 ||
	    a->vocab < 16 || a->heads < 1 || a->heads > 4096 || a->head_dim < 1 ||
	    a->head_dim > 65536 || a->kv_heads < 1 || a->kv_heads > a->heads)
		return err_set(e, -EINVAL,
			       "%.120s does not give layers, widths, heads and vocabulary",
			       a->name);
	if (a->experts &&
	    (a->experts > 65536 || a->top < 1 || a->top > a->experts || a->expert_ffn < 1))
		return err_set(e, -EINVAL, "%.120s: its experts do not make sense", a->name);
	if (a->window_layers < 0 || a->linear_layers < 0 ||
	    a->window_layers + a->linear_layers > a->layers)
		return err_set(e, -EINVAL, "%.120s has more kinds of layers than layers", a->name);
	return 0;
}

/* As engines count it: what YaRN and its kind stretch is stretched. */
static int trained(const json_t *c)
{
	const json_t *rope = json_object_get(c, "rope_scaling");
	double factor = json_number_value(json_object_get(rope, "factor"));
	int most = INT(c, 0, "max_position_embeddings", "n_positions", "seq_length",
		       "model_max_length"),
	    before = INT(rope, 0, "original_max_position_embeddings");

	if (before && factor > 1 && factor < 1e4 && before * factor > most &&
	    before * factor < 1 << 30)
		return (int)(before * factor);
	return most;
}

static int read_object(struct arena *a, const char *name, const json_t *root,
		       struct model_file *out, struct err *e)
{
	const json_t *c = language_part(root);
	const char *type = json_string_value(json_object_get(c, "model_type"));
	struct arch *s = &out->arch;
	const json_t *tied = json_object_get(root, "tie_word_embeddings");

	if (!json_is_boolean(tied))
		tied = json_object_get(c, "tie_word_embeddings");
	s->name = arena_strdup(a, name);
	s->source = "its config.json";
	s->layers = INT(c, 0, "num_hidden_layers", "n_layer", "num_layers", "n_layers");
	s->trained = trained(c);
	s->hidden = INT(c, 0, "hidden_size", "n_embd", "d_model");
	s->vocab = INT(c, INT(root, 0, "vocab_size"), "vocab_size", "padded_vocab_size");
	s->tied =
		json_is_boolean(tied) ? json_is_true(tied) : type && strncmp(type, "gemma", 5) == 0;
	attention(c, s);
	feed_forward(c, s);
	gates(c, type, s);
	config_layers(c, type, s);
	quantization(a, root, c, out);
	out->taken =
		arena_printf(a, "%s (%s), by its config.json", name, type ? type : "no model_type");
	return checked(s, e);
}

int config_read(struct arena *a, const char *name, const char *text, size_t len,
		struct model_file *out, struct err *e)
{
	json_error_t bad;
	json_t *root;
	struct model_file f = { 0 };
	int r;

	if (len > MOST_BYTES)
		return err_set(e, -EINVAL, "%.120s is too long for a model's configuration", name);
	root = json_loadb(text, len, JSON_REJECT_DUPLICATES, &bad);
	if (!root)
		return err_set(e, -EINVAL, "%.120s, line %d: %.160s", name, bad.line, bad.text);
	r = json_is_object(root) ? read_object(a, name, root, &f, e)
				 : err_set(e, -EINVAL, "%.120s is no JSON object", name);
	json_decref(root);
	if (r == 0)
		*out = f;
	return r;
}
