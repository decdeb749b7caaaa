/* SPDX-License-Identifier: Apache-2.0 */
/* Servers on all nodes, and measurements between pairs of them. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "base/stat.h"
#include "many/cluster/check.h"
#include "many/cluster/messages.h"

enum { ANSWER_MS = 8000, MEASURE_MS = 30000 };

/* --- servers ---------------------------------------------------------------------------------- */

/* By node the paths whose ends its addresses are, in the order that they are asked in. */
struct ends {
	const char **addresses;
	size_t *paths, n;
};

static void keep_server(struct check_run *r, size_t node, size_t path,
			const struct bench_server *said)
{
	struct check_path *p = &r->c->paths[path];
	struct net_address a;
	struct err e;
	bool six = strchr(check_address(p, node), ':') != NULL;
	/* Where it was told to listen, and nowhere else: others are sent there. */
	const char *begin = arena_printf(r->a, six ? "[%s]:" : "%s:", check_address(p, node));

	if (said->at && strlen(said->at) < NET_TEXT && str_starts(said->at, begin) &&
	    net_address_parse(said->at, true, &a, &e) == 0)
		*(p->a.node == node ? &r->server_a[path] : &r->server_b[path]) = said->at;
	else if (!p->untestable)
		p->untestable = arena_printf(
			r->a, "%s cannot serve on %s: %s", check_node(r->c, node)->name,
			check_address(p, node),
			cluster_clean_text(r->a, said->error ? said->error : "no answer", 160));
}

static struct ends *ends_of_all(struct check_run *r)
{
	struct ends *all = arena_array(r->a, r->c->cluster->n_nodes, sizeof(*all));

	for (size_t i = 0; i < r->c->n_paths; i++) {
		const struct check_path *p = &r->c->paths[i];

		for (int b = 0; b < 2 && !p->untestable; b++) {
			struct ends *k = &all[b ? p->b.node : p->a.node];

			if (k->n == MEASURE_SERVERS_MAX)
				continue;
			k->addresses = arena_grow(r->a, k->addresses, k->n, sizeof(*k->addresses));
			k->addresses[k->n] = b ? p->address_b : p->address_a;
			k->paths = arena_grow(r->a, k->paths, k->n, sizeof(*k->paths));
			k->paths[k->n++] = i;
		}
	}
	return all;
}

int check_run_servers(struct check_run *r)
{
	size_t n = r->c->cluster->n_nodes;
	struct ends *all = ends_of_all(r);
	bool *which = arena_array(r->a, n, sizeof(*which));
	int code;

	r->server_a = arena_array(r->a, r->c->n_paths, sizeof(*r->server_a));
	r->server_b = arena_array(r->a, r->c->n_paths, sizeof(*r->server_b));
	for (size_t i = 0; i < n; i++) {
		const struct servers_ask ask = { r->token, all[i].addresses, all[i].n };

		r->replies[i] = (struct rsh_reply){ 0 };
		which[i] = ask.n && rsh_send(r->rsh, i, "serve",
					     shape_object_json(&servers_ask_shape, &ask)) == 0;
	}
	code = rsh_wait(r->rsh, which, ANSWER_MS, r->replies);
	for (size_t i = 0; i < n && code == 0; i++) {
		struct servers_answer said = { 0 };

		if (!which[i])
			continue;
		if (!message_read(r->a, &r->replies[i], &servers_answer_shape, &said))
			said.n = 0;
		for (size_t k = 0; k < all[i].n; k++)
			keep_server(r, i, all[i].paths[k],
				    k < said.n ? &said.servers[k]
					       : &(const struct bench_server){ 0 });
	}
	return code;
}

void check_run_servers_end(struct check_run *r)
{
	rsh_ask_all(r->rsh, "serve-end", NULL, ANSWER_MS, r->replies);
}

/* --- measurements ----------------------------------------------------------------------------- */

bool check_job_of(const struct check *c, const struct check_result *r, struct check_job *out)
{
	const struct check_kind *k = &check_kinds[r->test];

	if (!k->bench || r->path == CHECK_NONE || r->test == CHECK_NCCL ||
	    r->test == CHECK_NCCL_LATENCY)
		return false;
	*out = (struct check_job){ .test = r->test,
				   .client = r->from,
				   .server = r->to,
				   .together = r->together,
				   .pass = r->pass };
	for (size_t i = r->path; i < c->n_paths && out->n_paths < CHECK_TOGETHER_MAX; i++)
		if (i == r->path || (r->together && !c->paths[i].untestable &&
				     c->paths[i].wire == c->paths[r->path].wire &&
				     c->paths[i].a.node == c->paths[r->path].a.node &&
				     c->paths[i].b.node == c->paths[r->path].b.node))
			out->paths[out->n_paths++] = i;
	/* What can only be had from the other end, or is asked from the first node anyway. */
	if (!k->there || (k->back && r->from > r->to)) {
		out->back = true;
		out->client = r->to;
		out->server = r->from;
	}
	return true;
}

static json_t *request_of(const struct check_run *r, const struct check_job *j)
{
	const struct check_kind *k = &check_kinds[j->test];
	const char *peers[CHECK_TOGETHER_MAX];
	const struct measure_ask ask = {
		r->token, k->bench,  j->back ? k->back : k->there, (long long)r->windows,
		peers,	  j->n_paths
	};

	for (size_t i = 0; i < j->n_paths; i++) {
		size_t p = j->paths[i];
		const char *at =
			r->c->paths[p].a.node == j->server ? r->server_a[p] : r->server_b[p];

		peers[i] = at ? at : "";
	}
	return shape_object_json(&measure_ask_shape, &ask);
}

static const char *egress_of(const struct check *c, size_t node, const char *to)
{
	LIST_FOR_EACH (const struct cluster_route, route, &check_node(c, node)->routes)
		if (strcmp(route->name, to) == 0)
			return fact_text(&route->port, NULL);
	return NULL;
}

/* Adds one path's windows to those of the others at the same time. */
static size_t check_job_add_values(const struct measured_path *path, double *sum, size_t most,
				   size_t n, bool first)
{
	size_t k = path->n > most ? most : path->n;

	n = first || k < n ? k : n;
	for (size_t i = 0; i < n; i++)
		sum[i] = (first ? 0 : sum[i]) + check_run_figure(path->values[i]);
	return n;
}

static void read_traffic(struct check_run *r, struct check_result *one, size_t node,
			 const struct measure_answer *said)
{
	for (size_t i = 0; i < said->n_traffic && one->n_traffic < CLUSTER_PORTS_MAX; i++) {
		const struct measured_traffic *t = &said->traffic[i];
		struct cluster_port *p = cluster_port_find(check_node(r->c, node), t->port);

		if (!p || t->rx < 0 || t->tx < 0)
			continue;
		one->traffic =
			arena_grow(r->a, one->traffic, one->n_traffic, sizeof(*one->traffic));
		one->traffic[one->n_traffic++] =
			(struct check_traffic){ node, p->name, t->rx, t->tx,
						check_node(r->c, node)->name };
	}
}

static const char *error_of(struct check_run *r, const struct check_job *j,
			    const struct measure_answer *said)
{
	for (size_t i = 0; i < j->n_paths && i < said->n; i++)
		if (said->paths[i].error)
			return cluster_clean_text(r->a, said->paths[i].error, 300);
	return NULL;
}

static void job_receive(struct check_run *r, const struct check_job *j, struct rsh_reply *reply)
{
	struct check_result one = { .test = j->test,
				    .from = j->back ? j->server : j->client,
				    .to = j->back ? j->client : j->server,
				    .asker = j->client,
				    .path = j->paths[0],
				    .together = j->together,
				    .pass = j->pass };
	double sum[MEASURE_WINDOWS_MAX] = { 0 };
	size_t n = 0, most = r->windows < MEASURE_WINDOWS_MAX ? r->windows : MEASURE_WINDOWS_MAX;
	struct measure_answer said = { 0 };

	if (message_read(r->a, reply, &measure_answer_shape, &said)) {
		one.why = error_of(r, j, &said);
		if (said.n && said.paths[0].how)
			one.how = cluster_clean_text(r->a, said.paths[0].how, 160);
		for (size_t i = 0; i < j->n_paths && said.n == j->n_paths; i++)
			n = check_job_add_values(&said.paths[i], sum, most, n, i == 0);
		read_traffic(r, &one, j->client, &said);
	} else {
		one.why = cluster_clean_text(r->a, reply->failure ? reply->failure : "no answer",
					     200);
	}
	one.egress = egress_of(r->c, one.from, check_address(&r->c->paths[one.path], one.to));
	one.state = one.why || !n ? CHECK_FAILED : CHECK_GOOD;
	if (!one.why && !n)
		one.why = "no measurement";
	if (n && one.state == CHECK_GOOD) {
		stat_sort(sum, n);
		one.n = n;
		one.low = sum[0];
		one.high = sum[n - 1];
		one.value = stat_quantile(sum, n, 0.5);
	}
	check_add(r->a, r->c, &one);
}

static bool served(const struct check_run *r, const struct check_job *j)
{
	for (size_t i = 0; i < j->n_paths; i++)
		if (!(r->c->paths[j->paths[i]].a.node == j->server ? r->server_a
								   : r->server_b)[j->paths[i]])
			return false;
	return check_run_lives(r, j->client) && check_run_lives(r, j->server);
}

int check_run_jobs(struct check_run *r, const struct check_job *jobs, size_t n)
{
	bool *which = arena_array(r->a, r->c->cluster->n_nodes, sizeof(*which));
	int code;

	for (size_t i = 0; i < n; i++) {
		r->replies[jobs[i].client] = (struct rsh_reply){ 0 };
		which[jobs[i].client] =
			served(r, &jobs[i]) &&
			rsh_send(r->rsh, jobs[i].client, "measure", request_of(r, &jobs[i])) == 0;
	}
	code = rsh_wait(r->rsh, which, MEASURE_MS, r->replies);
	for (size_t i = 0; i < n && code == 0; i++)
		if (which[jobs[i].client])
			job_receive(r, &jobs[i], &r->replies[jobs[i].client]);
	return code;
}

/* Operations of NCCL between the GPUs of two nodes at a time, from 8 bytes up. */

/* A team that does not come together ends by itself after a minute. */
enum { NCCL_ANSWER_MS = 100000, PORT = 21190, WINDOWS = 3 };

static const struct {
	const char *name;
	bool small; /* its time counts, not what it carries */
} operations[] = {
	{ "all-reduce:8B", true },     { "all-reduce:1KiB", true },   { "all-reduce:8KiB", true },
	{ "all-reduce:64KiB", true },  { "all-reduce:1MiB", false },  { "all-reduce:16MiB", false },
	{ "all-reduce:64MiB", false }, { "all-gather:64MiB", false },
};
enum { OPERATIONS = sizeof(operations) / sizeof(operations[0]) };

/* Why these two cannot; NULL: they can. */
static const char *hindrance(struct arena *a, const struct cluster_node *x,
			     const struct cluster_node *y)
{
	const struct cluster_node *both[] = { x, y };

	for (int i = 0; i < 2; i++) {
		if (fact_or(&both[i]->gpus, 0) < 1)
			return arena_printf(a, "%s has no GPU", both[i]->name);
		if (!seen_ok(&both[i]->nccl.f))
			return arena_printf(a, "%s has no NCCL", both[i]->name);
	}
	if (strcmp(x->nccl.v, y->nccl.v) != 0)
		return arena_printf(a, "%s has NCCL %.32s, %s has %.32s", x->name, x->nccl.v,
				    y->name, y->nccl.v);
	return NULL;
}

/* Where rank 0 is to be met: its address on a path to the other. */
static const char *check_job_meeting(const struct check *c, const struct pair *p)
{
	for (size_t i = 0; i < c->n_paths; i++) {
		const struct check_path *x = &c->paths[i];

		if (!x->untestable && x->a.node == p->a && x->b.node == p->b)
			return x->address_a;
	}
	return NULL;
}

static json_t *check_job_request(const struct check_run *r, const char *address, size_t pair,
				 int rank)
{
	const char *names[OPERATIONS];
	char meet[NET_TEXT];
	const struct collective_ask ask = { r->token, rank, 2, meet, WINDOWS, names, OPERATIONS };

	snprintf(meet, sizeof(meet), strchr(address, ':') ? "[%.50s]:%u" : "%.50s:%u", address,
		 (unsigned)(PORT + pair % 64));
	for (size_t i = 0; i < OPERATIONS; i++)
		names[i] = operations[i].name;
	return shape_object_json(&collective_ask_shape, &ask);
}

static size_t check_job_numbers(const double *list, size_t n_list, double *out)
{
	size_t n = 0;

	for (size_t i = 0; i < n_list && n < WINDOWS; i++)
		if (check_run_figure(list[i]) > 0)
			out[n++] = list[i];
	stat_sort(out, n);
	return n;
}

static void nccl_receive(struct check_run *r, const struct pair *p, size_t operation,
			 const struct collective_operation *one)
{
	bool small = operations[operation].small;
	double x[WINDOWS];
	size_t n = check_job_numbers(small ? one->time_us : one->bus_gbs,
				     small ? one->n_time : one->n_bus, x);
	struct check_result out = { .test = small ? CHECK_NCCL_LATENCY : CHECK_NCCL,
				    .from = p->a,
				    .to = p->b,
				    .path = CHECK_NONE,
				    .operation = operations[operation].name,
				    .pass = 1,
				    .state = one->error || !n ? CHECK_FAILED : CHECK_GOOD };

	out.how = one->how ? cluster_clean_text(r->a, one->how, 160) : NULL;
	out.why = one->error ? cluster_clean_text(r->a, one->error, 300)
		  : n	     ? NULL
			     : "no measurement";
	if (out.state == CHECK_GOOD) {
		out.n = n;
		out.low = x[0];
		out.high = x[n - 1];
		out.value = stat_quantile(x, n, 0.5);
	}
	check_add(r->a, r->c, &out);
}

static void check_job_left_out(struct check_run *r, const struct pair *p, const char *why,
			       enum check_state state)
{
	check_add(r->a, r->c,
		  &(struct check_result){ .test = CHECK_NCCL,
					  .from = p->a,
					  .to = p->b,
					  .path = CHECK_NONE,
					  .operation = "all",
					  .pass = 1,
					  .state = state,
					  .why = why });
}

static void job_receive_all(struct check_run *r, const struct pair *p)
{
	struct rsh_reply *lead = &r->replies[p->a];
	struct collective_answer said;

	if (!message_read(r->a, lead, &collective_answer_shape, &said)) {
		/* The GPUs of a capture need not be here. */
		bool captured = fact_or(&check_node(r->c, p->a)->captured, 0);

		check_job_left_out(
			r, p, cluster_clean_text(r->a, lead->failure ? lead->failure : "?", 300),
			captured ? CHECK_LEFT_OUT : CHECK_FAILED);
		return;
	}
	for (size_t i = 0; i < OPERATIONS && i < said.n; i++)
		nccl_receive(r, p, i, &said.operations[i]);
}

static int check_job_one_round(struct check_run *r, const struct pairs *all, size_t round)
{
	bool *which = arena_array(r->a, r->c->cluster->n_nodes, sizeof(*which));
	int code;

	for (size_t i = 0; i < all->n; i++) {
		const struct pair *p = &all->items[i];
		const char *address = check_job_meeting(r->c, p), *why;

		if (p->round != round || !address || !check_run_lives(r, p->a) ||
		    !check_run_lives(r, p->b))
			continue;
		why = hindrance(r->a, check_node(r->c, p->a), check_node(r->c, p->b));
		if (why) {
			check_job_left_out(r, p, why, CHECK_LEFT_OUT);
			continue;
		}
		r->replies[p->a] = r->replies[p->b] = (struct rsh_reply){ 0 };
		which[p->a] = rsh_send(r->rsh, p->a, "collective",
				       check_job_request(r, address, i, 0)) == 0;
		which[p->b] = which[p->a] && rsh_send(r->rsh, p->b, "collective",
						      check_job_request(r, address, i, 1)) == 0;
	}
	code = rsh_wait(r->rsh, which, NCCL_ANSWER_MS, r->replies);
	for (size_t i = 0; i < all->n && code == 0; i++)
		if (all->items[i].round == round && which[all->items[i].a])
			job_receive_all(r, &all->items[i]);
	return code;
}

int check_run_nccl(struct check_run *r, const struct pairs *pairs)
{
	bool any = false;
	int code = 0;

	for (size_t i = 0; i < r->c->cluster->n_nodes; i++)
		any = any || fact_or(&check_node(r->c, i)->gpus, 0) > 0;
	for (size_t round = 0; any && code == 0 && round < pairs->rounds; round++)
		code = check_job_one_round(r, pairs, round);
	return code;
}

/* Of Gbit/s, GB/s and microseconds alike. */
#define FIGURE_LEAST 1e-6

#define FIGURE_MOST 1e12

double check_run_figure(double v)
{
	return v >= FIGURE_LEAST && v <= FIGURE_MOST ? v : 0;
}

bool check_run_lives(const struct check_run *r, size_t node)
{
	return !*check_node(r->c, node)->failure && !rsh_failure(r->rsh, node);
}
