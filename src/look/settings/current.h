/* SPDX-License-Identifier: Apache-2.0 */
/* The current value of a setting on one target, as text, from the facts or from its knob. */
#ifndef SETTINGS_CURRENT_H
#define SETTINGS_CURRENT_H

#include "look/settings/check.h"

/* wished: the profile wants something of it; a knob that is costly to read is not read otherwise.
 */
struct fact_str setting_current(struct arena *a, const struct setting *s, const struct machine *m,
				const void *object, bool wished, knob_reader *read, void *ctx);
/* The knob that holds it on this target; kind KNOB_NONE for a check. */
struct knob setting_knob(struct arena *a, const struct setting *s, const void *object);
/* The same as plans and journals name it: one place, one knob. Where the name says it all, an
 * object would make two of it. */
struct knob setting_place(struct arena *a, const struct setting *s, const void *object);

#endif
