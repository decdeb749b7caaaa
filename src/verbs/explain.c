/* SPDX-License-Identifier: Apache-2.0 */
/* gputune explain: everything about one setting. */
#include <string.h>

#include "look/settings/findings.h"
#include "measure/doctor/doctor.h"
#include "measure/prove/ledger_view.h"
#include "verbs/change.h"
#include "verbs/page_check.h"

struct explain_ask {
	const char *id, *profile;
	struct machine_ask machine;
};

/* A part of an id or a title stands for itself. */
static const char *setting_meant(const char *word)
{
	SETTING_FOR_EACH (s)
		if (strlen(word) > 2 && (strcasestr(s->id, word) || strcasestr(s->title, word)))
			return word;
	return NULL;
}

static const struct ask_row explain_ask_rows[] = {
	{ "ID", "a setting's id, or a part of its id or title", ASK_TEXT(explain_ask, id),
	  .argument = true, .required = true, .proposal = setting_proposal, .meant = setting_meant,
	  .listed = "settings" },
	{ ASK_PART(explain_ask, machine, machine_ask) },
	{ PROFILE_ROW(explain_ask) },
};

struct explain_verb_answer {
	struct explain_answer result;
	const struct machine *m;
	struct findings findings;
	struct profile profile;
	struct plan plan;
	const struct findings *by_profile; /* PROFILES of them */
	const struct ledger *ledger;
	struct listing found;
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

/* Several settings have the text that was given in id or title. */
static bool is_search(const struct explain_verb_answer *x)
{
	return x->found.n_settings > 1;
}

/* The setting of that id, or the only one with that text; NULL: there is none, or several. */
static const struct setting *find_setting(struct door *d, const char *text,
					  struct explain_verb_answer *out)
{
	const struct setting *s = setting_find(text);

	if (!s)
		list_find(d->arena, text, &out->found);
	return out->found.n_settings == 1 ? out->found.settings[0] : s;
}

static int explain_answer(struct door *d, const struct explain_ask *ask,
			  struct explain_verb_answer *out)
{
	const struct profile_ask wanted = { .profile = ask->profile };
	const struct setting *s = find_setting(d, ask->id, out);
	struct err e = { 0 };
	struct profile *p = &out->profile;
	struct plan_target w;
	HOST_AUTO *h = NULL;
	int code;

	if (is_search(out))
		return EXIT_CLEAN;
	DIAGNOSIS_FOR_EACH (g)
		if (!s && strcmp(g->id, ask->id) == 0)
			return door_refuse(d, EXIT_USAGE,
					   "\"%s\" is a diagnosis, not a setting: \"gputune doctor "
					   "%s%s%s\" looks for its causes",
					   g->id, g->id, ask->machine.capture ? " --host " : "",
					   ask->machine.capture ? ask->machine.capture : "");
	if (!s)
		return setting_check(&e, ask->id)
			       ? door_fail(d, EXIT_USAGE, &e)
			       : door_refuse(d, EXIT_USAGE, "\"%s\" matches more than one setting",
					     ask->id);
	code = door_profile(d, &wanted, p);
	if (code)
		return code;
	h = door_host(d, &ask->machine);
	if (!h)
		return -EXIT_USAGE;
	out->m = door_machine(d, h, &(struct door_look){ .config = true });
	profile_one(d->arena, p, s->id);
	settings_check(d->arena, out->m, p, door_read_knob, h, &out->findings);
	w = door_target(d, h, p, NULL);
	if (d->page)
		plan_make(d->arena, out->m, &w, &out->findings, door_read_knob, door_exact_knob, h,
			  &out->plan);
	out->by_profile = ask_profiles(d, s->id, out->m, h);
	out->ledger = door_ledger(d, h, out->m);
	out->result = explain_answer_of(d->arena, s, &out->findings, out->ledger);
	return EXIT_CLEAN;
}

static struct doc *page_found(struct arena *a, const char *text, const struct listing *l)
{
	struct doc *d = doc_new(a);
	struct node *t;

	doc_text(d, "%zu settings match \"%s\" in id or title:", l->n_settings, text);
	t = DOC_TABLE(d, NULL, "Setting", "~Description");
	for (size_t i = 0; i < l->n_settings; i++)
		NODE_ROW(d, t, cell_as(STYLE_CODE, l->settings[i]->id),
			 cell(l->settings[i]->title));
	doc_text(d, "\"gputune explain ID\" shows one of them in full.");
	return d;
}

VERB_OTHER(explain_other, explain_ask, explain_verb_answer, is_search(v), &v->found, list_result)
static struct doc *explain_page(struct arena *a, const struct explain_ask *ask,
				const struct explain_verb_answer *x, const struct page_view *view)
{
	const struct check_view how = { .verbose = view->verbose,
					.ledger = x->ledger,
					.plan = &x->plan };

	return is_search(x) ? page_found(a, ask->id, &x->found)
			    : page_explain(a, x->result.s, x->m, &x->profile, &x->findings,
					   x->by_profile, &how);
}

VERB_ANSWER(explain_answer_any, explain_answer, explain_ask, explain_verb_answer)
VERB_PAGE(explain_page_any, explain_page, explain_ask, explain_verb_answer)
VERB_HEAD(explain_head, explain_verb_answer, m)

/* clang-format off */
const struct verb explain_verb = {
	.name = "explain", .group = VERB_LOOK, .summary = "one setting: why, risk, sources, and its state here",
	.about = "Prints why a setting matters, when it applies, and how it is read, written and undone. Also "
	  "its risk, the value in each profile, its sources, and its state on this machine. A part of a name "
	  "lists the matching settings.",
	.words = "why describe docs about",
	.examples = EXAMPLES({ "explain memory.swappiness", "one setting" },
		{ "explain dirty", "all settings that match in id or title" },
		{ "explain cpu.governor --profile low-latency", "the value in another profile" }),
	.ask = ASK_OF(explain_ask, NULL, explain_ask_rows), .answer = explain_answer_any,
	.result = &explain_result, .answer_size = sizeof(struct explain_verb_answer), .page = explain_page_any,
	.other = explain_other, .others = explain_others, .head = explain_head, .reads = READS_FILES,
};
