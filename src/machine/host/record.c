/* SPDX-License-Identifier: Apache-2.0 */
/* Recording: every answer is kept at the place without links, absences and refusals too. */
#include "machine/host/record.h"

#include <stdlib.h>
#include <string.h>

#include "machine/host/api_book.h"
#include "machine/host/resolve.h"

struct record {
	struct host host;
	struct host *inner;
	struct resolver resolver;
	struct map places;
	struct map pages;
};

static struct recorded *place_of(struct record *r, const char *phys)
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
	struct recorded *p = place_of(r, phys);

	if (p->kind == HOST_OTHER)
		p->kind = kind == HOST_DIR ? HOST_DIR : HOST_FILE;
}

/*
 * A refusal is stored once, and what was seen there is not taken back by it. That a folder is no
 * file or a file no folder is no refusal: the capture says the same by itself.
 */
static void refuse(struct record *r, const char *phys, int code)
{
	struct recorded *p = place_of(r, phys);

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
		p = place_of(r, phys);
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
		refuse(r, phys, e);
		return e;
	}
	p = place_of(r, phys);
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
		refuse(r, phys, e);
	return e;
}

/* Every name of a listed folder becomes a place, so that the listing is the same on the capture. */
static void add_name(struct record *r, const char *folder, const char *name)
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
		refuse(r, phys, e);
		return e;
	}
	p = place_of(r, phys);
	if (p->listed)
		return 0;
	p->kind = HOST_DIR;
	p->listed = true;
	for (size_t i = 0; i < *n; i++)
		add_name(r, phys, (*names)[i]);
	return 0;
}

static int record_kind(struct host *h, const char *path, enum host_kind *out)
{
	struct record *r = (struct record *)h;
	char phys[HOST_PATH_MAX] = "", target[HOST_PATH_MAX];
	int e = r->inner->ops->kind(r->inner, path, out);

	locate(r, path, false, phys, sizeof(phys));
	if (e) {
		refuse(r, phys, e);
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
		if (r->pages.slots[i].key)
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
	struct record *r = calloc(1, sizeof(*r));

	if (!r)
		out_of_memory(0);
	r->host.ops = &record_ops;
	r->host.id = inner->id;
	r->inner = inner;
	r->resolver = (struct resolver){
		.ctx = r, .kind = inner_kind, .link = inner_link, .arena = &r->host.arena
	};
	return &r->host;
}

const struct map *record_places(const struct host *record)
{
	return &((const struct record *)record)->places;
}

const struct map *record_pages(const struct host *record)
{
	return &((const struct record *)record)->pages;
}
