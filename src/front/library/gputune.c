/* SPDX-License-Identifier: Apache-2.0 */
/* The functions of the library, in the order of gputune.h, which holds their contract. */
#include <gputune/gputune.h>
#include <stdlib.h>
#include <string.h>

#include "front/library/call.h"
#include "machine/knob/io.h"
#include "tune/plan/plan.h"
#include "measure/prove/ledger.h"
#include "tune/txn/boot.h"
#include "look/settings/findings.h"
#include "measure/prove/ledger_view.h"
#include "look/show/page.h"

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

struct gputune_machine *gputune_open(const char *capture, struct gputune_error *error)
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
	if (m && capture && !(m->capture = strdup(capture))) {
		free(m);
		m = NULL;
	}
	if (!m)
		call_error(error, err_set(&e, -ENOMEM, "there is no memory for a machine"), &e);
	return m;
}

void gputune_close(struct gputune_machine *machine)
{
	if (machine)
		free(machine->capture);
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
		j = show_json(&c.arena, &c.m, "topology", NULL);
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
		j = findings_json(&f, &c.m, &c.profile, code);
		measured_findings_json(&c.arena, j, &f, read_ledger(&c));
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
	const struct ledger *l;
	struct findings f;
	json_t *j = NULL;
	struct call c;

	if (gputune_begin(&c, machine, options, KEY_PROFILE) && (s = find_setting(&c, id))) {
		profile_one(&c.arena, &c.profile, s->id);
		call_look(&c, false, false);
		settings_check(&c.arena, &c.m, &c.profile, read_knob, c.host, &f);
		l = read_ledger(&c);
		j = explain_json(s, &c.m, &f);
		measured_findings_json(&c.arena, j, &f, l);
		measured_setting_json(&c.arena, j, s, l);
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

	if (call_begin(&c, NULL, options, KEY_PROFILE | KEY_ONLY | KEY_SKIP | KEY_FACTS))
		j = c.facts ? list_facts_json(&c.arena) : list_settings_json(&c.profile);
	return call_end(&c, j, error);
}

void gputune_free(char *json)
{
	free(json);
}
