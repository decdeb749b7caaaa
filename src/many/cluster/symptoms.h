/* SPDX-License-Identifier: Apache-2.0 */
/*
 * From what a check measured to what is wrong, by a table of symptoms: each looks for one pattern
 * in the results, counters and blames, and adds findings with evidence and what to do. Pure. What
 * discovery already found keeps its place and gets the measurement as evidence.
 */
#ifndef CLUSTER_SYMPTOMS_H
#define CLUSTER_SYMPTOMS_H

#include "many/cluster/check.h"

/* After check_judge and check_blame. */
void check_symptoms(struct arena *a, struct check *c);
/* Adds the finding, or to the one with the same code, node and port its evidence; the worse
 * severity stays. For symptoms*.c. */
void check_find(struct arena *a, struct check *c, const struct cluster_finding *f);

/* symptoms_rates.c */
void symptom_blames(struct arena *a, struct check *c);
void symptom_earlier(struct arena *a, struct check *c);
void symptom_unsteady(struct arena *a, struct check *c);
void symptom_counters(struct arena *a, struct check *c);

#endif
