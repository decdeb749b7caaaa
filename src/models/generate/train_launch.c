/* SPDX-License-Identifier: Apache-2.0 */
/*
 * OMP_NUM_THREADS, which torchrun sets to 1 where nobody does; --numa-binding of torchrun (PyTorch
 * 2.9, docs.pytorch.org/docs/2.9/elastic/numa.html; it needs numactl), read 2026-11-21.
 */
#include "models/generate/train_launch.h"

#include <string.h>

#include "base/text.h"
#include "models/generate/train_files.h"

static void threads(struct arena *a, const struct train_setup *s, struct gen_env *e)
{
	e->vars = arena_grow(a, e->vars, e->n, sizeof(*e->vars));
	e->vars[e->n++] = (struct gen_var){ .name = "OMP_NUM_THREADS",
					    .value = arena_printf(a, "%d", s->threads),
					    .library = "OpenMP, PyTorch",
					    .reason = s->threads_why };
}

/* In front of what is started, which is the word with this reason. */
static void bind(struct arena *a, const struct train_setup *s, struct gen_command *c)
{
	size_t at = 0;

	while (at < c->n &&
	       !(c->words[at].reason && str_starts(c->words[at].reason, "what is started")))
		at++;
	if (at == c->n || c->n >= GEN_WORDS_MAX)
		return;
	gen_word_add(a, c, "", NULL);
	memmove(&c->words[at + 1], &c->words[at], (c->n - 1 - at) * sizeof(*c->words));
	c->words[at] = (struct gen_word){
		"--numa-binding=node",
		arena_printf(a,
			     "%d NUMA nodes: each process stays on the CPUs of its GPU (PyTorch "
			     "2.9 and later, with numactl; take it out for older ones)",
			     s->numa_nodes)
	};
}

void train_launch_fill(struct arena *a, const struct train_setup *s, struct gen_envs *envs,
		       struct gen_launch *l)
{
	struct train_items items = { 0 };

	for (size_t i = 0; i < envs->c->n; i++)
		threads(a, s, &envs->of[i]);
	for (size_t i = 0; i < l->n && s->numa_nodes > 1; i++)
		bind(a, s, &l->commands[i]);
	if (!s->fits) {
		gen_note_add(a, l, arena_printf(a, "it does not fit: %s", s->fits_why));
		return;
	}
	train_items_trainer(a, s, &items);
	gen_note_add(a, l,
		     arena_printf(a, "predicted: %.4g tokens/s (%.4g to %.4g) with %s",
				  s->after->tokens_s.value, s->after->tokens_s.low,
				  s->after->tokens_s.high, train_way_names[s->after->q.way]));
	for (size_t i = 0; i < items.n; i++)
		gen_note_add(a, l,
			     arena_printf(a, "for the program: --%s %s (%s)", items.at[i].path,
					  items.at[i].value, items.at[i].reason));
}
