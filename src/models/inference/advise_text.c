/* SPDX-License-Identifier: Apache-2.0 */
/* What each change is paid with, and what has to be measured before it is believed. */
#include <math.h>

#include "models/inference/advise_parts.h"

static const struct sentences {
	const char *trade, *measure;
} texts[CHANGES] = {
	[CHANGE_WEIGHTS] = { "answers change: how much is not predicted, and depends on the model "
			     "and how it was quantised",
			     "your own tasks, or an evaluation of the model's card, with both "
			     "formats; then time a token at this number of requests" },
	[CHANGE_CACHE] = { "answers over long contexts may change: not predicted; needs an engine "
			   "and attention kernels that take it",
			   "your own tasks at the longest context you use; time a token there" },
	[CHANGE_LAYOUT] = { "fewer GPUs a request make each token slower, more of them pay "
			    "all-reduces",
			    "time a token and to the first one, at this number of requests, with "
			    "both" },
	[CHANGE_MACHINES] = { "more machines to pay for, to keep alike and to cool; one that fails "
			      "stops all of a tensor-parallel group",
			      "\"bench collectives\" between the machines at the message sizes of "
			      "--explain, then time a token" },
	[CHANGE_USERS] = { "the more at a time, the longer each waits for a token; fewer at a time "
			   "make others wait in line",
			   "time a token and to the first one, and tokens a second, at both "
			   "numbers" },
	[CHANGE_DRAFT] = { "a draft model or head to be loaded (not in the memory shown); loses "
			   "where many requests already keep the GPU multiplying",
			   "the part of guesses that are right on your own requests: engines "
			   "count it" },
	[CHANGE_PREFIX] = { "nothing where prompts share no beginning; cached prompts take memory "
			    "that requests could have",
			    "the hit rate of the engine's prefix cache under your own requests" },
	[CHANGE_CHUNK] = { "larger chunks need more memory and hold up the tokens of others, "
			   "smaller ones read the weights more often",
			   "time to first token and between tokens under load with both" },
	[CHANGE_GRAPHS] = { "memory for the graphs, and a longer start", "time a token with both" },
	[CHANGE_ENGINE] = { "another program to run: features, models and formats differ",
			    "the same requests against both" },
	[CHANGE_MODEL] = { "another model: what it can do is not compared here",
			   "your own tasks with both models" },
	[CHANGE_CLOCK] = { "power and heat; nothing for what memory limits",
			   "\"prove gpu.clocks\" with your own workload" },
	[CHANGE_SEVERAL] = { "what each part is paid with, together",
			     "each part by itself first, then all: what does not show alone "
			     "hides in a mixture" },
};

/* "first token 1.4 x later": what else gets worse, for whoever looks at the goal alone. */
static const char *worse(struct adviser *v, const struct change *c)
{
	static const struct {
		const char *what, *unit;
		bool turned;
	} names[GOALS] = { { "a whole answer takes", " times as long", true },
			   { "the first token takes", " times as long", true },
			   { "tokens a second of all fall to", " of what they were", false },
			   { "requests that fit fall to", " of what they were", false } };
	const char *text = "";

	for (int g = 0; g < GOALS; g++) {
		double gain = c->gain[g].value;

		if (g == (int)v->out->goal || gain <= 0 || gain > 0.97)
			continue;
		text = arena_printf(v->arena, "%s; %s %.2f%s", text, names[g].what,
				    names[g].turned ? 1 / gain : gain, names[g].unit);
	}
	return text;
}

static const char *memory(struct adviser *v, const struct change *c)
{
	double before = v->out->now.bytes / 1e9, after = c->after.bytes / 1e9;

	if (fabs(after - before) < 0.05 * before)
		return "";
	return arena_printf(v->arena, "; memory of a GPU %.1f instead of %.1f GB", after, before);
}

void advise_words(struct adviser *v, const struct trial *t, struct change *c)
{
	const struct sentences *s = &texts[t->kind];
	const char *note = t->way->q.ask.weights->note;
	bool weights = t->kind == CHANGE_WEIGHTS || t->kinds & 1u << CHANGE_WEIGHTS;

	c->trade = arena_printf(v->arena, "%s%s%s%s%s", s->trade, weights && note ? "; kept: " : "",
				weights && note ? note : "", memory(v, c), worse(v, c));
	c->measure = s->measure;
}

static void note(struct adviser *v, const char *text)
{
	if (v->out->n_notes < ADVICE_NOTES)
		v->out->notes[v->out->n_notes++] = text;
}

void advise_notes(struct adviser *v)
{
	const struct prediction *p = &v->out->before;
	const struct prompt *r = &p->prompt;

	if (!v->out->now.fits)
		note(v, "what is asked does not fit, so there is nothing that a change could be "
			"compared with: changes are ordered by what they reach");
	if (p->q.arch.experts)
		note(v, "not predicted: expert parallelism over more GPUs than share the other "
			"weights, and data parallelism of attention; measure them");
	note(v, "not predicted: separate machines for prompts and for answers");
	note(v, arena_printf(v->arena,
			     "GPU clocks: only multiplying gets shorter with a higher clock, and "
			     "counts for %.2f of %.2f ms a step and %.1f of %.1f ms a prompt%s",
			     p->step.compute > p->step.memory ? p->step.compute : 0, p->step.total,
			     r->multiply + r->attention, r->total,
			     v->facts->clock_max > 0 ? "" : "; no machine was looked at"));
	if (p->q.arch.guessed)
		note(v, "the model's shape is a guess: its intervals are wider, those of gains are "
			"not");
}
