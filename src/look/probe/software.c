/* SPDX-License-Identifier: Apache-2.0 */
/* The distribution and the libraries that GPU programs load, by version. No file larger than a page
 * is read. */
#include <stdlib.h>
#include <string.h>

#include "base/path.h"
#include "base/text.h"
#include "look/probe/services.h"

/* Value of KEY= in an os-release style file, without quotes. */
static struct fact_str release_value(struct probe *p, const char *text, int r, const char *path,
				     const char *key)
{
	char *v = r ? NULL : text_value(p->a, text, key, '=');
	size_t n = v ? strlen(v) : 0;

	if (!v)
		return (struct fact_str){ .f = fact_unseen(r ? r : -ENOENT, "", path) };
	if (n >= 2 && (v[0] == '"' || v[0] == '\'') && v[n - 1] == v[0]) {
		v[n - 1] = '\0';
		v++;
	}
	return fact_str_of(v, "", path);
}

static void distribution(struct probe *p)
{
	static const char os[] = "/etc/os-release", dgx[] = "/etc/dgx-release";
	struct software *s = &p->m->software;
	char *text = NULL;
	int r = host_read(p->h, os, HOST_READ_MAX, p->a, &text, NULL);

	s->os_id = release_value(p, text, r, os, "ID");
	s->os_version = release_value(p, text, r, os, "VERSION_ID");
	s->os_name = release_value(p, text, r, os, "PRETTY_NAME");
	r = host_read(p->h, dgx, HOST_READ_MAX, p->a, &text, NULL);
	s->dgx_release = release_value(p, text, r, dgx, "DGX_SWBUILD_VERSION");
}

/* "{"cuda": {"name": "CUDA SDK", "version": "13.0.1"}, ...": the version of the first member is the
 * toolkit's. */
static struct fact_str toolkit(struct probe *p)
{
	static const char path[] = "/usr/local/cuda/version.json";
	struct fact_str out = { 0 };
	json_t *j;
	const char *version = NULL;
	char *text;
	int r = host_read(p->h, path, HOST_READ_MAX, p->a, &text, NULL);

	if (r) {
		out.f = fact_unseen(r, "", path);
		return out;
	}
	j = json_loads(text, 0, NULL);
	if (j && json_unpack(j, "{s:{s:s}}", "cuda", "version", &version) == 0)
		out = fact_str_of(arena_strdup(p->a, version), "", path);
	else
		out.f = fact_unseen(-EPROTO, "", path);
	json_decref(j);
	return out;
}

/* "libnccl.so.2.28.9" -> "2.28.9"; NULL when the name says no more than the soname. */
static const char *version_in(const char *file, const char *soname)
{
	const char *so = strstr(file, ".so.");

	return so && strcmp(file, soname) != 0 ? so + 4 : NULL;
}

static const char *library_dir(struct probe *p)
{
	return strcmp(p->h->id.machine, "aarch64") == 0 ? "/usr/lib/aarch64-linux-gnu/"
							: "/usr/lib/x86_64-linux-gnu/";
}

static void add_library(struct probe *p, const char *dir, const char *soname)
{
	char target[HOST_PATH_MAX];
	const char *path = arena_printf(p->a, "%s%s", dir, soname), *base, *version;
	struct library *l;
	int r = host_link(p->h, path, target, sizeof(target));

	enum seen seen = seen_from_errno(r);

	if (seen == SEEN_ABSENT || seen == SEEN_UNASKED)
		return;
	l = list_add(p->a, &p->m->software.libraries, sizeof(*l));
	l->name = soname;
	/* -EINVAL: there, but no link. Anything else is not absence, and must not read like it. */
	if (r && r != -EINVAL) {
		l->path = (struct fact_str){ .f = fact_unseen(r, "", path) };
		l->version = l->path;
		return;
	}
	l->path = fact_str_of(path, "", path);
	base = r ? soname : path_name(target);
	version = version_in(base, soname);
	/* A file that is no link says nothing of its version without being opened. */
	l->version = version ? fact_str_of(arena_strdup(p->a, version), "", path)
			     : (struct fact_str){ .f = fact_unseen(-EOPNOTSUPP, "", path) };
}

static void libraries(struct probe *p)
{
	static const char *const system[] = {
		"libcuda.so.1",	 "libnvidia-ml.so.1",  "libnccl.so.2",
		"libcudnn.so.9", "libibverbs.so.1",    "libmlx5.so.1",
		"libnuma.so.1",	 "libcusparseLt.so.0", "libnvshmem_host.so.3",
	};
	static const char *const cuda[] = {
		"libcudart.so.13", "libcudart.so.12",	"libcublas.so.13",
		"libcublas.so.12", "libcublasLt.so.13", "libcublasLt.so.12",
		"libcufile.so.0",  "libnvrtc.so.13",	"libnvrtc.so.12",
	};
	const char *cuda_dir = "/usr/local/cuda/lib64/";

	for (size_t i = 0; i < sizeof(system) / sizeof(system[0]); i++)
		add_library(p, library_dir(p), system[i]);
	if (!host_exists(p->h, "/usr/local/cuda"))
		return;
	for (size_t i = 0; i < sizeof(cuda) / sizeof(cuda[0]); i++)
		add_library(p, cuda_dir, cuda[i]);
}

/* The path when it exists. */
static struct fact_str present(struct probe *p, const char *path)
{
	enum host_kind kind;
	int r = host_kind(p->h, path, &kind);

	if (r)
		return (struct fact_str){ .f = fact_unseen(r, "", path) };
	return fact_str_of(path, "", path);
}

static struct fact_str container(struct probe *p)
{
	struct fact_str f = present(p, "/.dockerenv");

	if (seen_ok(&f.f)) {
		f.v = "docker";
		return f;
	}
	f = present(p, "/run/.containerenv");
	if (seen_ok(&f.f))
		f.v = "podman";
	return f;
}

static struct fact_str glibc(struct probe *p)
{
	struct fact_str f = probe_link_name(p, library_dir(p), "libc.so.6");

	/* Up to 2.33 libc.so.6 was a link to libc-2.33.so. Since then it is the file itself, which
	 * does not say its version without being opened. */
	if (seen_ok(&f.f) && str_starts(f.v, "libc-") && str_ends(f.v, ".so")) {
		f.v = arena_strndup(p->a, f.v + 5, strlen(f.v + 5) - 3);
		return f;
	}
	f.v = NULL;
	f.f = fact_unseen(-EOPNOTSUPP, f.f.dir, f.f.leaf);
	return f;
}

void probe_software(struct probe *p)
{
	struct software *s = &p->m->software;

	distribution(p);
	s->glibc = glibc(p);
	s->init = host_exists(p->h, "/run/systemd/system")
			  ? fact_str_of("systemd", "", "/run/systemd/system")
			  : fact_str_of("other", "", "/run/systemd/system");
	s->cuda_toolkit = toolkit(p);
	s->nvcc = present(p, "/usr/local/cuda/bin/nvcc");
	s->container = container(p);
	s->container_runtime = present(p, "/usr/bin/nvidia-container-runtime");
	libraries(p);
	probe_services(p);
}
