/* SPDX-License-Identifier: Apache-2.0 */
/* Echoes as large as the MTU, which nobody on the way may cut, from every end to every other. */
#include <string.h>

#include "many/cluster/apply_inside.h"

enum {
	PING_TRIES = 3,
	PING_MS = 500,
	PING_HEADS = 28, /* of IP and ICMP */
};

static void add_echoes(const struct apply_run *r, const struct wiring *w, struct apply *p)
{
	for (size_t i = 0; i < w->n_ports; i++)
		for (size_t k = 0; k < w->n_ports; k++) {
			if (i == k || w->ports[i].path != w->ports[k].path ||
			    w->ports[i].end.node == w->ports[k].end.node)
				continue;
			p->echoes = arena_grow(r->a, p->echoes, p->n_echoes, sizeof(*p->echoes));
			p->echoes[p->n_echoes++] =
				(struct apply_echo){ .from = i,
						     .to = k,
						     .bytes = w->paths[w->ports[i].path].mtu -
							      PING_HEADS };
		}
}

static const char *bare(struct arena *a, const char *address)
{
	return arena_strndup(a, address, strcspn(address, "/"));
}

static json_t *targets_of(const struct apply_run *r, const struct wiring *w, const struct apply *p,
			  size_t node)
{
	json_t *list = json_array();

	for (size_t i = 0; i < p->n_echoes; i++) {
		const struct apply_echo *x = &p->echoes[i];

		if (w->ports[x->from].end.node == node)
			json_array_append_new(list,
					      json_pack("{s:s, s:s, s:I}", "from",
							bare(r->a, w->ports[x->from].address), "to",
							bare(r->a, w->ports[x->to].address),
							"bytes", (json_int_t)x->bytes));
	}
	return json_pack("{s:o, s:i, s:i}", "targets", list, "tries", PING_TRIES, "limit_ms",
			 PING_MS);
}

static void read_echoes(const struct apply_run *r, const struct wiring *w, struct apply *p,
			size_t node, const struct rsh_reply *reply)
{
	const json_t *list = json_object_get(reply->answer, "echoes");
	size_t at = 0;

	for (size_t i = 0; i < p->n_echoes; i++) {
		struct apply_echo *x = &p->echoes[i];
		const json_t *j;
		const char *error;

		if (w->ports[x->from].end.node != node)
			continue;
		j = json_array_get(list, at++);
		error = json_string_value(json_object_get(j, "error"));
		x->good = json_integer_value(json_object_get(j, "got")) > 0;
		x->us = json_number_value(json_object_get(j, "us"));
		if (x->good)
			continue;
		x->trouble = error ? arena_printf(r->a, "%.256s", error) : "no answer came back";
		apply_fail(r, w, p, node,
			   arena_printf(
				   r->a, "an echo of %lld bytes, not to be cut, from %s to %s: %s",
				   x->bytes + PING_HEADS, bare(r->a, w->ports[x->from].address),
				   bare(r->a, w->ports[x->to].address), x->trouble));
	}
}

int apply_ping(const struct apply_run *r, const struct wiring *w, struct apply *p)
{
	struct rsh_reply *answers = apply_replies(r);
	bool *all = arena_array(r->a, rsh_count(r->rsh), sizeof(*all));
	json_t **with = arena_array(r->a, p->n_nodes, sizeof(*with));
	int code;

	add_echoes(r, w, p);
	for (size_t i = 0; i < p->n_nodes; i++) {
		all[i] = true;
		with[i] = targets_of(r, w, p, i);
	}
	code = apply_ask_some(r, "ping", all, with, APPLY_ANSWER_MS, answers);
	for (size_t i = 0; code == 0 && i < p->n_nodes; i++) {
		if (!answers[i].answer)
			apply_fail(r, w, p, i, apply_why(r, i, &answers[i]));
		else
			read_echoes(r, w, p, i, &answers[i]);
	}
	return code;
}
