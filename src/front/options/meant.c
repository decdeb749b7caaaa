/* SPDX-License-Identifier: Apache-2.0 */
/* What a word that is no verb most likely stands for: the command to propose. */
#include <string.h>

#include "base/text.h"
#include "front/session.h"

/* By what a command is found, the first that fits; BY_FIRST: another word for a verb, before a
 * sub-verb's name. */
enum way { BY_FIRST, BY_NAME, BY_WORD, BY_ARGUMENT, BY_OPTION, BY_SENSE, WAYS };

struct meaning {
	struct arena *a;
	struct near_word near;
	bool exact;
	const char *found;
};

static void meant_try(struct meaning *g, const char *spelling, const char *command)
{
	if (!g->exact)
		near_word_try(&g->near, spelling, command);
	else if (!g->found && str_same_word(spelling, g->near.asked))
		g->found = command;
}

static void meant_words(struct meaning *g, const char *words, const char *command)
{
	for (; words && *words; words += strcspn(words, " "), words += strspn(words, " "))
		meant_try(g, arena_strndup(g->a, words, strcspn(words, " ")), command);
}

/* The values of arguments, or of options. */
static void meant_values(struct meaning *g, const struct verb *v, const char *command, enum way way)
{
	size_t n;
	const struct verb_option *o = verb_options(g->a, v, NULL, &n);

	for (size_t i = 0; i < n; i++) {
		const struct ask_row *row = o[i].row;
		const char *of = row->argument ? command
					       : arena_printf(g->a, "%s --%s", command, row->name),
			   *word;

		if (way != BY_SENSE && row->argument != (way != BY_OPTION))
			continue;
		for (size_t k = 0; way != BY_SENSE && (word = ask_proposed(row, k)); k++)
			meant_try(g, word, arena_printf(g->a, "%s %s", of, word));
		if (way == BY_SENSE && row->meant && (word = row->meant(g->near.asked)))
			meant_try(g, g->near.asked, arena_printf(g->a, "%s %s", of, word));
	}
}

static void meant_walk(struct meaning *g, const struct verb *const *among, const char *before,
		       enum way way)
{
	for (; among && *among; among++) {
		const struct verb *v = *among;
		const char *command =
			arena_printf(g->a, "%s%s%s", before, *before ? " " : "", v->name);

		if (way == BY_NAME)
			meant_try(g, v->name, command);
		else if (way == BY_WORD || way == BY_FIRST)
			meant_words(g, v->words, command);
		else if (v->answer || v->run)
			meant_values(g, v, command, way);
		if (way != BY_FIRST)
			meant_walk(g, v->subs, command, way);
	}
}

const char *verb_meant(struct arena *a, const struct verb *const *among, const char *before,
		       const char *word, bool exact)
{
	struct meaning g = { .a = a, .near = near_word_to(word), .exact = true };

	for (enum way way = BY_FIRST; way < (exact ? BY_NAME : WAYS) && !g.found; way++)
		meant_walk(&g, among, before, way);
	g.exact = false;
	for (enum way way = BY_NAME; way < BY_OPTION && !g.found && !exact; way++)
		meant_walk(&g, among, before, way);
	return g.found ? g.found : g.near.word;
}
