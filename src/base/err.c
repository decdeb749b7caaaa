/* SPDX-License-Identifier: Apache-2.0 */
/* Error sentences, and the names of errno values as captures store them. */
#include "base/err.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The kernel's largest is 133; beyond are only its own, which no program sees. */
enum { ERRNO_MAX = 512 };

#define NAME(e)                                                                                    \
	{                                                                                          \
		e, #e                                                                              \
	}

/* The values that reading a machine can give. Names, not numbers, are stored: arm64 and x86-64
 * agree today, but a capture must not depend on it. */
static const struct {
	int number;
	const char *name;
} names[] = {
	NAME(EPERM),	    NAME(ENOENT),  NAME(EIO),	   NAME(ENXIO),	     NAME(EAGAIN),
	NAME(ENOMEM),	    NAME(EACCES),  NAME(EBUSY),	   NAME(ENODEV),     NAME(ENOTDIR),
	NAME(EISDIR),	    NAME(EINVAL),  NAME(EFBIG),	   NAME(EROFS),	     NAME(ENOSYS),
	NAME(ELOOP),	    NAME(ENODATA), NAME(ETIME),	   NAME(EOPNOTSUPP), NAME(ENOMEDIUM),
	NAME(ELIBACC),	    NAME(ELIBBAD), NAME(ENOTCONN), NAME(ETIMEDOUT),  NAME(EXDEV),
	NAME(ENAMETOOLONG), NAME(EPROTO),  NAME(EBADMSG),  NAME(EOVERFLOW),  NAME(ENOTTY),
	NAME(ENETDOWN),	    NAME(EILSEQ),  NAME(ERANGE),   NAME(EHOSTDOWN),  NAME(EEXIST),
	NAME(ENOSPC),	    NAME(EINTR),   NAME(ECHILD),   NAME(ENOPKG),
};

#undef err_set
int err_set(struct err *e, int code, const char *fmt, ...)
{
	va_list ap;

	if (!e)
		return code;
	va_start(ap, fmt);
	vsnprintf(e->text, sizeof(e->text), fmt, ap);
	va_end(ap);
	e->hint[0] = '\0';
	e->code = code;
	return code;
}

void err_hint(struct err *e, const char *fmt, ...)
{
	va_list ap;

	if (!e)
		return;
	va_start(ap, fmt);
	vsnprintf(e->hint, sizeof(e->hint), fmt, ap);
	va_end(ap);
}

void err_hint_near(struct err *e, const char *word, const char *rest)
{
	if (word)
		err_hint(e, "did you mean \"%s\"? %s", word, rest);
	else
		err_hint(e, "%s", rest);
}

const char *errno_name(int code)
{
	int n = abs(code);

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (names[i].number == n)
			return names[i].name;
	/* Drivers are free in what they return: the C library names the rest. */
	return strerrorname_np(n) ? strerrorname_np(n) : "EIO";
}

int errno_number(const char *name)
{
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (strcmp(names[i].name, name) == 0)
			return names[i].number;
	for (int n = 1; n < ERRNO_MAX; n++)
		if (strerrorname_np(n) && strcmp(strerrorname_np(n), name) == 0)
			return n;
	return 0;
}
