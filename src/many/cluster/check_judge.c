/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Is a figure what it has to be? A band of the platform says so where there is one; else the other
 * paths of the same cluster do, by what the good ones among them reach. Pure.
 */
#include <fnmatch.h>
#include <math.h>
#include <string.h>

#include "base/stat.h"
#include "base/text.h"
#include "many/cluster/blame.h"
#include "many/cluster/check.h"

/* Which band a path has. */

/* What a capture says a machine is, its live wires are not. */
static bool is_of(const struct band *b, const struct cluster_node *n)
{
	if (fact_or(&n->captured, 0))
		return false;
	return strcmp(b->hardware, fact_text(&n->platform, "")) == 0 ||
	       strcmp(b->hardware, fact_text(&n->gpu, "")) == 0;
}

/* "one:200000:cable", "all-reduce:8B". */
static const char *cluster_bands_name_of(struct arena *a, const struct check *c,
					 const struct check_result *r)
{
	const struct check_path *p;
	long long speed, other;

	if (r->operation || r->path == CHECK_NONE)
		return r->operation ? r->operation : "";
	p = &c->paths[r->path];
	speed = fact_or(&check_port(c, p->a)->speed_mbps, 0);
	other = fact_or(&check_port(c, p->b)->speed_mbps, 0);
	return arena_printf(a, "%s:%lld:%s", r->together ? "both" : "one",
			    speed < other ? speed : other, p->cable ? "cable" : "switch");
}

struct record_band cluster_band(struct arena *a, const struct check *c,
				const struct check_result *r)
{
	const struct check_kind *k = &check_kinds[r->test];
	const char *name = cluster_bands_name_of(a, c, r);

	for (size_t i = 0; i < n_cluster_bands && k->unit; i++) {
		const struct band *b = &cluster_bands[i];

		if (strcmp(b->bench, k->name) == 0 && fnmatch(b->name, name, 0) == 0 &&
		    is_of(b, check_node(c, r->from)) && is_of(b, check_node(c, r->to)))
			return (struct record_band){
				true, b->low, b->high, arena_printf(a, "%s, %s", b->source, b->date)
			};
	}
	return (struct record_band){ .source = "unknown: no band for this path" };
}

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
		arena_printf(a, "%s; %zu comparable ones in this cluster reach %s if good",
			     lower ? arena_printf(a, "at most %.2g times as long and %g us",
						  times * waver, SLACK_US)
				   : arena_printf(a, "at least %.0f %%", share / waver * 100),
			     n, check_figure_text(a, r->test, good));
}

const char *check_figure_text(struct arena *a, enum check_test test, double value)
{
	const char *unit = check_kinds[test].unit_text;

	return arena_printf(a, "%.3g %s", value, unit ? unit : "");
}

static void check_judge_judge(struct arena *a, const struct check *c, struct check_result *r)
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
			check_judge_judge(a, c, r);
	}
}

/*
 * From results to who is to blame: which parts every test needed, as blame.c takes them, and its
 * verdicts in words. Pure.
 */

enum { AGAIN_MAX = 64 };

/* A part and what it is in the cluster. */
struct place {
	enum blame_kind kind;
	size_t node, port; /* CHECK_NONE: not one port alone */
	size_t of;	   /* cage, or path */
};

struct plan {
	struct arena *a;
	const struct check *c;
	struct blame_part *parts;
	struct place *places;
	size_t n;
	size_t *nodes, *cages, *cables; /* part numbers; cables: by path */
	size_t *ends[2], *ways[2];	/* by path: a's and b's port; there and back */
	struct blame_test *tests;
	struct check_result *like; /* of each test */
	size_t n_tests;
};

static size_t part(struct plan *p, struct place place, size_t within)
{
	p->parts = arena_grow(p->a, p->parts, p->n, sizeof(*p->parts));
	p->places = arena_grow(p->a, p->places, p->n, sizeof(*p->places));
	p->parts[p->n] = (struct blame_part){ place.kind, within == CHECK_NONE ? p->n : within };
	p->places[p->n] = place;
	return p->n++;
}

/* The part of a port; with its two directions behind it. */
static size_t port_part(struct plan *p, struct cluster_end e)
{
	size_t cage = cluster_cage_of(p->c->cluster, e.node, check_port(p->c, e)), port;

	for (size_t i = 0; i < p->n; i++)
		if (p->places[i].kind == BLAME_PORT && p->places[i].node == e.node &&
		    p->places[i].port == e.port)
			return i;
	port = part(p, (struct place){ BLAME_PORT, e.node, e.port, CHECK_NONE },
		    cage == CLUSTER_NONE ? p->nodes[e.node] : p->cages[cage]);
	part(p, (struct place){ BLAME_PORT_OUT, e.node, e.port, CHECK_NONE }, port);
	part(p, (struct place){ BLAME_PORT_IN, e.node, e.port, CHECK_NONE }, port);
	return port;
}

/* Twins of one cable share it; through a switch every path has its own. */
static size_t cable_part(struct plan *p, size_t path)
{
	const struct check_path *x = &p->c->paths[path];

	for (size_t i = 0; i < path; i++)
		if (x->cable && p->c->paths[i].cable && p->c->paths[i].wire == x->wire)
			return p->cables[i];
	return part(p, (struct place){ BLAME_CABLE, CHECK_NONE, CHECK_NONE, path }, CHECK_NONE);
}

static void plan_parts(struct plan *p)
{
	const struct cluster *k = p->c->cluster;

	p->nodes = arena_array(p->a, k->n_nodes, sizeof(*p->nodes));
	p->cages = arena_array(p->a, k->n_cages, sizeof(*p->cages));
	p->cables = arena_array(p->a, p->c->n_paths, sizeof(*p->cables));
	for (int i = 0; i < 2; i++) {
		p->ends[i] = arena_array(p->a, p->c->n_paths, sizeof(*p->ends[i]));
		p->ways[i] = arena_array(p->a, p->c->n_paths, sizeof(*p->ways[i]));
	}
	for (size_t i = 0; i < k->n_nodes; i++)
		p->nodes[i] = part(p, (struct place){ BLAME_NODE, i, CHECK_NONE, 0 }, CHECK_NONE);
	for (size_t i = 0; i < k->n_cages; i++)
		p->cages[i] = part(p, (struct place){ BLAME_CAGE, k->cages[i].node, CHECK_NONE, i },
				   p->nodes[k->cages[i].node]);
	for (size_t i = 0; i < p->c->n_paths; i++) {
		const struct check_path *x = &p->c->paths[i];

		p->cables[i] = cable_part(p, i);
		p->ends[0][i] = port_part(p, x->a);
		p->ends[1][i] = port_part(p, x->b);
		for (int d = 0; d < 2; d++)
			p->ways[d][i] = part(
				p,
				(struct place){ BLAME_WAY, (d ? x->b : x->a).node, CHECK_NONE, i },
				p->cables[i]);
	}
}

static void needs(struct blame_test *t, size_t part)
{
	t->parts[t->n++] = part;
}

/* Everything that a test over the path needs, from its end a or, back, from b. */
static void plan_test(struct plan *p, struct check_result like, enum blame_state state)
{
	const struct check_path *x = &p->c->paths[like.path];
	bool back = like.from != x->a.node;
	struct blame_test t = { .state = state };

	for (int i = 0; i < 2; i++) {
		struct cluster_end e = i ? x->b : x->a;
		size_t port = p->ends[i][like.path], in = p->parts[port].within;
		bool sends = back == (i == 1);

		needs(&t, p->nodes[e.node]);
		needs(&t, port);
		if (in != p->nodes[e.node])
			needs(&t, in);
		/* Its two directions stand behind a port's part. */
		if (check_kinds[like.test].one_way)
			needs(&t, port + (sends ? 1 : 2));
	}
	needs(&t, p->cables[like.path]);
	if (check_kinds[like.test].one_way)
		needs(&t, p->ways[back][like.path]);
	p->tests = arena_grow(p->a, p->tests, p->n_tests, sizeof(*p->tests));
	p->like = arena_grow(p->a, p->like, p->n_tests, sizeof(*p->like));
	p->tests[p->n_tests] = t;
	p->like[p->n_tests++] = like;
}

static enum blame_state state_of(const struct check_result *r)
{
	if (!r || r->state == CHECK_LEFT_OUT)
		return BLAME_UNTRIED;
	return r->state == CHECK_GOOD ? BLAME_GOOD : BLAME_BAD;
}

static struct blame_set plan_make(struct plan *p, struct arena *a, const struct check *c,
				  enum check_test test)
{
	*p = (struct plan){ .a = a, .c = c };
	plan_parts(p);
	for (size_t i = 0; i < c->n_paths; i++)
		for (int back = 0; back < 2 && !c->paths[i].untestable; back++) {
			struct cluster_end from = back ? c->paths[i].b : c->paths[i].a;
			struct check_result like = { .test = test,
						     .from = from.node,
						     .to = check_far(&c->paths[i], from.node).node,
						     .path = i };

			plan_test(p, like, state_of(check_newest(c, &like)));
		}
	return (struct blame_set){ p->parts, p->n, p->tests, p->n_tests };
}

/* --- words ------------------------------------------------------------------------------------ */

static const char *cable_text(struct plan *p, const struct check_path *x)
{
	const char *text = check_path_text(p->a, p->c, x);

	return x->cable ? arena_printf(p->a, "the cable of %s", text)
			: arena_printf(p->a, "the path through the switch of %s", text);
}

static const char *check_judge_place_text(struct plan *p, size_t part)
{
	const struct place *x = &p->places[part];
	const struct check *c = p->c;
	const char *port = "";

	if (x->port != CHECK_NONE)
		port = check_port(c, (struct cluster_end){ x->node, x->port })->name;
	switch (x->kind) {
	case BLAME_NODE:
		return arena_printf(p->a, "node %s", check_node(c, x->node)->name);
	case BLAME_CAGE:
		return arena_printf(p->a, "cage %s of %s", c->cluster->cages[x->of].name,
				    check_node(c, x->node)->name);
	case BLAME_PORT:
		return arena_printf(p->a, "port %s of %s", port, check_node(c, x->node)->name);
	case BLAME_PORT_OUT:
		return arena_printf(p->a, "port %s of %s, sending", port,
				    check_node(c, x->node)->name);
	case BLAME_PORT_IN:
		return arena_printf(p->a, "port %s of %s, receiving", port,
				    check_node(c, x->node)->name);
	case BLAME_WAY:
		return arena_printf(p->a, "%s, starting at %s", cable_text(p, &c->paths[x->of]),
				    check_node(c, x->node)->name);
	default:
		return cable_text(p, &c->paths[x->of]);
	}
}

static const char *others_text(struct plan *p, const struct blame_verdict *v)
{
	TEXT_AUTO t = { 0 };

	for (size_t i = 1; i < v->n; i++)
		text_printf(&t, "%s%s", i > 1 ? "; " : "", check_judge_place_text(p, v->parts[i]));
	return t.len ? arena_strdup(p->a, t.s) : NULL;
}

static bool test_needs(const struct blame_test *t, size_t part)
{
	for (size_t i = 0; i < t->n; i++)
		if (t->parts[i] == part)
			return true;
	return false;
}

/* The figures that speak against it, and those of the others. */
static const char *evidence_text(struct plan *p, size_t part)
{
	TEXT_AUTO t = { 0 };
	size_t bad = 0, good = 0;

	for (size_t i = 0; i < p->n_tests; i++) {
		const struct check_result *r = check_newest(p->c, &p->like[i]);

		good += p->tests[i].state == BLAME_GOOD;
		if (p->tests[i].state != BLAME_BAD || !test_needs(&p->tests[i], part) || !r)
			continue;
		if (bad++ >= 3)
			continue;
		text_printf(&t, "%s%s: %s", bad > 1 ? "; " : "", check_result_text(p->a, p->c, r),
			    r->n ? check_figure_text(p->a, r->test, r->value)
				 : (r->why ? r->why : "failed"));
		if (r->n && r->wanted_by)
			text_printf(&t, " (wanted %s)",
				    check_figure_text(p->a, r->test, r->wanted));
	}
	if (bad > 3)
		text_printf(&t, " and %zu more", bad - 3);
	text_printf(&t, "; %zu tests without it are good", good);
	return arena_strdup(p->a, t.s);
}

/* Whether a cable joins it to one other node alone. */
static bool on_cable(const struct plan *p, const struct place *x)
{
	for (size_t i = 0; i < p->c->n_paths; i++) {
		const struct check_path *path = &p->c->paths[i];
		bool its = x->kind == BLAME_CABLE || x->kind == BLAME_WAY
				   ? x->of == i
				   : path->a.node == x->node || path->b.node == x->node;

		if (its && path->cable)
			return true;
	}
	return false;
}

static const char *next_text(struct plan *p, const struct blame_verdict *v)
{
	if (v->certain)
		return NULL;
	return on_cable(p, &p->places[v->parts[0]])
		       ? "exchange the cable, then move each end to the other cage of its node: "
			 "the fault moves with the bad part"
		       : "repeat the check with one more node on the switch: the node that is slow "
			 "with all others is faulty";
}

/* The same place by another test: the first one stays, and says so. */
static bool check_judge_known(struct plan *p, struct check *c, const struct check_blame *b)
{
	for (size_t i = 0; i < c->n_blames; i++) {
		struct check_blame *x = &c->blames[i];
		bool same = *b->port
				    ? strcmp(x->node, b->node) == 0 && strcmp(x->port, b->port) == 0
				    : strcmp(x->what, b->what) == 0;

		if (!same)
			continue;
		x->tests = arena_printf(p->a, "%s, %s", x->tests, check_kinds[b->test].name);
		/* Now nothing else explains it, and nothing is left to be told apart. */
		if (b->certain && !x->certain) {
			x->certain = true;
			x->others = x->next = NULL;
		}
		return true;
	}
	return false;
}

static void judge_emit(struct plan *p, struct check *c, enum check_test test,
		       const struct blame_verdict *v)
{
	const struct place *x = &p->places[v->parts[0]];
	struct check_blame b = { .test = test,
				 .what = check_judge_place_text(p, v->parts[0]),
				 .node = "",
				 .port = "",
				 .tests = check_kinds[test].name,
				 .others = others_text(p, v),
				 .explains = v->explains,
				 .certain = v->certain,
				 .next = next_text(p, v),
				 .evidence = evidence_text(p, v->parts[0]) };

	if (v->widest != v->parts[0] && p->places[v->widest].kind == BLAME_NODE)
		b.what = arena_printf(p->a, "%s (all measurements of that node)", b.what);
	/* A way is nobody's port. */
	if (x->node != CHECK_NONE && x->kind != BLAME_WAY)
		b.node = check_node(c, x->node)->name;
	if (x->port != CHECK_NONE)
		b.port = check_port(c, (struct cluster_end){ x->node, x->port })->name;
	if (check_judge_known(p, c, &b))
		return;
	c->blames = arena_grow(p->a, c->blames, c->n_blames, sizeof(*c->blames));
	c->blames[c->n_blames++] = b;
}

void check_blame(struct arena *a, struct check *c)
{
	c->n_blames = 0;
	for (enum check_test t = 0; t < CHECK_TESTS; t++) {
		struct plan p;
		struct blame_set set;
		struct blame found;

		if (t == CHECK_ROUTED || t == CHECK_NCCL || t == CHECK_NCCL_LATENCY)
			continue;
		set = plan_make(&p, a, c, t);
		found = blame_judge(a, &set);
		for (size_t i = 0; i < found.n; i++)
			judge_emit(&p, c, t, &found.items[i]);
	}
}

/* --- once more -------------------------------------------------------------------------------- */

size_t check_again(struct arena *a, const struct check *c, struct check_result **out)
{
	size_t n = 0, next[AGAIN_MAX];

	*out = NULL;
	for (size_t i = 0; i < c->n_results; i++) {
		const struct check_result *r = &c->results[i];

		if ((r->state != CHECK_LOW && r->state != CHECK_FAILED) || r->pass != 1 ||
		    check_newest(c, r) != r)
			continue;
		*out = arena_grow(a, *out, n, sizeof(**out));
		(*out)[n] = *r;
		(*out)[n].n = 0;
		(*out)[n].pass = 2;
		(*out)[n++].state = CHECK_LEFT_OUT;
	}
	for (enum check_test t = CHECK_PING; n && t <= CHECK_RDMA_LATENCY; t++) {
		struct plan p;
		struct blame_set set;
		size_t more;

		if (t == CHECK_ROUTED)
			continue;
		set = plan_make(&p, a, c, t);
		more = p.like ? blame_next(a, &set, next, AGAIN_MAX) : 0;
		for (size_t i = 0; i < more; i++) {
			*out = arena_grow(a, *out, n, sizeof(**out));
			(*out)[n] = p.like[next[i]];
			(*out)[n].pass = 2;
			(*out)[n++].state = CHECK_LEFT_OUT;
		}
	}
	return n;
}
