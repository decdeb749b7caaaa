/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A measured rate held beside the prediction: whether communication can explain what is missing,
 * how large each other cause would have to be, and which measurement tells them apart.
 */
#include <math.h>

#include "models/training/work.h"

/* A needed bandwidth below this part of the known one is no fluctuation. */
#define FAR 0.5
/* Bus bandwidth that sockets over an ordinary network give: 10 to 100 Gb/s Ethernet. */
#define SOCKETS_LOW 0.5
#define SOCKETS_HIGH 10.0

struct state {
	struct arena *a;
	struct train_judgement *j;
	double ratio; /* measured step over predicted */
	double step;  /* measured */
	double bus;   /* bytes on the bus, with each collective's factor */
	double known; /* GB/s of all communication as predicted */
	double calls;
	bool curves; /* all bandwidths are measured */
};

static void add(struct state *s, struct train_cause c)
{
	if (s->j->n < TRAIN_CAUSES)
		s->j->causes[s->j->n++] = c;
}

static void by_link(struct state *s)
{
	struct arena *a = s->a;
	double need = s->j->busbw_needed_gbs;
	bool gone = need > 0 && need < FAR * s->known;

	if (s->bus <= 0)
		return;
	add(s, (struct train_cause){
		       .what = "link bandwidth",
		       .measure = "measure all-reduce by size between these machines: gputune "
				  "bench collectives",
		       .needs = need,
		       .needs_unit = "GB/s bus bandwidth",
		       .excluded = gone && s->curves,
		       .why = arena_printf(a,
					   "even without overlap, the step's %s GB of traffic "
					   "explain the loss only at %s GB/s; %s %s GB/s%s",
					   train_plain(a, s->bus / 1e9, 4), train_plain(a, need, 3),
					   s->curves ? "measured:" : "such links reach",
					   train_plain(a, s->known, 4),
					   gone && !s->curves ? " (data sheet, not measured here)"
							      : "") });
	add(s,
	    (struct train_cause){
		    .what = "link latency",
		    .measure = "measure all-reduce of 8 KiB to 64 KiB: gputune bench collectives",
		    .needs = 1e6 * s->j->lost_s / fmax(1, s->calls),
		    .needs_unit = "us more per collective",
		    .excluded = s->j->lost_s / fmax(1, s->calls) > 1e-3,
		    .why = arena_printf(
			    a,
			    "each of %.0f collectives per step would have to take %s us longer; "
			    "the latency of a fabric is 2 to 50 us",
			    s->calls, train_plain(a, 1e6 * s->j->lost_s / fmax(1, s->calls), 4)) });
	add(s, (struct train_cause){
		       .what = "a different transport in the job than in the link test",
		       .measure = "set NCCL_DEBUG=INFO in the job to see network and channels; "
				  "read the adapters' byte counters",
		       .needs = need,
		       .needs_unit = "GB/s bus bandwidth",
		       .excluded = need < SOCKETS_LOW || need > SOCKETS_HIGH,
		       .why = need >= SOCKETS_LOW && need <= SOCKETS_HIGH
				      ? "typical of TCP sockets over one Ethernet interface"
				      : "sockets reach 0.5 to 10 GB/s, which does not match" });
}

static void by_overlap(struct state *s)
{
	struct train_config *q = ARENA_NEW(s->a, struct train_config);
	struct train_answer *p = ARENA_NEW(s->a, struct train_answer);

	if (s->bus <= 0 || !s->j->predicted.q.overlap)
		return;
	*q = s->j->predicted.q;
	q->overlap = false;
	train_predict(s->a, q, p);
	add(s,
	    (struct train_cause){
		    .what = "no overlap of communication",
		    .measure = "check whether NCCL kernels overlap computation (nsys or the "
			       "PyTorch profiler), and whether CUDA_DEVICE_MAX_CONNECTIONS is set",
		    .needs = 1e3 * s->j->lost_s,
		    .needs_unit = "ms per step",
		    .excluded = p->time.total.value * 1.1 < s->step,
		    .why = arena_printf(s->a,
					"predicted step without overlap: %s ms; measured: %s ms",
					train_plain(s->a, 1e3 * p->time.total.value, 4),
					train_plain(s->a, 1e3 * s->step, 4)) });
}

static void train_judge_by_host(struct state *s)
{
	const struct train_config *q = &s->j->predicted.q;
	double samples = (double)q->micro_batch * q->accumulation;
	int each = place_per_node(&q->place);

	add(s, (struct train_cause){ .what = "the loader, or its storage",
				     .measure = "measure how long a step waits for its batch; "
						"repeat the run with random tokens made on the GPU",
				     .needs = 1e3 * s->step / samples,
				     .needs_unit = "ms per sample and rank",
				     .why = "a loader at this rate explains the whole loss" });
	add(s,
	    (struct train_cause){
		    .what = "several ranks on one GPU",
		    .measure = "check that each GPU has one process during training (gputune "
			       "monitor, nvidia-smi), and that each rank sets its device",
		    .needs = fmax(1, s->ratio),
		    .needs_unit = "ranks on the fullest GPU (approximately)",
		    .excluded = s->ratio > each + 0.5,
		    .why = arena_printf(s->a,
					"a machine has %d ranks; ranks that share a GPU slow every "
					"step for all",
					each) });
	add(s, (struct train_cause){
		       .what = "one slow GPU, rank or machine",
		       .measure = "compare step times, SM clocks and throttle reasons of ranks; "
				  "run \"gputune bench gemm\" on each GPU",
		       .needs = 100 / fmax(1, s->ratio),
		       .needs_unit = "% of the other ranks' speed, for the slowest",
		       .why = "all ranks wait for the slowest at each gradient reduction" });
	add(s, (struct train_cause){
		       .what = "the host stalls the GPU: logging, .item(), saving or evaluation in "
			       "the timed steps",
		       .measure = "measure idle gaps of the GPU (nsys, profiler); repeat the run "
				  "without logging, saving, evaluation",
		       .needs = 1e3 * s->j->lost_s,
		       .needs_unit = "ms per step",
		       .why = "work between steps adds its full time" });
	add(s, (struct train_cause){ .what = "average includes warm-up",
				     .measure = "measure each step's time, without the first steps",
				     .needs = s->j->lost_s,
				     .needs_unit = "s per step on average",
				     .why = "connection setup, compilation and allocation happen "
					    "in the first steps" });
}

/* What a bandwidth that is far off says: with measured links it excludes them, with data sheets it
 * asks for a measurement. */
static const char *by_bandwidth(const struct state *s)
{
	double need = s->j->busbw_needed_gbs;

	if (s->bus <= 0 || need >= FAR * s->known)
		return "";
	return arena_printf(s->a,
			    s->curves ? "; bandwidth does not explain the loss: %s GB/s would, but "
					"%s GB/s were measured"
				      : "; bandwidth explains the loss only if the links reach %s "
					"GB/s instead of the data sheet's %s GB/s: measure them",
			    train_plain(s->a, need, 3), train_plain(s->a, s->known, 4));
}

static void judge_note(struct state *s)
{
	struct train_judgement *j = s->j;
	const struct figure *f = &j->predicted.tokens_s, *t = &j->predicted.time.total;
	const char *measured = train_plain(s->a, j->measured, 6);
	const char *predicted = train_plain(s->a, f->value, 6),
		   *high = train_plain(s->a, f->high, 6);
	double mfu = j->predicted.mfu.value, most = mfu > 0 ? f->value / mfu : 0;

	if (j->inside)
		j->verdict = arena_printf(
			s->a,
			"within the prediction: %s tokens/s measured, %s predicted (%s to %s)",
			measured, predicted, train_plain(s->a, f->low, 6), high);
	else if (most > 0 && j->measured > most)
		j->verdict =
			arena_printf(s->a,
				     "above the GPUs' peak: %s tokens/s measured, but %s at the "
				     "data-sheet peak: check model, precision and token count",
				     measured, train_plain(s->a, most, 6));
	else if (j->lost_s < 0)
		j->verdict =
			arena_printf(s->a,
				     "faster than predicted: %s tokens/s measured, %s predicted "
				     "(up to %s); check that model, precision and batch match",
				     measured, predicted, high);
	else
		j->verdict = arena_printf(
			s->a,
			"measured step %s ms, predicted %s ms (up to %s): %s ms unexplained%s",
			train_plain(s->a, 1e3 * s->step, 4), train_plain(s->a, 1e3 * t->value, 4),
			train_plain(s->a, 1e3 * t->high, 4), train_plain(s->a, 1e3 * j->lost_s, 4),
			by_bandwidth(s));
}

static void train_judge_add_up(struct state *s)
{
	const struct train_answer *p = &s->j->predicted;

	s->curves = p->n_comms > 0;
	for (size_t i = 0; i < p->n_comms; i++) {
		const struct train_comm *c = &p->comms[i];
		bool measured = false;

		s->bus += c->total_s * c->busbw_gbs * 1e9;
		s->calls += c->count;
		for (size_t k = 0; k < p->q.n_curves; k++)
			measured |= c->from == p->q.curves[k].from;
		s->curves &= measured;
	}
	/* The best that these links were seen to give, at any size. */
	for (size_t k = 0; k < p->q.n_curves; k++)
		for (size_t i = 0; i < p->q.curves[k].n; i++)
			if (p->n_comms && p->q.curves[k].between == p->comms[0].between)
				s->known = fmax(s->known, p->q.curves[k].at[i].busbw_gbs);
	if (s->known <= 0 && p->time.comm > 0)
		s->known = s->bus / p->time.comm / 1e9;
}

void train_judge(struct arena *a, const struct train_config *q, double claim,
		 struct train_judgement *out)
{
	struct state s = { .a = a, .j = out };
	double bare;

	*out = (struct train_judgement){ .measured = claim };
	train_predict(a, q, &out->predicted);
	s.step = (double)q->global_batch * q->sequence / claim;
	s.ratio = s.step / out->predicted.time.total.value;
	out->lost_s = s.step - out->predicted.time.total.value;
	out->inside = claim >= out->predicted.tokens_s.low && claim <= out->predicted.tokens_s.high;
	train_judge_add_up(&s);
	bare = out->predicted.time.total.value - out->predicted.time.exposed -
	       out->predicted.time.contention;
	if (s.bus > 0 && s.step > bare)
		out->busbw_needed_gbs = s.bus / (s.step - bare) / 1e9;
	judge_note(&s);
	if (out->inside || out->lost_s <= 0)
		return;
	by_link(&s);
	by_overlap(&s);
	train_judge_by_host(&s);
}
