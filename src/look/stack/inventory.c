/* SPDX-License-Identifier: Apache-2.0 */
/* The system's loader cache and the CUDA toolkits; and the GPU code of everything found. */
#include <ctype.h>
#include <jansson.h>
#include <string.h>

#include "look/stack/inventory.h"
#include "base/text.h"
#include "look/stack/elf.h"

size_t take_place(struct take *t, enum stack_place_kind kind, const char *path)
{
	struct inventory *v = t->out;

	for (size_t i = 0; i < v->n_places; i++)
		if (v->places[i].kind == kind && strcmp(v->places[i].path, path) == 0)
			return i;
	v->places = arena_grow(t->a, v->places, v->n_places, sizeof(*v->places));
	v->places[v->n_places] =
		(struct stack_place){ .kind = kind, .path = arena_strdup(t->a, path) };
	return v->n_places++;
}

static struct stack_item *stack_inventory_take_item(struct take *t, enum component c, size_t place,
						    const char *path)
{
	struct inventory *v = t->out;

	for (size_t i = 0; i < v->n_items; i++)
		if (v->items[i].c == c && strcmp(v->items[i].path, path) == 0)
			return NULL;
	v->items = arena_grow(t->a, v->items, v->n_items, sizeof(*v->items));
	v->items[v->n_items] = (struct stack_item){ .c = c,
						    .place = place,
						    .place_path = v->places[place].path,
						    .path = arena_strdup(t->a, path) };
	return &v->items[v->n_items++];
}

/* "libnccl.so.2": one number behind ".so.", or LLVM's "libLLVM-15.so.1". */
static bool plain_soname(const char *name)
{
	const char *so = strstr(name, ".so.");

	if (!so)
		return false;
	for (so += 4; *so; so++)
		if (!isdigit((unsigned char)*so))
			return false;
	return true;
}

static void stack_inventory_add_library(struct take *t, size_t place, const char *name,
					const char *path)
{
	enum component c = component_of_soname(name);
	struct stack_item *item;

	if (c == COMPONENTS ||
	    !(c == COMPONENT_LLVM ? strstr(name, ".so.") != NULL : plain_soname(name)))
		return;
	item = stack_inventory_take_item(t, c, place, path);
	if (item)
		item->soname = arena_strdup(t->a, name);
}

void take_folder(struct take *t, size_t place, const char *dir)
{
	char **names;
	size_t n;

	if (host_list(t->root->h, dir, t->a, &names, &n))
		return;
	for (size_t i = 0; i < n; i++)
		stack_inventory_add_library(t, place, names[i],
					    arena_printf(t->a, "%s/%s", dir, names[i]));
}

static int on_cached(void *ctx, const char *name, const char *path)
{
	struct take *t = ctx;

	/* A toolkit whose folder the loader knows is the toolkit's, not a second one. */
	if (!str_starts(path, "/usr/local/cuda"))
		stack_inventory_add_library(t, 0, name, path);
	return 0;
}

static void take_system(struct take *t)
{
	char *data;
	size_t len;
	int code = host_read(t->root->h, "/etc/ld.so.cache", LD_CACHE_MAX, t->a, &data, &len);

	take_place(t, PLACE_SYSTEM, "/");
	if (!code)
		code = ld_cache_each(data, len, on_cached, t);
	t->out->system_seen = code == 0;
	if (code == -EBADMSG)
		t->out->system_why = "/etc/ld.so.cache is not in glibc's format";
	else if (code)
		t->out->system_why = arena_printf(
			t->a, "/etc/ld.so.cache: %s",
			code == HOST_NOT_CAPTURED || t->root->h->id.captured ? "not captured"
									     : strerror(-code));
}

/* {"cuda": {"version": "13.0.1"}}; older ones have text: "CUDA Version 10.2.89". */
static const char *toolkit_version(struct take *t, const char *dir)
{
	const char *version = NULL, *said;
	char *text;
	json_t *j;

	if (host_read(t->root->h, arena_printf(t->a, "%s/version.json", dir), HOST_READ_MAX, t->a,
		      &text, NULL) == 0) {
		j = json_loads(text, 0, NULL);
		if (j && json_unpack(j, "{s:{s:s}}", "cuda", "version", &said) == 0)
			version = arena_strdup(t->a, said);
		json_decref(j);
	}
	/* "cuda-13.0": what the folder is called says the release. */
	if (!version && strstr(dir, "/cuda-"))
		version = strstr(dir, "/cuda-") + 6;
	return version && isdigit((unsigned char)*version) ? version : NULL;
}

static void take_toolkit(struct take *t, const char *dir)
{
	static const char *const libs[] = { "lib64", "lib", "targets/x86_64-linux/lib",
					    "targets/sbsa-linux/lib", "targets/aarch64-linux/lib" };
	size_t i = take_place(t, PLACE_TOOLKIT, dir), before = t->out->n_items;

	t->out->places[i].version = toolkit_version(t, dir);
	t->out->places[i].nvcc = host_exists(t->root->h, arena_printf(t->a, "%s/bin/nvcc", dir));
	/* These are links to each other: the first that has any is enough. */
	for (size_t k = 0; k < 5 && t->out->n_items == before; k++)
		take_folder(t, i, arena_printf(t->a, "%s/%s", dir, libs[k]));
}

/* /usr/local/cuda is a link to one of the others, as a rule. */
static void take_toolkits(struct take *t)
{
	char **names, target[HOST_PATH_MAX];
	size_t n;

	if (host_list(t->root->h, "/usr/local", t->a, &names, &n))
		return;
	for (size_t i = 0; i < n; i++) {
		const char *dir = arena_printf(t->a, "/usr/local/%s", names[i]);

		if (!str_starts(names[i], "cuda") ||
		    host_link(t->root->h, dir, target, sizeof(target)) == 0)
			continue;
		if (host_exists(t->root->h, arena_printf(t->a, "%s/bin", dir)) ||
		    host_exists(t->root->h, arena_printf(t->a, "%s/lib64", dir)))
			take_toolkit(t, dir);
	}
}

/* --- GPU code --- */

static void stack_inventory_merge(struct arena *a, struct scan *into, const struct scan *s)
{
	for (size_t i = 0; i < s->codes.n; i++)
		code_add(a, &into->codes, &s->codes.items[i]);
	into->entries += s->entries;
	into->containers += s->containers;
	into->size += s->size;
	if (s->error && !into->error)
		into->error = arena_printf(a, "%s: %s", s->path, s->error);
}

static void scan_one(struct take *t, struct stack_item *item, const char *path)
{
	struct input_file f;
	struct err e = { 0 };
	struct scan s;

	if (stack_open(t->root, path, &f, &e)) {
		item->code.error = item->code.error ? item->code.error : arena_strdup(t->a, e.text);
		return;
	}
	scan_input(t->a, &f.in, path, t->how->scan, &s);
	input_close(&f);
	stack_inventory_merge(t->a, &item->code, &s);
	item->scanned = true;
}

/* "dir/prefix*" below a folder. */
static void scan_pattern(struct take *t, struct stack_item *item, const char *base,
			 const char *pattern)
{
	const char *slash = strrchr(pattern, '/'), *name = slash ? slash + 1 : pattern;
	size_t n = strlen(name), count;
	const char *dir = arena_printf(t->a, "%s%s%.*s", base, slash ? "/" : "",
				       slash ? (int)(slash - pattern) : 0, pattern);
	char **names;

	if (name[n - 1] != '*') {
		if (host_exists(t->root->h, arena_printf(t->a, "%s/%s", dir, name)))
			scan_one(t, item, arena_printf(t->a, "%s/%s", dir, name));
		return;
	}
	if (host_list(t->root->h, dir, t->a, &names, &count))
		return;
	for (size_t i = 0; i < count; i++) {
		if (strncmp(names[i], name, n - 1) != 0 || !scan_name(names[i]))
			continue;
		scan_one(t, item, arena_printf(t->a, "%s/%s", dir, names[i]));
		/* Further names in a library's folder are links to the same file. */
		if (item->soname)
			return;
	}
}

static void take_code(struct take *t, struct stack_item *item)
{
	const struct component_row *row = &components[item->c];
	const char *base =
		item->soname ? path_folder(t->a, item->path) : t->out->places[item->place].packages;

	if (!row->code || !base)
		return;
	for (const char *const *p = row->code; *p; p++)
		if (!item->soname == (strchr(*p, '/') || !row->soname))
			scan_pattern(t, item, base, *p);
	code_sort(&item->code.codes);
}

/* Python environments: found in the usual places, read from their dist-info folders. */

enum { METADATA_MAX = 1 << 21, DISTS_MAX = 20000, NAME = 256 };

const struct dist *place_dist(const struct stack_place *p, const char *name)
{
	for (size_t i = 0; i < p->n_dists; i++)
		if (strcmp(p->dists[i].name, name) == 0)
			return &p->dists[i];
	return NULL;
}

int version_compare(const char *a, const char *b)
{
	while (*a || *b) {
		unsigned long x = 0, y = 0;

		while (isdigit((unsigned char)*a))
			x = x * 10 + (unsigned long)(*a++ - '0');
		while (isdigit((unsigned char)*b))
			y = y * 10 + (unsigned long)(*b++ - '0');
		if (x != y)
			return x < y ? -1 : 1;
		if (*a != '.')
			a = "";
		if (*b != '.')
			b = "";
		a += *a == '.';
		b += *b == '.';
	}
	return 0;
}

/* "Requires-Dist: nvidia-nccl-cu13==2.28.9; platform_system == ..." and "torch (==2.9.0)". */
static void add_pin(struct take *t, struct dist *d, const char *p, size_t n)
{
	const char *equals = memmem(p, n, "==", 2), *semicolon = memchr(p, ';', n);
	char name[NAME];
	size_t len = 0, v = 0;

	if (!equals || (semicolon && equals > semicolon) || (size_t)(equals - p) + 2 >= n ||
	    (semicolon && memmem(semicolon, n - (size_t)(semicolon - p), "extra ", 6)))
		return;
	while (len < n && (isalnum((unsigned char)p[len]) || strchr("-_.", p[len])))
		len++;
	equals += 2;
	while (isblank((unsigned char)*equals))
		equals++;
	while (equals + v < p + n &&
	       (isalnum((unsigned char)equals[v]) || equals[v] == '.' || equals[v] == '+'))
		v++;
	/* "==2.9.*" is a family, not a version. */
	if (!len || !v || len >= NAME || equals[v - 1] == '.')
		return;
	dist_normalise(arena_strndup(t->a, p, len), name, sizeof(name));
	ARENA_ADD(t->a, d->pins, d->n_pins) =
		(struct dist_pin){ arena_strdup(t->a, name), arena_strndup(t->a, equals, v) };
}

/* Headers up to the first empty line. */
static void read_metadata(struct take *t, const char *text, struct dist *d)
{
	char name[NAME];

	while (*text && *text != '\n') {
		size_t n = strcspn(text, "\n"), k = n;

		if (k && text[k - 1] == '\r')
			k--;
		if (k > 6 && strncmp(text, "Name: ", 6) == 0) {
			dist_normalise(arena_strndup(t->a, text + 6, k - 6), name, sizeof(name));
			d->name = arena_strdup(t->a, name);
		} else if (k > 9 && strncmp(text, "Version: ", 9) == 0) {
			d->version = arena_strndup(t->a, text + 9, k - 9);
		} else if (k > 15 && strncmp(text, "Requires-Dist: ", 15) == 0) {
			add_pin(t, d, text + 15, k - 15);
		}
		text += n + (text[n] == '\n');
	}
}

/* "triton-3.5.0.dist-info" where the metadata cannot be read. */
static void name_from_folder(struct take *t, const char *folder, struct dist *d)
{
	size_t n = strlen(folder) - strlen(".dist-info");
	const char *dash = memrchr(folder, '-', n);
	char name[NAME];

	if (!dash)
		return;
	dist_normalise(arena_strndup(t->a, folder, (size_t)(dash - folder)), name, sizeof(name));
	d->name = arena_strdup(t->a, name);
	d->version = arena_strndup(t->a, dash + 1, n - (size_t)(dash - folder) - 1);
}

static void add_dist(struct take *t, size_t place, const char *folder)
{
	struct stack_place *p = &t->out->places[place];
	struct dist d = { .info = arena_printf(t->a, "%s/%s", p->packages, folder) };
	struct stack_item *item;
	enum component c;
	char *text;

	name_from_folder(t, folder, &d);
	/* Of what is of no interest here the folder's name is enough. */
	if (!d.name || p->n_dists >= DISTS_MAX)
		return;
	c = component_of_dist(d.name);
	if (c != COMPONENTS && host_read(t->root->h, arena_printf(t->a, "%s/METADATA", d.info),
					 METADATA_MAX, t->a, &text, NULL) == 0)
		read_metadata(t, text, &d);
	ARENA_ADD(t->a, p->dists, p->n_dists) = d;
	/* Packages of libraries are seen by their libraries. */
	if (c == COMPONENTS || components[c].soname)
		return;
	item = stack_inventory_take_item(t, c, place, d.info);
	if (item) {
		item->version = d.version;
		item->version_from = "package metadata";
	}
}

/* "cuda: Optional[str] = '13.0'", or None. */
static const char *torch_cuda(struct take *t, const char *packages)
{
	const char *p, *end;
	char *text;

	if (host_read(t->root->h, arena_printf(t->a, "%s/torch/version.py", packages),
		      HOST_READ_MAX, t->a, &text, NULL))
		return NULL;
	p = *text == 'c' && str_starts(text, "cuda") ? text : strstr(text, "\ncuda");
	p = p ? strchr(p, '=') : NULL;
	if (!p)
		return NULL;
	p += strspn(p, "= ");
	end = *p == '\'' || *p == '"' ? strchr(p + 1, *p) : NULL;
	return end ? arena_strndup(t->a, p + 1, (size_t)(end - p) - 1) : "";
}

/* nvidia/nccl/lib, nvidia/cu13/lib, ... */
static void take_nvidia(struct take *t, size_t place, const char *packages)
{
	const char *base = arena_printf(t->a, "%s/nvidia", packages);
	char **names;
	size_t n;

	if (host_list(t->root->h, base, t->a, &names, &n))
		return;
	for (size_t i = 0; i < n; i++)
		take_folder(t, place, arena_printf(t->a, "%s/%s/lib", base, names[i]));
}

static bool take_packages(struct take *t, const char *env, const char *packages, const char *python)
{
	char **names;
	size_t n, place;

	if (host_list(t->root->h, packages, t->a, &names, &n))
		return false;
	place = take_place(t, PLACE_PYTHON, env);
	if (t->out->places[place].packages)
		return true;
	t->out->places[place].packages = arena_strdup(t->a, packages);
	t->out->places[place].version = python ? arena_strdup(t->a, python) : NULL;
	t->out->places[place].has_python =
		host_exists(t->root->h, arena_printf(t->a, "%s/bin/python", env));
	for (size_t i = 0; i < n; i++)
		if (str_ends(names[i], ".dist-info"))
			add_dist(t, place, names[i]);
	t->out->places[place].torch_cuda = torch_cuda(t, packages);
	take_nvidia(t, place, packages);
	return true;
}

/* ENV/lib/python3.12/site-packages (dist-packages is Debian's), or the folder itself. */
static bool take_env(struct take *t, const char *env)
{
	static const char *const libs[] = { "lib", "lib64" }, *const kinds[] = { "site-packages",
										 "dist-packages" };
	bool any = false;
	char **names;
	size_t n;

	for (size_t l = 0; l < 2 && !any; l++) {
		const char *lib = arena_printf(t->a, "%s/%s", env, libs[l]);

		if (host_list(t->root->h, lib, t->a, &names, &n))
			continue;
		for (size_t i = 0; i < n; i++)
			for (size_t k = 0; k < 2 && str_starts(names[i], "python3"); k++)
				any |= take_packages(
					t, env,
					arena_printf(t->a, "%s/%s/%s", lib, names[i], kinds[k]),
					names[i][7] == '.' ? names[i] + 6 : NULL);
	}
	if (any || host_list(t->root->h, env, t->a, &names, &n))
		return any;
	for (size_t i = 0; i < n; i++)
		if (str_ends(names[i], ".dist-info"))
			return take_packages(t, env, env, NULL);
	return false;
}

static void take_named_by(struct take *t, const char *variable)
{
	struct answer said;

	if (host_ask(t->root->h, "env", "", variable, &said) == 0 && said.kind == ANSWER_TEXT &&
	    *said.text == '/')
		take_env(t, said.text);
}

/* All Python environments of `how`, and those in the usual places. */
static int take_python(struct take *t, struct err *e)
{
	static const char *const usual[] = { "/usr", "/usr/local", "/opt/conda", "/opt/venv",
					     "/root/.venv" };

	for (size_t i = 0; i < t->how->n_envs; i++) {
		const char *env = t->how->envs[i];

		if (!take_env(t, env)) {
			err_set(e, -ENOENT, "%s is not a Python environment", env);
			err_hint(e, "expected a folder with lib/python3.X/site-packages, or that "
				    "folder itself");
			return -ENOENT;
		}
	}
	if (t->how->only_envs)
		return 0;
	take_named_by(t, "VIRTUAL_ENV");
	take_named_by(t, "CONDA_PREFIX");
	for (size_t i = 0; i < sizeof(usual) / sizeof(usual[0]); i++)
		take_env(t, usual[i]);
	return 0;
}

int inventory_take(struct arena *a, const struct stack_root *root,
		   const struct inventory_options *how, struct inventory *out, struct err *e)
{
	struct take t = { a, root, how, out };
	int code;

	*out = (struct inventory){ 0 };
	take_system(&t);
	take_toolkits(&t);
	code = take_python(&t, e);
	if (code)
		return code;
	for (size_t i = 0; i < out->n_items; i++) {
		take_version(&t, &out->items[i]);
		if (how->deep && out->items[i].soname)
			library_take_answer(&t, &out->items[i]);
		if (root->contents)
			take_code(&t, &out->items[i]);
	}
	return 0;
}
