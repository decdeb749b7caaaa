/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The CUDA driver's loader, our kernels' twins and the GPU benches, through the real loader on a
 * stand-in that runs the kernels on the CPU: all that can go wrong is made to go wrong. With
 * "absent": a machine without a driver.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "measure/bench/gpu_ahead.h"
#include "measure/bench/gpu_common.h"
#include "measure/bench/bench.h"
#include "machine/cuda/library.h"
#include "machine/host/vendor.h"

static const struct bench *const gpu_benches[] = { &bench_gpu_memory, &bench_gpu_latency,
						   &bench_gpu_copy, &bench_gpu_launch };

static void stub(const char *settings)
{
	setenv("GPUTUNE_STUB_CUDA", settings, 1);
}

/* Two GPUs, which the management library counts the other way round; one is used. */
static struct machine *machine(struct arena *a)
{
	struct machine *m = ARENA_NEW(a, struct machine);

	for (unsigned i = 0; i < 2; i++) {
		struct gpu *g = list_add(a, &m->gpu.gpus, sizeof(*g));

		g->index = i;
		g->pci = i ? "0000:42:00.0" : "0000:41:00.0";
		if (!i) {
			struct gpu_process *p = list_add(a, &g->processes, sizeof(*p));

			/* This very process is nobody to blame. */
			p->index = (unsigned)getpid();
			p->command = (struct fact_str){ { .seen = SEEN_OK }, "myself" };
			p = list_add(a, &g->processes, sizeof(*p));
			p->index = 4711;
			p->command = (struct fact_str){ { .seen = SEEN_OK }, "python3" };
			p->memory_bytes = (struct fact_int){ { .seen = SEEN_OK }, 5ll << 20 };
		}
	}
	m->memory.available_kb = (struct fact_int){ { .seen = SEEN_OK }, 1 << 20 };
	return m;
}

static struct frame frame_of(struct arena *a, const char *gpus)
{
	return (struct frame){
		.env = { .a = a, .m = machine(a), .ask = { .gpus = gpus }, .small = true },
		.seconds = 0.02,
		.samples = 2
	};
}

/* The cases of one bench whose names begin so. */
static struct record *measured(struct arena *a, const struct bench *b, const char *prefix)
{
	struct record *r = ARENA_NEW(a, struct record);
	struct frame f = frame_of(a, NULL);

	assert_int_equal(frame_run(&f, b, prefix, r), 0);
	return r;
}

static const char *error_of(struct arena *a, const struct bench *b, const char *prefix)
{
	struct record *r = measured(a, b, prefix);

	assert_non_null(r->cases[0].error);
	assert_false(r->cases[0].verified);
	return r->cases[0].error;
}

/* --- what goes right -------------------------------------------------------------------------- */

static void test_all(void **state)
{
	struct arena a = { 0 };

	(void)state;
	stub("");
	for (size_t b = 0; b < sizeof(gpu_benches) / sizeof(gpu_benches[0]); b++) {
		struct record *r = measured(&a, gpu_benches[b], NULL);

		assert_true(r->n >= 4);
		for (size_t i = 0; i < r->n; i++) {
			if (r->cases[i].error)
				fail_msg("%s %s: %s", r->cases[i].bench, r->cases[i].name,
					 r->cases[i].error);
			assert_true(r->cases[i].verified);
			assert_true(r->cases[i].n >= 2);
			assert_true(r->cases[i].series[0].x[0] > 0);
			assert_non_null(r->cases[i].placement);
		}
	}
	arena_free(&a);
}

/* What "bench all" runs of a bench is there on a GPU of usual size. */
static void test_brief(void **state)
{
	struct arena a = { 0 };
	struct frame f = frame_of(&a, NULL);

	(void)state;
	stub("memory=8589934592");
	f.env.small = false;
	for (size_t b = 0; b < sizeof(gpu_benches) / sizeof(gpu_benches[0]); b++) {
		struct bench_cases c = { 0 };
		size_t n = 0;

		gpu_benches[b]->cases(&f.env, &c);
		for (size_t i = 0; i < c.n; i++)
			n += strncmp(c.items[i].name, gpu_benches[b]->brief,
				     strlen(gpu_benches[b]->brief)) == 0;
		assert_int_equal(n, 2);
	}
	arena_free(&a);
}

/* Without the hardware's wait the gate is a kernel; without peers copies go through the host. */
static void test_lesser(void **state)
{
	struct arena a = { 0 };
	struct record *r;

	(void)state;
	stub("nogate=1");
	r = measured(&a, &bench_gpu_memory, "copy:");
	assert_null(r->cases[0].error);
	stub("nopeer=1");
	r = measured(&a, &bench_gpu_copy, "peer");
	for (size_t i = 0; i < r->n; i++) {
		assert_null(r->cases[i].error);
		assert_null(strstr(r->cases[i].name, "kernel"));
		assert_non_null(strstr(r->cases[i].variant, "through the host"));
	}
	assert_non_null(strstr(error_of(&a, &bench_gpu_latency, "peer"), "has no peer access"));
	arena_free(&a);
}

static void test_choose(void **state)
{
	static const struct {
		const char *gpus, *first;
		size_t n;
	} rows[] = {
		{ NULL, "read:gpu0", 2 },
		{ "1", "read:gpu1", 1 },
		{ "0-1", "read:gpu0", 2 },
		/* CUDA's first is the management library's second. */
		{ "GPU-10101010", "read:gpu1", 1 },
		{ "GPU-11111111-1111,1", "read:gpu0", 2 },
	};
	static const char *const wrong[] = { "2", "0,9", "GPU-1", "x", "GPU-99999999", "0-x" };
	struct arena a = { 0 };

	(void)state;
	stub("");
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct frame f = frame_of(&a, rows[i].gpus);
		struct bench_cases c = { 0 };

		bench_gpu_memory.cases(&f.env, &c);
		assert_true(c.n >= rows[i].n);
		assert_string_equal(c.items[0].name, rows[i].first);
		for (size_t k = 0; k < c.n; k++)
			assert_true(rows[i].n == 2 || strcmp(strchr(c.items[k].name, ':'),
							     strchr(rows[i].first, ':')) == 0);
	}
	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		struct frame f = frame_of(&a, wrong[i]);
		struct bench_cases c = { 0 };

		bench_gpu_memory.cases(&f.env, &c);
		assert_int_equal(c.n, 0);
		assert_true(c.usage);
		assert_non_null(strstr(c.none, "--gpus"));
	}
	arena_free(&a);
}

/* A permutation that the host and the kernels agree on; the cycle leaves nothing out. */
static void test_twins(void **state)
{
	(void)state;
	for (unsigned bits = 1; bits <= 13; bits++) {
		size_t n = (size_t)1 << bits;
		char *seen = calloc(n, 1);

		assert_non_null(seen);
		for (size_t i = 0; i < n; i++) {
			uint64_t at = cuda_chain_place(i, bits, 7);

			assert_true(at < n);
			assert_false(seen[at]);
			seen[at] = 1;
		}
		free(seen);
	}
	/* The published first values of splitmix64 for seed 0 begin one step on. */
	assert_true(cuda_random(0, 1) == UINT64_C(0xe220a8397b1dcdaf));
	assert_true(cuda_random(0, 2) == UINT64_C(0x6e789e6aa1b965f4));
}

/* --- what goes wrong -------------------------------------------------------------------------- */

static void test_wrong_results(void **state)
{
	static const struct {
		const char *corrupt, *name, *says;
		const struct bench *b;
	} rows[] = {
		{ "corrupt=copy", "copy:", "the copy: 1 of", &bench_gpu_memory },
		{ "corrupt=write", "write:", "the data written: 1 of", &bench_gpu_memory },
		{ "corrupt=triad", "triad:", "the triad: 1 of", &bench_gpu_memory },
		{ "corrupt=read", "read:", "sums to", &bench_gpu_memory },
		{ "corrupt=engine", "copy-driver:", "the copy: 1 of", &bench_gpu_memory },
		{ "corrupt=engine", "h2d:gpu0", "the copy from the host: 1 of", &bench_gpu_copy },
		{ "corrupt=engine", "d2h:gpu0", "the copy to the host: 1 of", &bench_gpu_copy },
		{ "corrupt=engine", "d2h-pageable:gpu0", "the copy to the host: word",
		  &bench_gpu_copy },
		{ "corrupt=engine", "peer-write:", "the copy to the other GPU", &bench_gpu_copy },
		{ "corrupt=copy", "peer-read-kernel:", "the copy from the other GPU",
		  &bench_gpu_copy },
		{ "blind=1", "copy:", "the check does not work", &bench_gpu_memory },
	};
	struct arena a = { 0 };

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		const char *text;

		stub(rows[i].corrupt);
		text = error_of(&a, rows[i].b, rows[i].name);
		assert_non_null(strstr(text, "the result is wrong"));
		if (!strstr(text, rows[i].says))
			fail_msg("\"%s\" does not say \"%s\"", text, rows[i].says);
	}
	arena_free(&a);
}

static void test_in_use(void **state)
{
	struct arena a = { 0 };
	const char *text;

	(void)state;
	stub("memory=1572864");
	text = error_of(&a, &bench_gpu_memory, "copy:gpu0");
	assert_non_null(strstr(text, "GPU 0000:41:00.0: cannot allocate 1 MiB"));
	assert_non_null(strstr(text, "it is used by pid 4711 (python3, 5 MiB)"));
	assert_null(strstr(text, "myself"));
	stub("exclusive=1");
	text = error_of(&a, &bench_gpu_launch, "seen:gpu0");
	assert_non_null(strstr(text, "exclusive"));
	assert_non_null(strstr(text, "pid 4711"));
	/* The other one is used by nobody: nobody is blamed. */
	text = error_of(&a, &bench_gpu_launch, "seen:gpu1");
	assert_non_null(strstr(text, "exclusive"));
	assert_null(strstr(text, "pid"));
	stub("refuse=1");
	text = error_of(&a, &bench_gpu_launch, "seen:gpu0");
	assert_non_null(strstr(text, "ptxas: line 7: no such thing"));
	assert_null(strchr(text, '\n'));
	arena_free(&a);
}

/* What was begun before the facts serves the first bench, and only that; a first figure is told. */
static void test_ahead(void **state)
{
	struct arena a = { 0 };
	struct frame f = frame_of(&a, NULL);
	struct record *r = ARENA_NEW(&a, struct record);
	struct bench_ask named = { .gpus = "1" };
	struct cuda *first = NULL, *again = NULL;
	struct err e = { 0 };
	int code = -1;

	(void)state;
	stub("");
	f.env.ahead = gpu_preinit_plain(&f.env.ask, "copy:gpu0");
	assert_non_null(f.env.ahead);
	assert_int_equal(frame_run(&f, &bench_gpu_memory, "copy:gpu0", r), 0);
	assert_null(r->cases[0].error);
	assert_true(r->cases[0].verified && r->cases[0].early.known);
	assert_true(r->cases[0].early.value > 0 && r->cases[0].early.at_s > 0);
	assert_string_equal(r->cases[0].early.how, "the first sample of the warm-up");
	assert_int_equal(frame_run(&f, &bench_gpu_launch, "next:gpu0", r), 0);
	assert_null(r->cases[1].error);
	assert_false(gpu_preinit_driver(f.env.ahead, &again, &code, &e));
	gpu_preinit_end(f.env.ahead);
	/* No context on a GPU that was not asked for. */
	f.env.ahead = gpu_preinit_plain(&named, NULL);
	assert_true(gpu_preinit_driver(f.env.ahead, &first, &code, &e));
	assert_int_equal(code, 0);
	assert_int_equal(first->n, 2);
	assert_null(first->gpu[0].context);
	assert_null(first->gpu[1].context);
	gpu_preinit_end(f.env.ahead);
	/* A failure is handed over with its reason; nobody need take it. */
	stub("gpus=0");
	f.env.ahead = gpu_preinit_plain(&f.env.ask, NULL);
	assert_true(gpu_preinit_driver(f.env.ahead, &first, &code, &e));
	assert_true(code < 0);
	assert_non_null(strstr(e.text, "no GPU"));
	gpu_preinit_end(f.env.ahead);
	stub("");
	gpu_preinit_end(gpu_preinit_products(&named, NULL));
	gpu_preinit_end(NULL);
	arena_free(&a);
}

/* A GPU that dies stays dead: what comes later fails at once, with the first reason. */
static void test_lost(void **state)
{
	struct arena a = { 0 };

	(void)state;
	for (int after = 0; after < 60; after += 7)
		for (size_t b = 0; b < sizeof(gpu_benches) / sizeof(gpu_benches[0]); b++) {
			char settings[32];
			struct record *r;
			size_t lost = 0;

			snprintf(settings, sizeof(settings), "lost_after=%d", after);
			stub(settings);
			r = measured(&a, gpu_benches[b], NULL);
			for (size_t i = 0; i < r->n; i++)
				lost += r->cases[i].error &&
					strstr(r->cases[i].error, "LAUNCH_FAILED") != NULL;
			assert_true(lost > 0);
		}
	arena_free(&a);
}

/* --- the driver ------------------------------------------------------------------------------- */

static void test_waits_end(void **state)
{
	struct cuda *c = calloc(1, sizeof(*c));
	struct cuda_stream *s = NULL;
	struct err e = { 0 };

	(void)state;
	assert_non_null(c);
	stub("");
	assert_int_equal(cuda_open(c, &e), 0);
	assert_int_equal(cuda_use(&c->gpu[0], &e), 0);
	assert_int_equal(cuda_stream_make(&c->gpu[0], &s, &e), 0);
	assert_int_equal(cuda_wait_stream(&c->gpu[0], s, 0.05, "the work", &e), 0);
	stub("stuck=1");
	assert_int_equal(cuda_wait_stream(&c->gpu[0], s, 0.05, "the work", &e), -ETIME);
	assert_non_null(strstr(e.text, "is lost: the work did not finish within 0.05 s"));
	stub("");
	/* It is well again, and we do not believe it. */
	assert_int_equal(cuda_wait_stream(&c->gpu[0], s, 0.05, "the work", &e), -EIO);
	assert_int_equal(cuda_use(&c->gpu[0], &e), -EIO);
	assert_int_equal(cuda_use(&c->gpu[1], &e), 0);
	c->gpu[0].lost[0] = '\0';
	cuda_stream_end(&c->gpu[0], s);
	cuda_close(c);
	free(c);
}

/* A call that never returns: the process says which GPU, and ends with a code. */
static void test_guard(void **state)
{
	static const struct timespec nap = { .tv_nsec = 20000000 };
	char said[512] = "";
	int ends[2], status = 0;
	ssize_t n;
	pid_t child;

	(void)state;
	assert_int_equal(pipe(ends), 0);
	child = fork();
	assert_true(child >= 0);
	if (child == 0) {
		struct cuda_guard g;

		dup2(ends[1], STDERR_FILENO);
		cuda_guard_begin(&g, 0.5, "nobody");
		for (int i = 0; i < 50; i++) {
			nanosleep(&nap, NULL);
			cuda_guard_touch(&g);
		}
		cuda_guard_end(&g);
		cuda_guard_begin(&g, 0.1, "GPU 0000:41:00.0");
		sleep(30);
		_exit(77);
	}
	close(ends[1]);
	assert_int_equal(waitpid(child, &status, 0), child);
	n = read(ends[0], said, sizeof(said) - 1);
	close(ends[0]);
	assert_true(n > 0);
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), CUDA_GUARD_EXIT);
	assert_non_null(strstr(said, "GPU 0000:41:00.0: a driver call hangs"));
	assert_null(strstr(said, "nobody"));
}

static void test_driver(void **state)
{
	static const struct {
		const char *settings, *says;
		int code;
	} rows[] = {
		{ "gpus=0", "NO_DEVICE", -ENXIO },
		{ "version=11020", "too old: it supports CUDA 11.2", -ELIBBAD },
		{ "init=803", "different versions", -ELIBBAD },
		{ "init=802", "Fabric Manager", -EAGAIN },
		{ "init=4242", "CUDA_ERROR_OF_THE_STUB (4242)", -EIO },
	};
	struct cuda *c = calloc(1, sizeof(*c));
	struct err e = { 0 };

	(void)state;
	assert_non_null(c);
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		stub(rows[i].settings);
		assert_int_equal(cuda_open(c, &e), rows[i].code);
		assert_non_null(strstr(e.text, rows[i].says));
	}
	stub("");
	assert_int_equal(cuda_open(c, &e), 0);
	assert_int_equal(c->n, 2);
	assert_string_equal(c->gpu[0].pci, "0000:42:00.0");
	assert_string_equal(c->gpu[0].uuid, "GPU-10101010-1010-1010-1010-101010101010");
	assert_string_equal(c->gpu[1].pci, "0000:41:00.0");
	assert_int_equal(c->gpu[0].sms, 2);
	cuda_close(c);
	free(c);
}

static void test_library(void **state)
{
	static const char *const names[] = { "libcuda.so.99", "libcuda.so.1", NULL },
				 *const only[] = { "libcuda.so.99", NULL },
				 *const none[] = { "libgputune-no-such-thing.so.1", NULL };
	int (*init)(unsigned) = NULL;
	const struct vendor_symbol symbol = { "cuInit", 0, NULL };
	struct cuda_library l;
	struct err e = { 0 };
	char folder[] = "/tmp/gputune-library-XXXXXX", link[64], path[PATH_MAX];

	(void)state;
	assert_int_equal(cuda_library_open(names, false, &symbol, 1, &init, &l, &e), 0);
	assert_string_equal(l.soname, "libcuda.so.1");
	assert_non_null(strstr(l.path, "/libcuda.so.1"));
	assert_non_null(init);
	snprintf(path, sizeof(path), "%s", l.path);
	cuda_library_close(&l);
	/* The folder that was asked for comes first, and in it the newest. */
	assert_non_null(mkdtemp(folder));
	snprintf(link, sizeof(link), "%s/libcuda.so.99", folder);
	assert_int_equal(symlink(path, link), 0);
	setenv("GPUTUNE_LIB_DIR", "/nonexistent:", 1);
	assert_int_equal(cuda_library_open(names, false, &symbol, 1, &init, &l, &e), 0);
	assert_string_equal(l.soname, "libcuda.so.1");
	cuda_library_close(&l);
	snprintf(path, sizeof(path), "/nonexistent:%s", folder);
	setenv("GPUTUNE_LIB_DIR", path, 1);
	assert_int_equal(cuda_library_open(names, false, &symbol, 1, &init, &l, &e), 0);
	assert_string_equal(l.soname, "libcuda.so.99");
	cuda_library_close(&l);
	/* The loader would look into another folder than the one that was named. */
	snprintf(path, sizeof(path), "%s/$LIB", folder);
	assert_int_equal(mkdir(path, 0755), 0);
	snprintf(path, sizeof(path), "%s/$LIB/libcuda.so.99", folder);
	assert_int_equal(rename(link, path), 0);
	snprintf(path, sizeof(path), "%s/$LIB", folder);
	setenv("GPUTUNE_LIB_DIR", path, 1);
	assert_int_equal(cuda_library_open(only, false, &symbol, 1, &init, &l, &e), -ELIBACC);
	assert_non_null(strstr(e.text, "the dynamic loader would expand the '$'"));
	snprintf(path, sizeof(path), "%s/$LIB/libcuda.so.99", folder);
	assert_int_equal(rename(path, link), 0);
	snprintf(path, sizeof(path), "%s/$LIB", folder);
	assert_int_equal(rmdir(path), 0);
	setenv("GPUTUNE_LIB_DIR", folder, 1);
	/* Not a library: the loader's reason is told. */
	unlink(link);
	snprintf(link, sizeof(link), "%s/libgputune-no-such-thing.so.1", folder);
	fclose(fopen(link, "w"));
	assert_int_equal(cuda_library_open(none, false, &symbol, 1, &init, &l, &e), -ELIBACC);
	assert_non_null(strstr(e.text, "cannot open"));
	unlink(link);
	assert_int_equal(cuda_library_open(none, false, &symbol, 1, &init, &l, &e), -ELIBACC);
	assert_non_null(strstr(e.text, "not found on this machine"));
	rmdir(folder);
	unsetenv("GPUTUNE_LIB_DIR");
}

static void test_library_paths(void **state)
{
	static const char *const none[] = { "libgputune-no-such-thing.so.1", NULL };
	int (*init)(unsigned) = NULL;
	const struct vendor_symbol symbol = { "cuInit", 0, NULL };
	struct cuda_library l;
	struct err e = { 0 };
	char deep[5000], file[5100];

	(void)state;
	/* Longer than any: told. */
	memset(deep, 'x', sizeof(deep) - 1);
	deep[0] = '/';
	deep[sizeof(deep) - 1] = '\0';
	setenv("GPUTUNE_LIB_DIR", deep, 1);
	assert_int_equal(cuda_library_open(none, false, &symbol, 1, &init, &l, &e), -ELIBACC);
	assert_non_null(strstr(e.text, "a folder in GPUTUNE_LIB_DIR exceeds the path limit of"));
	/* Long: looked into, and a pipe that nobody writes to is not waited for. */
	snprintf(deep, sizeof(deep), "/tmp/gputune-library-%0*d", 200, (int)getpid());
	assert_int_equal(mkdir(deep, 0755), 0);
	for (int i = 0; i < 3; i++) {
		strcat(deep, "/");
		memset(deep + strlen(deep), 0, 201);
		memset(deep + strlen(deep), 'd', 200);
		assert_int_equal(mkdir(deep, 0755), 0);
	}
	snprintf(file, sizeof(file), "%s/libgputune-no-such-thing.so.1", deep);
	assert_int_equal(mkfifo(file, 0644), 0);
	setenv("GPUTUNE_LIB_DIR", deep, 1);
	assert_int_equal(cuda_library_open(none, false, &symbol, 1, &init, &l, &e), -ELIBACC);
	assert_non_null(strstr(e.text, "cannot open"));
	assert_non_null(strstr(e.text, "/tmp/gputune-library-"));
	unlink(file);
	for (char *slash; (slash = strrchr(deep, '/')) && slash >= deep + 4; *slash = '\0')
		rmdir(deep);
	unsetenv("GPUTUNE_LIB_DIR");
}

/* What is there and is not taken is not "not found": below /tmp all may write. */
static void test_library_of_others(void **state)
{
	static const char *const names[] = { "libgputune-no-such-thing.so.1", NULL };
	static const char *const parts[] = { "/.local", "/lib",	    "/python3.99", "/site-packages",
					     "/nvidia", "/nothing", "/lib" };
	const struct vendor_symbol symbol = { "cuInit", 0, NULL };
	const char *home = getenv("HOME");
	/* That name alone, and not what it stands for as a pattern. */
	char *before = home ? strdup(home) : NULL, folder[] = "/tmp/gputune-[l]ibrary-XXXXXX";
	char path[512];
	int (*init)(unsigned) = NULL;
	struct cuda_library l;
	struct err e = { 0 };

	(void)state;
	assert_non_null(mkdtemp(folder));
	snprintf(path, sizeof(path), "%s", folder);
	for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++) {
		strcat(path, parts[i]);
		assert_int_equal(mkdir(path, 0755), 0);
	}
	strcat(path, "/libgputune-no-such-thing.so.1");
	fclose(fopen(path, "w"));
	setenv("HOME", folder, 1);
	assert_int_equal(cuda_library_open(names, true, &symbol, 1, &init, &l, &e), -ELIBACC);
	assert_non_null(strstr(e.text, "cannot open"));
	assert_non_null(strstr(
		e.text, geteuid() == 0 ? "users other than root can write to it or a parent folder"
				       : path));
	assert_non_null(strstr(e.text, path));
	unlink(path);
	for (char *slash; (slash = strrchr(path, '/')) && strlen(path) > strlen(folder);) {
		*slash = '\0';
		rmdir(path);
	}
	before ? setenv("HOME", before, 1) : unsetenv("HOME");
	free(before);
}

static void test_absent(void **state)
{
	struct arena a = { 0 };
	struct frame f = frame_of(&a, NULL);

	(void)state;
	for (size_t b = 0; b < sizeof(gpu_benches) / sizeof(gpu_benches[0]); b++) {
		struct bench_cases c = { 0 };

		gpu_benches[b]->cases(&f.env, &c);
		assert_int_equal(c.n, 0);
		assert_non_null(strstr(c.none, "no NVIDIA driver"));
		assert_false(c.usage);
	}
	arena_free(&a);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest present[] = {
		cmocka_unit_test(test_all),	      cmocka_unit_test(test_lesser),
		cmocka_unit_test(test_brief),	      cmocka_unit_test(test_choose),
		cmocka_unit_test(test_twins),	      cmocka_unit_test(test_wrong_results),
		cmocka_unit_test(test_in_use),	      cmocka_unit_test(test_ahead),
		cmocka_unit_test(test_lost),	      cmocka_unit_test(test_waits_end),
		cmocka_unit_test(test_guard),	      cmocka_unit_test(test_driver),
		cmocka_unit_test(test_library),	      cmocka_unit_test(test_library_of_others),
		cmocka_unit_test(test_library_paths),
	};
	const struct CMUnitTest absent[] = { cmocka_unit_test(test_absent) };

	if (argc > 1 && strcmp(argv[1], "absent") == 0)
		return cmocka_run_group_tests(absent, NULL, NULL);
	return cmocka_run_group_tests(present, NULL, NULL);
}
