/* SPDX-License-Identifier: Apache-2.0 */
/* gputune stack arch: which GPU architectures files carry. */
#include <string.h>
#include <time.h>

#include "front/verbs/page.h"
#include "front/verbs/stack.h"
#include "look/stack/page_stack.h"

static int exit_code(const struct arch_view *v)
{
	int code = EXIT_CLEAN;

	for (size_t i = 0; i < v->n; i++) {
		const struct scan *s = &v->files[i];

		if (s->error || s->n_problems)
			return EXIT_BLIND;
		for (size_t g = 0; g < v->how->n_gpus; g++)
			if (s->entries &&
			    code_best(&s->codes, &v->how->gpus[g], NULL) == CODE_CANNOT)
				code = EXIT_FINDINGS;
	}
	return code;
}

int stack_arch(struct run *r)
{
	struct scan_options how = { .deep = r->value[OPT_DEEP] != NULL };
	struct arch_view v = { .how = &how, .all = r->value[OPT_ALL] != NULL };
	struct scan *all = NULL;
	struct err e = { 0 };
	int code, failed;

	if (!r->n_args)
		return complain_text(EXIT_USAGE, "stack arch needs FILE, DIR or WHEEL");
	code = stack_targets(r, NULL, &how, &v.gpus_from);
	if (code)
		return code;
	for (int i = 0; i < r->n_args; i++) {
		struct scan *some;
		size_t n;

		if (scan_tree(&r->arena, r->args[i], &how, 0, &some, &n, &e))
			return complain(EXIT_USAGE, &e);
		for (size_t k = 0; k < n; k++) {
			all = arena_grow(&r->arena, all, v.n, sizeof(*all));
			all[v.n++] = some[k];
		}
	}
	v.files = all;
	code = exit_code(&v);
	if (r->value[OPT_QUIET])
		return code;
	if (run_wants_json(r)) {
		run_print_json(r, stack_arch_json(&v, (long long)time(NULL), code));
		return code;
	}
	failed = run_print_doc(r, page_stack_arch(&r->arena, &v), "gputune stack arch");
	return failed ? failed : code;
}
