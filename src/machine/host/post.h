/* SPDX-License-Identifier: Apache-2.0 */
/* One HTTP request: a text for a collector that the user named. Nothing else opens a connection for
 * it. */
#ifndef HOST_POST_H
#define HOST_POST_H

#include <stddef.h>

#include "base/err.h"

/*
 * Posts JSON to an http or https address, by libcurl, which is opened on first use. No redirect is
 * followed, the answer is not kept. headers: "name=value,name=value" besides; NULL: none. 0 or
 * -errno and *e.
 */
int post_json(const char *url, const char *headers, const char *text, size_t len, int limit_ms,
	      struct err *e);

#endif
