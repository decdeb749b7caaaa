/* SPDX-License-Identifier: Apache-2.0 */
/* All nodes in step: none keeps anything before all have made it and reached the others. */
#include <errno.h>
#include <string.h>
#include <time.h>

#include "many/cluster/apply.h"
#include "base/clock.h"
#include "base/text.h"

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

static void apply_report(const struct apply_run *r, const char *sentence)
{
	if (r->say)
		r->say(r->ctx, sentence);
}

/* Nodes' answers as structs. What is not of its form is left out; what is too much is cut. */

enum { TEXT_MAX = 1 << 16 };

/* "" for what is no text, or more than anybody writes. */
static const char *text_of(struct arena *a, const json_t *j)
{
	size_t n = json_string_length(j);

	return json_is_string(j) && n <= TEXT_MAX && strlen(json_string_value(j)) == n
		       ? arena_strndup(a, json_string_value(j), n)
		       : "";
}

static const char *member(struct arena *a, const json_t *j, const char *key)
{
	return text_of(a, json_object_get(j, key));
}

/* As member, NULL for what is null or missing. */
static const char *optional(struct arena *a, const json_t *j, const char *key)
{
	return json_is_string(json_object_get(j, key)) ? member(a, j, key) : NULL;
}

static size_t count(const json_t *list, size_t most)
{
	size_t n = json_array_size(list);

	return n < most ? n : most;
}

static const char **texts(struct arena *a, const json_t *list, size_t most, size_t *n)
{
	size_t all = count(list, most);
	const char **out = arena_array(a, all, sizeof(*out));

	*n = 0;
	for (size_t i = 0; i < all; i++)
		if (json_is_string(json_array_get(list, i)))
			out[(*n)++] = text_of(a, json_array_get(list, i));
	return out;
}

void apply_read_before(struct arena *a, const json_t *j, struct wiring_node *out)
{
	const json_t *networks = json_object_get(j, "networks"), *keys = json_object_get(j, "keys");
	struct ipv4 *list = arena_array(a, count(networks, WIRING_NETWORKS_MAX), sizeof(*list));
	struct wiring_key *key = arena_array(a, count(keys, WIRING_KEYS_MAX), sizeof(*key));

	out->user = member(a, j, "user");
	out->euid = json_integer_value(json_object_get(j, "euid"));
	out->version = member(a, j, "version");
	for (size_t i = 0; i < count(networks, WIRING_NETWORKS_MAX); i++)
		if (ipv4_parse(text_of(a, json_array_get(networks, i)), &list[out->n_networks]) ==
		    0)
			out->n_networks++;
	for (size_t i = 0; i < count(keys, WIRING_KEYS_MAX); i++) {
		const json_t *k = json_array_get(keys, i);

		key[out->n_keys++] =
			(struct wiring_key){ member(a, k, "file"), member(a, k, "digest") };
	}
	out->networks = list;
	out->keys = key;
	out->host_keys =
		texts(a, json_object_get(j, "host_keys"), WIRING_KEYS_MAX, &out->n_host_keys);
}

static const char *cluster_apply_words(struct arena *a, const json_t *list)
{
	TEXT_AUTO out = { 0 };

	text_add(&out, "");
	for (size_t i = 0; i < count(list, APPLY_ITEMS_MAX); i++)
		text_printf(&out, "%s%s", i ? " " : "", text_of(a, json_array_get(list, i)));
	return arena_strdup(a, out.s);
}

static void read_changes(struct arena *a, const json_t *list, struct apply_node *out)
{
	size_t n = count(list, APPLY_ITEMS_MAX);

	out->changes = arena_array(a, n, sizeof(*out->changes));
	out->n_changes = n;
	for (size_t i = 0; i < n; i++) {
		const json_t *j = json_array_get(list, i);

		out->changes[i] = (struct apply_change){ .step = member(a, j, "step"),
							 .kind = member(a, j, "kind"),
							 .name = member(a, j, "name"),
							 .object = member(a, j, "object"),
							 .before = optional(a, j, "before"),
							 .after = optional(a, j, "after") };
	}
}

void apply_read_plan(struct arena *a, const json_t *j, struct apply_node *out)
{
	const json_t *files = json_object_get(j, "files"),
		     *refusals = json_object_get(j, "refusals"),
		     *owners = json_object_get(j, "owners"),
		     *commands = json_object_get(j, "commands");

	read_changes(a, json_object_get(j, "changes"), out);
	out->digest = member(a, j, "digest");
	out->notes = texts(a, json_object_get(j, "notes"), APPLY_ITEMS_MAX, &out->n_notes);
	out->n_files = count(files, APPLY_ITEMS_MAX);
	out->files = arena_array(a, out->n_files, sizeof(*out->files));
	for (size_t i = 0; i < out->n_files; i++)
		out->files[i] = (struct apply_file){ member(a, json_array_get(files, i), "path"),
						     member(a, json_array_get(files, i), "text") };
	out->n_refusals = count(refusals, APPLY_ITEMS_MAX);
	out->refusals = arena_array(a, out->n_refusals, sizeof(*out->refusals));
	for (size_t i = 0; i < out->n_refusals; i++) {
		const json_t *r = json_array_get(refusals, i);

		out->refusals[i] =
			(struct apply_refusal){ member(a, r, "code"), member(a, r, "port"),
						member(a, r, "text"), member(a, r, "fix") };
	}
	out->n_owners = count(owners, APPLY_ITEMS_MAX);
	out->owners = arena_array(a, out->n_owners, sizeof(*out->owners));
	for (size_t i = 0; i < out->n_owners; i++)
		out->owners[i] =
			arena_printf(a, "%s: %s", member(a, json_array_get(owners, i), "port"),
				     member(a, json_array_get(owners, i), "owner"));
	out->n_commands = count(commands, APPLY_ITEMS_MAX);
	out->commands = arena_array(a, out->n_commands, sizeof(*out->commands));
	for (size_t i = 0; i < out->n_commands; i++)
		out->commands[i] = cluster_apply_words(a, json_array_get(commands, i));
}

void apply_read_rows(struct arena *a, const json_t *j, struct apply_node *out)
{
	const json_t *list = json_object_get(j, "rows");
	size_t n = count(list, APPLY_ITEMS_MAX);

	out->changes = arena_array(a, n, sizeof(*out->changes));
	out->n_changes = n;
	for (size_t i = 0; i < n; i++) {
		const json_t *row = json_array_get(list, i);

		out->changes[i] = (struct apply_change){ .step = "",
							 .kind = member(a, row, "kind"),
							 .name = member(a, row, "name"),
							 .object = member(a, row, "object"),
							 .before = optional(a, row, "from"),
							 .after = optional(a, row, "to"),
							 .outcome = member(a, row, "outcome"),
							 .sentence = optional(a, row, "sentence"),
							 .command = optional(a, row, "command") };
	}
}

/* Asking nodes: what they are, what they would change, and what the other parts ask them. */

/* Room for one reply a node. */
static struct rsh_reply *apply_replies(const struct apply_run *r)
{
	return arena_array(r->a, rsh_count(r->rsh), sizeof(struct rsh_reply));
}

/* The first failure is the one that is told. */
static void apply_fail(const struct apply_run *r, const struct wiring *w, struct apply *p,
		       size_t node, const char *sentence)
{
	if (!p->failure)
		p->failure = arena_printf(r->a, "%s: %s", w->c->nodes[node].name, sentence);
}

/* Asks those nodes whose bit is set; with (may be NULL, one a node) is taken. */
static int apply_ask_some(const struct apply_run *r, const char *ask, const bool *which,
			  json_t **with, int limit_ms, struct rsh_reply *answers)
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

static json_t *apply_target(const struct wiring *w, size_t node)
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

/* Why there is no answer. */
static const char *apply_why(const struct apply_run *r, size_t i, const struct rsh_reply *reply)
{
	const char *out = rsh_failure(r->rsh, i);

	if (reply->failure)
		return arena_strdup(r->a, reply->failure);
	return out ? out : "it does not answer";
}

/* The node's part of the wiring, as a request has it. */
static void apply_begin(const struct apply_run *r, size_t n, struct apply *p)
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
		with[i] = apply_target(w, i);
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

/* --- making it so ----------------------------------------------------------------------------- */

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
		with[i] = apply_target(w, i);
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
		with[i] = apply_target(w, i);
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

static json_t *cluster_apply_targets_of(const struct apply_run *r, const struct wiring *w,
					const struct apply *p, size_t node)
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

/* Echoes between all ends of all paths, both ways. -EINTR. */
static int apply_ping(const struct apply_run *r, const struct wiring *w, struct apply *p)
{
	struct rsh_reply *answers = apply_replies(r);
	bool *all = arena_array(r->a, rsh_count(r->rsh), sizeof(*all));
	json_t **with = arena_array(r->a, p->n_nodes, sizeof(*with));
	int code;

	add_echoes(r, w, p);
	for (size_t i = 0; i < p->n_nodes; i++) {
		all[i] = true;
		with[i] = cluster_apply_targets_of(r, w, p, i);
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

/* --- the end ---------------------------------------------------------------------------------- */

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

static int cluster_apply_keep_all(const struct apply_run *r, const struct wiring *w,
				  struct apply *p)
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

	apply_report(r,
		     "making the changes on all nodes; each takes them back by itself unless it is "
		     "confirmed");
	code = set_all(r, w, p);
	if (code == 0 && !p->failure) {
		apply_report(r, "looking at both ends of every path");
		code = look_all(r, w, p);
	}
	if (code == 0 && !p->failure)
		code = apply_ping(r, w, p);
	if (code == -EINTR)
		p->failure = "it was interrupted";
	if (p->failure || code) {
		apply_report(r, "taking it back");
		back_all(r, p);
		p->seconds = clock_mono_s() - begin_s;
		return any(p, APPLY_STUCK) ? -EUCLEAN : -ECANCELED;
	}
	apply_report(r, "confirming");
	code = cluster_apply_keep_all(r, w, p);
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
