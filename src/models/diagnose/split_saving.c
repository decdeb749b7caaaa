/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Whether the time that a log tells of saving is beside its steps or in them. Megatron-LM's clock
 * of an iteration stands still while it saves, but neither in 2021, whose timers have one figure
 * instead of the least and most of the ranks, nor in the two years behind: there the step that is
 * told next holds it.
 */
#include <math.h>
#include <string.h>

#include "base/text.h"
#include "models/diagnose/split.h"

/* The step that is told next after a save; NULL: none. */
static const struct sample *next_step(const struct sample *steps, size_t n,
				      const struct figure_seen *save)
{
	const struct sample *next = NULL;

	for (size_t i = 0; i < n; i++)
		if (steps[i].f->file == save->file && steps[i].f->step > save->step &&
		    (!next || steps[i].f->step < next->f->step))
			next = &steps[i];
	return next;
}

bool saving_beside(const struct sample *steps, size_t n, double middle_s, double between,
		   const struct sample *saves, size_t n_saves)
{
	double more = 0, all = 0;

	if (!n || !n_saves || !saves[0].f->text ||
	    !str_starts(saves[0].f->text, "save-checkpoint") || !strchr(saves[0].f->text, '('))
		return false;
	for (size_t i = 0; i < n_saves; i++) {
		const struct sample *next = next_step(steps, n, saves[i].f);

		if (!next)
			continue;
		/* A log that tells every tenth step tells their mean. */
		more += between * (next->value - middle_s);
		all += saves[i].value;
	}
	return !(all > 0) || more < all / 2;
}
