/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The live machine's writes, in a folder of this target's own: what is written is what is read, a
 * refusal leaves what was there, no link is followed, once the lock is held all of it lands in the
 * folder that was locked whatever its name leads to, what is looked at lies there, and no
 * descriptor is lost. An input is a list
 * of steps; some let a call of the kernel fail, or take a part.
 */
#include <dirent.h>
#include <fcntl.h>
#include <ftw.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "machine/host/live.h"
#include "machine/write/write.h"

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size);
ssize_t __real_write(int fd, const void *data, size_t n);
ssize_t __wrap_write(int fd, const void *data, size_t n);
int __real_fsync(int fd);
int __wrap_fsync(int fd);
int __real_fdatasync(int fd);
int __wrap_fdatasync(int fd);
int __real_fchmod(int fd, mode_t mode);
int __wrap_fchmod(int fd, mode_t mode);
int __real_openat(int at, const char *path, int flags, ...);
int __wrap_openat(int at, const char *path, int flags, ...);
/* By this name where files may be large. */
int __wrap_openat64(int at, const char *path, int flags, ...)
	__attribute__((alias("__wrap_openat")));
int __real_unlinkat(int at, const char *path, int flags);
int __wrap_unlinkat(int at, const char *path, int flags);
int __real_mkdirat(int at, const char *path, mode_t mode);
int __wrap_mkdirat(int at, const char *path, mode_t mode);
int __real_symlinkat(const char *to, int at, const char *path);
int __wrap_symlinkat(const char *to, int at, const char *path);
int __real_linkat(int from_at, const char *from, int to_at, const char *to, int flags);
int __wrap_linkat(int from_at, const char *from, int to_at, const char *to, int flags);
int __real_renameat(int from_at, const char *from, int to_at, const char *to);
int __wrap_renameat(int from_at, const char *from, int to_at, const char *to);
struct dirent *__real_readdir(DIR *dir);
struct dirent *__wrap_readdir(DIR *dir);
/* By this name where files may be large. */
struct dirent *__wrap_readdir64(DIR *dir) __attribute__((alias("__wrap_readdir")));

enum { STEPS = 24, BODY_MAX = 6000, PATH = 256 };

static char scratch[64];

/* --- the kernel, now and then unwilling
 * ------------------------------------------------------------ */

static struct {
	bool on;    /* within a step */
	unsigned n; /* this call fails, counted from 1; 0: none */
	bool mount; /* a file is a mount point itself: it cannot be another */
	bool part;  /* the first write takes a part, the second is interrupted */
	unsigned writes;
	bool failed;
} kernel;

static bool fails(void)
{
	if (!kernel.on || !kernel.n || --kernel.n)
		return false;
	kernel.failed = true;
	errno = EIO;
	return true;
}

ssize_t __wrap_write(int fd, const void *data, size_t n)
{
	if (!kernel.on)
		return __real_write(fd, data, n);
	if (fails())
		return -1;
	if (kernel.part && kernel.writes++ == 1) {
		errno = EINTR;
		return -1;
	}
	return __real_write(fd, data, kernel.part && kernel.writes == 1 && n > 1 ? n / 2 : n);
}

int __wrap_fsync(int fd)
{
	return fails() ? -1 : __real_fsync(fd);
}

int __wrap_fdatasync(int fd)
{
	return fails() ? -1 : __real_fdatasync(fd);
}

int __wrap_fchmod(int fd, mode_t mode)
{
	return fails() ? -1 : __real_fchmod(fd, mode);
}

struct dirent *__wrap_readdir(DIR *dir)
{
	return fails() ? NULL : __real_readdir(dir);
}

/* Nothing of this machine is written, whatever is wrong: it ends here instead. */
static const char *inside(const char *path)
{
	if (kernel.on && *path == '/' && strncmp(path, scratch, strlen(scratch)) != 0)
		abort();
	return path;
}

int __wrap_openat(int at, const char *path, int flags, ...)
{
	mode_t mode = 0;
	va_list ap;

	if (flags & O_CREAT) {
		va_start(ap, flags);
		mode = va_arg(ap, mode_t);
		va_end(ap);
	}
	return __real_openat(at, inside(path), flags, mode);
}

int __wrap_unlinkat(int at, const char *path, int flags)
{
	return __real_unlinkat(at, inside(path), flags);
}

int __wrap_mkdirat(int at, const char *path, mode_t mode)
{
	return __real_mkdirat(at, inside(path), mode);
}

int __wrap_symlinkat(const char *to, int at, const char *path)
{
	return __real_symlinkat(to, at, inside(path));
}

int __wrap_linkat(int from_at, const char *from, int to_at, const char *to, int flags)
{
	return fails() ? -1 : __real_linkat(from_at, inside(from), to_at, inside(to), flags);
}

int __wrap_renameat(int from_at, const char *from, int to_at, const char *to)
{
	if (fails())
		return -1;
	if (kernel.on && kernel.mount) {
		errno = EBUSY;
		return -1;
	}
	return __real_renameat(from_at, inside(from), to_at, inside(to));
}

/* --- the folders
 * ----------------------------------------------------------------------------------- */

static const char secret[] = "nobody's but its owner's";

static void must(bool holds)
{
	if (!holds)
		abort();
}

static int remove_one(const char *path, const struct stat *st, int what, struct FTW *at)
{
	(void)st;
	(void)what;
	(void)at;
	return remove(path);
}

static void clean(void)
{
	nftw(scratch, remove_one, 8, FTW_DEPTH | FTW_PHYS);
}

static int folder(const char *name)
{
	char path[PATH];

	snprintf(path, sizeof(path), "%s/%s", scratch, name);
	must(mkdir(path, 0700) == 0);
	return open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
}

static void fill(int at, const char *name, const char *text)
{
	int fd = openat(at, name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);

	must(fd >= 0 && __real_write(fd, text, strlen(text)) == (ssize_t)strlen(text));
	close(fd);
}

/* What lies there, links not followed. */
struct seen {
	mode_t mode; /* 0: nothing */
	nlink_t links;
	size_t n;
	unsigned char s[2 * BODY_MAX];
};

static void look(int at, const char *name, struct seen *out)
{
	struct stat st;
	int fd;

	*out = (struct seen){ 0 };
	if (fstatat(at, name, &st, AT_SYMLINK_NOFOLLOW))
		return;
	out->mode = st.st_mode;
	out->links = st.st_nlink;
	if (S_ISLNK(st.st_mode))
		out->n = (size_t)readlinkat(at, name, (char *)out->s, sizeof(out->s));
	if (!S_ISREG(st.st_mode))
		return;
	fd = openat(at, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
	if (fd < 0)
		return;
	out->n = (size_t)read(fd, out->s, sizeof(out->s));
	close(fd);
}

static bool same(const struct seen *a, const struct seen *b)
{
	return (a->mode & S_IFMT) == (b->mode & S_IFMT) && a->n == b->n &&
	       memcmp(a->s, b->s, a->n) == 0;
}

static bool is(const struct seen *a, const void *data, size_t n)
{
	return S_ISREG(a->mode) && a->n == n && memcmp(a->s, data, n) == 0;
}

/* --- one input
 * ------------------------------------------------------------------------------------- */

struct run {
	const unsigned char *p, *end;
	struct host *h;
	int ours, outside, sys; /* the folders themselves, whatever their names lead to */
	bool locked, turned;
	struct seen before, after, aside;
};

static const char *const names[] = { "a", "b", "folder", "link", "folder/c", "lock" };
static const mode_t modes[] = { 0600, 0644, 0755, 0640 };

static unsigned take(struct run *r)
{
	return r->p < r->end ? *r->p++ : 0;
}

static size_t take_body(struct run *r, const unsigned char **body)
{
	static const unsigned char zeros[BODY_MAX];
	size_t n = take(r), left = (size_t)(r->end - r->p);

	/* Long ones need no long input. */
	if (n >= 200) {
		*body = zeros;
		return (n - 199) * 100;
	}
	n = n < left ? n : left;
	*body = r->p;
	r->p += n;
	return n;
}

/* By its name, with more slashes than one at times. */
static void path_of(const char *name, unsigned more, char path[PATH])
{
	snprintf(path, PATH, "%s/ours%.*s%s", scratch, 1 + (int)(more % 3), "///", name);
}

static void begin_kernel(unsigned how)
{
	memset(&kernel, 0, sizeof(kernel));
	kernel.on = true;
	kernel.mount = how & 1;
	kernel.part = how & 2;
	kernel.n = how & 4 ? 1 + (how >> 3) % 12 : 0;
}

static bool is_aside(int at, const char *name, const char *end, struct seen *out)
{
	char path[PATH];

	snprintf(path, sizeof(path), "%s%s", name, end);
	look(at, path, out);
	return out->mode != 0;
}

static void put(struct run *r, const char *name, const char *path, unsigned how)
{
	mode_t mode = modes[take(r) % 4];
	const unsigned char *body;
	size_t n = take_body(r, &body);
	int code;
	bool earlier = is_aside(r->ours, name, ".gputune-old", &r->aside), failed;

	begin_kernel(how);
	code = host_put(r->h, path, body, n, mode);
	kernel.on = false;
	failed = kernel.failed;
	look(r->ours, name, &r->after);
	must(!is_aside(r->ours, name, ".gputune-new", &r->aside));
	must(!is_aside(r->ours, name, ".gputune-old.part", &r->aside));
	if (code == 0) {
		must(is(&r->after, body, n) && (r->after.mode & 07777) == mode);
		must(r->after.links == 1 || kernel.mount);
		must(earlier || !is_aside(r->ours, name, ".gputune-old", &r->aside));
		return;
	}
	must(code < 0);
	/* The old one; or, where it took the name and the folder is not on disk yet, the new one.
	 */
	must((same(&r->after, &r->before) && r->after.mode == r->before.mode) ||
	     (failed && !kernel.mount && is(&r->after, body, n)));
	must(earlier || !is_aside(r->ours, name, ".gputune-old", &r->aside));
}

static void append(struct run *r, const char *name, const char *path, unsigned how)
{
	const unsigned char *body;
	size_t n = take_body(r, &body), old = r->before.n;
	int code;

	if (old + n > sizeof(r->after.s))
		return;
	begin_kernel(how);
	code = host_append(r->h, path, body, n);
	kernel.on = false;
	look(r->ours, name, &r->after);
	if (code == 0) {
		must(S_ISREG(r->after.mode) && r->after.n == old + n);
		must(memcmp(r->after.s, r->before.s, old) == 0);
		must(n == 0 || memcmp(r->after.s + old, body, n) == 0);
		return;
	}
	must(kernel.failed || same(&r->after, &r->before));
	must(r->after.n >= old && memcmp(r->after.s, r->before.s, old) == 0);
}

static void make(struct run *r, const char *name, const char *path, unsigned how)
{
	mode_t mode = modes[take(r) % 4];
	bool link = take(r) % 2;
	int code;

	begin_kernel(how & ~1u);
	code = link ? host_make_link(r->h, path, "../outside/secret")
		    : host_make_dir(r->h, path, mode);
	kernel.on = false;
	look(r->ours, name, &r->after);
	must(!r->before.mode || (code < 0 && same(&r->after, &r->before)));
	if (code == 0 && link)
		must(S_ISLNK(r->after.mode) && r->after.n == strlen("../outside/secret"));
	else if (code == 0)
		must(S_ISDIR(r->after.mode) && (r->after.mode & 07777) == mode);
}

static void drop(struct run *r, const char *name, const char *path, unsigned how)
{
	int code;

	begin_kernel(how & ~1u);
	code = host_remove(r->h, path);
	kernel.on = false;
	look(r->ours, name, &r->after);
	must(code || (r->before.mode && !r->after.mode));
	must(code == 0 || kernel.failed || same(&r->after, &r->before));
}

/* A file of the kernel: never made, and through links, as sysfs has them. */
static void write_kernel(struct run *r, unsigned how)
{
	static const char *const which[] = { "knob", "absent", "to-knob", "nothing/here" };
	const char *name = which[take(r) % 4];
	long long offset = (long long)take(r) - 1;
	const unsigned char *body;
	size_t n = take_body(r, &body);
	bool there = name == which[0] || name == which[2];
	char path[PATH];
	int code;

	look(r->sys, "knob", &r->before);
	if (r->before.n + n + 256 > sizeof(r->before.s))
		return;
	snprintf(path, sizeof(path), "%s/sys/%s", scratch, name);
	begin_kernel(how & ~2u);
	code = host_write_at(r->h, path, offset, body, n);
	kernel.on = false;
	look(r->sys, "knob", &r->after);
	must(there || (code == -ENOENT && same(&r->before, &r->after)));
	look(r->sys, "absent", &r->aside);
	must(!r->aside.mode);
	if (code || !there)
		return;
	if (offset < 0)
		must(is(&r->after, body, n));
	else
		must(n == 0 || (r->after.n >= (size_t)offset + n &&
				memcmp(r->after.s + offset, body, n) == 0));
}

static void turn(bool away)
{
	char ours[PATH], aside[PATH], outside[PATH];

	snprintf(ours, sizeof(ours), "%s/ours", scratch);
	snprintf(aside, sizeof(aside), "%s/aside", scratch);
	snprintf(outside, sizeof(outside), "%s/outside", scratch);
	must(away ? rename(ours, aside) == 0 && symlink(outside, ours) == 0
		  : unlink(ours) == 0 && rename(aside, ours) == 0);
}

/* What is listed of a folder is all that lies there. */
static void list(struct run *r, int fd, const char *path)
{
	struct arena a = { 0 };
	char **found;
	size_t n, there = 0;
	struct dirent *de;
	struct stat st;
	DIR *dir;

	must(host_list(r->h, path, &a, &found, &n) == 0);
	for (size_t i = 0; i < n; i++)
		must(fstatat(fd, found[i], &st, AT_SYMLINK_NOFOLLOW) == 0);
	dir = fdopendir(openat(fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
	must(dir != NULL);
	while ((de = readdir(dir)))
		there += strcmp(de->d_name, ".") != 0 && strcmp(de->d_name, "..") != 0;
	closedir(dir);
	must(there == n);
	/* One that cannot be read to its end is none. */
	begin_kernel(4 + 8 * (unsigned)(n % 3));
	must(host_list(r->h, path, &a, &found, &n) == -EIO && kernel.failed);
	kernel.on = false;
	arena_free(&a);
}

/* Looking tells what lies in the folder itself, whatever its name leads to. */
static void look_through(struct run *r, const char *name, const char *path)
{
	char ours[PATH], target[PATH];
	enum host_kind kind;
	unsigned mode;
	int code;

	look(r->ours, name, &r->after);
	code = host_kind(r->h, path, &kind);
	must((code == 0) == (r->after.mode != 0));
	must(host_mode(r->h, path, &mode) == code);
	must(code || mode == (r->after.mode & 07777));
	must(code || (kind == HOST_LINK) == !!S_ISLNK(r->after.mode));
	code = host_link(r->h, path, target, sizeof(target));
	must((code == 0) == !!S_ISLNK(r->after.mode));
	must(code || (strlen(target) == r->after.n && !memcmp(target, r->after.s, r->after.n)));
	snprintf(ours, sizeof(ours), "%s/ours", scratch);
	list(r, r->ours, ours);
	must(host_kind(r->h, ours, &kind) == 0 && kind == HOST_DIR);
}

/* Somebody exchanges the folder for a link: before the lock it is refused, after it nothing of
 * ours goes where the link leads. */
static void exchange(struct run *r, const char *path)
{
	if (r->turned)
		return;
	turn(true);
	r->turned = r->locked;
	if (r->locked)
		return;
	must(host_lock(r->h, path) == HOST_NOT_OURS);
	turn(false);
}

static void lock(struct run *r, const char *path, unsigned how)
{
	bool open_to_all = how % 4 == 0 && !r->locked, linked = S_ISLNK(r->before.mode),
	     dir = S_ISDIR(r->before.mode);
	struct host *other;
	int code;

	if (open_to_all)
		__real_fchmod(r->ours, 0722);
	code = host_lock(r->h, path);
	__real_fchmod(r->ours, 0700);
	must(!open_to_all || code == HOST_NOT_OURS);
	must(r->locked ? code == 0 : !(linked || dir) || code < 0);
	if (code || r->locked)
		return;
	r->locked = true;
	other = host_open_live();
	must(host_lock(other, path) == -EWOULDBLOCK);
	host_close(other);
}

static int next_fd(void)
{
	int fd = fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 3);

	close(fd);
	return fd;
}

static void step(struct run *r)
{
	unsigned what = take(r), how = take(r), which = take(r);
	const char *name = names[which % 6];
	char path[PATH], plain[PATH];
	int fd = next_fd();

	path_of(name, which / 6, path);
	look(r->ours, name, &r->before);
	switch (what % 8) {
	case 0:
	case 1:
		put(r, name, path, how);
		break;
	case 2:
		append(r, name, path, how);
		break;
	case 3:
		make(r, name, path, how);
		break;
	case 4:
		drop(r, name, path, how);
		break;
	case 5:
		write_kernel(r, how);
		break;
	default:
		path_of("lock", 0, plain);
		look(r->ours, "lock", &r->before);
		if (what % 8 == 6)
			lock(r, plain, how);
		else
			exchange(r, plain);
		fd = next_fd(); /* the lock and its folder are held */
	}
	look_through(r, name, path);
	must(next_fd() == fd);
}

/* What is behind the links is what it was, and nothing is beside it. */
static void judge(struct run *r)
{
	char path[PATH];
	struct stat st;

	look(r->outside, "secret", &r->after);
	must(is(&r->after, secret, strlen(secret)) && (r->after.mode & 07777) == 0644);
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		must(fstatat(r->outside, names[i], &st, AT_SYMLINK_NOFOLLOW) < 0);
	snprintf(path, sizeof(path), "%s/outside", scratch);
	must(stat(path, &st) == 0 && st.st_nlink == 2);
}

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size)
{
	static struct run r;
	int fd;

	if (!*scratch) {
		umask(022);
		/* In memory, where there is such. */
		strcpy(scratch, "/dev/shm/gputune-fuzz-XXXXXX");
		if (!mkdtemp(scratch)) {
			strcpy(scratch, "/tmp/gputune-fuzz-XXXXXX");
			must(mkdtemp(scratch) != NULL);
		}
		atexit(clean);
	}
	fd = next_fd();
	clean();
	must(mkdir(scratch, 0700) == 0);
	r = (struct run){ .p = data, .end = data + size, .h = host_open_live() };
	r.ours = folder("ours");
	r.outside = folder("outside");
	r.sys = folder("sys");
	must(r.ours >= 0 && r.outside >= 0 && r.sys >= 0);
	fill(r.outside, "secret", secret);
	fill(r.sys, "knob", "0\n");
	must(symlinkat("knob", r.sys, "to-knob") == 0);
	must(symlinkat("../outside/secret", r.ours, "link") == 0);
	for (int i = 0; i < STEPS && r.p < r.end; i++)
		step(&r);
	judge(&r);
	host_close(r.h);
	close(r.ours);
	close(r.outside);
	close(r.sys);
	must(next_fd() == fd);
	return 0;
}
