/* SPDX-License-Identifier: Apache-2.0 */
/* The tables behind machine/model/sensor.h: key, title, unit and place of every fact. */
#include "machine/model/sensor.h"

/* clang-format off */
static const struct shape temperature_shape = SHAPE_OF(temperature, temperature,
	FACT_NAME(temperature, name, "Name"),
	FACT_NAME(temperature, kind, "Kind"),
	FACT_NAME(temperature, pci, "PCI"),
	FACT(temperature, chip, "Chip", NULL),
	FACT(temperature, now_c, "Now", "C"),
	FACT(temperature, limit_c, "Limit", "C"),
	FACT(temperature, limit_kind, "Kind of limit", NULL));

static const struct shape power_supply_shape = SHAPE_OF(power_supply, power_supply,
	FACT_NAME(power_supply, name, "Name"),
	FACT(power_supply, type, "Type", NULL),
	FACT(power_supply, usb_type, "USB type", NULL),
	FACT(power_supply, online, "Online", NULL),
	FACT(power_supply, current_max_ua, "Maximum current", "uA"),
	FACT(power_supply, voltage_max_uv, "Maximum voltage", "uV"));

const struct shape sensors_shape = SHAPE_OF(sensors, sensors,
	FACT_LIST(sensors, temperatures, "Temperatures", temperature),
	FACT_LIST(sensors, supplies, "Power supplies", power_supply),
	FACT(sensors, prochot, "Processors throttled", NULL),
	FACT(sensors, power_level, "Power level", NULL),
	FACT(sensors, power_in_uw, "Power from the adapter", "uW"),
	FACT(sensors, package_cap_uw, "Power cap of the package", "uW"),
	FACT(sensors, system_cap_uw, "Power cap of the system", "uW"));
/* clang-format on */
