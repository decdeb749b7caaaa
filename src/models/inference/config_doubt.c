/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Looking up members of a config.json, and keeping what was not understood: a figure that is
 * silently the wrong one is worse than none.
 */
#include <ctype.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "models/inference/config.h"

void config_doubt(struct config_reading *r, const char *fmt, ...)
{
	char text[256];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	for (size_t i = 0; i < r->n_doubts; i++)
		if (strcmp(r->doubts[i], text) == 0)
			return;
	if (r->n_doubts < CONFIG_DOUBTS)
		r->doubts[r->n_doubts++] = arena_strdup(r->a, text);
	else
		r->n_more++;
}

const char *config_doubts(struct config_reading *r)
{
	const char *all = NULL;

	for (size_t i = 0; i < r->n_doubts; i++)
		all = all ? arena_printf(r->a, "%s; %s", all, r->doubts[i]) : r->doubts[i];
	return r->n_more ? arena_printf(r->a, "%s; and %zu more", all, r->n_more) : all;
}

static bool seen(const struct config_reading *r, const char *name)
{
	for (size_t i = 0; i < r->n_seen; i++)
		if (strcmp(r->seen[i], name) == 0)
			return true;
	return false;
}

static const json_t *member(struct config_reading *r, const json_t *o, const char *name)
{
	const json_t *v = json_object_get(o, name);

	if (v && r->n_seen < CONFIG_SEEN && !seen(r, name))
		r->seen[r->n_seen++] = name;
	return json_is_null(v) ? NULL : v;
}

const json_t *config_get(struct config_reading *r, const char *name)
{
	return member(r, r->c, name);
}

bool config_absent(const struct config_reading *r, const char *name)
{
	return !json_object_get(r->c, name);
}

bool config_true(struct config_reading *r, const char *name)
{
	return json_is_true(config_get(r, name));
}

bool config_false(struct config_reading *r, const char *name)
{
	return json_is_false(config_get(r, name));
}

/* -1: no whole number from 0 to 2^24. */
static double whole(const json_t *v)
{
	double x = json_is_number(v) ? json_number_value(v) : -1;

	return x >= 0 && x < 1 << 24 && floor(x) == x ? x : -1;
}

/* A list with a figure for each layer; 0: it is no such list. */
static int mean(struct config_reading *r, const char *name, const json_t *list)
{
	double sum = 0, first = whole(json_array_get(list, 0));
	bool same = true;
	size_t i;
	json_t *v;

	json_array_foreach(list, i, v)
	{
		if (whole(v) < 0) {
			config_doubt(r, "%s is not a list of integers; ignored", name);
			return 0;
		}
		sum += whole(v);
		same = same && whole(v) == first;
	}
	if (!json_array_size(list))
		return 0;
	sum = round(sum / (double)json_array_size(list));
	if (!same)
		config_doubt(r, "%s differs between layers; using the mean, %.0f", name, sum);
	return (int)sum;
}

static int config_doubt_figure(struct config_reading *r, const char *name, const json_t *v)
{
	const char *s = json_string_value(v);

	if (!v || json_is_false(v) || (s && strcmp(s, "auto") == 0))
		return 0;
	if (json_is_array(v))
		return mean(r, name, v);
	if (whole(v) < 0)
		config_doubt(r, "%s is not an integer; ignored", name);
	return whole(v) < 0 ? 0 : (int)whole(v);
}

int config_num(struct config_reading *r, const json_t *o, int fallback, const char *const *names)
{
	for (; *names; names++) {
		int n = config_doubt_figure(r, *names, member(r, o, *names));

		if (n > 0)
			return n;
	}
	return fallback;
}

int config_count(const json_t *list, const char *word)
{
	int n = 0;
	size_t i;
	json_t *v;

	if (!json_is_array(list))
		return -1;
	json_array_foreach(list, i, v)
	{
		if (word)
			n += json_is_string(v) && strstr(json_string_value(v), word);
		else
			n += json_is_true(v) || whole(v) > 0;
	}
	return n;
}

/* Whether a member can change how many parameters there are or what the cache holds. */
static bool weighs(const char *name, const json_t *v)
{
	static const char *const words[] = { "expert", "moe",	  "mamba",   "ssm",    "linear_",
					     "attn_",  "hybrid",  "layer_t", "block_", "pattern",
					     "sparse", "lora",	  "latent",  "recurr", "delta",
					     "ffn_",   "shared_", "share_",  NULL };
	static const char *const idle[] = { "loss", "coef",  "norm",   "bias",	 "drop", "scal",
					    "eps",  "dtype", "factor", "router", NULL };

	if (!has_word(name, words) || has_word(name, idle))
		return false;
	return json_is_object(v) || json_array_size(v) || json_integer_value(v) > 1 ||
	       (json_is_string(v) && strstr(name, "pattern"));
}

/* A name that somebody else chose, fit for a line. */
static const char *clean(char *to, size_t size, const char *name)
{
	snprintf(to, size, "%s", name);
	for (char *s = to; *s; s++)
		if (!isalnum((unsigned char)*s) && !strchr("_-.", *s))
			*s = '?';
	return to;
}

void config_unknown(struct config_reading *r)
{
	char text[64];

	if (!r->known && *r->type)
		config_doubt(r, "unknown model_type %s; assuming a plain decoder",
			     clean(text, sizeof(text), r->type));
}

void config_unread(struct config_reading *r)
{
	const char *name;
	char text[64];
	json_t *v;

	if (r->known)
		return;
	json_object_foreach((json_t *)r->c, name, v)
	{
		if (weighs(name, v) && !seen(r, name))
			config_doubt(r, "%s is ignored", clean(text, sizeof(text), name));
	}
}

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

bool config_is(const struct config_reading *r, unsigned flag)
{
	return r->known && (r->known->flags & flag);
}

bool config_type_is(const struct config_reading *r, const char *name)
{
	return strcmp(r->type, name) == 0;
}
