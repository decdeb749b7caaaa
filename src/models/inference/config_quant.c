/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a config.json says of its weights' format: "quantization_config". Each program that makes
 * such files has its own words; what is not understood is said, never taken for BF16.
 */
#include <ctype.h>
#include <errno.h>
#include <jansson.h>
#include <stdint.h>
#include <string.h>

#include "base/text.h"
#include "models/inference/config.h"
#include "models/inference/config_kept.h"
#include "models/inference/config_parts.h"
#include "models/inference/config_scheme.h"

#define INT(o, fallback, ...)                                                                      \
	config_int((o), (const char *const[]){ __VA_ARGS__, NULL }, (fallback))

/* --- modules of another width --------------------------------------------------------------------
 */

/* Lists of what stays as it was; returns whether there is one. */
static bool left_alone(const json_t *q, struct kept *k)
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
				kept_add(k, json_string_value(v), 2);
				any = true;
			}
		}
	return any;
}

/* {"model.layers.3.mlp.down_proj": {"bits": 8}}; GPTQ's "dynamic" says "-:" for what is left alone
 * and then and behind "+:" writes expressions. */
static bool by_name(const json_t *names, struct kept *k, struct arena *a)
{
	const char *key, *name;
	const json_t *v;

	json_object_foreach((json_t *)(uintptr_t)names, key, v)
	{
		bool alone = str_starts(key, "-:"), sign = alone || str_starts(key, "+:");
		int bits = INT(v, 0, "bits");

		name = sign ? arena_printf(a, "re:%.250s", key + 2) : key;
		if (alone || bits >= 16)
			kept_add(k, name, 2);
		else if (bits)
			kept_add(k, name, scheme_bytes(scheme_gptq(v)));
	}
	return json_object_size(names) > 0;
}

/* Groups of compressed-tensors that are for named modules alone. */
static bool other_groups(const json_t *q, struct kept *k)
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
			kept_add(k, json_string_value(v), scheme_bytes(scheme_of_group(g)));
	}
	return any;
}

static bool quark_layers(const json_t *q, struct kept *k)
{
	const json_t *layers = json_object_get(q, "layer_quant_config"), *v;
	const char *key;

	json_object_foreach((json_t *)(uintptr_t)layers, key, v)
		kept_add(k, key, scheme_bytes(scheme_quark(v)));
	return json_object_size(layers) > 0;
}

/* "MIXED_PRECISION": each module has an algorithm of its own, and what is not named has none. */
static bool mixed(const json_t *q, struct kept *k, struct scheme *s)
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
		kept_add(k, key, scheme_bytes(one));
		if (!s->name || scheme_bytes(one) < scheme_bytes(*s))
			s->name = one.name;
	}
	return s->name != NULL;
}

/* --- the whole -----------------------------------------------------------------------------------
 */

static const char *named(struct arena *a, const json_t *q)
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
	struct kept *k;
	struct format f;

	out->quantized = true;
	k = kept_new(a, &out->arch);
	is_mixed = strcasestr(quant_text(q, "quant_algo"), "MIXED") != NULL;
	listed = left_alone(q, k);
	if (is_mixed)
		mixed(q, k, &s);
	else
		s = scheme_read(q);
	if (!s.name) {
		out->unknown = named(a, q);
		return;
	}
	named_alone = is_mixed || no_group_for_all(q);
	listed |= by_name(json_object_get(q, "dynamic"), k, a);
	listed |= by_name(json_object_get(q, "extra_config"), k, a);
	listed |= other_groups(q, k);
	listed |= quark_layers(q, k);
	f = *format_find(s.name, out->arch.experts > 0);
	out->format = f.name;
	if (!listed && !named_alone && s.bytes <= 0)
		return;
	if (listed || named_alone)
		out->kept = kept_apply(k, named_alone ? 2 : scheme_bytes(s), &f);
	else
		all_parts(&f, s.bytes);
	if (s.bytes > 0 && !named_alone)
		out->kept = arena_printf(a, "%s, %.4g bits a weight%s%s", named(a, q), 8 * s.bytes,
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

/* Files of the first AutoGPTQ and AutoAWQ do not say whose they are. */
static const char *whose(const json_t *q)
{
	if (*quant_text(q, "quant_method") || *quant_text(q, "quant_algo"))
		return NULL;
	return json_object_get(q, "w_bit") ? "awq" : json_object_get(q, "bits") ? "gptq" : NULL;
}

int config_quantization_beside(struct arena *a, const char *name, const char *text, size_t len,
			       struct model_file *out, struct err *e)
{
	json_error_t bad;
	json_t *root, *q;
	const char *method;

	root = len > CONFIG_BYTES ? NULL : config_json(a, text, len, &bad);
	if (!json_is_object(root)) {
		json_decref(root);
		return err_set(e, -EINVAL, "%.120s is no configuration of a quantization", name);
	}
	q = json_object_get(root, "quantization");
	q = json_is_object(q) ? q : root;
	method = whose(q);
	if (method)
		json_object_set_new(q, "quant_method", json_string(method));
	read_cache(q, out);
	if (!json_is_null(json_object_get(q, "quant_algo"))) { /* null: the cache alone */
		read_quantization(a, q, out);
		out->taken = arena_printf(a, "%s; weights by %.120s", out->taken, name);
	}
	json_decref(root);
	return 0;
}
