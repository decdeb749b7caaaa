/* SPDX-License-Identifier: Apache-2.0 */
/* A figure against bands, data sheets and predictions. */
#include <fnmatch.h>
#include <math.h>
#include <string.h>

#include "base/text.h"
#include "knowledge/bands.h"
#include "models/normal/normal.h"

const char *const normal_verdict_names[NORMAL_VERDICTS] = { "slow", "impossible", "unknown",
							    "normal" };

/* Of a limit, so much may be measured: clocks and rounding. */
static const double beyond = 1.02;
static const double nvlink_least = 100; /* GB/s one way: of V100 and later, not of PCIe 6.0 */

/* --- what the text says ------------------------------------------------------------------------
 */

/* What the text says of a key; "" where it says nothing. */
static const char *normal_key(const struct normal_seen *s, const char *key)
{
	for (size_t i = 0; i < s->n_keys; i++)
		if (strcmp(s->keys[i], key) == 0)
			return s->texts[i];
	return "";
}

const char *normal_fill(struct arena *a, const struct normal_seen *s, const char *template)
{
	TEXT_AUTO t = { 0 };

	for (const char *at = template; *at; at++) {
		size_t n = strcspn(at, "}");

		if (*at != '{' || !at[n]) {
			text_addc(&t, *at);
			continue;
		}
		if (strncmp(at, "{gpus}", 6) == 0)
			text_printf(&t, "%d", s->gpus ? s->gpus : 1);
		else if (strncmp(at, "{pairs}", 7) == 0)
			text_printf(&t, "%d", s->gpus > 1 ? s->gpus * (s->gpus - 1) : 1);
		else
			text_add(&t, normal_key(s, arena_strndup(a, at + 1, n - 1)));
		at += n;
	}
	return arena_strdup(a, t.s ? t.s : "");
}

/* --- whose figure it is ----------------------------------------------------------------------- */

/* What a figure is judged for. */
struct of {
	const struct gpu_kind *gpu; /* NULL: not known */
	int gpus, nodes;	    /* 0: not known */
	const char *part; /* "link:100", "drive:NAME", as the text says; NULL: not known */
	double rate;	  /* of that link, Gbit/s: bands of links are parts of it; else 1 */
};

static struct of hardware_of_figure(struct arena *a, const struct normal_on *on,
				    const struct normal_seen *s)
{
	struct of o = { .gpus = s->gpus, .nodes = s->nodes, .rate = 1 };
	bool disk = strcmp(s->figure->bench, "disk") == 0;
	const char *part = normal_key(s, disk ? "drive" : "link");

	if (s->gpu)
		o.gpu = gpu_kind_of(on->known, s->gpu);
	else if (on->place)
		o = (struct of){ on->place->gpu, s->gpus ? s->gpus : on->place->gpus, s->nodes,
				 NULL, 1 };
	/* Between nodes all NICs carry a collective: GB/s of them together. */
	if (*part && s->nodes > 1 && strcmp(s->figure->bench, "collectives") == 0) {
		double nics = strtod(normal_key(s, "nics"), NULL);

		if (!(nics > 0) && *normal_key(s, "last-nic"))
			nics = strtod(normal_key(s, "last-nic"), NULL) + 1;
		o.part = nics > 0 ? arena_printf(a, "link:%s", part) : NULL;
		o.rate = nics > 0 ? nics * strtod(part, NULL) / 8 : 1;
	} else if (o.gpu && o.nodes < 2 && o.gpus > 1 &&
		   strcmp(s->figure->bench, "collectives") == 0) {
		o.part = o.gpu->link < nvlink_least ? "ring:pcie" : "ring:nvlink";
		o.rate = o.gpu->link;
	} else if (*part && (disk || strcmp(s->figure->unit, "Gbit/s") == 0)) {
		o.part = arena_printf(a, disk ? "drive:%s" : "link:%s", part);
		o.rate = disk ? 1 : strtod(part, NULL);
	}
	return o;
}

static bool is_hardware(const char *name, const struct gpu_kind *g)
{
	return (g && fnmatch(name, g->name, FNM_EXTMATCH) == 0) ||
	       (g && strcmp(name, "dgx-spark") == 0 && strcmp(g->name, "NVIDIA GB10") == 0);
}

/* --- what is usual ---------------------------------------------------------------------------- */

struct usual {
	double low, high, most;
	unsigned n;
	const char *source;
	double from; /* where nothing is usual: messages of this size have a band */
};

static bool counts(unsigned band, int seen)
{
	return !band || (int)band == seen;
}

/* part: of the link or the drive, not of the GPU; of a GPU whose own link is faster nothing says
 * anything of this one. */
static bool usual_of_others(struct arena *a, const struct normal_seen *s, const struct of *o,
			    const char *which, bool part, struct usual *out)
{
	double rate = part ? o->rate : 1;

	for (size_t i = 0; i < n_normal_bands; i++) {
		const struct normal_band *b = &normal_bands[i];

		if (strcmp(b->bench, s->figure->bench) != 0 ||
		    (part ? fnmatch(b->hardware, o->part, FNM_CASEFOLD | FNM_EXTMATCH) != 0
			  : !is_hardware(b->hardware, o->gpu) ||
				     (o->rate > 1 && b->most > o->rate)) ||
		    fnmatch(b->which, which, FNM_EXTMATCH) != 0 || !counts(b->gpus, o->gpus) ||
		    !counts(b->nodes, o->nodes))
			continue;
		if (s->size > 0 && s->size < b->from) {
			out->from = b->from;
			continue;
		}
		*out = (struct usual){
			b->low * rate, b->high * rate, b->most * rate, b->n, NULL, 0
		};
		out->source = arena_printf(a, "%s (%s)", b->source, b->date);
		return true;
	}
	return false;
}

/* Bands of our own benches, in their units. */
static bool usual_of_ours(struct arena *a, const struct normal_seen *s, const struct of *o,
			  const char *which, struct usual *out)
{
	static const char *const units[][2] = { { "GB/s", "gb_per_s" },
						{ "Gbit/s", "gbit_per_s" },
						{ "TFLOP/s", "tflop_per_s" },
						{ "us", "us" } };

	for (size_t i = 0; i < n_bands; i++)
		for (size_t u = 0; u < sizeof(units) / sizeof(units[0]); u++) {
			const struct band *b = &bands[i];

			if (strcmp(b->bench, s->figure->bench) != 0 ||
			    !is_hardware(b->hardware, o->gpu) || fnmatch(b->name, which, 0) != 0 ||
			    strcmp(units[u][0], s->figure->unit) != 0 ||
			    strcmp(units[u][1], b->unit) != 0)
				continue;
			*out = (struct usual){ b->low, b->high, 0, 1, NULL, 0 };
			out->source = arena_printf(a, "%s (%s)", b->source, b->date);
			return true;
		}
	return false;
}

/* --- the data sheet --------------------------------------------------------------------------- */

static double sheet_limit(const struct normal_figure *f, const struct of *o)
{
	const struct gpu_kind *g = o->gpu;
	const double limits[] = {
		[FIGURE_LIMIT_NONE] = 0,       [FIGURE_LIMIT_MEMORY] = g->bandwidth,
		[FIGURE_LIMIT_LINK] = g->link, [FIGURE_LIMIT_FP64] = g->fp64,
		[FIGURE_LIMIT_FP32] = g->fp32, [FIGURE_LIMIT_TF32] = g->tf32,
		[FIGURE_LIMIT_HALF] = g->half, [FIGURE_LIMIT_FP8] = g->fp8,
		[FIGURE_LIMIT_FP4] = g->fp4,   [FIGURE_LIMIT_INT8] = g->int8,
	};

	/* What a link carries bounds a node, not what lies between nodes. Of PCIe the table has
	 * what it carries in practice, and a bridge may carry more. */
	if (f->limit == FIGURE_LIMIT_LINK && (o->nodes > 1 || g->link < nvlink_least))
		return 0;
	return limits[f->limit] * (f->times > 0 ? f->times : 1);
}

/* Copies of a card are usual by what its PCIe link carries in practice, of 1.26 times that. */
static bool usual_of_link(const struct normal_seen *s, const struct of *o, const char *which,
			  struct usual *out)
{
	double link = o->gpu ? o->gpu->link : 0;

	if (strcmp(s->figure->bench, "copy") != 0 || strstr(which, "2d-both") ||
	    strstr(which, "2h-both") || !(link > 0) || link >= nvlink_least)
		return false;
	link *= str_starts(which, "peer-both") ? 2 : 1;
	*out = (struct usual){ 0.85 * link, 1.12 * link, 1.26 * link, 1, o->gpu->source, 0 };
	return true;
}

/* Products and copies within a GPU, of what its data sheet says: libraries differ, and sheets name
 * the faster of two ways to add up. */
static bool usual_of_sheet(const struct normal_figure *f, const struct of *o, struct usual *out)
{
	bool copy = f->limit == FIGURE_LIMIT_MEMORY;
	double limit = o->gpu && f->limit != FIGURE_LIMIT_LINK ? sheet_limit(f, o) : 0;

	*out = limit > 0 ? (struct usual){ (copy ? 0.7 : 0.45) * limit,
					   limit,
					   limit,
					   1,
					   o->gpu->source,
					   0 }
			 : *out;
	return limit > 0;
}

/* --- the verdict ------------------------------------------------------------------------------ */

static enum normal_verdict verdict_of(const struct normal_item *i, bool lower)
{
	if (!lower && i->limit > 0 && i->value > beyond * i->limit)
		return NORMAL_IMPOSSIBLE;
	if (!(i->low > 0))
		return NORMAL_UNKNOWN;
	if (lower ? i->value > i->high : i->value < i->low)
		return NORMAL_SLOW;
	return i->high > 0 ? NORMAL_USUAL : NORMAL_UNKNOWN;
}

static const char *why_of(struct arena *a, const struct normal_figure *f,
			  const struct normal_item *i)
{
	const char *limit = i->limit > 0 ? arena_printf(a, "; the hardware's limit is %.4g %s",
							i->limit, i->unit)
					 : "";

	switch (i->verdict) {
	case NORMAL_IMPOSSIBLE:
		return arena_printf(a,
				    "%.4g %s exceeds the hardware's limit (%.4g %s): the "
				    "measurement is wrong, or counts unfinished work",
				    i->value, i->unit, i->limit, i->unit);
	case NORMAL_SLOW:
	case NORMAL_USUAL:
		return arena_printf(a, "limited by %s%s", f->bound, limit);
	default:
		return i->why;
	}
}

static const char *hardware_text(struct arena *a, const struct normal_seen *s, const struct of *o)
{
	const char *name = o->gpu ? o->gpu->name : s->gpu;
	const char *nodes = o->nodes > 1 ? arena_printf(a, ", %d nodes", o->nodes) : "";

	if (o->part && o->rate > 1 && strcmp(s->figure->unit, "Gbit/s") == 0)
		return arena_printf(a, "a link of %g Gbit/s", o->rate);
	if (o->part && str_starts(o->part, "drive:"))
		return o->part + strlen("drive:");
	if (!name)
		return NULL;
	return arena_printf(a, "%d x %s%s", o->gpus ? o->gpus : 1, name, nodes);
}

static void compare(struct arena *a, const struct normal_seen *s, const struct of *o,
		    const char *which, struct normal_item *i)
{
	struct usual u = { 0 };
	bool known = usual_of_others(a, s, o, which, false, &u);

	if (o->part && !(u.high > 0))
		known = usual_of_others(a, s, o, which, true, &u) || known;
	known = known ||
		((!o->part || str_starts(o->part, "ring:")) && usual_of_ours(a, s, o, which, &u)) ||
		usual_of_link(s, o, which, &u) || usual_of_sheet(s->figure, o, &u);

	i->limit = u.most > 0 ? u.most : o->gpu ? sheet_limit(s->figure, o) : 0;
	if (known) {
		i->why = "only a lower limit is known: the usual value depends on the network";
		i->low = u.low;
		i->high = u.high;
		i->n = u.n;
		i->source = u.source;
	} else if (u.from > 0) {
		i->why = arena_printf(a, "reference values begin at %.3g MB: measure larger sizes",
				      u.from / 1e6);
	} else {
		i->why = arena_printf(a, "no reference value for %s on %s", i->title, i->hardware);
	}
}

void normal_judge(struct arena *a, const struct normal_on *on, const struct normal_seen *s,
		  struct normal_item *i)
{
	const struct normal_figure *f = s->figure;
	const char *which = normal_fill(a, s, f->which);
	struct of o = hardware_of_figure(a, on, s);

	*i = (struct normal_item){ .tool = s->tool,
				   .where = s->where,
				   .title = !*normal_key(s, "op") && strchr(f->title, '{')
						    ? arena_strndup(a, f->title,
								    strcspn(f->title, "{") - 4)
						    : normal_fill(a, s, f->title),
				   .unit = f->unit,
				   .value = s->value,
				   .size = s->size,
				   .test = f->test,
				   .hardware = hardware_text(a, s, &o) };
	if (!o.gpu && !o.part)
		i->why = s->gpu ? arena_printf(a, "%s: unknown GPU", s->gpu)
				: "hardware unknown: give --on";
	else
		compare(a, s, &o, which, i);
	i->verdict = verdict_of(i, f->lower);
	i->why = why_of(a, f, i);
	if (i->verdict == NORMAL_SLOW)
		i->off = f->lower ? i->value / i->high - 1 : 1 - i->value / i->low;
	if (o.gpu && i->verdict != NORMAL_IMPOSSIBLE)
		i->row = arena_printf(a,
				      "\"%s\" bench=%s case=\"%s\" gpus=%d nodes=%d low=%.4g "
				      "high=%.4g n=1 source=\"one: %s\" date=%s",
				      o.gpu->name, f->bench, which, o.gpus ? o.gpus : 1,
				      o.nodes ? o.nodes : 1, s->value * 0.9, s->value * 1.1,
				      s->tool, on->date);
}

/* --- engines' benchmarks ---------------------------------------------------------------------- */

static void add(struct arena *a, struct normal_items *out, const struct normal_item *i)
{
	if (out->n == NORMAL_ITEMS_MAX)
		return;
	ARENA_ADD(a, out->items, out->n) = *i;
}

/* An engine's settings are not all in its output: so much beyond the interval is nothing. */
static const double unseen_setup = 1.1, guessed_tokens = 4;

static void run_figure(struct arena *a, const struct log_run *l, const struct prediction *p,
		       const char *title, double measured, struct figure f,
		       struct normal_items *out)
{
	struct figure usual = figure_wider(f);
	const struct ask *k = &p->q.ask;
	const char *claim, *other;
	struct normal_item i = { .tool = log_tool_names[l->tool],
				 .where = l->where,
				 .unit = "ms",
				 .value = measured,
				 .low = usual.low,
				 .high = usual.high,
				 .test = "gputune doctor gpu" };

	if (!(measured > 0) || !(f.value > 0))
		return;
	i.title = arena_printf(a, "%s of %s %s, concurrency %d", title, p->q.arch.name,
			       k->weights->name, k->batch);
	i.hardware = arena_printf(a, "%d x %s", k->place.gpus, k->place.gpu->name);
	i.source = arena_printf(a, "predicted: %.4g ms%s, 95 %% interval", f.value,
				f.value > i.low ? "" : " at best");
	i.verdict = measured > unseen_setup * i.high ? NORMAL_SLOW : NORMAL_USUAL;
	i.why = strcmp(title, "TTFT") == 0 ? "the prompt's length and the GPU's compute limit it"
					   : p->limit_why;
	if (k->batch == 1 && strcmp(title, "TPOT") == 0 &&
	    strcmp(predict_claim(a, p, 1e3 / measured, &claim), "impossible") == 0) {
		/* An engine may narrow weights on load, or guess ahead unseen. */
		double more = l->tool == LOG_LLAMA_BENCH ? unseen_setup : guessed_tokens;
		bool farther = strcmp(predict_claim(a, p, 1e3 / (more * measured), &other),
				      "impossible") == 0;

		i.verdict = farther ? NORMAL_IMPOSSIBLE : i.verdict;
		i.why = farther ? claim
				: "faster than one token per step allows: speculative decoding, or "
				  "narrower weights";
		i.test = NULL; /* nothing is slow */
	}
	if (i.verdict == NORMAL_SLOW)
		i.off = measured / i.high - 1;
	add(a, out, &i);
}

void normal_runs(struct arena *a, const char *file, const char *text, const struct normal_on *on,
		 const char *gpu, struct normal_items *out)
{
	struct log_runs *runs = ARENA_NEW(a, struct log_runs);
	struct target_hw *place = ARENA_NEW(a, struct target_hw);
	struct infer_options told = *on->told;
	struct err e = { 0 };

	if (logs_read(a, file, text, runs, &e) < 0)
		return;
	if (gpu && place_parse(a, on->known, gpu, place, &e) == 0)
		told.place = place;
	for (size_t i = 0; i < runs->n; i++) {
		const struct log_run *l = &runs->items[i];
		struct calibrate_run *r = ARENA_NEW(a, struct calibrate_run);
		struct prediction *p = ARENA_NEW(a, struct prediction);
		const struct figure *t = &p->throughput;
		struct normal_item no = { .verdict = NORMAL_UNKNOWN,
					  .tool = log_tool_names[l->tool],
					  .where = l->where,
					  .title = "engine benchmark" };
		double each = fmax(l->figure[LOG_TPOT], l->figure[LOG_STEP]);

		if (told.place)
			calibrate_run_make(a, l, &told, on->fits, r);
		no.why = told.place ? r->skipped : "hardware unknown: give --on";
		if (no.why) {
			add(a, out, &no);
			continue;
		}
		predict(a, &r->q, on->fits, p);
		run_figure(a, l, p, "TPOT", each, p->tpot, out);
		run_figure(a, l, p, "TTFT", fmax(l->figure[LOG_TTFT], l->figure[LOG_PREFILL]),
			   p->ttft, out);
		if (!(each > 0) && l->figure[LOG_THROUGHPUT] > 0 && t->value > 0)
			run_figure(a, l, p, "time per token", 1e3 / l->figure[LOG_THROUGHPUT],
				   (struct figure){ 1e3 / t->value, 1e3 / t->high, 1e3 / t->low },
				   out);
	}
}
