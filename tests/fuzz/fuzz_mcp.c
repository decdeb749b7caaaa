/* SPDX-License-Identifier: Apache-2.0 */
/* Any lines as messages to gputune mcp, of a server that the first byte describes: each is
 * answered, refused, or becomes the call of a tool that is offered there; a call names no file and
 * writes only where changes are allowed. */
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "front/mcp/mcp.h"

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size);

static void check_call(const struct mcp_ask *how, const struct mcp_call *call)
{
	const char *key;
	json_t *v;

	if (call->tool->writes && (!how->changes || !mcp_tool_find(how, call->tool->name)))
		abort();
	if (call->tokens < MCP_TOKENS_LEAST || call->tokens > MCP_TOKENS_MOST)
		abort();
	json_object_foreach(call->question, key,
			    v) if (json_is_string(v) && json_string_value(v)[0] == '/' &&
				   strcmp(json_string_value(v), "/dev/stdin") != 0) abort();
}

static void check_answer(const json_t *answer)
{
	TEXT_AUTO t = { 0 };
	const json_t *id = json_object_get(answer, "id");

	/* A subscription is acknowledged by a notification. */
	if (json_object_get(answer, "method") && !id)
		return;
	if (!json_is_string(id) && !json_is_integer(id) && !json_is_null(id))
		abort();
	if (!json_object_get(answer, "result") == !json_object_get(answer, "error"))
		abort();
	if (json_add(&t, answer, JSON_COMPACT) || strchr(t.s, '\n'))
		abort();
}

/* What propose printed, as the user is shown it: only where the client can, of a proposal, once. */
static void check_shown(const struct mcp_request *r, const char *printed, size_t len)
{
	json_t *shown = mcp_show_plan(r, printed, len);
	const json_t *result = json_object_get(shown, "result");

	if (shown && (!r->elicits || r->call.user || strcmp(r->call.tool->name, "propose") != 0))
		abort();
	if (shown && r->modern)
		check_answer(shown);
	if (shown && r->modern != json_is_string(json_object_get(result, "requestState")))
		abort();
	if (shown && !r->modern && !json_object_get(shown, "method"))
		abort();
	json_decref(shown);
}

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size)
{
	struct mcp_client client = { 0 };
	struct rsh_target nodes[] = { { .name = "n1", .address = "n1" },
				      { .name = "n2", .address = "me@192.0.2.2" } };
	struct mcp_ask how = { 0 };

	if (!size)
		return 0;
	how.changes = data[0] & 1;
	how.reach.targets = nodes;
	how.reach.n = data[0] & 2 ? 2 : 0;
	how.captures = data[0] & 4 ? "/nonexistent" : NULL;
	for (const char *at = (const char *)data + 1, *end = (const char *)data + size; at < end;) {
		const char *line = memchr(at, '\n', (size_t)(end - at));
		size_t len = (size_t)((line ? line : end) - at);
		struct mcp_request r;
		struct arena a = { 0 };
		json_t *answer;
		enum mcp_do what = mcp_message(&a, &how, &client, at, len, &r, &answer);

		if ((what == MCP_ANSWER) != (answer != NULL) || (what == MCP_RUN && !r.id))
			abort();
		if (answer)
			check_answer(answer);
		if (what == MCP_RUN) {
			check_call(&how, &r.call);
			check_shown(&r, at, len);
			json_decref(answer);
			answer = mcp_answer(&r, mcp_call_result(&r.call, at, len, "said", 1));
			check_answer(answer);
		}
		json_decref(answer);
		mcp_request_free(&r);
		arena_free(&a);
		at += len + 1;
	}
	return 0;
}
