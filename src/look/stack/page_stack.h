/* SPDX-License-Identifier: Apache-2.0 */
/* The software stack for people and for programs. */
#ifndef STACK_PAGE_STACK_H
#define STACK_PAGE_STACK_H

#include "base/shape.h"
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
/* Whether the view shows that struct scan. */
bool arch_shows(const void *scan, const void *view);
extern const struct result_shape stack_arch_result; /* of a struct arch_view */

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
extern const struct result_shape stack_check_result; /* of a struct stack_view */

struct doc *page_wheelhouse(struct arena *a, const struct wheelhouse *h);
extern const struct result_shape wheelhouse_result; /* of a struct wheelhouse */

struct doc *page_wheelhouse_diff(struct arena *a, const struct wheelhouse_diff *v);
extern const struct shape house_difference_shape;
extern const struct result_shape wheelhouse_diff_result; /* of a struct wheelhouse_diff */

struct doc *page_stack_env(struct arena *a, const struct build_env *env);
/* export lines for a shell; harmless to source: nothing ends it. */
void stack_env_shell(FILE *out, struct arena *a, const struct build_env *env);
extern const struct result_shape stack_env_result; /* of a struct build_env */

struct doc *page_build_plan(struct arena *a, const struct build_plan *p);
extern const struct result_shape build_plan_result; /* of a struct build_plan */

#endif
