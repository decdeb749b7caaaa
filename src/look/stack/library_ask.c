/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The version that a library itself answers, asked in a child process: loading runs its code, which
 * may crash, hang or change what the process is. A library that others could have written is not
 * loaded with root's rights.
 */
#include <dlfcn.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/reap.h"
#include "machine/host/vendor.h"
#include "look/stack/inventory_inside.h"

enum { LIMIT_MS = 20000, CPU_S = 20 };

/* What is in the first word of what the child says. */
enum { SAID_OK, SAID_NOT_LOADED, SAID_NO_FUNCTION, SAID_REFUSED };

struct said {
	int how;
	long long version;
};

/* Each function's signature is the one of its documentation; size_t returns fit into long long. */
static const struct question {
	enum component c;
	const char *function;
	enum { RETURNS, THROUGH_POINTER, MAJOR_MINOR } form;
	/* 20312: 2.3.12 is major*10000 + minor*100 + patch; cuBLASLt and cuDNN say it likewise. */
	enum { BY_100, BY_CUDNN, BY_CUDART, BY_PAIR } code;
} questions[] = {
	{ COMPONENT_NCCL, "ncclGetVersion", THROUGH_POINTER, BY_100 },
	{ COMPONENT_CUBLASLT, "cublasLtGetVersion", RETURNS, BY_100 },
	{ COMPONENT_CUDNN, "cudnnGetVersion", RETURNS, BY_CUDNN },
	{ COMPONENT_NVRTC, "nvrtcVersion", MAJOR_MINOR, BY_PAIR },
	{ COMPONENT_CUDART, "cudaRuntimeGetVersion", THROUGH_POINTER, BY_CUDART },
};

static const struct question *question_of(enum component c)
{
	for (size_t i = 0; i < sizeof(questions) / sizeof(questions[0]); i++)
		if (questions[i].c == c)
			return &questions[i];
	return NULL;
}

static struct said ask(const char *path, const struct question *q)
{
	struct said s = { SAID_NOT_LOADED, 0 };
	void *lib = vendor_literal(path) ? dlopen(path, RTLD_LAZY | RTLD_LOCAL) : NULL, *symbol;
	int x = 0, y = 0, failed = 0;

	if (!lib)
		return s;
	symbol = dlsym(lib, q->function);
	s.how = SAID_NO_FUNCTION;
	if (!symbol)
		return s;
	switch (q->form) {
	case RETURNS:
		s.version = (long long)(*(size_t(**)(void)) & symbol)();
		break;
	case THROUGH_POINTER:
		failed = (*(int (**)(int *)) & symbol)(&x);
		s.version = x;
		break;
	default:
		failed = (*(int (**)(int *, int *)) & symbol)(&x, &y);
		s.version = x * 1000 + y * 10;
	}
	s.how = failed ? SAID_REFUSED : SAID_OK;
	return s;
}

static void child(const char *path, const struct question *q, int out)
{
	struct rlimit cpu = { CPU_S, CPU_S }, none = { 0, 0 };
	int null = open("/dev/null", O_RDWR | O_CLOEXEC);
	struct said s;

	setrlimit(RLIMIT_CPU, &cpu);
	setrlimit(RLIMIT_CORE, &none);
	if (null >= 0) {
		dup2(null, STDIN_FILENO);
		dup2(null, STDOUT_FILENO);
		dup2(null, STDERR_FILENO);
	}
	s = ask(path, q);
	_exit(write(out, &s, sizeof(s)) == (ssize_t)sizeof(s) ? 0 : 1);
}

/* False when the child said nothing in time; it is ended then. */
static bool listen_to(int in, pid_t pid, struct said *out)
{
	struct pollfd p = { .fd = in, .events = POLLIN };
	long long until = clock_mono_ms() + LIMIT_MS, left;
	ssize_t n = -1;
	int ready = 0, status;

	do {
		left = until - clock_mono_ms();
		ready = left > 0 ? poll(&p, 1, (int)left) : 0;
	} while (ready < 0 && errno == EINTR);
	if (ready > 0)
		n = read(in, out, sizeof(*out));
	if (n != (ssize_t)sizeof(*out) || reap_wait(pid, LIMIT_MS, &status, NULL))
		reap_kill(pid, false, &status, NULL);
	return n == (ssize_t)sizeof(*out);
}

static const char *version_text(struct arena *a, const struct question *q, long long v)
{
	switch (q->code) {
	case BY_CUDNN: /* 91900: 9.19.0 since version 9, before that 8904: 8.9.4 */
		if (v < 10000)
			return arena_printf(a, "%lld.%lld.%lld", v / 1000, v / 100 % 10, v % 100);
		return arena_printf(a, "%lld.%lld.%lld", v / 10000, v / 100 % 100, v % 100);
	case BY_CUDART:
	case BY_PAIR:
		return arena_printf(a, "%lld.%lld", v / 1000, v / 10 % 100);
	default:
		return arena_printf(a, "%lld.%lld.%lld", v / 10000, v / 100 % 100, v % 100);
	}
}

void take_said(struct take *t, struct stack_item *item)
{
	static const char *const why[] = { NULL, "it cannot be loaded", "it has no such function",
					   "it answered with an error" };
	const struct question *q = question_of(item->c);
	char full[HOST_PATH_MAX];
	struct said s;
	int pipes[2];
	pid_t pid;

	if (!q || t->root->fd >= 0 || !t->root->contents)
		return;
	/* What is judged is what is loaded: a link on the way may be another's, and change. */
	if (geteuid() == 0 && (!realpath(item->path, full) || !vendor_trusted(full))) {
		item->said_error = "not loaded with root's rights: others can write it";
		return;
	}
	if (pipe2(pipes, O_CLOEXEC))
		return;
	pid = fork();
	if (pid == 0)
		child(geteuid() == 0 ? full : item->path, q, pipes[1]);
	close(pipes[1]);
	if (pid > 0 && !listen_to(pipes[0], pid, &s))
		item->said_error = "it did not answer: it hung or ended the process";
	else if (pid > 0 && s.how == SAID_OK)
		item->said = version_text(t->a, q, s.version);
	else if (pid > 0 && s.how > SAID_OK && s.how <= SAID_REFUSED)
		item->said_error = why[s.how];
	close(pipes[0]);
}
