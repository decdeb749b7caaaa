/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How often the kernel's log of this boot, as far as it is kept, names something. Object: "".
 * Fields: "lines(TEXT)", the lines that hold TEXT, where case counts; "sxids(Fatal)" and
 * "sxids(Non-fatal)", errors of NVSwitches. Object: a GPU's PCI address. Field: "xids", its errors
 * as xid.h describes them. Counts and ages alone leave this file, so that a capture holds nothing
 * of the log itself. Who may not read the log is refused, as by dmesg(1).
 */
#include <stdlib.h>
#include <string.h>
#include <sys/klog.h>

#include "base/clock.h"
#include "base/text.h"
#include "machine/host/ask.h"
#include "machine/host/xid.h"

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
	const char *end = text + strlen(text);
	long long n = 0;

	for (const char *at = text; (at = memmem(at, (size_t)(end - at), part, len)) != NULL; n++) {
		at = strchr(at, '\n');
		if (!at)
			return n + 1;
	}
	return n;
}

static struct log *log_of(void **state)
{
	struct log *l = *state;

	if (!l) {
		l = *state = calloc(1, sizeof(*l));
		if (l)
			take(l);
	}
	return l;
}

/* The text between "NAME(" and the ")" that ends the field; NULL when it is another question. */
static const char *argument(const char *field, const char *name, size_t *len)
{
	size_t n = strlen(field), skip = strlen(name);

	if (!str_starts(field, name) || n < skip + 3 || field[skip] != '(' || field[n - 1] != ')')
		return NULL;
	*len = n - skip - 2;
	return field + skip + 1;
}

static int log_ask(void **state, struct arena *a, const char *object, const char *field,
		   struct answer *out)
{
	bool xids = strcmp(field, "xids") == 0 && *object;
	const char *part, *severity;
	size_t len = 0;
	struct log *l;

	part = argument(field, "lines", &len);
	severity = part ? NULL : argument(field, "sxids", &len);
	if (!xids && !part && !severity)
		return -EINVAL;
	l = log_of(state);
	if (!l)
		return -ENOMEM;
	if (l->r)
		return l->r;
	if (xids)
		answer_text(out, xid_summary(a, l->text, object, clock_mono_s()));
	else if (part)
		answer_int(out, lines_with(l->text, part, len));
	else
		answer_int(out, sxid_count(l->text, arena_strndup(a, severity, len)));
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
