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
#include <strings.h>
#include <sys/klog.h>

#include "base/clock.h"
#include "base/text.h"
#include "machine/host/ask.h"

/* --- lines of the log ------------------------------------------------------------------------- */

/* Xid numbers are below 200 today, those of switches have five digits; a log with more kinds than
 * the table has is nonsense. */
enum { XID_MAX = 99999, KINDS_MAX = 64 };

struct xid {
	long number, count;
	double last; /* seconds on the log's clock; below 0: not known */
};

/* "<6>[  123.456789] ...": the time of the line that at points into. */
static double line_time(const char *log, const char *at)
{
	const char *line = at;
	double t;
	char *end;

	while (line > log && line[-1] != '\n')
		line--;
	if (*line == '<')
		line += strcspn(line, ">\n") + 1;
	if (line >= at || *line != '[')
		return -1;
	t = strtod(line + 1, &end);
	return end > line + 1 && end < at && *end == ']' && t >= 0 && t < 1e10 ? t : -1;
}

/* The number behind the parenthesis that ends the place; -1 when the line has another shape. */
static long kernel_log_number_after(const char *at)
{
	size_t n = strcspn(at, ")\n");
	char *end;
	long v;

	if (at[n] != ')' || at[n + 1] != ':' || at[n + 2] != ' ')
		return -1;
	at += n + 3;
	if (*at < '0' || *at > '9')
		return -1;
	v = strtol(at, &end, 10);
	return v > 0 && v <= XID_MAX && end - at <= 5 ? v : -1;
}

static void kernel_log_note(struct xid *kinds, size_t *n, long number, double when)
{
	size_t i = 0;

	while (i < *n && kinds[i].number != number)
		i++;
	if (i == *n) {
		if (*n == KINDS_MAX)
			return;
		kinds[(*n)++] = (struct xid){ .number = number, .last = -1 };
	}
	kinds[i].count++;
	if (when > kinds[i].last)
		kinds[i].last = when;
}

static int by_number(const void *a, const void *b)
{
	const struct xid *x = a, *y = b;

	return x->number < y->number ? -1 : x->number > y->number;
}

const char *xid_summary(struct arena *a, const char *log, const char *pci, double now_s)
{
	static const char mark[] = "NVRM: Xid (PCI:";
	struct xid kinds[KINDS_MAX];
	size_t n = 0, len = strcspn(pci, ".");
	TEXT_AUTO t = { 0 };

	for (const char *at = log; len && (at = strstr(at, mark));) {
		at += sizeof(mark) - 1;
		if (strncasecmp(at, pci, len) == 0 && (at[len] == ')' || at[len] == ' ') &&
		    kernel_log_number_after(at) > 0)
			kernel_log_note(kinds, &n, kernel_log_number_after(at), line_time(log, at));
	}
	qsort(kinds, n, sizeof(kinds[0]), by_number);
	for (size_t i = 0; i < n; i++) {
		double age = kinds[i].last < 0 ? -1 : now_s - kinds[i].last;

		text_printf(&t, "%s%ld:%ld:%.0f", i ? " " : "", kinds[i].number, kinds[i].count,
			    kinds[i].last >= 0 && age < 0 ? 0.0 : age);
	}
	return t.s ? arena_strndup(a, t.s, t.len) : "";
}

long long sxid_count(const char *log, const char *severity)
{
	static const char mark[] = ": SXid (PCI:";
	size_t len = strlen(severity);
	long long n = 0;

	for (const char *at = log; (at = strstr(at, mark));) {
		const char *comma;

		at += sizeof(mark) - 1;
		if (kernel_log_number_after(at) < 0)
			continue;
		comma = at + strcspn(at, ",\n");
		n += *comma == ',' && comma[1] == ' ' && strncmp(comma + 2, severity, len) == 0 &&
		     (comma[2 + len] == ',' || comma[2 + len] == '\n' || !comma[2 + len]);
	}
	return n;
}

enum { READ_ALL = 3, BUFFER_SIZE = 10, LOG_MAX = 32 << 20 }; /* syslog(2) */

/* The log as it was when it was first asked about. */
struct log {
	char *text;
	int r;
};

static void kernel_log_take(struct log *l)
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
			kernel_log_take(l);
	}
	return l;
}

/* The text between "NAME(" and the ")" that ends the field; NULL when it is another question. */
static const char *kernel_log_argument(const char *field, const char *name, size_t *len)
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

	part = kernel_log_argument(field, "lines", &len);
	severity = part ? NULL : kernel_log_argument(field, "sxids", &len);
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
