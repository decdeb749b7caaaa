/* SPDX-License-Identifier: Apache-2.0 */
/* Questions about a machine that several rules ask. Pure. */
#ifndef SETTINGS_PREDICATES_H
#define SETTINGS_PREDICATES_H

#include "look/settings/settings.h"

/* What it is, as bits of enum on. */
unsigned platform_bits(const struct machine *m);
/* A virtual machine: its host decides about clocks, idle states and PCIe. */
bool is_virtual(const struct machine *m);
/* o (NULL: false) applies to some platforms only, and the platform is unknown. */
bool recommendation_hidden(const struct machine *m, const struct recommendation *o);
/* Some GPU shares the host's memory (a DGX Spark's does, seen or not), so that page cache and huge
 * pages are taken from CUDA. */
bool has_unified_memory(const struct machine *m);
/* Some RDMA port, or a NIC of a vendor whose user-space drivers poll. */
bool has_rdma(const struct machine *m);
/* Bytes that a program has to be allowed to lock for RDMA: half of memory; -1: not known. */
enum { MEMLOCK_UNLIMITED = -1 };
long long memlock_least(const struct machine *m);
/* Somebody set CPUs aside: isolcpus or a cpuset partition. */
bool has_isolated_cpus(const struct machine *m);
bool service_active(const struct machine *m, const char *unit);
/* More than one NUMA node with CPUs or memory. */
bool is_numa(const struct machine *m);
/* Kernel lockdown is integrity or confidentiality: PCI configuration and kernel memory cannot be
 * written. */
bool is_locked_down(const struct machine *m);
/* The OpenZFS version as major * 100 + minor; 0 when it is not loaded. */
int zfs_release(const struct machine *m);
/* The first of n facts that is neither seen nor absent: nothing may be concluded from it. NULL when
 * there is none. */
const struct fact *first_unread(const struct fact *const *facts, size_t n);
/* The first of n facts that nobody could tell: asked for, and neither seen nor known not to be
 * there. NULL when there is none. */
const struct fact *first_untold(const struct fact *const *facts, size_t n);
/* The function's place in the tree was read, and all bridges above it are known. */
bool is_placed(const struct machine *m, const struct pci_function *f);

/* True for a GPU with its own memory (q's object); otherwise false and *v is NA with the sentence.
 */
bool not_integrated(const struct rule_ctx *q, struct verdict *v, const char *why);

/* The profile has a target value for this row; otherwise false and *v is NA: left alone, or not in
 * the profile. For rules that judge by q->wish. */
bool has_target(const struct rule_ctx *q, struct verdict *v);
/* The fact was seen; otherwise false and *v is what verdict_unseen says. */
bool is_seen(const struct rule_ctx *q, struct verdict *v, const struct fact *f,
	     const char *absent_reason);
/* Whether it is there could not be seen; the verdict says so. */
bool is_hidden(const struct rule_ctx *q, struct verdict *v, const struct fact *f);
/* No virtual machine; else the verdict is not applicable, with why, or unknown. */
bool is_bare_metal(const struct rule_ctx *q, struct verdict *v, const char *why);
/* A physical function of a Mellanox/NVIDIA network adapter. */
bool is_connectx(const struct pci_function *p);
/* p stands below the bridge b in the tree. */
bool is_below(const struct pci_function *p, const struct pci_function *b);
/* The RDMA port of an interface, by its name or its PCI function; NULL when it has none. */
const struct rdma_port *rdma_of(const struct machine *m, const struct nic *n);
/* The other half of the same port: another function of one switch, or, on a DGX Spark, whose halves
 * have a switch each, the function of the same port name. NULL; *unseen, where it is given, is then
 * an interface that did not tell its port or driver. */
const struct nic *port_twin(const struct machine *m, const struct nic *n,
			    const struct fact **unseen);
/* A port for data: one with an RDMA device, or of 25 Gb/s and more, that is not much slower than
 * the machine's fastest, as a management port is. */
bool is_data_port(const struct machine *m, const void *nic);
/* What could only be written to configuration space: the adapter's read requests are smaller than
 * the target (net.c); the bridge's redirect stands between peers (pcie.c). */
bool wants_larger_reads(const struct machine *m, const struct pci_function *p,
			const struct recommendation *wish);
bool wants_no_redirect(const struct machine *m, const struct pci_function *b,
		       const struct recommendation *wish);
/* GPUs that hang from their CPUs by NVLink-C2C (Grace Hopper, Grace Blackwell): no baseboard, and
 * no PCIe switch between them and the NICs. */
bool is_superchip(const struct machine *m);
/*
 * How far a GPU is from the temperature at which it slows down: by the driver's own margin
 * (T.Limit) where it gives one, else by the absolute limit. What no sensor can mean is not known.
 */
struct gpu_heat {
	bool has_now, has_margin, has_limit;
	bool odd_margin;   /* the driver gives a margin that fits no limit of a GPU: not counted */
	bool disagree;	   /* margin and limit: one says close, the other far */
	long long now_c;   /* where has_now */
	long long left_c;  /* where has_margin or has_limit */
	long long limit_c; /* what it slows down at, where has_now and one of the two; else -1 */
};
/* So near to its limit a part is too warm. */
enum { HEAT_CLOSE_C = 5 };
struct gpu_heat gpu_heat(const struct gpu *g);
/* What a sensor can mean: not 0, 255, or below, as it answers where it has nothing to say. */
bool is_temperature(long long c);
/* Per cent of the time that a host takes the CPU away, and that some task waits for CPU or disk:
 * more is felt. */
enum { STOLEN_MOST_PCT = 2, WAITING_MOST_PCT = 20 };
/* Less available memory than that, in KiB, is too little. */
long long memory_least_kb(const struct machine *m);
/* What dropping clean page cache would free: not what programs share, nor what is to be written. */
long long freeable_cache_kb(const struct memory *m);
/* What ZFS's cache may hold where a GPU shares the memory: a quarter of it, in bytes. */
long long arc_most_bytes(const struct machine *m);
/* What may wait to be written: what drains in about two seconds, and can be spared. */
long long dirty_most_bytes(const struct machine *m);
/* The link is up. */
bool is_up(const struct nic *n);

/* Of a port with RoCE; NULL: not known. */
struct roce_side {
	const char *pfc, *trust, *ets;
};
/* In what two ports of one fabric differ ("PFC", "trust", "ETS"); NULL. Both ends and all rails
 * have to be alike. */
const char *roce_differs(const struct roce_side *x, const struct roce_side *y);

/*
 * How much counters grew since an earlier reading of the same machine (machine.earlier). A count by
 * itself is no rate: it may be years old.
 */
/* Seconds between the two readings; 0 when there is no earlier one, or no time of one of them. */
long long growth_seconds(const struct machine *m);
/* By how much the counter grew; -1 when one of the two was not seen, and when it went back. */
long long growth(const struct fact_int *now, const struct fact_int *before);
/* It is smaller than it was: it was reset in between, wrapped, or is wrong. What it has now is
 * judged as if there were no earlier reading. */
bool went_back(const struct fact_int *now, const struct fact_int *before);
/* "in 2 h", "in 40 min", "in 12 s". */
const char *growth_span(struct arena *a, const struct machine *m);

/* The same object in the earlier reading: NULL when there is none, or when another one stands in
 * its place (a GPU with another UUID, a port with another board). */
const struct gpu *earlier_gpu(const struct machine *m, const struct gpu *g);
const struct nvlink *earlier_link(const struct gpu *before, const struct nvlink *l);
const struct rdma_port *earlier_port(const struct machine *m, const struct rdma_port *p);
const struct pci_function *earlier_pci(const struct machine *m, const struct pci_function *p);

#endif
