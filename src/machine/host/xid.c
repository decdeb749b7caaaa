/* SPDX-License-Identifier: Apache-2.0 */
/* The driver's error lines in the kernel's log. Anybody may write to that log, so nothing in it is
 * believed but its shape. */
#include "machine/host/xid.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/text.h"

/* Xid numbers are below 200 today, those of switches have five digits; a log with more kinds than
 * the table has is nonsense. */
enum { XID_MAX = 99999, KINDS_MAX = 64 };

struct xid {
	long number, count;
	double last; /* seconds on the log's clock; below 0: not told */
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
static long number_after(const char *at)
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

static void note(struct xid *kinds, size_t *n, long number, double when)
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
		    number_after(at) > 0)
			note(kinds, &n, number_after(at), line_time(log, at));
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
		if (number_after(at) < 0)
			continue;
		comma = at + strcspn(at, ",\n");
		n += *comma == ',' && comma[1] == ' ' && strncmp(comma + 2, severity, len) == 0 &&
		     (comma[2 + len] == ',' || comma[2 + len] == '\n' || !comma[2 + len]);
	}
	return n;
}
