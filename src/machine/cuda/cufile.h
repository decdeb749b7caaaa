/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cuFile, opened at run time: files read straight into a GPU's memory, and which way that really
 * took. The library falls back to a copy through the host's memory without a word; its own counters
 * tell, where it has them.
 */
#ifndef CUDA_CUFILE_H
#define CUDA_CUFILE_H

#include <stdint.h>
#include <sys/types.h>

#include "machine/cuda/driver.h"
#include "machine/cuda/library.h"

/* CUfileError_t: handed back by value. */
struct cufile_answer {
	int error; /* CUfileOpError; 0: none */
	int cuda;  /* CUresult, when error is CUFILE_CUDA */
};

/* CUfileDescr_t, of a file descriptor. */
struct cufile_file {
	int kind; /* CUFILE_DESCRIPTOR */
	union {
		int fd;
		void *other;
	} file;
	const void *operations; /* NULL */
};

/* CUfileDrvProps_t as far as read, and room for what later versions add. */
struct cufile_properties {
	unsigned major, minor; /* of the kernel module nvidia-fs; 0: it is not there */
	size_t poll_bytes, direct_kib;
	unsigned systems, control;
	char more[256];
};

enum { CUFILE_DESCRIPTOR = 1, CUFILE_MISSING = 5999 /* ours */, CUFILE_CUDA = 5011 };

struct cufile_api {
#define CUFILE_CALL(answer, field, symbol, params) answer(*field) params;
#include "machine/cuda/cufile.def"
};

struct cufile {
	struct cufile_api api;
	struct cuda_library lib;
	unsigned module_major; /* of nvidia-fs; 0: not loaded */
	bool counts;	       /* it counts which way reads take */
};

/* Reads since the library was opened. */
struct cufile_counts {
	uint64_t reads, peer, module, host; /* by PCI peer to peer, by nvidia-fs, by plain reads */
};

/*
 * -ELIBACC: no library; -EOPNOTSUPP: it does not work here, and why. Keeps the library from leaving
 * a log in the current folder, and lets it fall back, unless the environment says otherwise.
 * Before other threads run.
 */
int cufile_open(struct cufile *c, struct err *e);
/* The library stays mapped: it has threads. */
void cufile_close(struct cufile *c);
/* 0, or *e: "WHAT: CU_FILE_..., code 5008". */
int cufile_check(struct cufile_answer a, struct err *e, const char *what);
/* False: it does not count. */
bool cufile_count(const struct cufile *c, struct cufile_counts *out);
/* In words, from counts before and after; counts may be NULL: not known. Static. */
const char *cufile_way(const struct cufile *c, const struct cufile_counts *from,
		       const struct cufile_counts *to);

#endif
