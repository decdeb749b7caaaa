/* SPDX-License-Identifier: Apache-2.0 */
/* Reading pax and GNU records; the archive may be hostile. */
#include "machine/host/tar_extension.h"

#include <stdlib.h>
#include <string.h>

#include "base/text.h"

static int broken(const char **why, const char *what)
{
	*why = what;
	return -EBADMSG;
}

static int keep(char *out, const char *value, size_t n, const char **why)
{
	n = strnlen(value, n);
	if (n >= HOST_PATH_MAX)
		return broken(why, "a name that is too long");
	memcpy(out, value, n);
	out[n] = '\0';
	return 0;
}

/* "key=value\n", n bytes with the newline. */
static int one_key(struct tar_extension *x, const char *key, size_t n, const char **why)
{
	const char *value = memchr(key, '=', n - 1);
	size_t left;

	if (!value)
		return broken(why, "a broken pax record");
	value++;
	left = n - 1 - (size_t)(value - key);
	if (str_starts(key, "path="))
		return keep(x->name, value, left, why);
	if (str_starts(key, "linkpath="))
		return keep(x->link, value, left, why);
	if (str_starts(key, "size=") || str_starts(key, "GNU.sparse"))
		return broken(why, "a pax extension that no capture needs");
	return 0;
}

/* One "LEN key=value\n" record after another. */
static int pax(struct tar_extension *x, const char *text, size_t n, const char **why)
{
	while (n) {
		char *end;
		unsigned long len = strtoul(text, &end, 10);
		size_t digits = (size_t)(end - text);
		int r;

		/* strtoul skips blanks and newlines: the number must begin the record, and end
		 * inside it. */
		if (*text < '1' || *text > '9' || len < 5 || len > n || *end != ' ' ||
		    text[len - 1] != '\n' || digits + 1 >= len)
			return broken(why, "a broken pax record");
		r = one_key(x, end + 1, len - digits - 1, why);
		if (r)
			return r;
		text += len;
		n -= len;
	}
	return 0;
}

int tar_extension_read(struct tar_extension *x, char type, const char *text, size_t n,
		       const char **why)
{
	if (type == 'x')
		return pax(x, text, n, why);
	return keep(type == 'L' ? x->name : x->link, text, n, why);
}
