/* SPDX-License-Identifier: Apache-2.0 */
/* What the program asks of the driver's libraries, as its providers and its benches do. */
#ifndef FUZZ_LIVE_GPU_H
#define FUZZ_LIVE_GPU_H

#include <math.h>

#include "fuzz_live_driver.h"
#include "fuzz_live_holds.h"

static const char *argument(const struct nvml_args *args)
{
	const char *name = args->n ? args->names[live_byte() % args->n] : "";

	return args->numbers
		       ? arena_printf(live->a, "%llu%s%s", live_number(), args->n ? "," : "", name)
		       : name;
}

static const char *nvml_question_text(void)
{
	static const char *const others[] = { "nvmlDeviceGetComputeRunningProcesses",
					      "nvmlDeviceGetGraphicsRunningProcesses",
					      "nvmlDeviceGetMPSComputeRunningProcesses" };
	size_t i = live_byte();
	const struct nvml_question *q = &nvml_questions[i % nvml_questions_n];
	const struct nvml_field_name *f = &nvml_field_names[i % NVML_FIELD_NAMES];
	const char *s, *member;

	switch (live_byte() % 8) {
	case 0:
		return live_text();
	case 1:
		return arena_printf(live->a,
				    nvml_field_of_link(f) ? "nvmlDeviceGetFieldValues(%s,%llu)"
							  : "nvmlDeviceGetFieldValues(%s)",
				    f->name, live_number());
	case 2:
		return others[i % 3];
	case 3:
		return arena_printf(live->a, "%s(%llu).%s", others[i % 3], live_number(),
				    live_byte() % 2 ? "pid" : "usedGpuMemory");
	default:
		break;
	}
	s = q->args ? arena_printf(live->a, "%s(%s)", q->name, argument(q->args)) : q->name;
	member = q->members[live_byte() % NVML_MEMBERS];
	if (!member)
		member = q->members[0];
	return member ? arena_printf(live->a, "%s.%s", s, member) : s;
}

static void play_nvml(void)
{
	static const char *const system[] = { "nvmlSystemGetNVMLVersion",
					      "nvmlSystemGetDriverVersion", "nvmlDeviceGetCount",
					      "nvmlSystemGetCudaDriverVersion" };
	static const char *const told[] = {
		"nvmlDeviceGetPersistenceMode", "nvmlDeviceGetAccountingMode",
		"nvmlDeviceGetComputeMode",	"nvmlDeviceGetPowerManagementLimit",
		"nvmlDeviceSetGpuLockedClocks", "nvmlDeviceSetMemoryLockedClocks",
	};
	static const char *const gpus[] = { "0", "0", "0", "1", "255", "-1", "x" };
	void *state = NULL;
	struct answer out;

	for (int i = 0; i < OPERATIONS && !live_empty(); i++) {
		unsigned what = live_byte();
		const char *gpu = gpus[what / 8 % 7];

		if (what % 8 == 0)
			ask(&provider_nvml, &state, "", system[what / 8 % 4], &out);
		else if (what % 8 == 1)
			tell(&provider_nvml, &state, gpu, told[live_byte() % 6]);
		else if (ask(&provider_nvml, &state, gpu, nvml_question_text(), &out) == 0 &&
			 out.kind == ANSWER_TEXT && strlen(out.text) >= 1024)
			abort();
	}
	end(&provider_nvml, state);
}

static void play_cuda_provider(void)
{
	void *state = NULL;
	struct answer out;

	for (unsigned i = live_byte() % 8; i > 0; i--) {
		const char *object = live_byte() % 4 ? "0000:01:00.0" : live_text();

		ask(&provider_cuda, &state, object,
		    live_byte() % 2
			    ? arena_printf(live->a, "cuDeviceGetAttribute(%llu)", live_number())
			    : "cuDriverGetVersion",
		    &out);
	}
	end(&provider_cuda, state);
}

static void gpu_holds(const struct cuda_gpu *g)
{
	if (strlen(g->name) >= sizeof(g->name) || strlen(g->uuid) >= sizeof(g->uuid) ||
	    strlen(g->pci) >= sizeof(g->pci) || !*g->pci || g->cc_major < 0 || g->cc_minor < 0 ||
	    g->sms < 0 || g->memory_khz < 0 || g->bus_bits < 0)
		abort();
}

/* Of a GPU that is lost nothing is given back, nor where the library may have no function for it.
 */
static void all_back(const struct cuda_gpu *g)
{
	if (!*g->lost && !live->partial && live->held)
		abort();
	live->held = 0;
}

/* As a bench: something of everything, each given back. */
static void use_gpu(struct cuda_gpu *g)
{
	struct cuda_stream *s = NULL;
	struct cuda_event *from = NULL, *to = NULL;
	struct cuda_module *m = NULL;
	struct cuda_function *f = NULL;
	cuda_address at = 0, seen = 0;
	struct err e = { 0 };
	double seconds = 0;
	void *pinned = NULL;
	int r = cuda_use(g, &e);

	r = r ? r : cuda_alloc(g, 1 << 20, &at, &e);
	r = r ? r : cuda_host_alloc(g, 4096, &pinned, &seen, &e);
	r = r ? r : cuda_stream_make(g, &s, &e);
	r = r ? r : cuda_event_make(g, &from, &e);
	r = r ? r : cuda_event_make(g, &to, &e);
	r = r ? r : cuda_module_load(g, ".version 7.4", &m, &e);
	r = r ? r : cuda_function_find(g, m, "empty", &f, &e);
	r = r ? r : cuda_launch(g, f, 1, 32, s, NULL, &e);
	r = r ? r : cuda_record(g, to, s, &e);
	r = r ? r : cuda_wait_event(g, to, 1, "it", &e);
	r = r ? r : cuda_wait_stream(g, s, 1, "it", &e);
	r = r ? r : cuda_elapsed(g, from, to, &seconds, &e);
	refusal_holds(r, &e);
	if (r == 0 && !(isfinite(seconds) && seconds > 0))
		abort();
	if (*g->lost && cuda_well(g, &e) == 0)
		abort();
	cuda_module_end(g, m);
	cuda_event_end(g, from);
	cuda_event_end(g, to);
	cuda_stream_end(g, s);
	cuda_host_free(g, pinned);
	cuda_free(g, at);
	all_back(g);
}

static void open_driver(struct cuda *c, void (*with)(struct cuda *c))
{
	struct err e = { 0 };
	int r = cuda_open(c, &e);

	refusal_holds(r, &e);
	if (c->n > CUDA_GPUS_MAX || (r == 0 && !c->n))
		abort();
	for (size_t i = 0; i < c->n; i++)
		gpu_holds(&c->gpu[i]);
	if (r == 0)
		with(c);
	cuda_close(c);
}

static void use_driver(struct cuda *c)
{
	struct err e = { 0 };

	use_gpu(&c->gpu[0]);
	if (c->n > 1)
		refusal_holds(cuda_peer(&c->gpu[0], &c->gpu[1], &e), &e);
}

/* --- its libraries ---------------------------------------------------------------------------- */

static void play_nccl(void)
{
	struct nccl_paths paths;
	struct err e = { 0 };
	struct nccl n;
	int r = nccl_open(&n, &e);
	const char *log = live_text();

	refusal_holds(r, &e);
	if (r)
		return;
	if (n.log >= 0 && write(n.log, log, strlen(log)) < 0)
		abort();
	nccl_log_on(&n);
	nccl_log_off(&n);
	nccl_log_read(&n, &paths);
	if (strlen(paths.via) >= sizeof(paths.via) ||
	    strlen(paths.algorithm) >= sizeof(paths.algorithm))
		abort();
	nccl_log_end(&n);
	cuda_library_close(&n.lib);
}

enum { ALGORITHMS = 8 };

static void algorithms_hold(struct cublaslt *l, struct cublaslt_plan *p)
{
	struct cublaslt_algorithm found[ALGORITHMS] = { 0 }, more[ALGORITHMS];
	struct err e = { 0 };
	int n = 0, r = cublaslt_plan_search(p, 1 << 20, found, ALGORITHMS, &n, &e), k;
	char text[96];

	refusal_holds(r, &e);
	if (n < 0 || n > ALGORITHMS)
		abort();
	for (int i = 0; i < n && r == 0; i++) {
		cublaslt_describe(l, &found[i], text, sizeof(text));
		if (strnlen(text, sizeof(text)) == sizeof(text))
			abort();
	}
	k = cublaslt_plan_vary(p, &found[0], 1 << 20, more, ALGORITHMS);
	if (k < 0 || k > ALGORITHMS)
		abort();
	k = cublaslt_plan_options(p, &found[0], 1 << 20, more, ALGORITHMS);
	if (k < 0 || k > ALGORITHMS)
		abort();
}

static void play_cublaslt(struct cuda *c)
{
	const struct cublaslt_shape shape = { .m = 64, .n = 64, .k = 64 };
	struct cublaslt_plan *p = NULL;
	struct err e = { 0 };
	struct cublaslt l;
	int r = cublaslt_open(&l, &e);

	refusal_holds(r, &e);
	if (r)
		return;
	r = cublaslt_plan_make(&l, &c->gpu[0], &shape, &p, &e);
	refusal_holds(r, &e);
	if (r == 0) {
		algorithms_hold(&l, p);
		cublaslt_plan_end(p);
	}
	all_back(&c->gpu[0]);
	cuda_library_close(&l.lib);
}

static void play_cusparselt(struct cuda *c)
{
	const struct cusparselt_shape shape = { .m = 64, .n = 64, .k = 64 };
	const struct cusparselt_buffers at = { .workspace_bytes = 1 << 20 };
	const struct cusparselt_choice known = { .word = { 1 } };
	struct cusparselt_choice found;
	struct cusparselt_plan *p = NULL;
	size_t bytes, scratch;
	struct err e = { 0 };
	struct cusparselt l;
	int r = cusparselt_open(&l, &e);

	refusal_holds(r, &e);
	if (r)
		return;
	r = cusparselt_plan_make(&l, &c->gpu[0], &shape, live_byte() % 2 ? &known : NULL, &p, &e);
	r = r ? r : cusparselt_plan_bytes(p, &bytes, &scratch, &e);
	r = r ? r : cusparselt_compress(p, 1, 2, 3, NULL, &e);
	r = r ? r : cusparselt_check(p, 1, 2, NULL, &e);
	r = r ? r : cusparselt_search(p, &at, NULL, &found, &e);
	r = r ? r : cusparselt_multiply(p, &at, NULL, &e);
	refusal_holds(r, &e);
	cusparselt_plan_end(p);
	all_back(&c->gpu[0]);
	cuda_library_close(&l.lib);
}

static void play_cufile(void)
{
	struct cufile_counts from, to;
	struct err e = { 0 };
	struct cufile c;
	bool a, b;
	int r = cufile_open(&c, &e);

	refusal_holds(r, &e);
	if (r)
		return;
	a = cufile_count(&c, &from);
	b = cufile_count(&c, &to);
	if (!*cufile_way(&c, a ? &from : NULL, b ? &to : NULL))
		abort();
	cufile_close(&c);
}

static void play_libraries(struct cuda *c)
{
	play_nccl();
	play_cufile();
	play_cublaslt(c);
	play_cusparselt(c);
	unsetenv("NCCL_DEBUG_FILE");
	unsetenv("NCCL_DEBUG");
}

static void play_driver(bool libraries)
{
	struct cuda *c = ARENA_NEW(live->a, struct cuda);

	if (!libraries)
		play_cuda_provider();
	open_driver(c, libraries ? play_libraries : use_driver);
}

#endif
