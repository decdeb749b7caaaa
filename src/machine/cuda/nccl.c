/* SPDX-License-Identifier: Apache-2.0 */
/* NCCL's table of functions, its environment, and its log. */
#include "machine/cuda/nccl.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { LOG_MAX = 1 << 20 };

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wunused-parameter"
#define NCCL_CALL(field, symbol, params)                                                           \
	static int missing_##field params                                                          \
	{                                                                                          \
		return NCCL_MISSING;                                                               \
	}
#include "machine/cuda/nccl.def"
#pragma GCC diagnostic pop

#define NCCL_CALL(field, symbol, params)                                                           \
	{ symbol, offsetof(struct nccl_api, field), (void (*)(void))missing_##field },
static const struct vendor_symbol symbols[] = {
#include "machine/cuda/nccl.def"
};

/* "ncclSystemError: ..." */
static const char *nccl_result_name(int result)
{
	static const char *const names[] = {
		"ncclSuccess",
		"ncclUnhandledCudaError: a CUDA call failed inside NCCL",
		"ncclSystemError: a system call failed inside NCCL",
		"ncclInternalError",
		"ncclInvalidArgument",
		"ncclInvalidUsage",
		"ncclRemoteError: another rank failed",
		"ncclInProgress",
	};

	if (result == NCCL_MISSING)
		return "the library lacks this function";
	return result >= 0 && result < (int)(sizeof(names) / sizeof(names[0])) ? names[result]
									       : "unknown error";
}

int nccl_check(const struct cuda_gpu *g, int result, struct err *e, const char *what)
{
	if (result == NCCL_OK)
		return 0;
	return err_set(e, result == NCCL_MISSING ? -EOPNOTSUPP : -EIO, "GPU %s: NCCL: %s: %s",
		       g->pci, what, nccl_result_name(result));
}

/* A file in memory that NCCL opens by name; nothing is left behind. */
static void make_log(struct nccl *n)
{
	const char *there = getenv("NCCL_DEBUG_FILE");
	char path[64];
	int own = snprintf(path, sizeof(path), "/proc/%d/fd/", (int)getpid());

	n->log = -1;
	/* Unless it is ours from before, the user wants to see it. */
	if ((there && strncmp(there, path, (size_t)own) != 0) || (!there && getenv("NCCL_DEBUG")))
		return;
	n->log = memfd_create("nccl-log", MFD_CLOEXEC);
	if (n->log < 0)
		return;
	snprintf(path, sizeof(path), "/proc/%d/fd/%d", (int)getpid(), n->log);
	setenv("NCCL_DEBUG_FILE", path, 1);
	setenv("NCCL_DEBUG", "INFO", 1);
	/* A line for every operation would slow it down, if it could not be switched off again. */
	setenv("NCCL_DEBUG_SUBSYS",
	       n->api.log_again == missing_log_again ? "INIT,GRAPH,P2P,NET,SHM"
						     : "INIT,GRAPH,P2P,NET,SHM,TUNING",
	       1);
}

int nccl_open(struct nccl *n, struct err *e)
{
	const char *multicast = getenv("NCCL_NVLS_ENABLE");
	int r;

	*n = (struct nccl){ .log = -1 };
	if (!multicast)
		setenv("NCCL_NVLS_ENABLE", "0", 1);
	n->multicast = multicast && strcmp(multicast, "0") != 0;
	r = cuda_library_open(cuda_nccl, false, symbols, sizeof(symbols) / sizeof(symbols[0]),
			      &n->api, &n->lib, e);
	if (r)
		return r;
	if (n->api.start_all == missing_start_all || n->api.send == missing_send ||
	    n->api.abort == missing_abort || n->api.version(&n->version)) {
		err_set(e, -ELIBACC, "%s is not NCCL 2.7 or later", n->lib.path);
		cuda_library_close(&n->lib);
		return -ELIBACC;
	}
	n->has_all_to_all = n->api.all_to_all != missing_all_to_all;
	make_log(n);
	return 0;
}

void nccl_log_on(struct nccl *n)
{
	if (n->log < 0)
		return;
	setenv("NCCL_DEBUG", "INFO", 1);
	n->api.log_again();
}

void nccl_log_off(struct nccl *n)
{
	if (n->log < 0)
		return;
	/* Not "NONE": that is no word of NCCL's, and makes it start its log anew at every call. */
	unsetenv("NCCL_DEBUG");
	n->api.log_again();
}

void nccl_log_end(struct nccl *n)
{
	if (n->log >= 0 && n->lib.handle)
		close(n->log);
	n->log = -1;
}

/* Adds a word to a list unless it is there. */
static void cuda_nccl_add_word(char *list, size_t size, const char *word, size_t len)
{
	size_t at = strlen(list);

	if (!len || len > 32 || at + len + 3 > size)
		return;
	for (const char *p = list; *p;) {
		size_t n = strcspn(p, ",");

		if (n == len && memcmp(p, word, len) == 0)
			return;
		p += n;
		p += strspn(p, ", ");
	}
	snprintf(list + at, size - at, "%s%.*s", at ? ", " : "", (int)len, word);
}

/* "... Bytes -> Algo RING proto SIMPLE ..."; the last line counts. */
static void parse_algorithm(const char *line, struct nccl_paths *out)
{
	const char *algorithm = strstr(line, "Algo "), *proto;

	if (!algorithm || !strstr(line, "Bytes -> "))
		return;
	algorithm += 5;
	proto = strstr(algorithm, " proto ");
	if (!proto)
		return;
	out->algorithm[0] = '\0';
	cuda_nccl_add_word(out->algorithm, sizeof(out->algorithm), algorithm,
			   strcspn(algorithm, " \n"));
	proto += 7;
	cuda_nccl_add_word(out->algorithm, sizeof(out->algorithm), proto, strcspn(proto, " \n"));
}

void nccl_log_parse(const char *text, struct nccl_paths *out)
{
	*out = (struct nccl_paths){ 0 };
	for (const char *at = text; at && *at;) {
		size_t len = strcspn(at, "\n");
		char line[512];
		const char *via;
		size_t n = len < sizeof(line) - 1 ? len : sizeof(line) - 1;

		memcpy(line, at, n);
		line[n] = '\0';
		parse_algorithm(line, out);
		via = strstr(line, " via ");
		if (via && strstr(line, "hannel ")) {
			via += 5;
			/* "P2P/CUMEM/read": what follows the second word is detail. */
			n = strcspn(via, "/ ");
			if (via[n] == '/')
				n += 1 + strcspn(via + n + 1, "/ (");
			cuda_nccl_add_word(out->via, sizeof(out->via), via, n);
			out->sockets = out->sockets || strncmp(via, "NET/Socket", 10) == 0;
		}
		at += len + (at[len] == '\n');
	}
}

void nccl_log_read(struct nccl *n, struct nccl_paths *out)
{
	char *text = n->log < 0 ? NULL : calloc(1, LOG_MAX);
	ssize_t got;
	size_t len = 0;

	*out = (struct nccl_paths){ 0 };
	if (!text)
		return;
	while (len < LOG_MAX - 1 &&
	       (got = pread(n->log, text + len, LOG_MAX - 1 - len, (off_t)len)) > 0)
		len += (size_t)got;
	nccl_log_parse(text, out);
	free(text);
}
