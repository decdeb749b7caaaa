/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A plan: the ordered writes that make the machine what a profile wants, with everything that a
 * person needs to agree to them. Pure: facts, findings and readings in, plan out.
 */
#ifndef PLAN_PLAN_H
#define PLAN_PLAN_H

#include <jansson.h>
#include <stdio.h>

#include "base/arena.h"
#include "base/shape.h"
#include "look/settings/check.h"
#include "look/settings/settings.h"
#include "look/settings/site.h"
#include "machine/knob/knob.h"
#include "machine/model/machine.h"

/* Why a change is not made unless somebody says so; stable codes, see gate.c. */
#define GATE_ALLOW "needs-allow"		/* dangerous: --allow ID */
#define GATE_GPU_BUSY "gpu-busy"		/* running jobs would feel it: --allow ID */
#define GATE_POLICY "site-policy"		/* the site's policy; nothing lifts it */
#define GATE_LIMIT "beyond-limit"		/* the hardware cannot; nothing lifts it */
#define GATE_HOUSEKEEPING "no-housekeeping-cpu" /* nothing lifts it */
#define GATE_OWN_LINK "own-link"     /* would drop the link that the user came in over: --allow */
#define GATE_LOCKDOWN "lockdown"     /* the kernel refuses such writes; nothing lifts it */
#define GATE_UNREADABLE "unreadable" /* the present value could not be read; nothing lifts it */
#define GATE_OVERRIDDEN                                                                            \
	"conflict" /* another change of this plan, or a boot argument, excludes it */

/* Something that sets the knob: a line of a file, a kernel argument, a unit, a daemon. */
struct owner {
	const char *what;  /* "/etc/sysctl.d/99-x.conf:3", "kernel argument", "tuned.service" */
	const char *value; /* what it sets; NULL when it is not known */
	bool at_boot;	   /* it sets it at boot */
	bool wins;	   /* of those at boot: the one whose value stands in the end */
	bool fights;	   /* a daemon that may set it again at any time */
};

struct change {
	const struct setting *s;
	const char *target; /* "gpu0", "nvme0n1", "" for the host */
	struct knob knob;
	const char *before; /* NULL: the knob has no getter */
	const char *after;
	const char *why, *source;
	enum risk risk;
	enum effect effect;
	const struct owner *owners;
	size_t n_owners;
	bool unseen;	     /* reading its value failed: not for want of it or of a right */
	const char *gate;    /* NULL: nothing is against it */
	const char *refusal; /* the gate's sentence */
};

/* A finding that no write of ours makes right. */
struct advice {
	const struct finding *finding;
	const char *sentence;
};

struct stays {
	struct knob knob;
	const char *value;
};

struct plan {
	const char *profile;
	const char *nodename, *boot_id;
	long long time_s;
	struct change *changes; /* in the order of writing */
	size_t n;
	struct advice *advice;
	size_t n_advice;
	struct stays *stays; /* what is as it shall be, and the changes are of use only beside it */
	size_t n_stays;
};

/* Reads a knob for its exact value: as knob_get, as a fact. */
typedef struct fact_str plan_reader(void *ctx, struct arena *a, const struct knob *k);

/* allow: ids or prefixes that lift the gates that can be lifted, n_allow of them. */
struct plan_target {
	const struct profile *profile;
	const char *const *allow;
	size_t n_allow;
	const struct site *site; /* NULL: no policy */
	bool agent;		 /* it is asked for through gputune mcp */
};

/* read answers as settings_check's reader does, exact as knob_get does. */
void plan_make(struct arena *a, const struct machine *m, const struct plan_target *w,
	       const struct findings *f, knob_reader *read, plan_reader *exact, void *ctx,
	       struct plan *out);
/* Changes that would be made: those without a gate. */
size_t plan_open_changes(const struct plan *p);

/* How a person makes the kernel argument hold at the next boot; NULL: a file of ours does. */
const char *plan_boot_by_hand(struct arena *a, const struct machine *m, const struct knob *k,
			      const char *value);

/* --- parts, one file each ------------------------------------------------------------------- */

/* What has to be written before what. Stable otherwise. */
void plan_sort(struct plan *p);
/* gate.c: fills gate and refusal of every change. */
void plan_gates(struct arena *a, const struct machine *m, const struct plan_target *w,
		struct plan *p);
/* Whether --allow names the setting. */
bool plan_allows(const struct plan_target *w, const struct setting *s);
/* Whether --allow ID lifts this gate. */
bool gate_can_be_lifted(const char *gate);
/* owner.c: who sets the knob today, and who wins at boot; from the facts of
 * machine/model/machine.h.
 */
void plan_owners(struct arena *a, const struct machine *m, struct change *c);

/* Plans as files: what was reviewed is what is applied. */

/* What a result has of a plan: plan_result. */
struct plan_answer {
	const struct plan *plan;
	size_t refused, by_effect[EFFECT_FIRMWARE + 1];
};
struct plan_answer plan_answer_of(const struct plan *p);
/* schema gputune.plan/1; the caller owns the reference. */
json_t *plan_json(const struct plan *p, int exit_code);
/* Of that, and of a knob in it, for the schemas. */
extern const struct result_shape plan_result;
extern const struct shape knob_shape;
/*
 * Reads one. It is untrusted: each change must name a setting that exists, the knob must be one
 * that this setting has on a target of this machine, and the value must be valid. *e names the file
 * and the change. Gates are judged anew by the caller (plan_gates).
 */
int plan_from_json(struct arena *a, const struct machine *m, const json_t *j, const char *file,
		   struct plan *out, struct err *e);

/* Whether a line of configuration is about a knob. Pure. */

enum match {
	MATCH_NO,
	MATCH_MAYBE, /* it depends on something that is not known here */
	MATCH_YES,
	MATCH_PARTNER, /* it sets the other one of a pair, and with that zeroes this one */
};

/* The same for a kernel argument by its name alone. */
enum match argument_match(const struct machine *m, const char *name, const struct knob *k);
/* The other sysctl of a pair of which setting one zeroes the other; NULL for all others. */
const char *sysctl_partner(const char *name);

/* A plan as a commented POSIX shell script, for those who must not run a binary. */

/*
 * "sh FILE" or "sh FILE check" compares the machine with the plan's values before and writes
 * nothing; "sh FILE apply" compares, writes and reads back; "sh FILE undo" takes back newest first
 * what still has the plan's value. Changes that are refused, or that no program makes, are
 * comments. Texts of the machine and of the plan stand in single quotes or in comments, nowhere
 * else.
 */
void plan_shell(FILE *out, const struct machine *m, const struct plan *p);

/* Which knobs a setting may write: the limit for plans that come from files. */

/* What the setting calls its targets on this machine, to their objects: values are const void *. */
struct map *setting_targets(struct arena *a, const struct machine *m, const struct setting *s);
/*
 * True when k is a knob of s on this target: the row's own; one that its pattern names ('*' stands
 * for digits within one component of a path); or one of those that the row writes beside its own.
 * object is what setting_targets gave.
 */
bool setting_reaches(struct arena *a, const struct setting *s, const void *object,
		     const struct knob *k);
/*
 * Targets that are groups of CPUs are called by what they have in common: once one of them was
 * changed, the groups are others. The object that k belongs to now, when target may be what its
 * group was called before; NULL: it may not.
 */
const void *setting_regrouped(struct arena *a, const struct map *targets, const struct setting *s,
			      const char *target, const struct knob *k);

/* Rows about single knobs as few lines: what is alike on 256 CPUs is one line with a range. */

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
