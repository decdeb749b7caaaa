/* SPDX-License-Identifier: Apache-2.0 */
/* cluster plan and undo as JSON (schemas/cluster-plan.json, schemas/cluster-undo.json). */
#include "render/json_value.h"
#include "many/cluster/page_cluster_plan.h"

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

static json_t *changes_json(const struct apply_node *n)
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

static json_t *node_json(const struct cluster_plan_view *v, size_t i)
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
	json_object_set_new(j, "changes", n ? changes_json(n) : json_array());
	json_object_set_new(j, "files", files);
	json_object_set_new(j, "refusals", refusals);
	json_object_set_new(j, "notes", n ? json_texts(n->notes, n->n_notes) : json_array());
	json_object_set_new(j, "owners", n ? json_texts(n->owners, n->n_owners) : json_array());
	json_object_set_new(j, "commands",
			    n ? json_texts(n->commands, n->n_commands) : json_array());
	return j;
}

static json_t *echoes_json(const struct wiring *w, const struct apply *p)
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
		json_array_append_new(nodes, node_json(v, i));
	out = json_pack(
		"{s:s, s:s, s:s, s:i, s:s, s:o, s:b, s:b, s:o, s:o, s:o, s:o, s:o, s:o, "
		"s:o, s:o}",
		"schema", "gputune.cluster-plan/1", "tool_version", GPUTUNE_VERSION, "time", time,
		"exit_code", exit_code, "topology", cluster_topology_name(w->c->topology),
		"topology_why", json_text(w->c->topology_why), "supported", w->c->supported,
		"applied", v->applied, "paths", paths_json(&a, w), "nodes", nodes, "troubles",
		troubles_json(w), "link_types", switches_json(w), "echoes",
		echoes_json(w, v->apply), "failure", json_text(v->apply ? v->apply->failure : NULL),
		"seconds", v->applied && v->apply ? json_figure(v->apply->seconds) : json_null(),
		"limit_s", v->apply ? json_integer(v->apply->limit_s) : json_null());
	arena_free(&a);
	return out;
}

json_t *cluster_undo_json(const char *const *names, const struct apply *p, const char *time,
			  int exit_code)
{
	json_t *nodes = json_array();

	for (size_t i = 0; i < p->n_nodes; i++) {
		const struct apply_node *n = &p->nodes[i];

		json_array_append_new(
			nodes, json_pack("{s:o, s:s, s:o, s:o}", "name", json_text(names[i]),
					 "state", apply_state_name(n->state), "sentence",
					 json_text(n->sentence), "changes", changes_json(n)));
	}
	return json_pack("{s:s, s:s, s:s, s:i, s:o}", "schema", "gputune.cluster-undo/1",
			 "tool_version", GPUTUNE_VERSION, "time", time, "exit_code", exit_code,
			 "nodes", nodes);
}
