/* SPDX-License-Identifier: Apache-2.0 */
/* Base64 of bytes, in both alphabets. */
#include "base/base64.h"

void base64_add(struct text *t, const void *data, size_t n, bool url)
{
	static const char digits[] =
		"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789";
	const unsigned char *p = data;
	unsigned bits = 0, waiting = 0;

	for (size_t i = 0; i < n || waiting;) {
		unsigned d;

		if (i < n && waiting < 6) {
			bits = (bits << 8 | p[i++]) & 0xffff;
			waiting += 8;
		}
		/* The last digit is filled up with zero bits. */
		d = waiting >= 6 ? bits >> (waiting - 6) & 63 : bits << (6 - waiting) & 63;
		waiting -= waiting >= 6 ? 6 : waiting;
		text_addc(t, d < 62 ? digits[d] : d == 62 ? (url ? '-' : '+') : (url ? '_' : '/'));
	}
	for (; !url && n % 3; n++)
		text_addc(t, '=');
}
