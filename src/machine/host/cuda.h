/* SPDX-License-Identifier: Apache-2.0 */
/* The CUDA driver library as far as it is called, declared from its public API reference. */
#ifndef HOST_CUDA_H
#define HOST_CUDA_H

/* CUDA's number and the errno that a probe sees for it. */
#define CUDA_RESULTS(X)                                                                            \
	X(SUCCESS, 0, 0)                                                                           \
	X(INVALID_VALUE, 1, EINVAL)                                                                \
	X(OUT_OF_MEMORY, 2, ENOMEM)                                                                \
	X(STUB_LIBRARY, 34, ELIBACC)                                                               \
	X(DEVICE_UNAVAILABLE, 46, EBUSY)                                                           \
	X(NO_DEVICE, 100, ENXIO)                                                                   \
	X(INVALID_DEVICE, 101, ENXIO)                                                              \
	X(OPERATING_SYSTEM, 304, EACCES)                                                           \
	X(NOT_FOUND, 500, ENOSYS)                                                                  \
	X(NOT_PERMITTED, 800, EACCES)                                                              \
	X(NOT_SUPPORTED, 801, EOPNOTSUPP)                                                          \
	X(SYSTEM_NOT_READY, 802, EAGAIN)                                                           \
	X(SYSTEM_DRIVER_MISMATCH, 803, ELIBBAD)                                                    \
	X(COMPAT_NOT_SUPPORTED_ON_DEVICE, 804, ELIBBAD)                                            \
	X(UNKNOWN, 999, EIO)

#define CUDA_RESULT_ENUM(name, number, error) CUDA_##name = (number),
enum { CUDA_RESULTS(CUDA_RESULT_ENUM) };

struct cuda_api {
#define CUDA_FN(name, params) int(*name) params;
#include "machine/host/cuda.def"
};

#endif
