/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One run's conversation with NVML: opened once, one handle a GPU, and every call that returns
 * several values made once, so that its members cost one call. Internal to the NVML provider.
 */
#ifndef HOST_NVML_READ_H
#define HOST_NVML_READ_H

#include <stdbool.h>

#include "machine/host/host.h"
#include "machine/host/nvml.h"

enum { NVML_MEMBERS = 6, NVML_TEXT_MAX = 256 };

struct nvml_gpu;

/* What one call gave. Members that this version of the call does not know are set in missing. */
struct nvml_values {
	bool asked;
	unsigned given; /* members handed out: asking for one of them again calls again */
	int result;	/* NVML's */
	unsigned missing;
	long long v[NVML_MEMBERS];
};

/* A question: the function's name without version, its arguments, its members, and how to ask. */
struct nvml_question {
	const char *name;
	const struct nvml_args *args;	   /* NULL: takes none */
	const char *members[NVML_MEMBERS]; /* [0] NULL: the call has one value, without a name */
	/* One of: a slot of struct nvml_api of a shape, a function that reads, one that gives text.
	 */
	enum {
		NVML_ASK_UINT,
		NVML_ASK_UINT_OF,
		NVML_ASK_TEXT,
		NVML_ASK_PAIR,
		NVML_ASK_READ,
		NVML_ASK_READ_TEXT
	} how;
	size_t slot;
	int (*read)(struct nvml_gpu *g, unsigned arg, struct nvml_values *out);
	int (*read_text)(struct nvml_gpu *g, unsigned arg, char *buf, size_t size);
};

extern const struct nvml_question nvml_questions[];
extern const size_t nvml_questions_n;

/* The processes of one kind on one GPU. */
struct nvml_processes {
	bool asked;
	int result;
	unsigned n;
	struct nvml_process *items; /* malloc */
};
enum { NVML_COMPUTE, NVML_GRAPHICS, NVML_MPS, NVML_PROCESS_KINDS };

/* Field values by name and link (0 for the GPU's own). */
struct nvml_field_values {
	struct nvml_field f[NVML_FIELD_NAMES][NVML_LINKS_MAX];
	/* Fetched and not handed out yet: asking again fetches again. */
	bool fresh[NVML_FIELD_NAMES][NVML_LINKS_MAX];
	/* NVLinks, which do not change: -1 not asked yet, and not worth another call of the group.
	 */
	long long links;
	bool numbered, as_575; /* which numbering was asked for, and whether it is that of R575 */
};

struct nvml {
	struct nvml_api api;
	void *lib;
	int error;  /* negative errno of loading; 0: loaded */
	int result; /* of initialising */
	unsigned n; /* GPUs */
	int count_result;
	size_t hint; /* the question after the last one: probes ask in the table's order */
	struct nvml_gpu *gpus; /* n of them, NULL until one is asked about */
};

struct nvml_gpu {
	struct nvml *nvml;
	struct nvml_device *dev;
	int result;			  /* of getting the handle */
	struct nvml_values *cache;	  /* one a question */
	struct nvml_field_values *fields; /* NULL until a field is asked for */
	struct nvml_processes processes[NVML_PROCESS_KINDS];
};

/* Opens the library and NVML, counts. */
void nvml_open(struct nvml *n);
/* The GPU and its handle; the first call gets all GPUs' at once. Never NULL for index < n. */
struct nvml_gpu *nvml_gpu(struct nvml *n, unsigned index);
void nvml_shut(struct nvml *n);
/* A field "NAME" or "NAME,link". NVML's result. */
int nvml_field(struct nvml_gpu *g, const char *s, size_t len, long long *out);
/* "" is how many, "(0).pid" and "(0).usedGpuMemory" one of them; rest is what follows the name.
 * Negative errno. */
int nvml_process_ask(struct nvml_gpu *g, unsigned kind, const char *rest, long long *out);
/* The handle anew, and nothing remembered of what was asked. */
void nvml_gpu_renew(struct nvml_gpu *g);

#endif
