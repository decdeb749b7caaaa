/* SPDX-License-Identifier: Apache-2.0 */
/* The pages of cluster plan: subnets and ports, what each node changes, what stands against it, and
 * what came of it. */
#include <stdio.h>
#include <string.h>

#include "many/cluster/page_cluster.h"
#include "base/json.h"

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
	return cellf(d, "%lld Gb/s", mbps / 1000);
}

/* One row a port; what the path has in common stands in its first. */
static void paths_table(struct doc *d, const struct wiring *w)
{
	struct node *t = DOC_TABLE(d, NULL, "Subnet", "Over", "Link (read)", "Node", "Port",
				   "Address", ">MTU", "Today");

	for (size_t i = 0; i < w->n_ports; i++) {
		const struct wiring_port *p = &w->ports[i];
		const struct wiring_path *path = &w->paths[p->path];
		bool first = i == path->first;

		NODE_ROW(d, t, first ? cell(ipv4_text(d->arena, path->network)) : cell(""),
			 first ? cell(cluster_way_name(path->way)) : cell(""),
			 first ? speed_cell(d, path->speed_mbps) : cell(""), cell(node_of(w, p)),
			 cell_as(STYLE_CODE, port_of(w, p)->name), cell_as(STYLE_CODE, p->address),
			 cellf(d, "%lld", path->mtu),
			 p->there && p->mtu_now == path->mtu ? cell_as(STYLE_GOOD, "as planned")
			 : p->mtu_now < 0
				 ? cell_as(STYLE_UNKNOWN, "MTU not known")
				 : cell_printf(d, STYLE_WARN, "%s, MTU %lld",
					       p->there ? "address there" : "no such address",
					       p->mtu_now));
	}
}

static void troubles_table(struct doc *d, const struct wiring *w)
{
	struct node *t = DOC_TABLE(d, w->n_troubles ? "What stands against it" : NULL, "", "Where",
				   "~What", "~What to do");

	for (size_t i = 0; i < w->n_troubles; i++) {
		const struct wiring_trouble *x = &w->troubles[i];

		NODE_ROW(d, t, x->stops ? cell_as(STYLE_BAD, "stops") : cell_as(STYLE_WARN, "note"),
			 cellf(d, "%s%s%s", x->node, *x->node && *x->port ? " " : "", x->port),
			 cell(x->text), cell(x->fix));
	}
}

/* --- what nodes change -------------------------------------------------------------------------
 */

/* A file's value would be its text: that stands below. */
static struct cell cluster_plan_page_value_cell(struct doc *d, const struct apply_change *c,
						const char *value)
{
	if (strcmp(c->kind, "file") != 0 && strcmp(c->kind, "block") != 0)
		return value ? cell_as(STYLE_CODE, value) : cell("");
	if (!value || strcmp(value, "absent") == 0)
		return cell("absent");
	if (strcmp(c->kind, "block") == 0)
		return cell("our lines in it");
	return cellf(d, strchr(c->name, '\0')[-1] == '/' ? "folder" : "file");
}

static const char *where_of(struct doc *d, const struct apply_change *c)
{
	if (*c->object)
		return cellf(d, "%s of %s", c->name, c->object).text;
	return c->name;
}

static void changes_table(struct doc *d, const struct apply_node *n)
{
	struct node *t = DOC_TABLE(d, NULL, "When", "~What", "From", "To");

	for (size_t i = 0; i < n->n_changes; i++) {
		const struct apply_change *x = &n->changes[i];

		NODE_ROW(d, t, cell(strcmp(x->step, "keep") == 0 ? "when confirmed" : "at once"),
			 cell_as(STYLE_CODE, where_of(d, x)),
			 cluster_plan_page_value_cell(d, x, x->before),
			 cluster_plan_page_value_cell(d, x, x->after));
	}
}

static void lines(struct doc *d, const char *const *texts, size_t n, enum style style)
{
	struct node *b = n ? doc_bullets(d) : NULL;

	for (size_t i = 0; i < n; i++)
		node_bullet(d, b, cell_as(style, texts[i]));
}

static void cluster_plan_page_refusals(struct doc *d, const struct apply_node *n)
{
	struct node *b = n->n_refusals ? doc_bullets(d) : NULL;

	for (size_t i = 0; i < n->n_refusals; i++) {
		const struct apply_refusal *r = &n->refusals[i];

		node_bullet(d, b,
			    cell_printf(d, STYLE_BAD, "refused (%s): %s%s%s; %s", r->code, r->port,
					*r->port ? ": " : "", r->text, r->fix));
	}
}

static void cluster_plan_page_one_node(struct doc *d, const struct cluster_plan_view *v, size_t i)
{
	const struct apply_node *n = &v->apply->nodes[i];

	doc_heading(d, 2, v->w->c->nodes[i].name);
	if (n->sentence)
		doc_text(d, "%s: %s", states[n->state].text, n->sentence);
	else if (!n->n_changes)
		doc_text(d, "Nothing to change: %s.", states[APPLY_NOTHING].text);
	cluster_plan_page_refusals(d, n);
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
		cluster_plan_page_one_node(d, v, i);
	return d;
}

/* --- what came of it ---------------------------------------------------------------------------
 */

static void states_table(struct doc *d, const char *const *names, const struct apply *p)
{
	struct node *t = DOC_TABLE(d, NULL, "Node", "~State", "~Why");

	for (size_t i = 0; i < p->n_nodes; i++)
		NODE_ROW(d, t, cell(names[i]),
			 cell_as(states[p->nodes[i].state].style, states[p->nodes[i].state].text),
			 cell(p->nodes[i].sentence ? p->nodes[i].sentence : ""));
	node_drop_empty(t);
}

static void echoes_table(struct doc *d, const struct wiring *w, const struct apply *p)
{
	struct node *t = DOC_TABLE(d, p->n_echoes ? "Echoes that nobody may cut" : NULL, "From",
				   "To", ">Bytes", ">There and back (measured)", "~");

	for (size_t i = 0; i < p->n_echoes; i++) {
		const struct apply_echo *x = &p->echoes[i];

		NODE_ROW(d, t,
			 cellf(d, "%s %s", node_of(w, &w->ports[x->from]),
			       port_of(w, &w->ports[x->from])->name),
			 cellf(d, "%s %s", node_of(w, &w->ports[x->to]),
			       port_of(w, &w->ports[x->to])->name),
			 cellf(d, "%lld", x->bytes),
			 x->good ? cell_printf(d, STYLE_GOOD, "%.0f us", x->us)
				 : cell_as(STYLE_BAD, "none came"),
			 cell(x->trouble ? x->trouble : ""));
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
	struct doc *d = doc_new(a);
	struct node *t;

	states_table(d, names, p);
	t = DOC_TABLE(d, NULL, "Node", "~What", "Outcome", "~Why");
	for (size_t i = 0; i < p->n_nodes; i++)
		for (size_t k = 0; k < p->nodes[i].n_changes; k++) {
			const struct apply_change *x = &p->nodes[i].changes[k];

			NODE_ROW(d, t, cell(names[i]), cell_as(STYLE_CODE, where_of(d, x)),
				 cell_as(strcmp(x->outcome, "stuck") == 0 ? STYLE_BAD : STYLE_GOOD,
					 x->outcome),
				 cell(x->sentence ? x->sentence : ""));
		}
	node_drop_empty(t);
	return d;
}

/* cluster plan and undo as JSON (schemas/cluster-plan.json, schemas/cluster-undo.json). */

static json_t *bytes(long long v)
{
	return v < 0 ? json_null() : json_integer(v);
}

static json_t *paths_json(struct arena *a, const struct wiring *w)
{
	json_t *out = json_array();

	for (size_t i = 0; i < w->n_paths; i++) {
		const struct wiring_path *p = &w->paths[i];
		json_t *ports = json_array();

		for (size_t k = 0; k < p->n; k++) {
			const struct wiring_port *x = &w->ports[p->first + k];

			json_array_append_new(
				ports, json_pack("{s:o, s:o, s:s, s:b, s:o}", "node",
						 json_text(w->c->nodes[x->end.node].name), "port",
						 json_text(cluster_end_port(w->c, x->end)->name),
						 "address", x->address, "there", x->there,
						 "mtu_now_bytes", bytes(x->mtu_now)));
		}
		json_array_append_new(
			out,
			json_pack("{s:s, s:s, s:b, s:I, s:o, s:o}", "subnet",
				  ipv4_text(a, p->network), "way", cluster_way_name(p->way), "kept",
				  p->kept, "mtu_bytes", (json_int_t)p->mtu, "speed_mbps",
				  p->speed_mbps > 0 ? json_integer(p->speed_mbps) : json_null(),
				  "ports", ports));
	}
	return out;
}

static json_t *troubles_json(const struct wiring *w)
{
	json_t *out = json_array();

	for (size_t i = 0; i < w->n_troubles; i++) {
		const struct wiring_trouble *t = &w->troubles[i];

		json_array_append_new(out,
				      json_pack("{s:s, s:b, s:o, s:o, s:o, s:o}", "code", t->code,
						"stops", t->stops, "node", json_text(t->node),
						"port", json_text(t->port), "text",
						json_text(t->text), "fix", json_text(t->fix)));
	}
	return out;
}

static json_t *cluster_plan_page_changes_json(const struct apply_node *n)
{
	json_t *out = json_array();

	for (size_t i = 0; i < n->n_changes; i++) {
		const struct apply_change *c = &n->changes[i];
		json_t *j = json_pack("{s:o, s:o, s:o, s:o, s:o}", "kind", json_text(c->kind),
				      "name", json_text(c->name), "object", json_text(c->object),
				      "before", json_text(c->before), "after", json_text(c->after));

		if (c->outcome) {
			json_object_set_new(j, "outcome", json_text(c->outcome));
			json_object_set_new(j, "sentence", json_text(c->sentence));
			json_object_set_new(j, "command", json_text(c->command));
		} else {
			json_object_set_new(j, "step", json_text(c->step));
		}
		json_array_append_new(out, j);
	}
	return out;
}

static json_t *cluster_plan_page_node_json(const struct cluster_plan_view *v, size_t i)
{
	const struct wiring_node *b = &v->before[i];
	json_t *j = json_pack(
		"{s:o, s:o, s:o, s:o, s:o, s:o, s:o}", "name", json_text(v->w->c->nodes[i].name),
		"label", json_text(v->w->labels[i]), "user", json_text(b->failure ? NULL : b->user),
		"version", json_text(b->failure ? NULL : b->version), "clock_skew_ms",
		b->has_clock ? json_figure(b->skew_ms) : json_null(), "clock_skew_by_ms",
		b->has_clock ? json_figure(b->skew_by_ms) : json_null(), "host_keys",
		json_integer((json_int_t)b->n_host_keys));
	const struct apply_node *n = v->apply ? &v->apply->nodes[i] : NULL;
	json_t *files = json_array(), *refusals = json_array();

	for (size_t k = 0; n && k < n->n_files; k++)
		json_array_append_new(files,
				      json_pack("{s:o, s:o}", "path", json_text(n->files[k].path),
						"text", json_text(n->files[k].text)));
	for (size_t k = 0; n && k < n->n_refusals; k++)
		json_array_append_new(refusals, json_pack("{s:o, s:o, s:o, s:o}", "code",
							  json_text(n->refusals[k].code), "port",
							  json_text(n->refusals[k].port), "text",
							  json_text(n->refusals[k].text), "fix",
							  json_text(n->refusals[k].fix)));
	json_object_set_new(j, "state", n ? json_string(apply_state_name(n->state)) : json_null());
	json_object_set_new(j, "sentence", json_text(n ? n->sentence : NULL));
	json_object_set_new(j, "dead_man", json_text(n ? n->dead_man : NULL));
	json_object_set_new(j, "changes", n ? cluster_plan_page_changes_json(n) : json_array());
	json_object_set_new(j, "files", files);
	json_object_set_new(j, "refusals", refusals);
	json_object_set_new(j, "notes", n ? json_texts(n->notes, n->n_notes) : json_array());
	json_object_set_new(j, "owners", n ? json_texts(n->owners, n->n_owners) : json_array());
	json_object_set_new(j, "commands",
			    n ? json_texts(n->commands, n->n_commands) : json_array());
	return j;
}

static json_t *cluster_plan_page_echoes_json(const struct wiring *w, const struct apply *p)
{
	json_t *out = json_array();

	for (size_t i = 0; p && i < p->n_echoes; i++) {
		const struct apply_echo *x = &p->echoes[i];
		const struct wiring_port *from = &w->ports[x->from], *to = &w->ports[x->to];

		json_array_append_new(
			out, json_pack("{s:o, s:s, s:o, s:s, s:I, s:b, s:o, s:o}", "from_node",
				       json_text(w->c->nodes[from->end.node].name), "from",
				       from->address, "to_node",
				       json_text(w->c->nodes[to->end.node].name), "to", to->address,
				       "bytes", (json_int_t)x->bytes, "good", x->good, "us",
				       x->good ? json_figure(x->us) : json_null(), "trouble",
				       json_text(x->trouble)));
	}
	return out;
}

static json_t *switches_json(const struct wiring *w)
{
	json_t *out = json_array();

	for (size_t i = 0; i < w->n_switches; i++)
		json_array_append_new(out,
				      json_pack("{s:o, s:o, s:I}", "node",
						json_text(w->c->nodes[w->switches[i].node].name),
						"pci", json_text(w->switches[i].pci), "port",
						(json_int_t)w->switches[i].port));
	return out;
}

json_t *cluster_plan_json(const struct cluster_plan_view *v, const char *time, int exit_code)
{
	const struct wiring *w = v->w;
	struct arena a = { 0 };
	json_t *nodes = json_array(), *out;

	for (size_t i = 0; i < w->c->n_nodes; i++)
		json_array_append_new(nodes, cluster_plan_page_node_json(v, i));
	out = json_pack(
		"{s:s, s:s, s:s, s:i, s:s, s:o, s:b, s:b, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o}",
		"schema", "gputune.cluster-plan/1", "tool_version", GPUTUNE_VERSION, "time", time,
		"exit_code", exit_code, "topology", cluster_topology_name(w->c->topology),
		"topology_why", json_text(w->c->topology_why), "supported", w->c->supported,
		"applied", v->applied, "paths", paths_json(&a, w), "nodes", nodes, "troubles",
		troubles_json(w), "link_types", switches_json(w), "echoes",
		cluster_plan_page_echoes_json(w, v->apply), "failure",
		json_text(v->apply ? v->apply->failure : NULL), "seconds",
		v->applied && v->apply ? json_figure(v->apply->seconds) : json_null(), "limit_s",
		v->apply ? json_integer(v->apply->limit_s) : json_null());
	arena_free(&a);
	return out;
}

json_t *cluster_undo_json(const char *const *names, const struct apply *p, const char *time,
			  int exit_code)
{
	json_t *nodes = json_array();

	for (size_t i = 0; i < p->n_nodes; i++) {
		const struct apply_node *n = &p->nodes[i];

		json_array_append_new(nodes,
				      json_pack("{s:o, s:s, s:o, s:o}", "name", json_text(names[i]),
						"state", apply_state_name(n->state), "sentence",
						json_text(n->sentence), "changes",
						cluster_plan_page_changes_json(n)));
	}
	return json_pack("{s:s, s:s, s:s, s:i, s:o}", "schema", "gputune.cluster-undo/1",
			 "tool_version", GPUTUNE_VERSION, "time", time, "exit_code", exit_code,
			 "nodes", nodes);
}
