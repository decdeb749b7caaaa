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

#define NAME 256

/* Matching names of modules. */

enum name_kind { NAME_PLAIN, NAME_GLOB, NAME_EXPRESSION };

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

/* * is anything, ? one character; what matches a holder matches what it holds. (fnmatch() has no
 * limit to the time that somebody's pattern may take.) */
static bool name_glob(const char *p, const char *s)
{
	const char *star = NULL, *again = NULL;

	for (;;) {
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
}

bool name_expression(const char *pattern, regex_t *out)
{
	char text[2 * NAME];
	size_t n = 0;

	if (strlen(pattern) >= NAME)
		return false;
	for (const char *p = pattern; *p; p++) {
		bool behind = p > pattern && strchr("*+?", p[-1]);

		if (*p == '{' || (p[0] == '(' && p[1] == '?' && p[2] != ':') ||
		    (p[0] == '\\' && isdigit((unsigned char)p[1])))
			return false;
		if (p[0] == '\\' && p[1] == 'd') {
			n += (size_t)snprintf(text + n, sizeof(text) - n, "[0-9]");
			p++;
		} else if (*p == '\\' && p[1]) {
			text[n++] = *p++;
			text[n++] = *p;
		} else if (*p != '?' || !behind) { /* a match is a match, the shortest or not */
			text[n++] = *p;
			p += str_starts(p, "(?:") ? 2 : 0;
		}
	}
	text[n] = '\0';
	return regcomp(out, text, REG_EXTENDED | REG_NOSUB) == 0;
}

#define STEPS 50000000
/* Of them: an expression's, one match's. */
#define COMPILED 5000
#define TRIED 100

/* The matrices of a layer: their names in checkpoints, and their shares of a part. */

enum part { ATTENTION, LINEAR, DENSE, EXPERTS, SHARED, PARTS };

#define MODULES (sizeof(module_rows) / sizeof(module_rows[0]))

struct module {
	enum part part;
	const char *names; /* behind "layers.N.", with spaces between */
	double share;	   /* of its part in a layer */
};

/* Which share of its part a matrix is. */
enum share {
	Q, /* queries, keys (and values), what follows attention */
	KEY,
	OUT,
	LATENT_QA,
	LATENT_QB,
	LATENT_Q,
	LATENT_KVA,
	LATENT_KVB,
	LATENT_OUT,
	LINEAR_IN,
	LINEAR_GATE,
	GATE,
	UP,
	SHARES,
};

static const struct {
	enum part part;
	enum share share;
	const char *names;
} module_rows[] = {
#include "models/inference/modules.rows"
};

static void shares_of(const struct arch *a, double *s)
{
	double h = a->hidden, n = a->heads, qk = a->nope_dim + a->rope_dim, all = 0;

	if (a->kv_lora) {
		s[LATENT_QA] = h * a->q_lora;
		s[LATENT_QB] = a->q_lora * n * qk;
		s[LATENT_Q] = a->q_lora ? 0 : h * n * qk;
		s[LATENT_KVA] = h * (a->kv_lora + a->rope_dim);
		s[LATENT_KVB] = a->kv_lora * n * (a->nope_dim + a->v_dim);
		s[LATENT_OUT] = n * a->v_dim * h;
	} else {
		s[Q] = arch_query_params(a, a->head_dim);
		s[KEY] = h * a->kv_heads * a->head_dim;
		s[OUT] = h * n * a->head_dim;
		all = s[KEY]; /* values are as many */
	}
	for (enum share i = Q; i <= LATENT_OUT; i++)
		all += s[i];
	for (enum share i = Q; i <= LATENT_OUT; i++)
		s[i] /= all;
	/* Their widths are not kept apart: about so much of such a layer in known models. */
	s[LINEAR_IN] = 0.46;
	s[LINEAR_GATE] = 0.27;
	s[GATE] = a->ffn_mats == 2 ? 0 : 1.0 / 3;
	s[UP] = (1 - s[GATE]) / 2;
}

/* Their number; the shape has to have heads of some width. */
static size_t config_modules(const struct arch *a, struct module *out)
{
	double share[SHARES] = { 0 };
	size_t n = 0;

	shares_of(a, share);
	for (size_t i = 0; i < MODULES; i++)
		if (share[module_rows[i].share] > 0)
			out[n++] = (struct module){ module_rows[i].part, module_rows[i].names,
						    share[module_rows[i].share] };
	return n;
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
	return k;
}

/* --- one name --------------------------------------------------------------------------------- */

bool has_word(const char *s, const char *const *words)
{
	for (; *words; words++)
		if (strstr(s, *words))
			return true;
	return false;
}

/* Whole models besides the language model: their layers have the same names. */
static bool other_model(const char *s)
{
	static const char *const words[] = { "visual", "vision", "audio",    "speech", "image",
					     "mtp",    "talker", "code2wav", "nextn",  NULL };

	return has_word(s, words);
}

/* What is no matrix of a layer of the language model, or stays as it is in every format. */
static bool elsewhere(const char *s)
{
	static const char *const words[] = {
		"norm",	     "embed",	  "lm_head",  "router",	  "gate",	 "conv1d",
		"projector", "merger",	  "rotary",   "A_log",	  "dt_",	 "in_proj_a",
		"in_proj_b", "bias",	  "indexer",  "eh_proj",  "shared_head", "wte",
		"wpe",	     "ln_",	  "patch",    "score",	  "mm_",	 "multi_modal",
		"encoder",   "x_proj",	  "f_a_proj", "f_b_proj", "g_a_proj",	 "g_b_proj",
		"b_proj",    "connector", "output",   "dora",	  "lora",	 "latent_proj",
		NULL
	};

	return other_model(s) || has_word(s, words);
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
	regex_t expression;
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
	k->left -= TRIED;
	return p->kind == NAME_PLAIN  ? name_plain(p->text, name)
	       : p->kind == NAME_GLOB ? name_glob(p->text, name)
				      : regexec(&p->expression, name, 0, NULL, 0) == 0;
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
	if (kind == NAME_EXPRESSION) {
		k->left -= COMPILED;
		if (k->left <= 0 || !name_expression(p.text, &p.expression))
			return false;
	}
	for (long l = p.layer < 0 ? 0 : p.layer; l < k->layers && k->left > 0; l++) {
		if (l == 0 || l == p.layer || p.by_layer)
			any |= some = hits(k, &p, l, hit);
		if (some)
			mark_all(k, l, hit, p.part, bytes);
		if (l == p.layer || (!some && !p.by_layer))
			break;
	}
	if (kind == NAME_EXPRESSION)
		regfree(&p.expression);
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
	bool any;

	if (!k->layers || other_model(name))
		return;
	name += kind == NAME_EXPRESSION ? strlen("re:") : 0;
	any = k->left > 0 && stored_sizes_add_one(k, name, kind, bytes);
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
