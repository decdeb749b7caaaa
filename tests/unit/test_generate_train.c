/* SPDX-License-Identifier: Apache-2.0 */
/* Trees with places, changes and their diff, the tables of keys, the choice of a way to train. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <math.h>
#include <string.h>

#include "base/text.h"
#include "models/generate/markup.h"
#include "models/generate/train_edit.h"
#include "models/generate/train_keys.h"

static struct markup read_text(struct arena *a, const char *text, bool json)
{
	struct markup m;
	struct err e = { 0 };

	assert_int_equal(markup_read(a, text, strlen(text), json, &m, NULL, &e), 0);
	return m;
}

/* A scalar's place holds what is written there, whatever stands before it. */
static void places(void **state)
{
	static const char *const texts[] = {
		"a: 1\nb:\n  c: found # x\n",
		("\xef\xbb\xbf"
		 "a: \xc3\xa4\xe2\x82\xac\r\nb: {x: 1, c: found}\r\n"),
		"{\"a\": [1, 2],\n\t\"b\": {\"c\": \"found\"}}",
		"b: &x\n  c: 'found'\na: *x\n",
	};
	struct arena a = { 0 };

	(void)state;
	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		struct markup m = read_text(&a, texts[i], i == 2);
		const struct markup_node *n = markup_find(m.root, "b.c");

		assert_non_null(n);
		assert_string_equal(n->text, "found");
		assert_non_null(
			strstr(arena_strndup(&a, texts[i] + n->begin, n->end - n->begin), "found"));
		assert_true(n->end - n->begin <= strlen("\"found\""));
		assert_memory_equal(texts[i] + n->key->begin + (i == 2), "c", 1);
	}
	arena_free(&a);
}

static void meanings(void **state)
{
	struct arena a = { 0 };
	struct markup m = read_text(&a,
				    "n: 5e8\nf: -1.5\nt: yes\nq: \"true\"\nz: null\nw: word\n"
				    "base: &b {k: 1}\nuser:\n  <<: *b\n  l: 2\n",
				    false);
	double v;
	bool b;

	(void)state;
	assert_true(markup_number(markup_get(m.root, "n"), &v) && fabs(v - 5e8) < 1);
	assert_true(markup_number(markup_get(m.root, "f"), &v) && fabs(v + 1.5) < 1e-9);
	assert_true(markup_bool(markup_get(m.root, "t"), &b) && b);
	assert_false(markup_bool(markup_get(m.root, "q"), &b));
	assert_true(markup_null(markup_get(m.root, "z")));
	assert_string_equal(markup_text(markup_get(m.root, "w")), "word");
	assert_true(markup_number(markup_find(m.root, "user.k"), &v) && v > 0);
	assert_null(markup_find(m.root, "user.no"));
	assert_true(m.anchors);
	arena_free(&a);
}

static void refused(void **state)
{
	char deep[200];
	struct arena a = { 0 };
	struct markup m;
	struct err e = { 0 };
	unsigned line = 0;

	(void)state;
	assert_int_equal(markup_read(&a, "{\n\"a\": }", 8, true, &m, &line, &e), -EINVAL);
	assert_int_equal(line, 2);
	assert_int_equal(markup_read(&a, "{\"a\":1,\"a\":2}", 13, true, &m, &line, &e), -EINVAL);
	assert_int_equal(markup_read(&a, "a: [\n", 5, false, &m, &line, &e), -EINVAL);
	assert_true(line > 0);
	memset(deep, '[', sizeof(deep));
	assert_true(markup_read(&a, deep, sizeof(deep), false, &m, &line, &e) < 0);
	assert_int_equal(markup_read(&a, "a: 1\n---\nb: 2\n", 14, false, &m, &line, &e), 0);
	assert_int_equal(m.second, 2);
	arena_free(&a);
}

static void diffs(void **state)
{
	struct arena a = { 0 };
	struct edits e = { .text = "1\n2\n3\n4\n5\n6\n7\n8\n9\nlast", .len = 22 };
	struct err err = { 0 };
	TEXT_AUTO now = { 0 };
	TEXT_AUTO diff = { 0 };

	(void)state;
	assert_int_equal(edit_add(&a, &e, &(struct edit){ 0, 1, "one", "w", "first", 0 }, &err), 0);
	assert_int_equal(edit_add(&a, &e, &(struct edit){ 22, 0, "\nmore", "w", "end", 0 }, &err),
			 0);
	assert_int_equal(edit_add(&a, &e, &(struct edit){ 0, 1, "x", "w", "again", 0 }, &err),
			 -EINVAL);
	assert_int_equal(edit_add(&a, &e, &(struct edit){ 30, 1, "x", "w", "out", 0 }, &err),
			 -EINVAL);
	edits_apply(&e, &now);
	assert_string_equal(now.s, "one\n2\n3\n4\n5\n6\n7\n8\n9\nlast\nmore");
	edits_diff(&a, &e, "a", "b", &diff);
	assert_string_equal(diff.s, "--- a\n+++ b\n@@ -1,4 +1,4 @@\n-1\n+one\n 2\n 3\n 4\n"
				    "@@ -7,4 +7,5 @@\n 7\n 8\n 9\n-last\n"
				    "\\ No newline at end of file\n+last\n+more\n"
				    "\\ No newline at end of file\n");
	arena_free(&a);
}

/* Sections come before what is in them, names are unique, and what is written is known. */
static void keys(void **state)
{
	struct arena a = { 0 };

	(void)state;
	for (size_t i = 0; i < n_train_keys; i++) {
		const struct train_key *k = &train_keys[i];
		const char *dot = strrchr(k->path, '.');

		assert_ptr_equal(train_key(k->file, k->path), k);
		if (dot)
			assert_non_null(train_key(
				k->file, arena_strndup(&a, k->path, (size_t)(dot - k->path))));
	}
	assert_string_equal(train_key_near(&a, DEEPSPEED_FILE, "zero_optimization.overlap_com"),
			    "overlap_comm");
	assert_null(train_key_near(&a, DEEPSPEED_FILE, "zero_optimization.something_else"));
	assert_string_equal(train_key_elsewhere(DEEPSPEED_FILE, "overlap_comm"),
			    "zero_optimization.overlap_comm");
	assert_non_null(train_key(ACCELERATE_FILE, "fsdp_config.version"));
	assert_non_null(train_key(FSDP_FILE, "fsdp_min_num_params"));
	arena_free(&a);
}

static struct train_setup setup_of(struct arena *a, const char *model, const char *on,
				   enum train_target target)
{
	struct train_options w;
	struct train_config *q = ARENA_NEW(a, struct train_config);
	struct train_setup s;
	struct err e = { 0 };

	train_words_none(&w);
	w.model = model;
	w.on = on;
	w.global_batch = 128;
	w.micro_batch = 2;
	assert_int_equal(train_config_make(a, &w, q, &e), 0);
	assert_int_equal(train_setup_make(a, q, target, NULL, &s, &e), 0);
	return s;
}

static void chosen(void **state)
{
	struct arena a = { 0 };
	struct train_setup s = setup_of(&a, "qwen2.5-0.5b", "8x h100", TARGET_DEEPSPEED);
	struct train_items items = { 0 };
	double most = 0;

	(void)state;
	/* It fits everywhere: nothing is sharded without a gain. DeepSpeed's stage 0 hides no
	 * communication. */
	assert_true(s.fits && s.tries[0].fits);
	assert_int_equal(s.after->q.way, TRAIN_ZERO1);
	for (size_t i = 0; i < s.n_tries; i++)
		most = fmax(most, s.tries[i].tokens_s);
	assert_true(s.tries[0].tokens_s * 1.02 < most);
	assert_true(s.after->tokens_s.value * 1.02 >= most);
	assert_int_equal(s.after->q.micro_batch * s.after->q.accumulation * s.after->q.dp, 128);
	assert_true(s.gain.low <= s.gain.value && s.gain.value <= s.gain.high);
	train_items_deepspeed(&a, &s, &items);
	for (size_t i = 0; i < items.n; i++) {
		assert_non_null(train_key(DEEPSPEED_FILE, items.at[i].path));
		assert_true(items.at[i].reason && *items.at[i].reason);
	}
	items = (struct train_items){ 0 };
	train_items_trainer(&a, &s, &items);
	for (size_t i = 0; i < items.n; i++)
		assert_non_null(train_key(TRAINER_FILE, items.at[i].path));
	s = setup_of(&a, "llama-3.3-70b", "16x h100", TARGET_ACCELERATE);
	items = (struct train_items){ 0 };
	train_items_accelerate(&a, &s, &(struct train_meeting){ "10.0.0.1", 29500 }, &items);
	for (size_t i = 0; i < items.n; i++)
		assert_non_null(train_key(ACCELERATE_FILE, items.at[i].path));
	items = (struct train_items){ 0 };
	train_items_fsdp(&a, &s, &items);
	for (size_t i = 0; i < items.n; i++)
		assert_non_null(train_key(FSDP_FILE, items.at[i].path));
	arena_free(&a);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(places), cmocka_unit_test(meanings), cmocka_unit_test(refused),
		cmocka_unit_test(diffs),  cmocka_unit_test(keys),     cmocka_unit_test(chosen),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
