/* SPDX-License-Identifier: Apache-2.0 */
/* Figures and findings of a record, from its samples and conditions. */
#include "measure/bench/record.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <time.h>
#include <unistd.h>

#include "base/text.h"
#include "machine/write/write.h"

static const char *const stops[] = { "interval", "time", "count", "interrupted", "error" };

const char *record_stop_name(enum record_stop s)
{
	return stops[s];
}

bool record_wrong(const struct record_case *c)
{
	return c->error && strncmp(c->error, RECORD_WRONG, strlen(RECORD_WRONG)) == 0;
}

bool record_unhealthy(const struct record_case *c)
{
	return c->error && strncmp(c->error, RECORD_UNHEALTHY, strlen(RECORD_UNHEALTHY)) == 0;
}

bool record_empty(const struct record *r)
{
	for (size_t i = 0; i < r->n; i++)
		if (r->cases[i].n || r->cases[i].early.known || record_wrong(&r->cases[i]))
			return false;
	return true;
}

void record_summarise(struct record *r)
{
	for (size_t i = 0; i < r->n; i++) {
		struct record_case *c = &r->cases[i];
		struct record_observed *o = &c->observed;

		for (size_t k = 0; k < c->n_series; k++) {
			c->series[k].n = c->n;
			c->series[k].has_summary =
				!record_wrong(c) &&
				stat_summary(c->series[k].x, c->n, &c->series[k].s) == 0;
		}
		o->unit = o->of < c->n_series ? c->series[o->of].unit : NULL;
	}
}

void record_note(struct arena *a, struct record *r, const char *fmt, ...)
{
	va_list ap;

	r->notes = arena_grow(a, r->notes, r->n_notes, sizeof(*r->notes));
	va_start(ap, fmt);
	r->notes[r->n_notes++] = arena_vprintf(a, fmt, ap);
	va_end(ap);
}

void record_skip(struct arena *a, struct record *r, const char *bench, const char *reason)
{
	ARENA_ADD(a, r->skipped, r->n_skipped) = (struct record_skip){ bench, reason };
}

enum record_place record_place(const struct record_series *s)
{
	if (!s->band.known || !s->has_summary)
		return PLACE_UNKNOWN;
	if (s->s.median < s->band.low)
		return PLACE_BELOW;
	return s->s.median > s->band.high ? PLACE_ABOVE : PLACE_WITHIN;
}

bool record_worse(const struct record_series *s)
{
	return record_place(s) == (s->better == BENCH_HIGHER ? PLACE_BELOW : PLACE_ABOVE);
}

const char *record_place_name(enum record_place p)
{
	static const char *const names[] = { NULL, "below", "within", "above" };

	return names[p];
}

static bool others_took(const struct record_conditions *c, double cpus, double steal_percent)
{
	return c->idle_others > cpus || c->others > cpus || c->steal_percent > steal_percent;
}

bool record_busy(const struct record_conditions *c)
{
	return others_took(c, fmin(0.05 * (double)c->cpus, 1), 1);
}

/* Beyond this a difference between two runs may be the others'. */
static bool disturbed(const struct record_conditions *c)
{
	return others_took(c, 0.25 * (double)c->cpus, 5);
}

static void judge_conditions(struct arena *a, struct record *r)
{
	const struct record_conditions *c = &r->conditions;

	if (record_busy(c))
		record_note(a, r,
			    "the machine was busy: other programs used %.2f CPUs before and %.2f "
			    "during the measurement, %.1f %% of its time was stolen by the "
			    "hypervisor; rates may be too low, and latencies too high",
			    fmax(c->idle_others, 0), fmax(c->others, 0), fmax(c->steal_percent, 0));
	if (c->before.throttles >= 0 && c->after.throttles > c->before.throttles)
		record_note(
			a, r,
			"thermal throttling of the processor, %lld times during the measurement",
			c->after.throttles - c->before.throttles);
	if (c->before.pm_qos_us >= 0 && c->before.pm_qos_us < 2000000000)
		record_note(a, r,
			    "another program holds /dev/cpu_dma_latency at %lld us, which prevents "
			    "deep idle states",
			    c->before.pm_qos_us);
}

static void judge_series(struct arena *a, struct record *r, const struct record_case *c,
			 const struct record_series *s)
{
	const struct stat_modes *m = &s->s.modes;

	if (m->found && m->step)
		record_note(a, r,
			    "%s %s: the level changed once, from about %.4g to %.4g %s; the median "
			    "represents neither level",
			    c->bench, c->name, s->x[0] > m->split ? m->high : m->low,
			    s->x[0] > m->split ? m->low : m->high, s->unit_text);
	else if (m->found)
		record_note(a, r,
			    "%s %s: alternates between two states, %.4g and %.4g %s (%.0f %% of "
			    "samples in the upper one, %zu changes)",
			    c->bench, c->name, m->low, m->high, s->unit_text, 100 * m->share_high,
			    m->switches);
	else if (s->s.drift.found)
		record_note(a, r, "%s %s: drifted by %+.1f %% over the run", c->bench, c->name,
			    100 * s->s.drift.relative);
}

void record_judge(struct arena *a, struct record *r)
{
	judge_conditions(a, r);
	for (size_t i = 0; i < r->n; i++) {
		const struct record_case *c = &r->cases[i];

		if (c->error)
			record_note(a, r, "%s %s: %s", c->bench, c->name, c->error);
		if (c->n && !c->steady)
			record_note(a, r, "%s %s: not steady at the end of the warm-up", c->bench,
				    c->name);
		if (c->n_series && c->series[0].has_summary)
			judge_series(a, r, c, &c->series[0]);
	}
	if (r->partial)
		record_note(a, r, "interrupted: results up to that time");
}

const char *record_digest(struct arena *a, const struct record_pair *pairs, size_t n)
{
	uint64_t h = 0xcbf29ce484222325u;

	for (size_t i = 0; i < n; i++)
		for (int part = 0; part < 2; part++)
			/* With the NUL, so that "ab" "c" is not "a" "bc". */
			for (const char *c = part ? pairs[i].value : pairs[i].name;; c++) {
				h = (h ^ (unsigned char)*c) * 0x100000001b3u;
				if (!*c)
					break;
			}
	return arena_printf(a, "%016llx", (unsigned long long)h);
}

/* What may be compared, and the verdict on it. */

const char *compare_verdict_name(enum compare_verdict v)
{
	static const char *const names[] = { "better", "worse", "no-difference", "not-comparable" };

	return names[v];
}

static const struct record_case *find_case(const struct record *r, const struct record_case *like)
{
	for (size_t i = 0; i < r->n; i++)
		if (strcmp(r->cases[i].bench, like->bench) == 0 &&
		    strcmp(r->cases[i].name, like->name) == 0)
			return &r->cases[i];
	return NULL;
}

/* Why two cases of one name are not about the same thing; NULL when they are. */
static const char *unlike(struct arena *a, const struct record_case *x, const struct record_case *y)
{
	if (x->version != y->version)
		return arena_printf(a, "different methods (versions %u and %u)", x->version,
				    y->version);
	if (strcmp(x->setup, y->setup) != 0)
		return arena_printf(a, "different set-ups (%s; %s)", x->setup, y->setup);
	if (strcmp(x->placement, y->placement) != 0)
		return arena_printf(a, "different placements (%s; %s)", x->placement, y->placement);
	if (!x->verified || !y->verified)
		return arena_printf(a, "the result of %s was not verified",
				    x->verified ? "the second" : "the first");
	return NULL;
}

double compare_least(const struct compare_row *r)
{
	const struct stat_ratio *q = &r->ratio;

	return fmax(fmax(q->ratio - q->interval.low, q->interval.high - q->ratio),
		    COMPARE_THRESHOLD);
}

bool compare_decides(const struct compare *c)
{
	return c->n > c->count[COMPARE_CANNOT] + c->open[COMPARE_SAME];
}

static void bench_compare_judge(struct arena *a, const struct record_case *x,
				const struct record_case *y, size_t k, const struct compare *c,
				struct compare_row *row)
{
	struct stat_arm ax = { x->series[k].x, x->n, x->first, x->rounds },
			ay = { y->series[k].x, y->n, y->first, y->rounds };
	const struct stat_interval *i = &row->ratio.interval;
	const char *busy;
	bool up;

	if (x->n < STAT_INTERVAL_N || y->n < STAT_INTERVAL_N) {
		row->reason = arena_printf(
			a, "too few samples (%zu and %zu) for an interval: bench --runs %d or more",
			x->n, y->n, STAT_INTERVAL_N);
		return;
	}
	if (stat_ratio(&ax, &ay, COMPARE_LEVEL, STAT_SEED, &row->ratio)) {
		row->reason = "a sample is not positive";
		return;
	}
	up = i->low > 1;
	if ((up || i->high < 1) && fabs(row->ratio.ratio - 1) >= COMPARE_THRESHOLD) {
		busy = (up ? i->low : 1 / i->high) <= 1 + c->load ? c->busy : NULL;
		row->open = busy != NULL;
		row->verdict = busy				     ? COMPARE_CANNOT
			       : up == (row->better == BENCH_HIGHER) ? COMPARE_BETTER
								     : COMPARE_WORSE;
		row->reason = busy ? busy
			      : row->ratio.by_rounds
				      ? "larger than the differences between rounds"
				      : "larger than the differences between samples";
		return;
	}
	row->verdict = COMPARE_SAME;
	row->open = compare_least(row) > COMPARE_COARSE;
	if (i->low > 1 - COMPARE_THRESHOLD && i->high < 1 + COMPARE_THRESHOLD)
		row->reason = "a difference of 1 % would have been detected";
	else if (up || i->high < 1)
		row->reason =
			"there is a difference, but probably below 1 %, the smallest that counts";
	else
		row->reason = arena_printf(a, "differences below %.1f %% cannot be detected here",
					   100 * compare_least(row));
}

static void bench_compare_add_rows(struct arena *a, const struct record_case *x,
				   const struct record_case *y, struct compare *out)
{
	const char *why = y ? unlike(a, x, y) : "the second result has no such case";

	for (size_t k = 0; k < x->n_series; k++) {
		const struct record_series *s = &x->series[k];
		const struct record_series *t = y && k < y->n_series ? &y->series[k] : NULL;
		struct compare_row *row;

		row = &ARENA_ADD(a, out->rows, out->n);
		*row = (struct compare_row){ .bench = x->bench,
					     .name = x->name,
					     .figure = s->key,
					     .unit_text = s->unit_text,
					     .better = s->better,
					     .ratio = { NAN, { NAN, NAN }, false },
					     .verdict = COMPARE_CANNOT,
					     .reason = out->cannot ? out->cannot : why };
		if (t && s->has_summary && t->has_summary) {
			row->a = s->s.median;
			row->b = t->s.median;
			row->has_medians = true;
		}
		if (!row->reason && (!t || strcmp(s->key, t->key) != 0 ||
				     strcmp(s->unit, t->unit) != 0 || s->better != t->better))
			row->reason = "different figures or units";
		if (!row->reason)
			bench_compare_judge(a, x, y, k, out, row);
		row->variant = y && strcmp(x->variant, y->variant) != 0;
		out->count[row->verdict]++;
		out->open[row->verdict] += row->open;
	}
}

/* Chosen at run time, so no reason not to compare, but one to know of. */
static void note_variants(struct arena *a, struct compare *out)
{
	for (size_t i = 0; i < out->a->n; i++) {
		const struct record_case *x = &out->a->cases[i], *y = find_case(out->b, x);

		if (!y || strcmp(x->variant, y->variant) == 0)
			continue;
		ARENA_ADD(a, out->differs, out->n_differs) = arena_printf(
			a, "%s %s: measured differently (%s, then %s): the ratio includes that",
			x->bench, x->name, x->variant, y->variant);
	}
}

/* In which of the runs other programs used too much; NULL: in none. */
static const char *busy_in(struct arena *a, const struct record *x, const struct record *y)
{
	const struct record_conditions *c = &x->conditions, *d = &y->conditions;
	bool first = record_busy(c), second = record_busy(d);

	if (!first && !second)
		return NULL;
	return arena_printf(a, "the machine was busy in %s (A: %.2f of %u CPUs, B: %.2f of %u)",
			    !second ? "the first run"
			    : first ? "both runs"
				    : "the second run",
			    fmax(0, fmax(c->others, c->idle_others)), c->cpus,
			    fmax(0, fmax(d->others, d->idle_others)), d->cpus);
}

/* CPUs that programs took from a run, other than its own. */
static double taken(const struct record_conditions *c)
{
	return fmax(0, fmax(c->others, c->idle_others)) +
	       fmax(0, c->steal_percent) / 100 * (double)c->cpus;
}

static const char *value_of(const struct record_pair *pairs, size_t n, const char *name)
{
	for (size_t i = 0; i < n; i++)
		if (strcmp(pairs[i].name, name) == 0)
			return pairs[i].value;
	return NULL;
}

static void bench_compare_differ(struct arena *a, struct compare *out, const struct record_pair *x,
				 size_t nx, const struct record_pair *y, size_t ny)
{
	for (size_t i = 0; i < nx + ny; i++) {
		const struct record_pair *p = i < nx ? &x[i] : &y[i - nx];
		const char *va = value_of(x, nx, p->name), *vb = value_of(y, ny, p->name);

		/* What both have was said on the first side. */
		if ((i >= nx && va) || (va && vb && strcmp(va, vb) == 0))
			continue;
		ARENA_ADD(a, out->differs, out->n_differs) = arena_printf(
			a, "%s: %s, then %s", p->name, va ? va : "nothing", vb ? vb : "nothing");
	}
}

void compare_records(struct arena *a, const struct record *x, const struct record *y,
		     struct compare *out)
{
	*out = (struct compare){ .a = x,
				 .b = y,
				 .busy = busy_in(a, x, y),
				 .level = COMPARE_LEVEL,
				 .threshold = COMPARE_THRESHOLD };
	/* A thread whose CPU is shared waits for as long as others use that CPU. */
	out->load = disturbed(&x->conditions) || disturbed(&y->conditions)
			    ? INFINITY
			    : fmin(1, fabs(taken(&x->conditions) - taken(&y->conditions)));
	if (strcmp(x->machine, y->machine) != 0)
		out->cannot = "different machines";
	for (size_t i = 0; i < x->n; i++)
		bench_compare_add_rows(a, &x->cases[i], find_case(y, &x->cases[i]), out);
	for (size_t i = 0; i < y->n; i++)
		if (!find_case(x, &y->cases[i])) {
			size_t from = out->n;

			bench_compare_add_rows(a, &y->cases[i], NULL, out);
			for (size_t k = from; k < out->n && !out->cannot; k++)
				out->rows[k].reason = "the first result has no such case";
		}
	note_variants(a, out);
	bench_compare_differ(a, out, x->fingerprint, x->n_fingerprint, y->fingerprint,
			     y->n_fingerprint);
	bench_compare_differ(a, out, x->settings, x->n_settings, y->settings, y->n_settings);
	if (record_busy(&x->conditions) != record_busy(&y->conditions))
		ARENA_ADD(a, out->differs, out->n_differs) = out->busy;
}

/* The folder of results, through the host interface. */

bool store_id_valid(const char *id)
{
	size_t n = strlen(id);

	if (!n || n > 128 || id[0] == '.')
		return false;
	for (size_t i = 0; i < n; i++)
		if (!isalnum((unsigned char)id[i]) && !strchr("-_.", id[i]))
			return false;
	return true;
}

const char *store_path(struct arena *a, const char *state, const char *id)
{
	return arena_printf(a, "%s/bench/%s.json", state, id);
}

const char *store_new_id(struct arena *a, struct host *h, const char *state, long long time_s,
			 const char *what)
{
	time_t t = (time_t)time_s;
	struct tm tm = { 0 };
	char when[32];
	const char *id;

	gmtime_r(&t, &tm);
	strftime(when, sizeof(when), "%Y%m%d-%H%M%S", &tm);
	id = arena_printf(a, "%s-%s", when, what);
	for (unsigned i = 2; i < 1000 && host_exists(h, store_path(a, state, id)); i++)
		id = arena_printf(a, "%s-%s-%u", when, what, i);
	return id;
}

unsigned store_mode(const char *path)
{
	return str_starts(path, BENCH_STATE "/") ? 0644 : 0600;
}

int store_folder(struct host *h, const char *path, struct err *e)
{
	bool shared = strcmp(path, BENCH_STATE) == 0 || str_starts(path, BENCH_STATE "/");
	int r = shared ? host_open_dir(h, path) : host_own_dir(h, path);

	return r ? err_set(e, r, "cannot create %s: %s", path, strerror(-r)) : 0;
}

static const char *bench_folder(struct arena *a, const char *state)
{
	return arena_printf(a, "%s/bench", state);
}

static void hint_elsewhere(struct err *e, int r)
{
	if (r == -EACCES || r == -EPERM || r == -EROFS || r == -ENOTDIR)
		err_hint(e, "--state DIR saves results in another folder, --json FILE in a file");
	else if (r == -ENOSPC || r == -EDQUOT)
		err_hint(e, "make room, or give --state DIR");
}

int store_try(struct host *h, const char *state, struct err *e)
{
	ARENA_AUTO a = { 0 };
	const char *at = bench_folder(&a, state);
	struct statvfs fs;
	struct stat st;
	int fd = -1, r = 0;

	(void)h; /* benches run here */
	/* The innermost folder that is there. */
	while (stat(at, &st) < 0 && errno == ENOENT && strcmp(at, "/") != 0 && strchr(at, '/'))
		at = path_folder(&a, at);
	if (stat(at, &st) < 0 || access(at, W_OK | X_OK) < 0 || statvfs(at, &fs) < 0)
		r = -errno;
	else if (!S_ISDIR(st.st_mode))
		r = -ENOTDIR;
	else if (!fs.f_blocks) /* of the kernel, as /proc */
		r = -EROFS;
	else if ((fd = open(at, O_TMPFILE | O_WRONLY | O_CLOEXEC, 0600)) < 0 &&
		 (errno == EACCES || errno == EPERM)) /* by a security module */
		r = -errno;
	if (fd >= 0)
		close(fd);
	if (r)
		err_set(e, r, "cannot write in %s: %s", state, strerror(-r));
	hint_elsewhere(e, r);
	return r;
}

int store_put(struct host *h, const char *state, const char *id, const char *json, struct err *e)
{
	ARENA_AUTO a = { 0 };
	const char *path = store_path(&a, state, id);
	int r = store_folder(h, state, e);

	r = r ? r : store_folder(h, bench_folder(&a, state), e);
	if (r == 0) {
		r = host_put(h, path, json, strlen(json), store_mode(path));
		if (r)
			err_set(e, r, "cannot write %s: %s", path, strerror(-r));
	}
	hint_elsewhere(e, r);
	return r;
}

int store_get(struct arena *a, struct host *h, const struct store_where *w, const char *id,
	      char **json, struct err *e)
{
	const char *path = store_path(a, w->state, id);
	int r;

	if (!store_id_valid(id))
		return err_set(e, -EINVAL, "invalid result id \"%s\"", id);
	r = host_read(h, path, BENCH_FILE_MAX, a, json, NULL);
	if (r == -ENOENT && w->beside) {
		path = store_path(a, w->beside, id);
		r = host_read(h, path, BENCH_FILE_MAX, a, json, NULL);
	}
	if (r)
		err_set(e, r, "%s: cannot read: %s", path, strerror(-r));
	if (r == -ENOENT)
		err_hint(e, "\"gputune bench list\" lists saved results");
	return r;
}

static int list_one(struct arena *a, struct host *h, const char *state, struct stored **out,
		    size_t *n, struct err *e)
{
	const char *path = bench_folder(a, state);
	char **names;
	size_t found = 0;
	int r = host_list(h, path, a, &names, &found);

	if (r)
		return r == -ENOENT ? 0 : err_set(e, r, "%s: cannot read: %s", path, strerror(-r));
	for (size_t i = 0; i < found; i++) {
		const char *id;

		if (!str_ends(names[i], ".json"))
			continue;
		id = arena_strndup(a, names[i], strlen(names[i]) - 5);
		if (!store_id_valid(id))
			continue;
		ARENA_ADD(a, *out, *n) = (struct stored){ id, state };
	}
	return 0;
}

/* Oldest first: of one second, "-2" after none and before "-10". */
static int by_id(const void *x, const void *y)
{
	return strverscmp(((const struct stored *)x)->id, ((const struct stored *)y)->id);
}

int store_list(struct arena *a, struct host *h, const struct store_where *w, struct stored **out,
	       size_t *n, struct err *e)
{
	int r, s;

	*out = NULL;
	*n = 0;
	r = list_one(a, h, w->state, out, n, e);
	s = w->beside ? list_one(a, h, w->beside, out, n, e) : 0;
	if (*n)
		qsort(*out, *n, sizeof(**out), by_id);
	return r ? r : s;
}
