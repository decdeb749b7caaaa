/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The header of a GGUF file: figures by key, then every tensor's name, size and type; the bytes of
 * each part of the model follow exactly. Versions 2 and 3, little-endian, as all are that exist. A
 * model in several files has the keys in the first; each has its own tensors.
 */
#include <errno.h>
#include <math.h>
#include <stddef.h>

#include "models/inference/gguf.h"

#define MOST_TENSORS 1000000
#define MOST_KEYS 100000

struct gguf {
	struct arena *arena;
	const char *name;
	struct gguf_keys keys;
	struct gguf_tensors tensors;
	int files; /* read so far */
};

struct counts {
	uint64_t tensors, keys;
};

static int refuse(const struct gguf_reader *r, const char *name, struct err *e)
{
	return r->short_of ? err_set(e, -ENODATA, "%.120s: truncated header", name)
			   : err_set(e, -EINVAL, "%.120s: not a supported GGUF file", name);
}

static int gguf_start(struct gguf_reader *r, const char *name, struct counts *n, struct err *e)
{
	uint32_t magic = 0, version = 0;

	if (!gguf_take(r, &magic, 4) || magic != 0x46554747 || !gguf_take(r, &version, 4) ||
	    version < 2 || version > 3 || !gguf_take(r, &n->tensors, 8) ||
	    !gguf_take(r, &n->keys, 8) || n->tensors > MOST_TENSORS || n->keys > MOST_KEYS)
		return refuse(r, name, e);
	return 0;
}

static int gguf_keys_one(struct arena *a, struct gguf_reader *r, const char *name, uint64_t n,
			 struct gguf_keys *k, struct err *e)
{
	const char *key;
	uint64_t len;

	while (n--) {
		struct gguf_value v;

		if (!gguf_take_text(r, &key, &len) || len > 65536 || !gguf_take_value(r, &v))
			return refuse(r, name, e);
		gguf_keep(a, k, key, (size_t)len, &v);
	}
	return 0;
}

static int gguf_tensors_one(struct gguf *g, struct gguf_reader *r, const char *name, uint64_t n,
			    struct err *e)
{
	uint32_t unknown = UINT32_MAX;

	while (n--)
		if (!gguf_take_tensor(r, &g->keys, &g->tensors, &unknown))
			return unknown == UINT32_MAX
				       ? refuse(r, name, e)
				       : err_set(e, -EINVAL, "%.120s: unknown tensor type %u", name,
						 (unsigned)unknown);
	g->files++;
	return 0;
}

/* Layers that only guess are the last ones, and counted among the others. */
static int gguf_room(struct gguf *g, struct err *e)
{
	const struct gguf_keys *k = &g->keys;

	if (k->parts > 1 && k->part > 0)
		return err_set(e, -EINVAL, "%.120s is file %d of %d: give the first one", g->name,
			       k->part + 1, k->parts);
	if (k->layers < 1 || k->layers > GGUF_LAYERS || !*k->family)
		return err_set(e, -EINVAL, "%.120s: layers, widths, heads or vocabulary missing",
			       g->name);
	g->tensors.n = k->guess_layers < k->layers ? k->layers - k->guess_layers : k->layers;
	g->tensors.layers = arena_array(g->arena, (size_t)g->tensors.n, sizeof(struct gguf_layer));
	return 0;
}

int gguf_open(struct arena *a, const char *name, const uint8_t *data, size_t len, struct gguf **out,
	      struct err *e)
{
	struct gguf_reader r = { data, data + len, false };
	struct gguf *g = ARENA_NEW(a, struct gguf);
	struct counts n = { 0 };
	int code;

	g->arena = a;
	g->name = arena_strdup(a, name);
	if ((code = gguf_start(&r, name, &n, e)) < 0 ||
	    (code = gguf_keys_one(a, &r, name, n.keys, &g->keys, e)) < 0 ||
	    (code = gguf_room(g, e)) < 0 ||
	    (code = gguf_tensors_one(g, &r, name, n.tensors, e)) < 0)
		return code;
	*out = g;
	return 0;
}

int gguf_files(const struct gguf *g)
{
	return g->keys.parts > 1 ? g->keys.parts : 1;
}

int gguf_more(struct gguf *g, const char *name, const uint8_t *data, size_t len, struct err *e)
{
	struct gguf_reader r = { data, data + len, false };
	struct gguf_keys own = { 0 };
	struct counts n = { 0 };
	int code;

	if ((code = gguf_start(&r, name, &n, e)) < 0 ||
	    (code = gguf_keys_one(g->arena, &r, name, n.keys, &own, e)) < 0)
		return code;
	if (own.part != g->files || own.parts != g->keys.parts)
		return err_set(e, -EINVAL, "%.120s is not file %d of %d of the same model", name,
			       g->files + 1, gguf_files(g));
	return gguf_tensors_one(g, &r, name, n.tensors, e);
}

/* Of layers with both kinds each keeps its own; of layers with a state alone it is one. */
static void add_layers(struct gguf_tensors *t)
{
	t->attention = t->linear = (struct gguf_sum){ 0 };
	for (int i = 0; i < t->n; i++) {
		const struct gguf_layer *l = &t->layers[i];
		bool linear = gguf_is_linear(l) && !gguf_is_attention(l);
		struct gguf_sum *to = linear ? &t->linear : &t->attention;

		to->params += l->attention.params;
		to->bytes += l->attention.bytes;
		t->linear.params += l->linear.params;
		t->linear.bytes += l->linear.bytes;
	}
}

static double all_bytes(const struct gguf_tensors *t)
{
	return t->attention.bytes + t->linear.bytes + t->dense.bytes + t->shared.bytes +
	       t->experts.bytes + t->router.bytes + t->other.bytes + t->head.bytes +
	       t->embed.bytes + t->aside.bytes;
}

int gguf_model(const struct gguf *g, struct model_file *out, struct err *e)
{
	struct arena *a = g->arena;
	struct gguf_tensors t = g->tensors;
	struct model_file f = { 0 };
	struct gguf_notes said = { .text = "" };
	int code;

	if (g->files < gguf_files(g) || (g->keys.tensors && t.count < g->keys.tensors))
		return err_set(
			e, -EINVAL,
			"%.120s is the first of %d files: the model's size requires the others",
			g->name, gguf_files(g));
	add_layers(&t);
	code = gguf_shape(a, g->name, &g->keys, &t, &f.arch, &said, e);
	if (code < 0)
		return code;
	f.bytes = all_bytes(&t);
	if (f.bytes <= 0 || t.embed.bytes + t.head.bytes <= 0)
		return err_set(e, -EINVAL, "%.120s: no language-model tensors", g->name);
	gguf_format(a, &t, &f.arch, &f.exact, &said);
	f.format = t.most;
	f.arch.name = g->name;
	f.arch.source = "GGUF header of the model";
	f.arch.guessed = said.doubt;
	f.taken = arena_printf(a, "%s (%s), from its GGUF header: %.2f GB, mostly %s%s", g->name,
			       g->keys.family, f.bytes / 1e9, t.most, said.text);
	*out = f;
	return 0;
}

/*
 * Bytes a parameter of each part of the model that a GGUF file has, and whether its tensors have
 * the parameters that its shape counts.
 */

#define SAID 0.01 /* more than this part of what is read is said */

/* A part as the tensors have it, and as the shape counts it. */
struct part {
	const char *name;
	struct gguf_sum has;
	double counted;
	double *each;
};

/* Every token reads what is in none of the parts (norms, biases), and routers beyond two bytes. */
static double spread(const struct gguf_tensors *t, const struct arch_parts *c,
		     const struct part *parts, size_t n)
{
	double rest = t->other.bytes + t->router.bytes - 2 * c->router, kept = 0;

	for (size_t i = 0; i < n; i++)
		if (parts[i].counted > 0)
			kept += parts[i].has.bytes;
		else
			rest += parts[i].has.bytes;
	return kept > 0 ? fmax(0, 1 + rest / kept) : 1;
}

/* For parts that the model has not. */
static double average(const struct part *parts, size_t n)
{
	struct gguf_sum sum = { 0 };

	for (size_t i = 0; i < n; i++) {
		sum.params += parts[i].has.params;
		sum.bytes += parts[i].has.bytes;
	}
	return sum.params > 0 ? sum.bytes / sum.params : 2;
}

static void gguf_compare(struct arena *a, const struct part *p, double enough,
			 struct gguf_notes *said)
{
	if (fabs(p->has.params - p->counted) > enough)
		gguf_doubt(a, said,
			   arena_printf(a,
					"tensors have %.3g G parameters of %s, metadata %.3g G: "
					"bytes are computed from tensors, operations from metadata",
					p->has.params / 1e9, p->name, p->counted / 1e9));
}

static void gguf_note_rest(struct arena *a, const struct gguf_tensors *t, double dense,
			   struct gguf_notes *said)
{
	if (t->other.params > SAID * dense)
		gguf_doubt(a, said,
			   arena_printf(a,
					"%.3g G parameters in other tensors: assuming they are "
					"read for each token",
					t->other.params / 1e9));
	if (t->guess.params > 0)
		gguf_note(a, said,
			  arena_printf(
				  a,
				  "%.2f GB of layers used only for speculative tokens are excluded",
				  t->guess.bytes / 1e9));
}

void gguf_format(struct arena *a, const struct gguf_tensors *t, const struct arch *s,
		 struct format *f, struct gguf_notes *said)
{
	struct arch_parts c = arch_parts(s);
	struct part parts[] = {
		{ "attention", t->attention, c.attention, &f->attention },
		{ "layers with recurrent state", t->linear, c.linear, &f->linear },
		{ "dense blocks", t->dense, c.dense, &f->dense },
		{ "shared experts", t->shared, c.shared, &f->shared },
	};
	struct part experts = { "experts", t->experts, c.experts, &f->experts };
	size_t n = sizeof(parts) / sizeof(parts[0]);
	double more = spread(t, &c, parts, n), dense = t->other.params + c.head;
	const struct gguf_sum *head = s->tied ? &t->embed : &t->head;
	double embeds = c.embed + c.aside, all = average(parts, n);

	*f = (struct format){ .name = arena_printf(a, "%s (from its header)", t->most),
			      .math = MATH_GGML,
			      .gguf = true,
			      .experts = all,
			      .dense = all,
			      .shared = all,
			      .attention = all,
			      .linear = all,
			      .embed = 2,
			      .head = head->bytes / c.head };
	for (size_t i = 0; i < n; i++) {
		dense += parts[i].has.params;
		if (parts[i].counted > 0)
			*parts[i].each = more * parts[i].has.bytes / parts[i].counted;
	}
	if (c.experts > 0)
		f->experts = t->experts.bytes / c.experts;
	if (embeds > 0)
		f->embed = (t->aside.bytes + (s->tied ? 0 : t->embed.bytes)) / embeds;
	for (size_t i = 0; i < n; i++)
		gguf_compare(a, &parts[i], SAID * dense, said);
	gguf_compare(a, &experts, SAID * c.experts, said);
	gguf_note_rest(a, t, dense, said);
}
