/* SPDX-License-Identifier: Apache-2.0 */
/* What the verbs that change the machine share. Each "0, or as answers": below 0 an exit code. */
#ifndef VERBS_CHANGE_H
#define VERBS_CHANGE_H

#include "tune/plan/plan.h"
#include "tune/txn/txn.h"
#include "verbs/door.h"

struct planned {
	struct machine *m;
	struct profile profile;
	struct findings findings; /* empty for a plan from a file */
	struct plan plan;
};

/* --dry-run, --reason. */
struct change_ask {
	bool dry_run;
	const char *reason;
};
extern const struct ask_shape change_ask_shape;
struct allow_ask {
	const char *allow;
};
extern const struct ask_shape allow_ask_shape;

/* "apply" with the options, the plan (NULL: none) and the profile that a plan was made with. */
const char *apply_words(struct arena *a, const struct profile_ask *s, const struct allow_ask *w,
			const char *plan, const char *profile);

/* As door_host, for verbs that write: dry, nothing can be written. Says what of the journal is
 * damaged, and sets d->unreadable. */
struct host *door_change_host(struct door *d, const struct machine_ask *from, bool dry_run);
/* The journal; all: with its history. 0, or as answers. */
int door_journal(struct door *d, struct host *h, bool all, struct journal *j);
/* Says where somebody else can have written what is ours: it is told, and not vouched for. */
bool door_believes(struct door *d, struct host *h);
/* code, of what is not believed EXIT_BLIND. */
int believed_code(bool believed, int code);
/* A captured machine takes changes into an overlay alone: 0, or as answers. */
int door_check_overlay(struct door *d, const struct machine_ask *from, bool dry_run);
/* For planning with a profile: what --allow lifts, and what the site's policy lets be done. */
struct plan_target door_target(struct door *d, struct host *h, const struct profile *p,
			       const char *allow);
/* A plan of out->profile for out->m (NULL: the machine is looked at), or of a file. */
int door_plan(struct door *d, struct host *h, const char *allow, struct planned *out);
int door_plan_file(struct door *d, struct host *h, const char *file,
		   const struct profile_ask *settings, const char *allow, struct planned *out);
/* The same of a plan that was read; name is what messages call it. */
int door_plan_json(struct door *d, struct host *h, const json_t *j, const char *name,
		   const char *allow, struct planned *out);
/* All that planning needs to know of the machine. */
struct machine *door_change_machine(struct door *d, struct host *h);
struct hold_row;
/* Who may have changed what is not ours any more: what sets just this value, or fights over it:
 * fills by. m was probed for a change. */
void door_find_culprits(struct door *d, struct machine *m, struct hold_row *rows, size_t n);
/* The words of a comma-separated list; *n of them. */
const char *const *door_words(struct door *d, const char *list, size_t *n);
/* 0 when it is the id or the prefix of a setting, or as answers. */
int door_check_id(struct door *d, const char *word);
int door_check_ids(struct door *d, const char *const *words, size_t n);
/* As plan_reader; ctx is the struct host. */
struct fact_str door_exact_knob(void *ctx, struct arena *a, const struct knob *k);
/* Whether to go on, with what is shown before (NULL: nothing): 0, or as answers. */
int door_agreed(struct door *d, const struct doc *shown, const char *question);
/* Says it where the journal does not outlive a boot. */
void door_report_lost_at_boot(struct door *d, struct host *h);
/* A transaction that a crash left open changes what a plan sees: asks, and rolls it back. */
int door_recover_first(struct door *d, struct host *h, const struct txn_who *who, bool dry_run);
/* The exit code for what txn_apply and its like return. */
int txn_exit_code(int result);
/* Makes the setting write value into its own knob (target NULL: on all of its targets): changes of
 * the plan are corrected, and where it has none of the setting, added. beside: one of several
 * values to compare, which always adds a change, and corrects none. How many were added. */
size_t door_add_value(struct door *d, struct host *h, struct planned *p, const char *allow,
		      const char *id, const char *target, const char *value, bool beside);

#endif
