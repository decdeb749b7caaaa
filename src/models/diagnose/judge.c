/* SPDX-License-Identifier: Apache-2.0 */
/* From the causes' verdicts to one for the run: what is the bottleneck, what comes next, and what
 * would have to be measured. */
#include <math.h>
#include <string.h>

#include "models/diagnose/judge.h"
#include "base/text.h"

enum { MISSING_MAX = 12 };

/* --- the order -------------------------------------------------------------------------------- */

static double weight(const struct judged_cause *c)
{
	static const double sure[CERTAINTIES] = { 1, 0.8, 0.1, 0, -1 };

	return sure[c->how] * (isfinite(c->share) ? 0.02 + c->share : 0.04) *
	       /* All that is lost, whatever for: behind what says for what a fair part is. */
	       (c->row->rule == rule_idle ? 0.25 : 1);
}

static bool is_found(const struct judged_cause *c)
{
	return c->how <= IS_LIKELY && !(c->share < DIAGNOSE_WORTH) &&
	       (c->how == IS_CERTAIN || isfinite(c->share));
}

/* Most telling first; others keep their order. */
static void diag_judge_order(struct run_verdict *v)
{
	for (size_t i = 1; i < v->n_causes; i++) {
		struct judged_cause x = v->causes[i];
		size_t k = i;

		for (; k > 0; k--) {
			const struct judged_cause *y = &v->causes[k - 1];

			if (!(is_found(&x) != is_found(y) ? is_found(&x) : weight(&x) > weight(y)))
				break;
			v->causes[k] = *y;
		}
		v->causes[k] = x;
	}
}

/* --- enough for "healthy"? -------------------------------------------------------------------- */

/* A GPU that idles for more is not called healthy, whatever the reason. */
#define IDLE_HEALTHY 0.4

static bool mostly_unexplained(const struct step_split *s)
{
	return isfinite(s->step_s) && s->s[PART_REST] > 0.5 * s->step_s;
}

/* Why a clean bill cannot be given; NULL: it can. */
static const char *blind(struct arena *a, const struct run_summary *r)
{
	const struct step_split *s = &r->split;
	bool alone = run_alone(r);

	if (r->impossible)
		return arena_printf(a, "contradictory figures: %s", r->impossible);
	if (run_too_short(r))
		return arena_printf(a, "%zu step%s recorded, %d required", r->steps,
				    r->steps == 1 ? " is" : "s are", DIAGNOSE_STEPS_LEAST);
	if (mostly_unexplained(s))
		return arena_printf(a, "the cause of %.0f %% of a step is unknown",
				    100 * s->s[PART_REST] / s->step_s);
	if (r->mfu >= 0.45 || r->mfu_attention >= 0.45)
		return NULL;
	if (!isfinite(s->step_s) && watched_well(r))
		return NULL;
	if (!isfinite(s->step_s))
		return isfinite(r->step_s) ? "no file breaks down the step time"
					   : "no file contains the step time";
	if (!s->told[PART_COMPUTE])
		return "no file contains the compute time";
	if (!s->told[PART_DATA] && !s->told[PART_IDLE])
		return "no file contains the data-wait time";
	if (!alone && !s->told[PART_COMM])
		return "no file contains the exposed communication time";
	if (s->s[PART_REST] > 0.15 * s->step_s)
		return "the cause is unknown for too much of the step";
	if (s->gpu_clock && s->s[PART_IDLE] > IDLE_HEALTHY * s->step_s)
		return "the GPU is idle for too much of the time, and no file says why";
	return NULL;
}

static void add_missing(struct run_verdict *v, const char *text)
{
	if (!v->missing)
		return;
	for (size_t i = 0; i < v->n_missing; i++)
		if (strcmp(v->missing[i], text) == 0)
			return;
	if (v->n_missing < MISSING_MAX)
		v->missing[v->n_missing++] = text;
}

static void diag_judge_sentence(struct arena *a, const struct run_summary *r, struct run_verdict *v)
{
	const char *why = blind(a, r);
	const struct judged_cause *c = &v->causes[0];

	v->healthy = !v->main && !why;
	if (v->main && isfinite(c->share))
		v->verdict = arena_printf(a, "%s (%s), at most %.0f %% of the %s: %s",
					  v->main->title, certainty_names[c->how], 100 * c->share,
					  r->live || r->split.window ? "time" : "step", c->says);
	else if (v->main)
		v->verdict = arena_printf(a, "%s (%s): %s", v->main->title, certainty_names[c->how],
					  c->says);
	else if (why)
		v->verdict = arena_printf(a, "undecided: %s", why);
	else
		v->verdict =
			!isfinite(r->split.step_s) && watched_well(r)
				? arena_printf(a,
					       "GPUs are busy %.0f %% of the time, step times are "
					       "even, and tensor cores are in use (MFU %.0f %%)",
					       100 * r->sums[FIGURE_GPU_UTIL].mean, 100 * r->mfu)
				: "no checked cause costs 5 % of a step";
	if (r->traits[TRAIT_WORK])
		v->verdict = arena_printf(a, "%s: %s", r->traits[TRAIT_WORK]->text, v->verdict);
	if (v->main && (r->impossible || mostly_unexplained(&r->split)))
		v->verdict = arena_printf(a, "%s. But %s", v->verdict, why);
	if (mostly_unexplained(&r->split))
		add_missing(v, "to explain the rest of a step, log all of optimizer_s, "
			       "comm_exposed_s, sync_s, checkpoint_s (docs/DIAGNOSE.md)");
	if (why && (!v->main || r->impossible || mostly_unexplained(&r->split)))
		add_missing(v,
			    r->live ? "the job's log with each step's time: gputune diagnose "
				      "training FILE"
				    : "gputune record --trace -o job.rec -- COMMAND, or a "
				      "torch.profiler trace of a few steps (export_chrome_trace)");
}

/* Shares of a step stand on figures that contradict each other, or on too few steps. */
static void doubt(struct arena *a, const struct run_summary *r, struct judged_cause *c)
{
	const char *why =
		r->impossible ? arena_printf(a, "contradictory figures: %s", r->impossible)
		: run_too_short(r)
			? arena_printf(a, "%zu step%s recorded; %d required for certainty",
				       r->steps, r->steps == 1 ? " is" : "s are",
				       DIAGNOSE_STEPS_LEAST)
			: NULL;

	if (!why || c->how != IS_CERTAIN || !isfinite(c->share))
		return;
	c->how = IS_LIKELY;
	c->against = c->against ? arena_printf(a, "%s; %s", c->against, why) : why;
}

/* Work that is no pre-training has the batch that its purpose asks for. */
static void other_work(const struct judging *j, struct judged_cause *c)
{
	const struct run_attribute *work = j->r->traits[TRAIT_WORK];

	if (!work || c->how > IS_POSSIBLE)
		return;
	if (strcmp(c->row->id, "small-batch") == 0 || strcmp(c->row->id, "launch") == 0)
		c->against = arena_printf(j->a, "the job is %s: the task determines the batch size",
					  work->text);
	else if (strcmp(c->row->id, "sync") == 0 && strstr(work->text, "generat"))
		c->against = arena_printf(
			j->a, "the job is %s: each token is fetched before the next", work->text);
	else
		return;
	c->how = IS_POSSIBLE;
	judged_cite_trait(j, c, work);
}

/* The causes in the order of cause_rows. */
static void judge_causes(struct arena *a, const struct run_summary *r, const struct scaling *scale,
			 struct run_verdict *v)
{
	struct judging j = { a, r, scale };

	*v = (struct run_verdict){ .run = r,
				   .n_causes = CAUSES,
				   .missing = arena_array(a, MISSING_MAX, sizeof(*v->missing)) };
	for (size_t i = 0; i < CAUSES; i++) {
		const struct cause_row *row = &cause_rows[i];
		struct judged_cause *c = &v->causes[i];

		*c = (struct judged_cause){ .row = row, .how = IS_UNSEEN, .share = NAN };
		if (row->rule) /* else sampled stacks alone tell it */
			row->rule(&j, c);
		judged_by_stacks(&j, c);
		other_work(&j, c);
		doubt(a, r, c);
		v->found += is_found(c);
		if (c->how == IS_UNSEEN && c->says && row->measure)
			add_missing(v, arena_printf(a, "%s: %s", row->title, row->measure));
	}
}

/* The change that mends a cause and gives most. */
static const struct train_change *change_of(const struct train_what_if *w, const char *key)
{
	for (size_t i = 0; key && i < w->n; i++)
		if (str_starts(w->changes[i].key, key) && w->changes[i].fits)
			return &w->changes[i];
	return NULL;
}

/*
 * What mending a cause would give by the model of training (models/training/train.h): predicted,
 * with its interval, beside what was measured. Only where model, GPUs and batch are known.
 */

static const char *recompute_of(struct arena *a, const struct run_summary *r)
{
	const char *s = run_trait(a, r, TRAIT_CHECKPOINTING);

	for (size_t i = 0; i < TRAIN_RECOMPUTES; i++)
		if (strcmp(s, train_recompute_names[i]) == 0)
			return train_recompute_names[i];
	return NULL;
}

/* A name of the model's for what a run was; NULL: not known. */
static const char *name_of(int is, const char *const *names)
{
	return is < 0 ? NULL : names[is];
}

static int number_of(double v)
{
	return v >= 1 && v <= 1e6 ? (int)v : 0;
}

static bool diag_judge_question(struct arena *a, const struct run_summary *r,
				const struct diagnose_ask *ask, bool overlapped,
				struct train_config *q)
{
	const struct run_attribute *tp = r->traits[TRAIT_TP], *pp = r->traits[TRAIT_PP];
	struct train_options w;
	struct target_hw place = { .gpu = r->gpu, .gpus = number_of(r->gpus) };
	struct err ignored = { 0 };

	if (!ask->model || !r->gpu || !place.gpus || !number_of(r->sequence) ||
	    !number_of(r->micro_batch))
		return false;
	place.nodes = number_of(r->nodes) ? number_of(r->nodes) : 1;
	train_words_none(&w);
	w.known = ask->known;
	w.model = ask->model;
	w.file = ask->file;
	w.place = &place;
	w.way = name_of(run_way(a, r), train_way_names);
	w.precision = name_of(run_precision(a, r), train_precision_names);
	w.recompute = recompute_of(a, r);
	w.reduce_fp32 = w.way ? run_sums_fp32(a, r) : -1;
	w.tp = tp ? number_of(tp->value) : 0;
	w.pp = pp ? number_of(pp->value) : 0;
	w.micro_batch = number_of(r->micro_batch);
	w.accumulation = number_of(r->accumulation);
	/* Megatron-LM tells the global batch, from which it follows. */
	w.global_batch = w.accumulation ? 0 : number_of(r->global_batch);
	w.sequence = number_of(r->sequence);
	w.overlap = overlapped ? -1 : 0;
	return train_config_make(a, &w, q, &ignored) == 0;
}

/* Fills v->predicted; the causes are in the order of cause_rows. */
static void judged_gains(struct arena *a, const struct run_summary *r,
			 const struct diagnose_ask *ask, struct run_verdict *v)
{
	struct train_what_if *w = ARENA_NEW(a, struct train_what_if);
	struct train_config *q = ARENA_NEW(a, struct train_config);
	struct judged_gains *g = ARENA_NEW(a, struct judged_gains);
	bool overlapped = true;

	for (size_t i = 0; i < CAUSES; i++)
		if (strcmp(cause_rows[i].id, "overlap") == 0 && v->causes[i].how <= IS_LIKELY)
			overlapped = false;
	if (!diag_judge_question(a, r, ask, overlapped, q))
		return;
	train_what_if(a, q, w);
	v->predicted = g;
	g->tokens_s = w->before.tokens_s;
	for (size_t i = 0; i < CAUSES; i++) {
		const struct train_change *c = change_of(w, cause_rows[i].change);

		if (c && v->causes[i].how <= IS_POSSIBLE)
			g->items[g->n++] = (struct judged_gain){ &cause_rows[i], c };
	}
}

void diagnose_runs(struct arena *a, const struct run_evidence *ev, const struct diagnose_ask *ask,
		   struct diagnosis_of_runs *out)
{
	size_t n = ask->n_runs;

	*out = (struct diagnosis_of_runs){ .n = n };
	out->runs = arena_array(a, n, sizeof(*out->runs));
	out->verdicts = arena_array(a, n, sizeof(*out->verdicts));
	for (size_t i = 0; i < n; i++)
		run_analyze(a, ev, i, ask, &out->runs[i]);
	scaling_analyze(a, out->runs, n, &out->scale);
	for (size_t i = 0; i < n; i++) {
		struct run_verdict *v = &out->verdicts[i];

		judge_causes(a, &out->runs[i], &out->scale, v);
		judged_gains(a, &out->runs[i], ask, v);
		diag_judge_order(v);
		v->main = v->found ? v->causes[0].row : NULL;
		diag_judge_sentence(a, &out->runs[i], v);
	}
}

int diagnose_code(const struct diagnosis_of_runs *d)
{
	bool blind_one = false;

	for (size_t i = 0; i < d->n; i++) {
		if (d->verdicts[i].main)
			return 1;
		blind_one = blind_one || !d->verdicts[i].healthy;
	}
	return blind_one ? 5 : 0;
}

/* The causes: one row each, with what mends it and what would show it. */

/* "1220 kernels a step"; where no file tells a step, in all that was watched. */
static const char *kernels_of(const struct judging *j, double kernels)
{
	return j->r->split.window
		       ? arena_printf(j->a, "%.0f kernels in %.3g s", kernels, j->r->split.step_s)
		       : arena_printf(j->a, "%.0f kernels per step", kernels);
}

/* A kernel each so often is about what a thread that runs Python can launch. */
#define LAUNCH_S 25e-6

/* By NVML and the host's own clock or stacks: what the GPUs idle while the main thread neither
 * waits nor copies, it needs for launching. */
static void launch_by_host(const struct judging *j, struct judged_cause *out)
{
	double from_s, to_s,
		idle = judging_idle(j),
		/* A backward pass is launched by another thread, while the main one waits. */
		backward = evidence_training(j->r->ev, j->r->run, &from_s, &to_s)
				   ? judging_places(j, "other: ", NULL)
				   : 0,
		works = fmax(judging_places(j, "spinning: ", NULL) + backward,
			     judging_share(j, PART_COMPUTE)),
		waits = fmax(judging_share(j, PART_COPY), 0) + fmax(judging_share(j, PART_DATA), 0);

	if (judging_gpu(j) && !j->r->live)
		judged_set_text(j, out, IS_UNSEEN, NAN, "no file contains a GPU timeline");
	if (!(idle > WATCHED_IDLE) || !(works > 0.5) || judging_one_cpu(j))
		return;
	judged_set_text(
		j, out, IS_LIKELY, fmin(idle - waits, works),
		"the main thread computes for %.0f %% of the time, and no kernel runs for %.0f %%",
		100 * works, 100 * idle);
	judged_cite_sum(j, out, FIGURE_GPU_UTIL);
	judged_cite_sum(j, out, FIGURE_COMPUTE_S);
	judging_places(j, "spinning: ", out);
}

static void rule_launch(const struct judging *j, struct judged_cause *out)
{
	const struct run_summary *r = j->r;
	double idle = judging_share(j, PART_IDLE), kernels = r->sums[FIGURE_KERNELS].mean;
	double each = r->split.s[PART_COMPUTE] / kernels;
	double launch = r->sums[FIGURE_LAUNCH_S].mean / fmax(r->split.step_s, r->traced_s);

	if (!r->split.gpu_clock || !isfinite(idle)) {
		launch_by_host(j, out);
		return;
	}
	judged_cite_sum(j, out, FIGURE_IDLE_S);
	judged_cite_sum(j, out, FIGURE_KERNELS);
	judged_cite_sum(j, out, FIGURE_LAUNCH_S);
	if (idle < DIAGNOSE_WORTH || !isfinite(each)) {
		judged_set_text(j, out, IS_EXCLUDED, idle, "the GPU idles %.1f %% of a step",
				100 * idle);
	} else if (watched_long_gaps(r) > idle / 2) {
		judged_cite_sum(j, out, FIGURE_LONG_IDLE_S);
		judged_set_text(j, out, IS_EXCLUDED, idle - watched_long_gaps(r),
				"the GPU idles in gaps of 10 ms or longer, while slow launches "
				"would cause short gaps");
	} else if (judging_syncs_many(j)) {
		judged_set_text(j, out, IS_POSSIBLE, idle,
				"%s of %.1f us each; the GPU idles %.0f %% between them",
				kernels_of(j, kernels), 1e6 * each, 100 * idle);
		out->against = arena_printf(
			j->a,
			"the host synchronizes with the GPU %.0f times %s, so "
			"it cannot launch kernels ahead",
			r->sums[FIGURE_SYNCS].median,
			r->split.window ? arena_printf(j->a, "in %.3g s", r->split.step_s)
					: "per step");
	} else if (each < 15e-6 || r->split.step_s < LAUNCH_S * kernels || launch > 0.5) {
		judged_set_text(j, out, each < 15e-6 && launch > 0.5 ? IS_CERTAIN : IS_LIKELY, idle,
				"%s of %.1f us each; the GPU idles %.0f %% between them",
				kernels_of(j, kernels), 1e6 * each, 100 * idle);
	} else {
		judged_set_text(j, out, IS_POSSIBLE, idle,
				"%s of %.0f us each: launch overhead is not the limit",
				kernels_of(j, kernels), 1e6 * each);
	}
}

static void rule_accumulation(const struct judging *j, struct judged_cause *out)
{
	double comm = judging_share(j, PART_COMM), room;

	if (judging_alone(j) || !isfinite(comm) || !(j->r->accumulation >= 1))
		return;
	room = j->r->memory_used / j->r->memory_total;
	judged_cite_trait(j, out, j->r->traits[TRAIT_ACCUMULATION]);
	judged_cite_sum(j, out, FIGURE_COMM_EXPOSED_S);
	if (j->r->accumulation > 1 || comm < 2 * DIAGNOSE_WORTH)
		judged_set_text(
			j, out, IS_EXCLUDED, comm,
			"%.0f micro-batches per step; exposed communication is %.1f %% of the step",
			j->r->accumulation, 100 * comm);
	else
		judged_set_text(j, out, IS_POSSIBLE, comm / 2,
				"a step has one micro-batch: two per step, at twice the global "
				"batch%s, halve the communication",
				room < 0.5 ? " or a larger micro-batch, for which there is memory,"
					   : "");
}

static void rule_drift(const struct judging *j, struct judged_cause *out)
{
	double d = j->r->drift;

	if (!isfinite(d))
		return;
	judged_cite_sum(j, out, FIGURE_STEP_S);
	if (d < 0.1)
		judged_set_text(
			j, out, IS_EXCLUDED, fmax(d, 0),
			"the step time changes by %+.1f %% from the first to the last quarter",
			100 * d);
	else
		judged_set_text(
			j, out, IS_POSSIBLE, d / (1 + d) / 2,
			"steps of the last quarter take %.0f %% longer than those of the first",
			100 * d);
}

#include "models/diagnose_causes_rows.h"

/* Causes in the amount of work: batches that are too small, launches, idle GPUs, slower steps. */

/* Below this many tokens of a micro-batch large GPUs are not filled; between, it depends. */
#define TOKENS_FEW 512
#define TOKENS_SOME 2048
/* A kernel that takes the GPU less than its launch takes the host. */
#define KERNEL_S 6e-6

enum { RANGES_MAX = 64 };

static double or_zero(double v)
{
	return isfinite(v) ? v : 0;
}

/* What a step costs whatever the batch: updating, summing, waiting for launches. */
static double fixed(const struct judging *j)
{
	return or_zero(judging_share(j, PART_OPTIMIZER)) + or_zero(judging_share(j, PART_COMM)) +
	       or_zero(judging_share(j, PART_IDLE)) + or_zero(judging_share(j, PART_WAIT));
}

/* Pieces of work that end before the next one is launched. */
static void small_pieces(const struct judging *j, struct judged_cause *out, double tokens)
{
	double each = j->r->split.s[PART_COMPUTE] / j->r->sums[FIGURE_KERNELS].mean;
	bool few = tokens < TOKENS_FEW && !isfinite(j->r->mfu);
	/* With a token for four kernels they are small because nothing joins them. */
	bool enough = 4 * j->r->tokens_s_gpu * j->r->step_s > j->r->sums[FIGURE_KERNELS].mean;

	/* Without steps nothing says how much work one is. */
	if ((j->r->split.window && !few) || !(judging_idle(j) > 0.3) ||
	    !(few || (!enough && !isfinite(j->r->micro_batch) && each < KERNEL_S)))
		return;
	judged_set_text(j, out, IS_LIKELY, judging_idle(j),
			"%s: too little work for a GPU, which idles for %.0f %% of the time",
			few ? arena_printf(j->a, "%.0f tokens per micro-batch", tokens)
			    : arena_printf(j->a, "kernels of %.1f us", 1e6 * each),
			100 * judging_idle(j));
	judged_cite_sum(j, out, FIGURE_KERNELS);
	judged_cite_sum(j, out, FIGURE_GPU_UTIL);
}

void rule_small_batch(const struct judging *j, struct judged_cause *out)
{
	const struct run_summary *r = j->r;
	double tokens = r->micro_batch * r->sequence, cost = fixed(j);
	/* All of a step are those of its micro-batches, or more. */
	double all = r->tokens_s_gpu * r->step_s;
	double sm = r->sums[FIGURE_SM_ACTIVITY].mean, util = r->sums[FIGURE_GPU_UTIL].mean;

	if (util > 0.8 && sm < 0.5) {
		judged_set_text(j, out, IS_LIKELY, 1 - sm / 0.9,
				"kernels are resident %.0f %% of the time, but only %.0f %% of the "
				"SMs are active",
				100 * util, 100 * sm);
		judged_cite_sum(j, out, FIGURE_SM_ACTIVITY);
		judged_cite_sum(j, out, FIGURE_GPU_UTIL);
	}
	if (!out->says && !isfinite(r->micro_batch) && !r->live)
		watched_small_batch(j, out);
	if (!isfinite(tokens) && all < TOKENS_FEW && r->sums[FIGURE_LOSS].n) {
		tokens = all;
		judged_cite_sum(j, out, FIGURE_TOKENS_PER_S);
		judged_cite_sum(j, out, FIGURE_STEP_S);
	}
	if (!out->says)
		small_pieces(j, out, tokens);
	if (!isfinite(tokens)) {
		if (!out->says && !r->live)
			judged_set_text(
				j, out, IS_UNSEEN, NAN,
				"micro-batch, sequence length and SM activity are not recorded");
		return;
	}
	judged_cite_trait(j, out, r->traits[TRAIT_MICRO_BATCH]);
	judged_cite_trait(j, out, r->traits[TRAIT_SEQUENCE]);
	if (out->says)
		return;
	if (tokens < TOKENS_FEW && cost > 0.3 && isfinite(r->split.step_s)) {
		judged_set_text(j, out, IS_CERTAIN, cost,
				"%.0f tokens per micro-batch: %.0f %% of the step time does not "
				"depend on the micro-batch size",
				tokens, 100 * cost);
		judged_cite_sum(j, out, FIGURE_OPTIMIZER_S);
	} else if (tokens < (judging_gpu(j) ? TOKENS_SOME : TOKENS_FEW / 2) &&
		   (!isfinite(r->mfu) || r->mfu < 0.2)) {
		judged_set_text(j, out,
				isfinite(r->mfu) && tokens < TOKENS_FEW ? IS_LIKELY : IS_POSSIBLE,
				isfinite(r->mfu) ? 1 - r->mfu / 0.4 : (double)NAN,
				"%.0f tokens per micro-batch: too few for a GPU", tokens);
		if (isfinite(r->mfu))
			out->says =
				arena_printf(j->a, "%s; MFU is %.1f %%", out->says, 100 * r->mfu);
	} else {
		judged_set_text(j, out, IS_EXCLUDED, NAN, "%.0f tokens a micro-batch", tokens);
	}
}

/* Where the host was while the GPU had nothing to do: the range of the program's own that holds
 * most of it, with its seconds a step; NULL: nobody marked any. */
static const char *idle_in(const struct judging *j, double *s, const struct metric_sample **at)
{
	const struct run_evidence *ev = j->r->ev;
	struct map seen = { 0 };
	const char *most = NULL;

	*s = 0;
	for (size_t i = 0; i < ev->n_figures && seen.n < RANGES_MAX; i++) {
		const struct metric_sample *f = &ev->figures[i];
		struct figure_sum sum;

		if (f->kind != FIGURE_IDLE_IN_S || ev->files[f->file].run != j->r->run ||
		    !f->text || map_get(&seen, f->text))
			continue;
		*map_at(j->a, &seen, f->text) = (void *)(uintptr_t)1;
		sum = run_sum_text(j->a, j->r, FIGURE_IDLE_IN_S, f->text);
		if (!(sum.mean > *s))
			continue;
		*s = sum.mean;
		*at = sum.at;
		most = f->text;
	}
	return most;
}

/* The larger part of what idles is in one range: who reads it knows that name. */
static void cite_where(const struct judging *j, struct judged_cause *out)
{
	const struct metric_sample *at = NULL;
	double s, share;
	const char *name = idle_in(j, &s, &at);

	share = s / j->r->split.s[PART_IDLE];
	if (!name || !(share > 0.2) || out->how == IS_EXCLUDED)
		return;
	out->says =
		arena_printf(j->a, "%s; the host is in the range \"%s\" for %.0f %% of that time",
			     out->says, name, 100 * fmin(share, 1));
	judged_cite(j, out, at, arena_printf(j->a, "GPU idle in \"%s\": %.4g s per step", name, s));
}

void rule_idle(const struct judging *j, struct judged_cause *out)
{
	const struct figure_sum *util = &j->r->sums[FIGURE_GPU_UTIL];
	double idle = judging_share(j, PART_IDLE);
	bool traced = j->r->split.gpu_clock && isfinite(idle);
	double from_s, to_s;

	if (!traced && !util->n)
		return;
	if (!traced)
		idle = 1 - util->mean;
	judged_cite_sum(j, out, traced ? FIGURE_IDLE_S : FIGURE_GPU_UTIL);
	judged_set_text(j, out, idle < 2 * DIAGNOSE_WORTH ? IS_EXCLUDED : IS_LIKELY, fmax(idle, 0),
			traced ? "the GPU is idle for %.0f %% of a step"
			       : "no kernel was running for %.0f %% of the time",
			100 * fmax(idle, 0));
	if (traced)
		cite_where(j, out);
	if (judging_by_nsys(j) && out->how == IS_LIKELY)
		out->against = judging_nsys_slows;
	if (watched_long_gaps(j->r) < DIAGNOSE_WORTH && out->how == IS_LIKELY) {
		out->how = IS_POSSIBLE;
		out->against =
			"all idle gaps are below 10 ms, and the profiler slows the host down";
	}
	/* Without a step the recording may be of what comes before training. */
	if (!traced && out->how == IS_LIKELY &&
	    (idle < WATCHED_IDLE || !(j->r->live || j->r->steps || isfinite(j->r->tokens_s_gpu) ||
				      evidence_training(j->r->ev, j->r->run, &from_s, &to_s)))) {
		out->how = IS_POSSIBLE;
		out->against = "in a healthy run, gaps between launches can take as long; gputune "
			       "record --trace distinguishes them from waiting";
	}
	if (!traced && isfinite(j->r->mfu) && j->r->mfu > 0.45 && out->how == IS_LIKELY) {
		out->how = IS_POSSIBLE;
		out->against = arena_printf(j->a,
					    "an MFU of %.0f %% excludes this cause: the recording "
					    "includes time outside of training",
					    100 * j->r->mfu);
	}
}
