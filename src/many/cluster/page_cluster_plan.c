/* SPDX-License-Identifier: Apache-2.0 */
/* The pages of cluster plan: subnets and ports, what each node changes, what stands against it, and
 * what came of it. */
#include <string.h>

#include "many/cluster/page_cluster.h"
#include "render/shape_page.h"

static const struct {
	const char *text;
	enum style style;
} states[APPLY_STATES] = {
	[APPLY_ASKED] = { "change pending", STYLE_WARN },
	[APPLY_NOTHING] = { "already as planned", STYLE_GOOD },
	[APPLY_SET] = { "applied, but not confirmed", STYLE_WARN },
	[APPLY_KEPT] = { "applied and confirmed", STYLE_GOOD },
	[APPLY_BACK] = { "undone", STYLE_WARN },
	[APPLY_FAILED] = { "failed", STYLE_BAD },
	[APPLY_LOST] = { "no answer: the node restores its old configuration automatically",
			 STYLE_BAD },
	[APPLY_STUCK] = { "some changes failed", STYLE_BAD },
};

static struct cell speed_cell(struct doc *d, long long mbps)
{
	if (mbps <= 0)
		return cell_as(STYLE_UNKNOWN, "unknown");
	return cellf(d, "%lld Gb/s", mbps / 1000);
}

/* One row a port. */
static void paths_table(struct doc *d, const struct wiring *w)
{
	struct node *t = DOC_TABLE(d, NULL, "!Node", "!Port", "Address", "Subnet", "Over",
				   "Link (read)", ">MTU", "Today");

	for (size_t i = 0; i < w->n_ports; i++) {
		const struct wiring_port *p = &w->ports[i];
		const struct wiring_path *path = &w->paths[p->path];

		NODE_ROW(d, t, cell(p->node), cell_as(STYLE_CODE, p->port),
			 cell_as(STYLE_CODE, p->address), cell(path->subnet),
			 cell(cluster_way_name(path->way)), speed_cell(d, path->speed_mbps),
			 cellf(d, "%lld", path->mtu),
			 p->there && p->mtu_now == path->mtu ? cell_as(STYLE_GOOD, "as planned")
			 : p->mtu_now < 0
				 ? cell_as(STYLE_UNKNOWN, "MTU unknown")
				 : cell_printf(d, STYLE_WARN, "%s, MTU %lld",
					       p->there ? "address exists" : "address missing",
					       p->mtu_now));
	}
}

/* --- what nodes change -------------------------------------------------------------------------
 */

/* A file's value would be its text: that stands below. */
static struct cell cluster_plan_page_value_cell(struct doc *d, const struct knob *k,
						const char *value)
{
	if (k->kind != KNOB_FILE && k->kind != KNOB_BLOCK)
		return value ? cell_as(STYLE_CODE, value) : cell("");
	if (!value || strcmp(value, "absent") == 0)
		return cell("absent");
	if (k->kind == KNOB_BLOCK)
		return cell("gputune's lines in the file");
	return cellf(d, strchr(k->name, '\0')[-1] == '/' ? "folder" : "file");
}

static const char *where_of(struct doc *d, const struct knob *k)
{
	if (*k->object)
		return cellf(d, "%s of %s", k->name, k->object).text;
	return k->name;
}

static void changes_table(struct doc *d, const struct setup_answer *n)
{
	struct node *t = DOC_TABLE(d, NULL, "When", "~What", "From", "To");

	for (size_t i = 0; i < n->n_changes; i++) {
		const struct setup_change *x = &n->changes[i];

		NODE_ROW(d, t, cell(x->keep ? "when confirmed" : "immediately"),
			 cell_as(STYLE_CODE, where_of(d, &x->knob)),
			 cluster_plan_page_value_cell(d, &x->knob, x->before),
			 cluster_plan_page_value_cell(d, &x->knob, x->after));
	}
}

static void lines(struct doc *d, const char *const *texts, size_t n, enum style style)
{
	struct node *b = n ? doc_bullets(d) : NULL;

	for (size_t i = 0; i < n; i++)
		node_bullet(d, b, cell_as(style, texts[i]));
}

static void cluster_plan_page_refusals(struct doc *d, const struct setup_answer *n)
{
	struct node *b = n->n_refusals ? doc_bullets(d) : NULL;

	for (size_t i = 0; i < n->n_refusals; i++) {
		const struct setup_refusal *r = &n->refusals[i];

		node_bullet(d, b,
			    cell_printf(d, STYLE_BAD, "refused (%s): %s%s%s; %s", r->code, r->port,
					*r->port ? ": " : "", r->text, r->fix));
	}
}

static void cluster_plan_page_one_node(struct doc *d, const struct apply_node *n)
{
	const struct setup_answer *p = &n->plan;

	doc_heading(d, 2, n->name);
	if (n->sentence)
		doc_text(d, "%s: %s", states[n->state].text, n->sentence);
	else if (!p->n_changes)
		doc_text(d, "Nothing to change: %s.", states[APPLY_NOTHING].text);
	cluster_plan_page_refusals(d, p);
	changes_table(d, p);
	if (p->n_commands) {
		doc_text(d, "Programs that the node runs afterwards:");
		lines(d, p->commands, p->n_commands, STYLE_CODE);
	}
	lines(d, p->notes, p->n_notes, STYLE_WARN);
	for (size_t k = 0; k < p->n_files; k++) {
		struct node *t = doc_paragraph(d);

		node_span(d, t, cell_as(STYLE_CODE, p->files[k].path));
		node_span(d, t,
			  cell(strncmp(p->files[k].path, "/etc/hosts", 10) == 0 ||
					       strstr(p->files[k].path, "known_hosts")
				       ? " gets these lines:"
				       : " becomes:"));
		doc_code(d, p->files[k].text);
	}
}

struct doc *page_cluster_plan(struct arena *a, const struct cluster_plan_view *v)
{
	struct doc *d = doc_new(a);
	const struct wiring *w = v->w;

	doc_heading(d, 1, "Cluster plan");
	doc_text(d, "%zu nodes, topology: %s. %s", w->c->n_nodes,
		 cluster_topology_name(w->c->topology), w->c->topology_why);
	paths_table(d, w);
	if (w->n_troubles)
		shape_list_table(d, "Blockers", cluster_plan_result.shape, "troubles", v);
	for (size_t i = 0; i < v->apply->n_nodes; i++)
		if (v->apply->nodes[i].state != APPLY_STATES)
			cluster_plan_page_one_node(d, &v->apply->nodes[i]);
	return d;
}

/* --- what came of it ---------------------------------------------------------------------------
 */

static void states_table(struct doc *d, const struct apply *p)
{
	struct node *t = DOC_TABLE(d, NULL, "Node", "~State", "~Why");

	for (size_t i = 0; i < p->n_nodes; i++)
		NODE_ROW(d, t, cell(p->nodes[i].name),
			 cell_as(states[p->nodes[i].state].style, states[p->nodes[i].state].text),
			 cell(p->nodes[i].sentence ? p->nodes[i].sentence : ""));
	node_drop_empty(t);
}

struct doc *page_cluster_applied(struct arena *a, const struct cluster_plan_view *v)
{
	struct doc *d = doc_new(a);
	const struct apply *p = v->apply;
	size_t kept = 0, nothing = 0;

	for (size_t i = 0; i < p->n_nodes; i++) {
		kept += p->nodes[i].state == APPLY_KEPT;
		nothing += p->nodes[i].state == APPLY_NOTHING;
	}
	states_table(d, p);
	if (p->n_echoes)
		node_drop_empty(shape_list_table(d, "Unfragmented echoes",
						 cluster_plan_result.shape, "echoes", v));
	if (p->failure)
		doc_text(d, "%s", p->failure);
	if (kept && apply_captured(v->w))
		doc_text(d, "Captured machines: no program was run, no rollback "
			    "timer was set, and no echo was sent.");
	if (kept + nothing == p->n_nodes)
		doc_text(d,
			 "All %zu nodes have the change, confirmed after %.1f s. \"gputune cluster "
			 "undo%s\" undoes it.",
			 p->n_nodes, p->seconds, v->which);
	else if (!kept)
		doc_text(d,
			 "No change was kept. A node that could not be reached restores its old "
			 "configuration automatically, %d s after its change.",
			 p->limit_s);
	else
		doc_text(d,
			 "Only some nodes have the change: \"gputune cluster undo%s\" undoes it "
			 "there.",
			 v->which);
	return d;
}

struct doc *page_cluster_undo(struct arena *a, const struct apply *p)
{
	struct doc *d = doc_new(a);

	states_table(d, p);
	for (size_t i = 0; i < p->n_nodes; i++)
		if (p->nodes[i].undone.n)
			node_drop_empty(shape_list_table(d, p->nodes[i].name, &apply_undone_shape,
							 "changes", &p->nodes[i].undone));
	return d;
}
