/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Hearing of writes. The kernel tells of every write(2) that reaches a file of sysfs or procfs as
 * it does for any other file: fanotify (root alone) also says from which process it came.
 * /proc/sys makes another inode when nobody has looked at a file for long, so that these are held.
 */
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/fanotify.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/text.h"
#include "tune/watch/live.h"

enum { MARKS_MAX = 16384, BATCH = 4096 };
enum {
	FOLDER_MASK = IN_CLOSE_WRITE | IN_MODIFY | IN_CREATE | IN_DELETE | IN_MOVE | IN_ONLYDIR,
	FILE_MASK = IN_MODIFY | IN_DELETE_SELF | IN_MOVE_SELF
};

void live_files_open(struct live_source *s)
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

void live_files_close(struct live_source *s)
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
void live_files_listen(struct live_source *s, const struct mark *marks, size_t n)
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

/* --- what was heard ----------------------------------------------------------------------------
 */

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
