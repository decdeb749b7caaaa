/* SPDX-License-Identifier: Apache-2.0 */
/* Collectives between machines: what NCCL is told, which one runs, what stands in its way. */
#include <string.h>

#include "base/text.h"
#include "measure/doctor/rule.h"
#include "knowledge/nccl_vars.h"

static void no_device(const struct rule_facts *e, struct judged *out)
{
	if (!e->m->net.rdma.n) {
		verdict_set(e, out, CAUSE_NOT_HERE, "no RDMA device");
		return;
	}
	if (e->signs->rdma_devices.f.seen == SEEN_ABSENT && fact_or(&e->m->captured, 0))
		verdict_set(e, out, CAUSE_UNSEEN, "the capture does not contain /dev");
	else if (e->signs->rdma_devices.f.seen == SEEN_ABSENT)
		verdict_set(e, out, CAUSE_CERTAIN,
			    "the kernel has RDMA devices, but /dev/infiniband is missing%s",
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
			    "no visible variable or file forces NCCL to use sockets");
}

/* Inside a container devices may have other names than here. */
static void wrong_list(const struct rule_facts *e, struct judged *out)
{
	const struct observed_var *v = var_of(e, "NCCL_IB_HCA");
	enum likelihood none = CAUSE_CERTAIN;
	size_t known, names;

	if (!v || !*fact_text(&v->value, "") || *v->value.v == '^') {
		verdict_set(e, out, CAUSE_EXCLUDED,
			    "every visible device list allows an RDMA device");
		return;
	}
	list_count(e, v->value.v, &names, &known);
	if (str_starts(fact_text(&v->origin, ""), "process"))
		none = CAUSE_POSSIBLE;
	verdict_set(e, out,
		    !known	    ? none
		    : known < names ? CAUSE_LIKELY
				    : CAUSE_EXCLUDED,
		    "%s: %zu of %zu names are devices of the machine%s", var_text(e, v), known,
		    names,
		    !known && none == CAUSE_POSSIBLE ? "; names may differ in a container" : "");
}

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

	verdict_set(e, out, CAUSE_EXCLUDED, "no visible variable requires a newer NCCL");
	LIST_FOR_EACH (struct observed_var, v, &e->signs->vars) {
		if (!nccl_name(v->name, &since, &until) || !since)
			continue;
		newest = v;
		if (nccl_knows(v->name, version) == NCCL_NOT_YET) {
			verdict_set(e, out, CAUSE_CERTAIN, "%s requires NCCL %s; the system has %s",
				    var_text(e, v), since, version);
			return;
		}
	}
	if (!newest)
		return;
	nccl_name(newest->name, &since, &until);
	if (!version)
		verdict_set(e, out, CAUSE_UNSEEN,
			    "%s requires NCCL %s; the installed version is unknown",
			    var_text(e, newest), since);
	else
		verdict_set(e, out, CAUSE_EXCLUDED, "%s requires NCCL %s; the system has %s",
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

static void nccl_defect(const struct rule_facts *e, struct judged *out)
{
	rule_by_defects(e, "nccl", out);
}

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
		verdict_set(e, out, CAUSE_LIKELY,
			    "%s sets %s, and NCCL reads it without a log message", file, names);
	else
		verdict_set(e, out, CAUSE_EXCLUDED, "no visible nccl.conf has settings");
}

static void diagonal(const struct rule_facts *e, struct judged *out)
{
	const struct observed_var *v = var_of(e, "NCCL_ALGO");

	if (!is_spark(e))
		verdict_set(e, out, CAUSE_NOT_HERE, "a fault of DGX Spark without a switch only");
	else if (v && strcasecmp(fact_text(&v->value, ""), "ring") == 0)
		verdict_set(
			e, out, CAUSE_UNSEEN,
			"%s; NCCL connects trees at startup anyway, unless the library is modified",
			var_text(e, v));
	else
		verdict_set(e, out, CAUSE_UNSEEN,
			    "the cabling between machines is not visible from one machine");
}

static void forced(const struct rule_facts *e, struct judged *out)
{
	verdict_set(e, out, CAUSE_EXCLUDED, "no visible variable forces an algorithm or a path");
	for (size_t i = 0; i < n_known_vars; i++) {
		const struct observed_var *v =
			known_vars[i].flags & VAR_FORCES ? var_of(e, known_vars[i].name) : NULL;

		if (v && *fact_text(&v->value, "")) {
			verdict_set(e, out, CAUSE_LIKELY,
				    "%s: for debugging, not for permanent use", var_text(e, v));
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
		verdict_set(e, out, CAUSE_UNSEEN, "measured, but the line rate is unknown");
	else
		verdict_set(e, out, v < 0.8 * c->limit ? CAUSE_LIKELY : CAUSE_EXCLUDED,
			    v < 0.8 * c->limit
				    ? "the network itself carries %.4g of %.4g %s"
				    : "the network itself carries %.4g of %.4g %s: if collectives "
				      "are slow anyway, the cause is the library, not the network",
			    v, c->limit, c->series[0].unit_text);
}

#include "measure/doctor_nccl_rows.h"
