/* SPDX-License-Identifier: Apache-2.0 */
/* gputune explain: everything about one setting. */
#include <string.h>

#include "look/settings/findings.h"
#include "measure/prove/ledger_view.h"
#include "verbs/door.h"
#include "verbs/page_check.h"

struct explain_ask {
	const char *id, *profile;
	struct machine_ask machine;
};

static const struct ask_row explain_ask_rows[] = {
	{ "ID", "the setting", ASK_TEXT(explain_ask, id), .argument = true, .required = true,
	  .proposal = setting_proposal },
	{ ASK_PART(explain_ask, machine, machine_ask) },
	{ PROFILE_ROW(explain_ask) },
};
static const struct ask_shape explain_ask_shape = ASK_SHAPE(explain_ask, NULL, explain_ask_rows);

struct explain_verb_answer {
	struct explain_answer result;
	const struct machine *m;
	struct findings findings;
	const struct findings *by_profile; /* PROFILES of them */
	const struct ledger *ledger;
};

/* What each built-in profile says of the one setting. */
static const struct findings *ask_profiles(struct door *d, const char *id, const struct machine *m,
					   struct host *h)
{
	struct findings *all = arena_array(d->arena, PROFILES, sizeof(*all));

	for (int i = 0; i < PROFILES; i++) {
		struct profile p = { .name = profile_name((enum profile_id)i),
				     .base = (enum profile_id)i };

		profile_one(d->arena, &p, id);
		settings_check(d->arena, m, &p, door_read_knob, h, &all[i]);
	}
	return all;
}

static bool is_group(const char *name)
{
	size_t n = strlen(name);

	SETTING_FOR_EACH (s)
		if (strncmp(s->id, name, n) == 0 && s->id[n] == '.')
			return true;
	return false;
}

static int no_setting(struct door *d, const char *name)
{
	const char *near = setting_suggest(name);
	struct err e = { 0 };

	err_set(&e, 0, "there is no setting \"%s\"", name);
	if (is_group(name))
		err_hint(&e, "it is a group: \"gputune list --only %s\" shows its settings", name);
	else if (near)
		err_hint(&e, "did you mean \"%s\"? \"gputune list\" shows all ids", near);
	else
		err_hint(&e, "\"gputune list\" shows all ids");
	return door_fail(d, EXIT_USAGE, &e);
}

static int explain_answer(struct door *d, const struct explain_ask *ask,
			  struct explain_verb_answer *out)
{
	const struct profile_ask wanted = { .profile = ask->profile };
	const struct setting *s = setting_find(ask->id);
	struct profile p;
	struct host *h;
	int code;

	if (!s)
		return no_setting(d, ask->id);
	code = door_profile(d, &wanted, &p);
	if (code)
		return code;
	h = door_host(d, &ask->machine);
	if (!h)
		return -EXIT_USAGE;
	out->m = door_machine(d, h, &(struct door_look){ .config = true });
	profile_one(d->arena, &p, s->id);
	settings_check(d->arena, out->m, &p, door_read_knob, h, &out->findings);
	out->by_profile = ask_profiles(d, s->id, out->m, h);
	out->ledger = door_ledger(d, h, out->m);
	out->result = explain_answer_of(d->arena, s, &out->findings, out->ledger);
	host_close(h);
	return EXIT_CLEAN;
}

static struct doc *explain_page(struct arena *a, const struct explain_ask *ask,
				const struct explain_verb_answer *x, const struct page_view *view)
{
	(void)ask;
	(void)view;
	return page_explain(a, x->result.s, x->m, &x->findings, x->by_profile, x->ledger);
}

VERB_ANSWER(explain_answer_any, explain_answer, explain_ask, explain_verb_answer)
VERB_PAGE(explain_page_any, explain_page, explain_ask, explain_verb_answer)
VERB_HEAD(explain_head, explain_verb_answer, m)

const struct verb explain_verb = {
	.name = "explain",
	.summary = "everything about one setting",
	.about = "What a setting is, why it matters, when it does not apply, how it is read, "
		 "written, kept and undone, its risk, what each profile wants and why they "
		 "differ, its sources, and its state on this machine.",
	.ask = &explain_ask_shape,
	.answer = explain_answer_any,
	.result = &explain_result,
	.answer_size = sizeof(struct explain_verb_answer),
	.page = explain_page_any,
	.head = explain_head,
	.reads = READS_FILES,
};
