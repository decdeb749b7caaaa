/* SPDX-License-Identifier: Apache-2.0 */
/* Network interfaces and RDMA devices. */
#ifndef MODEL_NIC_H
#define MODEL_NIC_H

#include "base/fact.h"
#include "machine/model/rows.h"

struct nic {
	const char *name; /* "enp1s0f0np0" */
	const char *pci;  /* address of its PCI function, "" for virtual ones */
	struct fact_str driver, firmware, driver_version; /* ethtool */
	struct fact_str mac;
	struct fact_str operstate;  /* "up", "down" */
	struct fact_int carrier;    /* 0 or 1; unsupported while administratively down */
	struct fact_int speed_mbps; /* Mb/s */
	struct fact_str duplex;
	struct fact_int mtu, max_mtu; /* bytes, layer 3 */
	struct fact_str type;	      /* "ethernet", "infiniband", "loopback", "other" */
	struct fact_str port;	      /* phys_port_name, "p0" */
	struct fact_str switch_id;    /* phys_switch_id */
	struct fact_int numa_node;
	struct fact_int rx_ring, rx_ring_max, tx_ring, tx_ring_max; /* descriptors */
	struct fact_int rx_coalesce_us, tx_coalesce_us, adaptive_rx;
	struct fact_int channels, channels_max;		      /* combined */
	struct fact_int rx_dropped, rx_missed, rx_crc_errors; /* counts since boot */
	struct fact_int wireless;			      /* 1: has a phy80211 link */
	struct fact_str owner; /* "netplan", "NetworkManager", "networkd", "ifupdown", "none" */
	struct fact_str ipv4;  /* addresses, blank-separated, with prefix length */
	struct fact_str bond_master;
	/* Asked of ports with RoCE. */
	struct fact_str pfc;   /* priorities that are paused, "3", or "none" */
	struct fact_str trust; /* what packets are sorted by: "dscp", "pcp" (the VLAN tag) */
	struct fact_str dcbx;  /* who negotiates it: "host", "firmware" */
	/* Traffic classes (ETS), blank-separated: "CLASS:PRIORITIES:HOW", "3:3:ets=50". */
	struct fact_str ets;
	struct fact_str module;		   /* "QSFP28, passive copper cable, 1 m"; deep */
	struct fact_str firmware_settings; /* "NAME=VALUE ...", from the next boot on; deep */
	/* Interrupts in use, asked where the CPU that serves them matters: several NUMA nodes, or
	 * CPUs set aside. */
	struct fact_int irqs;
	struct fact_set irq_cpus; /* where they are served */
	/* "NUMBER:CPUS", blank-separated: those that no CPU of nic_cpus() serves, by MSI number. */
	struct fact_str irqs_away;
	/* Deep: receive queues whose packets go on to CPUs of a mask, "rx-0=00000000,000000ff", and
	 * transmit queues: how many there are, and that no CPU prefers. */
	struct fact_str rps;
	struct fact_int tx_queues, tx_queues_free;
};

struct rdma_gid {
	unsigned index;
	struct fact_str gid, type; /* type "IB/RoCE v1", "RoCE v2" */
	struct fact_str netdev;
};

struct rdma_port {
	const char *name;   /* "mlx5_0/1" */
	const char *device; /* "mlx5_0" */
	const char *pci;
	unsigned number;
	struct fact_str state;	    /* "ACTIVE" */
	struct fact_str phys_state; /* "LinkUp" */
	struct fact_str link_layer; /* "Ethernet", "InfiniBand" */
	struct fact_int rate_mbps;  /* Mb/s */
	struct fact_str rate_text;  /* "400 Gb/sec (4X NDR)" */
	struct fact_str firmware, board_id, hca_type, node_type;
	struct fact_str netdev;
	struct fact_int numa_node;
	struct fact_int symbol_errors, link_downed, rcv_errors, out_of_sequence; /* counts */
	/* DCQCN, of ports with RoCE: how congestion notifications are marked, and the priorities
	 * for which sending or heeding them is off. */
	struct fact_int cnp_dscp, cnp_priority;
	struct fact_set ecn_off;
	struct list gids; /* struct rdma_gid */
};

struct network {
	struct fact_str ib_core, ib_umad, mlx5_core, mlx5_ib; /* module state: "loaded" */
	struct fact_str ofed_version;	/* mlx5_core's own version; absent: the kernel's driver */
	struct fact_str peermem;	/* nvidia_peermem: version or "loaded" */
	struct fact_str peermem_client; /* memory_peers/nv_mem version */
	struct fact_str verbs_provider; /* /etc/libibverbs.d/mlx5.driver present */
	struct fact_str spark_hotplug; /* DGX Spark's scripts that remove the NIC without a cable */
	struct fact_str hotplug_marker;	 /* the file by which an owner asks for that */
	struct fact_int hotplug_enabled; /* 0 or 1, as the kernel has it */
	struct fact_int cable_present;	 /* 0 or 1, as the kernel sees the cages */
	struct fact_int cables_plugged;	 /* since boot, by the kernel's log */
	/* A port of the absent NIC that files configure: "enp1s0f0np0 in /etc/netplan/40.yaml". */
	struct fact_str absent_port;
	struct fact_int
		softnet_dropped;     /* packets, sum over CPUs, /proc/net/softnet_stat column 2 */
	struct fact_int bad_subnets; /* pairs of up interfaces that share an IPv4 subnet */
	struct list nics;	     /* struct nic */
	struct list rdma;	     /* struct rdma_port: those that carry data */
	struct list switch_ports;    /* struct rdma_port: those that manage NVSwitches (pci.h) */
};

/* Two physical interfaces that are up and share an IPv4 subnet. */
bool nics_collide(const struct nic *x, const struct nic *y);

extern const struct shape network_shape, nic_shape, rdma_port_shape, rdma_gid_shape;

#endif
