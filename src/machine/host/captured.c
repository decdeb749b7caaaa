/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A captured machine behind the door: resolves paths and links inside the capture, and answers
 * absences and refusals as the machine did. Where the files lie is the store's matter. The format
 * is docs/CAPTURE.md.
 */
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/map.h"
#include "base/text.h"
#include "machine/host/api_book.h"
#include "machine/host/captured.h"

enum { API_MAX = 16 << 20, SLURP_FIRST = 1 << 16 };

/* --- paths
 * ---------------------------------------------------------------------------------------- */

/* Where the machine's root lies in the store. */
#define ROOT "root"
enum { ROOT_LEN = sizeof(ROOT) - 1 };

static int inside(const char *phys, char *out, size_t cap)
{
	size_t n = strlen(phys);

	if (n + ROOT_LEN >= cap)
		return -ENAMETOOLONG;
	memcpy(out, ROOT, ROOT_LEN);
	memcpy(out + ROOT_LEN, phys, n + 1);
	return 0;
}

int captured_store_kind(void *ctx, const char *phys, enum host_kind *out)
{
	struct captured *c = ctx;
	char path[HOST_PATH_MAX];
	int r = inside(phys, path, sizeof(path));

	return r ? r : c->store->ops->kind(c->store, path, out);
}

int captured_store_link(void *ctx, const char *phys, char *buf, size_t cap)
{
	struct captured *c = ctx;
	char path[HOST_PATH_MAX];
	int r = inside(phys, path, sizeof(path));

	return r ? r : c->store->ops->link(c->store, path, buf, cap);
}

/* What a path means that is not in the store: the stored refusal, or the rule for what is not
 * listed. */
static int missing(struct captured *c, const char *phys)
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
		return missing(c, *phys ? phys : path);
	return r;
}

/* --- the door's operations
 * ------------------------------------------------------------------------ */

static int read_at(struct captured *c, const char *phys, char *buf, size_t cap, size_t *len)
{
	char full[HOST_PATH_MAX];
	int r = inside(phys, full, sizeof(full));

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
static void drop_keeper(char **names, size_t *n)
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
	r = inside(phys, full, sizeof(full));
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
	drop_keeper(*names, n);
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

/* --- api
 * ------------------------------------------------------------------------------------------ */

char *captured_slurp(struct captured *c, const char *name, size_t max, size_t *len, struct err *e)
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

json_t *captured_json(struct captured *c, const char *name, size_t max, struct err *e)
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

static const json_t *page_of(struct captured *c, const char *api)
{
	const json_t *known = map_get(&c->pages, api);
	char name[64];
	enum host_kind kind;
	struct err e = { 0 };
	json_t *page;

	if (known || map_get(&c->broken, api))
		return known;
	if (snprintf(name, sizeof(name), "api/%s.json", api) >= (int)sizeof(name) ||
	    strchr(api, '/'))
		return NULL;
	page = c->store->ops->kind(c->store, name, &kind) ? json_object()
							  : captured_json(c, name, API_MAX, &e);
	if (page && api_page_check(page, name, &e)) {
		json_decref(page);
		page = NULL;
	}
	if (page)
		*map_at(&c->host.arena, &c->pages, api) = page;
	else
		*map_at(&c->host.arena, &c->broken, api) = c;
	return page;
}

static int captured_ask(struct host *h, const char *api, const char *object, const char *field,
			struct answer *out)
{
	struct captured *c = (struct captured *)h;
	const json_t *page = page_of(c, api);
	int r;

	if (c->overlay) {
		r = api_page_answer(captured_told(c, api), object, field, out);
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

static void drop_pages(struct map *pages)
{
	for (size_t i = 0; i < pages->cap; i++)
		if (pages->slots[i].key)
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

const struct host_ops captured_ops = {
	.read = captured_read,
	.link = captured_link,
	.list = captured_list,
	.kind = captured_kind,
	.ask = captured_ask,
	.close = captured_close,
};

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
