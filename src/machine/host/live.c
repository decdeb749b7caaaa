/* SPDX-License-Identifier: Apache-2.0 */
/* The live machine: plain system calls, opened read-only. Nothing here writes; live_write.c does.
 */
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

#include "machine/host/folder.h"
#include "machine/host/live.h"

static int host_live_read_all(int fd, char *buf, size_t cap, size_t *len)
{
	size_t n = 0;
	char more;

	/* Full: one byte more tells "exactly cap" from "larger", without trusting st_size, which
	 * sysfs and procfs make up. */
	while (n <= cap) {
		ssize_t k = n < cap ? read(fd, buf + n, cap - n) : read(fd, &more, 1);

		if (k < 0 && errno == EINTR)
			continue;
		if (k < 0 && n < cap)
			return -errno;
		if (k <= 0)
			break;
		n += (size_t)k;
	}
	*len = n;
	return 0;
}

/* The same for what only looks, at that folder itself too. */
static int host_live_look_at(const struct host *h, const char **path)
{
	const struct live *l = (const struct live *)h;
	size_t n = l->own_fd < 0 ? 0 : strlen(l->own);

	if (!n || strncmp(*path, l->own, n) != 0 || (*path)[n + strspn(*path + n, "/")])
		return live_at(h, path);
	*path = ".";
	return l->own_fd;
}

static int live_read(struct host *h, const char *path, char *buf, size_t cap, size_t *len)
{
	int at = live_at(h, &path), r;
	/* O_NONBLOCK: a FIFO or tty under a path we read must not hang a check. */
	int fd = openat(at, path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);

	if (fd < 0)
		return -errno;
	r = host_live_read_all(fd, buf, cap, len);
	close(fd);
	return r;
}

static int live_link(struct host *h, const char *path, char *buf, size_t cap)
{
	int at = host_live_look_at(h, &path);

	return folder_link_at(at, path, buf, cap);
}

static int live_list(struct host *h, const char *path, struct arena *a, char ***names, size_t *n)
{
	int at = host_live_look_at(h, &path);
	int fd = openat(at, path, O_RDONLY | O_DIRECTORY | O_NONBLOCK | O_CLOEXEC);

	return folder_names(fd < 0 ? -errno : fd, a, names, n);
}

static int live_kind(struct host *h, const char *path, enum host_kind *out)
{
	int at = host_live_look_at(h, &path);
	struct stat st;

	if (fstatat(at, path, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return -errno;
	*out = folder_kind_of(st.st_mode);
	return 0;
}

static int live_stat(struct host *h, const char *path, struct host_stat *out)
{
	int at = host_live_look_at(h, &path);
	struct stat st;

	if (fstatat(at, path, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return -errno;
	*out = (struct host_stat){ .kind = folder_kind_of(st.st_mode),
				   .mode = st.st_mode & 07777,
				   .uid = st.st_uid,
				   .links = st.st_nlink,
				   .size = st.st_size };
	return 0;
}

static int live_ask(struct host *h, const char *api, const char *object, const char *field,
		    struct answer *out)
{
	void **state;
	const struct provider *p = live_provider((struct live *)h, api, &state);

	return p ? p->ask(state, &h->arena, object, field, out) : -ENOSYS;
}

static void host_live_close(struct host *h)
{
	struct live *live = (struct live *)h;

	live_close_providers(live);
	if (live->lock_fd >= 0)
		close(live->lock_fd);
	if (live->own_fd >= 0)
		close(live->own_fd);
	arena_free(&h->arena);
	free(live);
}

static const struct host_ops live_ops = {
	.read = live_read,
	.link = live_link,
	.list = live_list,
	.kind = live_kind,
	.ask = live_ask,
	.close = host_live_close,
	.writes = &live_writes,
	.stat = live_stat,
};

struct host *host_open_live(void)
{
	struct live *live = heap_array(1, sizeof(*live));
	struct host *h;
	struct utsname u;

	live->lock_fd = live->own_fd = -1;
	h = &live->host;
	h->ops = &live_ops;
	if (uname(&u) < 0)
		memset(&u, 0, sizeof(u));
	h->id = (struct host_identity){
		.nodename = arena_strdup(&h->arena, u.nodename),
		.release = arena_strdup(&h->arena, u.release),
		.version = arena_strdup(&h->arena, u.version),
		.machine = arena_strdup(&h->arena, u.machine),
		.euid = (long long)geteuid(),
		.page_size = sysconf(_SC_PAGESIZE),
		.time_s = (long long)time(NULL),
		.source = "live",
	};
	return h;
}
