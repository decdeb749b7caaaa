/* SPDX-License-Identifier: Apache-2.0 */
/* Recording: every answer is kept at the place without links, absences and refusals too. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "machine/host/record.h"
#include "machine/host/api_book.h"
#include "machine/host/resolve.h"
#include "machine/host/sink.h"
#include "base/seal.h"

struct record {
	struct host host;
	struct host *inner; /* NULL: what somebody posted */
	const char *about;  /* what it is a capture of; NULL: of a machine that was read */
	struct resolver resolver;
	struct map places;
	struct map pages;
};

static struct recorded *host_record_place_of(struct record *r, const char *phys)
{
	struct recorded **at =
		(struct recorded **)map_at(&r->host.arena, &r->places, *phys ? phys : "/");

	if (!*at) {
		*at = ARENA_NEW(&r->host.arena, struct recorded);
		(*at)->kind = HOST_OTHER;
	}
	return *at;
}

/* Something stands there. A device or FIFO is kept as a file that was not read. */
static void saw(struct record *r, const char *phys, enum host_kind kind)
{
	struct recorded *p = host_record_place_of(r, phys);

	if (p->kind == HOST_OTHER)
		p->kind = kind == HOST_DIR ? HOST_DIR : HOST_FILE;
}

/*
 * A refusal is stored once, and what was seen there is not taken back by it. That a folder is no
 * file or a file no folder is no refusal: the capture says the same by itself.
 */
static void host_record_refuse(struct record *r, const char *phys, int code)
{
	struct recorded *p = host_record_place_of(r, phys);

	if (code == -EISDIR || code == -ELOOP || (code == -ENOTDIR && p->kind != HOST_OTHER))
		return;
	if (p->kind != HOST_LINK && !p->data && !p->listed)
		p->refused = -code;
}

static int inner_kind(void *ctx, const char *phys, enum host_kind *out)
{
	struct record *r = ctx;
	int e = r->inner->ops->kind(r->inner, phys, out);

	if (e == 0 && *out != HOST_LINK)
		saw(r, phys, *out);
	return e;
}

static int inner_link(void *ctx, const char *phys, char *buf, size_t cap)
{
	struct record *r = ctx;
	int e = r->inner->ops->link(r->inner, phys, buf, cap);
	struct recorded *p;

	if (e == 0) {
		p = host_record_place_of(r, phys);
		p->kind = HOST_LINK;
		p->data = arena_strdup(&r->host.arena, buf);
		p->len = strlen(buf);
	}
	return e;
}

/* Where path lies. When a folder on the way is missing, the place is where it would be. */
static void locate(struct record *r, const char *path, bool follow, char *phys, size_t cap)
{
	int e = resolve_place(&r->resolver, path, phys, cap);

	if (e == 0 && follow)
		e = resolve_walk(&r->resolver, phys, true, phys, cap);
	if (e && strlen(path) < cap && !*phys)
		strcpy(phys, path);
}

/* What a probe read the beginning of is read to its end, up to the largest that any probe takes and
 * one byte, so that the capture too tells "longer than that" from "exactly that". */
static void keep_longer(struct record *r, const char *path, struct recorded *p)
{
	size_t cap = HOST_READ_MAX + 1, len = 0;
	char *whole = malloc(cap);

	if (!whole)
		out_of_memory(0);
	if (r->inner->ops->read(r->inner, path, whole, cap, &len) == 0) {
		len = len < cap ? len : cap;
		if (len > p->len) {
			memcpy(whole, p->data, p->len); /* as it was seen */
			p->data = arena_strndup(&r->host.arena, whole, len);
			p->len = len;
		}
	}
	free(whole);
}

static int record_read(struct host *h, const char *path, char *buf, size_t cap, size_t *len)
{
	struct record *r = (struct record *)h;
	char phys[HOST_PATH_MAX] = "";
	struct recorded *p;
	size_t n;
	int e = r->inner->ops->read(r->inner, path, buf, cap, len);

	locate(r, path, true, phys, sizeof(phys));
	if (e) {
		host_record_refuse(r, phys, e);
		return e;
	}
	p = host_record_place_of(r, phys);
	n = *len < cap ? *len : cap;
	if (p->kind == HOST_FILE && p->data && *len <= p->len)
		return 0;
	p->kind = HOST_FILE;
	p->refused = 0;
	p->data = arena_strndup(&h->arena, buf, n);
	p->len = n;
	if (*len > cap)
		keep_longer(r, path, p);
	return 0;
}

static int record_link(struct host *h, const char *path, char *buf, size_t cap)
{
	struct record *r = (struct record *)h;
	char phys[HOST_PATH_MAX] = "";
	enum host_kind kind;
	int e = r->inner->ops->link(r->inner, path, buf, cap);

	locate(r, path, false, phys, sizeof(phys));
	if (e == 0)
		inner_link(r, phys, buf, cap);
	else if (e != -EINVAL || inner_kind(r, phys, &kind))
		host_record_refuse(r, phys, e);
	return e;
}

/* Every name of a listed folder becomes a place, so that the listing is the same on the capture. */
static void host_record_add_name(struct record *r, const char *folder, const char *name)
{
	char path[HOST_PATH_MAX], target[HOST_PATH_MAX];
	enum host_kind kind;

	if (strlen(folder) + strlen(name) + 2 > sizeof(path))
		return;
	strcpy(path, folder);
	strcat(path, "/");
	strcat(path, name);
	if (r->inner->ops->kind(r->inner, path, &kind))
		kind = HOST_FILE; /* its folder has it, whatever else is refused */
	if (kind != HOST_LINK)
		saw(r, path, kind);
	else if (inner_link(r, path, target, sizeof(target)))
		saw(r, path, HOST_FILE);
}

static int record_list(struct host *h, const char *path, struct arena *a, char ***names, size_t *n)
{
	struct record *r = (struct record *)h;
	char phys[HOST_PATH_MAX] = "";
	struct recorded *p;
	int e = r->inner->ops->list(r->inner, path, a, names, n);

	locate(r, path, true, phys, sizeof(phys));
	if (e) {
		host_record_refuse(r, phys, e);
		return e;
	}
	p = host_record_place_of(r, phys);
	if (p->listed)
		return 0;
	p->kind = HOST_DIR;
	p->listed = true;
	for (size_t i = 0; i < *n; i++)
		host_record_add_name(r, phys, (*names)[i]);
	return 0;
}

static int record_kind(struct host *h, const char *path, enum host_kind *out)
{
	struct record *r = (struct record *)h;
	char phys[HOST_PATH_MAX] = "", target[HOST_PATH_MAX];
	int e = r->inner->ops->kind(r->inner, path, out);

	locate(r, path, false, phys, sizeof(phys));
	if (e) {
		host_record_refuse(r, phys, e);
		return e;
	}
	if (*out == HOST_LINK)
		inner_link(r, phys, target, sizeof(target));
	else
		saw(r, phys, *out);
	return 0;
}

static int record_ask(struct host *h, const char *api, const char *object, const char *field,
		      struct answer *out)
{
	struct record *r = (struct record *)h;
	int e = r->inner->ops->ask(r->inner, api, object, field, out);
	void **page = map_at(&h->arena, &r->pages, api);

	if (!*page)
		*page = json_object();
	api_page_store(*page, object, field, e, out);
	return e;
}

static void record_close(struct host *h)
{
	struct record *r = (struct record *)h;

	for (size_t i = 0; i < r->pages.cap; i++)
		json_decref(r->pages.slots[i].value);
	host_close(r->inner);
	arena_free(&h->arena);
	free(r);
}

static const struct host_ops record_ops = {
	.read = record_read,
	.link = record_link,
	.list = record_list,
	.kind = record_kind,
	.ask = record_ask,
	.close = record_close,
};

struct host *record_open(struct host *inner)
{
	struct record *r = heap_array(1, sizeof(*r));

	r->host.ops = &record_ops;
	r->host.id = inner->id;
	r->inner = inner;
	r->resolver = (struct resolver){
		.ctx = r, .kind = inner_kind, .link = inner_link, .arena = &r->host.arena
	};
	return &r->host;
}

/* Nobody asks a record of what was posted: it is only written. */
static const struct host_ops posted_ops = { .close = record_close };

struct host *record_posted(const char *about)
{
	struct record *r = heap_array(1, sizeof(*r));

	r->host.ops = &posted_ops;
	r->about = about;
	return &r->host;
}

/* NULL: no plain path, a file or link on the way, or something stands there already. */
static struct recorded *new_place(struct record *r, const char *path)
{
	char plain[HOST_PATH_MAX], folder[HOST_PATH_MAX];
	struct recorded *p;

	if (*path != '/' || path_join("/", path, plain, sizeof(plain)) || !plain[1])
		return NULL;
	for (char *slash = strchr(plain + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
		snprintf(folder, sizeof(folder), "%.*s", (int)(slash - plain), plain);
		p = host_record_place_of(r, folder);
		if (p->kind == HOST_FILE || p->kind == HOST_LINK || p->refused)
			return NULL;
		p->kind = HOST_DIR;
	}
	p = host_record_place_of(r, plain);
	return p->kind == HOST_OTHER && !p->refused ? p : NULL;
}

void record_put_file(struct host *record, const char *path, const char *data, size_t len)
{
	struct recorded *p = new_place((struct record *)record, path);

	if (!p)
		return;
	*p = (struct recorded){ .kind = HOST_FILE,
				.data = arena_strndup(&record->arena, data, len),
				.len = len };
}

/* A target that does not climb above the machine's root. */
static bool stays_below(const char *path, const char *target)
{
	int depth = -1;

	for (const char *s = *target == '/' ? "" : path; *s; s++)
		depth += *s == '/' && s[1] && s[1] != '/';
	for (const char *s = target; *s && depth >= -1; s += strspn(s, "/")) {
		size_t n = strcspn(s, "/");

		if (n == 2 && strncmp(s, "..", 2) == 0)
			depth--;
		else if (n && !(n == 1 && *s == '.'))
			depth++;
		s += n;
	}
	return *target && depth >= -1 && strlen(target) < HOST_PATH_MAX;
}

void record_put_link(struct host *record, const char *path, const char *target)
{
	struct recorded *p =
		stays_below(path, target) ? new_place((struct record *)record, path) : NULL;

	if (p)
		*p = (struct recorded){ .kind = HOST_LINK,
					.data = arena_strdup(&record->arena, target),
					.len = strlen(target) };
}

void record_put_refusal(struct host *record, const char *path, int code)
{
	struct recorded *p = new_place((struct record *)record, path);

	if (p)
		p->refused = code;
}

void record_put_names(struct host *record, const char *path)
{
	struct recorded *p = host_record_place_of((struct record *)record, path);

	if (p->kind == HOST_OTHER && !p->refused)
		p->kind = HOST_DIR;
	p->listed = p->kind == HOST_DIR;
}

void record_put_answer(struct host *record, const char *api, const char *object, const char *field,
		       int code, const struct answer *answer)
{
	struct record *r = (struct record *)record;
	struct answer there;
	void **page = map_at(&record->arena, &r->pages, api);

	if (!*page)
		*page = json_object();
	if (api_page_answer(*page, object, field, &there) == API_PAGE_NONE)
		api_page_store(*page, object, field, code, answer);
}

const struct map *record_places(const struct host *record)
{
	return &((const struct record *)record)->places;
}

const struct map *record_pages(const struct host *record)
{
	return &((const struct record *)record)->pages;
}

/* From what was recorded to a capture: redacted copies, answers.tsv, meta.json and the api pages.
 */

struct saving {
	struct arena arena;
	struct sink *sink;
	struct redactor *redact; /* NULL: nothing is replaced */
	struct text answers;
	struct err *e;
};

static const char *redacted_path(struct saving *s, const char *path)
{
	size_t len = strlen(path);

	/* The names of firmware variables end in the well-known GUID of who defined them. */
	if (str_starts(path, "/sys/firmware/efi/"))
		return path;
	if (s->redact)
		s->redact->named_here = redact_names_host(path);
	return s->redact ? redact_text(s->redact, path, &len) : path;
}

static const char *redacted_data(struct saving *s, const char *path, const struct recorded *p,
				 size_t *len)
{
	char *copy;

	*len = p->len;
	if (!s->redact)
		return p->data;
	s->redact->named_here = redact_names_host(path);
	if (redact_is_secret_file(path)) {
		copy = arena_printf(&s->arena, "%s\n", redact_serial(s->redact, p->data, p->len));
		*len = strlen(copy);
		return copy;
	}
	if (str_ends(path, "/config") && p->len >= 64) {
		copy = arena_strndup(&s->arena, p->data, p->len);
		redact_config_space((unsigned char *)copy, p->len);
		return copy;
	}
	/* Servers of network mounts, addresses given to the kernel; and text only, as there are no
	 * others. */
	if ((str_ends(path, "/mounts") || str_ends(path, "/mountinfo") ||
	     str_ends(path, "/cmdline")) &&
	    !memchr(p->data, '\0', p->len)) {
		copy = redact_addresses(s->redact, p->data);
		*len = strlen(copy);
		return copy;
	}
	copy = redact_text(s->redact, p->data, len);
	/* The journal's lines are sealed. */
	return str_ends(path, ".jsonl") ? seal_again(&s->arena, p->data, p->len, copy, len) : copy;
}

/* Folders above a place, once each; places come sorted, so that parents of the last one are known.
 */
static int make_parents(struct saving *s, struct map *made, const char *name)
{
	for (const char *slash = strchr(name, '/'); slash; slash = strchr(slash + 1, '/')) {
		const char *dir = arena_strndup(&s->arena, name, (size_t)(slash - name));
		void **at = map_at(&s->arena, made, dir);
		int r;

		if (*at)
			continue;
		*at = s;
		r = sink_folder(s->sink, dir, s->e);
		if (r)
			return r;
	}
	return 0;
}

/* Names of files may hold what separates lines and columns. */
static void host_record_answer_line(struct saving *s, const char *path, const char *answer)
{
	for (const char *c = path; *c; c++) {
		if (*c == '\t')
			text_add(&s->answers, "\\t");
		else if (*c == '\n')
			text_add(&s->answers, "\\n");
		else if (*c == '\\')
			text_add(&s->answers, "\\\\");
		else
			text_addc(&s->answers, *c);
	}
	text_printf(&s->answers, "\t%s\n", answer);
}

static int save_place(struct saving *s, struct map *made, const char *path,
		      const struct recorded *p)
{
	const char *shown = redacted_path(s, path),
		   *name = arena_printf(&s->arena, "root%s", shown), *data;
	size_t len;
	int r;

	if (p->listed)
		host_record_answer_line(s, shown, "LISTED");
	else if (p->refused)
		host_record_answer_line(s, shown, errno_name(p->refused));
	if (p->kind == HOST_OTHER)
		return 0;
	if (p->kind == HOST_DIR)
		return make_parents(s, made, arena_printf(&s->arena, "%s/", name));
	r = make_parents(s, made, name);
	if (r)
		return r;
	if (p->kind == HOST_LINK)
		return sink_link(s->sink, name, redacted_path(s, p->data), s->e);
	if (!p->data) { /* seen, never read or refused */
		if (!p->refused)
			host_record_answer_line(s, shown, "ENOMEDIUM");
		return sink_file(s->sink, name, "", 0, s->e);
	}
	data = redacted_data(s, path, p, &len);
	return sink_file(s->sink, name, data, len, s->e);
}

static int save_places(struct saving *s, const struct map *places)
{
	struct map_entry *list = map_sorted(&s->arena, places);
	struct map made = { 0 };
	int r = 0;

	for (size_t i = 0; r == 0 && i < places->n; i++)
		r = save_place(s, &made, list[i].key, list[i].value);
	return r;
}

/* Serial numbers and GPU UUIDs are answers too; addresses stand only in the interface answers. */
static json_t *redacted_answer(struct saving *s, const char *api, const char *field,
			       const json_t *v)
{
	const char *text = json_string_value(v);
	size_t len;

	if (!s->redact || !text)
		return json_deep_copy(v);
	s->redact->named_here =
		strcmp(api, "env") == 0 || strcmp(api, "if") == 0 || strcmp(api, "zpool") == 0;
	if (strstr(field, "Serial"))
		return json_string(redact_serial(s->redact, text, strlen(text)));
	if (strstr(field, "PartNumber"))
		return json_string("REDACTED");
	if (strcmp(api, "if") == 0)
		return json_string(redact_addresses(s->redact, text));
	len = strlen(text);
	return json_string(redact_text(s->redact, text, &len));
}

static int save_json(struct saving *s, const char *name, json_t *j)
{
	char *text = json_dumps(j, JSON_INDENT(2) | JSON_SORT_KEYS);
	int r = text ? 0 : err_set(s->e, -ENOMEM, "%s: out of memory", name);
	TEXT_AUTO t = { 0 };

	if (text) {
		text_printf(&t, "%s\n", text);
		r = sink_file(s->sink, name, t.s, t.len, s->e);
	}
	free(text);
	return r;
}

static int save_page(struct saving *s, const char *api, json_t *page)
{
	json_t *copy = json_object(), *fields, *value, *o;
	const char *object, *field;
	int r;

	json_object_foreach(page, object, fields)
	{
		o = json_object();
		json_object_set_new(copy, redacted_path(s, object), o);
		json_object_foreach(fields, field, value)
			json_object_set_new(o, field, redacted_answer(s, api, field, value));
	}
	r = save_json(s, arena_printf(&s->arena, "api/%s.json", api), copy);
	json_decref(copy);
	return r;
}

static int save_meta(struct saving *s, const struct host_identity *id, const char *about)
{
	const char *nodename = s->redact ? "host" : id->nodename;
	json_auto_t *j = json_pack(
		"{s:s, s:s, s:s, s:s, s:[], s:{s:s, s:s, s:s, s:s, s:I, s:I, s:I}, s:b, s:s, s:b}",
		"schema", "gputune.capture/1", "tool_version", GPUTUNE_VERSION, "origin",
		about ? "posted" : "captured", "about",
		about ? about : "what gputune read from this machine", "sources", "identity",
		"nodename", utf8_clean(&s->arena, nodename), "release",
		redacted_path(s, id->release), "version", redacted_path(s, id->version), "machine",
		id->machine, "euid", (json_int_t)id->euid, "page_size", (json_int_t)id->page_size,
		"time_s", (json_int_t)id->time_s, "redacted", s->redact != NULL, "unlisted",
		"unknown", "partial", about != NULL);

	return save_json(s, "meta.json", j);
}

/* Serial numbers are known before any text is written in which they may stand. */
static void learn_serials(struct saving *s, const struct map *places, const struct map *pages)
{
	const char *object, *field;
	json_t *page, *fields, *value;
	struct map_entry *list = map_sorted(&s->arena, places);

	for (size_t i = 0; i < places->n; i++) {
		const struct recorded *p = list[i].value;

		if (p->kind == HOST_FILE && p->data && redact_is_secret_file(list[i].key))
			redact_serial(s->redact, p->data, p->len);
	}
	list = map_sorted(&s->arena, pages);
	for (size_t i = 0; i < pages->n; i++) {
		page = list[i].value;
		json_object_foreach(page, object, fields) json_object_foreach(
			fields, field, value) if (strstr(field, "Serial") && json_is_string(value))
			redact_serial(s->redact, json_string_value(value),
				      json_string_length(value));
	}
}

int record_save(struct host *record, const char *path, bool redact, struct err *e)
{
	struct saving s = { .e = e };
	struct redactor redactor = { .arena = &s.arena, .nodename = record->id.nodename };
	const struct map *pages = record_pages(record);
	struct map_entry *list;
	int r, closed;

	s.sink = sink_open(path, e);
	if (!s.sink)
		return -EIO;
	s.redact = redact ? &redactor : NULL;
	if (redact) {
		redactor.is_word = redact_host_is_word(record->id.nodename, record_places(record));
		learn_serials(&s, record_places(record), pages);
	}
	text_add(&s.answers, "");
	r = save_meta(&s, &record->id, ((struct record *)record)->about);
	if (r == 0)
		r = sink_folder(s.sink, "api", e);
	list = map_sorted(&s.arena, pages);
	for (size_t i = 0; r == 0 && i < pages->n; i++)
		r = save_page(&s, list[i].key, list[i].value);
	if (r == 0)
		r = sink_folder(s.sink, "root", e);
	if (r == 0)
		r = save_places(&s, record_places(record));
	if (r == 0)
		r = sink_file(s.sink, "answers.tsv", s.answers.s, s.answers.len, e);
	closed = sink_close(s.sink, r == 0, e);
	text_free(&s.answers);
	arena_free(&s.arena);
	return r ? r : closed;
}
