/* SPDX-License-Identifier: Apache-2.0 */
/* NVML's names and numbers: results, arguments, field ids. Shared with the stub library of the
 * tests. */
#include "machine/host/nvml.h"

#include <string.h>

#include "base/err.h"

struct result_row {
	const char *name;
	int number, error;
};

#define RESULT_ROW(name, number, error) { #name, number, error },
static const struct result_row results[] = { NVML_RESULTS(RESULT_ROW) };
enum { RESULTS = sizeof(results) / sizeof(results[0]) };

int nvml_errno(int result)
{
	for (size_t i = 0; i < RESULTS; i++)
		if (results[i].number == result)
			return -results[i].error;
	return -EIO;
}

const char *nvml_name(long long result)
{
	for (size_t i = 0; i < RESULTS; i++)
		if (results[i].number == result)
			return results[i].name;
	return NULL;
}

/* Source: NVML API reference, nvmlReturn_t. */
static const struct nvml_trouble troubles[] = {
	{ EACCES, "the driver denies access to this user",
	  "run the command as root, or check the mode of /dev/nvidia* and the container's device "
	  "permissions" },
	{ EPERM, "the driver denies access to this user",
	  "run the command as root, or check the mode of /dev/nvidia* and the container's device "
	  "permissions" },
	{ ENXIO, "the driver's kernel module is not loaded",
	  "modprobe nvidia; if that fails, install the driver for this kernel" },
	{ ELIBACC, "the driver's library libnvidia-ml.so.1 is not installed",
	  "install the library with the kernel module's version" },
	{ ELIBBAD, "the driver's library and its kernel module have different versions",
	  "reboot, or unload all nvidia modules and load them again; in a container the library "
	  "must come from the host" },
	{ EHOSTDOWN, "a GPU has fallen off the bus",
	  "check the kernel log for Xid 79; a reset or a cold start restores it with the driver's "
	  "defaults; check power and seating" },
	{ ENOTRECOVERABLE, "a GPU requires a reset",
	  "stop the GPU's programs and reset the GPU (nvidia-smi --gpu-reset), or reboot" },
	{ ENOTCONN, "a GPU lacks power: not all power cables are connected",
	  "shut down, and connect every power cable of the GPU" },
	{ EUCLEAN, "a GPU's infoROM is corrupted",
	  "contact the board's vendor: it must be serviced" },
	{ ETIME, "the driver did not respond in time",
	  "check the kernel log for Xid and hung tasks, then reboot" },
	{ EAGAIN, "the driver is not ready, or out of resources",
	  "try again in a minute, then check the kernel log" },
	{ ENOMEM, "the driver ran out of memory", "free memory, then try again" },
	{ EBUSY, "a GPU is in use", "stop the programs that use it, then try again" },
	{ EIO, "internal driver error", "check the kernel log for NVRM lines, then reboot" },
};

const struct nvml_trouble *nvml_trouble(int error)
{
	for (size_t i = 0; i < sizeof(troubles) / sizeof(troubles[0]); i++)
		if (troubles[i].error == error)
			return &troubles[i];
	return NULL;
}

int nvml_result(const char *name)
{
	int error = errno_number(name);

	for (size_t i = 0; i < RESULTS; i++)
		if (strcmp(results[i].name, name) == 0 || (error && results[i].error == error))
			return results[i].number;
	return NVML_UNKNOWN;
}

#define ARGS(list) .names = (list), .n = sizeof(list) / sizeof((list)[0])

static const char *const clocks[] = { "GRAPHICS", "SM", "MEM", "VIDEO" };
static const char *const thresholds[] = { "SHUTDOWN",	  "SLOWDOWN",	  "MEM_MAX",
					  "GPU_MAX",	  "ACOUSTIC_MIN", "ACOUSTIC_CURR",
					  "ACOUSTIC_MAX", "GPS_CURR" };
static const char *const sensors[] = { "GPU" };
/* Error type and counter type: index = type * 2 + counter. */
static const char *const ecc[] = { "CORRECTED,VOLATILE", "CORRECTED,AGGREGATE",
				   "UNCORRECTED,VOLATILE", "UNCORRECTED,AGGREGATE" };
static const char *const link_errors[] = { "REPLAY", "RECOVERY", "CRC_FLIT", "CRC_DATA",
					   "ECC_DATA" };
static const char *const p2p[] = { "READ", "WRITE", "NVLINK", "ATOMICS", "PCI" };

const struct nvml_args nvml_args_clock = { ARGS(clocks) };
const struct nvml_args nvml_args_threshold = { ARGS(thresholds) };
const struct nvml_args nvml_args_sensor = { ARGS(sensors) };
const struct nvml_args nvml_args_ecc = { ARGS(ecc) };
const struct nvml_args nvml_args_mig = { .numbers = NVML_SLICES_MAX };
const struct nvml_args nvml_args_link = { .numbers = NVML_LINKS_MAX };
const struct nvml_args nvml_args_link_error = { .numbers = NVML_LINKS_MAX, ARGS(link_errors) };
const struct nvml_args nvml_args_p2p = { .numbers = NVML_GPUS_MAX, ARGS(p2p) };

int nvml_args_parse(const struct nvml_args *args, const char *s, size_t len, unsigned *arg)
{
	const char *end = s + len;
	size_t number = 0, name = 0, digits = 0;

	if (args->numbers) {
		for (; s < end && *s >= '0' && *s <= '9' && digits < 4; s++, digits++)
			number = number * 10 + (size_t)(*s - '0');
		if (!digits || number >= args->numbers)
			return -EINVAL;
		if (args->n && (s == end || *s++ != ','))
			return -EINVAL;
	}
	if (args->n) {
		while (name < args->n && (strlen(args->names[name]) != (size_t)(end - s) ||
					  memcmp(args->names[name], s, (size_t)(end - s)) != 0))
			name++;
		if (name == args->n)
			return -EINVAL;
	} else if (s != end) {
		return -EINVAL;
	}
	*arg = (unsigned)(!args->numbers ? name : !args->n ? number : number << 8 | name);
	return 0;
}

/* As the scope of a field of links: their sum. */
#define ALL_LINKS 0xffffffffu
/* Of fields of power: NVML_POWER_SCOPE_MODULE. */
#define SCOPE_MODULE 1

const struct nvml_field_name nvml_field_names[NVML_FIELD_NAMES] = {
	{ "CLOCKS_EVENT_REASON_SW_POWER_CAP", 74, NVML_FIELDS_SLOWDOWN, 0, 0 },
	{ "CLOCKS_EVENT_REASON_SYNC_BOOST", 76, NVML_FIELDS_SLOWDOWN, 0, 0 },
	{ NVML_FIELD_RENUMBERED, 269, NVML_FIELDS_SLOWDOWN, 0, 251 },
	{ "CLOCKS_EVENT_REASON_HW_THERM_SLOWDOWN", 270, NVML_FIELDS_HW_SLOWDOWN, 0, 252 },
	{ "CLOCKS_EVENT_REASON_HW_POWER_BRAKE_SLOWDOWN", 271, NVML_FIELDS_HW_SLOWDOWN, 0, 253 },
	{ "ECC_CURRENT", 1, NVML_FIELDS_STATE, 0, 0 },
	{ "ECC_PENDING", 2, NVML_FIELDS_STATE, 0, 0 },
	{ "NVLINK_LINK_COUNT", 91, NVML_FIELDS_STATE, 0, 0 },
	{ "C2C_LINK_COUNT", 170, NVML_FIELDS_STATE, 0, 0 },
	{ "GET_GPU_RECOVERY_ACTION", 230, NVML_FIELDS_STATE, 0, 0 },
	{ "NVLINK_SPEED_MBPS_COMMON", 90, NVML_FIELDS_STATE, 0, 0 },
	{ "MEMORY_TEMP", 82, NVML_FIELDS_THERMAL, 0, 0 },
	{ "POWER_CURRENT_LIMIT_MODULE", 190, NVML_FIELDS_MODULE, SCOPE_MODULE, 0 },
	{ "POWER_DEFAULT_LIMIT_MODULE", 189, NVML_FIELDS_MODULE, SCOPE_MODULE, 0 },
	{ "PCIE_COUNT_TX_BYTES", 197, NVML_FIELDS_PCIE, 0, 0 },
	{ "PCIE_COUNT_RX_BYTES", 198, NVML_FIELDS_PCIE, 0, 0 },
	{ "NVLINK_THROUGHPUT_DATA_TX", 138, NVML_FIELDS_LINKS, ALL_LINKS, 0 },
	{ "NVLINK_THROUGHPUT_DATA_RX", 139, NVML_FIELDS_LINKS, ALL_LINKS, 0 },
	{ "NVLINK_GET_SPEED", 164, NVML_FIELDS_LINK, 0, 0 },
	{ "NVLINK_ERROR_DL_REPLAY", 161, NVML_FIELDS_LINK_ERRORS, 0, 0 },
	{ "NVLINK_ERROR_DL_RECOVERY", 162, NVML_FIELDS_LINK_ERRORS, 0, 0 },
	{ "NVLINK_ERROR_DL_CRC", 163, NVML_FIELDS_LINK_ERRORS, 0, 0 },
	{ "NVLINK_COUNT_LINK_RECOVERY_EVENTS", 215, NVML_FIELDS_LINK_ERRORS, 0, 0 },
	{ "NVLINK_COUNT_EFFECTIVE_ERRORS", 219, NVML_FIELDS_LINK_ERRORS, 0, 0 },
};

int nvml_field_of_link(const struct nvml_field_name *f)
{
	return f->group >= NVML_FIELDS_LINK;
}
