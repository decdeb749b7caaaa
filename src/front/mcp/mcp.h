/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The Model Context Protocol: verbs as tools for programs that think. One JSON-RPC message a line;
 * revision 2026-07-28 (each request says its version) and 2025-11-25 (initialize).
 * https://modelcontextprotocol.io/specification/2026-07-28
 */
#ifndef MCP_MCP_H
#define MCP_MCP_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

#include "base/arena.h"
#include "base/err.h"
#include "front/session.h"
#include "verbs/cluster/cluster.h"

#define MCP_VERSION "2026-07-28"
#define MCP_LEGACY "2025-11-25"

enum {
	MCP_LINE_MAX = 1 << 18, /* bytes of one message */
	MCP_TOKENS = 1500,	/* of an answer, unless its question says another number */
	MCP_TOKENS_LEAST = 200,
	MCP_TOKENS_MOST = 20000,
};

/* Codes of JSON-RPC, and of the protocol. */
enum {
	RPC_PARSE = -32700,
	RPC_REQUEST = -32600,
	RPC_METHOD = -32601,
	RPC_PARAMS = -32602,
	RPC_INTERNAL = -32603,
	RPC_VERSION = -32022,
};

/* What the server was started with. */
struct mcp_ask {
	bool changes, once;
	const char *socket, *group, *captures, *overlay;
	struct reach_ask nodes;
	struct reach reach; /* what nodes says, read; no option */
};

/* A verb, and what of its question a program may ask. */
struct mcp_tool {
	const char *name, *title, *about;
	const char *verb;    /* "predict inference"; "generate *": the argument "kind" is * */
	const char *keys;    /* of its question, by commas */
	const char *fixed;   /* JSON that is always part of the question; NULL: nothing */
	const char *text_as; /* the key that names standard input where "text" is given; NULL */
	bool writes, idempotent, loads;
	bool here; /* no argument target: it is about no machine, or about this one alone */
	int limit_s;
};
extern const struct mcp_tool mcp_tools[];
extern const size_t mcp_n_tools;

/* Of that name and offered here; NULL: there is none. */
const struct mcp_tool *mcp_tool_find(const struct mcp_ask *how, const char *name);
/* The verb that answers; kind: of "generate *". NULL: there is none. */
const struct verb *mcp_tool_verb(struct arena *a, const struct mcp_tool *t, const char *kind);
/* A name in a folder, not a path; NULL is none. */
bool mcp_plain_name(const char *s);
/* As tools/list has it. The caller owns the reference. */
json_t *mcp_tool_json(const struct mcp_ask *how, const struct mcp_tool *t);

/* One call of a tool. */
struct mcp_call {
	const struct mcp_tool *tool;
	const char *target;	       /* "this", "demo:NAME", a capture or a node */
	const char *capture;	       /* which it is; NULL: none */
	const struct rsh_target *node; /* which it is; NULL: none */
	const char *kind, *fields;     /* NULL: not given */
	size_t tokens;
	json_t *question, *arguments; /* owned; arguments: as they were given, without the target */
	const char *text;	      /* for standard input; NULL: nothing */
	const char *user;	      /* accept, decline or cancel: of the plan that was shown */
};
/*
 * Checks the arguments: keys, target, and that no file is named. 0, or
 * -EINVAL and *e. Texts live in the arena; mcp_call_free.
 */
int mcp_call_read(struct arena *a, const struct mcp_ask *how, const struct mcp_tool *t,
		  const json_t *arguments, struct mcp_call *out, struct err *e);
void mcp_call_free(struct mcp_call *c);
/*
 * The result of tools/call for what the verb printed, len bytes, said on standard error, and ended
 * with. The caller owns the reference.
 */
json_t *mcp_call_result(const struct mcp_call *c, const char *printed, size_t len, const char *said,
			int code);

/* --- messages --------------------------------------------------------------------------------- */

struct mcp_client {
	bool legacy;  /* it said initialize */
	bool elicits; /* its user can be shown something */
};

enum mcp_do {
	MCP_NOTHING, /* a notification, or somebody's answer */
	MCP_ANSWER,  /* *answer */
	MCP_RUN,     /* the call of a tool; its result is what request asks for */
	MCP_CANCEL,  /* the request of that id */
};

struct mcp_request {
	json_t *id, *token; /* owned; token: of progress, NULL: none is wanted */
	bool modern;
	bool elicits;	 /* the client's user can be shown something */
	const char *uri; /* of a resource that is answered by a tool; NULL: tools/call */
	struct mcp_call call;
};

/* One line from a client. Pure but for files of docs, skills and schemas. *answer and request are
 * the caller's: mcp_request_free. */
enum mcp_do mcp_message(struct arena *a, const struct mcp_ask *how, struct mcp_client *client,
			const char *line, size_t len, struct mcp_request *request, json_t **answer);
void mcp_request_free(struct mcp_request *r);
/* The whole answer for a result, which it takes. */
json_t *mcp_answer(const struct mcp_request *r, json_t *result);
json_t *mcp_error(const json_t *id, int code, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));
/*
 * Shows the user the plan that propose printed, len bytes; whatever is answered approves nothing.
 * Of revision 2026-07-28 it is the whole answer, and the client asks again with what its user said;
 * before, a request of its own. NULL: no plan waits, or it was shown.
 */
json_t *mcp_show_plan(const struct mcp_request *r, const char *printed, size_t len);
json_t *mcp_progress(const json_t *token, long long n, const char *message);

#endif
