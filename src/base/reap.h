/* SPDX-License-Identifier: Apache-2.0 */
/* Children's ends, awaited for so long and no longer. */
#ifndef BASE_REAP_H
#define BASE_REAP_H

#include <stdbool.h>
#include <sys/resource.h>
#include <sys/types.h>

/*
 * Waits at most limit_ms (0: looks) for this child to end. 0 and its status, as waitpid gives it;
 * -ETIME while it runs; -ECHILD for none of ours. *used (may be NULL): what it used.
 */
int reap_wait(pid_t pid, int limit_ms, int *status, struct rusage *used);
/*
 * Ends it, its whole group when asked, and takes its status. One that a driver holds inside the
 * kernel does not end, and waiting for it would hold us too: after two seconds it is left, and
 * false.
 */
bool reap_kill(pid_t pid, bool group, int *status, struct rusage *used);

#endif
