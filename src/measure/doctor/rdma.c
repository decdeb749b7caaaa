/* SPDX-License-Identifier: Apache-2.0 */
/* RDMA between machines: slow without a sign, lossy, wedged, not connecting. */
#include <stdlib.h>
#include <string.h>

#include "measure/doctor/rule.h"

static bool no_rdma(const struct rule_facts *e, struct judged *out)
{
	if (e->m->net.rdma.n)
		return false;
	verdict_set(e, out, CAUSE_NOT_HERE, "no RDMA device");
	return true;
}

/* --- slow without a sign ---------------------------------------------------------------------- */
static void below_line(const struct rule_facts *e, struct judged *out)
{
	const struct record_case *c = case_of(e, "rdma", "write:1MiB");
	double v;

	if (no_rdma(e, out) || test_missing(e, TEST_RDMA, out))
		return;
	if (!c->has_limit || !(c->limit > 0) || !figure_of(c, c->series[0].key, &v)) {
		verdict_set(e, out, CAUSE_UNSEEN, "measured, but the line rate is unknown");
		return;
	}
	verdict_set(e, out, v < 0.6 * c->limit ? CAUSE_LIKELY : CAUSE_EXCLUDED,
		    "RDMA writes of 1 MiB: %.4g of the line rate of %.4g %s", v, c->limit,
		    c->series[0].unit_text);
}

static void wedged(const struct rule_facts *e, struct judged *out)
{
	const struct observations *s = e->signs;

	if (no_rdma(e, out) || verdict_set_unseen(e, out, &s->log_nic_wedged.f, "the kernel log"))
		return;
	if (s->log_nic_wedged.v)
		verdict_set(e, out, CAUSE_CERTAIN,
			    "the NIC's firmware does not answer: %lld lines in the kernel log",
			    s->log_nic_wedged.v);
	else
		verdict_set(e, out, fact_or(&s->log_nic_health, 0) ? CAUSE_LIKELY : CAUSE_EXCLUDED,
			    "the kernel log has %lld lines of NIC health reports",
			    fact_or(&s->log_nic_health, 0));
}

/* Of the adapters themselves: a GPU or a disk behind a bad link slows no network. */
static bool is_adapter(const struct machine *m, const char *pci)
{
	LIST_FOR_EACH (struct rdma_port, r, &m->net.rdma)
		if (r->pci && strcmp(r->pci, pci) == 0)
			return true;
	return false;
}

void doctor_nic_link(const struct rule_facts *e, struct judged *out)
{
	rule_on_functions(e, "pcie.link", is_adapter, "no RDMA device", out);
}

static void doctor_nic_aer(const struct rule_facts *e, struct judged *out)
{
	rule_on_functions(e, "pcie.errors", is_adapter, "no RDMA device reports its PCIe errors",
			  out);
}

/* Reports contradict each other: 3.0 GB/s of RDMA reads on one machine until the argument went, 23
 * with it on others. */
static void translated(const struct rule_facts *e, struct judged *out)
{
	const struct kernel *k = &e->m->kernel;
	const char *value = kernel_arg_value(k, "iommu.passthrough");

	if (!is_spark(e))
		verdict_set(e, out, CAUSE_NOT_HERE, "a known fault of DGX Spark only");
	else if (verdict_set_unseen(e, out, &k->iommu.f, "the IOMMU's mode"))
		return;
	else
		verdict_set(e, out,
			    value && strcmp(value, "0") == 0 && strcmp(k->iommu.v, "identity") != 0
				    ? CAUSE_POSSIBLE
				    : CAUSE_EXCLUDED,
			    "%s%s, IOMMU domains are %s",
			    value ? "iommu.passthrough=" : "iommu.passthrough is not set",
			    value ? value : "", k->iommu.v);
}

/* --- losses ----------------------------------------------------------------------------------- */
struct loss {
	const char *port;
	long long total;
	double per_s;
	bool told, rate;
};

static void doctor_rdma_look(const struct rule_facts *e, const struct observed_port *now,
			     const struct observed_port *then, struct loss *out)
{
	const struct fact_int *const n[] = { &now->retransmits, &now->sequence_errors,
					     &now->timeouts, &now->out_of_sequence },
				     *const t[] = { then ? &then->retransmits : NULL,
						    then ? &then->sequence_errors : NULL,
						    then ? &then->timeouts : NULL,
						    then ? &then->out_of_sequence : NULL };

	*out = (struct loss){ .port = now->name };
	for (size_t i = 0; i < sizeof(n) / sizeof(n[0]); i++) {
		double r;

		out->told = out->told || seen_ok(&n[i]->f);
		out->total += fact_or(n[i], 0);
		if (grows(e, t[i], n[i], &r)) {
			out->rate = true;
			out->per_s += r;
		}
	}
}

static struct loss worst_loss(const struct rule_facts *e)
{
	struct loss out = { 0 };

	LIST_FOR_EACH (struct observed_port, now, &e->signs->ports) {
		const struct observed_port *then = NULL;
		struct loss l;

		if (e->earlier)
			LIST_FOR_EACH (struct observed_port, p, &e->earlier->ports)
				if (strcmp(p->name, now->name) == 0)
					then = p;
		doctor_rdma_look(e, now, then, &l);
		if (!out.port || l.per_s > out.per_s || (!(out.per_s > 0) && l.total > out.total))
			out = l;
	}
	return out;
}

/* Counts that stand still are old news; without traffic nothing can be lost. */
static void lossy(const struct rule_facts *e, struct judged *out)
{
	struct loss l = worst_loss(e);
	bool loaded = !e->not_run[TEST_RDMA];

	if (no_rdma(e, out))
		return;
	if (!l.port || !l.told)
		verdict_set(e, out, CAUSE_UNSEEN, "the ports report no loss counters");
	else if (l.per_s > 0)
		verdict_set(e, out, CAUSE_CERTAIN,
			    "%s lost or repeated %.1f packets/s during the test", l.port, l.per_s);
	else if (!l.total)
		verdict_set(e, out, CAUSE_EXCLUDED, "no lost packets since the driver was loaded");
	else if (l.rate && loaded)
		verdict_set(e, out, CAUSE_EXCLUDED,
			    "%lld lost packets are counted on %s, none of them during the test",
			    l.total, l.port);
	else
		verdict_set(e, out, CAUSE_POSSIBLE,
			    "%lld lost packets are counted on %s since driver load; only load "
			    "shows whether the count grows%s",
			    l.total, l.port, l.rate ? ", and the port was idle" : "");
}

static void doctor_rdma_bad_line(const struct rule_facts *e, struct judged *out)
{
	long long total = 0;
	bool grow = false, told = false;

	if (no_rdma(e, out))
		return;
	LIST_FOR_EACH (struct observed_port, now, &e->signs->ports) {
		told = told || seen_ok(&now->symbol_errors.f);
		total += fact_or(&now->symbol_errors, 0);
		if (e->earlier)
			LIST_FOR_EACH (struct observed_port, p, &e->earlier->ports)
				grow = grow || (strcmp(p->name, now->name) == 0 &&
						fact_or(&now->symbol_errors, 0) >
							fact_or(&p->symbol_errors, 0));
	}
	if (!told)
		verdict_set(e, out, CAUSE_UNSEEN, "the ports report no symbol errors");
	else if (total && !e->earlier)
		verdict_set(e, out, CAUSE_POSSIBLE,
			    "%lld symbol errors, read once: growth was not measured", total);
	else
		verdict_set(e, out, grow ? CAUSE_CERTAIN : CAUSE_EXCLUDED,
			    grow ? "symbol errors grow, now %lld"
				 : "%lld symbol errors, but the count does not grow: old errors "
				   "are not a fault",
			    total);
}

static void pinned(const struct rule_facts *e, struct judged *out)
{
	const struct observed_var *v = var_of(e, "NCCL_IB_GID_INDEX");
	char *end;
	unsigned long index;

	if (no_rdma(e, out))
		return;
	if (!v || !*fact_text(&v->value, "")) {
		verdict_set(e, out, CAUSE_EXCLUDED, "no visible variable pins a GID index");
		return;
	}
	index = strtoul(v->value.v, &end, 10);
	verdict_set(e, out, CAUSE_LIKELY,
		    "%s: the same index can mean another GID after an address change",
		    var_text(e, v));
	LIST_FOR_EACH (struct rdma_port, p, &e->m->net.rdma) {
		bool good = false;

		if (!fact_is(&p->state, "ACTIVE") || !fact_is(&p->link_layer, "Ethernet") || *end)
			continue;
		LIST_FOR_EACH (struct rdma_gid, g, &p->gids)
			good = good || (g->index == index && fact_is(&g->type, "RoCE v2") &&
					strstr(fact_text(&g->gid, ""), ":ffff:"));
		if (!good && p->gids.n)
			verdict_set(e, out, CAUSE_CERTAIN,
				    "%s: on %s that entry is not a RoCE v2 address of IPv4",
				    var_text(e, v), p->name);
	}
}

static void leg(const struct rule_facts *e, struct judged *out)
{
	if (no_rdma(e, out))
		return;
	verdict_set(e, out, CAUSE_UNSEEN,
		    "only both ends together show which ports are connected: run ping -I PORT for "
		    "each cable");
}

static void negotiates(const struct rule_facts *e, struct judged *out)
{
	const struct observed_var *v = var_of(e, "NCCL_IB_ECE_ENABLE");
	bool roce = false;

	LIST_FOR_EACH (struct rdma_port, p, &e->m->net.rdma)
		roce = roce || fact_is(&p->link_layer, "Ethernet");
	if (!roce)
		verdict_set(e, out, CAUSE_NOT_HERE, "no RDMA over Ethernet");
	else if (v && fact_is(&v->value, "0"))
		verdict_set(e, out, CAUSE_EXCLUDED, "%s", var_text(e, v));
	else
		verdict_set(e, out, CAUSE_POSSIBLE,
			    "some firmware handles this badly; no visible setting disables it");
}

#include "measure/doctor_rdma_rows.h"
