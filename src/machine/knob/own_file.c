/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Files, folders and links that are wholly ours: drop-ins for the next boot. Only names of a fixed
 * list of shapes are ever touched. The value is the whole state in one line of ASCII:
 *   "absent", "link:TARGET",
 *   "0644:TEXT"     a file: its mode, and its text with \n, \t, \\ and \0NNN for all that is not
 *                   printable ASCII
 *   "0755:"         an empty folder (its name ends in a slash); "0755:others" when something is
 *                   in it, so that it cannot go
 */
#include <fnmatch.h>
#include <string.h>

#include "base/text.h"
#include "machine/write/write.h"
#include "machine/knob/kinds.h"

enum { CONTENT_MAX = 1 << 18 };

static const char absent[] = "absent", link_start[] = "link:", others[] = "others";

/* No star matches a slash. The mode is the one such a file has where it cannot be asked. */
static const struct {
	const char *pattern;
	unsigned mode;
} shapes[] = {
	{ "/etc/gputune/*.json", 0644 },
	{ "/etc/sysctl.d/*gputune*.conf", 0644 },
	{ "/etc/tmpfiles.d/*gputune*.conf", 0644 },
	{ "/etc/udev/rules.d/*gputune*.rules", 0644 },
	{ "/etc/modprobe.d/*gputune*.conf", 0644 },
	{ "/etc/modules-load.d/*gputune*.conf", 0644 },
	{ "/etc/systemd/system/gputune-*.service", 0644 },
	{ "/etc/systemd/system/*.wants/gputune-*.service", 0644 },
	{ "/etc/systemd/system/*.d/*gputune*.conf", 0644 },
	{ "/etc/systemd/system.conf.d/*gputune*.conf", 0644 },
	{ "/etc/systemd/network/*.d/*gputune*.conf", 0644 },
	{ "/etc/systemd/network/*gputune*.network", 0644 },
	{ "/run/systemd/network/*gputune*.network", 0644 },
	{ "/etc/default/grub.d/*gputune*.cfg", 0644 },
	{ "/etc/netplan/*gputune*.yaml", 0600 },
	{ "/run/netplan/*gputune*.yaml", 0600 },
	{ "/etc/NetworkManager/conf.d/*gputune*.conf", 0644 },
	{ "/etc/NetworkManager/system-connections/*gputune*.nmconnection", 0600 },
	{ "/run/NetworkManager/system-connections/*gputune*.nmconnection", 0600 },
	{ "/etc/security/limits.d/*gputune*.conf", 0644 },
	/* Folders that such a file may need. */
	{ "/etc/gputune/", 0755 },
	{ "/etc/sysctl.d/", 0755 },
	{ "/etc/tmpfiles.d/", 0755 },
	{ "/etc/udev/", 0755 },
	{ "/etc/udev/rules.d/", 0755 },
	{ "/etc/modprobe.d/", 0755 },
	{ "/etc/modules-load.d/", 0755 },
	{ "/etc/systemd/", 0755 },
	{ "/etc/systemd/system/", 0755 },
	{ "/etc/systemd/system/*.wants/", 0755 },
	{ "/etc/systemd/system/*.d/", 0755 },
	{ "/etc/systemd/system.conf.d/", 0755 },
	{ "/etc/systemd/network/", 0755 },
	{ "/etc/systemd/network/*.d/", 0755 },
	{ "/run/systemd/network/", 0755 },
	{ "/etc/netplan/", 0755 },
	{ "/run/netplan/", 0755 },
	{ "/etc/NetworkManager/", 0755 },
	{ "/etc/NetworkManager/conf.d/", 0755 },
	{ "/etc/NetworkManager/system-connections/", 0700 },
	{ "/run/NetworkManager/", 0755 },
	{ "/run/NetworkManager/system-connections/", 0755 },
	{ "/etc/security/", 0755 },
	{ "/etc/security/limits.d/", 0755 },
};
enum { SHAPES = sizeof(shapes) / sizeof(shapes[0]) };

/* 0 when the name has none of the shapes. */
static unsigned usual_mode(const char *name)
{
	for (size_t i = 0; i < SHAPES; i++)
		if (fnmatch(shapes[i].pattern, name, FNM_PATHNAME | FNM_PERIOD | FNM_NOESCAPE) == 0)
			return shapes[i].mode;
	return 0;
}

static bool is_folder(const char *name)
{
	return str_ends(name, "/");
}

/* --- the text of a value ---------------------------------------------------------------------- */

static bool is_plain(char c)
{
	return c >= ' ' && c < 0x7f && c != '\\';
}

const char *knob_file_value(struct arena *a, unsigned mode, const char *text, size_t len)
{
	TEXT_AUTO out = { 0 };

	text_printf(&out, "%04o:", mode & 07777);
	for (size_t i = 0; i < len; i++) {
		char c = text[i];

		if (is_plain(c))
			text_addc(&out, c);
		else if (c == '\n' || c == '\t' || c == '\\')
			text_printf(&out, "\\%c", c == '\n' ? 'n' : c == '\t' ? 't' : '\\');
		else
			text_printf(&out, "\\0%03o", (unsigned)(unsigned char)c);
	}
	return arena_strdup(a, out.s);
}

static bool is_octal(char c)
{
	return c >= '0' && c <= '7';
}

/* The character that an escape behind a backslash stands for, -1 when it is none; *s is moved. */
static int own_file_unescape(const char **s)
{
	const char *p = *s;

	if (*p == 'n' || *p == 't' || *p == '\\') {
		*s = p + 1;
		return *p == 'n' ? '\n' : *p == 't' ? '\t' : '\\';
	}
	if (p[0] != '0' || p[1] < '0' || p[1] > '3' || !is_octal(p[2]) || !is_octal(p[3]))
		return -1;
	*s = p + 4;
	return ((p[1] - '0') << 6) | ((p[2] - '0') << 3) | (p[3] - '0');
}

bool knob_file_parse(struct arena *a, const char *value, unsigned *mode, const char **text,
		     size_t *len)
{
	const char *s = value;
	char *out;
	size_t n = 0;

	*mode = 0;
	for (; s < value + 4; s++) {
		if (!is_octal(*s))
			return false;
		*mode = *mode * 8 + (unsigned)(*s - '0');
	}
	if (*s++ != ':')
		return false;
	out = arena_alloc(a, strlen(s) + 1);
	while (*s) {
		int c = (unsigned char)*s++;

		if (c == '\\')
			c = own_file_unescape(&s);
		else if (!is_plain((char)c))
			c = -1;
		if (c < 0)
			return false;
		out[n++] = (char)c;
	}
	*text = out;
	*len = n;
	return true;
}

/* --- reading ---------------------------------------------------------------------------------- */

/* What a capture never looked at it does not have: these names are ours alone. */
static bool is_missing(int r)
{
	return r == -ENOENT || r == -ENOTDIR || r == HOST_NOT_CAPTURED;
}

static unsigned mode_of(struct host *h, const char *path, const char *name)
{
	unsigned mode;

	return host_mode(h, path, &mode) == 0 ? mode : usual_mode(name);
}

/* The folder's name without the slash. */
static const char *folder_path(struct arena *a, const char *name)
{
	return arena_strndup(a, name, strlen(name) - 1);
}

/* What a crash in the middle of a write left. */
static bool is_left_over(struct host *h, struct arena *a, const char *folder, const char *name)
{
	return str_ends(name, HOST_NEW) &&
	       knob_left_is_ours(h, arena_printf(a, "%s/%s", folder, name));
}

static int folder_get(struct host *h, struct arena *a, const char *name, const char **value)
{
	const char *path = folder_path(a, name);
	enum host_kind kind;
	char **names;
	size_t n;
	int r = host_kind(h, path, &kind);

	*value = absent;
	if (r)
		return is_missing(r) ? 0 : r;
	*value = "no folder";
	if (kind != HOST_DIR)
		return 0;
	n = 0;
	r = host_list(h, path, a, &names, &n);
	if (r && !is_missing(r))
		return r;
	*value = knob_file_value(a, mode_of(h, path, name), "", 0);
	for (size_t i = 0; i < n; i++)
		if (!is_left_over(h, a, path, names[i]))
			*value = knob_file_value(a, mode_of(h, path, name), others, strlen(others));
	return 0;
}

static int plain_get(struct host *h, struct arena *a, const char *name, const char **value)
{
	char target[HOST_PATH_MAX], *text;
	enum host_kind kind;
	size_t len;
	int r = host_kind(h, name, &kind);

	*value = absent;
	if (r)
		return is_missing(r) ? 0 : r;
	*value = "no file";
	if (kind == HOST_LINK) {
		r = host_link(h, name, target, sizeof(target));
		*value = arena_printf(a, "%s%s", link_start, target);
	} else if (kind == HOST_FILE) {
		r = host_read(h, name, CONTENT_MAX, a, &text, &len);
		if (r == 0)
			*value = knob_file_value(a, mode_of(h, name, name), text, len);
	}
	return r;
}

static int own_get(struct host *h, struct arena *a, const struct knob *k, const char **value,
		   struct err *e)
{
	int r = is_folder(k->name) ? folder_get(h, a, k->name, value)
				   : plain_get(h, a, k->name, value);

	return r ? knob_fail(e, r == -ENODATA ? -EIO : r, "read", k) : 0;
}

/* --- writing ---------------------------------------------------------------------------------- */

static int remove_path(struct host *h, const char *path)
{
	int r = host_remove(h, path);

	return r == -ENOENT || r == -ENOTDIR ? 0 : r;
}

/* What a crash left goes with the folder. */
static int folder_remove(struct host *h, struct arena *a, const char *path)
{
	char **names;
	size_t n = 0;
	int r = host_list(h, path, a, &names, &n);

	for (size_t i = 0; r == 0 && i < n; i++)
		if (is_left_over(h, a, path, names[i]))
			r = remove_path(h, arena_printf(a, "%s/%s", path, names[i]));
	return r && !is_missing(r) ? r : remove_path(h, path);
}

/* What was there before a write that failed, whatever was done of it. */
static void own_file_bring_back(struct host *h, struct arena *a, const char *path, const char *was)
{
	const char *now, *text;
	unsigned mode;
	size_t len;

	if (plain_get(h, a, path, &now) || strcmp(now, was) == 0 || remove_path(h, path))
		return;
	if (str_starts(was, link_start))
		(void)host_make_link(h, path, was + strlen(link_start));
	else if (knob_file_parse(a, was, &mode, &text, &len))
		(void)host_put(h, path, text, len, mode);
}

static int own_file_link_set(struct host *h, struct arena *a, const char *path, const char *target)
{
	const char *was;
	int r = plain_get(h, a, path, &was);

	if (r)
		return r;
	r = remove_path(h, path);
	if (r == 0)
		r = host_make_link(h, path, target);
	if (r)
		own_file_bring_back(h, a, path, was);
	return r;
}

static int own_file_own_set(struct host *h, struct arena *a, const struct knob *k,
			    const char *value, struct err *e)
{
	const char *text;
	unsigned mode;
	size_t len;
	int r;

	if (strcmp(value, absent) == 0 && is_folder(k->name)) {
		r = folder_remove(h, a, folder_path(a, k->name));
	} else if (strcmp(value, absent) == 0) {
		r = remove_path(h, k->name);
	} else if (str_starts(value, link_start)) {
		r = own_file_link_set(h, a, k->name, value + strlen(link_start));
	} else if (!knob_file_parse(a, value, &mode, &text, &len)) {
		r = -EINVAL;
	} else if (is_folder(k->name)) {
		r = host_make_dir(h, folder_path(a, k->name), mode);
	} else {
		r = host_put(h, k->name, text, len, mode);
	}
	return r ? knob_put_fail(h, e, r, k, k->name) : 0;
}

/* --- the rest --------------------------------------------------------------------------------- */

static bool value_valid(const char *name, const char *value)
{
	ARENA_AUTO a = { 0 };
	const char *text;
	unsigned mode;
	size_t len;

	if (strcmp(value, absent) == 0)
		return true;
	if (str_starts(value, link_start))
		return !is_folder(name) && value[strlen(link_start)] == '/' &&
		       strlen(value) - strlen(link_start) < HOST_PATH_MAX;
	return knob_file_parse(&a, value, &mode, &text, &len) && len <= CONTENT_MAX &&
	       (!is_folder(name) || len == 0);
}

static bool own_file_valid(const struct knob *k, const char *value, const char **why)
{
	if (!usual_mode(k->name) || strstr(k->name, "/../") || strstr(k->name, "/./"))
		return knob_unsound(why, "gputune writes no file of that name");
	if (*k->object)
		return knob_unsound(why, "\"object\" must be empty for a file");
	if (value && !value_valid(k->name, value))
		return knob_unsound(why,
				    "expected \"absent\", link:TARGET, or a file mode and text");
	return true;
}

static const char *own_command(struct arena *a, const struct knob *k, const char *value)
{
	const char *path = knob_quote(a, k->name), *text;
	unsigned mode;
	size_t len;

	if (strcmp(value, absent) == 0)
		return arena_printf(a, "%s %s", is_folder(k->name) ? "rmdir" : "rm -f", path);
	if (str_starts(value, link_start))
		return arena_printf(a, "ln -sfn %s %s", knob_quote(a, value + strlen(link_start)),
				    path);
	if (!knob_file_parse(a, value, &mode, &text, &len))
		return NULL;
	if (is_folder(k->name))
		return arena_printf(a, "mkdir -m %04o %s", mode, path);
	return arena_printf(a, "printf %%b %s > %s && chmod %04o %s", knob_quote(a, value + 5),
			    path, mode, path);
}

static size_t own_files(const struct knob *k, const char **out)
{
	out[0] = k->name;
	return !is_folder(k->name);
}

const struct knob_ops knob_ops_own_file = {
	.files = own_files,
	.get = own_get,
	.set = own_file_own_set,
	.valid = own_file_valid,
	.command = own_command,
	.exact = true,
};
