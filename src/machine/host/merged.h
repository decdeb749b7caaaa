/* SPDX-License-Identifier: Apache-2.0 */
/* Files that several folders hold together, by the rule of systemd's .d folders. */
#ifndef HOST_MERGED_H
#define HOST_MERGED_H

#include "machine/host/host.h"

/* Where systemd's own programs look for them, the first rank first. */
#define MERGED_FOLDERS(name)                                                                       \
	{                                                                                          \
		"/etc/systemd/" name, "/run/systemd/" name, "/usr/local/lib/systemd/" name,        \
			"/usr/lib/systemd/" name                                                   \
	}
enum { MERGED_N = 4, MERGED_FILES_MAX = 1024 /* of one set of folders */ };

/*
 * The paths of the files whose names end in suffix: a name in an earlier folder hides the same name
 * in later ones, and files stand in the order of their names, whatever their folder. A link to
 * /dev/null hides a name and is not in the list. In arena memory, *n of them.
 * why (may be NULL) gets for each folder why it could not be listed: 0 or -errno.
 */
char **host_merged(struct host *h, struct arena *a, const char *const *folders, size_t n_folders,
		   const char *suffix, int *why, size_t *n);

#endif
