/* SPDX-License-Identifier: Apache-2.0 */
/* Results of many machines coming in, one file at a time: whose they are, and the newest of each.
 */
#include "many/fleet/fleet.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "many/fleet/split.h"
#include "many/fleet/store.h"

enum { NAME_MAX_BYTES = 253 };

static const char *const host_subjects[] = { "platform", "architecture", "kernel", "gputune",
					     "profile" };

struct fleet *fleet_new(struct arena *a, bool values)
{
	struct fleet *f = ARENA_NEW(a, struct fleet);

	f->arena = a;
	f->store = ARENA_NEW(a, struct fleet_store);
	f->store->values = values;
	/* Without entropy the table is only slower under attack. */
	if (getrandom(&f->store->seed, sizeof(f->store->seed), GRND_NONBLOCK) < 0)
		f->store->seed = (uint64_t)(uintptr_t)f->store;
	/* They come first, and no file can take their places. */
	for (size_t i = 0; i < sizeof(host_subjects) / sizeof(host_subjects[0]); i++)
		store_subject(f, FLEET_HOST, host_subjects[i]);
	return f;
}

void fleet_free(struct fleet *f)
{
	free(f->store->seen);
	f->store->seen = NULL;
	text_free(&f->store->key);
}

void fleet_refuse(struct fleet *f, const char *file, const char *why)
{
	struct fleet_refused *r;

	f->n_refused++;
	/* A folder of a million pictures is told in one number. */
	if (f->n_refused > FLEET_REFUSED_MAX)
		return;
	f->refused = arena_grow(f->arena, f->refused, f->n_refused - 1, sizeof(*f->refused));
	r = &f->refused[f->n_refused - 1];
	*r = (struct fleet_refused){ arena_strdup(f->arena, file), arena_strdup(f->arena, why) };
}

static int kind_of(const json_t *j, struct err *e)
{
	static const char *const schemas[] = { [FLEET_CHECK] = "gputune.check/1",
					       [FLEET_STATUS] = "gputune.status/1",
					       [FLEET_VERIFY] = "gputune.verify/1" };
	const char *schema = json_string_value(json_object_get(j, "schema"));

	for (int k = 0; schema && k < FLEET_HOST; k++)
		if (strcmp(schema, schemas[k]) == 0)
			return k;
	if (!schema)
		return err_set(e, -EINVAL, "it has no schema: no result of gputune");
	return err_set(e, -EINVAL, "it is %.64s; check, status, verify and bench can be compared",
		       schema);
}

static const char *text_of(const json_t *j, const char *object, const char *key)
{
	const json_t *o = object ? json_object_get(j, object) : j;

	return json_string_value(json_object_get(o, key));
}

/* Captured machines are all called "host": the file's name tells them apart. */
static const char *name_of(const json_t *j, const char *fallback)
{
	const char *name = text_of(j, "host", "nodename");
	bool captured = json_is_true(json_object_get(json_object_get(j, "host"), "captured"));

	return name && *name && !captured && strlen(name) <= NAME_MAX_BYTES ? name : fallback;
}

static struct fleet_machine *machine_at(struct fleet *f, const char *name, struct err *e)
{
	struct fleet_machine *m;
	void **place;

	if (f->n >= FLEET_MACHINES_MAX) {
		err_set(e, -EINVAL, "there are more than %d machines", FLEET_MACHINES_MAX);
		return NULL;
	}
	place = map_at(f->arena, &f->store->machines, name);
	if (*place)
		return *place;
	m = ARENA_NEW(f->arena, struct fleet_machine);
	m->name = map_key(place);
	*place = m;
	f->machines = arena_grow(f->arena, f->machines, f->n, sizeof(*f->machines));
	f->machines[f->n++] = m;
	return m;
}

struct fleet_machine *store_machine(struct fleet *f, const json_t *document, const char *fallback,
				    struct err *e)
{
	return machine_at(f, name_of(document, fallback), e);
}

static void see_host(struct fleet *f, const char *id, const char *value,
		     const struct fleet_part **list, size_t *n)
{
	struct fleet_part p = { .subject = store_subject(f, FLEET_HOST, id),
				.mark = FLEET_NEUTRAL,
				.target = "",
				.state = value };

	if (value && p.subject)
		list[(*n)++] = store_part(f, &p);
}

/* What every result says of its machine; the newest says it best. */
static void take_host(struct fleet *f, struct fleet_machine *m, const json_t *j)
{
	const struct fleet_part **list = arena_array(
		f->arena, sizeof(host_subjects) / sizeof(host_subjects[0]), sizeof(*list));
	const char *profile = text_of(j, "profile", "name");
	size_t n = 0;

	m->platform = store_text(f, text_of(j, "host", "platform"));
	see_host(f, "platform", m->platform, list, &n);
	see_host(f, "architecture", text_of(j, "host", "arch"), list, &n);
	see_host(f, "kernel", text_of(j, "host", "kernel"), list, &n);
	see_host(f, "gputune", text_of(j, NULL, "tool_version"), list, &n);
	see_host(f, "profile", profile && *profile ? profile : NULL, list, &n);
	m->parts[FLEET_HOST] = list;
	m->n_parts[FLEET_HOST] = n;
}

void store_host(struct fleet *f, struct fleet_machine *m, const json_t *document, const char *file)
{
	if (m->n_parts[FLEET_HOST])
		return;
	m->file = arena_strdup(f->arena, file);
	take_host(f, m, document);
}

/* Times are RFC 3339 in UTC, so their order is that of their letters. */
static void take(struct fleet *f, struct fleet_machine *m, const json_t *j, const char *file)
{
	struct fleet_store *st = f->store;
	const char *time = text_of(j, NULL, "time");
	enum fleet_kind kind = st->kind;

	time = time && strlen(time) <= 32 ? store_text(f, time) : "";
	if (m->times[kind]) {
		f->replaced++;
		if (strcmp(time, m->times[kind]) < 0)
			return;
	}
	m->times[kind] = time;
	m->parts[kind] = arena_array(f->arena, st->n_seen, sizeof(*st->seen));
	m->n_parts[kind] = st->n_seen;
	if (st->n_seen)
		memcpy(m->parts[kind], st->seen, st->n_seen * sizeof(*st->seen));
	/* A check names the profile; of the others only what it leaves out is taken. */
	if (kind == FLEET_CHECK || !m->n_parts[FLEET_HOST]) {
		m->file = arena_strdup(f->arena, file);
		take_host(f, m, j);
	}
}

/* The schema decides what the list's objects are; it stands before them in what we write. */
static enum fleet_kind guess_kind(const char *text, size_t len)
{
	static const char *const marks[] = { [FLEET_CHECK] = "gputune.check/1",
					     [FLEET_STATUS] = "gputune.status/1",
					     [FLEET_VERIFY] = "gputune.verify/1" };
	size_t n = len < 4096 ? len : 4096, first = n;
	enum fleet_kind kind = FLEET_CHECK;

	for (int k = 0; k < FLEET_HOST; k++) {
		const char *at = memmem(text, n, marks[k], strlen(marks[k]));

		if (at && (size_t)(at - text) < first) {
			first = (size_t)(at - text);
			kind = (enum fleet_kind)k;
		}
	}
	return kind;
}

static int read_document(struct fleet *f, struct split *s, json_t **frame, struct err *e)
{
	struct fleet_store *st = f->store;
	json_error_t why;
	int kind;

	st->n_seen = 0;
	st->last = NULL;
	st->kind = guess_kind(s->p, (size_t)(s->end - s->p));
	if (split_document(s, e))
		return -EINVAL;
	*frame = json_loadb(s->frame.s, s->frame.len, JSON_REJECT_DUPLICATES, &why);
	if (!*frame)
		return err_set(e, -EINVAL, "it is no JSON: %s", why.text);
	kind = kind_of(*frame, e);
	if (kind >= 0 && kind != (int)st->kind)
		kind = err_set(e, -EINVAL, "its schema does not stand at its beginning");
	if (kind >= 0 &&
	    !json_is_array(json_object_get(*frame, kind == FLEET_CHECK ? "findings" : "rows")))
		kind = err_set(e, -EINVAL, "it has no list of %s",
			       kind == FLEET_CHECK ? "findings" : "rows");
	if (kind >= 0 && !json_is_object(json_object_get(*frame, "host")))
		kind = err_set(e, -EINVAL, "it does not say which machine it is of");
	if (kind < 0)
		json_decref(*frame);
	return kind < 0 ? kind : 0;
}

static struct split split_of(struct fleet *f, const char *text, size_t len)
{
	return (struct split){
		.p = text, .end = text + len, .item = store_item, .guess = store_guess, .ctx = f
	};
}

void fleet_add(struct fleet *f, const char *file, const char *name, const char *text, size_t len)
{
	struct split s = split_of(f, text, len);
	struct err e = { 0 };
	size_t before = f->documents;

	f->files++;
	if (proofs_is_ledger(text, len)) {
		proofs_add(f, file, text, len);
		return;
	}
	while (!*e.text && split_more(&s)) {
		struct fleet_machine *m;
		json_t *j;

		if (benches_next(s.p, s.end)) {
			f->documents += benches_add(f, file, name, &s.p, s.end, &e) == 0;
			continue;
		}
		if (read_document(f, &s, &j, &e))
			break;
		m = machine_at(f, name_of(j, name), &e);
		if (m) {
			take(f, m, j, file);
			f->documents++;
		}
		json_decref(j);
	}
	if (*e.text)
		fleet_refuse(f, file, e.text);
	else if (f->documents == before)
		fleet_refuse(f, file, "it is empty");
	text_free(&s.frame);
}

int fleet_golden(struct fleet *f, const char *file, const char *text, size_t len, struct err *e)
{
	struct split s = split_of(f, text, len);
	int code = 0;

	f->golden = ARENA_NEW(f->arena, struct fleet_machine);
	while (code == 0 && split_more(&s)) {
		json_t *j;

		code = read_document(f, &s, &j, e);
		if (code)
			break;
		f->golden->name = arena_strdup(f->arena, name_of(j, "golden"));
		take(f, f->golden, j, file);
		json_decref(j);
	}
	if (code == 0 && !f->golden->name)
		code = err_set(e, -EINVAL, "it is empty");
	text_free(&s.frame);
	return code;
}

const struct fleet_answer *fleet_answer_of(const struct fleet_machine *m,
					   const struct fleet_subject *s)
{
	return m->answers[s->number];
}
