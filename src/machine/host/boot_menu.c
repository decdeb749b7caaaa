/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Telling boot menus apart. systemd-boot leaves its name in a variable of the firmware (Boot Loader
 * Interface); GRUB's generator is a script that names what it reads.
 */
#include "machine/host/boot_menu.h"

#include <string.h>

#include "base/text.h"

#define LOADER_INFO "/sys/firmware/efi/efivars/LoaderInfo-4a67b082-0a4c-41cf-b6c7-440b29bb8c4f"

enum { FILE_MAX = 1 << 16, INFO_MAX = 4096 };

const char *boot_menu_name(enum boot_menu m)
{
	static const char *const names[] = { "other", "grub", "grubby", "kernel-install",
					     "kernel-install-without-file" };

	return names[m];
}

static bool has_any(struct host *h, const char *const *paths, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (host_exists(h, paths[i]))
			return true;
	return false;
}

/* Four bytes of attributes, then UTF-16, little endian: 1 when it begins with the word, 0 when not,
 * -1 when the firmware was told nothing. */
static int loader_is(struct host *h, struct arena *a, const char *word)
{
	char *data;
	size_t len;

	if (host_read(h, LOADER_INFO, INFO_MAX, a, &data, &len) || len < 6)
		return -1;
	for (size_t i = 0; word[i]; i++)
		if (4 + 2 * i + 1 >= len || data[4 + 2 * i] != word[i] || data[5 + 2 * i])
			return 0;
	return 1;
}

static bool is_systemd_boot(struct host *h, struct arena *a)
{
	static const char *const own[] = { "/boot/loader/loader.conf", "/efi/loader/loader.conf",
					   "/boot/efi/loader/loader.conf" },
				 *const grub[] = { "/boot/grub/grub.cfg", "/boot/grub2/grub.cfg",
						   "/etc/default/grub", "/etc/default/grub.d" };
	int said = loader_is(h, a, "systemd-boot");

	return said < 0 ? has_any(h, own, 3) && !has_any(h, grub, 4) : said == 1;
}

/* Whether the generator of GRUB's menu is one that reads the folder. Unknown counts as yes. */
static bool reads_drop_ins(struct host *h, struct arena *a)
{
	static const char *const generators[] = { "/usr/sbin/grub-mkconfig",
						  "/usr/sbin/grub2-mkconfig" };
	char *text;

	for (size_t i = 0; i < sizeof(generators) / sizeof(generators[0]); i++)
		if (host_read(h, generators[i], FILE_MAX, a, &text, NULL) == 0)
			return strstr(text, "default/grub.d") != NULL;
	return true;
}

/* Whether GRUB takes arguments from loader entries instead of its own menu. */
static bool takes_entries(struct host *h, struct arena *a)
{
	static const char key[] = "GRUB_ENABLE_BLSCFG=";
	char *text;
	bool on = false;

	if (host_read(h, "/etc/default/grub", FILE_MAX, a, &text, NULL))
		return false;
	for (char *save = NULL, *line = strtok_r(text, "\n", &save); line;
	     line = strtok_r(NULL, "\n", &save)) {
		const char *value = str_starts(line, key) ? line + strlen(key) : NULL;

		if (value)
			on = str_starts(value + strspn(value, "\"'"), "true");
	}
	return on;
}

static enum boot_menu menu_of(struct host *h, struct arena *a)
{
	static const char *const grubby[] = { "/usr/sbin/grubby", "/usr/bin/grubby" };

	if (is_systemd_boot(h, a))
		return host_exists(h, BOOT_CMDLINE) ? BOOT_MENU_KERNEL_INSTALL
						    : BOOT_MENU_NO_CMDLINE;
	if (host_exists(h, "/etc/default/grub") || host_exists(h, "/etc/default/grub.d")) {
		if (takes_entries(h, a))
			return BOOT_MENU_GRUBBY;
		return reads_drop_ins(h, a)    ? BOOT_MENU_GRUB
		       : has_any(h, grubby, 2) ? BOOT_MENU_GRUBBY
					       : BOOT_MENU_OTHER;
	}
	return host_exists(h, BOOT_CMDLINE) ? BOOT_MENU_KERNEL_INSTALL : BOOT_MENU_OTHER;
}

enum boot_menu host_boot_menu(struct host *h)
{
	struct arena a = { 0 };
	enum boot_menu out = menu_of(h, &a);

	arena_free(&a);
	return out;
}
