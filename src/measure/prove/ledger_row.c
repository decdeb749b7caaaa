/* SPDX-License-Identifier: Apache-2.0 */
/* One verdict as a line of JSON and back. What is read was written by anybody. */
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/stamp.h"
#include "base/text.h"
#include "base/utf8.h"
#include "measure/prove/ledger.h"

enum { PAIRS_MAX = 1000000 };
/* No setting makes a machine a million times faster; such a row is a mistake. */
#define RATIO_MAX 1e6

/* The texts of a row, so that writing, reading and checking cannot forget one. */
struct text_key {
	const char *key;
	size_t at;
	bool may_lack;
};
static const struct text_key texts[] = {
	{ "setting", offsetof(struct ledger_row, setting), false },
	{ "target", offsetof(struct ledger_row, target), false },
	{ "before", offsetof(struct ledger_row, before), true },
	{ "after", offsetof(struct ledger_row, after), true },
	{ "bench", offsetof(struct ledger_row, bench), true },
	{ "command", offsetof(struct ledger_row, command), true },
	{ "figure", offsetof(struct ledger_row, figure), false },
	{ "unit", offsetof(struct ledger_row, unit), true },
	{ "machine", offsetof(struct ledger_row, where.machine), false },
	{ "name", offsetof(struct ledger_row, where.name), false },
	{ "kernel", offsetof(struct ledger_row, where.kernel), false },
	{ "driver", offsetof(struct ledger_row, where.driver), false },
	{ "firmware", offsetof(struct ledger_row, where.firmware), false },
	{ "hardware", offsetof(struct ledger_row, where.hardware), false },
	{ "tool_version", offsetof(struct ledger_row, version), false },
};
enum { TEXTS = sizeof(texts) / sizeof(texts[0]) };

static const char **text_at(struct ledger_row *row, const struct text_key *t)
{
	return (const char **)((char *)row + t->at);
}

static const char *text_of(const struct ledger_row *row, const struct text_key *t)
{
	return *(const char *const *)((const char *)row + t->at);
}

static bool is_setting(const char *id)
{
	size_t n = strspn(id, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.+:_-"
			      "@/");

	return n && !id[n];
}

/* NULL: it is sound. */
static const char *unsound(const struct ledger_row *r)
{
	for (size_t i = 0; i < TEXTS; i++) {
		const char *text = text_of(r, &texts[i]);

		if (!text && !texts[i].may_lack)
			return "a text is missing";
		if (text && strlen(text) > LEDGER_TEXT_MAX)
			return "a text is too long";
	}
	if (!is_setting(r->setting))
		return "the setting is no id";
	if (!*r->where.machine)
		return "it does not say which machine it is of";
	if (!r->bench == !r->command)
		return "it has to name either a bench or a command";
	if (r->verdict <= RULING_GO_ON || r->verdict > RULING_UNDECIDED)
		return "it has no verdict";
	if (!(r->ratio > 0 && r->ratio < RATIO_MAX) || !(r->low >= 0 && r->low <= r->ratio) ||
	    !(r->high >= r->ratio))
		return "the effect makes no sense";
	if (!(r->min_effect >= 0 && r->min_effect < RATIO_MAX))
		return "what matters makes no sense";
	if (r->pairs > PAIRS_MAX)
		return "there are too many pairs";
	return NULL;
}

int ledger_row_check(const struct ledger_row *row, struct err *e)
{
	const char *why = unsound(row);
	char stamp[STAMP_SIZE];

	if (!why && stamp_format(row->time_s, stamp))
		why = "the time makes no sense";
	return why ? err_set(e, -EINVAL, "%s", why) : 0;
}

static void put_text(json_t *j, const char *key, const char *text)
{
	struct arena a = { 0 };

	json_object_set_new(j, key, text ? json_string(utf8_clean(&a, text)) : json_null());
	arena_free(&a);
}

json_t *ledger_row_json(const struct ledger_row *r)
{
	json_t *j = json_object();
	char stamp[STAMP_SIZE] = "", seed[24];

	stamp_format(r->time_s, stamp);
	/* 64 bits are more than a number in JSON is sure to keep. */
	snprintf(seed, sizeof(seed), "%016" PRIx64, r->seed);
	json_object_set_new(j, "schema", json_string(LEDGER_SCHEMA));
	json_object_set_new(j, "time", json_string(stamp));
	for (size_t i = 0; i < TEXTS; i++)
		put_text(j, texts[i].key, text_of(r, &texts[i]));
	json_object_set_new(j, "verdict", json_string(ruling_name(r->verdict)));
	json_object_set_new(j, "ratio", json_real(r->ratio));
	json_object_set_new(j, "low", r->low > 0 ? json_real(r->low) : json_null());
	json_object_set_new(j, "high", isfinite(r->high) ? json_real(r->high) : json_null());
	json_object_set_new(j, "min_effect", json_real(r->min_effect));
	json_object_set_new(j, "pairs", json_integer((json_int_t)r->pairs));
	json_object_set_new(j, "seed", json_string(seed));
	json_object_set_new(j, "kept", json_boolean(r->kept));
	return j;
}

static double number_or(const json_t *j, const char *key, double missing)
{
	const json_t *v = json_object_get(j, key);

	return json_is_number(v) ? json_number_value(v) : missing;
}

static enum ruling_kind verdict_of(const char *name)
{
	for (int k = RULING_HELPS; name && k <= RULING_UNDECIDED; k++)
		if (strcmp(name, ruling_name((enum ruling_kind)k)) == 0)
			return (enum ruling_kind)k;
	return RULING_GO_ON;
}

static int read_numbers(const json_t *j, struct ledger_row *r, struct err *e)
{
	const char *time = json_string_value(json_object_get(j, "time")),
		   *seed = json_string_value(json_object_get(j, "seed"));
	double pairs = number_or(j, "pairs", -1);
	unsigned long long bits = 0;

	if (!time || stamp_parse(time, &r->time_s))
		return err_set(e, -EINVAL, "it has no time");
	if (seed && (strlen(seed) > 16 || parse_hex(seed, &bits)))
		return err_set(e, -EINVAL, "the seed is none");
	if (!(pairs >= 0 && pairs <= PAIRS_MAX))
		return err_set(e, -EINVAL, "the number of pairs makes no sense");
	r->seed = bits;
	r->pairs = (size_t)pairs;
	r->ratio = number_or(j, "ratio", 0);
	r->low = number_or(j, "low", 0);
	r->high = number_or(j, "high", (double)INFINITY);
	r->min_effect = number_or(j, "min_effect", -1);
	r->kept = json_is_true(json_object_get(j, "kept"));
	r->verdict = verdict_of(json_string_value(json_object_get(j, "verdict")));
	return 0;
}

static int read_row(struct arena *a, const json_t *j, struct ledger_row *r, struct err *e)
{
	const char *schema = json_string_value(json_object_get(j, "schema"));
	int code;

	if (!schema || strcmp(schema, LEDGER_SCHEMA) != 0)
		return err_set(e, -EINVAL, "it is no row of a ledger");
	code = read_numbers(j, r, e);
	if (code)
		return code;
	for (size_t i = 0; i < TEXTS; i++) {
		const char *text = json_string_value(json_object_get(j, texts[i].key));

		if (text)
			*text_at(r, &texts[i]) = arena_strdup(a, text);
	}
	return ledger_row_check(r, e);
}

int ledger_row_parse(struct arena *a, const char *line, size_t len, struct ledger_row *out,
		     struct err *e)
{
	struct ledger_row row = { 0 };
	json_error_t why;
	json_t *j;
	int code;

	if (len > LEDGER_LINE_MAX)
		return err_set(e, -EINVAL, "it is longer than %d bytes", LEDGER_LINE_MAX);
	j = json_loadb(line, len, JSON_REJECT_DUPLICATES, &why);
	if (!j)
		return err_set(e, -EINVAL, "it is no JSON: %s", why.text);
	code = read_row(a, j, &row, e);
	json_decref(j);
	if (code == 0)
		*out = row;
	return code;
}
