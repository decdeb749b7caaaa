/* SPDX-License-Identifier: Apache-2.0 */
/*
 * NCCL, opened at run time: its calls, and what its log says of paths and algorithms. NVLink
 * multicast (NVLS) stays off unless the environment asks for it: it can put GPUs of a shared host
 * out of service.
 */
#ifndef CUDA_NCCL_H
#define CUDA_NCCL_H

#include "machine/cuda/driver.h"
#include "machine/cuda/library.h"

struct nccl_comm;

/* ncclUniqueId: handed over by value. */
struct nccl_id {
	char bytes[128];
};

/* ncclDataType_t, ncclRedOp_t, ncclResult_t as far as used. */
enum { NCCL_FLOAT32 = 7, NCCL_SUM = 0 };
enum { NCCL_OK = 0, NCCL_IN_PROGRESS = 7, NCCL_MISSING = 1000 /* ours: no such function */ };

struct nccl_api {
#define NCCL_CALL(field, symbol, params) int(*field) params;
#include "machine/cuda/nccl.def"
};

struct nccl {
	struct nccl_api api;
	struct cuda_library lib;
	int version;	     /* 22809: 2.28.9 */
	bool multicast;	     /* the environment asks for it */
	bool has_all_to_all; /* else sends and receives in a group */
	int log;	     /* a file in memory; -1: the user has the log, or there is none */
};

/* What the log told. */
struct nccl_paths {
	char via[96];	    /* "P2P/CUMEM, NET/IB"; "" when nothing was told */
	char algorithm[48]; /* "RING, SIMPLE"; "" likewise */
	bool sockets;	    /* some pair talks over TCP */
};

/*
 * -ELIBACC: not found or not usable. Sets NCCL_NVLS_ENABLE=0 when the environment says nothing, and
 * sends NCCL's log into memory when the user has not asked for it. Before other threads run.
 */
int nccl_open(struct nccl *n, struct err *e);
/* 0 for NCCL_OK, else *e: "GPU 0000:18:00.0: NCCL: WHAT: ncclSystemError: ..." and -EIO, or
 * -EOPNOTSUPP where the library has no such function. */
int nccl_check(const struct cuda_gpu *g, int result, struct err *e, const char *what);
/* From now on what NCCL decides goes into the log; and no longer so. No call of NCCL's may be under
 * way. Without the function for it, the log only has what was said first. */
void nccl_log_on(struct nccl *n);
void nccl_log_off(struct nccl *n);
/* The log is not needed any more. */
void nccl_log_end(struct nccl *n);
/* What the log holds. */
void nccl_log_read(struct nccl *n, struct nccl_paths *out);
/* The same of a text; pure. */
void nccl_log_parse(const char *text, struct nccl_paths *out);

#endif
