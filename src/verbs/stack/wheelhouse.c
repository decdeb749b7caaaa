/* SPDX-License-Identifier: Apache-2.0 */
/* gputune stack wheelhouse: create, add, update, verify, list, diff, sync, use. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "base/text.h"
#include "verbs/stack/stack.h"

/* What any of them is asked; each has rows of its own. */
struct house_ask {
	const char *dir, *to, *key;
	const char *python, *gpu;
	unsigned arch;
	struct ask_texts names;
};

/* What is refused is a finding; what cannot be done is none. */
static int house_fail(struct door *d, int code, const struct err *e)
{
	bool refused = code == -EBADMSG || code == -ENOEXEC || code == -EEXIST ||
		       code == -EPROTONOSUPPORT || code == -EKEYREJECTED;

	return door_fail(d, refused ? EXIT_FINDINGS : EXIT_USAGE, e);
}

/* --- create ----------------------------------------------------------------------------------- */

static const char *const arches[] = { "x86_64", "aarch64" };
enum { ARCHES = sizeof(arches) / sizeof(arches[0]) };

static int python_check(const char *text, struct err *e)
{
	unsigned long long minor;

	if (str_starts(text, "3.") && parse_u64(text + 2, &minor) == 0)
		return 0;
	return err_set(e, -EINVAL, "expected a version such as 3.12, got \"%s\"", text);
}

/* python3 is a link to python3.11: the distribution's own. */
static const char *own_python(struct arena *a)
{
	char target[256];
	ssize_t n = readlink("/usr/bin/python3", target, sizeof(target) - 1);

	if (n < 0)
		return NULL;
	target[n] = '\0';
	return str_starts(target, "python3.") ? arena_strdup(a, target + 6) : NULL;
}

static int create_answer(struct door *d, const struct house_ask *ask, struct wheelhouse *out)
{
	struct wheel_target t = { .python = ask->python ? ask->python : own_python(d->arena) };
	unsigned arch = ask->arch;
	struct utsname u;
	struct err e = { 0 };
	unsigned sm = 0;
	int code;

	if (arch == ARCHES) {
		uname(&u);
		for (arch = 0; arch < ARCHES && strcmp(arches[arch], u.machine) != 0;)
			arch++;
	}
	if (arch == ARCHES)
		return door_refuse(d, EXIT_USAGE,
				   "--arch takes x86_64 or aarch64; this machine is %s", u.machine);
	t.arch = arches[arch];
	if (ask->gpu && gpu_target_parse(ask->gpu, &sm, &e))
		return door_fail(d, EXIT_USAGE, &e);
	if (wheelhouse_create(d->arena, ask->dir, &t, sm ? arena_printf(d->arena, "sm_%u", sm) : "",
			      out, &e))
		return door_fail(d, EXIT_USAGE, &e);
	code = wheelhouse_save(d->arena, out, ask->key, &e);
	wheelhouse_close(out);
	return code ? house_fail(d, code, &e) : EXIT_CLEAN;
}

/* --- add, update ------------------------------------------------------------------------------ */

struct house_taken {
	const char *file;
	enum house_added how;
};

struct add_answer {
	struct wheelhouse house;
	struct house_taken *taken;
	size_t n;
};

/* One bad wheel does not keep the others out: what became of them, and the worst exit code. */
static int take_wheels(struct door *d, const struct house_ask *ask, bool replace,
		       struct add_answer *out)
{
	int worst = EXIT_CLEAN, code;
	struct err e = { 0 };
	size_t changed = 0;

	out->taken = arena_array(d->arena, ask->names.n, sizeof(*out->taken));
	for (size_t i = 0; i < ask->names.n; i++) {
		struct house_taken *t = &out->taken[out->n];

		t->file = ask->names.items[i];
		e = (struct err){ 0 };
		code = wheelhouse_add(d->arena, &out->house, t->file, replace, &t->how, &e);
		if (code) {
			worst = -house_fail(d, code, &e);
			continue;
		}
		changed += t->how != HOUSE_SAME;
		out->n++;
	}
	e = (struct err){ 0 };
	code = changed ? wheelhouse_save(d->arena, &out->house, ask->key, &e) : 0;
	return code ? -house_fail(d, code, &e) : worst;
}

static int add_wheels(struct door *d, const struct house_ask *ask, bool replace,
		      struct add_answer *out)
{
	struct wheelhouse *h = &out->house;
	struct err e = { 0 };
	int code;

	if (wheelhouse_open(d->arena, ask->dir, true, h, &e))
		return door_fail(d, EXIT_USAGE, &e);
	if (h->is_signed && !ask->key)
		code = door_refuse(d, EXIT_USAGE, "%s is signed: changing it requires --key",
				   ask->dir);
	/* What this key signs, it has signed before: nothing is taken over that others put there.
	 */
	else if (h->is_signed && (code = house_signed_by(d->arena, h, ask->key, &e)) != 0)
		code = house_fail(d, code, &e);
	else
		code = take_wheels(d, ask, replace, out);
	wheelhouse_close(h);
	return code;
}

static int add_answer(struct door *d, const void *ask, void *answer)
{
	return add_wheels(d, ask, false, answer);
}

static int update_answer(struct door *d, const void *ask, void *answer)
{
	return add_wheels(d, ask, true, answer);
}

static struct doc *taken_page(struct arena *a, const struct add_answer *v)
{
	static const char *const words[] = { "added", "already exists", "replaced" };
	struct doc *d = doc_new(a);
	struct node *list = doc_bullets(d);

	for (size_t i = 0; i < v->n; i++)
		node_bullet(d, list, cellf(d, "%s: %s", v->taken[i].file, words[v->taken[i].how]));
	return d;
}

/* --- verify, list ----------------------------------------------------------------------------- */

static int verify_answer(struct door *d, const struct house_ask *ask, struct wheelhouse *out)
{
	return house_look(d, ask->dir, true, ask->key, out);
}

static int list_answer(struct door *d, const struct house_ask *ask, struct wheelhouse *out)
{
	return house_look(d, ask->dir, false, NULL, out);
}

/* --- diff ------------------------------------------------------------------------------------- */

static int diff_answer(struct door *d, const struct house_ask *ask, struct wheelhouse_diff *out)
{
	struct err e = { 0 };

	if (wheelhouse_open(d->arena, ask->dir, false, &out->a, &e))
		return door_fail(d, EXIT_USAGE, &e);
	wheelhouse_close(&out->a);
	if (wheelhouse_open(d->arena, ask->to, false, &out->b, &e))
		return door_fail(d, EXIT_USAGE, &e);
	wheelhouse_close(&out->b);
	wheelhouse_differ(d->arena, out);
	return out->n ? EXIT_FINDINGS : EXIT_CLEAN;
}

/* --- sync ------------------------------------------------------------------------------------- */

static int sync_answer(struct door *d, const struct house_ask *ask, struct wheelhouse *out)
{
	return house_sync(d, ask->dir, ask->to, out);
}

/* --- use -------------------------------------------------------------------------------------- */

struct house_use {
	const char *command;
};

static const struct shape_row house_use_rows[] = {
	{ "command", "For a shell.", SHAPE_TEXT(house_use, command) },
};
static const struct shape house_use_shape = SHAPE(house_use, house_use);

const struct result_shape house_use_result = {
	.name = "stack-wheelhouse-use",
	.title = "gputune stack wheelhouse use",
	.meaning = "The command that installs packages from a folder of wheels.",
	.shape = &house_use_shape,
	.exit_codes = 1u << 0,
};

static const struct house_wheel *newest(const struct wheelhouse *h, const char *name)
{
	const struct house_wheel *best = NULL;
	char x[256], y[256];

	dist_normalise(name, x, sizeof(x));
	for (size_t i = 0; i < h->n; i++) {
		dist_normalise(h->wheels[i].name, y, sizeof(y));
		if (strcmp(x, y) == 0 &&
		    (!best || version_compare(best->version, h->wheels[i].version) < 0))
			best = &h->wheels[i];
	}
	return best;
}

/* The line that installs them: 0, or as answers. */
static int use_line(struct door *d, const struct house_ask *ask, const struct wheelhouse *h,
		    struct text *out)
{
	char full[4096];

	if (!realpath(ask->dir, full))
		snprintf(full, sizeof(full), "%s", ask->dir);
	if (strchr(full, '\''))
		return door_refuse(d, EXIT_USAGE,
				   "%s: pip does not accept a folder name with a quote", full);
	text_printf(out, "python3 -m pip install --no-index --find-links '%s'", full);
	for (size_t i = 0; i < ask->names.n; i++) {
		const struct house_wheel *w = newest(h, ask->names.items[i]);

		if (!w)
			return door_refuse(d, EXIT_FINDINGS, "%s has no wheel of %s", ask->dir,
					   ask->names.items[i]);
		text_printf(out, " '%s==%s'", w->name, w->version);
	}
	for (size_t i = 0; i < h->n && !ask->names.n; i++)
		if (newest(h, h->wheels[i].name) == &h->wheels[i])
			text_printf(out, " '%s==%s'", h->wheels[i].name, h->wheels[i].version);
	return 0;
}

static int use_answer(struct door *d, const struct house_ask *ask, struct house_use *out)
{
	struct wheelhouse h;
	struct err e = { 0 };
	TEXT_AUTO line = { 0 };
	int code;

	if (wheelhouse_open(d->arena, ask->dir, false, &h, &e))
		return door_fail(d, EXIT_USAGE, &e);
	code = use_line(d, ask, &h, &line);
	wheelhouse_close(&h);
	out->command = arena_strdup(d->arena, line.s ? line.s : "");
	return code;
}

static int use_print(FILE *out, const void *ask, const void *answer, int code)
{
	(void)ask;
	fprintf(out, "%s\n", ((const struct house_use *)answer)->command);
	return code;
}

/* --- the questions and the verbs -------------------------------------------------------------- */

/* clang-format off */

#define FOLDER(help) \
	{ "DIR", help, ASK_TEXT(house_ask, dir), .argument = true, .required = true, .files = true }
#define DIR_ROW FOLDER("the wheelhouse")
#define SIGN_ROW \
	{ "key", "sign with this SSH key", ASK_TEXT(house_ask, key), .arg = "FILE", .files = true }
VERB_PAGE_OF(house_page, page_wheelhouse, wheelhouse)

static const struct ask_row create_rows[] = {
	FOLDER("the folder, new or empty"),
	{ "python", "for this Python (default: this machine's)", ASK_TEXT(house_ask, python), .arg = "VERSION",
	  .check = python_check, .example = "3.12" },
	{ "arch", "for this architecture (default: this machine's)", ASK_CHOICE(house_ask, arch, arches) },
	{ "gpu", "require GPU code in wheels to run on this GPU", ASK_TEXT(house_ask, gpu),
	  .arg = "SM", .example = "sm_121" },
	SIGN_ROW,
};
VERB_ANSWER(create_any, create_answer, house_ask, wheelhouse)

static const struct verb create_verb = {
	.name = "create",
	.summary = "create an empty wheelhouse",
	.about = "Makes DIR a wheelhouse for an architecture and a Python (default: this machine's); refuses "
	  "other wheels. With --gpu, GPU code must run on that GPU. --key signs the manifest.",
	.examples = EXAMPLES({ "stack wheelhouse create wheels --python 3.12", "for this machine" },
		{ "stack wheelhouse create wheels --python 3.12 --gpu sm_121", "for a GPU" }),
	.ask = ASK_OF(house_ask, NULL, create_rows), .answer = create_any, .result = &wheelhouse_result,
	.page = house_page, .writes = true,
};

static const struct ask_row add_rows[] = {
	DIR_ROW,
	{ "WHEEL", "wheel files", ASK_TEXTS(house_ask, names), .argument = true, .required = true, .files = true },
	SIGN_ROW,
};
static const struct ask_shape add_shape = ASK_SHAPE(house_ask, NULL, add_rows);
VERB_PAGE_OF(add_page, taken_page, add_answer)

static const struct verb add_verb = {
	.name = "add",
	.summary = "check wheels and add them",
	.about = "Checks each wheel (name, metadata, every file, platform, GPU code), copies it, and adds it to "
	  "the manifest. A bad wheel does not block the others. A signed wheelhouse requires its --key.",
	.exits = "1: a wheel was refused",
	.examples = EXAMPLES({ "stack wheelhouse add wheels dist/torch.whl", "one wheel" },
		{ "stack wheelhouse add wheels dist/torch.whl --key ~/.ssh/id_ed25519", "to a signed wheelhouse" }),
	.ask = &add_shape, .answer = add_answer, .result = &wheelhouse_result,
	.answer_size = sizeof(struct add_answer), .page = add_page, .writes = true,
};

static const struct verb update_verb = {
	.name = "update",
	.summary = "add wheels, and replace those of the same name",
	.about = "Like add, but replaces a wheel of the same name with different contents and moves the old one "
	  "to a separate folder.",
	.examples = EXAMPLES({ "stack wheelhouse update wheels dist/torch.whl", "replace a wheel" },
		{ "stack wheelhouse update wheels dist/torch.whl --key ~/.ssh/id_ed25519", "in a signed wheelhouse" }),
	.ask = &add_shape, .answer = update_answer, .result = &wheelhouse_result,
	.answer_size = sizeof(struct add_answer), .page = add_page, .writes = true,
};

static const struct ask_row verify_rows[] = {
	DIR_ROW,
	{ "key", "the allowed-signers file of ssh-keygen", ASK_TEXT(house_ask, key),
	  .arg = "FILE", .files = true },
};
VERB_ANSWER(verify_any, verify_answer, house_ask, wheelhouse)

static const struct verb verify_verb = {
	.name = "verify",
	.summary = "check every wheel against the manifest",
	.about = "Checks every wheel against the manifest, and with --key the manifest against its signature.",
	.exits = "1: something differs from the manifest",
	.examples = EXAMPLES({ "stack wheelhouse verify wheels", "every wheel" },
		{ "stack wheelhouse verify wheels --key allowed_signers", "every wheel, and the signature" }),
	.ask = ASK_OF(house_ask, NULL, verify_rows), .answer = verify_any, .result = &wheelhouse_result,
	.page = house_page,
};

static const struct ask_row list_rows[] = { DIR_ROW };
VERB_ANSWER(list_any, list_answer, house_ask, wheelhouse)

static const struct verb house_list_verb = {
	.name = "list",
	.summary = "the wheels in the manifest",
	.about = "Lists each wheel, its platform and its GPU code.",
	.examples = EXAMPLES({ "stack wheelhouse list wheels", "all benches" },
		{ "stack wheelhouse list wheels --format json", "for scripts" }),
	.ask = ASK_OF(house_ask, NULL, list_rows), .answer = list_any, .result = &wheelhouse_result, .page = house_page,
};

static const struct ask_row diff_rows[] = {
	{ "A", "a wheelhouse", ASK_TEXT(house_ask, dir), .argument = true, .required = true,
	  .files = true },
	{ "B", "another wheelhouse", ASK_TEXT(house_ask, to), .argument = true, .required = true,
	  .files = true },
};
VERB_ANSWER(diff_any, diff_answer, house_ask, wheelhouse_diff)
VERB_PAGE_OF(diff_page, page_wheelhouse_diff, wheelhouse_diff)

static const struct verb diff_verb = {
	.name = "diff",
	.summary = "which wheels differ between two wheelhouses",
	.about = "Compares two manifests by name and SHA-256.",
	.exits = "1: they differ",
	.examples = EXAMPLES({ "stack wheelhouse diff old wheels", "two wheelhouses" },
		{ "stack wheelhouse diff old wheels --format json", "for scripts" }),
	.ask = ASK_OF(house_ask, NULL, diff_rows), .answer = diff_any, .result = &wheelhouse_diff_result,
	.page = diff_page,
};

static const struct ask_row sync_rows[] = {
	DIR_ROW,
	{ "HOST:DIR", "the destination folder, on another machine or on this machine (DIR)",
	  ASK_TEXT(house_ask, to), .argument = true, .required = true, .files = true },
};
VERB_ANSWER(sync_any, sync_answer, house_ask, wheelhouse)

static const struct verb sync_verb = {
	.name = "sync",
	.summary = "copy a wheelhouse to another machine or folder",
	.about = "Copies a valid wheelhouse over ssh by rsync or sftp, resumes after an interruption, and "
	  "verifies the copy. The manifest is copied last, so the copy is never listed before it is complete.",
	.examples = EXAMPLES({ "stack wheelhouse sync wheels node2:/srv/wheels", "to another machine" },
		{ "stack wheelhouse sync wheels /srv/wheels", "to another folder" }),
	.ask = ASK_OF(house_ask, NULL, sync_rows), .answer = sync_any, .result = &wheelhouse_result, .page = house_page,
	.writes = true,
};

static const struct ask_row use_rows[] = {
	DIR_ROW,
	{ "PACKAGE", "the packages (default: all)", ASK_TEXTS(house_ask, names), .argument = true },
};
VERB_ANSWER(use_any, use_answer, house_ask, house_use)
static const struct verb use_verb = {
	.name = "use",
	.summary = "print the pip command that installs from it",
	.about = "Prints the pip command that installs the newest wheel of each PACKAGE, or of all, only from the "
	  "wheelhouse.",
	.examples = EXAMPLES({ "stack wheelhouse use wheels", "everything" },
		{ "stack wheelhouse use wheels torch", "one package" }),
	.ask = ASK_OF(house_ask, NULL, use_rows), .answer = use_any,
	.result = &house_use_result, .formats = FORMATS({ "term", use_print }),
};

static const struct verb *const house_subs[] = {
	&create_verb, &add_verb,  &update_verb, &verify_verb, &house_list_verb,
	&diff_verb,   &sync_verb, &use_verb,	NULL,
};

const struct verb wheelhouse_verb = {
	.name = "wheelhouse",
	.summary = "create, update and verify a folder of checked wheels, and install from it",
	.about = "A folder of checked wheels with a manifest of name, SHA-256 and GPU code. --key signs and "
	  "verifies the manifest.",
	.exits = "1: a problem was found or a wheel was refused",
	.examples = EXAMPLES({ "stack wheelhouse create wheels --python 3.12 --gpu sm_121", "create one" },
		{ "stack wheelhouse add wheels dist/torch.whl", "check a wheel and add it" },
		{ "stack wheelhouse use wheels torch", "print the pip command that installs from it" }),
	.subs = house_subs,
};
