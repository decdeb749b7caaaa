/* SPDX-License-Identifier: Apache-2.0 */
/* Widths of weights in the words of each program that makes such files. */
#include <stdbool.h>
#include <ctype.h>
#include <errno.h>
#include <jansson.h>
#include <string.h>

#include "base/text.h"
#include "models/inference/config.h"
#include "models/inference/format.h"

/* A name for format_find (NULL: not understood), and bytes a parameter; 0: as that format has. */
struct scheme {
	const char *name;
	double bytes;
};

#define INT(o, fallback, ...)                                                                      \
	config_int((o), (const char *const[]){ __VA_ARGS__, NULL }, (fallback))

/* "": no text. -1: one group a row, 0: not known. */
static const char *quant_text(const json_t *o, const char *key)
{
	const char *s = json_string_value(json_object_get(o, key));

	return s ? s : "";
}

/* more: bits that a group of weights has besides; group 0: none told, -1: one a row. */
static struct scheme integers(int bits, int group, int more)
{
	static const char *const names[] = {
		[2] = "int2", [3] = "int3", [4] = "int4", [8] = "w8a16"
	};
	struct scheme s = { 0 };

	if (bits < 2 || bits > 8 || !names[bits])
		return s;
	s.name = names[bits];
	if (group)
		s.bytes = (bits + (group > 0 ? (double)more / group : 0)) / 8;
	return s;
}

static int quant_group_size(const json_t *o)
{
	const json_t *v = json_object_get(o, "group_size");

	if (!v)
		v = json_object_get(o, "q_group_size");
	return json_is_integer(v)
		       ? json_integer_value(v) < 0 ? -1 : INT(o, 0, "group_size", "q_group_size")
		       : 0;
}

/* --- by program ------------------------------------------------------------------------------- */

static struct scheme scheme_gptq(const json_t *q)
{
	int bits = INT(q, 0, "bits", "w_bit");

	return integers(bits, quant_group_size(q), 16 + bits);
}

static struct scheme awq(const json_t *q)
{
	int bits = INT(q, 4, "bits", "w_bit");
	bool zero = !json_is_false(json_object_get(q, "zero_point"));

	return integers(bits, quant_group_size(q), zero ? 16 + bits : 16);
}

static struct scheme auto_round(const json_t *q)
{
	const char *type = quant_text(q, "data_type");
	int bits = INT(q, 4, "bits");

	if (str_starts(type, "nv_fp") && bits == 4)
		return (struct scheme){ "nvfp4", 0 };
	if (str_starts(type, "mx_fp"))
		return (struct scheme){ bits == 4 ? "mxfp4" : bits == 8 ? "mxfp8" : NULL, 0 };
	if (str_starts(type, "fp") || str_starts(type, "float"))
		return (struct scheme){ bits == 8 ? "fp8" : NULL, 0 };
	return integers(bits, quant_group_size(q), 16 + bits);
}

static struct scheme fp8(const json_t *q)
{
	bool blocks = json_is_array(json_object_get(q, "weight_block_size"));

	return (struct scheme){ blocks ? "fp8-block" : "fp8", 0 };
}

static struct scheme fp_quant(const json_t *q)
{
	const char *type = quant_text(q, "forward_dtype");

	if (json_is_true(json_object_get(q, "store_master_weights")))
		return (struct scheme){ NULL, 0 };
	if (!*type || strcmp(type, "nvfp4") == 0)
		return (struct scheme){ "nvfp4", 0 };
	return (struct scheme){ strcmp(type, "mxfp4") == 0 ? "mxfp4" : NULL, 0 };
}

/* Four bits and 32 for 64 weights; where those are quantized too, 8 for 64 and 32 for 256 of them.
 */
static struct scheme bitsandbytes(const json_t *q)
{
	bool four = json_is_true(json_object_get(q, "load_in_4bit")) ||
		    json_is_true(json_object_get(q, "_load_in_4bit"));
	bool eight = json_is_true(json_object_get(q, "load_in_8bit")) ||
		     json_is_true(json_object_get(q, "_load_in_8bit"));
	bool twice = json_is_true(json_object_get(q, "bnb_4bit_use_double_quant"));

	if (four)
		return (struct scheme){
			"int4", (4 + (twice ? 8.0 / 64 + 32.0 / 64 / 256 : 32.0 / 64)) / 8
		};
	return (struct scheme){ eight ? "w8a16" : NULL, eight };
}

static struct scheme hqq(const json_t *q)
{
	const json_t *w =
		json_object_get(json_object_get(q, "quant_config"), "weight_quant_params");

	return integers(INT(w, 0, "nbits"), quant_group_size(w), 32);
}

static struct scheme aqlm(const json_t *q)
{
	double bits = INT(q, 1, "num_codebooks") * (double)INT(q, 16, "nbits_per_codebook") /
		      (INT(q, 8, "in_group_size") * (double)INT(q, 1, "out_group_size"));

	return bits >= 1 && bits <= 8 ? (struct scheme){ bits < 3 ? "int2" : "int4", bits / 8 }
				      : (struct scheme){ NULL, 0 };
}

static struct scheme quanto(const json_t *q)
{
	const char *w = quant_text(q, "weights");

	if (!*w || strcmp(w, "int8") == 0 || strcmp(w, "float8") == 0)
		return (struct scheme){ "w8a16", 1 };
	return integers(strcmp(w, "int4") == 0 ? 4 : strcmp(w, "int2") == 0 ? 2 : 0, 128, 32);
}

static struct scheme higgs(const json_t *q)
{
	return integers(INT(q, 4, "bits"), INT(q, 256, "group_size"), 16);
}

static struct scheme bitnet(const json_t *q)
{
	bool packed = strcmp(quant_text(q, "quantization_mode"), "online") != 0;

	return (struct scheme){ packed ? "int2" : NULL, 0.25 };
}

/* "int4_weight_only", or what a configuration class wrote of itself. */
static struct scheme torchao(const json_t *q)
{
	static const char *const names[][2] = {
		{ "int8dynamicactivationint4", "w4a8" },
		{ "int8dynamicactivationint8", "int8" },
		{ "int8dynactint4", "w4a8" },
		{ "int4weight", "int4" },
		{ "int8weight", "w8a16" },
		{ "float8weight", "w8a16" },
		{ "float8dynamicactivationint4", "w4a8" },
		{ "float8dynamic", "fp8" },
		{ "float8static", "fp8" },
	};
	const json_t *type = json_object_get(q, "quant_type"), *of = type;
	const json_t *own = json_object_get(of, "default");
	const char *s = json_is_string(type) ? json_string_value(type) : quant_text(own, "_type");
	const json_t *more = json_is_string(type) ? json_object_get(q, "quant_type_kwargs")
						  : json_object_get(own, "_data");
	char key[64];
	size_t n = 0;

	for (; *s && n + 1 < sizeof(key); s++)
		if (isalnum((unsigned char)*s))
			key[n++] = (char)tolower((unsigned char)*s);
	key[n] = '\0';
	if (json_is_object(type) && json_object_size(type) > 1)
		return (struct scheme){ NULL, 0 };
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (str_starts(key, names[i][0])) {
			struct scheme r = { names[i][1], 0 };

			if (strcmp(r.name, "int4") == 0)
				r = integers(4,
					     quant_group_size(more) ? quant_group_size(more) : 128,
					     32);
			if (strcmp(r.name, "w8a16") == 0)
				r.bytes = 1;
			return r;
		}
	return (struct scheme){ NULL, 0 };
}

static struct scheme scheme_quark(const json_t *layer)
{
	const json_t *w = json_object_get(layer, "weight");
	const json_t *in = json_object_get(layer, "input_tensors");
	bool alone = !in || json_is_null(in);
	const char *type;

	if (json_is_array(w))
		return (struct scheme){ NULL, 0 }; /* in two steps */
	type = quant_text(w, "dtype");
	if (str_starts(type, "fp8"))
		return (struct scheme){ alone ? "w8a16" : "fp8", 1 };
	if (strcmp(type, "int8") == 0)
		return (struct scheme){ alone ? "w8a16" : "int8", 1 };
	if (strcmp(type, "mxfp4") == 0 ||
	    (strcmp(type, "fp4") == 0 && INT(w, 0, "group_size") == 32))
		return (struct scheme){ "mxfp4", 0 };
	if (strcmp(type, "int4") == 0 || strcmp(type, "uint4") == 0) {
		struct scheme s = integers(4, quant_group_size(w), 20);

		s.name = alone ? s.name : "w4a8";
		return s;
	}
	return (struct scheme){ NULL, 0 };
}

static struct scheme quark(const json_t *q)
{
	return scheme_quark(json_object_get(q, "global_quant_config"));
}

/* --- Model Optimizer, compressed-tensors ------------------------------------------------------ */

/* "W4A16_AWQ", "NVFP4": the first row that is in it. */
static struct scheme scheme_algorithm(const char *name, int group)
{
	static const char *const rows[][2] = {
		{ "NVFP4", "nvfp4" },	   { "MXFP4", "mxfp4" },	 { "MXFP8", "mxfp8" },
		{ "FP8_PB", "fp8-block" }, { "FP8_BLOCK", "fp8-block" }, { "W4A8", "w4a8" },
		{ "W8A8", "int8" },	   { "W8A16", "w8a16" },	 { "W4A16", "int4" },
		{ "INT4", "int4" },	   { "INT8", "int8" },		 { "FP8", "fp8" },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		if (strcasestr(name, rows[i][0])) {
			struct scheme s = { rows[i][1], 0 };

			if (group > 0 && strstr(name, "W4") && !strstr(name, "FP4"))
				s.bytes = (4 + 16.0 / group) / 8;
			return s;
		}
	return (struct scheme){ NULL, 0 };
}

/* One group of compressed-tensors: weights, and whether what they are multiplied by is as small. */
static struct scheme scheme_of_group(const json_t *g)
{
	const json_t *w = json_object_get(g, "weights"),
		     *in = json_object_get(g, "input_activations");
	bool whole = json_is_object(in) && INT(in, 16, "num_bits") <= 8;
	int bits = INT(w, 0, "num_bits"), group = quant_group_size(w);
	const char *type = quant_text(w, "type");
	struct scheme s = { NULL, 0 };

	if (strcmp(type, "float") == 0) {
		if (bits == 8)
			s.name = group == 32					   ? "mxfp8"
				 : strcmp(quant_text(w, "strategy"), "block") == 0 ? "fp8-block"
				 : in && !whole && json_is_null(in)		   ? "w8a16"
										   : "fp8";
		if (bits == 4)
			s.name = group == 32 ? "mxfp4" : "nvfp4";
		if (s.name && strcmp(s.name, "w8a16") == 0)
			s.bytes = 1;
		return s;
	}
	if (strcmp(type, "int") != 0)
		return s;
	s = integers(bits, group ? group : -1,
		     json_is_false(json_object_get(w, "symmetric")) ? 16 + bits : 16);
	if (whole && s.name)
		s.name = bits == 8 ? "int8" : bits == 4 ? "w4a8" : NULL;
	return s;
}

/* Whether a group is for all modules; whether there are groups and none is. */
static bool group_for_all(const json_t *g)
{
	const json_t *targets = json_object_get(g, "targets"), *v;
	size_t i;

	json_array_foreach(targets, i, v)
	{
		const char *s = json_string_value(v);

		if (s && (strcmp(s, "Linear") == 0 || strcmp(s, "FusedMoE") == 0))
			return true;
	}
	return !json_array_size(targets);
}

/* Whether what no group names is left as it was. */
static bool no_group_for_all(const json_t *q)
{
	const json_t *groups = json_object_get(q, "config_groups"), *g;
	const char *key;

	json_object_foreach((json_t *)(uintptr_t)groups, key, g) if (group_for_all(g)) return false;
	return json_object_size(groups) > 0;
}

static struct scheme config_scheme_compressed(const json_t *q)
{
	const json_t *groups = json_object_get(q, "config_groups"), *g;
	struct scheme s = { NULL, 0 };
	const char *key;

	if (strcmp(quant_text(q, "format"), "dense") == 0 ||
	    strstr(quant_text(q, "format"), "marlin-24") ||
	    (*quant_text(json_object_get(q, "sparsity_config"), "format") &&
	     strcmp(quant_text(json_object_get(q, "sparsity_config"), "format"), "dense") != 0))
		return s;
	json_object_foreach((json_t *)(uintptr_t)groups, key, g)
	{
		struct scheme one = scheme_of_group(g);

		if (!one.name)
			return one;
		if (!s.name || group_for_all(g))
			s = one;
	}
	return s;
}

static const struct {
	const char *method;
	struct scheme (*read)(const json_t *q); /* NULL: always the same one */
	struct scheme fixed;
} methods[] = {
	{ "gptq", scheme_gptq, { NULL, 0 } },
	{ "gptq_marlin", scheme_gptq, { NULL, 0 } },
	{ "awq", awq, { NULL, 0 } },
	{ "awq_marlin", awq, { NULL, 0 } },
	{ "auto-round", auto_round, { NULL, 0 } },
	{ "auto_round", auto_round, { NULL, 0 } },
	{ "autoround", auto_round, { NULL, 0 } },
	{ "intel/auto-round", auto_round, { NULL, 0 } },
	{ "fp8", fp8, { NULL, 0 } },
	{ "fbgemm_fp8", NULL, { "fp8", 0 } },
	{ "ptpc_fp8", NULL, { "fp8", 0 } },
	{ "w8a8_fp8", NULL, { "fp8", 0 } },
	{ "w8a8_int8", NULL, { "int8", 0 } },
	{ "blockwise_int8", NULL, { "int8", 0 } },
	{ "mxfp4", NULL, { "mxfp4", 0 } },
	{ "fp_quant", fp_quant, { NULL, 0 } },
	{ "bitsandbytes", bitsandbytes, { NULL, 0 } },
	{ "hqq", hqq, { NULL, 0 } },
	{ "aqlm", aqlm, { NULL, 0 } },
	{ "eetq", NULL, { "w8a16", 1 } },
	{ "quanto", quanto, { NULL, 0 } },
	{ "higgs", higgs, { NULL, 0 } },
	{ "bitnet", bitnet, { NULL, 0 } },
	{ "torchao", torchao, { NULL, 0 } },
	{ "quark", quark, { NULL, 0 } },
	{ "compressed-tensors", config_scheme_compressed, { NULL, 0 } },
	{ "compressed_tensors", config_scheme_compressed, { NULL, 0 } },
};

/* Of the whole model. */
static struct scheme scheme_read(const json_t *q)
{
	const char *method = quant_text(q, "quant_method"), *algo = quant_text(q, "quant_algo");

	if (*algo)
		return scheme_algorithm(algo, quant_group_size(q));
	for (size_t i = 0; i < sizeof(methods) / sizeof(methods[0]); i++)
		if (strcasecmp(method, methods[i].method) == 0)
			return methods[i].read ? methods[i].read(q) : methods[i].fixed;
	if (!*method && json_object_get(q, "config_groups"))
		return config_scheme_compressed(q);
	if (!*method)
		return bitsandbytes(q);
	return (struct scheme){ NULL, 0 };
}

static double scheme_bytes(struct scheme s)
{
	const struct format *f = s.name ? format_find(s.name, true) : NULL;

	return s.bytes > 0 ? s.bytes : f ? f->experts : 2;
}

/*
 * What a config.json says of its weights' format: "quantization_config". Each program that makes
 * such files has its own words; what is not understood is said, never taken for BF16.
 */

/* --- modules of another width ----------------------------------------------------------------- */

/* Lists of what stays as it was; returns whether there is one. */
static bool config_scheme_left_alone(const json_t *q, struct stored_sizes *k)
{
	static const char *const lists[] = { "ignore",
					     "exclude_modules",
					     "modules_to_not_convert",
					     "ignored_layers",
					     "skip_modules",
					     "llm_int8_skip_modules",
					     "exclude",
					     "linear_weights_not_to_quantize" };
	bool any = false;
	const json_t *v;
	size_t at;

	for (size_t i = 0; i < sizeof(lists) / sizeof(lists[0]); i++)
		json_array_foreach(json_object_get(q, lists[i]), at, v)
		{
			if (json_is_string(v)) {
				stored_sizes_add(k, json_string_value(v), 2);
				any = true;
			}
		}
	return any;
}

/* {"model.layers.3.mlp.down_proj": {"bits": 8}}; GPTQ's "dynamic" says "-:" for what is left alone
 * and then and behind "+:" writes expressions. */
static bool config_scheme_by_name(const json_t *names, struct stored_sizes *k, struct arena *a)
{
	const char *key, *name;
	const json_t *v;

	json_object_foreach((json_t *)(uintptr_t)names, key, v)
	{
		bool alone = str_starts(key, "-:"), sign = alone || str_starts(key, "+:");
		int bits = INT(v, 0, "bits");

		name = sign ? arena_printf(a, "re:%.250s", key + 2) : key;
		if (alone || bits >= 16)
			stored_sizes_add(k, name, 2);
		else if (bits)
			stored_sizes_add(k, name, scheme_bytes(scheme_gptq(v)));
	}
	return json_object_size(names) > 0;
}

/* Groups of compressed-tensors that are for named modules alone. */
static bool other_groups(const json_t *q, struct stored_sizes *k)
{
	const json_t *g, *v;
	const char *key;
	bool any = false;
	size_t i;

	json_object_foreach(json_object_get(q, "config_groups"), key, g)
	{
		if (group_for_all(g))
			continue;
		any = true;
		json_array_foreach(json_object_get(g, "targets"), i, v) if (json_is_string(v))
			stored_sizes_add(k, json_string_value(v), scheme_bytes(scheme_of_group(g)));
	}
	return any;
}

static bool quark_layers(const json_t *q, struct stored_sizes *k)
{
	const json_t *layers = json_object_get(q, "layer_quant_config"), *v;
	const char *key;

	json_object_foreach((json_t *)(uintptr_t)layers, key, v)
		stored_sizes_add(k, key, scheme_bytes(scheme_quark(v)));
	return json_object_size(layers) > 0;
}

/* "MIXED_PRECISION": each module has an algorithm of its own, and what is not named has none. */
static bool config_scheme_mixed(const json_t *q, struct stored_sizes *k, struct scheme *s)
{
	const json_t *layers = json_object_get(q, "quantized_layers"), *v;
	const char *key;

	json_object_foreach((json_t *)(uintptr_t)layers, key, v)
	{
		struct scheme one =
			scheme_algorithm(quant_text(v, "quant_algo"), quant_group_size(v));

		if (!one.name) {
			s->name = NULL;
			return false;
		}
		stored_sizes_add(k, key, scheme_bytes(one));
		if (!s->name || scheme_bytes(one) < scheme_bytes(*s))
			s->name = one.name;
	}
	return s->name != NULL;
}

/* --- the whole -------------------------------------------------------------------------------- */

static const char *config_scheme_named(struct arena *a, const json_t *q)
{
	const char *method = quant_text(q, "quant_method"), *algo = quant_text(q, "quant_algo");
	char *s = arena_printf(a, "%.40s%s%.40s", *method ? method : "no quant_method",
			       *algo ? " " : "", algo);

	for (char *p = s; *p; p++)
		if (!isprint((unsigned char)*p))
			*p = '?';
	return s;
}

/* Parts that a format leaves in BF16 stay there. */
static void all_parts(struct format *f, double bytes)
{
	double *parts[] = { &f->experts, &f->dense, &f->shared, &f->attention, &f->linear };

	for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++)
		if (*parts[i] < 2)
			*parts[i] = bytes;
}

/*
 * A checkpoint with scales for keys and values: Model Optimizer has an algorithm's name, compressed
 * tensors a scheme. Engines keep the cache so unless they are told otherwise.
 */
static void read_cache(const json_t *q, struct model_file *out)
{
	static const char *const known[] = { "nvfp4", "fp8" };
	const json_t *scheme = json_object_get(q, "kv_cache_scheme");
	const char *algo = quant_text(q, "kv_cache_quant_algo"), *type = quant_text(scheme, "type");

	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]) && !out->cache; i++)
		if (strcasecmp(algo, known[i]) == 0)
			out->cache = known[i];
	if (out->cache || json_integer_value(json_object_get(scheme, "num_bits")) != 8 ||
	    strcasecmp(type, "float") != 0)
		return;
	out->cache = "fp8";
	out->cache_scheme = strncmp(quant_text(q, "quant_method"), "modelopt", 8) != 0;
}

/* out has the shape already; quantized becomes true. */
static void read_quantization(struct arena *a, const json_t *q, struct model_file *out)
{
	bool is_mixed, listed, named_alone;
	struct scheme s = { 0 };
	struct stored_sizes *k;
	struct format f;

	out->quantized = true;
	k = stored_sizes_new(a, &out->arch);
	is_mixed = strcasestr(quant_text(q, "quant_algo"), "MIXED") != NULL;
	listed = config_scheme_left_alone(q, k);
	if (is_mixed)
		config_scheme_mixed(q, k, &s);
	else
		s = scheme_read(q);
	if (!s.name) {
		out->unknown = config_scheme_named(a, q);
		return;
	}
	named_alone = is_mixed || no_group_for_all(q);
	listed |= config_scheme_by_name(json_object_get(q, "dynamic"), k, a);
	listed |= config_scheme_by_name(json_object_get(q, "extra_config"), k, a);
	listed |= other_groups(q, k);
	listed |= quark_layers(q, k);
	f = *format_find(s.name, out->arch.experts > 0);
	out->format = f.name;
	if (!listed && !named_alone && s.bytes <= 0)
		return;
	if (listed || named_alone)
		out->kept = stored_sizes_apply(k, named_alone ? 2 : scheme_bytes(s), &f);
	else
		all_parts(&f, s.bytes);
	if (s.bytes > 0 && !named_alone)
		out->kept = arena_printf(a, "%s, %.4g bits per weight%s%s",
					 config_scheme_named(a, q), 8 * s.bytes,
					 out->kept ? "; " : "", out->kept ? out->kept : "");
	f.note = out->kept;
	out->exact = f;
}

void config_quantization(struct arena *a, const json_t *root, const json_t *c,
			 struct model_file *out)
{
	const json_t *q = json_object_get(root, "quantization_config");

	if (!json_is_object(q))
		q = json_object_get(c, "quantization_config");
	if (!json_is_object(q))
		q = json_object_get(root, "compression_config"); /* of the first releases */
	if (!json_is_object(q))
		return;
	read_cache(q, out);
	read_quantization(a, q, out);
}

int config_quantization_beside(struct arena *a, const char *name, const char *text, size_t len,
			       struct model_file *out, struct err *e)
{
	json_error_t bad;
	json_auto_t *root = NULL;
	json_t *q;
	const char *method;

	root = len > CONFIG_BYTES ? NULL : config_json(a, text, len, &bad);
	if (!json_is_object(root))
		return err_set(e, -EINVAL, "%.120s: not a quantization configuration", name);
	q = json_object_get(root, "quantization");
	q = json_is_object(q) ? q : root;
	/* Files of the first AutoGPTQ and AutoAWQ do not say whose they are. */
	method = json_object_get(q, "w_bit") ? "awq" : json_object_get(q, "bits") ? "gptq" : NULL;
	if (method && !*quant_text(q, "quant_method") && !*quant_text(q, "quant_algo"))
		json_object_set_new(q, "quant_method", json_string(method));
	read_cache(q, out);
	if (!json_is_null(json_object_get(q, "quant_algo"))) { /* null: the cache alone */
		read_quantization(a, q, out);
		out->taken = arena_printf(a, "%s; weight format from %.120s", out->taken, name);
	}
	return 0;
}
