/* SPDX-License-Identifier: Apache-2.0 */
/* Which version a library is: by what it is called, by the package it came in, by its own words. */
#include <dlfcn.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/text.h"
#include "look/stack/elf.h"
#include "look/stack/inventory.h"
#include "look/stack/rodata.h"
#include "machine/host/apart.h"
#include "machine/host/vendor.h"

/* "libnccl.so.2.28.9" says more than "libnccl.so.2". */
static const char *library_version_by_name(struct take *t, const struct stack_item *item)
{
	char target[HOST_PATH_MAX];
	const char *base, *so;

	if (host_link(t->root->h, item->path, target, sizeof(target)))
		return NULL;
	base = path_name(target);
	so = strstr(base, ".so.");
	return so && strchr(so + 4, '.') ? arena_strdup(t->a, so + 4) : NULL;
}

/* The pip package whose folder it lies in. */
static const char *by_dist(const struct stack_place *p, const struct stack_item *item,
			   const char **from)
{
	enum component c = item->c == COMPONENT_CUBLASLT ? COMPONENT_CUBLAS : item->c;

	for (size_t i = 0; i < p->n_dists; i++)
		if (component_of_dist(p->dists[i].name) == c) {
			*from = p->dists[i].name;
			return p->dists[i].version;
		}
	return NULL;
}

/* A toolkit that was put together from pip packages keeps their dist-info folders. */
static const char *by_toolkit_dist(struct take *t, const struct stack_place *p,
				   const struct stack_item *item)
{
	enum component c = item->c == COMPONENT_CUBLASLT ? COMPONENT_CUBLAS : item->c;
	char **names, name[128];
	size_t n;

	if (host_list(t->root->h, arena_printf(t->a, "%s/dist-info", p->path), t->a, &names, &n))
		return NULL;
	for (size_t i = 0; i < n; i++) {
		const char *dash = strrchr(names[i], '-');

		if (dash && strcmp(dash, "-info") == 0)
			dash = memrchr(names[i], '-', (size_t)(dash - names[i]));
		if (!dash)
			continue;
		dist_normalise(arena_strndup(t->a, names[i], (size_t)(dash - names[i])), name,
			       sizeof(name));
		if (component_of_dist(name) == c && str_ends(dash, ".dist-info"))
			return arena_strndup(t->a, dash + 1, strlen(dash + 1) - 10);
	}
	return NULL;
}

static const char *by_text(struct take *t, const struct stack_item *item)
{
	char version[64] = "";
	struct input_file f;
	struct err e = { 0 };
	struct elf elf;

	if (item->c != COMPONENT_NCCL || stack_open(t->root, item->path, &f, &e))
		return NULL;
	if (elf_open(&f.in, &elf, &e) == 0)
		rodata_version(&f.in, &elf, "NCCL version ", NULL, 0, version, sizeof(version));
	input_close(&f);
	return *version ? arena_strdup(t->a, version) : NULL;
}

static void set(struct stack_item *item, const char *version, const char *from)
{
	if (!version || item->version)
		return;
	item->version = version;
	item->version_from = from;
}

/* "libLLVM-15.so.1" and "libLLVM.so.20.1" */
static const char *llvm_version(struct take *t, const char *soname)
{
	const char *p = soname + strcspn(soname, "-0123456789");
	size_t n = strspn(p += *p == '-', "0123456789.");

	while (n && p[n - 1] == '.')
		n--;
	return n ? arena_strndup(t->a, p, n) : NULL;
}

void take_version(struct take *t, struct stack_item *item)
{
	const struct stack_place *p = &t->out->places[item->place];
	const char *from = NULL, *version;

	if (!item->soname)
		return;
	version = p->kind == PLACE_PYTHON ? by_dist(p, item, &from) : NULL;
	if (version)
		set(item, version, arena_printf(t->a, "the package %s", from));
	set(item, library_version_by_name(t, item), "file name");
	if (!item->version && p->kind == PLACE_TOOLKIT)
		set(item, by_toolkit_dist(t, p, item), "the package that contains it");
	if (!item->version)
		set(item, by_text(t, item), "embedded text");
	if (item->c == COMPONENT_LLVM)
		set(item, llvm_version(t, item->soname), "name");
}

/*
 * The version that a library itself answers, asked in a child process: loading runs its code, which
 * may crash, hang or change what the process is. A library that others could have written is not
 * loaded with root's rights.
 */

enum { LIMIT_MS = 20000, CPU_S = 20 };

/* What is in the first word of what the child says. */
enum { SAID_OK, SAID_NOT_LOADED, SAID_NO_FUNCTION, SAID_REFUSED };

struct library_answer {
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

static const struct question *rule_ctx_of(enum component c)
{
	for (size_t i = 0; i < sizeof(questions) / sizeof(questions[0]); i++)
		if (questions[i].c == c)
			return &questions[i];
	return NULL;
}

static struct library_answer library_version_ask(const char *path, const struct question *q)
{
	struct library_answer s = { SAID_NOT_LOADED, 0 };
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

struct asking {
	const char *path;
	const struct question *q;
};

static void library_version_child(void *ctx, struct text *reply)
{
	const struct asking *ask = ctx;
	struct rlimit cpu = { CPU_S, CPU_S }, none = { 0, 0 };
	int null = open("/dev/null", O_RDWR | O_CLOEXEC);
	struct library_answer s;

	setrlimit(RLIMIT_CPU, &cpu);
	setrlimit(RLIMIT_CORE, &none);
	if (null >= 0) {
		dup2(null, STDIN_FILENO);
		dup2(null, STDOUT_FILENO);
		dup2(null, STDERR_FILENO);
	}
	s = library_version_ask(ask->path, ask->q);
	text_addn(reply, (const char *)&s, sizeof(s));
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

void library_take_answer(struct take *t, struct stack_item *item)
{
	static const char *const why[] = { NULL, "the library cannot be loaded",
					   "the library has no version function",
					   "the library's version function failed" };
	const struct question *q = rule_ctx_of(item->c);
	char full[HOST_PATH_MAX];
	struct library_answer s;
	struct asking ask;
	TEXT_AUTO reply = { 0 };

	if (!q || t->root->fd >= 0 || !t->root->contents)
		return;
	/* What is judged is what is loaded: a link on the way may be another's, and change. */
	if (geteuid() == 0 && (!realpath(item->path, full) || !vendor_trusted(full))) {
		item->said_error = "not loaded, since gputune runs as root and other users can "
				   "write the library";
		return;
	}
	ask = (struct asking){ geteuid() == 0 ? full : item->path, q };
	if (apart_run(library_version_child, &ask, LIMIT_MS, &reply, NULL, NULL) ||
	    reply.len != sizeof(s)) {
		item->said_error = "no response: it hung or crashed";
		return;
	}
	memcpy(&s, reply.s, sizeof(s));
	if (s.how == SAID_OK)
		item->said = version_text(t->a, q, s.version);
	else if (s.how > SAID_OK && s.how <= SAID_REFUSED)
		item->said_error = why[s.how];
}
