/* SPDX-License-Identifier: Apache-2.0 */
/* What is measured when nobody says it: the benches that the settings' rows name. */
#include <errno.h>
#include <math.h>
#include <string.h>

#include "base/text.h"
#include "front/verbs/prove.h"

static bool is_open(const struct change *c)
{
	return c->gate == NULL;
}

/* Calls each for every word of the row; stops at the first that says true. */
static bool for_words(struct proving *g, const struct setting *s,
		      bool (*each)(struct proving *g, const char *word))
{
	const char *at = s->shown_by ? s->shown_by : "";

	while (*at) {
		size_t n = strcspn(at, " ");

		if (n && each(g, arena_strndup(&g->r->arena, at, n)))
			return true;
		at += n + (at[n] == ' ');
	}
	return false;
}

static bool names(const struct setting *s, const char *word)
{
	const char *at = s->shown_by ? s->shown_by : "";
	size_t n = strlen(word);

	while ((at = strstr(at, word)) != NULL) {
		if ((at == s->shown_by || at[-1] == ' ') && (!at[n] || at[n] == ' '))
			return true;
		at += n;
	}
	return false;
}

static bool try_word(struct proving *g, const char *word)
{
	struct err e = { 0 };
	bool named;

	if (prove_bench_window(g, word, &e) == 0)
		return true;
	/* The last one that was tried says why there is none; most of these name the bench. */
	named = strncmp(e.text, word, strcspn(word, "/")) == 0;
	g->none =
		arena_printf(&g->r->arena, "%s%s%s", named ? "" : word, named ? "" : ": ", e.text);
	return false;
}

/* How many settings name the word. */
static size_t count(const struct plan *p, const char *word)
{
	size_t n = 0;

	for (size_t i = 0; i < p->n; i++)
		n += is_open(&p->changes[i]) && names(p->changes[i].s, word) &&
		     (!i || p->changes[i - 1].s != p->changes[i].s);
	return n;
}

static bool note_word(struct proving *g, const char *word)
{
	size_t n = count(&g->planned.plan, word);

	for (size_t i = 0; i < g->n_words; i++)
		if (strcmp(g->words[i].word, word) == 0)
			return false;
	g->words = arena_grow(&g->r->arena, g->words, g->n_words, sizeof(*g->words));
	g->words[g->n_words++] = (struct proving_word){ word, n };
	return false;
}

/* The word that most settings name, of those not tried yet; NULL: there is none. */
static const char *next_word(struct proving *g)
{
	struct proving_word *best = NULL;

	for (size_t i = 0; i < g->n_words; i++)
		if (g->words[i].n && (!best || g->words[i].n > best->n))
			best = &g->words[i];
	if (!best)
		return NULL;
	best->n = 0;
	return best->word;
}

/* What the chosen bench does not show takes no part. */
static void leave_out(struct proving *g, const char *word)
{
	struct plan *p = &g->planned.plan;

	for (size_t i = 0; i < p->n; i++) {
		struct change *c = &p->changes[i];

		if (!is_open(c) || names(c->s, word))
			continue;
		c->gate = "not-shown";
		c->refusal = c->s->shown_by
				     ? arena_printf(&g->r->arena, "%s does not show it: --bench %s",
						    word, c->s->shown_by)
			     : c->s->not_shown
				     ? c->s->not_shown
				     : "no bench shows it: --command measures your own workload";
	}
}

int prove_pick_window(struct proving *g)
{
	const struct plan *p = &g->planned.plan;
	const char *word, *why = NULL;

	for (size_t i = 0; i < p->n; i++) {
		if (!is_open(&p->changes[i]))
			continue;
		for_words(g, p->changes[i].s, note_word);
		why = why ? why : p->changes[i].s->not_shown;
	}
	while ((word = next_word(g)) != NULL)
		if (try_word(g, word)) {
			leave_out(g, word);
			return 0;
		}
	return complain_text(EXIT_BLIND,
			     "none of our benches shows this here (%s); --command 'LINE' measures "
			     "a workload of yours, --bench NAME another bench",
			     g->none ? g->none
			     : why   ? why
				     : "no row names one");
}

void prove_times(const struct plan *p, bool settle, struct proof *out)
{
	for (size_t i = 0; i < p->n; i++) {
		const struct setting *s = p->changes[i].s;

		if (!is_open(&p->changes[i]))
			continue;
		out->warm_up_s = fmax(out->warm_up_s, s->warm_up_s);
		if (settle)
			out->settle_s = fmax(out->settle_s, s->settle_s);
	}
}
