/* SPDX-License-Identifier: Apache-2.0 */
/* A fence around a process that only reads what may be hostile: a capture, others' results. */
#ifndef HOST_CONFINE_H
#define HOST_CONFINE_H

#include "machine/host/confine_filter.h"

enum { CONFINED_CALLS = 1, CONFINED_FILES = 2, CONFINED_RIGHTS = 4 };

/*
 * From now on this process can read files, use memory, write to what is open, and end: every other
 * system call is refused (seccomp), and no file can be opened for writing, made, renamed or removed
 * (Landlock). needs: a set of enum confine_needs. openat2 is there where Landlock stands as well
 * and knows of truncation (Linux 6.2), or where needs say so. Returns which of the two stand: a
 * kernel may have neither, and a fence that is not there is no reason not to read. Never to be
 * lifted.
 */
unsigned confine(unsigned needs);
/*
 * Gives up what root may do but to read: user and group become nobody's, and of the capabilities
 * CAP_DAC_READ_SEARCH alone stays (where root lacks it, as in many containers, CAP_DAC_OVERRIDE),
 * so that a file that only root reads can still be read. The process has a session of its own,
 * without a terminal. Where there is no such user (a namespace with root alone) the capabilities go
 * all the same. CONFINED_RIGHTS: none of root's is left.
 */
unsigned confine_rights(void);

#endif
