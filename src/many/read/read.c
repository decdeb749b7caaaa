/* SPDX-License-Identifier: Apache-2.0 */
/* Texts, and documents in them. */
#include "many/read/read.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/text.h"

enum { NODE_NAME_MAX = 253, FOLDERS_DEEP = 8, SHOWN_DEPTH = 4 };

/* --- whose ------------------------------------------------------------------------------------ */

static bool letter(char c)
{
	return isalnum((unsigned char)c) || (c && strchr("-._@", c));
}

bool read_line(struct arena *a, const char *line, size_t len, const char **name, const char **rest)
{
	const char *brace = memchr(line, '{', len), *end = brace ? brace : line + len, *at = line;
	size_t n = 0;

	/* "[pod/gputune-x7k2p/look] ": the pod. */
	if (end - at > 5 && strncmp(at, "[pod/", 5) == 0)
		at += 5;
	while (at + n < end && n < NODE_NAME_MAX && letter(at[n]))
		n++;
	/* "node7: ", "node7 | SUCCESS | rc=0 | (stdout) "; anything else is a text. */
	if (n && at + n < end &&
	    ((at > line && at[n] == '/') || at[n] == ':' ||
	     (end - at - (ptrdiff_t)n > 2 && strncmp(at + n, " | ", 3) == 0))) {
		*name = arena_strndup(a, at, n++);
		/* A text ends where it ends, without a NUL. */
		while (at + n < end && (at[n] == ' ' || at[n] == '|'))
			n++;
		*rest = brace ? brace : at + n;
	} else {
		*name = "";
		*rest = brace ? brace : line;
	}
	return brace != NULL;
}

/* "node7" is "node7.example.org" and "node7-ib0". A rank and an address name no machine. */
static bool may_be(const char *sent, const char *name)
{
	size_t n = strlen(sent), m = strlen(name), least = n < m ? n : m;

	if (strspn(sent, "0123456789.") == n)
		return true;
	return strncmp(sent, name, least) == 0 &&
	       (n == m || strchr(".-", n < m ? name[least] : sent[least]));
}

const char *read_machine(const json_t *document, const struct read_from *from, struct err *e)
{
	const json_t *host = json_object_get(document, "host");
	const char *name = json_string_value(host ? json_object_get(host, "nodename")
						  : json_object_get(document, "name"));

	/* Captured machines are all called "host". */
	if (!name || !*name || strlen(name) > NODE_NAME_MAX ||
	    json_is_true(json_object_get(host, "captured")))
		name = from->name;
	if (name && *name && (!from->sent || may_be(from->name, name)))
		return name;
	if (name && *name)
		err_set(e, -EINVAL, "sent by %.64s, but the result names %.64s", from->name, name);
	else
		err_set(e, -EINVAL, "the result's machine has no name; give --machine NAME");
	return NULL;
}

/* --- facts ----------------------------------------------------------------------------------- */

/* Of all facts those that name what is built in and installed. */
static bool is_version(const char *key, bool own)
{
	static const char *const ends[] = { "version", "firmware", "vbios", "driver",
					    "release", "product",  "serial" };

	for (size_t i = 0; i < sizeof(ends) / sizeof(ends[0]) - !own; i++)
		if (str_ends(key, ends[i]))
			return true;
	return false;
}

static void shown_rows(struct arena *a, const json_t *j, const char *name, const char *target,
		       int depth, bool own, json_t *rows)
{
	const json_t *v;
	const char *key;
	size_t i;

	if (depth == SHOWN_DEPTH)
		return;
	json_array_foreach(j, i, v)
	{
		shown_rows(a, v, name, arena_printf(a, "%s%s%zu", target, *target ? "." : "", i),
			   depth + 1, own, rows);
	}
	json_object_foreach((json_t *)j, key, v)
	{
		const char *value = read_string(v, "value");
		const char *full = arena_printf(a, "%s%s%.100s", name, *name ? "." : "", key);

		if (value && is_version(key, own))
			json_array_append_new(rows, json_pack("{s:s, s:s, s:s}", "id", full,
							      "target", target, "state", value));
		else if (!value)
			shown_rows(a, v, full, target, depth + 1, own, rows);
	}
}

void read_items(struct arena *a, json_t *document, bool own)
{
	const json_t *facts = json_object_get(document, "facts");
	json_t *rows = json_array(), *processes = json_object_get(document, "processes");

	if (facts) {
		shown_rows(a, facts, "", "", 0, own, rows);
		json_object_set(document, "rows", rows);
		json_object_del(document, "facts");
	}
	json_decref(rows);
	if (!processes)
		return;
	json_array_append_new(processes, json_pack("{s:s, s:s?, s:s?}", "id", "job", "kind",
						   read_string(document, "kind"), "operation",
						   read_string(document, "operation")));
	if (!json_object_get(document, "host"))
		json_object_set_new(document, "host", json_object());
}

/* --- figures ---------------------------------------------------------------------------------- */

enum { CASES_MAX = 4096, FIGURES_MAX = 16, UNIT_MAX = 48, FIGURE_NAME_MAX = 1024 };

/* False: no figure. A median that is not finite was not measured. */
static bool read_figure(struct arena *a, const json_t *c, const json_t *j, struct read_figure *out)
{
	const char *bench = read_string(c, "bench"), *name = read_string(c, "case"),
		   *key = read_string(j, "key"), *unit = read_string(j, "unit"),
		   *better = read_string(j, "better");
	const json_t *median;

	if (!bench || !name || !key || !unit || !better || strlen(unit) > UNIT_MAX ||
	    strlen(bench) + strlen(name) + strlen(key) > FIGURE_NAME_MAX)
		return false;
	median = json_object_get(j, arena_printf(a, "median_%s", unit));
	*out = (struct read_figure){
		.bench = bench,
		.name = name,
		.key = key,
		.unit = unit,
		.unit_text = read_string(j, "unit_text"),
		.lower = strcmp(better, "lower") == 0,
		.version = (unsigned)json_integer_value(json_object_get(c, "method_version")),
		.median = json_is_number(median) ? json_number_value(median) : (double)NAN
	};
	return true;
}

int read_figures(struct arena *a, const json_t *document,
		 void (*figure)(void *ctx, const struct read_figure *f), void *ctx, struct err *e)
{
	const json_t *cases = json_object_get(document, "cases"), *c, *list, *one;
	struct read_figure f;
	size_t i, k;

	if (!json_is_array(cases) || json_array_size(cases) > CASES_MAX)
		return err_set(e, -EINVAL, "the result's list of cases is missing or too long");
	/* All of it before anything is taken. */
	for (int take = 0; take < 2; take++)
		json_array_foreach(cases, i, c)
		{
			list = json_object_get(c, "figures");
			if (!json_is_array(list) || json_array_size(list) > FIGURES_MAX)
				return err_set(e, -EINVAL, "case %zu has no list of figures", i);
			json_array_foreach(list, k, one)
			{
				if (!read_figure(a, c, one, &f))
					return err_set(e, -EINVAL, "invalid figure in case %zu", i);
				if (take && figure && isfinite(f.median))
					figure(ctx, &f);
			}
		}
	return 0;
}

/* --- documents of a text ---------------------------------------------------------------------- */

struct reader {
	struct read_ask *ask;
	const char *file, *name; /* file NULL: standard input */
	const char *text, *at, *end;
	size_t first;	  /* number of its first line */
	const char *next; /* whose the next line is, as ansible says in a line of its own */
	struct arena a;
	size_t taken, bad, line; /* documents; where the first bad one is */
	char why[sizeof(((struct err *)NULL)->text)];
};

static size_t line_of(const struct reader *r, const char *at)
{
	size_t n = r->first;

	for (const char *p = r->text; p < at && (p = memchr(p, '\n', (size_t)(at - p))); p++)
		n++;
	return n;
}

/* who: "" where no node is known. */
static void refuse_at(struct reader *r, const char *at, const char *who, const char *why)
{
	if (!r->file) {
		r->ask->refuse(r->ask->owner,
			       *who ? who : arena_printf(&r->a, "line %zu", line_of(r, at)), why);
	} else if (!r->bad++) {
		r->line = line_of(r, at);
		snprintf(r->why, sizeof(r->why), "%s", why);
	}
}

static const char *line_end(const char *at, const char *end)
{
	const char *nl = memchr(at, '\n', (size_t)(end - at));

	return nl ? nl : end;
}

/* Whether a document begins with this line, rather than within it. */
static bool begins(struct arena *a, const char *at, const char *end)
{
	const char *name, *rest;

	(void)read_line(a, at, (size_t)(line_end(at, end) - at), &name, &rest);
	return *at == '{' || *name;
}

static void read_document(struct reader *r, const char *name)
{
	const char *at = r->at, *next = r->next;
	struct read_from from = { r->file, *name ? name : next ? next : r->name, false };
	struct err e = { 0 };

	/* "node7: ": a name in an inventory of ansible's may be any. */
	from.sent = *name && at > r->text + 1 && at[-1] == ' ' && at[-2] == ':';
	if (!from.file)
		from.file = from.name && *from.name
				    ? from.name
				    : arena_printf(&r->a, "line %zu", line_of(r, at));
	r->next = NULL;
	if (r->ask->document(r->ask->ctx, &from, &r->at, r->end, &e) == 0) {
		r->taken++;
		return;
	}
	refuse_at(r, at, from.file, e.text);
	if (r->at != at)
		return;
	do {
		r->at = line_end(r->at, r->end);
		r->at += r->at < r->end;
	} while (r->at < r->end && !begins(&r->a, r->at, r->end));
}

/* A line in which no document begins: a node's text, or rubbish. */
static void read_words(struct reader *r, const char *name, const char *rest, const char *nl)
{
	if (nl - r->at > 2 && strncmp(nl - 2, ">>", 2) == 0)
		r->next = name;
	else if (*name)
		refuse_at(r, r->at, name,
			  arena_printf(&r->a, "no result: %.*s",
				       (int)(nl - rest < 200 ? nl - rest : 200), rest));
	else
		refuse_at(r, r->at, "", "not JSON");
	r->at = nl;
}

static void read_all(struct reader *r)
{
	const struct read_from whole = { r->file ? r->file : "standard input", r->name, false };
	const char *name, *rest, *nl;

	r->ask->texts++;
	if (r->ask->text && r->ask->text(r->ask->ctx, &whole, r->text, (size_t)(r->end - r->text)))
		return;
	while (!r->ask->stop) {
		while (r->at < r->end && isspace((unsigned char)*r->at))
			r->at++;
		if (r->at == r->end)
			break;
		if (*r->at == '{') {
			read_document(r, "");
			continue;
		}
		nl = line_end(r->at, r->end);
		if (read_line(&r->a, r->at, (size_t)(nl - r->at), &name, &rest)) {
			r->at = rest;
			read_document(r, name);
		} else {
			while (nl[-1] == '\r')
				nl--;
			read_words(r, name, rest, nl);
		}
	}
	if (r->bad && (r->line > 1 || r->bad > 1))
		r->ask->refuse(r->ask->owner, r->file,
			       arena_printf(&r->a, "line %zu: %s%s", r->line, r->why,
					    r->bad == 1 ? ""
							: arena_printf(&r->a, ", and %zu more",
								       r->bad - 1)));
	else if (r->bad || (r->file && !r->taken && !r->ask->stop))
		r->ask->refuse(r->ask->owner, r->file, r->bad ? r->why : "empty");
}

/* "node7" of "/results/node7.json". */
static const char *name_of(struct arena *a, const char *path)
{
	char *name = basename(arena_strdup(a, path)), *dot = strrchr(name, '.');

	if (dot && dot != name)
		*dot = '\0';
	return name;
}

void read_text(struct read_ask *ask, const char *file, const char *name, const char *text,
	       size_t len)
{
	struct reader r = { .ask = ask,
			    .file = file,
			    .name = name ? name : ask->name,
			    .text = text,
			    .at = text,
			    .end = text + len,
			    .first = 1 };

	if (!r.name && ask->by_file)
		r.name = name_of(&r.a, file);
	read_all(&r);
	arena_free(&r.a);
}

/* --- where texts are -------------------------------------------------------------------------- */

/* As much as is there at once: a line that begins a document, up to the next one that does. */
static void read_lines(struct read_ask *ask, FILE *in)
{
	struct reader r = { .ask = ask, .name = ask->name, .first = 1 };
	struct arena a = { 0 };
	size_t cap = 0, number = 1;
	char *line = NULL;
	ssize_t n = 0;
	TEXT_AUTO t = { 0 };

	while (!ask->stop && n >= 0) {
		n = getdelim(&line, &cap, '\n', in);
		if (t.len && (n < 0 || begins(&a, line, line + n))) {
			r.text = r.at = t.s;
			r.end = t.s + t.len;
			if (t.len > ask->most)
				refuse_at(&r, r.at, "", "larger than any result");
			else
				read_all(&r);
			text_clear(&t);
			r.first = number;
		}
		if (n > 0 && t.len <= ask->most)
			text_addn(&t, line, (size_t)n);
		number++;
		arena_free(&a);
	}
	free(line);
	arena_free(&r.a);
}

/* A regular file only: a pipe or device among the results would hold us up. */
static void read_file(struct read_ask *ask, const char *path, int flags)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY | flags);
	struct stat st;
	ssize_t n = 1;
	TEXT_AUTO t = { 0 };

	if (fd < 0 || fstat(fd, &st)) {
		ask->refuse(ask->owner, path, strerror(errno));
	} else if (!S_ISREG(st.st_mode)) {
		ask->refuse(ask->owner, path, "not a regular file");
	} else if ((size_t)st.st_size > ask->most) {
		ask->refuse(ask->owner, path, "too large for a result");
	} else {
		/* It may grow while it is read; what is there now has to be whole. */
		text_reserve(&t, (size_t)st.st_size + 1);
		while (t.len < (size_t)st.st_size && n > 0) {
			n = read(fd, t.s + t.len, (size_t)st.st_size - t.len);
			t.len += n > 0 ? (size_t)n : 0;
		}
		if (n < 0)
			ask->refuse(ask->owner, path, strerror(errno));
		else
			read_text(ask, path, NULL, t.s, t.len);
	}
	if (fd >= 0)
		close(fd);
}

static int natural(const struct dirent **a, const struct dirent **b)
{
	return str_natural((*a)->d_name, (*b)->d_name);
}

static int visible(const struct dirent *d)
{
	return d->d_name[0] != '.';
}

static void read_at(struct read_ask *ask, const char *path, int depth)
{
	bool result = str_ends(path, ".json") || str_ends(path, ".jsonl");
	double from = ask->at, part = ask->part;
	struct dirent **names = NULL;
	struct stat st;
	int n;

	if (depth ? lstat(path, &st) : stat(path, &st)) {
		ask->refuse(ask->owner, path, strerror(errno));
		return;
	}
	if (ask->path && (S_ISDIR(st.st_mode) || S_ISREG(st.st_mode)) &&
	    ask->path(ask->owner, path, S_ISDIR(st.st_mode), !depth))
		return;
	if (!S_ISDIR(st.st_mode)) {
		if (!depth || (result && S_ISREG(st.st_mode)))
			read_file(ask, path, depth ? O_NOFOLLOW : 0);
		return;
	}
	n = depth < FOLDERS_DEEP ? scandir(path, &names, visible, natural) : 0;
	if (n < 0 || depth == FOLDERS_DEEP)
		ask->refuse(ask->owner, path,
			    n < 0 ? strerror(errno) : "folders are nested too deep");
	for (int i = 0; i < n; i++) {
		TEXT_AUTO child = { 0 };

		ask->at = from + part * i / n;
		ask->part = part / n;
		text_printf(&child, "%s/%s", path, names[i]->d_name);
		if (!ask->stop)
			read_at(ask, child.s, depth + 1);
		free(names[i]);
	}
	free(names);
}

void read_path(struct read_ask *ask, const char *path)
{
	if (strcmp(path, "-") == 0)
		read_lines(ask, stdin);
	else
		read_at(ask, path, 0);
}
