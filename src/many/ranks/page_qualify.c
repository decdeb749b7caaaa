/* SPDX-License-Identifier: Apache-2.0 */
/* What a qualification says, a row a figure, and its page. */
#include <math.h>
#include <string.h>

#include "base/json.h"
#include "knowledge/bands.h"
#include "many/ranks/qualify.h"
#include "render/shape_page.h"

enum { EARLIER_MAX = 64 << 20 };

static const char *const states[QUALIFY_STATES] = { "fit", "drain", "unknown" };

static const char *const pair_tests[PAIR_TESTS] = { "exchange", "large-packets", "tcp", "rdma",
						    "nccl" };

const char *qualify_pair_name(enum pair_test t)
{
	return pair_tests[t];
}

static const char *reasons_text(struct arena *a, const void *object)
{
	const struct qualify_node *n = object;
	const char *out = n->n_reasons ? n->reasons[0] : "";

	for (size_t i = 1; i < n->n_reasons; i++)
		out = arena_printf(a, "%s; %s", out, n->reasons[i]);
	return out;
}

static bool is_drained(const void *item, const void *object)
{
	(void)object;
	return ((const struct qualify_node *)item)->state == QUALIFY_DRAIN;
}

/* clang-format off */
static const struct shape drained_shape = SHAPE_OF(qualify_node, drained,
	{ "node", NULL, SHAPE_TEXT(qualify_node, name) },
	{ "reasons", NULL, SHAPE_TEXT_LIST(qualify_node, reasons, n_reasons) });

static const struct shape qualify_figure_shape = SHAPE_OF(qualify_figure, qualify_figure,
	{ "bench", NULL, SHAPE_TEXT(qualify_figure, bench), .title = "bench" },
	{ "case", NULL, SHAPE_TEXT(qualify_figure, name), .title = "case" },
	{ "value", NULL, SHAPE_REAL(qualify_figure, value), .title = "median" },
	{ "unit", NULL, SHAPE_TEXT(qualify_figure, unit), .title = "unit" });

static const struct shape qualify_pair_shape = SHAPE_OF(qualify_pair, qualify_pair,
	{ "test", NULL, SHAPE_CHOICE(qualify_pair, test, pair_tests) },
	{ "network", NULL, SHAPE_TEXT(qualify_pair, network) },
	{ "from", NULL, SHAPE_TEXT(qualify_pair, from) },
	{ "to", NULL, SHAPE_TEXT(qualify_pair, to) },
	{ "value", "Rate in the slower direction: Gbit/s for tcp and rdma, GB/s of bus bandwidth for nccl.",
	  SHAPE_REAL(qualify_pair, value), .unknown = SHAPE_NULL },
	{ "bad", "Why the test failed; null: it passed.", SHAPE_TEXT(qualify_pair, why), .unknown = SHAPE_NULL });

static const struct shape qualify_node_shape = SHAPE_OF(qualify_node, qualify_node,
	{ "node", NULL, SHAPE_TEXT(qualify_node, name), .title = "node" },
	{ "state", NULL, SHAPE_CHOICE(qualify_node, state, states), .title = "state" },
	{ "reasons", "Reason to drain the node, or why its state is unknown.", SHAPE_TEXT_LIST(qualify_node, reasons,
	  n_reasons),
	  .title = "~reason", .shown = reasons_text },
	{ "unreadable", "Values that were not read or not measured on the node.", SHAPE_TEXT(qualify_node, unreadable),
	  .unknown = SHAPE_NULL },
	{ "figures", "Medians of the node's benches.", SHAPE_LIST(qualify_node, figures, n_figures, qualify_figure) });

static const struct shape qualify_fault_shape = SHAPE_OF(qualify_fault, qualify_fault,
	{ "what", "A port, a node, or a path between two nodes.", SHAPE_TEXT(qualify_fault, what), .title = "~fault" },
	{ "node", "Node to drain; null: no single node.", SHAPE_TEXT(qualify_fault, node), .unknown = SHAPE_NULL },
	{ "certain", "true: no other cause explains the failed tests.", SHAPE_FLAG(qualify_fault, certain) },
	{ "or", "Alternative explanations.", SHAPE_TEXT(qualify_fault, others), .unknown = SHAPE_NULL, .title = "~or" },
	{ "evidence", NULL, SHAPE_TEXT(qualify_fault, evidence), .title = "~evidence" });

static const struct shape qualify_rail_shape = SHAPE_OF(qualify_rail, qualify_rail,
	{ "name", NULL, SHAPE_TEXT(qualify_rail, name), .title = "network" },
	{ "nodes", NULL, SHAPE_COUNT(qualify_rail, n), .title = "nodes" },
	{ "tests", "Number of measured exchanges between groups and pairs.", SHAPE_COUNT(qualify_rail, tests),
	  .title = "tests" },
	{ "gbit_per_s", "Usual rate that a node sends while all nodes exchange data.",
	  SHAPE_REAL(qualify_rail, gbit), .unknown = SHAPE_NULL, .title = "usual", .unit = "Gbit/s" },
	{ "round_trip_us", "Usual for TCP between two nodes.", SHAPE_REAL(qualify_rail, rtt_us), .unknown = SHAPE_NULL,
	  .title = "round trip", .unit = "us" },
	{ "paths", "Number of pairs of nodes that were measured separately.", SHAPE_COUNT(qualify_rail, paths),
	  .title = "paths" },
	{ "tcp_lowest_gbit_per_s", "Lowest TCP rate of these pairs.", SHAPE_REAL(qualify_rail, tcp),
	  .unknown = SHAPE_NULL, .title = "lowest TCP", .unit = "Gbit/s" },
	{ "rdma_lowest_gbit_per_s", NULL, SHAPE_REAL(qualify_rail, rdma), .unknown = SHAPE_NULL,
	  .title = "lowest RDMA", .unit = "Gbit/s" },
	{ "pairs_untested", "Number of pairs of nodes that no passed group test covered.",
	  SHAPE_COUNT(qualify_rail, pairs_untested), .title = "untested pairs" },
	{ "complete", "false: time ran out before every result was certain.", SHAPE_FLAG(qualify_rail, whole) });

const struct shape qualify_shape = SHAPE_OF(qualify, qualify,
	{ "seconds", NULL, SHAPE_REAL(qualify, seconds) },
	{ "interrupted", NULL, SHAPE_FLAG(qualify, interrupted) },
	{ "drain", "Nodes to drain.", SHAPE_LIST_AS(qualify, nodes, n, qualify_node, drained_shape),
	  .keeps = is_drained },
	{ "faults", "Faults of links.", SHAPE_LIST(qualify, faults, n_faults, qualify_fault) },
	{ "nodes", NULL, SHAPE_LIST(qualify, nodes, n, qualify_node) },
	{ "networks", NULL, SHAPE_LIST(qualify, rails, n_rails, qualify_rail) },
	{ "pairs", "Nodes that were tested with one another.", SHAPE_LIST(qualify, pairs, n_pairs, qualify_pair) },
	{ "notes", NULL, SHAPE_TEXT_LIST(qualify, notes, n_notes) });

/* What of an earlier result is compared. */
static const struct shape earlier_node_shape = SHAPE_OF(qualify_node, earlier_node,
	{ "node", NULL, SHAPE_TEXT(qualify_node, name) },
	{ "figures", NULL, SHAPE_LIST(qualify_node, figures, n_figures, qualify_figure) });

static const struct shape earlier_shape = SHAPE_OF(qualify, earlier,
	{ "nodes", NULL, SHAPE_LIST_AS(qualify, nodes, n, qualify_node, earlier_node_shape) },
	{ "pairs", NULL, SHAPE_LIST(qualify, pairs, n_pairs, qualify_pair) });

const struct result_shape qualify_result = {
	.name = "qualify", .title = "gputune qualify",
	.meaning = "Nodes and links that are fit for a job on all nodes, and nodes to drain.",
	.shape = &qualify_shape, .list = "nodes", .exit_codes = 1u << 0 | 1u << 1 | 1u << 5,
};
/* clang-format on */

int qualify_load(struct arena *a, const char *path, struct qualify *out, struct err *e)
{
	struct err why = { 0 };
	const json_t *own;
	json_auto_t *j = NULL;
	int r = json_from_file(path, EARLIER_MAX, &j, e);

	if (r)
		return r;
	own = json_object_get(j, "qualify");
	r = shape_read(a, &earlier_shape, own ? own : j, out, &why);
	return r ? err_set(e, r, "%s: not a result of gputune qualify or cluster check: %s", path,
			   why.text)
		 : 0;
}

int qualify_exit(const struct qualify *q)
{
	bool whole = !q->interrupted && !q->unknown;

	for (size_t i = 0; i < q->n_rails; i++)
		whole = whole && q->rails[i].whole;
	return q->drained || q->n_faults ? 1 : whole ? 0 : 5;
}

void page_qualify_add(struct doc *d, const struct qualify *q)
{
	struct qualify_node *shown = arena_array(d->arena, q->n, sizeof(*shown));
	size_t n = 0;

	for (size_t i = 0; i < q->n; i++)
		if (q->nodes[i].state != QUALIFY_FIT)
			shown[n++] = q->nodes[i];
	if (n)
		shape_table(d, "Nodes", &qualify_node_shape, shown, n);
	if (q->n_faults)
		node_drop_empty(
			shape_table(d, "Links", &qualify_fault_shape, q->faults, q->n_faults));
	if (q->n_rails)
		node_drop_empty(
			shape_table(d, "Networks", &qualify_rail_shape, q->rails, q->n_rails));
	for (size_t i = 0; i < q->n_notes; i++)
		doc_text(d, "%s.", q->notes[i]);
}

struct doc *page_qualify(struct arena *a, const struct qualify *q)
{
	static const char *const names[] = { "bad node", "unknown node", "fit node" };
	const size_t counts[] = { q->drained, q->unknown, q->n - q->drained - q->unknown };
	struct doc *d = doc_new(a);
	int code = qualify_exit(q);

	doc_verdict(d,
		    code == 1 ? STYLE_BAD
		    : code    ? STYLE_WARN
			      : STYLE_GOOD,
		    doc_counts(d, names, counts, 3),
		    q->n_faults
			    ? arena_printf(a, "%s: %s", q->faults[0].what, q->faults[0].evidence)
			    : NULL);
	page_qualify_add(d, q);
	return d;
}

/* --- what is added to it ---------------------------------------------------------------------- */

void qualify_reason(struct arena *a, struct qualify_node *n, enum qualify_state state,
		    const char *why)
{
	if (n->state != QUALIFY_DRAIN)
		n->state = state;
	ARENA_ADD(a, n->reasons, n->n_reasons) = why;
}

void qualify_add_fault(struct arena *a, struct qualify *q, const struct qualify_fault *f)
{
	ARENA_ADD(a, q->faults, q->n_faults) = *f;
}

void qualify_note(struct arena *a, struct qualify *q, const char *text)
{
	ARENA_ADD(a, q->notes, q->n_notes) = text;
}

static bool is_of(const struct band *b, const struct qualify_node *n)
{
	return (n->platform && strcmp(b->hardware, n->platform) == 0) ||
	       (n->gpu && strcmp(b->hardware, n->gpu) == 0);
}

double qualify_wanted(struct arena *a, const struct qualify_node *x, const struct qualify_node *y,
		      const char *bench, double mbps, const char **by)
{
	const char *name = arena_printf(a, "path:%.0f", mbps);
	double port = fmin(mbps / 1e3, QUALIFY_TCP_GBIT);

	for (size_t i = 0; i < n_bands; i++) {
		const struct band *k = &bands[i];

		if (strcmp(k->bench, bench) != 0 || strcmp(k->name, name) != 0 || !is_of(k, x) ||
		    !is_of(k, y))
			continue;
		*by = arena_printf(a, "healthy links carry %.4g to %.4g: %s, %s", k->low, k->high,
				   k->source, k->date);
		return k->low;
	}
	*by = arena_printf(a, "%.0f %% of the ports' %.4g Gbit/s, of at most %.0f",
			   100 * QUALIFY_RATE, mbps / 1e3, QUALIFY_TCP_GBIT);
	/* How much of a port RDMA gets depends on its PCIe. */
	return strcmp(bench, "tcp") == 0 ? QUALIFY_RATE * port : 0;
}
