/* SPDX-License-Identifier: Apache-2.0 */
/* Block devices, file systems and ZFS. */
#ifndef MODEL_DISK_H
#define MODEL_DISK_H

#include "base/fact.h"
#include "machine/model/rows.h"

struct disk {
	const char *name; /* "nvme0n1" */
	const char *pci;  /* PCI function it hangs from, "" when none */
	struct fact_str model, firmware;
	/* "nvme", "nvme-of", "sata", "sas", "fc", "iscsi", "scsi", "usb-uas", "usb-storage", "usb",
	 * "virtio", "mmc", "virtual" */
	struct fact_str transport;
	/* "disk", "loop", "zram", "dm", "md", "zvol", "ram", "optical", "network", "floppy" */
	struct fact_str role;
	struct fact_str
		content; /* ID_FS_TYPE of the whole device or of a partition, blank-separated */
	struct fact_int size_bytes;
	struct fact_int rotational, removable; /* 0 or 1 */
	struct fact_str scheduler, schedulers; /* chosen; all offered, blank-separated */
	struct fact_int nr_requests, read_ahead_kb, queue_depth;
	struct fact_int max_sectors_kb, hw_sectors_kb;
	struct fact_int discard_max_bytes;
	struct fact_int rq_affinity, nomerges, wbt_lat_us;
	struct fact_str write_cache;
	struct fact_int usb_speed_mbps; /* Mb/s */
	struct fact_int numa_node;
	struct fact_str path_policy; /* of NVMe multipath: "numa", "round-robin", "queue-depth" */
	struct fact_int paths;	     /* controllers that lead to it */
	struct fact_str fabric;	     /* of NVMe over fabrics: "tcp", "rdma", "fc", "loop" */
	struct fact_int live_paths, io_queues; /* queues: of the controller with the fewest */
	struct fact_str loss_timeout;	       /* seconds until requests fail, "off": never */
	struct fact_str holders;	       /* dm and md devices above it, blank-separated */
};

struct mount {
	const char *name; /* mount point */
	const char *bdi;  /* "0:52": the device of a network file system; NULL, "": of others */
	struct fact_str type, device, options;
	struct fact_int size_bytes, free_bytes;
	struct fact_int read_ahead_kb; /* of network file systems; disks have their own */
};

struct zpool {
	const char *name;
	struct fact_str state;	  /* "ONLINE" */
	struct fact_str autotrim; /* "on", "off" */
	struct fact_str members;  /* disks, blank-separated */
};

struct storage {
	struct fact_str zfs_version;
	struct fact_int zfs_arc_size, zfs_arc_c_max, zfs_arc_max; /* bytes */
	struct fact_int lustre_read_ahead_mb, lustre_checksums;	  /* of the first file system */
	struct fact_str nvidia_fs; /* version of the loaded module of GPUDirect Storage */
	struct fact_int cufile_compat, cufile_p2pdma, cufile_poll; /* 0 or 1, /etc/cufile.json */
	struct fact_int cufile_direct_kb, cufile_cache_kb, cufile_buffer_kb, cufile_pinned_kb;
	struct fact_str cufile_addresses; /* rdma_dev_addr_list, blank-separated */
	struct list disks;		  /* struct disk */
	struct list mounts;		  /* struct mount: real file systems and hugetlbfs only */
	struct list pools;		  /* struct zpool */
};

extern const struct shape storage_shape, disk_shape, mount_shape, zpool_shape;

#endif
