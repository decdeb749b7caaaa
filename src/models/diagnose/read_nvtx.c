/* SPDX-License-Identifier: Apache-2.0 */
/* Ranges of NVTX, thread by thread: what encloses what, which are steps, and phases. */
#include <ctype.h>
#include <math.h>
#include <string.h>

#include "base/text.h"
#include "models/diagnose/read.h"

void spans_emit(const struct spans *s, const struct read_place *p, double from, double to,
		double unit_s, const size_t *lines, const char *text)
{
	const double over = (to - from) * unit_s;
	const double compute = s->sum[SPAN_COMPUTE], comm = s->sum[SPAN_COMM];
	const struct {
		enum figure_kind kind;
		enum span_kind of;
		double value;
	} tell[] = {
		{ FIGURE_COMPUTE_S, SPAN_COMPUTE, compute },
		{ FIGURE_COMM_S, SPAN_COMM, comm },
		{ FIGURE_COMM_EXPOSED_S, SPAN_COMM, s->kernels - compute },
		{ FIGURE_COPY_S, SPAN_COPY, s->sum[SPAN_COPY] },
		{ FIGURE_COPY_EXPOSED_S, SPAN_COPY, s->any - s->kernels },
		{ FIGURE_IDLE_S, SPAN_KINDS, to - from - s->any },
	};
	struct read_place at = *p;

	if (!s->begun || !(over > 0))
		return;
	/* The host's operators tell nothing of copies, and between them the host is not idle. */
	for (size_t i = 0; i < (text ? 3 : sizeof(tell) / sizeof(tell[0])); i++) {
		if (tell[i].of == SPAN_COPY && isnan(s->sum[SPAN_COPY]))
			continue;
		at.line = lines && tell[i].of != SPAN_KINDS ? lines[tell[i].of] : 0;
		read_total(&at, tell[i].kind, fmax(0, tell[i].value * unit_s), over, text);
	}
	if (text) /* operators, not kernels */
		return;
	at.line = lines ? lines[SPAN_COMPUTE] : 0;
	read_total(&at, FIGURE_KERNELS, (double)(s->n[SPAN_COMPUTE] + s->n[SPAN_COMM]), over, NULL);
}

const char *span_gemm(const char *kernel)
{
	static const struct {
		const char *word, *format;
	} formats[] = {
		{ "bfloat16", "bf16" }, { "6__half", "fp16" }, { "bf16", "bf16" },
		{ "tf32", "tf32" },	{ "e4m3", "fp8" },     { "e5m2", "fp8" },
		{ "fp8", "fp8" },	{ "f16", "fp16" },     { "fp16", "fp16" },
		{ "hgemm", "fp16" },	{ "h1688", "fp16" },   { "h16816", "fp16" },
		{ "s1688", "fp16" },	{ "s16816", "fp16" },  { "_qqt", "fp8" },
		{ "_tst_", "bf16" },	{ "_hsh_", "fp16" },   { "nvjet_t", "bf16" },
		{ "nvjet_h", "fp16" },	{ "sgemm", "fp32" },   { "f32f32", "fp32" },
		{ "dgemm", "fp64" },
	};
	bool is = str_has_any("gemm|nvjet|cutlass|xmma|GemmUniversal", kernel);

	for (size_t i = 0; is && i < sizeof(formats) / sizeof(formats[0]); i++)
		if (strstr(kernel, formats[i].word))
			return formats[i].format;
	return is ? "unknown format" : NULL;
}

enum figure_kind span_host_call(const char *name)
{
	/* A plain cudaMemcpy waits; the asynchronous one only does so from pageable memory. */
	static const char *const waits[] = { "cudaStreamSynchronize", "cudaDeviceSynchronize",
					     "cudaEventSynchronize",  "cuStreamSynchronize",
					     "cuCtxSynchronize",      "cuEventSynchronize",
					     "cudaMemcpy_v",	      "cuMemcpyDtoH_v",
					     "cuMemcpyHtoD_v" };
	static const char *const launches[] = { "cudaLaunchKernel", "cuLaunchKernel",
						"cudaGraphLaunch", "cuGraphLaunch",
						"cudaLaunchCooperativeKernel" };

	for (size_t i = 0; i < sizeof(waits) / sizeof(waits[0]); i++)
		if (strncmp(name, waits[i], strlen(waits[i])) == 0)
			return FIGURE_SYNC_S;
	for (size_t i = 0; i < sizeof(launches) / sizeof(launches[0]); i++)
		if (strncmp(name, launches[i], strlen(launches[i])) == 0)
			return FIGURE_LAUNCH_S;
	return strcmp(name, "cudaMemcpy") == 0 ? FIGURE_SYNC_S : FIGURE_KINDS;
}

enum { NONE = -1 };

struct range {
	int64_t from, to;
	const char *name;
	enum figure_kind kind;
	long long number;
	int parent;
	bool marks; /* its name is that of a step */
	bool step, inner, outer;
};

struct thread {
	struct range *items;
	size_t n;
	int64_t tid;
};

/* --- names ------------------------------------------------------------------------------------ */

/* Those of torch's own operators, and those that people give. */
static enum figure_kind nvtx_kind_of(const char *name)
{
	const char *dot = strrchr(name, '.');
	enum figure_kind kind = read_range(name);

	if (str_starts(name, "enumerate(DataLoader)"))
		return FIGURE_DATA_S;
	if (str_starts(name, "Optimizer.step#"))
		return FIGURE_OPTIMIZER_S;
	/* "DeepSpeedEngine.forward" */
	return kind == FIGURE_KINDS && dot ? read_range(dot + 1) : kind;
}

/* --- a thread --------------------------------------------------------------------------------- */

/* Which range each lies in. */
static void nest(struct thread *t)
{
	int stack[NVTX_DEPTH], depth = 0;

	for (size_t i = 0; i < t->n; i++) {
		struct range *r = &t->items[i];

		while (depth && t->items[stack[depth - 1]].to <= r->from)
			depth--;
		r->parent = depth ? stack[depth - 1] : NONE;
		if (depth)
			t->items[r->parent].inner = true;
		if (depth < NVTX_DEPTH)
			stack[depth++] = (int)i;
	}
}

/* Steps in here are none of training. */
static bool evaluates(const char *name)
{
	return strcasestr(name, "eval") || strcasestr(name, "valid");
}

/* Steps are the outermost of their names. "step" without a number may be the optimizer's, which
 * has nothing in it. */
static size_t find_steps(struct thread *t)
{
	size_t n = 0;

	for (size_t i = 0; i < t->n; i++) {
		struct range *r = &t->items[i];
		bool within = false;

		for (int p = r->parent; p != NONE; p = t->items[p].parent)
			within = within || t->items[p].step || t->items[p].kind != FIGURE_KINDS ||
				 evaluates(t->items[p].name);
		r->step = r->marks && !within && (r->number >= 0 || r->inner);
		n += r->step;
	}
	return n;
}

/* Ranges that hold steps, or those whose names are known, are no phases. */
static void find_outer(struct thread *t)
{
	for (size_t i = 0; i < t->n; i++) {
		const struct range *r = &t->items[i];

		if (!r->step && r->kind == FIGURE_KINDS)
			continue;
		for (int p = r->parent; p != NONE; p = t->items[p].parent)
			if (t->items[p].kind == FIGURE_KINDS)
				t->items[p].outer = true;
	}
}

static size_t nvtx_name_of(struct nvtx_process *p, const struct range *r)
{
	size_t i = 0;

	while (i < p->n_names && strcmp(p->names[i].text, r->name) != 0)
		i++;
	if (i < p->n_names)
		return i;
	if (p->n_names == NVTX_NAMES)
		return NVTX_NAMES;
	p->names[p->n_names] = (struct nvtx_name){ r->name, r->kind };
	return p->n_names++;
}

static void put_phases(struct arena *a, const struct thread *t, struct nvtx_process *p)
{
	int64_t end = INT64_MIN;

	p->phases = arena_array(a, t->n, sizeof(*p->phases));
	for (size_t i = 0; i < t->n; i++) {
		const struct range *r = &t->items[i];
		size_t name;

		if (r->step || r->outer || r->from < end)
			continue;
		end = r->to;
		name = nvtx_name_of(p, r);
		if (name < NVTX_NAMES)
			p->phases[p->n_phases++] = (struct nvtx_phase){ r->from, r->to, name };
	}
}

static void put_steps(struct arena *a, const struct thread *t, size_t n, struct nvtx_process *p)
{
	size_t first = evidence_warming_up(n);

	p->steps = arena_array(a, n + 1, sizeof(*p->steps));
	for (size_t i = 0; i < t->n; i++) {
		const struct range *r = &t->items[i];

		if (!r->step)
			continue;
		/* What lies between two of them, the wait for a batch often, is of the first. */
		if (p->n_steps)
			p->steps[p->n_steps - 1].to = r->from;
		p->steps[p->n_steps++] = (struct nvtx_step){ r->from, r->to, r->number };
	}
	if (n) {
		p->from = p->steps[first].from;
		p->to = p->steps[n - 1].to;
	}
}

static struct nvtx_process *process_of(struct arena *a, struct nvtx *out, int64_t pid)
{
	for (size_t i = 0; i < out->n; i++)
		if (out->items[i].pid == pid)
			return &out->items[i];
	if (out->n == NVTX_PROCESSES)
		return NULL;
	out->items = arena_grow(a, out->items, out->n, sizeof(*out->items));
	out->items[out->n] = (struct nvtx_process){ .pid = pid };
	return &out->items[out->n++];
}

static void thread_over(struct arena *a, struct nvtx *out, struct thread *t)
{
	struct nvtx_process *p = t->n ? process_of(a, out, t->tid >> 24) : NULL;
	int64_t weight = 0, end = INT64_MIN;
	size_t steps;

	if (!p)
		return;
	nest(t);
	steps = find_steps(t);
	for (size_t i = 0; i < t->n; i++)
		if (t->items[i].from >= end) {
			weight += (t->items[i].to - t->items[i].from) / 2;
			end = t->items[i].to;
		}
	/* One that marks steps goes before any other. */
	if (steps)
		weight = weight / 2 + INT64_MAX / 2;
	if (weight <= p->weight)
		return;
	*p = (struct nvtx_process){ .pid = p->pid, .weight = weight };
	find_outer(t);
	put_steps(a, t, steps, p);
	put_phases(a, t, p);
}

/* --- the table -------------------------------------------------------------------------------- */

/* Ranges alone (59: pushed and popped, 60: begun and ended). Operators and calls of libraries are
 * millions. Older exports have all texts in the table. */
static struct sqlite3_stmt *ask_ranges(struct sql *q)
{
	static const char *const texts[] = { "coalesce(n.text, s.value)", "n.text" };

	for (size_t i = 0; i < 2; i++) {
		struct sqlite3_stmt *s = sql_ask(
			q,
			arena_printf(q->a,
				     "SELECT n.globalTid, n.start, n.\"end\", substr(%s, 1, 80) AS "
				     "t FROM NVTX_EVENTS n %s WHERE n.eventType IN (59, 60) AND "
				     "n.\"end\" > n.start AND n.start >= 0 AND t NOT LIKE '%%::%%' "
				     "AND t NOT LIKE 'nccl%%' ORDER BY 1, 2, 3 DESC LIMIT %d",
				     texts[i], i ? "" : "LEFT JOIN StringIds s ON s.id = n.textId",
				     NVTX_ROWS_MAX));

		if (s)
			return s;
	}
	return NULL;
}

/* Where the number at the end of a name begins, "step 12", "Iteration 5/100", "ProfilerStep#3";
 * its end: there is none. */
static const char *nvtx_number_at(const char *name)
{
	const char *end = name + strlen(name), *p = end;

	if (end > name && strchr("])", end[-1]))
		p--;
	while (p > name && isdigit((unsigned char)p[-1]))
		p--;
	if (p == end || !isdigit((unsigned char)*p))
		return end;
	if (p - name > 1 && p[-1] == '/' && isdigit((unsigned char)p[-2]))
		for (p--; p > name && isdigit((unsigned char)p[-1]);)
			p--;
	return p;
}

/* The name without the number at its end. */
static const char *read_range_stem(struct arena *a, const char *name)
{
	const char *end = nvtx_number_at(name);

	while (*end && end > name && strchr(" #_-:=.[(", end[-1]))
		end--;
	return end > name ? arena_strndup(a, name, (size_t)(end - name)) : name;
}

enum { STEM_MOST = 64 };

/* Whether a range of that name is a step ("step 12", "iteration"); *number: -1, it has none. */
static bool read_range_step(const char *name, long long *number)
{
	static const char *const stems[] = { "step",	       "iter",	       "iteration",
					     "train_step",     "trainstep",    "training_step",
					     "global_step",    "profilerstep", "train_iter",
					     "train_iteration" };
	const char *at = nvtx_number_at(name), *end = at, *from = name;
	char stem[STEM_MOST];

	*number = *at ? read_whole(read_number(at, NULL), -1) : -1;
	while (end > name && strchr(" #_-:=.[(", end[-1]))
		end--;
	for (const char *c = name; c < end; c++)
		if (*c == ':' || *c == '/')
			from = c + 1;
	if (end <= from || (size_t)(end - from) >= sizeof(stem))
		return false;
	memcpy(stem, from, (size_t)(end - from));
	stem[end - from] = '\0';
	for (size_t i = 0; i < sizeof(stems) / sizeof(stems[0]); i++)
		if (read_is_named(stem, stems[i]))
			return true;
	return false;
}

void nvtx_read(struct sql *q, struct nvtx *out)
{
	struct sqlite3_stmt *s = ask_ranges(q);
	struct thread t = { 0 };

	*out = (struct nvtx){ 0 };
	while (s && sql_row(q, s)) {
		int64_t tid = sql_integer(q, s, 0);
		const char *name = sql_text(q, s, 3);
		struct range r = { .from = sql_integer(q, s, 1), .to = sql_integer(q, s, 2) };

		if (!name)
			continue;
		if (t.n && tid != t.tid) {
			thread_over(q->a, out, &t);
			t.n = 0;
			t.items = NULL;
		}
		t.tid = tid;
		r.marks = read_range_step(name, &r.number);
		r.kind = nvtx_kind_of(name);
		r.name = read_range_stem(q->a, name);
		ARENA_ADD(q->a, t.items, t.n) = r;
	}
	thread_over(q->a, out, &t);
	sql_end(q, s);
}

const struct nvtx_process *nvtx_of(const struct nvtx *all, int64_t pid)
{
	for (size_t i = 0; i < all->n; i++)
		if (all->items[i].pid == pid)
			return &all->items[i];
	return all->n == 1 && !pid ? all->items : NULL;
}

bool nvtx_saves(struct nvtx_idle *i, int64_t at)
{
	if (!i->p)
		return false;
	while (i->save < i->p->n_phases && i->p->phases[i->save].to <= at)
		i->save++;
	return i->save < i->p->n_phases && i->p->phases[i->save].from <= at &&
	       i->p->names[i->p->phases[i->save].name].kind == FIGURE_CHECKPOINT_S;
}

void nvtx_idle_add(struct nvtx_idle *i, int64_t from, int64_t to)
{
	if (!i->p)
		return;
	while (i->next < i->p->n_phases && i->p->phases[i->next].to <= from)
		i->next++;
	for (size_t k = i->next; k < i->p->n_phases && i->p->phases[k].from < to; k++) {
		const struct nvtx_phase *x = &i->p->phases[k];
		int64_t first = x->from > from ? x->from : from, last = x->to < to ? x->to : to;

		if (last > first)
			i->idle[x->name] += last - first;
	}
}

/*
 * Communication that nothing hides, step by step: ranks can be held beside each other only where
 * each step is given. Kernels come in order of their start; one that overlaps two steps counts in
 * both.
 */

void nvtx_rounds_begin(struct arena *a, struct nvtx_rounds *r, const struct nvtx_process *p)
{
	*r = (struct nvtx_rounds){ .p = p };
	if (!p || !p->n_steps)
		return;
	r->exposed = arena_array(a, p->n_steps, sizeof(*r->exposed));
	while (r->at < p->n_steps && p->steps[r->at].from < p->from)
		r->exposed[r->at++] = NAN;
}

static void nvtx_cover(struct nvtx_rounds *r, enum span_kind kind, int64_t from, int64_t to)
{
	const struct nvtx_step *s = &r->p->steps[r->at];

	if (from < s->from)
		from = s->from;
	spans_add(&r->now, kind, (double)(from - s->from),
		  (double)((to < s->to ? to : s->to) - s->from));
}

static void nvtx_next(struct nvtx_rounds *r)
{
	r->exposed[r->at] = r->now.kernels - r->now.sum[SPAN_COMPUTE];
	r->now = (struct spans){ 0 };
	if (++r->at == r->p->n_steps)
		return;
	for (enum span_kind k = SPAN_COMPUTE; k <= SPAN_COMM; k++)
		if (r->until[k] > r->p->steps[r->at].from)
			nvtx_cover(r, k, r->p->steps[r->at].from, r->until[k]);
}

void nvtx_rounds_add(struct nvtx_rounds *r, enum span_kind kind, int64_t from, int64_t to)
{
	if (!r->exposed || kind == SPAN_COPY)
		return;
	while (r->at < r->p->n_steps && from >= r->p->steps[r->at].to)
		nvtx_next(r);
	if (r->at == r->p->n_steps)
		return;
	if (to > r->until[kind])
		r->until[kind] = to;
	nvtx_cover(r, kind, from, to);
}

void nvtx_rounds_end(struct nvtx_rounds *r)
{
	while (r->exposed && r->at < r->p->n_steps)
		nvtx_next(r);
}
