/* SPDX-License-Identifier: Apache-2.0 */
/* What verbs begin with: the machine that is meant, what it is, the profile, what is kept. */
#include "verbs/door.h"

#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/preference.h"
#include "base/text.h"
#include "knowledge/knowledge.h"
#include "knowledge/package.h"
#include "look/probe/probe.h"
#include "look/settings/site.h"
#include "look/settings/settings.h"
#include "machine/knob/io.h"
#include "machine/write/write.h"
#include "measure/bench/record.h"
#include "tune/txn/txn.h"

int door_fail(struct door *d, int code, const struct err *e)
{
	d->say(d->ctx, code, e);
	return -code;
}

int door_refuse(struct door *d, int code, const char *fmt, ...)
{
	struct err e = { 0 };
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(e.text, sizeof(e.text), fmt, ap);
	va_end(ap);
	return door_fail(d, code, &e);
}

int door_exit_code(const struct door *d, int code)
{
	bool mild = code == EXIT_CLEAN || code == EXIT_FINDINGS || code == EXIT_BLIND;

	if (d->stale && mild)
		code = EXIT_BLIND;
	return d->unreadable && mild ? EXIT_STUCK : code;
}

void door_warn(struct door *d, const char *fmt, ...)
{
	struct err e = { 0 };
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(e.text, sizeof(e.text), fmt, ap);
	va_end(ap);
	d->say(d->ctx, 0, &e);
}

int door_wait(struct door *d, long long end_ms)
{
	long long left;

	if (d->wait)
		return d->wait(d->ctx, end_ms);
	while ((left = end_ms - clock_mono_ms()) > 0)
		poll(NULL, 0, left < 3600000 ? (int)left : 3600000);
	return 0;
}

void door_progress(struct door *d, double left_s, bool most, const char *fmt, ...)
{
	enum { BETWEEN_MS = 200, LEFT = 48 };
	const char *bound = most ? "at most " : "";
	long long now = clock_mono_ms();
	char line[512];
	va_list ap;
	int n;

	if (!d->progress || (left_s >= 0 && now - d->progress_ms < BETWEEN_MS))
		return;
	d->progress_ms = now;
	va_start(ap, fmt);
	n = vsnprintf(line, sizeof(line) - LEFT, fmt, ap);
	va_end(ap);
	n = n < (int)sizeof(line) - LEFT ? n : (int)sizeof(line) - LEFT - 1;
	if (left_s >= 90)
		snprintf(line + n, LEFT, ", %s%.0f min left", bound, left_s / 60);
	else if (left_s >= 0)
		snprintf(line + n, LEFT, ", %s%.0f s left", bound, left_s);
	d->progress(d->ctx, line);
}

void door_note(struct door *d, const char *fmt, ...)
{
	char line[512];
	va_list ap;

	if (!d->note)
		return;
	va_start(ap, fmt);
	vsnprintf(line, sizeof(line), fmt, ap);
	va_end(ap);
	d->note(d->ctx, line);
}

/* --- which machine ---------------------------------------------------------------------------- */

/* demo:NAME; anything else is a path. */
static const char *host_meant(const char *word)
{
	return str_starts(word, "demo:") ? word : NULL;
}

static const struct ask_row machine_ask_rows[] = {
	{ "host",
	  "use a captured machine (folder or tar), or a posted bug report, instead of this machine",
	  ASK_TEXT(machine_ask, capture), .letter = 'H', .arg = "CAPTURE", .files = true,
	  .meant = host_meant },
	{ "overlay", "with --host: write changes to this folder instead of the capture",
	  ASK_TEXT(machine_ask, overlay), .arg = "DIR", .files = true },
};
const struct ask_shape machine_ask_shape = ASK_SHAPE(machine_ask, "Machine", machine_ask_rows);

const char *demo_overlay(struct arena *a, const struct machine_ask *from)
{
	const char *state = getenv("XDG_STATE_HOME");
	const bool set = state && *state == '/';
	const char *top = set ? state : getenv("HOME");
	char room[HOST_DEMO_MAX];
	struct err ignored = { 0 };

	/* None that is there has a name that leads elsewhere. */
	if (from->overlay || !from->capture || !str_starts(from->capture, "demo:") ||
	    !host_demo_file(from->capture, room, &ignored) || !top || *top != '/')
		return from->overlay;
	return arena_printf(a, "%s%s/gputune/demo/%s", top, set ? "" : "/.local/state",
			    from->capture + 5);
}

const char *door_overlay(struct arena *a, const struct machine_ask *from)
{
	const char *path = demo_overlay(a, from);

	return path && (path == from->overlay || access(path, F_OK) == 0) ? path : NULL;
}

struct host *door_host(struct door *d, const struct machine_ask *from)
{
	const char *overlay = door_overlay(d->arena, from), *capture;
	struct err e = { 0 };
	struct host *h;

	if (!from->capture && !from->overlay)
		return d->live(d->ctx);
	if (!from->capture) {
		door_refuse(d, EXIT_USAGE, "--overlay requires --host CAPTURE");
		return NULL;
	}
	capture = door_saved(d, from->capture);
	h = overlay ? host_open_overlay(capture, overlay, &e) : host_open_capture(capture, &e);
	if (!h) {
		if (!e.hint[0] && access(capture, F_OK) != 0)
			err_hint(&e, "\"gputune demo\" lists machines to try");
		door_fail(d, EXIT_USAGE, &e);
		return NULL;
	}
	h->id.reading =
		arena_printf(d->arena, " --host %s%s%s", shell_word(d->arena, from->capture),
			     from->overlay ? " --overlay " : "",
			     from->overlay ? shell_word(d->arena, from->overlay) : "");
	/* A capture without an overlay is read-only: its changes are made on the machine itself. */
	h->id.options = from->overlay || str_starts(from->capture, "demo:") ? h->id.reading : NULL;
	return h;
}

bool door_report_open(struct door *d, struct host *h, const struct journal *j)
{
	const struct machine at = { .options = h->id.options, .reading = h->id.reading };
	const char *holder = NULL, *undo = machine_quoted(d->arena, &at, "undo");
	bool open = false;

	for (size_t i = 0; i < j->n; i++) {
		const struct transaction *t = &j->items[i];

		if (t->state != TRANSACTION_OPEN || !transaction_holds(t))
			continue;
		holder = holder ? holder : txn_holder(h, d->arena);
		if (holder)
			door_warn(d, "%s is running; its changes are undone when it ends", holder);
		else if (strcmp(t->op, TXN_PROVE) == 0)
			door_warn(d,
				  "an A/B test was interrupted and its changes are still in effect "
				  "(transaction %lu): %s undoes them",
				  t->txn, undo);
		else
			door_warn(d, "transaction %lu was interrupted: %s undoes it", t->txn, undo);
		open = open || !holder;
	}
	return open;
}

struct machine *door_machine(struct door *d, struct host *h, const struct door_look *how)
{
	struct machine *m = ARENA_NEW(d->arena, struct machine);
	struct journal j;
	/* A capture answers everything at once. */
	struct probe p = { .h = h,
			   .a = d->arena,
			   .m = m,
			   .deep = how->deep || h->id.captured,
			   .lean = how->lean,
			   .config = how->config,
			   .session = how->session };

	probe_machine(&p);
	m->options = h->id.options;
	m->reading = h->id.reading;
	if (our_clock_locks(h, d->arena, m, &j) && how->open)
		door_report_open(d, h, &j);
	return m;
}

/* --- which settings --------------------------------------------------------------------------- */

const char *setting_proposal(size_t i)
{
	SETTING_FOR_EACH (s)
		if (i-- == 0)
			return s->id;
	return NULL;
}

const char *setting_or_group_proposal(size_t i)
{
	size_t groups = 0;

	while (groups <= i && setting_group(groups))
		groups++;
	return i < groups ? setting_group(i) : setting_proposal(i - groups);
}

const char *profile_proposal(size_t i)
{
	return i < PROFILES ? profile_name((enum profile_id)i) : NULL;
}

/* From a script whose variable is not set: to take it for "all" would change or undo something
 * else. */
static int only_check(const char *arg, struct err *e)
{
	if (arg[strspn(arg, ", \t")])
		return 0;
	return err_set(e, -EINVAL, "no ids in \"%s\"", arg);
}

/* clang-format off */
#define ONLY_ROW(type)                                                                             \
	{ "only", "only these settings: ids or prefixes, comma-separated", ASK_TEXT(type, only),   \
	  .arg = "IDS", .join = ',', .proposal = setting_or_group_proposal, .check = only_check,   \
	  .may_be_empty = true }
#define SKIP_ROW(type)                                                                             \
	{ "skip", "all settings except these", ASK_TEXT(type, skip), .arg = "IDS", .join = ',',       \
	  .proposal = setting_proposal, .may_be_empty = true }
/* clang-format on */

static const struct ask_row profile_ask_rows[] = {
	{ PROFILE_ROW(profile_ask) },
	ONLY_ROW(profile_ask),
	SKIP_ROW(profile_ask),
};
const struct ask_shape profile_ask_shape = ASK_SHAPE(profile_ask, "Settings", profile_ask_rows);

static const struct ask_row only_ask_rows[] = { ONLY_ROW(only_ask) };
const struct ask_shape only_ask_shape = ASK_SHAPE(only_ask, "Settings", only_ask_rows);

static const struct ask_row narrow_ask_rows[] = { ONLY_ROW(narrow_ask), SKIP_ROW(narrow_ask) };
const struct ask_shape narrow_ask_shape = ASK_SHAPE(narrow_ask, "Settings", narrow_ask_rows);

int door_narrow(struct door *d, const char *only, const char *skip, struct profile *p)
{
	struct err e = { 0 };

	if ((only && profile_narrow(d->arena, p, only, false, &e)) ||
	    (skip && profile_narrow(d->arena, p, skip, true, &e)) ||
	    profile_check_some(d->arena, p, &e))
		return door_fail(d, EXIT_USAGE, &e);
	return 0;
}

/* Waivers that hold for every profile, but of settings of which the profile itself says something.
 */
static void add_waivers(struct arena *a, struct profile *p, const struct profile *from)
{
	for (size_t i = 0; i < from->n_overrides; i++) {
		if (!from->overrides[i].waive || profile_override_of(p, from->overrides[i].s))
			continue;
		ARENA_ADD(a, p->overrides, p->n_overrides) = from->overrides[i];
	}
}

/* By name, by preference, of the site's policy, or the default one; then waivers. */
static int load_profile(struct door *d, const char *name, struct profile *p, struct err *e)
{
	const char *path = NULL;
	struct profile own = { 0 };
	struct site site;
	HOST_AUTO *h = d->live(d->ctx);
	int r = site_load(h, d->arena, &site, e);

	r = r || name ? r : preference_get(d->arena, "profile", &name, e);
	if (!r && site.has_profile && (!name || strcmp(name, SITE_POLICY) == 0))
		*p = site.profile;
	else
		r = r ? r : profile_load(d->arena, name ? name : "default", p, e);
	r = r ? r : preference_get(d->arena, "waivers", &path, e);
	if (!r && path)
		r = profile_load(d->arena, path, &own, e);
	if (!r) {
		add_waivers(d->arena, p, &own);
		add_waivers(d->arena, p, &site.profile);
	}
	return r;
}

int door_profile(struct door *d, const struct profile_ask *ask, struct profile *p)
{
	struct err e = { 0 };

	if (load_profile(d, ask->profile, p, &e))
		return door_fail(d, EXIT_USAGE, &e);
	return door_narrow(d, ask->only, ask->skip, p);
}

int door_verdicts_code(const size_t count[])
{
	if (count[VERDICT_FAIL])
		return EXIT_FINDINGS;
	return count[VERDICT_UNKNOWN] ? EXIT_BLIND : EXIT_CLEAN;
}

struct fact_str door_read_knob(void *ctx, struct arena *a, const struct knob *k)
{
	return knob_read(ctx, a, k);
}

/* --- data files, ledger, journal -------------------------------------------------------------- */

static const struct ask_row state_ask_rows[] = {
	{ "state",
	  "folder of saved results (default: " BENCH_STATE " of root, ~/.local/state/gputune of "
	  "other users)",
	  ASK_TEXT(state_ask, state), .arg = "DIR", .files = true },
};
const struct ask_shape state_ask_shape = ASK_SHAPE(state_ask, NULL, state_ask_rows);

const char *door_state(struct door *d, const struct state_ask *ask)
{
	char here[PATH_MAX];
	const char *own = NULL;

	if (!ask->state && geteuid() != 0) {
		HOST_AUTO *h = d->live(d->ctx);

		own = knowledge_home(d->arena, h, "XDG_STATE_HOME", "/.local/state", "gputune");
	}
	if (!ask->state)
		return own ? own : BENCH_STATE;
	if (ask->state[0] == '/' || !getcwd(here, sizeof(here)))
		return ask->state;
	return arena_printf(d->arena, "%s/%s", here, ask->state);
}

struct store_where door_where(struct door *d, const struct state_ask *ask)
{
	struct store_where w = { .state = door_state(d, ask) };

	if (!ask->state && strcmp(w.state, BENCH_STATE) != 0)
		w.beside = BENCH_STATE;
	return w;
}

const char *door_config(struct door *d, struct host *h, const char *below)
{
	below = arena_printf(d->arena, "gputune/%s", below);
	return geteuid() == 0 ? arena_printf(d->arena, "/etc/%s", below)
			      : knowledge_home(d->arena, h, "XDG_CONFIG_HOME", "/.config", below);
}

int door_folders(struct door *d, struct host *h, const char *folder, unsigned mode, struct err *e)
{
	struct host_stat st;
	int r = 0;

	for (const char *end = folder; *end && r == 0;) {
		const char *at;

		end += 1 + strcspn(end + 1, "/");
		at = arena_strndup(d->arena, folder, (size_t)(end - folder));
		r = host_make_dir(h, at, mode);
		if (r == 0 || r == -EEXIST) /* of a link, where it leads */
			r = host_stat(h, arena_printf(d->arena, "%s/.", at), &st);
		if (r)
			err_set(e, r, "cannot create %s: %s", at, strerror(-r));
		else if (st.uid != 0 && st.uid != h->id.euid)
			r = err_set(e, -EACCES, "%s: belongs to user %lld", at, st.uid);
	}
	return r;
}

/* A user's own (NULL: no home): folders above it that are missing are made; what is a link or
 * another user's is not written to, and so nothing below another user's HOME that sudo has kept. */
static int own_state(struct door *d, struct host *h, const char *state, struct err *e)
{
	struct host_stat st;
	int r;

	if (!state)
		return err_set(e, -EACCES, "neither XDG_STATE_HOME nor HOME is an absolute path");
	r = door_folders(d, h,
			 arena_strndup(d->arena, state, (size_t)(strrchr(state, '/') - state)),
			 0700, e);
	if (r || host_stat(h, state, &st))
		return r;
	if (st.kind != HOST_DIR)
		return err_set(e, -ENOTDIR, "%s: not a folder", state);
	return st.uid == h->id.euid
		       ? 0
		       : err_set(e, -EACCES, "%s: belongs to user %lld", state, st.uid);
}

int door_demo_ready(struct door *d, const struct machine_ask *from)
{
	const char *path = demo_overlay(d->arena, from);
	HOST_AUTO *live = d->live(d->ctx);
	struct err e = { 0 };
	/* The folder of all that is kept, then the demo's. */
	size_t n = path ? strlen(path) - strlen(from->capture) - 1 : 0;
	int r = own_state(d, live, path ? arena_strndup(d->arena, path, n) : NULL, &e);

	r = r ? r : own_state(d, live, path, &e);
	r = r ? r : host_own_dir(live, path);
	if (r && !*e.text)
		err_set(&e, r, "cannot create %s: %s", path, strerror(-r));
	if (r)
		err_hint(&e, strchr(from->capture, '/')
				     ? "set XDG_STATE_HOME to keep the changes elsewhere"
				     : "--overlay DIR keeps the changes elsewhere");
	return r ? door_fail(d, EXIT_USAGE, &e) : 0;
}

int door_state_ready(struct door *d, struct host *h, const struct state_ask *ask, struct err *e)
{
	struct store_where w = door_where(d, ask);
	int r = ask->state || (!w.beside && h->id.euid == 0)
			? 0
			: own_state(d, h, w.beside ? w.state : NULL, e);

	if (r)
		err_hint(e, "--state DIR saves results in another folder, --json FILE in a file");
	return r;
}

const char *door_save_path(struct door *d, const char *folder, const char *end, struct err *e)
{
	const struct state_ask usual = { 0 };
	const char *state = door_state(d, &usual),
		   *at = arena_printf(d->arena, "%s/%s", state, folder), *path;
	HOST_AUTO *live = d->live(d->ctx);
	int r = door_state_ready(d, live, &usual, e);
	time_t now = time(NULL);
	char when[32] = "";
	struct tm tm;

	r = r ? r : store_folder(live, state, e);
	r = r ? r : store_folder(live, at, e);
	if (r) {
		err_hint(e, "-o FILE saves it elsewhere");
		return NULL;
	}
	if (localtime_r(&now, &tm))
		strftime(when, sizeof(when), "%Y%m%d-%H%M%S", &tm);
	path = arena_printf(d->arena, "%s/gputune-%s%s", at, when, end);
	for (unsigned i = 2; access(path, F_OK) == 0; i++)
		path = arena_printf(d->arena, "%s/gputune-%s-%u%s", at, when, i, end);
	return path;
}

const char *door_saved(struct door *d, const char *name)
{
	static const char *const folders[] = { SAVED_CAPTURES, SAVED_RECORDINGS };
	const struct store_where w = door_where(d, &(struct state_ask){ 0 });

	for (size_t i = 0; i < 4 && !strchr(name, '/') && access(name, F_OK); i++) {
		const char *place = i < 2      ? w.state
				    : w.beside ? w.beside
					       : "",
			   *path = arena_printf(d->arena, "%s/%s/%s", place, folders[i % 2], name);

		if (access(path, F_OK) == 0)
			return path;
	}
	return name;
}

static void warn_of_rows(void *ctx, const struct err *e)
{
	struct door *d = ctx;

	d->say(d->ctx, 0, e);
}

const struct knowledge *door_knowledge(struct door *d, bool captured)
{
	struct knowledge *k;
	HOST_AUTO *h = NULL;

	if (d->known)
		return d->known;
	k = ARENA_NEW(d->arena, struct knowledge);
	h = d->live(d->ctx);
	knowledge_read(d->arena, h, captured, warn_of_rows, d, k);
	d->known = k;
	return k;
}

const struct ledger *door_ledger(struct door *d, struct host *h, const struct machine *m)
{
	struct ledger *l = ARENA_NEW(d->arena, struct ledger);

	ledger_load(d->arena, h, m, NULL, l);
	for (size_t i = 0; i < l->n_bad && i < LEDGER_BAD_MAX; i++)
		door_warn(d, "%s:%zu: skipped: %s", l->file, l->bad[i].line, l->bad[i].why);
	if (l->n_bad > LEDGER_BAD_MAX)
		door_warn(d, "%s: skipped %zu more lines", l->file, l->n_bad - LEDGER_BAD_MAX);
	return l;
}
