// SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
/*
 * labcpu: an idle driver with the states C1, C1E and C6 and a frequency driver with three steps,
 * for a virtual machine that has neither. Idle states halt, frequencies are remembered; governors
 * and the switches of the states are the kernel's own.
 */
#include <linux/module.h>
#include <linux/cpu.h>
#include <linux/cpufreq.h>
#include <linux/cpuidle.h>
#include <asm/irqflags.h>

static __cpuidle int state_enter(struct cpuidle_device *dev, struct cpuidle_driver *drv, int index)
{
	raw_safe_halt();
	raw_local_irq_disable();
	return index;
}

/* Latencies and residencies in microseconds, as a server processor of 2023 lists them. */
static struct cpuidle_driver idle_driver = {
	.name = "lab_idle",
	.owner = THIS_MODULE,
	.state_count = 3,
	.states = {
		{ .name = "C1", .desc = "MWAIT 0x00", .exit_latency = 1, .target_residency = 1,
		  .enter = state_enter },
		{ .name = "C1E", .desc = "MWAIT 0x01", .exit_latency = 4, .target_residency = 4,
		  .enter = state_enter },
		{ .name = "C6", .desc = "MWAIT 0x20", .exit_latency = 170, .target_residency = 600,
		  .enter = state_enter },
	},
};

static struct cpufreq_frequency_table steps[] = {
	{ .frequency = 800000 },
	{ .frequency = 2000000 },
	{ .frequency = 3800000 },
	{ .frequency = CPUFREQ_TABLE_END },
};
static unsigned int current_khz[NR_CPUS];

static int freq_init(struct cpufreq_policy *policy)
{
	policy->freq_table = steps;
	policy->cpuinfo.transition_latency = 10000;
	current_khz[policy->cpu] = 3800000;
	return 0;
}

static int freq_exit(struct cpufreq_policy *policy)
{
	return 0;
}

static int freq_target(struct cpufreq_policy *policy, unsigned int index)
{
	current_khz[policy->cpu] = steps[index].frequency;
	return 0;
}

static unsigned int freq_get(unsigned int cpu)
{
	return current_khz[cpu];
}

static struct cpufreq_driver freq_driver = {
	.name = "lab-cpufreq",
	.init = freq_init,
	.exit = freq_exit,
	.verify = cpufreq_generic_frequency_table_verify,
	.target_index = freq_target,
	.get = freq_get,
	.attr = cpufreq_generic_attr,
};

static int __init labcpu_init(void)
{
	int err = cpuidle_register(&idle_driver, NULL);

	if (err)
		return err;
	err = cpufreq_register_driver(&freq_driver);
	if (err)
		cpuidle_unregister(&idle_driver);
	return err;
}

static void __exit labcpu_exit(void)
{
	cpufreq_unregister_driver(&freq_driver);
	cpuidle_unregister(&idle_driver);
}

module_init(labcpu_init);
module_exit(labcpu_exit);
MODULE_DESCRIPTION("idle states and frequency steps for a virtual machine");
MODULE_LICENSE("GPL");
