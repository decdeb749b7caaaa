/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What rules share; for judge*.c alone. A rule is pure. It says nothing (UNSEEN without a
 * sentence) where its question does not arise, UNSEEN with a sentence without the measurement.
 */
#ifndef DIAGNOSE_JUDGE_H
#define DIAGNOSE_JUDGE_H

#include "models/diagnose/diagnose.h"

/* As many waits for the GPU in a step keep the host from launching ahead. */
enum { SYNCS_MANY = 20 };

/* Sets how, share and the sentence. */
void judged_set_text(const struct judging *j, struct judged_cause *out, enum certainty how,
		     double share, const char *fmt, ...) __attribute__((format(printf, 5, 6)));
/* Adds lines that it stands on: a sum's, a figure's, a trait's. NULL or not known adds nothing. */
void judged_cite_sum(const struct judging *j, struct judged_cause *out, enum figure_kind k);
void judged_cite(const struct judging *j, struct judged_cause *out, const struct metric_sample *f,
		 const char *says);
void judged_cite_trait(const struct judging *j, struct judged_cause *out,
		       const struct run_attribute *t);
/* Part of the step; NAN where there is no split or the part is not known. */
double judging_share(const struct judging *j, enum step_part p);
/* Part of the time in which the GPUs idle, by a trace or by NVML; NAN: not known. */
double judging_idle(const struct judging *j);
/* Adds what sampled stacks say of a cause; the row's own rule comes first. */
void judged_by_stacks(const struct judging *j, struct judged_cause *c);
/* Share of the main thread's stack samples in work that is a cause of its own. */
double judging_other_work(const struct judging *j);
/* The host waits for the GPU so often that it can launch nothing ahead. */
bool judging_syncs_many(const struct judging *j);
/* Share of the main thread's stack samples in places of this kind ("saving: "). The larger
 * shares are added to c as evidence, unless it is NULL. */
double judging_places(const struct judging *j, const char *kind, struct judged_cause *c);
/* Some GPU is named or was watched; else training is by CPUs, as far as known. */
bool judging_gpu(const struct judging *j);
/* One GPU or rank alone, as far as known. */
bool judging_alone(const struct judging *j);
bool judging_one_cpu(const struct judging *j); /* full all the time, hardly another one used */
/* The parts of a step are nsys's; what it does to them. */
bool judging_by_nsys(const struct judging *j);
extern const char judging_nsys_slows[];

/* GPUs that a recording alone sees idle for less may rest between launches: no cause by itself. In
 * healthy runs on an H100 it was 0.04 to 0.33 (transformers of 110 M to 1 G parameters). */
#define WATCHED_IDLE 0.5

/* Part of the step in which a GPU idles for 10 ms and longer at a time; NAN: not seen. */
double watched_long_gaps(const struct run_summary *r);
/* The GPUs are busy, steps are even and tensor cores at work. */
bool watched_well(const struct run_summary *r);
cause_rule watched_loader, watched_checkpoint, watched_small_batch, watched_precision;

/* judge.c: work too small for the machine */
cause_rule rule_small_batch, rule_idle;
/* judge_gpu.c */
cause_rule rule_loader, rule_disk, rule_sync, rule_checkpoint, rule_starved, rule_thread;
cause_rule rule_throttled, rule_memory, rule_recompute, rule_precision, rule_pageable;
/* judge_comm.c */
cause_rule rule_overlap, rule_network, rule_straggler, rule_uneven, rule_scaling, rule_socket,
	rule_peer, rule_forced, rule_warning;

#endif
