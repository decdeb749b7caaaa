/* SPDX-License-Identifier: Apache-2.0 */
/* What the parts of seeing a run share; for split*.c alone. */
#ifndef DIAGNOSE_SPLIT_H
#define DIAGNOSE_SPLIT_H

#include <stdint.h>

#include "models/diagnose/diagnose.h"

struct sample {
	double value; /* of a step */
	const struct metric_sample *f;
};

struct file_steps {
	long long first, last, from; /* steps that it tells; those before from are warming-up; -1 */
	size_t n;
	long long traced_first,
		traced_last;	      /* steps in which a profiler looked; first > last: none */
	double busy_most;	      /* part of the time that a GPU had work, at most */
	double busy_first, busy_last; /* when a GPU had work, by the file's own clock */
};

struct run_files {
	size_t run;
	struct file_steps *files; /* one a file of the evidence */
	double step_s;		  /* what totals are told by; NAN: as they stand */
	double cut_s; /* the stretch of a recording that is taken for the steps; NAN: all */
};

void run_files_analyze(struct arena *a, const struct run_evidence *ev, size_t run,
		       struct run_files *out);
/* text, format NULL: any. Totals of one file and rank are added up. */
size_t run_samples(struct arena *a, const struct run_evidence *ev, const struct run_files *rf,
		   enum figure_kind k, const char *text, const char *format, struct sample **out);
struct figure_sum figure_sum_of(struct arena *a, const struct sample *s, size_t n,
				const char *format);
struct figure_sum run_sum(struct arena *a, const struct run_evidence *ev,
			  const struct run_files *rf, enum figure_kind k, const char *text);

/* split_sum.c: which timers the samples of one kind hold. */
enum { TIMERS_MOST = 64 };
struct timers {
	const char *names[TIMERS_MOST];
	size_t n_names;
	uint64_t *of; /* one for each sample: bit i: it holds names[i] */
	size_t next;  /* the sample behind the one that was found last */
};

/* split_rank.c: the log's saves are no part of its steps. middle_s: of a step; between: steps
 * from one that is told to the next. */
bool saving_beside(const struct sample *steps, size_t n, double middle_s, double between,
		   const struct sample *saves, size_t n_saves);

/* split_rank.c: GPUs that a job under the recorder had work for, where no file tells how many it
 * used; NAN. */
double gpus_watched(const struct run_evidence *ev, const struct run_summary *r);

/* split_rank.c: needs r->step_s. */
void ranks_analyze(struct arena *a, const struct run_files *rf, struct run_summary *r);

#endif
