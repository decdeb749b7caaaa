/* SPDX-License-Identifier: Apache-2.0 */
/* Messages between a coordinator and its nodes, a row a member. */
#include "many/cluster/messages.h"

#include "many/cluster/ask.h"
#include "many/cluster/node.h"

SHAPE_GIVES(unsigned, line_form, node_line, x->ask ? 0 : x->ok ? 1 : 2)

/* clang-format off */
#define OBJECT SHAPE_JSON(node_line, body), .word = "{\"type\":\"object\"}"

static const struct shape node_request_shape = SHAPE_OF(node_line, node_request,
	{ "id", "From 1.", SHAPE_COUNT(node_line, id) },
	{ "ask", NULL, SHAPE_TEXT(node_line, ask) },
	{ "with", NULL, OBJECT, .later = true });

static const struct shape node_answer_shape = SHAPE_OF(node_line, node_answer,
	{ "id", "Number of the request; 0: the greeting.", SHAPE_COUNT(node_line, id) },
	{ "ok", "True: the request was answered.", SHAPE_FLAG(node_line, ok) },
	{ "answer", NULL, OBJECT });

static const struct shape node_refusal_shape = SHAPE_OF(node_line, node_refusal,
	{ "id", "Number of the request; 0: the line was not a request.", SHAPE_COUNT(node_line, id) },
	{ "ok", "False: the request was refused.", SHAPE_FLAG(node_line, ok) },
	{ "error", NULL, SHAPE_TEXT(node_line, error) },
	{ "hint", NULL, SHAPE_TEXT(node_line, hint) });

static const struct shape *const line_forms[] = { &node_request_shape, &node_answer_shape, &node_refusal_shape };
static const struct shape node_line_shape = SHAPE_FORMS(node_line, node_line, line_forms, line_form);

const struct result_shape cluster_node_result = {
	.name = "cluster-node", .title = "gputune cluster node",
	.meaning = "A line between gputune cluster and the gputune cluster node processes that it starts.",
	.shape = &node_line_shape, .no_time = true, .no_version = true,
};
/* clang-format on */

char *node_line_text(const struct node_line *l)
{
	json_auto_t *j = result_shape_json(&cluster_node_result, l, 0, 0);
	char *text = json_dumps(j, JSON_COMPACT);

	json_decref(l->body);
	return text;
}

bool message_read(struct arena *a, struct rsh_reply *reply, const struct shape *s, void *out)
{
	struct err e = { 0 };

	if (!reply->answer)
		return false;
	if (shape_read(a, s, reply->answer, out, &e) == 0)
		return true;
	reply->answer = NULL;
	reply->failure = arena_printf(a, "the answer has another version: %s",
				      cluster_clean_text(a, e.text, 200));
	return false;
}

/* clang-format off */

const struct shape look_ask_shape = SHAPE_OF(look_ask, look_ask,
	{ "token", NULL, SHAPE_TEXT(look_ask, token), .unknown = SHAPE_NULL, .absent = true },
	{ "number", NULL, SHAPE_COUNT(look_ask, number), .absent = true },
	{ "name", NULL, SHAPE_TEXT(look_ask, name), .unknown = SHAPE_NULL, .absent = true },
	{ "all_links", NULL, SHAPE_FLAG(look_ask, all_links), .absent = true },
	{ "for_ms", NULL, SHAPE_COUNT(look_ask, for_ms), .absent = true },
	{ "to", NULL, SHAPE_TEXT_LIST(look_ask, to, n), .max = CLUSTER_ROUTES_MAX, .absent = true });

static const struct shape ping_target_shape = SHAPE_OF(ping_target, ping_target,
	{ "from", NULL, SHAPE_TEXT(ping_target, from) },
	{ "to", NULL, SHAPE_TEXT(ping_target, to) },
	{ "bytes", NULL, SHAPE_COUNT(ping_target, bytes) });

const struct shape ping_ask_shape = SHAPE_OF(ping_ask, ping_ask,
	{ "targets", NULL, SHAPE_LIST(ping_ask, targets, n, ping_target), .max = MEASURE_TARGETS_MAX },
	{ "tries", NULL, SHAPE_COUNT(ping_ask, tries) },
	{ "limit_ms", NULL, SHAPE_COUNT(ping_ask, limit_ms) });

static const struct shape ping_echo_shape = SHAPE_OF(ping_echo, ping_echo,
	{ "got", NULL, SHAPE_COUNT(ping_echo, got) },
	{ "us", NULL, SHAPE_REAL(ping_echo, us), .unknown = SHAPE_NULL },
	{ "error", NULL, SHAPE_TEXT(ping_echo, error), .unknown = SHAPE_NULL });

const struct shape ping_answer_shape = SHAPE_OF(ping_answer, ping_answer,
	{ "echoes", NULL, SHAPE_LIST(ping_answer, echoes, n, ping_echo), .max = MEASURE_TARGETS_MAX });

const struct shape armed_answer_shape = SHAPE_OF(armed_answer, armed_answer,
	{ "dead_man", NULL, SHAPE_TEXT(armed_answer, dead_man) });

const struct shape undo_ask_shape = SHAPE_OF(undo_ask, undo_ask,
	{ "dry", NULL, SHAPE_FLAG(undo_ask, dry) },
	{ "force", NULL, SHAPE_FLAG(undo_ask, force) });

static const struct shape settled_port_shape = SHAPE_OF(settled_port, settled_port,
	{ "port", NULL, SHAPE_TEXT(settled_port, port) },
	{ "trouble", NULL, SHAPE_TEXT(settled_port, trouble), .unknown = SHAPE_NULL });

const struct shape settled_answer_shape = SHAPE_OF(settled_answer, settled_answer,
	{ "ports", NULL, SHAPE_LIST(settled_answer, ports, n, settled_port) });
