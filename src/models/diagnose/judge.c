/* SPDX-License-Identifier: Apache-2.0 */
/* From the causes' verdicts to one for the run: what is the bottleneck, what comes next, and what
 * would have to be measured. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "models/diagnose/judge.h"

const char *const certainty_names[CERTAINTIES] = { "certain", "likely", "possible", "unseen",
						   "excluded" };

enum { MISSING_MAX = 12 };

/* --- what rules say with -----------------------------------------------------------------------
 */

void judged_say(const struct judging *j, struct judged_cause *out, enum certainty how, double share,
		const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	out->says = arena_vprintf(j->a, fmt, ap);
	va_end(ap);
	out->how = how;
	out->share = share > 1 ? 1 : share;
}

void judged_cite(const struct judging *j, struct judged_cause *out, const struct figure_seen *f,
		 const char *says)
{
	(void)j;
	if (!f || out->n_cites >= CITES_MAX)
		return;
	out->cites[out->n_cites++] = (struct cite){ f->file, f->line, says };
}

void judged_cite_sum(const struct judging *j, struct judged_cause *out, enum figure_kind k)
{
	const struct figure_sum *s = &j->r->sums[k];
	const struct figure_type *t = &figure_types[k];

	if (!s->n)
		return;
	judged_cite(j, out, s->at,
		    s->n == 1 ? arena_printf(j->a, "%s %.4g%s%s", t->name, s->median,
					     *t->unit ? " " : "", t->unit)
			      : arena_printf(j->a, "%s %.4g%s%s, the middle of %zu (%.4g to %.4g)",
					     t->name, s->median, *t->unit ? " " : "", t->unit, s->n,
					     s->low, s->high));
}

void judged_cite_trait(const struct judging *j, struct judged_cause *out,
		       const struct trait_seen *t)
{
	(void)j;
	if (!t || out->n_cites >= CITES_MAX)
		return;
	out->cites[out->n_cites++] = (struct cite){ t->file, t->line, t->text };
}

double judging_share(const struct judging *j, enum step_part p)
{
	const struct step_split *s = &j->r->split;

	return isfinite(s->step_s) && s->told[p] ? s->s[p] / s->step_s : (double)NAN;
}

const char *cite_place(struct arena *a, const struct evidence *ev, const struct cite *c)
{
	return c->line ? arena_printf(a, "%s:%zu", ev->files[c->file].path, c->line)
		       : arena_strdup(a, ev->files[c->file].path);
}

/* --- the order ---------------------------------------------------------------------------------
 */

static double weight(const struct judged_cause *c)
{
	static const double sure[CERTAINTIES] = { 1, 0.8, 0.1, 0, -1 };

	return sure[c->how] * (isfinite(c->share) ? 0.02 + c->share : 0.04);
}

static bool is_found(const struct judged_cause *c)
{
	return c->how <= IS_LIKELY && !(c->share < DIAGNOSE_WORTH) &&
	       (c->how == IS_CERTAIN || isfinite(c->share));
}

static void order(struct run_verdict *v)
{
	for (size_t i = 0; i < cause_rows_n; i++) {
		size_t k = i;

		v->order[i] = i;
		for (; k > 0; k--) {
			const struct judged_cause *x = &v->causes[v->order[k]],
						  *y = &v->causes[v->order[k - 1]];
			bool before =
				is_found(x) != is_found(y) ? is_found(x) : weight(x) > weight(y);
			size_t t = v->order[k];

			if (!before)
				break;
			v->order[k] = v->order[k - 1];
			v->order[k - 1] = t;
		}
	}
}

/* --- enough for "healthy"? ---------------------------------------------------------------------
 */

static bool mostly_unexplained(const struct step_split *s)
{
	return isfinite(s->step_s) && s->s[PART_REST] > 0.5 * s->step_s;
}

/* Why a clean bill cannot be given; NULL: it can. */
static const char *blind(struct arena *a, const struct run_seen *r)
{
	const struct step_split *s = &r->split;
	bool alone = run_alone(r);

	if (r->impossible)
		return arena_printf(a, "figures contradict each other: %s", r->impossible);
	if (run_too_short(r))
		return arena_printf(a, "%zu step%s told, it takes %d", r->steps,
				    r->steps == 1 ? " is" : "s are", DIAGNOSE_STEPS_LEAST);
	if (mostly_unexplained(s))
		return arena_printf(a, "%.0f %% of a step is explained by nothing",
				    100 * s->s[PART_REST] / s->step_s);
	if (r->mfu >= 0.45 || r->mfu_attention >= 0.45)
		return NULL;
	if (!isfinite(s->step_s))
		return isfinite(r->step_s) ? "no file tells where the time of a step goes"
					   : "no file tells the time of a step";
	if (!s->told[PART_COMPUTE])
		return "no file tells the time of computing";
	if (!s->told[PART_DATA] && !s->told[PART_IDLE])
		return "no file tells the time of waiting for data";
	if (!alone && !s->told[PART_COMM])
		return "no file tells the time of communication that nothing hides";
	if (s->s[PART_REST] > 0.15 * s->step_s)
		return "too much of the step is explained by nothing";
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

static void sentence(struct arena *a, const struct run_seen *r, struct run_verdict *v)
{
	const char *why = blind(a, r);
	const struct judged_cause *c = &v->causes[v->order[0]];

	v->healthy = !v->main && !why;
	if (v->main && isfinite(c->share))
		v->verdict = arena_printf(a, "%s (%s), at most %.0f %% of the %s: %s",
					  v->main->title, certainty_names[c->how], 100 * c->share,
					  r->live || r->split.window ? "time" : "step", c->says);
	else if (v->main)
		v->verdict = arena_printf(a, "%s (%s): %s", v->main->title, certainty_names[c->how],
					  c->says);
	else if (why)
		v->verdict = arena_printf(a, "cannot tell: %s", why);
	else
		v->verdict = "nothing that was looked at costs 5 % of a step";
	if (v->main && (r->impossible || mostly_unexplained(&r->split)))
		v->verdict = arena_printf(a, "%s. But %s", v->verdict, why);
	if (mostly_unexplained(&r->split))
		add_missing(v, "what the rest of a step is: optimizer_s, comm_exposed_s, sync_s, "
			       "checkpoint_s in the log's lines, as far as they are missing "
			       "(docs/DIAGNOSE.md)");
	if (why && (!v->main || r->impossible || mostly_unexplained(&r->split)))
		add_missing(v,
			    r->live ? "the job's own log with the time of each step: gputune "
				      "diagnose training FILE"
				    : "gputune record -o job.rec -- COMMAND, and a trace of a few "
				      "steps by torch.profiler (export_chrome_trace)");
}

/* Shares of a step stand on figures that contradict each other, or on too few steps. */
static void doubt(struct arena *a, const struct run_seen *r, struct judged_cause *c)
{
	const char *why =
		r->impossible ? arena_printf(a, "figures contradict each other: %s", r->impossible)
		: run_too_short(r)
			? arena_printf(a, "%zu step%s told, and it takes %d to be certain",
				       r->steps, r->steps == 1 ? " is" : "s are",
				       DIAGNOSE_STEPS_LEAST)
			: NULL;

	if (!why || c->how != IS_CERTAIN || !isfinite(c->share))
		return;
	c->how = IS_LIKELY;
	c->against = c->against ? arena_printf(a, "%s; %s", c->against, why) : why;
}

static void judge_run(struct arena *a, const struct run_seen *r, const struct scaling *scale,
		      struct run_verdict *v)
{
	struct judging j = { a, r, scale };

	*v = (struct run_verdict){ .causes = arena_array(a, cause_rows_n, sizeof(*v->causes)),
				   .order = arena_array(a, cause_rows_n, sizeof(*v->order)),
				   .missing = arena_array(a, MISSING_MAX, sizeof(*v->missing)) };
	for (size_t i = 0; i < cause_rows_n; i++) {
		v->causes[i] = (struct judged_cause){ .how = IS_UNSEEN, .share = NAN };
		cause_rows[i].rule(&j, &v->causes[i]);
		doubt(a, r, &v->causes[i]);
		v->found += is_found(&v->causes[i]);
	}
	order(v);
	v->main = v->found ? &cause_rows[v->order[0]] : NULL;
	for (size_t i = 0; i < cause_rows_n; i++)
		if (v->causes[i].how == IS_UNSEEN && v->causes[i].says && cause_rows[i].measure)
			add_missing(v, arena_printf(a, "%s: %s", cause_rows[i].title,
						    cause_rows[i].measure));
	sentence(a, r, v);
}

void diagnose_runs(struct arena *a, const struct evidence *ev, const struct diagnose_ask *ask,
		   struct diagnosis_of_runs *out)
{
	size_t n = ask->n_runs;

	*out = (struct diagnosis_of_runs){ .ev = ev, .n = n };
	out->runs = arena_array(a, n, sizeof(*out->runs));
	out->verdicts = arena_array(a, n, sizeof(*out->verdicts));
	for (size_t i = 0; i < n; i++)
		run_see(a, ev, i, ask, &out->runs[i]);
	scaling_see(a, out->runs, n, &out->scale);
	for (size_t i = 0; i < n; i++) {
		judge_run(a, &out->runs[i], &out->scale, &out->verdicts[i]);
		judged_gains(a, &out->runs[i], ask, &out->verdicts[i]);
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
