/* SPDX-License-Identifier: Apache-2.0 */
/* gputune cluster: which part of it, and the nodes that all parts have in common. */
#include <string.h>
#include <time.h>
#include <unistd.h>
#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "front/verbs/cluster.h"
#include "base/text.h"
#include "many/cluster/page_cluster.h"
#include "many/cluster/ask.h"
#include "look/probe/probe.h"
#include "base/clock.h"
#include "front/change.h"
#include "many/cluster/apply.h"
#include "many/cluster/rollback_timer.h"
#include "machine/write/write.h"
#include "many/cluster/check.h"
#include "measure/bench/record.h"
#include "machine/host/libraries.h"

/* gputune cluster discover: which port is a neighbor of which, and what is wrong with that. */

static int verb_cluster_exit_code(const struct cluster *c)
{
	size_t answered = 0;

	for (size_t i = 0; i < c->n_nodes; i++)
		answered += !*c->nodes[i].failure;
	if (!answered)
		return EXIT_BLIND;
	/* Notes are no findings: nothing has to be done about them. */
	return c->n_findings && c->findings[0].severity != CLUSTER_NOTE ? EXIT_FINDINGS
									: EXIT_CLEAN;
}

static int verb_cluster_print(struct run *r, const struct cluster_run *c, int code)
{
	if (r->value[OPT_QUIET])
		return code;
	if (run_wants_json(r))
		return run_print_result(r, &cluster_discover_result, &c->cluster, code);
	if (r->value[OPT_AS] && strcmp(r->value[OPT_AS], "svg") == 0) {
		fprintf(r->out, "%s\n", svg_cluster(&r->arena, &c->cluster));
		return code;
	}
	return run_print_doc(
		r, page_cluster(&r->arena, &c->cluster, c->seconds, r->value[OPT_VERBOSE] != NULL),
		"gputune cluster discover", code);
}

static int cluster_discover_run(struct run *r)
{
	struct cluster_run c = { .air_by_option = true };
	int code;

	if (r->n_args)
		return complain_text(EXIT_USAGE, "cluster discover takes no argument \"%s\"",
				     r->args[0]);
	code = cluster_run_open(r, &c, false);
	if (code)
		return code;
	/* A kept discovery is judged anew: what is a fault may be known better by now. */
	if (!c.rsh) {
		struct cluster before;
		struct err e = { 0 };
		bool against = r->value[OPT_AGAINST];

		if (against && cluster_load(&r->arena, r->value[OPT_AGAINST], &before, &e))
			return complain(EXIT_USAGE, &e);
		cluster_judge(&r->arena, &c.cluster, against ? &before : NULL);
	}
	code = verb_cluster_print(r, &c, verb_cluster_exit_code(&c.cluster));
	cluster_run_close(&c);
	return code;
}

/* gputune cluster node: the program that a coordinator starts on each node. */

/* Whoever looks again has to see what changed: a backend keeps what it has read, so each look opens
 * one of its own. Facts point into it, so it stays open. */
struct looker {
	struct run *r;
	struct host **doors;
	size_t n;
};

static const struct machine *node_look(struct ask_node *n, bool full)
{
	struct looker *l = n->look_state;
	struct machine *m = ARENA_NEW(n->arena, struct machine);
	struct probe p = { .a = n->arena, .m = m, .lean = true, .config = full };

	if (!n->captured) {
		l->doors = arena_grow(&l->r->arena, l->doors, l->n, sizeof(struct host *));
		n->h = l->doors[l->n++] = host_open_live();
	}
	p.h = n->h;
	probe_machine(&p);
	return m;
}

static int cluster_node_run(struct run *r)
{
	struct arena request = { 0 };
	struct looker l = { .r = r };
	struct cluster_stop stop = { 0 };
	struct ask_node n = { .arena = &request,
			      .look = node_look,
			      .look_state = &l,
			      .stop = &stop.stop,
			      .captured = r->value[OPT_HOST] != NULL };
	struct host *h;
	int code;

	if (r->n_args)
		return complain_text(EXIT_USAGE, "cluster node takes no argument \"%s\"",
				     r->args[0]);
	h = run_host(r);
	if (!h)
		return EXIT_USAGE;
	n.h = h;
	/* A coordinator that is gone is seen at the end of our input. */
	signal(SIGPIPE, SIG_IGN);
	cluster_stop_begin(&stop);
	code = ask_serve(&n, STDIN_FILENO, STDOUT_FILENO);
	cluster_stop_end(&stop);
	arena_free(&request);
	for (size_t i = 0; i < l.n; i++)
		host_close(l.doors[i]);
	host_close(h);
	return code ? EXIT_BLIND : EXIT_CLEAN;
}

/* --- opening and closing ---------------------------------------------------------------------- */

/* Signals that end a run, taken by a thread and kept as a flag. */

/* gputune cluster plan, undo and take-back: shows what the links of a cluster need, makes it so on
 * all nodes, takes it back. */

enum { MTU_LEAST = 1280, MTU_MOST = 65536 };

static void print_answer(void *ctx, const char *sentence)
{
	struct run *r = ctx;

	if (!r->value[OPT_QUIET])
		complain_text(0, "%s", sentence);
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
	struct wiring_target wish;
	struct apply_run how;
	struct cluster_run run;
	struct wiring wiring;
	struct wiring_node *before;
	struct apply apply;
	struct cluster_plan_view view;
};

/* --- the target ------------------------------------------------------------------------------- */

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

static int verb_cluster_read_target(struct planning *p)
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
		.a = &p->r->arena, .limit_s = (int)seconds, .say = print_answer, .ctx = p->r
	};
	return 0;
}

/* --- plan ------------------------------------------------------------------------------------- */

static int stopped(void)
{
	return complain_text(EXIT_BLIND, "it was interrupted; nothing was kept");
}

static void print_plan(struct planning *p)
{
	struct run *r = p->r;

	if (!r->value[OPT_QUIET] && !run_wants_json(r))
		run_print_doc(r, page_cluster_plan(&r->arena, &p->view), "gputune cluster plan",
			      EXIT_CLEAN);
}

static int verb_cluster_finish(struct planning *p, int code)
{
	struct run *r = p->r;

	if (run_wants_json(r) && !r->value[OPT_QUIET])
		run_print_result(r, &cluster_plan_result, &p->view, code);
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

		if (n->state == APPLY_FAILED)
			complain_text(0, "%s: %s", n->name, n->sentence);
		for (size_t k = 0; k < n->plan.n_refusals; k++)
			complain_text(0, "%s: %s%s%s", n->name, n->plan.refusals[k].port,
				      *n->plan.refusals[k].port ? ": " : "",
				      n->plan.refusals[k].text);
	}
	return complain_text(EXIT_NOT_APPLIED, "nothing is changed");
}

static int verb_cluster_make(struct planning *p)
{
	struct run *r = p->r;
	int result, code;

	if (!run_agreed(r, arena_printf(&r->arena, "Make these changes on %zu nodes?",
					p->apply.n_nodes)))
		return r->value[OPT_YES] || isatty(STDIN_FILENO) ? EXIT_NOT_APPLIED : EXIT_USAGE;
	result = apply_make(&p->how, &p->wiring, &p->apply);
	p->view.applied = true;
	code = txn_exit_code(result);
	if (!r->value[OPT_QUIET] && !run_wants_json(r))
		run_print_doc(r, page_cluster_applied(&r->arena, &p->view), "gputune cluster plan",
			      EXIT_CLEAN);
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
			p->before[i] = (struct wiring_node){ .user = "",
							     .skew_ms = NAN,
							     .skew_by_ms = NAN };
	} else if (apply_ask_before(&p->how, c, &p->before)) {
		return -EINTR;
	}
	wiring_make(a, c, p->before, &p->wish, &p->wiring);
	apply_begin(a, &p->wiring, p->before, &p->apply);
	p->view = (struct cluster_plan_view){
		.c = c, .w = &p->wiring, .apply = &p->apply, .files = true
	};
	if (!p->run.rsh || (!p->wiring.n_ports && !p->wiring.n_switches))
		return 0;
	return apply_ask_plan(&p->how, &p->wiring, &p->apply);
}

static int verb_cluster_plan(struct planning *p)
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
		return verb_cluster_finish(p, code || !p->run.rsh || apply_has_changes(&p->apply)
						      ? EXIT_FINDINGS
						      : EXIT_CLEAN);
	}
	if (code)
		return verb_cluster_finish(p, code);
	if (!apply_has_changes(&p->apply)) {
		complain_text(0, "all nodes are as planned already");
		return verb_cluster_finish(p, EXIT_CLEAN);
	}
	return verb_cluster_finish(p, verb_cluster_make(p));
}

static int cluster_plan_run(struct run *r)
{
	struct planning p = { .r = r };
	int code = verb_cluster_read_target(&p);

	if (code)
		return code;
	if (r->n_args)
		return complain_text(EXIT_USAGE, "\"cluster plan\" takes no argument");
	code = cluster_run_open(r, &p.run, r->value[OPT_APPLY] != NULL);
	if (code == 0)
		code = verb_cluster_plan(&p);
	cluster_run_close(&p.run);
	return code;
}

/* --- undo ------------------------------------------------------------------------------------- */

static int verb_cluster_undo(struct run *r, struct cluster_run *c)
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
	result = apply_undo(&how, names, c->n, dry, r->value[OPT_FORCE] != NULL, &p);
	if (result == -EINTR)
		return complain_text(EXIT_STUCK, "it was interrupted; say it again");
	code = txn_exit_code(result);
	if (run_wants_json(r))
		run_print_result(r, &cluster_undo_result, &p, code);
	else if (!r->value[OPT_QUIET])
		run_print_doc(r, page_cluster_undo(&r->arena, &p), "gputune cluster undo",
			      EXIT_CLEAN);
	if (dry)
		complain_text(0, "dry run: nothing was written");
	return code;
}

static int cluster_undo_run(struct run *r)
{
	struct cluster_run c = { 0 };
	int code;

	if (r->n_args)
		return complain_text(EXIT_USAGE, "\"cluster undo\" takes no argument");
	code = cluster_run_start(r, &c);
	if (code == 0)
		code = verb_cluster_undo(r, &c);
	cluster_run_close(&c);
	return code;
}

/* --- take-back -------------------------------------------------------------------------------- */

/* Whatever happens to who started it: for the rollback timer. */
static void sleep_s(long long seconds)
{
	long long until = clock_mono_ms() + seconds * 1000, left;

	while ((left = until - clock_mono_ms()) > 0) {
		struct timespec t = { .tv_sec = left / 1000, .tv_nsec = left % 1000 * 1000000 };

		nanosleep(&t, NULL);
	}
}

static int cluster_rollback_run(struct run *r)
{
	struct txn_who who = run_who(r);
	struct rollback_report report;
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
	result = rollback_timer_fire(h, &r->arena, &who, &report, &e);
	if (result)
		return complain(txn_exit_code(result), &e);
	return complain_text(EXIT_CLEAN, report.fired ? "the network is as it was before"
						      : "there is nothing to take back");
}

/* gputune cluster check: discovers, measures every path, says who is to blame, keeps the result. */

enum { EARLIER_MAX = 64 << 20, LOOK_BACK = 50 };

/* --- what is kept ----------------------------------------------------------------------------- */

static const char *folder_of(struct run *r)
{
	return arena_printf(&r->arena, "%s/cluster",
			    r->value[OPT_STATE] ? r->value[OPT_STATE] : BENCH_STATE);
}

/* The same nodes by name, in whatever order. */
static bool same_nodes(const struct cluster *c, const json_t *earlier)
{
	const json_t *nodes = json_object_get(json_object_get(earlier, "cluster"), "nodes");
	size_t found = 0;

	for (size_t i = 0; i < c->n_nodes; i++)
		for (size_t k = 0; k < json_array_size(nodes); k++) {
			const char *name = json_string_value(
				json_object_get(json_array_get(nodes, k), "name"));

			found += name && strcmp(name, c->nodes[i].name) == 0;
		}
	return found == c->n_nodes && json_array_size(nodes) == c->n_nodes;
}

/* The newest whole check of the same nodes; NULL: none. */
static json_t *find_earlier(struct run *r, struct host *h, struct check *c)
{
	const char *folder = folder_of(r);
	char **names;
	size_t n = 0;

	if (host_list(h, folder, &r->arena, &names, &n))
		return NULL;
	for (size_t i = n, looked = 0; i-- > 0 && looked < LOOK_BACK;) {
		char *id, *text = NULL;
		json_t *j;

		if (!str_starts(names[i], "check-") || !str_ends(names[i], ".json"))
			continue;
		looked++;
		id = arena_strndup(&r->arena, names[i], strlen(names[i]) - 5);
		if (!store_id_valid(id) ||
		    host_read(h, arena_printf(&r->arena, "%s/%s", folder, names[i]), EARLIER_MAX,
			      &r->arena, &text, NULL))
			continue;
		j = json_loads(text, JSON_REJECT_DUPLICATES, NULL);
		if (j && !json_is_true(json_object_get(j, "partial")) &&
		    same_nodes(c->cluster, j)) {
			c->earlier = id;
			return j;
		}
		json_decref(j);
	}
	return NULL;
}

/* A result that cannot be kept is still a result. */
static void verb_cluster_keep(struct run *r, struct host *h, const json_t *j, long long now)
{
	const char *folder = folder_of(r), *path = NULL;
	char *text = json_dumps(j, JSON_INDENT(1)), when[32];
	time_t t = (time_t)now;
	struct tm tm = { 0 };
	int code = text ? 0 : -ENOMEM;

	gmtime_r(&t, &tm);
	strftime(when, sizeof(when), "%Y%m%d-%H%M%S", &tm);
	code = code ? code
		    : host_own_dir(h, r->value[OPT_STATE] ? r->value[OPT_STATE] : BENCH_STATE);
	code = code ? code : host_own_dir(h, folder);
	path = arena_printf(&r->arena, "%s/check-%s.json", folder, when);
	for (unsigned i = 2; code == 0 && i < 1000 && host_exists(h, path); i++)
		path = arena_printf(&r->arena, "%s/check-%s-%u.json", folder, when, i);
	code = code ? code : host_put(h, path, text, strlen(text), 0600);
	free(text);
	if (code && !r->value[OPT_QUIET])
		fprintf(stderr,
			"gputune: %s is not kept, so a later check cannot compare with it: %s\n",
			path ? path : folder, strerror(-code));
}

/* --- the run ---------------------------------------------------------------------------------- */

static void print_note(void *ctx, const char *text)
{
	const struct run *r = ctx;

	if (!r->value[OPT_QUIET] && isatty(STDERR_FILENO))
		fprintf(stderr, "\r\033[K%s", text);
}

static void cluster_text(const struct run *r)
{
	if (!r->value[OPT_QUIET] && isatty(STDERR_FILENO))
		fprintf(stderr, "\r\033[K");
}

static void note(struct run *r, struct check *c, const char *text)
{
	c->notes = arena_grow(&r->arena, c->notes, c->n_notes, sizeof(*c->notes));
	c->notes[c->n_notes++] = text;
}

/* Nodes that went out while they were measured. */
static void verb_cluster_lost(struct run *r, struct cluster_run *run)
{
	for (size_t i = 0; i < run->cluster.n_nodes; i++) {
		const char *why = rsh_failure(run->rsh, i);
		const struct cluster_node *n = &run->cluster.nodes[i];

		if (!why || *n->failure)
			continue;
		cluster_find(
			&r->arena, &run->cluster,
			&(struct cluster_finding){
				.code = "dead-node",
				.severity = CLUSTER_FAULT,
				.node = n->name,
				.port = "",
				.text = arena_printf(&r->arena,
						     "%s stopped answering while it was measured.",
						     n->name),
				.evidence = why,
				.fix = "see that it is still on, and what its kernel's log says" });
	}
}

static void verb_cluster_earlier(struct run *r, struct host *h, struct check *c)
{
	json_t *j = find_earlier(r, h, c);
	struct err e = { 0 };

	if (j && check_compare(&r->arena, c, j, &e)) {
		note(r, c,
		     arena_printf(&r->arena, "The earlier check %s cannot be compared with: %s",
				  c->earlier, e.text));
		c->earlier = NULL;
	}
	json_decref(j);
}

static int verb_cluster_code_of(const struct check *c)
{
	bool any = false;

	for (size_t i = 0; i < c->n_results; i++)
		any = any || c->results[i].state != CHECK_LEFT_OUT;
	for (size_t i = 0; i < c->cluster->n_findings; i++)
		if (c->cluster->findings[i].severity > CLUSTER_NOTE)
			return EXIT_FINDINGS;
	return any && !c->partial ? EXIT_CLEAN : EXIT_BLIND;
}

static int print_check(struct run *r, struct host *h, const struct check *c)
{
	int code = verb_cluster_code_of(c);
	long long now = (long long)time(NULL);
	json_t *j = check_json(c, now, code);

	/* With nothing in it there would be nothing to compare with. */
	if (c->n_results)
		verb_cluster_keep(r, h, j, now);
	if (r->value[OPT_QUIET]) {
		json_decref(j);
		return code;
	}
	if (run_wants_json(r))
		return run_print_json(r, j, code);
	json_decref(j);
	return run_print_doc(r, page_cluster_check(&r->arena, c, r->value[OPT_VERBOSE] != NULL),
			     "gputune cluster check", code);
}

static int cluster_check_run(struct run *r)
{
	struct cluster_run run = { 0 };
	struct check c = { .cluster = &run.cluster };
	struct check_how how = { .quick = r->value[OPT_QUICK] != NULL,
				 .say = print_note,
				 .ctx = r };
	struct err e = { 0 };
	HOST_AUTO *h = NULL;
	int code;

	if (r->n_args)
		return complain_text(EXIT_USAGE, "\"cluster check\" takes no argument");
	if (prove_time(r, OPT_FOR, &how.seconds))
		return EXIT_USAGE;
	code = cluster_run_open(r, &run, true);
	if (code)
		return code;
	h = host_open_live();
	c.discover_seconds = run.seconds;
	code = cluster_check(&r->arena, run.rsh, &how, &c, &e);
	cluster_text(r);
	if (code && code != -EINTR) {
		cluster_run_close(&run);
		return complain(EXIT_BLIND, &e);
	}
	verb_cluster_lost(r, &run);
	cluster_run_close(&run);
	verb_cluster_earlier(r, h, &c);
	check_symptoms(&r->arena, &c);
	return print_check(r, h, &c);
}

/* --- the parts -------------------------------------------------------------------------------- */

static const struct part {
	const char *name;
	int (*run)(struct run *r);
} parts[] = {
	{ "discover", cluster_discover_run }, { "check", cluster_check_run },
	{ "node", cluster_node_run },	      { "plan", cluster_plan_run },
	{ "undo", cluster_undo_run },	      { "take-back", cluster_rollback_run },
};

int verb_cluster(struct run *r)
{
	const char *name = r->args[0];
	TEXT_AUTO names = { 0 };
	struct err e = { 0 };

	for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++) {
		if (strcmp(parts[i].name, name) == 0) {
			/* The nodes are what they are: a capture is for one that looks at it. */
			if (parts[i].run != cluster_node_run &&
			    (r->value[OPT_HOST] || r->value[OPT_OVERLAY]))
				return complain_text(
					EXIT_USAGE,
					"cluster %s asks real nodes: --host and --overlay go with "
					"\"cluster node\", by --node-command",
					name);
			if (parts[i].run != cluster_rollback_run &&
			    library_open(LIBRARY_SODIUM, &e))
				return complain(EXIT_BLIND, &e);
			r->args++;
			r->n_args--;
			return parts[i].run(r);
		}
		text_printf(&names, "%s%s", i ? ", " : "", parts[i].name);
	}
	return complain_text(EXIT_USAGE, "cluster has no part \"%s\"; it has %s", name, names.s);
}
