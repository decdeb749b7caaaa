/* SPDX-License-Identifier: Apache-2.0 */
/* Temperatures of what is no GPU, and where the machine gets its power from. */
#ifndef MODEL_SENSOR_H
#define MODEL_SENSOR_H

#include "base/fact.h"
#include "machine/model/rows.h"

/* A thermal zone of the kernel, or the first sensor of a chip below /sys/class/hwmon. */
struct temperature {
	const char *name;     /* "thermal_zone0", "hwmon3" */
	const char *kind;     /* "zone", "disk", "nic" */
	const char *pci;      /* address of the PCI function it is in, "" when none */
	struct fact_str chip; /* "acpitz", "nvme", "mlx5" */
	struct fact_int now_c;
	/* The lowest point at which something is slowed down or switched off: of a zone its
	 * passive, hot and critical trip points, of a chip what it warns of, else critical. */
	struct fact_int limit_c;
	struct fact_str limit_kind; /* "passive", "hot", "critical" */
};

/* What /sys/class/power_supply knows: adapters, USB-C ports, batteries. */
struct power_supply {
	const char *name;
	struct fact_str type;	  /* "Mains", "USB", "Battery" */
	struct fact_str usb_type; /* the chosen word: "PD" */
	struct fact_int online;	  /* 0: nothing comes from it */
	/* What it agreed to give at most. */
	struct fact_int current_max_ua, voltage_max_uv;
};

struct sensors {
	struct list temperatures; /* struct temperature */
	struct list supplies;	  /* struct power_supply */
	/* A GB10's power manager, where the driver spbm shows it (github.com/antheas/spark_hwmon,
	 * 2026-03): whether it holds the processors down, its level, and what it lets them draw. */
	struct fact_int prochot, power_level;
	struct fact_int power_in_uw, package_cap_uw, system_cap_uw;
};

extern const struct shape sensors_shape;

#endif
