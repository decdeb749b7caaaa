/* SPDX-License-Identifier: Apache-2.0 */
/* Whether the files of the state folder are what only root can have written. */
#ifndef TXN_STATE_H
#define TXN_STATE_H

#include "machine/host/host.h"

/*
 * The journal says what undo writes as root: it has to be a plain file of root's (or of this
 * user's) with one name, which others may not write to; and so has the folder that it lies in. 0
 * where it is, where there is none, and where it cannot be seen. HOST_NOT_OURS: it is not; *e says
 * what is wrong, and the command that mends it.
 */
int state_check(struct host *h, struct err *e);
/* HOST_NOT_OURS of the folder itself: *e says it. */
int state_folder_refused(struct err *e);
/* What keeps the state folder from outliving a boot: a sentence; NULL: nothing that is known. */
const char *state_is_lost_at_boot(struct host *h);

#endif
