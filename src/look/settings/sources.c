/* SPDX-License-Identifier: Apache-2.0 */
/* Titles of the five documents whose settings gputune implements, and of those cited most. */
#include "look/settings/sources.h"

#include <string.h>

static const struct {
	const char *key, *title;
} sources[] = {
	{ "S0", "GPU Performance Optimization for DGX Spark (scripts and guide of a ComfyUI "
		"deployment)" },
	{ "S1", "DAQIRI system configuration guide (NVIDIA): IGX Orin and DGX Spark" },
	{ "S2", "Optimizing the NVIDIA DGX Spark (software stack guide)" },
	{ "S3", "DGX Spark networking and multi-node scaling (course chapter)" },
	{ "S4", "H100 multi-node training optimisation report (Nebius cluster)" },
	{ "vm.rst", "Linux kernel, Documentation/admin-guide/sysctl/vm.rst" },
	{ "ip-sysctl.rst", "Linux kernel, Documentation/networking/ip-sysctl.rst" },
	{ "net.rst", "Linux kernel, Documentation/admin-guide/sysctl/net.rst" },
	{ "kernel-parameters", "Linux kernel, Documentation/admin-guide/kernel-parameters.txt" },
	{ "cgroup-v2.rst", "Linux kernel, Documentation/admin-guide/cgroup-v2.rst" },
	{ "cpuidle.rst", "Linux kernel, Documentation/admin-guide/pm/cpuidle.rst" },
	{ "cpufreq.rst", "Linux kernel, Documentation/admin-guide/pm/cpufreq.rst" },
	{ "transhuge.rst", "Linux kernel, Documentation/admin-guide/mm/transhuge.rst" },
	{ "hugetlbpage.rst", "Linux kernel, Documentation/admin-guide/mm/hugetlbpage.rst" },
	{ "queue-sysfs", "Linux kernel, Documentation/ABI/stable/sysfs-block" },
	{ "nvml", "NVIDIA Management Library API reference" },
	{ "spark-known-issues", "NVIDIA DGX Spark user guide, known issues" },
	{ "gpudirect", "NVIDIA GPUDirect RDMA documentation" },
	{ "nccl-troubleshooting", "NVIDIA NCCL user guide, troubleshooting" },
	{ "pcie-base", "PCI Express base specification, as in the kernel's pci_regs.h" },
};

const char *source_title(const char *key)
{
	for (size_t i = 0; i < sizeof(sources) / sizeof(sources[0]); i++)
		if (strcmp(sources[i].key, key) == 0)
			return sources[i].title;
	return NULL;
}
