/* SPDX-License-Identifier: Apache-2.0 */
/* All nodes in step: none keeps anything before all have made it and reached the others. */
#include <errno.h>
#include <math.h>
#include <string.h>
#include <time.h>

#include "many/cluster/apply.h"
#include "base/clock.h"
#include "base/text.h"
#include "many/cluster/messages.h"

static void apply_report(const struct apply_run *r, const char *sentence)
{
	if (r->say)
		r->say(r->ctx, sentence);
}

enum {
	APPLY_ANSWER_MS = 20000,
	APPLY_SET_MS = 60000, /* with what owners of links take */
};

int apply_read_before(struct arena *a, const json_t *j, struct wiring_node *out, struct err *e)
{
	int r = shape_read(a, &wiring_node_shape, j, out, e);
	struct ipv4 *list;

	if (r)
		return r;
	list = arena_array(a, out->n_network_texts, sizeof(*list));
	for (size_t i = 0; i < out->n_network_texts; i++)
		out->n_networks += ipv4_parse(out->network_texts[i], &list[out->n_networks]) == 0;
	out->networks = list;
	return 0;
}

/* Asking nodes: what they are, what they would change, and what the other parts ask them. */

/* Room for one reply a node. */
static struct rsh_reply *apply_replies(const struct apply_run *r)
{
	return arena_array(r->a, r->rsh->n, sizeof(struct rsh_reply));
}

/* The first failure is the one that is told. */
static void apply_fail(const struct apply_run *r, const struct wiring *w, struct apply *p,
		       size_t node, const char *sentence)
{
	if (!p->failure)
		p->failure = arena_printf(r->a, "%s: %s", w->c->nodes[node].name, sentence);
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
		bool *one = arena_array(r->a, c->n_nodes, sizeof(*one));
		struct err e = { 0 };

		/* One after the other: only so the clocks can be compared well. */
		one[i] = true;
		if (rsh_ask_all(r->rsh, "preflight", one, NULL, APPLY_ANSWER_MS, answers))
			return -EINTR;
		if (answers[i].answer && apply_read_before(r->a, answers[i].answer, n, &e))
			answers[i].failure = arena_strdup(r->a, e.text);
		if (answers[i].failure) {
			*n = (struct wiring_node){ .failure = answers[i].failure,
						   .skew_ms = NAN,
						   .skew_by_ms = NAN };
			continue;
		}
		n->skew_by_ms = answers[i].seconds * 1000 / 2;
		n->skew_ms = (double)n->time_ms - ((double)now_ms() - n->skew_by_ms);
	}
	*out = list;
	return 0;
}

/* The node's part of the wiring, as a request has it. p: NULL, or what is to be made. */
static json_t *apply_target(const struct apply_run *r, const struct wiring *w,
			    const struct apply *p, size_t node)
{
	struct setup_want want = { .hosts = w->hosts[node], .known_hosts = w->known_hosts[node] };

	for (size_t i = 0; i < w->n_ports && want.n < SETUP_PORTS_MAX; i++)
		if (w->ports[i].end.node == node)
			want.ports[want.n++] =
				(struct setup_port){ w->ports[i].port, w->ports[i].address,
						     w->paths[w->ports[i].path].mtu };
	for (size_t i = 0; i < w->n_switches && want.n_types < SETUP_PORTS_MAX; i++)
		if (w->switches[i].node == node)
			want.types[want.n_types++] =
				(struct setup_type){ w->switches[i].pci, w->switches[i].port };
	if (p) {
		want.digest = p->nodes[node].plan.digest;
		want.limit_s = r->limit_s;
	}
	return shape_object_json(&setup_want_shape, &want);
}

void apply_begin(struct arena *a, const struct wiring *w, const struct wiring_node *before,
		 struct apply *out)
{
	*out = (struct apply){ .n_nodes = w->c->n_nodes, .seconds = NAN };
	out->nodes = arena_array(a, out->n_nodes, sizeof(*out->nodes));
	for (size_t i = 0; i < out->n_nodes; i++)
		out->nodes[i] = (struct apply_node){ .name = w->c->nodes[i].name,
						     .label = w->labels[i],
						     .before = &before[i],
						     .state = APPLY_STATES };
}

int apply_ask_plan(const struct apply_run *r, const struct wiring *w, struct apply *p)
{
	struct rsh_reply *answers = apply_replies(r);
	json_t **with = arena_array(r->a, p->n_nodes, sizeof(*with));
	int code;

	p->limit_s = r->limit_s;
	for (size_t i = 0; i < p->n_nodes; i++)
		with[i] = apply_target(r, w, NULL, i);
	code = rsh_ask_all(r->rsh, "network-plan", NULL, with, APPLY_ANSWER_MS, answers);
	if (code)
		return code;
	for (size_t i = 0; i < p->n_nodes; i++) {
		struct apply_node *node = &p->nodes[i];

		if (message_read(r->a, &answers[i], &setup_answer_shape, &node->plan)) {
			node->state = node->plan.n_changes ? APPLY_ASKED : APPLY_NOTHING;
		} else {
			node->plan = (struct setup_answer){ 0 };
			node->state = APPLY_FAILED;
			node->sentence = answers[i].failure;
		}
	}
	return 0;
}

bool apply_refused(const struct apply *p)
{
	for (size_t i = 0; i < p->n_nodes; i++)
		if (p->nodes[i].plan.n_refusals || p->nodes[i].state == APPLY_FAILED)
			return true;
	return false;
}

bool apply_has_changes(const struct apply *p)
{
	for (size_t i = 0; i < p->n_nodes; i++)
		if (p->nodes[i].plan.n_changes)
			return true;
	return false;
}

bool apply_captured(const struct wiring *w)
{
	for (size_t i = 0; i < w->c->n_nodes; i++)
		if (fact_or(&w->c->nodes[i].captured, 0))
			return true;
	return false;
}

/* --- making it so ----------------------------------------------------------------------------- */

/* All nodes in that state do this, and are in the state good or bad then, or lost. */
static int step_all(const struct apply_run *r, const struct wiring *w, struct apply *p,
		    enum apply_state from, const char *ask, json_t **with, enum apply_state good,
		    enum apply_state bad, struct rsh_reply *answers)
{
	bool *which = arena_array(r->a, r->rsh->n, sizeof(*which));
	int code;

	for (size_t i = 0; i < p->n_nodes; i++)
		which[i] = p->nodes[i].state == from;
	code = rsh_ask_all(r->rsh, ask, which, with, APPLY_SET_MS, answers);
	for (size_t i = 0; i < p->n_nodes; i++) {
		struct apply_node *node = &p->nodes[i];

		if (!which[i])
			continue;
		node->state = answers[i].answer			      ? good
			      : answers[i].failure && !answers[i].out ? bad
								      : APPLY_LOST;
		if (answers[i].answer)
			continue;
		node->sentence =
			answers[i].failure ? answers[i].failure : "the node does not answer";
		apply_fail(r, w, p, i, node->sentence);
	}
	return code;
}

static int set_all(const struct apply_run *r, const struct wiring *w, struct apply *p)
{
	struct rsh_reply *answers = apply_replies(r);
	json_t **with = arena_array(r->a, p->n_nodes, sizeof(*with));
	struct armed_answer armed;
	int code;

	for (size_t i = 0; i < p->n_nodes; i++)
		if (p->nodes[i].state == APPLY_ASKED)
			with[i] = apply_target(r, w, p, i);
	code = step_all(r, w, p, APPLY_ASKED, "network-set", with, APPLY_SET, APPLY_FAILED,
			answers);
	/* What a node says of itself does not change that it was made. */
	for (size_t i = 0; i < p->n_nodes; i++)
		if (p->nodes[i].state == APPLY_SET)
			p->nodes[i].dead_man =
				message_read(r->a, &answers[i], &armed_answer_shape, &armed)
					? armed.dead_man
					: "";
	return code;
}

/* Whether every port has what it shall have, as its node sees it. */
static int look_all(const struct apply_run *r, const struct wiring *w, struct apply *p)
{
	struct rsh_reply *answers = apply_replies(r);
	json_t **with = arena_array(r->a, p->n_nodes, sizeof(*with));
	int code;

	for (size_t i = 0; i < p->n_nodes; i++)
		with[i] = apply_target(r, w, NULL, i);
	code = rsh_ask_all(r->rsh, "network-look", NULL, with, APPLY_ANSWER_MS, answers);
	for (size_t i = 0; code == 0 && i < p->n_nodes; i++) {
		struct settled_answer now = { 0 };

		if (!message_read(r->a, &answers[i], &settled_answer_shape, &now))
			apply_fail(r, w, p, i, answers[i].failure);
		for (size_t k = 0; k < now.n; k++)
			if (now.ports[k].trouble)
				apply_fail(r, w, p, i,
					   arena_printf(r->a, "%.32s: %.256s", now.ports[k].port,
							now.ports[k].trouble));
	}
	return code;
}

/* Echoes as large as the MTU, which nobody on the way may cut, from every end to every other. */

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
			ARENA_ADD(r->a, p->echoes, p->n_echoes) =
				(struct apply_echo){ .from = &w->ports[i],
						     .to = &w->ports[k],
						     .us = NAN,
						     .bytes = w->paths[w->ports[i].path].mtu -
							      PING_HEADS };
		}
}

static const char *bare(struct arena *a, const char *address)
{
	return arena_strndup(a, address, strcspn(address, "/"));
}

static json_t *cluster_apply_targets_of(const struct apply_run *r, const struct apply *p,
					size_t node)
{
	struct ping_ask ask = { .targets = arena_array(r->a, p->n_echoes, sizeof(*ask.targets)),
				.tries = PING_TRIES,
				.limit_ms = PING_MS };

	for (size_t i = 0; i < p->n_echoes; i++) {
		const struct apply_echo *x = &p->echoes[i];

		if (x->from->end.node == node)
			ask.targets[ask.n++] =
				(struct ping_target){ bare(r->a, x->from->address),
						      bare(r->a, x->to->address), x->bytes };
	}
	return shape_object_json(&ping_ask_shape, &ask);
}

static void read_echoes(const struct apply_run *r, const struct wiring *w, struct apply *p,
			size_t node, const struct ping_answer *said)
{
	size_t at = 0;

	for (size_t i = 0; i < p->n_echoes; i++) {
		struct apply_echo *x = &p->echoes[i];
		const struct ping_echo *got;

		if (x->from->end.node != node)
			continue;
		got = at < said->n ? &said->echoes[at++] : &(const struct ping_echo){ .us = NAN };
		x->good = got->got > 0;
		x->us = got->us;
		if (x->good)
			continue;
		x->trouble = got->error ? arena_printf(r->a, "%.256s", got->error)
					: "no answer came back";
		apply_fail(r, w, p, node,
			   arena_printf(r->a,
					"an unfragmented ping of %lld bytes from %s to %s: %s",
					x->bytes + PING_HEADS, bare(r->a, x->from->address),
					bare(r->a, x->to->address), x->trouble));
	}
}

/* Echoes between all ends of all paths, both ways. -EINTR. */
static int apply_ping(const struct apply_run *r, const struct wiring *w, struct apply *p)
{
	struct rsh_reply *answers = apply_replies(r);
	json_t **with = arena_array(r->a, p->n_nodes, sizeof(*with));
	int code;

	add_echoes(r, w, p);
	for (size_t i = 0; i < p->n_nodes; i++)
		with[i] = cluster_apply_targets_of(r, p, i);
	code = rsh_ask_all(r->rsh, "ping", NULL, with, APPLY_ANSWER_MS, answers);
	for (size_t i = 0; code == 0 && i < p->n_nodes; i++) {
		struct ping_answer said;

		if (!message_read(r->a, &answers[i], &ping_answer_shape, &said))
			apply_fail(r, w, p, i, answers[i].failure);
		else
			read_echoes(r, w, p, i, &said);
	}
	return code;
}

/* --- the end ---------------------------------------------------------------------------------- */

static bool any(const struct apply *p, enum apply_state s)
{
	for (size_t i = 0; i < p->n_nodes; i++)
		if (p->nodes[i].state == s)
			return true;
	return false;
}

int apply_make(const struct apply_run *r, const struct wiring *w, struct apply *p)
{
	double begin_s = clock_mono_s();
	int code;

	apply_report(r, "making the changes on all nodes; a node that is not confirmed undoes its "
			"changes automatically");
	code = set_all(r, w, p);
	if (code == 0 && !p->failure) {
		apply_report(r, "checking both ends of every path");
		code = look_all(r, w, p);
	}
	if (code == 0 && !p->failure && !apply_captured(w))
		code = apply_ping(r, w, p);
	if (code == -EINTR)
		p->failure = "interrupted";
	if (p->failure || code) {
		apply_report(r, "undoing the changes");
		(void)step_all(r, w, p, APPLY_SET, "network-back", NULL, APPLY_BACK, APPLY_STUCK,
			       apply_replies(r));
		p->seconds = clock_mono_s() - begin_s;
		return any(p, APPLY_STUCK) ? -EUCLEAN : -ECANCELED;
	}
	apply_report(r, "confirming");
	code = step_all(r, w, p, APPLY_SET, "network-keep", NULL, APPLY_KEPT, APPLY_STUCK,
			apply_replies(r));
	p->seconds = clock_mono_s() - begin_s;
	return p->failure || code ? -EUCLEAN : 0;
}

int apply_undo(const struct apply_run *r, const char *const *names, size_t n_nodes, bool dry,
	       bool force, struct apply *p)
{
	struct rsh_reply *answers = apply_replies(r);
	json_t **with = arena_array(r->a, n_nodes, sizeof(*with));
	int code;

	*p = (struct apply){ .n_nodes = n_nodes };
	p->nodes = arena_array(r->a, n_nodes, sizeof(*p->nodes));
	for (size_t i = 0; i < n_nodes; i++)
		with[i] = shape_object_json(&undo_ask_shape, &(struct undo_ask){ dry, force });
	code = rsh_ask_all(r->rsh, "network-undo", NULL, with, APPLY_SET_MS, answers);
	if (code)
		return code;
	for (size_t i = 0; i < n_nodes; i++) {
		struct apply_node *node = &p->nodes[i];
		struct txn_report *report = &node->undone;

		node->name = names[i];
		if (!message_read(r->a, &answers[i], &apply_undone_shape, report)) {
			*report = (struct txn_report){ 0 };
			node->state = APPLY_FAILED;
			node->sentence = answers[i].failure;
			code = -EUCLEAN;
			continue;
		}
		node->state = !report->n ? APPLY_NOTHING : dry ? APPLY_ASKED : APPLY_BACK;
		for (size_t k = 0; k < report->n; k++)
			if (report->rows[k].outcome == OUTCOME_STUCK)
				node->state = APPLY_STUCK;
		if (node->state == APPLY_STUCK)
			code = -EUCLEAN;
	}
	return code;
}
