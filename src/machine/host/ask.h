/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Providers answer the live machine's questions that no file answers. Each is one file, opened when
 * it is first asked. A provider maps its own errors to the errno values of host.h.
 */
#ifndef HOST_ASK_H
#define HOST_ASK_H

#include "base/arena.h"
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
extern const struct provider provider_dcb;
extern const struct provider provider_statfs;
extern const struct provider provider_zpool;
extern const struct provider provider_boost;
extern const struct provider provider_kmod;
extern const struct provider provider_nvpmodel;
extern const struct provider provider_jetson_clocks;
extern const struct provider provider_mlxconfig;
extern const struct provider provider_systemd;
extern const struct provider provider_kernel_log;
extern const struct provider provider_fabric_manager;
extern const struct provider provider_imex;

void answer_int(struct answer *out, long long v);
void answer_text(struct answer *out, const char *text);

/* What programs of vendors print, taken apart. */

/* Largest and present level out of the table that "boost-slider -i GPU -l" prints. -EOPNOTSUPP: it
 * has no row of that slider; -EPROTO: the row is not what is known, or there are two. */
int boost_parse(const char *output, unsigned *max, unsigned *level);

/* The value that holds from the next boot on, of the row "LINK_TYPE_P1   ETH(2)" (or with more
 * columns before it). -EOPNOTSUPP: there is no such row; -EPROTO: it is not what is known. */
int mlxconfig_parse(const char *output, const char *name, long long *out);

/* "NAME=VALUE ..." of those names (blank-separated) that the output has a number for, in the arena.
 */
const char *mlxconfig_values(struct arena *a, const char *output, const char *names);

/* "570.133.20" of "Fabric Manager version is : 570.133.20", in the arena; NULL when said has
 * another shape. */
const char *fabric_manager_version(struct arena *a, const char *said);

/* The state in a line that "nvidia-imex-ctl -q" printed, in small letters ("ready"); NULL: it is
 * none that is known. */
const char *imex_state(const char *said);

/* The number of nvpmodel -q: 0 or -EPROTO. */
int nvpmodel_parse(const char *output, long long *mode);
/* Of jetson_clocks --show: whether all clocks that it shows are at their maximum. -EPROTO. */
int jetson_clocks_parse(const char *output, bool *max);

/* Xid and SXid lines of the kernel's log, counted by number. Pure: a text in, a short text out. */

/*
 * What the log says of the GPU at pci ("0000:a3:00.0"; the function does not count): for every Xid
 * number "NUMBER:COUNT:AGE", ascending and blank-separated, in the arena; "" when there is none.
 * AGE is seconds from the last such line until now_s, on the clock of the log; -1 when the log
 * carries no times. Nothing else of a line is kept. Source: the driver's "NVRM: Xid (PCI:dddd:bb:dd
 * ...): NUMBER, ...".
 */
const char *xid_summary(struct arena *a, const char *log, const char *pci, double now_s);

/*
 * Lines of NVSwitches of one severity ("Fatal", "Non-fatal"): "nvidia-nvswitchN: SXid (PCI:...):
 * NUMBER, Fatal, ...".
 */
long long sxid_count(const char *log, const char *severity);

#endif
