/* SPDX-License-Identifier: Apache-2.0 */
/* gputune cluster: which part of it, and the nodes that all parts have in common. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/signalfd.h>
#include <time.h>
#include <unistd.h>

#include "front/verbs/cluster.h"
#include "base/clock.h"
#include "base/fd.h"
#include "base/text.h"
#include "front/verbs/prove.h"
#include "base/stamp.h"
#include "front/verbs/page.h"
#include "many/cluster/page_cluster.h"
#include "many/cluster/ask.h"
#include "look/probe/probe.h"
#include "machine/host/libraries.h"

static const struct part {
	const char *name;
	int (*run)(struct run *r);
} parts[] = {
	{ "discover", cluster_discover_run }, { "check", cluster_check_run },
	{ "node", cluster_node_run },	      { "plan", cluster_plan_run },
	{ "undo", cluster_undo_run },	      { "take-back", cluster_take_back_run },
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
			if (parts[i].run != cluster_take_back_run &&
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

/* --- the nodes that a run is about --------------------------------------------------------------
 */

enum { LIST_MAX = 1 << 16, NAME_MAX_HERE = 60 };

/* "user@host" is called host. */
static const char *name_of(const char *address)
{
	const char *at = strrchr(address, '@');

	return at ? at + 1 : address;
}

/* where: "list:3: ", or "" for a word of the command line. */
static int add_target(struct run *r, struct cluster_run *c, const char *where, const char *name,
		      const char *address)
{
	if (!cluster_name_sound(address) || !cluster_name_sound(name) ||
	    strlen(name) > NAME_MAX_HERE)
		return complain_text(EXIT_USAGE, "%s\"%.64s\" is no name that a node can have",
				     where, name);
	for (size_t i = 0; i < c->n; i++)
		if (strcmp(c->targets[i].name, name) == 0)
			return complain_text(EXIT_USAGE, "%s%s is named twice", where, name);
	if (c->n == CLUSTER_NODES_MAX)
		return complain_text(EXIT_USAGE, "a cluster has at most %d nodes",
				     CLUSTER_NODES_MAX);
	c->targets = arena_grow(&r->arena, c->targets, c->n, sizeof(*c->targets));
	c->targets[c->n++] = (struct rsh_target){ .name = arena_strdup(&r->arena, name),
						  .address = arena_strdup(&r->arena, address) };
	return 0;
}

static int from_list(struct run *r, struct cluster_run *c)
{
	char *list = arena_strdup(&r->arena, r->value[OPT_NODES]), *save = NULL;

	for (char *p = strtok_r(list, ", ", &save); p; p = strtok_r(NULL, ", ", &save)) {
		int code = add_target(r, c, "", name_of(p), p);

		if (code)
			return code;
	}
	return 0;
}

/* "NAME [ADDRESS]" a line; '#' begins a comment. */
static int from_file(struct run *r, struct cluster_run *c)
{
	const char *path = r->value[OPT_NODES_FILE];
	int fd = fd_open_input(path), code = 0;
	FILE *f = fd < 0 ? NULL : fdopen(fd, "r");
	char line[1024];

	if (!f)
		return complain_text(EXIT_USAGE, "%s cannot be read: %s", path,
				     strerror(fd < 0 ? -fd : errno));
	for (long sum = 0, number = 1; code == 0 && fgets(line, sizeof(line), f); number++) {
		char *save = NULL, *name, *address;

		sum += (long)strlen(line);
		if (sum > LIST_MAX || (!strchr(line, '\n') && !feof(f))) {
			code = complain_text(EXIT_USAGE, "%s is no list of nodes", path);
			break;
		}
		line[strcspn(line, "#\n")] = '\0';
		name = strtok_r(line, " \t\r", &save);
		address = name ? strtok_r(NULL, " \t\r", &save) : NULL;
		if (name)
			code = add_target(r, c, arena_printf(&r->arena, "%s:%ld: ", path, number),
					  address ? name : name_of(name), address ? address : name);
	}
	fclose(f);
	if (code == 0 && !c->n)
		return complain_text(EXIT_USAGE, "%s names no node", path);
	return code;
}

/* --- opening and closing ------------------------------------------------------------------------
 */

static int targets(struct run *r, struct cluster_run *c)
{
	int code = 0;

	if (r->value[OPT_NODES])
		code = from_list(r, c);
	if (code == 0 && r->value[OPT_NODES_FILE])
		code = from_file(r, c);
	if (code == 0 && !c->n)
		code = complain_text(
			EXIT_USAGE, "name the nodes: --nodes spark-1,spark-2 or --nodes-file FILE");
	return code;
}

/* This program, for "localhost". */
static const char *self(struct run *r)
{
	char path[4096];
	ssize_t n = readlink("/proc/self/exe", path, sizeof(path) - 1);

	return n > 0 ? arena_strndup(&r->arena, path, (size_t)n) : "gputune";
}

static int start(struct run *r, struct cluster_run *c)
{
	double limit = 0;
	struct err e = { 0 };

	if (prove_time(r, OPT_TIMEOUT, &limit))
		return EXIT_USAGE;
	c->answer_ms = limit > 0 ? (int)(limit < 3600 ? limit * 1000 : 3600000) : 0;
	c->how = (struct rsh_how){ .rsh = r->value[OPT_RSH],
				   .program = r->value[OPT_NODE_COMMAND],
				   .known_hosts = r->value[OPT_KNOWN_HOSTS],
				   .identity = r->value[OPT_KEY],
				   .self = self(r),
				   .connect_ms = c->answer_ms,
				   .stop = &c->stop.stop };
	if (rsh_open(&r->arena, c->targets, c->n, &c->how, &c->rsh, &e))
		return complain(EXIT_USAGE, &e);
	return 0;
}

static int look(struct run *r, struct cluster_run *c)
{
	struct discover_how how = { .answer_ms = c->answer_ms,
				    .all_links = r->value[OPT_ALL_LINKS] != NULL };
	struct cluster before;
	struct err e = { 0 };
	double air = 0;

	if (r->value[OPT_AGAINST]) {
		if (cluster_load(&r->arena, r->value[OPT_AGAINST], &before, &e))
			return complain(EXIT_USAGE, &e);
		how.before = &before;
	}
	/* Of a check it is how long each case is measured, not how long ports announce. */
	if (c->air_by_option && prove_time(r, OPT_FOR, &air))
		return EXIT_USAGE;
	if (air > 120)
		return complain_text(EXIT_USAGE, "--for takes at most 2m here");
	how.air_ms = (int)(air * 1000);
	if (cluster_discover(&r->arena, c->rsh, c->targets, &how, &c->cluster, &e))
		return complain(EXIT_BLIND, &e);
	return 0;
}

static int read_kept(struct run *r, struct cluster_run *c)
{
	struct err e = { 0 };

	if (cluster_load(&r->arena, r->value[OPT_FROM], &c->cluster, &e))
		return complain(EXIT_USAGE, &e);
	c->n = c->cluster.n_nodes;
	c->targets = arena_array(&r->arena, c->n, sizeof(*c->targets));
	for (size_t i = 0; i < c->n; i++)
		c->targets[i] = (struct rsh_target){ .name = c->cluster.nodes[i].name,
						     .address = c->cluster.nodes[i].address };
	return 0;
}

int cluster_run_start(struct run *r, struct cluster_run *c)
{
	int code = targets(r, c);

	if (code)
		return code;
	cluster_stop_begin(&c->stop);
	code = start(r, c);
	if (code)
		cluster_run_close(c);
	return code;
}

int cluster_run_open(struct run *r, struct cluster_run *c, bool need_nodes)
{
	double begin = clock_mono_s();
	int code;

	if (r->value[OPT_FROM] && !need_nodes)
		return read_kept(r, c);
	code = cluster_run_start(r, c);
	if (code)
		return code;
	code = look(r, c);
	c->seconds = clock_mono_s() - begin;
	if (code)
		cluster_run_close(c);
	return code;
}

void cluster_run_close(struct cluster_run *c)
{
	rsh_close(c->rsh);
	c->rsh = NULL;
	cluster_stop_end(&c->stop);
}

/* gputune cluster discover: which port hears which, and what is wrong with that. */

static int exit_code(const struct cluster *c)
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

static int print(struct run *r, const struct cluster_run *c, int code)
{
	char stamp[STAMP_SIZE] = "";
	int failed;

	if (r->value[OPT_QUIET])
		return code;
	if (run_wants_json(r)) {
		stamp_format((long long)time(NULL), stamp);
		run_print_json(r, cluster_json(&c->cluster, stamp, code));
		return code;
	}
	if (r->value[OPT_AS] && strcmp(r->value[OPT_AS], "svg") == 0) {
		fprintf(r->out, "%s\n", svg_cluster(&r->arena, &c->cluster));
		return code;
	}
	failed = run_print_doc(
		r, page_cluster(&r->arena, &c->cluster, c->seconds, r->value[OPT_VERBOSE] != NULL),
		"gputune cluster discover");
	return failed ? failed : code;
}

int cluster_discover_run(struct run *r)
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
	code = print(r, &c, exit_code(&c.cluster));
	cluster_run_close(&c);
	return code;
}

/* gputune cluster node: the program that a coordinator starts on each node. */

/* Whoever looks again has to see what changed: what the door has read it keeps, so each look gets
 * a door of its own. Facts point into their door, which therefore stays open. */
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

int cluster_node_run(struct run *r)
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

/* Signals that end a run, taken by a thread and kept as a flag. */

static void *watch(void *state)
{
	struct cluster_stop *s = state;

	for (;;) {
		struct pollfd p[2] = { { .fd = s->signals, .events = POLLIN },
				       { .fd = s->wake[0], .events = POLLIN } };
		struct signalfd_siginfo info;

		if (poll(p, 2, -1) < 0)
			continue;
		if (p[1].revents)
			return NULL;
		if (p[0].revents && read(s->signals, &info, sizeof(info)) == sizeof(info))
			atomic_store(&s->stop, true);
	}
}

void cluster_stop_begin(struct cluster_stop *s)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGINT);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGHUP);
	if (pipe2(s->wake, O_CLOEXEC))
		return;
	pthread_sigmask(SIG_BLOCK, &set, &s->before);
	s->signals = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
	s->begun = s->signals >= 0 && pthread_create(&s->thread, NULL, watch, s) == 0;
	if (s->begun)
		return;
	/* Without it signals do what they always do. */
	pthread_sigmask(SIG_SETMASK, &s->before, NULL);
	if (s->signals >= 0)
		close(s->signals);
	close(s->wake[0]);
	close(s->wake[1]);
}

void cluster_stop_end(struct cluster_stop *s)
{
	if (!s->begun)
		return;
	s->begun = false;
	close(s->wake[1]);
	pthread_join(s->thread, NULL);
	close(s->wake[0]);
	close(s->signals);
	pthread_sigmask(SIG_SETMASK, &s->before, NULL);
}
