/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Shares of a model's parts by the names of their matrices. Makers name the same matrix
 * differently, and engines join some of them; norms, routers, embeddings and what sees or hears are
 * no part of what a format is counted for, and names of those mean nothing here.
 */
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "models/inference/config.h"
#include "models/inference/name_match.h"

/* Matching names of modules. A small subset of expressions suffices for what checkpoints write. */
static enum name_kind name_kind_of(const char *pattern)
{
	return str_starts(pattern, "re:") ? NAME_EXPRESSION
	       : strpbrk(pattern, "*?[")  ? NAME_GLOB
					  : NAME_PLAIN;
}

/* A plain name is the module, one that holds it, or whole words of its path. */
static bool name_plain(const char *pattern, const char *module)
{
	size_t n = strlen(pattern);

	/* "model.layers.0." ends with its word. */
	for (const char *at = module; n && (at = strstr(at, pattern)); at++)
		if ((at == module || at[-1] == '.' || *pattern == '.') &&
		    (!at[n] || at[n] == '.' || pattern[n - 1] == '.'))
			return true;
	return false;
}

/* * is anything, ? one character; what matches a holder matches what it holds. */
static bool name_glob(const char *p, const char *s, long *left)
{
	const char *star = NULL, *again = NULL;

	while (--*left > 0) {
		if (*p == '*') {
			star = p++;
			again = s;
		} else if (*s && (*p == *s || *p == '?')) {
			p++;
			s++;
		} else if (!*p && (!*s || *s == '.')) {
			return true;
		} else if (star && *again) {
			p = star + 1;
			s = ++again;
		} else {
			return false;
		}
	}
	return false;
}

/* Characters of one element of an expression: "a", ".", "\\.", "[0-9]". */
static size_t element(const char *p)
{
	const char *end;

	if (*p == '\\' && p[1])
		return 2;
	if (*p != '[')
		return 1;
	end = p[1] ? strchr(p + 2, ']') : NULL;
	return end ? (size_t)(end - p) + 1 : 1;
}

static bool name_match_in_set(const char *p, size_t n, char c)
{
	bool not = p[1] == '^', in = false;

	for (size_t i = not ? 2 : 1; i + 1 < n; i++) {
		if (p[i + 1] == '-' && i + 3 < n) {
			in |= c >= p[i] && c <= p[i + 2];
			i += 2;
		} else {
			in |= c == p[i];
		}
	}
	return in != not ;
}

static bool name_match_one(const char *p, size_t n, char c)
{
	if (!c)
		return false;
	if (*p == '\\' && n == 2)
		return p[1] == 'd'   ? isdigit((unsigned char)c)
		       : p[1] == 'w' ? isalnum((unsigned char)c) || c == '_'
				     : p[1] == c;
	if (*p == '[' && n > 1)
		return name_match_in_set(p, n, c);
	return *p == '.' || *p == c;
}

/* depth: of the stack; a pattern has at most 256 characters. */
static bool name_match_here(const char *p, const char *s, long *left)
{
	size_t n;
	const char *from = s;
	char times;

	for (;; p += n) {
		if (--*left <= 0)
			return false;
		if (!*p || (*p == '$' && !p[1]))
			return !*p || !*s;
		n = element(p);
		times = p[n];
		if (times == '*' || times == '+' || times == '?')
			break;
		if (!name_match_one(p, n, *s))
			return false;
		s++;
	}
	for (from = s; name_match_one(p, n, *s) && (times != '?' || s == from); s++)
		;
	for (;; s--) {
		if ((times != '+' || s > from) && name_match_here(p + n + 1, s, left))
			return true;
		if (s == from || *left <= 0)
			return false;
	}
}

bool name_expression(const char *pattern, const char *module, long *left)
{
	if (*pattern == '^')
		return name_match_here(pattern + 1, module, left);
	for (const char *s = module;; s++) {
		if (name_match_here(pattern, s, left))
			return true;
		if (!*s || *left <= 0)
			return false;
	}
}

/* The group's words, each between what stands before and after it. */
static size_t with_group(const char *pattern, const char *open, const char *close, char (*out)[256],
			 size_t most)
{
	const char *word = open + (str_starts(open, "(?:") ? 3 : 1), *end;
	size_t n = 0, before = (size_t)(open - pattern);

	if (strchr("*+?{", close[1]) && close[1])
		return 0;
	for (;; word = end + 1) {
		char joined[256];
		size_t len, more;

		end = word + strcspn(word, "|)");
		len = (size_t)(end - word);
		if (before + len + strlen(close + 1) >= sizeof(joined))
			return 0;
		memcpy(joined, pattern, before);
		memcpy(joined + before, word, len);
		strcpy(joined + before + len, close + 1);
		more = name_alternatives(joined, out + n, most - n);
		n += more;
		if (!more)
			return 0;
		if (end == close)
			return n;
	}
}

size_t name_alternatives(const char *pattern, char (*out)[256], size_t most)
{
	const char *open = strchr(pattern, '('), *close;

	if (!most || strlen(pattern) >= 256)
		return 0;
	if (!open) {
		if (strpbrk(pattern, "|){"))
			return 0;
		strcpy(out[0], pattern);
		return 1;
	}
	close = strchr(open, ')');
	if (!close || (open[1] == '?' && open[2] != ':') ||
	    memchr(open + 1, '(', (size_t)(close - open - 1)) ||
	    (open > pattern && open[-1] == '\\'))
		return 0;
	return with_group(pattern, open, close, out, most);
}

#define NAME 256
#define ALTERNATIVES 64
#define STEPS 50000000

/* The matrices of a layer: their names in checkpoints, and their shares of a part. */

enum part { ATTENTION, LINEAR, DENSE, EXPERTS, SHARED, PARTS };

#define MODULES 24

struct module {
	enum part part;
	const char *names; /* behind "layers.N.", with spaces between */
	double share;	   /* of its part in a layer */
};

struct list {
	const struct arch *arch;
	struct module *out;
	size_t n;
};

static void module(struct list *k, enum part part, double share, const char *names)
{
	if (share > 0 && k->n < MODULES)
		k->out[k->n++] = (struct module){ part, names, share };
}

static void attention_modules(struct list *k)
{
	const struct arch *a = k->arch;
	double h = a->hidden, q = arch_query_params(a, a->head_dim),
	       kv = h * a->kv_heads * a->head_dim, o = h * a->heads * a->head_dim,
	       all = q + 2 * kv + o;

	module(k, ATTENTION, q / all,
	       "self_attn.q_proj self_attn.qkv_proj attention.q_proj attn.q_proj attn.qkv_proj "
	       "mixer.q_proj self_attention.query_key_value");
	module(k, ATTENTION, kv / all,
	       "self_attn.k_proj self_attn.qkv_proj attention.k_proj attn.k_proj attn.qkv_proj "
	       "mixer.k_proj self_attention.query_key_value");
	module(k, ATTENTION, kv / all,
	       "self_attn.v_proj self_attn.qkv_proj attention.v_proj attn.v_proj attn.qkv_proj "
	       "mixer.v_proj self_attention.query_key_value");
	module(k, ATTENTION, o / all,
	       "self_attn.o_proj self_attn.out_proj self_attn.dense attention.o_proj attn.o_proj "
	       "mixer.o_proj self_attention.dense");
}

static void latent_modules(struct list *k)
{
	const struct arch *a = k->arch;
	double h = a->hidden, n = a->heads, qk = a->nope_dim + a->rope_dim;
	double qa = h * a->q_lora, qb = a->q_lora * n * qk, q = a->q_lora ? 0 : h * n * qk;
	double kva = h * (a->kv_lora + a->rope_dim),
	       kvb = a->kv_lora * n * (a->nope_dim + a->v_dim);
	double o = n * a->v_dim * h, all = qa + qb + q + kva + kvb + o;

	module(k, ATTENTION, qa / all,
	       "self_attn.q_a_proj self_attn.fused_qkv_a_proj self_attn.fused_qkv_a_proj_with_mqa");
	module(k, ATTENTION, qb / all, "self_attn.q_b_proj");
	module(k, ATTENTION, q / all, "self_attn.q_proj");
	module(k, ATTENTION, kva / all,
	       "self_attn.kv_a_proj_with_mqa self_attn.kv_a_proj self_attn.fused_qkv_a_proj "
	       "self_attn.fused_qkv_a_proj_with_mqa");
	module(k, ATTENTION, kvb / all, "self_attn.kv_b_proj");
	module(k, ATTENTION, o / all, "self_attn.o_proj");
}

/* Their widths are not kept apart: about so much of such a layer in the models that are known. */
static void linear_modules(struct list *k)
{
	module(k, LINEAR, 0.46,
	       "linear_attn.in_proj_qkv linear_attn.in_proj_qkvz mixer.in_proj mamba.in_proj "
	       "conv.in_proj short_conv.in_proj");
	module(k, LINEAR, 0.27,
	       "linear_attn.in_proj_z linear_attn.in_proj_qkvz mixer.in_proj mamba.in_proj "
	       "conv.in_proj short_conv.in_proj");
	module(k, LINEAR, 0.27,
	       "linear_attn.out_proj mixer.out_proj mamba.out_proj conv.out_proj "
	       "short_conv.out_proj");
}

static void dense_modules(struct list *k, double gate, double other)
{
	module(k, DENSE, gate,
	       "mlp.gate_proj mlp.gate_up_proj mlp.w1 feed_forward.gate_proj feed_forward.w1");
	module(k, DENSE, other,
	       "mlp.up_proj mlp.gate_up_proj mlp.w3 mlp.fc1 mlp.dense_h_to_4h "
	       "feed_forward.up_proj feed_forward.w3 mixer.up_proj");
	module(k, DENSE, other,
	       "mlp.down_proj mlp.w2 mlp.fc2 mlp.dense_4h_to_h feed_forward.down_proj "
	       "feed_forward.w2 mixer.down_proj");
}

static void expert_modules(struct list *k, double gate, double other)
{
	module(k, EXPERTS, gate,
	       "mlp.experts.0.gate_proj mlp.experts.gate_up_proj mlp.experts.gate_proj "
	       "block_sparse_moe.experts.0.w1 feed_forward.experts.gate_up_proj "
	       "feed_forward.experts.0.gate_proj");
	module(k, EXPERTS, other,
	       "mlp.experts.0.up_proj mlp.experts.gate_up_proj mlp.experts.up_proj "
	       "block_sparse_moe.experts.0.w3 feed_forward.experts.gate_up_proj "
	       "feed_forward.experts.0.up_proj mixer.experts.0.up_proj");
	module(k, EXPERTS, other,
	       "mlp.experts.0.down_proj mlp.experts.down_proj block_sparse_moe.experts.0.w2 "
	       "feed_forward.experts.down_proj feed_forward.experts.0.down_proj "
	       "mixer.experts.0.down_proj");
	module(k, SHARED, gate,
	       "mlp.shared_expert.gate_proj mlp.shared_experts.gate_proj "
	       "mlp.shared_experts.gate_up_proj mlp.shared_expert.gate_up_proj "
	       "mlp.shared_mlp.gate_proj feed_forward.shared_expert.gate_proj "
	       "block_sparse_moe.shared_experts.gate_proj");
	module(k, SHARED, other,
	       "mlp.shared_expert.up_proj mlp.shared_experts.up_proj "
	       "mlp.shared_experts.gate_up_proj mlp.shared_expert.gate_up_proj "
	       "mlp.shared_mlp.up_proj feed_forward.shared_expert.up_proj "
	       "block_sparse_moe.shared_experts.up_proj mixer.shared_experts.up_proj");
	module(k, SHARED, other,
	       "mlp.shared_expert.down_proj mlp.shared_experts.down_proj "
	       "mlp.shared_mlp.down_proj feed_forward.shared_expert.down_proj "
	       "block_sparse_moe.shared_experts.down_proj mixer.shared_experts.down_proj");
}

/* Their number; the shape has to have heads of some width. */
static size_t config_modules(const struct arch *a, struct module *out)
{
	double gate = a->ffn_mats == 2 ? 0 : 1.0 / 3;
	struct list l = { .arch = a, .out = out };

	if (a->kv_lora)
		latent_modules(&l);
	else
		attention_modules(&l);
	linear_modules(&l);
	dense_modules(&l, gate, (1 - gate) / 2);
	expert_modules(&l, gate, (1 - gate) / 2);
	return l.n;
}

/* Of a module in a layer: which part of it was named, and its bytes a parameter by that part. */
struct cell {
	double named, bytes, high;
};

struct stored_sizes {
	struct arena *a;
	const struct arch *arch;
	struct module module[MODULES];
	size_t modules;
	int layers;
	double of[PARTS]; /* layers that have the part */
	struct cell *cell;
	char (*each)[NAME];  /* of one expression */
	long left;	     /* work that may still be done for names that somebody else wrote */
	const char *unknown; /* the first name that means nothing known */
	size_t unknowns;
};

struct stored_sizes *stored_sizes_new(struct arena *a, const struct arch *arch)
{
	struct stored_sizes *k = ARENA_NEW(a, struct stored_sizes);

	*k = (struct stored_sizes){ .a = a, .arch = arch, .left = STEPS };
	if (arch->layers < 1 || arch->layers > 4096 || arch->heads < 1 || arch->head_dim < 1)
		return k; /* such a shape is refused anyway */
	k->layers = arch->layers;
	k->of[ATTENTION] = arch_full_layers(arch) + arch->window_layers;
	k->of[LINEAR] = arch->linear_layers;
	k->of[DENSE] = arch_dense_layers(arch);
	k->of[EXPERTS] = arch->experts ? arch->moe_layers : 0;
	k->of[SHARED] = arch->shared_ffn ? k->of[EXPERTS] : 0;
	k->modules = config_modules(arch, k->module);
	k->cell = arena_alloc(a, sizeof(*k->cell) * k->modules * (size_t)k->layers);
	memset(k->cell, 0, sizeof(*k->cell) * k->modules * (size_t)k->layers);
	k->each = arena_alloc(a, sizeof(*k->each) * ALTERNATIVES);
	return k;
}

/* --- one name --------------------------------------------------------------------------------- */

/* What is no matrix of a layer of the language model, or stays as it is in every format. */
static bool elsewhere(const char *s)
{
	static const char *const words[] = {
		"norm",	     "embed",	 "lm_head",	"router",      "gate",	    "conv1d",
		"visual",    "vision",	 "audio",	"speech",      "image",	    "mtp",
		"projector", "merger",	 "rotary",	"A_log",       "dt_",	    "in_proj_a",
		"in_proj_b", "bias",	 "indexer",	"shared_head", "eh_proj",   "wte",
		"wpe",	     "ln_",	 "patch",	"talker",      "code2wav",  "score",
		"nextn",     "mm_",	 "multi_modal", "encoder",     "x_proj",    "f_a_proj",
		"f_b_proj",  "g_a_proj", "g_b_proj",	"b_proj",      "connector", "latent_proj",
		"output",    "dora",	 "lora"
	};

	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
		if (strstr(s, words[i]))
			return true;
	return false;
}

/* Whole models besides the language model: their layers have the same names. */
static bool other_model(const char *s)
{
	static const char *const words[] = { "visual", "vision", "audio",    "speech", "image",
					     "mtp",    "talker", "code2wav", "nextn" };

	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
		if (strstr(s, words[i]))
			return true;
	return false;
}

/* A dot as names and as expressions write it: its characters. */
static size_t dot(const char *s)
{
	return *s == '.' ? 1 : s[0] == '\\' && s[1] == '.' ? 2 : 0;
}

/* The number that stands alone behind "layers." or "experts."; -1: none. */
static long number_behind(const char *s, const char *word, const char **at, const char **end)
{
	const char *p = strstr(s, word);
	size_t n;
	char *stop;
	long v;

	if (!p || !(n = dot(p + strlen(word))) || !isdigit((unsigned char)p[strlen(word) + n]))
		return -1;
	p += strlen(word) + n;
	v = strtol(p, &stop, 10);
	if (*stop && *stop != '$' && !dot(stop))
		return -1;
	if (*stop == '.' && stop[1] && strchr("*+?", stop[1]) && dot(stop) == 1)
		return -1; /* "1.*" is 1 and 12 in an expression */
	if (at)
		*at = p, *end = stop;
	return v < 1 << 24 ? v : 1 << 24;
}

struct pattern {
	enum name_kind kind;
	char text[NAME];
	double part;   /* of the experts of a layer; 1: not one of them */
	long layer;    /* the only one; -1: any */
	bool by_layer; /* may mean some layers and not others */
};

/* From "layers" on, one expert as the first, what is around the language model left out. */
static bool stored_sizes_prepare(const struct stored_sizes *k, const char *s, enum name_kind kind,
				 struct pattern *p)
{
	const char *layers = strstr(s, "layers"), *at, *end;
	long expert;
	int n;

	if (kind == NAME_EXPRESSION && str_starts(s, ".*"))
		s += 2; /* it may begin anywhere */
	if (layers && strspn(s, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_.\\^*") >=
			      (size_t)(layers - s))
		s = layers;
	*p = (struct pattern){ .kind = kind, .part = 1 };
	p->layer = number_behind(s, "layers", NULL, NULL);
	expert = number_behind(s, "experts", &at, &end);
	if (expert >= 0 && k->arch->experts > 0) {
		p->part = expert < k->arch->experts ? 1.0 / k->arch->experts : 0;
		n = snprintf(p->text, sizeof(p->text), "%.*s0%s", (int)(at - s), s, end);
	} else {
		n = snprintf(p->text, sizeof(p->text), "%s%s",
			     kind == NAME_GLOB && !layers && *s != '*' ? "*" : "", s);
	}
	p->by_layer =
		p->layer < 0 && kind != NAME_PLAIN && (layers || strpbrk(p->text, "0123456789[\\"));
	return n > 0 && (size_t)n < sizeof(p->text);
}

static bool matches(struct stored_sizes *k, const struct pattern *p, const char *name)
{
	return p->kind == NAME_PLAIN  ? name_plain(p->text, name)
	       : p->kind == NAME_GLOB ? name_glob(p->text, name, &k->left)
				      : name_expression(p->text, name, &k->left);
}

/* head: "layers.N.", of so many characters. */
static bool names_module(struct stored_sizes *k, const struct pattern *p, const char *head,
			 size_t n, const struct module *m)
{
	char name[128];
	size_t len;

	memcpy(name, head, n);
	for (const char *s = m->names; *s; s += len + (s[len] == ' ')) {
		len = strcspn(s, " ");
		if (n + len >= sizeof(name))
			continue;
		memcpy(name + n, s, len);
		name[n + len] = '\0';
		if (matches(k, p, name))
			return true;
	}
	return false;
}

static void stored_sizes_mark(struct stored_sizes *k, long layer, size_t m, double part,
			      double bytes)
{
	struct cell *c = &k->cell[(size_t)layer * k->modules + m];

	if (part > 1 - c->named)
		part = 1 - c->named;
	c->named += part;
	c->bytes += part * bytes;
	if (bytes >= 2)
		c->high += part;
}

/*
 * A name of what every layer has may mean layers of either kind (attention and linear attention, a
 * dense block and experts); which layer is of which is not known, so each kind gets its part.
 */
static void mark_all(struct stored_sizes *k, long layer, const bool *hit, double part, double bytes)
{
	bool parts[PARTS] = { false };
	double share;

	k->left -= (long)k->modules;
	for (size_t m = 0; m < k->modules; m++)
		if (hit[m])
			parts[k->module[m].part] = true;
	for (size_t m = 0; m < k->modules; m++) {
		enum part p = k->module[m].part;
		bool mixed = p <= LINEAR ? parts[ATTENTION] && parts[LINEAR]
					 : parts[DENSE] && (parts[EXPERTS] || parts[SHARED]);

		share = mixed ? k->of[p] / k->layers : 1;
		if (hit[m])
			stored_sizes_mark(k, layer, m, share * (p == EXPERTS ? part : 1), bytes);
	}
}

static bool hits(struct stored_sizes *k, const struct pattern *p, long layer, bool *hit)
{
	char head[32];
	size_t n = (size_t)snprintf(head, sizeof(head), "layers.%ld.", layer);
	bool any = false;

	for (size_t m = 0; m < k->modules; m++) {
		k->left -= 40;
		hit[m] = k->of[k->module[m].part] > 0 && names_module(k, p, head, n, &k->module[m]);
		any |= hit[m];
	}
	return any;
}

static bool stored_sizes_add_one(struct stored_sizes *k, const char *text, enum name_kind kind,
				 double bytes)
{
	bool hit[MODULES] = { false }, any = false, some = false;
	struct pattern p;

	if (!stored_sizes_prepare(k, text, kind, &p))
		return false;
	if (p.layer >= k->layers)
		return true; /* layers that guess ahead stand behind the others */
	for (long l = p.layer < 0 ? 0 : p.layer; l < k->layers && k->left > 0; l++) {
		if (l == 0 || l == p.layer || p.by_layer)
			any |= some = hits(k, &p, l, hit);
		if (some)
			mark_all(k, l, hit, p.part, bytes);
		if (l == p.layer || (!some && !p.by_layer))
			break;
	}
	return any;
}

static void stored_sizes_not_understood(struct stored_sizes *k, const char *name)
{
	char *shown;

	if (k->unknowns++)
		return;
	shown = arena_printf(k->a, "%.60s", name);
	for (char *s = shown; *s; s++)
		if (!isprint((unsigned char)*s))
			*s = '?';
	k->unknown = shown;
}

void stored_sizes_add(struct stored_sizes *k, const char *name, double bytes)
{
	enum name_kind kind = name_kind_of(name);
	size_t n = 1;
	bool any = false;

	if (!k->layers || other_model(name))
		return;
	if (kind == NAME_EXPRESSION && k->left > 0) {
		k->left -= 1000;
		name += strlen("re:");
		n = name_alternatives(name, k->each, ALTERNATIVES);
	}
	for (size_t i = 0; i < n && k->left > 0; i++)
		any |= stored_sizes_add_one(k, kind == NAME_EXPRESSION ? k->each[i] : name, kind,
					    bytes);
	if (k->left <= 0 || (!any && !elsewhere(name)))
		stored_sizes_not_understood(k, name);
}

/* --- the parts -------------------------------------------------------------------------------- */

static double stored_sizes_sum(const struct stored_sizes *k, enum part part, double base,
			       double *high)
{
	double named = 0, bytes = 0, scale;

	*high = 0;
	for (int l = 0; l < k->layers; l++)
		for (size_t m = 0; m < k->modules; m++) {
			const struct cell *c = &k->cell[(size_t)l * k->modules + m];
			double share = k->module[m].share;

			if (k->module[m].part != part)
				continue;
			named += share * c->named;
			bytes += share * c->bytes;
			*high += share * c->high;
		}
	if (k->of[part] <= 0 || named <= 0)
		return base;
	scale = 1 / (named > k->of[part] ? named : k->of[part]);
	*high *= scale;
	return base * (1 - named * scale) + bytes * scale;
}

const char *stored_sizes_apply(struct stored_sizes *k, double base, struct format *f)
{
	static const char *const names[] = { "attention", "linear attention", "dense blocks",
					     "experts", "shared experts" };
	double *to[] = { &f->attention, &f->linear, &f->dense, &f->experts, &f->shared }, high;
	const char *said = "";

	for (enum part p = ATTENTION; p < PARTS; p++) {
		*to[p] = stored_sizes_sum(k, p, base, &high);
		if (high >= 0.995)
			said = arena_printf(k->a, "%s%s %s", said, *said ? "," : "", names[p]);
		else if (high >= 0.001)
			said = arena_printf(k->a, "%s%s %.2g %% of %s", said, *said ? "," : "",
					    100 * high, names[p]);
	}
	if (*said)
		said = arena_printf(k->a, "stay in BF16:%s", said);
	if (k->unknowns)
		said = arena_printf(k->a,
				    "%s%s%zu module names are unknown and ignored, such as \"%s\"",
				    said, *said ? "; " : "", k->unknowns, k->unknown);
	return *said ? said : NULL;
}
