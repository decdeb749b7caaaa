/* SPDX-License-Identifier: Apache-2.0 */
/* gputune profile: which opinions there are, what they want here, and a site's or user's own. */
#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/text.h"
#include "look/probe/probe.h"
#include "look/settings/findings.h"
#include "look/settings/site.h"
#include "machine/write/write.h"
#include "render/figure.h"
#include "tune/plan/plan.h"
#include "tune/txn/txn.h"
#include "tune/watch/policy.h"
#include "verbs/change.h"
#include "verbs/page_check.h"

#define NOTHING_WANTED "leave"
#define NAME_LETTERS "abcdefghijklmnopqrstuvwxyz0123456789-_"

struct profile_verb_ask {
	const char *name, *other, *base, *from;
	struct machine_ask machine;
};

/* What a profile wants of a setting here; with two profiles, what each wants. */
struct profile_row {
	const char *id, *target, *now, *wanted, *other, *verdict, *unit;
};

struct profile_view {
	const char *name, *purpose, *other, *path, *why;
	struct profile_row *rows;
	size_t n;
};

struct profile_answer {
	struct profile_view result;
	const struct machine *m;
	const char *tuned; /* of show: a tuned.conf */
};

static const struct shape_row profile_row_rows[] = {
	{ "setting", NULL, SHAPE_TEXT(profile_row, id), .title = "Setting" },
	{ "target", NULL, SHAPE_TEXT(profile_row, target), .title = "On" },
	{ "now", NULL, SHAPE_TEXT(profile_row, now), .unknown = SHAPE_NULL, .title = "Now" },
	{ "wanted", "Values of the profile.", SHAPE_TEXT(profile_row, wanted), .title = "Wanted" },
	{ "other", "Values of the second profile of a comparison.", SHAPE_TEXT(profile_row, other),
	  .unknown = SHAPE_NULL },
	{ "verdict", NULL, SHAPE_TEXT(profile_row, verdict), .unknown = SHAPE_NULL },
};
static const struct shape profile_row_shape = SHAPE(profile_row, profile_row);
static const struct shape_row profile_view_rows[] = {
	{ "profile", NULL, SHAPE_TEXT(profile_view, name) },
	{ "purpose", "Purpose.", SHAPE_TEXT(profile_view, purpose), .unknown = SHAPE_NULL },
	{ "other", "Second profile of a comparison.", SHAPE_TEXT(profile_view, other),
	  .unknown = SHAPE_NULL },
	{ "path", "File of the profile.", SHAPE_TEXT(profile_view, path), .unknown = SHAPE_NULL },
	{ "why", "Reason of a recommendation.", SHAPE_TEXT(profile_view, why),
	  .unknown = SHAPE_NULL },
	{ "settings", NULL, SHAPE_LIST(profile_view, rows, n, profile_row) },
};
static const struct shape profile_view_shape = SHAPE(profile_view, profile_view);

static const struct result_shape profile_result = {
	.name = "profile",
	.title = "gputune profile",
	.meaning = "Target values of a profile on a machine.",
	.shape = &profile_view_shape,
	.list = "settings",
	.exit_codes = 1u << 0 | 1u << 1 | 1u << 2 | 1u << 3 | 1u << 5,
};

/* --- show, diff, check ------------------------------------------------------------------------ */

static const char *wanted_of(const struct finding *f)
{
	return f->v.wanted ? f->v.wanted : NOTHING_WANTED;
}

static const struct finding *find_like(const struct findings *all, const struct finding *f)
{
	for (size_t i = 0; i < all->n; i++)
		if (all->items[i].s == f->s && strcmp(all->items[i].target, f->target) == 0)
			return &all->items[i];
	return NULL;
}

/* b NULL: what a wants; otherwise where the two differ. */
static void fill_rows(struct door *d, const struct findings *a, const struct findings *b,
		      struct profile_view *out)
{
	out->rows = arena_array(d->arena, a->n, sizeof(*out->rows));
	for (size_t i = 0; i < a->n; i++) {
		const struct finding *f = &a->items[i], *g = b ? find_like(b, f) : NULL;

		if (f->s->health || (!b && !f->v.wanted) ||
		    (b && (!g || strcmp(wanted_of(f), wanted_of(g)) == 0)))
			continue;
		out->rows[out->n++] = (struct profile_row){ f->s->id,
							    f->target,
							    f->v.current,
							    wanted_of(f),
							    g ? wanted_of(g) : NULL,
							    verdict_name(f->v.kind),
							    setting_unit(f->s) };
	}
}

/* --- profiles of tuned ------------------------------------------------------------------------ */

/* The parts of a tuned.conf; what it cannot set is a comment. */
enum { TO_SYSCTL, TO_SYSFS, TO_BOOT, TO_NOTHING, TUNED_PARTS };

static void tuned_line(struct arena *a, const struct machine *m, const struct finding *f,
		       const struct remediation *w, struct text *parts)
{
	const struct setting *s = f->s;
	const char *path = knob_path(a, &w->knob), *value = w->value, *name = w->knob.name, *line;
	bool bound = f->v.wanted[1] == '=' && strncmp(f->v.wanted + 3, value, strlen(value)) == 0;
	bool pair = w->knob.kind == KNOB_SYSCTL && strchr(value, '=');
	int part = w->knob.kind == KNOB_SYSCTL ? TO_SYSCTL : TO_BOOT;

	if (s->scope == SCOPE_POLICY && s->name && path && f->n_targets == m->cpu.policies.n &&
	    fnmatch(knob_make(a, s->knob, s->name, "*").name, path, 0) == 0)
		path = knob_make(a, s->knob, s->name, "*").name;
	if (w->knob.kind == KNOB_BOOTARG) {
		line = arena_printf(a, "cmdline_%s=+%s%s%s\n", name, name, *value ? "=" : "",
				    value);
	} else if (w->knob.kind == KNOB_SYSCTL) {
		line = arena_printf(a, "%s%s%.*s%s\n", pair ? "" : name, pair ? "" : "=", bound,
				    f->v.wanted, value);
	} else {
		part = path && str_starts(path, "/sys/") && s->effect == EFFECT_NOW ? TO_SYSFS
										    : TO_NOTHING;
		line = part == TO_SYSFS
			       ? arena_printf(a, "%s=%s\n", path, value)
			       : arena_printf(a, "# %s on %s: %s\n", s->id, f->target, f->v.wanted);
	}
	if (!parts[part].len || !strstr(parts[part].s, line))
		text_add(&parts[part], line);
}

/* What would be written were nothing as the profile wants it. */
static const char *profile_to_tuned(struct door *d, struct host *h, const struct machine *m,
				    const struct profile *p, const struct findings *all)
{
	static const char *const heads[] = { "\n[sysctl]", "\n[sysfs]", "\n[bootloader]",
					     "\n# Not for tuned:" };
	const struct remediation by_hand = { .value = "" };
	struct text parts[TUNED_PARTS] = { 0 };
	TEXT_AUTO out = { 0 };

	for (size_t i = 0; i < all->n; i++) {
		struct finding f = all->items[i];
		struct remediations r;

		f.v.kind = VERDICT_FAIL;
		for (size_t k = 0; f.v.wanted && !f.s->health && k < f.n_targets; k++) {
			settings_remediations(d->arena, m, p, &f, k, door_read_knob, h, &r);
			for (size_t w = 0; w < r.n || (w == 0 && !r.n); w++)
				tuned_line(d->arena, m, &f, r.n ? &r.items[w] : &by_hand, parts);
		}
	}
	text_printf(&out, "[main]\nsummary=gputune profile %s\n", p->name);
	for (size_t i = 0; i < TUNED_PARTS; i++) {
		if (parts[i].len)
			text_printf(&out, "%s\n%s", heads[i], parts[i].s);
		text_free(&parts[i]);
	}
	return arena_strdup(d->arena, out.s);
}

/* A line about one device is none that a profile can have. A limit in bytes is the same setting as
 * its ratio; up to 100 it would be read as that. */
static bool is_set_by(struct arena *a, const struct setting *s, const struct assignment *it)
{
	const char *pair = s->knob == KNOB_SYSCTL ? sysctl_partner(s->name) : NULL;

	return s->name && strcmp(it->kind, knob_kind_name(s->knob)) == 0 &&
	       (strcmp(knob_make(a, s->knob, s->name, "*").name, it->name) == 0 ||
		(pair && strcmp(pair, it->name) == 0 && strlen(it->value.v) > 3));
}

/* ">2048" is at least that, "a|b" the first that there is. */
static void want_from_tuned(struct arena *a, const struct assignment *it, struct map *wants,
			    struct text *left)
{
	const char *value = it->value.v;
	char *want = arena_printf(a, "%s%s", strchr(value, '|') ? "one of " : "", value);
	struct err e = { 0 };

	if (*value == '<' || *value == '>')
		want = arena_printf(a, "%c= %s", *value, value + 1);
	for (char *bar = want; (bar = strchr(bar, '|'));)
		*bar = ' ';
	err_set(&e, 0, "%s:%u: %s=%s: gputune has no setting for it", it->file, it->line, it->name,
		value);
	SETTING_FOR_EACH (s) {
		struct profile p = { 0 };
		struct profile_file f = { a, &p, { .path = it->file, .e = &e } };

		f.ini.line = (int)it->line;
		if (is_set_by(a, s, it) && profile_on_key(&f, s->id, "want", want)) {
			*map_at(a, wants, s->id) = want;
			return;
		}
	}
	text_printf(left, "%s\n", e.text);
}

/* Adds the wants to a profile file, and to it and the door's warnings the lines without a setting.
 */
static int profile_from_tuned(struct door *d, struct host *h, const char *what, struct text *ini)
{
	struct machine m = { 0 };
	struct probe p = { .h = h, .a = d->arena, .m = &m };
	char *path = strchr(what, '/') ? realpath(what, NULL) : NULL;
	struct map wants = { 0 };
	struct map_entry *rows;
	TEXT_AUTO left = { 0 };
	bool there = probe_tuned(&p, path ? arena_strdup(d->arena, path) : what, &left);

	free(path);
	LIST_FOR_EACH (struct assignment, it, &m.config.assignments)
		want_from_tuned(d->arena, it, &wants, &left);
	rows = map_sorted(d->arena, &wants);
	for (size_t i = 0; i < wants.n; i++)
		text_printf(ini, "[%s]\nwant = %s\n\n", rows[i].key, (const char *)rows[i].value);
	for (char *line = left.s, *end; line && (end = strchr(line, '\n')); line = end + 1) {
		*end = '\0';
		door_warn(d, "ignored: %s", line);
		text_printf(ini, "; ignored: %.170s\n", line);
	}
	return there ? 0 : door_refuse(d, EXIT_USAGE, "%s: no profile of tuned to read", what);
}

static int look(struct door *d, const struct profile_verb_ask *ask, struct profile_answer *out)
{
	const bool both = ask->other != NULL;
	const struct profile_ask one = { .profile = ask->name }, two = { .profile = ask->other };
	struct findings a = { 0 }, b = { 0 };
	struct profile p, q;
	HOST_AUTO *h = NULL;
	int code = door_profile(d, &one, &p);

	code = code ? code : both ? door_profile(d, &two, &q) : 0;
	if (code)
		return code;
	h = door_host(d, &ask->machine);
	if (!h)
		return -EXIT_USAGE;
	out->m = door_machine(d, h, &(struct door_look){ 0 });
	settings_check(d->arena, out->m, &p, door_read_knob, h, &a);
	if (both)
		settings_check(d->arena, out->m, &q, door_read_knob, h, &b);
	out->result = (struct profile_view){ .name = p.name, .other = both ? q.name : NULL };
	if (!both && strcmp(profile_name(p.base), p.name) == 0)
		out->result.purpose = profile_purpose(p.base);
	fill_rows(d, &a, both ? &b : NULL, &out->result);
	if (!both)
		out->tuned = profile_to_tuned(d, h, out->m, &p, &a);
	return both && out->result.n ? EXIT_FINDINGS : EXIT_CLEAN;
}

/* That it can be read is what loading says; a waiver that is over is worth a word. */
static int profile_check_answer(struct door *d, const struct profile_verb_ask *ask,
				struct profile_answer *out)
{
	const struct profile_ask one = { .profile = ask->name };
	HOST_AUTO *h = d->live(d->ctx);
	long long now = h->id.time_s, end;
	struct profile p;
	int code = door_profile(d, &one, &p);

	if (code)
		return code;
	out->result = (struct profile_view){ .name = p.name, .why = "the file is valid" };
	for (size_t i = 0; i < p.n_overrides; i++) {
		const struct profile_override *o = &p.overrides[i];

		if (!o->waive || !o->expires || waive_deadline(o->expires, &end) || end >= now)
			continue;
		door_warn(d, "%s: the waiver of %s expired on %s", p.name, o->s->id, o->expires);
		code = EXIT_FINDINGS;
	}
	return code;
}

static int profile_policy_answer(struct door *d, const struct profile_verb_ask *ask,
				 struct profile_answer *out)
{
	HOST_AUTO *h = door_host(d, &ask->machine);
	const char *user = ask->name ? ask->name : site_caller(d->arena);
	struct policy watch;
	struct site site;
	bool named;
	struct err e = { 0 };
	int code = h ? policy_load(h, d->arena, WATCH_CONF, &watch, &e) : -EXIT_USAGE;

	if (h && !code)
		code = site_load(h, d->arena, &site, &e);
	if (code)
		return h ? door_fail(d, EXIT_USAGE, &e) : code;
	named = strcmp(user, "root") == 0 || (site.apply.users && site_lets_user(&site, user));
	out->result = (struct profile_view){
		.name = site.has_profile ? SITE_POLICY : "default",
		.path = site.there ? SITE_POLICY : NULL,
		.why = arena_printf(
			d->arena, "%s; %s",
			site.there ? "the file is valid" : "there is no site policy",
			named ? arena_printf(d->arena, "%s may apply and undo", user)
			: site.apply.users
				? arena_printf(d->arena, "%s is not allowed to apply or undo", user)
				: "users is not set: every user who can become root may apply")
	};
	return named ? EXIT_CLEAN : EXIT_NOT_APPLIED;
}

/* --- recommend, active ------------------------------------------------------------------------ */

/* By what the machine is used for as far as it says so: a scheduler, several GPUs, one. */
static int profile_recommend_answer(struct door *d, const struct profile_verb_ask *ask,
				    struct profile_answer *out)
{
	HOST_AUTO *h = door_host(d, &ask->machine);
	size_t gpus;
	bool slurm;

	if (!h)
		return -EXIT_USAGE;
	out->m = door_machine(d, h, &(struct door_look){ 0 });
	gpus = out->m->gpu.gpus.n;
	slurm = host_exists(h, "/etc/slurm/slurm.conf") && gpus > 1;
	out->result = (struct profile_view){
		.name = slurm ? "training" : "default",
		.purpose = profile_purpose(slurm ? PROFILE_TRAINING : PROFILE_DEFAULT),
		.why = slurm ? "a Slurm node with several GPUs probably trains; for a serving node "
			       "use inference"
		       : gpus ? "the use of the machine is unknown; choose inference or training "
				"if you know it"
			      : "no GPU was found",
	};
	return EXIT_CLEAN;
}

/* Of the newest transaction that holds a change. */
static int profile_active_answer(struct door *d, const struct profile_verb_ask *ask,
				 struct profile_answer *out)
{
	HOST_AUTO *h = door_change_host(d, &ask->machine, false);
	struct hold_row *rows;
	struct journal j;
	size_t n = 0;
	int code = h ? door_journal(d, h, false, &j) : -EXIT_USAGE;

	if (code == 0) {
		txn_status(h, d->arena, &j, &rows, &n);
		out->result.name = "none";
		out->result.why = "no change of gputune is in effect";
		out->result.rows = arena_array(d->arena, n, sizeof(*out->result.rows));
	}
	for (size_t i = 0; i < n; i++) {
		const struct hold_row *r = &rows[i];

		if (r->t->profile && *r->t->profile) {
			out->result.name = r->t->profile;
			out->result.why =
				arena_printf(d->arena, "applied by transaction %lu", r->t->txn);
		}
		out->result.rows[out->result.n++] =
			(struct profile_row){ r->e->id, r->e->target, r->now, r->e->after,
					      .unit = knob_unit(&r->e->knob) };
	}
	return code;
}

/* --- new, edit -------------------------------------------------------------------------------- */

static int profile_new_answer(struct door *d, const struct profile_verb_ask *ask,
			      struct profile_answer *out)
{
	const struct profile_ask base = { .profile = ask->base ? ask->base : "default" };
	HOST_AUTO *h = d->live(d->ctx);
	const char *folder = door_config(d, h, "profiles"), *path;
	TEXT_AUTO text = { 0 };
	struct profile p = { 0 };
	struct err e = { 0 };
	int code = door_profile(d, &base, &p), r;

	if (code == 0 && (!*ask->name || ask->name[strspn(ask->name, NAME_LETTERS)]))
		code = door_refuse(d, EXIT_USAGE,
				   "%s: a name may only contain a to z, 0 to 9, - and _",
				   ask->name);
	if (code == 0 && !folder)
		code = door_refuse(d, EXIT_USAGE, "neither XDG_CONFIG_HOME nor HOME is set");
	if (code == 0 && ask->from && !str_starts(ask->from, "tuned:"))
		code = door_refuse(d, EXIT_USAGE, "--from %s: not tuned:NAME or tuned:PATH",
				   ask->from);
	text_printf(&text,
		    "; gputune profile %s; \"gputune explain ID\" says what a setting is\n"
		    "[profile]\nbase = %s\n\n",
		    ask->name, profile_name(p.base));
	if (!ask->from)
		text_add(&text, ";[memory.swappiness]\n;want = <= 10\n;\n"
				";[gpu.persistence-mode]\n;waive = by decision of the site\n"
				";expires = 2027-01-31\n");
	else if (code == 0)
		code = profile_from_tuned(d, h, ask->from + strlen("tuned:"), &text);
	if (code)
		return code;
	path = arena_printf(d->arena, "%s/%s.ini", folder, ask->name);
	r = host_exists(h, path) ? -EEXIST : door_folders(d, h, folder, 0755, &e);
	r = r ? r : host_put(h, path, text.s, text.len, 0644);
	if (r)
		return door_refuse(d, EXIT_NOT_APPLIED, "%s: %s", path,
				   *e.text ? e.text : strerror(-r));
	out->result =
		(struct profile_view){ .name = ask->name,
				       .path = path,
				       .why = "file created; \"gputune profile edit\" opens it" };
	return EXIT_CLEAN;
}

/* The user's own program ("code --wait" too), by the user's own PATH, on the user's own terminal.
 */
static int run_editor(struct door *d, const char *path)
{
	const char *editor = getenv("VISUAL") ? getenv("VISUAL") : getenv("EDITOR");
	char *text = arena_strdup(d->arena, editor && *editor ? editor : "vi"), *rest,
	     *words[18] = { NULL };
	size_t n = 0;
	int status = 0;
	pid_t pid;

	if (!isatty(STDIN_FILENO) || !isatty(STDOUT_FILENO))
		return door_refuse(d, EXIT_USAGE,
				   "not a terminal; edit %s, then \"gputune profile check\"", path);
	for (char *w = strtok_r(text, " ", &rest); w && n < 16; w = strtok_r(NULL, " ", &rest))
		words[n++] = w;
	words[n] = arena_strdup(d->arena, path);
	pid = fork();
	if (pid == 0) {
		execvp(words[0], words);
		_exit(127);
	}
	if (pid < 0 || waitpid(pid, &status, 0) < 0 || !WIFEXITED(status) || WEXITSTATUS(status))
		return door_refuse(d, EXIT_NOT_APPLIED, "%s failed; set EDITOR", words[0]);
	return 0;
}

static int profile_edit_answer(struct door *d, const struct profile_verb_ask *ask,
			       struct profile_answer *out)
{
	HOST_AUTO *h = d->live(d->ctx);
	const char *folder = door_config(d, h, "profiles"),
		   *path = strchr(ask->name, '/') || !folder
				   ? ask->name
				   : arena_printf(d->arena, "%s/%s.ini", folder, ask->name);
	int code = host_exists(h, path)
			   ? run_editor(d, path)
			   : door_refuse(d, EXIT_USAGE,
					 "%s: not found; \"gputune profile new %s\" creates it",
					 path, ask->name);

	if (code)
		return code;
	return profile_check_answer(d, &(struct profile_verb_ask){ .name = path }, out);
}

/* --- the verbs -------------------------------------------------------------------------------- */

static struct doc *page_profile(struct arena *a, const struct profile_answer *x)
{
	const struct profile_view *v = &x->result;
	struct doc *d = doc_new(a);
	struct node *t;

	doc_text(d, "%s%s%s%s%s", v->name, v->other ? " and " : "", v->other ? v->other : "",
		 v->purpose ? ": " : "", v->purpose ? v->purpose : "");
	if (v->path)
		doc_text(d, "%s", v->path);
	if (v->why)
		doc_text(d, "%s", v->why);
	if (v->other && !v->n)
		doc_text(d, "Both have the same target values on the machine.");
	if (!v->n)
		return d;
	t = v->other ? DOC_TABLE(d, NULL, "!Setting", "!On", "Now", v->name, v->other)
		     : DOC_TABLE(d, NULL, "!Setting", "!On", "Now", "Wanted");
	for (size_t i = 0; i < v->n; i++) {
		struct profile_row r = v->rows[i];

		r.now = r.now ? r.now : "unknown";
		figure_values(a, r.unit, &r.wanted, v->other ? &r.other : &r.now);
		figure_values(a, r.unit, v->other ? &r.now : &(const char *){ NULL },
			      &(const char *){ NULL });
		if (v->other)
			NODE_ROW(d, t, cell(r.id), cell(r.target), cell(r.now), cell(r.wanted),
				 cell(r.other));
		else
			NODE_ROW(d, t, cell(r.id), cell(r.target), cell(r.now), cell(r.wanted));
	}
	return d;
}

VERB_ANSWER(look_any, look, profile_verb_ask, profile_answer)
VERB_ANSWER(check_any, profile_check_answer, profile_verb_ask, profile_answer)
VERB_ANSWER(policy_any, profile_policy_answer, profile_verb_ask, profile_answer)
VERB_ANSWER(recommend_any, profile_recommend_answer, profile_verb_ask, profile_answer)
VERB_ANSWER(active_any, profile_active_answer, profile_verb_ask, profile_answer)
VERB_ANSWER(new_any, profile_new_answer, profile_verb_ask, profile_answer)
VERB_ANSWER(edit_any, profile_edit_answer, profile_verb_ask, profile_answer)
VERB_PAGE_OF(profile_page, page_profile, profile_answer)

#define NAME_ROW(member, label)                                                                    \
	{                                                                                          \
		label, "a built-in profile, one of this site or user, or an INI file",             \
			ASK_TEXT(profile_verb_ask, member), .argument = true, .required = true,    \
							    .proposal = profile_proposal,          \
							    .files = true                          \
	}

static const struct ask_row show_rows[] = { NAME_ROW(name, "NAME"),
					    { ASK_PART(profile_verb_ask, machine, machine_ask) } };
static const struct ask_row diff_rows[] = { NAME_ROW(name, "NAME"),
					    NAME_ROW(other, "OTHER"),
					    { ASK_PART(profile_verb_ask, machine, machine_ask) } };
static const struct ask_row name_rows[] = { NAME_ROW(name, "NAME") };
static const struct ask_row machine_rows[] = { { ASK_PART(profile_verb_ask, machine,
							  machine_ask) } };
static const struct ask_row policy_rows[] = {
	{ "USER", "the user to check (default: the current user)", ASK_TEXT(profile_verb_ask, name),
	  .argument = true },
	{ ASK_PART(profile_verb_ask, machine, machine_ask) },
};
static const struct ask_row new_rows[] = {
	{ "NAME", "the new profile", ASK_TEXT(profile_verb_ask, name), .argument = true,
	  .required = true },
	{ "base", "built-in profile to start from (default: default)",
	  ASK_TEXT(profile_verb_ask, base), .arg = "NAME", .proposal = profile_proposal },
	{ "from", "take what a profile of tuned sets, and list the lines without a setting",
	  ASK_TEXT(profile_verb_ask, from), .arg = "tuned:NAME|PATH" },
};

static int profile_as_tuned(FILE *out, const void *ask, const void *answer, int code)
{
	(void)ask;
	fputs(((const struct profile_answer *)answer)->tuned, out);
	return code;
}

#define PROFILE_ROWS(called, line, more, asked, function, ...)                                     \
	.name = called, .summary = line, .about = more, .examples = EXAMPLES(__VA_ARGS__),         \
	.ask = ASK_OF(profile_verb_ask, NULL, asked), .answer = function,                          \
	.result = &profile_result, .answer_size = sizeof(struct profile_answer),                   \
	.page = profile_page

static const struct verb profile_list_verb = {
	.name = "list",
	.summary = "the built-in profiles and your own",
	.about = "Lists profiles, with a line on what each is for.",
	.examples = EXAMPLES({ "profile list", "all profiles" },
			     { "profile list --format json", "for scripts" }),
	.answer = list_profiles,
	.result = &list_result,
	.page = listing_page,
};
static const struct verb show_verb = {
	PROFILE_ROWS("show", "target values of a profile on this machine",
		     "Lists each setting of the profile with its target and current value. "
		     "--format tuned prints them as a profile of tuned.",
		     show_rows, look_any, { "profile show inference", "here" },
		     { "profile show default --host demo:hgx-h100", "on a demo machine" },
		     { "profile show inference --format tuned -o tuned.conf", "for tuned" }),
	.formats = FORMATS({ "tuned", profile_as_tuned }),
};
static const struct verb diff_verb = { PROFILE_ROWS(
	"diff", "differences between two profiles on this machine",
	"Lists settings that have different target values in the two profiles.", diff_rows,
	look_any, { "profile diff default max-performance", "before you apply one" },
	{ "profile diff default published --host demo:dgx-spark", "on a demo machine" }) };
static const struct verb recommend_verb = { PROFILE_ROWS(
	"recommend", "the profile that fits this machine",
	"Names the built-in profile that fits this machine, with the reason.", machine_rows,
	recommend_any, { "profile recommend", "here" },
	{ "profile recommend --host demo:igx-orin", "for a demo machine" }) };
static const struct verb active_verb = { PROFILE_ROWS(
	"active", "the profile whose changes are in effect",
	"Names the profile of the newest applied change, and lists the changes in effect.",
	machine_rows, active_any, { "profile active", "here" },
	{ "profile active --format json", "for scripts" }) };
static const struct verb check_verb = { PROFILE_ROWS(
	"check", "check that a profile file is valid and its waivers have not expired",
	"Reads the file, and names the first error and each expired waiver.", name_rows, check_any,
	{ "profile check mine.ini", "before the profile is used" },
	{ "profile check site", "of /etc/gputune/profiles" }) };
static const struct verb policy_verb = { PROFILE_ROWS(
	"policy", "check the site's policy, and who may apply changes",
	"Reads " SITE_POLICY " and says whether a user may apply and undo. The manual "
	"gputune-profile(5) has its keys.",
	policy_rows, policy_any, { "profile policy", "for the current user" },
	{ "profile policy root", "for another user" }) };
static const struct verb edit_verb = {
	PROFILE_ROWS("edit", "open a profile in $EDITOR, then check it",
		     "Opens the file of your profile.", name_rows, edit_any,
		     { "profile edit mine", "by name" }, { "profile edit ./mine.ini", "by path" }),
	.own_process = true,
	.writes = true,
};
static const struct verb new_verb = {
	PROFILE_ROWS("new", "create your own profile",
		     "Writes an INI file: of root in /etc/gputune/profiles, of others in "
		     "~/.config/gputune/profiles.",
		     new_rows, new_any,
		     { "profile new mine --base inference", "from a built-in one" },
		     { "profile new mine", "from default" },
		     { "profile new mine --from tuned:throughput-performance", "from tuned" }),
	.writes = true,
};

static const struct verb *const profile_subs[] = {
	&profile_list_verb, &show_verb, &diff_verb,  &recommend_verb, &active_verb,
	&new_verb,	    &edit_verb, &check_verb, &policy_verb,    NULL
};

const struct verb profile_verb = {
	.name = "profile",
	.group = VERB_CHANGE,
	.summary = "show, compare, create and check profiles of target values",
	.about = "A profile has a target value for each setting. These verbs show a profile's "
		 "values on this machine, and create and check your own profiles.",
	.words = "profiles tuned preset policy",
	.examples = EXAMPLES({ "profile list", "all profiles" },
			     { "profile diff default inference", "differences on this machine" },
			     { "profile new mine", "create your own" }),
	.subs = profile_subs,
};
