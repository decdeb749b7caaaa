/* SPDX-License-Identifier: Apache-2.0 */
/* After a boot: applying the request, comparing it with the machine, and the report of it. Each
 * fills *m and what the result has: 0 or an exit code, or as answers. */
#ifndef VERBS_BOOT_H
#define VERBS_BOOT_H

#include "tune/persist/persist.h"
#include "tune/txn/page_txn.h"
#include "verbs/change.h"

/* apply --boot. *h may be another host of the same machine afterwards. */
int boot_apply(struct door *d, struct host **h, const struct machine_ask *from, struct machine **m,
	       struct verify *out);
/* apply --boot --dry-run: what the unit would write now; says what it could not. Waits for no
 * device. */
int boot_plan(struct door *d, struct host *h, const struct change_ask *change, struct planned *out);
/* verify --boot: the report of this boot where there is one, else what is to be seen now. */
int boot_verify(struct door *d, struct host *h, struct machine **m, struct verify *out,
		const char **heading);
/* verify --reboot */
int boot_reboot(struct door *d, struct host *h, struct machine **m, struct verify *out,
		const char **heading);

#endif
