/* SPDX-License-Identifier: Apache-2.0 */
/* From a word to the file of a library that a loader would take there. */
#include "look/stack/library_variant.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/text.h"
#include "look/stack/elf.h"
#include "look/stack/inventory.h"

#if defined(__aarch64__)
enum { OUR_MACHINE = ELF_AARCH64 };
#define OUR_NAME "aarch64"
#else
enum { OUR_MACHINE = ELF_X86_64 };
#define OUR_NAME "x86_64"
#endif

struct finding_variant {
	struct arena *a;
	struct host *h;
	enum component c;
	struct library_variant *out;
};

/* "libnccl.so.2" of "libnccl.so.": one number and nothing behind it. */
static bool is_soname(enum component c, const char *name)
{
	const char *prefix = components[c].soname;

	if (!str_starts(name, prefix) || !isdigit((unsigned char)name[strlen(prefix)]))
		return false;
	return strspn(name + strlen(prefix), "0123456789") == strlen(name) - strlen(prefix);
}

/* The highest number of that library in a folder; NULL. */
static const char *newest_in(struct finding_variant *f, const char *folder)
{
	const char *best = NULL;
	char **names;
	size_t n;

	if (host_list(f->h, folder, f->a, &names, &n))
		return NULL;
	for (size_t i = 0; i < n; i++)
		if (is_soname(f->c, names[i]) && (!best || strverscmp(names[i], best) > 0))
			best = names[i];
	return best;
}

static bool library_variant_take(struct finding_variant *f, const char *place, const char *folder)
{
	const char *name = newest_in(f, folder);

	if (!name)
		return false;
	f->out->place = place;
	f->out->folder = arena_strdup(f->a, folder);
	f->out->soname = name;
	return true;
}

static bool take_item_of(struct finding_variant *f, const char *place,
			 const struct stack_item *item)
{
	if (!strchr(item->path, '/') ||
	    !library_variant_take(f, place, path_folder(f->a, item->path)))
		return false;
	f->out->version = item->version;
	f->out->version_from = item->version_from;
	return true;
}

/* What an inventory knows of it, of one kind of place; of several toolkits the newest. */
static bool from_inventory(struct finding_variant *f, const struct inventory *inv,
			   enum stack_place_kind kind, const char *place)
{
	const struct stack_item *best = NULL;

	for (size_t i = 0; i < inv->n_items; i++) {
		const struct stack_item *it = &inv->items[i];

		if (it->c == f->c && it->soname && inv->places[it->place].kind == kind &&
		    (!best || strverscmp(it->path, best->path) > 0))
			best = it;
	}
	return best && take_item_of(f, place, best);
}

static int library_variant_look_system(struct finding_variant *f, struct err *e)
{
	const struct inventory_options none = { .only_envs = true };
	const struct stack_root root = { .h = f->h, .fd = -1 };
	struct inventory inv;
	struct answer said;
	int r;

	if (host_ask(f->h, "env", "", "LD_LIBRARY_PATH", &said) == 0 && said.kind == ANSWER_TEXT) {
		char *list = arena_strdup(f->a, said.text), *save = NULL;

		for (char *p = strtok_r(list, ":", &save); p; p = strtok_r(NULL, ":", &save))
			if (*p == '/' && library_variant_take(f, "the system (LD_LIBRARY_PATH)", p))
				return 0;
	}
	r = inventory_take(f->a, &root, &none, &inv, e);
	if (r)
		return r;
	if (from_inventory(f, &inv, PLACE_SYSTEM, "the system") ||
	    from_inventory(f, &inv, PLACE_TOOLKIT, "the system's CUDA toolkit"))
		return 0;
	err_set(e, -ENOENT, "the system has no %s", components[f->c].name);
	if (components[f->c].apt)
		err_hint(e, "\"gputune stack check --all\" names the package; or give a path or an "
			    "environment");
	return -ENOENT;
}

static int look_folder(struct finding_variant *f, const char *path, struct err *e)
{
	static const char *const below[] = { "",
					     "/lib64",
					     "/lib",
					     "/targets/x86_64-linux/lib",
					     "/targets/sbsa-linux/lib",
					     "/targets/aarch64-linux/lib" };
	const struct inventory_options how = { .envs = &path, .n_envs = 1, .only_envs = true };
	const struct stack_root root = { .h = f->h, .fd = -1 };
	struct inventory inv;
	struct err ignored = { 0 };

	for (size_t i = 0; i < sizeof(below) / sizeof(below[0]); i++)
		if (library_variant_take(f, arena_printf(f->a, "the folder %s", path),
					 arena_printf(f->a, "%s%s", path, below[i])))
			return 0;
	if (inventory_take(f->a, &root, &how, &inv, &ignored) == 0) {
		if (from_inventory(f, &inv, PLACE_PYTHON,
				   arena_printf(f->a, "the environment %s", path)))
			return 0;
		return err_set(e, -ENOENT, "the environment %s has no %s", path,
			       components[f->c].name);
	}
	return err_set(e, -ENOENT, "%s contains no %s* and is not a Python environment", path,
		       components[f->c].soname);
}

/* The loader's name in the same folder has to lead to it: that name is what is opened. */
static int library_variant_look_file(struct finding_variant *f, const char *path, struct err *e)
{
	const char *name = path_name(path), *folder = path_folder(f->a, path);
	char *own = realpath(path, NULL), *theirs = NULL;
	int r = 0;

	if (!str_starts(name, components[f->c].soname))
		r = err_set(e, -EINVAL, "%s is not %s: its name does not begin with %s", path,
			    components[f->c].name, components[f->c].soname);
	else if (!library_variant_take(f, arena_printf(f->a, "the file %s", path), folder))
		r = err_set(e, -EINVAL, "%s has no file that the loader finds: %sN", folder,
			    components[f->c].soname);
	if (r == 0) {
		theirs = realpath(arena_printf(f->a, "%s/%s", folder, f->out->soname), NULL);
		if (!own || !theirs || strcmp(own, theirs) != 0)
			r = err_set(e, -EINVAL,
				    "%s: in that folder the loader uses another file, %s", path,
				    f->out->soname);
	}
	free(own);
	free(theirs);
	return r;
}

/* What stands behind ".so." of the file's own name. */
static void version_of_file(struct finding_variant *f)
{
	const char *name = strrchr(f->out->file, '/'), *so = name ? strstr(name, ".so.") : NULL;

	if (f->out->version || !so || !strchr(so + 4, '.'))
		return;
	f->out->version = arena_strdup(f->a, so + 4);
	f->out->version_from = "file name";
}

/* Before it is loaded by anybody: a library, and of this machine's processor. */
static int check_file(struct finding_variant *f, struct err *e)
{
	const char *path = arena_printf(f->a, "%s/%s", f->out->folder, f->out->soname);
	char *real = realpath(path, NULL);
	struct input_file in;
	struct elf elf;
	int r;

	if (!real)
		return err_set(e, -ENOENT, "%s is a dangling link", path);
	f->out->file = arena_strdup(f->a, real);
	free(real);
	r = input_open(&in, f->out->file, e);
	if (r)
		return r;
	r = elf_open(&in.in, &elf, e);
	if (r)
		r = err_set(e, -EBADMSG, "%s is not a library that can be loaded here",
			    f->out->file);
	else if (elf.machine != OUR_MACHINE)
		r = err_set(e, -ENOEXEC, "%s is built for %s, this machine is " OUR_NAME,
			    f->out->file,
			    elf.machine == ELF_X86_64	 ? "x86_64"
			    : elf.machine == ELF_AARCH64 ? "aarch64"
							 : "another processor architecture");
	input_close(&in);
	version_of_file(f);
	return r;
}

int library_variant_find(struct arena *a, struct host *h, const char *word, enum component c,
			 struct library_variant *out, struct err *e)
{
	struct finding_variant f = { a, h, c, out };
	struct stat st;
	char *full;
	int r;

	*out = (struct library_variant){ .word = word };
	if (strcmp(word, "system") == 0) {
		r = library_variant_look_system(&f, e);
		return r ? r : check_file(&f, e);
	}
	/* Not behind all links: the folder of a link is what its loader's name stands in. */
	full = *word == '/' ? arena_strdup(a, word) : realpath(word, NULL);
	if (!full || stat(full, &st)) {
		if (full && *word != '/')
			free(full);
		return err_set(e, -ENOENT, "%s: no such file or folder", word);
	}
	if (*word != '/') {
		char *copy = arena_strdup(a, full);

		free(full);
		full = copy;
	}
	r = S_ISDIR(st.st_mode) ? look_folder(&f, full, e) : library_variant_look_file(&f, full, e);
	return r ? r : check_file(&f, e);
}
