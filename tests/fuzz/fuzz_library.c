/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The search for CUDA's libraries, in a tree of folders of this target's own: the input says what
 * the environment names, what lies where, whose it is, what may be written by others, and what the
 * loader makes of it. Nothing is looked at but what the list of places has; root loads nothing that
 * somebody else could have written, but from a folder that was named; what is there and may be
 * taken is found, the first place first; its path is whole; and what was opened is closed.
 */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <fnmatch.h>
#include <ftw.h>
#include <glob.h>
#include <limits.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "machine/cuda/library.h"

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size);
char *__real_getenv(const char *name);
char *__wrap_getenv(const char *name);
uid_t __real_geteuid(void);
uid_t __wrap_geteuid(void);
int __real_access(const char *path, int mode);
int __wrap_access(const char *path, int mode);
int __real_stat(const char *path, struct stat *st);
int __wrap_stat(const char *path, struct stat *st);
char *__real_realpath(const char *path, char *out);
char *__wrap_realpath(const char *path, char *out);
int __real_glob(const char *pattern, int flags, int (*bad)(const char *, int), glob_t *g);
int __wrap_glob(const char *pattern, int flags, int (*bad)(const char *, int), glob_t *g);
/* By these names where files may be large. */
int __wrap_stat64(const char *path, struct stat *st) __attribute__((alias("__wrap_stat")));
int __wrap_glob64(const char *pattern, int flags, int (*bad)(const char *, int), glob_t *g)
	__attribute__((alias("__wrap_glob")));
void *__real_dlopen(const char *path, int flags);
void *__wrap_dlopen(const char *path, int flags);
char *__real_dlerror(void);
char *__wrap_dlerror(void);
int __real_dlinfo(void *lib, int what, void *out);
int __wrap_dlinfo(void *lib, int what, void *out);
void *__real_dlsym(void *lib, const char *name);
void *__wrap_dlsym(void *lib, const char *name);
int __real_dlclose(void *lib);
int __wrap_dlclose(void *lib);

/* In the order in which they are looked at. */
enum class { NAMED, LOADER, TOOLKIT, WHEEL, SDK, NOWHERE };
enum { OWN = 3, PLACES = 8, LONG = 250, WHOLE = 3 * PATH_MAX, NAME_MAX_HERE = 40 };

static const char *const sonames[] = { "libgt.so.2", "libgt.so.1", NULL };
static char scratch[64];

struct place {
	char path[PATH_MAX]; /* as the search names it */
	enum class class;
};

static struct run {
	const unsigned char *p, *end;
	bool on, root, wheels;
	unsigned known; /* what the loader finds by its name alone */
	char home[WHOLE], venv[WHOLE], own[OWN][WHOLE], own_list[OWN * (WHOLE + 1)];
	bool has_home, has_venv, has_own, too_long;
	size_t n_own;
	struct place places[PLACES];
	size_t n;
	/* What was opened. */
	int open;
	char opened[PATH_MAX];
	enum class tried, got; /* of the file that was asked about last, of the one opened */
	struct link_map map;
} r;

static void must(bool holds)
{
	if (!holds)
		abort();
}

static unsigned take(void)
{
	return r.p < r.end ? *r.p++ : 0;
}

static bool inside(const char *path, char out[WHOLE])
{
	return snprintf(out, WHOLE, "%s%s", scratch, path) < PATH_MAX;
}

/* --- what may be looked at and loaded
 * -------------------------------------------------------------- */

static bool matches(const char *const *patterns, const char *text)
{
	for (; *patterns; patterns++)
		if (fnmatch(*patterns, text, FNM_PATHNAME | FNM_PERIOD) == 0)
			return true;
	return false;
}

static bool is_wheel_below(const char *root, const char *folder)
{
	static const char *const below[] = { "lib/python3*/site-packages/nvidia/*/lib",
					     ".local/lib/python3*/site-packages/nvidia/*/lib",
					     "lib/python3*/dist-packages/nvidia/*/lib", NULL };
	size_t n = strlen(root);

	return n && strncmp(root, folder, n) == 0 && folder[n] == '/' &&
	       matches(below, folder + n + 1);
}

static enum class class_of(const char *folder) {
	static const char *const toolkits[] = { "/usr/local/cuda*/targets/*/lib",
						"/usr/local/cuda*/lib64", "/usr/lib/*-linux-gnu",
						"/usr/lib64", NULL },
		*const sdk[] = { "/opt/nvidia/hpc_sdk/Linux_*/*/math_libs/lib64",
				 "/opt/nvidia/hpc_sdk/Linux_*/*/comm_libs/nccl/lib",
				 "/opt/nvidia/hpc_sdk/Linux_*/*/cuda/lib64", NULL };

	for (size_t i = 0; r.has_own && i < r.n_own;
	     i++) if (strcmp(r.own[i], folder) == 0) return NAMED;
	if (matches(toolkits, folder)) return TOOLKIT;
	if (matches(sdk, folder)) return SDK;
	if ((r.wheels || !r.root) &&
	    ((r.has_home && is_wheel_below(r.home, folder)) ||
	     (r.has_venv && is_wheel_below(r.venv, folder)) ||
	     is_wheel_below("/usr/local", folder) || is_wheel_below("/usr", folder))) return WHEEL;
	return NOWHERE;
}

/* The file of a library in a folder of the list, and nothing else. */
static enum class class_of_file(const char *path) {
	char folder[WHOLE]; const char *slash = strrchr(path, '/');

	must(slash && (strcmp(slash + 1, sonames[0]) == 0 || strcmp(slash + 1, sonames[1]) == 0));
	must((size_t)(slash - path) < sizeof(folder));
	memcpy(folder, path, (size_t)(slash - path));
	folder[slash - path] = '\0';
	return class_of(folder);
}

/* In this tree, links resolved; "" where there is nothing. */
static void resolve(const char *path, char out[PATH_MAX])
{
	char whole[WHOLE], real[PATH_MAX];

	*out = '\0';
	if (!inside(path, whole) || !__real_realpath(whole, real))
		return;
	must(strncmp(real, scratch, strlen(scratch)) == 0);
	strcpy(out, real[strlen(scratch)] ? real + strlen(scratch) : "/");
}

static bool is_roots_alone(const char *path)
{
	struct stat st;

	return __wrap_stat(path, &st) == 0 && st.st_uid == 0 && !(st.st_mode & 022);
}

/* Every folder from the top down. */
static bool is_trusted(const char *real)
{
	char part[PATH_MAX];

	if (!is_roots_alone("/"))
		return false;
	for (const char *at = real + 1; (at = strchr(at, '/')); at++) {
		memcpy(part, real, (size_t)(at - real));
		part[at - real] = '\0';
		if (!is_roots_alone(part))
			return false;
	}
	return is_roots_alone(real);
}

static bool is_regular(const char *path)
{
	char whole[WHOLE];
	struct stat st;

	return inside(path, whole) && __real_stat(whole, &st) == 0 && S_ISREG(st.st_mode);
}

static bool loads(const char *path)
{
	char whole[WHOLE], first = 0;
	int fd;

	if (!is_regular(path) || !inside(path, whole))
		return false;
	fd = open(whole, O_RDONLY | O_CLOEXEC);
	must(fd >= 0 && read(fd, &first, 1) >= 0);
	close(fd);
	return first == 'L';
}

static bool may_be_taken(const struct place *p)
{
	char real[PATH_MAX];
	const char *by = r.root && p->class != NAMED ? real : p->path;

	resolve(p->path, real);
	return *real && !strchr(by, '$') && loads(real) &&
	       (!r.root || p->class == NAMED || is_trusted(real));
}

/* --- the machine
 * ----------------------------------------------------------------------------------- */

char *__wrap_getenv(const char *name)
{
	if (!r.on)
		return __real_getenv(name);
	if (strcmp(name, "HOME") == 0)
		return r.has_home ? r.home : NULL;
	if (strcmp(name, "VIRTUAL_ENV") == 0)
		return r.has_venv ? r.venv : NULL;
	must(strcmp(name, "GPUTUNE_LIB_DIR") == 0);
	return r.has_own ? r.own_list : NULL;
}

uid_t __wrap_geteuid(void)
{
	return r.on ? (r.root ? 0 : 1000) : __real_geteuid();
}

static void asked_about(const char *path)
{
	if (r.open)
		return;
	r.tried = class_of_file(path);
	must(r.tried != NOWHERE);
}

int __wrap_access(const char *path, int mode)
{
	char whole[WHOLE];

	if (!r.on)
		return __real_access(path, mode);
	asked_about(path);
	errno = ENAMETOOLONG;
	return inside(path, whole) ? __real_access(whole, mode) : -1;
}

/* A sticky bit says that it is another user's: who runs this may give nothing away. */
int __wrap_stat(const char *path, struct stat *st)
{
	char whole[WHOLE];
	int code;

	if (!r.on)
		return __real_stat(path, st);
	errno = ENAMETOOLONG;
	code = inside(path, whole) ? __real_stat(whole, st) : -1;
	st->st_uid = st->st_mode & S_ISVTX ? 1000 : 0;
	return code;
}

char *__wrap_realpath(const char *path, char *out)
{
	char real[PATH_MAX];

	if (!r.on)
		return __real_realpath(path, out);
	must(!out);
	asked_about(path);
	resolve(path, real);
	errno = ENOENT;
	return *real ? strdup(real) : NULL;
}

int __wrap_glob(const char *pattern, int flags, int (*bad)(const char *, int), glob_t *g)
{
	size_t n = strlen(scratch);
	char whole[WHOLE];
	int code;

	if (!r.on)
		return __real_glob(pattern, flags, bad, g);
	must(*pattern == '/' && strlen(pattern) < sizeof(whole) - n);
	memcpy(whole, scratch, n);
	strcpy(whole + n, pattern);
	code = __real_glob(whole, flags, bad, g);
	for (size_t i = 0; code == 0 && i < g->gl_pathc; i++)
		memmove(g->gl_pathv[i], g->gl_pathv[i] + n, strlen(g->gl_pathv[i] + n) + 1);
	return code;
}

static bool loader_knows(const char *soname)
{
	must(strcmp(soname, sonames[0]) == 0 || strcmp(soname, sonames[1]) == 0);
	return r.known & (strcmp(soname, sonames[0]) == 0 ? 1 : 2);
}

void *__wrap_dlopen(const char *path, int flags)
{
	char real[PATH_MAX];

	if (!r.on)
		return __real_dlopen(path, flags);
	/* It would put folders of its own there. */
	must(!r.open && !strchr(path, '$'));
	if (!strchr(path, '/')) {
		if (!loader_knows(path))
			return NULL;
		r.got = LOADER;
		snprintf(r.opened, sizeof(r.opened), "/loader/%s", path);
	} else {
		resolve(path, real);
		/* No pipe: it would be waited for. */
		must(is_regular(real));
		/* By a name that nobody can exchange any more. */
		must(!r.root || r.tried == NAMED || (strcmp(path, real) == 0 && is_trusted(real)));
		if (!loads(path))
			return NULL;
		r.got = r.tried;
		strcpy(r.opened, path);
	}
	r.open = 1;
	return &r.open;
}

char *__wrap_dlerror(void)
{
	static char said[] = "invalid ELF header";

	return r.on ? said : __real_dlerror();
}

int __wrap_dlinfo(void *lib, int what, void *out)
{
	if (!r.on)
		return __real_dlinfo(lib, what, out);
	must(lib == &r.open && what == RTLD_DI_LINKMAP);
	r.map.l_name = r.opened;
	*(struct link_map **)out = &r.map;
	return 0;
}

void *__wrap_dlsym(void *lib, const char *name)
{
	if (!r.on)
		return __real_dlsym(lib, name);
	must(lib == &r.open);
	return &r.open;
}

int __wrap_dlclose(void *lib)
{
	if (!r.on)
		return __real_dlclose(lib);
	must(lib == &r.open && r.open);
	r.open = 0;
	return 0;
}

/* --- one input
 * ------------------------------------------------------------------------------------- */

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

/* A folder whose name may have any byte, and may be longer than a path. */
static void take_folder(const char *above, char out[WHOLE])
{
	static const unsigned char longs[] = { 0, 0, 0, 0, 1, 2, 12, 17 };
	unsigned how = take(), n = take() % NAME_MAX_HERE;
	size_t len = (size_t)snprintf(out, WHOLE, "%s/n", above);

	for (unsigned i = 0; i < n; i++) {
		char c = (char)take();

		out[len++] = c && c != '/' && c != ':' ? c : 'x';
	}
	for (unsigned i = longs[how % sizeof(longs)]; i > 0; i--) {
		out[len++] = '/';
		memset(out + len, 'a', LONG);
		len += LONG;
	}
	out[len] = '\0';
}

static void take_environment(void)
{
	unsigned has = take();

	r.root = has & 1;
	r.wheels = has & 2;
	r.has_home = has & 4;
	r.has_venv = has & 8;
	r.has_own = has & 16;
	r.known = has >> 6;
	if (r.has_home)
		take_folder("/home", r.home);
	if (r.has_venv)
		take_folder("/venv", r.venv);
	r.n_own = r.has_own ? 1 + take() % OWN : 0;
	for (size_t i = 0; i < r.n_own; i++) {
		take_folder("/own", r.own[i]);
		r.too_long = r.too_long || strlen(r.own[i]) >= PATH_MAX;
		if (i)
			strcat(r.own_list, ":");
		strcat(r.own_list, r.own[i]);
	}
}

static bool make_folders(const char *path)
{
	char whole[WHOLE];

	if (!inside(path, whole))
		return false;
	for (char *at = whole + strlen(scratch) + 1; (at = strchr(at, '/')); at++) {
		*at = '\0';
		if (mkdir(whole, 0755) && errno != EEXIST)
			return false;
		*at = '/';
	}
	return true;
}

static void fill(const char *whole, bool good)
{
	int fd = open(whole, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);

	if (fd < 0)
		return;
	must(write(fd, good ? "L" : "?", 1) == 1);
	close(fd);
}

/* Somewhere on the way, or the file itself: another's, or anybody's. */
static void give_away(const char *path, unsigned how)
{
	char whole[WHOLE];
	struct stat st;

	if (how < 128 || !inside(path, whole))
		return;
	for (unsigned up = how % 16; up > 0 && strlen(whole) > strlen(scratch); up--)
		*strrchr(whole, '/') = '\0';
	if (strlen(whole) >= strlen(scratch) && lstat(whole, &st) == 0 && !S_ISLNK(st.st_mode))
		chmod(whole, (st.st_mode & 07777) | (mode_t)(how & 16	? S_ISVTX
							     : how & 32 ? S_IWGRP
									: S_IWOTH));
}

static void make(const char *path, unsigned what)
{
	static const char *const others[] = { "/others/lib/libgt.so.2", "/usr/lib64/libgt.so.2.9" };
	char whole[WHOLE], other[WHOLE];

	if (!make_folders(path) || !inside(path, whole))
		return;
	switch (what % 8) {
	case 0:
	case 1:
	case 2:
		fill(whole, true);
		break;
	case 3:
		fill(whole, false);
		break;
	case 4:
		(void)!mkdir(whole, 0755);
		break;
	case 5:
		(void)!mkfifo(whole, 0644);
		break;
	default:
		must(make_folders(others[what % 2]) && inside(others[what % 2], other));
		if (what & 8)
			fill(other, true);
		(void)!symlink(other, whole);
	}
}

static void take_place(void)
{
	static const char *const fixed[] = {
		"/usr/local/cuda-12.8/lib64",
		"/usr/local/cuda/lib64",
		"/usr/lib64",
		"/opt/nvidia/hpc_sdk/Linux_x86_64/25.1/math_libs/lib64",
		"/usr/local/lib/python3.12/dist-packages/nvidia/nccl/lib",
		"/usr/lib/python3.12/site-packages/nvidia/cu13/lib",
		"/home/other/.local/lib/python3.12/site-packages/nvidia/nccl/lib",
		"/usr/local/lib",
	};
	struct place *p = &r.places[r.n];
	unsigned where = take() % 16, what = take(), how = take();
	char folder[WHOLE];

	if (where < 3)
		snprintf(folder, sizeof(folder), "%s", r.own[where]);
	else if (where < 8)
		snprintf(folder, sizeof(folder), "%.8000s%s", where < 6 ? r.home : r.venv,
			 where % 2 ? "/.local/lib/python3.12/site-packages/nvidia/nccl/lib"
				   : "/lib/python3.9/site-packages/nvidia/cu13/lib");
	else
		snprintf(folder, sizeof(folder), "%s", fixed[where - 8]);
	/* Room is left for what stands before all of it. */
	if (*folder != '/' || strlen(folder) > PATH_MAX - 200)
		return;
	snprintf(p->path, sizeof(p->path), "%.3900s/%s", folder, sonames[what >> 7]);
	p->class = class_of(folder);
	make(p->path, what);
	give_away(p->path, how);
	r.n++;
}

static void judge(int code, const struct cuda_library *l, const struct err *e, void *const *table)
{
	enum class best = r.known & 3 ? LOADER : NOWHERE;
	char real[PATH_MAX];

	for (size_t i = 0; i < r.n; i++)
		if (r.places[i].class < best && may_be_taken(&r.places[i]))
			best = r.places[i].class;
	must((code == 0) == (best != NOWHERE) && (code == 0) == (r.open == 1));
	if (code) {
		must(code == -ELIBACC && !l->handle && *e->text && *e->hint && !*table);
		must(!r.too_long || r.n || strstr(e->text, "GPUTUNE_LIB_DIR"));
		return;
	}
	must(r.got == best && *table == &r.open);
	resolve(r.opened, real);
	must(strcmp(l->path, *real ? real : r.opened) == 0);
	must(strcmp(l->soname, sonames[0]) == 0 || strcmp(l->soname, sonames[1]) == 0);
}

static int next_fd(void)
{
	int fd = fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 3);

	close(fd);
	return fd;
}

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size)
{
	static struct cuda_library l;
	const struct vendor_symbol symbol = { "anything", 0, NULL };
	struct err e = { 0 };
	void *table = NULL;
	int fd, code;

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
	must(mkdir(scratch, 0755) == 0);
	memset(&r, 0, sizeof(r));
	r.p = data;
	r.end = data + size;
	take_environment();
	while (r.n < PLACES && r.p < r.end)
		take_place();
	r.on = true;
	code = cuda_library_open(sonames, r.wheels, &symbol, 1, &table, &l, &e);
	judge(code, &l, &e, &table);
	cuda_library_close(&l);
	must(!r.open && !l.handle);
	r.on = false;
	must(next_fd() == fd);
	return 0;
}
