/* SPDX-License-Identifier: Apache-2.0 */
/* The tables behind machine/model/system.h: key, title, unit and place of every fact. */
#include "machine/model/system.h"

/* clang-format off */
static const struct shape kernel_arg_shape = SHAPE_OF(kernel_arg, kernel_arg,
	FACT_NAME(kernel_arg, name, "Name"),
	{ "text", NULL, "Value", NULL, SHAPE_FACT(kernel_arg, value) },
	FACT(kernel_arg, position, "Position", NULL));

const struct shape kernel_shape = SHAPE_OF(kernel, kernel,
	FACT(kernel, release, "Release", NULL),
	FACT(kernel, version, "Version", NULL),
	FACT(kernel, arch, "Arch", NULL),
	FACT(kernel, cmdline, "Cmdline", NULL),
	FACT(kernel, boot_mode, "Boot mode", NULL),
	FACT(kernel, boot_menu, "Boot arguments from", NULL),
	FACT_FLAG(kernel, secure_boot, "Secure boot"),
	FACT(kernel, lockdown, "Lockdown", NULL),
	FACT(kernel, clocksource, "Clocksource", NULL),
	FACT(kernel, preempt, "Preempt", NULL),
	FACT(kernel, modules, "Modules", NULL),
	FACT(kernel, tainted, "Tainted", NULL),
	FACT(kernel, iommu, "IOMMU", NULL),
	FACT_LIST(kernel, args, "Args", kernel_arg));

const struct shape service_shape = SHAPE_OF(service, service,
	FACT_NAME(service, name, "Name"),
	FACT_FLAG(service, installed, "Installed"),
	FACT_FLAG(service, enabled, "Enabled"),
	FACT_FLAG(service, active, "Active"),
	FACT(service, owns, "Owns", NULL));

const struct shape library_shape = SHAPE_OF(library, library,
	FACT_NAME(library, name, "Name"),
	FACT(library, version, "Version", NULL),
	FACT(library, path, "Path", NULL));

const struct shape software_shape = SHAPE_OF(software, software,
	FACT(software, os_id, "OS id", NULL),
	FACT(software, os_version, "OS version", NULL),
	FACT(software, os_name, "OS name", NULL),
	FACT(software, dgx_release, "DGX release", NULL),
	FACT(software, glibc, "glibc", NULL),
	FACT(software, init, "Init", NULL),
	FACT(software, cuda_toolkit, "CUDA toolkit", NULL),
	FACT(software, nvcc, "Nvcc", NULL),
	FACT(software, nsys, "Nsight Systems", NULL),
	FACT(software, ncu, "Nsight Compute", NULL),
	FACT(software, perftest, "perftest", NULL),
	FACT(software, mlnx_tools, "nvidia-mlnx-tools", NULL),
	FACT(software, nccl_conf, "/etc/nccl.conf", NULL),
	FACT(software, container, "Container", NULL),
	FACT(software, container_runtime, "Container runtime", NULL),
	FACT(software, rc_local, "/etc/rc.local", NULL),
	FACT_LIST(software, services, "Services", service),
	FACT_LIST(software, libraries, "Libraries", library));

const struct shape platform_shape = SHAPE_OF(platform, platform,
	FACT(platform, kind, "Kind", NULL),
	FACT(platform, why, "Why", NULL),
	FACT(platform, model, "Model", NULL),
	FACT(platform, product, "Product", NULL),
	FACT(platform, family, "Product family", NULL),
	FACT(platform, version, "Product version", NULL),
	FACT(platform, vendor, "Vendor", NULL),
	FACT(platform, board, "Board", NULL),
	FACT(platform, bios_version, "BIOS version", NULL),
	FACT(platform, bios_date, "BIOS date", NULL),
	{ "virtual", NULL, "Virtual", NULL, SHAPE_FACT_FLAG(platform, virtual_) });
/* clang-format on */
