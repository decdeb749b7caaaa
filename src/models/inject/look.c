/* SPDX-License-Identifier: Apache-2.0 */
/* A moment's kernels and copies become a line. It knows nothing of who saw them. */
#include "models/inject/look.h"

#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "models/diagnose/spans.h"

enum {
	TOLD_MOST = 48, /* kernels of a line, the longest first */
	DEVICES_MOST = 16,
	FILE_BYTES_MOST = 64 << 20,
};

/* Idle time by the length of its gaps. */
static const uint64_t gap_ns[] = { 20000, 100000, 1000000, 10000000, UINT64_MAX };
enum { GAPS = sizeof(gap_ns) / sizeof(gap_ns[0]) };

bool look_make(struct trace_look *l)
{
	l->records = malloc(LOOK_RECORDS_MOST * sizeof(*l->records));
	l->names = calloc(LOOK_NAMES_MOST, sizeof(*l->names));
	return l->records && l->names;
}

void look_free(struct trace_look *l)
{
	free(l->records);
	free(l->names);
}

/* Its entry; names beyond the table share the last one. */
static struct look_name *name_of(struct trace_look *l, const char *s)
{
	uint32_t h = 2166136261u;
	size_t n = 0, mask = 2 * LOOK_NAMES_MOST - 1;
	struct look_name *x;

	for (; n < LOOK_NAME_BYTES - 1 && s[n]; n++)
		h = (h ^ (unsigned char)s[n]) * 16777619u;
	for (h &= (uint32_t)mask; l->slots[h]; h = (h + 1) & (uint32_t)mask) {
		x = &l->names[l->slots[h] - 1];
		if (strncmp(x->text, s, n) == 0 && !x->text[n])
			return x;
	}
	if (l->n_names == LOOK_NAMES_MOST)
		return &l->names[LOOK_NAMES_MOST - 1];
	x = &l->names[l->n_names];
	memcpy(x->text, s, n);
	x->text[n] = '\0';
	x->comm = span_is_comm(x->text);
	l->slots[h] = (uint16_t)++l->n_names;
	return x;
}

/* What of it lies in the moment, in ns; 0: nothing. */
static uint64_t add(struct trace_look *l, enum span_kind kind, unsigned device, uint64_t from,
		    uint64_t to)
{
	from = from > l->from ? from : l->from;
	to = to < l->to ? to : l->to;
	if (to <= from)
		return 0;
	if (l->n == LOOK_RECORDS_MOST)
		l->full = true;
	else
		l->records[l->n++] =
			(struct look_record){ from, to, (uint8_t)(device % DEVICES_MOST),
					      (uint8_t)kind };
	return to - from;
}

void look_kernel(struct trace_look *l, const char *name, unsigned device, uint64_t from,
		 uint64_t to)
{
	struct look_name *x = name_of(l, name);
	uint64_t ns = add(l, x->comm ? SPAN_COMM : SPAN_COMPUTE, device, from, to);

	x->ns += ns;
	x->n += ns > 0;
}

void look_copy(struct trace_look *l, unsigned device, uint64_t from, uint64_t to, bool pageable)
{
	uint64_t ns = add(l, SPAN_COPY, device, from, to);

	l->pageable_ns += pageable ? ns : 0;
}

void look_wait(struct trace_look *l, uint64_t from, uint64_t to)
{
	from = from > l->from ? from : l->from;
	to = to < l->to ? to : l->to;
	l->waits += to > from;
	l->wait_ns += to > from ? to - from : 0;
}

/* --- the line --------------------------------------------------------------------------------- */

static int by_place(const void *a, const void *b)
{
	const struct look_record *x = a, *y = b;

	if (x->device != y->device)
		return x->device < y->device ? -1 : 1;
	return (x->from > y->from) - (x->from < y->from);
}

static int by_time(const void *a, const void *b)
{
	const struct look_name *x = *(const struct look_name *const *)a,
			       *y = *(const struct look_name *const *)b;

	return (x->ns < y->ns) - (x->ns > y->ns);
}

static void put(struct trace_look *l, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
static void put(struct trace_look *l, const char *fmt, ...)
{
	va_list ap;
	int n;

	va_start(ap, fmt);
	n = vsnprintf(l->text + l->text_n, sizeof(l->text) - l->text_n, fmt, ap);
	va_end(ap);
	if (n > 0 && l->text_n + (size_t)n < sizeof(l->text))
		l->text_n += (size_t)n;
}

static void gap(uint64_t *gaps, uint64_t ns)
{
	size_t g = 0;

	while (ns >= gap_ns[g])
		g++;
	gaps[g] += ns;
}

/* One GPU's records, in order. */
static void put_device(struct trace_look *l, const struct look_record *r, size_t n)
{
	struct spans s = { 0 };
	uint64_t gaps[GAPS] = { 0 }, until = l->from;

	for (size_t i = 0; i < n; i++) {
		gap(gaps, r[i].from > until ? r[i].from - until : 0);
		until = r[i].to > until ? r[i].to : until;
		spans_add(&s, (enum span_kind)r[i].kind, (double)(r[i].from - l->from),
			  (double)(r[i].to - l->from));
	}
	gap(gaps, l->to - until);
	put(l,
	    "{\"device\":%u,\"compute_ns\":%.0f,\"comm_ns\":%.0f,\"copy_ns\":%.0f,\"kernels_ns\":%."
	    "0f,\"any_ns\":%.0f,\"kernels\":%zu,\"comms\":%zu,\"copies\":%zu,\"gaps_ns\":[",
	    r->device, s.sum[SPAN_COMPUTE], s.sum[SPAN_COMM], s.sum[SPAN_COPY], s.kernels, s.any,
	    s.n[SPAN_COMPUTE], s.n[SPAN_COMM], s.n[SPAN_COPY]);
	for (size_t g = 0; g < GAPS; g++)
		put(l, "%s%llu", g ? "," : "", (unsigned long long)gaps[g]);
	put(l, "]}");
}

static void put_names(struct trace_look *l)
{
	for (size_t i = 0; i < l->n_names; i++)
		l->order[i] = &l->names[i];
	qsort(l->order, l->n_names, sizeof(*l->order), by_time);
	put(l, "],\"names\":[");
	for (size_t i = 0; i < l->n_names && i < TOLD_MOST && l->order[i]->n; i++) {
		put(l, "%s[\"", i ? "," : "");
		for (const char *p = l->order[i]->text; *p; p++)
			put(l, "%c", *p < ' ' || *p == '"' || *p == '\\' || *p > '~' ? '?' : *p);
		put(l, "\",%llu,%u]", (unsigned long long)l->order[i]->ns, l->order[i]->n);
	}
	for (size_t i = 0; i < l->n_names; i++) {
		l->names[i].ns = 0;
		l->names[i].n = 0;
	}
	put(l, "]}\n");
}

static void put_head(struct trace_look *l, int pid, int rank)
{
	l->text_n = 0;
	put(l, "{\"gputune_trace\":1,\"pid\":%d,\"rank\":%d,", pid, rank);
}

static bool append(const struct trace_look *l, const char *path)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NOFOLLOW, 0600);
	struct stat st;
	bool done = fd >= 0 && l->text[l->text_n - 1] == '\n' && fstat(fd, &st) == 0 &&
		    S_ISREG(st.st_mode) && st.st_size < FILE_BYTES_MOST &&
		    write(fd, l->text, l->text_n) == (ssize_t)l->text_n;

	if (fd >= 0)
		close(fd);
	return done;
}

bool look_write_none(struct trace_look *l, const char *path, int pid, int rank, const char *why)
{
	put_head(l, pid, rank);
	put(l, "\"none\":\"%s\"}\n", why);
	return append(l, path);
}

bool look_write(struct trace_look *l, const char *path, int pid, int rank)
{
	if (l->n)
		qsort(l->records, l->n, sizeof(*l->records), by_place);
	put_head(l, pid, rank);
	put(l, "\"at_s\":%.3f,\"ns\":%llu,\"cut\":%s,\"copies_seen\":%s,\"pageable_ns\":%llu,",
	    l->at_s, (unsigned long long)(l->to - l->from), l->full ? "true" : "false",
	    l->copies ? "true" : "false", (unsigned long long)l->pageable_ns);
	if (l->waits_seen)
		put(l, "\"waits\":%llu,\"wait_ns\":%llu,", (unsigned long long)l->waits,
		    (unsigned long long)l->wait_ns);
	put(l, "\"devices\":[");
	for (size_t i = 0, n; i < l->n; i += n) {
		for (n = 1; i + n < l->n && l->records[i + n].device == l->records[i].device;)
			n++;
		put(l, i ? "," : "");
		put_device(l, l->records + i, n);
	}
	put_names(l);
	l->n = 0;
	l->full = false;
	l->pageable_ns = l->wait_ns = l->waits = 0;
	return append(l, path);
}
