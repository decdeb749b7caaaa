/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A machine in one line of text, and rules judged on it. The text is JSON with ' for ", and with
 * plain values where the facts' own format has {"value", "from"}: {'gpu': {'gpus': [{'index': 0,
 * 'ecc': 1}]}}. "!denied", "!absent", "!unsupported" and "!error" are facts that were not seen,
 * "!error:ELIBBAD" one that failed so.
 * What is left out was not asked; names and numbers of objects may be left out too.
 */
#ifndef TESTS_FAKE_H
#define TESTS_FAKE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "look/settings/check.h"

static inline json_t *fake_object(const struct shape *s, json_t *plain);

static inline json_t *fake_fact(const struct shape_row *f, json_t *plain)
{
	static const char *const unseen[][3] = { { "!denied", "denied", "EACCES" },
						 { "!absent", "absent", "ENOENT" },
						 { "!unsupported", "unsupported", "EOPNOTSUPP" },
						 { "!error", "error", "EIO" } };
	const char *word = json_string_value(plain);

	for (size_t i = 0; word && i < 4; i++)
		if (strcmp(word, unseen[i][0]) == 0)
			return json_pack("{s:s, s:s, s:s}", "seen", unseen[i][1], "error",
					 unseen[i][2], "from", f->key);
	if (word && strncmp(word, "!error:", 7) == 0)
		return json_pack("{s:s, s:s, s:s}", "seen", "error", "error", word + 7, "from",
				 f->key);
	if (f->kind == SHAPE_KIND_FACT_FLAG)
		return json_pack("{s:b, s:s}", "value", json_integer_value(plain) != 0, "from",
				 f->key);
	return json_pack("{s:O, s:s}", "value", plain, "from", f->key);
}

static inline json_t *fake_list(const struct shape *s, json_t *plain)
{
	json_t *out = json_array();

	assert_true(json_is_array(plain));
	for (size_t i = 0; i < json_array_size(plain); i++)
		json_array_append_new(out, fake_object(s, json_array_get(plain, i)));
	return out;
}

static inline json_t *fake_field(const struct shape_row *f, json_t *plain)
{
	if (f->kind == SHAPE_KIND_TEXT)
		return plain ? json_incref(plain) : json_string("");
	if (f->kind == SHAPE_KIND_COUNT)
		return plain ? json_incref(plain) : json_integer(0);
	if (!plain)
		return NULL;
	if (f->kind == SHAPE_KIND_OBJECT)
		return fake_object(f->sub, plain);
	return f->kind == SHAPE_KIND_LIST ? fake_list(f->sub, plain) : fake_fact(f, plain);
}

static inline json_t *fake_object(const struct shape *s, json_t *plain)
{
	json_t *out = json_object();
	size_t known = 0;

	for (size_t i = 0; i < s->n; i++) {
		json_t *v = json_object_get(plain, s->rows[i].key);
		json_t *made = fake_field(&s->rows[i], v);

		known += v != NULL;
		if (made)
			json_object_set_new(out, s->rows[i].key, made);
	}
	if (known != json_object_size(plain))
		fail_msg("%s: a key that %s does not have",
			 json_dumps(plain, JSON_COMPACT | JSON_ENCODE_ANY), s->name);
	return out;
}

static inline struct machine *fake_machine(struct arena *a, const char *text)
{
	struct machine *m = ARENA_NEW(a, struct machine);
	char *copy = arena_strdup(a, text);
	json_error_t where;
	json_t *plain, *facts;
	struct err e = { 0 };

	for (char *c = copy; *c; c++)
		if (*c == '\'')
			*c = '"';
	plain = json_loads(copy, 0, &where);
	if (!plain)
		fail_msg("%s: %s at %d", text, where.text, where.position);
	facts = fake_object(&machine_shape, plain);
	if (shape_read(a, &machine_shape, facts, m, &e))
		fail_msg("%s: %s", text, e.text);
	json_decref(plain);
	json_decref(facts);
	return m;
}

/* What a rule should say of a machine. */
struct fake_row {
	const char *id, *facts;
	enum verdict_kind kind;
	const char *code;
	const char *says;   /* part of the reason, of what is, or of what is wanted; NULL */
	const char *target; /* NULL: of the worst finding */
	enum profile_id profile;
	struct recommendation want; /* of a profile file; .value NULL: none */
};

#define ROW(id_, facts_, kind_, code_, says_)                                                      \
	.id = (id_), .facts = (facts_), .kind = VERDICT_##kind_, .code = CODE_##code_,             \
	.says = (says_)

static inline bool fake_says(const struct verdict *v, const char *part)
{
	return !part || strstr(v->reason, part) || (v->current && strstr(v->current, part)) ||
	       (v->wanted && strstr(v->wanted, part));
}

static inline void fake_check(const struct fake_row *row, size_t i)
{
	struct arena a = { 0 };
	struct machine *m = fake_machine(&a, row->facts);
	struct profile_override override = { .s = setting_find(row->id),
					     .o = row->want,
					     .has_want = row->want.value != NULL };
	struct profile p = { .base = row->profile,
			     .only = (const char *[]){ row->id },
			     .n_only = 1 };
	struct findings f;
	const struct finding *it = NULL;

	if (!override.s)
		fail_msg("row %zu: no setting %s", i, row->id);
	p.overrides = &override;
	p.n_overrides = row->want.value != NULL;
	settings_check(&a, m, &p, NULL, NULL, &f);
	for (size_t k = 0; k < f.n && !it; k++)
		if (!row->target || strstr(f.items[k].target, row->target))
			it = &f.items[k];
	if (!it)
		fail_msg("row %zu, %s: no finding on %s", i, row->id, row->target);
	if (it->v.kind != row->kind || strcmp(it->v.code, row->code) != 0 ||
	    !fake_says(&it->v, row->says))
		fail_msg("row %zu, %s: %s %s: %s (is %s, wanted %s); expected %s %s: %s", i,
			 row->id, verdict_name(it->v.kind), it->v.code, it->v.reason,
			 it->v.current ? it->v.current : "-", it->v.wanted ? it->v.wanted : "-",
			 verdict_name(row->kind), row->code, row->says ? row->says : "");
	arena_free(&a);
}

#define FAKE_CHECK(rows)                                                                           \
	for (size_t i_ = 0; i_ < sizeof(rows) / sizeof((rows)[0]); i_++)                           \
	fake_check(&(rows)[i_], i_)

#endif
