/* SPDX-License-Identifier: Apache-2.0 */
/* What the driver was loaded with, modes of power beyond the board's limit, and how a GPU is
 * shared: MIG slices and MPS. */
#include <stdio.h>
#include <string.h>

#include "look/settings/predicates.h"
#include "look/settings/settings.h"
#include "base/text.h"

static bool has_params(const struct machine *m, const void *object)
{
	(void)object;
	return m->gpu.gpus.n && seen_ok(&m->gpu.profiling_restricted.f);
}

/* An A100 is the one whose vendor turns it on. */
static bool want_relaxed_ordering(const struct rule_ctx *q, struct recommendation *o)
{
	const struct gpu *g = machine_gpu(q->m, 0);
	const char *name = g ? fact_text(&g->name, "") : "";

	if ((strstr(name, "A100") || strstr(name, "A800")) && (q->platform & ON_HGX))
		*o = (struct recommendation){ .rel = WANT_IS,
					      .value = "1",
					      .because = "DGX OS turns it on for A100: PCIe writes "
							 "do not have to wait for each other" };
	else
		*o = (struct recommendation){ .rel = WANT_LEAVE,
					      .because =
						      "NVIDIA sets it only on A100; H100 and later "
						      "order writes as the device requests" };
	return true;
}

static bool on_superchip(const struct machine *m, const void *object)
{
	return has_params(m, object) && is_superchip(m);
}

/* Of a module: the GPU's limit may be right while what it shares with its processor is cut. */
static void module_limit(const struct rule_ctx *q, struct verdict *v)
{
	const struct gpu *g = q->object;
	long long now = fact_or(&g->module_limit_mw, 0),
		  usual = fact_or(&g->module_limit_default_mw, 0);

	if (!is_superchip(q->m)) {
		verdict_na(v, CODE_NOT_HERE, "the GPU has its own power budget");
		return;
	}
	if (!is_seen(q, v, &g->module_limit_mw.f, "the driver reports no limit for the module"))
		return;
	v->current = arena_printf(q->a, "%lld W", now / 1000);
	if (now <= 0 || usual <= 0)
		verdict_unknown(v, CODE_ERROR, "the driver reports a limit of 0 W");
	else if (now < usual)
		verdict_fail(v, arena_printf(q->a, ">= %lld W", usual / 1000),
			     "GPU and processor in total are limited below the module's default");
	else
		verdict_pass(v, "at the module's default or above");
}

/* Requested and in effect may differ: profiles exclude each other, and an administrator's wins. */
static void power_profile(const struct rule_ctx *q, struct verdict *v)
{
	const struct gpu *g = q->object;
	const char *asked = fact_text(&g->power_profiles, "none"),
		   *enforced = fact_text(&g->power_profiles_enforced, "none");

	if (g->power_profiles.f.seen == SEEN_UNASKED) {
		verdict_na(v, CODE_NEEDS_DEEP, "slow to read, so skipped; use --deep");
		return;
	}
	if (!is_seen(q, v, &g->power_profiles.f, "the GPU or its driver has no power profiles"))
		return;
	v->current = arena_printf(q->a, "requested: %s; in effect: %s", asked, enforced);
	if (strcmp(asked, enforced) != 0 && strcmp(asked, "none") != 0)
		verdict_fail(
			v, asked,
			"the requested profile is not in effect: another profile has priority");
	else if (word_in(enforced, "max-q") && q->profile == PROFILE_MAX_PERFORMANCE)
		verdict_fail(v, "not max-q", "max-q trades speed for efficiency");
	else
		verdict_na(v, CODE_LEFT_ALONE,
			   strcmp(enforced, "none") == 0
				   ? "no profile, which suits mixed work; a profile suits one type "
				     "of job"
				   : "this profile suits one type of job; \"nvidia-smi "
				     "power-profiles\" changes it");
}

/* What is in no slice: of 7 slices of compute (A30: 4), and eighths of the memory. The driver tells
 * no slices of memory: they follow from the bytes. */
static void slices_left(const struct gpu *g, long long *compute, long long *memory)
{
	double eighth = (double)fact_or(&g->memory_bytes, 0) / 8;

	*compute = fact_or(&g->slices_max, 7);
	*memory = 8;
	LIST_FOR_EACH (struct mig_slice, s, &g->slices) {
		*compute -= fact_or(&s->compute_slices, 0);
		*memory -=
			eighth > 0
				? (long long)((double)fact_or(&s->memory_bytes, 0) / eighth + 0.5)
				: 0;
	}
}

static const char *slices_text(struct arena *a, const struct gpu *g)
{
	TEXT_AUTO t = { 0 };

	LIST_FOR_EACH (struct mig_slice, s, &g->slices)
		text_printf(&t, "%s%s", t.len ? ", " : "", fact_text(&s->profile, "?"));
	return arena_strdup(a, t.len ? t.s : "no instance");
}

static void mig_layout(const struct rule_ctx *q, struct verdict *v)
{
	const struct gpu *g = q->object;
	long long compute, memory;

	if (fact_or(&g->mig, 0) != 1) {
		verdict_na(v, CODE_NO_EFFECT, "MIG is off");
		return;
	}
	if (!is_seen(q, v, &g->slices_max.f, "the driver reports no instances"))
		return;
	v->current = slices_text(q->a, g);
	slices_left(g, &compute, &memory);
	if (!g->slices.n)
		verdict_fail(v, "an instance",
			     "MIG is on without an instance: no CUDA program can use this GPU");
	else if (compute > 0 && memory > 0)
		verdict_fail(v, "no unused part",
			     arena_printf(q->a,
					  "%lld of %lld compute slices and %lld eighths of the "
					  "memory are unused",
					  compute, fact_or(&g->slices_max, 7), memory));
	else
		verdict_pass(v, "instances use the whole GPU");
}

/* One server for all programs needs the GPU to itself, or programs may run past it. */
static void mps(const struct rule_ctx *q, struct verdict *v)
{
	const struct gpu *g = q->object;

	if (!seen_ok(&q->m->gpu.mps.f)) {
		verdict_na(v, CODE_NO_EFFECT, "no MPS daemon at its usual path");
		return;
	}
	if (!is_seen(q, v, &g->compute_mode.f, NULL))
		return;
	v->current = arena_printf(q->a, "MPS, compute mode %s", g->compute_mode.v);
	if (strcmp(g->compute_mode.v, "exclusive-process") == 0)
		verdict_pass(v, "every program goes through the MPS server");
	else if (strcmp(g->compute_mode.v, "prohibited") == 0)
		verdict_fail(v, "exclusive-process",
			     "no program may use this GPU, with or without MPS");
	else
		verdict_fail(v, "exclusive-process",
			     "programs of other users, or without the daemon's environment, bypass "
			     "the server and time-share the GPU");
}

/* "0=4G,1=512M": false where a limit is no size, or is not below the memory of the largest GPU. */
static bool limits_memory(const struct machine *m, const char *limits, bool *known)
{
	long long largest = 0, n = 0;

	LIST_FOR_EACH (struct gpu, g, &m->gpu.gpus)
		if (fact_or(&g->memory_bytes, 0) > largest)
			largest = g->memory_bytes.v;
	*known = true;
	for (const char *p = limits; *p && *known; p += strcspn(p, ","), p += *p == ',') {
		unsigned device = 0;
		char unit = 0;

		*known = sscanf(p, "%3u=%9lld%c", &device, &n, &unit) == 3 && n > 0 &&
			 (unit == 'G' || unit == 'M');
		if (*known && largest && n << (unit == 'G' ? 30 : 20) >= largest)
			return false;
	}
	return *known;
}

static void mps_limits(const struct rule_ctx *q, struct verdict *v)
{
	const struct fact_str *threads = &q->m->gpu.mps_threads, *memory = &q->m->gpu.mps_memory;
	bool known = true;
	long long percent = 100;

	if (!seen_ok(&q->m->gpu.mps.f)) {
		verdict_na(v, CODE_NO_EFFECT, "no MPS daemon at its usual path");
		return;
	}
	if (is_hidden(q, v, &threads->f) || is_hidden(q, v, &memory->f))
		return;
	v->current = arena_printf(q->a, "threads %s%s, memory %s", fact_text(threads, "100"),
				  seen_ok(&threads->f) ? " %" : " % (default)",
				  fact_text(memory, "unlimited"));
	if (seen_ok(&threads->f) &&
	    (parse_i64(threads->v, &percent) || percent < 1 || percent > 100))
		verdict_unknown(v, CODE_ERROR,
				"the share of threads is not a number from 1 to 100");
	else if (seen_ok(&memory->f) && !limits_memory(q->m, memory->v, &known))
		known ? verdict_fail(v, "a limit below the GPU's memory",
				     "a limit as large as the GPU's memory has no effect: one "
				     "program can use all of it")
		      : verdict_unknown(v, CODE_ERROR, "the memory limit is not GPU=SIZE");
	else if (percent < 100 || seen_ok(&memory->f))
		verdict_na(v, CODE_LEFT_ALONE,
			   "set for programs that share a GPU; it also limits a single program");
	else
		verdict_pass(v, "no limit: a program may use the whole GPU");
}

#include "look/settings_gpu_mode_rows.h"
