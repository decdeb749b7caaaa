/* SPDX-License-Identifier: Apache-2.0 */
/* Doing one step of a build: its log, its stamp, and what it said last when it failed. */
#include <dirent.h>
#include <fcntl.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/text.h"
#include "machine/host/command.h"
#include "look/stack/build_plan.h"

enum { TAIL = 300 };

static int make_folders(struct arena *a, const struct build_plan *p, struct err *e)
{
	static const char *const leaves[] = { "", "/logs", "/steps", "/src", "/dist" };

	for (size_t i = 0; i < sizeof(leaves) / sizeof(leaves[0]); i++) {
		const char *path = arena_printf(a, "%s%s", p->dir, leaves[i]);

		if (mkdir(path, 0755) && errno != EEXIST)
			return err_set(e, -errno, "%s cannot be made: %s", path, strerror(errno));
	}
	return 0;
}

int build_plan_take(struct arena *a, const struct build_plan *p, struct err *e)
{
	const char *path = arena_printf(a, "%s/steps/lock", p->dir);
	int code = make_folders(a, p, e), fd;

	if (code)
		return code;
	/* Not closed in programs that are run: as long as one of them is there, it is locked. */
	fd = open(path, O_RDWR | O_CREAT | O_NOFOLLOW, 0644);
	if (fd < 0)
		return err_set(e, -errno, "%s: %s", path, strerror(errno));
	if (flock(fd, LOCK_EX | LOCK_NB) == 0)
		return fd;
	close(fd);
	err_set(e, -EBUSY,
		"%s is in use: another gputune builds there, or a step that one left behind",
		p->dir);
	err_hint(e, "fuser -v %.200s names who it is", path);
	return -EBUSY;
}

/* The last argument of "wheelhouse update" is a folder: the wheels in it are meant. */
static char **expand(struct arena *a, char **argv, struct err *e)
{
	char **list = NULL;
	size_t n = 0, words = 0;
	struct dirent *it;
	DIR *d;

	while (argv[words])
		words++;
	if (words < 4 || strcmp(argv[2], "wheelhouse") != 0 || strcmp(argv[3], "update") != 0)
		return argv;
	d = opendir(argv[words - 1]);
	for (size_t i = 0; i + 1 < words; i++) {
		list = arena_grow(a, list, n, sizeof(*list));
		list[n++] = argv[i];
	}
	while (d && (it = readdir(d)))
		if (str_ends(it->d_name, ".whl")) {
			list = arena_grow(a, list, n, sizeof(*list));
			list[n++] = arena_printf(a, "%s/%s", argv[words - 1], it->d_name);
		}
	if (d)
		closedir(d);
	if (n + 1 == words) {
		err_set(e, -ENOENT, "%s holds no wheel", argv[words - 1]);
		return NULL;
	}
	list = arena_grow(a, list, n, sizeof(*list));
	list[n] = NULL;
	return list;
}

static void last_words(struct arena *a, const char *log, const char *what, int status,
		       struct err *e)
{
	char buf[TAIL + 1] = "";
	struct input_file f;
	struct err ignored = { 0 };

	if (input_open(&f, log, &ignored) == 0) {
		size_t n = f.in.size < TAIL ? (size_t)f.in.size : TAIL;

		if (input_read(&f.in, f.in.size - n, buf, n))
			n = 0;
		buf[n] = '\0';
		input_close(&f);
	}
	(void)a;
	err_set(e, -ECANCELED, "%s ended with %d: ...%s", what, status, buf);
	err_hint(e, "all of it is in %.180s; run it again to go on from here", log);
}

static int stamp(struct arena *a, const struct build_step *s, struct err *e)
{
	const char *temporary = arena_printf(a, "%s.new", s->stamp);
	TEXT_AUTO t = { 0 };
	int fd, code;

	for (char **w = s->argv; *w; w++)
		text_printf(&t, "%s\n", *w);
	fd = open(temporary, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0644);
	if (fd < 0)
		return err_set(e, -errno, "%s: %s", temporary, strerror(errno));
	code = fd_write_all(fd, t.s, t.len);
	if (!code && fsync(fd))
		code = -errno;
	close(fd);
	if (!code && rename(temporary, s->stamp))
		code = -errno;
	return code ? err_set(e, code, "%s: %s", s->stamp, strerror(-code)) : 0;
}

int build_step_run(struct arena *a, const struct build_plan *p, struct build_step *s, struct err *e)
{
	struct command_front run = { .dir = s->dir ? s->dir : p->dir, .env = p->env };
	int status, code = make_folders(a, p, e);

	if (code)
		return code;
	run.argv = expand(a, s->argv, e);
	if (!run.argv)
		return -ENOENT;
	run.output = open(s->log, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0644);
	if (run.output < 0)
		return err_set(e, -errno, "%s: %s", s->log, strerror(errno));
	status = command_front(&run, e);
	close(run.output);
	if (status < 0)
		return status;
	if (status) {
		last_words(a, s->log, s->title, status, e);
		return -ECANCELED;
	}
	code = stamp(a, s, e);
	if (!code)
		s->state = STEP_DONE;
	return code;
}
