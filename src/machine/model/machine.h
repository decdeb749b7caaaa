/* SPDX-License-Identifier: Apache-2.0 */
/*
 * All facts of one machine. Probes fill it (probe/), everything else reads it. Owned by the arena
 * it was built in; strings and lists live as long as that arena.
 */
#ifndef MODEL_MACHINE_H
#define MODEL_MACHINE_H

#include "machine/model/cpu.h"
#include "machine/model/disk.h"
#include "base/fact.h"
#include "machine/model/gpu.h"
#include "machine/model/memory.h"
#include "machine/model/nic.h"
#include "machine/model/pci.h"
#include "machine/model/rows.h"
#include "machine/model/sensor.h"
#include "machine/model/system.h"

/*
 * What configures the machine: the lines of files that set a value at boot or when a device
 * appears, the profile that tuned has chosen, and the connection that the user came in over.
 */

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

/* Two sources of one fact that differ. The stronger is the fact; the other is named wherever the
 * fact is shown or judged. */
struct disagreement {
	const char *name;	      /* the object, as settings name it: "gpu0"; "": the machine */
	const char *fact;	      /* its key: "pci.width" */
	struct fact_str taken, other; /* as text, each with its source */
};

extern const struct shape config_shape;

struct machine {
	struct fact_str nodename;
	struct fact_int euid;
	struct fact_int captured; /* 1: read from a capture */
	const char *reading;	  /* of commands that read it: " --host PATH"; NULL: none */
	const char *options;	  /* of commands that change it; NULL: none */
	bool partial;		  /* of what somebody posted: what it lacks says nothing */
	struct fact_int time_s;	  /* when it was read, seconds since 1970 */
	struct platform platform;
	struct kernel kernel;
	struct cpus cpu;
	struct memory memory;
	struct gpus gpu;
	struct list pci; /* struct pci_function, in bus order */
	struct network net;
	struct storage storage;
	struct sensors sensors;
	struct software software;
	struct list disagreements; /* struct disagreement */
	struct config config;	   /* unasked unless something is to be changed */
	/* An earlier reading of the same machine, for what counters grew by; NULL: none. No fact of
	 * this reading. */
	const struct machine *earlier;
};

extern const struct shape machine_shape;

/* --- look-ups: NULL when there is none -------------------------------------------------------- */
struct pci_function *machine_pci(const struct machine *m, const char *address);
struct gpu *machine_gpu(const struct machine *m, size_t i);
struct gpu *machine_gpu_at(const struct machine *m, const char *address); /* on PCI */
/* What a person types about this machine (NULL: the one that runs): "sudo gputune WORDS", where it
 * needs root; of a captured one with --host, and without sudo where changes go to an overlay. What
 * cannot be done to the capture begins with MACHINE_THERE. */
const char *machine_command(struct arena *a, const struct machine *m, bool root, const char *words,
			    ...) __attribute__((format(printf, 4, 5)));
#define MACHINE_THERE "on that machine: "
/* The same of what needs root, in a sentence: "\"sudo gputune WORDS\" on that machine". */
const char *machine_quoted(struct arena *a, const struct machine *m, const char *words);
/* Advice for this machine; of a demo the first command in quotes has the demo's options. */
const char *machine_sentence(struct arena *a, const struct machine *m, const char *said);
/* What the link of a function could be. twin: the same function of the adapter's other half, whose
 * lanes show what the port above does not; NULL: both ends of the link say so, or the board's kind.
 */
struct link_best {
	long long width, speed_mts; /* 0: not known */
	const struct pci_function *twin;
};
struct link_best machine_link_best(const struct machine *m, const struct pci_function *f);
/* A network adapter on the board of a DGX Spark or IGX: there is nothing to reseat. */
bool machine_soldered(const struct machine *m, const struct pci_function *f);
struct nic *machine_nic(const struct machine *m, const char *name);
/* The CPUs that are near an interface: those of its NUMA node, with wide also those of other nodes
 * of the same socket, without CPUs that are set aside. Empty where that is not known. */
struct idset nic_cpus(struct arena *a, const struct machine *m, const struct nic *n, bool wide);
struct disk *machine_disk(const struct machine *m, const char *name);
struct service *machine_service(const struct machine *m, const char *name);
/* path is dir or lies below it. */
bool path_is_below(const char *path, const char *dir);
const struct mount *machine_mount_of(const struct machine *m, const char *path);
/* This machine manages NVSwitches: they are on its bus, or the functions by which they are reached.
 * GPUs may belong to a fabric all the same: a virtual machine's, or those of a GB200 rack. */
bool machine_has_switches(const struct machine *m);
/* What joins the GPUs beyond their own links, and who manages it. */
enum fabric {
	FABRIC_NONE,
	FABRIC_SWITCHES,  /* NVSwitches on this machine's bus: HGX up to H200 */
	FABRIC_BRIDGED,	  /* switches behind is_switch_management(): HGX B200, B300 */
	FABRIC_RACK,	  /* switches in trays of their own: GB200 NVL72 and its like */
	FABRIC_ELSEWHERE, /* the host of this virtual machine or container has them */
};
enum fabric machine_fabric(const struct machine *m);
/* GPUs of NVIDIA's on the PCI bus: those given to virtual machines, or the others. */
size_t machine_bus_gpus(const struct machine *m, bool given_away);
/* Why there is no GPU to ask about, as a sentence; only where gpu.gpus is empty. */
const char *machine_no_gpu(struct arena *a, const struct machine *m);
/* Total core types "big" CPUs, or all online CPUs on a homogeneous machine. */
const struct idset *machine_big_cpus(const struct machine *m);

/* --- lists ----------------------------------------------------------------------------------- */
/* Appends a zeroed item and returns it. */
void *list_add(struct arena *a, struct list *l, size_t size);
/* The same for n items that are known to come, without moving any: list_reserve of an empty list,
 * then list_take for each. */
void list_reserve(struct arena *a, struct list *l, size_t n, size_t size);
void *list_take(struct list *l, size_t size);

#define LIST_FOR_EACH(type, it, list)                                                              \
	for (type *it = (list)->items; it && it < (type *)(list)->items + (list)->n; it++)

#endif
