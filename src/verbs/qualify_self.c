/* SPDX-License-Identifier: Apache-2.0 */
/* One node by itself: its health, the bits of its products, the short form of some benches. */
#include "verbs/qualify.h"

#include <math.h>
#include <pthread.h>
#include <string.h>
#include <sys/utsname.h>
#include <time.h>

#include "base/clock.h"
#include "look/settings/findings.h"
#include "measure/bench/bench_json.h"
#include "measure/bench/gemm.h"
#include "measure/prove/ledger_view.h"

/* Each case gets its part of the time for benches, within bounds; set-ups and warm-ups take the
 * rest. */
enum { WATCH_MS = 50 };
#define CASE_LEAST_S 0.1
#define CASE_MOST_S 5.0
#define SET_UPS 4.0
/* Under load a sample takes a second, and the first few only warm up. */
#define LOAD_S 12.0

/* In this order. per: how many cases there are of it. */
static const struct measured {
	const struct bench *bench;
	const char *cases; /* how their names begin */
	enum { PER_MACHINE, PER_GPU, PER_PAIR } per;
} measured[] = {
	{ &bench_gemm, "bf16:8192", PER_GPU },
	{ &bench_gpu_memory, "copy:", PER_GPU },
	{ &bench_gpu_copy, "h2d:gpu", PER_GPU },
	{ &bench_gpu_copy, "d2h:gpu", PER_GPU },
	{ &bench_gpu_copy, "peer-both:", PER_PAIR },
	{ &bench_memory_bandwidth, "triad", PER_MACHINE },
	{ &bench_disk, "read-seq:1MiB:qd32", PER_MACHINE },
};

struct self {
	struct qualify_self *of;
	struct arena *a;
	struct host *h;
	struct machine *m;
	struct self_answer *out;
};

/* --- health ----------------------------------------------------------------------------------- */

static void self_unfit(struct self *s, const char *why)
{
	s->out->unfit = s->out->unfit ? arena_printf(s->a, "%s; %s", s->out->unfit, why)
				      : arena_strdup(s->a, why);
}

static void self_unknown(struct self *s, const char *what)
{
	s->out->unknown = s->out->unknown ? arena_printf(s->a, "%s; %s", s->out->unknown, what)
					  : arena_strdup(s->a, what);
}

/* What was not wrong before: errors that were counted meanwhile. */
static void self_news(struct self *s, const struct findings *f)
{
	for (size_t i = 0; i < f->n; i++) {
		const struct findings one = { .items = &f->items[i], .n = 1 };
		const char *why = findings_unfit(s->a, &one, false);

		if (why && !(s->of->unfit && strstr(s->of->unfit, why)))
			self_unfit(s, why);
	}
}

static int self_health(struct self *s, bool again, struct err *e)
{
	struct arena *a = s->a;
	struct profile p;
	struct findings f;
	int r = profile_load(a, "default", &p, e);

	if (r)
		return r;
	settings_check(a, s->m, &p, door_read_knob, s->h, &f);
	if (again) {
		self_news(s, &f);
		return 0;
	}
	s->out->unfit = findings_unfit(a, &f, false);
	if (f.count[VERDICT_UNKNOWN])
		s->out->unknown = arena_printf(a, "%zu checks", f.count[VERDICT_UNKNOWN]);
	s->out->check = measured_check_json(a, s->m, &p, &f, NULL, door_verdicts_code(f.count));
	return 0;
}

/* --- products --------------------------------------------------------------------------------- */

static void self_products(struct self *s, const struct bench_env *env)
{
	struct gemm_shared shared = { 0 };
	struct bench_cases ignored = { 0 };
	struct gpu_places on;

	gpu_places_find(env, &ignored, &on);
	s->out->products = arena_array(s->a, on.n, sizeof(*s->out->products));
	for (size_t i = 0; i < on.n; i++) {
		struct self_product *p = &s->out->products[s->out->n_products];
		struct err e = { 0 };
		uint64_t bits;
		int r = gemm_bits(&shared, &on.items[i], s->a, s->of->stop, &bits, &p->gpu, &e);

		if (r == -EILSEQ)
			self_unfit(s, e.text);
		if (r && r != -EILSEQ)
			self_unknown(s, arena_printf(s->a, "product on GPU %u: %s",
						     on.items[i].index, e.text));
		if (r)
			continue;
		p->place = arena_printf(s->a, "GPU %u", on.items[i].index);
		p->bits = arena_printf(s->a, "%016llx", (unsigned long long)bits);
		s->out->n_products++;
	}
}

/* --- benches ---------------------------------------------------------------------------------- */

/* Ends what is measured when its time is over. */
struct bell {
	pthread_t thread;
	long long end_ms;
	const atomic_bool *stop;
	atomic_bool over, done;
};

static void *bell_main(void *arg)
{
	struct bell *b = arg;

	while (!atomic_load(&b->done) && clock_mono_ms() < b->end_ms &&
	       !(b->stop && atomic_load(b->stop)))
		nanosleep(&(struct timespec){ 0, WATCH_MS * 1000000 }, NULL);
	atomic_store(&b->over, true);
	return NULL;
}

/* Far outside: what healthy ones have is known of longer runs. */
static bool far_worse(const struct record_series *s)
{
	return record_worse(s) &&
	       (s->better == BENCH_HIGHER ? s->s.median < QUALIFY_BAND * s->band.low
					  : s->s.median * QUALIFY_BAND > s->band.high);
}

/* A wrong result, a GPU that is not healthy under load, a figure below what healthy ones have. */
static void judge_cases(struct self *s, const struct record *r)
{
	const char *late = "";

	for (size_t i = 0; i < r->n; i++) {
		const struct record_case *c = &r->cases[i];

		if (record_wrong(c) || record_unhealthy(c))
			self_unfit(s, arena_printf(s->a, "%s %s: %s", c->bench, c->name, c->error));
		for (size_t k = 0; k < c->n_series && !c->error; k++)
			if (far_worse(&c->series[k]))
				self_unfit(s, arena_printf(s->a,
							   "%s %s: %.4g %s, below the range of "
							   "healthy machines",
							   c->bench, c->name, c->series[k].s.median,
							   c->series[k].unit_text));
		if (c->error && !record_wrong(c) && !record_unhealthy(c))
			self_unknown(s,
				     arena_printf(s->a, "%s %s: %s", c->bench, c->name, c->error));
		if (!c->error && !c->n)
			late = arena_printf(s->a, "%s%s%s %s", late, *late ? ", " : "", c->bench,
					    c->name);
	}
	if (*late)
		self_unknown(s, arena_printf(s->a, "no time was left for %s", late));
}

/* How long a case may take. */
static double case_seconds(const struct self *s, double seconds)
{
	size_t gpus = s->m->gpu.gpus.n, cases = 0;
	double each;

	for (size_t i = 0; i < sizeof(measured) / sizeof(measured[0]); i++)
		cases += measured[i].per == PER_GPU			   ? gpus
			 : measured[i].per == PER_PAIR			   ? gpus * gpus / 2
			 : measured[i].bench == &bench_disk && !s->of->dir ? 0
									   : 2;
	each = seconds / SET_UPS / (double)(cases ? cases : 1);
	return fmin(fmax(each, CASE_LEAST_S), CASE_MOST_S);
}

static void self_measure(struct self *s, double seconds, struct frame *f, struct record *r)
{
	/* Where there is time, under load at the end. */
	double load = s->m->gpu.gpus.n && seconds > 4 * LOAD_S ? LOAD_S : 0;

	f->seconds = case_seconds(s, seconds - load);
	for (size_t i = 0; i < sizeof(measured) / sizeof(measured[0]); i++)
		if (measured[i].bench != &bench_disk || s->of->dir)
			frame_run(f, measured[i].bench, measured[i].cases, r);
	f->seconds = LOAD_S / 2;
	if (load > 0)
		frame_run(f, &bench_gpu_load, "signature", r);
}

static void self_benches(struct self *s, double seconds)
{
	struct bell bell = { .end_ms = clock_mono_ms() + (long long)(seconds * 1000),
			     .stop = s->of->stop };
	struct record r = { .version = GPUTUNE_VERSION, .time_s = fact_or(&s->m->time_s, 0) };
	struct frame f = { .env = { .a = s->a,
				    .m = s->m,
				    .h = s->h,
				    .cpus = bench_allowed(s->a),
				    .stop = &bell.over,
				    .ask.dir = s->of->dir } };
	bool rings = pthread_create(&bell.thread, NULL, bell_main, &bell) == 0;

	self_products(s, &f.env);
	r.id = "qualify";
	record_fingerprint(s->a, s->h, s->m, &r);
	r.settings_digest = record_digest(s->a, NULL, 0);
	frame_start(&f);
	self_measure(s, seconds, &f, &r);
	atomic_store(&bell.done, true);
	if (rings)
		pthread_join(bell.thread, NULL);
	record_summarise(&r);
	record_judge(s->a, &r);
	judge_cases(s, &r);
	if (r.n)
		s->out->bench = machine_result_json(&bench_result, s->m, &r, 0);
}

/* Of the first GPU; of a mixture nothing is known. */
static const char *gpu_name(const struct machine *m)
{
	LIST_FOR_EACH (const struct gpu, g, &m->gpu.gpus)
		return fact_text(&g->name, NULL);
	return NULL;
}

/* The first reading is kept for the question that comes again. */
static void self_read(struct self *s, struct door *d, const struct self_ask *ask)
{
	if (!ask->again) {
		arena_free(&s->of->kept);
		s->of->unfit = NULL;
		d->arena = &s->of->kept;
	}
	s->m = door_machine(d, s->h, &(struct door_look){ .lean = ask->seconds <= 0 });
	if (ask->again)
		s->m->earlier = s->of->first;
	else
		s->of->first = s->m;
}

void qualify_self_end(struct qualify_self *s)
{
	arena_free(&s->kept);
}

int qualify_self(void *ctx, struct arena *a, const struct self_ask *ask, struct self_answer *out,
		 struct err *e)
{
	struct qualify_self *of = ctx;
	/* Another thread may lead meanwhile. */
	struct door d = *of->d;
	struct self s = { .of = of, .a = a, .out = out, .h = d.live(d.ctx) };
	struct utsname host;
	int r;

	d.arena = a;
	self_read(&s, &d, ask);
	out->host = uname(&host) ? "" : arena_strdup(a, host.nodename);
	out->platform = fact_text(&s.m->platform.kind, NULL);
	out->gpu = gpu_name(s.m);
	r = self_health(&s, ask->again, e);
	if (r == 0 && !ask->again && out->unfit)
		of->unfit = arena_strdup(&of->kept, out->unfit);
	if (r == 0 && ask->seconds > 0)
		self_benches(&s, ask->seconds);
	host_close(s.h);
	return r;
}
