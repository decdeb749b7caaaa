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

/* The folder's parent is known most of the time: then one look-up does for the last component. */
static int folder_below(struct resolver *r, const char *dir, char *phys, size_t cap)
{
	const char *slash = strrchr(dir, '/'), *parent;
	char above[HOST_PATH_MAX];
	enum host_kind kind;
	int e;

	if (!slash || slash == dir || strcmp(slash, "/..") == 0 || strcmp(slash, "/.") == 0 ||
	    !slash[1])
		return resolve_walk(r, dir, true, phys, cap);
	memcpy(above, dir, (size_t)(slash - dir));
	above[slash - dir] = '\0';
	e = resolve_folder(r, above, &parent);
	if (e)
		return e;
	e = snprintf(phys, cap, "%s%s", parent, slash);
	if (e < 0 || (size_t)e >= cap)
		return -ENAMETOOLONG;
	e = r->kind(r->ctx, phys, &kind);
	return e == 0 && kind == HOST_LINK ? resolve_walk(r, phys, true, phys, cap) : e;
}

int resolve_folder(struct resolver *r, const char *dir, const char **out)
{
	const char *known = map_get(&r->folders, dir);
	char phys[HOST_PATH_MAX];
	int e;

	if (strlen(dir) >= sizeof(phys))
		return -ENAMETOOLONG;
	if (!known) {
		e = *dir ? folder_below(r, dir, phys, sizeof(phys)) : 0;
		if (e)
			return e;
		known = arena_strdup(r->arena, *dir ? phys : "");
		*map_at(r->arena, &r->folders, dir) = (void *)known;
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
	memcpy(dir, path, n);
	dir[n] = '\0';
	e = resolve_folder(r, dir, &folder);
	if (e)
		return e;
	k = snprintf(phys, cap, "%s%s%s", folder, slash[1] ? "/" : "", slash + 1);
	return k < 0 || (size_t)k >= cap ? -ENAMETOOLONG : 0;
}
