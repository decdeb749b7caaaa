/* SPDX-License-Identifier: Apache-2.0 */
/* A capture below, a table of what was written above; answers of the capture are remembered. */
#include "disk.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/text.h"
#include "machine/host/live.h"
#include "machine/host/store.h"
#include "kernel.h"

enum { REMEMBER_MAX = 1 << 16 };

struct memory {
	struct overlay o; /* first: machine/host/captured.c knows it as this */
	struct map *nodes;
};

/* What the capture answered once. */
struct answered {
	bool has_kind, has_text, has_list, has_link;
	int kind_code, text_code, list_code, link_code;
	enum host_kind kind;
	char *text, *link, **names;
	size_t len, n;
};

static struct arena forever;
static struct map uppers[DISKS], answers;
static struct store *lower;
static enum disk_name now;
static bool any_gone; /* else no folder on the way is */

void disk_use(enum disk_name which)
{
	now = which;
}

static struct node *node_at(struct map *m, const char *path)
{
	struct node **n = (struct node **)map_at(&forever, m, path);

	if (!*n)
		*n = ARENA_NEW(&forever, struct node);
	return *n;
}

static void node_set(struct map *m, const char *path, struct node value)
{
	struct node *n = node_at(m, path);

	free(n->data);
	*n = value;
	any_gone = any_gone || value.kind == NODE_GONE;
}

static char *copy(const void *data, size_t len)
{
	char *out = malloc(len + 1);

	if (!out)
		out_of_memory(len);
	if (len)
		memcpy(out, data, len);
	out[len] = '\0';
	return out;
}

void disk_put(const char *path, struct node n)
{
	node_set(&uppers[now], path, n);
}

void disk_clear(void)
{
	kernel_cut_at(0, NULL, NULL);
	kernel_sync();
	any_gone = false;
	for (int d = 0; d < DISKS; d++)
		for (size_t i = 0; i < uppers[d].cap; i++) {
			struct node *n = uppers[d].slots[i].key ? uppers[d].slots[i].value : NULL;

			if (!n)
				continue;
			free(n->data);
			*n = (struct node){ 0 };
		}
}

void disk_each(void (*visit)(void *ctx, const char *path, const struct node *n), void *ctx)
{
	struct arena a = { 0 };
	struct map_entry *e = map_sorted(&a, &uppers[now]);
	size_t count = uppers[now].n;

	for (size_t i = 0; i < count; i++) {
		const struct node *n = e[i].value;

		if (n->kind != NODE_LOWER)
			visit(ctx, e[i].key, n);
	}
	arena_free(&a);
}

static bool is_volatile(const char *path)
{
	return str_starts(path, "root/proc/") || str_starts(path, "root/sys/") ||
	       /* nvpmodel keeps its mode. */
	       (str_starts(path, "told/") && !str_starts(path, "told/nvpmodel"));
}

static void forget_volatile(void *ctx, const char *path, const struct node *n)
{
	(void)ctx, (void)n;
	if (is_volatile(path))
		node_set(&uppers[now], path, (struct node){ 0 });
}

void disk_boot(void)
{
	disk_each(forget_volatile, NULL);
}

void disk_set(const char *path, const char *text)
{
	char name[HOST_PATH_MAX];

	if (path_join("/root", path + 1, name, sizeof(name)))
		abort();
	node_set(&uppers[now], name + 1,
		 (struct node){ NODE_FILE, copy(text, strlen(text)), strlen(text), 0644 });
}

const struct node *disk_node(const char *path)
{
	const struct node *n = map_get(&uppers[now], path);

	return n && n->kind != NODE_LOWER ? n : NULL;
}

/* --- looking ---------------------------------------------------------------------------------- */

/* What was written there; one that is gone where it or a folder on its way is. NULL: ask below. */
static const struct node *above(struct map *m, const char *path)
{
	static const struct node gone = { .kind = NODE_GONE };
	const struct node *n = map_get(m, path);
	char part[HOST_PATH_MAX];

	if (n && n->kind != NODE_LOWER)
		return n;
	if (!any_gone || strlen(path) >= sizeof(part))
		return NULL;
	strcpy(part, path);
	for (char *slash; (slash = strrchr(part, '/'));) {
		*slash = '\0';
		n = map_get(m, part);
		if (n && n->kind == NODE_GONE)
			return &gone;
	}
	return NULL;
}

static struct answered *remembered(const char *path)
{
	struct answered **a = (struct answered **)map_at(&forever, &answers, path);

	if (!*a)
		*a = ARENA_NEW(&forever, struct answered);
	return *a;
}

static int give(const char *data, size_t len, char *buf, size_t cap, size_t *out)
{
	*out = len > cap ? cap + 1 : len;
	memcpy(buf, data, len < cap ? len : cap);
	return 0;
}

static int memory_read(struct store *s, const char *path, char *buf, size_t cap, size_t *len)
{
	const struct node *n = above(((struct memory *)s)->nodes, path);
	static char big[REMEMBER_MAX];
	struct answered *a;
	size_t got = 0;

	if (n)
		return n->kind == NODE_FILE   ? give(n->data, n->len, buf, cap, len)
		       : n->kind == NODE_DIR  ? -EISDIR
		       : n->kind == NODE_LINK ? -ELOOP
					      : -ENOENT;
	a = remembered(path);
	if (!a->has_text) {
		a->text_code = lower->ops->read(lower, path, big, sizeof(big), &got);
		if (a->text_code == 0 && got > sizeof(big))
			return lower->ops->read(lower, path, buf, cap, len);
		a->text = a->text_code ? NULL : copy(big, got);
		a->len = got;
		a->has_text = true;
	}
	return a->text_code ? a->text_code : give(a->text, a->len, buf, cap, len);
}

static int memory_link(struct store *s, const char *path, char *buf, size_t cap)
{
	const struct node *n = above(((struct memory *)s)->nodes, path);
	char target[HOST_PATH_MAX];
	struct answered *a;
	const char *text = NULL;

	if (n && n->kind != NODE_LINK)
		return n->kind == NODE_GONE ? -ENOENT : -EINVAL;
	if (n) {
		text = n->data;
	} else {
		a = remembered(path);
		if (!a->has_link) {
			a->link_code = lower->ops->link(lower, path, target, sizeof(target));
			a->link = a->link_code ? NULL : copy(target, strlen(target));
			a->has_link = true;
		}
		if (a->link_code)
			return a->link_code;
		text = a->link;
	}
	if (strlen(text) >= cap)
		return -ENAMETOOLONG;
	strcpy(buf, text);
	return 0;
}

static int memory_kind(struct store *s, const char *path, enum host_kind *out)
{
	const struct node *n = above(((struct memory *)s)->nodes, path);
	struct answered *a;

	if (n) {
		*out = n->kind == NODE_FILE  ? HOST_FILE
		       : n->kind == NODE_DIR ? HOST_DIR
					     : HOST_LINK;
		return n->kind == NODE_GONE ? -ENOENT : 0;
	}
	a = remembered(path);
	if (!a->has_kind) {
		a->kind_code = lower->ops->kind(lower, path, &a->kind);
		a->has_kind = true;
	}
	*out = a->kind;
	return a->kind_code;
}

static void add_name(struct arena *a, char ***names, size_t *n, const char *name)
{
	*names = arena_grow(a, *names, *n, sizeof(**names));
	(*names)[(*n)++] = arena_strdup(a, name);
}

/* Names that were made in the folder. */
static void list_made(const struct map *m, const char *path, struct arena *a, char ***names,
		      size_t *n)
{
	size_t len = strlen(path);

	for (size_t i = 0; i < m->cap; i++) {
		const char *key = m->slots[i].key;
		const struct node *it = key ? m->slots[i].value : NULL;

		if (it && it->kind != NODE_LOWER && it->kind != NODE_GONE &&
		    strncmp(key, path, len) == 0 && key[len] == '/' && !strchr(key + len + 1, '/'))
			add_name(a, names, n, key + len + 1);
	}
}

static int memory_list(struct store *s, const char *path, struct arena *a, char ***names, size_t *n)
{
	struct map *m = ((struct memory *)s)->nodes;
	const struct node *it = above(m, path);
	struct answered *below = remembered(path);
	char full[HOST_PATH_MAX];

	*names = NULL;
	*n = 0;
	if (it && it->kind != NODE_DIR)
		return it->kind == NODE_GONE ? -ENOENT : -ENOTDIR;
	if (!below->has_list) {
		below->list_code =
			lower->ops->list(lower, path, &forever, &below->names, &below->n);
		below->has_list = true;
	}
	if (below->list_code && !it)
		return below->list_code;
	list_made(m, path, a, names, n);
	for (size_t i = 0; below->list_code == 0 && i < below->n; i++) {
		const struct node *child;

		snprintf(full, sizeof(full), "%s/%s", path, below->names[i]);
		child = map_get(m, full);
		if (!child || child->kind == NODE_LOWER)
			add_name(a, names, n, below->names[i]);
	}
	return 0;
}

static void memory_close(struct store *s)
{
	free(s);
}

static const struct store_ops memory_ops = { .read = memory_read,
					     .link = memory_link,
					     .list = memory_list,
					     .kind = memory_kind,
					     .close = memory_close };

struct overlay *overlay_open(struct store *below, const char *folder, struct err *e)
{
	struct memory *m = calloc(1, sizeof(*m));

	(void)folder, (void)e;
	if (!m)
		out_of_memory(0);
	if (lower)
		below->ops->close(below);
	else
		lower = below;
	m->o = (struct overlay){ .store = { .ops = &memory_ops, .finds_links = lower->finds_links },
				 .fd = -1 };
	m->nodes = &uppers[now];
	return &m->o;
}

/* --- writing ---------------------------------------------------------------------------------- */

static void make_folders(struct memory *m, const char *path)
{
	char part[HOST_PATH_MAX];
	enum host_kind kind;

	for (const char *at = strchr(path, '/'); at; at = strchr(at + 1, '/')) {
		snprintf(part, sizeof(part), "%.*s", (int)(at - path), path);
		if (memory_kind(&m->o.store, part, &kind))
			node_set(m->nodes, part, (struct node){ .kind = NODE_DIR, .mode = 0755 });
	}
}

static int place(struct overlay *o, const char *path, struct node value)
{
	struct memory *m = (struct memory *)o;

	make_folders(m, path);
	node_set(m->nodes, path, value);
	return 0;
}

/* Files of the machine, that is, go the way of the live one; its kernel's, and the twin's, do not.
 */
static bool is_live(struct overlay *o, const char *path)
{
	struct memory *m = (struct memory *)o;

	if (m->nodes != &uppers[DISK_MACHINE] || now != DISK_MACHINE || is_volatile(path))
		return false;
	make_folders(m, path);
	return true;
}

static struct host *live(void)
{
	static struct live host = { .lock_fd = -1, .own_fd = -1 };

	return &host.host;
}

int overlay_put(struct overlay *o, const char *path, const void *data, size_t len, unsigned mode)
{
	if (is_live(o, path))
		return walk_writes.put(live(), path, data, len, mode);
	return place(o, path, (struct node){ NODE_FILE, copy(data, len), len, mode });
}

int overlay_append(struct overlay *o, const char *path, const void *data, size_t len)
{
	return is_live(o, path) ? walk_writes.append(live(), path, data, len) : -EROFS;
}

int overlay_make(struct overlay *o, enum host_kind kind, const char *path, const char *target,
		 unsigned mode)
{
	enum host_kind there;

	if (memory_kind(&o->store, path, &there) == 0)
		return -EEXIST;
	return is_live(o, path) ? walk_writes.make(live(), kind, path, target, mode) : -EROFS;
}

int overlay_remove(struct overlay *o, const char *path)
{
	struct arena a = { 0 };
	enum host_kind kind;
	char **names;
	size_t n = 0;
	int r = memory_kind(&o->store, path, &kind);

	if (r == 0 && kind == HOST_DIR)
		r = memory_list(&o->store, path, &a, &names, &n);
	arena_free(&a);
	if (r || n)
		return r ? r : -ENOTEMPTY;
	return is_live(o, path) ? walk_writes.remove(live(), path)
				: place(o, path, (struct node){ .kind = NODE_GONE });
}

int overlay_mode(struct overlay *o, const char *path, unsigned *out)
{
	const struct node *n = map_get(((struct memory *)o)->nodes, path);

	if (!n || n->kind == NODE_LOWER || n->kind == NODE_GONE)
		return HOST_NOT_CAPTURED;
	*out = n->mode;
	return 0;
}

/* One process at a time: nobody else can hold it. */
int overlay_lock(struct overlay *o, const char *path)
{
	enum host_kind kind;

	if (memory_kind(&o->store, path, &kind))
		overlay_put(o, path, "", 0, 0600);
	return open("/dev/null", O_RDONLY | O_CLOEXEC);
}
