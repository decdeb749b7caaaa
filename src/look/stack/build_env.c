/* SPDX-License-Identifier: Apache-2.0 */
/* From facts to the variables that PyTorch's, Triton's and CMake's builds read. */
#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "look/stack/build_env.h"
#include "base/text.h"
#include "base/fd.h"
#include "machine/host/command.h"
#include "look/stack/build_plan.h"

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
	k->out->lines = arena_grow(k->a, k->out->lines, k->out->n, sizeof(*k->out->lines));
	k->out->lines[k->out->n++] =
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
	line(k, "PATH", arena_printf(k->a, "%s/bin", t->path), "its nvcc before any other");
	k->out->lines[k->out->n - 1].before = true;
	line(k, "CUDACXX", arena_printf(k->a, "%s/bin/nvcc", t->path),
	     "which compiler CMake takes for CUDA");
	line(k, "TORCH_CUDA_ARCH_LIST", archs(k, true),
	     "this machine's GPU alone: each further architecture adds its share of compiling");
	line(k, "CUDAARCHS", archs(k, false), "the same for projects that leave it to CMake");
	if (k->how->gpus[0].sm >= 100) {
		line(k, "TRITON_PTXAS_BLACKWELL_PATH", arena_printf(k->a, "%s/bin/ptxas", t->path),
		     "Triton's own copy may be older than this toolkit's");
	}
	line(k, "TRITON_PTXAS_PATH", arena_printf(k->a, "%s/bin/ptxas", t->path),
	     "the same of Triton before 3.5, and for older GPUs");
}

static void build_env_jobs(struct maker *k)
{
	long long memory = fact_or(&k->m->memory.available_kb, 0);
	const char *text;

	k->out->jobs = build_jobs(k->m, GIB_A_JOB);
	text = arena_printf(k->a, "%u", k->out->jobs);
	line(k, "MAX_JOBS", text,
	     arena_printf(k->a,
			  "a CUDA compiler takes up to %d GiB; %.0f GiB are free now, %d of "
			  "them stay so",
			  GIB_A_JOB, (double)memory / (1 << 20), GIB_BESIDE));
	line(k, "CMAKE_BUILD_PARALLEL_LEVEL", text, "the same for CMake");
	line(k, "NVCC_THREADS", "1", "threads inside nvcc multiply with MAX_JOBS");
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

	feature(k, "USE_CUDA", k->how->n_gpus > 0, "the whole point");
	feature_of(k, "USE_CUDNN", COMPONENT_CUDNN);
	feature_of(k, "USE_CUSPARSELT", COMPONENT_CUSPARSELT);
	if (on_spark(k))
		feature(k, "USE_CUFILE", false,
			"GPU and CPU share one memory: a plain direct read is as direct");
	else
		feature_of(k, "USE_CUFILE", COMPONENT_CUFILE);
	feature(k, "USE_DISTRIBUTED", true, "several GPUs or machines");
	feature(k, "USE_NCCL", true, "collectives");
	if (good)
		feature(k, "USE_SYSTEM_NCCL", true,
			arena_printf(k->a, "NCCL %s is installed: one version in all programs",
				     nccl->version));
	else if (nccl || !k->out->unseen)
		feature(k, "USE_SYSTEM_NCCL", false,
			nccl ? "the installed NCCL is too old: PyTorch builds its own"
			     : "no NCCL is installed: PyTorch builds its own");
	feature(k, "USE_FLASH_ATTENTION", true, "fused attention");
	feature(k, "USE_MEM_EFF_ATTENTION", true, "for shapes that flash attention does not take");
	feature(k, "USE_FBGEMM", !arm,
		arm ? "written for the vector units of x86-64" : "quantised products on the CPU");
	if (arm)
		feature(k, "USE_PRIORITIZED_TEXT_FOR_LD", true,
			"PyTorch's advice for arm64: the code is linked in order of use");
	feature(k, "BUILD_TEST", false, "its tests take as long to compile as itself");
}

void build_env_make(struct arena *a, const struct machine *m, const struct inventory *inv,
		    const struct scan_options *how, struct build_env *out)
{
	struct maker k = { a, m, inv, how, out };
	const struct stack_place *t = build_env_toolkit(&k);

	*out = (struct build_env){ 0 };
	if (!inv->system_seen)
		out->unseen = arena_printf(a,
					   "which libraries the system has could not be seen "
					   "(%s): variables about them are left out",
					   inv->system_why);
	if (!how->n_gpus)
		out->missing = "no GPU to build for: --gpu sm_121 names one";
	else if (!t)
		out->missing = "no CUDA toolkit with nvcc for this GPU was found in "
			       "/usr/local/cuda*";
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

static void build_env_last_words(struct arena *a, const char *log, const char *what, int status,
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
