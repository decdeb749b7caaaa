/* SPDX-License-Identifier: Apache-2.0 */
/* Writes to a captured machine's overlay. Files of the kernel answer a write as the kernel would;
 * what a device would do stands in told.c. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "machine/host/api_book.h"
#include "machine/host/captured.h"
#include "machine/host/kernel_file.h"
#include "machine/host/told.h"
#include "machine/write/write.h"

enum { FILE_MAX = 1 << 20, TOLD_MAX = 8 << 20 };

/* Where the path lies in the store: links resolved as far as folders are known; a folder that the
 * capture never saw has no links. */
static int place(struct captured *c, const char *path, char *out, size_t cap)
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
	struct arena a = { 0 };
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
	arena_free(&a);
	return r;
}

/* --- answers of libraries ----------------------------------------------------------------------
 */

json_t *captured_told(struct captured *c, const char *api)
{
	json_t **page = (json_t **)map_at(&c->host.arena, &c->told, api);
	struct err e = { 0 };
	enum host_kind kind;
	char name[64];

	if (*page)
		return *page;
	if (snprintf(name, sizeof(name), "told/%s.json", api) < (int)sizeof(name) &&
	    c->store->ops->kind(c->store, name, &kind) == 0)
		*page = captured_json(c, name, TOLD_MAX, &e);
	if (*page && api_page_check(*page, name, &e)) {
		json_decref(*page);
		*page = NULL;
	}
	if (!*page)
		*page = json_object();
	return *page;
}

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
static void tell_one(void *ctx, const char *api, const char *object, const char *field,
		     const struct answer *value)
{
	struct telling *t = ctx;
	json_t *page = captured_told(t->c, api), *o = json_object_get(page, object);

	changed(t, api);
	if (value)
		api_page_store(page, object, field, 0, value);
	else if (o)
		json_object_del(o, field);
}

static int save(struct captured *c, const char *api)
{
	char name[64], *text = json_dumps(captured_told(c, api), JSON_SORT_KEYS | JSON_INDENT(1));
	int r = text ? 0 : -ENOMEM;

	if (snprintf(name, sizeof(name), "told/%s.json", api) >= (int)sizeof(name))
		r = -ENAMETOOLONG;
	if (r == 0)
		r = overlay_put(c->overlay, name, text, strlen(text), 0644);
	free(text);
	return r;
}

static int captured_tell(struct host *h, const char *api, const char *object, const char *field,
			 const struct answer *value)
{
	struct captured *c = (struct captured *)h;
	struct telling t = { .c = c };

	if (strchr(api, '/'))
		return -EINVAL;
	t.r = told_effects(h, api, object, field, value, tell_one, &t);
	for (size_t i = 0; t.r == 0 && i < t.n; i++)
		t.r = save(c, t.apis[i]);
	return t.r;
}

/* --- files of ours -----------------------------------------------------------------------------
 */

static int captured_put(struct host *h, const char *path, const void *data, size_t len,
			unsigned mode)
{
	struct captured *c = (struct captured *)h;
	char name[HOST_PATH_MAX];
	int r = place(c, path, name, sizeof(name));

	return r ? r : overlay_put(c->overlay, name, data, len, mode);
}

int captured_stat(struct host *h, const char *path, struct host_stat *out)
{
	struct captured *c = (struct captured *)h;
	struct host_stat st = { .uid = h->id.euid, .links = 1 };
	char name[HOST_PATH_MAX];
	int r = place(c, path, name, sizeof(name));

	if (r == 0)
		r = overlay_mode(c->overlay, name, &st.mode);
	if (r == 0)
		r = host_kind(h, path, &st.kind);
	if (r == 0)
		*out = st;
	return r;
}

static int captured_append(struct host *h, const char *path, const void *data, size_t len)
{
	struct captured *c = (struct captured *)h;
	char name[HOST_PATH_MAX];
	int r = place(c, path, name, sizeof(name));

	return r ? r : overlay_append(c->overlay, name, data, len);
}

static int captured_make(struct host *h, enum host_kind kind, const char *path, const char *target,
			 unsigned mode)
{
	struct captured *c = (struct captured *)h;
	char name[HOST_PATH_MAX];
	int r = place(c, path, name, sizeof(name));

	resolve_forget(&c->resolver);
	return r ? r : overlay_make(c->overlay, kind, name, target, mode);
}

static int captured_remove(struct host *h, const char *path)
{
	struct captured *c = (struct captured *)h;
	char name[HOST_PATH_MAX];
	int r = place(c, path, name, sizeof(name));

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
	r = place(c, path, name, sizeof(name));
	if (r == 0)
		r = overlay_lock(c->overlay, name);
	if (r < 0)
		return r;
	c->lock_fd = r;
	return 0;
}

const struct host_writes captured_writes = {
	.write = captured_write_file,
	.tell = captured_tell,
	.put = captured_put,
	.append = captured_append,
	.make = captured_make,
	.remove = captured_remove,
	.lock = captured_lock,
};
