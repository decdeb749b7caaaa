/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Programs that are none: who is started gets its pipes, and whenever somebody polls one of them
 * does what the input says next. It may end by itself, be deaf to SIGTERM or to the end of its
 * input, close what it likes and talk without an end. A process that is not there any more may be
 * neither signalled nor waited for, and nobody is waited for who need not end.
 */
#ifndef FUZZ_LIVE_CHILD_H
#define FUZZ_LIVE_CHILD_H

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "many/cluster/rsh.h"
#include "fuzz_live.h"

enum {
	CHILDREN = 16,
	/* Above every number that the kernel gives: one that went astray would meet nobody. */
	CHILD_PID = 1 << 24,
	CHILD_MUCH = 1 << 17,
	CHILD_WAIT_MS = 1000
};

struct child_peer {
	pid_t pid;
	int fd[3]; /* its own ends; -1: closed */
	int status, event;
	bool ended, reaped, group; /* group: it leads one of its own */
	bool deaf, stays;	   /* deaf to SIGTERM; stays when its input is at its end */
	bool speaks;		   /* it is asked over its input */
	long long id;		   /* of the last request that it read */
	char line[128];		   /* the beginning of the line that it reads */
	size_t line_n;
	size_t flood; /* bytes that it has still to say */
	int flood_to;
};

static struct children {
	struct child_peer c[CHILDREN];
	size_t n;
	int pending[3];		   /* what the next one gets as its descriptors */
	bool poll_torn, read_torn; /* by a signal, the next time */
	atomic_bool stop;
} children;

static struct child_peer *child_of(pid_t pid)
{
	for (size_t i = 0; i < children.n; i++)
		if (children.c[i].pid == pid)
			return &children.c[i];
	/* Whoever that is, it is none of ours. */
	abort();
}

static void child_shut(int *fd)
{
	if (*fd >= 0)
		close(*fd);
	*fd = -1;
}

static void child_end(struct child_peer *c, int status)
{
	uint64_t one = 1;

	if (c->ended)
		return;
	c->ended = true;
	c->status = status;
	for (int i = 0; i < 3; i++)
		child_shut(&c->fd[i]);
	if (c->event >= 0 && write(c->event, &one, sizeof(one)) != sizeof(one))
		abort();
}

/* What does not go in is lost. */
static void child_say(struct child_peer *c, int to, const char *s, size_t n)
{
	if (c->fd[to] >= 0 && n && write(c->fd[to], s, n) < 0 && errno != EAGAIN)
		child_shut(&c->fd[to]);
}

static void child_answer(struct child_peer *c, const char *key, const char *what)
{
	char line[512];
	int n = snprintf(line, sizeof(line),
			 "{\"schema\":\"" CLUSTER_NODE_SCHEMA "\",\"id\":%lld,\"ok\":%s,"
			 "\"%s\":%.300s}\n",
			 c->id, *key == 'a' ? "true" : "false", key, what);

	child_say(c, 1, line, (size_t)n);
}

/* --- what they do ----------------------------------------------------------------------------- */

static void child_read_line(struct child_peer *c, const char *s, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		const char *id;

		if (s[i] != '\n') {
			if (c->line_n + 1 < sizeof(c->line))
				c->line[c->line_n++] = s[i];
			continue;
		}
		c->line[c->line_n] = '\0';
		id = strstr(c->line, "\"id\":");
		c->id = id ? strtoll(id + 5, NULL, 10) : 0;
		c->line_n = 0;
	}
}

static void child_listen(struct child_peer *c)
{
	static char buf[4096];
	ssize_t got =
		c->fd[0] < 0 || !c->speaks ? -1 : recv(c->fd[0], buf, sizeof(buf), MSG_DONTWAIT);

	if (got > 0)
		child_read_line(c, buf, (size_t)got);
	if (got == 0 && !c->stays)
		child_end(c, 0);
}

static void child_flood(struct child_peer *c)
{
	static char much[4096];

	memset(much, c->flood_to == 1 ? 'o' : 'e', sizeof(much));
	for (int i = 0; i < 8 && c->flood && !c->ended; i++) {
		child_say(c, c->flood_to, much, sizeof(much));
		c->flood -= c->flood < sizeof(much) ? c->flood : sizeof(much);
	}
}

static void child_act(struct child_peer *c)
{
	static const char greeting[] = "{\"version\":\"1\",\"asks\":[]}";
	unsigned what = live_byte() % 16;
	const char *s;

	switch (what) {
	case 1:
	case 2:
		s = live_text();
		child_say(c, (int)what, s, strlen(s));
		break;
	case 3:
		c->id = 0;
		child_answer(c, "answer", greeting);
		break;
	case 4:
		child_answer(c, "answer", "{\"k\":1}");
		break;
	case 5:
		child_answer(c, "error", live_text());
		break;
	case 6:
	case 7:
	case 8:
		child_shut(&c->fd[what - 6]);
		break;
	case 9:
		child_end(c, (int)(live_byte() << 8));
		break;
	case 10:
		child_end(c, (int)(1 + live_byte() % 31));
		break;
	case 11:
	case 12:
		c->flood = CHILD_MUCH;
		c->flood_to = (int)what - 10;
		break;
	case 13:
		live_later(100ll * live_byte());
		break;
	case 14:
		if (live_byte() % 2)
			children.read_torn = true;
		else
			children.poll_torn = true;
		break;
	case 15:
		atomic_store(&children.stop, live_byte() % 8 == 1);
		break;
	default:
		break;
	}
}

static void child_step(void)
{
	for (size_t i = 0; i < children.n; i++) {
		struct child_peer *c = &children.c[i];

		if (c->ended)
			continue;
		child_listen(c);
		child_flood(c);
	}
	if (children.n && !live_empty()) {
		struct child_peer *c = &children.c[live_byte() % children.n];

		/* What the input says to one that is gone is said to nobody. */
		child_act(c);
	}
}

static int child_poll(struct pollfd *p, nfds_t n, int timeout,
		      int (*real)(struct pollfd *, nfds_t, int))
{
	int r;

	/* There is always a limit. */
	if (timeout < 0)
		abort();
	child_step();
	if (children.poll_torn) {
		children.poll_torn = false;
		errno = EINTR;
		return -1;
	}
	r = real(p, n, 0);
	live_later(r ? 1 : live_empty() && timeout < CHILD_WAIT_MS ? CHILD_WAIT_MS : timeout);
	return r;
}

/* --- calls ------------------------------------------------------------------------------------ */

int __real_posix_spawn_file_actions_init(posix_spawn_file_actions_t *x);
int __wrap_posix_spawn_file_actions_init(posix_spawn_file_actions_t *x);
int __real_posix_spawn_file_actions_adddup2(posix_spawn_file_actions_t *x, int from, int to);
int __wrap_posix_spawn_file_actions_adddup2(posix_spawn_file_actions_t *x, int from, int to);
int __real_posix_spawn(pid_t *pid, const char *path, const posix_spawn_file_actions_t *x,
		       const posix_spawnattr_t *attr, char *const argv[], char *const env[]);
int __wrap_posix_spawn(pid_t *pid, const char *path, const posix_spawn_file_actions_t *x,
		       const posix_spawnattr_t *attr, char *const argv[], char *const env[]);
int __real_posix_spawnp(pid_t *pid, const char *name, const posix_spawn_file_actions_t *x,
			const posix_spawnattr_t *attr, char *const argv[], char *const env[]);
int __wrap_posix_spawnp(pid_t *pid, const char *name, const posix_spawn_file_actions_t *x,
			const posix_spawnattr_t *attr, char *const argv[], char *const env[]);
ssize_t __real_read(int fd, void *buf, size_t n);
ssize_t __wrap_read(int fd, void *buf, size_t n);
const char *__real_spawn_find(const char *name, bool local, char *buf, size_t cap);
const char *__wrap_spawn_find(const char *name, bool local, char *buf, size_t cap);
int __real_kill(pid_t pid, int sig);
int __wrap_kill(pid_t pid, int sig);
pid_t __real_waitpid(pid_t pid, int *status, int how);
pid_t __wrap_waitpid(pid_t pid, int *status, int how);
pid_t __real_wait4(pid_t pid, int *status, int how, struct rusage *used);
pid_t __wrap_wait4(pid_t pid, int *status, int how, struct rusage *used);
long __real_syscall(long number, ...);
long __wrap_syscall(long number, ...);

int __wrap_posix_spawn_file_actions_init(posix_spawn_file_actions_t *x)
{
	for (int i = 0; i < 3; i++)
		children.pending[i] = -1;
	return __real_posix_spawn_file_actions_init(x);
}

int __wrap_posix_spawn_file_actions_adddup2(posix_spawn_file_actions_t *x, int from, int to)
{
	if (from < 0 || to < 0 || to > 2)
		abort();
	children.pending[to] = from;
	return __real_posix_spawn_file_actions_adddup2(x, from, to);
}

static int child_start(pid_t *pid, const posix_spawnattr_t *attr, char *const argv[])
{
	static const int errors[] = { ENOENT, EACCES, EAGAIN, ENOMEM, E2BIG };
	struct child_peer *c = &children.c[children.n];
	short flags = 0;
	int how = live_result(errors, sizeof(errors) / sizeof(errors[0]));

	if (how || children.n == CHILDREN)
		return how ? how : EAGAIN;
	if (!argv[0] || !*argv[0] || posix_spawnattr_getflags(attr, &flags))
		abort();
	how = (int)live_byte();
	*c = (struct child_peer){ .pid = CHILD_PID + (pid_t)children.n,
				  .event = -1,
				  .group = flags & POSIX_SPAWN_SETPGROUP,
				  .deaf = how & 1,
				  .stays = how & 2,
				  .speaks = children.pending[0] >= 0 };
	for (int i = 0; i < 3; i++) {
		c->fd[i] = children.pending[i] < 0 ? -1
						   : fcntl(children.pending[i], F_DUPFD_CLOEXEC, 3);
		/* Who does not read is not waited for. */
		if (c->fd[i] >= 0 && fcntl(c->fd[i], F_SETFL, O_NONBLOCK))
			abort();
	}
	children.n++;
	*pid = c->pid;
	return 0;
}

int __wrap_posix_spawn(pid_t *pid, const char *path, const posix_spawn_file_actions_t *x,
		       const posix_spawnattr_t *attr, char *const argv[], char *const env[])
{
	if (live && (!path || *path != '/'))
		abort();
	return live ? child_start(pid, attr, argv)
		    : __real_posix_spawn(pid, path, x, attr, argv, env);
}

int __wrap_posix_spawnp(pid_t *pid, const char *name, const posix_spawn_file_actions_t *x,
			const posix_spawnattr_t *attr, char *const argv[], char *const env[])
{
	return live ? child_start(pid, attr, argv)
		    : __real_posix_spawnp(pid, name, x, attr, argv, env);
}

const char *__wrap_spawn_find(const char *name, bool local, char *buf, size_t cap)
{
	if (!live)
		return __real_spawn_find(name, local, buf, cap);
	snprintf(buf, cap, "/bin/%s", name);
	return live_byte() % 16 == 15 ? NULL : buf;
}

ssize_t __wrap_read(int fd, void *buf, size_t n)
{
	if (live && live->files)
		return live_piece(buf, n);
	if (!live || !children.read_torn)
		return __real_read(fd, buf, n);
	children.read_torn = false;
	errno = EINTR;
	return -1;
}

int __wrap_kill(pid_t pid, int sig)
{
	struct child_peer *c;

	if (!live)
		return __real_kill(pid, sig);
	if (pid == 0 || pid == -1)
		abort();
	c = child_of(pid < 0 ? -pid : pid);
	/* Its number may be somebody else's by now; without a group of its own, so is that. */
	if (c->reaped || (pid < 0 && !c->group))
		abort();
	if (sig == SIGKILL || (sig == SIGTERM && !c->deaf))
		child_end(c, sig);
	return 0;
}

pid_t __wrap_waitpid(pid_t pid, int *status, int how)
{
	struct child_peer *c;

	if (!live)
		return __real_waitpid(pid, status, how);
	c = child_of(pid);
	if (c->reaped)
		abort();
	if (!(how & WNOHANG) && live_byte() % 4 == 3) {
		errno = EINTR;
		return -1;
	}
	if (!c->ended && !(how & WNOHANG))
		abort();
	if (!c->ended)
		return 0;
	c->reaped = true;
	*status = c->status;
	return pid;
}

pid_t __wrap_wait4(pid_t pid, int *status, int how, struct rusage *used)
{
	if (!live)
		return __real_wait4(pid, status, how, used);
	if (used)
		memset(used, 0, sizeof(*used));
	return __wrap_waitpid(pid, status, how);
}

/* pidfd_open alone, the one that is called so; an older kernel has none. */
long __wrap_syscall(long number, ...)
{
	struct child_peer *c;
	va_list ap;
	pid_t pid;

	va_start(ap, number);
	pid = va_arg(ap, pid_t);
	va_end(ap);
	if (number != SYS_pidfd_open)
		abort();
	if (!live)
		return __real_syscall(number, pid, 0);
	c = child_of(pid);
	if (c->reaped)
		abort();
	if (live_byte() % 4 == 3) {
		errno = ENOSYS;
		return -1;
	}
	if (c->event < 0)
		c->event = eventfd(c->ended, EFD_CLOEXEC);
	/* The caller closes its own. */
	return fcntl(c->event, F_DUPFD_CLOEXEC, 3);
}

static void children_begin(void)
{
	/* Programs of ours talk to whoever may have closed the pipe. */
	signal(SIGPIPE, SIG_IGN);
	memset(&children, 0, sizeof(children));
	for (int i = 0; i < 3; i++)
		children.pending[i] = -1;
}

/* Nobody is left behind. */
static void children_end(void)
{
	for (size_t i = 0; i < children.n; i++) {
		if (!children.c[i].reaped)
			abort();
		child_shut(&children.c[i].event);
	}
	children.n = 0;
}

#endif
