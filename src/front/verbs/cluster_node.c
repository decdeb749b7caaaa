/* SPDX-License-Identifier: Apache-2.0 */
/* gputune cluster node: the program that a coordinator starts on each node. */
#include <signal.h>
#include <string.h>
#include <unistd.h>

#include "many/cluster/ask.h"
#include "front/verbs/cluster.h"
#include "look/probe/probe.h"

/* Whoever looks again has to see what changed: what the door has read it keeps, so each look gets
 * a door of its own. Facts point into their door, which therefore stays open. */
struct looker {
	struct run *r;
	struct host **doors;
	size_t n;
};

static const struct machine *look(struct ask_node *n, bool full)
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

int cluster_node_run(struct run *r)
{
	struct arena request = { 0 };
	struct looker l = { .r = r };
	struct cluster_stop stop = { 0 };
	struct ask_node n = { .arena = &request,
			      .look = look,
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
