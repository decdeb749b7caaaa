/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Evidence in a few words: facts and signs as in fake.h, findings as "gpu.power-latch=fail
 * pcie.link=fail@0000:01:00.0", tests as [{'bench': 'tcp-idle', 'case': '1MiB', 'figures':
 * {'share': 35}}], and what the way to the peer is.
 */
#ifndef TESTS_DOCTOR_CASE_H
#define TESTS_DOCTOR_CASE_H

#include "fake.h"

#include "measure/doctor/rule.h"

struct doctor_case {
	const char *id; /* "gpu.low-clock-low-power/latch" */
	enum likelihood want;
	const char *says; /* part of the evidence; NULL */
	const char *facts, *findings, *signs, *earlier, *tests, *path;
	const char *unkept, *overwritten, *unseen;
	/* A defect of this component is here, "?nccl": it may be; "": none is; NULL: not looked. */
	const char *known;
	const char *current; /* of the findings; NULL: "the value" */
	double steal;	     /* per cent; 0: not seen */
	long long throttles; /* during the tests */
};

static inline const struct diagnosis *case_diagnosis(const char *id)
{
	DIAGNOSIS_FOR_EACH (d)
		if (strcmp(d->id, id) == 0)
			return d;
	fail_msg("no diagnosis %s", id);
	return NULL;
}

static inline json_t *case_json(struct arena *a, const char *text)
{
	char *copy = arena_strdup(a, text);
	json_error_t where;
	json_t *j;

	for (char *c = copy; *c; c++)
		if (*c == '\'')
			*c = '"';
	j = json_loads(copy, 0, &where);
	if (!j)
		fail_msg("%s: %s at %d", text, where.text, where.position);
	return j;
}

static inline struct observations *case_signs(struct arena *a, const char *text)
{
	struct observations *s = ARENA_NEW(a, struct observations);
	struct err e = { 0 };
	json_t *plain, *facts;

	if (!text)
		return s;
	plain = case_json(a, text);
	facts = fake_object(&observations_shape, plain);
	if (shape_read(a, &observations_shape, facts, s, &e))
		fail_msg("%s: %s", text, e.text);
	json_decref(plain);
	json_decref(facts);
	return s;
}

static inline enum verdict_kind case_verdict(const char *word)
{
	for (int v = VERDICT_PASS; v <= VERDICT_UNKNOWN; v++)
		if (strncmp(word, verdict_name((enum verdict_kind)v),
			    strlen(verdict_name((enum verdict_kind)v))) == 0)
			return (enum verdict_kind)v;
	fail_msg("%s is no verdict", word);
	return VERDICT_NA;
}

static inline struct findings *case_findings(struct arena *a, const char *text, const char *current)
{
	struct findings *f = ARENA_NEW(a, struct findings);
	char *copy = arena_strdup(a, text ? text : ""), *save = NULL;

	for (char *w = strtok_r(copy, " ", &save); w; w = strtok_r(NULL, " ", &save)) {
		char *is = strchr(w, '='), *at = strchr(w, '@'), *code;
		struct finding *it;

		assert_non_null(is);
		code = memchr(is, ':', strcspn(is, "@"));
		*is = '\0';
		f->items = arena_grow(a, f->items, f->n, sizeof(*f->items));
		it = &f->items[f->n++];
		*it = (struct finding){ .s = setting_find(w), .target = at ? at + 1 : "" };
		if (!it->s)
			fail_msg("no setting %s", w);
		it->v = (struct verdict){ .kind = case_verdict(is + 1),
					  .code = code ? arena_strndup(a, code + 1,
								       strcspn(code + 1, "@"))
						       : CODE_DIFFERS,
					  .reason = "the reason",
					  .current = current ? current : "the value" };
		it->targets = arena_array(a, 1, sizeof(*it->targets));
		it->targets[0] = it->target;
		it->n_targets = 1;
	}
	return f;
}

static inline const char *case_word(struct arena *a, const json_t *j, const char *key)
{
	const char *s = json_string_value(json_object_get(j, key));

	return s ? arena_strdup(a, s) : NULL;
}

/* Each figure is a number, or an array of samples. */
static inline void case_series(struct arena *a, struct record_case *c, const char *key,
			       const json_t *v)
{
	struct record_series *s = &c->series[c->n_series++];
	size_t n = json_is_array(v) ? json_array_size(v) : 3;

	assert_true(c->n_series <= BENCH_FIGURES);
	*s = (struct record_series){ .key = arena_strdup(a, key),
				     .title = "a figure",
				     .unit = "u",
				     .unit_text = "units",
				     .better = strcmp(key, "latency") == 0 ? BENCH_LOWER
									   : BENCH_HIGHER,
				     .x = arena_array(a, n, sizeof(double)) };
	for (size_t i = 0; i < n; i++)
		s->x[i] = json_number_value(json_is_array(v) ? json_array_get(v, i) : v);
	c->n = n;
}

static inline void case_test(struct arena *a, const json_t *j, struct record *r,
			     const char *not_run[TESTS])
{
	struct record_case *c;
	json_t *figures = json_object_get(j, "figures"), *limit = json_object_get(j, "limit"),
	       *band = json_object_get(j, "band");

	r->cases = arena_grow(a, r->cases, r->n, sizeof(*r->cases));
	c = &r->cases[r->n++];
	*c = (struct record_case){ .bench = case_word(a, j, "bench"),
				   .name = case_word(a, j, "case"),
				   .method = "",
				   .variant = case_word(a, j, "variant"),
				   .error = case_word(a, j, "error"),
				   .has_limit = limit != NULL,
				   .limit = json_number_value(limit),
				   .limit_source = "a data sheet" };
	c->verified = !c->error;
	c->variant = c->variant ? c->variant : "";
	for (void *it = json_object_iter(figures); it; it = json_object_iter_next(figures, it))
		case_series(a, c, json_object_iter_key(it), json_object_iter_value(it));
	if (band)
		c->series[0].band =
			(struct record_band){ true, json_number_value(json_array_get(band, 0)),
					      json_number_value(json_array_get(band, 1)),
					      "somebody, 2026" };
	for (unsigned t = 0; t < TESTS; t++)
		if (doctor_tests[t].bench && strcmp(doctor_tests[t].bench, c->bench) == 0)
			not_run[t] = NULL;
}

static inline struct path_look *case_path(struct arena *a, const char *text)
{
	struct path_look *p = ARENA_NEW(a, struct path_look);
	json_t *j = case_json(a, text);

	p->to = "10.0.0.2";
	p->interface = case_word(a, j, "interface");
	p->interface = p->interface ? p->interface : "";
	p->fastest = "eth9";
	p->wireless = json_is_true(json_object_get(j, "wireless"));
	p->rtt_s = json_number_value(json_object_get(j, "rtt_s"));
	p->mtu = json_integer_value(json_object_get(j, "mtu"));
	p->path_mtu = json_integer_value(json_object_get(j, "path_mtu"));
	p->own_segment = json_integer_value(json_object_get(j, "own_segment"));
	p->segment = json_integer_value(json_object_get(j, "segment"));
	p->speed_mbps = json_integer_value(json_object_get(j, "speed_mbps"));
	p->fastest_mbps = json_integer_value(json_object_get(j, "fastest_mbps"));
	json_decref(j);
	return p;
}

static inline struct defects_view *case_known(struct arena *a, const char *component)
{
	struct defects_view *v = ARENA_NEW(a, struct defects_view);
	bool maybe = *component == '?';

	v->rows = 2;
	if (*component) {
		v->n = 1;
		v->items = ARENA_NEW(a, struct defect_found);
		v->items[0] =
			(struct defect_found){ .s = { .id = "some-hang",
						      .component = component + maybe,
						      .title = "it hangs",
						      .effect = "hang" },
					       .place = "host",
					       .state = maybe ? DEFECT_POSSIBLE : DEFECT_HERE };
	}
	return v;
}

static inline const struct defects_view *case_looked(void *of)
{
	return of;
}

static inline void case_evidence(struct arena *a, const struct doctor_case *row,
				 struct rule_facts *e)
{
	struct record *r = ARENA_NEW(a, struct record);

	*e = (struct rule_facts){ .a = a,
				  .m = fake_machine(a, row->facts ? row->facts : "{}"),
				  .findings = case_findings(a, row->findings, row->current),
				  .signs = case_signs(a, row->signs),
				  .earlier = row->earlier ? case_signs(a, row->earlier) : NULL,
				  .apart_s = 2,
				  .record = r,
				  .known = row->known ? case_looked : NULL,
				  .known_of = row->known ? case_known(a, row->known) : NULL,
				  .own_unkept = row->unkept,
				  .own_overwritten = row->overwritten,
				  .own_unseen = row->unseen ? row->unseen : "no" };
	r->conditions.steal_percent = row->steal > 0 ? row->steal : -1;
	r->conditions.before.throttles = row->throttles ? 0 : -1;
	r->conditions.after.throttles = row->throttles ? row->throttles : -1;
	for (unsigned t = 0; t < TESTS; t++)
		e->not_run[t] = "nobody ran it";
	if (row->tests) {
		json_t *j = case_json(a, row->tests);

		for (size_t i = 0; i < json_array_size(j); i++)
			case_test(a, json_array_get(j, i), r, e->not_run);
		json_decref(j);
		record_summarise(r);
	}
	if (row->path) {
		e->path = case_path(a, row->path);
		e->not_run[TEST_PATH] = NULL;
	}
}

#endif
