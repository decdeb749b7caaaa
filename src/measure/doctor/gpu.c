/* SPDX-License-Identifier: Apache-2.0 */
/* A GPU that is slow, hot, gone or broken. */
#include <string.h>

#include "measure/bench/gpu_load.h"
#include "measure/doctor/rule.h"
#include "knowledge/nccl_vars.h"

/* The verdict that the load test gave a GPU, "healthy" when all are; NULL: it gave none. */
static const char *load_verdict(const struct rule_facts *e, const char **text)
{
	const struct record_case *c = case_of(e, "gpu-load", "signature");
	static const char begin[] = "not healthy: GPU ";

	if (!c)
		return NULL;
	*text = c->error ? c->error : c->variant;
	for (int v = GPU_LOAD_THERMAL; c->error && v < GPU_LOAD_UNKNOWN; v++) {
		const char *name = gpu_load_verdict_name((enum gpu_load_verdict)v), *at;

		if (strncmp(c->error, begin, sizeof(begin) - 1) != 0)
			return NULL;
		at = strchr(c->error + sizeof(begin) - 1, ':');
		if (at && strncmp(at + 2, name, strlen(name)) == 0 && at[2 + strlen(name)] == ':')
			return name;
	}
	return c->verified && c->variant && strstr(c->variant, "unknown") == NULL ? "healthy"
										  : NULL;
}

/* CERTAIN for this verdict, EXCLUDED for another; false when the test gave none. */
static bool by_load(const struct rule_facts *e, enum gpu_load_verdict want, struct judged *out)
{
	const char *text = NULL, *verdict = load_verdict(e, &text);

	if (!verdict)
		return false;
	verdict_set(e, out,
		    strcmp(verdict, gpu_load_verdict_name(want)) == 0 ? CAUSE_CERTAIN
								      : CAUSE_EXCLUDED,
		    "under load: %s", text);
	return true;
}

/* By the load test; without it by a setting, and what the test would add is said. */
static void load_or_setting(const struct rule_facts *e, enum gpu_load_verdict want,
			    const char *setting, const char *code, enum likelihood weight,
			    struct judged *out)
{
	struct judged said, test;

	rule_by_code(e, setting, code, weight, &said);
	if (by_load(e, want, out)) {
		/* What the driver says now counts beside a test that found something else. */
		if (out->likelihood == CAUSE_EXCLUDED && said.likelihood <= CAUSE_LIKELY)
			*out = said;
		return;
	}
	*out = said;
	if (out->likelihood == CAUSE_EXCLUDED || out->likelihood == CAUSE_UNSEEN) {
		const char *so_far = out->text;

		if (test_missing(e, TEST_GPU_LOAD, &test))
			verdict_set(e, out, CAUSE_UNSEEN,
				    "%s; the fault only appears under load, and %s", so_far,
				    test.text);
	}
}

static void latch(const struct rule_facts *e, struct judged *out)
{
	load_or_setting(e, GPU_LOAD_LATCH, "gpu.power-latch", NULL, CAUSE_LIKELY, out);
}

static void heat(const struct rule_facts *e, struct judged *out)
{
	load_or_setting(e, GPU_LOAD_THERMAL, "gpu.temperature", NULL, CAUSE_CERTAIN, out);
}

static void brake(const struct rule_facts *e, struct judged *out)
{
	load_or_setting(e, GPU_LOAD_BRAKE, "gpu.throttle", CODE_POWER, CAUSE_LIKELY, out);
}

static void cap(const struct rule_facts *e, struct judged *out)
{
	load_or_setting(e, GPU_LOAD_CAPPED, "gpu.power-limit", NULL, CAUSE_LIKELY, out);
}

static void doctor_gpu_slow(const struct rule_facts *e, struct judged *out)
{
	if (!machine_gpu(e->m, 0))
		verdict_set(e, out, CAUSE_NOT_HERE, "%s", machine_no_gpu(e->a, e->m));
	else if (!by_load(e, GPU_LOAD_SLOW, out) && !test_missing(e, TEST_GPU_LOAD, out))
		verdict_set(e, out, CAUSE_UNSEEN,
			    "no thresholds for this hardware: compare with the other GPUs");
	else if (out->likelihood == CAUSE_CERTAIN)
		out->likelihood = CAUSE_LIKELY;
}

/* Of the GPUs themselves: a disk's or an adapter's link slows none. */
static bool is_gpu(const struct machine *m, const char *pci)
{
	LIST_FOR_EACH (struct gpu, g, &m->gpu.gpus)
		if (!fact_or(&g->integrated, 0) && strcmp(g->pci, pci) == 0)
			return true;
	return false;
}

/* NULL: one has a link that carries data. */
static const char *no_link(const struct rule_facts *e)
{
	if (!machine_gpu(e->m, 0))
		return machine_no_gpu(e->a, e->m);
	LIST_FOR_EACH (struct gpu, g, &e->m->gpu.gpus)
		if (!fact_or(&g->integrated, 0))
			return NULL;
	return "the GPU shares the host's memory: its PCIe link values are placeholders";
}

static void gpu_link(const struct rule_facts *e, struct judged *out)
{
	rule_on_functions(e, "pcie.link", is_gpu, no_link(e), out);
}

static void link_repairs(const struct rule_facts *e, struct judged *out)
{
	rule_on_functions(e, "pcie.errors", is_gpu, no_link(e), out);
}

static void gpu_copies(const struct rule_facts *e, struct judged *out)
{
	const struct gpu *g = machine_gpu(e->m, 0);

	if (!g || fact_or(&g->integrated, 0))
		verdict_set(e, out, CAUSE_NOT_HERE, "no GPU with its own memory");
	else
		rule_by_band(e, TEST_GPU_COPY, out);
}

/* The setting knows the numbers that are of hardware; the rest are lines of programs. */
static void doctor_gpu_xid(const struct rule_facts *e, struct judged *out)
{
	const struct finding *f = finding_of(e, "gpu.xid");

	if (f && f->v.kind == VERDICT_FAIL)
		rule_by_setting(e, "gpu.xid", CAUSE_LIKELY, out);
	else if (!machine_gpu(e->m, 0))
		verdict_set(e, out, CAUSE_NOT_HERE, "%s", machine_no_gpu(e->a, e->m));
	else if (!verdict_set_unseen(e, out, &e->signs->log_xid.f, "the kernel log"))
		verdict_set(e, out, e->signs->log_xid.v ? CAUSE_POSSIBLE : CAUSE_EXCLUDED,
			    "the kernel log of this boot has %lld Xid lines%s", e->signs->log_xid.v,
			    e->signs->log_xid.v ? "; most are caused by programs, not by hardware"
						: "");
}

static void doctor_gpu_skew(const struct rule_facts *e, struct judged *out)
{
	const struct gpus *g = &e->m->gpu;

	if (!seen_ok(&e->signs->module.f) || !seen_ok(&g->driver.f))
		verdict_set(e, out, seen_ok(&e->signs->module.f) ? CAUSE_UNSEEN : CAUSE_NOT_HERE,
			    "%s",
			    seen_ok(&e->signs->module.f)
				    ? "the driver's library does not report its version"
				    : "the nvidia module is not loaded or not visible");
	else if (strcmp(e->signs->module.v, g->driver.v) != 0)
		verdict_set(e, out, CAUSE_CERTAIN, "the loaded module is %s, but the library is %s",
			    e->signs->module.v, g->driver.v);
	else
		verdict_set(e, out, CAUSE_EXCLUDED, "module and library are both %s", g->driver.v);
}

/* A GPU that works, but not as expected: unsteady, used by others, wrong, not shown. */

static bool no_gpu(const struct rule_facts *e, struct judged *out)
{
	if (machine_gpu(e->m, 0))
		return false;
	verdict_set(e, out, CAUSE_NOT_HERE, "%s", machine_no_gpu(e->a, e->m));
	return true;
}

/* --- two speeds ------------------------------------------------------------------------------- */
static void flips(const struct rule_facts *e, struct judged *out)
{
	const struct record_case *c;
	size_t at = 0;

	if (no_gpu(e, out) || test_missing(e, TEST_GPU_STEADY, out))
		return;
	while ((c = next_case(e, "gpu-memory", "read:gpu", &at)) != NULL) {
		const struct record_series *s = &c->series[0];

		if (!c->n || !s->has_summary)
			continue;
		if (s->s.modes.found && !s->s.modes.step)
			verdict_set(
				e, out, CAUSE_CERTAIN,
				"%s over %zu samples: two states, %.4g and %.4g %s, %zu changes",
				c->name, c->n, s->s.modes.low, s->s.modes.high, s->unit_text,
				s->s.modes.switches);
		else
			verdict_set(e, out, CAUSE_EXCLUDED,
				    "%s over %zu samples: one state, %.4g %s", c->name, c->n,
				    s->s.median, s->unit_text);
		if (out->likelihood == CAUSE_CERTAIN)
			return;
	}
}

/* Seen on ACUM018 and gone on eight units with ACUM027; 2026-09. */
static void old_firmware(const struct rule_facts *e, struct judged *out)
{
	static const char good[] = "5.36_0ACUM027";
	const char *bios = fact_text(&e->m->platform.bios_version, NULL);

	if (!is_spark(e))
		verdict_set(e, out, CAUSE_NOT_HERE, "a known fault of DGX Spark only");
	else if (verdict_set_unseen(e, out, &e->m->platform.bios_version.f, "firmware version"))
		return;
	else if (strncmp(bios, good, strlen("5.36_0ACUM")) != 0)
		verdict_set(e, out, CAUSE_UNSEEN, "firmware %s belongs to an unknown series", bios);
	else
		verdict_set(e, out, strcmp(bios, good) < 0 ? CAUSE_POSSIBLE : CAUSE_EXCLUDED,
			    "firmware %s; users reported the problem with ACUM018, not with "
			    "ACUM027 (2026-09)",
			    bios);
}

/* --- others ----------------------------------------------------------------------------------- */
static void used(const struct rule_facts *e, struct judged *out)
{
	if (no_gpu(e, out))
		return;
	verdict_set(e, out, CAUSE_EXCLUDED, "no program computes on a GPU now");
	LIST_FOR_EACH (struct gpu, g, &e->m->gpu.gpus) {
		if (g->processes.n && fact_or(&g->util_gpu_pct, 0) >= 20) {
			const struct gpu_process *p = g->processes.items;

			verdict_set(
				e, out, CAUSE_LIKELY,
				"GPU %u is %lld %% busy with %zu processes, the first is %u (%s)",
				g->index, g->util_gpu_pct.v, g->processes.n, p->index,
				fact_text(&p->command, "unnamed"));
			return;
		}
		if (!seen_ok(&g->util_gpu_pct.f))
			(void)verdict_set_unseen(e, out, &g->util_gpu_pct.f, "GPU utilization");
	}
}

/* The process that holds the most memory of a GPU that computes nothing, from 1 GiB on. */
static void held(const struct rule_facts *e, struct judged *out)
{
	long long most = 1LL << 30;

	if (no_gpu(e, out))
		return;
	verdict_set(e, out, CAUSE_EXCLUDED, "no program holds 1 GiB of an idle GPU now");
	LIST_FOR_EACH (struct gpu, g, &e->m->gpu.gpus)
		LIST_FOR_EACH (struct gpu_process, p, &g->processes)
			if (fact_or(&p->memory_bytes, 0) >= most &&
			    fact_or(&g->util_gpu_pct, 100) < 5) {
				most = p->memory_bytes.v;
				verdict_set(e, out, CAUSE_LIKELY,
					    "process %u (%s) holds %lld MiB of GPU %u, which is "
					    "%lld %% busy",
					    p->index, fact_text(&p->command, "unnamed"), most >> 20,
					    g->index, g->util_gpu_pct.v);
			}
}

static void desktop(const struct rule_facts *e, struct judged *out)
{
	if (no_gpu(e, out))
		return;
	verdict_set(e, out, CAUSE_EXCLUDED, "no desktop session uses a GPU");
	LIST_FOR_EACH (struct gpu, g, &e->m->gpu.gpus)
		LIST_FOR_EACH (struct gpu_process, p, &g->processes)
			if (fact_is(&p->kind, "graphics")) {
				verdict_set(e, out, CAUSE_LIKELY,
					    "process %u (%s) draws on GPU %u: its frames interrupt "
					    "kernels",
					    p->index, fact_text(&p->command, "unnamed"), g->index);
				return;
			}
}

static void blocking(const struct rule_facts *e, struct judged *out)
{
	static const char *const names[] = { "CUDA_LAUNCH_BLOCKING",
					     "PYTORCH_NO_CUDA_MEMORY_CACHING" };

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		const struct observed_var *v = var_of(e, names[i]);

		if (!v || !var_takes_away(known_var(names[i]), fact_text(&v->value, "")))
			continue;
		verdict_set(e, out, CAUSE_LIKELY, "%s: a debugging option with high cost",
			    var_text(e, v));
		return;
	}
	verdict_set(e, out, CAUSE_EXCLUDED,
		    "no visible environment variable makes launches or allocations synchronous");
}

/* --- wrong results, and what is no fault ------------------------------------------------------ */
static void doctor_gpu_wrong(const struct rule_facts *e, struct judged *out)
{
	const struct record_case *c;
	size_t at = 0;

	if (no_gpu(e, out) || (c = next_case(e, "gpu-load", "signature", &at)) == NULL) {
		if (out->likelihood != CAUSE_NOT_HERE)
			(void)test_missing(e, TEST_GPU_LOAD, out);
		return;
	}
	if (c->error && strncmp(c->error, "the result is wrong", 19) == 0)
		verdict_set(e, out, CAUSE_CERTAIN, "%s", c->error);
	else if (c->n)
		verdict_set(e, out, CAUSE_EXCLUDED,
			    "all products in %zu samples under full load had the correct bits",
			    c->n);
	else
		(void)test_missing(e, TEST_GPU_LOAD, out);
}

static void no_figure(const struct rule_facts *e, struct judged *out)
{
	if (no_gpu(e, out))
		return;
	verdict_set(e, out, CAUSE_EXCLUDED, "the driver reports the memory of every GPU");
	LIST_FOR_EACH (struct gpu, g, &e->m->gpu.gpus)
		if (fact_or(&g->integrated, 0) && !seen_ok(&g->memory_bytes.f))
			verdict_set(e, out, CAUSE_CERTAIN,
				    "GPU %u shares the host's memory, so the driver reports no GPU "
				    "memory: %lld MiB of %lld MiB are available to host and GPU",
				    g->index, fact_or(&e->m->memory.available_kb, 0) / 1024,
				    fact_or(&e->m->memory.total_kb, 0) / 1024);
}

#include "measure/doctor_gpu_rows.h"
