/* SPDX-License-Identifier: Apache-2.0 */
/* Names of the enumerations as users and scripts see them, and finding a setting by its id. */
#include <string.h>

#include "base/text.h"
#include "look/settings/settings.h"

static const char *const profiles[PROFILES] = {
	[PROFILE_DEFAULT] = "default",
	[PROFILE_PUBLISHED] = "published",
	[PROFILE_MAX_PERFORMANCE] = "max-performance",
	[PROFILE_LOW_LATENCY] = "low-latency",
	[PROFILE_BALANCED] = "balanced",
	[PROFILE_INFERENCE] = "inference",
	[PROFILE_TRAINING] = "training",
};

static const char *const scopes[SCOPES] = {
	[SCOPE_HOST] = "machine",	 [SCOPE_GPU] = "GPU",
	[SCOPE_POLICY] = "CPU policy",	 [SCOPE_IDLE] = "CPU",
	[SCOPE_POOL] = "huge-page pool", [SCOPE_NIC] = "network interface",
	[SCOPE_RDMA] = "RDMA port",	 [SCOPE_PCI] = "PCI function",
	[SCOPE_DISK] = "disk",		 [SCOPE_ZPOOL] = "ZFS pool",
};

const char *profile_name(enum profile_id p)
{
	return profiles[p];
}

int profile_parse(const char *name)
{
	for (int i = 0; i < PROFILES; i++)
		if (strcmp(profiles[i], name) == 0)
			return i;
	return -1;
}

const char *scope_name(enum scope s)
{
	return scopes[s];
}

const char *verdict_name(enum verdict_kind v)
{
	static const char *const names[] = { "pass", "fail", "na", "unknown" };

	return names[v];
}

const char *severity_name(enum severity s)
{
	static const char *const names[] = { "info", "low", "medium", "high", "critical" };

	return names[s];
}

const char *risk_name(enum risk r)
{
	static const char *const names[] = { "none", "low", "service", "danger" };

	return names[r];
}

const char *effect_name(enum effect e)
{
	static const char *const names[] = { "now", "driver-reload", "reboot", "firmware" };

	return names[e];
}

enum on platform_bit(const struct machine *m)
{
	if (fact_is(&m->platform.kind, "dgx-spark"))
		return ON_SPARK;
	if (fact_is(&m->platform.kind, "igx-orin"))
		return ON_IGX;
	if (fact_is(&m->platform.kind, "hgx"))
		return ON_HGX;
	return ON_GENERIC;
}

const struct setting *setting_find(const char *id)
{
	SETTING_FOR_EACH (s)
		if (strcmp(s->id, id) == 0)
			return s;
	return NULL;
}

const char *setting_suggest(const char *id)
{
	enum { MISSPELT = 2 };
	const char *best = NULL;
	/* More than half of it wrong is no misspelling. */
	size_t distance = strlen(id) < 14 ? strlen(id) / 2 + 1 : 8;

	SETTING_FOR_EACH (s) {
		const char *dot = strchr(s->id, '.');
		size_t d = str_distance(s->id, id, distance),
		       last = dot ? str_distance(dot + 1, id, MISSPELT) : MISSPELT + 1;

		/* "swappiness" should lead to "memory.swappiness". */
		if (last <= MISSPELT && last < d)
			d = last;
		if (d < distance) {
			distance = d;
			best = s->id;
		}
	}
	return best;
}
