/* SPDX-License-Identifier: Apache-2.0 */
/* The pages of cluster plan: subnets and ports, what each node changes, what stands against it, and
 * what came of it. */
#include "many/cluster/page_cluster_plan.h"

#include <stdio.h>
#include <string.h>

static const struct {
	const char *text;
	enum style style;
} states[APPLY_STATES] = {
	[APPLY_ASKED] = { "to be changed", STYLE_WARN },
	[APPLY_NOTHING] = { "as planned already", STYLE_GOOD },
	[APPLY_SET] = { "made, not confirmed", STYLE_WARN },
	[APPLY_KEPT] = { "made and kept", STYLE_GOOD },
	[APPLY_BACK] = { "taken back", STYLE_WARN },
	[APPLY_FAILED] = { "not done", STYLE_BAD },
	[APPLY_LOST] = { "no answer: it takes its old configuration back by itself", STYLE_BAD },
	[APPLY_STUCK] = { "not all of it could be done", STYLE_BAD },
};

static const struct cluster_port *port_of(const struct wiring *w, const struct wiring_port *p)
{
	return cluster_end_port(w->c, p->end);
}

static const char *node_of(const struct wiring *w, const struct wiring_port *p)
{
	return w->c->nodes[p->end.node].name;
}

static struct cell speed_cell(struct doc *d, long long mbps)
{
	if (mbps <= 0)
		return cell_as(STYLE_UNKNOWN, "not told");
	return cell_printf(d, STYLE_PLAIN, "%lld Gb/s", mbps / 1000);
}

/* One row a port; what the path has in common stands in its first. */
static void paths_table(struct doc *d, const struct wiring *w)
{
	static const struct column columns[] = {
		{ .title = "Subnet" },
		{ .title = "Over" },
		{ .title = "Link (read)" },
		{ .title = "Node" },
		{ .title = "Port" },
		{ .title = "Address" },
		{ .title = "MTU", .right = true },
		{ .title = "Today" },
	};
	struct node *t = doc_table(d, NULL, columns, 8);

	for (size_t i = 0; i < w->n_ports; i++) {
		const struct wiring_port *p = &w->ports[i];
		const struct wiring_path *path = &w->paths[p->path];
		struct cell *c = node_row(d, t);
		bool first = i == path->first;

		c[0] = first ? cell(ipv4_text(d->arena, path->network)) : cell("");
		c[1] = first ? cell(cluster_way_name(path->way)) : cell("");
		c[2] = first ? speed_cell(d, path->speed_mbps) : cell("");
		c[3] = cell(node_of(w, p));
		c[4] = cell_as(STYLE_CODE, port_of(w, p)->name);
		c[5] = cell_as(STYLE_CODE, p->address);
		c[6] = cell_printf(d, STYLE_PLAIN, "%lld", path->mtu);
		c[7] = p->there && p->mtu_now == path->mtu ? cell_as(STYLE_GOOD, "as planned")
		       : p->mtu_now < 0
			       ? cell_as(STYLE_UNKNOWN, "MTU not known")
			       : cell_printf(d, STYLE_WARN, "%s, MTU %lld",
					     p->there ? "address there" : "no such address",
					     p->mtu_now);
	}
}

static void troubles_table(struct doc *d, const struct wiring *w)
{
	static const struct column columns[] = {
		{ .title = "" },
		{ .title = "Where" },
		{ .title = "What", .wrap = true },
		{ .title = "What to do", .wrap = true },
	};
	struct node *t = doc_table(d, w->n_troubles ? "What stands against it" : NULL, columns, 4);

	for (size_t i = 0; i < w->n_troubles; i++) {
		const struct wiring_trouble *x = &w->troubles[i];
		struct cell *c = node_row(d, t);

		c[0] = x->stops ? cell_as(STYLE_BAD, "stops") : cell_as(STYLE_WARN, "note");
		c[1] = cell_printf(d, STYLE_PLAIN, "%s%s%s", x->node,
				   *x->node && *x->port ? " " : "", x->port);
		c[2] = cell(x->text);
		c[3] = cell(x->fix);
	}
}

/* --- what nodes change -------------------------------------------------------------------------
 */

/* A file's value would be its text: that stands below. */
static struct cell value_cell(struct doc *d, const struct apply_change *c, const char *value)
{
	if (strcmp(c->kind, "file") != 0 && strcmp(c->kind, "block") != 0)
		return value ? cell_as(STYLE_CODE, value) : cell("");
	if (!value || strcmp(value, "absent") == 0)
		return cell("absent");
	if (strcmp(c->kind, "block") == 0)
		return cell("our lines in it");
	return cell_printf(d, STYLE_PLAIN, strchr(c->name, '\0')[-1] == '/' ? "folder" : "file");
}

static const char *where_of(struct doc *d, const struct apply_change *c)
{
	if (*c->object)
		return cell_printf(d, STYLE_PLAIN, "%s of %s", c->name, c->object).text;
	return c->name;
}

static void changes_table(struct doc *d, const struct apply_node *n)
{
	static const struct column columns[] = {
		{ .title = "When" },
		{ .title = "What", .wrap = true },
		{ .title = "From" },
		{ .title = "To" },
	};
	struct node *t = doc_table(d, NULL, columns, 4);

	for (size_t i = 0; i < n->n_changes; i++) {
		const struct apply_change *x = &n->changes[i];
		struct cell *c = node_row(d, t);

		c[0] = cell(strcmp(x->step, "keep") == 0 ? "when confirmed" : "at once");
		c[1] = cell_as(STYLE_CODE, where_of(d, x));
		c[2] = value_cell(d, x, x->before);
		c[3] = value_cell(d, x, x->after);
	}
}

static void lines(struct doc *d, const char *const *texts, size_t n, enum style style)
{
	struct node *b = n ? doc_bullets(d) : NULL;

	for (size_t i = 0; i < n; i++)
		node_bullet(d, b, cell_as(style, texts[i]));
}

static void refusals(struct doc *d, const struct apply_node *n)
{
	struct node *b = n->n_refusals ? doc_bullets(d) : NULL;

	for (size_t i = 0; i < n->n_refusals; i++) {
		const struct apply_refusal *r = &n->refusals[i];

		node_bullet(d, b,
			    cell_printf(d, STYLE_BAD, "refused (%s): %s%s%s; %s", r->code, r->port,
					*r->port ? ": " : "", r->text, r->fix));
	}
}

static void one_node(struct doc *d, const struct cluster_plan_view *v, size_t i)
{
	const struct apply_node *n = &v->apply->nodes[i];

	doc_heading(d, 2, v->w->c->nodes[i].name);
	if (n->sentence)
		doc_text(d, "%s: %s", states[n->state].text, n->sentence);
	else if (!n->n_changes)
		doc_text(d, "Nothing to change: %s.", states[APPLY_NOTHING].text);
	refusals(d, n);
	changes_table(d, n);
	if (n->n_commands) {
		doc_text(d, "Programs that it runs then:");
		lines(d, n->commands, n->n_commands, STYLE_CODE);
	}
	lines(d, n->notes, n->n_notes, STYLE_WARN);
	for (size_t k = 0; v->files && k < n->n_files; k++) {
		struct node *p = doc_paragraph(d);

		node_span(d, p, cell_as(STYLE_CODE, n->files[k].path));
		node_span(d, p,
			  cell(strncmp(n->files[k].path, "/etc/hosts", 10) == 0 ||
					       strstr(n->files[k].path, "known_hosts")
				       ? " gets these lines:"
				       : " becomes:"));
		doc_code(d, n->files[k].text);
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
	troubles_table(d, w);
	for (size_t i = 0; v->apply && i < v->apply->n_nodes; i++)
		one_node(d, v, i);
	return d;
}

/* --- what came of it ---------------------------------------------------------------------------
 */

static void states_table(struct doc *d, const char *const *names, const struct apply *p)
{
	static const struct column columns[] = {
		{ .title = "Node" },
		{ .title = "State", .wrap = true },
		{ .title = "Why", .wrap = true },
	};
	struct node *t = doc_table(d, NULL, columns, 3);

	for (size_t i = 0; i < p->n_nodes; i++) {
		struct cell *c = node_row(d, t);

		c[0] = cell(names[i]);
		c[1] = cell_as(states[p->nodes[i].state].style, states[p->nodes[i].state].text);
		c[2] = cell(p->nodes[i].sentence ? p->nodes[i].sentence : "");
	}
	node_drop_empty(t);
}

static void echoes_table(struct doc *d, const struct wiring *w, const struct apply *p)
{
	static const struct column columns[] = {
		{ .title = "From" },
		{ .title = "To" },
		{ .title = "Bytes", .right = true },
		{ .title = "There and back (measured)", .right = true },
		{ .title = "", .wrap = true },
	};
	struct node *t =
		doc_table(d, p->n_echoes ? "Echoes that nobody may cut" : NULL, columns, 5);

	for (size_t i = 0; i < p->n_echoes; i++) {
		const struct apply_echo *x = &p->echoes[i];
		struct cell *c = node_row(d, t);

		c[0] = cell_printf(d, STYLE_PLAIN, "%s %s", node_of(w, &w->ports[x->from]),
				   port_of(w, &w->ports[x->from])->name);
		c[1] = cell_printf(d, STYLE_PLAIN, "%s %s", node_of(w, &w->ports[x->to]),
				   port_of(w, &w->ports[x->to])->name);
		c[2] = cell_printf(d, STYLE_PLAIN, "%lld", x->bytes);
		c[3] = x->good ? cell_printf(d, STYLE_GOOD, "%.0f us", x->us)
			       : cell_as(STYLE_BAD, "none came");
		c[4] = cell(x->trouble ? x->trouble : "");
	}
	node_drop_empty(t);
}

static const char **names_of(struct arena *a, const struct cluster *c)
{
	const char **out = arena_array(a, c->n_nodes, sizeof(*out));

	for (size_t i = 0; i < c->n_nodes; i++)
		out[i] = c->nodes[i].name;
	return out;
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
	states_table(d, names_of(a, v->w->c), p);
	echoes_table(d, v->w, p);
	if (p->failure)
		doc_text(d, "%s", p->failure);
	if (kept + nothing == p->n_nodes)
		doc_text(d,
			 "All %zu nodes hold it, confirmed after %.1f s. \"gputune cluster undo\" "
			 "takes it back.",
			 p->n_nodes, p->seconds);
	else if (!kept)
		doc_text(d,
			 "Nothing was kept. A node that could not be told takes its old "
			 "configuration back by itself, %d s after its change.",
			 p->limit_s);
	else
		doc_text(d, "Some nodes hold it and some do not: \"gputune cluster undo\" takes it "
			    "back where it is held.");
	return d;
}

struct doc *page_cluster_undo(struct arena *a, const char *const *names, const struct apply *p)
{
	static const struct column columns[] = {
		{ .title = "Node" },
		{ .title = "What", .wrap = true },
		{ .title = "Outcome" },
		{ .title = "Why", .wrap = true },
	};
	struct doc *d = doc_new(a);
	struct node *t;

	states_table(d, names, p);
	t = doc_table(d, NULL, columns, 4);
	for (size_t i = 0; i < p->n_nodes; i++)
		for (size_t k = 0; k < p->nodes[i].n_changes; k++) {
			const struct apply_change *x = &p->nodes[i].changes[k];
			struct cell *c = node_row(d, t);

			c[0] = cell(names[i]);
			c[1] = cell_as(STYLE_CODE, where_of(d, x));
			c[2] = cell_as(strcmp(x->outcome, "stuck") == 0 ? STYLE_BAD : STYLE_GOOD,
				       x->outcome);
			c[3] = cell(x->sentence ? x->sentence : "");
		}
	node_drop_empty(t);
	return d;
}
