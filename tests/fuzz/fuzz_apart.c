/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The watcher's work in a process of its own: the input says what the child answers and how it
 * ends. What comes back is all of it or nothing, a child is always taken, one that ended badly or
 * stays counts as no answer, and no descriptor is lost.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/text.h"
#include "watch/apart.h"

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size);

enum end { RETURNS, EXITS, KILLED, STAYS, STAYS_SILENT, ENDS };
enum { SOON_MS = 5, LATE_MS = 20000, BLOCK = 4096 };

struct order {
	enum end end;
	unsigned code;
	size_t blocks; /* of one letter, before the bytes */
	const unsigned char *s;
	size_t n;
};

static void must(bool holds)
{
	if (!holds)
		abort();
}

static size_t length(const struct order *o)
{
	return o->blocks * BLOCK + o->n;
}

/* The child: what must hold in it is told by its answer. */
static void work(void *ctx, struct text *reply)
{
	static const char block[BLOCK] = { 'x' };
	const struct order *o = ctx;

	for (size_t i = 0; i < o->blocks; i++)
		text_addn(reply, block, BLOCK);
	text_addn(reply, (const char *)o->s, o->n);
	if (o->end == EXITS)
		_exit((int)o->code);
	if (o->end == KILLED) {
		signal(SIGTERM, SIG_DFL);
		kill(getpid(), o->code % 2 ? SIGKILL : SIGTERM);
	}
	/* Without a descriptor left it says nothing more, and is still there. */
	if (o->end == STAYS_SILENT)
		for (int fd = 3; fd < 64; fd++)
			close(fd);
	while (o->end >= STAYS)
		pause();
}

static int next_fd(void)
{
	int fd = fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 3);

	close(fd);
	return fd;
}

static int expected(const struct order *o)
{
	switch (o->end) {
	case RETURNS:
		return length(o) <= APART_MAX ? 0 : -EIO;
	case STAYS:
	case STAYS_SILENT:
		return -ETIME;
	default:
		return -EIO;
	}
}

static void judge(const struct order *o, const struct text *reply)
{
	must(reply->len == length(o));
	must(!o->n || memcmp(reply->s + o->blocks * BLOCK, o->s, o->n) == 0);
	for (size_t i = 0; i < o->blocks; i++)
		must(reply->s[i * BLOCK] == 'x');
}

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size)
{
	struct order o = { 0 };
	TEXT_AUTO reply = { 0 };
	long long cpu_us = -1;
	pid_t stuck = 0;
	int fd = next_fd(), r;

	if (size < 3)
		return 0;
	o = (struct order){ data[0] % ENDS, data[1], data[2], data + 3, size - 3 };
	/* An exit of its own is no answer, whatever the code: its words are lost with it. */
	if (o.end == EXITS && o.code == 0)
		o.code = 1;
	/* Few are near the bound. */
	o.blocks = o.blocks < 200 ? o.blocks % 8 : o.blocks + 56;
	r = apart_run(work, &o, o.end >= STAYS ? SOON_MS : LATE_MS, &reply, &stuck, &cpu_us);
	must(r == expected(&o));
	must(stuck == 0 && cpu_us >= 0);
	if (r == 0)
		judge(&o, &reply);
	else
		must(reply.len == 0);
	/* It was taken: there is none left to wait for. */
	must(waitpid(-1, NULL, WNOHANG) < 0 && errno == ECHILD);
	must(next_fd() == fd);
	return 0;
}
