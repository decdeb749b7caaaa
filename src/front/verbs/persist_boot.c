/* SPDX-License-Identifier: Apache-2.0 */
/* Making the boot entries anew, on demand, by the program whose they are; and looking whether they
 * have what was asked for. */
#include <string.h>

#include "front/verbs/persist.h"
#include "machine/host/boot_menu.h"

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
