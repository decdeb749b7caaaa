/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Signatures of a manifest, made and checked by ssh-keygen. It gets the bytes that we read or
 * wrote, and no name of theirs: the folder may be another's, and hold others by now.
 */
#ifndef STACK_WHEELHOUSE_SIGN_H
#define STACK_WHEELHOUSE_SIGN_H

#include "look/stack/wheelhouse.h"

/* Who of the allowed signers (a file) signed the manifest as it was read; NULL: nobody. */
const char *house_signer(struct arena *a, const struct wheelhouse *h, const char *signers);
/* Whether key (a private key, or the public half of one in the agent) signed it as it was read:
 * -EKEYREJECTED when it did not. */
int house_signed_by(struct arena *a, const struct wheelhouse *h, const char *key, struct err *e);
/* The signature of text by key; -EPERM when there is none. */
int house_sign(struct arena *a, const char *text, const char *key, char **signature, struct err *e);

#endif
