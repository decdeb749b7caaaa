/* SPDX-License-Identifier: Apache-2.0 */
/* All nodes in step: nobody keeps anything before everybody has made it and heard the others. */
#include "many/cluster/apply.h"

#include <errno.h>
#include <string.h>

#include "base/clock.h"
#include "many/cluster/apply_inside.h"

const char *apply_state_name(enum apply_state s)
{
	static const char *const names[APPLY_STATES] = {
		[APPLY_ASKED] = "planned",   [APPLY_NOTHING] = "nothing-to-do",
		[APPLY_SET] = "unconfirmed", [APPLY_KEPT] = "kept",
		[APPLY_BACK] = "taken-back", [APPLY_FAILED] = "failed",
		[APPLY_LOST] = "lost",	     [APPLY_STUCK] = "stuck",
	};

	return names[s];
}

static void say(const struct apply_run *r, const char *sentence)
{
	if (r->say)
		r->say(r->ctx, sentence);
}

/* --- making it so ------------------------------------------------------------------------------
 */

static bool *in_state(const struct apply_run *r, const struct apply *p, enum apply_state s)
{
	bool *out = arena_array(r->a, rsh_count(r->rsh), sizeof(*out));

	for (size_t i = 0; i < p->n_nodes; i++)
		out[i] = p->nodes[i].state == s;
	return out;
}

static int set_all(const struct apply_run *r, const struct wiring *w, struct apply *p)
{
	struct rsh_reply *answers = apply_replies(r);
	bool *which = in_state(r, p, APPLY_ASKED);
	json_t **with = arena_array(r->a, p->n_nodes, sizeof(*with));
	int code;

	for (size_t i = 0; i < p->n_nodes; i++) {
		if (!which[i])
			continue;
		with[i] = apply_wish(w, i);
		json_object_set_new(with[i], "digest", json_string(p->nodes[i].digest));
		json_object_set_new(with[i], "limit_s", json_integer(r->limit_s));
	}
	code = apply_ask_some(r, "network-set", which, with, APPLY_SET_MS, answers);
	for (size_t i = 0; i < p->n_nodes; i++) {
		struct apply_node *node = &p->nodes[i];

		if (!which[i])
			continue;
		node->state = answers[i].answer			      ? APPLY_SET
			      : answers[i].failure && !answers[i].out ? APPLY_FAILED
								      : APPLY_LOST;
		if (answers[i].answer) {
			const char *man =
				json_string_value(json_object_get(answers[i].answer, "dead_man"));

			node->dead_man = arena_strdup(r->a, man ? man : "");
			continue;
		}
		node->sentence = apply_why(r, i, &answers[i]);
		apply_fail(r, w, p, i, node->sentence);
	}
	return code;
}

/* Whether every port has what it shall have, as its node sees it. */
static int look_all(const struct apply_run *r, const struct wiring *w, struct apply *p)
{
	struct rsh_reply *answers = apply_replies(r);
	bool *all = arena_array(r->a, rsh_count(r->rsh), sizeof(*all));
	json_t **with = arena_array(r->a, p->n_nodes, sizeof(*with));
	int code;

	for (size_t i = 0; i < p->n_nodes; i++) {
		all[i] = true;
		with[i] = apply_wish(w, i);
	}
	code = apply_ask_some(r, "network-look", all, with, APPLY_ANSWER_MS, answers);
	for (size_t i = 0; code == 0 && i < p->n_nodes; i++) {
		const json_t *ports = json_object_get(answers[i].answer, "ports"), *one;
		size_t k;

		if (!answers[i].answer)
			apply_fail(r, w, p, i, apply_why(r, i, &answers[i]));
		json_array_foreach((json_t *)ports, k, one)
		{
			const char *trouble = json_string_value(json_object_get(one, "trouble")),
				   *port = json_string_value(json_object_get(one, "port"));

			if (trouble)
				apply_fail(r, w, p, i,
					   arena_printf(r->a, "%.32s: %.256s", port ? port : "?",
							trouble));
		}
	}
	return code;
}

/* --- the end -----------------------------------------------------------------------------------
 */

static void back_all(const struct apply_run *r, struct apply *p)
{
	struct rsh_reply *answers = apply_replies(r);
	bool *which = in_state(r, p, APPLY_SET);

	(void)apply_ask_some(r, "network-back", which, NULL, APPLY_SET_MS, answers);
	for (size_t i = 0; i < p->n_nodes; i++) {
		struct apply_node *node = &p->nodes[i];

		if (!which[i])
			continue;
		node->state = answers[i].answer			      ? APPLY_BACK
			      : answers[i].failure && !answers[i].out ? APPLY_STUCK
								      : APPLY_LOST;
		if (!answers[i].answer)
			node->sentence = apply_why(r, i, &answers[i]);
	}
}

static int keep_all(const struct apply_run *r, const struct wiring *w, struct apply *p)
{
	struct rsh_reply *answers = apply_replies(r);
	bool *which = in_state(r, p, APPLY_SET);
	int code = apply_ask_some(r, "network-keep", which, NULL, APPLY_SET_MS, answers);

	for (size_t i = 0; i < p->n_nodes; i++) {
		struct apply_node *node = &p->nodes[i];

		if (!which[i])
			continue;
		node->state = answers[i].answer			      ? APPLY_KEPT
			      : answers[i].failure && !answers[i].out ? APPLY_STUCK
								      : APPLY_LOST;
		if (!answers[i].answer) {
			node->sentence = apply_why(r, i, &answers[i]);
			apply_fail(r, w, p, i, node->sentence);
		}
	}
	return code;
}

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

	say(r, "making the changes on all nodes; each takes them back by itself unless it is "
	       "confirmed");
	code = set_all(r, w, p);
	if (code == 0 && !p->failure) {
		say(r, "looking at both ends of every path");
		code = look_all(r, w, p);
	}
	if (code == 0 && !p->failure)
		code = apply_ping(r, w, p);
	if (code == -EINTR)
		p->failure = "it was interrupted";
	if (p->failure || code) {
		say(r, "taking it back");
		back_all(r, p);
		p->seconds = clock_mono_s() - begin_s;
		return any(p, APPLY_STUCK) ? -EUCLEAN : -ECANCELED;
	}
	say(r, "confirming");
	code = keep_all(r, w, p);
	p->seconds = clock_mono_s() - begin_s;
	return p->failure || code ? -EUCLEAN : 0;
}

int apply_undo(const struct apply_run *r, size_t n_nodes, bool dry, bool force, struct apply *p)
{
	struct rsh_reply *answers = apply_replies(r);
	json_t **with = arena_array(r->a, n_nodes, sizeof(*with));
	int code;

	apply_begin(r, n_nodes, p);
	for (size_t i = 0; i < n_nodes; i++)
		with[i] = json_pack("{s:b, s:b}", "dry", dry, "force", force);
	code = rsh_ask_all(r->rsh, "network-undo", with, APPLY_SET_MS, answers);
	if (code)
		return code;
	for (size_t i = 0; i < n_nodes; i++) {
		struct apply_node *node = &p->nodes[i];

		if (!answers[i].answer) {
			node->state = APPLY_FAILED;
			node->sentence = apply_why(r, i, &answers[i]);
			code = -EUCLEAN;
			continue;
		}
		apply_read_rows(r->a, answers[i].answer, node);
		node->state = !node->n_changes ? APPLY_NOTHING : dry ? APPLY_ASKED : APPLY_BACK;
		for (size_t k = 0; k < node->n_changes; k++)
			if (strcmp(node->changes[k].outcome, "stuck") == 0)
				node->state = APPLY_STUCK;
		if (node->state == APPLY_STUCK)
			code = -EUCLEAN;
	}
	return code;
}
