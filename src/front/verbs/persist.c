/* SPDX-License-Identifier: Apache-2.0 */
/* gputune persist: keep settings over a reboot by files of our own, and take them away again. */
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "front/verbs/page.h"
#include "front/verbs/persist.h"
#include "tune/txn/boot.h"
#include "machine/host/boot_menu.h"
#include "machine/host/command.h"

static void fill_view(struct persisting *s)
{
	s->view.rows = s->p.rows;
	s->view.n = s->p.n;
	s->view.notes = s->p.notes;
	s->view.n_notes = s->p.n_notes;
}

static int print(struct persisting *s, const struct txn_report *report, const struct err *e,
		 int code)
{
	struct run *r = s->r;
	int failed;

	fill_view(s);
	if (r->value[OPT_QUIET])
		return code;
	if (run_wants_json(r)) {
		run_print_json(r, persist_json(s->m, &s->view, report, e, code));
		return code;
	}
	failed = run_print_doc(r, page_persist(&r->arena, s->m, &s->view), "gputune persist");
	return failed ? failed : code;
}

/* --- install and diff --------------------------------------------------------------------------
 */

/* The wish is there: what the files would be. */
static int make_files(struct persisting *s)
{
	s->wish.program = persist_program(s);
	if (!s->wish.program)
		return EXIT_NOT_APPLIED;
	persist_make(&s->r->arena, s->m, &s->wish, &s->p);
	return 0;
}

static int make(struct persisting *s)
{
	int code = persist_collect(s);

	return code ? code : make_files(s);
}

int persist_make_of(struct persisting *s, struct kept *rows, size_t n)
{
	int code = persist_collect_of(s, rows, n);

	return code ? code : make_files(s);
}

/* What somebody else wrote is not replaced. */
static int refuse(struct persisting *s, size_t others)
{
	int code = print(s, NULL, NULL, EXIT_NOT_APPLIED);
	struct err e = { 0 };

	err_set(&e, -EEXIST, "%zu file%s not as gputune left %s; nothing was written", others,
		others == 1 ? " is" : "s are", others == 1 ? "it" : "them");
	err_hint(&e, "move your lines to a file of your own; --force replaces what is there");
	complain(0, &e);
	return code;
}

/* Something that was asked for and that no file can hold is a finding. */
static int kept_code(const struct persisting *s)
{
	for (size_t i = 0; i < s->p.n; i++)
		if (s->p.rows[i].refusal)
			return EXIT_FINDINGS;
	return EXIT_CLEAN;
}

static int write_files(struct persisting *s)
{
	struct run *r = s->r;
	struct txn_who who = run_who(r);
	struct txn_report report = { 0 };
	struct err e = { 0 };
	int result, code;

	who.op = "persist";
	run_tell_lost_at_boot(s->h);
	s->plan.profile = r->value[OPT_PROFILE];
	result = txn_apply(s->h, &r->arena, &s->plan, &who, &report, &e);
	if (run_wants_json(r))
		code = print(s, &report, &e, result ? run_code_of(result) : kept_code(s));
	else
		code = run_code_of(result);
	if (result)
		return complain(code, &e);
	persist_reload(s);
	if (!r->value[OPT_QUIET] && !run_wants_json(r))
		fprintf(r->out,
			"Transaction %lu: %zu change%s made. \"gputune persist remove\" takes all "
			"of it back.\n",
			report.txn, s->plan.n, s->plan.n == 1 ? "" : "s");
	if (r->value[OPT_UPDATE_GRUB] && (code = persist_update_boot(s)))
		return code;
	return kept_code(s);
}

static int install(struct persisting *s)
{
	struct run *r = s->r;
	struct txn_who who = run_who(r);
	size_t others;
	/* What is rolled back first is not to be kept. */
	int code = run_recover_first(r, s->h, &who);

	code = code ? code : make(s);
	if (code)
		return code;
	others = persist_compare(s, r->value[OPT_FORCE] != NULL);
	if (others)
		return refuse(s, others);
	if (!run_wants_json(r) || !s->plan.n || r->value[OPT_DRY_RUN]) {
		code = print(s, NULL, NULL, 0);
		if (code)
			return code;
	}
	if (r->value[OPT_DRY_RUN])
		return complain_text(0, "dry run: nothing was written");
	if (!s->plan.n)
		return r->value[OPT_UPDATE_GRUB] && s->p.n_files ? persist_update_boot(s)
								 : kept_code(s);
	if (!run_agreed(r, arena_printf(&r->arena, "Make these %zu changes?", s->plan.n)))
		return r->value[OPT_YES] || isatty(STDIN_FILENO) ? EXIT_NOT_APPLIED : EXIT_USAGE;
	return write_files(s);
}

static int diff(struct persisting *s)
{
	size_t others;
	int code = make(s);

	if (code)
		return code;
	others = persist_compare(s, true);
	return print(s, NULL, NULL, s->plan.n || others ? EXIT_FINDINGS : EXIT_CLEAN);
}

/* --- status ------------------------------------------------------------------------------------
 */

int persist_see(struct persisting *s, size_t *differ)
{
	struct persist_targets cache = { 0 };
	struct run *r = s->r;
	struct kept *rows;
	struct err e = { 0 };
	size_t n;
	int code = persist_installed(r, s->h, &rows, &n);

	if (code)
		return code;
	code = journal_load(s->h, &r->arena, false, &s->journal, &e);
	if (code && code != -EACCES && code != -EPERM)
		return complain(EXIT_BLIND, &e);
	if (code)
		complain_text(0, "the journal is root's: whether a file was edited is not known");
	if (!s->m)
		s->m = run_change_machine(r, s->h);
	for (size_t i = 0; i < n; i++) {
		const char *target =
			persist_target(&r->arena, s->m, rows[i].id, &rows[i].knob, &cache);

		rows[i].target = target ? target : "";
	}
	persist_read_sources(s);
	s->p.rows = rows;
	s->p.n = n;
	persist_losers(&r->arena, s->m, &s->wish, &s->p);
	*differ = persist_look(s);
	persist_doubt_rows(s);
	for (size_t i = 0; i < n; i++)
		*differ += rows[i].loses != NULL;
	*differ += persist_note_open(s);
	fill_view(s);
	return 0;
}

static int status(struct persisting *s)
{
	size_t differ = 0;
	int code = persist_see(s, &differ);

	return code ? code : print(s, NULL, NULL, differ ? EXIT_FINDINGS : EXIT_CLEAN);
}

int verb_persist(struct run *r)
{
	static const struct {
		const char *name;
		int (*run)(struct persisting *s);
		bool writes;
	} actions[] = { { "install", install, true },
			{ "status", status, false },
			{ "diff", diff, false },
			{ "remove", persist_remove, true } };
	struct persisting s = { .r = r };
	size_t i = 0;
	int code;

	while (i < 4 && strcmp(actions[i].name, r->args[0]) != 0)
		i++;
	if (i == 4)
		return complain_text(EXIT_USAGE,
				     "persist knows install, status, diff and remove, not \"%s\"",
				     r->args[0]);
	if (r->value[OPT_NOW] && strcmp(actions[i].name, "remove") != 0)
		return complain_text(EXIT_USAGE, "--now is for persist remove");
	if (actions[i].writes && run_check_overlay(r))
		return EXIT_USAGE;
	s.h = run_change_host(r);
	if (!s.h)
		return EXIT_USAGE;
	s.view.action = actions[i].name;
	s.view.dry = r->value[OPT_DRY_RUN] != NULL;
	s.writes = actions[i].writes && !s.view.dry;
	code = actions[i].run(&s);
	host_close(s.h);
	return code;
}

/*
 * What persist remove says of the running machine: a file that is gone sets nothing at the next
 * boot, but what it has set at this one is in effect until somebody takes it back. The journal has
 * these values in transactions of the boot, with the originals; see tune/txn/boot.h.
 */

enum { NAMED = 3 };

static bool is_of(const struct kept *rows, size_t n, const struct knob *k)
{
	for (size_t i = 0; i < n; i++)
		if (knob_equal(&rows[i].knob, k))
			return true;
	return !n;
}

/* Values of the boot files that the machine holds now, into the view. */
static void find(struct persisting *s, const struct kept *only, size_t n_only)
{
	struct persist_view *v = &s->view;
	struct arena *a = &s->r->arena;
	struct journal j;
	struct hold_row *rows;
	struct kept *found = NULL;
	struct err ignored = { 0 };
	size_t n;

	v->n_in_effect = 0;
	if (journal_load(s->h, a, false, &j, &ignored))
		return;
	txn_status(s->h, a, &j, &rows, &n);
	for (size_t i = 0; i < n; i++) {
		const struct entry *e = rows[i].e;

		if (strcmp(rows[i].t->op, TXN_BOOT) != 0 || !is_of(only, n_only, &e->knob) ||
		    (rows[i].hold != HOLD_OURS && rows[i].hold != HOLD_UNKNOWN))
			continue;
		found = arena_grow(a, found, v->n_in_effect, sizeof(*found));
		found[v->n_in_effect++] = (struct kept){ .id = e->id,
							 .target = e->target,
							 .knob = e->knob,
							 .value = e->after,
							 .before = e->before,
							 .by = "" };
	}
	v->in_effect = found;
}

static const char *named(struct arena *a, const struct persist_view *v)
{
	const char *out = "";

	for (size_t i = 0; i < v->n_in_effect && i < NAMED; i++)
		out = arena_printf(a, "%s%s%s", out, i ? ", " : "", v->in_effect[i].id);
	return v->n_in_effect > NAMED ? arena_printf(a, "%s, ...", out) : out;
}

/* With --yes alone nobody has agreed to more than the files. */
static bool is_asked_for(struct persisting *s)
{
	struct run *r = s->r;
	const struct persist_view *v = &s->view;

	if (!v->n_in_effect || r->value[OPT_NOW])
		return v->n_in_effect > 0;
	if (r->value[OPT_YES] || r->value[OPT_DRY_RUN] || !isatty(STDIN_FILENO))
		return false;
	return run_agreed(r, arena_printf(&r->arena,
					  "%zu value%s that the files have set at boot %s still in "
					  "effect (%s). Take %s back now?",
					  v->n_in_effect, v->n_in_effect == 1 ? "" : "s",
					  v->n_in_effect == 1 ? "is" : "are", named(&r->arena, v),
					  v->n_in_effect == 1 ? "it" : "them"));
}

int persist_now(struct persisting *s, const struct kept *only, size_t n_only, struct err *e)
{
	struct txn_select select = { .all = true,
				     .op = TXN_BOOT,
				     .dry = s->r->value[OPT_DRY_RUN] != NULL };
	struct txn_who who = run_who(s->r);
	struct knob *knobs;
	int result;

	find(s, only, n_only);
	if (!is_asked_for(s))
		return 0;
	knobs = arena_array(&s->r->arena, s->view.n_in_effect, sizeof(*knobs));
	for (size_t i = 0; i < s->view.n_in_effect; i++)
		knobs[i] = s->view.in_effect[i].knob;
	select.knobs = knobs;
	select.n_knobs = s->view.n_in_effect;
	/* That no file was left to take away is no error of this. */
	*e = (struct err){ 0 };
	result = txn_undo(s->h, &s->r->arena, &select, &who, &s->view.now, e);
	if (!select.dry)
		find(s, only, n_only);
	return result;
}

/* Making the boot entries anew, on demand, by the program whose they are; and looking whether they
 * have what was asked for. */

enum { MENU_MS = 300000, MENU_MAX = 4 << 20, KERNELS_MAX = 32 };

/* Whether a line of the menu boots with the token; the file has one word behind another. */
static bool menu_has(const char *menu, const char *token)
{
	size_t n = strlen(token);

	for (const char *at = strstr(menu, token); at; at = strstr(at + 1, token))
		if (at > menu && strchr(" \t", at[-1]) && strchr(" \t\n", at[n]))
			return true;
	return false;
}

static int check_tokens(struct persisting *s, const char *program, const char *menu)
{
	for (size_t i = 0; i < s->p.n; i++) {
		const struct kept *row = &s->p.rows[i];
		const char *token = arena_printf(&s->r->arena, *row->value ? "%s=%s" : "%s",
						 row->knob.name, row->value);

		if (row->keeper == KEEPER_BOOT_ARGUMENT && !menu_has(menu, token))
			return complain_text(EXIT_FINDINGS,
					     "%s succeeded, but the boot menu has no \"%s\"",
					     program, token);
	}
	return 0;
}

static int check_menu(struct persisting *s)
{
	static const char *const menus[] = { "/boot/grub/grub.cfg", "/boot/grub2/grub.cfg" };
	struct arena *a = &s->r->arena;
	char *menu = NULL;

	for (size_t i = 0; i < 2 && !menu; i++)
		if (host_read(s->h, menus[i], MENU_MAX, a, &menu, NULL))
			menu = NULL;
	if (!menu)
		return complain_text(EXIT_BLIND,
				     "update-grub succeeded, but the boot menu could not be read");
	return check_tokens(s, "update-grub", menu);
}

static int update_grub(struct persisting *s)
{
	char *const argv[] = { "update-grub", NULL };
	const char *said;
	int r;

	r = persist_run_program(&s->r->arena, argv, MENU_MS, &said);
	if (r == -ENOENT)
		return complain_text(EXIT_FINDINGS,
				     "there is no update-grub here: run your distribution's "
				     "(grub2-mkconfig -o /boot/grub2/grub.cfg)");
	if (r)
		return complain_text(EXIT_FINDINGS, "update-grub failed (%d): %.300s", r, said);
	return check_menu(s);
}

/* --- kernel-install ----------------------------------------------------------------------------
 */

/* Where the kernel of that release lies; NULL: it has no image, or is called strangely. */
static const char *image_of(struct persisting *s, const char *release)
{
	static const char *const places[] = { "/usr/lib/modules/%s/vmlinuz", "/boot/vmlinuz-%s",
					      "/boot/vmlinux-%s" };
	static const char plain[] =
		"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.+_-~";

	if (!*release || *release == '-' || strspn(release, plain) != strlen(release))
		return NULL;
	for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++) {
		const char *stem = places[i], *at = strstr(stem, "%s"),
			   *path = arena_printf(&s->r->arena, "%.*s%s%s", (int)(at - stem), stem,
						release, at + 2);

		if (host_exists(s->h, path))
			return path;
	}
	return NULL;
}

/* The entries of every kernel that is installed, so that an older one boots with them too. */
static int add_kernels(struct persisting *s)
{
	struct arena *a = &s->r->arena;
	char **names;
	size_t n = 0, added = 0;

	if (host_list(s->h, "/usr/lib/modules", a, &names, &n))
		n = 0;
	for (size_t i = 0; i < n && added < KERNELS_MAX; i++) {
		const char *image = image_of(s, names[i]), *said;
		char *const argv[] = { "kernel-install", "add", names[i], (char *)image, NULL };
		int r;

		if (!image)
			continue;
		r = persist_run_program(a, argv, MENU_MS, &said);
		if (r == -ENOENT)
			return complain_text(EXIT_FINDINGS, "there is no kernel-install here");
		if (r)
			return complain_text(EXIT_FINDINGS,
					     "kernel-install add %s failed (%d): %.300s", names[i],
					     r, said);
		added++;
	}
	return added ? 0
		     : complain_text(EXIT_FINDINGS,
				     "no kernel was found below /usr/lib/modules: run "
				     "kernel-install for yours");
}

/* The options of the entry for the kernel that runs, with a blank before the first; NULL. */
static const char *entry_options(struct persisting *s)
{
	static const char *const folders[] = { "/boot/loader/entries", "/efi/loader/entries",
					       "/boot/efi/loader/entries" };
	struct arena *a = &s->r->arena;
	char **names, *text;

	for (size_t f = 0; f < sizeof(folders) / sizeof(folders[0]); f++) {
		size_t n = 0;

		if (host_list(s->h, folders[f], a, &names, &n))
			continue;
		for (size_t i = 0; i < n; i++)
			if (strstr(names[i], s->h->id.release) && str_ends(names[i], ".conf") &&
			    host_read(s->h, arena_printf(a, "%s/%s", folders[f], names[i]),
				      MENU_MAX, a, &text, NULL) == 0)
				return text;
	}
	return NULL;
}

static int kernel_install(struct persisting *s)
{
	int code = add_kernels(s);
	const char *text = code ? NULL : entry_options(s);

	if (code)
		return code;
	return text ? check_tokens(s, "kernel-install", text)
		    : complain_text(EXIT_BLIND, "kernel-install succeeded, but no loader entry of "
						"the running kernel could be read: verify --boot "
						"tells after the reboot");
}

int persist_update_boot(struct persisting *s)
{
	if (s->h->id.captured)
		return complain_text(EXIT_USAGE,
				     "--update-grub is for this machine, not for a captured one");
	return host_boot_menu(s->h) == BOOT_MENU_KERNEL_INSTALL ? kernel_install(s)
								: update_grub(s);
}

/* Programs of the system that persist runs: by their names and fixed arguments, never with data. */

enum { RELOAD_MS = 60000, OUTPUT_MAX = 1 << 20 };

int persist_run_program(struct arena *a, char *const *argv, int limit_ms, const char **said)
{
	struct command_result res = { 0 };
	int r = command_run(a, argv, limit_ms, OUTPUT_MAX, &res);

	*said = r ? strerror(-r) : res.errors;
	return r ? r : res.status;
}

void persist_reload(struct persisting *s)
{
	char *const daemon[] = { "systemctl", "--system", "daemon-reload", NULL };
	char *const rules[] = { "udevadm", "control", "--reload", NULL };
	const char *said;

	if (s->h->id.captured || !host_exists(s->h, "/run/systemd/system"))
		return;
	if (persist_run_program(&s->r->arena, daemon, RELOAD_MS, &said))
		complain_text(0, "systemctl daemon-reload failed (%.200s): the next boot does it",
			      said);
	if (persist_run_program(&s->r->arena, rules, RELOAD_MS, &said))
		complain_text(0, "udevadm control --reload failed (%.200s): the next boot does it",
			      said);
}

/* The unit sees it, and the file and every folder above it belong to root alone. */
static bool is_safe(const char *path)
{
	static const char *const hidden[] = { "/home/", "/root/", "/run/", "/tmp/", "/var/tmp/" };
	char part[HOST_PATH_MAX];
	struct stat st;

	for (size_t i = 0; i < sizeof(hidden) / sizeof(hidden[0]); i++)
		if (str_starts(path, hidden[i]))
			return false;

	for (size_t n = strlen(path); n; n--) {
		if (path[n] && path[n] != '/')
			continue;
		memcpy(part, path, n);
		part[n] = '\0';
		if (stat(part, &st) < 0 || st.st_uid != 0 || (st.st_mode & 022))
			return false;
	}
	return true;
}

const char *persist_program(const struct persisting *s)
{
	char path[HOST_PATH_MAX];
	ssize_t n;

	if (s->h->id.captured)
		return "/usr/bin/gputune";
	n = readlink("/proc/self/exe", path, sizeof(path) - 1);
	if (n <= 0)
		return "/usr/bin/gputune";
	path[n] = '\0';
	if (!s->writes || is_safe(path))
		return arena_strdup(&s->r->arena, path);
	complain_text(
		EXIT_USAGE,
		"%s would be run at every boot, but it lies where users keep files, or others than "
		"root may change it: install gputune first",
		path);
	return NULL;
}
