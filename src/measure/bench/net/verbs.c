/* SPDX-License-Identifier: Apache-2.0 */
/* Loads libibverbs and finds a port to use. */
#include <arpa/inet.h>
#include <errno.h>
#include <sodium.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

#include "measure/bench/net/verbs.h"
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
static int net_verbs_rank(const struct gid_entry *g, const char *netdev, struct verbs_port *p)
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
		r = net_verbs_rank(&g, netdev, &at);
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
		err_hint(e, "install the packages libibverbs1 and ibverbs-providers");
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
			       "no port of the %d RDMA devices is active and has an address", n)
		     : err_set(e, -ENODEV, "no RDMA device usable by libibverbs");
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

/* A queue pair from nothing to connected, and the requests on it. */

enum { READS = 16, RNR_TIMER = 12, TIMEOUT = 14, RETRIES = 7, HOPS = 64 };

static int net_verbs_refused(const struct verbs_pair *p, const char *what, int code, struct err *e)
{
	int error = code ? code : errno ? errno : EIO;

	err_set(e, -error, "%s: %s was refused: %s", p->port->device, what, strerror(error));
	if (error == ENOMEM)
		err_hint(e, "often caused by the locked-memory limit (ulimit -l)");
	return -error;
}

static int to_init(struct verbs_pair *p, struct err *e)
{
	struct qp_attr a = { .state = STATE_INIT,
			     .port = p->port->number,
			     .access = ACCESS_LOCAL_WRITE | ACCESS_REMOTE_WRITE |
				       ACCESS_REMOTE_READ };
	int r = p->port->fn.modify_qp(p->qp, &a, MASK_STATE | MASK_PKEY | MASK_PORT | MASK_ACCESS);

	return r ? net_verbs_refused(p, "initialising a queue pair", r, e) : 0;
}

static int make_pair(struct verbs_pair *p, const struct verbs_want *w, struct err *e)
{
	struct qp_init init = { .send_cq = p->cq,
				.receive_cq = p->cq,
				.cap = { w->depth, w->depth, 1, 1, w->inlined },
				.type = QP_RC };

	p->qp = p->port->fn.create_qp(p->pd, &init);
	if (!p->qp && w->inlined) {
		init.cap = (struct qp_cap){ w->depth, w->depth, 1, 1, 0 };
		p->qp = p->port->fn.create_qp(p->pd, &init);
	}
	/* What it granted, which may be more than was asked for. */
	p->inlined = w->inlined < init.cap.inline_bytes ? w->inlined : init.cap.inline_bytes;
	return p->qp ? 0 : net_verbs_refused(p, "a queue pair", 0, e);
}

static int make_queues(struct verbs_pair *p, const struct verbs_want *w, struct err *e)
{
	struct verbs_table *fn = &p->port->fn;
	int r;

	errno = 0;
	p->pd = fn->alloc_pd(p->port->context);
	if (!p->pd)
		return net_verbs_refused(p, "a protection domain", 0, e);
	p->mr = fn->reg_mr(p->pd, p->memory, p->bytes,
			   ACCESS_LOCAL_WRITE | ACCESS_REMOTE_WRITE | ACCESS_REMOTE_READ);
	if (!p->mr)
		return net_verbs_refused(p, "registering memory", 0, e);
	p->cq = fn->create_cq(p->port->context, (int)(2 * w->depth), NULL, NULL, 0);
	if (!p->cq)
		return net_verbs_refused(p, "a completion queue", 0, e);
	r = make_pair(p, w, e);
	return r ? r : to_init(p, e);
}

int verbs_pair_open(struct verbs_port *port, const struct verbs_want *want, struct verbs_pair *out,
		    struct err *e)
{
	uint32_t psn = 0;
	int r;

	memset(out, 0, sizeof(*out));
	out->port = port;
	out->bytes = want->bytes;
	out->memory = mmap(NULL, want->bytes, PROT_READ | PROT_WRITE,
			   MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
	if (out->memory == MAP_FAILED) {
		out->memory = NULL;
		return err_set(e, -ENOMEM, "out of memory");
	}
	r = make_queues(out, want, e);
	randombytes_buf(&psn, 3);
	if (r) {
		verbs_pair_close(out);
		return r;
	}
	out->own = (struct frame_verbs){ .qp = out->qp->number & 0xffffff,
					 .psn = psn & 0xffffff,
					 .rkey = out->mr->rkey,
					 .address = (uintptr_t)out->memory,
					 .length = want->bytes,
					 .lid = port->lid,
					 .mtu = port->mtu,
					 .link = port->link };
	memcpy(out->own.gid, port->gid, sizeof(out->own.gid));
	return 0;
}

int verbs_pair_connect(struct verbs_pair *p, const struct frame_verbs *t, struct err *e)
{
	struct verbs_table *fn = &p->port->fn;
	struct qp_attr a = { .state = STATE_READY_TO_RECEIVE,
			     .mtu = t->mtu < p->own.mtu ? t->mtu : p->own.mtu,
			     .qp = t->qp,
			     .receive_psn = t->psn,
			     .reads_there = READS,
			     .rnr_timer = RNR_TIMER };
	int r;

	if (t->link != p->own.link)
		return err_set(e, -EPROTONOSUPPORT, "one side is InfiniBand, the other Ethernet");
	if (t->length < p->bytes)
		return err_set(e, -EMSGSIZE, "the other side has %llu bytes of memory, not %zu",
			       (unsigned long long)t->length, p->bytes);
	a.address.port = p->port->number;
	a.address.lid = t->lid;
	a.address.global = p->own.link == 2;
	memcpy(a.address.gid, t->gid, sizeof(t->gid));
	a.address.gid_index = (uint8_t)p->port->gid_index;
	a.address.hops = HOPS;
	r = fn->modify_qp(p->qp, &a,
			  MASK_STATE | MASK_ADDRESS | MASK_MTU | MASK_QP | MASK_RECEIVE_PSN |
				  MASK_READS_THERE | MASK_RNR_TIMER);
	if (r)
		return net_verbs_refused(p, "reaching the other queue pair", r, e);
	a = (struct qp_attr){ .state = STATE_READY_TO_SEND,
			      .send_psn = p->own.psn,
			      .timeout = TIMEOUT,
			      .retries = RETRIES,
			      .rnr_retries = RETRIES,
			      .reads = READS };
	r = fn->modify_qp(p->qp, &a,
			  MASK_STATE | MASK_SEND_PSN | MASK_TIMEOUT | MASK_RETRIES |
				  MASK_RNR_RETRIES | MASK_READS);
	p->theirs = *t;
	return r ? net_verbs_refused(p, "readying a queue pair", r, e) : 0;
}

void verbs_pair_close(struct verbs_pair *p)
{
	if (p->qp)
		p->port->fn.destroy_qp(p->qp);
	if (p->cq)
		p->port->fn.destroy_cq(p->cq);
	if (p->mr)
		p->port->fn.dereg_mr(p->mr);
	if (p->pd)
		p->port->fn.dealloc_pd(p->pd);
	if (p->memory)
		munmap(p->memory, p->bytes);
	memset(p, 0, sizeof(*p));
}

int verbs_post(struct verbs_pair *p, enum verbs_op op, size_t offset, size_t n, uint64_t id,
	       bool signaled)
{
	struct sge sge = { (uintptr_t)p->memory + offset, (uint32_t)n, p->mr->lkey };
	struct send_wr wr = { .id = id,
			      .list = &sge,
			      .n = 1,
			      .opcode = op,
			      .flags = (signaled ? FLAG_SIGNALED : 0u) |
				       (op != VERBS_READ && n <= p->inlined ? FLAG_INLINE : 0u),
			      .remote = p->theirs.address + offset,
			      .rkey = p->theirs.rkey },
		       *bad;
	int r = p->qp->context->post_send(p->qp, &wr, &bad);

	return r > 0 ? -r : r;
}

int verbs_post_receive(struct verbs_pair *p, size_t offset, size_t n, uint64_t id)
{
	struct sge sge = { (uintptr_t)p->memory + offset, (uint32_t)n, p->mr->lkey };
	struct receive_wr wr = { .id = id, .list = &sge, .n = 1 }, *bad;
	int r = p->qp->context->post_recv(p->qp, &wr, &bad);

	return r > 0 ? -r : r;
}

int verbs_poll(struct verbs_pair *p, struct verbs_done *out, int n)
{
	int r = p->cq->context->poll_cq(p->cq, n, out);

	return r < 0 ? -EIO : r;
}

int verbs_failed(const struct verbs_pair *p, const struct verbs_done *d, struct err *e)
{
	return err_set(e, -EIO, "%s: a request ended with \"%s\" (%u)", p->port->device,
		       p->port->fn.status_text((int)d->status), d->status);
}
