/* SPDX-License-Identifier: Apache-2.0 */
/* The topics, in the order in which people read them. */
#include "look/settings/settings.h"

const struct setting_table *const setting_tables[] = {
	&settings_gpu,		&settings_gpu_clock,	&settings_gpu_power,
	&settings_gpu_mode,	&settings_gpu_driver,	&settings_gpu_health,
	&settings_defects,	&settings_gpu_link,	&settings_gpu_errors,
	&settings_thermal,	&settings_cpu_clock,	&settings_cpu,
	&settings_firmware,	&settings_boot,		&settings_boot_isolation,
	&settings_memory,	&settings_memory_state, &settings_memory_writeback,
	&settings_memory_huge,	&settings_scheduler,	&settings_disk,
	&settings_zfs,		&settings_data_path,	&settings_net,
	&settings_nic,		&settings_nic_queue,	&settings_nic_address,
	&settings_nic_function, &settings_rdma,		&settings_roce,
	&settings_steering,	&settings_rdma_memory,	&settings_pcie,
	&settings_pcie_access,	&settings_pcie_rails,	&settings_service,
};
const size_t setting_table_count = sizeof(setting_tables) / sizeof(setting_tables[0]);
