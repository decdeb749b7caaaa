/* SPDX-License-Identifier: Apache-2.0 */
/* What libraries, ioctls and commands answered, by api, object and question: the api/NAME.json of a
 * capture. */
#ifndef HOST_API_BOOK_H
#define HOST_API_BOOK_H

#include <jansson.h>

#include "machine/host/host.h"

/* The page says nothing of it: no errno that an answer could be. */
enum { API_PAGE_NONE = 1 };

/* The answer that a page (one api's JSON) holds; text points into the page. The stored refusal as
 * negative errno; API_PAGE_NONE; -EPROTO for a value of a wrong type. */
int api_page_answer(const json_t *page, const char *object, const char *field, struct answer *out);
/* Objects hold objects hold integers, texts or {"error": NAME}; anything else is named in *e. */
int api_page_check(const json_t *page, const char *file, struct err *e);
/* A file of a page, len bytes and a NUL, checked. The caller owns the reference. NULL and *e: it is
 * none. */
json_t *api_page_load(const char *text, size_t len, const char *file, struct err *e);
/* Stores an answer (r == 0) or a refusal. Bytes that are not UTF-8 become U+FFFD. */
void api_page_store(json_t *page, const char *object, const char *field, int r,
		    const struct answer *a);

#endif
