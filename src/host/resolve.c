/* SPDX-License-Identifier: Apache-2.0 */
/* Walking paths and links component by component, inside a root that nothing may leave. */
#include "host/resolve.h"

#include <stdio.h>
#include <string.h>

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

static int append(char *phys, size_t cap, const char *name, size_t n)
{
	size_t len = strlen(phys);

	if (len + n + 2 > cap)
		return -ENAMETOOLONG;
	phys[len] = '/';
	memcpy(phys + len + 1, name, n);
	phys[len + 1 + n] = '\0';
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
		enum host_kind kind;
		char *slash;

		if (n == 2 && p[0] == '.' && p[1] == '.') {
			slash = strrchr(phys, '/');
			if (!slash)
				return -EXDEV;
			*slash = '\0';
		} else if (!(n == 1 && p[0] == '.')) {
			e = append(phys, cap, p, n);
			if (e == 0)
				e = r->kind(r->ctx, phys, &kind);
			if (e)
				return e == -ENOENT && *tail ? -ENOTDIR : e;
			if (kind == HOST_LINK && (*tail || follow_last)) {
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

static int remember(struct resolver *r, const char *dir, const char *phys, const char **known)
{
	*known = arena_strdup(r->arena, phys);
	*map_at(r->arena, &r->folders, dir) = (void *)*known;
	return 0;
}

/* One component more than a folder that is known: the common case needs one look-up. */
static int folder_below(struct resolver *r, const char *parent, const char *dir, const char **known)
{
	const char *name = strrchr(dir, '/') + 1;
	char phys[HOST_PATH_MAX];
	enum host_kind kind;
	int e;

	if (!*name || strcmp(name, ".") == 0 || strcmp(name, "..") == 0) {
		e = resolve_walk(r, dir, true, phys, sizeof(phys));
		return e ? e : remember(r, dir, phys, known);
	}
	e = snprintf(phys, sizeof(phys), "%s/%s", parent, name);
	if (e < 0 || (size_t)e >= sizeof(phys))
		return -ENAMETOOLONG;
	e = r->kind(r->ctx, phys, &kind);
	if (e == 0 && kind == HOST_LINK)
		e = resolve_walk(r, phys, true, phys, sizeof(phys));
	return e ? e : remember(r, dir, phys, known);
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
	while (at && !(known = map_get(&r->folders, part))) {
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
	int e, k;

	if (!slash || n >= sizeof(dir))
		return slash ? -ENAMETOOLONG : -EINVAL;
	/* What is no name of its own has no place in its folder. */
	if (strcmp(slash, "/.") == 0 || strcmp(slash, "/..") == 0)
		return resolve_walk(r, path, true, phys, cap);
	memcpy(dir, path, n);
	dir[n] = '\0';
	e = resolve_folder(r, dir, &folder);
	if (e)
		return e;
	k = snprintf(phys, cap, "%s%s%s", folder, slash[1] ? "/" : "", slash + 1);
	return k < 0 || (size_t)k >= cap ? -ENAMETOOLONG : 0;
}
