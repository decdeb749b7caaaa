/* SPDX-License-Identifier: Apache-2.0 */
/* The tables behind machine/model/machine.h: key, title, unit and place of every fact. */
#include "machine/model/machine.h"

/* clang-format off */
static const struct shape assignment_shape = SHAPE_OF(assignment, assignment,
	FACT_NAME(assignment, name, "Name"),
	FACT_NAME(assignment, kind, "Kind"),
	FACT_NAME(assignment, file, "File"),
	FACT_NUMBER(assignment, line, "Line"),
	FACT_NUMBER(assignment, rank, "Rank"),
	FACT(assignment, value, "Value", NULL),
	FACT(assignment, when, "When", NULL));

static const struct shape session_shape = SHAPE_OF(session, session,
	FACT(session, address, "Address", NULL),
	FACT(session, links, "Links", NULL));

const struct shape config_shape = SHAPE_OF(config, config,
	FACT(config, tuned_profile, "TuneD profile", NULL),
	FACT(config, boot_menu, "Boot menu", NULL),
	FACT(config, unread, "Files not read", NULL),
	FACT_LIST(config, assignments, "Assignments", assignment),
	FACT_PART(config, session, "Session", session));

static const struct shape disagreement_shape = SHAPE_OF(disagreement, disagreement,
	FACT_NAME(disagreement, name, "On"),
	FACT_NAME(disagreement, fact, "Fact"),
	FACT(disagreement, taken, "Value in use", NULL),
	FACT(disagreement, other, "Other value", NULL));

const struct shape machine_shape = SHAPE_OF(machine, machine,
	FACT(machine, nodename, "Nodename", NULL),
	FACT(machine, euid, "Euid", NULL),
	FACT_FLAG(machine, captured, "Captured"),
	FACT(machine, time_s, "Time", "s"),
	FACT_PART(machine, platform, "Platform", platform),
	FACT_PART(machine, kernel, "Kernel", kernel),
	FACT_PART(machine, cpu, "CPU", cpus),
	FACT_PART(machine, memory, "Memory", memory),
	FACT_PART(machine, gpu, "GPU", gpus),
	FACT_LIST(machine, pci, "PCI", pci_function),
	FACT_PART(machine, net, "Net", network),
	FACT_PART(machine, storage, "Storage", storage),
	FACT_PART(machine, sensors, "Sensors", sensors),
	FACT_PART(machine, software, "Software", software),
	FACT_LIST(machine, disagreements, "Sources that disagree", disagreement),
	FACT_PART(machine, config, "Configuration", config));
/* clang-format on */
