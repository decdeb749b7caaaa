/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The CSV of nsys stats (2021 to 2025), one report or several in a file: kernels, the host's calls,
 * copies, and ranges of NVTX. Which report it is, its columns tell. Times are sums over a run whose
 * length no report names.
 */
#include <errno.h>
#include <math.h>
#include <string.h>

#include "base/text.h"
#include "models/diagnose/read.h"

enum { COLUMNS_MAX = 64, NAME_MOST = 256, ROWS_TOLD = 200 };

enum report { NONE, KERNELS, CALLS, COPIES, RANGES };

struct walk {
	struct read_place at;
	const char *path;
	enum report report;
	char head[COLUMNS_MAX][64];
	size_t n, rows, told;
	int label, time, count;
	double unit_s;
	bool known;
	double rest_s[2], kernels; /* of rows beyond ROWS_TOLD: compute, communication */
	size_t rest_line[2], kernels_line;
};

static int column(const struct walk *w, const char *begins)
{
	for (size_t i = 0; i < w->n; i++)
		if (str_starts(w->head[i], begins) && strchr(" (", w->head[i][strlen(begins)]))
			return (int)i;
	return -1;
}

static double unit_of(const char *head)
{
	return strstr(head, "(us)")   ? 1e-6
	       : strstr(head, "(ms)") ? 1e-3
	       : strstr(head, "(s")   ? 1
				      : 1e-9;
}

/* The head of a report, or none. "Num Calls" is the host's (older versions, too, write
 * "Instances" for ranges), "Operation" a copy's, "Range" NVTX's. */
static enum report nsys_begin(struct walk *w)
{
	w->label = column(w, "Name");
	w->time = column(w, "Total Time");
	w->count = column(w, "Instances");
	w->unit_s = w->time >= 0 ? unit_of(w->head[w->time]) : 0;
	if (w->time < 0)
		return NONE;
	if ((column(w, "Num Calls")) >= 0) {
		w->count = column(w, "Num Calls");
		return w->label >= 0 ? CALLS : NONE;
	}
	if (column(w, "Operation") >= 0) {
		w->label = column(w, "Operation");
		w->count = w->count >= 0 ? w->count : column(w, "Count");
		return COPIES;
	}
	if (column(w, "Range") >= 0) {
		w->label = column(w, "Range");
		return RANGES;
	}
	return w->label >= 0 && w->count >= 0 ? KERNELS : NONE;
}

/* Sums of what is too small to be told by itself. */
static void flush(struct walk *w)
{
	struct read_place p = w->at;

	for (int i = 0; i < 2; i++) {
		p.line = w->rest_line[i];
		if (w->rest_s[i] > 0)
			read_total(&p, i ? FIGURE_COMM_S : FIGURE_COMPUTE_S, w->rest_s[i],
				   (double)NAN, "other kernels");
		w->rest_s[i] = 0;
	}
	p.line = w->kernels_line;
	if (w->kernels > 0)
		read_total(&p, FIGURE_KERNELS, w->kernels, (double)NAN, NULL);
	w->kernels = 0;
	w->rows = 0;
}

static void kernel(struct walk *w, const char *name, double s, double count)
{
	int comm = span_is_comm(name);

	if (!w->kernels_line || !(w->kernels > 0))
		w->kernels_line = w->at.line;
	w->kernels += read_sane(count) ? count : 0;
	if (span_gemm(name))
		read_total(&w->at, FIGURE_GEMM_S, s, (double)NAN, span_gemm(name));
	if (w->rows++ < ROWS_TOLD) {
		read_total(&w->at, comm ? FIGURE_COMM_S : FIGURE_COMPUTE_S, s, (double)NAN, name);
		return;
	}
	if (!(w->rest_s[comm] > 0))
		w->rest_line[comm] = w->at.line;
	w->rest_s[comm] += s;
}

static void nsys_row(struct walk *w, const char **cell)
{
	double s = w->unit_s * read_number(cell[w->time], NULL);
	const char *full = cell[w->label];
	double count = w->count >= 0 ? read_number(cell[w->count], NULL) : (double)NAN;
	enum figure_kind kind = FIGURE_KINDS;
	char name[NAME_MOST];

	if (!read_sane(s))
		return;
	/* Templates make names of kilobytes. */
	memcpy(name, full, strnlen(full, sizeof(name) - 1));
	name[strnlen(full, sizeof(name) - 1)] = '\0';
	w->told++;
	if (w->report == KERNELS) {
		kernel(w, name, s, count);
		return;
	}
	kind = w->report == CALLS	    ? span_host_call(name)
	       : w->report == RANGES	    ? read_range(name)
	       : strcasestr(name, "memset") ? FIGURE_KINDS
					    : FIGURE_COPY_S;
	if (kind != FIGURE_KINDS)
		read_total(&w->at, kind, s, (double)NAN, name);
	if (kind == FIGURE_SYNC_S && read_sane(count))
		read_total(&w->at, FIGURE_SYNCS, count, (double)NAN, name);
}

static void nsys_record(struct walk *w, const char **cell, size_t n)
{
	if (n < 3) { /* blank lines and titles end a report */
		flush(w);
		w->report = NONE;
		return;
	}
	if (w->report != NONE &&
	    strcmp(cell[w->time < (int)n ? w->time : 0], w->head[w->time]) != 0) {
		if (w->label < (int)n && w->time < (int)n && w->count < (int)n)
			nsys_row(w, cell);
		return;
	}
	flush(w);
	w->n = n;
	for (size_t i = 0; i < n; i++) {
		size_t len = strnlen(cell[i], sizeof(w->head[i]) - 1);

		memcpy(w->head[i], cell[i], len);
		w->head[i][len] = '\0';
	}
	w->report = nsys_begin(w);
	w->known |= w->report != NONE;
}

static int nsys_read_all(struct run_evidence *ev, size_t file, const char *text, size_t size,
			 struct err *e)
{
	struct walk w = { .at = { .ev = ev, .file = file, .line = 1, .rank = -1, .step = -1 },
			  .path = ev->files[file].path };
	const char *cell[COLUMNS_MAX], *s = text, *next = text;
	struct arena scratch = { 0 };
	size_t n, count = 0;

	for (; *s && s < text + size; s = next) {
		next = csv_record(&scratch, s, cell, COLUMNS_MAX, &n);
		if (!next)
			break;
		nsys_record(&w, cell, n < COLUMNS_MAX ? n : COLUMNS_MAX);
		w.at.line += (size_t)csv_lines(s, next);
		if (++count % 1024 == 0)
			arena_free(&scratch);
	}
	arena_free(&scratch);
	flush(&w);
	ev->files[file].used = w.told;
	if (!next)
		return err_set(e, -EBADMSG, "%s:%zu: unclosed quote", w.path, w.at.line);
	return w.told ? 0 : err_set(e, -ENOTSUP, "%s: no row of a supported nsys report", w.path);
}

static bool looks(const char *head, size_t n, const char *path)
{
	(void)n;
	(void)path;
	return strstr(head, "Total Time (") && strchr(head, ',') &&
	       (strstr(head, "Time (%)") || strstr(head, "Time(%)")) && !strstr(head, "Action");
}

const struct evidence_format evidence_nsys = { .name = "nsys stats CSV",
					       .looks = looks,
					       .read = nsys_read_all };
