/* SPDX-License-Identifier: Apache-2.0 */
/* A wheelhouse: what is in it, what is wrong with it, how two differ. */
#include <string.h>

#include "look/stack/page_stack.h"

static const char *target(struct arena *a, const struct wheelhouse *h)
{
	return arena_printf(a, "%s%s%s%s%s", h->arch, h->python ? ", Python " : "",
			    h->python ? h->python : "", *h->gpus ? ", " : "", h->gpus);
}

static void wheels(struct doc *d, const struct wheelhouse *h)
{
	static const struct column columns[] = { { .title = "Package" },
						 { .title = "Version" },
						 { .title = "Python" },
						 { .title = "Platform" },
						 { .title = "MB", .right = true },
						 { .title = "GPU code", .wrap = true },
						 { .title = "SHA-256" },
						 { .title = "Added" } };
	struct node *t = doc_table(d, NULL, columns, 8);

	for (size_t i = 0; i < h->n; i++) {
		const struct house_wheel *w = &h->wheels[i];
		struct cell *c = node_row(d, t);

		c[0] = cell_as(STYLE_STRONG, w->name);
		c[1] = cell(w->version);
		c[2] = cell_printf(d, STYLE_PLAIN, "%s-%s", w->python, w->abi);
		c[3] = cell(w->platform);
		c[4] = cell_printf(d, STYLE_PLAIN, "%.1f", (double)w->size / 1e6);
		c[5] = cell(w->gpu_code);
		c[6] = cell_printf(d, STYLE_MUTED, "%.12s", w->sha256);
		c[7] = cell(w->added);
	}
	node_drop_empty(t);
}

struct doc *page_wheelhouse(struct arena *a, const struct wheelhouse *h,
			    const struct house_verdict *v)
{
	struct doc *d = doc_new(a);
	struct node *b;

	doc_heading(d, 1, "Wheelhouse");
	doc_text(d, "%s: %zu wheels for %s%s.", h->dir, h->n, target(a, h),
		 h->is_signed ? "; signed" : "; not signed");
	if (v) {
		doc_text(d, "%zu of %zu are what the manifest says%s%s.", v->checked, h->n,
			 v->signer ? "; the manifest is signed by " : "",
			 v->signer ? v->signer : "");
		b = doc_bullets(d);
		for (size_t i = 0; i < v->n; i++)
			node_bullet(d, b,
				    cell_printf(d, STYLE_BAD, "%s: %s", v->items[i].file,
						v->items[i].what));
	}
	wheels(d, h);
	return d;
}

static const struct house_wheel *same_file(const struct wheelhouse *h, const char *file)
{
	for (size_t i = 0; i < h->n; i++)
		if (strcmp(h->wheels[i].file, file) == 0)
			return &h->wheels[i];
	return NULL;
}

static size_t missing(struct doc *d, struct node *t, const struct wheelhouse *x,
		      const struct wheelhouse *y, bool changed)
{
	size_t n = 0;

	for (size_t i = 0; i < x->n; i++) {
		const struct house_wheel *w = &x->wheels[i], *o = same_file(y, w->file);
		struct cell *c;

		if (o && (!changed || strcmp(o->sha256, w->sha256) == 0))
			continue;
		c = node_row(d, t);
		c[0] = cell_as(STYLE_STRONG, w->file);
		c[1] = o ? cell_as(STYLE_WARN, "other contents under the same name")
			 : cell_printf(d, STYLE_WARN, "only in %s", x->dir);
		n++;
	}
	return n;
}

struct doc *page_wheelhouse_diff(struct arena *a, const struct wheelhouse *x,
				 const struct wheelhouse *y, size_t *differ)
{
	static const struct column columns[] = { { .title = "Wheel" }, { .title = "How" } };
	struct doc *d = doc_new(a);
	struct node *t;

	doc_heading(d, 1, "Wheelhouses");
	doc_text(d, "%s: %zu wheels for %s. %s: %zu wheels for %s.", x->dir, x->n, target(a, x),
		 y->dir, y->n, target(a, y));
	t = doc_table(d, NULL, columns, 2);
	*differ = missing(d, t, x, y, true) + missing(d, t, y, x, false);
	if (!*differ)
		doc_text(d, "They hold the same wheels.");
	return d;
}
