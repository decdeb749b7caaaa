/* SPDX-License-Identifier: Apache-2.0 */
/* Rules: the driver and the toolkits against the GPU, and the GPU code of every library. */
#include <stdlib.h>
#include <string.h>

#include "look/stack/judge_inside.h"

/* "13.0.1" -> 1300; 0 when it is none. */
static unsigned cuda_number(const char *version)
{
	char *end;
	unsigned long major = version ? strtoul(version, &end, 10) : 0, minor = 0;

	if (!major || major > 99)
		return 0;
	if (*end == '.')
		minor = strtoul(end + 1, NULL, 10);
	return (unsigned)(major * 100 + (minor < 10 ? minor * 10 : 99));
}

static const char *cuda_text(struct judge *j, unsigned v)
{
	return arena_printf(j->a, "%u.%u", v / 100, v / 10 % 10);
}

static void driver(struct judge *j)
{
	const struct gpus *g = &j->ask->m->gpu;
	unsigned cuda = judge_driver_cuda(j);
	struct stack_finding *f;

	if (!seen_ok(&g->driver.f)) {
		bool absent = g->driver.f.seen == SEEN_ABSENT;

		f = judge_add(j, "stack.driver", "NVIDIA driver", "system",
			      absent ? VERDICT_NA : VERDICT_UNKNOWN);
		f->reason = absent ? "no NVIDIA driver is loaded here"
				   : "the driver's version could not be seen";
		f->from = fact_from(j->a, &g->driver.f);
		return;
	}
	f = judge_add(j, "stack.driver", "NVIDIA driver", "system", VERDICT_PASS);
	f->current = cuda ? arena_printf(j->a, "%s (CUDA %s)", g->driver.v, cuda_text(j, cuda))
			  : g->driver.v;
	f->from = fact_from(j->a, &g->driver.f);
	f->source = "CUDA release notes: minimum driver versions";
	/* GB10 came with CUDA 13 and the 580 branch. */
	if (judge_spark(j) && strtol(g->driver.v, NULL, 10) < 580) {
		f->verdict = VERDICT_FAIL;
		f->serious = true;
		f->wanted = "580 or newer";
		f->reason = "drivers before 580 do not know GB10";
		f->command = arena_printf(j->a, "sudo apt-get update && sudo apt-get install %s",
					  judge_driver_package(j));
	}
}

static void toolkit_for_gpu(struct judge *j, const struct stack_place *p, unsigned sm)
{
	unsigned since, until, have = cuda_number(p->version);
	bool known = cuda_makes(sm, &since, &until), late = until && have >= until;
	bool good = have && known && have >= since && !late;
	struct stack_finding *f = judge_add(j, "stack.toolkit", "CUDA toolkit", judge_place(j, p),
					    !have || !known ? VERDICT_UNKNOWN
					    : good	    ? VERDICT_PASS
							    : VERDICT_FAIL);

	f->current = p->version;
	f->from = p->path;
	f->source = "CUDA release notes: new and dropped architectures";
	if (!have)
		f->reason = "its version could not be seen";
	else if (!known)
		f->reason = arena_printf(j->a, "which toolkit knows sm_%u is not known here", sm);
	else
		f->reason = arena_printf(
			j->a, "its compiler %s sm_%u%s%s", good ? "knows" : "does not know", sm,
			late ? " any more" : "", p->nvcc ? "" : "; nvcc itself is not installed");
	if (!good && known) {
		f->wanted = until ? arena_printf(j->a, "%s or newer, before %s",
						 cuda_text(j, since), cuda_text(j, until))
				  : arena_printf(j->a, "%s or newer", cuda_text(j, since));
		/* 12.9 is the last one before 13.0. */
		f->command = until ? "sudo apt-get install cuda-toolkit-12-9"
				   : arena_printf(j->a, "sudo apt-get install cuda-toolkit-%u-%u",
						  since < 1300 ? 13 : since / 100,
						  since < 1300 ? 0 : since / 10 % 10);
	}
}

void judge_system(struct judge *j)
{
	driver(j);
	for (size_t i = 0; i < j->inv->n_places; i++)
		for (size_t g = 0; g < j->ask->how->n_gpus; g++)
			if (j->inv->places[i].kind == PLACE_TOOLKIT)
				toolkit_for_gpu(j, &j->inv->places[i], j->ask->how->gpus[g].sm);
}

/* --- GPU code --- */

static const char *all_codes(struct judge *j, const struct code_set *set)
{
	const char *text = "";

	for (size_t i = 0; i < set->n; i++)
		if (set->items[i].kind == CODE_CUBIN || set->items[i].kind == CODE_PTX)
			text = arena_printf(j->a, "%s%s%s", text, *text ? ", " : "",
					    code_name(j->a, &set->items[i]));
	return text;
}

static void code_for_gpu(struct judge *j, const struct stack_item *item,
			 const struct gpu_target *gpu)
{
	const struct gpu_code *by = NULL;
	enum code_answer answer = code_best(&item->code.codes, gpu, &by);
	bool good = answer == CODE_NATIVE || answer == CODE_FAMILY;
	struct stack_finding *f;

	if (answer == CODE_NONE)
		return;
	f = judge_add(j, "stack.gpu-code", "Built for this GPU", judge_target(j, item),
		      good ? VERDICT_PASS : VERDICT_FAIL);
	f->current = all_codes(j, &item->code.codes);
	f->wanted = arena_printf(j->a, "sm_%u or its family", gpu->sm);
	f->from = item->path;
	f->source = "CUDA programming guide: binary and PTX compatibility";
	f->serious = answer == CODE_CANNOT;
	if (answer == CODE_CANNOT)
		f->reason = arena_printf(j->a, "nothing in it runs on sm_%u", gpu->sm);
	else if (answer == CODE_JIT)
		f->reason = arena_printf(j->a,
					 "the driver compiles %s at the first start on "
					 "sm_%u, which takes minutes and lacks what is "
					 "tuned for it",
					 code_name(j->a, by), gpu->sm);
	else
		f->reason = arena_printf(j->a, "%s runs on sm_%u %s", code_name(j->a, by), gpu->sm,
					 answer == CODE_NATIVE ? "as its own"
							       : "as code of its family");
	if (!good)
		f->command = judge_command(j, item->c, &j->inv->places[item->place], NULL);
}

void judge_code(struct judge *j)
{
	for (size_t i = 0; i < j->inv->n_items; i++) {
		const struct stack_item *item = &j->inv->items[i];

		if (item->code.error && !item->code.entries) {
			struct stack_finding *f =
				judge_add(j, "stack.gpu-code", "Built for this GPU",
					  judge_target(j, item), VERDICT_UNKNOWN);

			f->reason = item->code.error;
			f->from = item->path;
			continue;
		}
		for (size_t g = 0; g < j->ask->how->n_gpus && item->scanned; g++)
			code_for_gpu(j, item, &j->ask->how->gpus[g]);
	}
}
