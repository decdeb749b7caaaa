/* SPDX-License-Identifier: Apache-2.0 */
/* gputune list: the names that other verbs take. */
#include <string.h>
#include <unistd.h>

#include "base/text.h"
#include "knowledge/gpus.h"
#include "knowledge/models.h"
#include "look/settings/findings.h"
#include "measure/bench/bench.h"
#include "measure/bench/record.h"
#include "models/inference/arch.h"
#include "models/inference/fit.h"
#include "render/doc.h"
#include "verbs/door.h"

enum listed {
	LISTED_SETTINGS,
	LISTED_FACTS,
	LISTED_PROFILES,
	LISTED_MODELS,
	LISTED_MACHINES,
	LISTED_ENGINES,
	LISTED_BENCHES,
	LISTED_DEMOS,
	LISTED_CAPTURES,
	LISTED_RECORDINGS,
	LISTED_RESULTS,
	LISTED,
};

static const char *const listed_names[] = { "settings",	    "facts",	      "profiles", "models",
					    "machines",	    "engines",	      "benches",  "demos",
					    SAVED_CAPTURES, SAVED_RECORDINGS, "results" };

struct list_ask {
	enum listed what;
	struct narrow_ask settings;
	const char *part;
	bool facts;
};

/* clang-format off */
static const struct ask_row list_ask_rows[] = {
	{ "WHAT", "the names to list", ASK_CHOICE(list_ask, what, listed_names), .argument = true },
	{ "PART", "only names that contain this", ASK_TEXT(list_ask, part), .argument = true },
	{ ASK_PART(list_ask, settings, narrow_ask) },
	{ "facts", "same as \"list facts\"", ASK_FLAG(list_ask, facts) },
};
/* clang-format on */

/* Files of a folder that end so, without that end. */
static void list_folder(struct door *d, struct listing *out, const char *folder, const char *end,
			const char *what)
{
	HOST_AUTO *h = d->live(d->ctx);
	char **names;
	size_t n;

	if (host_list(h, folder, d->arena, &names, &n))
		n = 0;
	for (size_t i = 0; i < n; i++)
		if (str_ends(names[i], end))
			list_name(d->arena, out,
				  arena_strndup(d->arena, names[i], strlen(names[i]) - strlen(end)),
				  arena_printf(d->arena, "%s%s/%s", what, folder, names[i]));
}

/* Built in, then those of this machine, then those of this user. */
int list_profiles(struct door *d, const void *ask, void *answer)
{
	struct listing *out = answer;
	HOST_AUTO *h = d->live(d->ctx);
	const char *own = geteuid() ? door_config(d, h, "profiles") : NULL;

	(void)ask;
	out->kind = "profiles";
	for (enum profile_id p = 0; p < PROFILES; p++)
		list_name(d->arena, out, profile_name(p), profile_purpose(p));
	list_folder(d, out, "/etc/gputune/profiles", ".ini", "custom: ");
	if (own)
		list_folder(d, out, own, ".ini", "custom: ");
	return EXIT_CLEAN;
}

static void list_models(struct door *d, struct listing *out)
{
	for (size_t i = 0; i < n_model_rows; i++)
		list_name(d->arena, out, model_rows[i].a.name,
			  arch_size(d->arena, &model_rows[i].a));
}

/* The first word of a kind of GPU names a machine with it. */
static void list_machines(struct door *d, struct listing *out)
{
	for (size_t i = 0; i < n_gpu_kinds; i++) {
		const struct gpu_kind *k = &gpu_kinds[i];
		size_t n = strcspn(k->keys, " ");

		list_name(d->arena, out, arena_strndup(d->arena, k->keys, n),
			  arena_printf(d->arena, "%s, %.4g GB at %.5g GB/s%s%s", k->name, k->memory,
				       k->bandwidth, k->keys[n] ? "; also " : "",
				       k->keys[n] ? k->keys + n + 1 : ""));
	}
}

void list_demos(struct door *d, struct listing *out)
{
	char **names;
	size_t n = host_demos(d->arena, &names);

	for (size_t i = 0; i < n; i++) {
		const struct machine_ask from = { .capture = arena_printf(d->arena, "demo:%s",
									  names[i]) };
		const char *own = door_overlay(d->arena, &from), *about = host_demo_about(names[i]);

		list_name(d->arena, out, from.capture,
			  own ? arena_printf(d->arena, "%s; your changes: %s", about, own) : about);
	}
}

static int list_names(struct door *d, enum listed what, const char *part, struct listing *out)
{
	size_t n = 0;
	const struct store_where w = door_where(d, &(struct state_ask){ 0 });
	const char *const saved[] = { w.state, w.beside };
	bool results = what == LISTED_RESULTS;

	out->kind = listed_names[what];
	if (what == LISTED_PROFILES)
		list_profiles(d, NULL, out);
	else if (what == LISTED_MODELS)
		list_models(d, out);
	else if (what == LISTED_MACHINES)
		list_machines(d, out);
	else if (what == LISTED_DEMOS)
		list_demos(d, out);
	/* Of this user, then of the machine. */
	for (size_t i = 0; i < 2 && what > LISTED_DEMOS && saved[i]; i++)
		list_folder(
			d, out,
			arena_printf(d->arena, "%s/%s", saved[i], results ? "bench" : out->kind),
			results ? ".json" : "", "");
	for (size_t i = 0; i < ENGINES && what == LISTED_ENGINES; i++)
		list_name(d->arena, out, engine_names[i], "a value of --engine");
	for (size_t i = 0; i < bench_count && what == LISTED_BENCHES; i++)
		list_name(d->arena, out, benches[i]->name, benches[i]->title);
	for (size_t i = 0; part && i < out->n_names; i++)
		if (strcasestr(out->names[i].name, part) || strcasestr(out->names[i].what, part))
			out->names[n++] = out->names[i];
	out->n_names = part ? n : out->n_names;
	if (what == LISTED_MACHINES)
		door_note(d, "Names for --on: gputune predict inference --model Qwen3-8B --on "
			     "gb10. For --host: gputune demo");
	return EXIT_CLEAN;
}

static int list_answer(struct door *d, const struct list_ask *ask, struct listing *out)
{
	enum listed what = ask->facts		? LISTED_FACTS
			   : ask->what < LISTED ? ask->what
						: LISTED_SETTINGS;
	const struct profile_ask settings = { NULL, ask->settings.only, ask->settings.skip };
	struct profile p;
	int code;

	if (what != LISTED_SETTINGS && (settings.only || settings.skip))
		return door_refuse(d, EXIT_USAGE, "--only and --skip filter settings, not %s",
				   listed_names[what]);
	if (what > LISTED_FACTS)
		return list_names(d, what, ask->part, out);
	code = door_profile(d, &settings, &p);
	if (code)
		return code;
	list_make(d->arena, what == LISTED_FACTS ? NULL : &p, out);
	return EXIT_CLEAN;
}

struct doc *listing_page(struct arena *a, const void *ask, const void *answer,
			 const struct page_view *view)
{
	const struct listing *all = answer;
	struct doc *d = doc_new(a);
	struct node *p = doc_pairs(d, NULL);

	(void)view;
	for (size_t i = 0; i < all->n_facts; i++) {
		const struct listed_fact *f = &all->facts[i];

		node_pairf(d, p, f->path, "%s%s%s%s", f->title, f->unit ? " (" : "",
			   f->unit ? f->unit : "", f->unit ? ")" : "");
	}
	for (size_t i = 0; i < all->n_settings; i++)
		node_pair(d, p, all->settings[i]->id, cell(all->settings[i]->title));
	for (size_t i = 0; i < all->n_names; i++)
		node_pair(d, p, all->names[i].name, cell(all->names[i].what));
	if (!ask && strcmp(all->kind, "demos") == 0) /* the verb demo */
		doc_text(d, "Try: gputune check --host demo:dgx-spark. Changes to a demo are "
			    "stored in your own folder and need no sudo; remove the folder to "
			    "start again.");
	return d;
}

VERB_ANSWER(list_answer_any, list_answer, list_ask, listing)

/* clang-format off */
const struct verb list_verb = {
	.name = "list", .group = VERB_LOOK,
	.summary = "names to use: settings, profiles, models, machines, engines, benches",
	.about = "Lists names that other verbs take: settings (default), facts, profiles, models (--model), "
	  "machines (--on), engines, benches, demos (captured machines for --host), or your saved captures, "
	  "recordings and results.", .words = "ls names ids catalog catalogue",
	.examples = EXAMPLES({ "list", "all settings" },
	  { "list models qwen3", "models that predict supports by name" },
	  { "list profiles", "profiles for check" }, { "list results", "what bench saved, for compare" },
	  { "list facts --format json", "paths of all facts, for a script" }),
	.ask = ASK_OF(list_ask, NULL, list_ask_rows), .answer = list_answer_any, .result = &list_result,
	.page = listing_page,
};
/* clang-format on */
