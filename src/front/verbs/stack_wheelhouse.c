/* SPDX-License-Identifier: Apache-2.0 */
/* gputune stack wheelhouse: create, add, update, verify, list, diff, sync, use. */
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

#include "base/text.h"
#include "front/verbs/page.h"
#include "front/verbs/stack.h"
#include "look/stack/wheelhouse.h"
#include "look/stack/page_stack.h"

static int complain_by(int code, const struct err *e)
{
	/* What is refused is a finding; what cannot be done is none. */
	return complain(code == -EBADMSG || code == -ENOEXEC || code == -EEXIST ||
					code == -EPROTONOSUPPORT || code == -EKEYREJECTED
				? EXIT_FINDINGS
				: EXIT_USAGE,
			e);
}

static int print(struct run *r, const struct wheelhouse *h, const struct house_verdict *v, int code)
{
	int failed;

	if (r->value[OPT_QUIET])
		return code;
	if (run_wants_json(r)) {
		run_print_json(r, wheelhouse_result_json(h, v, (long long)time(NULL), code));
		return code;
	}
	failed = run_print_doc(r, page_wheelhouse(&r->arena, h, v), "gputune stack wheelhouse");
	return failed ? failed : code;
}

/* python3 is a link to python3.11: the distribution's own. */
static const char *own_python(struct run *r)
{
	char target[256];
	ssize_t n = readlink("/usr/bin/python3", target, sizeof(target) - 1);

	if (n < 0)
		return NULL;
	target[n] = '\0';
	return str_starts(target, "python3.") ? arena_strdup(&r->arena, target + 6) : NULL;
}

static int create(struct run *r, const char *dir)
{
	struct wheel_target t = { r->value[OPT_ARCH], r->value[OPT_PYTHON] };
	struct wheelhouse h;
	struct utsname u;
	struct err e = { 0 };
	unsigned long long minor;
	unsigned sm;
	int code;

	if (!t.arch) {
		uname(&u);
		t.arch = arena_strdup(&r->arena, u.machine);
	}
	if (strcmp(t.arch, "x86_64") != 0 && strcmp(t.arch, "aarch64") != 0)
		return complain_text(EXIT_USAGE, "--arch takes x86_64 or aarch64, not \"%s\"",
				     t.arch);
	if (!t.python)
		t.python = own_python(r);
	if (t.python && (!str_starts(t.python, "3.") || parse_u64(t.python + 2, &minor)))
		return complain_text(EXIT_USAGE,
				     "--python takes a version such as 3.12, not \"%s\"", t.python);
	if (r->value[OPT_GPU] && gpu_target_parse(r->value[OPT_GPU], &sm, &e))
		return complain(EXIT_USAGE, &e);
	code = wheelhouse_create(&r->arena, dir, &t,
				 r->value[OPT_GPU] ? arena_printf(&r->arena, "sm_%u", sm) : "", &h,
				 &e);
	if (code)
		return complain(EXIT_USAGE, &e);
	code = wheelhouse_save(&r->arena, &h, r->value[OPT_KEY], &e);
	code = code ? complain_by(code, &e) : print(r, &h, NULL, EXIT_CLEAN);
	wheelhouse_close(&h);
	return code;
}

/* One bad wheel does not keep the others out. */
static int add(struct run *r, const char *dir, bool replace)
{
	static const char *const words[] = { "added", "is there already", "replaced" };
	struct wheelhouse h;
	struct err e = { 0 };
	size_t changed = 0;
	int code = wheelhouse_open(&r->arena, dir, true, &h, &e), worst = EXIT_CLEAN;

	if (code)
		return complain(EXIT_USAGE, &e);
	if (h.is_signed && !r->value[OPT_KEY]) {
		wheelhouse_close(&h);
		return complain_text(EXIT_USAGE, "%s is signed: changing it needs --key", dir);
	}
	/* What this key signs, it has signed before: nothing is taken over that others put there.
	 */
	if (h.is_signed && (code = house_signed_by(&r->arena, &h, r->value[OPT_KEY], &e)) != 0) {
		wheelhouse_close(&h);
		return complain_by(code, &e);
	}
	for (int i = 0; i < r->n_args; i++) {
		enum house_added what = HOUSE_SAME;

		e = (struct err){ 0 };
		code = wheelhouse_add(&r->arena, &h, r->args[i], replace, &what, &e);
		if (code) {
			worst = complain_by(code, &e);
			continue;
		}
		changed += what != HOUSE_SAME;
		if (!r->value[OPT_QUIET] && !run_wants_json(r))
			fprintf(r->out, "%s: %s\n", r->args[i], words[what]);
	}
	if (changed) {
		e = (struct err){ 0 };
		code = wheelhouse_save(&r->arena, &h, r->value[OPT_KEY], &e);
		if (code)
			worst = complain_by(code, &e);
	}
	if (run_wants_json(r))
		print(r, &h, NULL, worst);
	wheelhouse_close(&h);
	return worst;
}

int wheelhouse_tell(struct run *r, const char *dir, bool look)
{
	struct house_verdict v;
	struct wheelhouse h;
	struct err e = { 0 };
	int code = wheelhouse_open(&r->arena, dir, false, &h, &e);

	if (code)
		return complain(code == -EBADMSG ? EXIT_FINDINGS : EXIT_USAGE, &e);
	if (!look) {
		code = print(r, &h, NULL, EXIT_CLEAN);
	} else if (wheelhouse_verify(&r->arena, &h, r->value[OPT_KEY], &v, &e)) {
		code = complain(EXIT_BLIND, &e);
	} else {
		code = print(r, &h, &v, v.n ? EXIT_FINDINGS : EXIT_CLEAN);
	}
	wheelhouse_close(&h);
	return code;
}

static int diff(struct run *r, const char *a, const char *b)
{
	struct wheelhouse x, y;
	struct err e = { 0 };
	struct doc *d;
	size_t n = 0;
	int code = wheelhouse_open(&r->arena, a, false, &x, &e);

	if (code)
		return complain(EXIT_USAGE, &e);
	code = wheelhouse_open(&r->arena, b, false, &y, &e);
	if (code) {
		wheelhouse_close(&x);
		return complain(EXIT_USAGE, &e);
	}
	d = page_wheelhouse_diff(&r->arena, &x, &y, &n);
	code = n ? EXIT_FINDINGS : EXIT_CLEAN;
	if (!r->value[OPT_QUIET]) {
		int failed = run_print_doc(r, d, "gputune stack wheelhouse diff");

		code = failed ? failed : code;
	}
	wheelhouse_close(&x);
	wheelhouse_close(&y);
	return code;
}

/* --- use --- */

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

static int use(struct run *r, const char *dir)
{
	struct wheelhouse h;
	struct err e = { 0 };
	TEXT_AUTO t = { 0 };
	char full[4096];
	int code = wheelhouse_open(&r->arena, dir, false, &h, &e);

	if (code)
		return complain(EXIT_USAGE, &e);
	if (!realpath(dir, full))
		snprintf(full, sizeof(full), "%s", dir);
	text_printf(&t, "python3 -m pip install --no-index --find-links '%s'", full);
	for (int i = 0; i < r->n_args && !code; i++) {
		const struct house_wheel *w = newest(&h, r->args[i]);

		if (w)
			text_printf(&t, " '%s==%s'", w->name, w->version);
		else
			code = complain_text(EXIT_FINDINGS, "%s has no wheel of %s", dir,
					     r->args[i]);
	}
	for (size_t i = 0; i < h.n && !r->n_args; i++)
		if (newest(&h, h.wheels[i].name) == &h.wheels[i])
			text_printf(&t, " '%s==%s'", h.wheels[i].name, h.wheels[i].version);
	if (strchr(full, '\''))
		code = complain_text(EXIT_USAGE, "%s: a name with a quote is no place for pip",
				     full);
	else if (!code)
		fprintf(r->out, "%s\n", t.s);
	wheelhouse_close(&h);
	return code;
}

int stack_wheelhouse(struct run *r)
{
	const char *action = r->n_args ? r->args[0] : "", *dir = r->n_args > 1 ? r->args[1] : NULL;
	int n = r->n_args - 2;

	if (!dir)
		return complain_text(EXIT_USAGE,
				     "stack wheelhouse needs an action (create, add, update, "
				     "verify, list, diff, sync, use) and a folder");
	r->args += 2;
	r->n_args = n;
	if (strcmp(action, "create") == 0 && n == 0)
		return create(r, dir);
	if ((strcmp(action, "add") == 0 || strcmp(action, "update") == 0) && n > 0)
		return add(r, dir, *action == 'u');
	if ((strcmp(action, "verify") == 0 || strcmp(action, "list") == 0) && n == 0)
		return wheelhouse_tell(r, dir, *action == 'v');
	if (strcmp(action, "diff") == 0 && n == 1)
		return diff(r, dir, r->args[0]);
	if (strcmp(action, "sync") == 0 && n == 1)
		return wheelhouse_sync(r, dir, r->args[0]);
	if (strcmp(action, "use") == 0)
		return use(r, dir);
	return complain_text(EXIT_USAGE,
			     "stack wheelhouse takes: create DIR, add|update DIR WHEEL..., "
			     "verify|list DIR, diff A B, sync DIR HOST:DIR, use DIR [PACKAGE...]");
}
