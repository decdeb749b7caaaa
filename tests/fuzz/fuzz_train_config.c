/* SPDX-License-Identifier: Apache-2.0 */
/* Any text as a configuration of a training: looked through to its end, with findings on lines that
 * it has; and changed, after which it is still of its language and a second change finds no more
 * bytes than there are. */
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "models/generate/train_edit.h"

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size);

/* One question for all inputs: what it costs is not what is looked for here. */
static const struct train_setup *setup(void)
{
	static struct arena kept;
	static struct train_setup s;
	static bool made;
	struct train_options w;
	struct train_config *q;
	struct err e = { 0 };

	if (made)
		return &s;
	q = ARENA_NEW(&kept, struct train_config);
	train_words_none(&w);
	w.model = "qwen2.5-1.5b";
	w.on = "8x h100";
	w.global_batch = 64;
	w.micro_batch = 1;
	w.recompute = "full";
	if (train_config_make(&kept, &w, q, &e) < 0 ||
	    train_setup_make(&kept, q, TARGET_DEEPSPEED, NULL, &s, &e) < 0)
		abort();
	made = true;
	return &s;
}

static void change(const char *name, const char *text, size_t size)
{
	const struct train_meeting meeting = { "10.0.0.1", 29500 };
	struct lint_on on = { .nccl = "2.28.9", .nccl_from = "x" };
	struct arena a = { 0 };
	struct train_edit *e = ARENA_NEW(&a, struct train_edit);
	struct train_options w;
	struct markup m;
	struct err err = { 0 };
	TEXT_AUTO now = { 0 };
	TEXT_AUTO diff = { 0 };

	train_words_none(&w);
	if (train_edit_open(&a, name, text, size, e, &err) == 0) {
		train_edit_read(e, 8, &w);
		train_edit_make(e, setup(), &meeting, &on);
		edits_apply(&e->edits, &now);
		edits_diff(&a, &e->edits, "a", "b", &diff);
		if (!e->shell && e->edits.n &&
		    markup_read(&a, now.s ? now.s : "", now.len, e->m.json, &m, NULL, &err) < 0)
			abort();
	}
	arena_free(&a);
}

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size)
{
	static const char *const names[] = { "ds.json", "accelerate.yaml", "job.sh" };
	struct lint_on on = { .nccl = "2.28.9", .nccl_from = "x" };
	struct arena a = { 0 };
	struct lint l = { .a = &a, .on = &on };
	size_t lines = 1;

	for (size_t i = 0; i < size; i++)
		lines += data[i] == '\n' || data[i] == '\r' || data[i] >= 0x80;
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		lint_text(&l, names[i], (const char *)data, size);
		change(names[i], (const char *)data, size);
	}
	for (size_t i = 0; i < l.n; i++)
		if (l.findings[i].line > lines + 1 || !l.findings[i].says[0])
			abort();
	arena_free(&a);
	return 0;
}
