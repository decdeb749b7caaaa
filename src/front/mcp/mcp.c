/* SPDX-License-Identifier: Apache-2.0 */
/* gputune mcp: clients over standard input or a socket, and a process of its own for each call. */
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <grp.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fd.h"
#include "base/json.h"
#include "base/text.h"
#include "front/mcp/mcp.h"
#include "front/result_part.h"
#include "look/settings/site.h"
#include "tune/txn/approval.h"
#include "verbs/verbs.h"

enum {
	CLIENTS = 16,
	CALLS = 32,
	PRINTED_MAX = 4 << 20,
	SAID_MAX = 8 << 10,
	PROGRESS_MS = 200, /* between two messages of one call */
	SEND_S = 10,	   /* for a client to take a message */
	ENDS_MS = 2000,	   /* from SIGTERM to SIGKILL */
};

struct connection {
	bool open;
	int in, out;
	struct approval_asker asker; /* pid 0: it started us */
	struct text line;
	struct mcp_client state;
};

/* A call under way; pid 0: the place is free. */
struct running {
	pid_t pid;
	struct connection *from; /* NULL: it is gone, or has cancelled */
	struct arena arena;
	struct mcp_request request;
	int out, err;
	struct text printed, said;
	size_t told; /* bytes of said that progress had */
	long long end_ms, told_ms, n;
	bool killed;
};

struct server {
	struct run *r;
	const struct mcp_ask *how;
	int listener; /* -1: standard input and output */
	struct connection clients[CLIENTS];
	struct running calls[CALLS];
	char scratch[64]; /* results of benches; "": none yet */
};

static volatile sig_atomic_t mcp_ended;

static void end_server(int sig)
{
	mcp_ended = sig;
}

/* --- messages out ----------------------------------------------------------------------------- */

static void close_client(struct server *s, struct connection *c)
{
	for (size_t i = 0; i < CALLS; i++)
		if (s->calls[i].from == c)
			s->calls[i].from = NULL;
	if (c->asker.pid)
		close(c->in);
	text_free(&c->line);
	*c = (struct connection){ .open = false };
}

/* Takes the message. */
static void send_message(struct server *s, struct connection *c, json_t *j)
{
	TEXT_AUTO t = { 0 };

	json_add(&t, j, JSON_COMPACT | JSON_REAL_PRECISION(RESULT_DIGITS));
	json_decref(j);
	text_add(&t, "\n");
	if (c && c->open && fd_write_all(c->out, t.s, t.len))
		close_client(s, c);
}

/* --- a call ----------------------------------------------------------------------------------- */

/* What the node's own server is asked. */
static void ask_node(struct server *s, struct run *r, const struct mcp_call *call)
{
	struct err e = { 0 };
	TEXT_AUTO t = { 0 };
	char **words = rsh_words(&r->arena, call->node, &s->how->reach.how, &e);
	json_t *j =
		json_pack("{s:s, s:i, s:s, s:{s:s, s:O, s:{s:s, s:{}}}}", "jsonrpc", "2.0", "id", 1,
			  "method", "tools/call", "params", "name", call->tool->name, "arguments",
			  call->arguments, "_meta", "io.modelcontextprotocol/protocolVersion",
			  MCP_VERSION, "io.modelcontextprotocol/clientCapabilities");
	int fd;

	if (!words)
		exit(complain(EXIT_USAGE, &e));
	json_add(&t, j, JSON_COMPACT);
	text_add(&t, "\n");
	fd = fd_nameless(t.s, t.len);
	if (fd >= 0 && lseek(fd, 0, SEEK_SET) == 0)
		dup2(fd, STDIN_FILENO);
	execvp(words[0], words);
	_exit(complain_text(EXIT_BLIND, "%s: %s", words[0], strerror(errno)));
}

static int ask_verb(struct server *s, const struct connection *c, const struct mcp_call *call)
{
	struct run r = { .file = -1, .whole = s->r->whole, .out = stdout, .lines = true };
	struct err e = { 0 };

	r.verb = mcp_tool_verb(&r.arena, call->tool, call->kind);
	r.name = call->tool->name;
	r.print = (struct print_ask){
		.format = "json", .compact = true, .budget = call->tokens, .yes = call->tool->writes
	};
	run_open_door(&r);
	r.door.asker = c->asker.pid ? &c->asker : NULL;
	r.door.agent = true;
	if (call->node)
		ask_node(s, &r, call);
	if (call->tool->loads || strcmp(call->tool->name, "compare") == 0) {
		if (!s->scratch[0])
			return complain_text(EXIT_USAGE, "no saved result yet: call bench first");
		json_object_set_new(call->question, "state", json_string(s->scratch));
	}
	r.ask = r.verb->ask ? arena_alloc(&r.arena, r.verb->ask->size) : NULL;
	if (r.verb->ask && ask_read(&r.arena, r.verb->ask, call->question, r.ask, &e))
		return complain(EXIT_USAGE, &e);
	r.print.fields = call->fields;
	if (run_check_fields(&r))
		return EXIT_USAGE;
	/* What is read of a captured machine is what was changed of it. */
	verb_set_machine(r.verb, r.ask, call->capture, call->capture ? s->how->overlay : NULL);
	return r.whole(&r);
}

/* In the new process: nothing of the server's is open any more. */
static void become_call(struct server *s, const struct connection *c, const struct mcp_call *call,
			int out, int err)
{
	int in = call->text ? fd_nameless(call->text, strlen(call->text))
			    : open("/dev/null", O_RDONLY | O_CLOEXEC);

	setpgid(0, 0);
	signal(SIGPIPE, SIG_DFL);
	signal(SIGTERM, SIG_DFL);
	signal(SIGINT, SIG_DFL);
	signal(SIGHUP, SIG_DFL);
	if (in >= 0)
		lseek(in, 0, SEEK_SET);
	if (in < 0 || dup2(in, STDIN_FILENO) < 0 || dup2(out, STDOUT_FILENO) < 0 ||
	    dup2(err, STDERR_FILENO) < 0)
		_exit(EXIT_BLIND);
	close_range(STDERR_FILENO + 1, ~0U, 0);
	exit(ask_verb(s, c, call));
}

static struct running *free_place(struct server *s)
{
	for (size_t i = 0; i < CALLS; i++)
		if (!s->calls[i].pid)
			return &s->calls[i];
	return NULL;
}

/* What benches keep lies in a folder of this server alone. */
static bool make_scratch(struct server *s)
{
	if (s->scratch[0])
		return true;
	snprintf(s->scratch, sizeof(s->scratch), "/tmp/gputune-mcp-XXXXXX");
	if (!mkdtemp(s->scratch))
		s->scratch[0] = '\0';
	return s->scratch[0];
}

/* Takes the request and its arena; false: it cannot be begun. */
static bool start_call(struct server *s, struct connection *c, struct running *g)
{
	int out[2] = { -1, -1 }, err[2] = { -1, -1 };

	if ((g->request.call.tool->loads && !make_scratch(s)) || pipe2(out, O_CLOEXEC) ||
	    pipe2(err, O_CLOEXEC))
		return false;
	fflush(NULL);
	g->pid = fork();
	if (g->pid == 0)
		become_call(s, c, &g->request.call, out[1], err[1]);
	close(out[1]);
	close(err[1]);
	g->out = out[0];
	g->err = err[0];
	g->from = c;
	g->end_ms = clock_mono_ms() + 1000LL * g->request.call.tool->limit_s;
	if (g->pid > 0)
		return true;
	close(out[0]);
	close(err[0]);
	g->pid = 0;
	return false;
}

static void free_call(struct running *g)
{
	mcp_request_free(&g->request);
	text_free(&g->printed);
	text_free(&g->said);
	arena_free(&g->arena);
	*g = (struct running){ .pid = 0 };
}

/* What writes is never ended halfway. */
static void kill_call(struct running *g)
{
	if (!g->pid || g->request.call.tool->writes)
		return;
	kill(-g->pid, g->killed ? SIGKILL : SIGTERM);
	g->killed = true;
	g->end_ms = clock_mono_ms() + ENDS_MS;
}

static void finish_call(struct server *s, struct running *g)
{
	json_t *shown = NULL;
	int status = 0, code;

	while (waitpid(g->pid, &status, 0) < 0 && errno == EINTR)
		;
	code = WIFEXITED(status) ? WEXITSTATUS(status) : EXIT_BLIND;
	if (g->from && g->printed.len)
		shown = mcp_show_plan(&g->request, g->printed.s, g->printed.len);
	if (g->killed && g->from)
		text_printf(&g->said, "stopped after %d s", g->request.call.tool->limit_s);
	if (shown)
		send_message(s, g->from, shown);
	if (g->from && !(shown && g->request.modern))
		send_message(s, g->from,
			     mcp_answer(&g->request,
					mcp_call_result(
						&g->request.call, g->printed.s ? g->printed.s : "",
						g->printed.len, g->said.s ? g->said.s : "", code)));
	free_call(g);
}

/* Lines that the call says while it runs. */
static void send_progress(struct server *s, struct running *g)
{
	const char *line = g->said.s ? g->said.s + g->told : "", *end = strrchr(line, '\n');
	long long now = clock_mono_ms();
	const char *begin = end;

	if (!g->request.token || !g->from || !end || now - g->told_ms < PROGRESS_MS)
		return;
	while (begin > line && begin[-1] != '\n')
		begin--;
	g->told = (size_t)(end + 1 - g->said.s);
	g->told_ms = now;
	send_message(s, g->from,
		     mcp_progress(g->request.token, ++g->n,
				  arena_strndup(&g->arena, begin, (size_t)(end - begin))));
}

/* Reads all available bytes; at end of file sets the descriptor to -1. */
static void receive(int *fd, struct text *to, size_t most)
{
	char buf[16384];
	ssize_t n = read(*fd, buf, sizeof(buf));

	if (n < 0 && errno == EINTR)
		return;
	if (n > 0 && to->len < most)
		text_addn(to, buf, (size_t)n);
	if (n > 0)
		return;
	close(*fd);
	*fd = -1;
}

/* --- messages in ------------------------------------------------------------------------------ */

static void cancel(struct server *s, const struct connection *c, const json_t *id)
{
	for (size_t i = 0; i < CALLS; i++) {
		struct running *g = &s->calls[i];

		if (!g->pid || g->from != c || !json_equal(g->request.id, id))
			continue;
		if (!g->request.call.tool->writes)
			g->from = NULL;
		kill_call(g);
	}
}

static void take_line(struct server *s, struct connection *c, const char *line, size_t len)
{
	struct running *g = free_place(s), spare = { .pid = 0 };
	json_t *answer;
	enum mcp_do what;

	if (!len)
		return;
	g = g ? g : &spare;
	what = mcp_message(&g->arena, s->how, &c->state, line, len, &g->request, &answer);
	if (what == MCP_RUN && (g == &spare || !start_call(s, c, g)))
		answer = mcp_error(g->request.id, RPC_INTERNAL,
				   "%d calls are running, or no process can be started", CALLS);
	if (what == MCP_CANCEL)
		cancel(s, c, g->request.id);
	if (!g->pid)
		free_call(g);
	if (answer)
		send_message(s, c, answer);
}

static void take_lines(struct server *s, struct connection *c)
{
	char *begin = c->line.s, *end;
	size_t left = c->line.len;

	while (c->open && left && (end = memchr(begin, '\n', left))) {
		take_line(s, c, begin, (size_t)(end - begin));
		left -= (size_t)(end + 1 - begin);
		begin = end + 1;
	}
	if (!c->open)
		return;
	memmove(c->line.s, begin, left);
	c->line.len = left;
	if (left > MCP_LINE_MAX) {
		send_message(s, c,
			     mcp_error(NULL, RPC_PARSE, "a message of more than %d bytes",
				       MCP_LINE_MAX));
		if (c->open)
			close_client(s, c);
	}
}

static void read_client(struct server *s, struct connection *c)
{
	int fd = c->in;

	receive(&fd, &c->line, SIZE_MAX);
	if (c->line.len)
		take_lines(s, c);
	if (fd >= 0 || !c->open)
		return;
	c->in = -1;
	/* A socket that is closed cannot be answered; who is asked once is answered. */
	if (c->asker.pid || !s->how->once) {
		c->asker.pid = 0;
		close_client(s, c);
	}
}

/* --- clients ---------------------------------------------------------------------------------- */

static struct connection *new_client(struct server *s, int in, int out, struct approval_asker who)
{
	for (size_t i = 0; i < CLIENTS; i++)
		if (!s->clients[i].open) {
			s->clients[i] = (struct connection){
				.open = true, .in = in, .out = out, .asker = who
			};
			return &s->clients[i];
		}
	return NULL;
}

/* Root, this user, and with --group whom the socket's mode lets in. */
static void accept_client(struct server *s)
{
	const struct timeval limit = { .tv_sec = SEND_S };
	int fd = accept4(s->listener, NULL, NULL, SOCK_CLOEXEC);
	struct ucred who = { .uid = (uid_t)-1 };
	socklen_t n = sizeof(who);

	if (fd < 0)
		return;
	if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &who, &n) ||
	    (who.uid != 0 && who.uid != geteuid() && !s->how->group) ||
	    who.pid <= 0 || /* of a container that this server is in */
	    setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof(limit)) ||
	    !new_client(s, fd, fd, approval_asker_of(who.pid, who.uid)))
		close(fd);
}

static int open_socket(struct server *s)
{
	struct sockaddr_un to = { .sun_family = AF_UNIX };
	const char *path = s->how->socket;
	const struct group *g = s->how->group ? getgrnam(s->how->group) : NULL;
	struct stat st;
	mode_t before;
	int bad;

	if (strlen(path) >= sizeof(to.sun_path))
		return complain_text(EXIT_USAGE, "--socket: the path is too long: %s", path);
	if (s->how->group && !g)
		return complain_text(EXIT_USAGE, "--group: unknown group \"%s\"", s->how->group);
	memcpy(to.sun_path, path, strlen(path));
	s->listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (connect(s->listener, (const struct sockaddr *)&to, sizeof(to)) == 0)
		return complain_text(EXIT_USAGE, "another server listens on %s", path);
	if (lstat(path, &st) == 0 && S_ISSOCK(st.st_mode) && st.st_uid == geteuid())
		unlink(path);
	/* Whatever others may put in its place meanwhile keeps its mode, and a link is not
	 * followed. */
	before = umask(g ? 0117 : 0177);
	bad = s->listener < 0 || bind(s->listener, (const struct sockaddr *)&to, sizeof(to));
	umask(before);
	bad = bad || (g && lchown(path, (uid_t)-1, g->gr_gid)) || listen(s->listener, CLIENTS);
	return bad ? complain_text(EXIT_USAGE, "cannot listen on %s: %s", path, strerror(errno))
		   : 0;
}

/* --- the server ------------------------------------------------------------------------------- */

enum {
	LISTENER,
	FIRST_CLIENT,
	FIRST_CALL = FIRST_CLIENT + CLIENTS,
	POLLED = FIRST_CALL + 2 * CALLS
};

/* What is waited for; how long, in ms: -1 until something comes. */
static int prepare(struct server *s, struct pollfd *p)
{
	long long now = clock_mono_ms(), first = -1;

	for (size_t i = 0; i < POLLED; i++)
		p[i] = (struct pollfd){ .fd = -1, .events = POLLIN };
	p[LISTENER].fd = s->listener;
	for (size_t i = 0; i < CLIENTS; i++)
		p[FIRST_CLIENT + i].fd = s->clients[i].open ? s->clients[i].in : -1;
	for (size_t i = 0; i < CALLS; i++) {
		struct running *g = &s->calls[i];

		if (!g->pid)
			continue;
		p[FIRST_CALL + 2 * i].fd = g->out;
		p[FIRST_CALL + 2 * i + 1].fd = g->err;
		if (now >= g->end_ms)
			kill_call(g);
		if (!g->request.call.tool->writes && (first < 0 || g->end_ms < first))
			first = g->end_ms;
	}
	return first < 0 ? -1 : first > now ? (int)(first - now) : 0;
}

static void attend(struct server *s, const struct pollfd *p)
{
	if (p[LISTENER].revents)
		accept_client(s);
	for (size_t i = 0; i < CALLS; i++) {
		struct running *g = &s->calls[i];

		if (!g->pid)
			continue;
		if (g->err >= 0 && p[FIRST_CALL + 2 * i + 1].revents) {
			receive(&g->err, &g->said, SAID_MAX);
			send_progress(s, g);
		}
		if (g->out >= 0 && p[FIRST_CALL + 2 * i].revents)
			receive(&g->out, &g->printed, PRINTED_MAX);
		if (g->out < 0 && g->err < 0)
			finish_call(s, g);
	}
	for (size_t i = 0; i < CLIENTS; i++)
		if (s->clients[i].open && p[FIRST_CLIENT + i].fd == s->clients[i].in &&
		    p[FIRST_CLIENT + i].revents)
			read_client(s, &s->clients[i]);
}

/* Whether anybody is there to be served, or something to be finished. */
static bool goes_on(const struct server *s)
{
	bool on = s->listener >= 0 && !mcp_ended;

	for (size_t i = 0; i < CLIENTS; i++)
		on = on || (s->clients[i].open && s->clients[i].in >= 0 && !mcp_ended);
	for (size_t i = 0; i < CALLS; i++)
		on = on || s->calls[i].pid;
	return on;
}

static void serve(struct server *s)
{
	struct pollfd p[POLLED];

	while (goes_on(s)) {
		int limit = prepare(s, p);
		bool gone = mcp_ended || (s->listener < 0 && !s->clients[0].open);

		for (size_t i = 0; i < CALLS && gone; i++)
			if (!s->calls[i].killed)
				kill_call(&s->calls[i]);
		if (poll(p, POLLED, limit) > 0)
			attend(s, p);
	}
}

static int remove_one(const char *path, const struct stat *st, int kind, struct FTW *at)
{
	(void)st;
	(void)kind;
	(void)at;
	return remove(path);
}

static int check_ask(struct arena *a, const struct mcp_ask *how)
{
	struct host *live = host_open_live();
	struct site site = { 0 };
	struct err e = { 0 };
	int bad = how->changes ? site_load(live, a, &site, &e) : 0;

	host_close(live);
	if (bad)
		return complain(EXIT_USAGE, &e);
	if (how->group && !how->socket)
		return complain_text(EXIT_USAGE, "--group requires --socket");
	if (how->changes && site.agents.none)
		return complain_text(EXIT_NOT_APPLIED,
				     "%s forbids changes by agents: --allow-changes is refused",
				     SITE_POLICY);
	if (how->overlay && !how->changes)
		return complain_text(EXIT_USAGE, "--overlay requires --allow-changes");
	return 0;
}

/* Runs in "/", where others can create no file; relative paths become absolute first. */
static int leave_folder(struct arena *a, struct mcp_ask *how)
{
	const char **paths[] = { &how->socket,		 &how->captures,	  &how->overlay,
				 &how->nodes.nodes_file, &how->nodes.known_hosts, &how->nodes.key };
	char here[PATH_MAX];

	if (!getcwd(here, sizeof(here)))
		return complain_text(EXIT_USAGE, "cannot read the current folder: %s",
				     strerror(errno));
	for (size_t i = 0; i < sizeof(paths) / sizeof(paths[0]); i++)
		if (*paths[i] && **paths[i] != '/')
			*paths[i] = arena_printf(a, "%s/%s", here, *paths[i]);
	return chdir("/") ? complain_text(EXIT_USAGE, "/: %s", strerror(errno)) : 0;
}

static int verb_mcp(struct run *r)
{
	const struct sigaction ended = { .sa_handler = end_server };
	struct server *s = ARENA_NEW(&r->arena, struct server);
	struct mcp_ask *how = r->ask;
	int code = check_ask(&r->arena, how);

	*s = (struct server){ .r = r, .how = how, .listener = -1 };
	code = code ? code : leave_folder(&r->arena, how);
	code = code ? code : -reach_read(&r->door, &how->nodes, &how->reach);
	if (!how->reach.how.program)
		how->reach.how.program = "gputune mcp --once";
	if (code || (how->socket && (code = open_socket(s)) != 0))
		return code;
	signal(SIGPIPE, SIG_IGN);
	sigaction(SIGTERM, &ended, NULL);
	sigaction(SIGINT, &ended, NULL);
	sigaction(SIGHUP, &ended, NULL);
	if (!s->how->socket)
		new_client(s, STDIN_FILENO, STDOUT_FILENO, (struct approval_asker){ 0 });
	serve(s);
	if (s->scratch[0])
		nftw(s->scratch, remove_one, 8, FTW_DEPTH | FTW_PHYS);
	if (s->how->socket)
		unlink(s->how->socket);
	for (size_t i = 0; i < CLIENTS; i++)
		text_free(&s->clients[i].line);
	return EXIT_CLEAN;
}

static const struct ask_row mcp_ask_rows[] = {
	{ "allow-changes", "also offer propose, apply and undo, for plans that a person approved",
	  ASK_FLAG(mcp_ask, changes) },
	{ "socket",
	  "listen on this local socket instead of standard input; root and this user may connect",
	  ASK_TEXT(mcp_ask, socket), .arg = "PATH", .files = true },
	{ "group", "with --socket: members of this group may connect too", ASK_TEXT(mcp_ask, group),
	  .arg = "NAME" },
	{ "captures", "offer the captured machines of this folder as targets",
	  ASK_TEXT(mcp_ask, captures), .arg = "FOLDER", .files = true },
	{ "overlay", "with --allow-changes: change captured machines, in this folder",
	  ASK_TEXT(mcp_ask, overlay), .arg = "DIR", .files = true },
	{ "once", "answer the requests on standard input, then exit", ASK_FLAG(mcp_ask, once) },
	{ ASK_PART(mcp_ask, nodes, reach_ask) },
	{ "nodes", "offer these machines as targets, by ssh", .kind = ASK_KIND_NOTE },
	{ "node-command", "the program on the nodes (default: gputune mcp --once)",
	  .kind = ASK_KIND_NOTE },
};

const struct verb mcp_verb = {
	.name = "mcp",
	.group = VERB_PROGRAM,
	.summary = "serve coding agents through the Model Context Protocol",
	.about = "Offers read-only verbs as tools on standard input and output, or on a local "
		 "socket. With --allow-changes a plan that a person approved (\"gputune approve\") "
		 "can be applied once. docs/AGENTS.md describes the set-up of clients.",
	.words = "agent agents llm ai server claude cursor",
	.examples = EXAMPLES({ "mcp", "for a client that starts the server itself" },
			     { "mcp --nodes n1,n2", "also two other machines" },
			     { "sudo mcp --allow-changes --socket /run/gputune.sock --group gpu",
			       "a service for a group of users" }),
	.run = verb_mcp,
	.ask = ASK_OF(mcp_ask, NULL, mcp_ask_rows),
};
