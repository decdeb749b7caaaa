/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The header of a GGUF file: figures by key, then every tensor's name, size and type; the bytes of
 * each part of the model follow exactly. Versions 2 and 3, little-endian, as all are that exist. A
 * model in several files has the keys in the first; each has its own tensors.
 */
#include "models/inference/gguf.h"

#include <errno.h>

#include "models/inference/gguf_parts.h"

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
	return r->short_of ? err_set(e, -ENODATA, "%.120s ends before its header does", name)
			   : err_set(e, -EINVAL, "%.120s is no GGUF file that is understood", name);
}

static int start(struct gguf_reader *r, const char *name, struct counts *n, struct err *e)
{
	uint32_t magic = 0, version = 0;

	if (!gguf_take(r, &magic, 4) || magic != 0x46554747 || !gguf_take(r, &version, 4) ||
	    version < 2 || version > 3 || !gguf_take(r, &n->tensors, 8) ||
	    !gguf_take(r, &n->keys, 8) || n->tensors > MOST_TENSORS || n->keys > MOST_KEYS)
		return refuse(r, name, e);
	return 0;
}

static int keys(struct arena *a, struct gguf_reader *r, const char *name, uint64_t n,
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

static int tensors(struct gguf *g, struct gguf_reader *r, const char *name, uint64_t n,
		   struct err *e)
{
	uint32_t unknown = UINT32_MAX;

	while (n--)
		if (!gguf_take_tensor(r, &g->keys, &g->tensors, &unknown))
			return unknown == UINT32_MAX ? refuse(r, name, e)
						     : err_set(e, -EINVAL,
							       "%.120s has a tensor of type %u, "
							       "which is not known",
							       name, (unsigned)unknown);
	g->files++;
	return 0;
}

/* Layers that only guess are the last ones, and counted among the others. */
static int room(struct gguf *g, struct err *e)
{
	const struct gguf_keys *k = &g->keys;

	if (k->parts > 1 && k->part > 0)
		return err_set(e, -EINVAL, "%.120s is file %d of %d: the first one is needed",
			       g->name, k->part + 1, k->parts);
	if (k->layers < 1 || k->layers > GGUF_LAYERS || !*k->family)
		return err_set(e, -EINVAL,
			       "%.120s does not give layers, widths, heads and vocabulary",
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
	if ((code = start(&r, name, &n, e)) < 0 ||
	    (code = keys(a, &r, name, n.keys, &g->keys, e)) < 0 || (code = room(g, e)) < 0 ||
	    (code = tensors(g, &r, name, n.tensors, e)) < 0)
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

	if ((code = start(&r, name, &n, e)) < 0 ||
	    (code = keys(g->arena, &r, name, n.keys, &own, e)) < 0)
		return code;
	if (own.part != g->files || own.parts != g->keys.parts)
		return err_set(e, -EINVAL, "%.120s is not file %d of %d of the same model", name,
			       g->files + 1, gguf_files(g));
	return tensors(g, &r, name, n.tensors, e);
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
	struct gguf_said said = { .text = "" };
	int code;

	if (g->files < gguf_files(g) || (g->keys.tensors && t.count < g->keys.tensors))
		return err_set(e, -EINVAL,
			       "%.120s is the first of %d files: without the others its size is "
			       "not known",
			       g->name, gguf_files(g));
	add_layers(&t);
	code = gguf_shape(a, g->name, &g->keys, &t, &f.arch, &said, e);
	if (code < 0)
		return code;
	f.bytes = all_bytes(&t);
	if (f.bytes <= 0 || t.embed.bytes + t.head.bytes <= 0)
		return err_set(e, -EINVAL, "%.120s has no tensors of a language model", g->name);
	gguf_format(a, &t, &f.arch, &f.exact, &said);
	f.format = t.most;
	f.arch.name = g->name;
	f.arch.source = "its GGUF header";
	f.arch.guessed = said.doubt;
	f.taken = arena_printf(a, "%s (%s), by its GGUF header: %.2f GB, most in %s%s", g->name,
			       g->keys.family, f.bytes / 1e9, t.most, said.text);
	*out = f;
	return 0;
}

int gguf_read(struct arena *a, const char *name, const uint8_t *data, size_t len,
	      struct model_file *out, struct err *e)
{
	struct gguf *g;
	int code = gguf_open(a, name, data, len, &g, e);

	return code < 0 ? code : gguf_model(g, out, e);
}
