/* SPDX-License-Identifier: Apache-2.0 */
/* The tables behind machine/model/system.h: key, title, unit and place of every fact. */
#include "machine/model/system.h"

static const struct field kernel_arg_fields[] = {
	FIELD_ROW(kernel_arg, name, FIELD_NAME, "name", "Name", NULL),
	FIELD_ROW(kernel_arg, value, FIELD_STR, "text", "Value", NULL),
	FIELD_ROW(kernel_arg, position, FIELD_INT, "position", "Position", NULL),
};
const struct schema schema_kernel_arg = SCHEMA(kernel_arg, kernel_arg_fields);

static const struct field kernel_fields[] = {
	FIELD_ROW(kernel, release, FIELD_STR, "release", "Release", NULL),
	FIELD_ROW(kernel, version, FIELD_STR, "version", "Version", NULL),
	FIELD_ROW(kernel, arch, FIELD_STR, "arch", "Arch", NULL),
	FIELD_ROW(kernel, cmdline, FIELD_STR, "cmdline", "Cmdline", NULL),
	FIELD_ROW(kernel, boot_mode, FIELD_STR, "boot_mode", "Boot mode", NULL),
	FIELD_ROW(kernel, secure_boot, FIELD_BOOL, "secure_boot", "Secure boot", NULL),
	FIELD_ROW(kernel, lockdown, FIELD_STR, "lockdown", "Lockdown", NULL),
	FIELD_ROW(kernel, clocksource, FIELD_STR, "clocksource", "Clocksource", NULL),
	FIELD_ROW(kernel, preempt, FIELD_STR, "preempt", "Preempt", NULL),
	FIELD_ROW(kernel, modules, FIELD_INT, "modules", "Modules", NULL),
	FIELD_ROW(kernel, tainted, FIELD_INT, "tainted", "Tainted", NULL),
	FIELD_ROW(kernel, iommu, FIELD_STR, "iommu", "IOMMU", NULL),
	FIELD_SUB(kernel, args, FIELD_LIST, "args", "Args", &schema_kernel_arg),
};
const struct schema schema_kernel = SCHEMA(kernel, kernel_fields);

static const struct field service_fields[] = {
	FIELD_ROW(service, name, FIELD_NAME, "name", "Name", NULL),
	FIELD_ROW(service, installed, FIELD_BOOL, "installed", "Installed", NULL),
	FIELD_ROW(service, enabled, FIELD_BOOL, "enabled", "Enabled", NULL),
	FIELD_ROW(service, active, FIELD_BOOL, "active", "Active", NULL),
	FIELD_ROW(service, owns, FIELD_STR, "owns", "Owns", NULL),
};
const struct schema schema_service = SCHEMA(service, service_fields);

static const struct field library_fields[] = {
	FIELD_ROW(library, name, FIELD_NAME, "name", "Name", NULL),
	FIELD_ROW(library, version, FIELD_STR, "version", "Version", NULL),
	FIELD_ROW(library, path, FIELD_STR, "path", "Path", NULL),
};
const struct schema schema_library = SCHEMA(library, library_fields);

static const struct field software_fields[] = {
	FIELD_ROW(software, os_id, FIELD_STR, "os_id", "OS id", NULL),
	FIELD_ROW(software, os_version, FIELD_STR, "os_version", "OS version", NULL),
	FIELD_ROW(software, os_name, FIELD_STR, "os_name", "OS name", NULL),
	FIELD_ROW(software, dgx_release, FIELD_STR, "dgx_release", "DGX release", NULL),
	FIELD_ROW(software, glibc, FIELD_STR, "glibc", "glibc", NULL),
	FIELD_ROW(software, init, FIELD_STR, "init", "Init", NULL),
	FIELD_ROW(software, cuda_toolkit, FIELD_STR, "cuda_toolkit", "CUDA toolkit", NULL),
	FIELD_ROW(software, nvcc, FIELD_STR, "nvcc", "Nvcc", NULL),
	FIELD_ROW(software, container, FIELD_STR, "container", "Container", NULL),
	FIELD_ROW(software, container_runtime, FIELD_STR, "container_runtime", "Container runtime",
		  NULL),
	FIELD_ROW(software, rc_local, FIELD_STR, "rc_local", "/etc/rc.local", NULL),
	FIELD_SUB(software, services, FIELD_LIST, "services", "Services", &schema_service),
	FIELD_SUB(software, libraries, FIELD_LIST, "libraries", "Libraries", &schema_library),
};
const struct schema schema_software = SCHEMA(software, software_fields);

static const struct field platform_fields[] = {
	FIELD_ROW(platform, kind, FIELD_STR, "kind", "Kind", NULL),
	FIELD_ROW(platform, why, FIELD_STR, "why", "Why", NULL),
	FIELD_ROW(platform, product, FIELD_STR, "product", "Product", NULL),
	FIELD_ROW(platform, vendor, FIELD_STR, "vendor", "Vendor", NULL),
	FIELD_ROW(platform, board, FIELD_STR, "board", "Board", NULL),
	FIELD_ROW(platform, bios_version, FIELD_STR, "bios_version", "BIOS version", NULL),
	FIELD_ROW(platform, bios_date, FIELD_STR, "bios_date", "BIOS date", NULL),
	FIELD_ROW(platform, virtual_, FIELD_BOOL, "virtual", "Virtual", NULL),
};
const struct schema schema_platform = SCHEMA(platform, platform_fields);
