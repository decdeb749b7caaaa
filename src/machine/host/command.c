/* SPDX-License-Identifier: Apache-2.0 */
/* Seeing one program to its end: its environment, its time and its output are ours. */
#include "machine/host/command.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/text.h"
#include "machine/host/host.h"

bool process_stat_read(struct host *h, long long pid, int tid, struct process_stat *out)
{
	char text[1024], path[64], *open, *close;
	unsigned long long kernel;

	snprintf(path, sizeof(path), tid ? "/proc/%lld/task/%d/stat" : "/proc/%lld/stat", pid, tid);
	if (host_read_line(h, path, text, sizeof(text)) || !(open = strchr(text, '(')) ||
	    !(close = strrchr(open, ')')))
		return false;
	snprintf(out->name, sizeof(out->name), "%.*s", (int)(close - open - 1), open + 1);
	if (sscanf(close + 1,
		   " %c %d %*d %*d %d %*d %*u %*u %*u %*u %*u %llu %llu %*d %*d %*d %*d %*d %*d "
		   "%llu",
		   &out->state, &out->parent, &out->tty, &out->ticks, &kernel, &out->began) != 6)
		return false;
	out->ticks += kernel;
	return true;
}

/* A child's group, signals, folder and descriptors; the fixed folders that programs come from. */

/* Waits by a descriptor of the child, where the kernel has such, and never without an end. */

enum { GRACE_MS = 2000 };

int reap_wait(pid_t pid, int limit_ms, int *status, struct rusage *used)
{
	/* Older kernels have no such descriptor: then it is looked for every millisecond. */
	int fd = limit_ms > 0 ? (int)syscall(SYS_pidfd_open, pid, 0) : -1, r = 1;
	struct pollfd p = { .fd = fd, .events = POLLIN };
	long long until = clock_mono_ms() + limit_ms;

	while (r == 1) {
		pid_t got = wait4(pid, status, WNOHANG, used);
		long long left = until - clock_mono_ms();

		if (got == pid)
			r = 0;
		else if (got < 0 && errno != EINTR)
			r = -errno;
		else if (left <= 0)
			r = -ETIME;
		else
			poll(&p, fd >= 0, fd >= 0 ? (int)left : 1);
	}
	if (fd >= 0)
		close(fd);
	return r;
}

bool reap_kill(pid_t pid, bool group, int *status, struct rusage *used)
{
	kill(group ? -pid : pid, SIGKILL);
	return reap_wait(pid, GRACE_MS, status, used) != -ETIME;
}

const char *spawn_find(const char *name, bool local, char *buf, size_t cap)
{
	static const char *const dirs[] = { "/usr/local/sbin", "/usr/local/bin", "/usr/sbin",
					    "/usr/bin",	       "/sbin",		 "/bin" };
	enum { LOCAL = 2 };

	if (*name == '/')
		return access(name, X_OK) == 0 ? name : NULL;
	if (strchr(name, '/'))
		return NULL;
	for (size_t i = local ? 0 : LOCAL; i < sizeof(dirs) / sizeof(dirs[0]); i++) {
		int n = snprintf(buf, cap, "%s/%s", dirs[i], name);

		if (n > 0 && (size_t)n < cap && access(buf, X_OK) == 0)
			return buf;
	}
	return NULL;
}

static int attributes(posix_spawnattr_t *attr, const struct spawn *s)
{
	sigset_t none, all;
	int r = posix_spawnattr_init(attr);

	if (r)
		return r;
	sigemptyset(&none);
	sigfillset(&all);
	posix_spawnattr_setsigmask(attr, &none);
	posix_spawnattr_setsigdefault(attr, &all);
	/* Its own group, so that the time limit reaches its children too. */
	posix_spawnattr_setpgroup(attr, 0);
	return posix_spawnattr_setflags(attr,
					(short)((s->apart   ? POSIX_SPAWN_SETSID
						 : s->front ? 0
							    : POSIX_SPAWN_SETPGROUP) |
						POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF));
}

/* The input is named from here, not from the folder that it runs in. */
static int redirect(posix_spawn_file_actions_t *actions, const struct spawn *s)
{
	int r = posix_spawn_file_actions_init(actions);

	if (r == 0 && s->from > 0)
		r = posix_spawn_file_actions_adddup2(actions, s->from, 0);
	else if (r == 0)
		r = posix_spawn_file_actions_addopen(actions, 0, s->input ? s->input : "/dev/null",
						     O_RDONLY, 0);
	if (r == 0 && s->dir)
		r = posix_spawn_file_actions_addchdir_np(actions, s->dir);
	if (r == 0 && s->output >= 0)
		r = posix_spawn_file_actions_adddup2(actions, s->output, 1);
	if (r == 0 && s->errors >= 0)
		r = posix_spawn_file_actions_adddup2(actions, s->errors, 2);
	for (int fd = 1; r == 0 && s->apart && fd < 3; fd++)
		r = posix_spawn_file_actions_addopen(actions, fd, "/dev/null", O_RDWR, 0);
	if (r == 0 && s->apart)
		r = posix_spawn_file_actions_addclosefrom_np(actions, 3);
	return r;
}

int spawn_start(const struct spawn *s, pid_t *pid)
{
	posix_spawn_file_actions_t actions;
	posix_spawnattr_t attr;
	int r = redirect(&actions, s);

	if (r)
		return -r;
	r = attributes(&attr, s);
	if (r == 0)
		r = s->path ? posix_spawn(pid, s->path, &actions, &attr, s->argv, s->env)
			    : posix_spawnp(pid, s->argv[0], &actions, &attr, s->argv, s->env);
	if (r)
		*pid = 0;
	posix_spawn_file_actions_destroy(&actions);
	posix_spawnattr_destroy(&attr);
	return -r;
}

enum { LOOK_MS = 50, FACTOR = 2, SLICE_MS = 60000 };

/* A program under way. */
struct child {
	pid_t pid;
	int out, err; /* -1: at its end */
	double begin; /* seconds, monotonic */
	long long deadline;
	size_t max;
	bool tail;  /* more than max bytes of output are cut at their beginning; else they are too
		       much */
	bool front; /* it is in our own group: it is ended alone */
	const atomic_bool *stop;
	struct text text, errors;
};

/* Keeps the last max bytes, when twice as many have come together. */
static void cut_head(struct text *t, size_t max)
{
	if (t->len < FACTOR * max)
		return;
	memmove(t->s, t->s + t->len - max, max);
	t->s[max] = '\0';
	t->len = max;
}

/* Takes what one of the two pipes holds; what does not fit of its errors is dropped. 1 at the end
 * of the pipe, 0, -EFBIG or another negative errno. */
static int command_take(struct child *c, bool errors)
{
	struct text *t = errors ? &c->errors : &c->text;
	char buf[4096];
	ssize_t n = read(errors ? c->err : c->out, buf, sizeof(buf));
	size_t room;

	if (n < 0)
		return errno == EINTR ? 0 : -errno;
	if (!errors && c->tail) {
		text_addn(t, buf, (size_t)n);
		cut_head(t, c->max);
		return n == 0;
	}
	room = (errors ? COMMAND_ERRORS_MAX : c->max) - t->len;
	if ((size_t)n > room && !errors)
		return -EFBIG;
	text_addn(t, buf, (size_t)n > room ? room : (size_t)n);
	return n == 0;
}

/* How long one wait may be; 0 when there is no more time. Who can be stopped looks now and then. */
static int slice(const struct child *c)
{
	long long left = c->deadline - clock_mono_ms();

	if (left <= 0)
		return 0;
	if (c->stop && left > LOOK_MS)
		return LOOK_MS;
	return left > SLICE_MS ? SLICE_MS : (int)left;
}

static bool stopped(const struct child *c)
{
	return c->stop && atomic_load(c->stop);
}

/* Reads both pipes until their end, the time limit or the size limit. 0, -EINTR, -ETIME or
 * -EFBIG. */
static int command_collect(struct child *c)
{
	while (c->out >= 0 || c->err >= 0) {
		struct pollfd p[2] = { { .fd = c->out, .events = POLLIN },
				       { .fd = c->err, .events = POLLIN } };
		int left = slice(c), ready = left > 0 ? poll(p, 2, left) : 0;

		if (stopped(c))
			return -EINTR;
		if (ready == 0 && slice(c) == 0)
			return -ETIME;
		/* Interrupted: a read would wait without a limit. */
		if (ready < 0 && errno == EINTR)
			continue;
		if (ready < 0)
			return -errno;
		for (int i = 0; i < 2; i++) {
			int r = p[i].fd >= 0 && p[i].revents ? command_take(c, i) : 0;

			if (r < 0)
				return r;
			if (r)
				*(i ? &c->err : &c->out) = -1;
		}
	}
	return 0;
}

/* A program may close its output and go on: the limit holds for its end too. */
static int command_await(const struct child *c, int *status)
{
	for (;;) {
		int left = slice(c), r = reap_wait(c->pid, left, status, NULL);

		if (r != -ETIME || left == 0)
			return r;
		if (stopped(c))
			return -EINTR;
	}
}

/* Both pipes or none. */
static int open_pipes(int out[2], int err[2])
{
	int r = pipe2(out, O_CLOEXEC) < 0 ? -errno : 0;

	if (r)
		return r;
	if (pipe2(err, O_CLOEXEC) == 0)
		return 0;
	r = -errno;
	close(out[0]);
	close(out[1]);
	return r;
}

/* Until it ends by itself or has to: its exit status, or 128 + signal. */
static int see_out(struct child *c)
{
	int status = 0, r = command_collect(c);

	if (r == 0)
		r = command_await(c, &status);
	if (r == 0)
		return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
	reap_kill(c->pid, !c->front, &status, NULL);
	return r;
}

static int command_attend(struct arena *a, struct child *c, struct command_result *out)
{
	int r = see_out(c);

	if (r < 0)
		return r;
	out->seconds = clock_mono_s() - c->begin;
	out->status = r;
	if (c->tail && c->text.len > c->max) {
		memmove(c->text.s, c->text.s + c->text.len - c->max, c->max + 1);
		c->text.len = c->max;
	}
	out->output = arena_strdup(a, c->text.s ? c->text.s : "");
	out->errors = arena_strdup(a, c->errors.s ? c->errors.s : "");
	return 0;
}

static int command_run_one(struct arena *a, struct spawn *s, const struct command_of_user *how,
			   bool own, struct command_result *out)
{
	struct child c = { .pid = -1,
			   .max = how->max,
			   .tail = own,
			   .stop = how->stop,
			   .begin = clock_mono_s(),
			   .deadline = clock_mono_ms() + how->limit_ms };
	int o[2], e[2], r = open_pipes(o, e);

	if (r)
		return r;
	s->output = o[1];
	s->errors = e[1];
	r = spawn_start(s, &c.pid);
	close(o[1]);
	close(e[1]);
	c.out = o[0];
	c.err = e[0];
	if (r == 0 && c.pid > 0)
		r = command_attend(a, &c, out);
	close(o[0]);
	close(e[0]);
	text_free(&c.text);
	text_free(&c.errors);
	return r;
}

int command_run(struct arena *a, char *const *argv, int limit_ms, size_t max,
		struct command_result *out)
{
	char path[] = "PATH=/usr/sbin:/usr/bin:/sbin:/bin", locale[] = "LC_ALL=C", buf[256];
	char *const environment[] = { path, locale, NULL };
	/* posix_spawnp() would search this process's PATH, not the child's. Asked first also
	 * because where vfork is a plain fork, posix_spawn does not tell a missing file. */
	struct spawn s = { .path = strchr(argv[0], '/')
					   ? NULL
					   : spawn_find(argv[0], false, buf, sizeof(buf)),
			   .argv = argv,
			   .env = environment };

	return s.path ? command_run_one(
				a, &s,
				&(struct command_of_user){ .limit_ms = limit_ms, .max = max },
				false, out)
		      : -ENOENT;
}

int command_run_own(struct arena *a, char *const *argv, const struct command_of_user *how,
		    struct command_result *out)
{
	struct spawn s = { .argv = argv, .env = how->env ? how->env : environ };

	return command_run_one(a, &s, how, true, out);
}

int command_front(const struct command_front *f, struct err *e)
{
	char path[] = "PATH=" SPAWN_PATH, locale[] = "LC_ALL=C", home[PATH_MAX + 8] = "HOME=/",
	     buf[PATH_MAX];
	char *const plain[] = { path, locale, home, NULL };
	struct spawn s = { .path = spawn_find(f->argv[0], true, buf, sizeof(buf)),
			   .argv = f->argv,
			   .env = f->env ? f->env : plain,
			   .dir = f->dir,
			   .input = f->input,
			   .output = f->output,
			   .errors = f->errors_apart ? -1 : f->output,
			   .front = true };
	struct child c = { .out = -1, .err = -1, .front = true };
	int r;

	if (!s.path)
		return err_set(e, -ENOENT, "program %.200s not found", f->argv[0]);
	if (getenv("HOME"))
		snprintf(home, sizeof(home), "HOME=%s", getenv("HOME"));
	fflush(NULL);
	r = spawn_start(&s, &c.pid);
	if (r)
		return err_set(e, r, "cannot start %.200s: %s", f->argv[0], strerror(-r));
	c.deadline = f->limit_s ? clock_mono_ms() + f->limit_s * 1000ll : LLONG_MAX;
	r = see_out(&c);
	if (r == -ETIME)
		return err_set(e, r, "%.200s was killed after %d s", f->argv[0], f->limit_s);
	return r < 0 ? err_set(e, r, "%.200s: %s", f->argv[0], strerror(-r)) : r;
}

bool command_is_pci(const char *s)
{
	unsigned domain, bus, device, function;
	char rest;

	return strlen(s) <= 16 && !s[strspn(s, "0123456789abcdefABCDEF:.")] &&
	       sscanf(s, "%8x:%2x:%2x.%1x%c", &domain, &bus, &device, &function, &rest) == 4;
}

int command_errno(const struct command_result *r)
{
	/* Words of systemctl, zpool, nvidia-smi and modprobe, in the C locale. */
	static const struct {
		const char *word;
		int error;
	} said[] = {
		{ "ermission", EACCES },
		{ "Access denied", EACCES },
		{ "must be root", EACCES },
		{ "uthentication", EACCES },
		{ "ead-only", EPERM },
		{ "No devices were found", ENODEV },
		{ "not been booted", EOPNOTSUPP },
		{ "Failed to connect to bus", EOPNOTSUPP },
		{ "not supported", EOPNOTSUPP },
		{ "Not Supported", EOPNOTSUPP },
		{ "does not exist", ENOENT },
		{ "no such pool", ENOENT },
		{ "not found", ENOENT },
		{ "not loaded", ENOENT },
		{ "already exists", EEXIST },
		{ "is masked", EBUSY },
		{ "in use", EBUSY },
		{ "invalid property", EOPNOTSUPP },
		{ "out of range", EINVAL },
		{ "must be", EINVAL },
		{ "Invalid argument", EINVAL },
	};

	if (r->status == 0)
		return 0;
	for (size_t i = 0; i < sizeof(said) / sizeof(said[0]); i++)
		if (strstr(r->errors, said[i].word) || strstr(r->output, said[i].word))
			return -said[i].error;
	return -EIO;
}

int command_report(struct arena *a, char *const *argv, int limit_ms, size_t max,
		   const char **output)
{
	struct command_result result = { 0 };
	int r = command_run(a, argv, limit_ms, max, &result);

	if (r == 0)
		r = command_errno(&result);
	if (r == 0 && output)
		*output = result.output;
	return r;
}

const char *command_last_line(struct arena *a, const char *text, size_t max)
{
	size_t n = strlen(text), from;
	char *line;

	while (n && (text[n - 1] == '\n' || text[n - 1] == ' '))
		n--;
	for (from = n; from && text[from - 1] != '\n' && n - from < max; from--)
		;
	line = arena_strndup(a, text + from, n - from);
	for (char *c = line; *c; c++)
		if ((unsigned char)*c < ' ' || *c == 127)
			*c = '?';
	return line;
}
