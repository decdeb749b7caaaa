/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a launcher's PMIx server tells one of its processes, and what processes tell each other
 * through it: libpmix where it is installed, no header and no link. For one thread.
 */
#ifndef HOST_PMIX_H
#define HOST_PMIX_H

enum { PMIX_BYTES_MAX = 2048 };

struct pmix_place {
	unsigned rank, ranks;
	unsigned local, locals; /* among those of this machine; locals 0: not known */
};

/* 0; -ENOENT: no PMIx server has started this process, or libpmix is not installed. */
int pmix_join(struct pmix_place *out);
/* For the others of the job to get. -errno. */
int pmix_put(const char *key, const char *text);
/* What that rank has put, waiting so long for it. -ETIMEDOUT; -errno. */
int pmix_get(unsigned rank, const char *key, int seconds, char out[PMIX_BYTES_MAX]);
/* Its server knows that this process has ended well. Nothing may be put or got afterwards. */
void pmix_leave(void);

#endif
