/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Temperatures of thermal zones, NVMe disks and NICs with their trip points, and power supplies.
 * Other chips are left out: some answer over a slow bus. A sensor's question goes to firmware, so
 * that a lean probe of a machine with many GPUs asks none.
 */
#include <errno.h>
#include <string.h>

#include "base/text.h"
#include "look/probe/probe.h"

static const char zones[] = "/sys/class/thermal/", chips[] = "/sys/class/hwmon/",
		  supplies[] = "/sys/class/power_supply/";
enum { TRIPS_MAX = 12, SENSORS_MAX = 256 };

/* The kernel tells thousandths of a degree. */
static struct fact_int degrees(struct fact_int f)
{
	if (seen_ok(&f.f))
		f.v = (f.v + (f.v < 0 ? -500 : 500)) / 1000;
	return f;
}

static bool lean(const struct probe *p)
{
	return p->lean && !p->deep && p->m->gpu.gpus.n > 2;
}

/* The lowest trip point at which something is taken away; fans (active) take nothing. */
static void zone_limit(struct probe *p, const char *dir, struct temperature *t)
{
	t->limit_c.f = t->limit_kind.f = fact_unseen(-EOPNOTSUPP, dir, "trip_point_0_temp");
	for (int i = 0; i < TRIPS_MAX; i++) {
		const char *leaf = arena_printf(p->a, "trip_point_%d_type", i);
		struct fact_str kind = probe_str(p, dir, leaf);
		struct fact_int c;

		if (!seen_ok(&kind.f)) {
			if (i == 0 && kind.f.seen != SEEN_ABSENT)
				t->limit_c.f = t->limit_kind.f = kind.f;
			return;
		}
		if (strcmp(kind.v, "passive") != 0 && strcmp(kind.v, "hot") != 0 &&
		    strcmp(kind.v, "critical") != 0)
			continue;
		c = degrees(probe_int(p, dir, arena_printf(p->a, "trip_point_%d_temp", i)));
		/* 0 and -274 stand for a trip point that is not set. */
		if (!seen_ok(&c.f) || c.v <= 0 || (seen_ok(&t->limit_c.f) && c.v >= t->limit_c.v))
			continue;
		t->limit_c = c;
		t->limit_kind = kind;
	}
}

static void add_zone(struct probe *p, const char *name)
{
	const char *dir = arena_printf(p->a, "%s%s/", zones, name);
	struct temperature *t = list_add(p->a, &p->m->sensors.temperatures, sizeof(*t));

	t->name = name;
	t->kind = "zone";
	t->pci = "";
	t->chip = probe_str(p, dir, "type");
	zone_limit(p, dir, t);
	if (!lean(p))
		t->now_c = degrees(probe_int(p, dir, "temp"));
}

/* "disk", "nic", or NULL for a chip that is left out. */
static const char *chip_kind(struct probe *p, const char *chip, const char *pci)
{
	const struct pci_function *f = *pci ? machine_pci(p->m, pci) : NULL;

	if (strcmp(chip, "nvme") == 0)
		return "disk";
	/* Wireless ones are of class 0x0280, and give no limit. */
	return f && pci_base_class(f) == 0x02 && (fact_or(&f->class_, 0) >> 8 & 0xff) != 0x80
		       ? "nic"
		       : NULL;
}

static void chip_limit(struct probe *p, const char *dir, struct temperature *t)
{
	struct fact_int warn = degrees(probe_int(p, dir, "temp1_max")),
			crit = degrees(probe_int(p, dir, "temp1_crit"));
	bool by_warn = seen_ok(&warn.f) && warn.v > 0 &&
		       (!seen_ok(&crit.f) || crit.v <= 0 || warn.v <= crit.v);

	t->limit_c = by_warn ? warn : crit;
	if (seen_ok(&t->limit_c.f) && t->limit_c.v <= 0)
		t->limit_c.f = fact_unseen(-EOPNOTSUPP, dir, "temp1_crit");
	t->limit_kind =
		(struct fact_str){ .f = t->limit_c.f, .v = by_warn ? "warning" : "critical" };
}

/* The power manager of a GB10. */
static void add_spbm(struct probe *p, const char *dir)
{
	struct sensors *s = &p->m->sensors;
	const char *device = arena_printf(p->a, "%sdevice/", dir);

	s->prochot = probe_int(p, device, "prochot");
	s->power_level = probe_int(p, device, "pl_level");
	s->power_in_uw = probe_int(p, dir, "power7_input");
	s->package_cap_uw = probe_int(p, dir, "power11_cap");
	s->system_cap_uw = probe_int(p, dir, "power13_cap");
}

static void add_chip(struct probe *p, const char *name)
{
	const char *dir = arena_printf(p->a, "%s%s/", chips, name), *pci, *kind;
	struct fact_str chip = probe_str(p, dir, "name");
	struct temperature *t;

	if (!seen_ok(&chip.f))
		return;
	if (strcmp(chip.v, "spbm") == 0)
		add_spbm(p, dir);
	pci = class_device_pci(p, dir);
	kind = chip_kind(p, chip.v, pci);
	if (!kind)
		return;
	t = list_add(p->a, &p->m->sensors.temperatures, sizeof(*t));
	t->name = *pci ? pci : name;
	t->kind = kind;
	t->pci = pci;
	t->chip = chip;
	chip_limit(p, dir, t);
	/* Whose it is decides which limit holds. */
	if (!*pci)
		t->now_c.f = fact_unseen(-EIO, dir, "device");
	else if (!lean(p))
		t->now_c = degrees(probe_int(p, dir, "temp1_input"));
}

static void add_supply(struct probe *p, const char *name)
{
	const char *dir = arena_printf(p->a, "%s%s/", supplies, name);
	struct power_supply *s = list_add(p->a, &p->m->sensors.supplies, sizeof(*s));

	s->name = name;
	s->type = probe_str(p, dir, "type");
	s->usb_type = probe_choice(p, dir, "usb_type", NULL);
	s->online = probe_int(p, dir, "online");
	s->current_max_ua = probe_int(p, dir, "current_max");
	s->voltage_max_uv = probe_int(p, dir, "voltage_max");
}

static void sensor_each(struct probe *p, const char *dir, const char *begins,
			void (*add)(struct probe *, const char *))
{
	char **names;
	size_t n;

	if (host_list(p->h, arena_strndup(p->a, dir, strlen(dir) - 1), p->a, &names, &n))
		return;
	for (size_t i = 0; i < n && i < SENSORS_MAX; i++)
		if (str_starts(names[i], begins))
			add(p, names[i]);
}

void probe_sensors(struct probe *p)
{
	struct sensors *s = &p->m->sensors;

	s->prochot.f = s->power_level.f = s->power_in_uw.f = s->package_cap_uw.f =
		s->system_cap_uw.f = fact_unseen(-ENOENT, chips, "*/name spbm");
	sensor_each(p, zones, "thermal_zone", add_zone);
	sensor_each(p, chips, "hwmon", add_chip);
	sensor_each(p, supplies, "", add_supply);
}
