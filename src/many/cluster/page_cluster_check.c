/* SPDX-License-Identifier: Apache-2.0 */
/* Findings first, then a table of paths with their figures, then what is behind them. */
#include "many/cluster/page_cluster.h"

#include <string.h>

#include "base/text.h"
#include "render/shape_page.h"

static enum style state_style(enum check_state s)
{
	static const enum style styles[CHECK_STATES] = { STYLE_GOOD, STYLE_BAD, STYLE_BAD,
							 STYLE_MUTED };

	return styles[s];
}

/* --- paths --------------------------------------------------------------------------------------
 */

enum { COLUMN_TESTS = 6 };
static const enum check_test shown[COLUMN_TESTS] = { CHECK_PING,	CHECK_TCP,
						     CHECK_TCP_LATENCY, CHECK_RDMA_WRITE,
						     CHECK_RDMA_READ,	CHECK_RDMA_LATENCY };

static struct cell cluster_check_page_figure(struct doc *d, const struct check_result *r)
{
	if (!r)
		return (struct cell){ .text = "", .nothing = true };
	if (r->state == CHECK_LEFT_OUT)
		return (struct cell){ .text = "not tried", .style = STYLE_MUTED, .nothing = true };
	if (!r->n)
		return cell_as(state_style(r->state), r->state == CHECK_GOOD ? "yes" : "failed");
	return cell_printf(d, state_style(r->state), "%.3g", r->value);
}

static bool echo_tests(enum check_test t)
{
	return t == CHECK_PING || t == CHECK_JUMBO;
}

/* One direction of a path, or of all paths of a pair on one wire. */
static void path_row(struct doc *d, struct node *t, const struct check *c, size_t path, size_t from,
		     bool together)
{
	const struct check_path *p = &c->paths[path];
	struct check_result like = {
		.from = from, .to = check_far(p, from).node, .path = path, .together = together
	};
	struct cell *row = node_row(d, t);
	const struct check_result *jumbo;

	row[0] = cell(check_result_text(d->arena, c, &like));
	for (size_t i = 0; i < COLUMN_TESTS; i++) {
		like.test = shown[i];
		row[1 + i + (i > 0)] = cluster_check_page_figure(
			d, together && echo_tests(shown[i]) ? NULL : check_newest(c, &like));
	}
	like.test = CHECK_JUMBO;
	jumbo = together ? NULL : check_newest(c, &like);
	row[2] = cluster_check_page_figure(d, jumbo);
	if (jumbo && jumbo->state == CHECK_GOOD)
		row[2] = cell_printf(d, STYLE_GOOD, "%llu", jumbo->bytes);
}

static bool has_together(const struct check *c, size_t path, size_t from)
{
	for (size_t i = 0; i < c->n_results; i++)
		if (c->results[i].together && c->results[i].path == path &&
		    c->results[i].from == from)
			return true;
	return false;
}

static void cluster_check_page_paths(struct doc *d, const struct check *c)
{
	struct node *t;

	doc_heading(d, 2, "Paths");
	t = DOC_TABLE(d, NULL, "~From, to", ">Echo us", ">Largest echo bytes", ">TCP Gbit/s",
		      ">TCP round trip us", ">RDMA write Gbit/s", ">RDMA read Gbit/s",
		      ">RDMA write 8 B us");
	for (size_t i = 0; i < c->n_paths; i++)
		for (int back = 0; back < 2 && !c->paths[i].untestable; back++) {
			size_t from = back ? c->paths[i].b.node : c->paths[i].a.node;

			path_row(d, t, c, i, from, false);
			if (has_together(c, i, from))
				path_row(d, t, c, i, from, true);
		}
	node_drop_empty(t);
	if (!c->n_paths)
		doc_text(d, "No two nodes have a testable path between them.");
}

static struct node *untried_list(struct doc *d, struct node *list)
{
	if (list)
		return list;
	doc_heading(d, 2, "Not tested");
	return doc_bullets(d);
}

/* One line for all tests that were left out for the same reason. */
static void cluster_check_page_left_out(struct doc *d, const struct check *c, size_t first,
					struct node *list)
{
	const struct check_result *r = &c->results[first];
	size_t n = 0;

	for (size_t i = 0; i < c->n_results; i++) {
		const struct check_result *o = &c->results[i];
		bool same = o->state == CHECK_LEFT_OUT && o->test == r->test &&
			    strcmp(o->why, r->why) == 0;

		if (same && i < first)
			return;
		n += same;
	}
	node_bullet(d, list,
		    n > 1 ? cellf(d, "%s, %zu times: %s", check_kinds[r->test].name, n, r->why)
			  : cellf(d, "%s, %s: %s", check_kinds[r->test].name,
				  check_result_text(d->arena, c, r), r->why));
}

static void untried(struct doc *d, const struct check *c)
{
	struct node *list = NULL;

	for (size_t i = 0; i < c->n_paths; i++) {
		if (!c->paths[i].untestable)
			continue;
		list = untried_list(d, list);
		node_bullet(d, list,
			    cellf(d, "%s: %s", check_path_text(d->arena, c, &c->paths[i]),
				  c->paths[i].untestable));
	}
	for (size_t i = 0; i < c->n_results; i++) {
		if (c->results[i].state != CHECK_LEFT_OUT)
			continue;
		list = untried_list(d, list);
		cluster_check_page_left_out(d, c, i, list);
	}
}

/* --- the rest -----------------------------------------------------------------------------------
 */

static void cluster_check_page_collectives(struct doc *d, const struct check *c)
{
	struct node *t = NULL;

	for (size_t i = 0; i < c->n_results; i++) {
		const struct check_result *r = &c->results[i];

		if (!r->operation || r->state == CHECK_LEFT_OUT)
			continue;
		if (!t) {
			doc_heading(d, 2, "GPUs");
			t = DOC_TABLE(d, NULL, "!Nodes", "!Operation", ">Measured", ">Wanted",
				      "~How");
		}
		NODE_ROW(d, t,
			 cellf(d, "%s, %s", check_node(c, r->from)->name,
			       check_node(c, r->to)->name),
			 cell(r->operation),
			 r->n ? cell_as(state_style(r->state),
					check_figure_text(d->arena, r->test, r->value))
			      : cell_as(STYLE_BAD, "failed"),
			 r->wanted_by ? cell(check_figure_text(d->arena, r->test, r->wanted))
				      : (struct cell){ .nothing = true },
			 cell(r->why ? r->why : r->how));
	}
}

static void counters(struct doc *d, const struct check *c)
{
	struct node *t = NULL;

	for (size_t i = 0; i < c->n_counts; i++) {
		const struct check_count *k = &c->counts[i];
		struct cell *row;

		if (k->after <= k->before)
			continue;
		if (!t) {
			doc_heading(d, 2, "Counters that increased during the tests");
			t = DOC_TABLE(d, NULL, "!Port", "!Counter", ">Increase");
		}
		row = node_row(d, t);
		row[0] = cellf(d, "%s %s", check_node(c, k->node)->name, k->port);
		row[1] = cell_as(STYLE_CODE, k->name);
		row[2] = cellf(d, "%lld", k->after - k->before);
	}
	if (!t && c->n_counts)
		doc_text(d, "None of %zu error counters increased during the tests.", c->n_counts);
}

/* What figures were compared with: the same sentence for many. */
static void cluster_check_page_sources(struct doc *d, const struct check *c)
{
	struct node *list = NULL;

	for (size_t i = 0; i < c->n_results; i++) {
		const struct check_result *r = &c->results[i];
		bool told = false;

		for (size_t k = 0; k < i && r->wanted_by; k++)
			told = told || (c->results[k].wanted_by && c->results[k].test == r->test &&
					c->results[k].together == r->together &&
					strcmp(c->results[k].wanted_by, r->wanted_by) == 0);
		if (!r->wanted_by || told)
			continue;
		if (!list) {
			doc_heading(d, 2, "Reference values");
			list = doc_bullets(d);
		}
		node_bullet(
			d, list,
			cellf(d, "%s%s: %s %s (%s)", check_kinds[r->test].title,
			      r->together ? ", all paths at once" : "",
			      check_kinds[r->test].better == BENCH_LOWER ? "at most" : "at least",
			      check_figure_text(d->arena, r->test, r->wanted), r->wanted_by));
	}
}

static void cluster_check_page_summary(struct doc *d, const struct check *c)
{
	size_t tests = 0, bad = 0, faults = 0;

	for (size_t i = 0; i < c->n_results; i++) {
		const struct check_result *r = &c->results[i];

		if (check_newest(c, r) != r || r->state == CHECK_LEFT_OUT)
			continue;
		tests++;
		bad += r->state != CHECK_GOOD;
	}
	for (size_t i = 0; i < c->cluster->n_findings; i++)
		faults += c->cluster->findings[i].severity == CLUSTER_FAULT;
	doc_text(d,
		 "%zu nodes, %s, %zu paths: %zu tests, %zu bad; %zu findings, %zu of them faults. "
		 "Discovered in %.1f s, measured in %.1f s.",
		 c->cluster->n_nodes, cluster_topology_name(c->cluster->topology), c->n_paths,
		 tests, bad, c->cluster->n_findings, faults, c->discover_seconds, c->seconds);
	if (c->partial)
		doc_text(d, "Interrupted: results up to then.");
	if (c->earlier)
		doc_text(d, "Compared with the earlier check %s.", c->earlier);
	for (size_t i = 0; i < c->n_notes; i++)
		doc_text(d, "%s", c->notes[i]);
}

struct doc *page_cluster_check(struct arena *a, const struct check *c, bool all)
{
	struct doc *d = doc_new(a);

	doc_heading(d, 1, "Cluster check");
	cluster_page_findings(d, c->cluster,
			      c->n_results ? "Nothing to fix" : "Nothing could be measured");
	cluster_check_page_summary(d, c);
	cluster_check_page_paths(d, c);
	cluster_check_page_collectives(d, c);
	counters(d, c);
	untried(d, c);
	if (all)
		cluster_check_page_sources(d, c);
	return d;
}
