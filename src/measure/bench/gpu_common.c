/* SPDX-License-Identifier: Apache-2.0 */
/* Which GPUs are meant, who uses them, and our kernels on them. */
#include <errno.h>
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "measure/bench/gpu_common.h"
#include "measure/bench/gpu_ahead.h"
#include "base/clock.h"

/* --- which ------------------------------------------------------------------------------------ */

static const struct gpu *facts_of(const struct machine *m, const char *pci)
{
	LIST_FOR_EACH (const struct gpu, g, &m->gpu.gpus)
		if (g->pci && strcmp(g->pci, pci) == 0)
			return g;
	return NULL;
}

/* One word of --gpus: an index, a range of them, or the beginning of a UUID. */
static bool word_means(struct arena *a, const char *word, const struct gpu_place *p)
{
	struct idset set;

	if (*word >= '0' && *word <= '9' && idset_parse(a, word, &set) == 0)
		return idset_has(&set, p->index);
	return strlen(word) >= 8 && strncmp(p->gpu->uuid, word, strlen(word)) == 0;
}

static bool gpu_common_mark(const struct bench_env *env, const char *word,
			    const struct gpu_places *all, bool *wanted)
{
	bool any = false;

	for (size_t i = 0; i < all->n; i++)
		if (word_means(env->a, word, &all->items[i]))
			any = wanted[i] = true;
	return any;
}

/* Keeps those that --gpus names. */
static void gpu_common_choose(const struct bench_env *env, struct bench_cases *cases,
			      struct gpu_places *all)
{
	bool wanted[CUDA_GPUS_MAX] = { false };
	const char *at = env->ask.gpus;
	size_t n = 0;

	if (!at[strspn(at, ",")]) {
		cases->none = "--gpus: expected indices or UUIDs like 0-3, got nothing";
		cases->usage = true;
		all->n = 0;
		return;
	}
	while (*at) {
		size_t len = strcspn(at, ",");
		const char *word = arena_strndup(env->a, at, len);

		if (len && !gpu_common_mark(env, word, all, wanted)) {
			cases->none = arena_printf(
				env->a, "--gpus: this process cannot use a GPU \"%.60s\"", word);
			cases->usage = true;
			all->n = 0;
			return;
		}
		at += len + (at[len] == ',');
	}
	for (size_t i = 0; i < all->n; i++)
		if (wanted[i])
			all->items[n++] = all->items[i];
	all->n = n;
}

/* In the order of the indices that the user sees. */
static void gpu_common_sort(struct gpu_places *all)
{
	for (size_t i = 1; i < all->n; i++)
		for (size_t k = i; k > 0 && all->items[k].index < all->items[k - 1].index; k--) {
			struct gpu_place swap = all->items[k];

			all->items[k] = all->items[k - 1];
			all->items[k - 1] = swap;
		}
}

void gpu_places_find(const struct bench_env *env, struct bench_cases *cases, struct gpu_places *out)
{
	struct err e = { 0 };
	struct cuda *c = NULL;
	int r = 0;

	*out = (struct gpu_places){ 0 };
	if (!gpu_preinit_driver(env->ahead, &c, &r, &e)) {
		c = ARENA_NEW(env->a, struct cuda);
		r = cuda_open(c, &e);
	}
	if (r) {
		LIST_FOR_EACH (const struct gpu, g, &env->m->gpu.gpus)
			if (fact_or(&g->mig, 0) == 1 && !*e.hint)
				err_hint(&e, "GPU %u is in MIG mode: create and select an instance",
					 g->index);
		cases->none = *e.hint ? arena_printf(env->a, "%s (%s)", e.text, e.hint)
				      : arena_strdup(env->a, e.text);
		return;
	}
	out->items = arena_array(env->a, c->n, sizeof(*out->items));
	for (size_t i = 0; i < c->n; i++) {
		struct gpu_place *p = &out->items[out->n++];

		p->gpu = &c->gpu[i];
		p->facts = facts_of(env->m, p->gpu->pci);
		p->index = p->facts ? p->facts->index : (unsigned)p->gpu->ordinal;
	}
	gpu_common_sort(out);
	if (env->ask.gpus)
		gpu_common_choose(env, cases, out);
}

const char *gpu_place_text(struct arena *a, const struct gpu_place *p)
{
	return arena_printf(a, "GPU %u (%s, %s%s)", p->index, p->gpu->name, p->gpu->pci,
			    p->gpu->slice ? ", a MIG slice of it" : "");
}

/* --- who -------------------------------------------------------------------------------------- */

/* "pid 4711 (python3, 2048 MiB)" of all other processes that the facts name, "" without any. */
static void gpu_users(const struct gpu_place *p, char *out, size_t size)
{
	size_t len = 0;

	*out = '\0';
	if (!p->facts)
		return;
	LIST_FOR_EACH (const struct gpu_process, u, &p->facts->processes) {
		long long bytes = fact_or(&u->memory_bytes, -1);
		int n;

		if (u->index == (unsigned)getpid())
			continue;
		n = snprintf(out + len, size - len, "%spid %u (%.20s", len ? ", " : "", u->index,
			     fact_text(&u->command, "name unreadable"));

		if (n < 0 || (size_t)n + 24 >= size - len) {
			out[len] = '\0';
			return;
		}
		len += (size_t)n;
		n = bytes >= 0 ? snprintf(out + len, size - len, ", %lld MiB)", bytes >> 20)
			       : snprintf(out + len, size - len, ")");
		len += n > 0 ? (size_t)n : 0;
	}
}

/* Adds who else uses the GPU to what went wrong. */
static int blame(const struct gpu_place *p, int r, struct err *e)
{
	char users[200], text[sizeof(e->text)];

	if (r != -ENOMEM && r != -EBUSY)
		return r;
	gpu_users(p, users, sizeof(users));
	memcpy(text, e->text, sizeof(text));
	if (p->facts && fact_is(&p->facts->compute_mode, "prohibited"))
		return err_set(e, r, "%.300s; its compute mode is \"prohibited\"", text);
	if (*users)
		return err_set(e, r, "%.300s; it is used by %s", text, users);
	return r;
}

int gpu_alloc(struct gpu_place *p, size_t bytes, cuda_address *out, struct err *e)
{
	return blame(p, cuda_alloc(p->gpu, bytes, out, e), e);
}

/* --- kernels ---------------------------------------------------------------------------------- */

static int find_tools(struct gpu_place *p, struct err *e)
{
	static const struct {
		const char *name;
		size_t offset;
	} tools[] = {
#define GPU_TOOL(name) { #name, offsetof(struct gpu_tools, name) },
		GPU_TOOLS(GPU_TOOL)
#undef GPU_TOOL
	};
	TEXT_AUTO ptx = { 0 };
	int r;

	cuda_tools_text(&ptx);
	r = cuda_module_load(p->gpu, ptx.s, &p->module, e);
	for (size_t i = 0; r == 0 && i < sizeof(tools) / sizeof(tools[0]); i++) {
		struct cuda_function *f = NULL;

		r = cuda_function_find(p->gpu, p->module, tools[i].name, &f, e);
		memcpy((char *)&p->tools + tools[i].offset, &f, sizeof(f));
	}
	if (r && p->module) {
		cuda_module_end(p->gpu, p->module);
		p->module = NULL;
	}
	return r;
}

/* Making a context is where a sick GPU is met first. */
static int gpu_common_use(struct gpu_place *p, struct err *e)
{
	struct cuda_guard guard = { 0 };
	int r;

	if (!p->gpu->context)
		cuda_guard_begin(&guard, CUDA_GUARD_S, p->gpu->pci);
	r = cuda_use(p->gpu, e);
	cuda_guard_end(&guard);
	return blame(p, r, e);
}

int gpu_place_use(struct gpu_place *p, struct err *e)
{
	int r = gpu_common_use(p, e);

	if (r)
		return r;
	if (p->gpu->cc_major < 7)
		return err_set(e, -EOPNOTSUPP,
			       "GPU %u (%s) has compute capability %d.%d; 7.0 is required",
			       p->index, p->gpu->name, p->gpu->cc_major, p->gpu->cc_minor);
	return 0;
}

int gpu_place_open(struct gpu_place *p, struct err *e)
{
	int r = gpu_place_use(p, e);

	return r || p->module ? r : find_tools(p, e);
}

int gpu_stream_kernel(struct gpu_place *p, const struct cuda_shape *s, struct cuda_function **out,
		      struct err *e)
{
	char name[64];
	int r = 0;

	if (!p->streams[s->op]) {
		TEXT_AUTO ptx = { 0 };

		cuda_stream_text(&ptx, s->op, p->gpu->cc_major);
		r = cuda_module_load(p->gpu, ptx.s, &p->streams[s->op], e);
	}
	cuda_shape_name(s, name, sizeof(name));
	return r ? r : cuda_function_find(p->gpu, p->streams[s->op], name, out, e);
}

/* Data on the GPU: made there by a generator, poisoned, compared, and the comparison proven. */

enum { DATA_MOST_S = 30, DATA_THREADS = 256, POISON = 0xa5 };

static unsigned data_blocks(const struct gpu_place *p)
{
	return (unsigned)(p->gpu->sms > 0 ? p->gpu->sms : 16) * 8;
}

static struct cuda_stream *first_stream(const struct gpu_timer *t, const struct gpu_place *p)
{
	for (size_t i = 0; i < t->n; i++)
		if (t->lane[i].place == p)
			return t->lane[i].s;
	return NULL;
}

static int gpu_common_run(struct gpu_place *p, struct gpu_timer *t, struct cuda_function *f,
			  void **args, const char *what, struct err *e)
{
	struct cuda_stream *s = first_stream(t, p);
	int r = cuda_use(p->gpu, e);

	cuda_guard_touch(&t->guard);
	r = r ? r : cuda_launch(p->gpu, f, data_blocks(p), DATA_THREADS, s, args, e);
	return r ? r : cuda_wait_stream(p->gpu, s, DATA_MOST_S, what, e);
}

static uint64_t and_of(struct gpu_data d)
{
	return d.floats ? CUDA_FLOAT_AND : ~0ull;
}

static uint64_t or_of(struct gpu_data d)
{
	return d.floats ? CUDA_FLOAT_OR : 0;
}

int gpu_fill(struct gpu_place *p, struct gpu_timer *t, cuda_address at, size_t bytes,
	     struct gpu_data d, struct err *e)
{
	uint64_t n = bytes / 8, and = and_of(d), or = or_of(d);
	void *args[] = { &at, &n, &d.seed, &and, & or };

	return gpu_common_run(p, t, p->tools.fill, args, "generating data", e);
}

int gpu_poison(struct gpu_place *p, struct gpu_timer *t, cuda_address at, size_t bytes,
	       struct err *e)
{
	struct cuda_stream *s = first_stream(t, p);
	int r = cuda_use(p->gpu, e);

	r = r ? r
	      : cuda_check(p->gpu, p->gpu->api->set_bytes(at, POISON, bytes, s), e,
			   "poisoning memory");
	return r ? r : cuda_wait_stream(p->gpu, s, DATA_MOST_S, "poisoning memory", e);
}

unsigned gpu_set_word(struct gpu_data d)
{
	return (unsigned)cuda_random(d.seed, 0);
}

/* Either address may be pinned memory of the host: the driver tells by the address. */
static int fetch(struct gpu_place *p, struct cuda_stream *s, void *to, cuda_address from,
		 size_t bytes, struct err *e)
{
	int r = cuda_check(p->gpu,
			   p->gpu->api->copy_any((cuda_address)(uintptr_t)to, from, bytes, s), e,
			   "fetching a word");

	return r ? r : cuda_wait_stream(p->gpu, s, DATA_MOST_S, "fetching a word", e);
}

static int put(struct gpu_place *p, struct cuda_stream *s, cuda_address to, const void *from,
	       size_t bytes, struct err *e)
{
	int r = cuda_check(p->gpu,
			   p->gpu->api->copy_any(to, (cuda_address)(uintptr_t)from, bytes, s), e,
			   "placing a word");

	return r ? r : cuda_wait_stream(p->gpu, s, DATA_MOST_S, "placing a word", e);
}

/* One comparison under way. */
struct comparison {
	struct gpu_place *p;
	struct gpu_timer *t;
	struct cuda_stream *s;
	enum gpu_check how;
	cuda_address at, result;
	uint64_t n, seed, and, or, second;
};

/* found[0]: how many words are wrong, found[1]: the first. */
static int gpu_common_compare(struct comparison *c, uint64_t found[2], struct err *e)
{
	static const uint64_t none[2] = { 0, UINT64_MAX };
	struct gpu_tools *tools = &c->p->tools;
	void *data[] = { &c->at, &c->n, &c->seed, &c->and, &c->or, &c->result };
	void *triad[] = { &c->at, &c->n, &c->seed, &c->second, &c->result };
	void *wrote[] = { &c->at, &c->n, &c->seed, &c->result };
	int r = put(c->p, c->s, c->result, none, sizeof(none), e);

	if (r == 0)
		r = c->how == GPU_CHECK_DATA
			    ? gpu_common_run(c->p, c->t, tools->check, data, "checking data", e)
		    : c->how == GPU_CHECK_TRIAD ? gpu_common_run(c->p, c->t, tools->check_triad,
								 triad, "checking data", e)
						: gpu_common_run(c->p, c->t, tools->check_write,
								 wrote, "checking data", e);
	return r ? r : fetch(c->p, c->s, found, c->result, 2 * sizeof(uint64_t), e);
}

/* Turns one bit in the middle, looks whether it is found, and turns it back. */
static int gpu_common_prove(struct comparison *c, struct err *e)
{
	uint64_t at = c->n / 2, found[2] = { 0 }, word = 0, turned;
	cuda_address address = c->at + at * 8;
	int r = fetch(c->p, c->s, &word, address, sizeof(word), e);

	turned = word ^ 1ull << (at % 64);
	r = r ? r : put(c->p, c->s, address, &turned, sizeof(turned), e);
	r = r ? r : gpu_common_compare(c, found, e);
	if (r == 0 && (found[0] != 1 || found[1] != at))
		r = err_set(e, -EILSEQ,
			    "GPU %u: the check does not work: one bit was flipped in word %llu, "
			    "and %llu wrong words were found",
			    c->p->index, (unsigned long long)at, (unsigned long long)found[0]);
	return r ? r : put(c->p, c->s, address, &word, sizeof(word), e);
}

int gpu_verify(struct gpu_place *p, struct gpu_timer *t, enum gpu_check how, cuda_address at,
	       size_t bytes, struct gpu_data d, uint64_t second, const char *what, struct err *e)
{
	struct comparison c = { p,	   t,	   first_stream(t, p), how,	 at,	0,
				bytes / 8, d.seed, and_of(d),	       or_of(d), second };
	uint64_t found[2] = { 0 };
	int r = cuda_use(p->gpu, e);

	if (how == GPU_CHECK_SET) {
		c.how = GPU_CHECK_DATA;
		c.and = 0;
		c.or = (uint64_t)gpu_set_word(d) << 32 | gpu_set_word(d);
	}
	r = r ? r : cuda_alloc(p->gpu, 16, &c.result, e);
	r = r ? r : gpu_common_compare(&c, found, e);
	if (r == 0 && found[0])
		r = err_set(e, -EILSEQ,
			    "GPU %u: %s: %llu of %llu words are wrong, the first is number %llu",
			    p->index, what, (unsigned long long)found[0], (unsigned long long)c.n,
			    (unsigned long long)found[1]);
	r = r ? r : gpu_common_prove(&c, e);
	cuda_free(p->gpu, c.result);
	return r;
}

int gpu_sum(struct gpu_place *p, struct gpu_timer *t, size_t bytes, struct gpu_data d,
	    uint64_t *out, struct err *e)
{
	uint64_t n = bytes / 8, and = and_of(d), or = or_of(d), zero = 0;
	cuda_address sum = 0;
	void *args[] = { &n, &d.seed, &and, & or, &sum };
	struct cuda_stream *s = first_stream(t, p);
	int r = cuda_use(p->gpu, e);

	r = r ? r : cuda_alloc(p->gpu, 8, &sum, e);
	r = r ? r : put(p, s, sum, &zero, sizeof(zero), e);
	r = r ? r : gpu_common_run(p, t, p->tools.add, args, "summing data", e);
	r = r ? r : fetch(p, s, out, sum, sizeof(*out), e);
	cuda_free(p->gpu, sum);
	return r;
}

/* From totals to shares of the time, and those to words. */

void gpu_state_begin(struct gpu_state *s, const struct gpu_place *p)
{
	gpu_watch_open(&s->watch, p);
	gpu_watch_look(&s->watch, &s->before);
	s->begun = true;
}

static void gpu_common_add(char *text, size_t size, const char *what, double before, double after,
			   double us)
{
	size_t len = strlen(text);
	double percent = us > 0 ? 100 * (after - before) / us : 0;

	if (before >= 0 && after >= 0 && percent > 1 && len < size)
		snprintf(text + len, size - len, "; %s %.0f %% of the time", what,
			 percent > 100 ? 100 : percent);
}

void gpu_state_end(struct gpu_state *s, char *text, size_t size)
{
	struct gpu_look after;
	double us;

	if (!s->begun)
		return;
	gpu_watch_look(&s->watch, &after);
	us = (after.at_s - s->before.at_s) * 1e6;
	gpu_common_add(text, size, "limited by its power cap", s->before.capped_us, after.capped_us,
		       us);
	gpu_common_add(text, size, "thermal", s->before.warm_us, after.warm_us, us);
	gpu_common_add(text, size, "power brake active", s->before.brake_us, after.brake_us, us);
	gpu_watch_close(&s->watch);
	s->begun = false;
}

void gpu_state_link(const struct gpu_place *p, char *text, size_t size)
{
	long long gen = p->facts ? fact_or(&p->facts->pcie_gen_max, 0) : 0,
		  width = p->facts ? fact_or(&p->facts->pcie_width_max, 0) : 0;
	size_t len = strlen(text);
	struct gpu_watch w;
	struct gpu_look now;

	gpu_watch_open(&w, p);
	gpu_watch_look(&w, &now);
	gpu_watch_close(&w);
	if (now.link_gen > 0 && now.link_width > 0 && len < size &&
	    (now.link_gen < gen || now.link_width < width))
		snprintf(text + len, size - len,
			 "; its link runs at generation %lld with %lld lanes, not %lld with %lld",
			 now.link_gen, now.link_width, gen, width);
}

/*
 * Windows of work: queued while a gate holds the streams, then run without the host, timed by
 * events. So that what is measured is work done, not work queued.
 */

/* What no window of ours takes: then the GPU hangs. */
enum { WINDOW_MOST_S = 30 };

static int gpu_common_lane_make(struct gpu_lane *l, struct gpu_place *p, struct err *e)
{
	int r;

	l->place = p;
	r = cuda_use(p->gpu, e);
	r = r ? r : cuda_stream_make(p->gpu, &l->s, e);
	r = r ? r : cuda_event_make(p->gpu, &l->from, e);
	return r ? r : cuda_event_make(p->gpu, &l->to, e);
}

int gpu_timer_make(struct gpu_timer *t, struct gpu_place *const *places, size_t n, struct err *e)
{
	char what[96];
	int r;

	*t = (struct gpu_timer){ .lane = heap_array(n, sizeof(*t->lane)) };
	snprintf(what, sizeof(what), "GPU %u (%s)%s", places[0]->index, places[0]->gpu->pci,
		 n > 1 ? " or an adjacent word" : "");
	cuda_guard_begin(&t->guard, CUDA_GUARD_S, what);
	r = cuda_gate_make(places[0]->gpu, &t->gate, e);
	for (size_t i = 0; r == 0 && i < n; i++) {
		t->n++;
		r = gpu_common_lane_make(&t->lane[i], places[i], e);
	}
	/* The first launch of a kernel may wait for all streams: not behind the gate. */
	for (size_t i = 0; r == 0 && i < n; i++) {
		unsigned none = 0;
		void *args[] = { &t->gate.as, &none };

		r = cuda_use(places[i]->gpu, e);
		r = r ? r
		      : cuda_launch(places[i]->gpu, places[i]->tools.spin, 1, 1, t->lane[i].s, args,
				    e);
		r = r ? r
		      : cuda_wait_stream(places[i]->gpu, t->lane[i].s, WINDOW_MOST_S,
					 "the first kernel", e);
	}
	if (r)
		gpu_timer_end(t);
	return r;
}

void gpu_timer_end(struct gpu_timer *t)
{
	struct err ignored = { 0 };

	cuda_gate_open(&t->gate);
	for (size_t i = 0; i < t->n; i++) {
		struct gpu_lane *l = &t->lane[i];

		if (cuda_use(l->place->gpu, &ignored))
			continue;
		if (l->s)
			cuda_wait_stream(l->place->gpu, l->s, WINDOW_MOST_S, "the last work",
					 &ignored);
		cuda_event_end(l->place->gpu, l->from);
		cuda_event_end(l->place->gpu, l->to);
		cuda_stream_end(l->place->gpu, l->s);
	}
	cuda_gate_end(&t->gate);
	cuda_guard_end(&t->guard);
	free(t->lane);
	*t = (struct gpu_timer){ 0 };
}

/* All lanes wait; then the caller queues work in them (at most CUDA_GATE_QUEUE entries each). */
static int gpu_timer_hold(struct gpu_timer *t, struct err *e)
{
	int r = 0;

	cuda_guard_touch(&t->guard);
	cuda_gate_shut(&t->gate);
	for (size_t i = 0; r == 0 && i < t->n; i++) {
		struct gpu_lane *l = &t->lane[i];

		r = cuda_use(l->place->gpu, e);
		r = r ? r : cuda_gate_hold(&t->gate, l->place->gpu, l->s, l->place->tools.spin, e);
		r = r ? r : cuda_record(l->place->gpu, l->from, l->s, e);
	}
	if (r)
		cuda_gate_open(&t->gate);
	return r;
}

/* Lets them run and waits for all. *seconds: of the lane that took longest. */
static int gpu_timer_run(struct gpu_timer *t, double *seconds, struct err *e)
{
	int r = 0;

	cuda_guard_touch(&t->guard);
	*seconds = 0;
	for (size_t i = 0; r == 0 && i < t->n; i++) {
		r = cuda_use(t->lane[i].place->gpu, e);
		r = r ? r : cuda_record(t->lane[i].place->gpu, t->lane[i].to, t->lane[i].s, e);
	}
	cuda_gate_open(&t->gate);
	for (size_t i = 0; r == 0 && i < t->n; i++) {
		struct gpu_lane *l = &t->lane[i];

		r = cuda_use(l->place->gpu, e);
		r = r ? r
		      : cuda_wait_event(l->place->gpu, l->to, WINDOW_MOST_S, "a window of work", e);
		r = r ? r : cuda_elapsed(l->place->gpu, l->from, l->to, &l->seconds, e);
		if (r == 0 && l->seconds > *seconds)
			*seconds = l->seconds;
	}
	return r;
}

int gpu_window(struct gpu_timer *t, gpu_work *work, void *ctx, size_t n, double *seconds,
	       struct err *e)
{
	struct err late = { 0 };
	double ignored;
	int r = gpu_timer_hold(t, e);

	if (r)
		return r;
	for (size_t i = 0; r == 0 && i < t->n; i++) {
		r = cuda_use(t->lane[i].place->gpu, e);
		for (size_t k = 0; r == 0 && k < n; k++)
			r = work(ctx, i, e);
	}
	if (r) {
		gpu_timer_run(t, &ignored, &late);
		return r;
	}
	return gpu_timer_run(t, seconds, e);
}

int gpu_window_fit(struct gpu_timer *t, gpu_work *work, void *ctx, double seconds, size_t *n,
		   struct err *e)
{
	double one = 0;
	int r = 0;

	/* Once without the gate: what is loaded at first use is loaded here. */
	for (size_t i = 0; r == 0 && i < t->n; i++) {
		struct gpu_lane *l = &t->lane[i];

		r = cuda_use(l->place->gpu, e);
		r = r ? r : work(ctx, i, e);
		r = r ? r : cuda_wait_stream(l->place->gpu, l->s, WINDOW_MOST_S, "the warm-up", e);
	}
	r = r ? r : gpu_window(t, work, ctx, 1, &one, e);
	*n = one > 0 ? (size_t)fmin(seconds / one, CUDA_GATE_QUEUE) : 1;
	*n = *n ? *n : 1;
	return r;
}

/* NVML's questions, and threads. */

void gpu_watch_open(struct gpu_watch *w, const struct gpu_place *p)
{
	/* The measurement's own backend: the sampler beside it uses the other one. */
	w->h = p->facts ? host_open_live() : NULL;
	snprintf(w->object, sizeof(w->object), "%u", p->index);
}

void gpu_watch_close(struct gpu_watch *w)
{
	host_close(w->h);
	w->h = NULL;
}

static double ask(const struct gpu_watch *w, const char *question, double factor)
{
	long long v;

	if (!w->h || host_ask_int(w->h, "nvml", w->object, question, &v))
		return -1;
	return (double)v * factor;
}

void gpu_watch_brief(const struct gpu_watch *w, struct gpu_look *out)
{
	*out = (struct gpu_look){ .at_s = clock_mono_s(),
				  .sm_mhz = -1,
				  .memory_mhz = -1,
				  .busy_percent = -1,
				  .reasons = -1,
				  .capped_us = -1,
				  .warm_us = -1,
				  .brake_us = -1,
				  .link_gen = -1,
				  .link_width = -1 };
	out->power_w = ask(w, "nvmlDeviceGetPowerUsage", 1e-3);
	out->temperature_c = ask(w, "nvmlDeviceGetTemperature(GPU)", 1);
}

#define FIELD(name) "nvmlDeviceGetFieldValues(CLOCKS_EVENT_REASON_" name ")"

void gpu_watch_look(const struct gpu_watch *w, struct gpu_look *out)
{
	double driver, hardware;

	gpu_watch_brief(w, out);
	out->sm_mhz = ask(w, "nvmlDeviceGetClockInfo(SM)", 1);
	out->memory_mhz = ask(w, "nvmlDeviceGetClockInfo(MEM)", 1);
	out->busy_percent = ask(w, "nvmlDeviceGetUtilizationRates.gpu", 1);
	out->reasons = (long long)ask(w, "nvmlDeviceGetCurrentClocksEventReasons", 1);
	/* The driver counts nanoseconds. */
	out->capped_us = ask(w, FIELD("SW_POWER_CAP"), 1e-3);
	driver = ask(w, FIELD("SW_THERM_SLOWDOWN"), 1e-3);
	hardware = ask(w, FIELD("HW_THERM_SLOWDOWN"), 1e-3);
	out->warm_us = driver < 0 ? hardware : hardware < 0 ? driver : driver + hardware;
	out->brake_us = ask(w, FIELD("HW_POWER_BRAKE_SLOWDOWN"), 1e-3);
	out->link_gen = (long long)ask(w, "nvmlDeviceGetCurrPcieLinkGeneration", 1);
	out->link_width = (long long)ask(w, "nvmlDeviceGetCurrPcieLinkWidth", 1);
}

struct turn {
	void (*work)(void *ctx, size_t i);
	void *ctx;
	size_t i;
	pthread_t thread;
	bool started;
};

static void *turn_main(void *arg)
{
	struct turn *t = arg;

	t->work(t->ctx, t->i);
	return NULL;
}

void gpu_each(size_t n, void (*work)(void *ctx, size_t i), void *ctx)
{
	struct turn *turns = n > 1 ? heap_array(n, sizeof(*turns)) : NULL;

	for (size_t i = 0; i < n; i++) {
		if (turns) {
			turns[i] = (struct turn){ .work = work, .ctx = ctx, .i = i };
			turns[i].started =
				pthread_create(&turns[i].thread, NULL, turn_main, &turns[i]) == 0;
		}
		/* One after another is better than none. */
		if (!turns || !turns[i].started)
			work(ctx, i);
	}
	for (size_t i = 0; turns && i < n; i++)
		if (turns[i].started)
			pthread_join(turns[i].thread, NULL);
	free(turns);
}
