/* SPDX-License-Identifier: Apache-2.0 */
/* Giving files to cuFile, which wants to open each of them itself. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "measure/bench/disk_file.h"
#include "measure/bench/gds.h"

static bool same_file(int a, int b)
{
	struct stat x, y;

	return fstat(a, &x) == 0 && fstat(b, &y) == 0 && x.st_dev == y.st_dev &&
	       x.st_ino == y.st_ino;
}

/* cuFile refuses a file that was opened with flags it does not know; this opens it anew. */
static int open_anew(int fd, const char *path, struct err *e)
{
	int r = open(path, O_RDONLY | O_DIRECT | O_CLOEXEC), code = r < 0 ? errno : ESTALE;

	if (r >= 0 && same_file(r, fd))
		return r;
	if (r >= 0)
		close(r);
	return err_set(e, -code, "opening a file for cuFile: %s", strerror(code));
}

/* cuFile opens it once more by the name that the kernel tells for it. The bench's own file has one
 * for that long; it can have one only once. */
static int take(struct gds_files *f, const struct cufile *c, int fd, const char *own_dir,
		struct err *e)
{
	struct cufile_file file = { .kind = CUFILE_DESCRIPTOR };
	char path[PATH_MAX];
	int r = 0;

	if (own_dir)
		r = disk_file_lend(fd, own_dir, path, sizeof(path), e);
	else
		snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	if (r)
		return r;
	r = file.file.fd = open_anew(fd, path, e);
	if (r >= 0)
		r = cufile_check(c->api.file_add(&f->handle[f->n], &file), e, "taking a file");
	if (own_dir)
		unlink(path);
	if (r == 0)
		f->fd[f->n++] = file.file.fd;
	else if (file.file.fd >= 0)
		close(file.file.fd);
	return r;
}

int gds_take(struct gds_files *f, const struct cufile *c, const struct load_set *set,
	     const char *own_dir, struct err *e)
{
	if (!f->tried) {
		f->tried = true;
		for (size_t i = 0; i < set->n && f->code == 0; i++)
			f->code = take(f, c, set->files[i].fd, own_dir, &f->why);
	}
	if (f->code)
		*e = f->why;
	return f->code;
}

void gds_let_go(struct gds_files *f, const struct cufile *c)
{
	for (size_t i = 0; i < f->n; i++) {
		c->api.file_end(f->handle[i]);
		close(f->fd[i]);
	}
	*f = (struct gds_files){ 0 };
}
