/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How often the kernel's log of this boot, as far as it is kept, names something. Object: "".
 * Field: "lines(TEXT)", the lines that hold TEXT; case counts. Counts alone leave this file, so
 * that a capture holds nothing of the log itself. Who may not read the log is refused, as by
 * dmesg(1).
 */
#include <stdlib.h>
#include <string.h>
#include <sys/klog.h>

#include "base/text.h"
#include "host/ask.h"

enum { READ_ALL = 3, BUFFER_SIZE = 10, LOG_MAX = 32 << 20 }; /* syslog(2) */

/* The log as it was when it was first asked about. */
struct log {
	char *text;
	int r;
};

static void take(struct log *l)
{
	int size = klogctl(BUFFER_SIZE, NULL, 0), n;

	if (size < 0 || size > LOG_MAX) {
		l->r = size < 0 ? -errno : -EFBIG;
		return;
	}
	l->text = calloc(1, (size_t)size + 1);
	n = l->text ? klogctl(READ_ALL, l->text, size) : -1;
	if (n < 0)
		l->r = l->text ? -errno : -ENOMEM;
	else
		l->text[n] = '\0';
}

static long long lines_with(const char *text, const char *part, size_t len)
{
	long long n = 0;

	for (const char *at = text; (at = memmem(at, strlen(at), part, len)) != NULL; n++) {
		at = strchr(at, '\n');
		if (!at)
			return n + 1;
	}
	return n;
}

static int log_ask(void **state, struct arena *a, const char *object, const char *field,
		   struct answer *out)
{
	static const char begin[] = "lines(";
	size_t n = strlen(field), skip = sizeof(begin) - 1;
	struct log *l = *state;

	(void)a;
	(void)object;
	if (!str_starts(field, begin) || n < skip + 2 || field[n - 1] != ')')
		return -EINVAL;
	if (!l) {
		l = *state = calloc(1, sizeof(*l));
		if (!l)
			return -ENOMEM;
		take(l);
	}
	if (l->r)
		return l->r;
	answer_int(out, lines_with(l->text, field + skip, n - skip - 1));
	return 0;
}

static void log_close(void *state)
{
	struct log *l = state;

	if (l)
		free(l->text);
	free(l);
}

const struct provider provider_kernel_log = { .api = "kernel-log",
					      .ask = log_ask,
					      .close = log_close };
