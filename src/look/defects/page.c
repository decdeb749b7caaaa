/* SPDX-License-Identifier: Apache-2.0 */
/* Known defects as figures of a result, and as pages. */
#include "look/defects/page.h"

#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "base/text.h"
#include "knowledge/package.h"
#include "look/settings/findings.h"

/* clang-format off */
static const char *const state_names[] = { "here", "exposed", "mitigated", "possible" };

static const struct shape defect_proof_shape = SHAPE_OF(defect_proof, proof,
	{ "what", NULL, SHAPE_TEXT(defect_proof, text) },
	{ "from", "Where it was read.", SHAPE_TEXT(defect_proof, from), .unknown = SHAPE_NULL });

static const struct shape defect_found_shape = SHAPE_OF(defect_found, defect_found,
	{ "id", NULL, SHAPE_TEXT(defect_found, s.id) },
	{ "component", NULL, SHAPE_TEXT(defect_found, s.component) },
	{ "title", NULL, SHAPE_TEXT(defect_found, s.title) },
	{ "effect", NULL, SHAPE_TEXT(defect_found, s.effect) },
	{ "state", "exposed: the trigger is unreadable. possible: the deciding fact is unreadable.",
	  SHAPE_CHOICE(defect_found, state, state_names) },
	{ "place", "The host, a container, an environment.", SHAPE_TEXT(defect_found, place) },
	{ "proofs", NULL, SHAPE_LIST(defect_found, proofs, n_proofs, defect_proof) },
	{ "unseen", "Unreadable fact that would decide whether the defect is here.", SHAPE_TEXT(defect_found, unseen),
	  .unknown = SHAPE_NULL },
	{ "covered_by", NULL, SHAPE_TEXT(defect_found, covered), .unknown = SHAPE_NULL },
	{ "only", "Trigger.", SHAPE_TEXT(defect_found, s.only), .unknown = SHAPE_NULL },
	{ "but", "Conditions under which it may not apply.", SHAPE_TEXT(defect_found, s.but), .unknown = SHAPE_NULL },
	{ "fix", NULL, SHAPE_TEXT(defect_found, s.fix) },
	{ "command", NULL, SHAPE_TEXT(defect_found, s.command), .unknown = SHAPE_NULL },
	{ "setting", "Setting of gputune that covers the defect.",
	  SHAPE_TEXT(defect_found, s.setting), .unknown = SHAPE_NULL },
	{ "date", "Last date on which the defect was confirmed.", SHAPE_TEXT(defect_found, s.date) },
	{ "source", NULL, SHAPE_TEXT(defect_found, s.source) });

static const struct shape baseline_found_shape = SHAPE_OF(baseline_found, baseline_found,
	{ "id", NULL, SHAPE_TEXT(baseline_found, id) },
	{ "title", NULL, SHAPE_TEXT(baseline_found, title) },
	{ "verdict",
	  "torn: a part is missing. behind: newer releases exist, or support has ended. held: the maker pins it.",
	  SHAPE_CHOICE(baseline_found, verdict, baseline_verdicts) },
	{ "here", "Evidence of the release's version.", SHAPE_TEXT(baseline_found, here), .unknown = SHAPE_NULL },
	{ "why", "What is missing, outdated or unreadable; end of support.",
	  SHAPE_TEXT(baseline_found, why), .unknown = SHAPE_NULL },
	{ "support_ends", NULL, SHAPE_TEXT(baseline_found, end), .unknown = SHAPE_NULL },
	{ "date", "Last date on which the release data was confirmed.", SHAPE_TEXT(baseline_found, date) },
	{ "source", NULL, SHAPE_TEXT(baseline_found, source) });

static const struct shape defects_shape = SHAPE_OF(defects_view, defects,
	{ "rows", "Number of known defects.", SHAPE_COUNT(defects_view, rows) },
	{ "rows_from", NULL, SHAPE_TEXT(defects_view, rows_from) },
	{ "rows_date", "Date of the newest entry.", SHAPE_TEXT(defects_view, rows_date), .unknown = SHAPE_NULL },
	{ "rows_age_days", "Age of the entries in days.", SHAPE_COUNT(defects_view, rows_age_days),
	  .unknown = SHAPE_NEGATIVE },
	{ "processes", NULL, SHAPE_COUNT(defects_view, seen.processes) },
	{ "containers", NULL, SHAPE_COUNT(defects_view, seen.containers) },
	{ "images", NULL, SHAPE_COUNT(defects_view, seen.images) },
	{ "environments", NULL, SHAPE_COUNT(defects_view, seen.environments) },
	{ "packages", NULL, SHAPE_COUNT(defects_view, seen.packages) },
	{ "libraries", NULL, SHAPE_COUNT(defects_view, seen.libraries) },
	{ "left_out", "Not examined.",
	  SHAPE_TEXT_LIST(defects_view, seen.left_out, seen.n_left_out) },
	{ "orderless", "Versions that cannot be compared with the entries.",
	  SHAPE_TEXT_LIST(defects_view, orderless, n_orderless) },
	{ "releases", "Software stacks as their makers released them, and whether each is complete here.",
	  SHAPE_LIST(defects_view, baseline.items, baseline.n, baseline_found) },
	{ "defects", NULL, SHAPE_LIST(defects_view, items, n, defect_found) });

const struct result_shape defects_result = {
	.name = "defects", .title = "gputune defects check",
	.meaning = "Known defects that this machine has, and where.",
	.host = &host_shape, .shape = &defects_shape, .list = "defects",
	.exit_codes = 1u << 0 | 1u << 1 | 1u << 2 | 1u << 5,
};

static const struct shape defect_shown_shape = SHAPE_OF(defect_shown, defect_shown,
	{ "id", NULL, SHAPE_TEXT(defect_shown, id) },
	{ "component", NULL, SHAPE_TEXT(defect_shown, component) },
	{ "title", NULL, SHAPE_TEXT(defect_shown, title) },
	{ "effect", NULL, SHAPE_TEXT(defect_shown, effect) },
	{ "symptoms", NULL, SHAPE_TEXT(defect_shown, symptoms) },
	{ "signatures", "Lines of logs.", SHAPE_TEXT(defect_shown, signatures), .unknown = SHAPE_NULL },
	{ "cause", NULL, SHAPE_TEXT(defect_shown, cause) },
	{ "cause_confirmed", NULL, SHAPE_FLAG(defect_shown, cause_confirmed) },
	{ "worth", NULL, SHAPE_TEXT(defect_shown, worth) },
	{ "fix", NULL, SHAPE_TEXT(defect_shown, fix) },
	{ "command", NULL, SHAPE_TEXT(defect_shown, command), .unknown = SHAPE_NULL },
	{ "setting", NULL, SHAPE_TEXT(defect_shown, setting), .unknown = SHAPE_NULL },
	{ "only", "Trigger.", SHAPE_TEXT(defect_shown, only), .unknown = SHAPE_NULL },
	{ "but", "Conditions under which it may not apply.", SHAPE_TEXT(defect_shown, but), .unknown = SHAPE_NULL },
	{ "confirmed_by", NULL, SHAPE_TEXT(defect_shown, confirmed_by) },
	{ "date", NULL, SHAPE_TEXT(defect_shown, date) },
	{ "source", NULL, SHAPE_TEXT(defect_shown, source) },
	{ "cve", NULL, SHAPE_TEXT(defect_shown, cve), .unknown = SHAPE_NULL },
	{ "row", "The entry as its file has it, without examples.", SHAPE_JSON(defect_shown, row) });

static const struct shape defects_list_shape = SHAPE_OF(defects_listing, defects_list,
	{ "rows_from", NULL, SHAPE_TEXT(defects_listing, rows_from) },
	{ "rows_date", "Date of the newest entry.", SHAPE_TEXT(defects_listing, rows_date), .unknown = SHAPE_NULL },
	{ "rows_age_days", "Age of the entries in days.", SHAPE_COUNT(defects_listing, rows_age_days),
	  .unknown = SHAPE_NEGATIVE },
	{ "defects", NULL, SHAPE_LIST(defects_listing, items, n, defect_shown) });

const struct result_shape defects_list_result = {
	.name = "defects-list", .title = "gputune defects list",
	.meaning = "All known defects, including those that this machine does not have.",
	.shape = &defects_list_shape, .list = "defects", .exit_codes = 1u << 0 | 1u << 1 | 1u << 2,
};

static const struct shape defect_problem_shape = SHAPE_OF(defect_problem, problem,
	{ "file", NULL, SHAPE_TEXT(defect_problem, file) },
	{ "what", NULL, SHAPE_TEXT(defect_problem, what) });

static const struct shape defects_lint_shape = SHAPE_OF(defects_linted, defects_lint,
	{ "rows", "Number of valid rows.", SHAPE_COUNT(defects_linted, rows) },
	{ "problems", NULL, SHAPE_LIST(defects_linted, problems, n, defect_problem) });

const struct result_shape defects_lint_result = {
	.name = "defects-lint", .title = "gputune defects lint",
	.meaning = "Whether files of known defects are valid, tested by their own examples.",
	.shape = &defects_lint_shape, .list = "problems", .exit_codes = 1u << 0 | 1u << 1 | 1u << 2,
};
/* clang-format on */

/* --- making them ------------------------------------------------------------------------------ */

bool defect_breaks(const struct defect_found *f)
{
	return f->state == DEFECT_HERE && strcmp(f->s.effect, "security") != 0 &&
	       strcmp(f->s.effect, "noise") != 0;
}

static void view_make(struct arena *a, const struct defect_matches *found, struct defects_view *out)
{
	out->items = arena_array(a, found->n, sizeof(*out->items));
	out->n = found->n;
	for (size_t i = 0; i < found->n; i++) {
		const struct defect_match *m = &found->items[i];
		struct defect_found *f = &out->items[i];

		*f = (struct defect_found){ .place = m->place->name,
					    .state = m->state,
					    .proofs = m->proofs,
					    .n_proofs = m->n_proofs,
					    .unseen = m->unseen,
					    .covered = m->covered };
		defect_show(a, m->row, &f->s);
		out->count[m->state]++;
		out->security += m->state == DEFECT_HERE && !defect_breaks(f);
	}
	out->orderless = found->orderless;
	out->n_orderless = found->n_orderless;
}

void defect_show(struct arena *a, const json_t *row, struct defect_shown *out)
{
	const char *worth = defect_text_of(row, "worth", "says");

	*out = (struct defect_shown){
		.row = row,
		.id = defect_text(row, "id"),
		.component = defect_text(row, "component"),
		.title = defect_text(row, "title"),
		.effect = defect_text(row, "effect"),
		.symptoms = defect_list(a, row, "symptoms"),
		.signatures = defect_list(a, row, "signatures"),
		.cause = defect_text(row, "cause"),
		.cause_confirmed = json_is_true(json_object_get(row, "cause_confirmed")),
		.worth = worth ? arena_printf(a, "%s (%s)", worth,
					      defect_text_of(row, "worth", "source"))
			       : "unmeasured",
		.fix = defect_text_of(row, "fix", "says"),
		.command = defect_text_of(row, "fix", "command"),
		.setting = defect_text_of(row, "fix", "setting"),
		.only = defect_text(row, "only"),
		.but = defect_text(row, "but"),
		.confirmed_by = defect_text(row, "confirmed_by"),
		.date = defect_text(row, "date"),
		.source = defect_list(a, row, "source"),
		.cve = defect_list(a, row, "cve"),
	};
}

void defects_look(struct arena *a, const struct world_look *how, struct defects_view *out)
{
	struct defect_matches found;
	struct defect_world world;

	world_take(a, how, &world, &out->seen);
	defects_match(&world, how->rows->rows, how->rows->n, &found);
	view_make(a, &found, out);
	if (how->baseline) {
		char today[STAMP_SIZE] = "";

		(void)stamp_format((long long)time(NULL), today);
		baseline_judge(&world, how->baseline, arena_strndup(a, today, 10), &out->baseline);
	}
	out->rows = how->rows->n;
	out->rows_from = how->rows->from;
	out->rows_date = how->rows->date;
	out->rows_age_days = package_age_days(how->rows->made, (long long)time(NULL));
	world_free(&world);
}

/* --- pages ------------------------------------------------------------------------------------ */

static bool is_security(const struct defect_found *f)
{
	return strcmp(f->s.effect, "security") == 0;
}

static struct cell badge_of(const struct defect_found *f)
{
	static const char *const names[] = { NULL, "exposed", "covered", "unknown" };
	static const enum style styles[] = { STYLE_BAD, STYLE_MUTED, STYLE_GOOD, STYLE_UNKNOWN };

	if (f->state == DEFECT_HERE)
		return cell_as(is_security(f) || strcmp(f->s.effect, "noise") == 0 ? STYLE_WARN
										   : STYLE_BAD,
			       f->s.effect);
	return cell_as(styles[f->state], names[f->state]);
}

static void page_found(struct doc *d, struct node *list, const struct defect_found *f)
{
	node_found(d, list,
		   &(struct found){ .badge = badge_of(f),
				    .id = f->s.id,
				    .on = f->place,
				    .now = defect_proofs_text(d->arena, f->proofs, f->n_proofs),
				    .why = f->s.title,
				    .fix = f->s.command ? cell_as(STYLE_CODE, f->s.command)
							: cell(f->s.fix) });
	if (f->state == DEFECT_HERE && f->s.command)
		node_more(d, list, "fix", cell(f->s.fix));
	node_more(d, list, "condition", cell(f->s.only));
	node_more(d, list, "unreadable", cell(f->unseen));
	node_more(d, list, "covered by", cell(f->covered));
	node_more(d, list, "but", cell(f->s.but));
}

/* Entries of a component in range that --all shows before it counts the rest. */
enum { SHOWN_PER_COMPONENT = 5 };

/* Counts one more of the component; how many it had. */
static json_int_t count_up(json_t *counts, const char *component)
{
	json_int_t n = json_integer_value(json_object_get(counts, component));

	json_object_set_new(counts, component, json_integer(n + 1));
	return n;
}

/* How many are in range, by component, and the command that lists them. */
static void page_counts(struct doc *d, const struct defects_view *v)
{
	json_auto_t *counts = json_object();
	struct node *t = NULL;
	const char *name;
	json_t *n;

	for (size_t i = 0; i < v->n && !v->component; i++)
		if (v->items[i].state == DEFECT_EXPOSED)
			count_up(counts, v->items[i].s.component);
	json_object_foreach(counts, name, n)
	{
		const char *command =
			arena_printf(d->arena, "gputune defects check --all --component %s", name);

		if (v->all && json_integer_value(n) <= SHOWN_PER_COMPONENT)
			continue;
		if (!t)
			t = DOC_TABLE(d, "In range: only the version is known to be affected",
				      "!Component", ">Entries", "Command that lists them");
		NODE_ROW(d, t, cell(arena_strdup(d->arena, name)),
			 cell(arena_printf(d->arena, "%d", (int)json_integer_value(n))),
			 cell_as(STYLE_CODE, command));
	}
}

/* What is shown without --all: what is here and breaks something, and what covers it. */
static bool shown_first(const struct defect_found *f)
{
	return f->state == DEFECT_MITIGATED || (f->state == DEFECT_HERE && !is_security(f));
}

static void page_more(struct doc *d, const struct defects_view *v, const char *title,
		      enum defect_state state)
{
	json_auto_t *counts = json_object();
	struct node *t = NULL;

	for (size_t i = 0; i < v->n; i++) {
		const struct defect_found *f = &v->items[i];

		/* Of what is here, the rest is shown above. */
		if (f->state != state || (state == DEFECT_HERE && !is_security(f)))
			continue;
		if (count_up(counts, f->s.component) >= SHOWN_PER_COMPONENT && !v->component &&
		    state == DEFECT_EXPOSED)
			continue;
		if (!t)
			t = DOC_TABLE(d, title, "!Defect", "!~Place", "~What", "~Condition",
				      "~Unreadable", "~Fix");
		NODE_ROW(d, t, cell_as(STYLE_CODE, f->s.id), cell(f->place), cell(f->s.title),
			 cell(f->s.only), cell(f->unseen), cell(f->s.fix));
	}
	if (t)
		node_drop_empty(t);
}

static void page_baseline(struct doc *d, const struct baseline *b)
{
	static const enum style styles[] = { STYLE_BAD, STYLE_WARN, STYLE_MUTED, STYLE_UNKNOWN,
					     STYLE_GOOD };
	struct node *t;

	if (!b->n)
		return;
	t = DOC_TABLE(d, "Are the installed releases complete?", "~Release", "Verdict", "~Evidence",
		      "~Here", "Support ends", "As of");
	for (size_t i = 0; i < b->n; i++) {
		const struct baseline_found *f = &b->items[i];

		NODE_ROW(d, t, cell(f->title),
			 cell_as(styles[f->verdict], baseline_verdicts[f->verdict]), cell(f->why),
			 cell(f->here), cell(f->end), cell(f->date));
	}
	node_drop_empty(t);
}

static void page_age(struct doc *d, int days)
{
	if (days > PACKAGE_STALE_DAYS)
		doc_text(d, "These entries are %d days old: `gputune data update` renews them.",
			 days);
}

static void page_seen(struct doc *d, const struct defects_view *v)
{
	const struct world_seen *s = &v->seen;
	struct node *list;

	doc_text(d,
		 "Checked: %zu packages in %zu environments and %zu containers, %zu libraries, %zu "
		 "processes.",
		 s->packages, s->environments, s->containers, s->libraries, s->processes);
	doc_text(d, "%zu known defects, from %s; the newest is dated %s.", v->rows, v->rows_from,
		 v->rows_date ? v->rows_date : "no date");
	page_age(d, v->rows_age_days);
	if (!s->n_left_out && !v->n_orderless)
		return;
	list = doc_bullets(d);
	for (size_t i = 0; i < s->n_left_out; i++)
		node_bullet(d, list,
			    cell(arena_printf(d->arena, "Not checked: %s.", s->left_out[i])));
	for (size_t i = 0; i < v->n_orderless; i++)
		node_bullet(
			d, list,
			cell(arena_printf(d->arena,
					  "Version that cannot be compared with the entries: %s.",
					  v->orderless[i])));
}

struct doc *page_defects(struct arena *a, const struct defects_view *v)
{
	struct doc *d = doc_new(a);
	size_t broken = v->count[DEFECT_HERE] - v->security;
	struct node *list;

	doc_heading(d, 1, "Known defects");
	doc_verdict(d,
		    broken	  ? STYLE_BAD
		    : v->security ? STYLE_WARN
				  : STYLE_GOOD,
		    arena_printf(a,
				 "%zu on this machine, %zu covered, %zu in range, %zu security "
				 "bulletin%s, %zu unknown",
				 broken, v->count[DEFECT_MITIGATED], v->count[DEFECT_EXPOSED],
				 v->security, v->security == 1 ? "" : "s",
				 v->count[DEFECT_POSSIBLE]),
		    NULL);
	list = doc_findings(d, NULL);
	for (size_t i = 0; i < v->n; i++)
		if (shown_first(&v->items[i]))
			page_found(d, list, &v->items[i]);
	page_more(d, v, "Security bulletins", DEFECT_HERE);
	if (v->all) {
		page_more(d, v,
			  "In range: the version is affected, but only under the named condition",
			  DEFECT_EXPOSED);
		page_more(d, v, "Unreadable", DEFECT_POSSIBLE);
	}
	page_counts(d, v);
	page_baseline(d, &v->baseline);
	page_seen(d, v);
	if (!v->all && v->count[DEFECT_POSSIBLE])
		doc_text(d, "--all also lists unreadable defects.");
	return d;
}

static void page_one(struct doc *d, const struct defect_shown *s)
{
	struct node *p;

	doc_heading(d, 1, s->id);
	doc_text(d, "%s.", s->title);
	p = doc_pairs(d, NULL);
	node_pair(d, p, "Component", cell(s->component));
	node_pair(d, p, "Effect", cell(s->effect));
	node_pair(d, p, "Symptoms", cell(s->symptoms));
	node_pair(d, p, "Log lines", cell_as(STYLE_CODE, s->signatures));
	node_pair(d, p, s->cause_confirmed ? "Cause" : "Likely cause", cell(s->cause));
	node_pair(d, p, "Condition", cell(s->only));
	node_pair(d, p, "But", cell(s->but));
	node_pair(d, p, "Worth", cell(s->worth));
	node_pair(d, p, "Fix", cell(s->fix));
	node_pair(d, p, "Command", cell_as(STYLE_CODE, s->command));
	node_pair(d, p, "Setting", cell_as(STYLE_CODE, s->setting));
	node_pair(d, p, "Confirmed by", cell(s->confirmed_by));
	node_pair(d, p, "As of", cell(s->date));
	node_pair(d, p, "Bulletins", cell(s->cve));
	node_pair(d, p, "Sources", cell(s->source));
}

struct doc *page_defects_list(struct arena *a, const struct defects_listing *l)
{
	struct doc *d = doc_new(a);
	struct node *t;

	if (l->one && l->n == 1) {
		page_one(d, &l->items[0]);
		return d;
	}
	doc_heading(d, 1, "Known defects");
	doc_text(d, "Entries: %zu, from %s; date of the newest: %s.", l->n, l->rows_from,
		 l->rows_date ? l->rows_date : "no date");
	page_age(d, l->rows_age_days);
	t = DOC_TABLE(d, NULL, "Defect", "Component", "Effect", "~What");
	for (size_t i = 0; i < l->n; i++)
		NODE_ROW(d, t, cell_as(STYLE_CODE, l->items[i].id), cell(l->items[i].component),
			 cell(l->items[i].effect), cell(l->items[i].title));
	return d;
}

struct doc *page_defects_lint(struct arena *a, const struct defects_linted *l)
{
	struct doc *d = doc_new(a);
	struct node *t;

	doc_verdict(d, l->n ? STYLE_BAD : STYLE_GOOD,
		    arena_printf(a, "%zu entries are valid, %zu problems", l->rows, l->n), NULL);
	if (!l->n)
		return d;
	t = DOC_TABLE(d, NULL, "~File", "~Problem");
	for (size_t i = 0; i < l->n; i++)
		NODE_ROW(d, t, cell(l->problems[i].file), cell(l->problems[i].what));
	return d;
}
