/* SPDX-License-Identifier: Apache-2.0 */
/* What was measured between pairs, as matrices: who is slower than the others shows at once. */
#include <math.h>
#include <string.h>

#include "render/figure.h"
#include "measure/bench/page_bench.h"
#include "render/svg_shape.h"

enum { SIDE = 16 };

/* Below this share of the best pair it is marked. */
static const double slow = 0.8;

/* A case's name: "peer-write:gpu0-gpu1", "h2d:gpu0:node1", "local:gpu0". */
struct pair {
	const char *kind;
	size_t kind_len;
	unsigned a, b;
	bool node; /* b is one of the host's */
};

struct matrix {
	const char *bench, *unit, *title;
	bool nodes, lower;
	double v[SIDE][SIDE];
	bool has[SIDE][SIDE], row[SIDE], column[SIDE];
	size_t n;
	double best; /* beside the diagonal */
};

/* How a kind of pair is read. */
static const struct kind {
	const char *bench, *kind, *title;
	bool turned; /* the second GPU gives */
	bool both;   /* one case for either order */
	bool lower;
	const char *diagonal; /* the cases of one GPU that stand there; NULL: none */
} kinds[] = {
	{ "copy", "peer-write", "by the copy engine of the source GPU", false, false, false,
	  "local" },
	{ "copy", "peer-read", "by the copy engine of the destination GPU", true, false, false,
	  "local" },
	{ "copy", "peer-both", "both directions at once, by copy engines", false, true, false,
	  "local" },
	{ "copy", "peer-write-kernel", "by a kernel of the source GPU", false, false, false,
	  "local-kernel" },
	{ "copy", "peer-read-kernel", "by a kernel of the destination GPU", true, false, false,
	  "local-kernel" },
	{ "copy", "peer-both-kernel", "both directions at once, by kernels", false, true, false,
	  "local-kernel" },
	{ "gpu-latency", "peer", "one load by the row's GPU from the column's memory", false, false,
	  true, "256MiB" },
	{ "copy", "h2d", "from the memory of the column's NUMA node to the row's GPU", false, false,
	  false, NULL },
	{ "copy", "d2h", "from the row's GPU to the memory of the column's NUMA node", false, false,
	  false, NULL },
};

static bool bench_matrix_page_number(const char **at, const char *word, unsigned *out)
{
	size_t n = strlen(word);
	const char *p = *at;

	if (strncmp(p, word, n) != 0 || p[n] < '0' || p[n] > '9')
		return false;
	*out = 0;
	for (p += n; *p >= '0' && *p <= '9' && *out < SIDE; p++)
		*out = *out * 10 + (unsigned)(*p - '0');
	*at = p;
	return *out < SIDE;
}

/* False: it is of no pair. One GPU is a pair with itself. */
static bool bench_matrix_page_parse(const char *name, struct pair *out)
{
	const char *colon = strchr(name, ':'), *at = colon ? colon + 1 : NULL;

	if (!colon || !bench_matrix_page_number(&at, "gpu", &out->a))
		return false;
	out->kind = name;
	out->kind_len = (size_t)(colon - name);
	out->b = out->a;
	out->node = *at == ':';
	if (!*at)
		return true;
	at++;
	return bench_matrix_page_number(&at, out->node ? "node" : "gpu", &out->b) && !*at;
}

static bool is_kind(const struct pair *p, const char *kind)
{
	return kind && strlen(kind) == p->kind_len && memcmp(kind, p->kind, p->kind_len) == 0;
}

bool page_bench_is_pair(const struct record_case *c)
{
	struct pair p;

	if (!c->n_series || !c->series[0].has_summary || !bench_matrix_page_parse(c->name, &p) ||
	    (p.a == p.b && !p.node))
		return false;
	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
		if (strcmp(c->bench, kinds[i].bench) == 0 && is_kind(&p, kinds[i].kind))
			return true;
	return false;
}

static void set(struct matrix *m, unsigned row, unsigned column, double v)
{
	m->v[row][column] = v;
	m->has[row][column] = m->row[row] = m->column[column] = true;
}

static void bench_matrix_page_add(struct matrix *m, const struct kind *k, const struct pair *p,
				  double v)
{
	if (p->a == p->b && !p->node) {
		/* Alone it makes no matrix. */
		m->v[p->a][p->a] = v;
		m->has[p->a][p->a] = true;
		return;
	}
	set(m, k->turned ? p->b : p->a, k->turned ? p->a : p->b, v);
	if (k->both)
		set(m, p->b, p->a, v);
	m->nodes = p->node;
	m->n++;
	if (m->n == 1 || (k->lower ? v < m->best : v > m->best))
		m->best = v;
}

static void bench_matrix_page_gather(const struct record *r, const struct kind *k, struct matrix *m)
{
	for (size_t i = 0; i < r->n; i++) {
		const struct record_case *c = &r->cases[i];
		struct pair p;

		if (strcmp(c->bench, k->bench) != 0 || !c->n_series || !c->series[0].has_summary ||
		    !bench_matrix_page_parse(c->name, &p))
			continue;
		if (is_kind(&p, k->diagonal) ? p.a != p.b || p.node : !is_kind(&p, k->kind))
			continue;
		/* The host's memory of no node in particular is no column. */
		if (!k->diagonal && !p.node)
			continue;
		m->unit = c->series[0].unit_text;
		bench_matrix_page_add(m, k, &p, c->series[0].s.median);
	}
}

static struct cell matrix_figure(struct doc *d, const struct matrix *m, unsigned row,
				 unsigned column)
{
	double v = m->v[row][column], share;
	struct cell c;

	if (!m->has[row][column])
		return (struct cell){ .text = "-", .style = STYLE_MUTED };
	if (row == column && !m->nodes)
		return cell_as(STYLE_MUTED, figure_number(d->arena, v));
	share = m->lower ? m->best / v : v / m->best;
	c = cell_as(share < slow ? STYLE_WARN : STYLE_PLAIN, figure_number(d->arena, v));
	c.heat = (unsigned char)fmin(fmax(ceil(share * 5), 1), 5);
	return c;
}

/* The same in colours, for HTML: the table above has the figures. */
static void colours(struct doc *d, const struct matrix *m, const char *title, const unsigned *from,
		    const struct column *columns, size_t n)
{
	const char **rows = arena_array(d->arena, SIDE, sizeof(*rows)),
		   **names = arena_array(d->arena, SIDE, sizeof(*names));
	double *v = arena_array(d->arena, SIDE * SIDE, sizeof(*v));
	struct chart_heat h = { .title = title,
				.unit = m->unit,
				.row_title = m->lower	? "GPU"
					     : m->nodes ? "GPU"
							: "from",
				.column_title = m->lower   ? "memory of"
						: m->nodes ? "host"
							   : "to",
				.rows = rows,
				.columns = names,
				.v = v,
				.lower = m->lower,
				.diagonal = !m->nodes,
				.n_columns = n - 1 };

	for (size_t k = 1; k < n; k++)
		names[k - 1] = columns[k].title;
	for (unsigned i = 0; i < SIDE; i++) {
		if (!m->row[i])
			continue;
		for (size_t k = 1; k < n; k++)
			v[h.n_rows * h.n_columns + k - 1] =
				m->has[i][from[k]] ? m->v[i][from[k]] : NAN;
		rows[h.n_rows++] = arena_printf(d->arena, "GPU %u", i);
	}
	if (h.n_rows > 2)
		doc_figure(d, title, svg_heat(d->arena, &h), NULL);
}

static void bench_matrix_page_draw(struct doc *d, const struct matrix *m)
{
	struct column columns[SIDE + 1] = { { .title = m->nodes ? "GPU" : "from \\ to" } };
	unsigned from[SIDE + 1];
	const char *title;
	size_t n = 1;
	struct node *t;

	if (m->lower)
		columns[0].title = "GPU \\ memory of";
	for (unsigned i = 0; i < SIDE; i++)
		if (m->column[i]) {
			from[n] = i;
			columns[n++] = (struct column){
				.title = arena_printf(d->arena, m->nodes ? "node %u" : "GPU %u", i),
				.right = true
			};
		}
	title = arena_printf(d->arena, "%s, %s: %s", m->bench, m->unit, m->title);
	t = doc_table(d, title, columns, n);
	for (unsigned i = 0; i < SIDE; i++) {
		struct cell *row;

		if (!m->row[i])
			continue;
		row = node_row(d, t);
		row[0] = cellf(d, "GPU %u", i);
		for (size_t k = 1; k < n; k++)
			row[k] = matrix_figure(d, m, i, from[k]);
	}
	colours(d, m, title, from, columns, n);
}

void page_bench_matrix(struct doc *d, const struct record *r)
{
	bool diagonal = false;

	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
		struct matrix m = { .bench = kinds[i].bench,
				    .title = kinds[i].title,
				    .lower = kinds[i].lower };

		bench_matrix_page_gather(r, &kinds[i], &m);
		if (m.n + kinds[i].both < 2)
			continue;
		bench_matrix_page_draw(d, &m);
		for (unsigned k = 0; k < SIDE; k++)
			diagonal = diagonal || (!m.nodes && m.has[k][k]);
	}
	if (diagonal)
		doc_text(d, "The diagonal shows copies within the GPU's own memory: bytes of a "
			    "copy count once, although the memory reads and writes them.");
}
