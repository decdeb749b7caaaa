/* SPDX-License-Identifier: Apache-2.0 */
/* What vendors want of a setting, as recommendations beside our own. Pure. */
#ifndef SETTINGS_VENDOR_H
#define SETTINGS_VENDOR_H

#include "knowledge/vendor.h"
#include "look/settings/settings.h"

/* The next row about the setting; the first with w NULL. NULL: no more. */
const struct vendor_opinion *vendor_next(const struct setting *s, const struct vendor_opinion *w);
struct recommendation vendor_recommends(const struct vendor_opinion *w);
/* What the profile vendor wants on the platform: the first row of a maker, in *room. NULL: none. */
const struct recommendation *vendor_recommendation(const struct setting *s, unsigned platform,
						   struct recommendation *room);

/* The profile default beside a vendor's opinion. */
enum vendor_stand { VENDOR_FOLLOWED, VENDOR_DIFFERS, VENDOR_NOT_COMPARED };
enum vendor_stand vendor_stand(const struct setting *s, const struct vendor_opinion *w);
const char *vendor_stand_name(enum vendor_stand x);
const char *vendor_evidence_name(enum vendor_evidence e);

#endif
