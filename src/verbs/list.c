/* SPDX-License-Identifier: Apache-2.0 */
/* gputune list: every setting id, or every fact's path. */
#include "look/settings/findings.h"
#include "verbs/door.h"

struct list_ask {
	struct narrow_ask settings;
	bool facts;
};

/* clang-format off */
static const struct ask_row list_ask_rows[] = {
	{ ASK_PART(list_ask, settings, narrow_ask) },
	{ "facts", "list the paths of all facts instead of the settings", ASK_FLAG(list_ask, facts) },
};
/* clang-format on */
static const struct ask_shape list_ask_shape = ASK_SHAPE(list_ask, NULL, list_ask_rows);

static int list_answer(struct door *d, const struct list_ask *ask, struct listing *out)
{
	const struct profile_ask settings = { NULL, ask->settings.only, ask->settings.skip };
	struct profile p;
	int code;

	if (ask->facts && (settings.only || settings.skip))
		return door_refuse(d, EXIT_USAGE, "--only and --skip narrow settings, not --facts");
	code = door_profile(d, &settings, &p);
	if (code)
		return code;
	list_make(d->arena, ask->facts ? NULL : &p, out);
	return EXIT_CLEAN;
}

static int list_lines(FILE *out, const void *ask, const void *answer, int code)
{
	const struct listing *all = answer;

	(void)ask;
	for (size_t i = 0; i < all->n_facts; i++) {
		const struct listed_fact *f = &all->facts[i];

		fprintf(out, "%-44s %s%s%s%s\n", f->path, f->title, f->unit ? " (" : "",
			f->unit ? f->unit : "", f->unit ? ")" : "");
	}
	for (size_t i = 0; i < all->n_settings; i++)
		fprintf(out, "%-32s %s\n", all->settings[i]->id, all->settings[i]->title);
	return code;
}

VERB_ANSWER(list_answer_any, list_answer, list_ask, listing)

static const struct verb_format list_formats[] = { { "term", list_lines }, { NULL, NULL } };

const struct verb list_verb = {
	.name = "list",
	.summary = "all setting ids",
	.about = "Lists every setting with its title, or with --facts every fact.",
	.ask = &list_ask_shape,
	.answer = list_answer_any,
	.result = &list_result,
	.formats = list_formats,
};
