/* SPDX-License-Identifier: Apache-2.0 */
/* A run over the nodes of a cluster: who they are, the programs on them, the discovery, and Ctrl-C.
 */
#include <string.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "front/verbs/cluster.h"
#include "base/clock.h"
#include "base/fd.h"
#include "front/session.h"

enum { LIST_MAX = 1 << 16, NAME_MAX_HERE = 60 };

/* "user@host" is called host. */
static const char *name_of(const char *address)
{
	const char *at = strrchr(address, '@');

	return at ? at + 1 : address;
}

/* where: "list:3: ", or "" for a word of the command line. */
static int verb_cluster_run_add_target(struct run *r, struct cluster_run *c, const char *where,
				       const char *name, const char *address)
{
	if (!cluster_name_valid(address) || !cluster_name_valid(name) ||
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
		int code = verb_cluster_run_add_target(r, c, "", name_of(p), p);

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
			code = verb_cluster_run_add_target(
				r, c, arena_printf(&r->arena, "%s:%ld: ", path, number),
				address ? name : name_of(name), address ? address : name);
	}
	fclose(f);
	if (code == 0 && !c->n)
		return complain_text(EXIT_USAGE, "%s names no node", path);
	return code;
}

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

static int verb_cluster_run_start(struct run *r, struct cluster_run *c)
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

static int verb_cluster_run_look(struct run *r, struct cluster_run *c)
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

static int read_stored(struct run *r, struct cluster_run *c)
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
	code = verb_cluster_run_start(r, c);
	if (code)
		cluster_run_close(c);
	return code;
}

int cluster_run_open(struct run *r, struct cluster_run *c, bool need_nodes)
{
	double begin = clock_mono_s();
	int code;

	if (r->value[OPT_FROM] && !need_nodes)
		return read_stored(r, c);
	code = cluster_run_start(r, c);
	if (code)
		return code;
	code = verb_cluster_run_look(r, c);
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
