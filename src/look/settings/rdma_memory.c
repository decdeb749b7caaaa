/* SPDX-License-Identifier: Apache-2.0 */
/* The ways from a NIC into GPU memory, and the libraries that programs need for RDMA. */
#include "look/settings/predicates.h"
#include "look/settings/tables.h"

#include <string.h>

static const char no_rdma[] = "no RDMA device";

static bool any_discrete(const struct machine *m)
{
	LIST_FOR_EACH (struct gpu, g, &m->gpu.gpus)
		if (fact_or(&g->integrated, 0) != 1)
			return true;
	return false;
}

/*
 * Either way into GPU memory will do: dma-buf, by what CUDA says of the device, or nvidia-peermem.
 * What a module or /dev/dma_heap seems to promise is not asked.
 */
static void gpudirect(const struct question *q, struct verdict *v)
{
	const struct gpu *g = q->object;
	bool peermem = seen_ok(&q->m->net.peermem.f);

	if (fact_or(&g->integrated, 0) == 1) {
		verdict_na(v, CODE_INTEGRATED,
			   "not supported on unified memory, and not needed: register host memory, "
			   "it is the same");
		return;
	}
	if (!has_rdma(q->m)) {
		verdict_na(v, CODE_NO_HARDWARE, no_rdma);
		return;
	}
	v->current = arena_printf(q->a, "nvidia-peermem %s, dma-buf %s",
				  peermem ? "loaded" : "not loaded",
				  g->cuda_dma_buf.f.seen == SEEN_UNASKED ? "not asked"
				  : !seen_ok(&g->cuda_dma_buf.f)	 ? "unknown"
				  : g->cuda_dma_buf.v			 ? "yes"
									 : "no");
	if (seen_ok(&g->cuda_gpudirect_rdma.f) && g->cuda_gpudirect_rdma.v == 0)
		verdict_na(v, CODE_NO_SUPPORT, "CUDA says that this GPU has no GPUDirect RDMA");
	else if (peermem || fact_or(&g->cuda_dma_buf, 0) == 1)
		verdict_pass(v, peermem ? "through nvidia-peermem" : "through dma-buf");
	else if (seen_ok(&g->cuda_dma_buf.f))
		verdict_fail(v, "dma-buf or nvidia-peermem",
			     "NIC and GPU can only meet in host memory");
	else if (g->cuda_dma_buf.f.seen != SEEN_UNASKED)
		verdict_unseen(q, v, &g->cuda_dma_buf.f, "this CUDA driver does not know dma-buf");
	else
		verdict_na(v, CODE_NEEDS_DEEP,
			   "nvidia-peermem is not loaded; whether dma-buf works takes starting "
			   "CUDA: --deep asks");
}

static void peermem(const struct question *q, struct verdict *v)
{
	if (!q->m->gpu.gpus.n || !any_discrete(q->m)) {
		verdict_na(v, q->m->gpu.gpus.n ? CODE_INTEGRATED : CODE_NO_HARDWARE,
			   q->m->gpu.gpus.n
				   ? "no discrete GPU: the module refuses to load on unified memory"
				   : machine_no_gpu(q->a, q->m));
		return;
	}
	if (!has_rdma(q->m)) {
		verdict_na(v, CODE_NO_HARDWARE, no_rdma);
		return;
	}
	v->current = fact_text(&q->m->net.peermem, "not loaded");
	if (seen_ok(&q->m->net.peermem.f))
		verdict_pass(v, "loaded");
	else if (q->m->net.peermem.f.seen != SEEN_ABSENT)
		verdict_unseen(q, v, &q->m->net.peermem.f, NULL);
	else if (q->platform == ON_IGX)
		verdict_fail(v, "loaded",
			     seen_ok(&q->m->net.ofed_version.f)
				     ? "the published data path needs it; EINVAL at load means "
				       "that it was built without the NIC "
				       "driver's headers: rebuild the GPU driver's modules"
				     : "the published data path needs it; it loads only beside "
				       "DOCA/OFED drivers");
	else
		verdict_na(v, CODE_LEFT_ALONE, "dma-buf has replaced it: see rdma.gpudirect");
}

static void user_libraries(const struct question *q, struct verdict *v)
{
	const struct fact_str *provider = &q->m->net.verbs_provider;
	const struct library *unread = NULL;
	bool library = false, connectx = false;

	if (!has_rdma(q->m)) {
		verdict_na(v, CODE_NO_HARDWARE, no_rdma);
		return;
	}
	LIST_FOR_EACH (struct library, l, &q->m->software.libraries)
		if (strcmp(l->name, "libibverbs.so.1") == 0) {
			library = seen_ok(&l->path.f);
			unread = library ? NULL : l;
		}
	if (unread) {
		verdict_unseen(q, v, &unread->path.f, NULL);
		return;
	}
	LIST_FOR_EACH (struct pci_function, p, &q->m->pci)
		connectx = connectx || is_connectx(p);
	v->current = !library	? "libibverbs missing"
		     : connectx ? arena_printf(q->a, "libibverbs, provider mlx5 %s",
					       fact_text(provider, "missing"))
				: "libibverbs";
	if (!library)
		verdict_fail(
			v, "libibverbs.so.1",
			"the kernel has RDMA devices, but programs have no library to use them");
	else if (connectx && provider->f.seen == SEEN_ABSENT)
		verdict_fail(v, "the mlx5 provider",
			     "the library is there, but not its driver for this NIC (package "
			     "ibverbs-providers): programs find no device");
	else if (connectx && !seen_ok(&provider->f))
		verdict_unseen(q, v, &provider->f, NULL);
	else
		verdict_pass(v, "libibverbs and its driver for the NIC are installed");
}

static const struct setting rows[] = {
	{ .id = "rdma.gpudirect",
	  .title = "GPUDirect RDMA",
	  .scope = SCOPE_GPU,
	  .read = "cuDeviceGetAttribute(116, 124), /sys/module/nvidia_peermem",
	  .not_when = "the GPU shares the host's memory or there is no RDMA device",
	  .why = "A NIC reads and writes GPU memory without a stop in host memory.",
	  .note = "Published as to be enabled on DGX Spark: NVIDIA documents it as not supported "
		  "there.",
	  .source = "S1; S3; gpudirect; spark-known-issues",
	  .severity = SEVERITY_HIGH,
	  .judge = gpudirect,
	  .by_hand = "the open kernel modules give dma-buf; otherwise load nvidia-peermem beside "
		     "the NIC vendor's drivers" },
	{ .id = "rdma.peermem",
	  .title = "nvidia-peermem",
	  .scope = SCOPE_HOST,
	  .of = &schema_network,
	  .fact = "peermem",
	  .not_when = "there is no discrete GPU or no RDMA device, or dma-buf is in use",
	  .why = "The older way into GPU memory; it needs the NIC vendor's drivers.",
	  .note = "Its EINVAL on load is published as a GB10 property; it means on any machine "
		  "that the module was built without "
		  "peer-memory symbols.",
	  .source = "S1; gpudirect",
	  .severity = SEVERITY_MEDIUM,
	  .risk = RISK_LOW,
	  .effect = EFFECT_DRIVER_RELOAD,
	  .judge = peermem,
	  .by_hand = "modprobe nvidia-peermem; where it answers EINVAL, install the NIC vendor's "
		     "drivers and build NVIDIA's again" },
	{ .id = "rdma.user-libraries",
	  .title = "RDMA user libraries",
	  .scope = SCOPE_HOST,
	  .read = "libibverbs.so.1",
	  .not_when = "there is no RDMA device",
	  .why = "NCCL and MPI load them.",
	  .source = "S1",
	  .severity = SEVERITY_MEDIUM,
	  .judge = user_libraries,
	  .by_hand = "install rdma-core and ibverbs-providers" },
};

const struct setting_table settings_rdma_memory = SETTING_TABLE(rows);
