/* SPDX-License-Identifier: Apache-2.0 */
/* show kernel and show software. */
#include "render/figure.h"
#include "look/show/page.h"
#include "render/pick.h"

static struct cell active(struct doc *d, const struct machine *m, const void *object)
{
	const struct service *s = object;

	(void)d, (void)m;
	if (seen_ok(&s->active.f) && s->active.v)
		return cell_as(STYLE_STRONG, "running");
	return cell_bool(&s->active, "running", "stopped");
}

static struct cell enabled(struct doc *d, const struct machine *m, const void *object)
{
	(void)d, (void)m;
	return cell_bool(&((const struct service *)object)->enabled, "at boot", "no");
}

static const struct pick kernel_picks[] = {
	PICK(kernel, release, "Release"),
	PICK(kernel, version, "Version"),
	PICK(kernel, arch, "Architecture"),
	PICK(kernel, boot_mode, "Boot mode"),
	PICK(kernel, secure_boot, "Secure Boot"),
	PICK(kernel, lockdown, "Lockdown"),
	PICK(kernel, clocksource, "Clock source"),
	PICK(kernel, preempt, "Preemption"),
	PICK(kernel, iommu, "IOMMU"),
	PICK(kernel, modules, "Modules loaded"),
	PICK(kernel, tainted, "Taint bits"),
	{ .title = "Command line",
	  .offset = offsetof(struct kernel, cmdline),
	  .style = STYLE_CODE },
};
static const struct pick platform_picks[] = {
	PICK(platform, kind, "Platform"),
	PICK(platform, why, "Known by"),
	PICK(platform, product, "Product"),
	PICK(platform, vendor, "Vendor"),
	PICK(platform, board, "Board"),
	PICK(platform, bios_version, "Firmware"),
	PICK(platform, bios_date, "Firmware date"),
	PICK(platform, virtual_, "Virtual machine"),
};
static const struct pick software_picks[] = {
	PICK(software, os_name, "Distribution"),
	PICK(software, dgx_release, "DGX release"),
	PICK(software, glibc, "C library"),
	PICK(software, init, "Init"),
	PICK(software, cuda_toolkit, "CUDA toolkit"),
	PICK(software, nvcc, "nvcc"),
	PICK(software, container, "Inside container"),
	PICK(software, container_runtime, "Container runtime"),
};
static const struct pick service_picks[] = {
	PICK(service, name, "Service"),
	PICK_MADE(enabled, "Enabled"),
	PICK_MADE(active, "State"),
	PICK_WRAP(service, owns, "Sets"),
};
static const struct pick library_picks[] = {
	PICK(library, name, "Library"),
	PICK(library, version, "Version"),
	{ .title = "Path",
	  .offset = offsetof(struct library, path),
	  .wrap = true,
	  .style = STYLE_CODE },
};

static const struct picks kernel = PICKS(schema_kernel, kernel_picks);
static const struct picks platform = PICKS(schema_platform, platform_picks);
static const struct picks software = PICKS(schema_software, software_picks);
static const struct picks services = PICKS(schema_service, service_picks);
static const struct picks libraries = PICKS(schema_library, library_picks);

struct doc *page_kernel(struct arena *a, const struct machine *m)
{
	struct doc *d = doc_new(a);

	doc_heading(d, 1, "Kernel");
	show_object(d, m, NULL, &kernel, &m->kernel);
	return d;
}

struct doc *page_software(struct arena *a, const struct machine *m)
{
	struct doc *d = doc_new(a);

	doc_heading(d, 1, "Software");
	show_object(d, m, NULL, &software, &m->software);
	show_object(d, m, "Machine", &platform, &m->platform);
	show_table(d, m, "Services that change settings", &services, &m->software.services);
	show_table(d, m, "Libraries", &libraries, &m->software.libraries);
	return d;
}
