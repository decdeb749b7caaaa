/* SPDX-License-Identifier: Apache-2.0 */
/* The functions of the library, in the order of gputune.h, which holds their contract. */
#include <gputune/gputune.h>
#include <jansson.h>
#include <locale.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "look/probe/probe.h"
#include "look/settings/findings.h"
#include "look/settings/profile.h"
#include "look/show/page.h"
#include "machine/host/host.h"
#include "machine/knob/io.h"
#include "machine/model/machine.h"
#include "measure/prove/ledger.h"
#include "measure/prove/ledger_view.h"
#include "tune/plan/plan.h"
#include "tune/txn/boot.h"
#include "tune/txn/txn.h"
#include "verbs/door.h"
#include "verbs/verbs.h"

enum option_key {
	KEY_PROFILE = 1 << 0,
	KEY_ONLY = 1 << 1,
	KEY_SKIP = 1 << 2,
	KEY_DEEP = 1 << 3,
	KEY_ALLOW = 1 << 4,
	KEY_FACTS = 1 << 5,
};

/* One call, from its beginning to its result. */
struct call {
	struct arena arena;
	struct err err;
	int code;	   /* negative errno once something went wrong */
	locale_t callers;  /* of the calling thread */
	struct host *host; /* NULL: the call is not about a machine */
	struct machine m;
	struct profile profile;
	bool named; /* a profile was asked for */
	bool deep, facts;
	struct profile allow; /* its only list */
};

/* What a machine is opened with; it never changes. */
struct gputune_machine {
	char *capture, *overlay; /* NULL: the live one */
	bool may_change;
};

/* Reads the options, of which allowed (bits of option_key) may be there; then opens the machine
 * when there is one. False: c->err says why, and call_end has to follow all the same. */
bool call_begin(struct call *c, const struct gputune_machine *m, const char *options,
		unsigned allowed);
/* Looks at it. lean, config and session as in struct probe. */
void call_look(struct call *c, bool lean, bool config);
/* Closes what was opened; takes result and returns its text for the caller, or NULL and *error. */
char *call_end(struct call *c, json_t *result, struct gputune_error *error);

/* False and c->err when they are not valid. */
bool options_read(struct call *c, const char *options, unsigned allowed);
/* NULL and *e: it cannot be opened. */
struct host *call_open_host(const char *capture, struct err *e, int *code);
/* *error (may be NULL) gets code and texts. */
void call_error(struct gputune_error *error, int code, const struct err *e);

/* The options of a call: a JSON object whose every key is known and of the right kind. */

enum { OPTIONS_MAX = 1 << 16, WORDS_MAX = 256 };

struct key {
	const char *name;
	enum option_key key;
	json_type type;
};

static const struct key keys[] = {
	{ "profile", KEY_PROFILE, JSON_STRING }, { "only", KEY_ONLY, JSON_ARRAY },
	{ "skip", KEY_SKIP, JSON_ARRAY },	 { "deep", KEY_DEEP, JSON_TRUE },
	{ "allow", KEY_ALLOW, JSON_ARRAY },	 { "facts", KEY_FACTS, JSON_TRUE },
};
enum { KEYS = sizeof(keys) / sizeof(keys[0]) };

/* NULL: no text, or one with a NUL in it. */
static const char *text_of(const json_t *v)
{
	const char *text = json_string_value(v);

	return text && strlen(text) == json_string_length(v) ? text : NULL;
}

static bool api_options_bad(struct call *c, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));

static bool api_options_bad(struct call *c, const char *fmt, ...)
{
	char what[400];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(what, sizeof(what), fmt, ap);
	va_end(ap);
	c->code = err_set(&c->err, -EINVAL, "options: %s", what);
	return false;
}

/* Ids or prefixes of them; those of "only" narrow what the profile's file has, those of "skip" add
 * to it. */
static bool read_words(struct call *c, struct profile *p, const char *name, const json_t *list,
		       bool skip)
{
	if (json_array_size(list) > WORDS_MAX)
		return api_options_bad(c, "\"%s\" has more than %d words", name, WORDS_MAX);
	/* From a list that somebody filtered: to take it for "all" would judge all of them. */
	if (p == &c->profile && !skip && !json_array_size(list))
		return api_options_bad(c, "\"%s\" needs ids, and the list is empty", name);
	for (size_t i = 0; i < json_array_size(list); i++) {
		const char *id = text_of(json_array_get(list, i));

		if (!id || !*id || strchr(id, ','))
			return api_options_bad(c, "\"%s\" is a list of setting ids or prefixes",
					       name);
		c->code = profile_narrow(&c->arena, p, id, skip, &c->err);
		if (c->code)
			return false;
	}
	return true;
}

static bool api_options_take(struct call *c, const struct key *k, const json_t *v)
{
	switch (k->key) {
	case KEY_PROFILE:
		return true; /* read before all others, by load_profile */
	case KEY_ONLY:
		return read_words(c, &c->profile, k->name, v, false);
	case KEY_SKIP:
		return read_words(c, &c->profile, k->name, v, true);
	case KEY_ALLOW:
		return read_words(c, &c->allow, k->name, v, false);
	case KEY_DEEP:
		c->deep = json_is_true(v);
		return true;
	case KEY_FACTS:
		c->facts = json_is_true(v);
		return true;
	}
	return true;
}

static const struct key *api_options_find(const char *name, const json_t *v, unsigned allowed)
{
	for (size_t i = 0; i < KEYS; i++)
		if (strcmp(keys[i].name, name) == 0 && (keys[i].key & allowed) &&
		    (json_typeof(v) == keys[i].type ||
		     (keys[i].type == JSON_TRUE && json_is_false(v))))
			return &keys[i];
	return NULL;
}

/* Before all other keys: they narrow it. */
static bool load_profile(struct call *c, const json_t *name)
{
	const char *text = name ? text_of(name) : "default";

	if (!text)
		return api_options_bad(c, "\"profile\" is a text");
	c->named = name != NULL;
	c->code = profile_load(&c->arena, arena_strdup(&c->arena, text), &c->profile, &c->err);
	return c->code == 0;
}

static bool api_options_take_all(struct call *c, json_t *options, unsigned allowed)
{
	const char *name;
	json_t *v;

	if (!load_profile(c, json_object_get(options, "profile")))
		return false;
	json_object_foreach(options, name, v)
	{
		const struct key *k = api_options_find(name, v, allowed);

		if (!k)
			return api_options_bad(c, "\"%.64s\" is not known here, or not of its kind",
					       name);
		if (!api_options_take(c, k, v))
			return false;
	}
	return true;
}

bool options_read(struct call *c, const char *options, unsigned allowed)
{
	json_error_t why;
	json_t *j = NULL;
	bool good;

	if (options && strnlen(options, OPTIONS_MAX) == OPTIONS_MAX)
		return api_options_bad(c, "they are longer than %d bytes", OPTIONS_MAX);
	if (options) {
		j = json_loads(options, JSON_REJECT_DUPLICATES, &why);
		if (!j)
			return api_options_bad(c, "%s (line %d)", why.text, why.line);
		if (!json_is_object(j)) {
			json_decref(j);
			return api_options_bad(c, "they are no JSON object");
		}
	}
	good = api_options_take_all(c, j, allowed);
	json_decref(j);
	if (good && (c->code = profile_check_some(&c->arena, &c->profile, &c->err)))
		good = false;
	return good;
}

/* One call: nothing of it outlives its end but the text that it returns. */

void call_error(struct gputune_error *error, int code, const struct err *e)
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

struct host *call_open_host(const char *capture, struct err *e, int *code)
{
	struct host *h;

	if (!capture)
		return host_open_live();
	h = host_open_capture(capture, e);
	if (!h)
		*code = access(capture, F_OK) ? -errno : -EINVAL;
	return h;
}

bool call_begin(struct call *c, const struct gputune_machine *m, const char *options,
		unsigned allowed)
{
	locale_t plain = newlocale(LC_ALL_MASK, "C", (locale_t)0);

	*c = (struct call){ 0 };
	/* Numbers are written and read with a point, whatever the caller's language. */
	if (plain)
		c->callers = uselocale(plain);
	if (!options_read(c, options, allowed))
		return false;
	if (m)
		c->host = call_open_host(m->capture, &c->err, &c->code);
	return !m || c->host;
}

void call_look(struct call *c, bool lean, bool config)
{
	struct journal ignored;
	struct probe p = { .h = c->host,
			   .a = &c->arena,
			   .m = &c->m,
			   .deep = c->deep || c->host->id.captured,
			   .lean = lean,
			   .config = config,
			   .session = config };

	probe_machine(&p);
	our_clock_locks(c->host, &c->arena, &c->m, &ignored);
}

char *call_end(struct call *c, json_t *result, struct gputune_error *error)
{
	char *text = result ? json_dumps(result, JSON_INDENT(2)) : NULL;

	if (!text && !c->code) {
		c->code = -ENOMEM;
		err_set(&c->err, -ENOMEM, "there is no memory for the result");
	}
	if (!text)
		call_error(error, c->code, &c->err);
	json_decref(result);
	if (c->host)
		host_close(c->host);
	arena_free(&c->arena);
	if (c->callers)
		freelocale(uselocale(c->callers));
	return text;
}

enum { CLEAN = 0, FINDINGS = 1, BLIND = 5 };

static struct fact_str read_knob(void *ctx, struct arena *a, const struct knob *k)
{
	return knob_read(ctx, a, k);
}

static struct fact_str exact_knob(void *ctx, struct arena *a, const struct knob *k)
{
	return knob_exact(ctx, a, k);
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
	int code = 0;

	if (capture) {
		struct host *h = call_open_host(capture, &e, &code);

		if (!h) {
			call_error(error, code, &e);
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
		call_error(error, err_set(&e, -ENOMEM, "there is no memory for a machine"), &e);
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
		   err_set(&e, -EINVAL, "a capture is changed in an overlay: both, or neither"),
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

/* Without a machine there is nothing to ask. */
static bool gputune_begin(struct call *c, const struct gputune_machine *m, const char *options,
			  unsigned allowed)
{
	static const struct gputune_machine live = { 0 };

	if (!call_begin(c, m ? m : &live, options, allowed))
		return false;
	if (!m)
		c->code = err_set(&c->err, -EINVAL, "no machine was given: gputune_open gives one");
	return m != NULL;
}

char *gputune_facts(const struct gputune_machine *machine, const char *options,
		    struct gputune_error *error)
{
	json_t *j = NULL;
	struct call c;

	if (gputune_begin(&c, machine, options, KEY_DEEP)) {
		call_look(&c, false, false);
		j = show_json(&c.arena, &c.m, page_find("topology"));
	}
	return call_end(&c, j, error);
}

/* What was proven on this machine; lines of the ledger that cannot be read are passed by. */
static const struct ledger *read_ledger(struct call *c)
{
	struct ledger *l = ARENA_NEW(&c->arena, struct ledger);

	ledger_load(&c->arena, c->host, &c->m, NULL, l);
	return l;
}

char *gputune_check(const struct gputune_machine *machine, const char *options,
		    struct gputune_error *error)
{
	struct findings f;
	json_t *j = NULL;
	struct call c;
	int code;

	if (gputune_begin(&c, machine, options, KEY_PROFILE | KEY_ONLY | KEY_SKIP | KEY_DEEP)) {
		call_look(&c, !c.named, false);
		settings_check(&c.arena, &c.m, &c.profile, read_knob, c.host, &f);
		code = f.count[VERDICT_FAIL] ? FINDINGS : f.count[VERDICT_UNKNOWN] ? BLIND : CLEAN;
		j = measured_check_json(&c.arena, &c.m, &c.profile, &f, read_ledger(&c), code);
	}
	return call_end(&c, j, error);
}

static const struct setting *find_setting(struct call *c, const char *id)
{
	const struct setting *s = id ? setting_find(id) : NULL;
	const char *near;

	if (s)
		return s;
	near = id ? setting_suggest(id) : NULL;
	c->code = err_set(&c->err, -EINVAL, "there is no setting \"%s\"", id ? id : "");
	if (near)
		err_hint(&c->err, "did you mean \"%s\"? gputune_list gives all ids", near);
	else
		err_hint(&c->err, "gputune_list gives all ids");
	return NULL;
}

char *gputune_explain(const struct gputune_machine *machine, const char *id, const char *options,
		      struct gputune_error *error)
{
	const struct setting *s = NULL;
	struct findings f;
	json_t *j = NULL;
	struct call c;

	if (gputune_begin(&c, machine, options, KEY_PROFILE) && (s = find_setting(&c, id))) {
		profile_one(&c.arena, &c.profile, s->id);
		call_look(&c, false, false);
		settings_check(&c.arena, &c.m, &c.profile, read_knob, c.host, &f);
		j = measured_explain_json(&c.arena, &c.m, s, &f, read_ledger(&c));
	}
	return call_end(&c, j, error);
}

char *gputune_plan(const struct gputune_machine *machine, const char *options,
		   struct gputune_error *error)
{
	struct findings f;
	json_t *j = NULL;
	struct plan p;
	struct call c;
	int code;

	if (gputune_begin(&c, machine, options, KEY_PROFILE | KEY_ONLY | KEY_SKIP | KEY_ALLOW)) {
		struct plan_target w = { .profile = &c.profile,
					 .allow = c.allow.only,
					 .n_allow = c.allow.n_only };

		call_look(&c, false, true);
		settings_check(&c.arena, &c.m, &c.profile, read_knob, c.host, &f);
		plan_make(&c.arena, &c.m, &w, &f, read_knob, exact_knob, c.host, &p);
		p.boot_id = boot_id_of(c.host, &c.arena);
		code = p.n || p.n_advice ? FINDINGS : f.count[VERDICT_UNKNOWN] ? BLIND : CLEAN;
		j = plan_json(&p, code);
	}
	return call_end(&c, j, error);
}

char *gputune_list(const char *options, struct gputune_error *error)
{
	json_t *j = NULL;
	struct call c;

	if (call_begin(&c, NULL, options, KEY_PROFILE | KEY_ONLY | KEY_SKIP | KEY_FACTS)) {
		struct listing all = { 0 };

		list_make(&c.arena, c.facts ? NULL : &c.profile, &all);
		j = result_shape_json(&list_result, &all, 0, 0);
	}
	return call_end(&c, j, error);
}

/* --- verbs that answer ------------------------------------------------------------------------ */

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
	c->code = -(code <= EXIT_BLIND ? numbers[code] : EIO);
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

/* The machine of the handle; a verb that is about none has no place for it. */
static void ask_set_machine(const struct ask_shape *s, void *ask, const struct gputune_machine *m)
{
	for (size_t i = 0; s && i < s->n; i++)
		if (s->rows[i].part == &machine_ask_shape) {
			*(struct machine_ask *)((char *)ask + s->rows[i].offset) =
				(struct machine_ask){ m->capture, m->overlay };
			return;
		}
}

static json_t *ask_question(const char *text, struct call *c)
{
	json_error_t why;
	json_t *j = NULL;

	if (text && strnlen(text, OPTIONS_MAX) == OPTIONS_MAX)
		api_options_bad(c, "they are longer than %d bytes", OPTIONS_MAX);
	else if (text && !(j = json_loads(text, JSON_REJECT_DUPLICATES, &why)))
		api_options_bad(c, "%s (line %d)", why.text, why.line);
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
	ask_set_machine(v->ask, ask, m);
	code = v->answer(&d, ask, answer);
	if (code < 0) {
		c->code = c->code ? c->code : -EIO;
		return NULL;
	}
	return verb_answer_json(v, ask, answer, (long long)time(NULL), code);
}

char *gputune_ask(const struct gputune_machine *machine, const char *verb, const char *question,
		  struct gputune_error *error)
{
	const struct verb *v = verb ? answering_verb(verb) : NULL;
	json_t *j = NULL, *asked;
	struct call c;

	if (call_begin(&c, NULL, NULL, 0)) {
		asked = ask_question(question, &c);
		if (!machine)
			c.code = err_set(&c.err, -EINVAL,
					 "no machine was given: gputune_open gives one");
		else if (!v)
			c.code = err_set(&c.err, -EINVAL, "no verb \"%.64s\" answers here",
					 verb ? verb : "");
		else if (v->changes && !machine->may_change)
			c.code = err_set(&c.err, -EPERM,
					 "%s can change the machine: gputune_open_to_change gives "
					 "one that may be",
					 verb);
		else if (!c.code)
			j = ask_verb(&c, machine, v, asked);
		json_decref(asked);
	}
	return call_end(&c, j, error);
}

static void add_verb(json_t *list, const struct verb *v, const char *before)
{
	char name[128];

	snprintf(name, sizeof(name), "%s%s%s", before, *before ? " " : "", v->name);
	if (v->answer && (v->result || v->json))
		json_array_append_new(
			list, json_pack("{s:s, s:s, s:b, s:o*, s:o}", "name", name, "summary",
					v->summary, "changes", (int)v->changes, "question",
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
	json_t *list = NULL;
	struct call c;

	if (call_begin(&c, NULL, NULL, 0)) {
		list = json_array();
		for (size_t i = 0; answering_verbs[i]; i++)
			add_verb(list, answering_verbs[i], "");
	}
	return call_end(&c,
			list ? json_pack("{s:s, s:o}", "schema", "gputune.verbs/1", "verbs", list)
			     : NULL,
			error);
}

void gputune_free(char *json)
{
	free(json);
}
