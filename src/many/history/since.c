/* SPDX-License-Identifier: Apache-2.0 */
/* Changes out of the file, put together by what they are; the steps between measured states. */
#include "many/history/since.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/stat.h"
#include "base/text.h"
#include "render/shape_page.h"

enum {
	BEFORE_S = 180 * 86400, /* measurements before it that count */
	SAMPLES_MAX = 4096,	/* of one machine and figure */
	ANSWERS_KEPT = 1 << 20, /* texts that are looked up once */
	STEPS_KEPT = 64,	/* whose samples are kept, for a few machines */
};

static const double alpha = 0.01, min_effect = 0.01;

/* A change of one machine: between seen_s, when it was still as before, and t. */
struct event {
	long long machine, t, seen_s;
	size_t item; /* of since_answer's items; SIZE_MAX: it came before what is asked about */
};

struct item {
	const char *kind, *name, *unit; /* kind NULL: none has this id */
};

struct load {
	struct history *h;
	struct since_answer *out;
	struct arena *a;
	struct event *events; /* by machine, then time */
	size_t n_events, n_causes;
	size_t *cause_item; /* the item of each cause */
	struct map items;
	struct item *known; /* by id */
	size_t n_known;
	const char **answers; /* by id; NULL: not looked up */
	struct sqlite3_stmt *answer;
	size_t n_answers;
	long long from_s;
	const char *where; /* which machines */
};

/* --- changes ---------------------------------------------------------------------------------- */

/* A symptom or a note is no cause; what could not be seen has not changed. */
static bool is_cause(const char *kind)
{
	return strcmp(kind, "setting") == 0 || strcmp(kind, "version") == 0 ||
	       strcmp(kind, "package") == 0;
}

/* What a fact was; "": it could not be seen. */
static const char *answer_text(struct load *l, long long id)
{
	const char *fresh = NULL, *state, *value,
		   **text = id >= 0 && (size_t)id < l->n_answers ? &l->answers[id] : &fresh;

	if (*text)
		return *text;
	sql_bind(&l->h->sql, l->answer, 1, id);
	*text = "";
	if (!sql_row(&l->h->sql, l->answer))
		return *text;
	state = sql_text(&l->h->sql, l->answer, 0);
	value = sql_text(&l->h->sql, l->answer, 1);
	if (!state || strcmp(state, "unknown") != 0)
		*text = !state && !value ? "nothing"
			: !state	 ? value
			: !value	 ? state
					 : arena_printf(l->a, "%s: %s", state, value);
	return *text;
}

/* One and the same on all machines and targets. */
static struct since_change *change_at(struct load *l, long long machine,
				      const struct since_change *one)
{
	struct since_answer *s = l->out;
	void **place = map_at(l->a, &l->items,
			      arena_printf(l->a, "%s %s %zu:%s%s", one->kind, one->name,
					   strlen(one->from), one->from, one->to));

	if (!*place) {
		struct since_change *c = &ARENA_ADD(l->a, s->items, s->n_items);

		*c = *one;
		c->machine = history_text(
			l->h,
			arena_printf(l->a, "SELECT name FROM machine WHERE id = %lld", machine));
		*place = (void *)(uintptr_t)s->n_items;
	}
	return &s->items[(uintptr_t)*place - 1];
}

/* A fact that was another before. Several targets of one machine are one change. */
static void take_change(struct load *l, struct event ev, const struct since_change *one)
{
	struct since_change *c;

	ev.item = SIZE_MAX;
	if (ev.t < l->from_s && !is_cause(one->kind))
		return;
	if (ev.t >= l->from_s) {
		c = change_at(l, ev.machine, one);
		ev.item = (size_t)(c - l->out->items);
		for (size_t i = l->n_events; i-- > 0 && l->events[i].machine == ev.machine;)
			if (l->events[i].item == ev.item && l->events[i].t == ev.t)
				return;
		if (!c->machines++)
			c->first_s = c->last_s = ev.t;
		c->first_s = ev.t < c->first_s ? ev.t : c->first_s;
		c->last_s = ev.t > c->last_s ? ev.t : c->last_s;
	}
	ARENA_ADD(l->a, l->events, l->n_events) = ev;
}

/* A condition on that column; NULL: no machine is called so. */
static const char *of_machine(struct history *h, const char *machine, const char *column)
{
	struct sqlite3_stmt *s = sql_ask(&h->sql, "SELECT id FROM machine WHERE name = ?");
	const char *out = machine ? NULL : "";

	if (s && machine) {
		sql_bind_text(&h->sql, s, 1, machine);
		if (sql_row(&h->sql, s))
			out = arena_printf(h->a, " AND %s = %lld", column,
					   (long long)sql_integer(&h->sql, s, 0));
	}
	sql_end(&h->sql, s);
	return out;
}

/* What items are called, by their ids. */
static void load_items(struct load *l)
{
	struct sql *q = &l->h->sql;
	struct sqlite3_stmt *s;

	l->n_known = (size_t)history_number(l->h, "SELECT max(id) FROM item", 0) + 1;
	l->n_known = l->n_known <= HISTORY_ITEMS_MAX ? l->n_known : HISTORY_ITEMS_MAX;
	l->known = arena_array(l->a, l->n_known, sizeof(*l->known));
	s = sql_ask(q, "SELECT id, kind, name, unit FROM item");
	while (s && sql_row(q, s)) {
		size_t id = (size_t)sql_integer(q, s, 0);
		const char *kind = sql_text(q, s, 1), *name = sql_text(q, s, 2);

		if (id < l->n_known && kind && name)
			l->known[id] = (struct item){ kind, name, sql_text(q, s, 3) };
	}
	sql_end(q, s);
}

/* In the order of the rows, each beside the one before it. What could not be seen, or has the same
 * value for another reason, has not changed. */
static int load_changes(struct load *l)
{
	struct sql *q = &l->h->sql;
	struct sqlite3_stmt *s = sql_ask(
		q, arena_printf(l->a,
				"SELECT machine, item, first, last, answer FROM fact WHERE 1%s "
				"ORDER BY machine, item, first",
				l->where));
	long long was[5] = { -1, -1, 0, 0, 0 }, is[5];
	int code;

	l->n_answers = (size_t)history_number(l->h, "SELECT max(id) FROM answer", 0) + 1;
	l->n_answers = l->n_answers <= ANSWERS_KEPT ? l->n_answers : ANSWERS_KEPT;
	l->answers = arena_array(l->a, l->n_answers, sizeof(*l->answers));
	l->answer = sql_ask(q, "SELECT state, value FROM answer WHERE id = ?");
	if (!s || !l->answer)
		return sql_broken(q);
	for (; sql_row(q, s); memcpy(was, is, sizeof(was))) {
		struct since_change one = { .cause = SIZE_MAX };

		for (int c = 0; c < 5; c++)
			is[c] = sql_integer(q, s, c);
		if (is[0] != was[0] || is[1] != was[1] || is[4] == was[4] || is[1] < 0 ||
		    is[2] < l->from_s - BEFORE_S || (size_t)is[1] >= l->n_known)
			continue;
		one.kind = l->known[is[1]].kind;
		one.name = l->known[is[1]].name;
		one.from = answer_text(l, was[4]);
		one.to = answer_text(l, is[4]);
		if (one.kind && *one.from && *one.to && strcmp(one.from, one.to) != 0)
			take_change(l, (struct event){ is[0], is[2], was[3], 0 }, &one);
	}
	code = sql_finish(q, s);
	sql_end(q, s);
	sql_end(q, l->answer);
	return code;
}

static bool can_be_cause(const struct since_change *c)
{
	return c->cause == SIZE_MAX && is_cause(c->kind);
}

/* Causes are the changes on most machines: more than can be separated are left out. */
static void number_causes(struct load *l)
{
	struct since_answer *s = l->out;

	l->cause_item = arena_array(l->a, COST_CAUSES_MAX, sizeof(*l->cause_item));
	for (;;) {
		size_t best = SIZE_MAX;

		for (size_t i = 0; i < s->n_items; i++)
			if (can_be_cause(&s->items[i]) &&
			    (best == SIZE_MAX || s->items[i].machines > s->items[best].machines))
				best = i;
		if (best == SIZE_MAX)
			return;
		if (l->n_causes == COST_CAUSES_MAX) {
			for (size_t i = 0; i < s->n_items; i++)
				s->left_out += can_be_cause(&s->items[i]);
			return;
		}
		s->items[best].cause = l->n_causes;
		l->cause_item[l->n_causes++] = best;
	}
}

/* --- steps between measured states ------------------------------------------------------------ */

struct series {
	long long machine, item;
	long long t[SAMPLES_MAX];
	double v[SAMPLES_MAX]; /* logs, positive is better */
	size_t n;
};

struct steps {
	struct cost_step *list;
	size_t n;
	/* The samples of the first ones, before and after. */
	struct {
		const double *x;
		size_t nx, ny;
	} * kept;
};

/* The causes of one machine between two times; false: one that is not separated is among them. */
static bool causes_between(const struct load *l, size_t from, size_t to, long long after,
			   long long until, struct cost_step *s)
{
	bool known = true;

	for (size_t i = from; i < to; i++) {
		const struct event *ev = &l->events[i];
		const struct since_change *c =
			ev->item == SIZE_MAX ? NULL : &l->out->items[ev->item];

		if (ev->t <= after || ev->t > until || (c && !is_cause(c->kind)))
			continue;
		if (!c || c->cause >= COST_CAUSES_MAX)
			known = false;
		else
			s->cause[c->cause] = 1;
	}
	return known;
}

static void add_step(struct load *l, const struct series *r, struct steps *out, const size_t at[3],
		     struct cost_step *s)
{
	double x = 0, y = 0;
	size_t nx = at[1] - at[0], ny = at[2] - at[1];

	if (stat_median(r->v + at[0], nx, &x) || stat_median(r->v + at[1], ny, &y))
		return;
	s->machine = (size_t)r->machine;
	s->better = y - x;
	s->weight = 1 / (1 / (double)nx + 1 / (double)ny);
	ARENA_ADD(l->a, out->list, out->n) = *s;
	if (out->n > STEPS_KEPT)
		return;
	if (!out->kept)
		out->kept = arena_array(l->a, STEPS_KEPT, sizeof(*out->kept));
	out->kept[out->n - 1].x =
		arena_join(l->a, r->v + at[0], nx, r->v + at[1], ny, sizeof(double));
	out->kept[out->n - 1].nx = nx;
	out->kept[out->n - 1].ny = ny;
}

/* One series into states: a new one begins with the first measurement after a change. */
static void series_steps(struct load *l, const struct series *r, size_t from, size_t to,
			 struct steps *out)
{
	size_t begin = 0, end = 0;

	for (size_t i = 0, next; i < r->n; i = next) {
		struct cost_step s = { 0 };
		bool changed = false, known;

		next = i + 1;
		if (end == 0) {
			end = next;
			continue;
		}
		known = causes_between(l, from, to, r->t[end - 1], r->t[i], &s);
		for (size_t c = 0; c < l->n_causes; c++)
			changed |= s.cause[c] != 0;
		if (!changed && known) {
			end = next;
			continue;
		}
		/* Up to the next change. */
		while (next < r->n) {
			struct cost_step none = { 0 };
			bool still = causes_between(l, from, to, r->t[next - 1], r->t[next], &none);

			for (size_t c = 0; c < l->n_causes; c++)
				still &= none.cause[c] == 0;
			if (!still)
				break;
			next++;
		}
		if (known && changed)
			add_step(l, r, out, (const size_t[]){ begin, i, next }, &s);
		begin = i;
		end = next;
	}
}

static void series_end(struct load *l, struct series *r, struct steps *out)
{
	size_t from = 0, high = l->n_events;

	/* The first event of the machine, which may have none. */
	while (from < high) {
		size_t mid = (from + high) / 2;

		if (l->events[mid].machine < r->machine)
			from = mid + 1;
		else
			high = mid;
	}
	for (high = from; high < l->n_events && l->events[high].machine == r->machine;)
		high++;
	/* A measurement between "still as before" and "changed" is of neither. */
	for (size_t i = 0, kept = 0, n = r->n; i < n; i++) {
		bool between = false;

		for (size_t k = from; k < high && !between; k++)
			between = r->t[i] > l->events[k].seen_s && r->t[i] < l->events[k].t;
		r->t[kept] = r->t[i];
		r->v[kept] = r->v[i];
		kept += !between;
		r->n = kept;
	}
	if (r->n && high > from)
		series_steps(l, r, from, high, out);
}

/* --- what a figure says ----------------------------------------------------------------------- */

static struct since_cost *add_cost(struct load *l, const char *figure, const char *unit)
{
	struct since_answer *s = l->out;

	s->costs = arena_grow(l->a, s->costs, s->n_costs, sizeof(*s->costs));
	s->costs[s->n_costs] = (struct since_cost){
		.figure = figure, .unit = unit, .percent = NAN, .low = NAN, .high = NAN
	};
	return &s->costs[s->n_costs++];
}

static const char *cause_text(struct load *l, size_t cause)
{
	const struct since_change *c = &l->out->items[l->cause_item[cause]];

	return arena_printf(l->a, "%s %s -> %s", c->name, c->from, c->to);
}

static void cost_ratio(struct since_cost *c, double ratio, double low, double high)
{
	c->percent = 100 * (ratio - 1);
	if (low > 0 && isfinite(high)) {
		c->low = 100 * (low - 1);
		c->high = 100 * (high - 1);
	}
}

/* Few machines: a step by itself, all of its changes together. */
static void cost_of_step(struct load *l, const struct steps *st, size_t at, const char *figure,
			 const char *unit)
{
	const struct cost_step *s = &st->list[at];
	size_t nx = st->kept[at].nx, ny = st->kept[at].ny;
	double *x = arena_array(l->a, nx + ny, sizeof(*x));
	size_t *first = arena_array(l->a, nx + ny, sizeof(*first));
	struct since_cost *c = add_cost(l, figure, unit);
	const char **names = arena_array(l->a, COST_CAUSES_MAX, sizeof(*names));
	struct stat_ratio r;

	for (size_t i = 0; i < l->n_causes; i++)
		if (s->cause[i])
			names[c->n_changes++] = cause_text(l, i);
	c->changes = names;
	c->machines = 1;
	c->verdict = ruling_name(RULING_UNDECIDED);
	for (size_t i = 0; i < nx + ny; i++) {
		x[i] = exp(st->kept[at].x[i]);
		first[i] = i < nx ? i : i - nx;
	}
	c->percent = 100 * (exp(s->better) - 1);
	c->why = "two measurements before and two after are required";
	if (nx < 2 || ny < 2 ||
	    stat_ratio(&(struct stat_arm){ x, nx, first, nx },
		       &(struct stat_arm){ x + nx, ny, first + nx, ny }, 1 - alpha, STAT_SEED, &r))
		return;
	cost_ratio(c, r.ratio, r.interval.low, r.interval.high);
	c->verdict = ruling_name(cost_ruling(r.ratio, r.interval.low, r.interval.high, min_effect));
	c->why = strcmp(c->verdict, "undecided") == 0
			 ? "the interval is too wide: more measurements would decide"
			 : NULL;
}

static void cost_of_fleet(struct load *l, const struct steps *st, const char *figure,
			  const char *unit, size_t figures)
{
	struct cost out[COST_CAUSES_MAX];

	cost_separate(l->a, st->list, st->n, l->n_causes, alpha / (double)figures, min_effect, out);
	for (size_t i = 0; i < l->n_causes; i++) {
		const char **names = arena_array(l->a, l->n_causes, sizeof(*names));
		struct since_cost *c;

		if (out[i].with != i || !out[i].machines)
			continue;
		c = add_cost(l, figure, unit);
		for (size_t k = i; k < l->n_causes; k++)
			if (out[k].with == i && out[k].machines)
				names[c->n_changes++] = cause_text(l, k);
		c->changes = names;
		c->machines = out[i].machines;
		c->verdict = ruling_name(out[i].kind);
		c->why = out[i].why;
		cost_ratio(c, out[i].ratio, out[i].low, out[i].high);
	}
}

static size_t machines_of(const struct steps *st)
{
	size_t n = 0;

	for (size_t i = 0; i < st->n; i++)
		n += !i || st->list[i].machine != st->list[i - 1].machine;
	return n;
}

/* All figures, in the order of the rows: one series after the other. */
static int load_figures(struct load *l, const char *where, struct steps *of)
{
	struct sql *q = &l->h->sql;
	struct series *r = arena_alloc(l->a, sizeof(*r));
	struct sqlite3_stmt *s = sql_ask(
		q, arena_printf(l->a,
				"SELECT machine, item, t, value FROM figure WHERE %s ORDER BY "
				"machine, item, t",
				where));
	bool lower = false, taken = false;
	int code;

	if (!s)
		return sql_broken(q);
	r->machine = r->item = -1;
	while (sql_row(q, s)) {
		long long machine = sql_integer(q, s, 0), item = sql_integer(q, s, 1);
		double v;

		if (machine != r->machine || item != r->item) {
			if (taken)
				series_end(l, r, &of[r->item]);
			r->machine = machine;
			r->item = item;
			r->n = 0;
			taken = item >= 0 && (size_t)item < l->n_known && l->known[item].kind;
			lower = taken && strcmp(l->known[item].kind, "lower") == 0;
		}
		v = taken && r->n < SAMPLES_MAX ? sql_real(q, s, 3) : 0;
		if (!(v > 0) || !isfinite(v))
			continue;
		r->t[r->n] = sql_integer(q, s, 2);
		r->v[r->n++] = lower ? -log(v) : log(v);
	}
	if (taken)
		series_end(l, r, &of[r->item]);
	code = sql_finish(q, s);
	sql_end(q, s);
	return code;
}

static int load_costs(struct load *l)
{
	struct steps *of = arena_array(l->a, l->n_known, sizeof(*of));
	size_t figures = 0;
	int code = load_figures(
		l, arena_printf(l->a, "t >= %lld%s", l->from_s - BEFORE_S, l->where), of);

	for (size_t i = 0; i < l->n_known; i++)
		figures += of[i].n > 0;
	for (size_t i = 0; i < l->n_known && code == 0; i++) {
		if (machines_of(&of[i]) >= COST_MACHINES_LEAST)
			cost_of_fleet(l, &of[i], l->known[i].name, l->known[i].unit, figures);
		else
			for (size_t k = 0; k < of[i].n && k < STEPS_KEPT; k++)
				cost_of_step(l, &of[i], k, l->known[i].name, l->known[i].unit);
	}
	return code;
}

/* --- all -------------------------------------------------------------------------------------- */

static int by_machines(const void *x, const void *y)
{
	const struct since_change *a = x, *b = y;

	if (a->machines != b->machines)
		return a->machines < b->machines ? 1 : -1;
	return strcmp(a->name, b->name);
}

/* What was decided first, the largest effect before smaller ones. */
static int by_effect(const void *x, const void *y)
{
	const struct since_cost *a = x, *b = y;
	bool known_a = strcmp(a->verdict, "undecided") != 0,
	     known_b = strcmp(b->verdict, "undecided") != 0;
	double size_a = isfinite(a->percent) ? fabs(a->percent) : 0,
	       size_b = isfinite(b->percent) ? fabs(b->percent) : 0;

	if (known_a != known_b)
		return known_a ? -1 : 1;
	return (size_a < size_b) - (size_a > size_b);
}

static void count_changed(const struct load *l, struct since_answer *s)
{
	long long last = -1;

	for (size_t i = 0; i < l->n_events; i++) {
		if (l->events[i].machine == last || l->events[i].item == SIZE_MAX)
			continue;
		last = l->events[i].machine;
		s->n_changed++;
	}
}

int history_since(struct history *h, long long from_s, const char *machine,
		  struct since_answer *out, struct err *e)
{
	struct load l = { .h = h, .out = out, .a = h->a, .from_s = from_s };
	int code;

	h->sql.e = e;
	*out = (struct since_answer){ .from_s = from_s };
	l.where = of_machine(h, machine, "machine");
	if (!l.where)
		return err_set(e, -EINVAL, "%s: no machine is called %s", h->path, machine);
	out->machines = machine ? 1 : (size_t)history_number(h, "SELECT count(*) FROM machine", 0);
	load_items(&l);
	code = load_changes(&l);
	if (code)
		return code;
	number_causes(&l);
	code = load_costs(&l);
	count_changed(&l, out);
	if (out->n_items)
		qsort(out->items, out->n_items, sizeof(*out->items), by_machines);
	if (out->n_costs)
		qsort(out->costs, out->n_costs, sizeof(*out->costs), by_effect);
	return code;
}

long long history_upgraded(struct history *h, const char *machine)
{
	const char *where = of_machine(h, machine, "f.machine");

	return !where ? 0
		      : history_number(
				h,
				arena_printf(h->a,
					     "SELECT max(f.first) FROM fact f JOIN item i ON i.id "
					     "= f.item WHERE i.kind IN ('version', 'package') AND "
					     "EXISTS (SELECT 1 FROM fact p WHERE p.machine = "
					     "f.machine AND p.item = f.item AND p.first < f.first "
					     "AND p.answer <> f.answer)%s",
					     where),
				0);
}

/* --- result and page -------------------------------------------------------------------------- */

static const char *shown_time(struct arena *a, long long t)
{
	char out[STAMP_SIZE];

	return stamp_format(t, out) ? "" : arena_strdup(a, out);
}

/* clang-format off */
static const struct shape since_change_shape = SHAPE_OF(since_change, since_change,
	{ "kind", "Kind: setting, version, package, health, change, proof, status, verify or tool.",
	  SHAPE_TEXT(since_change, kind) },
	{ "name", NULL, SHAPE_TEXT(since_change, name), .title = "~Change" },
	{ "from", NULL, SHAPE_TEXT(since_change, from), .title = "~From" },
	{ "to", NULL, SHAPE_TEXT(since_change, to), .title = "~To" },
	{ "machines", "Number of machines with this change.", SHAPE_COUNT(since_change, machines),
	  .title = "Machines" },
	{ "machine", "Name of one machine with this change.", SHAPE_TEXT(since_change, machine) },
	{ "first", "Time when the change was first seen.", SHAPE_TIME(since_change, first_s), .title = "First seen" },
	{ "last", "Time when a machine last had the change.", SHAPE_TIME(since_change, last_s) });

static const struct shape since_cost_shape = SHAPE_OF(since_cost, since_cost,
	{ "figure", "Bench, case and figure.", SHAPE_TEXT(since_cost, figure) },
	{ "unit", NULL, SHAPE_TEXT(since_cost, unit), .unknown = SHAPE_BLANK },
	{ "changes", "Changes that always occurred with this change, so the effects are not separable.",
	  SHAPE_TEXT_LIST(since_cost, changes, n_changes) },
	{ "machines", "Number of machines measured before and after.", SHAPE_COUNT(since_cost, machines) },
	{ "verdict", "helps, hurts, no-difference or undecided.", SHAPE_TEXT(since_cost, verdict) },
	{ "effect_percent", "Improvement of the figure; negative: worse.",
	  SHAPE_REAL(since_cost, percent), .unknown = SHAPE_NULL },
	{ "low_percent", "Interval of the effect, valid for all comparisons at once (99 %).",
	  SHAPE_REAL(since_cost, low), .unknown = SHAPE_NULL },
	{ "high_percent", NULL, SHAPE_REAL(since_cost, high), .unknown = SHAPE_NULL },
	{ "why", "Why the verdict is undecided.", SHAPE_TEXT(since_cost, why), .unknown = SHAPE_NULL });

static const struct shape since_shape = SHAPE_OF(since_answer, since,
	{ "from", NULL, SHAPE_TIME(since_answer, from_s) },
	{ "machines", "Machines in the history.", SHAPE_COUNT(since_answer, machines) },
	{ "changed", "Machines with a change.", SHAPE_COUNT(since_answer, n_changed) },
	{ "changes", "Changes on most machines first.",
	  SHAPE_LIST(since_answer, items, n_items, since_change) },
	{ "costs", "Effects of changes on measured figures.",
	  SHAPE_LIST(since_answer, costs, n_costs, since_cost) },
	{ "not_separated", "Number of changes that were not examined as a cause. Changes on the most "
	  "machines come first.",
	  SHAPE_COUNT(since_answer, left_out) });

const struct result_shape since_result = {
	.name = "since", .title = "gputune since",
	.meaning = "Changes on one or many machines since a time, and the cost of each.",
	.shape = &since_shape, .list = "changes", .exit_codes = 1u << 0 | 1u << 1 | 1u << 2,
};
/* clang-format on */

static void page_costs(struct doc *d, const struct since_answer *s)
{
	struct node *t = DOC_TABLE(d, "Cost of changes", "!~Change", "!Figure", "Verdict",
				   ">Effect", "Interval", ">Machines", "~Note");

	for (size_t i = 0; i < s->n_costs && i < SINCE_SHOWN; i++) {
		const struct since_cost *c = &s->costs[i];
		bool bad = strcmp(c->verdict, "hurts") == 0,
		     good = strcmp(c->verdict, "helps") == 0;
		struct cell *row = node_row(d, t);

		row[0] = c->n_changes > 3
				 ? cellf(d, "%s, %s and %zu more, whose effects are not separable",
					 c->changes[0], c->changes[1], c->n_changes - 2)
			 : c->n_changes > 1 ? cellf(d, "%s, inseparable from %s%s%s", c->changes[0],
						    c->changes[1], c->n_changes > 2 ? ", " : "",
						    c->n_changes > 2 ? c->changes[2] : "")
					    : cell(c->changes[0]);
		row[1] = cell(c->figure);
		row[2] = cell_as(bad ? STYLE_BAD : good ? STYLE_GOOD : STYLE_PLAIN, c->verdict);
		if (isfinite(c->percent))
			row[3] = cellf(d, "%+.1f %%", c->percent);
		if (isfinite(c->low))
			row[4] = cellf(d, "[%+.1f, %+.1f]", c->low, c->high);
		row[5] = cellf(d, "%zu", c->machines);
		row[6] = cell(c->why);
	}
	node_drop_empty(t);
}

struct doc *page_since(struct arena *a, const struct since_answer *s)
{
	struct doc *d = doc_new(a);
	size_t n = s->n_items < SINCE_SHOWN ? s->n_items : SINCE_SHOWN, hurts = 0;

	for (size_t i = 0; i < s->n_costs; i++)
		hurts += strcmp(s->costs[i].verdict, "hurts") == 0;
	doc_verdict(d, hurts ? STYLE_BAD : STYLE_GOOD,
		    arena_printf(a, "%zu change%s on %zu of %zu machine%s since %s; %zu cost speed",
				 s->n_items, PLURAL(s->n_items), s->n_changed, s->machines,
				 PLURAL(s->machines), shown_time(a, s->from_s), hurts),
		    NULL);
	node_drop_empty(shape_table(d, "What changed", &since_change_shape, s->items, n));
	if (n < s->n_items)
		doc_text(d, "%zu more changes: --format json or csv has all.", s->n_items - n);
	page_costs(d, s);
	if (!s->n_costs && s->n_items)
		doc_text(d, "No figure was measured both before and after: add results of "
			    "\"gputune bench\".");
	if (s->left_out)
		doc_text(
			d,
			"%zu rarer changes were not examined; --machine NAME examines one machine.",
			s->left_out);
	return d;
}
