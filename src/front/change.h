/* SPDX-License-Identifier: Apache-2.0 */
/* What the verbs that change the machine share. */
#ifndef FRONT_CHANGE_H
#define FRONT_CHANGE_H

#include "front/session.h"
#include "tune/plan/plan.h"
#include "base/text.h"
#include "look/probe/probe.h"

struct planned {
	struct machine *m;
	struct profile profile;
	struct findings findings; /* empty for a plan from a file */
	struct plan plan;
};

/* As run_host, for verbs that write: with --dry-run nothing can be written. */
struct host *run_change_host(struct run *r);
/* A captured machine takes changes into an overlay alone: 0, or EXIT_USAGE after complaining. */
int run_check_overlay(const struct run *r);
/* A plan of the profile, or of a file. 0, or an exit code after complaining. */
int run_plan(struct run *r, struct host *h, struct planned *out);
int run_plan_file(struct run *r, struct host *h, const char *file, struct planned *out);
/* All that planning needs to know of the machine. */
struct machine *run_change_machine(struct run *r, struct host *h);
struct hold_row;
/* Who may have changed what is not ours any more: what sets just this value, or fights over it:
 * fills by. m was probed for a change. */
void run_find_culprits(struct run *r, struct machine *m, struct hold_row *rows, size_t n);
/* The words of a comma-separated list; *n of them. */
const char *const *run_words(struct run *r, const char *list, size_t *n);
/* 0 when it is the id or the prefix of a setting, or an exit code after complaining. */
int run_check_id(const char *word);
/* The same of each. */
int run_check_ids(const char *const *words, size_t n);
/* As plan_reader; ctx is the struct host. */
struct fact_str run_exact_knob(void *ctx, struct arena *a, const struct knob *k);
/* Asks on the terminal; true with --yes. Complains where there is no terminal. */
bool run_agreed(struct run *r, const char *question);
/* Who runs this, for the journal. */
struct txn_who;
struct txn_who run_who(struct run *r);
/* Says it where the journal does not outlive a boot. */
void run_report_lost_at_boot(struct host *h);
/* A transaction that a crash left open changes what a plan sees: asks, and rolls it back. 0, or an
 * exit code after complaining. */
int run_recover_first(struct run *r, struct host *h, const struct txn_who *who);
/* The exit code for what txn_apply and its like return. */
int run_code_of(int result);
/* run_plan with that profile. */
int run_plan_of(struct run *r, struct host *h, struct planned *out);
/* Makes the setting write value into its own knob (target NULL: on all of its targets): changes of
 * the plan are corrected, and where it has none of the setting, added. How many were added. */
size_t run_add_value(struct run *r, struct host *h, struct planned *p, const char *id,
		     const char *target, const char *value);

#endif
