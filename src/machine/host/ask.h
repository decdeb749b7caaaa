/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Providers answer the live machine's questions that no file answers. Each is one file, opened when
 * it is first asked. A provider maps its own errors to the errno values of host.h.
 */
#ifndef HOST_ASK_H
#define HOST_ASK_H

#include "machine/host/host.h"

struct provider {
	const char *api;
	/* *state is NULL at first and the provider's own afterwards. Text answers go into a. */
	int (*ask)(void **state, struct arena *a, const char *object, const char *field,
		   struct answer *out);
	void (*close)(void *state);
	/* As host_set (machine/write/write.h); NULL: nothing of it can be set. -EOPNOTSUPP for a
	 * question that only answers. */
	int (*tell)(void **state, struct arena *a, const char *object, const char *field,
		    const struct answer *value);
};

extern const struct provider provider_nvml;
extern const struct provider provider_cuda;
extern const struct provider provider_ethtool;
extern const struct provider provider_interface;
extern const struct provider provider_statfs;
extern const struct provider provider_zpool;
extern const struct provider provider_boost;
extern const struct provider provider_mlxconfig;
extern const struct provider provider_systemd;
extern const struct provider provider_env;
extern const struct provider provider_kernel_log;
extern const struct provider provider_fabric_manager;

void answer_int(struct answer *out, long long v);
void answer_text(struct answer *out, const char *text);

#endif
