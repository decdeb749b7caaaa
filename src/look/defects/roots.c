/* SPDX-License-Identifier: Apache-2.0 */
/* What lies in a root file system: packages, environments, libraries, toolkits, variables. */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/text.h"
#include "look/defects/world.h"
#include "look/stack/component.h"
#include "look/stack/elf.h"

/* --- packages --------------------------------------------------------------------------------- */

static const char *field(const char *line, const char *name)
{
	size_t n = strlen(name);

	return strncmp(line, name, n) == 0 && line[n] == ':' ? line + n + 1 + (line[n + 1] == ' ')
							     : NULL;
}

/* Stanzas of dpkg's status: what is installed. text is taken apart. */
void packages_parse(struct seeing *w, struct defect_place *p, char *text, const char *from)
{
	const char *name = NULL, *version = NULL, *v;
	bool installed = true;
	char *next;

	for (char *line = text; line; line = next) {
		next = strchr(line, '\n');
		if (next)
			*next++ = '\0';
		if ((v = field(line, "Package")))
			name = v;
		else if ((v = field(line, "Version")))
			version = v;
		else if ((v = field(line, "Status")))
			installed = strstr(v, " installed") != NULL;
		if (*line && next)
			continue;
		if (name && version && installed) {
			place_put(p, "packages", name, json_string(version), from);
			w->seen->packages++;
		}
		name = version = NULL;
		installed = true;
	}
}

static void packages_file(struct seeing *w, struct defect_place *p, const char *path)
{
	ARENA_AUTO scratch = { 0 };
	char *text;
	int code = host_read(root_of(p)->h, path, WORLD_PACKAGE_BYTES, &scratch, &text, NULL);

	if (!code)
		packages_parse(w, p, text, path);
	else if (code != -ENOENT && code != -ENOTDIR && code != HOST_NOT_CAPTURED)
		world_left_out(w, "%s%s: %s", p->prefix, path, strerror(-code));
}

static void packages_take(struct seeing *w, struct defect_place *p)
{
	static const char *const rpm[] = { "/var/lib/rpm/rpmdb.sqlite",
					   "/usr/lib/sysimage/rpm/rpmdb.sqlite",
					   "/var/lib/rpm/Packages",
					   "/usr/lib/sysimage/rpm/Packages.db",
					   "/var/lib/rpm/Packages.db" };
	struct host *h = root_of(p)->h;
	ARENA_AUTO scratch = { 0 };
	char **names;
	size_t n;

	place_kind(p, "packages", false);
	packages_file(w, p, "/var/lib/dpkg/status");
	if (host_list(h, "/var/lib/dpkg/status.d", &scratch, &names, &n) == 0)
		for (size_t i = 0; i < n && i < 1000; i++)
			if (!str_ends(names[i], ".md5sums"))
				packages_file(w, p,
					      arena_printf(&scratch, "/var/lib/dpkg/status.d/%s",
							   names[i]));
	for (size_t i = 0; i < sizeof(rpm) / sizeof(rpm[0]); i++)
		if (host_exists(h, rpm[i])) {
			if (i > 1)
				world_left_out(w, "%s%s: databases of rpm other than SQLite",
					       p->prefix, rpm[i]);
			if (i > 1 || !rpm_take(w, p, rpm[i]))
				json_object_set_new(p->holds, "rpms", json_null());
			break;
		}
	if (!json_object_size(json_object_get(p->holds, "packages")) && !w->how->root->contents)
		json_object_set_new(p->holds, "packages", json_null());
}

/* --- Python environments ---------------------------------------------------------------------- */

static void library_folder(struct seeing *w, struct defect_place *p, const char *dir)
{
	ARENA_AUTO scratch = { 0 };
	char **names;
	size_t n;

	if (host_list(root_of(p)->h, dir, &scratch, &names, &n))
		n = 0;
	for (size_t i = 0; i < n; i++)
		if (wanted_name(w->wanted.libraries, names[i]))
			place_library(w, p, arena_printf(&scratch, "%s/%s", dir, names[i]), false);
		else if (wanted_name(w->wanted.programs, names[i]))
			place_program(w, p, arena_printf(&scratch, "%s/%s", dir, names[i]));
}

/* "torch-2.9.0+cu128.dist-info", "foo-1.0-py3.12.egg-info" */
bool dist_of(const char *folder, char *name, size_t cap, char *version, size_t vcap)
{
	bool egg = str_ends(folder, ".egg-info");
	size_t n = strlen(folder), end;
	const char *dash;
	char raw[256];

	if ((!egg && !str_ends(folder, ".dist-info")) || n >= sizeof(raw))
		return false;
	end = n - strlen(egg ? ".egg-info" : ".dist-info");
	dash = egg ? memchr(folder, '-', end) : memrchr(folder, '-', end);
	if (!dash)
		return false;
	snprintf(raw, sizeof(raw), "%.*s", (int)(dash - folder), folder);
	dist_normalise(raw, name, cap);
	n = end - (size_t)(dash + 1 - folder);
	if (egg && memchr(dash + 1, '-', n))
		n = strcspn(dash + 1, "-");
	snprintf(version, vcap, "%.*s", (int)n, dash + 1);
	return true;
}

/* "Tag: cp312-cp312-manylinux_2_28_aarch64" */
static void dist_tag(struct defect_place *p, struct host *h, const char *info, const char *name)
{
	ARENA_AUTO scratch = { 0 };
	char *text, *at;

	if (host_read(h, arena_printf(&scratch, "%s/WHEEL", info), 65536, &scratch, &text, NULL) ==
		    0 &&
	    (at = strstr(text, "\nTag: "))) {
		at[6 + strcspn(at + 6, "\r\n")] = '\0';
		place_put(p, "tags", name, json_string(at + 6), NULL);
	}
}

struct defect_place *environment_there(struct seeing *w, const struct defect_place *root,
				       const char *packages)
{
	for (size_t i = 0; i < w->n; i++) {
		const struct place_own *o = w->places[i]->own;

		if (w->places[i]->root == root && o->packages && strcmp(o->packages, packages) == 0)
			return w->places[i];
	}
	return NULL;
}

struct defect_place *environment(struct seeing *w, struct defect_place *root, const char *prefix,
				 const char *packages)
{
	struct place_own own = *(const struct place_own *)root->own;
	struct defect_place *p;

	if (environment_there(w, root, packages))
		return NULL;
	if (w->seen->environments >= WORLD_ENVIRONMENTS) {
		world_left_out(w, "Python environments beyond %d", WORLD_ENVIRONMENTS);
		return NULL;
	}
	own.packages = arena_strdup(w->a, packages);
	p = world_place(w, arena_printf(w->a, "%s%s", root->prefix, prefix), root->prefix, &own);
	p->root = root;
	w->seen->environments++;
	return p;
}

static bool tag_matters(const char *name)
{
	return strstr(name, "nvidia") || strstr(name, "nccl") || strstr(name, "kernel") ||
	       strcmp(name, "torch") == 0 || strcmp(name, "triton") == 0;
}

/* What is installed without a package manager. */
static void natives_take(struct seeing *w, struct defect_place *p, unsigned kind, const char *below)
{
	ARENA_AUTO scratch = { 0 };

	PLACE_FOR_EACH (r, kind) {
		const char **paths = NULL;
		size_t n = 0;

		(void)paths_of(&scratch, root_of(p)->h,
			       arena_printf(&scratch, "%s%s", below, r->path), &paths, &n);
		for (size_t i = 0; i < n; i++)
			place_native(w, p, r, paths[i]);
	}
}

/* Those of dir, in which these names are. */
static void library_folders(struct seeing *w, struct defect_place *p, const char *dir,
			    char *const *names, size_t n_names)
{
	ARENA_AUTO scratch = { 0 };

	PLACE_FOR_EACH (f, PLACE_LIBRARIES) {
		size_t top = strcspn(f->path, "/"), n = 0, i = 0;
		const char **paths = NULL;

		while (i < n_names && (strncmp(names[i], f->path, top) != 0 || names[i][top]))
			i++;
		if (i < n_names)
			(void)paths_of(&scratch, root_of(p)->h,
				       arena_printf(&scratch, "%s/%s", dir, f->path), &paths, &n);
		for (i = 0; i < n; i++)
			library_folder(w, p, paths[i]);
	}
}

/* {"url": "file:///workspace/vllm", "dir_info": {"editable": true}}: its libraries are in that. */
static void editable_take(struct seeing *w, struct defect_place *p, const char *info)
{
	ARENA_AUTO scratch = { 0 };
	const char *url;
	int editable;
	char *text, **names;
	size_t len, n;
	json_t *j;

	if (host_read(root_of(p)->h, arena_printf(&scratch, "%s/direct_url.json", info), 65536,
		      &scratch, &text, &len))
		return;
	j = json_loadb(text, len, 0, NULL);
	if (json_unpack(j, "{s:s, s:{s:b}}", "url", &url, "dir_info", "editable", &editable) == 0 &&
	    editable && str_starts(url, "file:///") &&
	    host_list(root_of(p)->h, url + 7, &scratch, &names, &n) == 0)
		library_folders(w, p, url + 7, names, n);
	json_decref(j);
}

/* Every dist-info of a folder of packages. */
void packages_of(struct seeing *w, struct defect_place *root, const char *prefix,
		 const char *packages)
{
	struct host *h = root_of(root)->h;
	ARENA_AUTO scratch = { 0 };
	struct defect_place *p = NULL;
	bool editable = false;
	char **names;
	size_t n;

	if (host_list(h, packages, &scratch, &names, &n))
		n = 0;
	for (size_t i = 0; i < n && !editable; i++)
		editable = str_ends(names[i], ".pth") && !str_starts(names[i], "distutils-") &&
			   strcmp(names[i], "_virtualenv.pth") != 0;
	for (size_t i = 0; i < n; i++) {
		char name[256], version[128];
		const char *info;

		if (!dist_of(names[i], name, sizeof(name), version, sizeof(version)))
			continue;
		if (!p && !(p = environment(w, root, prefix, packages)))
			break;
		info = arena_printf(&scratch, "%s/%s", packages, names[i]);
		place_put(p, "pip", name, json_string(version), info);
		if (tag_matters(name))
			dist_tag(p, h, info, name);
		if (editable)
			editable_take(w, p, info);
		w->seen->packages++;
	}
	if (p) {
		library_folders(w, p, packages, names, n);
		natives_take(w, p, PLACE_PREFIX, arena_printf(&scratch, "%s/", prefix));
	}
}

/* PREFIX/lib/python3.12/site-packages */
void environment_try(struct seeing *w, struct defect_place *root, const char *prefix)
{
	static const char *const kinds[] = { "site-packages", "dist-packages" };
	struct host *h = root_of(root)->h;
	ARENA_AUTO scratch = { 0 };
	const char *lib = arena_printf(&scratch, "%s/lib", prefix);
	char **names;
	size_t n;

	if (host_list(h, lib, &scratch, &names, &n) == 0)
		for (size_t i = 0; i < n; i++)
			for (size_t k = 0; k < 2 && str_starts(names[i], "python3"); k++)
				packages_of(w, root, prefix,
					    arena_printf(&scratch, "%s/%s/%s", lib, names[i],
							 kinds[k]));
}

static bool search_over(struct seeing *w, long long until)
{
	if (w->how->deep || clock_mono_ms() <= until)
		return false;
	world_left_out(w, "Python environments not found within %d ms: --deep finds all",
		       WORLD_SEARCH_MS);
	return true;
}

/* below: what in each may be one as well. */
static void environments_at(struct seeing *w, struct defect_place *root, const char *path,
			    const char *below, long long until)
{
	ARENA_AUTO scratch = { 0 };
	const char **paths = NULL;
	size_t n = 0;

	if (search_over(w, until))
		return;
	(void)paths_of(&scratch, root_of(root)->h, path, &paths, &n);
	for (size_t i = 0; i < n && !search_over(w, until); i++) {
		char *each = arena_strdup(&scratch, below), *save = NULL;

		environment_try(w, root, paths[i]);
		for (char *b = strtok_r(each, " ", &save); b; b = strtok_r(NULL, " ", &save))
			environments_at(w, root, arena_printf(&scratch, "%s/%s", paths[i], b), "",
					until);
	}
}

static void environments_take(struct seeing *w, struct defect_place *root)
{
	long long began = clock_mono_ms();

	PLACE_FOR_EACH (r, PLACE_ENVIRONMENT)
		environments_at(w, root, r->path, r->below ? r->below : "",
				began + WORLD_SEARCH_MS - w->search_ms);
	w->search_ms += clock_mono_ms() - began;
}

/* --- libraries and toolkits of a root --------------------------------------------------------- */

struct cached {
	struct seeing *w;
	struct defect_place *p;
};

static int on_cached(void *ctx, const char *name, const char *path)
{
	struct cached *c = ctx;

	if (wanted_name(c->w->wanted.libraries, name))
		place_library(c->w, c->p, path, false);
	return 0;
}

static void libraries_take(struct seeing *w, struct defect_place *p)
{
	static const char *const dirs[] = { "/usr/lib/x86_64-linux-gnu",
					    "/usr/lib/aarch64-linux-gnu", "/usr/lib64",
					    "/usr/local/lib", "/opt/nccl/lib" };
	struct host *h = root_of(p)->h;
	ARENA_AUTO scratch = { 0 };
	struct cached c = { w, p };
	char *data;
	size_t len;

	place_kind(p, "libraries", true);
	if (host_read(h, "/etc/ld.so.cache", LD_CACHE_MAX, &scratch, &data, &len) ||
	    ld_cache_each(data, len, on_cached, &c))
		for (size_t i = 0; i < sizeof(dirs) / sizeof(dirs[0]); i++)
			library_folder(w, p, dirs[i]);
}

/* {"cuda": {"version": "13.0.1"}} of every /usr/local/cuda-* */
static void toolkits_take(struct seeing *w, struct defect_place *p)
{
	struct host *h = root_of(p)->h;
	ARENA_AUTO scratch = { 0 };
	char **names, *text, target[HOST_PATH_MAX];
	size_t n, len;

	if (host_list(h, "/usr/local", &scratch, &names, &n))
		n = 0;
	for (size_t i = 0; i < n; i++) {
		const char *dir = arena_printf(&scratch, "/usr/local/%s", names[i]),
			   *from = arena_printf(&scratch, "%s/version.json", dir), *version;
		json_t *j;

		if (!str_starts(names[i], "cuda") ||
		    host_link(h, dir, target, sizeof(target)) == 0 ||
		    host_read(h, from, HOST_READ_MAX, &scratch, &text, &len))
			continue;
		j = json_loadb(text, len, 0, NULL);
		if (j && json_unpack(j, "{s:{s:s}}", "cuda", "version", &version) == 0) {
			json_array_append_new(place_kind(p, "toolkits", true),
					      json_string(version));
			json_object_set_new(p->where,
					    arena_printf(&scratch, "toolkits/%.40s", version),
					    json_string(from));
			place_put(p, "programs", "nvcc", json_string(version), from);
			place_program(w, p, arena_printf(&scratch, "%s/bin/ptxas", dir));
		}
		json_decref(j);
	}
}

/* --- variables -------------------------------------------------------------------------------- */

/* NAME=VALUE lines; export and quotes are a shell's. */
static void env_lines(struct seeing *w, struct defect_place *p, char *text, const char *from)
{
	char *save = NULL;

	for (char *line = strtok_r(text, "\n", &save); line; line = strtok_r(NULL, "\n", &save)) {
		char *equals, *value;
		size_t n;

		line += strspn(line, " \t");
		if (str_starts(line, "export "))
			line += 7;
		equals = strchr(line, '=');
		if (*line == '#' || !equals)
			continue;
		*equals = '\0';
		value = equals + 1;
		n = strlen(value);
		while (n && isspace((unsigned char)value[n - 1]))
			value[--n] = '\0';
		if (n > 1 && (*value == '"' || *value == '\'') && value[n - 1] == *value) {
			value[n - 1] = '\0';
			value++;
		}
		if (wanted_name(w->wanted.env, line) &&
		    !json_object_get(json_object_get(p->holds, "env"), line))
			place_put(p, "env", line, json_string(value), from);
	}
}

static void env_files(struct seeing *w, struct defect_place *p)
{
	static const char *const files[] = { "/etc/nccl.conf", "/root/.nccl.conf",
					     "/etc/environment" };
	ARENA_AUTO scratch = { 0 };
	char *text;

	for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++)
		if (host_read(root_of(p)->h, files[i], 65536, &scratch, &text, NULL) == 0)
			env_lines(w, p, text, files[i]);
}

void root_take(struct seeing *w, struct defect_place *p)
{
	packages_take(w, p);
	libraries_take(w, p);
	natives_take(w, p, PLACE_SOFTWARE, "");
	toolkits_take(w, p);
	if (!w->how->n_envs)
		environments_take(w, p);
	env_files(w, p);
}
