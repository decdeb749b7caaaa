/* SPDX-License-Identifier: Apache-2.0 */
/* Names of changes, and finding how well one kind of them was predicted. */
#include "models/inference/change.h"

const char *const change_names[CHANGES] = { "weights", "kv",	 "layout", "machines", "users",
					    "draft",   "prefix", "chunk",  "graphs",   "engine",
					    "model",   "clock",	 "several" };

const struct change_spread *change_spread_of(enum change_kind kind, enum hardware hardware,
					     int measure)
{
	const struct change_spread *best = NULL;

	/* More GPUs by more machines is the same equation as more GPUs of one. */
	if (kind == CHANGE_MACHINES)
		kind = CHANGE_LAYOUT;
	for (size_t i = 0; i < change_spread_count; i++) {
		const struct change_spread *s = &change_spreads[i];

		if (s->kind != kind || s->measure != measure)
			continue;
		if (s->hardware == hardware)
			return s;
		if (s->hardware == HARDWARES)
			best = s;
	}
	return best;
}
