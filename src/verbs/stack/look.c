/* SPDX-License-Identifier: Apache-2.0 */
/* gputune stack: for which GPUs it judges, and what of the software stack is there. */
#include "verbs/stack/look.h"

#include <string.h>

#include "verbs/change.h"
#include "verbs/defect_rows.h"

static const struct ask_row gpu_ask_rows[] = {
	{ "gpu", "judge for this GPU instead of the machine's: sm_121 or 12.1, comma-separated",
	  ASK_TEXT(gpu_ask, gpu), .arg = "SM" },
};
const struct ask_shape gpu_ask_shape = ASK_SHAPE(gpu_ask, NULL, gpu_ask_rows);

int stack_targets(struct door *d, const struct gpu_ask *ask, const struct machine *m,
		  struct scan_options *how, const char **from)
{
	struct err e = { 0 };
	const char *why;

	*from = ask->gpu ? "--gpu" : "this machine";
	if (ask->gpu && scan_targets(d->arena, ask->gpu, how, &e))
		return door_fail(d, EXIT_USAGE, &e);
	if (ask->gpu && !how->n_gpus)
		return door_refuse(d, EXIT_USAGE, "--gpu takes architectures such as sm_121");
	for (size_t i = 0; !ask->gpu && machine_gpu(m, i); i++) {
		const struct gpu *g = machine_gpu(m, i);
		long long driver = fact_or(&m->gpu.cuda_driver, 0);

		if (seen_ok(&g->cc_major.f) && seen_ok(&g->cc_minor.f))
			scan_target(how, (unsigned)(g->cc_major.v * 10 + g->cc_minor.v),
				    driver > 0 ? (unsigned)(driver / 10) : 0);
	}
	if (!how->n_gpus) {
		why = machine_no_gpu(d->arena, m);
		*from = why ? arena_strdup(d->arena, why) : "no GPU found";
	}
	return 0;
}

/* The environment of the python3 that a shell would find: PREFIX/bin/python3. */
static const char *python_on_path(struct arena *a, struct host *h)
{
	struct answer said;
	char *list, *save = NULL;

	if (host_ask(h, "env", "", "PATH", &said) || said.kind != ANSWER_TEXT)
		return NULL;
	list = arena_strdup(a, said.text);
	for (char *p = strtok_r(list, ":", &save); p; p = strtok_r(NULL, ":", &save)) {
		size_t len = strlen(p);

		if (*p == '/' && len > 4 && strcmp(p + len - 4, "/bin") == 0 &&
		    host_exists(h, arena_printf(a, "%s/python3", p)))
			return arena_strndup(a, p, len - 4);
	}
	return NULL;
}

/* Adds what lies in the environment that a shell would find; false: it is none. */
static bool usual_environment(struct arena *a, struct host *h, const struct scan_options *how,
			      const char **env, struct inventory *inv)
{
	struct inventory_options no = { .envs = env, .n_envs = 1, .scan = how };
	struct err unsaid;

	*env = python_on_path(a, h);
	/* Without a folder for packages it is no environment; that is no error here. */
	return *env && host_exists(h, arena_printf(a, "%s/lib", *env)) &&
	       inventory_take(a, &(struct stack_root){ h, -1, false }, &no, inv, &unsaid) == 0;
}

/* Defects of what is installed, on the GPUs that are asked about. */
static const struct defects_view *known_defects(struct door *d, const struct stack_root *root,
						const struct inventory_options *what,
						const struct stack_ask *ask)
{
	struct defects_view *out = ARENA_NEW(d->arena, struct defects_view);
	struct defect_rows *rows = ARENA_NEW(d->arena, struct defect_rows);
	json_auto_t *gpus = json_array();
	struct world_look how = { .root = root,
				  .machine = root->h,
				  .m = ask->m,
				  .rows = rows,
				  .envs = what->only_envs ? what->envs : NULL,
				  .n_envs = what->only_envs ? what->n_envs : 0,
				  .still = true,
				  .gpus = gpus };

	for (size_t i = 0; i < ask->how->n_gpus; i++) {
		char sm[24];

		snprintf(sm, sizeof(sm), "sm_%u", ask->how->gpus[i].sm);
		json_array_append_new(gpus, json_string(sm));
	}
	defects_rows(d, rows);
	defects_look(d->arena, &how, out);
	return out;
}

int stack_collect(struct door *d, const struct stack_root *root, struct machine *m,
		  const struct stack_look *wish, struct stack_view *out)
{
	struct arena *a = d->arena;
	struct scan_options *how = ARENA_NEW(a, struct scan_options);
	struct inventory *inv = ARENA_NEW(a, struct inventory);
	struct stack_findings *found = ARENA_NEW(a, struct stack_findings);
	struct inventory_options what = { .deep = wish->deep, .scan = how };
	const char **usual = ARENA_NEW(a, const char *);
	struct stack_ask ask = { .m = m, .inv = inv, .how = how };
	struct err e = { 0 };
	int code = stack_targets(d, &wish->gpus, m, how, &ask.gpus_from);

	if (code)
		return code;
	what.envs = door_words(d, wish->envs, &what.n_envs);
	what.only_envs = what.n_envs > 0;
	if (!what.n_envs && root->fd < 0 && usual_environment(a, root->h, how, usual, inv)) {
		what.envs = usual;
		what.n_envs = 1;
	}
	if (inventory_take(a, root, &what, inv, &e))
		return door_fail(d, EXIT_USAGE, &e);
	ask.known = known_defects(d, root, &what, &ask);
	stack_judge(a, &ask, found);
	*out = (struct stack_view){ .m = m,
				    .inv = inv,
				    .found = found,
				    .how = how,
				    .gpus_from = ask.gpus_from,
				    .rootfs = wish->rootfs,
				    .all = wish->all };
	return 0;
}

int stack_build_env(struct door *d, struct host *h, const struct gpu_ask *gpus,
		    struct build_env *out)
{
	struct machine *m = door_machine(d, h, &(struct door_look){ 0 });
	struct scan_options how = { 0 };
	struct inventory_options what = { .scan = &how };
	/* A version that only a library's own text tells is worth opening it. */
	struct stack_root root = { h, -1, !h->id.captured };
	struct inventory inv = { 0 };
	struct err e = { 0 };
	const char *from;
	int code = stack_targets(d, gpus, m, &how, &from);

	if (code)
		return code;
	if (inventory_take(d->arena, &root, &what, &inv, &e))
		return door_fail(d, EXIT_USAGE, &e);
	build_env_make(d->arena, m, &inv, &how, out);
	out->gpus_from = from;
	return 0;
}
