/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Two processes for a verb: the reader parses what others wrote and may do nothing else; the other
 * parses nothing of it, looks at the machine when it is asked, and takes the reader's words for
 * text that anybody may have written.
 */
#include "front/verbs/fenced.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/text.h"
#include "front/terminal.h"
#include "front/verbs/report.h"
#include "machine/host/asked.h"
#include "machine/host/confine.h"
#include "machine/host/libraries.h"
#include "machine/host/store.h"
#include "render/display_text.h"
#include "verbs/ranks.h"

enum { SAID_MAX = 1 << 30 };

/* What the reader says, each by a pipe of its own. */
enum { TO_OUT, TO_ERR, TO_FILE, PIPES };

struct fenced_run {
	struct run *r;
	int from[PIPES], to[PIPES]; /* -1: none; the reader has the descriptor itself */
	int requests[2], answers[2];
	struct text said[PIPES];
	struct host *h;
	pid_t parent, pid;
	bool broken; /* it said what no reader says */
};

/* --- which verbs ------------------------------------------------------------------------------ */

static bool reads_now(const struct run *r)
{
	return !r->verb->reads_now || r->verb->reads_now(r->ask);
}

/* Of a capture; on this machine they read what is ours and the kernel's. */
static bool reads_capture(const struct run *r)
{
	const struct verb *v = r->verb;

	return v->reads == READS_CAPTURE && run_capture(r) && reads_now(r);
}

/* Files of others beside this machine: models, results, scripts, journals, packages. One of several
 * ranks has to reach the others, and reads what is root's. */
static bool reads_beside(struct run *r)
{
	return r->verb->reads == READS_FILES && reads_now(r) &&
	       !verb_ranks_there(&r->arena, r->verb, r->ask);
}

enum fence fence_of(struct run *r)
{
	if (run_overlay(r) || !(reads_capture(r) || reads_beside(r)))
		return FENCE_NONE;
	return top_draws(r) ? FENCE_HERE : FENCE_APART;
}

/* Before the fence stands: behind it nothing that can be executed is mapped any more. Whoever calls
 * what is missing says so. */
static void open_libraries(const struct run *r)
{
	static const enum system_library of_readers[] = { LIBRARY_SODIUM, LIBRARY_YAML,
							  LIBRARY_ZLIB, LIBRARY_ZSTD };
	const char *format = r->print.format;
	bool html = format && strcmp(format, "html") == 0;
	struct err unsaid;

	for (size_t i = 0; i < sizeof(of_readers) / sizeof(of_readers[0]); i++)
		if (!reads_capture(r) || (html && of_readers[i] == LIBRARY_SODIUM))
			library_open(of_readers[i], &unsaid);
	if (reads_capture(r) && store_is_packed(run_capture(r)))
		library_open(LIBRARY_ZSTD, &unsaid);
	if (reads_capture(r) && str_ends(run_capture(r), "gz"))
		library_open(LIBRARY_ZLIB, &unsaid);
}

static unsigned verb_fenced_needs_of(const struct run *r)
{
	return r->verb->confine ? r->verb->confine(r->ask) : 0;
}

void fence_here(const struct run *r)
{
	open_libraries(r);
	confine(verb_fenced_needs_of(r) | CONFINE_SCREEN);
}

/* --- the reader ------------------------------------------------------------------------------- */

static void shut(int *fd)
{
	if (*fd >= 0)
		close(*fd);
	*fd = -1;
}

/* In place of a terminal it gets a pipe, and nothing to read from one. */
static void leave_terminal(struct fenced_run *f)
{
	int null = isatty(STDIN_FILENO) ? open("/dev/null", O_RDONLY | O_CLOEXEC) : -1;

	if (null >= 0)
		dup2(null, STDIN_FILENO);
	shut(&null);
	if (f->to[TO_OUT] >= 0)
		dup2(f->to[TO_OUT], STDOUT_FILENO);
	if (f->to[TO_ERR] >= 0)
		dup2(f->to[TO_ERR], STDERR_FILENO);
	shut(&f->to[TO_OUT]);
	shut(&f->to[TO_ERR]);
}

/* What whoever started us left open to be written to: ours are closed on exec. */
static void close_inherited(void)
{
	DIR *d = opendir("/proc/self/fd");
	struct dirent *it;

	while (d && (it = readdir(d))) {
		long long fd;

		if (parse_i64(it->d_name, &fd) || fd <= STDERR_FILENO)
			continue;
		if (!(fcntl((int)fd, F_GETFD) & FD_CLOEXEC) &&
		    (fcntl((int)fd, F_GETFL) & O_ACCMODE) != O_RDONLY)
			close((int)fd);
	}
	if (d)
		closedir(d);
}

static void become_reader(struct fenced_run *f)
{
	struct run *r = f->r;
	struct run_machine *machine = ARENA_NEW(&r->arena, struct run_machine);

	for (unsigned i = 0; i < PIPES; i++)
		shut(&f->from[i]);
	/* Both ends of the answers stay open: who asks a process that has gone is ended, as below,
	 * before it sees an end that it would complain of. */
	shut(&f->requests[0]);
	leave_terminal(f);
	close_inherited();
	confine_rights();
	/* Its end is ours; a change of user forgets that, so it comes after. */
	prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
	if (getppid() != f->parent)
		_exit(EXIT_BLIND);
	r->file = f->to[TO_FILE];
	*machine = (struct run_machine){ f->h->id, f->requests[1], f->answers[0] };
	machine->id.nodename = arena_strdup(&r->arena, f->h->id.nodename);
	machine->id.release = arena_strdup(&r->arena, f->h->id.release);
	machine->id.version = arena_strdup(&r->arena, f->h->id.version);
	machine->id.machine = arena_strdup(&r->arena, f->h->id.machine);
	host_close(f->h);
	r->machine = machine;
	open_libraries(r);
	confine(verb_fenced_needs_of(r));
}

/* --- the other -------------------------------------------------------------------------------- */

static void fenced_receive(struct fenced_run *f, unsigned i)
{
	char buf[16384];
	ssize_t n = read(f->from[i], buf, sizeof(buf));

	if (n < 0 && errno == EINTR)
		return;
	if (n > 0)
		text_addn(&f->said[i], buf, (size_t)n);
	if (n <= 0 || f->said[i].len > SAID_MAX)
		shut(&f->from[i]);
	f->broken = f->broken || f->said[i].len > SAID_MAX;
}

/* Until it asks and says no more. */
static void verb_fenced_attend(struct fenced_run *f)
{
	for (;;) {
		struct pollfd p[PIPES + 1];
		bool open = false;
		int got;

		for (unsigned i = 0; i <= PIPES; i++) {
			p[i] = (struct pollfd){ i < PIPES ? f->from[i] : f->requests[0], POLLIN,
						0 };
			open = open || p[i].fd >= 0;
		}
		if (!open || f->broken || (poll(p, PIPES + 1, -1) < 0 && errno != EINTR))
			return;
		for (unsigned i = 0; i < PIPES; i++)
			if (f->from[i] >= 0 && p[i].revents)
				fenced_receive(f, i);
		if (f->requests[0] < 0 || !p[PIPES].revents)
			continue;
		got = host_answer_one(f->h, f->requests[0], f->answers[1]);
		f->broken = f->broken || got == -EPROTO;
		if (got)
			shut(&f->requests[0]);
	}
}

/* To the terminal: lines, colours and nothing else. */
static int verb_fenced_show(struct fenced_run *f, unsigned which, FILE *out)
{
	TEXT_AUTO clean = { 0 };

	if (f->said[which].len)
		display_page(&clean, f->said[which].s, f->said[which].len);
	if (clean.len)
		fwrite(clean.s, 1, clean.len, out);
	return fflush(out) || ferror(out) ? -1 : 0;
}

static int keep_file(struct fenced_run *f)
{
	const struct text *t = &f->said[TO_FILE];

	return f->r->verb == &report_verb ? report_write(f->r, t->s, t->len)
					  : run_write_new(f->r, t->s, t->len);
}

/* How it ended. A signal that ended it ends us, but for those that its fence or a fault sent. */
static int verb_fenced_code_of(struct fenced_run *f)
{
	int status = 0, code;

	while (waitpid(f->pid, &status, 0) < 0 && errno == EINTR)
		;
	if (WIFSIGNALED(status)) {
		int sig = WTERMSIG(status);

		if (sig == SIGPIPE || sig == SIGTERM || sig == SIGINT || sig == SIGHUP) {
			signal(sig, SIG_DFL);
			raise(sig);
		}
		return complain_text(
			EXIT_BLIND,
			sig == SIGSYS && !f->broken
				? "reading was stopped: the reading process made a system call "
				  "that reading never needs; do not trust its values"
				: "reading was ended by signal %d; its values are discarded",
			sig);
	}
	code = WEXITSTATUS(status);
	return code == FENCED_UNWRITTEN ? -1 : code;
}

static int take_result(struct fenced_run *f)
{
	int code, failed;

	verb_fenced_attend(f);
	if (f->broken)
		kill(f->pid, SIGKILL);
	verb_fenced_show(f, TO_ERR, stderr);
	code = verb_fenced_code_of(f);
	if (verb_fenced_show(f, TO_OUT, stdout))
		code = -1;
	if (f->said[TO_FILE].len && code >= 0 && !f->broken && (failed = keep_file(f)) != 0)
		code = failed;
	return code;
}

/* --- both ------------------------------------------------------------------------------------- */

static bool make_pipe(int *from, int *to, bool wanted)
{
	int ends[2];

	*from = *to = -1;
	if (!wanted)
		return true;
	if (pipe2(ends, O_CLOEXEC))
		return false;
	*from = ends[0];
	*to = ends[1];
	return true;
}

/* A file of -o that is written as a whole by who reads, not by whoever reads for it. */
static bool protects_file(const struct run *r)
{
	return r->print.output && (r->verb == &report_verb || r->verb->makes);
}

static bool make_pipes(struct fenced_run *f)
{
	const bool wanted[PIPES] = { isatty(STDOUT_FILENO), isatty(STDERR_FILENO),
				     protects_file(f->r) };
	bool good = true;

	for (unsigned i = 0; i < PIPES; i++)
		good = make_pipe(&f->from[i], &f->to[i], wanted[i]) && good;
	good = make_pipe(&f->requests[0], &f->requests[1], true) && good;
	return make_pipe(&f->answers[0], &f->answers[1], true) && good;
}

enum fenced fence_divide(struct run *r, int *code)
{
	struct fenced_run f = { .r = r, .parent = getpid(), .h = host_open_live() };
	bool ready = make_pipes(&f);
	void (*before)(int);

	fflush(NULL);
	f.pid = ready ? fork() : -1;
	if (f.pid == 0) {
		become_reader(&f);
		return FENCED_READER;
	}
	if (f.pid < 0)
		*code = complain_text(EXIT_BLIND, "cannot create a process for reading: %s",
				      strerror(errno));
	for (unsigned i = 0; i < PIPES; i++)
		shut(&f.to[i]);
	shut(&f.requests[1]);
	shut(&f.answers[0]);
	/* Who is gone is asked for nothing more. */
	before = signal(SIGPIPE, SIG_IGN);
	if (f.pid > 0)
		*code = take_result(&f);
	signal(SIGPIPE, before);
	for (unsigned i = 0; i < PIPES; i++) {
		shut(&f.from[i]);
		text_free(&f.said[i]);
	}
	shut(&f.requests[0]);
	shut(&f.answers[1]);
	host_close(f.h);
	return FENCED_DONE;
}
