/* SPDX-License-Identifier: Apache-2.0 */
/* Owner, access list and extended attributes, from descriptor to descriptor. Knows nothing of names
 * and hosts. */
#include "machine/host/keep.h"

#include <errno.h>
#include <linux/limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "base/arena.h"
#include "machine/write/write.h"

static const char access_list[] = "system.posix_acl_access";

static int is_lost(const char *what, char *lost, size_t cap)
{
	snprintf(lost, cap, "%s", what);
	return HOST_NOT_KEPT;
}

/* Of another content or another inode these would be wrong; the kernel makes them anew. */
static bool is_kernels(const char *name)
{
	return strcmp(name, "security.ima") == 0 || strcmp(name, "security.evm") == 0;
}

static int keep_owner(int old, int fresh, char *lost, size_t cap)
{
	struct stat was, is;

	if (fstat(old, &was) < 0 || fstat(fresh, &is) < 0)
		return -errno;
	if (was.st_uid == is.st_uid && was.st_gid == is.st_gid)
		return 0;
	return fchown(fresh, was.st_uid, was.st_gid) < 0 ? is_lost("its owner or group", lost, cap)
							 : 0;
}

/* Room for a value of each. */
struct values {
	char was[XATTR_SIZE_MAX], is[XATTR_SIZE_MAX];
};

static int keep_one(int old, int fresh, const char *name, struct values *v, char *lost, size_t cap)
{
	ssize_t n = fgetxattr(old, name, v->was, sizeof(v->was)), m;

	if (n < 0)
		return errno == ENODATA ? 0 : is_lost(name, lost, cap);
	m = fgetxattr(fresh, name, v->is, sizeof(v->is));
	if (m == n && memcmp(v->was, v->is, (size_t)n) == 0)
		return 0;
	return fsetxattr(fresh, name, v->was, (size_t)n, 0) < 0 ? is_lost(name, lost, cap) : 0;
}

/* The names of old one after the other, each with its NUL; their length, 0 where the file system
 * has none. */
static int keep_listed(int old, int fresh, char *names, char *lost, size_t cap)
{
	ssize_t len = flistxattr(old, names, XATTR_LIST_MAX);
	struct values *v;
	bool listed = false;
	int r = 0;

	if (len < 0 && errno != EOPNOTSUPP)
		return -errno;
	v = malloc(sizeof(*v));
	if (!v)
		out_of_memory(sizeof(*v));
	for (const char *name = names; r == 0 && name < names + len; name += strlen(name) + 1) {
		listed = listed || strcmp(name, access_list) == 0;
		r = is_kernels(name) ? 0 : keep_one(old, fresh, name, v, lost, cap);
	}
	/* One that came from the folder's default would let others in. */
	if (r == 0 && !listed && fremovexattr(fresh, access_list) < 0 && errno != ENODATA &&
	    errno != EOPNOTSUPP)
		r = is_lost(access_list, lost, cap);
	free(v);
	return r;
}

int keep_attributes(int old, int fresh, char *lost, size_t cap)
{
	int r = keep_owner(old, fresh, lost, cap);
	char *names;

	if (r)
		return r;
	names = malloc(XATTR_LIST_MAX);
	if (!names)
		out_of_memory(XATTR_LIST_MAX);
	r = keep_listed(old, fresh, names, lost, cap);
	free(names);
	return r;
}
