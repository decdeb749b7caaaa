/* SPDX-License-Identifier: Apache-2.0 */
/* A run over the nodes of a cluster: who they are, the programs on them, the discovery, and Ctrl-C.
 */
#include <errno.h>
#include <math.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fd.h"
#include "machine/host/folder.h"
#include "machine/host/libraries.h"
#include "many/cluster/inventory.h"
#include "verbs/cluster/cluster.h"

enum { LIST_MAX = 1 << 16, NAME_MAX_HERE = 60, AIR_MOST_S = 120, TIMEOUT_MOST_S = 3600 };

static const struct ask_row reach_ask_rows[] = {
	{ "nodes", "the nodes, comma-separated, as ssh names them; \"localhost\" is this machine",
	  ASK_TEXT(reach_ask, nodes), .arg = "LIST", .join = ',' },
	{ "nodes-file", "one node per line: its name, then a blank and its ssh name",
	  ASK_TEXT(reach_ask, nodes_file), .arg = "FILE", .files = true },
	{ "rsh",
	  "command to reach a node instead of ssh; {node} is its address; runs without a shell",
	  ASK_TEXT(reach_ask, rsh), .arg = "WORDS" },
	{ "node-command", "the program on the nodes (default: gputune cluster node)",
	  ASK_TEXT(reach_ask, node_command), .arg = "WORDS" },
	{ "known-hosts", "file with the nodes' host keys (default: ssh's known hosts)",
	  ASK_TEXT(reach_ask, known_hosts), .arg = "FILE", .files = true },
	{ "key", "identity file for ssh", ASK_TEXT(reach_ask, key), .arg = "FILE", .files = true },
};
const struct ask_shape reach_ask_shape = ASK_SHAPE(reach_ask, "Nodes", reach_ask_rows);

static const struct ask_row cluster_nodes_ask_rows[] = {
	{ ASK_PART(cluster_nodes_ask, reach, reach_ask) },
	{ "timeout", "timeout for an answer from a node (default: 10s)",
	  ASK_TIME(cluster_nodes_ask, timeout_s) },
};
const struct ask_shape cluster_nodes_ask_shape =
	ASK_SHAPE(cluster_nodes_ask, "Nodes", cluster_nodes_ask_rows);

static const struct ask_row cluster_links_ask_rows[] = {
	{ "against", "an earlier discovery or check (its JSON), to show what changed since",
	  ASK_TEXT(cluster_links_ask, against), .arg = "FILE", .files = true },
	{ "all-links", "include virtual interfaces", ASK_FLAG(cluster_links_ask, all_links) },
};
const struct ask_shape cluster_links_ask_shape =
	ASK_SHAPE(cluster_links_ask, "Links", cluster_links_ask_rows);

/* "user@host" is called host. */
static const char *name_of(const char *address)
{
	const char *at = strrchr(address, '@');

	return at ? at + 1 : address;
}

/* where: "list:3: ", or "" for a word of the command line. */
static int reach_add(struct door *d, struct reach *c, const char *where, const char *name,
		     const char *address)
{
	if (!cluster_name_valid(address) || !cluster_name_valid(name) ||
	    strlen(name) > NAME_MAX_HERE)
		return door_refuse(d, EXIT_USAGE, "%sinvalid node name \"%.64s\"", where, name);
	for (size_t i = 0; i < c->n; i++)
		if (strcmp(c->targets[i].name, name) == 0)
			return door_refuse(d, EXIT_USAGE, "%s%s is given twice", where, name);
	if (c->n == CLUSTER_NODES_MAX)
		return door_refuse(d, EXIT_USAGE, "a cluster has at most %d nodes",
				   CLUSTER_NODES_MAX);
	c->targets = arena_grow(d->arena, c->targets, c->n, sizeof(*c->targets));
	c->names = arena_grow(d->arena, c->names, c->n, sizeof(*c->names));
	c->names[c->n] = arena_strdup(d->arena, name);
	c->targets[c->n] = (struct rsh_target){ .name = c->names[c->n],
						.address = arena_strdup(d->arena, address) };
	c->n++;
	return 0;
}

static int from_list(struct door *d, const char *nodes, struct reach *c)
{
	char *list = arena_strdup(d->arena, nodes), *save = NULL;

	for (char *p = strtok_r(list, ", ", &save); p; p = strtok_r(NULL, ", ", &save)) {
		int code = reach_add(d, c, "", name_of(p), p);

		if (code)
			return code;
	}
	return 0;
}

/* "NAME [ADDRESS]" a line; '#' begins a comment. */
static int from_file(struct door *d, const char *path, struct reach *c)
{
	int fd = fd_open_input(path), code = 0;
	FILE *f = fd < 0 ? NULL : fdopen(fd, "r");
	char line[1024];

	if (!f)
		return door_refuse(d, EXIT_USAGE, "%s: cannot read: %s", path,
				   strerror(fd < 0 ? -fd : errno));
	for (long sum = 0, number = 1; code == 0 && fgets(line, sizeof(line), f); number++) {
		char *save = NULL, *name, *address;

		sum += (long)strlen(line);
		if (sum > LIST_MAX || (!strchr(line, '\n') && !feof(f))) {
			code = door_refuse(d, EXIT_USAGE, "%s: not a list of nodes", path);
			break;
		}
		line[strcspn(line, "#\n")] = '\0';
		name = strtok_r(line, " \t\r", &save);
		address = name ? strtok_r(NULL, " \t\r", &save) : NULL;
		if (name)
			code = reach_add(d, c, arena_printf(d->arena, "%s:%ld: ", path, number),
					 address ? name : name_of(name), address ? address : name);
	}
	fclose(f);
	if (code == 0 && !c->n)
		return door_refuse(d, EXIT_USAGE, "%s lists no nodes", path);
	return code;
}

/* This program, for "localhost". */
static const char *own_path(struct arena *a)
{
	char path[4096];

	return folder_program(path, sizeof(path)) ? "gputune" : arena_strdup(a, path);
}

int reach_read(struct door *d, const struct reach_ask *ask, struct reach *out)
{
	int code = ask->nodes ? from_list(d, ask->nodes, out) : 0;

	out->how = (struct rsh_how){ .rsh = ask->rsh,
				     .program = ask->node_command,
				     .known_hosts = ask->known_hosts,
				     .identity = ask->key,
				     .self = own_path(d->arena) };
	return code == 0 && ask->nodes_file ? from_file(d, ask->nodes_file, out) : code;
}

static int programs_start(struct door *d, struct cluster_run *c)
{
	struct err e = { 0 };
	int code = 0;

	cluster_stop_begin(&c->stop);
	c->to.how.stop = &c->stop.stop;
	if (rsh_open(d->arena, c->to.targets, c->to.n, &c->to.how, &c->rsh, &e)) {
		code = door_fail(d, EXIT_USAGE, &e);
		cluster_run_close(c);
	}
	return code;
}

int cluster_run_start(struct door *d, const struct cluster_nodes_ask *ask, struct cluster_run *c)
{
	struct err e = { 0 };
	int code = library_open(LIBRARY_SODIUM, &e) ? door_fail(d, EXIT_BLIND, &e)
						    : reach_read(d, &ask->reach, &c->to);

	if (code)
		return code;
	if (!c->to.n)
		return door_refuse(d, EXIT_USAGE,
				   "give the nodes: --nodes spark-1,spark-2 or --nodes-file FILE");
	c->to.how.connect_ms = (int)(fmin(ask->timeout_s, TIMEOUT_MOST_S) * 1000);
	return programs_start(d, c);
}

static int look(struct door *d, const struct cluster_links_ask *links, double air_s,
		struct cluster_run *c)
{
	struct discover_how how = { .answer_ms = c->to.how.connect_ms,
				    .air_ms = (int)(air_s * 1000),
				    .all_links = links->all_links };
	struct cluster before;
	struct err e = { 0 };

	if (links->against && cluster_load(d->arena, links->against, &before, &e))
		return door_fail(d, EXIT_USAGE, &e);
	how.before = links->against ? &before : NULL;
	if (air_s > AIR_MOST_S)
		return door_refuse(d, EXIT_USAGE, "--for takes at most %dm here", AIR_MOST_S / 60);
	door_progress(d, how.answer_ms / 1e3 + air_s, true, "asking %zu node%s", c->to.n,
		      PLURAL(c->to.n));
	if (cluster_discover(d->arena, c->rsh, c->to.targets, &how, &c->cluster, &e))
		return door_fail(d, EXIT_BLIND, &e);
	return 0;
}

int cluster_run_open(struct door *d, const struct cluster_nodes_ask *nodes,
		     const struct cluster_links_ask *links, double air_s, struct cluster_run *c)
{
	double begin = clock_mono_s();
	int code = cluster_run_start(d, nodes, c);

	if (code)
		return code;
	code = look(d, links, air_s, c);
	c->seconds = clock_mono_s() - begin;
	if (code)
		cluster_run_close(c);
	return code;
}

int cluster_run_stored(struct door *d, const char *file, const struct cluster_links_ask *links,
		       struct cluster_run *c)
{
	const char *against = links->against;
	struct cluster before;
	struct err e = { 0 };

	if (library_open(LIBRARY_SODIUM, &e))
		return door_fail(d, EXIT_BLIND, &e);
	if ((against && cluster_load(d->arena, against, &before, &e)) ||
	    cluster_load(d->arena, file, &c->cluster, &e))
		return door_fail(d, EXIT_USAGE, &e);
	cluster_judge(d->arena, &c->cluster, against ? &before : NULL);
	return 0;
}

/* What this user's changes gave those ports of a demo's node that had no IPv4 address. */
static int demo_refresh(struct door *d, const struct machine_ask *from, struct cluster_node *n)
{
	HOST_AUTO *h = door_host(d, from);
	struct cluster_node now = { 0 };

	if (!h)
		return -EXIT_USAGE;
	cluster_inventory(d->arena, door_machine(d, h, &(struct door_look){ .lean = true }), true,
			  &now);
	NODE_PORTS(q, &now)
	{
		struct cluster_port *p = cluster_port_find(n, q->name);
		bool has = !p;

		if (p)
			LIST_FOR_EACH (struct cluster_address, x, &p->addresses)
				has = has || !strchr(x->name, ':');
		if (has)
			continue;
		p->nic.mtu.v = q->nic.mtu.v;
		p->addresses = q->addresses;
	}
	return 0;
}

int cluster_run_demo(struct door *d, const char *file, bool change, struct cluster_run *c)
{
	int code = 0;

	c->to.how.self = own_path(d->arena);
	for (size_t i = 0; !code && i < c->cluster.n_nodes; i++) {
		struct cluster_node *n = &c->cluster.nodes[i];
		const struct machine_ask from = { .capture = arena_printf(d->arena, "%s/%s", file,
									  n->name) };

		code = change ? door_demo_ready(d, &from) : 0;
		code = code ? code : demo_refresh(d, &from, n);
		code = code ? code : reach_add(d, &c->to, "", n->name, "localhost");
		if (!code)
			c->to.targets[i].capture = from.capture;
	}
	cluster_link(d->arena, &c->cluster);
	return code ? code : programs_start(d, c);
}

void cluster_run_close(struct cluster_run *c)
{
	rsh_close(c->rsh);
	c->rsh = NULL;
	cluster_stop_end(&c->stop);
}

static void *watch(void *state)
{
	struct cluster_stop *s = state;
	int got;

	while (!atomic_load(&s->over))
		if (sigwait(&s->set, &got) == 0)
			atomic_store(&s->stop, true);
	return NULL;
}

void cluster_stop_begin(struct cluster_stop *s)
{
	sigemptyset(&s->set);
	sigaddset(&s->set, SIGINT);
	sigaddset(&s->set, SIGTERM);
	sigaddset(&s->set, SIGHUP);
	pthread_sigmask(SIG_BLOCK, &s->set, &s->before);
	s->begun = pthread_create(&s->thread, NULL, watch, s) == 0;
	/* Without it signals do what they always do. */
	if (!s->begun)
		pthread_sigmask(SIG_SETMASK, &s->before, NULL);
}

void cluster_stop_end(struct cluster_stop *s)
{
	if (!s->begun)
		return;
	s->begun = false;
	atomic_store(&s->over, true);
	pthread_kill(s->thread, SIGHUP);
	pthread_join(s->thread, NULL);
	pthread_sigmask(SIG_SETMASK, &s->before, NULL);
}
