/* SPDX-License-Identifier: Apache-2.0 */
/* What rules ask of a run, and how they say and cite what they found. */
#include <math.h>
#include <string.h>

#include "models/diagnose/judge.h"
#include "models/diagnose/read.h"
#include "base/text.h"

const char *const certainty_names[CERTAINTIES] = { "certain", "likely", "possible", "unseen",
						   "excluded" };

/* --- what rules say with ---------------------------------------------------------------------- */

void judged_set_text(const struct judging *j, struct judged_cause *out, enum certainty how,
		     double share, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	out->says = arena_vprintf(j->a, fmt, ap);
	va_end(ap);
	out->how = how;
	out->share = share > 1 ? 1 : share;
}

void judged_cite(const struct judging *j, struct judged_cause *out, const struct metric_sample *f,
		 const char *says)
{
	if (!f || out->n_cites >= CITES_MAX)
		return;
	out->cites[out->n_cites++] = (struct cite){ &j->r->ev->files[f->file], f->line, says };
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
			      : arena_printf(j->a, "%s %.4g%s%s, median of %zu (%.4g to %.4g)",
					     t->name, s->median, *t->unit ? " " : "", t->unit, s->n,
					     s->low, s->high));
}

void judged_cite_trait(const struct judging *j, struct judged_cause *out,
		       const struct run_attribute *t)
{
	if (!t || out->n_cites >= CITES_MAX)
		return;
	out->cites[out->n_cites++] = (struct cite){ &j->r->ev->files[t->file], t->line, t->text };
}

double judging_places(const struct judging *j, const char *kind, struct judged_cause *c)
{
	const struct run_evidence *ev = j->r->ev;
	double most = 0, sum = 0;
	const struct run_attribute *last = NULL;

	/* Of the process with the largest share: its places are one line. */
	for (size_t i = 0; i < ev->n_traits; i++) {
		const struct run_attribute *t = &ev->traits[i];

		if (t->kind != TRAIT_PLACE || ev->files[t->file].run != j->r->run ||
		    !str_starts(t->text, kind))
			continue;
		sum = last && last->file == t->file && last->line == t->line ? sum : 0;
		sum += t->value;
		most = fmax(most, sum);
		last = t;
		if (c && t->value >= DIAGNOSE_WORTH)
			judged_cite_trait(j, c, t);
	}
	return most;
}

double judging_share(const struct judging *j, enum step_part p)
{
	const struct step_split *s = &j->r->split;

	return isfinite(s->step_s) && s->told[p] ? s->s[p] / s->step_s : (double)NAN;
}

const char *cite_place(struct arena *a, const struct cite *c)
{
	return c->line ? arena_printf(a, "%s:%zu", c->file->path, c->line) : c->file->path;
}

bool judging_gpu(const struct judging *j)
{
	const struct run_summary *r = j->r;

	return r->traits[TRAIT_GPU] || r->sums[FIGURE_GPU_UTIL].n || r->split.gpu_clock ||
	       r->sums[FIGURE_GPU_MEMORY].n;
}

bool judging_alone(const struct judging *j)
{
	return run_alone(j->r);
}

bool judging_by_nsys(const struct judging *j)
{
	const char *format = j->r->split.format;

	return format && strcmp(format, evidence_sqlite.name) == 0;
}

const char judging_nsys_slows[] = "nsys slows every launch, by a different amount in each process: "
				  "compare with the step time without nsys";
