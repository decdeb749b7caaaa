/* SPDX-License-Identifier: Apache-2.0 */
/* Calibrations that are kept, and what kept results of our benches say of the constants of
 * predictions. */
#include <string.h>
#include <ctype.h>
#include <math.h>
#include <time.h>
#include <unistd.h>

#include "verbs/calibrations.h"
#include "base/clock.h"
#include "base/json.h"
#include "base/text.h"
#include "machine/write/write.h"
#include "measure/bench/bench.h"
#include "measure/bench/bench_json.h"
#include "verbs/model_files.h"

enum { RESULTS_MAX = 200 };

static const char *first_gpu(const struct record *rec)
{
	for (size_t i = 0; i < rec->n_fingerprint; i++)
		if (strcmp(rec->fingerprint[i].name, "gpu0") == 0)
			return rec->fingerprint[i].value;
	return "";
}

static bool is_of(const struct knowledge *known, const struct record *rec, const char *machine,
		  const char *gpu)
{
	if (machine)
		return strcmp(rec->machine, machine) == 0;
	return gpu && gpu_kind_of(known, first_gpu(rec)) == gpu_kind_of(known, gpu) &&
	       gpu_kind_of(known, gpu);
}

static void calibration_take(struct arena *a, const struct record *rec, const char *id,
			     struct bench_facts *out)
{
	for (size_t i = 0; i < rec->n; i++) {
		const struct record_case *c = &rec->cases[i];

		if (c->error || !c->verified || !c->n_series || !c->series[0].has_summary)
			continue;
		out->cases = arena_grow(a, out->cases, out->n, sizeof(*out->cases));
		out->ids = arena_grow(a, out->ids, out->n, sizeof(*out->ids));
		out->cases[out->n] = c;
		out->ids[out->n++] = id;
	}
}

void bench_facts_of(struct door *d, struct host *h, const struct state_ask *state,
		    const char *machine, const char *gpu, struct bench_facts *out)
{
	const struct knowledge *known = door_knowledge(d, h->id.captured);
	struct arena *a = d->arena;
	const struct store_where where = door_where(d, state);
	struct err e = { 0 };
	struct stored *ids;
	size_t n;

	*out = (struct bench_facts){ 0 };
	(void)store_list(a, h, &where, &ids, &n, &e);
	for (size_t i = n; i-- > 0 && n - i <= RESULTS_MAX;) {
		struct record *rec = ARENA_NEW(a, struct record);
		char *text;

		if (store_get(a, h, &(struct store_where){ ids[i].state, NULL }, ids[i].id, &text,
			      &e) == 0 &&
		    bench_from_json(a, ids[i].id, text, rec, &e) == 0 &&
		    is_of(known, rec, machine, gpu))
			calibration_take(a, rec, ids[i].id, out);
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

static void add(struct arena *a, struct calibrate_hint **list, size_t *n, struct calibrate_hint h)
{
	ARENA_ADD(a, *list, *n) = h;
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

static void move(struct arena *a, const struct mover *m, const struct record_case *c,
		 const char *id, const struct target_hw *place, struct calibrate_hint **list,
		 size_t *n)
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
		h.from = usual > 0 ? arena_printf(a,
						  "%s %s: %.4g %s measured (%s), usual range %.4g "
						  "to %.4g (%s)",
						  c->bench, c->name, s->s.median, s->unit_text, id,
						  s->band.low, s->band.high, s->band.source)
				   : arena_printf(a,
						  "%s %s: %.4g %s measured (%s); usual range "
						  "unknown, so it is only used as a bound",
						  c->bench, c->name, s->s.median, s->unit_text, id);
		if (h.scale > 0 || h.most > 0)
			add(a, list, n, h);
	}
}

/* Small all-reduces are the latency, large ones the part of the link's bandwidth. */
static void calibration_links(struct arena *a, const struct bench_facts *f,
			      const struct target_hw *place, struct calibrate_hint **list,
			      size_t *n)
{
	const char *id;
	const struct record_case *c = bench_fact(f, "collectives", "all-reduce:64KiB", &id);

	if (c && c->n_series > 2 && c->series[2].has_summary)
		add(a, list, n,
		    (struct calibrate_hint){
			    .id = place->nodes > 1 ? FIT_NET_US : FIT_LINK_US,
			    .value = c->series[2].s.median,
			    .from = arena_printf(a, "collectives %s: %.4g us measured (%s)",
						 c->name, c->series[2].s.median, id) });
	c = bench_fact(f, "collectives", "all-reduce:128MiB", &id);
	if (c && place->gpu->link > 0 && place->nodes <= 1)
		add(a, list, n,
		    (struct calibrate_hint){
			    .id = FIT_LINK,
			    .value = fmin(1, c->series[0].s.median / place->gpu->link),
			    .from = arena_printf(a,
						 "collectives %s: %.4g GB/s bus bandwidth measured "
						 "(%s), the link has %.4g GB/s one way",
						 c->name, c->series[0].s.median, id,
						 place->gpu->link) });
}

void calibrate_hints(struct arena *a, const struct bench_facts *f, const struct target_hw *place,
		     struct calibrate_hint **out, size_t *n)
{
	*out = NULL;
	*n = 0;
	for (size_t i = 0; i < sizeof(movers) / sizeof(movers[0]); i++) {
		const char *id;
		const struct record_case *c = bench_fact(f, movers[i].bench, movers[i].prefix, &id);

		if (c)
			move(a, &movers[i], c, id, place, out, n);
	}
	calibration_links(a, f, place, out, n);
}

enum { FILE_MAX = 1 << 20 };

/* What predictions depend on, of all that a fingerprint has. */
static bool counts(const char *name)
{
	return str_starts(name, "gpu") || strcmp(name, "product") == 0 || strcmp(name, "cpu") == 0;
}

static const char *key_of(struct arena *a, const struct target_hw *p)
{
	char *s = arena_printf(a, "on-%s-x%d-of-%d", p->gpu->name, p->gpus, p->nodes);

	for (char *c = s; *c; c++)
		*c = isalnum((unsigned char)*c) ? (char)tolower((unsigned char)*c) : '-';
	return s;
}

void calibrate_place_of(struct arena *a, struct host *h, const struct machine *m,
			const struct target_hw *place, struct calibrate_place *out)
{
	struct record rec = { 0 };

	*out = (struct calibrate_place){ .key = "this-machine", .taken = "this machine" };
	if (!m) {
		out->key = key_of(a, place);
		out->taken = place->taken;
		return;
	}
	record_fingerprint(a, h, m, &rec);
	if (h->id.captured) {
		out->key = arena_printf(a, "captured-%s", rec.machine);
		out->taken = arena_printf(a, "the captured machine %s", h->id.source);
	}
	out->pairs = arena_array(a, rec.n_fingerprint + 1, sizeof(*out->pairs));
	out->pairs[out->n++] = (struct record_pair){ "machine", rec.machine };
	for (size_t i = 0; i < rec.n_fingerprint; i++)
		if (counts(rec.fingerprint[i].name))
			out->pairs[out->n++] = rec.fingerprint[i];
}

static const char *folder(struct door *d, const struct state_ask *state)
{
	return arena_printf(d->arena, "%s/calibration", door_state(d, state));
}

static const char *path_of(struct door *d, const struct state_ask *state,
			   const struct calibrate_place *at)
{
	return arena_printf(d->arena, "%s/%s.json", folder(d, state), at->key);
}

int calibrate_keep(struct door *d, struct host *h, const struct state_ask *state,
		   const struct calibrate_place *at, const struct calibration *c, const char **path)
{
	struct calibration_file f = { .version = GPUTUNE_VERSION,
				      .taken = at->taken,
				      .from = calibration_from(d->arena, c),
				      .pairs = at->pairs,
				      .n_pairs = at->n };
	long long now = (long long)time(NULL);
	char stamp[STAMP_SIZE], *text;
	struct err e = { 0 };
	int code;

	if (stamp_format(now, stamp) == 0)
		f.time = stamp;
	calibration_file_make(d->arena, c, &f);
	text = json_take_text(d->arena, result_shape_json(&calibration_result, &f, now, 0),
			      JSON_INDENT(2));
	*path = path_of(d, state, at);
	code = door_state_ready(d, h, state, &e);
	code = code ? code : store_folder(h, door_state(d, state), &e);
	code = code ? code : store_folder(h, folder(d, state), &e);
	code = code ? code : host_put(h, *path, text, strlen(text), store_mode(*path));
	if (code)
		return door_refuse(d, EXIT_USAGE,
				   "cannot write %s: %s; --state DIR stores it elsewhere, "
				   "--dry-run does not store it",
				   *path, strerror(-code));
	return 0;
}

int calibrate_forget(struct door *d, struct host *h, const struct state_ask *state,
		     const struct calibrate_place *at)
{
	int code = host_remove(h, path_of(d, state, at));

	if (code)
		return door_refuse(d, EXIT_USAGE, "cannot remove %s: %s", path_of(d, state, at),
				   strerror(-code));
	return 0;
}

/* The first thing that is another than it was, in a sentence; NULL: all is as it was. */
static const char *calibration_changed(struct arena *a, const struct calibration_file *k,
				       const struct calibrate_place *at)
{
	if (strcmp(k->version, GPUTUNE_VERSION) != 0)
		return arena_printf(a, "gputune %s stored it, this is %s: calibrate again",
				    k->version, GPUTUNE_VERSION);
	for (size_t i = 0; i < at->n; i++) {
		const char *was = NULL;

		for (size_t f = 0; f < k->n_pairs; f++)
			if (strcmp(k->pairs[f].name, at->pairs[i].name) == 0)
				was = k->pairs[f].value;
		if (!was || strcmp(was, at->pairs[i].value) != 0)
			return strcmp(at->pairs[i].name, "machine") == 0
				       ? "the fit is from another machine"
				       : arena_printf(a, "%s was %s, now %s", at->pairs[i].name,
						      was ? was : "missing", at->pairs[i].value);
	}
	return k->n_pairs > at->n ? "some hardware of this machine is no longer present" : NULL;
}

bool calibrate_stored(struct door *d, struct host *h, const struct state_ask *state,
		      const struct calibrate_place *at, struct calibration_file *out)
{
	struct fits fits;
	struct err e = { 0 };
	char *text;
	int code;

	*out = (struct calibration_file){ .path = path_of(d, state, at) };
	code = host_read(h, out->path, FILE_MAX, d->arena, &text, NULL);
	if ((code == -ENOENT || code == -ENOTDIR) && door_where(d, state).beside) {
		out->path = arena_printf(d->arena, "%s/calibration/%s.json", BENCH_STATE, at->key);
		code = host_read(h, out->path, FILE_MAX, d->arena, &text, NULL);
	}
	if (code == -ENOENT || code == -ENOTDIR)
		return false;
	if (code == -EACCES && !state->state)
		return false; /* the folder is root's: there may be none */
	if (code) {
		out->why_not = arena_printf(d->arena, "cannot be read: %s", strerror(-code));
		return true;
	}
	if (calibration_file_read(d->arena, text, out, &e) < 0)
		out->why_not = arena_strdup(d->arena, e.text);
	else
		out->why_not = calibration_changed(d->arena, out, at);
	fits_default(&fits);
	for (size_t i = 0; !out->why_not && i < out->n_sets; i++)
		if (fits_read(&fits, out->sets[i].lines, &e) < 0)
			out->why_not = arena_strdup(d->arena, e.text);
	return true;
}

/* What is asked of kept calibrations. */
struct stored_question {
	const struct constants_ask *ask;
	const char *on, *model;
	const struct machine_ask *from;
};

/* live: where the state folder is. */
static bool place_asked(struct door *d, const struct stored_question *q, struct host *live,
			struct calibrate_place *at)
{
	const struct knowledge *known = door_knowledge(d, q->from->capture);
	const struct state_ask *state = &q->ask->state;
	struct target_hw p;
	struct err e = { 0 };
	HOST_AUTO *h = NULL;
	struct machine *m;

	if (q->on) {
		if (place_parse(d->arena, known, q->on, &p, &e) < 0)
			return false;
		calibrate_place_of(d->arena, NULL, NULL, &p, at);
		return true;
	}
	*at = (struct calibrate_place){ .key = "this-machine" };
	/* Looking at the machine takes time: only where there is something to be compared. */
	if (!host_exists(live, q->from->capture ? folder(d, state) : path_of(d, state, at)))
		return false;
	h = door_host(d, q->from);
	if (!h)
		return false;
	m = door_machine(d, h, &(struct door_look){ 0 });
	calibrate_place_of(d->arena, h, m, NULL, at);
	return true;
}

/* The shape that --model means: kept sets name it. NULL: none, or it is not known. */
static const char *model_asked(struct door *d, const char *name)
{
	struct model_hint none = { 0 };
	struct arch arch;
	struct err e = { 0 };
	const char *taken;

	if (!name || access(name, F_OK) == 0)
		return name;
	return model_find(d->arena, d->known, name, &none, &arch, &taken, &e) == 0 ? arch.name
										   : NULL;
}

static const char *calibration_use_one(struct door *d, const char *name,
				       const struct calibration_file *kept, struct fits *fits)
{
	const char *model = model_asked(d, name);
	struct err e = { 0 };
	size_t used = 0;

	for (size_t i = 0; !kept->why_not && i < kept->n_sets; i++)
		if (calibration_for(&kept->sets[i], model)) {
			fits_read(fits, kept->sets[i].lines, &e);
			used++;
		}
	if (kept->why_not || !used)
		return arena_printf(d->arena, "%s; the calibration %s is not used: %s",
				    fits->origin, kept->path,
				    kept->why_not ? kept->why_not : "the fit is from other models");
	return arena_printf(d->arena, "calibrated %s on %s (%s); otherwise %s", kept->time,
			    kept->from, kept->path, fits->origin);
}

static void use_stored(struct door *d, const struct stored_question *q, struct fits *fits)
{
	HOST_AUTO *h = d->live(d->ctx);
	struct calibration_file kept;
	struct calibrate_place at;

	if (place_asked(d, q, h, &at) && calibrate_stored(d, h, &q->ask->state, &at, &kept))
		fits->origin = calibration_use_one(d, q->model, &kept, fits);
}

#define MOST_CONSTANTS (1u << 20)

int door_fits(struct door *d, const struct constants_ask *ask, const char *on,
	      const struct machine_ask *from, const char *model, struct fits *fits)
{
	const struct stored_question q = { ask, on, model, from };
	const char *path = ask->calibration;
	struct err e = { 0 };
	size_t len;
	char *text;

	fits_default(fits);
	if (!path && !ask->no_calibration)
		use_stored(d, &q, fits);
	if (!path)
		return 0;
	text = door_file(d, path, MOST_CONSTANTS, &len, NULL);
	if (!text)
		return -EXIT_USAGE;
	if (fits_read(fits, text, &e) < 0)
		return door_refuse(d, EXIT_USAGE, "%s: %s", path, e.text);
	fits->origin = path;
	return 0;
}

static const struct ask_row constants_ask_rows[] = {
	{ "calibration", "constants that replace the built-in ones",
	  ASK_TEXT(constants_ask, calibration), .arg = "FILE", .files = true },
	{ "no-calibration", "use the built-in constants, not those stored by calibrate",
	  ASK_FLAG(constants_ask, no_calibration) },
	{ ASK_PART(constants_ask, state, state_ask) },
};
const struct ask_shape constants_ask_shape =
	ASK_SHAPE(constants_ask, "Constants", constants_ask_rows);
