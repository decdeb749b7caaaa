/* SPDX-License-Identifier: Apache-2.0 */
/* Whether what an overlay holds is what the captured machine below it holds anyway. */
#ifndef TORTURE_SAME_H
#define TORTURE_SAME_H

#include <stdbool.h>
#include <stddef.h>

/* Our own files aside. False: where (cap bytes) names the first difference. */
bool same_as_capture(const char *capture, const char *overlay, char *where, size_t cap);

/* Small folders of files, folders and links. They end the process when they fail. */
void folder_copy(const char *from, const char *to);
void folder_remove(const char *path);

#endif
