/* SPDX-License-Identifier: Apache-2.0 */
/* gputune stack env: what to set before PyTorch and friends are built here. */
#include <string.h>
#include <time.h>

#include "front/verbs/page.h"
#include "front/verbs/stack.h"
#include "look/stack/page_stack.h"

int stack_build_env(struct run *r, struct host *h, struct build_env *out, const char **from)
{
	struct machine *m = run_machine(r, h, false);
	struct scan_options how = { 0 };
	struct inventory_options what = { .scan = &how };
	struct stack_root root = { h, -1, false }; /* what libraries carry does not matter here */
	struct inventory inv = { 0 };
	struct err e = { 0 };
	int code = stack_targets(r, m, &how, from);

	if (code)
		return code;
	/* A version that only a library's own text tells is worth opening it. */
	root.contents = !r->value[OPT_HOST];
	if (inventory_take(&r->arena, &root, &what, &inv, &e))
		return complain(EXIT_USAGE, &e);
	build_env_make(&r->arena, m, &inv, &how, out);
	return 0;
}

int stack_env(struct run *r)
{
	const char **set = arena_array(&r->arena, dead_flag_count, sizeof(*set));
	struct build_env env = { 0 };
	struct env_view v = { .env = &env, .set_here = set };
	struct host *h;
	struct answer said;
	int code, failed = 0;

	if (r->n_args)
		return complain_text(EXIT_USAGE, "stack env takes no argument \"%s\"", r->args[0]);
	h = run_host(r);
	if (!h)
		return EXIT_USAGE;
	code = stack_build_env(r, h, &env, &v.gpus_from);
	for (size_t i = 0; i < dead_flag_count && !code; i++)
		if (dead_flags[i].name && host_ask(h, "env", "", dead_flags[i].name, &said) == 0 &&
		    said.kind == ANSWER_TEXT)
			set[i] = arena_strdup(&r->arena, said.text);
	host_close(h);
	if (code)
		return code;
	code = env.missing ? EXIT_FINDINGS : EXIT_CLEAN;
	if (r->value[OPT_QUIET])
		return code;
	if (run_wants_json(r))
		run_print_json(r, stack_env_json(&v, (long long)time(NULL), code));
	else if (r->value[OPT_FORMAT] && strcmp(r->value[OPT_FORMAT], "shell") == 0)
		stack_env_shell(r->out, &v);
	else
		failed = run_print_doc(r, page_stack_env(&r->arena, &v), "gputune stack env");
	return failed ? failed : code;
}
