/* SPDX-License-Identifier: Apache-2.0 */
/* From facts to findings: expand every setting over its targets, judge, group equal findings. */
#ifndef SETTINGS_CHECK_H
#define SETTINGS_CHECK_H

#include "look/settings/profile.h"
#include "look/settings/settings.h"

/* One judged setting on one or more targets that gave the same answer. */
struct finding {
	const struct setting *s;
	const char *target;   /* "gpu0-7", "cpu0-255", "nvme0n1 nvme1n1", "" for the host */
	const char **targets; /* their names, n_targets of them */
	size_t n_targets;
	struct verdict v; /* all texts filled */
	enum severity severity;
	const void **objects; /* the same targets as objects of the scope */
	size_t order;	      /* place in the tables, for a stable order */
	const char *read_from;
};

struct findings {
	struct finding *items;
	size_t n;
	size_t count[4];    /* by enum verdict_kind, counting findings */
	int health, tuning; /* 0..100: of the health checks, of all others; -1: none was judged */
	int score;	    /* the lower of both, -1 when nothing could be judged */
	const char *capped_by; /* the failure that holds the score at its limit; NULL: none does */
};

/*
 * Judges every setting that the profile and its filters select. Order: failed health checks first,
 * then by table order; within a setting by target. Everything lives in the arena.
 */
void settings_check(struct arena *a, const struct machine *m, const struct profile *p,
		    knob_reader *read, void *ctx, struct findings *out);

/* Its reason up to where it goes on to advise: "lanes are missing". */
const char *finding_head(struct arena *a, const struct finding *f);

/*
 * What would have to be written to make target number i of a failed finding right. n is 0 and
 * by_hand says why where nothing of ours does.
 */
void settings_remediations(struct arena *a, const struct machine *m, const struct profile *p,
			   const struct finding *f, size_t i, knob_reader *read, void *ctx,
			   struct remediations *out);

#endif
