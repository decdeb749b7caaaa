/* SPDX-License-Identifier: Apache-2.0 */
/* The files that shall be, beside those that are and those that the journal says are ours. */
#include <libgen.h>
#include <string.h>
#include <unistd.h>
#include <sys/stat.h>

#include "verbs/persist/persist.h"
#include "machine/host/folder.h"
#include "machine/knob/io.h"
#include "tune/txn/layer.h"
#include "machine/host/boot_menu.h"
#include "base/text.h"
#include "machine/write/write.h"
#include "machine/host/command.h"

/* A unified diff of two short texts. */

enum { LINES_MAX = 2000, CONTEXT = 3 };

struct lines {
	const char *at[LINES_MAX];
	size_t len[LINES_MAX];
	size_t n;
};

/* Text beyond the bound is left out: our files are far below it. */
static void split_lines(const char *text, struct lines *out)
{
	out->n = 0;
	while (text && *text && out->n < LINES_MAX) {
		size_t k = strcspn(text, "\n");

		out->at[out->n] = text;
		out->len[out->n++] = k;
		text += k + (text[k] == '\n');
	}
}

static bool same(const struct lines *x, size_t i, const struct lines *y, size_t k)
{
	return x->len[i] == y->len[k] && memcmp(x->at[i], y->at[k], x->len[i]) == 0;
}

/* table[i][k]: the longest common part of what follows line i and line k. */
static unsigned short *common_lines(struct arena *a, const struct lines *x, const struct lines *y)
{
	size_t w = y->n + 1;
	unsigned short *t = arena_array(a, (x->n + 1) * w, sizeof(*t));

	for (size_t i = x->n; i-- > 0;)
		for (size_t k = y->n; k-- > 0;) {
			unsigned short down = t[(i + 1) * w + k], right = t[i * w + k + 1];

			t[i * w + k] = same(x, i, y, k)
					       ? (unsigned short)(t[(i + 1) * w + k + 1] + 1)
				       : down > right ? down
						      : right;
		}
	return t;
}

/* One line of the script that makes y of x. */
struct step {
	char op; /* ' ', '-', '+' */
	size_t i, k;
};

static size_t diff_steps(const struct lines *x, const struct lines *y, const unsigned short *t,
			 struct step *out)
{
	size_t i = 0, k = 0, n = 0, w = y->n + 1;

	while (i < x->n || k < y->n) {
		if (i < x->n && k < y->n && same(x, i, y, k))
			out[n++] = (struct step){ ' ', i++, k++ };
		else if (i < x->n && (k == y->n || t[(i + 1) * w + k] >= t[i * w + k + 1]))
			out[n++] = (struct step){ '-', i++, k };
		else
			out[n++] = (struct step){ '+', i, k++ };
	}
	return n;
}

/* Where the hunk that begins at step from ends: changes not further apart than their context. */
static size_t hunk_end(const struct step *s, size_t n, size_t from)
{
	size_t last = from;

	for (size_t i = from; i < n && i <= last + 2 * CONTEXT + 1; i++)
		if (s[i].op != ' ')
			last = i;
	return last + 1 + CONTEXT < n ? last + 1 + CONTEXT : n;
}

static void print_hunk(struct text *out, const struct lines *x, const struct lines *y,
		       const struct step *s, size_t from, size_t to)
{
	size_t old = 0, new = 0;

	for (size_t i = from; i < to; i++) {
		old += s[i].op != '+';
		new += s[i].op != '-';
	}
	text_printf(out, "@@ -%zu,%zu +%zu,%zu @@\n", s[from].i + (old > 0), old,
		    s[from].k + (new > 0), new);
	for (size_t i = from; i < to; i++) {
		const struct lines *of = s[i].op == '+' ? y : x;
		size_t at = s[i].op == '+' ? s[i].k : s[i].i;

		text_printf(out, "%c%.*s\n", s[i].op, (int)of->len[at], of->at[at]);
	}
}

/* A unified diff of two texts, NULL when they are equal; either may be NULL: no file. */
static const char *persist_diff(struct arena *a, const char *path, const char *before,
				const char *after)
{
	struct lines *x = ARENA_NEW(a, struct lines), *y = ARENA_NEW(a, struct lines);
	struct step *s;
	TEXT_AUTO out = { 0 };
	size_t n, done = 0;

	split_lines(before, x);
	split_lines(after, y);
	s = arena_array(a, x->n + y->n, sizeof(*s));
	n = diff_steps(x, y, common_lines(a, x, y), s);
	for (size_t i = 0; i < n; i++) {
		size_t from, to;

		if (s[i].op == ' ')
			continue;
		if (!out.len)
			text_printf(&out, "--- %s\n+++ %s\n", before ? path : "/dev/null",
				    after ? path : "/dev/null");
		from = i > done + CONTEXT ? i - CONTEXT : done;
		to = hunk_end(s, n, i);
		print_hunk(&out, x, y, s, from, to);
		done = to;
		i = to - 1;
	}
	return out.s ? arena_strdup(a, out.s) : NULL;
}

enum { COPY_MAX = 1 << 18 };

const char *persist_copy_of(struct persisting *s, const char *path, const char *value)
{
	struct arena *a = s->d->arena;
	const char *folder = path_folder(a, path), *text;
	char **names, *other;
	size_t n = 0, len, other_len;
	unsigned mode;

	if (!knob_file_parse(a, value, &mode, &text, &len) || !len ||
	    host_list(s->h, folder, a, &names, &n))
		return NULL;
	for (size_t i = 0; i < n; i++) {
		const char *at = arena_printf(a, "%s/%s", folder, names[i]);

		if (strcmp(at, path) != 0 && !str_ends(at, HOST_NEW) && !str_ends(at, HOST_OLD) &&
		    host_read(s->h, at, COPY_MAX, a, &other, &other_len) == 0 && other_len == len &&
		    memcmp(other, text, len) == 0)
			return at;
	}
	return NULL;
}

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

static const char *token_of(struct arena *a, const struct persist_entry *row)
{
	return arena_printf(a, *row->value ? "%s=%s" : "%s", row->knob.name, row->value);
}

static int check_tokens(struct persisting *s, const char *program, const char *menu)
{
	for (size_t i = 0; i < s->p.n; i++) {
		const struct persist_entry *row = &s->p.rows[i];
		const char *token = token_of(s->d->arena, row);

		if (row->keeper == PERSIST_IN_BOOT_ARGUMENT && !menu_has(menu, token))
			return door_refuse(s->d, EXIT_FINDINGS,
					   "%s succeeded, but the boot menu has no \"%s\"", program,
					   token);
	}
	return 0;
}

/* The menu of GRUB; NULL: none that can be read. */
static const char *grub_menu(struct persisting *s)
{
	static const char *const menus[] = { "/boot/grub/grub.cfg", "/boot/grub2/grub.cfg" };
	char *menu;

	for (size_t i = 0; i < 2; i++)
		if (host_read(s->h, menus[i], MENU_MAX, s->d->arena, &menu, NULL) == 0)
			return menu;
	return NULL;
}

static int update_grub(struct persisting *s)
{
	char *const argv[] = { "update-grub", NULL };
	const char *said, *menu;
	int r = persist_run_program(s->d->arena, argv, MENU_MS, &said);

	if (r == -ENOENT)
		return door_refuse(s->d, EXIT_FINDINGS,
				   "update-grub not found: run your distribution's tool "
				   "(grub2-mkconfig -o /boot/grub2/grub.cfg)");
	if (r)
		return door_refuse(s->d, EXIT_FINDINGS, "update-grub failed (%d): %.300s", r, said);
	menu = grub_menu(s);
	return menu ? check_tokens(s, "update-grub", menu)
		    : door_refuse(s->d, EXIT_BLIND,
				  "update-grub succeeded, but the boot menu could not be read");
}

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
			   *path = arena_printf(s->d->arena, "%.*s%s%s", (int)(at - stem), stem,
						release, at + 2);

		if (host_exists(s->h, path))
			return path;
	}
	return NULL;
}

/* The entries of every kernel that is installed, so that an older one boots with them too. */
static int add_kernels(struct persisting *s)
{
	struct arena *a = s->d->arena;
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
			return door_refuse(s->d, EXIT_FINDINGS, "kernel-install not found");
		if (r)
			return door_refuse(s->d, EXIT_FINDINGS,
					   "kernel-install add %s failed (%d): %.300s", names[i], r,
					   said);
		added++;
	}
	return added ? 0
		     : door_refuse(
			       s->d, EXIT_FINDINGS,
			       "no kernel found in /usr/lib/modules: run kernel-install for yours");
}

/* The options of the entry for the kernel that runs, with a blank before the first; NULL. */
static const char *entry_options(struct persisting *s)
{
	static const char *const folders[] = { "/boot/loader/entries", "/efi/loader/entries",
					       "/boot/efi/loader/entries" };
	struct arena *a = s->d->arena;
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

static int run_kernel_install(struct persisting *s)
{
	int code = add_kernels(s);
	const char *text = code ? NULL : entry_options(s);

	if (code)
		return code;
	return text ? check_tokens(s, "kernel-install", text)
		    : door_refuse(s->d, EXIT_BLIND,
				  "kernel-install succeeded, but no readable loader entry is for "
				  "the running kernel: run verify --boot after the reboot");
}

int persist_update_boot(struct persisting *s)
{
	const enum boot_menu kind = host_boot_menu(s->h);

	if (kind == BOOT_MENU_EXTLINUX)
		return 0; /* the loader reads the file that holds them */
	return kind == BOOT_MENU_KERNEL_INSTALL ? -run_kernel_install(s) : -update_grub(s);
}

/* An argument in the file that the loader does not have yet. Where what the loader reads is
 * unreadable, the arguments of this boot count. */
static void doubt_menu(struct persisting *s)
{
	const char *maker = boot_menu_maker(host_boot_menu(s->h));
	const char *menu = !maker || *maker == 'u' ? grub_menu(s) : entry_options(s), *text = menu;
	char *now;

	if (!menu && host_read(s->h, "/proc/cmdline", MENU_MAX, s->d->arena, &now, NULL) == 0)
		text = now;
	for (size_t i = 0; i < s->p.n && maker; i++) {
		struct persist_entry *row = &s->p.rows[i];

		if (row->keeper == PERSIST_IN_BOOT_ARGUMENT && !row->loses && !row->contested &&
		    !(text && menu_has(text, token_of(s->d->arena, row))))
			row->contested = arena_printf(s->d->arena, "in effect %s %s has run",
						      menu ? "once" : "if", maker);
	}
}

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
	for (size_t i = 0; i < 2; i++)
		if (persist_run_program(s->d->arena, i ? rules : daemon, RELOAD_MS, &said))
			door_warn(s->d, "%s failed (%.200s): takes effect at the next boot",
				  i ? "udevadm control --reload" : "systemctl daemon-reload", said);
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

/* The path of this program for the unit; NULL, which was said: anybody could replace it, which is
 * of no matter as long as nothing is written. */
static const char *persist_program(const struct persisting *s)
{
	char path[HOST_PATH_MAX];

	if (s->h->id.captured || folder_program(path, sizeof(path)))
		return "/usr/bin/gputune";
	if (!s->writes || is_safe(path))
		return arena_strdup(s->d->arena, path);
	door_refuse(s->d, EXIT_NOT_APPLIED,
		    "%s would run at every boot, but it is in a user's folder or writable by other "
		    "users: install gputune first",
		    path);
	return NULL;
}

void persist_fill_view(struct persisting *s)
{
	s->view.rows = s->p.rows;
	s->view.n = s->p.n;
	s->view.notes = s->p.notes;
	s->view.n_notes = s->p.n_notes;
}

int persist_make_files(struct persisting *s)
{
	s->wish.program = persist_program(s);
	if (!s->wish.program)
		return -EXIT_NOT_APPLIED;
	persist_make(s->d->arena, s->m, &s->wish, &s->p);
	if (!s->ask->update_grub)
		doubt_menu(s);
	persist_fill_view(s);
	return 0;
}

/* What the journal calls them: they belong to many settings. */
static const struct setting for_files = { .id = "persist.files",
					  .title = "Files for the next boot",
					  .risk = RISK_LOW,
					  .effect = EFFECT_REBOOT };

static void plan_file(struct persisting *s, const struct setting *of, const char *target,
		      const struct knob *k, const char *before, const char *after)
{
	struct plan *p = &s->plan;

	ARENA_ADD(s->d->arena, p->changes, p->n) = (struct change){ .s = of,
								    .target = target,
								    .knob = *k,
								    .before = before,
								    .after = after,
								    .why = of->title,
								    .risk = of->risk,
								    .effect = of->effect };
}

static struct persist_view_file *add_file(struct persisting *s, const char *path)
{
	struct persist_view *v = &s->view;

	ARENA_ADD(s->d->arena, v->files, v->n_files) = (struct persist_view_file){ .path = path };
	return &v->files[v->n_files - 1];
}

static bool is_planned(const struct persisting *s, const struct knob *k)
{
	for (size_t i = 0; i < s->plan.n; i++)
		if (knob_equal(&s->plan.changes[i].knob, k))
			return true;
	return false;
}

/* Folders on the way to path that are not there, outermost first. */
static void plan_folders(struct persisting *s, const char *path)
{
	struct arena *a = s->d->arena;

	for (const char *slash = strchr(path + strlen("/etc/"), '/'); slash;
	     slash = strchr(slash + 1, '/')) {
		const struct knob k = { KNOB_FILE,
					arena_strndup(a, path, (size_t)(slash - path) + 1), "" };
		const char *now;
		struct err ignored = { 0 };

		if (is_planned(s, &k) || knob_get(s->h, a, &k, &now, &ignored) ||
		    strcmp(now, "absent") != 0)
			continue;
		plan_file(s, &for_files, "", &k, now, knob_file_value(a, 0755, "", 0));
	}
}

/* The text behind a value; NULL: no file. */
static const char *file_text(struct arena *a, const char *value)
{
	const char *text;
	unsigned mode;
	size_t len;

	if (strncmp(value, "link:", 5) == 0)
		return arena_printf(a, "%s\n", value);
	return knob_file_parse(a, value, &mode, &text, &len) ? text : NULL;
}

void persist_stays(struct persisting *s, const struct knob *k, const char *value)
{
	struct plan *p = &s->plan;

	ARENA_ADD(s->d->arena, p->stays, p->n_stays) = (struct stays){ *k, value };
}

/* One file or link that shall be; true when it is somebody else's. */
static bool compare_file(struct persisting *s, const char *path, const char *want, bool force)
{
	struct arena *a = s->d->arena;
	const struct knob k = { KNOB_FILE, path, "" };
	struct persist_view_file *f = add_file(s, path);
	const struct entry *ours = layer_top(&s->journal, &k);
	struct err e = { 0 };
	const char *now;

	if (knob_get(s->h, a, &k, &now, &e)) {
		f->state = PERSIST_FILE_UNSEEN;
		f->sentence = arena_strdup(a, e.text);
		return true;
	}
	f->diff = persist_diff(a, path, file_text(a, now), file_text(a, want));
	f->state = strcmp(now, want) == 0	? PERSIST_FILE_SAME
		   : strcmp(now, "absent") == 0 ? PERSIST_FILE_NEW
						: PERSIST_FILE_CHANGED;
	if (f->state == PERSIST_FILE_CHANGED && (!ours || strcmp(now, ours->after) != 0)) {
		f->state = PERSIST_FILE_FOREIGN;
		f->sentence = ours ? "edited since gputune wrote it" : "not written by gputune";
		if (!force || !knob_valid(&k, now, NULL))
			return true;
	}
	if (f->state != PERSIST_FILE_SAME) {
		plan_folders(s, path);
		plan_file(s, &for_files, "", &k, now, want);
	} else {
		ARENA_ADD(a, s->plan.stays, s->plan.n_stays) = (struct stays){ k, now };
	}
	return false;
}

/* A boot argument is a token of the drop-in, which its own knob writes. */
static bool compare_argument(struct persisting *s, const struct persist_entry *row)
{
	struct err e = { 0 };
	struct persist_view_file *f;
	const char *now;
	int r = knob_get(s->h, s->d->arena, &row->knob, &now, &e);

	if (r == 0) {
		if (!knob_same(&row->knob, now, row->value))
			plan_file(s, setting_find(row->id), row->target, &row->knob, now,
				  row->value);
		return false;
	}
	f = add_file(s, persist_boot_file(s->m));
	f->state = PERSIST_FILE_UNSEEN;
	f->sentence = arena_strdup(s->d->arena, e.text);
	return true;
}

size_t persist_compare(struct persisting *s, bool force)
{
	struct arena *a = s->d->arena;
	size_t others = 0;

	for (size_t i = 0; i < s->p.n; i++)
		if (s->p.rows[i].keeper == PERSIST_IN_BOOT_ARGUMENT)
			others += compare_argument(s, &s->p.rows[i]);
	for (size_t i = 0; i < s->p.n_files; i++) {
		const struct persist_file *f = &s->p.files[i];

		others += compare_file(
			s, f->path, knob_file_value(a, f->mode, f->text, strlen(f->text)), force);
	}
	if (s->p.n_files)
		others += compare_file(s, PERSIST_UNIT_LINK, "link:" PERSIST_UNIT, force);
	return others;
}

static const char *look_sentence(struct persisting *s, const struct entry *e,
				 enum persist_file_state state)
{
	const char *copy = NULL;

	if (state == PERSIST_FILE_FOREIGN)
		return "edited since gputune wrote it";
	if (state == PERSIST_FILE_MISSING && e->knob.kind == KNOB_FILE)
		copy = persist_copy_of(s, e->knob.name, e->after);
	return copy ? arena_printf(s->d->arena, "the old contents are in %s", copy) : NULL;
}

/* By now the file of the row does not set it: an argument that undo took out of it. */
static bool is_taken_out(struct door *d, struct host *h, const struct persist_entry *row)
{
	struct err ignored = { 0 };
	const char *now;

	if (row->keeper != PERSIST_IN_BOOT_ARGUMENT)
		return *row->by == '/' && !host_exists(h, row->by);
	return knob_get(h, d->arena, &row->knob, &now, &ignored) == 0 &&
	       !knob_same(&row->knob, now, row->value);
}

/* What the file of a row does by now; NULL: what it says. */
static const char *file_trouble(struct persisting *s, const struct persist_entry *row)
{
	if (is_taken_out(s->d, s->h, row))
		return host_exists(s->h, row->by) ? "the file no longer sets the value"
						  : "the file no longer exists";
	for (size_t i = 0; i < s->view.n_files && *row->by; i++)
		if (strcmp(s->view.files[i].path, row->by) == 0 &&
		    s->view.files[i].state == PERSIST_FILE_FOREIGN)
			return "the file was edited since gputune wrote it";
	return NULL;
}

size_t persist_doubt_rows(struct persisting *s)
{
	size_t n = 0;

	for (size_t i = 0; i < s->p.n; i++) {
		const char *trouble = file_trouble(s, &s->p.rows[i]);

		if (trouble && !s->p.rows[i].loses)
			s->p.rows[i].contested = trouble;
		n += trouble != NULL;
	}
	doubt_menu(s);
	return n;
}

const char *persist_setting_ids(struct door *d, struct host *h, const struct txn_report *undone)
{
	struct persist_entry *kept;
	size_t n = persist_request_rows(d, h, &kept);
	TEXT_AUTO ids = { 0 };

	for (size_t i = 0; i < n; i++) {
		bool gone = is_taken_out(d, h, &kept[i]);

		for (size_t k = 0; kept[i].knob.kind == KNOB_BOOTARG && k < undone->n; k++)
			gone = gone || knob_equal(&undone->rows[k].knob, &kept[i].knob);
		if (!gone)
			persist_add_id(&ids, kept[i].id);
	}
	return ids.len ? arena_strdup(d->arena, ids.s) : NULL;
}

size_t persist_look(struct persisting *s)
{
	size_t differ = 0;

	for (size_t i = 0; i < s->journal.n; i++)
		for (size_t k = 0; k < s->journal.items[i].n; k++) {
			const struct entry *e = &s->journal.items[i].entries[k];
			struct persist_view_file *f;
			struct err why = { 0 };
			const char *now;

			if (strcmp(s->journal.items[i].op, "persist") != 0 || !entry_is_active(e) ||
			    layer_above(&s->journal, e) || str_ends(e->knob.name, "/"))
				continue;
			if (e->unread) {
				f = add_file(s, arena_printf(s->d->arena, "transaction %lu, %s",
							     e->txn, e->id));
				f->state = PERSIST_FILE_UNSEEN;
				f->sentence = "the journal's line is unreadable";
				differ++;
				continue;
			}
			f = add_file(s,
				     e->knob.kind == KNOB_FILE
					     ? e->knob.name
					     : arena_printf(s->d->arena, "%s: %s",
							    persist_boot_file(s->m), e->knob.name));
			if (knob_get(s->h, s->d->arena, &e->knob, &now, &why)) {
				f->state = PERSIST_FILE_UNSEEN;
				f->sentence = arena_strdup(s->d->arena, why.text);
			} else {
				f->state =
					strcmp(now, e->after) == 0 ? PERSIST_FILE_SAME
					: strcmp(now, "absent") == 0 || strcmp(now, "not set") == 0
						? PERSIST_FILE_MISSING
						: PERSIST_FILE_FOREIGN;
				f->sentence = look_sentence(s, e, f->state);
			}
			differ += f->state != PERSIST_FILE_SAME;
		}
	return differ;
}

/* --- what was interrupted --------------------------------------------------------------------- */

/* Adds the entry's file, unless it holds what it held before, and temporary files next to it. */
static void add_there(struct persisting *s, const struct entry *e, struct text *out)
{
	struct arena *a = s->d->arena;
	struct err ignored = { 0 };
	const char *now;
	size_t n;
	struct knob_left *left = knob_left_over(s->h, a, &e->knob, &n);

	if (knob_get(s->h, a, &e->knob, &now, &ignored) == 0 && e->before &&
	    !knob_same(&e->knob, now, e->before))
		text_printf(out, "%s%s", out->len ? ", " : "",
			    e->knob.kind == KNOB_FILE ? e->knob.name : knob_text(a, &e->knob));
	for (size_t i = 0; i < n; i++)
		text_printf(out, "%s%s", out->len ? ", " : "", left[i].path);
}

size_t persist_note_open(struct persisting *s)
{
	size_t found = 0;

	for (size_t i = 0; i < s->journal.n; i++) {
		const struct transaction *t = &s->journal.items[i];
		bool open = t->state == TRANSACTION_OPEN, back = false;
		TEXT_AUTO there = { 0 };

		if (strcmp(t->op, "persist") != 0)
			continue;
		for (size_t k = 0; k < t->n; k++) {
			const struct entry *e = &t->entries[k];

			back = back || (entry_is_active(e) && e->undoing);
			if (entry_is_active(e) && !e->unread && !layer_above(&s->journal, e))
				add_there(s, e, &there);
		}
		if (!open && !back)
			continue;
		found++;
		persist_note(s->d->arena, &s->p,
			     arena_printf(s->d->arena,
					  "%s was interrupted (transaction %lu) and left: %s. "
					  "\"gputune persist remove\" removes all of it.",
					  back ? "A removal" : "An installation", t->txn,
					  there.len ? there.s : "nothing"));
	}
	return found;
}
