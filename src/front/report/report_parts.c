/* SPDX-License-Identifier: Apache-2.0 */
/* Sections of a report that are put together from several pages: the hardware, kept results, what
 * was proven. */
#include <math.h>
#include <string.h>

#include "render/figure.h"
#include "measure/bench/figures_bench.h"
#include "measure/prove/figures_proof.h"
#include "measure/prove/measured.h"
#include "look/show/page.h"
#include "measure/bench/page_bench.h"
#include "front/report/page_report.h"
#include "render/topology_text.h"

/* The drawing is the first thing that is seen of a machine; tables lie below it, folded. */
static void topology(struct doc *d, const struct machine *m, const char *id)
{
	struct doc *page = page_topology(d->arena, m), *rest = doc_new(d->arena);
	size_t n;
	const struct narrow *spots = narrow_spots(d->arena, m, &n);
	struct place *top = places_of(d->arena, m, spots, n);

	*rest = *page;
	rest->n = 0;
	for (size_t i = 0; i < page->n; i++)
		if (page->nodes[i]->kind == NODE_FIGURE) {
			node_span(d, doc_paragraph(d),
				  cell_as(n && spots[0].fault ? STYLE_BAD : STYLE_PLAIN,
					  bottleneck_text(d->arena, spots, n, top)));
			doc_figure(d, NULL, page->nodes[i]->svg, NULL);
		} else {
			rest->nodes[rest->n++] = page->nodes[i];
		}
	if (rest->n < 3) { /* its heading, and that there is nothing */
		doc_append(d, rest, 1);
		return;
	}
	if (!id)
		return;
	doc_section(d, 2, arena_printf(d->arena, "%s-near", id), "Who is near whom", cell(NULL),
		    false);
	doc_append(d, rest, 2);
	doc_section_end(d);
}

struct doc *report_hardware(struct arena *a, const struct machine *m, const char *id)
{
	struct doc *d = doc_new(a);

	doc_append(d, page_overview(a, m), 1);
	topology(d, m, id);
	return d;
}

/* "memory-bandwidth, copy" */
static const char *benches_of(struct arena *a, const struct record *r)
{
	const char *names = "";

	for (size_t i = 0; i < r->n; i++)
		if (i == 0 || strcmp(r->cases[i].bench, r->cases[i - 1].bench) != 0)
			names = arena_printf(a, "%s%s%s", names, *names ? ", " : "",
					     r->cases[i].bench);
	return *names ? names : "no case";
}

struct doc *report_benches(struct arena *a, const struct record *items, size_t n, const char *id)
{
	struct doc *d = doc_new(a);

	/* They stand oldest first. */
	for (size_t i = n; i-- > 0;) {
		const struct record *r = &items[i];

		doc_section(d, 2, arena_printf(a, "%s-%zu", id, n - i), benches_of(a, r),
			    cell_printf(d, r->partial ? STYLE_WARN : STYLE_MUTED, "%s%s",
					figure_time(a, r->time_s),
					r->partial ? ", interrupted" : ""),
			    i + 1 == n);
		doc_append(d, page_bench(a, r, false), 2);
		doc_section_end(d);
	}
	return d;
}

struct doc *report_proofs(struct arena *a, const struct ledger *l)
{
	struct doc *d;

	if (!measured_any(l))
		return NULL;
	d = doc_new(a);
	figures_ledger(d, l);
	measured_verdicts(d, NULL, l);
	return d;
}
