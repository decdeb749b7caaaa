/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A captured machine as a backend of host.h: resolves paths and links inside the capture, and
 * answers absences and refusals as the machine did. Where the files lie is the store's matter. The
 * format is docs/design/CAPTURE.md.
 */
#include "machine/host/captured.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/text.h"
#include "machine/host/api_book.h"
#include "machine/host/simulator.h"
#include "machine/write/write.h"

enum { API_MAX = 16 << 20, SLURP_FIRST = 1 << 16 };

/* --- paths ------------------------------------------------------------------------------------ */

/* Where the machine's root lies in the store. */
#define ROOT "root"
enum { ROOT_LEN = sizeof(ROOT) - 1 };

static int captured_inside(const char *phys, char *out, size_t cap)
{
	size_t n = strlen(phys);

	if (n + ROOT_LEN >= cap)
		return -ENAMETOOLONG;
	memcpy(out, ROOT, ROOT_LEN);
	memcpy(out + ROOT_LEN, phys, n + 1);
	return 0;
}

static int captured_store_kind(void *ctx, const char *phys, enum host_kind *out)
{
	struct captured *c = ctx;
	char path[HOST_PATH_MAX];
	int r = captured_inside(phys, path, sizeof(path));

	return r ? r : c->store->ops->kind(c->store, path, out);
}

/* What stands at a place of the machine in the capture, and a link's target: for the resolver. ctx
 * is the capture. */
static int captured_store_link(void *ctx, const char *phys, char *buf, size_t cap)
{
	struct captured *c = ctx;
	char path[HOST_PATH_MAX];
	int r = captured_inside(phys, path, sizeof(path));

	return r ? r : c->store->ops->link(c->store, path, buf, cap);
}

/* What a path means that is not in the store: the stored refusal, or the rule for what is not
 * listed. */
static int captured_missing(struct captured *c, const char *phys)
{
	intptr_t code = (intptr_t)map_get(&c->answers, phys);
	const char *slash;
	char dir[HOST_PATH_MAX];

	if (code > 0)
		return -(int)code;
	if (c->unlisted_absent)
		return -ENOENT;
	/* A folder that was listed holds nothing else; and so on upwards, for folders that are not
	 * there. */
	for (strcpy(dir, phys); (slash = strrchr(dir, '/'));) {
		dir[slash - dir] = '\0';
		code = (intptr_t)map_get(&c->answers, dir);
		if (code == LISTED || code == ENOENT)
			return -ENOENT;
		if (code > 0)
			return -(int)code;
		if (*dir) {
			enum host_kind kind;

			if (captured_store_kind(c, dir, &kind) == 0)
				break;
		}
	}
	return HOST_NOT_CAPTURED;
}

/* Result of an operation at phys: absences and refusals take the machine's word. */
static int answered(struct captured *c, const char *path, const char *phys, int r)
{
	if (r == -ENOENT || r == -ENOTDIR)
		return captured_missing(c, *phys ? phys : path);
	return r;
}

/* --- operations ------------------------------------------------------------------------------- */

static int read_at(struct captured *c, const char *phys, char *buf, size_t cap, size_t *len)
{
	char full[HOST_PATH_MAX];
	int r = captured_inside(phys, full, sizeof(full));

	return r ? r : c->store->ops->read(c->store, full, buf, cap, len);
}

/* The path as it was asked, when no link is on the way: most are so, and the store can tell. */
static int read_as_asked(struct captured *c, const char *path, char *phys, size_t phys_cap,
			 char *buf, size_t cap, size_t *len)
{
	int r;

	if (!c->store->finds_links || *path != '/' || strstr(path, "/.") || strstr(path, "//") ||
	    str_ends(path, "/") || strlen(path) + ROOT_LEN >= phys_cap)
		return -ELOOP;
	r = read_at(c, path, buf, cap, len);
	if (r != -ELOOP)
		strcpy(phys, path);
	if (r == 0)
		resolve_saw(&c->resolver, path);
	return r;
}

static int captured_read(struct host *h, const char *path, char *buf, size_t cap, size_t *len)
{
	struct captured *c = (struct captured *)h;
	char phys[HOST_PATH_MAX];
	intptr_t refused;
	int r;

	*phys = '\0';
	r = resolve_known(&c->resolver, path, phys, sizeof(phys))
		    ? read_at(c, phys, buf, cap, len)
		    : read_as_asked(c, path, phys, sizeof(phys), buf, cap, len);
	if (r == -ELOOP && !*phys) {
		r = resolve_place(&c->resolver, path, phys, sizeof(phys));
		if (r == 0)
			r = read_at(c, phys, buf, cap, len);
	}
	if (r == -ELOOP &&
	    *phys) { /* the file itself is a link; without a place, its folder is a loop */
		r = resolve_walk(&c->resolver, phys, true, phys, sizeof(phys));
		if (r == 0)
			r = read_at(c, phys, buf, cap, len);
	}
	if (r)
		return answered(c, path, phys, r);
	/* A placeholder: seen in its folder, refused or never read. */
	refused = *len == 0 ? (intptr_t)map_get(&c->answers, phys) : 0;
	return refused > 0 ? -(int)refused : 0;
}

static int captured_link(struct host *h, const char *path, char *buf, size_t cap)
{
	struct captured *c = (struct captured *)h;
	char phys[HOST_PATH_MAX];
	int r;

	*phys = '\0';
	r = resolve_place(&c->resolver, path, phys, sizeof(phys));
	if (r == 0)
		r = captured_store_link(c, phys, buf, cap);
	return r ? answered(c, path, phys, r) : 0;
}

/* Version control keeps no empty folders: such a file in one stands for nothing on the machine. */
static void drop_overlay(char **names, size_t *n)
{
	for (size_t i = 0; i < *n; i++)
		if (strcmp(names[i], ".gitkeep") == 0)
			names[i] = names[--*n];
}

static int captured_list(struct host *h, const char *path, struct arena *a, char ***names,
			 size_t *n)
{
	struct captured *c = (struct captured *)h;
	char full[HOST_PATH_MAX];
	const char *phys = "";
	intptr_t code;
	int r = resolve_folder(&c->resolver, path, &phys), e;

	if (r) { /* the answer stands where the folder would be, links resolved as far as they go */
		*full = '\0';
		e = resolve_place(&c->resolver, path, full, sizeof(full));
		if (e == 0)
			resolve_walk(&c->resolver, full, true, full, sizeof(full));
		return answered(c, path, full, r);
	}
	r = captured_inside(phys, full, sizeof(full));
	if (r == 0)
		r = c->store->ops->list(c->store, full, a, names, n);
	if (r == -ENOTDIR) /* it is there, and a file: whatever reading it would say */
		return r;
	code = (intptr_t)map_get(&c->answers, phys);
	if (code > 0)
		return -(int)code;
	/* A folder that only holds what happened to be read is no listing. */
	if (code != LISTED && !c->unlisted_absent)
		return HOST_NOT_CAPTURED;
	if (r)
		return answered(c, path, phys, r);
	drop_overlay(*names, n);
	return 0;
}

static int captured_kind(struct host *h, const char *path, enum host_kind *out)
{
	struct captured *c = (struct captured *)h;
	char phys[HOST_PATH_MAX];
	int r;

	*phys = '\0';
	r = resolve_place(&c->resolver, path, phys, sizeof(phys));
	if (r == 0)
		r = captured_store_kind(c, phys, out);
	return r ? answered(c, path, phys, r) : 0;
}

/* --- api -------------------------------------------------------------------------------------- */

/* A whole file of the capture, NUL-terminated; the caller frees. NULL and *e when it cannot be read
 * or is larger. */
static char *captured_slurp(struct captured *c, const char *name, size_t max, size_t *len,
			    struct err *e)
{
	/* Few are large: the bound is taken as a size only by those that are. */
	size_t cap = max < SLURP_FIRST ? max : SLURP_FIRST;
	char *buf = NULL;
	int r;

	for (;;) {
		buf = malloc(cap + 1);
		if (!buf)
			out_of_memory(0);
		r = c->store->ops->read(c->store, name, buf, cap, len);
		if (r || *len <= cap || cap == max)
			break;
		free(buf);
		cap = max;
	}
	if (r == 0 && *len > max)
		r = -EFBIG;
	if (r) {
		err_set(e, r, "%s/%s: %s", c->host.id.source, name, strerror(-r));
		free(buf);
		return NULL;
	}
	buf[*len] = '\0';
	return buf;
}

/* The same parsed; the caller owns the reference. */
static json_t *captured_json(struct captured *c, const char *name, size_t max, struct err *e)
{
	json_error_t why;
	size_t len;
	char *text = captured_slurp(c, name, max, &len, e);
	json_t *j;

	if (!text)
		return NULL;
	j = json_loadb(text, len, JSON_REJECT_DUPLICATES, &why);
	free(text);
	if (!j)
		err_set(e, -EBADMSG, "%s/%s:%d: %s", c->host.id.source, name, why.line, why.text);
	return j;
}

/* A page that is not there has no answers; NULL when it is none. */
static json_t *captured_page(struct captured *c, const char *name, size_t max)
{
	struct err e = { 0 };
	enum host_kind kind;
	json_t *page = NULL;
	size_t len;
	char *text;

	if (c->store->ops->kind(c->store, name, &kind))
		return json_object();
	text = captured_slurp(c, name, max, &len, &e);
	if (text)
		page = api_page_load(text, len, name, &e);
	free(text);
	return page;
}

static const json_t *page_of(struct captured *c, const char *api)
{
	const json_t *known = map_get(&c->pages, api);
	char name[64];
	json_t *page;

	if (known || map_get(&c->broken, api))
		return known;
	if (snprintf(name, sizeof(name), "api/%s.json", api) >= (int)sizeof(name) ||
	    strchr(api, '/'))
		return NULL;
	page = captured_page(c, name, API_MAX);
	if (page)
		*map_at(&c->host.arena, &c->pages, api) = page;
	else
		*map_at(&c->host.arena, &c->broken, api) = c;
	return page;
}

static void drop_pages(struct map *pages)
{
	for (size_t i = 0; i < pages->cap; i++)
		json_decref(pages->slots[i].value);
}

static void captured_close(struct host *h)
{
	struct captured *c = (struct captured *)h;

	drop_pages(&c->pages);
	drop_pages(&c->told);
	if (c->lock_fd >= 0)
		close(c->lock_fd);
	c->store->ops->close(c->store);
	arena_free(&h->arena);
	free(c);
}

/* Opening a capture: where its files lie, what meta.json says of the machine, and what answers.tsv
 * says of paths. */

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
		return err_set(
			e, -EBADMSG,
			"%s/meta.json: unsupported schema \"%s\"; expected gputune.capture/1",
			id->source, schema);
	if (strcmp(unlisted, "absent") != 0 && strcmp(unlisted, "unknown") != 0)
		return err_set(e, -EBADMSG,
			       "%s/meta.json: unlisted must be absent or unknown, not \"%s\"",
			       id->source, unlisted);
	c->unlisted_absent = strcmp(unlisted, "absent") == 0;
	id->partial = json_is_true(json_object_get(meta, "partial"));
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
static void captured_unescape(char *s)
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

static int captured_answer_line(struct captured *c, char *line, int n, struct err *e)
{
	char *tab = strchr(line, '\t');
	intptr_t code;

	if (!*line)
		return 0;
	if (!tab || line[0] != '/')
		return err_set(e, -EBADMSG, "%s/answers.tsv:%d: not \"/path TAB NAME\"",
			       c->host.id.source, n);
	*tab = '\0';
	captured_unescape(line);
	code = strcmp(tab + 1, "LISTED") == 0 ? LISTED : errno_number(tab + 1);
	/* That machine was short of memory, and not we. */
	if (code == ENOMEM)
		code = EIO;
	if (!code)
		return err_set(e, -EBADMSG, "%s/answers.tsv:%d: unknown errno name \"%s\"",
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
		r = captured_answer_line(c, line, ++n, e);
	}
	free(text);
	return r;
}

static struct store *open_store(const char *path, struct err *e)
{
	char demo[HOST_DEMO_MAX];
	const char *file = host_demo_file(path, demo, e);
	struct stat st;

	if (!file)
		return NULL;
	if (stat(file, &st) < 0) {
		err_set(e, -errno, "%s: %s", path, strerror(errno));
		if (host_is_demo(path))
			err_hint(e, "did you mean \"demo:%s\"?", path);
		return NULL;
	}
	if (file == demo && str_ends(file, ".json")) {
		err_set(e, -EINVAL, "%s is a cluster, not a machine", path);
		err_hint(e, "gputune cluster discover --from %s", path);
		return NULL;
	}
	return S_ISDIR(st.st_mode) ? store_open_folder(file, e) : store_open_tar(file, e);
}

/* Owns the store. */
static struct host *open_on(struct store *s, struct overlay *overlay, const char *path,
			    struct err *e)
{
	struct captured *c = heap_array(1, sizeof(*c));
	json_t *meta;
	int r;

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
			err_hint(e, "a capture is a folder or tar with a meta.json; create one "
				    "with \"gputune capture\"");
		host_close(&c->host);
		return NULL;
	}
	return &c->host;
}

struct host *host_open_packed(const char *path, struct err *e)
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

/* Writes to a captured machine's overlay. Files of the kernel answer a write as the kernel would;
 * what a device would do stands in simulator.c. */

enum { FILE_MAX = 1 << 20, TOLD_MAX = 8 << 20 };

/* Where the path lies in the store: links resolved as far as folders are known; a folder that the
 * capture never saw has no links. */
static int captured_place(struct captured *c, const char *path, char *out, size_t cap)
{
	char phys[HOST_PATH_MAX];
	int r = resolve_place(&c->resolver, path, phys, sizeof(phys));

	if (r && r != -EXDEV && r != -ELOOP)
		r = path_join("/", path, phys, sizeof(phys));
	if (r)
		return r;
	return snprintf(out, cap, "root%s", phys) >= (int)cap ? -ENAMETOOLONG : 0;
}

/* The place of a file that is there, a link in its last component followed. */
static int place_of_file(struct captured *c, const char *path, char *phys, char *out, size_t cap)
{
	enum host_kind kind = HOST_LINK;
	/* Folders are remembered; only a link in the last component needs the whole walk. */
	int r = resolve_place(&c->resolver, path, phys, HOST_PATH_MAX);

	if (r == 0)
		r = captured_store_kind(c, phys, &kind);
	if (r || kind == HOST_LINK)
		r = resolve_walk(&c->resolver, path, true, phys, HOST_PATH_MAX);
	if (r)
		return r;
	return snprintf(out, cap, "root%s", phys) >= (int)cap ? -ENAMETOOLONG : 0;
}

static int patch(char *old, size_t n, long long offset, const void *data, size_t len)
{
	if (offset > (long long)n || len > n - (size_t)offset)
		return -EINVAL;
	memcpy(old + offset, data, len);
	return 0;
}

/* A file that the kernel changes because another one was written. */
static int set_beside(void *ctx, const char *path, const char *text)
{
	struct captured *c = ctx;
	char phys[HOST_PATH_MAX], name[HOST_PATH_MAX];

	if (place_of_file(c, path, phys, name, sizeof(name)))
		return 0;
	return overlay_put(c->overlay, name, text, strlen(text), 0644);
}

static int captured_write_file(struct host *h, const char *path, long long offset, const void *data,
			       size_t len)
{
	struct captured *c = (struct captured *)h;
	char phys[HOST_PATH_MAX], name[HOST_PATH_MAX], *old, *text;
	ARENA_AUTO a = { 0 };
	size_t n;
	int r = place_of_file(c, path, phys, name, sizeof(name));

	if (r)
		return r;
	r = host_read(h, path, FILE_MAX, &a, &old, &n);
	if (r == 0 && offset >= 0) {
		r = patch(old, n, offset, data, len);
		if (r == 0)
			r = overlay_put(c->overlay, name, old, n, 0644);
	} else if (r == 0) {
		struct kernel_file f = { .h = h, .a = &a, .path = phys, .old = old };

		text = arena_strndup(&a, data, len);
		r = kernel_file_write(&f, text, set_beside, c);
		if (r == 0)
			r = overlay_put(c->overlay, name, f.now, strlen(f.now), 0644);
	}
	return r;
}

/* --- answers of libraries --------------------------------------------------------------------- */

/* Loads what an earlier run told this overlay; remembered. Never NULL. */
static json_t *captured_overrides(struct captured *c, const char *api)
{
	json_t **page = (json_t **)map_at(&c->host.arena, &c->told, api);
	char name[64];

	if (*page)
		return *page;
	if (snprintf(name, sizeof(name), "told/%s.json", api) < (int)sizeof(name))
		*page = captured_page(c, name, TOLD_MAX);
	if (!*page)
		*page = json_object();
	return *page;
}

static int captured_ask(struct host *h, const char *api, const char *object, const char *field,
			struct answer *out)
{
	struct captured *c = (struct captured *)h;
	const json_t *page = page_of(c, api);
	int r;

	if (c->overlay) {
		r = api_page_answer(captured_overrides(c, api), object, field, out);
		if (r != API_PAGE_NONE)
			return r;
	}
	if (!page)
		return -EBADMSG;
	r = api_page_answer(page, object, field, out);
	if (r == API_PAGE_NONE)
		return c->unlisted_absent ? -ENOENT : HOST_NOT_CAPTURED;
	return r;
}

const struct host_ops captured_ops = {
	.read = captured_read,
	.link = captured_link,
	.list = captured_list,
	.kind = captured_kind,
	.ask = captured_ask,
	.close = captured_close,
};

/* The pages that changed: a device's answer may bring others with it. */
struct telling {
	struct captured *c;
	const char *apis[4];
	size_t n;
	int r;
};

static void changed(struct telling *t, const char *api)
{
	for (size_t i = 0; i < t->n; i++)
		if (strcmp(t->apis[i], api) == 0)
			return;
	if (t->n < sizeof(t->apis) / sizeof(t->apis[0]))
		t->apis[t->n++] = arena_strdup(&t->c->host.arena, api);
}

/* One answer that is different now; NULL: the capture's own again. */
static void captured_set_one(void *ctx, const char *api, const char *object, const char *field,
			     const struct answer *value)
{
	struct telling *t = ctx;
	json_t *page = captured_overrides(t->c, api), *o = json_object_get(page, object);

	changed(t, api);
	if (value)
		api_page_store(page, object, field, 0, value);
	else if (o)
		json_object_del(o, field);
}

static int captured_save(struct captured *c, const char *api)
{
	char name[64],
		*text = json_dumps(captured_overrides(c, api), JSON_SORT_KEYS | JSON_INDENT(1));
	int r = text ? 0 : -ENOMEM;

	if (snprintf(name, sizeof(name), "told/%s.json", api) >= (int)sizeof(name))
		r = -ENAMETOOLONG;
	if (r == 0)
		r = overlay_put(c->overlay, name, text, strlen(text), 0644);
	free(text);
	return r;
}

static int captured_set(struct host *h, const char *api, const char *object, const char *field,
			const struct answer *value)
{
	struct captured *c = (struct captured *)h;
	struct telling t = { .c = c };

	if (strchr(api, '/'))
		return -EINVAL;
	t.r = simulate_write(h, api, object, field, value, captured_set_one, &t);
	for (size_t i = 0; t.r == 0 && i < t.n; i++)
		t.r = captured_save(c, t.apis[i]);
	return t.r;
}

/* --- files of ours ---------------------------------------------------------------------------- */

static int captured_put(struct host *h, const char *path, const void *data, size_t len,
			unsigned mode)
{
	struct captured *c = (struct captured *)h;
	char name[HOST_PATH_MAX];
	int r = captured_place(c, path, name, sizeof(name));

	return r ? r : overlay_put(c->overlay, name, data, len, mode);
}

static int captured_stat(struct host *h, const char *path, struct host_stat *out)
{
	struct captured *c = (struct captured *)h;
	struct host_stat st = { .uid = h->id.euid, .links = 1, .size = -1 };
	char name[HOST_PATH_MAX];
	int r = captured_place(c, path, name, sizeof(name));

	if (r == 0)
		r = overlay_mode(c->overlay, name, &st.mode);
	if (r == 0)
		r = host_kind(h, path, &st.kind);
	if (r == 0)
		*out = st;
	return r;
}

const struct host_ops overlaid_ops = {
	.read = captured_read,
	.link = captured_link,
	.list = captured_list,
	.kind = captured_kind,
	.ask = captured_ask,
	.close = captured_close,
	.writes = &captured_writes,
	.stat = captured_stat,
};

static int captured_append(struct host *h, const char *path, const void *data, size_t len)
{
	struct captured *c = (struct captured *)h;
	char name[HOST_PATH_MAX];
	int r = captured_place(c, path, name, sizeof(name));

	return r ? r : overlay_append(c->overlay, name, data, len);
}

static int captured_make(struct host *h, enum host_kind kind, const char *path, const char *target,
			 unsigned mode)
{
	struct captured *c = (struct captured *)h;
	char name[HOST_PATH_MAX];
	int r = captured_place(c, path, name, sizeof(name));

	resolve_forget(&c->resolver);
	return r ? r : overlay_make(c->overlay, kind, name, target, mode);
}

static int captured_remove(struct host *h, const char *path)
{
	struct captured *c = (struct captured *)h;
	char name[HOST_PATH_MAX];
	int r = captured_place(c, path, name, sizeof(name));

	resolve_forget(&c->resolver);
	return r ? r : overlay_remove(c->overlay, name);
}

static int captured_lock(struct host *h, const char *path)
{
	struct captured *c = (struct captured *)h;
	char name[HOST_PATH_MAX];
	int r;

	if (c->lock_fd >= 0)
		return 0;
	r = captured_place(c, path, name, sizeof(name));
	if (r == 0)
		r = overlay_lock(c->overlay, name);
	if (r < 0)
		return r;
	c->lock_fd = r;
	return 0;
}

const struct host_writes captured_writes = {
	.write = captured_write_file,
	.tell = captured_set,
	.put = captured_put,
	.append = captured_append,
	.make = captured_make,
	.remove = captured_remove,
	.lock = captured_lock,
};
