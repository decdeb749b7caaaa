/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reading and writing knobs. Kept apart from knob.h so that settings cannot reach the machine.
 *
 * A knob's value is one line of text that determines its state exactly: writing what was read
 * restores it. By kind:
 *   sysctl, sysfs, module-parameter  the file's text: trimmed, runs of white space as one blank, of
 *                    a bracketed choice the chosen word. Of the pairs where writing one zeroes the
 *                    other (vm.dirty_ratio and vm.dirty_bytes) the one that is zero reads as the
 *                    other's "NAME=VALUE", and takes such a value too.
 *   boot-argument    the value that our drop-in, or our words in kernel-install's file or the
 *                    extlinux.conf, ask for; "" for a bare flag, "not set" for none
 *                    (-EOPNOTSUPP where no boot menu takes a drop-in); "not finished" after a
 *                    crash in the middle of a write of ours, the same as anything but "not set"
 *   nvml             persistence-mode, accounting-mode "0" or "1"; compute-mode "default",
 *                    "exclusive-process", "prohibited"; power-limit in mW; gpu-clock-lock and
 *                    memory-clock-lock "MIN,MAX" in MHz or "unlocked": these have no getter
 *   pci              mrrs in bytes; acs-control "0x1d"
 *   link             mtu in bytes; rx-ring, tx-ring, channels in numbers; rx-usecs, tx-usecs in us;
 *                    adaptive-rx, adaptive-tx "0" or "1"; irq-N the list of CPUs that may serve
 *                    the interrupt with that MSI number; pfc the priorities that are paused, a
 *                    list or "none"
 *   unit             "enabled", "disabled" or "masked", then "active" or "inactive"
 *   zfs-property     its text
 *   helper           vboost: the level; jetson-clocks: "1" all at their maximum, "0" not
 *   file             "absent", "link:TARGET", or the mode and the text in one line, "0644:a\n"
 *   address          "present" or "absent"
 *   firmware         "1" InfiniBand, "2" Ethernet, "3" both: what holds from the next boot on
 *   module           "loaded" or "absent"
 *   power-mode       nvpmodel: the mode's number
 *   block            "absent", or the lines as a file's text, "0644:a\n"
 *   cpuset           isolated: the list of CPUs, "none", or "none, controller off" if no program
 *                    uses the controller; "not finished" after a crash in a write of ours
 */
#ifndef KNOB_IO_H
#define KNOB_IO_H

#include "machine/host/host.h"
#include "machine/knob/knob.h"
#include "machine/model/system.h"
#include "base/fact.h"

/* For judging: what cannot be read is a fact state. Kinds whose value is a fact of the model (NVML,
 * PCI, link, unit) give SEEN_UNASKED. */
struct fact_str knob_read(struct host *h, struct arena *a, const struct knob *k);

/* The value as above. -ENODATA: it has no getter; *value is NULL then and *e untouched. Any other
 * failure is named in *e. */
int knob_get(struct host *h, struct arena *a, const struct knob *k, const char **value,
	     struct err *e);
/* The same as a fact. No getter is no failure to see: SEEN_UNASKED. */
struct fact_str knob_exact(struct host *h, struct arena *a, const struct knob *k);
/*
 * One write. 0 does not mean that the value is in force: read it back. *e says what refused it and,
 * where it is known, why (kernel lockdown, a busy device, a value beyond the driver's range).
 */
int knob_set(struct host *h, struct arena *a, const struct knob *k, const char *value,
	     struct err *e);
/* The value that a knob without a getter has when nobody set it ("unlocked"); NULL for others. */
const char *knob_neutral(const struct knob *k);
/* True when both texts mean the same state: "0x1d" and "29", "4096 1 2" and "4096  1 2". */
bool knob_same(const struct knob *k, const char *x, const char *y);
/* The same, and whole: what a write that was cut off has left counts as ours, and holds nothing. */
bool knob_holds(const struct knob *k, const char *now, const char *value);
/* What the kernel was started with for a boot argument, as its knob has it: "not set" where it has
 * none. */
const char *knob_booted(const struct kernel *m, const struct knob *k);
/* Whether the kernel may grant a part of what is asked for: a number between the two values is then
 * our own write, and of any other knob another writer's. */
bool knob_grants_part(const struct knob *k);
/* What is not as it was all the same though now and value mean the same state, in words; NULL. */
const char *knob_remains(const struct knob *k, const char *now, const char *value);
/* As knob_command, for this machine, of which it reads what the command has to name. */
const char *knob_command_here(struct host *h, struct arena *a, const struct knob *k,
			      const char *value);
/* Writing k resets these others (a new I/O scheduler sets the queue's depth): arena array of n. Of
 * those whose folders have to be listed none are known without a host (h NULL). */
struct knob *knob_disturbs(struct host *h, struct arena *a, const struct knob *k, size_t *n);
/* A file that a write of the knob left next to one of its own when it was cut off. */
struct knob_left {
	const char *path;
	const char *of; /* the knob's own file */
	bool saved;	/* it holds what of held before the write; else half of what was to come */
	bool spare;	/* nothing is lost with it: half a new file, or what of holds now */
	bool ours;	/* a plain file of this user's with one name */
};
/* Those that are there: an arena array of n. Reads only. */
struct knob_left *knob_left_over(struct host *h, struct arena *a, const struct knob *k, size_t *n);
bool knob_left_is_ours(struct host *h, const char *path);
/*
 * What ties the knob to a device rather than to a name: the place in /sys/devices that its object
 * has today. "" where a name is all there is (sysctl). After a reboot the same name may be another
 * device.
 */
const char *knob_place(struct host *h, struct arena *a, const struct knob *k);

#endif
