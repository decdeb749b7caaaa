/* SPDX-License-Identifier: Apache-2.0 */
/* gputune data: which rows are used, how old they are, and newer ones from a signed package. */
#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/text.h"
#include "knowledge/package.h"
#include "knowledge/signature.h"
#include "look/defects/baseline.h"
#include "machine/host/command.h"
#include "machine/write/write.h"
#include "render/doc.h"
#include "verbs/defect_rows.h"
#include "verbs/model_files.h"

/* --- answers ---------------------------------------------------------------------------------- */

struct data_state {
	const char *path, *date;
	long long serial;
	int age_days;
	size_t files, defects;
};

struct data_view {
	const char *done; /* what was done; NULL: nothing */
	const char *key;  /* that the package is signed by; NULL: not looked at */
	struct data_state used, previous;
	const char *build_date;
	int rows_age_days;
	bool stale, key_built_in;
};

/* clang-format off */
static const struct shape data_state_shape = SHAPE_OF(data_state, state,
	{ "path", NULL, SHAPE_TEXT(data_state, path), .unknown = SHAPE_NULL },
	{ "date", NULL, SHAPE_TEXT(data_state, date), .unknown = SHAPE_NULL },
	{ "serial", NULL, SHAPE_COUNT(data_state, serial), .unknown = SHAPE_ZERO },
	{ "age_days", NULL, SHAPE_COUNT(data_state, age_days), .unknown = SHAPE_NEGATIVE },
	{ "files", NULL, SHAPE_COUNT(data_state, files) },
	{ "defects", "Rows of known defects.", SHAPE_COUNT(data_state, defects) });

static const struct shape data_shape = SHAPE_OF(data_view, data,
	{ "done", NULL, SHAPE_TEXT(data_view, done), .unknown = SHAPE_NULL },
	{ "key", "Key that signed the package.", SHAPE_TEXT(data_view, key), .unknown = SHAPE_NULL },
	{ "used", "Data package in use; without a path, no package is used.",
	  SHAPE_OBJECT(data_view, used, data_state) },
	{ "previous", NULL, SHAPE_OBJECT(data_view, previous, data_state) },
	{ "build_date", "Date of the newest entry of this build.", SHAPE_TEXT(data_view, build_date) },
	{ "rows_age_days", "Days since the data in use was collected.", SHAPE_COUNT(data_view, rows_age_days),
	  .unknown = SHAPE_NEGATIVE },
	{ "stale", NULL, SHAPE_FLAG(data_view, stale) },
	{ "key_built_in", "true: this build contains a trusted key.", SHAPE_FLAG(data_view, key_built_in) });

static const struct result_shape data_result = {
	.name = "data", .title = "gputune data",
	.meaning = "Data package in use, and its age.",
	.shape = &data_shape, .exit_codes = 1u << 0 | 1u << 1 | 1u << 2 | 1u << 3,
};
/* clang-format on */

static void state_of(struct arena *a, const struct data_package *p, struct data_state *out)
{
	struct defect_rows rows = { 0 };
	struct err e;

	*out = (struct data_state){ .age_days = -1 };
	if (!p->all)
		return;
	(void)defect_rows_of_package(a, p, false, &rows, &e);
	out->path = p->path;
	out->date = arena_strdup(a, p->date);
	out->serial = p->serial;
	out->age_days = package_age_days(p->date, (long long)time(NULL));
	out->files = json_object_size(p->files);
	out->defects = rows.n;
}

/* The folder of who asks: root's packages are the machine's. */
static const char *folder_of(struct door *d, struct host *h)
{
	return geteuid() == 0 ? PACKAGE_MACHINE : package_folder(d->arena, h);
}

static int state_take(struct door *d, struct host *h, struct data_view *out)
{
	const char *folder = folder_of(d, h);
	struct data_package p;
	struct err e = { 0 };

	out->build_date = package_floor;
	out->key_built_in = *package_key;
	(void)package_read(d->arena, h, &p, &e);
	if (*e.text)
		door_warn(d, "not used: %s", e.text);
	state_of(d->arena, &p, &out->used);
	out->rows_age_days =
		p.all ? out->used.age_days : package_age_days(package_floor, (long long)time(NULL));
	out->stale = out->rows_age_days > PACKAGE_STALE_DAYS;
	package_close(&p);
	if (folder)
		(void)package_stored(d->arena, h,
				     arena_printf(d->arena, "%s/" PACKAGE_PREVIOUS, folder), &p,
				     &e);
	state_of(d->arena, &p, &out->previous);
	package_close(&p);
	return out->stale ? EXIT_FINDINGS : EXIT_CLEAN;
}

/* --- update ----------------------------------------------------------------------------------- */

struct data_update_ask {
	const char *source, *key;
	bool force;
};

static const struct ask_row data_update_ask_rows[] = {
	{ "SOURCE", "package file, its https address, or a folder with gputune-data.json",
	  ASK_TEXT(data_update_ask, source), .argument = true, .required = true, .files = true },
	{ "key", "another public key of minisign or signify that you trust",
	  ASK_TEXT(data_update_ask, key), .arg = "FILE", .files = true },
	{ "force", "also accept an older package, or one with a future date",
	  ASK_FLAG(data_update_ask, force) },
};

struct fetched {
	const char *name; /* for sentences */
	const char *text, *signature;
	size_t len;
};

static int fetch_one(struct door *d, const char *url, size_t max, const char **out, size_t *len)
{
	char size[24];
	char *argv[] = { "curl",
			 "--silent",
			 "--show-error",
			 "--fail",
			 "--location",
			 "--proto",
			 "=https",
			 "--tlsv1.2",
			 "--max-time",
			 "120",
			 "--max-filesize",
			 size,
			 "--",
			 arena_strdup(d->arena, url),
			 NULL };
	struct command_of_user how = { .limit_ms = 130000, .max = max };
	struct command_result r;
	int code;

	snprintf(size, sizeof(size), "%zu", max);
	code = command_run_own(d->arena, argv, &how, &r);
	if (code == -ENOENT)
		return door_refuse(d, EXIT_USAGE,
				   "curl is not installed: download %s and its .minisig yourself, "
				   "then give the file",
				   url);
	if (code || r.status)
		return door_refuse(d, EXIT_USAGE, "%s: %s", url,
				   code ? strerror(-code)
					: command_last_line(d->arena, r.errors, 200));
	*out = r.output;
	*len = strlen(r.output);
	return 0;
}

static int fetch_files(struct door *d, const char *path, struct fetched *out)
{
	static const char *const ends[] = { ".minisig", ".sig" };
	struct stat s;
	size_t n;

	path = str_starts(path, "file://") ? path + strlen("file://") : path;
	if (stat(path, &s) == 0 && S_ISDIR(s.st_mode))
		path = arena_printf(d->arena, "%s/gputune-data.json", path);
	out->name = path;
	out->text = door_file(d, path, PACKAGE_BYTES_MAX, &out->len, NULL);
	if (!out->text)
		return -EXIT_USAGE;
	for (size_t i = 0; i < 2 && !out->signature; i++) {
		const char *beside = arena_printf(d->arena, "%s%s", path, ends[i]);

		if (access(beside, F_OK) == 0 || i)
			out->signature = door_file(d, beside, SIGNATURE_BYTES_MAX, &n, NULL);
	}
	return out->signature ? 0 : -EXIT_USAGE;
}

static int fetch(struct door *d, const char *source, struct fetched *out)
{
	size_t n;
	int code;

	if (str_starts(source, "http:") || str_starts(source, "ftp:"))
		return door_refuse(d, EXIT_USAGE, "%s: only https, files and folders are supported",
				   source);
	if (!str_starts(source, "https:"))
		return fetch_files(d, source, out);
	out->name = source;
	code = fetch_one(d, source, PACKAGE_BYTES_MAX, &out->text, &out->len);
	return code ? code
		    : fetch_one(d, arena_printf(d->arena, "%s.minisig", source),
				SIGNATURE_BYTES_MAX, &out->signature, &n);
}

/* By the key that was named, or else by the build's. */
static int trusted(struct door *d, const struct data_update_ask *ask, const struct fetched *f,
		   struct signature *out)
{
	const char *key = package_key;
	struct err e = { 0 };
	size_t n;

	if (ask->key)
		key = door_file(d, ask->key, SIGNATURE_BYTES_MAX, &n, NULL);
	if (!key)
		return -EXIT_USAGE;
	if (!*key)
		return door_refuse(d, EXIT_USAGE,
				   "this build trusts no key: give the public key with --key FILE");
	if (signature_check(d->arena, f->text, f->len, f->signature, key, out, &e))
		return door_refuse(d, EXIT_NOT_APPLIED, "%s: %s", f->name,
				   arena_strdup(d->arena, e.text));
	return 0;
}

/* Nothing that is older, nor what another package of the same number says. */
static const char *step_back(struct arena *a, const struct data_package *p,
			     const struct data_package *now)
{
	long long clock = (long long)time(NULL);
	char today[STAMP_SIZE];

	if (stamp_format(clock + 86400, today) == 0 && strncmp(p->date, today, 10) > 0)
		return arena_printf(a, "the package's date %s is in the future", p->date);
	if (now->all && p->serial < now->serial)
		return arena_printf(a, "serial %lld is older than the installed %lld", p->serial,
				    now->serial);
	if (now->all && p->serial == now->serial)
		return arena_printf(a, "serial %lld is installed with other content", p->serial);
	if (now->all && strcmp(p->date, now->date) < 0)
		return arena_printf(a, "the package's date %s is older than the installed %s",
				    p->date, now->date);
	return NULL;
}

static int package_judge(struct door *d, const struct fetched *f, const struct signature *sig,
			 struct data_package *p)
{
	struct arena *a = d->arena;
	struct defect_rows rows;
	struct err e = { 0 };
	const char *comment;

	if (package_open(a, f->text, f->len, p, &e))
		return door_refuse(d, EXIT_NOT_APPLIED, "%s is not used: %s", f->name,
				   arena_strdup(a, e.text));
	comment = arena_printf(a, "gputune-data %lld %s", p->serial, p->date);
	if (sig->comment && strcmp(sig->comment, comment) != 0)
		return door_refuse(d, EXIT_NOT_APPLIED,
				   "%s is not used: its trusted comment is not \"%s\"", f->name,
				   comment);
	if (defect_rows_of_package(a, p, true, &rows, &e) ||
	    (rows.baseline && baseline_check(a, rows.baseline, &e)))
		return door_refuse(d, EXIT_NOT_APPLIED, "%s is not used: %s", f->name,
				   arena_strdup(a, e.text));
	if (strcmp(p->date, package_floor) < 0)
		return door_refuse(d, EXIT_NOT_APPLIED,
				   "%s is not used: dated %s, before this build's data of %s",
				   f->name, p->date, package_floor);
	return 0;
}

static int put(struct door *d, struct host *h, const char *path, const struct data_package *p)
{
	const char *all = arena_printf(d->arena, "%s%s", p->signature, p->text);

	return host_put(h, path, all, strlen(all), 0644);
}

/* Both files are whole at any time; the one that is used changes last. */
static int keep(struct door *d, struct host *h, const char *folder, const struct data_package *now,
		const struct data_package *next)
{
	struct arena *a = d->arena;
	struct err e = { 0 };
	int code = door_folders(d, h, folder, 0755, &e);

	code = code ? code : host_lock(h, arena_printf(a, "%s/lock", folder));
	if (!code && now->all)
		code = put(d, h, arena_printf(a, "%s/" PACKAGE_PREVIOUS, folder), now);
	code = code ? code : put(d, h, arena_printf(a, "%s/" PACKAGE_NAME, folder), next);
	if (code)
		return door_refuse(d, EXIT_NOT_APPLIED, "cannot write %s: %s", folder,
				   code == -EWOULDBLOCK	   ? "another update is running"
				   : *e.text		   ? e.text
				   : code == HOST_NOT_OURS ? "other users can write to it"
							   : strerror(-code));
	return 0;
}

static int update(struct door *d, struct host *h, const struct data_update_ask *ask,
		  struct data_view *out)
{
	struct arena *a = d->arena;
	const char *folder = folder_of(d, h), *older;
	struct data_package next = { 0 }, now = { 0 };
	struct signature sig = { 0 };
	struct fetched f = { 0 };
	struct err e = { 0 };
	int code = folder ? 0 : door_refuse(d, EXIT_USAGE, "neither XDG_DATA_HOME nor HOME is set");

	code = code ? code : fetch(d, ask->source, &f);
	code = code ? code : trusted(d, ask, &f, &sig);
	code = code ? code : package_judge(d, &f, &sig, &next);
	if (code)
		goto end;
	out->key = sig.key;
	(void)package_stored(a, h, arena_printf(a, "%s/" PACKAGE_NAME, folder), &now, &e);
	if (now.all && now.len == next.len && memcmp(now.text, next.text, next.len) == 0) {
		out->done = "already installed";
		goto end;
	}
	older = step_back(a, &next, &now);
	if (older && !ask->force) {
		code = door_refuse(d, EXIT_NOT_APPLIED,
				   "%s is not used: %s; --force uses it anyway", f.name, older);
		goto end;
	}
	next.signature =
		str_ends(f.signature, "\n") ? f.signature : arena_printf(a, "%s\n", f.signature);
	code = keep(d, h, folder, &now, &next);
	out->done = "installed";
end:
	package_close(&next);
	package_close(&now);
	return code;
}

static int back(struct door *d, struct host *h, struct data_view *out)
{
	struct arena *a = d->arena;
	const char *folder = folder_of(d, h);
	struct data_package now = { 0 }, last = { 0 };
	struct err e = { 0 };
	int code;

	if (!folder ||
	    package_stored(a, h, arena_printf(a, "%s/" PACKAGE_PREVIOUS, folder), &last, &e))
		return door_refuse(d, EXIT_NOT_APPLIED, "no previous package is kept%s%s",
				   *e.text ? ": " : "", e.text);
	(void)package_stored(a, h, arena_printf(a, "%s/" PACKAGE_NAME, folder), &now, &e);
	code = keep(d, h, folder, &now, &last);
	out->done = "is older than the previous one";
	package_close(&last);
	package_close(&now);
	return code;
}

/* --- the verbs -------------------------------------------------------------------------------- */

static int data_status_answer(struct door *d, const void *ask, struct data_view *out)
{
	HOST_AUTO *h = d->live(d->ctx);
	int code = state_take(d, h, out);

	(void)ask;
	return code;
}

static int data_update_answer(struct door *d, const struct data_update_ask *ask,
			      struct data_view *out)
{
	HOST_AUTO *h = d->live(d->ctx);
	int code = update(d, h, ask, out);

	if (!code)
		(void)state_take(d, h, out);
	return code;
}

static int data_back_answer(struct door *d, const void *ask, struct data_view *out)
{
	HOST_AUTO *h = d->live(d->ctx);
	int code = back(d, h, out);

	(void)ask;
	if (!code)
		(void)state_take(d, h, out);
	return code;
}

static void page_state(struct doc *d, const char *title, const struct data_state *s)
{
	struct node *p;

	if (!s->path)
		return;
	p = doc_pairs(d, title);
	node_pairf(d, p, "Serial", "%lld of %s, %d days old", s->serial, s->date, s->age_days);
	node_pairf(d, p, "Content", "%zu files, %zu known defects", s->files, s->defects);
	node_pair(d, p, "Path", cell(s->path));
}

static struct doc *page_data(struct arena *a, const struct data_view *v)
{
	struct doc *d = doc_new(a);

	doc_heading(d, 1, "Data");
	doc_verdict(d, v->stale ? STYLE_WARN : STYLE_GOOD,
		    arena_printf(a, "%s%srows are %d days old%s", v->done ? v->done : "",
				 v->done ? "; " : "", v->rows_age_days,
				 v->stale ? ": \"data update\" installs newer rows" : ""),
		    NULL);
	if (v->key)
		doc_text(d, "Signed by key %s.", v->key);
	if (!v->used.path)
		doc_text(d, "No data package is used: the data is that of this build (%s).",
			 v->build_date);
	page_state(d, "In use", &v->used);
	page_state(d, "Previous", &v->previous);
	if (!v->key_built_in)
		doc_text(d, "This build contains no trusted key: updates require --key FILE.");
	return d;
}

VERB_ANSWER(data_update_any, data_update_answer, data_update_ask, data_view)
VERB_ANSWER(data_status_any, data_status_answer, data_update_ask, data_view)
VERB_ANSWER(data_back_any, data_back_answer, data_update_ask, data_view)
VERB_PAGE_OF(data_page, page_data, data_view)

static const struct verb data_status_verb = {
	.name = "status",
	.summary = "show which data package is used, and its age",
	.about = "Shows the data package in use and the previous one.",
	.exits = "1: the data is stale",
	.examples = EXAMPLES({ "data status", "the installed data package" },
			     { "data status --format json", "for scripts" }),
	.answer = data_status_any,
	.result = &data_result,
	.page = data_page,
};

static const struct verb data_update_verb = {
	.name = "update",
	.summary = "install a signed data package",
	.about = "Checks the signature next to the package (.minisig or .sig), then every entry. "
		 "Then it replaces the package in use, which stays available to \"data back\". "
		 "Root installs it for the machine, other users for themselves.",
	.exits = "3: the package was refused, and nothing changed",
	.examples = EXAMPLES({ "data update gputune-data.json", "a file and its signature" },
			     { "data update https://example.org/gputune-data.json", "by curl" },
			     { "data update /media/usb --key site.pub", "signed by your site" }),
	.ask = ASK_OF(data_update_ask, NULL, data_update_ask_rows),
	.answer = data_update_any,
	.result = &data_result,
	.page = data_page,
	.writes = true,
};

static const struct verb data_back_verb = {
	.name = "back",
	.summary = "return to the previous data package",
	.about = "Swaps the package in use with the previous one.",
	.exits = "3: no previous package is kept",
	.examples = EXAMPLES({ "data back", "the previous package" },
			     { "data back --format json", "for scripts" }),
	.answer = data_back_any,
	.result = &data_result,
	.page = data_page,
	.writes = true,
};

static const struct verb *const data_subs[] = { &data_status_verb, &data_update_verb,
						&data_back_verb, NULL };

/* clang-format off */
const struct verb data_verb = {
	.name = "data", .group = VERB_PROGRAM,
	.summary = "update the tables of defects, models and GPUs from a signed package",
	.about = "Data newer than this build: show it (status), install newer data (update), return to the "
	  "previous data (back).", .words = "update rows database feed signature offline",
	.examples = EXAMPLES({ "data status", "how old the data is" },
	  { "data update gputune-data.json", "newer data from a file" }),
	.subs = data_subs, .usual = &data_status_verb,
};
/* clang-format on */
