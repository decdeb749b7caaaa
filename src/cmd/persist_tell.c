/* SPDX-License-Identifier: Apache-2.0 */
/* Programs of the system that persist runs: by their names and fixed arguments, never with data. */
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cmd/persist.h"
#include "host/command.h"

enum { RELOAD_MS = 60000, MENU_MS = 300000, OUTPUT_MAX = 1 << 20, MENU_MAX = 4 << 20 };

static int run_program(struct arena *a, char *const *argv, int limit_ms, const char **said)
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
	if (run_program(&s->r->arena, daemon, RELOAD_MS, &said))
		complain_text(0, "systemctl daemon-reload failed (%.200s): the next boot does it",
			      said);
	if (run_program(&s->r->arena, rules, RELOAD_MS, &said))
		complain_text(0, "udevadm control --reload failed (%.200s): the next boot does it",
			      said);
}

/* Whether a line of the menu boots with the token; the file has one word behind another. */
static bool menu_has(const char *menu, const char *token)
{
	size_t n = strlen(token);

	for (const char *at = strstr(menu, token); at; at = strstr(at + 1, token))
		if (at > menu && strchr(" \t", at[-1]) && strchr(" \t\n", at[n]))
			return true;
	return false;
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
	for (size_t i = 0; i < s->p.n; i++) {
		const struct kept *row = &s->p.rows[i];
		const char *token =
			arena_printf(a, *row->value ? "%s=%s" : "%s", row->knob.name, row->value);

		if (row->keeper == KEEPER_BOOT_ARGUMENT && !menu_has(menu, token))
			return complain_text(
				EXIT_FINDINGS,
				"update-grub succeeded, but the boot menu has no \"%s\"", token);
	}
	return 0;
}

int persist_update_grub(struct persisting *s)
{
	char *const argv[] = { "update-grub", NULL };
	const char *said;
	int r;

	if (s->h->id.captured)
		return complain_text(EXIT_USAGE,
				     "--update-grub is for this machine, not for a captured one");
	r = run_program(&s->r->arena, argv, MENU_MS, &said);
	if (r == -ENOENT)
		return complain_text(EXIT_FINDINGS,
				     "there is no update-grub here: run your distribution's "
				     "(grub2-mkconfig -o /boot/grub2/grub.cfg)");
	if (r)
		return complain_text(EXIT_FINDINGS, "update-grub failed (%d): %.300s", r, said);
	return check_menu(s);
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

const char *persist_program(struct run *r, struct host *h)
{
	char path[HOST_PATH_MAX];
	ssize_t n;

	if (h->id.captured)
		return "/usr/bin/gputune";
	n = readlink("/proc/self/exe", path, sizeof(path) - 1);
	if (n <= 0)
		return "/usr/bin/gputune";
	path[n] = '\0';
	if (is_safe(path) || r->value[OPT_DRY_RUN])
		return arena_strdup(&r->arena, path);
	complain_text(
		EXIT_USAGE,
		"%s would be run at every boot, but it lies where users keep files, or others than "
		"root may change it: install gputune first",
		path);
	return NULL;
}
