/* SPDX-License-Identifier: Apache-2.0 */
/* Counting a shape: parameters by part, cache, state, operations. */
#include "models/inference/arch.h"

#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <string.h>

#include "base/text.h"

/* What sparse attention finds tokens by, of the width of what it finds. */
#define INDEX 0.125

int arch_dense_layers(const struct arch *a)
{
	return a->ffn_layers ? a->ffn_layers : a->moe_layers ? 0 : a->ffn ? a->layers : 0;
}

int arch_full_layers(const struct arch *a)
{
	int n = a->attention_layers ? a->attention_layers /* -1: none */
				    : a->layers - a->window_layers - a->linear_layers;

	return n > 0 ? n : 0;
}

double arch_query_params(const struct arch *a, int head_dim)
{
	double h = a->hidden, q = (double)a->heads * head_dim * (a->gated_attention ? 2 : 1);

	return a->q_lora ? a->q_lora * (h + q) : h * q;
}

/* One layer with heads and cached heads of these sizes. */
static double attention_params(const struct arch *a, int kv_heads, int head_dim)
{
	double h = a->hidden, o = (double)a->heads * head_dim;

	return arch_query_params(a, head_dim) + 2 * h * kv_heads * head_dim + o * h;
}

static double latent_params(const struct arch *a)
{
	double h = a->hidden, n = a->heads, qk = a->nope_dim + a->rope_dim;
	double q = a->q_lora ? h * a->q_lora + a->q_lora * n * qk : h * n * qk;

	return q + h * (a->kv_lora + a->rope_dim) + a->kv_lora * n * (a->nope_dim + a->v_dim) +
	       n * a->v_dim * h;
}

struct arch_parts arch_parts(const struct arch *a)
{
	struct arch_parts p = { 0 };
	double h = a->hidden, mats = a->ffn_mats ? a->ffn_mats : 3, s = a->scale > 0 ? a->scale : 1;
	int wkv = a->window_kv_heads ? a->window_kv_heads : a->kv_heads;
	int wdim = a->window_head_dim ? a->window_head_dim : a->head_dim;
	double in = a->expert_in ? a->expert_in : h;

	p.attention =
		a->kv_lora ? (arch_full_layers(a) + a->window_layers) * latent_params(a)
			   : arch_full_layers(a) * attention_params(a, a->kv_heads, a->head_dim) +
				     a->window_layers * attention_params(a, wkv, wdim) -
				     a->cross_layers * 2 * h * a->kv_heads * a->head_dim;
	p.linear = a->linear_layers * a->linear_params;
	p.dense = arch_dense_layers(a) * mats * h * a->ffn;
	p.one_expert = mats * in * a->expert_ffn * s;
	p.experts = a->moe_layers * (double)a->experts * mats * in * a->expert_ffn;
	p.shared = a->moe_layers * (mats * h * a->shared_ffn + (a->expert_in ? 2 * h * in : 0));
	p.router = a->moe_layers * h * a->experts;
	p.head = h * a->vocab;
	p.embed = a->tied ? 0 : h * a->vocab;
	p.aside = a->aside;
	p.attention *= s, p.linear *= s, p.dense *= s, p.shared *= s, p.experts *= s, p.router *= s;
	p.total = p.attention + p.linear + p.dense + p.shared + p.experts + p.router + p.head +
		  p.embed + p.aside;
	p.active = p.attention + p.linear + p.dense + p.shared + p.router + p.head +
		   a->moe_layers * (double)a->top * p.one_expert;
	return p;
}

const char *arch_size(struct arena *a, const struct arch *m)
{
	struct arch_parts p = arch_parts(m);
	double total = (m->total > 0 ? m->total : p.total) / 1e9;

	return arena_printf(a, "%.*g B parameters%s", total < 999.5 ? 3 : 4, total,
			    m->moe_layers ? arena_printf(a, ", %.*g B active",
							 p.active < 99.5e9 ? 2 : 3, p.active / 1e9)
					  : "");
}

/* Elements of one token in one layer. */
static double full_width(const struct arch *a)
{
	return a->kv_lora ? a->kv_lora + a->rope_dim : 2.0 * a->kv_heads * a->head_dim;
}

static double window_width(const struct arch *a)
{
	return 2.0 * (a->window_kv_heads ? a->window_kv_heads : a->kv_heads) *
	       (a->window_head_dim ? a->window_head_dim : a->head_dim);
}

double arch_cache_elements(const struct arch *a, double tokens)
{
	double own = 1, all = arch_full_layers(a) + a->window_layers;

	if (a->kv_shared_layers > 0 && all > 0)
		own = fmax(0, 1 - a->kv_shared_layers / all);
	return own * ((arch_full_layers(a) - a->cross_layers) * full_width(a) * tokens *
			      (1 + (a->index_top ? INDEX : 0)) +
		      a->window_layers * window_width(a) * fmin(tokens, a->window));
}

double arch_cache_read(const struct arch *a, double tokens)
{
	double seen = a->index_top ? fmin(tokens, a->index_top) + tokens * INDEX : tokens;

	return arch_full_layers(a) * full_width(a) * seen +
	       a->window_layers * window_width(a) * fmin(tokens, a->window);
}

double arch_state_bytes(const struct arch *a)
{
	return a->linear_layers * a->linear_state;
}

/* The sum over the prompt of how many tokens each sees. */
static double seen_sum(double n, double depth, double most)
{
	double early = fmax(0, fmin(n, most - depth));

	if (most <= 0)
		return n * depth + n * n / 2;
	return early * depth + early * early / 2 + (n - early) * most;
}

/* Heads wider than 128 do not fit the fast kernels' tiles: their cost grows with the square. Not
 * operations: a rate of them is told with those that there are. */
static double effort(int head_dim)
{
	return 2.0 * head_dim * fmax(1, head_dim / 128.0);
}

/* Of n tokens, where each pair of tokens costs so much in a layer that sees all and in one with a
 * window. */
static double pairs(const struct arch *a, double n, double depth, double full, double window)
{
	return 2.0 * a->heads *
	       (arch_full_layers(a) * full * seen_sum(n, depth, a->index_top) +
		a->window_layers * window * seen_sum(n, depth, fmax(a->window, 1)));
}

static int window_dim(const struct arch *a)
{
	return a->window_head_dim ? a->window_head_dim : a->head_dim;
}

static double latent_dims(const struct arch *a)
{
	return a->nope_dim + a->rope_dim + a->v_dim;
}

double arch_attention_ops(const struct arch *a, double n, double depth)
{
	double full = a->kv_lora ? latent_dims(a) : 2.0 * a->head_dim;

	return pairs(a, n, depth, full, 2.0 * window_dim(a));
}

double arch_attention_effort(const struct arch *a, double n, double depth)
{
	double full = a->kv_lora ? latent_dims(a) : effort(a->head_dim);

	return pairs(a, n, depth, full, effort(window_dim(a)));
}

double arch_recomputed_ops(const struct arch *a, double sequence)
{
	struct arch_parts p = arch_parts(a);

	return 2 * (p.active - p.head) + arch_attention_ops(a, sequence, 0) / sequence;
}

double arch_experts_reached(const struct arch *a, double tokens, double even)
{
	double missed = a->experts ? 1 - (double)a->top / a->experts : 0;
	double shape = even / fmax(1e-6, 1 - even);

	if (missed <= 0)
		return 1;
	return 1 - missed * pow(1 - fmax(0, tokens - 1) * log(missed) / shape, -shape);
}

/* From a name to a shape: words in order, sizes in names, and the nearest model of a size. */

/* "Org/Qwen3.5-27B" becomes "-org-qwen3.5-27b-": a dot stays between digits, and an underscore
 * there is one ("Llama-3_3"). */
static void words_of_name(char *to, size_t size, const char *name)
{
	size_t n = 0;

	to[n++] = '-';
	for (const char *s = name; *s && n + 2 < size; s++) {
		bool dot = (*s == '.' || *s == '_') && s > name && isdigit((unsigned char)s[-1]) &&
			   isdigit((unsigned char)s[1]);

		if (isalnum((unsigned char)*s) || dot)
			to[n++] = (char)(dot ? '.' : tolower((unsigned char)*s));
		else if (to[n - 1] != '-')
			to[n++] = '-';
	}
	if (to[n - 1] != '-')
		to[n++] = '-';
	to[n] = '\0';
}

/* Where the word of key ends in the name, when it stands there from a word's beginning to a word's
 * end; hyphens of the name do not count. NULL: it does not. */
static const char *infer_models_word_at(const char *at, const char *key, size_t len)
{
	for (size_t i = 0; i < len; i++, at++) {
		if (i && *at == '-')
			at++;
		if (*at != key[i])
			return NULL;
	}
	return *at == '-' ? at : NULL;
}

/* Letters of one alternative ("qwen3|8b") that the name has, all in order; 0: not all. */
static size_t match_key(const char *words, const char *key, size_t len)
{
	size_t letters = 0;
	const char *from = words;

	while (len) {
		size_t n = 0;
		const char *end = NULL;

		while (n < len && key[n] != '|')
			n++;
		for (; *from && !end; from++)
			if (*from == '-' && (end = infer_models_word_at(from + 1, key, n)))
				break;
		if (!end)
			return 0;
		from = end;
		letters += n;
		key += n < len ? n + 1 : n;
		len -= n < len ? n + 1 : n;
	}
	return letters;
}

/* Whether the alternative speaks of a size itself. */
static bool key_sized(const char *key, size_t len)
{
	for (size_t i = 1; i < len; i++)
		if ((key[i] == 'b' || key[i] == 'm' || key[i] == 'e') &&
		    isdigit((unsigned char)key[i - 1]) && (i + 1 == len || key[i + 1] == '|'))
			return true;
	return false;
}

static size_t match_row(const char *words, const struct model_row *r, double total)
{
	size_t best = 0;
	double own = arch_parts(&r->a).total;
	bool other = total > 0 && fabs(log(own / total)) > 0.3;

	for (const char *k = r->keys; *k;) {
		size_t len = strcspn(k, " "), n = match_key(words, k, len);

		if (n > best && (!other || key_sized(k, len)))
			best = n;
		k += len + (k[len] == ' ');
	}
	return best;
}

/* Of no model are fewer parameters, and of none more. */
static double likely_size(double parameters)
{
	return parameters >= 1e6 && parameters <= 1e14 ? parameters : 0;
}

/* A size like "27b", "0.8b", "350m", "7b1" at s, up to a hyphen; 0: none. */
static double size_at(const char *s)
{
	const char *end;
	double v;

	if (!isdigit((unsigned char)*s) || parse_decimal(s, &v, &end) || v <= 0)
		return 0;
	if (*end == 'x' && isdigit((unsigned char)end[1])) {
		double each = size_at(end + 1);

		return v * each * 0.83; /* attention is shared by the experts */
	}
	if (*end == 'b' && isdigit((unsigned char)end[1]) && end[2] == '-')
		return likely_size(1e9 * (v + 0.1 * (end[1] - '0')));
	if (end[0] && end[1] != '-' && end[1] != '\0')
		return 0;
	return likely_size(v * (*end == 'b' ? 1e9 : *end == 'm' ? 1e6 : *end == 't' ? 1e12 : 0));
}

void model_sizes(const char *name, double *total, double *active)
{
	char words[256];

	*total = *active = 0;
	words_of_name(words, sizeof(words), name);
	for (const char *s = words; (s = strchr(s, '-')); s++) {
		if (*total <= 0)
			*total = size_at(s + 1);
		if (s[1] == 'a' && *active <= 0)
			*active = size_at(s + 2);
	}
}

/* Above this size models have experts, unless they are said to have none. */
#define MOSTLY_EXPERTS 130e9
/* A shape like those of most models is taken though its size is off by so much more. */
#define UNUSUAL 0.15

/* What most models of today have; others are as large, and their cache is not. */
static bool usual(const struct arch *a)
{
	bool few = a->kv_lora > 0 || (a->kv_heads > 1 && a->kv_heads < a->heads);

	return few && a->ffn_mats != 2 && !a->linear_layers;
}

static double distance(const struct arch *a, double total, double active)
{
	struct arch_parts p = arch_parts(a);
	double d = fabs(log(p.total / total));
	bool likely = total > MOSTLY_EXPERTS;

	if (active > 0)
		return d + fabs(log(p.active / active));
	if (!usual(a))
		d += UNUSUAL;
	return (a->experts > 0) == likely ? d : d + 3;
}

static const struct arch *infer_models_nearest(const struct knowledge *known, double total,
					       double active)
{
	const struct arch *best = NULL;
	double least = 1e9;

	for (const struct model_row *r = known->models; r->a.name; r++) {
		double d = distance(&r->a, total, active);

		if (d < least - 0.02)
			least = d, best = &r->a;
	}
	return best;
}

/* A version in a name: the letters before its number ("qwen3.8", "v4.1") or the word before it
 * ("glm-5"). */
struct version {
	const char *letters, *number;
	size_t n, len;
};

/* The next one of words that begin with hyphens; *at goes on behind it. false: no more. */
static bool version_next(const char **at, struct version *v)
{
	static const char abc[] = "abcdefghijklmnopqrstuvwxyz", digits[] = "0123456789.";
	const char *before = NULL;

	for (const char *word = *at; *word;) {
		const char *end = strchrnul(word, '-');
		size_t whole;

		*v = (struct version){ .letters = word, .n = strspn(word, abc) };
		v->number = word + v->n;
		v->len = strspn(v->number, digits);
		whole = strspn(v->number, "0123456789");
		*at = *end ? end + 1 : end;
		if (!v->n && before) {
			v->letters = before;
			v->n = strspn(before, abc);
		}
		if (v->n && whole && whole < 3 && v->number + v->len == end)
			return true;
		before = word;
		word = *at;
	}
	return false;
}

static bool same_text(const char *a, size_t n, const char *b, size_t m)
{
	return n == m && memcmp(a, b, n) == 0;
}

/*
 * Another version is another model, even where all other words are the same: "Qwen4-30B-A3B" is no
 * Qwen3-30B-A3B. A number counts behind letters that have one in the row as well.
 */
static bool other_version(const char *words, const char *name, const char *keys)
{
	char own[2048];
	struct version asked, known;

	words_of_name(own, 256, name);
	words_of_name(own + strlen(own) - 1, sizeof(own) - strlen(own) + 1, keys);
	for (const char *at = words + 1; version_next(&at, &asked);) {
		bool speaks = false, same = false;

		for (const char *o = own + 1; !same && version_next(&o, &known);) {
			bool alike = same_text(asked.letters, asked.n, known.letters, known.n);

			speaks |= alike;
			same = alike && same_text(asked.number, asked.len, known.number, known.len);
		}
		if (speaks && !same)
			return true;
	}
	return false;
}

/* total: the size that the name has; 0: none counts. */
static const struct model_row *infer_models_by_name(const struct knowledge *known, const char *name,
						    double total)
{
	char words[256];
	const struct model_row *best = NULL;
	size_t most = 0;

	words_of_name(words, sizeof(words), name);
	for (const struct model_row *r = known->models; r->a.name; r++) {
		size_t n = match_row(words, r, total);

		if (n > most && !other_version(words, r->a.name, r->keys))
			most = n, best = r;
	}
	return best;
}

/* The checkpoint of this name, with its owner or without. NULL: none. */
static const struct checkpoint_row *checkpoint_named(const char *name)
{
	bool owned = strchr(name, '/') != NULL;

	for (const struct checkpoint_row *c = checkpoint_rows; c->name; c++) {
		const char *slash = strchr(c->name, '/');

		if (strcasecmp(owned || !slash ? c->name : slash + 1, name) == 0)
			return c;
	}
	return NULL;
}

static const struct model_row *row_named(const struct knowledge *known, const char *name)
{
	for (const struct model_row *r = known->models; r->a.name; r++)
		if (strcmp(r->a.name, name) == 0)
			return r;
	return NULL;
}

/* Whose name tells what it does, where that is no generation of text. NULL: nothing. */
static const struct model_class_row *class_named(const char *words)
{
	for (const struct model_class_row *c = model_class_rows; c->name; c++)
		if (match_key(words, c->name, strlen(c->name)))
			return c;
	return NULL;
}

/* What is no language model by its name. A drafter of a model of the list is taken for the model.
 */
static int other_class(const char *name, const struct model_class_row *c, bool listed,
		       struct err *e)
{
	if (!c || (listed && c->class == CLASS_DRAFTER))
		return 0;
	err_set(e, -ENOTSUP,
		"\"%.80s\" is of class %s, by its name, not a text model: only text generation is "
		"predicted",
		name, model_class_names[c->class]);
	err_hint(e, "if it generates text, give its config.json or GGUF file");
	return -ENOTSUP;
}

/* Scaled so that the counted parameters are those asked for. */
static void scale_to(struct arch *a, double total)
{
	struct arch_parts p = arch_parts(a);
	double fixed = p.head + p.embed + p.aside, rest = p.total - fixed;

	a->total = total;
	a->scale = total > fixed * 1.05 && rest > 0 ? (total - fixed) / rest : total / p.total;
}

/* "llama3.1" of "Llama-3.1-8B" and of "llama 3.1". */
static const char *without_dashes(const char *name, char out[64])
{
	size_t n = 0;

	for (; *name && n < 63; name++)
		if (!strchr("-_ ", *name))
			out[n++] = *name;
	out[n] = '\0';
	return out;
}

static void hint_near_model(const struct knowledge *known, const char *name, struct err *e)
{
	char asked[64], row[64];
	struct near_word near = near_word_to(without_dashes(name, asked));

	for (const struct model_row *r = known->models; r->a.name; r++)
		near_word_try(&near, without_dashes(r->a.name, row), r->a.name);
	err_hint(e,
		 "%s%s%sgive its config.json or GGUF file, or --params 8e9; see \"gputune list "
		 "models\"",
		 near.word ? "did you mean \"" : "", near.word ? near.word : "",
		 near.word ? "\"? Otherwise " : "");
}

/* A checkpoint of the catalogue, unless a row has its name. */
static bool model_checkpoint(struct arena *a, const struct knowledge *known, const char *name,
			     struct arch *out, const char **taken)
{
	const struct checkpoint_row *c = checkpoint_named(name);
	const struct model_row *r = c ? row_named(known, c->model) : NULL;
	const char *slash = c ? strchr(c->name, '/') : NULL;

	if (!r || strcasecmp(slash ? slash + 1 : c->name, r->a.name) == 0)
		return false;
	*out = r->a;
	out->format = c->format;
	out->stored = c->stored;
	*taken = arena_printf(
		a, "%s, a checkpoint of the catalogue with the shape of %s (%s, %s)%s", c->name,
		r->a.name, c->source, c->date, r->a.guessed ? ", figures partly unchecked" : "");
	return true;
}

/* How a row was found, and what of the name it does not have. */
static const char *row_taken(struct arena *a, const struct model_row *r, const char *words,
			     const struct model_class_row *c, double active)
{
	const char *other = "";

	if (active > 0 && fabs(arch_parts(&r->a).active / active - 1) > 0.25)
		other = arena_printf(a,
				     "; the name says %.3g B active parameters, its shape %.3g B",
				     active / 1e9, arch_parts(&r->a).active / 1e9);
	return arena_printf(
		a, "%s%s, found by name (%s%s)%s%s%s", r->a.name,
		other_version(words, r->a.name, "") ? ", whose shape this version shares" : "",
		r->a.source, r->a.guessed ? ", figures partly unchecked" : "",
		strstr(words, "-vl-") || strstr(words, "-vision-") || strstr(words, "-omni-")
			? "; only its language part"
			: "",
		c && c->class == CLASS_DRAFTER ? "; the model itself, without a drafter (--draft)"
					       : "",
		other);
}

int model_find(struct arena *a, const struct knowledge *known, const char *name,
	       const struct model_hint *hint, struct arch *out, const char **taken, struct err *e)
{
	const struct model_row *r;
	double total, active;
	const struct model_class_row *class;
	const struct arch *like;
	struct arch_parts parts;
	char words[256];

	known = knowledge_or_built_in(known);
	words_of_name(words, sizeof(words), name);
	class = class_named(words);
	model_sizes(name, &total, &active);
	r = infer_models_by_name(known, name, total);
	if (other_class(name, class, r != NULL, e) < 0)
		return -ENOTSUP;
	if (model_checkpoint(a, known, name, out, taken))
		return 0;
	if (r) {
		*out = r->a;
		*taken = row_taken(a, r, words, class, active);
		return 0;
	}
	if (hint && hint->total > 0)
		total = hint->total;
	if (hint && hint->active > 0)
		active = hint->active;
	if (hint && hint->active > 0 && total > 0 && active > total)
		return err_set(e, -EINVAL,
			       "active parameters exceed the total of %.3g billion: %.3g billion",
			       total / 1e9, active / 1e9);
	if (strcasestr(name, "dense"))
		active = total;
	/* Of a model of the list experts were taken out, down to that size. */
	r = total > 0 && strcasestr(name, "-reap") ? infer_models_by_name(known, name, 0) : NULL;
	parts = r ? arch_parts(&r->a) : (struct arch_parts){ 0 };
	if (total < parts.total && total > parts.total - 0.9 * parts.experts) {
		*out = r->a;
		out->guessed = true;
		out->experts -= (int)lround(r->a.experts * (parts.total - total) / parts.experts);
		*taken = arena_printf(a, "%s with %d of its %d experts, by the size in the name",
				      r->a.name, out->experts, r->a.experts);
		return 0;
	}
	if (total <= 0) {
		err_set(e, -ENOENT, "unknown model \"%.80s\", and its name has no size", name);
		hint_near_model(known, name, e);
		return -ENOENT;
	}
	like = infer_models_nearest(known, total, active);
	*out = *like;
	out->name = arena_strdup(a, name);
	out->guessed = true;
	out->format = NULL;
	scale_to(out, total);
	*taken = arena_printf(
		a, "unknown model: using the shape of %s, scaled to %.3g billion parameters",
		like->name, total / 1e9);
	return 0;
}
