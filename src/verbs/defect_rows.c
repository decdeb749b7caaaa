/* SPDX-License-Identifier: Apache-2.0 */
/* The known defects of this machine's data package, or of the build. */
#include "verbs/defect_rows.h"

void defects_rows(struct door *d, struct defect_rows *rows)
{
	struct host *h = d->live(d->ctx);
	struct err e = { 0 };

	defect_rows_read(d->arena, h, rows, &e);
	if (*e.text)
		door_warn(d, "the data package is not used: %s", e.text);
	host_close(h);
}
