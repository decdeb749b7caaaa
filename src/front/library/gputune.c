/* SPDX-License-Identifier: Apache-2.0 */
/* The functions of the library, in the order of gputune.h, which holds their contract. */
#include <errno.h>
#include <gputune/gputune.h>
#include <jansson.h>
#include <locale.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "verbs/door.h"
#include "verbs/verbs.h"

enum { QUESTION_MAX = 1 << 16 };

/* One call, from its beginning to its result. */
struct call {
	struct arena arena;
	struct err err;
	int code;	  /* negative errno once something went wrong */
	locale_t callers; /* of the calling thread */
};

/* What a machine is opened with; it never changes. */
struct gputune_machine {
	char *capture, *overlay; /* NULL: the live one */
	bool may_change;
};

/* *error (may be NULL) gets code and texts. */
static void call_error(struct gputune_error *error, int code, const struct err *e)
{
	_Static_assert(sizeof(error->text) >= sizeof(e->text) &&
			       sizeof(error->hint) >= sizeof(e->hint),
		       "sentences fit");

	if (!error)
		return;
	*error = (struct gputune_error){ .code = code < 0 ? -code : code };
	memcpy(error->text, e->text, sizeof(e->text));
	memcpy(error->hint, e->hint, sizeof(e->hint));
}

static void call_begin(struct call *c)
{
	locale_t plain = newlocale(LC_ALL_MASK, "C", (locale_t)0);

	*c = (struct call){ 0 };
	/* Numbers are written and read with a point, whatever the caller's language. */
	if (plain)
		c->callers = uselocale(plain);
}

/* Takes result and returns its text for the caller, or NULL and *error. */
static char *call_end(struct call *c, json_t *result, struct gputune_error *error)
{
	char *text = result ? json_dumps(result, JSON_INDENT(2)) : NULL;

	if (!text && !c->code) {
		c->code = -ENOMEM;
		err_set(&c->err, -ENOMEM, "out of memory for the result");
	}
	if (!text)
		call_error(error, c->code, &c->err);
	json_decref(result);
	arena_free(&c->arena);
	if (c->callers)
		freelocale(uselocale(c->callers));
	return text;
}

const char *gputune_version(void)
{
	return GPUTUNE_VERSION;
}

static struct gputune_machine *machine_opened(const char *capture, const char *overlay,
					      bool changes, struct gputune_error *error)
{
	struct gputune_machine *m;
	struct err e = { 0 };

	if (capture) {
		struct host *h = host_open_capture(capture, &e);

		if (!h) {
			call_error(error, access(capture, F_OK) ? errno : EINVAL, &e);
			return NULL;
		}
		host_close(h);
	}
	m = calloc(1, sizeof(*m));
	if (m) {
		m->may_change = changes;
		m->capture = capture ? strdup(capture) : NULL;
		m->overlay = overlay ? strdup(overlay) : NULL;
	}
	if (!m || (capture && !m->capture) || (overlay && !m->overlay)) {
		gputune_close(m);
		m = NULL;
		call_error(error, err_set(&e, -ENOMEM, "out of memory for a machine"), &e);
	}
	return m;
}

struct gputune_machine *gputune_open(const char *capture, struct gputune_error *error)
{
	return machine_opened(capture, NULL, false, error);
}

struct gputune_machine *gputune_open_to_change(const char *capture, const char *overlay,
					       struct gputune_error *error)
{
	struct err e = { 0 };

	if (!capture == !overlay)
		return machine_opened(capture, overlay, true, error);
	call_error(error,
		   err_set(&e, -EINVAL,
			   "changing a capture requires an overlay: give both or neither"),
		   &e);
	return NULL;
}

void gputune_close(struct gputune_machine *machine)
{
	if (machine) {
		free(machine->capture);
		free(machine->overlay);
	}
	free(machine);
}

static struct host *ask_live(void *ctx)
{
	(void)ctx;
	return host_open_live();
}

/* The first reason counts; what an answer lacks stands in the answer. */
static void ask_failed(void *ctx, int code, const struct err *e)
{
	static const int numbers[] = { [EXIT_USAGE] = EINVAL,
				       [EXIT_NOT_APPLIED] = EPERM,
				       [EXIT_STUCK] = EUCLEAN,
				       [EXIT_BLIND] = EIO };
	struct call *c = ctx;

	if (code <= EXIT_FINDINGS || c->code)
		return;
	c->code = code == EXIT_USAGE && e->code < 0 ? e->code
						    : -(code <= EXIT_BLIND ? numbers[code] : EIO);
	c->err = *e;
}

/* Whoever opened a machine to change it has agreed to what it asks for. */
static int ask_agrees(void *ctx, const struct doc *d, const char *question)
{
	(void)ctx;
	(void)d;
	(void)question;
	return 0;
}

/* With the key, which an argument of the function means, where there is one. */
static json_t *ask_question(struct call *c, const char *text, const char *key, const char *value)
{
	json_error_t why = { .line = 0 };
	json_t *j = NULL;

	if (text && strnlen(text, QUESTION_MAX) == QUESTION_MAX)
		c->code = err_set(&c->err, -EINVAL, "options: longer than %d bytes", QUESTION_MAX);
	else if (!(j = text ? json_loads(text, JSON_REJECT_DUPLICATES, &why) : json_object()))
		c->code = err_set(&c->err, -EINVAL, "options: %s (line %d)", why.text, why.line);
	if (key && json_is_object(j))
		json_object_set_new(j, key, value ? json_string(value) : json_null());
	return j;
}

static json_t *ask_verb(struct call *c, const struct gputune_machine *m, const struct verb *v,
			const json_t *question)
{
	struct door d = { .arena = &c->arena,
			  .live = ask_live,
			  .say = ask_failed,
			  .agree = m->may_change ? ask_agrees : NULL,
			  .may_change = m->may_change,
			  .ctx = c };
	void *ask = v->ask ? arena_alloc(&c->arena, v->ask->size) : NULL;
	void *answer = verb_answer_new(&c->arena, v);
	int code;

	if (v->ask && ask_read(&c->arena, v->ask, question, ask, &c->err)) {
		c->code = -EINVAL;
		return NULL;
	}
	verb_set_machine(v, ask, m->capture, m->overlay);
	code = v->answer(&d, ask, answer);
	if (code < 0) {
		c->code = c->code ? c->code : -EIO;
		return NULL;
	}
	return verb_answer_json(v, ask, answer, (long long)time(NULL), door_exit_code(&d, code));
}

static char *ask(const struct gputune_machine *machine, const char *verb, const char *question,
		 const char *key, const char *value, struct gputune_error *error)
{
	const struct verb *v = verb ? answering_verb(verb) : NULL;
	json_t *j = NULL, *asked;
	struct call c;

	call_begin(&c);
	asked = ask_question(&c, question, key, value);
	if (!machine)
		c.code = err_set(&c.err, -EINVAL, "no machine given: get one from gputune_open");
	else if (!v)
		c.code = err_set(&c.err, -EINVAL, "unknown verb \"%.64s\" in this library",
				 verb ? verb : "");
	else if (v->own_process)
		c.code = err_set(&c.err, -ENOTSUP,
				 "%s does not run inside a library: run the program gputune", verb);
	else if ((v->changes || v->writes) && !machine->may_change)
		c.code = err_set(&c.err, -EPERM,
				 "%s can change the machine: open it with gputune_open_to_change",
				 verb);
	else if (!c.code)
		j = ask_verb(&c, machine, v, asked);
	json_decref(asked);
	return call_end(&c, j, error);
}

char *gputune_facts(const struct gputune_machine *machine, const char *options,
		    struct gputune_error *error)
{
	return ask(machine, "show", options, "subject", "topology", error);
}

char *gputune_check(const struct gputune_machine *machine, const char *options,
		    struct gputune_error *error)
{
	return ask(machine, "check", options, NULL, NULL, error);
}

char *gputune_explain(const struct gputune_machine *machine, const char *id, const char *options,
		      struct gputune_error *error)
{
	return ask(machine, "explain", options, "id", id, error);
}

char *gputune_plan(const struct gputune_machine *machine, const char *options,
		   struct gputune_error *error)
{
	return ask(machine, "plan", options, NULL, NULL, error);
}

char *gputune_list(const char *options, struct gputune_error *error)
{
	static const struct gputune_machine live = { 0 };

	return ask(&live, "list", options, NULL, NULL, error);
}

char *gputune_ask(const struct gputune_machine *machine, const char *verb, const char *question,
		  struct gputune_error *error)
{
	return ask(machine, verb, question, NULL, NULL, error);
}

static void add_verb(json_t *list, const struct verb *v, const char *before)
{
	char name[128];

	snprintf(name, sizeof(name), "%s%s%s", before, *before ? " " : "", v->name);
	if (v->answer && (v->result || v->json) && !v->own_process)
		json_array_append_new(
			list, json_pack("{s:s, s:s, s:b, s:o*, s:o}", "name", name, "summary",
					v->summary, "changes", v->changes || v->writes, "question",
					v->ask ? ask_schema(v->ask) : NULL, "result",
					json_sprintf("gputune.%s/%d",
						     v->json ? v->json_name : v->result->name,
						     v->json || !v->result->version
							     ? 1
							     : v->result->version)));
	for (size_t i = 0; v->subs && v->subs[i]; i++)
		add_verb(list, v->subs[i], name);
}

char *gputune_verbs(struct gputune_error *error)
{
	json_t *list = json_array();
	struct call c;

	call_begin(&c);
	for (size_t i = 0; answering_verbs[i]; i++)
		add_verb(list, answering_verbs[i], "");
	return call_end(&c, json_pack("{s:s, s:o}", "schema", "gputune.verbs/1", "verbs", list),
			error);
}

void gputune_free(char *json)
{
	free(json);
}
