/* SPDX-License-Identifier: Apache-2.0 */
/* What is said through a door. */
#include "base/verb.h"

#include <stdarg.h>

int door_fail(struct door *d, int code, const struct err *e)
{
	d->say(d->ctx, code, e);
	return -code;
}

int door_refuse(struct door *d, int code, const char *fmt, ...)
{
	struct err e = { 0 };
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(e.text, sizeof(e.text), fmt, ap);
	va_end(ap);
	return door_fail(d, code, &e);
}

void door_warn(struct door *d, const char *fmt, ...)
{
	struct err e = { 0 };
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(e.text, sizeof(e.text), fmt, ap);
	va_end(ap);
	d->say(d->ctx, 0, &e);
}
