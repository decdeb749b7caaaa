/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where the time of a step goes. The parts are of one tool, the one that reports most; what it
 * leaves out another one may report, as a share of its own step. They add up to the step: what no
 * tool reports is the rest.
 */
#include <math.h>
#include <string.h>

#include "models/diagnose/read.h"
#include "models/diagnose/split.h"
#include "base/text.h"
#include "base/stat.h"

const char *const step_part_names[PARTS] = {
	[PART_COMPUTE] = "compute",
	[PART_COMM] = "exposed communication",
	[PART_WAIT] = "waiting for slower ranks",
	[PART_DATA] = "data loading",
	[PART_OPTIMIZER] = "optimizer",
	[PART_COPY] = "copies",
	[PART_HOST] = "host: fetching values, logging, launching",
	[PART_CHECKPOINT] = "checkpoint saving",
	[PART_IDLE] = "GPU idle",
	[PART_REST] = "unexplained",
};

enum { FORMATS_MAX = 16 };

/* So much more than the step its parts may be together: clocks are not that exact. */
#define OVERLAP 0.02

/* What one format tells, seconds a step; NAN: nothing. */
struct format_totals {
	const char *format;
	double step_s;
	double v[FIGURE_KINDS];
	const struct metric_sample *at[FIGURE_KINDS];
	size_t parts, steps;
	bool window; /* no step is marked: parts of the whole that was watched */
	double watched_s;
	double beside_s; /* of step_s: saving that the step's own time leaves out */
};

static const enum figure_kind parts_kinds[] = {
	FIGURE_DATA_S,	     FIGURE_FORWARD_S,	    FIGURE_BACKWARD_S,	   FIGURE_OPTIMIZER_S,
	FIGURE_COMPUTE_S,    FIGURE_COMM_S,	    FIGURE_COMM_EXPOSED_S, FIGURE_COPY_S,
	FIGURE_IDLE_S,	     FIGURE_COPY_EXPOSED_S, FIGURE_SYNC_S,	   FIGURE_LAUNCH_S,
	FIGURE_CHECKPOINT_S,
};
enum { PART_KINDS = sizeof(parts_kinds) / sizeof(parts_kinds[0]) };

/* The longest time that a total of this format was taken over; NAN. */
static double window_of(const struct run_evidence *ev, size_t run, const char *format)
{
	double out = NAN;

	for (size_t i = 0; i < ev->n_figures; i++) {
		const struct metric_sample *f = &ev->figures[i];

		if (f->total && isfinite(f->over_s) && ev->files[f->file].run == run &&
		    strcmp(ev->files[f->file].format, format) == 0)
			out = fmax(isfinite(out) ? out : 0, f->over_s);
	}
	return out;
}

/* A trace without a GPU: its "idle" is the host's, between operators. */
static bool on_host(const struct format_totals *t)
{
	const struct metric_sample *f = t->at[FIGURE_IDLE_S];

	return f && f->text && strstr(f->text, "host");
}

/* How much of a step a format explains. What ran on the GPU goes before what the host's clock
 * says. */
static size_t split_parts_of(const struct format_totals *t)
{
	static const enum figure_kind alone[] = { FIGURE_DATA_S, FIGURE_OPTIMIZER_S, FIGURE_SYNC_S,
						  FIGURE_CHECKPOINT_S };
	size_t n = 0;

	if (isfinite(t->v[FIGURE_IDLE_S]) && !on_host(t))
		return 100;
	for (size_t i = 0; i < sizeof(alone) / sizeof(alone[0]); i++)
		n += isfinite(t->v[alone[i]]) ? 1 : 0;
	n += isfinite(t->v[FIGURE_COMPUTE_S]) || isfinite(t->v[FIGURE_BACKWARD_S]);
	n += isfinite(t->v[FIGURE_COMM_S]) || isfinite(t->v[FIGURE_COMM_EXPOSED_S]);
	return n;
}

/* How many steps lie between two that are told: a log may tell every tenth. */
static double steps_between(const struct sample *s, size_t n)
{
	long long first = n ? s[0].f->step : -1, last = first;
	size_t told = 0;

	for (size_t i = 0; i < n; i++)
		if (s[i].f->file == s[0].f->file && s[i].f->rank == s[0].f->rank) {
			last = s[i].f->step;
			told++;
		}
	return told > 1 && first >= 0 && last - first > (long long)told - 1
		       ? (double)(last - first) / (double)(told - 1)
		       : 1;
}

static void sum_format(struct arena *a, const struct run_files *rf, const struct run_summary *r,
		       const char *format, struct format_totals *t)
{
	struct run_files own = *rf;
	struct sample *s, *all;
	size_t n, steps = run_samples(a, r->ev, &own, FIGURE_STEP_S, NULL, format, &all);
	struct figure_sum step = figure_sum_of(a, all, steps, format);
	double between = steps_between(all, steps);

	t->format = format;
	t->watched_s = step.n ? (double)NAN : window_of(r->ev, r->run, format);
	t->window = isfinite(t->watched_s);
	/* A step that another tool tells is as much of what was watched. */
	own.step_s = t->step_s = step.n		       ? step.mean
				 : isfinite(r->step_s) ? r->step_s
						       : t->watched_s;
	for (size_t i = 0; i < PART_KINDS; i++) {
		enum figure_kind k = parts_kinds[i];
		struct figure_sum sum;

		n = run_samples(a, r->ev, &own, k, NULL, format, &s);
		sum = figure_sum_of(a, s, n, format);
		t->v[k] = sum.mean;
		t->at[k] = sum.at;
		/* Only those steps tell of it that save. */
		if (k == FIGURE_CHECKPOINT_S && n && n < steps && !s[0].f->total)
			t->v[k] = sum.mean * (double)n / ((double)steps * between);
		if (k == FIGURE_CHECKPOINT_S && isfinite(t->v[k]) &&
		    saving_beside(all, steps, step.median, between, s, n))
			t->beside_s = t->v[k];
	}
	t->steps = steps;
	t->step_s += t->beside_s;
	t->parts = split_parts_of(t);
}

static double or_zero(double v)
{
	return isfinite(v) ? v : 0;
}

static void put(struct step_split *out, enum step_part p, double v, const struct metric_sample *at)
{
	if (!isfinite(v))
		return;
	out->s[p] = fmax(v, 0);
	out->told[p] = true;
	out->at[p] = at;
}

/* From the time in which the GPU did nothing, what the host did meanwhile. */
static void from_idle(const struct format_totals *t, struct step_split *out, enum step_part p,
		      enum figure_kind k)
{
	if (!isfinite(t->v[k]))
		return;
	put(out, p, fmin(t->v[k], out->s[PART_IDLE]), t->at[k]);
	out->s[PART_IDLE] -= out->s[p];
}

static void by_gpu(const struct format_totals *t, struct step_split *out)
{
	out->gpu_clock = true;
	put(out, PART_COMPUTE, t->v[FIGURE_COMPUTE_S], t->at[FIGURE_COMPUTE_S]);
	put(out, PART_COMM, t->v[FIGURE_COMM_EXPOSED_S], t->at[FIGURE_COMM_EXPOSED_S]);
	put(out, PART_COPY, t->v[FIGURE_COPY_EXPOSED_S], t->at[FIGURE_COPY_EXPOSED_S]);
	put(out, PART_IDLE, t->v[FIGURE_IDLE_S], t->at[FIGURE_IDLE_S]);
	from_idle(t, out, PART_DATA, FIGURE_DATA_S);
	from_idle(t, out, PART_CHECKPOINT, FIGURE_CHECKPOINT_S);
}

static void split_by_host(const struct format_totals *t, struct step_split *out)
{
	double both = or_zero(t->v[FIGURE_FORWARD_S]) + or_zero(t->v[FIGURE_BACKWARD_S]);
	bool passes = !isfinite(t->v[FIGURE_COMPUTE_S]) ||
		      (isfinite(t->v[FIGURE_FORWARD_S]) && isfinite(t->v[FIGURE_BACKWARD_S]));
	/* Operators of the host: the optimizer's are among them. */
	double compute =
		t->v[FIGURE_COMPUTE_S] - (on_host(t) ? or_zero(t->v[FIGURE_OPTIMIZER_S]) : 0);
	enum figure_kind comm =
		isfinite(t->v[FIGURE_COMM_EXPOSED_S]) ? FIGURE_COMM_EXPOSED_S : FIGURE_COMM_S;
	enum figure_kind copy =
		isfinite(t->v[FIGURE_COPY_EXPOSED_S]) ? FIGURE_COPY_EXPOSED_S : FIGURE_COPY_S;
	double used = 0, left;

	put(out, PART_COMPUTE, passes ? (both > 0 ? both : (double)NAN) : compute,
	    t->at[passes ? (isfinite(t->v[FIGURE_BACKWARD_S]) ? FIGURE_BACKWARD_S
							      : FIGURE_FORWARD_S)
			 : FIGURE_COMPUTE_S]);
	put(out, PART_DATA, t->v[FIGURE_DATA_S], t->at[FIGURE_DATA_S]);
	put(out, PART_OPTIMIZER, t->v[FIGURE_OPTIMIZER_S], t->at[FIGURE_OPTIMIZER_S]);
	put(out, PART_COPY, t->v[copy], t->at[copy]);
	put(out, PART_CHECKPOINT, t->v[FIGURE_CHECKPOINT_S], t->at[FIGURE_CHECKPOINT_S]);
	put(out, PART_HOST, t->v[FIGURE_SYNC_S], t->at[FIGURE_SYNC_S]);
	for (size_t p = 0; p < PARTS; p++)
		used += out->s[p];
	left = fmax(0, out->step_s - used);
	/* Hidden or not is not known: no more than what is left can be exposed. What nobody told is
	 * no communication: fmin() would take the other one for NAN. */
	if (isfinite(t->v[comm]))
		put(out, PART_COMM, comm == FIGURE_COMM_S ? fmin(t->v[comm], left) : t->v[comm],
		    t->at[comm]);
}

enum { STEPS_FOR_DRIFT = 20, PAIRS_OF = 64 };

enum { NOTES_MAX = 24 };

void run_note(struct arena *a, struct run_summary *r, const char *fmt, ...)
{
	va_list ap;

	if (r->n_notes >= NOTES_MAX)
		return;
	if (!r->notes)
		r->notes = arena_array(a, NOTES_MAX, sizeof(*r->notes));
	va_start(ap, fmt);
	r->notes[r->n_notes++] = arena_vprintf(a, fmt, ap);
	va_end(ap);
}

/* Noted as a contradiction, and kept as r->impossible. */
__attribute__((format(printf, 3, 4))) static void
run_impossible(struct arena *a, struct run_summary *r, const char *fmt, ...)
{
	const char *text;
	va_list ap;

	va_start(ap, fmt);
	text = arena_vprintf(a, fmt, ap);
	va_end(ap);
	run_note(a, r, "contradictory figures: %s", text);
	r->impossible = r->impossible ? r->impossible : text;
}

/* What the chosen format does not tell and another one does: its share of its own step. */
static void fill_in(struct arena *a, const struct format_totals *t, struct run_summary *r)
{
	static const struct {
		enum step_part p;
		enum figure_kind k;
	} more[] = { { PART_DATA, FIGURE_DATA_S },
		     { PART_CHECKPOINT, FIGURE_CHECKPOINT_S },
		     { PART_OPTIMIZER, FIGURE_OPTIMIZER_S },
		     { PART_COMM, FIGURE_COMM_EXPOSED_S },
		     { PART_HOST, FIGURE_SYNC_S } };
	struct step_split *out = &r->split;
	enum step_part from = out->gpu_clock ? PART_IDLE : PART_REST;

	for (size_t i = 0; i < sizeof(more) / sizeof(more[0]); i++) {
		double share = t->v[more[i].k] / t->step_s, s = share * out->step_s;

		if (out->told[more[i].p] || !isfinite(s) || t->window || !(s > 0) ||
		    (out->gpu_clock && (more[i].p == PART_OPTIMIZER || more[i].p == PART_COMM ||
					more[i].p == PART_HOST)))
			continue;
		if (share > 1 + OVERLAP)
			run_impossible(a, r, "%s takes %.0f %% of a step (%s)",
				       step_part_names[more[i].p], 100 * share, t->format);
		s = fmin(s, out->s[from]);
		put(out, more[i].p, s, t->at[more[i].k]);
		out->s[from] -= s;
		run_note(a, r, "%s is from %s: %.0f %% of the step in that file",
			 step_part_names[more[i].p], t->format, 100 * share);
	}
}

static void split_settle(struct arena *a, struct run_summary *r)
{
	struct step_split *out = &r->split;
	double sum = 0;

	for (size_t p = 0; p < PART_REST; p++)
		sum += out->s[p];
	out->too_much = fmax(0, sum / out->step_s - 1);
	if (sum > out->step_s)
		for (size_t p = 0; p < PART_REST; p++)
			out->s[p] *= out->step_s / sum;
	else
		out->s[PART_REST] = out->step_s - sum;
	if (out->too_much > OVERLAP)
		run_impossible(a, r,
			       "the parts from %s add up to %.0f %% of the step (scaled to 100 %%)",
			       out->format, 100 * (1 + out->too_much));
}

/* No part of a step takes longer than it. Of a window sums over streams are told: they may; so may
 * the greatest of all ranks of each timer together, which no rank has. */
static void longer_than_step(struct arena *a, const struct format_totals *t, struct run_summary *r)
{
	for (size_t i = 0; i < PART_KINDS && !r->split.gpu_clock && !t->window; i++) {
		enum figure_kind k = parts_kinds[i];

		if (t->v[k] > (1 + OVERLAP) * t->step_s && t->at[k] && !t->at[k]->total &&
		    !(k == FIGURE_COMM_S && t->at[k]->text && str_ends(t->at[k]->text, "(max)")))
			run_impossible(a, r, "%s takes %.3g s in a step of %.3g s (%s)",
				       figure_types[k].name, t->v[k], t->step_s, t->format);
	}
}

/* What ranks wait for each other is no fault of the network. */
static void part_wait(struct run_summary *r)
{
	struct step_split *out = &r->split;
	double share;

	if (r->slow.slowest < 0 || !out->told[PART_COMM] || !isfinite(r->slow.wait_s))
		return;
	share = r->slow.wait_s / (r->slow.wait_s + r->slow.comm_s);
	if (!isfinite(share))
		return;
	put(out, PART_WAIT, out->s[PART_COMM] * share, out->at[PART_COMM]);
	out->s[PART_COMM] -= out->s[PART_WAIT];
}

/* A profiler makes the host slower: steps take longer while it looks, since GPUs wait for launches
 * and ranks for each other. */
static void without_profiler(struct arena *a, const struct format_totals *t, struct run_summary *r)
{
	static const enum step_part parts[] = { PART_IDLE, PART_WAIT };
	struct step_split *out = &r->split;
	double left = t->step_s - r->step_s, before = out->step_s;

	if (r->sums[FIGURE_STEP_S].format == t->format || t->window ||
	    !(left > DIAGNOSE_WORTH * r->step_s))
		return;
	r->profiler_s = left;
	r->traced_s = before;
	for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++) {
		double cut = fmin(left, out->s[parts[i]]);

		out->s[parts[i]] -= cut;
		out->step_s -= cut;
		left -= cut;
	}
	run_note(a, r,
		 "a step takes %.3g ms in %s and %.3g ms in the log: %.3g ms of GPU idle or rank "
		 "wait time come from the profiler and are subtracted",
		 1e3 * before, t->format, 1e3 * r->step_s, 1e3 * (before - out->step_s));
}

static size_t formats_of(struct arena *a, const struct run_files *rf, const struct run_summary *r,
			 struct format_totals *t)
{
	size_t n = 0;

	for (size_t i = 0; i < r->ev->n_files && n < FORMATS_MAX; i++) {
		bool known = r->ev->files[i].run != r->run || !r->ev->files[i].format;

		for (size_t k = 0; k < n; k++)
			known = known || strcmp(t[k].format, r->ev->files[i].format) == 0;
		if (!known) {
			sum_format(a, rf, r, r->ev->files[i].format, &t[n]);
			n++;
		}
	}
	return n;
}

/* Needs r->sums and r->step_s. */
static void split_analyze(struct arena *a, const struct run_files *rf, struct run_summary *r)
{
	struct format_totals t[FORMATS_MAX] = { 0 };
	size_t n = formats_of(a, rf, r, t), best = 0;
	struct step_split *out = &r->split;

	for (size_t i = 1; i < n; i++)
		if (isfinite(t[i].step_s) &&
		    (t[i].parts > t[best].parts ||
		     (t[i].parts == t[best].parts && t[i].steps > t[best].steps)))
			best = i;
	*out = (struct step_split){ .step_s = NAN };
	if (!n || !t[best].parts || !isfinite(t[best].step_s) || !(t[best].step_s > 0))
		return;
	out->step_s = t[best].step_s;
	out->format = t[best].format;
	if (isfinite(t[best].v[FIGURE_IDLE_S]) && !on_host(&t[best])) {
		by_gpu(&t[best], out);
	} else {
		split_by_host(&t[best], out);
	}
	out->window = t[best].window && !isfinite(r->step_s);
	if (t[best].window)
		run_note(a, r, "%s does not mark steps: the parts are of the recorded %.3g s%s",
			 out->format, t[best].watched_s,
			 out->window ? "" : ", as shares of a step");
	if (t[best].beside_s > 0 && !out->gpu_clock)
		run_note(a, r,
			 "%s does not count checkpoint saving in the step time: %.3g s per step "
			 "were added",
			 out->format, t[best].beside_s);
	longer_than_step(a, &t[best], r);
	part_wait(r);
	if (out->gpu_clock)
		without_profiler(a, &t[best], r);
	split_settle(a, r);
	for (size_t i = 0; i < n; i++)
		if (i != best && isfinite(t[i].step_s) && t[i].step_s > 0)
			fill_in(a, &t[i], r);
}

/*
 * Operations that a token takes, and which part of the GPUs' peak that is. MFU counts what the
 * model needs: 6 operations a parameter that multiplies (the embedding's look-up does not), and for
 * attention three times the forward pass over half of the square, as a causal mask leaves it. HFU
 * counts what is done: recomputed forward passes too.
 */

static void split_operations(struct arena *a, const struct diagnose_ask *ask, struct run_summary *r)
{
	struct arch_parts p;
	double n;

	r->flops_token = r->attention_flops_token = NAN;
	if (!ask->arch) {
		r->flops_token = 6 * r->parameters;
		if (isfinite(r->flops_token))
			r->formula = arena_printf(a,
						  "6 x %.4g parameters, from the log; attention is "
						  "not counted: model shape unknown (--model)",
						  r->parameters);
		return;
	}
	p = arch_parts(ask->arch);
	n = p.active;
	r->flops_token = 6 * n;
	r->formula = arena_printf(a, "6 x %.4g active parameters per token (%s)", n, ask->model);
	if (!isfinite(r->sequence))
		return;
	r->attention_flops_token =
		r->flops_token + 3 * arch_attention_ops(ask->arch, r->sequence, 0) / r->sequence;
	r->formula =
		arena_printf(a, "%s; with attention 3 x its forward pass over %.0f tokens, causal",
			     r->formula, r->sequence);
	if (isfinite(r->parameters) && fabs(p.total / r->parameters - 1) > 0.15)
		run_note(a, r, "the log has %.4g parameters, %s has %.4g", r->parameters,
			 ask->model, p.total);
}

static void split_peak(struct arena *a, const struct knowledge *known, struct run_summary *r)
{
	const char *precision = run_trait(a, r, TRAIT_PRECISION);

	r->peak_flops = NAN;
	r->gpu = r->traits[TRAIT_GPU] ? gpu_kind_of(known, r->traits[TRAIT_GPU]->text) : NULL;
	if (!r->gpu)
		return;
	if (strstr(precision, "fp8") && r->gpu->fp8 > 0) {
		r->peak_flops = r->gpu->fp8 * 1e12;
		r->peak_from =
			arena_printf(a, "dense FP8 peak of %s, %.0f TFLOP/s (%s, %s)", r->gpu->name,
				     r->gpu->fp8, r->gpu->source, r->gpu->date);
		return;
	}
	r->peak_flops = r->gpu->half * 1e12;
	r->peak_from = arena_printf(a, "dense BF16 peak of %s, %.0f TFLOP/s (%s, %s)", r->gpu->name,
				    r->gpu->half, r->gpu->source, r->gpu->date);
}

static void split_hardware(struct arena *a, const struct diagnose_ask *ask, struct run_summary *r)
{
	const char *how = run_trait(a, r, TRAIT_CHECKPOINTING);
	double base = isfinite(r->mfu_attention) ? r->mfu_attention : r->mfu;

	r->hfu = NAN;
	if (!*how || !isfinite(base))
		return;
	if (strstr(how, "full") && ask->arch && isfinite(r->attention_flops_token)) {
		r->hfu = base * (1 + arch_recomputed_ops(ask->arch, r->sequence) /
					     r->attention_flops_token);
		r->hfu_from = "the forward pass of every layer runs twice, that of the head once";
	} else if (strstr(how, "full")) {
		r->hfu = base * 4 / 3;
		r->hfu_from = "every forward pass runs twice: 8 operations per parameter, not 6";
	} else if (strstr(how, "none")) {
		r->hfu = base;
		r->hfu_from = "no recomputation";
	} else if (isfinite(r->attention_flops_token)) {
		double attention = r->attention_flops_token - r->flops_token;

		r->hfu = base * (1 + attention / 3 / r->attention_flops_token);
		r->hfu_from = "attention's forward pass runs twice";
	}
}

/* Needs r->step_s and tokens. */
static void rate_analyze(struct arena *a, const struct diagnose_ask *ask, struct run_summary *r)
{
	double claimed = r->sums[FIGURE_MFU].median;

	split_operations(a, ask, r);
	split_peak(a, ask->known, r);
	r->mfu = r->tokens_s_gpu * r->flops_token / r->peak_flops;
	r->mfu_attention = r->tokens_s_gpu * r->attention_flops_token / r->peak_flops;
	if (!isfinite(r->flops_token) && r->sums[FIGURE_TFLOPS_PER_GPU].n && r->peak_flops > 0) {
		r->mfu_attention = r->sums[FIGURE_TFLOPS_PER_GPU].median * 1e12 / r->peak_flops;
		r->formula = "operations from the log";
	}
	split_hardware(a, ask, r);
	if (r->mfu > 1 || r->mfu_attention > 1)
		run_impossible(a, r,
			       "an MFU of %.0f %% exceeds the GPU's peak: the number of GPUs, the "
			       "model or the tokens are wrong",
			       100 * (r->mfu > 1 ? r->mfu : r->mfu_attention));
	else if (r->hfu > 1)
		run_impossible(a, r, "an HFU of %.0f %% including recomputation", 100 * r->hfu);
	if (claimed > 1)
		run_impossible(
			a, r,
			"the log has an MFU of %.0f %% (mfu is a fraction, mfu(%%) a percentage)",
			100 * claimed);
	if (isfinite(claimed) && claimed > 0 && isfinite(r->mfu_attention) &&
	    fabs(claimed / r->mfu_attention - 1) > 0.2 && fabs(claimed / r->mfu - 1) > 0.2)
		run_note(a, r,
			 "the log has an MFU of %.1f %%; computed: %.1f %% without and %.1f %% "
			 "with attention",
			 100 * claimed, 100 * r->mfu, 100 * r->mfu_attention);
}

/* One run, put together: figures, traits, step time, tokens; what contradicts is noted. */

bool run_too_short(const struct run_summary *r)
{
	const struct metric_sample *at = r->sums[FIGURE_STEP_S].at;

	/* A summary is of many steps, whatever their number. */
	return !r->live && at && !at->total && !isfinite(at->over_s) &&
	       r->steps < DIAGNOSE_STEPS_LEAST;
}

static double trait_number(const struct run_summary *r, enum trait_kind k)
{
	return r->traits[k] && r->traits[k]->value > 0 ? r->traits[k]->value : (double)NAN;
}

static void analyze_attributes(const struct run_evidence *ev, struct run_summary *r)
{
	double gpus = NAN;

	for (size_t i = 0; i < ev->n_traits; i++) {
		const struct run_attribute *t = &ev->traits[i];

		if (ev->files[t->file].run != r->run)
			continue;
		if (!r->traits[t->kind])
			r->traits[t->kind] = t;
		/* Communicators of parts of the ranks are smaller. */
		if (t->kind == TRAIT_WORLD_SIZE && t->value > 0 && !(gpus >= t->value)) {
			gpus = t->value;
			r->traits[t->kind] = t;
		}
		/* Who trains in FP8 says BF16 as well: the rest is computed in that. */
		if (t->kind == TRAIT_PRECISION && strcasestr(t->text, "fp8") &&
		    !strcasestr(r->traits[t->kind]->text, "fp8"))
			r->traits[t->kind] = t;
	}
	r->gpus = gpus;
	r->nodes = trait_number(r, TRAIT_NODES);
	if (!isfinite(gpus) && !(r->nodes > 1) && r->traits[TRAIT_COMMAND]) {
		r->gpus = gpus_watched(ev, r);
		r->gpus_from = isfinite(r->gpus) ? "that were busy in the recording" : NULL;
	}
	r->global_batch = trait_number(r, TRAIT_GLOBAL_BATCH);
	r->micro_batch = trait_number(r, TRAIT_MICRO_BATCH);
	r->accumulation = trait_number(r, TRAIT_ACCUMULATION);
	r->sequence = trait_number(r, TRAIT_SEQUENCE);
	r->parameters = trait_number(r, TRAIT_PARAMETERS);
}

static bool far(double x, double y)
{
	return isfinite(x) && isfinite(y) && fabs(x - y) > 0.2 * fmax(fabs(x), fabs(y));
}

/* A step's time, where only rates are told. */
static void analyze_step(struct run_summary *r, double batch)
{
	const struct figure_sum *samples = &r->sums[FIGURE_SAMPLES_PER_S];

	if (isfinite(r->step_s))
		return;
	if (r->tokens_s > 0 && isfinite(batch * r->sequence)) {
		r->step_s = batch * r->sequence / r->tokens_s;
		r->step_from = "tokens per step / tokens per second";
	} else if (samples->median > 0 && isfinite(batch)) {
		r->step_s = batch / samples->median;
		r->step_from = samples->at->text && strstr(samples->at->text, "SamplesPerSec")
				       ? "global batch / samples per second, which DeepSpeed "
					 "counts without data wait"
				       : "global batch / samples per second";
	}
}

static void analyze_tokens(struct arena *a, struct run_summary *r)
{
	double batch = r->global_batch, told = r->sums[FIGURE_TOKENS_PER_S].median, counted;

	if (!isfinite(batch))
		batch = r->micro_batch * (isfinite(r->accumulation) ? r->accumulation : 1) *
			r->gpus;
	r->global_batch = batch;
	if (isfinite(told)) {
		r->tokens_s = told;
		r->tokens_from = "from the log";
	} else if (r->sums[FIGURE_TOKENS_PER_S_PER_GPU].n) {
		r->tokens_s = r->sums[FIGURE_TOKENS_PER_S_PER_GPU].median * r->gpus;
		r->tokens_from = isfinite(r->gpus) ? "tokens per GPU from the log x GPUs"
						   : "tokens per GPU from the log";
	} else if (r->sums[FIGURE_SAMPLES_PER_S].n && isfinite(r->sequence)) {
		r->tokens_s = r->sums[FIGURE_SAMPLES_PER_S].median * r->sequence;
		r->tokens_from = "samples per second from the log x sequence length";
	}
	analyze_step(r, batch);
	counted = batch * r->sequence / r->step_s;
	if (!isfinite(r->tokens_s) && isfinite(counted)) {
		r->tokens_s = counted;
		r->tokens_from = "global batch x sequence / step time";
	} else if (far(r->tokens_s, counted)) {
		run_note(a, r,
			 "contradictory figures: %.0f tokens/s (%s), but %.0f from global batch "
			 "%.0f x sequence %.0f / step %.4g s",
			 r->tokens_s, r->tokens_from, counted, batch, r->sequence, r->step_s);
	}
	r->tokens_s_gpu = isfinite(r->gpus) ? r->tokens_s / r->gpus
					    : r->sums[FIGURE_TOKENS_PER_S_PER_GPU].median;
}

/* How much longer the later n steps take, by the middle of all pairs: where every other step saves,
 * the middles of both lie far apart by chance. */
static double later_by(struct arena *a, const struct sample *first, const struct sample *last,
		       size_t n)
{
	const size_t m = n < PAIRS_OF ? n : PAIRS_OF;
	double *x = arena_array(a, n, sizeof(*x)), *y = arena_array(a, n, sizeof(*y));
	double *pairs = arena_array(a, m * m, sizeof(*pairs));

	for (size_t i = 0; i < n; i++) {
		x[i] = first[i].value;
		y[i] = last[i].value;
	}
	stat_sort(x, n);
	stat_sort(y, n);
	for (size_t i = 0; i < m * m; i++)
		pairs[i] = y[(2 * (i % m) + 1) * n / (2 * m)] / x[(2 * (i / m) + 1) * n / (2 * m)];
	return stat_median_in_place(pairs, m * m) - 1;
}

/* Both ends of the run held beside each other. */
static void analyze_drift(struct arena *a, const struct run_files *rf, struct run_summary *r)
{
	struct sample *s;
	size_t n = run_samples(a, r->ev, rf, FIGURE_STEP_S, NULL, r->sums[FIGURE_STEP_S].format,
			       &s),
	       kept = 0, k;

	for (size_t i = 0; i < n; i++)
		/* One rank's steps, in their order. */
		if (s[i].f->step >= 0 && s[i].f->rank == s[0].f->rank)
			s[kept++] = s[i];
	r->drift = NAN;
	r->steps = kept ? kept : n;
	r->steps_spanned = kept ? (double)(s[kept - 1].f->step - s[0].f->step + 1) : (double)n;
	if (kept < STEPS_FOR_DRIFT)
		return;
	k = kept / 4;
	r->drift = later_by(a, s, s + kept - k, k);
}

/* Few steps that take much longer than the others: their time is in the mean, not in the middle. */
static void analyze_long_steps(struct arena *a, const struct run_files *rf, struct run_summary *r)
{
	const struct figure_sum *step = &r->sums[FIGURE_STEP_S];
	struct long_steps *l = &r->longer;
	struct sample *s;
	size_t n = run_samples(a, r->ev, rf, FIGURE_STEP_S, NULL, step->format, &s), even = 0;
	double more = 0, all = 0;
	long long before = -1, every = 0;

	for (size_t i = 0; i < n; i++) {
		long long here = s[i].f->step, apart = before >= 0 ? here - before : 0;

		/* A summary says again what the steps said. */
		if (here < 0 && s[0].f->step >= 0)
			continue;
		all += s[i].value;
		if (!(s[i].value > 2 * step->median))
			continue;
		l->n++;
		more += s[i].value - step->median;
		if (!l->at || s[i].value > l->at->value)
			l->at = s[i].f;
		even += apart > 1 && s[i].f->rank == s[0].f->rank && (!every || apart == every);
		every = every ? every : apart;
		before = here;
	}
	l->share = all > 0 ? more / all : 0;
	l->every = even >= 2 && even + 1 == l->n ? every : 0;
	if (l->n && l->share >= DIAGNOSE_WORTH)
		run_note(a, r,
			 "%zu of %zu steps take over twice the median, %.0f %% of the total time; "
			 "the longest takes %.4g s (%s:%zu). Typical of evaluation, checkpoint "
			 "saving and file waits",
			 l->n, n, 100 * l->share, l->at->value, r->ev->files[l->at->file].path,
			 l->at->line);
}

static void analyze_memory(struct arena *a, const struct run_files *rf, struct run_summary *r)
{
	struct sample *s, *t;
	size_t n = run_samples(a, r->ev, rf, FIGURE_GPU_MEMORY, NULL, NULL, &s);
	size_t m = run_samples(a, r->ev, rf, FIGURE_GPU_MEMORY_TOTAL, NULL, NULL, &t);

	r->memory_used = r->memory_total = NAN;
	for (size_t i = 0; i < n; i++)
		r->memory_used = fmax(isfinite(r->memory_used) ? r->memory_used : 0, s[i].value);
	for (size_t i = 0; i < m; i++)
		r->memory_total =
			fmin(isfinite(r->memory_total) ? r->memory_total : INFINITY, t[i].value);
}

void run_analyze(struct arena *a, const struct run_evidence *ev, size_t run,
		 const struct diagnose_ask *ask, struct run_summary *r)
{
	struct run_files rf;

	*r = (struct run_summary){ .ev = ev, .run = run, .live = ask->live, .tokens_s = NAN };
	r->name = ask->names && run < ask->n_runs ? ask->names[run] : "run";
	analyze_attributes(ev, r);
	run_files_analyze(a, ev, run, &rf);
	rf.step_s = NAN;
	r->sums[FIGURE_STEP_S] = run_sum(a, ev, &rf, FIGURE_STEP_S, NULL);
	rf.step_s = r->step_s = r->sums[FIGURE_STEP_S].median;
	r->step_p95_s = r->sums[FIGURE_STEP_S].p95;
	for (size_t k = 0; k < FIGURE_KINDS; k++)
		if (k != FIGURE_STEP_S)
			r->sums[k] = run_sum(a, ev, &rf, (enum figure_kind)k, NULL);
	if (isfinite(rf.cut_s))
		run_note(a, r,
			 "the recording is longer than the logged steps: using the busiest %.3g s "
			 "of the GPUs",
			 rf.cut_s);
	for (size_t i = 0; i < ev->n_files; i++)
		if (ev->files[i].run == run && rf.files[i].n)
			r->skipped += rf.files[i].from > rf.files[i].first;
	analyze_tokens(a, r);
	rf.step_s = r->step_s;
	analyze_drift(a, &rf, r);
	analyze_long_steps(a, &rf, r);
	analyze_memory(a, &rf, r);
	ranks_analyze(a, &rf, r);
	split_analyze(a, &rf, r);
	rate_analyze(a, ask, r);
}
