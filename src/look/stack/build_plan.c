/* SPDX-License-Identifier: Apache-2.0 */
/* The projects of a GPU stack as steps, and what stands against them. */
#include "look/stack/build_plan.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "base/text.h"
#include "machine/host/child.h"
#include "look/stack/wheelhouse.h"

/*
 * Disk and time are rough: what builds of these releases took on arm64 and x86-64 machines, with
 * one GPU architecture, as their projects and users report. They decide nothing but warnings.
 */
static const struct project {
	const char *name, *url, *tag;
	const char *folder; /* with the Python project, below the sources */
	const char *needs;  /* requirements file; NULL */
	unsigned disk_gib, memory_gib;
	double hours;
	bool first; /* other projects are compiled against its wheel */
} projects[] = {
	{ "triton", "https://github.com/triton-lang/triton", "v3.5.1", ".",
	  "python/requirements.txt", 12, 8, 3, false },
	{ "torch", "https://github.com/pytorch/pytorch", "v2.9.1", ".", "requirements.txt", 40, 16,
	  24, true },
	{ "vision", "https://github.com/pytorch/vision", "v0.24.1", ".", NULL, 3, 8, 0.5, false },
	{ "audio", "https://github.com/pytorch/audio", "v2.9.1", ".", NULL, 3, 8, 0.3, false },
	{ "flash-attention", "https://github.com/Dao-AILab/flash-attention", "v2.8.3", ".", NULL, 8,
	  16, 8, false },
	{ "onnx", "https://github.com/onnx/onnx", "v1.19.1", ".", NULL, 2, 4, 0.5, false },
};
enum { PROJECTS = sizeof(projects) / sizeof(projects[0]) };

struct planner {
	struct arena *a;
	const struct build_target *w;
	struct build_plan *p;
};

const char *build_targets(struct arena *a)
{
	const char *text = "llvm";

	for (size_t i = 0; i < PROJECTS; i++)
		text = arena_printf(a, "%s, %s", text, projects[i].name);
	return text;
}

static struct build_step *build_plan_step(struct planner *k, const char *id, const char *title)
{
	struct build_plan *p = k->p;

	p->steps = arena_grow(k->a, p->steps, p->n, sizeof(*p->steps));
	p->steps[p->n] = (struct build_step){
		.id = id,
		.title = title,
		.log = arena_printf(k->a, "%s/logs/%s.log", p->dir, id),
		.stamp = arena_printf(k->a, "%s/steps/%s", p->dir, id),
	};
	return &p->steps[p->n++];
}

/* A copy of the words up to NULL. */
static char **build_plan_words(struct planner *k, const char *const *from)
{
	size_t n = 0;
	char **list;

	while (from[n])
		n++;
	list = arena_array(k->a, n + 1, sizeof(char *));
	for (size_t i = 0; i < n; i++)
		list[i] = arena_strdup(k->a, from[i]);
	return list;
}

#define WORDS(k, ...) build_plan_words((k), (const char *const[]){ __VA_ARGS__, NULL })

static const char *in(struct planner *k, const char *leaf)
{
	return arena_printf(k->a, "%s/%s", k->p->dir, leaf);
}

static void build_plan_prepare(struct planner *k)
{
	static const char *const python[] = { "python3", NULL };
	struct build_step *s = build_plan_step(k, "venv", "A Python environment to build in");

	s->argv = WORDS(k, k->w->python, "-m", "venv", "--system-site-packages", in(k, "venv"));
	s->tools = python;
	s = build_plan_step(k, "house", "A wheelhouse for what is built");
	s->argv = WORDS(k, k->w->self, "stack", "wheelhouse", "create", "--quiet", in(k, "house"),
			NULL);
}

static void wheel_steps(struct planner *k, const char *name, const char *source, unsigned disk,
			unsigned memory, double hours)
{
	static const char *const compilers[] = { "gcc", NULL };
	const char *dist = arena_printf(k->a, "%s/dist/%s", k->p->dir, name);
	struct build_step *s = build_plan_step(k, arena_printf(k->a, "%s-wheel", name),
					       arena_printf(k->a, "Build the wheel of %s", name));

	s->argv = WORDS(k, in(k, "venv/bin/python"), "-m", "pip", "wheel", "--verbose", "--no-deps",
			"--no-build-isolation", "--wheel-dir", dist, source);
	s->dir = source;
	s->tools = hours > 0 ? compilers : NULL;
	s->disk_gib = disk;
	s->memory_gib = memory;
	s->hours = hours;
	s = build_plan_step(k, arena_printf(k->a, "%s-house", name),
			    arena_printf(k->a, "Check it and put it into the wheelhouse"));
	s->argv = WORDS(k, k->w->self, "stack", "wheelhouse", "update", in(k, "house"), dist);
}

static void project(struct planner *k, const struct project *p)
{
	static const char *const git[] = { "git", NULL };
	const char *source = arena_printf(k->a, "%s/src/%s", k->p->dir, p->name);
	struct build_step *s =
		build_plan_step(k, arena_printf(k->a, "%s-source", p->name),
				arena_printf(k->a, "Sources of %s %s", p->name, p->tag));

	s->argv = WORDS(k, "git", "clone", "--depth", "1", "--branch", p->tag, p->url, source);
	s->tools = git;
	s->there = arena_printf(k->a, "%s/.git/HEAD", source);
	/* By itself, because it goes on where it was interrupted. */
	s = build_plan_step(k, arena_printf(k->a, "%s-modules", p->name),
			    arena_printf(k->a, "What %s brings along", p->name));
	s->argv = WORDS(k, "git", "-C", source, "submodule", "update", "--init", "--recursive",
			"--depth", "1");
	s->tools = git;
	if (p->needs) {
		s = build_plan_step(k, arena_printf(k->a, "%s-needs", p->name),
				    arena_printf(k->a, "What building %s needs", p->name));
		s->argv = WORDS(k, in(k, "venv/bin/python"), "-m", "pip", "install", "-r",
				arena_printf(k->a, "%s/%s", source, p->needs));
	}
	wheel_steps(k, p->name, source, p->disk_gib, p->memory_gib, p->hours);
	if (p->first) {
		s = build_plan_step(k, arena_printf(k->a, "%s-install", p->name),
				    "Install it where the others are built");
		s->argv = WORDS(k, in(k, "venv/bin/python"), "-m", "pip", "install", "--no-index",
				"--find-links", in(k, "house"), "--no-deps", p->name);
	}
}

/* Triton names the commit of LLVM that it is made for; its sources tell. */
static void llvm(struct planner *k)
{
	static const char *const tools[] = { "git", "cmake", "ninja", "gcc", NULL };
	const char *source = in(k, "src/llvm"), *hash = in(k, "src/triton/cmake/llvm-hash.txt");
	struct input_file f;
	struct err e = { 0 };
	char commit[41] = "";
	struct build_step *s =
		build_plan_step(k, "llvm-source", "Sources of LLVM as Triton wants them");

	if (input_open(&f, hash, &e) == 0) {
		if (f.in.size < 40 || input_read(&f.in, 0, commit, 40) ||
		    strspn(commit, "0123456789abcdef") != 40)
			commit[0] = '\0';
		input_close(&f);
	}
	s->argv = WORDS(k, "git", "clone", "--revision", *commit ? commit : "COMMIT", "--depth",
			"1", "https://github.com/llvm/llvm-project", source);
	s->tools = tools;
	if (!*commit)
		s->lacks = "which commit is told by the sources of Triton: do \"triton-source\" "
			   "first";
	s = build_plan_step(k, "llvm-configure", "Configure LLVM");
	s->argv = WORDS(k, "cmake", "-G", "Ninja", "-S", arena_printf(k->a, "%s/llvm", source),
			"-B", arena_printf(k->a, "%s/build", source), "-DCMAKE_BUILD_TYPE=Release",
			"-DLLVM_ENABLE_ASSERTIONS=ON", "-DLLVM_ENABLE_PROJECTS=mlir;llvm;lld",
			"-DLLVM_TARGETS_TO_BUILD=host;NVPTX;AMDGPU");
	s->tools = tools;
	s = build_plan_step(k, "llvm-build", "Build LLVM");
	s->argv = WORDS(k, "ninja", "-C", arena_printf(k->a, "%s/build", source), "-j",
			arena_printf(k->a, "%u", k->p->jobs));
	s->tools = tools;
	s->disk_gib = 30;
	s->memory_gib = 12;
	s->hours = 12;
}

/* A name becomes a file's: nothing but plain characters of it. */
static char *plain_name(struct planner *k, const char *path)
{
	const char *slash = strrchr(path, '/');
	char *name = arena_strdup(k->a, slash && slash[1] ? slash + 1 : "project");

	for (char *c = name; *c; c++)
		if (!strchr("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-", *c))
			*c = '_';
	return name;
}

static int build_plan_target(struct planner *k, const char *name, struct err *e)
{
	char full[4096];

	if (strcmp(name, "llvm") == 0) {
		llvm(k);
		return 0;
	}
	for (size_t i = 0; i < PROJECTS; i++)
		if (strcmp(projects[i].name, name) == 0) {
			project(k, &projects[i]);
			return 0;
		}
	if (realpath(name, full) &&
	    (access(arena_printf(k->a, "%s/pyproject.toml", full), R_OK) == 0 ||
	     access(arena_printf(k->a, "%s/setup.py", full), R_OK) == 0)) {
		wheel_steps(k, plain_name(k, full), arena_strdup(k->a, full), 1, 1, 0);
		return 0;
	}
	err_set(e, -EINVAL, "\"%.200s\" is neither a folder with a Python project nor known", name);
	err_hint(e, "known are %s", build_targets(k->a));
	return -EINVAL;
}

/* --- what is there --- */

/* The arguments, one a line: what the stamp of a step that is done holds. */
static const char *stamp_text(struct arena *a, const struct build_step *s)
{
	TEXT_AUTO t = { 0 };

	for (char **w = s->argv; *w; w++)
		text_printf(&t, "%s\n", *w);
	return arena_strdup(a, t.s);
}

static bool stamped(struct arena *a, const struct build_step *s)
{
	const char *want = stamp_text(a, s);
	size_t n = strlen(want);
	struct input_file f;
	struct err e = { 0 };
	char *is;
	bool same;

	if (input_open(&f, s->stamp, &e))
		return false;
	is = arena_alloc(a, n + 1);
	same = f.in.size == n && input_read(&f.in, 0, is, n) == 0 && memcmp(is, want, n) == 0;
	input_close(&f);
	return same;
}

static void build_plan_look(struct planner *k, struct build_step *s)
{
	char buf[4096];

	if (stamped(k->a, s) || (s->there && access(s->there, F_OK) == 0)) {
		s->state = STEP_DONE;
		return;
	}
	for (const char *const *t = s->tools; t && *t && !s->lacks; t++)
		if (!spawn_find(*t, true, buf, sizeof(buf)))
			s->lacks =
				arena_printf(k->a, "%s is not installed: sudo apt-get install %s",
					     *t, strcmp(*t, "ninja") == 0 ? "ninja-build" : *t);
	if (s->lacks)
		s->state = STEP_LACKS;
}

/* Of the folder, or of the first above it that exists. */
static double free_gib(struct arena *a, const char *dir)
{
	char *path = arena_strdup(a, dir), *slash;
	struct statvfs st;

	while (statvfs(*path ? path : "/", &st)) {
		slash = strrchr(path, '/');
		if (!slash)
			return 0;
		*slash = '\0';
	}
	return (double)st.f_bavail * (double)st.f_frsize / (double)(1 << 30);
}

static void build_plan_add_up(struct planner *k, const struct machine *m)
{
	struct build_plan *p = k->p;
	unsigned memory = 0;

	for (size_t i = 0; i < p->n; i++) {
		const struct build_step *s = &p->steps[i];

		if (s->state == STEP_DONE)
			continue;
		p->disk_gib += s->disk_gib;
		p->hours += s->hours / p->jobs;
		if (s->memory_gib > memory)
			memory = s->memory_gib;
	}
	p->disk_free_gib = free_gib(k->a, p->dir);
	p->memory_gib = (double)fact_or(&m->memory.available_kb, 0) / (1 << 20);
	if ((double)p->disk_gib > p->disk_free_gib)
		p->lacks = arena_printf(k->a, "it takes about %u GiB of disk; %.0f GiB are free",
					p->disk_gib, p->disk_free_gib);
	else if (p->memory_gib > 0 && (double)memory > p->memory_gib)
		p->lacks = arena_printf(k->a,
					"its largest step takes about %u GiB of memory; %.0f "
					"GiB are available",
					memory, p->memory_gib);
}

static void build_plan_environment(struct planner *k, const struct build_env *env)
{
	char **list = arena_array(k->a, env->n + 8, sizeof(char *));
	const char *home = getenv("HOME");
	size_t n = 0;

	list[n++] = arena_printf(k->a, "PATH=%s/venv/bin%s%s%s:/usr/local/bin:/usr/bin:/bin",
				 k->p->dir, env->toolkit ? ":" : "",
				 env->toolkit ? env->toolkit : "", env->toolkit ? "/bin" : "");
	list[n++] = arena_strdup(k->a, "LC_ALL=C.UTF-8");
	list[n++] = arena_printf(k->a, "HOME=%s", home ? home : "/");
	list[n++] = arena_printf(k->a, "VIRTUAL_ENV=%s/venv", k->p->dir);
	list[n++] = arena_printf(k->a, "LLVM_SYSPATH=%s/src/llvm/build", k->p->dir);
	if (access(list[n - 1] + strlen("LLVM_SYSPATH="), F_OK))
		n--; /* Triton brings its own */
	for (size_t i = 0; i < env->n; i++)
		if (!env->lines[i].before)
			list[n++] = arena_printf(k->a, "%s=%s", env->lines[i].name,
						 env->lines[i].value);
	k->p->env = list;
}

int build_plan_make(struct arena *a, const struct machine *m, const struct build_env *env,
		    const struct build_target *wish, struct build_plan *out, struct err *e)
{
	struct planner k = { a, wish, out };

	*out = (struct build_plan){ .dir = wish->dir, .jobs = env->jobs };
	build_plan_prepare(&k);
	for (size_t i = 0; i < wish->n_targets; i++) {
		int code = build_plan_target(&k, wish->targets[i], e);

		if (code)
			return code;
	}
	build_plan_environment(&k, env);
	for (size_t i = 0; i < out->n; i++)
		build_plan_look(&k, &out->steps[i]);
	build_plan_add_up(&k, m);
	return 0;
}
