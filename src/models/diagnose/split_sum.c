/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Figures of a run, kind by kind: steps of warming-up left out, totals told by the step, and of
 * several tools only the one that said most. Nothing is judged here.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/text.h"
#include "models/diagnose/diagnose.h"
#include "models/diagnose/read.h"
#include "models/diagnose/split.h"

enum { STEPS_LONG = 10, LOOK_BACK = 256 };

static int by_value(const void *a, const void *b)
{
	double x = ((const struct sample *)a)->value, y = ((const struct sample *)b)->value;

	return (x > y) - (x < y);
}

struct figure_sum figure_sum_of(struct arena *a, const struct sample *s, size_t n,
				const char *format)
{
	struct figure_sum out = { .n = n,
				  .median = NAN,
				  .mean = NAN,
				  .p95 = NAN,
				  .low = NAN,
				  .high = NAN,
				  .format = format };
	struct sample *sorted;
	double sum = 0;

	if (!n)
		return out;
	sorted = arena_array(a, n, sizeof(*sorted));
	memcpy(sorted, s, n * sizeof(*sorted));
	qsort(sorted, n, sizeof(*sorted), by_value);
	for (size_t i = 0; i < n; i++)
		sum += sorted[i].value;
	out.median =
		n % 2 ? sorted[n / 2].value : (sorted[n / 2 - 1].value + sorted[n / 2].value) / 2;
	out.mean = sum / (double)n;
	out.p95 = sorted[(size_t)ceil(0.95 * (double)n) - 1].value;
	out.low = sorted[0].value;
	out.high = sorted[n - 1].value;
	out.at = sorted[n / 2].f;
	return out;
}

/* --- steps ------------------------------------------------------------------------------------ */

static bool is_bar(const struct metric_sample *f)
{
	return f->text && strcasecmp(f->text, "progress bar") == 0;
}

/* Steps of a log in which a profiler looked, or got ready (the step before) or wrote (the two
 * behind), are slower than others: left out where enough others are left. A trace counts steps from
 * 0, a log from 1. */
static void leave_traced(const struct run_evidence *ev, struct run_files *rf)
{
	for (size_t i = 0; i < ev->n_files; i++) {
		const struct file_steps *trace = &rf->files[i];

		if (ev->files[i].run != rf->run || trace->n == 0 || !ev->files[i].format ||
		    strcmp(ev->files[i].format, evidence_trace.name) != 0)
			continue;
		for (size_t k = 0; k < ev->n_files; k++) {
			struct file_steps *s = &rf->files[k];
			long long first = trace->first - 1, last = trace->last + 3;

			if (k == i || ev->files[k].run != rf->run || s->n < 2 * STEPS_LONG ||
			    last < s->first || first > s->last ||
			    strcmp(ev->files[k].format, evidence_trace.name) == 0 ||
			    s->last - s->first - (last - first) < STEPS_LONG)
				continue;
			s->traced_first = first;
			s->traced_last = last;
		}
	}
}

/* Left out: another run's, warming-up, the time before the first and after the last work of a
 * GPU. */
static bool is_out(const struct run_evidence *ev, const struct run_files *rf,
		   const struct metric_sample *f)
{
	const struct file_steps *s = &rf->files[f->file];

	if (ev->files[f->file].run != rf->run)
		return true;
	if (f->step >= 0 && s->first >= 0 && f->step < s->from)
		return true;
	/* Both ends of a rank's timers: the longer one is what a step waits for. */
	if (f->text && str_ends(f->text, "(min)"))
		return true;
	if (f->step >= 0 && f->step >= s->traced_first && f->step <= s->traced_last)
		return true;
	return ((f->kind >= FIGURE_GPU_UTIL && f->kind <= FIGURE_PCIE_GBS) ||
		f->kind == FIGURE_WAITING_IO) &&
	       isfinite(f->at) && isfinite(s->busy_first) &&
	       (f->at < s->busy_first || f->at > s->busy_last);
}

/* --- one kind --------------------------------------------------------------------------------- */

static bool same(const char *x, const char *y)
{
	return x == y || (x && y && strcasecmp(x, y) == 0);
}

static struct sample *total_of(struct sample *s, size_t n, const struct metric_sample *f)
{
	/* Parts of one total stand together. */
	for (size_t i = n > LOOK_BACK ? n - LOOK_BACK : 0; i < n; i++)
		if (s[i].f->total && s[i].f->file == f->file && s[i].f->rank == f->rank)
			return &s[i];
	return NULL;
}

/* Seconds of a step for what is told of the whole of over_s. */
static double by_step(const struct run_files *rf, const struct metric_sample *f, double v)
{
	if (isfinite(f->over_s) && f->over_s > 0 && isfinite(rf->step_s))
		return v * rf->step_s / f->over_s;
	return isfinite(rf->step_s) ? (double)NAN : v;
}

/*
 * Timers of a step that are parts of one figure: Megatron-LM has one for each of its collectives,
 * and they lie behind one another.
 */

static bool same_place(const struct metric_sample *x, const struct metric_sample *y)
{
	return x->file == y->file && x->rank == y->rank && x->step == y->step;
}

/* The newest sample of the same rank and step; n: there is none. Ranks stand in the same order
 * below each timer: first the one behind the last. */
static size_t split_sum_newest(const struct timers *t, const struct sample *s, size_t n,
			       const struct metric_sample *f)
{
	size_t i = n;

	if (t->next < n && same_place(s[t->next].f, f))
		return t->next;
	while (i > 0 && n - i < LOOK_BACK && !same_place(s[i - 1].f, f))
		i--;
	return i > 0 && same_place(s[i - 1].f, f) ? i - 1 : n;
}

/* The timer's bit; 0: it is none. */
static uint64_t bit_of(struct timers *t, const struct metric_sample *f)
{
	size_t i = 0;

	if (f->kind != FIGURE_COMM_S || f->total || !f->text)
		return 0;
	/* Each text stands once: read.c. */
	while (i < t->n_names && t->names[i] != f->text)
		i++;
	if (i == TIMERS_MOST)
		return 0;
	if (i == t->n_names)
		t->names[t->n_names++] = f->text;
	return (uint64_t)1 << i;
}

/* The sample that f adds to; NULL: it begins one. */
static struct sample *timers_of(struct timers *t, struct sample *s, size_t n,
				const struct metric_sample *f)
{
	uint64_t bit = bit_of(t, f);
	size_t i = bit ? split_sum_newest(t, s, n, f) : n;

	/* One that comes again is of another step. */
	if (i == n || !t->of[i] || (t->of[i] & bit))
		return NULL;
	t->of[i] |= bit;
	t->next = i + 1;
	return &s[i];
}

/* Sample n begins with f. */
static void timers_begin(struct arena *a, struct timers *t, size_t n, const struct metric_sample *f)
{
	if (f->kind != FIGURE_COMM_S)
		return;
	t->of = arena_grow(a, t->of, n, sizeof(*t->of));
	t->of[n] = bit_of(t, f);
}

size_t run_samples(struct arena *a, const struct run_evidence *ev, const struct run_files *rf,
		   enum figure_kind k, const char *text, const char *format, struct sample **out)
{
	struct sample *s = NULL, *t;
	struct timers timers = { 0 };
	size_t n = 0, kept = 0;
	bool bars = true;

	for (size_t i = 0; i < ev->n_figures; i++) {
		const struct metric_sample *f = &ev->figures[i];

		if (f->kind != k || is_out(ev, rf, f) || (text && !same(text, f->text)) ||
		    (format && !same(format, ev->files[f->file].format)))
			continue;
		t = f->total ? total_of(s, n, f) : timers_of(&timers, s, n, f);
		if (t) {
			t->value += f->value;
			continue;
		}
		s = arena_grow(a, s, n, sizeof(*s));
		timers_begin(a, &timers, n, f);
		s[n++] = (struct sample){ .value = f->value, .f = f };
	}
	for (size_t i = 0; i < n; i++)
		bars = bars && is_bar(s[i].f);
	for (size_t i = 0; i < n; i++) {
		bool seconds = s[i].f->total;

		/* Smoothed ones only where there is nothing else. */
		if (!bars && is_bar(s[i].f))
			continue;
		s[kept] = s[i];
		if (seconds)
			s[kept].value = by_step(rf, s[i].f, s[i].value);
		kept += isfinite(s[kept].value) ? 1 : 0;
	}
	*out = s;
	return kept;
}

/* The format that has most samples. */
static const char *fullest(const struct run_evidence *ev, const struct sample *s, size_t n)
{
	const char *best = NULL;
	size_t most = 0;

	for (size_t i = 0; i < n; i++) {
		const char *format = ev->files[s[i].f->file].format;
		size_t here = 0;

		if (i && same(format, ev->files[s[i - 1].f->file].format))
			continue;
		for (size_t k = 0; k < n; k++)
			here += same(format, ev->files[s[k].f->file].format);
		if (!best || here > most) {
			most = here;
			best = format;
		}
	}
	return best;
}

struct figure_sum run_sum(struct arena *a, const struct run_evidence *ev,
			  const struct run_files *rf, enum figure_kind k, const char *text)
{
	struct sample *s;
	size_t n = run_samples(a, ev, rf, k, text, NULL, &s), kept = 0;
	const char *format = fullest(ev, s, n);
	bool steps = false;

	for (size_t i = 0; i < n; i++)
		steps = steps ||
			(s[i].f->step >= 0 && same(format, ev->files[s[i].f->file].format));
	for (size_t i = 0; i < n; i++)
		/* A summary says again what the steps said. */
		if (same(format, ev->files[s[i].f->file].format) &&
		    (!steps || s[i].f->step >= 0 || s[i].f->total))
			s[kept++] = s[i];
	return figure_sum_of(a, s, kept, format);
}

struct figure_sum run_sum_text(struct arena *a, const struct run_summary *r, enum figure_kind k,
			       const char *text)
{
	struct run_files rf;

	run_files_analyze(a, r->ev, r->run, &rf);
	rf.step_s = r->step_s;
	return run_sum(a, r->ev, &rf, k, text);
}

/* --- traits ----------------------------------------------------------------------------------- */

const struct run_attribute *run_trait_with(const struct run_summary *r, enum trait_kind k,
					   const char *word)
{
	for (size_t i = 0; i < r->ev->n_traits; i++) {
		const struct run_attribute *t = &r->ev->traits[i];

		if (t->kind == k && r->ev->files[t->file].run == r->run &&
		    strcasestr(t->text, word))
			return t;
	}
	return NULL;
}

const char *run_trait(struct arena *a, const struct run_summary *r, enum trait_kind k)
{
	char *s;

	if (!r->traits[k])
		return "";
	s = arena_strdup(a, r->traits[k]->text);
	for (char *p = s; *p; p++)
		*p = (char)(*p >= 'A' && *p <= 'Z' ? *p + 32 : *p);
	return s;
}

const char *run_variable(const struct run_summary *r, const char *name,
			 const struct run_attribute **at)
{
	size_t n = strlen(name);

	for (size_t i = 0; i < r->ev->n_traits; i++) {
		const struct run_attribute *t = &r->ev->traits[i];

		if (t->kind == TRAIT_VARIABLE && r->ev->files[t->file].run == r->run &&
		    strncmp(t->text, name, n) == 0 && t->text[n] == '=') {
			if (at)
				*at = t;
			return t->text + n + 1;
		}
	}
	return NULL;
}

/*
 * Which part of a recording is the training: a job loads its libraries, builds its model and writes
 * its results under the recorder as well. Where a log tells every step, the steps took so long
 * together, and the training is the stretch of that length in which the GPUs had most to do.
 */

/* Fewer looks than this say nothing of what they stand for. */
enum { LOOKS_LEAST = 3 };

/* Steps of one file behind warming-up, of the rank that it tells first. */
struct steps_of {
	double sum, told;
	int rank;
};

/* Seconds that the steps behind warming-up took, by the file that tells most; NAN. */
static double steps_together(struct arena *a, const struct run_evidence *ev,
			     const struct run_files *rf)
{
	struct steps_of *of = arena_array(a, ev->n_files, sizeof(*of));
	double most = NAN;

	for (size_t k = 0; k < ev->n_figures; k++) {
		const struct metric_sample *f = &ev->figures[k];
		struct steps_of *x = &of[f->file];

		if (f->kind != FIGURE_STEP_S || f->step < rf->files[f->file].from ||
		    (x->told > 0 && f->rank != x->rank))
			continue;
		x->rank = f->rank;
		x->sum += f->value;
		x->told++;
	}
	for (size_t i = 0; i < ev->n_files; i++) {
		const struct file_steps *s = &rf->files[i];
		double sum = of[i].sum;

		if (ev->files[i].run != rf->run || s->n < LOOKS_LEAST)
			continue;
		/* Of every tenth step alone the time may be told. */
		if (of[i].told > 0)
			sum *= (double)(s->last - s->from + 1) / of[i].told;
		if (sum > 0 && !(most >= sum))
			most = sum;
	}
	return most;
}

/* Looks of one file, in its order, one for each moment: what all GPUs had to do together. */
static size_t looks_of(struct arena *a, const struct run_evidence *ev, size_t file, double *at[],
		       double *busy[])
{
	size_t n = 0, all = 0;

	for (size_t i = 0; i < ev->n_figures; i++)
		all += ev->figures[i].kind == FIGURE_GPU_UTIL && ev->figures[i].file == file;
	*at = arena_array(a, all + 1, sizeof(**at));
	*busy = arena_array(a, all + 1, sizeof(**busy));
	for (size_t i = 0; i < ev->n_figures; i++) {
		const struct metric_sample *f = &ev->figures[i];

		if (f->kind != FIGURE_GPU_UTIL || f->file != file || !isfinite(f->at))
			continue;
		if (n && (*at)[n - 1] >= f->at) {
			(*busy)[n - 1] += f->value;
			continue;
		}
		(*at)[n] = f->at;
		(*busy)[n++] = f->value;
	}
	return n;
}

/* The stretch of that many seconds with the largest sum. */
static void split_sum_busiest(const double *at, const double *busy, size_t n, double seconds,
			      struct file_steps *s)
{
	double sum = 0, best = -1;
	size_t from = 0;

	for (size_t to = 0; to < n; to++) {
		sum += busy[to];
		while (from + LOOKS_LEAST <= to && at[to] - at[from] > seconds)
			sum -= busy[from++];
		if (sum > best && to + 1 >= LOOKS_LEAST) {
			best = sum;
			s->busy_first = at[from];
			s->busy_last = at[to];
		}
	}
}

static void run_window_analyze(struct arena *a, const struct run_evidence *ev, struct run_files *rf)
{
	double seconds = steps_together(a, ev, rf);

	rf->cut_s = NAN;
	for (size_t i = 0; isfinite(seconds) && i < ev->n_files; i++) {
		struct file_steps *s = &rf->files[i];
		double *at, *busy, all = s->busy_last - s->busy_first;
		size_t n;

		if (ev->files[i].run != rf->run || !(all > 1.1 * seconds))
			continue;
		n = looks_of(a, ev, i, &at, &busy);
		if (n <= LOOKS_LEAST)
			continue;
		split_sum_busiest(at, busy, n, seconds, s);
		rf->cut_s = s->busy_last - s->busy_first;
	}
}

/* Below this part of the most that a GPU had to do a model is built, not trained. The first look,
 * at 0 s, is of the time before. */
#define BUSY_LEAST 0.25
/* Stacks and looks of a recording have other clocks: shorter is no training to speak of. */
#define TRAINING_LEAST_S 3

/* Keeps of a recording the time in which the job trained. */
static void keep_training(const struct run_evidence *ev, struct run_files *rf)
{
	double from_s, to_s;

	if (!evidence_training(ev, rf->run, &from_s, &to_s))
		return;
	for (size_t i = 0; i < ev->n_files; i++) {
		struct file_steps *s = &rf->files[i];
		double begins_s = ev->files[i].begins_s, first = from_s - begins_s,
		       last = to_s - begins_s;

		if (ev->files[i].run != rf->run || !(begins_s > 0) || !isfinite(s->busy_first) ||
		    !(last - first > TRAINING_LEAST_S))
			continue;
		s->busy_first = first;
		s->busy_last = last;
	}
}

/* First and last step with a time in a file, and their number. */
void run_files_analyze(struct arena *a, const struct run_evidence *ev, size_t run,
		       struct run_files *out)
{
	struct file_steps *f = arena_array(a, ev->n_files, sizeof(*f));

	for (size_t i = 0; i < ev->n_files; i++)
		f[i] = (struct file_steps){ .first = -1,
					    .busy_first = INFINITY,
					    .busy_last = -INFINITY,
					    .traced_first = 1,
					    .traced_last = 0 };
	for (size_t i = 0; i < ev->n_figures; i++)
		if (ev->figures[i].kind == FIGURE_GPU_UTIL)
			f[ev->figures[i].file].busy_most =
				fmax(f[ev->figures[i].file].busy_most, ev->figures[i].value);
	for (size_t i = 0; i < ev->n_figures; i++) {
		const struct metric_sample *x = &ev->figures[i];
		struct file_steps *s = &f[x->file];

		if (x->kind == FIGURE_GPU_UTIL &&
		    x->value > fmax(0.01, BUSY_LEAST * s->busy_most) && x->at > 0) {
			s->busy_first = fmin(s->busy_first, x->at);
			s->busy_last = fmax(s->busy_last, x->at);
		}
		if (x->kind != FIGURE_STEP_S || x->step < 0)
			continue;
		if (s->first < 0 || x->step < s->first)
			s->first = x->step;
		s->last = x->step > s->last ? x->step : s->last;
		s->n++;
	}
	out->run = run;
	out->files = f;
	keep_training(ev, out);
	for (size_t i = 0; i < ev->n_files; i++) {
		struct file_steps *s = &f[i];
		double skip = (double)evidence_warming_up(s->n);

		s->from = s->first;
		if (s->n > 1)
			s->from += (long long)ceil(skip * (double)(s->last - s->first) /
						   (double)(s->n - 1));
	}
	leave_traced(ev, out);
	run_window_analyze(a, ev, out);
}

/* What a run was, by the words that tools and people have for it. */

int run_way(struct arena *a, const struct run_summary *r)
{
	const char *s = run_trait(a, r, TRAIT_PARALLEL);

	for (int i = 0; i < TRAIN_WAYS; i++)
		if (strcmp(s, train_way_names[i]) == 0)
			return i;
	/* "fsdp2" */
	return str_starts(s, "fsdp") ? TRAIN_FSDP : -1;
}

int run_precision(struct arena *a, const struct run_summary *r)
{
	static const struct {
		const char *word;
		enum train_precision is;
	} words[] = {
		{ "fp8", TRAIN_FP8 },	  { "float8", TRAIN_FP8 }, { "bf16", TRAIN_BF16 },
		{ "bfloat", TRAIN_BF16 }, { "fp16", TRAIN_FP16 },  { "float16", TRAIN_FP16 },
		{ "tf32", TRAIN_TF32 },	  { "fp32", TRAIN_FP32 },  { "float32", TRAIN_FP32 }
	};
	const char *s = run_trait(a, r, TRAIT_PRECISION);

	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
		if (strstr(s, words[i].word))
			return (int)words[i].is;
	return -1;
}

bool run_sums_fp32(struct arena *a, const struct run_summary *r)
{
	const char *by = run_trait(a, r, TRAIT_FRAMEWORK);
	int way = run_way(a, r);

	if (strcmp(by, "megatron-lm") == 0)
		return true;
	return strcmp(by, "deepspeed") != 0 &&
	       (way < 0 || train_parallelism_fp32((enum train_parallelism)way));
}

bool run_alone(const struct run_summary *r)
{
	static const char *const many[] = { "megatron-lm", "deepspeed", "torchtitan", "nemo" };
	const struct run_attribute *by = r->traits[TRAIT_FRAMEWORK];

	if (isfinite(r->gpus))
		return r->gpus <= 1;
	for (size_t i = 0; by && i < sizeof(many) / sizeof(many[0]); i++)
		if (strcasecmp(by->text, many[i]) == 0)
			return false;
	return r->n_ranks <= 1;
}
