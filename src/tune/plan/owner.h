/* SPDX-License-Identifier: Apache-2.0 */
/* Whether a line of configuration is about a knob. Pure. */
#ifndef PLAN_OWNER_H
#define PLAN_OWNER_H

#include "machine/model/machine.h"
#include "machine/knob/knob.h"

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

#endif
