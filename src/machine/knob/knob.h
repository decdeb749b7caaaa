/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A knob is a place in the machine that holds a value which can be changed. What value it should
 * hold is a recommendation and stands in settings/. Names only; reading is in machine/knob/io.h.
 */
#ifndef KNOB_KNOB_H
#define KNOB_KNOB_H

#include <stdbool.h>

#include "base/arena.h"

enum knob_kind {
	KNOB_NONE,     /* nothing to write: a check */
	KNOB_SYSCTL,   /* name "vm.swappiness": /proc/sys with dots for slashes */
	KNOB_SYSFS,    /* name is the absolute path; a bracketed choice reads as the chosen word */
	KNOB_MODPARAM, /* name "zfs.zfs_arc_max": /sys/module/zfs/parameters/zfs_arc_max */
	KNOB_BOOTARG,  /* name "isolcpus": a token of the kernel command line */
	KNOB_NVML,     /* name "persistence-mode", object the GPU's PCI address */
	KNOB_PCI,   /* name "mrrs", object the function's address: a field of configuration space */
	KNOB_LINK,  /* name "mtu", "rx-ring", ..., object the interface */
	KNOB_UNIT,  /* name "nvidia-persistenced.service": enabled or not */
	KNOB_ZPROP, /* name "autotrim", object the pool */
	KNOB_HELPER,   /* name of a program's switch without another interface: "vboost" */
	KNOB_FILE,     /* name "/etc/sysctl.d/99-zz-gputune.conf": a file, folder or link of ours */
	KNOB_ADDRESS,  /* name "192.168.100.1/24", object the interface that has it or not */
	KNOB_BLOCK,    /* name "/etc/hosts": lines of ours in a file of somebody else */
	KNOB_FIRMWARE, /* name "LINK_TYPE_P1", object the adapter: at the next boot */
	KNOB_CPUSET,   /* name "isolated": CPUs set aside by a control group of ours */
	KNOB_MODULE,   /* name "nvidia-peermem": loaded or not */
	KNOB_POWER,    /* name "nvpmodel": the power mode of a Jetson or IGX machine */
	KNOB_KINDS,
};

struct knob {
	enum knob_kind kind;
	const char *name;
	const char *object; /* "" where the kind has none */
};

/* "sysctl", "sysfs", ... as written in JSON and journals. */
const char *knob_kind_name(enum knob_kind k);
/* The name with every "{}" replaced by object. */
struct knob knob_make(struct arena *a, enum knob_kind kind, const char *pattern,
		      const char *object);
/* The file behind a sysctl, sysfs or module-parameter knob; NULL for the other kinds. */
const char *knob_path(struct arena *a, const struct knob *k);
/* How a person would read or write it, as one line without data from the machine: for explain. */
const char *knob_how_read(struct arena *a, enum knob_kind kind, const char *pattern);
const char *knob_how_write(struct arena *a, enum knob_kind kind, const char *pattern);
const char *knob_persistence(struct arena *a, enum knob_kind kind, const char *pattern);
const char *knob_how_undone(enum knob_kind kind);
/* -1 when no kind is called so. */
int knob_kind_parse(const char *name);
bool knob_equal(const struct knob *x, const struct knob *y);
/* "vm.swappiness", "mrrs of 0000:01:00.0": for people. */
const char *knob_text(struct arena *a, const struct knob *k);
/*
 * The command with which a person sets the knob to value by hand, ready for a shell: every word
 * that is not plain is quoted. NULL when no program does it.
 */
const char *knob_command(struct arena *a, const struct knob *k, const char *value);
/* Whether name, object and value have the shape that the kind allows: no control characters, a path
 * below /sys or /proc/sys without "..", a PCI address, an interface name; of a place that holds
 * numbers a number. *why gets a sentence. For knobs that come from files. */
bool knob_valid(const struct knob *k, const char *value, const char **why);
/*
 * Whether this name is ever written: by a setting of the list or of an older version's, or put back
 * because such a write resets it. For knobs that come from files: a valid name may still be any
 * sysctl of the machine.
 */
bool knob_known(const struct knob *k);
/* The unit of its numbers, "bytes"; NULL: they have none, or it is not a number. */
const char *knob_unit(const struct knob *k);
/*
 * Whether value is one that may be asked for: valid, of a known knob, within what its row of the
 * table of bounds says. *why gets a sentence with the range; literal or arena. What is put back is
 * what the machine held, whatever somebody set it to: for that knob_valid is all there is.
 */
bool knob_allows(struct arena *a, const struct knob *k, const char *value, const char **why);
/* The value of a file of ours: "0644:TEXT" with \n, \t, \\ and \0NNN; a folder has no text. */
const char *knob_file_value(struct arena *a, unsigned mode, const char *text, size_t len);
/* The reverse; false when the value is none of that form. *text is ended by a NUL too. */
bool knob_file_parse(struct arena *a, const char *value, unsigned *mode, const char **text,
		     size_t *len);
/* Its value is gone after a reboot unless something sets it again. */
bool knob_is_runtime(enum knob_kind kind);

/* How a shell reads a knob with programs that are there without gputune. */

/* s as one word of a POSIX shell, always in single quotes. */
const char *shell_quote(struct arena *a, const char *s);
/* The same only where a shell would take it for something else. */
const char *shell_word(struct arena *a, const char *s);
/*
 * A pipeline that prints the knob's value in the form of machine/knob/io.h; it may use
 * shell_functions. NULL where no program prints it.
 */
const char *shell_read(struct arena *a, const struct knob *k);
/* Shell functions that a script with such pipelines has to define first. */
extern const char shell_functions[];

#endif
