/* SPDX-License-Identifier: Apache-2.0 */
/* RDMA ports and the modules behind them. */
#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "look/probe/nic.h"

#define CLASS "/sys/class/infiniband"

enum { GIDS_MAX = 256, EMPTY_GIDS = 16 };

/* "4: ACTIVE" -> "ACTIVE" */
static struct fact_str after_colon(struct probe *p, const char *dir, const char *leaf)
{
	struct fact_str f = probe_str(p, dir, leaf);
	const char *colon = seen_ok(&f.f) ? strchr(f.v, ':') : NULL;

	if (colon)
		f.v = colon + 1 + strspn(colon + 1, " ");
	return f;
}

/* "400 Gb/sec (4X NDR)", "2.5 Gb/sec (1X SDR)" */
static struct fact_int rate(const struct fact_str *text)
{
	double gbit;

	if (!seen_ok(&text->f))
		return (struct fact_int){ .f = text->f };
	if (sscanf(text->v, "%lf Gb/sec", &gbit) != 1 || !(gbit >= 0 && gbit <= 1e6))
		return (struct fact_int){ .f = fact_unseen(-EPROTO, text->f.dir, text->f.leaf) };
	return fact_int_of((long long)(gbit * 1000 + 0.5), text->f.dir, text->f.leaf);
}

static bool is_zero(const char *gid)
{
	return strspn(gid, "0:") == strlen(gid);
}

/* Tables have 256 places and few entries: a run of empty ones ends the reading. */
static void gids(struct probe *p, struct rdma_port *port, const char *dir)
{
	unsigned empty = 0;

	for (unsigned i = 0; i < GIDS_MAX && empty < EMPTY_GIDS; i++) {
		struct fact_str gid = probe_str(p, dir, arena_printf(p->a, "gids/%u", i));
		struct rdma_gid *g;

		if (gid.f.seen == SEEN_ABSENT)
			return;
		if (!seen_ok(&gid.f) || is_zero(gid.v)) {
			empty++;
			continue;
		}
		empty = 0;
		g = list_add(p->a, &port->gids, sizeof(*g));
		g->index = i;
		g->gid = gid;
		g->type = probe_str(p, dir, arena_printf(p->a, "gid_attrs/types/%u", i));
		g->netdev = probe_str(p, dir, arena_printf(p->a, "gid_attrs/ndevs/%u", i));
	}
}

static struct fact_str netdev(struct probe *p, const char *port_dir, const char *device_dir)
{
	struct fact_str f = probe_str(p, port_dir, "gid_attrs/ndevs/0");
	const char *dir = arena_printf(p->a, "%sdevice/net", device_dir);
	char **names;
	size_t n;

	if (seen_ok(&f.f) || host_list(p->h, dir, p->a, &names, &n) || n == 0)
		return f;
	return fact_str_of(names[0], "", dir);
}

static void add_port(struct probe *p, const char *device, const char *device_dir,
		     const char *number)
{
	const char *dir = arena_printf(p->a, "%sports/%s/", device_dir, number);
	struct rdma_port *port;
	long long n;

	/* Ports are numbered from 1 in one byte. */
	if (parse_i64(number, &n) || n < 1 || n > 255)
		return;
	port = list_add(p->a, &p->m->net.rdma, sizeof(*port));
	port->name = arena_printf(p->a, "%s/%s", device, number);
	port->device = device;
	port->number = (unsigned)n;
	port->pci = class_device_pci(p, device_dir);
	port->state = after_colon(p, dir, "state");
	port->phys_state = after_colon(p, dir, "phys_state");
	port->link_layer = probe_str(p, dir, "link_layer");
	port->rate_text = probe_str(p, dir, "rate");
	port->rate_mbps = rate(&port->rate_text);
	port->firmware = probe_str(p, device_dir, "fw_ver");
	port->board_id = probe_str(p, device_dir, "board_id");
	port->hca_type = probe_str(p, device_dir, "hca_type");
	port->node_type = after_colon(p, device_dir, "node_type");
	port->numa_node = probe_int(p, device_dir, "device/numa_node");
	port->netdev = netdev(p, dir, device_dir);
	port->symbol_errors = probe_int(p, dir, "counters/symbol_error");
	port->link_downed = probe_int(p, dir, "counters/link_downed");
	port->rcv_errors = probe_int(p, dir, "counters/port_rcv_errors");
	port->out_of_sequence = probe_int(p, dir, "hw_counters/out_of_sequence");
	gids(p, port, dir);
}

static void add_device(struct probe *p, const char *device)
{
	const char *dir = arena_printf(p->a, CLASS "/%s/", device);
	char **ports;
	size_t n;

	if (host_list(p->h, arena_printf(p->a, "%sports", dir), p->a, &ports, &n))
		return;
	for (size_t i = 0; i < n; i++)
		add_port(p, device, dir, ports[i]);
}

static struct fact_str module(struct probe *p, const char *name)
{
	const char *dir = arena_printf(p->a, "/sys/module/%s", name);
	enum host_kind kind;
	int r = host_kind(p->h, dir, &kind);

	if (r)
		return (struct fact_str){ .f = fact_unseen(r, "", dir) };
	return fact_str_of("loaded", "", dir);
}

static struct fact_str file_present(struct probe *p, const char *path)
{
	enum host_kind kind;
	int r = host_kind(p->h, path, &kind);

	if (r)
		return (struct fact_str){ .f = fact_unseen(r, "", path) };
	return fact_str_of("present", "", path);
}

void probe_rdma(struct probe *p)
{
	struct network *net = &p->m->net;
	char **devices;
	size_t n;

	net->ib_core = module(p, "ib_core");
	net->mlx5_core = module(p, "mlx5_core");
	net->mlx5_ib = module(p, "mlx5_ib");
	net->peermem = module(p, "nvidia_peermem");
	/* The kernel's own driver has no version; the vendor's has. */
	net->ofed_version = probe_str(p, "/sys/module/mlx5_core/", "version");
	net->peermem_client = probe_str(p, "/sys/kernel/mm/memory_peers/nv_mem/", "version");
	net->verbs_provider = file_present(p, "/etc/libibverbs.d/mlx5.driver");
	net->spark_hotplug = file_present(p, "/opt/nvidia/dgx-spark-mlnx-hotplug");
	if (host_list(p->h, CLASS, p->a, &devices, &n))
		return;
	for (size_t i = 0; i < n; i++)
		add_device(p, devices[i]);
}
