/* SPDX-License-Identifier: Apache-2.0 */
/* Where systemd keeps a unit's file, and what enabling it would link: shared by who reads a unit's
 * state and by captured machines whose units are changed. */
#ifndef HOST_UNIT_FILE_H
#define HOST_UNIT_FILE_H

#include "machine/host/host.h"

#define UNIT_ETC "/etc/systemd/system"

/* The name of a service: letters, digits and "._:@-", ".service" at its end. */
bool unit_name_valid(const char *unit);
/* 0, 1 when it is masked in /etc, or a negative errno. */
int unit_is_masked(struct host *h, const char *unit);
/* The file that describes it, in arena memory; -ENOENT when there is none. A mask is no file. */
int unit_file_find(struct host *h, struct arena *a, const char *unit, const char **path);
/* True for files that programs write anew at every boot: systemd enables no such unit. */
bool unit_file_is_generated(const char *path);
/* The links that enabling makes by the file's [Install]: absolute paths, n of them. */
int unit_file_links(struct host *h, struct arena *a, const char *unit, const char *path,
		    const char ***links, size_t *n);
/* The links in /etc that enable it today, whoever made them. */
int unit_links(struct host *h, struct arena *a, const char *unit, const char ***links, size_t *n);
/* The control group that exists while it runs. */
const char *unit_cgroup(struct host *h, struct arena *a, const char *unit);

#endif
