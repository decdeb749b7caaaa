/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Kernel arguments for the next boot, in a drop-in of our own that the boot menu's generator reads,
 * among those of kernel-install, or among those of an extlinux.conf. Only what we wrote is ever
 * changed; where none of them is what starts the machine nothing is.
 */
#include <string.h>

#include "base/text.h"
#include "machine/host/boot_menu.h"
#include "machine/host/extlinux.h"
#include "machine/write/write.h"
#include "machine/knob/kinds.h"

#define FOLDER "/etc/default/grub.d"
#define DROP_IN BOOT_DROP_IN
/* Where a write to DROP_IN that a crash cut short may leave its half. */
#define DROP_IN_NEW DROP_IN HOST_NEW
/* Stands as long as FOLDER is one that we made: from before it is there until after it is gone. */
#define FOLDER_MARK "/etc/default/.gputune-made-grub.d"

#define LINE_START "GRUB_CMDLINE_LINUX_DEFAULT=\"$GRUB_CMDLINE_LINUX_DEFAULT "
#define LINE_END "\""

static const char not_set[] = "not set", not_finished[] = "not finished";

static const char header[] =
	"# Written by gputune: kernel arguments for the next boot, one a line.\n"
	"# Take them back with \"gputune undo\", or remove this file; then run update-grub.\n";

enum { FILE_MAX = 1 << 16, TOKENS_MAX = 128, NAME_MAX_LEN = 64, VALUE_MAX = 1024 };

/* "name=value" or "name". */
struct tokens {
	const char *items[TOKENS_MAX];
	size_t n;
};

static bool is_name(const char *s)
{
	return knob_is_word(s, NAME_MAX_LEN, "_.-");
}

/* Also passes unquoted through the boot menu, where ; & | < > { } $ and quotes mean something. */
static bool is_value(const char *s)
{
	return !*s || (strlen(s) <= VALUE_MAX &&
		       strspn(s, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
				 "_.,:=/@+-*%") == strlen(s));
}

static bool is_token(const char *s)
{
	ARENA_AUTO a = { 0 };
	const char *equals = strchr(s, '=');

	return is_name(equals ? arena_strndup(&a, s, (size_t)(equals - s)) : s) &&
	       (!equals || is_value(equals + 1));
}

/* Exactly what format() makes; -EBADMSG for anything else. */
static int bootarg_parse(struct arena *a, const char *text, struct tokens *out)
{
	if (!str_starts(text, header))
		return -EBADMSG;
	text += strlen(header);
	out->n = 0;
	while (*text) {
		size_t len = strcspn(text, "\n"), start = strlen(LINE_START),
		       end = strlen(LINE_END);
		const char *token;

		if (!text[len] || out->n == TOKENS_MAX || len <= start + end ||
		    !str_starts(text, LINE_START) || strncmp(text + len - end, LINE_END, end) != 0)
			return -EBADMSG;
		token = arena_strndup(a, text + start, len - start - end);
		if (!is_token(token))
			return -EBADMSG;
		out->items[out->n++] = token;
		text += len + 1;
	}
	return 0;
}

static const char *format(struct arena *a, const struct tokens *t)
{
	TEXT_AUTO out = { 0 };

	text_add(&out, header);
	for (size_t i = 0; i < t->n; i++)
		text_printf(&out, LINE_START "%s" LINE_END "\n", t->items[i]);
	return arena_strdup(a, out.s);
}

/* -ENOENT: there is no drop-in of ours. */
static int bootarg_load(struct host *h, struct arena *a, const char *verb, const struct knob *k,
			struct tokens *out, struct err *e)
{
	char *text;
	size_t len;
	int r = host_read(h, DROP_IN, FILE_MAX, a, &text, &len);

	if (r == -ENOENT || r == -ENOTDIR)
		return -ENOENT;
	if (r)
		return knob_fail(e, r, verb, k);
	if (strlen(text) == len && bootarg_parse(a, text, out) == 0)
		return 0;
	err_set(e, -EBADMSG, "could not %s %s: %s contains lines that gputune did not write", verb,
		k->name, DROP_IN);
	err_hint(e, "move your own lines to a separate file in the same folder");
	return -EBADMSG;
}

/* 0 when there is a place for a drop-in that the next boot menu takes up. */
static int takes_drop_ins(struct host *h, const char *verb, const struct knob *k, struct err *e)
{
	enum boot_menu menu = host_boot_menu(h);
	ARENA_AUTO a = { 0 };

	if (menu == BOOT_MENU_GRUB)
		return 0;
	err_set(e, -EOPNOTSUPP,
		"could not %s the kernel argument %s: the boot loader of the machine reads no "
		"drop-in files (%s)",
		verb, k->name, FOLDER);
	err_hint(e, "%s", boot_menu_by_hand(&a, menu, k->name));
	return -EOPNOTSUPP;
}

/* Takes the folder away if it is ours and nobody else put something there. */
static int tidy(struct host *h)
{
	int r;

	if (!host_exists(h, FOLDER_MARK) || host_exists(h, DROP_IN))
		return 0;
	if (host_exists(h, DROP_IN_NEW)) {
		r = host_remove(h, DROP_IN_NEW);
		if (r)
			return r;
	}
	r = host_remove(h, FOLDER);
	if (r && r != -ENOENT && r != -ENOTEMPTY && r != -EEXIST)
		return r;
	return host_remove(h, FOLDER_MARK);
}

static int bootarg_make_folder(struct host *h, const struct knob *k, struct err *e)
{
	static const char mark[] = "gputune created the folder grub.d next to this file.\n";
	int r = takes_drop_ins(h, "set", k, e);

	if (r || host_exists(h, FOLDER))
		return r;
	r = host_put(h, FOLDER_MARK, mark, strlen(mark), 0644);
	if (r == 0)
		r = host_make_dir(h, FOLDER, 0755);
	return r ? knob_fail(e, r, "set", k) : 0;
}

static int bootarg_store(struct host *h, struct arena *a, const struct knob *k,
			 const struct tokens *t, struct err *e)
{
	const char *text = format(a, t);
	int r;

	if (t->n) {
		r = host_put(h, DROP_IN, text, strlen(text), 0644);
	} else {
		r = host_remove(h, DROP_IN);
		if (r == 0)
			r = tidy(h);
	}
	return r ? knob_put_fail(h, e, r, k, DROP_IN) : 0;
}

/* The first argument makes the file, and the folder where there is none. */
static int bootarg_begin(struct host *h, struct arena *a, const struct knob *k, const char *token,
			 struct err *e)
{
	const struct tokens t = { .items = { token }, .n = 1 };
	int r = bootarg_make_folder(h, k, e);

	if (r == 0)
		r = bootarg_store(h, a, k, &t, e);
	/* A folder without the file is of no use; what stays now goes when it is undone. */
	if (r)
		(void)tidy(h);
	return r;
}

/* NULL: to take it out. */
static const char *token_of(struct arena *a, const struct knob *k, const char *value)
{
	if (strcmp(value, not_set) == 0)
		return NULL;
	return *value ? arena_printf(a, "%s=%s", k->name, value) : k->name;
}

static bool bootarg_valid(const struct knob *k, const char *value, const char **why)
{
	if (!is_name(k->name))
		return knob_unsound(why, "a kernel argument's name may contain letters, digits, "
					 "dots, dashes and underscores");
	if (value && strcmp(value, not_set) != 0 && !is_value(value))
		return knob_unsound(why, "the argument's value contains characters that the boot "
					 "menu would interpret");
	return true;
}

static const char *bootarg_command(struct arena *a, const struct knob *k, const char *value)
{
	if (strcmp(value, not_set) == 0)
		return arena_printf(a, "sed -i '/ %s[=\"]/d' %s && update-grub", k->name, DROP_IN);
	return arena_printf(a, "echo '%s%s%s%s%s' >> %s && update-grub", LINE_START, k->name,
			    *value ? "=" : "", value, LINE_END, DROP_IN);
}

/* A write that was cut short is ours, whatever it was to be, so that undo takes it back. */
static bool bootarg_same(const struct knob *k, const char *x, const char *y)
{
	(void)k;
	if (strcmp(x, not_finished) == 0)
		return strcmp(y, not_set) != 0;
	return strcmp(y, not_finished) == 0 && strcmp(x, not_set) != 0;
}

static size_t bootarg_files(const struct knob *k, const char **out)
{
	(void)k;
	out[0] = DROP_IN;
	out[1] = FOLDER_MARK;
	out[2] = BOOT_CMDLINE;
	out[3] = EXTLINUX_CONF;
	return 4;
}

/*
 * Kernel arguments for the next boot in a file of somebody else's: of kernel-install, or the APPEND
 * line of what an extlinux.conf starts. They are added behind those that are there, after a word
 * that says how many of them are ours: root=UUID=... ro gputune.args=2 isolcpus=2-9 nohz_full=2-9
 * The kernel takes that word for a parameter of a module that is never loaded, and ignores it. With
 * the last of ours it goes, and the file is what it was to the byte.
 */

#define MARK "gputune.args="

/* KERNEL_MAX: COMMAND_LINE_SIZE of x86-64 and arm64, asm/setup.h. */
enum { KERNEL_CMDLINE_FILE_MAX = 1 << 16, KERNEL_CMDLINE_TOKENS_MAX = 99, KERNEL_MAX = 2048 };

struct shared_file {
	const char *path;
	enum boot_menu menu;
	const char *then; /* what a person runs after a change, with what joins it; "" */
};

static const struct shared_file shared[] = {
	{ BOOT_CMDLINE, BOOT_MENU_KERNEL_INSTALL, " && kernel-install add-all" },
	{ EXTLINUX_CONF, BOOT_MENU_EXTLINUX, "" },
};
enum { SHARED = sizeof(shared) / sizeof(shared[0]) };

struct cmdline {
	const struct shared_file *file;
	const char *text;
	size_t from, to; /* our part with the blank before it; where one would stand */
	const char *ours[KERNEL_CMDLINE_TOKENS_MAX];
	size_t n;
	unsigned mode;
	struct extlinux_entry entry; /* of an extlinux.conf: where the arguments are */
};

static bool is_blank(char c)
{
	return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

/* Behind the last line that holds arguments. */
static size_t last_argument(const char *text)
{
	size_t end = 0;

	for (const char *line = text; *line;
	     line += strcspn(line, "\n") + (strchr(line, '\n') != NULL)) {
		size_t n = strcspn(line, "\n");

		while (n && is_blank(line[n - 1]))
			n--;
		if (n && line[strspn(line, " \t")] != '#')
			end = (size_t)(line - text) + n;
	}
	return end;
}

static const char *find_mark(const char *text)
{
	for (const char *at = strstr(text, MARK); at; at = strstr(at + 1, MARK))
		if (at > text && at[-1] == ' ')
			return at;
	return NULL;
}

/* The word and as many arguments as it says, one blank between them; -EBADMSG for anything else. */
static int kernel_cmdline_parse(struct arena *a, const char *text, struct cmdline *out)
{
	const char *at = find_mark(text);
	unsigned long long n;
	size_t len;

	out->text = text;
	out->n = 0;
	if (out->from == 0)
		return -EBADMSG;
	if (!at)
		return 0;
	out->from = (size_t)(at - text) - 1;
	at += strlen(MARK);
	len = strspn(at, "0123456789");
	if (parse_u64(arena_strndup(a, at, len), &n) || n < 1 || n > KERNEL_CMDLINE_TOKENS_MAX)
		return -EBADMSG;
	for (at += len; out->n < n; at += len) {
		if (*at++ != ' ')
			return -EBADMSG;
		len = strcspn(at, " \t\r\n");
		if (!len)
			return -EBADMSG;
		out->ours[out->n++] = arena_strndup(a, at, len);
	}
	out->to = (size_t)(at - text);
	return *at && !is_blank(*at) ? -EBADMSG : 0;
}

/* Ours stand once, and in the entry that is started: a tool that copied the entry took them along.
 */
static bool is_in_entry(const struct cmdline *c)
{
	const char *append = c->entry.append.at, *ours = c->text + c->from;

	return c->n == 0 || (ours >= append && c->text + c->to <= append + c->entry.append.n &&
			     !find_mark(c->text + c->to));
}

/* NULL, or why the text cannot be changed. */
static const char *cmdline_unclear(struct arena *a, const char *text, size_t len,
				   struct cmdline *out)
{
	const char *why = NULL;

	if (strlen(text) != len)
		return "not a text file";
	out->from = last_argument(text);
	if (out->file->menu == BOOT_MENU_EXTLINUX) {
		why = extlinux_parse(text, &out->entry);
		out->from = why ? 0 : (size_t)(out->entry.append.at - text) + out->entry.append.n;
	}
	out->to = out->from;
	if (!why && kernel_cmdline_parse(a, text, out))
		why = "gputune's lines were edited, or contain no arguments";
	if (!why && out->file->menu == BOOT_MENU_EXTLINUX && !is_in_entry(out))
		why = "gputune's arguments are in another LABEL entry, or are present twice";
	return why;
}

/* -ENOENT: there is no such file. */
static int kernel_cmdline_load(struct host *h, struct arena *a, const char *verb,
			       const struct knob *k, struct cmdline *out, struct err *e)
{
	const char *path = out->file->path, *why;
	enum host_kind kind;
	char *text;
	size_t len;
	int r = host_kind(h, path, &kind);

	if (r == 0 && kind != HOST_FILE)
		return err_set(e, -EBADMSG, "could not %s %s: %s is not a regular file", verb,
			       k->name, path);
	r = r ? r : host_read(h, path, KERNEL_CMDLINE_FILE_MAX, a, &text, &len);
	if (r == -ENOENT || r == -ENOTDIR || r == HOST_NOT_CAPTURED)
		return -ENOENT;
	if (r)
		return knob_fail(e, r, verb, k);
	if (host_mode(h, path, &out->mode))
		out->mode = 0644;
	why = cmdline_unclear(a, text, len, out);
	if (!why)
		return 0;
	err_set(e, -EBADMSG, "could not %s %s in %s: %s", verb, k->name, path, why);
	err_hint(e, "after " MARK "N the kernel must read N arguments of gputune: restore them, or "
		    "remove them and " MARK "N");
	return -EBADMSG;
}

/* What follows the name in a token: "" for a bare flag; NULL: it has another name. */
static const char *kernel_argument_value(const char *token, const char *name)
{
	size_t n = strlen(name);

	if (strncmp(token, name, n) != 0 || (token[n] && token[n] != '='))
		return NULL;
	return token[n] ? token + n + 1 : token + n;
}

static int drop_in_get(struct host *h, struct arena *a, const struct knob *k, const char **value,
		       struct err *e)
{
	struct tokens t = { .n = 0 };
	const char *found = not_set;
	int r = bootarg_load(h, a, "read", k, &t, e);

	if (r && r != -ENOENT)
		return r;
	if (r == -ENOENT) {
		/* A crash between the folder and the file: neither what was there nor what was to
		 * be. */
		*value = host_exists(h, FOLDER_MARK) ? not_finished : not_set;
		return *value == not_finished ? 0 : takes_drop_ins(h, "read", k, e);
	}
	for (size_t i = 0; i < t.n; i++)
		if (kernel_argument_value(t.items[i], k->name))
			found = kernel_argument_value(t.items[i], k->name);
	*value = found;
	return 0;
}

/* Puts token in the place of the one with the same name, or behind all; NULL takes that one out. */
static bool bootarg_replace(struct tokens *t, const char *name, const char *token)
{
	size_t at = 0;

	while (at < t->n && !kernel_argument_value(t->items[at], name))
		at++;
	if (at == t->n && !token)
		return false;
	if (at == TOKENS_MAX)
		return false;
	if (!token)
		memmove(&t->items[at], &t->items[at + 1], (--t->n - at) * sizeof(t->items[0]));
	else if (at == t->n)
		t->items[t->n++] = token;
	else
		t->items[at] = token;
	return true;
}

static int drop_in_set(struct host *h, struct arena *a, const struct knob *k, const char *token,
		       struct err *e)
{
	struct tokens t = { .n = 0 };
	int r = bootarg_load(h, a, "set", k, &t, e);

	if (r == -ENOENT && token)
		return bootarg_begin(h, a, k, token, e);
	if (r == -ENOENT) {
		r = tidy(h);
		return r ? knob_fail(e, r, "set", k) : 0;
	}
	if (r)
		return r;
	if (bootarg_replace(&t, k->name, token))
		return bootarg_store(h, a, k, &t, e);
	return token ? err_set(e, -ENOSPC, "could not set %s: %s has %d arguments already", k->name,
			       DROP_IN, TOKENS_MAX)
		     : 0;
}

/* What ours of that name asks for, "" for a bare flag; NULL in *value: there is none of ours. */
static int kernel_cmdline_get(struct host *h, struct arena *a, const struct shared_file *file,
			      const struct knob *k, const char **value, struct err *e)
{
	struct cmdline c = { .file = file };
	int r = kernel_cmdline_load(h, a, "read", k, &c, e);

	*value = NULL;
	for (size_t i = 0; r == 0 && i < c.n; i++)
		if (kernel_argument_value(c.ours[i], k->name))
			*value = kernel_argument_value(c.ours[i], k->name);
	return r == -ENOENT ? 0 : r;
}

/*
 * The file of somebody else's in which the argument stands, or belongs; NULL in *file: it is the
 * drop-in. What was written while another program started the machine is found where it was
 * written. *value is ours in the file, NULL when there is none.
 */
static int file_of_argument(struct host *h, struct arena *a, const struct knob *k,
			    const struct shared_file **file, const char **value, struct err *e)
{
	struct tokens t = { .n = 0 };
	struct err ignored = { 0 };
	enum boot_menu menu;

	*file = NULL;
	*value = NULL;
	if (bootarg_load(h, a, "read", k, &t, &ignored) == 0)
		for (size_t i = 0; i < t.n; i++)
			if (kernel_argument_value(t.items[i], k->name))
				return 0;
	for (size_t i = 0; i < SHARED; i++)
		if (kernel_cmdline_get(h, a, &shared[i], k, value, &ignored) == 0 && *value) {
			*file = &shared[i];
			return 0;
		}
	menu = host_boot_menu(h);
	for (size_t i = 0; i < SHARED; i++)
		if (shared[i].menu == menu)
			*file = &shared[i];
	return *file ? kernel_cmdline_get(h, a, *file, k, value, e) : 0;
}

static int bootarg_get(struct host *h, struct arena *a, const struct knob *k, const char **value,
		       struct err *e)
{
	const struct shared_file *file;
	const char *found;
	int r = file_of_argument(h, a, k, &file, &found, e);

	if (r || !file)
		return r ? r : drop_in_get(h, a, k, value, e);
	*value = found ? found : not_set;
	return 0;
}

/* What stands for ours in the file, with the blank before it. */
static void add_ours(struct text *out, const struct cmdline *c)
{
	if (c->n)
		text_printf(out, " " MARK "%zu", c->n);
	for (size_t i = 0; i < c->n; i++)
		text_printf(out, " %s", c->ours[i]);
}

/* What the kernel gets: all lines but comments, with a blank between them. */
static size_t line_length(const char *text)
{
	size_t sum = 0;

	for (const char *line = text; *line;
	     line += strcspn(line, "\n") + (strchr(line, '\n') != NULL)) {
		const char *at = line + strspn(line, " \t");
		size_t n = strcspn(at, "\n");

		while (n && is_blank(at[n - 1]))
			n--;
		if (n && *at != '#')
			sum += n + (sum > 0);
	}
	return sum;
}

/* What the kernel gets of the file. */
static size_t arguments_length(const struct shared_file *file, const char *text)
{
	struct extlinux_entry entry;

	if (file->menu != BOOT_MENU_EXTLINUX)
		return line_length(text);
	return extlinux_parse(text, &entry) ? KERNEL_MAX : entry.append.n;
}

/* How many bytes the loader put in place of its own variables, by the line of this boot. */
static size_t filled_in(struct host *h, struct arena *a, const struct cmdline *c)
{
	char *now;
	size_t len, own = c->entry.append.n;

	if (c->file->menu != BOOT_MENU_EXTLINUX ||
	    host_read(h, "/proc/cmdline", KERNEL_CMDLINE_FILE_MAX, a, &now, &len))
		return 0;
	return len > own ? len - own : 0;
}

/* The new text read as a loader reads it: the same entry with the same kernel, and ours as meant.
 */
static bool is_as_meant(struct arena *a, const struct cmdline *c, const char *text, size_t len)
{
	struct cmdline now = { .file = c->file };

	if (cmdline_unclear(a, text, len, &now) || now.n != c->n ||
	    !extlinux_same(&now.entry.label, &c->entry.label) ||
	    !extlinux_same(&now.entry.kernel, &c->entry.kernel) ||
	    !extlinux_same(&now.entry.initrd, &c->entry.initrd))
		return false;
	for (size_t i = 0; i < now.n; i++)
		if (strcmp(now.ours[i], c->ours[i]) != 0)
			return false;
	return true;
}

static int kernel_cmdline_store(struct host *h, struct arena *a, const struct knob *k,
				const struct cmdline *c, bool adds, struct err *e)
{
	const char *path = c->file->path;
	TEXT_AUTO out = { 0 };
	size_t length;
	int r;

	text_addn(&out, c->text, c->from);
	add_ours(&out, c);
	text_add(&out, c->text + c->to);
	length = arguments_length(c->file, out.s ? out.s : "") + filled_in(h, a, c);
	if (adds && length >= KERNEL_MAX)
		return err_set(e, -ENOSPC,
			       "could not set %s: a kernel command line cannot have %zu characters",
			       k->name, length);
	if (!is_as_meant(a, c, out.s ? out.s : "", out.len))
		return err_set(e, -EBADMSG,
			       "could not set %s: the boot loader would misread the changed %s",
			       k->name, path);
	r = knob_check_links(h, e, k, path);
	if (r)
		return r;
	r = host_put(h, path, out.s ? out.s : "", out.len, c->mode);
	return r ? knob_put_fail(h, e, r, k, path) : 0;
}

/* Puts token in the place of ours of that name, or behind all; NULL takes it out. False: nothing is
 * to be done, or there is no room. */
static bool kernel_cmdline_replace(struct cmdline *c, const char *name, const char *token)
{
	size_t at = 0;

	while (at < c->n && !kernel_argument_value(c->ours[at], name))
		at++;
	if ((at == c->n && !token) || at == KERNEL_CMDLINE_TOKENS_MAX)
		return false;
	if (!token)
		memmove(&c->ours[at], &c->ours[at + 1], (--c->n - at) * sizeof(c->ours[0]));
	else
		c->ours[at] = token;
	c->n += token && at == c->n;
	return true;
}

/* token NULL takes ours of that name out. Others' arguments are never touched. */
static int kernel_cmdline_set(struct host *h, struct arena *a, const struct shared_file *file,
			      const struct knob *k, const char *token, struct err *e)
{
	struct cmdline c = { .file = file };
	int r = kernel_cmdline_load(h, a, "set", k, &c, e);

	if (r == -ENOENT)
		return token ? knob_fail(e, r, "set", k) : 0;
	if (r)
		return r;
	if (kernel_cmdline_replace(&c, k->name, token))
		return kernel_cmdline_store(h, a, k, &c, token != NULL, e);
	return token ? err_set(e, -ENOSPC,
			       "could not set %s: %s already contains %d arguments of gputune",
			       k->name, file->path, KERNEL_CMDLINE_TOKENS_MAX)
		     : 0;
}

static int bootarg_set(struct host *h, struct arena *a, const struct knob *k, const char *value,
		       struct err *e)
{
	const char *token = token_of(a, k, value), *found;
	const struct shared_file *file;
	int r = file_of_argument(h, a, k, &file, &found, e);

	if (r)
		return r;
	return file ? kernel_cmdline_set(h, a, file, k, token, e) : drop_in_set(h, a, k, token, e);
}

/* A text as sed looks for it; of what arguments of ours are made of these alone mean more. */
static void add_pattern(struct text *out, const char *s, size_t n)
{
	for (size_t i = 0; i < n; i++)
		text_printf(out, "%s%c", strchr(".*[]^$\\|", s[i]) ? "\\" : "", s[i]);
}

/* The shell command that does what kernel_cmdline_set would; NULL: none is known. */
static const char *kernel_cmdline_command(struct host *h, struct arena *a,
					  const struct shared_file *file, const struct knob *k,
					  const char *token)
{
	TEXT_AUTO out = { 0 };
	struct cmdline c = { .file = file };
	struct err ignored = { 0 };
	size_t from, to;

	if (kernel_cmdline_load(h, a, "read", k, &c, &ignored))
		return NULL;
	from = c.from;
	to = c.to;
	if (from == to || !kernel_cmdline_replace(&c, k->name, token))
		return NULL;
	text_add(&out, "s|");
	add_pattern(&out, c.text + from, to - from);
	text_add(&out, "|");
	add_ours(&out, &c);
	text_add(&out, "|");
	return arena_printf(a, "sed -i %s %s%s", knob_quote(a, out.s), file->path, file->then);
}

static const char *bootarg_command_here(struct host *h, struct arena *a, const struct knob *k,
					const char *value)
{
	struct err ignored = { 0 };
	const struct shared_file *file;
	const char *found;

	if (file_of_argument(h, a, k, &file, &found, &ignored))
		return NULL;
	return file ? kernel_cmdline_command(h, a, file, k, token_of(a, k, value))
		    : bootarg_command(a, k, value);
}

const struct knob_ops knob_ops_bootarg = {
	.files = bootarg_files,
	.get = bootarg_get,
	.set = bootarg_set,
	.valid = bootarg_valid,
	.command = bootarg_command,
	.command_here = bootarg_command_here,
	.same = bootarg_same,
};
