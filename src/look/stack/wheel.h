/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Wheels: what their name, metadata and record promise (PEP 427, 425, 491), whether that is what
 * is inside, and which machine they are for.
 */
#ifndef STACK_WHEEL_H
#define STACK_WHEEL_H

#include "look/stack/scan.h"

enum { WHEEL_TAGS = 64 };

struct wheel {
	const char *file; /* its name, without folders */
	const char *name, *version;
	const char *build;		     /* "" or a build number */
	const char *python, *abi, *platform; /* as in the name: "cp312", "abi3", "linux_aarch64" */
	const char *requires_python;	     /* NULL: any */
	struct scan code;		     /* its GPU code */
	size_t members;
	const char *machine; /* of its libraries: "x86_64", "aarch64"; NULL: it has none */
};

/* Whom it is wanted for. */
struct wheel_target {
	const char *arch;   /* "aarch64" */
	const char *python; /* "3.12"; NULL: any */
};

/*
 * Reads and checks a whole wheel: its name against its metadata and tags, every member against its
 * check sum and against RECORD, its libraries against the platform it names. -EBADMSG (or another
 * -errno) and *e, which names what is wrong. file is shown and taken apart.
 */
int wheel_read(struct arena *a, struct input *in, const char *file, const struct scan_options *how,
	       struct wheel *out, struct err *e);
/* The name alone: name, version, build, python, abi, platform. */
int wheel_name(struct arena *a, const char *file, struct wheel *out, struct err *e);
/* -ENOEXEC and *e when it is for another architecture or Python. */
int wheel_fits(const struct wheel *w, const struct wheel_target *t, struct err *e);

/* RECORD: the list of a wheel's files with their SHA-256. */

#endif
