/* SPDX-License-Identifier: Apache-2.0 */
/* Dumps of PyTorch's flight recorder. */
#include <ctype.h>
#include <errno.h>
#include <jansson.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "models/hang/hang.h"

enum { STACK_MAX = 4096, MEMO_MAX = 1 << 20, VALUES_MAX = 4 << 20, ENTRIES_MAX = 100000 };

/* --- pickle ----------------------------------------------------------------------------------- */

/* Plain data of a pickle as JSON: dictionaries, lists, tuples, texts, numbers. */
struct unpickling {
	const unsigned char *at, *end;
	json_t *stack[STACK_MAX]; /* NULL: a mark */
	size_t n, values;
	json_t **memo;
	size_t n_memo;
	const char *wrong;
};

static uint64_t take(struct unpickling *u, size_t n)
{
	uint64_t v = 0;

	if ((size_t)(u->end - u->at) < n) {
		u->wrong = "truncated";
		u->at = u->end;
		return 0;
	}
	for (size_t i = 0; i < n; i++)
		v |= (uint64_t)u->at[i] << 8 * i;
	u->at += n;
	return v;
}

static void push(struct unpickling *u, json_t *v)
{
	if (u->n == STACK_MAX || ++u->values > VALUES_MAX || !v) {
		u->wrong = u->wrong ? u->wrong
			   : v	    ? "too large"
				    : "the file contains text that is not UTF-8";
		json_decref(v);
		return;
	}
	u->stack[u->n++] = v;
}

static void op_text(struct unpickling *u, size_t size)
{
	size_t n = (size_t)take(u, size);

	if ((size_t)(u->end - u->at) < n) {
		u->wrong = "truncated";
		return;
	}
	push(u, json_stringn((const char *)u->at, n));
	u->at += n;
}

static void op_skip(struct unpickling *u, size_t n)
{
	take(u, n);
}

static void op_mark(struct unpickling *u, size_t unused)
{
	(void)unused;
	if (u->n == STACK_MAX)
		u->wrong = "nested too deeply";
	else
		u->stack[u->n++] = NULL;
}

static void op_new(struct unpickling *u, size_t kind)
{
	push(u, kind == '}'   ? json_object()
		: kind == ']' ? json_array()
		: kind == 'N' ? json_null()
			      : json_boolean(kind == 't'));
}

static void op_count(struct unpickling *u, size_t n)
{
	push(u, json_integer((json_int_t)take(u, n)));
}

/* A whole number of n bytes with a sign; of 0: n comes first. */
static void op_signed(struct unpickling *u, size_t n)
{
	uint64_t v;

	n = n ? n : (size_t)take(u, 1);
	v = take(u, n < 8 ? n : 8);
	for (size_t more = n > 8 ? n - 8 : 0; more && !u->wrong; more--)
		take(u, 1);
	if (n && n < 8 && v >> (8 * n - 1))
		v |= ~(uint64_t)0 << 8 * n;
	push(u, json_integer((json_int_t)v));
}

static void op_real(struct unpickling *u, size_t unused)
{
	uint64_t bits = 0;
	double v;

	(void)unused;
	for (int i = 0; i < 8; i++)
		bits = bits << 8 | take(u, 1);
	memcpy(&v, &bits, sizeof(v));
	push(u, json_real(isfinite(v) ? v : 0));
}

/* Behind the topmost mark. */
static size_t marked(struct unpickling *u)
{
	size_t i = u->n;

	while (i && u->stack[i - 1])
		i--;
	if (!i)
		u->wrong = "a pickle mark is missing";
	return i;
}

/* The topmost n values, or those behind the mark, become a list. */
static void op_tuple(struct unpickling *u, size_t n)
{
	size_t from = n ? u->n - n : marked(u);
	json_t *list;

	if (u->wrong || u->n < n) {
		u->wrong = "values are missing";
		return;
	}
	for (size_t i = from; i < u->n; i++)
		if (!u->stack[i]) {
			u->wrong = "values are missing";
			return;
		}
	list = json_array();
	for (size_t i = from; i < u->n; i++)
		json_array_append_new(list, u->stack[i]);
	u->n = n ? from : from - 1;
	push(u, list);
}

/* A key is a text in JSON. */
static void put(json_t *map, json_t *key, json_t *value)
{
	char number[32];

	if (json_is_string(key)) {
		json_object_set(map, json_string_value(key), value);
	} else if (json_is_integer(key)) {
		snprintf(number, sizeof(number), "%lld", (long long)json_integer_value(key));
		json_object_set(map, number, value);
	}
}

/* The values from there on go into the list or dictionary at below. */
static void fill(struct unpickling *u, size_t from, size_t below, bool pairs)
{
	json_t *into = u->stack[below];

	if (!into || (pairs ? !json_is_object(into) : !json_is_array(into)))
		u->wrong = "values without keys";
	for (size_t i = from; !u->wrong && i < u->n; i += pairs ? 2 : 1)
		if (!u->stack[i] || (pairs && (i + 1 >= u->n || !u->stack[i + 1])))
			u->wrong = "values are missing";
		else if (pairs)
			put(into, u->stack[i], u->stack[i + 1]);
		else
			json_array_append(into, u->stack[i]);
	for (size_t i = below + 1; i < u->n; i++)
		json_decref(u->stack[i]);
	u->n = below + 1;
}

static void op_fill(struct unpickling *u, size_t pairs)
{
	size_t from = marked(u);

	if (u->wrong || from < 2)
		u->wrong = "values without keys";
	else
		fill(u, from, from - 2, pairs);
}

static void op_append(struct unpickling *u, size_t pairs)
{
	size_t n = pairs ? 2 : 1;

	if (u->n < n + 1)
		u->wrong = "values are missing";
	else
		fill(u, u->n - n, u->n - n - 1, pairs);
}

/* size 0: the next place. */
static void op_remember(struct unpickling *u, size_t size)
{
	size_t at = size ? (size_t)take(u, size) : u->n_memo;

	if (at >= MEMO_MAX || !u->n || !u->stack[u->n - 1])
		return;
	while (u->n_memo <= at) {
		if (u->n_memo % 1024 == 0)
			u->memo = realloc(u->memo, (u->n_memo + 1024) * sizeof(json_t *));
		if (!u->memo)
			abort();
		u->memo[u->n_memo++] = NULL;
	}
	json_decref(u->memo[at]);
	u->memo[at] = json_incref(u->stack[u->n - 1]);
}

/* A list that is still being filled cannot come again: it would hold itself. */
static void op_recall(struct unpickling *u, size_t size)
{
	size_t at = (size_t)take(u, size);
	json_t *v = at < u->n_memo ? u->memo[at] : NULL;

	for (size_t i = 0; v && i < u->n; i++)
		if (u->stack[i] == v && (json_is_array(v) || json_is_object(v)))
			v = NULL;
	if (!v)
		u->wrong = "an item refers to a missing item, or to itself";
	else
		push(u, json_incref(v));
}

static const struct {
	unsigned char op;
	void (*run)(struct unpickling *u, size_t with);
	size_t with;
} operations[] = {
	{ 0x80, op_skip, 1 },	  { 0x95, op_skip, 8 },	   { '(', op_mark, 0 },
	{ '}', op_new, '}' },	  { ']', op_new, ']' },	   { ')', op_new, ']' },
	{ 'N', op_new, 'N' },	  { 0x88, op_new, 't' },   { 0x89, op_new, 'f' },
	{ 'K', op_count, 1 },	  { 'M', op_count, 2 },	   { 'J', op_signed, 4 },
	{ 0x8a, op_signed, 0 },	  { 'G', op_real, 0 },	   { 'X', op_text, 4 },
	{ 'B', op_text, 4 },	  { 'T', op_text, 4 },	   { 0x8c, op_text, 1 },
	{ 'C', op_text, 1 },	  { 'U', op_text, 1 },	   { 't', op_tuple, 0 },
	{ 0x85, op_tuple, 1 },	  { 0x86, op_tuple, 2 },   { 0x87, op_tuple, 3 },
	{ 'e', op_fill, 0 },	  { 'u', op_fill, 1 },	   { 'a', op_append, 0 },
	{ 's', op_append, 1 },	  { 'q', op_remember, 1 }, { 'r', op_remember, 4 },
	{ 0x94, op_remember, 0 }, { 'h', op_recall, 1 },   { 'j', op_recall, 4 },
};

/* Imports, calls and what restores objects. */
static const char code_operations[] = "cRbioPQ\x81\x92\x93";

static void run_operation(struct unpickling *u, unsigned char op)
{
	for (size_t i = 0; i < sizeof(operations) / sizeof(operations[0]); i++)
		if (operations[i].op == op) {
			operations[i].run(u, operations[i].with);
			return;
		}
	u->wrong = op && memchr(code_operations, op, sizeof(code_operations))
			   ? "the file would run code: only plain data is read"
			   : "not a pickle of plain data";
}

/* NULL: *wrong says why. */
static json_t *unpickle(const char *data, size_t len, const char **wrong)
{
	struct unpickling *u = heap_array(1, sizeof(*u));
	json_t *v = NULL;

	u->at = (const unsigned char *)data;
	u->end = u->at + len;
	for (unsigned char op; !u->wrong && (op = (unsigned char)take(u, 1)) != '.' && !u->wrong;)
		run_operation(u, op);
	if (!u->wrong && u->n == 1)
		v = json_incref(u->stack[0]);
	*wrong = u->wrong ? u->wrong : "the file contains no value";
	for (size_t i = 0; i < u->n; i++)
		json_decref(u->stack[i]);
	for (size_t i = 0; i < u->n_memo; i++)
		json_decref(u->memo[i]);
	free(u->memo);
	free(u);
	return v;
}

/* --- a dump ----------------------------------------------------------------------------------- */

static const char *flight_text(struct arena *a, const json_t *v)
{
	return json_is_string(v) ? utf8_clean(a, arena_strdup(a, json_string_value(v))) : NULL;
}

static long long flight_count(const json_t *map, const char *key, long long otherwise)
{
	const json_t *v = json_object_get(map, key);

	return json_is_integer(v) ? (long long)json_integer_value(v) : otherwise;
}

/* "nccl:all_reduce" is all_reduce. */
static const char *operation_of(struct arena *a, const json_t *entry)
{
	const char *name = flight_text(a, json_object_get(entry, "profiling_name")), *colon;

	name = name ? name : "collective";
	colon = strrchr(name, ':');
	return colon ? colon + 1 : name;
}

/* The innermost frame that is not PyTorch's own. */
static void called_from(struct arena *a, const json_t *entry, struct flight_entry *out)
{
	const json_t *frames = json_object_get(entry, "frames"), *f;
	size_t i;

	json_array_foreach((json_t *)(uintptr_t)frames, i, f)
	{
		const char *file = flight_text(a, json_object_get(f, "filename"));

		if (!file || strstr(file, "torch/"))
			continue;
		out->file = file;
		out->function = flight_text(a, json_object_get(f, "name"));
		out->line = flight_count(f, "line", 0);
		return;
	}
}

static void read_entry(struct arena *a, const json_t *e, struct flight_entry *out)
{
	const json_t *group = json_object_get(e, "process_group");
	char *sizes = json_dumps(json_object_get(e, "input_sizes"), JSON_COMPACT);
	const char *name = json_is_array(group) ? flight_text(a, json_array_get(group, 1)) : NULL;
	const char *state = flight_text(a, json_object_get(e, "state"));

	*out = (struct flight_entry){ .operation = operation_of(a, e),
				      .group = name && *name ? name : "default",
				      .state = state ? state : "unknown",
				      .sizes = sizes ? arena_strdup(a, sizes) : "",
				      .sequence = flight_count(e, "collective_seq_id", -1) };
	if (out->sequence < 0)
		out->sequence = flight_count(e, "seq_id", -1);
	free(sizes);
	called_from(a, e, out);
}

/* The last number in a file's name: of "nccl_trace_rank_3" 3. */
static int rank_in_name(const char *file)
{
	const char *name = path_name(file), *end = name + strcspn(name, ".");

	while (end > name && !isdigit((unsigned char)end[-1]))
		end--;
	while (end > name && isdigit((unsigned char)end[-1]))
		end--;
	return isdigit((unsigned char)*end) ? atoi(end) : -1;
}

int flight_read(struct arena *a, const char *file, const char *data, size_t len,
		struct flight_dump *out, struct err *e)
{
	const char *wrong = "not JSON";
	json_auto_t *j = len && (*data == '{' || *data == '[')
				 ? json_loadb(data, len, JSON_DISABLE_EOF_CHECK, NULL)
				 : unpickle(data, len, &wrong);
	const json_t *list = json_object_get(j, "entries"), *entry;
	size_t i, n = json_array_size(list);

	*out = (struct flight_dump){ .from = file, .rank = rank_in_name(file) };
	if (!j)
		return err_set(e, -EINVAL, "%s: not a flight recorder's dump: %s", file, wrong);
	if (!json_is_array(list) || n > ENTRIES_MAX)
		return err_set(e, -EINVAL, "%s: a flight recorder's dump without entries", file);
	out->rank = (int)flight_count(j, "rank", out->rank);
	out->entries = arena_array(a, n ? n : 1, sizeof(*out->entries));
	json_array_foreach((json_t *)(uintptr_t)list, i, entry) if (json_is_object(entry))
		read_entry(a, entry, &out->entries[out->n++]);
	return 0;
}
