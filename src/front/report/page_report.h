/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A report: what other pages say of one machine or of many, as sections of one page. Here are the
 * frame, what stands at the front, and the few sections that no other page has. Pure.
 */
#ifndef REPORT_PAGE_REPORT_H
#define REPORT_PAGE_REPORT_H

#include "base/shape.h"
#include "measure/bench/record.h"
#include "machine/model/machine.h"
#include "measure/prove/ledger.h"
#include "look/settings/check.h"
#include "render/doc.h"

enum { REPORT_PARTS_MAX = 12 };

/* One section. */
struct report_part {
	const char *id, *title;
	const struct doc *doc; /* what its page says; NULL: nothing to show */
	struct cell say;       /* beside the heading; without a doc why nothing is shown */
	const char *unseen;    /* what was not looked at, and why; NULL: nothing of the kind */
	struct doc *given;     /* what files of results say; NULL: none was given */
	bool open;
};

/* What the front says of a machine: no part of it is needed later. */
struct report_head {
	const char *id; /* of its section */
	const char *name, *what, *kernel, *from;
	long long time_s;
	size_t count[4]; /* findings by enum verdict_kind */
	int score;	 /* as struct findings */
	bool judged;
	const char *worst; /* id of the worst finding; NULL: none */
	enum severity severity;
};

struct report_machine {
	struct report_head head;
	const struct doc *front; /* the verdict and what to fix first; NULL: not judged */
	struct report_part parts[REPORT_PARTS_MAX];
	size_t n;
};

/* The page's heading, when and by what it was made, and, of several machines, a table with a line
 * and a link each. */
struct doc *page_report_front(struct arena *a, const char *title, long long time_s,
			      const struct report_head *heads, size_t n);
/* The sections of a machine. alone: it is the only one of the page and needs no section itself. */
struct doc *page_report_machine(struct arena *a, const struct report_machine *m, bool alone);
/* f may be NULL: nothing was judged. Everything in the arena. */
struct report_head report_head_of(struct arena *a, const struct machine *m,
				  const struct findings *f);

/* --- sections --------------------------------------------------------------------------------- */

/* Drawing with the bottleneck; the facts, folded, and, unless id is NULL, who is near whom. */
struct doc *report_hardware(struct arena *a, const struct machine *m, const char *id);
/* Results, newest first; each can be folded. id begins the ids of its sections. */
struct doc *report_benches(struct arena *a, const struct record *items, size_t n, const char *id);
/* What was proven on this machine: verdicts, what changed since, and the chart. NULL: nothing. */
struct doc *report_proofs(struct arena *a, const struct ledger *l);

/* The report as JSON: machines are the results of verbs, as they are. */
struct report_answer {
	long long time_s;
	int exit_code;
	json_t *machines;
};
extern const struct result_shape report_result;

#endif
