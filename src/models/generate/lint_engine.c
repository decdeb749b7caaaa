/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Command lines that start an engine: which one, which options, and whether what they ask for can
 * be on the machine. Options in an engine's own configuration file are not read.
 */
#include <math.h>
#include <string.h>

#include "base/text.h"
#include "models/generate/lint.h"
#include "models/generate/serve.h"

/* What the options say. 0 and NULL: not known. */
struct engine_options {
	struct lint *l;
	enum engine engine;
	const char *model;
	unsigned line, line_memory;
	const char *name_memory;
	double memory, context, users, kv_bytes;
	int tp, pp, nodes;
	const char *kv, *kv_values, *quant, *flash;
	bool eager, layers_told;
	double layers;
	bool bad;	  /* something is wrong already */
	struct map given; /* option to struct lint_word of its value */
};

/* Which engine the words start, and where its own words begin; ENGINES: none. */
static enum engine lint_engine_find(const struct lint_word *w, size_t n, size_t *at)
{
	for (size_t i = 0; i < n; i++) {
		const char *b = path_name(w[i].text);
		const char *next = i + 1 < n ? w[i + 1].text : "";

		*at = i + 1;
		if (strcmp(b, "llama-server") == 0)
			return ENGINE_LLAMACPP;
		if (strcmp(b, "trtllm-serve") == 0) {
			*at += strcmp(next, "serve") == 0;
			return ENGINE_TRTLLM;
		}
		*at = i + 2;
		if (strcmp(b, "vllm") == 0 && strcmp(next, "serve") == 0)
			return ENGINE_VLLM;
		if (strcmp(b, "sglang") == 0 && strcmp(next, "serve") == 0)
			return ENGINE_SGLANG;
		if (strcmp(b, "-m") == 0 && str_starts(next, "vllm.entrypoints"))
			return ENGINE_VLLM;
		if (strcmp(b, "-m") == 0 && strcmp(next, "sglang.launch_server") == 0)
			return ENGINE_SGLANG;
	}
	return ENGINES;
}

/* A number with k, m, g or t behind it, as some engines take it (in capitals by 1024); NAN: none.
 */
static double lint_engine_number(const char *s)
{
	static const char letters[] = "kmgt";
	const char *at, *end;
	double v;

	if (parse_decimal(s, &v, &end))
		return NAN;
	at = *end ? strchr(letters, *end | 32) : NULL;
	if (at) {
		v *= pow(*end & 32 ? 1000 : 1024, (double)(at - letters + 1));
		end++;
	}
	return *end ? NAN : v;
}

static void bad_number(struct engine_options *t, const struct lint_word *w, const char *option,
		       const char *value)
{
	t->bad = true;
	lint_add(t->l, LINT_ERROR, "bad-value", w->line, option, NULL, NULL,
		 "%s: expected a number, got \"%.40s\"", option, value);
}

static void take_number(struct engine_options *t, const struct lint_word *w,
			const struct engine_option *o, const char *value)
{
	double v = lint_engine_number(value);

	if (isnan(v)) {
		if (o->means != MEANS_LAYERS && strcmp(value, "auto") != 0)
			bad_number(t, w, o->name, value);
		return;
	}
	/* -1 leaves the choice to the engine. */
	if (v < 0 && o->means != MEANS_MEMORY)
		return;
	if (o->means == MEANS_TP || o->means == MEANS_PP || o->means == MEANS_NODES) {
		int *to = o->means == MEANS_TP ? &t->tp : o->means == MEANS_PP ? &t->pp : &t->nodes;

		if (v < 1 || v > 4096 || v != floor(v))
			bad_number(t, w, o->name, value);
		else
			*to = (int)v;
	} else if (o->means == MEANS_CONTEXT) {
		t->context = v;
	} else if (o->means == MEANS_USERS) {
		t->users = v;
	} else if (o->means == MEANS_KV_BYTES) {
		t->kv_bytes = v;
	} else if (o->means == MEANS_LAYERS) {
		t->layers = v;
		t->layers_told = true;
	} else if (o->means == MEANS_MEMORY) {
		t->memory = v;
		t->line_memory = w->line;
		t->name_memory = o->name;
	}
}

static void take_option(struct engine_options *t, const struct lint_word *w,
			const struct engine_option *o, const char *value, bool open)
{
	if (open && !o->flag)
		return;
	switch (o->means) {
	case MEANS_MODEL:
		t->model = value;
		break;
	case MEANS_KV:
		t->kv = value;
		break;
	case MEANS_KV_VALUES:
		t->kv_values = value;
		break;
	case MEANS_WEIGHTS:
		t->quant = value;
		break;
	case MEANS_FLASH:
		t->flash = value;
		break;
	case MEANS_EAGER:
		t->eager = true;
		break;
	case MEANS_TP:
	case MEANS_PP:
	case MEANS_NODES:
	case MEANS_CONTEXT:
	case MEANS_USERS:
	case MEANS_KV_BYTES:
	case MEANS_MEMORY:
	case MEANS_LAYERS:
		take_number(t, w, o, value);
		break;
	default:
		break;
	}
}

/* An option that this engine has not, and another has. */
static void of_another(struct engine_options *t, const struct lint_word *w, const char *name,
		       size_t n)
{
	static const enum engine all[] = { ENGINE_VLLM, ENGINE_SGLANG, ENGINE_TRTLLM,
					   ENGINE_LLAMACPP };

	if (n < 6)
		return;
	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
		const struct engine_option *o =
			all[i] != t->engine ? engine_option(all[i], name, n) : NULL;
		const char *own = o ? engine_option_name(t->engine, o->means) : NULL;

		if (!o || (o->means == MEANS_OTHER || !own))
			continue;
		t->bad = true;
		lint_add(t->l, LINT_ERROR, "other-engine", w->line, arena_strndup(t->l->a, name, n),
			 own, engine_source(t->engine)->source,
			 "%.*s is an option of %s; the option of %s is %s", (int)n, name,
			 engine_source(all[i])->name, engine_source(t->engine)->name, own);
		return;
	}
}

/* A word that is no option: "-1" is a number. */
static bool is_value(const char *s)
{
	return *s != '-' || (s[1] >= '0' && s[1] <= '9') || s[1] == '.';
}

/* An option and what stands behind it, whether this program knows the option or not. */
static void note_option(struct engine_options *t, const struct lint_word *w, size_t len,
			const char *value, bool open)
{
	struct lint_word *given = ARENA_NEW(t->l->a, struct lint_word);
	char *name = arena_strndup(t->l->a, w->text, len);

	for (size_t i = 2; i < len; i++)
		name[i] = name[i] == '_' ? '-' : name[i];
	/* "-1" may be a value; "--next" is another option. */
	if (value && w->text[len] != '=' && !is_value(value))
		value = NULL;
	*given =
		(struct lint_word){ .text = value ? value : "true", .line = w->line, .open = open };
	*map_at(t->l->a, &t->given, name) = given;
}

static void lint_engine_read_options(struct engine_options *t, const struct lint_word *w, size_t n,
				     size_t at)
{
	for (size_t i = at; i < n; i++) {
		const char *s = w[i].text, *is = strchr(s, '=');
		size_t len = is ? (size_t)(is - s) : strlen(s);
		const struct engine_option *o;

		if (*s != '-') {
			/* The model stands alone, in front of everything. */
			if (!t->model && i == at && !w[i].open && t->engine != ENGINE_LLAMACPP)
				t->model = s;
			continue;
		}
		note_option(t, &w[i], len,
			    is		? is + 1
			    : i + 1 < n ? w[i + 1].text
					: NULL,
			    is || i + 1 >= n ? w[i].open : w[i + 1].open);
		o = engine_option(t->engine, s, len);
		if (!o) {
			of_another(t, &w[i], s, len);
			continue;
		}
		if (o->flag || is) {
			take_option(t, &w[i], o, is ? is + 1 : "", w[i].open);
		} else if (i + 1 < n && is_value(w[i + 1].text)) {
			take_option(t, &w[i], o, w[i + 1].text, w[i + 1].open);
			i++;
		} else if (o->means != MEANS_FLASH) {
			t->bad = true;
			lint_add(t->l, LINT_ERROR, "no-value", w[i].line, o->name, NULL, NULL,
				 "%s has no value", o->name);
		}
	}
}

/* --- judging ---------------------------------------------------------------------------------- */
static const char *option_at(void *ctx, const char *name, unsigned *line)
{
	const struct engine_options *t = ctx;
	const struct lint_word *w = map_get(&t->given, name);

	if (!w)
		return NULL;
	*line = w->line;
	return w->open ? lint_value_open : w->text;
}

static void judge_values(struct engine_options *t)
{
	static const enum value_reader readers[] = {
		[ENGINE_VLLM] = VALUE_VLLM,
		[ENGINE_SGLANG] = VALUE_SGLANG,
		[ENGINE_LLAMACPP] = VALUE_LLAMACPP,
		[ENGINE_TRTLLM] = VALUE_TRTLLM,
	};

	lint_values(&(struct lint_values){ t->l, readers[t->engine], option_at, t });
}

static void judge_flags(struct engine_options *t)
{
	struct lint *l = t->l;
	const struct engine_option *eager =
		engine_option_name(t->engine, MEANS_EAGER)
			? engine_option(t->engine, engine_option_name(t->engine, MEANS_EAGER),
					strlen(engine_option_name(t->engine, MEANS_EAGER)))
			: NULL;

	if (t->eager && eager)
		lint_add(l, LINT_WARNING, "eager", t->line, eager->name,
			 "remove it unless you are debugging", NULL, "%s: %s", eager->name,
			 eager->note);
	if (t->kv_values && strcmp(t->kv_values, "f16") != 0 && t->flash &&
	    (strcmp(t->flash, "off") == 0 || strcmp(t->flash, "0") == 0)) {
		t->bad = true;
		lint_add(l, LINT_ERROR, "contradiction", t->line, "--cache-type-v",
			 "--flash-attn on", engine_source(t->engine)->source,
			 "KV cache values in %.20s require flash attention, which is off",
			 t->kv_values);
	}
	if (t->layers_told && t->layers < 1 && l->on->node && l->on->node->gpus)
		lint_add(l, LINT_WARNING, "no-layers", t->line, "--n-gpu-layers", "999", NULL,
			 "no layer is on the machine's GPU");
}

static void judge_gpus(struct engine_options *t)
{
	const struct gen_node *n = t->l->on->node;
	long long need = (long long)(t->tp ? t->tp : 1) * (t->pp ? t->pp : 1);
	long long have = n ? (long long)n->gpus * (t->nodes ? t->nodes : 1) : 0;

	if (!have || need <= have || t->engine == ENGINE_TRTLLM)
		return;
	t->bad = true;
	lint_add(t->l, LINT_ERROR, "too-many-gpus", t->line, "parallelism", NULL, NULL,
		 "%d x %d requires %lld GPUs; %d machine%s like this one ha%s %lld",
		 t->tp ? t->tp : 1, t->pp ? t->pp : 1, need, t->nodes ? t->nodes : 1,
		 PLURAL(t->nodes), t->nodes > 1 ? "ve" : "s", have);
}

/* A fraction by itself: of what the machine has, can so much be had? */
static void judge_fraction(struct engine_options *t)
{
	const struct gen_node *n = t->l->on->node;
	double total, can, most;

	if (!t->name_memory) {
		if (t->engine == ENGINE_VLLM && n && n->unified && t->kv_bytes <= 0)
			lint_add(t->l, LINT_WARNING, "memory", t->line, "--gpu-memory-utilization",
				 "gputune generate vllm", engine_source(t->engine)->source,
				 "the default is 0.9 or more of all memory (0.92 in current "
				 "documentation), which CPU and GPU share here");
		return;
	}
	if (t->memory <= 0 || t->memory > 1) {
		t->bad = true;
		lint_add(t->l, LINT_ERROR, "bad-value", t->line_memory, t->name_memory, NULL, NULL,
			 "%s: expected a fraction from 0 to 1, got %g", t->name_memory, t->memory);
		return;
	}
	if (!n || !n->unified || n->total_bytes <= 0 || t->engine != ENGINE_VLLM)
		return;
	total = (double)n->total_bytes;
	can = n->available_bytes > 0 ? (double)n->available_bytes : total;
	most = serve_may_take(true, total, can);
	if (t->memory * total > can)
		lint_add(t->l, LINT_ERROR, "memory", t->line_memory, t->name_memory,
			 arena_printf(t->l->a, "%.2f", floor(most / total * 100) / 100),
			 "the machine's facts",
			 "%g of %.1f GB is %.1f GB, but only %.1f GB is free: the engine will not "
			 "start",
			 t->memory, total / 1e9, t->memory * total / 1e9, can / 1e9);
	else if (t->memory * total > most)
		lint_add(t->l, LINT_WARNING, "memory", t->line_memory, t->name_memory,
			 arena_printf(t->l->a, "%.2f", floor(most / total * 100) / 100),
			 "the machine's facts; users report 0.82 to 0.87",
			 "%g of %.1f GB leaves the system too little: machines with shared CPU and "
			 "GPU memory have frozen this way",
			 t->memory, total / 1e9);
}

/* What the prediction adds for libraries, graphs and activations is on the safe side: where only
 * that is missing, it is a warning. */
static void judge_need(struct engine_options *t, const struct serve_plan *plan,
		       const struct target_hw *place, const struct prediction *p, double context)
{
	const struct memory_footprint *m = &p->memory;
	double least = m->weights + m->state + m->cache, all = m->total - m->reserve;
	double budget = t->memory * plan->total_bytes;
	struct lint *l = t->l;

	if (!m->fits)
		lint_add(l, least > m->limit ? LINT_ERROR : LINT_WARNING, "memory", t->line,
			 t->model, arena_printf(l->a, "%.0f tokens fit", m->most_context),
			 "predicted (gputune predict inference)",
			 "one request of %.0f tokens needs %.1f GB, of which weights and cache are "
			 "%.1f GB; %.1f GB is available (%s)",
			 context, all / 1e9, least / 1e9, (m->limit - m->reserve) / 1e9,
			 place->memory_from);
	else if (t->name_memory && t->engine == ENGINE_VLLM && all > budget)
		lint_add(l, least > budget ? LINT_ERROR : LINT_WARNING, "memory", t->line_memory,
			 t->name_memory,
			 arena_printf(l->a, "%.2f", ceil(all / plan->total_bytes * 100) / 100),
			 "predicted (gputune predict inference)",
			 "%g of %.1f GB is %.1f GB; one request of %.0f tokens needs %.1f GB, of "
			 "which weights and cache are %.1f GB",
			 t->memory, plan->total_bytes / 1e9, budget / 1e9, context, all / 1e9,
			 least / 1e9);
}

/* What fits is asked of the prediction, with what the words say. */
static void judge_fit(struct engine_options *t)
{
	struct lint *l = t->l;
	struct gen_cluster c = { .nodes = (struct gen_node *)(uintptr_t)l->on->node,
				 .n = 1,
				 .known = l->on->known };
	struct serve_plan *plan = ARENA_NEW(l->a, struct serve_plan);
	struct infer_options w = { .known = l->on->known,
				   .model = t->model,
				   .cache = t->kv,
				   .draft_cost = 0.05,
				   .accept = 0.7 };
	struct prediction *p = ARENA_NEW(l->a, struct prediction);
	const char *why;
	struct target_hw place;
	struct query q;
	struct err e = { 0 };

	if (t->bad || !t->model || !l->on->fits || !l->on->node || !l->on->node->gpus ||
	    serve_place(l->a, &c, NULL, &place, plan, &e) < 0)
		return;
	if (t->nodes > 1) {
		place.nodes = t->nodes;
		place.gpus *= t->nodes;
	}
	w.file = l->on->model ? l->on->model(l->on->model_ctx, t->model) : NULL;
	w.weight_bytes = w.file ? w.file->bytes : 0;
	w.place = &place;
	w.engine = engine_names[t->engine];
	w.weights = lint_weights(t->model, t->quant, w.file);
	w.tp = t->tp ? t->tp : 1;
	w.pp = t->pp ? t->pp : 1;
	if (t->kv && format_cache_bytes(t->kv) <= 0)
		w.cache = "auto";
	w.batch = 1;
	w.prompt = t->context > 1 ? t->context - 1 : 1024;
	w.output = 1;
	if (question_make(l->a, &w, l->on->fits, &q, &e) < 0)
		return;
	predict(l->a, &q, l->on->fits, p);
	why = serve_not_possible(l->a, &q.arch, t->engine, w.tp, w.pp);
	if (why)
		lint_add(l, LINT_ERROR, "cannot-spread", t->line, t->model, NULL, q.arch.source,
			 "%.80s cannot be split %d x %d: %s", q.arch.name, w.tp, w.pp, why);
	judge_need(t, plan, &place, p, w.prompt + 1);
}

void lint_engine(struct lint *l, const struct lint_word *w, size_t n)
{
	struct engine_options t = { .l = l };
	size_t at = 0;

	t.engine = lint_engine_find(w, n, &at);
	if (t.engine == ENGINES)
		return;
	t.line = w[0].line;
	l->commands++;
	lint_engine_read_options(&t, w, n, at);
	judge_values(&t);
	judge_flags(&t);
	judge_gpus(&t);
	judge_fraction(&t);
	judge_fit(&t);
}
