/* SPDX-License-Identifier: Apache-2.0 */
/* Reading one tar header: numbers, check sum, and names that stay inside. */
#include "machine/host/tar_header.h"

#include <errno.h>
#include <string.h>

int tar_octal(const char *s, size_t n, long long *out)
{
	long long v = 0;
	size_t i = 0;

	while (i < n && s[i] == ' ')
		i++;
	for (; i < n && s[i] >= '0' && s[i] <= '7'; i++)
		v = v * 8 + (s[i] - '0');
	if (i < n && s[i] != '\0' && s[i] != ' ')
		return -EINVAL;
	*out = v;
	return 0;
}

bool tar_checksum_fits(const struct tar_header *h)
{
	const unsigned char *p = (const unsigned char *)h;
	long long want;
	unsigned sum = 0;

	for (size_t i = 0; i < TAR_RECORD; i++)
		sum += p[i];
	/* The sum's own field counts as blanks. */
	for (size_t i = 0; i < sizeof(h->checksum); i++)
		sum += ' ' - (unsigned)(unsigned char)h->checksum[i];
	return tar_octal(h->checksum, sizeof(h->checksum), &want) == 0 && sum == want;
}

bool tar_clean_name(const char *raw, char *out, size_t cap)
{
	size_t len = 0;

	if (raw[0] == '/')
		return false;
	while (*raw) {
		size_t n = strcspn(raw, "/");

		if (n == 2 && raw[0] == '.' && raw[1] == '.')
			return false;
		if (n && !(n == 1 && raw[0] == '.')) {
			if (len + n + 2 > cap)
				return false;
			if (len)
				out[len++] = '/';
			memcpy(out + len, raw, n);
			len += n;
		}
		raw += n;
		raw += strspn(raw, "/");
	}
	out[len] = '\0';
	return true;
}
