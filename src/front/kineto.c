/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The daemon's side: each process that has PyTorch asks every 5 s whether a trace is wanted, and
 * gets a configuration or an empty text. What it writes is read and removed when it asks again.
 */
#include "front/kineto.h"

#include <dirent.h>
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fd.h"
#include "look/stacks/stacks.h"
#include "models/diagnose/read.h"
#include "models/inject/look.h"

enum {
	ASKERS_MAX = STACK_PROCESSES_MAX,
	MESSAGE_MAX = 4096,
	TRACE_BYTES_MAX = 64 << 20,
	TRIES_MAX = 6,
	TYPE_ACTIVITIES = 2, /* this process can be traced now: its profiler is not in use */
};

static const char socket_dir[] = "KINETO_IPC_SOCKET_DIR", use_daemon[] = "KINETO_USE_DAEMON",
		  log_level[] = "KINETO_LOG_LEVEL";

struct message {
	uint64_t size;
	char type[32];
	char payload[MESSAGE_MAX];
};
enum { MESSAGE_HEAD = offsetof(struct message, payload) };

struct asker {
	int32_t pid;
	unsigned looks, tries;
	long long due_ms;
	bool waits, own; /* a trace is on its way; it uses its profiler itself */
};

struct kineto {
	int fd;
	pthread_t thread;
	atomic_bool end;
	char folder[32];
	const char *trace;
	struct asker at[ASKERS_MAX];
	size_t n;
	struct trace_look look;
};

/* --- a trace ---------------------------------------------------------------------------------- */

static uint64_t ns_of(const json_t *event, const char *key)
{
	double us = json_number_value(json_object_get(event, key));

	return us > 0 && us < 1e16 ? (uint64_t)(1e3 * us) : 0;
}

static void on_event(struct trace_look *l, const json_t *event, const char *cat)
{
	const char *name = json_string_value(json_object_get(event, "name"));
	const json_t *args = json_object_get(event, "args");
	uint64_t from = ns_of(event, "ts"), to = from + ns_of(event, "dur");
	unsigned device = (unsigned)json_integer_value(json_object_get(args, "device"));

	if (strcmp(cat, "Trace") == 0) {
		l->from = from;
		l->to = to;
	} else if (name && strcmp(cat, "gpu_memcpy") == 0 && !strstr(name, "DtoD")) {
		look_copy(l, device, from, to, strstr(name, "Pageable") != NULL);
	} else if (name) {
		look_kernel(l, name, device, from, to);
	}
}

/* Events of these categories; false: there are no events. */
static bool events(struct trace_look *l, const char *text, size_t n, const char *const *cats)
{
	static const char key[] = "\"traceEvents\":";
	const char *s = memmem(text, n, key, strlen(key)), *end = text + n;
	struct json_piece p;

	s = s ? memchr(s, '[', (size_t)(end - s)) : NULL;
	for (s = s ? s + 1 : NULL; s && json_next(&s, end, &p, false);) {
		for (size_t i = 0; cats[i]; i++) {
			json_auto_t *o = memmem(p.value, p.size, cats[i], strlen(cats[i]))
						 ? json_piece_load(&p)
						 : NULL;
			const char *cat = json_string_value(json_object_get(o, "cat"));

			if (cat && strcmp(cat, cats[i]) == 0)
				on_event(l, o, cat);
		}
	}
	return s != NULL;
}

/* What a process wrote becomes a line. */
static void collect(struct kineto *k, struct asker *p)
{
	static const char *const moment[] = { "Trace", NULL }, *const work[] = { "kernel",
										 "gpu_memcpy",
										 NULL };
	ARENA_AUTO a = { 0 };
	const char *path = arena_printf(&a, "%s/look_%d.json", k->folder, (int)p->pid);
	TEXT_AUTO t = { 0 };
	bool is = fd_read_input(path, TRACE_BYTES_MAX, &t) == 0;

	p->tries++;
	p->waits = !is && p->tries <= TRIES_MAX;
	k->look.from = k->look.to = 0;
	k->look.at_s = (double)time(NULL);
	k->look.copies = true;
	if (is && events(&k->look, t.s, t.len, moment) && k->look.to > k->look.from &&
	    events(&k->look, t.s, t.len, work))
		look_write(&k->look, k->trace, (int)p->pid, stacks_rank(&a, p->pid));
	if (is)
		unlink(path);
}

/* --- messages --------------------------------------------------------------------------------- */

/* What a process is told. "": nothing is wanted. */
static const char *configure(struct kineto *k, struct asker *p, int type, char *buf, size_t size)
{
	/* Every time at first, once a minute in the end. */
	static const struct {
		unsigned looks, rest_ms;
	} pace[] = { { 6, 0 }, { 30, 9000 }, { UINT32_MAX, 59000 } };
	size_t i = 0;

	if (p->waits)
		collect(k, p);
	if (!(type & TYPE_ACTIVITIES) && !p->waits && !p->own) {
		p->own = true;
		look_write_none(&k->look, k->trace, (int)p->pid, -1,
				"the process already uses PyTorch's profiler");
	}
	if (!(type & TYPE_ACTIVITIES) || p->waits || p->own || clock_mono_ms() < p->due_ms)
		return "";
	while (p->looks >= pace[i].looks)
		i++;
	p->looks++;
	p->waits = true;
	p->tries = 0;
	p->due_ms = clock_mono_ms() + pace[i].rest_ms;
	/* The second before lets pass what waits to run. */
	snprintf(buf, size,
		 "ACTIVITIES_LOG_FILE=%s/look.json\nACTIVITY_TYPES=KERNEL,GPU_MEMCPY\n"
		 "ACTIVITIES_WARMUP_PERIOD_SECS=1\nACTIVITIES_DURATION_MSECS=250\n"
		 "ACTIVITIES_MAX_GPU_BUFFER_SIZE_MB=16\n",
		 k->folder);
	return buf;
}

static struct asker *asker_of(struct kineto *k, int32_t pid)
{
	size_t i = 0;

	while (i < k->n && k->at[i].pid != pid)
		i++;
	if (i == ASKERS_MAX || pid <= 0)
		return NULL;
	k->at[i].pid = pid;
	k->n += i == k->n;
	return &k->at[i];
}

static void answer(struct kineto *k, struct message *m, size_t n, const struct sockaddr_un *to,
		   socklen_t to_n)
{
	int32_t asked[5]; /* type, processes, job (two), the process itself */
	char buf[512];
	struct asker *p;
	const char *text;

	if (n < MESSAGE_HEAD + sizeof(asked) || strncmp(m->type, "req", sizeof(m->type)) != 0)
		return;
	memcpy(asked, m->payload, sizeof(asked));
	p = asker_of(k, asked[4]);
	text = p ? configure(k, p, asked[0], buf, sizeof(buf)) : "";
	m->size = strlen(text);
	memcpy(m->payload, text, m->size);
	(void)!sendto(k->fd, m, MESSAGE_HEAD + m->size, MSG_DONTWAIT | MSG_NOSIGNAL,
		      (const struct sockaddr *)to, to_n);
}

static void *listening(void *ctx)
{
	struct kineto *k = ctx;
	struct pollfd in = { .fd = k->fd, .events = POLLIN };

	while (!atomic_load(&k->end)) {
		struct message m = { 0 };
		struct sockaddr_un from = { 0 };
		socklen_t from_n = sizeof(from);
		ssize_t n = poll(&in, 1, 100) > 0 ? recvfrom(k->fd, &m, sizeof(m), MSG_DONTWAIT,
							     (struct sockaddr *)&from, &from_n)
						  : 0;

		if (n > 0)
			answer(k, &m, (size_t)n, &from, from_n);
	}
	return NULL;
}

/* --- begin and end ---------------------------------------------------------------------------- */

/* The folder with all that is in it. */
static void folder_remove(const char *folder)
{
	DIR *d = opendir(folder);

	for (const struct dirent *x; d && (x = readdir(d));)
		unlinkat(dirfd(d), x->d_name, 0);
	if (d)
		closedir(d);
	rmdir(folder);
}

static void kineto_free(struct kineto *k)
{
	if (k->fd >= 0)
		close(k->fd);
	folder_remove(k->folder);
	look_free(&k->look);
	free(k);
}

struct kineto *kineto_begin(const char *trace, struct err *e)
{
	struct kineto *k = calloc(1, sizeof(*k));
	struct sockaddr_un name = { .sun_family = AF_UNIX };

	if (!k || !look_make(&k->look))
		abort();
	k->fd = -1;
	k->trace = trace;
	/* Newer releases of Kineto write traces below /tmp alone. */
	snprintf(k->folder, sizeof(k->folder), "/tmp/gputune-XXXXXX");
	if (!mkdtemp(k->folder)) {
		err_set(e, -errno, "%s: %s", k->folder, strerror(errno));
		kineto_free(k);
		return NULL;
	}
	snprintf(name.sun_path, sizeof(name.sun_path), "%s/dynolog", k->folder);
	k->fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	if (k->fd < 0 || bind(k->fd, (const struct sockaddr *)&name, sizeof(name)) ||
	    pthread_create(&k->thread, NULL, listening, k)) {
		err_set(e, -errno, "%s: %s", name.sun_path, strerror(errno));
		kineto_free(k);
		return NULL;
	}
	setenv(use_daemon, "1", 1);
	setenv(socket_dir, k->folder, 1);
	setenv(log_level, "4", 0); /* errors alone */
	return k;
}

void kineto_environment_back(void)
{
	unsetenv(use_daemon);
	unsetenv(socket_dir);
	unsetenv(log_level);
}

void kineto_end(struct kineto *k)
{
	atomic_store(&k->end, true);
	pthread_join(k->thread, NULL);
	for (size_t i = 0; i < k->n; i++)
		if (k->at[i].waits)
			collect(k, &k->at[i]);
	kineto_free(k);
}
