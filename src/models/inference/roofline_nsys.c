/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The CSV of nsys stats. A file may hold several reports, each with a title line and a head; which
 * report it is, its columns tell. Times come in ns, us, ms or s as their head says.
 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/csv.h"
#include "base/text.h"
#include "models/inference/roofline.h"

enum { COLUMNS_MAX = 64, NAME_MAX_BYTES = 4096 };

enum report { NONE, KERNELS, COPY_TIMES, COPY_SIZES, TRACE };

struct reader {
	struct arena *a;
	struct roof_profile *out;
	enum report report;
	const char *head[COLUMNS_MAX];
	size_t n;
	int label, time, count, least, most, bytes, grid[3];
	double time_ms, byte_unit; /* of one unit of the column */
};

static int column(const struct reader *r, const char *begins)
{
	for (size_t i = 0; i < r->n; i++)
		if (str_starts(r->head[i], begins) &&
		    (!r->head[i][strlen(begins)] || r->head[i][strlen(begins)] == ' '))
			return (int)i;
	return -1;
}

/* "Total Time (ns)": what a unit is in ms. */
static double unit_ms(const char *head)
{
	return strstr(head, "(ns)")   ? 1e-6
	       : strstr(head, "(us)") ? 1e-3
	       : strstr(head, "(ms)") ? 1
	       : strstr(head, "(s")   ? 1e3
				      : 1e-6;
}

static double unit_bytes(const char *head)
{
	return strstr(head, "(B)")    ? 1
	       : strstr(head, "(KB)") ? 1e3
	       : strstr(head, "(GB)") ? 1e9
				      : 1e6;
}

static void common(struct reader *r, int time)
{
	r->time = time;
	r->time_ms = time >= 0 ? unit_ms(r->head[time]) : 0;
	r->least = column(r, "Min");
	r->most = column(r, "Max");
}

/* Which report begins with this head; NONE: another one, or no head at all. */
static enum report begin(struct reader *r)
{
	int total = column(r, "Total Time"), sizes = column(r, "Total"),
	    starts = column(r, "Start");

	r->label = column(r, "Name");
	r->label = r->label < 0 ? column(r, "Operation") : r->label;
	r->count = column(r, "Instances");
	r->count = r->count < 0 ? column(r, "Count") : r->count;
	if (r->label < 0)
		return NONE;
	if (starts >= 0 && column(r, "Duration") >= 0 && column(r, "CorrId") >= 0) {
		common(r, column(r, "Duration"));
		r->bytes = column(r, "Bytes");
		r->byte_unit = r->bytes >= 0 ? unit_bytes(r->head[r->bytes]) : 0;
		r->grid[0] = column(r, "GrdX");
		r->grid[1] = column(r, "GrdY");
		r->grid[2] = column(r, "GrdZ");
		return TRACE;
	}
	/* Reports of the host's calls count "Num Calls": they are no time of the GPU. */
	if (total >= 0 && r->count >= 0) {
		common(r, total);
		return column(r, "Operation") >= 0 ? COPY_TIMES : KERNELS;
	}
	if (sizes >= 0 && r->count >= 0 && strchr(r->head[sizes], '(') &&
	    column(r, "Operation") >= 0) {
		r->bytes = sizes;
		r->byte_unit = unit_bytes(r->head[sizes]);
		return COPY_SIZES;
	}
	return NONE;
}

static double number(const char **cell, size_t n, int at)
{
	char *end;
	double v;

	if (at < 0 || (size_t)at >= n || !*cell[at])
		return 0;
	v = strtod(cell[at], &end);
	return *end == '\0' && isfinite(v) && v > 0 && v < 1e18 ? v : 0;
}

static bool copy_of(const char *name, enum roof_copy *way)
{
	static const struct {
		const char *word;
		enum roof_copy way;
	} ways[] = {
		{ "Host-to-Device", COPY_H2D },	  { "HtoD", COPY_H2D },
		{ "Device-to-Host", COPY_D2H },	  { "DtoH", COPY_D2H },
		{ "Device-to-Device", COPY_D2D }, { "DtoD", COPY_D2D },
		{ "Peer-to-Peer", COPY_P2P },	  { "PtoP", COPY_P2P },
		{ "memset", COPY_SET },		  { "Memset", COPY_SET },
	};

	for (size_t i = 0; i < sizeof(ways) / sizeof(ways[0]); i++)
		if (strstr(name, ways[i].word)) {
			*way = ways[i].way;
			return true;
		}
	return false;
}

static struct roof_point *point(struct reader *r, const char *name)
{
	struct roof_point *p = NULL;
	enum roof_copy way;

	if (*name && strlen(name) <= NAME_MAX_BYTES)
		p = roof_point_of(r->a, r->out, name);
	if (!p)
		r->out->dropped++;
	else if ((r->report != KERNELS && *name == '[' && copy_of(name, &way)) ||
		 (r->report != KERNELS && r->report != TRACE && copy_of(name, &way))) {
		p->copy = true;
		p->way = way;
	}
	return p;
}

static void add_time(struct roof_point *p, double ms, double n, double least, double most)
{
	p->time_ms += ms;
	p->launches += n;
	if (least > 0 && (!(p->shortest_ms > 0) || least < p->shortest_ms))
		p->shortest_ms = least;
	p->longest_ms = fmax(p->longest_ms, most);
}

static void trace_row(struct reader *r, const char **cell, size_t n, struct roof_point *p)
{
	double ms = number(cell, n, r->time) * r->time_ms, blocks = 1;

	for (int i = 0; i < 3; i++)
		blocks *= number(cell, n, r->grid[i]);
	p->blocks = (p->blocks * p->launches + blocks) / (p->launches + 1);
	add_time(p, ms, 1, ms, ms);
	if (p->copy)
		p->bytes += number(cell, n, r->bytes) * r->byte_unit;
}

static void row(struct reader *r, const char **cell, size_t n)
{
	struct roof_point *p = point(r, cell[r->label]);

	if (!p)
		return;
	if (r->report == TRACE)
		trace_row(r, cell, n, p);
	else if (r->report == COPY_SIZES)
		p->bytes += number(cell, n, r->bytes) * r->byte_unit;
	else
		add_time(p, number(cell, n, r->time) * r->time_ms, number(cell, n, r->count),
			 number(cell, n, r->least) * r->time_ms,
			 number(cell, n, r->most) * r->time_ms);
}

/* Sizes without times are no work that was measured. */
static void without_time(struct roof_profile *p)
{
	size_t k = 0;

	for (size_t i = 0; i < p->n; i++)
		if (p->points[i].time_ms > 0)
			p->points[k++] = p->points[i];
	p->dropped += p->n - k;
	p->n = k;
}

static void record(struct reader *r, const char **cell, size_t n)
{
	if (n < 3) { /* blank lines and titles end a report */
		r->report = NONE;
		return;
	}
	if (r->report != NONE) {
		if ((size_t)r->label < n)
			row(r, cell, n);
		return;
	}
	for (size_t i = 0; i < n; i++)
		r->head[i] = arena_strndup(r->a, cell[i], strnlen(cell[i], 256));
	r->n = n;
	r->report = begin(r);
}

int roof_read_nsys(struct arena *a, const char *name, const char *text, struct roof_profile *out,
		   struct err *e)
{
	struct reader r = { .a = a, .out = out };
	const char *cell[COLUMNS_MAX], *s = text, *next;
	struct arena scratch = { 0 };
	long line = 1;
	size_t n, count = 0;

	*out = (struct roof_profile){ .source = "nsys stats" };
	for (; s && *s; s = next) {
		next = csv_record(&scratch, s, cell, COLUMNS_MAX, &n);
		if (next) {
			record(&r, cell, n);
			line += csv_lines(s, next);
		}
		if (++count % 1024 == 0)
			arena_free(&scratch);
	}
	arena_free(&scratch);
	if (!s)
		return err_set(e, -EINVAL, "%s:%ld: a quote that is not closed", name, line);
	without_time(out);
	if (!out->n)
		return err_set(e, -ENODATA,
			       "%s: no report of nsys stats that has times of the GPU "
			       "(cuda_gpu_kern_sum, cuda_gpu_mem_time_sum, cuda_gpu_trace)",
			       name);
	return 0;
}
