/* SPDX-License-Identifier: Apache-2.0 */
/* gputune defects new: the draft of a row from this machine and a text. */
#include <ctype.h>
#include <errno.h>
#include <regex.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "base/json.h"
#include "base/text.h"
#include "look/defects/page.h"
#include "machine/host/record.h"
#include "verbs/defect_rows.h"

struct defects_new_ask {
	struct machine_ask machine;
	struct ask_texts words;
	const char *component, *log;
};

static const struct ask_row defects_new_ask_rows[] = {
	{ "WORDS", "what happens, in one sentence", ASK_TEXTS(defects_new_ask, words),
	  .argument = true, .required = true },
	{ "component", "component with the defect: nccl, or the name of a package",
	  ASK_TEXT(defects_new_ask, component) },
	{ "log", "a line that appears in logs", ASK_TEXT(defects_new_ask, log), .arg = "LINE" },
	{ ASK_PART(defects_new_ask, machine, machine_ask) },
};

struct defects_draft {
	const char *file; /* a list with the row */
};

static const struct shape_row defects_new_rows[] = {
	{ "file", "File with the entry, as JSON.", SHAPE_TEXT(defects_draft, file) },
};
static const struct shape defects_new_shape = SHAPE(defects_draft, defects_new);

static const struct result_shape defects_new_result = {
	.name = "defects-new",
	.title = "gputune defects new",
	.meaning = "Draft of an entry of known defects.",
	.shape = &defects_new_shape,
	.exit_codes = 1u << 0 | 1u << 2,
};

/* --- texts of others -------------------------------------------------------------------------- */

enum { TITLE_MAX = 90, TEXT_LEN_MAX = 4000 };

extern const char secret_rules[]; /* made of secrets.txt by the build */

static void secrets_hide(struct arena *a, char *text)
{
	char *save = NULL, *rules = arena_strdup(a, secret_rules);

	for (char *rule = strtok_r(rules, "\n", &save); rule; rule = strtok_r(NULL, "\n", &save)) {
		regmatch_t at[6];
		regex_t r;

		if (regcomp(&r, rule + 2, REG_EXTENDED | REG_ICASE))
			continue;
		for (char *s = text; regexec(&r, s, 6, at, s == text ? 0 : REG_NOTBOL) == 0;
		     s += at[0].rm_eo) {
			const regmatch_t *m = &at[*rule - '0'];

			memset(s + m->rm_so, 'X', (size_t)(m->rm_eo - m->rm_so));
		}
		regfree(&r);
	}
}

/* Without names, addresses, numbers and keys of this machine; control characters are blanks. */
static char *clean(struct arena *a, struct redactor *r, const char *text)
{
	char *out = arena_strndup(a, text, utf8_cut(text, TEXT_LEN_MAX));

	out = arena_strdup(a, redact_addresses(r, out));
	secrets_hide(a, out);
	for (char *s = out; *s; s++)
		if ((unsigned char)*s < 0x20 || *s == 0x7f)
			*s = ' ';
	return out;
}

/* Numbers are '#', what is hidden '*': they differ the next time. */
static const char *signature_of(struct arena *a, const char *line)
{
	char *out = arena_strdup(a, line), *to = out;

	for (const char *s = line; *s;) {
		size_t n = str_starts(s, "0x") ? 2 + strspn(s + 2, "0123456789abcdefABCDEF")
					       : strspn(s, "0123456789"),
		       hidden = str_starts(s, "XXX") ? strspn(s, "X") : 0;

		*to++ = n ? '#' : hidden ? '*' : *s;
		n += hidden;
		s += n ? n : 1;
	}
	*to = '\0';
	return out;
}

static const char *effect_of(const char *text)
{
	static const char *const words[][2] = {
		{ "hang", "hang" },	{ "stuck", "hang" },
		{ "deadlock", "hang" }, { "crash", "crash" },
		{ "panic", "crash" },	{ "segfault", "crash" },
		{ "wrong", "wrong" },	{ "garbage", "wrong" },
		{ "nan", "wrong" },	{ "out of memory", "memory" },
		{ "oom", "memory" },	{ "leak", "memory" },
		{ "slow", "slow" },
	};

	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
		if (strcasestr(text, words[i][0]))
			return words[i][1];
	return "fails";
}

static const char *id_of(struct arena *a, const char *component, const char *title)
{
	char *id = arena_printf(a, "%s-%.40s", component, title);
	size_t n = 0;

	for (const char *s = id; *s; s++)
		if (isalnum((unsigned char)*s))
			id[n++] = (char)tolower((unsigned char)*s);
		else if (n && id[n - 1] != '-')
			id[n++] = '-';
	while (n && id[n - 1] == '-')
		n--;
	id[n] = '\0';
	return id;
}

/* --- the machine ------------------------------------------------------------------------------ */

struct draft {
	struct arena *a;
	json_t *all, *yes,
		*no; /* conditions, and the example that matches and the one that does not */
};

static void leaf_add(struct draft *f, json_t *leaf)
{
	json_array_append_new(f->all, leaf);
}

/* "6.17.0-1014" of 6.17.0-1014-nvidia. */
static const char *version_of(struct arena *a, const char *release)
{
	size_t n = strspn(release, "0123456789.-");

	while (n && !isdigit((unsigned char)release[n - 1]))
		n--;
	return arena_strndup(a, release, n);
}

/* What is known of the machine narrows the row; whoever knows better removes it. */
static void machine_add(struct draft *f, const json_t *machine)
{
	static const char *const keys[] = { "platform", "cpu", "gpus", "driver", "kernel" };

	for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++) {
		json_t *v = json_object_get(machine, keys[i]);

		if (!json_is_string(v) && !json_array_size(v))
			continue;
		json_object_set(f->yes, keys[i], v);
		json_object_set(f->no, keys[i], v);
		if (i == 4)
			leaf_add(f, json_pack("{s:s}", "kernel",
					      version_of(f->a, json_string_value(v))));
		else if (i >= 2)
			leaf_add(f, json_pack("{s:O}", i == 2 ? "gpu" : keys[i], v));
	}
	json_object_set_new(f->no, "gpus", json_pack("[s]", "sm_10"));
	json_object_set_new(f->no, "driver", json_string("1.0"));
	json_object_set_new(f->no, "kernel", json_string("1.0.0-1-generic"));
}

/* The version of what has the component in its name, in the first place that has it. */
static void software_add(struct draft *f, const struct defect_world *w, const char *component)
{
	static const char *const kinds[][2] = { { "pip", "pip" }, { "packages", "package" } };

	for (size_t i = 0; i < w->n_places; i++)
		for (size_t k = 0; k < 2; k++) {
			const char *name;
			json_t *v;

			json_object_foreach(json_object_get(w->places[i].holds, kinds[k][0]), name,
					    v)
			{
				const json_t *one = json_is_array(v) ? json_array_get(v, 0) : v;

				if (!json_is_string(one) || !strstr(name, component))
					continue;
				leaf_add(f, json_pack("{s:s, s:O}", kinds[k][1], name, "version",
						      one));
				json_object_set_new(f->yes, kinds[k][0],
						    json_pack("{s:O}", name, one));
				return;
			}
		}
}

static json_t *draft_make(struct arena *a, const struct defects_new_ask *ask, struct redactor *r,
			  const struct defect_world *w)
{
	char *component = arena_strdup(a, ask->component ? ask->component : "other");
	struct draft f = { a, json_array(), json_pack("{s:s}", "match", "yes"),
			   json_pack("{s:s}", "match", "no") };
	char *text = arena_strdup(a, ""), *title, *end, today[STAMP_SIZE] = "";
	json_t *row;

	for (char *s = component; *s; s++)
		*s = (char)tolower((unsigned char)*s);
	for (size_t i = 0; i < ask->words.n; i++)
		text = arena_printf(a, "%s%s%s", text, i ? " " : "", ask->words.items[i]);
	text = clean(a, r, text);
	end = strstr(text, ". ");
	title = arena_strndup(a, text, end ? (size_t)(end - text) : strlen(text));
	title[utf8_cut(title, TITLE_MAX)] = '\0';
	if (str_ends(title, "."))
		title[strlen(title) - 1] = '\0';
	(void)stamp_format((long long)time(NULL), today);
	machine_add(&f, w->machine);
	software_add(&f, w, component);
	row = json_pack("{s:s, s:s, s:s, s:s, s:{s:o}, s:[s], s:s, s:b, s:s, s:{s:s}, s:s, s:s, "
			"s:[s], s:[o, o]}",
			"id", id_of(a, component, title), "component", component, "title", title,
			"effect", effect_of(text), "when", "all", f.all, "symptoms", text, "cause",
			"unknown", "cause_confirmed", 0, "worth", "unmeasured", "fix", "says",
			"unknown", "confirmed_by", "not confirmed", "date",
			arena_strndup(a, today, 7), "source", "where this was reported (URL)",
			"examples", f.yes, f.no);
	if (row && ask->log)
		json_object_set_new(row, "signatures",
				    json_pack("[s]", signature_of(a, clean(a, r, ask->log))));
	return row;
}

static int defects_new_answer(struct door *d, const struct defects_new_ask *ask,
			      struct defects_draft *out)
{
	HOST_AUTO *h = door_host(d, &ask->machine);
	struct stack_root root = { h, -1, h && !h->id.captured };
	struct redactor r = { .arena = d->arena };
	struct defect_rows none = { 0 };
	struct world_look how = { .root = &root, .machine = h, .rows = &none };
	struct defect_world world;
	struct world_seen seen;
	struct err e = { 0 };
	json_t *row;
	const char *text;

	if (!h)
		return -EXIT_USAGE;
	r.nodename = h->id.nodename ? h->id.nodename : "";
	how.live = !h->id.captured;
	how.m = door_machine(d, h, &(struct door_look){ .lean = true });
	world_take(d->arena, &how, &world, &seen);
	row = draft_make(d->arena, ask, &r, &world);
	world_free(&world);
	if (!row)
		return door_refuse(d, EXIT_USAGE, "the text is not UTF-8");
	if (defect_row_check(d->arena, row, true, &e))
		door_warn(d, "to be completed: %s", e.text);
	text = json_take_text(d->arena, row, JSON_INDENT(2) | JSON_ENSURE_ASCII);
	out->file = arena_printf(d->arena, "[\n%s\n]\n", text ? text : "");
	return EXIT_CLEAN;
}

static int new_write(FILE *out, const void *ask, const void *answer, int code)
{
	(void)ask;
	fputs(((const struct defects_draft *)answer)->file, out);
	return code;
}

static struct doc *page_new(struct arena *a, const struct defects_draft *v)
{
	struct doc *d = doc_new(a);

	doc_heading(d, 1, "Draft of a defect entry");
	doc_code(d, v->file);
	return d;
}

VERB_ANSWER(new_answer_any, defects_new_answer, defects_new_ask, defects_draft)
VERB_PAGE_OF(new_page, page_new, defects_draft)

const struct verb defects_new_verb = {
	.name = "new",
	.summary = "draft a defect entry from this machine and your description",
	.about = "Prints a file with one entry for \"defects lint\", filled in with facts of this "
		 "machine but no names or addresses. Nothing is sent.",
	.examples = EXAMPLES(
		{ "defects new --component nccl all_reduce hangs after an hour",
		  "an entry to complete" },
		{ "defects new --log \"NVRM: Xid 31\" it crashes", "with a line of a log" }),
	.ask = ASK_OF(defects_new_ask, NULL, defects_new_ask_rows),
	.answer = new_answer_any,
	.result = &defects_new_result,
	.page = new_page,
	.formats = FORMATS({ "term", new_write }),
	.reads = READS_CAPTURE,
};
