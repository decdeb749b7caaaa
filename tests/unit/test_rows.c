/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tables as text: what a row says, what is refused and with which sentence; that what is compiled
 * in is what the files say; and what files of the site and of a user add.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <cmocka.h>

#include "base/rows.h"
#include "base/text.h"
#include "knowledge/bands.h"
#include "knowledge/dead_flags.h"
#include "knowledge/engine_options.h"
#include "knowledge/health.h"
#include "knowledge/knowledge.h"
#include "knowledge/models.h"
#include "knowledge/nccl_vars.h"
#include "knowledge/software_places.h"
#include "knowledge/tables.h"
#include "knowledge/train_keys.h"
#include "knowledge/value_rules.h"
#include "memory_host.h"
#include "models/inference/gpu.h"
#include "models/inference/arch.h"
#include "models/inference/predict.h"

enum color { COLOR_RED, COLOR_GREEN };

struct thing {
	const char *name, *note, *date;
	int count;
	long long wide;
	int pair[2];
	double real;
	bool flag;
	enum color color;
	unsigned set;
};

static const char *const colors[] = { "red", "green", NULL };

static const struct row_column thing_columns[] = {
	ROW_NAME(struct thing, name, .meaning = "its name"),
	ROW_TEXT(struct thing, note, "note", .meaning = "a sentence"),
	ROW_DATE(struct thing, date, "date", .meaning = "when"),
	ROW_COUNT(struct thing, count, "count", .min = -1, .max = 10, .meaning = "how many"),
	ROW_COUNT(struct thing, wide, "wide", .max = 1e15, .meaning = "many"),
	ROW_COUNTS(struct thing, pair, "pair", .max = 9, .meaning = "two"),
	ROW_REAL(struct thing, real, "real", .min = -1, .max = 1e6, .meaning = "how much"),
	ROW_FLAG(struct thing, flag, "flag", .meaning = "whether"),
	ROW_CHOICE(struct thing, color, "color", .choices = colors, .required = true,
		   .meaning = "which"),
	ROW_SET(struct thing, set, "set", .choices = colors, .meaning = "which ones"),
};

static const char *finish_thing(void *row)
{
	return ((struct thing *)row)->count == 7 ? "seven is nothing that can be" : NULL;
}

static const struct row_table thing_table =
	ROW_TABLE("things", struct thing, things, "none", thing_columns, .finish = finish_thing);

static struct row_list read_things(struct arena *a, const char *text)
{
	struct row_list rows = { 0 };
	struct err e = { 0 };

	if (rows_read(a, &thing_table, text, strlen(text), "t", &rows, &e))
		fail_msg("%s", e.text);
	return rows;
}

static void test_values(void **state)
{
	struct arena a = { 0 };
	struct row_list rows = read_things(
		&a, "# a comment\n"
		    "\n"
		    "default color=green note=\"of all\"\n"
		    "one count=-1 wide=1000000000000 pair=3,4 real=-0.5 flag=yes set=red,green\n"
		    "\t\"t \\\"w\\\\o\"  note=\"\" color=red\tdate=2025-08-31\n"
		    "default color=red\n"
		    "\"default\" note=a=b#c count=10");
	const struct thing *t = rows.items;

	assert_int_equal(rows.n, 3);
	assert_string_equal(t[0].name, "one");
	assert_string_equal(t[0].note, "of all");
	assert_true(t[0].count == -1 && t[0].wide == 1000000000000 && t[0].real == -0.5);
	assert_true(t[0].pair[0] == 3 && t[0].pair[1] == 4 && t[0].flag);
	assert_true(t[0].color == COLOR_GREEN && t[0].set == 3 && !t[0].date);
	assert_string_equal(t[1].name, "t \"w\\o");
	assert_string_equal(t[1].note, "");
	assert_string_equal(t[1].date, "2025-08-31");
	assert_true(t[1].color == COLOR_RED && !t[1].flag && !t[1].count);
	assert_string_equal(t[2].name, "default");
	assert_string_equal(t[2].note, "a=b#c");
	assert_true(t[2].color == COLOR_RED);
	arena_free(&a);
	(void)state;
}

/* Each is refused, by a sentence that says where and what. */
static void test_refused(void **state)
{
	static const struct {
		const char *text, *says;
	} cases[] = {
		{ "x", "t:1: row \"x\": color is missing" },
		{ "\n\nx color=red\n\nx color=red", "t:5: row \"x\": an earlier row" },
		{ "x color=red colour=red", "t:1: row \"x\": unknown key \"colour\"" },
		{ "x color=red color=red", "t:1: row \"x\": color is given more than once" },
		{ "x color=blue", "color=blue: expected one of red, green" },
		{ "x color=", "color: empty" },
		{ "x color", "\"color\": expected key=value" },
		{ "x color =red", "\"color\": expected key=value" },
		{ "x \"color\"=red", "\": expected key=value" },
		{ "x name=y color=red", "unknown key \"name\"" },
		{ "color=red", "t:1: the row must begin with its name" },
		{ "\"\" color=red", "t:1: the name is empty" },
		{ "\"x color=red", "t:1: the name: the quote is not closed" },
		{ "x note=\"a\"b color=red", "note: a space must follow the closing quote" },
		{ "x note=a\"b\" color=red", "note: \" and \\ are allowed only within quotes" },
		{ "x note=a\\ color=red", "note: \" and \\ are allowed only within quotes" },
		{ "x note=\"a\\n\" color=red", "note: \\ is allowed only before \" or \\" },
		{ "x note=\"a\\", "note: \\ is allowed only before \" or \\" },
		{ "x color=red count=11", "count=11: expected -1 to 10" },
		{ "x color=red count=-2", "count=-2: expected -1 to 10" },
		{ "x color=red count=1.5", "count=1.5: expected a whole number" },
		{ "x color=red count=99999999999999999999", "expected a whole number" },
		{ "x color=red wide=1e3", "wide=1e3: expected a whole number" },
		{ "x color=red pair=3", "pair=3: expected 2 comma-separated numbers" },
		{ "x color=red pair=3,4,5", "pair=3,4,5: expected 2 comma-separated" },
		{ "x color=red pair=3,", "pair=: expected a whole number" },
		{ "x color=red pair=3,10", "pair=10: expected 0 to 9" },
		{ "x color=red real=nan", "real=nan: expected a number" },
		{ "x color=red real=1e999", "real=1e999: expected a number" },
		{ "x color=red real=0x10", "real=0x10: expected a number" },
		{ "x color=red real=1e7", "real=1e7: expected -1 to 1000000" },
		{ "x color=red flag=true", "flag=true: expected yes or no" },
		{ "x color=red set=red,red", "set=red,red: red is given more than once" },
		{ "x color=red set=red,", "set=: expected one of red, green" },
		{ "x color=red date=2025-13", "date=2025-13: expected a date" },
		{ "x color=red date=25", "date=25: expected a date" },
		{ "x color=red date=2025-01-0a", "date=2025-01-0a: expected a date" },
		{ "x color=red count=7", "t:1: row \"x\": seven is nothing that can be" },
		{ "default color=red name=x", "t:1: unknown key \"name\"" },
		{ "default color=blue\nx color=red", "t:1: color=blue: expected one of" },
		{ "default color=red\ndefault\nx", "t:3: row \"x\": color is missing" },
		{ "x color=red note=\x01", "t:1: byte 18 of the line is control character" },
		{ "x color=red\r\n", "control character U+000D" },
		{ "x color=red note=\xc3(", "t:1: byte 18 of the line is not UTF-8" },
		{ "x color=red note=\xe2\x80\xae", "control character U+202E" },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct arena a = { 0 };
		struct row_list rows = { .n = 42 };
		struct err e = { 0 };

		if (rows_read(&a, &thing_table, cases[i].text, strlen(cases[i].text), "t", &rows,
			      &e) != -EINVAL)
			fail_msg("taken: %s", cases[i].text);
		if (!strstr(e.text, cases[i].says))
			fail_msg("%s: %s, not %s", cases[i].text, e.text, cases[i].says);
		assert_int_equal(rows.n, 42);
		arena_free(&a);
	}
	(void)state;
}

static void refuses(struct text *t, const char *says)
{
	struct arena a = { 0 };
	struct row_list rows;
	struct err e = { 0 };

	assert_int_equal(rows_read(&a, &thing_table, t->s, t->len, "t", &rows, &e), -EINVAL);
	if (!strstr(e.text, says))
		fail_msg("%s, not %s", e.text, says);
	arena_free(&a);
	text_clear(t);
}

static void fill(struct text *t, size_t n)
{
	while (n--)
		text_addc(t, 'a');
}

static void test_bounds(void **state)
{
	TEXT_AUTO t = { 0 };
	struct arena a = { 0 };

	text_add(&t, "x color=red note=");
	fill(&t, ROW_VALUE_MAX);
	assert_int_equal(read_things(&a, t.s).n, 1);
	fill(&t, 1);
	refuses(&t, "note: longer than 1024 bytes");
	text_add(&t, "#");
	fill(&t, ROW_LINE_MAX - 1);
	assert_int_equal(read_things(&a, t.s).n, 0);
	fill(&t, 1);
	refuses(&t, "t:1: the line is longer than 4096 bytes");
	text_add(&t, "default color=red\n");
	for (int i = 0; i < ROW_LIST_MAX; i++)
		text_printf(&t, "n%d\n", i);
	assert_int_equal(read_things(&a, t.s).n, ROW_LIST_MAX);
	text_add(&t, "one-more");
	refuses(&t, "more than 4096 rows");
	for (int i = 0; i <= ROW_BYTES_MAX; i++)
		text_addc(&t, '\n');
	refuses(&t, "larger than 1048576 bytes");
	text_addn(&t, "x\0 color=red", 12);
	refuses(&t, "control character U+0000");
	arena_free(&a);
	(void)state;
}

static bool same_member(const struct row_column *c, const char *x, const char *y)
{
	const char *s, *t;

	if (c->kind != ROW_KIND_TEXT && c->kind != ROW_KIND_DATE)
		return memcmp(x + c->offset, y + c->offset, c->size) == 0;
	memcpy(&s, x + c->offset, sizeof(s));
	memcpy(&t, y + c->offset, sizeof(t));
	return s && t ? strcmp(s, t) == 0 : s == t;
}

/* What is compiled in is what the same reader makes of the file at run time. */
static void test_compiled(void **state)
{
	const struct {
		const struct row_table *t;
		const void *rows;
		size_t n;
	} tables[] = { { &gpu_table, gpu_kinds, n_gpu_kinds },
		       { &model_table, model_rows, n_model_rows },
		       { &model_type_table, model_types, n_model_types },
		       { &format_table, format_rows, n_format_rows },
		       { &band_table, bands, n_bands },
		       { &memory_limit_table, memory_limits, n_memory_limits },
		       { &dead_flag_table, dead_flags, n_dead_flags },
		       { &engine_option_table, engine_options, n_engine_options },
		       { &health_limit_table, health_limits, n_health_limits },
		       { &xid_table, xid_rows, n_xid_rows },
		       { &known_var_table, known_vars, n_known_vars },
		       { &nccl_release_table, nccl_releases, n_nccl_releases },
		       { &software_place_table, software_places, n_software_places },
		       { &train_key_table, train_keys, n_train_keys },
		       { &value_rule_table, value_rules, n_value_rules } };
	static char text[ROW_BYTES_MAX];

	for (size_t i = 0; i < sizeof(tables) / sizeof(tables[0]); i++) {
		const struct row_table *t = tables[i].t;
		const char *built = tables[i].rows, *read;
		struct arena a = { 0 };
		const char *path = arena_printf(&a, SOURCE_ROOT "/src/knowledge/%s.rows", t->name);
		struct row_list rows;
		struct err e;
		FILE *f = fopen(path, "r");

		assert_non_null(f);
		assert_int_equal(
			rows_read(&a, t, text, fread(text, 1, sizeof(text), f), path, &rows, &e),
			0);
		fclose(f);
		assert_int_equal(rows.n, tables[i].n);
		read = rows.items;
		for (size_t k = 0; k < rows.n; k++)
			for (size_t c = 0; c < t->n_columns; c++)
				if (!same_member(&t->columns[c], built + k * t->size,
						 read + k * t->size))
					fail_msg("%s, row %zu: %s", path, k + 1, t->columns[c].key);
		arena_free(&a);
	}
	(void)state;
}

/* A column has a meaning, and a key of its own. */
static void test_columns(void **state)
{
	for (size_t i = 0; row_tables[i]; i++) {
		const struct row_table *t = row_tables[i];

		assert_in_range(t->n_columns, 1, ROW_COLUMNS_MAX);
		assert_true(t->columns[0].kind == ROW_KIND_TEXT);
		for (size_t k = 0; k < t->n_columns; k++) {
			const struct row_column *c = &t->columns[k];

			assert_true(c->meaning && *c->meaning);
			assert_true(c->offset + c->size <= t->size);
			assert_true((c->kind == ROW_KIND_CHOICE || c->kind == ROW_KIND_SET) ==
				    (c->choices != NULL));
			for (size_t m = 0; m < k; m++)
				assert_string_not_equal(t->columns[m].key, c->key);
		}
	}
	(void)state;
}

/* docs/design/KNOWLEDGE.md has a line for each key of what people write rows for. */
static void test_documented(void **state)
{
	static const char *const kinds[] = { "text", "date",	"count", "counts",
					     "real", "yes, no", "word",	 "words" };
	const struct row_table *const tables[] = { &gpu_table, &model_table };
	static char text[ROW_BYTES_MAX];
	struct arena a = { 0 };
	FILE *f = fopen(SOURCE_ROOT "/docs/design/KNOWLEDGE.md", "r");

	assert_non_null(f);
	text[fread(text, 1, sizeof(text) - 1, f)] = '\0';
	fclose(f);
	for (size_t i = 0; i < sizeof(tables) / sizeof(tables[0]); i++)
		for (size_t k = 1; k < tables[i]->n_columns; k++) {
			const struct row_column *c = &tables[i]->columns[k];
			const char *line = arena_printf(&a, "| `%s` | %s%s | %s |\n", c->key,
							c->unit ? c->unit : kinds[c->kind],
							c->required ? ", needed" : "", c->meaning);

			if (!strstr(text, line))
				fail_msg("docs/design/KNOWLEDGE.md has no line %s", line);
		}
	arena_free(&a);
	(void)state;
}

struct warnings {
	int n;
	struct err last;
};

static void count_warning(void *ctx, const struct err *e)
{
	struct warnings *w = ctx;

	w->n++;
	w->last = *e;
}

#define SITE "/etc/gputune/knowledge/"
#define GPU_ROW                                                                                    \
	"\"Acme X1\" keys=\"acmex1 x1\" memory=96 bandwidth=3000 half=600 fp8=1200 link=200 "      \
	"per_node=8 server=yes source=\"our sheet\" date=2026\n"
#define MODEL_ROW(layers)                                                                          \
	"Acme-9B keys=acme|9b layers=" layers " hidden=4096 vocab=151936 heads=32 kv_heads=8 "     \
	"head_dim=128 ffn=12288 source=\"our file\"\n"

/* A model and a GPU that somebody wrote into a file are predicted. */
static void test_added(void **state)
{
	struct host *h = memory_open();
	struct arena a = { 0 };
	struct warnings w = { 0 };
	struct knowledge k;
	struct infer_options words = { .known = &k, .model = "acme/9B", .on = "4x x1" };
	struct query q;
	struct fits fits;
	struct prediction p;
	struct err e = { 0 };

	knowledge_read(&a, h, false, count_warning, &w, &k);
	assert_int_equal(w.n, 0);
	assert_ptr_equal(k.gpus, gpu_kinds);
	assert_ptr_equal(k.models, model_rows);
	memory_file(h, SITE "gpus.rows", GPU_ROW);
	memory_file(h, SITE "models.rows", MODEL_ROW("36"));
	knowledge_read(&a, h, false, count_warning, &w, &k);
	assert_int_equal(w.n, 0);
	fits_default(&fits);
	assert_int_equal(question_make(&a, &words, &fits, &q, &e), 0);
	predict(&a, &q, &fits, &p);
	assert_string_equal(p.q.arch.name, "Acme-9B");
	assert_string_equal(p.q.ask.place.gpu->name, "Acme X1");
	assert_true(p.memory.fits && p.tpot.value > 0);
	/* What is compiled in is there as before. */
	words = (struct infer_options){ .known = &k, .model = "Qwen3-8B", .on = "h100" };
	assert_int_equal(question_make(&a, &words, &fits, &q, &e), 0);
	assert_true(gpu_kind_of(NULL, "Acme X1") == NULL);
	arena_free(&a);
	host_close(h);
	(void)state;
}

/* Later files win, by name; a wrong one is left out whole. */
static void test_order(void **state)
{
	struct host *h = memory_open();
	struct arena a = { 0 };
	struct warnings w = { 0 };
	struct knowledge k;
	size_t n = 0;

	memory_file(h, arena_printf(&a, "%s/models.rows", knowledge_package), MODEL_ROW("30"));
	memory_file(h, SITE "models.rows",
		    MODEL_ROW("31") "Acme-1B keys=acme|1b layers=9 "
				    "hidden=64 vocab=64 heads=1 "
				    "kv_heads=1 head_dim=64 ffn=64 "
				    "source=x\n");
	memory_file(h, SITE "gpus.rows",
		    "\"NVIDIA L4\" keys=l4 memory=24 bandwidth=301 half=121 per_node=8 source=x "
		    "date=2026\n");
	knowledge_read(&a, h, false, count_warning, &w, &k);
	assert_int_equal(w.n, 0);
	assert_string_equal(k.models[0].a.name, "Acme-1B");
	assert_string_equal(k.models[1].a.name, "Acme-9B");
	assert_int_equal(k.models[1].a.layers, 31);
	assert_string_equal(k.models[2].a.name, model_rows[0].a.name);
	assert_true(gpu_kind_of(&k, "NVIDIA L4")->bandwidth > 300.5);
	assert_true(gpu_kind_of(NULL, "NVIDIA L4")->bandwidth < 300.5);
	while (k.gpus[n].name)
		n++;
	assert_int_equal(n, n_gpu_kinds);
	knowledge_read(&a, h, true, count_warning, &w, &k);
	assert_ptr_equal(k.gpus, gpu_kinds);
	assert_int_equal(k.models[1].a.layers, 31);
	memory_file(h, arena_printf(&a, "%s/gpus.rows", knowledge_package), GPU_ROW);
	knowledge_read(&a, h, true, count_warning, &w, &k);
	assert_string_equal(k.gpus[0].name, "Acme X1");
	assert_true(gpu_kind_of(&k, "NVIDIA L4")->bandwidth < 300.5);
	memory_file(h, SITE "models.rows", MODEL_ROW("32") "Acme-1B keys=acme|1b\n");
	knowledge_read(&a, h, false, count_warning, &w, &k);
	assert_int_equal(w.n, 1);
	assert_string_equal(w.last.text, SITE "models.rows:2: row \"Acme-1B\": layers is missing");
	assert_int_equal(k.models[0].a.layers, 30);
	arena_free(&a);
	host_close(h);
	(void)state;
}

/* A model that does not add up is refused before anybody counts with it. */
static void test_models(void **state)
{
	static const struct {
		const char *row, *says;
	} cases[] = {
		{ "layers=4", "attention requires heads, kv_heads and head_dim" },
		{ "layers=4 heads=2 kv_heads=4 head_dim=8", "kv_heads must not exceed heads" },
		{ "layers=4 heads=2 kv_heads=1 head_dim=8 moe_layers=4",
		  "moe_layers requires experts, top (at most experts) and" },
		{ "layers=4 heads=2 kv_heads=1 head_dim=8 linear_layers=2",
		  "linear_layers requires a kind, or linear_params" },
		{ "layers=4 heads=2 kv_heads=1 head_dim=8 window_layers=5 window=9",
		  "layers of one kind" },
		{ "layers=4 heads=2 kv_heads=1 head_dim=8 window_layers=2",
		  "window_layers requires window" },
		{ "layers=4 heads=2 kv_heads=1 head_dim=8 mamba=1,2,3 short_conv=yes",
		  "mutually exclusive" },
		{ "layers=0", "layers=0: expected 1 to 4096" },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct arena a = { 0 };
		const char *text =
			arena_printf(&a, "x keys=x hidden=64 vocab=64 source=s %s", cases[i].row);
		struct row_list rows;
		struct err e = { 0 };

		assert_int_equal(rows_read(&a, &model_table, text, strlen(text), "t", &rows, &e),
				 -EINVAL);
		if (!strstr(e.text, cases[i].says))
			fail_msg("%s: %s", text, e.text);
		arena_free(&a);
	}
	(void)state;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_values),	cmocka_unit_test(test_refused),
		cmocka_unit_test(test_bounds),	cmocka_unit_test(test_compiled),
		cmocka_unit_test(test_columns), cmocka_unit_test(test_documented),
		cmocka_unit_test(test_added),	cmocka_unit_test(test_order),
		cmocka_unit_test(test_models),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
