/* SPDX-License-Identifier: Apache-2.0 */
/* After a boot: applying the request, comparing it with the machine, and the report of it. */
#ifndef VERBS_BOOT_H
#define VERBS_BOOT_H

#include "front/session.h"
#include "tune/persist/persist.h"
#include "tune/txn/page_txn.h"

/* apply --boot. *h may be another host of the same machine afterwards. */
int boot_apply(struct run *r, struct host **h);
/* verify --boot: the report of this boot where there is one, else what is to be seen now. */
int boot_verify(struct run *r, struct host *h);
/* verify --reboot */
int boot_reboot(struct run *r, struct host *h);

/* Every kept value against the machine as it is, and the huge pages that the kernel was started
 * with against those it granted. told: by row, what became of it at boot; NULL: not known. */
void boot_compare(struct run *r, struct host *h, const struct machine *m,
		  const struct persist_entry *rows, size_t n, const char *const *told,
		  struct verify *out);

/* 0, or a negative errno after complaining. */
int boot_report_write(struct run *r, struct host *h, const struct machine *m,
		      const struct verify *v, int code);

#endif
