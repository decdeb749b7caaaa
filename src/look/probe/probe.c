/* SPDX-License-Identifier: Apache-2.0 */
/* The order of the subjects. */
#include "look/probe/probe.h"

void probe_machine(struct probe *p)
{
	probe_kernel(p);
	probe_cpu(p);
	probe_power(p);
	probe_memory(p);
	probe_pci(p);
	probe_gpu(p);
	probe_nic(p);
	probe_rdma(p);
	probe_roce(p);
	probe_disk(p);
	probe_fs(p);
	probe_sensors(p);
	probe_software(p);
	probe_platform(p);
	if (p->config)
		probe_config(p);
	if (p->session)
		probe_session(p);
}
