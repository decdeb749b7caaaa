/* SPDX-License-Identifier: Apache-2.0 */
/*
 * All facts of one machine. Probes fill it (probe/), everything else reads it. Owned by the arena
 * it was built in; strings and lists live as long as that arena.
 */
#ifndef MODEL_MACHINE_H
#define MODEL_MACHINE_H

#include <jansson.h>

#include "base/err.h"
#include "machine/model/config.h"
#include "machine/model/cpu.h"
#include "machine/model/disk.h"
#include "machine/model/gpu.h"
#include "machine/model/memory.h"
#include "machine/model/nic.h"
#include "machine/model/pci.h"
#include "machine/model/system.h"

struct machine {
	struct fact_str nodename;
	struct fact_int euid;
	struct fact_int captured; /* 1: read from a capture */
	struct fact_int time_s;	  /* when it was read, seconds since 1970 */
	struct platform platform;
	struct kernel kernel;
	struct cpus cpu;
	struct memory memory;
	struct gpus gpu;
	struct list pci; /* struct pci_function, in bus order */
	struct network net;
	struct storage storage;
	struct software software;
	struct config config; /* unasked unless something is to be changed */
	/* An earlier reading of the same machine, for what counters grew by; NULL: none. No fact of
	 * this reading. */
	const struct machine *earlier;
};

extern const struct schema schema_machine;

/* --- look-ups: NULL when there is none -------------------------------------------------------- */
struct pci_function *machine_pci(const struct machine *m, const char *address);
struct gpu *machine_gpu(const struct machine *m, size_t i);
struct nic *machine_nic(const struct machine *m, const char *name);
struct disk *machine_disk(const struct machine *m, const char *name);
struct service *machine_service(const struct machine *m, const char *name);
const struct mount *machine_mount_of(const struct machine *m, const char *path);
/* GPUs of NVIDIA's on the PCI bus: those given to virtual machines, or the others. */
size_t machine_bus_gpus(const struct machine *m, bool given_away);
/* Why there is no GPU to ask about, as a sentence; only where gpu.gpus is empty. */
const char *machine_no_gpu(struct arena *a, const struct machine *m);
/* Total core types "big" CPUs, or all online CPUs on a homogeneous machine. */
const struct idset *machine_big_cpus(const struct machine *m);

/* --- JSON ------------------------------------------------------------------------------------- */
/*
 * A fact becomes {"value": V, "from": "..."} when seen, {"seen": "denied", "error": "EACCES",
 * "from": ".."} otherwise; facts that nobody asked for are left out. Reading back gives the same
 * struct, and writing that gives the same text. The caller owns the returned reference.
 */
json_t *schema_to_json(const struct schema *s, const void *object);
int schema_from_json(struct arena *a, const struct schema *s, const json_t *j, void *object,
		     struct err *e);

/* Appends a zeroed item and returns it. */
void *list_add(struct arena *a, struct list *l, size_t size);
/* The same for n items that are known to come, without moving any: list_reserve of an empty list,
 * then list_take for each. */
void list_reserve(struct arena *a, struct list *l, size_t n, size_t size);
void *list_take(struct list *l, size_t size);

#define LIST_FOR_EACH(type, it, list)                                                              \
	for (type *it = (list)->items; it && it < (type *)(list)->items + (list)->n; it++)

#endif
