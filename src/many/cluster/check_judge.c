/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Is a figure what it has to be? A band of the platform says so where there is one; else the other
 * paths of the same cluster do, by what the good ones among them reach. Pure.
 */
#include <math.h>
#include <string.h>

#include "base/stat.h"
#include "many/cluster/bands.h"

/*
 * Of what good paths of the cluster carry a path has to carry this share; small requests may take
 * so many times as long, and so much beyond that. Good ones are the best seventh: half of all may
 * lead through one bad port. Windows that waver ask for more: by WAVER times what they differ by.
 * Best windows are compared, because what else a machine does only ever takes away.
 */
#define SHARE 0.6
#define TIMES 2.5
#define SLACK_US 30.0
#define GOOD_ONES 0.85
#define WAVER 2.0
/* Wires that are none (veth, virtio, a capture's ports in a namespace) carry what the CPUs have
 * left at that moment. */
#define SHARE_VIRTUAL 0.2
#define TIMES_VIRTUAL 8.0
enum { PEERS_MIN = 3 };

static bool alike(const struct check_result *x, const struct check_result *y)
{
	bool same = (!x->operation && !y->operation) ||
		    (x->operation && y->operation && strcmp(x->operation, y->operation) == 0);

	return x->test == y->test && x->together == y->together && same;
}

const struct check_result *check_newest(const struct check *c, const struct check_result *like)
{
	for (size_t i = c->n_results; i-- > 0;) {
		const struct check_result *r = &c->results[i];

		if (alike(r, like) && r->from == like->from && r->to == like->to &&
		    r->path == like->path &&
		    (!like->address || (r->address && strcmp(r->address, like->address) == 0)))
			return r;
	}
	return NULL;
}

static long long speed_of(const struct check *c, const struct check_result *r)
{
	long long x, y;

	if (r->path == CHECK_NONE)
		return 0;
	x = fact_or(&check_port(c, c->paths[r->path].a)->speed_mbps, 0);
	y = fact_or(&check_port(c, c->paths[r->path].b)->speed_mbps, 0);
	return x < y ? x : y;
}

/* How many paths were measured at once; figures of two do not compare with those of one. */
static size_t paths_at_once(const struct check *c, const struct check_result *r)
{
	size_t n = 0;

	for (size_t i = 0; r->together && i < c->n_paths; i++)
		n += !c->paths[i].untestable && c->paths[i].wire == c->paths[r->path].wire &&
		     c->paths[i].a.node == c->paths[r->path].a.node &&
		     c->paths[i].b.node == c->paths[r->path].b.node;
	return n;
}

static bool lower_is_better(const struct check_result *r)
{
	return check_kinds[r->test].better == BENCH_LOWER;
}

static double best_of(const struct check_result *r)
{
	return lower_is_better(r) ? r->low : r->high;
}

/* Of n peers of r the best windows, and how far the windows of each lie apart. */
static size_t peers(const struct check *c, const struct check_result *r, double *best,
		    double *apart)
{
	size_t n = 0;

	for (size_t i = 0; i < c->n_results; i++) {
		const struct check_result *o = &c->results[i];

		if (!o->n || !alike(o, r) || check_newest(c, o) != o ||
		    speed_of(c, o) != speed_of(c, r) || paths_at_once(c, o) != paths_at_once(c, r))
			continue;
		best[n] = best_of(o);
		apart[n++] = o->high - o->low;
	}
	return n;
}

/* How far the best quarter of all lies apart, as a share: on quiet hardware hardly. */
static double top_apart(const double *sorted, size_t n, bool lower)
{
	double best = stat_quantile(sorted, n, lower ? 0 : 1),
	       quarter = stat_quantile(sorted, n, lower ? 0.25 : 0.75), least = fmin(best, quarter);

	return least > 0 ? fabs(best - quarter) / least : 0;
}

static bool is_virtual(const struct check *c, struct cluster_end e)
{
	return fact_or(&check_node(c, e.node)->captured, 0) || !*check_port(c, e)->pci;
}

static bool wired(const struct check *c, const struct check_result *r)
{
	return r->path == CHECK_NONE ||
	       !(is_virtual(c, c->paths[r->path].a) || is_virtual(c, c->paths[r->path].b));
}

static void by_peers(struct arena *a, const struct check *c, struct check_result *r)
{
	double *best = arena_array(a, c->n_results, sizeof(*best)),
	       *apart = arena_array(a, c->n_results, sizeof(*apart)), good, waver, wanted;
	size_t n = peers(c, r, best, apart);
	bool lower = lower_is_better(r);
	double share = wired(c, r) ? SHARE : SHARE_VIRTUAL,
	       times = wired(c, r) ? TIMES : TIMES_VIRTUAL;

	if (n < PEERS_MIN)
		return;
	stat_sort(best, n);
	stat_sort(apart, n);
	good = stat_quantile(best, n, lower ? 1 - GOOD_ONES : GOOD_ONES);
	if (!(good > 0))
		return;
	waver = 1 + WAVER * fmax(stat_quantile(apart, n, 0.5) / good, top_apart(best, n, lower));
	wanted = lower ? good * times * waver + SLACK_US : good * share / waver;
	/* Of figures that lie so far apart nothing follows. */
	if (!isfinite(wanted) || !(wanted > 0))
		return;
	r->wanted = wanted;
	r->wanted_by =
		arena_printf(a, "%s; the good ones of %zu alike in this cluster reach %s",
			     lower ? arena_printf(a, "%.2g times as long and %g us at most",
						  times * waver, SLACK_US)
				   : arena_printf(a, "%.0f %% at least", share / waver * 100),
			     n, check_figure_text(a, r->test, good));
}

const char *check_figure_text(struct arena *a, enum check_test test, double value)
{
	const char *unit = check_kinds[test].unit_text;

	return arena_printf(a, "%.3g %s", value, unit ? unit : "");
}

static void judge(struct arena *a, const struct check *c, struct check_result *r)
{
	bool lower = lower_is_better(r);
	double figure = r->value;

	r->wanted = 0;
	r->wanted_by = NULL;
	r->band = cluster_band(a, c, r);
	if (r->band.known) {
		r->wanted = lower ? r->band.high : r->band.low;
		r->wanted_by = r->band.source;
	} else {
		by_peers(a, c, r);
		figure = best_of(r);
	}
	r->state = CHECK_GOOD;
	if (r->wanted_by && (lower ? figure > r->wanted : figure < r->wanted))
		r->state = CHECK_LOW;
}

void check_judge(struct arena *a, struct check *c)
{
	for (size_t i = 0; i < c->n_results; i++) {
		struct check_result *r = &c->results[i];

		if (r->n && check_kinds[r->test].judged &&
		    (r->state == CHECK_GOOD || r->state == CHECK_LOW))
			judge(a, c, r);
	}
}
