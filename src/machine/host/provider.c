/* SPDX-License-Identifier: Apache-2.0 */
/* What looking at the live machine and changing it share: the providers, and what a path is looked
 * up from. */
#include <fcntl.h>
#include <string.h>

#include "machine/host/live.h"

static const struct provider *const providers[] = {
	&provider_nvml,	   &provider_cuda,  &provider_ethtool,	  &provider_interface,
	&provider_statfs,  &provider_zpool, &provider_boost,	  &provider_mlxconfig,
	&provider_systemd, &provider_env,   &provider_kernel_log, &provider_fabric_manager,
};
enum { PROVIDERS = sizeof(providers) / sizeof(providers[0]) };
_Static_assert((int)PROVIDERS <= (int)LIVE_PROVIDERS, "the state of every provider has a place");

const struct provider *live_provider(struct live *l, const char *api, void ***state)
{
	for (size_t i = 0; i < PROVIDERS; i++)
		if (strcmp(providers[i]->api, api) == 0) {
			*state = &l->state[i];
			return providers[i];
		}
	return NULL;
}

int live_at(const struct host *h, const char **path)
{
	const struct live *l = (const struct live *)h;
	size_t n = l->own_fd < 0 ? 0 : strlen(l->own), slashes;

	if (!n || strncmp(*path, l->own, n) != 0)
		return AT_FDCWD;
	/* All of them: what is left with one in front would be looked up from the root. */
	slashes = strspn(*path + n, "/");
	if (!slashes || !(*path)[n + slashes])
		return AT_FDCWD;
	*path += n + slashes;
	return l->own_fd;
}

void live_close_providers(struct live *l)
{
	for (size_t i = 0; i < PROVIDERS; i++)
		if (l->state[i] && providers[i]->close)
			providers[i]->close(l->state[i]);
}
