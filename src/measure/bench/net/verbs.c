/* SPDX-License-Identifier: Apache-2.0 */
/* Loads libibverbs and finds a port to use. */
#include "measure/bench/net/verbs.h"

#include <arpa/inet.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "measure/bench/net/verbs_layout.h"
#include "machine/host/vendor.h"

enum { PORTS_MAX = 8, GIDS_MAX = 256 };

static void *nothing(void)
{
	return NULL;
}

static int unknown(void)
{
	return ENOSYS;
}

static const char *no_text(int status)
{
	(void)status;
	return "an error";
}

#define POINTER(member)                                                                            \
	{                                                                                          \
		"ibv_" #member, offsetof(struct verbs_table, member), (void (*)(void))nothing      \
	}
#define NUMBER(member)                                                                             \
	{                                                                                          \
		"ibv_" #member, offsetof(struct verbs_table, member), (void (*)(void))unknown      \
	}

static const struct vendor_symbol symbols[] = {
	POINTER(get_device_list),
	NUMBER(free_device_list),
	POINTER(get_device_name),
	POINTER(open_device),
	NUMBER(close_device),
	NUMBER(query_port),
	{ "_ibv_query_gid_ex", offsetof(struct verbs_table, query_gid_ex),
	  (void (*)(void))unknown },
	POINTER(alloc_pd),
	NUMBER(dealloc_pd),
	POINTER(reg_mr),
	NUMBER(dereg_mr),
	POINTER(create_cq),
	NUMBER(destroy_cq),
	POINTER(create_qp),
	NUMBER(modify_qp),
	NUMBER(destroy_qp),
	{ "ibv_wc_status_str", offsetof(struct verbs_table, status_text), (void (*)(void))no_text },
};

static bool holds_ipv4(const uint8_t gid[16])
{
	static const uint8_t prefix[12] = { [10] = 0xff, [11] = 0xff };

	return memcmp(gid, prefix, sizeof(prefix)) == 0;
}

/* How good it is; 0: not usable. */
static int rank(const struct gid_entry *g, const char *netdev, struct verbs_port *p)
{
	static const uint8_t none[16];

	p->netdev[0] = '\0';
	if (g->netdev && !if_indextoname(g->netdev, p->netdev))
		p->netdev[0] = '\0';
	if (memcmp(g->gid, none, sizeof(none)) == 0)
		return 0;
	return 1 + (g->type == GID_ROCE_V2 ? 2 : 0) + (holds_ipv4(g->gid) ? 1 : 0) +
	       (*netdev && strcmp(netdev, p->netdev) == 0 ? 8 : 0);
}

/* The port's best address; 0: none. */
static int look_at_port(struct verbs_port *p, uint8_t number, const char *netdev)
{
	struct port_attr attr = { 0 };
	struct verbs_port at = *p;
	int best = 0;

	if (p->fn.query_port(p->context, number, &attr) || attr.state != PORT_ACTIVE)
		return 0;
	at.number = number;
	at.lid = attr.lid;
	at.mtu = (uint8_t)attr.active_mtu;
	at.link = attr.link == 2 ? 2 : 1;
	for (uint32_t i = 0; i < attr.gids && i < GIDS_MAX; i++) {
		struct gid_entry g = { 0 };
		int r;

		if (p->fn.query_gid_ex(p->context, number, i, &g, 0, sizeof(g)))
			continue;
		r = rank(&g, netdev, &at);
		if (r <= best)
			continue;
		best = r;
		at.gid_index = i;
		memcpy(at.gid, g.gid, sizeof(at.gid));
		*p = at;
	}
	/* InfiniBand goes by local identifiers and needs no address. */
	if (!best && at.link == 1 && attr.lid) {
		*p = at;
		best = 1;
	}
	return at.mtu >= 1 && at.mtu <= 5 ? best : 0;
}

/* Keeps the device open when it has a better port than the one before. */
static int look_at_device(struct verbs_port *p, struct ibv_device *d, const char *netdev, int best)
{
	struct verbs_port found, at = *p;
	int most = best;

	at.context = p->fn.open_device(d);
	if (!at.context)
		return best;
	snprintf(at.device, sizeof(at.device), "%s", p->fn.get_device_name(d));
	found = at;
	for (unsigned number = 1; number <= PORTS_MAX; number++) {
		struct verbs_port one = at;
		int r = look_at_port(&one, (uint8_t)number, netdev);

		if (r > most) {
			most = r;
			found = one;
		}
	}
	if (most > best) {
		if (p->context)
			p->fn.close_device(p->context);
		*p = found;
	} else {
		p->fn.close_device(at.context);
	}
	return most;
}

int verbs_port_open(const char *netdev, struct verbs_port *out, struct err *e)
{
	struct ibv_device **list;
	int n = 0, best = 0;

	memset(out, 0, sizeof(*out));
	if (vendor_open("libibverbs.so.1", symbols, sizeof(symbols) / sizeof(symbols[0]), &out->fn,
			&out->lib)) {
		err_set(e, -ENODEV, "libibverbs.so.1 is not installed");
		err_hint(e, "packages libibverbs1 and ibverbs-providers");
		return -ENODEV;
	}
	list = out->fn.get_device_list(&n);
	for (int i = 0; list && i < n; i++)
		best = look_at_device(out, list[i], netdev, best);
	if (list)
		out->fn.free_device_list(list);
	if (best)
		return 0;
	verbs_port_close(out);
	return n > 0 ? err_set(e, -ENODEV,
			       "no port of the %d RDMA devices is active and has an "
			       "address",
			       n)
		     : err_set(e, -ENODEV, "there is no RDMA device that libibverbs can use");
}

void verbs_port_close(struct verbs_port *p)
{
	if (p->context)
		p->fn.close_device(p->context);
	vendor_close(p->lib);
	p->context = NULL;
	p->lib = NULL;
}

void verbs_port_describe(const struct verbs_port *p, char *buf, size_t n)
{
	char gid[INET6_ADDRSTRLEN] = "?";

	if (holds_ipv4(p->gid))
		inet_ntop(AF_INET, p->gid + 12, gid, sizeof(gid));
	else
		inet_ntop(AF_INET6, p->gid, gid, sizeof(gid));
	if (p->link == 1)
		snprintf(buf, n, "%s port %u, InfiniBand, LID %u, MTU %d", p->device, p->number,
			 p->lid, 128 << p->mtu);
	else
		snprintf(buf, n, "%s port %u of %s, RoCE, GID %u (%s), MTU %d", p->device,
			 p->number, *p->netdev ? p->netdev : "no interface", p->gid_index, gid,
			 128 << p->mtu);
}
