/* SPDX-License-Identifier: Apache-2.0 */
/* The real source of hints: one epoll of everything, signals among them, and the clock. */
#include <errno.h>
#include <fcntl.h>
#include <libmnl/libmnl.h>
#include <limits.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <net/if.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/fanotify.h>
#include <sys/inotify.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <time.h>
#include <unistd.h>

#include "tune/watch/live.h"
#include "tune/txn/journal.h"
#include "base/text.h"
#include "machine/host/interface.h"
#include "machine/host/libraries.h"
#include "machine/host/nvml.h"
#include "machine/host/vendor.h"

/* Waking up with somebody else costs nothing; nothing here is in a hurry. */
enum { SLACK_NS = 50000000, EVENTS = 8 };

static struct live_source *live_of(struct source *s)
{
	return (struct live_source *)s;
}

static struct hint *hint_add(struct hint_list *l, enum hint_kind kind, const char *via,
			     const char *what)
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

/* Adds a descriptor to what wakes; closes it and returns -1 when that fails. */
static int live_add(struct live_source *s, int fd)
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

/* --- gputune's own files ---------------------------------------------------------------------- */

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

static void close_fd(int fd)
{
	if (fd >= 0)
		close(fd);
}

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

/*
 * Hearing of writes. The kernel tells of every write(2) that reaches a file of sysfs or procfs as
 * it does for any other file: fanotify (root alone) also says from which process it came.
 * /proc/sys makes another inode when nobody has looked at a file for long, so that these are held.
 */

enum { MARKS_MAX = 16384, BATCH = 4096 };
enum {
	FOLDER_MASK = IN_CLOSE_WRITE | IN_MODIFY | IN_CREATE | IN_DELETE | IN_MOVE | IN_ONLYDIR,
	FILE_MASK = IN_MODIFY | IN_DELETE_SELF | IN_MOVE_SELF
};

static void live_files_open(struct live_source *s)
{
	s->fanotify = live_add(s, fanotify_init(FAN_CLOEXEC | FAN_NONBLOCK | FAN_CLASS_NOTIF,
						O_RDONLY | O_CLOEXEC | O_LARGEFILE | O_NONBLOCK));
	s->inotify = live_add(s, inotify_init1(IN_CLOEXEC | IN_NONBLOCK));
}

static void forget_marks(struct live_source *s)
{
	for (size_t i = 0; i < s->n; i++) {
		if (s->marks[i].hold >= 0)
			close(s->marks[i].hold);
		free(s->marks[i].path);
	}
	free(s->marks);
	s->marks = NULL;
	s->n = 0;
}

static void live_files_close(struct live_source *s)
{
	forget_marks(s);
	if (s->fanotify >= 0)
		close(s->fanotify);
	if (s->inotify >= 0)
		close(s->inotify);
}

static bool full_path(const struct live_source *s, const char *path, char out[PATH_MAX])
{
	int n = snprintf(out, PATH_MAX, "%s%s", s->root, path);

	return n > 0 && n < PATH_MAX;
}

static void mark_file(struct live_source *s, struct live_mark *m, const char *full)
{
	struct stat st;

	if (stat(full, &st) < 0 || !S_ISREG(st.st_mode))
		return;
	m->dev = (uint64_t)st.st_dev;
	m->ino = (uint64_t)st.st_ino;
	if (s->fanotify < 0 ||
	    fanotify_mark(s->fanotify, FAN_MARK_ADD, FAN_MODIFY, AT_FDCWD, full) < 0)
		m->wd = inotify_add_watch(s->inotify, full, FILE_MASK);
	if (str_starts(m->path, "/proc/sys/"))
		m->hold = open(full, O_PATH | O_CLOEXEC);
}

/* All marks are made anew: adding one that is there changes nothing, and what was there before may
 * be another file by now. */
static void live_files_listen(struct live_source *s, const struct mark *marks, size_t n)
{
	char full[PATH_MAX];

	if (s->fanotify >= 0)
		fanotify_mark(s->fanotify, FAN_MARK_FLUSH, 0, AT_FDCWD, NULL);
	for (size_t i = 0; i < s->n; i++)
		if (s->marks[i].wd >= 0)
			inotify_rm_watch(s->inotify, s->marks[i].wd);
	forget_marks(s);
	if (n > MARKS_MAX)
		n = MARKS_MAX;
	s->marks = calloc(n ? n : 1, sizeof(*s->marks));
	if (!s->marks)
		out_of_memory(0);
	for (size_t i = 0; i < n; i++) {
		struct live_mark *m = &s->marks[s->n];

		*m = (struct live_mark){ .wd = -1, .hold = -1, .folder = marks[i].folder };
		m->path = strdup(marks[i].path);
		if (!m->path)
			out_of_memory(0);
		s->n++;
		if (!full_path(s, m->path, full))
			continue;
		if (!m->folder)
			mark_file(s, m, full);
		else if (s->inotify >= 0)
			m->wd = inotify_add_watch(s->inotify, full, (uint32_t)FOLDER_MASK);
	}
}

/* --- what was heard --------------------------------------------------------------------------- */

static const struct live_mark *mark_of_inode(const struct live_source *s, const struct stat *st)
{
	for (size_t i = 0; i < s->n; i++)
		if (s->marks[i].ino == (uint64_t)st->st_ino &&
		    s->marks[i].dev == (uint64_t)st->st_dev && !s->marks[i].folder)
			return &s->marks[i];
	return NULL;
}

static void take_fanotify(struct live_source *s, const struct fanotify_event_metadata *m,
			  struct hint_list *l)
{
	const struct live_mark *mark = NULL;
	struct hint *h;
	struct stat st;

	if (m->mask & FAN_Q_OVERFLOW) {
		hint_add(l, HINT_ALL, "fanotify", "");
		return;
	}
	/* What this process writes it knows. */
	if (m->fd >= 0 && m->pid != getpid() && fstat(m->fd, &st) == 0)
		mark = mark_of_inode(s, &st);
	if (m->fd >= 0)
		close(m->fd);
	if (!mark)
		return;
	h = hint_add(l, HINT_PATH, "fanotify", mark->path);
	who_look(s->h, m->pid, &h->who);
}

void live_fanotify_read(struct live_source *s, struct hint_list *l)
{
	_Alignas(struct fanotify_event_metadata) char buf[BATCH];
	ssize_t n;

	while ((n = read(s->fanotify, buf, sizeof(buf))) > 0) {
		const struct fanotify_event_metadata *m = (const void *)buf;

		for (; FAN_EVENT_OK(m, n); m = FAN_EVENT_NEXT(m, n)) {
			if (m->vers == FANOTIFY_METADATA_VERSION)
				take_fanotify(s, m, l);
			if (m->event_len % _Alignof(struct fanotify_event_metadata))
				break;
		}
	}
}

static void take_inotify(struct live_source *s, const struct inotify_event *ev, struct hint_list *l)
{
	const struct live_mark *m = NULL;
	char path[sizeof(l->list[0].what)];
	int n;

	if (ev->mask & IN_Q_OVERFLOW) {
		hint_add(l, HINT_ALL, "inotify", "");
		return;
	}
	for (size_t i = 0; i < s->n && !m; i++)
		if (s->marks[i].wd == ev->wd)
			m = &s->marks[i];
	if (!m || ev->mask & IN_IGNORED)
		return;
	/* Another file stands in its place, which has to be listened to. */
	if (ev->mask & (IN_DELETE_SELF | IN_MOVE_SELF)) {
		hint_add(l, HINT_ALL, "inotify", "");
		return;
	}
	n = m->folder && ev->len ? snprintf(path, sizeof(path), "%s/%s", m->path, ev->name)
				 : snprintf(path, sizeof(path), "%s", m->path);
	if (n > 0 && (size_t)n < sizeof(path))
		hint_add(l, HINT_PATH, "inotify", path);
	else
		hint_add(l, HINT_ALL, "inotify", "");
}

void live_inotify_read(struct live_source *s, struct hint_list *l)
{
	_Alignas(struct inotify_event) char buf[BATCH];
	ssize_t n;

	while ((n = read(s->inotify, buf, sizeof(buf))) > 0)
		for (ssize_t at = 0; at + (ssize_t)sizeof(struct inotify_event) <= n;) {
			const struct inotify_event *ev = (const void *)(buf + at);

			at += (ssize_t)(sizeof(*ev) + ev->len);
			if (at > n || ev->len % _Alignof(struct inotify_event) ||
			    (ev->len && !memchr(ev->name, '\0', ev->len)))
				break;
			take_inotify(s, ev, l);
		}
}

/*
 * Hearing of GPUs: NVML's event set, waited for in a thread of its own, because it has no
 * descriptor to poll. A state of performance or a clock that changes says that a lock may be gone;
 * a critical error, that the driver may have set itself anew. Interface: NVML's reference manual,
 * "Event Handling Methods"; declared here by hand, because it is called from nowhere else.
 */

enum { EVENT_PSTATE = 0x4, EVENT_XID = 0x8, EVENT_CLOCK = 0x10, GPUS_MAX = 64 };
/* A wait that ends without an event costs a waking; one that is long costs nothing at the end, as
 * nobody waits for the thread. */
enum { WAIT_MS = 60000, STACK = 256 << 10, PAUSE_S = 5 };

struct nvml_event_set;

struct nvml_event {
	struct nvml_device *device;
	unsigned long long type, data;
	unsigned gpu_instance, compute_instance;
};
_Static_assert(sizeof(struct nvml_event) == 32, "nvmlEventData_t");

/* As nvml.h has it: a member a function. */
struct api {
	int (*init)(void);
	int (*count)(unsigned *n);
	int (*handle)(unsigned index, struct nvml_device **out);
	int (*supported)(struct nvml_device *d, unsigned long long *types);
	int (*create)(struct nvml_event_set **out);
	int (*enlist)(struct nvml_device *d, unsigned long long types, struct nvml_event_set *set);
	int (*wait)(struct nvml_event_set *set, struct nvml_event *out, unsigned ms);
};

static int no_init(void)
{
	return NVML_FUNCTION_NOT_FOUND;
}

static int no_count(unsigned *n)
{
	(void)n;
	return NVML_FUNCTION_NOT_FOUND;
}

static int no_handle(unsigned index, struct nvml_device **out)
{
	(void)index;
	(void)out;
	return NVML_FUNCTION_NOT_FOUND;
}

static int no_supported(struct nvml_device *d, unsigned long long *types)
{
	(void)d;
	(void)types;
	return NVML_FUNCTION_NOT_FOUND;
}

static int no_create(struct nvml_event_set **out)
{
	(void)out;
	return NVML_FUNCTION_NOT_FOUND;
}

static int no_enlist(struct nvml_device *d, unsigned long long types, struct nvml_event_set *set)
{
	(void)d;
	(void)types;
	(void)set;
	return NVML_FUNCTION_NOT_FOUND;
}

static int no_wait(struct nvml_event_set *set, struct nvml_event *out, unsigned ms)
{
	(void)set;
	(void)out;
	(void)ms;
	return NVML_FUNCTION_NOT_FOUND;
}

static const struct vendor_symbol symbols[] = {
	{ "nvmlInit_v2", offsetof(struct api, init), (void (*)(void))no_init },
	{ "nvmlDeviceGetCount_v2", offsetof(struct api, count), (void (*)(void))no_count },
	{ "nvmlDeviceGetHandleByIndex_v2", offsetof(struct api, handle),
	  (void (*)(void))no_handle },
	{ "nvmlDeviceGetSupportedEventTypes", offsetof(struct api, supported),
	  (void (*)(void))no_supported },
	{ "nvmlEventSetCreate", offsetof(struct api, create), (void (*)(void))no_create },
	{ "nvmlDeviceRegisterEvents", offsetof(struct api, enlist), (void (*)(void))no_enlist },
	{ "nvmlEventSetWait_v2", offsetof(struct api, wait), (void (*)(void))no_wait },
};

/* Shared with the thread, which outlives the watcher or ends before it. */
struct live_gpu {
	struct api api;
	struct nvml_event_set *set;
	int event; /* its own: the watcher's is closed, and its number used again, while it waits */
	atomic_bool stop;
	atomic_int users;
};

static void drop(struct live_gpu *g)
{
	if (atomic_fetch_sub(&g->users, 1) == 1)
		free(g);
}

static void *listen_to_gpus(void *ctx)
{
	struct live_gpu *g = ctx;
	struct nvml_event ev;

	while (!atomic_load(&g->stop)) {
		int r = g->api.wait(g->set, &ev, WAIT_MS);
		uint64_t one = 1;

		if (atomic_load(&g->stop))
			break;
		/* A wait that fails is news as well: a GPU fell off the bus, or the driver went. */
		if (r != NVML_TIMEOUT && write(g->event, &one, sizeof(one)) < 0)
			break;
		if (r != NVML_TIMEOUT && r != NVML_SUCCESS)
			break;
		/* A busy GPU changes its state all the time. */
		if (r == NVML_SUCCESS)
			sleep(PAUSE_S);
	}
	close(g->event);
	drop(g);
	return NULL;
}

static bool enlist_all(struct live_gpu *g)
{
	unsigned long long types = 0;
	struct nvml_device *d;
	bool any = false;
	unsigned n = 0;

	if (g->api.wait == no_wait || g->api.count(&n) != NVML_SUCCESS ||
	    g->api.create(&g->set) != NVML_SUCCESS)
		return false;
	for (unsigned i = 0; i < n && i < GPUS_MAX; i++) {
		if (g->api.handle(i, &d) != NVML_SUCCESS ||
		    g->api.supported(d, &types) != NVML_SUCCESS)
			continue;
		types &= EVENT_PSTATE | EVENT_XID | EVENT_CLOCK;
		any = (types && g->api.enlist(d, types, g->set) == NVML_SUCCESS) || any;
	}
	return any;
}

static bool start_thread(struct live_gpu *g)
{
	pthread_attr_t attr;
	pthread_t thread;
	bool ok;

	if (pthread_attr_init(&attr))
		return false;
	pthread_attr_setstacksize(&attr, STACK);
	pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
	atomic_init(&g->users, 2);
	ok = pthread_create(&thread, &attr, listen_to_gpus, g) == 0;
	pthread_attr_destroy(&attr);
	return ok;
}

static void live_gpu_start(struct live_source *s)
{
	struct live_gpu *g = calloc(1, sizeof(*g));
	void *lib;

	if (!g)
		out_of_memory(0);
	s->gpu_tried = true;
	/* The library stays open: its thread may be in it when the program ends. */
	if (vendor_open("libnvidia-ml.so.1", symbols, sizeof(symbols) / sizeof(symbols[0]), &g->api,
			&lib) == 0 &&
	    g->api.init() == NVML_SUCCESS && enlist_all(g)) {
		s->gpu_event = live_add(s, eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
		g->event = s->gpu_event < 0 ? -1 : fcntl(s->gpu_event, F_DUPFD_CLOEXEC, 0);
		if (g->event >= 0 && start_thread(g)) {
			s->gpu = g;
			return;
		}
		if (g->event >= 0)
			close(g->event);
	}
	free(g);
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

static void live_gpu_read(struct live_source *s, struct hint_list *l)
{
	uint64_t n;

	if (read(s->gpu_event, &n, sizeof(n)) == (ssize_t)sizeof(n))
		hint_add(l, HINT_GPU, "nvml", "");
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

/* Lets go of the library's thread; it ends by itself. */
static void live_gpu_stop(struct live_source *s)
{
	/* What it uses is left to it; the process ends soon. */
	if (!s->gpu)
		return;
	atomic_store(&s->gpu->stop, true);
	drop(s->gpu);
	s->gpu = NULL;
}

static void watch_live_close(struct source *src)
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
	.close = watch_live_close,
};

/* Hearing of network interfaces (rtnetlink's group of links) and of devices (the kernel's uevents).
 * A message is only a name: what became of it is read elsewhere. */

enum { KERNEL_EVENTS = 1, MESSAGE = 16384 };

static int open_group(int protocol, unsigned groups)
{
	struct sockaddr_nl addr = { .nl_family = AF_NETLINK, .nl_groups = groups };
	int fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC | SOCK_NONBLOCK, protocol);

	if (fd >= 0 && bind(fd, (struct sockaddr *)&addr, sizeof(addr)) < 0) {
		close(fd);
		return -1;
	}
	return fd;
}

static void live_netlink_open(struct live_source *s)
{
	struct err unsaid;
	bool parsed = library_open(LIBRARY_MNL, &unsaid) == 0;

	s->route = live_add(s, parsed ? open_group(NETLINK_ROUTE, RTMGRP_LINK) : -1);
	s->uevent = live_add(s, open_group(NETLINK_KOBJECT_UEVENT, KERNEL_EVENTS));
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
		watch_live_close(&s->source);
		return NULL;
	}
	if (s->root)
		live_files_open(s);
	if (devices)
		live_netlink_open(s);
	prctl(PR_SET_TIMERSLACK, (unsigned long)SLACK_NS, 0, 0, 0);
	return &s->source;
}

/* One message of the kernel's: its length; 0: nothing is left; -1: not the kernel's, or lost. */
static ssize_t next_message(int fd, char *buf, size_t cap, const char *via, struct hint_list *l)
{
	struct sockaddr_nl from = { 0 };
	struct iovec v = { buf, cap };
	struct msghdr m = {
		.msg_name = &from, .msg_namelen = sizeof(from), .msg_iov = &v, .msg_iovlen = 1
	};
	ssize_t n = recvmsg(fd, &m, MSG_DONTWAIT);

	if (n < 0 && errno == EINTR)
		return -1;
	if ((n < 0 && errno == ENOBUFS) || (n > 0 && m.msg_flags & MSG_TRUNC)) {
		hint_add(l, HINT_ALL, via, "");
		return -1;
	}
	if (n <= 0)
		return 0;
	return from.nl_pid == 0 ? n : -1;
}

static int watch_live_on_link_attribute(const struct nlattr *a, void *to)
{
	const char *name = mnl_attr_get_payload(a);
	size_t n = mnl_attr_get_payload_len(a);

	if (mnl_attr_get_type(a) == IFLA_IFNAME && n && n <= IF_NAMESIZE && !name[n - 1])
		hint_add(to, HINT_LINK, "netlink", name);
	return MNL_CB_OK;
}

void live_route_read(struct live_source *s, struct hint_list *l)
{
	_Alignas(struct nlmsghdr) char buf[MESSAGE];
	ssize_t n;

	while ((n = next_message(s->route, buf, sizeof(buf), "netlink", l)) != 0) {
		int left = (int)n;

		for (const struct nlmsghdr *h = (const void *)buf; netlink_ok(h, left);
		     h = mnl_nlmsg_next(h, &left))
			if (h->nlmsg_type == RTM_NEWLINK || h->nlmsg_type == RTM_DELLINK)
				mnl_attr_parse(h, sizeof(struct ifinfomsg),
					       watch_live_on_link_attribute, l);
	}
}

/* "add@/devices/pci0000:00/.../nvme0n1", then NAME=VALUE, each ended by a NUL. */
static void take_uevent(const char *buf, size_t n, struct hint_list *l)
{
	static const char *const actions[] = {
		"add", "remove", "change", "move", "bind", "online"
	};
	const char *at = memchr(buf, '@', n);
	char place[sizeof(l->list[0].what)];
	int len;

	if (!at || !memchr(buf, '\0', n) || !str_starts(at + 1, "/devices/"))
		return;
	for (size_t i = 0; i < sizeof(actions) / sizeof(actions[0]); i++) {
		if ((size_t)(at - buf) != strlen(actions[i]) ||
		    memcmp(buf, actions[i], (size_t)(at - buf)) != 0)
			continue;
		len = snprintf(place, sizeof(place), "/sys%s", at + 1);
		if (len > 0 && (size_t)len < sizeof(place))
			hint_add(l, HINT_DEVICE, "uevent", place);
		return;
	}
}

void live_uevent_read(struct live_source *s, struct hint_list *l)
{
	char buf[MESSAGE];
	ssize_t n;

	while ((n = next_message(s->uevent, buf, sizeof(buf), "uevent", l)) != 0)
		if (n > 0)
			take_uevent(buf, (size_t)n, l);
}
