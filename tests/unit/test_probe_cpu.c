/* SPDX-License-Identifier: Apache-2.0 */
/* What is seen of processors: core types, clusters, policies and idle groups of machines with known
 * answers. */
#include "box.h"

#include <stdbool.h>

#include "look/probe/probe.h"

struct seen_machine {
	struct arena a;
	struct machine m;
	struct host *h;
};

static void look(struct seen_machine *s, const char *path)
{
	struct err e = { 0 };
	struct probe p = { .a = &s->a, .m = &s->m };

	s->h = host_open_capture(path, &e);
	if (!s->h)
		fail_msg("%s", e.text);
	p.h = s->h;
	probe_kernel(&p);
	probe_cpu(&p);
	probe_memory(&p);
}

static void done(struct seen_machine *s)
{
	host_close(s->h);
	arena_free(&s->a);
}

static void set_is(struct seen_machine *s, const struct fact_set *set, const char *want)
{
	assert_true(seen_ok(&set->f));
	assert_string_equal(idset_format(&s->a, &set->v), want);
}

static const struct core_type *type_of(const struct seen_machine *s, unsigned cpu)
{
	LIST_FOR_EACH (struct core_type, t, &s->m.cpu.types)
		if (idset_has(&t->cpus.v, cpu))
			return t;
	fail_msg("cpu%u has no type", cpu);
	return NULL;
}

static void test_gb10(void **state)
{
	struct seen_machine s = { 0 };
	size_t cpus = 0, big = 0;

	(void)state;
	look(&s, MACHINES "/dgx-spark");
	set_is(&s, &s.m.cpu.online, "0-19");
	assert_string_equal(type_of(&s, 0)->name, "Cortex-A725");
	assert_string_equal(type_of(&s, 14)->name, "Cortex-A725");
	assert_string_equal(type_of(&s, 5)->name, "Cortex-X925");
	assert_string_equal(type_of(&s, 19)->name, "Cortex-X925");
	assert_int_equal(type_of(&s, 5)->part.v, 0xd85);
	assert_int_equal(type_of(&s, 0)->part.v, 0xd87);
	/* Two clusters clock differently, but cores of one kind are one type with one role. */
	LIST_FOR_EACH (struct core_type, t, &s.m.cpu.types) {
		cpus += idset_count(&t->cpus.v);
		if (fact_is(&t->role, "big"))
			big += idset_count(&t->cpus.v);
	}
	assert_int_equal(cpus, 20);
	assert_int_equal(big, 10);
	assert_string_equal(idset_format(&s.a, machine_big_cpus(&s.m)), "5-9,15-19");
	assert_int_equal(s.m.cpu.cores.v, 20);
	assert_int_equal(s.m.cpu.threads.v, 20);
	assert_int_equal(s.m.cpu.policies.n, 20);
	done(&s);
}

/* Every CPU with idle states is in exactly one group, and CPUs of one group are alike. */
static void idle_once(struct seen_machine *s, size_t want)
{
	struct idset all = { 0 };
	size_t sum = 0;

	LIST_FOR_EACH (struct idle_group, g, &s->m.cpu.idle) {
		sum += idset_count(&g->cpus.v);
		IDSET_FOR_EACH (id, &g->cpus.v)
			idset_add(&s->a, &all, id);
	}
	assert_int_equal(sum, want);
	assert_int_equal(idset_count(&all), want);
}

static void test_idle(void **state)
{
	struct seen_machine s = { 0 };
	struct idle_group *g;

	(void)state;
	look(&s, MACHINES "/dgx-spark");
	idle_once(&s, 20);
	g = s.m.cpu.idle.items;
	assert_int_equal(g->states.n, 4);
	assert_string_equal(((struct idle_state *)g->states.items)[3].name.v, "LPI-3");
	done(&s);
}

static void test_256(void **state)
{
	struct seen_machine s = { 0 };
	size_t powersave = 0;
	bool seen[256] = { false };

	(void)state;
	look(&s, MACHINES "/cpu-256");
	set_is(&s, &s.m.cpu.online, "0-255");
	assert_int_equal(s.m.cpu.policies.n, 256);
	LIST_FOR_EACH (struct freq_policy, p, &s.m.cpu.policies) {
		assert_true(p->index < 256);
		assert_false(seen[p->index]);
		seen[p->index] = true;
		assert_int_equal(idset_count(&p->cpus.v), 1);
		assert_true(idset_has(&p->cpus.v, p->index));
		powersave += !fact_is(&p->governor, "performance");
	}
	assert_int_equal(powersave, 1);
	assert_int_equal(s.m.cpu.sockets.v, 2);
	assert_int_equal(s.m.cpu.cores.v, 128);
	assert_int_equal(s.m.cpu.threads_per_core.v, 2);
	/* One kind of core needs no list of kinds. */
	assert_int_equal(s.m.cpu.types.n, 0);
	assert_string_equal(idset_format(&s.a, machine_big_cpus(&s.m)), "0-255");
	assert_true(s.m.cpu.nodes.n >= 2);
	idle_once(&s, 256);
	done(&s);
}

/* Four CPUs: one idle state switched off on one CPU, and a policy that two share. */
static void test_groups(void **state)
{
	struct seen_machine s = { 0 };
	struct box b;
	char name[128], path[512];

	(void)state;
	box_make(&b);
	box_file(&b, "c/meta.json", BOX_META("absent"));
	box_file(&b, "c/root/sys/devices/system/cpu/online", "0-3\n");
	box_file(&b, "c/root/sys/devices/system/cpu/present", "0-3\n");
	box_file(&b, "c/root/sys/devices/system/cpu/possible", "0-7\n");
	for (int cpu = 0; cpu < 4; cpu++)
		for (int i = 0; i < 2; i++) {
			snprintf(name, sizeof(name),
				 "c/root/sys/devices/system/cpu/cpu%d/cpuidle/state%d/name", cpu,
				 i);
			box_file(&b, name, i ? "C6\n" : "POLL\n");
			snprintf(name, sizeof(name),
				 "c/root/sys/devices/system/cpu/cpu%d/cpuidle/state%d/latency", cpu,
				 i);
			box_file(&b, name, i ? "190\n" : "0\n");
			snprintf(name, sizeof(name),
				 "c/root/sys/devices/system/cpu/cpu%d/cpuidle/state%d/residency",
				 cpu, i);
			box_file(&b, name, i ? "600\n" : "0\n");
			snprintf(name, sizeof(name),
				 "c/root/sys/devices/system/cpu/cpu%d/cpuidle/state%d/disable", cpu,
				 i);
			box_file(&b, name, cpu == 2 && i ? "1\n" : "0\n");
		}
	box_file(&b, "c/root/sys/devices/system/cpu/cpufreq/policy0/affected_cpus", "0 1\n");
	box_file(&b, "c/root/sys/devices/system/cpu/cpufreq/policy0/related_cpus", "0 1\n");
	box_file(&b, "c/root/sys/devices/system/cpu/cpufreq/policy0/scaling_governor",
		 "powersave\n");
	look(&s, box_path(&b, "c", path, sizeof(path)));
	assert_int_equal(s.m.cpu.idle.n, 2);
	set_is(&s, &((struct idle_group *)s.m.cpu.idle.items)[0].cpus, "0-1,3");
	set_is(&s, &((struct idle_group *)s.m.cpu.idle.items)[1].cpus, "2");
	assert_int_equal(s.m.cpu.policies.n, 1);
	set_is(&s, &((struct freq_policy *)s.m.cpu.policies.items)->cpus, "0-1");
	set_is(&s, &s.m.cpu.possible, "0-7");
	done(&s);
	box_remove(&b);
}

/* Files with nonsense: errors of one fact each, no crash. */
static void test_nonsense(void **state)
{
	static const char *const texts[] = {
		"",  "\n",   "-", "0-",	  "99999999999999999999", "0-4294967295", "5-1",
		"a", "0,,1", ",", "0-1-2"
	};
	char path[512];

	(void)state;
	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		struct seen_machine s = { 0 };
		struct box b;

		box_make(&b);
		box_file(&b, "c/meta.json", BOX_META("absent"));
		box_file(&b, "c/root/sys/devices/system/cpu/online", texts[i]);
		box_file(&b, "c/root/sys/devices/system/cpu/present", texts[i]);
		box_file(&b, "c/root/sys/devices/system/cpu/cpu0/cpuidle/state0/latency", texts[i]);
		box_file(&b, "c/root/sys/devices/system/cpu/cpu0/regs/identification/midr_el1",
			 texts[i]);
		box_file(&b, "c/root/sys/devices/system/cpu/cpufreq/policy0/affected_cpus",
			 texts[i]);
		box_file(&b,
			 "c/root/sys/devices/system/cpu/cpufreq/policy99999999999/affected_cpus",
			 texts[i]);
		box_file(&b, "c/root/sys/devices/system/node/node0/cpulist", texts[i]);
		box_file(&b, "c/root/proc/cpuinfo", texts[i]);
		box_file(&b, "c/root/proc/meminfo", texts[i]);
		look(&s, box_path(&b, "c", path, sizeof(path)));
		/* An empty list is a list; everything else here is none. */
		if (i > 1)
			assert_false(seen_ok(&s.m.cpu.online.f));
		done(&s);
		box_remove(&b);
	}
}

/* Whoever turns kB into bytes multiplies: what no machine can have was not seen. */
static void test_memory(void **state)
{
	struct seen_machine s = { 0 };
	char path[512];
	struct box b;

	(void)state;
	box_make(&b);
	box_file(&b, "c/meta.json", BOX_META("absent"));
	box_file(&b, "c/root/proc/meminfo",
		 "MemTotal: 9223372036854775807 kB\nMemAvailable: -1 kB\nMemFree: 1048576 kB\n");
	look(&s, box_path(&b, "c", path, sizeof(path)));
	assert_false(seen_ok(&s.m.memory.total_kb.f));
	assert_false(seen_ok(&s.m.memory.available_kb.f));
	assert_true(seen_ok(&s.m.memory.free_kb.f));
	assert_int_equal(s.m.memory.free_kb.v, 1048576);
	done(&s);
	box_remove(&b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_gb10),	 cmocka_unit_test(test_idle),
		cmocka_unit_test(test_256),	 cmocka_unit_test(test_groups),
		cmocka_unit_test(test_nonsense), cmocka_unit_test(test_memory),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
