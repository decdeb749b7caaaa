/* SPDX-License-Identifier: Apache-2.0 */
/* What every request of a node is read with: texts, numbers, the secret; and whether anybody still
 * waits for the answer. */
#include <string.h>
#include <errno.h>
#include <poll.h>
#include <unistd.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include "many/cluster/ask.h"
#include "many/cluster/rsh.h"

bool ask_stopped(const struct ask_node *n)
{
	struct pollfd p = { .fd = n->in, .events = POLLRDHUP };

	if (atomic_load(n->stop))
		return true;
	return poll(&p, 1, 0) > 0 && (p.revents & (POLLHUP | POLLRDHUP | POLLERR));
}

int ask_text(const json_t *with, const char *key, size_t max, const char **out, struct err *e)
{
	const json_t *j = json_object_get(with, key);
	const char *s = json_string_value(j);
	size_t n = json_string_length(j);

	if (!j)
		return 0;
	if (!s || n > max)
		return err_set(e, -EINVAL, "\"%s\" has to be a text of at most %zu bytes", key,
			       max);
	for (size_t i = 0; i < n; i++)
		if ((unsigned char)s[i] < ' ' || s[i] == 0x7f)
			return err_set(e, -EINVAL, "\"%s\" has control characters in it", key);
	*out = s;
	return 0;
}

int ask_int(const json_t *with, const char *key, long long low, long long high, long long *out,
	    struct err *e)
{
	const json_t *j = json_object_get(with, key);

	if (!j)
		return 0;
	if (!json_is_integer(j) || json_integer_value(j) < low || json_integer_value(j) > high)
		return err_set(e, -EINVAL, "\"%s\" has to be a number from %lld to %lld", key, low,
			       high);
	*out = json_integer_value(j);
	return 0;
}

enum { TOKEN_DIGITS = 2 * TOKEN_MAX };

static int digit(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

int measure_token(const json_t *with, struct token *out, struct err *e)
{
	const char *hex = NULL;
	size_t n;
	int r = ask_text(with, "token", TOKEN_DIGITS, &hex, e);

	out->n = 0;
	if (r)
		return r;
	n = hex ? strlen(hex) : 0;
	if (n % 2 || n < 2 * TOKEN_MIN || n > TOKEN_DIGITS)
		return err_set(e, -EINVAL, "the request has no token");
	for (size_t i = 0; i < n; i += 2) {
		int high = digit(hex[i]), low = digit(hex[i + 1]);

		if (high < 0 || low < 0)
			return err_set(e, -EINVAL, "the token is not hexadecimal");
		out->secret[i / 2] = (uint8_t)(high << 4 | low);
	}
	out->n = n / 2;
	return 0;
}

int measure_token_file(const struct token *t, char path[64], struct err *e)
{
	int fd = memfd_create("gputune-token", MFD_CLOEXEC);

	if (fd < 0)
		return err_set(e, -errno, "no file in memory: %s", strerror(errno));
	/* Digits: a file's last newlines would not count, and these may be in a random secret. */
	for (size_t i = 0; i < t->n; i++)
		if (dprintf(fd, "%02x", t->secret[i]) != 2) {
			close(fd);
			return err_set(e, -EIO, "the token's file cannot be written");
		}
	if (fchmod(fd, 0600)) {
		int r = -errno;

		close(fd);
		return err_set(e, r, "the token's file cannot be made private");
	}
	snprintf(path, 64, "/proc/self/fd/%d", fd);
	return fd;
}
