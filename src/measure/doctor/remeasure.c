/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a fix was worth. Two runs before it show how far this machine moves by itself; only a
 * difference beyond that counts.
 */
#include <math.h>
#include <string.h>

#include "base/text.h"
#include "measure/bench/record.h"
#include "measure/doctor/doctor.h"

const char *remeasured_name(unsigned r)
{
	static const char *const names[] = { "better",	  "no-difference", "worse",
					     "undecided", "gone",	   "stays" };

	return names[r];
}

static const struct compare_row *remeasure_row_of(const struct compare *c,
						  const struct compare_row *like)
{
	for (size_t i = 0; i < c->n; i++)
		if (strcmp(c->rows[i].bench, like->bench) == 0 &&
		    strcmp(c->rows[i].name, like->name) == 0 &&
		    strcmp(c->rows[i].figure, like->figure) == 0)
			return &c->rows[i];
	return NULL;
}

static bool moved(const struct compare_row *r)
{
	return r->verdict == COMPARE_BETTER || r->verdict == COMPARE_WORSE;
}

/* The machine moved so far by itself as well. */
static bool drifts(const struct compare *same, const struct compare_row *r)
{
	const struct compare_row *by_itself = remeasure_row_of(same, r);

	return by_itself && moved(by_itself) &&
	       fabs(log(by_itself->ratio.ratio)) * 2 > fabs(log(r->ratio.ratio));
}

/* Called the same, but more than this would not have been noticed. */
#define COARSE 0.05

static bool coarse(const struct compare_row *r)
{
	return log(r->ratio.interval.high / r->ratio.interval.low) > 2 * COARSE;
}

static const char *row_text(struct arena *a, const struct compare_row *r)
{
	return arena_printf(a, "%s %s, %s: %.4g to %.4g %s (%+.1f %%, %+.1f to %+.1f %%)", r->bench,
			    r->name, r->figure, r->a, r->b, r->unit_text,
			    100 * (r->ratio.ratio - 1), 100 * (r->ratio.interval.low - 1),
			    100 * (r->ratio.interval.high - 1));
}

void doctor_remeasure(struct arena *arena, const struct record *a, const struct record *b,
		      const struct record *c, bool gone, struct fix_verdict *out)
{
	struct compare same, effect;
	size_t better = 0, worse = 0, drift = 0, told = 0, blurred = 0;
	TEXT_AUTO t = { 0 };

	*out = (struct fix_verdict){
		gone ? FIX_GONE : FIX_STAYS,
		gone ? "the cause is no longer found; no test here measures the effect"
		     : "the cause is still found",
		gone
	};
	if (!a || !b || !c || !c->n)
		return;
	struct record r3[] = { *a, *b, *c };
	/* The two before the fix are the control for a busy machine. */
	for (size_t i = 0; i < 3; i++)
		r3[i].conditions = (struct record_conditions){ 0 };
	compare_records(arena, &r3[0], &r3[1], &same);
	compare_records(arena, &r3[1], &r3[2], &effect);
	for (size_t i = 0; i < effect.n; i++) {
		const struct compare_row *r = &effect.rows[i];

		if (r->verdict == COMPARE_CANNOT)
			continue;
		told++;
		blurred += !moved(r) && coarse(r);
		if (moved(r) && drifts(&same, r))
			drift++;
		else if (moved(r))
			*(r->verdict == COMPARE_BETTER ? &better : &worse) += 1;
		if (moved(r) || !t.len)
			text_printf(&t, "%s%s", t.len ? "; " : "", row_text(arena, r));
	}
	if (!told)
		return;
	out->how = better && !worse		? FIX_BETTER
		   : worse && !better		? FIX_WORSE
		   : better || drift || blurred ? FIX_UNDECIDED
						: FIX_SAME;
	if (drift)
		text_add(&t, "; results varied as much before the fix");
	else if (out->how == FIX_UNDECIDED && blurred)
		text_add(&t, "; results vary too much to decide: repeat on an idle machine, or "
			     "with a longer --for");
	out->says = arena_strdup(arena, t.s);
	out->keep = out->how == FIX_BETTER;
}
