/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Bytes a parameter of each part of the model that a GGUF file has, and whether its tensors have
 * the parameters that its shape counts.
 */
#include <math.h>

#include "models/inference/gguf_parts.h"

#define SAID 0.01 /* more than this part of what is read is said */

/* A part as the tensors have it, and as the shape counts it. */
struct part {
	const char *name;
	struct gguf_sum has;
	double counted;
	double *each;
};

/* Every token reads what is in none of the parts (norms, biases), and routers beyond two bytes. */
static double spread(const struct gguf_tensors *t, const struct arch_parts *c,
		     const struct part *parts, size_t n)
{
	double rest = t->other.bytes + t->router.bytes - 2 * c->router, kept = 0;

	for (size_t i = 0; i < n; i++)
		if (parts[i].counted > 0)
			kept += parts[i].has.bytes;
		else
			rest += parts[i].has.bytes;
	return kept > 0 ? fmax(0, 1 + rest / kept) : 1;
}

/* For parts that the model has not. */
static double average(const struct part *parts, size_t n)
{
	struct gguf_sum sum = { 0 };

	for (size_t i = 0; i < n; i++) {
		sum.params += parts[i].has.params;
		sum.bytes += parts[i].has.bytes;
	}
	return sum.params > 0 ? sum.bytes / sum.params : 2;
}

static void compare(struct arena *a, const struct part *p, double enough, struct gguf_said *said)
{
	if (fabs(p->has.params - p->counted) > enough)
		gguf_doubt(a, said,
			   arena_printf(
				   a,
				   "its tensors have %.3g G parameters of %s, where its keys "
				   "give %.3g G: bytes are by the tensors, operations by the keys",
				   p->has.params / 1e9, p->name, p->counted / 1e9));
}

static void say_rest(struct arena *a, const struct gguf_tensors *t, double dense,
		     struct gguf_said *said)
{
	if (t->other.params > SAID * dense)
		gguf_doubt(
			a, said,
			arena_printf(a,
				     "%.3g G parameters are in tensors of other kinds: counted as "
				     "read for each token",
				     t->other.params / 1e9));
	if (t->guess.params > 0)
		gguf_say(a, said,
			 arena_printf(a, "%.2f GB of layers for guesses alone are left out",
				      t->guess.bytes / 1e9));
}

void gguf_format(struct arena *a, const struct gguf_tensors *t, const struct arch *s,
		 struct format *f, struct gguf_said *said)
{
	struct arch_parts c = arch_parts(s);
	struct part parts[] = {
		{ "attention", t->attention, c.attention, &f->attention },
		{ "layers with a state", t->linear, c.linear, &f->linear },
		{ "dense blocks", t->dense, c.dense, &f->dense },
		{ "shared experts", t->shared, c.shared, &f->shared },
	};
	struct part experts = { "experts", t->experts, c.experts, &f->experts };
	size_t n = sizeof(parts) / sizeof(parts[0]);
	double more = spread(t, &c, parts, n), dense = t->other.params + c.head;
	const struct gguf_sum *head = s->tied ? &t->embed : &t->head;
	double embeds = c.embed + c.aside, all = average(parts, n);

	*f = (struct format){ .name = arena_printf(a, "%s (by its header)", t->most),
			      .math = MATH_GGML,
			      .gguf = true,
			      .experts = all,
			      .dense = all,
			      .shared = all,
			      .attention = all,
			      .linear = all,
			      .embed = 2,
			      .head = head->bytes / c.head };
	for (size_t i = 0; i < n; i++) {
		dense += parts[i].has.params;
		if (parts[i].counted > 0)
			*parts[i].each = more * parts[i].has.bytes / parts[i].counted;
	}
	if (c.experts > 0)
		f->experts = t->experts.bytes / c.experts;
	if (embeds > 0)
		f->embed = (t->aside.bytes + (s->tied ? 0 : t->embed.bytes)) / embeds;
	for (size_t i = 0; i < n; i++)
		compare(a, &parts[i], SAID * dense, said);
	compare(a, &experts, SAID * c.experts, said);
	say_rest(a, t, dense, said);
}
