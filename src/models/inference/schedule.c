/* SPDX-License-Identifier: Apache-2.0 */
/* The loop over events, and the tables of times that it goes by. */
#include "models/inference/schedule.h"

#include <math.h>
#include <stdint.h>

#include "base/stat.h"

#define POINTS 12
/* What is simulated at most: 10 ms of a processor. */
#define REQUESTS 2000
#define SEQUENCES 1024 /* maximum concurrency of an engine */
#define EVENTS 200000
/* Of requests that come at a rate. */
#define SECONDS 120.0
/* Answers are so much shorter or longer, at random: those of 80 to 100 % of a stated length, as
 * benchmarks of servers draw them. */
#define VARIED 0.11

/* CPU time of a token in SGLang's process that passes text in and answers on, us: its highest rates
 * with Llama-3.1-8B on H200. Other engines' are taken as endless. */
#define FRONT_US 50

/* Times at powers of two, with straight lines between them. */
struct line {
	double at[POINTS], value[POINTS];
};

static double line_value(const struct line *l, double x)
{
	int i = 0;

	while (i + 2 < POINTS && l->at[i + 1] < x)
		i++;
	return l->value[i] +
	       (l->value[i + 1] - l->value[i]) * (x - l->at[i]) / (l->at[i + 1] - l->at[i]);
}

/* What a step and a chunk take. */
struct times {
	struct line step, context; /* of so many sequences; its growth with each token of context */
	struct line chunk;	   /* of so many tokens of prompts */
	double tokens;		   /* that a step brings each sequence */
};

struct request {
	double arrived, ready, first, done; /* ready: in tokens */
	double left;			    /* tokens of its prompt that are to be taken */
	double made;			    /* tokens that it had when it was preempted */
	double out;			    /* tokens of its answer */
};

struct simulation {
	const struct ask *q;
	struct times t;
	struct request *all;
	int n, users, limit, issued, answered, first_waiting;
	int *running; /* in the order of admission; those before decoding have their prompt */
	double *ends; /* of them: steps, counted from the beginning, at which each is answered */
	int n_running, n_prompts, *queue, n_queue;
	double now, steps, context; /* context: sum over those that decode */
	double next_end;	    /* steps at which the first of them is answered, or before */
	double used, most, per_token, fixed, fresh, found, out, reserved; /* of an answer */
	double busy, area, waited; /* waited: ms until admission */
	double front;  /* until then the front end has tokens and prompts that came before */
	double polled; /* steps at which new requests were last looked for */
	bool held;     /* there is one that waits for the next look */
	double ahead;  /* part of answers not yet made for which SGLang keeps memory */
	double rates;  /* tokens a ms of each request, mean */
	int preempted, peak;
	bool mean_alone; /* no percentiles */
	uint64_t seed;
};

/* Engines, or their benchmarks, that take no prompt between the tokens of others. */
static bool prompts_first(const struct ask *q)
{
	return q->engine == ENGINE_LLAMACPP || q->engine == ENGINE_TORCH;
}

/* SGLang stops decoding for prompts by default. */
static bool prompts_alone(const struct ask *q)
{
	return q->engine == ENGINE_SGLANG;
}

/* Whether requests come one after another, each among others that run. */
static bool in_turn(const struct ask *q)
{
	return q->rate > 0 || (q->batch > 1 && q->rounds > 1 && !prompts_first(q));
}

/* A speculative step brings more than one token, for its price. */
static double step_of(const struct ask *q, double batch, double context, double *tokens)
{
	double each = fmax(1, batch / q->pp), a = fmin(q->accept, 0.999);
	struct decode_step plain, wide;

	/* Stages work on groups side by side: a sequence waits for its group's way through all. */
	step_time(q, each, context, 1, &plain);
	*tokens = 1;
	if (q->draft <= 0)
		return plain.total;
	*tokens = (1 - pow(a, q->draft + 1)) / (1 - a);
	step_time(q, each, context, q->draft + 1, &wide);
	return wide.total + q->draft * q->draft_cost * plain.total;
}

static void tables(struct simulation *s)
{
	const struct ask *q = s->q;
	double low = s->found + s->fresh, high = low + fmax(1, s->out), tokens;
	struct prompt p;

	for (int i = 0; i < POINTS; i++) {
		double b = pow(2, i) > SEQUENCES ? SEQUENCES : pow(2, i), at_low, at_high;

		at_low = step_of(q, b, low, &s->t.tokens);
		at_high = step_of(q, b, high, &tokens);
		s->t.step.at[i] = s->t.context.at[i] = b + i * 1e-9;
		s->t.context.value[i] = (at_high - at_low) / (high - low);
		s->t.step.value[i] = at_low - s->t.context.value[i] * low;
		s->t.chunk.at[i] = q->chunk * q->dp * pow(2, i - POINTS + 1);
		prompt_time(q, s->t.chunk.at[i] / fmax(1, s->fresh), fmax(1, s->fresh), s->found,
			    &p);
		s->t.chunk.value[i] = p.total;
	}
}

static double decode_ms(const struct simulation *s, int n, double context)
{
	return n ? line_value(&s->t.step, n) + line_value(&s->t.context, n) * context / n : 0;
}

static double uniform(struct simulation *s)
{
	/* Knuth's MMIX. */
	s->seed = s->seed * 6364136223846793005u + 1442695040888963407u;
	return ((double)(s->seed >> 11) + 0.5) / 9007199254740992.0;
}

/* When users see what SGLang has made: one process passes everything on, in order. */
static double seen_by_users(const struct simulation *s, double at)
{
	return prompts_alone(s->q) && in_turn(s->q) ? fmax(at, s->front) : at;
}

/* Another request, in a second or so where they come at a rate. */
static void issue(struct simulation *s, double at)
{
	struct request *r = &s->all[s->issued];

	/* Answers are not equally long: those that begin together do not end together. */
	*r = (struct request){ .arrived = at, .left = s->fresh, .out = s->out };
	if (in_turn(s->q))
		r->out = fmax(1, round(s->out * (1 + VARIED * (2 * uniform(s) - 1))));
	/* One tokenizer takes them one after the other; few who begin together start together. */
	s->front = (in_turn(s->q) ? fmax(s->front, at) : at) +
		   1e-3 * s->q->fit->v[FIT_TOKEN_US] * s->q->prompt;
	r->ready = s->front;
	s->queue[s->n_queue++] = s->issued++;
}

static double cache_of_request(const struct simulation *s, double tokens)
{
	return s->fixed + s->per_token * fmax(tokens, s->found + s->fresh + s->reserved);
}

/* What so many tokens more of all who decode take. */
static double cache_of_tokens(const struct simulation *s, double tokens)
{
	return s->reserved > 0 ? 0 : s->per_token * tokens;
}

static int decoding(const struct simulation *s)
{
	return s->n_running - s->n_prompts;
}

/* Steps until new requests are looked for; at once behind a prompt, and where nothing decodes. */
static double steps_to_poll(const struct simulation *s)
{
	return s->q->poll && decoding(s) ? fmax(0, s->polled + s->q->poll - s->steps) : 0;
}

/* SGLang keeps room for 4096 tokens of another answer, and for a part of what the others lack. */
static double held_back(const struct simulation *s)
{
	double left = decoding(s) * (s->found + s->fresh + s->out) - s->context;

	return prompts_alone(s->q) ? s->per_token * (fmin(s->out, 4096) + s->ahead * left) : 0;
}

/*
 * SGLang looks for requests each few steps. TensorRT-LLM holds them for so many steps from when the
 * first has come, or until one group has eight tenths of a chunk, or each of several a request: it
 * goes where the last answer ended, which is a group at random.
 */
static bool prompts_held(struct simulation *s)
{
	double groups = s->q->dp,
	       enough = groups > 1 ? groups * (log(groups) + 0.58) : 0.8 * s->q->chunk / s->fresh;
	int first = s->first_waiting, n = first;

	if (prompts_alone(s->q) || !s->q->poll)
		return steps_to_poll(s) > 0;
	while (n < s->n_queue && s->all[s->queue[n]].ready <= s->now)
		n++;
	if (!s->held)
		s->polled = s->steps;
	s->held = n > first;
	return steps_to_poll(s) > 0 && n - first < enough;
}

/* Those that have come are admitted while what they bring fits now. */
static void admit(struct simulation *s)
{
	if (prompts_held(s))
		return;
	s->polled = s->steps;
	while (s->first_waiting < s->n_queue && s->n_running < s->limit) {
		int i = s->queue[s->first_waiting];
		struct request *r = &s->all[i];
		double need = cache_of_request(s, s->found + s->fresh + r->made);

		if (r->ready > s->now || (s->n_running && s->used + need + held_back(s) > s->most))
			return;
		s->used += need;
		s->waited += r->first > 0 ? 0 : s->now - r->arrived;
		s->ends[s->n_running] = INFINITY;
		s->running[s->n_running++] = i;
		s->peak = s->n_running > s->peak ? s->n_running : s->peak;
		s->n_prompts++;
		s->first_waiting++;
	}
}

/* The last one that was admitted gives its cache back and is computed again. */
static void preempt(struct simulation *s)
{
	int i = s->running[--s->n_running];
	struct request *r = &s->all[i];

	if (r->left > 0) {
		s->n_prompts--;
	} else {
		r->made = r->out - (s->ends[s->n_running] - s->steps) * s->t.tokens;
		s->context -= s->found + s->fresh + r->made;
	}
	s->used -= cache_of_request(s, s->found + s->fresh + r->made);
	r->left = s->fresh + r->made;
	s->queue[--s->first_waiting] = i;
	s->preempted++;
	s->ahead =
		fmax(s->ahead, (s->context / fmax(1, decoding(s)) - s->found - s->fresh) / s->out);
}

/* What it has when it is answered: steps of several tokens pass the end. */
static double tokens_at_end(const struct simulation *s, const struct request *r)
{
	double begun = fmin(r->out, 1 + r->made);

	return begun + ceil((r->out - begun) / s->t.tokens - 1e-9) * s->t.tokens;
}

/* Steps that all who decode take, each of so many ms. */
static void pass(struct simulation *s, double steps, double ms)
{
	int n = decoding(s);

	if (prompts_alone(s->q))
		s->front = fmax(s->front + steps * n * 1e-3 * FRONT_US, s->now + ms);
	s->steps += steps;
	s->ahead = fmax(0.098, s->ahead - 0.001 * steps);
	s->now += ms;
	s->area += ms * s->n_running;
	s->busy += ms;
	s->context += n * steps * s->t.tokens;
	s->used += cache_of_tokens(s, n * steps * s->t.tokens);
}

static void leave(struct simulation *s)
{
	int kept = 0;

	if (s->next_end > s->steps + 1e-6)
		return;
	s->next_end = INFINITY;
	for (int k = 0; k < s->n_running; k++) {
		struct request *r;

		if (s->ends[k] > s->steps + 1e-6) {
			s->running[kept] = s->running[k];
			s->ends[kept++] = s->ends[k];
			if (s->ends[k] < s->next_end)
				s->next_end = s->ends[k];
			continue;
		}
		r = &s->all[s->running[k]];
		r->done = seen_by_users(s, s->now);
		s->answered++;
		s->context -= s->found + s->fresh + tokens_at_end(s, r);
		s->used -= cache_of_request(s, s->found + s->fresh + tokens_at_end(s, r));
		if (s->q->rate <= 0 && s->issued < s->n)
			issue(s, r->done);
	}
	s->n_running = kept;
}

/* Prompts, first come first, up to a chunk, of which each who decodes takes a token; who has no
 * more begins to decode. */
static double prompts_taken(struct simulation *s, int *done, int *n_done)
{
	double all = s->q->chunk * s->q->dp, taken = 0,
	       chunk = prompts_alone(s->q) ? all : fmax(all / 2, all - decoding(s));
	bool whole = s->q->engine == ENGINE_TRTLLM; /* no chunked prefill by default */

	/* Who was admitted first has its prompt first: those without stand at the end. */
	for (int k = decoding(s); k < s->n_running && taken < chunk - 1e-6; k++) {
		struct request *r = &s->all[s->running[k]];
		double m = fmin(r->left, chunk - taken);

		if (whole && taken > 0 && m < r->left)
			break;
		r->left -= m;
		taken += m;
		if (r->left <= 1e-6)
			done[(*n_done)++] = k;
	}
	return taken;
}

static void begin_to_decode(struct simulation *s, const int *done, int n)
{
	for (int k = 0; k < n; k++) {
		struct request *r = &s->all[s->running[done[k]]];
		double tokens = fmax(0, r->out - 1 - r->made);

		r->left = 0;
		if (r->first <= 0)
			r->first = seen_by_users(s, s->now);
		s->ends[done[k]] = s->steps + ceil(tokens / s->t.tokens - 1e-9);
		s->next_end = fmin(s->next_end, s->ends[done[k]]);
		s->context += s->found + s->fresh + r->out - tokens;
		s->used += cache_of_tokens(s, r->out - tokens - r->made);
		s->n_prompts--;
	}
}

/* Steps that n who decode can take in the cache that is free. */
static double steps_in_room(const struct simulation *s, int n)
{
	double each = cache_of_tokens(s, n * s->t.tokens);

	return each > 0 && n > 1 ? floor((s->most - s->used) / each) : INFINITY;
}

/* Decode steps only, until a request arrives, completes, or is preempted. */
static void decode_only(struct simulation *s)
{
	int n = decoding(s);
	double steps = s->next_end - s->steps, room = steps_in_room(s, n), next, held;

	if (room < 1 && steps > 1) {
		/* The others take a step before any is admitted: what it gave back is theirs. */
		preempt(s);
		room = steps_in_room(s, --n);
	}
	steps = fmax(1, fmin(steps, room));
	next = s->first_waiting < s->n_queue ? s->all[s->queue[s->first_waiting]].ready : 0;
	held = steps_to_poll(s) / (prompts_alone(s->q) ? 1 : 8); /* who comes meanwhile counts */
	if (next > s->now || (next > 0 && held > 0))
		steps = fmin(steps, fmax(fmax(1, ceil(held)),
					 ceil((next - s->now) / decode_ms(s, n, s->context))));
	/* On average half of them are in the cache. */
	pass(s, steps, steps * decode_ms(s, n, s->context + n * steps * s->t.tokens / 2));
	leave(s);
}

/*
 * A step with m tokens of prompts and n who decode. One pass through the model takes both: weights
 * are read and kernels launched once, and of those who decode the cache is read besides.
 */
static double prompts_ms(const struct simulation *s, double m, int n)
{
	double alone = line_value(&s->t.chunk, m);

	if (!n || prompts_alone(s->q))
		return alone;
	if (prompts_first(s->q))
		return alone + decode_ms(s, n, s->context);
	return fmax(decode_ms(s, n, s->context),
		    line_value(&s->t.chunk, m + n) + line_value(&s->t.context, n) * s->context / n);
}

static void one_event(struct simulation *s, int *done)
{
	int n_done = 0, n = decoding(s);
	double m, ms;

	admit(s);
	if (!s->n_running) {
		s->now = fmax(s->now, s->all[s->queue[s->first_waiting]].ready);
		return;
	}
	if (!s->n_prompts) {
		decode_only(s);
		return;
	}
	m = prompts_taken(s, done, &n_done);
	ms = prompts_ms(s, m, n);
	pass(s, n && !prompts_alone(s->q) ? 1 : 0, ms);
	s->polled = s->steps - (prompts_alone(s->q) ? s->q->poll : 0);
	begin_to_decode(s, done, n_done);
	leave(s);
}

/* Of fewer requests than were asked for, those that began together count as they would of all. */
static struct percentiles of_all(const struct simulation *s, double *v, int n)
{
	double all = s->users * fmax(1, s->q->rounds), together = 1;
	struct percentiles p = { 0 };

	if (n < 1)
		return p;
	if (in_turn(s->q) && s->q->rate <= 0 && n > s->users && all > n)
		together = n / all;
	for (int i = 0; i < n; i++)
		p.mean += v[i] *
			  (i < s->users ? together : (n - together * s->users) / (n - s->users)) /
			  n;
	if (s->mean_alone)
		return p;
	stat_sort(v, (size_t)n);
	p.p50 = v[(n - 1) / 2];
	p.p95 = v[(int)(0.95 * (n - 1) + 0.5)];
	p.p99 = v[(int)(0.99 * (n - 1) + 0.5)];
	return p;
}

/* Answers a second between the fifth and the last fifth of them. */
static double middle_rate(const struct simulation *s, double *v)
{
	int n = 0, from, to;

	for (int i = 0; i < s->n; i++)
		if (s->all[i].done > 0)
			v[n++] = s->all[i].done;
	stat_sort(v, (size_t)n);
	from = n / 5;
	to = n - 1 - n / 5;
	return to > from && v[to] > v[from] ? 1e3 * (to - from) / (v[to] - v[from]) : 0;
}

/* What the way to the engine and back costs besides. */
static void measure(struct arena *a, struct simulation *s, struct schedule *out)
{
	double *v = arena_array(a, (size_t)s->n, sizeof(*v)), first = 0, last = 0, begun,
	       extra = s->q->fit->v[FIT_FIRST_MS];
	int from = s->q->rate > 0 ? s->n / 10 : 0, n = 0;

	if (in_turn(s->q) && out->running > 1.5)
		extra += s->q->fit->v[FIT_LAG] *
			 step_of(s->q, out->running, s->found + s->fresh + s->out / 2, &begun);
	for (int k = 0; k < 3; k++) {
		n = 0;
		for (int i = from; i < s->n; i++) {
			const struct request *r = &s->all[i];
			double ttft = r->first - r->arrived + extra;

			if (r->done <= 0)
				continue;
			v[n++] = k == 0	  ? ttft
				 : k == 1 ? (r->done - r->first) / fmax(1, r->out - 1)
					  : r->done - r->arrived + extra;
			if (k == 1)
				s->rates += 1 / fmax(1e-9, v[n - 1]);
			/* Of users who begin together the time before any token counts not. */
			begun = in_turn(s->q) ? r->arrived : r->first;
			first = n == 1 ? begun : fmin(first, begun);
			last = fmax(last, r->done);
		}
		*(k == 0 ? &out->ttft : k == 1 ? &out->tpot : &out->e2e) = of_all(s, v, n);
	}
	out->requests = n;
	out->rate = last > first ? 1e3 * n / (last - first) : 0;
	if (s->q->rate > 0) /* neither filling nor emptying */
		out->rate = middle_rate(s, v);
	out->throughput = out->rate * s->out;
	out->behind = s->q->rate > 0 && out->rate < 0.85 * s->q->rate;
}

static void begin(struct arena *a, struct simulation *s, const struct memory_footprint *m)
{
	const struct ask *q = s->q;
	double each = m->per_sequence, whole = q->depth + q->prompt + q->output, at = 0;

	s->fresh = q->prompt * (1 - q->cached);
	s->found = q->depth + q->prompt * q->cached;
	s->out = fmax(1, q->output);
	s->per_token = m->per_token;
	s->fixed = fmax(0, each - m->per_token * whole);
	s->most = m->most_requests >= 1 ? m->usual_cache : INFINITY;
	s->users = q->batch > 1 ? q->batch : 1;
	/* TensorRT-LLM does not preempt by default: it reserves whole answers. */
	s->reserved = q->engine == ENGINE_TRTLLM ? s->out : 0;
	s->n = (int)fmin(REQUESTS, q->rate > 0	? fmax(300, q->rate * SECONDS)
				   : in_turn(q) ? s->users * fmax(1, q->rounds)
						: s->users);
	s->n = s->n < s->users && q->rate <= 0 ? s->users : s->n;
	s->all = arena_array(a, (size_t)s->n, sizeof(*s->all));
	s->queue = arena_array(a, 2 * (size_t)s->n, sizeof(*s->queue));
	s->running = arena_array(a, SEQUENCES + 1, sizeof(*s->running));
	s->ends = arena_array(a, SEQUENCES + 1, sizeof(*s->ends));
	s->seed = 20261127;
	s->next_end = INFINITY;
	s->ahead = 0.7;
	/* With a rate, the concurrency asked for is the engine's limit. */
	s->limit = (int)fmin(SEQUENCES, q->places > 0		      ? q->places
					: q->rate > 0 && q->batch > 1 ? q->batch
								      : SEQUENCES);
	tables(s);
	for (int i = 0; i < s->n && (q->rate > 0 || i < s->users); i++) {
		issue(s, at);
		if (q->rate > 0)
			at += -1e3 * log(uniform(s)) / q->rate;
	}
	/* Those that come at a rate are issued ahead: the front end has none of them yet. */
	s->front = q->rate > 0 ? 0 : s->front;
}

static void schedule_run(struct arena *a, struct simulation *s, const struct memory_footprint *m,
			 struct schedule *out)
{
	int *done = arena_array(a, SEQUENCES + 1, sizeof(*done));

	*out = (struct schedule){ 0 };
	begin(a, s, m);
	for (int i = 0; s->answered < s->n && i < EVENTS; i++)
		one_event(s, done);
	out->running = s->busy > 0 ? s->area / s->busy : 0;
	out->preempted = s->preempted;
	measure(a, s, out);
}

static double step_alone(const struct ask *q, double running, double *tokens)
{
	double ms = step_of(q, running, q->depth + q->prompt + q->output / 2, tokens);

	return ms / *tokens;
}

/* How long each of the users is in a queue, waiting included, who is so long away from it: mean
 * value analysis, exact for a closed network (Reiser and Lavenberg, 1980). */
static double time_in_queue(int users, double each, double away)
{
	double time = 0, queue = 0;

	for (int n = 1; n <= users; n++) {
		time = each * (1 + queue);
		queue = n * time / (time + away);
	}
	return time;
}

/* Engines that take prompts and hand their cache on to others that decode. */
static void serve_apart(const struct ask *q, const struct memory_footprint *m, struct served *s)
{
	double fresh = q->prompt * (1 - q->cached), found = q->depth + q->prompt * q->cached;
	double out = fmax(1, q->output), decoding = q->batch, waiting = 0, held = 0, way = 0;
	double places = fmax(1, m->usual_requests) * q->decodes, each, together, step;
	struct ask first = ask_of_prompts(q);
	struct prompt one, full;

	*s = (struct served){ 0 };
	prompt_time(&first, 1, fresh, found, &one);
	together = first.dp * fmax(1, floor(q->chunk / fmax(1, fresh)));
	prompt_time(&first, together, fresh, found, &full);
	each = full.total / together / q->prefills;
	step = one.total;
	if (q->places > 0)
		places = fmin(places, q->places);
	for (int round = 0; round < 10; round++) {
		/* A request passes two engines. Groups step together, and it comes in the middle.
		 */
		way = 2 * q->fit->v[FIT_FIRST_MS] + 1e-3 * q->fit->v[FIT_TOKEN_US] * q->prompt +
		      (first.dp > 1) * 1.5 * fmax(0, step - each) +
		      1e3 * m->per_token * q->tp * (found + fresh) / (NETWORK_SERVER * 1e9);
		s->running = fmax(1, fmin(decoding, places) / q->decodes);
		s->step = step_alone(q, s->running, &s->tokens_a_step);
		/* Who has its prompt waits for a place to decode. */
		held = fmax(0, (q->batch / places - 1) * out * s->step - way - waiting);
		waiting = time_in_queue(q->batch, each, way + held + out * s->step);
		s->ttft = way + held + waiting;
		decoding = (decoding + q->batch * out * s->step / (s->ttft + out * s->step)) / 2;
		/* All groups step together, the longer the more they have to do. */
		step = one.total + fmax(0, full.total - one.total) *
					   fmin(1, q->batch * each / (s->ttft + out * s->step));
	}
	/* All begin together, and each user's first request waits for half of the others'. */
	waiting += fmax(0, q->batch * each / 2 - waiting) / fmax(1, q->rounds);
	s->tpot = s->step;
	s->waiting = waiting - each;
	s->ttft = way + waiting + held + q->fit->v[FIT_LAG] * s->step;
	s->throughput = 1e3 * q->batch * out / (s->ttft + out * s->tpot);
	s->crowding = fmax(1, s->ttft / (way + each));
}

void serve(struct arena *a, const struct ask *q, const struct memory_footprint *m, struct served *s,
	   struct schedule *out)
{
	struct simulation sim = { .q = q, .mean_alone = !out };
	struct schedule own;
	struct prompt one;

	if (out)
		*out = (struct schedule){ 0 };
	if (q->prefills > 0) {
		serve_apart(q, m, s);
		return;
	}
	out = out ? out : &own;
	schedule_run(a, &sim, m, out);
	*s = (struct served){ .ttft = out->ttft.mean,
			      /* Users who begin together report the mean of their rates. */
			      .tpot = in_turn(q) || !(sim.rates > 0) ? out->tpot.mean
								     : out->requests / sim.rates,
			      .throughput = out->throughput,
			      .running = q->rate > 0 ? fmax(1, round(out->running)) : sim.peak,
			      .waiting = sim.waited / sim.n };
	s->step = step_alone(q, s->running, &s->tokens_a_step);
	prompt_time(q, 1, sim.fresh, sim.found, &one);
	s->crowding = fmax(1, s->ttft / (one.total + q->fit->v[FIT_FIRST_MS] +
					 1e-3 * q->fit->v[FIT_TOKEN_US] * q->prompt));
	if (prompts_first(q)) { /* as its benchmarks count */
		s->tpot = s->step;
		s->throughput = s->running * 1e3 / s->step;
	}
	if (q->rate <= 0 && (q->batch <= 1 || prompts_first(q)))
		out->requests = 0; /* nothing that differs between requests */
}

void serve_steady(const struct ask *q, const struct memory_footprint *m, struct served *s)
{
	double users = fmax(1, q->batch), out = fmax(1, q->output), n = users, each;
	double fresh = q->prompt * (1 - q->cached), found = q->depth + q->prompt * q->cached;
	bool once = q->rounds <= 1 || prompts_first(q);
	struct prompt one, all;

	*s = (struct served){ 0 };
	if (m->most_requests >= 1) /* of what does not fit at all: as if it did */
		n = fmin(users, fmax(1, m->usual_requests));
	prompt_time(q, 1, fresh, found, &one);
	prompt_time(q, n, fresh, found, &all);
	each = all.total / n;
	s->running = n;
	s->step = step_alone(q, n, &s->tokens_a_step);
	s->tpot = s->step + (prompts_first(q) ? 0 : (n - 1) * each / out);
	s->ttft = q->fit->v[FIT_FIRST_MS] + 1e-3 * q->fit->v[FIT_TOKEN_US] * q->prompt +
		  (once ? all.total * (1 + 1 / n) / 2
			: one.total + (n > 1 ? q->fit->v[FIT_LAG] * s->step : 0));
	s->waiting = (users / n - 1) * (s->ttft + out * s->tpot);
	s->ttft += s->waiting;
	s->throughput = 1e3 * users * out / (s->ttft + (out - 1) * s->tpot);
}
