/* SPDX-License-Identifier: Apache-2.0 */
/*
 * /boot/extlinux/extlinux.conf, from which U-Boot, SYSLINUX and the launcher of NVIDIA's Jetson and
 * IGX machines start the kernel. Pure: text in, places in it out.
 */
#ifndef HOST_EXTLINUX_H
#define HOST_EXTLINUX_H

#include <stdbool.h>
#include <stddef.h>

#define EXTLINUX_CONF "/boot/extlinux/extlinux.conf"

/* A part of the text. */
struct extlinux_part {
	const char *at;
	size_t n;
};

/* The entry that is started when nobody chooses. */
struct extlinux_entry {
	struct extlinux_part label, kernel, initrd; /* at NULL: the entry has none */
	struct extlinux_part append;		    /* without blanks at its ends */
	bool made; /* u-boot-update writes the file anew with each kernel */
};

/*
 * Returns NULL, or in a sentence why the entry's arguments are not clear: loaders read two DEFAULT
 * lines, two APPEND lines or a # among arguments in different ways. Blank lines, comments, CR and a
 * missing last line end do no harm.
 */
const char *extlinux_parse(const char *text, struct extlinux_entry *out);
bool extlinux_same(const struct extlinux_part *x, const struct extlinux_part *y);

#endif
