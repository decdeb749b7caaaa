/* SPDX-License-Identifier: Apache-2.0 */
/* gputune cluster plan, undo and take-back: shows what the links of a cluster need, makes it so on
 * all nodes, takes it back. */
#include <signal.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/stamp.h"
#include "base/text.h"
#include "many/cluster/apply.h"
#include "many/cluster/deadman.h"
#include "front/verbs/cluster.h"
#include "front/verbs/page.h"
#include "front/verbs/plan.h"
#include "many/cluster/page_cluster_plan.h"

enum { MTU_LEAST = 1280, MTU_MOST = 65536 };

static void tell(void *ctx, const char *sentence)
{
	struct run *r = ctx;

	if (!r->value[OPT_QUIET])
		complain_text(0, "%s", sentence);
}

static const char *stamp_now(struct arena *a)
{
	char text[STAMP_SIZE];

	return stamp_format(time(NULL), text) ? "" : arena_strdup(a, text);
}

/* Whole seconds: "60s", "2m", "90". */
static int read_seconds(const char *s, long long low, long long high, long long *out)
{
	size_t digits = strspn(s, "0123456789");
	char number[16];
	long long v;

	if (!digits || digits >= sizeof(number))
		return -EINVAL;
	memcpy(number, s, digits);
	number[digits] = '\0';
	if (parse_i64(number, &v))
		return -EINVAL;
	if (strcmp(s + digits, "m") == 0)
		v *= 60;
	else if (s[digits] && strcmp(s + digits, "s") != 0)
		return -EINVAL;
	if (v < low || v > high)
		return -ERANGE;
	*out = v;
	return 0;
}

struct planning {
	struct run *r;
	struct wiring_wish wish;
	struct apply_run how;
	struct cluster_run run;
	struct wiring wiring;
	struct wiring_node *before;
	struct apply apply;
	struct cluster_plan_view view;
};

/* --- the wish ----------------------------------------------------------------------------------
 */

static int read_topology(struct planning *p)
{
	static const char *const words[] = { "auto", "pair", "ring", "switch" };
	const char *word = p->r->value[OPT_TOPOLOGY];

	p->wish.topology = word ? word : words[0];
	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
		if (strcmp(p->wish.topology, words[i]) == 0)
			return 0;
	return complain_text(EXIT_USAGE, "--topology is pair, ring, switch or auto, not \"%s\"",
			     word);
}

static int read_wish(struct planning *p)
{
	const char *const *v = p->r->value;
	long long seconds = DEADMAN_S;
	int code = read_topology(p);

	if (code)
		return code;
	p->wish.hosts = !v[OPT_NO_NAMES];
	if (v[OPT_MTU] && (parse_i64(v[OPT_MTU], &p->wish.mtu) || p->wish.mtu < MTU_LEAST ||
			   p->wish.mtu > MTU_MOST))
		return complain_text(EXIT_USAGE, "--mtu takes %d to %d bytes", MTU_LEAST, MTU_MOST);
	if (v[OPT_SUBNETS] && (ipv4_parse(v[OPT_SUBNETS], &p->wish.base) || p->wish.base.bits < 8 ||
			       p->wish.base.bits > ADDRESS_BITS ||
			       !ipv4_same(p->wish.base, ipv4_network(p->wish.base))))
		return complain_text(EXIT_USAGE,
				     "--subnets takes a network of /8 to /24, like 10.77.0.0/16");
	if (v[OPT_CONFIRM] &&
	    read_seconds(v[OPT_CONFIRM], DEADMAN_LEAST_S, DEADMAN_MOST_S, &seconds))
		return complain_text(EXIT_USAGE, "--confirm-within takes %ds to %dm",
				     DEADMAN_LEAST_S, DEADMAN_MOST_S / 60);
	if (v[OPT_APPLY] && v[OPT_DRY_RUN])
		return complain_text(EXIT_USAGE, "either --apply or --dry-run");
	p->how = (struct apply_run){
		.a = &p->r->arena, .limit_s = (int)seconds, .say = tell, .ctx = p->r
	};
	return 0;
}

/* --- plan --------------------------------------------------------------------------------------
 */

static int stopped(void)
{
	return complain_text(EXIT_BLIND, "it was interrupted; nothing was kept");
}

static void print_plan(struct planning *p)
{
	struct run *r = p->r;

	if (!r->value[OPT_QUIET] && !run_wants_json(r))
		run_print_doc(r, page_cluster_plan(&r->arena, &p->view), "gputune cluster plan");
}

static int finish(struct planning *p, int code)
{
	struct run *r = p->r;

	if (run_wants_json(r) && !r->value[OPT_QUIET])
		run_print_json(r, cluster_plan_json(&p->view, stamp_now(&r->arena), code));
	return code;
}

/* 0: it can be made. Otherwise the exit code, after saying what stands against it. */
static int check_plan(struct planning *p)
{
	if (wiring_stopped(&p->wiring))
		return complain_text(
			EXIT_NOT_APPLIED, "nothing is changed: %s%s%s", p->wiring.troubles[0].node,
			*p->wiring.troubles[0].node ? ": " : "", p->wiring.troubles[0].text);
	if (!apply_refused(&p->apply))
		return 0;
	for (size_t i = 0; i < p->apply.n_nodes; i++) {
		const struct apply_node *n = &p->apply.nodes[i];
		const char *name = p->run.cluster.nodes[i].name;

		if (n->state == APPLY_FAILED)
			complain_text(0, "%s: %s", name, n->sentence);
		for (size_t k = 0; k < n->n_refusals; k++)
			complain_text(0, "%s: %s%s%s", name, n->refusals[k].port,
				      *n->refusals[k].port ? ": " : "", n->refusals[k].text);
	}
	return complain_text(EXIT_NOT_APPLIED, "nothing is changed");
}

static int make(struct planning *p)
{
	struct run *r = p->r;
	int result, code;

	if (!run_agreed(r, arena_printf(&r->arena, "Make these changes on %zu nodes?",
					p->apply.n_nodes)))
		return r->value[OPT_YES] || isatty(STDIN_FILENO) ? EXIT_NOT_APPLIED : EXIT_USAGE;
	result = apply_make(&p->how, &p->wiring, &p->apply);
	p->view.applied = true;
	code = run_code_of(result);
	if (!r->value[OPT_QUIET] && !run_wants_json(r))
		run_print_doc(r, page_cluster_applied(&r->arena, &p->view), "gputune cluster plan");
	if (result)
		complain_text(0, "%s", p->apply.failure ? p->apply.failure : "it did not work");
	return code;
}

/* Of a kept discovery nobody can be asked: addresses alone are planned. */
static int ask_nodes(struct planning *p)
{
	const struct cluster *c = &p->run.cluster;
	struct arena *a = &p->r->arena;

	p->how.rsh = p->run.rsh;
	if (!p->run.rsh) {
		p->before = arena_array(a, c->n_nodes, sizeof(*p->before));
		for (size_t i = 0; i < c->n_nodes; i++)
			p->before[i] = (struct wiring_node){ .user = "" };
	} else if (apply_ask_before(&p->how, c, &p->before)) {
		return -EINTR;
	}
	wiring_make(a, c, p->before, &p->wish, &p->wiring);
	p->view = (struct cluster_plan_view){ .w = &p->wiring, .before = p->before, .files = true };
	if (!p->run.rsh || (!p->wiring.n_ports && !p->wiring.n_switches))
		return 0;
	p->view.apply = &p->apply;
	return apply_ask_plan(&p->how, &p->wiring, &p->apply);
}

static int plan(struct planning *p)
{
	struct run *r = p->r;
	int code;

	if (ask_nodes(p) == -EINTR)
		return stopped();
	print_plan(p);
	code = check_plan(p);
	if (!r->value[OPT_APPLY]) {
		if (!code)
			complain_text(0, "nothing was written; --apply makes it so");
		return finish(p, code || !p->run.rsh || apply_has_changes(&p->apply) ? EXIT_FINDINGS
										     : EXIT_CLEAN);
	}
	if (code)
		return finish(p, code);
	if (!apply_has_changes(&p->apply)) {
		complain_text(0, "all nodes are as planned already");
		return finish(p, EXIT_CLEAN);
	}
	return finish(p, make(p));
}

int cluster_plan_run(struct run *r)
{
	struct planning p = { .r = r };
	int code = read_wish(&p);

	if (code)
		return code;
	if (r->n_args)
		return complain_text(EXIT_USAGE, "\"cluster plan\" takes no argument");
	code = cluster_run_open(r, &p.run, r->value[OPT_APPLY] != NULL);
	if (code == 0)
		code = plan(&p);
	cluster_run_close(&p.run);
	return code;
}

/* --- undo --------------------------------------------------------------------------------------
 */

static int undo(struct run *r, struct cluster_run *c)
{
	struct apply_run how = { .a = &r->arena, .rsh = c->rsh };
	const char **names = arena_array(&r->arena, c->n, sizeof(*names));
	bool dry = r->value[OPT_DRY_RUN] != NULL;
	struct apply p;
	int result, code;

	for (size_t i = 0; i < c->n; i++)
		names[i] = c->targets[i].name;
	if (!dry &&
	    !run_agreed(r, arena_printf(&r->arena, "Take the cluster's network back on %zu nodes?",
					c->n)))
		return r->value[OPT_YES] || isatty(STDIN_FILENO) ? EXIT_NOT_APPLIED : EXIT_USAGE;
	result = apply_undo(&how, c->n, dry, r->value[OPT_FORCE] != NULL, &p);
	if (result == -EINTR)
		return complain_text(EXIT_STUCK, "it was interrupted; say it again");
	code = run_code_of(result);
	if (run_wants_json(r))
		run_print_json(r, cluster_undo_json(names, &p, stamp_now(&r->arena), code));
	else if (!r->value[OPT_QUIET])
		run_print_doc(r, page_cluster_undo(&r->arena, names, &p), "gputune cluster undo");
	if (dry)
		complain_text(0, "dry run: nothing was written");
	return code;
}

int cluster_undo_run(struct run *r)
{
	struct cluster_run c = { 0 };
	int code;

	if (r->n_args)
		return complain_text(EXIT_USAGE, "\"cluster undo\" takes no argument");
	code = cluster_run_start(r, &c);
	if (code == 0)
		code = undo(r, &c);
	cluster_run_close(&c);
	return code;
}

/* --- take-back ---------------------------------------------------------------------------------
 */

/* Whatever happens to who started it: for the dead man. */
static void sleep_s(long long seconds)
{
	long long until = clock_mono_ms() + seconds * 1000, left;

	while ((left = until - clock_mono_ms()) > 0) {
		struct timespec t = { .tv_sec = left / 1000, .tv_nsec = left % 1000 * 1000000 };

		nanosleep(&t, NULL);
	}
}

int cluster_take_back_run(struct run *r)
{
	struct txn_who who = run_who(r);
	struct deadman_report report;
	struct err e = { 0 };
	long long seconds = 0;
	HOST_AUTO *h = NULL;
	int result;

	if (r->n_args ||
	    (r->value[OPT_FOR] && read_seconds(r->value[OPT_FOR], 0, DEADMAN_MOST_S, &seconds)))
		return complain_text(EXIT_USAGE, "\"cluster take-back\" takes --for SECONDS alone");
	sleep_s(seconds);
	who.op = "cluster";
	who.reason = "nobody confirmed it";
	h = host_open_live();
	result = deadman_fire(h, &r->arena, &who, &report, &e);
	if (result)
		return complain(run_code_of(result), &e);
	return complain_text(EXIT_CLEAN, report.fired ? "the network is as it was before"
						      : "there is nothing to take back");
}
