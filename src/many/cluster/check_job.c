/* SPDX-License-Identifier: Apache-2.0 */
/* Servers on all nodes, and measurements between pairs of them. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "base/stat.h"
#include "many/cluster/check.h"
#include "many/cluster/ask.h"

enum { ANSWER_MS = 8000, MEASURE_MS = 30000 };

/* --- servers ---------------------------------------------------------------------------------- */

/* By node the paths whose ends its addresses are, in the order that they are asked in. */
struct ends {
	json_t *addresses;
	size_t *paths, n;
};

static void keep_server(struct check_run *r, size_t node, size_t path, const json_t *at,
			const json_t *error)
{
	struct check_path *p = &r->c->paths[path];
	const char *text = json_string_value(at), *why = json_string_value(error);
	struct net_address a;
	struct err e;
	bool six = strchr(check_address(p, node), ':') != NULL;
	/* Where it was told to listen, and nowhere else: others are sent there. */
	const char *begin = arena_printf(r->a, six ? "[%s]:" : "%s:", check_address(p, node));

	if (text && strlen(text) < NET_TEXT && str_starts(text, begin) &&
	    net_address_parse(text, true, &a, &e) == 0)
		*(p->a.node == node ? &r->server_a[path] : &r->server_b[path]) =
			arena_strdup(r->a, text);
	else if (!p->untestable)
		p->untestable =
			arena_printf(r->a, "%s does not serve on %s: %s",
				     check_node(r->c, node)->name, check_address(p, node),
				     cluster_clean_text(r->a, why ? why : "no answer", 160));
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
			if (!k->addresses)
				k->addresses = json_array();
			json_array_append_new(k->addresses,
					      json_string(b ? p->address_b : p->address_a));
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
		json_t *ask = all[i].addresses ? json_pack("{s:s, s:o}", "token", r->token,
							   "addresses", all[i].addresses)
					       : NULL;

		r->replies[i] = (struct rsh_reply){ 0 };
		which[i] = ask && rsh_send(r->rsh, i, "serve", ask) == 0;
	}
	code = rsh_wait(r->rsh, which, ANSWER_MS, r->replies);
	for (size_t i = 0; i < n && code == 0; i++) {
		const json_t *answer = r->replies[i].answer;
		const json_t *at = json_object_get(answer, "listening"),
			     *errors = json_object_get(answer, "errors");

		for (size_t k = 0; which[i] && k < all[i].n; k++)
			keep_server(r, i, all[i].paths[k], json_array_get(at, k),
				    json_array_get(errors, k));
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
	json_t *peers = json_array();

	for (size_t i = 0; i < j->n_paths; i++) {
		size_t p = j->paths[i];
		const char *at =
			r->c->paths[p].a.node == j->server ? r->server_a[p] : r->server_b[p];

		json_array_append_new(peers, json_string(at ? at : ""));
	}
	return json_pack("{s:s, s:s, s:s, s:I, s:o}", "token", r->token, "bench", k->bench, "case",
			 j->back ? k->back : k->there, "windows", (json_int_t)r->windows, "peers",
			 peers);
}

static const char *egress_of(const struct check *c, size_t node, const char *to)
{
	LIST_FOR_EACH (const struct cluster_route, route, &check_node(c, node)->routes)
		if (strcmp(route->name, to) == 0)
			return fact_text(&route->port, NULL);
	return NULL;
}

/* Adds one path's windows to those of the others at the same time. */
static size_t check_job_add_values(const json_t *path, double *sum, size_t most, size_t n,
				   bool first)
{
	const json_t *values = json_object_get(path, "values");
	size_t k = json_array_size(values);

	k = k > most ? most : k;
	n = first || k < n ? k : n;
	for (size_t i = 0; i < n; i++) {
		double v = check_run_figure(json_array_get(values, i));

		sum[i] = (first ? 0 : sum[i]) + v;
	}
	return n;
}

static void read_traffic(struct check_run *r, struct check_result *one, size_t node,
			 const json_t *list)
{
	json_t *item;
	size_t i;

	json_array_foreach(list, i, item)
	{
		const char *name = json_string_value(json_object_get(item, "port"));
		struct cluster_port *p =
			name ? cluster_port_find(check_node(r->c, node), name) : NULL;
		double rx = json_number_value(json_object_get(item, "rx_bytes")),
		       tx = json_number_value(json_object_get(item, "tx_bytes"));

		if (!p || !isfinite(rx) || !isfinite(tx) || rx < 0 || tx < 0 ||
		    one->n_traffic == CLUSTER_PORTS_MAX)
			continue;
		one->traffic =
			arena_grow(r->a, one->traffic, one->n_traffic, sizeof(*one->traffic));
		one->traffic[one->n_traffic++] = (struct check_traffic){ node, p->name, rx, tx };
	}
}

static const char *error_of(struct check_run *r, const struct check_job *j,
			    const struct rsh_reply *reply)
{
	const json_t *paths = json_object_get(reply->answer, "paths");

	if (!reply->answer)
		return cluster_clean_text(r->a, reply->failure ? reply->failure : "no answer", 200);
	for (size_t i = 0; i < j->n_paths; i++) {
		const json_t *e = json_object_get(json_array_get(paths, i), "error");

		if (json_is_string(e))
			return cluster_clean_text(r->a, json_string_value(e), 300);
	}
	return NULL;
}

static void job_receive(struct check_run *r, const struct check_job *j,
			const struct rsh_reply *reply)
{
	const json_t *paths = json_object_get(reply->answer, "paths");
	struct check_result one = { .test = j->test,
				    .from = j->back ? j->server : j->client,
				    .to = j->back ? j->client : j->server,
				    .asker = j->client,
				    .path = j->paths[0],
				    .together = j->together,
				    .pass = j->pass };
	double sum[MEASURE_WINDOWS_MAX] = { 0 };
	size_t n = 0, most = r->windows < MEASURE_WINDOWS_MAX ? r->windows : MEASURE_WINDOWS_MAX;
	const char *how = json_string_value(json_object_get(json_array_get(paths, 0), "how"));

	one.why = error_of(r, j, reply);
	one.how = how ? cluster_clean_text(r->a, how, 160) : NULL;
	one.egress = egress_of(r->c, one.from, check_address(&r->c->paths[one.path], one.to));
	for (size_t i = 0; i < j->n_paths; i++)
		n = check_job_add_values(json_array_get(paths, i), sum, most, n, i == 0);
	read_traffic(r, &one, j->client, json_object_get(reply->answer, "traffic"));
	one.state = one.why || !n ? CHECK_FAILED : CHECK_GOOD;
	if (!one.why && !n)
		one.why = "it measured nothing";
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
	json_t *list = json_array();
	char meet[NET_TEXT];

	snprintf(meet, sizeof(meet), strchr(address, ':') ? "[%.50s]:%u" : "%.50s:%u", address,
		 (unsigned)(PORT + pair % 64));
	for (size_t i = 0; i < OPERATIONS; i++)
		json_array_append_new(list, json_string(operations[i].name));
	return json_pack("{s:s, s:i, s:i, s:s, s:i, s:o}", "token", r->token, "rank", rank, "ranks",
			 2, "meet", meet, "windows", WINDOWS, "operations", list);
}

static size_t check_job_numbers(const json_t *list, double *out)
{
	size_t n = 0;

	for (size_t i = 0; i < json_array_size(list) && n < WINDOWS; i++) {
		double v = check_run_figure(json_array_get(list, i));

		if (v > 0)
			out[n++] = v;
	}
	stat_sort(out, n);
	return n;
}

static void nccl_receive(struct check_run *r, const struct pair *p, size_t operation,
			 const json_t *one)
{
	bool small = operations[operation].small;
	const char *error = json_string_value(json_object_get(one, "error"));
	const char *how = json_string_value(json_object_get(one, "how"));
	double x[WINDOWS];
	size_t n = check_job_numbers(json_object_get(one, small ? "time_us" : "bus_gb_per_s"), x);
	struct check_result out = { .test = small ? CHECK_NCCL_LATENCY : CHECK_NCCL,
				    .from = p->a,
				    .to = p->b,
				    .path = CHECK_NONE,
				    .operation = operations[operation].name,
				    .pass = 1,
				    .state = error || !n ? CHECK_FAILED : CHECK_GOOD };

	out.how = how ? cluster_clean_text(r->a, how, 160) : NULL;
	out.why = error ? cluster_clean_text(r->a, error, 300) : n ? NULL : "it measured nothing";
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
	const struct rsh_reply *lead = &r->replies[p->a];
	const json_t *list = json_object_get(lead->answer, "operations");

	if (!lead->answer) {
		/* The GPUs of a capture need not be here. */
		bool captured = fact_or(&check_node(r->c, p->a)->captured, 0);

		check_job_left_out(
			r, p, cluster_clean_text(r->a, lead->failure ? lead->failure : "?", 300),
			captured ? CHECK_LEFT_OUT : CHECK_FAILED);
		return;
	}
	for (size_t i = 0; i < OPERATIONS && i < json_array_size(list); i++)
		nccl_receive(r, p, i, json_array_get(list, i));
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

double check_run_figure(const json_t *told)
{
	double v = json_number_value(told);

	return v >= FIGURE_LEAST && v <= FIGURE_MOST ? v : 0;
}

bool check_run_lives(const struct check_run *r, size_t node)
{
	return !*check_node(r->c, node)->failure && !rsh_failure(r->rsh, node);
}
