/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Any bytes as what the kernel sends the watcher: rtnetlink's messages, uevents, fanotify's and
 * inotify's events. The first byte says which; /proc of the process that wrote is the end of the
 * input. What is heard is a hint that can be read, and every descriptor that came is closed.
 */
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/fanotify.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tune/watch/live.h"

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size);

enum { HINTS = 16, MOST = 4096 };

struct proc {
	struct host host;
	const unsigned char *data;
	size_t n;
};

static int read_proc(struct host *h, const char *path, char *buf, size_t cap, size_t *len)
{
	const struct proc *p = (const struct proc *)h;

	(void)path;
	*len = p->n > cap ? cap + 1 : p->n;
	if (p->n)
		memcpy(buf, p->data, p->n < cap ? p->n : cap);
	return 0;
}

static const struct host_ops proc_ops = { .read = read_proc };

/* A descriptor that is ours to give away, of the file that is marked or of another. */
static int give(unsigned which)
{
	return which % 3 ? open(which % 3 == 1 ? "/dev/null" : "/dev/zero", O_RDONLY | O_CLOEXEC)
			 : FAN_NOFD;
}

/* The kernel's descriptors are real ones: a number of the input's would be somebody's. */
static void real_descriptors(char *bytes, size_t size)
{
	struct fanotify_event_metadata *m = (void *)bytes;
	ssize_t n = (ssize_t)size;

	for (; FAN_EVENT_OK(m, n); m = FAN_EVENT_NEXT(m, n)) {
		if (m->vers == FANOTIFY_METADATA_VERSION && !(m->mask & FAN_Q_OVERFLOW))
			m->fd = give((unsigned)m->fd);
		if (m->event_len % _Alignof(struct fanotify_event_metadata))
			return;
	}
}

/* As one message, or as what is read at once. */
static int from(const void *bytes, size_t n, bool message)
{
	int fd[2];

	if (message ? socketpair(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0, fd)
		    : pipe2(fd, O_CLOEXEC | O_NONBLOCK))
		abort();
	/* A datagram of nothing would be a message of length 0, which ends the reading. */
	if (n && write(fd[1], bytes, n) != (ssize_t)n)
		abort();
	close(fd[1]);
	return fd[0];
}

static void hear(struct live_source *s, char kind, char *bytes, size_t n, struct hint_list *l)
{
	int fd;

	if (kind == 'f')
		real_descriptors(bytes, n);
	fd = from(bytes, n, kind == 'r' || kind == 'u');
	s->route = s->uevent = s->fanotify = s->inotify = fd;
	if (kind == 'r')
		live_route_read(s, l);
	else if (kind == 'u')
		live_uevent_read(s, l);
	else if (kind == 'f')
		live_fanotify_read(s, l);
	else
		live_inotify_read(s, l);
	close(fd);
}

static void holds(const struct hint_list *l)
{
	if (l->n > l->cap)
		abort();
	for (size_t i = 0; i < l->n; i++)
		if (!l->list[i].via || strlen(l->list[i].what) >= sizeof(l->list[i].what) ||
		    strlen(l->list[i].who.name) >= sizeof(l->list[i].who.name) ||
		    strlen(l->list[i].who.unit) >= sizeof(l->list[i].who.unit))
			abort();
}

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size)
{
	struct live_mark marks[] = {
		{ .path = (char[]){ "/proc/sys/vm/swappiness" }, .wd = 1, .hold = -1 },
		{ .path = (char[]){ "/sys/class/net" }, .wd = 2, .hold = -1, .folder = true },
	};
	struct proc proc = { .host = { .ops = &proc_ops } };
	struct live_source s = { .h = &proc.host, .marks = marks, .n = 2 };
	struct hint hints[HINTS];
	struct hint_list l = { .list = hints, .cap = HINTS };
	struct stat st;
	int before, after;
	char *bytes;

	if (size < 2 || size > MOST || stat("/dev/null", &st))
		return 0;
	marks[0].dev = (uint64_t)st.st_dev;
	marks[0].ino = (uint64_t)st.st_ino;
	proc.data = data + size / 2;
	proc.n = size - size / 2;
	before = open("/dev/null", O_RDONLY | O_CLOEXEC);
	close(before);
	/* Of its own size: a byte too far is seen. */
	bytes = malloc(size - 1);
	if (!bytes)
		abort();
	memcpy(bytes, data + 1, size - 1);
	hear(&s, (char)data[0], bytes, size - 1, &l);
	holds(&l);
	after = open("/dev/null", O_RDONLY | O_CLOEXEC);
	close(after);
	if (before != after)
		abort();
	free(bytes);
	return 0;
}
