/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Idle states, grouped: CPUs whose states have the same names, latencies and disable flags are one
 * row. Names and latencies are read once a kind of core, the flags of every CPU, because they are
 * set one by one.
 */
#include "look/probe/cpu.h"

#include <stdio.h>
#include <string.h>

#include "base/text.h"

enum { STATES_MAX = 16 };

/* The states of the first CPU of a kind of core. */
struct pattern {
	struct list states; /* struct idle_state; disabled is that CPU's */
	const struct core_type *type;
};

static struct list read_states(struct probe *p, unsigned cpu)
{
	struct list states = { 0 };

	for (unsigned i = 0; i < STATES_MAX; i++) {
		const char *dir = arena_printf(
			p->a, "/sys/devices/system/cpu/cpu%u/cpuidle/state%u/", cpu, i);
		struct fact_str name = probe_str(p, dir, "name");
		struct idle_state *s;

		if (name.f.seen == SEEN_ABSENT || name.f.seen == SEEN_UNASKED)
			break;
		s = list_add(p->a, &states, sizeof(*s));
		s->index = i;
		s->name = name;
		s->latency = probe_int(p, dir, "latency");
		s->residency = probe_int(p, dir, "residency");
		s->disabled = probe_int(p, dir, "disable");
	}
	return states;
}

static const struct core_type *type_of(struct probe *p, unsigned cpu)
{
	LIST_FOR_EACH (struct core_type, t, &p->m->cpu.types)
		if (idset_has(&t->cpus.v, cpu))
			return t;
	return NULL;
}

static struct pattern *pattern_of(struct probe *p, struct list *patterns, unsigned cpu, bool *fresh)
{
	const struct core_type *type = type_of(p, cpu);
	struct pattern *pat;

	*fresh = false;
	LIST_FOR_EACH (struct pattern, it, patterns)
		if (it->type == type)
			return it;
	*fresh = true;
	pat = list_add(p->a, patterns, sizeof(*pat));
	pat->type = type;
	pat->states = read_states(p, cpu);
	return pat;
}

/* This CPU's flags as one number (bit per state), -1 when one could not be read. */
static long long flags_of(struct probe *p, const struct pattern *pat, unsigned cpu, bool fresh)
{
	const struct idle_state *s = pat->states.items;
	long long flags = 0;

	for (size_t i = 0; i < pat->states.n; i++) {
		char path[128], buf[32];
		long long v = 0;

		if (fresh) {
			if (!seen_ok(&s[i].disabled.f))
				return -1;
			v = s[i].disabled.v;
		} else {
			snprintf(path, sizeof(path),
				 "/sys/devices/system/cpu/cpu%u/cpuidle/state%u/disable", cpu,
				 s[i].index);
			if (host_read_line(p->h, path, buf, sizeof(buf)) || parse_i64(buf, &v))
				return -1;
		}
		flags |= (long long)(v != 0) << i;
	}
	return flags;
}

/* A group under construction, beside its row. */
struct key {
	const struct core_type *type;
	long long flags;
};

static struct idle_group *group_for(struct probe *p, struct list *keys, const struct pattern *pat,
				    long long flags)
{
	struct idle_group *g = p->m->cpu.idle.items;
	const struct key *k = keys->items;
	struct idle_state *s;

	for (size_t i = 0; i < keys->n; i++)
		if (k[i].flags == flags && k[i].type == pat->type)
			return &g[i];
	*(struct key *)list_add(p->a, keys, sizeof(struct key)) = (struct key){ pat->type, flags };
	g = list_add(p->a, &p->m->cpu.idle, sizeof(*g));
	g->cpus.f = fact_seen("/sys/devices/system/cpu/", "cpu*/cpuidle");
	for (size_t i = 0; i < pat->states.n; i++) {
		s = list_add(p->a, &g->states, sizeof(*s));
		*s = ((const struct idle_state *)pat->states.items)[i];
		if (flags < 0)
			s->disabled.f = fact_unseen(-EIO, s->disabled.f.dir, s->disabled.f.leaf);
		else
			s->disabled = fact_int_of(flags >> i & 1, "/sys/devices/system/cpu/",
						  "cpu*/cpuidle/state*/disable");
	}
	return g;
}

void probe_cpu_idle(struct probe *p)
{
	struct list patterns = { 0 }, keys = { 0 };

	IDSET_FOR_EACH (cpu, &p->m->cpu.online.v) {
		struct pattern *pat;
		struct idle_group *g;
		bool fresh;

		pat = pattern_of(p, &patterns, cpu, &fresh);
		if (!pat->states.n)
			continue;
		g = group_for(p, &keys, pat, flags_of(p, pat, cpu, fresh));
		idset_add(p->a, &g->cpus.v, cpu);
	}
}
