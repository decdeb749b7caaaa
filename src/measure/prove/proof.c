/* SPDX-License-Identifier: Apache-2.0 */
/* Words of a proof. */
#include "measure/prove/proof.h"

#include <math.h>

const char *proof_part_name(enum proof_part p)
{
	static const char *const names[] = { "warm-up", "same", "pairs", "screen", "confirm" };

	return names[p];
}

const char *proof_percent(struct arena *a, double ratio)
{
	double percent = (ratio - 1) * 100;

	if (!isfinite(ratio))
		return "unbounded";
	return arena_printf(a, fabs(percent) < 10 ? "%+.1f %%" : "%+.0f %%", percent);
}
