/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Many requests at a time. Either all users begin at once (one round), or each user sends the next
 * request when the last is answered (many rounds: the first of them begins like the other case).
 * Prompts are taken between the steps of those that already run.
 */
#include <math.h>

#include "models/inference/work.h"

struct load {
	double users, running, step;
	double all, each; /* all users' prompts, one of them */
	double alone;	  /* a prompt without others */
};

/* Tokens that a step of guesses brings, and what it costs against a plain one. */
static double infer_serve_guessed(const struct ask *q, double batch, double context, double *cost)
{
	struct decode_step plain, wide;
	double a = fmin(q->accept, 0.999), tokens = (1 - pow(a, q->draft + 1)) / (1 - a);

	step_time(q, batch, context, 1, &plain);
	step_time(q, batch, context, q->draft + 1, &wide);
	*cost = wide.total + q->draft * q->draft_cost * plain.total;
	return tokens;
}

static double infer_serve_step_of(const struct ask *q, double batch, double *tokens)
{
	double context = q->depth + q->prompt + q->output / 2, cost;
	struct decode_step s;

	*tokens = 1;
	if (q->draft > 0) {
		*tokens = infer_serve_guessed(q, batch, context, &cost);
		return cost / *tokens;
	}
	step_time(q, batch, context, 1, &s);
	return s.total;
}

/* Engines, or their benchmarks, that take no prompt between the tokens of others. */
static bool prompts_first(const struct ask *q)
{
	return q->engine == ENGINE_LLAMACPP || q->engine == ENGINE_TORCH;
}

static bool many_rounds(const struct ask *q)
{
	return q->rounds > 1 && !prompts_first(q);
}

/* All begin at once: who is first waits for the others' prompts between tokens, who is last waits
 * for them before. */
static void at_once(const struct ask *q, const struct load *l, struct served *s)
{
	double n = l->running, per_prompt = l->all / n, rate = 0, wave = fmax(1, l->users / n);
	double in_chunk = fmin(1, q->chunk / fmax(1, n * q->prompt * (1 - q->cached)));
	double busy = n * q->output > 64 * n ? q->fit->v[FIT_FINISH] : 1;

	s->ttft = l->all * fmin(1, (1 + fmax(1 / n, in_chunk)) / 2);
	s->waiting = (wave - 1) / 2 * (l->all + q->output * l->step);
	if (prompts_first(q)) { /* as its benchmarks count */
		s->tpot = l->step;
		s->throughput = n * 1e3 / l->step;
		return;
	}
	for (int i = 1; i <= (int)n; i++)
		rate += 1 / (l->step + (n - i) * per_prompt * (1 - in_chunk) / fmax(q->output, 1));
	s->tpot = n / rate;
	s->throughput = n * q->output /
			((l->all * (1 - fmax(1 / n, in_chunk)) + q->output * l->step) * 1e-3);
	if (n > 1)
		s->throughput *= busy;
}

/*
 * One after the other: a token takes a step and its part of everybody's prompts. A request waits
 * for the step that runs, shares one with those that run, and its token goes out behind another.
 */
static void in_turn(const struct ask *q, const struct load *l, struct served *s)
{
	double n = l->running, out = fmax(q->output, 1), period;

	s->tpot = l->step + (n - 1) * l->each / out;
	period = l->each + out * s->tpot;
	s->ttft = l->each + (n > 1 ? q->fit->v[FIT_LAG] * l->step : 0) +
		  q->fit->v[FIT_QUEUE] * l->each * (n - 1) * l->each / period;
	s->waiting = (l->users / n - 1) * period;
}

/* All that users have asked, over what each of them waits for it: Little's law. */
static double answered(const struct ask *q, const struct load *l, const struct served *s)
{
	double out = fmax(q->output, 1);

	return 1e3 * l->users * out / (s->ttft + (out - 1) * s->tpot);
}

/* Prompts that come while another is worked on share the next chunk; where requests are long and
 * prompts rare, each has its own, and pays for reading the weights alone. */
static double one_of_several(const struct ask *q, const struct load *l)
{
	double fresh = q->prompt * (1 - q->cached), found = q->depth + q->prompt * q->cached;
	double period = l->alone + fmax(q->output, 1) * l->step, share;
	struct prompt p;

	share = fmin(l->running, fmax(1, l->running * l->alone / period));
	if (share <= 1 || fresh <= 0)
		return l->alone;
	prompt_time(q, share, fresh, found, &p);
	return p.total / share;
}

static void infer_serve_mix(const struct ask *q, const struct load *l, struct served *out)
{
	struct served once = { 0 }, turn = { 0 };
	struct load turning = *l;
	double w = 1 / fmax(1, q->rounds);

	at_once(q, l, &once);
	if (!many_rounds(q)) {
		*out = once;
		return;
	}
	turning.each = one_of_several(q, l);
	in_turn(q, &turning, &turn);
	out->ttft = w * once.ttft + (1 - w) * turn.ttft;
	out->waiting = w * once.waiting + (1 - w) * turn.waiting;
	out->tpot = turn.tpot;
}

void serve(const struct ask *q, const struct memory_footprint *m, struct served *s)
{
	struct load l = { .users = fmax(1, q->batch) };
	double fresh = q->prompt * (1 - q->cached), found = q->depth + q->prompt * q->cached,
	       tokens;
	struct prompt one, all;

	*s = (struct served){ 0 };
	/* Of what does not fit at all: as if it did. */
	l.running = m->most_requests >= 1 ? fmin(l.users, fmax(1, m->usual_requests)) : l.users;
	prompt_time(q, 1, fresh, found, &one);
	prompt_time(q, l.running, fresh, found, &all);
	l.each = l.running > 1 ? all.total / l.running : one.total;
	l.all = all.total;
	l.alone = one.total;
	l.step = infer_serve_step_of(q, l.running, &tokens);
	infer_serve_mix(q, &l, s);
	s->running = l.running;
	s->step = l.step;
	s->tokens_a_step = tokens;
	s->ttft += q->fit->v[FIT_FIRST_MS] + q->fit->v[FIT_FIRST_SEQ_MS] * (l.running - 1) +
		   s->waiting;
	if (many_rounds(q))
		s->throughput = answered(q, &l, s);
}
