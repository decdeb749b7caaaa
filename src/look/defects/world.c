/* SPDX-License-Identifier: Apache-2.0 */
/* All places of a machine or a root: the host, containers, stored images; and files of a place. */
#include "look/defects/world.h"

#include <string.h>

#include "base/text.h"

/* --- stored images ---------------------------------------------------------------------------- */

static void stored_open(struct seeing *w, const struct software_place *r, const char *path)
{
	struct place_own own = { .root = { NULL, -1, true } };
	/* What the last '*' of the row's path matched. */
	const char *end = path + strlen(path) - strlen(strrchr(r->path, '*') + 1),
		   *name = memrchr(path, '/', (size_t)(end - path)), *label;
	struct err e = { 0 };

	label = arena_printf(w->a, "%s %.*s", r->what, end - name > 12 ? 12 : (int)(end - name) - 1,
			     name + 1);
	own.opened = w->how->live ? rootfs_open(path, &own.root.fd, &e)
				  : rootfs_open_below(w->how->root->fd, path, &own.root.fd, &e);
	if (!own.opened)
		return;
	own.root.h = own.opened;
	w->seen->images++;
	root_take(w, world_place(w, label, arena_printf(w->a, "%s: ", label), &own));
}

static void stored_take(struct seeing *w)
{
	struct host *h = w->how->root->h;
	ARENA_AUTO scratch = { 0 };
	size_t left = 0, packed = 0;
	const char *one = NULL;

	PLACE_FOR_EACH (r, PLACE_STORE) {
		const char **paths = NULL;
		enum host_kind kind;
		size_t n = 0;

		(void)paths_of(&scratch, h, r->path, &paths, &n);
		for (size_t i = 0; i < n; i++) {
			if (host_kind(h, paths[i], &kind))
				continue;
			if (kind == HOST_FILE && !packed++)
				one = paths[i];
			if (kind != HOST_DIR)
				continue;
			if (w->how->deep && w->seen->containers + w->seen->images < WORLD_ROOTS)
				stored_open(w, r, paths[i]);
			else
				left++;
		}
	}
	if (left)
		world_left_out(w, "%zu stored layers and images%s", left,
			       w->how->deep ? "" : ": --deep reads them");
	if (packed)
		world_left_out(w, "%zu packed images, such as %s: unpack one and use --rootfs",
			       packed, one);
}

/* --- files of a place ------------------------------------------------------------------------- */

enum { FILE_MAX = 65536 };

/* Adds the text of all of these files: 0, or the last -errno where there was none. */
static int files_text(struct arena *a, struct host *h, const char *path, struct text *out)
{
	const char **paths = NULL;
	size_t n = 0;
	int code = paths_of(a, h, path, &paths, &n), one;
	char *text;

	for (size_t i = 0; i < n; i++) {
		one = host_read(h, paths[i], FILE_MAX, a, &text, NULL);
		if (one == 0 && out->len < FILE_MAX)
			text_printf(out, "%s\n", text);
		code = (i && !code) || one == -EFBIG || one == -EISDIR ? 0 : one;
	}
	return n || code ? code : -ENOENT;
}

static void file_fill(struct defect_world *dw, const struct defect_place *p, const char *path)
{
	const struct place_own *own = p->own;
	ARENA_AUTO scratch = { 0 };
	bool relative = str_starts(path, "site-packages/");
	json_t *value = json_false(), *files = json_object_get(p->holds, "files");
	TEXT_AUTO t = { 0 };
	int code = -ENOENT;

	(void)dw;
	if (!own->listed && (!relative || own->packages))
		code = files_text(
			&scratch, own->root.h,
			relative ? arena_printf(&scratch, "%s/%s", own->packages, path + 14) : path,
			&t);
	if (own->listed)
		value = json_null();
	else if (code == 0)
		value = json_string(t.s ? t.s : "");
	else if (code != -ENOENT && code != -ENOTDIR)
		value = json_null();
	if (!files) {
		files = json_object();
		json_object_set_new(p->holds, "files", files);
	}
	/* What is no UTF-8 is there, and nothing can be said of its text. */
	json_object_set_new(files, path, value ? value : json_string(""));
}

/* What a capture knows of software: the libraries of its facts. All else was not seen. */
static void captured_take(struct seeing *w, struct defect_place *host)
{
	json_t *lib;

	LIST_FOR_EACH (const struct library, l, &w->how->m->software.libraries) {
		if (!seen_ok(&l->path.f) || !wanted_name(w->wanted.libraries, path_name(l->path.v)))
			continue;
		lib = place_library(w, host, l->path.v, false);
		if (lib && seen_ok(&l->version.f))
			json_object_set_new(lib, "version", json_string(l->version.v));
	}
	if (!json_array_size(json_object_get(host->holds, "libraries")))
		json_object_set_new(host->holds, "libraries", json_null());
	if (!w->seen->environments)
		json_object_set_new(host->holds, "pip", json_null());
}

/* --- all of it -------------------------------------------------------------------------------- */

void world_take(struct arena *a, const struct world_look *how, struct defect_world *out,
		struct world_seen *seen)
{
	struct seeing *w = ARENA_NEW(a, struct seeing);
	struct place_own own = { .root = *how->root };
	struct defect_place *host, *all;

	*seen = (struct world_seen){ 0 };
	*w = (struct seeing){ .a = a, .how = how, .seen = seen, .codes = json_object() };
	wanted_take(how->rows, &w->wanted);
	own.listed = how->root->fd >= 0 && image_is(how->root->h);
	host = world_place(w, how->root->h == how->machine ? "host" : "root file system", "", &own);
	if (own.listed)
		image_take(w, host);
	else if (!how->n_envs)
		root_take(w, host);
	for (size_t i = 0; i < how->n_envs; i++)
		environment_try(w, host, how->envs[i]);
	if (how->still || own.listed)
		;
	else if (how->live || how->root->fd >= 0) {
		processes_take(w, host);
		stored_take(w);
	} else {
		processes_take(w, host);
		captured_take(w, host);
		world_left_out(w,
			       "containers, and other software that the capture does not contain");
	}
	all = arena_array(a, w->n, sizeof(*all));
	for (size_t i = 0; i < w->n; i++)
		all[i] = *w->places[i];
	for (size_t i = 0; i < w->n; i++)
		for (size_t k = 0; k < w->n && all[i].root; k++)
			if (w->places[k] == w->places[i]->root)
				all[i].root = &all[k];
	*out = (struct defect_world){ .a = a,
				      .machine = machine_part(w),
				      .places = all,
				      .n_places = w->n,
				      .fill = machine_fill,
				      .fill_file = file_fill,
				      .fill_library = library_fill,
				      .library_has = library_has,
				      .ctx = w };
}

void world_free(struct defect_world *dw)
{
	struct seeing *w = dw->ctx;

	for (size_t i = 0; i < dw->n_places; i++) {
		const struct place_own *own = dw->places[i].own;

		json_decref(dw->places[i].holds);
		json_decref(dw->places[i].where);
		if (!dw->places[i].root)
			host_close(own->opened);
	}
	json_decref(dw->machine);
	json_decref(w->codes);
	wanted_free(&w->wanted);
}
