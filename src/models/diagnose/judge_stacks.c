/* SPDX-License-Identifier: Apache-2.0 */
/* What sampled stacks say of a cause: the kinds of places (waits.rows) that it is seen in. */
#include <math.h>
#include <string.h>

#include "models/diagnose/judge.h"

/* Where the main thread was seen and hardly ever waits for data, none of its GPU's idle time is the
 * loader's; waits: share of samples that do. */
static bool loader_unseen(const struct judging *j, struct judged_cause *c, double waits)
{
	double from_s, to_s;

	if (strcmp(c->row->id, "loader") != 0 || c->how > IS_POSSIBLE || waits >= DIAGNOSE_WORTH ||
	    isfinite(judging_share(j, PART_DATA)) ||
	    !evidence_training(j->r->ev, j->r->run, &from_s, &to_s))
		return false;
	judged_set_text(j, c, IS_EXCLUDED, waits,
			"%.1f %% of the main thread's stack samples wait for data", 100 * waits);
	return true;
}

/* Launching leaves no gaps of 10 ms: as far as the main thread computes in them, it is in the
 * program's own Python. */
static void host_by_gaps(const struct judging *j, struct judged_cause *c)
{
	double gaps = watched_long_gaps(j->r),
	       works = judging_places(j, "spinning: ", NULL) +
		       judging_places(j, "computing: ", NULL),
	       share = works + gaps - 1;

	if (!(share > 2 * DIAGNOSE_WORTH))
		return;
	judging_places(j, "spinning: ", c);
	judged_cite_sum(j, c, FIGURE_LONG_IDLE_S);
	judged_set_text(j, c, IS_LIKELY, share,
			"the GPU idles for %.0f %% of the time in gaps of 10 ms or longer; %.0f %% "
			"of the main thread's stack samples compute",
			100 * gaps, 100 * works);
}

/* Each training evaluates now and then. */
#define EVALUATING_MUCH 0.2

void judged_by_stacks(const struct judging *j, struct judged_cause *c)
{
	/* Where workers of a loader are says where its time goes, not that anybody waits for it; a
	 * wait for the GPU is work of the GPU. */
	static const struct {
		const char *cause, *kind;
		bool waits;
	} kinds[] = { { "loader", "data-loader: ", true },   { "loader", "loader-worker: ", false },
		      { "loader", "preparing: ", true },     { "thread", "other threads: ", false },
		      { "checkpoint", "saving: ", true },    { "sync", "synchronizing: ", false },
		      { "compile", "compiling: ", true },    { "host", "collecting: ", true },
		      { "host", "emptying: ", true },	     { "host", "computing: ", true },
		      { "loader", "queue: ", true },	     { "loader", "lock: ", true },
		      { "loader", "storage: ", true },	     { "loader", "network: ", true },
		      { "loader", "download: ", true },	     { "host", "sleep: ", true },
		      { "evaluation", "evaluating: ", true } };
	double most = 0, from_s, to_s, idle = judging_idle(j),
	       emptied = judging_places(j, "emptying: ", NULL),
	       fetched = judging_places(j, "synchronizing: ", NULL);

	for (size_t k = 0; k < sizeof(kinds) / sizeof(kinds[0]); k++)
		if (strcmp(kinds[k].cause, c->row->id) == 0)
			most += judging_places(j, kinds[k].kind, c) * kinds[k].waits;
	if (loader_unseen(j, c, most))
		return;
	/* Backward passes are compiled by another thread while the main one is in them. */
	if (most > 2 * DIAGNOSE_WORTH && strcmp(c->row->id, "compile") == 0 &&
	    evidence_training(j->r->ev, j->r->run, &from_s, &to_s))
		most += judging_places(j, "other: ", NULL);
	if (strcmp(c->row->id, "evaluation") == 0)
		idle = most > EVALUATING_MUCH ? 1 : 0;
	/* What GPUs do not wait for costs nothing. Looks with work are not those of saving. */
	if (strcmp(c->row->id, "checkpoint") == 0)
		idle = fmax(idle, 1 - j->r->sums[FIGURE_GPU_UTIL].mean);
	most = isfinite(idle) ? fmin(most, fmax(idle, 0)) : most;
	if (emptied > 0 && idle > DIAGNOSE_WORTH && strcmp(c->row->id, "host") == 0)
		judged_set_text(j, c, IS_CERTAIN, idle,
				"empty_cache() takes %.0f %% of the main thread's stack samples: "
				"freed memory is allocated again, and no kernel runs for %.0f %%",
				100 * emptied, 100 * idle);
	else if (most > 2 * DIAGNOSE_WORTH && c->how == IS_UNSEEN)
		judged_set_text(j, c, IS_LIKELY, most,
				"%.0f %% of main-thread stack samples show this cause", 100 * most);
	else if (strcmp(c->row->id, "host") == 0 && c->how == IS_UNSEEN)
		host_by_gaps(j, c);
	/* Waits for a GPU that hardly works are many: with each, nothing is launched ahead. */
	else if (fetched > DIAGNOSE_WORTH && idle > WATCHED_IDLE && c->how == IS_UNSEEN &&
		 strcmp(c->row->id, "sync") == 0)
		judged_set_text(j, c, IS_LIKELY, fmax(0, idle - judging_other_work(j)),
				"%.0f %% of the main thread's stack samples fetch values from the "
				"GPU, and no kernel runs for %.0f %% of the time",
				100 * fetched, 100 * idle);
}
