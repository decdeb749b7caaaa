/* SPDX-License-Identifier: Apache-2.0 */
/* The projects of a GPU stack as steps, and what stands against them. */
#include "look/stack/build_plan.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/text.h"
#include "machine/host/command.h"

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

const char *build_target(size_t i)
{
	return i == 0 ? "llvm" : i <= PROJECTS ? projects[i - 1].name : NULL;
}

static const char *build_targets(struct arena *a)
{
	const char *text = build_target(0);

	for (size_t i = 1; build_target(i); i++)
		text = arena_printf(a, "%s, %s", text, build_target(i));
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
	struct build_step *s =
		build_plan_step(k, "venv", "Create a Python environment for the build");

	s->argv = WORDS(k, k->w->python, "-m", "venv", "--system-site-packages", in(k, "venv"));
	s->tools = python;
	s = build_plan_step(k, "house", "Create a wheelhouse for the built wheels");
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
			    arena_printf(k->a, "Check the wheel and add it to the wheelhouse"));
	s->argv = WORDS(k, k->w->self, "stack", "wheelhouse", "update", in(k, "house"), dist);
}

static void project(struct planner *k, const struct project *p)
{
	static const char *const git[] = { "git", NULL };
	const char *source = arena_printf(k->a, "%s/src/%s", k->p->dir, p->name);
	struct build_step *s =
		build_plan_step(k, arena_printf(k->a, "%s-source", p->name),
				arena_printf(k->a, "Get the sources of %s %s", p->name, p->tag));

	s->argv = WORDS(k, "git", "clone", "--depth", "1", "--branch", p->tag, p->url, source);
	s->tools = git;
	s->there = arena_printf(k->a, "%s/.git/HEAD", source);
	/* By itself, because it goes on where it was interrupted. */
	s = build_plan_step(k, arena_printf(k->a, "%s-modules", p->name),
			    arena_printf(k->a, "Get the submodules of %s", p->name));
	s->argv = WORDS(k, "git", "-C", source, "submodule", "update", "--init", "--recursive",
			"--depth", "1");
	s->tools = git;
	if (p->needs) {
		s = build_plan_step(
			k, arena_printf(k->a, "%s-needs", p->name),
			arena_printf(k->a, "Install the build requirements of %s", p->name));
		s->argv = WORDS(k, in(k, "venv/bin/python"), "-m", "pip", "install", "-r",
				arena_printf(k->a, "%s/%s", source, p->needs));
	}
	wheel_steps(k, p->name, source, p->disk_gib, p->memory_gib, p->hours);
	if (p->first) {
		s = build_plan_step(k, arena_printf(k->a, "%s-install", p->name),
				    "Install the wheel in the build environment");
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
	struct build_step *s = build_plan_step(k, "llvm-source", "Get the LLVM sources for Triton");

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
		s->lacks = "Triton's sources name the commit: run step \"triton-source\" first";
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
	err_set(e, -EINVAL,
		"\"%.200s\" is neither a folder with a Python project nor a known project", name);
	err_hint(e, "known projects: %s", build_targets(k->a));
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

	while (s->argv[s->n_argv])
		s->n_argv++;
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
		p->lacks = arena_printf(k->a, "requires about %u GiB of disk; %.0f GiB are free",
					p->disk_gib, p->disk_free_gib);
	else if (p->memory_gib > 0 && (double)memory > p->memory_gib)
		p->lacks = arena_printf(
			k->a,
			"its largest step requires about %u GiB of memory; %.0f GiB are available",
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

/* From facts to the variables that PyTorch's, Triton's and CMake's builds read. */

/* What one compiler of PyTorch's CUDA sources takes at its peak; others take less. */
enum { GIB_A_JOB = 4, GIB_BESIDE = 8 };

struct maker {
	struct arena *a;
	const struct machine *m;
	const struct inventory *inv;
	const struct scan_options *how;
	struct build_env *out;
};

/* Parallel compilers so that memory lasts: gib each, beside 8 GiB for everything else; at least 1.
 */
static unsigned build_jobs(const struct machine *m, unsigned gib)
{
	long long memory = fact_or(&m->memory.available_kb, fact_or(&m->memory.total_kb, 0));
	long long cpus = seen_ok(&m->cpu.online.f) ? (long long)idset_count(&m->cpu.online.v) : 1;
	long long fit = memory / (1ll << 20) - GIB_BESIDE;

	fit = fit > 0 ? fit / gib : 0;
	if (!memory || fit > cpus)
		fit = cpus;
	return fit > 1 ? (unsigned)fit : 1;
}

static void line(struct maker *k, const char *name, const char *value, const char *reason)
{
	ARENA_ADD(k->a, k->out->lines, k->out->n) =
		(struct build_line){ .name = name, .value = value, .reason = reason };
}

static const struct stack_item *library(const struct maker *k, enum component c)
{
	const struct stack_item *best = NULL;

	for (size_t i = 0; i < k->inv->n_items; i++) {
		const struct stack_item *it = &k->inv->items[i];

		if (it->c == c && it->soname && k->inv->places[it->place].kind != PLACE_PYTHON &&
		    (!best || (it->version && best->version &&
			       version_compare(it->version, best->version) > 0)))
			best = it;
	}
	return best;
}

static bool on_spark(const struct maker *k)
{
	return fact_is(&k->m->platform.kind, "dgx-spark") ||
	       (k->how->n_gpus && k->how->gpus[0].sm == 121);
}

/* A toolkit that has dropped one of the GPUs makes nothing for it. */
static bool build_env_dropped(const struct maker *k, const char *version)
{
	for (size_t i = 0; i < k->how->n_gpus; i++) {
		unsigned since, until;
		char first[16];

		if (!cuda_makes(k->how->gpus[i].sm, &since, &until) || !until)
			continue;
		snprintf(first, sizeof(first), "%u.%u", until / 100, until / 10 % 10);
		if (version_compare(version, first) >= 0)
			return true;
	}
	return false;
}

/* The newest toolkit with a compiler that serves the GPUs. */
static const struct stack_place *build_env_toolkit(const struct maker *k)
{
	const struct stack_place *best = NULL;

	for (size_t i = 0; i < k->inv->n_places; i++) {
		const struct stack_place *p = &k->inv->places[i];

		if (p->kind == PLACE_TOOLKIT && p->nvcc && p->version &&
		    !build_env_dropped(k, p->version) &&
		    (!best || version_compare(p->version, best->version) > 0))
			best = p;
	}
	return best;
}

/* "12.1" joined by ';' for PyTorch, "121" for CMake. */
static const char *archs(struct maker *k, bool dotted)
{
	const char *text = "";

	for (size_t i = 0; i < k->how->n_gpus; i++) {
		unsigned sm = k->how->gpus[i].sm;

		text = arena_printf(k->a, "%s%s%s", text, i ? ";" : "",
				    dotted ? arena_printf(k->a, "%u.%u", sm / 10, sm % 10)
					   : arena_printf(k->a, "%u", sm));
	}
	return text;
}

static void compiler(struct maker *k, const struct stack_place *t)
{
	line(k, "CUDA_HOME", t->path,
	     arena_printf(k->a, "the newest toolkit with a compiler: %s", t->version));
	line(k, "PATH", arena_printf(k->a, "%s/bin", t->path), "puts this toolkit's nvcc first");
	k->out->lines[k->out->n - 1].before = true;
	line(k, "CUDACXX", arena_printf(k->a, "%s/bin/nvcc", t->path), "CUDA compiler for CMake");
	line(k, "TORCH_CUDA_ARCH_LIST", archs(k, true),
	     "only for this machine's GPU, since each further architecture adds compile time");
	line(k, "CUDAARCHS", archs(k, false),
	     "same as above, for projects that use CMake's default");
	if (k->how->gpus[0].sm >= 100) {
		line(k, "TRITON_PTXAS_BLACKWELL_PATH", arena_printf(k->a, "%s/bin/ptxas", t->path),
		     "Triton's bundled copy may be older than this toolkit's");
	}
	line(k, "TRITON_PTXAS_PATH", arena_printf(k->a, "%s/bin/ptxas", t->path),
	     "same as above, for Triton before 3.5 and for older GPUs");
}

static void build_env_jobs(struct maker *k)
{
	long long memory = fact_or(&k->m->memory.available_kb, 0);
	const char *text;

	k->out->jobs = build_jobs(k->m, GIB_A_JOB);
	text = arena_printf(k->a, "%u", k->out->jobs);
	line(k, "MAX_JOBS", text,
	     arena_printf(k->a,
			  "a CUDA compiler uses up to %d GiB; %.0f GiB are free now, of which %d "
			  "stay free",
			  GIB_A_JOB, (double)memory / (1 << 20), GIB_BESIDE));
	line(k, "CMAKE_BUILD_PARALLEL_LEVEL", text, "same as above, for CMake");
	line(k, "NVCC_THREADS", "1", "each of MAX_JOBS compilers starts this many threads");
}

static void feature(struct maker *k, const char *name, bool on, const char *reason)
{
	line(k, name, on ? "1" : "0", reason);
}

static void feature_of(struct maker *k, const char *name, enum component c)
{
	const struct stack_item *it = library(k, c);

	/* Unseen is not absent: PyTorch's build looks for it by itself. */
	if (!it && k->out->unseen)
		return;
	feature(k, name, it != NULL,
		it ? arena_printf(k->a, "%s%s%s is at %s", components[c].name,
				  it->version ? " " : "", it->version ? it->version : "", it->path)
		   : arena_printf(k->a, "%s is not installed outside Python", components[c].name));
}

static void features(struct maker *k)
{
	const struct stack_item *nccl = library(k, COMPONENT_NCCL);
	bool arm = fact_is(&k->m->kernel.arch, "aarch64");
	bool good = nccl && nccl->version &&
		    (!on_spark(k) || version_compare(nccl->version, "2.28.3") >= 0);

	feature(k, "USE_CUDA", k->how->n_gpus > 0, "required for a GPU build");
	feature_of(k, "USE_CUDNN", COMPONENT_CUDNN);
	feature_of(k, "USE_CUSPARSELT", COMPONENT_CUSPARSELT);
	if (on_spark(k))
		feature(k, "USE_CUFILE", false,
			"GPU and CPU share one memory: a plain direct read is equivalent");
	else
		feature_of(k, "USE_CUFILE", COMPONENT_CUFILE);
	feature(k, "USE_DISTRIBUTED", true, "several GPUs or machines");
	feature(k, "USE_NCCL", true, "collectives");
	if (good)
		feature(k, "USE_SYSTEM_NCCL", true,
			arena_printf(k->a, "NCCL %s is installed, so all programs use one version",
				     nccl->version));
	else if (nccl || !k->out->unseen)
		feature(k, "USE_SYSTEM_NCCL", false,
			nccl ? "the installed NCCL is too old: PyTorch builds its own"
			     : "NCCL is not installed: PyTorch builds its own");
	feature(k, "USE_FLASH_ATTENTION", true, "fused attention");
	feature(k, "USE_MEM_EFF_ATTENTION", true,
		"memory-efficient attention, for shapes that flash attention does not support");
	feature(k, "USE_FBGEMM", !arm,
		arm ? "written for the vector units of x86-64"
		    : "quantized matrix products on the CPU");
	if (arm)
		feature(k, "USE_PRIORITIZED_TEXT_FOR_LD", true,
			"recommended by PyTorch for arm64: code is linked in order of use");
	feature(k, "BUILD_TEST", false, "compiling its tests takes as long as PyTorch itself");
}

void build_env_make(struct arena *a, const struct machine *m, const struct inventory *inv,
		    const struct scan_options *how, struct build_env *out)
{
	struct maker k = { a, m, inv, how, out };
	const struct stack_place *t = build_env_toolkit(&k);

	*out = (struct build_env){ 0 };
	if (!inv->system_seen)
		out->unseen = arena_printf(a,
					   "the system's libraries are unreadable (%s): variables "
					   "about them are omitted",
					   inv->system_why);
	if (!how->n_gpus)
		out->missing = "no GPU to build for: give --gpu sm_121";
	else if (!t)
		out->missing = "no CUDA toolkit with nvcc for this GPU found in /usr/local/cuda*";
	if (t && how->n_gpus) {
		out->toolkit = t->path;
		compiler(&k, t);
	}
	build_env_jobs(&k);
	features(&k);
}

/* Doing one step of a build: its log, its stamp, and what it said last when it failed. */

enum { TAIL = 300 };

static int make_folders(struct arena *a, const struct build_plan *p, struct err *e)
{
	static const char *const leaves[] = { "", "/logs", "/steps", "/src", "/dist" };

	for (size_t i = 0; i < sizeof(leaves) / sizeof(leaves[0]); i++) {
		const char *path = arena_printf(a, "%s%s", p->dir, leaves[i]);

		if (mkdir(path, 0755) && errno != EEXIST)
			return err_set(e, -errno, "cannot create %s: %s", path, strerror(errno));
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
	err_set(e, -EBUSY, "%s is in use: another gputune builds there, or a leftover build step",
		p->dir);
	err_hint(e, "fuser -v %.200s shows the process", path);
	return -EBUSY;
}

/* The last argument of "wheelhouse update" is a folder: the wheels in it are meant. */
static char **build_env_expand(struct arena *a, char **argv, struct err *e)
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
		ARENA_ADD(a, list, n) = argv[i];
	}
	while (d && (it = readdir(d)))
		if (str_ends(it->d_name, ".whl")) {
			ARENA_ADD(a, list, n) =
				arena_printf(a, "%s/%s", argv[words - 1], it->d_name);
		}
	if (d)
		closedir(d);
	if (n + 1 == words) {
		err_set(e, -ENOENT, "%s contains no wheel", argv[words - 1]);
		return NULL;
	}
	list = arena_grow(a, list, n, sizeof(*list));
	list[n] = NULL;
	return list;
}

static void build_env_last_words(struct arena *a, const char *log, const char *what, int status,
				 struct err *e)
{
	char buf[TAIL + 1] = "";
	struct input_file f;
	struct err ignored = { 0 };

	(void)a;
	if (input_open(&f, log, &ignored) == 0) {
		size_t n = f.in.size < TAIL ? (size_t)f.in.size : TAIL;

		if (input_read(&f.in, f.in.size - n, buf, n))
			n = 0;
		buf[n] = '\0';
		input_close(&f);
	}
	err_set(e, -ECANCELED, "%s exited with %d: ...%s", what, status, buf);
	err_hint(e, "full log: %.180s; run it again to resume", log);
}

static int stamp(struct arena *a, const struct build_step *s, struct err *e)
{
	const char *temporary = arena_printf(a, "%s.new", s->stamp), *text = stamp_text(a, s);
	int fd, code;

	fd = open(temporary, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0644);
	if (fd < 0)
		return err_set(e, -errno, "%s: %s", temporary, strerror(errno));
	code = fd_write_all(fd, text, strlen(text));
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
	run.argv = build_env_expand(a, s->argv, e);
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
		build_env_last_words(a, s->log, s->title, status, e);
		return -ECANCELED;
	}
	code = stamp(a, s, e);
	if (!code)
		s->state = STEP_DONE;
	return code;
}
