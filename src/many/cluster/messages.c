/* SPDX-License-Identifier: Apache-2.0 */
/* Messages between a coordinator and its nodes, a row a member. */
#include "many/cluster/messages.h"

#include "many/cluster/ask.h"
#include "many/cluster/node.h"

json_t *message_json(const struct shape *s, const void *object)
{
	json_t *j = json_object();

	shape_json(j, s, object);
	return j;
}

bool message_read(struct arena *a, struct rsh_reply *reply, const struct shape *s, void *out)
{
	struct err e = { 0 };

	if (!reply->answer)
		return false;
	if (shape_read(a, s, reply->answer, out, &e) == 0)
		return true;
	reply->answer = NULL;
	reply->failure = arena_printf(a, "its answer is not of this version: %s",
				      cluster_clean_text(a, e.text, 200));
	return false;
}

/* clang-format off */

static const struct shape_row ping_target_rows[] = {
	{ "from", NULL, SHAPE_TEXT(ping_target, from) },
	{ "to", NULL, SHAPE_TEXT(ping_target, to) },
	{ "bytes", NULL, SHAPE_COUNT(ping_target, bytes) },
};
static const struct shape ping_target_shape = SHAPE(ping_target, ping_target);

static const struct shape_row ping_ask_rows[] = {
	{ "targets", NULL, SHAPE_LIST(ping_ask, targets, n, ping_target), .max = MEASURE_TARGETS_MAX },
	{ "tries", NULL, SHAPE_COUNT(ping_ask, tries) },
	{ "limit_ms", NULL, SHAPE_COUNT(ping_ask, limit_ms) },
};
const struct shape ping_ask_shape = SHAPE(ping_ask, ping_ask);

static const struct shape_row ping_echo_rows[] = {
	{ "got", NULL, SHAPE_COUNT(ping_echo, got) },
	{ "us", NULL, SHAPE_REAL(ping_echo, us), .unknown = SHAPE_NULL },
	{ "error", NULL, SHAPE_TEXT(ping_echo, error), .unknown = SHAPE_NULL },
};
static const struct shape ping_echo_shape = SHAPE(ping_echo, ping_echo);

static const struct shape_row ping_answer_rows[] = {
	{ "echoes", NULL, SHAPE_LIST(ping_answer, echoes, n, ping_echo), .max = MEASURE_TARGETS_MAX },
};
const struct shape ping_answer_shape = SHAPE(ping_answer, ping_answer);

static const struct shape_row armed_answer_rows[] = {
	{ "dead_man", NULL, SHAPE_TEXT(armed_answer, dead_man) },
};
const struct shape armed_answer_shape = SHAPE(armed_answer, armed_answer);

static const struct shape_row undo_ask_rows[] = {
	{ "dry", NULL, SHAPE_FLAG(undo_ask, dry) },
	{ "force", NULL, SHAPE_FLAG(undo_ask, force) },
};
const struct shape undo_ask_shape = SHAPE(undo_ask, undo_ask);

static const struct shape_row settled_port_rows[] = {
	{ "port", NULL, SHAPE_TEXT(settled_port, port) },
	{ "trouble", NULL, SHAPE_TEXT(settled_port, trouble), .unknown = SHAPE_NULL },
};
static const struct shape settled_port_shape = SHAPE(settled_port, settled_port);

static const struct shape_row settled_answer_rows[] = {
	{ "ports", NULL, SHAPE_LIST(settled_answer, ports, n, settled_port) },
};
const struct shape settled_answer_shape = SHAPE(settled_answer, settled_answer);
