/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A config.json as published on Hugging Face. Makers name the same thing differently; the nested
 * "text_config" of a model that also sees is the language model.
 */
#include "models/inference/config.h"

#include <errno.h>
#include <jansson.h>
#include <math.h>
#include <string.h>

#include "models/inference/config_parts.h"

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

/* What is told at all, each by the name that most files give it. */
static int told(const struct arch *a, struct err *e)
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
				       "%.120s does not give layers, widths, heads and vocabulary: "
				       "%s is missing, or not sensible",
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
		return err_set(e, -EINVAL, "%.120s: its heads do not make sense", a->name);
	if (a->experts &&
	    (a->experts > 65536 || a->top < 1 || a->top > a->experts || a->expert_ffn < 1))
		return err_set(e, -EINVAL, "%.120s: its experts do not make sense", a->name);
	if (too_many(a))
		return err_set(e, -EINVAL, "%.120s has more kinds of layers than layers", a->name);
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
		config_doubt(r, "tie_word_embeddings is not told, false is counted");
	return config_is(r, TYPE_TIED);
}

static void sizes(struct config_reading *r)
{
	struct arch *s = r->s;
	int vocab = INT(r->root, r->known ? r->known->vocab : 0, "vocab_size");

	s->layers = NUM(r->c, 0, "num_hidden_layers", "n_layer", "num_layers", "n_layers");
	s->trained = trained(r->c);
	s->hidden = NUM(r->c, 0, "hidden_size", "n_embd", "n_embed", "d_model");
	s->vocab = NUM(r->c, vocab, "vocab_size", "padded_vocab_size");
}

static const char *type_of(const json_t *root, const json_t *c)
{
	const char *type = json_string_value(json_object_get(c, "model_type"));

	return type ? type : json_string_value(json_object_get(root, "model_type"));
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
static const char *taken(struct config_reading *r, const char *other)
{
	const char *doubts;

	config_unread(r);
	doubts = config_doubts(r);
	r->s->guessed = doubts != NULL;
	return arena_printf(r->a, "%s (%s), by its config.json%s%s%s%s", r->s->name,
			    *r->type ? r->type : "no model_type",
			    other ? "; its parameters are without those of " : "",
			    other ? other : "", doubts ? "; in doubt: " : "", doubts ? doubts : "");
}

static int read_object(struct arena *a, const char *name, const json_t *root,
		       struct model_file *out, struct err *e)
{
	const json_t *c = language_part(root);
	const char *type = type_of(root, c);
	struct config_reading r = {
		.a = a, .root = root, .c = c, .type = type ? type : "", .s = &out->arch
	};
	int bad;

	r.known = config_type(r.type);
	r.s->name = arena_strdup(a, name);
	r.s->source = "its config.json";
	config_unknown(&r);
	sizes(&r);
	r.s->tied = tied(&r);
	config_attention(&r);
	if ((bad = told(r.s, e)) < 0)
		return bad;
	config_feed_forward(&r);
	config_layers(&r);
	if ((bad = config_blocks(&r, e)) < 0 || (bad = checked(r.s, e)) < 0)
		return bad;
	config_quantization(a, root, c, out);
	out->besides = besides(root) != NULL;
	out->taken = taken(&r, besides(root));
	return 0;
}

/* A word of Python's outside of texts becomes a number of JSON. */
static void number_of_python(char *s, const char *end)
{
	static const char *const words[] = { "Infinity", "NaN" };

	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
		size_t n = strlen(words[i]);

		if ((size_t)(end - s) < n || memcmp(s, words[i], n) != 0)
			continue;
		memset(s, ' ', n);
		*s = '0';
	}
}

json_t *config_json(struct arena *a, const char *text, size_t len, json_error_t *bad)
{
	char *copy = arena_alloc(a, len + 1), *end = copy + len;
	bool quoted = false;

	memcpy(copy, text, len);
	for (char *s = copy; s < end; s++)
		if (quoted && *s == '\\')
			s++;
		else if (*s == '"')
			quoted = !quoted;
		else if (!quoted)
			number_of_python(s, end);
	return json_loadb(copy, len, JSON_REJECT_DUPLICATES, bad);
}

int config_read(struct arena *a, const char *name, const char *text, size_t len,
		struct model_file *out, struct err *e)
{
	json_error_t bad;
	json_t *root;
	struct model_file f = { 0 };
	int r;

	if (len > CONFIG_BYTES)
		return err_set(e, -EINVAL, "%.120s is too long for a model's configuration", name);
	root = config_json(a, text, len, &bad);
	if (!root)
		return err_set(e, -EINVAL, "%.120s, line %d: %.160s", name, bad.line, bad.text);
	r = json_is_object(root) ? read_object(a, name, root, &f, e)
				 : err_set(e, -EINVAL, "%.120s is no JSON object", name);
	json_decref(root);
	if (r == 0)
		*out = f;
	return r;
}
