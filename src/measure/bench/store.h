/* SPDX-License-Identifier: Apache-2.0 */
/* Results that are kept: one file each in a folder, by ids that sort by time. */
#ifndef BENCH_STORE_H
#define BENCH_STORE_H

#include "base/err.h"
#include "machine/host/host.h"

#define BENCH_STATE "/var/lib/gputune"
enum { BENCH_FILE_MAX = 256 << 20 };

/* "20261121-045000-memory-bandwidth": free in that state folder at this moment. */
const char *store_new_id(struct arena *a, struct host *h, const char *state, long long time_s,
			 const char *what);
/* Only letters, digits, '-', '_', '.' and no leading dot: what may become a file's name. */
bool store_id_valid(const char *id);
const char *store_path(struct arena *a, const char *state, const char *id);
/* Makes the folders when they are missing. -errno and *e. */
int store_put(struct host *h, const char *state, const char *id, const char *json, struct err *e);
int store_get(struct arena *a, struct host *h, const char *state, const char *id, char **json,
	      struct err *e);
/* Ids, oldest first; a missing folder has none. */
int store_list(struct arena *a, struct host *h, const char *state, char ***ids, size_t *n,
	       struct err *e);

#endif
