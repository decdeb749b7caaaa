/* SPDX-License-Identifier: Apache-2.0 */
/* Which tests there are, and running them one after the other. */
#include "measure/doctor/test.h"

#include <string.h>

#include "measure/doctor/path.h"

/* Less would take memory that running programs may need. */
enum { SPARE_KB = 2 << 20, BUSY_PERCENT = 20 };

/* Cases a test may have on an ordinary machine, for the estimate of its time. */
enum { OVERHEAD_S = 1 };

const struct doctor_test doctor_tests[TESTS] = {
	[TEST_GPU_LOAD] = { TEST_GPU_LOAD, "gpu-load", "gpu-load", "signature", 12, NEED_GPU,
			    false },
	[TEST_GPU_COPY] = { TEST_GPU_COPY, "gpu-copy", "copy", "h2d:gpu", 1, NEED_GPU, false },
	[TEST_GPU_MEMORY] = { TEST_GPU_MEMORY, "gpu-memory", "gpu-memory", "copy:gpu", 1, NEED_GPU,
			      false },
	[TEST_GPU_STEADY] = { TEST_GPU_STEADY, "gpu-steady", "gpu-memory", "read:gpu", 60, NEED_GPU,
			      true },
	[TEST_MEMORY_ONE] = { TEST_MEMORY_ONE, "memory-bandwidth-1", "memory-bandwidth",
			      "triad:1-thread", 1, NEED_NOTHING, false },
	[TEST_MEMORY_PAGES] = { TEST_MEMORY_PAGES, "memory-latency-huge", "memory-latency",
				"64MiB:huge", 0.6, NEED_NOTHING, false },
	[TEST_CPU_CLOCK] = { TEST_CPU_CLOCK, "cpu-frequency", "cpu-frequency", NULL, 0.5,
			     NEED_NOTHING, false },
	[TEST_WAKE] = { TEST_WAKE, "idle-wake-up", "idle-wake-up", "10m", 0.6, NEED_NOTHING,
			false },
	[TEST_TIMER] = { TEST_TIMER, "timer-wake-up", "timer-wake-up", "1ms", 0.6, NEED_NOTHING,
			 false },
	[TEST_TCP] = { TEST_TCP, "tcp", "tcp", "send:1", 2, NEED_PEER, false },
	[TEST_TCP_BACK] = { TEST_TCP_BACK, "tcp-back", "tcp", "receive:1", 2, NEED_PEER, false },
	[TEST_TCP_IDLE] = { TEST_TCP_IDLE, "tcp-idle", "tcp-idle", NULL, 2, NEED_PEER, false },
	[TEST_RDMA] = { TEST_RDMA, "rdma", "rdma", "write:1MiB", 2, NEED_PEER, false },
	[TEST_PATH] = { TEST_PATH, "path", NULL, NULL, 1, NEED_PEER, false },
	[TEST_FILES] = { TEST_FILES, "model-load", "model-load", "cold:", 2, NEED_FILES, false },
	[TEST_DISK] = { TEST_DISK, "disk", "disk", "read-", 2, NEED_DIR, false },
};

static const char *gpu_gate(struct arena *a, const struct machine *m)
{
	if (!m->gpu.gpus.n)
		return machine_no_gpu(a, m);
	LIST_FOR_EACH (struct gpu, g, &m->gpu.gpus) {
		LIST_FOR_EACH (struct gpu_process, p, &g->processes)
			if (fact_is(&p->kind, "compute"))
				return arena_printf(a,
						    "GPU %u is in use by process %u (%s), which a "
						    "load would disturb",
						    g->index, p->index,
						    fact_text(&p->command, "unnamed"));
		if (fact_or(&g->util_gpu_pct, 0) >= BUSY_PERCENT)
			return arena_printf(a,
					    "GPU %u is %lld %% busy, and a load would disturb it",
					    g->index, g->util_gpu_pct.v);
	}
	return NULL;
}

const char *doctor_test_gate(struct arena *a, const struct machine *m, const struct bench_ask *ask,
			     enum doctor_need need)
{
	if (need == NEED_PEER && !ask->peer)
		return "it needs another machine, where \"gputune bench serve\" runs: --peer and "
		       "--token";
	if (need == NEED_FILES && !ask->files)
		return "it needs files to read: --files";
	if (need == NEED_DIR && !ask->dir)
		return "it needs a folder for a file of its own: --dir";
	if (need == NEED_GPU && gpu_gate(a, m))
		return gpu_gate(a, m);
	if ((need == NEED_GPU || need == NEED_NOTHING) && seen_ok(&m->memory.available_kb.f) &&
	    m->memory.available_kb.v < SPARE_KB)
		return arena_printf(a,
				    "only %lld MiB of memory are available, and it would take some "
				    "of them",
				    m->memory.available_kb.v / 1024);
	return NULL;
}

double doctor_tests_seconds(const struct doctor_plan *p)
{
	double out = 0;

	for (unsigned t = 0; t < TESTS; t++)
		if ((p->tests & TEST_BIT(t)) && (p->named || !doctor_tests[t].by_name))
			out += OVERHEAD_S + (p->seconds > 0 ? p->seconds : doctor_tests[t].seconds);
	return out;
}

static const char *run_path(struct frame *f, struct path_look **path)
{
	struct arena *a = f->env.a;
	struct path_look *p = ARENA_NEW(a, struct path_look);
	struct err e = { 0 };

	if (path_take(a, f->env.m, f->env.ask.peer, f->env.stop, p, &e))
		return arena_strdup(a, e.text);
	*path = p;
	return NULL;
}

static const char *run_bench(struct frame *f, const struct doctor_test *t, double seconds,
			     struct record *r)
{
	const struct bench *b = bench_find(t->bench);
	size_t skipped = r->n_skipped, first = r->n;
	const char *error = NULL;
	int code;

	f->seconds = seconds > 0 ? seconds : t->seconds;
	code = frame_run(f, b, t->cases, r);
	if (code == -ENOENT)
		return arena_printf(f->env.a, "%s has no case %s here", t->bench, t->cases);
	if (code == -ENODATA || code == -EINVAL)
		return r->n_skipped > skipped ? r->skipped[r->n_skipped - 1].reason
					      : "there is nothing here that it could measure";
	/* What gave figures and was then found wrong or ill did run. */
	for (size_t i = first; i < r->n; i++) {
		if (r->cases[i].n)
			return NULL;
		error = r->cases[i].error;
	}
	return error ? error : "interrupted";
}

void doctor_run_tests(struct frame *f, const struct doctor_plan *p, struct record *r,
		      const char *why[TESTS], struct path_look **path)
{
	for (unsigned t = 0; t < TESTS; t++) {
		const struct doctor_test *test = &doctor_tests[t];

		why[t] = "not asked for";
		if (!(p->tests & TEST_BIT(t)))
			continue;
		why[t] = p->forbidden
				 ? p->forbidden
				 : doctor_test_gate(f->env.a, f->env.m, &f->env.ask, test->need);
		if (why[t])
			continue;
		if (test->by_name && !p->named)
			why[t] = arena_printf(f->env.a,
					      "it takes %.0f s and runs when its symptom is asked "
					      "for",
					      test->seconds);
		else if (f->env.stop && atomic_load(f->env.stop))
			why[t] = "interrupted before it began";
		else
			why[t] =
				test->bench ? run_bench(f, test, p->seconds, r) : run_path(f, path);
	}
}
