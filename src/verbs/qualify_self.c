/* SPDX-License-Identifier: Apache-2.0 */
/* One node by itself: its health, the bits of its products, the short form of some benches. */
#include "verbs/qualify.h"

#include <pthread.h>
#include <string.h>
#include <sys/utsname.h>
#include <time.h>

#include "base/clock.h"
#include "look/settings/findings.h"
#include "measure/bench/bench_json.h"
#include "measure/bench/gemm.h"
#include "measure/prove/ledger_view.h"

/* Of the time for benches each case gets this part, within bounds. */
enum { CASES = 80, WATCH_MS = 50 };
#define CASE_LEAST_S 0.1
#define CASE_MOST_S 5.0
/* Of what healthy ones have: that is known of longer runs. */
#define BAND 0.9
/* Under load a sample takes a second; so much time is needed. */
#define LOAD_S 48.0

static const struct {
	const struct bench *bench;
	const char *cases; /* how their names begin */
	double least_s;	   /* of all time; less: it is left out */
} measured[] = {
	{ &bench_gemm, "bf16:8192", 0 },	  { &bench_gpu_memory, "copy:", 0 },
	{ &bench_gpu_copy, "h2d:gpu", 0 },	  { &bench_gpu_copy, "d2h:gpu", 0 },
	{ &bench_gpu_copy, "peer-both:", 0 },	  { &bench_memory_bandwidth, "triad", 0 },
	{ &bench_disk, "read-seq:1MiB:qd32", 0 }, { &bench_gpu_load, "signature", LOAD_S },
};

struct self {
	const struct qualify_self *of;
	struct arena *a;
	struct host *h;
	struct machine *m;
	struct self_answer *out;
};

/* --- health ----------------------------------------------------------------------------------- */

static int self_health(struct self *s, struct err *e)
{
	struct arena *a = s->a;
	struct profile p;
	struct findings f;
	int r = profile_load(a, "default", &p, e);

	if (r)
		return r;
	settings_check(a, s->m, &p, door_read_knob, s->h, &f);
	s->out->unfit = findings_unfit(a, &f, false);
	if (f.count[VERDICT_UNKNOWN])
		s->out->unknown = arena_printf(a, "%zu checks", f.count[VERDICT_UNKNOWN]);
	s->out->check = measured_check_json(a, s->m, &p, &f, NULL, door_verdicts_code(f.count));
	return 0;
}

static void self_unfit(struct self *s, const char *why)
{
	s->out->unfit = s->out->unfit ? arena_printf(s->a, "%s; %s", s->out->unfit, why)
				      : arena_strdup(s->a, why);
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
		int r = gemm_bits(&shared, &on.items[i], s->a, &bits, &p->gpu, &e);

		if (r == -EILSEQ)
			self_unfit(s, e.text);
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

/* A wrong result, a GPU that is not healthy under load, a figure below what healthy ones have. */
static void judge_cases(struct self *s, const struct record *r)
{
	for (size_t i = 0; i < r->n; i++) {
		const struct record_case *c = &r->cases[i];

		if (record_wrong(c) || record_unhealthy(c))
			self_unfit(s, arena_printf(s->a, "%s %s: %s", c->bench, c->name, c->error));
		for (size_t k = 0; k < c->n_series && !c->error; k++)
			if (record_worse(&c->series[k]) &&
			    (c->series[k].better != BENCH_HIGHER ||
			     c->series[k].s.median < BAND * c->series[k].band.low))
				self_unfit(s, arena_printf(s->a,
							   "%s %s: %.4g %s, below the range of "
							   "healthy machines",
							   c->bench, c->name, c->series[k].s.median,
							   c->series[k].unit_text));
		if (!c->n && !record_wrong(c) && !record_unhealthy(c))
			s->out->unknown = arena_printf(
				s->a, "%s%s%s %s: %s", s->out->unknown ? s->out->unknown : "",
				s->out->unknown ? "; " : "", c->bench, c->name,
				c->error ? c->error : "no time was left");
	}
}

static void self_benches(struct self *s, double seconds)
{
	struct bell bell = { .end_ms = clock_mono_ms() + (long long)(seconds * 1000),
			     .stop = s->of->stop };
	double each = seconds / CASES;
	struct record r = { .version = GPUTUNE_VERSION, .time_s = fact_or(&s->m->time_s, 0) };
	struct frame f = { .seconds = each < CASE_LEAST_S  ? CASE_LEAST_S
				      : each > CASE_MOST_S ? CASE_MOST_S
							   : each,
			   .env = { .a = s->a,
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
	for (size_t i = 0; i < sizeof(measured) / sizeof(measured[0]); i++)
		if (seconds >= measured[i].least_s &&
		    (s->of->dir || measured[i].bench != &bench_disk))
			frame_run(&f, measured[i].bench, measured[i].cases, &r);
	atomic_store(&bell.done, true);
	if (rings)
		pthread_join(bell.thread, NULL);
	record_summarise(&r);
	record_judge(s->a, &r);
	judge_cases(s, &r);
	if (r.n)
		s->out->bench = machine_result_json(&bench_result, s->m, &r, 0);
}

int qualify_self(void *ctx, struct arena *a, double seconds, struct self_answer *out, struct err *e)
{
	const struct qualify_self *of = ctx;
	/* Another thread may lead meanwhile. */
	struct door d = *of->d;
	struct self s = { .of = of, .a = a, .out = out, .h = d.live(d.ctx) };
	struct utsname host;
	int r;

	d.arena = a;
	s.m = door_machine(&d, s.h, &(struct door_look){ .lean = seconds <= 0 });
	out->host = uname(&host) ? "" : arena_strdup(a, host.nodename);
	out->platform = fact_text(&s.m->platform.kind, NULL);
	r = self_health(&s, e);
	if (r == 0 && seconds > 0)
		self_benches(&s, seconds);
	host_close(s.h);
	return r;
}
