/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Telling boot menus apart. systemd-boot leaves its name in a variable of the firmware (Boot Loader
 * Interface); GRUB's generator is a script that names what it reads.
 */
#include "machine/host/boot_menu.h"

#include <string.h>

#include "base/text.h"
#include "machine/host/extlinux.h"

#define LOADER_INFO "/sys/firmware/efi/efivars/LoaderInfo-4a67b082-0a4c-41cf-b6c7-440b29bb8c4f"

enum { FILE_MAX = 1 << 16, INFO_MAX = 4096 };

static const struct {
	const char *name, *file, *maker, *by_hand;
} menus[BOOT_MENUS] = {
	[BOOT_MENU_OTHER] = { "other", BOOT_DROP_IN, "update-grub",
			      "the boot loader of the machine reads no drop-in files: add %s to "
			      "its configuration" },
	[BOOT_MENU_GRUB] = { "grub", BOOT_DROP_IN, "update-grub", NULL },
	[BOOT_MENU_GRUBBY] = { "grubby", BOOT_DROP_IN, "grubby",
			       "on the machine GRUB takes the arguments from its loader entries: "
			       "grubby --update-kernel=ALL --args=\"%s\"" },
	[BOOT_MENU_KERNEL_INSTALL] = { "kernel-install", BOOT_CMDLINE, "kernel-install add-all",
				       NULL },
	[BOOT_MENU_NO_CMDLINE] = { "kernel-install-without-file", BOOT_DROP_IN,
				   "kernel-install add-all",
				   "on the machine kernel-install copies the arguments of the "
				   "running kernel: write the contents of /proc/cmdline and %s "
				   "to " BOOT_CMDLINE ", then run kernel-install add-all" },
	[BOOT_MENU_EXTLINUX] = { "extlinux", EXTLINUX_CONF, NULL, NULL },
	[BOOT_MENU_UBOOT_UPDATE] = { "u-boot-update", BOOT_DROP_IN, "u-boot-update",
				     "u-boot-update writes " EXTLINUX_CONF
				     " on the machine: add %s to U_BOOT_PARAMETERS in "
				     "/etc/default/u-boot, then run u-boot-update" },
	[BOOT_MENU_UNCLEAR] = { "unclear", BOOT_DROP_IN, "update-grub",
				"unclear whether GRUB or " EXTLINUX_CONF
				" boots the machine: add %s to the one that does" },
};

const char *boot_menu_name(enum boot_menu m)
{
	return menus[m].name;
}

enum boot_menu boot_menu_parse(const char *name)
{
	for (int i = 0; i < BOOT_MENUS; i++)
		if (strcmp(menus[i].name, name) == 0)
			return (enum boot_menu)i;
	return BOOT_MENU_OTHER;
}

const char *boot_menu_file(enum boot_menu m)
{
	return menus[m].file;
}

const char *boot_menu_maker(enum boot_menu m)
{
	return menus[m].maker;
}

const char *boot_menu_by_hand(struct arena *a, enum boot_menu m, const char *token)
{
	const char *text = menus[m].by_hand, *hole = text ? strstr(text, "%s") : NULL;

	return hole ? arena_printf(a, "%.*s%s%s", (int)(hole - text), text, token, hole + 2) : NULL;
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

/* Every argument of the entry but those that the loader fills in, and ours, which may be new. */
static bool came_from(const char *cmdline, const struct extlinux_part *append)
{
	const char *end = append->at + append->n,
		   *ours = memmem(append->at, append->n, " gputune.args=", 14);
	size_t words = 0, n;

	for (const char *at = append->at; at < (ours ? ours : end); at += n) {
		at += strspn(at, " \t");
		n = strcspn(at, " \t\r\n");
		if (!n)
			break;
		if (memmem(at, n, "${", 2))
			continue;
		if (!words_have(cmdline, at, n))
			return false;
		words++;
	}
	return words > 0;
}

/* Who started the kernel that runs? GRUB and SYSLINUX begin its line with BOOT_IMAGE=, U-Boot and
 * NVIDIA's launcher do not. grub: files of GRUB are there as well. */
static enum boot_menu of_two(struct host *h, struct arena *a, const struct extlinux_entry *e,
			     bool grub, const char **why)
{
	char *cmdline = NULL;
	bool image;

	if (host_read(h, "/proc/cmdline", FILE_MAX, a, &cmdline, NULL))
		cmdline = NULL;
	image = cmdline && strstr(cmdline, "BOOT_IMAGE=") &&
		!host_exists(h, "/boot/extlinux/ldlinux.sys");
	*why = image ? "BOOT_IMAGE= in /proc/cmdline" : "GRUB in the firmware's LoaderInfo";
	if (image || loader_is(h, a, "GRUB") == 1)
		return grub ? BOOT_MENU_GRUB : BOOT_MENU_UNCLEAR;
	*why = EXTLINUX_CONF ", and no GRUB files";
	if (!grub)
		return BOOT_MENU_EXTLINUX;
	*why = "/proc/cmdline contains all arguments of " EXTLINUX_CONF;
	if (cmdline && e->append.n && came_from(cmdline, &e->append))
		return BOOT_MENU_EXTLINUX;
	*why = "files of two boot loaders, and /proc/cmdline matches neither";
	return BOOT_MENU_UNCLEAR;
}

/* BOOT_MENU_OTHER: there is no such file. */
static enum boot_menu by_extlinux(struct host *h, struct arena *a, const char **why)
{
	static const char *const grub[] = { "/etc/default/grub", "/etc/default/grub.d",
					    "/boot/grub/grub.cfg" };
	struct extlinux_entry e = { 0 };
	enum boot_menu out;
	char *text;

	if (!host_exists(h, EXTLINUX_CONF))
		return BOOT_MENU_OTHER;
	if (host_read(h, EXTLINUX_CONF, FILE_MAX, a, &text, NULL) == 0)
		(void)extlinux_parse(text, &e);
	out = of_two(h, a, &e, has_any(h, grub, 3), why);
	return out == BOOT_MENU_EXTLINUX && e.made ? BOOT_MENU_UBOOT_UPDATE : out;
}

static enum boot_menu menu_of(struct host *h, struct arena *a, const char **why)
{
	static const char *const grubby[] = { "/usr/sbin/grubby", "/usr/bin/grubby" };
	enum boot_menu extlinux;

	*why = "files of the boot loaders";
	if (is_systemd_boot(h, a))
		return host_exists(h, BOOT_CMDLINE) ? BOOT_MENU_KERNEL_INSTALL
						    : BOOT_MENU_NO_CMDLINE;
	extlinux = by_extlinux(h, a, why);
	if (extlinux != BOOT_MENU_OTHER && extlinux != BOOT_MENU_GRUB)
		return extlinux;
	if (host_exists(h, "/etc/default/grub") || host_exists(h, "/etc/default/grub.d")) {
		if (takes_entries(h, a))
			return BOOT_MENU_GRUBBY;
		return reads_drop_ins(h, a)    ? BOOT_MENU_GRUB
		       : has_any(h, grubby, 2) ? BOOT_MENU_GRUBBY
					       : BOOT_MENU_OTHER;
	}
	return host_exists(h, BOOT_CMDLINE) ? BOOT_MENU_KERNEL_INSTALL : BOOT_MENU_OTHER;
}

enum boot_menu host_boot_menu_why(struct host *h, const char **why)
{
	ARENA_AUTO a = { 0 };

	return menu_of(h, &a, why);
}

enum boot_menu host_boot_menu(struct host *h)
{
	const char *why;

	return host_boot_menu_why(h, &why);
}
