/* SPDX-License-Identifier: Apache-2.0 */
/* Collectives between machines: what NCCL is told, which one runs, what stands in its way. */
#include <string.h>

#include "base/text.h"
#include "measure/doctor/rule.h"
#include "knowledge/nccl_vars.h"

/* --- over sockets
 * ----------------------------------------------------------------------------------
 */
static void no_device(const struct rule_facts *e, struct judged *out)
{
	if (!e->m->net.rdma.n) {
		verdict_set(e, out, CAUSE_NOT_HERE, "no RDMA device");
		return;
	}
	if (e->signs->rdma_devices.f.seen == SEEN_ABSENT && fact_or(&e->m->captured, 0))
		verdict_set(e, out, CAUSE_UNSEEN, "the capture does not hold /dev");
	else if (e->signs->rdma_devices.f.seen == SEEN_ABSENT)
		verdict_set(e, out, CAUSE_CERTAIN,
			    "the kernel has RDMA devices, but there is no /dev/infiniband%s",
			    seen_ok(&e->m->software.container.f) ? " in this container" : "");
	else if (!verdict_set_unseen(e, out, &e->signs->rdma_devices.f, "/dev/infiniband"))
		verdict_set(e, out, e->signs->rdma_devices.v ? CAUSE_EXCLUDED : CAUSE_CERTAIN,
			    "/dev/infiniband has %lld devices that programs can open",
			    e->signs->rdma_devices.v);
}

static void rdma_disabled(const struct rule_facts *e, struct judged *out)
{
	const struct observed_var *off = var_of(e, "NCCL_IB_DISABLE"), *net = var_of(e, "NCCL_NET");

	if (off && !fact_is(&off->value, "0") && !fact_is(&off->value, ""))
		verdict_set(e, out, CAUSE_CERTAIN, "%s", var_text(e, off));
	else if (net && strcasecmp(fact_text(&net->value, ""), "socket") == 0)
		verdict_set(e, out, CAUSE_CERTAIN, "%s", var_text(e, net));
	else
		verdict_set(e, out, CAUSE_EXCLUDED,
			    "nothing that can be seen tells NCCL to use sockets");
}

/* Inside a container devices may have other names than here. */
static void wrong_list(const struct rule_facts *e, struct judged *out)
{
	const struct observed_var *v = var_of(e, "NCCL_IB_HCA");
	enum likelihood none = CAUSE_CERTAIN;
	size_t known, names;

	if (!v || !*fact_text(&v->value, "") || *v->value.v == '^') {
		verdict_set(e, out, CAUSE_EXCLUDED,
			    "no list of devices that can be seen leaves all out");
		return;
	}
	list_count(e, v->value.v, &names, &known);
	if (str_starts(fact_text(&v->origin, ""), "process"))
		none = CAUSE_POSSIBLE;
	verdict_set(e, out,
		    !known	    ? none
		    : known < names ? CAUSE_LIKELY
				    : CAUSE_EXCLUDED,
		    "%s: %zu of %zu names are devices of this machine%s", var_text(e, v), known,
		    names,
		    !known && none == CAUSE_POSSIBLE ? "; a container may have other names" : "");
}

static const struct cause sockets[] = {
	{ .id = "told",
	  .title = "NCCL is told to use sockets",
	  .rule = rdma_disabled,
	  .judges = "seen.vars.value",
	  .steps = ANYWHERE("take it out; NCCL_NET=IB makes a fall-back an error instead") },
	{ .id = "no-device",
	  .title = "programs cannot open an RDMA device",
	  .rule = no_device,
	  .judges = "seen.rdma_devices",
	  .steps = ANYWHERE("containers: --device=/dev/infiniband --cap-add IPC_LOCK --ulimit "
			    "memlock=-1 --network=host; host: modprobe ib_uverbs") },
	{ .id = "list",
	  .title = "the list of devices names none of this machine",
	  .rule = wrong_list,
	  .judges = "seen.vars.value",
	  .steps = ANYWHERE("names differ between host (roce...) and container (mlx5_N): look "
			    "inside with ibv_devices") },
	{ .id = "state",
	  .title = "a port is not active",
	  BY_SETTING("rdma.state", LIKELY),
	  .steps = ANYWHERE("cable, far end; on InfiniBand the subnet manager") },
	{ .id = "drivers",
	  .title = "drivers are not loaded",
	  BY_SETTING("nic.drivers", CERTAIN),
	  .steps = ANYWHERE("modprobe mlx5_core mlx5_ib") },
	{ .id = "libraries",
	  .title = "programs have no RDMA library",
	  BY_SETTING("rdma.user-libraries", LIKELY),
	  .steps = ANYWHERE("install rdma-core and ibverbs-providers, in the container too") },
};

/* --- which NCCL
 * --------------------------------------------------------------------------------------
 */
static const char *system_nccl(const struct rule_facts *e)
{
	LIST_FOR_EACH (struct library, l, &e->m->software.libraries)
		if (str_starts(l->name, "libnccl.so") && seen_ok(&l->version.f))
			return l->version.v;
	return NULL;
}

/* A variable that the library does not know is ignored without a word. */
static void doctor_nccl_too_old(const struct rule_facts *e, struct judged *out)
{
	const char *version = system_nccl(e), *since, *until;
	const struct observed_var *newest = NULL;

	verdict_set(e, out, CAUSE_EXCLUDED,
		    "no variable that can be seen asks for what only a newer NCCL does");
	LIST_FOR_EACH (struct observed_var, v, &e->signs->vars) {
		if (!nccl_name(v->name, &since, &until) || !since)
			continue;
		newest = v;
		if (nccl_knows(v->name, version) == NCCL_NOT_YET) {
			verdict_set(e, out, CAUSE_CERTAIN,
				    "%s, which NCCL knows since %s; the system's is %s",
				    var_text(e, v), since, version);
			return;
		}
	}
	if (!newest)
		return;
	nccl_name(newest->name, &since, &until);
	if (!version)
		verdict_set(e, out, CAUSE_UNSEEN,
			    "%s, which NCCL knows since %s; its version could not be seen",
			    var_text(e, newest), since);
	else
		verdict_set(e, out, CAUSE_EXCLUDED,
			    "%s, which NCCL knows since %s; the system's is %s",
			    var_text(e, newest), since, version);
}

static void several(const struct rule_facts *e, struct judged *out)
{
	const char *first = NULL;

	LIST_FOR_EACH (struct observed_process, p, &e->signs->processes) {
		if (!seen_ok(&p->nccl.f))
			continue;
		if (first && strcmp(first, p->nccl.v) != 0) {
			verdict_set(e, out, CAUSE_LIKELY, "running programs use %s and %s", first,
				    p->nccl.v);
			return;
		}
		first = p->nccl.v;
	}
	if (first)
		verdict_set(e, out, CAUSE_EXCLUDED, "every running program uses %s", first);
	else
		verdict_set(e, out, CAUSE_UNSEEN, "no program with NCCL runs now");
}

static const struct cause versions[] = {
	{ .id = "too-old",
	  .title = "the library is older than what it is told",
	  .rule = doctor_nccl_too_old,
	  .judges = "seen.vars.value software.libraries.version",
	  .steps = ANYWHERE("a release of 2.30.7 or later; wheels bring one of their own") },
	{ .id = "several",
	  .title = "programs use different libraries",
	  .rule = several,
	  .judges = "seen.processes.nccl",
	  .steps = ANYWHERE("one image, one NCCL for all ranks") },
};

/* --- hanging ---------------------------------------------------------------------------------- */
/* The names alone: what a value does is said where it is judged. */
static void stale_conf(const struct rule_facts *e, struct judged *out)
{
	const char *file = NULL, *names = NULL;

	LIST_FOR_EACH (struct observed_var, v, &e->signs->vars) {
		if (!strstr(fact_text(&v->origin, ""), "nccl.conf"))
			continue;
		file = file ? file : v->origin.v;
		names = names ? arena_printf(e->a, "%s, %s", names, v->name) : v->name;
	}
	if (file)
		verdict_set(e, out, CAUSE_LIKELY, "%s, which is read without a word, sets %s", file,
			    names);
	else
		verdict_set(e, out, CAUSE_EXCLUDED, "no nccl.conf that can be seen sets anything");
}

static const struct cause hangs[] = {
	{ .id = "conf",
	  .title = "an nccl.conf in the image or on the host",
	  .rule = stale_conf,
	  .judges = "seen.vars.value seen.vars.origin",
	  .steps = ANYWHERE("delete it, or take out what nobody remembers") },
	{ .id = "several",
	  .title = "ranks use different libraries",
	  .rule = several,
	  .judges = "seen.processes.nccl",
	  .steps = ANYWHERE("one image by its digest, one NCCL, equal environments on all ranks") },
};

/* --- a ring of four
 * -------------------------------------------------------------------------------------
 */
static void diagonal(const struct rule_facts *e, struct judged *out)
{
	const struct observed_var *v = var_of(e, "NCCL_ALGO");

	if (!is_spark(e))
		verdict_set(e, out, CAUSE_NOT_HERE, "known of DGX Spark without a switch");
	else if (v && strcasecmp(fact_text(&v->value, ""), "ring") == 0)
		verdict_set(e, out, CAUSE_UNSEEN,
			    "%s; trees are still connected at the start unless the "
			    "library is changed",
			    var_text(e, v));
	else
		verdict_set(e, out, CAUSE_UNSEEN,
			    "how the machines are cabled is not seen from one of "
			    "them");
}

static const struct cause ring[] = {
	{ .id = "diagonal",
	  .title = "machines that are not next to each other have no way",
	  .rule = diagonal,
	  .steps = ANYWHERE("a switch; or a library that does not connect trees. Four machines in "
			    "a ring without a switch are not supported by the vendor") },
};

/* --- between nodes
 * ----------------------------------------------------------------------------------------
 */
static void forced(const struct rule_facts *e, struct judged *out)
{
	verdict_set(e, out, CAUSE_EXCLUDED,
		    "no variable that can be seen forces an algorithm or a path");
	for (size_t i = 0; i < n_known_vars; i++) {
		const struct observed_var *v =
			known_vars[i].flags & VAR_FORCES ? var_of(e, known_vars[i].name) : NULL;

		if (v && *fact_text(&v->value, "")) {
			verdict_set(e, out, CAUSE_LIKELY,
				    "%s: made for finding faults, not to be kept", var_text(e, v));
			return;
		}
	}
}

static void library_or_line(const struct rule_facts *e, struct judged *out)
{
	const struct record_case *c = case_of(e, "rdma", "write:1MiB");
	double v;

	if (!e->m->net.rdma.n) {
		verdict_set(e, out, CAUSE_NOT_HERE, "no RDMA device");
		return;
	}
	if (test_missing(e, TEST_RDMA, out))
		return;
	if (!c->has_limit || !figure_of(c, c->series[0].key, &v))
		verdict_set(e, out, CAUSE_UNSEEN, "measured, but the line's speed is not known");
	else
		verdict_set(e, out, v < 0.8 * c->limit ? CAUSE_LIKELY : CAUSE_EXCLUDED,
			    v < 0.8 * c->limit
				    ? "the line itself carries %.4g of %.4g %s"
				    : "the line itself carries %.4g of %.4g %s: if collectives are "
				      "slow "
				      "all the same, it is the library's steps, not the network",
			    v, c->limit, c->series[0].unit_text);
}

static const struct cause between[] = {
	{ .id = "forced",
	  .title = "variables force an algorithm or a path",
	  .rule = forced,
	  .judges = "seen.vars.value",
	  .steps = ANYWHERE("unset them; Ring alone caps two nodes of eight ports at the sum of "
			    "the ports, which trees exceed") },
	{ .id = "acs",
	  .title = "switches send GPU and NIC traffic through the processor",
	  BY_SETTING("pcie.acs", LIKELY),
	  .fix = "pcie.acs",
	  .steps = ANYWHERE("switch ACS redirection off on bare metal; a virtual machine cannot") },
	{ .id = "gpudirect",
	  .title = "NIC and GPU can meet in host memory only",
	  BY_SETTING("rdma.gpudirect", LIKELY),
	  .steps = ANYWHERE("the open kernel modules (dma-buf), or nvidia-peermem") },
	{ .id = "iommu",
	  .title = "the IOMMU translates",
	  BY_SETTING("pcie.iommu", LIKELY),
	  .fix = "pcie.iommu",
	  .steps = ANYWHERE("iommu=pt") },
	{ .id = "path",
	  .title = "a GPU and its NIC are far from each other",
	  BY_SETTING("pcie.gpu-nic-path", LIKELY),
	  .steps = ANYWHERE("the NIC behind the GPU's own switch") },
	{ .id = "list",
	  .title = "the list of devices names none of this machine, or not all",
	  .rule = wrong_list,
	  .judges = "seen.vars.value",
	  .steps = ANYWHERE("NCCL_IB_HCA with exactly the data ports") },
	{ .id = "line",
	  .title = "the network, not the library",
	  .rule = library_or_line,
	  .steps = ANYWHERE("look at one port after the other with gputune bench rdma") },
};

#define NEEDS_PEER                                                                                 \
	.missing = "needs the other machine: --peer and --token, with \"gputune bench serve\" "    \
		   "there",                                                                        \
	.missing_test = TEST_BIT(TEST_RDMA), .tests = TEST_BIT(TEST_RDMA)

static const struct diagnosis rows[] = {
	{ .id = "nccl.over-sockets",
	  .part = PART_RDMA,
	  .symptom = "NCCL or vLLM between machines runs at 0.4 to 1 GB/s",
	  .words = "slow nccl socket fallback net/socket infiniband container docker",
	  .missing = "which way a running job takes stands in its own log: NCCL_DEBUG=INFO, look "
		     "for NET/IB",
	  CAUSES(sockets) },
	{ .id = "nccl.wrong-version",
	  .part = PART_GPU,
	  .symptom = "NCCL between machines runs at about 3 GB/s",
	  .words = "slow nccl version library ring subnet aware routing bootstrap",
	  CAUSES(versions) },
	{ .id = "nccl.hangs",
	  .part = PART_GPU,
	  .symptom = "all ranks hang without an error, or only in one image",
	  .words = "nccl hang freeze stuck version skew nccl.conf image container deadlock",
	  .missing = "the other ranks: compare image, NCCL and environment on every machine "
		     "(gputune fleet compares the machines)",
	  CAUSES(hangs) },
	{ .id = "nccl.ring-of-four",
	  .ask_only = true,
	  .part = PART_GPU,
	  .symptom = "four machines in a ring: connected all rings, then it dies",
	  .words = "nccl tree connect switchless ring diagonal 4",
	  .missing = "the cables between the machines: needs all of them",
	  CAUSES(ring) },
	{ .id = "nccl.slow-between-nodes",
	  .part = PART_RDMA,
	  .symptom = "collectives between nodes are far slower than the network",
	  .words = "slow nccl all-reduce h100 hgx acs gdr gpudirect iommu 216 250 busbw inter-node",
	  NEEDS_PEER,
	  CAUSES(between) },
};
const struct diagnosis_table diagnoses_nccl = DIAGNOSIS_TABLE(rows);
