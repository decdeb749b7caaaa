/* SPDX-License-Identifier: Apache-2.0 */
/* gputune cluster plan and undo: shows what the links of a cluster need, makes it so on all nodes,
 * takes it back. */
#include <errno.h>
#include <math.h>

#include "base/text.h"
#include "many/cluster/page_cluster.h"
#include "many/cluster/rollback_timer.h"
#include "verbs/change.h"
#include "verbs/cluster/cluster.h"

enum { MTU_LEAST = 1280, MTU_MOST = 65536 };

struct cluster_plan_ask {
	struct cluster_nodes_ask nodes;
	struct cluster_links_ask links;
	double air_s, confirm_s;
	long long mtu;
	const char *from, *topology, *subnets;
	bool no_names, apply, dry_run;
};

static int subnets_check(const char *text, struct err *e)
{
	struct ipv4 base;

	if (ipv4_parse(text, &base) == 0 && base.bits >= 8 && base.bits <= ADDRESS_BITS &&
	    ipv4_same(base, ipv4_network(base)))
		return 0;
	return err_set(e, -EINVAL, "expected a network of /8 to /24, like 10.77.0.0/16");
}

static const char *const topologies[] = { "auto", "pair", "ring", "switch" };

static const struct ask_row cluster_plan_ask_rows[] = {
	{ ASK_PART(cluster_plan_ask, nodes, cluster_nodes_ask) },
	{ ASK_PART(cluster_plan_ask, links, cluster_links_ask) },
	{ "for", "listen for this long, at most 2m (default: 500ms)",
	  ASK_TIME(cluster_plan_ask, air_s) },
	{ "from", "plan from an earlier discovery (its JSON), without contacting its nodes",
	  ASK_TEXT(cluster_plan_ask, from), .arg = "FILE", .files = true },
	{ "topology", "pair, ring, switch or auto: the expected topology",
	  ASK_TEXT(cluster_plan_ask, topology), .arg = "NAME", .fallback = "auto",
	  .names = topologies, .n_names = sizeof(topologies) / sizeof(topologies[0]),
	  .strict = true },
	{ "subnets",
	  "network for the paths, each a /24 of it (default: the first free ones from "
	  "192.168.100.0)",
	  ASK_TEXT(cluster_plan_ask, subnets), .arg = "NETWORK", .check = subnets_check },
	{ "mtu", "MTU of the links (default: 9000)",
	  ASK_COUNT(cluster_plan_ask, mtu, MTU_LEAST, MTU_MOST), .arg = "BYTES", .unit = "bytes" },
	{ "no-names", "leave /etc/hosts and ssh's known hosts unchanged",
	  ASK_FLAG(cluster_plan_ask, no_names) },
	{ "apply", "make the changes on all nodes (default: only show them)",
	  ASK_FLAG(cluster_plan_ask, apply) },
	{ "confirm-within", "a node that is not confirmed within this time undoes its changes",
	  ASK_TIME(cluster_plan_ask, confirm_s), .fallback = "60s" },
	{ "dry-run", "show the actions without doing them", ASK_FLAG(cluster_plan_ask, dry_run) },
};

struct planning {
	struct door *d;
	const struct cluster_plan_ask *ask;
	struct apply_run how;
	struct cluster_run run;
	struct wiring wiring;
	struct apply apply;
	struct cluster_plan_view *out;
};

static void print_step(void *ctx, const char *sentence)
{
	door_warn(ctx, "%s", sentence);
}

/* Of a kept discovery nobody can be asked: addresses alone are planned. 0, or -EINTR. */
static int ask_nodes(struct planning *p)
{
	const struct cluster_plan_ask *ask = p->ask;
	struct wiring_target wish = { .topology = ask->topology,
				      .mtu = ask->mtu,
				      .hosts = !ask->no_names };
	const struct cluster *c = &p->run.cluster;
	struct arena *a = p->d->arena;
	struct wiring_node *before;

	if (ask->subnets)
		ipv4_parse(ask->subnets, &wish.base);
	if (!p->run.rsh) {
		before = arena_array(a, c->n_nodes, sizeof(*before));
		for (size_t i = 0; i < c->n_nodes; i++)
			before[i] = (struct wiring_node){ .user = "",
							  .skew_ms = NAN,
							  .skew_by_ms = NAN };
	} else if (apply_ask_before(&p->how, c, &before)) {
		return -EINTR;
	}
	wiring_make(a, c, before, &wish, &p->wiring);
	apply_begin(a, &p->wiring, before, &p->apply);
	*p->out = (struct cluster_plan_view){
		.c = c,
		.w = &p->wiring,
		.apply = &p->apply,
		.which = ask->from ? arena_printf(a, " --from %s", shell_word(a, ask->from))
			 : ask->nodes.reach.nodes
				 ? arena_printf(a, " --nodes %s",
						shell_word(a, ask->nodes.reach.nodes))
				 : ""
	};
	if (!p->run.rsh || (!p->wiring.n_ports && !p->wiring.n_switches))
		return 0;
	return apply_ask_plan(&p->how, &p->wiring, &p->apply) == -EINTR ? -EINTR : 0;
}

/* Whether it can be made; says what stands against it. */
static bool can_be_made(struct planning *p)
{
	const struct wiring_trouble *t = p->wiring.troubles;

	if (wiring_stopped(&p->wiring)) {
		door_warn(p->d, "nothing was changed: %s%s%s", t->node, *t->node ? ": " : "",
			  t->text);
		return false;
	}
	if (!apply_refused(&p->apply))
		return true;
	for (size_t i = 0; i < p->apply.n_nodes; i++) {
		const struct apply_node *n = &p->apply.nodes[i];

		if (n->state == APPLY_FAILED)
			door_warn(p->d, "%s: %s", n->name, n->sentence);
		for (size_t k = 0; k < n->plan.n_refusals; k++)
			door_warn(p->d, "%s: %s%s%s", n->name, n->plan.refusals[k].port,
				  *n->plan.refusals[k].port ? ": " : "", n->plan.refusals[k].text);
	}
	door_warn(p->d, "nothing was changed");
	return false;
}

static int make(struct planning *p)
{
	struct arena *a = p->d->arena;
	int result =
		door_agreed(p->d, page_cluster_plan(a, p->out),
			    arena_printf(a, "Make these changes on %zu nodes?", p->apply.n_nodes));

	if (result)
		return result;
	result = apply_make(&p->how, &p->wiring, &p->apply);
	p->out->applied = true;
	if (result)
		door_warn(p->d, "%s", p->apply.failure ? p->apply.failure : "it failed");
	return txn_exit_code(result);
}

static int plan_or_make(struct planning *p)
{
	bool can, changes;

	if (ask_nodes(p))
		return door_refuse(p->d, EXIT_BLIND, "interrupted; no change was kept");
	can = can_be_made(p);
	changes = apply_has_changes(&p->apply);
	if (p->ask->apply && can && changes)
		return make(p);
	if (p->ask->apply && can)
		door_warn(p->d, "all nodes already match the plan");
	else if (can)
		door_warn(p->d, "nothing was written; --apply makes the changes");
	if (p->ask->apply)
		return can ? EXIT_CLEAN : EXIT_NOT_APPLIED;
	return !can || !p->run.rsh || changes ? EXIT_FINDINGS : EXIT_CLEAN;
}

/* Of an earlier discovery its nodes, unless others are named. */
static const struct cluster_nodes_ask *named_nodes(struct arena *a, const struct cluster *c,
						   struct cluster_nodes_ask *out)
{
	TEXT_AUTO all = { 0 };

	for (size_t i = 0; i < c->n_nodes; i++)
		text_printf(&all, "%s%s", i ? "," : "", c->nodes[i].address);
	if (all.len && !out->reach.nodes && !out->reach.nodes_file)
		out->reach.nodes = arena_strdup(a, all.s);
	return out;
}

static int cluster_plan_answer(struct door *d, const struct cluster_plan_ask *ask,
			       struct cluster_plan_view *out)
{
	struct planning *p = ARENA_NEW(d->arena, struct planning);
	struct cluster_nodes_ask nodes = ask->nodes;
	int code;

	if (ask->confirm_s < DEADMAN_LEAST_S || ask->confirm_s > DEADMAN_MOST_S)
		return door_refuse(d, EXIT_USAGE, "--confirm-within takes %ds to %dm",
				   DEADMAN_LEAST_S, DEADMAN_MOST_S / 60);
	if (ask->apply && ask->dry_run)
		return door_refuse(d, EXIT_USAGE, "give either --apply or --dry-run");
	p->d = d;
	p->ask = ask;
	p->out = out;
	code = ask->from ? cluster_run_stored(d, ask->from, &ask->links, &p->run) : 0;
	if (!code && ask->from && str_starts(ask->from, "demo:"))
		code = cluster_run_demo(d, ask->from, ask->apply, &p->run);
	else if (!code && (!ask->from || ask->apply))
		code = cluster_run_open(d, named_nodes(d->arena, &p->run.cluster, &nodes),
					&ask->links, ask->air_s, &p->run);
	if (code)
		return code;
	p->how = (struct apply_run){ .a = d->arena,
				     .rsh = p->run.rsh,
				     .limit_s = (int)ask->confirm_s,
				     .say = print_step,
				     .ctx = d };
	code = plan_or_make(p);
	cluster_run_close(&p->run);
	return code;
}

/* The plan was shown before it was made. */
static struct doc *cluster_plan_page(struct arena *a, const struct cluster_plan_view *v)
{
	return v->applied ? page_cluster_applied(a, v) : page_cluster_plan(a, v);
}

VERB_ANSWER(cluster_plan_answer_any, cluster_plan_answer, cluster_plan_ask, cluster_plan_view)
VERB_PAGE_OF(cluster_plan_page_any, cluster_plan_page, cluster_plan_view)

/* clang-format off */
const struct verb cluster_plan_verb = {
	.name = "plan", .summary = "plan addresses, MTU and names for each node; --apply sets them",
	.about = "Shows the addresses, MTU, names and files that each node needs for its cables, and any "
	  "obstacles. --apply changes all nodes at once and tests the links; a node that is not confirmed in "
	  "time restores its old configuration.",
	.exits = "1: changes are needed",
	.examples = EXAMPLES({ "cluster plan --nodes spark-1,spark-2", "what would change on each node" },
		{ "cluster plan --topology ring --nodes a,b,c --apply --yes", "change all nodes, or none" }),
	.ask = ASK_OF(cluster_plan_ask, NULL, cluster_plan_ask_rows), .answer = cluster_plan_answer_any,
	.result = &cluster_plan_result, .page = cluster_plan_page_any, .changes = true, .own_process = true,
};
/* clang-format on */

/* --- undo ------------------------------------------------------------------------------------- */

struct cluster_undo_ask {
	struct cluster_nodes_ask nodes;
	const char *from;
	bool dry_run, force;
};

static const struct ask_row cluster_undo_ask_rows[] = {
	{ ASK_PART(cluster_undo_ask, nodes, cluster_nodes_ask) },
	{ "from", "the nodes of an earlier discovery (its JSON)", ASK_TEXT(cluster_undo_ask, from),
	  .arg = "FILE", .files = true },
	{ "dry-run", "show the actions without doing them", ASK_FLAG(cluster_undo_ask, dry_run) },
	{ "force", "also undo values changed by others since", ASK_FLAG(cluster_undo_ask, force) },
};

static int undo(struct door *d, const struct cluster_undo_ask *ask, const struct cluster_run *c,
		struct apply *out)
{
	struct apply_run how = { .a = d->arena, .rsh = c->rsh };
	int result = 0;

	if (!ask->dry_run)
		result = door_agreed(
			d, NULL,
			arena_printf(d->arena, "Undo the network changes on %zu nodes?", c->to.n));
	if (result)
		return result;
	result = apply_undo(&how, c->to.names, c->to.n, ask->dry_run, ask->force, out);
	if (result == -EINTR)
		return door_refuse(d, EXIT_STUCK, "interrupted; run it again");
	if (ask->dry_run)
		door_warn(d, "dry run: nothing was written");
	return txn_exit_code(result);
}

static int cluster_undo_answer(struct door *d, const struct cluster_undo_ask *ask,
			       struct apply *out)
{
	struct cluster_nodes_ask nodes = ask->nodes;
	struct cluster_run c = { 0 };
	int code = ask->from
			   ? cluster_run_stored(d, ask->from, &(struct cluster_links_ask){ 0 }, &c)
			   : 0;

	if (!code && ask->from && str_starts(ask->from, "demo:"))
		code = cluster_run_demo(d, ask->from, false, &c);
	else if (!code)
		code = cluster_run_start(d, named_nodes(d->arena, &c.cluster, &nodes), &c);
	if (code)
		return code;
	code = undo(d, ask, &c, out);
	cluster_run_close(&c);
	return code;
}

VERB_ANSWER(cluster_undo_answer_any, cluster_undo_answer, cluster_undo_ask, apply)
VERB_PAGE_OF(cluster_undo_page, page_cluster_undo, apply)

/* clang-format off */
const struct verb cluster_undo_verb = {
	.name = "undo", .summary = "undo plan --apply on all nodes",
	.about = "Restores what plan --apply changed on all nodes, byte for byte. Values changed since are "
	  "left unchanged unless --force.",
	.exits = "4: not everything could be undone",
	.examples = EXAMPLES({ "cluster undo --nodes spark-1,spark-2", "shows the changes and asks" },
		{ "cluster undo --nodes spark-1,spark-2 --yes", "without a prompt" }),
	.ask = ASK_OF(cluster_undo_ask, NULL, cluster_undo_ask_rows), .answer = cluster_undo_answer_any,
	.result = &cluster_undo_result, .page = cluster_undo_page, .changes = true,
};
