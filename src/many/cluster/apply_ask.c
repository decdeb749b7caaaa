/* SPDX-License-Identifier: Apache-2.0 */
/* Asking nodes: what they are, what they would change, and what the other parts ask them. */
#include <errno.h>
#include <string.h>
#include <time.h>

#include "many/cluster/apply_inside.h"

struct rsh_reply *apply_replies(const struct apply_run *r)
{
	return arena_array(r->a, rsh_count(r->rsh), sizeof(struct rsh_reply));
}

void apply_fail(const struct apply_run *r, const struct wiring *w, struct apply *p, size_t node,
		const char *sentence)
{
	if (!p->failure)
		p->failure = arena_printf(r->a, "%s: %s", w->c->nodes[node].name, sentence);
}

int apply_ask_some(const struct apply_run *r, const char *ask, const bool *which, json_t **with,
		   int limit_ms, struct rsh_reply *answers)
{
	size_t n = rsh_count(r->rsh);
	bool *sent = arena_array(r->a, n, sizeof(*sent));

	for (size_t i = 0; i < n; i++) {
		json_t *own = with ? with[i] : NULL;

		if (!which[i]) {
			json_decref(own);
			continue;
		}
		/* One that is out has a failure to tell instead. */
		sent[i] = rsh_send(r->rsh, i, ask, own) == 0;
		answers[i] = (struct rsh_reply){ .out = !sent[i] };
	}
	return rsh_wait(r->rsh, sent, limit_ms, answers);
}

static long long now_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_REALTIME, &t);
	return (long long)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

int apply_ask_before(const struct apply_run *r, const struct cluster *c, struct wiring_node **out)
{
	struct wiring_node *list = arena_array(r->a, c->n_nodes, sizeof(*list));
	struct rsh_reply *answers = apply_replies(r);

	for (size_t i = 0; i < c->n_nodes; i++) {
		struct wiring_node *n = &list[i];
		json_int_t theirs;
		/* One after the other: only so the clocks can be compared well. */
		int code = rsh_ask(r->rsh, i, "preflight", NULL, APPLY_ANSWER_MS, &answers[i]);

		if (code == -EINTR)
			return code;
		if (code) {
			n->failure =
				answers[i].failure ? answers[i].failure : rsh_failure(r->rsh, i);
			n->failure = n->failure ? n->failure : "it does not answer";
			continue;
		}
		apply_read_before(r->a, answers[i].answer, n);
		theirs = json_integer_value(json_object_get(answers[i].answer, "time_ms"));
		n->has_clock = theirs > 0;
		n->skew_by_ms = answers[i].seconds * 1000 / 2;
		n->skew_ms = (double)theirs - ((double)now_ms() - n->skew_by_ms);
	}
	*out = list;
	return 0;
}

json_t *apply_wish(const struct wiring *w, size_t node)
{
	json_t *ports = json_array(), *types = json_array();

	for (size_t i = 0; i < w->n_ports; i++) {
		const struct wiring_port *p = &w->ports[i];

		if (p->end.node == node)
			json_array_append_new(ports, json_pack("{s:s, s:s, s:I}", "name",
							       cluster_end_port(w->c, p->end)->name,
							       "address", p->address, "mtu",
							       (json_int_t)w->paths[p->path].mtu));
	}
	for (size_t i = 0; i < w->n_switches; i++)
		if (w->switches[i].node == node)
			json_array_append_new(types,
					      json_pack("{s:s, s:I}", "pci", w->switches[i].pci,
							"port", (json_int_t)w->switches[i].port));
	return json_pack("{s:o, s:o, s:s, s:s}", "ports", ports, "link_types", types, "hosts",
			 w->hosts[node], "known_hosts", w->known_hosts[node]);
}

const char *apply_why(const struct apply_run *r, size_t i, const struct rsh_reply *reply)
{
	const char *out = rsh_failure(r->rsh, i);

	if (reply->failure)
		return arena_strdup(r->a, reply->failure);
	return out ? out : "it does not answer";
}

void apply_begin(const struct apply_run *r, size_t n, struct apply *p)
{
	*p = (struct apply){ .n_nodes = n, .limit_s = r->limit_s };
	p->nodes = arena_array(r->a, n, sizeof(*p->nodes));
}

int apply_ask_plan(const struct apply_run *r, const struct wiring *w, struct apply *out)
{
	size_t n = w->c->n_nodes;
	struct rsh_reply *answers = apply_replies(r);
	json_t **with = arena_array(r->a, n, sizeof(*with));
	int code;

	apply_begin(r, n, out);
	for (size_t i = 0; i < n; i++)
		with[i] = apply_wish(w, i);
	code = rsh_ask_all(r->rsh, "network-plan", with, APPLY_ANSWER_MS, answers);
	if (code)
		return code;
	for (size_t i = 0; i < n; i++) {
		struct apply_node *node = &out->nodes[i];

		if (answers[i].answer) {
			apply_read_plan(r->a, answers[i].answer, node);
			node->state = node->n_changes ? APPLY_ASKED : APPLY_NOTHING;
		} else {
			node->state = APPLY_FAILED;
			node->sentence = apply_why(r, i, &answers[i]);
		}
	}
	return 0;
}

bool apply_refused(const struct apply *p)
{
	for (size_t i = 0; i < p->n_nodes; i++)
		if (p->nodes[i].n_refusals || p->nodes[i].state == APPLY_FAILED)
			return true;
	return false;
}

bool apply_has_changes(const struct apply *p)
{
	for (size_t i = 0; i < p->n_nodes; i++)
		if (p->nodes[i].n_changes)
			return true;
	return false;
}
