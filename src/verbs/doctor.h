/* SPDX-License-Identifier: Apache-2.0 */
/* What doctor says without a test and without a change, for the report too. */
#ifndef VERBS_DOCTOR_H
#define VERBS_DOCTOR_H

#include "measure/doctor/page_doctor.h"
#include "verbs/door.h"

/* Every diagnosis of the machine, by that profile (NULL: the default); nothing is tested. 0, or as
 * answers. */
int doctor_passive(struct door *d, struct host *h, const char *profile, struct doctor_view *out);

#endif
