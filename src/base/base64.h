/* SPDX-License-Identifier: Apache-2.0 */
/* Bytes as letters, digits and two signs (RFC 4648). */
#ifndef BASE_BASE64_H
#define BASE_BASE64_H

#include <stdbool.h>
#include <stddef.h>

#include "base/text.h"

/* Adds the n bytes. url: with '-' and '_' and without padding, as files and addresses take it. */
void base64_add(struct text *t, const void *data, size_t n, bool url);

#endif
