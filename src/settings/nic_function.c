/* SPDX-License-Identifier: Apache-2.0 */
/* NICs as PCI functions: on the bus at all, drivers, read request and payload sizes. */
#include <string.h>

#include "settings/predicates.h"
#include "settings/tables.h"

static const char no_nic_function[] = "no network controller of a fast NIC vendor on the PCI bus";

enum { VENDOR_MELLANOX = 0x15b3 };

static bool is_data_function(const struct machine *m, const void *object)
{
	const struct pci_function *p = object;

	(void)m;
	/* Virtual functions follow their physical one. */
	return pci_base_class(p) == 0x02 && fact_or(&p->vendor, 0) == VENDOR_MELLANOX &&
	       fact_or(&p->is_vf, 0) != 1;
}

/* No cable on a DGX Spark means no PCI function: people debug firmware for nothing. */
static void spark_cable(const struct question *q, struct verdict *v)
{
	size_t functions = 0;

	if (q->platform != ON_SPARK) {
		verdict_na(v, CODE_NOT_HERE, "DGX Spark only");
		return;
	}
	LIST_FOR_EACH (struct pci_function, p, &q->m->pci)
		functions += is_data_function(q->m, p);
	v->current = arena_printf(q->a, "%zu ConnectX functions", functions);
	if (functions)
		verdict_pass(v, "the NIC is on the bus");
	else if (!q->m->pci.n)
		verdict_unknown(v, CODE_ERROR, "the PCI bus could not be looked at");
	else
		verdict_fail(v, "4 functions",
			     "without a QSFP cable the NIC is taken off the bus shortly after "
			     "boot: plug a cable in first");
}

static void drivers(const struct question *q, struct verdict *v)
{
	const struct network *n = &q->m->net;
	const struct fact *const parts[] = { &n->ib_core.f, &n->mlx5_core.f, &n->mlx5_ib.f },
				 *unread = first_unread(parts, 3);
	bool card = false;

	LIST_FOR_EACH (struct pci_function, p, &q->m->pci)
		card = card || is_data_function(q->m, p);
	if (!card) {
		verdict_na(v, CODE_NO_HARDWARE, "no ConnectX or BlueField NIC");
		return;
	}
	v->current = arena_printf(
		q->a, "ib_core %s, mlx5_core %s, mlx5_ib %s", fact_text(&n->ib_core, "missing"),
		fact_text(&n->mlx5_core, "missing"), fact_text(&n->mlx5_ib, "missing"));
	if (unread)
		verdict_unseen(q, v, unread, NULL);
	else if (seen_ok(&n->ib_core.f) && seen_ok(&n->mlx5_core.f) && seen_ok(&n->mlx5_ib.f))
		verdict_pass(v,
			     seen_ok(&n->ofed_version.f)
				     ? arena_printf(q->a, "loaded, DOCA/OFED %s", n->ofed_version.v)
				     : "loaded, the kernel's own");
	else
		verdict_fail(v, "all loaded", "RDMA is not available without them");
}

static void mrrs(const struct question *q, struct verdict *v)
{
	const struct pci_function *p = q->object;
	long long want = q->profile == PROFILE_PUBLISHED || q->profile == PROFILE_LOW_LATENCY ||
					 q->profile == PROFILE_MAX_PERFORMANCE ||
					 q->platform == ON_IGX
				 ? 4096
				 : 512;

	if (!seen_ok(&p->mrrs.f)) {
		verdict_unseen(q, v, &p->mrrs.f, NULL);
		return;
	}
	v->current = arena_printf(q->a, "%lld bytes", p->mrrs.v);
	v->wanted = arena_printf(q->a, ">= %lld bytes", want);
	if (p->mrrs.v >= want)
		verdict_pass(v, want == 4096 ? "as large as it can be"
					     : "not below the vendor's default; 4096 is for those "
					       "who measured it");
	else if (is_locked_down(q->m))
		verdict_fail(v, v->wanted,
			     "larger reads fill the link better (gain unmeasured); kernel lockdown "
			     "blocks the write while "
			     "Secure Boot is on");
	else
		verdict_fail(v, v->wanted, "larger reads fill the link better (gain unmeasured)");
}

/* The payload can be no larger than the smallest capability between the NIC and its root port. */
static void mps(const struct question *q, struct verdict *v)
{
	const struct pci_function *p = q->object, *up;
	long long least = fact_or(&p->mps_cap, 0);
	const char *who = p->name;
	bool whole = is_placed(q->m, p);
	size_t hops = 0;

	if (!seen_ok(&p->mps.f) || !seen_ok(&p->mps_cap.f)) {
		verdict_unseen(q, v, seen_ok(&p->mps.f) ? &p->mps_cap.f : &p->mps.f, NULL);
		return;
	}
	for (up = machine_pci(q->m, p->parent); up && hops++ < 32;
	     up = machine_pci(q->m, up->parent)) {
		whole = whole && seen_ok(&up->mps_cap.f);
		if (seen_ok(&up->mps_cap.f) && up->mps_cap.v < least) {
			least = up->mps_cap.v;
			who = up->name;
		}
	}
	v->current = arena_printf(q->a, "%lld bytes", p->mps.v);
	v->wanted = arena_printf(q->a, "%lld bytes", least);
	if (p->mps.v >= least)
		verdict_pass(v,
			     who == p->name
				     ? "as large as the NIC takes"
				     : arena_printf(q->a, "as large as the path takes (%s)", who));
	else if (!whole)
		verdict_unknown(v, CODE_ERROR,
				"below what the NIC takes; what the bridges above it take could "
				"not be read");
	else
		verdict_fail(v, v->wanted,
			     "firmware left the payload below what every device on the path takes");
}

static void relaxed_ordering(const struct question *q, struct verdict *v)
{
	const struct pci_function *p = q->object;

	if (!seen_ok(&p->relaxed_ordering.f)) {
		verdict_unseen(q, v, &p->relaxed_ordering.f, NULL);
		return;
	}
	v->current = p->relaxed_ordering.v ? "on" : "off";
	if (p->relaxed_ordering.v)
		verdict_pass(v, "on");
	else
		verdict_fail(v, "on", "writes wait for each other on some hosts");
}

#define FUNCTION .scope = SCOPE_PCI, .select = is_data_function, .none = no_nic_function

static const struct setting rows[] = {
	{ .id = "nic.cable",
	  .title = "NIC on the bus",
	  .scope = SCOPE_HOST,
	  .health = true,
	  .read = "PCI class 0x02 of vendor 15b3",
	  .not_when = "the machine is no DGX Spark",
	  .why = "A DGX Spark takes its ConnectX-7 off the bus while no cable is plugged.",
	  .source = "S1; NVIDIA DGX Spark hot-plug scripts",
	  .severity = SEVERITY_LOW,
	  .judge = spark_cable },
	{ .id = "nic.drivers",
	  .title = "RDMA drivers loaded",
	  .scope = SCOPE_HOST,
	  .health = true,
	  .read = "/sys/module/{ib_core,mlx5_core,mlx5_ib}",
	  .not_when = "there is no such NIC",
	  .why = "Needed for RDMA.",
	  .source = "S1",
	  .severity = SEVERITY_HIGH,
	  .judge = drivers },
	{ .id = "nic.mrrs",
	  .title = "Max Read Request Size",
	  FUNCTION,
	  .knob = KNOB_PCI,
	  .name = "mrrs",
	  .of = &schema_pci_function,
	  .fact = "mrrs_bytes",
	  .not_when = "no NIC of a fast vendor is there",
	  .why = "How much the NIC asks for in one read of host memory. Lost at reset and at "
		 "hot-plug.",
	  .note = "A fixed register 0x68 is published; the field lies 8 bytes into the PCI Express "
		  "capability, wherever that is. On "
		  "a DGX Spark 0x68 reads all ones. The published mask also covers the bit that "
		  "resets the function.",
	  .source = "S1; pcie-base",
	  .severity = SEVERITY_LOW,
	  .risk = RISK_SERVICE,
	  .judge = mrrs },
	{ .id = "nic.mps",
	  .title = "Max Payload Size",
	  FUNCTION,
	  .of = &schema_pci_function,
	  .fact = "mps_bytes",
	  .not_when = "no NIC of a fast vendor is there",
	  .why = "How much one packet carries. The whole path must take it.",
	  .note = "Comparing with the NIC alone warns for ever where the root port takes less (128 "
		  "of 512 on IGX Orin).",
	  .source = "S1; pcie-base",
	  .severity = SEVERITY_LOW,
	  .judge = mps },
	{ .id = "nic.relaxed-ordering",
	  .title = "Relaxed ordering",
	  FUNCTION,
	  .of = &schema_pci_function,
	  .fact = "relaxed_ordering",
	  .not_when = "no NIC of a fast vendor is there",
	  .why = "Lets writes pass each other on their way to memory.",
	  .source = "pcie-base; nccl-troubleshooting",
	  .severity = SEVERITY_LOW,
	  .risk = RISK_LOW,
	  .judge = relaxed_ordering },
};

const struct setting_table settings_nic_function = SETTING_TABLE(rows);
