/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Services as systemd's files and control groups show them, without asking systemd: a unit file is
 * installed, a link in a .wants folder enables it, a control group means that it runs.
 */
#include "look/probe/services.h"

#include <string.h>

#include "base/map.h"
#include "base/text.h"

static const struct {
	const char *name;
	const char *owns; /* what it sets */
} rows[] = {
	{ "tuned.service",
	  "sysctl, CPU governor, transparent huge pages, disk queues, boot arguments" },
	{ "power-profiles-daemon.service", "CPU governor, energy preference, platform profile" },
	{ "irqbalance.service", "interrupt affinity" },
	{ "nvidia-persistenced.service", "GPU persistence mode" },
	{ "cpupower.service", "CPU governor and frequency bounds" },
	{ "tlp.service", "CPU governor, disk and PCIe power" },
	{ "auto-cpufreq.service", "CPU governor and turbo" },
	{ "thermald.service", "CPU frequency under heat" },
	{ "systemd-oomd.service", "which processes are killed when memory runs out" },
	{ "earlyoom.service", "which processes are killed when memory runs out" },
	{ "nvidia-fabricmanager.service", "NVSwitch fabric" },
	{ "nvidia-dcgm.service", "GPU monitoring" },
	{ "NetworkManager.service", "network interfaces, MTU" },
	{ "systemd-networkd.service", "network interfaces, MTU" },
	{ "docker.service", "forwarding rules, bridges" },
	{ "openibd.service", "InfiniBand drivers" },
	{ "opensm.service", "InfiniBand subnet" },
	{ "nvidia-spark-mlnx-firmware-manager.service", "ConnectX-7 of a DGX Spark" },
	{ "rc-local.service", "whatever /etc/rc.local says" },
	/* Left behind by the published scripts. */
	{ "dgx-optimize.service", "GPU clock lock, vboost and idle states by a published script" },
	{ "gpu-max-clocks.service", "GPU clock lock by a published recipe" },
	{ "cpu-performance.service", "CPU governor by a published recipe" },
	{ "nic-mrrs.service", "NIC read request size by a published recipe" },
};
enum { ROWS = sizeof(rows) / sizeof(rows[0]) };

/* Names in a set of folders: one listing a folder instead of one look-up a unit and folder. */
static void add_names(struct probe *p, struct map *set, const char *dir, const char *what)
{
	char **names;
	size_t n;

	if (host_list(p->h, dir, p->a, &names, &n))
		return;
	for (size_t i = 0; i < n; i++)
		if (str_ends(names[i], ".service"))
			*map_at(p->a, set, names[i]) = (void *)what;
}

static void enabled_units(struct probe *p, struct map *set)
{
	static const char etc[] = "/etc/systemd/system";
	char **names;
	size_t n;

	if (host_list(p->h, etc, p->a, &names, &n))
		return;
	for (size_t i = 0; i < n; i++)
		if (str_ends(names[i], ".wants") || str_ends(names[i], ".requires"))
			add_names(p, set, arena_printf(p->a, "%s/%s", etc, names[i]),
				  arena_printf(p->a, "%s/%s", etc, names[i]));
}

static const char *installed_in(struct probe *p, const char *unit)
{
	static const char *const dirs[] = { "/etc/systemd/system/", "/usr/lib/systemd/system/",
					    "/lib/systemd/system/" };

	for (size_t i = 0; i < sizeof(dirs) / sizeof(dirs[0]); i++)
		if (host_exists(p->h, arena_printf(p->a, "%s%s", dirs[i], unit)))
			return dirs[i];
	return NULL;
}

/* It costs a process: worth it where it does not run, which its version often explains. */
static void fabric_manager_version(struct probe *p)
{
	bool switches = false;

	LIST_FOR_EACH (struct pci_function, f, &p->m->pci)
		switches = switches || is_nvswitch(f);
	if (switches && (p->deep || !fact_is(&p->m->gpu.fabric_manager, "active")))
		p->m->gpu.fabric_manager_version =
			probe_ask_str(p, "fabric-manager", "", "version");
}

static void add(struct probe *p, size_t row, const struct map *enabled, const struct map *active)
{
	const char *unit = rows[row].name, *on = map_get(enabled, unit),
		   *runs = map_get(active, unit);
	const char *dir = installed_in(p, unit);
	struct service *s;

	if (!dir && !on && !runs)
		return;
	s = list_add(p->a, &p->m->software.services, sizeof(*s));
	s->name = unit;
	s->installed = fact_int_of(dir != NULL, dir ? dir : "/etc/systemd/system/", unit);
	s->enabled = fact_int_of(on != NULL, "/etc/systemd/system/", "*.wants");
	s->active = fact_int_of(runs != NULL, runs ? runs : "/sys/fs/cgroup/system.slice", "");
	s->owns = fact_str_of(rows[row].owns, "", "gputune");
}

/* Whether it is there; what an administrator's script says is not for captures. */
static struct fact_str rc_local(struct probe *p)
{
	static const char path[] = "/etc/rc.local";
	enum host_kind kind;
	int r = host_kind(p->h, path, &kind);

	return r ? (struct fact_str){ .f = fact_unseen(r, "", path) }
		 : fact_str_of("present", "", path);
}

void probe_services(struct probe *p)
{
	static const char v2[] = "/sys/fs/cgroup/system.slice",
			  v1[] = "/sys/fs/cgroup/systemd/system.slice";
	struct map enabled = { 0 }, active = { 0 };
	const struct service *fm;

	p->m->software.rc_local = rc_local(p);
	enabled_units(p, &enabled);
	add_names(p, &active, v2, v2);
	if (!active.n)
		add_names(p, &active, v1, v1);
	for (size_t i = 0; i < ROWS; i++)
		add(p, i, &enabled, &active);
	fm = machine_service(p->m, "nvidia-fabricmanager.service");
	if (fm)
		p->m->gpu.fabric_manager = fact_str_of(fm->active.v    ? "active"
						       : fm->enabled.v ? "enabled"
								       : "installed",
						       "", "nvidia-fabricmanager.service");
	else
		p->m->gpu.fabric_manager.f =
			fact_unseen(-ENOENT, "", "nvidia-fabricmanager.service");
	fabric_manager_version(p);
}
