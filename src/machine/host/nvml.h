/* SPDX-License-Identifier: Apache-2.0 */
/*
 * NVIDIA's management library as far as it is called: its ABI, declared from its public
 * documentation. Layouts, numbers and function names are NVIDIA's (NVML API reference, versions 11
 * to 13); nothing is linked. What may be asked stands in nvml.def; the answers come from nvml.c.
 */
#ifndef HOST_NVML_H
#define HOST_NVML_H

#include <errno.h>
#include <stddef.h>

/* --- results ---------------------------------------------------------------------------------- */

/* Name, NVML's number, and the errno that a probe sees for it. */
#define NVML_RESULTS(X)                                                                            \
	X(SUCCESS, 0, 0)                                                                           \
	X(UNINITIALIZED, 1, EIO)                                                                   \
	X(INVALID_ARGUMENT, 2, EINVAL)                                                             \
	X(NOT_SUPPORTED, 3, EOPNOTSUPP)                                                            \
	X(NO_PERMISSION, 4, EACCES)                                                                \
	X(NOT_FOUND, 6, EINVAL)                                                                    \
	X(INSUFFICIENT_SIZE, 7, EMSGSIZE)                                                          \
	X(INSUFFICIENT_POWER, 8, ENOTCONN)                                                         \
	X(DRIVER_NOT_LOADED, 9, ENXIO)                                                             \
	X(TIMEOUT, 10, ETIME)                                                                      \
	X(IRQ_ISSUE, 11, EIO)                                                                      \
	X(LIBRARY_NOT_FOUND, 12, ELIBACC)                                                          \
	X(FUNCTION_NOT_FOUND, 13, ENOSYS)                                                          \
	X(CORRUPTED_INFOROM, 14, EUCLEAN)                                                          \
	X(GPU_IS_LOST, 15, EHOSTDOWN)                                                              \
	X(RESET_REQUIRED, 16, ENOTRECOVERABLE)                                                     \
	X(OPERATING_SYSTEM, 17, EACCES)                                                            \
	X(LIB_RM_VERSION_MISMATCH, 18, ELIBBAD)                                                    \
	X(IN_USE, 19, EBUSY)                                                                       \
	X(MEMORY, 20, ENOMEM)                                                                      \
	X(NO_DATA, 21, ENODATA)                                                                    \
	X(INSUFFICIENT_RESOURCES, 23, EAGAIN)                                                      \
	X(FREQ_NOT_SUPPORTED, 24, EINVAL)                                                          \
	X(ARGUMENT_VERSION_MISMATCH, 25, ENOSYS)                                                   \
	X(DEPRECATED, 26, EOPNOTSUPP)                                                              \
	X(NOT_READY, 27, EAGAIN)                                                                   \
	X(GPU_NOT_FOUND, 28, ENXIO)                                                                \
	X(INVALID_STATE, 29, EIO)                                                                  \
	X(UNKNOWN, 999, EIO)

#define NVML_RESULT_ENUM(name, number, error) NVML_##name = (number),
enum { NVML_RESULTS(NVML_RESULT_ENUM) };

/* 0 or the negative errno of an NVML result; -EIO for numbers that are not listed. */
int nvml_errno(int result);
/* NVML's name of a result, "GPU_IS_LOST"; NULL: a number that it does not list. */
const char *nvml_name(long long result);
/* What a result means and what a person does, by its errno; NULL: nothing beyond its name. */
struct nvml_trouble {
	int error; /* positive errno */
	const char *is, *mend;
};
const struct nvml_trouble *nvml_trouble(int error);
/* The first result that maps to this errno name or has this name; NVML_UNKNOWN when none does. For
 * stand-ins of the library, which answer what a capture says. */
int nvml_result(const char *name);

/* --- arguments -------------------------------------------------------------------------------- */

/*
 * What may stand in parentheses: a number, a name, or "number,name". Names are NVML's enum
 * constants without their prefix, in NVML's order, so that the index is the value.
 */
struct nvml_args {
	size_t numbers; /* a number below this comes first; 0: none does */
	const char *const *names;
	size_t n; /* 0: no name */
};

/* Several nvml_args pack a name's index into the low byte, and the number above it. */
#define NVML_ARG_NAME(arg) ((arg)&0xff)
#define NVML_ARG_NUMBER(arg) ((arg) >> 8)

extern const struct nvml_args nvml_args_clock, nvml_args_threshold, nvml_args_sensor, nvml_args_ecc,
	nvml_args_mig, nvml_args_link, nvml_args_link_error, nvml_args_p2p;

/* s is what stands between the parentheses. 0 and *arg, or -EINVAL. */
int nvml_args_parse(const struct nvml_args *args, const char *s, size_t len, unsigned *arg);

enum { NVML_GPUS_MAX = 256, NVML_LINKS_MAX = 36, NVML_SLICES_MAX = 16 };

/* --- structures ------------------------------------------------------------------------------- */

struct nvml_device; /* opaque handle */

/* A structure's version word: its size, and its number in the top byte. */
#define NVML_VERSION(size, number) ((unsigned)(size) | (unsigned)(number) << 24)

struct nvml_pci {
	char bus_id_legacy[16];
	unsigned domain, bus, device, pci_device_id, pci_subsystem_id;
	char bus_id[32]; /* "00000000:18:00.0"; older libraries leave it out */
};

/* Also BAR1's: total, free, used. */
struct nvml_memory {
	unsigned long long total, free, used;
};

struct nvml_memory_v2 {
	unsigned version;
	unsigned long long total, reserved, free, used;
};

struct nvml_attributes {
	unsigned multiprocessors, copy_engines, decoders, encoders, jpegs, ofas, gpu_slices,
		compute_slices;
	unsigned long long memory_mib;
};

struct nvml_utilization {
	unsigned gpu, memory; /* percent */
};

struct nvml_versioned_uint {
	unsigned version, value;
};

struct nvml_versioned_int {
	unsigned version;
	int value;
};

struct nvml_temperature {
	unsigned version, sensor;
	int celsius;
};

struct nvml_fabric {
	unsigned char cluster_uuid[16];
	unsigned status, clique;
	unsigned char state;
};

/* Version 3; version 2 ends before health_summary, and has the same size. */
struct nvml_fabric_v {
	unsigned version;
	unsigned char cluster_uuid[16];
	unsigned status, clique;
	unsigned char state;
	unsigned health_mask;
	unsigned char health_summary;
};
enum { NVML_FABRIC_V2_SIZE = offsetof(struct nvml_fabric_v, health_summary) };

/* Bit i of a mask is the profile of that number. */
struct nvml_power_profiles {
	unsigned version, known[8], requested[8], enforced[8];
};

struct nvml_process_v1 {
	unsigned pid;
	unsigned long long memory; /* bytes, ~0: not available */
};

struct nvml_process {
	unsigned pid;
	unsigned long long memory;
	unsigned gpu_instance, compute_instance;
};

enum {
	NVML_VALUE_DOUBLE,
	NVML_VALUE_UINT,
	NVML_VALUE_ULONG,
	NVML_VALUE_ULL,
	NVML_VALUE_LL,
	NVML_VALUE_INT,
	NVML_VALUE_USHORT
};

struct nvml_field {
	unsigned id, scope;
	long long timestamp_us, latency_us;
	unsigned type;
	int result;
	union {
		double d;
		int i;
		unsigned u;
		unsigned long ul;
		unsigned long long ull;
		long long ll;
		unsigned short us;
	} value;
};

/*
 * Fields of nvmlDeviceGetFieldValues: "NAME" of a GPU, "NAME,link" of one NVLink. A group is
 * fetched in one call. Groups are kept apart by cost (hundreds of microseconds for the second, a
 * millisecond a value for the last), and from fields that a GPU may refuse.
 */
enum nvml_field_group {
	NVML_FIELDS_SLOWDOWN,
	NVML_FIELDS_HW_SLOWDOWN,
	NVML_FIELDS_STATE,
	NVML_FIELDS_THERMAL,
	NVML_FIELDS_MODULE,
	NVML_FIELDS_PCIE,
	NVML_FIELDS_LINKS, /* of all links together */
	NVML_FIELDS_LINK,
	NVML_FIELDS_LINK_ERRORS,
	NVML_FIELD_GROUPS
};

struct nvml_field_name {
	const char *name;
	unsigned id;
	enum nvml_field_group group;
	unsigned scope; /* where it is not the link that is asked for */
	/* Its number in R575 and the first releases of R580 (nvml.h of CUDA 12.9 and 13.0), where
	 * that is another one. Before and after them the power smoothing has those numbers. */
	unsigned id_575; /* 0: the same */
};

/* The field whose number tells which numbering a driver has. */
#define NVML_FIELD_RENUMBERED "CLOCKS_EVENT_REASON_SW_THERM_SLOWDOWN"

enum { NVML_FIELD_NAMES = 24 };

extern const struct nvml_field_name nvml_field_names[NVML_FIELD_NAMES];
/* Whether the scope is a link. */
int nvml_field_of_link(const struct nvml_field_name *f);

_Static_assert(sizeof(struct nvml_pci) == 68, "nvmlPciInfo_t");
_Static_assert(sizeof(struct nvml_memory_v2) == 40, "nvmlMemory_v2_t");
_Static_assert(sizeof(struct nvml_attributes) == 40, "nvmlDeviceAttributes_t");
_Static_assert(sizeof(struct nvml_fabric) == 28, "nvmlGpuFabricInfo_t");
_Static_assert(sizeof(struct nvml_fabric_v) == 40, "nvmlGpuFabricInfo_v3_t");
_Static_assert(NVML_FABRIC_V2_SIZE == 36, "nvmlGpuFabricInfo_v2_t");
_Static_assert(sizeof(struct nvml_power_profiles) == 100,
	       "nvmlWorkloadPowerProfileCurrentProfiles_v1_t");
_Static_assert(sizeof(struct nvml_process) == 24, "nvmlProcessInfo_v2_t");
_Static_assert(sizeof(struct nvml_field) == 40, "nvmlFieldValue_t");

/* --- functions -------------------------------------------------------------------------------- */

#define NVML_FN(name, params) int(*name) params;
#define NVML_UINT(name) NVML_FN(name, (struct nvml_device * d, unsigned *out))
#define NVML_UINT_OF(name, args)                                                                   \
	NVML_FN(name, (struct nvml_device * d, unsigned arg, unsigned *out))
#define NVML_TEXT(name) NVML_FN(name, (struct nvml_device * d, char *text, unsigned size))
#define NVML_PAIR(name, a, b)                                                                      \
	NVML_FN(name, (struct nvml_device * d, unsigned *first, unsigned *second))
struct nvml_api {
#include "machine/host/nvml.def"
};

#endif
