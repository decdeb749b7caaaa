/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What GPU code a file carries: shared libraries and programs (.nv_fatbin, __nv_relfatbin), static
 * libraries, wheels, bare fat binaries, cubins and PTX. Only headers are read.
 */
#ifndef STACK_SCAN_H
#define STACK_SCAN_H

#include "look/stack/archive.h"
#include "look/stack/fatbin.h"

enum scan_kind {
	SCAN_OTHER, /* carries no GPU code by its nature */
	SCAN_ELF,
	SCAN_ARCHIVE,
	SCAN_WHEEL,
	SCAN_FATBIN,
	SCAN_CUBIN,
	SCAN_PTX,
};

enum { SCAN_PROBLEMS = 8 };

/* What a file does on a GPU. */
struct code_served {
	struct gpu_target gpu;
	enum code_answer answer;
	const struct gpu_code *by;	 /* the code that runs; NULL: none */
	size_t containers[CODE_ANSWERS]; /* how many have at best this answer */
};

struct scan {
	const char *path; /* of a wheel's member: its name in the wheel */
	enum scan_kind kind;
	uint16_t machine; /* of an ELF file: ELF_X86_64, ...; 0: none */
	uint64_t size;	  /* bytes */
	struct code_set codes;
	size_t containers, entries;
	size_t registered; /* wrappers in .nvFatBinSegment, which the CUDA runtime is given */
	size_t opened;	   /* entries whose head was unpacked and held against the header */
	struct code_served answers[GPU_TARGETS_MAX]; /* for each GPU asked about */
	size_t n_answers;			     /* 0 but of scan_tree */
	const char *problems[SCAN_PROBLEMS];	     /* sentences */
	size_t n_kept, n_problems;		     /* of them; of all that there are */
	const char *error;			     /* it could not be read: why; NULL */
	struct scan *parts; /* members of a wheel with GPU code or an error */
	size_t n_parts;
};

struct scan_options {
	struct gpu_target gpus[GPU_TARGETS_MAX];
	size_t n_gpus;
	bool deep; /* unpack the head of each entry and compare */
};

/* "sm_90,sm_121": those that are not there yet are added. -EINVAL and *e. */
int scan_targets(struct arena *a, const char *text, struct scan_options *how, struct err *e);
void scan_target(struct scan_options *how, unsigned sm, unsigned driver_cuda);
/* The same for an open input; name is shown. */
void scan_input(struct arena *a, struct input *in, const char *name, const struct scan_options *how,
		struct scan *out);
/* The GPU code of a wheel's members; z is open. */
void scan_wheel(struct arena *a, const struct zip *z, const struct scan_options *how,
		struct scan *out);
const char *scan_kind_name(unsigned k);
/* True for a name that may carry GPU code ("x.so", "x.so.13", "x.a", "x.cubin"...). */
bool scan_name(const char *name);

/*
 * Scans a file or everything of interest below a folder, on `threads` threads (0: as many as there
 * are CPUs, at most 16). Links below it are not followed. Sorted by path. -errno and *e when the
 * path itself cannot be read.
 */
int scan_tree(struct arena *a, const char *path, const struct scan_options *how, unsigned threads,
	      struct scan **out, size_t *n, struct err *e);

/* What GPU code says of itself, in its own first bytes. */

/* .version and .target stand in the first lines of PTX. */
enum { PTX_HEAD = 4096 };

#endif
