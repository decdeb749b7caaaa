/* SPDX-License-Identifier: Apache-2.0 */
/* Looking at one knob: is it still ours? Clock locks, which the driver sets but does not tell, are
 * judged by the clock: one that runs faster than the lock allows is not locked. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/text.h"
#include "machine/knob/io.h"
#include "tune/watch/item.h"

/* Drivers round a lock to a step of the clock. */
enum { CLOCK_STEP_MHZ = 30, GPUS_MAX = 256 };

/* "0000:01:00.0" and NVML's "00000000:01:00.0" are one address. */
static bool same_address(const char *x, const char *y)
{
	const char *a = strchr(x, ':'), *b = strchr(y, ':');

	return a && b && strcasecmp(a, b) == 0 && strtoul(x, NULL, 16) == strtoul(y, NULL, 16);
}

static bool look_find_gpu(struct host *h, const char *address, char index[8])
{
	long long n;

	if (host_ask_int(h, "nvml", "", "nvmlDeviceGetCount", &n))
		return false;
	for (long long i = 0; i < n && i < GPUS_MAX; i++) {
		struct answer ans;

		snprintf(index, 8, "%d", (int)i);
		if (host_ask(h, "nvml", index, "nvmlDeviceGetPciInfo.busId", &ans) == 0 &&
		    ans.kind == ANSWER_TEXT && same_address(ans.text, address))
			return true;
	}
	return false;
}

static enum observation look_lock(struct host *h, struct arena *a, const struct watched_knob *it,
				  const char **now)
{
	bool memory = strcmp(it->knob.name, "memory-clock-lock") == 0;
	const char *comma = strchr(it->after, ',');
	long long most, mhz;
	char index[8];

	/* What a journal says is no lock unless the kind takes it. */
	if (it->knob.kind != KNOB_NVML || !knob_valid(&it->knob, it->after, NULL) || !comma ||
	    parse_i64(comma + 1, &most) || !look_find_gpu(h, it->knob.object, index) ||
	    host_ask_int(h, "nvml", index,
			 memory ? "nvmlDeviceGetClockInfo(MEM)" : "nvmlDeviceGetClockInfo(SM)",
			 &mhz) ||
	    mhz <= most + CLOCK_STEP_MHZ)
		return SIGHT_BLIND;
	/* The figure itself would be another at every look. */
	*now = arena_printf(a, "no lock: the %s clock runs above %lld MHz",
			    memory ? "memory" : "SM", most);
	return SIGHT_OTHER;
}

enum observation item_look(struct host *h, struct arena *a, const struct watched_knob *it,
			   const char **now)
{
	struct err e = { 0 };
	int code = knob_get(h, a, &it->knob, now, &e);

	if (code == -ENODATA) {
		*now = NULL;
		return look_lock(h, a, it, now);
	}
	if (code == -ENOENT || code == -ENODEV || code == -ENOTDIR || code == -ENXIO) {
		*now = NULL;
		return SIGHT_GONE;
	}
	if (code) {
		*now = arena_strdup(a, e.text);
		return SIGHT_UNSEEN;
	}
	if (knob_holds(&it->knob, *now, it->after) ||
	    (it->read && knob_holds(&it->knob, *now, it->read)))
		return SIGHT_OURS;
	return it->before && knob_holds(&it->knob, *now, it->before) ? SIGHT_RESET : SIGHT_OTHER;
}
