/* SPDX-License-Identifier: Apache-2.0 */
/* The report of a boot as it lies on the disk: bounded, and any part may be wrong. */
#ifndef VERBS_BOOT_REPORT_H
#define VERBS_BOOT_REPORT_H

#include <jansson.h>

#include "tune/txn/page_txn.h"

#define BOOT_REPORT_SCHEMA "gputune.boot-report/1"

/* time, asked NULL: not said. */
struct boot_report {
	const char *boot_id, *time, *asked;
	struct verify verify;
};

/* A text of an object that may hold anything, or be NULL; NULL: none. */
const char *boot_text(struct arena *a, const json_t *j, const char *key);
/* False: it is none. */
bool boot_report_read(struct arena *a, const json_t *j, struct boot_report *out);

#endif
