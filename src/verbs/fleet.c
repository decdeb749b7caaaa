/* SPDX-License-Identifier: Apache-2.0 */
/* gputune fleet: results and captures of many machines, from files and folders, one by one. */
#include "many/fleet/fleet.h"

#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/json.h"
#include "base/text.h"
#include "machine/host/confine.h"
#include "many/history/history.h"
#include "measure/prove/ledger_view.h"
#include "verbs/door.h"

struct fleet_ask {
	struct ask_texts files;
	struct profile_ask settings;
	const char *golden;
	bool values, all;
};

static const struct ask_row fleet_ask_rows[] = {
	{ "FILE",
	  "results, ledgers of A/B tests and captures, or folders of them; -: one line of JSON per "
	  "node from standard input",
	  ASK_TEXTS(fleet_ask, files), .argument = true, .required = true, .files = true },
	{ ASK_PART(fleet_ask, settings, profile_ask) },
	{ "golden", "result or capture of the machine to compare all others with",
	  ASK_TEXT(fleet_ask, golden), .arg = "FILE", .files = true },
	{ "values", "also compare values that pass", ASK_FLAG(fleet_ask, values) },
	{ "all", "also show differences between platforms", ASK_FLAG(fleet_ask, all) },
};

struct gather {
	struct door *d;
	struct fleet *f;
	struct profile profile; /* for captures */
	struct read_ask read;
	bool golden; /* the next one is the golden machine */
	int code;
	double begun_s;
};

static void refuse(void *ctx, const char *path, const char *why)
{
	struct gather *g = ctx;

	if (!g->golden)
		fleet_refuse(g->f, path, why);
	else if (!g->code)
		g->code = door_refuse(g->d, EXIT_USAGE, "%s: %s", path, why);
	g->read.stop = g->code != 0;
}

/* A captured machine is checked here, with an arena of its own. */
static void gather_capture(struct gather *g, const char *path)
{
	struct door one = *g->d;
	ARENA_AUTO own = { 0 };
	struct findings found;
	struct err e = { 0 };
	HOST_AUTO *h = host_open_capture(path, &e);
	struct machine *m;
	const char *text;

	if (!h) {
		refuse(g, path, e.text);
		return;
	}
	one.arena = &own;
	m = door_machine(&one, h, &(struct door_look){ 0 });
	settings_check(&own, m, &g->profile, door_read_knob, h, &found);
	text = json_take_text(&own, measured_check_json(&own, m, &g->profile, &found, NULL, 0),
			      JSON_COMPACT);
	if (text)
		read_text(&g->read, path, NULL, text, strlen(text));
	else
		refuse(g, path, "the findings are not text");
}

static void gather_machine(void *ctx, const char *machine, const char *text, size_t len)
{
	struct gather *g = ctx;

	read_text(&g->read, "history", machine, text, len);
}

/* Each machine of a history as it was when it was last seen. */
static void gather_history(struct gather *g, const char *path)
{
	struct history h;
	struct err e = { 0 };

	if (history_open_still(&h, g->d->arena, path, &e) || history_now(&h, gather_machine, g, &e))
		refuse(g, path, e.text);
	history_close(&h);
}

static bool gather_path(void *ctx, const char *path, bool folder, bool named)
{
	struct gather *g = ctx;
	struct text meta = { 0 };
	bool capture;
	double took_s = clock_mono_s() - g->begun_s;

	door_progress(g->d, g->read.at > 0 ? took_s * (1 - g->read.at) / g->read.at : -1, false,
		      "reading %s", path);
	text_printf(&meta, "%s/meta.json", path);
	capture = folder ? access(meta.s, F_OK) == 0 : str_ends(path, ".tar");
	text_free(&meta);
	if (capture)
		gather_capture(g, path);
	else if (folder && g->golden)
		refuse(g, path, "--golden takes one file or capture");
	else if (!folder && named && !g->golden && str_ends(path, ".db"))
		gather_history(g, path);
	else
		return false;
	return true;
}

static int fleet_exit(const struct fleet *f)
{
	/* Ledgers alone: nothing is compared. */
	if (!f->n)
		return f->n_proofs && !f->n_refused ? EXIT_CLEAN : EXIT_BLIND;
	if ((f->golden ? f->n_drifted : f->n_differs) || f->n_bench_outliers || f->n_states)
		return EXIT_FINDINGS;
	return f->n_refused ? EXIT_BLIND : EXIT_CLEAN;
}

static int fleet_answer(struct door *d, const struct fleet_ask *ask, struct fleet *out)
{
	struct gather g = { .d = d };
	int code = door_profile(d, &ask->settings, &g.profile);

	if (code)
		return code;
	g.f = fleet_new(d->arena, ask->values);
	g.read = fleet_reader(g.f);
	g.read.refuse = refuse;
	g.read.path = gather_path;
	g.read.owner = &g;
	if (ask->golden) {
		fleet_golden(g.f, g.golden = true);
		read_path(&g.read, ask->golden);
		fleet_golden(g.f, g.golden = false);
		g.read.texts = 0;
	}
	g.begun_s = clock_mono_s();
	for (size_t i = 0; i < ask->files.n && !g.code; i++) {
		g.read.part = 1 / (double)ask->files.n;
		g.read.at = (double)i * g.read.part;
		read_path(&g.read, ask->files.items[i]);
	}
	g.f->files = g.read.texts;
	if (!g.code)
		fleet_settle(g.f);
	fleet_free(g.f);
	*out = *g.f;
	return g.code ? g.code : fleet_exit(out);
}

static struct doc *fleet_page(struct arena *a, const struct fleet_ask *ask, const struct fleet *f,
			      const struct page_view *view)
{
	/* In HTML everything has room: it can be filtered and folded. */
	const struct fleet_view how = { .all = view->html || ask->all,
					.between = ask->all,
					.html = view->html };

	return page_fleet(a, f, &how);
}

/* A history is read by a library. */
static unsigned fleet_confine(const void *ask)
{
	const struct fleet_ask *f = ask;
	unsigned needs = 0;

	for (size_t i = 0; i < f->files.n; i++)
		needs |= str_ends(f->files.items[i], ".db") ? (unsigned)CONFINE_CODE : 0;
	return needs;
}

VERB_ANSWER(fleet_answer_any, fleet_answer, fleet_ask, fleet)
VERB_PAGE(fleet_page_any, fleet_page, fleet_ask, fleet)

/* clang-format off */
const struct verb fleet_verb = {
	.name = "fleet", .group = VERB_MANY, .summary = "compare many machines and find differences and outliers",
	.about = "Reads results of check, status, verify, stack check, defects, doctor, show, diagnose hang and "
	  "bench, and captures, of many machines. Reports groups of equal machines, their differences, "
	  "outliers, and with --golden the differences from that machine.",
	.exits = "1: a difference was found; 5: a file could not be read", .words = "outliers hosts ansible",
	.examples = EXAMPLES({ "fleet results/", "a folder with one result per machine" },
	  { "fleet results/ --golden results/node1.json", "differences from one machine" },
	  { "fleet -", "one line of JSON per node, from pdsh, clush or ansible" },
	  { "fleet history.db", "the last state of machines in a history (gputune since)" },
	  { "fleet node1.tar node2.tar --only memory", "captures, one group of settings" }),
	.ask = ASK_OF(fleet_ask, NULL, fleet_ask_rows), .answer = fleet_answer_any, .result = &fleet_result,
	.page = fleet_page_any, .reads = READS_FILES, .confine = fleet_confine,
};
/* clang-format on */
