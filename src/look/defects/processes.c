/* SPDX-License-Identifier: Apache-2.0 */
/* What processes have mapped and were started with, and the containers that they run in. */
#include <ctype.h>
#include <string.h>
#include <sys/stat.h>

#include "base/clock.h"
#include "base/text.h"
#include "look/defects/world.h"
#include "look/stack/input.h"

/* The environment of that root in which the path lies; the root itself otherwise. */
static struct defect_place *place_of_path(struct seeing *w, struct defect_place *root,
					  const char *path)
{
	for (size_t i = 0; i < w->n; i++) {
		const struct place_own *own = w->places[i]->own;

		if (w->places[i]->root == root && own->packages &&
		    path_is_below(path, own->packages))
			return w->places[i];
	}
	return root;
}

/* --- processes and containers ----------------------------------------------------------------- */

struct process {
	const char *pid, *dir; /* "/proc/42" */
	struct arena *scratch;
};

/* The place that was found for that mount namespace. */
static struct defect_place *place_by_id(struct seeing *w, const char *id)
{
	for (size_t i = 0; i < w->n_roots; i++)
		if (strcmp(w->roots[i].id, id) == 0)
			return w->roots[i].place;
	return NULL;
}

static void root_known(struct seeing *w, const char *id, struct defect_place *p)
{
	ARENA_ADD(w->a, w->roots, w->n_roots) = (struct world_root){ arena_strdup(w->a, id), p };
}

/* Services have mount namespaces of their own with the host's root in them: no container. */
static struct defect_place *same_root(struct seeing *w, int fd)
{
	struct stat st, other;

	if (fstat(fd, &st))
		return NULL;
	for (size_t i = 0; i < w->n; i++) {
		const struct place_own *own = w->places[i]->own;

		if (!w->places[i]->root &&
		    (own->root.fd < 0 ? stat("/", &other) : fstat(own->root.fd, &other)) == 0 &&
		    st.st_dev == other.st_dev && st.st_ino == other.st_ino)
			return w->places[i];
	}
	return NULL;
}

/* 64 hexadecimal digits of a line of cgroup, and who made it. */
static const char *container_id(const char *cgroup, const char **runtime)
{
	static const struct {
		const char *word, *runtime;
	} marks[] = { { "libpod", "podman" },
		      { "cri-containerd", "containerd" },
		      { "crio", "cri-o" },
		      { "kubepods", "containerd" },
		      { "docker", "docker" } };
	const char *p = cgroup;

	*runtime = "container";
	for (size_t i = 0; i < sizeof(marks) / sizeof(marks[0]); i++)
		if (strstr(cgroup, marks[i].word)) {
			*runtime = marks[i].runtime;
			break;
		}
	for (; *p; p += strcspn(p, "/-:\n"), p += *p != '\0')
		if (strspn(p, "0123456789abcdef") == 64)
			return p;
	return NULL;
}

/* The text at the end of keys with blanks between; NULL. */
static const char *text_below(struct arena *a, const json_t *j, const char *keys)
{
	char *copy = arena_strdup(a, keys), *save = NULL;

	for (char *k = strtok_r(copy, " ", &save); k; k = strtok_r(NULL, " ", &save))
		j = json_object_get(j, k);
	return json_is_string(j) ? arena_strdup(a, json_string_value(j)) : NULL;
}

/* Name and image as the runtime wrote them down. */
static void container_config(struct seeing *w, struct host *h, const char *id, const char **name,
			     const char **image)
{
	ARENA_AUTO scratch = { 0 };

	PLACE_FOR_EACH (r, PLACE_CONTAINER) {
		const char *star = strrchr(r->path, '*'), **paths = NULL;
		size_t n = 0, len;
		char *text;
		json_t *j;

		(void)paths_of(&scratch, h,
			       arena_printf(&scratch, "%.*s%.64s%s", (int)(star - r->path), r->path,
					    id, star + 1),
			       &paths, &n);
		for (size_t i = 0; i < n && !*image; i++) {
			if (host_read(h, paths[i], HOST_READ_MAX, &scratch, &text, &len))
				continue;
			j = json_loadb(text, len, 0, NULL);
			*name = text_below(w->a, j, r->label);
			*name = *name && **name == '/' ? *name + 1 : *name;
			*image = text_below(w->a, j, r->image);
			json_decref(j);
		}
	}
}

/* The root of a process that is not the host's. NULL: it cannot be looked into, or ended. */
static struct defect_place *container_open(struct seeing *w, const struct process *x,
					   const char *id)
{
	struct stack_root root = { NULL, -1, true };
	struct place_own own = { 0 };
	const char *name = NULL, *image = NULL, *runtime = "container", *hash = NULL, *label;
	const char *path = arena_printf(x->scratch, "%s/root", x->dir);
	struct defect_place *p;
	struct err e = { 0 };
	char *cgroup;

	if (w->seen->containers + w->seen->images >= WORLD_ROOTS) {
		world_left_out(w, "containers beyond %d", WORLD_ROOTS);
		return NULL;
	}
	root.h = w->how->live ? rootfs_open(path, &root.fd, &e)
			      : rootfs_open_below(w->how->root->fd, path, &root.fd, &e);
	if (!root.h)
		return NULL;
	p = same_root(w, root.fd);
	if (p) {
		host_close(root.h);
		root_known(w, id, p);
		return p;
	}
	own.opened = root.h;
	own.root = root;
	if (host_read(w->how->root->h, arena_printf(x->scratch, "%s/cgroup", x->dir), 65536,
		      x->scratch, &cgroup, NULL) == 0)
		hash = container_id(cgroup, &runtime);
	if (hash)
		container_config(w, w->how->root->h, arena_strndup(x->scratch, hash, 64), &name,
				 &image);
	label = name   ? arena_printf(w->a, "%s %s", runtime, name)
		: hash ? arena_printf(w->a, "%s %.12s", runtime, hash)
		       : arena_printf(w->a, "%s of process %s", runtime, x->pid);
	p = world_place(w, label, arena_printf(w->a, "%s: ", label), &own);
	if (image) {
		json_object_set_new(p->holds, "image", json_string(image));
		json_object_set_new(p->where, arena_printf(x->scratch, "image/%s", image),
				    json_string(runtime));
	}
	w->seen->containers++;
	root_known(w, id, p);
	root_take(w, p);
	return p;
}

/* A library that was replaced since the process began: what the process runs is the old one, which
 * the kernel still shows as a link by its addresses. */
static void removed_take(struct seeing *w, const struct process *x, struct defect_place *root,
			 const char *line, const char *path)
{
	const char *old =
		arena_printf(w->a, "%s/map_files/%.*s", x->dir, (int)strcspn(line, " "), line);
	struct input_file f;
	struct err e = { 0 };
	json_t *lib = place_library(w, place_of_path(w, root, path), path, true);

	if (lib)
		json_object_set_new(lib, "process", json_string(x->pid));
	if (lib && w->how->live && input_open(&f, old, &e) == 0) {
		input_close(&f);
		json_object_set_new(lib, "old", json_string(old));
	} else {
		world_left_out(w, "the removed %s%.200s, which a process still runs: restart it",
			       root->prefix, path);
	}
}

/* Libraries, and the environments of whatever lies in one. */
static void process_maps(struct seeing *w, const struct process *x, struct defect_place *root)
{
	char *text, *next;
	const char *last = "";

	if (host_read(w->how->root->h, arena_printf(x->scratch, "%s/maps", x->dir), 16 << 20,
		      x->scratch, &text, NULL))
		return;
	for (char *line = text; line && *line; line = next) {
		char *path, *packages;

		next = strchr(line, '\n');
		if (next)
			*next++ = '\0';
		path = strchr(line, '/');
		if (!path || strcmp(path, last) == 0)
			continue;
		last = path;
		packages = strstr(path, "-packages/");
		if (packages && strstr(path, "/lib/python3")) {
			const char *dir =
				arena_strndup(x->scratch, path, (size_t)(packages - path) + 9);
			const char *lib = strstr(dir, "/lib/python3");

			packages_of(w, root, arena_strndup(x->scratch, dir, (size_t)(lib - dir)),
				    dir);
		}
		if (str_ends(path, " (deleted)")) {
			path[strlen(path) - 10] = '\0';
			if (wanted_name(w->wanted.libraries, path_name(path)))
				removed_take(w, x, root, line, path);
		} else if (wanted_name(w->wanted.libraries, path_name(path))) {
			json_t *lib = place_library(w, place_of_path(w, root, path), path, false);

			if (lib)
				json_object_set_new(lib, "process", json_string(x->pid));
		} else if (!json_object_get(json_object_get(root->holds, "programs"),
					    path_name(path))) {
			place_program(w, root, path);
		}
	}
}

/* Command line and variables, of those alone that rows name. */
static void process_words(struct seeing *w, const struct process *x, struct defect_place *root)
{
	struct host *h = w->how->root->h;
	json_t *env = json_object(), *one;
	char *text, *line = NULL;
	size_t len;

	if (host_read(h, arena_printf(x->scratch, "%s/environ", x->dir), 1 << 20, x->scratch, &text,
		      &len) == 0)
		for (char *v = text; v < text + len; v += strlen(v) + 1) {
			char *equals = strchr(v, '=');

			if (!equals)
				continue;
			*equals = '\0';
			if (wanted_name(w->wanted.env, v)) {
				json_object_set_new(env, v, json_string(equals + 1));
				place_put(root, "env", v, json_string(equals + 1),
					  arena_printf(x->scratch, "%s/environ", x->dir));
			}
			*equals = '=';
			v = equals;
		}
	if (host_read(h, arena_printf(x->scratch, "%s/cmdline", x->dir), 65536, x->scratch, &line,
		      &len) == 0 &&
	    len && wanted_name(w->wanted.processes, path_name(line))) {
		for (size_t i = 0; i + 1 < len; i++)
			line[i] = line[i] ? line[i] : ' ';
		one = json_pack("{s:s, s:O, s:s}", "line", line, "env", env, "from",
				arena_printf(x->scratch, "%s/cmdline", x->dir));
		if (one)
			json_array_append_new(place_kind(root, "processes", true), one);
	}
	json_decref(env);
}

/* The name of its mount namespace; of a root folder: where its root lies. NULL: the host's. */
static const char *process_root(struct seeing *w, const struct process *x, const char *host)
{
	struct host *h = w->how->root->h;
	char link[HOST_PATH_MAX];
	enum host_kind kind;

	if (w->how->live) {
		if (host_link(h, arena_printf(x->scratch, "%s/ns/mnt", x->dir), link,
			      sizeof(link)) ||
		    strcmp(link, host) == 0)
			return NULL;
		return arena_strdup(x->scratch, link);
	}
	if (w->how->root->fd < 0 ||
	    host_kind(h, arena_printf(x->scratch, "%s/root", x->dir), &kind))
		return NULL;
	if (kind == HOST_LINK &&
	    host_link(h, arena_printf(x->scratch, "%s/root", x->dir), link, sizeof(link)) == 0)
		return strcmp(link, "/") == 0 ? NULL : arena_strdup(x->scratch, link);
	return arena_printf(x->scratch, "%s/root", x->dir);
}

void processes_take(struct seeing *w, struct defect_place *host)
{
	struct host *h = w->how->root->h;
	ARENA_AUTO names_arena = { 0 };
	char **names, ours[256] = "";
	long long until = clock_mono_ms() + WORLD_PROCESS_MS;
	size_t n, hidden = 0;

	if (host_list(h, "/proc", &names_arena, &names, &n))
		n = 0;
	if (host_link(h, "/proc/1/ns/mnt", ours, sizeof(ours)))
		host_link(h, "/proc/self/ns/mnt", ours, sizeof(ours));
	for (size_t i = 0; i < n; i++) {
		if (!isdigit((unsigned char)*names[i]))
			continue;
		struct arena scratch = { 0 };
		struct process x = { names[i], arena_printf(&scratch, "/proc/%s", names[i]),
				     &scratch };
		struct defect_place *root = host;
		const char *id;
		char link[16];
		int code;

		if (w->seen->processes >= WORLD_PROCESSES ||
		    (!w->how->deep && clock_mono_ms() > until)) {
			world_left_out(w, "processes after the first %zu: --deep reads all",
				       w->seen->processes);
			arena_free(&scratch);
			break;
		}
		w->seen->processes++;
		code = w->how->live ? host_link(h, arena_printf(&scratch, "%s/exe", x.dir), link,
						sizeof(link))
				    : 0;
		/* A thread of the kernel, or one that ended: it has no memory. */
		if (code == -ENOENT) {
			arena_free(&scratch);
			continue;
		}
		id = process_root(w, &x, ours);
		if (id)
			root = place_by_id(w, id);
		if (id && !root)
			root = container_open(w, &x, id);
		if (code == -EACCES)
			hidden++;
		else if (root) {
			process_maps(w, &x, root);
			process_words(w, &x, root);
		}
		arena_free(&scratch);
	}
	if (hidden)
		world_left_out(w,
			       h->id.euid
				       ? "%zu processes of other users: run as root to include them"
				       : "%zu processes that refuse to be inspected, even by root",
			       hidden);
}
