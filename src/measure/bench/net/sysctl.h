/* SPDX-License-Identifier: Apache-2.0 */
/* Kernel settings that a network measurement depends on, of this network namespace. -1: not seen.
 */
#ifndef NET_SYSCTL_H
#define NET_SYSCTL_H

/* Bit 1: as client, bit 2: as server. */
int sysctl_fast_open(void);
int sysctl_slow_start_after_idle(void);

#endif
