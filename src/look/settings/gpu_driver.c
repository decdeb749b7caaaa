/* SPDX-License-Identifier: Apache-2.0 */
/* The NVIDIA driver: whether it answers, for every GPU that the bus has, which kind it is, and
 * whether the GPUs are alike. */
#include "look/settings/predicates.h"
#include "look/settings/tables.h"

#include <string.h>

#include "base/text.h"

/* Given to a virtual machine: no business of this machine's driver. */
static bool is_given_away(const struct pci_function *p)
{
	return fact_is(&p->driver, "vfio-pci");
}

static bool held_by(const struct machine *m, const char *driver)
{
	LIST_FOR_EACH (struct pci_function, p, &m->pci)
		if (is_nvidia_display(p) && fact_is(&p->driver, driver))
			return true;
	return false;
}

static void driver(const struct question *q, struct verdict *v)
{
	const struct gpus *g = &q->m->gpu;
	const struct fact *f = &g->driver.f;

	if (seen_ok(f) || machine_bus_gpus(q->m, false))
		v->current = fact_text(&g->driver, "not loaded");
	if (seen_ok(f) && g->gpus.n)
		verdict_pass(v, arena_printf(q->a, "driver %s answers", g->driver.v));
	else if (f->seen == SEEN_DENIED ||
		 (!machine_bus_gpus(q->m, false) && f->seen == SEEN_ERROR))
		verdict_unseen(q, v, f, NULL);
	else if (!machine_bus_gpus(q->m, false))
		verdict_na(v, CODE_NO_HARDWARE, machine_no_gpu(q->a, q->m));
	else if (held_by(q->m, "nouveau"))
		verdict_fail(v, "loaded",
			     "the nouveau driver holds the GPU: CUDA needs NVIDIA's, and nouveau "
			     "has to be kept from loading first");
	else
		verdict_fail(v, "loaded",
			     g->nvml.f.seen == SEEN_ERROR
				     ? "the driver's library and its kernel module differ in "
				       "version: reboot or reload the module"
				     : "an NVIDIA GPU is on the bus, but the driver does not "
				       "answer");
}

/* The GPUs of the bus that the driver does not list, blank-separated. */
static const char *missing(const struct question *q)
{
	TEXT_AUTO t = { 0 };

	LIST_FOR_EACH (struct pci_function, p, &q->m->pci) {
		bool known = false;

		if (!is_nvidia_display(p) || is_given_away(p))
			continue;
		LIST_FOR_EACH (struct gpu, g, &q->m->gpu.gpus)
			known = known || strcmp(g->pci, p->name) == 0;
		if (!known)
			text_printf(&t, "%s%s", t.len ? " " : "", p->name);
	}
	return arena_strdup(q->a, t.s ? t.s : "");
}

/* A card for a screen beside the baseboard is another kind, and counts as none of its. */
static bool of_one_kind(const struct machine *m)
{
	const struct gpu *first = machine_gpu(m, 0);

	LIST_FOR_EACH (struct gpu, g, &m->gpu.gpus)
		if (first && strcmp(fact_text(&g->name, ""), fact_text(&first->name, "")) != 0)
			return false;
	return true;
}

static void all_visible(const struct question *q, struct verdict *v)
{
	size_t bus = machine_bus_gpus(q->m, false), n = q->m->gpu.gpus.n;

	if (!n || !bus) {
		verdict_na(v, CODE_NO_HARDWARE,
			   n ? "the PCI bus is not visible here" : machine_no_gpu(q->a, q->m));
		return;
	}
	v->current = arena_printf(q->a, "%zu of %zu", n, bus);
	if (n < bus && seen_ok(&q->m->software.container.f))
		verdict_na(v, CODE_NO_EFFECT, "this container is given a part of the GPUs");
	else if (n < bus)
		verdict_fail(v, arena_printf(q->a, "%zu", bus),
			     arena_printf(q->a,
					  "on the bus but not offered by the driver: %s. It fell "
					  "off, another driver holds it, or this driver is too old "
					  "or new for it",
					  missing(q)));
	/* Baseboards carry 4, 8 or 16: a GPU that left the bus too is missed here alone. */
	else if (q->platform == ON_HGX && !is_virtual(q->m) && !machine_bus_gpus(q->m, true) &&
		 !is_superchip(q->m) && of_one_kind(q->m) && bus != 4 && bus != 8 && bus != 16)
		verdict_fail(v, "4, 8 or 16", "an HGX baseboard has more GPUs than the bus shows");
	else
		verdict_pass(v, "the driver knows every GPU on the bus");
}

static void flavour(const struct question *q, struct verdict *v)
{
	const struct fact_str *f = &q->m->gpu.driver_flavour;
	const char *needs_open = NULL;

	LIST_FOR_EACH (struct gpu, g, &q->m->gpu.gpus)
		if (fact_or(&g->cc_major, 0) >= 10)
			needs_open = "Blackwell GPUs work with the open kernel modules only";
		else if (fact_or(&g->c2c, 0) == 1)
			needs_open = "Grace Hopper works with the open kernel modules only";
	if (!q->m->gpu.gpus.n) {
		verdict_na(v, CODE_NO_HARDWARE, machine_no_gpu(q->a, q->m));
		return;
	}
	if (!seen_ok(&f->f)) {
		verdict_unseen(q, v, &f->f, NULL);
		return;
	}
	v->current = f->v;
	if (strcmp(f->v, "open") == 0)
		verdict_pass(v, "open kernel modules");
	else if (needs_open)
		verdict_fail(v, "open", needs_open);
	else
		verdict_na(v, CODE_LEFT_ALONE,
			   "proprietary modules: fine before Blackwell; GPUDirect then needs "
			   "nvidia-peermem");
}

/* GPUs of one name with different firmware: one was exchanged, or an update stopped half-way. */
static void alike(const struct question *q, struct verdict *v)
{
	const struct gpu *first = machine_gpu(q->m, 0);

	if (q->m->gpu.gpus.n < 2) {
		verdict_na(v, CODE_NO_HARDWARE,
			   q->m->gpu.gpus.n ? "one GPU" : machine_no_gpu(q->a, q->m));
		return;
	}
	LIST_FOR_EACH (struct gpu, g, &q->m->gpu.gpus) {
		if (!seen_ok(&g->vbios.f)) {
			verdict_unseen(q, v, &g->vbios.f, "the driver does not tell the VBIOS");
			return;
		}
		if (strcmp(fact_text(&g->name, ""), fact_text(&first->name, "")) != 0) {
			verdict_na(v, CODE_NO_EFFECT, "GPUs of different kinds");
			return;
		}
	}
	v->current = first->vbios.v;
	LIST_FOR_EACH (struct gpu, g, &q->m->gpu.gpus)
		if (strcmp(g->vbios.v, first->vbios.v) != 0) {
			v->current = arena_printf(q->a, "gpu%u %s, gpu%u %s", first->index,
						  first->vbios.v, g->index, g->vbios.v);
			verdict_fail(v, "one version",
				     "GPUs of one kind with different firmware may clock and fail "
				     "differently");
			return;
		}
	verdict_pass(v, "the same on every GPU");
}

#define DRIVER .scope = SCOPE_HOST

static const struct setting rows[] = {
	{ .id = "gpu.driver",
	  .title = "Driver answers",
	  .health = true,
	  DRIVER,
	  .of = &schema_gpus,
	  .fact = "driver",
	  .not_when = "there is no NVIDIA GPU, or all are given to virtual machines",
	  .why = "Everything else about the GPU depends on it.",
	  .source = "nvml",
	  .severity = SEVERITY_CRITICAL,
	  .judge = driver,
	  .by_hand = "install the driver for this kernel, or load the nvidia module; after an "
		     "update reboot" },
	{ .id = "gpu.count",
	  .title = "Every GPU on the bus is usable",
	  .health = true,
	  DRIVER,
	  .read = "nvmlDeviceGetCount, PCI class 0x03 of vendor 10de",
	  .not_when = "a container is given a part of the GPUs",
	  .why = "A GPU that fell off the bus is missed first here.",
	  .source = "nvml",
	  .severity = SEVERITY_CRITICAL,
	  .judge = all_visible,
	  .by_hand = "look at the kernel log for Xid 79 and at the GPU's power and seat; a cold "
		     "start often brings it back" },
	{ .id = "gpu.driver-flavour",
	  .title = "Open kernel modules",
	  DRIVER,
	  .of = &schema_gpus,
	  .fact = "driver_flavour",
	  .not_when = "there is no NVIDIA GPU",
	  .why = "Blackwell and Grace Hopper need them; export of GPU memory as dma-buf comes with "
		 "them where the chip can do it. They do not change speed.",
	  .source = "S1; NVIDIA open GPU kernel modules",
	  .severity = SEVERITY_HIGH,
	  .effect = EFFECT_REBOOT,
	  .judge = flavour,
	  .by_hand = "install the driver's open kernel modules (package nvidia-open or the -open "
		     "variant) and reboot" },
	{ .id = "gpu.vbios",
	  .title = "Same VBIOS on like GPUs",
	  .health = true,
	  DRIVER,
	  .read = "nvmlDeviceGetVbiosVersion",
	  .not_when = "there is one GPU, or they are of different kinds",
	  .why = "A node is as good as its slowest GPU.",
	  .source = "Meta GPU cluster monitoring; nvml",
	  .severity = SEVERITY_LOW,
	  .effect = EFFECT_FIRMWARE,
	  .judge = alike,
	  .by_hand = "let the board's vendor bring the GPUs to one firmware" },
};

const struct setting_table settings_gpu_driver = SETTING_TABLE(rows);
