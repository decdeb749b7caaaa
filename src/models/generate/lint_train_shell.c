/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Arguments of trainings in command lines: "--bf16 True --fsdp 'full_shard auto_wrap'" says what a
 * file of the Trainer's arguments says, so it is judged as one.
 */
#include <string.h>

#include "base/path.h"
#include "base/text.h"
#include "models/generate/lint_train.h"

static const char launchers[][16] = { "torchrun", "deepspeed", "accelerate", "python", "python3" };

static bool launches(const struct lint_word *w, size_t n)
{
	for (size_t i = 0; i < n; i++)
		for (size_t k = 0; k < sizeof(launchers) / sizeof(launchers[0]); k++)
			if (strcmp(path_name(w[i].text), launchers[k]) == 0)
				return true;
	return false;
}

static struct markup_node *scalar(struct arena *a, const char *text, const struct lint_word *w)
{
	struct markup_node *n = ARENA_NEW(a, struct markup_node);

	*n = (struct markup_node){ .kind = MARKUP_SCALAR, .text = text, .line = w->line };
	return n;
}

/* "--name", "--name=VALUE" or "--name VALUE" of a known argument; NULL: it is none. */
static struct markup_node *argument(struct arena *a, const struct lint_word *w, size_t n)
{
	char name[64];
	const char *s = w->text + 2, *value;
	size_t len = strcspn(s, "=");
	struct markup_node *v;

	if (!str_starts(w->text, "--") || !len || len >= sizeof(name))
		return NULL;
	for (size_t i = 0; i < len; i++)
		name[i] = s[i] == '-' ? '_' : s[i];
	name[len] = '\0';
	if (!train_key(TRAINER_FILE, name))
		return NULL;
	if (s[len] == '=')
		value = s + len + 1;
	else if (n > 1 && !w[1].end && !str_starts(w[1].text, "--"))
		value = w[1].text;
	else
		value = "true";
	/* What an expansion holds is not known. */
	if (w->open || (n > 1 && value == w[1].text && w[1].open))
		return NULL;
	v = scalar(a, arena_strdup(a, value), w);
	v->key = scalar(a, arena_strdup(a, name), w);
	return v;
}

static void unquoted(struct lint *l, const struct lint_word *w)
{
	const char *brace = strchr(w->text, '{');

	if (w->quoted_inside && !w->quoted_first && brace && (brace == w->text || brace[-1] == '='))
		lint_add(l, LINT_ERROR, "json-unquoted", w->line, w->text, "'...' around all of it",
			 "POSIX shell",
			 "the shell takes the quotes out of this JSON and makes several words of "
			 "it: the program reads \"%.60s\"",
			 w->text);
}

static void srun_of_deepspeed(struct lint *l, const struct lint_word *w, size_t n)
{
	bool srun = false;

	for (size_t i = 0; i < n; i++) {
		srun = srun || strcmp(path_name(w[i].text), "srun") == 0;
		if (srun && strcmp(path_name(w[i].text), "deepspeed") == 0)
			lint_add(l, LINT_WARNING, "launcher-twice", w[i].line, "deepspeed",
				 "srun torchrun, or deepspeed --no_ssh --node_rank", NULL,
				 "srun starts this on every machine, and deepspeed starts its "
				 "processes on every machine as well");
	}
}

static void command(struct lint *l, const struct lint_word *w, size_t n)
{
	struct markup_node map = { .kind = MARKUP_MAP, .text = "" };
	struct train_doc d = { .l = l, .format = TRAINER_FILE, .root = &map, .command = true };

	for (size_t i = 0; i < n; i++) {
		struct markup_node *v = argument(l->a, &w[i], n - i);

		unquoted(l, &w[i]);
		if (!v)
			continue;
		v->parent = &map;
		if (map.last)
			map.last->next = v;
		else
			map.first = v;
		map.last = v;
	}
	if (!launches(w, n))
		return;
	srun_of_deepspeed(l, w, n);
	if (!map.first)
		return;
	l->configs++;
	lint_train_trainer(&d);
}

void lint_train_words(struct lint *l, const struct lint_word *w, size_t n)
{
	for (size_t i = 0; i < n;) {
		size_t k = i + 1;

		while (k < n && !w[k].end)
			k++;
		command(l, w + i, k - i);
		i = k;
	}
}
