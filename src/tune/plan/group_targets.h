/* SPDX-License-Identifier: Apache-2.0 */
/* Rows about single knobs as few lines: what is alike on 256 CPUs is one line with a range. */
#ifndef PLAN_GROUP_TARGETS_H
#define PLAN_GROUP_TARGETS_H

#include "machine/model/machine.h"
#include "look/settings/settings.h"

/* A row as far as gathering needs it. */
struct batch_row {
	const char *id, *target; /* the setting and its target, as they were called */
	const struct knob *knob;
	const char *key; /* everything else that has to be equal, as one text */
};

struct batch {
	const char *
		what; /* the id, and which of its knobs where it has several: "nic.rings tx-ring" */
	const char *on; /* "cpu0-255", "nvme0n1 nvme1n1 +6", "" for the machine */
	size_t first;	/* the first row of it */
	size_t n;	/* how many rows */
	const char **targets;
	size_t n_targets;
};

/* In the order of their first rows; arena array of *n_out. Settings and targets that this machine
 * does not know are told apart by their names. */
struct batch *batch_rows(struct arena *a, const struct machine *m, const struct batch_row *rows,
			 size_t n, size_t *n_out);
/* Texts joined so that different lists never give the same text; NULL differs from "". */
const char *batch_key(struct arena *a, const char *const *texts, size_t n);

#endif
