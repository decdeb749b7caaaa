/* SPDX-License-Identifier: Apache-2.0 */
/* Windows and pairs: switching, waiting, reading back, measuring, and what does not count. */
#include "measure/prove/engine.h"

#include <errno.h>
#include <math.h>
#include <poll.h>
#include <string.h>

#include "base/clock.h"
#include "measure/prove/rule.h"

/* States of the machine as subsets of one plan's changes. */

struct switcher {
	struct arena *a;
	struct txn_trial *trial;
	const struct plan *all;
	struct plan places; /* of these the changes of the machine, none of a job's variables */
	struct plan now;    /* the changes that are on */
	bool *on;	    /* by change of all */
	size_t switches;
	bool is_original;
};

int switch_begin(struct host *h, struct arena *a, const struct txn_who *who, const char *what,
		 const struct plan *p, struct switcher **out, struct err *e)
{
	struct switcher *s = ARENA_NEW(a, struct switcher);
	struct txn_report report;
	int r = 0;

	*s = (struct switcher){ .a = a,
				.all = p,
				.now = *p,
				.on = arena_array(a, p->n, sizeof(*s->on)),
				.is_original = true };
	s->now.changes = arena_array(a, p->n, sizeof(*s->now.changes));
	s->places = s->now;
	s->places.changes = arena_array(a, p->n, sizeof(*s->places.changes));
	s->now.n = s->places.n = 0;
	for (size_t i = 0; i < p->n; i++)
		if (p->changes[i].knob.kind != KNOB_NONE)
			s->places.changes[s->places.n++] = p->changes[i];
	*out = s;
	/* A job's variables need no right and no lock. */
	if (!plan_open_changes(&s->places))
		return 0;
	r = txn_trial_begin(h, a, who, what, &report, &s->trial, e);
	if (r)
		return r;
	/* What the plan saw may be of the interrupted state. */
	if (report.recovered)
		r = err_set(e, -ESTALE,
			    "an interrupted transaction was rolled back first: plan again");
	if (r == 0)
		r = txn_trial_look(s->trial, &s->places, e);
	if (r) {
		struct err ignored = { 0 };

		(void)txn_trial_end(s->trial, &ignored);
	}
	return r;
}

static bool is_on(const struct switcher *s, const bool *on, size_t i)
{
	return on && on[i] && !s->all->changes[i].gate && s->all->changes[i].knob.kind != KNOB_NONE;
}

/* Whether just these changes are made now. */
static bool switch_is(const struct switcher *s, const bool *on)
{
	for (size_t i = 0; i < s->all->n; i++)
		if (is_on(s, on, i) != s->on[i])
			return false;
	return true;
}

static int back(struct switcher *s, struct err *e)
{
	int r = s->is_original ? 0 : txn_trial_revert(s->trial, NULL, e);

	s->is_original = true;
	s->now.n = 0;
	memset(s->on, 0, s->all->n * sizeof(*s->on));
	return r;
}

/* The changes before others in the plan are written before them. */
static int forth(struct switcher *s, const bool *on, const char *op, struct txn_report *report,
		 struct err *e)
{
	int r;

	s->now.n = 0;
	for (size_t i = 0; i < s->all->n; i++)
		if (is_on(s, on, i))
			s->now.changes[s->now.n++] = s->all->changes[i];
	if (!s->now.n)
		return 0;
	r = txn_trial_set(s->trial, &s->now, op, report, e);
	if (r) {
		s->now.n = 0;
		return r;
	}
	s->is_original = false;
	s->switches++;
	for (size_t i = 0; i < s->all->n; i++)
		s->on[i] = is_on(s, on, i);
	return 0;
}

/* Whether the state is still what it was switched to; -ESTALE and *e. */
static int switch_look(struct switcher *s, struct err *e)
{
	return s->trial ? txn_trial_look(s->trial, s->is_original ? &s->places : &s->now, e) : 0;
}

int switch_to(struct switcher *s, const bool *on, bool again, struct err *e)
{
	struct txn_report report = { 0 };
	int r;

	if (!again && switch_is(s, on))
		return switch_look(s, e);
	r = back(s, e);
	if (r == 0)
		r = forth(s, on, NULL, &report, e);
	return r ? r : switch_look(s, e);
}

int switch_keep(struct switcher *s, const bool *on, const char *profile, unsigned long *txn,
		struct err *e)
{
	struct txn_report report = { 0 };
	int r = back(s, e);

	s->now.profile = profile;
	if (r == 0)
		r = forth(s, on, "apply", &report, e);
	if (r == 0 && s->is_original)
		return err_set(e, -ENOENT, "no change to keep");
	if (r == 0)
		r = txn_trial_keep(s->trial, e);
	if (r == 0) {
		*txn = report.txn;
		s->is_original = true;
	}
	return r;
}

int switch_end(struct switcher *s, struct err *e)
{
	return s->trial ? txn_trial_end(s->trial, e) : 0;
}

size_t switch_count(const struct switcher *s)
{
	return s->switches;
}

enum {
	WARM_MIN = 4, /* windows before it can be called steady */
	WARM_MAX = 12,
	FAULTS_MAX = 3, /* void pairs in a row */
	WAIT_MS = 100,
	ALONE_MS = 500, /* from look to look, while it waits */
};

static double real_now(void *ctx)
{
	(void)ctx;
	return clock_mono_s();
}

static void real_wait(void *ctx, double seconds, const atomic_bool *stop)
{
	double end = clock_mono_s() + seconds, left;

	(void)ctx;
	while ((left = end - clock_mono_s()) > 0 && !(stop && atomic_load(stop)))
		poll(NULL, 0, left * 1e3 > WAIT_MS ? WAIT_MS : (int)(left * 1e3) + 1);
}

const struct engine_clock engine_real = { .now = real_now, .wait = real_wait };

static double now(const struct prove_engine *g)
{
	return g->clock->now(g->clock->ctx);
}

static bool stopped(const struct prove_engine *g)
{
	return g->stop && atomic_load(g->stop);
}

static void settle(struct prove_engine *g)
{
	g->clock->wait(g->clock->ctx, g->p->settle_s, g->stop);
}

void engine_start(struct prove_engine *g)
{
	g->start = now(g);
}

bool engine_has_time(const struct prove_engine *g, size_t pairs)
{
	return now(g) + (double)pairs * g->pair_s <= g->start + g->p->budget_s;
}

/* --- one window ------------------------------------------------------------------------------- */

static struct proof_window *new_window(struct prove_engine *g, enum proof_part part, size_t pair,
				       const struct arm *s)
{
	struct proof *p = g->p;
	struct proof_window *w;

	w = &ARENA_ADD(g->a, p->windows, p->n_windows);
	*w = (struct proof_window){ .part = part,
				    .pair = pair,
				    .state = s->name,
				    .at_s = now(g) - g->start,
				    .n = p->window.n_figures };
	return w;
}

/* Made anew, also where it is that state already: whatever a switch brings by chance must not stay
 * for two windows, or their pairs are not independent (docs/design/PROOF.md). */
static int switch_side(struct prove_engine *g, const struct arm *s, struct err *e)
{
	int r = 0;

	if (s->other && switch_is(g->sw, s->on))
		r = switch_to(g->sw, s->other, false, e);
	return r ? r : switch_to(g->sw, s->on, true, e);
}

int engine_alone(const struct prove_engine *g, const char *who, struct err *e)
{
	if (!who)
		return 0;
	if (g->waited_s < g->alone_s)
		return err_set(e, -EUSERS, "another user of the GPU: %s", who);
	return err_set(e, -EINTR, "another user of the GPU stayed for %.0f s: %s", g->waited_s,
		       who);
}

int engine_window(struct prove_engine *g, struct window_reading *out, struct err *e)
{
	const char *who;
	int r;

	alone_watch(g->alone);
	r = g->p->window.measure(&g->p->window, out, e);
	who = alone_end(g->alone);
	/* Whatever went wrong may be the other's doing. */
	return r == -EINTR || !who ? r : engine_alone(g, who, e);
}

void engine_wait_alone(struct prove_engine *g, double spent_s, const char *why)
{
	struct err ignored = { 0 };

	if (g->sw)
		(void)switch_to(g->sw, NULL, false, &ignored);
	g->waited_s += fmax(spent_s, ALONE_MS * 1e-3);
	if (g->shared)
		g->shared(g->ctx, why, fmax(0, g->alone_s - g->waited_s));
	while (alone_look(g->alone) && g->waited_s < g->alone_s && !stopped(g)) {
		g->clock->wait(g->clock->ctx, ALONE_MS * 1e-3, g->stop);
		g->waited_s += ALONE_MS * 1e-3;
	}
}

static int engine_measure(struct prove_engine *g, struct proof_window *w, const struct arm *s,
			  struct err *e)
{
	struct window_reading reading = { 0 };
	int r = stopped(g) ? -EINTR : engine_alone(g, alone_look(g->alone), e);

	r = r ? r : switch_side(g, s, e);
	if (g->agree)
		r = g->agree(g->agree_ctx, r, NULL, e);
	if (r)
		return r;
	settle(g);
	r = stopped(g) ? -EINTR : switch_look(g->sw, e);
	if (r == 0)
		r = engine_window(g, &reading, e);
	if (r == 0)
		r = switch_look(g->sw, e);
	if (g->agree)
		r = g->agree(g->agree_ctx, r, &reading, e);
	memcpy(w->value, reading.value, sizeof(w->value));
	w->samples = reading.samples;
	return r;
}

/* What the job's environment has besides in this state. */
static void engine_variables(struct prove_engine *g, const struct arm *s)
{
	struct window *w = &g->p->window;
	size_t n = 0;

	w->variables = arena_array(g->a, g->plan ? g->plan->n + 1 : 1, sizeof(*w->variables));
	for (size_t i = 0; g->plan && s->on && i < g->plan->n; i++) {
		const struct change *c = &g->plan->changes[i];

		if (s->on[i] && !c->gate && c->knob.kind == KNOB_NONE)
			w->variables[n++] = arena_printf(g->a, "%s=%s", c->knob.name, c->after);
	}
}

/* As one_window, or -EUSERS: it was shared, and the other user has left or stays. */
static int try_window(struct prove_engine *g, enum proof_part part, size_t pair,
		      const struct arm *s, bool b, struct proof_window *out, struct err *e)
{
	struct proof_window *w = new_window(g, part, pair, s);
	double began = now(g);
	int r;

	w->b = b;
	if (g->tape && tape_play(g->tape, w, &r, e)) {
		*out = *w;
		return r;
	}
	if (g->progress)
		g->progress(g->ctx, g, part, pair, g->expect);
	engine_variables(g, s);
	r = engine_measure(g, w, s, e);
	if (r)
		w->fault = r == -EINTR ? "stopped" : arena_strdup(g->a, e->text);
	if (g->tape && r != -EINTR)
		r = tape_record(g->tape, w, r, e);
	*out = *w;
	if (r == -EUSERS)
		engine_wait_alone(g, now(g) - began, e->text);
	return r;
}

static int one_window(struct prove_engine *g, enum proof_part part, size_t pair,
		      const struct arm *s, bool b, struct proof_window *out, struct err *e)
{
	int r;

	while ((r = try_window(g, part, pair, s, b, out, e)) == -EUSERS)
		g->n_shared++;
	return r;
}

/* The slowest pair of late, so that the budget holds; one that was shared tells nothing. */
static void engine_took(struct prove_engine *g, double pair_s)
{
	if (g->n_shared == g->n_shared_before)
		g->pair_s = fmax(pair_s, 0.9 * g->pair_s);
	g->n_shared_before = g->n_shared;
}

/* --- pairs ------------------------------------------------------------------------------------ */

double engine_log_ratio(const struct bench_figure *f, double a, double b)
{
	/* A guard that was 0 both times has not changed. */
	if (a <= 0 || b <= 0)
		return 0;
	return f->better == BENCH_HIGHER ? log(b / a) : log(a / b);
}

static void engine_add_pair(struct prove_engine *g, struct proof_pairs *out,
			    const struct proof_window *a, const struct proof_window *b)
{
	const struct window *w = &g->p->window;

	for (size_t i = 0; i < w->n_figures; i++) {
		out->d[i] = arena_grow(g->a, out->d[i], out->n, sizeof(double));
		out->d[i][out->n] = engine_log_ratio(&w->figures[i], a->value[i], b->value[i]);
	}
	out->n++;
}

/* Both windows of a void pair are void. */
static void void_pair(struct prove_engine *g, size_t from, const char *why)
{
	for (size_t i = from; i < g->p->n_windows; i++)
		if (!g->p->windows[i].fault)
			g->p->windows[i].fault = why;
}

/*
 * What goes wrong once in a while does so with the setting and without it, so one fault with it is
 * no proof of harm: it is harmful when it goes wrong again, and without it does not. None of these
 * windows counts.
 */
static int engine_again(struct prove_engine *g, enum proof_part part, const struct arm *a,
			const struct arm *b, struct err *e)
{
	size_t number = g->coin++, from = g->p->n_windows;
	struct proof_window w;
	struct err other = { 0 };
	int r = one_window(g, part, number, a, false, &w, &other);

	if (r == 0)
		r = one_window(g, part, number, b, true, &w, &other);
	else if (r == -EBADMSG)
		r = -ENODATA;
	void_pair(g, from, "repeating a failed window");
	if (r == 0)
		return -EAGAIN;
	*e = other;
	return r;
}

static int try_pair(struct prove_engine *g, enum proof_part part, const struct arm *a,
		    const struct arm *b, struct proof_pairs *out, struct err *e)
{
	size_t number = g->coin++, from = g->p->n_windows;
	bool b_first = order_b_first(g->p->seed, number);
	struct proof_window w[2];
	double begin = now(g);
	int r = 0;

	for (int i = 0; r == 0 && i < 2; i++) {
		bool is_b = (i == 0) == b_first;

		r = one_window(g, part, number, is_b ? b : a, is_b, &w[is_b], e);
		/* That it fails without b too says nothing of b. */
		if (r == -EBADMSG && !is_b)
			r = -ENODATA;
	}
	if (r) {
		void_pair(g, from, "discarding the other window of the pair");
		/* Of mixtures another one tells, and the same against itself is no setting's. */
		return r == -EBADMSG && part != PART_SCREEN && part != PART_SAME
			       ? engine_again(g, part, a, b, e)
			       : r;
	}
	engine_add_pair(g, out, &w[0], &w[1]);
	engine_took(g, now(g) - begin);
	return 0;
}

int engine_pair(struct prove_engine *g, enum proof_part part, const struct arm *a,
		const struct arm *b, struct proof_pairs *out, struct err *e)
{
	int r = -ESTALE;

	for (int i = 0; i < FAULTS_MAX && r == -ESTALE; i++)
		r = try_pair(g, part, a, b, out, e);
	return r;
}

int engine_run(struct prove_engine *g, enum proof_part part, const struct arm *s, double *y,
	       struct err *e)
{
	const struct window *window = &g->p->window;
	int r = -ESTALE;

	for (int i = 0; i < FAULTS_MAX && r == -ESTALE; i++) {
		double begin = now(g);
		struct proof_window w;

		r = one_window(g, part, g->coin++, s, true, &w, e);
		if (r == 0) {
			*y = engine_log_ratio(&window->figures[window->main], 1,
					      w.value[window->main]);
			engine_took(g, 2 * (now(g) - begin));
		}
	}
	return r;
}

int engine_block(struct prove_engine *g, enum proof_part part, const struct arm *b,
		 const struct arm *a, size_t n, struct proof_pairs *const *out, struct err *e)
{
	size_t number = g->coin++, from = g->p->n_windows, *at;
	struct proof_window *w;
	double begin = now(g);
	int r = 0;

	at = arena_array(g->a, n + 1, sizeof(*at));
	w = arena_array(g->a, n + 1, sizeof(*w));
	order_shuffle(g->p->seed + number, at, n + 1);
	for (size_t i = 0; r == 0 && i <= n; i++)
		r = one_window(g, part, number, at[i] ? &a[at[i] - 1] : b, !at[i], &w[at[i]], e);
	if (r) {
		void_pair(g, from, "discarding another window of the block");
		return r;
	}
	for (size_t i = 0; i < n; i++)
		engine_add_pair(g, out[i], &w[i + 1], &w[0]);
	engine_took(g, 2 * (now(g) - begin) / (double)(n + 1));
	return 0;
}

/* --- before the pairs ------------------------------------------------------------------------- */

int engine_too_short(double spent_s, double pair_s, size_t pairs, struct err *e)
{
	err_set(e, -ETIME,
		"the time is too short: one pair takes %.1f s, and at least %zu are required",
		pair_s, pairs);
	err_hint(e, "--time-limit %.0fs", ceil((spent_s + (double)pairs * pair_s) * 1.2));
	return -ETIME;
}

int engine_warm_up(struct prove_engine *g, size_t min_pairs, struct err *e)
{
	static const struct arm off = { .name = "off" };
	struct proof *p = g->p;
	double x[WARM_MAX], began = now(g);
	size_t n = 0, kept = 0;
	bool long_enough = false;

	while ((kept < WARM_MAX || !long_enough) && !p->warm) {
		struct proof_window w;
		int r = one_window(g, PART_WARM_UP, n, &off, false, &w, e);

		if (r)
			return r == -EBADMSG ? -ENODATA : r;
		/* Of a long warm-up the last windows tell. */
		if (kept == WARM_MAX)
			memmove(x, x + 1, --kept * sizeof(x[0]));
		x[kept++] = w.value[p->window.main];
		n++;
		if (!g->n_shared)
			g->pair_s = 2 * (now(g) - began) / (double)n;
		long_enough = now(g) - began >= p->warm_up_s;
		p->warm = long_enough && kept >= WARM_MIN &&
			  stat_steady(x, kept, kept < 8 ? kept : 8, 0.01);
		if (n >= 2 && !engine_has_time(g, min_pairs))
			break;
		/* Half a warm-up leaves more to the pairs, which drift cannot fool. */
		if (n >= WARM_MIN && now(g) - g->start > p->budget_s / 6)
			break;
	}
	return engine_has_time(g, min_pairs)
		       ? 0
		       : engine_too_short(now(g) - g->start, g->pair_s, min_pairs, e);
}

int engine_admit(struct prove_engine *g, const bool *on, struct err *e)
{
	const struct arm off = { .name = "off" }, with = { .name = "on", .on = on };
	struct proof_window w;
	int r = one_window(g, PART_WARM_UP, g->p->n_windows, &with, true, &w, e), back;
	struct err ignored = { 0 };

	if (r == -EBADMSG)
		r = engine_again(g, PART_WARM_UP, &off, &with, e);
	/* It can be set, and the pairs will tell. */
	if (r == -EAGAIN)
		r = 0;
	back = switch_to(g->sw, NULL, false, r ? &ignored : e);

	return r ? r : back;
}

int engine_same(struct prove_engine *g, const bool *on, size_t later_pairs, bool *usable,
		struct err *e)
{
	const struct arm off = { .name = "off", .other = on };
	struct proof *p = g->p;
	size_t pairs = engine_has_time(g, RULE_SAME_PAIRS + later_pairs) ? RULE_SAME_PAIRS
									 : SAME_SHORT_PAIRS;

	p->same_done = true;
	g->expect = pairs;
	while (p->same_pairs.n < pairs) {
		int r = engine_pair(g, PART_SAME, &off, &off, &p->same_pairs, e);

		if (r)
			return r == -EBADMSG ? -ENODATA : r;
	}
	rule_same(p->same_pairs.d[p->window.main], p->same_pairs.n, p->min_effect_asked, &p->same);
	/* The rule is right however coarse it is; only what is large can be seen then. */
	*usable = p->same.kind == SAME_OK || p->same.kind == SAME_COARSE;
	if (!*usable)
		p->why = p->same.why;
	return 0;
}
