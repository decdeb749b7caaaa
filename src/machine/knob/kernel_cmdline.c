/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Kernel arguments for the next boot where kernel-install makes the boot entries: added behind
 * those that are there, after a word that says how many of them are ours: root=UUID=... ro
 * gputune.args=2 isolcpus=2-9 nohz_full=2-9 The kernel takes that word for a parameter of a module
 * that is never loaded, and ignores it. With the last of ours it goes, and the file is what it was
 * to the byte.
 */
#include "machine/knob/kernel_cmdline.h"

#include <string.h>

#include "base/text.h"
#include "machine/host/boot_menu.h"
#include "machine/write/write.h"

#define MARK "gputune.args="

/* KERNEL_MAX: COMMAND_LINE_SIZE of x86-64 and arm64, asm/setup.h. */
enum { FILE_MAX = 1 << 16, TOKENS_MAX = 99, KERNEL_MAX = 2048 };

struct cmdline {
	const char *text;
	size_t from, to; /* our part with the blank before it; where one would stand */
	const char *ours[TOKENS_MAX];
	size_t n;
	unsigned mode;
};

static bool is_blank(char c)
{
	return c == ' ' || c == '\t' || c == '\n';
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
static int parse(struct arena *a, const char *text, struct cmdline *out)
{
	const char *at = find_mark(text);
	unsigned long long n;
	size_t len;

	out->text = text;
	out->n = 0;
	out->from = out->to = last_argument(text);
	if (!at)
		return out->to ? 0 : -EBADMSG;
	out->from = (size_t)(at - text) - 1;
	at += strlen(MARK);
	len = strspn(at, "0123456789");
	if (parse_u64(arena_strndup(a, at, len), &n) || n < 1 || n > TOKENS_MAX)
		return -EBADMSG;
	for (at += len; out->n < n; at += len) {
		if (*at++ != ' ')
			return -EBADMSG;
		len = strcspn(at, " \t\n");
		if (!len)
			return -EBADMSG;
		out->ours[out->n++] = arena_strndup(a, at, len);
	}
	out->to = (size_t)(at - text);
	return *at && !is_blank(*at) ? -EBADMSG : 0;
}

/* -ENOENT: there is no such file. */
static int load(struct host *h, struct arena *a, const char *verb, const struct knob *k,
		struct cmdline *out, struct err *e)
{
	enum host_kind kind;
	char *text;
	size_t len;
	int r = host_kind(h, BOOT_CMDLINE, &kind);

	if (r == 0 && kind != HOST_FILE)
		return err_set(e, -EBADMSG, "could not %s %s: %s is no plain file", verb, k->name,
			       BOOT_CMDLINE);
	r = r ? r : host_read(h, BOOT_CMDLINE, FILE_MAX, a, &text, &len);
	if (r == -ENOENT || r == -ENOTDIR || r == HOST_NOT_CAPTURED)
		return -ENOENT;
	if (r)
		return knob_fail(e, r, verb, k);
	if (host_mode(h, BOOT_CMDLINE, &out->mode))
		out->mode = 0644;
	if (strlen(text) == len && parse(a, text, out) == 0)
		return 0;
	err_set(e, -EBADMSG,
		"could not %s %s: somebody edited what gputune wrote in %s, or it holds "
		"no arguments",
		verb, k->name, BOOT_CMDLINE);
	err_hint(e, "behind " MARK "N there have to be N arguments of ours: mend it, or take them "
		    "out with it");
	return -EBADMSG;
}

const char *kernel_argument_value(const char *token, const char *name)
{
	size_t n = strlen(name);

	if (strncmp(token, name, n) != 0 || (token[n] && token[n] != '='))
		return NULL;
	return token[n] ? token + n + 1 : token + n;
}

int kernel_cmdline_get(struct host *h, struct arena *a, const struct knob *k, const char **value,
		       struct err *e)
{
	struct cmdline c = { 0 };
	int r = load(h, a, "read", k, &c, e);

	*value = NULL;
	for (size_t i = 0; r == 0 && i < c.n; i++)
		if (kernel_argument_value(c.ours[i], k->name))
			*value = kernel_argument_value(c.ours[i], k->name);
	return r == -ENOENT ? 0 : r;
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

static int store(struct host *h, const struct knob *k, const struct cmdline *c, bool adds,
		 struct err *e)
{
	TEXT_AUTO out = { 0 };
	size_t length;
	int r;

	text_addn(&out, c->text, c->from);
	add_ours(&out, c);
	text_add(&out, c->text + c->to);
	length = line_length(out.s ? out.s : "");
	if (adds && length >= KERNEL_MAX)
		return err_set(e, -ENOSPC,
			       "could not set %s: the kernel takes no line of %zu "
			       "characters",
			       k->name, length);
	r = knob_check_links(h, e, k, BOOT_CMDLINE);
	if (r)
		return r;
	r = host_put(h, BOOT_CMDLINE, out.s ? out.s : "", out.len, c->mode);
	return r ? knob_put_fail(h, e, r, k, BOOT_CMDLINE) : 0;
}

/* Puts token in the place of ours of that name, or behind all; NULL takes it out. False: nothing is
 * to be done, or there is no room. */
static bool replace(struct cmdline *c, const char *name, const char *token)
{
	size_t at = 0;

	while (at < c->n && !kernel_argument_value(c->ours[at], name))
		at++;
	if ((at == c->n && !token) || at == TOKENS_MAX)
		return false;
	if (!token)
		memmove(&c->ours[at], &c->ours[at + 1], (--c->n - at) * sizeof(c->ours[0]));
	else
		c->ours[at] = token;
	c->n += token && at == c->n;
	return true;
}

int kernel_cmdline_set(struct host *h, struct arena *a, const struct knob *k, const char *token,
		       struct err *e)
{
	struct cmdline c = { 0 };
	int r = load(h, a, "set", k, &c, e);

	if (r == -ENOENT)
		return token ? knob_fail(e, r, "set", k) : 0;
	if (r)
		return r;
	if (replace(&c, k->name, token))
		return store(h, k, &c, token != NULL, e);
	return token ? err_set(e, -ENOSPC,
			       "could not set %s: %s holds %d arguments of ours already", k->name,
			       BOOT_CMDLINE, TOKENS_MAX)
		     : 0;
}

/* A text as sed looks for it; of what arguments of ours are made of these alone mean more. */
static void add_pattern(struct text *out, const char *s, size_t n)
{
	for (size_t i = 0; i < n; i++)
		text_printf(out, "%s%c", strchr(".*[]^$\\|", s[i]) ? "\\" : "", s[i]);
}

const char *kernel_cmdline_command(struct host *h, struct arena *a, const struct knob *k,
				   const char *token)
{
	TEXT_AUTO out = { 0 };
	struct cmdline c = { 0 };
	struct err ignored = { 0 };
	size_t from, to;

	if (load(h, a, "read", k, &c, &ignored))
		return NULL;
	from = c.from;
	to = c.to;
	if (from == to || !replace(&c, k->name, token))
		return NULL;
	text_add(&out, "s|");
	add_pattern(&out, c.text + from, to - from);
	text_add(&out, "|");
	add_ours(&out, &c);
	text_add(&out, "|");
	return arena_printf(a, "sed -i %s " BOOT_CMDLINE " && kernel-install add-all",
			    knob_quote(a, out.s));
}
