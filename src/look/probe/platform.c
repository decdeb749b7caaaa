/* SPDX-License-Identifier: Apache-2.0 */
/* Which of the kinds of machine that our sources speak of this is, and by what evidence. */
#include <string.h>

#include "look/probe/probe.h"

enum { VENDOR_NVIDIA = 0x10de, DEVICE_GB10 = 0x2e12, CLASS_NVSWITCH = 0x0680 };

/* Firmware's words: DMI, or the device tree's model. */
static void firmware(struct probe *p)
{
	static const char dmi[] = "/sys/class/dmi/id/";
	struct platform *f = &p->m->platform;

	f->product = probe_str(p, dmi, "product_name");
	f->vendor = probe_str(p, dmi, "sys_vendor");
	f->board = probe_str(p, dmi, "board_name");
	f->bios_version = probe_str(p, dmi, "bios_version");
	f->bios_date = probe_str(p, dmi, "bios_date");
	if (!seen_ok(&f->product.f)) {
		struct fact_str model = probe_str(p, "/proc/device-tree/", "model");

		if (seen_ok(&model.f))
			f->product = model;
	}
}

static void decide(struct probe *p, const char *kind, const char *why)
{
	p->m->platform.kind = fact_str_of(kind, "", "gputune");
	p->m->platform.why = fact_str_of(why, "", "gputune");
}

static const struct gpu *gpu_named(const struct machine *m, const char *word)
{
	LIST_FOR_EACH (struct gpu, g, &m->gpu.gpus)
		if (seen_ok(&g->name.f) && strstr(g->name.v, word))
			return g;
	return NULL;
}

static bool is_spark(struct probe *p)
{
	const struct platform *f = &p->m->platform;

	if (seen_ok(&f->product.f) &&
	    (strstr(f->product.v, "DGX_Spark") || strstr(f->product.v, "DGX Spark"))) {
		decide(p, "dgx-spark",
		       arena_printf(p->a, "firmware names the product \"%s\"", f->product.v));
		return true;
	}
	if (gpu_named(p->m, "GB10")) {
		decide(p, "dgx-spark", "the GPU is a GB10");
		return true;
	}
	LIST_FOR_EACH (struct pci_function, fn, &p->m->pci)
		if (fact_or(&fn->vendor, 0) == VENDOR_NVIDIA &&
		    fact_or(&fn->device, 0) == DEVICE_GB10) {
			decide(p, "dgx-spark",
			       arena_printf(p->a, "PCI function %s is a GB10 (10de:2e12)",
					    fn->name));
			return true;
		}
	return false;
}

static bool is_igx(struct probe *p)
{
	const struct fact_str *product = &p->m->platform.product;

	if (!seen_ok(&product->f) || !strstr(product->v, "IGX"))
		return false;
	decide(p, "igx-orin", arena_printf(p->a, "firmware names the product \"%s\"", product->v));
	return true;
}

/* SXM parts: NVML names them plainly ("NVIDIA H200") or with their HBM ("NVIDIA H100 80GB HBM3");
 * the PCIe cards say PCIe or NVL. */
static bool is_sxm(const struct gpu *g)
{
	static const char *const chips[] = { "H100",  "H200",	  "B200", "B300", "GB200",
					     "GB300", "A100-SXM", "H800", "H20" };

	/* A Grace Hopper is a chip of its own, on no baseboard. */
	if (!seen_ok(&g->name.f) || strstr(g->name.v, "PCIe") || strstr(g->name.v, "NVL") ||
	    strstr(g->name.v, "GH200"))
		return false;
	for (size_t i = 0; i < sizeof(chips) / sizeof(chips[0]); i++)
		if (strstr(g->name.v, chips[i]))
			return true;
	return false;
}

static bool is_hgx(struct probe *p)
{
	size_t sxm = 0, switches = 0;
	const char *name = NULL;

	LIST_FOR_EACH (struct gpu, g, &p->m->gpu.gpus)
		if (is_sxm(g)) {
			sxm++;
			name = g->name.v;
		}
	LIST_FOR_EACH (struct pci_function, fn, &p->m->pci)
		if (fact_or(&fn->vendor, 0) == VENDOR_NVIDIA &&
		    fact_or(&fn->class_, 0) >> 8 == CLASS_NVSWITCH)
			switches++;
	if (!sxm)
		return false;
	decide(p, "hgx",
	       switches ? arena_printf(p->a, "%zu x %s and %zu NVSwitch functions", sxm, name,
				       switches)
			: arena_printf(p->a, "%zu x %s, an SXM part of an HGX board%s", sxm, name,
				       fact_or(&p->m->platform.virtual_, 0)
					       ? ", seen from a virtual machine"
					       : ""));
	return true;
}

/* x86 says so in its CPU flags; elsewhere firmware names the hypervisor. */
static struct fact_int virtual_machine(struct probe *p)
{
	static const char *const vendors[] = { "QEMU", "KVM",	     "VMware", "innotek",
					       "Xen",  "Amazon EC2", "Google", "Firecracker" };
	const struct platform *f = &p->m->platform;

	if (seen_ok(&p->m->cpu.hypervisor.f) && p->m->cpu.hypervisor.v)
		return p->m->cpu.hypervisor;
	for (size_t i = 0; i < sizeof(vendors) / sizeof(vendors[0]); i++)
		if ((seen_ok(&f->vendor.f) && strstr(f->vendor.v, vendors[i])) ||
		    (seen_ok(&f->product.f) && strstr(f->product.v, vendors[i])))
			return fact_int_of(1, "/sys/class/dmi/id/", "sys_vendor");
	return p->m->cpu.hypervisor;
}

void probe_platform(struct probe *p)
{
	firmware(p);
	p->m->platform.virtual_ = virtual_machine(p);
	if (is_spark(p) || is_igx(p) || is_hgx(p))
		return;
	decide(p, "generic",
	       p->m->gpu.gpus.n ? "none of the known products"
				: arena_printf(p->a, "%s, and none of the known products",
					       machine_no_gpu(p->a, p->m)));
}
