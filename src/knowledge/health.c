/* SPDX-License-Identifier: Apache-2.0 */
/* Looking up figures and error numbers. */
#include "knowledge/health.h"

#include <string.h>

#include "base/text.h"

const struct health_limit *health_limit(const char *setting, const char *key, const char *gpu)
{
	const struct health_limit *any = NULL;

	for (size_t i = 0; i < n_health_limits; i++) {
		const struct health_limit *l = &health_limits[i];

		if (strcmp(l->setting, setting) != 0 || strcmp(l->key, key) != 0)
			continue;
		if (!l->gpu)
			any = l;
		else if (gpu && word_in(gpu, l->gpu))
			return l;
	}
	return any;
}

double health_figure(const char *setting, const char *key, const char *gpu, double fallback)
{
	const struct health_limit *l = health_limit(setting, key, gpu);

	return l ? l->value : fallback;
}

const char xid_source[] =
	"NVIDIA Xid catalog, immediate actions and trigger conditions; NVIDIA's open "
	"kernel modules 595.45.04 (175); Azure HPC node health checks, the fatal set";
const char xid_date[] = "2026-11";

const struct xid_row *xid_find(unsigned number)
{
	for (size_t i = 0; i < n_xid_rows; i++)
		if (number >= xid_rows[i].first && number <= xid_rows[i].last)
			return &xid_rows[i];
	return NULL;
}
