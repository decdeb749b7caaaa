/* SPDX-License-Identifier: Apache-2.0 */
/* src/machine/host/live_write.c once more, on the simulated kernel: what it forgets to sync gets
 * lost. */
#include <fcntl.h>
#include <libgen.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "base/fd.h"
#include "machine/host/live.h"
#include "kernel.h"

#define live_writes walk_writes
#define fd_write_all kernel_write_all
#define openat kernel_openat
#define close kernel_close
#define fsync kernel_fsync
#define fdatasync kernel_fdatasync
#define fchmod kernel_fchmod
#define renameat kernel_renameat
#define unlinkat kernel_unlinkat
#define mkdirat kernel_mkdirat
#define fchmodat kernel_fchmodat
#define symlinkat kernel_symlinkat
/* No name is a mount point there. */
#define statx(at, path, flags, mask, out) kernel_statx(at, path, flags, mask, out)
#include "machine/host/live_write.c"
