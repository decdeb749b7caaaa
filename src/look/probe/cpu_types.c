/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Kinds of core, by what each CPU says of itself: MIDR (arm64), capacity, maximum frequency, or the
 * kernel's lists of a hybrid x86 chip. Never by CPU numbers: a published guide has them wrong for
 * its own machine.
 */
#include "look/probe/cpu.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"

/* Implementer and part number of MIDR_EL1. Source: Arm core technical reference manuals; kernel
 * cputype.h. */
static const struct {
	unsigned implementer, part;
	const char *name;
} parts[] = {
	{ 0x41, 0xd03, "Cortex-A53" },	   { 0x41, 0xd05, "Cortex-A55" },
	{ 0x41, 0xd07, "Cortex-A57" },	   { 0x41, 0xd08, "Cortex-A72" },
	{ 0x41, 0xd0b, "Cortex-A76" },	   { 0x41, 0xd0c, "Neoverse N1" },
	{ 0x41, 0xd40, "Neoverse V1" },	   { 0x41, 0xd41, "Cortex-A78" },
	{ 0x41, 0xd42, "Cortex-A78AE" },   { 0x41, 0xd44, "Cortex-X1" },
	{ 0x41, 0xd47, "Cortex-A710" },	   { 0x41, 0xd48, "Cortex-X2" },
	{ 0x41, 0xd49, "Neoverse N2" },	   { 0x41, 0xd4d, "Cortex-A715" },
	{ 0x41, 0xd4e, "Cortex-X3" },	   { 0x41, 0xd4f, "Neoverse V2" },
	{ 0x41, 0xd80, "Cortex-A520" },	   { 0x41, 0xd81, "Cortex-A720" },
	{ 0x41, 0xd82, "Cortex-X4" },	   { 0x41, 0xd84, "Neoverse V3" },
	{ 0x41, 0xd85, "Cortex-X925" },	   { 0x41, 0xd87, "Cortex-A725" },
	{ 0x41, 0xd8e, "Neoverse N3" },	   { 0x4e, 0x004, "NVIDIA Carmel" },
	{ 0x4e, 0x010, "NVIDIA Olympus" },
};

static const char *part_name(struct probe *p, unsigned implementer, unsigned part)
{
	for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++)
		if (parts[i].implementer == implementer && parts[i].part == part)
			return parts[i].name;
	return arena_printf(p->a, "core 0x%02x:0x%03x", implementer, part);
}

/* What tells one kind of core from another. Two clusters of one part may have different
 * frequencies: they stay one kind, because a program cannot tell them apart by anything but speed
 * bins. */
static struct core_type *type_for(struct probe *p, const char *name)
{
	struct core_type *t;

	LIST_FOR_EACH (struct core_type, it, &p->m->cpu.types)
		if (strcmp(it->name, name) == 0)
			return it;
	t = list_add(p->a, &p->m->cpu.types, sizeof(*t));
	t->name = name;
	return t;
}

/* The policies' maxima by CPU, so that 4,096 CPUs do not search 4,096 policies each. */
static const struct fact_int **max_by_cpu(struct probe *p, unsigned top)
{
	const struct fact_int **by_cpu = arena_array(p->a, top + 1, sizeof(*by_cpu));

	LIST_FOR_EACH (struct freq_policy, f, &p->m->cpu.policies)
		IDSET_FOR_EACH (cpu, &f->cpus.v)
			if (cpu <= top)
				by_cpu[cpu] = &f->hw_max_khz;
	return by_cpu;
}

static void keep_larger(struct fact_int *have, const struct fact_int *f)
{
	if (f && (!seen_ok(&have->f) || (seen_ok(&f->f) && f->v > have->v)))
		*have = *f;
}

static void add_cpu(struct probe *p, unsigned cpu, const struct fact_int *max_khz)
{
	const char *dir = cpu_dir(p, cpu), *name;
	struct fact_str midr = probe_str(p, dir, "regs/identification/midr_el1");
	struct fact_int capacity = probe_int(p, dir, "cpu_capacity");
	unsigned long long v = 0;
	struct core_type *t;
	unsigned part = 0;

	if (seen_ok(&midr.f) && parse_hex(midr.v, &v) == 0) {
		part = (unsigned)(v >> 4) & 0xfff;
		name = part_name(p, (unsigned)(v >> 24) & 0xff, part);
	} else if (seen_ok(&capacity.f)) {
		name = arena_printf(p->a, "core of capacity %lld", capacity.v);
	} else {
		return;
	}
	t = type_for(p, name);
	if (!seen_ok(&t->midr.f)) {
		t->midr = midr;
		t->part = part ? fact_int_of(part, dir, "regs/identification/midr_el1")
			       : (struct fact_int){ .f = midr.f };
	}
	keep_larger(&t->capacity, &capacity);
	keep_larger(&t->max_khz, max_khz);
	idset_add(p->a, &t->cpus.v, cpu);
	t->cpus.f = fact_seen("/sys/devices/system/cpu/",
			      seen_ok(&midr.f) ? "cpu*/regs/identification/midr_el1"
					       : "cpu*/cpu_capacity");
}

static bool x86_hybrid(struct probe *p)
{
	static const struct {
		const char *dir, *name;
	} kinds[] = { { "/sys/devices/cpu_core/", "performance core" },
		      { "/sys/devices/cpu_atom/", "efficiency core" } };

	for (size_t i = 0; i < 2; i++) {
		struct fact_set cpus = probe_set(p, kinds[i].dir, "cpus");
		struct core_type *t;

		if (!seen_ok(&cpus.f))
			return false;
		t = list_add(p->a, &p->m->cpu.types, sizeof(*t));
		t->name = kinds[i].name;
		t->cpus = cpus;
		t->role = fact_str_of(i ? "little" : "big", kinds[i].dir, "cpus");
	}
	return true;
}

/* Speed order: by capacity, where two have none or the same, by maximum frequency. */
static int by_speed(const struct core_type *x, const struct core_type *y)
{
	long long a = fact_or(&x->capacity, 0), b = fact_or(&y->capacity, 0);

	if (a == b) {
		a = fact_or(&x->max_khz, 0);
		b = fact_or(&y->max_khz, 0);
	}
	return (a > b) - (a < b);
}

static void give_roles(struct probe *p)
{
	struct list *types = &p->m->cpu.types;

	LIST_FOR_EACH (struct core_type, t, types) {
		size_t faster = 0, slower = 0;

		LIST_FOR_EACH (struct core_type, other, types) {
			faster += by_speed(other, t) > 0;
			slower += by_speed(other, t) < 0;
		}
		t->role = fact_str_of(!faster && !slower ? "all"
				      : !faster		 ? "big"
				      : !slower		 ? "little"
							 : "mid",
				      "/sys/devices/system/cpu/", "cpu*/cpu_capacity");
	}
}

/* On arm64 /proc/cpuinfo has no model name: the kinds of core are it. */
static void name_model(struct probe *p)
{
	TEXT_AUTO t = { 0 };

	if (seen_ok(&p->m->cpu.model.f) || !p->m->cpu.types.n)
		return;
	LIST_FOR_EACH (struct core_type, it, &p->m->cpu.types)
		text_printf(&t, "%s%zu x %s", t.len ? " + " : "", idset_count(&it->cpus.v),
			    it->name);
	p->m->cpu.model = fact_str_of(arena_strdup(p->a, t.s), "/sys/devices/system/cpu/",
				      "cpu*/regs/identification/midr_el1");
	if (!seen_ok(&p->m->cpu.vendor.f))
		p->m->cpu.vendor = fact_str_of("ARM", "/sys/devices/system/cpu/",
					       "cpu*/regs/identification/midr_el1");
}

void probe_cpu_types(struct probe *p)
{
	const struct idset *online = &p->m->cpu.online.v;
	const struct fact_int **max_khz;

	if (!online->n)
		return;
	if (strcmp(p->h->id.machine, "aarch64") != 0) {
		x86_hybrid(p);
		return;
	}
	max_khz = max_by_cpu(p, online->r[online->n - 1].hi);
	IDSET_FOR_EACH (cpu, online)
		add_cpu(p, cpu, max_khz[cpu]);
	give_roles(p);
	name_model(p);
}
