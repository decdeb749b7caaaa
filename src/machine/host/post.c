/* SPDX-License-Identifier: Apache-2.0 */
/* Posting by libcurl: its easy interface, whose numbers of options are its ABI. */
#include "machine/host/post.h"

#include <errno.h>
#include <string.h>

#include "base/arena.h"
#include "machine/host/vendor.h"

enum {
	POST_FIELDS_SIZE = 60,
	POST_NOSIGNAL = 99,
	POST_TIMEOUT_MS = 155,
	POST_PROTOCOLS = 181, /* a mask, deprecated since 7.85 and still there in 8 */
	POST_URL = 10002,
	POST_FIELDS = 10015,
	POST_HEADERS = 10023,
	POST_WRITE = 20011,
	POST_STATUS = 0x200002, /* of getinfo, a long */
	POST_HTTP_AND_HTTPS = 3,
};

static struct post_calls {
	void *(*curl_easy_init)(void);
	int (*curl_easy_setopt)(void *curl, int option, ...);
	int (*curl_easy_perform)(void *curl);
	int (*curl_easy_getinfo)(void *curl, int what, ...);
	const char *(*curl_easy_strerror)(int code);
	void (*curl_easy_cleanup)(void *curl);
	void *(*curl_slist_append)(void *list, const char *text);
	void (*curl_slist_free_all)(void *list);
	void *lib;
} post_calls;

#define CALL(name)                                                                                 \
	{                                                                                          \
#name, offsetof(struct post_calls, name), NULL                                     \
	}
static const struct vendor_symbol symbols[] = {
	CALL(curl_easy_init),	 CALL(curl_easy_setopt),   CALL(curl_easy_perform),
	CALL(curl_easy_getinfo), CALL(curl_easy_strerror), CALL(curl_easy_cleanup),
	CALL(curl_slist_append), CALL(curl_slist_free_all)
};

static size_t ignore_answer(char *data, size_t size, size_t n, void *ctx)
{
	(void)data;
	(void)ctx;
	return size * n;
}

static void *headers_of(struct arena *a, const char *more)
{
	void *list = post_calls.curl_slist_append(NULL, "Content-Type: application/json");

	for (const char *at = more; at && *at; at += strcspn(at, ","), at += *at == ',') {
		char *one = arena_strndup(a, at, strcspn(at, ",")), *value = strchr(one, '=');

		if (value)
			*value++ = '\0';
		if (value && !strpbrk(value, "\r\n"))
			list = post_calls.curl_slist_append(list,
							    arena_printf(a, "%s: %s", one, value));
	}
	return list;
}

static int post(void *curl, const char *url, void *headers, const char *text, size_t len,
		int limit_ms, struct err *e)
{
	long status = 0;
	int bad;

	post_calls.curl_easy_setopt(curl, POST_URL, url);
	post_calls.curl_easy_setopt(curl, POST_PROTOCOLS, (long)POST_HTTP_AND_HTTPS);
	post_calls.curl_easy_setopt(curl, POST_HEADERS, headers);
	post_calls.curl_easy_setopt(curl, POST_FIELDS, text);
	post_calls.curl_easy_setopt(curl, POST_FIELDS_SIZE, (long)len);
	post_calls.curl_easy_setopt(curl, POST_TIMEOUT_MS, (long)limit_ms);
	post_calls.curl_easy_setopt(curl, POST_NOSIGNAL, 1L);
	post_calls.curl_easy_setopt(curl, POST_WRITE, ignore_answer);
	bad = post_calls.curl_easy_perform(curl);
	if (bad)
		return err_set(e, -EIO, "%s: %s", url, post_calls.curl_easy_strerror(bad));
	post_calls.curl_easy_getinfo(curl, POST_STATUS, &status);
	return status >= 200 && status < 300 ? 0
					     : err_set(e, -EIO, "%s: HTTP status %ld", url, status);
}

int post_json(const char *url, const char *headers, const char *text, size_t len, int limit_ms,
	      struct err *e)
{
	ARENA_AUTO a = { 0 };
	void *curl, *list;
	int r;

	if (strncmp(url, "http://", 7) != 0 && strncmp(url, "https://", 8) != 0)
		return err_set(e, -EINVAL,
			       "%s: expected an address that begins with http:// or https://", url);
	if (!post_calls.lib &&
	    vendor_open("libcurl.so.4", symbols, sizeof(symbols) / sizeof(symbols[0]), &post_calls,
			&post_calls.lib)) {
		err_set(e, -ELIBACC, "libcurl is not installed");
		err_hint(e, "install the package libcurl4 (Debian, Ubuntu)");
		return -ELIBACC;
	}
	curl = post_calls.curl_easy_init();
	if (!curl)
		return err_set(e, -ENOMEM, "libcurl cannot begin");
	list = headers_of(&a, headers);
	r = post(curl, url, list, text, len, limit_ms, e);
	post_calls.curl_slist_free_all(list);
	post_calls.curl_easy_cleanup(curl);
	return r;
}
