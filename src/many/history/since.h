/* SPDX-License-Identifier: Apache-2.0 */
/* What changed since a time, and what it cost. */
#ifndef HISTORY_SINCE_H
#define HISTORY_SINCE_H

#include "many/history/cost.h"
#include "many/history/history.h"
#include "render/doc.h"

enum { SINCE_SHOWN = 40 };

/* One change, on how many machines it came. */
struct since_change {
	const char *kind, *name, *from, *to;
	size_t machines;
	long long first_s, last_s;
	const char *machine; /* one that had it */
	size_t cause;	     /* its number among causes; beyond: it is none */
};

/* What one change, or those that always came with it, did to a figure. */
struct since_cost {
	const char *figure, *unit;
	const char *const *changes; /* "driver 580.65 -> 580.82" */
	size_t n_changes, machines;
	const char *verdict;
	double percent, low, high; /* better; NAN: unknown */
	const char *why;
};

struct since_answer {
	long long from_s;
	size_t machines;	    /* of the history */
	size_t n_changed;	    /* of them with a change */
	struct since_change *items; /* those on most machines first */
	size_t n_items;
	struct since_cost *costs;
	size_t n_costs;
	size_t left_out; /* causes beyond those that can be separated at once */
	const char *did;
};

/* machine NULL: all. 0; -EINVAL and *e. */
int history_since(struct history *h, long long from_s, const char *machine,
		  struct since_answer *out, struct err *e);
/* When the newest version, package or kernel came; 0: none has changed. */
long long history_upgraded(struct history *h, const char *machine);

extern const struct result_shape since_result;
struct doc *page_since(struct arena *a, const struct since_answer *s);

#endif
