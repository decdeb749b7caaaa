/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An image as it lies on disk in the OCI layout: oci-layout, index.json, and layers that are packed
 * tars, of which names and the package database are read in one pass each. Nothing is unpacked to
 * disk and nothing is run; the insides of libraries and files are not looked at.
 */
#include <string.h>

#include "base/clock.h"
#include "base/text.h"
#include "look/defects/rows.h"
#include "look/defects/world.h"
#include "look/stack/archive.h"

enum { LAYERS_MAX = 256, TAR_BLOCK = 512, NAME_MAX_ = 4096, GZIP_HEAD = 10, IMAGE_MS = 20000 };

struct layers {
	struct seeing *w;
	struct defect_place *p;
	struct host *h;
	long long until;
};

/* "sha256:ab12..." is /blobs/sha256/ab12...; NULL: it is none. */
static const char *blob_path(struct arena *a, const json_t *descriptor)
{
	const char *digest = defect_text(descriptor, "digest");

	if (!digest || !str_starts(digest, "sha256:") ||
	    strspn(digest + 7, "0123456789abcdef") != 64 || digest[71])
		return NULL;
	return arena_printf(a, "/blobs/sha256/%s", digest + 7);
}

static json_t *blob_json(struct arena *a, struct host *h, const char *path)
{
	char *text;
	size_t len;

	if (!path || host_read(h, path, HOST_READ_MAX, a, &text, &len))
		return NULL;
	return json_loadb(text, len, 0, NULL);
}

/* --- a layer ---------------------------------------------------------------------------------- */

static uint64_t octal(const unsigned char *p, size_t n)
{
	uint64_t v = 0;

	/* Above 8 GiB: the number itself. */
	if (p[0] & 0x80) {
		for (size_t i = n - 8; i < n; i++)
			v = v << 8 | p[i];
		return v;
	}
	for (size_t i = 0; i < n && p[i]; i++)
		if (p[i] >= '0' && p[i] <= '7')
			v = v * 8 + (uint64_t)(p[i] - '0');
	return v;
}

static struct defect_place *image_environment(struct layers *l, const char *packages,
					      const char *lib)
{
	struct defect_place *p = environment_there(l->w, l->p, packages);

	return p ? p
		 : environment(l->w, l->p,
			       arena_strndup(l->w->a, packages, (size_t)(lib - packages)),
			       packages);
}

/* "usr/lib/python3.12/site-packages/torch-2.9.0.dist-info/METADATA"; ".wh.torch-..." takes a
 * package of a lower layer away. */
static void layer_name(struct layers *l, struct arena *scratch, const char *name)
{
	const char *packages, *lib, *folder, *dist;
	char pip[256], version[128];
	struct defect_place *p;
	bool gone;

	while (*name == '.' && name[1] == '/')
		name += 2;
	if (wanted_name(l->w->wanted.libraries, path_name(name)))
		place_library(l->w, l->p, arena_printf(scratch, "/%s", name), false);
	packages = strstr(name, "-packages/");
	lib = strstr(name, "lib/python3");
	if (!packages || !lib || lib > packages)
		return;
	dist = packages + 10;
	gone = str_starts(dist, ".wh.");
	dist = arena_strndup(scratch, dist + 4 * gone, strcspn(dist + 4 * gone, "/"));
	if (!dist_of(dist, pip, sizeof(pip), version, sizeof(version)))
		return;
	folder = arena_printf(scratch, "/%.*s", (int)(packages + 9 - name), name);
	p = image_environment(l, folder, strstr(folder, "/lib/python3"));
	if (!p)
		return;
	if (!gone) {
		place_put(p, "pip", pip, json_string(version),
			  arena_printf(scratch, "%s/%s", folder, dist));
		l->w->seen->packages++;
	} else if (strcmp(version, defect_text(json_object_get(p->holds, "pip"), pip)
					   ? defect_text(json_object_get(p->holds, "pip"), pip)
					   : "") == 0) {
		json_object_del(json_object_get(p->holds, "pip"), pip);
	}
}

/* The path of a pax header: "30 path=usr/lib/...\n". */
static const char *pax_path(struct arena *a, const char *text)
{
	const char *at = strstr(text, " path=");

	return at ? arena_strndup(a, at + 6, strcspn(at + 6, "\n")) : NULL;
}

static const char *entry_name(struct arena *a, const unsigned char *h)
{
	const char *name = arena_strndup(a, (const char *)h, 100);

	if (memcmp(h + 257, "ustar", 5) == 0 && h[345])
		name = arena_printf(a, "%.155s/%s", (const char *)h + 345, name);
	return name;
}

/* The entries of a tar that can be read from its beginning on. */
static void layer_entries(struct layers *l, struct input *in)
{
	ARENA_AUTO scratch = { 0 };
	const char *longer = NULL;
	unsigned char h[TAR_BLOCK];
	uint64_t at = 0;

	while (input_read(in, at, h, sizeof(h)) == 0 && *h && clock_mono_ms() < l->until) {
		uint64_t size = octal(h + 124, 12);
		const char *name = longer ? longer : entry_name(&scratch, h);
		bool status = strcmp(name, "var/lib/dpkg/status") == 0;
		char type = (char)h[156], *text = NULL;

		longer = NULL;
		at += sizeof(h);
		if (size > in->size - at)
			break;
		if ((type == 'L' || type == 'x') ? size < NAME_MAX_
						 : status && size < WORLD_PACKAGE_BYTES)
			text = arena_alloc(&scratch, (size_t)size + 1);
		if (text && input_read(in, at, text, (size_t)size))
			break;
		if (type == 'L')
			longer = text;
		else if (type == 'x')
			longer = text ? pax_path(&scratch, text) : NULL;
		else if (status && text)
			packages_parse(l->w, l->p, text, "/var/lib/dpkg/status");
		else
			layer_name(l, &scratch, name);
		at += (size + TAR_BLOCK - 1) & ~(uint64_t)(TAR_BLOCK - 1);
		if (!longer)
			arena_free(&scratch);
	}
}

/* A layer is a tar, or one that is packed with gzip; its size is not known before. */
static bool layer_take(struct layers *l, const struct stack_root *root, const char *path)
{
	struct input_window window;
	struct input_inflate f;
	struct input_file file;
	unsigned char head[GZIP_HEAD];
	struct err e = { 0 };
	bool good = false;

	if (stack_open(root, path, &file, &e))
		return false;
	if (input_read(&file.in, 0, head, sizeof(head)) == 0) {
		if (head[0] != 0x1f || head[1] != 0x8b) {
			layer_entries(l, &file.in);
			good = head[0] != 0x28; /* zstd */
		} else if (!head[3] && file.in.size > GZIP_HEAD + 8 &&
			   input_window(&window, &file.in, GZIP_HEAD,
					file.in.size - GZIP_HEAD - 8) == 0 &&
			   input_inflate(&f, &window.in, UINT64_MAX / 2) == 0) {
			layer_entries(l, &f.in);
			input_inflate_close(&f);
			good = true;
		}
	}
	input_close(&file);
	return good;
}

/* --- the image -------------------------------------------------------------------------------- */

bool image_is(struct host *h)
{
	return host_exists(h, "/oci-layout") && host_exists(h, "/index.json");
}

void image_take(struct seeing *w, struct defect_place *p)
{
	const struct stack_root *root = root_of(p);
	ARENA_AUTO scratch = { 0 };
	struct layers l = { w, p, root->h, clock_mono_ms() + IMAGE_MS };
	json_t *index = blob_json(&scratch, root->h, "/index.json"), *manifest, *layers, *layer;
	const json_t *first = json_array_get(json_object_get(index, "manifests"), 0);
	const char *name = defect_text(json_object_get(first, "annotations"),
				       "org.opencontainers.image.ref.name");
	size_t i;

	manifest = blob_json(&scratch, root->h, blob_path(&scratch, first));
	layers = json_object_get(manifest, "layers");
	if (!json_is_array(layers))
		world_left_out(w, "the image, whose manifest cannot be read");
	if (name)
		json_object_set_new(p->holds, "image", json_string(name));
	json_array_foreach(layers, i, layer)
	{
		const char *path = blob_path(&scratch, layer);

		if (i >= LAYERS_MAX || !path || !layer_take(&l, root, path))
			world_left_out(w,
				       "layer %zu of the image, whose compression is not supported",
				       i + 1);
	}
	if (clock_mono_ms() >= l.until)
		world_left_out(w, "layers of the image not read within %d s", IMAGE_MS / 1000);
	world_left_out(w, "the contents of the image's libraries and files");
	w->seen->images++;
	json_decref(index);
	json_decref(manifest);
}
