/* SPDX-License-Identifier: Apache-2.0 */
/* gputune stack: which part of it, and for which GPUs it judges. */
#include "front/verbs/stack.h"

#include <string.h>

#include "front/verbs/stack_compare.h"

static const struct part {
	const char *name;
	int (*run)(struct run *r);
} parts[] = {
	{ "arch", stack_arch },
	{ "check", stack_check },
	{ "env", stack_env },
	{ "build-plan", stack_plan },
	{ "wheelhouse", stack_wheelhouse },
	{ "compare", stack_compare },
	{ "compare-one", stack_compare_one },
};

int verb_stack(struct run *r)
{
	const char *name = r->args[0];

	for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++)
		if (strcmp(parts[i].name, name) == 0) {
			r->args++;
			r->n_args--;
			return parts[i].run(r);
		}
	return complain_text(EXIT_USAGE,
			     "stack has no part \"%s\"; it has arch, check, compare, env, "
			     "build-plan and wheelhouse",
			     name);
}

static void add_target(struct scan_options *how, unsigned sm, unsigned driver_cuda)
{
	for (size_t i = 0; i < how->n_gpus; i++)
		if (how->gpus[i].sm == sm)
			return;
	if (how->n_gpus < GPU_TARGETS_MAX)
		how->gpus[how->n_gpus++] = (struct gpu_target){ sm, driver_cuda };
}

static int named_targets(struct run *r, struct scan_options *how)
{
	char *list = arena_strdup(&r->arena, r->value[OPT_GPU]), *save = NULL;

	for (char *p = strtok_r(list, ",", &save); p; p = strtok_r(NULL, ",", &save)) {
		struct err e = { 0 };
		unsigned sm;

		if (gpu_target_parse(p, &sm, &e))
			return complain(EXIT_USAGE, &e);
		add_target(how, sm, 0);
	}
	if (!how->n_gpus)
		return complain_text(EXIT_USAGE, "--gpu takes architectures such as sm_121");
	return 0;
}

int stack_targets(struct run *r, struct machine *m, struct scan_options *how, const char **from)
{
	struct host *h = NULL;

	*from = "--gpu";
	if (r->value[OPT_GPU])
		return named_targets(r, how);
	if (!m) {
		h = run_host(r);
		if (!h)
			return EXIT_USAGE;
		m = run_machine(r, h, false);
	}
	*from = "this machine";
	for (size_t i = 0; machine_gpu(m, i); i++) {
		const struct gpu *g = machine_gpu(m, i);
		long long driver = fact_or(&m->gpu.cuda_driver, 0);

		if (seen_ok(&g->cc_major.f) && seen_ok(&g->cc_minor.f))
			add_target(how, (unsigned)(g->cc_major.v * 10 + g->cc_minor.v),
				   driver > 0 ? (unsigned)(driver / 10) : 0);
	}
	if (!how->n_gpus) {
		const char *why = machine_no_gpu(&r->arena, m);

		*from = why ? arena_strdup(&r->arena, why) : "no GPU was seen";
	}
	if (h)
		host_close(h);
	return 0;
}
