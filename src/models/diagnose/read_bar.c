/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Progress bars: of tqdm ("12/345 [00:07<06:50,  1.23s/it]"), which Hugging Face Trainer (without a
 * word before) and Lightning ("Epoch 0:") use, and Lightning's rich one. Other bars (downloads,
 * shards, data sets) have other words before them and are no steps.
 */
#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "models/diagnose/read.h"

/* The "12/345" before at: where the digits begin. */
static const char *fraction(const char *s, const char *at, long long *done, long long *all)
{
	const char *slash = at;

	while (slash > s && *slash != '/')
		slash--;
	if (*slash != '/' || !isdigit((unsigned char)slash[1]))
		return NULL;
	*all = strtoll(slash + 1, NULL, 10);
	at = slash;
	while (at > s && isdigit((unsigned char)at[-1]))
		at--;
	if (at == slash || slash - at > 12)
		return NULL;
	*done = strtoll(at, NULL, 10);
	return at;
}

/* The number that ends where unit begins. */
static double rate_before(const char *s, const char *unit)
{
	const char *p = unit;

	while (p > s && (isdigit((unsigned char)p[-1]) || p[-1] == '.'))
		p--;
	return p < unit ? read_number(p, NULL) : (double)NAN;
}

/* A bar of a million states would leave no room for what else the log says. */
enum { STATES_TOLD = 20000 };

static bool bar_line(struct log *l, const char *s)
{
	const char *per = strstr(s, "it/s"), *unit = per ? per : strstr(s, "s/it"), *open, *start;
	struct read_place at = l->at;
	long long done = 0, all = 0;
	double rate = unit ? rate_before(s, unit) : (double)NAN;
	bool epoch;

	if (!(rate > 0))
		return false;
	s += strspn(s, " ");
	epoch = str_starts(s, "Epoch ");
	open = strchr(s, '[');
	/* Rich writes "12/345 0:00:07 • 0:06:50 1.23it/s". */
	start = open && open < unit ? fraction(s, open, &done, &all)
		: epoch		    ? strstr(s + 6, " ")
				    : NULL;
	if (open && open < unit && (!start || done < 1 || all < 1))
		return false;
	/* Nothing but a percentage and the bar itself stands before the steps of the Trainer. */
	if (!epoch && (!isdigit((unsigned char)*s) || !strchr(s, '%') || strchr(s, '%') - s > 3))
		return false;
	if (!epoch) {
		/* Evaluations have bars of other lengths. */
		l->bar_total = l->bar_total ? l->bar_total : all;
		if (all != l->bar_total)
			return false;
		at.step = done;
		if (done > l->bar_told && done - l->bar_told < all / STATES_TOLD)
			return true;
		l->bar_told = done;
	}
	read_figure(&at, FIGURE_STEP_S, per ? 1 / rate : rate, "progress bar");
	return true;
}

static const char *const marks[] = { "it/s", "s/it", NULL };
const struct log_reader log_lightning_bar = { .marks = marks, .line = bar_line };
