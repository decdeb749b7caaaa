/* SPDX-License-Identifier: Apache-2.0 */
/* Xid and SXid lines of the kernel's log, counted by number. Pure: a text in, a short text out. */
#ifndef HOST_KERNEL_LOG_H
#define HOST_KERNEL_LOG_H

#include "base/arena.h"

/*
 * What the log says of the GPU at pci ("0000:a3:00.0"; the function does not count): for every Xid
 * number "NUMBER:COUNT:AGE", ascending and blank-separated, in the arena; "" when there is none.
 * AGE is seconds from the last such line until now_s, on the clock of the log; -1 when the log
 * carries no times. Nothing else of a line is kept. Source: the driver's "NVRM: Xid (PCI:dddd:bb:dd
 * ...): NUMBER, ...".
 */
const char *xid_summary(struct arena *a, const char *log, const char *pci, double now_s);

/*
 * Lines of NVSwitches of one severity ("Fatal", "Non-fatal"): "nvidia-nvswitchN: SXid (PCI:...):
 * NUMBER, Fatal, ...".
 */
long long sxid_count(const char *log, const char *severity);

#endif
