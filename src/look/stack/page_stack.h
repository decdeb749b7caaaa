/* SPDX-License-Identifier: Apache-2.0 */
/* The software stack for people and for programs. */
#ifndef STACK_PAGE_STACK_H
#define STACK_PAGE_STACK_H

#include <jansson.h>

#include "look/stack/build_plan.h"
#include "look/stack/judge.h"
#include "look/stack/scan.h"
#include "look/stack/wheelhouse.h"
#include "render/doc.h"

struct arch_view {
	const struct scan *files;
	size_t n;
	const struct scan_options *how;
	const char *gpus_from; /* where the targets come from, in words */
	bool all;	       /* also files without GPU code */
};

struct doc *page_stack_arch(struct arena *a, const struct arch_view *v);
/* Schema gputune.stack-arch/1, see schemas/stack-arch.json. */
json_t *stack_arch_json(const struct arch_view *v, long long time_s, int exit_code);
struct stack_view {
	const struct machine *m;
	const struct inventory *inv;
	const struct stack_findings *found;
	const struct scan_options *how;
	const char *gpus_from;
	const char *rootfs; /* what was looked into; NULL: the machine */
	bool all;
};

struct doc *page_stack_check(struct arena *a, const struct stack_view *v);
/* Schema gputune.stack-check/1, see schemas/stack-check.json. */
json_t *stack_check_json(const struct stack_view *v, long long time_s, int exit_code);
struct doc *page_wheelhouse(struct arena *a, const struct wheelhouse *h,
			    const struct house_verdict *v);
/* What stands in b and not in a, and the other way round, by name and SHA-256. */
struct doc *page_wheelhouse_diff(struct arena *a, const struct wheelhouse *x,
				 const struct wheelhouse *y, size_t *differ);
/* Schema gputune.stack-wheelhouse/1; v may be NULL. */
json_t *wheelhouse_result_json(const struct wheelhouse *h, const struct house_verdict *v,
			       long long time_s, int exit_code);
struct env_view {
	const struct build_env *env;
	const char *const *set_here; /* value of each dead flag's variable in this shell; NULL */
	const char *gpus_from;
};

struct doc *page_stack_env(struct arena *a, const struct env_view *v);
/* export lines for a shell; harmless to source: nothing ends it. */
void stack_env_shell(FILE *out, const struct env_view *v);
/* Schema gputune.stack-env/1, see schemas/stack-env.json. */
json_t *stack_env_json(const struct env_view *v, long long time_s, int exit_code);
struct doc *page_build_plan(struct arena *a, const struct build_plan *p);
/* Schema gputune.stack-build-plan/1, see schemas/stack-build-plan.json. */
json_t *build_plan_json(const struct build_plan *p, long long time_s, int exit_code);

#endif
