/* SPDX-License-Identifier: Apache-2.0 */
/* Which program makes the entries that the machine boots from, and so which file the kernel's
 * arguments of the next boot come from. Known from files alone, so that a capture has it too. */
#ifndef HOST_BOOT_MENU_H
#define HOST_BOOT_MENU_H

#include "machine/host/host.h"

#define BOOT_CMDLINE "/etc/kernel/cmdline"
#define BOOT_DROP_IN "/etc/default/grub.d/zz-gputune.cfg"

enum boot_menu {
	BOOT_MENU_OTHER,	  /* none that is known to take arguments from a file of ours */
	BOOT_MENU_GRUB,		  /* its generator reads drop-ins in /etc/default/grub.d */
	BOOT_MENU_GRUBBY,	  /* GRUB with loader entries, which grubby edits */
	BOOT_MENU_KERNEL_INSTALL, /* kernel-install, which reads BOOT_CMDLINE */
	BOOT_MENU_NO_CMDLINE,	  /* kernel-install without that file: it copies /proc/cmdline */
	BOOT_MENU_EXTLINUX,	  /* EXTLINUX_CONF, which the loader itself reads */
	BOOT_MENU_UBOOT_UPDATE,	  /* the same, made anew by u-boot-update with each kernel */
	BOOT_MENU_UNCLEAR,	  /* EXTLINUX_CONF is there, and nothing says that it counts */
	BOOT_MENUS,
};

enum boot_menu host_boot_menu(struct host *h);
/* The same; *why: what it is known from. */
enum boot_menu host_boot_menu_why(struct host *h, const char **why);
/* "other", "grub", "grubby", "kernel-install", "kernel-install-without-file", "extlinux",
 * "u-boot-update", "unclear". */
const char *boot_menu_name(enum boot_menu m);
/* BOOT_MENU_OTHER for a name that is none. */
enum boot_menu boot_menu_parse(const char *name);
/* The file that keeps arguments of ours; BOOT_DROP_IN where none does. */
const char *boot_menu_file(enum boot_menu m);
/* The program that has to run after that file was changed; NULL: the loader reads it itself. */
const char *boot_menu_maker(enum boot_menu m);
/* What a person does for an argument where no file of ours reaches the next boot; NULL where one
 * does. */
const char *boot_menu_by_hand(struct arena *a, enum boot_menu m, const char *token);

#endif
