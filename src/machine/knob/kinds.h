/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a kind of knob does, one file a kind; kinds.c and io.c choose by the kind. For knob/ alone.
 */
#ifndef KNOB_KINDS_H
#define KNOB_KINDS_H

#include "machine/host/host.h"
#include "machine/knob/io.h"
#include "machine/knob/knob.h"

enum { KNOB_FILES_MAX = 4 };

struct knob_ops {
	/*
	 * As knob_get and knob_set. The caller has asked valid(): name, object and value have the
	 * kind's shape. A failure sets *e, with knob_fail() where there is nothing better to say.
	 */
	int (*get)(struct host *h, struct arena *a, const struct knob *k, const char **value,
		   struct err *e);
	int (*set)(struct host *h, struct arena *a, const struct knob *k, const char *value,
		   struct err *e);
	/* As knob_read, where it is not a file's text. NULL: the value is a fact of the model. */
	struct fact_str (*look)(struct host *h, struct arena *a, const struct knob *k);
	/*
	 * value NULL: only the name and the object are asked about. Before it is called: none of
	 * the texts is NULL otherwise, too long, or has control characters.
	 */
	bool (*valid)(const struct knob *k, const char *value, const char **why);
	/* As knob_command; knob and value are valid. NULL: no program does it. */
	const char *(*command)(struct arena *a, const struct knob *k, const char *value);
	/* As knob_command_here. NULL: the same on every machine. */
	const char *(*command_here)(struct host *h, struct arena *a, const struct knob *k,
				    const char *value);
	/* As knob_place. NULL: a name is all there is. */
	const char *(*place)(struct host *h, struct arena *a, const struct knob *k);
	/* As knob_neutral. NULL: every knob of the kind has a getter. */
	const char *(*neutral)(const struct knob *k);
	/* As knob_same, after the texts were found to differ. NULL: numbers and blanks (see
	 * knob_same_text). */
	bool (*same)(const struct knob *k, const char *x, const char *y);
	bool exact; /* to the letter, instead */
	/* The files that set() puts, KNOB_FILES_MAX at most. NULL: none. */
	size_t (*files)(const struct knob *k, const char **out);
	/* As knob_remains. NULL: what is the same is the same to the letter. */
	const char *(*remains)(const struct knob *k, const char *now, const char *value);
};

extern const struct knob_ops knob_ops_file; /* sysctl, sysfs, module-parameter */
extern const struct knob_ops knob_ops_bootarg;
extern const struct knob_ops knob_ops_nvml;
extern const struct knob_ops knob_ops_pci;
extern const struct knob_ops knob_ops_link;
extern const struct knob_ops knob_ops_unit;
extern const struct knob_ops knob_ops_zprop;
extern const struct knob_ops knob_ops_helper;
extern const struct knob_ops knob_ops_own_file;
extern const struct knob_ops knob_ops_address;
extern const struct knob_ops knob_ops_block;
extern const struct knob_ops knob_ops_firmware;
extern const struct knob_ops knob_ops_cpuset;
extern const struct knob_ops knob_ops_module;
extern const struct knob_ops knob_ops_power;

/* NULL for KNOB_NONE and numbers that are no kind. */
const struct knob_ops *knob_ops_of(enum knob_kind kind);

/* --- what kinds share ------------------------------------------------------------------------- */

/* "could not {verb} {knob}: {reason}" with a reason for r (negative errno); returns r. */
int knob_fail(struct err *e, int r, const char *verb, const struct knob *k);
/* The same for what host_put said of path: a file that could not be replaced without a loss is
 * named with what would have been lost. */
int knob_put_fail(struct host *h, struct err *e, int r, const struct knob *k, const char *path);
/* A file of somebody's that has other names would be parted from them: -EMLINK and *e. */
int knob_check_links(struct host *h, struct err *e, const struct knob *k, const char *path);
/* *why = sentence; returns false. */
bool knob_unsound(const char **why, const char *sentence);
/* word as a POSIX shell takes it: itself when it is plain, else in single quotes. */
const char *knob_quote(struct arena *a, const char *word);
/* "0000:01:00.0": domain of 4 to 8 digits, lower or upper case. */
bool knob_is_pci_address(const char *s);
/* 1 to max characters of letters, digits and those of extra; the first is a letter or digit. */
bool knob_is_word(const char *s, size_t max, const char *extra);
/* A plain decimal number without sign and blanks. */
bool knob_is_number(const char *s);
/* Equal as texts with white space folded, or word by word equal as numbers ("0x1d" and "29"). */
bool knob_same_text(const char *x, const char *y);
/* Where the link at path leads, in /sys/devices; "" when it is none. */
const char *knob_place_link(struct host *h, struct arena *a, const char *path);
/* The place of a knob whose object is an interface; is a PCI address. */
const char *knob_place_interface(struct host *h, struct arena *a, const struct knob *k);
const char *knob_place_pci(struct host *h, struct arena *a, const struct knob *k);

/* What the file says; where its counterpart is in force, "NAME=VALUE" of that. 0 or a negative
 * errno. */
int knob_file_text(struct host *h, struct arena *a, const struct knob *k, const char **value);

#endif
