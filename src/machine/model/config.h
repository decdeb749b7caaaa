/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What configures the machine: the lines of files that set a value at boot or when a device
 * appears, the profile that tuned has chosen, and the connection that the user came in over.
 */
#ifndef MODEL_CONFIG_H
#define MODEL_CONFIG_H

#include "machine/model/fact.h"
#include "machine/model/schema.h"

/*
 * One line that sets one thing. Kinds and their keys:
 *   sysctl            "vm.swappiness", with '*' where the line has a pattern
 *   sysfs             the path, maybe a shell pattern
 *   udev              "queue/scheduler": the attribute of every device that the rule matches
 *   module-parameter  "zfs.zfs_arc_max"
 *   link              "mtu", "rx-ring": of every interface that the file matches
 *   boot-argument     "isolcpus"
 */
struct assignment {
	const char *name; /* the key */
	const char *kind;
	const char *file;
	unsigned line;
	/* Of the lines that set one thing the highest stands in the end. 0: it has no effect at
	 * boot, because its file is not read then or another line shadows it. */
	unsigned rank;
	struct fact_str value; /* absent: the line says that no pattern shall set the key */
	struct fact_str when;  /* udev and link: the conditions, as udev writes them */
};

/* Unasked unless somebody is about to change the machine. */
struct session {
	struct fact_str address; /* this machine's end of the connection; absent: no connection */
	struct fact_str links;	 /* interfaces that carry it, from bond or VLAN down to the port */
};

struct config {
	struct fact_str tuned_profile; /* "throughput-performance" */
	struct fact_str boot_menu; /* "grub", "grubby", "kernel-install", ...: who makes the boot
				      entries, see machine/host/boot_menu.h */
	struct fact_str unread;	   /* files that could not be read, blank-separated */
	struct list assignments;   /* struct assignment */
	struct session session;
};

extern const struct schema schema_config, schema_assignment, schema_session;

#endif
