/* SPDX-License-Identifier: Apache-2.0 */
/* Frequency policies: one row a clock domain, never one a CPU that shares it. */
#include "look/probe/cpu.h"

#include <stdlib.h>
#include <string.h>

#include "base/text.h"

/* cpufreq separates CPUs with blanks, unlike every other list of the kernel. */
static struct fact_set cpu_list(struct probe *p, const char *dir, const char *leaf)
{
	struct fact_str text = probe_str(p, dir, leaf);
	struct fact_set out = { .f = text.f };
	char *s;

	if (!seen_ok(&text.f))
		return out;
	s = arena_strdup(p->a, text.v);
	s[strcspn(s, "\n")] = '\0';
	for (char *c = s; *c; c++)
		if (*c == ' ')
			*c = ',';
	if (idset_parse(p->a, s, &out.v))
		out.f = fact_unseen(-EPROTO, dir, leaf);
	return out;
}

/* alone: there is a policy for every CPU, so this one is the CPU of its number. */
static void add_policy(struct probe *p, const char *name, bool alone)
{
	const char *dir = arena_printf(p->a, "/sys/devices/system/cpu/cpufreq/%s/", name);
	struct freq_policy *f = list_add(p->a, &p->m->cpu.policies, sizeof(*f));
	const struct freq_policy *first = p->m->cpu.policies.items;

	f->index = (unsigned)atoi(name + strlen("policy"));
	if (alone) {
		f->cpus.f = fact_seen("/sys/devices/system/cpu/cpufreq/", name);
		idset_add(p->a, &f->cpus.v, f->index);
	} else {
		f->cpus = cpu_list(p, dir, "affected_cpus");
		if (!seen_ok(&f->cpus.f))
			f->cpus = cpu_list(p, dir, "related_cpus");
	}
	/* The kernel has one driver for all policies. */
	f->driver = f == first ? probe_str(p, dir, "scaling_driver") : first->driver;
	f->governor = probe_str(p, dir, "scaling_governor");
	/* The governors on offer are the driver's and the kernel's: the same for all policies. */
	f->governors =
		f == first ? probe_str(p, dir, "scaling_available_governors") : first->governors;
	if (!p->lean)
		f->min_khz = probe_int(p, dir, "scaling_min_freq");
	f->max_khz = probe_int(p, dir, "scaling_max_freq");
	if (!p->lean)
		f->hw_min_khz = probe_int(p, dir, "cpuinfo_min_freq");
	f->hw_max_khz = probe_int(p, dir, "cpuinfo_max_freq");
	/* A driver that lacks these on its first policy lacks them on all. */
	f->epp = f == first || seen_ok(&first->epp.f)
			 ? probe_str(p, dir, "energy_performance_preference")
			 : first->epp;
	f->auto_select = f == first || seen_ok(&first->auto_select.f)
				 ? probe_int(p, dir, "auto_select")
				 : first->auto_select;
}

void probe_cpu_freq(struct probe *p)
{
	size_t n, policies = 0;
	char **names;

	if (host_list(p->h, "/sys/devices/system/cpu/cpufreq", p->a, &names, &n))
		return;
	for (size_t i = 0; i < n; i++)
		policies += str_starts(names[i], "policy");
	for (size_t i = 0; i < n; i++)
		if (str_starts(names[i], "policy"))
			add_policy(p, names[i], policies == idset_count(&p->m->cpu.present.v));
}
