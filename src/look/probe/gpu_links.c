/* SPDX-License-Identifier: Apache-2.0 */
/* What a GPU is linked to: its NVLinks, and which other GPUs' memory it may use. */
#include "look/probe/gpu.h"

/* An asked field whose text has to live as long as the fact. */
static struct fact_int link_int(struct probe *p, const char *object, const char *fmt, unsigned link)
{
	return probe_ask_int(p, "nvml", object, arena_printf(p->a, fmt, link));
}

static struct fact_str remote_type(struct fact_int f)
{
	static const char *const types[] = { "gpu", "ibm-npu", "switch" };
	static const struct gpu_names names = { types, 3 };

	if (seen_ok(&f.f) && f.v == 0xff)
		return fact_str_of("unknown", f.f.dir, f.f.leaf);
	return gpu_named(f, &names);
}

static struct fact_str remote(struct probe *p, const char *object, unsigned link)
{
	struct fact_str f = probe_ask_str(
		p, "nvml", object,
		arena_printf(p->a, "nvmlDeviceGetNvLinkRemotePciInfo(%u).busId", link));

	if (!seen_ok(&f.f))
		return f;
	/* A virtual machine does not see the switch that its GPUs are linked to. */
	f.v = gpu_address(p->a, f.v);
	if (!f.v)
		f.f = fact_unseen(-EOPNOTSUPP, f.f.dir, f.f.leaf);
	return f;
}

/* The first of two questions that is answered: generations of GPUs count under different names. */
static struct fact_int either(struct probe *p, const char *object, const char *first,
			      const char *second, unsigned link)
{
	struct fact_int f = link_int(p, object, first, link), g;

	if (f.f.seen != SEEN_UNSUPPORTED)
		return f;
	g = link_int(p, object, second, link);
	return seen_ok(&g.f) ? g : f;
}

static void link_errors(struct probe *p, struct nvlink *l, const char *object)
{
	l->replay_errors = either(p, object, "nvmlDeviceGetFieldValues(NVLINK_ERROR_DL_REPLAY,%u)",
				  "nvmlDeviceGetNvLinkErrorCounter(%u,REPLAY)", l->index);
	l->recovery_errors =
		either(p, object, "nvmlDeviceGetFieldValues(NVLINK_ERROR_DL_RECOVERY,%u)",
		       "nvmlDeviceGetFieldValues(NVLINK_COUNT_LINK_RECOVERY_EVENTS,%u)", l->index);
	if (l->recovery_errors.f.seen == SEEN_UNSUPPORTED)
		l->recovery_errors = link_int(
			p, object, "nvmlDeviceGetNvLinkErrorCounter(%u,RECOVERY)", l->index);
	l->crc_errors =
		either(p, object, "nvmlDeviceGetFieldValues(NVLINK_ERROR_DL_CRC,%u)",
		       "nvmlDeviceGetFieldValues(NVLINK_COUNT_EFFECTIVE_ERRORS,%u)", l->index);
	if (l->crc_errors.f.seen == SEEN_UNSUPPORTED)
		l->crc_errors = link_int(p, object, "nvmlDeviceGetNvLinkErrorCounter(%u,CRC_FLIT)",
					 l->index);
}

/* Links without a count: A library that cannot count them answers "invalid" after the last one. */
enum { LINKS_MAX = 36 };

void probe_gpu_links(struct probe *p, struct gpu *g, const char *object)
{
	struct fact_int count =
		probe_ask_int(p, "nvml", object, "nvmlDeviceGetFieldValues(NVLINK_LINK_COUNT)");
	long long n = seen_ok(&count.f) && count.v < LINKS_MAX ? count.v : LINKS_MAX;

	for (unsigned i = 0; i < n; i++) {
		struct fact_int active = link_int(p, object, "nvmlDeviceGetNvLinkState(%u)", i);
		struct nvlink *l;

		if (active.f.seen == SEEN_UNSUPPORTED || active.f.seen == SEEN_UNASKED ||
		    (!seen_ok(&active.f) && !seen_ok(&count.f)))
			return;
		l = list_add(p->a, &g->links, sizeof(*l));
		l->index = i;
		l->active = active;
		l->version = link_int(p, object, "nvmlDeviceGetNvLinkVersion(%u)", i);
		l->remote_type = remote_type(
			link_int(p, object, "nvmlDeviceGetNvLinkRemoteDeviceType(%u)", i));
		l->remote = remote(p, object, i);
		if (p->lean && !p->deep)
			continue;
		l->speed_mbs =
			link_int(p, object, "nvmlDeviceGetFieldValues(NVLINK_GET_SPEED,%u)", i);
		if (l->speed_mbs.f.seen == SEEN_UNSUPPORTED)
			l->speed_mbs =
				probe_ask_int(p, "nvml", object,
					      "nvmlDeviceGetFieldValues(NVLINK_SPEED_MBPS_COMMON)");
		if (p->deep)
			link_errors(p, l, object);
	}
}

static struct fact_str p2p(struct probe *p, const char *object, unsigned peer, const char *caps)
{
	static const char *const states[] = { "ok",
					      "chipset-not-supported",
					      "gpu-not-supported",
					      "topology-not-supported",
					      "disabled-by-registry",
					      "not-supported",
					      "unknown" };
	static const struct gpu_names names = { states, 7 };

	return gpu_named(
		probe_ask_int(p, "nvml", object,
			      arena_printf(p->a, "nvmlDeviceGetP2PStatus(%u,%s)", peer, caps)),
		&names);
}

void probe_gpu_peers(struct probe *p, struct gpu *g, const char *object)
{
	for (size_t i = 0; i < p->m->gpu.gpus.n; i++) {
		const struct gpu *other = machine_gpu(p->m, i);
		struct gpu_peer *peer;

		if (other->index == g->index)
			continue;
		peer = list_add(p->a, &g->peers, sizeof(*peer));
		peer->index = other->index;
		peer->p2p_read = p2p(p, object, other->index, "READ");
		peer->p2p_write = p2p(p, object, other->index, "WRITE");
		peer->p2p_nvlink = p2p(p, object, other->index, "NVLINK");
	}
}
