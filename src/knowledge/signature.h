/* SPDX-License-Identifier: Apache-2.0 */
/* Signatures of minisign and signify: Ed25519, with a file for the key and one for the signature.
 */
#ifndef KNOWLEDGE_SIGNATURE_H
#define KNOWLEDGE_SIGNATURE_H

#include <stddef.h>

#include "base/arena.h"
#include "base/err.h"

struct signature {
	const char *key;     /* its number, as minisign writes it: "15992069E43721DA" */
	const char *comment; /* the trusted comment, which is signed too; NULL: signify has none */
};

enum { SIGNATURE_BYTES_MAX = 4096 };

/*
 * Whether the signature, as the text of its file, is the key's and of these bytes. The key is the
 * text of a public key file, or its second line alone. 0, or *e and -EINVAL for what is no key or
 * no signature, -EPERM for one by another key or of other bytes, -ELIBACC without libsodium.
 */
int signature_check(struct arena *a, const void *data, size_t len, const char *signature,
		    const char *key, struct signature *out, struct err *e);

#endif
