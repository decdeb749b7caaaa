/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One side of a comparison of software stacks: which file of a library is meant by "system", an
 * environment, a folder or a path, and whether it can run on this machine at all.
 */
#ifndef STACK_LIBRARY_VARIANT_H
#define STACK_LIBRARY_VARIANT_H

#include "look/stack/component.h"
#include "look/stack/root.h"

struct library_variant {
	const char *word;	  /* as it was given */
	const char *place;	  /* in words: "the system", an environment, a folder */
	const char *soname;	  /* "libcublasLt.so.13" */
	const char *folder;	  /* that holds soname */
	const char *file;	  /* behind all links */
	const char *version;	  /* NULL: not known without loading it */
	const char *version_from; /* "its file name", "the package ..." */
};

/*
 * word: "system" (LD_LIBRARY_PATH, then the loader's cache, then toolkits, the newest first), a
 * Python environment, a folder or toolkit that holds the library, or the library itself. Reads,
 * loads nothing. -ENOENT: it is not there. -ENOEXEC: it is for another processor. -EBADMSG: it is
 * no library. -EINVAL: its folder leads the loader to another file. *e says which.
 */
int library_variant_find(struct arena *a, struct host *h, const char *word, enum component c,
			 struct library_variant *out, struct err *e);

#endif
