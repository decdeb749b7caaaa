/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A config.json as published on Hugging Face. Makers name the same thing differently; the nested
 * "text_config" of a model that also sees is the language model.
 */
#include "models/inference/config.h"

#include <errno.h>
#include <math.h>
#include <string.h>

#define INT(o, fallback, ...)                                                                      \
	config_int((o), (const char *const[]){ __VA_ARGS__, NULL }, (fallback))

#define NUM(o, fallback, ...)                                                                      \
	config_num(r, (o), (fallback), (const char *const[]){ __VA_ARGS__, NULL })

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

/* NULL: nobody's class of this name is known here. */
static const struct model_type *config_type(const char *name)
{
	for (size_t i = 0; i < n_model_types; i++)
		if (strcmp(model_types[i].name, name) == 0)
			return &model_types[i];
	return NULL;
}

/* What is told at all, each by the name that most files give it. */
static int config_complete(const struct arch *a, struct err *e)
{
	const struct {
		const char *name;
		int value, least, most;
	} of[] = { { "num_hidden_layers", a->layers, 1, 4096 },
		   { "hidden_size", a->hidden, 16, 1 << 20 },
		   { "num_attention_heads", a->heads, 1, 4096 },
		   { "vocab_size", a->vocab, 16, 1 << 24 } };

	for (size_t i = 0; i < sizeof(of) / sizeof(of[0]); i++)
		if (of[i].value < of[i].least || of[i].value > of[i].most)
			return err_set(e, -EINVAL,
				       "%.120s: layers, widths, heads or vocabulary incomplete: %s "
				       "is missing or invalid",
				       a->name, of[i].name);
	return 0;
}

static bool too_many(const struct arch *a)
{
	const int of[] = { a->window_layers + a->linear_layers, a->attention_layers, a->ffn_layers,
			   a->moe_layers };

	for (size_t i = 0; i < sizeof(of) / sizeof(of[0]); i++)
		if (of[i] > a->layers)
			return true;
	return a->window_layers < 0 || a->linear_layers < 0;
}

static int checked(const struct arch *a, struct err *e)
{
	if (a->head_dim < 1 || a->head_dim > 65536 || a->kv_heads < 1 || a->kv_heads > a->heads)
		return err_set(e, -EINVAL, "%.120s: invalid number of heads", a->name);
	if (a->heads % a->kv_heads)
		return err_set(
			e, -EINVAL,
			"%.120s: %d attention heads are not a multiple of %d key-value heads",
			a->name, a->heads, a->kv_heads);
	if (a->experts &&
	    (a->experts > 65536 || a->top < 1 || a->top > a->experts || a->expert_ffn < 1))
		return err_set(e, -EINVAL, "%.120s: invalid number of experts", a->name);
	if (too_many(a))
		return err_set(e, -EINVAL, "%.120s has more layers by kind than in total", a->name);
	return 0;
}

/* As engines count it: what YaRN and its kind stretch is stretched. */
static int trained(const json_t *c)
{
	const json_t *scaling = json_object_get(c, "rope_scaling");
	const json_t *rope =
		json_is_object(scaling) ? scaling : json_object_get(c, "rope_parameters");
	double factor = json_number_value(json_object_get(rope, "factor"));
	int most = INT(c, 0, "max_position_embeddings", "n_positions", "seq_length",
		       "model_max_length", "max_seq_len"),
	    before = INT(rope, 0, "original_max_position_embeddings");

	if (before && factor > 1 && factor < 1e4 && before * factor > most &&
	    before * factor < 1 << 30)
		return (int)(before * factor);
	return most;
}

/* Whether head and embedding are one matrix: told, or as the class has it. */
static bool tied(struct config_reading *r)
{
	static const char *const names[] = { "tie_word_embeddings", "tie_embedding",
					     "tie_embeddings" };
	const json_t *v = json_object_get(r->root, names[0]);

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]) && !json_is_boolean(v); i++)
		v = config_get(r, names[i]);
	if (json_is_boolean(v))
		return json_is_true(v);
	if (!r->known || config_is(r, TYPE_UNTOLD))
		config_doubt(r, "tie_word_embeddings is missing; assuming false");
	return config_is(r, TYPE_TIED);
}

static void infer_config_sizes(struct config_reading *r)
{
	struct arch *s = r->s;
	int vocab = INT(r->root, r->known ? r->known->vocab : 0, "vocab_size");

	s->layers = NUM(r->c, 0, "num_hidden_layers", "n_layer", "num_layers", "n_layers");
	if (!s->layers && json_is_array(config_get(r, "layers_block_type")))
		s->layers = (int)json_array_size(config_get(r, "layers_block_type"));
	s->trained = trained(r->c);
	s->hidden = NUM(r->c, 0, "hidden_size", "n_embd", "n_embed", "d_model", "dim");
	s->vocab = NUM(r->c, vocab, "vocab_size", "padded_vocab_size");
}

/* What sees or hears; NULL: the model does neither. */
static const char *besides(const json_t *root)
{
	static const char *const names[] = { "vision_config", "audio_config", "visual",
					     "vit_config", "vision_tower_config" };
	const json_t *thinker = json_object_get(root, "thinker_config");

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (json_object_size(json_object_get(root, names[i])) ||
		    json_object_size(json_object_get(thinker, names[i])))
			return names[i];
	return NULL;
}

/* What the answer says of where its figures are from, and of what was not understood. */
static const char *infer_config_taken(struct config_reading *r, const char *other)
{
	const char *doubts;

	config_unread(r);
	doubts = config_doubts(r);
	r->s->guessed = doubts != NULL;
	return arena_printf(r->a, "%s (%s), from its config.json%s%s%s%s", r->s->name,
			    *r->type ? r->type : "no model_type",
			    other ? "; not counting the parameters of " : "", other ? other : "",
			    doubts ? "; uncertain: " : "", doubts ? doubts : "");
}

static int infer_config_read_object(struct arena *a, const char *name, const json_t *root,
				    struct model_file *out, struct err *e)
{
	const json_t *c = language_part(root);
	const json_t *own = json_object_get(c, "model_type");
	const char *type =
		json_string_value(json_is_string(own) ? own : json_object_get(root, "model_type"));
	struct config_reading r = {
		.a = a, .root = root, .c = c, .type = type ? type : "", .s = &out->arch
	};
	int bad;

	r.known = config_type(r.type);
	r.s->name = arena_strdup(a, name);
	r.s->source = "config.json of the model";
	config_unknown(&r);
	infer_config_sizes(&r);
	r.s->tied = tied(&r);
	config_attention(&r);
	if ((bad = config_complete(r.s, e)) < 0)
		return bad;
	config_feed_forward(&r);
	config_layers(&r);
	if ((bad = config_blocks(&r, e)) < 0 || (bad = checked(r.s, e)) < 0)
		return bad;
	config_quantization(a, root, c, out);
	out->besides = besides(root) != NULL;
	out->taken = infer_config_taken(&r, besides(root));
	return 0;
}

int config_read(struct arena *a, const char *name, const char *text, size_t len,
		struct model_file *out, struct err *e)
{
	json_error_t bad;
	json_auto_t *root = NULL;
	struct model_file f = { 0 };
	int r;

	if (len > CONFIG_BYTES)
		return err_set(e, -EINVAL, "%.120s: too large for a model configuration", name);
	root = config_json(a, text, len, &bad);
	if (!root)
		return err_set(e, -EINVAL, "%.120s, line %d: %.160s", name, bad.line, bad.text);
	r = json_is_object(root) ? infer_config_read_object(a, name, root, &f, e)
				 : err_set(e, -EINVAL, "%.120s: not a JSON object", name);
	if (r == 0)
		*out = f;
	return r;
}

/* Heads in a config.json: how many there are, how many are kept, and latent attention. */

#define ATTENTION_NUM(o, fallback, ...)                                                            \
	config_num(r, (o), (fallback), (const char *const[]){ __VA_ARGS__, NULL })

/* Falcon and those after it: one head for all unless the newer kind of layer is told, or told
 * otherwise. */
static int falcon_heads(struct config_reading *r, int told)
{
	if (config_true(r, "new_decoder_architecture"))
		return told ? told : r->s->heads;
	return config_false(r, "multi_query") ? r->s->heads : 1;
}

static int infer_config_kv_heads(struct config_reading *r)
{
	const json_t *c = r->c;
	int told = ATTENTION_NUM(c, 0, "num_key_value_heads", "num_kv_heads", "n_head_kv",
				 "num_key_value_heads_per_layer", "num_attention_groups");

	if (config_is(r, TYPE_FALCON))
		return falcon_heads(r, told);
	if (config_true(r, "multi_query"))
		return 1;
	if (!told)
		told = ATTENTION_NUM(config_get(r, "attn_config"), 0, "kv_n_heads");
	if (!told && !config_false(r, "multi_query_attention"))
		told = ATTENTION_NUM(c, 0, "multi_query_group_num");
	if (!told && r->known)
		told = r->known->kv_heads;
	return told ? told : r->s->heads;
}

static int head_dim(struct config_reading *r)
{
	int dim = r->known ? r->known->head_dim : 0;

	if (!dim && r->s->heads)
		dim = r->s->hidden / r->s->heads;
	return ATTENTION_NUM(r->c, dim, "head_dim", "attention_head_dim", "kv_channels");
}

/*
 * DeepSeek-V4 keeps one head's width of each token. Its output matrix is in two parts, by groups: a
 * width of values is taken that has as many parameters.
 */
static void latent_v4(struct config_reading *r)
{
	struct arch *a = r->s;
	double rank = ATTENTION_NUM(r->c, 0, "o_lora_rank"), n = a->heads, out;

	a->rope_dim = ATTENTION_NUM(r->c, 64, "qk_rope_head_dim");
	if (a->rope_dim >= a->head_dim)
		return;
	a->q_lora = ATTENTION_NUM(r->c, 0, "q_lora_rank");
	a->kv_lora = a->nope_dim = a->head_dim - a->rope_dim;
	out = n * a->head_dim * rank +
	      ATTENTION_NUM(r->c, 1, "o_groups") * rank * a->hidden; /* both parts */
	a->v_dim =
		(int)fmax(1, (out - n * a->kv_lora * a->nope_dim) / n / (a->kv_lora + a->hidden));
}

static void latent(struct config_reading *r)
{
	struct arch *a = r->s;
	const json_t *c = r->c;
	int v = ATTENTION_NUM(c, a->head_dim, "v_head_dim");

	a->kv_lora = ATTENTION_NUM(c, 0, "kv_lora_rank");
	a->index_top = ATTENTION_NUM(c, 0, "index_topk");
	if (config_type_is(r, "deepseek_v4")) {
		latent_v4(r);
		return;
	}
	if (!a->kv_lora) { /* keys and values of different widths: as if both had their mean */
		a->head_dim = (a->head_dim + v) / 2;
		a->q_lora = ATTENTION_NUM(c, 0, "share_q_dim");
		return;
	}
	a->q_lora = ATTENTION_NUM(c, 0, "q_lora_rank");
	a->rope_dim = ATTENTION_NUM(c, 0, "qk_rope_head_dim");
	a->nope_dim = ATTENTION_NUM(c, 0, "qk_nope_head_dim");
	a->v_dim = v;
}

void config_attention(struct config_reading *r)
{
	struct arch *a = r->s;
	int heads = r->known ? r->known->heads : 0;

	a->heads = ATTENTION_NUM(r->c, heads, "num_attention_heads", "n_head", "n_heads");
	a->kv_heads = infer_config_kv_heads(r);
	a->head_dim = head_dim(r);
	a->qk_norm = config_is(r, TYPE_QK_NORM);
	a->gated_attention =
		config_true(r, "attn_output_gate") || config_true(r, "use_attn_output_gate");
	latent(r);
}

/*
 * "block_configs": each layer of a model that was thinned out by search, one by one. Layers have
 * attention, a matrix in its place, or nothing, and blocks of different widths: counted is how
 * many there are of a kind, with the mean of their widths.
 */

#define BLOCKS_NUM(o, fallback, ...)                                                               \
	config_num(r, (o), (fallback), (const char *const[]){ __VA_ARGS__, NULL })

struct sums {
	int attention, linear, dense;
	double kv_heads, width;
};

static bool is(const json_t *o, const char *name)
{
	return json_is_true(json_object_get(o, name));
}

static void infer_config_attention(struct config_reading *r, const json_t *o, struct sums *s)
{
	static const char *const other[] = { "mamba", "window_length", "sparsify", "llama4" };
	int group = BLOCKS_NUM(o, 0, "n_heads_in_group");
	int kv = BLOCKS_NUM(o, group ? r->s->heads / group : r->s->kv_heads, "num_key_value_heads");

	if (is(o, "no_op"))
		return;
	s->linear += is(o, "replace_with_linear");
	if (is(o, "replace_with_linear"))
		return;
	s->attention++;
	s->kv_heads += kv;
	for (size_t i = 0; i < sizeof(other) / sizeof(other[0]); i++)
		if (json_is_object(json_object_get(o, other[i])) ||
		    json_is_integer(json_object_get(o, other[i])))
			config_doubt(r, "block_configs has %s; ignored", other[i]);
}

/* A multiple of two thirds of the model's width, rounded up to 256. */
static double infer_config_width(struct config_reading *r, const json_t *o)
{
	const json_t *by = json_object_get(o, "ffn_mult");
	double times = json_is_number(by) ? json_number_value(by) : 0;

	if (times > 0 && times < 64)
		return ceil(floor(2 * times * r->s->hidden / 3) / 256) * 256;
	return BLOCKS_NUM(o, r->s->ffn, "intermediate_size");
}

static void feed_forward(struct config_reading *r, const json_t *o, struct sums *s)
{
	if (is(o, "no_op"))
		return;
	s->dense++;
	s->width += is(o, "replace_with_linear") ? r->s->hidden / 3.0 : infer_config_width(r, o);
	if (json_is_object(json_object_get(o, "moe")))
		config_doubt(r, "block_configs has moe; ignored");
}

static void infer_config_put(struct config_reading *r, const struct sums *s)
{
	struct arch *a = r->s;
	double kv = s->attention ? s->kv_heads / s->attention : 1;

	a->attention_layers = s->attention ? s->attention : -1;
	a->kv_heads = (int)round(kv);
	a->linear_layers = s->linear;
	a->linear_params = (double)a->hidden * a->hidden;
	a->ffn_layers = s->dense;
	a->ffn = s->dense ? (int)round(s->width / s->dense) : 0;
	if (fabs(kv - a->kv_heads) > 1e-9)
		config_doubt(r, "n_heads_in_group differs between layers; using the mean");
}

int config_blocks(struct config_reading *r, struct err *e)
{
	const json_t *list = config_get(r, "block_configs");
	struct sums s = { 0 };
	size_t i;
	json_t *v;

	if (!list)
		return 0;
	if (!json_is_array(list) || json_array_size(list) != (size_t)r->s->layers)
		return err_set(e, -EINVAL, "%.120s: block_configs has %zu of %d layers", r->s->name,
			       json_array_size(list), r->s->layers);
	json_array_foreach(list, i, v)
	{
		const json_t *heads = json_object_get(v, "attention"),
			     *dense = json_object_get(v, "ffn");

		if (!json_is_object(heads) || !json_is_object(dense))
			return err_set(e, -EINVAL,
				       "%.120s: block_configs has a layer without attention or ffn",
				       r->s->name);
		infer_config_attention(r, heads, &s);
		feed_forward(r, dense, &s);
	}
	infer_config_put(r, &s);
	return 0;
}

/* Headers of safetensors: exact bytes of a checkpoint, from its tensors' places or its index. */

#define MOST_BYTES (256u << 20)

/* Bytes between the two offsets of a tensor; negative: they make no sense. */
static double extent(const json_t *tensor)
{
	const json_t *o = json_object_get(tensor, "data_offsets");
	json_int_t from, to;

	if (json_array_size(o) != 2 || !json_is_integer(json_array_get(o, 0)) ||
	    !json_is_integer(json_array_get(o, 1)))
		return -1;
	from = json_integer_value(json_array_get(o, 0));
	to = json_integer_value(json_array_get(o, 1));
	return from >= 0 && to >= from ? (double)(to - from) : -1;
}

static int safetensors_sum(const json_t *root, double *bytes, struct err *e)
{
	const json_t *total = json_object_get(json_object_get(root, "metadata"), "total_size");
	const char *key;
	json_t *v;
	double all = 0;

	if (json_is_object(json_object_get(root, "weight_map"))) {
		if (!json_is_number(total) || json_number_value(total) <= 0)
			return err_set(e, -EINVAL, "the index has no total_size");
		*bytes += json_number_value(total);
		return 0;
	}
	json_object_foreach((json_t *)root, key, v)
	{
		double n = strcmp(key, "__metadata__") == 0 ? 0 : extent(v);

		if (n < 0)
			return err_set(e, -EINVAL, "tensor \"%.80s\": invalid offset", key);
		all += n;
	}
	*bytes += all;
	return 0;
}

int safetensors_read(const char *text, size_t len, double *bytes, struct err *e)
{
	json_error_t bad;
	json_auto_t *root = NULL;

	if (len > MOST_BYTES)
		return err_set(e, -EINVAL, "header larger than %u MiB", MOST_BYTES >> 20);
	root = json_loadb(text, len, 0, &bad);
	if (!json_is_object(root))
		return err_set(e, -EINVAL, "header is not a JSON object (line %d: %.160s)",
			       bad.line, bad.text);
	return safetensors_sum(root, bytes, e);
}
