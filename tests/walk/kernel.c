/* SPDX-License-Identifier: Apache-2.0 */
/* System calls on the disk's nodes, and the list of those that a power cut may take back. */
#include "kernel.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "disk.h"

enum { FIRST_FD = 1 << 20, FILES = 8 };

enum call { CREATES, WRITES, SETS_MODE, RENAMES, REMOVES, MAKES };

struct change {
	enum call call;
	char *path, *to; /* to: of a rename; of a link its target */
	char *data;
	size_t len;
	enum node_kind kind; /* of what is made */
	mode_t mode;
	bool of_name; /* on disk with its folder; else with its file */
	bool synced;
};

/* What stood there before the first change of the list. */
struct was {
	char *path;
	struct node node;
};

static struct {
	char *open[FILES]; /* paths */
	struct change *changes;
	struct was *were;
	size_t n, room, n_were, room_were;
	unsigned left; /* calls before the cut */
	void (*cut)(void *ctx);
	void *ctx;
} kernel;

static void *more(void *list, size_t n, size_t *room, size_t size)
{
	if (n < *room)
		return list;
	*room = *room ? *room * 2 : 16;
	list = realloc(list, *room * size);
	if (!list)
		out_of_memory(0);
	return list;
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

static struct node node_copy(const struct node *n)
{
	struct node out = n ? *n : (struct node){ .kind = NODE_LOWER };

	if (out.data)
		out.data = copy(out.data, out.kind == NODE_LINK ? strlen(out.data) : out.len);
	return out;
}

/* --- making a change -------------------------------------------------------------------------- */

/* len: of its data, how much of it. */
static void make(const struct change *c, size_t len)
{
	const struct node *old = disk_node(c->path);
	struct node n = node_copy(old);

	switch (c->call) {
	case CREATES:
		free(n.data);
		disk_put(c->path, (struct node){ NODE_FILE, copy("", 0), 0, c->mode });
		return;
	case MAKES:
		free(n.data);
		disk_put(c->path, (struct node){ c->kind, c->to ? copy(c->to, strlen(c->to)) : NULL,
						 0, c->mode });
		return;
	case REMOVES:
		free(n.data);
		disk_put(c->path, (struct node){ .kind = NODE_GONE });
		return;
	case RENAMES:
		if (n.kind == NODE_LOWER || n.kind == NODE_GONE)
			break;
		disk_put(c->to, n);
		disk_put(c->path, (struct node){ .kind = NODE_GONE });
		return;
	case WRITES:
		if (n.kind != NODE_FILE)
			break;
		n.data = realloc(n.data, n.len + len + 1);
		if (!n.data)
			out_of_memory(0);
		memcpy(n.data + n.len, c->data, len);
		n.len += len;
		n.data[n.len] = '\0';
		disk_put(c->path, n);
		return;
	case SETS_MODE:
		if (n.kind != NODE_FILE && n.kind != NODE_DIR)
			break;
		n.mode = c->mode;
		disk_put(c->path, n);
		return;
	}
	/* Of what is not there nothing is changed. */
	free(n.data);
}

static void remember(const char *path)
{
	for (size_t i = 0; i < kernel.n_were; i++)
		if (strcmp(kernel.were[i].path, path) == 0)
			return;
	kernel.were = more(kernel.were, kernel.n_were, &kernel.room_were, sizeof(*kernel.were));
	kernel.were[kernel.n_were++] =
		(struct was){ copy(path, strlen(path)), node_copy(disk_node(path)) };
}

static int change(struct change c)
{
	c.path = copy(c.path, strlen(c.path));
	c.to = c.to ? copy(c.to, strlen(c.to)) : NULL;
	c.data = c.data ? copy(c.data, c.len) : NULL;
	remember(c.path);
	if (c.call == RENAMES)
		remember(c.to);
	kernel.changes = more(kernel.changes, kernel.n, &kernel.room, sizeof(*kernel.changes));
	kernel.changes[kernel.n++] = c;
	make(&c, c.len);
	return 0;
}

/* --- what is on disk -------------------------------------------------------------------------- */

void kernel_sync(void)
{
	for (size_t i = 0; i < kernel.n; i++) {
		free(kernel.changes[i].path);
		free(kernel.changes[i].to);
		free(kernel.changes[i].data);
	}
	for (size_t i = 0; i < kernel.n_were; i++) {
		free(kernel.were[i].path);
		free(kernel.were[i].node.data);
	}
	kernel.n = kernel.n_were = 0;
}

static unsigned chance(unsigned *state)
{
	*state = *state * 1103515245u + 12345u;
	return *state >> 16;
}

void kernel_lose(unsigned dice)
{
	for (size_t i = 0; i < kernel.n_were; i++)
		disk_put(kernel.were[i].path, node_copy(&kernel.were[i].node));
	for (size_t i = 0; i < kernel.n; i++) {
		const struct change *c = &kernel.changes[i];

		if (c->synced)
			make(c, c->len);
		else if (c->call == WRITES)
			make(c, chance(&dice) % (c->len + 1));
		else if (chance(&dice) % 2)
			make(c, 0);
	}
	kernel_sync();
	for (int i = 0; i < FILES; i++) {
		free(kernel.open[i]);
		kernel.open[i] = NULL;
	}
}

static bool lies_in(const char *path, const char *folder)
{
	size_t n = strlen(folder);

	return strncmp(path, folder, n) == 0 && path[n] == '/' && !strchr(path + n + 1, '/');
}

static void sync_path(const char *path, bool mode_too)
{
	bool all = true;

	for (size_t i = 0; i < kernel.n; i++) {
		struct change *c = &kernel.changes[i];

		if (c->of_name)
			c->synced = c->synced || lies_in(c->path, path);
		else if (strcmp(c->path, path) == 0)
			c->synced = c->synced || c->call == WRITES || mode_too;
		all = all && c->synced;
	}
	if (all)
		kernel_sync();
}

/* --- calls ------------------------------------------------------------------------------------ */

void kernel_cut_at(unsigned calls, void (*cut)(void *ctx), void *ctx)
{
	kernel.left = calls;
	kernel.cut = cut;
	kernel.ctx = ctx;
}

static void called(void)
{
	void (*cut)(void *ctx) = kernel.cut;

	if (!cut || kernel.left-- > 0)
		return;
	kernel.cut = NULL;
	cut(kernel.ctx);
}

static int fails(int error)
{
	errno = error;
	return -1;
}

static bool is_there(const char *path)
{
	const struct node *n = disk_node(path);

	return n && n->kind != NODE_GONE;
}

static const char *path_of(int fd)
{
	if (fd < FIRST_FD || fd >= FIRST_FD + FILES || !kernel.open[fd - FIRST_FD])
		abort();
	return kernel.open[fd - FIRST_FD];
}

int kernel_openat(int at, const char *path, int flags, ...)
{
	int i = 0;

	(void)at;
	called();
	if (!(flags & O_DIRECTORY) && is_there(path) == !!(flags & O_CREAT))
		return fails(flags & O_CREAT ? EEXIST : ENOENT);
	while (i < FILES && kernel.open[i])
		i++;
	if (i == FILES)
		return fails(EMFILE);
	kernel.open[i] = copy(path, strlen(path));
	if (flags & O_CREAT)
		change((struct change){
			.call = CREATES, .path = kernel.open[i], .mode = 0600, .of_name = true });
	return FIRST_FD + i;
}

int kernel_close(int fd)
{
	free(kernel.open[fd - FIRST_FD]);
	kernel.open[fd - FIRST_FD] = NULL;
	return 0;
}

int kernel_statx(int at, const char *path, int flags, unsigned mask, struct statx *out)
{
	(void)at, (void)path, (void)flags, (void)mask, (void)out;
	return fails(ENOSYS);
}

int kernel_fsync(int fd)
{
	called();
	sync_path(path_of(fd), true);
	return 0;
}

int kernel_fdatasync(int fd)
{
	called();
	sync_path(path_of(fd), false);
	return 0;
}

int kernel_fchmod(int fd, mode_t mode)
{
	called();
	return change(
		(struct change){ .call = SETS_MODE, .path = (char *)path_of(fd), .mode = mode });
}

int kernel_write_all(int fd, const void *data, size_t len)
{
	called();
	return change((struct change){
		.call = WRITES, .path = (char *)path_of(fd), .data = (char *)data, .len = len });
}

int kernel_renameat(int from_at, const char *from, int to_at, const char *to)
{
	(void)from_at, (void)to_at;
	called();
	return change((struct change){
		.call = RENAMES, .path = (char *)from, .to = (char *)to, .of_name = true });
}

/* What is in the way was looked for before: see disk.c. */
int kernel_unlinkat(int at, const char *path, int flags)
{
	(void)at, (void)flags;
	called();
	/* The file that a put makes first may be none. */
	if (str_ends(path, ".gputune-new") && !is_there(path))
		return fails(ENOENT);
	return change((struct change){ .call = REMOVES, .path = (char *)path, .of_name = true });
}

int kernel_mkdirat(int at, const char *path, mode_t mode)
{
	(void)at;
	called();
	return change((struct change){ .call = MAKES,
				       .path = (char *)path,
				       .kind = NODE_DIR,
				       .mode = mode,
				       .of_name = true });
}

int kernel_fchmodat(int at, const char *path, mode_t mode, int flags)
{
	(void)at, (void)flags;
	called();
	return change((struct change){
		.call = SETS_MODE, .path = (char *)path, .mode = mode, .of_name = true });
}

int kernel_symlinkat(const char *target, int at, const char *path)
{
	(void)at;
	called();
	return change((struct change){ .call = MAKES,
				       .path = (char *)path,
				       .to = (char *)target,
				       .kind = NODE_LINK,
				       .mode = 0777,
				       .of_name = true });
}
