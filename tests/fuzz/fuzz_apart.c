/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The watcher's work in a process of its own: the input says what the child answers and how it
 * ends. What comes back is all of it or nothing, a child is always taken, one that ended badly or
 * stays counts as no answer, and no descriptor is lost. Or it looks at knobs there: what it saw is
 * what arrives, and of an answer that is cut, longer or of other bytes nothing is believed that a
 * look cannot have seen.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/text.h"
#include "tune/watch/guard.h"

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size);
int __real_fd_write_all(int fd, const void *data, size_t len);
int __wrap_fd_write_all(int fd, const void *data, size_t len);
enum observation __wrap_item_look(struct host *h, struct arena *a, const struct watched_knob *it,
				  const char **now);

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

/* --- what it saw of knobs
 * -------------------------------------------------------------------------- */

enum { LOOKS_FROM = 192, LOOKS = 5, SIGHTS = SIGHT_BLIND + 1 };
enum wrong { HONEST, CUT, LONGER, CHANGED, OTHER_BYTES, ENDS_EARLY, WRONGS };

static struct sights {
	bool on;
	enum wrong wrong;
	unsigned at, byte;
	size_t n;
	struct watched_knob items[LOOKS];
	enum observation sight[LOOKS];
	char value[LOOKS][8];
	const unsigned char *s; /* other bytes */
	size_t len;
} sights;

static bool has_value(enum observation s)
{
	return s != SIGHT_GONE && s != SIGHT_BLIND;
}

/* In the child alone. */
enum observation __wrap_item_look(struct host *h, struct arena *a, const struct watched_knob *it,
				  const char **now)
{
	size_t i = (size_t)(it - sights.items);

	(void)h;
	must(i < sights.n);
	if (sights.wrong == ENDS_EARLY && i == sights.at % sights.n)
		_exit((int)(sights.byte % 2));
	*now = has_value(sights.sight[i]) ? arena_strdup(a, sights.value[i]) : NULL;
	return sights.sight[i];
}

int __wrap_fd_write_all(int fd, const void *data, size_t len)
{
	unsigned char *b;
	int code;

	if (!sights.on)
		return __real_fd_write_all(fd, data, len);
	if (sights.wrong == OTHER_BYTES)
		return __real_fd_write_all(fd, sights.s, sights.len);
	b = malloc(len + sights.len + 1);
	must(b && len);
	memcpy(b, data, len);
	if (sights.wrong == CUT)
		len = sights.at % len;
	if (sights.wrong == CHANGED)
		b[sights.at % len] = (unsigned char)sights.byte;
	if (sights.wrong == LONGER) {
		memcpy(b + len, sights.s, sights.len);
		len += sights.len;
	}
	code = __real_fd_write_all(fd, b, len);
	free(b);
	return code;
}

static bool as_it_was(const struct nvml_look *l, size_t i)
{
	return l->sight == sights.sight[i] &&
	       (l->now ? has_value(l->sight) && strcmp(l->now, sights.value[i]) == 0
		       : !has_value(l->sight));
}

static void judge_sights(const struct nvml_look *looks)
{
	size_t same = 0, failed = 0;

	for (size_t i = 0; i < sights.n; i++) {
		const struct nvml_look *l = &looks[i];

		must(l->it == &sights.items[i] && (int)l->sight >= 0 && (int)l->sight < SIGHTS);
		must((l->now != NULL) == has_value(l->sight));
		must(!l->now || strlen(l->now) < APART_MAX);
		same += as_it_was(l, i);
		failed += l->now && strstr(l->now, "queries the driver failed") != NULL;
	}
	must(failed == 0 || failed == sights.n);
	must(sights.wrong != HONEST || same == sights.n);
	must((sights.wrong != CUT && sights.wrong != ENDS_EARLY &&
	      (sights.wrong != LONGER || !sights.len)) ||
	     failed == sights.n);
}

static void see(const unsigned char *data, size_t size)
{
	struct nvml_look looks[LOOKS] = { 0 }, *order[LOOKS];
	struct watcher g = { 0 };
	const unsigned char *at = data + 4;

	sights = (struct sights){
		.on = true, .wrong = data[1] % WRONGS, .at = data[2], .byte = data[3]
	};
	sights.n = 1 + data[1] / WRONGS % LOOKS;
	for (size_t i = 0; i < sights.n; i++) {
		sights.sight[i] = at < data + size ? *at++ % SIGHTS : SIGHT_OURS;
		for (size_t k = 0; k + 1 < sizeof(sights.value[i]) && at < data + size && *at; k++)
			sights.value[i][k] = (char)*at++;
		looks[i].it = &sights.items[i];
		order[i] = &looks[i];
	}
	sights.s = at;
	sights.len = (size_t)(data + size - at);
	nvml_worker_look(&g, order, sights.n);
	sights.on = false;
	must(!g.stuck);
	judge_sights(looks);
	arena_free(&g.round);
}

/* --- any work
 * -------------------------------------------------------------------------------------- */

static void run(const unsigned char *data, size_t size)
{
	struct order o = { 0 };
	TEXT_AUTO reply = { 0 };
	long long cpu_us = -1;
	pid_t stuck = 0;
	int r;

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
}

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size)
{
	int fd = next_fd();

	if (size < 4)
		return 0;
	if (data[0] >= LOOKS_FROM)
		see(data, size);
	else
		run(data, size);
	/* It was taken: there is none left to wait for. */
	must(waitpid(-1, NULL, WNOHANG) < 0 && errno == ECHILD);
	must(next_fd() == fd);
	return 0;
}
