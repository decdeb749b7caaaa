/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a diagnosis looks at besides the facts: how programs are configured (environment, NCCL's
 * files), counters that only mean something when they grow, counts of lines in the kernel's log.
 * Read through the host interface, so that a captured machine answers what it was asked then.
 */
#ifndef DOCTOR_OBSERVATIONS_H
#define DOCTOR_OBSERVATIONS_H

#include "machine/host/host.h"
#include "machine/model/machine.h"

/* A variable that changes what a communication library does, and who has it. */
struct observed_var {
	const char *name;	/* "NCCL_IB_HCA" */
	struct fact_str value;	/* "" when set to nothing */
	struct fact_str origin; /* "/etc/nccl.conf", "process 4711 (python3)", "this shell" */
};

/* A process that uses a GPU. */
struct observed_process {
	unsigned index; /* process id */
	struct fact_str command;
	struct fact_str nccl;	 /* path of the libnccl.so.2 that it has loaded */
	struct fact_int memlock; /* bytes, soft limit; -1 is unlimited */
	struct fact_set cpus;	 /* that it may run on */
};

/* Counters of an RDMA port since the driver was loaded. */
struct observed_port {
	const char *name; /* "mlx5_0/1" */
	struct fact_int retransmits, sequence_errors, timeouts, rnr_retries, congestion_marks;
	struct fact_int out_of_sequence, symbol_errors, link_downed, receive_errors;
	struct fact_int sent, received; /* 4-byte words */
};

/* Counters of an interface since it is there. */
struct observed_link {
	const char *name;
	struct fact_int receive_errors, crc_errors, missed, dropped;
	struct fact_int arp_ignore, arp_announce, rp_filter;
	struct fact_int wifi_power_save; /* NetworkManager's wifi.powersave: 2 off, 3 on */
};

struct observations {
	struct fact_int ksm_run, ksm_sharing;		 /* pages */
	struct fact_int swapped_in, swapped_out;	 /* pages since boot */
	struct fact_int compaction_stalls, thp_fallback; /* since boot */
	struct fact_int numa_moved;			 /* pages since boot */
	struct fact_int pressure_memory, pressure_cpu;	 /* hundredths of a per cent, 10 s mean */
	struct fact_int load;				 /* hundredths, running tasks, 1 min mean */
	struct fact_int rdma_devices;			 /* uverbs files that programs open */
	struct fact_int ip_forward;
	struct fact_int crash_dumps;   /* files in pstore */
	struct fact_int ssh_folder;    /* 1: ~/.ssh is there */
	struct fact_int avahi;	       /* 1: the discovery daemon runs */
	struct fact_int log_no_memory; /* NVRM: out of memory */
	struct fact_int log_xid;
	struct fact_int log_nic_wedged; /* mlx5: firmware's processor does not answer */
	struct fact_int log_nic_health;
	struct fact_int log_doe; /* PCI DOE mailbox errors */
	struct fact_int log_aer;
	struct fact_int log_oom;       /* the kernel killed a process for memory */
	struct fact_int log_throttled; /* a CPU was too warm */
	struct fact_str module;	       /* version of the loaded nvidia module */
	struct fact_set listens;       /* TCP ports that a program here waits on */
	struct list vars;	       /* struct observed_var */
	struct list processes;	       /* struct observed_process */
	struct list ports;	       /* struct observed_port */
	struct list links;	       /* struct observed_link */
};

extern const struct shape observations_shape, observed_port_shape, observed_link_shape;

/* Never fails; what could not be seen stands in the fact. listens: ports too, slow. */
void observations_read(struct arena *a, struct host *h, const struct machine *m, bool listens,
		       struct observations *out);
/* The part without secrets, for captures: without environments and home folders. */
void observations_read_machine(struct arena *a, struct host *h, const struct machine *m,
			       struct observations *out);

#endif
