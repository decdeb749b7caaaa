/* SPDX-License-Identifier: Apache-2.0 */
/* What a file has besides its bytes and its mode, from one that it takes the place of. */
#ifndef HOST_KEEP_H
#define HOST_KEEP_H

#include <stddef.h>

/*
 * Gives fresh the owner, the group, the access list and the extended attributes of old, labels
 * among them. What the kernel makes of the content or the inode itself (IMA, EVM) is not taken
 * along. 0, or HOST_NOT_KEPT and in lost what old has and fresh cannot get ("security.selinux"), or
 * another negative errno.
 */
int keep_attributes(int old, int fresh, char *lost, size_t cap);

#endif
