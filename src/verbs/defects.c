/* SPDX-License-Identifier: Apache-2.0 */
/* gputune defects: which known defects are here, and what is known of them. */
#include <errno.h>
#include <string.h>
#include <time.h>

#include "base/text.h"
#include "knowledge/package.h"
#include "look/defects/page.h"
#include "machine/host/confine.h"
#include "verbs/defect_rows.h"
#include "verbs/model_files.h"
#include "verbs/ranks.h"

/* --- check ------------------------------------------------------------------------------------ */

struct defects_ask {
	struct machine_ask machine;
	struct ranks_ask ranks;
	const char *rootfs, *component;
	struct ask_texts firmware;
	bool deep, all;
};

static const struct ask_row defects_ask_rows[] = {
	{ "rootfs", "check this root file system, such as an unpacked container image",
	  ASK_TEXT(defects_ask, rootfs), .arg = "DIR", .files = true },
	{ "component", "only defects of this component: nccl", ASK_TEXT(defects_ask, component) },
	{ "firmware", "firmware versions from a file: fwupdmgr --json, or output of mlxfwmanager",
	  ASK_TEXTS(defects_ask, firmware), .arg = "FILE", .files = true },
	{ "deep", "also search stored images and large libraries", ASK_FLAG(defects_ask, deep) },
	{ "all", "also show defects with an unmet condition, and unreadable defects",
	  ASK_FLAG(defects_ask, all), .letter = 'a' },
	{ ASK_PART(defects_ask, machine, machine_ask) },
	{ ASK_PART(defects_ask, ranks, ranks_ask) },
};

/* Whether the row's key is that text. */
static bool row_is(struct door *d, const struct defect_row *one, const char *key, const char *text)
{
	const char *const texts[] = { arena_printf(d->arena, "\"%s\":\"%s\"", key, text), NULL };
	json_auto_t *row = defect_row_part(one, key, texts);

	return row && strcmp(defect_text(row, key), text) == 0;
}

/* Rows of the component alone; NULL: all. */
static size_t rows_narrow(struct door *d, struct defect_rows *rows, const char *component)
{
	size_t n = 0;

	for (size_t i = 0; i < rows->n; i++)
		if (!component || row_is(d, rows->rows[i], "component", component))
			rows->rows[n++] = rows->rows[i];
	return rows->n = n;
}

/* Firmware by the files that the user names; NULL: it was said why. */
static json_t *firmware_files(struct door *d, const struct ask_texts *files)
{
	json_t *all = json_object();

	for (size_t i = 0; i < files->n; i++) {
		const char *name = files->items[i];
		struct err e = { 0 };
		size_t len;
		json_t *one = json_object();
		char *text = door_file(d, name, 4 << 20, &len, NULL);

		json_object_set_new(all, name, one);
		if (!text || (firmware_of_file(d->arena, name, text, len, one, &e) &&
			      door_fail(d, EXIT_USAGE, &e))) {
			json_decref(all);
			return NULL;
		}
	}
	return all;
}

static int defects_answer(struct door *d, const struct defects_ask *ask, struct defects_view *out)
{
	json_auto_t *firmware = firmware_files(d, &ask->firmware);
	struct defect_rows *rows = ARENA_NEW(d->arena, struct defect_rows);
	struct host *h = firmware ? door_host(d, &ask->machine) : NULL, *image = NULL;
	struct stack_root root = { h, -1, h && !h->id.captured };
	struct world_look how = {
		.root = &root, .machine = h, .deep = ask->deep, .rows = rows, .firmware = firmware
	};
	struct err e = { 0 };

	if (!h)
		return -EXIT_USAGE;
	if (ask->rootfs) {
		image = rootfs_open(ask->rootfs, &root.fd, &e);
		if (!image) {
			host_close(h);
			return door_fail(d, EXIT_USAGE, &e);
		}
		root.h = image;
		root.contents = true;
	}
	how.live = !image && !h->id.captured;
	how.m = out->m = door_machine(d, h, &(struct door_look){ .lean = true });
	defects_rows(d, rows);
	how.baseline = ask->component ? NULL : rows->baseline;
	if (rows_narrow(d, rows, ask->component))
		defects_look(d->arena, &how, out);
	out->all = ask->all;
	out->component = ask->component;
	host_close(image);
	host_close(h);
	if (!rows->n)
		return door_refuse(d, EXIT_USAGE, "no known defects for component \"%s\"",
				   ask->component);
	return out->count[DEFECT_HERE] > out->security || out->baseline.count[BASELINE_TORN]
		       ? EXIT_FINDINGS
		       : EXIT_CLEAN;
}

/* --- list, explain, search, lint -------------------------------------------------------------- */

struct defects_list_ask {
	const char *component;
};
static const struct ask_row list_rows[] = {
	{ "COMPONENT", "only defects of this component: nccl",
	  ASK_TEXT(defects_list_ask, component), .argument = true },
};

struct defects_explain_ask {
	const char *id;
};
static const struct ask_row explain_rows[] = {
	{ "ID", "a defect id from \"defects list\"", ASK_TEXT(defects_explain_ask, id),
	  .argument = true, .required = true },
};

struct defects_search_ask {
	struct ask_texts words;
};
static const struct ask_row search_rows[] = {
	{ "WORDS", "words of a symptom, or a log line", ASK_TEXTS(defects_search_ask, words),
	  .argument = true, .required = true },
};

struct defects_lint_ask {
	struct ask_texts files;
};
static const struct ask_row lint_rows[] = {
	{ "FILE", "files of defect entries", ASK_TEXTS(defects_lint_ask, files), .argument = true,
	  .required = true, .files = true },
};

static void listing_add(struct door *d, struct defects_listing *out, struct defect_row *row)
{
	defect_show(d->arena, defect_row_keep(row), &ARENA_ADD(d->arena, out->items, out->n));
}

static void listing_begin(struct door *d, struct defect_rows *rows, struct defects_listing *out)
{
	defects_rows(d, rows);
	out->rows_from = rows->from;
	out->rows_date = rows->date;
	out->rows_age_days = package_age_days(rows->made, (long long)time(NULL));
}

static int defects_list_answer(struct door *d, const struct defects_list_ask *ask,
			       struct defects_listing *out)
{
	struct defect_rows rows;

	listing_begin(d, &rows, out);
	for (size_t i = 0; i < rows_narrow(d, &rows, ask->component); i++)
		listing_add(d, out, rows.rows[i]);
	return out->n ? EXIT_CLEAN
		      : door_refuse(d, EXIT_USAGE, "no known defects for component \"%s\"",
				    ask->component);
}

static int defects_explain_answer(struct door *d, const struct defects_explain_ask *ask,
				  struct defects_listing *out)
{
	struct defect_rows rows;

	listing_begin(d, &rows, out);
	for (size_t i = 0; i < rows.n && !out->one; i++) {
		out->one = row_is(d, rows.rows[i], "id", ask->id);
		if (out->one)
			listing_add(d, out, rows.rows[i]);
	}
	return out->one ? EXIT_CLEAN : door_refuse(d, EXIT_USAGE, "unknown defect \"%s\"", ask->id);
}

/* Words of the row's texts, a line that a signature fits for ten. */
static int search_score(struct arena *a, const struct defect_row *one, const char *line)
{
	json_auto_t *row = defect_row_part(one, NULL, NULL);
	struct defect_shown s;
	char *words = arena_strdup(a, line), *save = NULL;
	const char *all;
	int score = 0;
	json_t *v;
	size_t i;

	defect_show(a, row, &s);
	all = arena_printf(a, "%s %s %s %s %s %s", s.id, s.component, s.title, s.symptoms, s.cause,
			   s.signatures ? s.signatures : "");
	for (char *w = strtok_r(words, " ", &save); w; w = strtok_r(NULL, " ", &save))
		score += strlen(w) > 2 && strcasestr(all, w);
	json_array_foreach(json_object_get(row, "signatures"), i, v) score +=
		defect_signature_in(json_string_value(v), line) ? 10 : 0;
	return score;
}

static int defects_search_answer(struct door *d, const struct defects_search_ask *ask,
				 struct defects_listing *out)
{
	struct defect_rows rows;
	const char *line = "";
	int most = 0, *score;

	listing_begin(d, &rows, out);
	score = arena_array(d->arena, rows.n, sizeof(*score));
	for (size_t i = 0; i < ask->words.n; i++)
		line = arena_printf(d->arena, "%s%s%s", line, i ? " " : "", ask->words.items[i]);
	for (size_t i = 0; i < rows.n; i++) {
		score[i] = search_score(d->arena, rows.rows[i], line);
		most = score[i] > most ? score[i] : most;
	}
	/* The best, and what is nearly as good. */
	for (int want = most; want > most / 2; want--)
		for (size_t i = 0; i < rows.n; i++)
			if (score[i] == want && out->n < 20)
				listing_add(d, out, rows.rows[i]);
	return out->n ? EXIT_CLEAN : EXIT_FINDINGS;
}

static void lint_problem(struct door *d, struct defects_linted *out, const char *file,
			 const char *what)
{
	ARENA_ADD(d->arena, out->problems, out->n) =
		(struct defect_problem){ file, arena_strdup(d->arena, what) };
}

static int defects_lint_answer(struct door *d, const struct defects_lint_ask *ask,
			       struct defects_linted *out)
{
	for (size_t i = 0; i < ask->files.n; i++) {
		const char *file = ask->files.items[i];
		struct err e = { 0 };
		json_error_t why;
		json_t *list, *row;
		size_t len, k;
		char *text = door_file(d, file, DEFECT_ROWS_BYTES, &len, NULL);

		if (!text)
			return -EXIT_USAGE;
		list = json_loadb(text, len, JSON_REJECT_DUPLICATES, &why);
		if (!json_is_array(list))
			lint_problem(
				d, out, file,
				list ? "entries must be in a list"
				     : arena_printf(d->arena, "line %d: %s", why.line, why.text));
		json_array_foreach(list, k, row)
		{
			const char *id = defect_text(row, "id");

			if (defect_row_check(d->arena, row, true, &e))
				lint_problem(d, out, file,
					     arena_printf(d->arena, "%s: %s",
							  id ? id : "an entry has no id", e.text));
			else
				out->rows++;
		}
		json_decref(list);
	}
	return out->n ? EXIT_FINDINGS : EXIT_CLEAN;
}

/* --- the verbs -------------------------------------------------------------------------------- */

/* clang-format off */

SHAPE_GIVES(bool, check_reads, defects_ask, x->rootfs || x->machine.capture || x->firmware.n)

static unsigned check_confine(const void *ask)
{
	/* SQLite, for packages of rpm. */
	return ((const struct defects_ask *)ask)->rootfs ? CONFINE_OPENAT2 | CONFINE_CODE : 0;
}

VERB_RANKS(check_ranks, defects_ask, !x->machine.capture)
VERB_ANSWER(check_answer_any, defects_answer, defects_ask, defects_view)
VERB_PAGE_OF(check_page, page_defects, defects_view)
VERB_HEAD(check_head, defects_view, m)
VERB_ANSWER(list_answer_any, defects_list_answer, defects_list_ask, defects_listing)
VERB_ANSWER(explain_answer_any, defects_explain_answer, defects_explain_ask, defects_listing)
VERB_ANSWER(search_answer_any, defects_search_answer, defects_search_ask, defects_listing)
VERB_PAGE_OF(list_page, page_defects_list, defects_listing)
VERB_ANSWER(lint_answer_any, defects_lint_answer, defects_lint_ask, defects_linted)
VERB_PAGE_OF(lint_page, page_defects_lint, defects_linted)

static const struct verb defects_check_verb = {
	.name = "check",
	.summary = "find known defects on this machine",
	.about = "Compares packages, Python environments, libraries, containers, kernel, driver and firmware with "
	  "the known defects. Runs none of their programs.",
	.exits = "1: a defect breaks or slows something here, or a release is incomplete",
	.examples = EXAMPLES({ "defects check", "this machine, its processes and containers" },
		{ "defects check --rootfs image", "an unpacked image" }),
	.ask = ASK_OF(defects_ask, NULL, defects_ask_rows), .answer = check_answer_any, .result = &defects_result,
	.page = check_page, .head = check_head, .ranks = check_ranks, .reads = READS_FILES, .reads_now = check_reads,
	.confine = check_confine,
};

static const struct verb defects_list_verb = {
	.name = "list",
	.summary = "list the known defects",
	.about = "Lists all known defects, including those that do not apply to this machine.",
	.examples = EXAMPLES({ "defects list", "all" }, { "defects list nccl", "of NCCL" }),
	.ask = ASK_OF(defects_list_ask, NULL, list_rows), .answer = list_answer_any, .result = &defects_list_result,
	.page = list_page,
};

static const struct verb defects_explain_verb = {
	.name = "explain",
	.summary = "one defect: cause, effect, fix, sources",
	.about = "Prints the details of a defect and who confirmed it.",
	.examples = EXAMPLES({ "defects explain nccl-arm-cas-gcc9", "a hang of NCCL on Arm" },
		{ "defects explain nccl-arm-cas-gcc9 --format json", "as JSON, with its conditions" }),
	.ask = ASK_OF(defects_explain_ask, NULL, explain_rows), .answer = explain_answer_any,
	.result = &defects_list_result, .page = list_page,
};

static const struct verb defects_search_verb = {
	.name = "search",
	.summary = "find defects by words of a symptom or a log line",
	.about = "Searches titles, symptoms, causes and log lines of known defects.",
	.exits = "1: nothing was found",
	.examples = EXAMPLES({ "defects search hang nccl", "by words" },
		{ "defects search \"illegal instruction\"", "by a message" }),
	.ask = ASK_OF(defects_search_ask, NULL, search_rows), .answer = search_answer_any,
	.result = &defects_list_result, .page = list_page,
};

static const struct verb defects_lint_verb = {
	.name = "lint",
	.summary = "test files of defect entries with the examples that they contain",
	.about = "Checks keys, conditions and versions of each entry, and tests it with its examples.",
	.exits = "1: an entry is invalid",
	.examples = EXAMPLES({ "defects lint nccl.json", "before you send the file" },
		{ "defects lint nccl.json torch.json", "several files" }),
	.ask = ASK_OF(defects_lint_ask, NULL, lint_rows), .answer = lint_answer_any, .result = &defects_lint_result,
	.page = lint_page, .reads = READS_FILES,
};

static const struct verb *const defects_subs[] = {
	&defects_check_verb, &defects_list_verb, &defects_explain_verb, &defects_search_verb,
	&defects_lint_verb, &defects_new_verb, NULL,
};

const struct verb defects_verb = {
	.name = "defects",
	.group = VERB_LOOK,
	.summary = "known defects of the installed drivers, kernels, libraries and firmware",
	.about = "Compares this machine, its containers and environments with known defects (check). Shows known "
	  "defects (list, explain, search), and drafts and tests new entries (new, lint).",
	.words = "known bugs issues vulnerabilities cve advisories regressions",
	.examples = EXAMPLES({ "defects check", "known defects on this machine" },
		{ "defects search hang nccl", "by words of a symptom" }),
	.subs = defects_subs,
	.usual = &defects_check_verb,
};
