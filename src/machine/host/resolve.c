/* SPDX-License-Identifier: Apache-2.0 */
/* Walking paths and links component by component, inside a root that nothing may leave. */
#include "machine/host/resolve.h"

#include <stdio.h>
#include <string.h>

#include "base/text.h"

enum { LINKS_MAX = 40 };

/* Puts a link's target in front of what is still to walk. */
static int splice(char *rest, size_t cap, const char *target, const char *tail)
{
	char joined[HOST_PATH_MAX];
	int n = snprintf(joined, sizeof(joined), "%s%s%s", target, *tail ? "/" : "", tail);

	if (n < 0 || (size_t)n >= sizeof(joined) || (size_t)n >= cap)
		return -ENAMETOOLONG;
	memcpy(rest, joined, (size_t)n + 1);
	return 0;
}

static int resolve_append(char *phys, size_t cap, const char *name, size_t n)
{
	size_t len = strlen(phys);

	if (len + n + 2 > cap)
		return -ENAMETOOLONG;
	phys[len] = '/';
	memcpy(phys + len + 1, name, n);
	phys[len + 1 + n] = '\0';
	return 0;
}

/* folder/name, or the folder alone without a name. */
static int resolve_put_together(char *phys, size_t cap, const char *folder, const char *name)
{
	size_t n = strlen(folder);

	if (n >= cap)
		return -ENAMETOOLONG;
	memcpy(phys, folder, n + 1);
	return *name ? resolve_append(phys, cap, name, strlen(name)) : 0;
}

static const char *known_place(const struct resolver *r, const char *dir)
{
	return strcmp(dir, r->plain) == 0 ? r->plain : map_get(&r->folders, dir);
}

static const char *remember(struct resolver *r, const char *dir, const char *phys)
{
	const char *own = map_get(&r->folders, phys);
	void **known = map_at(r->arena, &r->folders, dir);

	/* Most folders are their own places: one copy is enough. */
	if (own && strcmp(own, phys) == 0)
		*known = (void *)own;
	else
		*known = strcmp(dir, phys) == 0 ? (void *)map_key(known)
						: arena_strdup(r->arena, phys);
	return *known;
}

/* Whether a link stands at a place without links before it. Folders are remembered: those near the
 * root are on the way to everything. */
static int link_at(struct resolver *r, const char *phys, bool *is_link)
{
	const char *known = map_get(&r->folders, phys);
	enum host_kind kind;
	int e;

	*is_link = false;
	if (known && strcmp(known, phys) == 0)
		return 0;
	e = r->kind(r->ctx, phys, &kind);
	if (e)
		return e;
	*is_link = kind == HOST_LINK;
	if (kind == HOST_DIR)
		remember(r, phys, phys);
	return 0;
}

int resolve_walk(struct resolver *r, const char *path, bool follow_last, char *phys, size_t cap)
{
	char rest[HOST_PATH_MAX], target[HOST_PATH_MAX];
	int links = 0, e;

	if (strlen(path) >= sizeof(rest))
		return -ENAMETOOLONG;
	strcpy(rest, path);
	phys[0] = '\0';
	for (char *p = rest + strspn(rest, "/"); *p; p += strspn(p, "/")) {
		size_t n = strcspn(p, "/");
		const char *tail = p + n + strspn(p + n, "/");
		bool is_link;
		char *slash;

		if (n == 2 && p[0] == '.' && p[1] == '.') {
			slash = strrchr(phys, '/');
			if (!slash)
				return -EXDEV;
			*slash = '\0';
		} else if (!(n == 1 && p[0] == '.')) {
			e = resolve_append(phys, cap, p, n);
			if (e == 0)
				e = link_at(r, phys, &is_link);
			if (e)
				return e == -ENOENT && *tail ? -ENOTDIR : e;
			if (is_link && (*tail || follow_last)) {
				if (++links > LINKS_MAX)
					return -ELOOP;
				e = r->link(r->ctx, phys, target, sizeof(target));
				if (e == 0)
					e = splice(rest, sizeof(rest), target, tail);
				if (e)
					return e;
				if (target[0] == '/')
					phys[0] = '\0';
				else
					*strrchr(phys, '/') = '\0';
				p = rest;
				continue;
			}
		}
		p += n;
	}
	return 0;
}

/* One component more than a folder that is known: the common case needs one look-up. */
static int folder_below(struct resolver *r, const char *parent, const char *dir, const char **known)
{
	const char *name = path_name(dir);
	char phys[HOST_PATH_MAX];
	bool is_link = false;
	int e;

	if (!*name || strcmp(name, ".") == 0 || strcmp(name, "..") == 0) {
		e = resolve_walk(r, dir, true, phys, sizeof(phys));
	} else {
		e = resolve_put_together(phys, sizeof(phys), parent, name);
		if (e == 0)
			e = link_at(r, phys, &is_link);
		if (e == 0 && is_link)
			e = resolve_walk(r, phys, true, phys, sizeof(phys));
	}
	if (e == 0)
		*known = remember(r, dir, phys);
	return e;
}

/* From the longest known folder downwards: a loop, because a path from a capture may have two
 * thousand components, too many for the stack. */
int resolve_folder(struct resolver *r, const char *dir, const char **out)
{
	const char *known = NULL;
	char part[HOST_PATH_MAX];
	size_t len = strlen(dir), at = len;
	int e;

	if (len >= sizeof(part))
		return -ENAMETOOLONG;
	if (len && dir[0] != '/')
		return -EINVAL;
	memcpy(part, dir, len + 1);
	while (at && !(known = known_place(r, part))) {
		while (part[--at] != '/')
			;
		part[at] = '\0';
	}
	if (!at)
		known = "";
	while (at < len) {
		part[at] = '/';
		at += strlen(part + at); /* the slash was a NUL: the next component is behind it */
		e = folder_below(r, known, part, &known);
		if (e)
			return e;
	}
	*out = known;
	return 0;
}

int resolve_place(struct resolver *r, const char *path, char *phys, size_t cap)
{
	const char *slash = strrchr(path, '/'), *folder;
	char dir[HOST_PATH_MAX];
	size_t n = slash ? (size_t)(slash - path) : 0;
	int e;

	if (!slash || n >= sizeof(dir))
		return slash ? -ENAMETOOLONG : -EINVAL;
	/* What is no name of its own has no place in its folder. */
	if (strcmp(slash, "/.") == 0 || strcmp(slash, "/..") == 0)
		return resolve_walk(r, path, true, phys, cap);
	memcpy(dir, path, n);
	dir[n] = '\0';
	e = resolve_folder(r, dir, &folder);
	return e ? e : resolve_put_together(phys, cap, folder, slash + 1);
}

bool resolve_known(const struct resolver *r, const char *path, char *phys, size_t cap)
{
	const char *slash = strrchr(path, '/'), *folder;
	char dir[HOST_PATH_MAX];
	size_t n = slash ? (size_t)(slash - path) : 0;

	if (!slash || n >= sizeof(dir) || !slash[1] || strcmp(slash, "/.") == 0 ||
	    strcmp(slash, "/..") == 0)
		return false;
	memcpy(dir, path, n);
	dir[n] = '\0';
	folder = known_place(r, dir);
	return folder && resolve_put_together(phys, cap, folder, slash + 1) == 0;
}

void resolve_saw(struct resolver *r, const char *path)
{
	size_t n = (size_t)(strrchr(path, '/') - path);

	memcpy(r->plain, path, n);
	r->plain[n] = '\0';
}

void resolve_forget(struct resolver *r)
{
	r->folders = (struct map){ 0 };
	r->plain[0] = '\0';
}
