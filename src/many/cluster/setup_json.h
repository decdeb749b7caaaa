/* SPDX-License-Identifier: Apache-2.0 */
/* A node's setup and what became of it as it goes to the coordinator. */
#ifndef CLUSTER_SETUP_JSON_H
#define CLUSTER_SETUP_JSON_H

#include "many/cluster/setup.h"
#include "tune/txn/txn.h"

/* {"changes", "files", "refusals", "notes", "owners", "commands", "digest"} */
json_t *setup_json(struct arena *a, struct host *h, const struct setup *s,
		   const struct setup_want *want);
/* [{"kind", "name", "object", "from", "to", "outcome", "sentence", "command"}...] */
json_t *setup_rows_json(const struct txn_report *r);

#endif
