/* SPDX-License-Identifier: Apache-2.0 */
/* GPU settings: driver state, modes, BAR1. Clocks and power are in gpu_clock.c, health in
 * gpu_health.c. */
#include "look/settings/predicates.h"
#include "look/settings/tables.h"

#include <stdlib.h>
#include <string.h>

#include "base/word.h"

static const struct opinion persistence[] = {
	{ PROFILE_DEFAULT, ON_ALL, WANT_IS, "1",
	  "locks, accounting and compute mode are lost when the last program ends and the driver "
	  "unloads",
	  NULL },
	{ PROFILE_PUBLISHED, ON_SPARK | ON_IGX, WANT_IS, "1",
	  "published as: faster start of programs", "S0; S1" },
};
static const struct opinion compute_mode[] = {
	{ PROFILE_DEFAULT, ON_ALL, WANT_IS, "default",
	  "the exclusive modes break desktops and every second process", NULL },
	{ PROFILE_PUBLISHED, ON_SPARK, WANT_IS, "default",
	  "the exclusive mode is published as disabled", "S0" },
};
static const struct opinion accounting[] = {
	{ PROFILE_DEFAULT, ON_ALL, WANT_LEAVE, NULL,
	  "a record for audits: no effect on performance either way", NULL },
	{ PROFILE_PUBLISHED, ON_SPARK, WANT_IS, "1", "published as: per-process figures", "S0" },
};

static bool mig_off(const struct question *q, struct verdict *v)
{
	const struct gpu *g = q->object;

	if (fact_or(&g->mig, 0) != 1)
		return true;
	verdict_na(v, CODE_NO_SUPPORT, "MIG is on: it belongs to the instances");
	return false;
}

static void mig(const struct question *q, struct verdict *v)
{
	const struct gpu *g = q->object;

	if (!seen_ok(&g->mig.f)) {
		verdict_unseen(q, v, &g->mig.f, "this GPU has no MIG");
		return;
	}
	v->current = g->mig.v ? "on" : "off";
	if (!g->mig.v)
		verdict_pass(v, "off: the whole GPU is one device");
	else if (q->profile == PROFILE_TRAINING)
		verdict_fail(v, "off", "instances cannot reach each other over NVLink");
	else
		verdict_na(v, CODE_LEFT_ALONE,
			   "on: the site divides its GPUs; peer-to-peer and accounting are off "
			   "with it");
}

/* Compute cards with HBM, by NVML's name: "NVIDIA A100-PCIE-40GB", "NVIDIA H100 NVL". */
static bool has_hbm(const struct gpu *g)
{
	static const char *const chips[] = { "V100", "A100",  "A800", "A30",   "H100",
					     "H200", "H800",  "H20",  "GH200", "B200",
					     "B300", "GB200", "GB300" };

	for (size_t i = 0; i < sizeof(chips) / sizeof(chips[0]); i++)
		if (word_in(fact_text(&g->name, ""), chips[i]))
			return true;
	return false;
}

static void ecc(const struct question *q, struct verdict *v)
{
	const struct gpu *g = q->object;

	if (!seen_ok(&g->ecc.f)) {
		verdict_unseen(q, v, &g->ecc.f, "this GPU's memory has no switchable ECC");
		return;
	}
	v->current = g->ecc.v ? "on" : "off";
	if (seen_ok(&g->ecc_pending.f) && g->ecc_pending.v != g->ecc.v)
		verdict_fail(v, "no change pending",
			     arena_printf(q->a, "ECC will be %s after the next reset or reboot",
					  g->ecc_pending.v ? "on" : "off"));
	else if (g->ecc.v)
		verdict_pass(v, "on");
	else if (q->platform == ON_HGX || has_hbm(g))
		verdict_fail(v, "on", "data-centre parts ship with it on; off is no safe gain");
	else
		verdict_na(v, CODE_LEFT_ALONE,
			   "off, as graphics cards ship; data-centre cards ship with it on");
}

/* GPUDirect RDMA maps GPU memory through BAR1; 1 GiB is the published minimum, the whole memory the
 * goal. */
static void bar1(const struct question *q, struct verdict *v)
{
	const struct gpu *g = q->object;
	long long mib;

	if (!not_integrated(q, v, "memory is shared with the host: there is no BAR1 window"))
		return;
	if (!seen_ok(&g->bar1_bytes.f)) {
		verdict_unseen(q, v, &g->bar1_bytes.f, NULL);
		return;
	}
	mib = g->bar1_bytes.v >> 20;
	v->current = arena_printf(q->a, "%lld MiB", mib);
	v->wanted = ">= 1024 MiB";
	if (mib >= 1024)
		verdict_pass(v, seen_ok(&g->memory_bytes.f) && g->bar1_bytes.v >= g->memory_bytes.v
					? "maps the whole memory"
					: "at least 1 GiB");
	else if (!has_rdma(q->m))
		verdict_na(v, CODE_NO_EFFECT, "no RDMA device could use a larger window");
	else
		verdict_fail(v, v->wanted,
			     "a NIC can map no more than this of the GPU's memory at once");
}

/* Capability 0x15 tells before any firmware step whether a larger window is possible. */
static void rebar(const struct question *q, struct verdict *v)
{
	const struct gpu *g = q->object;
	const struct pci_function *p = machine_pci(q->m, g->pci);

	if (!not_integrated(q, v, "memory is shared with the host: there is no BAR1 window"))
		return;
	if (!p || !seen_ok(&p->rebar_max_bytes.f)) {
		if (p)
			verdict_unseen(q, v, &p->rebar_max_bytes.f,
				       "the GPU has no Resizable BAR capability");
		else
			verdict_na(v, CODE_VIRTUAL, "the GPU's PCI function is not visible");
		return;
	}
	v->current = arena_printf(q->a, "%lld MiB of %lld MiB", fact_or(&p->rebar_bytes, 0) >> 20,
				  p->rebar_max_bytes.v >> 20);
	if (fact_or(&p->rebar_bytes, 0) >= p->rebar_max_bytes.v ||
	    fact_or(&p->rebar_bytes, 0) >= 1ll << 30)
		verdict_pass(v, "large enough");
	else if (!has_rdma(q->m) && q->m->gpu.gpus.n < 2)
		verdict_na(v, CODE_NO_EFFECT,
			   "no RDMA device and no second GPU could use a larger window");
	else
		verdict_fail(v, ">= 1024 MiB",
			     "the GPU can map more than firmware gave it: enable Resizable BAR in "
			     "firmware setup. Flashing tools are a last resort that can ruin a "
			     "board");
}

#define GPU .scope = SCOPE_GPU
#define NVML_KNOB .knob = KNOB_NVML, .of = &schema_gpu

static const struct setting rows[] = {
	{ .id = "gpu.persistence-mode",
	  .title = "Persistence mode",
	  GPU,
	  NVML_KNOB,
	  .name = "persistence-mode",
	  .fact = "persistence",
	  .not_when = "the platform or a guest's driver does not implement it",
	  .why = "Keeps the driver's state while no program uses the GPU. It locks nothing and "
		 "does not survive a reboot.",
	  .note = "Published as surviving reboots; the driver's documentation says it does not. "
		  "The service "
		  "nvidia-persistenced keeps it.",
	  .source = "S0; S1; nvml",
	  .not_shown = "it shows in the first call after the last program has left the GPU, and a "
		       "bench of ours holds the GPU all the time; a command that opens it shows it "
		       "(--command)",
	  .severity = SEVERITY_MEDIUM,
	  .risk = RISK_LOW,
	  OPINIONS(persistence) },
	{ .id = "gpu.accounting-mode",
	  .title = "Accounting mode",
	  GPU,
	  NVML_KNOB,
	  .name = "accounting-mode",
	  .fact = "accounting",
	  .not_when = "MIG is on",
	  .why = "Records use per process. No effect on performance; switching it off deletes the "
		 "record.",
	  .source = "S0; nvml",
	  .shown_by = "launch/seen gemm/bf16",
	  .settle_s = 1,
	  .warm_up_s = 30,
	  .severity = SEVERITY_LOW,
	  .risk = RISK_LOW,
	  OPINIONS(accounting),
	  .applies = mig_off },
	{ .id = "gpu.compute-mode",
	  .title = "Compute mode",
	  GPU,
	  NVML_KNOB,
	  .name = "compute-mode",
	  .fact = "compute_mode",
	  .not_when = "MIG is on",
	  .why = "Who may use the GPU: everybody, one process, or nobody.",
	  .source = "S0; nvml",
	  .not_shown = "it decides who may use the GPU, not how fast",
	  .severity = SEVERITY_MEDIUM,
	  .risk = RISK_DANGER,
	  OPINIONS(compute_mode),
	  .applies = mig_off },
	{ .id = "gpu.mig",
	  .title = "MIG",
	  GPU,
	  .of = &schema_gpu,
	  .fact = "mig",
	  .not_when = "the GPU has no MIG",
	  .why = "Splits a GPU into instances without peer-to-peer.",
	  .source = "nvml",
	  .severity = SEVERITY_MEDIUM,
	  .risk = RISK_DANGER,
	  .effect = EFFECT_DRIVER_RELOAD,
	  .judge = mig,
	  .by_hand =
		  "with nothing running on the GPU: nvidia-smi -i GPU -mig 0, then reset the GPU" },
	{ .id = "gpu.ecc",
	  .title = "ECC",
	  GPU,
	  .of = &schema_gpu,
	  .fact = "ecc",
	  .not_when = "memory has no switchable ECC",
	  .why = "Corrects memory errors. Switching it off is no safe speed-up.",
	  .source = "nvml",
	  .severity = SEVERITY_MEDIUM,
	  .risk = RISK_DANGER,
	  .effect = EFFECT_REBOOT,
	  .judge = ecc,
	  .by_hand = "nvidia-smi -i GPU -e 1 (or 0), then reset the GPU or reboot with nothing "
		     "running on it" },
	{ .id = "gpu.bar1-size",
	  .title = "BAR1 window",
	  GPU,
	  .read = "nvmlDeviceGetBAR1MemoryInfo.bar1Total",
	  .not_when = "the GPU shares the host's memory, or no RDMA device is there",
	  .why = "How much GPU memory other devices can reach at once. It does not change the size "
		 "of a transfer.",
	  .note = "1 GiB is published as the minimum; a check that demands more than 1 GiB warns "
		  "at exactly 1 GiB.",
	  .source = "S1; gpudirect",
	  .severity = SEVERITY_MEDIUM,
	  .effect = EFFECT_FIRMWARE,
	  .judge = bar1,
	  .by_hand = "enable Above 4G Decoding and Resizable BAR in firmware setup; "
		     "gpu.resizable-bar says whether the GPU can do it" },
	{ .id = "gpu.resizable-bar",
	  .title = "Resizable BAR",
	  GPU,
	  .read = "PCIe extended capability 0x15",
	  .not_when =
		  "the GPU shares the host's memory, has no such capability, or nothing could use "
		  "it",
	  .why = "Whether the window can be larger than firmware made it.",
	  .source = "S1; pcie-base",
	  .severity = SEVERITY_LOW,
	  .effect = EFFECT_FIRMWARE,
	  .judge = rebar,
	  .by_hand =
		  "enable Above 4G Decoding and Resizable BAR in firmware setup, then boot again" },
};

const struct setting_table settings_gpu = SETTING_TABLE(rows);
