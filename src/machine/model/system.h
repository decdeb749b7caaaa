/* SPDX-License-Identifier: Apache-2.0 */
/* The kernel, its command line, boot security, services, and installed software. */
#ifndef MODEL_SYSTEM_H
#define MODEL_SYSTEM_H

#include "base/fact.h"
#include "machine/model/rows.h"

struct kernel_arg {
	const char *name;	  /* "isolcpus" */
	struct fact_str value;	  /* "" for a bare word */
	struct fact_int position; /* order on the command line, from 0 */
};

struct kernel {
	struct fact_str release, version, arch;
	struct fact_str cmdline;
	struct fact_str boot_mode;   /* "uefi", "bios", "device-tree" */
	struct fact_str boot_menu;   /* who makes or reads the boot entries, and what shows it */
	struct fact_int secure_boot; /* 0 or 1 */
	struct fact_str lockdown;    /* "none", "integrity", "confidentiality" */
	struct fact_str clocksource;
	struct fact_str
		preempt; /* "none", "voluntary", "full", "rt", "lazy" where it can be seen */
	struct fact_int modules; /* number of loaded modules */
	struct fact_int tainted;
	struct fact_str iommu; /* "off", "identity", "DMA", "DMA-FQ", "mixed" */
	struct list args;      /* struct kernel_arg */
};

struct service {
	const char *name;			    /* "tuned.service" */
	struct fact_int installed, enabled, active; /* 0 or 1 */
	struct fact_str owns;			    /* what it sets, in words */
};

struct library {
	const char *name; /* "libnccl.so.2" */
	struct fact_str version, path;
};

struct software {
	struct fact_str os_id, os_version, os_name; /* os-release */
	struct fact_str dgx_release;		    /* /etc/dgx-release DGX_SWBUILD_VERSION */
	struct fact_str glibc;
	struct fact_str init; /* "systemd", "other" */
	struct fact_str cuda_toolkit, nvcc;
	struct fact_str nsys, ncu;  /* paths of NVIDIA's profilers */
	struct fact_str perftest;   /* path of ib_write_bw */
	struct fact_str mlnx_tools; /* list of files of the package nvidia-mlnx-tools */
	struct fact_str nccl_conf;  /* what /etc/nccl.conf sets: "NAME=VALUE NAME=VALUE" */
	struct fact_str container;  /* name of the container runtime we run in; absent on a host */
	struct fact_str container_runtime; /* NVIDIA container runtime path */
	struct fact_str rc_local;	   /* "present": there is an /etc/rc.local */
	struct list services;		   /* struct service */
	struct list libraries;		   /* struct library */
};

struct platform {
	struct fact_str kind;  /* "dgx-spark", "igx-orin", "hgx", "generic" */
	struct fact_str why;   /* the evidence, in words */
	struct fact_str model; /* what it is sold as, where that is known */
	struct fact_str product, family, version, vendor, board, bios_version,
		bios_date;	  /* DMI or device tree */
	struct fact_int virtual_; /* 1: a virtual machine */
};

extern const struct shape kernel_shape, service_shape, library_shape, software_shape,
	platform_shape;

/* The arguments of a command line, struct kernel_arg, in their order. */
void kernel_args_parse(struct arena *a, const char *line, struct list *args);
/* The last value of a kernel argument, NULL when it is not there; the kernel too lets the last one
 * win. */
const char *kernel_arg_value(const struct kernel *k, const char *name);
/* The comma-separated value that has the word, of any that stand there: what is written twice
 * ("pci=noaer pci=pcie_bus_perf") adds up. NULL when none has it. */
const char *kernel_arg_with(const struct kernel *k, const char *name, const char *word);

#endif
