/* SPDX-License-Identifier: Apache-2.0 */
/* Opening a capture: where its files lie, what meta.json says of the machine, and what answers.tsv
 * says of paths. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/text.h"
#include "machine/host/captured.h"
#include "machine/write/write.h"

enum { META_MAX = 1 << 20, ANSWERS_MAX = 32 << 20 };

static int load_identity(struct captured *c, const json_t *meta, struct err *e)
{
	const char *nodename, *release, *version, *machine, *schema, *unlisted;
	struct host_identity *id = &c->host.id;
	struct arena *a = &c->host.arena;
	json_int_t euid, page_size, time_s;
	json_error_t why;

	if (json_unpack_ex((json_t *)meta, &why, 0,
			   "{s:s, s:s, s:{s:s, s:s, s:s, s:s, s:I, s:I, s:I}}", "schema", &schema,
			   "unlisted", &unlisted, "identity", "nodename", &nodename, "release",
			   &release, "version", &version, "machine", &machine, "euid", &euid,
			   "page_size", &page_size, "time_s", &time_s))
		return err_set(e, -EBADMSG, "%s/meta.json: %s", id->source, why.text);
	if (strcmp(schema, "gputune.capture/1") != 0)
		return err_set(e, -EBADMSG, "%s/meta.json: schema \"%s\" is not gputune.capture/1",
			       id->source, schema);
	if (strcmp(unlisted, "absent") != 0 && strcmp(unlisted, "unknown") != 0)
		return err_set(e, -EBADMSG,
			       "%s/meta.json: unlisted is \"%s\", neither absent nor unknown",
			       id->source, unlisted);
	c->unlisted_absent = strcmp(unlisted, "absent") == 0;
	id->nodename = arena_strdup(a, nodename);
	id->release = arena_strdup(a, release);
	id->version = arena_strdup(a, version);
	id->machine = arena_strdup(a, machine);
	id->euid = euid;
	id->page_size = page_size;
	id->time_s = time_s;
	return 0;
}

/* \t, \n and \\ stand for what separates columns and lines, and for the backslash itself. */
static void unescape(char *s)
{
	char *out = s;

	for (; *s; s++) {
		if (s[0] == '\\' && (s[1] == 't' || s[1] == 'n' || s[1] == '\\')) {
			s++;
			*out++ = *s == 't' ? '\t' : *s == 'n' ? '\n' : '\\';
		} else {
			*out++ = *s;
		}
	}
	*out = '\0';
}

static int answer_line(struct captured *c, char *line, int n, struct err *e)
{
	char *tab = strchr(line, '\t');
	intptr_t code;

	if (!*line)
		return 0;
	if (!tab || line[0] != '/')
		return err_set(e, -EBADMSG, "%s/answers.tsv:%d: not \"/path TAB NAME\"",
			       c->host.id.source, n);
	*tab = '\0';
	unescape(line);
	code = strcmp(tab + 1, "LISTED") == 0 ? LISTED : errno_number(tab + 1);
	/* That machine was short of memory, and not we. */
	if (code == ENOMEM)
		code = EIO;
	if (!code)
		return err_set(e, -EBADMSG, "%s/answers.tsv:%d: \"%s\" is no errno name",
			       c->host.id.source, n, tab + 1);
	*map_at(&c->host.arena, &c->answers, strcmp(line, "/") == 0 ? "" : line) = (void *)code;
	return 0;
}

static int load_answers(struct captured *c, struct err *e)
{
	enum host_kind kind;
	char *text, *line, *next;
	size_t len;
	int n = 0, r = 0;

	if (c->store->ops->kind(c->store, "answers.tsv", &kind))
		return 0;
	text = captured_slurp(c, "answers.tsv", ANSWERS_MAX, &len, e);
	if (!text)
		return -EBADMSG;
	for (line = text; r == 0 && line; line = next) {
		next = strchr(line, '\n');
		if (next)
			*next++ = '\0';
		r = answer_line(c, line, ++n, e);
	}
	free(text);
	return r;
}

static struct store *open_store(const char *path, struct err *e)
{
	struct stat st;

	if (stat(path, &st) < 0) {
		err_set(e, -errno, "%s: %s", path, strerror(errno));
		return NULL;
	}
	return S_ISDIR(st.st_mode) ? store_open_folder(path, e) : store_open_tar(path, e);
}

/* Owns the store. */
static struct host *open_on(struct store *s, struct overlay *overlay, const char *path,
			    struct err *e)
{
	struct captured *c = calloc(1, sizeof(*c));
	json_t *meta;
	int r;

	if (!c)
		out_of_memory(0);
	c->host.ops = overlay ? &overlaid_ops : &captured_ops;
	c->store = s;
	c->overlay = overlay;
	c->lock_fd = -1;
	c->resolver = (struct resolver){ .ctx = c,
					 .kind = captured_store_kind,
					 .link = captured_store_link,
					 .arena = &c->host.arena };
	c->host.id.captured = true;
	c->host.id.source = arena_strdup(&c->host.arena, path);
	meta = captured_json(c, "meta.json", META_MAX, e);
	r = meta ? load_identity(c, meta, e) : -EBADMSG;
	json_decref(meta);
	if (r == 0)
		r = load_answers(c, e);
	if (r) {
		if (!meta)
			err_hint(e, "a capture is a folder or tar with a meta.json; \"gputune "
				    "capture\" writes one");
		host_close(&c->host);
		return NULL;
	}
	return &c->host;
}

struct host *host_open_capture(const char *path, struct err *e)
{
	struct store *s = open_store(path, e);

	return s ? open_on(s, NULL, path, e) : NULL;
}

struct host *host_open_overlay(const char *capture, const char *overlay, struct err *e)
{
	struct store *s = open_store(capture, e);
	struct overlay *o = s ? overlay_open(s, overlay, e) : NULL;

	return o ? open_on(&o->store, o, capture, e) : NULL;
}
