/* SPDX-License-Identifier: Apache-2.0 */
/* Where a capture is written to: a new folder or a new tar. It appears under its name whole or not
 * at all. */
#ifndef HOST_SINK_H
#define HOST_SINK_H

#include <stddef.h>

#include "base/err.h"

struct sink;

/* A tar when path ends in ".tar", or in "/proc/self/fd/N", a file that is open. Fails when
 * something stands there already. */
struct sink *sink_open(const char *path, struct err *e);
/* Names are relative, with their folders written before them. 0 or a negative errno, *e set. */
int sink_folder(struct sink *s, const char *name, struct err *e);
int sink_file(struct sink *s, const char *name, const char *data, size_t len, struct err *e);
int sink_link(struct sink *s, const char *name, const char *target, struct err *e);
/* Gives it its name (ok) or removes what was written. Frees s. */
int sink_close(struct sink *s, int ok, struct err *e);

#endif
