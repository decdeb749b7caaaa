/* SPDX-License-Identifier: Apache-2.0 */
/* The node program's loop: a line in, one handler, a line out. */
#include "many/cluster/ask.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/text.h"
#include "many/cluster/messages.h"

enum { LOOK_MS = 100 };

struct server {
	struct ask_node *node;
	struct text line;
	size_t begin; /* of the line that is not answered yet */
	bool ended;
	int in, out;
};

static int send_line(struct server *s, const struct node_line *l)
{
	char *text = node_line_text(l);
	int r = text ? fd_write_all(s->out, text, strlen(text)) : -ENOMEM;

	free(text);
	return r ? r : fd_write_all(s->out, "\n", 1);
}

static int send_answer(struct server *s, long long id, json_t *answer)
{
	return send_line(s, &(struct node_line){ .id = id, .ok = true, .body = answer });
}

static int send_error(struct server *s, long long id, const struct err *e)
{
	return send_line(s, &(struct node_line){ .id = id, .error = e->text, .hint = e->hint });
}

static int greet(struct server *s)
{
	static const struct request *const lists[] = { ask_look, ask_configure, member_requests };
	json_t *asks = json_array();

	for (size_t i = 0; i < sizeof(lists) / sizeof(lists[0]); i++)
		for (const struct request *k = lists[i]; k->name; k++)
			json_array_append_new(asks, json_string(k->name));
	return send_answer(s, 0, json_pack("{s:s, s:o}", "version", GPUTUNE_VERSION, "asks", asks));
}

static int answer_one(struct server *s, const json_t *ask)
{
	const char *schema = json_string_value(json_object_get(ask, "schema"));
	const char *name = json_string_value(json_object_get(ask, "ask"));
	json_t *with = json_object_get(ask, "with"), *none = json_object(), *out = NULL;
	json_int_t id = json_integer_value(json_object_get(ask, "id"));
	struct ask_node *n = s->node;
	struct err e = { 0 };
	int r;

	name = name ? name : "";
	if (!schema || strcmp(schema, CLUSTER_NODE_SCHEMA) != 0 || id <= 0 ||
	    (with && !json_is_object(with)))
		r = err_set(&e, -EINVAL, "a request not in the form %s", CLUSTER_NODE_SCHEMA);
	else if ((r = request_answer(ask_look, n, n->arena, name, with ? with : none, &out, &e)) ==
			 -ENOSYS &&
		 (r = request_answer(ask_configure, n, n->arena, name, with ? with : none, &out,
				     &e)) == -ENOSYS)
		/* Of a qualification, or of nobody. */
		r = member_answer(&n->member, n->arena, name, with ? with : none, &out, &e);
	json_decref(none);
	if (r == 0)
		return send_answer(s, id, out ? out : json_object());
	json_decref(out);
	if (!e.text[0])
		err_set(&e, r, "\"%.32s\" failed: %s", name, strerror(-r));
	return send_error(s, id, &e);
}

static int ask_on_line(struct server *s, const char *line, size_t n)
{
	struct err e = { 0 };
	json_error_t why;
	json_t *j = json_loadb(line, n, JSON_REJECT_DUPLICATES, &why);
	int r;

	if (json_is_object(j)) {
		r = answer_one(s, j);
	} else {
		err_set(&e, -EINVAL, "not a JSON object: %s", why.text);
		r = send_error(s, 0, &e);
	}
	json_decref(j);
	arena_free(s->node->arena);
	*s->node->arena = (struct arena){ 0 };
	return r;
}

/* Everything up to the last end of a line. */
static int on_text(struct server *s)
{
	size_t begin = 0;
	int r = 0;

	for (char *nl; r == 0 && !atomic_load(s->node->stop) &&
		       (nl = memchr(s->line.s + begin, '\n', s->line.len - begin)) != NULL;) {
		size_t n = (size_t)(nl - s->line.s) - begin;

		if (n)
			r = ask_on_line(s, s->line.s + begin, n);
		begin += n + 1;
	}
	memmove(s->line.s, s->line.s + begin, s->line.len - begin + 1);
	s->line.len -= begin;
	/* Nobody of ours sends that: there is no telling where the next request begins. */
	return r == 0 && s->line.len > RSH_ASK_MAX ? -EMSGSIZE : r;
}

static int receive(struct server *s)
{
	struct pollfd p = { .fd = s->in, .events = POLLIN };
	char buf[65536];
	ssize_t n;

	if (poll(&p, 1, LOOK_MS) <= 0)
		return 0;
	n = read(s->in, buf, sizeof(buf));
	if (n < 0)
		return errno == EINTR || errno == EAGAIN ? 0 : -errno;
	if (n == 0) {
		s->ended = true;
		return 0;
	}
	text_addn(&s->line, buf, (size_t)n);
	return on_text(s);
}

int ask_serve(struct ask_node *n, int in, int out)
{
	struct server s = { .node = n, .in = in, .out = out };
	int r;

	n->in = in;
	r = greet(&s);

	while (r == 0 && !s.ended && !atomic_load(n->stop))
		r = receive(&s);
	look_end(n);
	configure_end(n);
	member_end(&n->member);
	text_free(&s.line);
	return r;
}
