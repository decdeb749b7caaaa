/* SPDX-License-Identifier: Apache-2.0 */
/* Which of two versions is the older one, by the order of whoever counts them; and ranges. */
#ifndef DEFECTS_ORDER_H
#define DEFECTS_ORDER_H

#include <stdbool.h>

enum order {
	ORDER_NUMBERS,	/* drivers, libraries, kernels: numbers between dots and dashes */
	ORDER_PEP440,	/* Python packages */
	ORDER_DPKG,	/* Debian packages */
	ORDER_RPM,	/* RPM packages */
	ORDER_FIRMWARE, /* as dpkg compares, the text as a whole */
};

enum { ORDER_VERSION_MAX = 128 };

/* False: one of them has no order. *out: below 0, 0 or above. */
bool order_compare(enum order o, const char *a, const char *b, int *out);
/*
 * ">=570 <570.86.15 || 2.28.3": blanks join, "||" separates alternatives, a version alone is that
 * one, "!=" any other. A bound of dpkg, rpm or a kernel without "-" is compared with what stands
 * before the "-". 1: inside, 0: outside, -1: the version has no order, and is in no range.
 */
int order_in(enum order o, const char *range, const char *version);
/* Every bound of the range has an order, and it says something. */
bool order_range_valid(enum order o, const char *range);

#endif
