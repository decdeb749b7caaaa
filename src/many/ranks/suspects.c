/* SPDX-License-Identifier: Apache-2.0 */
/* What is probable of each place in the row, and the group that halves it. */
#include "many/ranks/suspects.h"

#include <math.h>
#include <string.h>

#define DOUBT 3e-5	/* of a cause that is named */
#define END_DOUBT 1e-5	/* that a row that is called good has a fault */
#define ROW_DOUBT 0.3	/* of the place in a row where it is looked for */
#define LEFT_DOUBT 1e-5 /* that pairs which were in no test hide a fault */
enum { ROUNDS_MAX = 200, ROWS_MAX = 16 };

struct search {
	const struct suspects_ask *ask;
	struct suspects *out;
	unsigned *row, n; /* nodes in their order */
	unsigned good;	  /* so many at its beginning are good together */
	unsigned *group, n_group;
	double *p, *q;		/* by place; by reason */
	bool *gone;		/* by node: faulty, or below a faulty leaf */
	unsigned char *covered; /* by pair: were good together */
};

static unsigned char *pair_at(struct search *s, unsigned a, unsigned b)
{
	return &s->covered[(size_t)(a < b ? a : b) * s->ask->nodes + (a < b ? b : a)];
}

static bool spent(const struct search *s)
{
	return s->ask->most && s->out->tests >= s->ask->most;
}

static bool test_group(struct search *s)
{
	s->out->tests++;
	return s->ask->test(s->ask->ctx, s->group, s->n_group);
}

static void normalize(double *p, unsigned n)
{
	double sum = 0;

	for (unsigned i = 0; i < n; i++)
		sum += p[i];
	for (unsigned i = 0; i < n && sum > 0; i++)
		p[i] /= sum;
}

static unsigned likeliest(const double *p, unsigned n)
{
	unsigned best = 0;

	for (unsigned i = 1; i < n; i++)
		if (p[i] > p[best])
			best = i;
	return best;
}

static double before(const double *p, unsigned n)
{
	double sum = 0;

	for (unsigned i = 0; i < n; i++)
		sum += p[i];
	return sum;
}

/* That the first x nodes have no fault. */
static double without(const struct search *s, unsigned x)
{
	double part = (double)x / s->ask->nodes;

	return exp(-s->ask->expected * (part + part * part));
}

/* Places from here on as if nothing was tested with them; what is known of those before stays. */
static void expect_from(struct search *s, unsigned from)
{
	double still = without(s, from);

	/* One alone is in no test: what is wrong with the first shows with the second. */
	for (unsigned i = from; i < s->n; i++)
		s->p[i] = i ? (without(s, i == 1 ? 0 : i) - without(s, i + 1)) / still : 0;
	s->p[s->n] = without(s, s->n) / still;
}

/*
 * The place of the first node with which the row is bad: p[i] for place i, p[n]: none does. It is
 * sure to early that none before it is. Below 0: the tests are spent.
 */
static int first_bad(struct search *s, double early)
{
	double wrong = s->ask->wrong, sum;
	unsigned best, x;
	bool bad;

	for (int round = 0; round < ROUNDS_MAX; round++) {
		normalize(s->p, s->n + 1);
		best = likeliest(s->p, s->n + 1);
		/* That a later one is the first shows when this one is looked at; so does an
		 * earlier one, but for the first two, which all further tests rest on. */
		if (1 - s->p[best] < (best == s->n ? END_DOUBT : ROW_DOUBT) &&
		    before(s->p, best) < early && (best < 2 || s->p[1] < DOUBT))
			return (int)best;
		if (spent(s))
			return -1;
		/* As many as make both results as probable; two at least. */
		for (x = 0, sum = 0; x < s->n && sum + s->p[x] / 2 < 0.5; x++)
			sum += s->p[x];
		x = x < 2 ? 2 : x;
		s->n_group = x > s->n ? s->n : x;
		memcpy(s->group, s->row, s->n_group * sizeof(*s->group));
		bad = test_group(s);
		for (unsigned i = 0; i <= s->n; i++)
			s->p[i] *= (i < s->n_group) == bad ? 1 - wrong : wrong;
	}
	return -1;
}

/*
 * So many before t, from the middle on and round, that with the one at t both results are as
 * probable; or all but the middle one, which tells its pair from the node itself. Of two faulty
 * pairs the first alone is found.
 */
static void choose(const struct search *s, unsigned t, unsigned *first, unsigned *count)
{
	double best = 2, sum = s->q[t];

	for (unsigned y = 0; y < t; y++) {
		sum += s->q[(t / 2 + y) % t];
		if (fabs(sum - 0.5) < best) {
			best = fabs(sum - 0.5);
			*first = t / 2;
			*count = y + 1;
		}
	}
	if (t > 1 && s->q[t] + s->q[t / 2] > 1 - DOUBT) {
		*first = t / 2 + 1;
		*count = t - 1;
	}
}

/*
 * Why the row is bad with the node at place t: q[i]: its pair with place i, or that one before it;
 * q[t]: itself; q[t + 1]: it is not, the tests before were wrong. Returns that number; below 0: the
 * tests are spent.
 */
static int reason_of(struct search *s, unsigned t)
{
	double wrong = s->ask->wrong, nodes = s->ask->nodes;
	unsigned best, first = 0, count = t;
	bool bad;

	for (unsigned i = 0; i < t; i++)
		s->q[i] = 2 * s->ask->expected / (nodes * nodes);
	s->q[t] = s->ask->expected / nodes;
	normalize(s->q, t + 1);
	for (unsigned i = 0; i <= t; i++)
		s->q[i] = s->q[i] * s->p[t] + (i < t ? s->p[i] : 0);
	s->q[t + 1] = before(s->p + t + 1, s->n - t);
	for (int round = 0; round < ROUNDS_MAX; round++) {
		normalize(s->q, t + 2);
		best = likeliest(s->q, t + 2);
		/* With one other node alone its pair and the node itself are the same. */
		if (s->q[best] > 1 - DOUBT || (t == 1 && s->q[2] < DOUBT))
			return (int)(best < 2 && t == 1 ? 1 : best);
		if (spent(s))
			return -1;
		choose(s, t, &first, &count);
		for (s->n_group = 0; s->n_group < count; s->n_group++)
			s->group[s->n_group] = s->row[(first + s->n_group) % t];
		s->group[s->n_group++] = s->row[t];
		bad = test_group(s);
		for (unsigned i = 0; i < t + 2; i++) {
			bool in = i == t || (i < t && (i + t - first) % t < count);

			s->q[i] *= in == bad ? 1 - wrong : wrong;
		}
	}
	return -1;
}

static void accuse(struct search *s, enum suspect_kind kind, unsigned a, unsigned b)
{
	if (s->out->n < SUSPECTS_MAX)
		s->out->at[s->out->n++] = (struct suspect){ kind, a, b };
}

static void leave_row(struct search *s, unsigned place)
{
	memmove(s->row + place, s->row + place + 1, (s->n - place - 1) * sizeof(*s->row));
	memmove(s->p + place, s->p + place + 1, (s->n - place) * sizeof(*s->p));
	s->n--;
}

/* Whether others of its leaf are bad too: their tests with one that is good. None of them is likely
 * to stand before it, where the row is good. */
static bool leaf_is_bad(struct search *s, unsigned t)
{
	const unsigned *leaf = s->ask->leaf;
	double odds, wrong = s->ask->wrong;
	unsigned m = 0;

	if (!leaf)
		return false;
	s->group[0] = s->row[leaf[s->row[t / 2]] == leaf[s->row[t]] ? 0 : t / 2];
	if (leaf[s->group[0]] == leaf[s->row[t]])
		return false;
	while (leaf[s->row[m]] != leaf[s->row[t]])
		m++;
	odds = s->p[m] / s->p[t];
	for (unsigned i = t + 1; i < s->n && odds > DOUBT && odds < 1 / DOUBT && !spent(s); i++) {
		if (leaf[s->row[i]] != leaf[s->row[t]])
			continue;
		s->group[1] = s->row[i];
		s->n_group = 2;
		odds *= test_group(s) ? (1 - wrong) / (wrong + s->ask->expected / s->ask->nodes)
				      : wrong / (1 - wrong);
	}
	return odds >= 1 / DOUBT;
}

/* It, or its leaf, leaves the row. What spoke for a fault before it is known: its own explains the
 * same tests, and needs no second one. */
static void blame_node(struct search *s, unsigned t)
{
	unsigned node = s->row[t], from = t;
	bool leaf = leaf_is_bad(s, t);
	double again = (1 - without(s, t + 1) / without(s, t)) / s->p[t];

	accuse(s, leaf ? SUSPECT_LEAF : SUSPECT_NODE, leaf ? s->ask->leaf[node] : node, 0);
	for (unsigned i = 0; i < t; i++)
		s->p[i] *= again;
	for (unsigned i = s->n; i-- > 0;)
		if (s->row[i] == node || (leaf && s->ask->leaf[s->row[i]] == s->ask->leaf[node])) {
			s->gone[s->row[i]] = true;
			leave_row(s, i);
			from -= i < t;
		}
	expect_from(s, from);
}

/* The first two go to the end, with all others of their leaves: they are told apart where others
 * before them are good. */
static void rotate(struct search *s)
{
	const unsigned *leaf = s->ask->leaf, first = s->row[0], second = s->row[1];
	unsigned n = 0;

	s->n_group = 0;
	for (unsigned i = 0; i < s->n; i++) {
		unsigned x = s->row[i];

		if (i < 2 || (leaf && (leaf[x] == leaf[first] || leaf[x] == leaf[second])))
			s->group[s->n_group++] = x;
		else
			s->row[n++] = x;
	}
	memcpy(s->row + n, s->group, s->n_group * sizeof(*s->row));
	expect_from(s, 0);
}

/* Until the row is good. hidden: the share of what is expected of its untested part that can still
 * be. False: the tests are spent. */
static bool search_row(struct search *s, double hidden)
{
	unsigned turns = s->n / 2;

	memset(s->p, 0, s->good * sizeof(*s->p));
	expect_from(s, s->good);
	for (unsigned i = s->good; i < s->n; i++)
		s->p[i] *= hidden;
	for (;;) {
		int t = s->n > 1 ? first_bad(s, 1e-3) : (int)s->n, why;

		if (t < 0)
			return false;
		if ((unsigned)t >= s->n)
			break;
		if (t < 2 && s->n > 3 && turns) {
			rotate(s);
			turns--;
			continue;
		}
		why = reason_of(s, (unsigned)t);
		/* Its tests tell that no later one is the first. */
		for (unsigned i = (unsigned)t + 1; why >= 0 && why <= t && i <= s->n; i++)
			s->p[i] *= DOUBT;
		/* A pair's other end could be what is bad before. */
		if (why < 0 || (why < t && t != first_bad(s, DOUBT))) {
			if (why < 0 || spent(s))
				return false;
			continue;
		}
		if (why == t) {
			blame_node(s, (unsigned)t);
		} else if (why < t) {
			accuse(s, SUSPECT_PAIR, s->row[why], s->row[t]);
			leave_row(s, (unsigned)why);
			memset(s->p, 0, (size_t)(t - 1) * sizeof(*s->p));
			expect_from(s, (unsigned)t - 1);
		} else {
			s->p[t] *= DOUBT;
		}
	}
	for (unsigned i = 0; i < s->n; i++)
		for (unsigned k = i + 1; k < s->n; k++)
			*pair_at(s, s->row[i], s->row[k]) = 1;
	return true;
}

static size_t uncovered(struct search *s, unsigned node)
{
	size_t n = 0;

	for (unsigned i = 0; i < s->ask->nodes && !s->gone[node]; i++)
		n += i != node && !s->gone[i] && !*pair_at(s, node, i);
	return n;
}

/* The next row: of each faulty pair the end that fewer tests had; who was good together first. */
static size_t next_row(struct search *s, bool *out)
{
	unsigned nodes = s->ask->nodes, last = 0;
	size_t left = 0;

	for (unsigned i = 0; i < nodes; i++) {
		out[i] = s->gone[i];
		left += uncovered(s, i);
	}
	for (unsigned i = 0; i < s->out->n; i++) {
		const struct suspect *p = &s->out->at[i];

		if (p->kind != SUSPECT_PAIR || s->gone[p->a] || s->gone[p->b])
			continue;
		left -= left > 1 ? 2 : left;
		if (!out[p->a] && !out[p->b])
			out[uncovered(s, p->a) > uncovered(s, p->b) ? p->b : p->a] = true;
	}
	s->n = 0;
	for (int late = 0; late < 2; late++) {
		for (unsigned i = 0; i < nodes; i++) {
			bool open = false;

			for (unsigned k = 0; k < nodes && !open && !out[i]; k++)
				open = k != i && !out[k] && !*pair_at(s, i, k);
			if (!out[i] && open == (late == 1))
				s->row[s->n++] = i;
		}
		last = late ? last : s->n;
	}
	s->good = last;
	return left / 2;
}

struct suspects suspects_find(struct arena *a, const struct suspects_ask *ask)
{
	struct suspects out = { .whole = true };
	unsigned n = ask->nodes;
	struct search s = { .ask = ask,
			    .out = &out,
			    .row = arena_array(a, n + 1, sizeof(unsigned)),
			    .group = arena_array(a, n + 1, sizeof(unsigned)),
			    .p = arena_array(a, n + 2, sizeof(double)),
			    .q = arena_array(a, n + 2, sizeof(double)),
			    .gone = arena_array(a, n + 1, sizeof(bool)),
			    .covered = arena_array(a, (size_t)n * n + 1, 1) };
	bool *left_out = arena_array(a, n + 1, sizeof(bool));
	double hidden = 1, fault;

	for (unsigned i = 0; i < n; i++)
		s.row[s.n++] = i;
	for (int row = 0; row < ROWS_MAX && out.whole; row++) {
		out.whole = search_row(&s, hidden);
		out.pairs_untested = next_row(&s, left_out);
		fault = 2 * ask->expected * (double)out.pairs_untested / ((double)n * n);
		if (fault < LEFT_DOUBT || s.good == s.n)
			break;
		/* Only pairs were in no test yet: the nodes themselves were. */
		hidden = fmin(1, fault / (1 - without(&s, s.n) / without(&s, s.good)));
	}
	return out;
}

size_t suspects_round(const size_t *on, size_t n, size_t round, size_t *out)
{
	size_t m = n + n % 2, k = 0;

	for (size_t i = 0; i < m / 2; i++) {
		size_t a = i ? (round + i) % (m - 1) : m - 1;
		size_t b = (round + m - 1 - i) % (m - 1);

		if (a >= n || b >= n)
			continue;
		out[k++] = on[a];
		out[k++] = on[b];
	}
	return k;
}
