/* SPDX-License-Identifier: Apache-2.0 */
/* Which version a library is: by what it is called, by the package it came in, by its own words. */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "base/path.h"
#include "base/text.h"
#include "look/stack/elf.h"
#include "look/stack/inventory_inside.h"

enum { BLOCK = 1 << 20, KEEP = 128 };

/* "libnccl.so.2.28.9" says more than "libnccl.so.2". */
static const char *by_name(struct take *t, const struct stack_item *item)
{
	char target[HOST_PATH_MAX];
	const char *base, *so;

	if (host_link(t->root->h, item->path, target, sizeof(target)))
		return NULL;
	base = path_name(target);
	so = strstr(base, ".so.");
	return so && strchr(so + 4, '.') ? arena_strdup(t->a, so + 4) : NULL;
}

/* The pip package whose folder it lies in. */
static const char *by_dist(const struct stack_place *p, const struct stack_item *item,
			   const char **from)
{
	enum component c = item->c == COMPONENT_CUBLASLT ? COMPONENT_CUBLAS : item->c;

	for (size_t i = 0; i < p->n_dists; i++)
		if (component_of_dist(p->dists[i].name) == c) {
			*from = p->dists[i].name;
			return p->dists[i].version;
		}
	return NULL;
}

/* A toolkit that was put together from pip packages keeps their dist-info folders. */
static const char *by_toolkit_dist(struct take *t, const struct stack_place *p,
				   const struct stack_item *item)
{
	enum component c = item->c == COMPONENT_CUBLASLT ? COMPONENT_CUBLAS : item->c;
	char **names, name[128];
	size_t n;

	if (host_list(t->root->h, arena_printf(t->a, "%s/dist-info", p->path), t->a, &names, &n))
		return NULL;
	for (size_t i = 0; i < n; i++) {
		const char *dash = strrchr(names[i], '-');

		if (dash && strcmp(dash, "-info") == 0)
			dash = memrchr(names[i], '-', (size_t)(dash - names[i]));
		if (!dash)
			continue;
		dist_normalise(arena_strndup(t->a, names[i], (size_t)(dash - names[i])), name,
			       sizeof(name));
		if (component_of_dist(name) == c && str_ends(dash, ".dist-info"))
			return arena_strndup(t->a, dash + 1, strlen(dash + 1) - 10);
	}
	return NULL;
}

/* "NCCL version 2.28.9+cuda13.0" stands in its read-only data. */
struct words {
	struct input *in;
	const char *before;
	char found[64];
	char *buf; /* BLOCK + KEEP bytes */
};

static void look_for(struct words *w, const char *p, size_t n)
{
	size_t len = strlen(w->before);

	for (const char *at = p; (at = memmem(at, n - (size_t)(at - p), w->before, len));) {
		size_t k = 0, left;

		at += len;
		left = n - (size_t)(at - p);
		while (k < left && k < sizeof(w->found) - 1 &&
		       (isdigit((unsigned char)at[k]) || at[k] == '.'))
			k++;
		if (k > 2 && isdigit((unsigned char)*at)) {
			memcpy(w->found, at, k);
			w->found[k] = '\0';
			return;
		}
	}
}

static int on_rodata(void *ctx, const struct elf_section *s)
{
	struct words *w = ctx;
	size_t kept = 0;
	int code = 0;

	if (strcmp(s->name, ".rodata") != 0)
		return 0;
	for (uint64_t at = 0; at < s->size && !code && !*w->found; at += BLOCK) {
		size_t n = s->size - at < BLOCK ? (size_t)(s->size - at) : BLOCK;

		code = input_read(w->in, s->at + at, w->buf + kept, n);
		if (code)
			break;
		look_for(w, w->buf, kept + n);
		n += kept;
		kept = n < KEEP ? n : KEEP;
		memmove(w->buf, w->buf + n - kept, kept);
	}
	return code;
}

static const char *by_text(struct take *t, const struct stack_item *item)
{
	struct words w = { .before = "NCCL version " };
	struct input_file f;
	struct err e = { 0 };
	struct elf elf;

	if (item->c != COMPONENT_NCCL || stack_open(t->root, item->path, &f, &e))
		return NULL;
	w.in = &f.in;
	w.buf = malloc(BLOCK + KEEP);
	if (w.buf && elf_open(&f.in, &elf, &e) == 0)
		elf_each(&f.in, &elf, on_rodata, &w, &e);
	free(w.buf);
	input_close(&f);
	return *w.found ? arena_strdup(t->a, w.found) : NULL;
}

static void set(struct stack_item *item, const char *version, const char *from)
{
	if (!version || item->version)
		return;
	item->version = version;
	item->version_from = from;
}

/* "libLLVM-15.so.1" and "libLLVM.so.20.1" */
static const char *llvm_version(struct take *t, const char *soname)
{
	const char *p = soname + strcspn(soname, "-0123456789");
	size_t n = strspn(p += *p == '-', "0123456789.");

	while (n && p[n - 1] == '.')
		n--;
	return n ? arena_strndup(t->a, p, n) : NULL;
}

void take_version(struct take *t, struct stack_item *item)
{
	const struct stack_place *p = &t->out->places[item->place];
	const char *from = NULL, *version;

	if (!item->soname)
		return;
	version = p->kind == PLACE_PYTHON ? by_dist(p, item, &from) : NULL;
	if (version)
		set(item, version, arena_printf(t->a, "the package %s", from));
	set(item, by_name(t, item), "its file name");
	if (!item->version && p->kind == PLACE_TOOLKIT)
		set(item, by_toolkit_dist(t, p, item), "the package it came in");
	if (!item->version)
		set(item, by_text(t, item), "its own text");
	if (item->c == COMPONENT_LLVM)
		set(item, llvm_version(t, item->soname), "its name");
}
