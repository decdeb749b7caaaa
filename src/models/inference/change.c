/* SPDX-License-Identifier: Apache-2.0 */
/* Names of changes, and finding how well one kind of them was predicted. */
#include "models/inference/change.h"
#include "models/inference/rows.h"

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

/* Written by tests/predict/fit.py: a gain as measured over as predicted, by cross-validation. */

const struct change_spread change_spreads[] = {
	{ CHANGE_LAYOUT, HARDWARES, MEASURE_TPOT, 0.772, 1.156, 526, 6 },
	{ CHANGE_LAYOUT, HARDWARES, MEASURE_TTFT, 0.516, 1.121, 522, 4 },
	{ CHANGE_LAYOUT, HARDWARE_SERVER, MEASURE_TPOT, 0.772, 1.156, 521, 3 },
	{ CHANGE_LAYOUT, HARDWARE_SERVER, MEASURE_TTFT, 0.516, 1.122, 521, 3 },
	{ CHANGE_USERS, HARDWARES, MEASURE_THROUGHPUT, 0.907, 1.305, 395, 14 },
	{ CHANGE_USERS, HARDWARES, MEASURE_TPOT, 0.765, 1.242, 1783, 21 },
	{ CHANGE_USERS, HARDWARES, MEASURE_TTFT, 0.582, 1.619, 1606, 17 },
	{ CHANGE_USERS, HARDWARE_SERVER, MEASURE_TPOT, 0.744, 1.264, 1168, 9 },
	{ CHANGE_USERS, HARDWARE_SERVER, MEASURE_TTFT, 0.525, 2.021, 1126, 6 },
	{ CHANGE_USERS, HARDWARE_UNIFIED, MEASURE_THROUGHPUT, 0.907, 1.305, 395, 14 },
	{ CHANGE_USERS, HARDWARE_UNIFIED, MEASURE_TPOT, 0.806, 1.204, 615, 13 },
	{ CHANGE_USERS, HARDWARE_UNIFIED, MEASURE_TTFT, 0.830, 1.145, 480, 11 },
	{ CHANGE_WEIGHTS, HARDWARES, MEASURE_THROUGHPUT, 0.960, 1.261, 144, 4 },
	{ CHANGE_WEIGHTS, HARDWARES, MEASURE_TPOT, 0.953, 1.260, 216, 7 },
	{ CHANGE_WEIGHTS, HARDWARES, MEASURE_TTFT, 0.731, 1.307, 207, 7 },
	{ CHANGE_WEIGHTS, HARDWARE_UNIFIED, MEASURE_THROUGHPUT, 0.960, 1.261, 144, 4 },
	{ CHANGE_WEIGHTS, HARDWARE_UNIFIED, MEASURE_TPOT, 0.952, 1.264, 198, 4 },
	{ CHANGE_WEIGHTS, HARDWARE_UNIFIED, MEASURE_TTFT, 0.727, 1.314, 198, 4 },
};
const size_t change_spread_count = sizeof(change_spreads) / sizeof(change_spreads[0]);
