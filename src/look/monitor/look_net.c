/* SPDX-License-Identifier: Apache-2.0 */
/* Interfaces, RDMA ports and disks: bytes that went through. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "look/monitor/look.h"

/* One number in a file of its own. */
static double number(struct host *h, const char *path, double factor)
{
	char line[64], *end;
	unsigned long long v;

	if (host_read_line(h, path, line, sizeof(line)))
		return NAN;
	v = strtoull(line, &end, 10);
	return end == line || *end ? (double)NAN : (double)v * factor;
}

static double below(struct host *h, const char *folder, const char *name, double factor)
{
	char path[256];

	return snprintf(path, sizeof(path), "%s/%s", folder, name) < (int)sizeof(path)
		       ? number(h, path, factor)
		       : (double)NAN;
}

static void take_nic(const struct look *l, struct host *h, struct monitor_state *s, double *out)
{
	(void)s;
	out[0] = below(h, l->path, "rx_bytes", 1);
	out[1] = below(h, l->path, "tx_bytes", 1);
}

/* The port counts words of four bytes (InfiniBand Architecture Specification, PortRcvData). */
static void take_rdma(const struct look *l, struct host *h, struct monitor_state *s, double *out)
{
	(void)s;
	out[0] = below(h, l->path, "port_rcv_data", 4);
	out[1] = below(h, l->path, "port_xmit_data", 4);
}

/* Fields of /sys/block/NAME/stat: 2 sectors read, 6 sectors written, 9 milliseconds in use; sectors
 * of 512 bytes whatever the disk has. */
static void take_disk(const struct look *l, struct host *h, struct monitor_state *s, double *out)
{
	char line[512], *p = line;
	double v[11];

	(void)s;
	out[0] = out[1] = out[2] = NAN;
	if (host_read_line(h, l->path, line, sizeof(line)))
		return;
	for (size_t i = 0; i < 11; i++) {
		char *end;

		v[i] = strtod(p, &end);
		if (end == p)
			return;
		p = end;
	}
	out[0] = 512 * v[2];
	out[1] = 512 * v[6];
	out[2] = 1e-3 * v[9];
}

static void pair(struct arena *a, struct monitor *mon, const char *in, const char *out,
		 const char *target, const char *folder, double every_s,
		 void (*take)(const struct look *, struct host *, struct monitor_state *, double *))
{
	struct look *l = look_add(a, mon);

	l->take = take;
	l->path = folder;
	l->every_s = every_s;
	look_column(a, mon, in, target);
	look_column(a, mon, out, target);
}

void look_net(struct arena *a, const struct machine *m, struct monitor *mon)
{
	LIST_FOR_EACH (const struct nic, n, &m->net.nics) {
		const char *name = arena_strdup(a, n->name);

		/* Loopback, bridges and the like carry what others have carried already. */
		if (!*n->pci || !fact_is(&n->operstate, "up"))
			continue;
		pair(a, mon, "net.received", "net.sent", name,
		     arena_printf(a, "/sys/class/net/%s/statistics", name), 0, take_nic);
	}
	LIST_FOR_EACH (const struct rdma_port, p, &m->net.rdma)
		if (fact_is(&p->state, "ACTIVE"))
			pair(a, mon, "rdma.received", "rdma.sent", arena_strdup(a, p->name),
			     arena_printf(a, "/sys/class/infiniband/%s/ports/%u/counters",
					  p->device, p->number),
			     /* The adapter's firmware is asked for them. */
			     LOOK_SLOW_S, take_rdma);
}

void look_disks(struct arena *a, const struct machine *m, struct monitor *mon)
{
	LIST_FOR_EACH (const struct disk, d, &m->storage.disks) {
		const char *name = arena_strdup(a, d->name);
		struct look *l;

		if (!fact_is(&d->role, "disk"))
			continue;
		l = look_add(a, mon);
		l->take = take_disk;
		l->path = arena_printf(a, "/sys/block/%s/stat", name);
		look_column(a, mon, "disk.read", name);
		look_column(a, mon, "disk.written", name);
		look_column(a, mon, "disk.busy", name);
	}
}
