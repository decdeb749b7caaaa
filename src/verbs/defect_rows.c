/* SPDX-License-Identifier: Apache-2.0 */
/* The known defects of this machine's data package, or of the build. */
#include "verbs/defect_rows.h"

#include "look/defects/baseline.h"

void defects_rows(struct door *d, struct defect_rows *rows)
{
	HOST_AUTO *h = d->live(d->ctx);
	struct err e = { 0 };

	defect_rows_read(d->arena, h, rows, &e);
	if (*e.text)
		door_warn(d, "the data package is not used: %s", e.text);
	if (rows->baseline && baseline_check(d->arena, rows->baseline, &e)) {
		door_warn(d, "the data package's releases are not used: %s", e.text);
		rows->baseline = NULL;
	}
	if (!rows->baseline)
		rows->baseline = baseline_built_in();
}
