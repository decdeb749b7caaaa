/* SPDX-License-Identifier: Apache-2.0 */
/* Results of bench of many machines: the medians of like hardware beside each other, and who lies
 * far from its peers. */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/stat.h"
#include "base/text.h"
#include "many/fleet/fleet.h"

/* What makes two machines' figures comparable: the same processors, GPUs, memory and adapters.
 * Driver, kernel and firmware do not part them, because a fleet is looked at to find what those do:
 * where a machine lies far from its peers, it is said in which of them it is unlike most. */

enum { GPUS_MAX = 64, PART_MAX = 200 };

static const struct {
	const char *key, *name;
} software[FLEET_SOFTWARE] = {
	{ "gpu_driver", "driver" },
	{ "kernel", "kernel" },
	{ "firmware", "firmware" },
	{ "gpu0_vbios", "VBIOS" },
};

static const char *print_text(const json_t *print, const char *key)
{
	const char *s = read_string(print, key);

	return s && strlen(s) <= PART_MAX ? s : NULL;
}

/* GPUs of the first one's kind are counted. */
static void hardware_gpus(struct text *t, const json_t *print)
{
	const char *first = print_text(print, "gpu0");
	size_t same = 0, other = 0;

	for (int i = 0; i < GPUS_MAX; i++) {
		char key[16];
		const char *name;

		snprintf(key, sizeof(key), "gpu%d", i);
		name = print_text(print, key);
		if (!name)
			break;
		same += strcmp(name, first) == 0;
		other += strcmp(name, first) != 0;
	}
	if (same)
		text_printf(t, "%zu x %s, ", same, first);
	if (other)
		text_printf(t, "%zu other GPUs, ", other);
}

/*
 * What the kernel has of the memory, up to the next quarter between powers of two: modules are of
 * such sizes, and what firmware and kernel keep for themselves differs from boot to boot.
 */
static unsigned long long installed_gib(unsigned long long kib)
{
	unsigned long long gib = (kib + (1 << 20) - 1) >> 20, step = 1;

	while (step * 8 <= gib)
		step *= 2;
	return (gib + step - 1) / step * step;
}

static void memory(struct text *t, const json_t *print)
{
	const char *s = print_text(print, "memory_kib");
	unsigned long long kib;

	if (s && parse_u64(s, &kib) == 0 && kib > 0 && kib < 1ULL << 50)
		text_printf(t, ", %llu GiB", installed_gib(kib));
}

/* "2 x NVIDIA H200, 2 x AMD EPYC 9654, 1536 GiB, 8 x 15b3:1021" of a result's fingerprint (may be
 * NULL). */
static const char *hardware_text(struct fleet *f, const json_t *print)
{
	const char *cpu = print_text(print, "cpu"), *sockets = print_text(print, "sockets"),
		   *adapters = print_text(print, "adapters");
	TEXT_AUTO t = { 0 };

	hardware_gpus(&t, print);
	if (sockets && strcmp(sockets, "1") != 0)
		text_printf(&t, "%s x ", sockets);
	text_add(&t, cpu ? cpu : "CPU unknown");
	memory(&t, print);
	if (adapters)
		text_printf(&t, ", %s", adapters);
	return store_text(f, t.s);
}

/* What runs on it: FLEET_SOFTWARE texts or NULLs. */
static void hardware_software(struct fleet *f, const json_t *print, const char **out)
{
	for (int i = 0; i < FLEET_SOFTWARE; i++) {
		const char *s = print_text(print, software[i].key);

		out[i] = s ? store_text(f, s) : NULL;
	}
}

/* What more than half of them have; NULL: nothing is. */
static const char *hardware_usual(const struct fleet_bench *b, int kind)
{
	const char *it = NULL;
	size_t votes = 0, n = 0;

	for (size_t i = 0; i < b->n; i++) {
		const char *s = b->by[i]->machine->software[kind];

		if (!s)
			continue;
		if (!votes)
			it = s;
		votes = strcmp(it, s) == 0 ? votes + 1 : votes - 1;
	}
	for (size_t i = 0; i < b->n && it; i++) {
		const char *s = b->by[i]->machine->software[kind];

		n += s && strcmp(it, s) == 0;
	}
	return 2 * n > b->n ? it : NULL;
}

const char *fleet_unusual(struct arena *a, const struct fleet_bench *b,
			  const struct fleet_machine *m)
{
	TEXT_AUTO t = { 0 };

	for (int i = 0; i < FLEET_SOFTWARE; i++) {
		const char *most = m->software[i] ? hardware_usual(b, i) : NULL;

		if (most && strcmp(most, m->software[i]) != 0)
			text_printf(&t, "%s%s %s, most have %s", t.len ? "; " : "",
				    software[i].name, m->software[i], most);
	}
	return t.len ? arena_strdup(a, t.s) : NULL;
}

enum { ALONE_ONE_IN = 20 };

/*
 * Far: five robust sigmas, which of a million like machines' figures less than one passes. Sigma is
 * at least half a per cent of the median, because machines that agree to the last digit make every
 * other one look far; and what is less than three per cent off is nobody's trouble.
 */
static const double far_sigmas = 5, least_sigma = 0.005, least_share = 0.03;

static struct fleet_bench *bench_at(struct fleet *f, const char *name, const char *hardware,
				    const char *unit, unsigned version)
{
	struct fleet_store *st = f->store;
	struct fleet_bench *b;
	void **place;

	text_clear(&st->key);
	text_printf(&st->key, "%zu:%s%zu:%s%zu:%s%u", strlen(name), name, strlen(hardware),
		    hardware, strlen(unit), unit, version);
	place = map_at(f->arena, &st->benches, st->key.s);
	if (*place || f->n_benches == FLEET_BENCHES_MAX)
		return *place;
	b = ARENA_NEW(f->arena, struct fleet_bench);
	*b = (struct fleet_bench){ .name = store_text(f, name),
				   .unit = store_text(f, unit),
				   .hardware = hardware,
				   .number = f->n_benches };
	*place = b;
	ARENA_ADD(f->arena, f->benches, f->n_benches) = b;
	return b;
}

/* The newest result of a machine counts. */
static void take_value(struct fleet *f, struct fleet_bench *b, struct fleet_machine *m, double v,
		       const char *time)
{
	struct fleet_store *st = f->store;
	struct fleet_value *kept;
	void **place;

	text_clear(&st->key);
	text_printf(&st->key, "%zu:%s", b->number, m->name);
	place = map_at(f->arena, &st->measured, st->key.s);
	kept = *place;
	if (!kept) {
		kept = ARENA_NEW(f->arena, struct fleet_value);
		*place = kept;
		ARENA_ADD(f->arena, b->by, b->n) = kept;
		m->n_values++;
	} else if (strcmp(time, kept->time) < 0) {
		return;
	}
	*kept = (struct fleet_value){ .machine = m, .bench = b, .value = v, .time = time };
}

struct taking {
	struct fleet *f;
	struct fleet_machine *m;
	const char *time;
};

static void take_figure(void *ctx, const struct read_figure *r)
{
	const struct taking *t = ctx;
	struct fleet_bench *b = bench_at(
		t->f, arena_printf(&t->f->store->scratch, "%s %s %s", r->bench, r->name, r->key),
		t->m->hardware, r->unit_text ? r->unit_text : r->unit, r->version);

	if (!b)
		return;
	b->lower = r->lower;
	take_value(t->f, b, t->m, r->median, t->time);
}

int benches_add(struct fleet *f, const struct read_from *from, const char **at, const char *end,
		struct err *e)
{
	struct arena *a = &f->store->scratch;
	struct fleet_machine *m = NULL;
	struct taking t;
	json_error_t why;
	json_auto_t *j = json_loadb(*at, (size_t)(end - *at),
				    JSON_REJECT_DUPLICATES | JSON_DISABLE_EOF_CHECK, &why);
	int code;

	if (!j)
		return err_set(e, -EINVAL, "invalid JSON: %s", why.text);
	*at += why.position;
	/* A result that is refused makes no machine. */
	code = read_figures(a, j, NULL, NULL, e);
	if (code == 0 && json_is_object(json_object_get(j, "host")))
		m = store_machine(f, j, from, e);
	if (m) {
		store_host(f, m, j, from->file);
		m->hardware = hardware_text(f, json_object_get(j, "fingerprint"));
		hardware_software(f, json_object_get(j, "fingerprint"), m->software);
		t = (struct taking){ f, m, read_string(j, "time") };
		t.time = t.time && strlen(t.time) <= 32 ? store_text(f, t.time) : "";
		code = read_figures(a, j, take_figure, &t, e);
	} else if (code == 0) {
		code = *e->text ? -EINVAL : err_set(e, -EINVAL, "machine not given");
	}
	arena_free(a);
	return code;
}

/* --- comparing -------------------------------------------------------------------------------- */

static int by_machine(const void *a, const void *b)
{
	return str_natural((*(struct fleet_value *const *)a)->machine->name,
			   (*(struct fleet_value *const *)b)->machine->name);
}

static double sigma_of(double mad, double median)
{
	return fmax(1.4826 * mad, least_sigma * fabs(median));
}

static bool far_from(double v, double median, double sigma)
{
	return sigma > 0 && fabs(v - median) >= far_sigmas * sigma &&
	       fabs(v - median) >= least_share * fabs(median);
}

/* Far ones on one side that are too many to be alone are a state of their own; only who is far from
 * that one too still stands alone. x is scratch. */
static void second_state(struct fleet *f, struct fleet_bench *b, bool above, double *x)
{
	struct fleet_state *s = above ? &b->above : &b->below;
	size_t n = 0, few = b->n / ALONE_ONE_IN > 2 ? b->n / ALONE_ONE_IN : 2;
	double mad = 0, nearest = above ? INFINITY : -INFINITY;

	for (size_t i = 0; i < b->n; i++)
		if (b->by[i]->outlier && (b->by[i]->value > b->median) == above)
			x[n++] = b->by[i]->value;
	if (n <= few || stat_median(x, n, &s->median) || stat_mad(x, n, &mad))
		return;
	for (size_t i = 0; i < b->n; i++) {
		struct fleet_value *v = b->by[i];

		if (!v->outlier || (v->value > b->median) != above ||
		    far_from(v->value, s->median, sigma_of(mad, s->median)))
			continue;
		v->outlier = false;
		v->second = true;
		nearest = above ? fmin(nearest, v->value) : fmax(nearest, v->value);
		ARENA_ADD(f->arena, s->machines, s->n) = v->machine;
	}
	s->nearest = nearest;
	s->worse = (s->median < b->median) != b->lower;
	f->n_states += s->n > 0;
}

static void benches_judge(struct fleet *f, struct fleet_bench *b, double *x)
{
	double sigma = sigma_of(b->mad, b->median);

	for (size_t i = 0; i < b->n; i++) {
		struct fleet_value *v = b->by[i];
		double off = v->value - b->median;

		v->z = sigma > 0 ? off / sigma : 0;
		v->worse = b->lower ? off > 0 : off < 0;
		v->outlier = far_from(v->value, b->median, sigma);
	}
	second_state(f, b, false, x);
	second_state(f, b, true, x);
	for (size_t i = 0; i < b->n; i++) {
		const struct fleet_value *v = b->by[i];

		b->n_outliers += v->outlier;
		v->machine->n_slow += v->outlier && v->worse;
		v->machine->n_fast += v->outlier && !v->worse;
	}
}

static void settle_bench(struct fleet *f, struct fleet_bench *b)
{
	ARENA_AUTO a = { 0 };
	double *x = arena_array(&a, b->n, sizeof(*x));

	qsort(b->by, b->n, sizeof(struct fleet_value *), by_machine);
	for (size_t i = 0; i < b->n; i++)
		x[i] = b->by[i]->value;
	if (b->n && stat_median(x, b->n, &b->median) == 0 && stat_mad(x, b->n, &b->mad) == 0 &&
	    b->n >= FLEET_PEERS_MIN)
		benches_judge(f, b, x);
}

/* 2: somebody stands alone; 1: there are two states; 0: neither. */
static int noteworthy(const struct fleet_bench *b)
{
	return b->n_outliers ? 2 : b->below.n || b->above.n ? 1 : 0;
}

static int by_outliers(const void *a, const void *b)
{
	const struct fleet_bench *x = *(struct fleet_bench *const *)a,
				 *y = *(struct fleet_bench *const *)b;

	if (noteworthy(x) != noteworthy(y))
		return noteworthy(y) - noteworthy(x);
	return x->number < y->number ? -1 : x->number > y->number;
}

void benches_settle(struct fleet *f)
{
	for (size_t i = 0; i < f->n_benches; i++)
		settle_bench(f, f->benches[i]);
	if (f->n_benches)
		qsort(f->benches, f->n_benches, sizeof(struct fleet_bench *), by_outliers);
	for (size_t i = 0; i < f->n; i++)
		f->n_bench_outliers += f->machines[i]->n_slow + f->machines[i]->n_fast > 0;
}
