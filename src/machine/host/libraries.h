/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Libraries of the distribution that only some verbs need: each is opened when the first of its
 * functions is called. Callers include the library's own header and call it as if it were linked;
 * the functions that may be called are those of libraries.def.
 */
#ifndef HOST_LIBRARIES_H
#define HOST_LIBRARIES_H

#include "base/err.h"

enum system_library {
	LIBRARY_MNL,
	LIBRARY_SODIUM,
	LIBRARY_URING,
	LIBRARY_YAML,
	LIBRARY_ZLIB,
	LIBRARY_ZSTD,
	LIBRARIES,
};

/*
 * Opens it, unless it is open; for any thread. -ELIBACC: it is not installed, and *e names the
 * package. Its functions then answer what libraries.def says; those of libsodium, whose answer
 * could be taken for a digest or a secret, end the process: call this first.
 */
int library_open(enum system_library l, struct err *e);

#endif
