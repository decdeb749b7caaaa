/* SPDX-License-Identifier: Apache-2.0 */
/* What all backends share: buffers, order of names, and path arithmetic. */
#include "machine/host/host.h"

#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "machine/host/ask.h"

void host_close(struct host *h)
{
	if (!h)
		return;
	h->ops->close(h);
}

void host_close_ptr(struct host **h)
{
	host_close(*h);
}

static int read_into_room(struct host *h, const char *path, size_t cap, struct arena *a, char **out,
			  size_t *n)
{
	char *big = cap > HOST_READ_MAX ? arena_room_large(cap) : arena_room(cap);
	int r = big ? h->ops->read(h, path, big, cap, n) : -ENOMEM;

	if (r == 0 && *n > cap)
		r = -EFBIG;
	if (r)
		arena_drop(big);
	else
		*out = arena_keep(a, big, *n);
	return r;
}

int host_read(struct host *h, const char *path, size_t max, struct arena *a, char **out,
	      size_t *len)
{
	/* Most files of sysfs and procfs fit here, so that the common case allocates once and
	 * exactly. */
	char small[4096];
	size_t n = 0;
	int r;

	r = h->ops->read(h, path, small, sizeof(small), &n);
	if (r)
		return r;
	if (n > max)
		return -EFBIG;
	if (n <= sizeof(small)) {
		*out = arena_strndup(a, small, n);
		if (len)
			*len = n;
		return 0;
	}
	/* A bound may be far above what anybody has: room for it is not asked for before it is
	 * needed. */
	for (size_t cap = max < HOST_READ_MAX ? max : HOST_READ_MAX;;
	     cap = cap < max / 16 ? cap * 16 : max) {
		r = read_into_room(h, path, cap, a, out, &n);
		if (r != -EFBIG || cap == max)
			break;
	}
	if (r == 0 && len)
		*len = n;
	return r;
}

int host_read_line(struct host *h, const char *path, char *buf, size_t cap)
{
	size_t n = 0;
	int r = h->ops->read(h, path, buf, cap - 1, &n);

	if (r)
		return r;
	if (n > cap - 1)
		return -EFBIG;
	while (n && (buf[n - 1] == '\n' || buf[n - 1] == ' ' || buf[n - 1] == '\0'))
		n--;
	buf[n] = '\0';
	return 0;
}

int host_link(struct host *h, const char *path, char *buf, size_t cap)
{
	return h->ops->link(h, path, buf, cap);
}

int host_link_path(struct host *h, const char *path, char *buf, size_t cap)
{
	char target[HOST_PATH_MAX], dir[HOST_PATH_MAX];
	const char *slash = strrchr(path, '/');
	size_t n = slash ? (size_t)(slash - path) : 0;
	int r;

	if (!slash || n >= sizeof(dir))
		return -EINVAL;
	r = h->ops->link(h, path, target, sizeof(target));
	if (r)
		return r;
	memcpy(dir, path, n);
	dir[n] = '\0';
	return path_join(dir, target, buf, cap);
}

int host_list(struct host *h, const char *path, struct arena *a, char ***names, size_t *n)
{
	int r = h->ops->list(h, path, a, names, n);

	/* Our own memory: what is missing from a list would be taken for absent. */
	if (r == -ENOMEM)
		out_of_memory(0);
	if (r == 0 && *n)
		qsort(*names, *n, sizeof(**names), str_natural_qsort);
	return r;
}

int host_kind(struct host *h, const char *path, enum host_kind *out)
{
	return h->ops->kind(h, path, out);
}

int host_stat(struct host *h, const char *path, struct host_stat *out)
{
	return h->ops->stat ? h->ops->stat(h, path, out) : HOST_NOT_CAPTURED;
}

int host_mode(struct host *h, const char *path, unsigned *out)
{
	struct host_stat st;
	int r = host_stat(h, path, &st);

	if (r == 0)
		*out = st.mode;
	return r;
}

bool host_exists(struct host *h, const char *path)
{
	enum host_kind kind;

	return h->ops->kind(h, path, &kind) == 0;
}

int host_ask(struct host *h, const char *api, const char *object, const char *field,
	     struct answer *out)
{
	return h->ops->ask(h, api, object, field, out);
}

int host_ask_int(struct host *h, const char *api, const char *object, const char *field,
		 long long *out)
{
	struct answer ans;
	int r = h->ops->ask(h, api, object, field, &ans);

	if (r)
		return r;
	if (ans.kind != ANSWER_INT)
		return -EPROTO;
	*out = ans.i;
	return 0;
}

int path_join(const char *dir, const char *target, char *buf, size_t cap)
{
	size_t len = 0;
	const char *parts[2] = { target[0] == '/' ? "" : dir, target };

	if (cap < 2)
		return -ENAMETOOLONG;
	for (int i = 0; i < 2; i++) {
		const char *p = parts[i];

		while (*p) {
			size_t n;

			p += strspn(p, "/");
			n = strcspn(p, "/");
			if (n == 2 && p[0] == '.' && p[1] == '.') {
				while (len && buf[--len] != '/')
					;
			} else if (n && !(n == 1 && p[0] == '.')) {
				if (len + n + 2 > cap)
					return -ENAMETOOLONG;
				buf[len++] = '/';
				memcpy(buf + len, p, n);
				len += n;
			}
			p += n;
		}
	}
	if (!len)
		buf[len++] = '/';
	buf[len] = '\0';
	return 0;
}

/* Making answers: apart from the live host, so that a provider can be linked alone. */

void answer_int(struct answer *out, long long v)
{
	*out = (struct answer){ .kind = ANSWER_INT, .i = v };
}

void answer_text(struct answer *out, const char *text)
{
	*out = (struct answer){ .kind = ANSWER_TEXT, .text = text };
}

/* The map of names that folders hold together: first rank first, then by name. Knows no file's
 * meaning. */

static bool is_masked(struct host *h, const char *path)
{
	char target[HOST_PATH_MAX];

	return host_link(h, path, target, sizeof(target)) == 0 && strcmp(target, "/dev/null") == 0;
}

static void merged_add_folder(struct arena *a, struct map *found, const char *folder,
			      const char *suffix, char **names, size_t n)
{
	for (size_t i = 0; i < n && found->n < MERGED_FILES_MAX; i++) {
		void **at;

		if (!str_ends(names[i], suffix))
			continue;
		at = map_at(a, found, names[i]);
		if (!*at)
			*at = arena_printf(a, "%s/%s", folder, names[i]);
	}
}

char **host_merged(struct host *h, struct arena *a, const char *const *folders, size_t n_folders,
		   const char *suffix, int *why, size_t *n)
{
	struct map found = { 0 };
	struct map_entry *sorted;
	char **paths, **names;
	size_t count;

	for (size_t i = 0; i < n_folders; i++) {
		int r = host_list(h, folders[i], a, &names, &count);

		if (why)
			why[i] = r;
		if (r == 0)
			merged_add_folder(a, &found, folders[i], suffix, names, count);
	}
	sorted = map_sorted(a, &found);
	paths = arena_array(a, found.n + 1, sizeof(*paths));
	*n = 0;
	for (size_t i = 0; i < found.n; i++)
		if (!is_masked(h, sorted[i].value))
			paths[(*n)++] = sorted[i].value;
	return paths;
}
