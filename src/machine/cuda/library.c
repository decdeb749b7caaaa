/* SPDX-License-Identifier: Apache-2.0 */
/* Where CUDA's libraries lie: the folders of toolkits, distributions, wheels and NVIDIA's SDK. */
#include "machine/cuda/library.h"

#include <dlfcn.h>
#include <errno.h>
#include <glob.h>
#include <link.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

const char *const cuda_cublaslt[] = { "libcublasLt.so.14", "libcublasLt.so.13", "libcublasLt.so.12",
				      "libcublasLt.so.11", NULL };
const char *const cuda_nccl[] = { "libnccl.so.2", NULL };
const char *const cuda_cufile[] = { "libcufile.so.0", NULL };
const char *const cuda_cusparselt[] = { "libcusparseLt.so.0", NULL };

#if defined(__aarch64__)
#define TARGETS                                                                                    \
	"/usr/local/cuda*/targets/sbsa-linux/lib", "/usr/local/cuda*/targets/aarch64-linux/lib"
#define DISTRIBUTION "/usr/lib/aarch64-linux-gnu"
#else
#define TARGETS "/usr/local/cuda*/targets/x86_64-linux/lib"
#define DISTRIBUTION "/usr/lib/x86_64-linux-gnu"
#endif

static const char *const toolkits[] = { TARGETS, "/usr/local/cuda*/lib64", DISTRIBUTION,
					"/usr/lib64", NULL };
static const char *const sdk[] = { "/opt/nvidia/hpc_sdk/Linux_*/*/math_libs/lib64",
				   "/opt/nvidia/hpc_sdk/Linux_*/*/comm_libs/nccl/lib",
				   "/opt/nvidia/hpc_sdk/Linux_*/*/cuda/lib64", NULL };

/* One search under way. */
struct search {
	const char *const *sonames;
	const struct vendor_symbol *symbols;
	size_t n;
	void *table;
	struct cuda_library *out;
	char said[512]; /* of a file that is there: the loader's reason, or ours */
};

/* The first stays: it is of what was named, or of the newest. */
__attribute__((format(printf, 2, 3))) static void library_report(struct search *s, const char *fmt,
								 ...)
{
	va_list ap;

	if (*s->said)
		return;
	va_start(ap, fmt);
	vsnprintf(s->said, sizeof(s->said), fmt, ap);
	va_end(ap);
}

static bool library_open_file(struct search *s, const char *soname, const char *path)
{
	struct link_map *map = NULL;
	const char *why;
	char *real;

	if (!vendor_literal(path)) {
		library_report(s, "the dynamic loader would expand the '$' in this path: %s", path);
		return false;
	}
	if (vendor_open(path, s->symbols, s->n, s->table, &s->out->handle)) {
		why = dlerror();
		if (strchr(path, '/') && why)
			library_report(s, "%s", why);
		return false;
	}
	snprintf(s->out->soname, sizeof(s->out->soname), "%s", soname);
	if (dlinfo(s->out->handle, RTLD_DI_LINKMAP, &map) == 0 && map)
		path = map->l_name;
	/* The file behind all links: its name tells the version. */
	real = realpath(path, NULL);
	snprintf(s->out->path, sizeof(s->out->path), "%s", real ? real : path);
	free(real);
	return true;
}

/* The loader would wait for who writes to a pipe. */
static bool is_file(struct search *s, const char *path)
{
	struct stat st;

	if (stat(path, &st) == 0 && S_ISREG(st.st_mode))
		return true;
	library_report(s, "%s: not a regular file", path);
	return false;
}

/* Root takes nothing that somebody else could have written, by a name that nobody can exchange;
 * unless the folder was named. */
static bool library_take_file(struct search *s, const char *soname, const char *path, bool named)
{
	bool taken;
	char *real;

	if (named || geteuid() != 0)
		return access(path, R_OK) == 0 && is_file(s, path) &&
		       library_open_file(s, soname, path);
	real = realpath(path, NULL);
	taken = real && vendor_trusted(real);
	if (real && !taken)
		library_report(s, "users other than root can write to it or a parent folder: %s",
			       real);
	taken = taken && is_file(s, real) && library_open_file(s, soname, real);
	free(real);
	return taken;
}

static void report_too_long(struct search *s)
{
	library_report(s, "a folder in GPUTUNE_LIB_DIR exceeds the path limit of %d bytes",
		       PATH_MAX - 1);
}

static bool look_in(struct search *s, const char *folder, bool named)
{
	char path[PATH_MAX];

	for (const char *const *name = s->sonames; *name; name++) {
		int n = snprintf(path, sizeof(path), "%s/%s", folder, *name);

		if (n >= (int)sizeof(path)) {
			if (named)
				report_too_long(s);
		} else if (library_take_file(s, *name, path, named)) {
			return true;
		}
	}
	return false;
}

/* Folders by pattern, the highest name first: cuda-13.0 before cuda-12.8. */
static bool look_where(struct search *s, const char *pattern)
{
	bool found = false;
	glob_t g = { 0 };

	if (glob(pattern, GLOB_NOSORT, NULL, &g) == 0) {
		for (size_t left = g.gl_pathc; left > 0 && !found; left--) {
			size_t best = 0;

			for (size_t i = 1; i < left; i++)
				if (strverscmp(g.gl_pathv[i], g.gl_pathv[best]) > 0)
					best = i;
			found = look_in(s, g.gl_pathv[best], false);
			{
				char *last = g.gl_pathv[left - 1];

				g.gl_pathv[left - 1] = g.gl_pathv[best];
				g.gl_pathv[best] = last;
			}
		}
	}
	globfree(&g);
	return found;
}

/* Folders that whoever runs us names are trusted. */
static bool look_own(struct search *s)
{
	const char *at = getenv("GPUTUNE_LIB_DIR");
	char folder[PATH_MAX];

	while (at && *at) {
		size_t n = strcspn(at, ":");

		if (n >= sizeof(folder)) {
			report_too_long(s);
		} else if (n) {
			memcpy(folder, at, n);
			folder[n] = '\0';
			if (look_in(s, folder, true))
				return true;
		}
		at += n + (at[n] == ':');
	}
	return false;
}

/* What glob() takes for that very text: a folder may be called "a[1]". False: no path is as long.
 */
static bool library_escape(const char *text, char out[2 * PATH_MAX])
{
	size_t n = 0;

	if (strlen(text) >= PATH_MAX)
		return false;
	for (; *text; text++) {
		if (strchr("*?[]\\", *text))
			out[n++] = '\\';
		out[n++] = *text;
	}
	out[n] = '\0';
	return true;
}

static bool look_wheels(struct search *s)
{
	static const char *const below[] = { "nvidia/cu1*/lib", "nvidia/*/lib" };
	const char *const roots[] = { getenv("VIRTUAL_ENV"), getenv("HOME"), "/usr/local", "/usr" };
	const char *const folders[] = { "lib/python3*/site-packages",
					".local/lib/python3*/site-packages",
					"lib/python3*/dist-packages" };
	char root[2 * PATH_MAX], pattern[2 * PATH_MAX + 64];

	for (size_t r = 0; r < sizeof(roots) / sizeof(roots[0]); r++) {
		if (!roots[r] || !*roots[r] || !library_escape(roots[r], root))
			continue;
		for (size_t f = 0; f < sizeof(folders) / sizeof(folders[0]); f++)
			for (size_t b = 0; b < sizeof(below) / sizeof(below[0]); b++) {
				int n = snprintf(pattern, sizeof(pattern), "%s/%s/%s", root,
						 folders[f], below[b]);

				if (n < (int)sizeof(pattern) && look_where(s, pattern))
					return true;
			}
	}
	return false;
}

static bool look_list(struct search *s, const char *const *patterns)
{
	for (; *patterns; patterns++)
		if (look_where(s, *patterns))
			return true;
	return false;
}

static bool look_loader(struct search *s)
{
	for (const char *const *name = s->sonames; *name; name++)
		if (library_open_file(s, *name, *name))
			return true;
	return false;
}

int cuda_library_open(const char *const *sonames, bool wheels, const struct vendor_symbol *symbols,
		      size_t n, void *table, struct cuda_library *out, struct err *e)
{
	struct search s = {
		.sonames = sonames, .symbols = symbols, .n = n, .table = table, .out = out
	};

	*out = (struct cuda_library){ 0 };
	if (look_own(&s) || look_loader(&s) || look_list(&s, toolkits) ||
	    ((wheels || geteuid() != 0) && look_wheels(&s)) || look_list(&s, sdk))
		return 0;
	if (*s.said)
		err_set(e, -ELIBACC, "cannot open %s: %s", sonames[0], s.said);
	else
		err_set(e, -ELIBACC, "%s%s not found on this machine", sonames[0],
			sonames[1] ? " (or an older one)" : "");
	err_hint(e, "GPUTUNE_LIB_DIR can list the folders that contain it");
	return -ELIBACC;
}

void cuda_library_close(struct cuda_library *l)
{
	vendor_close(l->handle);
	*l = (struct cuda_library){ 0 };
}
