/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A plan: the ordered writes that make the machine what a profile wants, with everything that a
 * person needs to agree to them. Pure: facts, findings and readings in, plan out.
 */
#ifndef PLAN_PLAN_H
#define PLAN_PLAN_H

#include <jansson.h>

#include "look/settings/check.h"

/* Why a change is not made unless somebody says so; stable codes, see gate.c. */
#define GATE_ALLOW "needs-allow"		/* dangerous: --allow ID */
#define GATE_GPU_BUSY "gpu-busy"		/* running jobs would feel it: --allow ID */
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

/* order.c: what has to be written before what. Stable otherwise. */
void plan_sort(struct plan *p);
/* gate.c: fills gate and refusal of every change. */
void plan_gates(struct arena *a, const struct machine *m, const struct plan_target *w,
		struct plan *p);
/* owner.c: who sets the knob today, and who wins at boot; from the facts of machine/model/config.h.
 */
void plan_owners(struct arena *a, const struct machine *m, struct change *c);

/* Plans as files: what was reviewed is what is applied. */

/* schema gputune.plan/1; the caller owns the reference. */
json_t *plan_json(const struct plan *p, int exit_code);
/*
 * Reads one. It is untrusted: each change must name a setting that exists, the knob must be one
 * that this setting has on a target of this machine, and the value must be valid. *e names the file
 * and the change. Gates are judged anew by the caller (plan_gates).
 */
int plan_from_json(struct arena *a, const struct machine *m, const json_t *j, const char *file,
		   struct plan *out, struct err *e);

#endif
