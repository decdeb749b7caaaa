/* SPDX-License-Identifier: Apache-2.0 */
/* Looks: each reads one thing and fills neighbouring columns. For monitor/ alone. */
#ifndef MONITOR_LOOK_H
#define MONITOR_LOOK_H

#include "look/monitor/monitor.h"

/* Seconds between two questions at least. Totals are asked at each look or in one of these beats,
 * never otherwise: their rate is made from two rows of the same moments. */
#define LOOK_SLOW_S 1.0
#define LOOK_RARE_S 5.0

struct gpu_tier;

struct look {
	void (*take)(const struct look *l, struct host *h, struct monitor_state *s, double *out);
	const char *target; /* what the kernel or driver calls it */
	const char *path;
	const struct gpu_tier *tier; /* look_gpu.c's own */
	size_t first;		     /* of its columns */
	double every_s;		     /* 0: at each look */
};

/* Adds one column; the types by name. */
void look_column(struct arena *a, struct monitor *mon, const char *type, const char *target);
struct look *look_add(struct arena *a, struct monitor *mon);

/* look_gpu.c, look_system.c, look_net.c: add their looks and columns. */
void look_gpus(struct arena *a, const struct machine *m, struct monitor *mon);
void look_system(struct arena *a, struct monitor *mon);
void look_net(struct arena *a, const struct machine *m, struct monitor *mon);
void look_disks(struct arena *a, const struct machine *m, struct monitor *mon);

/* A file of the kernel's, whole, until the next call; NULL: not readable. */
const char *look_file(struct host *h, const char *path, struct monitor_state *s);

#endif
