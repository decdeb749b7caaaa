/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Lines of ours in a file that is somebody else's, between two marks: names of machines, and the
 * public keys of their ssh servers. Nothing else of the file is changed; taking the lines out gives
 * back the file to the byte. The value is "absent" or the lines as knob_file_value writes a text.
 */
#include <errno.h>
#include <string.h>

#include "base/text.h"
#include "machine/write/write.h"
#include "machine/knob/kinds.h"

enum { FILE_MAX = 1 << 20, TEXT_MAX = 1 << 16, MODE = 0644 };

static const char absent[] = "absent", broken[] = "broken marks";
static const char end_mark[] = "# gputune cluster: end\n";

/* What stood there before: that decides what goes with the lines. */
enum before {
	BEFORE_LINES,	/* nothing, or whole lines */
	BEFORE_OPEN,	/* a last line without its end, which we gave it */
	BEFORE_NOTHING, /* no file */
	BEFORES,
};
static const char *const begin_marks[BEFORES] = {
	[BEFORE_LINES] = "# gputune cluster: begin\n",
	[BEFORE_OPEN] = "# gputune cluster: begin (the line above had no end)\n",
	[BEFORE_NOTHING] = "# gputune cluster: begin (there was no file)\n",
};

static const char *const files[] = { "/etc/hosts", "/etc/ssh/ssh_known_hosts" };

/* Where the marks stand in a file. */
struct place {
	enum before before;
	const char *begin;	/* of the first mark; NULL: there is none */
	const char *text, *end; /* the lines between */
	const char *rest;	/* behind the second mark */
};

/* The mark at the beginning of a line; NULL. */
static const char *mark_at(const char *s, const char *mark)
{
	for (const char *p = strstr(s, mark); p; p = strstr(p + 1, mark))
		if (p == s || p[-1] == '\n')
			return p;
	return NULL;
}

/* False: a mark without its other, or two of them. */
static bool block_find_place(const char *s, struct place *out)
{
	const char *end = mark_at(s, end_mark);

	*out = (struct place){ 0 };
	for (int i = 0; i < BEFORES; i++) {
		const char *p = mark_at(s, begin_marks[i]);

		if (!p)
			continue;
		if (out->begin || mark_at(p + 1, begin_marks[i]))
			return false;
		*out = (struct place){ .before = (enum before)i,
				       .begin = p,
				       .text = p + strlen(begin_marks[i]) };
	}
	if (!out->begin || !end)
		return !out->begin && !end;
	out->end = end;
	out->rest = end + strlen(end_mark);
	/* With the file open at its end, our own mark is the end of its last line. */
	return end >= out->text && !mark_at(out->rest, end_mark) &&
	       (out->before != BEFORE_OPEN || out->begin > s);
}

/* -ENOENT: there is no file. Links and what is no text are refused. */
static int block_read_file(struct host *h, struct arena *a, const char *path, char **text)
{
	enum host_kind kind;
	size_t len;
	int r = host_kind(h, path, &kind);

	if (r == HOST_NOT_CAPTURED)
		return -ENOENT;
	if (r)
		return r;
	if (kind != HOST_FILE)
		return -ELOOP;
	r = host_read(h, path, FILE_MAX, a, text, &len);
	return r == 0 && strlen(*text) != len ? -EILSEQ : r;
}

static int block_get(struct host *h, struct arena *a, const struct knob *k, const char **value,
		     struct err *e)
{
	struct place p;
	char *text;
	int r = block_read_file(h, a, k->name, &text);

	*value = absent;
	if (r == -ENOENT)
		return 0;
	if (r)
		return knob_fail(e, r, "read", k);
	if (!block_find_place(text, &p))
		*value = broken;
	else if (p.begin)
		*value = knob_file_value(a, MODE, p.text, (size_t)(p.end - p.text));
	return 0;
}

static int broken_marks(const struct knob *k, struct err *e)
{
	return err_set(e, -EBADMSG, "could not set %s: the marks of gputune's lines do not match",
		       k->name);
}

/* Only what can be read again, with its lines found. */
static int block_put(struct host *h, const struct knob *k, const struct text *t, struct err *e)
{
	unsigned mode = MODE;
	struct place p;
	int r = t->len > FILE_MAX ? -EFBIG : 0;

	if (r == 0 && !block_find_place(t->s ? t->s : "", &p))
		return broken_marks(k, e);
	if (r == 0 && knob_check_links(h, e, k, k->name))
		return -EMLINK;
	(void)host_mode(h, k->name, &mode);
	r = r ? r : host_put(h, k->name, t->s ? t->s : "", t->len, mode);
	return r ? knob_put_fail(h, e, r, k, k->name) : 0;
}

static int take_out(struct host *h, const struct knob *k, const char *text, const struct place *p,
		    struct err *e)
{
	TEXT_AUTO out = { 0 };
	/* The end that we gave to the last line goes with ours, unless other lines have come since.
	 */
	bool give_end = p->before == BEFORE_OPEN && !*p->rest;
	size_t head = (size_t)(p->begin - text) - give_end;

	if (p->before == BEFORE_NOTHING && head == 0 && !*p->rest) {
		int r = host_remove(h, k->name);

		/* Of a mount point nothing is left but its name. */
		if (r != -EBUSY)
			return r ? knob_fail(e, r, "set", k) : 0;
	}
	text_addn(&out, text, head);
	text_add(&out, p->rest);
	return block_put(h, k, &out, e);
}

static int block_put_in(struct host *h, const struct knob *k, const char *text,
			const struct place *p, const char *lines, struct err *e)
{
	enum before before = p->begin			      ? p->before
			     : !text			      ? BEFORE_NOTHING
			     : !*text || str_ends(text, "\n") ? BEFORE_LINES
							      : BEFORE_OPEN;
	TEXT_AUTO out = { 0 };

	if (p->begin)
		text_addn(&out, text, (size_t)(p->begin - text));
	else if (text)
		text_printf(&out, "%s%s", text, before == BEFORE_OPEN ? "\n" : "");
	text_printf(&out, "%s%s%s%s", begin_marks[before], lines, end_mark,
		    p->begin ? p->rest : "");
	return block_put(h, k, &out, e);
}

static int block_set(struct host *h, struct arena *a, const struct knob *k, const char *value,
		     struct err *e)
{
	struct place p = { 0 };
	const char *lines;
	char *text = NULL;
	unsigned mode;
	size_t len;
	int r = block_read_file(h, a, k->name, &text);

	if (r == -ENOENT)
		r = 0;
	if (r == 0 && text && !block_find_place(text, &p))
		return broken_marks(k, e);
	if (r == 0 && strcmp(value, absent) == 0)
		return p.begin ? take_out(h, k, text, &p, e) : 0;
	if (r == 0 && knob_file_parse(a, value, &mode, &lines, &len))
		return block_put_in(h, k, text, &p, lines, e);
	return knob_fail(e, r ? r : -EINVAL, "set", k);
}

/* Lines of printable characters, none of them a mark. */
static bool lines_valid(const char *value)
{
	ARENA_AUTO a = { 0 };
	const char *text;
	unsigned mode;
	size_t len;
	bool good = knob_file_parse(&a, value, &mode, &text, &len) && mode == MODE && len &&
		    len <= TEXT_MAX && strlen(text) == len && str_ends(text, "\n") &&
		    !strstr(text, "# gputune cluster");

	for (const char *c = good ? text : ""; *c; c++)
		good = good && ((*c >= ' ' && *c < 0x7f) || *c == '\n' || *c == '\t');
	return good;
}

static bool block_valid(const struct knob *k, const char *value, const char **why)
{
	size_t i = 0, n = sizeof(files) / sizeof(files[0]);

	while (i < n && strcmp(k->name, files[i]) != 0)
		i++;
	if (i == n)
		return knob_unsound(why, "gputune does not add lines to a file of that name");
	if (*k->object)
		return knob_unsound(why, "\"object\" must be empty for lines of a file");
	if (value && strcmp(value, absent) != 0 && !lines_valid(value))
		return knob_unsound(why,
				    "expected \"absent\", or whole lines of printable characters");
	return true;
}

static const char *block_command(struct arena *a, const struct knob *k, const char *value)
{
	if (strcmp(value, absent) != 0)
		return NULL;
	return arena_printf(a, "sed -i '/^# gputune cluster: begin/,/^# gputune cluster: end/d' %s",
			    k->name);
}

static size_t block_files(const struct knob *k, const char **out)
{
	out[0] = k->name;
	return 1;
}

const struct knob_ops knob_ops_block = {
	.files = block_files,
	.get = block_get,
	.set = block_set,
	.valid = block_valid,
	.command = block_command,
	.exact = true,
};
