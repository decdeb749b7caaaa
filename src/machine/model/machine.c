/* SPDX-License-Identifier: Apache-2.0 */
/* The tables behind machine/model/machine.h: key, title, unit and place of every fact. */
#include "machine/model/machine.h"

static const struct field machine_fields[] = {
	FIELD_ROW(machine, nodename, FIELD_STR, "nodename", "Nodename", NULL),
	FIELD_ROW(machine, euid, FIELD_INT, "euid", "Euid", NULL),
	FIELD_ROW(machine, captured, FIELD_BOOL, "captured", "Captured", NULL),
	FIELD_ROW(machine, time_s, FIELD_INT, "time_s", "Time", "s"),
	FIELD_SUB(machine, platform, FIELD_PART, "platform", "Platform", &schema_platform),
	FIELD_SUB(machine, kernel, FIELD_PART, "kernel", "Kernel", &schema_kernel),
	FIELD_SUB(machine, cpu, FIELD_PART, "cpu", "CPU", &schema_cpus),
	FIELD_SUB(machine, memory, FIELD_PART, "memory", "Memory", &schema_memory),
	FIELD_SUB(machine, gpu, FIELD_PART, "gpu", "GPU", &schema_gpus),
	FIELD_SUB(machine, pci, FIELD_LIST, "pci", "PCI", &schema_pci_function),
	FIELD_SUB(machine, net, FIELD_PART, "net", "Net", &schema_network),
	FIELD_SUB(machine, storage, FIELD_PART, "storage", "Storage", &schema_storage),
	FIELD_SUB(machine, software, FIELD_PART, "software", "Software", &schema_software),
	FIELD_SUB(machine, config, FIELD_PART, "config", "Configuration", &schema_config),
};
const struct schema schema_machine = SCHEMA(machine, machine_fields);
