/* SPDX-License-Identifier: Apache-2.0 */
/* The real source of hints: one epoll of everything, signals among them, and the clock. */
#include "tune/watch/live.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <time.h>
#include <unistd.h>

#include "tune/txn/journal.h"

/* Waking up with somebody else costs nothing; nothing here is in a hurry. */
enum { SLACK_NS = 50000000, EVENTS = 8 };

static struct live_source *live_of(struct source *s)
{
	return (struct live_source *)s;
}

struct hint *hint_add(struct hint_list *l, enum hint_kind kind, const char *via, const char *what)
{
	struct hint *h;

	/* The last place says that more was lost. */
	if (l->n + 1 >= l->cap) {
		kind = HINT_ALL;
		what = "";
		l->n = l->cap - 1;
	}
	if (strlen(what) >= sizeof(h->what)) {
		kind = HINT_ALL;
		what = "";
	}
	h = &l->list[l->n++];
	*h = (struct hint){ .kind = kind, .via = via, .who = { .login_uid = -1 } };
	strcpy(h->what, what);
	return h;
}

int live_add(struct live_source *s, int fd)
{
	struct epoll_event ev = { .events = EPOLLIN, .data = { .fd = fd } };

	if (fd >= 0 && epoll_ctl(s->epoll, EPOLL_CTL_ADD, fd, &ev) < 0) {
		close(fd);
		return -1;
	}
	return fd;
}

static long long clock_ms(clockid_t id)
{
	struct timespec t;

	clock_gettime(id, &t);
	return (long long)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

static long long live_now(struct source *s)
{
	(void)s;
	return clock_ms(CLOCK_MONOTONIC);
}

static long long live_time(struct source *s)
{
	(void)s;
	return clock_ms(CLOCK_REALTIME) / 1000;
}

static void read_signals(struct live_source *s, struct hint_list *l)
{
	struct signalfd_siginfo info;

	while (read(s->signals, &info, sizeof(info)) == (ssize_t)sizeof(info))
		hint_add(l, info.ssi_signo == SIGHUP ? HINT_RELOAD : HINT_STOP, "signal", "");
}

static size_t live_wait(struct source *src, long long until, struct hint *out, size_t cap)
{
	struct live_source *s = live_of(src);
	struct hint_list l = { .list = out, .cap = cap };
	struct epoll_event ev[EVENTS];
	long long left = until - live_now(src);
	int n = epoll_wait(s->epoll, ev, EVENTS,
			   left < 0	     ? 0
			   : left > 86400000 ? 86400000
					     : (int)left);

	for (int i = 0; i < n; i++) {
		int fd = ev[i].data.fd;

		if (fd == s->signals)
			read_signals(s, &l);
		else if (fd == s->fanotify)
			live_fanotify_read(s, &l);
		else if (fd == s->inotify)
			live_inotify_read(s, &l);
		else if (fd == s->route)
			live_route_read(s, &l);
		else if (fd == s->uevent)
			live_uevent_read(s, &l);
		else if (fd == s->gpu_event)
			live_gpu_read(s, &l);
	}
	return l.n;
}

/* --- gputune's own files -----------------------------------------------------------------------
 */

static bool stat_of(struct live_source *s, const char *path, struct stat *st)
{
	char full[4096];
	int n = s->root ? snprintf(full, sizeof(full), "%s%s", s->root, path) : -1;

	return n > 0 && (size_t)n < sizeof(full) && stat(full, st) == 0;
}

/* A lock that another process holds stands in /proc/locks; trying to take it would keep that
 * process from it. */
static bool live_busy(struct source *src)
{
	struct live_source *s = live_of(src);
	char line[256], kind[16];
	unsigned long long ino;
	struct stat st;
	bool busy = false;
	long pid;
	FILE *f;

	if (!stat_of(s, TXN_LOCK, &st))
		return false;
	f = fopen("/proc/locks", "re");
	/* "1: FLOCK  ADVISORY  WRITE 812 fe:00:1234 0 EOF" */
	while (f && !busy && fgets(line, sizeof(line), f))
		busy = sscanf(line, "%*d: %15s %*s %*s %ld %*x:%*x:%llu", kind, &pid, &ino) == 3 &&
		       strcmp(kind, "FLOCK") == 0 && ino == (unsigned long long)st.st_ino &&
		       pid != (long)getpid();
	if (f)
		fclose(f);
	return busy;
}

static unsigned long long live_stamp(struct source *src)
{
	struct stat st;
	unsigned long long sum = 1469598103934665603u;
	long long parts[4];

	if (!stat_of(live_of(src), TXN_JOURNAL, &st))
		return 0;
	parts[0] = (long long)st.st_ino;
	parts[1] = st.st_size;
	parts[2] = st.st_mtim.tv_sec;
	parts[3] = st.st_mtim.tv_nsec;
	for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++)
		sum = (sum ^ (unsigned long long)parts[i]) * 1099511628211u;
	return sum | 1;
}

static void live_listen(struct source *src, const struct mark *marks, size_t n, bool gpus)
{
	struct live_source *s = live_of(src);

	if (s->root)
		live_files_listen(s, marks, n);
	/* The library keeps the driver awake and costs memory: only for those who set something
	 * there. */
	if (gpus && s->devices && !s->gpu_tried)
		live_gpu_start(s);
}

static void close_fd(int fd)
{
	if (fd >= 0)
		close(fd);
}

static void live_close(struct source *src)
{
	struct live_source *s = live_of(src);

	live_gpu_stop(s);
	live_files_close(s);
	close_fd(s->route);
	close_fd(s->uevent);
	close_fd(s->signals);
	close_fd(s->epoll);
	free(s->root);
	free(s);
}

static const struct source_ops live_ops = {
	.now = live_now,
	.time = live_time,
	.wait = live_wait,
	.busy = live_busy,
	.stamp = live_stamp,
	.listen = live_listen,
	.close = live_close,
};

static int open_signals(void)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGINT);
	sigaddset(&set, SIGHUP);
	if (sigprocmask(SIG_BLOCK, &set, NULL) < 0)
		return -1;
	return signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
}

struct source *live_source_open(struct host *h, const char *root, bool devices, struct err *e)
{
	struct live_source *s = calloc(1, sizeof(*s));

	if (!s)
		out_of_memory(0);
	s->source.ops = &live_ops;
	s->h = h;
	s->root = root ? strdup(root) : NULL;
	s->devices = devices;
	s->fanotify = s->inotify = s->route = s->uevent = s->gpu_event = -1;
	s->epoll = epoll_create1(EPOLL_CLOEXEC);
	s->signals = live_add(s, open_signals());
	if (s->epoll < 0 || s->signals < 0) {
		err_set(e, -EIO, "cannot wait for events: %s", strerror(errno));
		live_close(&s->source);
		return NULL;
	}
	if (s->root)
		live_files_open(s);
	if (devices)
		live_netlink_open(s);
	prctl(PR_SET_TIMERSLACK, (unsigned long)SLACK_NS, 0, 0, 0);
	return &s->source;
}
