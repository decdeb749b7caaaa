/* SPDX-License-Identifier: Apache-2.0 */
/* The tables behind machine/model/machine.h: key, title, unit and place of every fact. */
#include "machine/model/machine.h"

/* The tables behind machine/model/machine.h: key, title and place of every fact. */

static const struct field assignment_fields[] = {
	FIELD_ROW(assignment, name, FIELD_NAME, "name", "Name", NULL),
	FIELD_ROW(assignment, kind, FIELD_NAME, "kind", "Kind", NULL),
	FIELD_ROW(assignment, file, FIELD_NAME, "file", "File", NULL),
	FIELD_ROW(assignment, line, FIELD_ID, "line", "Line", NULL),
	FIELD_ROW(assignment, rank, FIELD_ID, "rank", "Rank", NULL),
	FIELD_ROW(assignment, value, FIELD_STR, "value", "Value", NULL),
	FIELD_ROW(assignment, when, FIELD_STR, "when", "When", NULL),
};
const struct schema schema_assignment = SCHEMA(assignment, assignment_fields);

static const struct field session_fields[] = {
	FIELD_ROW(session, address, FIELD_STR, "address", "Address", NULL),
	FIELD_ROW(session, links, FIELD_STR, "links", "Links", NULL),
};
const struct schema schema_session = SCHEMA(session, session_fields);

static const struct field config_fields[] = {
	FIELD_ROW(config, tuned_profile, FIELD_STR, "tuned_profile", "Profile of tuned", NULL),
	FIELD_ROW(config, boot_menu, FIELD_STR, "boot_menu", "Boot menu", NULL),
	FIELD_ROW(config, unread, FIELD_STR, "unread", "Files not read", NULL),
	FIELD_SUB(config, assignments, FIELD_LIST, "assignments", "Assignments",
		  &schema_assignment),
	FIELD_SUB(config, session, FIELD_PART, "session", "Session", &schema_session),
};
const struct schema schema_config = SCHEMA(config, config_fields);

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
