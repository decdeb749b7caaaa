/* SPDX-License-Identifier: Apache-2.0 */
/* What kept results of our benches say of a machine: the newest sound one of each case, and which
 * constants of predictions they move. */
#include <math.h>
#include <string.h>

#include "base/text.h"
#include "measure/bench/store.h"
#include "front/verbs/bench.h"
#include "front/verbs/calibrate.h"
#include "measure/bench/bench_json.h"

enum { RESULTS_MAX = 200 };

static const char *first_gpu(const struct record *rec)
{
	for (size_t i = 0; i < rec->n_fingerprint; i++)
		if (strcmp(rec->fingerprint[i].name, "gpu0") == 0)
			return rec->fingerprint[i].value;
	return "";
}

static bool is_of(const struct record *rec, const char *machine, const char *gpu)
{
	if (machine)
		return strcmp(rec->machine, machine) == 0;
	return gpu && gpu_kind_of(first_gpu(rec)) == gpu_kind_of(gpu) && gpu_kind_of(gpu);
}

static void take(struct run *r, const struct record *rec, const char *id, struct bench_facts *out)
{
	for (size_t i = 0; i < rec->n; i++) {
		const struct record_case *c = &rec->cases[i];

		if (c->error || !c->verified || !c->n_series || !c->series[0].has_summary)
			continue;
		out->cases = arena_grow(&r->arena, out->cases, out->n, sizeof(*out->cases));
		out->ids = arena_grow(&r->arena, out->ids, out->n, sizeof(*out->ids));
		out->cases[out->n] = c;
		out->ids[out->n++] = id;
	}
}

void bench_facts_of(struct run *r, struct host *h, const char *machine, const char *gpu,
		    struct bench_facts *out)
{
	struct err e = { 0 };
	char **ids;
	size_t n;

	*out = (struct bench_facts){ 0 };
	if (store_list(&r->arena, h, bench_state(r), &ids, &n, &e))
		return;
	for (size_t i = n; i-- > 0 && n - i <= RESULTS_MAX;) {
		struct record *rec = ARENA_NEW(&r->arena, struct record);
		char *text;

		if (store_get(&r->arena, h, bench_state(r), ids[i], &text, &e) == 0 &&
		    bench_from_json(&r->arena, ids[i], text, rec, &e) == 0 &&
		    is_of(rec, machine, gpu))
			take(r, rec, ids[i], out);
	}
}

/* "bf16:8192" on any GPU, not "bf16:8192x64x64"; "h2d:gpu" of any, not "h2d:gpu0:node1". */
static bool is_case(const char *name, const char *wanted)
{
	const char *rest;

	if (!str_starts(name, wanted))
		return false;
	rest = name + strlen(wanted);
	if (str_ends(wanted, ":gpu"))
		return !rest[strspn(rest, "0123456789")];
	return !*rest || *rest == ':';
}

const struct record_case *bench_fact(const struct bench_facts *f, const char *bench,
				     const char *wanted, const char **id)
{
	for (size_t i = 0; i < f->n; i++)
		if (strcmp(f->cases[i]->bench, bench) == 0 && is_case(f->cases[i]->name, wanted)) {
			if (id)
				*id = f->ids[i];
			return f->cases[i];
		}
	return NULL;
}

static void add(struct run *r, struct calibrate_hint **list, size_t *n, struct calibrate_hint h)
{
	*list = arena_grow(&r->arena, *list, *n, sizeof(**list));
	(*list)[(*n)++] = h;
}

/* A rate against what is usual for this hardware moves constants in the same proportion; against
 * the data sheet it bounds them. */
struct mover {
	const char *bench, *prefix;
	enum fit_id ids[4];
	size_t n;
	bool bounds; /* the constant is a part of this very rate's data sheet figure */
};

static const struct mover movers[] = {
	{ "gpu-memory", "read:gpu", { FIT_DENSE, FIT_EXPERT, FIT_CACHE }, 3, true },
	{ "gpu-memory", "copy:gpu", { FIT_DENSE, FIT_EXPERT, FIT_CACHE }, 3, false },
	{ "gemm", "bf16:8192", { FIT_MATH_HALF, FIT_MATH_WEIGHT, FIT_MATH_CACHE }, 3, false },
	{ "gemm", "fp8-e4m3:8192", { FIT_MATH_FP8, FIT_MATH_BLOCK }, 2, false },
	{ "gemm", "nvfp4:8192", { FIT_MATH_FP4 }, 1, false },
	{ "gemm", "int8:8192", { FIT_MATH_GGML }, 1, false },
};

static bool moved(const struct calibrate_hint *list, size_t n, enum fit_id id)
{
	for (size_t i = 0; i < n; i++)
		if (list[i].id == id && list[i].scale > 0)
			return true;
	return false;
}

static void move(struct run *r, const struct mover *m, const struct record_case *c, const char *id,
		 const struct place *place, struct calibrate_hint **list, size_t *n)
{
	const struct record_series *s = &c->series[0];
	double usual = s->band.known ? (s->band.low + s->band.high) / 2 : 0,
	       sheet = m->bounds ? place->gpu->bandwidth : 0;

	for (size_t k = 0; k < m->n; k++) {
		struct calibrate_hint h = { .id = m->ids[k] };

		if (usual > 0 && !moved(*list, *n, h.id))
			h.scale = s->s.median / usual;
		if (sheet > 0 && s->s.median < sheet)
			h.most = s->s.median / sheet;
		h.from = usual > 0 ? arena_printf(&r->arena,
						  "%s %s: %.4g %s measured (%s), usual are %.4g to "
						  "%.4g (%s)",
						  c->bench, c->name, s->s.median, s->unit_text, id,
						  s->band.low, s->band.high, s->band.source)
				   : arena_printf(&r->arena,
						  "%s %s: %.4g %s measured (%s); what is usual is "
						  "not known, so it only bounds",
						  c->bench, c->name, s->s.median, s->unit_text, id);
		if (h.scale > 0 || h.most > 0)
			add(r, list, n, h);
	}
}

/* Small all-reduces are the latency, large ones the part of the link's bandwidth. */
static void links(struct run *r, const struct bench_facts *f, const struct place *place,
		  struct calibrate_hint **list, size_t *n)
{
	const char *id;
	const struct record_case *c = bench_fact(f, "collectives", "all-reduce:64KiB", &id);

	if (c && c->n_series > 2 && c->series[2].has_summary)
		add(r, list, n,
		    (struct calibrate_hint){
			    .id = place->nodes > 1 ? FIT_NET_US : FIT_LINK_US,
			    .value = c->series[2].s.median,
			    .from = arena_printf(&r->arena, "collectives %s: %.4g us measured (%s)",
						 c->name, c->series[2].s.median, id) });
	c = bench_fact(f, "collectives", "all-reduce:128MiB", &id);
	if (c && place->gpu->link > 0 && place->nodes <= 1)
		add(r, list, n,
		    (struct calibrate_hint){
			    .id = FIT_LINK,
			    .value = fmin(1, c->series[0].s.median / place->gpu->link),
			    .from = arena_printf(&r->arena,
						 "collectives %s: %.4g GB/s of bus bandwidth "
						 "measured (%s), the link has %.4g GB/s one way",
						 c->name, c->series[0].s.median, id,
						 place->gpu->link) });
}

void calibrate_hints(struct run *r, const struct bench_facts *f, const struct place *place,
		     struct calibrate_hint **out, size_t *n)
{
	*out = NULL;
	*n = 0;
	for (size_t i = 0; i < sizeof(movers) / sizeof(movers[0]); i++) {
		const char *id;
		const struct record_case *c = bench_fact(f, movers[i].bench, movers[i].prefix, &id);

		if (c)
			move(r, &movers[i], c, id, place, out, n);
	}
	links(r, f, place, out, n);
}
