/* SPDX-License-Identifier: Apache-2.0 */
/* A small machine and a plan for it, made by hand: something of everything that a plan can hold. */
#ifndef TESTS_PLAN_BOX_H
#define TESTS_PLAN_BOX_H

#include "fake.h"

#include "tune/plan/plan.h"
#include "look/settings/check.h"

static const char plan_box_facts[] =
	"{'nodename': 'box', 'time_s': 1790000000, 'captured': 1, 'kernel': {'release': '6.8.0'},"
	" 'gpu': {'gpus': [{'index': 0, 'pci': '0000:01:00.0', 'name': 'GPU'},"
	"   {'index': 1, 'pci': '0000:02:00.0', 'name': 'GPU'},"
	"   {'index': 2, 'pci': '0000:03:00.0', 'name': 'GPU'}]},"
	" 'cpu': {'policies': [{'index': 0, 'cpus': '0-3'}, {'index': 4, 'cpus': '4-7'}],"
	"   'idle': [{'cpus': '0-7', 'states': [{'index': 1, 'name': 'C1'}]}]},"
	" 'memory': {'pools': [{'name': '1048576kB', 'node': -1, 'size_kb': 1048576}]},"
	" 'net': {'nics': [{'name': 'eth0', 'pci': '0000:04:00.0', 'operstate': 'up', 'speed_mbps':"
	"   400000}]},"
	" 'storage': {'disks': [{'name': 'nvme0n1', 'role': 'disk', 'size_bytes': 1000},"
	"   {'name': 'nvme1n1', 'role': 'disk', 'size_bytes': 1000}]}}";

static inline struct change *plan_box_add(struct arena *a, struct plan *p, const char *id,
					  const char *target, struct knob k, const char *before,
					  const char *after)
{
	const struct setting *s = setting_find(id);
	struct change *c;

	assert_non_null(s);
	p->changes = arena_grow(a, p->changes, p->n, sizeof(*p->changes));
	c = &p->changes[p->n++];
	*c = (struct change){ .s = s,
			      .target = target,
			      .knob = k,
			      .before = before,
			      .after = after,
			      .why = s->why,
			      .source = s->source,
			      .risk = s->risk,
			      .effect = s->effect };
	return c;
}

/* To the row's own knob. */
static inline struct change *plan_box_own(struct arena *a, const struct machine *m, struct plan *p,
					  const char *id, const char *target, const char *before,
					  const char *after)
{
	const struct setting *s = setting_find(id);
	const void *object;

	assert_non_null(s);
	object = map_get(setting_targets(a, m, s), target);
	if (!object)
		fail_msg("%s has no target %s", id, target);
	return plan_box_add(a, p, id, target, setting_knob(a, s, object), before, after);
}

static inline struct knob plan_box_knob(enum knob_kind kind, const char *name, const char *object)
{
	return (struct knob){ .kind = kind, .name = name, .object = object };
}

static inline void plan_box_advice(struct arena *a, struct plan *p)
{
	struct finding *f = ARENA_NEW(a, struct finding);

	*f = (struct finding){ .s = setting_find("disk.free-space"), .target = "" };
	f->v = (struct verdict){ .kind = VERDICT_FAIL,
				 .current = "1 GiB of 100 GiB free",
				 .wanted = ">= 5 % free",
				 .reason = "checkpoints will fail",
				 .why = f->s->why };
	p->advice = ARENA_NEW(a, struct advice);
	p->advice[p->n_advice++] = (struct advice){ f, "make room" };
}

static inline void plan_box_make(struct arena *a, const struct machine *m, struct plan *p)
{
	static const struct owner owners[] = {
		{ "/etc/sysctl.d/10-site.conf:3", "30", true, false, false },
		{ "/etc/sysctl.d/99-x.conf:1", "60", true, true, false },
		{ "tuned.service", NULL, false, false, true },
	};
	struct change *c;

	*p = (struct plan){ .profile = "default",
			    .nodename = "box",
			    .boot_id = "0b5e6f3c-0000-4000-8000-000000000001",
			    .time_s = 1790000000 };
	c = plan_box_own(a, m, p, "memory.swappiness", "", "60", "10");
	c->owners = owners;
	c->n_owners = 3;
	plan_box_own(a, m, p, "memory.dirty-ratio", "", "vm.dirty_bytes=1073741824", "20");
	plan_box_own(a, m, p, "cpu.governor", "cpu0-3", "powersave", "performance");
	c = plan_box_own(a, m, p, "cpu.governor", "cpu4-7", "powersave", "performance");
	c->owners = &owners[2];
	c->n_owners = 1;
	for (unsigned i = 0; i < 8; i++)
		plan_box_add(a, p, "cpu.idle-states", "cpu0-7",
			     plan_box_knob(KNOB_SYSFS,
					   arena_printf(a,
							"/sys/devices/system/cpu/cpu%u/cpuidle/"
							"state2/disable",
							i),
					   ""),
			     "0", "1");
	plan_box_own(a, m, p, "disk.scheduler", "nvme0n1", "mq-deadline", "none");
	plan_box_own(a, m, p, "disk.scheduler", "nvme1n1", "mq-deadline", "none");
	plan_box_own(a, m, p, "gpu.persistence-mode", "gpu0", "0", "1");
	plan_box_own(a, m, p, "gpu.persistence-mode", "gpu1", "0", "1");
	plan_box_own(a, m, p, "gpu.persistence-mode", "gpu2", "0", "1");
	plan_box_add(a, p, "gpu.sm-clock-lock", "gpu0",
		     plan_box_knob(KNOB_NVML, "gpu-clock-lock", "0000:01:00.0"), NULL, "1980,1980");
	plan_box_add(a, p, "nic.rings", "eth0", plan_box_knob(KNOB_LINK, "rx-ring", "eth0"), "1024",
		     "8192");
	plan_box_add(a, p, "nic.rings", "eth0", plan_box_knob(KNOB_LINK, "tx-ring", "eth0"), "1024",
		     "8192");
	c = plan_box_own(a, m, p, "boot.isolcpus", "", "not set", "4-7");
	c->gate = GATE_ALLOW;
	c->refusal = "isolated CPUs run nothing that is not placed there by hand";
	c = plan_box_own(a, m, p, "nic.mtu", "eth0", "1500", "9000");
	c->gate = GATE_LIMIT;
	c->refusal = "the hardware's largest MTU is 1500 bytes";
	plan_box_advice(a, p);
}

#endif
