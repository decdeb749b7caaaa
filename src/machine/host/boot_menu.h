/* SPDX-License-Identifier: Apache-2.0 */
/* Which program makes the entries that the machine boots from, and so which file the kernel's
 * arguments of the next boot come from. Known from files alone, so that a capture has it too. */
#ifndef HOST_BOOT_MENU_H
#define HOST_BOOT_MENU_H

#include "machine/host/host.h"

#define BOOT_CMDLINE "/etc/kernel/cmdline"

enum boot_menu {
	BOOT_MENU_OTHER,	  /* none that is known to take arguments from a file of ours */
	BOOT_MENU_GRUB,		  /* its generator reads drop-ins in /etc/default/grub.d */
	BOOT_MENU_GRUBBY,	  /* GRUB with loader entries, which grubby edits */
	BOOT_MENU_KERNEL_INSTALL, /* kernel-install, which reads BOOT_CMDLINE */
	BOOT_MENU_NO_CMDLINE,	  /* kernel-install without that file: it copies /proc/cmdline */
};

enum boot_menu host_boot_menu(struct host *h);
/* "other", "grub", "grubby", "kernel-install", "kernel-install-without-file". */
const char *boot_menu_name(enum boot_menu m);

#endif
