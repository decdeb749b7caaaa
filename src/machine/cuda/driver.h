/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The CUDA driver, opened at run time: its GPUs by PCI address, one primary context each, and calls
 * that answer in sentences. Nothing is linked and no toolkit is needed. Every wait has a limit. A
 * GPU whose context has died, or that did not answer in time, is lost: all that is asked of it
 * afterwards fails at once with the reason, and nothing of it is freed any more.
 *
 * A context is current in one thread at a time: cuda_use() first in every thread that calls.
 */
#ifndef CUDA_DRIVER_H
#define CUDA_DRIVER_H

#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"

/* Device memory, or pinned host memory as a GPU sees it. */
typedef unsigned long long cuda_address;

/* The driver's handles. */
struct cuda_context;
struct cuda_stream;
struct cuda_event;
struct cuda_module;
struct cuda_function;
struct cuda_graph;
struct cuda_graph_exec;

/* Results that callers tell apart. Source: CUDA driver API, CUresult. */
enum {
	CUDA_SUCCESS = 0,
	CUDA_ERROR_INVALID_VALUE = 1,
	CUDA_ERROR_OUT_OF_MEMORY = 2,
	CUDA_ERROR_STUB_LIBRARY = 34,
	CUDA_ERROR_DEVICE_UNAVAILABLE = 46, /* exclusive mode and in use, or prohibited */
	CUDA_ERROR_NO_DEVICE = 100,
	CUDA_ERROR_INVALID_IMAGE = 200,
	CUDA_ERROR_ECC_UNCORRECTABLE = 214,
	CUDA_ERROR_INVALID_PTX = 218,
	CUDA_ERROR_UNSUPPORTED_PTX_VERSION = 222,
	CUDA_ERROR_NOT_FOUND = 500, /* also: the driver has no such function */
	CUDA_ERROR_NOT_READY = 600,
	CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED = 704,
	CUDA_ERROR_LAUNCH_FAILED = 719,
	CUDA_ERROR_NOT_PERMITTED = 800,
	CUDA_ERROR_NOT_SUPPORTED = 801,
	CUDA_ERROR_SYSTEM_NOT_READY = 802, /* fabric manager not running, as a rule */
	CUDA_ERROR_SYSTEM_DRIVER_MISMATCH = 803,
	CUDA_ERROR_UNKNOWN = 999
};

/* CUdevice_attribute. The numbers never change; a driver refuses those it does not know. */
enum {
	CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT = 16,
	CU_DEVICE_ATTRIBUTE_INTEGRATED = 18,
	CU_DEVICE_ATTRIBUTE_COMPUTE_MODE = 20,
	CU_DEVICE_ATTRIBUTE_MEMORY_CLOCK_RATE = 36,
	CU_DEVICE_ATTRIBUTE_GLOBAL_MEMORY_BUS_WIDTH = 37,
	CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE = 38,
	CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR = 39,
	CU_DEVICE_ATTRIBUTE_ASYNC_ENGINE_COUNT = 40,
	CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR = 75,
	CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR = 76,
	CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN = 97, /* per block, with opt-in */
	CU_DEVICE_ATTRIBUTE_PAGEABLE_MEMORY_ACCESS = 88,
	CU_DEVICE_ATTRIBUTE_PAGEABLE_MEMORY_ACCESS_USES_HOST_PAGE_TABLES =
		100, /* reads the host's page tables: C2C machines */
	CU_DEVICE_ATTRIBUTE_GPU_DIRECT_RDMA_SUPPORTED = 116,
	CU_DEVICE_ATTRIBUTE_HOST_NUMA_ID = 134
};

/* Flags of host memory, streams and events. */
enum {
	CU_MEMHOSTALLOC_PORTABLE = 1,
	CU_MEMHOSTALLOC_DEVICEMAP = 2,
	CU_MEMHOSTALLOC_WRITECOMBINED = 4,
	CU_STREAM_NON_BLOCKING = 1,
	CU_EVENT_DISABLE_TIMING = 2,
	CU_STREAM_WAIT_VALUE_GEQ = 0
};

struct cuda_calls {
#define CUDA_CALL(field, symbol, params) int(*field) params;
#include "machine/cuda/driver.def"
};

struct cuda;

struct cuda_gpu {
	struct cuda *cuda;
	const struct cuda_calls *api;
	int ordinal;   /* the driver's own numbering: not NVML's, and changed by the environment */
	int device;    /* the driver's handle */
	char name[96]; /* "NVIDIA H200" */
	char uuid[48]; /* "GPU-..." as NVML writes it, "MIG-..." for a slice; "" when not known */
	char pci[24];  /* "0000:18:00.0", as in struct gpu (machine/model/gpu.h) */
	bool slice;    /* a MIG instance: figures are the slice's */
	/* What the driver did not tell is 0. */
	int cc_major, cc_minor, sms, copy_engines, integrated, memory_khz, bus_bits, host_node;
	size_t memory_bytes, l2_bytes;
	struct cuda_context *context; /* NULL until cuda_use */
	char lost[256];		      /* why nothing more can be asked of it; "": it is well */
};

enum { CUDA_GPUS_MAX = 64 };

struct cuda {
	struct cuda_calls api;
	void *lib;
	int version; /* 13000: CUDA 13.0 is the newest that the driver runs */
	struct cuda_gpu gpu[CUDA_GPUS_MAX];
	size_t n;
};

/*
 * Fills c, which must stay where it is: opens libcuda.so.1 and lists the GPUs that this process may
 * use (CUDA_VISIBLE_DEVICES counts). -ELIBACC: no driver library; -ELIBBAD: too old, or library and
 * kernel module differ; -ENXIO: no GPU; -EACCES; -EAGAIN: the system is not ready. Costs about 0.1
 * s, no context is made.
 */
int cuda_open(struct cuda *c, struct err *e);
/* What cuda_open sets in the environment; call it before there are other threads when cuda_open is
 * called in one of them. */
void cuda_environment(void);
/* Releases the contexts that are not lost. The library stays mapped: it has threads. */
void cuda_close(struct cuda *c);

/* The primary context, retained the first time, current in this thread. -EBUSY: exclusive. */
int cuda_use(struct cuda_gpu *g, struct err *e);
/* Lets the GPUs read and write each other's memory both ways; -EOPNOTSUPP: they cannot. Leaves
 * g current. */
int cuda_peer(struct cuda_gpu *g, struct cuda_gpu *other, struct err *e);
/*
 * 0 for 0. Otherwise sets "GPU 0000:18:00.0: WHAT: CUDA_ERROR_..., sentence" and returns a negative
 * errno; a result that means the context is dead marks the GPU as lost.
 */
int cuda_check(struct cuda_gpu *g, int result, struct err *e, const char *fmt, ...)
	__attribute__((format(printf, 4, 5)));
/* Says so, for all later calls. Returns -EIO. */
int cuda_lose(struct cuda_gpu *g, struct err *e, const char *why);
/* -EIO and *e when the GPU is lost. */
int cuda_well(const struct cuda_gpu *g, struct err *e);

/* --- memory; bytes > 0. Freeing NULL or 0 does nothing. --------------------------------------- */
int cuda_alloc(struct cuda_gpu *g, size_t bytes, cuda_address *out, struct err *e);
void cuda_free(struct cuda_gpu *g, cuda_address at);
/* Pinned, mapped and portable. *as: as GPUs see it (may be NULL). */
int cuda_host_alloc(struct cuda_gpu *g, size_t bytes, void **out, cuda_address *as, struct err *e);
void cuda_host_free(struct cuda_gpu *g, void *p);
/* Pins memory that the caller has mapped. */
int cuda_host_pin(struct cuda_gpu *g, void *p, size_t bytes, cuda_address *as, struct err *e);
void cuda_host_unpin(struct cuda_gpu *g, void *p);

/* --- streams and events ----------------------------------------------------------------------- */
int cuda_stream_make(struct cuda_gpu *g, struct cuda_stream **out, struct err *e);
void cuda_stream_end(struct cuda_gpu *g, struct cuda_stream *s);
int cuda_event_make(struct cuda_gpu *g, struct cuda_event **out, struct err *e);
void cuda_event_end(struct cuda_gpu *g, struct cuda_event *ev);
int cuda_record(struct cuda_gpu *g, struct cuda_event *ev, struct cuda_stream *s, struct err *e);
/* Until all before is done. -ETIME after that many seconds, and the GPU is lost. what: for the
 * sentence ("the copy"). */
int cuda_wait_event(struct cuda_gpu *g, struct cuda_event *ev, double seconds, const char *what,
		    struct err *e);
int cuda_wait_stream(struct cuda_gpu *g, struct cuda_stream *s, double seconds, const char *what,
		     struct err *e);
/* Seconds between two events that are over; resolution about 0.5 us. */
int cuda_elapsed(struct cuda_gpu *g, struct cuda_event *from, struct cuda_event *to, double *out,
		 struct err *e);

/* --- kernels ---------------------------------------------------------------------------------- */
/* From PTX text. A failed compilation gives the compiler's first line. */
int cuda_module_load(struct cuda_gpu *g, const char *ptx, struct cuda_module **out, struct err *e);
void cuda_module_end(struct cuda_gpu *g, struct cuda_module *m);
int cuda_function_find(struct cuda_gpu *g, struct cuda_module *m, const char *name,
		       struct cuda_function **out, struct err *e);
/* args: addresses of the arguments, as the kernel declares them. */
int cuda_launch(struct cuda_gpu *g, struct cuda_function *f, unsigned blocks, unsigned threads,
		struct cuda_stream *s, void **args, struct err *e);

/*
 * A gate that holds streams, of any GPUs, until the host opens it: work is queued behind it, then
 * runs without the host. It is a word of pinned memory that the hardware waits for, or, where the
 * driver cannot, a kernel of one thread that looks at the word and gives up after two seconds.
 * While it is closed nothing may be allocated, freed or run for the first time: the driver may wait
 * for the streams then. Streams take about 1000 entries before queueing blocks.
 */

struct cuda_gate {
	struct cuda_gpu *gpu; /* that pinned the word */
	unsigned *word;	      /* what was opened last */
	cuda_address as;      /* the word as GPUs see it */
	unsigned turn;	      /* what opens it next */
	bool kernel;	      /* the hardware cannot wait */
};

enum { CUDA_GATE_QUEUE = 900 };

/* g must be current. */
int cuda_gate_make(struct cuda_gpu *g, struct cuda_gate *out, struct err *e);
void cuda_gate_end(struct cuda_gate *gate);
/* From now on streams can be held, until it is opened. */
void cuda_gate_shut(struct cuda_gate *gate);
/* What is queued in s afterwards waits. spin: the kernel "spin" of g's tools
 * (machine/cuda/kernels.h). */
int cuda_gate_hold(struct cuda_gate *gate, struct cuda_gpu *g, struct cuda_stream *s,
		   struct cuda_function *spin, struct err *e);
/* Any number of times. */
void cuda_gate_open(struct cuda_gate *gate);

#endif
