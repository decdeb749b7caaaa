/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A capture in a tar (ustar, with the pax and GNU extensions for long names). Headers are indexed
 * when it is opened; data are read when asked. The archive may be hostile: every size and name is
 * checked.
 */
#include "host/store.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/map.h"
#include "base/text.h"
#include "host/tar_header.h"

/* NAMES_MAX bounds what the index takes: a short archive can imply very many very long folders. */
enum { MEMBERS_MAX = 200000, LONG_NAME_MAX = 65536, NAMES_MAX = 64 << 20 };

struct node {
	const char *name; /* in its folder */
	enum host_kind kind;
	long long offset, size;
	const char *target; /* of a link */
	struct node *children, *next;
};

struct tar {
	struct store store;
	int fd;
	const char *path;
	struct arena arena;
	struct map nodes; /* "root/proc" -> struct node */
	size_t members;
	size_t names;		     /* bytes of names and extension records so far */
	char *long_name, *long_link; /* from an extension record, for the next member */
	struct err *e;
};

static int wrong(struct tar *t, long long at, const char *what, const char *name)
{
	return err_set(t->e, -EBADMSG, "%s: not a sound tar: %s%s%s at byte %lld", t->path, what,
		       *name ? " " : "", name, at);
}

static bool names_fit(struct tar *t, size_t more)
{
	t->names += more;
	return t->names <= NAMES_MAX;
}

/* The node of a path whose folder is known. */
static struct node *node_add(struct tar *t, struct node *folder, const char *path)
{
	const char *slash = strrchr(path, '/');
	struct node *n = ARENA_NEW(&t->arena, struct node);

	*n = (struct node){ .name = arena_strdup(&t->arena, slash ? slash + 1 : path),
			    .kind = HOST_DIR,
			    .next = folder->children };
	folder->children = n;
	*map_at(&t->arena, &t->nodes, path) = n;
	return n;
}

/* The node of a path, made with its folders as needed: 0, -ENOTDIR when a file stands where a
 * folder must be, -E2BIG when that would take too much memory. */
static int node_make(struct tar *t, const char *path, struct node **out)
{
	const char *slash = strrchr(path, '/');
	struct node *at = map_get(&t->nodes, ""), *next;
	char part[HOST_PATH_MAX];
	size_t n = 0;

	strcpy(part, path);
	/* Its folder is there most of the time. */
	if (slash) {
		part[slash - path] = '\0';
		next = map_get(&t->nodes, part);
		part[slash - path] = '/';
		if (next) {
			at = next;
			n = (size_t)(slash - path);
		}
	}
	while (path[n]) {
		n += path[n] == '/';
		n += strcspn(path + n, "/");
		part[n] = '\0';
		next = map_get(&t->nodes, part);
		if (!next) {
			if (at->kind != HOST_DIR)
				return -ENOTDIR;
			if (!names_fit(t, n + sizeof(*next)))
				return -E2BIG;
			next = node_add(t, at, part);
		}
		at = next;
		part[n] = path[n];
	}
	*out = at;
	return 0;
}

static int add_member(struct tar *t, const struct tar_header *h, const char *raw, const char *link,
		      long long at, long long size)
{
	char name[HOST_PATH_MAX];
	struct node *n;
	int r;

	if (!tar_clean_name(raw, name, sizeof(name)))
		return wrong(t, at, "a name that leaves the archive", raw);
	if (!*name)
		return 0;
	if (++t->members > MEMBERS_MAX)
		return wrong(t, at, "more than 200000 members", "");
	n = map_get(&t->nodes, name);
	if (n && (h->type != '5' || n->kind != HOST_DIR))
		return wrong(t, at, "a name that stands there twice:", name);
	r = node_make(t, name, &n);
	if (r == -E2BIG)
		return wrong(t, at, "its names are too long in all:", name);
	if (r)
		return wrong(t, at, "a file used as a folder:", name);
	switch (h->type) {
	case '0':
	case '\0':
		n->kind = HOST_FILE;
		break;
	case '2':
		n->kind = HOST_LINK;
		n->target = arena_strdup(&t->arena, link);
		break;
	case '5':
		break;
	default:
		return wrong(t, at, "a member that is no file, folder or symbolic link:", name);
	}
	n->offset = at + TAR_RECORD;
	n->size = size;
	return 0;
}

static int pread_all(int fd, char *buf, size_t n, long long at)
{
	size_t done = 0;

	while (done < n) {
		ssize_t k = pread(fd, buf + done, n - done, (off_t)(at + (long long)done));

		if (k < 0 && errno == EINTR)
			continue;
		if (k <= 0)
			return k ? -errno : -ENODATA;
		done += (size_t)k;
	}
	return 0;
}

/* One "LEN key=value\n" record after another. */
static int pax(struct tar *t, const char *text, size_t n, long long at)
{
	while (n) {
		char *end;
		unsigned long len = strtoul(text, &end, 10);
		const char *key, *value;
		size_t left;

		/* strtoul skips blanks and newlines: the number must begin the record, and end
		 * inside it. */
		if (*text < '1' || *text > '9' || len < 5 || len > n || *end != ' ' ||
		    text[len - 1] != '\n')
			return wrong(t, at, "a broken pax record", "");
		key = end + 1;
		if ((size_t)(key - text) >= len)
			return wrong(t, at, "a broken pax record", "");
		left = len - (size_t)(key - text) - 1;
		value = memchr(key, '=', left);
		if (!value)
			return wrong(t, at, "a broken pax record", "");
		value++;
		left -= (size_t)(value - key);
		if (str_starts(key, "path="))
			t->long_name = arena_strndup(&t->arena, value, left);
		else if (str_starts(key, "linkpath="))
			t->long_link = arena_strndup(&t->arena, value, left);
		else if (str_starts(key, "size=") || str_starts(key, "GNU.sparse"))
			return wrong(t, at, "a pax extension that no capture needs:",
				     arena_strndup(&t->arena, key, 16));
		text += len;
		n -= len;
	}
	return 0;
}

/* Records that describe the next member: 'x' pax, 'g' pax for all, 'L' and 'K' GNU long names. */
static int extension(struct tar *t, char type, long long at, long long size)
{
	char *text;

	if (type == 'g')
		return 0;
	if (size > LONG_NAME_MAX)
		return wrong(t, at, "an extension record that is too large", "");
	if (!names_fit(t, (size_t)size))
		return wrong(t, at, "its extension records are too long in all", "");
	text = arena_alloc(&t->arena, (size_t)size + 1);
	if (pread_all(t->fd, text, (size_t)size, at + TAR_RECORD))
		return wrong(t, at, "a truncated extension record", "");
	if (type == 'x')
		return pax(t, text, (size_t)size, at);
	if (type == 'L')
		t->long_name = text;
	else
		t->long_link = text;
	return 0;
}

static int one_record(struct tar *t, const struct tar_header *h, long long *at, long long end)
{
	char name[sizeof(h->prefix) + sizeof(h->name) + 2], link[sizeof(h->link) + 1];
	long long size;
	int r;

	if (!tar_checksum_fits(h))
		return wrong(t, *at, "a header whose checksum does not fit", "");
	if (tar_octal(h->size, sizeof(h->size), &size) || size < 0 || size > end - *at - TAR_RECORD)
		return wrong(t, *at, "a member that is larger than the archive", "");
	if (strchr("xgLK", h->type) && h->type) {
		r = extension(t, h->type, *at, size);
	} else {
		snprintf(name, sizeof(name), "%.*s%s%.*s", (int)sizeof(h->prefix),
			 memcmp(h->magic, "ustar", 6) == 0 ? h->prefix : "",
			 memcmp(h->magic, "ustar", 6) == 0 && h->prefix[0] ? "/" : "",
			 (int)sizeof(h->name), h->name);
		snprintf(link, sizeof(link), "%.*s", (int)sizeof(h->link), h->link);
		r = add_member(t, h, t->long_name ? t->long_name : name,
			       t->long_link ? t->long_link : link, *at, size);
		t->long_name = t->long_link = NULL;
	}
	*at += TAR_RECORD + (size + TAR_RECORD - 1) / TAR_RECORD * TAR_RECORD;
	return r;
}

static int index_all(struct tar *t, long long end)
{
	static const struct tar_header zero;
	struct tar_header h;
	long long at = 0;
	int r = 0;

	while (r == 0) {
		if (at + TAR_RECORD > end)
			return wrong(t, at, "it ends without its end mark: truncated", "");
		if (pread_all(t->fd, (char *)&h, sizeof(h), at))
			return wrong(t, at, "it cannot be read", "");
		if (memcmp(&h, &zero, sizeof(h)) == 0)
			return 0;
		r = one_record(t, &h, &at, end);
	}
	return r;
}

static int tar_read(struct store *s, const char *path, char *buf, size_t cap, size_t *len)
{
	struct tar *t = (struct tar *)s;
	const struct node *n = map_get(&t->nodes, path);
	size_t want;
	int r;

	if (!n)
		return -ENOENT;
	if (n->kind != HOST_FILE)
		return n->kind == HOST_LINK ? -ELOOP : -EISDIR;
	want = n->size > (long long)cap ? cap : (size_t)n->size;
	r = pread_all(t->fd, buf, want, n->offset);
	if (r == 0)
		*len = n->size > (long long)cap ? cap + 1 : want;
	return r;
}

static int tar_link(struct store *s, const char *path, char *buf, size_t cap)
{
	const struct node *n = map_get(&((struct tar *)s)->nodes, path);

	if (!n)
		return -ENOENT;
	if (n->kind != HOST_LINK)
		return -EINVAL;
	if (strlen(n->target) >= cap)
		return -ENAMETOOLONG;
	strcpy(buf, n->target);
	return 0;
}

static int tar_list(struct store *s, const char *path, struct arena *a, char ***names, size_t *n)
{
	const struct node *dir = map_get(&((struct tar *)s)->nodes, path);
	char **list = NULL;
	size_t count = 0;

	if (!dir)
		return -ENOENT;
	if (dir->kind != HOST_DIR)
		return -ENOTDIR;
	for (const struct node *c = dir->children; c; c = c->next) {
		list = arena_grow(a, list, count, sizeof(*list));
		list[count++] = arena_strdup(a, c->name);
	}
	*names = list;
	*n = count;
	return 0;
}

static int tar_kind(struct store *s, const char *path, enum host_kind *out)
{
	const struct node *n = map_get(&((struct tar *)s)->nodes, path);

	if (!n)
		return -ENOENT;
	*out = n->kind;
	return 0;
}

static void tar_close(struct store *s)
{
	struct tar *t = (struct tar *)s;

	close(t->fd);
	arena_free(&t->arena);
	free(t);
}

static const struct store_ops tar_ops = {
	.read = tar_read,
	.link = tar_link,
	.list = tar_list,
	.kind = tar_kind,
	.close = tar_close,
};

struct store *store_open_tar(const char *path, struct err *e)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	struct stat st;
	struct tar *t;

	if (fd < 0 || fstat(fd, &st) < 0) {
		err_set(e, -errno, "%s: %s", path, strerror(errno));
		return NULL;
	}
	t = calloc(1, sizeof(*t));
	if (!t)
		abort();
	*t = (struct tar){ .store.ops = &tar_ops, .fd = fd, .e = e };
	t->path = arena_strdup(&t->arena, path);
	*map_at(&t->arena, &t->nodes, "") = ARENA_NEW(&t->arena, struct node);
	((struct node *)map_get(&t->nodes, ""))->kind = HOST_DIR;
	if (!S_ISREG(st.st_mode))
		err_set(e, -EINVAL, "%s is neither a folder nor a tar", path);
	else if (index_all(t, st.st_size) == 0)
		return &t->store;
	tar_close(&t->store);
	return NULL;
}
