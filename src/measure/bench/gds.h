/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Files into a GPU's memory: straight, by cuFile, and through the host's memory with reads past the
 * page cache and copies side by side. Both in as many threads and in pieces of the same size.
 */
#ifndef BENCH_GDS_H
#define BENCH_GDS_H

#include "measure/bench/disk_file.h"
#include "measure/bench/gpu_common.h"
#include "measure/bench/model_load.h"
#include "machine/cuda/cufile.h"

enum { GDS_THREADS = 8, GDS_BUFFERS = 2, GDS_ALIGN = 4096 };

/* One file or several, and where they go. */
struct gds_target {
	const atomic_bool *stop; /* NULL: nobody may stop it */
	struct load_set *set;
	struct gpu_place *place;
	cuda_address at; /* a file's first byte is at gds_offset of it */
	struct cufile *cufile;
	void *const *handles; /* cuFile's, one a file; NULL: the other way */
	/* Through the host: of each thread. */
	struct {
		struct cuda_stream *stream;
		struct cuda_event *done[GDS_BUFFERS];
		void *buffer[GDS_BUFFERS];
	} lane[GDS_THREADS];
};

/* The files as cuFile has them, from the first case that needs that to the last one's end. */
struct gds_files {
	void *handle[LOAD_FILES];
	int fd[LOAD_FILES]; /* the descriptors behind them */
	size_t n;
	bool tried;
	int code; /* it did not take one of them; 0: it has all */
	struct err why;
};

/* Gives it all of an open set. own_dir: where the bench's own file is; NULL: the user's files.
 * -errno and *e, then and whenever it is asked again. */
int gds_take(struct gds_files *f, const struct cufile *c, const struct load_set *set,
	     const char *own_dir, struct err *e);
void gds_let_go(struct gds_files *f, const struct cufile *c);

/* Bytes that the target needs. */
uint64_t gds_bytes(const struct load_set *set);
/* Streams and pinned memory of the way through the host; what was made goes with gds_lanes_end. */
int gds_lanes_make(struct gds_target *t, struct err *e);
void gds_lanes_end(struct gds_target *t);
/* All of it once. *bytes: how many arrived. -errno and *e; -EINTR: stopped. */
int gds_load(struct gds_target *t, uint64_t *bytes, struct err *e);
/* Whether the GPU holds what the files hold, read in the plain way; and whether a turned bit would
 * be noticed. */
int gds_verify(struct gds_target *t, struct err *e);

#endif
