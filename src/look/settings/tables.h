/* SPDX-License-Identifier: Apache-2.0 */
/* One table a topic; each is a file of rows and their small functions. */
#ifndef SETTINGS_TABLES_H
#define SETTINGS_TABLES_H

#include "look/settings/settings.h"

extern const struct setting_table settings_gpu, settings_gpu_health, settings_cpu, settings_boot,
	settings_memory, settings_scheduler, settings_disk, settings_zfs, settings_net,
	settings_nic, settings_rdma, settings_pcie, settings_service, settings_memory_huge,
	settings_gpu_clock, settings_gpu_driver, settings_gpu_link, settings_nic_function,
	settings_nic_address, settings_pcie_access, settings_rdma_memory, settings_cpu_clock,
	settings_memory_writeback, settings_boot_isolation, settings_gpu_power, settings_nic_queue,
	settings_gpu_errors, settings_pcie_rails;

#endif
